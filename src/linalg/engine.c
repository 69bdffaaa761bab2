/* Engines by name, and the context, which holds one.
 *
 * The engine is a table of functions, so a context can change it between two calls. The
 * first in the list is the default. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/host/isa.h"
#include "linalg/linalg.h"

static const ferry_engine *const engines[] = {&ferry_i_engine_host, &ferry_i_engine_ref,
                                              &ferry_i_engine_mpi, &ferry_i_engine_cuda,
                                              &ferry_i_engine_auto};

int64_t ferry_i_engine_count(void)
{
    return FERRY_COUNT(engines);
}

const ferry_engine *ferry_i_engine_at(int64_t i)
{
    return engines[i];
}

const ferry_engine *ferry_i_engine_find(const char *name)
{
    for (int64_t i = 0; i < FERRY_COUNT(engines); i++)
        if (strcmp(engines[i]->name, name) == 0) return engines[i];
    return NULL;
}

/* In this file because a context needs an engine and an instruction set from its first
 * moment. An unknown FERRY_ISA is not an error here; the log tells (host/blas.c). */
ferry_status ferry_ctx_new(ferry_ctx **out)
{
    if (!out) return FERRY_EINVAL;
    ferry_i_json_watch();
    (void)ferry_i_memory_lost(); /* of an earlier life */
    *out = ferry_i_calloc(1, sizeof **out);
    if (!*out) return FERRY_ENOMEM;
    (*out)->engine = engines[0];
    (*out)->isa = (int)ferry_i_isa_choose(getenv("FERRY_ISA"), NULL);
    (*out)->seed = 1;
    if (getenv("FERRY_ENGINE") &&
        ferry_i_ctx_set_engine(*out, getenv("FERRY_ENGINE")) != FERRY_OK)
        (*out)->engine =
            engines[0]; /* the message says why; the command and Python refuse */
    return ferry_i_ctx_set_threads(*out, 0);
}

ferry_status ferry_i_ctx_set_engine(ferry_ctx *ctx, const char *name)
{
    const ferry_engine *e = ferry_i_engine_find(name);

    if (!e)
        return ferry_i_fail(ctx, FERRY_EINVAL,
                            "unknown engine %s (host, ref, mpi, cuda, auto)", name);
    if (e == &ferry_i_engine_cuda && ferry_i_card_open(ctx) != FERRY_OK)
        return FERRY_ENEEDS;
    ctx->engine = e;
    return FERRY_OK;
}

const char *ferry_i_ctx_engine(const ferry_ctx *ctx)
{
    return ctx->engine->name;
}

/* ---- settings by name ---- */

/* A whole number in [0, most]. */
static ferry_status whole(ferry_ctx *ctx, const char *key, const char *value, int64_t most,
                          int64_t *out)
{
    const char *end = value + strlen(value);

    if (value[0] < '0' || value[0] > '9' || ferry_i_parse_int(value, end, out) != end ||
        *out > most)
        return ferry_i_fail(ctx, FERRY_EINVAL, "%s %s: expected a whole number, 0 .. %lld",
                            key, value, (long long)most);
    return FERRY_OK;
}

/* A number of bytes: 1500000, 800M, 7.5G. */
static ferry_status size_of(ferry_ctx *ctx, const char *key, const char *value,
                            int64_t *out)
{
    static const char units[] = "KMGT";
    const char *end = value + strlen(value), *unit = NULL;
    double bytes = -1;

    if (value[0]) unit = strchr(units, end[-1]);
    if (unit) end--;
    if (value[0] < '0' || value[0] > '9' || ferry_i_parse_real(value, end, &bytes) != end)
        bytes = -1;
    for (const char *u = units; unit && u <= unit; u++)
        bytes *= 1024;
    if (!(bytes >= 0 && bytes < 9e18))
        return ferry_i_fail(ctx, FERRY_EINVAL,
                            "%s %s: expected a number of bytes, such as 500M or 2G", key,
                            value);
    *out = (int64_t)bytes;
    return FERRY_OK;
}

static const char *const keys[] = {"engine", "threads",   "jobs",      "seed",
                                   "memory", "max_input", "gpu_memory"};

static const char *key_at(const void *all, int64_t i)
{
    return ((const char *const *)all)[i];
}

static ferry_status unknown(ferry_ctx *ctx, const char *key)
{
    const char *near = ferry_i_nearest(key, FERRY_COUNT(keys), key_at, keys);

    if (near)
        return ferry_i_fail(ctx, FERRY_EINVAL, "unknown setting %s (did you mean %s?)", key,
                            near);
    return ferry_i_fail(
        ctx, FERRY_EINVAL,
        "unknown setting %s (engine, threads, jobs, seed, memory, max_input, gpu_memory)",
        key);
}

ferry_status ferry_ctx_set(ferry_ctx *ctx, const char *key, const char *value)
{
    ferry_status st = FERRY_OK;
    int64_t n = 0;

    FERRY_ARGS(ctx, key, value);
    if (strcmp(key, "engine") == 0) {
        st = ferry_i_ctx_set_engine(ctx, value);
    } else if (strcmp(key, "threads") == 0) {
        FERRY_TRY(whole(ctx, key, value, 1024, &n));
        st = ferry_i_ctx_set_threads(ctx, (int)n);
    } else if (strcmp(key, "jobs") == 0) {
        FERRY_TRY(whole(ctx, key, value, 1024, &n));
        st = ferry_i_ctx_set_jobs(ctx, (int)n);
    } else if (strcmp(key, "seed") == 0) {
        /* results.json and task files keep seeds as numbers that are exact up to 2^53 */
        FERRY_TRY(whole(ctx, key, value, (int64_t)1 << 53, &n));
        ctx->seed = (uint64_t)n;
    } else if (strcmp(key, "memory") == 0) {
        FERRY_TRY(size_of(ctx, key, value, &n));
        st = ferry_i_ctx_set_memory(ctx, n);
    } else if (strcmp(key, "max_input") == 0) {
        FERRY_TRY(size_of(ctx, key, value, &n));
        st = ferry_i_ctx_set_max_input(ctx, n);
    } else if (strcmp(key, "gpu_memory") == 0) {
        FERRY_TRY(size_of(ctx, key, value, &n));
        ctx->gpu_memory = n;
        ferry_i_card_limit(n);
    } else {
        st = unknown(ctx, key);
    }
done:
    return st;
}

const char *ferry_ctx_get(ferry_ctx *ctx, const char *key)
{
    if (!ctx || !key) return NULL;
    const int64_t numbers[] = {
        0,           ctx->threads,   ctx->jobs_asked, (int64_t)ctx->seed,
        ctx->memory, ctx->max_input, ctx->gpu_memory};

    if (strcmp(key, keys[0]) == 0) return ctx->engine->name;
    for (int64_t i = 1; i < FERRY_COUNT(keys); i++)
        if (strcmp(key, keys[i]) == 0) {
            (void)snprintf(ctx->setting, sizeof ctx->setting, "%lld",
                           (long long)numbers[i]);
            return ctx->setting;
        }
    return NULL;
}
