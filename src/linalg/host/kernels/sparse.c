/* CSR matrix times block, Y = alpha X B + beta Y and Y += alpha X'B, a range of rows of X.
 *
 * Columns of B go in panels whose sums stay in registers while the entries of a row go by.
 * The last vector of a panel ends with its last column and may overlap the one before, so
 * that any width takes whole vectors: both compute the same bits for what they share, and
 * all are loaded before the first is stored.
 *
 * Multiplication and addition are never fused, which costs nothing here (loads are the
 * limit), and how many sums an element has depends on k alone: the same bits for all
 * instruction sets. Numbers below were tuned on a Zen 3 with uniformly random columns
 * (bench/sparse.c). */
#include "linalg/host/kernels/kernel.h"

/* Columns of a panel; two sums of each fit into the registers. With half as many registers
 * of 16 bytes it takes two turns. */
enum { PANEL = 16, TURN = LANES > 2 || REGISTERS > 16 ? 16 : 8 };
/* Where rows of B or Y are far away they are fetched ROWS_AHEAD entries ahead, and so are
 * entries; where they are near, that would only cost, but for k = 1, which does little else than
 * read entries. Into all caches: around them is no faster on a Zen 3 and half as fast on a Xeon
 * (k = 1). Panels share BAND rows, whose entries are still there for the next. */
enum { STREAM_AHEAD = 256, ROWS_AHEAD = 32, BAND = 16 };

typedef ferry_product product;

/* Columns [at, at + wide) of rows [from, to). */
typedef struct panel {
    int64_t at, wide, from, to;
} panel;

/* An index is half as long as a value, hence twice as far ahead. The addresses may lie
 * beyond the arrays: a prefetch never faults. */
INLINE void fetch_entries(const int32_t *index, const double *value)
{
    __builtin_prefetch(index + 2 * STREAM_AHEAD, 0, 3);
    __builtin_prefetch(value + STREAM_AHEAD, 0, 3);
}

INLINE void fetch_row(const double *x, int wide)
{
    UNROLL for (int at = 0; at < wide; at += 8) __builtin_prefetch(x + at, 0, 3);
}

/* Where the indices of entries that follow row r's are, less the n of the row itself; NULL:
 * there are not enough to look ahead. Rows may be cut, so this is not always the next in
 * memory. */
INLINE const int32_t *following(const product *p, int64_t r, int64_t n)
{
    const int64_t next = p->start[r + 1];

    return p->far && next >= 4 && next + ROWS_AHEAD + 4 <= p->nnz ? p->index + next - n
                                                                  : NULL;
}

/* Vector g of G of a row of a panel. */
#define WIDTH(V) ((int)(sizeof(V) / sizeof(double)))
#define PART(V, x, g)                                                                      \
    (*(V *)(void *)((x) + ((g) < G - 1 ? (g)*WIDTH(V) : z.wide - WIDTH(V))))

/* mul_V: y <- alpha sum of value[e] b[index[e]] + beta y for a panel of G vectors V, in U
 * sums that do not wait for each other.
 * add_V: y[index[e]] += alpha value[e] b. Indices of a row differ, so entries do not wait
 * for each other either. */
#define PANELS(V)                                                                          \
    INLINE void mul_##V(const product *p, const panel z, const int G, const int U,         \
                        const int64_t ld, const bool far)                                  \
    {                                                                                      \
        const double *const b = p->b + z.at;                                               \
        for (int64_t r = z.from; r < z.to; r++) {                                          \
            const int64_t n = p->end[r] - p->start[r];                                     \
            const int32_t *const next = far ? following(p, r, n) : NULL;                   \
            const int32_t *const index = p->index + p->start[r];                           \
            const double *const value = p->value + p->start[r];                            \
            double *const y = p->y + r * p->y_ld + z.at;                                   \
            V s[4][8];                                                                     \
            int64_t e = 0;                                                                 \
            UNROLL for (int u = 0; u < U; u++) UNROLL for (int g = 0; g < G; g++)          \
                s[u][g] = (V){0};                                                          \
            for (; e + 4 <= n; e += 4) {                                                   \
                if (far && e % 8 == 0) fetch_entries(index + e, value + e);                \
                if (next) {                                                                \
                    const int32_t *const soon =                                            \
                        (e + ROWS_AHEAD + 4 <= n ? index : next) + e + ROWS_AHEAD;         \
                    UNROLL for (int u = 0; u < 4; u++)                                     \
                        fetch_row(b + soon[u] * ld, G * WIDTH(V));                         \
                }                                                                          \
                UNROLL for (int u = 0; u < 4; u++)                                         \
                {                                                                          \
                    const double *const row = b + index[e + u] * ld;                       \
                    UNROLL for (int g = 0; g < G; g++) s[u % U][g] +=                      \
                        value[e + u] * PART(const V, row, g);                              \
                }                                                                          \
            }                                                                              \
            for (; e < n; e++) {                                                           \
                const double *const row = b + index[e] * ld;                               \
                UNROLL for (int g = 0; g < G; g++) s[0][g] +=                              \
                    value[e] * PART(const V, row, g);                                      \
            }                                                                              \
            UNROLL for (int g = 0; g < G; g++)                                             \
            {                                                                              \
                UNROLL for (int u = 1; u < U; u++) s[0][g] += s[u][g];                     \
                s[0][g] *= p->alpha;                                                       \
                if (p->beta != 0) s[0][g] += p->beta * PART(const V, y, g);                \
            }                                                                              \
            UNROLL for (int g = 0; g < G; g++) PART(V, y, g) = s[0][g];                    \
        }                                                                                  \
    }                                                                                      \
    INLINE void add_##V(const product *p, const panel z, const int G, const int U,         \
                        const int64_t ld, const bool far)                                  \
    {                                                                                      \
        (void)U;                                                                           \
        double *const y = p->y + z.at;                                                     \
        for (int64_t r = z.from; r < z.to; r++) {                                          \
            const int64_t n = p->end[r] - p->start[r];                                     \
            const int32_t *const next = far ? following(p, r, n) : NULL;                   \
            const int32_t *const index = p->index + p->start[r];                           \
            const double *const value = p->value + p->start[r];                            \
            const double *const from = p->b + r * p->b_ld + z.at;                          \
            V b[8], s[8];                                                                  \
            UNROLL for (int g = 0; g < G; g++) b[g] = p->alpha * PART(const V, from, g);   \
            for (int64_t e = 0; e < n; e++) {                                              \
                double *const row = y + index[e] * ld;                                     \
                if (far && e % 8 == 0) fetch_entries(index + e, value + e);                \
                if (next)                                                                  \
                    fetch_row(y + (e + ROWS_AHEAD < n ? index : next)[e + ROWS_AHEAD] *    \
                                      ld,                                                  \
                              G * WIDTH(V));                                               \
                UNROLL for (int g = 0; g < G; g++) s[g] =                                  \
                    PART(V, row, g) + value[e] * b[g];                                     \
                UNROLL for (int g = 0; g < G; g++) PART(V, row, g) = s[g];                 \
            }                                                                              \
        }                                                                                  \
    }
PANELS(v1)
PANELS(v2)
#if LANES > 2
PANELS(v4)
#endif
#if LANES > 4
PANELS(v8)
#endif

/* f for a panel, with constants for the number of vectors. U sums: four where the whole
 * panel has four columns or less. */
#if LANES == 2
#define FOUR(f, U) f##_v2(p, z, 2, U, ld, p->far)
#define MORE(f)                                                                            \
    switch ((z.wide + 1) / 2) {                                                            \
    case 3: f##_v2(p, z, 3, 2, ld, p->far); break;                                         \
    case 4: f##_v2(p, z, 4, 2, ld, p->far); break;                                         \
    case 5: f##_v2(p, z, 5, 2, ld, p->far); break;                                         \
    case 6: f##_v2(p, z, 6, 2, ld, p->far); break;                                         \
    case 7: f##_v2(p, z, 7, 2, ld, p->far); break;                                         \
    default: f##_v2(p, z, 8, 2, ld, p->far); break;                                        \
    }
#elif LANES == 4
#define FOUR(f, U) f##_v4(p, z, 1, U, ld, p->far)
#define MORE(f)                                                                            \
    switch ((z.wide + 3) / 4) {                                                            \
    case 2: f##_v4(p, z, 2, 2, ld, p->far); break;                                         \
    case 3: f##_v4(p, z, 3, 2, ld, p->far); break;                                         \
    default: f##_v4(p, z, 4, 2, ld, p->far); break;                                        \
    }
#else
#define FOUR(f, U) f##_v4(p, z, 1, U, ld, p->far)
#define MORE(f)                                                                            \
    switch ((z.wide + 7) / 8) {                                                            \
    case 1:                                                                                \
        if (z.wide < 8)                                                                    \
            f##_v4(p, z, 2, 2, ld, p->far);                                                \
        else                                                                               \
            f##_v8(p, z, 1, 2, ld, p->far);                                                \
        break;                                                                             \
    default: f##_v8(p, z, 2, 2, ld, p->far); break;                                        \
    }
#endif
#define BY_WIDTH(f, U)                                                                     \
    switch (z.wide) {                                                                      \
    case 1:                                                                                \
        if (ld == 1)                                                                       \
            f##_v1(p, z, 1, U, 1, true);                                                   \
        else                                                                               \
            f##_v1(p, z, 1, U, ld, p->far);                                                \
        break;                                                                             \
    case 2: f##_v2(p, z, 1, U, ld, p->far); break;                                         \
    case 3: f##_v2(p, z, 2, U, ld, p->far); break;                                         \
    case 4: FOUR(f, U); break;                                                             \
    default: MORE(f)                                                                       \
    }

/* A panel of more than four columns may still end with a narrow turn. */
static void multiply(const product *p, const panel z, bool narrow)
{
    const int64_t ld = p->b_ld;

    if (narrow) {
        BY_WIDTH(mul, 4)
    } else {
        BY_WIDTH(mul, 2)
    }
}

static void scatter(const product *p, const panel z, bool narrow)
{
    const int64_t ld = p->y_ld;

    (void)narrow;
    BY_WIDTH(add, 1)
}

/* All columns of rows [from, to), panel by panel. */
INLINE void in_panels(void (*f)(const product *, panel, bool), const product *p,
                      int64_t from, int64_t to)
{
    panel z;

    for (z.from = from; z.from < to; z.from = z.to) {
        z.to = p->k <= TURN || to - z.from < BAND ? to : z.from + BAND;
        for (int64_t c = 0; c < p->k; c += PANEL) {
            const int64_t end = p->k - c < PANEL ? p->k : c + PANEL;
            for (z.at = c; z.at < end; z.at += TURN) {
                z.wide = end - z.at < TURN ? end - z.at : TURN;
                f(p, z, end - c <= 4);
            }
        }
    }
}

/* Rows [from, to) of Y <- alpha X B + beta Y. */
void KERNEL(multiply)(const product *p, int64_t from, int64_t to)
{
    in_panels(multiply, p, from, to);
}

/* Y += alpha X'B over rows [from, to) of X; Y has been multiplied by beta before. */
void KERNEL(scatter)(const product *p, int64_t from, int64_t to)
{
    in_panels(scatter, p, from, to);
}
