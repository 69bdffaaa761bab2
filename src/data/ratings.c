/* Ratings: observed (user, item, value) triples.
 *
 * Three arrays beside each other, in the order of the file, with users and items numbered by
 * first appearance. lo and hi are the range that predictions are kept in: what the user gave,
 * else what the finite values span. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

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
    FERRY_FREE(r->user, r->item, r->value);
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

/* Of pairs that repeat the last one stays, since files list ratings in the order given. The
 * scan goes from the end and moves what stays to the back, so each entry is looked at once:
 * O(n) with a hash table of pairs. */
ferry_status ferry_i_ratings_tidy(ferry_ctx *ctx, ferry_ratings *r, int64_t *repeated)
{
    ferry_status st = FERRY_OK;
    /* [kept, n) holds what stays of the entries looked at so far: it descends with the
     * scan */
    int64_t slots = 64, kept = r->n;
    int64_t *slot = NULL; /* entry + 1, or 0: pairs met so far, scanning from the end */

    /* a power of two, at most half full: short chains by linear probing */
    while (slots < 2 * r->n)
        slots *= 2;
    FERRY_NEW(ctx, slot, slots);
    for (int64_t e = r->n - 1; e >= 0; e--) {
        const int32_t pair[2] = {r->user[e], r->item[e]};
        uint64_t s = XXH3_64bits(pair, sizeof pair) & (uint64_t)(slots - 1);
        int64_t there = -1;
        for (; (there = slot[s] - 1) >= 0; s = (s + 1) & (uint64_t)(slots - 1))
            if (r->user[there] == pair[0] && r->item[there] == pair[1]) break;
        if (there >= 0) continue; /* a later entry has this pair */
        slot[s] = kept--;         /* kept + 1 of where it moves to */
        r->user[kept] = pair[0];
        r->item[kept] = pair[1];
        r->value[kept] = r->value[e];
    }
    /* what stays is [kept, n): as many went as there is room in front */
    *repeated = kept;
    r->n -= kept;
    memmove(r->user, r->user + kept, (size_t)r->n * sizeof *r->user);
    memmove(r->item, r->item + kept, (size_t)r->n * sizeof *r->item);
    memmove(r->value, r->value + kept, (size_t)r->n * sizeof *r->value);
    ferry_i_ratings_range(r);
done:
    ferry_i_free(slot);
    return st;
}
