/* The context: messages, log, progress and diagnostics.
 *
 * All state of a call chain lives here, so that the library needs no globals: one context
 * belongs to one thread. An error is a code plus the one sentence kept in ctx->message; the
 * caller's callbacks for log and progress are the only way out to a terminal. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/ranks.h"

const char *ferry_version(void)
{
    return FERRY_VERSION;
}

/* Every code by name, without a default: the compiler then tells when one is added and
 * forgotten here. A number that is no code falls through to the last line. */
const char *ferry_status_name(ferry_status status)
{
    switch (status) {
    case FERRY_OK: return "ok";
    case FERRY_EINVAL: return "bad argument";
    case FERRY_EDATA: return "bad input";
    case FERRY_ENOMEM: return "out of memory";
    case FERRY_EIO: return "input/output error";
    case FERRY_ECANCELLED: return "cancelled";
    case FERRY_ENUMERIC: return "numerical failure";
    case FERRY_ENEEDS: return "the task does not fit the method";
    }
    return "unknown status";
}

/* NULL is fine. The callbacks' user pointers belong to the caller. */
void ferry_ctx_free(ferry_ctx *ctx)
{
    if (!ctx) return;
    ferry_i_ranks_free(ctx->ranks);
    json_decref(ctx->diag);
    ferry_i_free(ctx);
}

const char *ferry_message(const ferry_ctx *ctx)
{
    return ctx ? ctx->message : "";
}

ferry_status ferry_i_ctx_set_max_input(ferry_ctx *ctx, int64_t bytes)
{
    if (bytes < 0)
        return ferry_i_fail(ctx, FERRY_EINVAL, "max_input = %lld is below 0",
                            (long long)bytes);
    ctx->max_input = bytes;
    return FERRY_OK;
}

/* 0 stands for as many as the machine has. */
ferry_status ferry_i_ctx_set_threads(ferry_ctx *ctx, int threads)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (threads < 0 || threads > 1024)
        return ferry_i_fail(ctx, FERRY_EINVAL, "threads = %d is outside [0, 1024]",
                            threads);
    ctx->threads = threads > 0 ? threads : cores > 0 ? (int)cores : 1;
    return FERRY_OK;
}

/* 0 stands for as many as pay. */
ferry_status ferry_i_ctx_set_jobs(ferry_ctx *ctx, int jobs)
{
    if (jobs < 0 || jobs > 1024)
        return ferry_i_fail(ctx, FERRY_EINVAL, "jobs = %d is outside [0, 1024]", jobs);
    ctx->jobs_asked = jobs;
    return FERRY_OK;
}

/* 0 stands for a share of what is free. Half is for large arrays, which go to files beyond it; the other for all
 * that is not counted. */
ferry_status ferry_i_ctx_set_memory(ferry_ctx *ctx, int64_t bytes)
{
    if (bytes < 0)
        return ferry_i_fail(ctx, FERRY_EINVAL, "memory = %lld is below 0",
                            (long long)bytes);
    ctx->memory = bytes;
    ferry_i_spill_limit(bytes - bytes / 2);
    return FERRY_OK;
}

/* Messages below `least` are not even formatted. fn NULL turns the log off. */
void ferry_ctx_set_log(ferry_ctx *ctx, ferry_log_fn fn, ferry_level least, void *user)
{
    if (!ctx) return;
    ctx->log = fn;
    ctx->log_least = least;
    ctx->log_user = user;
}

void ferry_ctx_set_progress(ferry_ctx *ctx, ferry_progress_fn fn, void *user)
{
    if (!ctx) return;
    ctx->progress = fn;
    ctx->progress_user = user;
}

void ferry_ctx_set_run(ferry_ctx *ctx, ferry_run_fn fn, void *user)
{
    if (!ctx) return;
    ctx->run = fn;
    ctx->run_user = user;
}

/* Returns code, so that a failure is one line: return ferry_i_fail(...). A message that
 * does not fit is cut; the one before is lost, which is why the first to fail should say
 * it. */
ferry_status ferry_i_fail(ferry_ctx *ctx, ferry_status code, const char *fmt, ...)
{
    va_list args;

    /* What looks like a mistake in the input when a piece could not be kept is none. */
    if (ferry_i_memory_lost() && code != FERRY_ENOMEM) return ferry_i_nomem(ctx);
    va_start(args, fmt);
    vsnprintf(ctx->message, sizeof ctx->message, fmt, args);
    va_end(args);
    ferry_i_one_line(ctx->message);
    return code;
}

/* The names are the text of the macro's arguments, so there is one for each comma more; of
 * `n == 0 ? "" : ids` the last word is the name. */
bool ferry_i_args(ferry_ctx *ctx, const char *names, const void *const *args)
{
    if (!ctx) return false;
    for (;; args++) {
        const size_t n = strcspn(names, ",");
        if (!*args) {
            size_t from = n;
            while (from > 0 &&
                   (isalnum((unsigned char)names[from - 1]) || names[from - 1] == '_'))
                from--;
            (void)ferry_i_fail(ctx, FERRY_EINVAL, "argument %.*s is NULL", (int)(n - from),
                               names + from);
            return false;
        }
        if (!names[n]) return true;
        names += n + strspn(names + n, ", ");
    }
}

/* The old message is copied first: vsnprintf may not read what it writes. */
ferry_status ferry_i_prefix(ferry_ctx *ctx, ferry_status code, const char *fmt, ...)
{
    char prefix[512], old[sizeof ctx->message];
    va_list args;

    va_start(args, fmt);
    vsnprintf(prefix, sizeof prefix, fmt, args);
    va_end(args);
    memcpy(old, ctx->message, sizeof old);
    return ferry_i_fail(ctx, code, "%s: %s", prefix, old);
}

struct ferry_line {
    ferry_level level;
    bool once;
    char *text;
};

/* To the callback, or to those that wait; one for which there is no memory is lost. */
static void say(ferry_ctx *ctx, ferry_level level, bool once, const char *line)
{
    ferry_later *to = ctx->later;

    if (!ctx->log || level < ctx->log_least) return;
    if (!to) {
        ctx->log(ctx->log_user, level, line);
        return;
    }
    char *text = ferry_i_strdup(line);
    if (text && FERRY_GROW(to->at, to->n, to->cap))
        to->at[to->n++] = (struct ferry_line){level, once, text};
    else
        ferry_i_free(text);
}

void ferry_i_later_say(ferry_ctx *ctx, ferry_later *lines, int rank)
{
    for (int64_t i = 0; i < lines->n; i++)
        if (lines->at[i].once) /* about the data: the same whoever says it first */
            ferry_i_warn_once(ctx, "%s", lines->at[i].text);
        else if (rank > 0)
            ferry_i_log(ctx, lines->at[i].level, "rank %d: %s", rank, lines->at[i].text);
        else
            say(ctx, lines->at[i].level, false, lines->at[i].text);
    ferry_i_later_free(lines);
}

void ferry_i_later_free(ferry_later *lines)
{
    for (int64_t i = 0; i < lines->n; i++)
        ferry_i_free(lines->at[i].text);
    ferry_i_free(lines->at);
    *lines = (ferry_later){0};
}

void ferry_i_buffer_lines(ferry_buffer *p, ferry_later *lines)
{
    int64_t n = lines->n;

    FERRY_PACK(p, n);
    for (int64_t i = 0; i < n && !p->failed; i++) {
        if (!p->writing) {
            p->failed = !FERRY_GROW(lines->at, lines->n, lines->cap);
            if (p->failed) return;
            lines->at[lines->n++] = (struct ferry_line){0};
        }
        FERRY_PACK(p, lines->at[i].level);
        FERRY_PACK(p, lines->at[i].once);
        ferry_i_buffer_text(p, &lines->at[i].text);
    }
}

/* A longer line is cut at 1023 bytes. */
void ferry_i_log(ferry_ctx *ctx, ferry_level level, const char *fmt, ...)
{
    char line[1024];
    va_list args;

    if (!ctx->log || level < ctx->log_least) return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    ferry_i_one_line(line);
    say(ctx, level, false, line);
}

/* By a hash of the finished text, so that the same warning about two files is said twice.
 * The ring of 16 needs no memory that could fail; the oldest is forgotten. */
void ferry_i_warn_once(ferry_ctx *ctx, const char *fmt, ...)
{
    const int capacity = (int)FERRY_COUNT(ctx->said);
    char line[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    const uint64_t hash = XXH3_64bits(line, strlen(line));
    for (int i = 0; i < capacity && i < ctx->n_said; i++)
        if (ctx->said[i] == hash) return;
    ctx->said[ctx->n_said++ % capacity] = hash;
    say(ctx, FERRY_WARN, true, line);
}

/* Diagnostics belong to a fit, an unpacked file to who opened it. */
ferry_ctx ferry_i_child(const ferry_ctx *ctx)
{
    ferry_ctx child = *ctx;

    child.diag = NULL;
    child.keep_unpacked = false;
    child.unpacked = NULL;
    return child;
}

ferry_ctx ferry_i_alone(const ferry_ctx *ctx)
{
    ferry_ctx alone = *ctx;

    alone.ranks = NULL;
    return alone;
}

ferry_status ferry_i_join(ferry_ctx *ctx, const ferry_ctx *child, ferry_status st)
{
    memcpy(ctx->message, child->message, sizeof ctx->message);
    memcpy(ctx->said, child->said, sizeof ctx->said);
    ctx->n_said = child->n_said;
    ctx->machine_checked = child->machine_checked;
    return st;
}

/* The objective is kept as a curve among the diagnostics even when nobody watches, so that a
 * model tells afterwards how it converged. */
ferry_status ferry_i_progress(ferry_ctx *ctx, const char *what, int64_t done, int64_t total,
                              double objective, bool *finish)
{
    const ferry_progress p = {.what = what,
                              .done = done,
                              .total = total,
                              .step = ctx->step,
                              .steps = ctx->steps,
                              .objective = objective};

    if (ctx->diag && isfinite(objective)) {
        if (!json_object_get(ctx->diag, "objective"))
            ferry_i_diag_json(ctx, "objective", json_array());
        /* asked for again: without memory it is not there */
        (void)json_array_append_new(json_object_get(ctx->diag, "objective"),
                                    json_real(objective));
    }
    ferry_answer answer = ctx->progress ? ctx->progress(ctx->progress_user, &p) : FERRY_GO;
    /* all go on or none: by what rank 0 was answered */
    const ferry_status shared =
        ferry_i_ranks_broadcast(ctx, &answer, (int64_t)sizeof answer);
    if (shared != FERRY_OK) return shared;
    switch (answer) {
    /* FINISH keeps what the method has so far, CANCEL throws it away */
    case FERRY_GO: break;
    case FERRY_FINISH:
        if (finish) *finish = true;
        break;
    case FERRY_CANCEL: return ferry_i_fail(ctx, FERRY_ECANCELLED, "%s: cancelled", what);
    }
    return FERRY_OK;
}

/* A value replaces the one of the same name. Outside a fit the reference is dropped. */
void ferry_i_diag_json(ferry_ctx *ctx, const char *name, json_t *value)
{
    if (ctx->diag)
        (void)json_object_set_new(ctx->diag, name, value);
    else
        json_decref(value);
}

/* JSON has no NaN. */
json_t *ferry_i_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

void ferry_i_diag_real(ferry_ctx *ctx, const char *name, double value)
{
    ferry_i_diag_json(ctx, name, ferry_i_json_real(value));
}

void ferry_i_diag_text(ferry_ctx *ctx, const char *name, const char *value)
{
    ferry_i_diag_json(ctx, name, json_string(value));
}

void ferry_i_diag_reals(ferry_ctx *ctx, const char *name, int64_t n, const double *values)
{
    json_t *array = json_array();

    for (int64_t i = 0; i < n; i++)
        (void)json_array_append_new(array, ferry_i_json_real(values[i]));
    ferry_i_diag_json(ctx, name, array);
}

void ferry_i_diag_named(ferry_ctx *ctx, const char *name, int64_t n,
                        const char *const *keys, const double *values)
{
    json_t *object = json_object();

    for (int64_t i = 0; i < n; i++)
        (void)json_object_set_new(object, keys[i], ferry_i_json_real(values[i]));
    ferry_i_diag_json(ctx, name, object);
}

/* For durations: it does not jump when the machine's time is set. */
double ferry_i_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For dates in reports. */
double ferry_i_wall_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
