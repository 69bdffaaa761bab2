/* ridge: least squares with small weights; classes and labels as targets 0 and 1. */
#include <math.h>

#include "methods/baselines/choice.h"
#include "methods/baselines/weights.h"

typedef struct ridge_options {
    int train, scale;
    double lambda;
} ridge_options;

static const ferry_opt ridge_opts[] = {
    BASE_OPT_TRAIN(ridge_options),
    FERRY_OPT_SCALE(ridge_options),
    FERRY_OPT(ridge_options, REAL, lambda, 0, 0, 1e12,
              "weight of |W|^2; 0: 1, or the best of 0.1, 1 and 10 " CHOICE_HELP),
};

/* One column per class or label (0 or 1), or the number. */
static ferry_status targets(ferry_ctx *ctx, const base *b, const examples *e,
                            ferry_block **out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_block_new(ctx, e->n, b->k, out));
    for (int64_t i = 0; i < e->n; i++) {
        double *y = FERRY_ROW(*out, i);
        if (b->goal == FERRY_CLASSIFY)
            y[e->cls[i]] = 1;
        else if (b->goal == FERRY_REGRESS)
            y[0] = e->num[i];
        else
            for (int64_t c = 0; c < b->k; c++)
                y[c] = e->on[i * b->k + c];
    }
done:
    return st;
}

/* A model whose scores are X w + b as they are. A class without instances scores 0; the
 * scores of the others add up to 1, so it never wins. */
static ferry_status plain_model(ferry_ctx *ctx, int64_t k, int64_t d, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = ferry_i_calloc(1, sizeof *m);

    *out = m;
    FERRY_HAVE(ctx, m);
    m->kind = FERRY_LINEAR_SVR;
    m->k = k;
    m->d = d;
    FERRY_NEW(ctx, m->seen, k);
    for (int64_t c = 0; c < k; c++)
        m->seen[c] = 1;
done:
    return st;
}

static ferry_status learn(ferry_ctx *ctx, const base *b, const examples *e, double lambda,
                          ferry_linear **m)
{
    ferry_status st = FERRY_OK;
    ferry_block *y = NULL;

    FERRY_TRY(targets(ctx, b, e, &y));
    FERRY_TRY(plain_model(ctx, b->k, e->x->cols, m));
    FERRY_TRY(ferry_i_ridge_fit(ctx, e->x, y, lambda, &(*m)->w));
done:
    ferry_i_free(y);
    return st;
}

static ferry_status ridge_scores(ferry_ctx *ctx, const void *how, double value,
                                 const base *b, const examples *part, const ferry_matrix *x,
                                 ferry_block *scores)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = NULL;

    (void)how;
    FERRY_TRY(learn(ctx, b, part, value, &m));
    FERRY_TRY(ferry_i_linear_scores(ctx, m, x, scores));
done:
    ferry_i_linear_free(m);
    return st;
}

static ferry_status ridge_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const ridge_options *o = options;
    weights *w = NULL;
    examples e = {0};

    *state = NULL;
    FERRY_TRY(ferry_i_weights_new(ctx, 0.5, &w));
    FERRY_TRY(ferry_i_base_fit(
        ctx, task, &(base_wants){.method = "ridge", .train = o->train, .scale = o->scale},
        &w->b, &e));
    double lambda = o->lambda;
    if (lambda == 0)
        FERRY_TRY(ferry_i_choose(ctx,
                                 &(choice){.method = "ridge",
                                           .b = &w->b,
                                           .e = &e,
                                           .value = {1, 0.1, 10},
                                           .scores = ridge_scores},
                                 &lambda));
    FERRY_TRY(learn(ctx, &w->b, &e, lambda, &w->m));
    ferry_i_diag_real(ctx, "lambda", lambda);
    rep->objective = NAN;
    FERRY_MOVE(*state, w);
done:
    ferry_i_examples_clear(&e);
    ferry_i_weights_free(w);
    return st;
}

static ferry_status ridge_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const ridge_options *o = options;

    return ferry_i_base_fits(ctx, task,
                             &(base_wants){.method = "ridge", .train = o->train});
}

const ferry_method ferry_i_method_ridge = {
    .name = "ridge",
    .summary = "ridge regression; classes and labels by 0/1 targets",
    .reference = "Hoerl and Kennard, Ridge Regression, Technometrics 1970",
    .kind = FERRY_KIND_BASELINE,
    .spreads = true,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(ridge_opts, ridge_options),
    .fits = ridge_fits,
    .fit = ridge_fit,
    .predict = ferry_i_weights_predict,
    FERRY_STATE(weights, ferry_i_weights_file, ferry_i_weights_free),
};
