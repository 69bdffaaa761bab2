/* Instances that wait for their label: a list by age and a hash table by id. */
#include <string.h>
#include <xxhash.h>

#include "stream/stream.h"

static ferry_waiting **bucket_of(const ferry_queue *q, const char *id, int64_t n)
{
    return &q->bucket[XXH3_64bits(id, (size_t)n) & ((uint64_t)q->buckets - 1)];
}

/* Ids may hold any byte but 0; the one asked for need not end in 0. */
ferry_waiting *ferry_i_queue_find(const ferry_queue *q, const char *id, int64_t n)
{
    ferry_waiting *w = q->buckets ? *bucket_of(q, id, n) : NULL;

    while (w && (strncmp(w->id, id, (size_t)n) != 0 || w->id[n]))
        w = w->next;
    return w;
}

void ferry_i_waiting_free(ferry_waiting *w)
{
    if (!w) return;
    FERRY_FREE(w->id, w->value, w->index, w->vote, w);
}

static void put_in_bucket(ferry_queue *q, ferry_waiting *w)
{
    ferry_waiting **b = bucket_of(q, w->id, (int64_t)strlen(w->id));

    w->next = *b;
    *b = w;
}

static bool more_buckets(ferry_queue *q)
{
    const int64_t n = q->buckets ? 2 * q->buckets : 64;
    ferry_waiting **bucket = ferry_i_calloc(n, sizeof *bucket);

    if (!bucket) return false;
    ferry_i_free(q->bucket);
    q->bucket = bucket;
    q->buckets = n;
    for (ferry_waiting *w = q->oldest; w; w = w->newer)
        put_in_bucket(q, w);
    return true;
}

static void *copy_of(const void *from, int64_t n, size_t size)
{
    void *to = ferry_i_calloc(n, size);

    if (to && n > 0) memcpy(to, from, (size_t)n * size);
    return to;
}

/* At the young end of the list and in front of its bucket. The table doubles when it is
 * full, so finding stays a matter of one or two comparisons however many wait. */
ferry_status ferry_i_queue_add(ferry_ctx *ctx, ferry_queue *q, const char *id, int64_t id_n,
                               const ferry_row *x, const int32_t *vote, int64_t votes)
{
    ferry_status st = FERRY_OK;
    ferry_waiting *w = ferry_i_calloc(1, sizeof *w);

    FERRY_HAVE(ctx, w);
    w->n = x->n;
    w->answer = -1;
    w->id = ferry_i_strndup(id, id_n);
    w->value = copy_of(x->value, x->n, sizeof *x->value);
    if (x->index) w->index = copy_of(x->index, x->n, sizeof *x->index);
    w->vote = copy_of(vote, votes, sizeof *vote);
    FERRY_HAVE(ctx, w->id && w->value && w->vote && !x->index == !w->index &&
                        (q->n < q->buckets || more_buckets(q)));
    w->older = q->newest;
    *(q->newest ? &q->newest->newer : &q->oldest) = w;
    q->newest = w;
    put_in_bucket(q, w);
    q->n++;
    w = NULL;
done:
    ferry_i_waiting_free(w);
    return st;
}

void ferry_i_queue_take(ferry_queue *q, ferry_waiting *w)
{
    ferry_waiting **at = bucket_of(q, w->id, (int64_t)strlen(w->id));

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    *(w->older ? &w->older->newer : &q->oldest) = w->newer;
    *(w->newer ? &w->newer->older : &q->newest) = w->older;
    q->n--;
}

void ferry_i_queue_remove(ferry_queue *q, ferry_waiting *w)
{
    ferry_i_queue_take(q, w);
    ferry_i_waiting_free(w);
}

void ferry_i_queue_clear(ferry_queue *q)
{
    while (q->oldest)
        ferry_i_queue_remove(q, q->oldest);
    ferry_i_free(q->bucket);
    *q = (ferry_queue){0};
}

/* ---- ids whose label was learned ---- */

/* Never 0, which is an empty slot. */
uint64_t ferry_i_learned_hash(const char *id, int64_t n)
{
    const uint64_t h = XXH3_64bits(id, (size_t)n);

    return h ? h : 1;
}

/* Where a hash stands, or the empty slot where it would. */
static int64_t slot_of(const ferry_learned *l, uint64_t hash)
{
    int64_t i = (int64_t)(hash & ((uint64_t)l->slots - 1));

    while (l->slot[i] && l->slot[i] != hash)
        i = (i + 1) & (l->slots - 1);
    return i;
}

bool ferry_i_learned_has(const ferry_learned *l, const char *id, int64_t n)
{
    return l->most > 0 && n > 0 && l->slot[slot_of(l, ferry_i_learned_hash(id, n))] != 0;
}

/* What stood behind a slot that becomes empty moves up, or it would not be found. */
static void drop(ferry_learned *l, uint64_t hash)
{
    const int64_t mask = l->slots - 1;
    int64_t hole = slot_of(l, hash);

    if (!l->slot[hole]) return;
    for (int64_t i = (hole + 1) & mask; l->slot[i]; i = (i + 1) & mask) {
        const int64_t home = (int64_t)(l->slot[i] & (uint64_t)mask);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        l->slot[hole] = l->slot[i];
        hole = i;
    }
    l->slot[hole] = 0;
}

/* Its place in the ring stays, empty: it must not be dropped once more when its turn comes. */
void ferry_i_learned_remove(ferry_learned *l, uint64_t hash)
{
    if (l->most == 0) return;
    drop(l, hash);
    for (int64_t i = 0; i < l->most; i++)
        if (l->ring[i] == hash) l->ring[i] = 0;
}

/* 0 takes a place as well, one that was emptied in the ring that this is copied from. */
void ferry_i_learned_add(ferry_learned *l, uint64_t hash)
{
    if (l->most == 0 || (hash && l->slot[slot_of(l, hash)])) return;
    if (l->n < l->most)
        l->n++;
    else if (l->ring[l->next])
        drop(l, l->ring[l->next]);
    l->ring[l->next] = hash;
    l->next = (l->next + 1) % l->most;
    if (hash) l->slot[slot_of(l, hash)] = hash;
}

bool ferry_i_learned_resize(ferry_learned *l, int64_t most)
{
    ferry_learned to = {.most = most, .slots = 64};

    if (most == l->most) return true;
    while (to.slots < 2 * most)
        to.slots *= 2;
    to.ring = ferry_i_calloc(most, sizeof *to.ring);
    to.slot = ferry_i_calloc(to.slots, sizeof *to.slot);
    if (!to.ring || !to.slot) {
        FERRY_FREE(to.ring, to.slot);
        return false;
    }
    for (int64_t i = 0; i < l->n; i++) /* oldest first */
        ferry_i_learned_add(&to, l->ring[(l->next + l->most - l->n + i) % l->most]);
    FERRY_FREE(l->ring, l->slot);
    *l = to;
    return true;
}
