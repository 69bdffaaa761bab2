/* Graphs of the task file that are made of the domain's own features: {name: near, knn: 10}. */
#include "data/parts.h"
#include "learn/learn.h"
#include "learn/scale.h"
#include "task/file.h"

enum { MOST_ROWS = 50000 }; /* the search is exact: 2.5e9 distances */

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

ferry_status ferry_i_domain_add_near(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                     int64_t k)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;
    int64_t *instance = NULL, *from = NULL, *to = NULL, n, edges = 0;
    double *weight = NULL;
    const char **a = NULL, **b = NULL;

    FERRY_NEW(ctx, instance, ferry_i_ids_count(d->ids));
    n = with_views(d, instance);
    FERRY_NEED(ctx, d->n_views > 0, FERRY_EDATA, "knn needs views, which '%s' has not",
               d->name);
    FERRY_NEED(ctx, n > k, FERRY_EDATA, "knn: %lld neighbours, but '%s' has %lld instances",
               (long long)k, d->name, (long long)n);
    FERRY_NEED(ctx, n <= MOST_ROWS, FERRY_EDATA,
               "knn takes up to %d instances, '%s' has %lld: give edges instead", MOST_ROWS,
               d->name, (long long)n);
    FERRY_TRY(joined(ctx, d, n, instance, &x));
    FERRY_TRY(ferry_i_near_edges(ctx, x, k, &edges, &from, &to, &weight));
    FERRY_NEW(ctx, a, edges);
    FERRY_NEW(ctx, b, edges);
    for (int64_t e = 0; e < edges; e++) {
        a[e] = ferry_i_ids_at(d->ids, instance[from[e]]);
        b[e] = ferry_i_ids_at(d->ids, instance[to[e]]);
    }
    FERRY_TRY(ferry_domain_add_graph(ctx, d, name, edges, a, b, weight));
done:
    ferry_i_matrix_free(x);
    FERRY_FREE(instance, from, to, weight, a, b);
    return st;
}
