/* Buffers: values on their way between ranks. */
#include <string.h>

#include "core/ranks.h"

static bool reserve(ferry_buffer *p, int64_t n)
{
    if (n <= p->cap - p->n) return true;
    const int64_t cap = 2 * p->cap > p->n + n ? 2 * p->cap : p->n + n + 64;
    uint8_t *at = ferry_i_realloc(p->at, cap, 1);
    if (!at) return false;
    p->at = at;
    p->cap = cap;
    return true;
}

void ferry_i_buffer_bytes(ferry_buffer *p, void *x, int64_t n)
{
    if (p->failed || n == 0) return;
    if (p->writing) {
        p->failed = !reserve(p, n);
        if (p->failed) return;
        memcpy(p->at + p->n, x, (size_t)n);
        p->n += n;
    } else {
        p->failed = n > p->n - p->pos;
        if (p->failed) return;
        memcpy(x, p->at + p->pos, (size_t)n);
        p->pos += n;
    }
}

void ferry_i_buffer_array(ferry_buffer *p, void **x, int64_t *n, size_t size)
{
    int64_t items = !p->writing || !*x ? -1 : *n;

    FERRY_PACK(p, items);
    if (!p->writing) {
        *x = NULL;
        *n = items < 0 ? 0 : items;
        p->failed = p->failed || items > (p->n - p->pos) / (int64_t)size;
        if (p->failed || items < 0) return;
        p->failed = !(*x = ferry_i_calloc(items, size));
    }
    if (*x) ferry_i_buffer_bytes(p, *x, items * (int64_t)size);
}

void ferry_i_buffer_known(ferry_buffer *p, void **x, int64_t n, size_t size)
{
    int64_t items = n;

    ferry_i_buffer_array(p, x, &items, size);
    if (p->writing || !*x || items == n) return;
    ferry_i_free(*x);
    *x = NULL;
    p->failed = true;
}

void ferry_i_buffer_text(ferry_buffer *p, char **text)
{
    int64_t n = p->writing && *text ? (int64_t)strlen(*text) + 1 : 0;
    void *bytes = p->writing ? *text : NULL;

    ferry_i_buffer_array(p, &bytes, &n, 1);
    if (p->writing) return;
    *text = bytes;
    if (n > 0 && !p->failed) (*text)[n - 1] = 0; /* whatever came */
}

void ferry_i_buffer_free(ferry_buffer *p)
{
    ferry_i_free(p->at);
    *p = (ferry_buffer){0};
}
