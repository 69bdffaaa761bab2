/* Inside the host engine.
 *
 * Rules that every operation keeps: BLAS is entered through ferry_i_blas_begin(),
 * threads come from the context, and our own sums are cut into pieces that do not depend
 * on how many threads there are (X'B without its index excepted). Shapes are asserted
 * here, at the door, and not again in the kernels. */
#ifndef FERRY_LINALG_HOST_H
#define FERRY_LINALG_HOST_H

#include <assert.h>

#include "linalg/linalg.h"

/* Before every call of BLAS or LAPACK: its thread count is global to the process, so it is
 * set to the context's. */
void ferry_i_blas_begin(ferry_ctx *ctx);
/* The same before eigenvalues or singular values of n rows, which small ones find on one thread. */
void ferry_i_lapack_begin(ferry_ctx *ctx, int64_t n);
/* Once per context, tell its log when BLAS runs kernels that do not fit this CPU, or when
 * FERRY_ISA asks for an instruction set that it has not. */
void ferry_i_check_machine(ferry_ctx *ctx);
/* The kernels to ask for on a CPU with these features when `core` is loaded: core itself
 * when it is as good; "" when there is nothing to ask for. halved: vectors of AVX-512 go in two halves. */
const char *ferry_i_blas_fitting(const char *core, bool avx2, bool avx512, bool halved);
/* Whether the kernels that are loaded multiply tall times narrow faster than narrow times wide. */
bool ferry_i_blas_tall(void);

/* Sizes were bounded when the objects were made: matrix, block and small refuse more. */
static inline int ferry_i_blas_int(int64_t n)
{
    assert(n >= 0 && n <= INT32_MAX);
    return (int)n;
}

/* Threads worth starting for this many element operations.
 * 1 for little work, where a team would cost more than it saves. */
int ferry_i_loop_threads(const ferry_ctx *ctx, int64_t work);

/* Fixed pieces of [0, n) that threads share out: bits never depend on the thread count.
 * Where piece number `piece` begins; the first n % pieces are longer by one. */
static inline int64_t ferry_i_piece(int64_t n, int64_t piece, int64_t pieces)
{
    return n / pieces * piece + (piece < n % pieces ? piece : n % pieces);
}

/* csr.c: what a CSR matrix is multiplied with, row by row. */
void ferry_i_csr_mul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                     const ferry_block *b, double beta, ferry_block *y);
ferry_status ferry_i_csr_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                              const ferry_block *b, double beta, ferry_block *y);
void ferry_i_host_masked(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *a,
                         const ferry_block *c, ferry_block *n, ferry_block *d);
ferry_status ferry_i_host_ridge_rows(ferry_ctx *ctx, const ferry_matrix *x,
                                     const ferry_block *q, double lambda, bool weighted,
                                     ferry_block *p, double *gain);
/* products.c: the other entries about data matrices. */
/* Y = alpha X B + beta Y, or with X'; X dense, turned: as dgemm of Y' (see there), else of Y. */
void ferry_i_dense_product(bool trans, bool turned, double alpha, const ferry_matrix *x,
                           const ferry_block *b, double beta, ferry_block *y);
void ferry_i_host_mul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                      const ferry_block *b, double beta, ferry_block *y);
ferry_status ferry_i_host_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                               const ferry_block *b, double beta, ferry_block *y);
void ferry_i_host_xxt(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s);
ferry_status ferry_i_host_xtx(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s);
void ferry_i_host_sddmm(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *b,
                        const ferry_block *c, double *out);
ferry_status ferry_i_host_sums(ferry_ctx *ctx, const ferry_matrix *x, ferry_axis axis,
                               int power, double *out);
/* blocks.c */
void ferry_i_host_gram(ferry_ctx *ctx, const ferry_block *b, const ferry_block *c,
                       ferry_small *s);
void ferry_i_host_bmul(ferry_ctx *ctx, double alpha, const ferry_block *b,
                       const ferry_small *s, bool trans, double beta, ferry_block *y);
void ferry_i_host_mulup(ferry_ctx *ctx, ferry_block *b, const ferry_block *n,
                        const ferry_block *d, double exponent, double floor, double tiny);
void ferry_i_host_bsums(ferry_ctx *ctx, const ferry_block *b, ferry_axis axis, int power,
                        double *out);
void ferry_i_host_bscale(ferry_ctx *ctx, ferry_block *b, ferry_axis axis, const double *f);
void ferry_i_host_axpby(ferry_ctx *ctx, double alpha, const ferry_block *b, double beta,
                        ferry_block *c);
double ferry_i_host_dot(ferry_ctx *ctx, const ferry_block *b, const ferry_block *c);
/* packed.c: packed data, and single rows. */
void ferry_i_host_tiles_step(ferry_ctx *ctx, const ferry_tiles *t);
void ferry_i_host_tiles_model(ferry_ctx *ctx, const ferry_tiles *t);
void ferry_i_host_consensus_mul(ferry_ctx *ctx, ferry_consensus *z, const double *u,
                                double *y);
void ferry_i_host_row_mul(const ferry_ctx *ctx, int64_t n, const double *v,
                          const int32_t *index, const double *w, int64_t wide, double *s);
void ferry_i_host_row_add(const ferry_ctx *ctx, int64_t n, const double *v,
                          const int32_t *index, double *w, int64_t wide, const double *add);
double ferry_i_host_pair_steps(const ferry_ctx *ctx, const ferry_label_pairs *p, double *a,
                               double *s, double *add, double *gap);
/* eigs.c */
ferry_status ferry_i_host_eigs(ferry_ctx *ctx, int64_t n, ferry_operator op, void *arg,
                               int64_t k, double tol, double *values, ferry_block *vectors);
/* small.c */
ferry_status ferry_i_host_eigh(ferry_ctx *ctx, ferry_small *a, double *w);
ferry_status ferry_i_host_svd(ferry_ctx *ctx, ferry_small *a, ferry_small *u, double *s,
                              ferry_small *v);
ferry_status ferry_i_host_qr(ferry_ctx *ctx, ferry_small *a, ferry_small *r);
ferry_status ferry_i_host_chol(ferry_ctx *ctx, ferry_small *a);
void ferry_i_host_chol_solve(ferry_ctx *ctx, const ferry_small *l, ferry_small *x);
ferry_status ferry_i_host_solve(ferry_ctx *ctx, ferry_small *a, ferry_small *x);
void ferry_i_host_gemm(ferry_ctx *ctx, bool ta, bool tb, double alpha, const ferry_small *a,
                       const ferry_small *b, double beta, ferry_small *c);

/* The operations that never add up over rows, or only where all rows are at hand: engine mpi has them too. */
#define FERRY_HOST_ROW_BY_ROW                                                              \
    .mul = ferry_i_host_mul, .sddmm = ferry_i_host_sddmm, .masked = ferry_i_host_masked,   \
    .ridge_rows = ferry_i_host_ridge_rows, .gram = ferry_i_host_gram,                      \
    .bmul = ferry_i_host_bmul, .bsums = ferry_i_host_bsums, .dot = ferry_i_host_dot,       \
    .mulup = ferry_i_host_mulup, .bscale = ferry_i_host_bscale,                            \
    .axpby = ferry_i_host_axpby, .row_mul = ferry_i_host_row_mul,                          \
    .row_add = ferry_i_host_row_add, .pair_steps = ferry_i_host_pair_steps,                \
    .tiles_step = ferry_i_host_tiles_step, .tiles_model = ferry_i_host_tiles_model,        \
    .eigs = ferry_i_host_eigs, .eigh = ferry_i_host_eigh, .svd = ferry_i_host_svd,         \
    .qr = ferry_i_host_qr, .chol = ferry_i_host_chol,                                      \
    .chol_solve = ferry_i_host_chol_solve, .solve = ferry_i_host_solve,                    \
    .gemm = ferry_i_host_gemm

#endif
