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
#include "linalg/host/host.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored                                                             \
    "-Wpsabi" /* vectors are returned by inlined functions only */
#endif

/* Entries ahead for which rows of C are fetched. */
enum { AHEAD = 16, LINE = 8 };

typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));

typedef struct masked {
    const int64_t *start;
    const int32_t *index;
    const double *value; /* NULL: N is not wanted */
    int64_t nnz;
    const double *a, *c;
    double *n, *d;
    int64_t k;
} masked;

/* (p0 + p1) + (p2 + p3) of four vectors. */
INLINE v4 sums_of(v4 p, v4 q, v4 r, v4 s)
{
    const v4 t = __builtin_shufflevector(p, q, 0, 4, 2, 6) +
                 __builtin_shufflevector(p, q, 1, 5, 3, 7);
    const v4 u = __builtin_shufflevector(r, s, 0, 4, 2, 6) +
                 __builtin_shufflevector(r, s, 1, 5, 3, 7);

    return __builtin_shufflevector(t, u, 0, 1, 4, 5) +
           __builtin_shufflevector(t, u, 2, 3, 6, 7);
}

INLINE double sum_of(v4 p)
{
    return (p[0] + p[1]) + (p[2] + p[3]);
}

INLINE void fetch_row(const double *row, int64_t k)
{
    UNROLL for (int64_t c = 0; c < k; c += LINE) __builtin_prefetch(row + c, 0, 3);
    __builtin_prefetch(row + k - 1, 0, 3);
}

/* Group g of a row. */
INLINE v4 load(const double *row, int g)
{
    return ((const v4 *)(const void *)row)[g];
}

INLINE void store(double *row, int g, v4 v)
{
    ((v4 *)(void *)row)[g] = v;
}

enum { MOST = 8 };

/* What one row adds up: G groups of four columns and T more. */
typedef struct sums {
    v4 a[MOST], n[MOST], d[MOST];
    double at[4], nt[4], dt[4];
} sums;

/* Sums of one more entry, whose h is known. */
INLINE void add(sums *s, int G, int T, bool with_n, const double *row, double x, double h)
{
    UNROLL for (int g = 0; g < G; g++)
    {
        const v4 c = load(row, g);
        if (with_n) s->n[g] += x * c;
        s->d[g] += h * c;
    }
    UNROLL for (int t = 0; t < T; t++)
    {
        if (with_n) s->nt[t] += x * row[4 * G + t];
        s->dt[t] += h * row[4 * G + t];
    }
}

INLINE v4 products(const sums *s, int G, const double *row)
{
    v4 p = {0};

    UNROLL for (int g = 0; g < G; g++) p =
        g == 0 ? s->a[0] * load(row, 0) : p + s->a[g] * load(row, g);
    return p;
}

INLINE double tail(const sums *s, int G, int T, const double *row, double h)
{
    UNROLL for (int t = 0; t < T; t++) h += s->at[t] * row[4 * G + t];
    return h;
}

/* Rows [from, to) for k = 4 G + T, all three constant: everything stays in registers. */
INLINE void few(const masked *m, int G, int T, bool with_n, int64_t from, int64_t to)
{
    const int64_t k = 4 * G + T;

    for (int64_t i = from; i < to; i++) {
        const int64_t end = m->start[i + 1];
        int64_t e = m->start[i];
        sums s;
        UNROLL for (int g = 0; g < G; g++)
        {
            s.a[g] = load(m->a + i * k, g);
            s.n[g] = s.d[g] = (v4){0};
        }
        UNROLL for (int t = 0; t < T; t++)
        {
            s.at[t] = m->a[i * k + 4 * G + t];
            s.nt[t] = s.dt[t] = 0;
        }
        for (; e + 4 <= end; e += 4) {
            const double *row[4];
            v4 p[4];
            UNROLL for (int u = 0; u < 4; u++)
            {
                row[u] = m->c + m->index[e + u] * k;
                if (e + u + AHEAD < m->nnz)
                    fetch_row(m->c + m->index[e + u + AHEAD] * k, k);
                p[u] = products(&s, G, row[u]);
            }
            const v4 h = sums_of(p[0], p[1], p[2], p[3]);
            UNROLL for (int u = 0; u < 4; u++)
                add(&s, G, T, with_n, row[u], with_n ? m->value[e + u] : 0,
                    tail(&s, G, T, row[u], h[u]));
        }
        for (; e < end; e++) {
            const double *row = m->c + m->index[e] * k;
            add(&s, G, T, with_n, row, with_n ? m->value[e] : 0,
                tail(&s, G, T, row, sum_of(products(&s, G, row))));
        }
        UNROLL for (int g = 0; g < G; g++)
        {
            if (with_n) store(m->n + i * k, g, s.n[g]);
            store(m->d + i * k, g, s.d[g]);
        }
        UNROLL for (int t = 0; t < T; t++)
        {
            if (with_n) m->n[i * k + 4 * G + t] = s.nt[t];
            m->d[i * k + 4 * G + t] = s.dt[t];
        }
    }
}

/* Rows [from, to) for any k: sums in memory, which a row leaves in the first cache. */
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
            v4 p = {0};
            for (int64_t g = 0; g < groups; g++)
                p += load(a, (int)g) * load(row, (int)g);
            double h = sum_of(p);
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

typedef void range_fn(const masked *m, int64_t from, int64_t to);

/* clang-format off */
#define COMPILE_FOR(isa, target)                                                           \
    target static void both_##isa(const masked *m, int64_t from, int64_t to)               \
    {                                                                                      \
        BY_WIDTH(true)                                                                     \
    }                                                                                      \
    target static void only_d_##isa(const masked *m, int64_t from, int64_t to)             \
    {                                                                                      \
        BY_WIDTH(false)                                                                    \
    }
/* clang-format on */
#define NO_TARGET
COMPILE_FOR(plain, NO_TARGET)
#if defined(__x86_64__) && !defined(FERRY_CHECKED)
COMPILE_FOR(avx2, __attribute__((target("avx2"))))
COMPILE_FOR(avx512, __attribute__((target("avx512f,avx512vl,avx512dq"))))
static range_fn *const boths[] = {both_plain, both_avx2, both_avx512};
static range_fn *const only_ds[] = {only_d_plain, only_d_avx2, only_d_avx512};
#else
static range_fn *const boths[] = {both_plain, both_plain, both_plain};
static range_fn *const only_ds[] = {only_d_plain, only_d_plain, only_d_plain};
#endif

void ferry_i_csr_masked(ferry_ctx *ctx, ferry_isa isa, const ferry_matrix *x,
                        const ferry_block *a, const ferry_block *c, ferry_block *n,
                        ferry_block *d)
{
    const masked m = {x->start, x->index,           x->value, x->nnz, a->data,
                      c->data,  n ? n->data : NULL, d->data,  c->k};
    range_fn *const rows = (n ? boths : only_ds)[isa];
    const int threads = ferry_i_loop_threads(ctx, (x->nnz + x->rows) * m.k);
    const int64_t pieces = threads == 1 ? 1 : 16 * (int64_t)threads;

#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t piece = 0; piece < pieces; piece++)
        rows(&m, ferry_i_row_cut(x->rows, x->start, piece, pieces),
             ferry_i_row_cut(x->rows, x->start, piece + 1, pieces));
}

void ferry_i_host_masked(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *a,
                         const ferry_block *c, ferry_block *n, ferry_block *d)
{
    assert(!x->dense && a->rows == x->rows && c->rows == x->cols && a->k == c->k);
    assert(d->rows == x->rows && d->k == c->k);
    assert(!n || (n->rows == x->rows && n->k == c->k));
    ferry_i_csr_masked(ctx, ferry_i_isa(), x, a, c, n, d);
}
