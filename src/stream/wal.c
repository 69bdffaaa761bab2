/* The log as bytes: a header, then records one after the other, all little-endian and
 * padded to multiples of 8.
 *
 *   header   "FERRYLOG", u32 version, u32 0, u64 model (2), u64 after, u64 nonce, u64 check
 *   record   u64 check, u64 seq, u64 durable, u32 size, u32 kind, then size bytes:
 *            u32 id_n, u32 y_n, u32 form (0 no x, 1 dense, 2 sparse), u32 0, u64 n,
 *            n doubles, n int32 when sparse, the id, y
 *
 * check is XXH3-64 of the rest of the record, seeded by the log's nonce: a record of
 * another log is not taken for one of this. `durable` is how far the log had been made
 * durable when the record was written. It tells damage from a write that the power cut
 * short: bytes below it had been acknowledged, bytes above it had not.
 */
#include <string.h>
#include <xxhash.h>

#include "stream/wal_bytes.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "logs are little-endian and are read in place: this machine needs a swap here"
#endif

/* Seeded, over everything but the check itself. */
uint64_t ferry_i_wal_check(const uint8_t *record, int64_t n, uint64_t nonce)
{
    return XXH3_64bits_withSeed(record + 8, (size_t)n - 8, nonce);
}

/* The nonce comes of the model and the place where the log begins, not of chance: the same
 * stream writes the same bytes. Two logs of one folder differ in where they begin, so
 * their records do not mix. */
void ferry_i_wal_header(wal_header *h, ferry_hash model, int64_t after)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, LOG_MAGIC, sizeof h->magic);
    h->version = FERRY_WAL_VERSION;
    h->model = model;
    h->after = (uint64_t)after;
    h->nonce = XXH3_64bits_withSeed(&model, sizeof model, (uint64_t)after);
    h->check = XXH3_64bits(h, offsetof(wal_header, check));
}

/* Check the header and stand before the first record. The whole log is in memory: it is
 * bounded by the snapshots, and looking ahead for damage needs all of it. */
ferry_status ferry_i_wal_scan(ferry_ctx *ctx, const char *what, const uint8_t *bytes,
                              int64_t n, ferry_wal_scan *out)
{
    ferry_status st = FERRY_OK;
    wal_header h;

    *out = (ferry_wal_scan){.what = what, .bytes = bytes, .n = n};
    FERRY_NEED(ctx, n >= (int64_t)sizeof h && memcmp(bytes, LOG_MAGIC, sizeof h.magic) == 0,
               FERRY_EDATA, "%s: is not a log of ferry stream", what);
    memcpy(&h, bytes, sizeof h);
    FERRY_NEED(
        ctx, h.version <= FERRY_WAL_VERSION, FERRY_EDATA,
        "%s: has the newer format %u; this is ferry %s, which reads formats up to %d", what,
        h.version, ferry_version(), FERRY_WAL_VERSION);
    FERRY_NEED(ctx,
               h.check == XXH3_64bits(&h, offsetof(wal_header, check)) &&
                   h.after <= INT64_MAX,
               FERRY_EDATA, "%s: is corrupt: its header does not match its checksum", what);
    out->at = sizeof h;
    out->nonce = h.nonce;
    out->model = h.model;
    out->after = (int64_t)h.after;
    out->last = out->after;
done:
    return st;
}

/* The head of the record at `at` when a whole record with the right checksum stands
 * there. */
static bool whole(const ferry_wal_scan *s, int64_t at, wal_head *head)
{
    if (s->n - at < (int64_t)sizeof *head) return false;
    memcpy(head, s->bytes + at, sizeof *head);
    /* What a record cannot say is no record: cheaper to see than the checksum. */
    if (head->size % 8 || (int64_t)head->size > s->n - at - (int64_t)sizeof *head ||
        head->kind < FERRY_RECORD_OBSERVE || head->kind > FERRY_RECORD_SESSION ||
        head->durable > (uint64_t)at || head->seq < (uint64_t)s->last ||
        head->seq - (uint64_t)s->last > (uint64_t)s->n)
        return false;
    return head->check ==
           ferry_i_wal_check(s->bytes + at, (int64_t)sizeof *head + head->size, s->nonce);
}

/* Where the log ends by a record that is not whole: does a later one show that this place
 * had been made durable? Records begin at multiples of 8. */
static ferry_status end_of_log(ferry_ctx *ctx, ferry_wal_scan *s)
{
    ferry_status st = FERRY_OK;
    wal_head head;

    for (int64_t at = s->at + 8; at + (int64_t)sizeof head <= s->n; at += 8) {
        if (!whole(s, at, &head)) continue;
        FERRY_NEED(
            ctx, head.durable <= (uint64_t)s->at, FERRY_EDATA,
            "%s: is corrupt: record %lld at byte %lld is damaged, though record %lld "
            "follows it",
            s->what, (long long)s->last + 1, (long long)s->at, (long long)head.seq);
    }
    s->dropped = s->n - s->at;
done:
    return st;
}

/* The parts of a payload, each inside of it. */
static bool take_apart(const uint8_t *p, int64_t size, ferry_record *r)
{
    log_payload head;
    int64_t left = size - (int64_t)sizeof head;

    if (left < 0) return false;
    memcpy(&head, p, sizeof head);
    const int64_t width = head.form == LOG_SPARSE ? 12 : head.form == LOG_DENSE ? 8 : 0;
    if (head.form > LOG_SPARSE || head.n > INT32_MAX ||
        width * (int64_t)head.n + head.id_n + head.y_n > left)
        return false;
    const bool instance = r->kind == FERRY_RECORD_OBSERVE || r->kind == FERRY_RECORD_BOTH;
    if (instance != (width > 0)) return false;
    r->sparse = head.form == LOG_SPARSE;
    r->n = (int64_t)head.n;
    p += sizeof head;
    r->value = width ? (const double *)(const void *)p : NULL; /* 8-aligned, as all is */
    if (width) p += 8 * head.n;
    r->index = r->sparse ? (const int32_t *)(const void *)p : NULL;
    if (r->sparse) p += 4 * head.n;
    r->id = (const char *)p;
    r->id_n = head.id_n;
    r->y = (const char *)p + head.id_n;
    r->y_n = head.y_n;
    return true;
}

/* Records must follow each other without a gap. Session records have the number of the
 * record before them: they are not the user's. */
ferry_status ferry_i_wal_next(ferry_ctx *ctx, ferry_wal_scan *s, ferry_record *r, bool *end)
{
    ferry_status st = FERRY_OK;
    wal_head head;

    *end = s->at == s->n;
    if (*end) goto done;
    if (!whole(s, s->at, &head)) {
        *end = true;
        FERRY_TRY(end_of_log(ctx, s));
        goto done;
    }
    *r = (ferry_record){.kind = (ferry_record_kind)head.kind, .seq = (int64_t)head.seq};
    const bool session = r->kind == FERRY_RECORD_SESSION;
    FERRY_NEED(ctx, r->seq == s->last + !session, FERRY_EDATA,
               "%s: is corrupt: record %lld follows record %lld", s->what,
               (long long)head.seq, (long long)s->last);
    FERRY_NEED(ctx, take_apart(s->bytes + s->at + sizeof head, head.size, r), FERRY_EDATA,
               "%s: is corrupt: record %lld at byte %lld makes no sense", s->what,
               (long long)head.seq, (long long)s->at);
    s->last = r->seq;
    s->at += (int64_t)sizeof head + head.size;
done:
    return st;
}
