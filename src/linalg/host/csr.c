/* Operations on a CSR matrix whose rows are shared out to threads: products, products at
 * its entries, ridge systems. The loops themselves are in kernels/.
 *
 * X B: every row of Y is made by one thread, so the bits do not depend on the thread count.
 * With the transposed index X'B is the same thing. X'B without it: rows are shared out in as
 * many pieces as threads; each adds to a Y of its own, the first to the real one, and these
 * are added up in order. There are no atomics. */
#include <string.h>

#include "linalg/host/host.h"
#include "linalg/host/kernels.h"

/* Row where share `piece` of `pieces` begins, each with about as many entries and rows. */
static int64_t row_cut(int64_t rows, const int64_t *start, int64_t piece, int64_t pieces)
{
    const int64_t goal = ferry_i_piece(start[rows] + rows, piece, pieces);
    int64_t lo = 0, hi = rows;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (start[mid] + mid < goal)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* ---- X B and X'B ---- */

/* 8 pieces a thread, handed out as threads become free: as many entries do not take as
 * long where their columns are far apart. A row is wholly in one piece, so its sum has
 * one order. */
static void share_rows(ferry_ctx *ctx, const ferry_product *p, int64_t rows)
{
    ferry_product_fn *const multiply = ferry_i_kernels(ctx)->multiply;
    const int threads = ferry_i_loop_threads(ctx, (p->nnz + rows) * p->k);
    const int64_t pieces = threads == 1 ? 1 : 8 * (int64_t)threads;

#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t piece = 0; piece < pieces; piece++)
        multiply(p, row_cut(rows, p->start, piece, pieces),
                 row_cut(rows, p->start, piece + 1, pieces));
}

/* Y = alpha X B + beta Y; p.y is written row by row. */
void ferry_i_csr_mul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                     const ferry_block *b, double beta, ferry_block *y)
{
    const ferry_product p = {alpha,  beta,    x->start, x->index, x->value,
                             x->nnz, b->data, y->data,  b->k};

    share_rows(ctx, &p, x->rows);
}

/* beta 0 forgets what was there, even NaN. */
static void scale(double beta, int64_t n, double *y)
{
    if (beta == 0 && n > 0) memset(y, 0, (size_t)n * sizeof *y);
    for (int64_t e = 0; beta != 0 && beta != 1 && e < n; e++)
        y[e] *= beta;
}

/* Threads that are worth a Y of their own: adding it up must cost less than filling it.
 * A further thread fills and adds cols k numbers; it handles nnz k / threads. */
static int scatter_threads(const ferry_ctx *ctx, const ferry_product *p, int64_t cols)
{
    const int threads = ferry_i_loop_threads(ctx, p->nnz * p->k);
    const int64_t pays = p->nnz / (4 * (cols > 0 ? cols : 1));

    return pays >= threads ? threads : pays > 1 ? (int)pays : 1;
}

/* Pieces of rows, the first into Y, the others each into size numbers of `own`; then the
 * sum.
 * One piece for each thread, so the bits depend on their number: who minds makes the
 * index. */
static void scatter_pieces(ferry_ctx *ctx, int threads, const ferry_product *p,
                           int64_t rows, int64_t size, double *own)
{
    ferry_product_fn *const scatter = ferry_i_kernels(ctx)->scatter;

#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int64_t t = 0; t < threads; t++) {
        ferry_product mine = *p;
        if (t > 0) mine.y = own + (t - 1) * size;
        scale(t > 0 ? 0 : p->beta, size, mine.y);
        scatter(&mine, row_cut(rows, p->start, t, threads),
                row_cut(rows, p->start, t + 1, threads));
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t e = 0; e < (threads > 1 ? size : 0); e++)
        for (int64_t t = 1; t < threads; t++)
            p->y[e] += own[(t - 1) * size + e];
}

/* With the index X'B is X'-by-rows, a product like any other. Else memory for (threads -
 * 1) times Y. */
ferry_status ferry_i_csr_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                              const ferry_block *b, double beta, ferry_block *y)
{
    ferry_status st = FERRY_OK;
    ferry_product p = {alpha,  beta,    x->start, x->index, x->value,
                       x->nnz, b->data, y->data,  b->k};
    const int threads = scatter_threads(ctx, &p, x->cols);
    double *own = NULL;

    if (ferry_i_matrix_indexed(x)) {
        p.start = x->t_start;
        p.index = x->t_index;
        p.value = x->t_value;
        share_rows(ctx, &p, x->cols);
        goto done;
    }
    if (threads > 1) {
        own = ferry_i_realloc(NULL, (threads - 1) * x->cols * p.k, sizeof *own);
        FERRY_HAVE(ctx, own);
    }
    scatter_pieces(ctx, threads, &p, x->rows, x->cols * p.k, own);
done:
    ferry_i_free(own);
    return st;
}

/* ---- at the entries ---- */

/* N and D of a row depend on that row alone, so pieces may be taken in any order. */
void ferry_i_host_masked(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *a,
                         const ferry_block *c, ferry_block *n, ferry_block *d)
{
    const ferry_masked m = {x->start, x->index,           x->value, x->nnz, a->data,
                            c->data,  n ? n->data : NULL, d->data,  c->k};
    ferry_masked_fn *const rows = ferry_i_kernels(ctx)->masked;
    const int threads = ferry_i_loop_threads(ctx, (x->nnz + x->rows) * m.k);
    const int64_t pieces = threads == 1 ? 1 : 16 * (int64_t)threads;

    assert(!x->dense && a->rows == x->rows && c->rows == x->cols && a->k == c->k);
    assert(d->rows == x->rows && d->k == c->k);
    assert(!n || (n->rows == x->rows && n->k == c->k));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t piece = 0; piece < pieces; piece++)
        rows(&m, row_cut(x->rows, x->start, piece, pieces),
             row_cut(x->rows, x->start, piece + 1, pieces));
}

/* `space` is a thread's own system and batch, allocated once for all its rows. Pieces go
 * round the threads (t, t + threads, ...), so that each knows its room. */
ferry_status ferry_i_host_ridge_rows(ferry_ctx *ctx, const ferry_matrix *x,
                                     const ferry_block *q, double lambda, bool weighted,
                                     ferry_block *p, double *gain)
{
    ferry_status st = FERRY_OK;
    const int64_t w = (q->k + 3) / 4 * 4, room = ferry_i_systems_space(w);
    const ferry_systems s = {x, q->data, q->k, w, lambda, weighted, p->data, gain};
    ferry_systems_fn *const rows = ferry_i_kernels(ctx)->ridge_rows;
    const int threads = ferry_i_loop_threads(ctx, (x->nnz + x->rows) * q->k);
    const int64_t pieces = threads == 1 ? 1 : 16 * (int64_t)threads;
    double *space = NULL;

    assert(!x->dense && q->rows == x->cols && p->rows == x->rows && p->k == q->k);
    FERRY_NEW(ctx, space, threads * room);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++)
        for (int64_t piece = t; piece < pieces; piece += threads)
            rows(&s, row_cut(x->rows, x->start, piece, pieces),
                 row_cut(x->rows, x->start, piece + 1, pieces), space + t * room);
done:
    ferry_i_free(space);
    return st;
}
