/* ica: iterative classification. A linear model on the features and on the classes among the neighbours; those that
 * are not known are predicted, again and again. What graphs give without anything but a plain learner.
 *
 *   start    logistic regression on the features alone says a first class of every instance
 *   model    logistic regression on [features, share of each class among the neighbours in each graph]
 *   repeat   shares from the classes as they stand (known ones stay), then classes from the model, until none changes
 *
 * Sen et al., Collective Classification in Network Data, AI Magazine 2008. */
#include <math.h>

#include "learn/collective.h"
#include "model/seam.h"

typedef struct ica_options {
    double C, eps;
    int64_t max_iter;
} ica_options;

static const ferry_opt ica_opts[] = {
    FERRY_OPT(ica_options, REAL, C, 1, 1e-9, 1e9, "cost of errors against small weights"),
    FERRY_OPT(ica_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance"),
    FERRY_OPT(ica_options, INT, max_iter, 20, 1, 1e6, "rounds of prediction, at most"),
};

typedef struct ica_state {
    int64_t max_iter;
    learned first, model;
} ica_state;
static const field ica_fields[] = {
    ARRAY(ica_state, INT, max_iter, .lo = 1, .hi = 1000001),
    ARRAY(ica_state, VARIANT, first, .among = &learners),
    ARRAY(ica_state, VARIANT, model, .among = &learners),
};
static const table ica_table = TABLE(ica_state, ica_fields);

/* The relational model is learned once, with first guesses for what is not known. */
static void ica_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    const ica_options *o = options;
    const domain *t = target(p);
    ica_state *m = state;
    int32_t *cls = COPY(s, t->known, t->n);

    m->max_iter = o->max_iter;
    m->first = local_model(s, keep, t, t->x, o->C, o->eps);
    (void)assign_classes(s, t, answer(s, &m->first, t->x), cls);
    m->model =
        local_model(s, keep, t, with_neighbours(s, t, p->classes, cls), o->C, o->eps);
}

/* Until no class changes; max_iter ends cycles. */
static void ica_scores(scope *s, const void *state, const domain *d, block out)
{
    const ica_state *m = state;
    int32_t *cls = COPY(s, d->known, d->n);
    int64_t changed = 1;

    learned_scores(s, &m->first, d->x, out);
    (void)assign_classes(s, d, out, cls);
    for (int64_t t = 0; t < m->max_iter && changed > 0; t++) {
        const int64_t mark = scope_mark(s);
        learned_scores(s, &m->model, with_neighbours(s, d, out.k, cls), out);
        changed = assign_classes(s, d, out, cls);
        scope_release(s, mark);
        (void)progress(s, "ica", t + 1, m->max_iter, NAN);
    }
    prior_where_nothing(d, out);
}

const method method_ica = {
    .name = "ica",
    .summary = "iterative classification: features and the classes among the neighbours",
    .reference = "Sen et al., Collective Classification in Network Data, AI Magazine 2008",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_GRAPH | FERRY_NEED_TARGET_LABELS,
    .wants = {.as = JOINED, .domains = WANT_TARGET, .graphs = ALL_GRAPHS},
    METHOD_OPTIONS(ica_opts, ica_options),
    .state = &ica_table,
    .whole = true,
    .fit = ica_fit,
    .scores = ica_scores,
};
