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
    vsnprintf(t->cell[t->n++], (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
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

void cli_print_settings(FILE *to, const cli_settings *s, int indent)
{
    cli_table t = {.cols = 4};

    for (int64_t i = 0; i < ferry_opt_count(s->table); i++) {
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
