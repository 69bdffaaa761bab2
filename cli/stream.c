/* ferry stream: lines in, answers out, until the input ends or someone asks to stop. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "cli.h"

/* ---- being asked to stop ---- */

static volatile sig_atomic_t asked; /* the signal that asked */
static volatile sig_atomic_t times; /* how often */

static void on_signal(int sig)
{
    asked = sig;
    times = times < 2 ? times + 1 : 2;
}

/* Not restarting calls, so that one that waits for input or for a reader ends. */
static void catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* Wait until fd can be read, or written, at most `seconds` (negative: for ever). A signal
 * that comes just before the wait ends it too, when `times` it came are enough. */
static bool ready(int fd, bool out, double seconds, int enough)
{
    const struct timespec t = {(time_t)seconds,
                               (long)((seconds - (double)(time_t)seconds) * 1e9)};
    sigset_t both, before;
    fd_set fds;
    int n = -1;

    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    FD_ZERO(&fds);
    FD_SET(fd, &fds);
    (void)sigprocmask(SIG_BLOCK, &both, &before);
    if (times < enough)
        n = pselect(fd + 1, out ? NULL : &fds, out ? &fds : NULL, NULL,
                    seconds < 0 ? NULL : &t, &before);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return n > 0;
}

/* ---- the pump ---- */

/* A pause of the input this long ends a batch early: whoever waits for an answer before
 * the next line should not wait for the clock. */
#define PAUSE 0.005
/* After a signal: how long a reader may take nothing before it counts as stuck. */
#define PATIENCE 2.0
/* A pipe that can be written takes this much without blocking (PIPE_BUF). */
#define PIECE 4096

typedef struct pump {
    cli *c;
    ferry_stream *stream;
    int code;
    bool reader_gone, over;
} pump;

/* Wait for the reader: for ever, but once someone asked to stop only while it still takes
 * something, and not at all when asked twice. What was acknowledged is to get out. */
static bool reader_ready(pump *p)
{
    while (times < 2) {
        const bool stopping = times > 0;
        if (ready(STDOUT_FILENO, true, stopping ? PATIENCE : -1, stopping ? 2 : 1))
            return true;
        if (stopping && times < 2) break;
    }
    cli_note(p->c, "nobody reads: the last answers were not passed on");
    return false;
}

/* Pass answers on, in pieces that never block, so that a signal always gets through; the
 * output may be one that does not block itself. */
static void print(pump *p, const char *text, int64_t n)
{
    while (n > 0 && !p->reader_gone) {
        if (!reader_ready(p)) {
            p->reader_gone = p->over = true;
            break;
        }
        const ssize_t some = write(STDOUT_FILENO, text, (size_t)(n < PIECE ? n : PIECE));
        if (some >= 0) {
            text += some;
            n -= some;
        } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
            p->reader_gone = p->over = true;
            if (errno == EPIPE) break; /* has seen enough */
            cli_say("cannot write the output: %s", strerror(errno));
            p->code = EXIT_FAILED;
        }
    }
}

/* wait: until it is on the disk. */
static void commit(pump *p, bool wait)
{
    const char *answers = NULL;
    int64_t n = 0;
    const ferry_status st = ferry_stream_commit(p->c->ctx, p->stream, wait, &answers, &n);
    char *clean = n > 0 && isatty(STDOUT_FILENO) ? malloc((size_t)n) : NULL;

    if (clean) { /* labels and ids are whatever came in; answers are whole lines */
        memcpy(clean, answers, (size_t)n);
        (void)cli_clean(clean, (size_t)n);
    }
    print(p, clean ? clean : answers, n);
    free(clean);
    if (st != FERRY_OK && !p->over) p->code = cli_failed(p->c, st);
    if (st != FERRY_OK) p->over = true;
}

static void feed(pump *p, const char *bytes, int64_t n)
{
    while (n > 0 && !p->over && !asked) {
        int64_t used = 0;
        const ferry_status st = ferry_stream_feed(p->c->ctx, p->stream, bytes, n, &used);
        bytes += used;
        n -= used;
        if (st != FERRY_OK) {
            p->code = cli_failed(p->c, st);
            p->over = true;
            commit(p, true);
        } else if (ferry_stream_due(p->stream) == 0) {
            commit(p, false);
        }
    }
}

static void read_all(pump *p)
{
    enum { BLOCK = 1 << 20 };
    char *block = cli_alloc(BLOCK);

    while (!p->over && !asked) {
        const double due = ferry_stream_due(p->stream);
        if (!ready(STDIN_FILENO, false, due > PAUSE ? PAUSE : due, 1)) {
            if (due >= 0) commit(p, true);
            continue;
        }
        const ssize_t n = read(STDIN_FILENO, block, BLOCK);
        if (n > 0) {
            feed(p, block, n);
        } else if (n == 0) {
            int64_t used = 0;
            const ferry_status st = ferry_stream_feed(p->c->ctx, p->stream, NULL, 0, &used);
            if (st != FERRY_OK) p->code = cli_failed(p->c, st);
            break;
        } else if (errno != EINTR && errno != EAGAIN) {
            cli_say("cannot read the input: %s", strerror(errno));
            p->code = EXIT_FAILED;
            break;
        }
    }
    free(block);
}

/* ---- the command ---- */

static ferry_status settings(cli *c)
{
    ferry_status st = FERRY_OK;

    if (c->value[KEY_SYNC])
        st = ferry_opts_set(c->ctx, c->sets, "sync", c->value[KEY_SYNC]);
    if (st == FERRY_OK && c->value[KEY_FORMAT])
        st = ferry_opts_set(c->ctx, c->sets, "format", c->value[KEY_FORMAT]);
    /* The same bits whatever the number of cores. */
    if (st == FERRY_OK) st = ferry_ctx_set(c->ctx, "threads", "1");
    return st;
}

static int repair(cli *c, const char *folder)
{
    ferry_repaired r;
    const ferry_status st = ferry_stream_repair(c->ctx, c->args[0], folder, &r);

    if (st != FERRY_OK) return cli_failed(c, st);
    if (r.damaged)
        cli_note(
            c,
            "%s: repaired; records lost: %lld, the last one is record %lld (a log that "
            "was there is kept as log.damaged, or .2 and so on)",
            folder, (long long)r.lost, (long long)r.last);
    else
        cli_note(c, "%s: nothing to repair, the last record is %lld", folder,
                 (long long)r.last);
    return EXIT_DONE;
}

int cli_stream(cli *c)
{
    const char *folder = c->value[KEY_STATE];
    pump p = {.c = c, .code = EXIT_DONE};
    ferry_status st = FERRY_OK;

    if (!folder) return cli_usage("stream: give a folder for the state: --state DIR");
    st = settings(c);
    if (st == FERRY_OK && c->value[KEY_REPAIR]) return repair(c, folder);
    if (st == FERRY_OK)
        st = ferry_stream_open(c->ctx, c->args[0], folder, c->sets, &p.stream);
    if (st != FERRY_OK) return cli_failed(c, st);
    if (ferry_stream_seq(p.stream) > 0)
        cli_note(c, "%s: goes on after record %lld", folder,
                 (long long)ferry_stream_seq(p.stream));
    cli_progress_end();
    catch_signals();
    read_all(&p);
    commit(&p, true);
    const long long last = (long long)ferry_stream_seq(p.stream);
    st = ferry_stream_close(c->ctx, p.stream);
    if (st != FERRY_OK && p.code == EXIT_DONE) p.code = cli_failed(c, st);
    if (p.code != EXIT_DONE) return p.code;
    cli_note(c, "%s: the last record is %lld", folder, last);
    return asked == SIGINT ? EXIT_INTERRUPTED : EXIT_DONE;
}
