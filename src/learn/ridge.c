/* ridge: least squares with small weights, rows weighted; classes and labels as targets 0 and 1.
 *
 *   min over W, b   sum_i v_i |y_i - W'x_i - b|^2 + lambda |W|^2
 *
 * with m and y the weighted means, A = sqrt(v) (X - 1 m'), C = sqrt(v) (Y - 1 y'):
 *
 *   d <= n:  (A'A + lambda I) W = A'C
 *   n <  d:  (AA' + lambda I) U = C,  W = A'U
 *
 * and b = y - W'm. Hoerl and Kennard, Ridge Regression, Technometrics 1970. */
#include <math.h>

#include "learn/learner.h"

enum { MOST = 16384 }; /* the largest system: 2 GiB */

typedef struct ridge_options {
    double lambda;
} ridge_options;

static const ferry_opt ridge_opts[] = {
    FERRY_OPT(ridge_options, REAL, lambda, 0, 0, 1e12,
              "weight of |W|^2; 0: 1, or the best of 0.1, 1 and 10 by cross-validation on "
              "the target's labels, where every class has five of them"),
};

typedef struct ridge_state {
    int64_t cols, k;
    block w;   /* cols x k */
    double *b; /* k */
} ridge_state;
static const field ridge_fields[] = {
    ARRAY(ridge_state, BLOCK, w, .rows = SIZE(ridge_state, cols),
          .cols = SIZE(ridge_state, k)),
    ARRAY(ridge_state, REALS, b, .rows = SIZE(ridge_state, k)),
};
static const table ridge_table = TABLE(ridge_state, ridge_fields);

extern const learner learner_ridge;

static double weight_of(const examples *e, int64_t i)
{
    return e->weight ? e->weight[i] : 1;
}

/* y (k) <- the weighted mean of the targets; c <- v (C - 1 y'). Its columns add up to 0, so that X'c is A'C with no X
 * centred. */
static void centre_targets(scope *s, const examples *e, double total, block c, double *y)
{
    for (int64_t i = 0; i < c.n; i++)
        for (int64_t k = 0; k < c.k; k++)
            y[k] += weight_of(e, i) * ROW(c, i)[k];
    sums(s, c.rows, c.k, y);
    for (int64_t k = 0; k < c.k; k++)
        y[k] /= total;
    for (int64_t i = 0; i < c.n; i++)
        for (int64_t k = 0; k < c.k; k++)
            ROW(c, i)[k] = weight_of(e, i) * (ROW(c, i)[k] - y[k]);
}

static void factor(scope *s, small a, double lambda)
{
    for (int64_t i = 0; i < a.rows; i++)
        AT(a, i, i) += lambda;
    if (!cholesky(s, a))
        scope_fail(s, FERRY_ENUMERIC, "ridge: lambda = %g is too small for these features",
                   lambda);
}

/* X'C for an X that may lie far from 0: of what is left of it by its means. */
static void centred_tmul(scope *s, const examples *e, const double *mean, block c, block w)
{
    double *all = NEW(s, double, c.k);

    tmul(s, e->x, c, w);
    column_sums(s, c, all); /* 0 but for rounding, which a large mean makes large */
    for (int64_t j = 0; j < w.n; j++)
        for (int64_t k = 0; k < w.k; k++)
            ROW(w, j)[k] -= mean[j] * all[k];
}

/* n < d: rows weighted on both sides; U = sqrt(v) (D + lambda)^-1 sqrt(v) c, where v = 0 says nothing. */
static void by_rows(scope *s, const examples *e, const double *mean, double lambda, block c,
                    block w)
{
    const small a = outer(s, e->x, mean);

    for (int64_t j = 0; e->weight && j < a.cols; j++)
        for (int64_t i = 0; i < a.rows; i++)
            AT(a, i, j) *= sqrt(e->weight[i] * e->weight[j]);
    factor(s, a, lambda);
    for (int64_t i = 0; e->weight && i < c.n; i++)
        for (int64_t k = 0; k < c.k; k++)
            ROW(c, i)[k] = e->weight[i] > 0 ? ROW(c, i)[k] / sqrt(e->weight[i]) : 0;
    cholesky_solve(s, a, c);
    for (int64_t i = 0; e->weight && i < c.n; i++)
        for (int64_t k = 0; k < c.k; k++)
            ROW(c, i)[k] *= sqrt(e->weight[i]);
    centred_tmul(s, e, mean, c, w);
}

static void ridge_fit(scope *s, scope *keep, const examples *e, const void *options,
                      void *state)
{
    ridge_state *m = state;
    double lambda = ((const ridge_options *)options)->lambda;
    const int64_t n = e->x.rows.n, d = e->x.cols;
    const bool by_columns = d <= n || e->x.rows.spread;
    const block c = targets(s, e);
    const double total = total_weight(s, e);

    if ((n > MOST || e->x.rows.spread) && d > MOST)
        scope_fail(
            s, FERRY_ENEEDS,
            "ridge needs at most %d instances%s or %d features; there are %lld and %lld",
            MOST, e->x.rows.spread ? " (not with --engine mpi)" : "", MOST, (long long)n,
            (long long)d);
    if (lambda == 0)
        lambda = choose(s, &learner_ridge, options, offsetof(ridge_options, lambda), 3,
                        (const double[]){1, 0.1, 10}, e);
    *m = (ridge_state){d, c.k, block_new(keep, HERE(d), d, c.k), NEW(keep, double, c.k)};
    double *mean = mass(s, e->x, e->weight);
    for (int64_t j = 0; j < d; j++)
        mean[j] /= total;
    centre_targets(s, e, total, c, m->b);
    if (by_columns) {
        const small a = cross(s, e->x, mean, e->weight);
        factor(s, a, lambda);
        centred_tmul(s, e, mean, c, m->w);
        cholesky_solve(s, a, m->w);
    } else {
        by_rows(s, e, mean, lambda, c, m->w);
    }
    for (int64_t j = 0; j < d; j++)
        for (int64_t k = 0; k < c.k; k++)
            m->b[k] -= mean[j] * ROW(m->w, j)[k];
    report_real(s, "lambda", lambda);
}

static void ridge_scores(scope *s, const void *state, matrix x, block out)
{
    const ridge_state *m = state;

    mul(s, x, m->w, out);
    for (int64_t i = 0; i < out.n; i++)
        for (int64_t k = 0; k < out.k; k++)
            ROW(out, i)[k] += m->b[k];
}

static bool ridge_serves(const void *state, int64_t cols, int64_t k)
{
    const ridge_state *m = state;

    return m->cols == cols && m->k == k;
}

static const block *ridge_linear(const void *state)
{
    return &((const ridge_state *)state)->w;
}

const learner learner_ridge = {
    .name = "ridge",
    .summary = "ridge regression; classes and labels by 0/1 targets",
    .reference = "Hoerl and Kennard, Ridge Regression, Technometrics 1970",
    .takes = LEARN_CLASSES | LEARN_SETS | LEARN_NUMBERS | LEARN_SOFT | LEARN_WEIGHTS |
             LEARN_SPREAD,
    LEARNER_OPTIONS(ridge_opts, ridge_options),
    .state = &ridge_table,
    .fit = ridge_fit,
    .scores = ridge_scores,
    .serves = ridge_serves,
    .least = 0.5,
    .linear = ridge_linear,
};
