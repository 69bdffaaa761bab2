/* ferry answer: tables in, the answer out. It looks at the files, writes the task that somebody else would have
 * written by hand, says what it guessed, and runs, fits and predicts as those commands do. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"

/* ---- looking at the files ---- */

enum { WITH_LABEL = 1, WITH_ID = 2, WITH_DROP = 4, WITH_ALL = 7 };

static ferry_status try_with(cli *c, unsigned with, table_in *t)
{
    ferry_opts *opts = NULL;
    ferry_data *data = NULL;
    ferry_status st = ferry_opts_new(c->ctx, &opts);

    if (st == FERRY_OK && with & WITH_LABEL)
        st = ferry_opts_set(c->ctx, opts, "label", c->value[KEY_LABEL]);
    if (st == FERRY_OK && with & WITH_ID)
        st = ferry_opts_set(c->ctx, opts, "id", c->value[KEY_ID]);
    if (st == FERRY_OK && with & WITH_DROP)
        st = ferry_opts_set(c->ctx, opts, "drop", t->drop);
    if (st == FERRY_OK) st = ferry_read(c->ctx, t->path, opts, &data);
    if (st == FERRY_OK) st = ferry_data_describe(c->ctx, data, &t->is);
    t->with_label = with & WITH_LABEL;
    t->with_id = with & WITH_ID;
    t->with_drop = with & WITH_DROP;
    ferry_data_free(data);
    ferry_opts_free(opts);
    return st;
}

/* A table that is not the target need not have all columns that are left out: the one that was missed goes from its
 * list. False: none was. */
static bool drop_fewer(const cli *c, table_in *t)
{
    for (char *s = t->drop; s && t->role != FERRY_TARGET && *s;) {
        const size_t n = strcspn(s, ",");
        const size_t size = n + sizeof ": no column  (drop=)";
        char *missed = cli_alloc(size);
        snprintf(missed, size, ": no column %.*s (drop=)", (int)n, s);
        const bool found = strstr(ferry_message(c->ctx), missed) != NULL;
        free(missed);
        if (found) {
            const char *rest = s + n + (s[n] == ',');
            memmove(s, rest, strlen(rest) + 1);
            const size_t left = strlen(t->drop);
            if (left > 0 && t->drop[left - 1] == ',') t->drop[left - 1] = 0;
            return t->drop[0] != 0;
        }
        s += n + (s[n] == ',');
    }
    return false;
}

/* Read the table as it will be read. What is said of columns holds for the target; another table need not have
 * them, but a source has labels. A format that has its own labels takes no word about them (FERRY_EINVAL). */
static ferry_status look(cli *c, table_in *t)
{
    const unsigned given = (c->value[KEY_LABEL] ? WITH_LABEL : 0u) |
                           (c->value[KEY_ID] ? WITH_ID : 0u) |
                           (c->value[KEY_DROP] ? WITH_DROP : 0u);
    unsigned must = t->role == FERRY_TARGET   ? given
                    : t->role == FERRY_SOURCE ? given & WITH_LABEL
                                              : 0u;

    if (c->value[KEY_DROP]) t->drop = cli_join(c->value[KEY_DROP], "", "");
    ferry_status st = try_with(c, given, t);
    while (st != FERRY_OK && drop_fewer(c, t))
        st = try_with(c, given, t);
    if (st == FERRY_EINVAL) must &= ~(unsigned)WITH_LABEL;
    for (unsigned with = given; st != FERRY_OK && st != FERRY_ECANCELLED && with-- > 0;)
        if ((with & given) == with && (with & must) == must) st = try_with(c, with, t);
    return st;
}

/* Why a table could not be read; what could be left out as this command takes it. */
static int refused(const cli *c, ferry_status st)
{
    static const char begin[] = "leave out with drop=", end[] = " (or use one as id=";
    const char *message = ferry_message(c->ctx), *at = strstr(message, begin);
    const char *stop = at ? strstr(at, end) : NULL;
    char word[4200];

    if (!stop) return cli_failed(c, st);
    char *names = cli_join(at + sizeof begin - 1, "", "");
    names[stop - at - (long)(sizeof begin - 1)] = 0;
    cli_say("%.*sleave out with --drop %s, or name one that tells rows apart with --id",
            (int)(at - message), message, cli_word(names, word, sizeof word));
    free(names);
    return EXIT_USAGE;
}

/* What must be true of every table before anything is written. */
static int check(const cli *c, const table_in *t)
{
    const ferry_description *d = t->is;
    const bool rated = strcmp(d->kind, "ratings") == 0;

    if (strcmp(d->kind, "listing") == 0)
        return cli_usage(
            "%s: holds several things; say which with %s#NAME (ferry inspect lists "
            "them)",
            t->path, t->path);
    if (!rated && d->columns < 0)
        return cli_usage("%s: is read as %s, expected a table with features", t->path,
                         d->kind);
    if (rated || t->role == FERRY_INTERMEDIATE) return EXIT_DONE;
    if (!d->label_kind && !c->value[KEY_LABEL])
        return cli_usage("%s: which column is to be predicted? --label COLUMN", t->path);
    if (!d->label_kind)
        return cli_usage("%s: has no labels, expected some in a column %s", t->path,
                         c->value[KEY_LABEL]);
    if (d->labels_known == 0 && t->role == FERRY_TARGET)
        cli_note(
            c,
            "%s: all %lld labels are blank: what is learned comes from the source alone, "
            "and nobody can say how good it is; fill in some of each kind",
            t->path, (long long)d->rows);
    else if (d->labels_known == 0)
        return cli_usage("%s: all %lld labels are blank; a source has to know some",
                         t->path, (long long)d->rows);
    return EXIT_DONE;
}

/* ---- what it guesses ---- */

/* Whether the classes are numbers, and so many that they are quantities rather than names. */
static bool are_quantities(const ferry_description *d)
{
    char *end = NULL;

    if (strcmp(d->label_kind, "number") == 0) return true;
    if (strcmp(d->label_kind, "class") != 0 || d->n_counts <= 10) return false;
    for (int64_t i = 0; i < d->n_counts; i++) {
        (void)strtod(d->count_names[i], &end);
        if (end == d->count_names[i] || *end) return false;
    }
    return d->n_counts > 30 || 2 * d->n_counts > d->labels_known;
}

/* The goal, as its name in task files. */
static const char *guess_goal(const cli *c, const answer_in *a)
{
    const ferry_description *d = a->table[a->n - 1].is;

    if (c->value[KEY_GOAL]) return c->value[KEY_GOAL];
    if (strcmp(d->kind, "ratings") == 0) return "rate";
    if (strcmp(d->label_kind, "set") == 0) return "multilabel";
    for (int64_t i = 0; i < a->n; i++)
        if (a->table[i].role != FERRY_INTERMEDIATE && a->table[i].is->label_kind &&
            are_quantities(a->table[i].is))
            return "regress";
    return "classify";
}

static void say_goal(const cli *c, const answer_in *a)
{
    int64_t most = 0;

    for (int64_t i = 0; i < a->n; i++) /* a source's, where there is no label of your own */
        if (a->table[i].role != FERRY_INTERMEDIATE &&
            (most == 0 || a->table[i].role == FERRY_TARGET) && a->table[i].is->n_counts > 0)
            most = a->table[i].is->n_counts;
    if (strcmp(a->goal, "classify") == 0)
        cli_note(c, "goal: classify, %lld classes (--goal regress predicts numbers)",
                 (long long)most);
    else
        cli_note(c, "goal: %s (--goal classify predicts classes)", a->goal);
}

static void say_ids(const cli *c, const answer_in *a)
{
    const ferry_description *d = a->table[a->n - 1].is;

    if (strcmp(d->kind, "ratings") == 0) return;
    if (d->n_ids > 0)
        cli_note(c, "ids: %s%s%s, ... in %s (--id COLUMN or none)", d->ids[0],
                 d->n_ids > 1 ? ", " : "", d->n_ids > 1 ? d->ids[1] : "",
                 a->table[a->n - 1].path);
    else
        cli_note(c, "ids: none in %s, its rows are numbered (--id COLUMN)",
                 a->table[a->n - 1].path);
}

static ferry_status say_links(const cli *c, const ferry_task *task)
{
    char *links = NULL;
    const ferry_status st = ferry_task_links(c->ctx, task, NULL, &links);

    if (st == FERRY_OK)
        cli_note(c, "links: %s (--apart: no columns are the same)",
                 links[0] ? links : "no columns are the same");
    ferry_string_free(links);
    return st;
}

/* What is usual for the goal, unless another one is asked for. */
static const char *choose_metric(const cli *c, const char *goal)
{
    static const cli_line usual[] = {{"classify", "accuracy"},
                                     {"regress", "rmse"},
                                     {"rate", "rmse"},
                                     {"multilabel", "average-precision"}};

    for (int64_t i = 0; !c->value[KEY_METRIC] && i < COUNT(usual); i++)
        if (strcmp(usual[i].left, goal) == 0) return usual[i].right;
    return c->value[KEY_METRIC];
}

/* ---- the steps ---- */

/* Fit what is recommended, as `ferry fit` does. */
static int fit(cli *c, const char *task, const char *model)
{
    cli sub = *c;

    sub.command = cli_command_find("fit");
    sub.args = &task;
    sub.n_args = 1;
    sub.value[KEY_OUT] = model;
    sub.value[KEY_QUIET] = ""; /* the run has said it */
    return cli_fit(&sub);
}

/* Predict for the rows without a label of the target. */
static int predict(cli *c, const ferry_domain *target, const char *model, const char *path,
                   int64_t *rows)
{
    ferry_model *m = NULL;
    ferry_prediction *p = NULL;
    ferry_status st = ferry_model_load(c->ctx, model, NULL, &m);

    if (st == FERRY_OK) st = ferry_predict(c->ctx, m, target, &p);
    if (st == FERRY_OK) {
        ferry_prediction_keep_blank(p, target);
        *rows = p->n;
    }
    if (st == FERRY_OK && *rows > 0) st = ferry_prediction_write(c->ctx, p, path);
    ferry_prediction_free(p);
    ferry_model_free(m);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

/* What there is now, and what to do with it. */
static void say_done(const cli *c, const char *dir, int64_t rows)
{
    char word[4200];

    dir = cli_word(dir, word, sizeof word);
    if (rows > 0)
        printf("%s/predictions.csv: the %lld rows without a label, predicted.\n", dir,
               (long long)rows);
    else
        printf("Every row has a label: the model is for new rows.\n");
    printf("%s/results/report.html: what was compared, and how.\n", dir);
    printf("Next: %s predict %s/model.ferry NEW.csv -o new-predictions.csv\n", c->self,
           dir);
    printf("Next: change %s/task.yaml, then %s run %s/task.yaml\n", dir, c->self, dir);
}

/* All that comes after the task has been written. */
static int work(cli *c, const answer_in *a, const char *dir)
{
    char *path = cli_join(dir, "/task.yaml", ""), *results = cli_join(dir, "/results", "");
    char *model = cli_join(dir, "/model.ferry", ""),
         *predictions = cli_join(dir, "/predictions.csv", "");
    ferry_task *task = NULL;
    int64_t rows = 0;
    int code = EXIT_DONE;

    ferry_status st = ferry_task_load(c->ctx, path, NULL, &task);
    if (st == FERRY_OK) say_goal(c, a);
    if (st == FERRY_OK) say_ids(c, a);
    if (st == FERRY_OK) st = say_links(c, task);
    if (st == FERRY_OK) cli_note(c, "metric: %s (--metric NAME)", a->metric);
    c->task = path;
    code = st == FERRY_OK ? cli_evaluate(c, task, results) : cli_failed(c, st);
    if (code == EXIT_DONE) code = fit(c, path, model);
    if (code == EXIT_DONE)
        code = predict(c, ferry_task_domain_at(task, a->n - 1), model, predictions, &rows);
    if (code == EXIT_DONE && !c->value[KEY_JSON] && !c->value[KEY_QUIET])
        say_done(c, dir, rows);
    ferry_task_free(task);
    free(predictions);
    free(model);
    free(results);
    free(path);
    return code;
}

/* A folder that holds nothing else: nobody's work is overwritten. */
static int can_take(const cli *c, const char *dir)
{
    if (!dir) return cli_usage("answer: where to put the answer? -o FOLDER");
    if (cli_can_fill(dir) != EXIT_DONE) return EXIT_USAGE;
    DIR *there = c->value[KEY_FORCE] ? NULL : opendir(dir);
    bool empty = true;
    for (struct dirent *e; there && (e = readdir(there));)
        empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    if (there) (void)closedir(there);
    if (empty) return EXIT_DONE;
    return cli_usage(
        "%s: is there and is not empty; --force writes into it, -o names another "
        "folder",
        dir);
}

/* Look at all tables, then write the task and work on it. What was begun and not finished goes again, but for
 * repeats that are complete. */
static int answer(cli *c, answer_in *a, const char *dir)
{
    const bool new = access(dir, F_OK) != 0;
    int code = EXIT_DONE;

    ferry_ctx_set_log(c->ctx, NULL, FERRY_WARN,
                      NULL); /* the task's reading says it all again */
    for (int64_t i = 0; code == EXIT_DONE && i < a->n; i++) {
        const ferry_status st = look(c, &a->table[i]);
        code = st == FERRY_OK ? check(c, &a->table[i]) : refused(c, st);
    }
    ferry_ctx_set_log(c->ctx, cli_log, FERRY_WARN, NULL);
    if (code != EXIT_DONE) return code;
    a->goal = guess_goal(c, a);
    const ferry_description *d = a->table[a->n - 1].is;
    if (strcmp(a->goal, "classify") == 0 && d->label_kind &&
        strcmp(d->label_kind, "class") == 0 && d->n_counts == 1)
        return cli_usage("%s: all %lld labels are '%s', so there is nothing to tell apart",
                         a->table[a->n - 1].path, (long long)d->labels_known,
                         d->count_names[0]);
    a->metric = choose_metric(c, a->goal);
    if (!a->metric)
        return cli_usage("--goal %s: expected classify, regress, multilabel or rate",
                         a->goal);
    code = answer_write_task(c, a, dir);
    if (code == EXIT_DONE) code = work(c, a, dir);
    if (code == EXIT_DONE) return code;
    char *results = cli_join(dir, "/results", ""),
         *part = cli_join(dir, "/results.part", "");
    if (access(results, F_OK) == 0 || access(part, F_OK) == 0)
        cli_note(c, "%s run %s/task.yaml -o %s --resume goes on", c->self, dir, results);
    else if (new)
        cli_remove(cli_join(dir, "", ""));
    free(part);
    free(results);
    return code;
}

int cli_answer(cli *c)
{
    const int64_t n = c->sources.n + c->bridges.n + 1;
    const char *dir = c->value[KEY_OUT];
    answer_in a = {.n = n};

    if (c->sources.n == 0)
        return cli_usage("answer: what to learn from besides %s? --source FILE",
                         c->args[0]);
    if (can_take(c, dir) != EXIT_DONE) return EXIT_USAGE;
    a.table = cli_alloc((size_t)n * sizeof *a.table);
    memset(a.table, 0, (size_t)n * sizeof *a.table);
    for (int64_t i = 0; i < n; i++) {
        const bool source = i < c->sources.n, last = i == n - 1;
        a.table[i].role = last ? FERRY_TARGET : source ? FERRY_SOURCE : FERRY_INTERMEDIATE;
        a.table[i].path = last     ? c->args[0]
                          : source ? c->sources.at[i]
                                   : c->bridges.at[i - c->sources.n];
    }
    const int code = answer(c, &a, dir);
    for (int64_t i = 0; i < n; i++) {
        ferry_description_free(a.table[i].is);
        free(a.table[i].drop);
    }
    free(a.table);
    return code;
}
