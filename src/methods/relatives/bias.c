/* rating-mean and bias: what any recommender has to beat.
 *
 *   rating-mean:  x_ij = the mean of all, of user i's or of item j's ratings
 *   bias:         x_ij = mu + a_i + b_j,
 *                 min sum (x_ij - mu - a_i - b_j)^2 + lambda (|a|^2 + |b|^2)
 *
 * With a fixed every b_j is a shrunken mean, and the other way round:
 *   b_j = sum_i (x_ij - mu - a_i) / (n_j + lambda).
 *
 * Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009. */
#include <math.h>

#include "learn/ratings.h"
#include "model/seam.h"

/* ---- bias ---- */

typedef struct bias_options {
    double lambda;
    int64_t sweeps;
} bias_options;

static const ferry_opt bias_opts[] = {
    FERRY_OPT(bias_options, REAL, lambda, 5, 0, 1e9,
              "ratings of size 0 that shrink a bias"),
    FERRY_OPT(bias_options, INT, sweeps, 10, 1, 1e6, "alternating steps"),
};

static void bias_fit(scope *s, scope *keep, const problem *p, const void *options,
                     void *state)
{
    const bias_options *o = options;
    const ratings *r = target(p)->r;
    rating_factors *m = state;

    *m = factors_new(keep, r, 0);
    m->mu = mean_rating(s, r);
    m->shrink_a = m->shrink_b = o->lambda;
    fit_biases(s, r, m->mu, o->lambda, o->sweeps, m->a, m->b);
    report_real(s, "mean", m->mu);
    report_fit(s, o->sweeps, NAN, FERRY_STOP_DONE);
}

const method method_bias = {
    .name = "bias",
    .summary = "ratings as the mean plus a shrunken bias of the user and one of the item",
    .reference = "Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .wants = {.as = RATINGS},
    METHOD_OPTIONS(bias_opts, bias_options),
    .state = &rating_factors_table,
    .fit = bias_fit,
    .scores = factors_scores,
    .fold_in = factors_fold_in,
};

/* ---- rating-mean ---- */

typedef struct mean_options {
    int by;
} mean_options;

enum { BY_GLOBAL, BY_USER, BY_ITEM };

static const ferry_opt mean_opts[] = {
    FERRY_OPT_ONE_OF(mean_options, by, "global|user|item", "global",
                     "the mean of all ratings, of the user's or of the item's"),
};

static void mean_fit(scope *s, scope *keep, const problem *p, const void *options,
                     void *state)
{
    const int by = ((const mean_options *)options)->by;
    const ratings *r = target(p)->r;
    rating_factors *m = state;

    *m = factors_new(keep, r, 0);
    m->mu = mean_rating(s, r);
    if (by == BY_USER) {
        shrunken_means(s, r->x, m->mu, m->b, 0, m->a);
        m->shrink_a = 0;
    }
    if (by == BY_ITEM) {
        shrunken_means(s, r->xt, m->mu, m->a, 0, m->b);
        m->shrink_b = 0;
    }
    report_real(s, "mean", m->mu);
}

const method method_rating_mean = {
    .name = "rating-mean",
    .summary = "the mean rating of all, of the user or of the item",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .wants = {.as = RATINGS},
    METHOD_OPTIONS(mean_opts, mean_options),
    .state = &rating_factors_table,
    .fit = mean_fit,
    .scores = factors_scores,
    .fold_in = factors_fold_in,
};
