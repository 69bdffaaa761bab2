/* gbdt-average: boosted trees on every view by itself, their scores averaged with equal weights: gbc without consensus,
 * graphs and skill. An instance is answered by the views that have it. */
#include <math.h>

#include "learn/boost.h"
#include "model/seam.h"

typedef struct average_options {
    boost_settings grow;
} average_options;

static const ferry_opt average_opts[] = {BOOST_OPTS(average_options, grow)};

typedef struct average_state {
    outcome to;
    forest trees;
    int64_t views;
    double *w; /* views: 0 where one has learned nothing */
} average_state;
static const field average_fields[] = {
    ARRAY(average_state, STRUCT, to, .of = &outcome_table),
    ARRAY(average_state, STRUCT, trees, .of = &forest_table),
    ARRAY(average_state, REALS, w, .rows = SIZE(average_state, views)),
};

static void average_check(scope *s, const void *state)
{
    const average_state *m = state;

    if (m->trees.views != m->views || m->trees.k != m->to.k || m->trees.additive)
        scope_fail(s, FERRY_EDATA, "tensor w: %lld views, not %lld", (long long)m->views,
                   (long long)m->trees.views);
}

static const table average_table = {sizeof(average_state), average_fields,
                                    FERRY_COUNT(average_fields), average_check, NULL};

static void average_fit(scope *s, scope *keep, const problem *p, const void *options,
                        void *state)
{
    const boost_settings *grow = &((const average_options *)options)->grow;
    const domain *t = target(p);
    average_state *m = state;
    boost_options o = {
        .rows = t->rows, .n = t->n, .key = t->key, .views = t->n_views, .view = t->view};
    double objective = NAN;
    bool finish = false;

    m->to = outcome_of(s, t->rows, t->n, &t->y, &o.weight, &o.y, &o.labelled);
    o.follow = o.labelled;
    o.k = m->to.k;
    o.logistic = !m->to.numbers;
    boost_set(grow, o.logistic, &o);
    boost *b = boost_new(s, &o);
    for (int64_t i = 0; i < grow->trees && !finish; i++) {
        boost_step(s, b);
        objective = 0;
        for (int64_t v = 0; v < o.views; v++)
            objective += isnan(b->loss[v]) ? 0 : b->loss[v] / (double)o.views;
        finish = progress(s, "gbdt-average", i + 1, grow->trees, objective);
    }
    m->views = o.views;
    m->w = NEW(keep, double, o.views);
    for (int64_t v = 0; v < o.views; v++)
        m->w[v] = isnan(b->loss[v]) ? 0 : 1 / (double)o.views;
    forest_copy(keep, &b->trees, b->trees.n, &m->trees);
    report_fit(s, b->trees.n, objective, finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER);
}

static void average_scores(scope *s, const void *state, const domain *d, block out)
{
    const average_state *m = state;

    forest_serves(s, &m->trees, d);
    boost_answers(s, &m->trees, &m->to, m->w, 1, d->view, out, NULL);
    outcome_rescale(&m->to, out);
}

/* One view is gbdt's case. */
static void average_fits(scope *s, const problem *shape, const void *options)
{
    (void)options;
    if (target(shape)->n_views < 2)
        scope_fail(s, FERRY_ENEEDS,
                   "gbdt-average needs several views; target '%s' has one (gbdt does that)",
                   target(shape)->name);
}

const method method_gbdt_average = {
    .name = "gbdt-average",
    .summary = "gradient boosted decision trees on each view, averaged",
    .reference = "Friedman, Greedy Function Approximation: A Gradient Boosting Machine, "
                 "Annals of Statistics 2001",
    .kind = FERRY_KIND_BASELINE,
    .family = FERRY_FAMILY_TREES,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = VIEWS_APART,
              .domains = WANT_TARGET,
              .every = true,
              .missing = true,
              .unscaled = true},
    METHOD_OPTIONS(average_opts, average_options),
    .state = &average_table,
    .fits = average_fits,
    .fit = average_fit,
    .scores = average_scores,
};
