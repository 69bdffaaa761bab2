/* Text: tables with columns lined up, and small strings. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "cli.h"

void *cli_alloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);

    if (!p) {
        cli_say("out of memory");
        exit(EXIT_FAILED);
    }
    return p;
}

char *cli_join(const char *a, const char *b, const char *c)
{
    const size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *s = cli_alloc(n);

    snprintf(s, n, "%s%s%s", a, b, c);
    return s;
}

void cli_clean_line(char *s)
{
    const size_t n = strlen(s);

    for (size_t i = cli_clean(s, n); i < n; i++)
        s[i] = '?';
    for (; *s; s++)
        if (*s == '\n' || *s == '\t') *s = '?';
}

void cli_cell(cli_table *t, const char *fmt, ...)
{
    va_list args, again;
    int n = 0;

    if (t->n == t->cap) {
        char **more = cli_alloc((size_t)(2 * t->cap + 16) * sizeof *more);
        if (t->n) memcpy(more, t->cell, (size_t)t->n * sizeof *more);
        free(t->cell);
        t->cell = more;
        t->cap = 2 * t->cap + 16;
    }
    va_start(args, fmt);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, args);
    t->cell[t->n] = cli_alloc((size_t)n + 1);
    vsnprintf(t->cell[t->n], (size_t)n + 1, fmt, again);
    cli_clean_line(t->cell[t->n++]);
    va_end(again);
    va_end(args);
}

/* What a terminal takes as a command, not as text: C0 but for line ends and tabs, DEL, C1, bytes that
 * are no UTF-8 (8-bit C1), and the marks that turn the direction of writing round. */
static bool is_command(utf8proc_int32_t c)
{
    return (c < 32 && c != '\n' && c != '\t') || (c >= 127 && c < 160) ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t cli_clean(char *s, size_t n)
{
    size_t i = 0;

    while (i < n) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)s + i,
                                                       (utf8proc_ssize_t)(n - i), &c);
        const unsigned char first = (unsigned char)s[i];
        const size_t want = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
        if (step <= 0 && want > n - i) break; /* the rest of it may follow */
        const size_t len = step > 0 ? (size_t)step : 1;
        if (step <= 0 || is_command(c)) memset(s + i, '?', len);
        i += len;
    }
    return i;
}

/* Columns of a terminal: East Asian characters take two, combining marks none. */
static int width_of(const char *s)
{
    int n = 0;

    for (utf8proc_int32_t c = 0; *s;) {
        const utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)s, -1, &c);
        n += step > 0 ? utf8proc_charwidth(c) : 1;
        s += step > 0 ? step : 1;
    }
    return n;
}

void cli_table_print(cli_table *t, FILE *to, int indent)
{
    int *width = cli_alloc((size_t)t->cols * sizeof *width);

    for (int64_t i = 0; i < t->n; i++)
        if (width_of(t->cell[i]) > width[i % t->cols])
            width[i % t->cols] = width_of(t->cell[i]);
    for (int64_t i = 0; i < t->n; i++) {
        const bool last = i % t->cols == t->cols - 1;
        if (i % t->cols == 0) fprintf(to, "%*s", indent, "");
        fputs(t->cell[i], to);
        if (last)
            fputc('\n', to);
        else
            fprintf(to, "%*s", width[i % t->cols] - width_of(t->cell[i]) + 2, "");
        free(t->cell[i]);
    }
    free(t->cell);
    free(width);
    *t = (cli_table){.cols = t->cols};
}

const char *cli_bytes(double n, char *buffer, size_t size)
{
    static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB"};
    int u = 0;

    for (; n >= 1000 && u < 4; u++)
        n /= 1000;
    snprintf(buffer, size, u == 0 || n >= 100 ? "%.0f %s" : "%.1f %s", n, unit[u]);
    return buffer;
}

const char *cli_word(const char *s, char *buffer, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./-=:,+@%";
    size_t n = 0;

    if (s[0] && !s[strspn(s, plain)]) return s;
    for (buffer[n++] = '\''; *s && n + 6 < size; s++) {
        if (*s == '\'') n += (size_t)snprintf(buffer + n, size - n, "'\\'");
        buffer[n++] = *s;
    }
    (void)snprintf(buffer + n, size - n, "'");
    return buffer;
}

void cli_print_settings(FILE *to, const cli_settings *s, int indent)
{
    cli_table t = {.cols = 4};

    for (int64_t i = 0; ferry_opt_at(s->table, i); i++) {
        const ferry_opt *o = ferry_opt_at(s->table, i);
        char *range = ferry_opt_range(o);
        cli_cell(&t, "%s", o->name);
        cli_cell(&t, "%s", o->def[0] ? o->def : "-");
        cli_cell(&t, "%s", range ? range : "");
        cli_cell(&t, "%s", o->help);
        ferry_string_free(range);
    }
    cli_table_print(&t, to, indent);
}
