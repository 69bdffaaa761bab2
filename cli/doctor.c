/* ferry doctor: what this installation is made of, and what is wrong with it. */
#include <jansson.h>
#include <string.h>

#include "cli.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s ? s : "?";
}

static void row(cli_table *t, const char *left, const char *right)
{
    cli_cell(t, "%s", left);
    cli_cell(t, "%s", right);
}

static void engines(cli_table *t, const json_t *all)
{
    const json_t *list = json_object_get(all, "engines");
    const char *used = text_of(all, "engine");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *e = json_array_get(list, i);
        cli_cell(t, "engine %s", text_of(e, "name"));
        cli_cell(t, "%s%s%s", text_of(e, "summary"),
                 json_is_true(json_object_get(e, "works")) ? "" : "; does not work",
                 strcmp(used, text_of(e, "name")) == 0 ? "; in use" : "");
    }
}

static void machine(cli_table *t, const json_t *all)
{
    const json_t *blas = json_object_get(all, "blas"), *cpu = json_object_get(all, "cpu"),
                 *memory = json_object_get(all, "memory");
    char total[32], available[32];

    cli_cell(t, "BLAS kernels");
    cli_cell(t, "%s (this CPU wants %s)", text_of(blas, "core"), text_of(blas, "wanted"));
    cli_cell(t, "our kernels");
    cli_cell(t, "%s", text_of(cpu, "isa"));
    cli_cell(t, "threads");
    cli_cell(t, "%lld on %lld cores",
             (long long)json_integer_value(json_object_get(cpu, "threads")),
             (long long)json_integer_value(json_object_get(cpu, "cores")));
    cli_cell(t, "memory");
    cli_cell(
        t, "%s, %s available",
        cli_bytes(json_number_value(json_object_get(memory, "total")), total, sizeof total),
        cli_bytes(json_number_value(json_object_get(memory, "available")), available,
                  sizeof available));
}

static void print(json_t *all)
{
    cli_table t = {.cols = 2};
    const json_t *problems = json_object_get(all, "problems");
    const char *name = NULL;
    json_t *version = NULL;

    row(&t, "ferry", text_of(all, "ferry"));
    row(&t, "compiler", text_of(all, "compiler"));
    json_object_foreach(json_object_get(all, "libraries"), name, version)
    {
        row(&t, name, json_string_value(version));
    }
    engines(&t, all);
    machine(&t, all);
    cli_table_print(&t, stdout, 0);
    putchar('\n');
    if (json_array_size(problems) == 0) puts("No problems found.");
    for (size_t i = 0; i < json_array_size(problems); i++)
        printf("Problem: %s\n", json_string_value(json_array_get(problems, i)));
}

int cli_doctor(cli *c)
{
    char *text = NULL;
    json_t *all = NULL;
    size_t problems = 0;

    const ferry_status st = ferry_doctor(c->ctx, &text);
    if (st != FERRY_OK) return cli_failed(c, st);
    all = json_loads(text, 0, NULL);
    problems = json_array_size(json_object_get(all, "problems"));
    if (c->value[KEY_JSON])
        puts(text);
    else
        print(all);
    json_decref(all);
    ferry_string_free(text);
    return problems == 0 ? EXIT_DONE : EXIT_FAILED;
}
