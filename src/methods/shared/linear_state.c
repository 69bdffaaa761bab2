/* A linear classifier on the target's features as a model (linear_state.h). */
#include "methods/shared/linear_state.h"

#include <string.h>

void ferry_i_ttl_linear_free(void *model)
{
    ttl_linear *s = model;

    if (!s) return;
    ferry_i_prepared_free(s->prepared);
    ferry_i_carried_clear(&s->last);
    ferry_i_free(s);
}

ferry_status ferry_i_ttl_linear_new(ferry_ctx *ctx, ttl_bridge *b,
                                    const ttl_carried *carried, void **out)
{
    ferry_status st = FERRY_OK;
    ttl_linear *s = ferry_i_calloc(1, sizeof *s);

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    s->c = b->c;
    FERRY_TRY(ferry_i_carried_on_target(ctx, carried, b, &s->last));
    s->prepared = ferry_i_bridge_release(b);
    FERRY_MOVE(*out, s);
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
    FERRY_TRY(ferry_i_bridge_rows(ctx, s->prepared, d, &x));
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
    FERRY_TRY(ferry_i_prepared_save(ctx, s->prepared, dict));
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
    FERRY_TRY(ferry_i_bridge_load(ctx, dict, &s->prepared));
    FERRY_TRY(ferry_i_carried_load(ctx, dict, s->c, ferry_i_prepared_width(s->prepared),
                                   &s->last));
    FERRY_MOVE(*out, s);
done:
    ferry_i_ttl_linear_free(s);
    return st;
}
