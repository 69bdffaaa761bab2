/* A version joins the log of its name: it catches up, and then serves, or is fed as a shadow.
 *
 * All of it but the last step is done by the thread that loads versions, from files: requests
 * go on meanwhile, to this model and to others. In order:
 *
 *   1. its own file in the state's folder, if it has one; else its model, at record 0
 *   2. with `replay`, the labels that the log still has after its position. Its file is written
 *      on the way, so that a crash repeats little and nothing twice
 *   3. what waits for a label, and the ids that were learned, from the one that serves, as its
 *      file and the log have them up to some record. Its file again: from here on it follows
 *   4. every record after that one
 *   5. the writer: the few records that came meanwhile, then one that says who serves
 *
 * A version that follows already (a shadow; a take-over that was cut short) begins with 4. */
#include <string.h>

#include "server/serve.h"

/* As the writer has it: records first + 1 to last are in the log, durably; who serves. */
typedef struct extent {
    int64_t first, last, serves;
    ferry_status st;
    char why[512];
} extent;

typedef struct joining {
    serve_writer *writer;
    serve_version *version;
    ferry_worker *worker; /* NULL: it does not learn, or has been handed over */
    int64_t kept;         /* the record that its file is of */
    ferry_reader reader;
    extent log;
} joining;

static void measure(serve_writer *w, void *argument)
{
    extent *e = argument;

    e->st = w->stream ? FERRY_OK : FERRY_EIO;
    (void)snprintf(e->why, sizeof e->why, "%s: the log cannot be written", w->folder);
    if (e->st == FERRY_OK && w->server->set.sync == SYNC_OFF) {
        e->st =
            ferry_i_wal_flush(w->ctx, w->stream->log, true); /* a file must not be ahead */
        if (e->st != FERRY_OK) {
            (void)snprintf(e->why, sizeof e->why, "%s", ferry_message(w->ctx));
            ferry_i_writer_break(w, e->why);
        }
    }
    if (e->st != FERRY_OK) return;
    e->last = w->durable;
    e->first = w->oldest;
    e->serves = w->stream->serves;
}

static ferry_status look(ferry_ctx *ctx, joining *j)
{
    ferry_i_writer_call(j->writer, measure, &j->log);
    return j->log.st == FERRY_OK ? FERRY_OK
                                 : ferry_i_fail(ctx, j->log.st, "%s", j->log.why);
}

static ferry_status save(ferry_ctx *ctx, joining *j)
{
    FERRY_PASS(ferry_i_version_save(ctx, j->writer->folder, j->worker));
    j->kept = j->worker->seq;
    return FERRY_OK;
}

/* ---- before it follows ---- */

/* Labels up to the end of the log, a file every so many records: writing one takes as long as
 * learning from thousands. */
static ferry_status replay(ferry_ctx *ctx, joining *j)
{
    const int64_t set = j->version->server->set.snapshot, step = set > 1000 ? set : 1000;
    ferry_worker *w = j->worker;

    if (w->seq < j->log.first) w->seq = j->log.first; /* what came before is not kept */
    w->following = FERRY_REPLAYS;
    ferry_i_reader_close(&j->reader);
    FERRY_PASS(ferry_i_reader_open(ctx, j->writer->folder, w->seq, &j->reader));
    FERRY_PASS(ferry_i_reader_retracted(ctx, &j->reader, j->log.last));
    while (j->log.last - w->seq > step) {
        FERRY_PASS(ferry_i_version_follow(ctx, &j->reader, w, w->seq + step));
        FERRY_PASS(save(ctx, j));
    }
    return ferry_i_version_follow(ctx, &j->reader, w, j->log.last);
}

/* The one that serves, as of record log.last. Its file may be replaced meanwhile, by one that is
 * further; then its own record is the last. */
static ferry_status load_serving(ferry_ctx *ctx, joining *j, ferry_worker **out)
{
    ferry_status st = FERRY_OK;
    ferry_worker *w = NULL;
    ferry_reader d = {.fd = -1};

    FERRY_TRY(ferry_i_version_load(ctx, j->writer->folder, j->log.serves,
                                   j->version->server->set.remember, &w));
    FERRY_NEED(ctx, w, FERRY_EDATA, "%s: version %lld serves, and has no file",
               j->writer->folder, (long long)j->log.serves);
    if (w->seq > j->log.last) j->log.last = w->seq;
    FERRY_TRY(ferry_i_reader_open(ctx, j->writer->folder, w->seq, &d));
    FERRY_TRY(ferry_i_version_follow(ctx, &d, w, j->log.last));
    FERRY_MOVE(*out, w);
done:
    ferry_i_reader_close(&d);
    ferry_i_worker_free(w);
    return st;
}

static ferry_status inherit(ferry_ctx *ctx, joining *j)
{
    ferry_status st = FERRY_OK;
    ferry_worker *from = NULL;

    FERRY_TRY(look(ctx, j));
    FERRY_TRY(load_serving(ctx, j, &from));
    if (j->version->server->set.replay)
        FERRY_TRY(ferry_i_version_follow(ctx, &j->reader, j->worker, j->log.last));
    FERRY_TRY(ferry_i_worker_inherit(ctx, j->worker, from));
    FERRY_TRY(save(ctx, j));
done:
    ferry_i_worker_free(from);
    return st;
}

/* Its own file, where that is of the same model. */
static ferry_status load_own(ferry_ctx *ctx, joining *j)
{
    ferry_status st = FERRY_OK;
    const serve_version *v = j->version;

    FERRY_TRY(ferry_i_version_load(ctx, j->writer->folder, v->number,
                                   v->server->set.remember, &j->worker));
    FERRY_NEED(ctx, !j->worker || memcmp(&j->worker->hash, &v->hash, sizeof v->hash) == 0,
               FERRY_EDATA, CHANGED, v->path, (long long)v->number);
    const bool lost = j->worker && j->worker->following == FERRY_FOLLOWS &&
                      (j->worker->seq < j->log.first || j->worker->seq > j->log.last);
    if (lost) { /* it was away for longer than the log is kept */
        ferry_i_worker_free(j->worker);
        j->worker = NULL;
    }
    if (!j->worker) FERRY_TRY(ferry_i_version_worker(ctx, v, &j->worker));
    j->kept = j->worker->seq;
done:
    return st;
}

/* ---- the writer's part ---- */

/* The rest of the log, which has come to rest. */
static ferry_status finish(ferry_ctx *ctx, joining *j)
{
    ferry_status st = FERRY_OK;
    const serve_writer *w = j->writer;
    const ferry_record most = {.kind = FERRY_RECORD_SESSION, .n = w->server->set.waiting};
    ferry_outcome none;

    FERRY_NEED(ctx, w->stream, FERRY_EIO, "%s: the log cannot be written", w->folder);
    if (!j->worker) goto done;
    FERRY_TRY(ferry_i_version_follow(ctx, &j->reader, j->worker, w->stream->worker->seq));
    FERRY_TRY(ferry_i_worker_apply(ctx, j->worker, &most, &none));
done:
    return st;
}

static void keep_message(const serve_writer *w, extent *e)
{
    if (e->st != FERRY_OK)
        (void)snprintf(e->why, sizeof e->why, "%s", ferry_message(w->ctx));
}

static void begin_to_serve(serve_writer *w, void *argument)
{
    joining *j = argument;
    serve_version *v = j->version;

    j->log.st = finish(w->ctx, j);
    if (j->log.st == FERRY_OK)
        j->log.st = ferry_i_shared_serve(w->ctx, w->stream, j->worker);
    keep_message(w, &j->log);
    if (j->log.st != FERRY_OK) {
        if (w->stream && w->stream->broken) ferry_i_writer_break(w, j->log.why);
        return;
    }
    ferry_i_version_set(v, j->worker);
    j->worker = NULL;
    ferry_i_writer_set(w, v);
    ferry_i_models_serve(w->server, v);
}

static void begin_to_feed(serve_writer *w, void *argument)
{
    joining *j = argument;

    j->log.st = finish(w->ctx, j);
    keep_message(w, &j->log);
    if (j->log.st != FERRY_OK) return;
    if (j->worker) ferry_i_version_set(j->version, j->worker);
    j->version->kept = j->kept;
    j->worker = NULL;
    ferry_i_writer_feed(w, j->version);
}

/* ---- the whole ---- */

/* Up to what came while it caught up the last time, until that is little. */
static ferry_status follow(ferry_ctx *ctx, joining *j)
{
    ferry_i_reader_close(&j->reader);
    FERRY_PASS(ferry_i_reader_open(ctx, j->writer->folder, j->worker->seq, &j->reader));
    for (int rounds = 0; rounds < 20; rounds++) {
        FERRY_PASS(look(ctx, j));
        const int64_t left = j->log.last - j->worker->seq;
        FERRY_PASS(ferry_i_version_follow(ctx, &j->reader, j->worker, j->log.last));
        if (left < 64) break;
    }
    return FERRY_OK;
}

static ferry_status catch_up(ferry_ctx *ctx, joining *j)
{
    FERRY_PASS(look(ctx, j));
    FERRY_PASS(load_own(ctx, j));
    if (j->worker->following == FERRY_FOLLOWS) FERRY_PASS(follow(ctx, j));
    if (j->worker->following == FERRY_FOLLOWS) return FERRY_OK; /* it had not left */
    if (j->version->server->set.replay) FERRY_PASS(replay(ctx, j));
    FERRY_PASS(inherit(ctx, j));
    return follow(ctx, j);
}

/* The one that no longer serves, as it was left; it could also be told from the log. */
static void keep_left(ferry_ctx *ctx, serve_writer *w, serve_version *old)
{
    pthread_rwlock_rdlock(&old->lock); /* the worker stays while it is written */
    if (old->worker->following == FERRY_LEFT) {
        ferry_i_queue_clear(&old->worker->queue); /* they wait in the other */
        if (ferry_i_version_save(ctx, w->folder, old->worker) != FERRY_OK)
            ferry_i_serve_log(w->server, FERRY_WARN, "%s", ferry_message(ctx));
    }
    pthread_rwlock_unlock(&old->lock);
}

ferry_status ferry_i_version_join(ferry_ctx *ctx, serve_writer *w, serve_version *v)
{
    ferry_status st = FERRY_OK;
    joining j = {.writer = w, .version = v, .reader = {.fd = -1}};
    serve_version *old = ferry_i_writer_serving(w);

    w->readers++;
    if (v->learns) FERRY_TRY(catch_up(ctx, &j));
    ferry_i_writer_call(w, v->shadow ? begin_to_feed : begin_to_serve, &j);
    if (j.log.st != FERRY_OK) FERRY_TRY(ferry_i_fail(ctx, j.log.st, "%s", j.log.why));
    if (!v->shadow) keep_left(ctx, w, old);
done:
    w->readers--;
    ferry_i_reader_close(&j.reader);
    ferry_i_worker_free(j.worker);
    ferry_i_version_free(old);
    return st;
}

static void stop_feeding(serve_writer *w, void *argument)
{
    serve_version *shadow = w->beside;

    (void)argument;
    if (shadow && shadow->worker &&
        ferry_i_version_save(w->ctx, w->folder, shadow->worker) != FERRY_OK)
        ferry_i_serve_log(w->server, FERRY_WARN, "shadow %s: %s", shadow->path,
                          ferry_message(w->ctx));
    ferry_i_writer_feed(w, NULL);
}

void ferry_i_version_recall(ferry_ctx *ctx, const serve_writer *w, serve_version *v)
{
    ferry_worker *worker = NULL;

    if (ferry_i_version_load(ctx, w->folder, v->number, 0, &worker) != FERRY_OK)
        ferry_i_serve_log(w->server, FERRY_WARN, "%s", ferry_message(ctx));
    if (worker && memcmp(&worker->hash, &v->hash, sizeof v->hash) == 0 &&
        worker->following != FERRY_REPLAYS) {
        ferry_i_queue_clear(&worker->queue);
        ferry_i_version_set(v, worker);
    } else {
        ferry_i_worker_free(worker);
    }
}

void ferry_i_version_leave(serve_writer *w)
{
    ferry_i_writer_call(w, stop_feeding, NULL);
}
