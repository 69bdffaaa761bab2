/* rating-mean and bias: what any recommender has to beat.
 *
 *   rating-mean:  x_ij = the mean of all, of user i's or of item j's ratings
 *   bias:         x_ij = mu + a_i + b_j,
 *                 min sum (x_ij - mu - a_i - b_j)^2 + lambda (|a|^2 + |b|^2)
 *
 * With a fixed every b_j is a shrunken mean, and the other way round:
 *   b_j = sum_i (x_ij - mu - a_i) / (n_j + lambda). */
#include <math.h>

#include "methods/shared/ratings.h"

/* ---- the biases ---- */

/* to[i] <- sum over row i of (x - mu - other[j]) / (n_i + lambda); 0 without entries. */
static void shrunken_means(const ferry_matrix *x, double mu, const double *other,
                           double lambda, double *to)
{
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t n = x->start[i + 1] - x->start[i];
        double sum = 0;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            sum += x->value[e] - mu - other[x->index[e]];
        to[i] = n > 0 ? sum / ((double)n + lambda) : 0;
    }
}

/* The same of all users (items): of this rank's, then of the others'. */
static ferry_status all_means(ferry_ctx *ctx, const observed *o, bool items, double mu,
                              const double *other, double lambda, double *to)
{
    const int64_t first =
        items ? ferry_i_observed_item(ctx, o) : ferry_i_observed_user(ctx, o);

    shrunken_means(items ? o->xt : o->x, mu, other, lambda, to + first);
    return ferry_i_observed_share(ctx, o, items, sizeof *to, to);
}

/* mu. Values near the largest number there is may not add up: said, not passed on as
 * NaN. */
static ferry_status mean_of(ferry_ctx *ctx, const observed *o, double *mu)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_observed_count(o);
    double sum = 0;

    for (int64_t e = 0; e < o->x->nnz; e++)
        sum += o->x->value[e];
    FERRY_TRY(ferry_i_observed_sum(ctx, o, 1, &sum));
    *mu = n > 0 ? sum / (double)n : 0;
    FERRY_NEED(ctx, isfinite(*mu), FERRY_EDATA, "the ratings are too large to add up");
done:
    return st;
}

/* Each half step is the exact minimum given the other half, so the objective never grows. */
ferry_status ferry_i_bias(ferry_ctx *ctx, const observed *o, double lambda, int64_t sweeps,
                          double *mu, double *a, double *b)
{
    FERRY_PASS(mean_of(ctx, o, mu));
    for (int64_t i = 0; i < o->xt->cols; i++)
        a[i] = 0;
    for (int64_t j = 0; j < o->x->cols; j++)
        b[j] = 0;
    for (int64_t t = 0; t < sweeps; t++) {
        FERRY_PASS(all_means(ctx, o, true, *mu, a, lambda, b));
        FERRY_PASS(all_means(ctx, o, false, *mu, b, lambda, a));
    }
    return FERRY_OK;
}

void ferry_i_bias_residuals(ferry_ctx *ctx, const observed *o, double mu, const double *a,
                            const double *b, double *out)
{
    const ferry_matrix *x = o->x;

    a += ferry_i_observed_user(ctx, o);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            out[e] = x->value[e] - mu - a[i] - b[x->index[e]];
}

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

static ferry_status bias_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    (void)options;
    return ferry_i_rating_fits(ctx, "bias", task);
}

static ferry_status bias_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const bias_options *opt = options;
    rating_data d = {0};
    rating_model *m = NULL;

    *state = NULL;
    FERRY_TRY(ferry_i_rating_data(ctx, task, &d));
    FERRY_TRY(ferry_i_rating_model_new(ctx, d.r, 0, &m));
    FERRY_TRY(ferry_i_bias(ctx, &d.x, opt->lambda, opt->sweeps, &m->mu, m->a, m->b));
    m->shrink_a = m->shrink_b = opt->lambda;
    rep->iters = opt->sweeps;
    ferry_i_diag_real(ctx, "mean", m->mu);
    FERRY_TRY(ferry_i_rating_model_rated(ctx, &d.x, m));
    FERRY_MOVE(*state, m);
done:
    ferry_i_rating_model_free(m);
    ferry_i_rating_data_clear(&d);
    return st;
}

const ferry_method ferry_i_method_bias = {
    .name = "bias",
    .summary = "ratings as the mean plus a shrunken bias of the user and one of the item",
    .reference = "Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009",
    .kind = FERRY_KIND_BASELINE,
    .spreads = true,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    FERRY_OPTIONS(bias_opts, bias_options),
    .fits = bias_fits,
    .fit = bias_fit,
    FERRY_RATING_MODEL,
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

static ferry_status mean_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    (void)options;
    return ferry_i_rating_fits(ctx, "rating-mean", task);
}

static ferry_status mean_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const mean_options *opt = options;
    rating_data d = {0};
    rating_model *m = NULL;

    (void)rep;
    *state = NULL;
    FERRY_TRY(ferry_i_rating_data(ctx, task, &d));
    FERRY_TRY(ferry_i_rating_model_new(ctx, d.r, 0, &m));
    FERRY_TRY(mean_of(ctx, &d.x, &m->mu));
    if (opt->by == BY_USER) FERRY_TRY(all_means(ctx, &d.x, false, m->mu, m->b, 0, m->a));
    if (opt->by == BY_ITEM) FERRY_TRY(all_means(ctx, &d.x, true, m->mu, m->a, 0, m->b));
    if (opt->by == BY_USER) m->shrink_a = 0;
    if (opt->by == BY_ITEM) m->shrink_b = 0;
    ferry_i_diag_real(ctx, "mean", m->mu);
    FERRY_TRY(ferry_i_rating_model_rated(ctx, &d.x, m));
    FERRY_MOVE(*state, m);
done:
    ferry_i_rating_model_free(m);
    ferry_i_rating_data_clear(&d);
    return st;
}

const ferry_method ferry_i_method_rating_mean = {
    .name = "rating-mean",
    .summary = "the mean rating of all, of the user or of the item",
    .kind = FERRY_KIND_BASELINE,
    .spreads = true,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    FERRY_OPTIONS(mean_opts, mean_options),
    .fits = mean_fits,
    .fit = mean_fit,
    FERRY_RATING_MODEL,
};
