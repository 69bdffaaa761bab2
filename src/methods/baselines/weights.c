/* Baselines whose model is one row of weights per class, label or number. */
#include "methods/baselines/weights.h"

#include <string.h>

ferry_status ferry_i_weights_new(ferry_ctx *ctx, double least, weights **out)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, *out, 1);
    (*out)->least = least;
done:
    return st;
}

void ferry_i_weights_free(void *state)
{
    weights *w = state;

    if (!w) return;
    ferry_i_linear_free(w->m);
    ferry_i_base_clear(&w->b);
    ferry_i_free(w);
}

ferry_status ferry_i_weights_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const weights *w = state;
    ferry_matrix *x = NULL;
    ferry_block *scores = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &w->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &w->b, d, &x, &instance));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, w->b.k, &scores));
    FERRY_TRY(ferry_i_linear_scores(ctx, w->m, x, scores));
    ferry_i_base_predict_scores(&w->b, scores, instance, w->least, p);
done:
    ferry_i_free(instance);
    ferry_i_block_free(scores);
    ferry_i_matrix_free(x);
    return st;
}

ferry_status ferry_i_weights_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const weights *w = state;
    const int64_t form[] = {w->m->kind, w->m->sets};

    FERRY_TRY(ferry_i_base_save(ctx, &w->b, dict));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "form", 2, form));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "least", 1, 1, &w->least));
    FERRY_TRY(ferry_i_dict_put_bytes(ctx, dict, "seen", w->m->k, w->m->seen));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "w", w->m->k, w->m->d + 1, w->m->w));
done:
    return st;
}

/* The linear model: k rows of d weights and the bias, as the features say. */
static ferry_status load_linear(ferry_ctx *ctx, const ferry_dict *dict, weights *w)
{
    ferry_status st = FERRY_OK;
    const int64_t *form = NULL;
    const uint8_t *seen = NULL;
    const double *data = NULL;
    int64_t two = 2, k = w->b.k, d1 = 0;
    ferry_linear *m = NULL;

    d1 = ferry_i_base_width(&w->b) + 1;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "form", &two, &form));
    FERRY_TRY(ferry_i_dict_bytes(ctx, dict, "seen", &k, &seen));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "w", &k, &d1, &data));
    FERRY_NEED(ctx, 0 <= form[0] && form[0] <= FERRY_LINEAR_SVR, FERRY_EDATA,
               "tensor form: %lld is no kind of linear model", (long long)form[0]);
    m = w->m = ferry_i_calloc(1, sizeof *m);
    FERRY_HAVE(ctx, m);
    m->kind = (ferry_linear_kind)form[0];
    m->sets = form[1] != 0;
    m->k = k;
    m->d = d1 - 1;
    FERRY_NEW(ctx, m->seen, k);
    FERRY_NEW(ctx, m->w, k * d1);
    memcpy(m->seen, seen, (size_t)k);
    memcpy(m->w, data, (size_t)(k * d1) * sizeof *m->w);
done:
    return st;
}

ferry_status ferry_i_weights_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    const double *least = NULL;
    int64_t one = 1;
    weights *w = NULL;

    *state = NULL;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "least", &one, &one, &least));
    FERRY_TRY(ferry_i_weights_new(ctx, least[0], &w));
    FERRY_TRY(ferry_i_base_load(ctx, dict, true, &w->b));
    FERRY_TRY(load_linear(ctx, dict, w));
    FERRY_MOVE(*state, w);
done:
    ferry_i_weights_free(w);
    return st;
}
