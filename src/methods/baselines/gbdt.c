/* gbdt: gradient boosted decision trees on all features side by side; what a method for
 * several views has to beat. semi-gbdt: the same with self-training.
 *
 *   f_t = f_t-1 + nu tree_t,   leaves sum z / (sum c + reg)        (learn/boosting.h)
 *
 * on the labelled instances alone, with logistic loss for classes (one score each, against
 * the rest) and squared loss for numbers. */
#include "methods/baselines/self_training.h"
#include "methods/shared/base.h"
#include "methods/shared/boosted.h"

typedef struct gbdt_options {
    int train, missing;
    boosted_growing grow;
} gbdt_options;

/* Options of a struct T with a member `gbdt`. */
#define GBDT_OPTS(T)                                                                       \
    {"train",                                                                              \
     FERRY_OPT_CHOICE,                                                                     \
     offsetof(T, gbdt.train),                                                              \
     "auto",                                                                               \
     0,                                                                                    \
     0,                                                                                    \
     "auto|source|target|both",                                                            \
     "learn from these labels; auto: the target's if it has some"},                        \
        {"missing",                                                                        \
         FERRY_OPT_CHOICE,                                                                 \
         offsetof(T, gbdt.missing),                                                        \
         "mean",                                                                           \
         0,                                                                                \
         0,                                                                                \
         "mean|tree",                                                                      \
         "cells that are missing: by the mean, or each split decides"},                    \
        BOOSTED_OPTS(T, gbdt.grow)

typedef struct gbdt_table {
    gbdt_options gbdt;
} gbdt_table;

static const ferry_opt gbdt_opts[] = {GBDT_OPTS(gbdt_table)};

typedef struct gbdt {
    base b;
    boosted trees;
} gbdt;

static void gbdt_free(void *state)
{
    gbdt *g = state;

    if (!g) return;
    ferry_i_boosted_clear(&g->trees);
    ferry_i_base_clear(&g->b);
    ferry_i_free(g);
}

/* The examples as a view of n instances, which has all of them. */
static ferry_status boost(ferry_ctx *ctx, const boosted_growing *o, const examples *e,
                          gbdt *m, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    ferry_outputs *out = &m->trees.outputs;
    int64_t *instance = NULL;
    double *y = NULL, loss = 0;
    uint8_t *labelled = NULL;

    FERRY_NEW(ctx, instance, e->n);
    for (int64_t i = 0; i < e->n; i++)
        instance[i] = i;
    ferry_view view = {.x = e->x, .instance = instance}, *views = &view;
    FERRY_TRY(ferry_i_outputs_new(ctx, m->b.goal == FERRY_REGRESS, m->b.k, e->n, e->cls,
                                  e->num, out, &y, &labelled));
    const ferry_objective g = {.n = e->n,
                               .p = 1,
                               .k = out->k,
                               .mask = labelled,
                               .labelled = labelled,
                               .y = y,
                               .logistic = !out->numbers};
    FERRY_TRY(ferry_i_boosted_grow(ctx, "gbdt", o, &g, &views, &m->trees, &loss, rep));
done:
    FERRY_FREE(instance, labelled, y);
    return st;
}

static ferry_status gbdt_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const gbdt_options *o = options;
    gbdt *m = NULL;
    examples e = {0};

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_base_fit(ctx, task,
                               &(base_wants){.method = "gbdt",
                                             .train = o->train,
                                             .scale = FERRY_SCALE_NONE,
                                             .missing = o->missing == 1},
                               &m->b, &e));
    FERRY_TRY(boost(ctx, &o->grow, &e, m, rep));
    FERRY_MOVE(*state, m);
done:
    ferry_i_examples_clear(&e);
    gbdt_free(m);
    return st;
}

static ferry_status gbdt_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const gbdt_options *o = options;

    return ferry_i_base_fits(ctx, task, &(base_wants){.method = "gbdt", .train = o->train});
}

/* Instances without features keep the prior. */
static ferry_status gbdt_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                 ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const gbdt *m = state;
    const int64_t classes = m->trees.outputs.classes;
    ferry_matrix *x = NULL;
    int64_t *instance = NULL, *own = NULL;
    double *answers = NULL;
    uint8_t *viewless = NULL;

    FERRY_TRY(ferry_i_outputs_check(ctx, &m->trees.outputs, p));
    FERRY_TRY(ferry_i_base_predict_prior(ctx, &m->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &m->b, d, &x, &instance));
    FERRY_NEW(ctx, own, x->rows);
    FERRY_NEW(ctx, answers, x->rows * classes);
    FERRY_NEW(ctx, viewless, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        own[i] = i;
    ferry_view view = {.x = x, .instance = own}, *views = &view;
    FERRY_TRY(ferry_i_boosted_answers(ctx, &m->trees, x->rows, &views, answers, viewless));
    for (int64_t i = 0; i < x->rows; i++)
        ferry_i_outputs_decide(&m->trees.outputs, answers + i * classes, instance[i], p);
done:
    FERRY_FREE(viewless, answers, own, instance);
    ferry_i_matrix_free(x);
    return st;
}

static void gbdt_file(ferry_io *io, void *state)
{
    gbdt *m = state;

    ferry_i_base_file(io, true, &m->b);
    ferry_i_boosted_file(io, false, &m->trees);
    FERRY_IO_NEED(io,
                  m->trees.forest->p == 1 &&
                      m->trees.forest->cols[0] == ferry_i_base_width(&m->b),
                  "tensor forest.sizes: %lld views, %lld scores, %lld features",
                  (long long)m->trees.forest->p, (long long)m->trees.forest->k,
                  (long long)m->trees.forest->cols[0]);
}

const ferry_method ferry_i_method_gbdt = {
    .name = "gbdt",
    .summary = "gradient boosted decision trees on all features side by side",
    .reference = "Friedman, Greedy Function Approximation: A Gradient Boosting Machine, "
                 "Annals of Statistics 2001",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(gbdt_opts, gbdt_options),
    .fits = gbdt_fits,
    .fit = gbdt_fit,
    .predict = gbdt_predict,
    FERRY_STATE(gbdt, gbdt_file, gbdt_free),
};

/* The learner's options are handed on as they are. */
typedef struct semi_gbdt_options {
    gbdt_options gbdt;
    self_training self;
} semi_gbdt_options;

static const ferry_opt semi_gbdt_opts[] = {GBDT_OPTS(semi_gbdt_options),
                                           SELF_TRAINING_OPTS(semi_gbdt_options)};

static ferry_status semi_gbdt_fit(ferry_ctx *ctx, const ferry_task *task,
                                  const void *options, void **state, ferry_fit_info *rep)
{
    const semi_gbdt_options *o = options;

    return ferry_i_self_train(ctx, &ferry_i_method_gbdt, task, &o->gbdt, &o->self, state,
                              rep);
}

const ferry_method ferry_i_method_semi_gbdt = {
    .name = "semi-gbdt",
    .summary = "boosted trees that label what they are sure of and learn again",
    .reference = SELF_TRAINING_REFERENCE,
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    FERRY_OPTIONS(semi_gbdt_opts, semi_gbdt_options),
    .fits = ferry_i_self_training_fits,
    .fit = semi_gbdt_fit,
    .predict = gbdt_predict,
    FERRY_STATE(gbdt, gbdt_file, gbdt_free),
};
