/* ferry run: methods side by side on a task. */
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* ---- DIR.part: what is done of an evaluation that is under way ---- */

/* Whether it has something to go on from. */
static bool holds_cells(const char *part)
{
    DIR *dir = opendir(part);
    struct dirent *entry = NULL;
    bool found = false;

    while (dir && !found && (entry = readdir(dir)))
        found = strlen(entry->d_name) > 5 &&
                strcmp(entry->d_name + strlen(entry->d_name) - 5, ".cell") == 0;
    if (dir) (void)closedir(dir);
    return found;
}

/* The name of the folder beside dir. It is empty unless --resume. New string; NULL after saying
 * why not. */
static char *begin_part(const cli *c, const char *dir)
{
    char *part = cli_join(dir, "", "");

    while (strlen(part) > 1 && part[strlen(part) - 1] == '/')
        part[strlen(part) - 1] = 0;
    char *name = cli_join(part, ".part", ""), *mark = cli_join(name, "/part.json", "");
    const bool there = access(name, F_OK) == 0, cells = there && holds_cells(name);
    free(part);
    if (c->value[KEY_RESUME] && !cells)
        cli_note(c, "%s: nothing to resume, the run starts anew", name);
    if (c->value[KEY_RESUME] || !there) goto done;
    if (access(mark, F_OK) != 0 && rmdir(name) != 0) {
        cli_say("%s: is there and was not left by a run; remove it, or name another folder",
                name);
        free(name);
        name = NULL;
        goto done;
    }
    if (cells)
        cli_note(c, "%s: dropped what a stopped run left (--resume would have gone on)",
                 name);
    cli_remove(cli_join(name, "", ""));
done:
    free(mark);
    return name;
}

/* Whether all methods that ran completed what is kept. */
static bool whole(const ferry_results *rs)
{
    for (int64_t i = 0; ferry_results_at(rs, i); i++) {
        const char *why = ferry_results_at(rs, i)->reason;
        if (why && strncmp(why, "not run: stopped", 16) == 0) return false;
    }
    return true;
}

/* Say what is left after Ctrl-C or SIGTERM; rs: NULL when nothing was kept. */
static int stopped(const char *dir, const char *part, const ferry_results *rs)
{
    const long long n = rs ? (long long)ferry_results_info(rs)->repeats : 0;
    const char *more = part && holds_cells(part) ? "; --resume goes on" : "";

    if (n == 0)
        cli_say("interrupted before a repeat was complete: nothing was kept%s", more);
    else if (!whole(rs) && dir)
        cli_say("interrupted in the first repeat: the methods that were done are in %s%s",
                dir, more);
    else if (!whole(rs))
        cli_say("interrupted in the first repeat");
    else if (dir)
        cli_say("interrupted: the %lld complete repeat%s kept in %s%s", n,
                n == 1 ? " is" : "s are", dir, more);
    else
        cli_say("interrupted after %lld complete repeat%s", n, n == 1 ? "" : "s");
    return cli_interrupt_code();
}

/* Equal in the 15 digits that results.json keeps; nan is nan. */
static bool same_number(double a, double b)
{
    char x[40], y[40];

    snprintf(x, sizeof x, "%.15g", a);
    snprintf(y, sizeof y, "%.15g", b);
    return strcmp(x, y) == 0 || (isnan(a) && isnan(b));
}

/* Whether a method has the same numbers in every repeat, and the same verdict. Results of older
 * schemas (a) had another one; a sentence that tells how long draws would take may differ in that. */
static bool same_result(const ferry_result *a, const ferry_result *b, bool first)
{
    for (int64_t m = 0;; m++) {
        const ferry_metric_runs *x = ferry_result_metric_at(a, m),
                                *y = ferry_result_metric_at(b, m);
        if (!x && !y) break;
        if (!x || !y) return false;
        if (strcmp(x->name, y->name) != 0 || x->repeats != y->repeats) return false;
        for (int64_t r = 0; r < x->repeats; r++)
            if (!same_number(x->runs[r], y->runs[r])) return false;
    }
    if (first) return true;
    return a->verdict == b->verdict && same_number(a->gain, b->gain) &&
           same_number(a->low, b->low) && same_number(a->high, b->high) &&
           same_number(a->p, b->p) && same_number(a->p_holm, b->p_holm) &&
           (a->needed_draws > 0 ||
            strcmp(a->sentence ? a->sentence : "", b->sentence ? b->sentence : "") == 0);
}

/* Whether the numbers of a run came out again, digit by digit; says so. */
static int compare(const cli *c, const ferry_results *now)
{
    ferry_results *then = NULL;
    const ferry_status st = ferry_results_load(c->ctx, c->compare, &then);
    int differ = 0;

    if (st != FERRY_OK) return cli_failed(c, st);
    const ferry_run_info *info = ferry_results_info(then);
    const bool first = /* schema 3 always tells both */
        isnan(info->least) || isnan(info->reference_mean);
    for (int64_t i = 0; ferry_results_at(then, i); i++) {
        const ferry_result *one = ferry_results_at(then, i);
        const ferry_result *again = ferry_results_find(now, one->name);
        if (one->reason || (again && !again->reason && same_result(one, again, first)))
            continue;
        cli_say("%s/results.json: %s gave other numbers", c->compare, one->name);
        differ = 1;
    }
    if (!differ) cli_say("the same numbers as in %s/results.json", c->compare);
    ferry_results_free(then);
    return differ ? EXIT_FAILED : EXIT_DONE;
}

/* The last line of a run: one thing to do next. */
static void say_next(const cli *c, const ferry_results *rs, const char *dir)
{
    const ferry_run_info *run = ferry_results_info(rs);
    const ferry_result *best = ferry_results_at(rs, run->best);
    char buffer[4200];
    const char *word = dir ? cli_word(dir, buffer, sizeof buffer) : NULL;

    if (!dir || c->value[KEY_JSON]) return;
    if (c->command->run == cli_demo || c->command->run == cli_answer)
        return; /* their own */
    if (run->repeats == run->planned && ferry_results_answer(rs))
        printf("Why: %s explain %s.\n", c->self, word);
    else if (run->repeats < run->planned)
        printf("Next: the same command with --resume runs the other %lld repeats.\n",
               (long long)(run->planned - run->repeats));
    else if (best && (best->verdict == FERRY_HELPS || best->verdict == FERRY_BEST) &&
             strcmp(c->command->name, "run") == 0)
        printf(
            "Next: ferry fit %s -m %s -o model.ferry makes a model to use; ferry explain %s "
            "%s says why.\n",
            c->args[0], best->name, dir, best->name);
    else if (best && best->verdict)
        printf("Next: ferry explain %s %s says what was found and what would settle it.\n",
               dir, best->name);
    else
        printf("Next: ferry explain %s says why each method is judged as it is.\n", dir);
}

/* A line that names results by the word DIR, or by none. False: it is another line. */
static bool print_with_folder(const cli *c, const char *line, int n, const char *dir)
{
    static const struct {
        const char *end, *open, *verb, *close;
    } asks[] = {{": ferry table DIR --all.", ": ", "table", " --all."},
                {" (ferry explain says why).", " (", "explain", " says why)."}};
    char word[4200];

    for (int i = 0; i < (int)COUNT(asks); i++) {
        const int size = (int)strlen(asks[i].end);
        if (n < size || strncmp(line + n - size, asks[i].end, (size_t)size) != 0) continue;
        printf("%.*s", n - size, line);
        if (dir)
            printf("%s%s %s %s%s\n", asks[i].open, c->self, asks[i].verb,
                   cli_word(dir, word, sizeof word), asks[i].close);
        else
            puts(".");
        return true;
    }
    return false;
}

/* Where a command's first word ends, which may be in quotes. */
static int word_end(const char *s)
{
    bool quoted = false;
    int i = 0;

    for (; s[i] && s[i] != '\n' && (quoted || s[i] != ' '); i++)
        if (s[i] == '\'')
            quoted = !quoted;
        else if (!quoted && s[i] == '\\' && s[i + 1] && s[i + 1] != '\n')
            i++;
    return i;
}

/* The table. The library does not know where the task and the results are and how this command was called. What
 * needs files that do not stay is left out, and so is what ferry answer has done already. */
static void print_table(const cli *c, const char *table, const char *dir)
{
    static const char next[] = "  Next     ferry fit ";
    const bool silent = c->command->run == cli_answer || !dir;
    char word[4200];

    for (const char *s = table; *s;) {
        const int n = (int)strcspn(s, "\n");
        const bool proposes = strncmp(s, next, sizeof next - 1) == 0;
        const int task = (int)(sizeof next - 1);
        if (proposes && c->task && !silent) {
            const int known = task + word_end(s + task);
            printf("  Next     %s fit %s%.*s\n", c->self,
                   cli_word(c->task, word, sizeof word), n - known, s + known);
        } else if (!(proposes && silent) && !print_with_folder(c, s, n, dir)) {
            printf("%.*s\n", n, s);
        }
        s += n + (s[n] == '\n');
    }
}

/* *kept (may be NULL) gets the results; then nothing is printed, since a summary follows. */
static int evaluate(cli *c, const ferry_task *task, const char *dir, ferry_results **kept)
{
    ferry_results *results = NULL;
    char *table = NULL, *json = NULL, *part = NULL;
    int code = EXIT_DONE;
    ferry_status st = FERRY_OK;

    if (dir && !(part = begin_part(c, dir))) return EXIT_USAGE;
    cli_ask_before_stopping();
    const ferry_status ended = part ? ferry_evaluate(c->ctx, task, part, &results)
                                    : ferry_evaluate(c->ctx, task, NULL, &results);
    cli_progress_end();
    if (!results) {
        code = ended == FERRY_ECANCELLED ? stopped(dir, part, NULL) : cli_failed(c, ended);
        goto done;
    }
    st = ferry_results_table(c->ctx, results, "json", &json);
    if (st == FERRY_OK) st = ferry_results_table(c->ctx, results, NULL, &table);
    if (st == FERRY_OK) {
        if (!kept && c->value[KEY_JSON]) fputs(json, stdout);
        if (!kept && !c->value[KEY_JSON]) print_table(c, table, dir);
        if (!kept && c->value[KEY_JSON] && json[strlen(json) - 1] != '\n') putchar('\n');
        if (!kept) say_next(c, results, dir);
        if (dir) st = ferry_results_save(c->ctx, results, dir);
    }
    if (st != FERRY_OK)
        code = cli_failed(c, st);
    else if (ended == FERRY_ECANCELLED)
        code = stopped(dir, part, results);
    else if (dir)
        cli_note(c, "results.json, predictions and report.html are in %s", dir);
    if (code == EXIT_DONE && c->compare) code = compare(c, results);
    if (kept && code == EXIT_DONE) {
        *kept = results;
        results = NULL;
    }
done:
    /* What is done stays when there is more to do: the run was stopped, or could not be saved. */
    if (part && (code == EXIT_DONE || c->compare || !holds_cells(part)))
        cli_remove(cli_join(part, "", ""));
    if (part && !c->value[KEY_OUT])
        (void)rmdir("results"); /* made for nothing; full: stays */
    free(part);
    ferry_string_free(json);
    ferry_string_free(table);
    ferry_results_free(results);
    return code;
}

int cli_evaluate(cli *c, const ferry_task *task, const char *dir)
{
    return evaluate(c, task, dir, NULL);
}

/* FOLDER/NAME, with what does not belong into a file name replaced. */
static char *default_folder(const char *folder, const ferry_task *task)
{
    char *dir = cli_join(folder, "/", ferry_task_name(task));

    for (char *s = dir + strlen(folder) + 1; *s; s++)
        if (*s == '/' || (unsigned char)*s <= ' ' || (*s == '.' && s[-1] == '/')) *s = '_';
    return dir;
}

/* What was taken for the same features, in one line: a wrong link spoils every number. */
static ferry_status say_links(const cli *c, const ferry_task *task)
{
    char *links = NULL;
    const ferry_status st = ferry_task_links(c->ctx, task, NULL, &links);

    if (links && links[0]) cli_note(c, "the same features: %s", links);
    ferry_string_free(links);
    return st;
}

/* --save splits,predictions as settings of the evaluation. */
static int save_settings(cli *c)
{
    ferry_status st = FERRY_OK;

    for (const char *s = c->value[KEY_SAVE]; s && *s && st == FERRY_OK;) {
        const size_t n = strcspn(s, ",");
        if (n == 6 && strncmp(s, "splits", n) == 0)
            st = ferry_opts_set(c->ctx, c->sets, "evaluate.splits", "yes");
        else if (n == 11 && strncmp(s, "predictions", n) == 0)
            st = ferry_opts_set(c->ctx, c->sets, "evaluate.predictions", "all");
        else
            return cli_usage("--save %s: expected splits, predictions or both with a comma",
                             c->value[KEY_SAVE]);
        s += n + (s[n] == ',');
    }
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

/* One task file; *kept as above. */
static int run_file(cli *c, const char *path, const char *dir, ferry_results **kept)
{
    ferry_task *task = NULL;
    char *own = NULL;
    int code = EXIT_DONE;

    ferry_status st = ferry_task_load(c->ctx, path, c->sets, &task);
    if (st != FERRY_OK) {
        ferry_task_free(task);
        return cli_failed(c, st);
    }
    own =
        dir && !kept ? cli_join(dir, "", "") : default_folder(dir ? dir : "results", task);
    code = cli_can_replace(c, own, ferry_task_name(task));
    if (code == EXIT_DONE && (st = say_links(c, task)) != FERRY_OK)
        code = cli_failed(c, st);
    if (kept) cli_note(c, "%s", path);
    c->task = path;
    if (code == EXIT_DONE) code = evaluate(c, task, own, kept);
    free(own);
    ferry_task_free(task);
    return code;
}

/* ---- several tasks ---- */

typedef struct paths {
    char **path;
    int64_t n;
} paths;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_path(paths *p, char *path)
{
    char **more = realloc(p->path, (size_t)(p->n + 1) * sizeof *p->path);

    if (!more) abort(); /* as cli_join() does */
    p->path = more;
    p->path[p->n++] = path;
}

/* A task file, or the task files (*.yaml) in a folder and in the folders in it, by name. */
static void add_tasks(paths *p, const char *arg, int depth)
{
    DIR *dir = opendir(arg);
    const int64_t first = p->n;

    if (!dir) {
        const size_t len = strlen(arg);
        if (depth == 0 || (len > 5 && strcmp(arg + len - 5, ".yaml") == 0))
            add_path(p, cli_join(arg, "", ""));
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        char *path = cli_join(arg, "/", e->d_name);
        if (e->d_name[0] != '.' && depth < 2) add_tasks(p, path, depth + 1);
        free(path);
    }
    closedir(dir);
    if (p->n > first)
        qsort(p->path + first, (size_t)(p->n - first), sizeof *p->path, by_name);
}

static int summarise(const cli *c, int64_t n, ferry_results **results)
{
    char *text = NULL;
    const ferry_results *const *all = (const ferry_results *const *)results;
    const ferry_status st = c->value[KEY_JSON]
                                ? ferry_summary_table(c->ctx, n, all, "json", &text)
                                : ferry_summary_table(c->ctx, n, all, NULL, &text);

    if (st != FERRY_OK) return cli_failed(c, st);
    fputs(text, stdout);
    ferry_string_free(text);
    return EXIT_DONE;
}

static int run_several(cli *c, const paths *p)
{
    ferry_results **results = calloc((size_t)p->n, sizeof *results);
    int code = results ? EXIT_DONE : EXIT_FAILED;

    for (int64_t i = 0; code == EXIT_DONE && i < p->n; i++)
        code = run_file(c, p->path[i], c->value[KEY_OUT], &results[i]);
    if (code == EXIT_DONE) code = summarise(c, p->n, results);
    for (int64_t i = 0; results && i < p->n; i++)
        ferry_results_free(results[i]);
    free(results);
    return code;
}

int cli_run(cli *c)
{
    paths p = {0};
    int code = EXIT_DONE;

    /* --seed rules over the task's own */
    ferry_status st = FERRY_OK;
    if (c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.seed", c->value[KEY_SEED]);
    if (c->value[KEY_GUARD])
        cli_note(c, "--guard does nothing any more: the answer is there without");
    if (st == FERRY_OK && c->value[KEY_SINGLE])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.answer", "single");
    if (st == FERRY_OK && c->value[KEY_NO_ANSWER])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.answer", "no");
    if (st == FERRY_OK && c->value[KEY_CONTROLS])
        st = ferry_opts_set(c->ctx, c->sets, "evaluate.controls", c->value[KEY_CONTROLS]);
    if (st == FERRY_OK && (code = save_settings(c)) != EXIT_DONE) return code;
    if (st != FERRY_OK) return cli_failed(c, st);
    for (int64_t i = 0; i < c->n_args; i++)
        add_tasks(&p, c->args[i], 0);
    if (p.n == 0)
        return cli_usage("run: no task file (*.yaml) in %s%s", c->args[0],
                         c->n_args > 1 ? " and the others" : "");
    code = p.n == 1 ? run_file(c, p.path[0], c->value[KEY_OUT], NULL) : run_several(c, &p);
    for (int64_t i = 0; i < p.n; i++)
        free(p.path[i]);
    free(p.path);
    return code;
}

int cli_rerun(cli *c)
{
    ferry_task *task = NULL;
    int code = EXIT_DONE;
    const char *dir = c->value[KEY_OUT];

    ferry_status st = ferry_task_rerun(c->ctx, c->args[0], &task);
    if (st != FERRY_OK) return cli_failed(c, st);
    if (dir) code = cli_can_replace(c, dir, ferry_task_name(task));
    if (code == EXIT_DONE && c->value[KEY_THREADS])
        code = cli_configure(c); /* over the record's */
    c->compare = c->args[0];
    if (code == EXIT_DONE) code = cli_evaluate(c, task, dir);
    ferry_task_free(task);
    return code;
}

int cli_report(cli *c)
{
    char *path = c->value[KEY_OUT] ? cli_join(c->value[KEY_OUT], "", "")
                 : c->n_args == 1  ? cli_join(c->args[0], "/report.html", "")
                                   : cli_join("report.html", "", "");
    const ferry_status st = ferry_report_write(c->ctx, c->n_args, c->args, path);

    if (st == FERRY_OK) cli_note(c, "the report is %s", path);
    free(path);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

/* The task file that a folder of results came from, as it is called from here; NULL: it is not there any more. */
static char *task_file(const char *dir)
{
    char *path = cli_join(dir, "/run.json", ""), here[PATH_MAX], *found = NULL;
    json_t *run = json_load_file(path, 0, NULL);
    const char *file =
        json_string_value(json_object_get(json_object_get(run, "task"), "file"));
    const size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;

    if (file && access(file, F_OK) == 0) {
        const bool below = n > 1 && strncmp(file, here, n) == 0 && file[n] == '/';
        found = cli_join(below ? file + n + 1 : file, "", "");
    }
    json_decref(run);
    free(path);
    return found;
}

/* Load the folder's results and print a text made of them. */
static int print_results(cli *c, bool table)
{
    ferry_results *rs = NULL;
    char *text = NULL, *file = NULL;
    ferry_status st = ferry_results_load(c->ctx, c->args[0], &rs);

    if (st == FERRY_OK && !table)
        st = ferry_results_explain(c->ctx, rs, c->n_args > 1 ? c->args[1] : NULL, &text);
    else if (st == FERRY_OK) /* files have all methods anyway */
        st = ferry_results_table(c->ctx, rs,
                                 c->value[KEY_FORMAT] ? c->value[KEY_FORMAT]
                                 : c->value[KEY_ALL]  ? "text"
                                                      : NULL,
                                 &text);
    if (text && !(table && c->value[KEY_FORMAT])) {
        c->task = file = task_file(c->args[0]);
        print_table(c, text, c->args[0]);
    } else if (text)
        fputs(text, stdout);
    c->task = NULL;
    free(file);
    ferry_string_free(text);
    ferry_results_free(rs);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

int cli_explain(cli *c)
{
    return print_results(c, false);
}

int cli_results_table(cli *c)
{
    return print_results(c, true);
}
