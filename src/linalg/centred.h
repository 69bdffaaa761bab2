/* A matrix less its column means, without writing the difference out.
 *
 *   X = x - present shift'         (m x cols)
 *
 * Principal components need centred columns, but a sparse x less its means is dense. So the
 * means stay beside the matrix and come off in each product: a rank-one term, O(m + cols) a
 * vector. `present` is 0 for a row that is not there; such a row of x is all zero and stays
 * so in X, which puts the instance at the mean of the others. */
#ifndef FERRY_CENTRED_H
#define FERRY_CENTRED_H

#include "linalg/linalg.h"

typedef struct ferry_centred {
    ferry_matrix *x;
    double *shift;   /* cols, or NULL: x is centred as it is */
    double *present; /* m: 1 or 0; NULL: all rows are there */
} ferry_centred;

/* Frees what it holds (x loses one owner) and leaves zeros. */
void ferry_i_centred_clear(ferry_centred *c);
/* Whether row i is there. */
static inline bool ferry_i_centred_has(const ferry_centred *c, int64_t i)
{
    return !c->present || c->present[i] > 0;
}

/* t (m x k) <- X u, for any number k of vectors. */
void ferry_i_centred_mul(ferry_ctx *ctx, const ferry_centred *c, const ferry_block *u,
                         ferry_block *t);
/* y (cols x k) <- X'r. Fast for many calls once ferry_i_matrix_index(x) was made. */
ferry_status ferry_i_centred_tmul(ferry_ctx *ctx, const ferry_centred *c,
                                  const ferry_block *r, ferry_block *y);
/* Views side by side, Z = [X_1 .. X_p], which are never put together. Rows of U and Y go with the
 * columns of the views in turn. */
typedef struct ferry_side_by_side {
    int64_t m, p;
    const ferry_centred **x; /* p, of m rows each */
} ferry_side_by_side;
/* t (m x k) <- Z u; y (all columns x k) <- Z'r. O(entries k). */
ferry_status ferry_i_sides_mul(ferry_ctx *ctx, const ferry_side_by_side *z,
                               const ferry_block *u, ferry_block *t);
ferry_status ferry_i_sides_tmul(ferry_ctx *ctx, const ferry_side_by_side *z,
                                const ferry_block *r, ferry_block *y);
/* y <- Z'Z u, a ferry_operator for principal components; arg: a ferry_side_by_side. */
ferry_status ferry_i_sides_apply(ferry_ctx *ctx, void *arg, const ferry_block *u,
                                 ferry_block *y);
/* g (m x m) <- X X', which takes all rows: not of a matrix that is spread over ranks. */
ferry_status ferry_i_centred_gram(ferry_ctx *ctx, const ferry_centred *c, ferry_small *g);

#endif
