/* A stream that is kept in a folder: opening it, replaying its log, repairing it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stream/folder.h"

/* ---- opening ---- */

/* What is found in the folder. */
typedef struct opening {
    const char *model_path; /* NULL: whichever serves in the log of a model name */
    ferry_hash model;
    char *path; /* of the log */
    uint8_t *bytes;
    int64_t n;
    bool snapshot;
    ferry_wal_scan scan;
    ferry_repaired *repair; /* NULL: what is damaged is refused */
} opening;

/* Salvaging: these records are gone. */
static void lost(ferry_ctx *ctx, const opening *o, int64_t first, int64_t last,
                 const char *why)
{
    if (first > last) return;
    o->repair->lost += last - first + 1;
    ferry_i_log(ctx, FERRY_WARN, "%s: lost records %lld to %lld: %s", o->path,
                (long long)first, (long long)last, why);
}

/* Say once when other kernels wrote the log. */
static void compare_kernels(ferry_ctx *ctx, const char *what, const ferry_record *r,
                            bool *warned)
{
    char now[128];

    ferry_i_stream_kernels(ctx, now, sizeof now);
    if (*warned ||
        (r->y_n == (int64_t)strlen(now) && memcmp(r->y, now, (size_t)r->y_n) == 0))
        return;
    *warned = true;
    ferry_i_log(
        ctx, FERRY_WARN,
        "%s: was written with other kernels (%.*s, now %s): the last bits may differ", what,
        (int)(r->y_n < 100 ? r->y_n : 100), r->y, now);
}

/* Apply the records of the log that the snapshot does not have yet. */
static ferry_status replay(ferry_ctx *ctx, ferry_stream *s, opening *o, int64_t *records)
{
    ferry_status st = FERRY_OK;
    ferry_wal_scan *scan = &o->scan;
    const int64_t had = s->worker->seq;
    ferry_record r = {0};
    bool end = false, finish = false, warned = false;
    char why[256];

    for (*records = 0;; ++*records) {
        ferry_outcome out = {0};
        const int64_t before = scan->last > had ? scan->last : had;
        FERRY_TRY(ferry_i_wal_next(ctx, scan, &r, &end));
        if (end) break;
        const bool session = r.kind == FERRY_RECORD_SESSION;
        if (session) compare_kernels(ctx, scan->what, &r, &warned);
        if (o->repair) lost(ctx, o, before + 1, r.seq - !session, "damaged");
        if (r.seq < had || (r.seq == had && scan->base.after < had)) continue;
        if (!session && !ferry_i_worker_fits(s->worker, &r, why, sizeof why)) {
            FERRY_NEED(ctx, o->repair, FERRY_EDATA,
                       "%s: is damaged: record %lld does not fit: %s; " REPAIR_HINT,
                       scan->what, (long long)r.seq, why);
            lost(ctx, o, r.seq, r.seq, why);
            s->worker->seq = r.seq; /* its number stays taken */
            continue;
        }
        st = ferry_i_worker_apply(ctx, s->worker, &r, &out);
        ferry_i_outcome_free(&out);
        FERRY_TRY(st);
        if (*records % 64 == 63)
            FERRY_TRY(ferry_i_progress(ctx, "replaying the log", scan->at, scan->n, NAN,
                                       &finish));
    }
done:
    return st;
}

/* Whether two hashes of a model file are equal. */
static bool same(ferry_hash a, ferry_hash b)
{
    return a.high == b.high && a.low == b.low;
}

/* The log fits the model and the snapshot. */
static ferry_status check_log(ferry_ctx *ctx, const ferry_stream *s, const opening *o)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx,
               (s->serves || same(o->scan.base.model, o->model)) &&
                   same(s->worker->hash, o->model),
               FERRY_EDATA, "%s: holds the stream of another model than %s", s->folder,
               o->model_path);
    FERRY_NEED(ctx, o->snapshot || o->scan.base.after == 0, FERRY_EDATA,
               "%s: is missing, but the log begins after record %lld", s->snapshot,
               (long long)o->scan.base.after);
    FERRY_NEED(ctx, o->scan.base.after <= s->worker->seq, FERRY_EDATA,
               "%s: begins after record %lld, but the snapshot ends with record %lld",
               o->path, (long long)o->scan.base.after, (long long)s->worker->seq);
done:
    return st;
}

/* The log reaches as far as it must. What is more than was acknowledged is welcome, what is
 * missing of that with sync off is told. */
static ferry_status check_end(ferry_ctx *ctx, const ferry_stream *s, const opening *o,
                              int64_t had)
{
    ferry_status st = FERRY_OK;
    const ferry_wal_scan *scan = &o->scan;

    FERRY_NEED(
        ctx, s->head.fd >= 0 || scan->version < 2, FERRY_EDATA,
        "%s/head: is missing, so nothing tells how far the log must reach; " REPAIR_HINT,
        s->folder);
    FERRY_NEED(ctx, scan->last >= s->head.kept, FERRY_EDATA,
               "%s: ends with record %lld, but record %lld was acknowledged; " REPAIR_HINT,
               o->path, (long long)scan->last, (long long)s->head.kept);
    FERRY_NEED(ctx, scan->last >= had, FERRY_EDATA,
               "%s: ends with record %lld, but the snapshot has record %lld; " REPAIR_HINT,
               o->path, (long long)scan->last, (long long)had);
    if (scan->dropped > 0)
        ferry_i_log(
            ctx, FERRY_WARN,
            "%s: dropped %lld bytes at the end, a record that was not complete; the "
            "last one is record %lld",
            scan->what, (long long)scan->dropped, (long long)scan->last);
    if (scan->last < s->head.said)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: records %lld to %lld were answered with --sync off and never "
                    "reached the disk",
                    scan->what, (long long)scan->last + 1, (long long)s->head.said);
done:
    return st;
}

/* Every record of the newest segment is there that must be; who serves after the last. */
static ferry_status check_shared(ferry_ctx *ctx, ferry_stream *s, opening *o,
                                 int64_t *records)
{
    ferry_status st = FERRY_OK;
    ferry_wal_scan *scan = &o->scan;
    const ferry_head *h = &s->head;
    ferry_record r;
    bool end = false;

    FERRY_TRY(ferry_i_wal_scan(ctx, o->path, o->bytes, o->n, scan));
    FERRY_NEED(ctx, scan->version >= 3, FERRY_EDATA,
               "%s: is the log of a stream, not of a model's versions", o->path);
    scan->head = s->head.fd >= 0 ? &s->head : NULL;
    for (*records = 0; !end; *records += !end) {
        FERRY_TRY(ferry_i_wal_next(ctx, scan, &r, &end));
        s->labels += !end && r.y_n > 0 && r.kind != FERRY_RECORD_SESSION;
    }
    FERRY_TRY(check_end(ctx, s, o, 0));
    FERRY_NEED(
        ctx,
        h->kept != scan->base.after || !h->chain || !scan->base.before ||
            h->chain == scan->base.before,
        FERRY_EDATA,
        "%s: is damaged: it does not follow the record %lld that was acknowledged; " REPAIR_HINT,
        o->path, (long long)h->kept);
    s->serves = scan->serves;
done:
    return st;
}

/* The version that serves, as of its file, and what the log has after that. */
static ferry_status load_serving(ferry_ctx *ctx, ferry_stream *s, const opening *o)
{
    ferry_status st = FERRY_OK;
    ferry_reader d = {.fd = -1};
    ferry_worker *w = NULL;
    const int64_t last = o->scan.last;

    ferry_i_free(s->snapshot);
    FERRY_HAVE(ctx, s->snapshot = ferry_i_version_path(s->folder, s->serves));
    const bool stream =
        o->model_path != NULL; /* ferry stream, in the place of the server */
    FERRY_TRY(
        ferry_i_version_load(ctx, s->folder, s->serves, stream ? -1 : s->set.remember, &w));
    FERRY_NEED(ctx, w, FERRY_EDATA, "%s: is missing, but version %lld serves in %s",
               s->snapshot, (long long)s->serves, o->path);
    FERRY_NEED(ctx, !o->model_path || same(w->hash, o->model), FERRY_EDATA,
               "%s: version %lld serves there, which is another model than %s", s->folder,
               (long long)s->serves, o->model_path);
    FERRY_NEED(ctx, w->seq <= last && w->following == FERRY_FOLLOWS, FERRY_EDATA,
               "%s: is of record %lld, but the log ends with record %lld", s->snapshot,
               (long long)w->seq, (long long)last);
    FERRY_TRY(ferry_i_reader_open(ctx, s->folder, w->seq, &d));
    FERRY_TRY(ferry_i_version_follow(ctx, &d, w, last));
    if (stream && s->set.waiting < w->most)
        s->set.waiting = w->most; /* it forgets nothing */
    ferry_i_worker_free(s->worker);
    FERRY_MOVE(s->worker, w);
done:
    ferry_i_reader_close(&d);
    ferry_i_worker_free(w);
    return st;
}

/* The log of a model name. */
static ferry_status resume_shared(ferry_ctx *ctx, ferry_stream *s, opening *o)
{
    int64_t records = 0;

    FERRY_PASS(check_shared(ctx, s, o, &records));
    FERRY_PASS(load_serving(ctx, s, o));
    /* Whose files are here is relied on: a process that was killed may not have synced their
     * names. */
    FERRY_PASS(ferry_i_sync_folder(ctx, s->folder));
    FERRY_PASS(ferry_i_wal_resume(ctx, s->folder, &o->scan, records, &s->log));
    return ferry_i_segments_list(ctx, s->folder, &s->log->base, &s->segment, &s->segments,
                                 &s->segment_cap);
}

/* Go on where the folder's files end. */
static ferry_status resume(ferry_ctx *ctx, ferry_stream *s, opening *o)
{
    ferry_wal_scan *scan = &o->scan;
    const int64_t had = s->worker->seq;
    int64_t records = 0;

    FERRY_PASS(ferry_i_wal_scan(ctx, o->path, o->bytes, o->n, scan));
    FERRY_PASS(check_log(ctx, s, o));
    scan->head = s->head.fd >= 0 ? &s->head : NULL;
    FERRY_PASS(replay(ctx, s, o, &records));
    FERRY_PASS(check_end(ctx, s, o, had));
    /* A snapshot that was finished just before the end, and no new log yet. */
    if (scan->base.after < had && scan->last == had && scan->head) {
        FERRY_PASS(ferry_i_sync_folder(ctx, s->folder)); /* its name before the log's */
        FERRY_PASS(ferry_i_stream_new_log(ctx, s));
        return FERRY_OK;
    }
    FERRY_PASS(ferry_i_wal_resume(ctx, s->folder, scan, records, &s->log));
    if (scan->version > 1) return FERRY_OK;
    ferry_i_log(ctx, FERRY_INFO, "%s: is converted from format 1 to 2", o->path);
    if (!scan->head) {
        s->head.kept = s->head.said = scan->last;
        FERRY_PASS(ferry_i_head_create(ctx, s->folder, &s->head));
    }
    return ferry_i_stream_snapshot(ctx, s);
}

/* A folder without a log. The head comes first: a log without one would be refused. */
static ferry_status begin(ferry_ctx *ctx, ferry_stream *s, const opening *o)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, !o->snapshot, FERRY_EDATA,
               "%s: is missing, though there is a snapshot; " REPAIR_HINT, o->path);
    FERRY_NEED(ctx, s->head.said == 0, FERRY_EDATA,
               "%s: is missing, though record %lld was acknowledged; " REPAIR_HINT, o->path,
               (long long)s->head.said);
    if (!o->model_path) goto done; /* with the first version of a model name */
    if (s->head.fd < 0) FERRY_TRY(ferry_i_head_create(ctx, s->folder, &s->head));
    FERRY_TRY(ferry_i_stream_new_log(ctx, s));
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

    FERRY_TRY(ferry_i_folder_read(ctx, path, &bytes, &n));
    FERRY_NEED(ctx, bytes, FERRY_EDATA, "%s: cannot read: %s", path, strerror(ENOENT));
    FERRY_TRY(ferry_i_dict_parse(ctx, path, bytes, n, &dict));
    FERRY_NEW(ctx, s->worker, 1);
    FERRY_TRY(ferry_i_model_unpack(ctx, path, dict, NULL, &model));
    FERRY_TRY(
        ferry_i_worker_open(ctx, path, model, ferry_i_stream_hash(bytes, n), s->worker));
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
    ferry_i_worker_close(s->worker);
    *s->worker = w;
    FERRY_HAVE(ctx, ferry_i_learned_resize(&s->worker->learned, s->set.remember));
done:
    ferry_i_dict_free(dict);
    return st;
}

/* ---- repairing ---- */

/* Keep the damaged log under a name that is free, or has it already. */
static ferry_status keep_damaged(ferry_ctx *ctx, const opening *o)
{
    ferry_status st = FERRY_OK;
    char *name = NULL;
    uint8_t *other = NULL;
    ferry_out *out = NULL;
    int64_t n = 0;

    for (int i = 1;; i++) {
        FERRY_FREE(name, other);
        other = NULL;
        name = i == 1 ? ferry_i_sprintf("%s.damaged", o->path)
                      : ferry_i_sprintf("%s.damaged.%d", o->path, i);
        FERRY_HAVE(ctx, name);
        FERRY_TRY(ferry_i_folder_read(ctx, name, &other, &n));
        if (!other) break;
        if (n == o->n && memcmp(other, o->bytes, (size_t)n) == 0) goto done;
    }
    FERRY_TRY(ferry_i_out_open(ctx, name, &out));
    ferry_i_out_write(out, o->bytes, o->n);
    FERRY_TRY(ferry_i_out_commit(ctx, out));
done:
    FERRY_FREE(other, name);
    return st;
}

/* In the folder of a model name the version that began with this model, if there is one. */
static ferry_status find_version(ferry_ctx *ctx, ferry_stream *s, opening *o)
{
    ferry_worker *w = NULL;
    int64_t version = 0;

    FERRY_PASS(ferry_i_version_find(ctx, s->folder, o->model, &version));
    if (version == 0) return FERRY_OK;
    ferry_i_free(s->snapshot);
    if (!(s->snapshot = ferry_i_version_path(s->folder, version)))
        return ferry_i_nomem(ctx);
    FERRY_PASS(ferry_i_version_load(ctx, s->folder, version, -1, &w));
    ferry_i_worker_free(s->worker);
    s->worker = w;
    s->serves = version;
    o->snapshot = true;
    return FERRY_OK;
}

/* Take every record that is whole and still fits, put a snapshot of what comes out in the
 * place of all, and let the head say that this is how far the stream is. Stopped anywhere,
 * the folder is refused as before and the next repair does the same again. */
static ferry_status salvage(ferry_ctx *ctx, ferry_stream *s, opening *o)
{
    ferry_status st = FERRY_OK;
    ferry_wal_scan *scan = &o->scan;
    int64_t records = 0;

    FERRY_TRY(find_version(ctx, s, o));
    st = ferry_i_wal_scan(ctx, o->path, o->bytes, o->n, scan);
    if (st == FERRY_EDATA) { /* its header is damaged, or it is not there at all */
        ferry_i_wal_scan_anyway(
            &(ferry_wal_base){o->model, s->worker->seq, s->serves, .before = 0}, scan);
        st = FERRY_OK;
    }
    FERRY_TRY(st);
    FERRY_TRY(check_log(ctx, s, o));
    scan->salvage = true;
    const int64_t had = s->worker->seq;
    FERRY_TRY(replay(ctx, s, o, &records));
    FERRY_NEED(ctx, scan->version < 3 || scan->serves == s->serves, FERRY_EDATA,
               "%s: version %lld serves there, which is another model than %s", s->folder,
               (long long)scan->serves, o->model_path);
    if (scan->last > s->worker->seq) s->worker->seq = scan->last;
    lost(ctx, o, s->worker->seq + 1, s->head.said, "missing");
    o->repair->last = s->worker->seq;
    o->repair->damaged = scan->holes > 0 || o->repair->lost > 0 || scan->last < had ||
                         (s->head.fd < 0 && scan->version >= 2);
    if (!o->repair->damaged) goto done;
    if (o->bytes) FERRY_TRY(keep_damaged(ctx, o));
    FERRY_TRY(ferry_i_stream_snapshot(ctx, s));
    s->head.kept = s->head.said = s->worker->seq;
    s->head.chain = 0;
    FERRY_TRY(ferry_i_head_create(ctx, s->folder, &s->head));
done:
    return st;
}

/* ---- the whole ---- */

/* Whether the log is that of a model name; one that cannot be read where it must be is told. */
static bool is_shared(const opening *o)
{
    uint32_t version = 0;

    if (o->bytes && o->n >= 12) memcpy(&version, o->bytes + 8, sizeof version);
    return version == 3 || (o->bytes && !o->model_path);
}

/* Begin or go on: the lock first (nobody else changes the files from here), then what a
 * dead process left half written, then the snapshot if there is one, then the log after
 * it. */
static ferry_status open_folder(ferry_ctx *ctx, ferry_stream *s, opening *o)
{
    ferry_status st = FERRY_OK;

    FERRY_HAVE(ctx, o->path = ferry_i_path_join(s->folder, "log"));
    FERRY_TRY(ferry_i_folder_lock(ctx, s));
    ferry_i_folder_clean(s);
    FERRY_TRY(ferry_i_segments_mend(ctx, s->folder));
    if (o->model_path) FERRY_TRY(load_snapshot(ctx, s, &o->snapshot));
    FERRY_TRY(ferry_i_folder_read(ctx, o->path, &o->bytes, &o->n));
    st = ferry_i_head_open(ctx, s->folder, &s->head);
    if (o->repair && st == FERRY_EDATA) st = FERRY_OK; /* a new one will be written */
    FERRY_TRY(st);
    if (o->repair)
        FERRY_TRY(salvage(ctx, s, o));
    else if (is_shared(o))
        FERRY_TRY(resume_shared(ctx, s, o));
    else if (o->bytes && o->model_path)
        FERRY_TRY(resume(ctx, s, o));
    else
        FERRY_TRY(begin(ctx, s, o));
    FERRY_TRY(ferry_i_folder_sync_above(ctx, s->folder));
done:
    return st;
}

/* A stream with its model, whose folder has not been looked at. */
static ferry_status new_stream(ferry_ctx *ctx, const char *model, const char *dir,
                               const ferry_opts *opts, ferry_stream **out)
{
    ferry_status st = FERRY_OK;
    ferry_stream *s = NULL;
    const char *base = NULL;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    s->may_wait = s->may_be_new = -1;
    s->lock = s->head.fd = -1;
    s->keep = s->needed = INT64_MAX;
    s->seconds = BATCH_SECONDS;
    FERRY_TRY(ferry_i_opts_parse(ctx, "stream", ferry_i_stream_table,
                                 ferry_i_stream_table_n, opts, &s->set));
    s->snapshot_records = s->set.snapshot;
    s->snapshot_bytes = LOG_MOST;
    s->folder = ferry_i_strdup(dir);
    if (model) s->snapshot = ferry_i_path_join(dir, "snapshot.ferry");
    FERRY_HAVE(ctx, s->folder && (s->snapshot || !model));
    if (!model) goto made;
    FERRY_TRY(load_model(ctx, s, model));
    FERRY_HAVE(ctx, ferry_i_learned_resize(&s->worker->learned, s->set.remember));
    if (s->worker->model->views[0]->read)
        base = ferry_opts_get(s->worker->model->views[0]->read, "index_base");
    s->base = base && strcmp(base, "zero") == 0 ? 0 : 1;
made:
    FERRY_MOVE(*out, s);
done:
    ferry_i_stream_free(s);
    return st;
}

/* Open in the order in which things can be wrong: settings, the model's file, the folder.
 * Features of svmlight lines are numbered as the model's own file was. A session record is
 * written at once, so that the log says with which kernels its records were computed. */
ferry_status ferry_stream_open(ferry_ctx *ctx, const char *model, const char *dir,
                               const ferry_opts *opts, ferry_stream **out)
{
    FERRY_ARGS_OUT(ctx, out, out, model, dir);

    ferry_status st = FERRY_OK;
    ferry_stream *s = NULL;
    opening o = {.model_path = model};

    *out = NULL;
    FERRY_TRY(new_stream(ctx, model, dir, opts, &s));
    o.model = s->worker->hash;
    FERRY_TRY(ferry_i_folder_make(ctx, dir));
    FERRY_TRY(open_folder(ctx, s, &o));
    FERRY_TRY(ferry_i_stream_session(ctx, s));
    FERRY_MOVE(*out, s);
done:
    FERRY_FREE(o.bytes, o.path);
    ferry_i_stream_free(s);
    return st;
}

ferry_status ferry_i_shared_open(ferry_ctx *ctx, const char *folder, const ferry_opts *opts,
                                 int64_t keep, ferry_stream **out)
{
    ferry_status st = FERRY_OK;
    ferry_stream *s = NULL;
    opening o = {.model_path = NULL};

    *out = NULL;
    FERRY_TRY(new_stream(ctx, NULL, folder, opts, &s));
    s->keep = keep;
    FERRY_TRY(ferry_i_folder_make(ctx, folder));
    FERRY_TRY(open_folder(ctx, s, &o));
    if (s->log) FERRY_TRY(ferry_i_stream_session(ctx, s));
    FERRY_MOVE(*out, s);
done:
    FERRY_FREE(o.bytes, o.path);
    ferry_i_stream_free(s);
    return st;
}

ferry_status ferry_stream_repair(ferry_ctx *ctx, const char *model, const char *dir,
                                 ferry_repaired *out)
{
    FERRY_ARGS(ctx, model, dir, out);

    ferry_status st = FERRY_OK;
    ferry_stream *s = NULL;
    opening o = {.model_path = model, .repair = out};

    *out = (ferry_repaired){0};
    FERRY_TRY(new_stream(ctx, model, dir, NULL, &s));
    o.model = s->worker->hash;
    char *lock = ferry_i_path_join(dir, "lock");
    const bool there = lock && access(lock, F_OK) == 0;
    ferry_i_free(lock);
    FERRY_NEED(ctx, there, FERRY_EDATA, "%s: holds no stream", dir);
    FERRY_TRY(open_folder(ctx, s, &o));
done:
    FERRY_FREE(o.bytes, o.path);
    ferry_i_stream_free(s);
    return st;
}
