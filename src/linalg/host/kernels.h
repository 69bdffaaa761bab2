/* The kernels of the host engine: the loops that take the time, one table of them for each
 * instruction set (isa.h). A kernel works on a range of rows in one thread; who calls it
 * shares out the ranges, so that no kernel knows of threads.
 *
 * A new kernel is a line in FERRY_KERNELS, a file (or a function) in kernels/ that defines
 * KERNEL(name), and its driver among the operations of the engine. */
#ifndef FERRY_LINALG_KERNELS_H
#define FERRY_LINALG_KERNELS_H

#include "linalg/columns.h"
#include "linalg/host/isa.h"
#include "linalg/linalg.h"
#include "linalg/ridges.h"
#include "linalg/rounded.h"
#include "linalg/vb_rows.h"

/* CSR times block: Y = alpha X B + beta Y, or Y += alpha X'B. */
typedef struct ferry_product {
    /* factors of the product and of what Y holds; scatter takes beta as done */
    double alpha, beta;
    /* the CSR matrix, X or its transpose, or some columns of it: where the entries of a row
     * begin and end */
    const int64_t *start, *end;
    const int32_t *index;
    const double *value;
    int64_t nnz;
    /* k columns, of rows that lie b_ld and y_ld numbers apart */
    int64_t k, b_ld, y_ld;
    const double *b;
    double *y;
    /* rows of B (multiply) or Y (scatter) are not in the near caches */
    bool far;
} ferry_product;

/* Rows of N and D (see `masked` in linalg.h). */
typedef struct ferry_masked {
    const int64_t *start;
    const int32_t *index;
    const double *value;
    int64_t nnz;
    const double *a, *c;
    double *n, *d; /* n NULL: not wanted */
    int64_t k;
} ferry_masked;

/* Ridge systems of the rows of X (see `ridge_rows`). */
typedef struct ferry_systems {
    const ferry_matrix *x;
    const double *q;
    int64_t k, w; /* w: k filled up to a multiple of four */
    /* > 0, which keeps the systems positive definite */
    double lambda;
    bool weighted;
    /* n x k, and n or NULL */
    double *p, *gain;
} ferry_systems;
/* Numbers of `space` that a thread needs for width w: A (w x w), y, z (w), a batch. */
enum { FERRY_SYSTEMS_BATCH = 64 };
static inline int64_t ferry_i_systems_space(int64_t w)
{
    return w * w + 2 * w + FERRY_SYSTEMS_BATCH * w;
}

/* The same for vb_half: the inverse of the factor and the sum of variances besides. */
static inline int64_t ferry_i_vb_space(int64_t w)
{
    return ferry_i_systems_space(w) + w * w + w;
}

/* Kernels by the type of their function. */
typedef void ferry_asked_dots_fn(const ferry_asked *a, int64_t rows, const float *const *b,
                                 double *out);
typedef void ferry_lower_systems_fn(int64_t n, int64_t ld, const double *l, int64_t rows,
                                    int64_t x_ld, double *x);
typedef void ferry_lower_products_fn(int64_t n, int64_t d, const double *x, int64_t ld,
                                     double *a);
typedef void ferry_columns_fn(const ferry_columns *c, int64_t rows, int64_t stride,
                              const double *v);
typedef void ferry_row_fill_fn(int64_t n, const double *v, const double *fill,
                               const double *shift, const double *factor, double *to,
                               double *squares);
typedef void ferry_row_times_fn(int64_t n, double by, double *v);
typedef double ferry_row_squares_fn(int64_t n, const double *v);
typedef int64_t ferry_row_infinite_fn(int64_t n, const double *v);
typedef void ferry_halves_fn(ferry_halves *h, int64_t n, const double *v);
typedef void ferry_product_fn(const ferry_product *p, int64_t from, int64_t to);
typedef void ferry_masked_fn(const ferry_masked *m, int64_t from, int64_t to);
typedef void ferry_systems_fn(const ferry_systems *s, int64_t from, int64_t to,
                              double *space);
typedef void ferry_vb_half_fn(const ferry_vb_half *v, int64_t from, int64_t to,
                              double *space);
typedef void ferry_rows_dot_fn(int64_t rows, int64_t d, const double *a, const double *x,
                               double *out);
typedef void ferry_rounded_dots_fn(int64_t rows, int64_t d, const float *a, const float *x,
                                   double *out);
typedef double ferry_round_row_fn(int64_t n, const double *v, float *to);
typedef void ferry_row_mul_fn(int64_t n, const double *v, const int32_t *index,
                              const double *w, int64_t wide, double *s);
typedef void ferry_row_add_fn(int64_t n, const double *v, const int32_t *index, double *w,
                              int64_t wide, const double *add);
typedef double ferry_pair_steps_fn(const ferry_label_pairs *p, double *a, double *s,
                                   double *add, double *gap);
/* sums: FERRY_TILE_ROOM numbers for each, of which the first of all are left. */
typedef void ferry_tiles_step_fn(const ferry_tiles *t, int64_t from, int64_t to,
                                 double *sums);
typedef void ferry_tiles_fn(const ferry_tiles *t, int64_t from, int64_t to);
typedef void ferry_consensus_fn(const ferry_consensus *z, int64_t from, int64_t to);
typedef void ferry_consensus_back_fn(const ferry_consensus *z, int64_t from, int64_t to,
                                     double *y, double *sum);

#define FERRY_KERNELS(X)                                                                   \
    X(multiply, ferry_product_fn)                                                          \
    X(scatter, ferry_product_fn)                                                           \
    X(masked, ferry_masked_fn)                                                             \
    X(ridge_rows, ferry_systems_fn)                                                        \
    X(vb_half, ferry_vb_half_fn)                                                           \
    X(rows_dot, ferry_rows_dot_fn)                                                         \
    X(rounded_dots, ferry_rounded_dots_fn)                                                 \
    X(round_row, ferry_round_row_fn)                                                       \
    X(asked_dots, ferry_asked_dots_fn)                                                     \
    X(lower_systems, ferry_lower_systems_fn)                                               \
    X(lower_products, ferry_lower_products_fn)                                             \
    X(column_sums, ferry_columns_fn)                                                       \
    X(column_squares, ferry_columns_fn)                                                    \
    X(row_fill, ferry_row_fill_fn)                                                         \
    X(row_times, ferry_row_times_fn)                                                       \
    X(row_squares, ferry_row_squares_fn)                                                   \
    X(row_infinite, ferry_row_infinite_fn)                                                 \
    X(column_halves, ferry_halves_fn)                                                      \
    X(row_mul, ferry_row_mul_fn)                                                           \
    X(row_add, ferry_row_add_fn)                                                           \
    X(pair_steps, ferry_pair_steps_fn)                                                     \
    X(tiles_step, ferry_tiles_step_fn)                                                     \
    X(tiles_model, ferry_tiles_fn)                                                         \
    X(consensus_forward, ferry_consensus_fn)                                               \
    X(consensus_backward, ferry_consensus_back_fn)

typedef struct ferry_kernels {
#define FERRY_KERNEL_FIELD(name, type) type *name;
    FERRY_KERNELS(FERRY_KERNEL_FIELD)
#undef FERRY_KERNEL_FIELD
} ferry_kernels;

/* Those of one instruction set; NULL when they are not built in. */
const ferry_kernels *ferry_i_kernels_of(ferry_isa isa);
/* Those that the context runs. Tells its log once when FERRY_ISA asked for others. */
const ferry_kernels *ferry_i_kernels(ferry_ctx *ctx);

#endif
