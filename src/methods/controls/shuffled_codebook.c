/* shuffled-codebook: mindtl as it is, but the entries of each codebook change places: the same
 * numbers, no pattern. The evaluation judges mindtl against it, since the difference is what
 * was carried over from the sources. */
#include "methods/controls/codebooks.h"

static const ferry_opt control_opts[] = {CODEBOOK_OPTS_ALL};

static codebook_options settings(const void *options)
{
    codebook_options o = *(const codebook_options *)options;

    o.as = "shuffled-codebook";
    o.control = ferry_i_codebook_shuffle;
    return o;
}

CODEBOOK_RUN_AS(settings)

const ferry_method ferry_i_method_shuffled_codebook = {
    .name = "shuffled-codebook",
    .summary = "mindtl with the entries of its codebooks shuffled",
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
