/* Matrices and blocks as methods and learners see them: small values that know which rows they hold, and operations
 * that return what they make in a scope.
 *
 * Rows may be spread over processes (--engine mpi). A layout says which of how many rows are here; every operation
 * that adds up rows adds up those of all processes. So code that is written for one process is right for many, as long
 * as it never branches on what only one process sees around an operation: such operations are collective. */
#ifndef FERRY_OPS_H
#define FERRY_OPS_H

#include "core/scope.h"
#include "ferry/stream.h"
#include "linalg/linalg.h"

typedef struct layout {
    int64_t n;             /* rows of all processes */
    bool spread;           /* some of them are elsewhere */
    int64_t first;         /* of the rows here, where they are neighbours */
    const int64_t *number; /* of each row here among all; NULL: first, first + 1, ... */
} layout;
/* n rows, all of them here. */
#define HERE(rows) ((layout){.n = (rows)})

typedef struct matrix { /* data, rows x cols: dense or CSR by fill alone, never changed */
    layout rows;
    int64_t n, cols; /* n: rows that are here */
    ferry_matrix *m;
} matrix;

typedef struct
    block { /* tall and thin, row after row; replicated where its layout is not spread */
    layout rows;
    int64_t n, k;
    double *at;
} block;
#define ROW(b, i) ((b).at + (i) * (b).k)

typedef struct small { /* column-major, replicated */
    int64_t rows, cols;
    double *at;
} small;
#define AT(a, i, j) ((a).at[(i) + (j) * (a).rows])

/* n rows in their order, this process's where rows are spread: *here of them. */
layout rows_here(scope *s, int64_t n, int64_t *here);
/* The same where row i takes work[i]: processes have about as much to do. */
layout rows_by_work(scope *s, int64_t n, const double *work, int64_t *here);
bool rows_spread(const scope *s);
/* Bytes that this process has sent so far; report what all have sent since it had sent so many. */
int64_t bytes_sent(const scope *s);
void report_bytes_sent(scope *s, int64_t since);

/* ---- making them ---- */

/* What other code has made: s owns it from now on; or it is borrowed and lives longer than s. */
matrix matrix_own(scope *s, ferry_matrix *m);
matrix matrix_borrow(scope *s, ferry_matrix *m);
/* s owns m from now on, which stays what it is. */
ferry_matrix *own_matrix(scope *s, ferry_matrix *m);
/* x for a state: shared where it is the library's own, a copy of what is the caller's. */
matrix matrix_keep(scope *keep, matrix x);
/* n x cols; dense ones are zeroed, for their maker to fill; those of a block are a copy of it. */
matrix matrix_dense(scope *s, layout rows, int64_t n, int64_t cols);
matrix matrix_of(scope *s, block b);
/* The pattern of CSR x, which must live as long, with other values, which are copied. */
matrix with_values(scope *s, matrix x, const double *value);
/* Zeroed. */
block block_new(scope *s, layout rows, int64_t n, int64_t k);
block block_like(scope *s, block b);
block block_copy(scope *s, block b);
small small_new(scope *s, int64_t rows, int64_t cols);
/* This process's rows of a replicated block, no copy. */
block block_part(block whole, layout rows, int64_t n);
/* All rows on all processes, in the order of their numbers; itself where it is so. */
block replicate(scope *s, block b);
matrix replicate_rows(scope *s, matrix x);
/* This process has worked out its rows of a replicated block (part, as block_part() gives it): all get all. */
void share_rows(scope *s, block part, block whole);
/* One item of `size` bytes for each row here: those of all processes in the order of their numbers. */
void *replicate_items(scope *s, layout rows, int64_t n, size_t size, const void *mine);

/* ---- rows and columns of data ---- */

/* By number here; n < 0: all; unit: to length 1. */
matrix take_rows(scope *s, matrix x, int64_t n, const int64_t *rows, bool unit);
/* Those where keep is not 0, renumbered; unit: rows to length 1 after that. */
matrix take_columns(scope *s, matrix x, const uint8_t *keep, bool unit);
/* Rows below each other; columns beside each other. */
matrix stack(scope *s, int64_t n, const matrix *part);
matrix beside(scope *s, int64_t n, const matrix *part);
/* X' of a sparse x. Where rows of x are spread, the rows of X' are too: `to` says which n of them are here. */
matrix transpose(scope *s, matrix x, layout to, int64_t n);
/* The values of x go, its pattern stays: for what only x's maker has, and nobody reads again. */
void drop_values(matrix x);
/* As CSR, as dense; itself where it is so. */
matrix to_sparse(scope *s, matrix x);
matrix to_dense(scope *s, matrix x);
/* Row i of those here, borrowed; whether all of it is 0. */
ferry_row row_at(matrix x, int64_t i);
bool row_is_empty(matrix x, int64_t i);
/* Entries that are stored: here, and of all processes. */
int64_t stored(matrix x);
int64_t entries(scope *s, matrix x);
/* cols: whether any row of any process has an entry other than 0. */
uint8_t *columns_used(scope *s, matrix x);

/* ---- products; out is overwritten ---- */

/* X B; a b that is spread (graphs) is replicated first. */
void mul(scope *s, matrix x, block b, block out);
/* Before many X'G of a sparse X: 12 bytes an entry. x then lasts. */
void index_columns(scope *s, matrix x);
/* x stays as it is until it ends, so that an engine may keep a copy on a card. */
void lasts(matrix x);
/* X'G over all rows; out is replicated. */
void tmul(scope *s, matrix x, block g, block out);
/* A'B over all rows. */
void gram(scope *s, block a, block b, small out);
/* A B, and A B'. */
void bmul(scope *s, block a, small b, block out);
void bmul_t(scope *s, block a, small b, block out);
/* alpha A + beta B, into b. */
void axpby(scope *s, double alpha, block a, double beta, block b);
/* Column l times by[l]. */
void scale_columns(scope *s, block b, const double *by);
/* (X - 1 m')'D(X - 1 m') over all rows, D = diag(weight); mean NULL: 0, weight NULL: 1. CSR stays CSR. */
small cross(scope *s, matrix x, const double *mean, const double *weight);
/* (X - 1 m')(X - 1 m')', where all rows are here. */
small outer(scope *s, matrix x, const double *mean);

/* ---- sums over all rows ---- */

void column_sums(scope *s, block g, double *out);
/* Of columns of x, rows weighted (NULL: 1). */
double *mass(scope *s, matrix x, const double *weight);
double square_sum(scope *s, block g);
double inner(scope *s, block a, block b);
double norm2(scope *s, matrix x);
/* n numbers that each process has added up over rows of this layout; one such number; the largest of all. */
void sums(scope *s, layout rows, int64_t n, double *v);
double sum(scope *s, layout rows, double here);
double most(scope *s, layout rows, double here);
void mosts(scope *s, layout rows, int64_t n, double *v);
/* The largest |a - b|. */
double largest_change(scope *s, block a, block b);

/* ---- small systems ---- */

/* a <- its Cholesky factor; false: not positive definite, or only by rounding. */
bool cholesky(scope *s, small a);
/* b (rows as l) <- A^-1 b. */
void cholesky_solve(scope *s, small l, block b);
/* a = Q diag(w) Q', ascending, signs fixed; a <- Q. w is new. */
double *eigh(scope *s, small a);
/* Each row i of p <- argmin sum_j (x_ij - p'q_j)^2 + lambda |p|^2 (weighted: times its entries) over the entries of CSR
 * x; q is replicated; gain (n, may be NULL): <p, X q>. */
void ridge_rows(scope *s, matrix x, block q, double lambda, bool weighted, block p,
                double *gain);

/* ---- the rest ---- */

void copy(block from, block to);
/* Row after row of all rows: the same numbers on any number of processes. */
void fill_normal(scope *s, ferry_rng *rng, block b);
void fill_uniform(scope *s, ferry_rng *rng, double lo, double hi, block b);
/* A stream for each row, by its key (NULL: its number): no order of rows decides. */
void fill_by_key(ferry_rng *rng, const uint64_t *key, double lo, double hi, block b);
void shuffle(ferry_rng *rng, int64_t n, int64_t *v);
/* The same bits on every CPU: streams replay. w += a x. */
double row_dot(ferry_row x, const double *w);
void row_add(ferry_row x, double a, double *w);

/* What an engine's own functions take, where an operation has one user. */
static inline ferry_block block_ref(block b)
{
    return (ferry_block){b.n, b.k, b.at};
}
static inline ferry_small small_ref(small a)
{
    return (ferry_small){a.rows, a.cols, a.at};
}

#endif
