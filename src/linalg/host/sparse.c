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
 * The loops exist once, for groups of 32, 16, 8, 4, 2 and 1 columns, and are compiled for
 * each of the instruction sets below. Multiplication and addition are never fused, which
 * costs nothing here (loads are the limit) and gives the same bits for all of them. Numbers
 * below were tuned on a Zen 4 with uniformly random columns (bench/sparse.c). */
#include <stdlib.h>

#include "linalg/host/host.h"

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Entries are read once: fetched this many ahead, around the caches where rows of B (X'B:
 * of Y) had better stay; and rows of Y this many entries ahead. */
enum { STREAM_AHEAD = 64, ROWS_AHEAD = 32 };

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

INLINE void fetch_entries(const int32_t *index, const double *value)
{
    __builtin_prefetch(index + 2 * STREAM_AHEAD, 0, 0);
    __builtin_prefetch(value + STREAM_AHEAD, 0, 0);
}

/* y <- alpha sum of value[e] b[index[e]] + beta y for G vectors V of a row, in U sums that
 * do not wait for each other. */
#define ROW_OF_XB(name, V, G, U)                                                           \
    INLINE void name(const product *p, const int32_t *index, const double *value,          \
                     int64_t n, int64_t k, const double *b, double *out)                   \
    {                                                                                      \
        V *y = (V *)(void *)out, s[U][G];                                                  \
        int64_t e = 0;                                                                     \
        UNROLL for (int g = 0; g < U * G; g++) s[g / (G)][g % (G)] = (V){0};               \
        for (; e + 8 <= n; e += 8) {                                                       \
            fetch_entries(index + e, value + e);                                           \
            UNROLL for (int u = 0; u < 8; u++)                                             \
            {                                                                              \
                const V *row = (const V *)(const void *)(b + index[e + u] * k);            \
                UNROLL for (int g = 0; g < G; g++) s[u % U][g] += value[e + u] * row[g];   \
            }                                                                              \
        }                                                                                  \
        for (; e < n; e++) {                                                               \
            const V *row = (const V *)(const void *)(b + index[e] * k);                    \
            UNROLL for (int g = 0; g < G; g++) s[0][g] += value[e] * row[g];               \
        }                                                                                  \
        UNROLL for (int g = 0; g < G; g++)                                                 \
        {                                                                                  \
            V sum = s[0][g];                                                               \
            UNROLL for (int u = 1; u < U; u++) sum += s[u][g];                             \
            sum *= p->alpha;                                                               \
            if (p->beta != 0) sum += p->beta * y[g];                                       \
            y[g] = sum;                                                                    \
        }                                                                                  \
    }
ROW_OF_XB(row_32, v8, 4, 1)
ROW_OF_XB(row_16, v8, 2, 2)
ROW_OF_XB(row_8, v8, 1, 4)
ROW_OF_XB(row_4, v4, 1, 4)
ROW_OF_XB(row_2, v2, 1, 4)
ROW_OF_XB(row_1, v1, 1, 4)

/* All columns in groups. A constant k leaves only what it needs. */
#define IN_GROUPS(k, c, f)                                                                 \
    for (; (c) + 32 <= (k); (c) += 32)                                                     \
        f(32);                                                                             \
    if ((k)&16) {                                                                          \
        f(16);                                                                             \
        (c) += 16;                                                                         \
    }                                                                                      \
    if ((k)&8) {                                                                           \
        f(8);                                                                              \
        (c) += 8;                                                                          \
    }                                                                                      \
    if ((k)&4) {                                                                           \
        f(4);                                                                              \
        (c) += 4;                                                                          \
    }                                                                                      \
    if ((k)&2) {                                                                           \
        f(2);                                                                              \
        (c) += 2;                                                                          \
    }                                                                                      \
    if ((k)&1) f(1)

/* Rows [from, to) of Y = X B. */
INLINE void rows_of_xb(const product *p, int64_t k, int64_t from, int64_t to)
{
    const ferry_matrix *x = p->x;

    for (int64_t r = from; r < to; r++) {
        const int64_t e = x->start[r], n = x->start[r + 1] - e;
        int64_t c = 0;
#define ROW(w) row_##w(p, x->index + e, x->value + e, n, k, p->b + c, p->y + r * k + c)
        IN_GROUPS(k, c, ROW);
    }
}

/* y[index[e]] += alpha value[e] b for G vectors V of a row. Indices of a row differ, so
 * four sums are loaded before the first is stored. Rows of Y are fetched ahead for entries
 * below `last`. */
#define ADD_ROW(name, V, G)                                                                \
    INLINE void name(const product *p, const int32_t *restrict index,                      \
                     const double *restrict value, int64_t n, int64_t last, int64_t k,     \
                     const double *from, double *restrict y)                               \
    {                                                                                      \
        const double alpha = p->alpha;                                                     \
        int64_t e = 0;                                                                     \
        V b[G];                                                                            \
        UNROLL for (int g = 0; g < G; g++) b[g] = ((const V *)(const void *)from)[g];      \
        for (; e + 4 <= n; e += 4) {                                                       \
            if (e % 8 == 0) fetch_entries(index + e, value + e);                           \
            if (e + ROWS_AHEAD + 4 <= last) {                                              \
                UNROLL for (int u = 0; u < 4 * G; u++) __builtin_prefetch(                 \
                    (const V *)(const void *)(y + index[e + ROWS_AHEAD + u / (G)] * k) +   \
                        u % (G),                                                           \
                    1, 3);                                                                 \
            }                                                                              \
            UNROLL for (int u = 0; u < 4; u++)                                             \
            {                                                                              \
                V *row = (V *)(void *)(y + index[e + u] * k);                              \
                UNROLL for (int g = 0; g < G; g++) row[g] += alpha * value[e + u] * b[g];  \
            }                                                                              \
        }                                                                                  \
        for (; e < n; e++) {                                                               \
            V *row = (V *)(void *)(y + index[e] * k);                                      \
            UNROLL for (int g = 0; g < G; g++) row[g] += alpha * value[e] * b[g];          \
        }                                                                                  \
    }
ADD_ROW(add_32, v8, 4)
ADD_ROW(add_16, v8, 2)
ADD_ROW(add_8, v8, 1)
ADD_ROW(add_4, v4, 1)
ADD_ROW(add_2, v2, 1)
ADD_ROW(add_1, v1, 1)

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
    const bool whole = from == 0 && to == x->cols;

    for (int64_t e = from * k; e < to * k; e++)
        p->y[e] = p->beta == 0 ? 0 : p->beta * p->y[e];
    for (int64_t r = 0; r < x->rows; r++) {
        int64_t e = x->start[r], end = x->start[r + 1], c = 0;
        if (from > 0) e = seek(x->index, e, end, from);
        if (to < x->cols) end = seek(x->index, e, end, to);
        const int64_t last = (whole ? x->nnz : end) - e; /* others own what comes after */
#define ADD(w)                                                                             \
    add_##w(p, x->index + e, x->value + e, end - e, last, k, p->b + r * k + c, p->y + c)
        IN_GROUPS(k, c, ADD);
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
