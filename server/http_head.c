/* The head and the body of a request, from bytes: no connection is needed for it. */
#include <string.h>
#include <strings.h>

#include "server/http.h"

static http_wrong is_wrong(unsigned status, const char *why)
{
    return (http_wrong){status, why};
}

/* Letters of names: RFC 9110, token. */
static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

int64_t ferry_i_http_end(const char *bytes, int64_t n, http_wrong *wrong)
{
    *wrong = (http_wrong){0};
    for (int64_t i = 0, line = 0; i < n && i < HTTP_HEAD_MOST; i++) {
        const char c = bytes[i];
        if (c == '\r' && (i + 1 == n || bytes[i + 1] == '\n')) continue;
        if (c == '\n' && i > 0 && bytes[i - 1] == '\r') {
            if (i - 1 == line) return i + 1;
            line = i + 1;
        } else if (c == '\n') {
            *wrong = is_wrong(400, "a line of the request ends in LF: expected CR LF");
            return 0;
        } else if (is_control(c)) {
            *wrong = is_wrong(400, "the request's head has a control character");
            return 0;
        }
    }
    if (n >= HTTP_HEAD_MOST) *wrong = is_wrong(431, "the request's head is too large");
    return 0;
}

/* ---- paths ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Undo %XX up to `end`, in `to`, which may be `from`; -1: an escape is wrong. */
static int64_t unescape(const char *from, const char *end, char *to)
{
    int64_t n = 0;

    for (; from < end; from++) {
        char c = *from;
        if (c == '%') {
            const int high = end - from > 2 ? hex(from[1]) : -1,
                      low = end - from > 2 ? hex(from[2]) : -1;
            if (high < 0 || low < 0) return -1;
            c = (char)(high << 4 | low);
            if (is_control(c) || c == '\t') return -1;
            from += 2;
        }
        to[n++] = c;
    }
    return n;
}

/* A path of this server: names between slashes. An escaped slash is in no name. */
static http_wrong read_target(http_head *h, char *target)
{
    char *query = strchr(target, '?');

    if (target[0] != '/') return is_wrong(400, "expected a path that begins with /");
    for (const char *c = target; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f || *c == '#')
            return is_wrong(400, "the path has a character that must be escaped");
    if (query) *query++ = 0;
    for (const char *c = target; (c = strchr(c, '%')); c++)
        if (c[1] == '2' && (c[2] == 'f' || c[2] == 'F'))
            return is_wrong(400, "the path has an escaped slash");
    const int64_t n = unescape(target, target + strlen(target), target);
    if (n < 0)
        return is_wrong(400,
                        "the path has an escape that is none, or of a control character");
    target[n] = 0;
    h->path = target;
    h->query = query ? query : "";
    return (http_wrong){0};
}

/* METHOD PATH HTTP/1.x: one blank between them. */
static http_wrong read_line(http_head *h, char *line)
{
    char *path = strchr(line, ' '), *version = path ? strchr(path + 1, ' ') : NULL;

    if (!version) return is_wrong(400, "expected METHOD PATH HTTP/1.1");
    *path++ = 0;
    *version++ = 0;
    if (strncmp(version, "HTTP/", 5) != 0)
        return is_wrong(400, "expected METHOD PATH HTTP/1.1");
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return is_wrong(505, "expected HTTP/1.1");
    h->minor = version[7] - '0';
    h->method = line;
    if (!*line || strlen(line) > 32) return is_wrong(400, "expected a method");
    for (const char *c = line; *c; c++)
        if (!is_token(*c)) return is_wrong(400, "expected a method");
    return read_target(h, path);
}

/* ---- fields ---- */

/* Name: value. No blank before the colon, no line that goes on. */
static http_wrong read_field(http_head *h, char *line)
{
    char *colon = line, *end = line + strlen(line);

    while (is_token(*colon))
        colon++;
    if (colon == line || *colon != ':')
        return is_wrong(400, "a line of the request's head is not NAME: VALUE");
    if (h->fields == HTTP_FIELDS)
        return is_wrong(431, "the request's head has more than 100 lines");
    *colon++ = 0;
    while (*colon == ' ' || *colon == '\t')
        colon++;
    while (end > colon && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = 0;
    h->field[h->fields++] = (http_field){line, colon};
    return (http_wrong){0};
}

const char *ferry_i_http_field(const http_head *h, const char *name)
{
    for (int i = 0; i < h->fields; i++)
        if (strcasecmp(h->field[i].name, name) == 0) return h->field[i].value;
    return NULL;
}

/* Of which two would be two answers to one question. */
static bool only_once(const http_head *h)
{
    static const char *const once[] = {"Host",
                                       "Content-Length",
                                       "Transfer-Encoding",
                                       "Authorization",
                                       "Origin",
                                       "Content-Encoding",
                                       "Content-Type",
                                       "Expect",
                                       "X-Request-Id",
                                       "Inference-Header-Content-Length"};

    for (int64_t i = 0; i < FERRY_COUNT(once); i++) {
        int n = 0;
        for (int f = 0; f < h->fields; f++)
            n += strcasecmp(h->field[f].name, once[i]) == 0;
        if (n > 1) return false;
    }
    return true;
}

/* Whether a list of words, as Connection has, holds this one. */
static bool has_word(const http_head *h, const char *name, const char *word)
{
    for (int f = 0; f < h->fields; f++) {
        if (strcasecmp(h->field[f].name, name) != 0) continue;
        for (const char *at = h->field[f].value; *at;) {
            at += strspn(at, ", \t");
            const size_t n = strcspn(at, ", \t");
            if (n == strlen(word) && strncasecmp(at, word, n) == 0) return true;
            at += n;
        }
    }
    return false;
}

/* How long the body is: one way to say it, and one way to read it. */
static http_wrong read_length(http_head *h)
{
    const char *length = ferry_i_http_field(h, "Content-Length"),
               *coding = ferry_i_http_field(h, "Transfer-Encoding");
    const size_t digits = length ? strspn(length, "0123456789") : 0;

    if (length && coding)
        return is_wrong(400, "expected one Content-Length or Transfer-Encoding, got both");
    if (coding && (h->minor == 0 || strcasecmp(coding, "chunked") != 0))
        return is_wrong(400, "Transfer-Encoding: expected chunked, of HTTP/1.1");
    if (coding) h->length = -1;
    if (!length) return (http_wrong){0};
    if (digits == 0 || length[digits])
        return is_wrong(400, "Content-Length: expected a whole number");
    if (digits > 18) return is_wrong(413, "the request is too large");
    for (const char *c = length; *c; c++)
        h->length = 10 * h->length + (*c - '0');
    return (http_wrong){0};
}

static http_wrong check(http_head *h)
{
    const char *host = ferry_i_http_field(h, "Host"), *expect = NULL;

    if (!only_once(h))
        return is_wrong(400,
                        "a line of the request's head that must be the only one of its "
                        "name is there twice");
    if (h->minor == 1 && !host) return is_wrong(400, "expected a line Host");
    if (host && strpbrk(host, " \t/@?#,\\"))
        return is_wrong(400, "Host: expected a name, and a port or nothing");
    const http_wrong wrong = read_length(h);
    if (wrong.status) return wrong;
    h->close = h->minor == 0 || has_word(h, "Connection", "close");
    expect = h->minor == 1 ? ferry_i_http_field(h, "Expect") : NULL;
    if (expect && strcasecmp(expect, "100-continue") != 0)
        return is_wrong(417, "Expect: expected 100-continue");
    h->expects = expect && h->length != 0;
    return (http_wrong){0};
}

http_head *ferry_i_http_parse(const char *bytes, int64_t n, http_wrong *wrong)
{
    http_head *h = ferry_i_calloc(1, sizeof *h + (size_t)n + 1);
    bool first = true;

    *wrong = (http_wrong){0};
    if (!h) return NULL;
    memcpy(h->text, bytes, (size_t)n);
    for (char *line = h->text, *end; !wrong->status && (end = strstr(line, "\r\n"));
         line = end + 2) {
        *end = 0;
        if (end == line) break;
        if (strchr(line, '\r'))
            *wrong = is_wrong(400, "the request's head has a control character");
        else
            *wrong = first ? read_line(h, line) : read_field(h, line);
        first = false;
    }
    if (!wrong->status && first) *wrong = is_wrong(400, "expected METHOD PATH HTTP/1.1");
    if (!wrong->status) *wrong = check(h);
    if (!wrong->status) return h;
    ferry_i_free(h);
    return NULL;
}

bool ferry_i_http_query(const http_head *h, const char *name, char *to, int64_t room)
{
    const size_t n = strlen(name);

    for (const char *at = h->query; *at;) {
        const size_t all = strcspn(at, "&"), key = strcspn(at, "=&");
        if (key == n && strncmp(at, name, n) == 0) {
            const char *value = at + key + (at[key] == '=');
            if (at + all - value >= room) return false;
            const int64_t got = unescape(value, at + all, to);
            if (got < 0) return false;
            to[got] = 0;
            return true;
        }
        at += all + (at[all] == '&');
    }
    return false;
}

/* ---- the body ---- */

enum { SIZE, EXTRA, SIZE_LF, DATA, DATA_CR, DATA_LF, LAST_CR, LAST_LF, OVER };
#define EXTRA_MOST 256 /* bytes behind a chunk's size, which nobody reads */

void ferry_i_http_body(http_body *b, const http_head *h)
{
    *b = (http_body){.chunked = h->length < 0, .left = h->length};
    if (b->chunked) b->left = 0;
    b->state = b->chunked ? SIZE : DATA;
}

/* One byte between chunks; false: it must not stand there. */
static bool between(http_body *b, char c)
{
    const int digit = hex(c);

    switch (b->state) {
    case SIZE:
        if (digit >= 0 && b->digits < 15) {
            b->left = b->left << 4 | digit;
            b->digits++;
            return true;
        }
        if (b->digits == 0 || (c != ';' && c != '\r')) return false;
        b->state = c == ';' ? EXTRA : SIZE_LF;
        return true;
    case EXTRA:
        if (c == '\r') b->state = SIZE_LF;
        return c == '\r' || (!is_control(c) && ++b->extra <= EXTRA_MOST);
    case SIZE_LF:
        b->state = b->left > 0 ? DATA : LAST_CR;
        b->digits = b->extra = 0;
        return c == '\n';
    case DATA_CR: b->state = DATA_LF; return c == '\r';
    case DATA_LF: b->state = SIZE; return c == '\n';
    case LAST_CR: b->state = LAST_LF; return c == '\r'; /* lines behind the last chunk */
    default: b->state = OVER; return c == '\n';
    }
}

int ferry_i_http_next(http_body *b, const char *bytes, int64_t n, int64_t *used,
                      int64_t *piece)
{
    *piece = 0;
    for (*used = 0; b->state != OVER;) {
        if (b->state == DATA && b->left == 0 && !b->chunked) break;
        if (*used == n) return HTTP_MORE;
        if (b->state == DATA) {
            *piece = b->left < n - *used ? b->left : n - *used;
            *used += *piece;
            b->left -= *piece;
            if (b->left == 0 && b->chunked) b->state = DATA_CR;
            return HTTP_PIECE;
        }
        if (!between(b, bytes[(*used)++])) return HTTP_BAD;
    }
    return HTTP_END;
}
