/* ferry fit and ferry predict: one model, kept in a file. */
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

    for (int64_t i = 0; st == FERRY_OK && i < ferry_opts_count(c->sets); i++) {
        const char *key = NULL, *value = NULL;
        ferry_opts_at(c->sets, i, &key, &value);
        st = ferry_opts_set(c->ctx, strchr(key, '.') ? task : method, key, value);
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
    const ferry_opts *given = NULL;
    const char *name = c->value[KEY_METHOD], *as = NULL, *entry = NULL;
    int64_t at = -1;

    *method = name;
    for (int64_t i = ferry_task_methods(task) - 1; i >= 0; i--) {
        ferry_task_method_at(task, i, &entry, &as, &given);
        if (strcmp(as, name) == 0) {
            at = i;
            break;
        }
        if (strcmp(entry, name) == 0) at = i;
    }
    if (at < 0) return FERRY_OK;
    ferry_task_method_at(task, at, method, &as, &given);
    for (int64_t i = 0; st == FERRY_OK && i < ferry_opts_count(given); i++) {
        const char *key = NULL, *value = NULL;
        ferry_opts_at(given, i, &key, &value);
        if (!ferry_opts_get(opts, key)) st = ferry_opts_set(c->ctx, opts, key, value);
    }
    return st;
}

/* What the method could learn from: "9 of the 300 labels of target". */
static void say_labels(const cli *c, const ferry_task *all, const ferry_task *seen,
                       const char *method, double seconds)
{
    char text[512] = "";
    size_t n = 0;

    for (int64_t i = 0; i < ferry_task_domains(seen) && n < sizeof text; i++) {
        const ferry_domain *d = ferry_task_domain(seen, i);
        const int64_t had = ferry_domain_labels(ferry_task_domain(all, i));
        if (had == 0) continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld of the %lld labels of %s",
                              n > 0 ? ", " : "", (long long)ferry_domain_labels(d),
                              (long long)had, ferry_domain_name(d));
    }
    cli_note(c, "%s is in %s after %.2f s; it could see %s", method, c->value[KEY_OUT],
             seconds, n > 0 ? text : "no labels");
}

int cli_fit(cli *c)
{
    ferry_status st = FERRY_OK;
    ferry_task *task = NULL, *seen = NULL;
    ferry_opts *sets = NULL, *opts = NULL;
    ferry_model *model = NULL;
    ferry_report report = {0};
    const char *method = NULL;
    uint64_t seed = 0;

    if (!c->value[KEY_METHOD])
        return cli_usage("fit: which method? -m METHOD (ferry methods lists them)");
    if (!c->value[KEY_OUT]) return cli_usage("fit: where to save the model? -o MODEL");
    if (cli_can_write(c->value[KEY_OUT]) != EXIT_DONE) return EXIT_USAGE;
    if (st == FERRY_OK) st = ferry_opts_new(c->ctx, &sets);
    if (st == FERRY_OK) st = ferry_opts_new(c->ctx, &opts);
    if (st == FERRY_OK) st = split_sets(c, sets, opts);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, c->args[0], sets, &task);
    if (st == FERRY_OK) st = choose(c, task, opts, &method);
    if (st == FERRY_OK) st = ferry_task_seed(c->ctx, task, &seed);
    if (st == FERRY_OK) ferry_ctx_set_seed(c->ctx, seed);
    if (st == FERRY_OK) st = ferry_task_visible(c->ctx, task, 0, &seen);
    cli_ask_before_stopping();
    if (st == FERRY_OK) st = ferry_fit(c->ctx, seen, method, opts, &model, &report);
    if (st == FERRY_OK) st = ferry_model_save(c->ctx, model, c->value[KEY_OUT]);
    if (st == FERRY_OK) say_labels(c, task, seen, method, report.seconds);
    const int code = st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
    ferry_model_free(model);
    ferry_task_free(seen);
    ferry_task_free(task);
    ferry_opts_free(opts);
    ferry_opts_free(sets);
    return code;
}

/* ---- predict ---- */

/* View and file of an argument "VIEW=FILE" or "FILE". The length of the view's name; 0 when
 * there is none, so that a file may have = in its name. */
static size_t view_of(const ferry_model *model, const char *arg)
{
    const char *equals = strchr(arg, '=');

    for (int64_t i = 0; equals && i < ferry_model_views(model); i++) {
        const char *name = ferry_model_view_name(model, i);
        const size_t n = strlen(name);
        if (n == (size_t)(equals - arg) && strncmp(arg, name, n) == 0) return n;
    }
    return 0;
}

static int name_the_views(const ferry_model *model)
{
    char names[512] = "";
    size_t n = 0;

    for (int64_t i = 0; i < ferry_model_views(model) && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, " %s=FILE",
                              ferry_model_view_name(model, i));
    return cli_usage("predict: this model has %lld view%s: give%s",
                     (long long)ferry_model_views(model),
                     ferry_model_views(model) == 1 ? "" : "s", names);
}

/* Read every DATA argument into the domain. */
static int read_views(cli *c, const ferry_model *model, ferry_domain *domain)
{
    for (int64_t i = 1; i < c->n_args; i++) {
        const char *arg = c->args[i];
        const size_t n = view_of(model, arg);
        ferry_data *data = NULL;
        char *view = NULL;

        if (n == 0 && (ferry_model_views(model) > 1 || c->n_args > 2))
            return name_the_views(model);
        if (n > 0) {
            view = cli_join(arg, "", "");
            view[n] = 0;
        } else {
            const char *only = ferry_model_view_name(model, 0);
            view = cli_join(only ? only : "x", "", "");
        }
        ferry_status st = ferry_model_read_view(c->ctx, model, view,
                                                n > 0 ? arg + n + 1 : arg, c->sets, &data);
        if (st == FERRY_OK) st = ferry_domain_add_data(c->ctx, domain, view, data);
        ferry_data_free(data);
        free(view);
        if (st != FERRY_OK) return cli_failed(c, st);
    }
    return EXIT_DONE;
}

/* Pairs to rate: files of ratings, whose values may be blank and are not looked at. */
static int read_pairs(cli *c, ferry_domain *domain)
{
    ferry_data *data = NULL;
    ferry_status st = FERRY_OK;

    if (c->n_args > 2) return cli_usage("predict: give one file of pairs to rate");
    if (!c->value[KEY_FORMAT]) st = ferry_opts_set(c->ctx, c->sets, "format", "ratings");
    if (st == FERRY_OK) st = ferry_read(c->ctx, c->args[1], c->sets, &data);
    if (st == FERRY_OK) st = ferry_domain_add_data(c->ctx, domain, "pairs", data);
    ferry_data_free(data);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

int cli_print_file(const char *path)
{
    char block[65536];
    size_t n = 0;
    FILE *file = fopen(path, "rb");

    if (!file) {
        cli_say("%s: cannot read", path);
        return EXIT_FAILED;
    }
    while ((n = fread(block, 1, sizeof block, file)) > 0 &&
           fwrite(block, 1, n, stdout) == n)
        ;
    (void)fclose(file);
    return EXIT_DONE;
}

/* Predictions to --out, or by way of a temporary file to stdout. */
static int write_prediction(cli *c, const ferry_prediction *p)
{
    char *folder = c->value[KEY_OUT] ? NULL : cli_temporary();
    char *path = folder ? cli_join(folder, "/predictions.csv", "")
                        : cli_join(c->value[KEY_OUT], "", "");
    int code = EXIT_DONE;

    const ferry_status st = ferry_prediction_write(c->ctx, p, path);
    if (st != FERRY_OK)
        code = cli_failed(c, st);
    else if (folder)
        code = cli_print_file(path);
    else
        cli_note(c, "%lld predictions are in %s", (long long)p->n, path);
    free(path);
    cli_remove(folder);
    return code;
}

int cli_predict(cli *c)
{
    ferry_status st = FERRY_OK;
    ferry_model *model = NULL;
    ferry_domain *domain = NULL;
    ferry_prediction *p = NULL;
    int code = EXIT_DONE;

    if (c->value[KEY_OUT] && cli_can_write(c->value[KEY_OUT]) != EXIT_DONE)
        return EXIT_USAGE;
    if (c->value[KEY_FORMAT])
        st = ferry_opts_set(c->ctx, c->sets, "format", c->value[KEY_FORMAT]);
    if (st == FERRY_OK) st = ferry_model_load(c->ctx, c->args[0], NULL, &model);
    if (st == FERRY_OK) st = ferry_domain_new(c->ctx, "data", FERRY_TARGET, &domain);
    if (st == FERRY_OK)
        code = ferry_model_goal(model) == FERRY_RATE ? read_pairs(c, domain)
                                                     : read_views(c, model, domain);
    cli_ask_before_stopping();
    if (st == FERRY_OK && code == EXIT_DONE) st = ferry_predict(c->ctx, model, domain, &p);
    if (st == FERRY_OK && code == EXIT_DONE) code = write_prediction(c, p);
    if (st != FERRY_OK) code = cli_failed(c, st);
    ferry_prediction_free(p);
    ferry_domain_free(domain);
    ferry_model_free(model);
    return code;
}
