/* ferry run: methods side by side on a task. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Complete repeats in the results. */
static int64_t repeats_of(const char *json)
{
    json_t *all = json_loads(json, 0, NULL), *one = NULL;
    size_t i = 0, most = 0;

    json_array_foreach(json_object_get(all, "results"), i, one)
    {
        const size_t n = json_array_size(json_object_get(one, "runs"));
        if (n > most) most = n;
    }
    json_decref(all);
    return (int64_t)most;
}

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

/* Result of that name in a results.json. */
static json_t *result_of(const json_t *all, const char *name)
{
    json_t *one = NULL;
    size_t i = 0;

    json_array_foreach(json_object_get(all, "results"), i, one)
    {
        const char *have = json_string_value(json_object_get(one, "name"));
        if (have && name && strcmp(have, name) == 0) return one;
    }
    return NULL;
}

/* Whether the numbers of a run came out again, digit by digit; says so. */
static int compare(const char *folder, const char *json)
{
    char *path = cli_join(folder, "/results.json", "");
    json_t *then = json_load_file(path, 0, NULL), *now = json_loads(json, 0, NULL);
    json_t *one = NULL;
    size_t i = 0;
    int differ = 0;

    if (!then || !now) {
        cli_say("%s: cannot read it to compare", path);
        differ = 1;
    }
    json_array_foreach(json_object_get(then, "results"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        const json_t *again = result_of(now, name);
        if (again &&
            json_equal(json_object_get(one, "metrics"),
                       json_object_get(again, "metrics")) &&
            json_equal(json_object_get(one, "verdict"), json_object_get(again, "verdict")))
            continue;
        cli_say("%s: %s gave other numbers", path, name ? name : "a result without a name");
        differ = 1;
    }
    if (!differ) cli_say("the same numbers as in %s", path);
    json_decref(then);
    json_decref(now);
    free(path);
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
        code = stopped(dir, repeats_of(json));
    else if (dir)
        cli_note(c, "results.json, predictions and report.html are in %s", dir);
    if (code == EXIT_DONE && c->compare) code = compare(c->compare, json);
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
