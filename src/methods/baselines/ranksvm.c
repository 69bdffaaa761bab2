/* ranksvm: RankSVM on the features as they are (the BL of the M-MLTL paper). With center:
 * per-domain every domain's own mean is taken off first, the plainest way to undo a shift
 * between the domains. */

#include "methods/shared/ranked.h"

typedef enum centring { CENTER_NONE, CENTER_DOMAIN } centring;

typedef struct ranksvm_options {
    int train, scale, center;
    double C, rank_tol;
    int64_t epochs;
} ranksvm_options;

static const ferry_opt ranksvm_opts[] = {
    BASE_OPT_TRAIN(ranksvm_options),
    FERRY_OPT_SCALE(ranksvm_options),
    FERRY_OPT_ONE_OF(ranksvm_options, center, "none|per-domain", "none",
                     "take off the mean of the instances learned from, and the target's"),
    RANKED_OPTS(ranksvm_options),
};

/* The mean of all target instances that have features. */
static ferry_status target_mean(ferry_ctx *ctx, const ferry_task *task, ranked *s)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL;
    ferry_matrix *x = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, target, &x, &instance));
    FERRY_NEW(ctx, s->mean, x->cols);
    FERRY_TRY(ferry_i_column_means(ctx, x, s->mean));
done:
    ferry_i_free(instance);
    ferry_i_matrix_free(x);
    return st;
}

static ferry_status ranksvm_fits(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options)
{
    ferry_status st = FERRY_OK;
    const ranksvm_options *o = options;

    FERRY_NEED(ctx, o->center == CENTER_NONE || o->train != TRAIN_BOTH, FERRY_ENEEDS,
               "ranksvm center=per-domain learns from the source or the target, not "
               "train=both");
    FERRY_TRY(ferry_i_base_fits(ctx, task,
                                &(base_wants){.method = "ranksvm", .train = o->train}));
done:
    return st;
}

static ferry_status ranksvm_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const ranksvm_options *o = options;
    const ferry_ranksvm_options learner = RANKED_LEARNER(o);
    examples e = {0};
    double *mean = NULL;
    ranked *s = NULL;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = "ranksvm", .train = o->train, .scale = o->scale},
        &s->b, &e));
    if (o->center == CENTER_DOMAIN) {
        FERRY_NEW(ctx, mean, e.x->cols);
        FERRY_TRY(ferry_i_column_means(ctx, e.x, mean));
        FERRY_TRY(target_mean(ctx, task, s));
    }
    FERRY_TRY(ferry_i_ranked_fit(ctx, &learner, e.x, mean, e.on, false, s, rep));
    FERRY_MOVE(*out, s);
done:
    ferry_i_free(mean);
    ferry_i_examples_clear(&e);
    ferry_i_ranked_free(s);
    return st;
}

const ferry_method ferry_i_method_ranksvm = {
    .name = "ranksvm",
    .summary = "linear scores that put an instance's labels before the others",
    .reference = "Elisseeff and Weston, A Kernel Method for Multi-Labelled Classification, "
                 "NIPS 2001",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(ranksvm_opts, ranksvm_options),
    .fits = ranksvm_fits,
    .fit = ranksvm_fit,
    .predict = ferry_i_ranked_predict,
    FERRY_STATE(ranked, ferry_i_ranked_file, ferry_i_ranked_free),
};
