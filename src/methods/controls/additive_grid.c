/* additive-grid: mindtl's mode paper with one codebook that has seen no source, the level of
 * a user plus that of an item. It does better on MovieLens than every codebook that was
 * transferred in rating units: what these carry is a bias model. */
#include "methods/controls/codebooks.h"

static const ferry_opt control_opts[] = {CODEBOOK_OPTS};

static codebook_options settings(const void *options)
{
    codebook_options o = *(const codebook_options *)options;

    o.as = "additive-grid";
    o.control = ferry_i_codebook_grid;
    o.mode = MODE_PAPER;
    o.lambda = LAMBDA_SIMPLEX;
    o.sourceless = true;
    return o;
}

CODEBOOK_RUN_AS(settings)

const ferry_method ferry_i_method_additive_grid = {
    .name = "additive-grid",
    .summary = "a codebook that has seen no source: user level plus item level",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .options = control_opts,
    .n_options = FERRY_COUNT(control_opts),
    .options_size = sizeof(codebook_options),
    .fits = run_fits,
    .fit = run_fit,
    FERRY_RATING_MODEL,
};
