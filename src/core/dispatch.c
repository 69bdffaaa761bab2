/* A pool over ranks: rank 0 dispatches jobs to whoever is free, and gives the outcome to all.
 *
 *   rank r                      rank 0
 *   WANT pool, n        ->
 *                       <-      JOB pool, number, threads         (nothing: there are no more)
 *   DONE pool, number, status, lines, files, what it left  ->     files are written at once
 *                       <-      STOP pool, answer, failed         (cancelled, or something failed)
 *                       <-      END  pool, status, everything that jobs left, in their order
 *
 * Each job's threads are rank 0's: they may change bits, where a job runs may not. Messages of a pool that is
 * over are dropped by its number. Rank 0 waits for a rank only while that rank has a job. */
#include <string.h>

#include "core/pool_run.h"

enum { CANCELLED = -1 }; /* as the number of a job: this rank was asked to stop */

/* ---- what workers ask ---- */

int64_t ferry_i_dispatch_take(pool *p)
{
    if (!p->dispatched || p->ctx->ranks->rank == 0)
        return p->next < p->end ? p->next++ : -1;
    p->idle++;
    while (p->n_queue == 0 && !p->closed)
        pthread_cond_wait(&p->given, &p->mutex);
    p->idle--;
    return p->closed ? -1 : p->queue[--p->n_queue];
}

void ferry_i_dispatch_done(pool *p, int64_t job, ferry_status st, const char *message)
{
    slot *s = &p->slot[job];

    s->st = st;
    s->done = true;
    if (!p->dispatched || p->ctx->ranks->rank == 0) return;
    s->where = p->ctx->ranks->rank;
    s->message = ferry_i_strdup(message);
    p->finished[p->n_finished++] = job;
}

void ferry_i_dispatch_pack(pool *p, int64_t job)
{
    slot *s = &p->slot[job];

    if (!p->dispatched || s->st != FERRY_OK || s->body.at) return;
    s->body.writing = true;
    s->st = p->jobs->pack(p->ctx, p->jobs->arg, job, &s->body);
    if (s->st == FERRY_OK && s->body.failed) s->st = ferry_i_nomem(p->ctx);
    s->body.writing = false;
    s->body.pos = 0;
}

/* What a job left, into its place here. */
static ferry_status unpack(pool *p, int64_t job, ferry_buffer *body)
{
    ferry_status st = p->jobs->pack(p->ctx, p->jobs->arg, job, body);

    if (st == FERRY_OK && (body->failed || body->pos != body->n))
        st = ferry_i_fail(p->ctx, FERRY_EDATA, "what another rank sent cannot be read");
    body->pos = 0;
    return st;
}

/* The bytes of a buffer in another. */
static void pack_buffer(ferry_buffer *p, ferry_buffer *inner)
{
    void *at = inner->at;

    ferry_i_buffer_array(p, &at, &inner->n, 1);
    if (!p->writing) inner->at = at;
}

/* ---- rank 0 ---- */

/* Files of cells that another rank finished: {name, bytes} after each other. */
static void keep_files(pool *p, ferry_buffer *kept)
{
    while (kept->pos < kept->n && !kept->failed) {
        ferry_ctx quiet = ferry_i_child(p->ctx);
        ferry_buffer file = {0};
        char *name = NULL;
        ferry_out *o = NULL;
        ferry_i_buffer_text(kept, &name);
        pack_buffer(kept, &file);
        char *path = name && p->ctx->part ? ferry_i_path_join(p->ctx->part, name) : NULL;
        ferry_status st = FERRY_OK;
        if (path && (st = ferry_i_out_open(&quiet, path, &o)) == FERRY_OK) {
            ferry_i_out_write(o, file.at, file.n);
            st = ferry_i_out_commit(&quiet, o);
        }
        if (st != FERRY_OK)
            ferry_i_warn_once(p->ctx,
                              "%s: cannot keep what is done: --resume will do it again",
                              p->ctx->part);
        FERRY_FREE(name, path);
        ferry_i_buffer_free(&file);
    }
}

static ferry_status give_job(pool *p, int to, ferry_buffer *in)
{
    ferry_buffer out = {.writing = true};
    int64_t n = 0, job = -1;
    int threads = p->model.threads;

    FERRY_PACK(in, n);
    if (n != p->jobs->n)
        return ferry_i_fail(
            p->ctx, FERRY_EDATA,
            "rank %d (%s) has %lld pieces of work where rank 0 has %lld: its "
            "data or settings are others",
            to, p->ctx->ranks->host[to], (long long)n, (long long)p->jobs->n);
    (void)pthread_mutex_lock(&p->mutex);
    if (p->next < p->end) {
        job = p->next++;
        p->slot[job].where = to;
        p->away++;
    }
    (void)pthread_mutex_unlock(&p->mutex);
    if (job < 0) return FERRY_OK; /* it waits for the end */
    FERRY_PACK(&out, p->number);
    FERRY_PACK(&out, job);
    FERRY_PACK(&out, threads);
    const ferry_status st = ferry_i_ranks_send(p->ctx, to, RANK_JOB, &out);
    ferry_i_buffer_free(&out);
    return st;
}

/* A job comes back. */
static ferry_status take_back(pool *p, int from, ferry_buffer *in)
{
    ferry_status st = FERRY_OK, theirs = FERRY_OK;
    ferry_buffer kept = {0};
    char *message = NULL;
    int64_t job = CANCELLED;

    FERRY_PACK(in, job);
    if (job == CANCELLED) {
        (void)pthread_mutex_lock(&p->mutex);
        ferry_i_pool_answer(p, FERRY_CANCEL);
        (void)pthread_mutex_unlock(&p->mutex);
        goto done;
    }
    FERRY_NEED(p->ctx, job >= 0 && job < p->jobs->n && p->slot[job].where == from,
               FERRY_EDATA, "rank %d sent what it was not asked for", from);
    slot *s = &p->slot[job];
    FERRY_PACK(in, theirs);
    ferry_i_buffer_text(in, &message);
    ferry_i_buffer_lines(in, &s->lines);
    pack_buffer(in, &kept);
    pack_buffer(in, &s->body);
    FERRY_HAVE(p->ctx, !in->failed);
    keep_files(p, &kept);
    if (theirs == FERRY_OK) FERRY_TRY(unpack(p, job, &s->body));
    (void)pthread_mutex_lock(&p->mutex);
    p->away--;
    s->st = theirs;
    s->done = true;
    (void)pthread_mutex_unlock(&p->mutex);
    if (theirs == FERRY_ECANCELLED) {
        (void)pthread_mutex_lock(&p->mutex);
        if (p->failed > job) ferry_i_pool_answer(p, FERRY_CANCEL);
        (void)pthread_mutex_unlock(&p->mutex);
    }
    if (theirs != FERRY_OK) st = ferry_i_fail(p->ctx, theirs, "%s", message ? message : "");
done:
    if (st != FERRY_OK && job >= 0) {
        (void)pthread_mutex_lock(&p->mutex);
        ferry_i_pool_fail(p, job, st, p->ctx->message);
        (void)pthread_mutex_unlock(&p->mutex);
        st = theirs != FERRY_OK ? FERRY_OK : st;
    }
    ferry_i_free(message);
    ferry_i_buffer_free(&kept);
    return st;
}

/* Tell the others that all is to end, or from where on nothing is needed. */
static ferry_status report(pool *p)
{
    ferry_buffer out = {.writing = true};

    if (p->reported == p->answer && p->sent_failed == p->failed) return FERRY_OK;
    p->reported = p->answer;
    p->sent_failed = p->failed;
    FERRY_PACK(&out, p->number);
    FERRY_PACK(&out, p->reported);
    FERRY_PACK(&out, p->sent_failed);
    const ferry_status st = ferry_i_ranks_send(p->ctx, -1, RANK_STOP, &out);
    ferry_i_buffer_free(&out);
    return st;
}

/* One message of this pool; others are dropped. *there: there was one. */
static ferry_status serve_one(pool *p, bool *there)
{
    ferry_buffer in = {0};
    ferry_tag tag = 0;
    int64_t number = -1;
    int from = 0;
    ferry_status st = ferry_i_ranks_poll(p->ctx, there, &from, &tag, &in);

    if (st != FERRY_OK || !*there) return st;
    FERRY_PACK(&in, number);
    if (number == p->number && tag == RANK_WANT) st = give_job(p, from, &in);
    if (number == p->number && tag == RANK_DONE) st = take_back(p, from, &in);
    ferry_i_buffer_free(&in);
    return st;
}

/* The callback also hears from rank 0 while its own workers have nothing to say: a signal that came
 * meanwhile is noticed. Under the lock. */
static void ask_now_and_then(pool *p)
{
    const ferry_progress what = {
        .what = "ranks", .step = p->model.step + p->next, .steps = p->model.steps};

    if (!p->model.progress || ferry_i_clock() - p->last < 0.1) return;
    (void)pthread_mutex_unlock(&p->mutex);
    const ferry_answer answer = p->model.progress(p->model.progress_user, &what);
    (void)pthread_mutex_lock(&p->mutex);
    p->last = ferry_i_clock();
    ferry_i_pool_answer(p, answer);
}

void ferry_i_dispatch_serve(pool *p)
{
    bool there = false;

    ask_now_and_then(p);
    ferry_status st = report(p);
    (void)pthread_mutex_unlock(&p->mutex);
    if (st == FERRY_OK) st = serve_one(p, &there);
    if (!there) ferry_i_ranks_rest();
    (void)pthread_mutex_lock(&p->mutex);
    if (st == FERRY_OK) return;
    ferry_i_pool_fail(p, 0, st, p->ctx->message); /* the job is broken: all of it ends */
    ferry_i_pool_answer(p, FERRY_CANCEL);
}

ferry_status ferry_i_dispatch_end(pool *p)
{
    ferry_buffer out = {.writing = true};
    char *message = p->message;
    const bool whole = p->answer != FERRY_CANCEL;

    FERRY_PACK(&out, p->number);
    FERRY_PACK(&out, p->answer);
    FERRY_PACK(&out, p->next);
    FERRY_PACK(&out, p->failed);
    FERRY_PACK(&out, p->st);
    ferry_i_buffer_text(&out, &message);
    for (int64_t i = 0; whole && i < p->next; i++) {
        FERRY_PACK(&out, p->slot[i].where);
        if (i < p->failed) pack_buffer(&out, &p->slot[i].body);
    }
    const ferry_status st = ferry_i_ranks_send(p->ctx, -1, RANK_END, &out);
    ferry_i_buffer_free(&out);
    return st;
}

/* ---- the others ---- */

static ferry_status send_done(pool *p, int64_t job)
{
    ferry_buffer out = {.writing = true};

    FERRY_PACK(&out, p->number);
    FERRY_PACK(&out, job);
    if (job != CANCELLED) {
        slot *s = &p->slot[job];
        ferry_i_dispatch_pack(p, job);
        FERRY_PACK(&out, s->st);
        ferry_i_buffer_text(&out, &s->message);
        ferry_i_buffer_lines(&out, &s->lines);
        pack_buffer(&out, &s->kept);
        pack_buffer(&out, &s->body);
        ferry_i_buffer_free(&s->kept);
        ferry_i_buffer_free(&s->body);
    }
    const ferry_status st = ferry_i_ranks_send(p->ctx, 0, RANK_DONE, &out);
    ferry_i_buffer_free(&out);
    return st;
}

static ferry_status send_want(pool *p)
{
    ferry_buffer out = {.writing = true};
    int64_t n = p->jobs->n;

    FERRY_PACK(&out, p->number);
    FERRY_PACK(&out, n);
    const ferry_status st = ferry_i_ranks_send(p->ctx, 0, RANK_WANT, &out);
    ferry_i_buffer_free(&out);
    return st;
}

/* A message from rank 0; the pool's outcome becomes *end. */
static ferry_status follow_one(pool *p, bool *there, ferry_buffer *end)
{
    ferry_status st = FERRY_OK;
    ferry_buffer in = {0};
    ferry_tag tag = 0;
    int64_t number = -1, job = 0, failed = 0;
    int from = 0, threads = 0;
    ferry_answer answer = FERRY_GO;

    FERRY_TRY(ferry_i_ranks_poll(p->ctx, there, &from, &tag, &in));
    if (!*there) goto done;
    if (tag == RANK_OVER) {
        p->ctx->ranks->over = true;
        FERRY_TRY(ferry_i_fail(p->ctx, FERRY_ECANCELLED, "rank 0 has ended the call"));
    }
    FERRY_PACK(&in, number);
    if (number != p->number) goto done;
    if (tag == RANK_END) {
        *end = in;
        in = (ferry_buffer){0};
        goto done;
    }
    (void)pthread_mutex_lock(&p->mutex);
    if (tag == RANK_JOB) {
        FERRY_PACK(&in, job);
        FERRY_PACK(&in, threads);
        p->model.threads = threads;
        p->asking--;
        if (job >= 0 && job < p->jobs->n) p->queue[p->n_queue++] = job;
        pthread_cond_signal(&p->given);
    } else if (tag == RANK_STOP) {
        FERRY_PACK(&in, answer);
        FERRY_PACK(&in, failed);
        ferry_i_pool_answer(p, answer);
        if (failed < p->failed) p->failed = failed;
    }
    (void)pthread_mutex_unlock(&p->mutex);
done:
    ferry_i_buffer_free(&in);
    return st;
}

/* Until the outcome is there: questions of workers to the callback, jobs in and out. */
static ferry_status attend(pool *p, ferry_buffer *end)
{
    ferry_status st = FERRY_OK;
    bool sent = false;

    while (st == FERRY_OK && !end->at) {
        bool there = false;
        (void)pthread_mutex_lock(&p->mutex);
        while (ferry_i_pool_hear(p))
            continue;
        ask_now_and_then(p);
        const int64_t job = p->n_sent < p->n_finished ? p->finished[p->n_sent++] : -1;
        const int more = p->idle - (int)p->n_queue - p->asking;
        const bool cancel =
            p->answer == FERRY_CANCEL && p->reported != FERRY_CANCEL && !sent;
        if (more > 0) p->asking += more;
        (void)pthread_mutex_unlock(&p->mutex);
        sent = sent || cancel;
        if (job >= 0) st = send_done(p, job);
        if (cancel && st == FERRY_OK) st = send_done(p, CANCELLED);
        for (int i = 0; i < more && st == FERRY_OK; i++)
            st = send_want(p);
        if (st == FERRY_OK) st = follow_one(p, &there, end);
        if (!there && job < 0 && st == FERRY_OK) ferry_i_ranks_rest();
    }
    /* workers that still run are not needed */
    (void)pthread_mutex_lock(&p->mutex);
    p->closed = true;
    ferry_i_pool_answer(p, FERRY_CANCEL);
    pthread_cond_broadcast(&p->given);
    while (p->running > 0) {
        while (ferry_i_pool_hear(p))
            continue;
        (void)pthread_mutex_unlock(&p->mutex);
        ferry_i_ranks_rest();
        (void)pthread_mutex_lock(&p->mutex);
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return st;
}

/* The outcome, as rank 0 has it. */
static ferry_status take_end(pool *p, ferry_buffer *end)
{
    ferry_status st = FERRY_OK;
    char *message = NULL;

    FERRY_PACK(end, p->answer);
    FERRY_PACK(end, p->next);
    FERRY_PACK(end, p->failed);
    FERRY_PACK(end, p->st);
    ferry_i_buffer_text(end, &message);
    FERRY_HAVE(p->ctx, message && !end->failed);
    memcpy(p->message, message, strlen(message) + 1); /* as long as ours at most */
    for (int64_t i = 0; p->answer != FERRY_CANCEL && i < p->next && i < p->jobs->n; i++) {
        ferry_buffer body = {0};
        int where = 0;
        FERRY_PACK(end, where);
        if (i >= p->failed) continue;
        pack_buffer(end, &body);
        if (where != p->ctx->ranks->rank) st = unpack(p, i, &body);
        ferry_i_buffer_free(&body);
        FERRY_TRY(st);
        if (p->jobs->join) FERRY_TRY(p->jobs->join(p->ctx, p->jobs->arg, i));
    }
    FERRY_HAVE(p->ctx, !end->failed);
done:
    ferry_i_free(message);
    return st;
}

ferry_status ferry_i_dispatch_follow(pool *p)
{
    ferry_buffer end = {0};
    ferry_status st = attend(p, &end);

    if (st == FERRY_OK) st = take_end(p, &end);
    ferry_i_buffer_free(&end);
    return st;
}

void ferry_i_dispatch_clear(pool *p)
{
    for (int64_t i = 0; p->slot && i < p->jobs->n; i++) {
        ferry_i_buffer_free(&p->slot[i].body);
        ferry_i_buffer_free(&p->slot[i].kept);
        ferry_i_free(p->slot[i].message);
    }
    FERRY_FREE(p->queue, p->finished);
}
