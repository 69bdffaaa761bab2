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
    FERRY_FREE(instance, z);
    ferry_i_matrix_free(x);
    return st;
}

/* The tensors kernel.x and kernel.gamma are there only with a kernel; they come first, since
 * the number of its rows is what u must have. gamma 0 is the linear kernel. */
void ferry_i_mmltl_file(ferry_io *io, void *model)
{
    ferry_mmltl_model *m = model;

    if (ferry_i_io_has(io, "kernel.gamma", m->x != NULL)) {
        ferry_i_io_numbers(io, "kernel.gamma", 1, &m->gamma);
        FERRY_IO_NEED(io, m->gamma >= 0, "tensor kernel.gamma: %g is below 0", m->gamma);
        ferry_i_io_matrix(io, "kernel.x", &m->x);
    }
    ferry_i_ranked_parts(io, m->x ? m->x->rows : -1, &m->r);
    FERRY_IO_NEED(io, m->r.u || !m->x, "tensor u is missing");
    FERRY_IO_NEED(io, !m->x || m->x->cols == ferry_i_base_width(&m->r.b),
                  "tensor kernel.x has %lld columns, the model %lld features",
                  (long long)m->x->cols, (long long)ferry_i_base_width(&m->r.b));
}
