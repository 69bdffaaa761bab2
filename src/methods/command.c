/* command: a program of the user's own as a method, so that it is compared, and judged by the same controls, as ours are.
 *
 * A fit writes what it may see of the task into a folder (methods/shared/folder.h), runs the program with the folder's
 * name behind its arguments, and reads the folder's predictions.csv (methods/shared/answers.h). Of a control task the
 * program gets a folder like any other. Who embeds the library can take the folder himself (ferry_ctx_set_run()). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "methods/shared/answers.h"
#include "methods/shared/folder.h"

typedef struct command_options {
    const char *file, *arguments;
    int baseline;
} command_options;

static const ferry_opt command_opts[] = {
    FERRY_OPT_PATH(command_options, file,
                   "the program; it gets the name of a folder with a task.yaml, and writes "
                   "predictions.csv into it"),
    FERRY_OPT_STRING(command_options, arguments, "",
                     "for it, separated by blanks, before the folder"),
    FERRY_OPT_YES_NO(command_options, baseline, "no",
                     "whether it counts as a method without transfer, which others must "
                     "beat"),
};

extern char **environ;

enum { PAUSE = 20 /* ms between looks whether it has ended */, WORDS = 64, LINE = 400 };

/* ---- a folder of its own ---- */

static void remove_folder(void *path)
{
    ferry_i_remove_tree(path);
}

static const char *new_folder(scope *s)
{
    const char *temp = getenv("TMPDIR");
    char *path = scope_text(s, "%s/ferry-task-XXXXXX", temp && temp[0] ? temp : "/tmp");

    if (!mkdtemp(path))
        scope_fail(s, FERRY_EIO, "%s: cannot make a folder: %s", path, strerror(errno));
    scope_defer(s, remove_folder, path);
    return path;
}

/* ---- running it ---- */

/* Arguments in an array that ends with NULL: program, words, folder. */
static char **arguments(scope *s, const command_options *o, const char *folder)
{
    char **argv = NEW(s, char *, WORDS), *next = NULL;
    int n = 0;

    argv[n++] = scope_text(s, "%s%s", strchr(o->file, '/') ? "" : "./", o->file);
    for (char *word = strtok_r(scope_text(s, "%s", o->arguments), " ", &next); word;
         word = strtok_r(NULL, " ", &next)) {
        if (n > WORDS - 3)
            scope_fail(s, FERRY_EINVAL, "command: arguments has more than %d words",
                       WORDS - 3);
        argv[n++] = word;
    }
    argv[n] = scope_text(s, "%s", folder);
    return argv;
}

/* A process that nobody waits for any more; *pid 0: it has ended. */
static void end_process(void *arg)
{
    pid_t *pid = arg;

    if (*pid <= 0) return;
    (void)kill(-*pid, SIGKILL); /* it leads a group of its own: what it started goes, too */
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    *pid = 0;
}

/* What it writes is in the folder's file error.txt: tables are ours to print. */
static void start(scope *s, char **argv, const char *folder, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    const char *said = scope_text(s, "%s/error.txt", folder);

    (void)sigemptyset(&none), (void)sigfillset(&all);
    if (posix_spawn_file_actions_init(&files) != 0)
        scope_check(s, ferry_i_nomem(scope_ctx(s)));
    if (posix_spawnattr_init(&how) != 0) {
        (void)posix_spawn_file_actions_destroy(&files);
        scope_check(s, ferry_i_nomem(scope_ctx(s)));
    }
    (void)posix_spawnattr_setsigmask(&how, &none);
    (void)posix_spawnattr_setsigdefault(&how, &all);
    (void)posix_spawnattr_setpgroup(&how, 0);
    (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETPGROUP);
    int code = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!code)
        code = posix_spawn_file_actions_addopen(&files, 2, said,
                                                O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (!code) code = posix_spawn_file_actions_adddup2(&files, 2, 1);
    if (!code) code = posix_spawn(pid, argv[0], &files, &how, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&how);
    if (code) *pid = 0;
    if (code)
        scope_fail(s, code == ENOMEM ? FERRY_ENOMEM : FERRY_EDATA,
                   "command: cannot start %s: %s", argv[0], strerror(code));
}

/* Its status once it has ended; who cancels ends it. */
static int wait_for(scope *s, pid_t *pid)
{
    int status = 0;

    for (int64_t turn = 0;; turn++) {
        const pid_t got = waitpid(*pid, &status, WNOHANG);
        if (got == *pid) break;
        if (got < 0 && errno != EINTR)
            scope_fail(s, FERRY_EIO, "command: cannot wait for it: %s", strerror(errno));
        (void)progress(s, "command", turn, 0, NAN);
        (void)poll(NULL, 0, turn < 5 ? 1 : PAUSE);
    }
    *pid = 0;
    return status;
}

/* The last line that it wrote, for a sentence; "" where it wrote none. */
static const char *last_words(scope *s, const char *folder)
{
    char *last = NEW(s, char, LINE), line[LINE];
    FILE *f = fopen(scope_text(s, "%s/error.txt", folder), "r");

    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[strspn(line, " \t")]) memcpy(last, line, sizeof line);
    }
    if (f) (void)fclose(f);
    return last[0] ? scope_text(s, ": %s", last) : "";
}

static void run_program(scope *s, const command_options *o, const char *folder)
{
    pid_t *pid = NEW(s, pid_t, 1);
    char **argv = arguments(s, o, folder);

    scope_defer(s, end_process, pid);
    start(s, argv, folder, pid);
    const int status = wait_for(s, pid);
    if (WIFSIGNALED(status))
        scope_fail(s, FERRY_EDATA, "command: %s was ended by signal %d%s", argv[0],
                   WTERMSIG(status), last_words(s, folder));
    if (WEXITSTATUS(status) != 0)
        scope_fail(s, FERRY_EDATA, "command: %s ended with %d%s", argv[0],
                   WEXITSTATUS(status), last_words(s, folder));
}

/* ---- the method ---- */

typedef struct running {
    const ferry_task *task;
    const command_options *options;
    answers *a;
    double seconds;
} running;

static void fit_body(scope *s, void *arg)
{
    running *r = arg;
    ferry_ctx *ctx = scope_ctx(s);
    const char *folder = new_folder(s);
    const char *path = scope_text(s, "%s/predictions.csv", folder);

    write_folder(s, r->task, folder, ctx->run != NULL);
    const double begin = ferry_i_clock();
    const int code = ctx->run ? ctx->run(ctx->run_user, r->options->file, folder) : -1;
    if (code > 0) scope_fail(s, FERRY_EDATA, "it failed%s", last_words(s, folder));
    if (code < 0) run_program(s, r->options, folder);
    r->seconds = ferry_i_clock() - begin;
    if (access(path, F_OK) != 0)
        scope_fail(s, FERRY_EDATA, "%s wrote no predictions.csv into its folder%s",
                   r->options->file, last_words(s, folder));
    scope_check(s, answers_read(ctx, path, r->task, 1, &r->a));
}

static ferry_status command_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **state, ferry_fit_info *rep)
{
    running r = {.task = task, .options = options};
    const ferry_status st = scope_run(ctx, fit_body, &r);

    rep->objective = NAN;
    rep->seconds = r.seconds;
    *state = r.a;
    return st;
}

static ferry_status command_fits(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options)
{
    (void)task;
    if (((const command_options *)options)->file[0]) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_EINVAL,
                        "command needs a program: - command: {file: mine.sh}");
}

const ferry_method ferry_i_method_command = {
    .name = "command",
    .summary = "a program of your own, which gets a task in a folder and answers it",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_MULTILABEL | FERRY_RATE,
    .options = command_opts,
    .n_options = FERRY_COUNT(command_opts),
    .options_size = sizeof(command_options),
    .asked = true,
    .timed = true,
    .fits = command_fits,
    .fit = command_fit,
    .predict = answers_predict,
    .free = answers_free,
};
