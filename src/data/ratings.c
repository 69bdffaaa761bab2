/* Ratings: observed (user, item, value) triples.
 *
 * An evaluation makes many copies in which other values are hidden, and a file may hold more ratings than memory does: who
 * rated what is shared by reference count, and may lie in the file.
 *
 * Three arrays beside each other, in the order of the file, with users and items numbered by
 * first appearance. lo and hi are the range that predictions are kept in: what the user gave,
 * else what the finite values span. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "data/data.h"

/* No entries yet. The ids are copied: a split of ratings keeps the numbering of the whole, also of users it has no
 * rating of. */
static ferry_status empty(ferry_ctx *ctx, const ferry_ids *users, const ferry_ids *items,
                          ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    ferry_ratings *r = ferry_i_calloc(1, sizeof *r);

    *out = NULL;
    FERRY_HAVE(ctx, r);
    atomic_init(&r->refs, 1);
    r->users = ferry_i_ids_copy(users);
    r->items = ferry_i_ids_copy(items);
    FERRY_HAVE(ctx, r->users && r->items);
    FERRY_MOVE(*out, r);
done:
    ferry_i_ratings_free(r);
    return st;
}

/* n triples, all zero, to be filled by the caller. */
ferry_status ferry_i_ratings_new(ferry_ctx *ctx, int64_t n, const ferry_ids *users,
                                 const ferry_ids *items, ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    ferry_ratings *r = NULL;

    *out = NULL;
    FERRY_TRY(empty(ctx, users, items, &r));
    r->n = n;
    FERRY_NEW(ctx, r->user, n);
    FERRY_NEW(ctx, r->item, n);
    FERRY_NEW(ctx, r->value, n);
    FERRY_MOVE(*out, r);
done:
    ferry_i_ratings_free(r);
    return st;
}

ferry_status ferry_i_ratings_borrowed(ferry_ctx *ctx, int64_t n, const int32_t *user,
                                      const int32_t *item, const double *value,
                                      const ferry_ids *users, const ferry_ids *items,
                                      ferry_held **held, ferry_ratings **out)
{
    FERRY_PASS(empty(ctx, users, items, out));
    ferry_ratings *r = *out;
    r->n = n;
    r->user = (int32_t *)(uintptr_t)user;
    r->item = (int32_t *)(uintptr_t)item;
    r->value = (double *)(uintptr_t)value;
    FERRY_MOVE(r->held, *held);
    return FERRY_OK;
}

ferry_status ferry_i_ratings_share(ferry_ctx *ctx, const ferry_ratings *r,
                                   ferry_ratings **out)
{
    ferry_ratings *of = (ferry_ratings *)(uintptr_t)r; /* only the count changes */
    ferry_ratings *s = ferry_i_calloc(1, sizeof *s);

    *out = s;
    if (!s) return ferry_i_nomem(ctx);
    s->n = r->n;
    s->user = r->user;
    s->item = r->item;
    s->value = r->value;
    s->users = r->users;
    s->items = r->items;
    s->lo = r->lo;
    s->hi = r->hi;
    s->ranged = r->ranged;
    s->of = of;
    atomic_init(&s->refs, 1);
    atomic_fetch_add(&of->refs, 1);
    return FERRY_OK;
}

/* The range stays: a copy with values hidden must predict within the same one. */
ferry_status ferry_i_ratings_copy(ferry_ctx *ctx, const ferry_ratings *r,
                                  ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    double *value = NULL;

    *out = NULL;
    FERRY_NEW(ctx, value, r->n);
    if (r->n > 0) memcpy(value, r->value, (size_t)r->n * sizeof *value);
    FERRY_TRY(ferry_i_ratings_share(ctx, r, out));
    FERRY_MOVE((*out)->value, value);
done:
    ferry_i_free(value);
    return st;
}

/* An array is r's own unless it lies in a file or is another's. */
void ferry_i_ratings_forget(ferry_ratings *r)
{
    const ferry_ratings *of = r->of;

    if (!r->held && (!of || r->user != of->user)) ferry_i_free(r->user);
    if (!r->held && (!of || r->item != of->item)) ferry_i_free(r->item);
    if (!r->held && (!of || r->value != of->value)) ferry_i_free(r->value);
    r->user = r->item = NULL;
    r->value = NULL;
    r->n = 0;
}

void ferry_i_ratings_free(ferry_ratings *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) > 1) return;
    ferry_ratings *of = r->of;
    ferry_i_ratings_forget(r);
    ferry_i_free(r->line);
    if (!of || r->users != of->users) ferry_i_ids_free(r->users);
    if (!of || r->items != of->items) ferry_i_ids_free(r->items);
    ferry_i_held_free(r->held);
    ferry_i_free(r);
    ferry_i_ratings_free(of);
}

/* lo and hi from the finite values, unless the user gave them. NaN when there is no
 * value. */
void ferry_i_ratings_range(ferry_ratings *r)
{
    if (r->ranged) return;
    r->lo = r->hi = NAN; /* until there is one */
    for (int64_t e = 0; e < r->n; e++) {
        r->lo = fmin(r->lo, r->value[e]); /* fmin and fmax pass over NaN */
        r->hi = fmax(r->hi, r->value[e]);
    }
}

/* Entries by user: of users [from, to), who are looked at together, those of user i are order[start[i] - start[from]] up to
 * the next user's. */
typedef struct by_user {
    int64_t users, most;           /* at most so many entries at a time */
    int64_t *start, *next, *order; /* start: users + 1 */
} by_user;

/* The entries of users from `from` on, as many users as fit; where these end. */
static int64_t some_users(const ferry_ratings *r, const by_user *b, int64_t from)
{
    int64_t to = from + 1;

    while (to < b->users && b->start[to + 1] - b->start[from] <= b->most)
        to++;
    for (int64_t i = from; i < to; i++)
        b->next[i] = b->start[i] - b->start[from];
    for (int64_t e = 0; e < r->n; e++)
        if (r->user[e] >= from && r->user[e] < to) b->order[b->next[r->user[e]]++] = e;
    return to;
}

/* Where each entry, or the one that stays in its place, will be. last: an item's, of the user at hand. */
static ferry_status keep_lines(ferry_ctx *ctx, ferry_ratings *r, const by_user *b,
                               const uint8_t *drop, int64_t *last)
{
    ferry_status st = FERRY_OK;
    int64_t kept = 0;

    FERRY_NEW(ctx, r->line, r->n);
    r->lines = r->n;
    for (int64_t e = 0; e < r->n; e++)
        if (!drop[e]) r->line[e] = kept++;
    for (int64_t from = 0, to = 0; from < b->users; from = to) {
        to = some_users(r, b, from);
        for (int64_t k = b->start[to] - b->start[from] - 1; k >= 0; k--) {
            const int64_t e = b->order[k];
            *(drop[e] ? &r->line[e] : &last[r->item[e]]) =
                drop[e] ? last[r->item[e]] : r->line[e];
        }
    }
done:
    return st;
}

/* Leave out what is marked. r's arrays may be another's: it gets new ones. */
static ferry_status leave_out(ferry_ctx *ctx, const uint8_t *drop, int64_t kept,
                              ferry_ratings *r)
{
    ferry_status st = FERRY_OK;
    int32_t *user = NULL, *item = NULL;
    double *value = NULL;
    int64_t n = 0;

    FERRY_NEW(ctx, user, kept);
    FERRY_NEW(ctx, item, kept);
    FERRY_NEW(ctx, value, kept);
    for (int64_t e = 0; e < r->n; e++) {
        if (drop[e]) continue;
        user[n] = r->user[e];
        item[n] = r->item[e];
        value[n++] = r->value[e];
    }
    ferry_i_ratings_forget(r);
    r->n = n;
    FERRY_MOVE(r->user, user);
    FERRY_MOVE(r->item, item);
    FERRY_MOVE(r->value, value);
done:
    FERRY_FREE(user, item, value);
    return st;
}

/* drop[e] <- whether the same pair comes again: a user's entries are gone through from the last to the first, and an item
 * that was met already is left out. met, of an item: user + 1 who has it, the last looked at. How many. */
static int64_t mark_repeated(const ferry_ratings *r, const by_user *b, int64_t *met,
                             uint8_t *drop)
{
    int64_t repeated = 0;

    for (int64_t from = 0, to = 0; from < b->users; from = to) {
        to = some_users(r, b, from);
        for (int64_t k = b->start[to] - b->start[from] - 1; k >= 0; k--) {
            const int64_t e = b->order[k];
            int64_t *who = &met[r->item[e]];
            if (*who == r->user[e] + 1) {
                drop[e] = 1; /* pages of it that nobody writes to take no memory */
                repeated++;
            }
            *who = r->user[e] + 1;
        }
    }
    return repeated;
}

/* Of pairs that repeat the last one stays, since files list ratings in the order given. O(n): users are looked at some at a
 * time, in at most 17 passes or as many as there are millions of ratings, whichever is less, so that half a byte a rating is
 * enough. */
ferry_status ferry_i_ratings_tidy(ferry_ctx *ctx, ferry_ratings *r)
{
    ferry_status st = FERRY_OK;
    by_user b = {.most = r->n / 16 < 1 << 20 ? 1 << 20 : r->n / 16};
    int64_t items = 0, *met = NULL;
    uint8_t *drop = NULL;

    for (int64_t e = 0; e < r->n; e++) {
        b.users = r->user[e] < b.users ? b.users : r->user[e] + 1;
        items = r->item[e] < items ? items : r->item[e] + 1;
    }
    FERRY_NEW(ctx, b.start, b.users + 1);
    FERRY_NEW(ctx, b.next, b.users);
    for (int64_t e = 0; e < r->n; e++)
        b.start[r->user[e] + 1]++;
    for (int64_t i = 0; i < b.users; i++) {
        b.most = b.start[i + 1] > b.most ? b.start[i + 1] : b.most;
        b.start[i + 1] += b.start[i];
    }
    FERRY_NEW(ctx, b.order, b.most < r->n ? b.most : r->n);
    FERRY_NEW(ctx, met, items);
    FERRY_NEW(ctx, drop, r->n);
    const int64_t repeated = mark_repeated(r, &b, met, drop);
    if (repeated > 0) {
        FERRY_TRY(keep_lines(ctx, r, &b, drop, met));
        FERRY_TRY(leave_out(ctx, drop, r->n - repeated, r));
    }
    ferry_i_ratings_range(r);
done:
    FERRY_FREE(b.start, b.next, b.order, met, drop);
    return st;
}

void ferry_i_ratings_tell(ferry_ctx *ctx, const ferry_domain *d)
{
    if (d->ratings && d->ratings->line)
        ferry_i_log(
            ctx, FERRY_WARN,
            "domain '%s': %lld ratings of a user for an item that is rated again later "
            "were left out",
            d->name, (long long)(d->ratings->lines - d->ratings->n));
}
