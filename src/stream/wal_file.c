/* The log as a file: begun by rename, added to in batches, cut back when a write fails. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/wal_bytes.h"

/* Interrupted by a signal it goes on. Of a plain file the time of its last change need not
 * be durable, which saves a write of its own; of a folder everything must. */
static int sync_file(int fd)
{
    struct stat info;
    const bool plain = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    int failed = 0;

    do
        failed = plain ? fdatasync(fd) : fsync(fd);
    while (failed && errno == EINTR);
    return failed;
}

ferry_wal_calls ferry_i_wal_calls = {write, sync_file};

void ferry_i_wal_free(ferry_wal *log)
{
    if (!log) return;
    ferry_i_wal_sync_free(log->sync);
    if (log->fd >= 0) (void)close(log->fd);
    FERRY_FREE(log->path, log->buffer, log);
}

/* A rename is durable only when its folder was synced. */
ferry_status ferry_i_sync_folder(ferry_ctx *ctx, const char *folder)
{
    ferry_status st = FERRY_OK;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    FERRY_NEED(ctx, fd >= 0, FERRY_EIO, "%s: cannot open: %s", folder, strerror(errno));
    /* Some file systems cannot sync a folder and say EINVAL: there is nothing to do. */
    FERRY_NEED(ctx, ferry_i_wal_calls.sync(fd) == 0 || errno == EINVAL, FERRY_EIO,
               "%s: cannot sync: %s", folder, strerror(errno));
done:
    if (fd >= 0) (void)close(fd);
    return st;
}

/* write(2) until all is written; 0 or an errno. A write of nothing is a full disk. */
int ferry_i_wal_write_all(int fd, const uint8_t *bytes, int64_t n)
{
    while (n > 0) {
        const ssize_t some = ferry_i_wal_calls.write(fd, bytes, (size_t)n);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) return errno;
        if (some == 0) return ENOSPC;
        bytes += some;
        n -= some;
    }
    return 0;
}

/* An empty log object for the folder; its file is opened by the caller. */
static ferry_status log_new(ferry_ctx *ctx, const char *folder, ferry_wal **out)
{
    ferry_status st = FERRY_OK;
    ferry_wal *log = ferry_i_calloc(1, sizeof *log);

    *out = NULL;
    FERRY_HAVE(ctx, log);
    log->fd = -1;
    FERRY_HAVE(ctx, log->path = ferry_i_path_join(folder, "log"));
    FERRY_MOVE(*out, log);
done:
    ferry_i_wal_free(log);
    return st;
}

/* Give the log that is there another name, durably, before its own is taken by the next. When
 * the process dies between the two, the one with the other name is the newest: whoever opens
 * the folder gives it its name back (ferry_i_segments_find()). */
static ferry_status put_aside(ferry_ctx *ctx, const char *folder, const char *path,
                              const char *keep)
{
    ferry_status st = FERRY_OK;
    char *to = ferry_i_path_join(folder, keep);

    FERRY_HAVE(ctx, to);
    FERRY_NEED(ctx, rename(path, to) == 0 || access(to, F_OK) == 0, FERRY_EIO,
               "%s: cannot rename: %s", path, strerror(errno));
    FERRY_TRY(ferry_i_sync_folder(ctx, folder));
done:
    ferry_i_free(to);
    return st;
}

/* The header is written and synced under another name and renamed into place: a log with
 * half a header never stands under its own name. After the rename the new one is handed out
 * even when syncing the folder fails; the caller then knows that the rename may not survive
 * a power cut. */
ferry_status ferry_i_wal_create(ferry_ctx *ctx, const char *folder,
                                const ferry_wal_base *base, const char *keep,
                                ferry_head *head, ferry_wal **out)
{
    ferry_status st = FERRY_OK;
    ferry_wal *log = NULL;
    char *fresh = NULL;
    bool made = false;
    uint8_t h[WAL_HEADER_MOST];
    const int64_t n = ferry_i_wal_header(h, base);

    *out = NULL;
    FERRY_TRY(log_new(ctx, folder, &log));
    FERRY_HAVE(ctx, fresh = ferry_i_path_join(folder, "log.new"));
    log->fd = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    FERRY_NEED(ctx, log->fd >= 0, FERRY_EIO, "%s: cannot write: %s", fresh,
               strerror(errno));
    made = true;
    const int error = ferry_i_wal_write_all(log->fd, h, n);
    FERRY_NEED(ctx, error == 0, FERRY_EIO, "%s: cannot write: %s", fresh, strerror(error));
    FERRY_NEED(ctx, ferry_i_wal_calls.sync(log->fd) == 0, FERRY_EIO, "%s: cannot sync: %s",
               fresh, strerror(errno));
    if (keep) FERRY_TRY(put_aside(ctx, folder, log->path, keep));
    FERRY_NEED(ctx, rename(fresh, log->path) == 0, FERRY_EIO, "%s: cannot rename: %s",
               fresh, strerror(errno));
    made = false;
    memcpy(&log->nonce, h + offsetof(wal_header, nonce), sizeof log->nonce);
    log->base = *base;
    log->chain = log->nonce;
    log->last = base->after;
    log->last_chain = base->before;
    log->head = head;
    log->size = log->durable = n;
    FERRY_MOVE(*out, log);
    st = ferry_i_sync_folder(ctx, folder); /* the new log is in place, whatever this says */
done:
    if (made) (void)unlink(fresh);
    ferry_i_free(fresh);
    ferry_i_wal_free(log);
    return st;
}

/* Mark in the head that all up to the batch's last record is there. */
static int mark_head(wal_mark m)
{
    ferry_head *h = m.head;

    if (!h || (h->said == m.last && h->kept == m.last)) return 0;
    ferry_head next = *h;
    next.said = m.last;
    if (m.sync) {
        next.kept = m.last;
        next.chain = m.chain;
    }
    const int error = ferry_i_head_write(&next, m.sync);
    if (!error) *h = next; /* else the file does not say it, and it is tried again */
    return error;
}

/* Cut off what was torn and go on appending. One sync before the first new record, and the
 * head after it: what was just read may be in the page cache only, and any answer from here
 * on promises that it is there. */
ferry_status ferry_i_wal_resume(ferry_ctx *ctx, const char *folder,
                                const ferry_wal_scan *scan, int64_t records,
                                ferry_wal **out)
{
    ferry_status st = FERRY_OK;
    ferry_wal *log = NULL;

    *out = NULL;
    FERRY_TRY(log_new(ctx, folder, &log));
    log->fd = open(log->path, O_RDWR | O_APPEND | O_CLOEXEC);
    FERRY_NEED(ctx, log->fd >= 0, FERRY_EIO, "%s: cannot write: %s", log->path,
               strerror(errno));
    if (scan->dropped > 0)
        FERRY_NEED(ctx, ftruncate(log->fd, scan->at) == 0, FERRY_EIO,
                   "%s: cannot cut off a torn record: %s", log->path, strerror(errno));
    /* What was read may have been written by a process that died before it synced. */
    FERRY_NEED(ctx, ferry_i_wal_calls.sync(log->fd) == 0, FERRY_EIO, "%s: cannot sync: %s",
               log->path, strerror(errno));
    log->base = scan->base;
    log->nonce = scan->nonce;
    log->chain = scan->chain;
    log->last = scan->last;
    log->last_chain = scan->last_chain;
    log->head = scan->head;
    log->size = log->durable = scan->at;
    log->records = records;
    const int error =
        mark_head((wal_mark){scan->head, scan->last, scan->last_chain, .sync = true});
    FERRY_NEED(ctx, !error, FERRY_EIO, "%s/head: cannot write: %s", folder,
               strerror(error));
    FERRY_MOVE(*out, log);
done:
    ferry_i_wal_free(log);
    return st;
}

/* Room for n more bytes in the buffer, or NULL. */
static uint8_t *room_for(ferry_wal *log, int64_t n)
{
    if (log->used + n > log->room) {
        const int64_t room = 2 * log->room > log->used + n ? 2 * log->room : log->used + n;
        uint8_t *moved = ferry_i_realloc(log->buffer, room, 1);
        if (!moved) return NULL;
        log->buffer = moved;
        log->room = room;
    }
    return log->buffer + log->used;
}

/* Copy n bytes and return the place after them. */
static uint8_t *put(uint8_t *to, const void *from, int64_t n)
{
    if (n > 0) memcpy(to, from, (size_t)n);
    return to + n;
}

/* Lay the record out in the buffer as wal.c describes it: head, payload head, numbers,
 * indices, id, label, zeros up to a multiple of 8. */
ferry_status ferry_i_wal_add(ferry_ctx *ctx, ferry_wal *log, const ferry_record *r)
{
    const int64_t width = !r->value ? 0 : r->sparse ? 12 : 8;
    const log_payload p = {
        .id_n = (uint32_t)r->id_n,
        .y_n = (uint32_t)r->y_n,
        .form = !r->value   ? LOG_NOTHING
                : r->sparse ? LOG_SPARSE
                            : LOG_DENSE,
        .n = (uint64_t)r->n,
    };
    const int64_t bare = (int64_t)sizeof p + width * r->n + r->id_n + r->y_n;
    const int64_t size = (bare + 7) / 8 * 8, all = (int64_t)sizeof(wal_head) + size;
    uint8_t *record = size <= UINT32_MAX ? room_for(log, all) : NULL, *to = record;

    if (!record) return ferry_i_nomem(ctx);
    wal_head head = {.seq = (uint64_t)r->seq,
                     .before = log->chain,
                     .size = (uint32_t)size,
                     .kind = (uint32_t)r->kind};
    memset(record + all - 8, 0, 8);
    to = put(to, &head, sizeof head);
    to = put(to, &p, sizeof p);
    to = put(to, r->value, width ? 8 * r->n : 0);
    to = put(to, r->index, width == 12 ? 4 * r->n : 0);
    to = put(to, r->id, r->id_n);
    (void)put(to, r->y, r->y_n);
    head.check = ferry_i_wal_check(record, all, log->nonce);
    memcpy(record, &head.check, sizeof head.check);
    log->chain = head.check;
    if (r->kind != FERRY_RECORD_SESSION) {
        log->last = r->seq;
        log->last_chain = head.check;
    }
    log->used += all;
    log->records++;
    return FERRY_OK;
}

static const char *const head_fails = "mark its head";

int ferry_i_wal_write_batch(int fd, const uint8_t *bytes, int64_t n, wal_mark mark,
                            const char **doing)
{
    *doing = "write";
    const int error = ferry_i_wal_write_all(fd, bytes, n);
    if (error) return error;
    *doing = "sync";
    if (mark.sync && ferry_i_wal_calls.sync(fd) != 0) return errno;
    *doing = head_fails;
    return mark_head(mark);
}

/* n bytes more are in the file, or none for this reason. */
static ferry_status conclude(ferry_ctx *ctx, ferry_wal *log, int64_t n, int error,
                             const char *doing)
{
    ferry_status st = FERRY_OK;

    /* Half a batch must not be found later; if this fails too, it is torn. But when only
     * the head failed it may have got there, and what it names must stay. */
    if (error && doing != head_fails) (void)!ftruncate(log->fd, log->durable);
    FERRY_NEED(ctx, !error, FERRY_EIO, "%s: cannot %s: %s", log->path, doing,
               strerror(error));
    log->size += n;
    log->durable = log->size;
done:
    return st;
}

/* What was begun has come to its end. */
static ferry_status land(ferry_ctx *ctx, ferry_wal *log)
{
    const char *doing = "";
    int error = 0;

    if (!log->sync) return FERRY_OK;
    const int64_t n = ferry_i_wal_sync_wait(log->sync, &error, &doing);
    return conclude(ctx, log, n, error, doing);
}

/* Write and sync here and now. A batch that another thread still writes comes first:
 * records stand in the file in their order. */
ferry_status ferry_i_wal_flush(ferry_ctx *ctx, ferry_wal *log, bool sync)
{
    const char *doing = NULL;

    FERRY_PASS(land(ctx, log));
    const wal_mark mark = {log->head, log->last, log->last_chain, sync};
    const int error =
        ferry_i_wal_write_batch(log->fd, log->buffer, log->used, mark, &doing);
    FERRY_PASS(conclude(ctx, log, log->used, error, doing));
    log->used = 0;
    return FERRY_OK;
}

/* Hand the buffer to the thread that syncs and take its empty one; without a thread, do it
 * here. */
ferry_status ferry_i_wal_begin(ferry_ctx *ctx, ferry_wal *log)
{
    FERRY_PASS(land(ctx, log));
    if (!log->sync) log->sync = ferry_i_wal_sync_new();
    if (!log->sync) return ferry_i_wal_flush(ctx, log, true);
    ferry_i_wal_sync_begin(log->sync, log);
    return FERRY_OK;
}

bool ferry_i_wal_busy(const ferry_wal *log)
{
    return log->sync && ferry_i_wal_sync_busy(log->sync);
}
