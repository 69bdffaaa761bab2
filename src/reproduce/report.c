/* A reproduction as text for people and as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reproduce/lab.h"

enum { WIDTH = 100, CELL = 96 };

/* ---- text ---- */

/* Characters, not bytes: continuation bytes of UTF-8 do not count. */
static int64_t width_of(const char *s)
{
    int64_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void pad(ferry_text *o, int64_t n)
{
    for (; n > 0; n--)
        ferry_i_text_add(o, " ");
}

/* A paragraph, broken between words; further lines are indented. */
static void paragraph(ferry_text *o, const char *text, int64_t indent)
{
    int64_t at = 0;

    while (*text) {
        const size_t len = strcspn(text, " \n");
        if (len > 0) {
            char *word = ferry_i_strndup(text, (int64_t)len);
            if (!word) {
                o->failed = true;
                return;
            }
            if (at > 0 && at + 1 + width_of(word) > WIDTH) {
                ferry_i_text_add(o, "\n");
                pad(o, indent);
                at = indent;
            } else if (at > 0) {
                ferry_i_text_add(o, " ");
                at++;
            }
            ferry_i_text_add(o, word);
            at += width_of(word);
            ferry_i_free(word);
        }
        text += len + (text[len] != 0);
    }
    ferry_i_text_add(o, "\n");
}

/* "97.8 ± 0.3 (95.1)": ours, and the paper's where it has one. */
static void cell_text(const lab_table *t, const lab_cell *c, char *buf, size_t size)
{
    int n = 0;

    if (!c) {
        buf[0] = 0;
        return;
    }
    if (!isfinite(c->ours.mean))
        n = snprintf(buf, size, "-");
    else if (c->ours.n > 1)
        n = snprintf(buf, size, "%.*f ± %.*f", t->digits, c->ours.mean, t->digits,
                     c->ours.sd);
    else
        n = snprintf(buf, size, "%.*f", t->digits, c->ours.mean);
    if (isfinite(c->paper) && n > 0 && (size_t)n < size)
        (void)snprintf(buf + n, size - (size_t)n, " (%.*f)", t->digits, c->paper);
}

static int64_t column_width(const lab_table *t, int64_t column)
{
    int64_t most = width_of(ferry_i_ids_at(t->columns, column));
    char buf[CELL];

    for (int64_t i = 0; i < t->n; i++) {
        if (t->cell[i].column != column) continue;
        cell_text(t, &t->cell[i], buf, sizeof buf);
        if (width_of(buf) > most) most = width_of(buf);
    }
    return most;
}

/* Columns first .. last - 1 under the names of the rows. */
static void table_part(ferry_text *o, const lab_table *t, int64_t name, int64_t first,
                       int64_t last)
{
    char buf[CELL];

    for (int64_t i = -1; i < ferry_i_ids_count(t->rows); i++) {
        const char *head = i < 0 ? "" : ferry_i_ids_at(t->rows, i);
        int64_t missing = name - width_of(head);
        ferry_i_text_add(o, head);
        for (int64_t j = first; j < last; j++) {
            if (i < 0)
                (void)snprintf(buf, sizeof buf, "%s", ferry_i_ids_at(t->columns, j));
            else
                cell_text(t, ferry_i_lab_cell_at(t, i, j), buf, sizeof buf);
            if (!buf[0]) {
                missing += 2 + column_width(t, j);
                continue;
            }
            pad(o, missing + 2);
            ferry_i_text_add(o, buf);
            missing = column_width(t, j) - width_of(buf);
        }
        ferry_i_text_add(o, "\n");
    }
}

static void table_text(ferry_text *o, const lab_table *t)
{
    const int64_t columns = ferry_i_ids_count(t->columns);
    int64_t name = 0;

    for (int64_t i = 0; i < ferry_i_ids_count(t->rows); i++)
        if (width_of(ferry_i_ids_at(t->rows, i)) > name)
            name = width_of(ferry_i_ids_at(t->rows, i));
    ferry_i_text_addf(o, "\n%s%s%s\n", t->title, t->units[0] ? "; " : "", t->units);
    for (int64_t first = 0; first < columns;) {
        int64_t last = first, width = name;
        while (last < columns &&
               (last == first || width + 2 + column_width(t, last) <= WIDTH))
            width += 2 + column_width(t, last++);
        if (first > 0) ferry_i_text_add(o, "\n");
        table_part(o, t, name, first, last);
        first = last;
    }
    for (int64_t i = 0; i < t->n; i++)
        if (t->cell[i].ours.reason)
            ferry_i_text_addf(o, "%s, %s: %s\n", ferry_i_ids_at(t->rows, t->cell[i].row),
                              ferry_i_ids_at(t->columns, t->cell[i].column),
                              t->cell[i].ours.reason);
}

ferry_status ferry_reproduction_table(ferry_ctx *ctx, const ferry_reproduction *r,
                                      char **out)
{
    ferry_status st = FERRY_OK;
    ferry_text o = {0};
    char *verdict = NULL;
    bool papers = false;

    *out = NULL;
    ferry_i_text_addf(&o, "%s: %s\n%s\n\n", r->study->name, r->study->shows,
                      r->study->paper);
    paragraph(&o, r->study->protocol, 0);
    for (int64_t i = 0; i < r->n_tables; i++) {
        table_text(&o, &r->table[i]);
        for (int64_t j = 0; j < r->table[i].n; j++)
            papers |= isfinite(r->table[i].cell[j].paper);
    }
    ferry_i_text_addf(&o, "\nOurs ± standard deviation%s.\n\nWhat the paper says:\n",
                      papers ? " (the paper's number)" : "; the paper gives no numbers");
    for (int64_t i = 0; i < r->n_claims; i++) {
        ferry_text line = {0};
        ferry_i_text_addf(&line, "%s: %s", r->claim[i].held ? "held" : "NOT held",
                          r->claim[i].text);
        ferry_i_text_add(&o, "- ");
        if (line.failed)
            o.failed = true;
        else
            paragraph(&o, line.s, 2);
        ferry_i_text_free(&line);
    }
    for (int64_t i = 0; i < r->n_notes; i++) {
        ferry_i_text_add(&o, i == 0 ? "\n" : "");
        paragraph(&o, r->note[i], 0);
    }
    ferry_i_text_addf(&o, "\n%s run, seed %llu, %.0f s\n", r->quick ? "quick" : "full",
                      (unsigned long long)r->seed, r->seconds);
    verdict = ferry_i_sprintf("Verdict: %s.", r->verdict);
    FERRY_NEED(ctx, verdict, FERRY_ENOMEM, "no memory for a study's table");
    paragraph(&o, verdict, 0);
    FERRY_NEED(ctx, !o.failed, FERRY_ENOMEM, "no memory for a study's table");
    *out = o.s;
    o = (ferry_text){0};
done:
    ferry_i_free(verdict);
    ferry_i_text_free(&o);
    return st;
}

/* ---- JSON ---- */

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *cell_json(const lab_table *t, const lab_cell *c)
{
    json_t *o = json_object();

    (void)json_object_set_new(o, "row", ferry_i_json_text(ferry_i_ids_at(t->rows, c->row)));
    (void)json_object_set_new(o, "column",
                              ferry_i_json_text(ferry_i_ids_at(t->columns, c->column)));
    (void)json_object_set_new(o, "ours", number(c->ours.mean));
    (void)json_object_set_new(o, "sd", number(c->ours.n > 1 ? c->ours.sd : NAN));
    (void)json_object_set_new(o, "n", json_integer(c->ours.n));
    (void)json_object_set_new(o, "paper", number(c->paper));
    if (c->ours.reason)
        (void)json_object_set_new(o, "reason", ferry_i_json_text(c->ours.reason));
    return o;
}

static json_t *table_json(const lab_table *t)
{
    json_t *o = json_object(), *cells = json_array();

    for (int64_t i = 0; i < t->n; i++)
        (void)json_array_append_new(cells, cell_json(t, &t->cell[i]));
    (void)json_object_set_new(o, "title", ferry_i_json_text(t->title));
    (void)json_object_set_new(o, "units", ferry_i_json_text(t->units));
    (void)json_object_set_new(o, "digits", json_integer(t->digits));
    (void)json_object_set_new(o, "cells", cells);
    return o;
}

/* The files that were needed, one text each. */
static json_t *needs_json(const char *needs)
{
    json_t *all = json_array();

    while (*needs) {
        const size_t len = strcspn(needs, "\n");
        if (len > 0) (void)json_array_append_new(all, json_stringn(needs, len));
        needs += len + (needs[len] != 0);
    }
    return all;
}

ferry_status ferry_reproduction_json(ferry_ctx *ctx, const ferry_reproduction *r,
                                     char **out)
{
    ferry_status st = FERRY_OK;
    json_t *o = json_object(), *tables = json_array(), *claims = json_array(),
           *notes = json_array();
    char *text = NULL;

    *out = NULL;
    for (int64_t i = 0; i < r->n_tables; i++)
        (void)json_array_append_new(tables, table_json(&r->table[i]));
    for (int64_t i = 0; i < r->n_claims; i++)
        (void)json_array_append_new(claims, json_pack("{s:o, s:b}", "claim",
                                                      ferry_i_json_text(r->claim[i].text),
                                                      "held", (int)r->claim[i].held));
    for (int64_t i = 0; i < r->n_notes; i++)
        (void)json_array_append_new(notes, ferry_i_json_text(r->note[i]));
    (void)json_object_set_new(o, "study", json_string(r->study->name));
    (void)json_object_set_new(o, "paper", ferry_i_json_text(r->study->paper));
    (void)json_object_set_new(o, "shows", ferry_i_json_text(r->study->shows));
    (void)json_object_set_new(o, "protocol", ferry_i_json_text(r->study->protocol));
    (void)json_object_set_new(o, "verdict", ferry_i_json_text(r->verdict));
    (void)json_object_set_new(o, "claims", claims);
    (void)json_object_set_new(o, "tables", tables);
    (void)json_object_set_new(o, "notes", notes);
    (void)json_object_set_new(o, "quick", json_boolean(r->quick));
    (void)json_object_set_new(o, "seed", json_integer((json_int_t)r->seed));
    (void)json_object_set_new(o, "threads", json_integer(r->threads));
    (void)json_object_set_new(o, "started", ferry_i_moment_json(r->started));
    (void)json_object_set_new(o, "seconds", number(round(r->seconds * 10) / 10));
    (void)json_object_set_new(o, "ferry", json_string(ferry_version()));
    (void)json_object_set_new(o, "build",
                              r->build ? ferry_i_json_text(r->build) : json_null());
    (void)json_object_set_new(o, "machine", ferry_i_machine_json());
    (void)json_object_set_new(o, "data", needs_json(r->study->needs));
    (void)json_object_set(o, "runs", r->runs);
    text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    FERRY_NEED(ctx, text, FERRY_ENOMEM, "no memory for a study's JSON");
    *out = ferry_i_sprintf("%s\n", text);
    FERRY_NEED(ctx, *out, FERRY_ENOMEM, "no memory for a study's JSON");
done:
    json_decref(o);
    free(text);
    return st;
}
