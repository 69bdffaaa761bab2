/* The log of a model name, which its versions share: several files, and reading them.
 *
 * The newest segment is `log`; it is the only one that is written to. Those before it that are
 * still needed are log.AFTER, by the record that each begins after. A segment's header has
 * the checksum of the last record of the one before. Readers keep a segment open, so that a
 * change of names under them does no harm, and go no further than they were told is durable:
 * what lies behind that may be cut off again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/wal_bytes.h"

char *ferry_i_segment_name(int64_t after)
{
    return ferry_i_sprintf("log.%lld", (long long)after);
}

/* The largest log.AFTER with AFTER at most `most`; -1: there is none. */
static int64_t segment_before(const char *folder, int64_t most)
{
    DIR *dir = opendir(folder);
    int64_t best = -1, after = 0;

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        const char *number = e->d_name + 4, *end = e->d_name + strlen(e->d_name);
        if (strncmp(e->d_name, "log.", 4) == 0 && end > number &&
            ferry_i_parse_int(number, end, &after) == end && after >= 0 && after <= most &&
            after > best)
            best = after;
    }
    if (dir) (void)closedir(dir);
    return best;
}

static char *segment_path(const char *folder, int64_t after)
{
    char *name = ferry_i_segment_name(after);
    char *path = name ? ferry_i_path_join(folder, name) : NULL;

    ferry_i_free(name);
    return path;
}

ferry_status ferry_i_segments_mend(ferry_ctx *ctx, const char *folder)
{
    ferry_status st = FERRY_OK;
    char *log = ferry_i_path_join(folder, "log"), *newest = NULL;

    FERRY_HAVE(ctx, log);
    if (access(log, F_OK) == 0) goto done;
    const int64_t after = segment_before(folder, INT64_MAX);
    if (after < 0) goto done;
    FERRY_HAVE(ctx, newest = segment_path(folder, after));
    FERRY_NEED(ctx, rename(newest, log) == 0, FERRY_EIO, "%s: cannot rename: %s", newest,
               strerror(errno));
    FERRY_TRY(ferry_i_sync_folder(ctx, folder));
done:
    FERRY_FREE(log, newest);
    return st;
}

/* ---- reading ---- */

static void close_segment(ferry_reader *d)
{
    if (d->fd >= 0) (void)close(d->fd);
    ferry_i_free(d->bytes);
    ferry_i_free(d->path);
    d->fd = -1;
    d->bytes = NULL;
    d->path = NULL;
}

void ferry_i_reader_close(ferry_reader *d)
{
    if (!d->folder) return; /* was never opened */
    close_segment(d);
    FERRY_FREE(d->folder, d->retracted.at);
    *d = (ferry_reader){.fd = -1};
}

/* All that the file holds from `offset` on. */
static ferry_status read_rest(ferry_ctx *ctx, ferry_reader *d, int64_t offset, int64_t *n)
{
    ferry_status st = FERRY_OK;
    struct stat info;

    FERRY_NEED(ctx, fstat(d->fd, &info) == 0 && info.st_size >= offset, FERRY_EIO,
               "%s: cannot read: it became shorter", d->path);
    ferry_i_free(d->bytes);
    FERRY_HAVE(ctx, d->bytes = ferry_i_calloc(info.st_size - offset + 1, 1));
    for (*n = 0; *n < info.st_size - offset;) {
        const ssize_t some =
            pread(d->fd, d->bytes + *n, (size_t)(info.st_size - offset - *n), offset + *n);
        if (some < 0 && errno == EINTR) continue;
        FERRY_NEED(ctx, some >= 0, FERRY_EIO, "%s: cannot read: %s", d->path,
                   strerror(errno));
        if (some == 0) break;
        *n += some;
    }
    d->offset = offset;
done:
    return st;
}

/* The segment that has what comes after a record: `log`, unless it begins later. *there: it is. */
static ferry_status try_segment(ferry_ctx *ctx, ferry_reader *d, const char *name,
                                int64_t after, bool *there)
{
    ferry_status st = FERRY_OK;
    uint8_t header[WAL_HEADER_MOST];
    int64_t n = 0;

    *there = false;
    close_segment(d);
    FERRY_HAVE(ctx, d->path = ferry_i_path_join(d->folder, name));
    d->fd = open(d->path, O_RDONLY | O_CLOEXEC);
    if (d->fd < 0 && errno == ENOENT) goto done; /* it has just got another name */
    FERRY_NEED(ctx, d->fd >= 0, FERRY_EIO, "%s: cannot read: %s", d->path, strerror(errno));
    const ssize_t got = pread(d->fd, header, sizeof header, 0);
    FERRY_TRY(ferry_i_wal_scan(ctx, d->path, header, got > 0 ? got : 0, &d->scan));
    *there = d->scan.base.after <= after;
    if (!*there) goto done;
    FERRY_TRY(read_rest(ctx, d, 0, &n));
    FERRY_TRY(ferry_i_wal_scan(ctx, d->path, d->bytes, n, &d->scan));
    d->scan.head = &d->until;
done:
    return st;
}

static ferry_status find_segment(ferry_ctx *ctx, ferry_reader *d, int64_t after)
{
    ferry_status st = FERRY_OK;
    char *name = NULL;
    bool there = false;

    /* Names may change between two looks, but not for ever. */
    for (int tries = 0; !there && tries < 100; tries++) {
        FERRY_TRY(try_segment(ctx, d, "log", after, &there));
        const int64_t before = there ? -1 : segment_before(d->folder, after);
        if (before < 0) continue;
        ferry_i_free(name);
        FERRY_HAVE(ctx, name = ferry_i_segment_name(before));
        FERRY_TRY(try_segment(ctx, d, name, after, &there));
    }
    FERRY_NEED(ctx, there, FERRY_EDATA, "%s: the log no longer has record %lld", d->folder,
               (long long)after + 1);
done:
    ferry_i_free(name);
    return st;
}

ferry_status ferry_i_reader_open(ferry_ctx *ctx, const char *folder, int64_t after,
                                 ferry_reader *out)
{
    ferry_status st = FERRY_OK;
    ferry_record r;
    bool end = false;

    *out = (ferry_reader){.fd = -1, .until = {.fd = -1}};
    FERRY_HAVE(ctx, out->folder = ferry_i_strdup(folder));
    out->until.kept = out->until.said = after;
    FERRY_TRY(find_segment(ctx, out, after));
    while (out->scan.last < after && !end)
        FERRY_TRY(ferry_i_wal_next(ctx, &out->scan, &r, &end));
    FERRY_NEED(ctx, out->scan.last == after, FERRY_EDATA, "%s: ends with record %lld",
               out->path, (long long)out->scan.last);
done:
    if (st != FERRY_OK) ferry_i_reader_close(out);
    return st;
}

/* From the file again, behind the last record that was read: what was there beyond `until`
 * may have been replaced. */
ferry_status ferry_i_reader_until(ferry_ctx *ctx, ferry_reader *d, int64_t until)
{
    const int64_t at = d->offset + d->scan.at;
    int64_t n = 0;

    FERRY_PASS(read_rest(ctx, d, at, &n));
    d->scan.bytes = d->bytes;
    d->scan.n = n;
    d->scan.at = d->scan.dropped = 0;
    d->until.kept = d->until.said = until;
    return FERRY_OK;
}

/* The segment after this one begins where it ends, with its last checksum. */
static ferry_status next_segment(ferry_ctx *ctx, ferry_reader *d)
{
    ferry_status st = FERRY_OK;
    const int64_t last = d->scan.last, serves = d->scan.serves;
    const uint64_t chain = d->scan.last_chain;

    FERRY_TRY(find_segment(ctx, d, last));
    const ferry_wal_base *b = &d->scan.base;
    FERRY_NEED(ctx, b->after == last && b->serves == serves && b->before == chain,
               FERRY_EDATA,
               "%s: is damaged: it does not go on where the one before ends, at record "
               "%lld; " REPAIR_HINT,
               d->path, (long long)last);
done:
    return st;
}

ferry_status ferry_i_reader_next(ferry_ctx *ctx, ferry_reader *d, ferry_record *r,
                                 int64_t *serves, bool *end)
{
    *end = d->scan.last >= d->until.kept;
    while (!*end) {
        *serves = d->scan.serves;
        FERRY_PASS(ferry_i_wal_next(ctx, &d->scan, r, end));
        if (!*end) return FERRY_OK;
        FERRY_PASS(next_segment(ctx, d));
        *end = false;
    }
    return FERRY_OK;
}

/* ---- what was taken back ---- */

static int by_hash(const void *a, const void *b)
{
    const struct ferry_retraction *x = a, *y = b;

    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* By a reader of its own: this one stays where it is. */
ferry_status ferry_i_reader_retracted(ferry_ctx *ctx, ferry_reader *d, int64_t until)
{
    ferry_status st = FERRY_OK;
    ferry_reader ahead = {.fd = -1};
    ferry_retracted *all = &d->retracted;
    ferry_record r;
    int64_t serves = 0;
    bool end = false;

    FERRY_TRY(ferry_i_reader_open(ctx, d->folder, d->scan.last, &ahead));
    FERRY_TRY(ferry_i_reader_until(ctx, &ahead, until));
    for (all->n = 0; !end;) {
        FERRY_TRY(ferry_i_reader_next(ctx, &ahead, &r, &serves, &end));
        if (end || r.kind != FERRY_RECORD_RETRACT) continue;
        FERRY_HAVE(ctx, FERRY_GROW(all->at, all->n, all->cap));
        all->at[all->n++] =
            (struct ferry_retraction){ferry_i_learned_hash(r.id, r.id_n), r.seq};
    }
    if (all->n > 0) qsort(all->at, (size_t)all->n, sizeof *all->at, by_hash);
done:
    ferry_i_reader_close(&ahead);
    return st;
}

/* The last of an id's is the one that counts. */
bool ferry_i_is_retracted(const ferry_reader *d, const ferry_record *r)
{
    const uint64_t hash = d->retracted.n > 0 ? ferry_i_learned_hash(r->id, r->id_n) : 0;
    int64_t low = 0, high = d->retracted.n;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (d->retracted.at[mid].hash <= hash)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && r->id_n > 0 && d->retracted.at[low - 1].hash == hash &&
           d->retracted.at[low - 1].seq > r->seq;
}

/* ---- which there are ---- */

/* What a segment holds, which must end where `next` begins. */
static ferry_status measure(ferry_ctx *ctx, const char *folder, int64_t after,
                            const ferry_wal_base *next, ferry_segment *out,
                            ferry_wal_base *base)
{
    ferry_status st = FERRY_OK;
    ferry_reader d = {.fd = -1};
    ferry_record r;
    bool end = false;

    *out = (ferry_segment){.after = after};
    FERRY_TRY(ferry_i_reader_open(ctx, folder, after, &d));
    *base = d.scan.base;
    d.until.kept = d.until.said = next->after;
    while (!end && d.scan.last < next->after) {
        FERRY_TRY(ferry_i_wal_next(ctx, &d.scan, &r, &end));
        out->labels += !end && r.y_n > 0 && r.kind != FERRY_RECORD_SESSION;
    }
    out->bytes = d.scan.n;
    FERRY_NEED(ctx,
               base->after == after && d.scan.last == next->after &&
                   d.scan.serves == next->serves && d.scan.last_chain == next->before,
               FERRY_EDATA, "%s: the segment after it does not follow", d.path);
done:
    ferry_i_reader_close(&d);
    return st;
}

ferry_status ferry_i_segments_list(ferry_ctx *ctx, const char *folder,
                                   const ferry_wal_base *newest, ferry_segment **out,
                                   int64_t *n, int64_t *cap)
{
    ferry_wal_base next = *newest, base;
    int64_t after = 0;

    for (*n = 0; (after = segment_before(folder, next.after - 1)) >= 0; next = base) {
        ferry_segment one;
        const ferry_status st = measure(ctx, folder, after, &next, &one, &base);
        if (st ==
            FERRY_EDATA) { /* labels for a version to come, which is all they are for */
            ferry_i_log(ctx, FERRY_WARN, "%s (labels before record %lld are not replayed)",
                        ferry_message(ctx), (long long)next.after + 1);
            return FERRY_OK;
        }
        FERRY_PASS(st);
        if (!FERRY_GROW(*out, *n, *cap)) return ferry_i_nomem(ctx);
        memmove(*out + 1, *out, (size_t)*n * sizeof **out);
        (*out)[0] = one;
        ++*n;
    }
    return FERRY_OK;
}
