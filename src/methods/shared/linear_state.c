/* A linear classifier on the target's features as a model (linear_state.h). */
#include "methods/shared/linear_state.h"

#include <string.h>

void ferry_i_ttl_linear_free(void *model)
{
    ttl_linear *s = model;

    if (!s) return;
    ferry_i_frame_free(s->frame);
    ferry_i_carried_clear(&s->last);
    ferry_i_free(s);
}

ferry_status ferry_i_ttl_linear_new(ferry_ctx *ctx, const ttl_bridge *b,
                                    const ttl_carried *carried, void **out)
{
    ferry_status st = FERRY_OK;
    ttl_linear *s = ferry_i_calloc(1, sizeof *s);

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    s->c = b->c;
    FERRY_TRY(ferry_i_frame_new(ctx, b, &s->frame));
    FERRY_TRY(ferry_i_carried_frame(ctx, carried, s->frame, b, &s->last));
    *out = s;
    s = NULL;
done:
    ferry_i_ttl_linear_free(s);
    return st;
}

ferry_status ferry_i_ttl_linear_predict(ferry_ctx *ctx, const void *model,
                                        const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const ttl_linear *s = model;
    ferry_matrix *x = NULL;
    ferry_block scores = {p->n, p->k, p->score};

    FERRY_NEED(ctx, p->k == s->c, FERRY_EDATA, "the model has %lld classes, not %lld",
               (long long)s->c, (long long)p->k);
    FERRY_TRY(ferry_i_frame_rows(ctx, s->frame, d, &x));
    FERRY_TRY(ferry_i_carried_apply(ctx, &s->last, x, &scores));
    ferry_i_winners(&scores, p->cls, NULL);
done:
    ferry_i_matrix_free(x);
    return st;
}

ferry_status ferry_i_ttl_linear_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const ttl_linear *s = model;

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "classes", 1, &s->c));
    FERRY_TRY(ferry_i_frame_save(ctx, s->frame, dict));
    FERRY_TRY(ferry_i_carried_save(ctx, &s->last, dict));
done:
    return st;
}

ferry_status ferry_i_ttl_linear_load(ferry_ctx *ctx, const ferry_dict *dict, void **out)
{
    ferry_status st = FERRY_OK;
    ttl_linear *s = ferry_i_calloc(1, sizeof *s);
    const int64_t *c = NULL;
    int64_t one = 1;

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "classes", &one, &c));
    FERRY_NEED(ctx, *c >= 2 && *c < INT32_MAX, FERRY_EDATA, "tensor classes is %lld",
               (long long)*c);
    s->c = *c;
    FERRY_TRY(ferry_i_frame_load(ctx, dict, &s->frame));
    FERRY_TRY(ferry_i_carried_load(ctx, dict, s->c, s->frame->cols, &s->last));
    *out = s;
    s = NULL;
done:
    ferry_i_ttl_linear_free(s);
    return st;
}

ferry_status ferry_i_bridge_on_frame(ferry_ctx *ctx, const ttl_bridge *b,
                                     const ttl_frame *f, const ferry_matrix *x,
                                     ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int32_t *map = ferry_i_calloc(b->cols, sizeof *map);
    int64_t *rows = ferry_i_calloc(x->rows, sizeof *rows);

    if (!map || !rows) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t j = 0; j < b->cols; j++)
        map[j] = -1;
    for (int64_t j = 0; j < f->cols; j++)
        map[ferry_i_frame_column(f, b, j)] = (int32_t)j;
    for (int64_t i = 0; i < x->rows; i++)
        rows[i] = i;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, x->rows, rows, f->cols, map, out));
done:
    ferry_i_free(map);
    ferry_i_free(rows);
    return st;
}
