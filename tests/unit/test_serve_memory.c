/* Each allocation failing in turn while a request is handled: a clean answer, no leak, and the server lives. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "server/serve.h"
#include "stream_case.h"

#define ROW "[1,0,0,1]"
static char answer[1 << 21];

/* One request on a connection of its own; the whole answer as text, and its status (0: none came). */
static int ask(const ferry_server *s, const char *head, const char *body)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    size_t n = 0;
    ssize_t got;
    char text[2048];

    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", s->socket_path);
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    const char *bar = strchr(head, '|'); /* METHOD PATH|Header: value */
    const char *more = bar ? bar + 1 : "Content-Type: application/json";
    (void)snprintf(text, sizeof text,
                   "%.*s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   (int)(bar ? bar - head : (ptrdiff_t)strlen(head)), head, more,
                   strlen(body), body);
    (void)!send(fd, text, strlen(text),
                MSG_NOSIGNAL); /* it may be closed: no memory for it */
    while ((got = recv(fd, answer + n, sizeof answer - 1 - n, 0)) > 0)
        n += (size_t)got;
    answer[n] = 0;
    (void)close(fd);
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;
}

/* The request is gone and its writer idle, also where the client saw its answer before that. */
static void settle(ferry_server *s)
{
    serve_version *v = ferry_i_models_get(s, NULL, 0);

    pthread_mutex_lock(&s->mutex);
    while (s->in_flight > 0)
        pthread_cond_wait(&s->quiet, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
    ferry_i_writer_drain(v->writer);
    v->writer->tried = 0; /* a stream that broke is opened again at once */
    ferry_i_version_free(v);
}

typedef struct request {
    const char *head, *body; /* # in a body stands for a number that is new each time */
    int status;
    const char *first; /* the body of a /predict before it, or NULL */
} request;

static const char *numbered(const char *body, int64_t n, char text[1024])
{
    const char *hash = strchr(body, '#');

    if (!hash) return body;
    (void)snprintf(text, 1024, "%.*s%lld%s", (int)(hash - body), body, (long long)n,
                   hash + 1);
    return text;
}

/* 503 with the one error schema while memory is short; then as before. */
static void sweep(ferry_server *s, const request *r)
{
    static int64_t number;
    bool reached = true;
    char text[1024];

    for (int64_t n = 1; reached; n++) {
        number++;
        if (r->first)
            assert_int_equal(ask(s, "POST /predict", numbered(r->first, number, text)),
                             200);
        settle(s);
        fail_allocation(n);
        const int got = ask(s, r->head, numbered(r->body, number, text));
        settle(s);
        reached = allocations() >= n;
        fail_allocation(0);
        if (got == 0 && n == 1) continue; /* the connection itself */
        if (got != r->status && (got != 503 || !strstr(answer, "\"error\":") ||
                                 !strstr(answer, "\"status\":503") || !reached)) {
            print_error("%s, allocation %lld: %s\n", r->head, (long long)n, answer);
            fail();
        }
        /* it lives, and a stream that broke has been opened again */
        assert_int_equal(ask(s, "POST /learn", "{\"x\":" ROW ",\"y\":\"a\"}"), 200);
        settle(s);
    }
}

static ferry_server *start(ferry_ctx *ctx, const char *model, const char *more)
{
    ferry_opts *opts = settings_of(ctx, more);
    ferry_server *s = NULL;
    char where[512];

    (void)snprintf(where, sizeof where, "unix:%s", tmp_path("socket"));
    assert_ok(ctx, ferry_opts_set(ctx, opts, "listen", where));
    (void)snprintf(where, sizeof where, "%s", tmp_path("state"));
    assert_ok(ctx, ferry_opts_set(ctx, opts, "state", where));
    const ferry_status st = ferry_server_start(ctx, tmp_path(model), opts, &s);
    ferry_opts_free(opts);
    if (st == FERRY_ENEEDS) print_message("skipped: %s\n", ferry_message(ctx));
    if (st == FERRY_ENEEDS) skip();
    assert_ok(ctx, st);
    return s;
}

#define SETTINGS "open=yes threads=1 log=none sync=off waiting=20 remember=20 keep=10"

static void test_requests_without_memory(void **state)
{
    static const request requests[] = {
        {"POST /predict", "{\"x\":" ROW "}", 200, NULL},
        {"POST /predict?scores=1", "[{\"x\":" ROW "},{\"x\":{\"i\":[1],\"v\":[2]}},{}]",
         200, NULL},
        {"POST /predict|Content-Type: application/x-ndjson",
         "{\"x\":" ROW "}\n{\"x\":[1]}\n", 200, NULL},
        {"POST /predict", "{\"x\":[1]}", 400, NULL},
        {"POST /predict", "{\"id\":\"w#\",\"x\":" ROW "}", 200, NULL},
        {"POST /learn", "{\"id\":\"v#\",\"y\":\"a\"}", 200,
         "{\"id\":\"v#\",\"x\":" ROW "}"},
        {"POST /learn",
         "[{\"x\":" ROW ",\"y\":\"b\"},{\"id\":9#,\"x\":" ROW ",\"y\":\"a\"}]", 200, NULL},
        {"POST /invocations", "{\"instances\":[" ROW "]}", 200, NULL},
        {"POST /invocations", "{\"dataframe_split\":{\"data\":[" ROW "]}}", 200, NULL},
        {"POST /v2/models/m/infer",
         "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP64\",\"data\":" ROW
         "}]}",
         200, NULL},
        {"GET /v2/models/m", "", 200, NULL},
        {"GET /v2/models/m/config", "", 200, NULL},
        {"POST /v2/repository/index", "", 200, NULL},
        {"GET /v2", "", 200, NULL},
        {"GET /metrics", "", 200, NULL},
        {"GET /stats", "", 200, NULL},
        {"GET /", "", 200, NULL},
        {"GET /openapi.json", "", 200, NULL},
        {"GET /nothing", "", 404, NULL},
        {"POST /recommend", "{\"users\":[\"u\"]}", 409, NULL},
        {"POST /admin/snapshot", "", 200, NULL},
        {"POST /admin/reload", "", 200, NULL},
        {"GET /admin/labels", "", 200, NULL},
    };
    ferry_ctx *ctx = *state;

    (void)make_model(ctx, "m.ferry", NULL);
    fail_allocation(0);
    const int64_t before = live_blocks();
    ferry_server *s = start(ctx, "m.ferry", SETTINGS);
    for (int64_t i = 0; i < FERRY_COUNT(requests); i++)
        sweep(s, &requests[i]);
    assert_ok(ctx, ferry_server_stop(ctx, s));
    assert_int_equal(live_blocks(), before);
    remove_state("state/m");
    (void)rmdir(tmp_path("state"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_requests_without_memory, quick_setup,
                                        ctx_teardown),
    };
    return cmocka_run_group_tests_name("serve_memory", tests, NULL, NULL);
}
