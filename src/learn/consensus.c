/* The matrix of collective component analysis as an operator (consensus.h).
 *
 * H has D x D entries but a product with it needs none of them:
 *   t_j = X_j u_j,   s = sum_j t_j,   (H u)_j = X_j' ((a_j - b) t_j + b s + W t_j)
 * in 2 m D + p nnz(W) operations a vector, since (H u)_j = a_j X_j'X_j u_j + b sum_(h != j) X_j'X_h u_h + X_j'W X_j u_j,
 * and the sum over h != j is s - t_j. A view counts as f_j X_j.
 *
 * Where H is too large to be written out, and all views are sparse, it is packed for the engine's consensus_mul, with
 * as few bytes as the views allow: the eigensolver multiplies by one vector at a time, and that is nothing but memory.
 *   - columns are kept in 16 bits where they fit;
 *   - values are left out where all of a column are equal, as those of 0/1 features are however they are scaled;
 *   - of an unweighted graph only the edges are kept, G M G with G = diag(sqrt(wt / degree)). */
#include "learn/consensus.h"

#include <math.h>
#include <string.h>

#include "learn/eigs.h"
#include "linalg/packed.h"

enum { PACKED_VIEWS = FERRY_CONSENSUS_VIEWS };

/* ---- graphs ---- */

/* degree^-1/2 of all rows (0 for an isolated one) when sym, else 1. */
static const double *node_factors(scope *s, matrix a, bool sym)
{
    double *f = NEW(s, double, a.n);

    for (int64_t i = 0; i < a.n; i++) {
        const ferry_row r = row_at(a, i);
        double degree = 0;
        for (int64_t e = 0; e < r.n; e++)
            degree += r.value[e];
        f[i] = !sym ? 1 : degree > 0 ? 1 / sqrt(degree) : 0;
    }
    return replicate_items(s, a.rows, a.n, sizeof *f, f);
}

/* Row i of all graphs, merged by column, goes behind the rows of w before it: the columns of a row ascend in each
 * graph, so the least of the next ones comes first. next: a place in each graph, scratch. */
static void merge_row(int n, const graph *g, const double *wt, const double *const *f,
                      int64_t i, int64_t *next, ferry_matrix *w)
{
    const int64_t at = g[0].a.rows.first + i;
    int64_t cells = w->start[i];

    for (int t = 0; t < n; t++)
        next[t] = g[t].a.m->start[i];
    for (;;) {
        int32_t j = INT32_MAX;
        double all = 0;
        for (int t = 0; t < n; t++) {
            const ferry_matrix *m = g[t].a.m;
            if (next[t] < m->start[i + 1] && m->index[next[t]] < j) j = m->index[next[t]];
        }
        if (j == INT32_MAX) break;
        for (int t = 0; t < n; t++) {
            const ferry_matrix *m = g[t].a.m;
            if (next[t] < m->start[i + 1] && m->index[next[t]] == j)
                /* wt_t D^-1/2 M D^-1/2, entry by entry */
                all += wt[t] * (f[t][at] * f[t][j]) * m->value[next[t]++];
        }
        w->index[cells] = j;
        w->value[cells++] = all;
    }
    w->start[i + 1] = cells;
}

/* One pass over all rows, merging sorted lists; as large as if no edge were shared. */
matrix merge_graphs(scope *s, int n, const graph *g, const double *wt, bool sym)
{
    const double **f = NEW(s, const double *, n);
    int64_t *next = NEW(s, int64_t, n), cells = 0;
    const matrix first = g[0].a;
    ferry_matrix *w = NULL;

    for (int t = 0; t < n; t++) {
        f[t] = node_factors(s, g[t].a, sym);
        cells += stored(g[t].a);
    }
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), first.n, first.cols, cells, &w));
    w->whole = first.rows.spread ? first.rows.n : 0;
    matrix to = matrix_own(s, w);
    for (int64_t i = 0; i < first.n; i++)
        merge_row(n, g, wt, f, i, next, w);
    w->nnz = w->start[first.n]; /* edges that graphs share are one */
    return to;
}

/* ---- H packed ---- */

/* The columns of x; values too when asked. `start` is borrowed from x. */
static ferry_pattern pattern_of(scope *s, const ferry_matrix *x, bool values)
{
    const bool narrow = x->cols <= UINT16_MAX;
    const int64_t cells = x->nnz + FERRY_PATTERN_AHEAD; /* the engine reads a little past */
    ferry_pattern to = {.start = x->start};

    if (narrow)
        to.narrow = NEW(s, uint16_t, cells);
    else
        to.wide = NEW(s, int32_t, cells);
    for (int64_t e = 0; narrow && e < x->nnz; e++)
        to.narrow[e] = (uint16_t)x->index[e];
    if (!narrow) memcpy(to.wide, x->index, (size_t)x->nnz * sizeof *to.wide);
    if (values) to.value = COPY(s, x->value, x->nnz);
    return to;
}

/* Whether every column has one value; factor_j <- it, or 1 for an empty column. An explicit zero would break the
 * pattern, so it counts as different. */
static bool even_columns(const ferry_matrix *x, double *factor)
{
    for (int64_t e = 0; e < x->nnz; e++) {
        double *f = &factor[x->index[e]];
        if (x->value[e] == 0 || (*f != 0 && *f != x->value[e])) return false;
        *f = x->value[e];
    }
    for (int64_t j = 0; j < x->cols; j++)
        if (factor[j] == 0) factor[j] = 1;
    return true;
}

/* at: the view's first place in u and y. */
static ferry_consensus_view pack_view(scope *s, const scaled_view *x, double f, int64_t at)
{
    ferry_consensus_view v = {.cols = x->x.cols,
                              .at = at,
                              .shift = x->shift,
                              .present = x->present,
                              .f = f,
                              .factor = NEW(s, double, x->x.cols)};
    const bool even = even_columns(x->x.m, v.factor);

    v.x = pattern_of(s, x->x.m, !even);
    for (int64_t i = 0; i < v.cols; i++)
        v.factor[i] = even ? f * v.factor[i] : f;
    return v;
}

static ferry_block *engine_block(scope *s, int64_t rows, int64_t k)
{
    ferry_block *b = NEW(s, ferry_block, 1);

    *b = block_ref(block_new(s, HERE(rows), rows, k));
    return b;
}

/* The graphs one by one when each has one value for all edges, else W. node_i = sqrt(wt_t value / deg_i), without sym
 * sqrt(wt_t value), so that node_i M_ij node_j is the entry of W. */
static void pack_graphs(scope *s, const consensus *c, ferry_consensus *z)
{
    bool even = c->q > 0;

    for (int t = 0; even && t < c->q; t++)
        for (int64_t e = 0; even && e < stored(c->g[t].a); e++)
            even = c->g[t].a.m->value[e] == c->g[t].a.m->value[0];
    z->q = !c->w.m ? 0 : even ? c->q : 1;
    z->graph = NEW(s, ferry_pattern, z->q);
    z->node = NEW(s, double *, z->q);
    z->gt = NEW(s, ferry_block *, z->q);
    if (z->q > 0 && !even) z->graph[0] = pattern_of(s, c->w.m, true);
    for (int64_t t = 0; even && t < z->q; t++) {
        const matrix a = c->g[t].a;
        z->graph[t] = pattern_of(s, a.m, false);
        z->node[t] = COPY(s, node_factors(s, a, c->sym), z->m);
        for (int64_t i = 0; i < z->m; i++)
            z->node[t][i] *= sqrt(c->wt[t] * (a.m->nnz > 0 ? a.m->value[0] : 0));
        z->gt[t] = engine_block(s, z->m, PACKED_VIEWS);
    }
}

/* Negative weights have no real root. Edges to instances of other processes go another way. */
static bool packs(const consensus *c)
{
    if (c->p > PACKED_VIEWS || (c->w.m && c->x[0].x.rows.spread)) return false;
    for (int64_t j = 0; j < c->p; j++)
        if (c->x[j].x.m->dense) return false;
    for (int t = 0; t < c->q; t++)
        if (!(c->wt[t] >= 0)) return false;
    return true;
}

/* own_j = a_j - b: what view j's own projection gets beside b s. */
ferry_consensus *consensus_pack(scope *s, const consensus *c)
{
    const matrix x = c->x[0].x;
    ferry_consensus *z = NULL;

    if (!packs(c)) return NULL;
    z = NEW(s, ferry_consensus, 1);
    z->m = x.n;
    z->whole = x.rows.spread ? x.rows.n : 0;
    z->p = c->p;
    z->b = c->b;
    for (int64_t j = 0; j < c->p; j++) {
        z->view[j] = pack_view(s, &c->x[j], c->f ? c->f[j] : 1, z->size);
        z->own[j] = c->a[j] - c->b;
        z->size += c->x[j].x.cols;
    }
    pack_graphs(s, c, z);
    z->t = engine_block(s, z->m, PACKED_VIEWS);
    z->r = engine_block(s, z->m, PACKED_VIEWS);
    z->scaled = NEW(s, double, z->size);
    z->y = NEW(s, double, FERRY_CONSENSUS_PIECES * z->size);
    return z;
}

/* ---- H as an operator ---- */

int64_t consensus_size(const consensus *c)
{
    int64_t size = 0;

    for (int64_t j = 0; j < c->p; j++)
        size += c->x[j].x.cols;
    return size;
}

typedef struct product {
    const consensus *c;
    ferry_consensus *packed; /* for one vector, or NULL */
    int64_t done;
} product;

/* t_j = f_j X_j u_j into columns j k .. of t, all = sum_j t_j. Side by side, so that W is multiplied with all of them in
 * one pass over its edges. */
static void forward(scope *s, const consensus *c, block u, block t, block all)
{
    const block one = block_like(s, all);
    const int64_t k = u.k, ld = t.k, m = t.n;
    const int threads = scope_ctx(s)->threads;

    for (int64_t j = 0, at = 0; j < c->p; at += c->x[j++].x.cols) {
        const int64_t cols = c->x[j].x.cols;
        const double f = c->f ? c->f[j] : 1;
        centred_mul(s, &c->x[j], (block){HERE(cols), cols, k, u.at + at * k}, one);
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < m; i++)
            for (int64_t l = 0; l < k; l++) {
                const double v = f * one.at[i * k + l];
                t.at[i * ld + j * k + l] = v;
                all.at[i * k + l] += v;
            }
    }
}

/* (H u)_j = f_j X_j' ((a_j - b) t_j + b s + W t_j); own = a_j - b, since s contains t_j. */
static void backward(scope *s, const consensus *c, block t, block wt, block all, block y)
{
    const block r = block_like(s, all);
    const int64_t k = y.k, ld = t.k, m = t.n;
    const int threads = scope_ctx(s)->threads;

    for (int64_t j = 0, at = 0; j < c->p; at += c->x[j++].x.cols) {
        const int64_t cols = c->x[j].x.cols;
        const double f = c->f ? c->f[j] : 1, own = c->a[j] - c->b, b = c->b;
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < m; i++)
            for (int64_t l = 0; l < k; l++) {
                const int64_t e = i * ld + j * k + l;
                r.at[i * k + l] =
                    f * (own * t.at[e] + b * all.at[i * k + l] + (wt.at ? wt.at[e] : 0));
            }
        centred_tmul(s, &c->x[j], r, (block){HERE(cols), cols, k, y.at + at * k});
    }
}

/* One product with H for the eigensolver. To finish early is not heeded: half an eigenvector is of no use. */
static void multiply_consensus(scope *s, void *arg, block u, block y)
{
    product *o = arg;
    const consensus *c = o->c;
    const matrix x = c->x[0].x;
    /* rows of whole cache lines: the products with W are then faster by a quarter */
    const int64_t wide = c->p * u.k, ld = c->w.m && wide > 4 ? (wide + 7) / 8 * 8 : wide;

    o->done += u.k;
    if (c->name) (void)progress(s, c->name, o->done, 0, NAN);
    if (u.k == 1 && o->packed) {
        ferry_e(scope_ctx(s))->consensus_mul(scope_ctx(s), o->packed, u.at, y.at);
        return;
    }
    const block t = block_new(s, x.rows, x.n, ld), all = block_new(s, x.rows, x.n, u.k);
    block wt = {.at = NULL};
    forward(s, c, u, t, all);
    if (c->w.m) {
        wt = block_like(s, t);
        mul(s, c->w, t, wt);
    }
    backward(s, c, t, wt, all, y);
}

/* ---- eigenvalues ---- */

small consensus_matrix(scope *s, const consensus *c)
{
    product o = {.c = c};

    return operator_matrix(s, consensus_size(c), multiply_consensus, &o);
}

/* Largest algebraically, not by modulus: H has large negative eigenvalues in forms 4.3 and 4.8, of directions on which
 * the views disagree. Packed only where H is not written out. */
block consensus_solve(scope *s, const consensus *c, int64_t d, double *values,
                      int64_t *products)
{
    const int64_t size = consensus_size(c);
    const bool by_products = c->products_only || !eigen_is_dense(size);
    product o = {.c = c, .packed = by_products ? consensus_pack(s, c) : NULL};
    const block u = (by_products ? largest_by_products : largest_eigen)(
        s, size, multiply_consensus, &o, d, values);

    if (products) *products = o.done;
    return u;
}

/* ---- graphs alone ---- */

/* Take the mean of every column away: K x. */
static void centre(block x)
{
    for (int64_t l = 0; l < x.k; l++) {
        double mean = 0;
        for (int64_t i = 0; i < x.n; i++)
            mean += ROW(x, i)[l];
        mean /= (double)x.n;
        for (int64_t i = 0; i < x.n; i++)
            ROW(x, i)[l] -= mean;
    }
}

/* y <- K W K x. Without K the first eigenvector is about the degrees, not about groups. K twice keeps the operator
 * symmetric. Of all rows of all processes. */
static void multiply_graph(scope *s, void *arg, block x, block y)
{
    const matrix w = *(const matrix *)arg;
    const block t = block_copy(s, x), here = block_new(s, w.rows, w.n, x.k);

    centre(t);
    mul(s, w, t, here);
    copy(replicate(s, here), y);
    centre(y);
}

block consensus_relational(scope *s, matrix w, int64_t d, double *values)
{
    const block all = largest_eigen(s, w.rows.n, multiply_graph, &w, d, values);

    return w.rows.spread ? block_part(all, w.rows, w.n) : all;
}
