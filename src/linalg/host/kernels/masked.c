/* Products at the observed entries of a CSR matrix, without ever keeping them:
 *
 *   N[i] = sum_j x_ij C[j],   D[i] = sum_j h_ij C[j],   h_ij = <A[i], C[j]>
 *
 * A row of C is loaded once and used three times, while A[i], N[i] and D[i] stay in
 * registers; so an entry costs its index, its value and one row of C, which is fetched
 * ahead. Four entries go together, to add up four h in three additions.
 *
 * Sums are taken in the order of the entries, every row by one thread, and multiplication
 * and addition are never fused: the same bits for any thread count and instruction set. */
#include "linalg/host/kernels/kernel.h"

/* Entries ahead for which rows of C are fetched. */
enum { AHEAD = 16, LINE = 8 };

typedef ferry_masked masked;

/* The sums of four quads: (p0 + p1) + (p2 + p3) of each, side by side.
 * Three vector additions for four sums, where one at a time would take three each; every
 * sum is made as quad_sum() makes it. */
INLINE quad sums_of(quad p, quad q, quad r, quad s)
{
#if LANES >= 4
    const v4 t = __builtin_shufflevector(p, q, 0, 4, 2, 6) +
                 __builtin_shufflevector(p, q, 1, 5, 3, 7);
    const v4 u = __builtin_shufflevector(r, s, 0, 4, 2, 6) +
                 __builtin_shufflevector(r, s, 1, 5, 3, 7);

    return __builtin_shufflevector(t, u, 0, 1, 4, 5) +
           __builtin_shufflevector(t, u, 2, 3, 6, 7);
#else
    return (quad){{quad_sum(p), quad_sum(q)}, {quad_sum(r), quad_sum(s)}};
#endif
}

/* All lines that a row of k numbers touches, wherever it begins in the first. */
INLINE void fetch_row(const double *row, int64_t k)
{
    UNROLL for (int64_t c = 0; c < k; c += LINE) __builtin_prefetch(row + c, 0, 3);
    __builtin_prefetch(row + k - 1, 0, 3);
}

/* Groups of four columns that the arrays below have room for. */
enum { MOST = 8 };

/* What one row adds up: G groups of four columns and T more. */
typedef struct sums {
    quad a[MOST], n[MOST], d[MOST];
    double at[4], nt[4], dt[4];
} sums;

/* Sums of one more entry, whose h is known.
 * G and T are constants where this is used, so the arrays of s are registers. */
INLINE void add(sums *s, int G, int T, bool with_n, const double *row, double x, double h)
{
    UNROLL for (int g = 0; g < G; g++)
    {
        const quad c = quad_load(row + 4 * g);
        if (with_n) s->n[g] = quad_add(s->n[g], quad_times(x, c));
        s->d[g] = quad_add(s->d[g], quad_times(h, c));
    }
    UNROLL for (int t = 0; t < T; t++)
    {
        if (with_n) s->nt[t] += x * row[4 * G + t];
        s->dt[t] += h * row[4 * G + t];
    }
}

/* A[i] o C[j] in G groups, added up to one quad: h before it is summed. */
INLINE quad products(const sums *s, int G, const double *row)
{
    quad p = quad_mul(s->a[0], quad_load(row));

    UNROLL for (int g = 1; g < G; g++) p =
        quad_add(p, quad_mul(s->a[g], quad_load(row + 4 * g)));
    return p;
}

/* h and what the T last columns add to it, one by one. */
INLINE double tail(const sums *s, int G, int T, const double *row, double h)
{
    UNROLL for (int t = 0; t < T; t++) h += s->at[t] * row[4 * G + t];
    return h;
}

/* Rows [from, to) for k = 4 G + T, all three constant: everything stays in registers.
 * Entries go in fours, the rest one at a time, with the same order of additions within a
 * row of C; a prefetch looks AHEAD entries on, also into the next row, but not beyond
 * the matrix. */
INLINE void few(const masked *m, int G, int T, bool with_n, int64_t from, int64_t to)
{
    const int64_t k = 4 * G + T;

    for (int64_t i = from; i < to; i++) {
        const int64_t end = m->start[i + 1];
        int64_t e = m->start[i];
        sums s;
        UNROLL for (int g = 0; g < G; g++)
        {
            s.a[g] = quad_load(m->a + i * k + 4 * g);
            s.n[g] = s.d[g] = QUAD_ZERO;
        }
        UNROLL for (int t = 0; t < T; t++)
        {
            s.at[t] = m->a[i * k + 4 * G + t];
            s.nt[t] = s.dt[t] = 0;
        }
        for (; e + 4 <= end; e += 4) {
            const double *row[4];
            quad p[4];
            UNROLL for (int u = 0; u < 4; u++)
            {
                row[u] = m->c + m->index[e + u] * k;
                if (e + u + AHEAD < m->nnz)
                    fetch_row(m->c + m->index[e + u + AHEAD] * k, k);
                p[u] = products(&s, G, row[u]);
            }
            const quad h = sums_of(p[0], p[1], p[2], p[3]);
            UNROLL for (int u = 0; u < 4; u++)
                add(&s, G, T, with_n, row[u], with_n ? m->value[e + u] : 0,
                    tail(&s, G, T, row[u], quad_at(h, u)));
        }
        for (; e < end; e++) {
            const double *row = m->c + m->index[e] * k;
            add(&s, G, T, with_n, row, with_n ? m->value[e] : 0,
                tail(&s, G, T, row, quad_sum(products(&s, G, row))));
        }
        UNROLL for (int g = 0; g < G; g++)
        {
            if (with_n) quad_store(m->n + i * k + 4 * g, s.n[g]);
            quad_store(m->d + i * k + 4 * g, s.d[g]);
        }
        UNROLL for (int t = 0; t < T; t++)
        {
            if (with_n) m->n[i * k + 4 * G + t] = s.nt[t];
            m->d[i * k + 4 * G + t] = s.dt[t];
        }
    }
}

/* Rows [from, to) for any k: sums in memory, which a row leaves in the first cache.
 * The additions of h have the same order as in few(), so a width may move between the
 * two without changing a bit. */
INLINE void many(const masked *m, bool with_n, int64_t from, int64_t to)
{
    const int64_t k = m->k, groups = k / 4;

    for (int64_t i = from; i < to; i++) {
        const double *a = m->a + i * k;
        double *restrict n = with_n ? m->n + i * k : NULL, *restrict d = m->d + i * k;
        for (int64_t c = 0; c < k; c++) {
            if (with_n) n[c] = 0;
            d[c] = 0;
        }
        for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
            const double *row = m->c + m->index[e] * k;
            quad p = QUAD_ZERO;
            for (int64_t g = 0; g < groups; g++)
                p = quad_add(p, quad_mul(quad_load(a + 4 * g), quad_load(row + 4 * g)));
            double h = quad_sum(p);
            for (int64_t c = 4 * groups; c < k; c++)
                h += a[c] * row[c];
            for (int64_t c = 0; c < k; c++)
                d[c] += h * row[c];
            for (int64_t c = 0; with_n && c < k; c++)
                n[c] += m->value[e] * row[c];
        }
    }
}

/* The widths that are used most get code of their own. */
#define BY_WIDTH(with_n)                                                                   \
    switch (m->k) {                                                                        \
    case 10: few(m, 2, 2, with_n, from, to); break;                                        \
    case 20: few(m, 5, 0, with_n, from, to); break;                                        \
    default: many(m, with_n, from, to); break;                                             \
    }

void KERNEL(masked)(const masked *m, int64_t from, int64_t to)
{
    if (m->n) {
        BY_WIDTH(true)
    } else {
        BY_WIDTH(false)
    }
}
