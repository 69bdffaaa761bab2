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

/* A rating on its way to the rank that has its item. */
typedef struct moved {
    int32_t user, item;
    double value;
} moved;

/* Ratings that are under way at the same time, to all ranks together and from all. */
enum { UNDER_WAY = 1 << 18 };

/* Where the ratings for one rank have got to: those of this rank's users, in their order. */
typedef struct walk {
    int64_t row, at, sent, all;
} walk;

/* xt of this rank's items from all ranks' x. */
typedef struct turning {
    int64_t ranks, first, items; /* this rank's items */
    int64_t *count;              /* ranks x items: ratings of an item that a rank has */
    int64_t *next;               /* ranks x items: where the next of them goes in xt */
    int64_t *got, *n_in, *n_out; /* ranks */
    walk *to;                    /* ranks */
    moved *room;                 /* 2 x ranks x piece: out, in */
    int64_t piece;
    const void **out;
    void **in;
    ferry_matrix *xt;
} turning;

static void turning_clear(turning *t)
{
    FERRY_FREE(t->count, t->next, t->got, t->n_in, t->n_out, t->to, t->room, t->out, t->in);
    ferry_i_matrix_free(t->xt);
}

static ferry_status turning_new(ferry_ctx *ctx, const observed *o, turning *t)
{
    ferry_status st = FERRY_OK;
    const int64_t ranks = ctx->ranks->size;

    t->ranks = ranks;
    t->first = ferry_i_observed_item(ctx, o);
    t->items = o->items[ctx->ranks->rank + 1] - t->first;
    t->piece = UNDER_WAY / ranks > 1024 ? UNDER_WAY / ranks : 1024;
    FERRY_NEW(ctx, t->count, ranks * t->items);
    FERRY_NEW(ctx, t->next, ranks * t->items);
    FERRY_NEW(ctx, t->got, ranks);
    FERRY_NEW(ctx, t->n_in, ranks);
    FERRY_NEW(ctx, t->n_out, ranks);
    FERRY_NEW(ctx, t->to, ranks);
    FERRY_NEW(ctx, t->room, 2 * ranks * t->piece);
    FERRY_NEW(ctx, t->out, ranks);
    FERRY_NEW(ctx, t->in, ranks);
done:
    return st;
}

/* How many ratings of each item every rank has, which says where they go: users ascend from rank to rank. */
static ferry_status trade_counts(ferry_ctx *ctx, const observed *o, turning *t)
{
    ferry_status st = FERRY_OK;
    int64_t *mine = NULL, all = 0;

    FERRY_NEW(ctx, mine, o->x->cols);
    for (int64_t e = 0; e < o->x->nnz; e++)
        mine[o->x->index[e]]++;
    for (int64_t r = 0; r < t->ranks; r++) {
        t->out[r] = mine + o->items[r];
        t->n_out[r] = (o->items[r + 1] - o->items[r]) * (int64_t)sizeof *mine;
        t->in[r] = t->count + r * t->items;
        t->n_in[r] = t->items * (int64_t)sizeof *mine;
        for (int64_t j = o->items[r]; j < o->items[r + 1]; j++)
            t->to[r].all += mine[j];
    }
    FERRY_TRY(ferry_i_ranks_trade(ctx, t->out, t->n_out, t->in, t->n_in));
    for (int64_t i = 0; i < t->ranks * t->items; i++)
        all += t->count[i];
    FERRY_TRY(ferry_i_matrix_csr(ctx, t->items, o->users[t->ranks], all, &t->xt));
    all = 0;
    for (int64_t j = 0; j < t->items; j++) {
        for (int64_t r = 0; r < t->ranks; r++) {
            t->next[r * t->items + j] = all;
            all += t->count[r * t->items + j];
        }
        t->xt->start[j + 1] = all;
    }
done:
    ferry_i_free(mine);
    return st;
}

/* The next ratings for rank r, at most a piece of them; returns how many. */
static int64_t fill_piece(const observed *o, int64_t r, int64_t first_user, turning *t,
                          moved *to)
{
    const ferry_matrix *x = o->x;
    walk *w = &t->to[r];
    int64_t n = 0;

    for (; w->row < x->rows && n < t->piece && w->sent < w->all; w->row++) {
        for (; w->at < x->start[w->row + 1] && n < t->piece; w->at++) {
            const int32_t j = x->index[w->at];
            if (j < o->items[r] || j >= o->items[r + 1]) continue;
            to[n++] = (moved){(int32_t)(first_user + w->row), j, x->value[w->at]};
            w->sent++;
        }
        if (w->at < x->start[w->row + 1]) break; /* no room for the rest of the row */
    }
    return n;
}

static void place_piece(turning *t, int64_t r, int64_t n, const moved *from)
{
    int64_t *next = t->next + r * t->items;

    for (int64_t e = 0; e < n; e++) {
        const int64_t at = next[from[e].item - t->first]++;
        t->xt->index[at] = from[e].user;
        t->xt->value[at] = from[e].value;
    }
}

/* Every rank sends each of the others the ratings of its items, some at a time. */
static ferry_status turn_over_ranks(ferry_ctx *ctx, observed *o)
{
    ferry_status st = FERRY_OK;
    const int64_t first = ferry_i_observed_user(ctx, o);
    turning t = {0};
    double pieces = 0;

    FERRY_TRY(turning_new(ctx, o, &t));
    FERRY_TRY(trade_counts(ctx, o, &t));
    for (int64_t r = 0; r < t.ranks; r++) {
        pieces = fmax(pieces, ceil((double)t.to[r].all / (double)t.piece));
        for (int64_t j = 0; j < t.items; j++)
            t.got[r] -= t.count[r * t.items + j]; /* up to 0 */
    }
    FERRY_TRY(ferry_i_ranks_most(ctx, 1, &pieces));
    for (; pieces > 0; pieces--) {
        for (int64_t r = 0; r < t.ranks; r++) {
            moved *out = t.room + r * t.piece, *in = t.room + (t.ranks + r) * t.piece;
            const int64_t come = -t.got[r] < t.piece ? -t.got[r] : t.piece;
            t.out[r] = out;
            t.n_out[r] = fill_piece(o, r, first, &t, out) * (int64_t)sizeof *out;
            t.in[r] = in;
            t.n_in[r] = come * (int64_t)sizeof *in;
            t.got[r] += come;
        }
        FERRY_TRY(ferry_i_ranks_trade(ctx, t.out, t.n_out, t.in, t.n_in));
        for (int64_t r = 0; r < t.ranks; r++)
            place_piece(&t, r, t.n_in[r] / (int64_t)sizeof(moved), t.in[r]);
    }
    t.xt->whole = o->items[t.ranks];
    FERRY_MOVE(o->xt, t.xt);
done:
    turning_clear(&t);
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

/* Ratings and where their users and items go: place[i], or i itself where there is none. */
typedef struct placed {
    const ferry_ratings *r;
    const int32_t *user, *item;
} placed;

/* The user of entry e and its item; false: it has no value, or the user is not in [first, last). */
static bool entry_of(const placed *p, int64_t e, int64_t first, int64_t last, int32_t *i,
                     int32_t *j)
{
    *i = p->user ? p->user[p->r->user[e]] : p->r->user[e];
    *j = p->item ? p->item[p->r->item[e]] : p->r->item[e];
    return *i >= first && *i < last && !isnan(p->r->value[e]);
}

/* Items x users, with the users of an item in the order of the file; users [first, last) alone.
 * A counting sort by item, O(n + items): count, running sums, place. Values that are NaN
 * are hidden from the method and take no room; *out is new. */
static ferry_status by_item(ferry_ctx *ctx, const placed *p, int64_t first, int64_t last,
                            double f, double g, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t items = ferry_i_ids_count(p->r->items);
    int64_t n = 0, *next = NULL;
    ferry_matrix *t = NULL;
    int32_t i = 0, j = 0;

    FERRY_NEW(ctx, next, items + 1);
    for (int64_t e = 0; e < p->r->n; e++)
        if (entry_of(p, e, first, last, &i, &j)) {
            next[j]++;
            n++;
        }
    FERRY_TRY(ferry_i_matrix_csr(ctx, items, last - first, n, &t));
    /* Sum up, then deal out: next[j] is where item j goes on. */
    for (int64_t k = 0; k < items; k++) {
        t->start[k + 1] = t->start[k] + next[k];
        next[k] = t->start[k];
    }
    for (int64_t e = 0; e < p->r->n; e++) {
        if (!entry_of(p, e, first, last, &i, &j)) continue;
        const int64_t at = next[j]++;
        t->index[at] = (int32_t)(i - first);
        t->value[at] = f * p->r->value[e] + g;
    }
    FERRY_MOVE(*out, t);
done:
    ferry_i_free(next);
    ferry_i_matrix_free(t);
    return st;
}

/* Counting by item, then transposing, sorts the items of a user and the users of an item
 * in O(n), whatever order the file had. out has its cuts, if any. last_use: the ratings, where nobody needs their
 * entries any more, or NULL. */
static ferry_status build(ferry_ctx *ctx, const placed *p, ferry_ratings *last_use,
                          double f, double g, observed *out)
{
    ferry_status st = FERRY_OK;
    const int64_t first = ferry_i_observed_user(ctx, out),
                  last = out->users ? out->users[rank_of(ctx, out) + 1]
                                    : ferry_i_ids_count(p->r->users);
    ferry_matrix *t = NULL;

    FERRY_TRY(by_item(ctx, p, first, last, f, g, &t));
    if (last_use) ferry_i_ratings_forget(last_use);
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
    return build(ctx, &(placed){.r = r}, NULL, f, g, out);
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

void ferry_i_observed_forget(observed *o)
{
    ferry_i_matrix_free(o->xt);
    ferry_i_free(o->x->value);
    o->xt = NULL;
    o->x->value = NULL;
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

/* New places for users and items by their ids, then the entries as a matrix; `spread`: those of this rank's users. out->r
 * has users, items and range. Clear *out in any case. */
static ferry_status sort_ratings(ferry_ctx *ctx, const ferry_ratings *r, bool spread,
                                 ferry_ratings *last_use, rating_data *out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *users = NULL, *items = NULL;
    int32_t *user = NULL, *item = NULL;
    observed *x = &out->x;

    FERRY_TRY(sort_ids(ctx, r->users, &users, &user));
    FERRY_TRY(sort_ids(ctx, r->items, &items, &item));
    if (spread) {
        FERRY_TRY(cut_rows(ctx, r, r->user, user, ferry_i_ids_count(users), &x->users));
        FERRY_TRY(cut_rows(ctx, r, r->item, item, ferry_i_ids_count(items), &x->items));
    }
    FERRY_TRY(ferry_i_ratings_new(ctx, 0, users, items, &out->r));
    out->r->lo = r->lo;
    out->r->hi = r->hi;
    out->r->ranged = r->ranged;
    FERRY_TRY(build(ctx, &(placed){r, user, item}, last_use, 1, 0, x));
done:
    ferry_i_ids_free(users);
    ferry_i_ids_free(items);
    FERRY_FREE(user, item);
    return st;
}

/* Row after row. */
ferry_status ferry_i_ratings_sorted(ferry_ctx *ctx, const ferry_ratings *r,
                                    ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    rating_data d = {0};
    ferry_ratings *s = NULL;

    *out = NULL;
    FERRY_TRY(sort_ratings(ctx, r, false, NULL, &d));
    const ferry_matrix *x = d.x.x;
    FERRY_TRY(ferry_i_ratings_new(ctx, x->nnz, d.r->users, d.r->items, &s));
    s->lo = r->lo;
    s->hi = r->hi;
    s->ranged = r->ranged;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            s->user[e] = (int32_t)i;
            s->item[e] = x->index[e];
            s->value[e] = x->value[e];
        }
    FERRY_MOVE(*out, s);
done:
    ferry_i_ratings_free(s);
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

/* Sorted and as a matrix, in the task's own units; ratings that the task has for itself go. Clear *out in any case. */
ferry_status ferry_i_rating_data(ferry_ctx *ctx, const ferry_task *task, rating_data *out)
{
    const ferry_domain *d = NULL;

    FERRY_PASS(ferry_i_task_target(ctx, task, &d));
    const bool own = task->passing && d->base && d->ratings != d->base->ratings;
    return sort_ratings(ctx, d->ratings, ferry_i_ranks_split(ctx), own ? d->ratings : NULL,
                        out);
}

void ferry_i_rating_data_clear(rating_data *d)
{
    ferry_i_ratings_free(d->r);
    ferry_i_observed_clear(&d->x);
    d->r = NULL;
}
