/* Exact nearest neighbours by blocks of products.
 *
 *   |x - q|^2 = |x|^2 - 2 x'q + |q|^2
 *
 * One product gives x'q for all rows x and a block of queries, so that the work is a matrix
 * product and the memory a block, not n x n. The formula loses digits, so it only picks the
 * candidates: every row that could be among the k nearest within its error bound. Their
 * distances are then computed from the differences themselves, in one fixed order. The
 * answer is therefore exact, equal rows are equally far, and engines and thread counts give
 * the same bits.
 */
#include <assert.h>
#include <float.h>
#include <math.h>

#include "learn/learn.h"
#include "learn/rows.h"

enum {
    STRIP = 8,           /* queries that one thread handles together: one cache line */
    MOST_QUERIES = 64,   /* in a block */
    MOST_CELLS = 8 << 20 /* doubles in a block's products and queries together */
};

typedef struct search {
    const ferry_matrix *x, *q;
    int64_t k;
    ferry_distance distance;
    double *xn, *qn; /* squared lengths of the rows */
    double xn_max;   /* the largest of x's */
    ferry_block b,
        dot;      /* d x width queries; n x width products; width changes at the end */
    double *best; /* width x k, smallest estimates so far */
    int64_t *index;
    double *dist;
} search;

/* sum of (x_i - q_j)^2, or of x_i q_j when dot, over all features in ascending order. */
static double pair_sum(const ferry_matrix *x, int64_t i, const ferry_matrix *q, int64_t j,
                       bool dot)
{
    const double *xv = row_values(x), *qv = row_values(q);
    int64_t a = row_begin(x, i), b = row_begin(q, j);
    const int64_t a_end = row_end(x, i), b_end = row_end(q, j);
    double sum = 0;

    while (a < a_end || b < b_end) {
        const int64_t fa = a < a_end ? row_column(x, i, a) : INT64_MAX;
        const int64_t fb = b < b_end ? row_column(q, j, b) : INT64_MAX;
        const double u = fa <= fb ? xv[a++] : 0, v = fb <= fa ? qv[b++] : 0;
        sum += dot ? u * v : (u - v) * (u - v);
    }
    return sum;
}

static double cosine_distance(double dot, double xn, double qn)
{
    const double lengths = sqrt(xn) * sqrt(qn);

    /* Rounding may leave the range [0, 2] by a hair. Lengths that overflow are as unknown
     * as those of zero rows. */
    return lengths > 0 && isfinite(lengths) ? fmin(fmax(1 - dot / lengths, 0), 2) : 1;
}

static double exact(const search *s, int64_t i, int64_t j)
{
    if (s->distance == FERRY_COSINE)
        return cosine_distance(pair_sum(s->x, i, s->q, j, true), s->xn[i], s->qn[j]);
    return sqrt(pair_sum(s->x, i, s->q, j, false));
}

/* The estimate from a product; NaN (squares that overflow) counts as very near, so that it
 * is looked at exactly. */
static double estimate(const search *s, int64_t i, int64_t j, double dot)
{
    const double e = s->distance == FERRY_COSINE ? cosine_distance(dot, s->xn[i], s->qn[j])
                                                 : s->xn[i] - 2 * dot + s->qn[j];

    return isnan(e) ? -INFINITY : e;
}

/* How far an estimate can be off: products of d terms have a relative error of d eps
 * against the lengths. The same amount again covers the square lengths. */
static double slack(const search *s, int64_t j)
{
    const double scale = s->distance == FERRY_COSINE ? 2 : s->xn_max + s->qn[j];

    return 4 * ((double)s->x->cols + 4) * DBL_EPSILON * scale;
}

/* Put v into the ascending list of the n smallest. */
static void keep_smallest(double *list, int64_t n, double v)
{
    int64_t at = n - 1;

    if (!(v < list[at])) return;
    for (; at > 0 && list[at - 1] > v; at--)
        list[at] = list[at - 1];
    list[at] = v;
}

/* Put row i at distance v into the list of the k nearest, which is ascending; rows come in
 * ascending order, so an equal distance goes behind. */
static void keep_nearest(const search *s, int64_t j, int64_t i, double v)
{
    double *dist = s->dist + j * s->k;
    int64_t *index = s->index + j * s->k;
    int64_t at = s->k - 1;

    /* An empty place holds inf, which a real row at inf still takes. */
    if (!(v < dist[at] || index[at] < 0)) return;
    for (; at > 0 && (dist[at - 1] > v || index[at - 1] < 0); at--) {
        dist[at] = dist[at - 1];
        index[at] = index[at - 1];
    }
    dist[at] = v;
    index[at] = i;
}

/* Queries first + [from, to) of the block. */
static void search_strip(const search *s, int64_t first, int64_t from, int64_t to)
{
    for (int64_t c = from; c < to; c++)
        for (int64_t r = 0; r < s->k; r++) {
            s->best[c * s->k + r] = INFINITY;
            s->dist[(first + c) * s->k + r] = INFINITY;
            s->index[(first + c) * s->k + r] = -1;
        }
    for (int64_t i = 0; i < s->x->rows; i++)
        for (int64_t c = from; c < to; c++)
            keep_smallest(s->best + c * s->k, s->k,
                          estimate(s, i, first + c, FERRY_ROW(&s->dot, i)[c]));
    for (int64_t i = 0; i < s->x->rows; i++)
        for (int64_t c = from; c < to; c++) {
            const double e = estimate(s, i, first + c, FERRY_ROW(&s->dot, i)[c]);
            const double bound = s->best[(c + 1) * s->k - 1] + slack(s, first + c);
            /* Also when the bound is no number. */
            if (!(e > bound)) keep_nearest(s, first + c, i, exact(s, i, first + c));
        }
}

static void search_block(ferry_ctx *ctx, search *s, int64_t first, int64_t width)
{
    const double *v = row_values(s->q);
    const int64_t strips = (width + STRIP - 1) / STRIP;

    s->b.k = s->dot.k = width;
    for (int64_t e = 0; e < s->b.rows * width; e++)
        s->b.data[e] = 0;
    for (int64_t c = 0; c < width; c++)
        for (int64_t e = row_begin(s->q, first + c); e < row_end(s->q, first + c); e++)
            FERRY_ROW(&s->b, row_column(s->q, first + c, e))[c] = v[e];
    ferry_e(ctx)->mul(ctx, 1, s->x, &s->b, 0, &s->dot);
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
    for (int64_t t = 0; t < strips; t++)
        search_strip(s, first, t * STRIP,
                     width < (t + 1) * STRIP ? width : (t + 1) * STRIP);
}

/* Squared lengths of the rows, by the sum that pair_sum uses. */
static double *square_lengths(const ferry_matrix *x)
{
    double *n = ferry_i_calloc(x->rows, sizeof *n);

    for (int64_t i = 0; n && i < x->rows; i++)
        n[i] = pair_sum(x, i, x, i, true);
    return n;
}

ferry_status ferry_i_knn(ferry_ctx *ctx, const ferry_matrix *x, const ferry_matrix *q,
                         int64_t k, ferry_distance distance, int64_t *index, double *dist)
{
    ferry_status st = FERRY_OK;
    const int64_t cells = x->rows + x->cols + 1;
    int64_t width = MOST_CELLS / cells;
    bool finish = false;
    search s = {x, q, k, distance, .index = index, .dist = dist};

    assert(x->cols == q->cols && k >= 1);
    width = width < 1 ? 1 : width > MOST_QUERIES ? MOST_QUERIES : width;
    s.b.rows = x->cols;
    s.dot.rows = x->rows;
    s.xn = square_lengths(x);
    s.qn = square_lengths(q);
    s.b.data = ferry_i_calloc(x->cols * width, sizeof(double));
    s.dot.data = ferry_i_calloc(x->rows * width, sizeof(double));
    s.best = ferry_i_calloc(width * k, sizeof(double));
    FERRY_NEED(ctx, s.xn && s.qn && s.b.data && s.dot.data && s.best, FERRY_ENOMEM,
               "no memory to search %lld instances with %lld features", (long long)x->rows,
               (long long)x->cols);
    for (int64_t i = 0; i < x->rows; i++)
        s.xn_max = fmax(s.xn_max, s.xn[i]);
    for (int64_t first = 0; first < q->rows; first += width) {
        const int64_t rest = q->rows - first;
        search_block(ctx, &s, first, rest < width ? rest : width);
        FERRY_TRY(ferry_i_progress(ctx, "neighbours",
                                   first + width - (rest < width ? width - rest : 0),
                                   q->rows, NAN, &finish));
    }
done:
    ferry_i_free(s.best);
    ferry_i_free(s.dot.data);
    ferry_i_free(s.b.data);
    ferry_i_free(s.qn);
    ferry_i_free(s.xn);
    return st;
}
