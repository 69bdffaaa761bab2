/* One half of variational Bayes for ratings with diagonal covariances (learn/vb.h). */
#ifndef FERRY_LINALG_VB_ROWS_H
#define FERRY_LINALG_VB_ROWS_H

#include "linalg/linalg.h"

/* Row i of CSR x given the other side, y_j = (b_j, q_j) of d numbers with variances var_j. With
 * phi_j = (1, q_j) and t = (x_ij - mu) / sd - b_j,
 *
 *   M = sum_j (phi phi' + diag(0, var_j[1:])) + diag(ridge),   c = sum_j t phi_j,
 *   z = M^-1 c,   cov = s2 diag(M^-1),
 *   sse = sum_j (t^2 + var_j[0]) - z'c - sum ridge z^2 + s2 d - sum ridge cov,
 *
 * the squares that are expected to be left. */
typedef struct ferry_vb_half {
    const ferry_matrix *x;
    int64_t d, w; /* w: d filled up to a multiple of four; the driver sets it */
    double mu, sd, s2;
    const double *y, *var; /* x->cols x d */
    const double *ridge;   /* d: s2 / variance, above 0 */
    double *z, *cov, *sse; /* x->rows x d, and x->rows */
} ferry_vb_half;

/* In the context's threads; the bits depend on neither them nor the CPU. O(nnz d^2 + n d^3). */
ferry_status ferry_i_vb_half(ferry_ctx *ctx, const ferry_vb_half *v);

#endif
