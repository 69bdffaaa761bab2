/* The model of ttl: kept, asked, saved and loaded. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "methods/ttl/ttl.h"

void ferry_i_ttl_free(void *model)
{
    ttl_state *s = model;

    if (!s) return;
    ferry_i_factors_clear(&s->f);
    ferry_i_mixture_clear(&s->mixture);
    ferry_i_carried_clear(&s->carried);
    ferry_i_free(s);
}

/* Mode ferry asks what it settled on, the mixture, or else the regression that carried the
 * labels; mode paper asks the factors. */
ferry_status ferry_i_ttl_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                 ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const ttl_state *s = model;
    ferry_matrix *x = NULL;
    ferry_block g = {p->n, p->k, p->score};

    FERRY_NEED(ctx, p->k == s->f.c, FERRY_EDATA, "the model has %lld classes, not %lld",
               (long long)s->f.c, (long long)p->k);
    if (s->mode == TTL_MODE_PAPER) {
        FERRY_TRY(ferry_i_factors_predict(ctx, &s->f, d, &g));
    } else {
        FERRY_TRY(ferry_i_bridge_rows(ctx, s->f.prepared, d, &x));
        if (s->lengths) ferry_i_rows_to_unit(x);
        if (s->mixture.l)
            ferry_i_mixture_apply(ctx, &s->mixture, x, &g);
        else
            FERRY_TRY(ferry_i_carried_apply(ctx, &s->carried, x, &g));
    }
    ferry_i_winners(&g, p->cls, NULL);
done:
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

enum { MODE, CLASSES, LENGTHS, FACTS };

/* A class that has died out has -inf in log pi, which is no number for a file. */
static ferry_status save_mixture(ferry_ctx *ctx, const ttl_state *s, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t c = s->f.c;
    double *pi = NULL;

    FERRY_NEW(ctx, pi, c);
    for (int64_t k = 0; k < c; k++)
        pi[k] = fmax(s->mixture.log_pi[k], -DBL_MAX);
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "mixture.l", s->mixture.l->rows, c,
                                     s->mixture.l->data));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "mixture.log_pi", 1, c, pi));
done:
    ferry_i_free(pi);
    return st;
}

ferry_status ferry_i_ttl_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const ttl_state *s = model;
    const int64_t facts[FACTS] = {s->mode, s->f.c, s->lengths};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ttl", FACTS, facts));
    FERRY_TRY(ferry_i_prepared_save(ctx, s->f.prepared, dict));
    if (s->mode == TTL_MODE_PAPER)
        FERRY_TRY(ferry_i_factors_save(ctx, &s->f, dict));
    else if (s->mixture.l)
        FERRY_TRY(save_mixture(ctx, s, dict));
    else
        FERRY_TRY(ferry_i_carried_save(ctx, &s->carried, dict));
done:
    return st;
}

static ferry_status load_mixture(ferry_ctx *ctx, const ferry_dict *dict, ttl_state *s)
{
    ferry_status st = FERRY_OK;
    const double *pi = NULL;
    int64_t one = 1;

    FERRY_TRY(ferry_i_dict_block(ctx, dict, "mixture.l",
                                 ferry_i_prepared_width(s->f.prepared), s->f.c,
                                 &s->mixture.l));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "mixture.log_pi", &one, &s->f.c, &pi));
    FERRY_NEW(ctx, s->mixture.log_pi, s->f.c);
    for (int64_t k = 0; k < s->f.c; k++)
        s->mixture.log_pi[k] = pi[k] > -1e300 ? pi[k] : -INFINITY;
done:
    return st;
}

ferry_status ferry_i_ttl_load(ferry_ctx *ctx, const ferry_dict *dict, void **out)
{
    ferry_status st = FERRY_OK;
    ttl_state *s = NULL;
    const int64_t *facts = NULL;
    int64_t n = FACTS;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "ttl", &n, &facts));
    FERRY_NEED(ctx,
               (facts[MODE] == TTL_MODE_FERRY || facts[MODE] == TTL_MODE_PAPER) &&
                   facts[CLASSES] >= 2 && facts[CLASSES] < INT32_MAX,
               FERRY_EDATA, "tensor ttl: mode %lld, %lld classes", (long long)facts[MODE],
               (long long)facts[CLASSES]);
    s->mode = (int)facts[MODE];
    s->f.c = facts[CLASSES];
    s->lengths = facts[LENGTHS] != 0;
    FERRY_TRY(ferry_i_bridge_load(ctx, dict, &s->f.prepared));
    if (s->mode == TTL_MODE_PAPER)
        FERRY_TRY(ferry_i_factors_load(ctx, dict, &s->f));
    else if (ferry_i_dict_has(dict, "mixture.l"))
        FERRY_TRY(load_mixture(ctx, dict, s));
    else
        FERRY_TRY(ferry_i_carried_load(ctx, dict, s->f.c,
                                       ferry_i_prepared_width(s->f.prepared), &s->carried));
    FERRY_MOVE(*out, s);
done:
    ferry_i_ttl_free(s);
    return st;
}
