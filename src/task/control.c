/* Controls: a task that keeps everything but the knowledge.
 *
 * Each takes a resolved task and gives another that a method cannot tell from it by its
 * shape, but in which one thing that could transfer is chance. Random choices
 * depend on the seed, the control and the draw, not on the repeat: a draw is one made-up
 * control task that is the same in every split. */
#include <stdlib.h>
#include <string.h>

#include "data/parts.h"
#include "task/task.h"

static const struct {
    const char *name, *help, *plain;
} controls[FERRY_N_CONTROLS] = {
    {"noise-source", "the values of every feature of a source shuffled, labels kept",
     "a noise source"},
    {"shuffled-labels", "the labels of a source permuted", "a source with shuffled labels"},
    {"shuffled-codebook", "the method with the entries of its rating patterns shuffled",
     "a shuffled codebook"},
    {"shuffled-bridge", "rows or pairs that tie two spaces together permuted",
     "a shuffled bridge"},
    {"rewired-graph", "edges swapped at random, every degree kept", "a rewired graph"},
    {"leave-one-out", "one source left out", "the other sources alone"},
    {"permuted-classes", "the names of a source's classes permuted, rows kept together",
     "permuted class names"},
};

const char *ferry_i_control_name(ferry_control kind)
{
    return controls[kind].name;
}

const char *ferry_i_control_plain(ferry_control kind)
{
    return controls[kind].plain;
}

const char *ferry_i_control_help(ferry_control kind)
{
    return controls[kind].help;
}

/* ---- views ---- */

/* A view like v with another matrix (shared) and the same instances. */
static ferry_status view_with(ferry_ctx *ctx, const ferry_view *v, ferry_matrix *x,
                              ferry_view **out)
{
    ferry_status st = FERRY_OK;
    ferry_view *w = NULL;

    FERRY_TRY(ferry_i_view_new(ctx, v->name, x, v->features, v->read, v->idf, &w));
    w->n_instances = v->n_instances;
    w->unwritten = v->unwritten;
    w->same_as = ferry_i_strdup(v->same_as);
    FERRY_HAVE(ctx, !v->same_as == !w->same_as);
    FERRY_NEW(ctx, w->row_of, v->n_instances);
    FERRY_NEW(ctx, w->instance, x->rows);
    memcpy(w->row_of, v->row_of, (size_t)v->n_instances * sizeof *w->row_of);
    memcpy(w->instance, v->instance, (size_t)x->rows * sizeof *w->instance);
    FERRY_MOVE(*out, w);
done:
    ferry_i_view_free(w);
    return st;
}

static void identity(int64_t n, int64_t *a)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = i;
}

/* Every column of a dense matrix permuted by itself. */
static ferry_status deal_dense(ferry_ctx *ctx, const ferry_matrix *x, ferry_rng *rng,
                               ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(x->rows, sizeof *order);

    FERRY_HAVE(ctx, order);
    FERRY_TRY(ferry_i_matrix_dense(ctx, x->rows, x->cols, out));
    for (int64_t j = 0; j < x->cols; j++) {
        identity(x->rows, order);
        ferry_i_rng_shuffle(rng, x->rows, order);
        for (int64_t i = 0; i < x->rows; i++)
            (*out)->dense[order[i] * x->cols + j] = x->dense[i * x->cols + j];
    }
done:
    ferry_i_free(order);
    return st;
}

/* The same for CSR: the entries of column j go to as many rows, drawn anew. Columns are
 * walked in ascending order, so the entries of a row come out ascending too. */
static ferry_status deal_sparse(ferry_ctx *ctx, const ferry_matrix *x, ferry_rng *rng,
                                ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *first = ferry_i_calloc(x->cols + 1, sizeof *first);
    int64_t *row = ferry_i_calloc(x->nnz, sizeof *row);
    int64_t *pool = ferry_i_calloc(x->rows, sizeof *pool);
    double *value = ferry_i_calloc(x->nnz, sizeof *value);
    ferry_matrix *y = NULL;

    FERRY_HAVE(ctx, first && row && pool && value);
    FERRY_TRY(ferry_i_matrix_csr(ctx, x->rows, x->cols, x->nnz, &y));
    for (int64_t e = 0; e < x->nnz; e++)
        first[x->index[e] + 1]++;
    for (int64_t j = 0; j < x->cols; j++)
        first[j + 1] += first[j];
    for (int64_t e = 0; e < x->nnz; e++) /* values by column; first[j] moves to its end */
        value[first[x->index[e]]++] = x->value[e];
    identity(x->rows, pool);
    for (int64_t j = 0, e = 0; j < x->cols; e = first[j++]) {
        const int64_t count = first[j] - e;
        for (int64_t i = 0; i < count; i++) { /* the first `count` of a shuffle */
            const int64_t at = i + (int64_t)ferry_i_rng_below(rng, (uint64_t)(x->rows - i));
            const int64_t taken = pool[at];
            pool[at] = pool[i];
            pool[i] = taken;
            row[e + i] = taken;
            y->start[taken + 1]++;
        }
    }
    for (int64_t i = 0; i < x->rows; i++)
        y->start[i + 1] += y->start[i];
    memcpy(pool, y->start, (size_t)x->rows * sizeof *pool); /* next place of each row */
    for (int64_t j = 0, e = 0; j < x->cols; j++) {
        for (; e < first[j]; e++) {
            const int64_t at = pool[row[e]]++;
            y->index[at] = (int32_t)j;
            y->value[at] = value[e];
        }
    }
    FERRY_MOVE(*out, y);
done:
    ferry_i_matrix_free(y);
    FERRY_FREE(value, pool, row, first);
    return st;
}

typedef ferry_status (*matrix_change)(ferry_ctx *ctx, const ferry_matrix *x, ferry_rng *rng,
                                      ferry_matrix **out);

/* Dense or CSR, the same thing: each column keeps its values and loses which row has
 * which. */
static ferry_status deal(ferry_ctx *ctx, const ferry_matrix *x, ferry_rng *rng,
                         ferry_matrix **out)
{
    return x->dense ? deal_dense(ctx, x, rng, out) : deal_sparse(ctx, x, rng, out);
}

/* Rows as they are, in another order. */
static ferry_status permute_rows(ferry_ctx *ctx, const ferry_matrix *x, ferry_rng *rng,
                                 ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(x->rows, sizeof *order);

    FERRY_HAVE(ctx, order);
    identity(x->rows, order);
    ferry_i_rng_shuffle(rng, x->rows, order);
    FERRY_TRY(ferry_i_matrix_take(ctx, x, x->rows, order, x->cols, NULL, out));
done:
    ferry_i_free(order);
    return st;
}

/* d with every view from number `from` on changed. */
static ferry_status change_views(ferry_ctx *ctx, const ferry_domain *d, int64_t from,
                                 matrix_change change, ferry_rng *rng, ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    ferry_view **views = ferry_i_calloc(d->n_views, sizeof *views), **given = views;
    ferry_matrix *x = NULL;

    FERRY_HAVE(ctx, views);
    for (int64_t i = 0; i < d->n_views; i++) {
        if (i < from)
            x = ferry_i_matrix_ref(d->views[i]->x);
        else
            FERRY_TRY(change(ctx, d->views[i]->x, rng, &x));
        FERRY_TRY(view_with(ctx, d->views[i], x, &views[i]));
        ferry_i_matrix_free(x);
        x = NULL;
    }
    given = NULL;
    st = ferry_i_domain_with_views(ctx, d, views, out);
done:
    ferry_i_matrix_free(x);
    for (int64_t i = 0; given && i < d->n_views; i++)
        ferry_i_view_free(given[i]);
    ferry_i_free(given);
    return st;
}

/* ---- graphs ---- */

/* Whether row i of a symmetric CSR has column j; `to` are its columns, in any order. */
static bool has_edge(const ferry_matrix *a, const int32_t *to, int64_t i, int32_t j)
{
    for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
        if (to[e] == j) return true;
    return false;
}

/* One neighbour of i becomes another. */
static void replace(const ferry_matrix *a, int32_t *to, int64_t i, int32_t old, int32_t now)
{
    int64_t e = a->start[i];

    while (to[e] != old)
        e++;
    to[e] = now;
}

/* Swaps (u,v), (s,t) -> (u,t), (s,v), ten for each edge on average; a swap that would make
 * a loop or a double edge is left out. Degrees stay; weights stay with their edge's first
 * end and place in the list of edges. */
static void swap_edges(const ferry_matrix *a, ferry_rng *rng, int64_t n, int32_t *from,
                       int32_t *to, int32_t *near)
{
    for (int64_t swap = 0; n > 1 && swap < 10 * n; swap++) {
        const int64_t x = (int64_t)ferry_i_rng_below(rng, (uint64_t)n);
        const int64_t y = (int64_t)ferry_i_rng_below(rng, (uint64_t)n);
        const bool turn = ferry_i_rng_below(rng, 2);
        const int32_t u = from[x], v = to[x];
        const int32_t s = turn ? to[y] : from[y], t = turn ? from[y] : to[y];
        if (x == y || u == t || s == v || u == s || v == t) continue;
        if (has_edge(a, near, u, t) || has_edge(a, near, s, v)) continue;
        replace(a, near, u, v, t);
        replace(a, near, v, u, s);
        replace(a, near, s, t, v);
        replace(a, near, t, s, u);
        to[x] = t;
        from[y] = s;
        to[y] = v;
    }
}

/* Each edge once (upper triangle), swapped, and back to a symmetric graph. Every degree
 * stays: what a method gains over this graph it gains from who is joined to whom, not from
 * how many neighbours someone has. */
static ferry_status rewire(ferry_ctx *ctx, const ferry_graph *g, ferry_rng *rng,
                           ferry_graph **out)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *a = g->a;
    const int64_t half = a->nnz / 2;
    int32_t *from = ferry_i_calloc(half, sizeof *from),
            *to = ferry_i_calloc(half, sizeof *to);
    int32_t *near = ferry_i_calloc(a->nnz, sizeof *near);
    int64_t *u = ferry_i_calloc(half, sizeof *u), *v = ferry_i_calloc(half, sizeof *v);
    double *weight = ferry_i_calloc(half, sizeof *weight);
    int64_t n = 0, loops = 0;

    FERRY_HAVE(ctx, from && to && near && u && v && weight);
    memcpy(near, a->index, (size_t)a->nnz * sizeof *near);
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) {
            if (a->index[e] <= i) continue;
            from[n] = (int32_t)i;
            to[n] = a->index[e];
            weight[n++] = a->value[e];
        }
    }
    swap_edges(a, rng, n, from, to, near);
    for (int64_t e = 0; e < n; e++) {
        u[e] = from[e];
        v[e] = to[e];
    }
    FERRY_TRY(ferry_i_graph_new(ctx, g->name, a->rows, n, u, v, weight, &loops, out));
done:
    FERRY_FREE(weight, v, u, near, to, from);
    return st;
}

/* Every graph of the domain, by one stream of random numbers. */
static ferry_status rewire_all(ferry_ctx *ctx, const ferry_domain *d, ferry_rng *rng,
                               ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    ferry_graph **graphs = ferry_i_calloc(d->n_graphs, sizeof *graphs), **given = graphs;

    FERRY_HAVE(ctx, graphs);
    for (int64_t i = 0; i < d->n_graphs; i++)
        FERRY_TRY(rewire(ctx, d->graphs[i], rng, &graphs[i]));
    given = NULL;
    st = ferry_i_domain_with_graphs(ctx, d, graphs, out);
done:
    for (int64_t i = 0; given && i < d->n_graphs; i++)
        ferry_i_graph_free(given[i]);
    ferry_i_free(given);
    return st;
}

/* ---- labels, ratings, pairs ---- */

/* Known labels change places; what is missing stays missing. */
static ferry_status shuffle_labels(ferry_ctx *ctx, const ferry_domain *d, ferry_rng *rng,
                                   ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    const ferry_labels *l = d->labels;
    int64_t *known = ferry_i_calloc(l->n, sizeof *known),
            *to = ferry_i_calloc(l->n, sizeof *to), n = 0;
    ferry_labels *now = NULL;

    FERRY_HAVE(ctx, known && to);
    FERRY_TRY(ferry_i_labels_copy(ctx, l, &now));
    for (int64_t i = 0; i < l->n; i++)
        if (ferry_i_labels_has(l, i)) known[n++] = i;
    memcpy(to, known, (size_t)n * sizeof *to);
    ferry_i_rng_shuffle(rng, n, to);
    for (int64_t i = 0; i < n; i++)
        ferry_i_labels_put(now, to[i], l, known[i]);
    st = ferry_i_domain_with_labels(ctx, d, now, out);
    now = NULL;
done:
    ferry_i_labels_free(now);
    FERRY_FREE(to, known);
    return st;
}

/* Rows of a class stay together and get the name of another, or by chance their own. */
static ferry_status permute_classes(ferry_ctx *ctx, const ferry_domain *d, ferry_rng *rng,
                                    ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    const ferry_labels *l = d->labels;
    const int64_t m = ferry_i_labels_m(l);
    int64_t *cls = NULL, *to = NULL, n = 0;
    int32_t *name = NULL;
    ferry_labels *now = NULL;

    FERRY_NEW(ctx, cls, m);
    FERRY_NEW(ctx, to, m);
    FERRY_NEW(ctx, name, m);
    FERRY_TRY(ferry_i_labels_copy(ctx, l, &now));
    for (int64_t i = 0; i < l->n; i++)
        if (ferry_i_labels_has(l, i)) name[l->cls[i]] = 1; /* it occurs */
    for (int64_t c = 0; c < m; c++)
        if (name[c]) cls[n] = to[n] = c, n++;
    ferry_i_rng_shuffle(rng, n, to);
    for (int64_t i = 0; i < n; i++)
        name[cls[i]] = (int32_t)to[i];
    for (int64_t i = 0; i < l->n; i++)
        if (ferry_i_labels_has(l, i)) now->cls[i] = name[l->cls[i]];
    st = ferry_i_domain_with_labels(ctx, d, now, out);
    now = NULL;
done:
    ferry_i_labels_free(now);
    FERRY_FREE(cls, to, name);
    return st;
}

/* Who rated what stays; the values change places. */
static ferry_status deal_ratings(ferry_ctx *ctx, const ferry_domain *d, ferry_rng *rng,
                                 ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    const ferry_ratings *r = d->ratings;
    int64_t *order = ferry_i_calloc(r->n, sizeof *order);
    ferry_ratings *now = NULL;

    FERRY_HAVE(ctx, order);
    FERRY_TRY(ferry_i_ratings_copy(ctx, r, &now));
    identity(r->n, order);
    ferry_i_rng_shuffle(rng, r->n, order);
    for (int64_t e = 0; e < r->n; e++)
        now->value[e] = r->value[order[e]];
    st = ferry_i_domain_with_ratings(ctx, d, now, out);
    now = NULL;
done:
    ferry_i_ratings_free(now);
    ferry_i_free(order);
    return st;
}

/* Every left end gets another's right end. */
static ferry_status shuffle_pairs(ferry_ctx *ctx, const ferry_domain *d, ferry_rng *rng,
                                  ferry_domain **out)
{
    ferry_status st = FERRY_OK;
    const ferry_pairs *p = d->pairs;
    int64_t *order = ferry_i_calloc(p->n, sizeof *order);
    ferry_pairs *now = ferry_i_calloc(1, sizeof *now);

    FERRY_HAVE(ctx, order && now);
    identity(p->n, order);
    ferry_i_rng_shuffle(rng, p->n, order);
    FERRY_NEW(ctx, now->left, p->n);
    FERRY_NEW(ctx, now->right, p->n);
    now->n = p->n;
    for (int64_t i = 0; i < p->n; i++) {
        now->left[i] = ferry_i_strdup(p->left[i]);
        now->right[i] = ferry_i_strdup(p->right[order[i]]);
        FERRY_HAVE(ctx, now->left[i] && now->right[i]);
    }
    now->left_domain = ferry_i_strdup(p->left_domain);
    now->right_domain = ferry_i_strdup(p->right_domain);
    FERRY_HAVE(ctx, !p->left_domain == !now->left_domain &&
                        !p->right_domain == !now->right_domain);
    st = ferry_i_domain_with_pairs(ctx, d, now, out);
    now = NULL;
done:
    ferry_i_pairs_free(now);
    ferry_i_free(order);
    return st;
}

/* ---- one domain, one control ---- */

/* What of d a control would change. */
static bool touches(const ferry_task *t, const ferry_domain *d, ferry_control kind)
{
    const bool source = d->role == FERRY_SOURCE;

    switch (kind) {
    case FERRY_CONTROL_NOISE:
        return source && (d->n_views > 0 || d->n_graphs > 0 || d->ratings);
    case FERRY_CONTROL_LABELS:
        return source && d->labels && t->goal != FERRY_RATE && ferry_domain_labels(d) > 1;
    case FERRY_CONTROL_CLASSES:
        return source && d->labels && d->labels->kind == FERRY_LABEL_CLASS &&
               ferry_domain_labels(d) > 1;
    case FERRY_CONTROL_BRIDGE:
        return d->pairs ||
               (d->role == FERRY_INTERMEDIATE && (d->n_views > 0 || d->ratings));
    case FERRY_CONTROL_GRAPH: return d->n_graphs > 0;
    default: return false;
    }
}

/* Replace *d by what `change` makes of it. */
#define STEP(change)                                                                       \
    do {                                                                                   \
        ferry_domain *next = NULL;                                                         \
        FERRY_TRY(change);                                                                 \
        ferry_domain_free(*d);                                                             \
        *d = next;                                                                         \
    } while (0)

/* What the control makes of one domain. The kinds differ in what they destroy: noise takes
 * the values, labels their tie to the rows, bridge the tie between two spaces, graph the
 * ties between instances. */
static ferry_status change_domain(ferry_ctx *ctx, ferry_control kind, ferry_rng *rng,
                                  ferry_domain **d)
{
    ferry_status st = FERRY_OK;
    const bool middle = (*d)->role == FERRY_INTERMEDIATE;

    if (kind == FERRY_CONTROL_NOISE && (*d)->n_views > 0)
        STEP(change_views(ctx, *d, 0, deal, rng, &next));
    if ((kind == FERRY_CONTROL_NOISE || kind == FERRY_CONTROL_GRAPH) && (*d)->n_graphs > 0)
        STEP(rewire_all(ctx, *d, rng, &next));
    if ((kind == FERRY_CONTROL_NOISE || (kind == FERRY_CONTROL_BRIDGE && middle)) &&
        (*d)->ratings)
        STEP(deal_ratings(ctx, *d, rng, &next));
    if (kind == FERRY_CONTROL_CLASSES) STEP(permute_classes(ctx, *d, rng, &next));
    if (kind == FERRY_CONTROL_LABELS) STEP(shuffle_labels(ctx, *d, rng, &next));
    /* One view holds the tie within its rows, several between them. */
    if (kind == FERRY_CONTROL_BRIDGE && middle && (*d)->n_views == 1)
        STEP(change_views(ctx, *d, 0, deal, rng, &next));
    if (kind == FERRY_CONTROL_BRIDGE && middle && (*d)->n_views > 1)
        STEP(change_views(ctx, *d, 1, permute_rows, rng, &next));
    if (kind == FERRY_CONTROL_BRIDGE && (*d)->pairs)
        STEP(shuffle_pairs(ctx, *d, rng, &next));
done:
    return st;
}

bool ferry_i_task_has_control(const ferry_task *t, ferry_control kind)
{
    if (kind == FERRY_CONTROL_WITHOUT) return ferry_i_task_count_role(t, FERRY_SOURCE) > 1;
    for (int64_t i = 0; i < t->n_domains; i++)
        if (touches(t, t->domains[i], kind)) return true;
    return false;
}

/* The changed task; domains that the control does not touch are shared with the original. */
ferry_status ferry_i_task_control(ferry_ctx *ctx, const ferry_task *task,
                                  ferry_control kind, int64_t draw, ferry_task **out)
{
    ferry_status st = FERRY_OK;
    ferry_task *t = NULL;
    ferry_ctx own = *ctx;
    ferry_rng rng;
    int64_t sources = 0;

    *out = NULL;
    own.repeat = (uint64_t)draw;
    ferry_i_rng_for(&own, &rng, controls[kind].name);
    FERRY_TRY(ferry_task_new(ctx, task->name, task->goal, &t));
    for (int64_t i = 0; i < task->n_domains; i++) {
        ferry_domain *d = task->domains[i];
        if (kind == FERRY_CONTROL_WITHOUT && d->role == FERRY_SOURCE && sources++ == draw)
            continue;
        FERRY_TRY(ferry_task_add_domain(ctx, t, ferry_i_domain_ref(d)));
        if (touches(task, d, kind))
            FERRY_TRY(change_domain(ctx, kind, &rng, &t->domains[t->n_domains - 1]));
    }
    t->choose = task->choose;
    FERRY_MOVE(*out, t);
done:
    ferry_task_free(t);
    return st;
}
