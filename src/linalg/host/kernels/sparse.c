/* CSR matrix times block, Y = alpha X B + beta Y and Y += alpha X'B, a range of rows of X.
 *
 * The loops exist once, for groups of 32, 16, 8, 4, 2 and 1 columns. A group's sums stay in
 * registers while the entries of a row go by; 16 registers of 16 bytes hold half of the
 * widest groups, which then take two turns. Multiplication and addition are never fused,
 * which costs nothing here (loads are the limit) and gives the same bits for all instruction
 * sets. Numbers below were tuned on a Zen 4 with uniformly random columns (bench/sparse.c).
 */
#include "linalg/host/kernels/kernel.h"

/* Entries are read once: fetched this many ahead, around the caches where rows of B (X'B:
 * of Y) had better stay; and rows of Y this many entries ahead. */
enum { STREAM_AHEAD = 64, ROWS_AHEAD = 32 };

typedef ferry_product product;

/* An index is half as long as a value, hence twice as far ahead. The addresses may lie
 * beyond the arrays: a prefetch never faults. */
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
/* The same for a group of twice as many columns, one half after the other. */
#define ROW_IN_HALVES(name, half, columns)                                                 \
    INLINE void name(const product *p, const int32_t *index, const double *value,          \
                     int64_t n, int64_t k, const double *b, double *out)                   \
    {                                                                                      \
        half(p, index, value, n, k, b, out);                                               \
        half(p, index, value, n, k, b + (columns) / 2, out + (columns) / 2);               \
    }
#if LANES == 8
ROW_OF_XB(row_32, v8, 4, 1)
ROW_OF_XB(row_16, v8, 2, 2)
ROW_OF_XB(row_8, v8, 1, 4)
ROW_OF_XB(row_4, v4, 1, 4)
#elif LANES == 4
ROW_OF_XB(row_32, v4, 8, 1)
ROW_OF_XB(row_16, v4, 4, 2)
ROW_OF_XB(row_8, v4, 2, 4)
ROW_OF_XB(row_4, v4, 1, 4)
#else
ROW_OF_XB(half_32, v2, 8, 1)
ROW_OF_XB(half_16, v2, 4, 2)
ROW_OF_XB(half_8, v2, 2, 4)
ROW_IN_HALVES(row_32, half_32, 32)
ROW_IN_HALVES(row_16, half_16, 16)
ROW_IN_HALVES(row_8, half_8, 8)
ROW_OF_XB(row_4, v2, 2, 4)
#endif
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

/* Rows [from, to) of Y = X B.
 * Rows with many columns are walked once for each group of up to 32; entries are in the
 * near cache the second time. */
INLINE void multiply(const product *p, int64_t k, int64_t from, int64_t to)
{
    for (int64_t r = from; r < to; r++) {
        const int64_t e = p->start[r], n = p->start[r + 1] - e;
        int64_t c = 0;
#define ROW(w) row_##w(p, p->index + e, p->value + e, n, k, p->b + c, p->y + r * k + c)
        IN_GROUPS(k, c, ROW);
    }
}

/* Lines of the cache that G vectors V fill. */
#define LINES(V, G) (((G) * (int)sizeof(V) + 63) / 64)
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
                UNROLL for (int u = 0; u < 4 * LINES(V, G); u++) __builtin_prefetch(       \
                    y + index[e + ROWS_AHEAD + u / LINES(V, G)] * k + u % LINES(V, G) * 8, \
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
#if LANES == 8
ADD_ROW(add_32, v8, 4)
ADD_ROW(add_16, v8, 2)
ADD_ROW(add_8, v8, 1)
ADD_ROW(add_4, v4, 1)
#elif LANES == 4
ADD_ROW(add_32, v4, 8)
ADD_ROW(add_16, v4, 4)
ADD_ROW(add_8, v4, 2)
ADD_ROW(add_4, v4, 1)
#else
ADD_ROW(add_16, v2, 8)
ADD_ROW(add_8, v2, 4)
ADD_ROW(add_4, v2, 2)
INLINE void add_32(const product *p, const int32_t *index, const double *value, int64_t n,
                   int64_t last, int64_t k, const double *from, double *y)
{
    add_16(p, index, value, n, last, k, from, y);
    add_16(p, index, value, n, last, k, from + 16, y + 16);
}
#endif
ADD_ROW(add_2, v2, 1)
ADD_ROW(add_1, v1, 1)

/* Y += X'B for rows [from, to) of X.
 * The row of B stays in registers while its entries go by; each adds to another row of
 * Y. Only one thread writes to this Y. */
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

/* Rows [from, to) of Y <- alpha X B + beta Y. */
void KERNEL(multiply)(const product *p, int64_t from, int64_t to)
{
    BY_WIDTH(multiply)
}

/* Y += alpha X'B over rows [from, to) of X; Y has been multiplied by beta before. */
void KERNEL(scatter)(const product *p, int64_t from, int64_t to)
{
    BY_WIDTH(scatter)
}
