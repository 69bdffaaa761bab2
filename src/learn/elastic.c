/* Elastic net by coordinate descent (Friedman, Hastie, Tibshirani 2010) on the products
 * S = X'X/n and r = X'y/n of centred data:
 *   b_j <- soft(r_j - sum_{l != j} S_jl b_l, lambda alpha) / (S_jj + lambda (1 - alpha)).
 * With S at hand a coordinate costs O(d), whatever n is, which pays as long as d x d
 * numbers fit: several responses share them.
 * Centring X and y takes the place of the constant term, which is never penalised. */
#include <assert.h>
#include <math.h>

#include "learn/learn.h"

enum { MAX_FEATURES = 10000 }; /* 800 MB of products */

/* S <- (X'X - n m m') / n, m the means.
 * mean is left as the column sums n m, so that m_i m_j n = mean_i mean_j / n. */
static ferry_status products(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s,
                             double *mean)
{
    const double n = (double)x->rows;

    FERRY_PASS(ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 1, mean));
    FERRY_PASS(ferry_e(ctx)->xtx(ctx, x, s));
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->cols; i++)
            FERRY_AT(s, i, j) = (FERRY_AT(s, i, j) - mean[i] * mean[j] / n) / n;
    return FERRY_OK;
}

/* The soft threshold: argmin over b of 1/2 (b - x)^2 + t |b|, t >= 0. */
static double soft(double x, double t)
{
    return x > t ? x - t : x < -t ? x + t : 0;
}

/* One response: b from zero, r (= X'y/n - S b) kept up to date.
 * Stops when a whole sweep has moved no fit sqrt(S_jj) b_j by more than tol of the
 * largest one: a measure that does not depend on the units of the features. */
static void descend(const ferry_small *s, double lambda, double alpha, int64_t max_iter,
                    double tol, double *r, double *b)
{
    const int64_t d = s->rows;

    for (int64_t it = 0; it < max_iter; it++) {
        double moved = 0, size = 0;
        for (int64_t j = 0; j < d; j++) {
            const double own = FERRY_AT(s, j, j), down = own + lambda * (1 - alpha);
            /* r_j + S_jj b_j is r_j without j's own part; a constant column (S_jj = 0)
             * stays at 0 */
            const double now =
                down > 0 && own > 0 ? soft(r[j] + own * b[j], lambda * alpha) / down : 0;
            const double change = now - b[j];
            size = fmax(size, fabs(now) * sqrt(own));
            if (change == 0) continue;
            moved = fmax(moved, fabs(change) * sqrt(own));
            b[j] = now;
            for (int64_t i = 0; i < d; i++)
                /* only coordinates that move cost O(d) */
                r[i] -= change * FERRY_AT(s, i, j);
        }
        if (moved <= tol * size) break;
    }
}

/* alpha > 0 is needed for lambda: max_j |r_j| / alpha is the smallest lambda at which
 * soft() leaves all b at 0. Cost: O(nnz d) for the products once, then O(d^2) a sweep
 * and response. */
ferry_status ferry_i_elastic_fit(ferry_ctx *ctx, const ferry_matrix *x,
                                 const ferry_block *y, double ratio, double alpha,
                                 int64_t max_iter, double tol, ferry_block *b)
{
    ferry_status st = FERRY_OK;
    const int64_t d = x->cols, k = y->k;
    const double n = (double)x->rows;
    ferry_small *s = NULL;
    ferry_block *xy = NULL;
    double *mean = NULL, *r = NULL, *own = NULL;

    assert(y->rows == x->rows && b->rows == d && b->k == k && alpha > 0);
    FERRY_NEED(ctx, d <= MAX_FEATURES, FERRY_ENEEDS,
               "elastic net: %lld features are too many, at most %d", (long long)d,
               MAX_FEATURES);
    FERRY_TRY(ferry_i_small_new(ctx, d, d, &s));
    FERRY_TRY(ferry_i_block_new(ctx, d, k, &xy));
    FERRY_NEW(ctx, mean, 3 * d + 1);
    r = mean + d;
    own = r + d;
    if (x->rows == 0) goto done;
    FERRY_TRY(products(ctx, x, s, mean));
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1 / n, x, y, 0, xy));
    /* One response at a time. X'(y - mean y) / n = X'y / n - (sum x)(sum y) / n^2. */
    for (int64_t c = 0; c < k; c++) {
        double sum = 0, most = 0;
        for (int64_t i = 0; i < y->rows; i++)
            sum += FERRY_ROW(y, i)[c];
        for (int64_t j = 0; j < d; j++) {
            r[j] = FERRY_ROW(xy, j)[c] - mean[j] * sum / n / n;
            own[j] = 0;
            most = fmax(most, fabs(r[j]) / alpha);
        }
        descend(s, ratio * most, alpha, max_iter, tol, r, own);
        for (int64_t j = 0; j < d; j++)
            FERRY_ROW(b, j)[c] = own[j];
    }
done:
    FERRY_FREE(mean, xy, s);
    return st;
}
