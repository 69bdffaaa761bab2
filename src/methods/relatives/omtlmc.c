/* omtlmc: OMTL-MC after CDSPP, the comparison of the HetOMTL-CDSPP paper (its own text gives no details: reconstructed
 * from the numbers of its tables). It is the two-level hedge of learn/hedge.h with two differences: weights fall with
 * losses that are larger than another's, not with mistakes,
 *
 *   u_i *= beta1^[loss of fS_i > loss of fT_i],  v_i *= beta1^[loss of fT_i > loss of fS_i],
 *   alpha_i *= beta2^[loss of f_i > loss of F],
 *
 * and the target's learners live in the projected spaces, one for each source. The latter is what makes it worse: with
 * the learner on the rows themselves it does as well as hetomtl-paper. */
#include "learn/hedge.h"
#include "learn/scale.h"
#include "model/seam.h"

static const ferry_opt omtlmc_opts[] = {HEDGE_OPTS};

static void omtlmc_fit(scope *s, scope *keep, const problem *p, const void *options,
                       void *state)
{
    hedge_fit(s, keep, p, HEDGE_LOSSES, options, state);
}

const method method_omtlmc = {
    .name = "omtlmc",
    .summary = "OMTL-MC after CDSPP: online transfer, weights by losses",
    .reference = "OMTLMC-CDSPP, the comparison of HetOMTL-CDSPP, 2023 (reconstructed)",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_TARGET_VIEW,
    /* rows of unit length: what the paper's numbers need, which it does not say */
    .wants = {.as = STREAM, .domains = WANT_SOURCES | WANT_TARGET, .scale = FERRY_SCALE_L2},
    METHOD_OPTIONS(omtlmc_opts, hedge_options),
    .state = &hedge_table,
    .whole = true,
    .fit = omtlmc_fit,
    .online = &hedge_online,
};
