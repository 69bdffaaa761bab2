/* The largest eigenvalues of a symmetric operator, by the way that suits its size (eigs.c). */
#ifndef FERRY_EIGS_H
#define FERRY_EIGS_H

#include "linalg/ops.h"

/* y <- A u for a block of vectors; A is symmetric. The same for the same u. */
typedef void multiply(scope *s, void *arg, block u, block y);

/* n x d, orthonormal, the largest entry of each positive; values (d): the algebraically largest ones, descending. */
block largest_eigen(scope *s, int64_t n, multiply *by, void *arg, int64_t d,
                    double *values);
/* Whether A of n columns is written out for that; else by products alone, which is another call where n is small. */
bool eigen_is_dense(int64_t n);
block largest_by_products(scope *s, int64_t n, multiply *by, void *arg, int64_t d,
                          double *values);
/* A itself, from its products with the unit vectors. */
small operator_matrix(scope *s, int64_t n, multiply *by, void *arg);

#endif
