/* gbdt-average: boosted trees on every view by itself, their scores averaged with equal
 * weights: gbc without consensus, graphs and skill. An instance is answered by the views
 * that have it; one that none has gets the base score. */
#include <math.h>

#include "methods/shared/boosted.h"

typedef struct average_options {
    boosted_growing grow;
} average_options;

static const ferry_opt average_opts[] = {
    BOOSTED_OPTS(average_options, grow),
};

static void average_free(void *state)
{
    if (state) ferry_i_boosted_clear(state);
    ferry_i_free(state);
}

/* All views grow together, each on the labelled instances that it has. */
static ferry_status average_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const average_options *o = options;
    const ferry_domain *t = NULL;
    boosted *m = NULL;
    double *y = NULL;
    uint8_t *labelled = NULL, *mask = NULL;
    boosted_views v = {0};

    *state = NULL;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    const int64_t n = ferry_i_ids_count(t->ids), p = t->n_views;
    FERRY_NEW(ctx, m, 1);
    FERRY_NEW(ctx, m->w, p);
    FERRY_NEW(ctx, mask, p * n);
    FERRY_TRY(ferry_i_boosted_labels(ctx, task, t, &m->outputs, &y, &labelled));
    FERRY_TRY(ferry_i_boosted_prepare(ctx, "gbdt-average", task, &m->prepared, &v));
    ferry_i_boosted_mask(&v, n, mask);
    const ferry_objective g = {.n = n,
                               .p = p,
                               .k = m->outputs.k,
                               .mask = mask,
                               .labelled = labelled,
                               .y = y,
                               .logistic = !m->outputs.numbers};
    FERRY_TRY(ferry_i_boosted_grow(ctx, "gbdt-average", &o->grow, &g, v.at, m, m->w, rep));
    for (int64_t i = 0; i < p; i++) /* one that learned nothing has no say */
        m->w[i] = isnan(m->w[i]) ? 0 : 1 / (double)p;
    FERRY_MOVE(*state, m);
done:
    FERRY_FREE(y, labelled, mask);
    ferry_i_boosted_views_clear(&v);
    average_free(m);
    return st;
}

/* One view is gbdt's case. */
static ferry_status average_fits(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = NULL;

    (void)options;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    FERRY_NEED(ctx, t->n_views >= 2, FERRY_ENEEDS,
               "gbdt-average needs several views; target '%s' has one (gbdt does that)",
               t->name);
done:
    return st;
}

/* Each instance by the views that have it. */
static ferry_status average_predict(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const boosted *m = state;
    double *answers = NULL;
    uint8_t *viewless = NULL;
    boosted_views v = {0};

    FERRY_TRY(ferry_i_outputs_check(ctx, &m->outputs, p));
    FERRY_TRY(ferry_i_boosted_new_data(ctx, m->prepared, d, &v));
    FERRY_NEW(ctx, answers, p->n * m->outputs.classes);
    FERRY_NEW(ctx, viewless, p->n);
    FERRY_NEW(ctx, p->basis, p->n);
    FERRY_TRY(ferry_i_boosted_answers(ctx, m, p->n, v.at, answers, viewless));
    for (int64_t x = 0; x < p->n; x++) {
        ferry_i_outputs_decide(&m->outputs, answers + x * m->outputs.classes, x, p);
        p->basis[x] = viewless[x] ? FERRY_BASIS_BASE : FERRY_BASIS_VIEWS;
    }
    ferry_i_boosted_tell(ctx, "gbdt-average", d, p);
done:
    ferry_i_boosted_views_clear(&v);
    FERRY_FREE(viewless, answers);
    return st;
}

static void average_file(ferry_io *io, void *state)
{
    ferry_i_boosted_file(io, true, state);
}

const ferry_method ferry_i_method_gbdt_average = {
    .name = "gbdt-average",
    .summary = "gradient boosted decision trees on each view, averaged",
    .reference = "Friedman, Greedy Function Approximation: A Gradient Boosting Machine, "
                 "Annals of Statistics 2001",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    FERRY_OPTIONS(average_opts, average_options),
    .fits = average_fits,
    .fit = average_fit,
    .predict = average_predict,
    FERRY_STATE(boosted, average_file, average_free),
};
