/* ferry run: methods side by side on a task. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Say what is left after Ctrl-C. */
static int stopped(const char *dir, int64_t repeats)
{
    if (repeats == 0)
        cli_say("interrupted before a repeat was complete: nothing was kept");
    else if (dir)
        cli_say("interrupted: the %lld complete repeat%s kept in %s", (long long)repeats,
                repeats == 1 ? " is" : "s are", dir);
    else
        cli_say("interrupted after %lld complete repeat%s", (long long)repeats,
                repeats == 1 ? "" : "s");
    return EXIT_INTERRUPTED;
}

/* Equal in the 15 digits that results.json keeps; nan is nan. */
static bool same_number(double a, double b)
{
    char x[40], y[40];

    snprintf(x, sizeof x, "%.15g", a);
    snprintf(y, sizeof y, "%.15g", b);
    return strcmp(x, y) == 0 || (isnan(a) && isnan(b));
}

/* Whether a method has the same numbers in every repeat, and the same verdict. Results of the first
 * schema (a) had another one; a sentence that tells how long draws would take may differ in that. */
static bool same_result(const ferry_result *a, const ferry_result *b, bool first)
{
    if (ferry_result_metric_count(a) != ferry_result_metric_count(b)) return false;
    for (int64_t m = 0; m < ferry_result_metric_count(a); m++) {
        const ferry_metric_runs *x = ferry_result_metric_at(a, m),
                                *y = ferry_result_metric_at(b, m);
        if (strcmp(x->name, y->name) != 0 || x->repeats != y->repeats) return false;
        for (int64_t r = 0; r < x->repeats; r++)
            if (!same_number(x->runs[r], y->runs[r])) return false;
    }
    if (first) return true;
    return a->verdict == b->verdict && same_number(a->gain, b->gain) &&
           same_number(a->low, b->low) && same_number(a->high, b->high) &&
           same_number(a->p, b->p) && same_number(a->p_holm, b->p_holm) &&
           (a->needed_draws > 0 ||
            strcmp(a->sentence ? a->sentence : "", b->sentence ? b->sentence : "") == 0);
}

/* Whether the numbers of a run came out again, digit by digit; says so. */
static int compare(const cli *c, const ferry_results *now)
{
    ferry_results *then = NULL;
    const ferry_status st = ferry_results_load(c->ctx, c->compare, &then);
    int differ = 0;

    if (st != FERRY_OK) return cli_failed(c, st);
    const bool first =
        isnan(ferry_results_info(then)->least); /* schema 2 always tells it */
    for (int64_t i = 0; i < ferry_results_count(then); i++) {
        const ferry_result *one = ferry_results_at(then, i);
        const ferry_result *again = ferry_results_find(now, one->name);
        if (one->reason || (again && !again->reason && same_result(one, again, first)))
            continue;
        cli_say("%s/results.json: %s gave other numbers", c->compare, one->name);
        differ = 1;
    }
    if (!differ) cli_say("the same numbers as in %s/results.json", c->compare);
    ferry_results_free(then);
    return differ ? EXIT_FAILED : EXIT_DONE;
}

/* *kept (may be NULL) gets the results; then nothing is printed, since a summary follows. */
static int evaluate(cli *c, const ferry_task *task, const char *dir, ferry_results **kept)
{
    ferry_results *results = NULL;
    char *table = NULL, *json = NULL;
    int code = EXIT_DONE;
    ferry_status st = FERRY_OK;

    cli_ask_before_stopping();
    const ferry_status ended = ferry_evaluate(c->ctx, task, &results);
    cli_progress_end();
    if (!results) {
        code = ended == FERRY_ECANCELLED ? stopped(dir, 0) : cli_failed(c, ended);
        goto done;
    }
    st = ferry_results_json(c->ctx, results, &json);
    if (st == FERRY_OK) st = ferry_results_table(c->ctx, results, &table);
    if (st == FERRY_OK) {
        if (!kept) fputs(c->value[KEY_JSON] ? json : table, stdout);
        if (!kept && c->value[KEY_JSON] && json[strlen(json) - 1] != '\n') putchar('\n');
        if (dir) st = ferry_results_save(c->ctx, results, dir);
    }
    if (st != FERRY_OK)
        code = cli_failed(c, st);
    else if (ended == FERRY_ECANCELLED)
        code = stopped(dir, ferry_results_info(results)->repeats);
    else if (dir)
        cli_note(c, "results.json, predictions and report.html are in %s", dir);
    if (code == EXIT_DONE && c->compare) code = compare(c, results);
    if (kept && code == EXIT_DONE) {
        *kept = results;
        results = NULL;
    }
done:
    ferry_string_free(json);
    ferry_string_free(table);
    ferry_results_free(results);
    return code;
}

int cli_evaluate(cli *c, const ferry_task *task, const char *dir)
{
    return evaluate(c, task, dir, NULL);
}

/* FOLDER/NAME, with what does not belong into a file name replaced. */
static char *default_folder(const char *folder, const ferry_task *task)
{
    char *dir = cli_join(folder, "/", ferry_task_name(task));

    for (char *s = dir + strlen(folder) + 1; *s; s++)
        if (*s == '/' || (unsigned char)*s <= ' ' || (*s == '.' && s[-1] == '/')) *s = '_';
    return dir;
}

/* What was taken for the same features, in one line: a wrong link spoils every number. */
static ferry_status say_links(const cli *c, const ferry_task *task)
{
    char *links = NULL;
    const ferry_status st = ferry_task_links(c->ctx, task, &links);

    if (links && links[0]) cli_note(c, "the same features: %s", links);
    ferry_string_free(links);
    return st;
}

/* One task file; *kept as above. */
static int run_file(cli *c, const char *path, const char *dir, ferry_results **kept)
{
    ferry_task *task = NULL;
    char *own = NULL;
    int code = EXIT_DONE;

    ferry_status st = ferry_task_load(c->ctx, path, c->sets, &task);
    if (st == FERRY_OK) st = say_links(c, task);
    if (st != FERRY_OK) {
        ferry_task_free(task);
        return cli_failed(c, st);
    }
    own =
        dir && !kept ? cli_join(dir, "", "") : default_folder(dir ? dir : "results", task);
    code = cli_can_fill(own);
    if (kept) cli_note(c, "%s", path);
    if (code == EXIT_DONE) code = evaluate(c, task, own, kept);
    free(own);
    ferry_task_free(task);
    return code;
}

/* ---- several tasks ---- */

typedef struct paths {
    char **path;
    int64_t n;
} paths;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_path(paths *p, char *path)
{
    char **more = realloc(p->path, (size_t)(p->n + 1) * sizeof *p->path);

    if (!more) abort(); /* as cli_join() does */
    p->path = more;
    p->path[p->n++] = path;
}

/* A task file, or the task files (*.yaml) in a folder and in the folders in it, by name. */
static void add_tasks(paths *p, const char *arg, int depth)
{
    DIR *dir = opendir(arg);
    const int64_t first = p->n;

    if (!dir) {
        const size_t len = strlen(arg);
        if (depth == 0 || (len > 5 && strcmp(arg + len - 5, ".yaml") == 0))
            add_path(p, cli_join(arg, "", ""));
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        char *path = cli_join(arg, "/", e->d_name);
        if (e->d_name[0] != '.' && depth < 2) add_tasks(p, path, depth + 1);
        free(path);
    }
    closedir(dir);
    qsort(p->path + first, (size_t)(p->n - first), sizeof *p->path, by_name);
}

static int summarise(const cli *c, int64_t n, ferry_results **results)
{
    char *text = NULL;
    const ferry_results *const *all = (const ferry_results *const *)results;
    const ferry_status st = c->value[KEY_JSON] ? ferry_summary_json(c->ctx, n, all, &text)
                                               : ferry_summary_table(c->ctx, n, all, &text);

    if (st != FERRY_OK) return cli_failed(c, st);
    fputs(text, stdout);
    ferry_string_free(text);
    return EXIT_DONE;
}

static int run_several(cli *c, const paths *p)
{
    ferry_results **results = calloc((size_t)p->n, sizeof *results);
    int code = results ? EXIT_DONE : EXIT_FAILED;

    for (int64_t i = 0; code == EXIT_DONE && i < p->n; i++)
        code = run_file(c, p->path[i], c->value[KEY_OUT], &results[i]);
    if (code == EXIT_DONE) code = summarise(c, p->n, results);
    for (int64_t i = 0; results && i < p->n; i++)
        ferry_results_free(results[i]);
    free(results);
    return code;
}

int cli_run(cli *c)
{
    paths p = {0};
    int code = EXIT_DONE;

    /* --seed rules over the task's own */
    ferry_status st = FERRY_OK;
    if (c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.seed", c->value[KEY_SEED]);
    if (st == FERRY_OK && c->value[KEY_GUARD])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.guard", "yes");
    if (st == FERRY_OK && c->value[KEY_CONTROLS])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.controls", c->value[KEY_CONTROLS]);
    if (st != FERRY_OK) return cli_failed(c, st);
    for (int64_t i = 0; i < c->n_args; i++)
        add_tasks(&p, c->args[i], 0);
    if (p.n == 0) return cli_usage("run: no task file (*.yaml) there");
    code = p.n == 1 ? run_file(c, p.path[0], c->value[KEY_OUT], NULL) : run_several(c, &p);
    for (int64_t i = 0; i < p.n; i++)
        free(p.path[i]);
    free(p.path);
    return code;
}

int cli_rerun(cli *c)
{
    ferry_task *task = NULL;
    int code = EXIT_DONE;
    const char *dir = c->value[KEY_OUT];

    if (dir) code = cli_can_fill(dir);
    if (code != EXIT_DONE) return code;
    ferry_status st = ferry_task_rerun(c->ctx, c->args[0], &task);
    if (st != FERRY_OK) return cli_failed(c, st);
    if (c->value[KEY_THREADS]) code = cli_configure(c); /* over the record's */
    c->compare = c->args[0];
    if (code == EXIT_DONE) code = cli_evaluate(c, task, dir);
    ferry_task_free(task);
    return code;
}

int cli_report(cli *c)
{
    char *path = c->value[KEY_OUT] ? cli_join(c->value[KEY_OUT], "", "")
                 : c->n_args == 1  ? cli_join(c->args[0], "/report.html", "")
                                   : cli_join("report.html", "", "");
    const ferry_status st = ferry_report_write(c->ctx, c->n_args, c->args, path);

    if (st == FERRY_OK) cli_note(c, "the report is %s", path);
    free(path);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}
