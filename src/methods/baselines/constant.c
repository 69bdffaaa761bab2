/* majority and mean: the same prediction for every instance. What any method has to
 * beat. */
#include <math.h>

#include "methods/shared/base.h"

typedef struct constant_options {
    int train;
} constant_options;

static const ferry_opt constant_opts[] = {
    BASE_OPT_TRAIN(constant_options),
};

static void constant_free(void *state)
{
    base *b = state;

    if (!b) return;
    ferry_i_base_clear(b);
    ferry_i_free(b);
}

static ferry_status constant_fit(ferry_ctx *ctx, const char *method, const ferry_task *task,
                                 const void *options, void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const constant_options *o = options;
    base *b = NULL;
    examples e = {0};

    *state = NULL;
    FERRY_NEW(ctx, b, 1);
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = method, .train = o->train, .no_features = true},
        b, &e));
    rep->objective = NAN;
    FERRY_MOVE(*state, b);
done:
    ferry_i_examples_clear(&e);
    constant_free(b);
    return st;
}

static ferry_status majority_fit(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options, void **state, ferry_fit_info *rep)
{
    return constant_fit(ctx, "majority", task, options, state, rep);
}

static ferry_status label_prior_fit(ferry_ctx *ctx, const ferry_task *task,
                                    const void *options, void **state, ferry_fit_info *rep)
{
    return constant_fit(ctx, "label-prior", task, options, state, rep);
}

static ferry_status mean_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_fit_info *rep)
{
    return constant_fit(ctx, "mean", task, options, state, rep);
}

static ferry_status majority_fits(ferry_ctx *ctx, const ferry_task *task,
                                  const void *options)
{
    const constant_options *o = options;

    return ferry_i_base_fits(
        ctx, task,
        &(base_wants){.method = "majority", .train = o->train, .no_features = true});
}

static ferry_status label_prior_fits(ferry_ctx *ctx, const ferry_task *task,
                                     const void *options)
{
    const constant_options *o = options;

    return ferry_i_base_fits(
        ctx, task,
        &(base_wants){.method = "label-prior", .train = o->train, .no_features = true});
}

static ferry_status mean_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const constant_options *o = options;

    return ferry_i_base_fits(
        ctx, task, &(base_wants){.method = "mean", .train = o->train, .no_features = true});
}

static ferry_status constant_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    (void)d;
    return ferry_i_base_predict_prior(ctx, state, p);
}

static void constant_file(ferry_io *io, void *state)
{
    ferry_i_base_file(io, false, state);
}

const ferry_method ferry_i_method_majority = {
    .name = "majority",
    .summary = "the most frequent class for every instance; labels by how often they occur",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_CLASSIFY | FERRY_MULTILABEL,
    FERRY_OPTIONS(constant_opts, constant_options),
    .fits = majority_fits,
    .fit = majority_fit,
    .predict = constant_predict,
    FERRY_STATE(base, constant_file, constant_free),
};

/* majority under the name that multi-label papers have for it, as a control. */
const ferry_method ferry_i_method_label_prior = {
    .name = "label-prior",
    .summary = "labels by how often they occur, whatever the features",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_MULTILABEL,
    FERRY_OPTIONS(constant_opts, constant_options),
    .fits = label_prior_fits,
    .fit = label_prior_fit,
    .predict = constant_predict,
    FERRY_STATE(base, constant_file, constant_free),
};

const ferry_method ferry_i_method_mean = {
    .name = "mean",
    .summary = "the mean of the known numbers for every instance",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_REGRESS,
    FERRY_OPTIONS(constant_opts, constant_options),
    .fits = mean_fits,
    .fit = mean_fit,
    .predict = constant_predict,
    FERRY_STATE(base, constant_file, constant_free),
};
