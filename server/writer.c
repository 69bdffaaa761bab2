/* The writer of a model name: the only thread that adds to its log and changes the version that
 * serves, as `ferry stream` does with its own.
 *
 * Requests that come while a batch is being synced wait and then share the next sync. The
 * answers of a request go out when all its rows are durable. When a write fails nothing of
 * the batch is acknowledged, the log is opened again from its folder by a later request, and
 * predictions go on meanwhile. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "server/serve.h"

#define SLICE 64 /* rows that are learned before predictions may come in between */

/* ---- answers ---- */

/* One row alone that is wrong is an error of the request. */
static void one_row(serve_request *r)
{
    json_t *answer = r->out.len > 10 && strncmp(r->out.s, "{\"error\":", 9) == 0
                         ? json_loadb(r->out.s, (size_t)r->out.len, 0, NULL)
                         : NULL;
    const char *why = json_string_value(json_object_get(answer, "error"));

    if (why) ferry_i_serve_error(r, 400, "%s", why);
    json_decref(answer);
}

/* End the job that stands at `at` in the list of open ones. */
static void finish(serve_writer *w, serve_job **at)
{
    serve_job *job = *at;
    serve_request *r = job->request;

    *at = job->next;
    if (!job->next) w->open_end = at;
    if (job->mixed) {
        ferry_i_serve_error(r, 500,
                            "the answers do not fit the rows; send labels again by their "
                            "ids to learn which were kept");
    } else if (job->large) {
        ferry_i_serve_error(r, 413,
                            "all rows were taken, but the answer is too large: send fewer "
                            "rows at once");
    } else if (job->st == FERRY_ENEEDS) {
        ferry_i_serve_error(r, 409, "%s", job->why);
    } else if (job->st != FERRY_OK) {
        r->retry = 1;
        ferry_i_serve_error(r, strstr(job->why, strerror(ENOSPC)) ? 507 : 503,
                            "not acknowledged: %s", job->why);
    } else if (job->deed != SERVE_SNAPSHOT) {
        ferry_i_serve_rows_end(r);
        if (r->form == SERVE_ONE) one_row(r);
    }
    ferry_i_serve_resume(r);
}

static void fail(serve_writer *w, serve_job **at, ferry_status st, const char *why)
{
    (*at)->st = st;
    (void)snprintf((*at)->why, sizeof(*at)->why, "%s", why);
    finish(w, at);
}

/* Answers that do not belong to the rows of a request are a mistake of ours: it must not show
 * in what a client is told. What was learned stays; the client hears that it cannot know. */
static void disown(serve_writer *w, serve_job *job, int64_t row)
{
    job->mixed = true;
    ferry_i_serve_log(w->server, FERRY_WARN,
                      "%s: request %s: row %lld of %lld has not exactly one answer (please "
                      "report this)",
                      w->name, job->request->id, (long long)row,
                      (long long)job->request->rows);
}

static serve_job **open_job(serve_writer *w, uint64_t number)
{
    serve_job **at = &w->open;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

void ferry_i_writer_give(serve_writer *w, const stream_answers *a, bool all)
{
    for (int64_t i = 0; i < a->n; i++) {
        const stream_answer *one = &a->answer[i];
        serve_job **at = open_job(w, one->owner), *job = *at;
        if (!job) {
            ferry_i_serve_log(w->server, FERRY_WARN,
                              "%s: an answer to no request (please report this)", w->name);
            continue;
        }
        serve_request *r = job->request;
        if (one->line != job->got + 1 && !job->mixed) disown(w, job, one->line);
        if (job->mixed) continue;
        const int64_t n = ferry_i_answers_end(a, i) - one->at;
        ferry_i_serve_row_begin(r, job->got++);
        ferry_i_text_addn(&r->out, a->text.s + one->at, r->form == SERVE_LIST ? n - 1 : n);
        if (!job->large && !ferry_i_serve_grown(r)) job->large = true;
        if (job->large) r->out.len = 0;
        if (job->got == r->rows) finish(w, at);
    }
    for (serve_job **at = &w->open; *at;) {
        serve_job *job = *at;
        if (all && job->got != job->taken && !job->mixed) disown(w, job, job->got + 1);
        if (job->mixed && job->taken == job->request->rows)
            finish(w, at);
        else
            at = &job->next;
    }
}

/* Nothing that is open was acknowledged. The models stay for predictions; they may be ahead of
 * the log, so they learn nothing more, and the shadow has to come back from its file. */
void ferry_i_writer_break(serve_writer *w, const char *why)
{
    if (w->stream) {
        ferry_i_serve_log(w->server, FERRY_WARN, "%s: learning stopped: %s", w->name, why);
        ferry_i_stream_free(w->stream);
        w->stream = NULL;
        ferry_i_writer_feed(w, NULL);
        w->tried = ferry_i_clock();
    }
    while (w->open)
        fail(w, &w->open, FERRY_EIO, why);
}

/* The log may lose what all that follow it have in their files. */
static void note_needed(serve_writer *w)
{
    serve_version *shadow = w->beside;

    if (shadow && shadow->worker &&
        shadow->worker->seq - shadow->kept >= w->server->set.snapshot) {
        if (ferry_i_version_save(w->ctx, w->folder, shadow->worker) == FERRY_OK)
            shadow->kept = shadow->worker->seq;
        else
            ferry_i_serve_log(w->server, FERRY_WARN, "shadow %s: %s", shadow->path,
                              ferry_message(w->ctx));
    }
    w->stream->needed = w->readers > 0             ? 0
                        : shadow && shadow->worker ? shadow->kept
                                                   : INT64_MAX;
}

/* What was begun by the turn before is durable now; all of it, when nothing is under way. */
static void note_extent(serve_writer *w)
{
    const ferry_stream *s = w->stream;

    w->durable = s->flying.n == 0 ? s->worker->seq : w->begun;
    w->begun = s->worker->seq;
    w->oldest = s->segments > 0 ? s->segment[0].after : s->log->base.after;
}

/* Make durable what was taken, and answer. `turn`: more is coming. */
static void commit(serve_writer *w, bool turn)
{
    const char *text = NULL;
    char why[sizeof w->ctx->message];
    int64_t n = 0;

    if (!w->stream) return;
    note_needed(w);
    const ferry_status st = ferry_stream_commit(w->ctx, w->stream, !turn, &text, &n);
    if (st != FERRY_OK || w->stream->broken) { /* also by what was taken before */
        memcpy(why, ferry_message(w->ctx), sizeof why);
        ferry_i_writer_break(w, why);
        return;
    }
    w->serving->waiting = w->serving->worker->queue.n;
    note_extent(w);
    ferry_i_writer_give(w, &w->stream->returned, !turn);
}

/* ---- the log ---- */

static ferry_status set_number(ferry_ctx *ctx, ferry_opts *opts, const char *key, int64_t n)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%lld", (long long)n);
    return ferry_opts_set(ctx, opts, key, text);
}

static ferry_status open_log(ferry_ctx *ctx, const serve_writer *w, ferry_stream **out)
{
    static const char *const sync[] = {"always", "batch", "off"};
    ferry_status st = FERRY_OK;
    const serve_settings *set = &w->server->set;
    ferry_opts *opts = NULL;

    FERRY_TRY(ferry_opts_new(ctx, &opts));
    FERRY_TRY(ferry_opts_set(ctx, opts, "sync", sync[set->sync]));
    FERRY_TRY(set_number(ctx, opts, "waiting", set->waiting));
    FERRY_TRY(set_number(ctx, opts, "remember", set->remember));
    FERRY_TRY(set_number(ctx, opts, "snapshot", set->snapshot));
    FERRY_TRY(ferry_i_shared_open(ctx, w->folder, opts, set->keep, out));
    (*out)->watch = ferry_i_writer_watch;
    (*out)->watcher = (void *)w;
done:
    ferry_opts_free(opts);
    return st;
}

void ferry_i_writer_set(serve_writer *w, serve_version *v)
{
    pthread_mutex_lock(&w->mutex);
    serve_version *old = w->serving;
    w->serving = ferry_i_version_ref(v);
    pthread_mutex_unlock(&w->mutex);
    if (old && old != v) old->waiting = 0; /* they wait in the other now */
    v->waiting = v->worker->queue.n;
    ferry_i_version_free(old);
}

void ferry_i_writer_feed(serve_writer *w, serve_version *shadow)
{
    pthread_mutex_lock(&w->mutex);
    serve_version *old = w->beside;
    w->beside = ferry_i_version_ref(shadow);
    pthread_mutex_unlock(&w->mutex);
    ferry_i_version_free(old);
}

bool ferry_i_writer_feeds(serve_writer *w, const serve_version *shadow)
{
    pthread_mutex_lock(&w->mutex);
    const bool same = w->beside == shadow;
    pthread_mutex_unlock(&w->mutex);
    return same;
}

bool ferry_i_writer_serves(serve_writer *w, const serve_version *v)
{
    pthread_mutex_lock(&w->mutex);
    const bool same = w->serving == v;
    pthread_mutex_unlock(&w->mutex);
    return same;
}

serve_version *ferry_i_writer_serving(serve_writer *w)
{
    pthread_mutex_lock(&w->mutex);
    serve_version *v = ferry_i_version_ref(w->serving);
    pthread_mutex_unlock(&w->mutex);
    return v;
}

/* The version that a log says serves has its worker from here on. */
static void adopt(serve_writer *w, serve_version *v, ferry_stream *stream)
{
    stream->borrowed = true;
    ferry_i_version_set(v, stream->worker);
    w->stream = stream;
    ferry_i_writer_set(w, v);
    note_extent(w);
}

/* Not more than once a second. Whether a version took over while the disk failed, its log
 * tells; both are in the list then. */
bool ferry_i_writer_whole(serve_writer *w)
{
    ferry_stream *stream = NULL;
    ferry_server *s = w->server;

    if (w->stream) return true;
    if (ferry_i_clock() - w->tried < 1) return false;
    w->tried = ferry_i_clock();
    if (open_log(w->ctx, w, &stream) != FERRY_OK) return false;
    serve_version *v =
        stream->worker ? ferry_i_models_get(s, w->name, stream->serves) : NULL;
    if (!v || !v->learns) {
        ferry_i_serve_log(s, FERRY_WARN, "%s: version %lld serves, and is not there",
                          w->name, (long long)stream->serves);
        ferry_i_version_free(v);
        ferry_i_stream_free(stream);
        return false;
    }
    adopt(w, v, stream);
    ferry_i_models_serve(s, v);
    ferry_i_version_free(v);
    ferry_i_serve_log(s, FERRY_WARN, "%s: learns again, after record %lld", w->name,
                      (long long)ferry_stream_seq(stream));
    return true;
}

/* ---- jobs ---- */

/* What who sends these rows may still have: of the model, and of his own token. */
static void limit(serve_writer *w, const serve_request *r)
{
    ferry_stream *s = w->stream;
    const ferry_worker *worker = s->worker;
    const int64_t all = w->server->set.classes - ferry_i_served_classes(worker->model),
                  own = ferry_i_tokens_classes(&w->server->tokens, &r->who, 0);

    w->who = &r->who;
    memcpy(&s->tag, r->who.hash, sizeof s->tag);
    s->may_wait = r->who.waiting;
    s->may_be_new = all > 0 ? all : 0;
    if (own >= 0 && own < s->may_be_new) s->may_be_new = own;
    if (s->may_wait < 0) return;
    for (const ferry_waiting *q = worker->queue.oldest; q && s->may_wait > 0; q = q->newer)
        s->may_wait -= q->tag == s->tag;
}

static void take_rows(serve_writer *w, serve_job *job)
{
    serve_request *r = job->request;
    serve_version *v = w->serving;
    const int64_t rows = r->rows;

    w->stream->line = 0;
    w->stream->owner = job->number;
    limit(w, r);
    w->stream->only = job->deed == SERVE_LEARN ? ONLY_LABELS : ONLY_INSTANCES;
    w->stream->set.scores = r->wants_scores;
    for (int64_t at = 0;
         w->stream && at < rows;) { /* after the last row the job may be gone */
        ferry_status st = FERRY_OK;
        pthread_rwlock_wrlock(&v->lock);
        for (int i = 0; i < SLICE && st == FERRY_OK && at < rows; i++, at++) {
            job->taken++;
            st = ferry_i_stream_row(w->ctx, w->stream, r->body.s + r->row[at].at,
                                    r->row[at].n);
        }
        pthread_rwlock_unlock(&v->lock);
        if (st != FERRY_OK)
            commit(w, false);
        else if (ferry_stream_due(w->stream) == 0)
            commit(w, true);
        if (st != FERRY_OK && w->stream) ferry_i_writer_break(w, ferry_message(w->ctx));
        if (st != FERRY_OK) return;
    }
}

static void take_snapshot(serve_writer *w)
{
    serve_request *r = NULL;
    ferry_status st = FERRY_OK;

    commit(w, false); /* nothing but this job is open afterwards */
    if (!w->stream) return;
    r = w->open->request;
    st = ferry_i_stream_snapshot(w->ctx, w->stream);
    if (st == FERRY_OK) st = ferry_i_stream_session(w->ctx, w->stream);
    if (st != FERRY_OK) {
        fail(w, &w->open, st, ferry_message(w->ctx));
        return;
    }
    ferry_i_serve_json(r, json_pack("{s:s, s:I}", "snapshot", w->stream->snapshot, "seq",
                                    (json_int_t)w->stream->worker->seq));
    finish(w, &w->open);
}

static void do_call(serve_writer *w, serve_job *job)
{
    commit(w, false);
    (void)ferry_i_writer_whole(w);
    job->call(w, job->argument);
    pthread_mutex_lock(&w->mutex);
    job->called = true;
    pthread_cond_broadcast(&w->idle);
    pthread_mutex_unlock(&w->mutex);
}

/* The job joins those that wait for an answer before its rows are taken: a commit on the way
 * may answer the first of them. */
static void do_job(serve_writer *w, serve_job *job)
{
    (void)ferry_i_memory_lost();
    if (job->deed == SERVE_CALL) {
        do_call(w, job);
        return;
    }
    job->next = NULL;
    job->number = ++w->job_number;
    serve_job **at = w->open_end;
    *at = job;
    w->open_end = &job->next;
    if (!ferry_i_writer_whole(w))
        ferry_i_writer_break(w, "the log cannot be written; try again");
    else if (job->request->exact && job->request->version != w->serving)
        fail(w, at, FERRY_ENEEDS,
             "another version serves: labels, and rows that wait for one, go to the model "
             "without a version");
    else if (job->deed == SERVE_SNAPSHOT)
        take_snapshot(w);
    else if (job->request->rows > 0)
        take_rows(w, job);
    else if (commit(w, false), w->open) /* it is, unless the log failed */
        finish(w, &w->open);
}

static void *writing(void *writer)
{
    serve_writer *w = writer;

    pthread_mutex_lock(&w->mutex);
    for (;;) {
        while (!w->first && !w->stop) {
            w->busy = false;
            pthread_cond_broadcast(&w->idle);
            pthread_cond_wait(&w->wake, &w->mutex);
        }
        serve_job *job = w->first;
        if (!job) break;
        w->busy = true;
        w->first = job->next;
        if (!w->first) w->last = &w->first;
        w->jobs--;
        const bool more = w->first != NULL;
        pthread_mutex_unlock(&w->mutex);
        do_job(w, job);
        if (!more) commit(w, false); /* nobody else would share this sync */
        pthread_mutex_lock(&w->mutex);
    }
    w->busy = false;
    pthread_cond_broadcast(&w->idle);
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

bool ferry_i_writer_add(serve_writer *w, serve_job *job)
{
    bool ok = false;

    pthread_mutex_lock(&w->mutex);
    if (w->has_thread && !w->stop && w->jobs < w->server->set.queue) {
        job->next = NULL;
        *w->last = job;
        w->last = &job->next;
        w->jobs++;
        ok = true;
        /* Suspended before the writer can resume it. */
        job->request->suspended = true;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->mutex);
    return ok;
}

/* Before the requests that wait: it is short, and the one who calls has worked for it. */
void ferry_i_writer_call(serve_writer *w, void (*call)(serve_writer *w, void *argument),
                         void *argument)
{
    serve_job job = {.deed = SERVE_CALL, .call = call, .argument = argument};

    pthread_mutex_lock(&w->mutex);
    job.next = w->first;
    w->first = &job;
    if (!job.next) w->last = &job.next;
    w->jobs++;
    pthread_cond_signal(&w->wake);
    while (!job.called)
        pthread_cond_wait(&w->idle, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

void ferry_i_writer_drain(serve_writer *w)
{
    pthread_mutex_lock(&w->mutex);
    while (w->has_thread && (w->first || w->busy))
        pthread_cond_wait(&w->idle, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

/* ---- beginning and ending ---- */

/* Before 0.2 was finished every version had a folder of its own with a log. */
static ferry_status refuse_old(ferry_ctx *ctx, const serve_writer *w)
{
    ferry_status st = FERRY_OK;
    DIR *dir = opendir(w->folder);
    char *old = NULL;

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        const char *end = e->d_name + strlen(e->d_name);
        int64_t n = 0;
        if (ferry_i_parse_int(e->d_name, end, &n) != end || n < 1) continue;
        ferry_i_free(old);
        FERRY_HAVE(ctx, old = ferry_i_sprintf("%s/%s/log", w->folder, e->d_name));
        FERRY_NEED(
            ctx, access(old, F_OK) != 0, FERRY_EDATA,
            "%s: is of an earlier ferry, which kept a log for each version: begin "
            "with another folder, and with the snapshot.ferry beside it as the model",
            old);
    }
done:
    if (dir) (void)closedir(dir);
    ferry_i_free(old);
    return st;
}

ferry_status ferry_i_writer_new(ferry_ctx *ctx, ferry_server *s, const char *name,
                                serve_writer **out)
{
    ferry_status st = FERRY_OK;
    serve_writer *w = NULL;

    FERRY_NEW(ctx, w, 1);
    *w = (serve_writer){.server = s};
    w->last = &w->first;
    w->open_end = &w->open;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->idle, NULL);
    w->name = ferry_i_strdup(name);
    w->folder = ferry_i_sprintf("%s/%s", s->set.state, name);
    FERRY_HAVE(ctx, w->name && w->folder && ferry_i_serve_context(s, &w->ctx) == FERRY_OK);
    FERRY_MOVE(*out, w);
done:
    ferry_i_writer_free(w);
    return st;
}

void ferry_i_writer_free(serve_writer *w)
{
    if (!w) return;
    ferry_i_stream_free(w->stream);
    ferry_i_version_free(w->serving);
    ferry_i_version_free(w->beside);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->idle);
    ferry_ctx_free(w->ctx);
    FERRY_FREE(w->name, w->folder, w);
}

/* The version that serves by the log: the first one, when that is new; else one of the list.
 * NULL: its file is no more. */
static ferry_status find_serving(ferry_ctx *ctx, serve_writer *w, serve_version *first,
                                 ferry_stream *stream, serve_version **out)
{
    ferry_status st = FERRY_OK;
    ferry_worker *worker = NULL;
    serve_version *v = NULL;

    if (!stream->log) {
        FERRY_TRY(ferry_i_version_worker(ctx, first, &worker));
        FERRY_TRY(ferry_i_shared_begin(ctx, stream, worker));
        *out = ferry_i_version_ref(first);
        goto done;
    }
    v = ferry_i_models_get(w->server, w->name, stream->serves);
    FERRY_NEED(ctx, !v || memcmp(&v->hash, &stream->worker->hash, sizeof v->hash) == 0,
               FERRY_EDATA, CHANGED, v->path, (long long)stream->serves);
    FERRY_MOVE(*out, v);
done:
    ferry_i_version_free(v);
    return st;
}

ferry_status ferry_i_writer_open(ferry_ctx *ctx, serve_writer *w, serve_version *first)
{
    ferry_status st = FERRY_OK;
    ferry_stream *stream = NULL;
    serve_version *v = NULL;

    FERRY_TRY(ferry_i_folder_make(ctx, w->server->set.state));
    FERRY_TRY(refuse_old(ctx, w));
    FERRY_TRY(open_log(ctx, w, &stream));
    FERRY_TRY(find_serving(ctx, w, first, stream, &v));
    const bool gone = !v;
    if (gone) FERRY_TRY(ferry_i_version_revive(ctx, w, stream, &v));
    adopt(w, v, stream);
    stream = NULL;
    if (gone) FERRY_TRY(ferry_i_models_add(ctx, w->server, ferry_i_version_ref(v)));
    ferry_i_models_serve(w->server, v);
    FERRY_NEED(ctx, pthread_create(&w->thread, NULL, writing, w) == 0, FERRY_EIO,
               "%s: no thread to learn in", w->name);
    w->has_thread = true;
done:
    ferry_i_stream_free(stream);
    ferry_i_version_free(v);
    return st;
}

ferry_status ferry_i_writer_stop(ferry_ctx *ctx, serve_writer *w)
{
    ferry_status st = FERRY_OK;

    if (w->has_thread) {
        pthread_mutex_lock(&w->mutex);
        w->stop = true;
        pthread_cond_broadcast(&w->wake);
        pthread_mutex_unlock(&w->mutex);
        pthread_join(w->thread, NULL);
        w->has_thread = false;
    }
    if (!w->stream) return st;
    st = ferry_i_wal_flush(ctx, w->stream->log, w->server->set.sync != SYNC_OFF);
    if (st == FERRY_OK && w->beside && w->beside->worker)
        st = ferry_i_version_save(ctx, w->folder, w->beside->worker);
    if (st == FERRY_OK) st = ferry_i_stream_snapshot(ctx, w->stream);
    ferry_i_stream_free(w->stream);
    w->stream = NULL;
    return st;
}
