/* ferry serve: models behind HTTP, until a signal ends it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli.h"

/* Tell systemd (Type=notify) how it stands; nothing where nobody listens. */
static void notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const size_t n = path ? strlen(path) : 0;

    if (n < 2 || n >= sizeof to.sun_path) return;
    memcpy(to.sun_path, path, n);
    if (path[0] == '@') to.sun_path[0] = 0; /* a name that is no file */
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    (void)!sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    (void)close(fd);
}

/* A connection is a file: as many as the system lets us have. */
static void many_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Signals come in through a pipe: a thread that was there before us (OpenBLAS starts some)
 * may be the one that gets them, so a mask of ours would not do. */
static int heard[2];

static void on_signal(int sig)
{
    const unsigned char byte = (unsigned char)sig;
    const int before = errno;

    (void)!write(heard[1], &byte, 1);
    errno = before;
}

static bool catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;

    if (pipe2(heard, O_CLOEXEC) != 0) return false;
    (void)fcntl(heard[1], F_SETFL, O_NONBLOCK); /* a full pipe: one is waiting already */
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (int64_t i = 0; i < COUNT(signals); i++)
        (void)sigaction(signals[i], &action, NULL);
    return true;
}

/* poll() comes back when a signal does, which ThreadSanitizer needs to let its handler run. */
static int next_signal(void)
{
    struct pollfd pipe = {.fd = heard[0], .events = POLLIN};
    unsigned char byte = SIGTERM;

    while (poll(&pipe, 1, -1) < 0 && errno == EINTR)
        ;
    while (read(heard[0], &byte, 1) < 0 && errno == EINTR)
        ;
    return byte;
}

static ferry_status settings(cli *c)
{
    static const struct {
        cli_key key;
        const char *name, *value; /* value NULL: what stands behind the option */
    } keys[] = {{KEY_LISTEN, "listen", NULL},     {KEY_STATE, "state", NULL},
                {KEY_TOKENS, "tokens", NULL},     {KEY_OPEN, "open", "yes"},
                {KEY_TLS_CERT, "tls_cert", NULL}, {KEY_TLS_KEY, "tls_key", NULL},
                {KEY_REPLAY, "replay", "yes"},    {KEY_SYNC, "sync", NULL}};
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < COUNT(keys) && st == FERRY_OK; i++) {
        const char *value = c->value[keys[i].key];
        if (value)
            st = ferry_opts_set(c->ctx, c->sets, keys[i].name,
                                keys[i].value ? keys[i].value : value);
    }
    return st;
}

int cli_serve(cli *c)
{
    ferry_server *server = NULL;
    int got = 0;

    ferry_status st = settings(c);
    many_files();
    (void)signal(SIGHUP, SIG_IGN); /* nothing to load again while it starts */
    if (st == FERRY_OK) st = ferry_server_start(c->ctx, c->args[0], c->sets, &server);
    if (st != FERRY_OK) return cli_failed(c, st);
    cli_progress_end();
    if (!catch_signals()) {
        cli_say("no pipe for signals: %s", strerror(errno));
        (void)ferry_server_stop(c->ctx, server);
        return EXIT_FAILED;
    }
    cli_note(c, "serving %s on %s", c->args[0], ferry_server_address(server));
    notify("READY=1");
    while ((got = next_signal()) == SIGHUP)
        ferry_server_reload(server);
    notify("STOPPING=1");
    cli_note(c, "stopping: requests that came are finished");
    st = ferry_server_stop(c->ctx, server);
    if (st != FERRY_OK) return cli_failed(c, st);
    cli_note(c, "stopped");
    return got == SIGINT ? EXIT_INTERRUPTED : EXIT_DONE;
}
