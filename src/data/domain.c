/* Domains: their life, copies that share everything heavy, and their hash.
 *
 * An evaluation makes hundreds of tasks that differ in which labels are hidden. Such a copy
 * owns its labels (or ratings) only and points to the domain it was made of (`base`), which
 * owns the rest and is kept alive by its reference count. The count is atomic because repeats
 * run side by side; nothing else of a shared domain ever changes. */
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>

#include "data/parts.h"

/* An empty domain with one owner: no instance, no part. Parts bring the instances. */
ferry_status ferry_domain_new(ferry_ctx *ctx, const char *name, ferry_role role,
                              ferry_domain **out)
{
    FERRY_ARGS_OUT(ctx, out, out, name);

    ferry_status st = FERRY_OK;
    ferry_domain *d = NULL;

    FERRY_NEED(ctx, name && name[0], FERRY_EINVAL, "a domain needs a name");
    FERRY_NEED(ctx, role >= FERRY_SOURCE && role <= FERRY_TARGET, FERRY_EINVAL,
               "domain '%s': role %d is none of source, intermediate, target", name,
               (int)role);
    FERRY_NEW(ctx, d, 1);
    atomic_init(&d->refs, 1);
    d->role = role;
    d->name = ferry_i_strdup(name);
    d->ids = ferry_i_ids_new();
    FERRY_HAVE(ctx, d->name && d->ids);
    FERRY_MOVE(*out, d);
done:
    ferry_domain_free(d);
    return st;
}

void ferry_i_pairs_free(ferry_pairs *p)
{
    if (!p) return;
    for (int64_t i = 0; i < p->n; i++) {
        if (p->left) ferry_i_free(p->left[i]);
        if (p->right) ferry_i_free(p->right[i]);
    }
    FERRY_FREE(p->left, p->right, p->left_domain, p->right_domain, p);
}

static void free_views(int64_t n, ferry_view **views)
{
    for (int64_t i = 0; views && i < n; i++)
        ferry_i_view_free(views[i]);
    ferry_i_free(views);
}

static void free_graphs(int64_t n, ferry_graph **graphs)
{
    for (int64_t i = 0; graphs && i < n; i++)
        ferry_i_graph_free(graphs[i]);
    ferry_i_free(graphs);
}

/* What only a domain without a base owns. */
static void free_parts(ferry_domain *d)
{
    free_views(d->n_views, d->views);
    free_graphs(d->n_graphs, d->graphs);
    ferry_i_pairs_free(d->pairs);
    ferry_i_ids_free(d->seen.ids);
    ferry_i_ids_free(d->ids);
    ferry_i_free(d->name);
}

/* One owner less. The last one frees what differs from the base (pointers that are not the
 * base's own), then gives up its hold on the base, which may free that in turn. */
void ferry_domain_free(ferry_domain *d)
{
    if (!d || atomic_fetch_sub(&d->refs, 1) > 1) return;
    ferry_domain *base = d->base;
    /* a part is d's own if there is no base or the base has another one */
    if (!base || d->labels != base->labels) ferry_i_labels_free(d->labels);
    if (!base) ferry_i_free(d->weight);
    if (!base || d->ratings != base->ratings) ferry_i_ratings_free(d->ratings);
    if (base && d->views != base->views) free_views(d->n_views, d->views);
    if (base && d->graphs != base->graphs) free_graphs(d->n_graphs, d->graphs);
    if (base && d->pairs != base->pairs) ferry_i_pairs_free(d->pairs);
    if (!base) free_parts(d);
    ferry_i_free(d);
    ferry_domain_free(base);
}

ferry_domain *ferry_i_domain_ref(ferry_domain *d)
{
    atomic_fetch_add(&d->refs, 1);
    return d;
}

/* Row numbers count as names once a task was made: within it they do not change any
 * more. */
bool ferry_i_domain_named(const ferry_domain *d)
{
    return !d->numbered || d->of_task;
}

/* A copy that borrows every part of d and keeps d alive. The caller then replaces one part
 * by its own, which ferry_domain_free() knows by the pointer. */
static ferry_status borrow(ferry_ctx *ctx, const ferry_domain *d, ferry_domain **out)
{
    ferry_domain *b = ferry_i_calloc(1, sizeof *b);

    *out = b;
    if (!b) return ferry_i_nomem(ctx);
    b->name = d->name;
    b->role = d->role;
    b->ids = d->ids;
    b->views = d->views;
    b->n_views = d->n_views;
    b->graphs = d->graphs;
    b->n_graphs = d->n_graphs;
    b->labels = d->labels;
    b->weight = d->weight;
    b->n_weights = d->n_weights;
    b->ratings = d->ratings;
    b->pairs = d->pairs;
    b->numbered = d->numbered;
    b->of_task = d->of_task;
    b->seen = d->seen;
    /* d may itself be a borrower: bases form a chain, and each link keeps the next alive */
    b->base = ferry_i_domain_ref((ferry_domain *)d); /* only the count changes */
    atomic_init(&b->refs, 1);
    return FERRY_OK;
}

/* `labels` is freed also when there is no memory: a caller has nothing to clean up. */
ferry_status ferry_i_domain_with_labels(ferry_ctx *ctx, const ferry_domain *d,
                                        ferry_labels *labels, ferry_domain **out)
{
    const ferry_status st = borrow(ctx, d, out);

    if (st == FERRY_OK)
        (*out)->labels = labels;
    else
        ferry_i_labels_free(labels);
    return st;
}

ferry_status ferry_i_domain_with_ratings(ferry_ctx *ctx, const ferry_domain *d,
                                         ferry_ratings *ratings, ferry_domain **out)
{
    const ferry_status st = borrow(ctx, d, out);

    if (st == FERRY_OK)
        (*out)->ratings = ratings;
    else
        ferry_i_ratings_free(ratings);
    return st;
}

ferry_status ferry_i_domain_with_views(ferry_ctx *ctx, const ferry_domain *d,
                                       ferry_view **views, ferry_domain **out)
{
    const ferry_status st = borrow(ctx, d, out);

    if (st == FERRY_OK)
        (*out)->views = views;
    else
        free_views(d->n_views, views);
    return st;
}

ferry_status ferry_i_domain_with_graphs(ferry_ctx *ctx, const ferry_domain *d,
                                        ferry_graph **graphs, ferry_domain **out)
{
    const ferry_status st = borrow(ctx, d, out);

    if (st == FERRY_OK)
        (*out)->graphs = graphs;
    else
        free_graphs(d->n_graphs, graphs);
    return st;
}

ferry_status ferry_i_domain_with_pairs(ferry_ctx *ctx, const ferry_domain *d,
                                       ferry_pairs *pairs, ferry_domain **out)
{
    const ferry_status st = borrow(ctx, d, out);

    if (st == FERRY_OK)
        (*out)->pairs = pairs;
    else
        ferry_i_pairs_free(pairs);
    return st;
}

const char *ferry_domain_name(const ferry_domain *d)
{
    if (!d) return NULL;
    return d->name;
}

int64_t ferry_i_domain_id_count(const ferry_domain *d)
{
    if (!d) return 0;
    return ferry_i_ids_count(d->ids);
}

const char *ferry_i_domain_id_at(const ferry_domain *d, int64_t i)
{
    if (!d) return NULL;
    return i >= 0 && i < ferry_i_domain_id_count(d) ? ferry_i_ids_at(d->ids, i) : NULL;
}

/* A domain has a handful of views: a walk is enough. */
const ferry_view *ferry_i_domain_view(const ferry_domain *d, const char *name)
{
    for (int64_t i = 0; i < d->n_views; i++)
        if (strcmp(d->views[i]->name, name) == 0) return d->views[i];
    return NULL;
}

/* ---- hash: each piece is hashed with the hash so far as its seed ---- */

/* n counts elements of `size` bytes. The length goes in first: without it ("ab", "c") and
 * ("a", "bc") would be the same. */
static uint64_t mix(uint64_t h, const void *bytes, int64_t n, size_t size)
{
    h = XXH3_64bits_withSeed(&n, sizeof n, h); /* so that pieces do not run together */
    return n > 0 && bytes ? XXH3_64bits_withSeed(bytes, (size_t)n * size, h) : h;
}

static uint64_t mix_text(uint64_t h, const char *text)
{
    return mix(h, text, (int64_t)strlen(text), 1);
}

/* No names (-1) and an empty list (0) differ. */
static uint64_t mix_ids(uint64_t h, const ferry_ids *ids)
{
    const int64_t n = ids ? ferry_i_ids_count(ids) : -1;

    h = mix(h, NULL, n, 1);
    for (int64_t i = 0; i < n; i++)
        h = mix_text(h, ferry_i_ids_at(ids, i));
    return h;
}

/* A dense and a sparse matrix of equal content differ: methods may treat them
 * differently. */
static uint64_t mix_matrix(uint64_t h, const ferry_matrix *x)
{
    const int64_t shape[3] = {x->rows, x->cols, x->dense != NULL};

    h = mix(h, shape, 3, sizeof *shape);
    if (x->dense) return mix(h, x->dense, x->nnz, sizeof *x->dense);
    h = mix(h, x->start, x->rows + 1, sizeof *x->start);
    h = mix(h, x->index, x->nnz, sizeof *x->index);
    return mix(h, x->value, x->nnz, sizeof *x->value);
}

/* In the order of the parts, by their content alone and never by an address, so that it is
 * the same in every run. Labels are left out: splits hide different ones of the same
 * data. */
uint64_t ferry_i_domain_hash(const ferry_domain *d)
{
    uint64_t h = mix_ids(0, d->ids);

    for (int64_t i = 0; i < d->n_views; i++) {
        const ferry_view *v = d->views[i];
        h = mix_text(h, v->name);
        h = mix_ids(h, v->features);
        /* which instance each row is: the same x over other instances is other data */
        h = mix(h, v->instance, v->x->rows, sizeof *v->instance);
        h = mix_matrix(h, v->x);
    }
    for (int64_t i = 0; i < d->n_graphs; i++)
        h = mix_matrix(mix_text(h, d->graphs[i]->name), d->graphs[i]->a);
    if (d->ratings) {
        const ferry_ratings *r = d->ratings;
        h = mix_ids(mix_ids(h, r->users), r->items);
        h = mix(h, r->user, r->n, sizeof *r->user);
        h = mix(h, r->item, r->n, sizeof *r->item);
        h = mix(h, r->value, r->n, sizeof *r->value);
    }
    return h;
}

/* Over the ids as well: the same classes in another order of instances are other labels. */
uint64_t ferry_i_domain_labels_hash(const ferry_domain *d)
{
    const ferry_labels *l = d->labels;
    uint64_t h = 0;

    if (!l) return 0;
    h = mix_ids(mix_ids(h, d->ids), l->names);
    if (l->cls) h = mix(h, l->cls, l->n, sizeof *l->cls);
    if (l->num) h = mix(h, l->num, l->n, sizeof *l->num);
    if (l->text) h = mix(mix_ids(h, l->texts), l->text, l->n, sizeof *l->text);
    if (l->known) h = mix(h, l->known, l->n, sizeof *l->known);
    if (l->on) h = mix(h, l->on, l->n * ferry_i_labels_m(l), sizeof *l->on);
    return h;
}
