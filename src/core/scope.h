/* Scope: the memory of one computation, and its way out.
 *
 * A computation runs inside scope_run(). What it makes belongs to its scope and is gone when the run ends, well or
 * not; nothing is freed by hand and nothing returns a status. A failure leaves through the one setjmp of the run
 * (PostgreSQL's memory contexts and ereport work alike): scope_fail() with its sentence, or scope_check() around code
 * that still returns a ferry_status.
 *
 *   static void body(scope *s, void *arg)
 *   {
 *       double *x = NEW(s, double, n);                   never NULL
 *       if (!good(x)) scope_fail(s, FERRY_EDATA, "column %d is empty", j);
 *   }
 *   ferry_status ferry_something(ferry_ctx *ctx, ...) { return scope_run(ctx, body, &arg); }
 *
 * A run stands at every public call, every job of a pool and every callback of foreign code, so that no jump crosses
 * frames that are not ours. A scope belongs to one thread, and nothing may fail inside an OpenMP region: space for the
 * threads is made before it, a flag says afterwards that something went wrong. */
#ifndef FERRY_SCOPE_H
#define FERRY_SCOPE_H

#include "core/core.h"
#include "ferry/model.h"

typedef struct scope scope;

/* The way in: body with a new scope, all of which is gone afterwards. The status that body left with. */
ferry_status scope_run(ferry_ctx *ctx, void (*body)(scope *s, void *arg), void *arg);
/* The same as a collective section: where rows are spread over processes, what befell one is what befell all. */
ferry_status scope_section(ferry_ctx *ctx, void (*body)(scope *s, void *arg), void *arg);
/* The same inside a run, where a failure is an answer. What body made in s stays; after a failure it is gone, with
 * what it made in `keep` (may be NULL) and what it reported. */
ferry_status scope_try(scope *s, scope *keep, void (*body)(scope *s, void *arg), void *arg);

/* ---- what outlives runs: a model's state ---- */

/* NULL: no memory. */
scope *scope_open(ferry_ctx *ctx);
/* A scope that is closed when s ends, and fails through s: for what outlives marks of s. */
scope *scope_within(scope *s);
/* For the time of a run failures of `keep` leave through s. Only who has the state for itself binds it. */
void scope_bind(scope *keep, scope *s);
/* All of it goes, deferred calls in reverse order; NULL is fine. */
void scope_close(scope *keep);
/* p, just as scope_new() gave it, is keep's from now on, perhaps at another place. What p points to does not move. */
void *scope_keep(scope *keep, scope *s, void *p);

/* ---- memory ---- */

/* n zeroed items; does not return when there are none. */
void *scope_new(scope *s, int64_t n, size_t size);
#define NEW(s, T, n) ((T *)scope_new((s), (n), sizeof(T)))
/* A copy of n items. */
void *scope_copy(scope *s, const void *from, int64_t n, size_t size);
#define COPY(s, p, n) ((void *)scope_copy((s), (p), (n), sizeof *(p)))
/* A text as printf makes it. */
char *scope_text(scope *s, const char *fmt, ...) FERRY_PRINTF(2, 3);
/* p, which scope_new() gave (NULL: a new one), with space for n items, new ones zeroed: another place, the old one is
 * gone. It lives as long as p would have. */
void *scope_grow(scope *s, void *p, int64_t n, size_t size);
/* p goes now: what is large, or comes and goes in a state for months. NULL is fine. */
void scope_drop(scope *s, void *p);
/* What was made since the mark goes: for loops. Nothing of it may have been put into what is older. */
int64_t scope_mark(const scope *s);
void scope_release(scope *s, int64_t mark);
/* fn(arg) when s ends, fails or is released beyond here, last first: files, locks, objects of other code. fn may not
 * fail. Without memory to note it, fn is called at once, and s fails. */
void scope_defer(scope *s, void (*fn)(void *arg), void *arg);
/* p, which other code has from ferry_i_calloc(); NULL: it found no memory, and s fails. */
void *scope_adopt(scope *s, void *p);

/* ---- the way out ---- */

/* Leave with one sentence: what is wrong, where, what was expected. */
_Noreturn void scope_fail(scope *s, ferry_status st, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
/* Leave unless st is fine, with the sentence that is in the context. */
void scope_check(scope *s, ferry_status st);

/* ---- the computation's surroundings ---- */

ferry_ctx *scope_ctx(const scope *s);
/* Independent jobs side by side (pool.h), each in a run of its own; results go into slots that the caller made. The
 * lowest that failed fails s. join (may be NULL): in order, in s. */
void scope_jobs(scope *s, int64_t n, void (*run)(scope *s, void *arg, int64_t i),
                void (*join)(scope *s, void *arg, int64_t i), void *arg);
/* The same where processes share the jobs. exchange: what job i left in its slot, into a message or out of one
 * (core/ranks.h); it may not fail. True: finish was asked for, and some did not run. */
bool scope_jobs_shared(scope *s, int64_t n, void (*run)(scope *s, void *arg, int64_t i),
                       void (*exchange)(void *arg, int64_t i, struct ferry_buffer *p),
                       void *arg);
/* A stream of random numbers by its use, the repeat and the seed; the same on all processes. */
ferry_rng *scope_rng(scope *s, const char *use);
/* Once per outer iteration; objective NaN: none. Leaves when cancelled, on all processes at the same call. True:
 * finish, with what there is. */
bool progress(scope *s, const char *what, int64_t done, int64_t total, double objective);

/* Diagnostics by name, into the model and results.json; nothing outside a fit. */
void report_real(scope *s, const char *name, double x);
void report_reals(scope *s, const char *name, int64_t n, const double *x);
void report_text(scope *s, const char *name, const char *x);
/* A number for each of n names. */
void report_named(scope *s, const char *name, int64_t n, const char *const *key,
                  const double *x);
/* Where and why the iteration of a fit stopped; who is last is heard. */
void report_fit(scope *s, int64_t iterations, double objective, ferry_stop stop);
/* One more sentence beside the result (diagnostic "note"), and in the log. */
void remark(scope *s, const char *fmt, ...) FERRY_PRINTF(2, 3);
/* Likewise, and a reason not to believe the result (diagnostic "risk"). */
void warn(scope *s, const char *fmt, ...) FERRY_PRINTF(2, 3);

#endif
