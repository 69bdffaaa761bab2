/* Learning: one writer for each version, as `ferry stream` is one, with the same log.
 *
 * Requests that come while a batch is being synced wait and then share the next sync. The
 * answers of a request go out when all its rows are durable. When a write fails nothing of
 * the batch is acknowledged, the stream is opened again from its folder by a later request,
 * and predictions go on meanwhile. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "serve/serve.h"

#define SLICE 64 /* rows that are learned before predictions may come in between */
#define LABEL_BYTES ((int64_t)64 << 20)

/* ---- what labels tell ---- */

void ferry_i_scores_add(serve_scores *s, int value)
{
    s->labels++;
    s->mistakes += value > 0;
    s->ring[s->next] = (int8_t)value;
    s->next = (s->next + 1) % SERVE_WINDOW;
    if (s->n < SERVE_WINDOW) s->n++;
}

void ferry_i_row_line(ferry_text *t, const char *id, int64_t id_n, const ferry_row *x,
                      const char *y)
{
    ferry_i_text_addn(t, "{", 1);
    if (id_n > 0) {
        ferry_i_text_add(t, "\"id\":");
        ferry_i_text_json(t, id, id_n);
        ferry_i_text_addn(t, ",", 1);
    }
    ferry_i_text_add(t, x->index ? "\"x\":{\"i\":[" : "\"x\":[");
    for (int64_t e = 0; x->index && e < x->n; e++)
        ferry_i_text_addf(t, e ? ",%d" : "%d", x->index[e]);
    if (x->index) ferry_i_text_add(t, "],\"v\":[");
    for (int64_t e = 0; e < x->n; e++) {
        if (e) ferry_i_text_addn(t, ",", 1);
        ferry_i_text_real(t, x->value[e]);
    }
    ferry_i_text_add(t, x->index ? "]}" : "]");
    if (y) {
        ferry_i_text_add(t, ",\"y\":");
        ferry_i_text_json(t, y, (int64_t)strlen(y));
    }
    ferry_i_text_addn(t, "}\n", 2);
}

/* Labels with their rows, for a version to come: the file, and the one before it. What came
 * as one line goes there as it came: writing numbers costs as much as learning from them. A
 * space before it says that its id was learned before and asked about again, so that this is
 * another label. */
static void keep_label(serve_version *v, const ferry_record *r, const ferry_row *x,
                       const char *y, bool again)
{
    ferry_text t = {0};
    int64_t at = 0; /* a sender's own spaces say nothing */

    if (!v->labels) return;
    while (at < v->line_n && v->line[at] == ' ')
        at++;
    if (r->kind == FERRY_RECORD_BOTH && v->stream->parsed.seq == 0 &&
        !memchr(v->line, '\n', (size_t)v->line_n)) {
        (void)fwrite(v->line + at, 1, (size_t)(v->line_n - at), v->labels);
        (void)putc('\n', v->labels);
        v->labels_bytes += v->line_n - at + 1;
    } else {
        if (again) ferry_i_text_addn(&t, " ", 1);
        ferry_i_row_line(&t, r->id, r->id_n, x, y);
        if (!t.failed) (void)fwrite(t.s, 1, (size_t)t.len, v->labels);
        v->labels_bytes += t.len;
        ferry_i_text_free(&t);
    }
    if (++v->labels_n < v->server->set.keep && v->labels_bytes < LABEL_BYTES) return;
    char *old = ferry_i_sprintf("%s.old", v->labels_path);
    (void)fclose(v->labels);
    if (old) (void)rename(v->labels_path, old);
    v->labels = fopen(v->labels_path, "ae");
    v->labels_n = v->labels_bytes = 0;
    ferry_i_free(old);
}

/* Whether a shadow that does not learn gets the row wrong; -1: it cannot tell. */
static int shadow_wrong(serve_version *shadow, const ferry_row *x, const char *label)
{
    serve_batch *b = ferry_i_calloc(1, sizeof *b);
    ferry_line l = {.n = x->n, .value = (double *)x->value, .index = (int32_t *)x->index};
    int wrong = -1;

    if (!b) return wrong;
    l.sparse = x->index != NULL;
    b->cols = ferry_model_columns(shadow->model);
    if (ferry_i_batch_add(b, shadow, &l) &&
        ferry_i_batch_predict(shadow->ctx, shadow, b) == FERRY_OK &&
        b->count[SERVE_BAD] == 0) {
        const ferry_prediction *p = b->p[l.sparse ? SERVE_SPARSE : SERVE_DENSE];
        if (p->cls) wrong = p->cls[0] < 0 || strcmp(p->names[p->cls[0]], label) != 0;
    }
    ferry_i_batch_free(b);
    return wrong;
}

/* The same line to the shadow, which learns or is asked; then both have said what they think
 * of the same label. */
static void compare(serve_version *v, const ferry_row *x, const char *label)
{
    serve_version *shadow = v->beside;

    shadow->mistake = -1;
    if (shadow->stream) {
        pthread_rwlock_wrlock(&shadow->lock);
        const ferry_status st =
            ferry_i_stream_take(shadow->ctx, shadow->stream, v->line, v->line_n);
        pthread_rwlock_unlock(&shadow->lock);
        if (st != FERRY_OK) {
            ferry_i_serve_log(v->server, FERRY_WARN, "shadow %s: %s", shadow->path,
                              ferry_message(shadow->ctx));
            shadow->mistake = -1;
        }
    } else if (label && !shadow->folder) {
        shadow->mistake = shadow_wrong(shadow, x, label);
        if (shadow->mistake >= 0) ferry_i_scores_add(&shadow->scores, shadow->mistake);
    }
    if (v->mistake >= 0 && shadow->mistake >= 0)
        ferry_i_scores_add(&shadow->against, v->mistake - shadow->mistake);
}

/* The stream tells what came of a record. The answer that counts is the one that was given
 * before the label was known. */
void ferry_i_version_watch(void *version, const ferry_record *r, const ferry_outcome *o)
{
    serve_version *v = version;
    const ferry_row x = o->was ? (ferry_row){o->was->n, o->was->index, o->was->value}
                               : (ferry_row){r->n, r->sparse ? r->index : NULL, r->value};
    const int32_t said = o->was ? o->was->answer : o->answer;
    const char *label = ferry_model_class_at(v->stream->worker.model, o->label);

    v->mistake = -1;
    if (!o->was && !v->shadow) {
        v->rows++;
        v->server->rows++;
        if (!x.index) ferry_i_drift_note(v, 1, x.n, x.value);
    }
    if (label) {
        v->learned++;
        if (!o->was || said >= 0) {
            v->mistake = said != o->label;
            ferry_i_scores_add(&v->scores, v->mistake);
        }
        if (!v->shadow) keep_label(v, r, &x, label, o->again);
    }
    if (v->beside) compare(v, &x, label);
}

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

static void finish(serve_version *v)
{
    serve_job *job = v->open;
    serve_request *r = job->request;

    v->open = job->next;
    if (!v->open) v->open_end = &v->open;
    if (job->st != FERRY_OK) {
        r->retry = 1;
        ferry_i_serve_error(r, strstr(job->why, strerror(ENOSPC)) ? 507 : 503,
                            "not acknowledged: %s", job->why);
    } else if (job->deed != SERVE_SNAPSHOT) {
        ferry_i_serve_rows_end(r);
        if (r->form == SERVE_ONE) one_row(r);
    }
    ferry_i_serve_resume(r);
}

/* Lines of answers to the rows that were taken, in their order. */
static void give(serve_version *v, const char *text, int64_t n)
{
    while (n > 0 && v->open) {
        const char *end = memchr(text, '\n', (size_t)n);
        serve_job *job = v->open;
        serve_request *r = job->request;
        if (!end) break;
        const int64_t line = end - text;
        ferry_i_serve_row_begin(r, job->got++);
        ferry_i_text_addn(&r->out, text, r->form == SERVE_LIST ? line : line + 1);
        text += line + 1;
        n -= line + 1;
        if (job->got == r->rows) finish(v);
    }
}

/* The model without its stream: predictions go on. */
static void let_go(serve_version *v)
{
    pthread_rwlock_wrlock(&v->lock);
    v->own = v->stream->worker.model;
    v->stream->worker.model = NULL;
    pthread_rwlock_unlock(&v->lock);
    ferry_stream_free(v->stream);
    v->stream = NULL;
}

/* Nothing that is open was acknowledged. The model stays for predictions, without its stream;
 * memory may be ahead of the log, so it learns nothing more. */
static void break_off(serve_version *v, const char *why)
{
    if (v->stream) {
        ferry_i_serve_log(v->server, FERRY_WARN, "%s/%lld: learning stopped: %s", v->name,
                          (long long)v->number, why);
        let_go(v);
        v->tried = ferry_i_clock();
    }
    while (v->open) {
        v->open->st = FERRY_EIO;
        (void)snprintf(v->open->why, sizeof v->open->why, "%s", why);
        finish(v);
    }
}

/* Make durable what was taken, and answer. `turn`: more is coming. */
static void commit(serve_version *v, bool turn)
{
    const char *text = NULL;
    char why[sizeof v->ctx->message];
    int64_t n = 0;

    if (!v->stream) return;
    const ferry_status st = turn ? ferry_stream_turn(v->ctx, v->stream, &text, &n)
                                 : ferry_stream_commit(v->ctx, v->stream, &text, &n);
    if (st != FERRY_OK || v->stream->broken) { /* also by what was taken before */
        memcpy(why, ferry_message(v->ctx), sizeof why);
        break_off(v, why);
        return;
    }
    v->seq = v->stream->worker.seq;
    v->waiting = v->stream->worker.queue.n;
    if (v->labels) (void)fflush(v->labels); /* a kill after the answer must not lose them */
    give(v, text, n);
    if (turn) return;
    serve_version *shadow = v->beside;
    if (shadow && shadow->stream &&
        ferry_stream_commit(shadow->ctx, shadow->stream, &text, &n) != FERRY_OK)
        ferry_i_serve_log(v->server, FERRY_WARN, "shadow %s: %s", shadow->path,
                          ferry_message(shadow->ctx));
}

/* ---- jobs ---- */

/* A stream that broke is opened again from its folder, not more than once a second. */
static bool is_whole(serve_version *v)
{
    ferry_stream *stream = NULL;

    if (v->stream) return true;
    if (ferry_i_clock() - v->tried < 1) return false;
    v->tried = ferry_i_clock();
    if (ferry_i_version_stream(v->ctx, v, &stream) != FERRY_OK) return false;
    pthread_rwlock_wrlock(&v->lock);
    ferry_model *old = v->own;
    v->stream = stream;
    v->model = stream->worker.model;
    v->own = NULL;
    pthread_rwlock_unlock(&v->lock);
    ferry_model_free(old);
    ferry_i_serve_log(v->server, FERRY_WARN, "%s/%lld: learns again, after record %lld",
                      v->name, (long long)v->number, (long long)ferry_stream_seq(stream));
    return true;
}

static void take_rows(serve_version *v, serve_job *job)
{
    serve_request *r = job->request;
    const int64_t rows = r->rows;

    v->stream->line = 0;
    v->stream->only = job->deed == SERVE_LEARN ? ONLY_LABELS : ONLY_INSTANCES;
    v->stream->set.scores = r->wants_scores;
    for (int64_t at = 0;
         v->stream && at < rows;) { /* after the last row the job may be gone */
        ferry_status st = FERRY_OK;
        pthread_rwlock_wrlock(&v->lock);
        for (int i = 0; i < SLICE && st == FERRY_OK && at < rows; i++, at++) {
            v->line = r->body.s + r->row[at].at;
            v->line_n = r->row[at].n;
            st = ferry_i_stream_take(v->ctx, v->stream, v->line, v->line_n);
        }
        pthread_rwlock_unlock(&v->lock);
        if (st != FERRY_OK)
            commit(v, false);
        else if (ferry_stream_due(v->stream) == 0)
            commit(v, true);
        if (st != FERRY_OK && v->stream) break_off(v, ferry_message(v->ctx));
        if (st != FERRY_OK) return;
    }
}

static void take_snapshot(serve_version *v)
{
    serve_request *r = NULL;
    ferry_status st = FERRY_OK;

    commit(v, false);
    if (!v->stream) return;
    r = v->open->request;
    st = ferry_i_stream_snapshot(v->ctx, v->stream);
    if (st == FERRY_OK) st = ferry_i_stream_session(v->ctx, v->stream);
    if (st != FERRY_OK) {
        v->open->st = st;
        (void)snprintf(v->open->why, sizeof v->open->why, "%s", ferry_message(v->ctx));
    } else {
        ferry_i_serve_json(r, json_pack("{s:s, s:I}", "snapshot", v->stream->snapshot,
                                        "seq", (json_int_t)v->stream->worker.seq));
    }
    finish(v);
}

/* The job joins those that wait for an answer before its rows are taken: a commit on the way
 * may answer the first of them. */
static void do_job(serve_version *v, serve_job *job)
{
    (void)ferry_i_memory_lost();
    job->next = NULL;
    *v->open_end = job;
    v->open_end = &job->next;
    if (!is_whole(v))
        break_off(v, "the log cannot be written; try again");
    else if (job->deed == SERVE_SNAPSHOT)
        take_snapshot(v);
    else if (job->request->rows == 0)
        commit(v, false), finish(v);
    else
        take_rows(v, job);
}

static void *writing(void *version)
{
    serve_version *v = version;

    pthread_mutex_lock(&v->mutex);
    for (;;) {
        while (!v->first && !v->stop) {
            v->busy = false;
            pthread_cond_broadcast(&v->idle);
            pthread_cond_wait(&v->wake, &v->mutex);
        }
        serve_job *job = v->first;
        if (!job) break;
        v->busy = true;
        v->first = job->next;
        if (!v->first) v->last = &v->first;
        v->jobs--;
        const bool more = v->first != NULL;
        pthread_mutex_unlock(&v->mutex);
        do_job(v, job);
        if (!more) commit(v, false); /* nobody else would share this sync */
        pthread_mutex_lock(&v->mutex);
    }
    v->busy = false;
    pthread_cond_broadcast(&v->idle);
    pthread_mutex_unlock(&v->mutex);
    return NULL;
}

ferry_status ferry_i_writer_start(ferry_ctx *ctx, serve_version *v)
{
    if (!v->folder || v->shadow || v->has_writer) return FERRY_OK;
    if (pthread_create(&v->writer, NULL, writing, v) != 0)
        return ferry_i_fail(ctx, FERRY_EIO, "%s: no thread to learn in", v->path);
    v->has_writer = true;
    return FERRY_OK;
}

ferry_status ferry_i_writer_stop(ferry_ctx *ctx, serve_version *v)
{
    ferry_status st = FERRY_OK;

    if (v->has_writer) {
        pthread_mutex_lock(&v->mutex);
        v->stop = true;
        pthread_cond_broadcast(&v->wake);
        pthread_mutex_unlock(&v->mutex);
        pthread_join(v->writer, NULL);
        v->has_writer = false;
    }
    if (!v->stream) return st;
    st = ferry_i_wal_flush(ctx, v->stream->log, v->server->set.sync != SYNC_OFF);
    if (st == FERRY_OK) st = ferry_i_stream_snapshot(ctx, v->stream);
    let_go(v);
    return st;
}

bool ferry_i_writer_add(serve_version *v, serve_job *job)
{
    bool ok = false;

    pthread_mutex_lock(&v->mutex);
    if (v->has_writer && !v->stop && v->jobs < v->server->set.queue) {
        job->next = NULL;
        *v->last = job;
        v->last = &job->next;
        v->jobs++;
        ok = true;
        /* Suspended before the writer can resume it. */
        job->request->suspended = true;
        ferry_i_mhd.suspend(job->request->mhd);
        pthread_cond_signal(&v->wake);
    }
    pthread_mutex_unlock(&v->mutex);
    return ok;
}

void ferry_i_writer_drain(serve_version *v)
{
    pthread_mutex_lock(&v->mutex);
    while (v->has_writer && (v->first || v->busy))
        pthread_cond_wait(&v->idle, &v->mutex);
    pthread_mutex_unlock(&v->mutex);
}

/* ---- requests ---- */

void ferry_i_serve_submit(serve_request *r, serve_deed deed)
{
    ferry_server *s = r->server;

    ferry_i_models_hold(s, r);
    if (!r->version->folder) {
        ferry_i_serve_error(r, 409, "model '%s' %s", r->version->name,
                            !ferry_model_streams(r->version->model)
                                ? "cannot learn from labels"
                                : "learns only with a "
                                  "folder for its state");
    } else {
        r->job = (serve_job){.deed = deed, .request = r};
        if (r->connection) { /* it waits for us now, not we for it */
            pthread_mutex_lock(&s->mutex);
            r->connection->since = 0;
            pthread_mutex_unlock(&s->mutex);
        }
        if (!ferry_i_writer_add(r->version, &r->job)) {
            r->retry = 1;
            ferry_i_serve_error(r, 429,
                                "too many requests wait for their labels to be kept");
        }
    }
    ferry_i_models_release(s);
}

void ferry_i_serve_learn(serve_request *r)
{
    if (ferry_i_serve_rows(r)) ferry_i_serve_submit(r, SERVE_LEARN);
}

void ferry_i_serve_snapshot(serve_request *r)
{
    ferry_i_serve_submit(r, SERVE_SNAPSHOT);
}
