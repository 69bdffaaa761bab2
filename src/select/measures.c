/* How far each domain is from the target: what they share, and how well they can be told apart. */
#include <jansson.h>
#include <math.h>

#include "prepare/links.h"
#include "select/select.h"

/* Rows of each view: enough to tell two domains apart, few enough for every pair. */
enum { SAMPLE = 500 };

/* ---- what is shared ---- */

/* How many names of a stand in b. */
static int64_t shared_names(const ferry_ids *a, const ferry_ids *b)
{
    int64_t n = 0;

    for (int64_t i = 0; i < ferry_i_ids_count(a); i++)
        n += ferry_i_ids_find(b, ferry_i_ids_at(a, i)) >= 0;
    return n;
}

/* The Jaccard index, shared by all there are: |a and b| / |a or b|; NaN when there is none. */
static double overlap(int64_t shared, int64_t a, int64_t b)
{
    return a + b > 0 ? (double)shared / (double)(a + b - shared) : NAN;
}

/* Of the classes, or labels, of d whether they occur; m of them. */
static uint8_t *labels_used(scope *s, const ferry_domain *d, int64_t *n)
{
    const ferry_labels *l = d->labels;
    const int64_t m = l ? ferry_i_labels_m(l) : 0;
    uint8_t *used = NEW(s, uint8_t, m);

    for (int64_t i = 0; l && i < l->n; i++)
        for (int64_t k = 0; k < m; k++)
            if (l->kind == FERRY_LABEL_CLASS ? l->cls[i] == k : l->on && l->on[i * m + k])
                used[k] = 1;
    for (int64_t k = *n = 0; k < m; k++)
        *n += used[k];
    return used;
}

static double label_overlap(scope *s, const ferry_domain *d, const ferry_domain *to)
{
    int64_t ours = 0, theirs = 0, shared = 0;
    const uint8_t *a = labels_used(s, d, &ours), *b = labels_used(s, to, &theirs);

    for (int64_t k = 0; ours > 0 && theirs > 0 && k < ferry_i_labels_m(d->labels); k++) {
        const char *name = ferry_i_ids_at(d->labels->names, k);
        const int64_t at = a[k] ? ferry_i_ids_find(to->labels->names, name) : -1;
        shared += at >= 0 && b[at];
    }
    return overlap(shared, ours, theirs);
}

/* ---- how far apart ---- */

/* Two domains, and of the views that are the same thing in both a pair: map[j] is the column of b's that is column j of
 * a. */
typedef struct comparing {
    const ferry_domain *d, *to;
    const ferry_view *a, *b;
    int32_t *map;
    select_measure *out;
} comparing;

/* n rows of x, evenly spread, in the columns that `map` gives. */
static matrix rows_of(scope *s, const ferry_matrix *x, int64_t n, int64_t cols,
                      const int32_t *map)
{
    int64_t *rows = NEW(s, int64_t, n);
    ferry_matrix *to = NULL;

    for (int64_t i = 0; i < n; i++)
        rows[i] = i * x->rows / n;
    scope_check(s, ferry_i_matrix_take(scope_ctx(s), x, n, rows, cols, map, &to));
    return matrix_own(s, to);
}

/* A-distance of two views over the columns of a; NaN when it cannot be measured. */
static double apart(scope *s, const comparing *c)
{
    const ferry_matrix *a = c->a->x, *b = c->b->x;
    int64_t n = a->rows < b->rows ? a->rows : b->rows;

    n = n > SAMPLE ? SAMPLE : n;
    /* filling missing cells would itself tell the views apart */
    if (n < 4 || c->a->has_missing || c->b->has_missing) return NAN;
    const matrix raw[] = {rows_of(s, a, n, a->cols, NULL),
                          rows_of(s, b, n, a->cols, c->map)};
    matrix x[] = {raw[0], raw[1]};
    scale_together(s, 2, raw, 2, x);
    return a_distance(s, x[0], x[1], 1);
}

static void measure_values(scope *s, void *arg)
{
    const comparing *c = arg;

    if (c->a) c->out->a_distance = apart(s, c);
    if (c->d->n_views > 0 && !c->d->views[0]->has_missing)
        c->out->complexity = complexity(s, matrix_borrow(s, c->d->views[0]->x), 0.05);
}

/* ---- one pair of domains ---- */

/* Of all views that are the same thing (prepare/links.h) the one that shares most features speaks for the two domains. */
static void find_views(scope *s, comparing *c)
{
    const ferry_domain *const both[] = {c->d, c->to};
    const ferry_links *links = links_find(s, 2, both);

    links_warn(s, links);
    for (int64_t i = 0; i < c->to->n_views; i++) {
        const ferry_view *v = links_view(links, 0, links->group[1][i]);
        int32_t *map = NULL;
        int64_t shared = 0;
        if (!v) continue;
        const ferry_status st =
            ferry_i_view_align(scope_ctx(s), c->to->views[i], v, &map, &shared);
        if (st == FERRY_ENEEDS) continue; /* nothing in common after all */
        scope_check(s, st);
        scope_adopt(s, map);
        if (shared <= c->out->shared_features) continue;
        *c = (comparing){c->d, c->to, c->to->views[i], v, map, c->out};
        c->out->shared_features = shared;
    }
}

static void measure_body(scope *s, void *arg)
{
    comparing *c = arg;
    const ferry_domain *d = c->d, *to = c->to;
    select_measure *m = c->out;

    *m = (select_measure){.complexity = NAN, .a_distance = NAN};
    find_views(s, c);
    /* What cannot be measured, such as values that are too large, is not known. */
    const ferry_status st = scope_try(s, NULL, measure_values, c);
    if (st != FERRY_ENUMERIC) scope_check(s, st);
    m->feature_overlap =
        c->a ? overlap(m->shared_features, c->a->x->cols, c->b->x->cols) : 0;
    /* row numbers are no ids: that both have a row 7 says nothing */
    m->id_overlap = d->numbered || to->numbered
                        ? (double)NAN
                        : overlap(shared_names(d->ids, to->ids), ferry_i_ids_count(d->ids),
                                  ferry_i_ids_count(to->ids));
    m->label_overlap = label_overlap(s, d, to);
}

ferry_status ferry_i_measure(ferry_ctx *ctx, const ferry_domain *d, const ferry_domain *to,
                             select_measure *out)
{
    return scope_run(ctx, measure_body, &(comparing){.d = d, .to = to, .out = out});
}

/* JSON has no NaN: null. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *ferry_i_measure_json(const char *from, const char *to, const select_measure *m)
{
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o}", "from", from, "to", to, "complexity",
        number(m->complexity), "a_distance", number(m->a_distance), "shared_features",
        (json_int_t)m->shared_features, "feature_overlap", number(m->feature_overlap),
        "id_overlap", number(m->id_overlap), "label_overlap", number(m->label_overlap));
}

typedef struct listing {
    const ferry_task *task;
    json_t *list;
} listing;

static void list_body(scope *s, void *arg)
{
    const listing *l = arg;
    const ferry_domain *target = ferry_i_task_role(l->task, FERRY_TARGET, 0);

    for (int64_t i = 0; target && i < l->task->n_domains; i++) {
        const ferry_domain *d = l->task->domains[i];
        select_measure m = {0};
        if (d == target) continue;
        measure_body(s, &(comparing){.d = d, .to = target, .out = &m});
        if (json_array_append_new(l->list,
                                  ferry_i_measure_json(d->name, target->name, &m)) != 0)
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
    }
}

/* Every domain against the target: what `ferry advise` shows before a run. */
ferry_status ferry_i_measures(ferry_ctx *ctx, const ferry_task *task, json_t **out)
{
    listing l = {task, json_array()};
    const ferry_status st = l.list ? scope_run(ctx, list_body, &l) : ferry_i_nomem(ctx);

    *out = st == FERRY_OK ? l.list : NULL;
    if (st != FERRY_OK) json_decref(l.list);
    return st;
}
