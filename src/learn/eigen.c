/* The largest eigenvalues of a symmetric operator (eigen.h).
 * Methods whose eigenproblem is a product of thin matrices (X'X + ..., kernels,
 * Laplacians) give it as an operator. Lanczos then needs some dozens of products; a small
 * problem is cheaper, and safer where eigenvalues are close together, as one dense
 * decomposition. */
#include "learn/eigen.h"

#include <assert.h>
#include <string.h>

/* Up to DENSE the whole decomposition is cheaper than the products that Lanczos takes
 * (measured with 10 to 20 vectors wanted); DENSE_MOST is 32 MB of matrix. Products
 * take PANEL vectors at once, so that what an operator keeps of each instance stays small. */
enum { DENSE = 1500, DENSE_MOST = 2000, PANEL = 64 };

bool ferry_i_eigen_dense(const ferry_eigen_problem *a)
{
    return a->solver == FERRY_EIGEN_DENSE ||
           (a->solver == FERRY_EIGEN_AUTO && a->n <= DENSE);
}

/* n / PANEL products of the operator with unit vectors; column j of A is A e_j. The
 * caller owns *out (n x n). */
ferry_status ferry_i_eigen_matrix(ferry_ctx *ctx, const ferry_eigen_problem *a,
                                  ferry_small **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = a->n;
    ferry_block *unit = NULL, *image = NULL;
    ferry_small *h = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_block_new(ctx, n, PANEL, &unit));
    FERRY_TRY(ferry_i_block_new(ctx, n, PANEL, &image));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &h));
    for (int64_t at = 0; at < n; at += PANEL) {
        const int64_t k = n - at < PANEL ? n - at : PANEL;
        ferry_block e = {n, k, unit->data}, ae = {n, k, image->data};
        /* columns at .. at + k of the identity, and their images */
        memset(e.data, 0, (size_t)(n * k) * sizeof *e.data);
        for (int64_t l = 0; l < k; l++)
            FERRY_ROW(&e, at + l)[l] = 1;
        /* the last panel may be narrower: e and ae are views of the same memory with
         * rows of k */
        FERRY_TRY(a->op(ctx, a->arg, &e, &ae));
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < k; l++)
                FERRY_AT(h, i, at + l) = FERRY_ROW(&ae, i)[l];
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++) /* symmetric but for rounding */
            FERRY_AT(h, i, j) = FERRY_AT(h, j, i) =
                (FERRY_AT(h, i, j) + FERRY_AT(h, j, i)) / 2;
    FERRY_MOVE(*out, h);
done:
    FERRY_FREE(unit, image, h);
    return st;
}

/* The last d columns of the whole decomposition, whose values ascend. */
static ferry_status largest_dense(ferry_ctx *ctx, const ferry_eigen_problem *a, int64_t d,
                                  double *values, ferry_block *u)
{
    ferry_status st = FERRY_OK;
    ferry_small *h = NULL;
    double *w = NULL;

    FERRY_NEW(ctx, w, a->n);
    FERRY_TRY(ferry_i_eigen_matrix(ctx, a, &h));
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, h, w));
    for (int64_t c = 0; c < d; c++) {
        values[c] = w[a->n - 1 - c];
        for (int64_t i = 0; i < a->n; i++)
            FERRY_ROW(u, i)[c] = FERRY_AT(h, i, a->n - 1 - c);
    }
done:
    FERRY_FREE(w, h);
    return st;
}

/* Refuses a dense problem that is too large instead of changing the solver behind the
 * user's back. 1e-10 is Lanczos' bound of a residual, relative to its eigenvalue. */
ferry_status ferry_i_eigen_largest(ferry_ctx *ctx, const ferry_eigen_problem *a, int64_t d,
                                   double *values, ferry_block *u)
{
    ferry_status st = FERRY_OK;

    assert(d <= a->n);
    FERRY_NEED(ctx, a->solver != FERRY_EIGEN_DENSE || a->n <= DENSE_MOST, FERRY_EINVAL,
               "solver = dense takes up to %d columns, here are %lld", DENSE_MOST,
               (long long)a->n);
    if (ferry_i_eigen_dense(a))
        FERRY_TRY(largest_dense(ctx, a, d, values, u));
    else
        FERRY_TRY(ferry_e(ctx)->eigs(ctx, a->n, a->op, a->arg, d, 1e-10, values, u));
done:
    return st;
}
