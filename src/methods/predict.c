/* Predicting: bring a domain's views to the order and columns that the model knows, then
 * ask the method.
 * A method then sees columns by place alone. What the domain lacks is said in the form
 * that the storage allows: no entry in CSR, NaN in a dense view, no rows for a whole
 * view. */
#include <math.h>
#include <string.h>

#include "linalg/blas.h"
#include "linalg/ops.h"
#include "methods/method.h"

/* A domain as the model knows it. Everything else is borrowed from the domain it was made from: it lives for one
 * call. */
typedef struct aligned {
    ferry_domain domain;
    ferry_view *view;    /* one per view of the model */
    ferry_ratings pairs; /* goal rate: with all values hidden */
} aligned;

/* The domain's view that stands for the model's view i: by name, or both have just one. */
static const ferry_view *counterpart(const ferry_model *m, int64_t i, const ferry_domain *d)
{
    const ferry_view *v = ferry_i_domain_view(d, m->views[i]->name);

    if (!v && m->n_views == 1 && d->n_views == 1) v = d->views[0];
    return v && v->x->rows > 0 ? v : NULL;
}

/* Columns by number where one side has no names. A sparse view of a file that just lacks
 * the last features is narrower, one with features never seen is wider: neither is wrong.
 */
static int32_t *columns_by_number(scope *s, const ferry_view *v, int64_t cols,
                                  int64_t *shared)
{
    int32_t *to = NEW(s, int32_t, v->x->cols);

    for (int64_t j = 0; j < v->x->cols; j++)
        to[j] = j < cols ? (int32_t)j : -1;
    *shared = cols < v->x->cols ? cols : v->x->cols;
    return to;
}

static bool is_identity(int64_t n, const int32_t *map)
{
    int64_t j = 0;

    while (j < n && map[j] == j)
        j++;
    return j == n;
}

/* Cells of features that the domain does not have: nothing is known about them.
 * Only for dense matrices: in CSR what is not stored is 0, which for counts is the truth.
 */
static void blank_missing(scope *s, ferry_matrix *x, int64_t n, const int32_t *map)
{
    uint8_t *there = NEW(s, uint8_t, x->cols);

    for (int64_t j = 0; j < n; j++)
        if (map[j] >= 0) there[map[j]] = 1;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++)
            if (!there[j]) x->dense[i * x->cols + j] = NAN;
    }
}

/* All rows of v with its columns where map says.
 * A copy of v, which is shared and never changed. map[j] is the new place of column j, or
 * -1. */
static ferry_matrix *move_columns(scope *s, const ferry_view *v, int64_t cols,
                                  const int32_t *map)
{
    int64_t *rows = NEW(s, int64_t, v->x->rows);
    ferry_matrix *to = NULL;

    for (int64_t i = 0; i < v->x->rows; i++)
        rows[i] = i;
    scope_check(s,
                ferry_i_matrix_take(scope_ctx(s), v->x, v->x->rows, rows, cols, map, &to));
    scope_drop(s, rows);
    return own_matrix(s, to);
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

/* Name the features that the model learned from and new data lacks. A value of a category
 * that does not occur ("colour=red" where other colours do) is none of them. */
static void warn_of_absent(scope *s, const ferry_domain *d, const ferry_view *known,
                           const ferry_view *v)
{
    ferry_ids *there = ferry_i_ids_new();
    const char *first = NULL;
    int64_t n = 0;

    if (!there) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(s, free_ids, there);
    for (int64_t j = 0; j < v->x->cols; j++) {
        const char *name = ferry_i_ids_at(v->features, j);
        if (ferry_i_ids_addn(there, name, (int64_t)strcspn(name, "="), NULL) < 0)
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
    }
    for (int64_t j = 0; j < known->x->cols; j++) {
        const char *name = ferry_i_ids_at(known->features, j);
        if (ferry_i_ids_findn(there, name, (int64_t)strcspn(name, "=")) >= 0) continue;
        if (n++ == 0) first = name;
    }
    if (n > 0)
        ferry_i_log(scope_ctx(s), FERRY_WARN,
                    "domain '%s', view '%s': %lld of the %lld features that the model "
                    "learned from are not there, such as '%s': they count as missing",
                    d->name, v->name, (long long)n, (long long)known->x->cols, first);
}

/* Where the columns of v stand among those of `known`; *shared: how many do. */
static const int32_t *match_columns(scope *s, const ferry_domain *d,
                                    const ferry_view *known, const ferry_view *v,
                                    int64_t *shared)
{
    const bool named = known->features && v->features;
    int32_t *map = NULL;

    if (!named && !v->x->dense) return columns_by_number(s, v, known->x->cols, shared);
    const ferry_status st = ferry_i_view_align(scope_ctx(s), known, v, &map, shared);
    if (st == FERRY_ENEEDS)
        scope_fail(s, st,
                   "domain '%s', view '%s': expected the features that the model "
                   "learned from, found others: %lld %s, the model has %lld%s%s%s",
                   d->name, v->name, (long long)v->x->cols,
                   named ? "with other names" : "without names on both sides",
                   (long long)known->x->cols, named ? " such as '" : "",
                   named ? ferry_i_ids_at(known->features, 0) : "", named ? "'" : "");
    scope_check(s, st);
    return scope_adopt(s, map);
}

/* `to` (which has everything else from v) gets v's cells in the columns of `known`. */
static void align_columns(scope *s, const ferry_domain *d, const ferry_view *known,
                          const ferry_view *v, ferry_view *to)
{
    const int64_t cols = known->x->cols, have = v->x->cols;
    int64_t shared = 0;
    const int32_t *map = match_columns(s, d, known, v, &shared);

    /* New features are dropped with a warning, not refused: a later file of the same
     * source often has more words. A view with no feature in common was refused above. */
    if (have > shared)
        ferry_i_log(
            scope_ctx(s), FERRY_WARN,
            "domain '%s', view '%s': %lld of %lld features are new to the model and "
            "are ignored",
            d->name, v->name, (long long)(have - shared), (long long)have);
    if (shared < cols && known->features && v->features && !v->idf)
        warn_of_absent(s, d, known, v);
    if (have == cols && is_identity(have, map)) {
        to->x = own_matrix(s, ferry_i_matrix_ref(v->x));
        return;
    }
    to->x = move_columns(s, v, cols, map);
    if (shared < cols && to->x->dense) {
        to->has_missing = true;
        blank_missing(s, to->x, have, map);
    }
}

/* The views, in the model's order; how many the domain has. One that it lacks has the right columns and no rows. */
static int64_t align_views(scope *s, const ferry_model *m, const ferry_domain *d,
                           aligned *a)
{
    const int64_t n = ferry_i_ids_count(d->ids);
    ferry_view **views = NEW(s, ferry_view *, m->n_views);
    int64_t *none = NEW(s, int64_t, n), found = 0; /* rows of a view that is absent */

    a->view = NEW(s, ferry_view, m->n_views);
    memset(none, 0xff, (size_t)n * sizeof *none); /* -1 */
    a->domain.views = views;
    a->domain.n_views = m->n_views;
    for (int64_t i = 0; i < m->n_views; i++) {
        const ferry_view *known = m->views[i], *v = counterpart(m, i, d);
        ferry_view *to = views[i] = &a->view[i];
        if (v) {
            *to = *v;
            align_columns(s, d, known, v, to);
        } else {
            to->x = known->x;
            to->row_of = none;
            to->instance = none; /* of no rows */
            to->n_instances = n;
        }
        /* The method sees the model's names; how the file was read is no business of a
         * prediction. */
        to->name = known->name;
        to->features = known->features;
        to->read = NULL;
        to->idf = NULL;
        found += v != NULL;
    }
    return found;
}

/* The names of views as "'a', 'b'"; "none" without. */
static const char *list_views(scope *s, int64_t n, ferry_view *const *views)
{
    const char *all = n > 0 ? "" : "none";

    for (int64_t i = 0; i < n; i++)
        all = scope_text(s, "%s%s'%s'", all, i ? ", " : "", views[i]->name);
    return all;
}

/* The pairs, each as often as it was given: without values, for the reason that labels are gone. */
static void align_pairs(scope *s, const ferry_ratings *r, aligned *a)
{
    const int64_t n = r->line ? r->lines : r->n;
    double *hidden = NEW(s, double, n);

    for (int64_t i = 0; i < n; i++)
        hidden[i] = NAN;
    a->pairs = *r;
    a->pairs.n = n;
    a->pairs.value = hidden;
    a->domain.ratings = &a->pairs;
    if (!r->line) return;
    a->pairs.user = NEW(s, int32_t, n); /* of pairs that repeat: as they were given */
    a->pairs.item = NEW(s, int32_t, n);
    for (int64_t i = 0; i < n; i++) {
        a->pairs.user[i] = r->user[r->line[i]];
        a->pairs.item[i] = r->item[r->line[i]];
    }
}

/* The domain as the method may see it: its labels and rating values are what is asked. */
static void align(scope *s, const ferry_model *m, const ferry_domain *d, aligned *a)
{
    const unsigned views = FERRY_NEED_VIEW | FERRY_NEED_ONE_VIEW | FERRY_NEED_TARGET_VIEW;

    a->domain = *d;
    /* Labels are gone before the method is asked: it cannot answer with what it should
     * guess. */
    a->domain.labels = NULL;
    const int64_t found = align_views(s, m, d, a);
    if (found == 0 && (m->method->needs & views) && ferry_i_ids_count(d->ids) > 0)
        scope_fail(
            s, FERRY_ENEEDS,
            "domain '%s' has no instance in a view that the model knows: it learned from "
            "%s, the domain has %s",
            d->name, list_views(s, m->n_views, m->views),
            list_views(s, d->n_views, d->views));
    if (m->goal != FERRY_RATE) return;
    if (!d->ratings)
        scope_fail(s, FERRY_ENEEDS, "domain '%s' has no pairs to rate", d->name);
    align_pairs(s, d->ratings, a);
}

/* What a method may have got wrong, since its state may come from a file. */
static void check_classes(scope *s, const ferry_model *m, const ferry_prediction *p)
{
    for (int64_t i = 0; p->cls && i < p->n; i++)
        if (p->cls[i] < -1 || p->cls[i] >= p->k)
            scope_fail(s, FERRY_EDATA, "%s: predicts class number %d of %lld",
                       m->method->name, p->cls[i], (long long)p->k);
}

/* ---- rows over processes: every instance is one's to answer ---- */

/* Views have rows for the instances of this process alone. */
static void keep_part(scope *s, layout rows, int64_t n, aligned *a)
{
    for (int64_t v = 0; v < a->domain.n_views; v++) {
        ferry_view *view = &a->view[v];
        int64_t *own = NEW(s, int64_t, view->n_instances);
        for (int64_t i = 0; i < view->n_instances; i++)
            own[i] = i >= rows.first && i < rows.first + n ? view->row_of[i] : -1;
        view->row_of = own;
    }
}

/* Of items for all instances each process has set its own: all get all. */
static void gather(scope *s, layout rows, int64_t n, size_t size, void *items)
{
    const int64_t mark = scope_mark(s);

    if (!items) return;
    char *mine = (char *)items + (size_t)rows.first * size;
    memcpy(items, replicate_items(s, rows, n, size, mine), (size_t)rows.n * size);
    scope_release(s, mark);
}

static void ask(scope *s, ferry_ctx *ctx, const ferry_model *m, const aligned *a,
                ferry_prediction *p)
{
    const ferry_method *how = m->method;

    if (m->goal == FERRY_EMBED && !how->transform)
        scope_fail(s, FERRY_ENEEDS, "%s makes no embeddings", how->name);
    const ferry_status st = (m->goal == FERRY_EMBED ? how->transform : how->predict)(
        ctx, m->state, &a->domain, p);
    scope_check(s, ctx == scope_ctx(s) ? st : ferry_i_join(scope_ctx(s), ctx, st));
}

/* The method's answers; by itself, as far as the method can tell. Pairs take no time: every process answers all of
 * them. */
static void answer(scope *s, const ferry_model *m, aligned *a, ferry_prediction *p)
{
    ferry_ctx alone = ferry_i_alone(scope_ctx(s));
    int64_t here = 0;

    if (!rows_spread(s) || !m->method->spreads || m->method->together ||
        m->goal == FERRY_RATE) {
        ask(s, scope_ctx(s), m, a, p);
        return;
    }
    const layout rows = rows_here(s, ferry_i_ids_count(a->domain.ids), &here);
    keep_part(s, rows, here, a);
    ask(s, &alone, m, a, p);
    gather(s, rows, here, sizeof *p->cls, p->cls);
    gather(s, rows, here, (size_t)p->k * sizeof *p->score, p->score);
    gather(s, rows, here, sizeof *p->value, p->value);
    gather(s, rows, here, (size_t)p->k, p->set);
}

typedef struct asking {
    const ferry_model *m;
    const ferry_domain *d;
    ferry_prediction *p;
} asking;

/* Only the first `asked` instances are answered; the rest came with a graph, as neighbours
 * whose labels the model knows. */
static void predict_body(scope *s, void *arg)
{
    asking *ask_of = arg;
    const ferry_model *m = ask_of->m;
    const ferry_domain *d = ask_of->d;
    aligned *a = NEW(s, aligned, 1);

    scope_check(s, ferry_i_blas_ready(scope_ctx(s)));
    align(s, m, d, a);
    scope_check(
        s, ferry_i_prediction_new(scope_ctx(s), m->goal, m->names, &a->domain, &ask_of->p));
    answer(s, m, a, ask_of->p);
    check_classes(s, m, ask_of->p);
    if (d->asked > 0 && d->asked < ask_of->p->n) ask_of->p->n = d->asked;
}

ferry_status ferry_predict(ferry_ctx *ctx, const ferry_model *model,
                           const ferry_domain *domain, ferry_prediction **out)
{
    FERRY_ARGS_OUT(ctx, out, out, model, domain);

    asking a = {model, domain, NULL};
    const ferry_status st = scope_section(ctx, predict_body, &a);
    if (st == FERRY_OK)
        *out = a.p;
    else
        ferry_prediction_free(a.p);
    return st;
}
