/* Streams: a row is checked against what the model knows, then the method sees it or
 * learns from it.
 * Nothing here but the arguments and the state decides what happens: no clock, no random
 * numbers. A log of the calls replays to the same bits. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/blas.h"
#include "methods/method.h"

/* A method that can stream may also serve goals that cannot. */
int ferry_model_streams(const ferry_model *model)
{
    if (!model) return 0;
    return model->method->online != NULL &&
           (model->goal == FERRY_CLASSIFY || model->goal == FERRY_STREAM);
}

int ferry_model_watches(const ferry_model *model)
{
    if (!model) return 0;
    const ferry_online *o = model->method->online;

    return o && o->watches && o->watches(model->state);
}

/* Methods for streams have one view; its width is what a row must have. */
int64_t ferry_model_columns(const ferry_model *model)
{
    if (!model) return 0;
    return model->n_views > 0 ? model->views[0]->x->cols : 0;
}

int64_t ferry_model_class_count(const ferry_model *model)
{
    if (!model) return 0;
    return ferry_i_ids_count(model->names);
}

const char *ferry_model_class_at(const ferry_model *model, int64_t i)
{
    if (!model) return NULL;
    return i >= 0 && i < ferry_model_class_count(model) ? ferry_i_ids_at(model->names, i)
                                                        : NULL;
}

int64_t ferry_model_vote_count(const ferry_model *model)
{
    if (!model) return 0;
    const ferry_online *o = model->method->online;

    return o && o->votes ? o->votes(model->state) : 0;
}

/* The row fits the model's only view. */
static ferry_status check_row(ferry_ctx *ctx, const ferry_model *m, const ferry_row *x)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = ferry_model_columns(m);
    int64_t infinite = 0;

    FERRY_NEED(ctx, ferry_model_streams(m), FERRY_ENEEDS, "%s does not learn from a stream",
               m->method->name);
    FERRY_NEED(ctx, x->index || x->n == cols, FERRY_EDATA,
               "a row has %lld values, the model's view '%s' %lld columns", (long long)x->n,
               m->views[0]->name, (long long)cols);
    for (int64_t e = 0; x->index && e < x->n; e++) {
        FERRY_NEED(ctx, x->index[e] >= 0 && x->index[e] < cols, FERRY_EDATA,
                   "a row has column %d, the model's view '%s' 0 to %lld", x->index[e],
                   m->views[0]->name, (long long)cols - 1);
        FERRY_NEED(ctx, e == 0 || x->index[e - 1] < x->index[e], FERRY_EDATA,
                   "a row has column %d after column %d: expected ascending columns",
                   x->index[e], x->index[e - 1]);
    }
    /* Counted without a branch first: rows come one by one, and nearly none has an
     * infinity. NaN is a missing cell and passes. */
    for (int64_t e = 0; e < x->n; e++)
        infinite += fabs(x->value[e]) > DBL_MAX;
    for (int64_t e = 0; infinite > 0 && e < x->n; e++)
        FERRY_NEED(ctx, !isinf(x->value[e]), FERRY_EDATA,
                   "a row has an infinite value in column %lld",
                   (long long)(x->index ? x->index[e] : e));
done:
    return st;
}

/* score may be NULL; up to 64 classes then need no memory from the heap. *cls is -1 while
 * there is no class at all, and the first of equals otherwise. */
ferry_status ferry_model_see(ferry_ctx *ctx, ferry_model *model, const ferry_row *x,
                             int32_t *cls, double *score, int32_t *votes)
{
    FERRY_ARGS(ctx, model, x, cls);

    ferry_status st = FERRY_OK;
    const int64_t k = ferry_model_class_count(model);
    double few[64], *f = score;

    FERRY_TRY(check_row(ctx, model, x));
    FERRY_TRY(ferry_i_blas_ready(ctx));
    if (!f) f = k <= FERRY_COUNT(few) ? few : ferry_i_calloc(k, sizeof *f);
    FERRY_HAVE(ctx, f);
    FERRY_TRY(model->method->online->see(ctx, model->state, x, k, f, votes));
    *cls = k > 0 ? 0 : -1;
    for (int64_t c = 1; c < k; c++)
        if (f[c] > f[*cls]) *cls = (int32_t)c;
done:
    if (f != score && f != few) ferry_i_free(f);
    return st;
}

/* A label never met before becomes the last class. */
ferry_status ferry_model_learn(ferry_ctx *ctx, ferry_model *model, const ferry_row *x,
                               const char *label, const int32_t *votes)
{
    FERRY_ARGS(ctx, model, x, label);

    ferry_status st = FERRY_OK;
    int64_t cls = -1;

    FERRY_TRY(check_row(ctx, model, x));
    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_NEED(ctx, label && *label, FERRY_EDATA, "a label is empty");
    /* A name without weights (no memory for these) is harmless: it scores 0. */
    cls = ferry_i_ids_add(model->names, label, NULL);
    FERRY_HAVE(ctx, cls >= 0);
    FERRY_NEED(ctx, cls < INT32_MAX, FERRY_EDATA, "there are too many classes");
    FERRY_TRY(model->method->online->learn(ctx, model->state, x, (int32_t)cls, votes));
done:
    return st;
}
