/* Memory that is freed together.
 *
 * Structs that the library lends hold many small texts and arrays of different length. Their maker
 * asks here for each, looks once whether all was there, and frees them with one call. */
#include <string.h>

#include "core/core.h"

/* p belongs to the pool from now on; when there is no room to note it, it is freed. */
static void *keep(ferry_pool *pool, void *p)
{
    if (p && FERRY_GROW(pool->at, pool->n, pool->cap)) return pool->at[pool->n++] = p;
    pool->failed = true;
    ferry_i_free(p);
    return NULL;
}

void *ferry_i_pool_new(ferry_pool *p, int64_t n, size_t size)
{
    return keep(p, ferry_i_calloc(n, size));
}

char *ferry_i_pool_text(ferry_pool *p, const char *text)
{
    return text ? keep(p, ferry_i_strdup(text)) : NULL;
}

void ferry_i_pool_free(ferry_pool *p)
{
    for (int64_t i = 0; i < p->n; i++)
        ferry_i_free(p->at[i]);
    ferry_i_free(p->at);
    *p = (ferry_pool){0};
}
