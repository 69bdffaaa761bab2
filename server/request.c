/* A request from its first byte to the end of its answer: limits, who may, the body, errors,
 * gzip both ways, what is counted and logged. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "server/serve.h"

#define GZIP_LEAST 1024 /* bytes of an answer that are worth packing */

const char *ferry_i_serve_header(const serve_request *r, const char *name)
{
    return r->head ? ferry_i_http_field(r->head, name) : NULL;
}

bool ferry_i_serve_asks(const serve_request *r, const char *name)
{
    char value[8];

    return ferry_i_http_query(r->head, name, value, (int64_t)sizeof value) &&
           strcmp(value, "0") != 0 && strcmp(value, "no") != 0;
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
                 {417, "expectation_failed"}, {431, "too_large"},
                 {505, "http_version"},       {507, "storage_full"}};

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
    if (r->out.cap > 1 << 16) ferry_i_text_free(&r->out);
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

/* What can never be, and what may be later. */
bool ferry_i_serve_charge(serve_request *r, int64_t n)
{
    ferry_server *s = r->server;

    if (r->charged > s->set.memory - n || n > s->set.memory) {
        ferry_i_serve_error(r, 413,
                            "this needs more than %lld bytes of memory: send less at once",
                            (long long)s->set.memory);
        return false;
    }
    if (atomic_fetch_add(&s->charged, n) + n > s->set.memory) {
        s->charged -= n;
        r->retry = 1;
        ferry_i_serve_error(r, 429, "too many large requests at once");
        return false;
    }
    r->charged += n;
    return true;
}

bool ferry_i_serve_grown(serve_request *r)
{
    const int64_t more = r->out.cap - r->counted;

    if (more < 1 << 16) return true;
    r->counted = r->out.cap;
    return ferry_i_serve_charge(r, more);
}

#define VALUE_BYTES 64 /* of a number or text that jansson holds, and its place in a list */
bool ferry_i_serve_values(serve_request *r)
{
    int64_t n = 0;

    for (int64_t i = 0; i < r->body.len; i++)
        n += r->body.s[i] == ',' || r->body.s[i] == ':' || r->body.s[i] == '[' ||
             r->body.s[i] == '\n';
    return n < 1024 || ferry_i_serve_charge(r, n * VALUE_BYTES);
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
    else if (ferry_i_serve_charge(r, to.len > r->body.len ? to.len - r->body.len : 0)) {
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
    if (r->out.len > 1 << 16 &&
        atomic_load(&r->server->charged) + r->out.len > r->server->set.memory)
        return false; /* it would be there twice for a while */
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

static void add_lines(const serve_request *r, ferry_text *t, bool packed)
{
    ferry_i_text_addf(t,
                      "Content-Type: %s\r\nX-Request-Id: %s\r\n"
                      "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n",
                      r->type, r->id);
    if (packed) ferry_i_text_add(t, "Content-Encoding: gzip\r\n");
    if (r->allow) ferry_i_text_addf(t, "Allow: %s\r\n", r->allow);
    if (r->status == 401) {
        ferry_i_text_add(t, "WWW-Authenticate: Bearer realm=\"ferry\"\r\n");
        if (strcmp(r->method, "GET") == 0) /* a browser asks its user */
            ferry_i_text_add(
                t, "WWW-Authenticate: Basic realm=\"ferry: a token as the password\"\r\n");
    }
    if (r->retry) ferry_i_text_addf(t, "Retry-After: %d\r\n", r->retry);
    if (r->json_length)
        ferry_i_text_addf(t, "Inference-Header-Content-Length: %lld\r\n",
                          (long long)r->json_length);
    if (strncmp(r->type, "text/html", 9) == 0)
        ferry_i_text_add(
            t, "Content-Security-Policy: default-src 'none'; script-src 'self'; "
               "style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; "
               "frame-ancestors 'none'; base-uri 'none'\r\n");
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
                      r->status, 1e3 * seconds, r->who.name[0] ? " " : "", r->who.name,
                      r->status >= 400 ? " " : "", r->status >= 400 ? shown : 0,
                      r->status >= 400 ? r->out.s + 9 : "");
}

static void finish(void *request, http_answer *out)
{
    serve_request *r = request;

    if (r->out.failed) return; /* status 0: no memory */
    note(r, ferry_i_clock() - r->began);
    ferry_i_tokens_spend(&r->server->tokens, &r->who, r->rows, r->body.len, r->out.len);
    out->status = r->status;
    if (r->source.from) {
        out->source = r->source;
        r->source.from = NULL;
        add_lines(r, &out->lines, false);
        return;
    }
    const bool packed = pack(r);
    out->bytes = r->out.s;
    out->n = r->out.len;
    r->out = (ferry_text){0};
    add_lines(r, &out->lines, packed);
}

/* ---- who may ---- */

/* Pages of other sites can make a browser ask a server on this machine. Their requests have
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
                            reads, &r->who, &wait);
    if (has == SERVE_ANYONE)
        return ferry_i_serve_error(r, 401, "expected a token: Authorization: Bearer TOKEN"),
               false;
    if (has < needs)
        return ferry_i_serve_error(r, 403, "this token's role does not allow it"), false;
    if (wait > 0) {
        r->retry = wait < 1 ? 1 : (int)ceil(fmin(wait, 3600));
        ferry_i_serve_error(r, 429, "more than this token may send");
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

/* Before the body: what can be refused without it. */
static bool acceptable(serve_request *r)
{
    const int64_t n = r->head->length;

    r->route = ferry_i_serve_find(r);
    if (!r->route || !allowed(r)) return false;
    if (r->server->stopping && r->route->role != SERVE_ANYONE) {
        r->retry = 1;
        return ferry_i_serve_error(r, 503, "the server is stopping"), false;
    }
    if (!ferry_i_serve_find_version(r)) return false;
    if (n > r->server->set.body)
        return ferry_i_serve_error(r, 413,
                                   "the request has %lld bytes, at most %lld are "
                                   "taken",
                                   (long long)n, (long long)r->server->set.body),
               false;
    return true;
}

static void *begin(void *server, http_connection *c, const http_head *head,
                   const http_wrong *wrong, bool *refused)
{
    ferry_server *s = server;
    serve_request *r = ferry_i_calloc(1, sizeof *r);

    if (!r) return NULL;
    *r = (serve_request){.server = s, .connection = c, .head = head};
    r->method = head ? head->method : "?";
    r->url = head ? head->path : "?";
    r->began = ferry_i_clock();
    r->type = "application/json";
    r->who.waiting = -1;
    set_id(r);
    pthread_mutex_lock(&s->mutex);
    s->in_flight++;
    pthread_mutex_unlock(&s->mutex);
    if (wrong) ferry_i_serve_error(r, wrong->status, "%s", wrong->why);
    *refused = wrong || !acceptable(r);
    return r;
}

/* More of the body; false: that is too much. */
static bool take(void *request, const char *bytes, int64_t n)
{
    serve_request *r = request;

    if (r->body.len + n > r->server->set.body) {
        ferry_i_serve_error(r, 413, "the request has more than %lld bytes",
                            (long long)r->server->set.body);
    } else if (ferry_i_serve_charge(r, n)) {
        ferry_i_text_addn(&r->body, bytes, n);
        if (!r->body.failed) return true;
        ferry_i_serve_error(r, 503, "out of memory");
    }
    return false;
}

/* The body is there. */
static bool work(void *request)
{
    serve_request *r = request;
    const char *encoding = ferry_i_serve_header(r, "Content-Encoding");
    const bool packed = encoding && strcmp(encoding, "gzip") == 0;

    (void)ferry_i_memory_lost(); /* what the request before could not get */
    if (encoding && !packed && strcmp(encoding, "identity") != 0) {
        ferry_i_serve_error(r, 415, "Content-Encoding: expected gzip or none");
        return true;
    }
    if (packed && !unpack(r)) return true;
    if (!r->body.s) ferry_i_text_addn(&r->body, "", 0);
    if (r->body.failed)
        ferry_i_serve_error(r, 503, "out of memory");
    else
        r->route->run(r);
    return !r->suspended;
}

/* From another thread. After this call the request may be gone. */
void ferry_i_serve_resume(serve_request *r)
{
    r->done = true;
    if (r->connection) ferry_i_http_resume(r->connection);
}

static void end(void *request)
{
    serve_request *r = request;
    ferry_server *s = r->server;

    s->charged -= r->charged;
    if (r->source.from) r->source.free(r->source.from);
    ferry_i_version_free(r->version);
    ferry_i_text_free(&r->body);
    ferry_i_text_free(&r->out);
    FERRY_FREE(r->row, r);
    pthread_mutex_lock(&s->mutex);
    s->in_flight--;
    pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->mutex);
}

http_events ferry_i_serve_events(ferry_server *s)
{
    return (http_events){s, begin, take, work, finish, end};
}
