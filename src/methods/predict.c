/* Predicting: bring a domain's views to the order and columns that the model knows, then
 * ask the method.
 * A method then sees columns by place alone. What the domain lacks is said in the form
 * that the storage allows: no entry in CSR, NaN in a dense view, no rows for a whole
 * view. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/ranks.h"
#include "linalg/blas.h"
#include "methods/method.h"

/* A domain as the model knows it. Everything but the views' matrices is lent by the domain
 * it was made from, so it lives for one call and never meets ferry_domain_free(). */
typedef struct aligned {
    ferry_domain domain;
    ferry_view *view;    /* one per view of the model */
    ferry_view **views;  /* to them */
    ferry_ratings pairs; /* goal rate: with all values hidden */
    double *hidden;
    int32_t *user, *item; /* of pairs that repeat: as they were given */
    int64_t *none;        /* -1 for every instance: the rows of a view that is absent */
    int64_t **own;        /* one per view: row_of, -1 for the instances of other ranks */
} aligned;

/* Only what align() made; everything lent is left alone. */
static void free_aligned(aligned *a)
{
    for (int64_t i = 0; a->view && i < a->domain.n_views; i++)
        ferry_i_matrix_free(a->view[i].x);
    for (int64_t i = 0; a->own && i < a->domain.n_views; i++)
        ferry_i_free(a->own[i]);
    FERRY_FREE(a->view, a->views, a->hidden, a->user, a->item, a->none, a->own);
}

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
static ferry_status columns_by_number(ferry_ctx *ctx, const ferry_view *v, int64_t cols,
                                      int32_t **map, int64_t *shared)
{
    int32_t *to = ferry_i_calloc(v->x->cols, sizeof *to);

    *map = to;
    if (!to) return ferry_i_nomem(ctx);
    for (int64_t j = 0; j < v->x->cols; j++)
        to[j] = j < cols ? (int32_t)j : -1;
    *shared = cols < v->x->cols ? cols : v->x->cols;
    return FERRY_OK;
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
static ferry_status blank_missing(ferry_ctx *ctx, ferry_matrix *x, int64_t n,
                                  const int32_t *map)
{
    ferry_status st = FERRY_OK;
    uint8_t *there = ferry_i_calloc(x->cols, 1);

    FERRY_HAVE(ctx, there);
    for (int64_t j = 0; j < n; j++)
        if (map[j] >= 0) there[map[j]] = 1;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++)
            if (!there[j]) x->dense[i * x->cols + j] = NAN;
    }
done:
    ferry_i_free(there);
    return st;
}

/* All rows of v with its columns where map says.
 * A copy of v, which is shared and never changed. map[j] is the new place of column j, or
 * -1. */
static ferry_status take_columns(ferry_ctx *ctx, const ferry_view *v, int64_t cols,
                                 const int32_t *map, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = ferry_i_calloc(v->x->rows, sizeof *rows);

    FERRY_HAVE(ctx, rows);
    for (int64_t i = 0; i < v->x->rows; i++)
        rows[i] = i;
    FERRY_TRY(ferry_i_matrix_take(ctx, v->x, v->x->rows, rows, cols, map, out));
done:
    ferry_i_free(rows);
    return st;
}

/* Name the features that the model learned from and new data lacks. A value of a category
 * that does not occur ("colour=red" where other colours do) is none of them. */
static ferry_status warn_of_absent(ferry_ctx *ctx, const ferry_domain *d,
                                   const ferry_view *known, const ferry_view *v)
{
    ferry_status st = FERRY_OK;
    ferry_ids *there = ferry_i_ids_new();
    const char *first = NULL;
    int64_t n = 0;

    FERRY_HAVE(ctx, there);
    for (int64_t j = 0; j < v->x->cols; j++) {
        const char *name = ferry_i_ids_at(v->features, j);
        FERRY_HAVE(ctx,
                   ferry_i_ids_addn(there, name, (int64_t)strcspn(name, "="), NULL) >= 0);
    }
    for (int64_t j = 0; j < known->x->cols; j++) {
        const char *name = ferry_i_ids_at(known->features, j);
        if (ferry_i_ids_findn(there, name, (int64_t)strcspn(name, "=")) >= 0) continue;
        if (n++ == 0) first = name;
    }
    if (n > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "domain '%s', view '%s': %lld of the %lld features that the model "
                    "learned from are not there, such as '%s': they count as missing",
                    d->name, v->name, (long long)n, (long long)known->x->cols, first);
done:
    ferry_i_ids_free(there);
    return st;
}

/* Fill `to` (which lends everything else from v) with v's cells in the columns of
 * `known`. */
static ferry_status align_columns(ferry_ctx *ctx, const ferry_domain *d,
                                  const ferry_view *known, const ferry_view *v,
                                  ferry_view *to)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = known->x->cols, have = v->x->cols;
    const bool named = known->features && v->features;
    int32_t *map = NULL;
    int64_t shared = 0;

    if (!named && !v->x->dense)
        FERRY_TRY(columns_by_number(ctx, v, cols, &map, &shared));
    else
        st = ferry_i_view_align(ctx, known, v, &map, &shared);
    if (st == FERRY_ENEEDS)
        st =
            ferry_i_fail(ctx, st,
                         "domain '%s', view '%s': expected the features that the model "
                         "learned from, found others: %lld %s, the model has %lld%s%s%s",
                         d->name, v->name, (long long)have,
                         named ? "with other names" : "without names on both sides",
                         (long long)cols, named ? " such as '" : "",
                         named ? ferry_i_ids_at(known->features, 0) : "", named ? "'" : "");
    FERRY_TRY(st);
    /* New features are dropped with a warning, not refused: a later file of the same
     * source often has more words. A view with no feature in common was refused above. */
    if (have > shared)
        ferry_i_log(
            ctx, FERRY_WARN,
            "domain '%s', view '%s': %lld of %lld features are new to the model and "
            "are ignored",
            d->name, v->name, (long long)(have - shared), (long long)have);
    if (shared < cols && named && !v->idf) FERRY_TRY(warn_of_absent(ctx, d, known, v));
    if (have == cols && is_identity(have, map)) {
        to->x = ferry_i_matrix_ref(v->x);
        goto done;
    }
    FERRY_TRY(take_columns(ctx, v, cols, map, &to->x));
    if (shared < cols && to->x->dense) {
        to->has_missing = true;
        FERRY_TRY(blank_missing(ctx, to->x, have, map));
    }
done:
    ferry_i_free(map);
    return st;
}

/* A view that the domain lacks: the right columns, no rows. */
static void absent_view(const ferry_view *known, const aligned *a, ferry_view *to)
{
    to->x = ferry_i_matrix_ref(known->x);
    to->row_of = a->none;
    to->instance = a->none; /* of no rows */
    to->n_instances = ferry_i_ids_count(a->domain.ids);
}

/* The views, in the model's order; *found counts those that the domain has. */
static ferry_status align_views(ferry_ctx *ctx, const ferry_model *m, const ferry_domain *d,
                                aligned *a, int64_t *found)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(d->ids);

    *found = 0;
    FERRY_NEW(ctx, a->view, m->n_views);
    FERRY_NEW(ctx, a->views, m->n_views);
    FERRY_NEW(ctx, a->none, n);
    memset(a->none, 0xff, (size_t)n * sizeof *a->none); /* -1 */
    a->domain.views = a->views;
    a->domain.n_views = m->n_views;
    for (int64_t i = 0; i < m->n_views; i++) {
        const ferry_view *known = m->views[i], *v = counterpart(m, i, d);
        ferry_view *to = a->views[i] = &a->view[i];
        if (v) *to = *v;
        to->x = NULL;
        if (v)
            FERRY_TRY(align_columns(ctx, d, known, v, to));
        else
            absent_view(known, a, to);
        /* The method sees the model's names; how the file was read is no business of a
         * prediction. */
        to->name = known->name;
        to->features = known->features;
        to->read = NULL;
        to->idf = NULL;
        *found += v != NULL;
    }
done:
    return st;
}

/* The names of views as "'a', 'b'"; "none" without. */
static void list_views(char *buf, size_t size, int64_t n, ferry_view *const *views)
{
    size_t at = 0;

    (void)snprintf(buf, size, "none");
    for (int64_t i = 0; i < n && at < size; i++)
        at +=
            (size_t)snprintf(buf + at, size - at, "%s'%s'", i ? ", " : "", views[i]->name);
}

/* The pairs, each as often as it was given: without values, for the reason that labels are gone. */
static ferry_status align_pairs(ferry_ctx *ctx, const ferry_ratings *r, aligned *a)
{
    ferry_status st = FERRY_OK;
    const int64_t n = r->line ? r->lines : r->n;

    FERRY_NEW(ctx, a->hidden, n);
    for (int64_t i = 0; i < n; i++)
        a->hidden[i] = NAN;
    a->pairs = *r;
    a->pairs.n = n;
    a->pairs.value = a->hidden;
    a->domain.ratings = &a->pairs;
    if (!r->line) goto done;
    FERRY_NEW(ctx, a->user, n);
    FERRY_NEW(ctx, a->item, n);
    for (int64_t i = 0; i < n; i++) {
        a->user[i] = r->user[r->line[i]];
        a->item[i] = r->item[r->line[i]];
    }
    a->pairs.user = a->user;
    a->pairs.item = a->item;
done:
    return st;
}

/* The domain as the method may see it: its labels and rating values are what is asked. */
static ferry_status align(ferry_ctx *ctx, const ferry_model *m, const ferry_domain *d,
                          aligned *a)
{
    ferry_status st = FERRY_OK;
    const unsigned views = FERRY_NEED_VIEW | FERRY_NEED_ONE_VIEW | FERRY_NEED_TARGET_VIEW;
    char knows[256], has[256];
    int64_t found = 0;

    a->domain = *d;
    a->domain.n_views = 0;
    a->domain.labels = NULL;
    /* Labels are gone before the method is asked: it cannot answer with what it should
     * guess. */
    FERRY_TRY(align_views(ctx, m, d, a, &found));
    list_views(knows, sizeof knows, m->n_views, m->views);
    list_views(has, sizeof has, d->n_views, d->views);
    FERRY_NEED(
        ctx, found > 0 || !(m->method->needs & views) || ferry_i_ids_count(d->ids) == 0,
        FERRY_ENEEDS,
        "domain '%s' has no instance in a view that the model knows: it learned from "
        "%s, the domain has %s",
        d->name, knows, has);
    if (m->goal != FERRY_RATE) goto done;
    FERRY_NEED(ctx, d->ratings, FERRY_ENEEDS, "domain '%s' has no pairs to rate", d->name);
    FERRY_TRY(align_pairs(ctx, d->ratings, a));
done:
    return st;
}

/* What a method may have got wrong, since its state may come from a file. */
static ferry_status check_classes(ferry_ctx *ctx, const ferry_model *m,
                                  const ferry_prediction *p)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; p->cls && i < p->n; i++)
        FERRY_NEED(ctx, p->cls[i] >= -1 && p->cls[i] < p->k, FERRY_EDATA,
                   "%s: predicts class number %d of %lld", m->method->name, p->cls[i],
                   (long long)p->k);
done:
    return st;
}

/* ---- rows over ranks: every instance is one rank's to answer ---- */

static ferry_status keep_part(ferry_ctx *ctx, aligned *a)
{
    ferry_status st = FERRY_OK;
    int64_t from = 0, to = 0;

    ferry_i_ranks_part(ctx, ferry_i_ids_count(a->domain.ids), &from, &to);
    FERRY_NEW(ctx, a->own, a->domain.n_views);
    for (int64_t v = 0; v < a->domain.n_views; v++) {
        ferry_view *view = &a->view[v];
        FERRY_NEW(ctx, a->own[v], view->n_instances);
        for (int64_t i = 0; i < view->n_instances; i++)
            a->own[v][i] = i >= from && i < to ? view->row_of[i] : -1;
        view->row_of = a->own[v];
    }
done:
    return st;
}

static ferry_status gather(ferry_ctx *ctx, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const size_t k = (size_t)p->k;

    if (p->cls) FERRY_TRY(ferry_i_ranks_gather(ctx, p->n, sizeof *p->cls, p->cls));
    if (p->score)
        FERRY_TRY(ferry_i_ranks_gather(ctx, p->n, k * sizeof *p->score, p->score));
    if (p->value) FERRY_TRY(ferry_i_ranks_gather(ctx, p->n, sizeof *p->value, p->value));
    if (p->set) FERRY_TRY(ferry_i_ranks_gather(ctx, p->n, k, p->set));
done:
    return st;
}

/* The method's answers; by itself, as far as the method can tell. */
static ferry_status answer(ferry_ctx *outer, const ferry_model *m, aligned *a,
                           ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    ferry_ctx own = *outer, *ctx = &own;
    /* pairs take no time: every rank answers all of them */
    const bool spread = ferry_i_ranks_split(outer) && m->method->spreads &&
                        !m->method->together && m->goal != FERRY_RATE;

    if (spread) {
        own.ranks = NULL;
        FERRY_TRY(keep_part(outer, a));
    }
    if (m->goal == FERRY_EMBED) {
        FERRY_NEED(ctx, m->method->transform, FERRY_ENEEDS, "%s makes no embeddings",
                   m->method->name);
        FERRY_TRY(m->method->transform(ctx, m->state, &a->domain, p));
    } else {
        FERRY_TRY(m->method->predict(ctx, m->state, &a->domain, p));
    }
done:
    st = ferry_i_join(outer, ctx, st);
    return st == FERRY_OK && spread ? gather(outer, p) : st;
}

/* *out is new. Only the first `asked` instances are answered; the rest came with a graph,
 * as neighbours whose labels the model knows. */
ferry_status ferry_predict(ferry_ctx *ctx, const ferry_model *model,
                           const ferry_domain *domain, ferry_prediction **out)
{
    FERRY_ARGS_OUT(ctx, out, out, model, domain);

    ferry_status st = FERRY_OK;
    ferry_prediction *p = NULL;
    aligned a = {.view = NULL};

    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_TRY(align(ctx, model, domain, &a));
    FERRY_TRY(ferry_i_prediction_new(ctx, model->goal, model->names, &a.domain, &p));
    FERRY_TRY(answer(ctx, model, &a, p));
    FERRY_TRY(check_classes(ctx, model, p));
    if (domain->asked > 0 && domain->asked < p->n) p->n = domain->asked;
done:
    st = ferry_i_ranks_agree(ctx, st);
    if (st == FERRY_OK) FERRY_MOVE(*out, p);
    ferry_prediction_free(p);
    free_aligned(&a);
    return st;
}
