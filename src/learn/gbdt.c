/* gbdt: gradient boosted decision trees on all features side by side (learn/boost.h).
 *
 *   f_t = f_t-1 + nu tree_t,   leaves sum z / (sum c + reg)
 *
 * with logistic loss for classes (one score each, against the rest) and squared loss for numbers. */
#include "learn/boost.h"
#include "learn/learner.h"

typedef struct gbdt_options {
    boost_settings grow;
} gbdt_options;

static const ferry_opt gbdt_opts[] = {BOOST_OPTS(gbdt_options, grow)};

typedef struct gbdt_state {
    outcome to;
    forest trees;
} gbdt_state;
static const field gbdt_fields[] = {
    ARRAY(gbdt_state, STRUCT, to, .of = &outcome_table),
    ARRAY(gbdt_state, STRUCT, trees, .of = &forest_table),
};

static void gbdt_check(scope *s, const void *state)
{
    const gbdt_state *m = state;

    if (m->trees.views != 1 || m->trees.k != m->to.k || m->trees.additive)
        scope_fail(s, FERRY_EDATA, "tensor trees.first: %lld views, %lld scores, not %lld",
                   (long long)m->trees.views, (long long)m->trees.k, (long long)m->to.k);
}

static const table gbdt_table = {sizeof(gbdt_state), gbdt_fields, FERRY_COUNT(gbdt_fields),
                                 gbdt_check, NULL};

static void gbdt_fit(scope *s, scope *keep, const examples *e, const void *options,
                     void *state)
{
    const boost_settings *grow = &((const gbdt_options *)options)->grow;
    gbdt_state *m = state;
    const view v = {.x = e->x};
    boost_options o = {.rows = e->x.rows,
                       .n = e->x.n,
                       .weight = e->weight,
                       .key = e->key,
                       .views = 1,
                       .view = &v};
    bool finish = false;

    m->to = outcome_of(s, e->x.rows, e->x.n, &e->y, &o.weight, &o.y, &o.labelled);
    o.k = m->to.k;
    o.logistic = !m->to.numbers;
    boost_set(grow, o.logistic, &o);
    boost *b = boost_new(s, &o);
    for (int64_t t = 0; t < grow->trees && !finish; t++) {
        boost_step(s, b);
        finish = progress(s, "gbdt", t + 1, grow->trees, b->loss[0]);
    }
    report_fit(s, b->trees.n, b->loss[0], finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER);
    forest_copy(keep, &b->trees, b->trees.n, &m->trees);
}

static void gbdt_scores(scope *s, const void *state, matrix x, block out)
{
    const gbdt_state *m = state;
    const view v = {.x = x};
    const block f = block_new(s, x.rows, x.n, m->to.k);

    forest_scores(s, &m->trees, &v, &f);
    for (int64_t i = 0; i < x.n; i++)
        outcome_answer(&m->to, ROW(f, i), ROW(out, i));
    outcome_rescale(&m->to, out);
}

static bool gbdt_serves(const void *state, int64_t width, int64_t k)
{
    const gbdt_state *m = state;

    return m->trees.cols[0] == width && m->to.classes == k;
}

const learner learner_gbdt = {
    .name = "gbdt",
    .summary = "gradient boosted decision trees on all features side by side",
    .reference = "Friedman, Greedy Function Approximation: A Gradient Boosting Machine, "
                 "Annals of Statistics 2001",
    .takes = LEARN_CLASSES | LEARN_NUMBERS | LEARN_SOFT | LEARN_WEIGHTS | LEARN_MISSING |
             LEARN_SPREAD,
    LEARNER_OPTIONS(gbdt_opts, gbdt_options),
    .state = &gbdt_table,
    .fit = gbdt_fit,
    .scores = gbdt_scores,
    .serves = gbdt_serves,
};
