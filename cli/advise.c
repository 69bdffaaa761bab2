/* ferry advise: what fits a task, before it is run. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s ? s : "";
}

/* NaN for null. */
static double real_of(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static int64_t whole_of(const json_t *object, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(object, key));
}

static void print_domains(const json_t *all)
{
    cli_table t = {.cols = 5};
    json_t *d = NULL, *v = NULL;
    size_t i = 0, k = 0;

    cli_cell(&t, "domain");
    cli_cell(&t, "role");
    cli_cell(&t, "instances");
    cli_cell(&t, "labels");
    cli_cell(&t, "views, graphs, ratings");
    json_array_foreach(json_object_get(all, "domains"), i, d)
    {
        char parts[200] = "";
        size_t n = 0;
        cli_cell(&t, "%s", text_of(d, "name"));
        cli_cell(&t, "%s", text_of(d, "role"));
        cli_cell(&t, "%lld", (long long)whole_of(d, "instances"));
        cli_cell(&t, "%lld", (long long)whole_of(d, "labels"));
        json_array_foreach(json_object_get(d, "views"), k, v) if (n < sizeof parts) n +=
            (size_t)snprintf(parts + n, sizeof parts - n, "%s%s %lld x %lld",
                             n > 0 ? ", " : "", text_of(v, "name"),
                             (long long)whole_of(v, "rows"),
                             (long long)whole_of(v, "features"));
        json_array_foreach(json_object_get(d, "graphs"), k, v) if (n < sizeof parts) n +=
            (size_t)snprintf(parts + n, sizeof parts - n, "%s%s %lld edges",
                             n > 0 ? ", " : "", text_of(v, "name"),
                             (long long)whole_of(v, "edges"));
        if (whole_of(d, "ratings") > 0 && n < sizeof parts)
            (void)snprintf(parts + n, sizeof parts - n, "%s%lld ratings", n > 0 ? ", " : "",
                           (long long)whole_of(d, "ratings"));
        cli_cell(&t, "%s", parts);
    }
    cli_table_print(&t, stdout, 0);
}

static void share_cell(cli_table *t, const json_t *m, const char *key)
{
    const double x = real_of(m, key);

    if (isnan(x))
        cli_cell(t, "-");
    else
        cli_cell(t, "%.0f %%", 100 * x);
}

static void print_measures(const json_t *all)
{
    cli_table t = {.cols = 6};
    json_t *m = NULL;
    size_t i = 0;

    if (json_array_size(json_object_get(all, "measures")) == 0) return;
    putchar('\n');
    cli_cell(&t, "to the target from");
    cli_cell(&t, "A-distance");
    cli_cell(&t, "complexity");
    cli_cell(&t, "shared features");
    cli_cell(&t, "ids");
    cli_cell(&t, "labels");
    json_array_foreach(json_object_get(all, "measures"), i, m)
    {
        const double far = real_of(m, "a_distance"), c = real_of(m, "complexity");
        cli_cell(&t, "%s", text_of(m, "from"));
        if (isnan(far))
            cli_cell(&t, "-");
        else
            cli_cell(&t, "%.2f", far);
        if (isnan(c))
            cli_cell(&t, "-");
        else
            cli_cell(&t, "%.3f", c);
        cli_cell(&t, "%lld (%.0f %%)", (long long)whole_of(m, "shared_features"),
                 100 * real_of(m, "feature_overlap"));
        share_cell(&t, m, "id_overlap");
        share_cell(&t, m, "label_overlap");
    }
    cli_table_print(&t, stdout, 0);
    puts("A-distance: 0 cannot be told from the target, 2 always can; - has no features in "
         "common.");
}

/* "0.31 s", "about 42 s", "over 1 s" */
static void time_cell(cli_table *t, const json_t *m, double times)
{
    const double s = real_of(m, "seconds") * times;

    if (isnan(s))
        cli_cell(t, "over %.0f s", times);
    else
        cli_cell(t, "%s%.2g s",
                 json_is_true(json_object_get(m, "measured")) ? "" : "about ",
                 s < 0.01 ? 0.01 : s);
}

/* Best first: transfer methods, then baselines, each in the order of their names. */
static void print_methods(const json_t *all)
{
    static const char *const kinds[] = {"transfer", "baseline", "control"};
    const double repeats = (double)whole_of(all, "repeats");
    cli_table t = {.cols = 5};
    json_t *m = NULL;
    size_t i = 0;
    char size[32];

    putchar('\n');
    cli_cell(&t, "fits");
    cli_cell(&t, "kind");
    cli_cell(&t, "a fit");
    cli_cell(&t, "%.0f repeats", repeats);
    cli_cell(&t, "memory");
    for (int k = 0; k < 3; k++)
        json_array_foreach(json_object_get(all, "methods"), i, m)
        {
            const double bytes = real_of(m, "bytes");
            if (strcmp(text_of(m, "kind"), kinds[k]) != 0 ||
                !json_is_true(json_object_get(m, "fits")))
                continue;
            cli_cell(&t, "%s", text_of(m, "name"));
            cli_cell(&t, "%s", kinds[k]);
            time_cell(&t, m, 1);
            time_cell(&t, m, repeats);
            if (isnan(bytes))
                cli_cell(&t, "-");
            else if (bytes < 1e6)
                cli_cell(&t, "<1 MB");
            else
                cli_cell(&t, "%s", cli_bytes(bytes, size, sizeof size));
        }
    cli_table_print(&t, stdout, 0);
}

static void print_unfit(const json_t *all)
{
    json_t *m = NULL;
    size_t i = 0;
    int any = 0;

    json_array_foreach(json_object_get(all, "methods"), i, m)
    {
        if (json_is_true(json_object_get(m, "fits"))) continue;
        if (any++ == 0) puts("\ndo not fit:");
        printf("- %s: %s\n", text_of(m, "name"), text_of(m, "reason"));
    }
    if (whole_of(all, "of_other_goals") > 0)
        printf("%s%lld more methods serve other goals than %s.\n", any ? "" : "\n",
               (long long)whole_of(all, "of_other_goals"), text_of(all, "goal"));
}

/* What to do next, from what is there. */
static void print_hints(const json_t *all)
{
    json_t *m = NULL;
    size_t i = 0;
    int transfer = 0, baseline = 0;

    json_array_foreach(json_object_get(all, "methods"), i, m)
    {
        const int fits = json_is_true(json_object_get(m, "fits"));
        transfer += fits && strcmp(text_of(m, "kind"), "transfer") == 0;
        baseline += fits && strcmp(text_of(m, "kind"), "baseline") == 0;
    }
    putchar('\n');
    if (transfer == 0)
        puts("No transfer method fits: the reasons above say what is missing.");
    if (baseline == 0)
        puts("No baseline fits: without one nothing tells whether transfer helps.");
    if (whole_of(all, "visible") == 0)
        puts("No target label is visible: nothing can be checked on the target itself. A "
             "few "
             "labels\n(labelled: 20) make every verdict better founded.");
    if (whole_of(all, "repeats") < 6)
        puts("Five repeats or fewer can show nothing: set evaluate.repeats to 10.");
    puts("Next: ferry run TASK; it says whether transfer helps here.");
}

int cli_advise(cli *c)
{
    ferry_task *task = NULL;
    char *text = NULL;
    json_t *all = NULL;
    ferry_status st = FERRY_OK;

    if (c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.seed", c->value[KEY_SEED]);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, c->args[0], c->sets, &task);
    cli_ask_before_stopping();
    if (st == FERRY_OK) st = ferry_advise(c->ctx, task, &text);
    cli_progress_end();
    const int code = st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
    if (code == EXIT_DONE && c->value[KEY_JSON]) puts(text);
    if (code == EXIT_DONE && !c->value[KEY_JSON]) {
        all = json_loads(text, 0, NULL);
        printf("%s: %s '%s', %lld labels visible\n\n", text_of(all, "task"),
               text_of(all, "goal"), text_of(all, "target"),
               (long long)whole_of(all, "visible"));
        print_domains(all);
        print_measures(all);
        print_methods(all);
        print_unfit(all);
        print_hints(all);
    }
    json_decref(all);
    ferry_string_free(text);
    ferry_task_free(task);
    return code;
}
