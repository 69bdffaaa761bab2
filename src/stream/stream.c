/* A stream that is kept in a folder: opening, replaying, committing, snapshots. */
#define _DEFAULT_SOURCE /* flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/folder.h"

#define T stream_settings
const ferry_opt ferry_i_stream_table[] = {
    FERRY_OPT_ONE_OF(T, sync, "always|batch|off", "batch",
                     "when answers go out: after a sync of each, of up to 64 or 50 ms, or "
                     "without one"),
    FERRY_OPT_ONE_OF(T, format, "ndjson|csv|svmlight", "ndjson",
                     "how the lines are written"),
    FERRY_OPT(T, INT, waiting, 1000, 0, 1e7,
              "instances that may wait for a label; the oldest is forgotten first"),
    FERRY_OPT(T, INT, snapshot, 10000, 1, 1e12,
              "records from one snapshot to the next (fewer when they are large)"),
    FERRY_OPT_YES_NO(T, scores, "no", "answer with the scores of all classes"),
};
const int64_t ferry_i_stream_table_n = FERRY_COUNT(ferry_i_stream_table);
#undef T

const ferry_opt_table *ferry_stream_options(void)
{
    static const ferry_opt_table table = {ferry_i_stream_table, ferry_i_stream_table_n};

    return &table;
}

/* ---- files ---- */

/* A whole file; *bytes is NULL when there is none. */
static ferry_status read_file(ferry_ctx *ctx, const char *path, uint8_t **bytes, int64_t *n)
{
    ferry_status st = FERRY_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    int64_t got = 0;

    *bytes = NULL;
    if (fd < 0 && errno == ENOENT) return FERRY_OK;
    FERRY_NEED(ctx, fd >= 0 && fstat(fd, &info) == 0, FERRY_EIO, "%s: cannot read: %s",
               path, strerror(errno));
    FERRY_NEED(ctx, S_ISREG(info.st_mode), FERRY_EDATA, "%s: is not a plain file", path);
    FERRY_HAVE(ctx, *bytes = ferry_i_calloc(info.st_size, 1));
    while (got < info.st_size) {
        const ssize_t some = read(fd, *bytes + got, (size_t)(info.st_size - got));
        if (some < 0 && errno == EINTR) continue;
        FERRY_NEED(ctx, some > 0, FERRY_EIO, "%s: cannot read: %s", path,
                   some < 0 ? strerror(errno) : "it became shorter");
        got += some;
    }
    *n = got;
done:
    if (fd >= 0) (void)close(fd);
    if (st != FERRY_OK) {
        ferry_i_free(*bytes);
        *bytes = NULL;
    }
    return st;
}

/* One process at a time. The lock goes with the process, however it ends. */
static ferry_status take_lock(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(s->folder, "lock");

    FERRY_HAVE(ctx, path);
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    FERRY_NEED(ctx, s->lock >= 0, FERRY_EIO, "%s: cannot write: %s", path, strerror(errno));
    FERRY_NEED(ctx, flock(s->lock, LOCK_EX | LOCK_NB) == 0, FERRY_EINVAL,
               errno == EWOULDBLOCK ? "%s: is in use by another process"
                                    : "%s: cannot be locked",
               s->folder);
done:
    ferry_i_free(path);
    return st;
}

/* What a process that died while it wrote has left. */
static void remove_leftovers(const ferry_stream *s)
{
    DIR *dir = opendir(s->folder);

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (strcmp(e->d_name, "log.new") != 0 &&
            strncmp(e->d_name, "snapshot.ferry.tmp.", 19) != 0)
            continue;
        char *path = ferry_i_path_join(s->folder, e->d_name);
        if (path) (void)unlink(path);
        ferry_i_free(path);
    }
    if (dir) (void)closedir(dir);
}

/* Make the names of a new folder, and of those above it that were made with it, durable.
 * Where that cannot be done there is nothing better to do. */
static ferry_status sync_above(ferry_ctx *ctx, const char *folder)
{
    char *at = ferry_i_strdup(folder);

    while (at && strcmp(at, "/") != 0 && strcmp(at, ".") != 0) {
        char *above = ferry_i_path_dir(at);
        if (above) (void)ferry_i_sync_folder(ctx, above);
        ferry_i_free(at);
        at = above;
    }
    if (!at) return ferry_i_nomem(ctx);
    ferry_i_free(at);
    return FERRY_OK;
}

/* ---- snapshots ---- */

/* How this process computes: other kernels may give other last bits. */
static void kernels(const ferry_ctx *ctx, char *text, size_t size)
{
    (void)snprintf(text, size, "%s %s %d", ferry_ctx_engine(ctx), ferry_blas_core(),
                   ferry_ctx_threads(ctx));
}

/* A session record: how many may wait from here on, and the kernels. */
static ferry_status begin_session(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;
    ferry_outcome none;
    char text[128];

    kernels(ctx, text, sizeof text);
    const ferry_record r = {.kind = FERRY_RECORD_SESSION,
                            .seq = s->worker.seq,
                            .id = "",
                            .y = text,
                            .y_n = (int64_t)strlen(text),
                            .n = s->set.waiting};
    FERRY_TRY(ferry_i_wal_add(ctx, s->log, &r));
    FERRY_TRY(ferry_i_worker_apply(ctx, &s->worker, &r, &none));
done:
    return st;
}

/* The log begins anew after what the snapshot has. */
static ferry_status new_log(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;
    ferry_wal *log = NULL;

    st = ferry_i_wal_create(ctx, s->folder, s->worker.hash, s->worker.seq, &log);
    if (log) {
        ferry_i_wal_free(s->log);
        s->log = log;
        s->broken = s->broken || st != FERRY_OK;
    }
    FERRY_TRY(st);
    s->snapshot_records = s->set.snapshot;
    s->snapshot_bytes = LOG_MOST;
done:
    return st;
}

/* A snapshot replaces the log: once it stands under its name, a log that begins after it
 * is enough to come back. The order matters. The log is durable first, so that it never
 * ends before the snapshot; the snapshot is complete and its name durable before the log
 * begins anew. Whatever moment the power goes at, one pair of files that fit together is
 * there. */
static ferry_status write_snapshot(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;

    /* The log must never end before the snapshot; otherwise it was synced already. */
    if (s->set.sync == SYNC_OFF) FERRY_TRY(ferry_i_wal_flush(ctx, s->log, true));
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_snapshot_pack(ctx, &s->worker, dict));
    FERRY_TRY(ferry_i_dict_save(ctx, dict, s->snapshot));
    FERRY_TRY(ferry_i_sync_folder(ctx, s->folder));
    FERRY_TRY(new_log(ctx, s));
done:
    ferry_i_dict_free(dict);
    return st;
}

/* Replaying costs about as much as the work did: a bound on the log bounds the time to
 * come back. */
static bool wants_snapshot(const ferry_stream *s)
{
    return s->log->records >= s->snapshot_records || s->log->size >= s->snapshot_bytes;
}

/* A snapshot when the log has grown enough. Without one nothing is lost: try again
 * later. */
static ferry_status maybe_snapshot(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;

    if (!wants_snapshot(s)) goto done;
    st = write_snapshot(ctx, s);
    if (st == FERRY_OK) st = begin_session(ctx, s);
    if (st == FERRY_OK || s->broken) goto done;
    st = FERRY_OK;
    ferry_i_log(ctx, FERRY_WARN, "no snapshot after record %lld: %s (the log goes on)",
                (long long)s->worker.seq, ferry_message(ctx));
    s->snapshot_records = s->log->records + s->set.snapshot;
    s->snapshot_bytes = s->log->size + LOG_MOST;
done:
    return st;
}

/* ---- opening ---- */

/* Records of the log that the snapshot does not have yet. */
static ferry_status replay(ferry_ctx *ctx, ferry_stream *s, ferry_wal_scan *scan,
                           int64_t *records)
{
    ferry_status st = FERRY_OK;
    const int64_t had = s->worker.seq;
    ferry_record r = {0};
    bool end = false, finish = false, warned = false;
    char now[128], why[256];

    kernels(ctx, now, sizeof now);
    for (*records = 0;; ++*records) {
        ferry_outcome o;
        FERRY_TRY(ferry_i_wal_next(ctx, scan, &r, &end));
        if (end) break;
        if (r.kind == FERRY_RECORD_SESSION && !warned &&
            (r.y_n != (int64_t)strlen(now) || memcmp(r.y, now, (size_t)r.y_n) != 0)) {
            warned = true;
            ferry_i_log(ctx, FERRY_WARN,
                        "%s: was written with other kernels (%.*s, now %s): the last bits "
                        "may differ",
                        scan->what, (int)(r.y_n < 100 ? r.y_n : 100), r.y, now);
        }
        if (r.seq < had || (r.seq == had && scan->after < had)) continue;
        FERRY_NEED(ctx,
                   r.kind == FERRY_RECORD_SESSION ||
                       ferry_i_worker_fits(&s->worker, &r, why, sizeof why),
                   FERRY_EDATA, "%s: is corrupt: record %lld does not fit: %s", scan->what,
                   (long long)r.seq, why);
        st = ferry_i_worker_apply(ctx, &s->worker, &r, &o);
        ferry_i_free(o.forgot);
        FERRY_TRY(st);
        if (*records % 64 == 63)
            FERRY_TRY(ferry_i_progress(ctx, "replaying the log", scan->at, scan->n, NAN,
                                       &finish));
    }
    if (scan->dropped > 0)
        ferry_i_log(
            ctx, FERRY_WARN,
            "%s: dropped %lld bytes at the end, a record that was not complete; the "
            "last one is record %lld",
            scan->what, (long long)scan->dropped, (long long)scan->last);
done:
    return st;
}

/* Whether two hashes of a model file are equal. */
static bool same(ferry_hash a, ferry_hash b)
{
    return a.high == b.high && a.low == b.low;
}

/* The log fits the model and the snapshot. */
static ferry_status check_log(ferry_ctx *ctx, const ferry_stream *s, ferry_hash model,
                              const char *path, bool snapshot, const ferry_wal_scan *scan)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, same(scan->model, model) && same(s->worker.hash, model), FERRY_EDATA,
               "%s: holds the stream of another model than %s", s->folder, path);
    FERRY_NEED(ctx, snapshot || scan->after == 0, FERRY_EDATA,
               "%s: is missing, but the log begins after record %lld", s->snapshot,
               (long long)scan->after);
    FERRY_NEED(ctx, scan->after <= s->worker.seq, FERRY_EDATA,
               "%s: begins after record %lld, but the snapshot ends with record %lld",
               scan->what, (long long)scan->after, (long long)s->worker.seq);
done:
    return st;
}

/* Go on where the folder's files end. */
static ferry_status resume(ferry_ctx *ctx, ferry_stream *s, ferry_hash model,
                           const char *model_path, bool snapshot, const uint8_t *bytes,
                           int64_t n, const char *path)
{
    ferry_status st = FERRY_OK;
    const int64_t had = s->worker.seq;
    ferry_wal_scan scan;
    int64_t records = 0;

    FERRY_TRY(ferry_i_wal_scan(ctx, path, bytes, n, &scan));
    FERRY_TRY(check_log(ctx, s, model, model_path, snapshot, &scan));
    FERRY_TRY(replay(ctx, s, &scan, &records));
    FERRY_NEED(ctx, scan.last >= had, FERRY_EDATA,
               "%s: ends with record %lld, but the snapshot has record %lld", path,
               (long long)scan.last, (long long)had);
    /* A snapshot that was finished just before the end, and no new log yet. */
    if (scan.after < had && scan.last == had) {
        FERRY_TRY(ferry_i_sync_folder(ctx, s->folder)); /* its name before the log's */
        FERRY_TRY(new_log(ctx, s));
    } else
        FERRY_TRY(ferry_i_wal_resume(ctx, s->folder, &scan, records, &s->log));
done:
    return st;
}

/* The model as MODEL has it. */
static ferry_status load_model(ferry_ctx *ctx, ferry_stream *s, const char *path)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;
    ferry_model *model = NULL;
    uint8_t *bytes = NULL;
    int64_t n = 0;

    FERRY_TRY(read_file(ctx, path, &bytes, &n));
    FERRY_NEED(ctx, bytes, FERRY_EDATA, "%s: cannot read: %s", path, strerror(ENOENT));
    FERRY_TRY(ferry_i_dict_parse(ctx, path, bytes, n, &dict));
    FERRY_TRY(ferry_i_model_unpack(ctx, path, dict, NULL, &model));
    FERRY_TRY(
        ferry_i_worker_open(ctx, path, model, ferry_i_stream_hash(bytes, n), &s->worker));
done:
    ferry_i_dict_free(dict);
    ferry_i_free(bytes);
    return st;
}

/* The folder's snapshot in place of the model, if there is one. */
static ferry_status load_snapshot(ferry_ctx *ctx, ferry_stream *s, bool *there)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;
    ferry_worker w;

    *there = access(s->snapshot, F_OK) == 0;
    if (!*there) goto done;
    FERRY_TRY(ferry_i_dict_load(ctx, s->snapshot, &dict));
    FERRY_TRY(ferry_i_snapshot_unpack(ctx, s->snapshot, dict, &w));
    ferry_i_worker_close(&s->worker);
    s->worker = w;
done:
    ferry_i_dict_free(dict);
    return st;
}

/* Begin or go on: the lock first (nobody else changes the files from here), then what a
 * dead process left half written, then the snapshot if there is one, then the log after
 * it. A session record is written at once, so that the log says with which kernels its
 * records were computed. */
static ferry_status open_folder(ferry_ctx *ctx, ferry_stream *s, const char *model_path)
{
    ferry_status st = FERRY_OK;
    const ferry_hash model = s->worker.hash;
    char *path = ferry_i_path_join(s->folder, "log");
    uint8_t *bytes = NULL;
    bool snapshot = false;
    int64_t n = 0;

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_mkdirs(ctx, s->folder));
    FERRY_TRY(take_lock(ctx, s));
    remove_leftovers(s);
    FERRY_TRY(load_snapshot(ctx, s, &snapshot));
    FERRY_TRY(read_file(ctx, path, &bytes, &n));
    FERRY_NEED(ctx, bytes || !snapshot, FERRY_EDATA,
               "%s: is missing, though there is a snapshot", path);
    if (bytes)
        FERRY_TRY(resume(ctx, s, model, model_path, snapshot, bytes, n, path));
    else
        FERRY_TRY(new_log(ctx, s));
    FERRY_TRY(sync_above(ctx, s->folder));
    FERRY_TRY(begin_session(ctx, s));
done:
    FERRY_FREE(bytes, path);
    return st;
}

/* Open in the order in which things can be wrong: settings, the model's file, the folder.
 * Features of svmlight lines are numbered as the model's own file was. */
ferry_status ferry_stream_open(ferry_ctx *ctx, const char *model, const char *dir,
                               const ferry_opts *opts, ferry_stream **out)
{
    ferry_status st = FERRY_OK;
    ferry_stream *s = ferry_i_calloc(1, sizeof *s);
    const char *base = NULL;

    *out = NULL;
    FERRY_HAVE(ctx, s);
    s->lock = -1;
    s->seconds = BATCH_SECONDS;
    FERRY_TRY(ferry_i_opts_parse(ctx, "stream", ferry_i_stream_table,
                                 ferry_i_stream_table_n, opts, &s->set));
    s->snapshot_records = s->set.snapshot;
    s->snapshot_bytes = LOG_MOST;
    s->folder = ferry_i_strdup(dir);
    s->snapshot = ferry_i_path_join(dir, "snapshot.ferry");
    FERRY_HAVE(ctx, s->folder && s->snapshot);
    FERRY_TRY(load_model(ctx, s, model));
    if (s->worker.model->views[0]->read)
        base = ferry_opts_get(s->worker.model->views[0]->read, "index_base");
    s->base = base && strcmp(base, "zero") == 0 ? 0 : 1;
    FERRY_TRY(open_folder(ctx, s, model));
    FERRY_MOVE(*out, s);
done:
    ferry_stream_free(s);
    return st;
}

/* ---- working ---- */

/* Enough for a batch. */
static bool is_full(const ferry_stream *s)
{
    return s->now.n >= BATCH_LINES || s->log->used >= BATCH_BYTES;
}

/* How long the oldest answer may still wait. An answer goes out only when its record is
 * durable; waiting a little lets many records share one sync, which costs milliseconds. */
double ferry_stream_due(const ferry_stream *s)
{
    const stream_answers *first = s->flying.n > 0 ? &s->flying : &s->now;

    if (first->n == 0) return -1;
    if (s->now.n > 0 && s->set.sync == SYNC_ALWAYS) return 0;
    /* While the batch before is being synced this one may grow. */
    if (is_full(s) && (!ferry_i_wal_busy(s->log) || s->now.n >= BATCH_MOST ||
                       s->log->used >= BATCH_BYTES))
        return 0;
    const double left = first->since + s->seconds - ferry_i_clock();
    return left > 0 ? left : 0;
}

/* Lend all answers; with errors in place of those that were not kept. */
static ferry_status lend(ferry_ctx *ctx, ferry_stream *s, ferry_status st)
{
    char why[512];

    s->broken = s->broken || st != FERRY_OK;
    (void)snprintf(why, sizeof why, "not acknowledged: %s", ferry_message(ctx));
    ferry_i_answers_lend(s, &s->flying, s->broken ? why : NULL);
    ferry_i_answers_lend(s, &s->now, s->broken ? why : NULL);
    return st;
}

/* What is lent, as the caller gets it. */
static ferry_status give(ferry_ctx *ctx, ferry_stream *s, ferry_status st,
                         const char **answers, int64_t *n)
{
    if (s->lent.failed) { /* better no answer than a wrong one */
        ferry_i_text_free(&s->lent);
        if (st == FERRY_OK) st = ferry_i_nomem(ctx);
        s->broken = true;
    }
    *answers = s->lent.len > 0 ? s->lent.s : "";
    *n = s->lent.len;
    return st;
}

/* Write, sync, then answer: nothing is acknowledged that could still be lost. After a
 * failure the memory may be ahead of the log, so the stream is broken: every answer that
 * promised something turns into an error, and only a fresh start from the folder goes on. */
ferry_status ferry_stream_commit(ferry_ctx *ctx, ferry_stream *s, const char **answers,
                                 int64_t *n)
{
    ferry_status st = FERRY_OK;

    s->lent.len = 0;
    if (!s->broken) {
        st = ferry_i_wal_flush(ctx, s->log, s->set.sync != SYNC_OFF);
        if (st == FERRY_OK) st = maybe_snapshot(ctx, s);
    }
    return give(ctx, s, lend(ctx, s, st), answers, n);
}

/* Two batches at once: while one is being synced by another thread, the next is worked on.
 * The answers of the first go out when the second is handed over, that is, when the first
 * is known to be durable. Falls back to a plain commit for small batches and before a
 * snapshot, which needs the log at rest. */
ferry_status ferry_stream_turn(ferry_ctx *ctx, ferry_stream *s, const char **answers,
                               int64_t *n)
{
    ferry_status st = FERRY_OK;

    if (s->broken || s->set.sync != SYNC_BATCH || !is_full(s) || wants_snapshot(s))
        return ferry_stream_commit(ctx, s, answers, n);
    s->lent.len = 0;
    st = ferry_i_wal_begin(ctx, s->log);
    if (st != FERRY_OK) {
        st = lend(ctx, s, st);
    } else {
        const stream_answers empty = s->flying;
        ferry_i_answers_lend(s, &s->flying, NULL);
        s->flying = s->now;
        s->now = empty;
        s->now.n = s->now.text.len = 0;
    }
    return give(ctx, s, st, answers, n);
}

int64_t ferry_stream_seq(const ferry_stream *s)
{
    return s->worker.seq;
}

/* A clean end writes a snapshot, so that the next start need not replay anything. */
ferry_status ferry_stream_close(ferry_ctx *ctx, ferry_stream *s)
{
    ferry_status st = FERRY_OK;

    if (!s->broken) {
        FERRY_TRY(ferry_i_wal_flush(ctx, s->log, s->set.sync != SYNC_OFF));
        FERRY_TRY(write_snapshot(ctx, s));
    }
done:
    ferry_stream_free(s);
    return st;
}

/* Close the lock last: while it is held nobody else sees half of this. */
void ferry_stream_free(ferry_stream *s)
{
    if (!s) return;
    ferry_i_wal_free(s->log);
    ferry_i_worker_close(&s->worker);
    ferry_i_text_free(&s->part);
    ferry_i_line_free(&s->parsed);
    ferry_i_header_free(&s->header);
    ferry_i_answers_free(&s->now);
    ferry_i_answers_free(&s->flying);
    ferry_i_text_free(&s->lent);
    FERRY_FREE(s->folder, s->snapshot);
    if (s->lock >= 0) (void)close(s->lock);
    ferry_i_free(s);
}
