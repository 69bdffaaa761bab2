/* Operations on blocks: dgemm for products, our own loops for the rest. Sums are made over
 * fixed pieces and added in order, so that their bits do not depend on the thread count.
 *
 * dgemm is left to its own threads: its bits may depend on their number in the last
 * places, which is why what must not (sums, dot) is written here. */
#include <math.h>

#include "linalg/host/host.h"
#include "linalg/host/openblas.h"

enum { PIECES = 64, GROUP = 64 }; /* pieces of a sum; columns summed at a time */

/* Blocks are k x rows to BLAS, so B'C is B C' there. */
void ferry_i_host_gram(ferry_ctx *ctx, const ferry_block *b, const ferry_block *c,
                       ferry_small *s)
{
    const int p = ferry_i_blas_int(b->k), q = ferry_i_blas_int(c->k);

    assert(b->rows == c->rows && s->rows == b->k && s->cols == c->k);
    if (p == 0 || q == 0) return;
    ferry_i_blas_begin(ctx);
    ferry_i_blas.dgemm(CblasColMajor, CblasNoTrans, CblasTrans, p, q,
                       ferry_i_blas_int(b->rows), 1, b->data, p, c->data, q, 0, s->data, p);
}

/* B S is S'B' there; S itself is column-major already. */
void ferry_i_host_bmul(ferry_ctx *ctx, double alpha, const ferry_block *b,
                       const ferry_small *s, bool trans, double beta, ferry_block *y)
{
    const int p = ferry_i_blas_int(b->k), q = ferry_i_blas_int(y->k);

    assert(y->rows == b->rows && p == (trans ? s->cols : s->rows));
    assert(q == (trans ? s->rows : s->cols));
    if (q == 0) return;
    ferry_i_blas_begin(ctx);
    ferry_i_blas.dgemm(CblasColMajor, trans ? CblasNoTrans : CblasTrans, CblasNoTrans, q,
                       ferry_i_blas_int(b->rows), p, alpha, s->data,
                       ferry_i_blas_int(s->rows > 0 ? s->rows : 1), b->data, p > 0 ? p : 1,
                       beta, y->data, q);
}

/* One pass, no branch: compilers make a division and a root per vector of it. What is not
 * wanted of root and ratio is dropped after both were computed. */
void ferry_i_host_mulup(ferry_ctx *ctx, ferry_block *b, const ferry_block *n,
                        const ferry_block *d, double exponent, double floor, double tiny)
{
    const int64_t size = b->rows * b->k;
    double *x = b->data;
    const double *up = n->data, *down = d->data;

    assert((exponent == 0.5 || exponent == 1) && floor > 0);
    assert(n->rows == b->rows && n->k == b->k && d->rows == b->rows && d->k == b->k);
#pragma omp parallel for simd num_threads(ferry_i_loop_threads(ctx, 8 * size))             \
    schedule(static)
    for (int64_t e = 0; e < size; e++) {
        const double ratio = up[e] / (down[e] > floor ? down[e] : floor);
        const double root = sqrt(ratio > 0 ? ratio : 0);
        const double v = x[e] * (exponent == 1 ? ratio : root);
        x[e] = v < tiny ? 0 : v;
    }
}

static double power_of(double x, int power)
{
    return power == 1 ? x : x * x;
}

/* Sums of columns [from, from + n) over the rows of one piece. */
static void sum_piece(const ferry_block *b, int64_t piece, int64_t from, int64_t n,
                      int power, double *sums)
{
    /* one piece of rows, all n columns side by side: the inner loop is over neighbours
     * in memory */
    const int64_t last = ferry_i_piece(b->rows, piece + 1, PIECES);

    for (int64_t j = 0; j < n; j++)
        sums[j] = 0;
    for (int64_t i = ferry_i_piece(b->rows, piece, PIECES); i < last; i++)
        for (int64_t j = 0; j < n; j++)
            sums[j] += power_of(FERRY_ROW(b, i)[from + j], power);
}

/* GROUP columns at a time: their sums of all pieces are on the stack, 32 KB. */
static void column_sums(ferry_ctx *ctx, const ferry_block *b, int power, double *out)
{
    double sums[PIECES][GROUP];

    for (int64_t from = 0; from < b->k; from += GROUP) {
        const int64_t n = b->k - from < GROUP ? b->k - from : GROUP;
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, b->rows *n))
        for (int64_t piece = 0; piece < PIECES; piece++)
            sum_piece(b, piece, from, n, power, sums[piece]);
        for (int64_t j = 0; j < n; j++) {
            out[from + j] = 0;
            for (int64_t piece = 0; piece < PIECES; piece++)
                out[from + j] += sums[piece][j];
        }
    }
}

/* Sums of rows are each made by one thread; sums of columns in pieces. */
void ferry_i_host_bsums(ferry_ctx *ctx, const ferry_block *b, ferry_axis axis, int power,
                        double *out)
{
    assert(power == 1 || power == 2);
    if (axis == FERRY_COLS) {
        column_sums(ctx, b, power, out);
        return;
    }
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, b->rows * b->k))
    for (int64_t i = 0; i < b->rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < b->k; j++)
            sum += power_of(FERRY_ROW(b, i)[j], power);
        out[i] = sum;
    }
}

/* In place; the choice is made outside the inner loops. */
void ferry_i_host_bscale(ferry_ctx *ctx, ferry_block *b, ferry_axis axis, const double *f)
{
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, b->rows * b->k))
    for (int64_t i = 0; i < b->rows; i++) {
        double *row = FERRY_ROW(b, i);
        if (axis == FERRY_ROWS)
            for (int64_t j = 0; j < b->k; j++)
                row[j] *= f[i];
        else
            for (int64_t j = 0; j < b->k; j++)
                row[j] *= f[j];
    }
}

/* Two loops: where beta is 0, C is not even read. */
void ferry_i_host_axpby(ferry_ctx *ctx, double alpha, const ferry_block *b, double beta,
                        ferry_block *c)
{
    const int64_t n = b->rows * b->k;
    const double *from = b->data;
    double *to = c->data;

    assert(b->rows == c->rows && b->k == c->k);
    if (beta == 0) { /* forgets what was there, even NaN */
#pragma omp parallel for simd num_threads(ferry_i_loop_threads(ctx, n)) schedule(static)
        for (int64_t e = 0; e < n; e++)
            to[e] = alpha * from[e];
        return;
    }
#pragma omp parallel for simd num_threads(ferry_i_loop_threads(ctx, n)) schedule(static)
    for (int64_t e = 0; e < n; e++)
        to[e] = alpha * from[e] + beta * to[e];
}

/* Pieces in parallel, added in order: the same bits whatever the number of threads. */
double ferry_i_host_dot(ferry_ctx *ctx, const ferry_block *b, const ferry_block *c)
{
    const int64_t n = b->rows * b->k;
    double sums[PIECES], sum = 0;

    assert(b->rows == c->rows && b->k == c->k);
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, n))
    for (int64_t piece = 0; piece < PIECES; piece++) {
        const int64_t last = ferry_i_piece(n, piece + 1, PIECES);
        double part = 0;
#pragma omp simd reduction(+ : part)
        for (int64_t e = ferry_i_piece(n, piece, PIECES); e < last; e++)
            part += b->data[e] * c->data[e];
        sums[piece] = part;
    }
    for (int64_t piece = 0; piece < PIECES; piece++)
        sum += sums[piece];
    return sum;
}
