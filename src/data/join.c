/* Joining by id: how a domain grows when a new part brings instances it did not have.
 *
 * Instances that are there keep their numbers and new ones come behind them, so what the other
 * parts say about instance i stays true; they only get wider (views: row_of -1, graphs: empty
 * rows, labels: missing). Everything is made aside in a ferry_growth and put in place when
 * nothing can fail any more: a call that fails leaves the domain as it was. */

#include "data/parts.h"

/* The message gives both places, counted from 1. */
ferry_status ferry_i_ids_unique(ferry_ctx *ctx, const char *what, int64_t n,
                                const char *const *ids, ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *set = ferry_i_ids_new();

    *out = NULL;
    FERRY_HAVE(ctx, set);
    for (int64_t i = 0; i < n; i++) {
        bool added = false;
        FERRY_NEED(ctx, ids[i], FERRY_EINVAL, "%s: id %lld is NULL", what,
                   (long long)i + 1);
        const int64_t at = ferry_i_ids_add(set, ids[i], &added);
        FERRY_HAVE(ctx, at >= 0);
        FERRY_NEED(ctx, added, FERRY_EDATA, "%s: '%s' stands twice, at %lld and %lld", what,
                   ids[i], (long long)at + 1, (long long)i + 1);
    }
    FERRY_MOVE(*out, set);
done:
    ferry_i_ids_free(set);
    return st;
}

/* What was put in place is NULL here by then, so it may be called in any state. */
void ferry_i_growth_free(ferry_growth *g)
{
    for (int64_t i = 0; g->row_of && i < g->n_views; i++)
        ferry_i_free(g->row_of[i]);
    for (int64_t i = 0; g->a && i < g->n_graphs; i++)
        ferry_i_matrix_free(g->a[i]);
    FERRY_FREE(g->row_of, g->a);
    ferry_i_labels_free(g->labels);
    ferry_i_ids_free(g->ids);
    *g = (ferry_growth){0};
}

int64_t ferry_i_growth_size(const ferry_domain *d, const ferry_growth *g)
{
    return ferry_i_ids_count(g->ids ? g->ids : d->ids);
}

/* The parts that d has already, over n instances. row_of and graphs are made anew; x and
 * the views' own rows do not change. */
static ferry_status widen_parts(ferry_ctx *ctx, const ferry_domain *d, int64_t n,
                                ferry_growth *g)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, g->row_of, d->n_views);
    FERRY_NEW(ctx, g->a, d->n_graphs);
    g->n_views = d->n_views;
    g->n_graphs = d->n_graphs;
    for (int64_t i = 0; i < d->n_views; i++) {
        const ferry_view *v = d->views[i];
        FERRY_HAVE(ctx, g->row_of[i] = ferry_i_calloc(n, sizeof **g->row_of));
        for (int64_t j = 0; j < n; j++)
            /* the view knows nothing of the new instances */
            g->row_of[i][j] = j < v->n_instances ? v->row_of[j] : -1;
    }
    for (int64_t i = 0; i < d->n_graphs; i++)
        FERRY_TRY(ferry_i_graph_widen(ctx, d->graphs[i]->a, n, &g->a[i]));
    if (d->labels) FERRY_TRY(ferry_i_labels_spread(ctx, d->labels, n, NULL, &g->labels));
done:
    return st;
}

/* Nothing is allocated when all ids are known, which is the usual case. Ids in `ids` differ
 * from each other (it is a set), so at[] has no value twice. */
ferry_status ferry_i_growth_plan(ferry_ctx *ctx, const ferry_domain *d,
                                 const ferry_ids *ids, int64_t *at, ferry_growth *g)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(ids);

    *g = (ferry_growth){0};
    if (n > 0 && ferry_i_ids_count(d->ids) == 0 && d->n_views + d->n_graphs == 0 &&
        !d->labels) {
        FERRY_HAVE(ctx, g->ids = ferry_i_ids_copy(ids)); /* all are new, in this order */
        for (int64_t i = 0; i < n; i++)
            at[i] = i;
        goto done;
    }
    for (int64_t i = 0; i < n; i++) {
        at[i] = ferry_i_ids_find(d->ids, ferry_i_ids_at(ids, i));
        g->known += at[i] >= 0;
    }
    /* no new instance: g->ids NULL says so */
    if (g->known == n) return FERRY_OK;
    FERRY_HAVE(ctx, g->ids = ferry_i_ids_copy(d->ids));
    for (int64_t i = 0; i < n; i++) {
        if (at[i] < 0) at[i] = ferry_i_ids_add(g->ids, ferry_i_ids_at(ids, i), NULL);
        FERRY_HAVE(ctx, at[i] >= 0);
    }
    FERRY_TRY(widen_parts(ctx, d, ferry_i_ids_count(g->ids), g));
done:
    if (st != FERRY_OK) ferry_i_growth_free(g);
    return st;
}

/* Cannot fail. Afterwards g is empty but for its arrays of pointers, for growth_free(). */
void ferry_i_growth_apply(ferry_domain *d, ferry_growth *g)
{
    if (!g->ids) return;
    ferry_i_ids_free(d->ids);
    FERRY_MOVE(d->ids, g->ids);
    for (int64_t i = 0; i < g->n_views; i++) {
        ferry_i_free(d->views[i]->row_of);
        /* the old map goes, the wider one takes its place; g gives it up */
        d->views[i]->row_of = g->row_of[i];
        d->views[i]->n_instances = ferry_i_ids_count(d->ids);
        g->row_of[i] = NULL;
    }
    for (int64_t i = 0; i < g->n_graphs; i++) {
        ferry_i_matrix_free(d->graphs[i]->a);
        d->graphs[i]->a = g->a[i];
        g->a[i] = NULL;
    }
    if (g->labels) {
        ferry_i_labels_free(d->labels);
        FERRY_MOVE(d->labels, g->labels);
    }
}
