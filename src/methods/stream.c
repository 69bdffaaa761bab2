/* Streams: a row is checked against what the model knows, then the method sees it or
 * learns from it.
 * Nothing here but the arguments and the state decides what happens: no clock, no random
 * numbers. A log of the calls replays to the same bits. */
#include <math.h>
#include <string.h>

#include "learn/pa.h"
#include "linalg/blas.h"
#include "linalg/columns.h"
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
    /* Counted first: rows come one by one, and nearly none has an infinity. NaN is a
     * missing cell and passes. */
    infinite = ferry_i_row_infinite(x->n, x->value);
    for (int64_t e = 0; infinite > 0 && e < x->n; e++)
        FERRY_NEED(ctx, !isinf(x->value[e]), FERRY_EDATA,
                   "a row has an infinite value in column %lld",
                   (long long)(x->index ? x->index[e] : e));
done:
    return st;
}

/* *cls is -1 while there is no class at all, and the first of equals otherwise. f: k scores, or scratch unless they are
 * `wanted`. */
static ferry_status see_row(ferry_ctx *ctx, ferry_model *m, const ferry_row *x, int64_t k,
                            bool wanted, double *f, int32_t *cls, int32_t *votes)
{
    const ferry_online *o = m->method->online;

    if (!wanted && o->answer) return o->answer(ctx, m->state, x, k, f, cls, votes);
    FERRY_PASS(o->see(ctx, m->state, x, k, f, votes));
    *cls = ferry_i_argmax(k, f);
    return FERRY_OK;
}

/* score may be NULL; up to 64 classes then need no memory from the heap. */
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
    FERRY_TRY(see_row(ctx, model, x, k, score != NULL, f, cls, votes));
done:
    if (f != score && f != few) ferry_i_free(f);
    return st;
}

/* The number of a label; one never met before becomes the last class. A name without weights
 * (no memory for these) is harmless: it scores 0. */
static ferry_status class_of(ferry_ctx *ctx, ferry_model *m, const char *label,
                             int64_t *cls)
{
    *cls = ferry_i_ids_add(m->names, label, NULL);
    if (*cls < 0) return ferry_i_nomem(ctx);
    return *cls < INT32_MAX ? FERRY_OK
                            : ferry_i_fail(ctx, FERRY_EDATA, "there are too many classes");
}

ferry_status ferry_model_learn(ferry_ctx *ctx, ferry_model *model, const ferry_row *x,
                               const char *label, const int32_t *votes)
{
    FERRY_ARGS(ctx, model, x, label);

    int64_t cls = -1;

    FERRY_PASS(check_row(ctx, model, x));
    FERRY_PASS(ferry_i_blas_ready(ctx));
    if (!*label) return ferry_i_fail(ctx, FERRY_EDATA, "a label is empty");
    FERRY_PASS(class_of(ctx, model, label, &cls));
    return model->method->online->learn(ctx, model->state, x, (int32_t)cls, votes);
}

static bool is_array(const ferry_array *x)
{
    return x->rows >= 0 && x->cols >= 0 && x->ld >= x->cols &&
           (x->data || x->rows == 0 || x->cols == 0);
}

/* All rows and labels are looked at before the first is learned. */
static ferry_status check_rows(ferry_ctx *ctx, const ferry_model *m, const ferry_array *x,
                               int64_t n, const char *const *names, const int32_t *label)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(
        ctx, is_array(x), FERRY_EINVAL,
        "ferry_model_learn_rows: not an array: %lld rows, %lld columns, ld %lld, data %s",
        (long long)x->rows, (long long)x->cols, (long long)x->ld,
        x->data ? "given" : "NULL");
    FERRY_NEED(ctx, n >= 0, FERRY_EINVAL,
               "ferry_model_learn_rows: n is %lld, expected how many names there are",
               (long long)n);
    for (int64_t c = 0; c < n; c++)
        FERRY_NEED(ctx, names[c] && *names[c], FERRY_EDATA, "a label is empty");
    for (int64_t i = 0; i < x->rows; i++) {
        FERRY_NEED(ctx, label[i] < n, FERRY_EDATA,
                   "row %lld has label %d, there are %lld names", (long long)i, label[i],
                   (long long)n);
        FERRY_TRY(check_row(ctx, m, &(ferry_row){x->cols, NULL, x->data + i * x->ld}));
    }
done:
    return st;
}

/* Names get their numbers when their first row comes, as they would one by one. */
ferry_status ferry_model_learn_rows(ferry_ctx *ctx, ferry_model *model,
                                    const ferry_array *x, int64_t n,
                                    const char *const *names, const int32_t *label,
                                    int32_t *cls)
{
    FERRY_ARGS(ctx, model, x, names, label);

    ferry_status st = FERRY_OK;
    int64_t *number = NULL, room = 0, k = 0;
    int32_t *votes = NULL, said = -1;
    double *f = NULL;

    FERRY_NEED(ctx, ferry_model_streams(model), FERRY_ENEEDS,
               "%s does not learn from a stream", model->method->name);
    FERRY_TRY(check_rows(ctx, model, x, n, names, label));
    FERRY_TRY(ferry_i_blas_ready(ctx));
    room = ferry_model_class_count(model) + n;
    FERRY_NEW(ctx, f, room);
    FERRY_NEW(ctx, number, n);
    FERRY_NEW(ctx, votes, ferry_model_vote_count(model));
    for (int64_t c = 0; c < n; c++)
        number[c] = -1;
    for (int64_t i = 0; i < x->rows; i++) {
        const ferry_row row = {x->cols, NULL, x->data + i * x->ld};
        k = ferry_model_class_count(model);
        FERRY_TRY(see_row(ctx, model, &row, k, false, f, &said, votes));
        if (cls) cls[i] = said;
        if (label[i] < 0) continue;
        int64_t *c = &number[label[i]];
        if (*c < 0) FERRY_TRY(class_of(ctx, model, names[label[i]], c));
        FERRY_TRY(
            model->method->online->learn(ctx, model->state, &row, (int32_t)*c, votes));
    }
done:
    FERRY_FREE(number, votes, f);
    return st;
}
