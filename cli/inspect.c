/* ferry inspect and ferry convert: data files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MOST_LABELS = 20 }; /* rows of the label table; the rest is summed up */

static ferry_status reader_sets(cli *c)
{
    if (!c->value[KEY_FORMAT]) return FERRY_OK;
    return ferry_opts_set(c->ctx, c->sets, "format", c->value[KEY_FORMAT]);
}

/* ---- inspect ---- */

/* What is not known (of a file without a value) shows as 0. */
static double shown(double x)
{
    return isnan(x) ? 0 : x;
}

/* "0 .. 5.3" */
static const char *range(double min, double max, char *buffer, size_t size)
{
    snprintf(buffer, size, "%g .. %g", shown(min), shown(max));
    return buffer;
}

/* The first names of `all`, when there are some. */
static void names(cli_table *t, const char *what, int64_t count, const char *const *list,
                  int64_t all)
{
    char line[256] = "";
    size_t n = 0;

    if (count == 0) return;
    for (int64_t i = 0; i < count && n < sizeof line; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%.40s", i > 0 ? ", " : "",
                              list[i]);
    cli_cell(t, "%s", what);
    cli_cell(t, "%s%s", line, all > count ? ", ..." : "");
}

static void matrix(cli_table *t, const ferry_description *d)
{
    char buffer[64];

    cli_cell(t, "shape");
    cli_cell(t, "%lld instances x %lld features, %s", (long long)d->rows,
             (long long)d->columns, d->sparse ? "sparse" : "dense");
    cli_cell(t, "values");
    cli_cell(t, "%lld are not 0 (%.3g %%); %s", (long long)d->nonzeros, 100 * d->density,
             range(d->min, d->max, buffer, sizeof buffer));
    cli_cell(t, "missing");
    cli_cell(t, "%lld cells", (long long)d->missing);
    if (d->empty_rows > 0) {
        cli_cell(t, "empty");
        cli_cell(t, "%lld instances have nothing but zeros", (long long)d->empty_rows);
    }
    if (d->scale) {
        cli_cell(t, "scale");
        cli_cell(t, "auto: %s (%s)", d->scale, d->scale_reason);
    }
    names(t, "features", d->n_features, d->features, d->columns);
}

static void labels(cli_table *t, const ferry_description *d)
{
    char what[128], buffer[64];

    if (strcmp(d->label_kind, "class") == 0)
        snprintf(what, sizeof what, "%lld classes", (long long)d->n_counts);
    else if (strcmp(d->label_kind, "set") == 0)
        snprintf(what, sizeof what, "sets of %lld labels, %.3g on average",
                 (long long)d->n_counts, d->cardinality);
    else
        snprintf(what, sizeof what, "numbers %s, mean %g, std %g",
                 range(d->label_min, d->label_max, buffer, sizeof buffer),
                 shown(d->label_mean), shown(d->label_std));
    cli_cell(t, "labels");
    cli_cell(t, "%s; %lld known, %lld missing", what, (long long)d->labels_known,
             (long long)d->labels_missing);
}

static void graph(cli_table *t, const ferry_description *d)
{
    char buffer[64];

    cli_cell(t, "graph");
    cli_cell(t, "%lld nodes, %lld edges, %lld of them from a node to itself",
             (long long)d->nodes, (long long)d->edges, (long long)d->self_links);
    cli_cell(t, "weights");
    cli_cell(t, "%s", range(d->min, d->max, buffer, sizeof buffer));
}

static void ratings(cli_table *t, const ferry_description *d)
{
    char buffer[64];

    cli_cell(t, "ratings");
    cli_cell(t, "%lld of %lld users for %lld items (%.3g %%)", (long long)d->ratings,
             (long long)d->users, (long long)d->items, 100 * d->density);
    if (d->to_predict > 0) {
        cli_cell(t, "to predict");
        cli_cell(t, "%lld pairs", (long long)d->to_predict);
    }
    cli_cell(t, "values");
    cli_cell(t, "%s, mean %.4g", range(d->min, d->max, buffer, sizeof buffer),
             shown(d->mean));
}

/* How often each label or rating occurs: the first of them, and how many more there are. */
static void counts(const char *what, const ferry_description *d)
{
    cli_table t = {.cols = 2};

    if (d->n_counts == 0) return;
    cli_cell(&t, "%s", what);
    cli_cell(&t, "count");
    for (int64_t i = 0; i < d->n_counts && i < MOST_LABELS; i++) {
        cli_cell(&t, "%s", d->count_names[i]);
        cli_cell(&t, "%lld", (long long)d->counts[i]);
    }
    putchar('\n');
    cli_table_print(&t, stdout, 2);
    if (d->n_counts > MOST_LABELS)
        printf("  ... and %lld more\n", (long long)(d->n_counts - MOST_LABELS));
}

static void members(const char *path, const ferry_description *d)
{
    cli_table t = {.cols = 2};

    for (int64_t i = 0; i < d->n_members; i++) {
        cli_cell(&t, "%s#%s", path, d->members[i]);
        cli_cell(&t, "%s", d->member_types[i]);
    }
    putchar('\n');
    cli_table_print(&t, stdout, 2);
}

/* The name of a file is whatever somebody typed, and the line may go through a pipe to a terminal. */
static void headline(const char *path)
{
    char *line = cli_join(path, "", "");

    cli_clean_line(line);
    puts(line);
    free(line);
}

static void print(const char *path, const ferry_description *d)
{
    cli_table t = {.cols = 2};
    char buffer[64];

    headline(path);
    cli_cell(&t, "format");
    if (strcmp(d->kind, d->format) == 0)
        cli_cell(&t, "%s", d->kind);
    else
        cli_cell(&t, "%s (%s)", d->format, d->kind);
    if (d->columns >= 0) matrix(&t, d);
    if (strcmp(d->kind, "graph") == 0) graph(&t, d);
    if (strcmp(d->kind, "ratings") == 0) ratings(&t, d);
    names(&t, "ids", d->n_ids, d->ids, d->rows);
    if (d->label_kind) labels(&t, d);
    if (d->memory_bytes > 0) {
        cli_cell(&t, "memory");
        cli_cell(&t, "%s", cli_bytes((double)d->memory_bytes, buffer, sizeof buffer));
    }
    cli_table_print(&t, stdout, 2);
    counts(d->label_kind ? "label" : "rating", d);
    if (strcmp(d->kind, "listing") == 0) members(path, d);
}

/* ---- a saved model ---- */

static bool is_model(const char *path)
{
    const size_t n = strlen(path);

    return n > 6 && strcmp(path + n - 6, ".ferry") == 0;
}

/* The model's parts by the same words as a file's. */
static void print_model(const char *path, const ferry_model *m)
{
    ferry_model_info info = {.size = sizeof info};
    cli_table t = {.cols = 2};
    const char *first[5];
    int64_t n = 0;

    ferry_model_get_info(m, &info);
    const ferry_method_info *how = ferry_method_find(info.method);
    headline(path);
    cli_cell(&t, "model");
    cli_cell(&t, "%s: %s", info.method,
             how ? how->summary : "a weighted mean of what several models predict");
    cli_cell(&t, "goal");
    cli_cell(&t, "%s", ferry_goal_name(info.goal));
    for (; n < 5 && ferry_model_class_at(m, n); n++)
        first[n] = ferry_model_class_at(m, n);
    names(&t, "classes", n, first, info.classes);
    for (int64_t i = 0; ferry_model_view_at(m, i); i++) {
        cli_cell(&t, "view");
        cli_cell(&t, "%s", ferry_model_view_at(m, i));
    }
    for (int64_t i = 0; ferry_model_graph_at(m, i); i++) {
        cli_cell(&t, "graph");
        cli_cell(&t, "%s", ferry_model_graph_at(m, i));
    }
    for (int64_t i = 0; ferry_model_diagnostic_at(m, i); i++) {
        const ferry_diagnostic *d = ferry_model_diagnostic_at(m, i);
        if (d->count != 1) continue;
        cli_cell(&t, "%s", d->name);
        if (d->texts)
            cli_cell(&t, "%s", d->texts[0]);
        else
            cli_cell(&t, "%.6g", d->numbers[0]);
    }
    cli_table_print(&t, stdout, 2);
    printf("  next: ferry predict %s DATA\n", path);
}

static int inspect_model(cli *c, const char *path)
{
    ferry_model *m = NULL;
    ferry_model_info info = {.size = sizeof info};
    const ferry_status st = ferry_model_load(c->ctx, path, NULL, &m);

    ferry_model_get_info(m, &info);
    if (st == FERRY_OK && c->value[KEY_JSON])
        printf(
            "{\"kind\": \"model\", \"method\": \"%s\", \"goal\": \"%s\", \"diagnostics\": "
            "%s}\n",
            info.method, ferry_goal_name(info.goal), info.diagnostics);
    else if (st == FERRY_OK)
        print_model(path, m);
    ferry_model_free(m);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

static int inspect_one(cli *c, const char *path)
{
    if (is_model(path)) return inspect_model(c, path);
    ferry_data *data = NULL;
    ferry_description *d = NULL;

    ferry_status st = ferry_read(c->ctx, path, c->sets, &data);
    if (st == FERRY_OK) st = ferry_data_describe(c->ctx, data, &d);
    cli_progress_end();
    if (st == FERRY_OK && c->value[KEY_JSON]) puts(d->json);
    if (st == FERRY_OK && !c->value[KEY_JSON]) print(path, d);
    ferry_description_free(d);
    ferry_data_free(data);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

/* ---- two tables ---- */

/* The file as the only view of a domain of the task; false: it is none. */
static bool add_table(cli *c, ferry_task *task, ferry_role role, const char *path)
{
    ferry_data *data = NULL;
    ferry_description *about = NULL;
    ferry_domain *d = NULL;
    bool added = false;

    if (!is_model(path) && ferry_read(c->ctx, path, c->sets, &data) == FERRY_OK &&
        ferry_data_describe(c->ctx, data, &about) == FERRY_OK && about->columns >= 0 &&
        !about->sparse &&
        ferry_domain_new(c->ctx, role == FERRY_TARGET ? "target" : "same", role, &d) ==
            FERRY_OK) {
        added = ferry_domain_add_data(c->ctx, d, "x", data) == FERRY_OK;
        added = ferry_task_add_domain(c->ctx, task, d) == FERRY_OK && added;
    }
    ferry_description_free(about);
    ferry_data_free(data);
    return added;
}

/* Columns of the first file that may be columns of the second: as said at a source whose name is "same", so that the
 * JSON is what a task file says. What cannot be told is not asked for. */
static void say_alike(cli *c)
{
    static const char same[] = "{\"same\": ";
    ferry_task *task = NULL;
    char *text = NULL;

    if (ferry_task_new(c->ctx, "columns", FERRY_CLASSIFY, &task) == FERRY_OK &&
        add_table(c, task, FERRY_SOURCE, c->args[0]) &&
        add_table(c, task, FERRY_TARGET, c->args[1]) &&
        ferry_task_links(c->ctx, task, "same", &text) == FERRY_OK &&
        strncmp(text, same, strlen(same)) == 0) {
        if (c->value[KEY_JSON])
            puts(text);
        else
            printf(
                "\ncolumns that may be the same; if they are, and in the same units, say at the "
                "source of a task\n  same: %.*s\n",
                (int)(strlen(text) - strlen(same) - 1), text + strlen(same));
    }
    cli_progress_end();
    ferry_string_free(text);
    ferry_task_free(task);
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
    if (c->n_args == 2 && code == EXIT_DONE) say_alike(c);
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
    const ferry_domain *d = NULL;
    int code = EXIT_DONE;

    *name++ = 0;
    char *view = strchr(name, '.');
    if (view) *view++ = 0;
    if (c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.seed", c->value[KEY_SEED]);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, path, c->sets, &task);
    for (int64_t i = 0; st == FERRY_OK && (d = ferry_task_domain_at(task, i)); i++)
        if (strcmp(ferry_domain_name(d), name) == 0) break;
    if (st == FERRY_OK && !d)
        code = cli_usage("%s: no domain %s", path, name);
    else if (st == FERRY_OK)
        st = ferry_domain_write(c->ctx, d, view, c->args[1], opts);
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
