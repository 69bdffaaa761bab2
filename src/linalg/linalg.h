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
#include "linalg/packed.h"

/* ---- matrix ---- */

typedef struct ferry_matrix {
    int64_t rows, cols; /* instances, features */
    int64_t nnz;        /* stored entries; rows * cols when dense */
    double *dense;      /* rows x cols, one row after the other; NULL when sparse */
    int64_t *start;     /* CSR: rows + 1 */
    int32_t *index;     /* CSR: nnz, ascending within a row */
    double *value;      /* CSR: nnz */
    /* CSR of the transpose, made by ferry_i_matrix_index() for X'B; NULL until then. */
    int64_t *t_start; /* cols + 1 */
    int32_t *t_index; /* nnz, the row of each entry */
    double *t_value;  /* nnz */
    int refs;         /* shared: ferry_i_matrix_ref / _free */
    int64_t
        whole; /* these are one rank's rows of so many (core/ranks.h); 0: all there are */
    struct ferry_matrix *pattern; /* whose start and index we borrow, or NULL */
    bool
        lasting; /* it stays as it is until it is freed: an engine may keep a copy (ferry_i_matrix_index) */
    bool copied; /* one has: ferry_i_card_forget() when it ends */
    /* the caller's numbers, which nobody may change: told when they are no longer needed (may be NULL) */
    bool borrowed;
    ferry_release_fn release;
    void *keeper;
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
/* The caller's own arrays, until the last owner of the matrix lets go. `start` is taken over (ours to
 * free) and index and value are borrowed; it is freed also when the call fails. Same checks. */
ferry_status ferry_i_matrix_borrow_array(ferry_ctx *ctx, const ferry_array *a,
                                         ferry_matrix **out);
ferry_status ferry_i_matrix_borrow_sparse(ferry_ctx *ctx, int64_t rows, int64_t cols,
                                          int64_t *start, const int32_t *index,
                                          const double *value, ferry_matrix **out);
/* Same pattern as CSR x, own values (nnz, zeroed). */
ferry_status ferry_i_matrix_like(ferry_ctx *ctx, ferry_matrix *x, ferry_matrix **out);
/* First entry of row i of CSR x whose column is at least j: O(log entries). */
int64_t ferry_i_matrix_seek(const ferry_matrix *x, int64_t i, int64_t j);
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
/* CSR copy of a dense matrix, zeros left out. */
ferry_status ferry_i_matrix_sparsify(ferry_ctx *ctx, const ferry_matrix *x,
                                     ferry_matrix **out);
/* Side by side like _join, but CSR unless `dense`, which all parts then are: one sparse part
 * must not be made dense by the others. Parts may be exchanged for CSR copies; an only one
 * is moved out. */
ferry_status ferry_i_matrix_beside(ferry_ctx *ctx, bool dense, int64_t n,
                                   ferry_matrix **part, ferry_matrix **out);
/* Build the transposed index once, where X'B is needed many times and in threads. Costs 12
 * bytes an entry; of dense matrices none is made. The values must stay from here on: who sets those of a
 * sibling made by _like again and again makes no index of it, nor who fills a dense matrix again. */
ferry_status ferry_i_matrix_index(ferry_ctx *ctx, ferry_matrix *x);
/* Whether it is there; another thread may make it meanwhile. */
static inline bool ferry_i_matrix_indexed(const ferry_matrix *x)
{
    return __atomic_load_n(&x->t_start, __ATOMIC_ACQUIRE) != NULL;
}
/* Rows [from, from + n) of x, as a view of its numbers: x has one more owner. CSR: 8 bytes a row. */
ferry_status ferry_i_matrix_slice(ferry_ctx *ctx, ferry_matrix *x, int64_t from, int64_t n,
                                  ferry_matrix **out);
/* Rows of a matrix that its maker has just filled to length 1; those of zeros stay (unit.c). One row (index NULL:
 * dense) whose sum of squares is there. */
void ferry_i_rows_to_unit(ferry_matrix *x);
void ferry_i_row_to_unit(double sum, double *v, const int32_t *index, int64_t n);
ferry_matrix *ferry_i_matrix_ref(ferry_matrix *x); /* one more owner */
void ferry_i_matrix_free(ferry_matrix *x);         /* one owner less */

/* ---- block and small ---- */

/* Tall and thin: a row is short and contiguous, which is what products with X want. */
typedef struct ferry_block {
    int64_t rows, k;
    double *data; /* element (i, j) is data[i * k + j] */
} ferry_block;

/* Small enough for O(n^3): column-major, as LAPACK wants it. */
typedef struct ferry_small {
    int64_t rows, cols;
    double *data; /* element (i, j) is data[i + j * rows] */
} ferry_small;

/* New, all zero. Head and numbers are one allocation: FERRY_FREE frees blocks and smalls among other
 * arrays. FERRY_EINVAL when a side is beyond 2^31 - 1. */
ferry_status ferry_i_block_new(ferry_ctx *ctx, int64_t rows, int64_t k, ferry_block **out);
ferry_status ferry_i_small_new(ferry_ctx *ctx, int64_t rows, int64_t cols,
                               ferry_small **out);
void ferry_i_block_free(ferry_block *b);
void ferry_i_small_free(ferry_small *s);
/* to <- from, which has as many numbers. */
void ferry_i_block_copy(const ferry_block *from, ferry_block *to);
/* A block looked at as a dense matrix: borrows the numbers, is not to be freed or shared. */
static inline ferry_matrix ferry_i_block_matrix(const ferry_block *b)
{
    return (ferry_matrix){
        .rows = b->rows, .cols = b->k, .nnz = b->rows * b->k, .dense = b->data, .refs = 1};
}

/* ---- rows over ranks (engine mpi); elsewhere a matrix is whole and these do nothing ---- */

/* Rows of x on all ranks together. */
static inline int64_t ferry_i_all_rows(const ferry_matrix *x)
{
    return x->whole ? x->whole : x->rows;
}
/* v (n) <- what was added up over the rows of x, over those of all ranks. Whoever adds up rows without the operations
 * of the engine on x itself (X'B, X'X, sums of columns) asks for it. */
ferry_status ferry_i_sum_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t n, double *v);
/* Whether any row has it (flag: 0 or not). */
ferry_status ferry_i_any_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t n,
                              uint8_t *flag);
/* Number of this rank's first row among those of all ranks: what goes by row goes by this. */
ferry_status ferry_i_first_row(ferry_ctx *ctx, const ferry_matrix *x, int64_t *from);
/* Rows of all ranks in one place, where they are few or short: the matrix itself; items of `size` bytes, one for each
 * row. New memory, also where nothing is spread. */
ferry_status ferry_i_matrix_collect(ferry_ctx *ctx, const ferry_matrix *x,
                                    ferry_matrix **out);
ferry_status ferry_i_rows_collect(ferry_ctx *ctx, const ferry_matrix *x, size_t size,
                                  const void *mine, void **out);

#define FERRY_AT(s, i, j) ((s)->data[(i) + (j) * (s)->rows]) /* element of a small */
#define FERRY_ROW(b, i) ((b)->data + (i) * (b)->k)           /* row of a block */

/* ---- the engine ---- */

/* y <- A x for a symmetric operator of size n on blocks of k columns. */
typedef ferry_status (*ferry_operator)(ferry_ctx *ctx, void *arg, const ferry_block *x,
                                       ferry_block *y);

/* Axis of a sum, norm or scaling. */
typedef enum ferry_axis { FERRY_ROWS = 0, FERRY_COLS = 1 } ferry_axis;

struct ferry_near;

/* One line of operations after the other: what is computed, the shapes, the cost (n, d, k,
 * nnz as in the formula; "reads X once" where memory is what counts), and who wants it.
 * Outputs are overwritten unless a beta says otherwise; beta 0 forgets what was there, even
 * NaN. */
typedef struct ferry_engine {
    /* its name in ferry_ctx_set(), and one line about it for people */
    const char *name, *summary;

    /* ---- products of a data matrix X (n x d), dense or CSR ---- */

    /* Y (n x k) <- alpha X B + beta Y, B d x k. O(nnz k), reads X once. Scores of linear
     * models, embeddings, one half of every power or Lanczos step. */
    void (*mul)(ferry_ctx *, double alpha, const ferry_matrix *x, const ferry_block *b,
                double beta, ferry_block *y);
    /* Y (d x k) <- alpha X'B + beta Y, B n x k. O(nnz k); without the transposed index
     * (ferry_i_matrix_index) some threads at most share the work, and allocate 8 bytes a row
     * each. Gradients, class sums, the other half of such steps. */
    ferry_status (*tmul)(ferry_ctx *, double alpha, const ferry_matrix *x,
                         const ferry_block *b, double beta, ferry_block *y);
    /* S (n x n) <- X X', both triangles. O(n nnz), with the index only rows that share a
     * feature meet. Kernels and duals where n < d. */
    void (*xxt)(ferry_ctx *, const ferry_matrix *x, ferry_small *s);
    /* S (d x d) <- X'X, both triangles. O(sum of squared row lengths). Normal equations. */
    ferry_status (*xtx)(ferry_ctx *, const ferry_matrix *x, ferry_small *s);
    /* out[e] <- <B[i], C[j]> for every stored entry e = (i, j) of x (dense x: all), B n x k,
     * C d x k. O(nnz k). What a factorisation says at the observed entries; out may be the
     * values of a sibling made by ferry_i_matrix_like. */
    void (*sddmm)(ferry_ctx *, const ferry_matrix *x, const ferry_block *b,
                  const ferry_block *c, double *out);
    /* Both halves of a masked multiplicative update in one pass over CSR x, nothing of size
     * nnz being kept: N[i] <- sum_j x_ij C[j], D[i] <- sum_j <A[i], C[j]> C[j], A and N and D
     * n x k, C d x k; N may be NULL. O(nnz k), one row of C an entry. */
    void (*masked)(ferry_ctx *, const ferry_matrix *x, const ferry_block *a,
                   const ferry_block *c, ferry_block *n, ferry_block *d);
    /* One half of alternating least squares: every row of P (n x k) solves
     *   (lambda_i I + sum_j q_j q_j') p_i = y_i,  y_i = sum_j x_ij q_j
     * over the stored entries of row i of CSR x, Q d x k; without entries it is 0. lambda_i is
     * lambda > 0, times the number of entries when `weighted`.
     * gain (n, may be NULL): <p_i, y_i>, by which the row's squares are less than those of x:
     * sum_j (x_ij - <p_i, q_j>)^2 + lambda_i |p_i|^2 = sum_j x_ij^2 - gain_i.
     * O(nnz k^2 + n k^3). Allocates. Ratings. */
    ferry_status (*ridge_rows)(ferry_ctx *, const ferry_matrix *x, const ferry_block *q,
                               double lambda, bool weighted, ferry_block *p, double *gain);
    /* out <- sums of x^power (1 or 2) along an axis: FERRY_ROWS gives n, one per row. O(nnz).
     * Means, lengths. */
    ferry_status (*sums)(ferry_ctx *, const ferry_matrix *x, ferry_axis axis, int power,
                         double *out);

    /* ---- blocks: tall and thin, so that all of these read them once ---- */

    /* S (k1 x k2) <- B'C. O(rows k1 k2). */
    void (*gram)(ferry_ctx *, const ferry_block *b, const ferry_block *c, ferry_small *s);
    /* Y (rows x k2) <- alpha B S + beta Y, S k1 x k2; or B S' when trans. O(rows k1 k2). */
    void (*bmul)(ferry_ctx *, double alpha, const ferry_block *b, const ferry_small *s,
                 bool trans, double beta, ferry_block *y);
    /* B <- B o (N / max(D, floor))^exponent, then entries below tiny become 0; exponent 0.5
     * or 1, floor > 0. A multiplicative update that neither dies of 0 / 0 nor crawls among
     * denormals. */
    void (*mulup)(ferry_ctx *, ferry_block *b, const ferry_block *n, const ferry_block *d,
                  double exponent, double floor, double tiny);
    /* out <- sums of b (power 1) or b^2 (power 2) along an axis. */
    void (*bsums)(ferry_ctx *, const ferry_block *b, ferry_axis axis, int power,
                  double *out);
    /* Row i (FERRY_ROWS) or column j (FERRY_COLS) times f[.]. */
    void (*bscale)(ferry_ctx *, ferry_block *b, ferry_axis axis, const double *f);
    /* C <- alpha B + beta C. */
    void (*axpby)(ferry_ctx *, double alpha, const ferry_block *b, double beta,
                  ferry_block *c);
    /* sum of B o C. */
    double (*dot)(ferry_ctx *, const ferry_block *b, const ferry_block *c);

    /* ---- a row of X at a time, for learners that change W with every row ---- */

    /* s (wide) <- sum_e v_e W[index_e], W d x wide with wide a multiple of four; index NULL:
     * W[e]. O(n wide); the same bits on every CPU. RankSVM. */
    void (*row_mul)(const ferry_ctx *, int64_t n, const double *v, const int32_t *index,
                    const double *w, int64_t wide, double *s);
    /* W[index_e] += v_e add: the rank-one update that follows. */
    void (*row_add)(const ferry_ctx *, int64_t n, const double *v, const int32_t *index,
                    double *w, int64_t wide, const double *add);
    /* RankSVM's dual steps over the pairs of one label with the n labels that the instance
     * lacks, in turn: da = clip(a - (s - s_q - 1) / (2 norm2), 0, most) - a; a_q += da, s +=
     * da norm2, s_q -= da norm2, add_q -= da. The sum of da. *gap grows by what each pair, as its
     * step finds it, has in the duality gap: with g = s - s_q - 1 it is a g, less most g where
     * g < 0; never below 0, and 0 for a pair that does not move. O(n). */
    double (*pair_steps)(const ferry_ctx *, const ferry_label_pairs *p, double *a,
                         double *s, double *add, double *gap);

    /* ---- packed data (linalg/packed.h): one operation each, as few bytes as can be ---- */

    /* F <- F o (P A' / Q A')^e for all parts of a group of coupled factors, and the sums that
     * the step of A divides, in one pass over F. O(m width c). TTL, TriplexTL. */
    void (*tiles_step)(ferry_ctx *, const ferry_tiles *t);
    /* H <- F A of all views from the tiles. O(m width c). */
    void (*tiles_model)(ferry_ctx *, const ferry_tiles *t);
    /* y <- H u, the consensus of views and graphs. O(entries + edges), each read once or
     * twice. CoCA's eigensolver. */
    void (*consensus_mul)(ferry_ctx *, ferry_consensus *z, const double *u, double *y);
    /* ---- eigenvalues of an operator ---- */

    /* The k algebraically largest eigenpairs of a symmetric operator of size n: values
     * descending, vectors (n x k) orthonormal, sign fixed (largest |entry| positive, the
     * first of equals). Allocates. tol 0: machine precision. FERRY_ENUMERIC when it does
     * not converge. Some dozens of products with single vectors; O(n k) memory. */
    ferry_status (*eigs)(ferry_ctx *, int64_t n, ferry_operator op, void *arg, int64_t k,
                         double tol, double *values, ferry_block *vectors);

    /* ---- small dense: LAPACK, O(n^3). Each overwrites its inputs as said ---- */

    /* A = Q diag(w) Q', w ascending; A <- Q, signs fixed as above. */
    ferry_status (*eigh)(ferry_ctx *, ferry_small *a, double *w);
    /* A (m x n) = U diag(s) V', s descending, r = min(m, n): U m x r, V n x r, signs of U's
     * columns fixed as above. A destroyed. */
    ferry_status (*svd)(ferry_ctx *, ferry_small *a, ferry_small *u, double *s,
                        ferry_small *v);
    /* A (m x n, m >= n) = Q R; A <- Q, r n x n upper with diagonal >= 0. */
    ferry_status (*qr)(ferry_ctx *, ferry_small *a, ferry_small *r);
    /* A = L L'; A <- L (upper part zeroed). FERRY_ENUMERIC when not positive definite. */
    ferry_status (*chol)(ferry_ctx *, ferry_small *a);
    /* X (n x m) <- A^-1 X given L from chol. O(n^2 m). */
    void (*chol_solve)(ferry_ctx *, const ferry_small *l, ferry_small *x);
    /* X <- A^-1 X by LU; A destroyed. FERRY_ENUMERIC when singular. */
    ferry_status (*solve)(ferry_ctx *, ferry_small *a, ferry_small *x);
    /* C (m x n) <- alpha op(A) op(B) + beta C on smalls, op being ' where ta, tb say so. */
    void (*gemm)(ferry_ctx *, bool ta, bool tb, double alpha, const ferry_small *a,
                 const ferry_small *b, double beta, ferry_small *c);

    /* ---- in one step where an engine can; NULL, or false: the caller takes the steps ---- */

    /* S (d x d) <- (X - 1 m')'D(X - 1 m'), D = diag(weight); mean and weight may be NULL. */
    bool (*cross)(ferry_ctx *, const ferry_matrix *x, const double *mean,
                  const double *weight, ferry_small *s);
    /* All rows that may be among the nearest to some queries (linalg/card.h); for so many queries at a time. */
    bool (*nearest)(ferry_ctx *, const ferry_matrix *x, const ferry_matrix *q,
                    const struct ferry_near *n);
} ferry_engine;

/* The estimate of row i for query from + j is offset[i] + factor[i] scale[j] <x_i, q_j> (scale NULL: 1), two of them
 * together off by at most slack[j]: found[j * most ..] gets, ascending, count[j] rows whose estimate may be among the k
 * smallest; -1: more than `most`. */
struct ferry_near {
    int64_t from, n, k, most;
    const double *offset, *factor, *slack, *scale;
    int32_t *found, *count;
};

/* Methods write ferry_e(ctx)->mul(ctx, ...). */
static inline const ferry_engine *ferry_e(const ferry_ctx *ctx)
{
    return ctx->engine;
}

extern const ferry_engine ferry_i_engine_ref, ferry_i_engine_host, ferry_i_engine_mpi,
    ferry_i_engine_cuda, ferry_i_engine_auto;
const ferry_engine *ferry_i_engine_find(const char *name); /* NULL: unknown */
int64_t ferry_i_engine_count(void);
const ferry_engine *ferry_i_engine_at(int64_t i);

/* Shared by all engines: fills and fixes that need no speed.
 * In the order of memory, one number after the other: the same rng gives the same fill. */
void ferry_i_fill_uniform(ferry_block *b, ferry_rng *rng, double lo, double hi);
void ferry_i_fill_normal(ferry_block *b, ferry_rng *rng);
/* Turn x so that its largest |entry| (the first of equals) is positive; whether it
 * turned. */
bool ferry_i_fix_sign(int64_t n, double *x, int64_t stride);
double ferry_i_matrix_norm2(const ferry_matrix *x); /* squared Frobenius norm */

/* out[i] <- <a_i, x> for the rows of a (rows x d). The same bits from every engine and on
 * every CPU, so that it needs no context: streams score each row with it. O(rows d). */
void ferry_i_rows_dot(int64_t rows, int64_t d, const double *a, const double *x,
                      double *out);

/* The card of engine cuda (cuda.c): opened where it is not yet; FERRY_ENEEDS and one sentence where there is none. */
ferry_status ferry_i_card_open(ferry_ctx *ctx);
/* What it is, for ferry_doctor(): false, and what is missing; `found`: a card is in this machine, whatever else is not. */
bool ferry_i_card_text(char *text, int64_t size, bool *found);
/* The most bytes of its memory that are used; 0: 80 % of what is free. Of the whole process. */
void ferry_i_card_limit(int64_t bytes);
/* A matrix that was copied ends. */
void ferry_i_card_forget(const ferry_matrix *x);
/* Tests: every operation goes to the card, however small. Operations that went there so far. */
void ferry_i_card_always(bool always);
int64_t ferry_i_card_calls(void);

/* The two that ferry_blas_core() gives. */
const char *ferry_i_blas_core(void);
const char *ferry_i_blas_core_wanted(void);
/* Version and build of the BLAS, for ferry_doctor(). */
const char *ferry_i_blas_config(void);

#endif
