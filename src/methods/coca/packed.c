/* CoCA: H times one vector, for sparse views, with as few bytes as they allow.
 *
 * The eigensolver multiplies H by one vector at a time, and such a product is nothing but
 * memory: (H u)_j = X_j'((a_j - b) t_j + b s + W t_j), t_j = X_j u_j, s = sum_j t_j. So
 *   - columns are kept in 16 bits where they fit;
 *   - values are left out where all of a column are equal, as those of 0/1 features are
 *     however they are scaled: the factor goes into u and y;
 *   - of an unweighted graph only the edges are kept, G M G with G = diag(sqrt(wt /
 * degree)), so that a row of W T is a sum of rows of G T;
 *   - X_j'r is added up from the same rows that made X_j u_j: no transpose is read.
 * The t_j of an instance stand side by side (8 numbers, a cache line), so that an edge
 * costs one line for all views.
 *
 * Rows are cut into PIECES, each with a y of its own, which are added in order: the bits do
 * not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "methods/coca/coca.h"

enum { VIEWS = 8, PIECES = 8, CHUNK = 512, AHEAD = 24 };

#define INLINE static inline __attribute__((always_inline))
typedef double v8 __attribute__((vector_size(64), aligned(64), may_alias));

/* A sparse pattern: columns in 16 or 32 bits, values or none. */
typedef struct pattern {
    const int64_t *start; /* borrowed */
    uint16_t *narrow;     /* one of the two */
    int32_t *wide;
    double *value; /* NULL: all 1 */
} pattern;

typedef struct part { /* one view */
    pattern x;
    int64_t cols, at;    /* its columns begin here in u and y */
    double *factor;      /* cols: f_j times the value of the column, or f_j */
    const double *shift; /* cols, or NULL; borrowed */
    double f;
    const double *present; /* m, or NULL; borrowed */
} part;

struct coca_packed {
    const coca_problem *c;
    int64_t p, q, size;
    part view[VIEWS];
    pattern *graph;     /* q */
    double **node;      /* q: G, or NULL where values are kept */
    ferry_block **gt;   /* q: G T, m x 8; where values are kept T itself is used */
    ferry_block *t, *r; /* m x 8 */
    double *scaled;     /* size: u times the factors */
    double *y;          /* PIECES x size */
    double sum[PIECES][VIEWS];
};

/* ---- packing ---- */

static void clear_pattern(pattern *x)
{
    ferry_i_free(x->narrow);
    ferry_i_free(x->wide);
    ferry_i_free(x->value);
}

/* The columns of x; values too when asked. Room for reading AHEAD of the end. */
static ferry_status copy_pattern(ferry_ctx *ctx, const ferry_matrix *x, bool values,
                                 pattern *to)
{
    ferry_status st = FERRY_OK;
    const bool narrow = x->cols <= UINT16_MAX;

    to->start = x->start;
    if (narrow)
        to->narrow = ferry_i_calloc(x->nnz + AHEAD + 8, sizeof *to->narrow);
    else
        to->wide = ferry_i_calloc(x->nnz + AHEAD + 8, sizeof *to->wide);
    if (values) to->value = ferry_i_calloc(x->nnz, sizeof *to->value);
    FERRY_HAVE(ctx, (to->narrow || to->wide) && (!values || to->value));
    for (int64_t e = 0; narrow && e < x->nnz; e++)
        to->narrow[e] = (uint16_t)x->index[e];
    if (!narrow) memcpy(to->wide, x->index, (size_t)x->nnz * sizeof *to->wide);
    if (values) memcpy(to->value, x->value, (size_t)x->nnz * sizeof *to->value);
done:
    return st;
}

/* Whether every column has one value; factor_j <- it, or 1 for an empty column. */
static bool even_columns(const ferry_matrix *x, double *factor)
{
    memset(factor, 0, (size_t)x->cols * sizeof *factor);
    for (int64_t e = 0; e < x->nnz; e++) {
        double *f = &factor[x->index[e]];
        if (x->value[e] == 0 || (*f != 0 && *f != x->value[e])) return false;
        *f = x->value[e];
    }
    for (int64_t j = 0; j < x->cols; j++)
        if (factor[j] == 0) factor[j] = 1;
    return true;
}

static ferry_status pack_view(ferry_ctx *ctx, const coca_problem *c, int64_t j, int64_t at,
                              part *v)
{
    ferry_status st = FERRY_OK;
    const embed_view *x = c->x[j];

    v->cols = x->cols;
    v->at = at;
    v->shift = x->c.shift;
    v->present = x->c.present;
    v->f = c->f ? c->f[j] : 1;
    FERRY_NEW(ctx, v->factor, x->cols);
    const bool even = even_columns(x->c.x, v->factor);
    FERRY_TRY(copy_pattern(ctx, x->c.x, !even, &v->x));
    for (int64_t i = 0; i < x->cols; i++)
        v->factor[i] = even ? v->f * v->factor[i] : v->f;
done:
    return st;
}

/* The graphs one by one when each has one value for all edges, else W. */
static ferry_status pack_graphs(ferry_ctx *ctx, coca_packed *z)
{
    ferry_status st = FERRY_OK;
    const coca_problem *c = z->c;
    bool even = c->q > 0;

    for (int64_t t = 0; even && t < c->q; t++)
        for (int64_t e = 0; even && e < c->graph[t]->nnz; e++)
            even = c->graph[t]->value[e] == c->graph[t]->value[0];
    z->q = !c->w ? 0 : even ? c->q : 1;
    z->graph = ferry_i_calloc(z->q, sizeof *z->graph);
    z->node = ferry_i_calloc(z->q, sizeof *z->node);
    z->gt = ferry_i_calloc(z->q, sizeof(ferry_block *));
    FERRY_HAVE(ctx, z->graph && z->node && z->gt);
    if (z->q > 0 && !even) FERRY_TRY(copy_pattern(ctx, c->w, true, &z->graph[0]));
    for (int64_t t = 0; even && t < z->q; t++) {
        const ferry_matrix *a = c->graph[t];
        FERRY_TRY(copy_pattern(ctx, a, false, &z->graph[t]));
        z->node[t] = ferry_i_calloc(c->m, sizeof **z->node);
        FERRY_HAVE(ctx, z->node[t]);
        ferry_i_coca_node_factors(a, c->sym, z->node[t]);
        for (int64_t i = 0; i < c->m; i++)
            z->node[t][i] *= sqrt(c->wt[t] * (a->nnz > 0 ? a->value[0] : 0));
        FERRY_TRY(ferry_i_block_new(ctx, c->m, VIEWS, &z->gt[t]));
    }
done:
    return st;
}

static bool packs(const coca_problem *c)
{
    if (c->p > VIEWS) return false;
    for (int64_t j = 0; j < c->p; j++)
        if (c->x[j]->c.x->dense) return false;
    for (int64_t t = 0; t < c->q; t++)
        if (!(c->wt[t] >= 0)) return false;
    return true;
}

ferry_status ferry_i_coca_pack(ferry_ctx *ctx, const coca_problem *c, coca_packed **out)
{
    ferry_status st = FERRY_OK;
    coca_packed *z = NULL;

    *out = NULL;
    if (!packs(c)) return FERRY_OK;
    FERRY_NEW(ctx, z, 1);
    z->c = c;
    z->p = c->p;
    for (int64_t j = 0; j < c->p; j++) {
        FERRY_TRY(pack_view(ctx, c, j, z->size, &z->view[j]));
        z->size += c->x[j]->cols;
    }
    FERRY_TRY(pack_graphs(ctx, z));
    FERRY_TRY(ferry_i_block_new(ctx, c->m, VIEWS, &z->t));
    FERRY_TRY(ferry_i_block_new(ctx, c->m, VIEWS, &z->r));
    FERRY_NEW(ctx, z->scaled, z->size);
    FERRY_NEW(ctx, z->y, PIECES * z->size);
    *out = z;
    z = NULL;
done:
    ferry_i_coca_packed_free(z);
    return st;
}

void ferry_i_coca_packed_free(coca_packed *z)
{
    if (!z) return;
    for (int64_t j = 0; j < VIEWS; j++) {
        clear_pattern(&z->view[j].x);
        ferry_i_free(z->view[j].factor);
    }
    for (int64_t t = 0; t < z->q; t++) {
        if (z->graph) clear_pattern(&z->graph[t]);
        if (z->node) ferry_i_free(z->node[t]);
        if (z->gt) ferry_i_block_free(z->gt[t]);
    }
    ferry_i_free(z->graph);
    ferry_i_free(z->node);
    ferry_i_free(z->gt);
    ferry_i_block_free(z->t);
    ferry_i_block_free(z->r);
    ferry_i_free(z->scaled);
    ferry_i_free(z->y);
    ferry_i_free(z);
}

/* ---- the product ---- */

/* Column of entry e. */
INLINE int64_t column(const pattern *x, bool narrow, int64_t e)
{
    return narrow ? x->narrow[e] : x->wide[e];
}

/* t_ij of rows [from, to) of one view: sums of u over the row's columns. */
INLINE void gather_rows(const pattern *x, bool narrow, bool values, const double *u,
                        double less, const double *present, int64_t from, int64_t to,
                        double *t)
{
    for (int64_t i = from; i < to; i++) {
        const int64_t end = x->start[i + 1];
        double s[4] = {0};
        int64_t e = x->start[i];
        for (; e + 4 <= end; e += 4)
            for (int k = 0; k < 4; k++)
                s[k] += values ? x->value[e + k] * u[column(x, narrow, e + k)]
                               : u[column(x, narrow, e + k)];
        for (; e < end; e++)
            s[0] +=
                values ? x->value[e] * u[column(x, narrow, e)] : u[column(x, narrow, e)];
        t[i * VIEWS] = (s[0] + s[1]) + (s[2] + s[3]) - (present ? present[i] * less : less);
    }
}

/* y += X_j'r over rows [from, to) of one view; the sum of r where the view is there. */
INLINE double scatter_rows(const pattern *x, bool narrow, bool values, const double *r,
                           const double *present, int64_t from, int64_t to, double *y)
{
    double sum = 0;

    for (int64_t i = from; i < to; i++) {
        const double ri = r[i * VIEWS];
        sum += present ? present[i] * ri : ri;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            y[column(x, narrow, e)] += values ? x->value[e] * ri : ri;
    }
    return sum;
}

/* r += G M T of rows [from, to) for a graph (G NULL: 1): a row of M T is the sum of the
 * rows of T that it is joined with. */
INLINE void add_neighbours(const pattern *x, bool narrow, bool values, const double *t,
                           const double *node, int64_t from, int64_t to, double *r)
{
    const v8 *row = (const v8 *)(const void *)t;

    for (int64_t i = from; i < to; i++) {
        const int64_t end = x->start[i + 1];
        v8 even = {0}, odd = {0}, *out = (v8 *)(void *)(r + i * VIEWS);
        int64_t e = x->start[i];
        for (; e + 2 <= end; e += 2) {
            __builtin_prefetch(row + column(x, narrow, e + AHEAD));
            __builtin_prefetch(row + column(x, narrow, e + AHEAD + 1));
            if (values) {
                even += x->value[e] * row[column(x, narrow, e)];
                odd += x->value[e + 1] * row[column(x, narrow, e + 1)];
            } else {
                even += row[column(x, narrow, e)];
                odd += row[column(x, narrow, e + 1)];
            }
        }
        if (e < end && values)
            even += x->value[e] * row[column(x, narrow, e)];
        else if (e < end)
            even += row[column(x, narrow, e)];
        *out += (values ? 1 : node[i]) * (even + odd);
    }
}

/* t, and G t for each graph, of rows [from, to). */
INLINE void forward(coca_packed *z, const double *less, int64_t from, int64_t to)
{
    double *t = z->t->data;

    for (int64_t j = 0; j < z->p; j++) {
        const part *v = &z->view[j];
        const pattern *x = &v->x;
        const double *u = z->scaled + v->at;
        if (x->narrow && !x->value)
            gather_rows(x, true, false, u, less[j], v->present, from, to, t + j);
        else if (x->narrow)
            gather_rows(x, true, true, u, less[j], v->present, from, to, t + j);
        else if (!x->value)
            gather_rows(x, false, false, u, less[j], v->present, from, to, t + j);
        else
            gather_rows(x, false, true, u, less[j], v->present, from, to, t + j);
    }
    for (int64_t g = 0; g < z->q; g++)
        for (int64_t i = from; z->node[g] && i < to; i++)
            *(v8 *)(void *)FERRY_ROW(z->gt[g], i) =
                z->node[g][i] * *(v8 *)(void *)(t + i * VIEWS);
}

/* r += W T of rows [from, to). */
INLINE void add_graphs(const coca_packed *z, int64_t from, int64_t to)
{
    double *r = z->r->data;

    for (int64_t g = 0; g < z->q; g++) {
        const pattern *x = &z->graph[g];
        const double *node = z->node[g], *t = node ? z->gt[g]->data : z->t->data;
        if (x->narrow && node)
            add_neighbours(x, true, false, t, node, from, to, r);
        else if (x->narrow)
            add_neighbours(x, true, true, t, node, from, to, r);
        else if (node)
            add_neighbours(x, false, false, t, node, from, to, r);
        else
            add_neighbours(x, false, true, t, node, from, to, r);
    }
}

/* r_j = (a_j - b) t_j + b s + W t_j of rows [from, to), added into this piece's y. */
INLINE void backward(coca_packed *z, const v8 *own, double b, int64_t from, int64_t to,
                     double *y, double *sum)
{
    for (int64_t i = from; i < to; i++) {
        const v8 t = *(const v8 *)(const void *)FERRY_ROW(z->t, i);
        double s = 0;
        for (int64_t j = 0; j < VIEWS; j++) /* 0 past the views */
            s += t[j];
        *(v8 *)(void *)FERRY_ROW(z->r, i) = *own * t + b * s;
    }
    add_graphs(z, from, to);
    for (int64_t j = 0; j < z->p; j++) {
        const part *v = &z->view[j];
        const pattern *x = &v->x;
        const double *r = z->r->data + j;
        double *to_y = y + v->at;
        if (x->narrow && !x->value)
            sum[j] += scatter_rows(x, true, false, r, v->present, from, to, to_y);
        else if (x->narrow)
            sum[j] += scatter_rows(x, true, true, r, v->present, from, to, to_y);
        else if (!x->value)
            sum[j] += scatter_rows(x, false, false, r, v->present, from, to, to_y);
        else
            sum[j] += scatter_rows(x, false, true, r, v->present, from, to, to_y);
    }
}

/* All rows of one piece, a chunk at a time so that they stay in the cache. */
INLINE void forward_piece(coca_packed *z, const double *less, int64_t from, int64_t to)
{
    for (int64_t at = from; at < to; at += CHUNK)
        forward(z, less, at, at + CHUNK < to ? at + CHUNK : to);
}

INLINE void backward_piece(coca_packed *z, int64_t from, int64_t to, double *y, double *sum)
{
    v8 own = {0};

    for (int64_t j = 0; j < z->p; j++)
        own[j] = z->c->a[j] - z->c->b;
    memset(y, 0, (size_t)z->size * sizeof *y);
    memset(sum, 0, VIEWS * sizeof *sum);
    for (int64_t at = from; at < to; at += CHUNK)
        backward(z, &own, z->c->b, at, at + CHUNK < to ? at + CHUNK : to, y, sum);
}

#define COMPILE_FOR(isa, target)                                                           \
    target static void forward_##isa(coca_packed *z, const double *less, int64_t from,     \
                                     int64_t to)                                           \
    {                                                                                      \
        forward_piece(z, less, from, to);                                                  \
    }                                                                                      \
    target static void backward_##isa(coca_packed *z, int64_t from, int64_t to, double *y, \
                                      double *sum)                                         \
    {                                                                                      \
        backward_piece(z, from, to, y, sum);                                               \
    }
#define NO_TARGET
COMPILE_FOR(plain, NO_TARGET)
#if defined(__x86_64__)
COMPILE_FOR(avx2, __attribute__((target("avx2"))))
COMPILE_FOR(avx512, __attribute__((target("avx512f"))))
#endif

typedef struct loops {
    void (*forward)(coca_packed *, const double *, int64_t, int64_t);
    void (*backward)(coca_packed *, int64_t, int64_t, double *, double *);
} loops;

static loops choose_loops(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return (loops){forward_avx512, backward_avx512};
    if (__builtin_cpu_supports("avx2")) return (loops){forward_avx2, backward_avx2};
#endif
    return (loops){forward_plain, backward_plain};
}

static int64_t cut(int64_t m, int64_t piece)
{
    return m * piece / PIECES;
}

void ferry_i_coca_packed_mul(ferry_ctx *ctx, coca_packed *z, const double *u, double *y)
{
    const int64_t m = z->c->m, size = z->size;
    const loops go = choose_loops();
    double less[VIEWS] = {0};

    for (int64_t j = 0; j < z->p; j++) {
        const part *v = &z->view[j];
        for (int64_t i = 0; i < v->cols; i++) {
            z->scaled[v->at + i] = v->factor[i] * u[v->at + i];
            if (v->shift) less[j] += v->f * v->shift[i] * u[v->at + i];
        }
    }
#pragma omp parallel num_threads(ctx->threads)
    {
#pragma omp for schedule(static)
        for (int64_t piece = 0; piece < PIECES; piece++)
            go.forward(z, less, cut(m, piece), cut(m, piece + 1));
#pragma omp for schedule(static)
        for (int64_t piece = 0; piece < PIECES; piece++)
            go.backward(z, cut(m, piece), cut(m, piece + 1), z->y + piece * size,
                        z->sum[piece]);
    }
    for (int64_t j = 0; j < z->p; j++) {
        const part *v = &z->view[j];
        double sum = 0;
        for (int64_t piece = 0; piece < PIECES; piece++)
            sum += z->sum[piece][j];
        for (int64_t i = v->at; i < v->at + v->cols; i++) {
            double add = 0;
            for (int64_t piece = 0; piece < PIECES; piece++)
                add += z->y[piece * size + i];
            y[i] = v->factor[i - v->at] * add -
                   (v->shift ? v->f * v->shift[i - v->at] * sum : 0);
        }
    }
}
