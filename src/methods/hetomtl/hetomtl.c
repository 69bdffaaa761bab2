/* hetomtl: options, fit, descriptor (hetomtl.h has the problem).
 *
 * Both modes are one model (hetomtl): m->paper is NULL in mode ferry. The options of mode
 * paper come from shared/hedge.h, since omtlmc has the same. */
#include "methods/hetomtl/hetomtl.h"

enum { MODE_FERRY, MODE_PAPER };

static const ferry_opt hetomtl_opts[] = {
    FERRY_OPT_ONE_OF(hetomtl_options, mode, "ferry|paper", "ferry",
                     "four experts on the target, or the published algorithm"),
    FERRY_OPT(hetomtl_options, REAL, rate, 0.9, 1e-9, 1,
              "ferry: a mistake leaves so much of an expert's weight"),
    FERRY_OPT(hetomtl_options, REAL, share, 0.01, 0, 1,
              "ferry: part of the weight that is dealt out again after each label"),
    FERRY_OPT(hetomtl_options, INT, keep, 600, 0, 100000,
              "ferry: newest labelled rows kept to solve the class codes from"),
    FERRY_OPT(hetomtl_options, REAL, grow, 1.6, 1.0001, 1e9,
              "ferry: solve them again when there are so many times more labels"),
    HEDGE_OPTS,
};

/* Mode ferry asks for one view of the target and nothing else: it works without a source
 * and without a label. Mode paper needs both. */
static ferry_status hetomtl_fits(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_online_fits(ctx, "hetomtl", task));
    if (((const hetomtl_options *)options)->mode == MODE_PAPER)
        FERRY_TRY(ferry_i_hedge_fits(ctx, "hetomtl mode=paper", task));
done:
    return st;
}

/* Only the offline part: the stream comes to rounds.c afterwards. Mode ferry with no label
 * at all starts from zero weights and learns from the stream. */
static ferry_status hetomtl_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const hetomtl_options *o = options;
    bool finish = false;
    hetomtl *m = NULL;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    if (o->mode == MODE_PAPER)
        FERRY_TRY(
            ferry_i_hedge_fit(ctx, "hetomtl", HEDGE_MISTAKES, task, &o->hedge, &m->paper));
    else
        FERRY_TRY(ferry_i_hetomtl_solve(ctx, task, o, &m->e, &finish));
    if (finish) rep->stop = FERRY_STOP_FINISH;
    FERRY_MOVE(*state, m);
done:
    ferry_i_hetomtl_free(m);
    return st;
}

const ferry_method ferry_i_method_hetomtl = {
    .name = "hetomtl",
    .summary = "online transfer from several sources; experts under a hedge",
    .reference = "HetOMTL-CDSPP: Heterogeneous Online Multi-Source Transfer Learning with "
                 "Cross-Domain Structure Preserving Projection, 2023",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(hetomtl_opts, hetomtl_options),
    .fits = hetomtl_fits,
    .fit = hetomtl_fit,
    .predict = ferry_i_hetomtl_predict,
    .online = &ferry_i_hetomtl_rounds,
    FERRY_STATE(hetomtl, ferry_i_hetomtl_file, ferry_i_hetomtl_free),
};
