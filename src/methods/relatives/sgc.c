/* sgc: logistic regression on features that are smoothed over the target's graphs.
 *
 *   X <- S^steps X,   S = sum_g D_g^-1/2 (A_g + s_g I) D_g^-1/2 / q          (learn/graphs.h)
 *
 * An instance without features has those of its neighbours. Wu et al., Simplifying Graph Convolutional Networks, ICML
 * 2019. */
#include "learn/collective.h"
#include "learn/graphs.h"
#include "model/seam.h"

typedef struct sgc_options {
    double C, eps;
    int64_t steps;
} sgc_options;

static const ferry_opt sgc_opts[] = {
    FERRY_OPT(
        sgc_options, REAL, C, 0, 0, 1e9,
        "cost of errors against small weights; 0: 10, or the best of 1, 10 and 100 by "
        "cross-validation on the target's labels, where every class has five of them"),
    FERRY_OPT(sgc_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance"),
    FERRY_OPT(sgc_options, INT, steps, 2, 1, 100,
              "of smoothing: how far away neighbours count"),
};

typedef struct sgc_state {
    int64_t steps;
    double factor; /* of the smoothed features */
    learned model;
} sgc_state;
static const field sgc_fields[] = {
    ARRAY(sgc_state, INT, steps, .lo = 1, .hi = 101),
    ARRAY(sgc_state, REAL, factor, .lo = 1e-300, .hi = 1e300),
    ARRAY(sgc_state, VARIANT, model, .among = &learners),
};
static const table sgc_table = TABLE(sgc_state, sgc_fields);

static void sgc_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    const sgc_options *o = options;
    domain t = *target(p);
    sgc_state *m = state;

    m->steps = o->steps;
    t.there = NULL; /* smoothed, all rows have features */
    m->model = local_model(s, keep, &t,
                           smooth_rows(s, t.n_graphs, t.graph, m->steps, t.x, &m->factor),
                           o->C, o->eps);
}

static void sgc_scores(scope *s, const void *state, const domain *d, block out)
{
    const sgc_state *m = state;
    double factor = m->factor;
    const matrix x = smooth_rows(s, d->n_graphs, d->graph, m->steps, d->x, &factor);

    learned_scores(s, &m->model, x, out);
}

const method method_sgc = {
    .name = "sgc",
    .summary = "logistic regression on features that are smoothed over the target's graphs",
    .reference = "Wu et al., Simplifying Graph Convolutional Networks, ICML 2019",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_GRAPH | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = JOINED, .domains = WANT_TARGET, .graphs = ALL_GRAPHS},
    METHOD_OPTIONS(sgc_opts, sgc_options),
    .state = &sgc_table,
    .fit = sgc_fit,
    .scores = sgc_scores,
};
