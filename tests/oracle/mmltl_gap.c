/* M-MLTL: a certificate that (U, V) is the minimum over all ranks, not only a stationary
 * point of its own. */
#include <math.h>

#include "oracle.h"

ferry_status oracle_mmltl_gap(ferry_ctx *ctx, const ferry_mmltl *p, const ferry_block *u,
                              const ferry_block *v, double *gap)
{
    ferry_status st = FERRY_OK;
    ferry_block *e = NULL;
    ferry_small *row = NULL;
    const double delta2 = ferry_e(ctx)->dot(ctx, p->delta, p->delta);
    /* A^-1/2 = g1^-1/2 (I - c delta delta'), c = (1 - (g1/a)^1/2) / |delta|^2 */
    const double a = p->g1 + p->mu * delta2;
    const double c = delta2 > 0 ? (1 - sqrt(p->g1 / a)) / delta2 : 0;

    FERRY_TRY(ferry_i_block_new(ctx, p->g->rows, p->g->k, &e));
    FERRY_TRY(ferry_i_small_new(ctx, p->g->k, 1, &row));
    for (int64_t i = 0; i < e->rows; i++) /* G - U V' */
        for (int64_t j = 0; j < e->k; j++) {
            FERRY_ROW(e, i)[j] = FERRY_ROW(p->g, i)[j];
            for (int64_t l = 0; l < u->k; l++)
                FERRY_ROW(e, i)[j] -= FERRY_ROW(u, i)[l] * FERRY_ROW(v, j)[l];
        }
    ferry_e(ctx)->gram(ctx, e, p->delta, row);
    ferry_e(ctx)->bmul(ctx, -c, p->delta, row, true, 1, e);
    FERRY_TRY(ferry_i_mmltl_sigma(ctx, e, gap));
    *gap = *gap / sqrt(p->g1) - sqrt(p->g2);
done:
    FERRY_FREE(row, e);
    return st;
}
