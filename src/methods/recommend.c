/* What only models of ratings can do: fold in, and name the best items. */
#include <string.h>

#include "core/json.h"
#include "core/scope.h"
#include "linalg/blas.h"
#include "methods/method.h"

/* ---- fold in ---- */

typedef struct folding {
    const ferry_model *m;
    const ferry_domain *ratings;
    ferry_model *to;
} folding;

static void json_free(void *json)
{
    json_decref(json);
}

/* A model like m, but for its state.
 * Options, names and views are copied rather than shared: the new model may outlive m. */
static void copy_but_state(scope *s, const ferry_model *m, ferry_model **out)
{
    ferry_ctx *ctx = scope_ctx(s);
    json_t *diag = NULL;

    scope_check(s, ferry_i_model_new(ctx, m->method, m->opts, m->goal, m->names, out));
    for (int64_t i = 0; i < m->n_views; i++)
        scope_check(s, ferry_i_model_add_view(ctx, *out, m->views[i]->name,
                                              m->views[i]->x->cols, m->views[i]->features,
                                              m->views[i]->read, m->views[i]->idf));
    scope_check(s, ferry_i_json_parse(ctx, m->diagnostics, (int64_t)strlen(m->diagnostics),
                                      0, NULL, &diag));
    if (!diag) scope_check(s, ferry_i_nomem(ctx));
    scope_defer(s, json_free, diag);
    scope_check(s, ferry_i_model_set_diagnostics(ctx, *out, diag));
}

static void fold_body(scope *s, void *arg)
{
    folding *a = arg;
    const ferry_method *how = a->m->method;

    if (a->m->goal != FERRY_RATE || !how->fold_in)
        scope_fail(s, FERRY_ENEEDS, "%s is no model of ratings: nothing can be folded in",
                   how->name);
    if (!a->ratings->ratings)
        scope_fail(s, FERRY_ENEEDS, "domain '%s' has no ratings", a->ratings->name);
    scope_check(s, ferry_i_blas_ready(scope_ctx(s)));
    copy_but_state(s, a->m, &a->to);
    ferry_i_ratings_tell(scope_ctx(s), a->ratings);
    scope_check(s, how->fold_in(scope_ctx(s), a->m->state, a->ratings, &a->to->state));
}

/* A new model; the given one stays as it is, so that other threads may go on using it. */
ferry_status ferry_model_fold_in(ferry_ctx *ctx, const ferry_model *model,
                                 const ferry_domain *ratings, ferry_model **out)
{
    FERRY_ARGS_OUT(ctx, out, out, model, ratings);

    folding a = {model, ratings, NULL};
    const ferry_status st = scope_run(ctx, fold_body, &a);
    if (st == FERRY_OK)
        *out = a.to;
    else
        ferry_model_free(a.to);
    return st;
}

/* ---- the best items ---- */

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

static void free_ratings(void *r)
{
    ferry_i_ratings_free(r);
}

/* A user named twice is refused: a list of ids holds each once, and the caller counts
 * two. */
static ferry_ids *ids_of(scope *s, int64_t n, const char *const *users)
{
    ferry_ids *ids = ferry_i_ids_new();

    if (!ids) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(s, free_ids, ids);
    for (int64_t i = 0; i < n; i++) {
        bool added = false;
        if (ferry_i_ids_add(ids, users[i], &added) < 0)
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
        if (!added) scope_fail(s, FERRY_EINVAL, "user '%s' is asked about twice", users[i]);
    }
    return ids;
}

typedef struct recommending {
    const ferry_model *m;
    int64_t n_users;
    const char *const *users;
    int64_t top;
    bool rated;
    ferry_prediction *p;
} recommending;

/* The lists come as ratings of (user, item) pairs, so that a prediction of goal rate can
 * hold them: best first for each user, users in the order given (NULL: the model's). */
static void recommend_body(scope *s, void *arg)
{
    recommending *a = arg;
    ferry_ctx *ctx = scope_ctx(s);
    const ferry_method *how = a->m->method;
    ferry_domain domain = {.name = NULL};

    if (a->m->goal != FERRY_RATE || !how->top)
        scope_fail(s, FERRY_ENEEDS, "%s is no model of ratings: it has no best items",
                   how->name);
    if (a->top < 1)
        scope_fail(s, FERRY_EINVAL, "top = %lld: expected at least 1", (long long)a->top);
    scope_check(s, ferry_i_blas_ready(ctx));
    const ferry_ids *ids = a->users ? ids_of(s, a->n_users, a->users) : NULL;
    scope_check(s, how->top(ctx, a->m->state, ids, a->top, a->rated, &domain.ratings));
    scope_defer(s, free_ratings, domain.ratings);
    scope_check(s, ferry_i_prediction_new(ctx, FERRY_RATE, NULL, &domain, &a->p));
    if (a->p->n > 0)
        memcpy(a->p->value, domain.ratings->value, (size_t)a->p->n * sizeof *a->p->value);
}

ferry_status ferry_recommend(ferry_ctx *ctx, const ferry_model *model, int64_t n_users,
                             const char *const *users, int64_t top, int rated,
                             ferry_prediction **out)
{
    FERRY_ARGS_OUT(ctx, out, out, model);

    recommending a = {model, n_users, users, top, rated != 0, NULL};
    const ferry_status st = scope_run(ctx, recommend_body, &a);
    if (st == FERRY_OK)
        *out = a.p;
    else
        ferry_prediction_free(a.p);
    return st;
}
