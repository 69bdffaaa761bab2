/* Filling a domain with instances, views and graphs. Rows are joined by id; inputs are copied.
 *
 * Parts come in any order and from any file, so what "the same instance" means is decided here
 * and nowhere else: equal ids. Rows without ids are called 1, 2, ..., and joining those with
 * named instances is refused, since a row number of one file says nothing about another's. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "data/parts.h"

/* "domain 'd', view 'x'", for messages. */
typedef struct part_name {
    char text[256];
} part_name;

/* By value, so that nobody has to free it; long names are cut. */
static part_name part_of(const ferry_domain *d, const char *kind, const char *name)
{
    part_name p;

    snprintf(p.text, sizeof p.text, "domain '%s', %s '%s'", d->name, kind, name);
    return p;
}

/* A domain that others hold, or that borrows from another, must not change under them. */
ferry_status ferry_i_domain_changeable(ferry_ctx *ctx, const ferry_domain *d)
{
    if (!d->base && atomic_load(&d->refs) == 1) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_EINVAL, "domain '%s' is in use and cannot change",
                        d->name);
}

/* ids, or "1" .. "n" where there are none (then *made is to be freed). Row numbers stand in
 * for ids from here on: everything behind it joins by id alone. */
static ferry_status ids_or_numbers(ferry_ctx *ctx, const ferry_ids *ids, int64_t n,
                                   ferry_ids **made, const ferry_ids **use)
{
    *made = NULL;
    *use = ids;
    if (ids) return FERRY_OK;
    *use = *made = ferry_i_ids_numbers(n);
    return *made ? FERRY_OK : ferry_i_nomem(ctx);
}

/* ---- instances ---- */

/* Numbers that join no named instance are refused, as rows of a view are. */
ferry_status ferry_domain_add_instances(ferry_ctx *ctx, ferry_domain *d, int64_t n,
                                        const char *const *ids)
{
    FERRY_ARGS(ctx, d);

    ferry_status st = FERRY_OK;
    char what[256];
    ferry_ids *own = NULL, *made = NULL;
    const ferry_ids *use = NULL;
    ferry_growth g = {0};
    int64_t *at = NULL;
    const int64_t before = ferry_i_domain_id_count(d);

    FERRY_TRY(ferry_i_domain_changeable(ctx, d));
    FERRY_NEED(ctx, n >= 0, FERRY_EINVAL, "domain '%s': %lld instances", d->name,
               (long long)n);
    snprintf(what, sizeof what, "domain '%s': ids", d->name);
    if (ids) FERRY_TRY(ferry_i_ids_unique(ctx, what, n, ids, &own));
    FERRY_TRY(ids_or_numbers(ctx, own, n, &made, &use));
    FERRY_NEW(ctx, at, n);
    FERRY_TRY(ferry_i_growth_plan(ctx, d, use, at, &g));
    FERRY_NEED(ctx, ids || before == 0 || n == 0 || g.known > 0, FERRY_EDATA,
               "domain '%s': %lld instances without ids cannot be joined with instances "
               "such as '%s'",
               d->name, (long long)n, ferry_i_domain_id_at(d, 0));
    ferry_i_growth_apply(d, &g);
    d->numbered = d->numbered || (!ids && n > 0);
done:
    ferry_i_growth_free(&g);
    ferry_i_ids_free(own);
    ferry_i_ids_free(made);
    ferry_i_free(at);
    return st;
}

/* ---- views ---- */

static ferry_status check_view_name(ferry_ctx *ctx, const ferry_domain *d, const char *name)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_domain_changeable(ctx, d));
    FERRY_NEED(ctx, name && name[0], FERRY_EINVAL, "domain '%s': a view needs a name",
               d->name);
    FERRY_NEED(ctx, !ferry_i_domain_view(d, name), FERRY_EINVAL,
               "domain '%s' has a view '%s' already", d->name, name);
done:
    return st;
}

/* Where the view's rows stand among the domain's instances, once g is in place. The two
 * directions of one map: instance[row] and its inverse row_of[instance], -1 where the view
 * lacks it. Nothing of d changes yet. */
static ferry_status place_view(ferry_ctx *ctx, const ferry_domain *d, const ferry_ids *ids,
                               ferry_view *v, ferry_growth *g)
{
    ferry_status st = FERRY_OK;
    const int64_t rows = v->x->rows;

    FERRY_NEW(ctx, v->instance, rows);
    FERRY_TRY(ferry_i_growth_plan(ctx, d, ids, v->instance, g));
    v->n_instances = ferry_i_growth_size(d, g);
    FERRY_NEW(ctx, v->row_of, v->n_instances);
    /* -1: not in this view */
    for (int64_t i = 0; i < v->n_instances; i++)
        v->row_of[i] = -1;
    for (int64_t i = 0; i < rows; i++)
        v->row_of[v->instance[i]] = i;
done:
    return st;
}

/* Check, plan, then put in place: after growth_apply nothing can fail. That no id is known
 * is only a warning when there are ids (views may describe different instances), but
 * without ids the row numbers of a second file cannot be meant as names. */
ferry_status ferry_i_domain_add_view(ferry_ctx *ctx, ferry_domain *d, const ferry_ids *ids,
                                     ferry_view *v)
{
    ferry_status st = FERRY_OK;
    const part_name me = part_of(d, "view", v->name);
    ferry_growth g = {0};
    ferry_ids *made = NULL;
    const ferry_ids *use = NULL;
    const int64_t before = ferry_i_domain_id_count(d);

    FERRY_TRY(check_view_name(ctx, d, v->name));
    FERRY_TRY(ids_or_numbers(ctx, ids, v->x->rows, &made, &use));
    FERRY_NEED(ctx, ferry_i_ids_count(use) == v->x->rows, FERRY_EINVAL,
               "%s: %lld ids for %lld rows", me.text, (long long)ferry_i_ids_count(use),
               (long long)v->x->rows);
    FERRY_NEED(ctx, !v->features || ferry_i_ids_count(v->features) == v->x->cols,
               FERRY_EINVAL, "%s: %lld feature names for %lld features", me.text,
               (long long)ferry_i_ids_count(v->features), (long long)v->x->cols);
    FERRY_TRY(place_view(ctx, d, use, v, &g));
    /* not one row joins what is there */
    if (before > 0 && v->x->rows > 0 && g.known == 0) {
        FERRY_NEED(
            ctx, ids, FERRY_EDATA,
            "%s: has no ids, so its rows cannot be joined with instances such as '%s'",
            me.text, ferry_i_domain_id_at(d, 0));
        ferry_i_log(ctx, FERRY_WARN, "%s: none of its %lld ids is in what was there before",
                    me.text, (long long)v->x->rows);
    }
    /* capacity for one more; d->n_views stays until v is in */
    ferry_view **views = ferry_i_realloc(d->views, d->n_views + 1, sizeof *views);
    FERRY_HAVE(ctx, views);
    d->views = views;
    ferry_i_growth_apply(d, &g);
    d->views[d->n_views++] = v;
    /* from now on some instances are called by row numbers */
    d->numbered = d->numbered || !ids;
    v = NULL;
done:
    ferry_i_growth_free(&g);
    ferry_i_ids_free(made);
    ferry_i_view_free(v);
    return st;
}

/* What both public functions share. x is borrowed: the view takes a reference of its
 * own. */
static ferry_status add_matrix(ferry_ctx *ctx, ferry_domain *d, const char *name,
                               ferry_matrix *x, const char *const *ids,
                               const char *const *features)
{
    ferry_status st = FERRY_OK;
    const part_name me = part_of(d, "view", name);
    char what[300];
    ferry_ids *row_ids = NULL, *names = NULL;
    ferry_view *v = NULL;

    snprintf(what, sizeof what, "%s: ids", me.text);
    if (ids) FERRY_TRY(ferry_i_ids_unique(ctx, what, x->rows, ids, &row_ids));
    snprintf(what, sizeof what, "%s: features", me.text);
    if (features) FERRY_TRY(ferry_i_ids_unique(ctx, what, x->cols, features, &names));
    st = ferry_i_view_new(ctx, name, x, names, NULL, NULL, &v);
    /* the message of a part gets the names of domain and view in front */
    if (st != FERRY_OK) FERRY_TRY(ferry_i_prefix(ctx, st, "%s", me.text));
    FERRY_TRY(ferry_i_domain_add_view(ctx, d, row_ids, v));
done:
    ferry_i_ids_free(row_ids);
    ferry_i_ids_free(names);
    return st;
}

/* Whether there is an array to look at; the numbers themselves are checked where they are taken. */
static ferry_status check_array(ferry_ctx *ctx, const ferry_domain *d, const char *name,
                                bool is)
{
    FERRY_PASS(check_view_name(ctx, d, name));
    return is ? FERRY_OK
              : ferry_i_fail(ctx, FERRY_EINVAL, "domain '%s', view '%s': not an array",
                             d->name, name);
}

static bool is_array(const ferry_array *x)
{
    return x && x->rows >= 0 && x->cols >= 0 && x->ld >= x->cols &&
           (x->data || x->rows == 0 || x->cols == 0);
}

/* Only a view that is in place releases the numbers: until then they are still the caller's. */
static ferry_status add_array(ferry_ctx *ctx, ferry_domain *d, const char *name,
                              ferry_matrix *x, const char *const *ids,
                              const char *const *features, const ferry_borrow *borrow)
{
    const ferry_status st = add_matrix(ctx, d, name, x, ids, features);

    if (st == FERRY_OK && borrow) {
        x->release = borrow->release;
        x->keeper = borrow->user;
    }
    ferry_i_matrix_free(x);
    return st;
}

/* The name is checked before the copy, which may be large. ld >= cols: rows may have a
 * gap. */
ferry_status ferry_domain_add_dense(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                    const ferry_array *x, const char *const *ids,
                                    const char *const *features, const ferry_borrow *borrow)
{
    FERRY_ARGS(ctx, d, name, x);

    ferry_matrix *own = NULL;

    FERRY_PASS(check_array(ctx, d, name, is_array(x)));
    FERRY_PASS(borrow ? ferry_i_matrix_borrow_array(ctx, x, &own)
                      : ferry_i_matrix_from_array(ctx, x, &own));
    return add_array(ctx, d, name, own, ids, features, borrow);
}

/* Starts of either width become ours; indices and their order are checked by the matrix. */
ferry_status ferry_domain_add_sparse(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                     const ferry_sparse *x, const char *const *ids,
                                     const char *const *features,
                                     const ferry_borrow *borrow)
{
    FERRY_ARGS(ctx, d, name, x);

    ferry_status st = FERRY_OK;
    ferry_matrix *own = NULL;
    int64_t *start = NULL;

    FERRY_TRY(check_array(ctx, d, name,
                          x->rows >= 0 && x->cols >= 0 && (x->start || x->start32)));
    if (borrow || !x->start) {
        FERRY_NEW(ctx, start, x->rows + 1);
        for (int64_t i = 0; i <= x->rows; i++)
            start[i] = x->start ? x->start[i] : x->start32[i];
    }
    if (borrow) {
        int64_t *given = start;
        start = NULL; /* the matrix takes them, also when it fails */
        FERRY_TRY(ferry_i_matrix_borrow_sparse(ctx, x->rows, x->cols, given, x->index,
                                               x->value, &own));
    } else {
        const ferry_sparse wide = {x->rows,  x->cols,  start ? start : x->start,
                                   x->index, x->value, NULL};
        FERRY_TRY(ferry_i_matrix_from_sparse(ctx, &wide, &own));
    }
    FERRY_TRY(add_array(ctx, d, name, own, ids, features, borrow));
done:
    ferry_i_free(start);
    return st;
}

/* ---- graphs ---- */

static bool has_graph(const ferry_domain *d, const char *name)
{
    for (int64_t i = 0; i < d->n_graphs; i++)
        if (strcmp(d->graphs[i]->name, name) == 0) return true;
    return false;
}

static ferry_status check_graph_name(ferry_ctx *ctx, const ferry_domain *d,
                                     const char *name)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_domain_changeable(ctx, d));
    FERRY_NEED(ctx, name && name[0], FERRY_EINVAL, "domain '%s': a graph needs a name",
               d->name);
    FERRY_NEED(ctx, !has_graph(d, name), FERRY_EINVAL,
               "domain '%s' has a graph '%s' already", d->name, name);
done:
    return st;
}

/* Node numbers to instances, in place; counts the edges with an end that is none, and gives
 * the first such id. -1 marks an end that is no instance; graph_new() leaves such edges
 * out. */
static int64_t to_instances(int64_t edges, int64_t *from, int64_t *to, const int64_t *at,
                            const ferry_ids *nodes, const char **first)
{
    int64_t lost = 0;

    for (int64_t e = 0; e < edges; e++) {
        const int64_t a = from[e], b = to[e];
        from[e] = at[a];
        to[e] = at[b];
        if (from[e] >= 0 && to[e] >= 0) continue;
        if (lost++ == 0) *first = ferry_i_ids_at(nodes, from[e] < 0 ? a : b);
    }
    return lost;
}

/* A graph adds no instances to a domain that has some: citation files name many papers of
 * which nothing else is known. Some such edges are left out with a warning; if all are, the
 * ids of the two files most likely do not match, which is an error. */
ferry_status ferry_i_domain_add_edges(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                      const ferry_ids *nodes, int64_t edges, int64_t *from,
                                      int64_t *to, const double *weight)
{
    ferry_status st = FERRY_OK;
    const part_name me = part_of(d, "graph", name);
    const int64_t n_nodes = ferry_i_ids_count(nodes);
    const char *first = "";
    ferry_growth g = {0};
    ferry_graph *graph = NULL;
    int64_t *at = ferry_i_calloc(n_nodes, sizeof *at), loops = 0, lost = 0;

    FERRY_TRY(check_graph_name(ctx, d, name));
    FERRY_HAVE(ctx, at);
    if (ferry_i_domain_id_count(d) == 0) { /* the edges say what the instances are */
        FERRY_TRY(ferry_i_growth_plan(ctx, d, nodes, at, &g));
    } else {
        for (int64_t i = 0; i < n_nodes; i++)
            at[i] = ferry_i_ids_find(d->ids, ferry_i_ids_at(nodes, i));
    }
    lost = to_instances(edges, from, to, at, nodes, &first);
    FERRY_NEED(ctx, edges == 0 || lost < edges, FERRY_EDATA,
               "%s: none of its %lld edges joins instances of the domain ('%s' is none)",
               me.text, (long long)edges, first);
    st = ferry_i_graph_new(ctx, name, ferry_i_growth_size(d, &g), edges, from, to, weight,
                           &loops, &graph);
    if (st != FERRY_OK) FERRY_TRY(ferry_i_prefix(ctx, st, "%s", me.text));
    /* memory first, then the change that cannot fail; warnings last, when all is done */
    ferry_graph **graphs = ferry_i_realloc(d->graphs, d->n_graphs + 1, sizeof *graphs);
    FERRY_HAVE(ctx, graphs);
    d->graphs = graphs;
    ferry_i_growth_apply(d, &g);
    d->graphs[d->n_graphs++] = graph;
    graph = NULL;
    if (lost > 0)
        ferry_i_log(
            ctx, FERRY_WARN,
            "%s: %lld of %lld edges name ids that are no instances (such as '%s') and "
            "were left out",
            me.text, (long long)lost, (long long)edges, first);
    if (loops > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: %lld edges join an instance with itself and were "
                    "left out",
                    me.text, (long long)loops);
done:
    ferry_i_graph_free(graph);
    ferry_i_growth_free(&g);
    ferry_i_free(at);
    return st;
}

/* Texts to numbers, then as above. Ids are copied; a pair may repeat, weights are added
 * up. */
ferry_status ferry_domain_add_graph(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                    int64_t edges, const char *const *from,
                                    const char *const *to, const double *weight)
{
    FERRY_ARGS(ctx, d, name, edges == 0 ? "" : (const void *)from,
               edges == 0 ? "" : (const void *)to);

    ferry_status st = FERRY_OK;
    ferry_ids *nodes = NULL;
    int64_t *a = NULL, *b = NULL;

    FERRY_NEED(ctx, edges >= 0 && (edges == 0 || (from && to)), FERRY_EINVAL,
               "domain '%s', graph '%s': no edges given", d->name, name);
    nodes = ferry_i_ids_new();
    FERRY_NEW(ctx, a, edges);
    FERRY_NEW(ctx, b, edges);
    FERRY_HAVE(ctx, nodes);
    for (int64_t e = 0; e < edges; e++) {
        FERRY_NEED(ctx, from[e] && to[e], FERRY_EINVAL,
                   "domain '%s', graph '%s': edge %lld has a NULL id", d->name, name,
                   (long long)e + 1);
        a[e] = ferry_i_ids_add(nodes, from[e], NULL);
        b[e] = ferry_i_ids_add(nodes, to[e], NULL);
        FERRY_HAVE(ctx, a[e] >= 0 && b[e] >= 0);
    }
    FERRY_TRY(ferry_i_domain_add_edges(ctx, d, name, nodes, edges, a, b, weight));
done:
    ferry_i_ids_free(nodes);
    FERRY_FREE(a, b);
    return st;
}
