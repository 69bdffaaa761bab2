/* Connections and their threads.
 *
 * Every thread has an epoll set, and the connections that it accepted for good: all that
 * happens to one happens in its thread, but for ferry_i_http_resume(). Sockets do not block;
 * events are edges, so a connection is read or written until that would block, and then left.
 * A connection is in one of the states below, and run() takes it from one to the next:
 *
 *   SHAKE  TLS begins          HEAD   a request comes, or nothing does
 *   BODY   its body comes      WAIT   its answer is made by another thread
 *   ANSWER that is sent        DRAIN  all is said; the client reads it before the socket goes */
#define _GNU_SOURCE
#include "server/http.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define INPUT (HTTP_HEAD_MOST + 65536)
#define SMALL 8192 /* an answer that is sent in one piece with its head */
#define TURNS 16   /* requests of a connection before others have their turn */
#define SKIP_MOST                                                                          \
    65536 /* bytes of a body that is not wanted: more, and the connection ends */
#define DRAIN_SECONDS 2
#define PACE (1 << 20) /* bytes that a client must take in the time for a request */

enum { SHAKE, HEAD, BODY, WAIT, ANSWER, DRAIN, GONE };

typedef struct http_loop http_loop;
struct http_connection {
    http_loop *loop;
    int fd, state;
    tls_session *tls;
    char *left; /* bytes that came and were not looked at */
    int64_t left_n;
    http_head *head;
    http_body body;
    void *request;
    bool skipped; /* an empty line before it */
    bool refused; /* its body is not wanted */
    bool close;   /* after this answer */
    http_answer answer;
    ferry_text out; /* the head of the answer, or a chunk of it */
    int64_t sent, sent_bytes, paced;
    bool bodiless;                 /* an answer to HEAD */
    double deadline;               /* 0: none */
    http_connection *next, **link; /* of the loop's */
    http_connection *queued;       /* of those that were resumed, or have more to do */
    bool in_queue;
};

struct http_loop {
    http_server *server;
    pthread_t thread;
    bool has_thread, listens;
    int epoll, wake;
    http_connection *all, *again;
    pthread_mutex_t mutex; /* of `resumed` */
    http_connection *resumed;
    char *input; /* INPUT bytes: what came, of the connection that runs */
    int64_t at, n;
    char date[64];
    time_t date_of;
    double swept;
};

struct http_server {
    http_settings set;
    tls_keys *keys;
    http_loop *loop;
    int64_t loops;
    _Atomic int64_t connections;
    _Atomic bool quiet, ending;
};

int64_t ferry_i_http_connections(const http_server *h)
{
    return h ? h->connections : 0;
}

static void within(http_connection *c, double seconds)
{
    c->deadline = ferry_i_clock() + seconds;
}

/* ---- the socket ---- */

static int64_t socket_read(http_connection *c, char *to, int64_t n)
{
    return c->tls ? ferry_i_tls_read(c->tls, to, n) : recv(c->fd, to, (size_t)n, 0);
}

static int64_t socket_write(http_connection *c, const char *from, int64_t n)
{
    return c->tls ? ferry_i_tls_write(c->tls, from, n)
                  : send(c->fd, from, (size_t)n, MSG_NOSIGNAL);
}

/* More input; false: there is none now, or the connection has gone. */
static bool fill(http_connection *c)
{
    http_loop *l = c->loop;

    if (l->at > 0) memmove(l->input, l->input + l->at, (size_t)l->n);
    l->at = 0;
    if (l->n == INPUT) return true;
    for (;;) {
        const int64_t got = socket_read(c, l->input + l->n, INPUT - l->n);
        if (got > 0) {
            l->n += got;
            return true;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got == 0 || errno != EAGAIN) c->state = GONE;
        return false;
    }
}

static void used(http_loop *l, int64_t n)
{
    l->at += n;
    l->n -= n;
}

/* ---- a request ---- */

static void end_request(http_connection *c)
{
    if (c->request) c->loop->server->set.on.end(c->request);
    if (c->answer.source.from) c->answer.source.free(c->answer.source.from);
    ferry_i_text_free(&c->answer.lines);
    FERRY_FREE(c->answer.bytes, c->head);
    c->answer = (http_answer){0};
    c->request = NULL;
    c->head = NULL;
    c->skipped = false;
}

static const char *date_now(http_loop *l)
{
    const time_t now = time(NULL);
    struct tm t;

    if (now != l->date_of && gmtime_r(&now, &t)) {
        static const char days[] = "SunMonTueWedThuFriSat";
        static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
        (void)snprintf(l->date, sizeof l->date, "%.3s, %02d %.3s %d %02d:%02d:%02d GMT",
                       days + 3 * t.tm_wday, t.tm_mday, months + 3 * t.tm_mon,
                       1900 + t.tm_year, t.tm_hour, t.tm_min, t.tm_sec);
        l->date_of = now;
    }
    return l->date;
}

static const char *reason(unsigned status)
{
    static const struct {
        unsigned status;
        const char *text;
    } all[] = {{200, "OK"},
               {400, "Bad Request"},
               {401, "Unauthorized"},
               {403, "Forbidden"},
               {404, "Not Found"},
               {405, "Method Not Allowed"},
               {409, "Conflict"},
               {413, "Content Too Large"},
               {415, "Unsupported Media Type"},
               {417, "Expectation Failed"},
               {429, "Too Many Requests"},
               {431, "Request Header Fields Too Large"},
               {500, "Internal Server Error"},
               {503, "Service Unavailable"},
               {505, "HTTP Version Not Supported"},
               {507, "Insufficient Storage"}};

    for (int64_t i = 0; i < FERRY_COUNT(all); i++)
        if (all[i].status == status) return all[i].text;
    return "Status";
}

/* What is left when even an error finds no memory. */
static void last_resort(http_connection *c)
{
    static const char text[] =
        "{\"error\":\"out of memory\",\"code\":\"unavailable\",\"status\":503,"
        "\"request_id\":\"\"}\n";
    char head[160];

    const int n = snprintf(head, sizeof head,
                           "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                           "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                           sizeof text - 1);
    if (socket_write(c, head, n) == n)
        (void)socket_write(c, text, (int64_t)sizeof text - 1);
    end_request(c);
    ferry_i_text_free(&c->out);
    c->state = DRAIN;
    within(c, DRAIN_SECONDS);
    (void)shutdown(c->fd, SHUT_WR);
}

/* The request has its answer: the head of that, and what fits beside it. */
static void begin_answer(http_connection *c)
{
    http_server *h = c->loop->server;
    http_answer *a = &c->answer;
    ferry_text *t = &c->out;

    if (c->request) h->set.on.finish(c->request, a);
    const bool old = c->head && c->head->minor == 0, streams = a->source.from != NULL;
    c->close = c->close || !c->head || c->head->close || h->quiet || (streams && old);
    c->bodiless = c->head && strcmp(c->head->method, "HEAD") == 0;
    t->len = c->sent = c->sent_bytes = c->paced = 0;
    ferry_i_text_addf(t, "HTTP/1.1 %u %s\r\nDate: %s\r\n", a->status, reason(a->status),
                      date_now(c->loop));
    if (c->close) ferry_i_text_add(t, "Connection: close\r\n");
    if (!streams)
        ferry_i_text_addf(t, "Content-Length: %lld\r\n", (long long)a->n);
    else if (!old)
        ferry_i_text_add(t, "Transfer-Encoding: chunked\r\n");
    ferry_i_text_addn(t, a->lines.s ? a->lines.s : "", a->lines.len);
    ferry_i_text_add(t, "\r\n");
    if (c->bodiless) a->n = 0;
    if (a->n <= SMALL && a->bytes) {
        ferry_i_text_addn(t, a->bytes, a->n);
        a->n = 0;
    }
    if (a->status == 0 || t->failed || a->lines.failed) {
        last_resort(c);
        return;
    }
    c->state = ANSWER;
    within(c, h->set.timeout);
}

/* What came is no request. */
static void refuse(http_connection *c, const http_wrong *wrong)
{
    http_server *h = c->loop->server;
    bool refused = true;

    c->close = true;
    if (c->request) end_request(c); /* its body was wrong, and nobody has heard of it */
    c->request = h->set.on.begin(h->set.on.user, c, NULL, wrong, &refused);
    begin_answer(c);
}

static void send_continue(http_connection *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

    if (socket_write(c, text, (int64_t)sizeof text - 1) != (int64_t)sizeof text - 1)
        c->state = GONE; /* into an empty socket it fits, unless there is nobody */
}

static void begin_request(http_connection *c)
{
    http_server *h = c->loop->server;

    c->refused = false;
    c->request = h->set.on.begin(h->set.on.user, c, c->head, NULL, &c->refused);
    if (!c->request) {
        c->close = true;
        last_resort(c);
        return;
    }
    ferry_i_http_body(&c->body, c->head);
    const bool skip = c->refused && c->head->length != 0;
    if (skip && (c->head->expects || c->head->length < 0 || c->head->length > SKIP_MOST)) {
        c->close = true;
        begin_answer(c);
        return;
    }
    c->state = BODY;
    within(c, h->set.timeout);
    if (c->head->expects && c->loop->n == 0) send_continue(c);
}

/* false: wait for more input. */
static bool read_head(http_connection *c)
{
    http_loop *l = c->loop;
    http_wrong wrong = {0};

    if (!c->skipped && l->n >= 2 && memcmp(l->input + l->at, "\r\n", 2) == 0) {
        used(l, 2); /* some clients end a body with a line */
        c->skipped = true;
    }
    const int64_t n = l->n > 0 ? ferry_i_http_end(l->input + l->at, l->n, &wrong) : 0;
    if (wrong.status) {
        refuse(c, &wrong);
        return true;
    }
    if (n == 0) {
        const bool fresh = l->n == 0;
        if (!fill(c)) return c->state == GONE;
        if (fresh) within(c, l->server->set.timeout);
        return true;
    }
    c->head = ferry_i_http_parse(l->input + l->at, n, &wrong);
    used(l, n);
    if (wrong.status)
        refuse(c, &wrong);
    else if (c->head)
        begin_request(c);
    else
        last_resort(c);
    return true;
}

static void body_is_there(http_connection *c)
{
    c->deadline = 0;
    if (!c->refused && !c->loop->server->set.on.work(c->request))
        c->state = WAIT;
    else
        begin_answer(c);
}

static bool read_body(http_connection *c)
{
    static const http_wrong bad = {400, "the request's chunks are wrong"};
    http_loop *l = c->loop;
    int64_t n = 0, piece = 0;
    const int what = ferry_i_http_next(&c->body, l->input + l->at, l->n, &n, &piece);
    const char *bytes = l->input + l->at + n - piece;

    used(l, n);
    if (what == HTTP_MORE) return fill(c) || c->state == GONE;
    if (what == HTTP_BAD) {
        refuse(c, &bad);
    } else if (what == HTTP_END) {
        body_is_there(c);
    } else if (!c->refused && !l->server->set.on.take(c->request, bytes, piece)) {
        c->close = c->refused = true;
        begin_answer(c);
    }
    return true;
}

/* ---- its answer ---- */

/* The next chunk of an answer that is made on the way; false: that was the last one. */
static bool next_chunk(http_connection *c)
{
    http_source *s = &c->answer.source;
    ferry_text *t = &c->out;
    char bytes[1 << 14];

    t->len = c->sent = 0;
    if (!s->from || c->bodiless) return false;
    const int64_t n = s->read(s->from, bytes, (int64_t)sizeof bytes);
    const bool chunked = c->head->minor == 1;
    if (chunked && n >= 0) ferry_i_text_addf(t, "%llx\r\n", (long long)n);
    if (n > 0) ferry_i_text_addn(t, bytes, n);
    if (chunked && n >= 0) ferry_i_text_add(t, "\r\n");
    if (n < 0 || t->failed) c->state = GONE; /* which is how a client sees that it failed */
    if (n <= 0) {
        s->free(s->from);
        s->from = NULL;
    }
    return n >= 0;
}

static void after_answer(http_connection *c)
{
    end_request(c);
    ferry_i_text_free(&c->out);
    if (!c->close) {
        c->state = HEAD;
        within(c, c->loop->server->set.idle);
        return;
    }
    if (c->tls) ferry_i_tls_bye(c->tls);
    (void)shutdown(c->fd, SHUT_WR);
    c->state = DRAIN;
    within(c, DRAIN_SECONDS);
}

/* false: the client must read first. */
static bool send_some(http_connection *c)
{
    http_answer *a = &c->answer;
    const bool head = c->sent < c->out.len;

    if (!head && c->sent_bytes == a->n) {
        if (!next_chunk(c) && c->state != GONE) after_answer(c);
        return true;
    }
    const int64_t n = head
                          ? socket_write(c, c->out.s + c->sent, c->out.len - c->sent)
                          : socket_write(c, a->bytes + c->sent_bytes, a->n - c->sent_bytes);
    if (n < 0 && errno == EINTR) return true;
    if (n < 0 && errno == EAGAIN) return false;
    if (n <= 0) {
        c->state = GONE;
        return true;
    }
    *(head ? &c->sent : &c->sent_bytes) += n;
    if ((c->paced += n) >= PACE) {
        c->paced = 0;
        within(c, c->loop->server->set.timeout);
    }
    return true;
}

static bool drain(http_connection *c)
{
    c->loop->at = c->loop->n = 0;
    return fill(c) || c->state == GONE;
}

static bool shake(http_connection *c)
{
    if (ferry_i_tls_shake(c->tls) == 0)
        c->state = HEAD;
    else if (errno == EAGAIN)
        return false;
    else if (errno != EINTR)
        c->state = GONE;
    return true;
}

/* ---- a connection ---- */

static void free_connection(http_connection *c)
{
    c->loop->server->connections--;
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    end_request(c);
    ferry_i_tls_free(c->tls);
    (void)close(c->fd);
    ferry_i_text_free(&c->out);
    FERRY_FREE(c->left, c);
}

/* Keep what came and was not looked at. */
static void keep_input(http_connection *c)
{
    http_loop *l = c->loop;

    if (l->n == 0 || c->state == DRAIN || c->state == GONE) return;
    c->left = ferry_i_calloc(l->n, 1);
    if (!c->left) {
        c->state = GONE;
        return;
    }
    memcpy(c->left, l->input + l->at, (size_t)l->n);
    c->left_n = l->n;
}

static void run_again(http_connection *c)
{
    if (c->in_queue) return;
    c->in_queue = true;
    c->queued = c->loop->again;
    c->loop->again = c;
}

/* Until it has to wait. */
static void run(http_connection *c)
{
    http_loop *l = c->loop;
    bool goes_on = true;

    l->at = 0;
    l->n = c->left_n;
    if (c->left) memcpy(l->input, c->left, (size_t)c->left_n);
    ferry_i_free(c->left);
    c->left = NULL;
    c->left_n = 0;
    for (int turns = 0; goes_on && turns < TURNS;) {
        switch (c->state) {
        case SHAKE: goes_on = shake(c); break;
        case HEAD: goes_on = read_head(c); break;
        case BODY: goes_on = read_body(c); break;
        case ANSWER:
            goes_on = send_some(c);
            turns += c->state != ANSWER;
            break;
        case DRAIN: goes_on = drain(c); break;
        default: goes_on = false;
        }
        if (goes_on && l->server->quiet && c->state == HEAD && l->n == 0) c->state = GONE;
    }
    keep_input(c);
    if (c->state == GONE && !c->in_queue)
        free_connection(c);
    else if (goes_on)
        run_again(c);
}

static void add_connection(http_loop *l, int fd)
{
    http_server *h = l->server;
    http_connection *c = ferry_i_calloc(1, sizeof *c);
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
    const int on = 1;

    if (c && h->keys) c->tls = ferry_i_tls_new(h->keys, fd);
    if (!c || (h->keys && !c->tls)) {
        (void)close(fd);
        ferry_i_free(c);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
                     sizeof on); /* not of a Unix socket */
    c->loop = l;
    c->fd = fd;
    c->state = h->keys ? SHAKE : HEAD;
    within(c, h->set.timeout);
    c->next = l->all;
    c->link = &l->all;
    if (c->next) c->next->link = &c->next;
    l->all = c;
    h->connections++;
    e.data.ptr = c;
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) != 0) free_connection(c);
}

/* ---- a thread ---- */

static void set_listening(http_loop *l, bool on)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = l};

    if (l->listens == on) return;
    l->listens = epoll_ctl(l->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                           l->server->set.listener, &e) == 0
                     ? on
                     : l->listens;
}

/* One at a time: another thread may be free for the next. */
static void accept_one(http_loop *l)
{
    const int fd =
        accept4(l->server->set.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) { /* no more files: until the next sweep */
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            set_listening(l, false);
        return;
    }
    if (l->server->connections >= l->server->set.connections)
        (void)close(fd);
    else
        add_connection(l, fd);
}

static void run_queued(http_connection *c)
{
    for (http_connection *next = NULL; c; c = next) {
        next = c->queued;
        c->in_queue = false;
        if (c->state == GONE)
            free_connection(c);
        else
            run(c);
    }
}

static void take_resumed(http_loop *l)
{
    uint64_t count = 0;

    (void)!read(l->wake, &count, sizeof count);
    pthread_mutex_lock(&l->mutex);
    http_connection *c = l->resumed;
    l->resumed = NULL;
    pthread_mutex_unlock(&l->mutex);
    for (http_connection *next = NULL; c; c = next) {
        next = c->queued;
        begin_answer(c);
        run_again(c);
    }
}

static void wake(http_loop *l)
{
    const uint64_t one = 1;

    (void)!write(l->wake, &one, sizeof one);
}

void ferry_i_http_resume(http_connection *c)
{
    http_loop *l = c->loop;

    pthread_mutex_lock(&l->mutex);
    const bool first = !l->resumed;
    c->queued = l->resumed;
    l->resumed = c;
    pthread_mutex_unlock(&l->mutex);
    if (first) wake(l);
}

/* Once a second: connections that take too long, and in a server that stops those that have
 * nothing to do. */
static void sweep(http_loop *l)
{
    const double now = ferry_i_clock();

    if (now - l->swept < 1 && !l->server->quiet) return;
    l->swept = now;
    set_listening(l, !l->server->quiet);
    for (http_connection *c = l->all, *next = NULL; c; c = next) {
        next = c->next;
        const bool idle = l->server->quiet && c->state == HEAD && c->left_n == 0;
        if (!c->in_queue && c->state != WAIT &&
            ((c->deadline > 0 && now > c->deadline) || idle))
            free_connection(c);
    }
}

static void *looping(void *loop)
{
    http_loop *l = loop;
    struct epoll_event event[64];

    while (!l->server->ending) {
        const int n = epoll_wait(l->epoll, event, FERRY_COUNT(event), l->again ? 0 : 500);
        bool resumed = false;
        for (int i = 0; i < n; i++) {
            void *what = event[i].data.ptr;
            if (what == l)
                accept_one(l);
            else if (what == &l->wake)
                resumed = true;
            else if (((http_connection *)what)->state != WAIT)
                run_again(what);
        }
        if (resumed) take_resumed(l);
        http_connection *again = l->again;
        l->again = NULL;
        run_queued(again);
        sweep(l);
    }
    while (l->all)
        free_connection(l->all);
    return NULL;
}

/* ---- the server ---- */

static ferry_status start_loop(ferry_ctx *ctx, http_loop *l)
{
    ferry_status st = FERRY_OK;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &l->wake};

    FERRY_HAVE(ctx, l->input = ferry_i_calloc(INPUT, 1));
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    FERRY_NEED(ctx,
               l->epoll >= 0 && l->wake >= 0 &&
                   epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &e) == 0,
               FERRY_EIO, "the server does not start: %s", strerror(errno));
    set_listening(l, true);
    FERRY_NEED(ctx, l->listens && pthread_create(&l->thread, NULL, looping, l) == 0,
               FERRY_EIO, "no thread for the server");
    l->has_thread = true;
done:
    return st;
}

ferry_status ferry_i_http_start(ferry_ctx *ctx, const http_settings *set, http_server **out)
{
    ferry_status st = FERRY_OK;
    http_server *h = NULL;

    FERRY_NEW(ctx, h, 1);
    h->set = *set;
    FERRY_NEW(ctx, h->loop, set->threads);
    h->loops = set->threads;
    for (int64_t i = 0; i < h->loops; i++) {
        h->loop[i] = (http_loop){.server = h, .epoll = -1, .wake = -1};
        pthread_mutex_init(&h->loop[i].mutex, NULL);
    }
    if (set->cert) FERRY_TRY(ferry_i_tls_open(ctx, set->cert, set->key, &h->keys));
    *out = h; /* the threads may ask for it */
    for (int64_t i = 0; i < h->loops; i++)
        FERRY_TRY(start_loop(ctx, &h->loop[i]));
    h = NULL;
done:
    if (h) *out = NULL;
    ferry_i_http_stop(h);
    return st;
}

void ferry_i_http_quiesce(http_server *h)
{
    h->quiet = true;
    for (int64_t i = 0; i < h->loops; i++)
        wake(&h->loop[i]);
}

void ferry_i_http_stop(http_server *h)
{
    if (!h) return;
    h->ending = true;
    for (int64_t i = 0; i < h->loops; i++) {
        http_loop *l = &h->loop[i];
        if (l->has_thread) {
            wake(l);
            pthread_join(l->thread, NULL);
        }
        if (l->epoll >= 0) (void)close(l->epoll);
        if (l->wake >= 0) (void)close(l->wake);
        pthread_mutex_destroy(&l->mutex);
        ferry_i_free(l->input);
    }
    ferry_i_tls_close(h->keys);
    FERRY_FREE(h->loop, h);
}
