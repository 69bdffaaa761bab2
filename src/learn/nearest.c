/* Exact nearest neighbours by blocks of products.
 *
 *   |x - q|^2 = |x|^2 - 2 x'q + |q|^2,     1 - cos(x, q) = 1 - x'(q / |q|) / |x|
 *
 * One product gives x'q for all rows x and a block of queries, so that the work is a matrix
 * product and the memory a block, not n x n. The formula loses digits, so it only picks the
 * candidates: every row that could be among the k nearest within its error bound. Their
 * distances are then computed from the differences themselves, in one fixed order. The
 * answer is therefore exact, equal rows are equally far, and engines and thread counts give
 * the same bits.
 */
#include "learn/nearest.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/rows.h"

enum {
    STRIP = 8,            /* queries that one thread handles together: one cache line */
    MOST_QUERIES = 64,    /* in a block; a multiple of STRIP */
    MOST_CELLS = 8 << 20, /* doubles in a block's products and queries together */
    AT_ONCE = 1 << 29     /* products of the queries that an engine is asked at once */
};

/* Up to what is the same for all rows, the estimate for row i and a query is
 * offset[i] + factor[i] (x'q). */
typedef struct search {
    const ferry_matrix *x, *q;
    int64_t k;
    ferry_distance distance;
    const int64_t *order;    /* of equally near rows of x; NULL: by number */
    double *xn, *qn;         /* squared lengths of the rows */
    double xn_max;           /* the largest of x's */
    double *offset, *factor; /* per row of x */
    block b, dot;            /* d x width queries; n x width products */
    double *best;            /* width x k, smallest estimates so far */
    int64_t *index;
    double *dist;
} search;

/* sum of (x_i - q_j)^2, or of x_i q_j when dot, over all features. Four partial sums by
 * feature number, the same for dense and CSR: what is not stored adds 0. */
static double pair_sum(const ferry_matrix *x, int64_t i, const ferry_matrix *q, int64_t j,
                       bool dot)
{
    const double *xv = row_values(x), *qv = row_values(q);
    int64_t a = row_begin(x, i), b = row_begin(q, j);
    const int64_t a_end = row_end(x, i), b_end = row_end(q, j);
    double sum[4] = {0};

    while (a < a_end || b < b_end) {
        const int64_t fa = a < a_end ? row_column(x, i, a) : INT64_MAX;
        const int64_t fb = b < b_end ? row_column(q, j, b) : INT64_MAX;
        const double u = fa <= fb ? xv[a++] : 0, v = fb <= fa ? qv[b++] : 0;
        sum[(fa < fb ? fa : fb) & 3] += dot ? u * v : (u - v) * (u - v);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The same for two dense rows, without the search for equal columns. */
static double dense_square(int64_t n, const double *x, const double *q)
{
    double sum[4] = {0};

    for (int64_t f = 0; f < n; f++)
        sum[f & 3] += (x[f] - q[f]) * (x[f] - q[f]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The distance that is reported, from the differences (cosine: from the product and the
 * lengths by the same sum), never from the estimate. */
static double exact(const search *s, int64_t i, int64_t j)
{
    const int64_t d = s->x->cols;
    const double lengths = sqrt(s->xn[i]) * sqrt(s->qn[j]);

    if (s->distance == FERRY_EUCLIDEAN && s->x->dense && s->q->dense)
        return sqrt(dense_square(d, s->x->dense + i * d, s->q->dense + j * d));
    if (s->distance == FERRY_EUCLIDEAN) return sqrt(pair_sum(s->x, i, s->q, j, false));
    /* Lengths that overflow are as unknown as those of zero rows. Rounding may leave the
     * range [0, 2] by a hair. */
    if (!(lengths > 0 && isfinite(lengths))) return 1;
    return fmin(fmax(1 - pair_sum(s->x, i, s->q, j, true) / lengths, 0), 2);
}

/* How far two estimates together can be off: products of d terms have a relative error of
 * d eps against the lengths, the square lengths another. */
static double slack(const search *s, int64_t j)
{
    const double scale = s->distance == FERRY_COSINE ? 2 : s->xn_max + s->qn[j];

    return 4 * ((double)s->x->cols + 4) * DBL_EPSILON * scale;
}

/* Put v into the ascending list of the n smallest.
 * Insertion: O(n), but few estimates get this far. v is below the last. */
static void keep_smallest(double *list, int64_t n, double v)
{
    int64_t at = n - 1;

    for (; at > 0 && list[at - 1] > v; at--)
        list[at] = list[at - 1];
    list[at] = v;
}

/* Whether row i at distance v comes before entry `at` of a list: an empty one holds inf, which a real row at inf still
 * takes. Rows come in ascending order, so an equal distance goes behind unless `order` says otherwise. */
static bool comes_before(const search *s, int64_t i, double v, const double *dist,
                         const int64_t *index, int64_t at)
{
    if (index[at] < 0 || v < dist[at]) return true;
    return s->order && v == dist[at] && s->order[i] < s->order[index[at]];
}

/* Put row i at distance v into the list of the k nearest, which is ascending. */
static void keep_nearest(const search *s, int64_t j, int64_t i, double v)
{
    double *dist = s->dist + j * s->k;
    int64_t *index = s->index + j * s->k;
    int64_t at = s->k - 1;

    if (!comes_before(s, i, v, dist, index, at)) return;
    for (; at > 0 && comes_before(s, i, v, dist, index, at - 1); at--) {
        dist[at] = dist[at - 1];
        index[at] = index[at - 1];
    }
    dist[at] = v;
    index[at] = i;
}

/* Whether all estimates of a row are above the limits. This is where the time goes; no
 * branches, so that the compiler makes vectors of it. NaN is not above. */
static inline bool all_above(double offset, double factor, const double *dot,
                             const double *limit)
{
    int n = 0;

    for (int c = 0; c < STRIP; c++)
        n += offset + factor * dot[c] > limit[c];
    return n == STRIP;
}

/* limit[c] <- the k-th smallest estimate of each query; -inf where there is no query. NaN
 * (squares that overflow) counts as very near, so that it is looked at exactly. */
static void find_limits(const search *s, int64_t from, int64_t queries, double *limit)
{
    for (int64_t c = 0; c < STRIP; c++)
        limit[c] = c < queries ? INFINITY : -INFINITY;
    for (int64_t e = 0; e < STRIP * s->k; e++)
        s->best[from * s->k + e] = INFINITY;
    for (int64_t i = 0; i < s->x->rows; i++) {
        const double *dot = ROW(s->dot, i) + from;
        if (all_above(s->offset[i], s->factor[i], dot, limit)) continue;
        for (int64_t c = 0; c < queries; c++) {
            double *best = s->best + (from + c) * s->k;
            const double e = s->offset[i] + s->factor[i] * dot[c];
            if (e >= limit[c]) continue;
            keep_smallest(best, s->k, isnan(e) ? -INFINITY : e);
            limit[c] = best[s->k - 1];
        }
    }
}

/* The queries first + [from, from + STRIP) that there are. */
static void search_strip(const search *s, int64_t first, int64_t from, int64_t queries)
{
    double limit[STRIP];

    /* 1. the k-th smallest estimate of each query, plus what two estimates can be off */
    find_limits(s, from, queries, limit);
    for (int64_t c = 0; c < queries; c++) {
        limit[c] += slack(s, first + from + c);
        for (int64_t r = 0; r < s->k; r++) {
            s->dist[(first + from + c) * s->k + r] = INFINITY;
            s->index[(first + from + c) * s->k + r] = -1;
        }
    }
    /* 2. everything at or below that is measured exactly; usually hardly more than k
     * rows */
    for (int64_t i = 0; i < s->x->rows; i++) {
        const double *dot = ROW(s->dot, i) + from;
        if (all_above(s->offset[i], s->factor[i], dot, limit)) continue;
        for (int64_t c = 0; c < queries; c++) {
            const int64_t j = first + from + c;
            if (s->offset[i] + s->factor[i] * dot[c] > limit[c]) continue;
            keep_nearest(s, j, i, exact(s, i, j));
        }
    }
}

/* 1 / length, 0 for a row without one. */
static double inverse(double square)
{
    return square > 0 ? 1 / sqrt(square) : 0;
}

/* Queries [first, first + queries) as columns of b (cosine: of length 1), one product
 * with all of x, then strips of queries in threads, each of which owns its part of index
 * and dist. */
static void search_block(scope *in, const search *s, matrix x, int64_t first,
                         int64_t queries)
{
    const double *v = row_values(s->q);

    memset(s->b.at, 0, (size_t)(s->b.n * s->b.k) * sizeof *s->b.at);
    for (int64_t c = 0; c < queries; c++) {
        const int64_t j = first + c;
        const double scale = s->distance == FERRY_COSINE ? inverse(s->qn[j]) : 1;
        for (int64_t e = row_begin(s->q, j); e < row_end(s->q, j); e++)
            ROW(s->b, row_column(s->q, j, e))[c] = v[e] * scale;
    }
    mul(in, x, s->b, s->dot);
    /* Threads cost more than they bring on small blocks. */
#pragma omp parallel for schedule(dynamic)                                                 \
    num_threads(scope_ctx(in)->threads) if (s->x->rows * queries > 50000)
    for (int64_t from = 0; from < queries; from += STRIP)
        search_strip(s, first, from, queries - from < STRIP ? queries - from : STRIP);
}

/* Queries from `first` on by an engine that picks the candidates itself; how many it has answered, 0: it does not. The
 * candidates are measured here, so the answer is the same bits; queries with very many of them are left to the loops
 * above. */
static int64_t search_at_once(scope *in, search *s, matrix x, int64_t first)
{
    const ferry_engine *e = ferry_e(scope_ctx(in));
    const int64_t rest = s->q->rows - first, most = 4 * s->k + 64, mark = scope_mark(in);
    int64_t n = AT_ONCE / (x.n + 1);

    if (!e->nearest || n < 1) return 0;
    n = n < rest ? n : rest;
    double *slacks = NEW(in, double, n), *scale = NEW(in, double, n);
    struct ferry_near asked = {.from = first,
                               .n = n,
                               .k = s->k,
                               .most = most,
                               .offset = s->offset,
                               .factor = s->factor,
                               .slack = slacks,
                               .scale = s->distance == FERRY_COSINE ? scale : NULL,
                               .found = NEW(in, int32_t, n * most),
                               .count = NEW(in, int32_t, n)};
    for (int64_t c = 0; c < n; c++) {
        slacks[c] = slack(s, first + c);
        scale[c] = inverse(s->qn[first + c]);
    }
    const bool done = e->nearest(scope_ctx(in), s->x, s->q, &asked);
#pragma omp parallel for schedule(dynamic, 16) num_threads(scope_ctx(in)->threads) if (done)
    for (int64_t c = 0; c < (done ? n : 0); c++) {
        for (int64_t r = 0; r < s->k; r++) {
            s->dist[(first + c) * s->k + r] = INFINITY;
            s->index[(first + c) * s->k + r] = -1;
        }
        for (int32_t i = 0; i < asked.count[c]; i++) {
            const int64_t row = asked.found[c * most + i];
            keep_nearest(s, first + c, row, exact(s, row, first + c));
        }
    }
    for (int64_t c = 0; c < (done ? n : 0); c++)
        if (asked.count[c] < 0) search_block(in, s, x, first + c, 1);
    scope_release(in, mark);
    return done ? n : 0;
}

/* Squared lengths of the rows, by the sum that pair_sum uses. */
static double *square_lengths(scope *in, const ferry_matrix *x)
{
    double *n = NEW(in, double, x->rows);

    for (int64_t i = 0; i < x->rows; i++)
        n[i] = pair_sum(x, i, x, i, true);
    return n;
}

/* As many queries at a time as memory allows, in multiples of STRIP, at least one strip: (n + d) width numbers for
 * products and queries, which MOST_CELLS bounds. O(nnz(x) rows of q) for the products, and about k exact distances a
 * query. */
void nearest(scope *in, matrix x, matrix q, int64_t k, ferry_distance distance,
             const int64_t *order, int64_t *index, double *dist)
{
    const int64_t mark = scope_mark(in), n = x.n, d = x.cols;
    int64_t width = MOST_CELLS / (n + d + 1) / STRIP * STRIP;

    assert(x.cols == q.cols && k >= 1);
    width = width < STRIP ? STRIP : width > MOST_QUERIES ? MOST_QUERIES : width;
    search s = {.x = x.m,
                .q = q.m,
                .k = k,
                .distance = distance,
                .order = order,
                .xn = square_lengths(in, x.m),
                .qn = square_lengths(in, q.m),
                .offset = NEW(in, double, n),
                .factor = NEW(in, double, n),
                .b = block_new(in, HERE(d), d, width),
                .dot = block_new(in, x.rows, n, width),
                .best = NEW(in, double, width *k),
                .index = index,
                .dist = dist};
    for (int64_t i = 0; i < n; i++) {
        s.xn_max = fmax(s.xn_max, s.xn[i]);
        s.offset[i] = distance == FERRY_COSINE ? 1 : s.xn[i];
        s.factor[i] = distance == FERRY_COSINE ? -inverse(s.xn[i]) : -2;
    }
    for (int64_t first = 0, queries = 0; first < q.n; first += queries) {
        const int64_t rest = q.n - first;
        queries = search_at_once(in, &s, x, first);
        if (!queries) {
            queries = rest < width ? rest : width;
            search_block(in, &s, x, first, queries);
        }
        (void)progress(in, "neighbours", first + queries, q.n, NAN);
    }
    scope_release(in, mark);
}

/* ---- for callers that hold a ferry_matrix ---- */

typedef struct asking {
    const ferry_matrix *x, *q;
    int64_t k;
    ferry_distance distance;
    int64_t *index;
    double *dist;
} asking;

static void ask(scope *s, void *arg)
{
    const asking *a = arg;

    nearest(s, matrix_borrow(s, (ferry_matrix *)(uintptr_t)a->x),
            matrix_borrow(s, (ferry_matrix *)(uintptr_t)a->q), a->k, a->distance, NULL,
            a->index, a->dist);
}

ferry_status ferry_i_knn(ferry_ctx *ctx, const ferry_matrix *x, const ferry_matrix *q,
                         int64_t k, ferry_distance distance, int64_t *index, double *dist)
{
    return scope_run(ctx, ask, &(asking){x, q, k, distance, index, dist});
}
