/* Linear models for callers that hold a ferry_matrix and a ferry_block (plain_linear.h). */
#include "plain_linear.h"

#include <string.h>

#include "learn/linear.h"

typedef struct fitting {
    const ferry_linear_options *o;
    const ferry_matrix *x;
    labels y;
    ferry_linear *to;
} fitting;

static void fit_body(scope *s, void *arg)
{
    const fitting *f = arg;
    const linear_loss losses[] = {LOSS_HINGE, LOSS_LOGISTIC, LOSS_TUBE};
    const linear_options o = {.loss = losses[f->o->kind],
                              .C = f->o->C,
                              .eps = f->o->eps,
                              .tube = f->o->p,
                              .bias = f->o->bias,
                              .balanced = f->o->balanced};
    const examples e = {.x = matrix_borrow(s, (ferry_matrix *)(uintptr_t)f->x), .y = f->y};
    const linear_model m = linear_fit(s, s, &o, &e);

    for (int64_t c = 0; c < m.k; c++) {
        double *w = f->to->w + c * (m.cols + 1);
        for (int64_t j = 0; j < m.cols; j++)
            w[j] = ROW(m.w, j)[c];
        w[m.cols] = m.b[c];
    }
    memcpy(f->to->seen, m.seen, (size_t)m.k);
    f->to->sets = m.sets;
}

/* The caller owns *out. */
static ferry_status fit(ferry_ctx *ctx, const ferry_linear_options *o,
                        const ferry_matrix *x, labels y, ferry_linear **out)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, m, 1);
    *m = (ferry_linear){.kind = o->kind, .k = y.k, .d = x->cols};
    FERRY_NEW(ctx, m->seen, m->k);
    FERRY_NEW(ctx, m->w, m->k * (m->d + 1));
    FERRY_TRY(scope_run(ctx, fit_body, &(fitting){o, x, y, m}));
    FERRY_MOVE(*out, m);
done:
    plain_linear_free(m);
    return st;
}

ferry_status plain_linear_fit(ferry_ctx *ctx, const ferry_linear_options *o,
                              const ferry_matrix *x, int64_t k, const int32_t *y,
                              const double *target, ferry_linear **out)
{
    const bool numbers = o->kind == FERRY_LINEAR_SVR;

    return fit(ctx, o, x,
               (labels){.goal = numbers ? FERRY_REGRESS : FERRY_CLASSIFY,
                        .k = k,
                        .cls = numbers ? NULL : y,
                        .num = numbers ? target : NULL},
               out);
}

ferry_status plain_linear_fit_sets(ferry_ctx *ctx, const ferry_linear_options *o,
                                   const ferry_matrix *x, int64_t k, const uint8_t *on,
                                   ferry_linear **out)
{
    return fit(ctx, o, x, (labels){.goal = FERRY_MULTILABEL, .k = k, .on = on}, out);
}

/* W is turned into a block (d x k) for one product with X; the constants are added after
 * it, so that a sparse X needs no extra column. O(nnz k). */
static ferry_status apply(ferry_ctx *ctx, const ferry_matrix *x, int64_t k, const double *w,
                          ferry_block *out)
{
    ferry_status st = FERRY_OK;
    const int64_t d = x->cols;
    ferry_block *b = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, d, k, &b));
    for (int64_t f = 0; f < d; f++)
        for (int64_t c = 0; c < k; c++)
            FERRY_ROW(b, f)[c] = w[c * (d + 1) + f];
    ferry_e(ctx)->mul(ctx, 1, x, b, 0, out);
    for (int64_t i = 0; i < out->rows; i++)
        for (int64_t c = 0; c < k; c++)
            FERRY_ROW(out, i)[c] += w[c * (d + 1) + d];
done:
    ferry_i_free(b);
    return st;
}

ferry_status plain_linear_scores(ferry_ctx *ctx, const ferry_linear *m,
                                 const ferry_matrix *x, ferry_block *scores)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(apply(ctx, x, m->k, m->w, scores));
    for (int64_t i = 0; i < scores->rows; i++)
        linear_decide(m->kind == FERRY_LINEAR_LOGREG, m->sets, m->k, m->seen,
                      FERRY_ROW(scores, i));
done:
    return st;
}

void plain_linear_free(ferry_linear *m)
{
    if (!m) return;
    FERRY_FREE(m->seen, m->w, m);
}
