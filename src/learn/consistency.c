/* Labels over the graph of nearest rows (Zhou, Bousquet, Lal, Weston and Schoelkopf, Learning with local and global
 * consistency, NIPS 2003).
 *
 *   F = (I - alpha S)^-1 Y,   S = D^-1/2 W D^-1/2,   W_ij = exp(-d_ij^2 / median d^2)
 *
 * W joins every row with its nearest, whoever of the two found the other. S has its eigenvalues in [-1, 1], so that
 * I - alpha S is positive definite with a condition of at most 200: conjugate gradients, all classes at once, need some
 * hundred products. Rows in parts of the graph without a label stay exactly 0. */
#include "learn/consistency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/folds.h"
#include "learn/learn.h"
#include "learn/near_labels.h"

static const double alpha = 0.99; /* how far labels reach */

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

/* S as CSR, of the k nearest of n rows. Both directions of a pair have the same weight. */
static matrix normalised_graph(scope *s, int64_t n, int64_t k, const int64_t *near,
                               const double *dist, double width)
{
    edge *e = NEW(s, edge, 2 * n * k);
    double *degree = NEW(s, double, n);
    int64_t m = 0, kept = 0;
    ferry_matrix *g = NULL;

    for (int64_t i = 0; i < n * k; i++) {
        const double w = exp(-dist[i] * dist[i] / width);
        e[m++] = (edge){(int32_t)(i / k), (int32_t)near[i], w};
        e[m++] = (edge){(int32_t)near[i], (int32_t)(i / k), w};
    }
    qsort(e, (size_t)m, sizeof *e, by_ends);
    for (int64_t i = 0; i < m; i++)
        if (i == 0 || by_ends(&e[i], &e[i - 1]) != 0) e[kept++] = e[i];
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), n, n, kept, &g));
    const matrix to = matrix_own(s, g);
    for (int64_t i = 0; i < kept; i++) {
        g->start[e[i].from + 1] = i + 1;
        g->index[i] = e[i].to;
        degree[e[i].from] += e[i].w;
    }
    for (int64_t i = 0; i < n; i++)
        degree[i] = 1 / sqrt(degree[i] + 1e-12);
    for (int64_t i = 0; i < kept; i++)
        g->value[i] = e[i].w * degree[e[i].from] * degree[e[i].to];
    return to;
}

/* out (k) <- a_c'b_c of the columns. */
static void column_products(block a, block b, double *out)
{
    memset(out, 0, (size_t)a.k * sizeof *out);
    for (int64_t i = 0; i < a.n; i++)
        for (int64_t c = 0; c < a.k; c++)
            out[c] += ROW(a, i)[c] * ROW(b, i)[c];
}

/* f <- (I - alpha S)^-1 f by conjugate gradients, columns together but each with its own steps, until every residual
 * is 1e-12 of its start. */
static void solve(scope *s, matrix g, block f)
{
    const int64_t n = f.n, k = f.k;
    const block r = block_copy(s, f), p = block_copy(s, f), ap = block_like(s, f);
    double *rr = NEW(s, double, k), *step = NEW(s, double, k), *first = NEW(s, double, k);
    bool more = true;

    memset(f.at, 0, (size_t)(n * k) * sizeof *f.at);
    column_products(r, r, first);
    memcpy(rr, first, (size_t)k * sizeof *rr);
    for (int i = 0; more && i < 1000; i++) {
        mul(s, g, p, ap);
        axpby(s, 1, p, -alpha, ap); /* A p = p - alpha S p */
        column_products(p, ap, step);
        for (int64_t c = 0; c < k; c++) /* a column that is done stands still */
            step[c] = step[c] > 0 && rr[c] > 1e-24 * first[c] ? rr[c] / step[c] : 0;
        for (int64_t e = 0; e < n; e++)
            for (int64_t c = 0; c < k; c++) {
                ROW(f, e)[c] += step[c] * ROW(p, e)[c];
                ROW(r, e)[c] -= step[c] * ROW(ap, e)[c];
            }
        memcpy(step, rr, (size_t)k * sizeof *rr);
        column_products(r, r, rr);
        more = false;
        for (int64_t c = 0; c < k; c++) {
            more = more || rr[c] > 1e-24 * first[c];
            step[c] = step[c] > 0 ? rr[c] / step[c] : 0;
        }
        for (int64_t e = 0; e < n; e++)
            for (int64_t c = 0; c < k; c++)
                ROW(p, e)[c] = ROW(r, e)[c] + step[c] * ROW(p, e)[c];
    }
}

void consistent_labels(scope *s, block z, int64_t neighbours, double *width, block f)
{
    const int64_t n = z.n, k = neighbours < n - 1 ? neighbours : n - 1,
                  mark = scope_mark(s);
    int64_t *near = NEW(s, int64_t, n * k);
    double *dist = NEW(s, double, n *k), *squares = NEW(s, double, n *k);

    find_near(s, matrix_of(s, z), k, near, dist);
    for (int64_t i = 0; i < n * k; i++)
        squares[i] = dist[i] * dist[i];
    *width = fmax(median(n * k, squares), 1e-300); /* rows may all be copies */
    solve(s, normalised_graph(s, n, k, near, dist, *width), f);
    scope_release(s, mark);
}
