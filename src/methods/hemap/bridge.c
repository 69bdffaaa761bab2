/* Outputs that differ: from the source's labels v to the target's y (thesis 5.4.3), and the
 * weighted ridge regression that learns from both. */
#include <math.h>
#include <string.h>

#include "methods/hemap/hemap.h"

void ferry_i_hemap_outputs(const ferry_block *pys, const int32_t *v, ferry_block *out)
{
    const int64_t ky = out->k;

    memset(out->data, 0, (size_t)(out->rows * ky) * sizeof *out->data);
    for (int64_t label = 0; label < out->rows; label++) {
        double *p = FERRY_ROW(out, label);
        int64_t n = 0;
        for (int64_t i = 0; i < pys->rows; i++) {
            if (v[i] != label) continue;
            n++;
            for (int64_t y = 0; y < ky; y++)
                p[y] += FERRY_ROW(pys, i)[y];
        }
        for (int64_t y = 0; y < ky; y++)
            p[y] = n > 0 ? p[y] / (double)n : 1 / (double)ky;
    }
}

void ferry_i_hemap_bridge(const ferry_block *pvx, const ferry_block *pyv, ferry_block *pyx)
{
    memset(pyx->data, 0, (size_t)(pyx->rows * pyx->k) * sizeof *pyx->data);
    for (int64_t i = 0; i < pvx->rows; i++)
        for (int64_t v = 0; v < pvx->k; v++)
            for (int64_t y = 0; y < pyx->k; y++)
                FERRY_ROW(pyx, i)[y] += FERRY_ROW(pvx, i)[v] * FERRY_ROW(pyv, v)[y];
}

void ferry_i_hemap_line(int64_t n, const double *v, const ferry_block *y, double *a,
                        double *c)
{
    double mv = 0, my = 0, vv = 0, vy = 0, count = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        count++;
        mv += (v[i] - mv) / count;
        my += (FERRY_ROW(y, i)[0] - my) / count;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        vv += (v[i] - mv) * (v[i] - mv);
        vy += (v[i] - mv) * (FERRY_ROW(y, i)[0] - my);
    }
    *c = vv > 0 ? vy / vv : 0;
    *a = my - *c * mv;
}

/* The row sqrt(w) (x - mean) for each row, and likewise for y: then it is plain least
 * squares without an intercept. */
static ferry_status weigh(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *y,
                          const double *weight, double *mean, ferry_block **xw,
                          ferry_block **yw)
{
    ferry_status st = FERRY_OK;
    const int64_t d = x->cols, k = y->k;
    double all = 0;
    ferry_matrix *dense = NULL;

    FERRY_TRY(ferry_i_matrix_densify(ctx, x, &dense));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, d, xw));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, k, yw));
    for (int64_t i = 0; i < x->rows; i++) {
        all += weight[i];
        for (int64_t j = 0; j < d; j++)
            mean[j] += weight[i] * dense->dense[i * d + j];
        for (int64_t j = 0; j < k; j++)
            mean[d + j] += weight[i] * FERRY_ROW(y, i)[j];
    }
    FERRY_NEED(ctx, all > 0, FERRY_EINVAL, "hemap: all rows have weight 0");
    for (int64_t j = 0; j < d + k; j++)
        mean[j] /= all;
    for (int64_t i = 0; i < x->rows; i++) {
        const double r = sqrt(weight[i]);
        for (int64_t j = 0; j < d; j++)
            FERRY_ROW(*xw, i)[j] = r * (dense->dense[i * d + j] - mean[j]);
        for (int64_t j = 0; j < k; j++)
            FERRY_ROW(*yw, i)[j] = r * (FERRY_ROW(y, i)[j] - mean[d + j]);
    }
done:
    ferry_i_matrix_free(dense);
    return st;
}

ferry_status ferry_i_hemap_ridge(ferry_ctx *ctx, const ferry_matrix *x,
                                 const ferry_block *y, const double *weight, double lambda,
                                 double **w)
{
    ferry_status st = FERRY_OK;
    const int64_t d = x->cols, k = y->k;
    ferry_block *xw = NULL, *yw = NULL;
    ferry_small *g = NULL, *b = NULL;
    double *mean = NULL;

    *w = NULL;
    if (!weight) return ferry_i_ridge_fit(ctx, x, y, lambda, w);
    FERRY_NEW(ctx, mean, d + k);
    FERRY_TRY(weigh(ctx, x, y, weight, mean, &xw, &yw));
    FERRY_TRY(ferry_i_small_new(ctx, d, d, &g));
    FERRY_TRY(ferry_i_small_new(ctx, d, k, &b));
    ferry_e(ctx)->gram(ctx, xw, xw, g);
    ferry_e(ctx)->gram(ctx, xw, yw, b);
    for (int64_t j = 0; j < d; j++)
        FERRY_AT(g, j, j) += lambda;
    FERRY_TRY(ferry_e(ctx)->chol(ctx, g));
    ferry_e(ctx)->chol_solve(ctx, g, b);
    FERRY_NEW(ctx, *w, k * (d + 1));
    for (int64_t c = 0; c < k; c++) {
        double *row = *w + c * (d + 1);
        row[d] = mean[d + c];
        for (int64_t j = 0; j < d; j++) {
            row[j] = FERRY_AT(b, j, c);
            row[d] -= row[j] * mean[j];
        }
    }
done:
    ferry_i_small_free(b);
    ferry_i_small_free(g);
    ferry_i_block_free(yw);
    ferry_i_block_free(xw);
    ferry_i_free(mean);
    return st;
}
