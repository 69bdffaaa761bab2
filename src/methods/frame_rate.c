/* Goal rate: what the framework does for methods that want RATINGS. Users and items by id, what was rated, the range,
 * new users and items, the best items of a user; a method sees numbers alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ratings.h"
#include "methods/frame.h"

/* ---- what the model knows of users and items ---- */

static const field catalogue_fields[] = {
    ARRAY(catalogue, IDS, users, .rows = SIZE(catalogue, n_users)),
    ARRAY(catalogue, IDS, items, .rows = SIZE(catalogue, n_items)),
    FIELD_AS(catalogue, REAL, lo, "range:0"),
    FIELD_AS(catalogue, REAL, hi, "range:1"),
    FIELD_AS(catalogue, INTS, start, "rated.start",
             .rows = SIZE_PLUS(catalogue, n_users, 1)),
    FIELD_AS(catalogue, PLACES, item, "rated.item", .rows = SIZE(catalogue, n_rated),
             .below = SIZE(catalogue, n_items)),
};

static void catalogue_check(scope *s, const void *state)
{
    const catalogue *c = state;
    bool fine = c->start[0] == 0 && c->start[c->n_users] == c->n_rated;

    if (!(c->lo <= c->hi))
        scope_fail(s, FERRY_EDATA, "tensor range: ratings from %g to %g", c->lo, c->hi);
    for (int64_t i = 0; fine && i < c->n_users; i++)
        fine = c->start[i] <= c->start[i + 1];
    if (!fine)
        scope_fail(s, FERRY_EDATA,
                   "tensors rated.start and rated.item: expected what each of %lld users "
                   "rated of %lld items",
                   (long long)c->n_users, (long long)c->n_items);
}

const table catalogue_table = {sizeof(catalogue), catalogue_fields,
                               FERRY_COUNT(catalogue_fields), catalogue_check, NULL};

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

/* ids, which are new, are keep's. */
static ferry_ids *keep_ids(scope *s, scope *keep, ferry_ids *ids)
{
    if (!ids) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(keep, free_ids, ids);
    return ids;
}

/* What was rated is as long as the ratings, whose values go first. */
catalogue *catalogue_new(scope *s, scope *keep, const ratings *r)
{
    catalogue *c = NEW(keep, catalogue, 1);
    int64_t *count = NEW(s, int64_t, r->x.n);

    drop_ratings(r);
    *c = (catalogue){.n_users = r->users, .n_items = r->items, .lo = r->lo, .hi = r->hi};
    c->users = keep_ids(s, keep, ferry_i_ids_copy(r->user_id));
    c->items = keep_ids(s, keep, ferry_i_ids_copy(r->item_id));
    for (int64_t i = 0; i < r->x.n; i++)
        count[i] = r->x.m->start[i + 1] - r->x.m->start[i];
    const int64_t *all = replicate_items(s, r->x.rows, r->x.n, sizeof *count, count);
    c->start = NEW(keep, int64_t, r->users + 1);
    for (int64_t i = 0; i < r->users; i++)
        c->start[i + 1] = c->start[i] + all[i];
    c->n_rated = c->start[r->users];
    const layout here = {
        .n = c->n_rated, .spread = r->x.rows.spread, .first = c->start[r->x.rows.first]};
    const int32_t *item = r->x.m->index;
    if (here.spread) item = replicate_items(s, here, stored(r->x), sizeof *item, item);
    c->item = COPY(keep, item, c->n_rated);
    return c;
}

/* ---- pairs ---- */

/* Where each of `ids` stands in `known`, -1: not. */
static int64_t *numbers_of(scope *s, const ferry_ids *ids, const ferry_ids *known)
{
    const int64_t n = ferry_i_ids_count(ids);
    int64_t *at = NEW(s, int64_t, n);

    for (int64_t i = 0; i < n; i++)
        at[i] = ferry_i_ids_find(known, ferry_i_ids_at(ids, i));
    return at;
}

static void warn_unknown(ferry_ctx *ctx, const ferry_ratings *r, int64_t unknown,
                         int64_t first)
{
    ferry_i_log(ctx, FERRY_WARN,
                "%lld of %lld pairs have neither a user nor an item that the model "
                "knows, such as %s, %s: they get the mean%s",
                (long long)unknown, (long long)r->n,
                ferry_i_ids_at(r->users, r->user[first]),
                ferry_i_ids_at(r->items, r->item[first]),
                first == 0 && unknown < r->n
                    ? " (the first line; is it a header? then say header=yes)"
                    : "");
}

static double clipped(const catalogue *c, double x)
{
    return fmin(fmax(x, c->lo), c->hi);
}

/* Not clipped. */
static block score_pairs(scope *s, const fitted *f, int64_t n, const int64_t *user,
                         const int64_t *item)
{
    const ratings r = {.users = f->rated->n_users,
                       .items = f->rated->n_items,
                       .lo = f->rated->lo,
                       .hi = f->rated->hi,
                       .n = n,
                       .user = user,
                       .item = item};
    const domain d = {.rows = HERE(n), .n = n, .r = &r};
    const block out = block_new(s, HERE(n), n, 1);

    f->m->scores(s, f->state, &d, out);
    return out;
}

/* One look-up for each id, not for each pair. Clipping cannot make a prediction worse: the true rating is within the
 * range. */
void rate_predict(scope *s, const fitted *f, const ferry_domain *d, ferry_prediction *p)
{
    const ferry_ratings *r = d->ratings;
    const int64_t *who = numbers_of(s, r->users, f->rated->users),
                  *what = numbers_of(s, r->items, f->rated->items);
    int64_t *user = NEW(s, int64_t, r->n), *item = NEW(s, int64_t, r->n), unknown = 0,
            first = 0;

    for (int64_t e = 0; e < r->n; e++) {
        user[e] = who[r->user[e]];
        item[e] = what[r->item[e]];
        if (user[e] < 0 && item[e] < 0 && unknown++ == 0) first = e;
    }
    if (unknown > 0) warn_unknown(scope_ctx(s), r, unknown, first);
    const block out = score_pairs(s, f, r->n, user, item);
    for (int64_t e = 0; e < r->n; e++)
        p->value[e] = clipped(f->rated, out.at[e]);
}

/* ---- new users and items ---- */

/* ids, then those of `more` that have a rating (a row each in x) and are not among them. */
static ferry_ids *extended(scope *s, scope *keep, const ferry_ids *ids,
                           const ferry_ids *more, matrix x)
{
    ferry_ids *out = keep_ids(s, keep, ferry_i_ids_copy(ids));

    for (int64_t i = 0; i < x.n; i++)
        if (row_at(x, i).n > 0 && ferry_i_ids_add(out, ferry_i_ids_at(more, i), NULL) < 0)
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
    return out;
}

/* Which ratings new rows are made from. */
typedef struct gathering {
    matrix x;                   /* all that were given: users x items, or items x users */
    const int64_t *row, *other; /* where rows and columns of x stand in the model */
    int64_t first, rows;        /* new rows of the model: first, first + 1, ... */
    int64_t cols;               /* columns that may be used */
} gathering;

/* Their ratings, clipped to the range of the model. New rows come in the order of x. */
static matrix gather(scope *s, const catalogue *c, const gathering *g)
{
    const ferry_matrix *x = g->x.m;
    ferry_matrix *t = NULL;
    int64_t n = 0;

    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), g->rows, g->cols, x->nnz, &t));
    const matrix out = matrix_own(s, t);
    for (int64_t i = 0; i < x->rows; i++) {
        if (g->row[i] < g->first) continue; /* was there at fit, or has no rating */
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const int64_t j = g->other[x->index[e]];
            if (j < 0 || j >= g->cols) continue;
            t->index[n] = (int32_t)j;
            t->value[n++] = clipped(c, x->value[e]);
        }
        t->start[g->row[i] - g->first + 1] = n;
    }
    t->nnz = n;
    return out;
}

/* What users rated: at fit, and the new ones, also items that are new themselves. */
static void add_rated(scope *keep, const catalogue *c, matrix x, const int64_t *user,
                      const int64_t *item, catalogue *to)
{
    int64_t n = c->n_rated;

    to->start = NEW(keep, int64_t, to->n_users + 1);
    to->item = NEW(keep, int32_t, n + stored(x));
    memcpy(to->start, c->start, (size_t)(c->n_users + 1) * sizeof *to->start);
    if (n > 0) memcpy(to->item, c->item, (size_t)n * sizeof *to->item);
    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        if (user[i] < c->n_users) continue;
        for (int64_t e = 0; e < r.n; e++)
            to->item[n++] = (int32_t)item[r.index[e]];
        to->start[user[i] + 1] = n;
    }
    to->n_rated = n;
}

/* What was done to ratings that did not fit. */
static void warn_unused(ferry_ctx *ctx, const catalogue *c, matrix x, const int64_t *user,
                        const int64_t *item)
{
    int64_t beyond = 0, idle = 0;

    for (int64_t i = 0; i < x.n; i++)
        for (int64_t e = x.m->start[i]; e < x.m->start[i + 1]; e++) {
            beyond += x.m->value[e] < c->lo || x.m->value[e] > c->hi;
            idle += user[i] < c->n_users && item[x.m->index[e]] < c->n_items;
        }
    if (beyond > 0)
        ferry_i_log(
            ctx, FERRY_WARN,
            "%lld of %lld ratings are beyond the model's range from %g to %g: taken "
            "as its ends",
            (long long)beyond, (long long)stored(x), c->lo, c->hi);
    if (idle > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "%lld ratings are of users and items that were there at fit: not used",
                    (long long)idle);
}

typedef struct folding {
    const fitted *f;
    const ferry_domain *d;
    fitted *to;
} folding;

/* Users by the items that the model knew, then items by all users, also the new ones, in the order of ids: that of the
 * rows decides nothing here either. */
static void fold_body(scope *s, void *arg)
{
    const folding *a = arg;
    const catalogue *c = a->f->rated;
    fitted *to = a->to;
    scope *keep = to->keep;

    scope_bind(keep, s);
    const ratings given = ratings_sorted(s, a->d->ratings);
    catalogue *more = to->rated = NEW(keep, catalogue, 1);
    more->users = extended(s, keep, c->users, given.user_id, given.x);
    more->items = extended(s, keep, c->items, given.item_id, given.xt);
    more->n_users = ferry_i_ids_count(more->users);
    more->n_items = ferry_i_ids_count(more->items);
    more->lo = c->lo;
    more->hi = c->hi;
    const int64_t *user = numbers_of(s, given.user_id, more->users),
                  *item = numbers_of(s, given.item_id, more->items);
    add_rated(keep, c, given.x, user, item, more);
    ratings r = {.users = more->n_users, .items = more->n_items, .lo = c->lo, .hi = c->hi};
    r.x = gather(s, c,
                 &(gathering){given.x, user, item, c->n_users, more->n_users - c->n_users,
                              c->n_items});
    r.xt = gather(s, c,
                  &(gathering){given.xt, item, user, c->n_items, more->n_items - c->n_items,
                               more->n_users});
    (void)progress(s, "fold in", 0, r.x.n + r.xt.n, NAN);
    to->state = state_new(keep, a->f->m->state);
    a->f->m->fold_in(s, keep, a->f->state, &r, to->state);
    warn_unused(scope_ctx(s), c, given.x, user, item);
    to->prior = COPY(keep, a->f->prior, 1);
}

/* The model itself is not touched: predictions from it may be under way elsewhere. */
ferry_status frame_fold_in(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                           void **out)
{
    const fitted *f = state;
    fitted *to = ferry_i_calloc(1, sizeof *to);

    *out = NULL;
    if (!to) return ferry_i_nomem(ctx);
    to->m = f->m;
    to->of = f->of;
    to->keep = scope_open(ctx);
    const ferry_status st =
        to->keep ? scope_run(ctx, fold_body, &(folding){f, d, to}) : ferry_i_nomem(ctx);
    if (st == FERRY_OK)
        *out = to;
    else
        frame_free(to);
    return st;
}

/* ---- the best items of a user ----
 *
 * Every item is scored; what is saved is sorting: a heap of n holds the best while the items go by. */

typedef struct ranked {
    double value; /* not clipped: clipped ones are equal too often */
    int64_t item;
} ranked;

/* Whether a comes after b: a total order, so that the same items win whatever the heap
 * did. */
static bool after(const ranked *a, const ranked *b)
{
    return a->value != b->value ? a->value < b->value : a->item > b->item;
}

/* Best first. Never 0: `after` is a total order and items are distinct. */
static int by_rank(const void *a, const void *b)
{
    return after(a, b) ? 1 : -1;
}

static void swap(ranked *a, ranked *b)
{
    const ranked t = *a;

    *a = *b;
    *b = t;
}

/* A heap of the best so far with the last of them on top.
 * The top was replaced: move it down until both children come before it. */
static void sink(ranked *heap, int64_t n)
{
    for (int64_t i = 0, child = 1; child < n; i = child, child = 2 * i + 1) {
        if (child + 1 < n && after(&heap[child + 1], &heap[child])) child++;
        if (!after(&heap[child], &heap[i])) break;
        swap(&heap[child], &heap[i]);
    }
}

/* The last was added: move it up past those that it comes after. */
static void rise(ranked *heap, int64_t i)
{
    for (; i > 0 && after(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
}

/* The n best items by value, in order; fewer when there are not that many. skip has one byte
 * an item. */
static int64_t best_of(int64_t items, const double *value, int64_t n, const uint8_t *skip,
                       ranked *heap)
{
    int64_t have = 0;

    for (int64_t j = 0; j < items && n > 0; j++) {
        const ranked r = {value[j], j};
        if (skip[j]) continue;
        if (have < n) {
            heap[have] = r;
            rise(heap, have++);
        } else if (after(&heap[0], &r)) {
            heap[0] = r;
            sink(heap, n);
        }
    }
    if (have > 1) qsort(heap, (size_t)have, sizeof *heap, by_rank);
    return have;
}

/* For all that a user rated whether it is passed over: set before, unset after, so
 * that the marks are cleared in the time of the user's ratings, not of all items. */
static void mark_rated(const catalogue *c, int64_t user, uint8_t value, uint8_t *skip)
{
    if (user < 0) return;
    for (int64_t e = c->start[user]; e < c->start[user + 1]; e++)
        skip[c->item[e]] = value;
}

typedef struct asking_top {
    const fitted *f;
    const ferry_ids *users; /* NULL: all */
    int64_t n;
    bool rated;
    ferry_ratings *out;
} asking_top;

/* All items for each of the users from..from + n of `who`, at most a batch: what a method finds out of an item it finds
 * once for them. user <- their numbers. */
static block score_users(scope *s, const fitted *f, const ferry_ids *who, int64_t from,
                         int64_t n, int64_t *user)
{
    const int64_t items = f->rated->n_items;
    int64_t *of = NEW(s, int64_t, n * items), *item = NEW(s, int64_t, n * items);

    for (int64_t i = 0; i < n; i++) {
        user[i] = ferry_i_ids_find(f->rated->users, ferry_i_ids_at(who, from + i));
        for (int64_t j = 0; j < items; j++) {
            of[i * items + j] = user[i];
            item[i * items + j] = j;
        }
    }
    return score_pairs(s, f, n * items, of, item);
}

/* O(users items log n) and the scores. */
static void top_body(scope *s, void *arg)
{
    asking_top *a = arg;
    const catalogue *c = a->f->rated;
    const ferry_ids *who = a->users ? a->users : ids_sorted(s, c->users);
    const int64_t count = ferry_i_ids_count(who), items = c->n_items,
                  most_users = 1 + 200000 / (items + 1);
    uint8_t *skip = NEW(s, uint8_t, items);
    ranked *heap = NEW(s, ranked, a->n);
    int64_t *user = NEW(s, int64_t, most_users), at = 0, unknown = 0;

    scope_check(s, ferry_i_ratings_new(scope_ctx(s), count * a->n, who, c->items, &a->out));
    for (int64_t from = 0; from < count && items > 0; from += most_users) {
        const int64_t mark = scope_mark(s),
                      n = count - from < most_users ? count - from : most_users;
        const block value = score_users(s, a->f, who, from, n, user);
        for (int64_t i = 0; i < n; i++) {
            unknown += user[i] < 0;
            if (!a->rated) mark_rated(c, user[i], 1, skip);
            const int64_t have = best_of(items, value.at + i * items, a->n, skip, heap);
            mark_rated(c, user[i], 0, skip);
            for (int64_t k = 0; k < have; k++, at++) {
                a->out->user[at] = (int32_t)(from + i);
                a->out->item[at] = (int32_t)heap[k].item;
                a->out->value[at] = clipped(c, heap[k].value);
            }
        }
        scope_release(s, mark);
        (void)progress(s, "top", from, count, NAN);
    }
    a->out->n = at;
    if (unknown > 0)
        ferry_i_log(scope_ctx(s), FERRY_WARN,
                    "%lld of %lld users are new to the model: they get what is rated "
                    "highest in general",
                    (long long)unknown, (long long)count);
}

ferry_status frame_top(ferry_ctx *ctx, const void *state, const ferry_ids *users, int64_t n,
                       bool rated, ferry_ratings **out)
{
    const fitted *f = state;
    const catalogue *c = f->rated;
    asking_top a = {f, users, n < c->n_items ? n : c->n_items, rated, NULL};

    *out = NULL;
    const ferry_status st = scope_run(ctx, top_body, &a);
    if (st == FERRY_OK)
        *out = a.out;
    else
        ferry_i_ratings_free(a.out);
    return st;
}
