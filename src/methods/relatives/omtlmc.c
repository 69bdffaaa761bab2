/* omtlmc: OMTL-MC after CDSPP, the comparison of the HetOMTL-CDSPP paper (its own text gives
 * no details: reconstructed from the numbers of its tables). It is the two-level hedge of
 * methods/shared/hedge.h with two differences: weights fall with losses that are larger than
 * another's, not with mistakes,
 *
 *   u_i *= beta1^[loss of fS_i > loss of fT_i],  v_i *= beta1^[loss of fT_i > loss of fS_i],
 *   alpha_i *= beta2^[loss of f_i > loss of F],
 *
 * and the target's learners live in the projected spaces, one for each source. The latter is
 * what makes it worse: with the learner on the rows themselves it does as well as hetomtl. */
#include "methods/shared/hedge.h"

static const ferry_opt omtlmc_opts[] = {HEDGE_OPTS};

/* One view in the target and in each source, labels on both sides. */
static ferry_status omtlmc_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    (void)options;
    FERRY_PASS(ferry_i_online_fits(ctx, "omtlmc", task));
    return ferry_i_hedge_fits(ctx, "omtlmc", task);
}

/* Everything is hedge_fit's; the rule is all that this method adds. Nothing iterates, so
 * the report stays as it is. */
static ferry_status omtlmc_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                               void **state, ferry_fit_info *rep)
{
    hedge_model *m = NULL;
    const ferry_status st =
        ferry_i_hedge_fit(ctx, "omtlmc", HEDGE_LOSSES, task, options, &m);

    (void)rep;
    *state = m;
    return st;
}

/* No `watches`: seeing a row changes no weight, so rows without labels need not be
 * logged. */
static const ferry_online rounds = {.votes = ferry_i_hedge_votes_size,
                                    .see = ferry_i_hedge_see,
                                    .learn = ferry_i_hedge_hear,
                                    .parts = ferry_i_hedge_parts};

const ferry_method ferry_i_method_omtlmc = {
    .name = "omtlmc",
    .summary = "OMTL-MC after CDSPP: online transfer, weights by losses",
    .reference = "OMTLMC-CDSPP, the comparison of HetOMTL-CDSPP, 2023 (reconstructed)",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(omtlmc_opts, hedge_options),
    .fits = omtlmc_fits,
    .fit = omtlmc_fit,
    .predict = ferry_i_hedge_predict,
    .online = &rounds,
    FERRY_STATE(hedge_model, ferry_i_hedge_file, ferry_i_hedge_model_free),
};
