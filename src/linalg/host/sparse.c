/* CSR matrix times block, Y = alpha X B + beta Y and Y = alpha X'B + beta Y.
 *
 * X B: rows are shared out; every row of Y is made by one thread.
 * X'B: columns are shared out; a thread walks over all rows, takes from each the entries in
 * its own columns (indices ascend, so they stand together) and adds to its own rows of Y.
 * Every sum runs over the rows in order. So there are no atomics, no private copies of Y,
 * and the bits depend neither on the thread count nor on where the columns are cut. With a
 * transposed index and many threads each row of Y is gathered instead, in the same order,
 * to the same bits.
 *
 * The loops exist once, for vectors of 8, 4, 2 and 1 columns, and are compiled for each of
 * the instruction sets below. Multiplication and addition are never fused, which costs
 * nothing here (memory is the limit) and gives the same bits for all of them. */
#include <stdlib.h>

#include "linalg/host/host.h"

#define INLINE static inline __attribute__((always_inline))

typedef double v1;
typedef double v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double v8 __attribute__((vector_size(64), aligned(8), may_alias));

typedef struct product {
    double alpha, beta;
    const ferry_matrix *x;
    const double *b;
    double *y;
    int64_t k;
} product;

/* One row of Y, columns c .. c + width of V: sum over the entries [from, to) of row r. */
#define ROW_OF_XB(V)                                                                       \
    INLINE void row_##V(const product *p, int64_t r, int64_t k, int64_t c)                 \
    {                                                                                      \
        const int64_t to = p->x->start[r + 1];                                             \
        const int32_t *index = p->x->index;                                                \
        const double *value = p->x->value, *b = p->b + c;                                  \
        V *y = (V *)(void *)(p->y + r * k + c);                                            \
        V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                          \
        int64_t e = p->x->start[r];                                                        \
        for (; e + 4 <= to; e += 4) {                                                      \
            s0 += value[e] * *(const V *)(const void *)(b + index[e] * k);                 \
            s1 += value[e + 1] * *(const V *)(const void *)(b + index[e + 1] * k);         \
            s2 += value[e + 2] * *(const V *)(const void *)(b + index[e + 2] * k);         \
            s3 += value[e + 3] * *(const V *)(const void *)(b + index[e + 3] * k);         \
        }                                                                                  \
        for (; e < to; e++)                                                                \
            s0 += value[e] * *(const V *)(const void *)(b + index[e] * k);                 \
        s0 = p->alpha * ((s0 + s1) + (s2 + s3));                                           \
        if (p->beta != 0) s0 += p->beta * *y;                                              \
        *y = s0;                                                                           \
    }
ROW_OF_XB(v1)
ROW_OF_XB(v2)
ROW_OF_XB(v4)
ROW_OF_XB(v8)

/* Rows [from, to) of Y. A constant k unrolls everything. */
INLINE void rows_of_xb(const product *p, int64_t k, int64_t from, int64_t to)
{
    for (int64_t r = from; r < to; r++) {
        int64_t c = 0;
        for (; c + 8 <= k; c += 8)
            row_v8(p, r, k, c);
        if (k & 4) row_v4(p, r, k, c);
        c += k & 4;
        if (k & 2) row_v2(p, r, k, c);
        c += k & 2;
        if (k & 1) row_v1(p, r, k, c);
    }
}

/* Y[index] += alpha value B[r], columns c .. c + width of V, for entries [e, to) of row r.
 */
#define ADD_ROW(V)                                                                         \
    INLINE void add_##V(const product *p, int64_t r, int64_t e, int64_t to, int64_t k,     \
                        int64_t c)                                                         \
    {                                                                                      \
        const V b = *(const V *)(const void *)(p->b + r * k + c);                          \
        for (; e < to; e++) {                                                              \
            V *y = (V *)(void *)(p->y + p->x->index[e] * k + c);                           \
            *y += p->alpha * p->x->value[e] * b;                                           \
        }                                                                                  \
    }
ADD_ROW(v1)
ADD_ROW(v2)
ADD_ROW(v4)
ADD_ROW(v8)

/* First entry in [lo, hi) whose column is at least j. */
INLINE int64_t seek(const int32_t *index, int64_t lo, int64_t hi, int64_t j)
{
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (index[mid] < j)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Rows [from, to) of Y = X'B, which are columns of X. */
INLINE void columns_of_xtb(const product *p, int64_t k, int64_t from, int64_t to)
{
    const ferry_matrix *x = p->x;

    for (int64_t e = from * k; e < to * k; e++)
        p->y[e] = p->beta == 0 ? 0 : p->beta * p->y[e];
    for (int64_t r = 0; r < x->rows; r++) {
        int64_t e = x->start[r], end = x->start[r + 1], c = 0;
        if (from > 0) e = seek(x->index, e, end, from);
        if (to < x->cols) end = seek(x->index, e, end, to);
        for (; c + 8 <= k; c += 8)
            add_v8(p, r, e, end, k, c);
        if (k & 4) add_v4(p, r, e, end, k, c);
        c += k & 4;
        if (k & 2) add_v2(p, r, e, end, k, c);
        c += k & 2;
        if (k & 1) add_v1(p, r, e, end, k, c);
    }
}

/* The same bits from the transposed index: one row of Y after the other. */
INLINE void columns_by_index(const product *p, int64_t k, int64_t from, int64_t to)
{
    const ferry_matrix *x = p->x;

    for (int64_t j = from; j < to; j++) {
        double *y = p->y + j * k;
        for (int64_t c = 0; c < k; c++)
            y[c] = p->beta == 0 ? 0 : p->beta * y[c];
        for (int64_t t = x->t_start[j]; t < x->t_start[j + 1]; t++) {
            const double w = p->alpha * x->value[x->t_entry[t]];
            const double *b = p->b + x->t_index[t] * k;
            for (int64_t c = 0; c < k; c++)
                y[c] += w * b[c];
        }
    }
}

/* Constant widths get their own code. */
#define BY_WIDTH(f)                                                                        \
    switch (p->k) {                                                                        \
    case 1: f(p, 1, from, to); break;                                                      \
    case 2: f(p, 2, from, to); break;                                                      \
    case 4: f(p, 4, from, to); break;                                                      \
    case 8: f(p, 8, from, to); break;                                                      \
    case 16: f(p, 16, from, to); break;                                                    \
    case 32: f(p, 32, from, to); break;                                                    \
    default: f(p, p->k, from, to); break;                                                  \
    }

typedef void range_fn(const product *p, int64_t from, int64_t to);

#define COMPILE_FOR(isa, target)                                                           \
    target static void rows_##isa(const product *p, int64_t from, int64_t to){BY_WIDTH(    \
        rows_of_xb)} target static void columns_##isa(const product *p, int64_t from,      \
                                                      int64_t to){BY_WIDTH(                \
        columns_of_xtb)} target static void indexed_##isa(const product *p, int64_t from,  \
                                                          int64_t to)                      \
    {                                                                                      \
        BY_WIDTH(columns_by_index)                                                         \
    }
#define NO_TARGET
COMPILE_FOR(plain, NO_TARGET)
#if defined(__x86_64__)
COMPILE_FOR(avx2, __attribute__((target("avx2"))))
COMPILE_FOR(avx512, __attribute__((target("avx512f,avx512vl,avx512dq"))))
#endif

typedef struct kernels {
    range_fn *rows, *columns, *indexed;
} kernels;

static kernels pick_kernels(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return (kernels){rows_avx512, columns_avx512, indexed_avx512};
    if (__builtin_cpu_supports("avx2"))
        return (kernels){rows_avx2, columns_avx2, indexed_avx2};
#endif
    return (kernels){rows_plain, columns_plain, indexed_plain};
}

/* Row where the share `piece` of `pieces` begins when entries (and rows) are shared out. */
static int64_t row_cut(int64_t rows, const int64_t *start, int64_t piece, int64_t pieces)
{
    const int64_t goal = ferry_i_piece(start[rows] + rows, piece, pieces);
    int64_t lo = 0, hi = rows;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (start[mid] + mid < goal)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Run f over pieces of rows with about equally many entries. */
static void share_rows(ferry_ctx *ctx, range_fn *f, const product *p, int64_t rows,
                       const int64_t *start)
{
    const int threads = ferry_i_loop_threads(ctx, (start[rows] + rows) * p->k);
    const int64_t pieces = threads == 1 ? 1 : 8 * (int64_t)threads;

#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t piece = 0; piece < pieces; piece++)
        f(p, row_cut(rows, start, piece, pieces), row_cut(rows, start, piece + 1, pieces));
}

void ferry_i_csr_mul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                     const ferry_block *b, double beta, ferry_block *y)
{
    const product p = {alpha, beta, x, b->data, y->data, b->k};

    share_rows(ctx, pick_kernels().rows, &p, x->rows, x->start);
}

enum { SAMPLE = 1024, INDEX_PAYS = 8 };

static int by_value(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;

    return (i > j) - (i < j);
}

/* Sorted columns of evenly spaced entries, at most SAMPLE: where to cut so that threads get
 * about equally many. */
static int64_t sample_columns(const ferry_matrix *x, int32_t *sample)
{
    const int64_t n = x->nnz < SAMPLE ? x->nnz : SAMPLE;

    for (int64_t i = 0; i < n; i++)
        sample[i] = x->index[ferry_i_piece(x->nnz, i, n)];
    qsort(sample, (size_t)n, sizeof *sample, by_value);
    return n;
}

ferry_status ferry_i_csr_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                              const ferry_block *b, double beta, ferry_block *y)
{
    const product p = {alpha, beta, x, b->data, y->data, b->k};
    const int64_t threads = ferry_i_loop_threads(ctx, (x->nnz + x->cols) * p.k);
    const kernels use = pick_kernels();
    int32_t sample[SAMPLE];
    int64_t n;

    if (x->t_start && threads > INDEX_PAYS) {
        share_rows(ctx, use.indexed, &p, x->cols, x->t_start);
        return FERRY_OK;
    }
    if (threads == 1) {
        use.columns(&p, 0, x->cols);
        return FERRY_OK;
    }
    n = sample_columns(x, sample);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        const int64_t first = ferry_i_piece(n, t, threads);
        const int64_t last = ferry_i_piece(n, t + 1, threads);
        const int64_t from = t == 0 || n == 0 ? 0 : sample[first < n ? first : n - 1];
        const int64_t to = t == threads - 1 ? x->cols : n == 0 ? 0 : sample[last];
        if (from < to) use.columns(&p, from, to);
    }
    return FERRY_OK;
}
