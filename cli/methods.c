/* ferry methods: what there is, from the methods' own tables. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char *kind_name(ferry_kind kind)
{
    switch (kind) {
    case FERRY_KIND_BASELINE: return "baseline";
    case FERRY_KIND_TRANSFER: return "transfer";
    case FERRY_KIND_CONTROL: return "control";
    }
    return "";
}

static const ferry_goal goals[] = {FERRY_CLASSIFY, FERRY_REGRESS, FERRY_MULTILABEL,
                                   FERRY_RATE,     FERRY_EMBED,   FERRY_STREAM};

/* "classify, regress" */
static const char *goal_names(unsigned bits, char *buffer, size_t size)
{
    size_t n = 0;

    buffer[0] = 0;
    for (int64_t i = 0; i < COUNT(goals) && n < size; i++)
        if (bits & (unsigned)goals[i])
            n += (size_t)snprintf(buffer + n, size - n, "%s%s", n > 0 ? ", " : "",
                                  ferry_goal_name(goals[i]));
    return buffer;
}

/* ---- for people ---- */

static void list(void)
{
    cli_table t = {.cols = 4};
    char buffer[128];

    for (int64_t i = 0; ferry_method_at(i); i++) {
        const ferry_method_info *m = ferry_method_at(i);
        cli_cell(&t, "%s", m->name);
        cli_cell(&t, "%s", kind_name(m->kind));
        cli_cell(&t, "%s", goal_names(m->goals, buffer, sizeof buffer));
        cli_cell(&t, "%s", m->summary);
    }
    cli_table_print(&t, stdout, 0);
}

static void describe(const ferry_method_info *m)
{
    const cli_settings s = {"Options", m->options};
    char buffer[128];
    cli_table t = {.cols = 2};

    printf("%s: %s\n\n", m->name, m->summary);
    cli_cell(&t, "Kind");
    cli_cell(&t, "%s", kind_name(m->kind));
    cli_cell(&t, "Goals");
    cli_cell(&t, "%s", goal_names(m->goals, buffer, sizeof buffer));
    cli_cell(&t, "Needs");
    cli_cell(&t, "%s", m->needs && m->needs[0] ? m->needs : "nothing special");
    if (m->reference && m->reference[0]) {
        cli_cell(&t, "Source");
        cli_cell(&t, "%s", m->reference);
    }
    if (m->asked) {
        cli_cell(&t, "Runs");
        cli_cell(&t, "where a task names it");
    }
    cli_table_print(&t, stdout, 2);
    if (!ferry_opt_at(m->options, 0)) return;
    puts("\nOptions, with default and range:");
    cli_print_settings(stdout, &s, 2);
}

/* ---- Markdown ---- */

static void markdown(const ferry_method_info *m)
{
    const cli_settings s = {"Options", m->options};
    char buffer[128];

    printf("## %s\n\n%s.\n\n", m->name, m->summary);
    printf("- Kind: %s\n- Goals: %s\n- Needs: %s\n", kind_name(m->kind),
           goal_names(m->goals, buffer, sizeof buffer),
           m->needs && m->needs[0] ? m->needs : "nothing special");
    if (m->reference && m->reference[0]) printf("- Source: %s\n", m->reference);
    if (m->asked) puts("- Runs: where a task names it");
    if (!ferry_opt_at(m->options, 0)) return;
    putchar('\n');
    cli_markdown_settings(stdout, &s);
}

/* ---- JSON ---- */

static json_t *option_json(const ferry_opt *o)
{
    char *range = ferry_opt_range(o);
    json_t *object = json_pack("{s:s, s:s, s:s, s:s}", "name", o->name, "default", o->def,
                               "range", range ? range : "", "help", o->help);

    ferry_string_free(range);
    return object;
}

static json_t *method_json(const ferry_method_info *m)
{
    json_t *goal_list = json_array(), *options = json_array();

    for (int64_t i = 0; i < COUNT(goals); i++)
        if (m->goals & (unsigned)goals[i])
            (void)json_array_append_new(goal_list, json_string(ferry_goal_name(goals[i])));
    for (int64_t i = 0; ferry_opt_at(m->options, i); i++)
        (void)json_array_append_new(options, option_json(ferry_opt_at(m->options, i)));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:b}", "name", m->name, "summary",
                     m->summary, "kind", kind_name(m->kind), "needs",
                     m->needs ? m->needs : "", "reference",
                     m->reference ? m->reference : "", "goals", goal_list, "options",
                     options, "asked", m->asked);
}

static void print_json(json_t *json)
{
    char *text = json_dumps(json, JSON_INDENT(2));

    if (text) puts(text);
    free(text);
    json_decref(json);
}

static int unknown_method(const char *name)
{
    int64_t n = 0;

    while (ferry_method_at(n))
        n++;
    const char **names = cli_alloc((size_t)n * sizeof *names), *near = NULL;
    for (int64_t i = 0; i < n; i++)
        names[i] = ferry_method_at(i)->name;
    near = ferry_nearest(name, n, names);
    free(names);
    if (near) return cli_usage("unknown method %s (did you mean %s?)", name, near);
    return cli_usage("unknown method %s (ferry methods lists them)", name);
}

static void all_markdown(void)
{
    puts("# Methods and their options\n\nMade by `ferry methods --markdown`.");
    for (int64_t i = 0; ferry_method_at(i); i++) {
        putchar('\n');
        markdown(ferry_method_at(i));
    }
}

static void all_json(void)
{
    json_t *all = json_array();

    for (int64_t i = 0; ferry_method_at(i); i++)
        (void)json_array_append_new(all, method_json(ferry_method_at(i)));
    print_json(all);
}

int cli_methods(cli *c)
{
    const bool as_json = c->value[KEY_JSON], as_markdown = c->value[KEY_MARKDOWN];
    const ferry_method_info *one = c->n_args > 0 ? ferry_method_find(c->args[0]) : NULL;

    if (as_json && as_markdown)
        return cli_usage("methods: one of --json and --markdown at a time");
    if (c->n_args > 0 && !one) return unknown_method(c->args[0]);
    if (as_json && one)
        print_json(method_json(one));
    else if (as_json)
        all_json();
    else if (as_markdown && one)
        markdown(one);
    else if (as_markdown)
        all_markdown();
    else if (one)
        describe(one);
    else
        list();
    return EXIT_DONE;
}
