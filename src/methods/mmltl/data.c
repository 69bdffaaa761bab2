/* M-MLTL: G and delta from the data, plainly or through a kernel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/rows.h"
#include "methods/mmltl/mmltl.h"

/* b (rows x (m + 1)): the labels of the first ns rows, less their share when centre, then
 * one more column that is 1 / ns there. */
static void fill_labels(int64_t ns, int64_t m, const uint8_t *on, bool centre,
                        ferry_block *b)
{
    for (int64_t j = 0; j < m; j++) {
        int64_t count = 0;
        for (int64_t i = 0; centre && i < ns; i++)
            count += on[i * m + j];
        const double share = ns > 0 ? (double)count / (double)ns : 0;
        for (int64_t i = 0; i < ns; i++)
            FERRY_ROW(b, i)[j] = on[i * m + j] - share;
    }
    for (int64_t i = 0; i < ns; i++)
        FERRY_ROW(b, i)[m] = 1 / (double)ns;
}

/* (Xs - mean)Ys' = Xs(Ys - mean)', so that one product makes G and the mean. */
ferry_status ferry_i_mmltl_relation(ferry_ctx *ctx, const ferry_matrix *xs, int64_t m,
                                    const uint8_t *on, const ferry_matrix *xt, bool centre,
                                    ferry_block **g, ferry_block **delta)
{
    ferry_status st = FERRY_OK;
    const int64_t d = xs->cols;
    ferry_block *b = NULL, *gm = NULL;

    *g = *delta = NULL;
    FERRY_TRY(ferry_i_block_new(ctx, xs->rows, m + 1, &b));
    FERRY_TRY(ferry_i_block_new(ctx, d, m + 1, &gm));
    FERRY_TRY(ferry_i_block_new(ctx, d, m, g));
    FERRY_TRY(ferry_i_block_new(ctx, d, 1, delta));
    fill_labels(xs->rows, m, on, centre, b);
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, xs, b, 0, gm));
    FERRY_TRY(ferry_e(ctx)->sums(ctx, xt, FERRY_COLS, 1, (*delta)->data));
    for (int64_t i = 0; i < d; i++) {
        const double mean_s = FERRY_ROW(gm, i)[m];
        /* a target without instances differs in nothing */
        const double mean_t = xt->rows > 0 ? (*delta)->data[i] / (double)xt->rows : mean_s;
        for (int64_t j = 0; j < m; j++)
            FERRY_ROW(*g, i)[j] = FERRY_ROW(gm, i)[j];
        (*delta)->data[i] = mean_s - mean_t;
    }
done:
    ferry_i_block_free(gm);
    ferry_i_block_free(b);
    return st;
}

/* (X - 1 mean')'Y = X'Y - mean (sum of Y)', and the sums are 0 where Y was centred. */
void ferry_i_mmltl_fold(const ferry_prep *prep, int64_t ns, int64_t m, const uint8_t *on,
                        bool centre, ferry_block *g, ferry_block *delta)
{
    for (int64_t k = 0; k < m; k++) {
        double count = 0;
        for (int64_t i = 0; !centre && i < ns; i++)
            count += on[i * m + k];
        for (int64_t j = 0; j < g->rows; j++)
            FERRY_ROW(g, j)
        [k] = prep->inv_sd[j] * (FERRY_ROW(g, j)[k] - prep->mean[j] * count);
    }
    for (int64_t j = 0; j < g->rows; j++)
        delta->data[j] *= prep->inv_sd[j];
}

/* v <- v + (variance of each column of x) / n. */
static ferry_status add_noise(ferry_ctx *ctx, const ferry_matrix *x, double *sum,
                              double *sum2, double *v)
{
    ferry_status st = FERRY_OK;
    const double n = (double)x->rows;

    if (x->rows < 2) goto done;
    FERRY_TRY(ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 1, sum));
    FERRY_TRY(ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 2, sum2));
    for (int64_t j = 0; j < x->cols; j++)
        v[j] += fmax(sum2[j] - sum[j] * sum[j] / n, 0) / (n - 1) / n;
done:
    return st;
}

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

enum { PIECE = 256, SAMPLE = 500 };

static double row_norm2(const ferry_matrix *x, int64_t i)
{
    const double *v = row_values(x);
    double sum = 0;

    for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
        sum += v[e] * v[e];
    return sum;
}

/* k (x->rows x c) <- kernel of all rows of x with rows [from, from + c) of q. t (d x c)
 * takes those rows, one a column. */
static void kernel_piece(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                         const double *xx, const ferry_matrix *q, int64_t from,
                         ferry_block *t, ferry_block *k)
{
    const double *v = row_values(q);

    memset(t->data, 0, (size_t)(t->rows * t->k) * sizeof *t->data);
    for (int64_t c = 0; c < t->k; c++)
        for (int64_t e = row_begin(q, from + c); e < row_end(q, from + c); e++)
            FERRY_ROW(t, row_column(q, from + c, e))[c] = v[e];
    ferry_e(ctx)->mul(ctx, 1, x, t, 0, k);
    for (int64_t c = 0; gamma > 0 && c < t->k; c++) {
        const double qq = row_norm2(q, from + c);
        for (int64_t i = 0; i < x->rows; i++) {
            double *at = FERRY_ROW(k, i) + c;
            *at = exp(-gamma * fmax(xx[i] + qq - 2 * *at, 0));
        }
    }
}

ferry_status ferry_i_mmltl_kernel_mul(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                                      const ferry_matrix *q, const ferry_block *b,
                                      ferry_block *out)
{
    ferry_status st = FERRY_OK;
    ferry_block *t = NULL, *k = NULL;
    double *xx = ferry_i_calloc(x->rows, sizeof *xx);

    FERRY_HAVE(ctx, xx);
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, PIECE, &t));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, PIECE, &k));
    for (int64_t i = 0; i < x->rows; i++)
        xx[i] = row_norm2(x, i);
    for (int64_t from = 0; from < q->rows; from += PIECE) {
        const int64_t c = q->rows - from < PIECE ? q->rows - from : PIECE;
        ferry_block tc = {t->rows, c, t->data}, kc = {k->rows, c, k->data};
        /* B'K' (k x c) has the bytes of K B, rows from .. from + c */
        ferry_small rows = {b->k, c, out->data + from * b->k};
        kernel_piece(ctx, gamma, x, xx, q, from, &tc, &kc);
        ferry_e(ctx)->gram(ctx, b, &kc, &rows);
    }
done:
    ferry_i_free(xx);
    ferry_i_block_free(k);
    ferry_i_block_free(t);
    return st;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

ferry_status ferry_i_mmltl_gamma(ferry_ctx *ctx, const ferry_matrix *x, double *gamma)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows < SAMPLE ? x->rows : SAMPLE, pairs = n * (n - 1) / 2;
    int64_t *rows = NULL, at = 0;
    double *dist = NULL, median = 0;
    ferry_matrix *some = NULL;
    ferry_small *s = NULL;

    *gamma = 1;
    if (pairs < 1) goto done;
    FERRY_NEW(ctx, rows, n);
    FERRY_NEW(ctx, dist, pairs);
    for (int64_t i = 0; i < n; i++)
        rows[i] = i * x->rows / n;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n, rows, x->cols, NULL, &some));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &s));
    ferry_e(ctx)->xxt(ctx, some, s);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            dist[at++] = FERRY_AT(s, i, i) + FERRY_AT(s, j, j) - 2 * FERRY_AT(s, i, j);
    qsort(dist, (size_t)pairs, sizeof *dist, ascending);
    median = (dist[(pairs - 1) / 2] + dist[pairs / 2]) / 2;
    if (median > 0) *gamma = 1 / median;
done:
    ferry_i_small_free(s);
    ferry_i_matrix_free(some);
    ferry_i_free(dist);
    ferry_i_free(rows);
    return st;
}

/* h = E w E' gives gr, dr = diag(w^1/2) E', and e <- E w^-1/2. Directions that are rounding
 * are left out: r remain. */
static ferry_status coordinates(ferry_ctx *ctx, ferry_small *h, ferry_block **gr,
                                ferry_block **dr, ferry_small **e)
{
    ferry_status st = FERRY_OK;
    const int64_t n = h->rows, m = n - 1;
    double *w = ferry_i_calloc(n, sizeof *w);
    int64_t r = 0;

    FERRY_HAVE(ctx, w);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, h, w));
    while (r < n && w[n - 1 - r] > 1e-13 * w[n - 1])
        r++;
    FERRY_TRY(ferry_i_block_new(ctx, r, m, gr));
    FERRY_TRY(ferry_i_block_new(ctx, r, 1, dr));
    FERRY_TRY(ferry_i_small_new(ctx, n, r, e));
    for (int64_t i = 0; i < r; i++) {
        const int64_t c = n - 1 - i;
        for (int64_t j = 0; j < m; j++)
            FERRY_ROW(*gr, i)[j] = sqrt(w[c]) * FERRY_AT(h, j, c);
        (*dr)->data[i] = sqrt(w[c]) * FERRY_AT(h, m, c);
        for (int64_t j = 0; j < n; j++)
            FERRY_AT(*e, j, i) = FERRY_AT(h, j, c) / sqrt(w[c]);
    }
done:
    ferry_i_free(w);
    return st;
}

ferry_status ferry_i_mmltl_kernel(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                                  int64_t ns, int64_t m, const uint8_t *on, bool centre,
                                  ferry_block **gr, ferry_block **dr, ferry_block **map,
                                  ferry_block **kmap)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows;
    ferry_block *c = NULL, *kc = NULL;
    ferry_small *h = NULL, *e = NULL;

    *gr = *dr = *map = *kmap = NULL;
    FERRY_TRY(ferry_i_block_new(ctx, n, m + 1, &c));
    FERRY_TRY(ferry_i_block_new(ctx, n, m + 1, &kc));
    FERRY_TRY(ferry_i_small_new(ctx, m + 1, m + 1, &h));
    fill_labels(ns, m, on, centre, c);
    for (int64_t i = 0; i < n; i++)
        FERRY_ROW(c, i)[m] = n == ns ? 0 : i < ns ? 1 / (double)ns : -1 / (double)(n - ns);
    FERRY_TRY(ferry_i_mmltl_kernel_mul(ctx, gamma, x, x, c, kc));
    ferry_e(ctx)->gram(ctx, c, kc, h);
    FERRY_TRY(coordinates(ctx, h, gr, dr, &e));
    FERRY_TRY(ferry_i_block_new(ctx, n, e->cols, map));
    FERRY_TRY(ferry_i_block_new(ctx, n, e->cols, kmap));
    ferry_e(ctx)->bmul(ctx, 1, c, e, false, 0, *map);
    ferry_e(ctx)->bmul(ctx, 1, kc, e, false, 0, *kmap);
done:
    ferry_i_small_free(e);
    ferry_i_small_free(h);
    ferry_i_block_free(kc);
    ferry_i_block_free(c);
    return st;
}
