/* Graphs of the task file that are made of the domain's own features: {name: near, knn: 10}.
 *
 * knn: auto has 10 neighbours, or 5 or 20 where labels that may be seen are better told by
 * these (label propagation, five folds): so it is chosen anew for every split. */
#include <string.h>

#include "core/ranks.h"
#include "data/parts.h"
#include "learn/folds.h"
#include "learn/graphs.h"
#include "learn/neighbours.h"
#include "learn/scale.h"
#include "task/file.h"

/* The search is exact: 2.5e9 distances. A choice is one search for every split. */
enum { MOST_ROWS = 50000, MOST_AUTO = 10000 };
enum { USUAL = 10, MOST = 20, FOLDS = 5, LEAST = 5 };

/* A view by the rule of scaling (docs/scaling.md), a row for each of n instances, one
 * of zeros for those that the view lacks. Distances do not care whether it is centred. */
static matrix scaled(scope *s, const ferry_view *v, int64_t n, const int64_t *instance)
{
    const ferry_scale_part part = {.x = v->x};
    int64_t *rows = NEW(s, int64_t, n);

    for (int64_t i = 0; i < n; i++)
        rows[i] = v->row_of[instance[i]];
    const ferry_scaler *by = scaler_fit(s, s, FERRY_SCALE_AUTO, v->x->cols, 1, &part, NULL);
    ferry_matrix *x = scaler_apply(s, by, &part, (ferry_scale_how){0});
    return take_rows(s, matrix_borrow(s, x), n, rows, false);
}

/* All views side by side. */
static matrix joined(scope *s, const ferry_domain *d, int64_t n, const int64_t *instance)
{
    matrix *part = NEW(s, matrix, d->n_views);
    bool dense = true;

    for (int64_t v = 0; v < d->n_views; v++) {
        part[v] = scaled(s, d->views[v], n, instance);
        dense = dense && part[v].m->dense;
    }
    for (int64_t v = 0; !dense && v < d->n_views; v++)
        part[v] = to_sparse(s, part[v]); /* one of them must not be made dense by others */
    return beside(s, d->n_views, part);
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
    int64_t n, *instance, k, *index; /* rows, their instances; n x k */
    double *dist;
} nearby;

/* The k nearest of every instance that has features; 0: the usual number, or as many as there are. */
static nearby look(scope *s, const ferry_domain *d, int64_t k)
{
    nearby b = {.instance = NEW(s, int64_t, ferry_i_ids_count(d->ids))};

    if (d->n_views == 0)
        scope_fail(s, FERRY_EDATA, "knn needs views, which '%s' has not", d->name);
    b.n = with_views(d, b.instance);
    if (k == 0) k = b.n > USUAL ? USUAL : b.n > 2 ? b.n - 1 : 1;
    if (b.n <= k)
        scope_fail(s, FERRY_EDATA, "knn: %lld neighbours, but '%s' has %lld instances",
                   (long long)k, d->name, (long long)b.n);
    if (b.n > MOST_ROWS)
        scope_fail(s, FERRY_EDATA,
                   "knn takes up to %d instances, '%s' has %lld: give edges instead",
                   MOST_ROWS, d->name, (long long)b.n);
    b.k = k;
    b.index = NEW(s, int64_t, b.n * k);
    b.dist = NEW(s, double, b.n *k);
    const int64_t mark = scope_mark(s);
    find_near(s, joined(s, d, b.n, b.instance), k, b.index, b.dist);
    scope_release(s, mark);
    return b;
}

/* The edges of the k nearest, between instances of the domain. */
static near_edges edges_of(scope *s, const nearby *b, int64_t k)
{
    const near_edges e = join_near(s, b->n, b->k, k, b->index, b->dist);

    for (int64_t i = 0; i < e.n; i++) {
        e.from[i] = b->instance[e.from[i]];
        e.to[i] = b->instance[e.to[i]];
    }
    return e;
}

typedef struct adding {
    ferry_domain *d;
    const char *name;
    int64_t k;
} adding;

/* ids of the edges' ends, since a domain takes edges by ids */
static void add_near(scope *s, void *arg)
{
    const adding *a = arg;
    const nearby b = look(s, a->d, a->k);
    const near_edges e = edges_of(s, &b, b.k);
    const char **u = NEW(s, const char *, e.n), **v = NEW(s, const char *, e.n);

    for (int64_t i = 0; i < e.n; i++) {
        u[i] = ferry_i_ids_at(a->d->ids, e.from[i]);
        v[i] = ferry_i_ids_at(a->d->ids, e.to[i]);
    }
    scope_check(s,
                ferry_domain_add_graph(scope_ctx(s), a->d, a->name, e.n, u, v, e.weight));
    a->d->graphs[a->d->n_graphs - 1]->choose = a->k == 0;
}

ferry_status ferry_i_domain_add_near(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                     int64_t k)
{
    return scope_run(ctx, add_near, &(adding){d, name, k});
}

/* ---- how many neighbours ---- */

/* Labels as answers: n x m, 1 for the class, or the number; fold[i] -1: not visible. */
typedef struct visible {
    int64_t n, m;
    double *y;
    int32_t *fold;
} visible;

/* n 0: too few to choose by, which is fewer than LEAST of some class. */
static visible read_labels(scope *s, const ferry_labels *l)
{
    const bool classes = l && l->kind == FERRY_LABEL_CLASS;
    visible v = {0};
    int64_t least = INT64_MAX;

    if (!l || (!classes && l->kind != FERRY_LABEL_NUMBER)) return v;
    v.m = classes ? ferry_i_labels_m(l) : 1;
    v.y = NEW(s, double, l->n *v.m);
    int64_t *count = NEW(s, int64_t, v.m);
    int32_t *cls = NEW(s, int32_t, l->n);
    for (int64_t i = 0; i < l->n; i++) {
        cls[i] = !ferry_i_labels_has(l, i) ? -1 : classes ? l->cls[i] : 0;
        if (cls[i] < 0) continue;
        v.y[i * v.m + cls[i]] = classes ? 1 : l->num[i];
        count[cls[i]]++;
    }
    for (int64_t c = 0; c < v.m; c++)
        if (count[c] > 0 && count[c] < least) least = count[c];
    if (least < LEAST || least == INT64_MAX) return v;
    v.fold = random_folds(s, "knn", l->n, cls, FOLDS);
    v.n = l->n;
    return v;
}

/* Squared error of label propagation (methods/relatives/label_propagation.c) on held-out
 * labels. Every process has the whole graph, and does all of it. */
static double held_out(scope *s, const visible *v, ferry_matrix *a)
{
    const int64_t all = scope_mark(s), n = v->n, m = v->m;
    const graph g = {.a = {HERE(n), n, n, a}};
    const block start = block_new(s, HERE(n), n, m);
    double *alpha = NEW(s, double, n), *prior = NEW(s, double, m);
    const propagation how = {.n = 1, .g = &g, .alpha = alpha, .max_iter = 50, .tol = 1e-4};
    double error = 0;

    for (int32_t f = 0; f < FOLDS; f++) {
        const int64_t mark = scope_mark(s);
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
                ROW(start, i)[j] = known ? v->y[i * m + j] : prior[j] / count;
        }
        const block p = propagate(s, &how, start, NULL);
        for (int64_t e = 0; e < n * m; e++)
            if (v->fold[e / m] == f) error += (p.at[e] - v->y[e]) * (p.at[e] - v->y[e]);
        scope_release(s, mark);
    }
    scope_release(s, all);
    return error;
}

static void drop_graph(void *g)
{
    ferry_i_graph_free(g);
}

/* The adjacency of the count with the least held-out error; NULL: as it is. */
static ferry_matrix *choose(scope *s, const ferry_domain *d, const visible *v,
                            const ferry_graph *g)
{
    static const int64_t counts[] = {5, MOST};
    ferry_matrix *best = NULL;
    int64_t rows = 0, loops = 0;

    for (int64_t i = 0; i < g->a->rows; i++)
        rows += g->a->start[i + 1] > g->a->start[i]; /* those with features */
    if (rows <= MOST) return NULL;
    const nearby b = look(s, d, MOST);
    double least = held_out(s, v, g->a);
    for (int64_t c = 0; c < FERRY_COUNT(counts); c++) {
        const near_edges e = edges_of(s, &b, counts[c]);
        ferry_graph *now = NULL;
        scope_check(s, ferry_i_graph_new(scope_ctx(s), g->name, ferry_i_ids_count(d->ids),
                                         e.n, e.from, e.to, e.weight, &loops, &now));
        scope_defer(s, drop_graph, now);
        const double error = held_out(s, v, now->a);
        if (!(error < least)) continue;
        least = error;
        best = now->a;
    }
    return best;
}

/* d's graphs with these adjacencies, for a new domain; NULL: no memory. */
static ferry_graph **graphs_with(const ferry_domain *d, ferry_matrix *const *a)
{
    ferry_graph **all = ferry_i_calloc(d->n_graphs, sizeof(ferry_graph *));
    bool sound = all != NULL;

    for (int64_t i = 0; sound && i < d->n_graphs; i++) {
        all[i] = ferry_i_calloc(1, sizeof *all[i]);
        if (all[i]) all[i]->name = ferry_i_strdup(d->graphs[i]->name);
        if (all[i]) all[i]->a = ferry_i_matrix_ref(a[i]);
        sound = all[i] && all[i]->name;
    }
    for (int64_t i = 0; all && !sound && i < d->n_graphs; i++)
        ferry_i_graph_free(all[i]);
    if (!sound) ferry_i_free(all);
    return sound ? all : NULL;
}

typedef struct choosing {
    ferry_domain *d, *out;
} choosing;

static void choose_near(scope *s, void *arg)
{
    choosing *z = arg;
    const ferry_domain *d = z->d;
    const visible v = read_labels(s, d->labels);
    ferry_matrix **a = NEW(s, ferry_matrix *, d->n_graphs);

    if (v.n <= MOST || v.n > MOST_AUTO) {
        z->out = ferry_i_domain_ref(z->d);
        return;
    }
    for (int64_t i = 0; i < d->n_graphs; i++) {
        if (d->graphs[i]->choose) a[i] = choose(s, d, &v, d->graphs[i]);
        if (!a[i]) a[i] = d->graphs[i]->a;
    }
    ferry_graph **all = graphs_with(d, a);
    if (!all) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_check(s, ferry_i_domain_with_graphs(scope_ctx(s), d, all, &z->out));
}

ferry_status ferry_i_domain_choose_near(ferry_ctx *ctx, ferry_domain *d, ferry_domain **out)
{
    choosing z = {.d = d};
    bool any = false;

    for (int64_t i = 0; i < d->n_graphs; i++)
        any = any || d->graphs[i]->choose;
    *out = any ? NULL : ferry_i_domain_ref(d);
    if (!any) return FERRY_OK;
    /* neighbours' values crossed ranks: all go on, or none */
    const ferry_status st = ferry_i_ranks_agree(ctx, scope_run(ctx, choose_near, &z));
    if (st == FERRY_OK)
        *out = z.out;
    else
        ferry_domain_free(z.out);
    return st;
}
