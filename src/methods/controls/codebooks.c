/* What the controls put into a codebook (codebooks.h). */
#include "methods/controls/codebooks.h"

#include <math.h>
#include <stdio.h>

/* Random numbers of codebook n, the same whatever the method's own. */
static ferry_rng numbers(ferry_ctx *ctx, int64_t n)
{
    char use[64];
    ferry_rng rng;

    (void)snprintf(use, sizeof use, "mindtl/control/%lld", (long long)n);
    ferry_i_rng_for(ctx, &rng, use);
    return rng;
}

void ferry_i_codebook_shuffle(ferry_ctx *ctx, codebook_mode mode,
                              const ferry_ratings *target, int64_t n, codebook *b)
{
    ferry_rng rng = numbers(ctx, n);

    (void)mode;
    (void)target;
    for (int64_t i = b->k * b->l - 1; i > 0; i--) { /* Fisher and Yates */
        const int64_t j = (int64_t)ferry_i_rng_below(&rng, (uint64_t)i + 1);
        const double t = b->r[i];
        b->r[i] = b->r[j];
        b->r[j] = t;
    }
}

static double deviation(int64_t n, const double *a)
{
    double mean = 0, sum = 0;

    for (int64_t i = 0; i < n; i++)
        mean += a[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - mean) * (a[i] - mean);
    return sqrt(sum / (double)n);
}

void ferry_i_codebook_random(ferry_ctx *ctx, codebook_mode mode,
                             const ferry_ratings *target, int64_t n, codebook *b)
{
    const double range = target->hi - target->lo, sd = deviation(b->k * b->l, b->r);
    ferry_rng rng = numbers(ctx, n);

    for (int64_t i = 0; i < b->k * b->l; i++)
        b->r[i] = mode == MODE_PAPER ? target->lo + range * ferry_i_rng_real(&rng)
                                     : sd * ferry_i_rng_normal(&rng);
}

/* q: from -1.2 to 1.2 in n steps. */
static double tick(int64_t i, int64_t n)
{
    return n > 1 ? -1.2 + 2.4 * (double)i / (double)(n - 1) : 0;
}

void ferry_i_codebook_grid(ferry_ctx *ctx, codebook_mode mode, const ferry_ratings *target,
                           int64_t n, codebook *b)
{
    const double lo = target->lo, hi = target->hi;

    (void)ctx;
    (void)mode;
    (void)n;
    for (int64_t i = 0; i < b->k * b->l; i++) {
        const double q = tick(i / b->l, b->k) + tick(i % b->l, b->l);
        b->r[i] = fmin(fmax(lo + (hi - lo) * (0.625 + q / 4), lo), hi);
    }
}
