/* predictions: what a model of the user's own answered, read from a file (methods/shared/answers.h), so that it stands in
 * the table beside the others and is compared on the same splits. There is nothing to fit: the fit of a repeat takes that
 * repeat's rows. */
#include <math.h>

#include "methods/shared/answers.h"

typedef struct predictions_options {
    const char *file;
    int baseline;
} predictions_options;

static const ferry_opt predictions_opts[] = {
    FERRY_OPT_PATH(
        predictions_options, file,
        "table of the answers: columns repeat, id (ratings: user, item), prediction"),
    FERRY_OPT_YES_NO(
        predictions_options, baseline, "no",
        "whether it counts as a method without transfer, which others must beat"),
};

static ferry_status predictions_fit(ferry_ctx *ctx, const ferry_task *task,
                                    const void *options, void **state, ferry_fit_info *rep)
{
    answers *a = NULL;

    rep->objective = NAN;
    const ferry_status st = answers_read(ctx, ((const predictions_options *)options)->file,
                                         task, (int64_t)ctx->repeat + 1, &a);
    *state = a;
    return st;
}

static ferry_status predictions_fits(ferry_ctx *ctx, const ferry_task *task,
                                     const void *options)
{
    (void)task;
    if (((const predictions_options *)options)->file[0]) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_EINVAL,
                        "predictions needs a file: - predictions: {file: mine.csv}");
}

const ferry_method ferry_i_method_predictions = {
    .name = "predictions",
    .summary = "answers of a model of your own, from a file",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_MULTILABEL | FERRY_RATE,
    .options = predictions_opts,
    .n_options = FERRY_COUNT(predictions_opts),
    .options_size = sizeof(predictions_options),
    .asked = true,
    .fits = predictions_fits,
    .fit = predictions_fit,
    .predict = answers_predict,
    .free = answers_free,
};
