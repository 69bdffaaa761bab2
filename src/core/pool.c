/* The pool: workers take numbers, the calling thread joins, logs and asks the callback.
 *
 * One mutex guards all of `pool`; jobs are long, so nobody waits for it. The caller's context is
 * touched by the calling thread alone: jobs get copies of what it was when the pool began. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/pool_run.h"

/* Progress of one job gets through at its first call and then at most this often, in seconds: a call
 * from another thread costs two switches, and a method may make thousands. */
#define PROGRESS_EVERY 0.02

/* What a job's callback needs. */
typedef struct asker {
    pool *p;
    int64_t job;
    bool known; /* its first call got through */
} asker;

/* ---- progress ---- */

void ferry_i_pool_answer(pool *p, ferry_answer answer)
{
    if (answer > p->answer) p->answer = answer;
    if (p->answer != FERRY_GO) p->end = p->next;
}

/* A worker's question, answered by the calling thread. Under the lock. */
static void ask(pool *p, const ferry_progress *what)
{
    while (p->asked)
        pthread_cond_wait(&p->answered, &p->mutex);
    p->asked = what;
    pthread_cond_signal(&p->wake);
    while (p->asked == what)
        pthread_cond_wait(&p->answered, &p->mutex);
}

/* A job's progress callback. */
static ferry_answer forward(void *user, const ferry_progress *what)
{
    asker *a = user;
    pool *p = a->p;

    if (!p->threaded) {
        if (p->model.progress)
            ferry_i_pool_answer(p, p->model.progress(p->model.progress_user, what));
        return p->answer;
    }
    (void)pthread_mutex_lock(&p->mutex);
    const bool due = !a->known || ferry_i_clock() - p->last >= PROGRESS_EVERY;
    if (p->answer == FERRY_GO && p->failed > a->job && p->model.progress && due) {
        a->known = true;
        ask(p, what);
    }
    /* what comes after a failure is not used */
    const ferry_answer answer = p->failed < a->job ? FERRY_CANCEL : p->answer;
    (void)pthread_mutex_unlock(&p->mutex);
    return answer;
}

/* ---- jobs ---- */

void ferry_i_pool_fail(pool *p, int64_t job, ferry_status st, const char *message)
{
    if (job >= p->failed) return;
    p->failed = job;
    p->st = st;
    memcpy(p->message, message, sizeof p->message);
    if (p->end > p->next) p->end = p->next;
}

/* Run one job in a context of its own, which is left in `own`. */
static ferry_status run_one(pool *p, int64_t job, int64_t step, ferry_later *lines,
                            ferry_ctx *own)
{
    asker a = {.p = p, .job = job};

    if (p->threaded) own->later = lines;
    /* a pool inside of a job is the job's own */
    if (!ferry_i_ranks_split(own)) own->ranks = NULL;
    own->progress = forward;
    own->progress_user = &a;
    own->step = step;
    return p->jobs->run(own, p->jobs->arg, job);
}

static void *work(void *arg)
{
    pool *p = arg;

    (void)pthread_mutex_lock(&p->mutex);
    for (int64_t job = 0; (job = ferry_i_dispatch_take(p)) >= 0;) {
        const int64_t step = p->model.step + job + 1;
        ferry_ctx own = p->model;
        (void)pthread_mutex_unlock(&p->mutex);
        if (p->queue) own.kept = &p->slot[job].kept;
        const ferry_status st = run_one(p, job, step, &p->slot[job].lines, &own);
        (void)pthread_mutex_lock(&p->mutex);
        if (st != FERRY_OK) ferry_i_pool_fail(p, job, st, own.message);
        ferry_i_dispatch_done(p, job, st, own.message);
        pthread_cond_signal(&p->wake);
    }
    p->running--;
    pthread_cond_signal(&p->wake);
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* Log lines and join of a job whose turn it is. The lock is not held. */
static ferry_status finish_job(pool *p, int64_t job, bool ok)
{
    if (ok) ferry_i_dispatch_pack(p, job); /* joining may take what it left elsewhere */
    if (ok && p->slot[job].st != FERRY_OK) return p->slot[job].st;
    ferry_i_later_say(p->ctx, &p->slot[job].lines, p->slot[job].where);
    return ok && p->jobs->join ? p->jobs->join(p->ctx, p->jobs->arg, job) : FERRY_OK;
}

bool ferry_i_pool_hear(pool *p)
{
    const ferry_progress *what = p->asked;

    if (!what) return false;
    (void)pthread_mutex_unlock(&p->mutex);
    const ferry_answer answer = p->model.progress(p->model.progress_user, what);
    (void)pthread_mutex_lock(&p->mutex);
    ferry_i_pool_answer(p, answer);
    p->last = ferry_i_clock();
    p->asked = NULL;
    pthread_cond_broadcast(&p->answered);
    return true;
}

/* The calling thread while others work: joins in order, and asks the callback. */
static void attend(pool *p)
{
    int64_t turn = 0; /* to be joined next */

    (void)pthread_mutex_lock(&p->mutex);
    for (;;) {
        if (ferry_i_pool_hear(p)) {
            continue;
        } else if (turn < p->next && turn <= p->failed && p->slot[turn].done) {
            const bool ok = turn < p->failed;
            (void)pthread_mutex_unlock(&p->mutex);
            const ferry_status st = finish_job(p, turn, ok);
            (void)pthread_mutex_lock(&p->mutex);
            if (st != FERRY_OK) ferry_i_pool_fail(p, turn, st, p->ctx->message);
            turn++;
        } else if (p->dispatched &&
                   (p->running > 0 || (p->away > 0 && p->answer != FERRY_CANCEL))) {
            ferry_i_dispatch_serve(p);
        } else if (p->running > 0) {
            pthread_cond_wait(&p->wake, &p->mutex);
        } else {
            break;
        }
    }
    if (p->answer == FERRY_CANCEL && p->failed == p->jobs->n && turn < p->jobs->n) {
        /* cancelled while only other ranks worked: no job of ours has said so */
        (void)ferry_i_fail(p->ctx, FERRY_ECANCELLED, "cancelled");
        ferry_i_pool_fail(p, turn, FERRY_ECANCELLED, p->ctx->message);
    }
    (void)pthread_mutex_unlock(&p->mutex);
}

/* Workers take no signals: those stay with the caller's threads. Fewer than asked for will do. */
static void start(pool *p, pthread_t *worker, int want)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->running < want && pthread_create(&worker[p->running], NULL, work, p) == 0)
        p->running++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static ferry_status run_threaded(pool *p, int at_once)
{
    ferry_status st = FERRY_OK;
    pthread_t *worker = ferry_i_calloc(at_once, sizeof *worker);

    const bool follows = p->dispatched && p->ctx->ranks->rank > 0;

    p->slot = ferry_i_calloc(p->jobs->n, sizeof *p->slot);
    FERRY_HAVE(p->ctx, worker && p->slot);
    if (follows) FERRY_NEW(p->ctx, p->queue, p->jobs->n);
    if (follows) FERRY_NEW(p->ctx, p->finished, p->jobs->n);
    (void)pthread_mutex_lock(&p->mutex); /* none begins before all are there */
    start(p, worker, at_once);
    const int started = p->running;
    (void)pthread_mutex_unlock(&p->mutex);
    FERRY_NEED(p->ctx, started > 0, FERRY_ENOMEM, "no thread could be started");
    if (follows)
        st = ferry_i_dispatch_follow(p);
    else
        attend(p);
    for (int i = 0; i < started; i++)
        (void)pthread_join(worker[i], NULL);
    for (int64_t i = 0; i < p->jobs->n; i++)
        ferry_i_later_free(&p->slot[i].lines);
    if (p->dispatched && !follows) st = ferry_i_dispatch_end(p);
done:
    ferry_i_dispatch_clear(p);
    FERRY_FREE(worker, p->slot);
    return st;
}

/* One after the other on the calling thread: lines and progress go straight out. */
static void run_inline(pool *p)
{
    while (p->next < p->end) {
        const int64_t job = p->next++;
        ferry_ctx own = ferry_i_child(p->ctx);
        own.jobs = 1;
        own.threads = p->model.threads;
        ferry_status st = run_one(p, job, p->model.step + job + 1, NULL, &own);
        (void)ferry_i_join(p->ctx, &own, st);
        if (st == FERRY_OK && p->jobs->join) st = p->jobs->join(p->ctx, p->jobs->arg, job);
        if (st != FERRY_OK) ferry_i_pool_fail(p, job, st, p->ctx->message);
    }
}

ferry_status ferry_i_pool_run(ferry_ctx *ctx, const ferry_jobs *jobs, bool *finish)
{
    ferry_status st = FERRY_OK;
    pool p = {.jobs = jobs,
              .ctx = ctx,
              .model = ferry_i_child(ctx),
              .mutex = PTHREAD_MUTEX_INITIALIZER,
              .wake = PTHREAD_COND_INITIALIZER,
              .answered = PTHREAD_COND_INITIALIZER,
              .given = PTHREAD_COND_INITIALIZER,
              .dispatched = jobs->pack && jobs->n > 0 && ferry_i_ranks_dispatching(ctx),
              .end = jobs->n,
              .failed = jobs->n,
              .sent_failed = jobs->n};

    if (p.model.jobs == 0) ferry_i_pool_plan(&p.model, jobs->n, 0);
    const bool together = ferry_i_ranks_split(ctx); /* with the other ranks, job by job */
    const int at_once = together ? 1 : p.model.jobs < jobs->n ? p.model.jobs : (int)jobs->n;
    p.model.jobs = 1;
    if (!together) p.model.ranks = NULL;
    if (p.dispatched) p.number = ++ctx->ranks->pool;
    p.threaded = at_once > 1 || p.dispatched; /* somebody has to hear the other ranks */
    if (p.threaded)
        FERRY_TRY(run_threaded(&p, at_once));
    else
        run_inline(&p);
    ctx->step = p.model.step + p.next;
    if (finish && p.answer == FERRY_FINISH) *finish = true;
    if (p.failed < jobs->n) {
        st = p.st;
        memcpy(ctx->message, p.message, sizeof p.message);
    }
done:
    (void)pthread_cond_destroy(&p.wake);
    (void)pthread_cond_destroy(&p.answered);
    (void)pthread_cond_destroy(&p.given);
    (void)pthread_mutex_destroy(&p.mutex);
    return st;
}

/* ---- the plan ---- */

/* A number of kB from a line "Name:  123 kB" of a file of /proc; 0: not there. */
static int64_t proc_bytes(const char *path, const char *name)
{
    FILE *f = fopen(path, "r");
    char line[256];
    long long kb = 0;

    while (f && kb == 0 && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            (void)sscanf(line + strlen(name), ": %lld", &kb);
    if (f) fclose(f);
    return (int64_t)kb * 1024;
}

/* A number of bytes that is a file's whole content; `otherwise` when it is none ("max"). */
static int64_t number_in(const char *path, int64_t otherwise)
{
    FILE *f = fopen(path, "r");
    long long bytes = 0;
    const bool found = f && fscanf(f, "%lld", &bytes) == 1;

    if (f) fclose(f);
    return found ? (int64_t)bytes : otherwise;
}

/* Without the pages of files (mapped data), which the kernel takes back when it needs them. */
int64_t ferry_i_memory_held(void)
{
    const int64_t own = proc_bytes("/proc/self/status", "RssAnon");

    return own > 0 ? own : proc_bytes("/proc/self/status", "VmRSS");
}

/* Free is what the kernel would give without swapping, within the container where there is one. */
int64_t ferry_i_memory_limit(const ferry_ctx *ctx)
{
    static const char most[] = "/sys/fs/cgroup/memory.max",
                      used[] = "/sys/fs/cgroup/memory.current";
    int64_t free_bytes = proc_bytes("/proc/meminfo", "MemAvailable");
    const int64_t inside = number_in(most, INT64_MAX) - number_in(used, 0);

    if (ctx->memory > 0) return ctx->memory;
    if (inside < free_bytes) free_bytes = inside;
    if (free_bytes <= 0) return INT64_MAX; /* not known: no limit */
    return ferry_i_memory_held() + free_bytes / 2;
}

/* Every thread that enters BLAS takes a buffer of 128 MB, and where there is none left BLAS never comes back
 * (linalg/host/blas.c). */
bool ferry_i_little_space(void)
{
    struct rlimit all, own;

    return (getrlimit(RLIMIT_AS, &all) == 0 && all.rlim_cur != RLIM_INFINITY) ||
           (getrlimit(RLIMIT_DATA, &own) == 0 && own.rlim_cur != RLIM_INFINITY);
}

void ferry_i_pool_plan(ferry_ctx *ctx, int64_t cells, int64_t bytes)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int cores = online > 0 ? (int)online : 1;
    const int64_t left = bytes > 0 ? ferry_i_memory_limit(ctx) - ferry_i_memory_held() : 0;
    const int64_t fit = ferry_i_ranks_split(ctx) || ferry_i_little_space() ||
                                (bytes > 0 && left < 2 * bytes)
                            ? 1
                        : bytes <= 0 ? INT64_MAX
                                     : left / bytes;
    const int64_t ranks = ferry_i_ranks_dispatching(ctx) ? ctx->ranks->size : 1;
    const int64_t here =
        (cells + ranks - 1) / ranks; /* of this rank, as long as all are as fast */
    int64_t jobs = here < ctx->threads ? here : ctx->threads;

    if (jobs > fit) jobs = fit;
    if (jobs < 1) jobs = 1;
    ctx->threads /= (int)jobs;
    /* what the machine has no core for would only wait, and hold memory */
    if (jobs > cores) jobs = cores;
    if (ctx->jobs_asked > 0) jobs = ctx->jobs_asked < fit ? ctx->jobs_asked : fit;
    ctx->jobs = (int)jobs;
}
