/* Fuzz requests: bytes as a connection has them, one request after the other, and once more cut into pieces elsewhere,
 * which must not make a difference. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "server/http.h"

/* No text of a head has a byte that could end a line of another. */
static void check_head(const http_head *h)
{
    if (!h->method[0] || h->path[0] != '/') abort();
    for (const char *c = h->path; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) abort();
    for (int i = 0; i < h->fields; i++) {
        if (!h->field[i].name[0] || strpbrk(h->field[i].name, " \t:\r\n")) abort();
        if (strpbrk(h->field[i].value, "\r\n")) abort();
    }
    if (h->minor == 1 && !ferry_i_http_field(h, "Host")) abort();
}

/* A sum over all that is read, and how far that is, with pieces of `step` bytes. */
static uint64_t read_all(const char *bytes, int64_t n, int64_t step)
{
    uint64_t sum = 0;
    char value[16];

    for (int64_t at = 0, used = 0, piece = 0; at < n;) {
        http_wrong wrong;
        http_body b;
        const int64_t end = ferry_i_http_end(bytes + at, n - at, &wrong);
        if (wrong.status || end == 0) return sum * 31 + wrong.status;
        http_head *h = ferry_i_http_parse(bytes + at, end, &wrong);
        if ((h == NULL) != (wrong.status != 0)) abort();
        if (!h) return sum * 31 + wrong.status;
        check_head(h);
        (void)ferry_i_http_query(h, "scores", value, (int64_t)sizeof value);
        at += end;
        ferry_i_http_body(&b, h);
        ferry_i_free(h);
        for (int what = HTTP_PIECE; what != HTTP_END;) {
            const int64_t some = step < n - at ? step : n - at;
            what = ferry_i_http_next(&b, bytes + at, some, &used, &piece);
            if (used < 0 || used > some || piece < 0 || piece > used) abort();
            at += used;
            for (int64_t i = at - piece; i < at; i++)
                sum = sum * 31 + (unsigned char)bytes[i];
            if (what == HTTP_BAD || (what == HTTP_MORE && at == n)) return sum * 31 + 7;
        }
        sum = sum * 31 + (uint64_t)at;
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = malloc(n + 1); /* of just these bytes, so that reading past them is seen */

    if (!copy) abort();
    memcpy(copy, bytes, n);
    if (read_all(copy, (int64_t)n, (int64_t)n) !=
        read_all(copy, (int64_t)n, 1 + (int64_t)n % 7))
        abort();
    free(copy);
    return 0;
}
