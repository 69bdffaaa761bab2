/* ferry inspect and ferry convert: data files. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MOST_LABELS = 20 }; /* rows of the label table; the rest is summed up */

static ferry_status reader_sets(cli *c)
{
    if (!c->value[KEY_FORMAT]) return FERRY_OK;
    return ferry_opts_set(c->ctx, c->sets, "format", c->value[KEY_FORMAT]);
}

/* ---- inspect: the library's description (JSON) for people ---- */

static int64_t whole(const json_t *o, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

/* "0 .. 5.3" */
static const char *range(const json_t *o, char *buffer, size_t size)
{
    snprintf(buffer, size, "%g .. %g", json_number_value(json_object_get(o, "min")),
             json_number_value(json_object_get(o, "max")));
    return buffer;
}

/* The first names of a list, when there are some. */
static void names(cli_table *t, const char *what, const json_t *list, int64_t all)
{
    char line[256] = "";
    size_t n = 0;

    if (json_array_size(list) == 0) return;
    for (size_t i = 0; i < json_array_size(list) && n < sizeof line; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%.40s", i > 0 ? ", " : "",
                              json_string_value(json_array_get(list, i)));
    cli_cell(t, "%s", what);
    cli_cell(t, "%s%s", line, all > (int64_t)json_array_size(list) ? ", ..." : "");
}

static void matrix(cli_table *t, const json_t *all)
{
    char buffer[64];

    cli_cell(t, "shape");
    cli_cell(t, "%lld instances x %lld features, %s", (long long)whole(all, "rows"),
             (long long)whole(all, "columns"), text(all, "storage"));
    cli_cell(t, "values");
    cli_cell(t, "%lld are not 0 (%.3g %%); %s", (long long)whole(all, "nonzeros"),
             100 * json_number_value(json_object_get(all, "density")),
             range(all, buffer, sizeof buffer));
    cli_cell(t, "missing");
    cli_cell(t, "%lld cells", (long long)whole(all, "missing"));
    if (whole(all, "empty_rows") > 0) {
        cli_cell(t, "empty");
        cli_cell(t, "%lld instances have nothing but zeros",
                 (long long)whole(all, "empty_rows"));
    }
    names(t, "features", json_object_get(all, "features"), whole(all, "columns"));
}

static void labels(cli_table *t, const json_t *l)
{
    const char *kind = text(l, "kind");
    char buffer[64];

    cli_cell(t, "labels");
    if (strcmp(kind, "class") == 0)
        cli_cell(t, "%lld classes; %lld known, %lld missing",
                 (long long)whole(l, "classes"), (long long)whole(l, "known"),
                 (long long)whole(l, "missing"));
    else if (strcmp(kind, "set") == 0)
        cli_cell(t, "sets of %lld labels, %.3g on average; %lld known, %lld missing",
                 (long long)whole(l, "labels"),
                 json_number_value(json_object_get(l, "cardinality")),
                 (long long)whole(l, "known"), (long long)whole(l, "missing"));
    else
        cli_cell(t, "numbers %s, mean %g, std %g; %lld known, %lld missing",
                 range(l, buffer, sizeof buffer),
                 json_number_value(json_object_get(l, "mean")),
                 json_number_value(json_object_get(l, "std")), (long long)whole(l, "known"),
                 (long long)whole(l, "missing"));
}

static void graph(cli_table *t, const json_t *all)
{
    char buffer[64];

    cli_cell(t, "graph");
    cli_cell(t, "%lld nodes, %lld edges, %lld of them from a node to itself",
             (long long)whole(all, "nodes"), (long long)whole(all, "edges"),
             (long long)whole(all, "self_links"));
    cli_cell(t, "weights");
    cli_cell(t, "%s", range(all, buffer, sizeof buffer));
}

static void ratings(cli_table *t, const json_t *all)
{
    char buffer[64];

    cli_cell(t, "ratings");
    cli_cell(t, "%lld of %lld users for %lld items (%.3g %%)",
             (long long)whole(all, "ratings"), (long long)whole(all, "users"),
             (long long)whole(all, "items"),
             100 * json_number_value(json_object_get(all, "density")));
    if (whole(all, "to_predict") > 0) {
        cli_cell(t, "to predict");
        cli_cell(t, "%lld pairs", (long long)whole(all, "to_predict"));
    }
    cli_cell(t, "values");
    cli_cell(t, "%s, mean %.4g", range(all, buffer, sizeof buffer),
             json_number_value(json_object_get(all, "mean")));
}

/* {"name": count, ...}: the first of them, and how many more there are. */
static void counts(const char *what, const json_t *object)
{
    cli_table t = {.cols = 2};
    const char *name = NULL;
    json_t *value = NULL;
    int64_t shown = 0;
    const int64_t all = (int64_t)json_object_size(object);

    if (all == 0) return;
    cli_cell(&t, "%s", what);
    cli_cell(&t, "count");
    json_object_foreach((json_t *)object, name, value)
    {
        if (++shown > MOST_LABELS) break;
        cli_cell(&t, "%s", name);
        cli_cell(&t, "%lld", (long long)json_integer_value(value));
    }
    putchar('\n');
    cli_table_print(&t, stdout, 2);
    if (all > MOST_LABELS) printf("  ... and %lld more\n", (long long)(all - MOST_LABELS));
}

static void members(const char *path, const json_t *list)
{
    cli_table t = {.cols = 2};

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        cli_cell(&t, "%s#%s", path, text(one, "name"));
        cli_cell(&t, "%s", text(one, "type"));
    }
    putchar('\n');
    cli_table_print(&t, stdout, 2);
}

static void print(const char *path, const json_t *all)
{
    const json_t *l = json_object_get(all, "labels");
    const char *kind = text(all, "kind");
    cli_table t = {.cols = 2};
    char buffer[64];

    puts(path);
    cli_cell(&t, "format");
    if (strcmp(kind, text(all, "format")) == 0)
        cli_cell(&t, "%s", kind);
    else
        cli_cell(&t, "%s (%s)", text(all, "format"), kind);
    if (json_object_get(all, "columns")) matrix(&t, all);
    if (strcmp(kind, "graph") == 0) graph(&t, all);
    if (strcmp(kind, "ratings") == 0) ratings(&t, all);
    names(&t, "ids", json_object_get(all, "ids"), whole(all, "rows"));
    if (json_is_object(l)) labels(&t, l);
    if (whole(all, "memory_bytes") > 0) {
        cli_cell(&t, "memory");
        cli_cell(&t, "%s",
                 cli_bytes((double)whole(all, "memory_bytes"), buffer, sizeof buffer));
    }
    cli_table_print(&t, stdout, 2);
    if (json_is_object(l)) counts("label", json_object_get(l, "counts"));
    counts("rating", json_object_get(all, "histogram"));
    if (json_object_get(all, "members")) members(path, json_object_get(all, "members"));
}

static int inspect_one(cli *c, const char *path)
{
    ferry_data *data = NULL;
    char *text = NULL;
    json_t *all = NULL;

    ferry_status st = ferry_read(c->ctx, path, c->sets, &data);
    if (st == FERRY_OK) st = ferry_data_describe(c->ctx, data, &text);
    cli_progress_end();
    if (st == FERRY_OK && c->value[KEY_JSON]) {
        puts(text);
    } else if (st == FERRY_OK) {
        all = json_loads(text, 0, NULL);
        print(path, all);
        json_decref(all);
    }
    ferry_string_free(text);
    ferry_data_free(data);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

int cli_inspect(cli *c)
{
    int code = EXIT_DONE;

    const ferry_status st = reader_sets(c);
    if (st != FERRY_OK) return cli_failed(c, st);
    for (int64_t i = 0; i < c->n_args; i++) {
        if (i > 0 && !c->value[KEY_JSON]) putchar('\n');
        const int one = inspect_one(c, c->args[i]);
        if (one != EXIT_DONE) code = one;
    }
    return code;
}

/* ---- convert ---- */

/* A domain of a task, as "TASK.yaml#DOMAIN" or "TASK.yaml#DOMAIN.VIEW": its view as the
 * task reads it. */
static int write_domain(cli *c, const char *at, const ferry_opts *opts)
{
    char *path = cli_join(c->args[0], "", ""), *name = path + (at - c->args[0]);
    ferry_task *task = NULL;
    ferry_status st = FERRY_OK;
    int64_t i = 0;
    int code = EXIT_DONE;

    *name++ = 0;
    char *view = strchr(name, '.');
    if (view) *view++ = 0;
    if (c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.seed", c->value[KEY_SEED]);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, path, c->sets, &task);
    for (; st == FERRY_OK && i < ferry_task_domain_count(task); i++)
        if (strcmp(ferry_domain_name(ferry_task_domain_at(task, i)), name) == 0) break;
    if (st == FERRY_OK && i == ferry_task_domain_count(task))
        code = cli_usage("%s: no domain %s", path, name);
    else if (st == FERRY_OK)
        st = ferry_domain_write(c->ctx, ferry_task_domain_at(task, i), view, c->args[1],
                                opts);
    ferry_task_free(task);
    free(path);
    return st == FERRY_OK ? code : cli_failed(c, st);
}

int cli_convert(cli *c)
{
    const char *at = strstr(c->args[0], ".yaml#");
    ferry_data *data = NULL;
    ferry_opts *opts = NULL;
    int code = EXIT_DONE;

    if (cli_can_write(c->args[1]) != EXIT_DONE) return EXIT_USAGE;
    ferry_status st = reader_sets(c);
    if (st == FERRY_OK) st = ferry_opts_new(c->ctx, &opts);
    if (st == FERRY_OK && c->value[KEY_TO])
        st = ferry_opts_set(c->ctx, opts, "format", c->value[KEY_TO]);
    if (st == FERRY_OK && at)
        code = write_domain(c, at + strlen(".yaml"), opts);
    else if (st == FERRY_OK)
        st = ferry_read(c->ctx, c->args[0], c->sets, &data);
    if (st == FERRY_OK && data) st = ferry_write(c->ctx, data, c->args[1], opts);
    ferry_data_free(data);
    ferry_opts_free(opts);
    return st == FERRY_OK ? code : cli_failed(c, st);
}
