/* label-propagation: labels spread over the target's graphs; features are not looked at.
 *
 *   P(x) = label of x                                                where it is known
 *   P(x) = (1 - alpha) prior + alpha mean of P over the neighbours of x          else
 *
 * by repeated substitution (learn/graphs.h) over all graphs with equal weight, when asked: the model is nothing but the
 * labels it knows. */
#include <math.h>
#include <string.h>

#include "learn/graphs.h"
#include "model/seam.h"

typedef struct propagation_options {
    double alpha;
    int64_t max_iter;
    double tol;
} propagation_options;

static const ferry_opt propagation_opts[] = {
    FERRY_OPT(propagation_options, REAL, alpha, 0.99, 0, 1,
              "share of the neighbours, against the prior"),
    FERRY_OPT(propagation_options, INT, max_iter, 200, 1, 1e6, "steps, at most"),
    FERRY_OPT(propagation_options, REAL, tol, 1e-5, 0, 1, "change to stop at"),
};

typedef struct propagation_state {
    double alpha, tol;
    int64_t max_iter;
} propagation_state;
static const field propagation_fields[] = {
    ARRAY(propagation_state, REAL, alpha, .lo = 0, .hi = 1.0000001),
    VALUE(propagation_state, REAL, tol),
    ARRAY(propagation_state, INT, max_iter, .lo = 1, .hi = 1000001),
};
static const table propagation_table = TABLE(propagation_state, propagation_fields);

/* Of the numbers that are known, 1 where they do not differ: what tol counts in. */
static double deviation(scope *s, const domain *d)
{
    double squares = 0, total = 0;

    for (int64_t i = 0; i < d->n; i++)
        if (d->at[i] >= 0) total += d->y.num[i];
    const double n = (double)d->labelled, mean = sum(s, d->rows, total) / n;
    for (int64_t i = 0; i < d->n; i++)
        if (d->at[i] >= 0) squares += (d->y.num[i] - mean) * (d->y.num[i] - mean);
    squares = sum(s, d->rows, squares);
    return squares > 0 ? sqrt(squares / n) : 1;
}

static void propagation_fit(scope *s, scope *keep, const problem *p, const void *options,
                            void *state)
{
    const propagation_options *o = options;
    const double unit = p->goal == FERRY_REGRESS ? deviation(s, target(p)) : 1;

    (void)keep;
    *(propagation_state *)state = (propagation_state){o->alpha, o->tol * unit, o->max_iter};
}

static void propagation_scores(scope *s, const void *state, const domain *d, block out)
{
    const propagation_state *m = state;
    double *alpha = NEW(s, double, d->n);
    const block p0 = block_like(s, out);

    for (int64_t x = 0; x < d->n; x++) {
        alpha[x] = d->at[x] < 0 ? m->alpha : 0; /* a label stands fast */
        for (int64_t c = 0; c < out.k; c++)
            ROW(p0, x)
            [c] = d->at[x] < 0 ? d->prior[c]
                  : d->y.num   ? d->y.num[x]
                               : d->known[x] == c;
    }
    const propagation how = {.n = d->n_graphs,
                             .g = d->graph,
                             .alpha = alpha,
                             .max_iter = m->max_iter,
                             .tol = m->tol};
    copy(propagate(s, &how, p0, NULL), out);
}

const method method_label_propagation = {
    .name = "label-propagation",
    .summary = "labels spread over the target's graphs, without features",
    .reference = "Zhu, Ghahramani and Lafferty, Semi-Supervised Learning Using Gaussian "
                 "Fields and Harmonic Functions, ICML 2003",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_GRAPH | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = NO_FEATURES, .domains = WANT_TARGET, .graphs = ALL_GRAPHS},
    METHOD_OPTIONS(propagation_opts, propagation_options),
    .state = &propagation_table,
    .fit = propagation_fit,
    .scores = propagation_scores,
};
