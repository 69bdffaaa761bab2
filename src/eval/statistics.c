/* Plain statistics: mean, standard deviation, tails of distributions, Holm's correction. */
#include "eval/statistics.h"

#include <math.h>
#include <stdlib.h>

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

/* ---- Student's t, Holm ---- */

/* Continued fraction of the incomplete beta function (Lentz's algorithm). */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), f = 0;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    f = d;
    for (int m = 1; m < 100000; m++) { /* about the root of the degrees of freedom */
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double before = f;
        for (int half = 0; half < 2; half++) {
            const double k = half ? odd : even;
            d = 1 + k * d;
            c = 1 + k / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            f *= d * c;
        }
        if (fabs(f - before) <= 1e-15 * fabs(f)) break;
    }
    return f;
}

/* log(Gamma(a + 1/2) / Gamma(a)): the series where the two logarithms are large and equal. */
static double half_step(double a)
{
    if (a < 50) return lgamma(a + 0.5) - lgamma(a);
    return 0.5 * log(a) - 1 / (8 * a) + 1 / (192 * a * a * a) - 1 / (640 * pow(a, 5));
}

/* p = I_x(df / 2, 1 / 2) with x = df / (df + t^2). */
double ferry_i_student_p(double t, double df)
{
    const double a = df / 2, b = 0.5, x = df / (df + t * t);

    if (isnan(t) || isnan(df)) return NAN;
    if (t == 0) return 1;
    if (isinf(t)) return 0;
    if (df > 1e9) return erfc(fabs(t) / sqrt(2)); /* the two agree to 1e-9 there */
    const double front = exp(half_step(a) - lgamma(b) + a * log1p(-t * t / (df + t * t)) +
                             b * log(t * t / (df + t * t)));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(t * t / (df + t * t), b, a) / b;
}

double ferry_i_student_t(double p, double df)
{
    double lo = 0, hi = 1;

    while (ferry_i_student_p(hi, df) > p && hi < 1e12)
        hi *= 2;
    for (int i = 0; i < 200 && hi - lo > 1e-14 * hi; i++) {
        const double t = (lo + hi) / 2;
        if (ferry_i_student_p(t, df) > p)
            lo = t;
        else
            hi = t;
    }
    return hi;
}

double ferry_i_student_above(double t, double df)
{
    const double p = ferry_i_student_p(t, df) / 2;

    return t > 0 ? p : 1 - p;
}

/* The k-th smallest p (from 0) counts n - k times, and no less than those before it. Those
 * that are done are marked: minus 1 minus the result. */
void ferry_i_holm(int64_t n, double *p)
{
    double before = 0;

    for (int64_t k = 0; k < n; k++) {
        int64_t at = -1;
        for (int64_t i = 0; i < n; i++)
            if (p[i] >= 0 && (at < 0 || p[i] < p[at])) at = i;
        if (at < 0) break; /* what is left is NaN */
        before = fmax(before, fmin(1, p[at] * (double)(n - k)));
        p[at] = -1 - before;
    }
    for (int64_t i = 0; i < n; i++)
        if (p[i] < 0) p[i] = -1 - p[i];
}

/* ---- Wilcoxon ---- */

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
    if (!d) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < n; i++)
        if (diff[i] != 0) d[m++] = diff[i];
    qsort(d, (size_t)m, sizeof *d, by_size);
    for (int64_t i = 0, j = 0; i < m; i = j) { /* d[i..j) share their mean rank */
        /* Differences of shares such as 0.91 - 0.9 carry rounding: equal to 1e-9 is a
         * tie. */
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

/* ---- bootstrap ---- */

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
    if (!means) return ferry_i_nomem(ctx);
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
