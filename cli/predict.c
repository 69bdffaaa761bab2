/* ferry predict: what a saved model says about new data; for models of ratings also which
 * items are best for a user, and users and items folded in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- data ---- */

static ferry_model_info about(const ferry_model *model)
{
    ferry_model_info info = {.size = sizeof info};

    ferry_model_get_info(model, &info);
    return info;
}

/* View and file of an argument "VIEW=FILE" or "FILE". The length of the view's name; 0 when
 * there is none, so that a file may have = in its name. */
static size_t view_of(const ferry_model *model, const char *arg)
{
    const char *equals = strchr(arg, '=');

    for (int64_t i = 0; equals && ferry_model_view_at(model, i); i++) {
        const char *name = ferry_model_view_at(model, i);
        const size_t n = strlen(name);
        if (n == (size_t)(equals - arg) && strncmp(arg, name, n) == 0) return n;
    }
    return 0;
}

/* The same for a graph of the model. */
static size_t graph_of(const ferry_model *model, const char *arg)
{
    const char *equals = strchr(arg, '=');

    for (int64_t i = 0; equals && ferry_model_graph_at(model, i); i++) {
        const char *name = ferry_model_graph_at(model, i);
        const size_t n = strlen(name);
        if (n == (size_t)(equals - arg) && strncmp(arg, name, n) == 0) return n;
    }
    return 0;
}

static int name_the_views(const ferry_model *model)
{
    char names[512] = "";
    size_t n = 0;

    for (int64_t i = 0; ferry_model_view_at(model, i) && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, " %s=FILE",
                              ferry_model_view_at(model, i));
    for (int64_t i = 0; ferry_model_graph_at(model, i) && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, " [%s=EDGES]",
                              ferry_model_graph_at(model, i));
    return cli_usage("predict: this model has %lld view%s: give%s",
                     (long long)about(model).views, about(model).views == 1 ? "" : "s",
                     names);
}

/* Read the arguments that are graphs, behind the views: an edge joins what they have. */
static int read_graphs(cli *c, const ferry_model *model, ferry_domain *domain)
{
    for (int64_t i = 1; i < c->n_args; i++) {
        const char *arg = c->args[i];
        const size_t n = view_of(model, arg) > 0 ? 0 : graph_of(model, arg);
        char *graph = NULL;

        if (n == 0) continue;
        graph = cli_join(arg, "", "");
        graph[n] = 0;
        const ferry_status st =
            ferry_model_read_graph(c->ctx, model, graph, arg + n + 1, c->sets, domain);
        free(graph);
        if (st != FERRY_OK) return cli_failed(c, st);
    }
    return EXIT_DONE;
}

/* Read every DATA argument into the domain. */
static int read_views(cli *c, const ferry_model *model, ferry_domain *domain)
{
    int64_t graphs = 0;

    for (int64_t i = 1; i < c->n_args; i++)
        graphs += view_of(model, c->args[i]) == 0 && graph_of(model, c->args[i]) > 0;
    if (graphs == c->n_args - 1 && about(model).views > 0) return name_the_views(model);
    for (int64_t i = 1; i < c->n_args; i++) {
        const char *arg = c->args[i];
        const size_t n = view_of(model, arg);
        ferry_data *data = NULL;
        char *view = NULL;

        if (n == 0 && graph_of(model, arg) > 0) continue;
        if (n == 0 && (about(model).views > 1 || c->n_args - graphs > 2))
            return name_the_views(model);
        if (n > 0) {
            view = cli_join(arg, "", "");
            view[n] = 0;
        } else {
            const char *only = ferry_model_view_at(model, 0);
            view = cli_join(only ? only : "x", "", "");
        }
        ferry_status st = ferry_model_read_view(c->ctx, model, view,
                                                n > 0 ? arg + n + 1 : arg, c->sets, &data);
        if (st == FERRY_OK) st = ferry_domain_add_data(c->ctx, domain, view, data);
        ferry_data_free(data);
        free(view);
        if (st != FERRY_OK) return cli_failed(c, st);
    }
    return read_graphs(c, model, domain);
}

/* A file of ratings or of pairs, whose values may be blank, as a domain. */
static int read_ratings(cli *c, const char *path, ferry_domain **out)
{
    ferry_data *data = NULL;
    ferry_status st = ferry_domain_new(c->ctx, "data", FERRY_TARGET, out);

    if (st == FERRY_OK && !c->value[KEY_FORMAT])
        st = ferry_opts_set(c->ctx, c->sets, "format", "ratings");
    if (st == FERRY_OK) st = ferry_read(c->ctx, path, c->sets, &data);
    if (st == FERRY_OK) st = ferry_domain_add_data(c->ctx, *out, "pairs", data);
    ferry_data_free(data);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

/* ---- models of ratings ---- */

/* With --known FILE: the model, and behind it the users and items of that file. */
static int fold_in(cli *c, ferry_model **model)
{
    ferry_domain *known = NULL;
    ferry_model *more = NULL;
    ferry_status st = FERRY_OK;
    int code = EXIT_DONE;

    if (!c->value[KEY_KNOWN]) return EXIT_DONE;
    if (about(*model).goal == FERRY_RATE)
        code = read_ratings(c, c->value[KEY_KNOWN], &known);
    else
        return cli_usage("predict: --known is for models of ratings; this is one of %s",
                         about(*model).method);
    if (code == EXIT_DONE) st = ferry_model_fold_in(c->ctx, *model, known, &more);
    if (code == EXIT_DONE && st != FERRY_OK) code = cli_failed(c, st);
    if (more) {
        ferry_model_free(*model);
        *model = more;
    }
    ferry_domain_free(known);
    return code;
}

typedef struct words {
    char **word;
    int64_t n, cap;
} words;

/* Add a copy of a word unless it is empty. */
static void add_word(words *w, const char *s, size_t n)
{
    while (n > 0 && (s[n - 1] == '\n' || s[n - 1] == '\r'))
        n--;
    if (n == 0) return;
    if (w->n == w->cap) {
        char **more = cli_alloc(sizeof *more * (size_t)(2 * w->cap + 8));
        for (int64_t i = 0; i < w->n; i++)
            more[i] = w->word[i];
        free(w->word);
        w->word = more;
        w->cap = 2 * w->cap + 8;
    }
    w->word[w->n] = cli_alloc(n + 1);
    memcpy(w->word[w->n], s, n);
    w->word[w->n++][n] = 0;
}

/* Users: --user A,B or the lines of a file. */
static int read_users(const cli *c, words *w)
{
    const char *list = c->value[KEY_USER];
    char *line = NULL;
    size_t room = 0;
    ssize_t n = 0;
    FILE *file = NULL;

    for (; list && *list; list += strcspn(list, ","), list += *list == ',')
        add_word(w, list, strcspn(list, ","));
    if (c->n_args < 2) return EXIT_DONE;
    file = fopen(c->args[1], "rb");
    if (!file) {
        cli_say("%s: cannot read: %s", c->args[1], strerror(errno));
        return EXIT_USAGE;
    }
    while ((n = getline(&line, &room, file)) >= 0)
        add_word(w, line, (size_t)n);
    free(line);
    (void)fclose(file);
    if (w->n > 0) return EXIT_DONE;
    cli_say("%s: expected users, one a line", c->args[1]);
    return EXIT_USAGE;
}

/* --top N: the best items of the users. */
static int recommend(cli *c, const ferry_model *model, ferry_prediction **p)
{
    words w = {0};
    char *end = NULL;
    const long top = strtol(c->value[KEY_TOP], &end, 10);
    int code = EXIT_DONE;

    if (*end || top < 1)
        return cli_usage("predict: --top %s: expected a number from 1", c->value[KEY_TOP]);
    if (c->n_args > 2) return cli_usage("predict: with --top give one file of users");
    code = read_users(c, &w);
    if (code == EXIT_DONE) {
        const ferry_status st = ferry_recommend(
            c->ctx, model, w.n, w.n > 0 ? (const char *const *)w.word : NULL, top,
            c->value[KEY_RATED] != NULL, p);
        if (st != FERRY_OK) code = cli_failed(c, st);
    }
    for (int64_t i = 0; i < w.n; i++)
        free(w.word[i]);
    free(w.word);
    return code;
}

/* ---- output ---- */

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

static int predict(cli *c, const ferry_model *model, ferry_prediction **p)
{
    const bool rate = about(model).goal == FERRY_RATE;
    ferry_domain *domain = NULL;
    ferry_status st = FERRY_OK;
    int code = EXIT_DONE;

    if (c->value[KEY_TOP]) return recommend(c, model, p);
    if (c->value[KEY_USER] || c->value[KEY_RATED])
        return cli_usage("predict: --user and --rated go with --top N");
    if (rate && c->n_args > 2) return cli_usage("predict: give one file of pairs to rate");
    if (rate)
        code = read_ratings(c, c->args[1], &domain);
    else if ((st = ferry_domain_new(c->ctx, "data", FERRY_TARGET, &domain)) == FERRY_OK)
        code = read_views(c, model, domain);
    if (st == FERRY_OK && code == EXIT_DONE) st = ferry_predict(c->ctx, model, domain, p);
    ferry_domain_free(domain);
    return st == FERRY_OK ? code : cli_failed(c, st);
}

/* -o that is the model, its data or what it is to know more of. */
static int overwrites(const cli *c, const ferry_model *model)
{
    const char *to = c->value[KEY_OUT];
    int code = EXIT_DONE;

    for (int64_t i = 0; to && code == EXIT_DONE && i < c->n_args; i++) {
        const size_t n = i > 0 ? view_of(model, c->args[i]) : 0;
        const size_t m = i > 0 && n == 0 ? graph_of(model, c->args[i]) : n;
        code = cli_not_read(to, c->args[i] + (m > 0 ? m + 1 : 0));
    }
    if (to && code == EXIT_DONE && c->value[KEY_KNOWN])
        code = cli_not_read(to, c->value[KEY_KNOWN]);
    return code;
}

int cli_predict(cli *c)
{
    ferry_status st = FERRY_OK;
    ferry_model *model = NULL;
    ferry_prediction *p = NULL;
    int code = EXIT_DONE;

    if (c->n_args < 2 && !c->value[KEY_TOP])
        return cli_usage("predict: which data? usage: ferry predict MODEL DATA...");
    if (c->value[KEY_OUT] && cli_can_write(c->value[KEY_OUT]) != EXIT_DONE)
        return EXIT_USAGE;
    if (c->value[KEY_FORMAT])
        st = ferry_opts_set(c->ctx, c->sets, "format", c->value[KEY_FORMAT]);
    if (st == FERRY_OK) st = ferry_model_load(c->ctx, c->args[0], NULL, &model);
    if (st != FERRY_OK) return cli_failed(c, st);
    code = overwrites(c, model);
    if (code != EXIT_DONE) {
        ferry_model_free(model);
        return code;
    }
    cli_ask_before_stopping();
    code = fold_in(c, &model);
    if (code == EXIT_DONE) code = predict(c, model, &p);
    if (code == EXIT_DONE) code = write_prediction(c, p);
    ferry_prediction_free(p);
    ferry_model_free(model);
    return code;
}
