/* Methods that are mindtl-paper (methods/mindtl_paper.c) with other settings, and its controls.
 *
 *   cbt     x_ij = R[u(i), v(j)]: one source, the first (option order: the nearest), whose weight is 1.
 *           Li, Yang and Xue, Can Movies and Books Collaborate?, IJCAI 2009
 *   talmud  x_ij = sum_n lambda_n R_n[u_n(i), v_n(j)] with weights that nothing constrains, lambda = H^-1 c.
 *           Moreno, Shapira, Rokach and Shani, TALMUD, CIKM 2012
 *
 * Controls put something else into the codebooks; what they reach does not come from a source.
 *
 *   random-codebook-paper    random numbers of the target's range: the flexible groups alone
 *   shuffled-codebook-paper  the entries of each codebook change places: the same numbers, no pattern. The evaluation
 *                            judges mindtl-paper against it, since the difference is what was transferred
 *   additive-grid            one codebook that has seen no source, the level of a user plus that of an item. It does
 *                            better on MovieLens than every codebook that was transferred: what these hold is a bias
 *                            model */
#include <math.h>

#include "methods/codebook.h"

/* ---- relatives ---- */

static const ferry_opt cbt_opts[] = {CODEBOOK_GROUPS, CODEBOOK_SOURCES, CODEBOOK_TARGET};

/* With one source the simplex leaves no choice but lambda = 1. */
static void cbt_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    codebook_options o = *(const codebook_options *)options;

    o.use = 1;
    codebook_fit(s, keep, p, &o, NULL, false, state);
}

const method method_cbt = {
    .name = "cbt",
    .summary = "codebook transfer: the rating pattern of the first source, hard groups",
    .reference = "Li, Yang and Xue, Can Movies and Books Collaborate?, IJCAI 2009",
    .kind = FERRY_KIND_TRANSFER,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    CODEBOOK_METHOD(cbt_opts, cbt_fit),
};

static const ferry_opt talmud_opts[] = {CODEBOOK_GROUPS, CODEBOOK_SOURCES, CODEBOOK_USE,
                                        CODEBOOK_TARGET};

static void talmud_fit(scope *s, scope *keep, const problem *p, const void *options,
                       void *state)
{
    codebook_options o = *(const codebook_options *)options;

    o.lambda = LAMBDA_LS;
    codebook_fit(s, keep, p, &o, NULL, false, state);
}

const method method_talmud = {
    .name = "talmud",
    .summary = "rating patterns of all sources, hard groups, least-squares weights",
    .reference = "Moreno, Shapira, Rokach and Shani, TALMUD, CIKM 2012",
    .kind = FERRY_KIND_TRANSFER,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .fits = codebook_fits,
    CODEBOOK_METHOD(talmud_opts, talmud_fit),
};

/* ---- controls ---- */

/* Random numbers of codebook n, so that sources get different ones, the same whatever the method's own. */
static ferry_rng *numbers(scope *s, int64_t n)
{
    return scope_rng(s, scope_text(s, "mindtl/control/%lld", (long long)n));
}

/* Mean, deviation and every value stay; only who likes what is lost. */
static void shuffle_codebook(scope *s, const ratings *target_of, int64_t n, codebook *b)
{
    ferry_rng *rng = numbers(s, n);

    (void)target_of;
    for (int64_t i = b->k * b->l - 1; i > 0; i--) { /* Fisher and Yates */
        const int64_t j = (int64_t)ferry_i_rng_below(rng, (uint64_t)i + 1);
        const double t = b->r[i];
        b->r[i] = b->r[j];
        b->r[j] = t;
    }
}

static void draw_codebook(scope *s, const ratings *r, int64_t n, codebook *b)
{
    ferry_rng *rng = numbers(s, n);

    for (int64_t i = 0; i < b->k * b->l; i++)
        b->r[i] = r->lo + (r->hi - r->lo) * ferry_i_rng_real(rng);
}

/* q: from -1.2 to 1.2 in n steps. */
static double tick(int64_t i, int64_t n)
{
    return n > 1 ? -1.2 + 2.4 * (double)i / (double)(n - 1) : 0;
}

/* lo + range (0.625 + (q_c + q_d) / 4): 3.5 + q_c + q_d on a range of 1 to 5. */
static void fill_grid(scope *s, const ratings *r, int64_t n, codebook *b)
{
    (void)s, (void)n;
    for (int64_t i = 0; i < b->k * b->l; i++) {
        const double q = tick(i / b->l, b->k) + tick(i % b->l, b->l);
        b->r[i] = fmin(fmax(r->lo + (r->hi - r->lo) * (0.625 + q / 4), r->lo), r->hi);
    }
}

static const ferry_opt all_opts[] = {CODEBOOK_GROUPS, CODEBOOK_SOURCES, CODEBOOK_USE,
                                     CODEBOOK_TARGET, CODEBOOK_LAMBDA};
static const ferry_opt grid_opts[] = {CODEBOOK_GROUPS, CODEBOOK_TARGET};

static void shuffled_fit(scope *s, scope *keep, const problem *p, const void *options,
                         void *state)
{
    codebook_fit(s, keep, p, options, shuffle_codebook, false, state);
}

static void random_fit(scope *s, scope *keep, const problem *p, const void *options,
                       void *state)
{
    codebook_fit(s, keep, p, options, draw_codebook, false, state);
}

static void grid_fit(scope *s, scope *keep, const problem *p, const void *options,
                     void *state)
{
    codebook_fit(s, keep, p, options, fill_grid, true, state);
}

const method method_shuffled_codebook_paper = {
    .name = "shuffled-codebook-paper",
    .summary = "mindtl-paper with the entries of its codebooks shuffled",
    .kind = FERRY_KIND_CONTROL,
    .asked = true,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .fits = codebook_fits,
    CODEBOOK_METHOD(all_opts, shuffled_fit),
};

const method method_random_codebook_paper = {
    .name = "random-codebook-paper",
    .summary = "mindtl-paper with random numbers as codebooks",
    .kind = FERRY_KIND_CONTROL,
    .asked = true,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .fits = codebook_fits,
    CODEBOOK_METHOD(all_opts, random_fit),
};

const method method_additive_grid = {
    .name = "additive-grid",
    .summary = "a codebook that has seen no source: user level plus item level",
    .kind = FERRY_KIND_CONTROL,
    .needs = FERRY_NEED_RATINGS,
    CODEBOOK_METHOD(grid_opts, grid_fit),
};
