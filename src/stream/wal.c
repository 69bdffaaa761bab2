/* The log as bytes: a header, then records one after the other, all little-endian and
 * padded to multiples of 8.
 *
 *   header   "FERRYLOG", u32 version, u32 0, u64 model (2), u64 after, u64 nonce, u64 check;
 *            in version 3 also u64 serves, u64 before, u64 check
 *   record   u64 check, u64 seq, u64 before, u32 size, u32 kind, then size bytes:
 *            u32 id_n, u32 y_n, u32 form (0 no x, 1 dense, 2 sparse), u32 0, u64 n,
 *            n doubles, n int32 when sparse, the id, y
 *
 * check is XXH3-64 of the rest of the record, seeded by the log's nonce: a record of
 * another log is not taken for one of this. `before` is the check of the record before (of
 * the first one: the nonce), so that nothing can be taken out, put in or exchanged. Each
 * record can be checked alone, though: that is what lets a repair find those after a damage.
 *
 * Whether what is not whole at the end is damage or a write that was cut short, the head
 * tells (head.c). In logs of version 1 `before` was something else and is not looked at.
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

static uint64_t check_shared(const wal_shared *s, uint64_t nonce)
{
    return XXH3_64bits_withSeed(s, offsetof(wal_shared, check), nonce);
}

/* The nonce comes of the model and the place where the log begins, not of chance: the same
 * stream writes the same bytes. Two logs of one folder differ in where they begin, so
 * their records do not mix. */
int64_t ferry_i_wal_header(uint8_t *to, const ferry_wal_base *base)
{
    wal_header h = {.version = base->serves ? 3 : 2,
                    .model = base->model,
                    .after = (uint64_t)base->after};
    wal_shared s = {.serves = (uint64_t)base->serves, .before = base->before};

    memcpy(h.magic, LOG_MAGIC, sizeof h.magic);
    h.nonce = XXH3_64bits_withSeed(&h.model, sizeof h.model, h.after);
    h.check = XXH3_64bits(&h, offsetof(wal_header, check));
    s.check = check_shared(&s, h.nonce);
    memcpy(to, &h, sizeof h);
    if (!base->serves) return sizeof h;
    memcpy(to + sizeof h, &s, sizeof s);
    return sizeof h + sizeof s;
}

/* Stand before the first record. `s` counts in version 3 alone. */
static void start(ferry_wal_scan *scan, const wal_header *h, const wal_shared *s)
{
    scan->at = (int64_t)sizeof *h;
    scan->version = h->version;
    scan->nonce = scan->chain = h->nonce;
    scan->base = (ferry_wal_base){.model = h->model, .after = (int64_t)h->after};
    scan->last = (int64_t)h->after;
    if (h->version < 3) return;
    scan->at += (int64_t)sizeof *s;
    scan->serves = scan->base.serves = (int64_t)s->serves;
    scan->base.before = scan->last_chain = s->before;
}

/* Check the header. The whole log is in memory: it is bounded by the snapshots, and looking
 * ahead for damage needs all of it. A header whose checksum is right in this layout, but
 * whose version is larger, is a newer one; any other is damaged. */
ferry_status ferry_i_wal_scan(ferry_ctx *ctx, const char *what, const uint8_t *bytes,
                              int64_t n, ferry_wal_scan *out)
{
    ferry_status st = FERRY_OK;
    wal_header h;
    wal_shared s = {.serves = 0};

    *out = (ferry_wal_scan){.what = what, .bytes = bytes, .n = n};
    FERRY_NEED(ctx, n >= (int64_t)sizeof h && memcmp(bytes, LOG_MAGIC, sizeof h.magic) == 0,
               FERRY_EDATA, "%s: is not a log of ferry stream; " REPAIR_HINT, what);
    memcpy(&h, bytes, sizeof h);
    FERRY_NEED(
        ctx,
        h.check == XXH3_64bits(&h, offsetof(wal_header, check)) && h.after <= INT64_MAX,
        FERRY_EDATA, "%s: is damaged: its header does not match its checksum; " REPAIR_HINT,
        what);
    FERRY_NEED(
        ctx, h.version <= FERRY_WAL_VERSION, FERRY_ENEEDS,
        "%s: has the newer format %u; this is ferry %s, which reads formats up to %d", what,
        h.version, ferry_version(), FERRY_WAL_VERSION);
    if (h.version >= 3 && n >= WAL_HEADER_MOST) memcpy(&s, bytes + sizeof h, sizeof s);
    FERRY_NEED(ctx,
               h.version < 3 || (s.check == check_shared(&s, h.nonce) && s.serves >= 1 &&
                                 s.serves <= INT64_MAX),
               FERRY_EDATA,
               "%s: is damaged: its header does not match its checksum; " REPAIR_HINT,
               what);
    start(out, &h, &s);
done:
    return st;
}

void ferry_i_wal_scan_anyway(const ferry_wal_base *base, ferry_wal_scan *s)
{
    uint8_t bytes[WAL_HEADER_MOST] = {0};
    wal_header h;
    wal_shared shared;

    (void)ferry_i_wal_header(bytes, base);
    memcpy(&h, bytes, sizeof h);
    memcpy(&shared, bytes + sizeof h, sizeof shared);
    start(s, &h, &shared);
    if (s->at > s->n) s->at = s->n;
    s->holes = 1;
}

/* The head of the record at `at` when a whole record with the right checksum stands
 * there. */
static bool whole(const ferry_wal_scan *s, int64_t at, wal_head *head)
{
    if (s->n - at < (int64_t)sizeof *head) return false;
    memcpy(head, s->bytes + at, sizeof *head);
    /* What a record cannot say is no record: cheaper to see than the checksum. */
    if (head->size % 8 || (int64_t)head->size > s->n - at - (int64_t)sizeof *head ||
        head->kind < FERRY_RECORD_OBSERVE ||
        head->kind > (s->version < 3 ? FERRY_RECORD_SESSION : FERRY_RECORD_RETRACT) ||
        head->seq < (uint64_t)s->last || head->seq - (uint64_t)s->last > (uint64_t)s->n)
        return false;
    return head->check ==
           ferry_i_wal_check(s->bytes + at, (int64_t)sizeof *head + head->size, s->nonce);
}

/* The next whole record after one that is not; n: there is none. Records begin at multiples
 * of 8. */
static int64_t next_whole(const ferry_wal_scan *s, wal_head *head)
{
    int64_t at = s->at + 8;

    while (at < s->n && !whole(s, at, head))
        at += 8;
    return at < s->n ? at : s->n;
}

/* Say where it is damaged and what shows that this is no torn end. */
static ferry_status damaged(ferry_ctx *ctx, const ferry_wal_scan *s, const char *how,
                            int64_t number)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(
        ctx, false, FERRY_EDATA,
        "%s: is damaged at byte %lld, where record %lld should be: %s %lld; " REPAIR_HINT,
        s->what, (long long)s->at, (long long)s->last + 1, how, (long long)number);
done:
    return st;
}

/* No whole record stands here. Up to what had been kept that is damage. Beyond, it is the
 * end of a write that was cut short, whatever else of it reached the disk; but where nothing
 * was synced one by one (sync off, version 1) a whole record behind it is worth asking. */
static ferry_status not_whole(ferry_ctx *ctx, ferry_wal_scan *s, bool *end)
{
    const ferry_head *h = s->head;
    wal_head head = {0};
    const int64_t next = next_whole(s, &head);

    if (s->salvage && next < s->n) {
        s->holes++;
        s->at = next;
        return FERRY_OK;
    }
    if (!s->salvage && h && s->last < h->kept)
        return damaged(ctx, s, "it had been acknowledged, as were all up to record",
                       h->kept);
    if (!s->salvage && next < s->n && (!h || h->said > h->kept || s->version < 2))
        return damaged(ctx, s, "it is followed by record", (int64_t)head.seq);
    *end = true;
    s->dropped = s->n - s->at;
    return FERRY_OK;
}

/* The parts of a payload, each inside of it. */
static bool take_apart(const uint8_t *p, int64_t size, bool shared, ferry_record *r)
{
    log_payload head;
    int64_t left = size - (int64_t)sizeof head;

    if (left < 0) return false;
    memcpy(&head, p, sizeof head);
    const int64_t width = head.form == LOG_SPARSE ? 12 : head.form == LOG_DENSE ? 8 : 0;
    if (head.form > LOG_SPARSE || head.n > (width ? INT32_MAX : INT64_MAX) ||
        width * (int64_t)head.n + head.id_n + head.y_n > left)
        return false;
    const bool instance = r->kind == FERRY_RECORD_OBSERVE || r->kind == FERRY_RECORD_BOTH;
    if (instance != (width > 0) && (r->kind != FERRY_RECORD_LABEL || !shared)) return false;
    if (r->kind == FERRY_RECORD_SERVE && head.n == 0) return false;
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

/* Whether a whole record is the one that must follow. Session records have the number of
 * the record before them: they are not the user's. */
static ferry_status follows(ferry_ctx *ctx, const ferry_wal_scan *s, const wal_head *head)
{
    const bool session = head->kind == FERRY_RECORD_SESSION;
    const int64_t seq = (int64_t)head->seq;

    if (seq != s->last + !session)
        return damaged(ctx, s, "what stands there is record", seq);
    if (s->version >= 2 && head->before != s->chain)
        return damaged(ctx, s, "it was not written after the one before, record", s->last);
    if (s->version >= 2 && s->head && !session && seq == s->head->kept && s->head->chain &&
        head->check != s->head->chain)
        return damaged(ctx, s, "it is not the one that was acknowledged as record", seq);
    return FERRY_OK;
}

/* Salvaging takes every record that is whole, has a meaning and a number that comes later. */
ferry_status ferry_i_wal_next(ferry_ctx *ctx, ferry_wal_scan *s, ferry_record *r, bool *end)
{
    bool taken = false;
    wal_head head;

    for (*end = false; !taken;) {
        *end = s->at >= s->n;
        if (!*end && !whole(s, s->at, &head)) {
            FERRY_PASS(not_whole(ctx, s, end));
            if (!*end) continue;
        }
        if (*end) break;
        *r = (ferry_record){.kind = (ferry_record_kind)head.kind, .seq = (int64_t)head.seq};
        const bool session = r->kind == FERRY_RECORD_SESSION;
        taken = take_apart(s->bytes + s->at + sizeof head, head.size, s->version >= 3, r) &&
                r->seq >= s->last + !session;
        if (!s->salvage) {
            FERRY_PASS(follows(ctx, s, &head));
            if (!taken) FERRY_PASS(damaged(ctx, s, "it makes no sense as record", r->seq));
        }
        s->holes += !taken || r->seq != s->last + !session ||
                    (s->version >= 2 && head.before != s->chain);
        s->chain = head.check;
        s->at += (int64_t)sizeof head + head.size;
        if (!taken) continue;
        s->last = r->seq;
        if (!session) s->last_chain = head.check;
        if (r->kind == FERRY_RECORD_SERVE) s->serves = r->n;
    }
    return FERRY_OK;
}
