/* The largest eigenvalues of a symmetric operator, by the way that suits its size. */
#ifndef FERRY_EIGEN_H
#define FERRY_EIGEN_H

#include "linalg/linalg.h"

typedef enum ferry_eigen_solver {
    FERRY_EIGEN_AUTO,    /* dense up to 1500 */
    FERRY_EIGEN_DENSE,   /* write the matrix out: O(n^3), n <= 2000 */
    FERRY_EIGEN_OPERATOR /* Lanczos: products only */
} ferry_eigen_solver;
#define FERRY_EIGEN_OPT(T)                                                                 \
    FERRY_OPT_ONE_OF(T, solver, "auto|dense|operator", "auto",                             \
                     "eigenproblem: write the matrix out, or only multiply by it; auto: "  \
                     "dense up to 1500 columns")

/* y <- A x for a block of vectors; A is n x n and symmetric. */
typedef struct ferry_eigen_problem {
    /* size of A */
    int64_t n;
    /* the product, with `arg` handed through; must give the same for the same input */
    ferry_operator op;
    void *arg;
    ferry_eigen_solver solver;
} ferry_eigen_problem;

/* Whether A will be written out. */
bool ferry_i_eigen_dense(const ferry_eigen_problem *a);
/* A itself, from its products with the unit vectors. */
ferry_status ferry_i_eigen_matrix(ferry_ctx *ctx, const ferry_eigen_problem *a,
                                  ferry_small **out);
/* The d algebraically largest eigenvalues, descending, and their vectors (n x d),
 * orthonormal, the largest entry of each positive. FERRY_EINVAL when solver = dense and n
 * is too large for it. */
ferry_status ferry_i_eigen_largest(ferry_ctx *ctx, const ferry_eigen_problem *a, int64_t d,
                                   double *values, ferry_block *u);

#endif
