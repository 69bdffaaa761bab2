/* Running a study: preparation, task files, evaluations. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "study.h"

static double clock_of(clockid_t which)
{
    struct timespec t = {0};

    (void)clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ctrl-C, as far as the progress callback has heard of it. */
static void stop_if_asked(const lab *l)
{
    if (cli_progress(NULL, &(ferry_progress){0}) != FERRY_CANCEL) return;
    cli_say("interrupted: no study.json was written; the task files are in %s", l->folder);
    exit(EXIT_INTERRUPTED);
}

/* The end, unless the library's call went well. */
static void check_call(const lab *l, ferry_status st)
{
    if (st == FERRY_ECANCELLED) stop_if_asked(l);
    if (st != FERRY_OK) exit(cli_failed(l->c, st));
}

/* Write folder/name by a temporary name. */
static void write_file(const lab *l, const char *name, const char *text)
{
    const char *path = study_text("%s/%s", l->folder, name);
    const char *part = study_text("%s.part", path);
    FILE *f = fopen(part, "wb");
    bool fine = f && fputs(text, f) >= 0;

    if (f) fine = fclose(f) == 0 && fine;
    if (fine && rename(part, path) == 0) return;
    cli_say("%s: cannot write: %s", path, strerror(errno));
    exit(EXIT_FAILED);
}

/* ---- preparation ---- */

/* Become the script. It finds this program as $FERRY. */
static _Noreturn void become(const lab *l, char **words, int err)
{
    char exe[4096] = "";

    if (readlink("/proc/self/exe", exe, sizeof exe - 1) > 0) (void)setenv("FERRY", exe, 1);
    if (chdir(l->folder) != 0 || dup2(err, STDERR_FILENO) < 0) _exit(126);
    (void)execvp(words[0], words);
    _exit(127);
}

/* Run a script; text gets the end of what it says on stderr. Exit code. */
static int run_script(const lab *l, char **words, char *text, size_t size)
{
    size_t n = 0;
    ssize_t got = 0;
    int ends[2], status = 0;
    const pid_t pid = pipe(ends) == 0 ? fork() : -1;

    if (pid < 0) return 126;
    if (pid == 0) become(l, words, ends[1]);
    (void)close(ends[1]);
    do {
        if (n > size / 2) {
            memmove(text, text + n - size / 4, size / 4);
            n = size / 4;
        }
        got = read(ends[0], text + n, size - 1 - n);
        if (got > 0) n += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    (void)close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/* python3 SCRIPT --data D --seed N --threads N WORDS... in the study's folder, and what it
 * found there. */
static void prepare(lab *l)
{
    const node *spec = node_get(l->quick, l->s->root, "prepare");
    const char *path = study_text("%s/prepared.json", l->folder);
    const char **words = study_alloc((size_t)(spec ? spec->n + 10 : 10) * sizeof *words);
    char *text = study_alloc(4096);
    int64_t n = 0;

    (void)unlink(path);
    words[n++] = "python3";
    words[n++] = "-B"; /* no __pycache__ beside the scripts */
    for (int64_t i = 0; spec && i < spec->n; i++) {
        const node *one = node_pick(l->quick, spec->item[i]);
        if (!one->text) study_bad(l->s, one->line, "prepare: expected words");
        const char *word = study_expand(l, l->scope, one->text, one->line);
        words[n++] = i > 0 ? word : study_text("%s/prepare/%s", l->share, word);
        if (i > 0) continue;
        words[n++] = study_text("--data=%s", l->data);
        words[n++] = study_text("--seed=%llu", (unsigned long long)l->seed);
        words[n++] = study_text("--threads=%s", ferry_ctx_get(l->c->ctx, "threads"));
    }
    const int code = spec ? run_script(l, (char **)(uintptr_t)words, text, 4096) : 0;
    if (code != 0) {
        const char *last = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
        stop_if_asked(l);
        if (code == 127)
            last = study_text("%s prepares its data with python3, which is not here",
                              l->s->name);
        cli_say("%s", last[0] ? last : "the preparation of the data failed");
        exit(EXIT_USAGE);
    }
    l->prepared = json_load_file(path, 0, NULL);
}

/* ---- runs ---- */

static const char *word_of(const char *s)
{
    char buffer[4096];

    return study_text("%s", cli_word(s, buffer, sizeof buffer));
}

/* {method: {metric: mean}}; a method that did not run has its reason. */
static json_t *scores_of(const ferry_results *results)
{
    json_t *scores = json_object();

    for (int64_t i = 0; ferry_results_at(results, i); i++) {
        const ferry_result *r = ferry_results_at(results, i);
        json_t *one = r->reason ? json_string(r->reason) : json_object();
        for (int64_t k = 0; !r->reason && ferry_result_metric_at(r, k); k++) {
            const ferry_metric_runs *m = ferry_result_metric_at(r, k);
            (void)json_object_set_new(one, m->name,
                                      isfinite(m->mean) ? json_real(m->mean) : json_null());
        }
        (void)json_object_set_new(scores, r->name, one ? one : json_null());
    }
    return scores;
}

/* Evaluate the task file under the settings, and record the command that gives the same
 * numbers when given in the folder. */
static ferry_results *evaluate(lab *l, const char *file, const node *sets, const scope *s,
                               uint64_t seed)
{
    ferry_ctx *ctx = l->c->ctx;
    const double began = clock_of(CLOCK_MONOTONIC);
    const char *command = study_text("ferry run %s", word_of(file));
    const char *number = study_text("%llu", (unsigned long long)seed);
    ferry_task *task = NULL;
    ferry_results *results = NULL;
    ferry_opts *opts = NULL;

    check_call(l, ferry_opts_new(ctx, &opts));
    for (int64_t i = 0; sets && i < sets->n; i++) {
        const char *key = study_expand(l, s, sets->key[i], sets->line);
        const char *value = study_string(l, s, sets, sets->key[i], NULL);
        check_call(l, ferry_opts_set(ctx, opts, key, value));
        command =
            study_text("%s --set %s", command, word_of(study_text("%s=%s", key, value)));
    }
    check_call(l, ferry_opts_set(ctx, opts, "evaluate.seed", number));
    check_call(l, ferry_opts_set(ctx, opts, "evaluate.controls", "none"));
    check_call(
        l, ferry_ctx_set(ctx, "seed",
                         number)); /* text that is sampled while it is read draws from it */
    check_call(l, ferry_task_load(ctx, study_text("%s/%s", l->folder, file), opts, &task));
    check_call(l, ferry_evaluate(ctx, task, NULL, &results));
    command = study_text("%s --seed %s --controls none", command, number);
    (void)json_array_append_new(l->runs,
                                json_pack("{s:s, s:f, s:o}", "command", command, "seconds",
                                          clock_of(CLOCK_MONOTONIC) - began, "scores",
                                          scores_of(results)));
    ferry_task_free(task);
    ferry_opts_free(opts);
    return results;
}

/* Instead of an evaluation: fit every method of the task `fits` times with the target's
 * labels hidden. Processor time in milliseconds, all threads together, of the fastest: other
 * work on the machine does not count. */
static void time_fits(const lab *l, const char *file, int64_t fits, run *u)
{
    ferry_ctx *ctx = l->c->ctx;
    ferry_task *task = NULL, *seen = NULL;
    ferry_model *model = NULL;

    check_call(l, ferry_task_load(ctx, study_text("%s/%s", l->folder, file), NULL, &task));
    check_call(l, ferry_task_visible(ctx, task, FERRY_AS_FITTED, &seen));
    int64_t n = 0;
    while (ferry_task_method_at(task, n))
        n++;
    double *ms = study_alloc((size_t)n * sizeof *ms);
    for (int64_t i = 0; ferry_task_method_at(task, i); i++) {
        const ferry_task_method *m = ferry_task_method_at(task, i);
        ms[names_add(&u->timed, m->as)] = INFINITY;
        for (int64_t r = 0; r < fits; r++) {
            const double began = clock_of(CLOCK_PROCESS_CPUTIME_ID);
            check_call(l, ferry_fit(ctx, seen, m->method, m->opts, &model, NULL));
            ms[i] = fmin(ms[i], 1e3 * (clock_of(CLOCK_PROCESS_CPUTIME_ID) - began));
            ferry_model_free(model);
        }
    }
    u->ms = ms;
    ferry_task_free(seen);
    ferry_task_free(task);
}

static const char *const run_keys[] = {"name", "over", "seed", "file", "task",
                                       "set",  "time", "only", "let"};

/* One run: its task file, its results, its cells. */
static void one_run(lab *l, const node *spec, const scope *s, void *arg)
{
    const char *offset = study_string(l, s, spec, "seed", "0");
    const uint64_t seed = l->seed + (uint64_t)strtoull(offset, NULL, 10);

    (void)arg;
    s = study_name("seed", study_text("%llu", (unsigned long long)seed), s);
    const char *file = study_string(l, s, spec, "file", NULL);
    const char *text = study_string(l, s, spec, "task", NULL);
    const char *fits = study_string(l, s, spec, "time", "");
    run u = {.group = study_string(l, s, spec, "name", ""), .scope = s};
    if (l->checking) { /* only how many there are, and whether its texts are right */
        l->planned++;
        return;
    }
    write_file(l, file, text);
    ferry_results *results = NULL;
    if (fits[0])
        time_fits(l, file, strtol(fits, NULL, 10), &u);
    else
        results = evaluate(l, file, node_get(l->quick, spec, "set"), s, seed);
    u.results = results;
    study_fill(l, &u);
    ferry_results_free(results);
    l->done++;
}

static void all_runs(lab *l)
{
    const node *runs = node_get(l->quick, l->s->root, "runs");

    if (runs->kind != NODE_LIST) study_bad(l->s, runs->line, "runs: expected a list");
    for (int64_t i = 0; i < runs->n; i++) {
        study_keys(l->s, runs->item[i], run_keys, COUNT(run_keys));
        study_each(l, runs->item[i], "over", l->scope, one_run, NULL);
    }
}

/* ---- all of it ---- */

/* The evaluation's own steps become a share of this run of the study. */
static ferry_answer on_progress(void *user, const ferry_progress *p)
{
    const lab *l = user;
    double share = p->total > 0 ? fmin(1, (double)p->done / (double)p->total) : 0;
    ferry_progress q = *p;

    if (p->steps > 0)
        share = fmax(0, fmin(1, ((double)(p->step - 1) + share) / (double)p->steps));
    q.done = (int64_t)(1000 * share);
    q.total = 1000;
    q.step = l->done + 1 < l->planned ? l->done + 1 : l->planned;
    q.steps = l->planned;
    return cli_progress(l->c->value[KEY_QUIET] ? NULL : l->c, &q);
}

static void on_log(void *user, ferry_level level, const char *line)
{
    (void)level;
    names_add(&((lab *)user)->said, line);
}

void study_run(lab *l)
{
    const double began = clock_of(CLOCK_MONOTONIC);
    const char *log = "";

    /* Tables, runs and claims as they are written, before anything is done. */
    study_scope(l);
    l->checking = true;
    study_tables(l);
    all_runs(l);
    study_judge(l);
    l->checking = false;

    /* What an earlier run left must not pass for this one's. */
    (void)unlink(study_text("%s/study.json", l->folder));
    (void)unlink(study_text("%s/log.txt", l->folder));
    l->started = clock_of(CLOCK_REALTIME);
    l->runs = json_array();
    cli_ask_before_stopping();
    ferry_ctx_set_progress(l->c->ctx, on_progress, l);
    ferry_ctx_set_log(l->c->ctx, on_log, FERRY_WARN, l);
    prepare(l);
    all_runs(l);
    study_finish(l);
    study_judge(l);
    cli_progress_end();
    l->seconds = clock_of(CLOCK_MONOTONIC) - began;
    for (int64_t i = 0; i < l->said.n; i++)
        log = study_text("%s%s\n", log, l->said.name[i]);
    if (log[0]) write_file(l, "log.txt", log);
    write_file(l, "study.json", study_json(l));
}
