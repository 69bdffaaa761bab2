/* How far each domain is from the target: what they share, and how well they can be told
 * apart. */
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

/* Shared by all there are; NaN when there is none.
 * The Jaccard index: |a and b| / |a or b|. */
static double overlap(int64_t shared, int64_t a, int64_t b)
{
    return a + b > 0 ? (double)shared / (double)(a + b - shared) : NAN;
}

/* Classes, or labels, that occur in d. */
static ferry_status label_names(ferry_ctx *ctx, const ferry_domain *d, ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    const ferry_labels *l = d->labels;
    const int64_t m = l ? ferry_i_labels_m(l) : 0;

    FERRY_HAVE(ctx, *out = ferry_i_ids_new());
    for (int64_t i = 0; l && i < l->n; i++)
        for (int64_t k = 0; k < m; k++)
            if (l->kind == FERRY_LABEL_CLASS ? l->cls[i] == k : l->on && l->on[i * m + k])
                FERRY_HAVE(ctx,
                           ferry_i_ids_add(*out, ferry_i_ids_at(l->names, k), NULL) >= 0);
done:
    return st;
}

/* ---- how far apart ---- */

/* At most SAMPLE rows of x, evenly spread, in the columns that `map` gives. */
static ferry_status rows_of(ferry_ctx *ctx, const ferry_matrix *x, int64_t n, int64_t cols,
                            const int32_t *map, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = ferry_i_calloc(n, sizeof *rows);

    FERRY_HAVE(ctx, rows);
    for (int64_t i = 0; i < n; i++)
        rows[i] = i * x->rows / n;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n, rows, cols, map, out));
done:
    ferry_i_free(rows);
    return st;
}

/* A-distance of two views over the columns of a; NaN when it cannot be measured. */
static ferry_status apart(ferry_ctx *ctx, const ferry_view *a, const ferry_view *b,
                          const int32_t *map, double *out)
{
    ferry_status st = FERRY_OK;
    int64_t n = a->x->rows < b->x->rows ? a->x->rows : b->x->rows;
    ferry_matrix *raw[2] = {NULL, NULL}, *x[2] = {NULL, NULL};

    *out = NAN;
    if (n > SAMPLE) n = SAMPLE;
    /* filling missing cells would itself tell the views apart */
    if (n < 4 || a->has_missing || b->has_missing) return FERRY_OK;
    FERRY_TRY(rows_of(ctx, a->x, n, a->x->cols, NULL, &raw[0]));
    FERRY_TRY(rows_of(ctx, b->x, n, a->x->cols, map, &raw[1]));
    for (int i = 0; i < 2; i++)
        x[i] = ferry_i_matrix_ref(raw[i]);
    FERRY_TRY(ferry_i_select_scale(ctx, 2, raw, 2, x));
    FERRY_TRY(ferry_i_select_distance(ctx, x[0], x[1], 1, out));
done:
    for (int i = 0; i < 2; i++) {
        ferry_i_matrix_free(raw[i]);
        ferry_i_matrix_free(x[i]);
    }
    return st;
}

/* ---- one pair of domains ---- */

/* Of all views that are the same thing (prepare/links.h) the one that shares most features
 * speaks for the two domains. */
ferry_status ferry_i_measure(ferry_ctx *ctx, const ferry_domain *d, const ferry_domain *to,
                             select_measure *out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *ours = NULL, *theirs = NULL;
    int32_t *map = NULL, *best_map = NULL;
    const ferry_domain *const both[] = {d, to};
    const ferry_view *a = NULL, *b = NULL;
    ferry_links *links = NULL;
    int64_t most = 0, shared = 0;

    *out = (select_measure){.complexity = NAN, .a_distance = NAN};
    FERRY_TRY(label_names(ctx, d, &ours));
    FERRY_TRY(label_names(ctx, to, &theirs));
    FERRY_TRY(ferry_i_links_find(ctx, 2, both, &links));
    for (int64_t i = 0; i < to->n_views; i++) {
        const ferry_view *v = ferry_i_links_view(links, 0, links->group[1][i]);
        if (!v) continue;
        st = ferry_i_view_align(ctx, to->views[i], v, &map, &shared);
        if (st != FERRY_ENEEDS) FERRY_TRY(st); /* nothing in common after all */
        if (st == FERRY_OK && shared > most) {
            most = shared;
            a = to->views[i];
            b = v;
            ferry_i_free(best_map);
            best_map = map;
        } else {
            ferry_i_free(map);
        }
        map = NULL;
    }
    st = FERRY_OK;
    if (a) FERRY_TRY(apart(ctx, a, b, best_map, &out->a_distance));
    if (d->n_views > 0 && !d->views[0]->has_missing)
        FERRY_TRY(ferry_i_select_complexity(ctx, d->views[0]->x, 0.05, &out->complexity));
    out->shared_features = most;
    out->feature_overlap = a ? overlap(most, a->x->cols, b->x->cols) : 0;
    /* row numbers are no ids: that both have a row 7 says nothing */
    out->id_overlap = d->numbered || to->numbered
                          ? (double)NAN
                          : overlap(shared_names(d->ids, to->ids), ferry_domain_id_count(d),
                                    ferry_domain_id_count(to));
    out->label_overlap = overlap(shared_names(ours, theirs), ferry_i_ids_count(ours),
                                 ferry_i_ids_count(theirs));
done:
    FERRY_FREE(map, best_map);
    ferry_i_links_free(links);
    ferry_i_ids_free(ours);
    ferry_i_ids_free(theirs);
    return st;
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

/* Every domain against the target: what `ferry advise` shows before a run. */
ferry_status ferry_i_measures(ferry_ctx *ctx, const ferry_task *task, json_t **out)
{
    ferry_status st = FERRY_OK;
    json_t *list = json_array();
    const ferry_domain *target = ferry_i_task_role(task, FERRY_TARGET, 0);

    *out = NULL;
    FERRY_HAVE(ctx, list);
    for (int64_t i = 0; target && i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        select_measure m = {0};
        if (d == target) continue;
        FERRY_TRY(ferry_i_measure(ctx, d, target, &m));
        FERRY_HAVE(ctx, json_array_append_new(
                            list, ferry_i_measure_json(d->name, target->name, &m)) == 0);
    }
    FERRY_MOVE(*out, list);
done:
    json_decref(list);
    return st;
}
