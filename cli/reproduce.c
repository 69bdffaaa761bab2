/* ferry reproduce: tables and figures of the papers, ours beside theirs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "study.h"

/* --data, FERRY_DATA, where ferry fetch puts data sets, or the folder that tests take. */
static const char *data_folder(const cli *c)
{
    static const char *const fetched = "data", *const beside = "../shared/data";
    const char *set = getenv("FERRY_DATA");

    if (c->value[KEY_DATA]) return c->value[KEY_DATA];
    if (set && set[0]) return set;
    return access(fetched, F_OK) != 0 && access(beside, F_OK) == 0 ? beside : fetched;
}

const char *cli_study_at(int64_t i)
{
    static study *all;
    static int64_t n;
    const char *share = NULL;

    if (!all) all = study_load(&n, &share);
    return i < n ? all[i].name : NULL;
}

/* The first of a study's files that is not there; NULL: all are. */
static const char *missing_of(const study *s, const char *data)
{
    const char *path = NULL, *name = NULL, *written = NULL;
    bool there = true;

    for (int64_t i = 0; (path = study_need(s, data, i, &there, &name, &written)); i++)
        if (!there) return path;
    return NULL;
}

/* ---- the list ---- */

/* One study for programs. */
static json_t *study_info(cli *c, const study *s, const char *data)
{
    lab l = {.c = c, .s = s, .data = data, .checking = true};
    json_t *needs = json_array();
    const char *name = NULL, *written = NULL, *missing = missing_of(s, data);
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
    const char *data = data_folder(c);
    cli_table t = {.cols = 3};
    json_t *infos = json_array();

    for (int64_t i = 0; i < n; i++) {
        json_t *one = study_info(c, &all[i], data);
        const char *missing = missing_of(&all[i], data);
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
        cli_note(c, "data sets are looked for in %s (--data DIR)", data);
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

static int run_study(cli *c, const study *s, const char *share)
{
    const char *folder =
        c->value[KEY_OUT] ? c->value[KEY_OUT] : study_text("results/%s", c->args[0]);
    lab l = {.c = c, .s = s, .quick = c->value[KEY_QUICK] != NULL};
    const char *missing = missing_of(s, data_folder(c));
    const int code = cli_can_fill(folder);

    if (code != EXIT_DONE) return code;
    l.seed = ferry_ctx_seed(c->ctx);
    l.share = absolute(share);
    l.data = absolute(data_folder(c));
    if (missing)
        return cli_usage("%s: not there, and %s needs it (--data DIR)", missing, s->name);
    make_folders(folder);
    l.folder = absolute(folder);
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
