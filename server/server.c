/* The server: settings, where it listens, starting, the ticker, stopping. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "server/serve.h"

#define T serve_settings
static const ferry_opt table[] = {
    FERRY_OPT_STRING(T, listen, "127.0.0.1:8080",
                     "HOST:PORT (port 0: any that is free) or unix:PATH"),
    FERRY_OPT_STRING(T, state, "", "folder in which models that learn keep their state"),
    FERRY_OPT_STRING(T, tokens, "", "file of tokens: NAME ROLE SHA256 [QUOTAS] a line"),
    FERRY_OPT_YES_NO(T, open, "no", "no tokens; on loopback or a unix socket only"),
    FERRY_OPT_STRING(T, tls_cert, "", "certificate chain, PEM"),
    FERRY_OPT_STRING(T, tls_key, "", "its private key, PEM"),
    FERRY_OPT_YES_NO(T, replay, "no", "a new version first learns the kept labels"),
    FERRY_OPT_ONE_OF(T, sync, "always|batch|off", "batch",
                     "when a learned label is acknowledged, as for ferry stream"),
    FERRY_OPT_ONE_OF(T, log, "none|errors|all", "errors", "which requests get a log line"),
    FERRY_OPT(T, INT, threads, 0, 0, 1024, "threads that answer; 0: one per core"),
    FERRY_OPT(T, INT, connections, 12000, 1, 1000000, "open connections at most"),
    FERRY_OPT(T, INT, body, 16777216, 1024, 1e12, "bytes of a request, also unpacked"),
    FERRY_OPT(T, INT, memory, 268435456, 1024, 1e13,
              "bytes of all requests and answers together"),
    FERRY_OPT(T, INT, queue, 1024, 1, 1000000, "requests that wait for a writer"),
    FERRY_OPT(T, INT, timeout, 30, 1, 86400, "seconds in which a request must have come"),
    FERRY_OPT(T, INT, idle, 60, 1, 86400, "seconds that a connection may be idle"),
    FERRY_OPT(T, INT, rate, 0, 0, 1e9, "requests a second for each token; 0: any"),
    FERRY_OPT(T, INT, waiting, 10000, 0, 1e7, "instances that may wait for a label"),
    FERRY_OPT(T, INT, remember, 100000, 0, 1e7, "learned ids that are not learned again"),
    FERRY_OPT(T, INT, snapshot, 10000, 1, 1e12, "records from one snapshot to the next"),
    FERRY_OPT(T, INT, classes, 1000, 0, 1e6, "classes that labels may make a model have"),
    FERRY_OPT(T, INT, keep, 100000, 0, 1e9, "labels that are kept for a new version"),
    FERRY_OPT(T, INT, poll, 2, 1, 86400, "seconds between looks at the models folder"),
};
#undef T

const ferry_opt_table *ferry_serve_options(void)
{
    static const ferry_opt_table all = {table, FERRY_COUNT(table)};

    return &all;
}

/* ---- messages: from any thread, one at a time ---- */

static void tell(void *server, ferry_level level, const char *line)
{
    ferry_server *s = server;

    pthread_mutex_lock(&s->log_mutex);
    if (s->log) s->log(s->log_user, level, line);
    pthread_mutex_unlock(&s->log_mutex);
}

/* At most 100 lines a second: whoever sends nonsense shall not fill the disk. */
void ferry_i_serve_log(ferry_server *s, ferry_level level, const char *fmt, ...)
{
    const int64_t now = (int64_t)ferry_i_clock();
    char line[700];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    ferry_i_one_line(line);
    pthread_mutex_lock(&s->log_mutex);
    if (s->log_second != now) {
        if (s->log && s->log_lines > 100)
            s->log(s->log_user, FERRY_WARN, "(more such lines were left out)");
        s->log_second = now;
        s->log_lines = 0;
    }
    const bool say = s->log && s->log_lines++ < 100;
    if (say) s->log(s->log_user, level, line);
    pthread_mutex_unlock(&s->log_mutex);
}

/* A context for one of the server's threads: one thread of computing, the same bits always. */
ferry_status ferry_i_serve_context(ferry_server *s, ferry_ctx **out)
{
    ferry_status st = ferry_ctx_new(out);

    if (st == FERRY_OK) st = ferry_ctx_set(*out, "threads", "1");
    if (st == FERRY_OK) ferry_ctx_set_log(*out, tell, FERRY_WARN, s);
    return st;
}

/* ---- where it listens ---- */

static ferry_status listen_unix(ferry_ctx *ctx, ferry_server *s, const char *path)
{
    ferry_status st = FERRY_OK;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct stat info;

    FERRY_NEED(ctx, *path && strlen(path) < sizeof to.sun_path, FERRY_EINVAL,
               "listen: unix:%s: expected a path below %zu bytes", path,
               sizeof to.sun_path);
    memcpy(to.sun_path, path, strlen(path));
    s->loopback = true;
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* What a server that died has left is no reason to stay away; one at work is. */
    if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode)) {
        FERRY_NEED(ctx,
                   connect(s->listener, (struct sockaddr *)&to, sizeof to) != 0 &&
                       errno == ECONNREFUSED,
                   FERRY_EIO, "unix:%s: another server listens there", path);
        (void)unlink(path);
    }
    const mode_t before = umask(0177); /* for its owner, until he gives it to others */
    const int failed = bind(s->listener, (struct sockaddr *)&to, sizeof to);
    const int error = errno;
    (void)umask(before);
    FERRY_NEED(ctx, failed == 0, FERRY_EIO, "unix:%s: %s", path, strerror(error));
    FERRY_HAVE(ctx, (s->socket_path = ferry_i_strdup(path)) &&
                        (s->address = ferry_i_sprintf("unix:%s", path)));
done:
    return st;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
                   24 ==
               127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static ferry_status listen_tcp(ferry_ctx *ctx, ferry_server *s, const char *where)
{
    ferry_status st = FERRY_OK;
    const char *colon = strrchr(where, ':');
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE},
                    *to = NULL;
    struct sockaddr_storage got;
    socklen_t size = sizeof got;
    char host[256] = "", number[16];
    const int on = 1;

    FERRY_NEED(ctx, colon && colon > where && colon - where < 250, FERRY_EINVAL,
               "listen: %s: expected HOST:PORT or unix:PATH", where);
    const bool brackets = where[0] == '[' && colon[-1] == ']';
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon - where) - 2 * brackets,
                   where + brackets);
    const int error = getaddrinfo(host, colon + 1, &hints, &to);
    FERRY_NEED(ctx, error == 0, FERRY_EINVAL, "listen: %s: %s", where, gai_strerror(error));
    s->loopback = is_loopback(to->ai_addr);
    s->listener = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    FERRY_NEED(ctx,
               s->listener >= 0 &&
                   setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                   bind(s->listener, to->ai_addr, to->ai_addrlen) == 0 &&
                   getsockname(s->listener, (struct sockaddr *)&got, &size) == 0,
               FERRY_EIO, "listen: %s: %s", where, strerror(errno));
    (void)getnameinfo((struct sockaddr *)&got, size, NULL, 0, number, sizeof number,
                      NI_NUMERICSERV);
    s->address = ferry_i_sprintf("http%s://%.*s:%s", s->set.tls_cert[0] ? "s" : "",
                                 (int)(colon - where), where, number);
    FERRY_HAVE(ctx, s->address);
done:
    if (to) freeaddrinfo(to);
    return st;
}

/* A token that crosses a network in the clear is no secret any more. */
static ferry_status check_settings(ferry_ctx *ctx, ferry_server *s)
{
    ferry_status st = FERRY_OK;
    const serve_settings *set = &s->set;

    FERRY_NEED(ctx, !set->tls_cert[0] == !set->tls_key[0], FERRY_EINVAL,
               "tls_cert and tls_key go together");
    FERRY_NEED(ctx, !set->open || !set->tokens[0], FERRY_EINVAL,
               "open and tokens exclude each other");
    FERRY_NEED(ctx, set->open || set->tokens[0], FERRY_EINVAL,
               "who may use this server? Give a file of tokens, or open for anyone on "
               "this machine");
    FERRY_TRY(strncmp(set->listen, "unix:", 5) == 0 ? listen_unix(ctx, s, set->listen + 5)
                                                    : listen_tcp(ctx, s, set->listen));
    FERRY_NEED(ctx, s->loopback || set->tls_cert[0], FERRY_EINVAL,
               "%s is reached from other machines, which needs tls_cert and tls_key",
               set->listen);
    FERRY_NEED(ctx, s->loopback || !set->open, FERRY_EINVAL,
               "%s is reached from other machines, which needs tokens", set->listen);
    FERRY_NEED(ctx, listen(s->listener, 1024) == 0, FERRY_EIO, "%s: %s", set->listen,
               strerror(errno));
done:
    return st;
}

static ferry_status read_text(ferry_ctx *ctx, const char *path, char **out)
{
    ferry_status st = FERRY_OK;
    uint8_t *bytes = NULL;
    int64_t n = 0;

    FERRY_TRY(ferry_i_folder_read(ctx, path, &bytes, &n));
    FERRY_NEED(ctx, bytes, FERRY_EDATA, "%s: cannot read: %s", path, strerror(ENOENT));
    FERRY_HAVE(ctx, *out = ferry_i_strndup((const char *)bytes, n));
done:
    if (bytes) memset(bytes, 0, (size_t)n); /* it may be a key */
    ferry_i_free(bytes);
    return st;
}

/* ---- the ticker ---- */

/* Who is in the file no more may no more, from the next second on. */
static ferry_status read_tokens(ferry_ctx *ctx, ferry_server *s)
{
    if (!s->set.tokens[0]) return FERRY_OK;
    const ferry_status st =
        ferry_i_tokens_read(ctx, s->set.tokens, (double)s->set.rate, false, &s->tokens);
    if (st != FERRY_OK)
        ferry_i_serve_log(s, FERRY_WARN, "%s (%s)", ferry_message(ctx),
                          s->tokens.n > 0 ? "the other tokens count" : "nobody may now");
    return st;
}

static ferry_status look_again(ferry_ctx *ctx, ferry_server *s)
{
    ferry_status st = ferry_i_models_scan(ctx, s, false);

    if (st != FERRY_OK && st != FERRY_ECANCELLED)
        ferry_i_serve_log(s, FERRY_WARN, "%s", ferry_message(ctx));
    if (st == FERRY_OK) st = read_tokens(ctx, s);
    return st;
}

static void *ticking(void *server)
{
    ferry_server *s = server;
    struct timespec next;

    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&s->mutex);
    while (!s->stopping) {
        next.tv_sec++;
        while (!s->stopping && pthread_cond_timedwait(&s->tick, &s->mutex, &next) == 0)
            ;
        if (s->stopping) break;
        if (s->reload) pthread_cond_signal(&s->load); /* set by a signal's handler */
        pthread_mutex_unlock(&s->mutex);
        (void)read_tokens(s->tick_ctx, s);
        ferry_i_serve_sample(s);
        pthread_mutex_lock(&s->mutex);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- the thread that looks at the models ---- */

static ferry_answer while_it_runs(void *server, const ferry_progress *p)
{
    const ferry_server *s = server;

    (void)p;
    return s->stopping ? FERRY_CANCEL : FERRY_GO;
}

/* Requests that asked for this look. */
static void answer_reloads(ferry_server *s, serve_request *r, ferry_ctx *ctx,
                           ferry_status st)
{
    for (serve_request *next = NULL; r; r = next) {
        next = r->next;
        if (s->stopping)
            ferry_i_serve_error(r, 503, "the server is stopping");
        else if (st != FERRY_OK)
            ferry_i_serve_failed(r, ctx, st);
        else
            ferry_i_serve_v2_index(r);
        ferry_i_serve_resume(r);
    }
}

static void *loading(void *server)
{
    ferry_server *s = server;
    ferry_ctx *ctx = s->ctx;
    struct timespec next;

    clock_gettime(CLOCK_MONOTONIC, &next);
    next.tv_sec += s->set.poll;
    pthread_mutex_lock(&s->mutex);
    while (!s->stopping) {
        int late = 0;
        while (!s->stopping && !s->reload && !late)
            late = s->folder ? pthread_cond_timedwait(&s->load, &s->mutex, &next)
                             : pthread_cond_wait(&s->load, &s->mutex);
        s->reload = false;
        serve_request *asked = s->reloads;
        s->reloads = NULL;
        pthread_mutex_unlock(&s->mutex);
        (void)ferry_i_memory_lost(); /* what the look before could not get */
        const ferry_status st = s->stopping ? FERRY_ECANCELLED : look_again(ctx, s);
        answer_reloads(s, asked, ctx, st);
        clock_gettime(CLOCK_MONOTONIC, &next);
        next.tv_sec += s->set.poll;
        pthread_mutex_lock(&s->mutex);
    }
    s->has_loader = false; /* nobody may wait for it from here on */
    serve_request *asked = s->reloads;
    s->reloads = NULL;
    pthread_mutex_unlock(&s->mutex);
    answer_reloads(s, asked, ctx, FERRY_ECANCELLED);
    return NULL;
}

/* ---- starting and stopping ---- */

static void init_locks(ferry_server *s)
{
    pthread_condattr_t steady; /* a clock that nobody sets */

    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_mutex_init(&s->log_mutex, NULL);
    pthread_mutex_init(&s->tokens.mutex, NULL);
    pthread_mutex_init(&s->tokens.reading, NULL);
    pthread_rwlock_init(&s->models.lock, NULL);
    pthread_cond_init(&s->quiet, &steady);
    pthread_cond_init(&s->tick, &steady);
    pthread_cond_init(&s->load, &steady);
    pthread_condattr_destroy(&steady);
}

static ferry_status start_http(ferry_ctx *ctx, ferry_server *s)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const http_settings set = {.listener = s->listener,
                               .threads = s->set.threads ? s->set.threads
                                          : cores > 0    ? cores
                                                         : 1,
                               .connections = s->set.connections,
                               .timeout = (double)s->set.timeout,
                               .idle = (double)s->set.idle,
                               .cert = s->cert,
                               .key = s->key,
                               .on = ferry_i_serve_events(s)};

    return ferry_i_http_start(ctx, &set, &s->http);
}

static void free_scratch(void *scratch)
{
    serve_scratch *w = scratch;

    if (!w) return;
    ferry_i_line_free(&w->line);
    ferry_i_batch_free(w->batch);
    ferry_ctx_free(w->ctx);
    ferry_i_free(w);
}

/* One per thread, freed with it. */
serve_scratch *ferry_i_serve_scratch(ferry_server *s)
{
    serve_scratch *w = pthread_getspecific(s->scratch);

    if (w) return w;
    w = ferry_i_calloc(1, sizeof *w);
    if (w) w->batch = ferry_i_calloc(1, sizeof *w->batch);
    if (w && w->batch) w->batch->most = s->set.memory;
    if (!w || !w->batch || ferry_i_serve_context(s, &w->ctx) != FERRY_OK ||
        pthread_setspecific(s->scratch, w) != 0) {
        free_scratch(w);
        return NULL;
    }
    return w;
}

static ferry_status prepare(ferry_ctx *ctx, ferry_server *s, const char *models,
                            const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    struct stat info;

    FERRY_TRY(ferry_i_opts_copy(ctx, opts, &s->opts));
    FERRY_TRY(
        ferry_i_opts_parse(ctx, "serve", table, FERRY_COUNT(table), s->opts, &s->set));
    FERRY_NEED(ctx, stat(models, &info) == 0, FERRY_EDATA, "%s: cannot read: %s", models,
               strerror(errno));
    s->folder = S_ISDIR(info.st_mode);
    FERRY_HAVE(ctx, s->models_path = ferry_i_strdup(models));
    FERRY_NEW(ctx, s->times, ferry_i_serve_n_routes);
    FERRY_NEW(ctx, s->answers, ferry_i_serve_n_routes);
    if (getrandom(&s->id_start, sizeof s->id_start, 0) < 0) s->id_start = 0;
    FERRY_NEED(ctx, pthread_key_create(&s->scratch, free_scratch) == 0, FERRY_EIO,
               "no key for threads");
    s->has_scratch = true;
    if (s->set.tokens[0])
        FERRY_TRY(
            ferry_i_tokens_read(ctx, s->set.tokens, (double)s->set.rate, true, &s->tokens));
    if (s->set.tls_cert[0]) FERRY_TRY(read_text(ctx, s->set.tls_cert, &s->cert));
    if (s->set.tls_key[0]) FERRY_TRY(read_text(ctx, s->set.tls_key, &s->key));
done:
    return st;
}

/* The models first: nothing is answered before all of them are there. */
ferry_status ferry_server_start(ferry_ctx *ctx, const char *models, const ferry_opts *opts,
                                ferry_server **out)
{
    FERRY_ARGS_OUT(ctx, out, out, models);

    ferry_status st = FERRY_OK;
    ferry_server *s = NULL;

    FERRY_NEW(ctx, s, 1);
    s->listener = -1;
    s->log = ctx->log;
    s->log_user = ctx->log_user;
    s->started = ferry_i_wall_clock();
    init_locks(s);
    FERRY_TRY(prepare(ctx, s, models, opts));
    FERRY_TRY(check_settings(ctx, s));
    FERRY_TRY(ferry_i_serve_context(s, &s->ctx));
    FERRY_TRY(ferry_i_serve_context(s, &s->tick_ctx));
    ferry_ctx_set_progress(s->ctx, while_it_runs, s);
    st = ferry_i_models_scan(s->ctx, s, true);
    if (st != FERRY_OK) st = ferry_i_fail(ctx, st, "%s", ferry_message(s->ctx));
    FERRY_TRY(st);
    FERRY_NEED(ctx, pthread_create(&s->ticker, NULL, ticking, s) == 0, FERRY_EIO,
               "no thread for the server");
    s->has_ticker = true;
    FERRY_NEED(ctx, pthread_create(&s->loader, NULL, loading, s) == 0, FERRY_EIO,
               "no thread for the server");
    s->had_loader = s->has_loader = true;
    FERRY_TRY(start_http(ctx, s)); /* the last: requests find all that they may want */
    *out = s;
done:
    if (s && st != FERRY_OK) {
        char message[sizeof ctx->message];
        memcpy(message, ctx->message, sizeof message);
        (void)ferry_server_stop(ctx, s);
        memcpy(ctx->message, message, sizeof message);
    }
    return st;
}

const char *ferry_server_address(const ferry_server *s)
{
    return s ? s->address : NULL;
}

void ferry_server_reload(ferry_server *s)
{
    if (s) s->reload = true;
}

/* No new connections; the requests that are there get their answers, for as long as one may
 * take. */
static void quiesce(ferry_server *s)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += s->set.timeout;
    pthread_mutex_lock(&s->mutex);
    s->stopping = true;
    pthread_cond_broadcast(&s->tick);
    pthread_cond_broadcast(&s->load);
    pthread_mutex_unlock(&s->mutex);
    if (s->has_ticker) pthread_join(s->ticker, NULL);
    if (s->had_loader) pthread_join(s->loader, NULL);
    if (s->http) ferry_i_http_quiesce(s->http);
    pthread_mutex_lock(&s->mutex);
    while (s->in_flight > 0 && pthread_cond_timedwait(&s->quiet, &s->mutex, &end) == 0)
        ;
    pthread_mutex_unlock(&s->mutex);
}

ferry_status ferry_server_stop(ferry_ctx *ctx, ferry_server *s)
{
    FERRY_ARGS(ctx, s);

    ferry_status st = FERRY_OK;

    quiesce(s);
    ferry_i_models_stop(ctx, s, &st);
    ferry_i_http_stop(s->http);
    ferry_i_models_free(s);
    if (s->listener >= 0) (void)close(s->listener);
    if (s->socket_path) (void)unlink(s->socket_path);
    if (s->has_scratch) {
        free_scratch(pthread_getspecific(s->scratch));
        pthread_key_delete(s->scratch);
    }
    if (s->key) memset(s->key, 0, strlen(s->key));
    pthread_rwlock_destroy(&s->models.lock);
    pthread_mutex_destroy(&s->tokens.mutex);
    pthread_mutex_destroy(&s->tokens.reading);
    pthread_mutex_destroy(&s->log_mutex);
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->quiet);
    pthread_cond_destroy(&s->tick);
    pthread_cond_destroy(&s->load);
    FERRY_FREE(s->tokens.token, s->models_path, s->address, s->socket_path, s->cert, s->key,
               s->times, (void *)s->answers);
    ferry_opts_free(s->opts);
    ferry_ctx_free(s->ctx);
    ferry_ctx_free(s->tick_ctx);
    ferry_i_free(s);
    return st;
}
