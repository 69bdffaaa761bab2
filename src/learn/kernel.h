/* Kernels over the rows of a matrix: gamma > 0 means exp(-gamma |x - y|^2), gamma = 0 the product x'y.
 * For methods whose solution is a combination of kernels with training rows, of which there may be many: products with
 * K are made, never K itself. Distances alone are written out, n x n, for small n. All rows are here. */
#ifndef FERRY_KERNEL_H
#define FERRY_KERNEL_H

#include "linalg/ops.h"

/* out (q.n x b.k) <- K(q, x) B, a piece of K at a time. O(|q| |x| (d + k)); x and q dense or CSR. */
void kernel_mul(scope *s, double gamma, matrix x, matrix q, block b, block out);
/* n x n: |x_i - x_j|^2. */
small squared_distances(scope *s, matrix x);
/* The usual gamma: 1 / median of the n (n - 1) / 2 distances; 1 when that is 0 or there are none. */
double kernel_gamma(scope *s, small d2);
/* The same of a matrix, from at most 500 of its rows, evenly taken. */
double kernel_gamma_of(scope *s, matrix x);

#endif
