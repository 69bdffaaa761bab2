/* The controls of codebook transfer: mindtl with something else in its codebooks
 * (codebooks.h). What they reach does not come from a source.
 *
 *   random-codebook    random numbers: the flexible groups alone
 *   shuffled-codebook  the entries of each codebook change places: the same numbers, no
 *                      pattern. The evaluation judges mindtl against it, since the
 *                      difference is what was carried over
 *   additive-grid      mode paper with one codebook that has seen no source, the level of a
 *                      user plus that of an item. It does better on MovieLens than every
 *                      codebook that was transferred in rating units: what these carry is a
 *                      bias model
 *
 * How to read them: where mindtl is no better than a control, the gain over a plain model
 * is that of flexible groups and biases, not of transfer. */
#include "methods/controls/codebooks.h"

#include <math.h>
#include <stdio.h>

/* Random numbers of codebook n, the same whatever the method's own. By the number of the
 * codebook, so that copies and sources get different numbers. */
static ferry_rng numbers(ferry_ctx *ctx, int64_t n)
{
    char use[64];
    ferry_rng rng;

    (void)snprintf(use, sizeof use, "mindtl/control/%lld", (long long)n);
    ferry_i_rng_for(ctx, &rng, use);
    return rng;
}

/* Mean, deviation and every value stay; only who likes what is lost. */
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

/* Root of the mean squared difference from the mean. */
static double deviation(int64_t n, const double *a)
{
    double mean = 0, sum = 0;

    for (int64_t i = 0; i < n; i++)
        mean += a[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - mean) * (a[i] - mean);
    return sqrt(sum / (double)n);
}

/* In mode soft codebooks are of residuals: mean 0 and the deviation that the learned one
 * had, so that only the pattern differs. */
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

/* b->r is overwritten entirely; what it held is of no account. */
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

/* ---- descriptors ---- */

static const ferry_opt all_opts[] = {CODEBOOK_OPTS_ALL}, hard_opts[] = {CODEBOOK_OPTS};

/* The settings differ from mindtl's in the name (messages, progress) and in the control. */
static codebook_options random_settings(const void *options)
{
    codebook_options o = *(const codebook_options *)options;

    o.as = "random-codebook";
    o.random = true;
    o.control = ferry_i_codebook_random;
    return o;
}

static codebook_options shuffled_settings(const void *options)
{
    codebook_options o = *(const codebook_options *)options;

    o.as = "shuffled-codebook";
    o.shuffle = true;
    o.control = ferry_i_codebook_shuffle;
    return o;
}

/* A codebook of the target's range without a source: mode and weights are fixed, whatever
 * was asked for. */
static codebook_options grid_settings(const void *options)
{
    codebook_options o = *(const codebook_options *)options;

    o.as = "additive-grid";
    o.control = ferry_i_codebook_grid;
    o.mode = MODE_PAPER;
    o.lambda = LAMBDA_SIMPLEX;
    o.sourceless = true;
    return o;
}

CODEBOOK_RUN_AS(random)
CODEBOOK_RUN_AS(shuffled)
CODEBOOK_RUN_AS(grid)

const ferry_method ferry_i_method_random_codebook = {
    .name = "random-codebook",
    .summary = "mindtl with random numbers as codebooks, or as the weights of its sources",
    .kind = FERRY_KIND_CONTROL,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    CODEBOOK_METHOD(all_opts, random_fits, random_fit),
};

const ferry_method ferry_i_method_shuffled_codebook = {
    .name = "shuffled-codebook",
    .summary =
        "mindtl with the entries of its codebooks, or the ratings of its sources, shuffled",
    .kind = FERRY_KIND_CONTROL,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    CODEBOOK_METHOD(all_opts, shuffled_fits, shuffled_fit),
};

const ferry_method ferry_i_method_additive_grid = {
    .name = "additive-grid",
    .summary = "a codebook that has seen no source: user level plus item level",
    .kind = FERRY_KIND_CONTROL,
    .needs = FERRY_NEED_RATINGS,
    CODEBOOK_METHOD(hard_opts, grid_fits, grid_fit),
};
