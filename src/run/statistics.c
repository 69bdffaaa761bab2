/* Plain statistics: mean, standard deviation, tails of distributions, Holm's correction. */
#include "run/statistics.h"

#include <math.h>

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

static double beta_below(double x, double a, double b)
{
    if (x <= 0 || x >= 1) return x >= 1;
    const double front =
        exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double ferry_i_beta_quantile(double p, double a, double b)
{
    double lo = 0, hi = 1;

    for (int i = 0; i < 60; i++) {
        const double x = (lo + hi) / 2;
        if (beta_below(x, a, b) < p)
            lo = x;
        else
            hi = x;
    }
    return (lo + hi) / 2;
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
