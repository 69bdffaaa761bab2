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
        cli_note(c, "results.json and predictions are in %s", dir);
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
