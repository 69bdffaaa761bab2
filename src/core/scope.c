/* Scope (scope.h). Every allocation is one of the allocator's, with a header in front of it, in a list by age: valgrind
 * and ASan see each by itself, a failing allocation can be any of them, and dropping one takes no search. */
#include "core/scope.h"

#include <assert.h>
#include <jansson.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pool.h"
#include "core/ranks.h"

/* One way out. */
typedef struct run {
    jmp_buf out;
    volatile ferry_status st;
} run;

/* What stands before the memory of scope_new(); a deferred call has no memory behind it. 64 bytes, so that what
 * follows is aligned as the allocator aligns. */
typedef struct piece {
    struct piece *older, *newer;
    scope *of;
    int64_t age, bytes;
    void (*fn)(void *);
    void *arg;
    char pad[8];
} piece;
_Static_assert(sizeof(piece) == 64, "memory behind a piece keeps its alignment");

struct scope {
    ferry_ctx *ctx;
    run *run;      /* where failures leave; NULL: a state that no run has bound */
    piece *newest; /* the list, by age */
    int64_t age;
    pthread_t thread;
};

/* ---- the way out ---- */

/* A jump out of a parallel region does not crash: later regions quietly lose their threads. So it ends the program. */
static _Noreturn void leave(scope *s, ferry_status st)
{
    if (!s->run || omp_in_parallel() || !pthread_equal(s->thread, pthread_self())) {
        (void)fprintf(stderr, "ferry: a failure without a way out: %s\n", s->ctx->message);
        abort();
    }
    s->run->st = st;
    longjmp(s->run->out, 1);
}

void scope_fail(scope *s, ferry_status st, const char *fmt, ...)
{
    char text[sizeof s->ctx->message];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    leave(s, ferry_i_fail(s->ctx, st, "%s", text));
}

void scope_check(scope *s, ferry_status st)
{
    if (st != FERRY_OK) leave(s, st);
}

/* ---- the list ---- */

static void unlink_piece(piece *p)
{
    if (p->newer)
        p->newer->older = p->older;
    else
        p->of->newest = p->older;
    if (p->older) p->older->newer = p->newer;
}

static void link_newest(scope *s, piece *p)
{
    p->of = s;
    p->age = ++s->age;
    p->older = s->newest;
    p->newer = NULL;
    if (s->newest) s->newest->newer = p;
    s->newest = p;
}

static piece *piece_of(scope *s, void *p)
{
    piece *head = (piece *)p - 1;

    assert(head->of == s && "of another scope");
    (void)s;
    return head;
}

/* ---- memory ---- */

void *scope_new(scope *s, int64_t n, size_t size)
{
    const int64_t head = (int64_t)sizeof(piece);

    assert(!s->run || pthread_equal(s->thread, pthread_self()));
    if (n < 0 || (size > 0 && n > (INT64_MAX - head) / (int64_t)size))
        leave(s, ferry_i_nomem(s->ctx));
    piece *p = ferry_i_calloc(n * (int64_t)size + head, 1);
    if (!p) leave(s, ferry_i_nomem(s->ctx));
    p->bytes = n * (int64_t)size;
    link_newest(s, p);
    return p + 1;
}

void *scope_copy(scope *s, const void *from, int64_t n, size_t size)
{
    void *to = scope_new(s, n, size);

    if (n > 0) memcpy(to, from, (size_t)n * size);
    return to;
}

char *scope_text(scope *s, const char *fmt, ...)
{
    va_list args, again;

    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    char *to = NEW(s, char, n + 1);
    (void)vsnprintf(to, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return to;
}

/* The new piece takes the old one's place in the list, and its age: a release to a mark between the two keeps it. */
void *scope_grow(scope *s, void *p, int64_t n, size_t size)
{
    void *to = scope_new(s, n, size);

    if (!p) return to;
    piece *old = piece_of(s, p), *now = piece_of(s, to);
    memcpy(to, p, (size_t)(old->bytes < now->bytes ? old->bytes : now->bytes));
    unlink_piece(now);
    now->older = old->older;
    now->newer = old->newer;
    now->age = old->age;
    if (now->older) now->older->newer = now;
    if (now->newer)
        now->newer->older = now;
    else
        s->newest = now;
    ferry_i_free(old);
    return to;
}

void scope_drop(scope *s, void *p)
{
    if (!p) return;
    piece *old = piece_of(s, p);
    unlink_piece(old);
    ferry_i_free(old);
}

/* With assertions on it moves, so that a pointer to the old place shows. */
void *scope_keep(scope *keep, scope *s, void *p)
{
#ifdef NDEBUG
    piece *moved = piece_of(s, p);

    unlink_piece(moved);
    link_newest(keep, moved);
    return p;
#else
    void *to = scope_copy(keep, p, piece_of(s, p)->bytes, 1);

    scope_drop(s, p);
    return to;
#endif
}

int64_t scope_mark(const scope *s)
{
    return s->age;
}

void scope_release(scope *s, int64_t mark)
{
    while (s->newest && s->newest->age > mark) {
        piece *p = s->newest;
        unlink_piece(p);
        if (p->fn) p->fn(p->arg);
        ferry_i_free(p);
    }
}

void scope_defer(scope *s, void (*fn)(void *), void *arg)
{
    piece *p = ferry_i_calloc(1, sizeof *p);

    if (!p) {
        fn(arg);
        leave(s, ferry_i_nomem(s->ctx));
    }
    p->fn = fn;
    p->arg = arg;
    link_newest(s, p);
}

void *scope_adopt(scope *s, void *p)
{
    if (!p) leave(s, ferry_i_nomem(s->ctx));
    scope_defer(s, ferry_i_free, p);
    return p;
}

/* ---- runs ---- */

/* These two are the only frames with a setjmp: what they change after it is volatile. */
ferry_status scope_run(ferry_ctx *ctx, void (*body)(scope *, void *), void *arg)
{
    run r = {.st = FERRY_OK};
    scope s = {.ctx = ctx, .run = &r, .thread = pthread_self()};

    if (setjmp(r.out) == 0) body(&s, arg);
    scope_release(&s, 0);
    return r.st;
}

ferry_status scope_section(ferry_ctx *ctx, void (*body)(scope *, void *), void *arg)
{
    return ferry_i_ranks_agree(ctx, scope_run(ctx, body, arg));
}

static ferry_status try_run(scope *s, scope *keep, void (*body)(scope *, void *), void *arg)
{
    run r = {.st = FERRY_OK};
    run *const outer = s->run, *const kept = keep ? keep->run : NULL;
    const int64_t mark = scope_mark(s), keep_mark = keep ? scope_mark(keep) : 0;

    s->run = &r;
    if (keep) keep->run = &r;
    if (setjmp(r.out) == 0) body(s, arg);
    s->run = outer;
    if (keep) keep->run = kept;
    if (r.st != FERRY_OK) scope_release(s, mark);
    if (r.st != FERRY_OK && keep) scope_release(keep, keep_mark);
    return r.st;
}

ferry_status scope_try(scope *s, scope *keep, void (*body)(scope *, void *), void *arg)
{
    json_t *reports = s->ctx->diag;

    if (!reports) return try_run(s, keep, body, arg);
    s->ctx->diag = json_object();
    const ferry_status st = try_run(s, keep, body, arg);
    if (st == FERRY_OK) (void)json_object_update(reports, s->ctx->diag);
    json_decref(s->ctx->diag);
    s->ctx->diag = reports;
    return st;
}

scope *scope_open(ferry_ctx *ctx)
{
    scope *s = ferry_i_calloc(1, sizeof *s);

    if (s) *s = (scope){.ctx = ctx, .thread = pthread_self()};
    return s;
}

void scope_bind(scope *keep, scope *s)
{
    keep->run = s->run;
    keep->ctx = s->ctx;
    keep->thread = s->thread;
}

void scope_close(scope *keep)
{
    if (!keep) return;
    scope_release(keep, 0);
    ferry_i_free(keep);
}

static void close_scope(void *keep)
{
    scope_close(keep);
}

scope *scope_within(scope *s)
{
    scope *keep = scope_open(s->ctx);

    if (!keep) leave(s, ferry_i_nomem(s->ctx));
    scope_defer(s, close_scope, keep);
    scope_bind(keep, s);
    return keep;
}

/* ---- jobs ---- */

typedef struct jobs {
    scope *s;
    void (*run)(scope *, void *, int64_t);
    void (*join)(scope *, void *, int64_t);
    void (*exchange)(void *, int64_t, struct ferry_buffer *);
    void *arg;
} jobs;

typedef struct job {
    const jobs *all;
    int64_t i;
} job;

static void job_body(scope *s, void *arg)
{
    const job *j = arg;

    j->all->run(s, j->all->arg, j->i);
}

static ferry_status run_job(ferry_ctx *ctx, void *arg, int64_t i)
{
    return scope_run(ctx, job_body, &(job){arg, i});
}

static void join_body(scope *s, void *arg)
{
    const job *j = arg;

    j->all->join(s, j->all->arg, j->i);
}

/* In s, but not through the pool's frames. */
static ferry_status join_job(ferry_ctx *ctx, void *arg, int64_t i)
{
    const jobs *all = arg;

    (void)ctx;
    return scope_try(all->s, NULL, join_body, &(job){all, i});
}

static ferry_status exchange_job(ferry_ctx *ctx, void *arg, int64_t i,
                                 struct ferry_buffer *p)
{
    const jobs *all = arg;

    (void)ctx;
    all->exchange(all->arg, i, p);
    return FERRY_OK;
}

static bool run_jobs(jobs *all, int64_t n)
{
    const ferry_jobs pool = {.n = n,
                             .run = run_job,
                             .join = all->join ? join_job : NULL,
                             .arg = all,
                             .pack = all->exchange ? exchange_job : NULL};
    bool finish = false;

    scope_check(all->s, ferry_i_pool_run(all->s->ctx, &pool, &finish));
    return finish;
}

void scope_jobs(scope *s, int64_t n, void (*run_one)(scope *, void *, int64_t),
                void (*join)(scope *, void *, int64_t), void *arg)
{
    (void)run_jobs(&(jobs){.s = s, .run = run_one, .join = join, .arg = arg}, n);
}

bool scope_jobs_shared(scope *s, int64_t n, void (*run_one)(scope *, void *, int64_t),
                       void (*exchange)(void *, int64_t, struct ferry_buffer *), void *arg)
{
    return run_jobs(&(jobs){.s = s, .run = run_one, .exchange = exchange, .arg = arg}, n);
}

/* ---- surroundings ---- */

ferry_ctx *scope_ctx(const scope *s)
{
    return s->ctx;
}

ferry_rng *scope_rng(scope *s, const char *use)
{
    ferry_rng *rng = NEW(s, ferry_rng, 1);

    ferry_i_rng_for(s->ctx, rng, use);
    return rng;
}

bool progress(scope *s, const char *what, int64_t done, int64_t total, double objective)
{
    bool finish = false;

    scope_check(s, ferry_i_progress(s->ctx, what, done, total, objective, &finish));
    return finish;
}

/* jansson says nothing of its own about memory that it did not get. */
static void reported(scope *s)
{
    if (ferry_i_memory_lost()) leave(s, ferry_i_nomem(s->ctx));
}

void report_real(scope *s, const char *name, double x)
{
    if (s->ctx->diag) ferry_i_diag_real(s->ctx, name, x);
    reported(s);
}

void report_reals(scope *s, const char *name, int64_t n, const double *x)
{
    if (s->ctx->diag) ferry_i_diag_reals(s->ctx, name, n, x);
    reported(s);
}

void report_text(scope *s, const char *name, const char *x)
{
    if (s->ctx->diag) ferry_i_diag_text(s->ctx, name, x);
    reported(s);
}

void report_fit(scope *s, int64_t iterations, double objective, ferry_stop stop)
{
    ferry_fit_info *info = s->ctx->info;

    if (!info) return;
    info->iters = iterations;
    info->objective = objective;
    info->stop = stop;
}

void report_named(scope *s, const char *name, int64_t n, const char *const *key,
                  const double *x)
{
    if (s->ctx->diag) ferry_i_diag_named(s->ctx, name, n, key, x);
    reported(s);
}

/* Sentences of one fit stand one behind the other. */
static void add_sentence(scope *s, const char *name, const char *text)
{
    const char *before = json_string_value(json_object_get(s->ctx->diag, name));
    char all[2048]; /* more than these say nothing new */

    (void)snprintf(all, sizeof all, "%s%s%s", before ? before : "", before ? "; " : "",
                   text);
    report_text(s, name, all);
}

static void say(scope *s, const char *text)
{
    const char *who = s->ctx->fitting;

    ferry_i_log(s->ctx, FERRY_INFO, "%s%s%s", who ? who : "", who ? ": " : "", text);
    add_sentence(s, "note", text);
}

void remark(scope *s, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say(s, text);
}

void warn(scope *s, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say(s, text);
    add_sentence(s, "risk", text);
}
