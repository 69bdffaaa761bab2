/* talmud: the rating patterns of several sources with weights that nothing constrains,
 *
 *   x_ij = sum_n lambda_n R_n[u_n(i), v_n(j)],   lambda = H^-1 c  (H = P P', c = P x),
 *
 * where P_n are the patterns at the observed pairs. Groups and weights alternate as in
 * mindtl's mode paper (methods/mindtl), from which it differs in lambda alone: least squares
 * with a ridge of 1e-8 trace(H) / N, not the simplex. */
#include "methods/shared/codebook.h"

static const ferry_opt talmud_opts[] = {CODEBOOK_OPTS};

/* Users choose how codebooks are made; mode and weights are what the method is. */
static codebook_options talmud_settings(const void *options)
{
    codebook_options o = *(const codebook_options *)options;

    o.as = "talmud";
    o.mode = MODE_PAPER;
    o.lambda = LAMBDA_LS;
    return o;
}

CODEBOOK_RUN_AS(talmud)

const ferry_method ferry_i_method_talmud = {
    .name = "talmud",
    .summary = "rating patterns of all sources, hard groups, least-squares weights",
    .reference = "Moreno, Shapira, Rokach and Shani, TALMUD, CIKM 2012",
    .kind = FERRY_KIND_TRANSFER,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    CODEBOOK_METHOD(talmud_opts, talmud_fits, talmud_fit),
};
