/* Kernels over the rows of a matrix: gamma > 0 means exp(-gamma |x - y|^2), gamma = 0 the
 * product x'y.
 * For methods whose solution is a combination of kernels with training rows, of which
 * there may be many: products with K are made, never K itself. Distances alone are
 * written out, n x n, for small n. */
#ifndef FERRY_KERNEL_H
#define FERRY_KERNEL_H

#include "linalg/linalg.h"

/* out (q->rows x b->k) <- K(q, x) B, a piece of K at a time: K itself is never whole.
 * O(|q| |x| (d + k)); x and q dense or CSR. */
ferry_status ferry_i_kernel_mul(ferry_ctx *ctx, double gamma, const ferry_matrix *x,
                                const ferry_matrix *q, const ferry_block *b,
                                ferry_block *out);
/* s (n x n) <- |x_i - x_j|^2. */
ferry_status ferry_i_kernel_distances(ferry_ctx *ctx, const ferry_matrix *x,
                                      ferry_small *s);
/* The usual gamma: 1 / median of the n (n - 1) / 2 distances; 1 when that is 0 or there are
 * none. */
ferry_status ferry_i_kernel_gamma(ferry_ctx *ctx, const ferry_small *s, double *gamma);
/* The same of a matrix, from at most 500 of its rows, evenly taken. */
ferry_status ferry_i_kernel_gamma_of(ferry_ctx *ctx, const ferry_matrix *x, double *gamma);

#endif
