/* random-codebook: mindtl as it is, but its codebooks are random numbers. What it reaches comes
 * from the flexible groups alone. */
#include "methods/controls/codebooks.h"

static const ferry_opt control_opts[] = {CODEBOOK_OPTS_ALL};

static codebook_options settings(const void *options)
{
    codebook_options o = *(const codebook_options *)options;

    o.as = "random-codebook";
    o.control = ferry_i_codebook_random;
    return o;
}

CODEBOOK_RUN_AS(settings)

const ferry_method ferry_i_method_random_codebook = {
    .name = "random-codebook",
    .summary = "mindtl with random numbers as codebooks",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .options = control_opts,
    .n_options = FERRY_COUNT(control_opts),
    .options_size = sizeof(codebook_options),
    .fits = run_fits,
    .fit = run_fit,
    FERRY_RATING_MODEL,
};
