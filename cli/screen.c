/* Messages, the progress bar and Ctrl-C. */
#define _GNU_SOURCE /* fopencookie */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t polite, interrupted;
static volatile sig_atomic_t bar_shown; /* there is a bar on the terminal's last line */

/* ---- messages ---- */

static void say(const char *fmt, va_list args)
{
    char line[4096];

    cli_progress_end();
    (void)fflush(stdout); /* in order when both go to one place */
    (void)vsnprintf(line, sizeof line, fmt, args);
    cli_clean_line(line); /* names of files and commands are whatever somebody typed */
    fprintf(stderr, "ferry: %s\n", line);
}

/* ---- stdout on a terminal ---- */

/* Cells of files, ids and names go to stdout in many places; what a terminal would obey is taken out
 * in one, behind the stream's buffer. `held`: a character that is not complete yet. */
typedef struct filter {
    char held[4];
    size_t n;
} filter;

static bool put_all(const char *s, size_t n)
{
    while (n > 0) {
        const ssize_t some = write(STDOUT_FILENO, s, n);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) return false;
        s += some;
        n -= (size_t)some;
    }
    return true;
}

static ssize_t filter_write(void *cookie, const char *bytes, size_t n)
{
    filter *f = cookie;
    char *all = malloc(f->n + n);

    if (!all) return 0;
    memcpy(all, f->held, f->n);
    memcpy(all + f->n, bytes, n);
    const size_t total = f->n + n, clean = cli_clean(all, total);
    const bool fine = put_all(all, clean);
    f->n = total - clean; /* below 4 */
    memcpy(f->held, all + clean, f->n);
    free(all);
    return fine ? (ssize_t)n : 0;
}

void cli_clean_stdout(void)
{
    static filter f;
    static const cookie_io_functions_t functions = {.write = filter_write};

    if (!isatty(STDOUT_FILENO)) return;
    FILE *clean = fopencookie(&f, "w", functions);
    if (!clean) return;
    (void)setvbuf(clean, NULL, _IOLBF, BUFSIZ);
    stdout = clean;
}

void cli_say(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}

void cli_note(const cli *c, const char *fmt, ...)
{
    va_list args;

    if (c->value[KEY_QUIET]) return;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}

int cli_usage(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    return EXIT_USAGE;
}

int cli_failed(const cli *c, ferry_status status)
{
    const char *message = ferry_message(c->ctx);

    if (status == FERRY_ECANCELLED) {
        cli_say("interrupted: nothing was kept");
        return cli_interrupt_code();
    }
    cli_say("%s", message[0] ? message : ferry_status_name(status));
    switch (status) {
    case FERRY_EINVAL:
    case FERRY_EDATA:
    case FERRY_ENEEDS: return EXIT_USAGE;
    default: return EXIT_FAILED;
    }
}

/* Every repeat of an evaluation would say the same again: once is enough. */
void cli_log(void *user, ferry_level level, const char *line)
{
    enum { MOST = 64 };
    static char *said[MOST];
    static int n;

    (void)user;
    (void)level;
    for (int i = 0; i < n; i++)
        if (strcmp(said[i], line) == 0) return;
    if (n < MOST) said[n++] = cli_join(line, "", "");
    cli_say("%s", line);
}

/* ---- Ctrl-C ---- */

/* Only what a signal handler may do. */
static void on_interrupt(int sig)
{
    static const char erase[] = "\r\033[K", text[] = "ferry: interrupted\n";
    ssize_t written = 0;

    if (polite && !interrupted) {
        interrupted = sig;
        return;
    }
    if (bar_shown) written = write(STDERR_FILENO, erase, sizeof erase - 1);
    if (written >= 0) written = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(128 + sig);
}

static void catch (int sig)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    (void)sigaction(sig, &action, NULL);
}

void cli_catch_interrupt(void)
{
    catch (SIGINT);
}

void cli_ask_before_stopping(void)
{
    polite = 1;
    catch (SIGTERM);
}

int cli_interrupt_code(void)
{
    return interrupted ? 128 + interrupted : EXIT_INTERRUPTED;
}

/* ---- progress ---- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

/* How much is done, 0 .. 1; NaN when not known. */
static double share(const ferry_progress *p)
{
    const double inner = p->total > 0   ? fmin(1, (double)p->done / (double)p->total)
                         : p->steps > 0 ? 0
                                        : NAN;

    if (p->steps <= 0) return inner;
    return fmax(0, fmin(1, ((double)(p->step - 1) + inner) / (double)p->steps));
}

/* "what  [####....]  40 %  0:12 left", cut to the terminal's width. */
static void draw(const ferry_progress *p, double elapsed)
{
    enum { MOST = 30 };
    const double f = share(p);
    const int width = columns();
    char line[512], bar[MOST + 1] = "";
    int n = 0;

    if (isfinite(f) && f > 0) {
        const long left = lround(elapsed * (1 - f) / f);
        const int cells = width < 60 ? 10 : MOST;
        for (int i = 0; i < cells; i++)
            bar[i] = (double)i < f * cells ? '#' : '.';
        n = snprintf(line, sizeof line, "%.40s  [%s]  %2.0f %%  %ld:%02ld left", p->what,
                     bar, floor(100 * f), left / 60, left % 60);
    } else {
        n = snprintf(line, sizeof line, "%.40s  %ld:%02ld", p->what, lround(elapsed) / 60,
                     lround(elapsed) % 60);
    }
    if (n >= width) line[width > 1 ? width - 1 : 0] = 0;
    cli_clean_line(line);
    fprintf(stderr, "\r%s\033[K", line);
    (void)fflush(stderr);
    bar_shown = 1;
}

ferry_answer cli_progress(void *user, const ferry_progress *p)
{
    static double started, drawn;
    static int terminal = -1;

    if (interrupted) return FERRY_CANCEL;
    if (!user) return FERRY_GO;
    if (terminal < 0) {
        terminal = isatty(STDERR_FILENO);
        started = now();
    }
    if (!terminal) return FERRY_GO;
    const double t = now();
    if (t - started >= 1 && t - drawn >= 0.1) {
        drawn = t;
        draw(p, t - started);
    }
    return FERRY_GO;
}

void cli_progress_end(void)
{
    if (!bar_shown) return;
    fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    bar_shown = 0;
}
