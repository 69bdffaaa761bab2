/* hetomtl-paper: HetOMTL-CDSPP as published, its misprints corrected: rows of a target arrive one by one and want a class
 * at once, labels follow late or never, and several sources in feature spaces of their own have labels from the start.
 *
 * Algorithm 1: a projection and a learner for each source, a learner of the target, a hedge over each pair and a hedge
 * over the pairs. It is shared with OMTL-MC: learn/hedge.h has the problem and the formulas, learn/cdspp.h the
 * projection, learn/online.h the learner. Two of the corrections change numbers: the step is min(C, l / 2x'x), not
 * min(C, l / (f_y - f_r)^2) (variant printed), and mistakes are those of the scores before the update.
 *
 * Heterogeneous Online Multi-Source Transfer Learning with Cross-Domain Structure Preserving Projection, 2023. */
#include "learn/hedge.h"
#include "learn/scale.h"
#include "model/seam.h"

static const ferry_opt paper_opts[] = {HEDGE_OPTS};

static void paper_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    hedge_fit(s, keep, p, HEDGE_MISTAKES, options, state);
}

const method method_hetomtl_paper = {
    .name = "hetomtl-paper",
    .summary = "online transfer from several sources: a hedge over projections",
    .reference = "HetOMTL-CDSPP: Heterogeneous Online Multi-Source Transfer Learning with "
                 "Cross-Domain Structure Preserving Projection, 2023",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_STREAM,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_TARGET_VIEW,
    /* rows of unit length: what the paper's numbers need, which it does not say */
    .wants = {.as = STREAM, .domains = WANT_SOURCES | WANT_TARGET, .scale = FERRY_SCALE_L2},
    METHOD_OPTIONS(paper_opts, hedge_options),
    .state = &hedge_table,
    .whole = true,
    .asked = true,
    .fit = paper_fit,
    .online = &hedge_online,
};
