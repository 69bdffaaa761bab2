/* ranksvm: RankSVM on the features as they are (the BL of the M-MLTL paper). With center:
 * per-domain every domain's own mean is taken off first, the plainest way to undo a shift
 * between the domains. */
#include <float.h>

#include "methods/shared/ranked.h"

typedef enum centring { CENTER_NONE, CENTER_DOMAIN } centring;

typedef struct ranksvm_options {
    int train, scale, center;
    double C;
    int64_t epochs;
} ranksvm_options;

static const ferry_opt ranksvm_opts[] = {
    BASE_OPT_TRAIN(ranksvm_options),
    RANKED_OPT_SCALE(ranksvm_options),
    FERRY_OPT_ONE_OF(ranksvm_options, center, "none|per-domain", "none",
                     "take off the mean of the instances learned from, and the target's"),
    RANKED_OPTS(ranksvm_options),
};

typedef struct state {
    base b;
    ferry_ranksvm *r;
    double *mean; /* of the target, or NULL */
} state;

static void ranksvm_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_ranksvm_free(s->r);
    ferry_i_free(s->mean);
    ferry_i_base_clear(&s->b);
    ferry_i_free(s);
}

/* The mean of all target instances that have features. */
static ferry_status target_mean(ferry_ctx *ctx, const ferry_task *task, state *s)
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
    FERRY_TRY(ferry_i_base_fits(ctx, "ranksvm", task, (ferry_train)o->train, true));
done:
    return st;
}

static ferry_status ranksvm_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **out, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const ranksvm_options *o = options;
    const ferry_ranksvm_options learner = {.C = o->C, .epochs = o->epochs, .scale = true};
    examples e = {0};
    double *mean = NULL;
    state *s = NULL;
    bool finish = false;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_base_fit(ctx, "ranksvm", task, (ferry_train)o->train, true,
                               (ferry_scaling)o->scale, &s->b, &e));
    if (o->center == CENTER_DOMAIN) {
        FERRY_NEW(ctx, mean, e.x->cols);
        FERRY_TRY(ferry_i_column_means(ctx, e.x, mean));
        FERRY_TRY(target_mean(ctx, task, s));
    }
    FERRY_TRY(ferry_i_ranksvm_fit(ctx, &learner, e.x, mean, s->b.k, e.on, &s->r, &finish));
    ferry_i_ranked_report(ctx, s->r, finish, rep);
    *out = s;
    s = NULL;
done:
    ferry_i_free(mean);
    ferry_i_examples_clear(&e);
    ranksvm_free(s);
    return st;
}

static ferry_status ranksvm_predict(ferry_ctx *ctx, const void *model,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    ferry_matrix *x = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &s->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &x, &instance));
    FERRY_TRY(ferry_i_ranked_predict(ctx, s->r, x, s->mean, instance, p));
done:
    ferry_i_free(instance);
    ferry_i_matrix_free(x);
    return st;
}

static ferry_status ranksvm_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const state *s = model;

    FERRY_TRY(ferry_i_base_save(ctx, &s->b, dict));
    FERRY_TRY(ferry_i_ranked_save(ctx, s->r, dict));
    if (s->mean)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "target.mean", 1, s->r->d, s->mean));
done:
    return st;
}

static ferry_status ranksvm_load(ferry_ctx *ctx, const ferry_dict *dict, void **out)
{
    ferry_status st = FERRY_OK;
    int64_t one = 1, d = 0;
    state *s = ferry_i_calloc(1, sizeof *s);

    *out = NULL;
    FERRY_HAVE(ctx, s);
    FERRY_TRY(ferry_i_ranked_base_load(ctx, dict, &s->b, &d));
    FERRY_TRY(ferry_i_ranked_load(ctx, dict, s->b.k, d, &s->r));
    if (ferry_i_dict_has(dict, "target.mean"))
        FERRY_TRY(ferry_i_ranked_reals(ctx, dict, "target.mean", &one, &d, &s->mean));
    *out = s;
    s = NULL;
done:
    ranksvm_free(s);
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
    .options = ranksvm_opts,
    .n_options = FERRY_COUNT(ranksvm_opts),
    .options_size = sizeof(ranksvm_options),
    .fits = ranksvm_fits,
    .fit = ranksvm_fit,
    .predict = ranksvm_predict,
    .save = ranksvm_save,
    .load = ranksvm_load,
    .free = ranksvm_free,
};
