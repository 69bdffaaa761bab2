/* Small questions about text. */
#include "data/lines.h"

#include <string.h>

/* By counting from the start: O(bytes), which only messages pay. */
int64_t ferry_i_line_of(const char *begin, const char *at)
{
    int64_t line = 1;

    for (const char *s = begin; s < at; s++)
        line += *s == '\n';
    return line;
}

ferry_status ferry_i_fit_lines(ferry_ctx *ctx, const char *path, const ferry_ids *names)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; names && i < ferry_i_ids_count(names); i++)
        FERRY_NEED(ctx, !strpbrk(ferry_i_ids_at(names, i), "\r\n"), FERRY_EINVAL,
                   "%s: '%.40s' has a line end, which this format cannot hold (csv can)",
                   path, ferry_i_ids_at(names, i));
done:
    return st;
}

/* A zero byte means a binary file, or UTF-16, which would parse as nonsense. */
ferry_status ferry_i_check_text(ferry_ctx *ctx, const ferry_input *in)
{
    const char *zero = memchr(in->data, 0, (size_t)in->size);
    const int64_t n = in->size < 65536 ? in->size : 65536;
    int64_t odd = 0;
    char quote =
        0; /* in which we are: what stands there was meant, as an id may be anything */

    const unsigned char *head = (const unsigned char *)in->data;
    const bool utf16 = in->size > 1 && (head[0] == 0xff || head[0] == 0xfe) &&
                       head[0] + head[1] == 0xff + 0xfe;

    if (zero)
        return ferry_i_bad(ctx, in->path, ferry_i_line_of(in->data, zero), "%s",
                           utf16 ? "UTF-16, as some programs export: save it as UTF-8"
                                 : "a zero byte: expected text");
    /* control characters beside tab, line ends and the like (7 .. 13, 26, 27) */
    for (int64_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)in->data[i];
        if (quote == '\'' && c == '\\' && i + 1 < n) i++; /* what it protects */
        if (quote ? c == quote
                  : (c == '"' || c == '\'') &&
                        (i == 0 || strchr(" \t\n,;|:{\"", in->data[i - 1])))
            quote = quote ? 0 : (char)c;
        else if (!quote)
            odd += c < 7 || (c > 13 && c < 26) || (c > 27 && c < 32) || c == 127;
    }
    if (50 * odd > n)
        return ferry_i_bad(ctx, in->path, 0,
                           "%lld of its first %lld bytes are control characters: expected "
                           "text, found binary data",
                           (long long)odd, (long long)n);
    const char *cr = memchr(in->data, '\r', (size_t)in->size);
    if (cr && cr + 1 < in->data + in->size && !memchr(in->data, '\n', (size_t)in->size))
        return ferry_i_bad(ctx, in->path, 0,
                           "its lines end in CR alone, as on old Macs: expected LF or CR "
                           "LF (tr '\\r' '\\n' converts it)");
    return FERRY_OK;
}

/* Case matters, so that a category called "na" or "Null" stays one. No word is longer than
 * 4. `more` is one text, or several with commas between. */
bool ferry_i_is_missing(const char *s, int64_t n, const char *more)
{
    static const char *const words[] = {"NA", "NaN",  "nan",  "NAN", "N/A",
                                        "?",  "null", "NULL", "#N/A"};

    if (n == 0) return true;
    for (int i = 0; n <= 4 && i < FERRY_COUNT(words); i++)
        if (strncmp(words[i], s, (size_t)n) == 0 && words[i][n] == 0) return true;
    for (const char *end = more; *more; more = end + (*end == ',')) {
        end = more + strcspn(more, ",");
        if ((end - more == n && memcmp(more, s, (size_t)n) == 0) ||
            (strncmp(more, s, (size_t)n) == 0 && more[n] == 0)) /* has a comma itself */
            return true;
    }
    return false;
}

/* An empty name becomes a lone %, so that it still stands between two separators. */
void ferry_i_code(ferry_text *t, const char *name)
{
    if (!name[0]) ferry_i_text_add(t, "%");
    for (const char *s = name; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c <= ' ' || c == 127 || strchr("%,:#", *s))
            ferry_i_text_addf(t, "%%%02X", c);
        else
            ferry_i_text_addn(t, s, 1);
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A % that begins no code stands for itself, but one that is all there is means the empty
 * name. */
int64_t ferry_i_decode(ferry_ids *names, const char *s, int64_t n, bool *added)
{
    ferry_text t = {0};
    int64_t at = -1;

    if (!memchr(s, '%', (size_t)n)) return ferry_i_ids_addn(names, s, n, added);
    ferry_i_text_addn(&t, "", 0);
    for (int64_t i = 0; i < n; i++) {
        if (s[i] == '%' && i + 2 < n && hex_digit(s[i + 1]) >= 0 &&
            hex_digit(s[i + 2]) >= 0) {
            const char c = (char)(16 * hex_digit(s[i + 1]) + hex_digit(s[i + 2]));
            ferry_i_text_addn(&t, &c, 1);
            i += 2;
        } else if (n > 1) {
            ferry_i_text_addn(&t, s + i, 1);
        }
    }
    if (!t.failed) at = ferry_i_ids_addn(names, t.s, t.len, added);
    ferry_i_text_free(&t);
    return at;
}
