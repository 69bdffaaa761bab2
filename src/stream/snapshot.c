/* Snapshots: the model as a .ferry file like any other, with what else a stream needs to go
 * on under names that begin with "ferry.stream.". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "stream/stream.h"

ferry_hash ferry_i_stream_hash(const void *bytes, int64_t n)
{
    const XXH128_hash_t h = XXH3_128bits(bytes, (size_t)n);

    return (ferry_hash){h.high64, h.low64};
}

/* As 32 hexadecimal digits, for JSON. */
static void hash_text(ferry_hash h, char text[33])
{
    (void)snprintf(text, 33, "%016llx%016llx", (unsigned long long)h.high,
                   (unsigned long long)h.low);
}

/* What waits, oldest first, as arrays. */
typedef struct queue_arrays {
    ferry_ids *ids;
    int64_t n, entries;
    int64_t *start;  /* n + 1: where each instance's values begin */
    uint8_t *sparse; /* n */
    double *value;   /* entries */
    int64_t *index;  /* entries, 0 for dense ones */
    int64_t *vote;   /* n x votes */
    int64_t *answer; /* n */
} queue_arrays;

static void free_arrays(queue_arrays *a)
{
    ferry_i_ids_free(a->ids);
    FERRY_FREE(a->start, a->sparse, a->value, a->index, a->vote, a->answer);
}

/* The queue as flat arrays: instance i has entries start[i] .. start[i + 1] of value and
 * index. */
static ferry_status gather(ferry_ctx *ctx, const ferry_worker *w, queue_arrays *a)
{
    ferry_status st = FERRY_OK;
    int64_t i = 0, at = 0;

    *a = (queue_arrays){.n = w->queue.n};
    for (const ferry_waiting *q = w->queue.oldest; q; q = q->newer)
        a->entries += q->n;
    a->ids = ferry_i_ids_new();
    a->start = ferry_i_calloc(a->n + 1, sizeof *a->start);
    a->sparse = ferry_i_calloc(a->n, 1);
    a->value = ferry_i_calloc(a->entries, sizeof *a->value);
    a->index = ferry_i_calloc(a->entries, sizeof *a->index);
    a->vote = ferry_i_calloc(a->n * w->votes, sizeof *a->vote);
    a->answer = ferry_i_calloc(a->n, sizeof *a->answer);
    FERRY_HAVE(ctx, a->ids && a->start && a->sparse && a->value && a->index && a->vote &&
                        a->answer);
    for (const ferry_waiting *q = w->queue.oldest; q; q = q->newer, i++) {
        FERRY_HAVE(ctx, ferry_i_ids_add(a->ids, q->id, NULL) >= 0);
        a->sparse[i] = q->index != NULL;
        a->answer[i] = q->answer;
        for (int64_t e = 0; e < q->n; e++) {
            a->value[at + e] = q->value[e];
            a->index[at + e] = q->index ? q->index[e] : 0;
        }
        for (int64_t j = 0; j < w->votes; j++)
            a->vote[i * w->votes + j] = q->vote[j];
        at += q->n;
        a->start[i + 1] = at;
    }
done:
    return st;
}

/* Hashes of learned ids, oldest first. */
static ferry_status put_learned(ferry_ctx *ctx, const ferry_learned *l, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    int64_t *hash = ferry_i_calloc(l->n, sizeof *hash);

    FERRY_HAVE(ctx, hash);
    for (int64_t i = 0; i < l->n; i++)
        hash[i] = (int64_t)l->ring[(l->next + l->most - l->n + i) % l->most];
    if (l->most > 0)
        FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ferry.stream.learned", l->n, hash));
done:
    ferry_i_free(hash);
    return st;
}

/* A snapshot is a model file that any other command can use too; the stream's own state
 * goes along under names that those commands pass over. */
ferry_status ferry_i_snapshot_pack(ferry_ctx *ctx, const ferry_worker *w, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t seq[] = {w->seq, w->most},
                  version[] = {w->version, w->following, w->learned.most};
    queue_arrays a = {0};
    char hash[33];

    hash_text(w->hash, hash);
    FERRY_TRY(gather(ctx, w, &a));
    FERRY_TRY(ferry_i_model_pack(ctx, w->model, dict));
    FERRY_TRY(ferry_i_dict_put_text(ctx, dict, "ferry.stream.model", hash));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ferry.stream.seq", FERRY_COUNT(seq), seq));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "ferry.stream.ids", a.ids));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ferry.stream.start", a.n + 1, a.start));
    FERRY_TRY(ferry_i_dict_put_bytes(ctx, dict, "ferry.stream.sparse", a.n, a.sparse));
    FERRY_TRY(
        ferry_i_dict_put_reals(ctx, dict, "ferry.stream.value", 1, a.entries, a.value));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ferry.stream.index", a.entries, a.index));
    FERRY_TRY(
        ferry_i_dict_put_ints(ctx, dict, "ferry.stream.note", a.n * w->votes, a.vote));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ferry.stream.answer", a.n, a.answer));
    FERRY_TRY(put_learned(ctx, &w->learned, dict));
    if (w->version > 0)
        FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ferry.stream.version",
                                        FERRY_COUNT(version), version));
done:
    free_arrays(&a);
    return st;
}

/* ---- back ---- */

/* Arrays of a dict. */
typedef struct borrowed_arrays {
    ferry_ids *ids; /* new */
    int64_t n, entries;
    const int64_t *start, *index, *vote;
    const int64_t *answer; /* NULL: an older file */
    const uint8_t *sparse;
    const double *value;
} borrowed_arrays;

/* The arrays as the file has them, with lengths that fit each other. The tensor of votes
 * is named as the first version of the format named it. */
static ferry_status borrow(ferry_ctx *ctx, const ferry_dict *dict, const ferry_worker *w,
                           borrowed_arrays *a)
{
    ferry_status st = FERRY_OK;
    int64_t starts = 0, votes = 0, one = 1;

    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "ferry.stream.ids", &a->ids));
    a->n = ferry_i_ids_count(a->ids);
    starts = a->n + 1;
    votes = a->n * w->votes;
    a->entries = -1;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "ferry.stream.start", &starts, &a->start));
    FERRY_TRY(ferry_i_dict_bytes(ctx, dict, "ferry.stream.sparse", &a->n, &a->sparse));
    FERRY_TRY(ferry_i_dict_reals_any(ctx, dict, "ferry.stream.value", &one, &a->entries,
                                     &a->value));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "ferry.stream.index", &a->entries, &a->index));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "ferry.stream.note", &votes, &a->vote));
    if (ferry_i_dict_has(dict, "ferry.stream.answer"))
        FERRY_TRY(ferry_i_dict_ints(ctx, dict, "ferry.stream.answer", &a->n, &a->answer));
    FERRY_NEED(ctx, a->start[0] == 0 && a->start[a->n] == a->entries, FERRY_EDATA,
               "ferry.stream.start does not end at %lld", (long long)a->entries);
done:
    return st;
}

/* Instance i into the queue, checked as a record from a line is. */
static ferry_status restore(ferry_ctx *ctx, const borrowed_arrays *a, int64_t i,
                            ferry_worker *w, int32_t *index)
{
    ferry_status st = FERRY_OK;
    const char *id = ferry_i_ids_at(a->ids, i);
    const int64_t from = a->start[i], n = a->start[i + 1] - from;
    char why[256];

    for (int64_t e = 0; e < n; e++)
        index[e] = (int32_t)a->index[from + e];
    const ferry_record r = {.kind = FERRY_RECORD_OBSERVE,
                            .id = id,
                            .id_n = (int64_t)strlen(id),
                            .sparse = a->sparse[i],
                            .n = n,
                            .value = a->value + from,
                            .index = index};
    FERRY_NEED(ctx, r.id_n > 0 && ferry_i_worker_fits(w, &r, why, sizeof why), FERRY_EDATA,
               "instance '%s' that waits does not fit the model", id);
    for (int64_t j = 0; j < w->votes; j++)
        w->vote[j] = (int32_t)a->vote[i * w->votes + j];
    const ferry_row x = {n, r.sparse ? index : NULL, r.value};
    FERRY_TRY(ferry_i_queue_add(ctx, &w->queue, id, r.id_n, &x, w->vote, w->votes));
    if (a->answer && a->answer[i] >= 0 &&
        a->answer[i] < ferry_i_model_class_count(w->model))
        w->queue.newest->answer = (int32_t)a->answer[i];
done:
    return st;
}

/* The learned ids, if the stream remembered any. */
static ferry_status restore_learned(ferry_ctx *ctx, const ferry_dict *dict, ferry_worker *w)
{
    const int64_t *hash = NULL;
    int64_t n = -1;

    if (!ferry_i_dict_has(dict, "ferry.stream.learned")) return FERRY_OK;
    FERRY_PASS(ferry_i_dict_ints(ctx, dict, "ferry.stream.learned", &n, &hash));
    if (!ferry_i_learned_resize(&w->learned, n)) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < n; i++)
        ferry_i_learned_add(&w->learned, (uint64_t)hash[i]);
    return FERRY_OK;
}

/* Offsets are checked before any is used: the file is untrusted. */
static ferry_status restore_all(ferry_ctx *ctx, const ferry_dict *dict, ferry_worker *w)
{
    ferry_status st = FERRY_OK;
    borrowed_arrays a = {0};
    int32_t *index = NULL;
    int64_t longest = 0;

    FERRY_TRY(borrow(ctx, dict, w, &a));
    for (int64_t i = 0; i < a.n; i++) {
        const int64_t n = a.start[i + 1] - a.start[i];
        FERRY_NEED(ctx, n >= 0 && a.start[i + 1] <= a.entries, FERRY_EDATA,
                   "ferry.stream.start goes back");
        if (n > longest) longest = n;
    }
    FERRY_NEW(ctx, index, longest);
    for (int64_t i = 0; i < a.n; i++)
        FERRY_TRY(restore(ctx, &a, i, w, index));
done:
    ferry_i_free(index);
    ferry_i_ids_free(a.ids);
    return st;
}

/* Model first, then the queue, whose rows are checked against the model. */
static ferry_status unpack(ferry_ctx *ctx, const char *what, const ferry_dict *dict,
                           ferry_worker *w)
{
    ferry_status st = FERRY_OK;
    const char *text = ferry_i_dict_text(dict, "ferry.stream.model");
    const int64_t *seq = NULL, *version = NULL;
    int64_t two = 2, three = 3;
    ferry_model *model = NULL;
    ferry_hash hash = {0, 0};

    FERRY_TRY(ferry_i_model_unpack(ctx, what, dict, NULL, &model));
    if (text && strlen(text) == 32) {
        char half[17] = "";
        memcpy(half, text, 16);
        hash = (ferry_hash){strtoull(half, NULL, 16), strtoull(text + 16, NULL, 16)};
    }
    FERRY_TRY(ferry_i_worker_open(ctx, what, model, hash, w));
    st = ferry_i_dict_ints(ctx, dict, "ferry.stream.seq", &two, &seq);
    if (st == FERRY_OK && (seq[0] < 0 || seq[1] < 0))
        st = ferry_i_fail(ctx, FERRY_EDATA, "ferry.stream.seq is negative");
    if (st == FERRY_OK && ferry_i_dict_has(dict, "ferry.stream.version"))
        st = ferry_i_dict_ints(ctx, dict, "ferry.stream.version", &three, &version);
    if (version && (version[0] < 1 || version[1] < FERRY_FOLLOWS ||
                    version[1] > FERRY_LEFT || version[2] < 0 || version[2] > 10000000))
        st = ferry_i_fail(ctx, FERRY_EDATA, "ferry.stream.version is out of range");
    if (st == FERRY_OK) st = restore_all(ctx, dict, w);
    if (st == FERRY_OK) st = restore_learned(ctx, dict, w);
    if (st != FERRY_OK) (void)ferry_i_prefix(ctx, st, "%s: is corrupt", what);
    FERRY_TRY(st);
    w->seq = seq[0];
    w->most = seq[1];
    if (version) {
        w->version = version[0];
        w->following = (ferry_following)version[1];
        FERRY_HAVE(ctx, ferry_i_learned_resize(&w->learned, version[2]));
    }
done:
    return st;
}

ferry_status ferry_i_snapshot_unpack(ferry_ctx *ctx, const char *what,
                                     const ferry_dict *dict, ferry_worker *w)
{
    *w = (ferry_worker){0};
    const ferry_status st = unpack(ctx, what, dict, w);
    if (st != FERRY_OK) ferry_i_worker_close(w);
    return st;
}
