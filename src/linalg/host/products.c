/* Products and sums of a data matrix: BLAS when it is dense, our loops when it is CSR.
 *
 * A block is k x rows to BLAS and a dense X is cols x rows, so every product is written
 * in its transposed form: Y = X B is Y' = B'X'. */
#include <string.h>

#include "linalg/host/host.h"
#include "linalg/host/openblas.h"

/* Some rows of Y at a time as the columns that BLAS makes of them, then turned. AVX-512's kernels like the narrow side
 * last: X'B of 4000 x 2048 and k = 8, 32, 64 takes 5.0, 8.3, 13.0 ms and as a block 7.6, 13.3, 18.4, X B 4.4, 7.8, 13.0 and
 * 7.3, 11.1, 16.1 (Zen 5, one thread, SkylakeX); those of AVX2 take the same time both ways. */
static void turned_product(bool trans, double alpha, const ferry_matrix *x,
                           const ferry_block *b, double beta, ferry_block *y)
{
    enum { ROOM = 16384 };
    double z[ROOM];
    const int64_t k = b->k, most = ROOM / k;
    const int ld = ferry_i_blas_int(x->cols);

    for (int64_t at = 0; at < y->rows; at += most) {
        const int64_t n = y->rows - at < most ? y->rows - at : most;
        ferry_i_blas.dgemm(CblasColMajor, trans ? CblasNoTrans : CblasTrans, CblasTrans,
                           ferry_i_blas_int(n), ferry_i_blas_int(k),
                           ferry_i_blas_int(b->rows), alpha,
                           x->dense + (trans ? at : at * x->cols), ld, b->data,
                           ferry_i_blas_int(k), 0, z, ferry_i_blas_int(n));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < k; j++) {
                double *to = y->data + (at + i) * k + j;
                *to = z[j * n + i] + (beta != 0 ? beta * *to : 0);
            }
    }
}

/* BLAS sees our rows as columns: X is cols x rows there, B and Y are k x their rows. */
void ferry_i_dense_product(bool trans, bool turned, double alpha, const ferry_matrix *x,
                           const ferry_block *b, double beta, ferry_block *y)
{
    const int k = ferry_i_blas_int(b->k), ld = ferry_i_blas_int(x->cols > 0 ? x->cols : 1);

    if (k == 0) return;
    if (k == 1 && x->cols > 0 && x->rows > 0) { /* dgemm would copy all of X first */
        ferry_i_blas.dgemv(CblasColMajor, trans ? CblasNoTrans : CblasTrans, ld,
                           ferry_i_blas_int(x->rows), alpha, x->dense, ld, b->data, 1, beta,
                           y->data, 1);
        return;
    }
    if (turned && x->cols > 0 && x->rows > 0 && k <= 128) {
        turned_product(trans, alpha, x, b, beta, y);
        return;
    }
    ferry_i_blas.dgemm(CblasColMajor, CblasNoTrans, trans ? CblasTrans : CblasNoTrans, k,
                       ferry_i_blas_int(y->rows), ferry_i_blas_int(b->rows), alpha, b->data,
                       k, x->dense, ld, beta, y->data, k);
}

/* The way that is faster here; small ones are not worth the turn. */
static void dense_product(ferry_ctx *ctx, bool trans, double alpha, const ferry_matrix *x,
                          const ferry_block *b, double beta, ferry_block *y)
{
    const double work = (double)x->rows * (double)x->cols * (double)b->k;

    ferry_i_blas_begin(ctx);
    ferry_i_dense_product(trans, work > 4e6 && ferry_i_blas_tall(), alpha, x, b, beta, y);
}

void ferry_i_host_mul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                      const ferry_block *b, double beta, ferry_block *y)
{
    assert(b->rows == x->cols && y->rows == x->rows && y->k == b->k);
    if (x->dense)
        dense_product(ctx, false, alpha, x, b, beta, y);
    else
        ferry_i_csr_mul(ctx, alpha, x, b, beta, y);
}

ferry_status ferry_i_host_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                               const ferry_block *b, double beta, ferry_block *y)
{
    assert(b->rows == x->rows && y->rows == x->cols && y->k == b->k);
    if (!x->dense) return ferry_i_csr_tmul(ctx, alpha, x, b, beta, y);
    dense_product(ctx, true, alpha, x, b, beta, y);
    return FERRY_OK;
}

static void mirror(ferry_small *s) /* lower triangle to upper */
{
    for (int64_t j = 0; j < s->cols; j++)
        for (int64_t i = 0; i < j; i++)
            FERRY_AT(s, i, j) = FERRY_AT(s, j, i);
}

/* One triangle by dsyrk, half the work of dgemm, then mirrored.
 * rows: X X' (n x n), else X'X (d x d). mirror() fills the other triangle. */
static void dense_gram(ferry_ctx *ctx, bool rows, const ferry_matrix *x, ferry_small *s)
{
    const int n = ferry_i_blas_int(s->rows),
              ld = ferry_i_blas_int(x->cols > 0 ? x->cols : 1);

    if (n == 0) return;
    ferry_i_blas_begin(ctx);
    ferry_i_blas.dsyrk(CblasColMajor, CblasLower, rows ? CblasTrans : CblasNoTrans, n,
                       ferry_i_blas_int(rows ? x->cols : x->rows), 1, x->dense, ld, 0,
                       s->data, n);
    mirror(s);
}

/* Dot product of two sparse rows: walk along both.
 * O(entries of both); both advance where columns are equal, without branches that guess. */
static double row_dot(const ferry_matrix *x, int64_t i, int64_t l)
{
    int64_t a = x->start[i], b = x->start[l];
    double sum = 0;

    while (a < x->start[i + 1] && b < x->start[l + 1]) {
        const int32_t p = x->index[a], q = x->index[b];
        if (p == q) sum += x->value[a] * x->value[b];
        a += p <= q;
        b += q <= p;
    }
    return sum;
}

/* Column j of X X' through the transposed index: only rows that share a feature with row j
 * are met. The sums are made in the order of row_dot.
 * O(sum over the features of row j of the rows that have them). */
static void xxt_column(const ferry_matrix *x, int64_t j, double *column)
{
    memset(column, 0, (size_t)x->rows * sizeof *column);
    for (int64_t e = x->start[j]; e < x->start[j + 1]; e++) {
        const double value = x->value[e];
        for (int64_t f = x->t_start[x->index[e]]; f < x->t_start[x->index[e] + 1]; f++)
            column[x->t_index[f]] += value * x->t_value[f];
    }
}

/* CSR: with the transposed index a column is gathered from the features of its row, without
 * it every pair of rows is walked along. Columns are shared out, each made by one thread. */
void ferry_i_host_xxt(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    assert(s->rows == x->rows && s->cols == x->rows);
    if (x->dense) {
        dense_gram(ctx, true, x, s);
        return;
    }
    if (ferry_i_matrix_indexed(x)) {
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, x->nnz * 8))                \
    schedule(dynamic, 4)
        for (int64_t j = 0; j < x->rows; j++)
            xxt_column(x, j, s->data + j * s->rows);
        return;
    }
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, x->nnz * x->rows))          \
    schedule(dynamic, 4)
    for (int64_t j = 0; j < x->rows; j++)
        for (int64_t i = j; i < x->rows; i++)
            FERRY_AT(s, i, j) = row_dot(x, i, j);
    mirror(s);
}

/* Columns [from, to) of the lower triangle of X'X, row after row of X.
 * A row of X adds the products of its entries e <= f, so only the lower triangle is
 * touched; the columns of others are skipped. */
static void xtx_columns(const ferry_matrix *x, int64_t from, int64_t to, ferry_small *s)
{
    for (int64_t j = from; j < to; j++)
        for (int64_t i = j; i < s->rows; i++)
            FERRY_AT(s, i, j) = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t end = x->start[i + 1];
        for (int64_t e = ferry_i_matrix_seek(x, i, from); e < end && x->index[e] < to;
             e++) {
            double *column = s->data + x->index[e] * s->rows;
            for (int64_t f = e; f < end; f++)
                column[x->index[f]] += x->value[e] * x->value[f];
        }
    }
}

/* CSR: each thread owns a band of columns of S and reads all of X, skipping to its band by
 * bisection in every row: nothing is written by two.
 * Each column is summed in the order of the rows, however many bands there are: the same
 * bits for any number of threads. */
ferry_status ferry_i_host_xtx(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    const int64_t pieces = 4 * (int64_t)ctx->threads; /* columns owned by one thread each */

    assert(s->rows == x->cols && s->cols == x->cols);
    if (x->dense) {
        dense_gram(ctx, false, x, s);
        return FERRY_OK;
    }
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, x->nnz * 8))                \
    schedule(dynamic)
    for (int64_t p = 0; p < pieces; p++)
        xtx_columns(x, ferry_i_piece(x->cols, p, pieces),
                    ferry_i_piece(x->cols, p + 1, pieces), s);
    mirror(s);
    return FERRY_OK;
}

/* B C' in one product, as C B' in BLAS's order: out is cols x rows there. */
static void dense_sddmm(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *b,
                        const ferry_block *c, double *out)
{
    const int n = ferry_i_blas_int(x->cols), k = ferry_i_blas_int(b->k > 0 ? b->k : 1);

    if (n == 0) return;
    ferry_i_blas_begin(ctx);
    ferry_i_blas.dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n,
                       ferry_i_blas_int(x->rows), ferry_i_blas_int(b->k), 1, c->data, k,
                       b->data, k, 0, out, n);
}

/* Entry by entry; a row of B stays in the near cache while its entries go by. Dense X: all of
 * B C', one dgemm. */
void ferry_i_host_sddmm(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *b,
                        const ferry_block *c, double *out)
{
    assert(b->rows == x->rows && c->rows == x->cols && b->k == c->k);
    if (x->dense) {
        dense_sddmm(ctx, x, b, c, out);
        return;
    }
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, x->nnz * b->k))             \
    schedule(dynamic, 64)
    for (int64_t i = 0; i < x->rows; i++) {
        const double *bi = FERRY_ROW(b, i);
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const double *cj = FERRY_ROW(c, x->index[e]);
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t l = 0; l < b->k; l++)
                sum += bi[l] * cj[l];
            out[e] = sum;
        }
    }
}

static double power_of(double v, int power)
{
    return power == 1 ? v : v * v;
}

/* Sums by column are made in one thread: they are needed once a fit, and memory is the limit
 * anyway.
 * Zeros that are not stored add nothing to either power. */
ferry_status ferry_i_host_sums(ferry_ctx *ctx, const ferry_matrix *x, ferry_axis axis,
                               int power, double *out)
{
    const double *v = x->dense ? x->dense : x->value;

    assert(power == 1 || power == 2);
    if (axis == FERRY_ROWS) {
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, x->nnz))
        for (int64_t i = 0; i < x->rows; i++) {
            const int64_t end = x->dense ? (i + 1) * x->cols : x->start[i + 1];
            double sum = 0;
            for (int64_t e = x->dense ? i * x->cols : x->start[i]; e < end; e++)
                sum += power_of(v[e], power);
            out[i] = sum;
        }
        return FERRY_OK;
    }
    for (int64_t j = 0; j < x->cols; j++)
        out[j] = 0;
    for (int64_t i = 0; x->dense && i < x->rows; i++)
        for (int64_t j = 0; j < x->cols; j++)
            out[j] += power_of(v[i * x->cols + j], power);
    for (int64_t e = 0; !x->dense && e < x->nnz; e++)
        out[x->index[e]] += power_of(v[e], power);
    return FERRY_OK;
}
