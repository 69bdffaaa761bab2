/* ferry reproduce: tables and figures of the papers, ours beside theirs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "study.h"

/* Where data sets are looked for: --data or FERRY_DATA and nowhere else; else where ferry fetch puts them, then
 * the folder that tests take. */
static const char *data_folder(const cli *c, int64_t i)
{
    static const char *const usual[] = {"data", "../shared/data"};
    const char *set = c->value[KEY_DATA] ? c->value[KEY_DATA] : getenv("FERRY_DATA");

    if (set && set[0]) return i == 0 ? set : NULL;
    return i < 2 ? usual[i] : NULL;
}

const char *cli_study_at(int64_t i)
{
    static study *all;
    static int64_t n;
    const char *share = NULL;

    if (!all) all = study_load(&n, &share);
    return i < n ? all[i].name : NULL;
}

/* Need i of a study in the first folder that has it, else in the first of all; NULL behind the last. */
static const char *find_need(const cli *c, const study *s, int64_t i, bool *there,
                             const char **folder)
{
    const char *name = NULL, *written = NULL, *path = NULL;

    *there = false;
    for (int64_t k = 0; !*there && (*folder = data_folder(c, k)); k++)
        if (!(path = study_need(s, *folder, i, there, &name, &written))) return NULL;
    return *there ? path : study_need(s, data_folder(c, 0), i, there, &name, &written);
}

/* The first of a study's files that is nowhere; NULL: all are there. */
static const char *missing_of(const cli *c, const study *s)
{
    const char *path = NULL, *folder = NULL;
    bool there = true;

    for (int64_t i = 0; (path = find_need(c, s, i, &there, &folder)); i++)
        if (!there) return path;
    return NULL;
}

/* The one folder that has everything a study needs; NULL: it is in several, or nothing is needed. */
static const char *data_of(const cli *c, const study *s)
{
    const char *one = NULL, *folder = NULL;
    bool there = true;
    int64_t n = 0;

    for (; find_need(c, s, n, &there, &folder); n++) {
        if (one && folder && strcmp(one, folder) != 0) return NULL;
        one = folder;
    }
    return one || n == 0 ? one : data_folder(c, 0);
}

/* ---- the list ---- */

/* One study for programs. */
static json_t *study_info(cli *c, const study *s, const char *data)
{
    lab l = {.c = c, .s = s, .data = data, .checking = true};
    json_t *needs = json_array();
    const char *name = NULL, *written = NULL, *missing = missing_of(c, s);
    bool there = false;

    study_scope(&l);
    for (int64_t i = 0; study_need(s, data, i, &there, &name, &written); i++)
        (void)json_array_append_new(needs, json_string(written));
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s?}", "study", s->name, "paper",
                     study_string(&l, l.scope, s->file, "paper", ""), "shows",
                     study_string(&l, l.scope, s->root, "shows", ""), "protocol",
                     study_string(&l, l.scope, s->root, "protocol", ""), "data", needs,
                     "missing", missing);
}

/* Every study, and whether its data is there. */
static int list(cli *c, const study *all, int64_t n)
{
    const char *data = data_folder(c, 0), *then = data_folder(c, 1);
    cli_table t = {.cols = 3};
    json_t *infos = json_array();

    for (int64_t i = 0; i < n; i++) {
        json_t *one = study_info(c, &all[i], data);
        const char *missing = missing_of(c, &all[i]);
        cli_cell(&t, "%s", all[i].name);
        cli_cell(&t, "%s", json_string_value(json_object_get(one, "shows")));
        cli_cell(&t, "%s%s", missing ? "no " : "ready", missing ? missing : "");
        (void)json_array_append_new(infos, one);
    }
    if (c->value[KEY_JSON]) {
        char *text = json_dumps(infos, JSON_INDENT(1));
        puts(text ? text : "");
        free(text);
        for (int64_t i = 0; i < t.n; i++)
            free(t.cell[i]);
        free(t.cell);
    } else {
        cli_table_print(&t, stdout, 0);
        cli_note(c, "data sets are looked for in %s%s%s (--data DIR)", data,
                 then ? ", then in " : "", then ? then : "");
    }
    json_decref(infos);
    return EXIT_DONE;
}

/* ---- one study ---- */

static const study *find(const study *all, int64_t n, const char *name)
{
    const char **known = study_alloc((size_t)n * sizeof *known);

    for (int64_t i = 0; i < n; i++) {
        known[i] = all[i].name;
        if (strcmp(all[i].name, name) == 0) return &all[i];
    }
    const char *near = ferry_nearest(name, n, known);
    cli_say("unknown study %s (%s%s)", name, near ? "did you mean " : "",
            near ? study_text("%s?", near) : "ferry reproduce lists them");
    exit(EXIT_USAGE);
}

/* An absolute path of a folder that is there: task files name the data by it. */
static const char *absolute(const char *path)
{
    struct stat info;
    char here[4096] = "";
    const bool there = stat(path, &info) == 0;

    if (!there || !S_ISDIR(info.st_mode)) {
        cli_say("%s: cannot use this folder: %s", path,
                there ? "it is none" : strerror(errno));
        exit(EXIT_USAGE);
    }
    if (path[0] == '/' || !getcwd(here, sizeof here)) return path;
    return study_text("%s/%s", here, path);
}

/* A folder, with those above it. */
static void make_folders(const char *path)
{
    for (size_t n = 1; n <= strlen(path); n++) {
        const char *at = study_text("%.*s", (int)n, path);
        if ((path[n] && path[n] != '/') || mkdir(at, 0777) == 0 || errno == EEXIST)
            continue;
        cli_say("%s: cannot make this folder: %s", at, strerror(errno));
        exit(EXIT_FAILED);
    }
}

/* FOLDER/data with a link to each set that a study needs, where they are in several folders: studies and
 * their scripts know one. */
static const char *linked(const cli *c, const study *s, const char *folder)
{
    const char *path = NULL, *from = NULL, *data = study_text("%s/data", folder);
    bool there = false;

    make_folders(data);
    for (int64_t i = 0; (path = find_need(c, s, i, &there, &from)); i++) {
        const char *set = path + strlen(from) + 1;
        const int n = (int)strcspn(set, "/");
        const char *link = study_text("%s/%.*s", data, n, set);
        (void)unlink(link); /* of an earlier run: the set may have been fetched since */
        if (symlink(study_text("%s/%.*s", absolute(from), n, set), link) == 0) continue;
        cli_say("%s: cannot make this link: %s", link, strerror(errno));
        exit(EXIT_FAILED);
    }
    return data;
}

static int run_study(cli *c, const study *s, const char *share)
{
    const char *folder =
        c->value[KEY_OUT] ? c->value[KEY_OUT] : study_text("results/%s", c->args[0]);
    lab l = {.c = c, .s = s, .quick = c->value[KEY_QUICK] != NULL};
    const char *missing = missing_of(c, s), *data = data_of(c, s);
    const int code = cli_can_fill(folder);

    if (code != EXIT_DONE) return code;
    l.seed = strtoull(ferry_ctx_get(c->ctx, "seed"), NULL, 10);
    l.share = absolute(share);
    if (data && (!missing || !data_folder(c, 1))) l.data = absolute(data);
    if (missing)
        return cli_usage("%s: not there, and %s needs it (--data DIR)", missing, s->name);
    make_folders(folder);
    l.folder = absolute(folder);
    if (!data) l.data = linked(c, s, l.folder);
    study_run(&l);
    fputs(c->value[KEY_JSON] ? study_json(&l) : study_table(&l), stdout);
    cli_note(c, "study.json, the task files and the prepared data are in %s", folder);
    json_decref(l.runs);
    json_decref(l.prepared);
    return EXIT_DONE;
}

int cli_reproduce(cli *c)
{
    const char *share = NULL;
    int64_t n = 0;

    if (c->n_args == 0 && (c->value[KEY_OUT] || c->value[KEY_QUICK]))
        return cli_usage("reproduce: which study? (ferry reproduce lists them)");
    const study *all = study_load(&n, &share);
    const int code =
        c->n_args > 0 ? run_study(c, find(all, n, c->args[0]), share) : list(c, all, n);
    study_free_all();
    return code;
}
