/* hetomtl: options, fit, descriptor (hetomtl.h has the problem).
 *
 * The three modes are one model (hetomtl). The options of mode paper come from shared/hedge.h, since omtlmc has the same. */
#include "methods/hetomtl/hetomtl.h"

static const ferry_opt hetomtl_opts[] = {
    /* in the order of the file */
    FERRY_OPT_ONE_OF(hetomtl_options, mode, "experts|paper|ferry,fleet", "ferry",
                     "four linear experts on the target, the published algorithm, or six "
                     "experts (ridges, a sentinel for drift) that cost more and err less"),
    FERRY_OPT(hetomtl_options, INT, basis, 0, 0, FLEET_BASIS,
              "ferry: labels up to which ridges are exact, and the size of their basis "
              "afterwards; 0: 600, fewer above 2048 dense features"),
    FERRY_OPT(hetomtl_options, REAL, rate, 0.9, 1e-9, 1,
              "experts: factor of an expert's weight after a mistake"),
    FERRY_OPT(hetomtl_options, REAL, share, 0.01, 0, 1,
              "experts: part of the weight that is redistributed after each label"),
    FERRY_OPT(hetomtl_options, INT, keep, 600, 0, 100000,
              "experts: newest labelled rows kept to solve the class codes from"),
    FERRY_OPT(hetomtl_options, REAL, grow, 1.6, 1.0001, 1e9,
              "experts: solve them again when labels have grown by this factor"),
    HEDGE_OPTS,
};

/* All ask for one view of the target; without a source and without a label work those on the
 * target alone. Mode paper needs both. */
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

/* Only the offline part: the stream comes to rounds.c afterwards. With no label at all the
 * target's experts start from zero weights and learn from the stream. */
static ferry_status hetomtl_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const hetomtl_options *o = options;
    bool finish = false;
    hetomtl *m = NULL;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    m->mode = o->mode;
    if (o->mode == MODE_FERRY)
        FERRY_TRY(ferry_i_hetomtl_fleet(ctx, task, o, &m->f, &finish));
    else if (o->mode == MODE_PAPER)
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
