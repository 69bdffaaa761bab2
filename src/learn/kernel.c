/* Kernels over the rows of a matrix (kernel.h). With products at hand,
 *   |x - y|^2 = |x|^2 + |y|^2 - 2 x'y
 * so that everything rests on one matrix product; rounding may take it below 0, which is
 * put right. */
#include "learn/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/learn.h"
#include "learn/rows.h"

/* PIECE: rows of q whose kernel is held at once. SAMPLE: rows from which gamma is
 * estimated. */
enum { PIECE = 256, SAMPLE = 500 };

/* |x_i|^2 over what is stored. */
static double row_norm2(const ferry_matrix *x, int64_t i)
{
    const double *v = row_values(x);
    double sum = 0;

    for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
        sum += v[e] * v[e];
    return sum;
}

/* k (x->rows x c) <- kernel of all rows of x with rows [from, from + c) of q. t (d x c)
 * takes those rows, one a column.
 * xx (rows of x) are squared lengths, not read when gamma is 0. */
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

/* PIECE rows of q at a time: (n + d) PIECE numbers of memory, whatever q has. */
ferry_status ferry_i_kernel_mul(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                                const ferry_matrix *q, const ferry_block *b,
                                ferry_block *out)
{
    ferry_status st = FERRY_OK;
    ferry_block *t = NULL, *k = NULL;
    double *xx = NULL;

    FERRY_NEW(ctx, xx, x->rows);
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
    FERRY_FREE(xx, k, t);
    return st;
}

/* From X X' alone, in place: its diagonal holds the squared lengths and is put to 0
 * last. */
ferry_status ferry_i_kernel_distances(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *dense = NULL;

    /* What is hardly sparse is multiplied faster as a dense matrix. */
    if (!x->dense && 20 * x->nnz > x->rows * x->cols)
        FERRY_TRY(ferry_i_matrix_densify(ctx, x, &dense));
    ferry_e(ctx)->xxt(ctx, dense ? dense : x, s);
    for (int64_t j = 0; j < s->cols; j++)
        for (int64_t i = j + 1; i < s->rows; i++)
            FERRY_AT(s, i, j) = FERRY_AT(s, j, i) =
                fmax(FERRY_AT(s, i, i) + FERRY_AT(s, j, j) - 2 * FERRY_AT(s, i, j), 0);
    for (int64_t i = 0; i < s->rows; i++)
        FERRY_AT(s, i, i) = 0;
done:
    ferry_i_matrix_free(dense);
    return st;
}

/* The median heuristic: the kernel of a typical pair is then exp(-1). Sorting all n (n -
 * 1) / 2 distances is nothing beside computing them. */
ferry_status ferry_i_kernel_gamma(ferry_ctx *ctx, const ferry_small *s, double *gamma)
{
    ferry_status st = FERRY_OK;
    const int64_t n = s->rows * (s->rows - 1) / 2;
    double *all = NULL;
    int64_t at = 0;

    FERRY_NEW(ctx, all, n);
    for (int64_t j = 0; j < s->cols; j++)
        for (int64_t i = j + 1; i < s->rows; i++)
            all[at++] = FERRY_AT(s, i, j);
    const double median = ferry_i_median(n, all);
    *gamma = median > 0 ? 1 / median : 1;
done:
    ferry_i_free(all);
    return st;
}

/* Rows at even steps, not at random: the same matrix always gives the same gamma. */
ferry_status ferry_i_kernel_gamma_of(ferry_ctx *ctx, const ferry_matrix *x, double *gamma)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows < SAMPLE ? x->rows : SAMPLE;
    int64_t *rows = NULL;
    ferry_matrix *some = NULL;
    ferry_small *s = NULL;

    FERRY_NEW(ctx, rows, n);
    for (int64_t i = 0; i < n; i++)
        rows[i] = i * x->rows / n;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n, rows, x->cols, NULL, &some));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &s));
    FERRY_TRY(ferry_i_kernel_distances(ctx, some, s));
    FERRY_TRY(ferry_i_kernel_gamma(ctx, s, gamma));
done:
    ferry_i_matrix_free(some);
    FERRY_FREE(s, rows);
    return st;
}
