/* correct-smooth: logistic regression on the features gives P; its errors on the known labels spread over the graphs
 * and are taken off, then the answers spread:
 *
 *   E(x) = (1 - a) e(x) + a mean of E over the neighbours,   e = truth - P, 0 where it is not known
 *   P(x) <- P(x) + (mean |e|_1) E(x) / |E(x)|_1
 *   answer(x) = (1 - b) P(x) + b mean of the answers of the neighbours, with the truth for P where it is known
 *
 * Means over neighbours are those of learn/graphs.h, every graph by its row sums; the paper has D^-1/2 A D^-1/2 there.
 * Huang et al., Combining Label Propagation and Simple Models Out-performs Graph Neural Networks, ICLR 2021. */
#include <math.h>
#include <string.h>

#include "learn/collective.h"
#include "learn/graphs.h"
#include "model/seam.h"

enum { STEPS = 50 }; /* of spreading, at most */
#define CHANGE 1e-5

typedef struct correct_smooth_options {
    double C, eps, correct, smooth;
} correct_smooth_options;

static const ferry_opt correct_smooth_opts[] = {
    FERRY_OPT(
        correct_smooth_options, REAL, C, 0, 0, 1e9,
        "cost of errors against small weights; 0: 10, or the best of 1, 10 and 100 by "
        "cross-validation on the target's labels, where every class has five of them"),
    FERRY_OPT(correct_smooth_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance"),
    FERRY_OPT(correct_smooth_options, REAL, correct, 0.8, 0, 1,
              "share of the neighbours in the errors that are subtracted"),
    FERRY_OPT(correct_smooth_options, REAL, smooth, 0.8, 0, 1,
              "share of the neighbours in the answers"),
};

typedef struct correct_smooth_state {
    double correct, smooth; /* a and b */
    int64_t known;
    block residual; /* known x classes: e of the labelled rows at fit */
    learned model;
} correct_smooth_state;
static const field correct_smooth_fields[] = {
    ARRAY(correct_smooth_state, REAL, correct, .lo = 0, .hi = 1.0000001),
    ARRAY(correct_smooth_state, REAL, smooth, .lo = 0, .hi = 1.0000001),
    ARRAY(correct_smooth_state, BLOCK, residual, .rows = SIZE(correct_smooth_state, known),
          .cols = CLASSES),
    ARRAY(correct_smooth_state, VARIANT, model, .among = &learners),
};
static const table correct_smooth_table =
    TABLE(correct_smooth_state, correct_smooth_fields);

/* P of all rows; the prior for those without features. */
static block probabilities(scope *s, const learned *model, const domain *d, int64_t k)
{
    const block p = block_new(s, d->rows, d->n, k);

    learned_scores(s, model, d->x, p);
    prior_where_nothing(d, p);
    return p;
}

static void correct_smooth_fit(scope *s, scope *keep, const problem *p, const void *options,
                               void *state)
{
    const correct_smooth_options *o = options;
    const domain *t = target(p);
    correct_smooth_state *m = state;

    *m = (correct_smooth_state){
        .correct = o->correct, .smooth = o->smooth, .known = t->labelled};
    m->model = local_model(s, keep, t, t->x, o->C, o->eps);
    const block now = probabilities(s, &m->model, t, p->classes);
    m->residual = block_new(keep, HERE(m->known), m->known, p->classes);
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t c = 0; t->at[i] >= 0 && c < p->classes; c++)
            ROW(m->residual, t->at[i])[c] = (t->known[i] == c) - ROW(now, i)[c];
    sums(s, t->rows, m->known * p->classes, m->residual.at); /* of all processes */
}

static double length(const double *v, int64_t n)
{
    double all = 0;

    for (int64_t j = 0; j < n; j++)
        all += fabs(v[j]);
    return all;
}

static void correct_smooth_scores(scope *s, const void *state, const domain *d, block out)
{
    const correct_smooth_state *m = state;
    const int64_t k = out.k;
    const double usual = length(m->residual.at, m->known * k) / (double)m->known;
    const block p = probabilities(s, &m->model, d, k), start = block_like(s, out);
    double *alpha = NEW(s, double, d->n);
    const propagation how = {
        .n = d->n_graphs, .g = d->graph, .alpha = alpha, .max_iter = STEPS, .tol = CHANGE};

    for (int64_t x = 0; x < d->n; x++) {
        alpha[x] = m->correct;
        if (d->at[x] >= m->known)
            scope_fail(s, FERRY_EDATA, "correct-smooth: the model has %lld labels",
                       (long long)m->known);
        if (d->at[x] >= 0)
            memcpy(ROW(start, x), ROW(m->residual, d->at[x]), (size_t)k * sizeof(double));
    }
    const block error = propagate(s, &how, start, NULL);
    for (int64_t x = 0; x < d->n; x++) {
        const double far = length(ROW(error, x), k);
        alpha[x] = m->smooth;
        for (int64_t c = 0; c < k; c++) {
            const double e = far > 1e-3 * usual ? usual / far * ROW(error, x)[c] : 0;
            ROW(start, x)[c] = d->at[x] >= 0 ? d->known[x] == c : fmax(0, ROW(p, x)[c] + e);
        }
    }
    copy(propagate(s, &how, start, NULL), out);
}

const method method_correct_smooth = {
    .name = "correct-smooth",
    .summary = "logistic regression, whose errors and answers spread over the target's "
               "graphs",
    .reference = "Huang et al., Combining Label Propagation and Simple Models "
                 "Out-performs Graph Neural Networks, ICLR 2021",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_GRAPH | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = JOINED, .domains = WANT_TARGET, .graphs = ALL_GRAPHS},
    METHOD_OPTIONS(correct_smooth_opts, correct_smooth_options),
    .state = &correct_smooth_table,
    .fit = correct_smooth_fit,
    .scores = correct_smooth_scores,
};
