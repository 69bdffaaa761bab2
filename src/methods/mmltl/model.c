/* M-MLTL: the model at work on new instances, and its file. Without a kernel it is what
 * shared/ranked has; with one, the instances of both domains stand for the features.
 *
 * latent(x) = (U'x - mean) o inv_sd with U d x g, or (coef'k(X, x) - mean) o inv_sd with
 * coef n x g; then f = W latent + constants by the RankSVM, and a label is given where its
 * score passes the threshold t(x) (shared/ranked.h). */
#include "learn/kernel.h"
#include "methods/mmltl/mmltl.h"

void ferry_i_mmltl_model_free(void *model)
{
    ferry_mmltl_model *m = model;

    if (!m) return;
    ferry_i_matrix_free(m->x);
    ferry_i_ranked_clear(&m->r);
    ferry_i_free(m);
}

/* Instances without features keep the prior; the others cost a row of the kernel each. */
ferry_status ferry_i_mmltl_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                   ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const ferry_mmltl_model *m = model;
    ferry_matrix *x = NULL, zm;
    ferry_block *z = NULL;
    int64_t *instance = NULL;

    if (!m->x) return ferry_i_ranked_predict(ctx, &m->r, d, p);
    FERRY_TRY(ferry_i_base_predict_prior(ctx, &m->r.b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &m->r.b, d, &x, &instance));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, m->r.u->k, &z));
    FERRY_TRY(ferry_i_kernel_mul(ctx, m->gamma, m->x, x, m->r.u, z)); /* coef'k(X, x) */
    ferry_i_ranked_standardise(&m->r, z);
    zm = ferry_i_block_matrix(z);
    FERRY_TRY(ferry_i_ranked_label(ctx, &m->r, &zm, NULL, instance, p));
done:
    ferry_i_free(instance);
    ferry_i_block_free(z);
    ferry_i_matrix_free(x);
    return st;
}

/* The tensors kernel.x and kernel.gamma are there only with a kernel. */
ferry_status ferry_i_mmltl_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const ferry_mmltl_model *m = model;

    FERRY_TRY(ferry_i_ranked_put(ctx, &m->r, dict));
    if (!m->x) goto done;
    FERRY_TRY(ferry_i_dict_put_matrix(ctx, dict, "kernel.x", m->x));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "kernel.gamma", 1, 1, &m->gamma));
done:
    return st;
}

/* gamma 0 is the linear kernel. */
static ferry_status load_kernel(ferry_ctx *ctx, const ferry_dict *dict,
                                ferry_mmltl_model *m)
{
    ferry_status st = FERRY_OK;
    const double *gamma = NULL;
    int64_t one = 1;

    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "kernel.gamma", &one, &one, &gamma));
    FERRY_NEED(ctx, gamma[0] >= 0, FERRY_EDATA, "tensor kernel.gamma: %g is below 0",
               gamma[0]);
    m->gamma = gamma[0];
    FERRY_TRY(ferry_i_dict_matrix(ctx, dict, "kernel.x", &m->x));
done:
    return st;
}

/* The kernel first: the number of its rows is what u must have. */
ferry_status ferry_i_mmltl_load(ferry_ctx *ctx, const ferry_dict *dict, void **out)
{
    ferry_status st = FERRY_OK;
    ferry_mmltl_model *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, m, 1);
    if (ferry_i_dict_has(dict, "kernel.gamma")) FERRY_TRY(load_kernel(ctx, dict, m));
    FERRY_TRY(ferry_i_ranked_get(ctx, dict, m->x ? m->x->rows : -1, &m->r));
    FERRY_NEED(ctx, m->r.u, FERRY_EDATA, "tensor u is missing");
    const int64_t d = ferry_i_base_width(&m->r.b);
    FERRY_NEED(ctx, !m->x || m->x->cols == d, FERRY_EDATA,
               "tensor kernel.x has %lld columns, the model %lld features",
               (long long)m->x->cols, (long long)d);
    FERRY_MOVE(*out, m);
done:
    ferry_i_mmltl_model_free(m);
    return st;
}
