/* Statistics of repeats: mean, standard deviation, Wilcoxon's signed-rank test, bootstrap.
 */
#include <math.h>
#include <stdlib.h>

#include "eval/eval.h"

double ferry_i_mean(int64_t n, const double *x)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return n > 0 ? sum / (double)n : NAN;
}

double ferry_i_std(int64_t n, const double *x)
{
    const double mean = ferry_i_mean(n, x);
    double sum = 0;

    if (!isfinite(mean)) return NAN;
    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : 0;
}

/* ---- Wilcoxon ------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

    return (x > y) - (x < y);
}

/* Exact two-sided p of the smaller rank sum w among n untied ranks: the number of subsets
 * of {1..n} with sum <= w, twice, over 2^n. Subset counts build up rank by rank. */
static double exact_p(int64_t n, int64_t w)
{
    double ways[25 * 26 / 2 + 1] = {1}, below = 0; /* below 2^25: exact in a double */

    for (int64_t rank = 1; rank <= n; rank++)
        for (int64_t s = n * (n + 1) / 2; s >= rank; s--)
            ways[s] += ways[s - rank];
    for (int64_t s = 0; s <= w; s++)
        below += ways[s];
    return fmin(1, 2 * below / ldexp(1, (int)n));
}

ferry_status ferry_i_wilcoxon(ferry_ctx *ctx, int64_t n, const double *diff, double *p)
{
    double *d = ferry_i_calloc(n, sizeof *d), plus = 0, ties = 0;
    int64_t m = 0;

    *p = NAN;
    if (!d) return ferry_i_nomem(ctx, "the signed-rank test");
    for (int64_t i = 0; i < n; i++)
        if (diff[i] != 0) d[m++] = diff[i];
    qsort(d, (size_t)m, sizeof *d, by_size);
    for (int64_t i = 0, j = 0; i < m; i = j) { /* d[i..j) share their mean rank */
        /* Differences of shares such as 0.91 - 0.9 carry rounding: equal to 1e-9 is a tie.
         */
        while (j < m && fabs(d[j]) - fabs(d[i]) <= 1e-9 * fabs(d[i]))
            j++;
        const double count = (double)(j - i), rank = (double)(i + j + 1) / 2;
        for (int64_t l = i; l < j; l++)
            plus += d[l] > 0 ? rank : 0;
        ties += count * count * count - count;
    }
    ferry_i_free(d);
    if (m == 0) return FERRY_OK;
    const double k = (double)m, middle = k * (k + 1) / 4;
    const double w = fmin(plus, k * (k + 1) / 2 - plus);
    if (m <= 25 && ties == 0) {
        *p = exact_p(m, (int64_t)w);
        return FERRY_OK;
    }
    const double sd = sqrt((k * (k + 1) * (2 * k + 1) - ties / 2) / 24);
    const double z = w < middle ? (middle - w - 0.5) / sd : 0; /* 0.5: continuity */
    *p = fmin(1, erfc(z / sqrt(2)));
    return FERRY_OK;
}

/* ---- bootstrap ------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Quantile of sorted values, linear between neighbours (as numpy's default). */
static double quantile(int64_t n, const double *sorted, double q)
{
    const double at = q * (double)(n - 1);
    const int64_t i = (int64_t)at;

    if (i >= n - 1) return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

ferry_status ferry_i_bootstrap(ferry_ctx *ctx, int64_t n, const double *x, int64_t draws,
                               double level, ferry_rng *rng, double *lo, double *hi)
{
    double *means = NULL;

    *lo = *hi = NAN;
    if (n == 0 || draws == 0) return FERRY_OK;
    means = ferry_i_calloc(draws, sizeof *means);
    if (!means) return ferry_i_nomem(ctx, "the bootstrap");
    for (int64_t d = 0; d < draws; d++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[ferry_i_rng_below(rng, (uint64_t)n)];
        means[d] = sum / (double)n;
    }
    qsort(means, (size_t)draws, sizeof *means, by_value);
    *lo = quantile(draws, means, (1 - level) / 2);
    *hi = quantile(draws, means, (1 + level) / 2);
    ferry_i_free(means);
    return FERRY_OK;
}
