/* What comes out of a study: tables, claims, notes, and the verdict. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "reproduce/lab.h"

/* ---- tables ---- */

static void table_free(lab_table *t)
{
    for (int64_t i = 0; i < t->n; i++)
        ferry_i_free((char *)(uintptr_t)t->cell[i].ours.reason);
    ferry_i_free(t->cell);
    ferry_i_ids_free(t->rows);
    ferry_i_ids_free(t->columns);
    ferry_i_free(t->title);
    ferry_i_free(t->units);
}

static bool table_new(ferry_reproduction *r, const char *title)
{
    if (!FERRY_GROW(r->table, r->n_tables, r->cap_tables)) return false;
    lab_table t = {.title = ferry_i_strdup(title),
                   .units = ferry_i_strdup(""),
                   .digits = 3,
                   .rows = ferry_i_ids_new(),
                   .columns = ferry_i_ids_new()};
    if (!t.title || !t.units || !t.rows || !t.columns) {
        table_free(&t);
        return false;
    }
    r->table[r->n_tables++] = t;
    return true;
}

lab_table *ferry_i_lab_current(ferry_lab *lab)
{
    ferry_reproduction *r = lab->r;

    if (r->n_tables == 0 && !table_new(r, r->study->shows)) return NULL;
    return &r->table[r->n_tables - 1];
}

ferry_status ferry_i_lab_table(ferry_ctx *ctx, ferry_lab *lab, const char *title)
{
    ferry_status st = FERRY_OK;
    ferry_reproduction *r = lab->r;

    if (r->n_tables > 0 && r->table[r->n_tables - 1].n == 0)
        table_free(&r->table[--r->n_tables]);
    FERRY_NEED(ctx, table_new(r, title), FERRY_ENOMEM, "no memory for a table");
done:
    return st;
}

void ferry_i_lab_units(ferry_lab *lab, const char *units, int digits)
{
    lab_table *t = ferry_i_lab_current(lab);
    char *copy = ferry_i_strdup(units);

    if (t && copy) {
        ferry_i_free(t->units);
        t->units = copy;
        t->digits = digits;
    } else {
        ferry_i_free(copy);
        lab->no_memory = true;
    }
}

lab_cell *ferry_i_lab_cell_at(const lab_table *t, int64_t row, int64_t column)
{
    for (int64_t i = 0; i < t->n; i++)
        if (t->cell[i].row == row && t->cell[i].column == column) return &t->cell[i];
    return NULL;
}

ferry_status ferry_i_lab_cell(ferry_ctx *ctx, ferry_lab *lab, const char *row,
                              const char *column, ferry_score ours, double paper)
{
    ferry_status st = FERRY_OK;
    lab_table *t = ferry_i_lab_current(lab);
    char *reason = ours.reason ? ferry_i_strdup(ours.reason) : NULL;
    lab_cell *cell = NULL;

    FERRY_NEED(ctx, t && (reason || !ours.reason), FERRY_ENOMEM, "no memory for a cell");
    const int64_t i = ferry_i_ids_add(t->rows, row, NULL);
    const int64_t j = ferry_i_ids_add(t->columns, column, NULL);
    FERRY_NEED(ctx, i >= 0 && j >= 0, FERRY_ENOMEM, "no memory for a cell");
    cell = ferry_i_lab_cell_at(t, i, j);
    if (!cell) {
        FERRY_NEED(ctx, FERRY_GROW(t->cell, t->n, t->cap), FERRY_ENOMEM,
                   "no memory for a cell");
        cell = &t->cell[t->n++];
        *cell = (lab_cell){.row = i, .column = j};
    }
    ferry_i_free((char *)(uintptr_t)cell->ours.reason);
    cell->ours = ours;
    cell->ours.reason = reason;
    cell->paper = paper;
    reason = NULL;
done:
    ferry_i_free(reason);
    return st;
}

static const lab_cell *look(const ferry_lab *lab, const char *row, const char *column)
{
    const lab_table *t = lab->r->n_tables > 0 ? &lab->r->table[lab->r->n_tables - 1] : NULL;

    if (!t) return NULL;
    const int64_t i = ferry_i_ids_find(t->rows, row);
    const int64_t j = ferry_i_ids_find(t->columns, column);
    return i < 0 || j < 0 ? NULL : ferry_i_lab_cell_at(t, i, j);
}

double ferry_i_lab_ours(const ferry_lab *lab, const char *row, const char *column)
{
    const lab_cell *c = look(lab, row, column);

    return c ? c->ours.mean : NAN;
}

double ferry_i_lab_papers(const ferry_lab *lab, const char *row, const char *column)
{
    const lab_cell *c = look(lab, row, column);

    return c ? c->paper : NAN;
}

/* ---- claims and notes ---- */

/* A sentence from a format. NULL: no memory. */
static char *sentence(const char *format, va_list args)
{
    va_list again;
    char *text = NULL;

    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = n < 0 ? NULL : ferry_i_calloc(n + 1, 1);
    if (text) (void)vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

ferry_status ferry_i_lab_claim(ferry_ctx *ctx, ferry_lab *lab, bool held,
                               const char *format, ...)
{
    ferry_status st = FERRY_OK;
    ferry_reproduction *r = lab->r;
    va_list args;

    va_start(args, format);
    char *text = sentence(format, args);
    va_end(args);
    FERRY_NEED(ctx, text && FERRY_GROW(r->claim, r->n_claims, r->cap_claims), FERRY_ENOMEM,
               "no memory for a claim");
    r->claim[r->n_claims++] = (lab_claim){text, held};
    text = NULL;
done:
    ferry_i_free(text);
    return st;
}

ferry_status ferry_i_lab_note(ferry_ctx *ctx, ferry_lab *lab, const char *format, ...)
{
    ferry_status st = FERRY_OK;
    ferry_reproduction *r = lab->r;
    va_list args;

    va_start(args, format);
    char *text = sentence(format, args);
    va_end(args);
    FERRY_NEED(ctx, text && FERRY_GROW(r->note, r->n_notes, r->cap_notes), FERRY_ENOMEM,
               "no memory for a note");
    r->note[r->n_notes++] = text;
    text = NULL;
done:
    ferry_i_free(text);
    return st;
}

/* ---- the verdict ---- */

char *ferry_i_lab_verdict(const ferry_reproduction *r)
{
    ferry_text t = {0};
    int64_t held = 0;
    const char *between = "";

    for (int64_t i = 0; i < r->n_claims; i++)
        held += r->claim[i].held;
    if (held == r->n_claims) return ferry_i_strdup("order reproduced");
    if (held == 0)
        ferry_i_text_add(&t, "not reproduced: ");
    else
        ferry_i_text_addf(&t,
                          "partly reproduced: %lld of %lld claims; not: ", (long long)held,
                          (long long)r->n_claims);
    for (int64_t i = 0; i < r->n_claims; i++) {
        if (r->claim[i].held) continue;
        ferry_i_text_add(&t, between);
        ferry_i_text_add(&t, r->claim[i].text);
        between = "; ";
    }
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

const char *ferry_reproduction_verdict(const ferry_reproduction *reproduction)
{
    return reproduction->verdict;
}

void ferry_reproduction_free(ferry_reproduction *r)
{
    if (!r) return;
    for (int64_t i = 0; i < r->n_tables; i++)
        table_free(&r->table[i]);
    for (int64_t i = 0; i < r->n_claims; i++)
        ferry_i_free(r->claim[i].text);
    for (int64_t i = 0; i < r->n_notes; i++)
        ferry_i_free(r->note[i]);
    ferry_i_free(r->table);
    ferry_i_free(r->claim);
    ferry_i_free(r->note);
    json_decref(r->runs);
    ferry_i_free(r->build);
    ferry_i_free(r->verdict);
    ferry_i_free(r);
}
