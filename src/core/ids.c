/* Id maps: strings numbered in the order added.
 *
 * Files name millions of instances, so one id must not cost one allocation: all texts lie in
 * one arena, ended by 0, and a hash table with open addressing (XXH3, linear probing, at most
 * half full) holds their numbers. Finding and adding take O(length) on average; a pointer from
 * ferry_i_ids_at() lives until the next add, which may move the arena. */
#include <string.h>
#include <xxhash.h>

#include "core/core.h"

struct ferry_ids {
    int64_t n, cap;
    int64_t *offset; /* n: where each string starts in text */
    char *text;      /* 0-ended strings, one after the other */
    int64_t used, room;
    int64_t *slot; /* size slots (a power of two): number + 1, or 0 */
    int64_t slots;
};

ferry_ids *ferry_i_ids_new(void)
{
    return ferry_i_calloc(1, sizeof(ferry_ids));
}

void ferry_i_ids_free(ferry_ids *ids)
{
    if (!ids) return;
    FERRY_FREE(ids->offset, ids->text, ids->slot, ids);
}

int64_t ferry_i_ids_count(const ferry_ids *ids)
{
    return ids ? ids->n : 0;
}

const char *ferry_i_ids_at(const ferry_ids *ids, int64_t i)
{
    return ids->text + ids->offset[i];
}

/* The slot of id, or the empty one where it would go. */
static int64_t probe(const ferry_ids *ids, const char *id, int64_t len)
{
    const uint64_t mask = (uint64_t)ids->slots - 1;
    uint64_t s = XXH3_64bits(id, (size_t)len) & mask;

    for (; ids->slot[s]; s = (s + 1) & mask) {
        const char *there = ferry_i_ids_at(ids, ids->slot[s] - 1);
        /* strncmp stops at the 0 of a shorter text, so the arena is not read beyond it */
        if (strncmp(there, id, (size_t)len) == 0 && there[len] == 0) break;
    }
    return (int64_t)s;
}

/* -1 when it is not there. An empty map has no slots yet. */
int64_t ferry_i_ids_findn(const ferry_ids *ids, const char *id, int64_t len)
{
    if (!ids || ids->slots == 0) return -1;
    return ids->slot[probe(ids, id, len)] - 1;
}

int64_t ferry_i_ids_find(const ferry_ids *ids, const char *id)
{
    return ferry_i_ids_findn(ids, id, (int64_t)strlen(id));
}

/* Keep the table at most half full. */
static bool make_slots(ferry_ids *ids)
{
    if (2 * (ids->n + 1) <= ids->slots) return true;
    /* the table holds numbers only: a new one is filled by hashing all texts again */
    const int64_t want = ids->slots ? 2 * ids->slots : 64;
    int64_t *slot = ferry_i_calloc(want, sizeof *slot);
    if (!slot) return false;
    ferry_i_free(ids->slot);
    ids->slot = slot;
    ids->slots = want;
    for (int64_t i = 0; i < ids->n; i++) {
        const char *id = ferry_i_ids_at(ids, i);
        ids->slot[probe(ids, id, (int64_t)strlen(id))] = i + 1;
    }
    return true;
}

/* Room for all three arrays is made before any of them changes: a failed add leaves the map as
 * it was. */
int64_t ferry_i_ids_addn(ferry_ids *ids, const char *id, int64_t len, bool *added)
{
    const char *zero = memchr(id, 0, (size_t)len);
    if (zero) len = zero - id; /* an id ends at a zero byte */
    const int64_t at = ferry_i_ids_findn(ids, id, len);
    if (added) *added = at < 0;
    if (at >= 0) return at;
    if (!make_slots(ids) || !FERRY_GROW(ids->offset, ids->n, ids->cap)) return -1;
    if (ids->used + len + 1 > ids->room) {
        /* doubling: O(1) moves a byte on the whole */
        const int64_t want = 2 * ids->room + len + 64;
        char *text = ferry_i_realloc(ids->text, want, 1);
        if (!text) return -1;
        ids->text = text;
        ids->room = want;
    }
    memcpy(ids->text + ids->used, id, (size_t)len);
    ids->text[ids->used + len] = 0;
    ids->slot[probe(ids, id, len)] = ids->n + 1;
    ids->offset[ids->n] = ids->used;
    ids->used += len + 1;
    return ids->n++;
}

int64_t ferry_i_ids_add(ferry_ids *ids, const char *id, bool *added)
{
    return ferry_i_ids_addn(ids, id, (int64_t)strlen(id), added);
}

/* The same numbers, since they are added in their order. NULL in gives an empty map; NULL
 * out: no memory. */
ferry_ids *ferry_i_ids_copy(const ferry_ids *ids)
{
    ferry_ids *copy = ferry_i_ids_new();

    for (int64_t i = 0; copy && i < ferry_i_ids_count(ids); i++) {
        if (ferry_i_ids_add(copy, ferry_i_ids_at(ids, i), NULL) < 0) {
            ferry_i_ids_free(copy);
            copy = NULL;
        }
    }
    return copy;
}

/* Numbers as texts go through the one formatter, so that they equal ids read from files. */
ferry_ids *ferry_i_ids_numbers(int64_t n)
{
    ferry_ids *ids = ferry_i_ids_new();
    char text[32];

    for (int64_t i = 0; ids && i < n; i++) {
        (void)ferry_i_format_real(text, (double)(i + 1));
        if (ferry_i_ids_add(ids, text, NULL) < 0) {
            ferry_i_ids_free(ids);
            ids = NULL;
        }
    }
    return ids;
}
