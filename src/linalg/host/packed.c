/* Operations on packed data (linalg/packed.h): pieces of it in threads, each by a kernel.
 * Pieces do not depend on the number of threads and are added up in order, so the bits do
 * not depend on it either. */
#include <stdlib.h>

#include "linalg/host/host.h"
#include "linalg/host/kernels.h"

/* ---- tiles ---- */

/* A tile costs its numbers of F; below this many a team of threads costs more than it saves. */
static int tile_threads(const ferry_ctx *ctx, const ferry_tiles *t)
{
    return t->n * FERRY_TILE * t->width > 100000 ? ctx->threads : 1;
}

/* Each piece has sums of its own, FERRY_TILE_ROOM times as wide as the result for the
 * kernels' lanes; then all are added to those of the first piece, in order. */
void ferry_i_host_tiles_step(ferry_ctx *ctx, const ferry_tiles *t)
{
    ferry_tiles_step_fn *const step = ferry_i_kernels(ctx)->tiles_step;
    const int64_t size = ferry_i_tiles_sums(t);

#pragma omp parallel for num_threads(tile_threads(ctx, t)) schedule(static)
    for (int64_t piece = 0; piece < t->pieces; piece++)
        step(t, ferry_i_piece(t->n, piece, t->pieces),
             ferry_i_piece(t->n, piece + 1, t->pieces),
             t->sums + piece * size * FERRY_TILE_ROOM);
    for (int64_t piece = 1; piece < t->pieces; piece++)
        for (int64_t e = 0; e < size; e++)
            t->sums[e] += t->sums[piece * size * FERRY_TILE_ROOM + e];
}

/* Every feature's row of H is written by one tile, so there is nothing to add up. */
void ferry_i_host_tiles_model(ferry_ctx *ctx, const ferry_tiles *t)
{
    ferry_tiles_fn *const model = ferry_i_kernels(ctx)->tiles_model;

#pragma omp parallel for num_threads(tile_threads(ctx, t)) schedule(static)
    for (int64_t piece = 0; piece < t->pieces; piece++)
        model(t, ferry_i_piece(t->n, piece, t->pieces),
              ferry_i_piece(t->n, piece + 1, t->pieces));
}

/* ---- consensus ---- */

/* scaled <- u times the factors of the columns; less_j <- what the shifts take off.
 * Factors are multiplied in and out here, cols numbers each, so that the loops over
 * entries need none: a pattern of ones is then read without values. */
static void scale_in(ferry_consensus *z, const double *u)
{
    for (int64_t j = 0; j < z->p; j++) {
        const ferry_consensus_view *v = &z->view[j];
        z->less[j] = 0;
        for (int64_t i = 0; i < v->cols; i++) {
            z->scaled[v->at + i] = v->factor[i] * u[v->at + i];
            if (v->shift) z->less[j] += v->f * v->shift[i] * u[v->at + i];
        }
    }
}

/* y <- the pieces in order, times the factors, less the shifts.
 * y_j = diag(factor) X_j'r - f shift (sum of r where the view is there). */
static void scale_out(const ferry_consensus *z, double *y)
{
    for (int64_t j = 0; j < z->p; j++) {
        const ferry_consensus_view *v = &z->view[j];
        double sum = 0;
        for (int64_t piece = 0; piece < FERRY_CONSENSUS_PIECES; piece++)
            sum += z->sum[piece][j];
        for (int64_t i = 0; i < v->cols; i++) {
            double add = 0;
            for (int64_t piece = 0; piece < FERRY_CONSENSUS_PIECES; piece++)
                add += z->y[piece * z->size + v->at + i];
            y[v->at + i] = v->factor[i] * add - (v->shift ? v->f * v->shift[i] * sum : 0);
        }
    }
}

/* Two passes over the instances with one barrier between them: r of an instance needs
 * the t of its neighbours, which other threads have made. A piece adds to a y of its
 * own. */
void ferry_i_host_consensus_mul(ferry_ctx *ctx, ferry_consensus *z, const double *u,
                                double *y)
{
    const ferry_kernels *k = ferry_i_kernels(ctx);
    enum { PIECES = FERRY_CONSENSUS_PIECES };

    scale_in(z, u);
#pragma omp parallel num_threads(ctx->threads)
    {
#pragma omp for schedule(static)
        for (int64_t piece = 0; piece < PIECES; piece++)
            k->consensus_forward(z, z->m * piece / PIECES, z->m * (piece + 1) / PIECES);
#pragma omp for schedule(static)
        for (int64_t piece = 0; piece < PIECES; piece++)
            k->consensus_backward(z, z->m * piece / PIECES, z->m * (piece + 1) / PIECES,
                                  z->y + piece * z->size, z->sum[piece]);
    }
    scale_out(z, y);
}

/* ---- single rows: in whatever thread calls ---- */

/* Without the check of the machine, which writes to the context: these run inside
 * threads. */
static const ferry_kernels *here(const ferry_ctx *ctx)
{
    return ferry_i_kernels_of((ferry_isa)ctx->isa);
}

void ferry_i_host_row_mul(const ferry_ctx *ctx, int64_t n, const double *v,
                          const int32_t *index, const double *w, int64_t wide, double *s)
{
    here(ctx)->row_mul(n, v, index, w, wide, s);
}

void ferry_i_host_row_add(const ferry_ctx *ctx, int64_t n, const double *v,
                          const int32_t *index, double *w, int64_t wide, const double *add)
{
    here(ctx)->row_add(n, v, index, w, wide, add);
}

double ferry_i_host_pair_steps(const ferry_ctx *ctx, const ferry_label_pairs *p, double *a,
                               double *s, double *add, double *gap)
{
    return here(ctx)->pair_steps(p, a, s, add, gap);
}

/* ---- operations without a context, which ask for the instruction set themselves ---- */

/* Threads that race here all find the same answer. */
static const ferry_kernels *anywhere(void)
{
    static int chosen = -1; /* the environment is asked once a process */
    int isa = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

    if (isa < 0) {
        isa = (int)ferry_i_isa_choose(getenv("FERRY_ISA"), NULL);
        __atomic_store_n(&chosen, isa, __ATOMIC_RELAXED);
    }
    return ferry_i_kernels_of((ferry_isa)isa);
}

void ferry_i_rows_dot(int64_t rows, int64_t d, const double *a, const double *x,
                      double *out)
{
    anywhere()->rows_dot(rows, d, a, x, out);
}

void ferry_i_rounded_dots(int64_t rows, int64_t d, const float *a, const float *x,
                          double *out)
{
    anywhere()->rounded_dots(rows, d, a, x, out);
}

double ferry_i_round_row(int64_t n, const double *v, float *to)
{
    return anywhere()->round_row(n, v, to);
}

void ferry_i_asked_dots(const ferry_asked *a, int64_t rows, const float *const *b,
                        double *out)
{
    anywhere()->asked_dots(a, rows, b, out);
}

void ferry_i_lower_systems(int64_t n, int64_t ld, const double *l, int64_t rows,
                           int64_t x_ld, double *x)
{
    anywhere()->lower_systems(n, ld, l, rows, x_ld, x);
}

void ferry_i_lower_products(int64_t n, int64_t d, const double *x, int64_t ld, double *a)
{
    anywhere()->lower_products(n, d, x, ld, a);
}

void ferry_i_column_sums(const ferry_columns *c, int64_t rows, int64_t stride,
                         const double *v)
{
    anywhere()->column_sums(c, rows, stride, v);
}

void ferry_i_column_squares(const ferry_columns *c, int64_t rows, int64_t stride,
                            const double *v)
{
    anywhere()->column_squares(c, rows, stride, v);
}

void ferry_i_column_halves(ferry_halves *h, int64_t n, const double *v)
{
    anywhere()->column_halves(h, n, v);
}

void ferry_i_row_fill(int64_t n, const double *v, const double *fill, const double *shift,
                      const double *factor, double *to, double *squares)
{
    anywhere()->row_fill(n, v, fill, shift, factor, to, squares);
}

void ferry_i_row_times(int64_t n, double by, double *v)
{
    anywhere()->row_times(n, by, v);
}

double ferry_i_row_squares(int64_t n, const double *v)
{
    return anywhere()->row_squares(n, v);
}

int64_t ferry_i_row_infinite(int64_t n, const double *v)
{
    return anywhere()->row_infinite(n, v);
}
