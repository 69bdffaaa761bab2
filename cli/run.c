/* ferry run: methods side by side on a task. */
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

/* Whether a method has the same numbers in every repeat, and the same verdict. */
static bool same_result(const ferry_result *a, const ferry_result *b)
{
    if (ferry_result_metric_count(a) != ferry_result_metric_count(b)) return false;
    for (int64_t m = 0; m < ferry_result_metric_count(a); m++) {
        const ferry_metric_runs *x = ferry_result_metric_at(a, m),
                                *y = ferry_result_metric_at(b, m);
        if (strcmp(x->name, y->name) != 0 || x->repeats != y->repeats) return false;
        for (int64_t r = 0; r < x->repeats; r++)
            if (!same_number(x->runs[r], y->runs[r])) return false;
    }
    return a->verdict == b->verdict && same_number(a->gain, b->gain) &&
           same_number(a->low, b->low) && same_number(a->high, b->high) &&
           same_number(a->p, b->p) && same_number(a->p_holm, b->p_holm) &&
           strcmp(a->sentence ? a->sentence : "", b->sentence ? b->sentence : "") == 0;
}

/* Whether the numbers of a run came out again, digit by digit; says so. */
static int compare(const cli *c, const ferry_results *now)
{
    ferry_results *then = NULL;
    const ferry_status st = ferry_results_load(c->ctx, c->compare, &then);
    int differ = 0;

    if (st != FERRY_OK) return cli_failed(c, st);
    for (int64_t i = 0; i < ferry_results_count(then); i++) {
        const ferry_result *one = ferry_results_at(then, i);
        const ferry_result *again = ferry_results_find(now, one->name);
        if (one->reason || (again && !again->reason && same_result(one, again))) continue;
        cli_say("%s/results.json: %s gave other numbers", c->compare, one->name);
        differ = 1;
    }
    if (!differ) cli_say("the same numbers as in %s/results.json", c->compare);
    ferry_results_free(then);
    return differ ? EXIT_FAILED : EXIT_DONE;
}

int cli_evaluate(cli *c, const ferry_task *task, const char *dir)
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
        fputs(c->value[KEY_JSON] ? json : table, stdout);
        if (c->value[KEY_JSON] && json[strlen(json) - 1] != '\n') putchar('\n');
        if (dir) st = ferry_results_save(c->ctx, results, dir);
    }
    if (st != FERRY_OK)
        code = cli_failed(c, st);
    else if (ended == FERRY_ECANCELLED)
        code = stopped(dir, ferry_results_info(results)->repeats);
    else if (dir)
        cli_note(c, "results.json, predictions and report.html are in %s", dir);
    if (code == EXIT_DONE && c->compare) code = compare(c, results);
done:
    ferry_string_free(json);
    ferry_string_free(table);
    ferry_results_free(results);
    return code;
}

/* results/NAME, with what does not belong into a file name replaced. */
static char *default_folder(const ferry_task *task)
{
    char *dir = cli_join("results/", ferry_task_name(task), "");

    for (char *s = dir + strlen("results/"); *s; s++)
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

int cli_run(cli *c)
{
    ferry_task *task = NULL;
    char *dir = NULL;
    int code = EXIT_DONE;

    /* --seed rules over the task's own */
    ferry_status st = FERRY_OK;
    if (c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.seed", c->value[KEY_SEED]);
    if (st == FERRY_OK && c->value[KEY_GUARD])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.guard", "yes");
    if (st == FERRY_OK && c->value[KEY_CONTROLS])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.controls", c->value[KEY_CONTROLS]);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, c->args[0], c->sets, &task);
    if (st == FERRY_OK) st = say_links(c, task);
    if (st != FERRY_OK) return cli_failed(c, st);
    dir = c->value[KEY_OUT] ? cli_join(c->value[KEY_OUT], "", "") : default_folder(task);
    code = cli_can_fill(dir);
    if (code == EXIT_DONE) code = cli_evaluate(c, task, dir);
    free(dir);
    ferry_task_free(task);
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
