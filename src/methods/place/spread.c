/* place, step 6 (place.h): labels and seeds spread over the graph of nearest neighbours
 * (Zhou, Bousquet, Lal, Weston and Schoelkopf, Learning with local and global consistency,
 * NIPS 2003).
 *
 *   F = (I - alpha S)^-1 Y,   S = D^-1/2 W D^-1/2,   W_ij = exp(-d_ij^2 / median d^2)
 *
 * W joins every row with its nearest, and is made symmetric by the larger of the two. S has
 * its eigenvalues in [-1, 1], so that I - alpha S is positive definite with a condition of at
 * most 200: conjugate gradients, all classes at once, need some hundred products. Rows in
 * parts of the graph without a label stay exactly 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/learn.h"
#include "methods/place/place.h"

static const double alpha = 0.99; /* how far labels spread */

/* near, d2 (n x k): the k nearest other rows of each. */
static ferry_status neighbours(ferry_ctx *ctx, const ferry_block *z, int64_t k,
                               int64_t *near, double *d2)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix x = ferry_i_block_matrix(z);
    int64_t *index = NULL;
    double *dist = NULL;

    FERRY_NEW(ctx, index, z->rows * (k + 1));
    FERRY_NEW(ctx, dist, z->rows * (k + 1));
    FERRY_TRY(ferry_i_knn(ctx, &x, &x, k + 1, FERRY_EUCLIDEAN, index, dist));
    for (int64_t i = 0; i < z->rows; i++)
        for (int64_t e = 0, m = 0; m < k; e++) {
            const int64_t at = i * (k + 1) + e;
            if (index[at] == i) continue; /* copies of a row may come before itself */
            near[i * k + m] = index[at];
            d2[i * k + m++] = dist[at] * dist[at];
        }
done:
    FERRY_FREE(index, dist);
    return st;
}

/* An edge of the graph, to be sorted by rows. */
typedef struct edge {
    int32_t from, to;
    double w;
} edge;

static int by_ends(const void *a, const void *b)
{
    const edge *x = a, *y = b;

    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* S as CSR. Both directions of a pair have the same weight, whoever found the other. */
static ferry_status graph(ferry_ctx *ctx, int64_t n, int64_t k, const int64_t *near,
                          const double *d2, double width, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    edge *e = NULL;
    double *root = NULL;
    int64_t m = 0, kept = 0;
    ferry_matrix *s = NULL;

    FERRY_NEW(ctx, e, 2 * n * k);
    FERRY_NEW(ctx, root, n);
    for (int64_t i = 0; i < n * k; i++) {
        const double w = exp(-d2[i] / width);
        e[m++] = (edge){(int32_t)(i / k), (int32_t)near[i], w};
        e[m++] = (edge){(int32_t)near[i], (int32_t)(i / k), w};
    }
    qsort(e, (size_t)m, sizeof *e, by_ends);
    for (int64_t i = 0; i < m; i++)
        if (i == 0 || by_ends(&e[i], &e[i - 1]) != 0) e[kept++] = e[i];
    FERRY_TRY(ferry_i_matrix_csr(ctx, n, n, kept, &s));
    for (int64_t i = 0; i < kept; i++) {
        s->start[e[i].from + 1] = i + 1;
        s->index[i] = e[i].to;
        root[e[i].from] += e[i].w;
    }
    for (int64_t i = 0; i < n; i++)
        root[i] = 1 / sqrt(root[i] + 1e-12);
    for (int64_t i = 0; i < kept; i++)
        s->value[i] = e[i].w * root[e[i].from] * root[e[i].to];
    FERRY_MOVE(*out, s);
done:
    ferry_i_matrix_free(s);
    FERRY_FREE(e, root);
    return st;
}

/* f <- (I - alpha S)^-1 f by conjugate gradients, columns together but each with its own
 * steps, until every residual is 1e-12 of its start. */
static ferry_status solve(ferry_ctx *ctx, const ferry_matrix *s, ferry_block *f)
{
    ferry_status st = FERRY_OK;
    const int64_t n = f->rows, k = f->k;
    ferry_block *r = NULL, *p = NULL, *ap = NULL;
    double *rr = NULL, *pap = NULL, *first = NULL;
    bool more = true;

    FERRY_TRY(ferry_i_block_new(ctx, n, k, &r));
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &p));
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &ap));
    FERRY_NEW(ctx, rr, k);
    FERRY_NEW(ctx, pap, k);
    FERRY_NEW(ctx, first, k);
    ferry_i_block_copy(f, r);
    ferry_i_block_copy(f, p);
    memset(f->data, 0, (size_t)(n * k) * sizeof *f->data);
    ferry_e(ctx)->bsums(ctx, r, FERRY_COLS, 2, rr);
    memcpy(first, rr, (size_t)k * sizeof *rr);
    for (int step = 0; more && step < 1000; step++) {
        ferry_e(ctx)->mul(ctx, -alpha, s, p, 0, ap);
        ferry_e(ctx)->axpby(ctx, 1, p, 1, ap); /* A p = p - alpha S p */
        memset(pap, 0, (size_t)k * sizeof *pap);
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < k; c++)
                pap[c] += FERRY_ROW(p, i)[c] * FERRY_ROW(ap, i)[c];
        for (int64_t c = 0; c < k; c++) /* a column that is done stands still */
            pap[c] = pap[c] > 0 && rr[c] > 1e-24 * first[c] ? rr[c] / pap[c] : 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < k; c++) {
                FERRY_ROW(f, i)[c] += pap[c] * FERRY_ROW(p, i)[c];
                FERRY_ROW(r, i)[c] -= pap[c] * FERRY_ROW(ap, i)[c];
            }
        memcpy(pap, rr, (size_t)k * sizeof *rr);
        ferry_e(ctx)->bsums(ctx, r, FERRY_COLS, 2, rr);
        more = false;
        for (int64_t c = 0; c < k; c++) {
            more = more || rr[c] > 1e-24 * first[c];
            pap[c] = pap[c] > 0 ? rr[c] / pap[c] : 0;
        }
        ferry_e(ctx)->bscale(ctx, p, FERRY_COLS, pap);
        ferry_e(ctx)->axpby(ctx, 1, r, 1, p);
    }
done:
    ferry_i_block_free(r);
    ferry_i_block_free(p);
    ferry_i_block_free(ap);
    FERRY_FREE(rr, pap, first);
    return st;
}

/* Columns sum to 1 after it: a class with many seeds does not drown one with few. */
ferry_status ferry_i_placing_spread(ferry_ctx *ctx, const place_rows *t, int64_t k,
                                    int64_t n_seeds, const int64_t *row, const int32_t *cls,
                                    double *width, ferry_block *f)
{
    ferry_status st = FERRY_OK;
    const int64_t n = t->z->rows;
    int64_t *near = NULL;
    double *d2 = NULL, *sorted = NULL, *sum = NULL;
    ferry_matrix *s = NULL;

    k = k < n - 1 ? k : n - 1;
    FERRY_NEW(ctx, near, n * k);
    FERRY_NEW(ctx, d2, n * k);
    FERRY_NEW(ctx, sorted, n * k);
    FERRY_NEW(ctx, sum, t->k);
    FERRY_TRY(neighbours(ctx, t->z, k, near, d2));
    memcpy(sorted, d2, (size_t)(n * k) * sizeof *sorted);
    *width = fmax(ferry_i_median(n * k, sorted), 1e-300); /* rows may all be copies */
    FERRY_TRY(graph(ctx, n, k, near, d2, *width, &s));
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < t->k; c++)
            FERRY_ROW(f, i)[c] = t->y[i] == c;
    for (int64_t i = 0; i < n_seeds; i++)
        FERRY_ROW(f, row[i])[cls[i]] = 1;
    FERRY_TRY(solve(ctx, s, f));
    ferry_e(ctx)->bsums(ctx, f, FERRY_COLS, 1, sum);
    for (int64_t c = 0; c < t->k; c++)
        sum[c] = 1 / fmax(sum[c], 1e-12);
    ferry_e(ctx)->bscale(ctx, f, FERRY_COLS, sum);
done:
    FERRY_FREE(near, d2, sorted, sum);
    ferry_i_matrix_free(s);
    return st;
}
