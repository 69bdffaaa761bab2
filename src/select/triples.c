/* What is a good bridge? Labels of triples by propagation: those of S over the neighbour graph of S and T, and over
 * that of S, I and T. The neighbours in a union are the nearest of those in its parts, so they are found once per pair
 * of domains. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/nearest.h"
#include "select/select.h"

/* Propagation ends when no score moves by more than MOVE, or after so many sweeps. */
enum { SWEEPS = 500 };
#define MOVE 1e-4

/* For every instance of one domain its nearest of another: k each, nearest first, in slots for one more. */
typedef struct near {
    int64_t *index; /* -1: none */
    double *dist;   /* 1 - cosine */
} near;

/* All that the triples of one sample share. near is [from * n + to], triple [(s * n + target) * n + i]. */
typedef struct bench {
    const select_set *set;
    const select_options *o;
    int64_t sample, k;
    near *near;            /* n x n */
    select_triple *triple; /* n x n x n; st is NaN where there is none */
} bench;

/* The instances of domain d in the sample at work. */
static matrix rows_of(const bench *b, int64_t d)
{
    return b->set->d[d].x[b->sample];
}

/* ---- neighbours ---- */

/* Neighbours of every instance of one domain among those of another. Within a domain the instance itself is asked for
 * too and then left out. */
static void find_near(scope *s, void *arg, int64_t pair)
{
    const bench *b = arg;
    const int64_t from = pair / b->set->n, to = pair % b->set->n;
    const matrix q = rows_of(b, from);
    const near *out = &b->near[pair];
    const int64_t k = b->k + (from == to); /* one is the instance itself */

    nearest(s, rows_of(b, to), q, k, FERRY_COSINE, NULL, out->index, out->dist);
    for (int64_t i = 0; from == to && i < q.n; i++) {
        int64_t n = 0;
        for (int64_t j = 0; j < k && n < b->k; j++) {
            if (out->index[i * k + j] == i) continue;
            out->index[i * b->k + n] = out->index[i * k + j];
            out->dist[i * b->k + n++] = out->dist[i * k + j];
        }
    }
}

/* ---- the graph ---- */

/* Domains side by side: numbers in the set, S first, T last; where the instances of each begin. */
typedef struct parts {
    int64_t n, part[3], begin[4];
} parts;

/* Out-edges of the nodes of a graph, k slots each; w holds distances first, then weights. */
typedef struct out_edges {
    int64_t n, k, *degree, *to;
    double *w;
} out_edges;

/* The k nearest of instance i of part p among all parts; their numbers (domain after domain) and distances. What has
 * nothing in common with it is no neighbour. */
static int64_t merge(const bench *b, const parts *u, int64_t p, int64_t i, int64_t *to,
                     double *dist)
{
    int64_t next[3] = {0, 0, 0}, n = 0;

    while (n < b->k) {
        int64_t best = -1;
        /* 1 - cosine is 1 where two rows have no feature in common. */
        double least = 1 - 1e-12;
        for (int64_t q = 0; q < u->n; q++) {
            const near *a = &b->near[u->part[p] * b->set->n + u->part[q]];
            const int64_t e = i * b->k + next[q];
            if (next[q] == b->k || a->index[e] < 0 || a->dist[e] >= least) continue;
            best = q;
            least = a->dist[e];
        }
        if (best < 0) break;
        const near *a = &b->near[u->part[p] * b->set->n + u->part[best]];
        to[n] = u->begin[best] + a->index[i * b->k + next[best]++];
        dist[n++] = fmax(least, 0);
    }
    return n;
}

/* The nearest of all instances. rbf: exp(-|a - b|^2 / mean |a - b|^2) of unit vectors, |a - b|^2 = 2 (1 - cos). */
static out_edges nearest_of_all(scope *s, const bench *b, const parts *u)
{
    const int64_t n = u->begin[u->n];
    const out_edges e = {n, b->k, NEW(s, int64_t, n), NEW(s, int64_t, n * b->k),
                         NEW(s, double, n * b->k)};
    int64_t edges = 0;
    double total = 0;

    for (int64_t p = 0; p < u->n; p++)
        for (int64_t i = u->begin[p]; i < u->begin[p + 1]; i++) {
            e.degree[i] = merge(b, u, p, i - u->begin[p], e.to + i * e.k, e.w + i * e.k);
            for (int64_t j = 0; j < e.degree[i]; j++)
                total += e.w[i * e.k + j];
            edges += e.degree[i];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < e.degree[i]; j++) {
            double *x = &e.w[i * e.k + j];
            *x = b->o->propagation == SELECT_KNN || !(total > 0)
                     ? 1
                     : exp(-*x * (double)edges / total);
        }
    return e;
}

/* An edge seen from one of its ends. */
typedef struct edge {
    int64_t to;
    double w;
} edge;

/* Equal ends side by side, so that the second of a pair can be dropped. */
static int by_end(const void *a, const void *b)
{
    const edge *x = a, *y = b;

    if (x->to != y->to) return (x->to > y->to) - (x->to < y->to);
    return (x->w < y->w) - (x->w > y->w); /* the heavier first */
}

/* The symmetric graph: an edge where either end has it. */
static matrix symmetric(scope *s, const out_edges *o)
{
    /* A counting sort by node. Counts stand two places further on, so that after filling (which moves start[i + 1]
     * along) start[i] is where node i begins. */
    int64_t *start = NEW(s, int64_t, o->n + 2), m = 0;
    ferry_matrix *g = NULL;

    for (int64_t i = 0; i < o->n; i++)
        for (int64_t j = 0; j < o->degree[i]; j++) {
            start[i + 2]++;
            start[o->to[i * o->k + j] + 2]++;
        }
    for (int64_t i = 0; i < o->n; i++)
        start[i + 2] += start[i + 1];
    const int64_t edges = start[o->n + 1];
    edge *e = NEW(s, edge, edges);
    for (int64_t i = 0; i < o->n; i++)
        for (int64_t j = 0; j < o->degree[i]; j++) {
            const int64_t to = o->to[i * o->k + j];
            e[start[i + 1]++] = (edge){to, o->w[i * o->k + j]};
            e[start[to + 1]++] = (edge){i, o->w[i * o->k + j]};
        }
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), o->n, o->n, edges, &g));
    const matrix to = matrix_own(s, g);
    for (int64_t i = 0; i < o->n; i++) {
        const int64_t from = start[i], end = start[i + 1];
        if (end - from > 1) qsort(e + from, (size_t)(end - from), sizeof *e, by_end);
        for (int64_t j = from; j < end; j++) {
            if (j > from && e[j].to == e[j - 1].to) continue;
            g->index[m] = (int32_t)e[j].to;
            g->value[m++] = e[j].w;
        }
        g->start[i + 1] = m;
    }
    g->nnz = m;
    return to;
}

/* Accuracy in the last of n domains, of labels from the first. Those of T judge the result: NaN when T has no known
 * class in this sample. Scores are scaled to the shares of the classes in S: otherwise a class with many instances
 * swallows T whole. */
static double reached(scope *s, const bench *b, int64_t n, const int64_t *part)
{
    const int64_t c = b->set->classes, mark = scope_mark(s);
    const select_domain *first = &b->set->d[part[0]], *last = &b->set->d[part[n - 1]];
    parts u = {.n = n};
    double known = 0, right = 0, all = 0, *mass = NEW(s, double, c);

    for (int64_t p = 0; p < n; p++) {
        u.part[p] = part[p];
        u.begin[p + 1] = u.begin[p] + rows_of(b, part[p]).n;
    }
    const out_edges e = nearest_of_all(s, b, &u);
    int32_t *cls = NEW(s, int32_t, e.n);
    for (int64_t i = 0; i < e.n; i++) {
        cls[i] = i < u.begin[1] ? first->cls[b->sample][i] : -1;
        if (cls[i] >= 0) mass[cls[i]]++;
        all += cls[i] >= 0;
    }
    for (int64_t k = 0; k < c; k++)
        mass[k] /= fmax(all, 1);
    const block scores = block_new(s, HERE(e.n), e.n, c);
    ferry_block f = block_ref(scores);
    (void)ferry_i_propagate(symmetric(s, &e).m, c, cls, SWEEPS, MOVE, mass, &f);
    for (int64_t i = u.begin[n - 1]; i < u.begin[n]; i++) {
        const int32_t y = last->cls[b->sample][i - u.begin[n - 1]];
        int64_t best = 0;
        for (int64_t k = 1; k < c; k++)
            if (ROW(scores, i)[k] > ROW(scores, i)[best]) best = k;
        known += y >= 0;
        right += y == best;
    }
    scope_release(s, mark);
    return known > 0 ? right / known : NAN;
}

/* ---- all triples ---- */

/* All triples from one domain to another: acc_st, which does not depend on the bridge, once. */
static void run_pair(scope *s, void *arg, int64_t pair)
{
    const bench *b = arg;
    const int64_t n = b->set->n, from = pair / n, target = pair % n;
    select_triple *t = b->triple + pair * n;

    for (int64_t d = 0; d < n; d++)
        t[d].st = NAN;
    (void)progress(s, "triples", pair + 1, n * n, NAN);
    if (from == target || !b->set->d[from].labelled || !b->set->d[target].labelled) return;
    const double direct = reached(s, b, 2, (const int64_t[]){from, target});
    for (int64_t d = 0; d < n; d++)
        if (d != from && d != target)
            t[d] = (select_triple){from, d, target, direct,
                                   reached(s, b, 3, (const int64_t[]){from, d, target})};
}

/* The neighbours between two domains; the triples of a pair: to other processes or from one. */
static void exchange_near(void *arg, int64_t pair, ferry_buffer *p)
{
    const bench *b = arg;
    const int64_t n = rows_of(b, pair / b->set->n).n * (b->k + 1);

    ferry_i_buffer_bytes(p, b->near[pair].index, n * (int64_t)sizeof *b->near->index);
    ferry_i_buffer_bytes(p, b->near[pair].dist, n * (int64_t)sizeof *b->near->dist);
}

static void exchange_pair(void *arg, int64_t pair, ferry_buffer *p)
{
    const bench *b = arg;

    ferry_i_buffer_bytes(p, b->triple + pair * b->set->n,
                         b->set->n * (int64_t)sizeof *b->triple);
}

/* Every triple twice over one set of neighbour lists: S and T alone, then with I. Cost: n^2 searches for neighbours,
 * each for an ordered pair of domains, n^3 propagations on at most three samples. The pairs run side by side, each
 * with results in its own slot. */
select_triple *labelled_triples(scope *s, const select_set *set, int64_t sample,
                                const select_options *o, int64_t *n_out)
{
    const int64_t n = set->n;
    bench b = {.set = set,
               .o = o,
               .sample = sample,
               .k = o->neighbours,
               .near = NEW(s, near, n * n),
               .triple = NEW(s, select_triple, n * n * n)};

    if (set->classes < 2 || set->classes > 64)
        scope_fail(s, FERRY_ENEEDS, "select: expected 2 to 64 classes, found %lld",
                   (long long)set->classes);
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t slots = rows_of(&b, i / n).n * (b.k + 1);
        b.near[i] = (near){NEW(s, int64_t, slots), NEW(s, double, slots)};
    }
    (void)scope_jobs_shared(s, n * n, find_near, exchange_near, &b);
    /* a model of some triples would not say which */
    if (scope_jobs_shared(s, n * n, run_pair, exchange_pair, &b))
        scope_fail(s, FERRY_ECANCELLED, "select: stopped before all triples were tried");
    *n_out = 0;
    for (int64_t i = 0; i < n * n * n; i++)
        if (isfinite(b.triple[i].st) && isfinite(b.triple[i].sit))
            b.triple[(*n_out)++] = b.triple[i];
    return b.triple;
}
