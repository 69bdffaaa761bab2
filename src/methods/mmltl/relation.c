/* M-MLTL: G and delta from the data, plainly or through a kernel.
 *
 *   G = Xs Ys' (d x m), or with `centre` (Xs - mean) Ys';   delta = mean(Xs) - mean(Xt)
 *
 * Uncentred, the mean instance is in every column of G and its first singular direction. */
#include <math.h>
#include <string.h>

#include "learn/kernel.h"
#include "methods/mmltl/mmltl.h"

/* b (rows x (m + 1)): the labels of the first ns rows, less their share when centre, then
 * one more column that is 1 / ns there. Without centre the share is 0 and the labels stand
 * as they are. Rows beyond ns stay 0. Where ranks have their own rows of x, ns counts those of all. */
static ferry_status fill_labels(ferry_ctx *ctx, const ferry_matrix *x,
                                const ferry_mmltl_labels *y, ferry_block *b)
{
    const int64_t ns = y->ns, m = y->m, all = x->whole ? x->whole : ns;

    for (int64_t j = 0; j < m; j++) {
        double count = 0;
        for (int64_t i = 0; y->centre && i < ns; i++)
            count += y->on[i * m + j];
        FERRY_PASS(ferry_i_sum_rows(ctx, x, 1, &count));
        const double share = all > 0 ? count / (double)all : 0;
        for (int64_t i = 0; i < ns; i++)
            FERRY_ROW(b, i)[j] = y->on[i * m + j] - share;
    }
    for (int64_t i = 0; i < ns; i++)
        FERRY_ROW(b, i)[m] = 1 / (double)all;
    return FERRY_OK;
}

/* (Xs - mean) Ys' = Xs (Ys - mean)': one product makes G and the source's mean, and a sparse
 * Xs stays as it is. New blocks of the caller's. The last column of gm is Xs' 1/ns, the
 * mean. */
ferry_status ferry_i_mmltl_relation(ferry_ctx *ctx, const ferry_matrix *xs,
                                    const ferry_mmltl_labels *y, const ferry_matrix *xt,
                                    ferry_block **g, ferry_block **delta)
{
    ferry_status st = FERRY_OK;
    const int64_t d = xs->cols, m = y->m;
    ferry_block *b = NULL, *gm = NULL;

    *g = *delta = NULL;
    FERRY_TRY(ferry_i_block_new(ctx, xs->rows, m + 1, &b));
    FERRY_TRY(ferry_i_block_new(ctx, d, m + 1, &gm));
    FERRY_TRY(ferry_i_block_new(ctx, d, m, g));
    FERRY_TRY(ferry_i_block_new(ctx, d, 1, delta));
    FERRY_TRY(fill_labels(ctx, xs, y, b));
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, xs, b, 0, gm));
    if (xt) FERRY_TRY(ferry_e(ctx)->sums(ctx, xt, FERRY_COLS, 1, (*delta)->data));
    const double nt = xt ? (double)ferry_i_all_rows(xt) : 1;
    for (int64_t i = 0; i < d; i++) {
        const double mean_s = FERRY_ROW(gm, i)[m];
        /* a target without instances differs in nothing */
        const double mean_t = nt > 0 ? (*delta)->data[i] / nt : mean_s;
        memcpy(FERRY_ROW(*g, i), FERRY_ROW(gm, i), (size_t)m * sizeof *gm->data);
        (*delta)->data[i] = mean_s - mean_t;
    }
done:
    FERRY_FREE(gm, b);
    return st;
}

/* v <- v + (variance of each column of x) / n. Unbiased variance; one row has none. sum and
 * sum2 are scratch of x->cols. */
static ferry_status add_noise(ferry_ctx *ctx, const ferry_matrix *x, double *sum,
                              double *sum2, double *v)
{
    const double n = (double)ferry_i_all_rows(x);

    if (n < 2) return FERRY_OK;
    FERRY_PASS(ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 1, sum));
    FERRY_PASS(ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 2, sum2));
    for (int64_t j = 0; j < x->cols; j++)
        v[j] += fmax(sum2[j] - sum[j] * sum[j] / n, 0) / (n - 1) / n;
    return FERRY_OK;
}

/* Of v_j = var_s_j / ns + var_t_j / nt, the variance of delta_j, the part is taken off that
 * noise alone would give. delta is overwritten. Where noise explains all of a difference it
 * becomes 0. */
ferry_status ferry_i_mmltl_shrink(ferry_ctx *ctx, ferry_mmltl_shrink how,
                                  const ferry_matrix *xs, const ferry_matrix *xt,
                                  ferry_block *delta)
{
    ferry_status st = FERRY_OK;
    const int64_t d = xs->cols;
    double *v = NULL, total = 0, norm2 = 0;

    if (how == FERRY_SHRINK_NONE) return FERRY_OK;
    FERRY_NEW(ctx, v, 3 * d);
    FERRY_TRY(add_noise(ctx, xs, v + d, v + 2 * d, v));
    FERRY_TRY(add_noise(ctx, xt, v + d, v + 2 * d, v));
    for (int64_t j = 0; j < d; j++) {
        total += v[j];
        norm2 += delta->data[j] * delta->data[j];
    }
    for (int64_t j = 0; j < d; j++) {
        const double x = delta->data[j];
        const double ratio = how == FERRY_SHRINK_JS ? total / norm2 : v[j] / (x * x);
        delta->data[j] = ratio < 1 ? x * (1 - ratio) : 0; /* also 0 / 0 */
    }
done:
    ferry_i_free(v);
    return st;
}

/* ---- kernel ---- */

void ferry_i_mmltl_kernel_clear(ferry_mmltl_kernel *k)
{
    FERRY_FREE(k->g, k->delta, k->map, k->kmap);
}

/* h = E w E' gives gr, dr = diag(w^1/2) E', and e <- E w^-1/2. Directions that are rounding
 * are left out: r remain. The factor is of H, not of K: m + 1 dimensions, whatever n is.
 * `h` is overwritten by its vectors. */
static ferry_status coordinates(ferry_ctx *ctx, ferry_small *h, ferry_mmltl_kernel *out,
                                ferry_small **e)
{
    ferry_status st = FERRY_OK;
    const int64_t n = h->rows, m = n - 1;
    double *w = NULL;
    int64_t r = 0;

    FERRY_NEW(ctx, w, n);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, h, w));
    while (r < n && w[n - 1 - r] > 1e-13 * w[n - 1])
        r++;
    FERRY_TRY(ferry_i_block_new(ctx, r, m, &out->g));
    FERRY_TRY(ferry_i_block_new(ctx, r, 1, &out->delta));
    FERRY_TRY(ferry_i_small_new(ctx, n, r, e));
    for (int64_t i = 0; i < r; i++) {
        const int64_t c = n - 1 - i;
        for (int64_t j = 0; j < m; j++)
            FERRY_ROW(out->g, i)[j] = sqrt(w[c]) * FERRY_AT(h, j, c);
        out->delta->data[i] = sqrt(w[c]) * FERRY_AT(h, m, c);
        for (int64_t j = 0; j < n; j++)
            FERRY_AT(*e, j, i) = FERRY_AT(h, j, c) / sqrt(w[c]);
    }
done:
    ferry_i_free(w);
    return st;
}

/* One pass over the kernel, O(n^2 (d + m)), K itself never stored. A target without
 * instances has delta = 0. */
ferry_status ferry_i_mmltl_kernel_new(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                                      const ferry_mmltl_labels *y, ferry_mmltl_kernel *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows, ns = y->ns, m = y->m;
    ferry_block *c = NULL, *kc = NULL;
    ferry_small *h = NULL, *e = NULL;

    *out = (ferry_mmltl_kernel){0};
    FERRY_TRY(ferry_i_block_new(ctx, n, m + 1, &c));
    FERRY_TRY(ferry_i_block_new(ctx, n, m + 1, &kc));
    FERRY_TRY(ferry_i_small_new(ctx, m + 1, m + 1, &h));
    FERRY_TRY(fill_labels(ctx, x, y, c)); /* C = [Es Ys' | 1_s/ns - 1_t/nt] */
    for (int64_t i = 0; i < n; i++)
        FERRY_ROW(c, i)[m] = n == ns ? 0 : i < ns ? 1 / (double)ns : -1 / (double)(n - ns);
    FERRY_TRY(ferry_i_kernel_mul(ctx, gamma, x, x, c, kc));
    ferry_e(ctx)->gram(ctx, c, kc, h); /* H = C'K C */
    FERRY_TRY(coordinates(ctx, h, out, &e));
    FERRY_TRY(ferry_i_block_new(ctx, n, e->cols, &out->map));
    FERRY_TRY(ferry_i_block_new(ctx, n, e->cols, &out->kmap));
    ferry_e(ctx)->bmul(ctx, 1, c, e, false, 0, out->map);
    ferry_e(ctx)->bmul(ctx, 1, kc, e, false, 0, out->kmap);
done:
    FERRY_FREE(e, h, kc, c);
    return st;
}
