/* Memory that is freed together.
 *
 * Structs that the library gives hold many small texts and arrays of different length. Their maker
 * asks here for each, looks once whether all was there, and frees them with one call. */

#include "core/core.h"

/* p belongs to the arena from now on; when there is no space to note it, it is freed. */
static void *keep(ferry_arena *arena, void *p)
{
    if (p && FERRY_GROW(arena->at, arena->n, arena->cap)) return arena->at[arena->n++] = p;
    arena->failed = true;
    ferry_i_free(p);
    return NULL;
}

void *ferry_i_arena_new(ferry_arena *p, int64_t n, size_t size)
{
    return keep(p, ferry_i_calloc(n, size));
}

char *ferry_i_arena_text(ferry_arena *p, const char *text)
{
    return text ? keep(p, ferry_i_strdup(text)) : NULL;
}

void ferry_i_arena_free(ferry_arena *p)
{
    for (int64_t i = 0; i < p->n; i++)
        ferry_i_free(p->at[i]);
    ferry_i_free(p->at);
    *p = (ferry_arena){0};
}
