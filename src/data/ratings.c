/* Ratings: observed (user, item, value) triples.
 *
 * Three arrays beside each other, in the order of the file, with users and items numbered by
 * first appearance. lo and hi are the range that predictions are kept in: what the user gave,
 * else what the finite values span. */
#include <math.h>
#include <string.h>

#include "data/data.h"

/* n triples, all zero, to be filled by the caller. The ids are copied: a split of ratings
 * keeps the numbering of the whole, also of users it has no rating of. */
ferry_status ferry_i_ratings_new(ferry_ctx *ctx, int64_t n, const ferry_ids *users,
                                 const ferry_ids *items, ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    ferry_ratings *r = ferry_i_calloc(1, sizeof *r);

    *out = NULL;
    FERRY_HAVE(ctx, r);
    r->n = n;
    r->user = ferry_i_calloc(n, sizeof *r->user);
    r->item = ferry_i_calloc(n, sizeof *r->item);
    r->value = ferry_i_calloc(n, sizeof *r->value);
    r->users = ferry_i_ids_copy(users);
    r->items = ferry_i_ids_copy(items);
    FERRY_HAVE(ctx, r->user && r->item && r->value && r->users && r->items);
    FERRY_MOVE(*out, r);
done:
    ferry_i_ratings_free(r);
    return st;
}

/* All of it, range included: a copy with values hidden must predict within the same
 * range. */
ferry_status ferry_i_ratings_copy(ferry_ctx *ctx, const ferry_ratings *r,
                                  ferry_ratings **out)
{
    ferry_status st = ferry_i_ratings_new(ctx, r->n, r->users, r->items, out);

    if (st != FERRY_OK) return st;
    memcpy((*out)->user, r->user, (size_t)r->n * sizeof *r->user);
    memcpy((*out)->item, r->item, (size_t)r->n * sizeof *r->item);
    memcpy((*out)->value, r->value, (size_t)r->n * sizeof *r->value);
    (*out)->lo = r->lo;
    (*out)->hi = r->hi;
    (*out)->ranged = r->ranged;
    return st;
}

void ferry_i_ratings_free(ferry_ratings *r)
{
    if (!r) return;
    FERRY_FREE(r->user, r->item, r->value, r->line);
    ferry_i_ids_free(r->users);
    ferry_i_ids_free(r->items);
    ferry_i_free(r);
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

/* Entries by user: those of user i are order[start[i - 1]] .. order[start[i] - 1]. */
typedef struct by_user {
    int64_t users, *start, *order;
} by_user;

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
    for (int64_t i = 0, from = 0; i < b->users; from = b->start[i++])
        for (int64_t k = b->start[i] - 1; k >= from; k--) {
            const int64_t e = b->order[k];
            *(drop[e] ? &r->line[e] : &last[r->item[e]]) =
                drop[e] ? last[r->item[e]] : r->line[e];
        }
done:
    return st;
}

/* Of pairs that repeat the last one stays, since files list ratings in the order given: a user's entries are gone through
 * from the last to the first, and an item that was met already is left out. O(n), 9 bytes a rating. */
ferry_status ferry_i_ratings_tidy(ferry_ctx *ctx, ferry_ratings *r)
{
    ferry_status st = FERRY_OK;
    int64_t users = 0, items = 0, repeated = 0;
    int64_t *start = NULL, *order = NULL; /* entries by user */
    int64_t *met = NULL; /* of an item: user + 1 who has it, the last looked at */
    uint8_t *drop = NULL;
    int64_t kept = 0;

    for (int64_t e = 0; e < r->n; e++) {
        users = r->user[e] < users ? users : r->user[e] + 1;
        items = r->item[e] < items ? items : r->item[e] + 1;
    }
    FERRY_NEW(ctx, start, users + 1);
    FERRY_NEW(ctx, order, r->n);
    FERRY_NEW(ctx, met, items);
    FERRY_NEW(ctx, drop, r->n);
    for (int64_t e = 0; e < r->n; e++)
        start[r->user[e] + 1]++;
    for (int64_t i = 0; i < users; i++)
        start[i + 1] += start[i];
    for (int64_t e = 0; e < r->n; e++)
        order[start[r->user[e]]++] = e; /* start[i] becomes the end of user i */
    for (int64_t i = 0, from = 0; i < users; from = start[i++])
        for (int64_t k = start[i] - 1; k >= from; k--) {
            int64_t *who = &met[r->item[order[k]]];
            drop[order[k]] = *who == i + 1;
            repeated += drop[order[k]];
            *who = i + 1;
        }
    if (repeated > 0)
        FERRY_TRY(keep_lines(ctx, r, &(by_user){users, start, order}, drop, met));
    for (int64_t e = 0; e < r->n; e++) {
        if (drop[e]) continue;
        r->user[kept] = r->user[e];
        r->item[kept] = r->item[e];
        r->value[kept++] = r->value[e];
    }
    r->n = kept;
    ferry_i_ratings_range(r);
done:
    FERRY_FREE(start, order, met, drop);
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
