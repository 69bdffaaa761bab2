/* Consensus of views and graphs times one vector (linalg/packed.h), a range of instances.
 *
 * Such a product is nothing but memory, so every byte is read once: X_j'r is added up from
 * the same rows that made X_j u_j, and an edge costs one line of the cache for the t_j of
 * all views. Instances go in chunks that stay in the near cache. */
#include <string.h>

#include "linalg/host/kernels/kernel.h"

/* VIEWS: numbers of an instance in t and r, one line of the cache however many views
 * there are. AHEAD: edges whose line is fetched early. LINE: vectors of a line. */
enum { VIEWS = FERRY_CONSENSUS_VIEWS, CHUNK = 512, AHEAD = 24, LINE = VIEWS / LANES };

typedef ferry_consensus consensus;
typedef ferry_pattern pattern;

/* Column of entry e. */
INLINE int64_t column(const pattern *x, bool narrow, int64_t e)
{
    return narrow ? x->narrow[e] : x->wide[e];
}

/* Calls f with constants for whether columns are narrow and values are there. */
#define BY_KIND(x, f, ...)                                                                 \
    do {                                                                                   \
        if ((x)->narrow && !(x)->value)                                                    \
            f(x, true, false, __VA_ARGS__);                                                \
        else if ((x)->narrow)                                                              \
            f(x, true, true, __VA_ARGS__);                                                 \
        else if (!(x)->value)                                                              \
            f(x, false, false, __VA_ARGS__);                                               \
        else                                                                               \
            f(x, false, true, __VA_ARGS__);                                                \
    } while (0)

/* t_ij of rows [from, to) of one view: sums of u over the row's columns.
 * u is already multiplied by the columns' factors, so a pattern of ones needs additions
 * only. Four sums, or each addition would wait for the one before. */
INLINE void gather_rows(const pattern *x, bool narrow, bool values, const double *u,
                        double less, const double *present, int64_t from, int64_t to,
                        double *t)
{
    for (int64_t i = from; i < to; i++) {
        const int64_t end = x->start[i + 1];
        double s[4] = {0};
        int64_t e = x->start[i];
        for (; e + 4 <= end; e += 4)
            UNROLL for (int k = 0; k < 4; k++) s[k] +=
                (values ? x->value[e + k] : 1) * u[column(x, narrow, e + k)];
        for (; e < end; e++)
            s[0] += (values ? x->value[e] : 1) * u[column(x, narrow, e)];
        t[i * VIEWS] = (s[0] + s[1]) + (s[2] + s[3]) - (present ? present[i] * less : less);
    }
}

/* y += X_j'r over rows [from, to) of one view; *sum += r where the view is there.
 * Factors are applied to y at the end, by the driver. */
INLINE void scatter_rows(const pattern *x, bool narrow, bool values, const double *r,
                         const double *present, int64_t from, int64_t to, double *y,
                         double *sum)
{
    double s = 0;

    for (int64_t i = from; i < to; i++) {
        const double ri = r[i * VIEWS];
        s += present ? present[i] * ri : ri;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            y[column(x, narrow, e)] += (values ? x->value[e] : 1) * ri;
    }
    *sum += s;
}

/* to += f times a line of t. */
INLINE void add_line(vec *to, double f, const double *t)
{
    UNROLL for (int g = 0; g < LINE; g++) to[g] += f * VEC_LOAD(t + g * LANES);
}

/* r += G M T of rows [from, to) for a graph (values: G is 1): a row of M T is the sum of the
 * rows of T that it is joined with.
 * Even and odd edges have sums of their own, which do not wait for each other. The
 * columns have room for AHEAD more, so that looking ahead needs no test. */
INLINE void add_neighbours(const pattern *x, bool narrow, bool values, const double *t,
                           const double *node, int64_t from, int64_t to, double *r)
{
    for (int64_t i = from; i < to; i++) {
        const int64_t end = x->start[i + 1];
        vec even[LINE], odd[LINE];
        int64_t e = x->start[i];
        UNROLL for (int g = 0; g < LINE; g++) even[g] = odd[g] = (vec){0};
        for (; e + 2 <= end; e += 2) {
            __builtin_prefetch(t + column(x, narrow, e + AHEAD) * VIEWS);
            __builtin_prefetch(t + column(x, narrow, e + AHEAD + 1) * VIEWS);
            add_line(even, values ? x->value[e] : 1, t + column(x, narrow, e) * VIEWS);
            add_line(odd, values ? x->value[e + 1] : 1,
                     t + column(x, narrow, e + 1) * VIEWS);
        }
        if (e < end)
            add_line(even, values ? x->value[e] : 1, t + column(x, narrow, e) * VIEWS);
        UNROLL for (int g = 0; g < LINE; g++)
        {
            double *out = r + i * VIEWS + g * LANES;
            VEC_STORE(out, VEC_LOAD(out) + (values ? 1 : node[i]) * (even[g] + odd[g]));
        }
    }
}

/* t, and G t for each graph, of instances [from, to). */
void KERNEL(consensus_forward)(const consensus *z, int64_t from, int64_t to)
{
    double *t = z->t->data;

    for (int64_t at = from; at < to; at += CHUNK) {
        const int64_t end = at + CHUNK < to ? at + CHUNK : to;
        for (int64_t j = 0; j < z->p; j++) {
            const ferry_consensus_view *v = &z->view[j];
            BY_KIND(&v->x, gather_rows, z->scaled + v->at, z->less[j], v->present, at, end,
                    t + j);
        }
        for (int64_t g = 0; g < z->q; g++)
            for (int64_t i = at; z->node[g] && i < end; i++)
                for (int64_t j = 0; j < VIEWS; j += LANES)
                    VEC_STORE(FERRY_ROW(z->gt[g], i) + j,
                              z->node[g][i] * VEC_LOAD(t + i * VIEWS + j));
    }
}

/* r_j = (a_j - b) t_j + b s of instances [from, to).
 * Writes r for the first time; the graphs add to it. */
INLINE void own_part(const consensus *z, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const double *t = FERRY_ROW(z->t, i);
        double s = 0;
        for (int64_t j = 0; j < VIEWS; j++) /* 0 past the views */
            s += t[j];
        for (int64_t j = 0; j < VIEWS; j += LANES)
            VEC_STORE(FERRY_ROW(z->r, i) + j,
                      VEC_LOAD(z->own + j) * VEC_LOAD(t + j) + z->b * s);
    }
}

/* r of instances [from, to), added into y (size) and sum (views) of the piece. */
void KERNEL(consensus_backward)(const consensus *z, int64_t from, int64_t to, double *y,
                                double *sum)
{
    memset(y, 0, (size_t)z->size * sizeof *y);
    memset(sum, 0, VIEWS * sizeof *sum);
    for (int64_t at = from; at < to; at += CHUNK) {
        const int64_t end = at + CHUNK < to ? at + CHUNK : to;
        own_part(z, at, end);
        for (int64_t g = 0; g < z->q; g++)
            BY_KIND(&z->graph[g], add_neighbours, z->node[g] ? z->gt[g]->data : z->t->data,
                    z->node[g], at, end, z->r->data);
        for (int64_t j = 0; j < z->p; j++) {
            const ferry_consensus_view *v = &z->view[j];
            BY_KIND(&v->x, scatter_rows, z->r->data + j, v->present, at, end, y + v->at,
                    sum + j);
        }
    }
}
