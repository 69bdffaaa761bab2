/* Operations on a CSR matrix whose rows are shared out to threads: products, products at
 * its entries, ridge systems. The loops themselves are in kernels/.
 *
 * X B: every row of Y is made by one thread, so the bits do not depend on the thread count.
 * With the transposed index X'B is the same thing. X'B without it: columns of X, rows of Y,
 * are shared out, so the same holds. There are no atomics. */
#define _GNU_SOURCE /* _SC_LEVEL2_CACHE_SIZE */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

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

/* PANEL: columns of B that go together, two lines of the cache. NEAR: bytes that the near
 * cache holds where it does not tell. PAYS: entries for a row of B from which on packing is
 * little beside the product. Tuned on a Zen 3 (bench/sparse.c). */
enum { PANEL = 16, NEAR = 512 << 10, PAYS = 16 };

/* Numbers from one row of a packed panel to the next: never across lines of the cache. */
static int64_t panel_ld(int64_t wide)
{
    int64_t ld = 1;

    while (ld < wide)
        ld *= 2;
    return ld;
}

/* Beyond the second cache of a core: such rows are fetched ahead, which only costs where they are near (2 MB
 * on a Xeon that the numbers were not tuned on). What sums look like must not depend on this. */
static bool is_far(int64_t cols, int64_t k)
{
    static _Atomic(int64_t) near; /* 0: not asked yet; asking twice does no harm */

    if (near == 0) {
        const long second = sysconf(_SC_LEVEL2_CACHE_SIZE);
        near = second > NEAR ? second : NEAR;
    }
    return cols * k * (int64_t)sizeof(double) > near;
}

/* Room for a panel of a B or Y (cols x k) which is read or written by rows as entries come:
 * its rows are whole lines, and the caches hold no others (k = 32: half of the time). `whole`: they are so
 * already where k allows. NULL: not worth it, or no memory, and the product goes on without. */
static double *panel_room(bool whole, int64_t cols, int64_t k, int64_t nnz)
{
    const int64_t ld = k < PANEL ? panel_ld(k) : PANEL;

    if ((ld == k && whole) || cols * k * (int64_t)sizeof(double) <= NEAR ||
        nnz < PAYS * cols)
        return NULL;
    return ferry_i_realloc(NULL, cols * ld + PANEL, sizeof(double));
}

/* Whether rows of k numbers from x on lie in whole lines: those of 8 that begin amid one are two, and the
 * product takes half as long again. */
static bool in_lines(const double *x, int64_t k)
{
    return (uintptr_t)x % (k > 0 && k < 8 ? (uintptr_t)k * sizeof *x : 64) == 0;
}

/* The first line of the cache inside the room. */
static double *on_line(double *room)
{
    return room ? room + (64 - (uintptr_t)room % 64) % 64 / sizeof *room : NULL;
}

/* at[t][i]: where the entries of row i from column cut[t] on begin, t = 0 .. pieces. */
static void cut_rows(ferry_ctx *ctx, const ferry_product *p, int64_t rows, int64_t pieces,
                     const int64_t *cut, int64_t *at)
{
#pragma omp parallel for num_threads(ferry_i_loop_threads(ctx, p->nnz)) schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        int64_t lo = p->start[i];
        for (int64_t t = 0; t <= pieces; t++) {
            int64_t hi = p->end[i];
            while (lo < hi) {
                const int64_t mid = lo + (hi - lo) / 2;
                if (p->index[mid] < cut[t])
                    lo = mid + 1;
                else
                    hi = mid;
            }
            at[t * rows + i] = lo;
        }
    }
}

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

/* Y = alpha X B + beta Y for X of `rows` rows and `cols` columns, which p describes; in
 * packed panels where that pays. Not in blocks of B's rows that a cache would hold: the pieces
 * of X's rows are then short, which costs more than it saves (on a Xeon half as long again). */
static void product_by_rows(ferry_ctx *ctx, const ferry_product *p, int64_t rows,
                            int64_t cols)
{
    const int threads = ferry_i_loop_threads(ctx, cols * p->k);
    double *const room = panel_room(in_lines(p->b, p->k), cols, p->k, p->nnz),
                  *const to = on_line(room);

    if (!room) share_rows(ctx, p, rows);
    for (int64_t c = 0; room && c < p->k; c += PANEL) {
        ferry_product q = *p;
        q.k = p->k - c < PANEL ? p->k - c : PANEL;
        q.b_ld = panel_ld(q.k);
        q.b = to;
        q.y += c;
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t j = 0; j < cols; j++)
            memcpy(to + j * q.b_ld, p->b + j * p->b_ld + c, (size_t)q.k * sizeof *to);
        share_rows(ctx, &q, rows);
    }
    ferry_i_free(room);
}

/* X with B and Y; reach: rows that entries lead to. */
static ferry_product describe(double alpha, const ferry_matrix *x, const ferry_block *b,
                              double beta, ferry_block *y, int64_t reach)
{
    return (ferry_product){.alpha = alpha,
                           .beta = beta,
                           .start = x->start,
                           .end = x->start + 1,
                           .index = x->index,
                           .value = x->value,
                           .nnz = x->nnz,
                           .k = b->k,
                           .b_ld = b->k,
                           .y_ld = y->k,
                           .b = b->data,
                           .y = y->data,
                           .far = is_far(reach, b->k)};
}

/* Y = alpha X B + beta Y; p.y is written row by row. */
void ferry_i_csr_mul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                     const ferry_block *b, double beta, ferry_block *y)
{
    const ferry_product p = describe(alpha, x, b, beta, y, x->cols);

    product_by_rows(ctx, &p, x->rows, x->cols);
}

/* beta 0 forgets what was there, even NaN. */
static void scale(double beta, int64_t n, double *y)
{
    if (beta == 0 && n > 0) memset(y, 0, (size_t)n * sizeof *y);
    for (int64_t e = 0; beta != 0 && beta != 1 && e < n; e++)
        y[e] *= beta;
}

/* Columns where the shares of `pieces` threads begin, each with about as many entries,
 * judged by a sample of some ten thousand. count: cols zeros. */
static void column_cuts(const ferry_matrix *x, int64_t pieces, int64_t *count, int64_t *cut)
{
    const int64_t every = 1 + x->nnz / 65536;
    int64_t seen = 0, sum = 0, piece = 0;

    for (int64_t e = 0; e < x->nnz; e += every, seen++)
        count[x->index[e]]++;
    for (int64_t j = 0; j < x->cols; sum += count[j++])
        while (piece < pieces && sum >= ferry_i_piece(seen, piece, pieces))
            cut[piece++] = j;
    while (piece <= pieces)
        cut[piece++] = x->cols;
}

/* Threads for X'B without the index, each with columns of its own: all rows are gone
 * through by each, which pays while it finds some entries in them. */
static int scatter_threads(const ferry_ctx *ctx, const ferry_matrix *x, int64_t k)
{
    const int threads = ferry_i_loop_threads(ctx, x->nnz * k);
    const int64_t pays = x->nnz / (3 * (x->rows > 0 ? x->rows : 1));

    return pays >= threads ? threads : pays > 1 ? (int)pays : 1;
}

/* Rows [from, to) of Y = alpha X'B + beta Y, where all entries of p lead. In panels when
 * there is room for them (rows of it as of Y): sums are made there and then brought to Y. */
static void scatter_some(ferry_product_fn *scatter, const ferry_product *p, int64_t rows,
                         int64_t from, int64_t to, double *room)
{
    ferry_product q = *p;

    q.far = is_far(to - from, p->k);
    /* the same for all panels: threads may be at different ones, and share the room */
    if (room) q.y_ld = p->k < PANEL ? panel_ld(p->k) : PANEL;
    if (!room) {
        scale(p->beta, (to - from) * p->k, p->y + from * p->k);
        scatter(&q, 0, rows);
    }
    for (int64_t c = 0; room && c < p->k; c += PANEL) {
        q.k = p->k - c < PANEL ? p->k - c : PANEL;
        q.b = p->b + c;
        q.y = room;
        memset(room + from * q.y_ld, 0, (size_t)((to - from) * q.y_ld) * sizeof *room);
        scatter(&q, 0, rows);
        for (int64_t j = from; j < to; j++)
            for (int64_t i = 0; i < q.k; i++) {
                double *const y = p->y + j * p->k + c + i;
                *y = room[j * q.y_ld + i] + (p->beta != 0 ? p->beta * *y : 0);
            }
    }
}

/* Every thread makes the rows of Y for some columns of X, from all rows in turn: sums have
 * the same order however many threads there are. */
static ferry_status scatter_columns(ferry_ctx *ctx, int threads, const ferry_matrix *x,
                                    const ferry_product *p, double *room)
{
    ferry_status st = FERRY_OK;
    ferry_product_fn *const scatter = ferry_i_kernels(ctx)->scatter;
    int64_t *cut = NULL, *count = NULL, *at = NULL;

    FERRY_NEW(ctx, cut, threads + 1);
    FERRY_NEW(ctx, count, x->cols);
    FERRY_NEW(ctx, at, (threads + 1) * x->rows);
    column_cuts(x, threads, count, cut);
    cut_rows(ctx, p, x->rows, threads, cut, at);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int64_t t = 0; t < threads; t++) {
        ferry_product mine = *p;
        mine.start = at + t * x->rows;
        mine.end = at + (t + 1) * x->rows;
        scatter_some(scatter, &mine, x->rows, cut[t], cut[t + 1], room);
    }
done:
    ferry_i_free(at);
    ferry_i_free(count);
    ferry_i_free(cut);
    return st;
}

/* With the index X'B is X'-by-rows, a product like any other. Memory without: a panel, and 8
 * bytes a row and thread. */
ferry_status ferry_i_csr_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                              const ferry_block *b, double beta, ferry_block *y)
{
    ferry_status st = FERRY_OK;
    ferry_product p = describe(alpha, x, b, beta, y, x->rows);

    if (ferry_i_matrix_indexed(x)) {
        p.start = x->t_start;
        p.end = x->t_start + 1;
        p.index = x->t_index;
        p.value = x->t_value;
        product_by_rows(ctx, &p, x->cols, x->rows);
        return st;
    }
    const int threads = scatter_threads(ctx, x, b->k);
    double *const room = panel_room(true, x->cols, b->k, x->nnz), *const to = on_line(room);
    if (threads > 1)
        st = scatter_columns(ctx, threads, x, &p, to);
    else
        scatter_some(ferry_i_kernels(ctx)->scatter, &p, x->rows, 0, x->cols, to);
    ferry_i_free(room);
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

ferry_status ferry_i_vb_half(ferry_ctx *ctx, const ferry_vb_half *asked)
{
    ferry_status st = FERRY_OK;
    ferry_vb_half v = *asked;
    ferry_vb_half_fn *const rows = ferry_i_kernels(ctx)->vb_half;
    const int threads = ferry_i_loop_threads(ctx, (v.x->nnz + v.x->rows) * v.d);
    const int64_t pieces = threads == 1 ? 1 : 16 * (int64_t)threads;
    double *space = NULL;

    v.w = (v.d + 3) / 4 * 4;
    const int64_t room = ferry_i_vb_space(v.w);
    FERRY_NEW(ctx, space, threads * room);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++)
        for (int64_t piece = t; piece < pieces; piece += threads)
            rows(&v, row_cut(v.x->rows, v.x->start, piece, pieces),
                 row_cut(v.x->rows, v.x->start, piece + 1, pieces), space + t * room);
done:
    ferry_i_free(space);
    return st;
}
