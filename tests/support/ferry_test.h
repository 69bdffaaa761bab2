/* What every test needs. */
#ifndef FERRY_TEST_H
#define FERRY_TEST_H

/* cmocka wants these four first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "ferry/ferry.h"
#include "linalg/linalg.h"

/* A call that must succeed; prints the message when it does not. */
#define assert_ok(ctx, call) t_ok((ctx), (call), #call, __FILE__, __LINE__)
/* A call that must fail with this status and a message that holds this text. */
#define assert_fails(ctx, call, status, text)                                              \
    t_fails((ctx), (call), (status), (text), #call, __FILE__, __LINE__)
/* |a - b| <= tol (1 + |b|), in double precision (cmocka's own rounds to float). */
#define assert_close(a, b, tol) t_close((a), (b), (tol), #a, __FILE__, __LINE__)

void t_ok(ferry_ctx *ctx, ferry_status st, const char *what, const char *file, int line);
void t_fails(ferry_ctx *ctx, ferry_status st, ferry_status want, const char *text,
             const char *what, const char *file, int line);
void t_close(double a, double b, double tol, const char *what, const char *file, int line);

/* A fresh context in *state, freed by the teardown. */
int ctx_setup(void **state);
int ctx_teardown(void **state);

/* Options from "key=value" texts, ended by NULL. */
ferry_opts *opts_of(ferry_ctx *ctx, ...);

/* A temporary folder for this test program, removed at exit. */
const char *tmp_dir(void);
/* Path of name in it (static buffer of the last few calls). */
const char *tmp_path(const char *name);
/* Write bytes (n < 0: a string) to name in it; returns the path. */
const char *tmp_file(const char *name, const char *bytes, int64_t n);
/* Whole file as a string for free(); NULL when it is not there. */
char *slurp(const char *path);

/* For ferry_set_progress(): cancels at the first call. */
ferry_answer cancel_at_once(void *user, const ferry_progress *p);

/* Folder of data sets that has this file (SET/...; what follows a # is inside it): FERRY_DATA if that is
 * set, else data, where ferry fetch puts them, else ../shared/data; NULL after saying that none has. */
const char *data_dir(const char *file);
/* Folder of golden cases, beside FERRY_DATA or ../shared/data; likewise. */
const char *golden_dir(void);

/* Make the n-th allocation from now fail (1 = the next one; 0 = none). Counts on. */
void fail_allocation(int64_t n);
/* The n-th and all after it. */
void fail_allocations_from(int64_t n);
/* Call this at every allocation, with its number; NULL: no more. From one thread. */
void watch_allocations(void (*seen)(int64_t n));
/* Allocations since then, and blocks not yet freed since the allocator was hooked. */
int64_t allocations(void);
int64_t live_blocks(void);
/* Run `body` with the 1st, 2nd, ... allocation failing until it succeeds: each time it must
 * return FERRY_ENOMEM and leave no block behind. */
void each_allocation_fails(ferry_ctx *ctx, ferry_status (*body)(ferry_ctx *, void *),
                           void *arg);

/* Whether a method can work on a task: FERRY_OK, or a sentence. Nothing is fitted. */
ferry_status method_fits(ferry_ctx *ctx, const char *name, const ferry_task *task,
                         const ferry_opts *opts);

#endif
