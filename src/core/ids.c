/* Id maps: strings numbered in the order added.
 *
 * Files name millions of instances, so one id must not cost one allocation: all texts lie in
 * one arena, ended by 0, and a hash table with open addressing (XXH3, linear probing, at most
 * half full) holds their numbers. Finding and adding take O(length) on average; a pointer from
 * ferry_i_ids_at() lives until the next add, which may move the arena.
 *
 * Rows without names are called "1" .. "n". Where such a text stands follows from the number, and the
 * number from the text: these maps have the texts alone, 8 bytes a row instead of some 40, until something
 * else is added. */
#include <string.h>
#include <xxhash.h>

#include "core/core.h"

struct ferry_ids {
    int64_t n, cap;
    int64_t *offset; /* n: where each string starts in text */
    char *text;      /* 0-ended strings, one after the other */
    int64_t used, capacity;
    int64_t *slot; /* size slots (a power of two): number + 1, or 0 */
    int64_t slots;
    bool numbers; /* "1" .. "n": no offsets, no slots */
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

/* Bytes that "1" .. "k" take, each with its 0: of d digits there are 9 10^(d-1). */
static int64_t numbers_size(int64_t k)
{
    int64_t size = 0, first = 1;

    for (int64_t digits = 1; first <= k; digits++, first *= 10) {
        const int64_t last = k < 10 * first - 1 ? k : 10 * first - 1;
        size += (last - first + 1) * (digits + 1);
    }
    return size;
}

const char *ferry_i_ids_at(const ferry_ids *ids, int64_t i)
{
    return ids->text + (ids->numbers ? numbers_size(i) : ids->offset[i]);
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

/* The place of a number among 1 .. n, which has no sign, no zero before it and nothing behind; -1. */
static int64_t find_number(int64_t n, const char *id, int64_t len)
{
    int64_t k = 0;

    if (len < 1 || len > 15 || id[0] == '0') return -1;
    for (int64_t i = 0; i < len; i++) {
        if (id[i] < '0' || id[i] > '9') return -1;
        k = 10 * k + (id[i] - '0');
    }
    return k <= n ? k - 1 : -1;
}

/* -1 when it is not there. An empty map has no slots yet. */
int64_t ferry_i_ids_findn(const ferry_ids *ids, const char *id, int64_t len)
{
    if (ids && ids->numbers) return find_number(ids->n, id, len);
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
    int64_t want = 64;
    while (want < 2 * (ids->n + 1))
        want *= 2;
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

/* Numbers get offsets and slots like any other texts, since one that is no number comes. */
static bool be_plain(ferry_ids *ids)
{
    if (!ids->numbers) return true;
    int64_t *offset = ferry_i_calloc(ids->n + 1, sizeof *offset);
    if (!offset) return false;
    for (int64_t i = 0; i < ids->n; i++)
        offset[i] = numbers_size(i);
    ids->offset = offset;
    ids->cap = ids->n + 1;
    ids->numbers = false;
    if (make_slots(ids)) return true;
    ids->numbers = true; /* as it was */
    ids->offset = NULL;
    ids->cap = 0;
    ferry_i_free(offset);
    return false;
}

/* Space for all three arrays is made before any of them changes: a failed add leaves the map as
 * it was. */
int64_t ferry_i_ids_addn(ferry_ids *ids, const char *id, int64_t len, bool *added)
{
    const char *zero = memchr(id, 0, (size_t)len);
    if (zero) len = zero - id; /* an id ends at a zero byte */
    const int64_t at = ferry_i_ids_findn(ids, id, len);
    if (added) *added = at < 0;
    if (at >= 0) return at;
    if (!be_plain(ids) || !make_slots(ids) || !FERRY_GROW(ids->offset, ids->n, ids->cap))
        return -1;
    if (ids->used + len + 1 > ids->capacity) {
        /* doubling: O(1) moves a byte on the whole */
        const int64_t want = 2 * ids->capacity + len + 64;
        char *text = ferry_i_realloc(ids->text, want, 1);
        if (!text) return -1;
        ids->text = text;
        ids->capacity = want;
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
    ferry_ids *copy = NULL;

    if (ids && ids->numbers) return ferry_i_ids_numbers(ids->n);
    copy = ferry_i_ids_new();
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

    if (!ids) return NULL;
    ids->numbers = true;
    ids->n = n;
    ids->used = ids->capacity = numbers_size(n);
    ids->text =
        ferry_i_calloc(ids->capacity + 32, 1); /* the formatter wants space at the end */
    if (!ids->text) {
        ferry_i_ids_free(ids);
        return NULL;
    }
    char *at = ids->text;
    for (int64_t i = 0; i < n; i++)
        at += ferry_i_format_real(at, (double)(i + 1)) + 1;
    return ids;
}

void ferry_i_ids_print(const ferry_ids *ids, ferry_text *out)
{
    for (int64_t i = 0; i < ferry_i_ids_count(ids); i++) {
        const char *id = ferry_i_ids_at(ids, i);
        ferry_i_text_addn(out, id, (int64_t)strlen(id) + 1);
    }
}

ferry_status ferry_i_ids_parse(ferry_ctx *ctx, const char *name, const void *bytes,
                               int64_t n, ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *ids = NULL;
    const char *text = bytes;

    *out = NULL;
    FERRY_NEED(ctx, n == 0 || text[n - 1] == 0, FERRY_EDATA,
               "tensor '%s' does not end its last text", name);
    FERRY_HAVE(ctx, ids = ferry_i_ids_new());
    for (int64_t at = 0; at < n;) {
        const int64_t len = (int64_t)strlen(text + at);
        bool added = false;
        FERRY_HAVE(ctx, ferry_i_ids_addn(ids, text + at, len, &added) >= 0);
        FERRY_NEED(ctx, added, FERRY_EDATA, "tensor '%s' has '%s' twice", name, text + at);
        at += len + 1;
    }
    FERRY_MOVE(*out, ids);
done:
    ferry_i_ids_free(ids);
    return st;
}
