/* A request from its first byte to the end of its answer: limits, who may, the body, errors,
 * gzip both ways, what is counted and logged. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "serve/serve.h"

#define GZIP_LEAST 1024 /* bytes of an answer that are worth packing */

const char *ferry_i_serve_header(const serve_request *r, const char *name)
{
    return ferry_i_mhd.value(r->mhd, MHD_HEADER_KIND, name);
}

const char *ferry_i_serve_query(const serve_request *r, const char *name)
{
    return ferry_i_mhd.value(r->mhd, MHD_GET_ARGUMENT_KIND, name);
}

/* ---- errors ---- */

static const char *code_name(unsigned status)
{
    static const struct {
        unsigned status;
        const char *name;
    } names[] = {{400, "bad_request"},        {401, "unauthorized"},
                 {403, "forbidden"},          {404, "not_found"},
                 {405, "method_not_allowed"}, {409, "conflict"},
                 {413, "too_large"},          {415, "unsupported_media_type"},
                 {429, "too_many_requests"},  {503, "unavailable"},
                 {507, "storage_full"}};

    for (int64_t i = 0; i < FERRY_COUNT(names); i++)
        if (names[i].status == status) return names[i].name;
    return "internal";
}

/* "error" is the sentence itself, as the Open Inference Protocol has it. */
void ferry_i_serve_error(serve_request *r, unsigned status, const char *fmt, ...)
{
    ferry_server *s = r->server;
    char text[600];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ferry_i_one_line(text);
    r->status = status;
    r->type = "application/json";
    r->json_length = 0;
    r->out.len = 0;
    ferry_i_text_add(&r->out, "{\"error\":");
    ferry_i_text_json(&r->out, text, (int64_t)strlen(text));
    ferry_i_text_addf(&r->out, ",\"code\":\"%s\",\"status\":%u,\"request_id\":\"%s\"}\n",
                      code_name(status), status, r->id);
    pthread_mutex_lock(&s->mutex);
    char *const last = s->last[s->n_last++ % FERRY_COUNT(s->last)];
    (void)snprintf(last, sizeof s->last[0], "%lld %u %s %.60s: %.150s",
                   (long long)ferry_i_wall_clock(), status, r->method, r->url, text);
    ferry_i_one_line(last); /* a path may hold any bytes */
    pthread_mutex_unlock(&s->mutex);
}

void ferry_i_serve_failed(serve_request *r, ferry_ctx *ctx, ferry_status st)
{
    const bool client = st == FERRY_EDATA || st == FERRY_EINVAL || st == FERRY_ENEEDS;

    ferry_i_serve_error(r, client ? 400 : 503, "%s", ferry_message(ctx));
}

static int add_piece(const char *bytes, size_t n, void *text)
{
    ferry_i_text_addn(text, bytes, (int64_t)n);
    return 0;
}

void ferry_i_serve_json(serve_request *r, json_t *json)
{
    r->out.len = 0;
    if (!json || ferry_i_memory_lost() ||
        json_dump_callback(json, add_piece, &r->out, JSON_COMPACT | JSON_ENCODE_ANY) != 0) {
        json_decref(json);
        ferry_i_serve_error(r, 503, "out of memory");
        return;
    }
    json_decref(json);
    ferry_i_text_addn(&r->out, "\n", 1);
    r->status = 200;
    r->type = "application/json";
}

/* ---- gzip ---- */

/* n more bytes of the budget for bodies; false: it has not as many. */
static bool charge(serve_request *r, int64_t n)
{
    ferry_server *s = r->server;

    if (atomic_fetch_add(&s->charged, n) + n > s->set.memory) {
        s->charged -= n;
        return false;
    }
    r->charged += n;
    return true;
}

/* The body unpacked, at most `body` bytes of it: a small file can hold a large one. */
static bool unpack(serve_request *r)
{
    z_stream z = {.next_in = (Bytef *)r->body.s, .avail_in = (uInt)r->body.len};
    ferry_text to = {0};
    char piece[1 << 14];
    int code = inflateInit2(&z, 15 + 16);

    if (code != Z_OK) return ferry_i_serve_error(r, 503, "out of memory"), false;
    do {
        z.next_out = (Bytef *)piece;
        z.avail_out = sizeof piece;
        code = inflate(&z, Z_NO_FLUSH);
        ferry_i_text_addn(&to, piece, (int64_t)(sizeof piece - z.avail_out));
    } while (code == Z_OK && to.len <= r->server->set.body && !to.failed);
    (void)inflateEnd(&z);
    if (to.failed)
        ferry_i_serve_error(r, 503, "out of memory");
    else if (to.len > r->server->set.body)
        ferry_i_serve_error(r, 413, "the request unpacks to more than %lld bytes",
                            (long long)r->server->set.body);
    else if (code != Z_STREAM_END || z.avail_in > 0)
        ferry_i_serve_error(r, 400, "the request says that it is gzip, and is not");
    else if (!charge(r, to.len > r->body.len ? to.len - r->body.len : 0)) {
        r->retry = 1;
        ferry_i_serve_error(r, 429, "too many large requests at once");
    } else {
        ferry_i_text_free(&r->body);
        r->body = to;
        return true;
    }
    ferry_i_text_free(&to);
    return false;
}

/* Pack the answer where the client takes it; false: it stays as it is. */
static bool pack(serve_request *r)
{
    const char *takes = ferry_i_serve_header(r, "Accept-Encoding");
    const char *named = takes ? strstr(takes, "gzip") : NULL;
    z_stream z = {.next_in = (Bytef *)r->out.s, .avail_in = (uInt)r->out.len};
    double q = 1;

    if (!named || r->out.len < GZIP_LEAST || r->out.len > 1 << 30) return false;
    if (sscanf(named, "gzip ; q = %lf", &q) == 1 && q == 0) return false;
    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    const int64_t room = (int64_t)deflateBound(&z, (uLong)r->out.len);
    char *to = ferry_i_calloc(room, 1);
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)room;
    const bool ok = to && deflate(&z, Z_FINISH) == Z_STREAM_END;
    const int64_t n = room - (int64_t)z.avail_out;
    (void)deflateEnd(&z);
    if (!ok) {
        ferry_i_free(to);
        return false;
    }
    ferry_i_text_free(&r->out);
    r->out = (ferry_text){.s = to, .len = n, .cap = room};
    return true;
}

/* ---- the answer ---- */

/* What is left when even an error finds no memory. */
static enum MHD_Result send_last_resort(struct MHD_Connection *mhd)
{
    static char text[] = "{\"error\":\"out of memory\",\"code\":\"unavailable\",\"status\":"
                         "503,\"request_id\":\"\"}\n";
    struct MHD_Response *response =
        ferry_i_mhd.response(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);

    if (!response) return MHD_NO;
    (void)ferry_i_mhd.header(response, "Content-Type", "application/json");
    const enum MHD_Result ok = ferry_i_mhd.queue(mhd, 503, response);
    ferry_i_mhd.destroy(response);
    return ok;
}

static void add_headers(const serve_request *r, struct MHD_Response *response, bool packed)
{
    char number[32];

    (void)ferry_i_mhd.header(response, "Content-Type", r->type);
    (void)ferry_i_mhd.header(response, "X-Request-Id", r->id);
    (void)ferry_i_mhd.header(response, "X-Content-Type-Options", "nosniff");
    (void)ferry_i_mhd.header(response, "Cache-Control", "no-store");
    if (packed) (void)ferry_i_mhd.header(response, "Content-Encoding", "gzip");
    if (r->allow) (void)ferry_i_mhd.header(response, "Allow", r->allow);
    if (r->status == 401) {
        (void)ferry_i_mhd.header(response, "WWW-Authenticate", "Bearer realm=\"ferry\"");
        if (strcmp(r->method, "GET") == 0) /* a browser asks its user */
            (void)ferry_i_mhd.header(response, "WWW-Authenticate",
                                     "Basic realm=\"ferry: a token as the password\"");
    }
    if (r->retry) {
        (void)snprintf(number, sizeof number, "%d", r->retry);
        (void)ferry_i_mhd.header(response, "Retry-After", number);
    }
    if (r->json_length) {
        (void)snprintf(number, sizeof number, "%lld", (long long)r->json_length);
        (void)ferry_i_mhd.header(response, "Inference-Header-Content-Length", number);
    }
    if (strncmp(r->type, "text/html", 9) == 0)
        (void)ferry_i_mhd.header(
            response, "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
            "img-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'");
    if (r->server->stopping) (void)ferry_i_mhd.header(response, "Connection", "close");
}

/* Count it and log it. */
static void note(serve_request *r, double seconds)
{
    ferry_server *s = r->server;
    const int64_t route = r->route ? r->route - ferry_i_serve_routes : -1;

    s->requests++;
    if (r->status >= 400) s->errors++;
    if (r->status == 429) s->too_many++;
    if (r->status == 401 || r->status == 403) s->refused++;
    if (route >= 0) {
        s->answers[route][r->status / 100 % 6]++;
        ferry_i_times_add(&s->times[route], seconds);
        ferry_i_times_add(&s->all, seconds);
    }
    if (s->set.log == SERVE_LOG_NONE || (s->set.log == SERVE_LOG_ERRORS && r->status < 400))
        return;
    const int shown = r->out.len > 10 ? (int)(r->out.len < 300 ? r->out.len : 300) - 10 : 0;
    ferry_i_serve_log(s, r->status >= 500 ? FERRY_WARN : FERRY_INFO,
                      "%s %s %.100s %u %.3f ms%s%s%s%.*s", r->id, r->method, r->url,
                      r->status, 1e3 * seconds, r->token[0] ? " " : "", r->token,
                      r->status >= 400 ? " " : "", r->status >= 400 ? shown : 0,
                      r->status >= 400 ? r->out.s + 9 : "");
}

static enum MHD_Result send_answer(serve_request *r)
{
    struct MHD_Response *response = NULL;
    enum MHD_Result ok = MHD_NO;

    if (!r->out.failed) {
        note(r, ferry_i_clock() - r->began);
        const bool packed = pack(r);
        response = ferry_i_mhd.response_free((size_t)r->out.len, r->out.s ? r->out.s : "",
                                             r->out.s ? ferry_i_free : NULL);
        if (response) {
            r->out = (ferry_text){0};
            add_headers(r, response, packed);
        }
    }
    if (!response) return send_last_resort(r->mhd);
    ok = ferry_i_mhd.queue(r->mhd, r->status, response);
    ferry_i_mhd.destroy(response);
    return ok;
}

/* ---- who may ---- */

/* Pages of other sites can make a browser ask a server on this machine. Their requests carry
 * an Origin that is not this server; by a name of theirs that leads here, a Host that is not
 * this machine. */
static bool from_elsewhere(const serve_request *r)
{
    static const char *const ours[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *origin = ferry_i_serve_header(r, "Origin");
    const char *host = ferry_i_serve_header(r, "Host");
    const char *name = origin ? strstr(origin, "://") : NULL;

    if (origin && (!host || !name || strcmp(name + 3, host) != 0)) return true;
    if (!r->server->set.open || r->server->socket_path || !host) return false;
    for (int64_t i = 0; i < FERRY_COUNT(ours); i++) {
        const size_t n = strlen(ours[i]);
        if (strncmp(host, ours[i], n) == 0 && (host[n] == 0 || host[n] == ':'))
            return false;
    }
    const char *end = host + strspn(host, "0123456789."); /* 127.evil.example is a name */
    return strncmp(host, "127.", 4) != 0 || (*end != 0 && *end != ':');
}

static bool allowed(serve_request *r)
{
    const serve_role needs = r->route->role;
    const bool reads = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
    double wait = 0;

    if (from_elsewhere(r))
        return ferry_i_serve_error(r, 403, "requests of other sites' pages are refused"),
               false;
    if (needs == SERVE_ANYONE || r->server->set.open) return true;
    const serve_role has =
        ferry_i_tokens_role(&r->server->tokens, ferry_i_serve_header(r, "Authorization"),
                            reads, r->token, &wait);
    if (has == SERVE_ANYONE)
        return ferry_i_serve_error(r, 401, "expected a token: Authorization: Bearer TOKEN"),
               false;
    if (has < needs)
        return ferry_i_serve_error(r, 403, "this token's role does not allow it"), false;
    if (wait > 0) {
        r->retry = wait < 1 ? 1 : (int)ceil(fmin(wait, 3600));
        ferry_i_serve_error(r, 429, "more requests than this token may send");
        return false;
    }
    return true;
}

/* ---- the course of a request ---- */

/* The client's own id where it has a plain one, for finding a request in both logs. */
static void set_id(serve_request *r)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
    const char *given = ferry_i_serve_header(r, "X-Request-Id");
    const size_t n = given ? strlen(given) : 0;

    if (n > 0 && n < sizeof r->id && strspn(given, plain) == n)
        memcpy(r->id, given, n);
    else
        (void)snprintf(r->id, sizeof r->id, "%016llx",
                       (unsigned long long)(r->server->id_start + r->server->next_id++));
}

static enum MHD_Result count_lengths(void *n, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    (void)kind;
    (void)value;
    *(int *)n += strcasecmp(name, "Content-Length") == 0 ||
                 strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* Before the body: what can be refused without it. */
static bool acceptable(serve_request *r)
{
    const char *length = ferry_i_serve_header(r, "Content-Length");
    int64_t n = 0;
    int lengths = 0;

    r->route = ferry_i_serve_find(r);
    if (!r->route || !allowed(r)) return false;
    if (r->server->stopping && r->route->role != SERVE_ANYONE) {
        r->retry = 1;
        return ferry_i_serve_error(r, 503, "the server is stopping"), false;
    }
    if (!ferry_i_serve_find_version(r)) return false;
    /* a proxy before us may have believed the other one */
    (void)ferry_i_mhd.values(r->mhd, MHD_HEADER_KIND, count_lengths, &lengths);
    if (lengths > 1)
        return ferry_i_serve_error(
                   r, 400, "expected one Content-Length or Transfer-Encoding, got %d",
                   lengths),
               false;
    if (length && ferry_i_parse_int(length, length + strlen(length), &n) &&
        n > r->server->set.body)
        return ferry_i_serve_error(r, 413,
                                   "the request has %lld bytes, at most %lld are "
                                   "taken",
                                   (long long)n, (long long)r->server->set.body),
               false;
    return true;
}

static serve_request *begin(ferry_server *s, struct MHD_Connection *mhd, const char *url,
                            const char *method)
{
    serve_request *r = ferry_i_calloc(1, sizeof *r);
    const union MHD_ConnectionInfo *info =
        ferry_i_mhd.info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    if (!r) return NULL;
    *r = (serve_request){.server = s, .mhd = mhd, .url = url, .method = method};
    r->began = ferry_i_clock();
    r->type = "application/json";
    r->connection = info ? info->socket_context : NULL;
    set_id(r);
    pthread_mutex_lock(&s->mutex);
    s->in_flight++;
    if (r->connection) {
        r->connection->since = r->began;
        r->connection->limit = (double)s->set.timeout;
    }
    pthread_mutex_unlock(&s->mutex);
    return r;
}

/* More of the body. What is too much is read and forgotten: the answer comes at its end. */
static void take(serve_request *r, const char *bytes, size_t n)
{
    if (r->too_large || r->no_memory || r->lost) return;
    if (r->body.len + (int64_t)n > r->server->set.body) {
        r->too_large = true;
    } else if (!charge(r, (int64_t)n)) {
        r->no_memory = true;
    } else {
        ferry_i_text_addn(&r->body, bytes, (int64_t)n);
        r->lost = r->body.failed;
    }
    if (r->too_large || r->no_memory || r->lost) ferry_i_text_free(&r->body);
}

/* The body is there. */
static void work(serve_request *r)
{
    const char *encoding = ferry_i_serve_header(r, "Content-Encoding");

    (void)ferry_i_memory_lost(); /* what the request before could not get */
    if (r->too_large) {
        ferry_i_serve_error(r, 413, "the request has more than %lld bytes",
                            (long long)r->server->set.body);
    } else if (r->lost) {
        ferry_i_serve_error(r, 503, "out of memory");
    } else if (r->no_memory) {
        r->retry = 1;
        ferry_i_serve_error(r, 429, "too many large requests at once");
    } else if (encoding && strcmp(encoding, "gzip") != 0 &&
               strcmp(encoding, "identity") != 0) {
        ferry_i_serve_error(r, 415, "Content-Encoding: expected gzip or none");
    } else {
        if (encoding && strcmp(encoding, "gzip") == 0 && !unpack(r)) return;
        if (!r->body.s) ferry_i_text_addn(&r->body, "", 0);
        if (r->body.failed)
            ferry_i_serve_error(r, 503, "out of memory");
        else
            r->route->run(r);
    }
}

enum MHD_Result ferry_i_serve_access(void *server, struct MHD_Connection *mhd,
                                     const char *url, const char *method,
                                     const char *version, const char *upload,
                                     size_t *upload_n, void **request)
{
    serve_request *r = *request;

    (void)version;
    if (!r) {
        *request = r = begin(server, mhd, url, method);
        if (!r) return send_last_resort(mhd);
        if (acceptable(r)) return MHD_YES;
        return send_answer(r);
    }
    if (r->done) return send_answer(r);
    if (*upload_n > 0) {
        take(r, upload, *upload_n);
        *upload_n = 0;
        return MHD_YES;
    }
    if (r->suspended) return MHD_YES; /* woken for another reason */
    work(r);
    return r->suspended ? MHD_YES : send_answer(r);
}

/* From the writer's thread. After this call the request may be gone. */
void ferry_i_serve_resume(serve_request *r)
{
    r->done = true;
    ferry_i_mhd.resume(r->mhd);
}

void ferry_i_serve_completed(void *server, struct MHD_Connection *mhd, void **request,
                             enum MHD_RequestTerminationCode why)
{
    ferry_server *s = server;
    serve_request *r = *request;

    (void)mhd;
    (void)why;
    if (!r) return;
    pthread_mutex_lock(&s->mutex);
    if (r->connection) {
        r->connection->since = ferry_i_clock();
        r->connection->limit = (double)s->set.idle;
    }
    s->in_flight--;
    pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->mutex);
    s->charged -= r->charged;
    ferry_i_version_free(r->version);
    ferry_i_text_free(&r->body);
    ferry_i_text_free(&r->out);
    FERRY_FREE(r->row, r);
    *request = NULL;
}

/* The list of connections, for the ticker. One that finds no memory is not watched. */
void ferry_i_serve_connected(void *server, struct MHD_Connection *mhd, void **connection,
                             enum MHD_ConnectionNotificationCode what)
{
    ferry_server *s = server;
    serve_connection *c = *connection;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            ferry_i_mhd.info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        c = ferry_i_calloc(1, sizeof *c);
        if (!c || !info) {
            ferry_i_free(c);
            return;
        }
        *c = (serve_connection){.fd = info->connect_fd, .since = ferry_i_clock()};
        c->limit = (double)s->set.timeout;
        pthread_mutex_lock(&s->mutex);
        c->next = s->connections;
        c->link = &s->connections;
        if (c->next) c->next->link = &c->next;
        s->connections = c;
        s->n_connections++;
        pthread_mutex_unlock(&s->mutex);
        *connection = c;
    } else if (c) {
        pthread_mutex_lock(&s->mutex);
        *c->link = c->next;
        if (c->next) c->next->link = c->link;
        s->n_connections--;
        pthread_mutex_unlock(&s->mutex);
        ferry_i_free(c);
        *connection = NULL;
    }
}
