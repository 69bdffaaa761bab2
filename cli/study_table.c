/* A study's tables: cells from what runs gave, the paper's numbers beside them, claims about
 * them, and the verdict. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

/* ---- cells ---- */

const cell *table_find(const table *t, int64_t row, int64_t column)
{
    for (int64_t i = 0; i < t->n; i++)
        if (t->cells[i].row == row && t->cells[i].column == column) return &t->cells[i];
    return NULL;
}

/* The cell, made if need be. */
static cell *table_cell(table *t, const char *row, const char *column)
{
    const int64_t i = names_add(&t->rows, row), j = names_add(&t->columns, column);
    const cell *have = table_find(t, i, j);

    if (have) return &t->cells[have - t->cells];
    STUDY_GROW(t->cells, t->n, t->cap);
    t->cells[t->n] = (cell){.row = i, .column = j, .ours = {NAN, NAN, 0, NULL, NULL}};
    t->cells[t->n].paper = NAN;
    return &t->cells[t->n++];
}

/* Mean and deviation of n values; those that are NaN are left out. */
static reading reading_of(int64_t n, const double *x)
{
    reading r = {.mean = 0, .sd = 0};

    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            r.mean += x[i];
            r.n++;
        }
    if (r.n == 0) return (reading){NAN, NAN, 0, "no run gave a number", NULL};
    r.mean /= (double)r.n;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) r.sd += (x[i] - r.mean) * (x[i] - r.mean);
    r.sd = r.n > 1 ? sqrt(r.sd / (double)(r.n - 1)) : 0;
    return r;
}

/* What a cell shows: of one run its mean and deviation over repeats; of several those of
 * their means, or with `average` those over repeats of the mean of all runs. */
static void fix_precision(cell *c)
{
    const int64_t repeats = c->n > 0 ? c->from[0].n : 0;
    double *x = study_alloc((size_t)(c->n + repeats + 1) * sizeof *x);

    for (int64_t i = 0; i < c->n; i++) {
        const reading *r = &c->from[i];
        for (int64_t k = 0; c->average && k < repeats; k++)
            x[k] += (r->repeat && k < r->n ? r->repeat[k] : NAN) / (double)c->n;
        if (!c->average) x[i] = r->mean;
    }
    if (c->n == 1 && !c->average) c->ours = c->from[0];
    if (c->n > 1 || (c->n == 1 && c->average))
        c->ours = reading_of(c->average ? repeats : c->n, x);
}

/* ---- numbers of a run ---- */

/* A number that `cells` ask for: a metric ("": the deciding one), or element `at` of a
 * diagnostic or of the curve of a stream. */
typedef struct wanted {
    const char *method, *metric, *diagnostic;
    int64_t at; /* -1: a metric */
} wanted;

static reading of_metric(const ferry_result *r, const char *name)
{
    for (int64_t i = 0; ferry_result_metric_at(r, i); i++) {
        const ferry_metric_runs *m = ferry_result_metric_at(r, i);
        if (name[0] && strcmp(m->name, name) != 0) continue;
        double *x = study_alloc((size_t)(m->repeats + 1) * sizeof *x);
        if (m->repeats > 0) memcpy(x, m->runs, (size_t)m->repeats * sizeof *x);
        return (reading){m->mean, m->std, m->repeats, NULL, x};
    }
    return (reading){.mean = NAN, .sd = NAN};
}

static reading of_diagnostic(const ferry_result *r, const char *name, int64_t at)
{
    for (int64_t i = 0; ferry_result_diagnostic_at(r, i); i++) {
        const ferry_diagnostic *d = ferry_result_diagnostic_at(r, i);
        if (strcmp(d->name, name) == 0 && d->numbers && at < d->count)
            return (reading){d->numbers[at], NAN, 1, NULL, NULL};
    }
    return (reading){.mean = NAN, .sd = NAN};
}

/* The number, times a factor. false: no such method in this run. */
static bool read_number(const run *u, const wanted *w, double factor, reading *out)
{
    const ferry_result *r = u->results ? ferry_results_find(u->results, w->method) : NULL;
    const int64_t at = u->results ? -1 : names_find(&u->timed, w->method);

    *out = (reading){.mean = NAN, .sd = NAN};
    if (at >= 0)
        *out = (reading){u->ms[at], NAN, 1, NULL, NULL};
    else if (r && w->at >= 0 && w->diagnostic[0])
        *out = of_diagnostic(r, w->diagnostic, w->at);
    else if (r && w->at >= 0 && w->at < r->points)
        *out = (reading){r->curve_mean[w->at], r->curve_std[w->at], r->repeats, NULL, NULL};
    else if (r && w->at < 0)
        *out = of_metric(r, w->metric);
    for (int64_t i = 0; out->repeat && i < out->n; i++)
        ((double *)(uintptr_t)out->repeat)[i] *= factor;
    out->mean *= factor;
    out->sd *= fabs(factor);
    if (!isfinite(out->mean)) out->reason = "the metric is not defined here";
    if (r && r->reason) out->reason = study_text("%s", r->reason);
    return r || at >= 0;
}

/* ---- filling ---- */

/* Whether a run has the values that `when` asks for. */
static bool is_wanted(const lab *l, const node *when, const scope *s)
{
    for (int64_t i = 0; when && i < when->n; i++) {
        const char *is = study_expand(l, s, study_text("${%s}", when->key[i]), when->line);
        if (strcmp(is, study_string(l, s, when, when->key[i], NULL)) != 0) return false;
    }
    return true;
}

/* One reading into its cell. */
static void add_cell(lab *l, const node *spec, const scope *s, void *arg)
{
    run *u = arg;
    reading r;
    const char *at = study_string(l, s, spec, "at", "");
    wanted w = {.at = at[0] ? strtol(at, NULL, 10) : -1};

    if (!is_wanted(l, node_get(l->quick, spec, "when"), s)) return;
    w.method = study_string(l, s, spec, "method", NULL);
    w.metric = study_string(l, s, spec, "metric", "");
    w.diagnostic = study_string(l, s, spec, "diagnostic", "");
    names_add(&u->t->asked, w.method);
    if (!read_number(u, &w, strtod(study_string(l, s, spec, "times", "1"), NULL), &r))
        return; /* of another group of runs */
    names_add(&u->t->found, w.method);
    if (at[0] && !w.diagnostic[0]) { /* ${seen}: rows of the stream up to that point */
        const ferry_result *of = ferry_results_find(u->results, w.method);
        const double rows = of && w.at < of->points ? of->curve_rows[w.at] : NAN;
        s = study_name("seen", study_text("%.0f", rows), s);
    }
    cell *c = table_cell(u->t, study_string(l, s, spec, "row", NULL),
                         study_string(l, s, spec, "column", NULL));
    c->average = node_get(l->quick, spec, "average") != NULL;
    STUDY_GROW(c->from, c->n, c->cap);
    c->from[c->n++] = r;
}

/* The frames of a table (its own loop) on top of those of a run. */
static const scope *on_top(const lab *l, const scope *of_table, const scope *below)
{
    if (of_table == l->scope) return below;
    scope *one = study_alloc(sizeof *one);
    *one = *of_table;
    one->up = on_top(l, of_table->up, below);
    return one;
}

void study_fill(lab *l, run *u)
{
    for (int64_t i = 0; i < l->n_tables; i++) {
        const node *cells = node_get(l->quick, l->tables[i].spec, "cells");
        const scope *s = on_top(l, l->tables[i].scope, u->scope);
        u->t = &l->tables[i];
        for (int64_t k = 0; k < cells->n; k++) {
            const char *of = study_string(l, s, cells->item[k], "of", "");
            if (!of[0] || strcmp(of, u->group) == 0)
                study_each(l, cells->item[k], "each", s, add_cell, u);
        }
    }
}

/* ---- tables ---- */

static const char *const table_keys[] = {"id",      "title", "units", "digits", "cells",
                                         "columns", "paper", "mean",  "claims", "notes",
                                         "each",    "only",  "let"};
static const char *const cell_keys[] = {"of",      "when",   "each",       "row", "column",
                                        "method",  "metric", "diagnostic", "at",  "times",
                                        "average", "only",   "let"};

static void add_table(lab *l, const node *spec, const scope *s, void *arg)
{
    const node *cells = node_get(l->quick, spec, "cells");
    const node *columns = node_get(l->quick, spec, "columns");

    study_keys(l->s, spec, table_keys, COUNT(table_keys));
    if (!cells || cells->kind != NODE_LIST)
        study_bad(l->s, spec->line, "expected 'cells', a list");
    for (int64_t i = 0; i < cells->n; i++)
        study_keys(l->s, cells->item[i], cell_keys, COUNT(cell_keys));
    STUDY_GROW(l->tables, l->n_tables, *(int64_t *)arg);
    table *t = &l->tables[l->n_tables++];
    *t = (table){.spec = spec, .scope = s, .mean_row = -1, .mean_column = -1};
    const char *shows = study_string(l, l->scope, l->s->root, "shows", NULL);
    t->title = study_string(l, s, spec, "title", shows);
    t->units = study_string(l, s, spec, "units", "");
    t->id = study_string(l, s, spec, "id", "");
    t->digits = (int)strtol(study_string(l, s, spec, "digits", "3"), NULL, 10);
    for (int64_t j = 0; columns && j < columns->n; j++)
        names_add(&t->columns, columns->item[j]->text ? columns->item[j]->text : "");
}

void study_tables(lab *l)
{
    int64_t cap = 0;

    study_all(l, node_get(l->quick, l->s->root, "tables"), l->scope, add_table, &cap);
}

/* The paper's numbers: {row: {column: number}}, where the table has such cells. */
static void add_paper(const lab *l, table *t)
{
    const node *paper = node_get(l->quick, t->spec, "paper");

    for (int64_t i = 0; paper && i < paper->n; i++) {
        const node *row = paper->item[i];
        if (row->kind != NODE_MAP)
            study_bad(l->s, row->line, "paper: expected {row: {column: number}}");
        for (int64_t j = 0; j < row->n; j++) {
            const char *x = study_string(l, t->scope, row, row->key[j], NULL);
            const cell *c = table_find(t, names_find(&t->rows, paper->key[i]),
                                       names_find(&t->columns, row->key[j]));
            if (c && x[0]) t->cells[c - t->cells].paper = strtod(x, NULL);
        }
    }
}

/* The mean of a column's cells (in_row) or of a row's, run by run, and of the paper's numbers
 * when all are there. */
static void add_mean(table *t, bool in_row, int64_t of, int64_t n)
{
    const cell *first = in_row ? table_find(t, 0, of) : table_find(t, of, 0);
    const int64_t runs = first ? first->n : 0;
    double *x = study_alloc((size_t)(runs + 1) * sizeof *x), papers = 0;

    for (int64_t k = 0; k < n; k++) {
        const cell *c = in_row ? table_find(t, k, of) : table_find(t, of, k);
        papers += c ? c->paper / (double)n : NAN;
        for (int64_t r = 0; r < runs; r++)
            x[r] += c && r < c->n ? c->from[r].mean / (double)n : NAN;
    }
    cell *mean = in_row ? table_cell(t, "mean", t->columns.name[of])
                        : table_cell(t, t->rows.name[of], "mean");
    mean->ours = reading_of(runs, x);
    mean->paper = papers;
}

static int by_place(const void *a, const void *b)
{
    const cell *x = a, *y = b;

    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static void finish_table(const lab *l, table *t)
{
    const char *mean = study_string(l, t->scope, t->spec, "mean", "");
    const bool in_row = strcmp(mean, "row") == 0,
               whole = node_get(l->quick, t->spec, "columns");
    const int64_t rows = t->rows.n, cols = t->columns.n;

    if (t->n == 0) study_bad(l->s, t->spec->line, "no run has anything for this table");
    for (int64_t i = 0; whole && i < rows * cols; i++) /* "-" where nothing ran */
        (void)table_cell(t, t->rows.name[i / cols], t->columns.name[i % cols]);
    for (int64_t i = 0; i < t->n; i++)
        fix_precision(&t->cells[i]);
    for (int64_t i = 0; i < t->asked.n; i++)
        if (names_find(&t->found, t->asked.name[i]) < 0)
            cli_say("%s: a table asks for %s, which no run has", l->s->name,
                    t->asked.name[i]);
    add_paper(l, t);
    if (mean[0] && !in_row && strcmp(mean, "column") != 0)
        study_bad(l->s, t->spec->line, "mean: expected row or column");
    for (int64_t i = 0; mean[0] && i < (in_row ? cols : rows); i++)
        add_mean(t, in_row, i, in_row ? rows : cols);
    if (mean[0]) *(in_row ? &t->mean_row : &t->mean_column) = in_row ? rows : cols;
    qsort(t->cells, (size_t)t->n, sizeof *t->cells, by_place);
}

void study_finish(lab *l)
{
    for (int64_t i = 0; i < l->n_tables; i++)
        finish_table(l, &l->tables[i]);
}

/* ---- claims ---- */

static const char *const claim_keys[] = {"claim", "holds", "beside", "each", "only", "let"};
static const char *const note_keys[] = {"note", "when", "each", "only", "let"};

/* A claim of the paper; with `beside` a check that is none of the paper's, such as of another
 * version of its method, which goes to the notes. */
static void add_claim(lab *l, const node *spec, const scope *s, void *here)
{
    study_keys(l->s, spec, claim_keys, COUNT(claim_keys));
    const char *beside = study_string(l, s, spec, "beside", "");
    const char *claims = study_string(l, s, spec, "claim", NULL);
    const bool held =
        study_holds(l, here, study_string(l, s, spec, "holds", NULL), spec->line);
    const char *text = study_say(l, here, claims, spec->line);

    if (l->checking) return;
    if (beside[0]) {
        names_add(&l->notes,
                  study_text("%s, %s: %s", beside, held ? "held" : "NOT held", text));
        return;
    }
    STUDY_GROW(l->claims, l->n_claims, l->cap_claims);
    l->claims[l->n_claims++] = (claim){text, held};
}

/* Something a reader should know; `when`: if that is so. */
static void add_note(lab *l, const node *spec, const scope *s, void *here)
{
    study_keys(l->s, spec, note_keys, COUNT(note_keys));
    const char *when = study_string(l, s, spec, "when", "");
    const bool so = !when[0] || study_holds(l, here, when, spec->line);
    const char *text =
        study_say(l, here, study_string(l, s, spec, "note", NULL), spec->line);

    if (so && !l->checking) names_add(&l->notes, text);
}

/* From the claims and from nothing else. */
static const char *verdict_of(const lab *l)
{
    const char *text = "";
    int64_t held = 0;

    for (int64_t i = 0; i < l->n_claims; i++) {
        held += l->claims[i].held;
        if (!l->claims[i].held)
            text = study_text("%s%s%s", text, text[0] ? "; " : "", l->claims[i].text);
    }
    if (held == l->n_claims) return "order reproduced";
    if (held == 0) return study_text("not reproduced: %s", text);
    return study_text("partly reproduced: %lld of %lld claims; not: %s", (long long)held,
                      (long long)l->n_claims, text);
}

void study_judge(lab *l)
{
    for (int64_t i = 0; i <= l->n_tables; i++) { /* each table's own, then the study's */
        table *t = i < l->n_tables ? &l->tables[i] : l->n_tables == 1 ? l->tables : NULL;
        const node *spec = i < l->n_tables ? t->spec : l->s->root;
        const scope *s = i < l->n_tables ? t->scope : l->scope;
        study_all(l, node_get(l->quick, spec, "claims"), s, add_claim, t);
        study_all(l, node_get(l->quick, spec, "notes"), s, add_note, t);
    }
    if (!l->checking && l->n_claims == 0)
        study_bad(l->s, l->s->root->line, "%s: gave no claim", l->s->name);
    l->verdict = verdict_of(l);
}
