/* CSR matrix times block, Y = alpha X B + beta Y and Y = alpha X'B + beta Y.
 *
 * X B: rows are shared out; every row of Y is made by one thread, so the bits do not depend
 * on the thread count. With the transposed index X'B is the same thing. X'B without it:
 * rows are shared out in as many pieces as threads; each adds to a Y of its own, the first
 * to the real one, and these are added up in order. There are no atomics.
 *
 * The loops exist once, for groups of 32, 16, 8, 4, 2 and 1 columns, and are compiled for
 * each of the instruction sets below. Multiplication and addition are never fused, which
 * costs nothing here (loads are the limit) and gives the same bits for all of them. Numbers
 * below were tuned on a Zen 4 with uniformly random columns (bench/sparse.c). */
#include <string.h>

#include "linalg/host/host.h"

/* Entries are read once: fetched this many ahead, around the caches where rows of B (X'B:
 * of Y) had better stay; and rows of Y this many entries ahead. */
enum { STREAM_AHEAD = 64, ROWS_AHEAD = 32 };

typedef double v1;
typedef double v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double v8 __attribute__((vector_size(64), aligned(8), may_alias));

typedef struct product {
    double alpha, beta;
    const int64_t *start; /* the CSR matrix, X or its transpose */
    const int32_t *index;
    const double *value;
    int64_t nnz;
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
INLINE void multiply(const product *p, int64_t k, int64_t from, int64_t to)
{
    for (int64_t r = from; r < to; r++) {
        const int64_t e = p->start[r], n = p->start[r + 1] - e;
        int64_t c = 0;
#define ROW(w) row_##w(p, p->index + e, p->value + e, n, k, p->b + c, p->y + r * k + c)
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

/* Y += X'B for rows [from, to) of X. */
INLINE void scatter(const product *p, int64_t k, int64_t from, int64_t to)
{
    for (int64_t r = from; r < to; r++) {
        const int64_t e = p->start[r], n = p->start[r + 1] - e;
        int64_t c = 0;
#define ADD(w)                                                                             \
    add_##w(p, p->index + e, p->value + e, n, p->nnz - e, k, p->b + r * k + c, p->y + c)
        IN_GROUPS(k, c, ADD);
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

/* clang-format off */
#define COMPILE_FOR(isa, target)                                                           \
    target static void multiply_##isa(const product *p, int64_t from, int64_t to)          \
    {                                                                                      \
        BY_WIDTH(multiply)                                                                 \
    }                                                                                      \
    target static void scatter_##isa(const product *p, int64_t from, int64_t to)           \
    {                                                                                      \
        BY_WIDTH(scatter)                                                                  \
    }
/* clang-format on */
#define NO_TARGET
COMPILE_FOR(plain, NO_TARGET)
#if defined(__x86_64__)
COMPILE_FOR(avx2, __attribute__((target("avx2"))))
COMPILE_FOR(avx512, __attribute__((target("avx512f,avx512vl,avx512dq"))))
static range_fn *const multiplies[] = {multiply_plain, multiply_avx2, multiply_avx512};
static range_fn *const scatters[] = {scatter_plain, scatter_avx2, scatter_avx512};
#else
static range_fn *const multiplies[] = {multiply_plain}, *const scatters[] = {scatter_plain};
#endif

ferry_isa ferry_i_isa(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return FERRY_ISA_AVX512;
    if (__builtin_cpu_supports("avx2")) return FERRY_ISA_AVX2;
#endif
    return FERRY_ISA_PLAIN;
}

int64_t ferry_i_row_cut(int64_t rows, const int64_t *start, int64_t piece, int64_t pieces)
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

static void share_rows(ferry_ctx *ctx, ferry_isa isa, const product *p, int64_t rows)
{
    const int threads = ferry_i_loop_threads(ctx, (p->nnz + rows) * p->k);
    const int64_t pieces = threads == 1 ? 1 : 8 * (int64_t)threads;

#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t piece = 0; piece < pieces; piece++)
        multiplies[isa](p, ferry_i_row_cut(rows, p->start, piece, pieces),
                        ferry_i_row_cut(rows, p->start, piece + 1, pieces));
}

void ferry_i_csr_mul(ferry_ctx *ctx, ferry_isa isa, double alpha, const ferry_matrix *x,
                     const ferry_block *b, double beta, ferry_block *y)
{
    const product p = {alpha,  beta,    x->start, x->index, x->value,
                       x->nnz, b->data, y->data,  b->k};

    share_rows(ctx, isa, &p, x->rows);
}

static void scale(double beta, int64_t n,
                  double *y) /* 0 forgets what was there, even NaN */
{
    if (beta == 0 && n > 0) memset(y, 0, (size_t)n * sizeof *y);
    for (int64_t e = 0; beta != 0 && beta != 1 && e < n; e++)
        y[e] *= beta;
}

/* Threads that are worth a Y of their own: adding it up must cost less than filling it. */
static int scatter_threads(const ferry_ctx *ctx, const product *p, int64_t cols)
{
    const int threads = ferry_i_loop_threads(ctx, p->nnz * p->k);
    const int64_t pays = p->nnz / (4 * (cols > 0 ? cols : 1));

    return pays >= threads ? threads : pays > 1 ? (int)pays : 1;
}

/* Pieces of rows, the first into Y, the others each into size numbers of `own`; then the
 * sum. */
static void scatter_pieces(int threads, ferry_isa isa, const product *p, int64_t rows,
                           int64_t size, double *own)
{
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int64_t t = 0; t < threads; t++) {
        product mine = *p;
        if (t > 0) mine.y = own + (t - 1) * size;
        scale(t > 0 ? 0 : p->beta, size, mine.y);
        scatters[isa](&mine, ferry_i_row_cut(rows, p->start, t, threads),
                      ferry_i_row_cut(rows, p->start, t + 1, threads));
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t e = 0; e < (threads > 1 ? size : 0); e++)
        for (int64_t t = 1; t < threads; t++)
            p->y[e] += own[(t - 1) * size + e];
}

ferry_status ferry_i_csr_tmul(ferry_ctx *ctx, ferry_isa isa, double alpha,
                              const ferry_matrix *x, const ferry_block *b, double beta,
                              ferry_block *y)
{
    ferry_status st = FERRY_OK;
    product p = {alpha, beta, x->start, x->index, x->value, x->nnz, b->data, y->data, b->k};
    const int threads = scatter_threads(ctx, &p, x->cols);
    double *own = NULL;

    if (x->t_start) {
        p.start = x->t_start;
        p.index = x->t_index;
        p.value = x->t_value;
        share_rows(ctx, isa, &p, x->cols);
        goto done;
    }
    if (threads > 1) {
        own = ferry_i_realloc(NULL, (threads - 1) * x->cols * p.k, sizeof *own);
        if (!own) FERRY_TRY(ferry_i_nomem(ctx));
    }
    scatter_pieces(threads, isa, &p, x->rows, x->cols * p.k, own);
done:
    ferry_i_free(own);
    return st;
}
