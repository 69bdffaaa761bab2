/* The best items of a user.
 * Every item is scored; what is saved is sorting: a heap of n holds the best while the
 * items go by. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/shared/ratings.h"

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

/* Say for all that a user rated whether it is passed over: set before, unset after, so
 * that the marks are cleared in the time of the user's ratings, not of all items. */
static void mark(const rating_model *m, int64_t user, uint8_t value, uint8_t *skip)
{
    for (int64_t e = user < 0 ? 0 : m->start[user]; user >= 0 && e < m->start[user + 1];
         e++)
        skip[m->item[e]] = value;
}

/* A batch of users with all items at once: neighbours of an item are found once for them. */
typedef struct batch {
    int64_t most, n;      /* users */
    int64_t *user, *item; /* most x items */
    double *value;
} batch;

static void batch_clear(batch *b)
{
    FERRY_FREE(b->user, b->item, b->value);
}

static ferry_status batch_new(ferry_ctx *ctx, int64_t items, int64_t users, batch *b)
{
    ferry_status st = FERRY_OK;

    b->most = 1 + 200000 / (items + 1);
    if (b->most > users) b->most = users;
    FERRY_NEW(ctx, b->user, b->most * items);
    FERRY_NEW(ctx, b->item, b->most * items);
    FERRY_NEW(ctx, b->value, b->most * items);
done:
    return st;
}

/* Users from..from + n of `who`. */
static ferry_status batch_fill(ferry_ctx *ctx, const rating_model *m, const ferry_ids *who,
                               int64_t from, batch *b)
{
    const int64_t items = m->q->rows, left = ferry_i_ids_count(who) - from;

    b->n = left < b->most ? left : b->most;
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t user = ferry_i_ids_find(m->users, ferry_i_ids_at(who, from + i));
        for (int64_t j = 0; j < items; j++) {
            b->user[i * items + j] = user;
            b->item[i * items + j] = j;
        }
    }
    return ferry_i_rating_pairs(ctx, m, b->n * items, b->user, b->item, b->value);
}

/* O(users items (rank + log n)): every pair is scored, a heap keeps the n best. */
ferry_status ferry_i_rating_top(ferry_ctx *ctx, const void *state, const ferry_ids *users,
                                int64_t n, bool rated, ferry_ratings **out)
{
    ferry_status st = FERRY_OK;
    const rating_model *m = state;
    const ferry_ids *who = users ? users : m->users;
    const int64_t count = ferry_i_ids_count(who), items = m->q->rows;
    int64_t at = 0, strangers = 0;
    uint8_t *skip = ferry_i_calloc(items, 1);
    ranked *heap = NULL;
    ferry_ratings *r = NULL;
    batch b = {0};
    bool finish = false;

    *out = NULL;
    if (n > items) n = items;
    FERRY_NEW(ctx, heap, n);
    FERRY_HAVE(ctx, skip);
    FERRY_TRY(ferry_i_ratings_new(ctx, count * n, who, m->items, &r));
    FERRY_TRY(batch_new(ctx, items, count, &b));
    for (int64_t i = 0; i < count && items > 0; i++) {
        if (i % b.most == 0) FERRY_TRY(batch_fill(ctx, m, who, i, &b));
        const int64_t user = b.user[i % b.most * items];
        strangers += user < 0;
        if (!rated) mark(m, user, 1, skip);
        const int64_t have = best_of(items, b.value + i % b.most * items, n, skip, heap);
        /* Also where nothing was marked: zeros stay zeros. */
        mark(m, user, 0, skip);
        for (int64_t k = 0; k < have; k++, at++) {
            r->user[at] = (int32_t)i;
            r->item[at] = (int32_t)heap[k].item;
            r->value[at] = fmin(fmax(heap[k].value, m->lo), m->hi);
        }
        if (i % 1000 == 0) FERRY_TRY(ferry_i_progress(ctx, "top", i, count, NAN, &finish));
    }
    r->n = at;
    if (strangers > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "%lld of %lld users are new to the model: they get what is rated "
                    "highest in general",
                    (long long)strangers, (long long)count);
    FERRY_MOVE(*out, r);
done:
    ferry_i_ratings_free(r);
    batch_clear(&b);
    FERRY_FREE(heap, skip);
    return st;
}
