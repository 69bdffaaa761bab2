/* mindtl, mode ferry: what crosses between domains that share neither users nor items is how
 * much each kind of evidence about a rating is worth (shared/stack.h). Rating patterns, which
 * the published method carries over, were worth less than a good model of the target alone
 * on all data that we have (docs/methods/mindtl.md).
 *
 * Every source plays the target: as many ratings a user as the target has, and its weights
 * are those that are best then. Ratings of a source may have any range: features are free of
 * units. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/mindtl/mindtl.h"
#include "methods/shared/stack.h"

/* The control's sources: values dealt out anew among the ratings, or weights of no meaning
 * of the size of those that were learnt. */
static void spoil(const codebook_options *o, ferry_rng *rng, observed *x)
{
    for (int64_t e = x->x->nnz - 1; o->shuffle && e > 0; e--) {
        const int64_t at = (int64_t)ferry_i_rng_below(rng, (uint64_t)e + 1);
        const double value = x->x->value[e];
        x->x->value[e] = x->x->value[at];
        x->x->value[at] = value;
    }
}

static void spoil_weights(const codebook_options *o, ferry_rng *rng, double *w)
{
    double size = 0;

    for (int c = 0; c < NEAR_FEATURES; c++)
        size += fabs(w[c]) / NEAR_FEATURES;
    for (int c = 0; c < NEAR_FEATURES && o->random; c++)
        w[c] = size * ferry_i_rng_normal(rng);
}

/* Ratings of the target's users who have some, on average. */
static ferry_status ratings_each(ferry_ctx *ctx, const observed *o, int64_t *each)
{
    const ferry_matrix *x = o->x;
    double counted = 0;

    for (int64_t i = 0; i < x->rows; i++)
        counted += x->start[i + 1] > x->start[i];
    FERRY_PASS(ferry_i_observed_sum(ctx, o, 1, &counted));
    const int64_t users = (int64_t)counted;
    *each = (ferry_i_observed_count(o) + users / 2) / (users > 0 ? users : 1);
    return FERRY_OK;
}

/* The weights of one source. Its random numbers depend on its place alone. */
static ferry_status learn_source(ferry_ctx *ctx, const ferry_domain *d,
                                 const codebook_options *o, int64_t s, int64_t each,
                                 double *w)
{
    ferry_status st = FERRY_OK;
    ferry_ratings *r = NULL;
    observed x = {0}, y = {0};
    ferry_rng rng;
    char use[48];

    FERRY_NEED(ctx, isfinite(d->ratings->lo), FERRY_ENEEDS,
               "mindtl needs ratings in every source; source '%s' has none with a value",
               d->name);
    (void)snprintf(use, sizeof use, "mindtl/replay/%lld", (long long)s);
    ferry_i_rng_for(ctx, &rng, use);
    FERRY_TRY(ferry_i_ratings_sorted(ctx, d->ratings, &r));
    FERRY_TRY(ferry_i_observed_new(ctx, r, 1, 0, &x));
    spoil(o, &rng, &x);
    FERRY_TRY(ferry_i_observed_with(ctx, &x, x.x->value, &y));
    FERRY_TRY(ferry_i_stack_replay(ctx, &y, each, &rng, w));
    spoil_weights(o, &rng, w);
done:
    ferry_i_observed_clear(&x);
    ferry_i_observed_clear(&y);
    ferry_i_ratings_free(r);
    return st;
}

ferry_status ferry_i_mindtl_ferry(ferry_ctx *ctx, const ferry_task *task,
                                  const codebook_options *o, int64_t sources, void **state,
                                  ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const char *name[STACK_MOST_SOURCES];
    rating_data d = {0};
    stack_sources s = {.n = sources};
    rating_model *m = NULL;
    int64_t each = 0;

    *state = NULL;
    FERRY_TRY(ferry_i_rating_data(ctx, task, &d));
    FERRY_TRY(ratings_each(ctx, &d.x, &each));
    for (int64_t n = 0; n < sources; n++) {
        const ferry_domain *source = ferry_i_task_role(task, FERRY_SOURCE, n);
        name[n] = source->name;
        FERRY_TRY(learn_source(ctx, source, o, n, each, s.w + n * NEAR_FEATURES));
    }
    FERRY_TRY(ferry_i_stack(ctx, &d, &s, &m, rep));
    ferry_i_diag_named(ctx, "weights", sources, name, s.c);
    ferry_i_diag_text(ctx, "note",
                      "most of what this gains over mf it gains from the target's own "
                      "neighbours; the method stack has that without sources");
    FERRY_MOVE(*state, m);
done:
    ferry_i_rating_model_free(m);
    ferry_i_rating_data_clear(&d);
    return st;
}
