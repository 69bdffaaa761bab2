/* A pool: independent jobs side by side, with the outcome of running them one after the other.
 *
 * A job is a number 0 .. n - 1. It runs on some thread with a context of its own (engine, seed and
 * repeat as in the caller's; the planned number of threads, mostly one; a pool inside a job runs inline)
 * and leaves what it found where only it writes, such as slot i of an array. Jobs begin in the order of
 * their numbers; what depends on that order belongs into `join`, which the calling thread runs for
 * job 0, 1, 2 ... as soon as all before are done.
 *
 * Same bits at any number of jobs at once: which threads a job has depends on the plan, never on how
 * many run beside it. The log is what it would be one after the other: a job's lines wait for its turn.
 * Progress callbacks come on the calling thread alone; of a busy job not every call gets through. */
#ifndef FERRY_POOL_H
#define FERRY_POOL_H

#include "core/core.h"
#include "core/ranks.h"

typedef struct ferry_jobs {
    int64_t n;
    /* The work. A failure here ends everything; what concerns the job alone goes into its slot. */
    ferry_status (*run)(ferry_ctx *ctx, void *arg, int64_t i);
    /* In order, on the calling thread with its own context; NULL: nothing to do. */
    ferry_status (*join)(ferry_ctx *ctx, void *arg, int64_t i);
    void *arg;
    /* What job i left in its place, into a buffer or out of one (core/ranks.h), on the calling thread
     * while other jobs run. NULL: every rank runs all jobs itself. */
    ferry_status (*pack)(ferry_ctx *ctx, void *arg, int64_t i, ferry_buffer *p);
} ferry_jobs;

/* Run the jobs, ctx->jobs at once (unplanned: as ferry_i_pool_plan() says for n jobs). When some fail,
 * the one with the lowest number decides status and message, whoever was first; none after it is joined.
 * Cancel reaches all that run. After FERRY_FINISH those that run are asked to finish and are joined, no
 * other begins, and *finish (may be NULL) is set. ctx->step counts the jobs begun. */
ferry_status ferry_i_pool_run(ferry_ctx *ctx, const ferry_jobs *jobs, bool *finish);

/* Decide how `cells` jobs, each of which takes about `bytes` of memory (0: little), share the context's
 * threads: sets ctx->jobs (at once) and ctx->threads (of each). Cells side by side come first, since
 * they need no synchronising; threads inside a cell are what is left when there are few cells or
 * memory holds few. A context's own ferry_i_ctx_set_jobs() changes jobs alone, hence no bits. */
void ferry_i_pool_plan(ferry_ctx *ctx, int64_t cells, int64_t bytes);

/* The most that the process may hold, in bytes: as set, or half of what is free beside what it has. */
int64_t ferry_i_memory_limit(const ferry_ctx *ctx);
/* What this process holds now. 0: not known. */
int64_t ferry_i_memory_held(void);
/* Whether address space is limited, all of it or what is not files (ulimit -v, -d). */
bool ferry_i_little_space(void);

#endif
