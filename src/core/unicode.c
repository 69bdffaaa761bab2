/* UTF-8 text: validity, code points, case and the columns that it takes on a terminal, by
 * utf8proc's tables of Unicode. They do not depend on the locale, as the C library's would:
 * the same file gives the same words everywhere. */
#include <string.h>
#include <utf8proc.h>

#include "core/core.h"

/* The code point at s, of at most n bytes; returns its length, 0 when there is none (overlong
 * forms, surrogates and numbers above U+10FFFF are none). */
static int64_t point(const char *s, int64_t n, int32_t *c)
{
    const int64_t len = utf8proc_iterate((const utf8proc_uint8_t *)s, n, c);

    return len > 0 ? len : 0;
}

/* ASCII, the bulk of all files, is passed over 8 bytes at a time. */
bool ferry_i_utf8_valid(const char *s, int64_t n)
{
    const char *end = s + n;
    int32_t c = 0;

    while (s < end) {
        uint64_t eight;
        if (end - s >= 8) { /* plain ASCII goes by eights */
            memcpy(&eight, s, 8);
            if ((eight & 0x8080808080808080u) == 0) {
                s += 8;
                continue;
            }
        }
        const int64_t step = point(s, end - s, &c);
        if (step == 0) return false;
        s += step;
    }
    return true;
}

int ferry_i_put_utf8(char *s, uint32_t c)
{
    const bool good = c <= 0x10ffff && utf8proc_codepoint_valid((int32_t)c);

    return (int)utf8proc_encode_char(good ? (int32_t)c : 0xfffd, (utf8proc_uint8_t *)s);
}

/* A byte that begins no character counts as one, U+FFFD: `to` has space for strlen(s). */
int64_t ferry_i_utf8_points(const char *s, uint32_t *to)
{
    int64_t n = 0;

    for (int32_t c = 0; *s; n++) {
        const int64_t step = point(s, -1, &c);
        if (to) to[n] = step > 0 ? (uint32_t)c : 0xfffd;
        s += step > 0 ? step : 1;
    }
    return n;
}

/* A byte that is no character takes one column, as the replacement that terminals show. */
int64_t ferry_i_utf8_width(const char *s)
{
    int64_t width = 0;

    for (int32_t c = 0; *s;) {
        const int64_t step = point(s, -1, &c);
        width += step > 0 ? utf8proc_charwidth(c) : 1;
        s += step > 0 ? step : 1;
    }
    return width;
}

void ferry_i_one_line(char *s)
{
    for (int32_t c = 0; *s;) {
        const int64_t step = point(s, -1, &c);
        const unsigned char first = (unsigned char)*s;
        const size_t want = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
        if (step <= 0 && strlen(s) < want) {
            *s = 0; /* cut by a buffer's end */
            return;
        }
        const bool bad = step <= 0 || c < 32 || (c >= 127 && c < 160) ||
                         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
        for (int64_t i = 0; i < (step > 0 ? step : 1); i++, s++)
            if (bad) *s = '?';
    }
}

/* One letter becomes one letter (no special casing, as of German sharp s), so words keep
 * their number of characters. Bytes that are no character stay as they are. */
int64_t ferry_i_utf8_lower(const char *s, int64_t n, char *to)
{
    int64_t m = 0;

    for (int64_t i = 0; i < n;) {
        int32_t c = 0;
        const int64_t step = (s[i] & 0x80) ? point(s + i, n - i, &c) : 0;
        if (step > 0) {
            m += ferry_i_put_utf8(to + m, (uint32_t)utf8proc_tolower(c));
            i += step;
            continue;
        }
        to[m++] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] + 32) : s[i];
        i++;
    }
    return m;
}
