/* Graphs of the task file that are made of the domain's own features: {name: near, knn: 10}.
 *
 * knn: auto has 10 neighbours, or 5 or 20 where labels that may be seen are better told by
 * these (label propagation, five folds): so it is chosen anew for every split. */
#include <string.h>

#include "core/ranks.h"
#include "data/parts.h"
#include "learn/diffuse.h"
#include "learn/learn.h"
#include "learn/scale.h"
#include "task/file.h"

/* The search is exact: 2.5e9 distances. A choice is one search for every split. */
enum { MOST_ROWS = 50000, MOST_AUTO = 10000 };
enum { USUAL = 10, MOST = 20, FOLDS = 5, LEAST = 5 };

/* A view by the rule of scaling (docs/scaling.md), a row for each of n instances, one
 * of zeros for those that the view lacks. Distances do not care whether it is centred. */
static ferry_status scaled(ferry_ctx *ctx, const ferry_view *v, int64_t n,
                           const int64_t *instance, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const ferry_scale_part part = {v->x, NULL};
    ferry_scaler *scale = NULL;
    ferry_matrix *x = NULL;
    int64_t *rows = NULL;

    FERRY_NEW(ctx, rows, n);
    for (int64_t i = 0; i < n; i++)
        rows[i] = v->row_of[instance[i]];
    FERRY_TRY(
        ferry_i_scaler_fit(ctx, FERRY_SCALE_AUTO, v->x->cols, 1, &part, &scale, NULL));
    FERRY_TRY(ferry_i_scaler_apply(ctx, scale, &part, (ferry_scale_how){0}, &x));
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n, rows, x->cols, NULL, out));
done:
    ferry_i_free(rows);
    ferry_i_scaler_free(scale);
    ferry_i_matrix_free(x);
    return st;
}

/* All views side by side. */
static ferry_status joined(ferry_ctx *ctx, const ferry_domain *d, int64_t n,
                           const int64_t *instance, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix **part = NULL;
    bool dense = true;

    FERRY_NEW(ctx, part, d->n_views);
    for (int64_t v = 0; v < d->n_views; v++) {
        FERRY_TRY(scaled(ctx, d->views[v], n, instance, &part[v]));
        dense = dense && part[v]->dense;
    }
    FERRY_TRY(ferry_i_matrix_beside(ctx, dense, d->n_views, part, out));
done:
    for (int64_t v = 0; part && v < d->n_views; v++)
        ferry_i_matrix_free(part[v]);
    ferry_i_free(part);
    return st;
}

/* instance[0 .. n) <- those that some view has: labels alone are no place to be near to. */
static int64_t with_views(const ferry_domain *d, int64_t *instance)
{
    int64_t n = 0;

    for (int64_t i = 0; i < ferry_i_ids_count(d->ids); i++) {
        bool any = false;
        for (int64_t v = 0; v < d->n_views; v++)
            any = any || d->views[v]->row_of[i] >= 0;
        if (any) instance[n++] = i;
    }
    return n;
}

/* Who is near whom in a domain. */
typedef struct nearby {
    int64_t n, *instance, wide, *index; /* rows, their instances; n x wide */
    double *dist;
} nearby;

static void nearby_clear(nearby *b)
{
    FERRY_FREE(b->instance, b->index, b->dist);
}

/* The k nearest of every instance that has features; 0: the usual number, or as many as there are. */
static ferry_status look(ferry_ctx *ctx, const ferry_domain *d, int64_t k, nearby *b)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    FERRY_NEED(ctx, d->n_views > 0, FERRY_EDATA, "knn needs views, which '%s' has not",
               d->name);
    FERRY_NEW(ctx, b->instance, ferry_i_ids_count(d->ids));
    b->n = with_views(d, b->instance);
    if (k == 0) k = b->n > USUAL ? USUAL : b->n > 2 ? b->n - 1 : 1;
    FERRY_NEED(ctx, b->n > k, FERRY_EDATA,
               "knn: %lld neighbours, but '%s' has %lld instances", (long long)k, d->name,
               (long long)b->n);
    FERRY_NEED(ctx, b->n <= MOST_ROWS, FERRY_EDATA,
               "knn takes up to %d instances, '%s' has %lld: give edges instead", MOST_ROWS,
               d->name, (long long)b->n);
    FERRY_TRY(joined(ctx, d, b->n, b->instance, &x));
    b->wide = k + 1;
    FERRY_TRY(ferry_i_near_rows(ctx, x, k, &b->index, &b->dist));
done:
    ferry_i_matrix_free(x);
    return st;
}

/* The graph of the k nearest. */
static ferry_status graph_of(ferry_ctx *ctx, const ferry_domain *d, const nearby *b,
                             const char *name, int64_t k, ferry_graph **out)
{
    ferry_status st = FERRY_OK;
    int64_t *from = NULL, *to = NULL, edges = 0, loops = 0;
    double *weight = NULL;

    FERRY_TRY(ferry_i_near_join(ctx, b->n, b->wide, k, b->index, b->dist, &edges, &from,
                                &to, &weight));
    for (int64_t e = 0; e < edges; e++) {
        from[e] = b->instance[from[e]];
        to[e] = b->instance[to[e]];
    }
    FERRY_TRY(ferry_i_graph_new(ctx, name, ferry_i_ids_count(d->ids), edges, from, to,
                                weight, &loops, out));
done:
    FERRY_FREE(from, to, weight);
    return st;
}

/* ids of the edges' ends, since a domain takes edges by ids */
static ferry_status add_edges(ferry_ctx *ctx, ferry_domain *d, const char *name,
                              const nearby *b, int64_t k)
{
    ferry_status st = FERRY_OK;
    int64_t *from = NULL, *to = NULL, edges = 0;
    double *weight = NULL;
    const char **u = NULL, **v = NULL;

    FERRY_TRY(ferry_i_near_join(ctx, b->n, b->wide, k, b->index, b->dist, &edges, &from,
                                &to, &weight));
    FERRY_NEW(ctx, u, edges);
    FERRY_NEW(ctx, v, edges);
    for (int64_t e = 0; e < edges; e++) {
        u[e] = ferry_i_ids_at(d->ids, b->instance[from[e]]);
        v[e] = ferry_i_ids_at(d->ids, b->instance[to[e]]);
    }
    FERRY_TRY(ferry_domain_add_graph(ctx, d, name, edges, u, v, weight));
done:
    FERRY_FREE(from, to, weight, u, v);
    return st;
}

ferry_status ferry_i_domain_add_near(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                     int64_t k)
{
    ferry_status st = FERRY_OK;
    nearby b = {0};

    FERRY_TRY(look(ctx, d, k, &b));
    FERRY_TRY(add_edges(ctx, d, name, &b, b.wide - 1));
    d->graphs[d->n_graphs - 1]->choose = k == 0;
done:
    nearby_clear(&b);
    return st;
}

/* ---- how many neighbours ---- */

/* Labels as answers: n x m, 1 for the class, or the number; fold[i] -1: not visible. */
typedef struct visible {
    int64_t n, m;
    double *y;
    int32_t *fold;
} visible;

/* v->n 0: too few to choose by, which is fewer than LEAST of some class. */
static ferry_status read_labels(ferry_ctx *ctx, const ferry_labels *l, visible *v)
{
    ferry_status st = FERRY_OK;
    const bool classes = l && l->kind == FERRY_LABEL_CLASS;
    int64_t *count = NULL, least = INT64_MAX;
    int32_t *cls = NULL;

    if (!l || (!classes && l->kind != FERRY_LABEL_NUMBER)) goto done;
    v->m = classes ? ferry_i_labels_m(l) : 1;
    FERRY_NEW(ctx, count, v->m);
    FERRY_NEW(ctx, v->y, l->n * v->m);
    FERRY_NEW(ctx, v->fold, l->n);
    FERRY_NEW(ctx, cls, l->n);
    for (int64_t i = 0; i < l->n; i++) {
        cls[i] = !ferry_i_labels_has(l, i) ? -1 : classes ? l->cls[i] : 0;
        if (cls[i] < 0) continue;
        v->y[i * v->m + cls[i]] = classes ? 1 : l->num[i];
        count[cls[i]]++;
    }
    for (int64_t c = 0; c < v->m; c++)
        if (count[c] > 0 && count[c] < least) least = count[c];
    if (least < LEAST || least == INT64_MAX) goto done;
    FERRY_TRY(ferry_i_folds(ctx, "knn", l->n, cls, FOLDS, v->fold));
    v->n = l->n;
done:
    FERRY_FREE(count, cls);
    return st;
}

/* Squared error of label propagation (methods/baselines/label_propagation.c) on held-out
 * labels. */
static ferry_status held_out(ferry_ctx *ctx, const visible *v, ferry_matrix *a, double *out)
{
    static const double one = 1;
    ferry_status st = FERRY_OK;
    const int64_t n = v->n, m = v->m;
    double *start = NULL, *alpha = NULL, *p = NULL, *prior = NULL;

    *out = 0;
    FERRY_NEW(ctx, start, n * m);
    FERRY_NEW(ctx, p, n * m);
    FERRY_NEW(ctx, alpha, n);
    FERRY_NEW(ctx, prior, m);
    const ferry_diffusion how = {1, &a, &one, n, m, start, alpha, 50, 1e-4};
    for (int32_t f = 0; f < FOLDS; f++) {
        double count = 0;
        memset(prior, 0, (size_t)m * sizeof *prior);
        for (int64_t i = 0; i < n; i++) {
            if (v->fold[i] < 0 || v->fold[i] == f) continue;
            for (int64_t j = 0; j < m; j++)
                prior[j] += v->y[i * m + j];
            count++;
        }
        for (int64_t i = 0; i < n; i++) {
            const bool known = v->fold[i] >= 0 && v->fold[i] != f;
            alpha[i] = known ? 0 : 0.99;
            for (int64_t j = 0; j < m; j++)
                start[i * m + j] = known ? v->y[i * m + j] : prior[j] / count;
        }
        FERRY_TRY(ferry_i_diffuse(ctx, &how, p, NULL));
        for (int64_t e = 0; e < n * m; e++)
            if (v->fold[e / m] == f) *out += (p[e] - v->y[e]) * (p[e] - v->y[e]);
    }
done:
    FERRY_FREE(start, alpha, p, prior);
    return st;
}

/* *best <- the graph with the count of the least held-out error; NULL: as it is. */
static ferry_status choose(ferry_ctx *ctx, const ferry_domain *d, const visible *v,
                           const ferry_graph *g, ferry_graph **best)
{
    static const int64_t counts[] = {5, MOST};
    ferry_status st = FERRY_OK;
    ferry_graph *now = NULL;
    nearby b = {0};
    double least = 0, error = 0;
    int64_t rows = 0;

    for (int64_t i = 0; i < g->a->rows; i++)
        rows += g->a->start[i + 1] > g->a->start[i]; /* those with features */
    if (rows <= MOST) goto done;
    FERRY_TRY(look(ctx, d, MOST, &b));
    FERRY_TRY(held_out(ctx, v, g->a, &least));
    for (int64_t c = 0; c < FERRY_COUNT(counts); c++) {
        ferry_i_graph_free(now);
        now = NULL;
        FERRY_TRY(graph_of(ctx, d, &b, g->name, counts[c], &now));
        FERRY_TRY(held_out(ctx, v, now->a, &error));
        if (!(error < least)) continue;
        least = error;
        ferry_i_graph_free(*best);
        FERRY_MOVE(*best, now);
    }
done:
    ferry_i_graph_free(now);
    nearby_clear(&b);
    return st;
}

ferry_status ferry_i_domain_choose_near(ferry_ctx *ctx, ferry_domain *d, ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    ferry_graph **all = NULL, *best = NULL;
    visible v = {0};
    bool any = false;

    *out = NULL;
    for (int64_t i = 0; i < d->n_graphs; i++)
        any = any || d->graphs[i]->choose;
    if (any) FERRY_TRY(read_labels(ctx, d->labels, &v));
    if (v.n <= MOST || v.n > MOST_AUTO) {
        *out = ferry_i_domain_ref(d);
        goto done;
    }
    FERRY_NEW(ctx, all, d->n_graphs);
    for (int64_t i = 0; i < d->n_graphs; i++) {
        const ferry_graph *g = d->graphs[i];
        if (g->choose) FERRY_TRY(choose(ctx, d, &v, g, &best));
        if (!best) {
            FERRY_NEW(ctx, all[i], 1);
            FERRY_HAVE(ctx, all[i]->name = ferry_i_strdup(g->name));
            all[i]->a = ferry_i_matrix_ref(g->a);
        } else {
            FERRY_MOVE(all[i], best);
        }
    }
    st = ferry_i_domain_with_graphs(ctx, d, all, out);
    all = NULL;
done:
    /* neighbours' values crossed ranks: all go on, or none */
    if (any) st = ferry_i_ranks_agree(ctx, st);
    if (st != FERRY_OK) {
        ferry_domain_free(*out);
        *out = NULL;
    }
    for (int64_t i = 0; all && i < d->n_graphs; i++)
        ferry_i_graph_free(all[i]);
    FERRY_FREE(all, v.y, v.fold);
    ferry_i_graph_free(best);
    return st;
}
