/* Least squares with weights that are not negative, for a handful of them. */
#ifndef FERRY_NNLS_H
#define FERRY_NNLS_H

#include <stdbool.h>
#include <stdint.h>

enum { FERRY_NNLS_MOST = 32 };

/* a (n x n, symmetric positive definite, lower triangle read) <- its Cholesky factor, the
 * lower triangle. False: it is not positive definite. */
bool ferry_i_factor(int64_t n, double *a);
/* x <- A^-1 x from the factor. */
void ferry_i_factor_solve(int64_t n, const double *l, double *x);

/* w (n <= FERRY_NNLS_MOST) <- argmin w'Aw / 2 - c'w, w >= 0, for A as above. Lawson and
 * Hanson, Solving Least Squares Problems, 1974: exact, after finitely many steps. */
void ferry_i_nnls(int64_t n, const double *a, const double *c, double *w);

#endif
