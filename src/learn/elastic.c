/* Elastic net by coordinate descent (Friedman, Hastie, Tibshirani 2010) on the products
 * S = X'X/n and r = X'y/n of centred data:
 *   b_j <- soft(r_j - sum_{l != j} S_jl b_l, lambda alpha) / (S_jj + lambda (1 - alpha)).
 * With S at hand a coordinate costs O(d), whatever n is, which pays as long as d x d
 * numbers fit: several responses share them.
 * Centring X and y takes the place of the constant term, which is never penalised. */
#include "learn/elastic.h"

#include <assert.h>
#include <math.h>

enum { MAX_FEATURES = 10000 }; /* 800 MB of products */

/* S = (X'X - n m m') / n, m the means. mean holds the column sums n m, so that m_i m_j n = mean_i mean_j / n. */
static small products(scope *s, matrix x, const double *mean)
{
    const double n = (double)x.n;
    const small out = small_new(s, x.cols, x.cols);
    ferry_small to = small_ref(out);

    scope_check(s, ferry_e(scope_ctx(s))->xtx(scope_ctx(s), x.m, &to));
    for (int64_t j = 0; j < x.cols; j++)
        for (int64_t i = 0; i < x.cols; i++)
            AT(out, i, j) = (AT(out, i, j) - mean[i] * mean[j] / n) / n;
    return out;
}

/* The soft threshold: argmin over b of 1/2 (b - x)^2 + t |b|, t >= 0. */
static double soft(double x, double t)
{
    return x > t ? x - t : x < -t ? x + t : 0;
}

/* One response: b from zero, r (= X'y/n - S b) kept up to date.
 * Stops when a whole sweep has moved no fit sqrt(S_jj) b_j by more than tol of the
 * largest one: a measure that does not depend on the units of the features. */
static void descend(small s, double lambda, double alpha, int64_t max_iter, double tol,
                    double *r, double *b)
{
    const int64_t d = s.rows;

    for (int64_t it = 0; it < max_iter; it++) {
        double moved = 0, size = 0;
        for (int64_t j = 0; j < d; j++) {
            const double own = AT(s, j, j), down = own + lambda * (1 - alpha);
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
                r[i] -= change * AT(s, i, j);
        }
        if (moved <= tol * size) break;
    }
}

/* alpha > 0 is needed for lambda: max_j |r_j| / alpha is the smallest lambda at which
 * soft() leaves all b at 0. Cost: O(nnz d) for the products once, then O(d^2) a sweep
 * and response. */
block elastic_fit(scope *s, matrix x, block y, const elastic_options *o)
{
    const int64_t d = x.cols;
    const double n = (double)x.n;

    assert(y.n == x.n && o->alpha > 0);
    if (d > MAX_FEATURES)
        scope_fail(s, FERRY_ENEEDS, "elastic net: %lld features are too many, at most %d",
                   (long long)d, MAX_FEATURES);
    const block b = block_new(s, HERE(d), d, y.k);
    const int64_t mark = scope_mark(s);
    if (x.n == 0) return b;
    const double *mean = mass(s, x, NULL);
    const small products_of = products(s, x, mean);
    const block xy = block_new(s, HERE(d), d, y.k);
    double *r = NEW(s, double, d), *own = NEW(s, double, d), *total = NEW(s, double, y.k);
    tmul(s, x, y, xy);
    for (int64_t i = 0; i < y.n; i++)
        for (int64_t c = 0; c < y.k; c++)
            total[c] += ROW(y, i)[c];
    /* One response at a time. X'(y - mean y) / n = X'y / n - (sum x)(sum y) / n^2. */
    for (int64_t c = 0; c < y.k; c++) {
        double most_r = 0;
        for (int64_t j = 0; j < d; j++) {
            r[j] = ROW(xy, j)[c] * (1 / n) - mean[j] * total[c] / n / n;
            own[j] = 0;
            most_r = fmax(most_r, fabs(r[j]) / o->alpha);
        }
        descend(products_of, o->ratio * most_r, o->alpha, o->max_iter, o->tol, r, own);
        for (int64_t j = 0; j < d; j++)
            ROW(b, j)[c] = own[j];
    }
    scope_release(s, mark);
    return b;
}
