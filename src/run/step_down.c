/* Several tests on the same rows and repeats, corrected for how many they are (Westfall and Young's step-down min-p).
 *
 * Under the null hypothesis rows and repeats get normal multipliers xi_i and eta_r, the same for all tests, so that
 *
 *   Z_m = (sqrt(Vb) sum_i xi_i b_i / |b| + sqrt(Va) sum_r eta_r a_r / |a|) / sqrt(Vb + Va),   a_r = d_r - mean d
 *
 * are jointly normal: what has to be drawn is a normal vector with their correlations, not multipliers for each row. The test
 * with the least p counts the draws in which any of all tests is as far out, the next one those in which any of the others
 * is, and so on; p-values are compared as normal quantiles, so that other degrees of freedom do no harm. No p becomes less than it
 * was, nor more than by Holm's rule. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/statistics.h"

enum { DRAWS = 2000, SEED = 3 };

/* ---- how tests go together ---- */

static double product(int64_t n, const double *x, const double *y)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        if (!isnan(x[i]) && !isnan(y[i])) sum += x[i] * y[i];
    return sum;
}

/* Of what repeats did: deviations from their mean. */
static double product_of_means(int64_t n, const double *x, double mx, const double *y,
                               double my)
{
    double sum = 0;

    for (int64_t r = 0; r < n; r++)
        if (!isnan(x[r]) && !isnan(y[r])) sum += (x[r] - mx) * (y[r] - my);
    return sum;
}

/* sqrt(v w) cos of two vectors by their products. */
static double share(double v, double w, double both, double own, double other)
{
    return own > 0 && other > 0 ? sqrt(v * w / own / other) * both : 0;
}

static double covariance(int64_t n, int64_t repeats, const ferry_tested *a,
                         const ferry_tested *b)
{
    const double rows =
        share(a->c.vr, b->c.vr, product(n, a->effect, b->effect),
              product(n, a->effect, a->effect), product(n, b->effect, b->effect));
    const double mean = share(
        a->c.va, b->c.va, product_of_means(repeats, a->mean, a->c.mu, b->mean, b->c.mu),
        product_of_means(repeats, a->mean, a->c.mu, a->mean, a->c.mu),
        product_of_means(repeats, b->mean, b->c.mu, b->mean, b->c.mu));

    return rows + mean;
}

void ferry_i_together(int64_t tests, int64_t n, int64_t repeats, const ferry_tested *t,
                      double *correlation)
{
    for (int64_t j = 0; j < tests; j++)
        for (int64_t k = 0; k <= j; k++)
            correlation[j * tests + k] = covariance(n, repeats, &t[j], &t[k]);
    for (int64_t j = 0; j < tests; j++)
        for (int64_t k = 0; k < j; k++) {
            const double v = correlation[j * tests + j] * correlation[k * tests + k];
            correlation[j * tests + k] = correlation[k * tests + j] =
                v > 0 ? correlation[j * tests + k] / sqrt(v) : 0;
        }
    for (int64_t j = 0; j < tests;
         j++) /* 0: nothing differs, and there is nothing to test */
        correlation[j * tests + j] = correlation[j * tests + j] > 0;
}

/* Lower triangle L with L L' = c; rows that others tell already, as of tests that are the same, end in 0. */
static void factor(int64_t n, double *c)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k <= j; k++) {
            double sum = c[j * n + k];
            for (int64_t i = 0; i < k; i++)
                sum -= c[j * n + i] * c[k * n + i];
            if (k < j)
                c[j * n + k] = c[k * n + k] > 0 ? sum / c[k * n + k] : 0;
            else
                c[j * n + j] = sum > 1e-10 ? sqrt(sum) : 0;
        }
}

/* ---- correcting ---- */

/* z with P(Z > z) = p */
static double above(double p)
{
    const double in = fmin(fmax(p, 1e-12), 1 - 1e-12);

    return in < .5   ? ferry_i_student_t(2 * in, INFINITY)
           : in > .5 ? -ferry_i_student_t(2 * (1 - in), INFINITY)
                     : 0;
}

typedef struct tested {
    double p;
    int64_t at;
} tested;

static int by_p(const void *a, const void *b)
{
    const tested *x = a, *y = b;

    if (x->p != y->p) return x->p < y->p ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

ferry_status ferry_i_step_down_by(ferry_ctx *ctx, int64_t tests, int64_t draws,
                                  const double *z, double *p)
{
    ferry_status st = FERRY_OK;
    tested *order = NULL;
    double before = 0;

    FERRY_NEW(ctx, order, tests);
    for (int64_t m = 0; m < tests; m++)
        order[m] = (tested){p[m], m};
    qsort(order, (size_t)tests, sizeof *order, by_p);
    for (int64_t j = 0; j < tests; j++) {
        const double own = order[j].p, far = above(own);
        double x = own;
        int64_t as_far = 1;
        for (int64_t d = 0; d < draws; d++) {
            bool any = false;
            for (int64_t k = j; k < tests && !any; k++)
                any = z[d * tests + order[k].at] >= far;
            as_far += any;
        }
        if (j + 1 < tests) x = (double)as_far / (double)(draws + 1);
        x = fmin(fmin(fmax(x, own), own * (double)(tests - j)), 1);
        before = fmax(before, x);
        p[order[j].at] = before;
    }
done:
    ferry_i_free(order);
    return st;
}

ferry_status ferry_i_step_down(ferry_ctx *ctx, int64_t tests, const double *correlation,
                               double *p)
{
    ferry_status st = FERRY_OK;
    double *l = NULL, *z = NULL, *x = NULL;
    ferry_rng rng;

    if (tests < 2) return FERRY_OK;
    FERRY_NEW(ctx, l, tests * tests);
    FERRY_NEW(ctx, z, DRAWS * tests);
    FERRY_NEW(ctx, x, tests);
    memcpy(l, correlation, (size_t)(tests * tests) * sizeof *l);
    factor(tests, l);
    ferry_i_rng_seed(&rng, SEED, 0);
    for (int64_t d = 0; d < DRAWS; d++) {
        for (int64_t m = 0; m < tests; m++)
            x[m] = ferry_i_rng_normal(&rng);
        for (int64_t m = 0; m < tests; m++) {
            for (int64_t k = 0; k <= m; k++)
                z[d * tests + m] += l[m * tests + k] * x[k];
            if (correlation[m * tests + m] == 0) z[d * tests + m] = -INFINITY;
        }
    }
    st = ferry_i_step_down_by(ctx, tests, DRAWS, z, p);
done:
    FERRY_FREE(l, z, x);
    return st;
}
