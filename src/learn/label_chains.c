/* chains: classifier chains. A logistic regression for every label that sees the features and, as further ones, the
 * labels that come before it in a random order; several chains with orders of their own, and the mean of their
 * probabilities. The orders are drawn of labels as labels_by_rows() has them: their names decide nothing.
 *
 * In training the labels before are the true ones, later those that the chain has predicted (0 or 1). C = 1 is the
 * default of logreg; nothing was tuned. Read, Pfahringer, Holmes and Frank, Classifier Chains for Multi-label
 * Classification, Machine Learning 2011. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/linear.h"

typedef struct chains_options {
    int64_t chains;
    double C, eps;
} chains_options;

static const ferry_opt chains_opts[] = {
    FERRY_OPT(chains_options, INT, chains, 0, 0, 1000,
              "chains; 0: 10, or fewer where they would be more than 200 regressions"),
    FERRY_OPT(chains_options, REAL, C, 1, DBL_MIN, 1e9,
              "cost of errors against small weights"),
    FERRY_OPT(chains_options, REAL, eps, 1e-2, DBL_MIN, 1, "stopping tolerance"),
};

/* One chain; column j of w and row j of `before` are of the label at place j. */
typedef struct label_chain {
    int64_t cols, k;
    int32_t *order; /* k: which label stands where */
    block w;        /* cols x k */
    block before;   /* k x k: of the labels before, by place */
    double *b;      /* k */
} label_chain;
static const field chain_fields[] = {
    ARRAY(label_chain, PLACES, order, .rows = SIZE(label_chain, k),
          .below = SIZE(label_chain, k)),
    ARRAY(label_chain, BLOCK, w, .rows = SIZE(label_chain, cols),
          .cols = SIZE(label_chain, k)),
    ARRAY(label_chain, BLOCK, before, .rows = SIZE(label_chain, k),
          .cols = SIZE(label_chain, k)),
    ARRAY(label_chain, REALS, b, .rows = SIZE(label_chain, k)),
};
static const table chain_table = TABLE(label_chain, chain_fields);

typedef struct chains_state {
    int64_t n;
    label_chain *chain; /* n */
} chains_state;
static const field chains_fields[] = {
    ARRAY(chains_state, LIST, chain, .rows = SIZE(chains_state, n), .of = &chain_table),
};
static const table chains_table = TABLE(chains_state, chains_fields);

/* ---- learning ---- */

/* Features, and the labels at places 0 .. n - 1 of a chain as further ones. */
static matrix with_labels(scope *s, const examples *e, const int32_t *order, int64_t n)
{
    if (n == 0) return e->x;
    const matrix before = matrix_dense(s, e->x.rows, e->x.n, n);
    for (int64_t i = 0; i < e->x.n; i++)
        for (int64_t j = 0; j < n; j++)
            before.m->dense[i * n + j] = e->y.on[i * e->y.k + order[j]];
    return beside(s, 2, (matrix[]){e->x, e->x.m->dense ? before : to_sparse(s, before)});
}

/* The regression at place `at`. A label that is never or always on has a constant score. */
static void fit_label(scope *s, const chains_options *o, const examples *e, int64_t at,
                      label_chain *c)
{
    const linear_options how = {.loss = LOSS_LOGISTIC, .C = o->C, .eps = o->eps, .bias = 1};
    const int64_t mark = scope_mark(s);
    uint8_t *on = NEW(s, uint8_t, e->x.n);
    examples one = *e;

    for (int64_t i = 0; i < e->x.n; i++)
        on[i] = e->y.on[i * e->y.k + c->order[at]];
    one.x = with_labels(s, e, c->order, at);
    one.y = (labels){.goal = FERRY_MULTILABEL, .k = 1, .on = on};
    const linear_model m = linear_fit(s, s, &how, &one);
    for (int64_t j = 0; j < c->cols; j++)
        ROW(c->w, j)[at] = m.w.at[j];
    for (int64_t j = 0; j < at; j++)
        ROW(c->before, at)[j] = m.w.at[c->cols + j];
    c->b[at] = m.b[0];
    scope_release(s, mark);
}

static label_chain chain_new(scope *keep, int64_t cols, int64_t k, const int64_t *order)
{
    const label_chain c = {cols,
                           k,
                           NEW(keep, int32_t, k),
                           block_new(keep, HERE(cols), cols, k),
                           block_new(keep, HERE(k), k, k),
                           NEW(keep, double, k)};

    for (int64_t j = 0; j < k; j++)
        c.order[j] = (int32_t)order[j];
    return c;
}

static void chains_fit(scope *s, scope *keep, const examples *e, const void *options,
                       void *state)
{
    const chains_options *o = options;
    chains_state *m = state;
    const int64_t k = e->y.k, few = 200 / k;
    const int64_t n = o->chains > 0 ? o->chains : few < 1 ? 1 : few > 10 ? 10 : few;
    const int32_t *label = labels_by_rows(s, e);
    int64_t *order = NEW(s, int64_t, k);
    ferry_rng *rng = scope_rng(s, "chains");
    bool finish = false;

    m->chain = NEW(keep, label_chain, n);
    for (; m->n < n && !finish; m->n++) {
        for (int64_t j = 0; j < k; j++)
            order[j] = label[j];
        shuffle(rng, k, order);
        label_chain *c = &m->chain[m->n];
        *c = chain_new(keep, e->x.cols, k, order);
        for (int64_t j = 0; j < k; j++)
            fit_label(s, o, e, j, c);
        finish = progress(s, "chains", m->n + 1, n, NAN);
    }
    report_real(s, "chains", (double)m->n);
}

/* ---- prediction ---- */

/* One row along one chain: f (k) is what its features say at each place, given (k) takes the labels before. Adds the
 * probabilities to score. */
static void follow(const label_chain *c, double share, const double *f, double *given,
                   double *score)
{
    for (int64_t j = 0; j < c->k; j++) {
        double z = f[j] + c->b[j];
        for (int64_t h = 0; h < j; h++)
            z += ROW(c->before, j)[h] * given[h];
        given[j] = z > 0;
        score[c->order[j]] += share / (1 + exp(-z));
    }
}

static void chains_scores(scope *s, const void *state, matrix x, block out)
{
    const chains_state *m = state;
    const block f = block_new(s, x.rows, x.n, out.k);
    double *given = NEW(s, double, out.k);

    memset(out.at, 0, (size_t)(out.n * out.k) * sizeof *out.at);
    for (int64_t c = 0; c < m->n; c++) {
        mul(s, x, m->chain[c].w, f);
        for (int64_t i = 0; i < x.n; i++)
            follow(&m->chain[c], 1 / (double)m->n, ROW(f, i), given, ROW(out, i));
    }
}

static bool chains_serves(const void *state, int64_t cols, int64_t k)
{
    const chains_state *m = state;
    bool all = m->n > 0;

    for (int64_t c = 0; c < m->n; c++)
        all = all && m->chain[c].cols == cols && m->chain[c].k == k;
    return all;
}

const learner learner_chains = {
    .name = "chains",
    .summary = "logistic regressions, each of which sees the labels before it in a chain",
    .reference = "Read, Pfahringer, Holmes and Frank, Classifier Chains for Multi-label "
                 "Classification, Machine Learning 2011",
    .takes = LEARN_SETS | LEARN_WEIGHTS | LEARN_SPREAD,
    LEARNER_OPTIONS(chains_opts, chains_options),
    .state = &chains_table,
    .fit = chains_fit,
    .scores = chains_scores,
    .serves = chains_serves,
    .least = 0.5,
};
