/* svm and logreg: linear models on the features as they are. What a transfer
 * method has to beat. semi-svm: the first with self-training. */
#include <math.h>

#include "methods/baselines/choice.h"
#include "methods/baselines/linear.h"
#include "methods/baselines/self_training.h"

typedef struct svm_table {
    svm_options svm;
} svm_table;

static const ferry_opt svm_opts[] = {
    SVM_OPTS(svm_table, 0, 0, "; 0: 1, or the best of 0.1, 1 and 10 " CHOICE_HELP)};

typedef struct logreg_options {
    int train, scale;
    double C, eps;
    int bias, balanced;
} logreg_options;

static const ferry_opt logreg_opts[] = {
    BASE_OPT_TRAIN(logreg_options),
    FERRY_OPT_SCALE(logreg_options),
    FERRY_OPT(
        logreg_options, REAL, C, 0, 0, 1e9,
        "cost of errors against small weights; 0: 10 for classes, or the best of 1, 10 and 100 " CHOICE_HELP
        "; 1 for label sets"),
    FERRY_OPT(logreg_options, REAL, eps, 1e-2, 1e-12, 1, "stopping tolerance"),
    FERRY_OPT_YES_NO(logreg_options, bias, "yes", "learn a constant term"),
    FERRY_OPT_YES_NO(logreg_options, balanced, "no", "weigh classes by n / (k n_c)"),
};

ferry_status ferry_i_choice_linear(ferry_ctx *ctx, const void *how, double value,
                                   const base *b, const examples *part,
                                   const ferry_matrix *x, ferry_block *scores)
{
    ferry_status st = FERRY_OK;
    ferry_linear_options o = *(const ferry_linear_options *)how;
    ferry_linear *m = NULL;

    o.C = value;
    FERRY_TRY(ferry_i_linear_fit(ctx, &o, part->x, b->k, part->cls, part->num, &m));
    FERRY_TRY(ferry_i_linear_scores(ctx, m, x, scores));
done:
    ferry_i_linear_free(m);
    return st;
}

/* Fit either, with C or (0) a choice around `usual`; `least` is the score from which on a
 * label counts as on. */
static ferry_status fit_linear(ferry_ctx *ctx, const char *method, const ferry_task *task,
                               int train, int scale, ferry_linear_options *o, double usual,
                               double least, void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    weights *w = NULL;
    examples e = {0};
    double mean = 0;

    *state = NULL;
    FERRY_TRY(ferry_i_weights_new(ctx, least, &w));
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = method, .train = train, .scale = scale}, &w->b,
        &e));
    /* The solver holds the bias small like any weight: numbers far from 0 are centred. */
    if (task->goal == FERRY_REGRESS && o->bias) mean = w->b.prior[0];
    for (int64_t i = 0; task->goal == FERRY_REGRESS && i < e.n; i++)
        e.num[i] -= mean;
    if (o->C == 0)
        FERRY_TRY(ferry_i_choose(ctx,
                                 &(choice){.method = method,
                                           .b = &w->b,
                                           .e = &e,
                                           .value = {usual, 0.1 * usual, 10 * usual},
                                           .scores = ferry_i_choice_linear,
                                           .how = o},
                                 &o->C));
    if (task->goal == FERRY_MULTILABEL)
        FERRY_TRY(ferry_i_linear_fit_sets(ctx, o, e.x, w->b.k, e.on, &w->m));
    else
        FERRY_TRY(ferry_i_linear_fit(ctx, o, e.x, w->b.k, e.cls, e.num, &w->m));
    if (mean != 0) w->m->w[w->m->d] += mean;
    ferry_i_diag_real(ctx, "C", o->C);
    rep->objective = NAN;
    FERRY_MOVE(*state, w);
done:
    ferry_i_examples_clear(&e);
    ferry_i_weights_free(w);
    return st;
}

static ferry_status svm_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_fit_info *rep)
{
    const svm_options *o = options;
    ferry_linear_options l = {.kind = task->goal == FERRY_REGRESS ? FERRY_LINEAR_SVR
                                                                  : FERRY_LINEAR_SVM,
                              .C = o->C,
                              .eps = o->eps,
                              .p = o->tube,
                              .bias = o->bias,
                              .balanced = o->balanced};

    return fit_linear(ctx, "svm", task, o->train, o->scale, &l, 1, 0, state, rep);
}

static ferry_status svm_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const svm_options *o = options;

    return ferry_i_base_fits(ctx, task, &(base_wants){.method = "svm", .train = o->train});
}

static ferry_status logreg_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                               void **state, ferry_fit_info *rep)
{
    const logreg_options *o = options;
    /* what did best on 21 families of data scaled by auto, with few labels; label sets are
     * as many separate problems, each with more to learn from */
    const double usual = task->goal == FERRY_MULTILABEL ? 1 : 10;
    ferry_linear_options l = {.kind = FERRY_LINEAR_LOGREG,
                              .C = o->C,
                              .eps = o->eps,
                              .bias = o->bias,
                              .balanced = o->balanced};

    return fit_linear(ctx, "logreg", task, o->train, o->scale, &l, usual, 0.5, state, rep);
}

static ferry_status logreg_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const logreg_options *o = options;

    return ferry_i_base_fits(ctx, task,
                             &(base_wants){.method = "logreg", .train = o->train});
}

#define LIBLINEAR                                                                          \
    "Fan et al., LIBLINEAR: A Library for Large Linear Classification, JMLR 2008"

const ferry_method ferry_i_method_svm = {
    .name = "svm",
    .summary = "linear support vector machine, one against the rest; regression by SVR",
    .reference = LIBLINEAR,
    .kind = FERRY_KIND_BASELINE,
    .spreads = true,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(svm_opts, svm_options),
    .fits = svm_fits,
    .fit = svm_fit,
    .predict = ferry_i_weights_predict,
    FERRY_STATE(weights, ferry_i_weights_file, ferry_i_weights_free),
};

const ferry_method ferry_i_method_logreg = {
    .name = "logreg",
    .summary = "logistic regression, one against the rest",
    .reference = LIBLINEAR,
    .kind = FERRY_KIND_BASELINE,
    .spreads = true,
    .goals = FERRY_CLASSIFY | FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(logreg_opts, logreg_options),
    .fits = logreg_fits,
    .fit = logreg_fit,
    .predict = ferry_i_weights_predict,
    FERRY_STATE(weights, ferry_i_weights_file, ferry_i_weights_free),
};

typedef struct semi_svm_options {
    svm_options svm;
    self_training self;
} semi_svm_options;

static const ferry_opt semi_svm_opts[] = {SVM_OPTS(semi_svm_options, 1, 1e-9, ""),
                                          SELF_TRAINING_OPTS(semi_svm_options)};

static ferry_status semi_svm_fit(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options, void **state, ferry_fit_info *rep)
{
    const semi_svm_options *o = options;

    return ferry_i_self_train(ctx, &ferry_i_method_svm, task, &o->svm, &o->self, state,
                              rep);
}

const ferry_method ferry_i_method_semi_svm = {
    .name = "semi-svm",
    .summary =
        "linear support vector machine that labels what it is sure of and learns again",
    .reference = SELF_TRAINING_REFERENCE,
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_TARGET_VIEW | FERRY_NEED_TARGET_LABELS,
    FERRY_OPTIONS(semi_svm_opts, semi_svm_options),
    .fits = ferry_i_self_training_fits,
    .fit = semi_svm_fit,
    .predict = ferry_i_weights_predict,
    FERRY_STATE(weights, ferry_i_weights_file, ferry_i_weights_free),
};
