/* Ratings as methods want them: sorted, and as a sparse matrix with its transpose. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/shared/ratings.h"

/* ---- rows over ranks ---- */

/* A user's or item's own system costs about as much as this many ratings. */
enum { ROW_COST = 8 };

static int rank_of(const ferry_ctx *ctx, const observed *o)
{
    return o->users ? ctx->ranks->rank : 0;
}

int64_t ferry_i_observed_count(const observed *o)
{
    return o->users ? o->n : o->x->nnz;
}

ferry_status ferry_i_observed_before(ferry_ctx *ctx, const observed *o, int64_t *before)
{
    ferry_status st = FERRY_OK;
    double *count = NULL;

    *before = 0;
    if (!o->users) return FERRY_OK;
    FERRY_NEW(ctx, count, ctx->ranks->size);
    count[ctx->ranks->rank] = (double)o->x->nnz;
    FERRY_TRY(ferry_i_ranks_sum(ctx, ctx->ranks->size, count));
    for (int i = 0; i < ctx->ranks->rank; i++)
        *before += (int64_t)count[i];
done:
    ferry_i_free(count);
    return st;
}

int64_t ferry_i_observed_user(ferry_ctx *ctx, const observed *o)
{
    return o->users ? o->users[rank_of(ctx, o)] : 0;
}

int64_t ferry_i_observed_item(ferry_ctx *ctx, const observed *o)
{
    return o->items ? o->items[rank_of(ctx, o)] : 0;
}

ferry_status ferry_i_observed_share(ferry_ctx *ctx, const observed *o, bool items,
                                    size_t size, void *rows)
{
    if (!o->users) return FERRY_OK;
    return ferry_i_ranks_share(ctx, items ? o->items : o->users, size, rows);
}

ferry_status ferry_i_observed_sum(ferry_ctx *ctx, const observed *o, int64_t n, double *v)
{
    return o->users ? ferry_i_ranks_sum(ctx, n, v) : FERRY_OK;
}

/* Where the n rows are cut, so that ranks have about as much to do; place[at[e]] is the row of a rating. */
static ferry_status cut_rows(ferry_ctx *ctx, const ferry_ratings *r, const int32_t *at,
                             const int32_t *place, int64_t n, int64_t **out)
{
    ferry_status st = FERRY_OK;
    const int64_t ranks = ctx->ranks->size;
    double *work = NULL, all = 0, sum = 0;
    int64_t *cut = NULL, next = 1;

    FERRY_NEW(ctx, work, n);
    FERRY_NEW(ctx, cut, ranks + 1);
    for (int64_t e = 0; e < r->n; e++)
        if (!isnan(r->value[e])) work[place[at[e]]]++;
    for (int64_t i = 0; i < n; i++)
        all += work[i] += ROW_COST;
    for (int64_t i = 0; i < n; i++) {
        while (next < ranks && sum >= all * (double)next / (double)ranks)
            cut[next++] = i;
        sum += work[i];
    }
    while (next <= ranks)
        cut[next++] = n;
    FERRY_MOVE(*out, cut);
done:
    FERRY_FREE(work, cut);
    return st;
}

static ferry_status copy_cuts(ferry_ctx *ctx, const observed *from, observed *to)
{
    ferry_status st = FERRY_OK;

    if (!from->users) return FERRY_OK;
    const size_t bytes = (size_t)(ctx->ranks->size + 1) * sizeof *to->users;
    FERRY_NEW(ctx, to->users, ctx->ranks->size + 1);
    FERRY_NEW(ctx, to->items, ctx->ranks->size + 1);
    memcpy(to->users, from->users, bytes);
    memcpy(to->items, from->items, bytes);
done:
    return st;
}

/* What ranks send each other for xt: of each, where its rows begin, and its entries. */
typedef struct turning {
    int64_t ranks, *n_out, *n_in;
    const void **out;
    void **in;
    int64_t *entries,
        *start; /* a rank's entries; starts of this rank's items, ranks x (items + 1) */
    int32_t *index;
    double *value;
} turning;

static void turning_clear(turning *t)
{
    FERRY_FREE(t->n_out, t->n_in, t->out, t->in, t->entries, t->start, t->index, t->value);
}

/* Something of every rank's items, `size` bytes for each of count(rank) things, behind each other in `to`. */
static ferry_status trade_parts(ferry_ctx *ctx, const observed *o, const ferry_matrix *mine,
                                size_t size, const void *from, turning *t, void *to)
{
    char *next = to;

    for (int64_t r = 0; r < t->ranks; r++) {
        const int64_t begin = mine->start[o->items[r]], end = mine->start[o->items[r + 1]];
        t->out[r] = (const char *)from + begin * (int64_t)size;
        t->n_out[r] = (end - begin) * (int64_t)size;
        t->in[r] = next;
        t->n_in[r] = t->entries[r] * (int64_t)size;
        next += t->n_in[r];
    }
    return ferry_i_ranks_trade(ctx, t->out, t->n_out, t->in, t->n_in);
}

static ferry_status trade_starts(ferry_ctx *ctx, const observed *o,
                                 const ferry_matrix *mine, int64_t items, turning *t)
{
    for (int64_t r = 0; r < t->ranks; r++) {
        t->out[r] = mine->start + o->items[r];
        t->n_out[r] = (o->items[r + 1] - o->items[r] + 1) * (int64_t)sizeof *mine->start;
        t->in[r] = t->start + r * (items + 1);
        t->n_in[r] = (items + 1) * (int64_t)sizeof *t->start;
    }
    return ferry_i_ranks_trade(ctx, t->out, t->n_out, t->in, t->n_in);
}

/* xt of this rank's items from all ranks' x: every rank turns its own, and sends each of the others its items. Users
 * ascend from rank to rank, so they do in an item. */
static ferry_status turn_over_ranks(ferry_ctx *ctx, observed *o)
{
    ferry_status st = FERRY_OK;
    const int64_t first = ferry_i_observed_item(ctx, o),
                  items = o->items[ctx->ranks->rank + 1] - first;
    turning t = {.ranks = ctx->ranks->size};
    ferry_matrix *mine = NULL, *xt = NULL;
    int64_t all = 0, at = 0, *next = NULL;

    FERRY_TRY(ferry_i_matrix_transpose(ctx, o->x, &mine));
    FERRY_NEW(ctx, t.n_out, t.ranks);
    FERRY_NEW(ctx, t.n_in, t.ranks);
    FERRY_NEW(ctx, t.out, t.ranks);
    FERRY_NEW(ctx, t.in, t.ranks);
    FERRY_NEW(ctx, t.entries, t.ranks);
    FERRY_NEW(ctx, next, t.ranks);
    FERRY_NEW(ctx, t.start, t.ranks * (items + 1));
    FERRY_TRY(trade_starts(ctx, o, mine, items, &t));
    for (int64_t r = 0; r < t.ranks; r++) {
        const int64_t *start = t.start + r * (items + 1);
        t.entries[r] = start[items] - start[0];
        next[r] = all;
        all += t.entries[r];
    }
    FERRY_NEW(ctx, t.index, all);
    FERRY_NEW(ctx, t.value, all);
    FERRY_TRY(trade_parts(ctx, o, mine, sizeof *t.index, mine->index, &t, t.index));
    FERRY_TRY(trade_parts(ctx, o, mine, sizeof *t.value, mine->value, &t, t.value));
    ferry_i_matrix_free(mine);
    mine = NULL;
    FERRY_TRY(ferry_i_matrix_csr(ctx, items, o->users[t.ranks], all, &xt));
    for (int64_t j = 0; j < items; j++) {
        for (int64_t r = 0; r < t.ranks; r++) {
            const int64_t *start = t.start + r * (items + 1) + j;
            for (int64_t e = 0; e < start[1] - start[0]; e++, at++) {
                xt->index[at] = (int32_t)(t.index[next[r]] + o->users[r]);
                xt->value[at] = t.value[next[r]++];
            }
        }
        xt->start[j + 1] = at;
    }
    xt->whole = o->items[t.ranks];
    FERRY_MOVE(o->xt, xt);
done:
    turning_clear(&t);
    ferry_i_free(next);
    ferry_i_matrix_free(mine);
    ferry_i_matrix_free(xt);
    return st;
}

/* xt (and n) from x. */
static ferry_status turn(ferry_ctx *ctx, observed *o)
{
    if (!o->users) return ferry_i_matrix_transpose(ctx, o->x, &o->xt);
    o->n = o->x->nnz;
    o->x->whole = o->users[ctx->ranks->size];
    FERRY_PASS(turn_over_ranks(ctx, o));
    return ferry_i_ranks_count(ctx, &o->n);
}

/* ---- as a matrix ---- */

/* Items x users, with the users of an item in the order of the file; users [first, first + users) alone.
 * A counting sort by item, O(n + items): count, running sums, place. Values that are NaN
 * are hidden from the method and take no room; *out is new. */
static ferry_status by_item(ferry_ctx *ctx, const ferry_ratings *r, int64_t first,
                            int64_t users, double f, double g, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t items = ferry_i_ids_count(r->items);
    int64_t n = 0, *next = NULL;
    ferry_matrix *t = NULL;

    for (int64_t e = 0; e < r->n; e++)
        n += !isnan(r->value[e]);
    FERRY_TRY(ferry_i_matrix_csr(ctx, items, users, n, &t));
    FERRY_NEW(ctx, next, items + 1);
    /* Count into the place after, sum up, then deal out: next[j] is where item j goes on.
     */
    for (int64_t e = 0; e < r->n; e++)
        if (!isnan(r->value[e])) t->start[r->item[e] + 1]++;
    for (int64_t j = 0; j < items; j++)
        t->start[j + 1] += t->start[j];
    memcpy(next, t->start, (size_t)items * sizeof *next);
    for (int64_t e = 0; e < r->n; e++) {
        if (isnan(r->value[e])) continue;
        const int64_t at = next[r->item[e]]++;
        t->index[at] = (int32_t)(r->user[e] - first);
        t->value[at] = f * r->value[e] + g;
    }
    FERRY_MOVE(*out, t);
done:
    ferry_i_free(next);
    ferry_i_matrix_free(t);
    return st;
}

/* Users, items and range stay. */
static void forget_entries(ferry_ratings *r)
{
    FERRY_FREE(r->user, r->item, r->value);
    r->user = r->item = NULL;
    r->value = NULL;
    r->n = 0;
}

/* Counting by item, then transposing, sorts the items of a user and the users of an item
 * in O(n), whatever order the file had. out has its cuts, if any. `last_use`: r's entries are not needed any more. */
static ferry_status build(ferry_ctx *ctx, const ferry_ratings *r, bool last_use, double f,
                          double g, observed *out)
{
    ferry_status st = FERRY_OK;
    const int64_t first = ferry_i_observed_user(ctx, out),
                  last = out->users ? out->users[rank_of(ctx, out) + 1]
                                    : ferry_i_ids_count(r->users);
    ferry_matrix *t = NULL;

    FERRY_TRY(by_item(ctx, r, first, last - first, f, g, &t));
    if (last_use) forget_entries((ferry_ratings *)(uintptr_t)r);
    FERRY_TRY(ferry_i_matrix_transpose(ctx, t, &out->x)); /* items of a user now ascend */
    ferry_i_matrix_free(t);
    t = NULL;
    FERRY_TRY(turn(ctx, out));
done:
    ferry_i_matrix_free(t);
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

ferry_status ferry_i_observed_new(ferry_ctx *ctx, const ferry_ratings *r, double f,
                                  double g, observed *out)
{
    *out = (observed){0};
    return build(ctx, r, false, f, g, out);
}

/* Residuals, weights or copies of the ratings in the same pattern: no sorting again. */
ferry_status ferry_i_observed_with(ferry_ctx *ctx, const observed *o, const double *value,
                                   observed *out)
{
    ferry_status st = FERRY_OK;

    *out = (observed){0};
    FERRY_TRY(copy_cuts(ctx, o, out));
    FERRY_TRY(ferry_i_matrix_like(ctx, o->x, &out->x));
    memcpy(out->x->value, value, (size_t)o->x->nnz * sizeof *value);
    FERRY_TRY(turn(ctx, out));
done:
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

/* Rows keep their order, so that no sorting is needed here either. */
ferry_status ferry_i_observed_part(ferry_ctx *ctx, const observed *o, const uint8_t *of,
                                   uint8_t without, observed *out)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = o->x;
    int64_t n = 0;

    *out = (observed){0};
    FERRY_TRY(copy_cuts(ctx, o, out));
    for (int64_t e = 0; e < x->nnz; e++)
        n += of[e] != without;
    FERRY_TRY(ferry_i_matrix_csr(ctx, x->rows, x->cols, n, &out->x));
    n = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            if (of[e] == without) continue;
            out->x->index[n] = x->index[e];
            out->x->value[n++] = x->value[e];
        }
        out->x->start[i + 1] = n;
    }
    FERRY_TRY(turn(ctx, out));
done:
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

ferry_status ferry_i_observed_whole(ferry_ctx *ctx, const observed *o, observed *out)
{
    *out = (observed){0};
    if (!o->users) {
        out->x = ferry_i_matrix_ref(o->x);
        out->xt = ferry_i_matrix_ref(o->xt);
        return FERRY_OK;
    }
    ferry_status st = ferry_i_matrix_collect(ctx, o->x, &out->x);
    if (st == FERRY_OK) st = ferry_i_matrix_transpose(ctx, out->x, &out->xt);
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

void ferry_i_observed_clear(observed *o)
{
    ferry_i_matrix_free(o->x);
    ferry_i_matrix_free(o->xt);
    FERRY_FREE(o->users, o->items);
    *o = (observed){0};
}

/* ---- an order that the file does not decide ---- */

/* An id and where it stood, so that sorting remembers the old places. */
typedef struct named {
    const char *id;
    int32_t at;
} named;

static int by_id(const void *a, const void *b)
{
    return strcmp(((const named *)a)->id, ((const named *)b)->id);
}

/* The ids by their bytes (which no locale changes); place[i] is where the i-th goes. */
static ferry_status sort_ids(ferry_ctx *ctx, const ferry_ids *ids, ferry_ids **out,
                             int32_t **place)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(ids);
    named *list = NULL;

    FERRY_NEW(ctx, list, n);
    FERRY_NEW(ctx, *place, n);
    FERRY_HAVE(ctx, *out = ferry_i_ids_new());
    for (int64_t i = 0; i < n; i++)
        list[i] = (named){ferry_i_ids_at(ids, i), (int32_t)i};
    qsort(list, (size_t)n, sizeof *list, by_id);
    for (int64_t i = 0; i < n; i++) {
        FERRY_HAVE(ctx, ferry_i_ids_add(*out, list[i].id, NULL) >= 0);
        (*place)[list[i].at] = (int32_t)i;
    }
done:
    ferry_i_free(list);
    return st;
}

/* The entries of x, row after row, into r.
 * r has room for at least as many, since x was made from its own entries; r->n becomes
 * the number of those that have a value. */
static void take_entries(const ferry_matrix *x, ferry_ratings *r)
{
    r->n = x->nnz;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            r->user[e] = (int32_t)i;
            r->item[e] = x->index[e];
            r->value[e] = x->value[e];
        }
}

/* New places for users and items by their ids, then the entries as a matrix; `spread`: those of this rank's users. out->r
 * has room for the entries, if asked for. Clear *out in any case. */
static ferry_status sort_ratings(ferry_ctx *ctx, const ferry_ratings *r, bool spread,
                                 bool entries, rating_data *out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *users = NULL, *items = NULL;
    int32_t *user = NULL, *item = NULL;
    observed *x = &out->x;
    ferry_ratings *s = NULL;
    int64_t n = 0;

    FERRY_TRY(sort_ids(ctx, r->users, &users, &user));
    FERRY_TRY(sort_ids(ctx, r->items, &items, &item));
    if (spread) {
        FERRY_TRY(cut_rows(ctx, r, r->user, user, ferry_i_ids_count(users), &x->users));
        FERRY_TRY(cut_rows(ctx, r, r->item, item, ferry_i_ids_count(items), &x->items));
    }
    const int64_t first = ferry_i_observed_user(ctx, x),
                  last = spread ? x->users[rank_of(ctx, x) + 1] : ferry_i_ids_count(users);
    for (int64_t e = 0; e < r->n; e++)
        n += user[r->user[e]] >= first && user[r->user[e]] < last && !isnan(r->value[e]);
    FERRY_TRY(ferry_i_ratings_new(ctx, n, users, items, &s));
    out->r = s;
    s->lo = r->lo;
    s->hi = r->hi;
    s->ranged = r->ranged;
    n = 0;
    for (int64_t e = 0; e < r->n; e++) {
        const int32_t i = user[r->user[e]];
        if (i < first || i >= last || isnan(r->value[e])) continue;
        s->user[n] = i;
        s->item[n] = item[r->item[e]];
        s->value[n++] = r->value[e];
    }
    FERRY_TRY(build(ctx, s, !entries, 1, 0, x));
done:
    ferry_i_ids_free(users);
    ferry_i_ids_free(items);
    FERRY_FREE(user, item);
    return st;
}

ferry_status ferry_i_ratings_sorted(ferry_ctx *ctx, const ferry_ratings *r,
                                    ferry_ratings **out)
{
    rating_data d = {0};
    const ferry_status st = sort_ratings(ctx, r, false, true, &d);

    *out = NULL;
    if (st == FERRY_OK) {
        take_entries(d.x.x, d.r);
        FERRY_MOVE(*out, d.r);
    }
    ferry_i_rating_data_clear(&d);
    return st;
}

/* ---- a task's target ---- */

/* A split hides values but leaves the pairs, so counting entries is not enough. */
ferry_status ferry_i_rating_fits(ferry_ctx *ctx, const char *method, const ferry_task *task)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL;
    int64_t e = 0;

    FERRY_TRY(ferry_i_task_target(ctx, task, &d));
    while (d->ratings && e < d->ratings->n && isnan(d->ratings->value[e]))
        e++;
    FERRY_NEED(ctx, d->ratings && e < d->ratings->n, FERRY_ENEEDS,
               "%s needs some ratings of the target; target '%s' has none that it may see",
               method, d->name);
done:
    return st;
}

/* Sorted and as a matrix, in the task's own units. Clear *out in any case. */
ferry_status ferry_i_rating_data(ferry_ctx *ctx, const ferry_task *task, rating_data *out)
{
    const ferry_domain *d = NULL;

    FERRY_PASS(ferry_i_task_target(ctx, task, &d));
    return sort_ratings(ctx, d->ratings, ferry_i_ranks_split(ctx), false, out);
}

void ferry_i_rating_data_clear(rating_data *d)
{
    ferry_i_ratings_free(d->r);
    ferry_i_observed_clear(&d->x);
    d->r = NULL;
}
