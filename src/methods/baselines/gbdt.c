/* gbdt: gradient boosted decision trees on all features side by side; what a method for
 * several views has to beat.
 *
 * The trees, their leaves and the losses are those of GBC with one source and nothing but
 * labelled instances (methods/gbc). */
#include <math.h>

#include "methods/baselines/gbdt.h"

typedef struct gbdt_table {
    gbdt_options gbdt;
} gbdt_table;

static const ferry_opt gbdt_opts[] = {GBDT_ALL_OPTS(gbdt_table)};

void ferry_i_gbdt_free(void *state)
{
    gbdt *g = state;

    if (!g) return;
    ferry_i_gbc_forest_free(g->forest);
    ferry_i_base_clear(&g->b);
    ferry_i_free(g);
}

gbc_settings ferry_i_gbdt_settings(const gbdt_growing *o, bool logistic)
{
    return (gbc_settings){.rate = o->rate,
                          .weights = GBC_FIXED,
                          .how = (ferry_growing)o->learner,
                          .tree = {.depth = o->depth,
                                   .min_leaf = o->min_leaf,
                                   .min_child = o->min_child >= 0 ? o->min_child
                                                : logistic        ? 0.5
                                                                  : 4,
                                   .reg = o->reg >= 0 ? o->reg
                                          : logistic  ? 0.25
                                                      : 1,
                                   .bins = o->bins}};
}

/* Grow on the n examples alone. */
static ferry_status boost(ferry_ctx *ctx, const gbdt_options *o, const examples *e, gbdt *m,
                          ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const gbc_settings s = ferry_i_gbdt_settings(&o->grow, m->goal.goal == FERRY_CLASSIFY);
    gbc_problem g = {.n = e->n, .p = 1, .logistic = m->goal.goal == FERRY_CLASSIFY};
    double *y = NULL;
    uint8_t *labelled = NULL;
    int64_t *instance = ferry_i_calloc(e->n, sizeof *instance);
    ferry_view view = {.x = e->x, .instance = instance}, *views = &view;
    gbc_run *r = NULL;
    bool finish = false;

    FERRY_HAVE(ctx, instance);
    for (int64_t i = 0; i < e->n; i++)
        instance[i] = i;
    FERRY_TRY(ferry_i_gbc_goal_new(ctx, m->goal.goal, m->b.k, e->n, e->cls, e->num,
                                   &m->goal, &y, &labelled));
    g.k = m->goal.k;
    g.mask = g.labelled = labelled;
    g.y = y;
    FERRY_TRY(ferry_i_gbc_run_new(ctx, &s, &g, &views, NULL, NULL, &r));
    rep->stop = FERRY_STOP_MAX_ITER;
    for (int64_t t = 0; t < o->grow.trees && !finish; t++) {
        FERRY_TRY(ferry_i_gbc_run_step(ctx, r));
        rep->iters++;
        rep->objective = r->loss[0];
        FERRY_TRY(
            ferry_i_progress(ctx, "gbdt", t + 1, o->grow.trees, rep->objective, &finish));
    }
    if (finish) rep->stop = FERRY_STOP_FINISH;
    m->forest = r->forest;
    r->forest = NULL;
done:
    ferry_i_gbc_run_free(r);
    ferry_i_free(instance);
    ferry_i_free(labelled);
    ferry_i_free(y);
    return st;
}

static ferry_status gbdt_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const gbdt_options *o = options;
    gbdt *m = ferry_i_calloc(1, sizeof *m);
    examples e = {0};

    *state = NULL;
    FERRY_HAVE(ctx, m);
    m->goal.goal = task->goal;
    FERRY_TRY(ferry_i_base_fit(ctx, "gbdt", task, (ferry_train)o->train, true,
                               o->missing == 1 ? SCALE_KEEP : SCALE_NONE, &m->b, &e));
    FERRY_TRY(boost(ctx, o, &e, m, rep));
    *state = m;
    m = NULL;
done:
    ferry_i_examples_clear(&e);
    ferry_i_gbdt_free(m);
    return st;
}

static ferry_status gbdt_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const gbdt_options *o = options;

    return ferry_i_base_fits(ctx, "gbdt", task, (ferry_train)o->train, true);
}

ferry_status ferry_i_gbdt_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                  ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const gbdt *m = state;
    ferry_matrix *x = NULL;
    int64_t *instance = NULL, *own = NULL;
    double *f = NULL, *answer = ferry_i_calloc(m->goal.classes, sizeof *answer);
    uint8_t *mask = NULL;

    FERRY_HAVE(ctx, answer);
    FERRY_TRY(ferry_i_gbc_goal_check(ctx, &m->goal, p));
    FERRY_TRY(ferry_i_base_predict_prior(ctx, &m->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &m->b, d, &x, &instance));
    FERRY_NEW(ctx, own, x->rows);
    FERRY_NEW(ctx, f, x->rows * m->goal.k);
    FERRY_NEW(ctx, mask, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        own[i] = i;
    ferry_view view = {.x = x, .instance = own}, *views = &view;
    FERRY_TRY(ferry_i_gbc_forest_scores(ctx, m->forest, x->rows, &views, &f, mask));
    for (int64_t i = 0; i < x->rows; i++) {
        ferry_i_gbc_goal_answer(&m->goal, f + i * m->goal.k, answer);
        ferry_i_gbc_goal_decide(&m->goal, answer, instance[i], p);
    }
done:
    ferry_i_free(mask);
    ferry_i_free(f);
    ferry_i_free(own);
    ferry_i_free(answer);
    ferry_i_free(instance);
    ferry_i_matrix_free(x);
    return st;
}

ferry_status ferry_i_gbdt_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const gbdt *m = state;

    FERRY_TRY(ferry_i_base_save(ctx, &m->b, dict));
    FERRY_TRY(ferry_i_gbc_goal_save(ctx, &m->goal, dict));
    FERRY_TRY(ferry_i_gbc_forest_save(ctx, m->forest, dict));
done:
    return st;
}

ferry_status ferry_i_gbdt_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    gbdt *m = ferry_i_calloc(1, sizeof *m);

    *state = NULL;
    FERRY_HAVE(ctx, m);
    FERRY_TRY(ferry_i_base_load(ctx, dict, &m->b));
    FERRY_NEED(ctx, m->b.space, FERRY_EDATA, "tensor space.width is missing");
    FERRY_TRY(ferry_i_gbc_goal_load(ctx, dict, &m->goal));
    FERRY_TRY(ferry_i_gbc_forest_load(ctx, dict, &m->forest));
    FERRY_NEED(ctx,
               m->forest->p == 1 && m->forest->k == m->goal.k &&
                   m->forest->cols[0] == ferry_i_space_width(m->b.space),
               FERRY_EDATA, "tensor forest.sizes: %lld views, %lld scores, %lld features",
               (long long)m->forest->p, (long long)m->forest->k,
               (long long)m->forest->cols[0]);
    *state = m;
    m = NULL;
done:
    ferry_i_gbdt_free(m);
    return st;
}

const ferry_method ferry_i_method_gbdt = {
    .name = "gbdt",
    .summary = "gradient boosted decision trees on all features side by side",
    .reference = "Friedman, Greedy Function Approximation: A Gradient Boosting Machine, "
                 "Annals of Statistics 2001",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW,
    .options = gbdt_opts,
    .n_options = FERRY_COUNT(gbdt_opts),
    .options_size = sizeof(gbdt_options),
    .fits = gbdt_fits,
    .fit = gbdt_fit,
    .predict = ferry_i_gbdt_predict,
    .save = ferry_i_gbdt_save,
    .load = ferry_i_gbdt_load,
    .free = ferry_i_gbdt_free,
};
