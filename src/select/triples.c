/* What is a good bridge? Labels of triples by propagation: those of S over the neighbour
 * graph of S and T, and over that of S, I and T. The neighbours in a union are the nearest
 * of those in its parts, so they are found once per pair of domains. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/pool.h"
#include "select/select.h"

/* Propagation ends when no score moves by more than MOVE, or after so many sweeps. */
enum { SWEEPS = 500 };
#define MOVE 1e-4

/* For every instance of one domain its nearest of another: k each, nearest first. */
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
    int64_t largest;       /* instances of the largest domain */
    select_triple *triple; /* n x n x n; st is NaN where there is none */
} bench;

/* What one pair of domains works with: the out-edges of a graph being built, k slots for each of at
 * most 3 `largest` nodes; w holds distances first, then weights. */
typedef struct desk {
    int64_t *degree, *to;
    double *w;
    int32_t *cls;
    ferry_block *f;
    ferry_matrix *graph;
} desk;

/* The instances of domain d in the sample at work. */
static const ferry_matrix *rows_of(const bench *b, int64_t d)
{
    return b->set->d[d].x[b->sample];
}

/* ---- neighbours ---- */

/* Neighbours of every instance of one domain among those of another. Within a domain the
 * instance itself is asked for too and then left out. */
static ferry_status find_near(ferry_ctx *ctx, void *arg, int64_t pair)
{
    ferry_status st = FERRY_OK;
    const bench *b = arg;
    const int64_t from = pair / b->set->n, to = pair % b->set->n;
    const ferry_matrix *q = rows_of(b, from), *x = rows_of(b, to);
    near *out = &b->near[from * b->set->n + to];
    const int64_t k = b->k + (from == to); /* one is the instance itself */

    FERRY_NEW(ctx, out->index, q->rows * k);
    FERRY_NEW(ctx, out->dist, q->rows * k);
    FERRY_TRY(ferry_i_knn(ctx, x, q, k, FERRY_COSINE, out->index, out->dist));
    for (int64_t i = 0; from == to && i < q->rows; i++) {
        int64_t n = 0;
        for (int64_t j = 0; j < k && n < b->k; j++) {
            if (out->index[i * k + j] == i) continue;
            out->index[i * b->k + n] = out->index[i * k + j];
            out->dist[i * b->k + n++] = out->dist[i * k + j];
        }
    }
done:
    return st;
}

/* The k nearest of instance i of part p among all parts; their places (domain after domain)
 * and distances. What has nothing in common with it is no neighbour. */
static int64_t merge(const bench *b, int64_t n_parts, const int64_t *part,
                     const int64_t *begin, int64_t p, int64_t i, int64_t *to, double *dist)
{
    int64_t next[3] = {0, 0, 0}, n = 0;

    while (n < b->k) {
        int64_t best = -1;
        /* 1 - cosine is 1 where two rows have no feature in common. */
        double least = 1 - 1e-12;
        for (int64_t q = 0; q < n_parts; q++) {
            const near *a = &b->near[part[p] * b->set->n + part[q]];
            const int64_t e = i * b->k + next[q];
            if (next[q] == b->k || a->index[e] < 0 || a->dist[e] >= least) continue;
            best = q;
            least = a->dist[e];
        }
        if (best < 0) break;
        const near *a = &b->near[part[p] * b->set->n + part[best]];
        to[n] = begin[best] + a->index[i * b->k + next[best]++];
        dist[n++] = fmax(least, 0);
    }
    return n;
}

/* ---- the graph ---- */

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

/* The symmetric graph over n nodes with degree[i] out-edges from slot i k on: an edge where
 * either end has it. */
static ferry_status symmetric(ferry_ctx *ctx, const desk *b, int64_t k, int64_t n,
                              ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    /* A counting sort by node. Counts stand two places further on, so that after filling
     * (which moves start[i + 1] along) start[i] is where node i begins. */
    int64_t *start = ferry_i_calloc(n + 2, sizeof *start), edges = 0, m = 0;
    edge *e = NULL;
    ferry_matrix *g = NULL;

    FERRY_HAVE(ctx, start);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < b->degree[i]; j++) {
            start[i + 2]++;
            start[b->to[i * k + j] + 2]++;
            edges += 2;
        }
    for (int64_t i = 0; i < n; i++)
        start[i + 2] += start[i + 1];
    FERRY_NEW(ctx, e, edges);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < b->degree[i]; j++) {
            const int64_t to = b->to[i * k + j];
            e[start[i + 1]++] = (edge){to, b->w[i * k + j]};
            e[start[to + 1]++] = (edge){i, b->w[i * k + j]};
        }
    FERRY_TRY(ferry_i_matrix_csr(ctx, n, n, edges, &g));
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = start[i], to = start[i + 1];
        if (to - from > 1) qsort(e + from, (size_t)(to - from), sizeof *e, by_end);
        for (int64_t j = from; j < to; j++) {
            if (j > from && e[j].to == e[j - 1].to) continue;
            g->index[m] = (int32_t)e[j].to;
            g->value[m++] = e[j].w;
        }
        g->start[i + 1] = m;
    }
    g->nnz = m;
    FERRY_MOVE(*out, g);
done:
    ferry_i_matrix_free(g);
    FERRY_FREE(start, e);
    return st;
}

/* Accuracy in the last of the parts, of labels from the first.
 * part: places of the domains in the set, S first, T last. Only labels of S are given;
 * those of T judge the result. NaN when T has no known class in this sample. */
static ferry_status propagate(ferry_ctx *ctx, const bench *b, desk *w, int64_t n_parts,
                              const int64_t *part, double *accuracy)
{
    ferry_status st = FERRY_OK;
    const int64_t c = b->set->classes, last = part[n_parts - 1];
    int64_t begin[4] = {0, 0, 0, 0}, edges = 0, known = 0, right = 0;
    double total = 0, mass[64] = {0}, all = 0;

    for (int64_t p = 0; p < n_parts; p++)
        begin[p + 1] = begin[p] + rows_of(b, part[p])->rows;
    const int64_t n = begin[n_parts];
    for (int64_t p = 0; p < n_parts; p++)
        for (int64_t i = begin[p]; i < begin[p + 1]; i++) {
            w->degree[i] = merge(b, n_parts, part, begin, p, i - begin[p], w->to + i * b->k,
                                 w->w + i * b->k);
            w->cls[i] = p == 0 ? b->set->d[part[0]].cls[b->sample][i] : -1;
            for (int64_t j = 0; j < w->degree[i]; j++)
                total += w->w[i * b->k + j];
            edges += w->degree[i];
        }
    /* rbf: exp(-|a - b|^2 / mean |a - b|^2) of unit vectors, |a - b|^2 = 2 (1 - cos) */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < w->degree[i]; j++) {
            double *x = &w->w[i * b->k + j];
            *x = b->o->propagation == SELECT_KNN || !(total > 0)
                     ? 1
                     : exp(-*x * (double)edges / total);
        }
    FERRY_TRY(symmetric(ctx, w, b->k, n, &w->graph));
    for (int64_t i = 0; i < begin[1]; i++)
        if (w->cls[i] >= 0) {
            mass[w->cls[i]]++;
            all++;
        }
    /* The shares of the classes in S. Propagated scores are scaled to them: otherwise a
     * class with many instances swallows T whole. */
    for (int64_t k = 0; k < c; k++)
        mass[k] /= fmax(all, 1);
    /* The block has room for three domains; this graph has n of its rows. */
    w->f->rows = n;
    (void)ferry_i_propagate(w->graph, c, w->cls, SWEEPS, MOVE, mass, w->f);
    for (int64_t i = 0; i < begin[n_parts] - begin[n_parts - 1]; i++) {
        const int32_t y = b->set->d[last].cls[b->sample][i];
        const double *f = FERRY_ROW(w->f, begin[n_parts - 1] + i);
        int64_t best = 0;
        for (int64_t k = 1; k < c; k++)
            if (f[k] > f[best]) best = k;
        known += y >= 0;
        right += y == best;
    }
    *accuracy = known > 0 ? (double)right / (double)known : NAN;
done:
    ferry_i_matrix_free(w->graph);
    w->graph = NULL;
    return st;
}

/* ---- all triples ---- */

static void desk_free(desk *w)
{
    FERRY_FREE(w->degree, w->to, w->w, w->cls);
    ferry_i_block_free(w->f);
}

static ferry_status desk_new(ferry_ctx *ctx, const bench *b, desk *w)
{
    ferry_status st = FERRY_OK;
    const int64_t nodes = 3 * b->largest;

    FERRY_NEW(ctx, w->degree, nodes);
    FERRY_NEW(ctx, w->to, nodes * b->k);
    FERRY_NEW(ctx, w->w, nodes * b->k);
    FERRY_NEW(ctx, w->cls, nodes);
    FERRY_TRY(ferry_i_block_new(ctx, nodes, b->set->classes, &w->f));
done:
    return st;
}

/* All triples from one domain to another: acc_st, which does not depend on the bridge, once. */
static ferry_status run_pair(ferry_ctx *ctx, void *arg, int64_t pair)
{
    ferry_status st = FERRY_OK;
    const bench *b = arg;
    const int64_t n = b->set->n, s = pair / n, target = pair % n, two[] = {s, target};
    select_triple *t = b->triple + pair * n;
    desk w = {0};
    double direct = NAN;
    bool finish = false;

    for (int64_t d = 0; d < n; d++)
        t[d].st = NAN;
    FERRY_TRY(ferry_i_progress(ctx, "triples", pair + 1, n * n, NAN, &finish));
    if (s == target || !b->set->d[s].labelled || !b->set->d[target].labelled) goto done;
    FERRY_TRY(desk_new(ctx, b, &w));
    FERRY_TRY(propagate(ctx, b, &w, 2, two, &direct));
    for (int64_t d = 0; d < n; d++) {
        const int64_t three[] = {s, d, target};
        if (d == s || d == target) continue;
        t[d] = (select_triple){s, d, target, direct, 0};
        FERRY_TRY(propagate(ctx, b, &w, 3, three, &t[d].sit));
    }
done:
    desk_free(&w);
    return st;
}

/* The neighbours between two domains; the triples of a pair: to other ranks or from one. */
static ferry_status carry_near(ferry_ctx *ctx, void *arg, int64_t pair, ferry_parcel *p)
{
    const bench *b = arg;
    const int64_t from = pair / b->set->n, k = b->k + (from == pair % b->set->n),
                  n = rows_of(b, from)->rows * k;

    (void)ctx;
    ferry_i_parcel_known(p, (void **)&b->near[pair].index, n, sizeof *b->near->index);
    ferry_i_parcel_known(p, (void **)&b->near[pair].dist, n, sizeof *b->near->dist);
    return FERRY_OK;
}

static ferry_status carry_pair(ferry_ctx *ctx, void *arg, int64_t pair, ferry_parcel *p)
{
    const bench *b = arg;

    (void)ctx;
    ferry_i_parcel_bytes(p, b->triple + pair * b->set->n,
                         b->set->n * (int64_t)sizeof *b->triple);
    return FERRY_OK;
}

/* Every triple twice over one set of neighbour lists: S and T alone, then with I. Cost: n^2 searches for
 * neighbours, each for an ordered pair of domains, n^3 propagations on at most three samples. The pairs
 * run side by side, each with results in its own place. */
ferry_status ferry_i_select_triples(ferry_ctx *ctx, const select_set *set, int64_t sample,
                                    const select_options *o, select_triple **out,
                                    int64_t *n_out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = set->n;
    bench b = {.set = set, .o = o, .sample = sample, .k = o->neighbours};
    int64_t m = 0;
    bool finish = false;

    *out = NULL;
    FERRY_NEED(ctx, set->classes >= 2 && set->classes <= 64, FERRY_ENEEDS,
               "select: expected 2 to 64 classes, found %lld", (long long)set->classes);
    for (int64_t i = 0; i < n; i++)
        if (rows_of(&b, i)->rows > b.largest) b.largest = rows_of(&b, i)->rows;
    FERRY_NEW(ctx, b.near, n * n);
    FERRY_NEW(ctx, b.triple, n * n * n);
    FERRY_TRY(ferry_i_pool_run(
        ctx, &(ferry_jobs){.n = n * n, .run = find_near, .arg = &b, .carry = carry_near},
        NULL));
    FERRY_TRY(ferry_i_pool_run(
        ctx, &(ferry_jobs){.n = n * n, .run = run_pair, .arg = &b, .carry = carry_pair},
        &finish));
    /* a model of some triples would not say which */
    FERRY_NEED(ctx, !finish, FERRY_ECANCELLED,
               "select: stopped before all triples were tried");
    for (int64_t i = 0; i < n * n * n; i++)
        if (isfinite(b.triple[i].st) && isfinite(b.triple[i].sit))
            b.triple[m++] = b.triple[i];
    *n_out = m;
    FERRY_MOVE(*out, b.triple);
done:
    for (int64_t i = 0; b.near && i < n * n; i++)
        FERRY_FREE(b.near[i].index, b.near[i].dist);
    FERRY_FREE(b.near, b.triple);
    return st;
}
