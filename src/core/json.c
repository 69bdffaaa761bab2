/* JSON through jansson when memory may run out.
 *
 * jansson has one allocator for the whole process, which a program around us may use, too. It gets ours, so
 * that a piece it loses counts (JSON is built of many small pieces whose loss nobody would notice), unless
 * the program has set another one before: then that one stays, behind functions that note failures. It gives
 * nothing that is kept in a file: what jansson hands out is freed by free() here and there.
 *
 * jansson 2.14's parser aborts the process when its buffer for the token at hand cannot grow: load.c ignores
 * what lex_save() says and asserts in lex_unget_unsave() that the character is there. So a parser of ours
 * runs with a spare block that is as large as that buffer can become. The first request that gets nothing
 * gets the spare; the text ends there, since it is fed a byte at a time, so nothing else is asked for but what
 * finishes the character at hand, and that jansson checks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"

/* What a program around us had set; NULL: nothing. */
static json_malloc_t had;
static json_free_t had_free;
static pthread_once_t watching = PTHREAD_ONCE_INIT;

/* Of the parser that runs in this thread. */
static _Thread_local struct {
    char *block;
    size_t size;
    bool lost; /* a request got nothing */
} spare;

static void *take(size_t n)
{
    void *p =
        had ? ferry_i_asked(had(n), (int64_t)n, 1) : ferry_i_calloc_here((int64_t)n, 1);

    if (p || !spare.block) return p;
    const bool first = !spare.lost;
    spare.lost = true;
    return first && n <= spare.size ? spare.block : NULL;
}

static void give(void *p)
{
    if (!p || p == spare.block) return;
    if (had_free)
        had_free(p);
    else
        ferry_i_free(p);
}

static void watch(void)
{
    json_malloc_t m = NULL;
    json_free_t f = NULL;

    json_get_alloc_funcs(&m, &f);
    if (m != malloc || f != free) had = m, had_free = f;
    json_set_alloc_funcs(take, give);
}

void ferry_i_json_watch(void)
{
    (void)pthread_once(&watching, watch);
}

typedef struct feed {
    const char *at, *end;
} feed;

static size_t next_byte(void *to, size_t capacity, void *arg)
{
    feed *f = arg;

    if (capacity == 0 || f->at == f->end || spare.lost) return 0;
    *(char *)to = *f->at++;
    return 1;
}

ferry_status ferry_i_json_parse(ferry_ctx *ctx, const char *text, int64_t n, size_t flags,
                                json_error_t *error, json_t **out)
{
    ferry_status st = FERRY_OK;
    feed f = {.at = text, .end = text + n};

    *out = NULL;
    ferry_i_json_watch();
    spare.lost = false;
    spare.size = 2 * (size_t)n + 64; /* the buffer doubles */
    FERRY_HAVE(ctx, spare.block = ferry_i_calloc((int64_t)spare.size, 1));
    *out = json_load_callback(next_byte, &f, flags, error);
    if (spare.lost) { /* some of it may lie in the spare block */
        json_decref(*out);
        *out = NULL;
    }
    FERRY_HAVE(ctx, !spare.lost);
done:
    ferry_i_free(spare.block);
    spare.block = NULL;
    return st;
}

ferry_status ferry_i_json_load(ferry_ctx *ctx, const char *path, json_error_t *error,
                               json_t **out)
{
    ferry_ctx quiet = ferry_i_child(ctx); /* callers say what they expected */
    ferry_status st = FERRY_OK;
    char *text = NULL;
    int64_t n = 0;

    *out = NULL;
    *error = (json_error_t){.line = -1};
    st = ferry_i_read_whole(&quiet, path, "a JSON file", &text, &n);
    FERRY_HAVE(ctx, st != FERRY_ENOMEM);
    if (st == FERRY_OK) FERRY_TRY(ferry_i_json_parse(ctx, text, n, 0, error, out));
    st = FERRY_OK;
done:
    ferry_i_free(text);
    return st;
}

ferry_status ferry_i_json_dump(ferry_ctx *ctx, const json_t *json, size_t flags, char **out)
{
    const bool whole = json && !ferry_i_memory_lost();
    char *dumped = whole ? json_dumps(json, flags) : NULL;
    json_free_t release = free;

    /* asked again: jansson itself goes on without some of its memory */
    *out = dumped && !ferry_i_memory_lost() ? ferry_i_strdup(dumped) : NULL;
    json_get_alloc_funcs(NULL, &release);
    if (dumped) release(dumped);
    return *out ? FERRY_OK : ferry_i_nomem(ctx);
}
