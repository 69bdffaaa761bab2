/* ferry fit: one model, kept in a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* ---- fit ---- */

/* --set of a key with a dot changes the task, else an option of the method. */
static ferry_status split_sets(cli *c, ferry_opts *task, ferry_opts *method)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; st == FERRY_OK && ferry_opts_at(c->sets, i); i++) {
        const ferry_setting *s = ferry_opts_at(c->sets, i);
        st = ferry_opts_set(c->ctx, strchr(s->key, '.') ? task : method, s->key, s->value);
    }
    if (st == FERRY_OK && c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, task, "evaluate.seed", c->value[KEY_SEED]);
    return st;
}

/* The method of that name, with the options that the task gives it where they are not set
 * in the call: an entry of the task by its own name first, then by its method. */
static ferry_status choose(cli *c, const ferry_task *task, ferry_opts *opts,
                           const char **method)
{
    ferry_status st = FERRY_OK;
    const char *name = c->value[KEY_METHOD];
    const ferry_task_method *found = NULL;

    *method = name;
    for (int64_t i = 0; ferry_task_method_at(task, i); i++) {
        const ferry_task_method *m = ferry_task_method_at(task, i);
        const bool called = strcmp(m->as, name) == 0;
        if (called || (!found && strcmp(m->method, name) == 0)) found = m;
        if (called) break;
    }
    if (!found) return FERRY_OK;
    *method = found->method;
    for (int64_t i = 0; st == FERRY_OK && ferry_opts_at(found->opts, i); i++) {
        const ferry_setting *s = ferry_opts_at(found->opts, i);
        if (!ferry_opts_get(opts, s->key))
            st = ferry_opts_set(c->ctx, opts, s->key, s->value);
    }
    return st;
}

enum { ROOM = 512 };

/* What the method could learn from: "9 of the 300 labels of target". */
static void list_labels(const ferry_task *all, const ferry_task *seen, char text[ROOM])
{
    size_t n = 0;

    (void)snprintf(text, ROOM, "no labels");
    for (int64_t i = 0; ferry_task_domain_at(seen, i) && n < ROOM; i++) {
        const ferry_domain *d = ferry_task_domain_at(seen, i);
        const int64_t had = ferry_domain_labels(ferry_task_domain_at(all, i));
        if (had == 0) continue;
        n += (size_t)snprintf(text + n, ROOM - n, "%s%lld of the %lld labels of %s",
                              n > 0 ? ", " : "", (long long)ferry_domain_labels(d),
                              (long long)had, ferry_domain_name(d));
    }
}

/* What is recommended: a model, and why, said from the evidence in it. */
static ferry_status recommend(cli *c, const ferry_task *task, ferry_model **model)
{
    static const char *const lines[] = {"use", "expect", "source"};
    static const char *const words[] = {"Use", "Expect", "Source"};
    const ferry_status st =
        ferry_fit_answer(c->ctx, task, c->value[KEY_SINGLE] != NULL, model);

    if (st != FERRY_OK) return st;
    cli_progress_end();
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; ferry_model_diagnostic_at(*model, i); i++) {
            const ferry_diagnostic *d = ferry_model_diagnostic_at(*model, i);
            if (strncmp(d->name, "answer.", 7) == 0 && strcmp(d->name + 7, lines[k]) == 0 &&
                d->texts)
                cli_note(c, "%-8s %s", words[k], d->texts[0]);
        }
    return FERRY_OK;
}

int cli_fit(cli *c)
{
    ferry_status st = FERRY_OK;
    ferry_task *task = NULL, *seen = NULL;
    ferry_opts *sets = NULL, *opts = NULL;
    ferry_model *model = NULL;
    ferry_fit_info info = {.size = sizeof info};
    const char *method = NULL;
    char labels[ROOM] = "";

    if (c->value[KEY_GUARD])
        cli_note(c,
                 "--guard does nothing any more: without -m what is recommended is fitted");
    if (!c->value[KEY_OUT]) return cli_usage("fit: where to save the model? -o MODEL");
    if (cli_can_save(c->value[KEY_OUT]) != EXIT_DONE) return EXIT_USAGE;
    if (st == FERRY_OK) st = ferry_opts_new(c->ctx, &sets);
    if (st == FERRY_OK) st = ferry_opts_new(c->ctx, &opts);
    if (st == FERRY_OK) st = split_sets(c, sets, opts);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, c->args[0], sets, &task);
    if (st == FERRY_OK && c->value[KEY_METHOD]) st = choose(c, task, opts, &method);
    if (st == FERRY_OK) st = ferry_task_visible(c->ctx, task, FERRY_AS_FITTED, &seen);
    if (st == FERRY_OK) list_labels(task, seen, labels);
    ferry_task_free(seen); /* the fit makes its own */
    cli_ask_before_stopping();
    if (st == FERRY_OK && !method && ferry_opts_at(opts, 0)) {
        ferry_opts_free(opts);
        ferry_opts_free(sets);
        ferry_task_free(task);
        return cli_usage("fit: --set of a method's option needs -m METHOD");
    }
    if (st == FERRY_OK && !method) st = recommend(c, task, &model);
    if (st == FERRY_OK && method) st = ferry_fit(c->ctx, task, method, opts, &model, &info);
    if (st == FERRY_OK) st = ferry_model_save(c->ctx, model, c->value[KEY_OUT]);
    if (st == FERRY_OK && method)
        cli_note(c, "%s is in %s after %.2f s; it could see %s", method, c->value[KEY_OUT],
                 info.seconds, labels);
    else if (st == FERRY_OK)
        cli_note(c, "the model is in %s; it could see %s", c->value[KEY_OUT], labels);
    const int code = st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
    ferry_model_free(model);
    ferry_task_free(task);
    ferry_opts_free(opts);
    ferry_opts_free(sets);
    return code;
}
