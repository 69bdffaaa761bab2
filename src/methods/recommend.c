/* What only models of ratings can do: fold in, and name the best items. */
#include <string.h>

#include "core/json.h"
#include "linalg/blas.h"
#include "methods/method.h"

/* A model like m, but for its state.
 * Options, names and views are copied rather than shared: the new model may outlive m. */
static ferry_status copy_but_state(ferry_ctx *ctx, const ferry_model *m, ferry_model **out)
{
    ferry_status st = FERRY_OK;
    ferry_model *t = NULL;
    json_t *diag = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_model_new(ctx, m->method, m->opts, m->goal, m->names, &t));
    for (int64_t i = 0; i < m->n_views; i++)
        FERRY_TRY(ferry_i_model_add_view(ctx, t, m->views[i]->name, m->views[i]->x->cols,
                                         m->views[i]->features, m->views[i]->read,
                                         m->views[i]->idf));
    FERRY_TRY(ferry_i_json_parse(ctx, m->diagnostics, (int64_t)strlen(m->diagnostics), 0,
                                 NULL, &diag));
    FERRY_HAVE(ctx, diag);
    FERRY_TRY(ferry_i_model_set_diagnostics(ctx, t, diag));
    FERRY_MOVE(*out, t);
done:
    json_decref(diag);
    ferry_model_free(t);
    return st;
}

/* A new model; the given one stays as it is, so that other threads may go on using it. */
ferry_status ferry_model_fold_in(ferry_ctx *ctx, const ferry_model *model,
                                 const ferry_domain *ratings, ferry_model **out)
{
    FERRY_ARGS_OUT(ctx, out, out, model, ratings);

    ferry_status st = FERRY_OK;
    ferry_model *t = NULL;

    FERRY_NEED(ctx, model->goal == FERRY_RATE && model->method->fold_in, FERRY_ENEEDS,
               "%s is no model of ratings: nothing can be folded in", model->method->name);
    FERRY_NEED(ctx, ratings->ratings, FERRY_ENEEDS, "domain '%s' has no ratings",
               ratings->name);
    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_TRY(copy_but_state(ctx, model, &t));
    ferry_i_ratings_tell(ctx, ratings);
    FERRY_TRY(model->method->fold_in(ctx, model->state, ratings, &t->state));
    FERRY_MOVE(*out, t);
done:
    ferry_model_free(t);
    return st;
}

/* A user named twice is refused: a list of ids holds each once, and the caller counts
 * two. */
static ferry_status ids_of(ferry_ctx *ctx, int64_t n, const char *const *users,
                           ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *ids = ferry_i_ids_new();

    *out = NULL;
    FERRY_HAVE(ctx, ids);
    for (int64_t i = 0; i < n; i++) {
        bool added = false;
        FERRY_HAVE(ctx, ferry_i_ids_add(ids, users[i], &added) >= 0);
        FERRY_NEED(ctx, added, FERRY_EINVAL, "user '%s' is asked about twice", users[i]);
    }
    FERRY_MOVE(*out, ids);
done:
    ferry_i_ids_free(ids);
    return st;
}

/* The lists come as ratings of (user, item) pairs, so that a prediction of goal rate can
 * carry them: best first for each user, users in the order given (NULL: the model's). */
ferry_status ferry_recommend(ferry_ctx *ctx, const ferry_model *model, int64_t n_users,
                             const char *const *users, int64_t top, int rated,
                             ferry_prediction **out)
{
    FERRY_ARGS_OUT(ctx, out, out, model);

    ferry_status st = FERRY_OK;
    ferry_domain domain = {.name = NULL};
    ferry_prediction *p = NULL;
    ferry_ids *ids = NULL;

    FERRY_NEED(ctx, model->goal == FERRY_RATE && model->method->top, FERRY_ENEEDS,
               "%s is no model of ratings: it has no best items", model->method->name);
    FERRY_NEED(ctx, top >= 1, FERRY_EINVAL, "top = %lld: expected at least 1",
               (long long)top);
    FERRY_TRY(ferry_i_blas_ready(ctx));
    if (users) FERRY_TRY(ids_of(ctx, n_users, users, &ids));
    FERRY_TRY(model->method->top(ctx, model->state, ids, top, rated != 0, &domain.ratings));
    FERRY_TRY(ferry_i_prediction_new(ctx, FERRY_RATE, NULL, &domain, &p));
    if (p->n > 0) memcpy(p->value, domain.ratings->value, (size_t)p->n * sizeof *p->value);
    FERRY_MOVE(*out, p);
done:
    ferry_prediction_free(p);
    ferry_i_ratings_free(domain.ratings);
    ferry_i_ids_free(ids);
    return st;
}
