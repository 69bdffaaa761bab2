/* The task file (docs/task-file.md): reads the YAML and builds the task with all its data.
 *
 * The one place in this folder that looks upward: names of methods, their option tables and
 * the names of metrics come from the registries through the public API (ferry/method.h,
 * ferry/evaluate.h), so that a wrong one is reported with its file, line and key before any
 * data is read. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/archive.h"
#include "ferry/evaluate.h"
#include "task/file.h"

enum { MAX_BYTES = 16 << 20 };

/* ---- options ---- */

/* Options of pairs: {CLASS: value} is CLASS=value. */
static bool takes_mapping(const char *name)
{
    return strcmp(name, "files") == 0 || strcmp(name, "sample") == 0;
}

/* One setting, checked at once by the table that will parse it later, into memory that
 * nobody reads: so a wrong value is reported with its line and key, not when all is put
 * together. */
ferry_status ferry_i_place_option(const ferry_place *key, const ferry_place *value,
                                  const ferry_opt *table, int64_t n, ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_ctx *ctx = key->y->ctx;
    ferry_opts *one = NULL;
    const char *name = NULL;
    char *text = NULL, *scratch = NULL, where[400];
    size_t size = 0;

    if (ferry_i_place_null(value)) return FERRY_OK; /* as if it were not there */
    for (int64_t i = 0; i < n; i++)
        if (table[i].offset + sizeof(double) > size)
            size = table[i].offset + sizeof(double);
    FERRY_TRY(ferry_i_place_string(key, "a key", &name));
    FERRY_TRY(ferry_i_place_joined(value, takes_mapping(name), &text));
    FERRY_TRY(ferry_opts_new(ctx, &one));
    FERRY_TRY(ferry_opts_set(ctx, one, name, text));
    FERRY_HAVE(ctx, scratch = ferry_i_calloc((int64_t)size, 1));
    ferry_i_place_text(value, where, sizeof where);
    st = ferry_i_opts_parse(ctx, where, table, n, one, scratch);
    if (st == FERRY_EINVAL) st = FERRY_EDATA;
    if (st != FERRY_OK) goto done;
    FERRY_TRY(ferry_opts_set(ctx, opts, name, text));
done:
    FERRY_FREE(scratch, text);
    ferry_opts_free(one);
    return st;
}

/* ---- methods ---- */

/* The method by name, or a sentence with the nearest name that there is. */
static ferry_status find_method(const ferry_place *p, const char *name,
                                const ferry_method_info **out)
{
    ferry_status st = FERRY_OK;
    int64_t n = 0;
    const char **names = NULL, *near = NULL;

    *out = ferry_method_find(name);
    if (*out) return FERRY_OK;
    while (ferry_method_at(n))
        n++;
    FERRY_NEW(p->y->ctx, names, n);
    for (int64_t i = 0; i < n; i++)
        names[i] = ferry_method_at(i)->name;
    near = ferry_nearest(name, n, names);
    FERRY_TRY(ferry_i_place_bad(p, "unknown method '%s'%s%s%s", name,
                                near ? " (did you mean " : "", near ? near : "",
                                near ? "?)" : ""));
done:
    ferry_i_free(names);
    return st;
}

/* An option that names a file becomes a path, relative to the task file like all others. */
static ferry_status from_here(const ferry_place *p, const ferry_opt_table *table,
                              const char *option, ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    const char *name = ferry_opts_get(opts, option);
    char *path = NULL;
    bool file = false;

    for (int64_t i = 0; i < table->n; i++)
        if (strcmp(table->opt[i].name, option) == 0)
            file = table->opt[i].type == FERRY_OPT_FILE;
    if (!file || !name || !*name) return FERRY_OK;
    FERRY_TRY(ferry_i_place_path(p, name, &path));
    /* "file#member" is for whoever opens it */
    if (!strchr(name, '#') && access(path, F_OK) != 0)
        FERRY_TRY(ferry_i_place_bad(p, "%s: no such file", name));
    FERRY_TRY(ferry_opts_set(p->y->ctx, opts, option, path));
done:
    ferry_i_free(path);
    return st;
}

/* `mode` among the options: what the method is called today. */
static ferry_status find_mode(const ferry_place *options, const ferry_method_info **m)
{
    ferry_place key, value;
    const char *name = NULL, *mode = NULL;

    for (int64_t i = 0; ferry_i_place_pair(options, i, &key, &value); i++) {
        FERRY_PASS(ferry_i_place_string(&key, "a key", &name));
        if (strcmp(name, "mode") != 0 || ferry_i_task_has_mode(*m)) continue;
        FERRY_PASS(ferry_i_place_string(&value, "ferry or paper", &mode));
        const ferry_method_info *found = ferry_i_task_mode(*m, mode);
        if (!found)
            return ferry_i_place_bad(&value, "%s has no mode '%s'", (*m)->name, mode);
        *m = found;
    }
    return FERRY_OK;
}

/* The options of a method; `as` may stand among them, and `mode` where that is a method's other name. */
static ferry_status parse_options(const ferry_place *p, const ferry_method_info *m,
                                  ferry_opts *opts, const char **as)
{
    static const char *const words[] = {"as", "mode"};
    ferry_place key, value;
    const char *name = NULL;
    const bool spelled = !ferry_i_task_has_mode(m);

    if (ferry_i_place_null(p)) return FERRY_OK;
    if (ferry_i_place_node(p)->type == YAML_SCALAR_NODE && m->options->n > 0 &&
        strcmp(m->options->opt[0].name, "file") == 0) { /* command: ./mine.sh */
        FERRY_PASS(ferry_i_place_string(p, "a file", &name));
        FERRY_PASS(ferry_opts_set(p->y->ctx, opts, "file", name));
        return from_here(p, m->options, "file", opts);
    }
    FERRY_PASS(ferry_i_place_mapping(p, "a mapping of options"));
    FERRY_PASS(
        ferry_i_place_keys(p, words, spelled ? 2 : 1, m->options->opt, m->options->n));
    for (int64_t i = 0; ferry_i_place_pair(p, i, &key, &value); i++) {
        FERRY_PASS(ferry_i_place_string(&key, "a key", &name));
        if (spelled && strcmp(name, "mode") == 0) continue;
        if (strcmp(name, "as") != 0) {
            FERRY_PASS(
                ferry_i_place_option(&key, &value, m->options->opt, m->options->n, opts));
            FERRY_PASS(from_here(&value, m->options, name, opts));
        } else if (!ferry_i_place_null(&value))
            FERRY_PASS(ferry_i_place_string(&value, "a name", as));
    }
    return FERRY_OK;
}

/* NAME, or {NAME: {options}} with or without `as` beside it. */
static ferry_status parse_method(const ferry_place *p, ferry_task *task)
{
    ferry_status st = FERRY_OK;
    const char *name = NULL, *as = NULL, *word = NULL, *train = NULL;
    const ferry_method_info *m = NULL;
    ferry_opts *opts = NULL;
    ferry_place key, value, options = {0};

    FERRY_TRY(ferry_opts_new(p->y->ctx, &opts));
    if (ferry_i_place_node(p)->type != YAML_MAPPING_NODE)
        FERRY_TRY(ferry_i_place_string(p, "a method or {method: {options}}", &name));
    for (int64_t i = 0; ferry_i_place_pair(p, i, &key, &value); i++) {
        FERRY_TRY(ferry_i_place_string(&key, "the name of a method", &word));
        if (strcmp(word, "as") == 0) {
            if (!ferry_i_place_null(&value))
                FERRY_TRY(ferry_i_place_string(&value, "a name", &as));
        } else if (!name) {
            name = word;
            options = value;
        } else {
            FERRY_TRY(ferry_i_place_bad(
                &key, "'%s' beside '%s': expected one method an entry", word, name));
        }
    }
    if (!name) FERRY_TRY(ferry_i_place_bad(p, "expected a method, found none"));
    m = ferry_i_task_pooled(name, &train);
    if (m) FERRY_TRY(ferry_opts_set(p->y->ctx, opts, "train", train));
    if (!m) FERRY_TRY(find_method(p, name, &m));
    if (options.node) FERRY_TRY(find_mode(&options, &m));
    if (options.node) FERRY_TRY(parse_options(&options, m, opts, &as));
    FERRY_TRY(
        ferry_i_place_prefix(p, ferry_task_add_method(p->y->ctx, task, m->name, as, opts)));
done:
    ferry_opts_free(opts);
    return st;
}

/* ---- evaluate ---- */

/* Metrics must exist and belong to the goal; which of the two is wrong is said. */
static ferry_status check_metrics(const ferry_place *p, ferry_goal goal)
{
    ferry_status st = FERRY_OK;
    const char *words[64], *near = NULL;
    char *list = NULL, *s = NULL, *next = NULL;
    int64_t n = 0, k = 0;
    char those[256] = "";
    size_t at = 0;

    for (; n < FERRY_COUNT(words) && ferry_i_metric_info_at(n); n++)
        words[n] = ferry_i_metric_info_at(n)->name;
    FERRY_TRY(ferry_i_place_joined(p, false, &list));
    for (s = list; s; s = next) {
        next = strchr(s, ',');
        if (next) *next++ = 0;
        for (k = 0; k < n && strcmp(words[k], s) != 0; k++)
            ;
        if (k < n && ferry_i_metric_info_at(k)->goals & (unsigned)goal) continue;
        for (int64_t i = 0; k < n && i < n && at < sizeof those; i++)
            if (ferry_i_metric_info_at(i)->goals & (unsigned)goal)
                at += (size_t)snprintf(those + at, sizeof those - at, "%s%s",
                                       at ? ", " : "", words[i]);
        if (k < n)
            FERRY_TRY(
                ferry_i_place_bad(p, "metric %s does not belong to goal %s, which has %s",
                                  s, ferry_goal_name(goal), those));
        near = ferry_nearest(s, n, words);
        FERRY_TRY(ferry_i_place_bad(p, "unknown metric '%s'%s%s%s", s,
                                    near ? " (did you mean " : "", near ? near : "",
                                    near ? "?)" : ""));
    }
done:
    ferry_i_free(list);
    return st;
}

/* "evaluate:" goes through the same table as settings from C. */
static ferry_status parse_evaluate(const ferry_place *p, ferry_task *task)
{
    ferry_status st = FERRY_OK;
    ferry_opts *opts = NULL;
    ferry_place key, value, metrics;

    FERRY_TRY(ferry_opts_new(p->y->ctx, &opts));
    FERRY_TRY(
        ferry_i_place_keys(p, NULL, 0, ferry_i_evaluate_table, ferry_i_evaluate_table_n));
    for (int64_t i = 0; ferry_i_place_pair(p, i, &key, &value); i++)
        FERRY_TRY(ferry_i_place_option(&key, &value, ferry_i_evaluate_table,
                                       ferry_i_evaluate_table_n, opts));
    if (ferry_i_place_get(p, "metrics", &metrics))
        FERRY_TRY(check_metrics(&metrics, task->goal));
    FERRY_TRY(ferry_task_set_evaluate(p->y->ctx, task, opts));
done:
    ferry_opts_free(opts);
    return st;
}

/* ---- the whole ---- */

/* Name and goal: everything after depends on the goal. */
static ferry_status begin(const ferry_place *root, ferry_task **out)
{
    static const char *const keys[] = {"task",    "goal",    "text",    "bridge",
                                       "domains", "methods", "evaluate"};
    static const char *const goals[] = {"classify", "regress", "multilabel",
                                        "rate",     "embed",   "stream"};
    const char *name = NULL;
    ferry_place p;
    int goal = 0;

    FERRY_PASS(ferry_i_place_mapping(root, "a task (task, goal, domains, ...)"));
    FERRY_PASS(ferry_i_place_keys(root, keys, FERRY_COUNT(keys), NULL, 0));
    FERRY_PASS(ferry_i_place_need(root, "task", &p));
    FERRY_PASS(ferry_i_place_string(&p, "the name of the task", &name));
    FERRY_PASS(ferry_i_place_need(root, "goal", &p));
    FERRY_PASS(ferry_i_place_one_of(&p, goals, FERRY_COUNT(goals), &goal));
    return ferry_task_new(root->y->ctx, name, (ferry_goal)(1 << goal), out);
}

/* The text of all domains, when "text:" stands at the top: read with the seed that the
 * evaluation will use. */
static ferry_status share_text(const ferry_place *text, const ferry_place *domains,
                               const ferry_task *task)
{
    ferry_ctx *ctx = text->y->ctx;
    ferry_evaluate_settings e;

    FERRY_PASS(ferry_i_task_evaluate(ctx, task, &e));
    return ferry_i_parse_text(text, domains, e.seed < 0 ? ctx->seed : (uint64_t)e.seed);
}

/* Labels are brought to the goal's kind and the sample is tried, each failure with its
 * line. */
static ferry_status resolve(const ferry_place *domains, ferry_task *task)
{
    ferry_status st = FERRY_OK;
    ferry_ctx *ctx = domains->y->ctx;
    ferry_place p, labelled;

    for (int64_t i = 0; ferry_i_place_item(domains, i, &p); i++) {
        ferry_labels *l = NULL;
        st = ferry_i_task_labels(ctx, task->goal, task->domains[i], &l);
        ferry_i_labels_free(l);
        FERRY_TRY(ferry_i_place_prefix(&p, st));
    }
    FERRY_TRY(ferry_i_task_resolve(ctx, task));
    FERRY_TRY(ferry_i_place_prefix(domains, ferry_i_task_check(ctx, task)));
    for (int64_t i = 0; ferry_i_place_item(domains, i, &p); i++) {
        ferry_domain *seen = NULL;
        if (!ferry_i_place_get(&p, "labelled", &labelled)) continue;
        st = ferry_i_task_hide(ctx, task->goal, task->domains[i], 0, NULL, &seen);
        ferry_domain_free(seen);
        FERRY_TRY(ferry_i_place_prefix(&labelled, st));
    }
done:
    return st;
}

/* bridge: all (which is usual) or auto, of which a trial needs classes and something to choose from. */
static ferry_status parse_bridge(const ferry_place *p, ferry_task *task)
{
    static const char *const words[] = {"all", "auto"};
    int which = 0;

    FERRY_PASS(ferry_i_place_one_of(p, words, FERRY_COUNT(words), &which));
    if (which == 0) return FERRY_OK;
    if (task->goal != FERRY_CLASSIFY)
        return ferry_i_place_bad(p, "auto works for goal classify, not %s",
                                 ferry_goal_name(task->goal));
    if (ferry_i_task_count_role(task, FERRY_INTERMEDIATE) == 0 ||
        ferry_i_task_count_role(task, FERRY_SOURCE) == 0)
        return ferry_i_place_bad(
            p, "auto chooses among domains of role: intermediate, and needs a source");
    task->choose = true;
    return ferry_i_choices_new(p->y->ctx, &task->choices);
}

/* In the order in which mistakes are cheap to find: names and settings first, data files
 * last, and what joins domains (pairs, labels) when all of them are there. */
static ferry_status parse(ferry_yaml *y, ferry_task **out)
{
    ferry_status st = FERRY_OK;
    const ferry_place root = ferry_i_place_root(y);
    ferry_place domains, methods, evaluate, text, p, pairs, bridge;
    ferry_task *task = NULL;

    FERRY_TRY(begin(&root, &task));
    if (ferry_i_place_get(&root, "evaluate", &evaluate))
        FERRY_TRY(parse_evaluate(&evaluate, task));
    if (ferry_i_place_get(&root, "methods", &methods)) {
        FERRY_TRY(ferry_i_place_sequence(&methods, "a list of methods"));
        for (int64_t i = 0; ferry_i_place_item(&methods, i, &p); i++)
            FERRY_TRY(parse_method(&p, task));
    }
    FERRY_TRY(ferry_i_place_need(&root, "domains", &domains));
    FERRY_TRY(ferry_i_place_sequence(&domains, "a list of domains"));
    if (ferry_i_place_get(&root, "text", &text))
        FERRY_TRY(share_text(&text, &domains, task));
    for (int64_t i = 0; ferry_i_place_item(&domains, i, &p); i++)
        FERRY_TRY(ferry_i_parse_domain(&p, task));
    if (task->n_domains == 0)
        FERRY_TRY(ferry_i_place_bad(&domains, "expected at least one domain, found none"));
    for (int64_t i = 0; ferry_i_place_item(&domains, i, &p); i++) {
        FERRY_TRY(ferry_i_parse_same_as(&p, task, task->domains[i]));
        if (ferry_i_place_get(&p, "pairs", &pairs))
            FERRY_TRY(ferry_i_parse_pairs(&pairs, task, task->domains[i]));
    }
    if (ferry_i_place_get(&root, "bridge", &bridge)) FERRY_TRY(parse_bridge(&bridge, task));
    FERRY_TRY(resolve(&domains, task));
    FERRY_MOVE(*out, task);
done:
    ferry_task_free(task);
    return st;
}

/* From the bytes of a file. Kept apart from ferry_task_load so that tests and fuzzing need
 * no file. */
ferry_status ferry_i_task_parse(ferry_ctx *ctx, const char *path, const char *dir,
                                const char *bytes, int64_t n, const ferry_opts *sets,
                                ferry_task **out)
{
    ferry_status st = FERRY_OK;
    ferry_yaml y = {.ctx = ctx, .path = path, .dir = dir};

    *out = NULL;
    FERRY_NEED(ctx, n <= MAX_BYTES, FERRY_EDATA,
               "%s: %lld bytes, expected a task file of at most %d", path, (long long)n,
               (int)MAX_BYTES);
    FERRY_TRY(ferry_i_yaml_load(&y, bytes, n));
    FERRY_TRY(ferry_i_yaml_apply(&y, sets));
    FERRY_TRY(parse(&y, out));
done:
    ferry_i_yaml_close(&y);
    return st;
}

/* The path from the root on. New string, NULL: no memory. */
static char *absolute(const char *path)
{
    char here[4096];

    return ferry_i_path_join(getcwd(here, sizeof here) ? here : NULL, path);
}

/* What makes a task, which is kept with it so that a run can be repeated. */
static ferry_status find_origin(ferry_ctx *ctx, const char *path, const ferry_input *in,
                                const ferry_opts *sets, ferry_task *t)
{
    t->file = absolute(path);
    t->text = ferry_i_strndup(in->data, in->size);
    if (!t->file || !t->text) return ferry_i_nomem(ctx);
    return sets ? ferry_i_opts_copy(ctx, sets, &t->sets) : ferry_opts_new(ctx, &t->sets);
}

/* An archive that several domains read from is unpacked once: the context keeps it while
 * the task loads. */
ferry_status ferry_task_load(ferry_ctx *ctx, const char *path, const ferry_opts *sets,
                             ferry_task **out)
{
    FERRY_ARGS_OUT(ctx, out, out, path);

    ferry_status st = FERRY_OK;
    ferry_input in = {0};
    ferry_task origin = {0};
    char *dir = NULL;

    FERRY_NEED(ctx, path, FERRY_EINVAL, "no task file given");
    FERRY_TRY(ferry_i_input_file(ctx, path, &in));
    FERRY_HAVE(ctx, dir = ferry_i_path_dir(path));
    FERRY_TRY(find_origin(ctx, path, &in, sets, &origin));
    FERRY_TRY(ferry_i_task_read(ctx, &origin));
    ferry_i_unpacked_keep(ctx, true); /* domains often share an archive */
    st = ferry_i_task_parse(ctx, in.path, strcmp(dir, ".") == 0 ? "" : dir, in.data,
                            in.size, sets, out);
    st = ferry_i_task_read_end(ctx, st);
    if (st != FERRY_OK) {
        ferry_task_free(*out);
        *out = NULL;
        goto done;
    }
    FERRY_MOVE((*out)->file, origin.file);
    FERRY_MOVE((*out)->text, origin.text);
    FERRY_MOVE((*out)->sets, origin.sets);
done:
    ferry_i_unpacked_keep(ctx, false);
    FERRY_FREE(origin.file, origin.text);
    ferry_opts_free(origin.sets);
    ferry_i_free(dir);
    ferry_i_input_close(&in);
    return st;
}
