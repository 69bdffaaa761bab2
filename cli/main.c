/* The ferry command: find the subcommand, read its words, run it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"

/* Two libraries read their settings when they are loaded. The threads of both OpenMP and
 * OpenBLAS wait by spinning, on the very cores that those of the other need then: a demo took
 * 84 s instead of 10 on two cores. OpenBLAS is loaded here and hears it in time; OpenMP was
 * loaded with the program, and OpenBLAS may have picked kernels that do not fit this CPU, at a
 * fifth of the speed: then start again, once, which the variables tell. */
static void right_surroundings(char **argv)
{
    bool again = false;

    if (!getenv("OPENBLAS_THREAD_TIMEOUT")) /* spin for 2^10 cycles, not 2^26 */
        (void)setenv("OPENBLAS_THREAD_TIMEOUT", "10", 1);
    if (!getenv("OMP_WAIT_POLICY")) again |= setenv("OMP_WAIT_POLICY", "passive", 1) == 0;
    const char *wanted = NULL, *core = ferry_blas_core(&wanted);
    if (core[0] && wanted[0] && strcmp(core, wanted) != 0 && !getenv("OPENBLAS_CORETYPE"))
        again |= setenv("OPENBLAS_CORETYPE", wanted, 1) == 0;
    if (again) (void)execv("/proc/self/exe", argv); /* when it fails: only slower */
}

/* OpenBLAS starts its threads when it is loaded, and where there is not enough address space for all of
 * their buffers they never end, nor does a program that waits for them: one thread has none to wait for.
 * (A shell's ulimit -v or -d, a batch system's limit.) */
static void few_threads(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const rlim_t enough = (512ULL << 20) + (160ULL << 20) * (rlim_t)(cores > 0 ? cores : 1);
    struct rlimit all, own;

    if ((getrlimit(RLIMIT_AS, &all) == 0 && all.rlim_cur <= enough) ||
        (getrlimit(RLIMIT_DATA, &own) == 0 && own.rlim_cur <= enough))
        (void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
}

int cli_unknown_command(const char *name)
{
    const char **names = cli_alloc((size_t)cli_n_commands * sizeof *names);
    const char *near = NULL;

    for (int64_t i = 0; i < cli_n_commands; i++)
        names[i] = cli_commands[i].name;
    near = ferry_nearest(name, cli_n_commands, names);
    free(names);
    if (near) return cli_usage("unknown command %s (did you mean %s?)", name, near);
    return cli_usage("unknown command %s (ferry help lists them)", name);
}

/* ---- several ranks ---- */

/* freed at exit, which leaves: also studies, which end where they stand */
static ferry_ctx *joined;

static void leave(void)
{
    ferry_ctx_free(joined);
}

/* Lines that a rank has to say go to rank 0 with its work; what it says besides, rank 0 says too. */
static void say_nothing(void *user, ferry_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

static bool works_with_ranks(const cli *c)
{
    for (int64_t i = 0; i < c->command->n_options; i++)
        if (c->command->options[i].key == KEY_MPI) return true;
    return false;
}

/* fit has no cells to share, but rows: without the engine every rank would fit the same model. */
static bool fits_alone(const cli *c)
{
    const char *engine = c->value[KEY_ENGINE];

    return c->command->run == cli_fit && !(engine && strcmp(engine, "mpi") == 0);
}

/* What the launcher says of this process, without joining: 0 where it says nothing. */
static int launched(const char *ompi, const char *pmi)
{
    const char *value = getenv(ompi) ? getenv(ompi) : getenv(pmi);

    return value ? atoi(value) : 0;
}

/* Every rank would fit the same model. Rank 0 says so; another that ended sooner with a failure would have it killed before. */
static int refuse_fits(void)
{
    if (launched("OMPI_COMM_WORLD_RANK", "PMI_RANK") > 0) {
        (void)sleep(1);
        return EXIT_USAGE;
    }
    return cli_usage(
        "several ranks of fit would all fit the same model: --engine mpi spreads the rows of "
        "one fit over them; else start it without mpirun (inside a program of an MPI job: "
        "with OMPI_COMM_WORLD_SIZE=1)");
}

/* One of several ranks: join them. Rank 0 goes on with the command (EXIT_DONE, *serves false). */
static int join_ranks(cli *c, bool *serves)
{
    const char *asked = c->value[KEY_THREADS];
    int rank = 0;

    if (!c->value[KEY_MPI] && !(works_with_ranks(c) && ferry_ranks_launched()))
        return EXIT_DONE;
    if (fits_alone(c)) /* one process, or one that was told nothing, just fits */
        return launched("OMPI_COMM_WORLD_SIZE", "PMI_SIZE") > 1 ? refuse_fits() : EXIT_DONE;
    ferry_status st = ferry_ranks_join(c->ctx, &rank);
    if (st != FERRY_OK) return rank == 0 ? cli_failed(c, st) : EXIT_USAGE;
    joined = c->ctx;
    (void)atexit(leave);
    if (asked && strcmp(asked, "0") != 0) (void)ferry_ctx_set(c->ctx, "threads", asked);
    *serves = rank > 0;
    if (!*serves) return EXIT_DONE;
    ferry_ctx_set_log(c->ctx, say_nothing, FERRY_WARN, NULL);
    ferry_ctx_set_progress(c->ctx, cli_progress, NULL);
    cli_ask_before_stopping();
    st = ferry_ranks_serve(c->ctx);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

static int dispatch(cli *c, int argc, char **argv)
{
    int code = EXIT_DONE;

    if (argc < 2) {
        cli_help_all(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) name = "version";
    c->command = cli_command_find(name);
    if (!c->command) return cli_unknown_command(name);
    if (ferry_ctx_new(&c->ctx) != FERRY_OK ||
        ferry_opts_new(c->ctx, &c->sets) != FERRY_OK) {
        cli_say("out of memory");
        return EXIT_FAILED;
    }
    code = cli_parse(c, argc - 2, argv + 2);
    if (code != EXIT_DONE) return code;
    if (c->value[KEY_HELP]) {
        cli_help_command(stdout, c->command);
        return EXIT_DONE;
    }
    code = cli_configure(c);
    if (code != EXIT_DONE) return code;
    if (c->command->computes) right_surroundings(argv);
    bool serves = false;
    code = join_ranks(c, &serves);
    return code != EXIT_DONE || serves ? code : c->command->run(c);
}

/* What was printed must have arrived. A reader that has gone (ferry methods | head) has
 * seen enough: that is no error. */
static int close_output(int code)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    const int why = errno;
    if (why == EPIPE || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR))) return code;
    cli_say("cannot write the output: %s", strerror(why ? why : EIO));
    return code == EXIT_DONE ? EXIT_FAILED : code;
}

/* Where a standard stream is closed, the next file that is opened would take its place, and
 * messages would be written into it. What takes the place here cannot be used either, so
 * that lost output is still an error. */
static void fill_closed_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    cli c = {0};
    int code = EXIT_DONE;
    char self[4200];

    c.self =
        cli_word(argc > 0 && strchr(argv[0], '/') ? argv[0] : "ferry", self, sizeof self);
    few_threads();
    fill_closed_streams();
    cli_clean_stdout();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on files is a full disk to us */
    cli_catch_interrupt();
    code = dispatch(&c, argc, argv);
    cli_progress_end();
    code = close_output(code);
    ferry_opts_free(c.sets);
    ferry_ctx_free(c.ctx); /* leaves the ranks */
    joined = NULL;
    free(c.args);
    free(c.sources.at);
    free(c.bridges.at);
    return code;
}

int cli_version(cli *c)
{
    (void)c;
    printf("ferry %s\n", ferry_version());
    return EXIT_DONE;
}
