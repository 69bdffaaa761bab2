/* Linear algebra: the operations every method is written in.
 *
 * Three types. `matrix` is a data matrix X (instances x features), dense or CSR, never
 * changed after it is built. `block` is tall and thin (rows x k, one row after the other;
 * LAPACK sees k x rows, column-major). `small` is k1 x k2 on the host, column-major as
 * LAPACK wants it.
 *
 * Shapes are checked by assert (our own mistakes); data by whoever imports it. Nothing here
 * allocates unless it says so. Outputs never overlap inputs.
 */
#ifndef FERRY_LINALG_H
#define FERRY_LINALG_H

#include "core/core.h"
#include "ferry/array.h"

/* ---- matrix ---- */

typedef struct ferry_matrix {
    int64_t rows, cols; /* instances, features */
    int64_t nnz;        /* stored entries; rows * cols when dense */
    double *dense;      /* rows x cols, one row after the other; NULL when sparse */
    int64_t *start;     /* CSR: rows + 1 */
    int32_t *index;     /* CSR: nnz, ascending within a row */
    double *value;      /* CSR: nnz */
    /* CSR of the transpose, made by ferry_i_matrix_index() for X'B; NULL until then. */
    int64_t *t_start;             /* cols + 1 */
    int32_t *t_index;             /* nnz, the row of each entry */
    double *t_value;              /* nnz */
    int refs;                     /* shared: ferry_i_matrix_ref / _free */
    struct ferry_matrix *pattern; /* whose start and index we borrow, or NULL */
} ferry_matrix;

/* New zeroed dense matrix, to be filled by its maker before anyone else sees it. */
ferry_status ferry_i_matrix_dense(ferry_ctx *ctx, int64_t rows, int64_t cols,
                                  ferry_matrix **out);
/* New CSR with room for nnz entries; start is zeroed. Same rule. */
ferry_status ferry_i_matrix_csr(ferry_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz,
                                ferry_matrix **out);
/* Copy from the caller's arrays; sparse: checks order, range and finite values
 * (FERRY_EINVAL). */
ferry_status ferry_i_matrix_from_array(ferry_ctx *ctx, const ferry_array *a,
                                       ferry_matrix **out);
ferry_status ferry_i_matrix_from_sparse(ferry_ctx *ctx, const ferry_sparse *s,
                                        ferry_matrix **out);
/* Same pattern as CSR x, own values (nnz, zeroed). */
ferry_status ferry_i_matrix_like(ferry_ctx *ctx, ferry_matrix *x, ferry_matrix **out);
/* Rows rows[0..n) of x, in that order (rows may repeat), and columns mapped: new column of
 * old column j is map[j] (-1 drops it; NULL keeps all), new_cols of them, no two the same.
 * Row number -1 gives an all-zero row. */
ferry_status ferry_i_matrix_take(ferry_ctx *ctx, const ferry_matrix *x, int64_t n,
                                 const int64_t *rows, int64_t new_cols, const int32_t *map,
                                 ferry_matrix **out);
/* Stack matrices with equal cols on top of each other (dense unless all are sparse). */
ferry_status ferry_i_matrix_stack(ferry_ctx *ctx, int64_t n,
                                  const ferry_matrix *const *parts, ferry_matrix **out);
/* Side by side, equal rows (dense unless all are sparse). */
ferry_status ferry_i_matrix_join(ferry_ctx *ctx, int64_t n,
                                 const ferry_matrix *const *parts, ferry_matrix **out);
/* Dense copy of a CSR matrix (small shapes only: the caller has decided). */
ferry_status ferry_i_matrix_densify(ferry_ctx *ctx, const ferry_matrix *x,
                                    ferry_matrix **out);
/* X' as a matrix of its own, CSR of CSR x: for who needs rows of X' (X'B alone wants only the
 * index below). 12 bytes an entry. */
ferry_status ferry_i_matrix_transpose(ferry_ctx *ctx, const ferry_matrix *x,
                                      ferry_matrix **out);
/* Build the transposed index once, where X'B is needed many times and in threads: then its
 * bits do not depend on the thread count either. Costs 12 bytes an entry. Does nothing for
 * dense matrices and for those made by _like, whose values their maker may set again. */
ferry_status ferry_i_matrix_index(ferry_ctx *ctx, ferry_matrix *x);
ferry_matrix *ferry_i_matrix_ref(ferry_matrix *x); /* one more owner */
void ferry_i_matrix_free(ferry_matrix *x);         /* one owner less */

/* ---- block and small ---- */

typedef struct ferry_block {
    int64_t rows, k;
    double *data; /* element (i, j) is data[i * k + j] */
} ferry_block;

typedef struct ferry_small {
    int64_t rows, cols;
    double *data; /* element (i, j) is data[i + j * rows] */
} ferry_small;

ferry_status ferry_i_block_new(ferry_ctx *ctx, int64_t rows, int64_t k,
                               ferry_block **out); /* zero */
void ferry_i_block_free(ferry_block *b);
void ferry_i_block_copy(const ferry_block *from, ferry_block *to);
ferry_status ferry_i_small_new(ferry_ctx *ctx, int64_t rows, int64_t cols,
                               ferry_small **out);
void ferry_i_small_free(ferry_small *s);
#define FERRY_AT(s, i, j) ((s)->data[(i) + (j) * (s)->rows]) /* element of a small */
#define FERRY_ROW(b, i) ((b)->data + (i) * (b)->k)           /* row of a block */

/* ---- the engine ---- */

/* y <- A x for a symmetric operator of size n on blocks of k columns. */
typedef ferry_status (*ferry_operator)(ferry_ctx *ctx, void *arg, const ferry_block *x,
                                       ferry_block *y);

/* Axis of a sum, norm or scaling. */
typedef enum ferry_axis { FERRY_ROWS = 0, FERRY_COLS = 1 } ferry_axis;

typedef struct ferry_engine {
    const char *name, *summary;
    /* Products of a data matrix. Y (n x k) <- alpha X B + beta Y, B d x k; Y (d x k) <-
     * alpha X'B + beta Y. tmul allocates a Y per further thread unless X has its index. */
    void (*mul)(ferry_ctx *, double alpha, const ferry_matrix *x, const ferry_block *b,
                double beta, ferry_block *y);
    ferry_status (*tmul)(ferry_ctx *, double alpha, const ferry_matrix *x,
                         const ferry_block *b, double beta, ferry_block *y);
    /* S (rows x rows) <- X X', S (cols x cols) <- X'X; both triangles filled. */
    void (*xxt)(ferry_ctx *, const ferry_matrix *x, ferry_small *s);
    ferry_status (*xtx)(ferry_ctx *, const ferry_matrix *x, ferry_small *s);
    /* out[e] <- <B[i], C[j]> for every stored entry e = (i, j) of x (dense x: all). out may
     * be x's sibling's values. */
    void (*sddmm)(ferry_ctx *, const ferry_matrix *x, const ferry_block *b,
                  const ferry_block *c, double *out);
    /* Two products with what a factorisation has at the stored entries of CSR x, which is
     * not kept: N[i] <- sum_j x_ij C[j] and D[i] <- sum_j <A[i], C[j]> C[j]. N may be NULL.
     */
    void (*masked)(ferry_ctx *, const ferry_matrix *x, const ferry_block *a,
                   const ferry_block *c, ferry_block *n, ferry_block *d);
    /* One half of alternating least squares: every row of P solves
     *   (lambda_i I + sum_j q_j q_j') p_i = y_i,  y_i = sum_j x_ij q_j
     * over the stored entries of row i of CSR x; without entries it is 0. lambda_i is
     * lambda > 0, times the number of entries when `weighted`.
     * gain (one per row, may be NULL): <p_i, y_i>, by which the row's squares are less than
     * those of x: sum_j (x_ij - <p_i, q_j>)^2 + lambda_i |p_i|^2 = sum_j x_ij^2 - gain_i.
     * Allocates. */
    ferry_status (*ridge_rows)(ferry_ctx *, const ferry_matrix *x, const ferry_block *q,
                               double lambda, bool weighted, ferry_block *p, double *gain);
    /* sums[i] of x^power along an axis (power 1 or 2): FERRY_ROWS gives one per row. */
    ferry_status (*sums)(ferry_ctx *, const ferry_matrix *x, ferry_axis axis, int power,
                         double *out);

    /* Blocks. S (k1 x k2) <- B'C. */
    void (*gram)(ferry_ctx *, const ferry_block *b, const ferry_block *c, ferry_small *s);
    /* Y <- alpha B S + beta Y, or B S' when trans. */
    void (*bmul)(ferry_ctx *, double alpha, const ferry_block *b, const ferry_small *s,
                 bool trans, double beta, ferry_block *y);
    /* B <- B o (N / max(D, floor))^exponent, then entries below tiny become 0. exponent 0.5
     * or 1, floor > 0. */
    void (*mulup)(ferry_ctx *, ferry_block *b, const ferry_block *n, const ferry_block *d,
                  double exponent, double floor, double tiny);
    /* sums of |b|^power (power 1: b itself, 2: squares) along an axis. */
    void (*bsums)(ferry_ctx *, const ferry_block *b, ferry_axis axis, int power,
                  double *out);
    /* multiply row i (FERRY_ROWS) or column j (FERRY_COLS) by f[.]. */
    void (*bscale)(ferry_ctx *, ferry_block *b, ferry_axis axis, const double *f);
    /* C <- alpha B + beta C. */
    void (*axpby)(ferry_ctx *, double alpha, const ferry_block *b, double beta,
                  ferry_block *c);
    double (*dot)(ferry_ctx *, const ferry_block *b, const ferry_block *c);

    /* The k algebraically largest eigenpairs of a symmetric operator of size n: values
     * descending, vectors (n x k) orthonormal, sign fixed (largest |entry| positive, the
     * first of equals). Allocates. tol 0: machine precision. FERRY_ENUMERIC when it does
     * not converge. */
    ferry_status (*eigs)(ferry_ctx *, int64_t n, ferry_operator op, void *arg, int64_t k,
                         double tol, double *values, ferry_block *vectors);

    /* Small dense. Each overwrites its inputs as said. */
    /* A = Q diag(w) Q', w ascending; A <- Q, signs fixed as above. */
    ferry_status (*eigh)(ferry_ctx *, ferry_small *a, double *w);
    /* A x = w B x, B positive definite; A <- X with X'BX = I, w ascending, signs fixed; B
     * destroyed. */
    ferry_status (*eigh2)(ferry_ctx *, ferry_small *a, ferry_small *b, double *w);
    /* A (m x n) = U diag(s) V', s descending, r = min(m, n): U m x r, V n x r, signs of U's
     * columns fixed as above. A destroyed. */
    ferry_status (*svd)(ferry_ctx *, ferry_small *a, ferry_small *u, double *s,
                        ferry_small *v);
    /* A (m x n, m >= n) = Q R; A <- Q, r n x n upper with diagonal >= 0. */
    ferry_status (*qr)(ferry_ctx *, ferry_small *a, ferry_small *r);
    /* A = L L'; A <- L (upper part zeroed). FERRY_ENUMERIC when not positive definite. */
    ferry_status (*chol)(ferry_ctx *, ferry_small *a);
    /* X <- A^-1 X given L from chol; rows of a block are right-hand sides in
     * solve_block. */
    void (*chol_solve)(ferry_ctx *, const ferry_small *l, ferry_small *x);
    void (*chol_solve_block)(ferry_ctx *, const ferry_small *l,
                             ferry_block *x); /* X <- X A^-1 */
    /* X <- A^-1 X by LU; A destroyed. FERRY_ENUMERIC when singular. */
    ferry_status (*solve)(ferry_ctx *, ferry_small *a, ferry_small *x);
    /* X (m x n) <- the solution of A X + X B = X, A m x m, B n x n; A, B destroyed.
     * FERRY_ENUMERIC when A and -B have an eigenvalue in common. */
    ferry_status (*sylvester)(ferry_ctx *, ferry_small *a, ferry_small *b, ferry_small *x);
    /* C (m x n) <- alpha op(A) op(B) + beta C on smalls. */
    void (*gemm)(ferry_ctx *, bool ta, bool tb, double alpha, const ferry_small *a,
                 const ferry_small *b, double beta, ferry_small *c);
} ferry_engine;

/* Methods write ferry_e(ctx)->mul(ctx, ...). */
static inline const ferry_engine *ferry_e(const ferry_ctx *ctx)
{
    return ctx->engine;
}

extern const ferry_engine ferry_i_engine_ref, ferry_i_engine_host;
const ferry_engine *ferry_i_engine_find(const char *name); /* NULL: unknown */
int64_t ferry_i_engine_count(void);
const ferry_engine *ferry_i_engine_at(int64_t i);

/* Shared by all engines: fills and fixes that need no speed. */
void ferry_i_fill_uniform(ferry_block *b, ferry_rng *rng, double lo, double hi);
void ferry_i_fill_normal(ferry_block *b, ferry_rng *rng);
/* Turn x so that its largest |entry| (the first of equals) is positive; whether it
 * turned. */
bool ferry_i_fix_sign(int64_t n, double *x, int64_t stride);
double ferry_i_matrix_norm2(const ferry_matrix *x); /* squared Frobenius norm */

/* Version and build of the BLAS, for ferry_doctor(). ferry_blas_core() is public. */
const char *ferry_i_blas_config(void);

#endif
