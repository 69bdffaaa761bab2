/* Requests as bytes: what is one, what is none, and that nothing depends on how they are cut into pieces. */
#include <stdio.h>

#include "ferry_test.h"
#include "server/http.h"

/* The status that a head gets: 0 is fine, 1 is not whole yet. */
static unsigned status_of(const char *bytes, int64_t n, http_head **out)
{
    http_wrong wrong;
    const int64_t end = ferry_i_http_end(bytes, n, &wrong);

    *out = NULL;
    if (wrong.status) return wrong.status;
    if (end == 0) return 1;
    *out = ferry_i_http_parse(bytes, end, &wrong);
    assert_true((*out != NULL) == (wrong.status == 0));
    return wrong.status;
}

static void test_what_is_a_request(void **state)
{
#define LINE "POST /predict HTTP/1.1\r\nHost: a\r\n"
    static const struct {
        const char *text;
        unsigned status;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
        {"GET / HTTP/1.0\r\n\r\n", 0},
        {LINE "Content-Length:\t 12 \r\n\r\n", 0},
        {LINE "Transfer-Encoding: Chunked\r\n\r\n", 0},
        {LINE "X:\r\nY: \xe2\x82\xac\r\n\r\n", 0},
        {LINE "Expect: 100-Continue\r\n\r\n", 0},
        {LINE "Connection: keep-alive\r\nConnection: x\r\n\r\n", 0},
        {LINE "Content-Length: 1", 1},
        {LINE "Content-Length: 1\r\n\r", 1},
        /* two could read these differently */
        {LINE "Content-Length : 12\r\n\r\n", 400},
        {LINE "Content-Length: 12\r\nContent-Length: 12\r\n\r\n", 400},
        {LINE "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {LINE "Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n", 400},
        {LINE "Transfer-Encoding: xchunked\r\n\r\n", 400},
        {LINE "Transfer-Encoding: identity\r\n\r\n", 400},
        {LINE "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
        {LINE "Transfer-Encoding: \vchunked\r\n\r\n", 400},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {LINE "Content-Length: 1, 1\r\n\r\n", 400},
        {LINE "Content-Length: +1\r\n\r\n", 400},
        {LINE "Content-Length: -1\r\n\r\n", 400},
        {LINE "Content-Length: 0x1\r\n\r\n", 400},
        {LINE "Content-Length: 1 5\r\n\r\n", 400},
        {LINE "Content-Length:\r\n\r\n", 400},
        {LINE "Content-Length: 9999999999999999999\r\n\r\n", 413},
        {LINE "X: a\r\n Content-Length: 1\r\n\r\n", 400},
        {LINE "X: a\rContent-Length: 1\r\n\r\n", 400},
        {LINE "X: a\nContent-Length: 1\r\n\r\n", 400},
        {LINE "X: a\n\n", 400},
        {LINE "Host: b\r\n\r\n", 400},
        {LINE "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", 400},
        {LINE "Origin: http://a\r\nOrigin: http://b\r\n\r\n", 400},
        {LINE "no colon\r\n\r\n", 400},
        {LINE ": no name\r\n\r\n", 400},
        {LINE "X\x01: a\r\n\r\n", 400},
        {LINE "X: \x7f\r\n\r\n", 400},
        {LINE "Expect: coffee\r\n\r\n", 417},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
        {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 505},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /a%0a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /a%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"\x16\x03\x01", 400}, /* TLS, where none is spoken */
    };
    http_head *h = NULL;

    (void)state;
    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        const unsigned status =
            status_of(cases[i].text, (int64_t)strlen(cases[i].text), &h);
        if (status != cases[i].status)
            fail_msg("%s: %u, expected %u", cases[i].text, status, cases[i].status);
        ferry_i_free(h);
    }
    static const char nul[] = LINE "X: a\0b\r\n\r\n";
    assert_int_equal(status_of(nul, sizeof nul - 1, &h), 400);
}

static void test_parts(void **state)
{
    static const char text[] =
        "POST /models/a%20b/predict?x=1&scores=%31&scores=0 HTTP/1.1\r\n"
        "host:\tlocalhost:80 \r\nContent-Length: 0012\r\n"
        "Connection: a, Close\r\n\r\n";
    http_head *h = NULL;
    char value[8];

    (void)state;
    assert_int_equal(status_of(text, sizeof text - 1, &h), 0);
    assert_string_equal(h->method, "POST");
    assert_string_equal(h->path, "/models/a b/predict");
    assert_string_equal(ferry_i_http_field(h, "HOST"), "localhost:80");
    assert_null(ferry_i_http_field(h, "Hos"));
    assert_int_equal(h->length, 12);
    assert_true(h->close);
    assert_true(ferry_i_http_query(h, "scores", value, sizeof value));
    assert_string_equal(value, "1");
    assert_false(ferry_i_http_query(h, "score", value, sizeof value));
    assert_false(ferry_i_http_query(h, "scores", value, 1));
    ferry_i_free(h);
}

static void test_large_heads(void **state)
{
    static char text[HTTP_HEAD_MOST + 64];
    http_head *h = NULL;
    int n = snprintf(text, sizeof text, LINE);

    (void)state;
    for (int i = 0; i < HTTP_FIELDS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "X: %d\r\n", i);
    n += snprintf(text + n, sizeof text - (size_t)n, "\r\n");
    assert_int_equal(status_of(text, n, &h), 431); /* Host is one of them */
    memset(text, 'a', sizeof text);
    assert_int_equal(status_of(text, HTTP_HEAD_MOST - 1, &h), 1);
    assert_int_equal(status_of(text, HTTP_HEAD_MOST, &h), 431);
}

/* What comes of a body in pieces of `step` bytes: its bytes in `to`; -1: it is wrong, -2: it goes on. */
static int64_t body_of(const http_head *h, const char *text, int64_t n, int64_t step,
                       char *to, int64_t *all)
{
    http_body b;
    int64_t at = 0, got = 0, used = 0, piece = 0;

    ferry_i_http_body(&b, h);
    for (;;) {
        const int64_t some = step < n - at ? step : n - at;
        const int what = ferry_i_http_next(&b, text + at, some, &used, &piece);
        at += used;
        *all = at;
        if (what == HTTP_PIECE) memcpy(to + got, text + at - piece, (size_t)piece);
        got += piece;
        if (what == HTTP_BAD) return -1;
        if (what == HTTP_END) return got;
        if (what == HTTP_MORE && at == n) return -2;
    }
}

static void test_bodies(void **state)
{
    static const struct {
        int64_t length;
        const char *text, *body; /* body NULL: wrong; "?": it goes on */
        int64_t rest;            /* bytes behind it */
    } cases[] = {
        {5, "hellothere", "hello", 5},
        {0, "there", "", 5},
        {5, "hell", "?", 0},
        {-1, "5\r\nhello\r\n0\r\n\r\nGET", "hello", 3},
        {-1, "2\r\nhe\r\n03;a=\"b\"\r\nllo\r\n0;\r\n\r\n", "hello", 0},
        {-1, "5\r\nhello\r\n0\r\n", "?", 0},
        {-1, "5\nhello\r\n0\r\n\r\n", NULL, 0},
        {-1, "5;a\nhello\r\n0\r\n\r\n", NULL, 0},
        {-1, "5\r\nhello\n0\r\n\r\n", NULL, 0},
        {-1, "5\r\nhelloo\r\n0\r\n\r\n", NULL, 0},
        {-1, "5\r\nhello\r\n0\r\nX: 1\r\n\r\n", NULL, 0},
        {-1, "0x5\r\nhello\r\n0\r\n\r\n", NULL, 0},
        {-1, "-1\r\n", NULL, 0},
        {-1, " 5\r\nhello\r\n0\r\n\r\n", NULL, 0},
        {-1, "\r\n", NULL, 0},
        {-1, "10000000000000000\r\n", NULL, 0},
    };
    char to[64];

    (void)state;
    for (int64_t i = 0; i < FERRY_COUNT(cases); i++)
        for (int64_t step = 1; step < 40; step++) {
            const http_head h = {.length = cases[i].length};
            const int64_t n = (int64_t)strlen(cases[i].text);
            int64_t all = 0;
            const int64_t got = body_of(&h, cases[i].text, n, step, to, &all);
            if (!cases[i].body) {
                assert_int_equal(got, -1);
            } else if (cases[i].body[0] == '?') {
                assert_int_equal(got, -2);
            } else {
                assert_int_equal(got, strlen(cases[i].body));
                assert_memory_equal(to, cases[i].body, (size_t)got);
                assert_int_equal(n - all, cases[i].rest);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_a_request),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_large_heads),
        cmocka_unit_test(test_bodies),
    };

    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
