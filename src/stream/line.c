/* What the three ways to write a line share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/fields.h"
#include "stream/stream.h"

enum { NAME_MOST = 1024 }; /* bytes of an id or a class */

void ferry_i_line_clear(ferry_line *l)
{
    if (l->text.failed) ferry_i_text_free(&l->text); /* memory ran out for one line */
    if (l->spare_text.failed) ferry_i_text_free(&l->spare_text);
    l->text.len = 0;
    l->id = l->id_n = l->y = l->y_n = l->n = l->index_n = l->seq = 0;
    l->id_is_number = l->has_x = l->sparse = l->empty = l->no_memory = l->retract = false;
    l->why[0] = 0;
}

void ferry_i_line_free(ferry_line *l)
{
    ferry_i_text_free(&l->text);
    FERRY_FREE(l->value, l->index);
    ferry_i_text_free(&l->spare_text);
    *l = (ferry_line){0};
}

bool ferry_i_line_bad(ferry_line *l, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(l->why, sizeof l->why, fmt, args);
    va_end(args);
    /* A character cut in two at the end would not be UTF-8. */
    for (size_t n = strlen(l->why); !ferry_i_utf8_valid(l->why, (int64_t)n);)
        l->why[--n] = 0;
    return false;
}

static bool no_memory(ferry_line *l)
{
    l->no_memory = true;
    return false;
}

bool ferry_i_line_number(ferry_line *l, double x)
{
    if (!FERRY_GROW(l->value, l->n, l->cap)) return no_memory(l);
    l->value[l->n++] = x;
    return true;
}

bool ferry_i_line_index(ferry_line *l, int64_t i)
{
    if (i < 0 || i > INT32_MAX)
        return ferry_i_line_bad(l, "index %lld of x is outside [0, 2147483647]",
                                (long long)i);
    if (!FERRY_GROW(l->index, l->index_n, l->index_cap)) return no_memory(l);
    l->index[l->index_n++] = (int32_t)i;
    return true;
}

/* Keep a text; *at and *len say where. */
static bool keep(ferry_line *l, const char *what, const char *s, int64_t n, int64_t *at,
                 int64_t *len)
{
    if (n == 0) return ferry_i_line_bad(l, "%s is empty", what);
    if (n > NAME_MOST)
        return ferry_i_line_bad(l, "%s has %lld bytes, at most %d are allowed", what,
                                (long long)n, NAME_MOST);
    if (memchr(s, 0, (size_t)n) || !ferry_i_utf8_valid(s, n))
        return ferry_i_line_bad(l, "%s is not UTF-8 text", what);
    *at = l->text.len;
    *len = n;
    ferry_i_text_addn(&l->text, s, n);
    return !l->text.failed || no_memory(l);
}

bool ferry_i_line_id(ferry_line *l, const char *s, int64_t n)
{
    return keep(l, "id", s, n, &l->id, &l->id_n);
}

bool ferry_i_line_y(ferry_line *l, const char *s, int64_t n)
{
    return keep(l, "y", s, n, &l->y, &l->y_n);
}

typedef struct entry {
    int32_t index;
    double value;
} entry;

static int by_index(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

/* Indices of most writers ascend already; then this is one pass. Else sort, and refuse an
 * index that stands twice: which value was meant cannot be known. */
bool ferry_i_line_sort(ferry_line *l)
{
    int64_t e = 1;

    while (e < l->n && l->index[e - 1] < l->index[e])
        e++;
    if (e >= l->n) return true;
    entry *all = ferry_i_calloc(l->n, sizeof *all);
    if (!all) return no_memory(l);
    for (e = 0; e < l->n; e++)
        all[e] = (entry){l->index[e], l->value[e]};
    qsort(all, (size_t)l->n, sizeof *all, by_index);
    for (e = 0; e < l->n; e++) {
        l->index[e] = all[e].index;
        l->value[e] = all[e].value;
    }
    ferry_i_free(all);
    for (e = 1; e < l->n; e++)
        if (l->index[e] == l->index[e - 1])
            return ferry_i_line_bad(l, "x has index %d twice", l->index[e]);
    return true;
}

/* JSON needs escapes for the quote, the backslash and control characters; other bytes go
 * through as they are, UTF-8 included. */
void ferry_i_text_json(ferry_text *t, const char *s, int64_t n)
{
    ferry_i_text_addn(t, "\"", 1);
    for (int64_t i = 0, from = 0; i <= n; i++) {
        const unsigned char c = i < n ? (unsigned char)s[i] : 0;
        if (i < n && c >= 0x20 && c != '"' && c != '\\') continue;
        ferry_i_text_addn(t, s + from, i - from);
        from = i + 1;
        if (i == n) break;
        if (c == '"' || c == '\\')
            ferry_i_text_addf(t, "\\%c", c);
        else
            ferry_i_text_addf(t, "\\u%04x", c);
    }
    ferry_i_text_addn(t, "\"", 1);
}
