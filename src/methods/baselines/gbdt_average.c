/* gbdt-average: boosted trees on every view by itself, equal weights; gbc without
 * consensus, graphs and skill. An instance is answered by the views that have it. */
#include <math.h>

#include "methods/baselines/gbdt.h"

typedef struct average_options {
    gbdt_growing grow;
} average_options;

static const ferry_opt average_opts[] = {
    GBDT_OPTS(average_options),
};

/* mask (p x n) and what else the run needs. */
static ferry_status boost(ferry_ctx *ctx, const ferry_domain *t, const average_options *o,
                          const double *y, const uint8_t *labelled, uint8_t *mask,
                          gbc_model *m, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(t->ids), p = t->n_views;
    const bool logistic = m->goal.goal == FERRY_CLASSIFY;
    const gbc_settings s = ferry_i_gbdt_settings(&o->grow, logistic);
    const gbc_problem g = {.n = n,
                           .p = p,
                           .k = m->goal.k,
                           .mask = mask,
                           .labelled = labelled,
                           .y = y,
                           .logistic = logistic};
    gbc_run *r = NULL;
    bool finish = false;

    for (int64_t i = 0; i < p; i++)
        for (int64_t x = 0; x < n; x++)
            mask[i * n + x] = t->views[i]->row_of[x] >= 0;
    FERRY_TRY(ferry_i_gbc_run_new(ctx, &s, &g, t->views, labelled, NULL, &r));
    rep->stop = FERRY_STOP_MAX_ITER;
    for (int64_t e = 0; e < o->grow.trees && !finish; e++) {
        FERRY_TRY(ferry_i_gbc_run_step(ctx, r));
        rep->iters++;
        rep->objective = 0;
        for (int64_t i = 0; i < p; i++)
            rep->objective += isnan(r->loss[i]) ? 0 : r->loss[i] / (double)p;
        FERRY_TRY(ferry_i_progress(ctx, "gbdt-average", e + 1, o->grow.trees,
                                   rep->objective, &finish));
    }
    if (finish) rep->stop = FERRY_STOP_FINISH;
    m->forest = r->forest;
    m->w = r->w;
    r->forest = NULL;
    r->w = NULL;
    for (int64_t i = 0; i < p; i++) /* one that learned nothing has no say */
        if (isnan(r->loss[i])) m->w[i] = 0;
done:
    ferry_i_gbc_run_free(r);
    return st;
}

static ferry_status average_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *t = NULL;
    gbc_model *m = NULL;
    double *y = NULL;
    uint8_t *labelled = NULL, *mask = NULL;

    *state = NULL;
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    const int64_t n = ferry_i_ids_count(t->ids);
    FERRY_TRY(ferry_i_gbc_model_new(ctx, &m));
    FERRY_TRY(ferry_i_gbc_goal_new(
        ctx, task->goal, task->names ? ferry_i_ids_count(task->names) : 1, n,
        t->labels->cls, t->labels->num, &m->goal, &y, &labelled));
    FERRY_NEW(ctx, mask, t->n_views * n);
    FERRY_TRY(boost(ctx, t, options, y, labelled, mask, m, rep));
    *state = m;
    m = NULL;
done:
    ferry_i_free(y);
    ferry_i_free(labelled);
    ferry_i_free(mask);
    ferry_i_gbc_model_free(m);
    return st;
}

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

const ferry_method ferry_i_method_gbdt_average = {
    .name = "gbdt-average",
    .summary = "gradient boosted decision trees on each view, averaged",
    .reference = "Friedman, Greedy Function Approximation: A Gradient Boosting Machine, "
                 "Annals of Statistics 2001",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    .options = average_opts,
    .n_options = FERRY_COUNT(average_opts),
    .options_size = sizeof(average_options),
    .fits = average_fits,
    .fit = average_fit,
    .predict = ferry_i_gbc_predict,
    .save = ferry_i_gbc_save,
    .load = ferry_i_gbc_load,
    .free = ferry_i_gbc_model_free,
};
