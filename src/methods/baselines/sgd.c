/* Stochastic gradient descent for mf. Every rating e_ij, with d = e_ij - <p_i, q_j>,
 * moves
 *
 *   p_i <- (p_i + rate d q_j) / (1 + rate lambda / n_i)
 *   q_j <- (q_j + rate d p_i) / (1 + rate lambda / n_j)
 *
 * where n_i and n_j count the ratings of the user and the item (1 when lambda is for
 * each rating): over a whole sweep these are gradient steps of sum d^2 + lambda (|P|^2 +
 * |Q|^2), taken implicitly in the ridge, so that no lambda makes them diverge.
 *
 * Users and items are dealt out to GRID bands each. A sweep takes GRID rounds; in a
 * round the blocks (b, b + round) share neither a user nor an item, so threads may take
 * one each and the bits do not depend on how many there are. Ratings of a block stand in
 * random order. */
#include <math.h>

#include "methods/baselines/sgd.h"

enum { GRID = 8 };

/* Users and items are dealt to bands like cards: active ones, which often stand together
 * in a file, do not end up in one block. */
static int64_t block_of(int64_t user, int64_t item)
{
    return user % GRID * GRID + item % GRID;
}

void ferry_i_sgd_clear(sgd *s)
{
    FERRY_FREE(s->user, s->item, s->value, s->start);
    *s = (sgd){NULL, NULL, NULL, NULL};
}

/* Two passes: count the blocks, then put every rating at a random place of its block. */
ferry_status ferry_i_sgd_new(ferry_ctx *ctx, const ferry_matrix *x, double unit,
                             ferry_rng *rng, sgd *s)
{
    ferry_status st = FERRY_OK;
    int64_t next[GRID * GRID] = {0};

    FERRY_NEW(ctx, s->user, x->nnz);
    FERRY_NEW(ctx, s->item, x->nnz);
    FERRY_NEW(ctx, s->value, x->nnz);
    FERRY_NEW(ctx, s->start, GRID * GRID + 1);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            s->start[block_of(i, x->index[e]) + 1]++;
    for (int64_t b = 0; b < GRID * GRID; b++) {
        s->start[b + 1] += s->start[b];
        next[b] = s->start[b];
    }
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const int64_t b = block_of(i, x->index[e]), from = s->start[b], at = next[b]++;
            /* Fisher and Yates from the inside out: the new one takes a random place. */
            const int64_t to =
                from + (int64_t)ferry_i_rng_below(rng, (uint64_t)(at - from + 1));
            s->user[at] = s->user[to];
            s->item[at] = s->item[to];
            s->value[at] = s->value[to];
            s->user[to] = (int32_t)i;
            s->item[to] = x->index[e];
            s->value[to] = x->value[e] / unit;
        }
    }
done:
    if (st != FERRY_OK) ferry_i_sgd_clear(s);
    return st;
}

/* One block; counts from the starts of the two CSR matrices. */
static void descend(const sgd *s, int64_t b, const observed *x, double lambda,
                    bool weighted, double rate, ferry_block *p, ferry_block *q)
{
    const int64_t k = p->k;

    for (int64_t e = s->start[b]; e < s->start[b + 1]; e++) {
        const int64_t i = s->user[e], j = s->item[e];
        const double ni = weighted ? 1 : (double)(x->x->start[i + 1] - x->x->start[i]);
        const double nj = weighted ? 1 : (double)(x->xt->start[j + 1] - x->xt->start[j]);
        const double fi = 1 / (1 + rate * lambda / ni), fj = 1 / (1 + rate * lambda / nj);
        double *restrict pi = FERRY_ROW(p, i), *restrict qj = FERRY_ROW(q, j);
        double d = s->value[e];
#pragma omp simd reduction(- : d)
        for (int64_t c = 0; c < k; c++)
            d -= pi[c] * qj[c];
        d *= rate;
#pragma omp simd
        for (int64_t c = 0; c < k; c++) {
            const double before = pi[c];
            pi[c] = fi * (before + d * qj[c]);
            qj[c] = fj * (qj[c] + d * before);
        }
    }
}

/* Small problems stay on one thread: starting others would cost more than it saves. */
void ferry_i_sgd_sweep(ferry_ctx *ctx, const sgd *s, const observed *x, double lambda,
                       bool weighted, double rate, ferry_block *p, ferry_block *q)
{
    const int threads = x->x->nnz * p->k < 100000 ? 1 : ctx->threads;

    for (int64_t round = 0; round < GRID; round++) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
        for (int64_t b = 0; b < GRID; b++)
            descend(s, b * GRID + (b + round) % GRID, x, lambda, weighted, rate, p, q);
    }
}
