/* Engines by name, and the context, which holds one.
 *
 * The engine is a table of functions, so a context can change it between two calls. The
 * first in the list is the default. */
#include <stdlib.h>
#include <string.h>

#include "linalg/host/isa.h"
#include "linalg/linalg.h"

static const ferry_engine *const engines[] = {&ferry_i_engine_host, &ferry_i_engine_ref,
                                              &ferry_i_engine_mpi};

int64_t ferry_i_engine_count(void)
{
    return FERRY_COUNT(engines);
}

const ferry_engine *ferry_i_engine_at(int64_t i)
{
    return engines[i];
}

int64_t ferry_engine_count(void)
{
    return FERRY_COUNT(engines);
}

const char *ferry_engine_at(int64_t i)
{
    return i >= 0 && i < FERRY_COUNT(engines) ? engines[i]->name : NULL;
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
    return ferry_ctx_set_threads(*out, 0);
}

ferry_status ferry_ctx_set_engine(ferry_ctx *ctx, const char *name)
{
    FERRY_ARGS(ctx, name);

    const ferry_engine *e = ferry_i_engine_find(name);

    if (!e)
        return ferry_i_fail(ctx, FERRY_EINVAL, "unknown engine %s (host, ref, mpi)", name);
    ctx->engine = e;
    return FERRY_OK;
}

const char *ferry_ctx_engine(const ferry_ctx *ctx)
{
    if (!ctx) return NULL;
    return ctx->engine->name;
}
