/* ferry answer: the task file, as somebody would write it by hand. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer.h"

/* A text as YAML takes it: as it is, or in quotes. New string. */
static char *yaml(const char *s)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+";
    char *out = cli_alloc(2 * strlen(s) + 3), *t = out;

    if (s[0] && s[0] != '-' && s[0] != '+' && !s[strspn(s, plain)]) {
        (void)strcpy(out, s);
        return out;
    }
    for (*t++ = '\''; *s; s++) {
        if (*s == '\'') *t++ = '\'';
        *t++ = *s;
    }
    *t++ = '\'';
    *t = 0;
    return out;
}

/* What a path is called in the task: its file's name up to the first dot, letters, digits, - and _ alone, and
 * not the name of an earlier one. */
static void name_tables(const answer_in *a, char (*names)[64])
{
    for (int64_t i = a->n - 1; i >= 0; i--) { /* the target's is never changed */
        const char *path = a->table[i].path, *end = path + strlen(path);
        while (end > path && end[-1] == '/')
            end--;
        const char *s = end;
        while (s > path && s[-1] != '/')
            s--;
        int n = 0;
        for (; s < end && *s != '.' && n < 40; s++)
            names[i][n++] = isalnum((unsigned char)*s) || *s == '-' ? *s : '_';
        if (n == 0) names[i][n++] = 'x';
        names[i][n] = 0;
        for (int k = 2, j = 0; j < a->n - 1 - i;) {
            if (strcmp(names[a->n - 1 - j], names[i]) != 0) {
                j++;
                continue;
            }
            (void)snprintf(names[i] + n, 20, "-%d", k++);
            j = 0;
        }
    }
}

/* The way from folder `from` to `to`, both without links and dots in them. New string. */
static char *way(const char *from, const char *to)
{
    size_t same = 0;

    for (size_t i = 0;
         from[i] == to[i] || (!from[i] && to[i] == '/') || (from[i] == '/' && !to[i]);
         i++) {
        if (!from[i] || !to[i] || from[i] == '/') same = i;
        if (!from[i] || !to[i]) break;
    }
    char *out = cli_join("", "", "");
    for (const char *s = from + same; *s; s++)
        if (*s == '/' && s[1]) {
            char *more = cli_join(out, "../", "");
            free(out);
            out = more;
        }
    char *all = cli_join(out, to + same + (to[same] == '/'), "");
    free(out);
    return all;
}

/* The path as the task file in dir has to say it. A member is named behind a #. New string; NULL: it is not there
 * any more. */
static char *from_folder(const char *dir, const char *path)
{
    if (path[0] == '/') return cli_join(path, "", "");
    char *file = cli_join(path, "", ""), *hash = NULL, *out = NULL;
    if (access(file, F_OK) != 0 && (hash = strrchr(file, '#'))) *hash = 0;
    char *here = realpath(dir, NULL), *there = realpath(file, NULL);
    if (here && there) {
        char *part = way(here, there);
        out = cli_join(part, hash ? "#" : "", hash ? hash + 1 : "");
        free(part);
    }
    free(there);
    free(here);
    free(file);
    return out;
}

static void put(FILE *f, const char *key, const char *value, const char *comment)
{
    char *text = yaml(value);

    fprintf(f, "    %s: %s%s%s\n", key, text, comment[0] ? "    # " : "", comment);
    free(text);
}

static void write_domain(const cli *c, FILE *f, const table_in *t, const char *name,
                         const char *path)
{
    static const char *const says[] = {"source", "intermediate", "target"};
    const bool rated = strcmp(t->is->kind, "ratings") == 0;

    fprintf(f, "\n  - name: %s\n    role: %s\n", name, says[t->role]);
    put(f, rated ? "ratings" : "x", path, "");
    if (t->with_label) put(f, "label", c->value[KEY_LABEL], "");
    if (t->with_id) put(f, "id", c->value[KEY_ID], "");
    if (t->with_drop) put(f, "drop", t->drop, "");
    if (c->value[KEY_APART] && !rated) put(f, "same_as", "none", "");
    if (t->role == FERRY_TARGET)
        fputs("    labelled: all         # all labels that are there; the blank ones are "
              "predicted\n",
              f);
}

static bool write_all(const cli *c, const answer_in *a, const char *dir, FILE *f)
{
    char(*names)[64] = cli_alloc((size_t)a->n * sizeof *names);
    bool fine = true;

    name_tables(a, names);
    fprintf(f,
            "# Written by ferry answer. Change what is wrong, then: ferry run task.yaml\n"
            "task: %s\ngoal: %s\n\ndomains:",
            names[a->n - 1], a->goal);
    for (int64_t i = 0; fine && i < a->n; i++) {
        char *path = from_folder(dir, a->table[i].path);
        fine = path != NULL;
        if (fine) write_domain(c, f, &a->table[i], names[i], path);
        free(path);
    }
    char *metric = yaml(a->metric);
    fprintf(f, "\nevaluate:\n  metrics: [%s]\n", metric);
    free(metric);
    free(names);
    return fine;
}

/* The folder and those above it. */
static bool make_folder(const char *dir)
{
    char *at = cli_join(dir, "", "");

    for (char *s = at + 1; *s; s++)
        if (*s == '/') {
            *s = 0;
            if (mkdir(at, 0777) != 0 && errno != EEXIST) break;
            *s = '/';
        }
    const bool made = mkdir(at, 0777) == 0 || errno == EEXIST;
    free(at);
    return made;
}

int answer_write_task(const cli *c, const answer_in *a, const char *dir)
{
    char *path = cli_join(dir, "/task.yaml", "");
    FILE *f = make_folder(dir) ? fopen(path, "w") : NULL;
    const bool fine = f && write_all(c, a, dir, f);
    int code = EXIT_DONE;

    if ((f && fclose(f) != 0) || !fine) {
        cli_say("%s: cannot write: %s", path, strerror(errno));
        code = EXIT_FAILED;
    }
    free(path);
    return code;
}
