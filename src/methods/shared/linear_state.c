/* A linear classifier on the target's features as a model (linear_state.h). */
#include "methods/shared/linear_state.h"

void ferry_i_ttl_linear_free(void *model)
{
    ttl_linear *s = model;

    if (!s) return;
    ferry_i_prepared_free(s->prepared);
    ferry_i_carried_clear(&s->last);
    ferry_i_gp_free(s->gp);
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
    FERRY_TRY(s->gp ? ferry_i_gp_apply(ctx, s->gp, x, &scores)
                    : ferry_i_carried_apply(ctx, &s->last, x, &scores));
    ferry_i_winners(&scores, p->cls, NULL);
done:
    ferry_i_matrix_free(x);
    return st;
}

void ferry_i_ttl_linear_file(ferry_io *io, void *model)
{
    ttl_linear *s = model;

    ferry_i_bridge_classes(io, &s->c);
    ferry_i_bridge_file(io, &s->prepared);
    if (io->st != FERRY_OK) return;
    const int64_t cols = ferry_i_prepared_width(s->prepared);
    if (ferry_i_io_has(io, "gp", s->gp != NULL))
        ferry_i_gp_file(io, s->c, cols, &s->gp);
    else
        ferry_i_carried_file(io, s->c, cols, &s->last);
}
