/* Memory: all heap of the library comes from here, so that tests can make any allocation
 * fail.
 *
 * Exceptions are what other libraries take for themselves: matio, libarchive, OpenBLAS.
 * jansson asks here as well (json.c). */
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/json.h"
#include "core/spill.h"

/* Plain variables: they are set before the first allocation, by one thread. */
static void *(*use_calloc)(size_t, size_t) = calloc;
static void *(*use_realloc)(void *, size_t) = realloc;
static void (*use_free)(void *) = free;

/* NULL puts the C library's function back. Memory taken from one allocator must not be
 * freed by another, so it is called before anything else. */
void ferry_set_allocator(void *(*calloc_fn)(size_t, size_t),
                         void *(*realloc_fn)(void *, size_t), void (*free_fn)(void *))
{
    use_calloc = calloc_fn ? calloc_fn : calloc;
    use_realloc = realloc_fn ? realloc_fn : realloc;
    use_free = free_fn ? free_fn : free;
    ferry_i_json_watch();
}

/* n * size in bytes, at least 1; false when that is no size. */
static bool bytes_of(int64_t n, size_t size, size_t *bytes)
{
    if (n < 0 || size == 0 || (uint64_t)n > (uint64_t)PTRDIFF_MAX / size) return false;
    *bytes = n == 0 ? 1 : (size_t)n * size;
    return true;
}

/* How much this thread asked for when it last got nothing: the one thing about a failed
 * allocation that tells a user what to do (fewer rows, or find out why so much). */
static _Thread_local double refused;
/* ... and that nobody has said so yet. */
static _Thread_local bool lost;

/* Whoever asks says it, so it is told once. */
bool ferry_i_memory_lost(void)
{
    const bool was = lost;

    lost = false;
    return was;
}

/* Remember a request that got nothing; passes the pointer on. */
void *ferry_i_asked(void *p, int64_t n, size_t size)
{
    if (!p) {
        refused = (double)n * (double)size;
        lost = true;
    }
    return p;
}

/* The size is said from 1 MB on: below, the last request is not what used the memory up. */
ferry_status ferry_i_nomem(ferry_ctx *ctx)
{
    lost = false;
    if (refused >= 1e6 && ferry_i_spill_why()[0])
        return ferry_i_fail(
            ctx, FERRY_ENOMEM,
            "out of memory: %.0f MB more are beyond the limit that was set, and "
            "there is no room for a file of them (%s; TMPDIR chooses a folder)",
            refused / 1e6, ferry_i_spill_why());
    return refused >= 1e6
               ? ferry_i_fail(ctx, FERRY_ENOMEM,
                              "out of memory: %.0f MB more could not be had", refused / 1e6)
               : ferry_i_fail(ctx, FERRY_ENOMEM, "out of memory");
}

/* Large pages for large blocks, as numpy asks for its arrays: entries of a sparse matrix that lead all over 12 MB
 * of small pages wait for their addresses longer than for the numbers. An advice: where there are none, nothing
 * changes. Not for the allocator of a caller, who decides that. */
static void *on_large_pages(void *p, size_t bytes)
{
    enum { LARGE = 4 << 20, SMALL_PAGE = 4096 };

    if (p && bytes >= LARGE && use_free == free) {
        const uintptr_t from = ((uintptr_t)p + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE,
                        to = ((uintptr_t)p + bytes) / SMALL_PAGE * SMALL_PAGE;
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    }
    return p;
}

/* Arrays beyond a limit on memory become files (spill.c), unless the caller has an allocator. */
static bool to_file(size_t bytes, size_t less)
{
    return use_free == free && ferry_i_spill_due(bytes, less);
}

/* p, counted if it is the C library's. */
static void *counted(void *p, size_t bytes)
{
    if (use_free == free) ferry_i_spill_count(p, 1);
    return on_large_pages(p, bytes);
}

static void *new_file(size_t bytes, size_t less)
{
    void *p = ferry_i_spill_new(bytes);

    return p || !ferry_i_spill_forgives(bytes, less) ? p
                                                     : counted(use_calloc(1, bytes), bytes);
}

/* One block of n * size bytes: the product is checked here and not left to the
 * allocator. */
void *ferry_i_calloc(int64_t n, size_t size)
{
    size_t bytes = 0;

    if (!bytes_of(n, size, &bytes) || !to_file(bytes, 0))
        return ferry_i_calloc_here(n, size);
    return ferry_i_asked(new_file(bytes, 0), n, size);
}

void *ferry_i_calloc_here(int64_t n, size_t size)
{
    size_t bytes = 0;
    void *p = bytes_of(n, size, &bytes) ? counted(use_calloc(1, bytes), bytes) : NULL;

    return ferry_i_asked(p, n, size);
}

/* From the heap to a file, or from a file to a larger one; what a file has to spare is used first. */
static void *move_to_file(void *p, size_t old, bool was_file, size_t bytes)
{
    if (was_file && bytes <= old) return p;
    void *q = new_file(bytes, was_file ? 0 : old);
    if (!q) return NULL;
    if (p) memcpy(q, p, old < bytes ? old : bytes);
    ferry_i_free(p);
    return q;
}

void *ferry_i_realloc(void *p, int64_t n, size_t size)
{
    size_t bytes = 0;

    if (!bytes_of(n, size, &bytes)) return ferry_i_asked(NULL, n, size);
    const bool ours = use_free == free;
    const size_t file = p && ours ? ferry_i_spill_size(p) : 0;
    const size_t old = file || !p || !ours ? file : malloc_usable_size(p);
    if (file || to_file(bytes, old))
        return ferry_i_asked(move_to_file(p, old, file > 0, bytes), n, size);
    if (ours) ferry_i_spill_count(p, -1);
    void *q = use_realloc(p, bytes);
    if (!q && ours) ferry_i_spill_count(p, 1);
    return ferry_i_asked(q ? counted(q, bytes) : NULL, n, size);
}

void ferry_i_free(void *p)
{
    if (!p || (use_free == free && ferry_i_spill_free(p))) return;
    if (use_free == free) ferry_i_spill_count(p, -1);
    use_free(p);
}

void ferry_string_free(char *text)
{
    ferry_i_free(text);
}

/* len bytes of text, which need not end in 0; calloc has put the 0 behind them. */
char *ferry_i_strndup(const char *text, int64_t len)
{
    char *copy = ferry_i_calloc(len + 1, 1);

    if (copy) memcpy(copy, text, (size_t)len);
    return copy;
}

void ferry_i_free_all(void *const *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ferry_i_free(p[i]);
}

char *ferry_i_strdup(const char *text)
{
    return text ? ferry_i_strndup(text, (int64_t)strlen(text)) : NULL;
}

/* Doubles, so that n additions cost O(n). On failure p and cap are as they were. */
bool ferry_i_grow(void **p, int64_t n, int64_t *cap, size_t size)
{
    if (n < *cap) return true;
    const int64_t want = *cap < 8 ? 16 : *cap * 2;
    void *moved = ferry_i_realloc(*p, want, size);
    if (!moved) return false;
    *p = moved;
    *cap = want;
    return true;
}

/* Once a piece is lost the rest is not added either, so a text is whole or `failed`; what is
 * there ends in a zero either way. */
void ferry_i_text_addn(ferry_text *t, const char *s, int64_t n)
{
    while (!t->failed && t->len + n + 1 > t->cap) {
        if (!ferry_i_grow((void **)&t->s, t->cap, &t->cap, 1)) t->failed = true;
        if (t->s) t->s[t->len] = 0;
    }
    if (t->failed) return;
    if (n > 0) memcpy(t->s + t->len, s, (size_t)n);
    t->len += n;
    t->s[t->len] = 0;
}

void ferry_i_text_add(ferry_text *t, const char *s)
{
    ferry_i_text_addn(t, s, (int64_t)strlen(s));
}

/* Measured, then written: there is no longest line. The arguments are walked twice, hence
 * the copy. NULL: no memory. */
static char *vformat(const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    char *s = n < 0 ? NULL : ferry_i_calloc((int64_t)n + 1, 1);
    if (s) vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

/* Through a string of its own: what a formatted piece needs is not known before. */
void ferry_i_text_addf(ferry_text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = vformat(fmt, args);
    va_end(args);
    if (s)
        ferry_i_text_add(t, s);
    else
        t->failed = true;
    ferry_i_free(s);
}

/* printf's widths count bytes; columns of a terminal are what lines up. */
void ferry_i_text_pad(ferry_text *t, const char *s, int64_t width)
{
    const int64_t w = ferry_i_utf8_width(s);

    ferry_i_text_addf(t, "%s%*s", s, w < width ? (int)(width - w) : 0, "");
}

void ferry_i_text_free(ferry_text *t)
{
    ferry_i_free(t->s);
    *t = (ferry_text){0};
}

bool ferry_i_ends_with(const char *text, const char *tail)
{
    const size_t n = strlen(text), m = strlen(tail);

    return n >= m && memcmp(text + n - m, tail, m) == 0;
}

char *ferry_i_sprintf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = vformat(fmt, args);
    va_end(args);
    return s;
}
