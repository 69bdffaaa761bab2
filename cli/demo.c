/* ferry demo: a task to look at, run and explained. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define FIRST "digits"      /* what is shown without a name */
#define FOLDER "ferry-demo" /* where it stays */

enum { SIDE = 8, HALF = 4, COLUMN = 22 };

/* ---- a picture ---- */

/* Pixels of a row of a table: after the id, SIDE lines of `wide`. */
typedef struct picture {
    const char *file, *says;
    int row, wide, pixel[SIDE * SIDE];
} picture;

/* Take the row from the table. False: it is not there, or not as it was made. */
static bool look(const char *dir, picture *p)
{
    char *path = cli_join(dir, "/", p->file), line[1024] = "";
    FILE *file = fopen(path, "r");

    for (int i = 0; file && i <= p->row; i++)
        if (!fgets(line, sizeof line, file)) line[0] = 0;
    if (file) (void)fclose(file);
    free(path);
    const char *s = strchr(line, ',');
    for (int k = 0; k < SIDE * p->wide; k++) {
        if (!s) return false;
        p->pixel[k] = atoi(s + 1);
        if (p->pixel[k] < 0 || p->pixel[k] > 16) return false;
        s = strchr(s + 1, ',');
    }
    return true;
}

/* Two characters a pixel are about a square. */
static void draw_line(const picture *p, int line, bool last)
{
    static const char shade[] = ".:-=+*#%@";
    int n = 0;

    for (int j = 0; j < p->wide; j++, n += 2) {
        const char c = shade[p->pixel[line * p->wide + j] / 2];
        printf("%c%c", c, c);
    }
    printf(last ? "\n" : "%*s", COLUMN - n, "");
}

/* A digit of each table, side by side: half, whole, half. */
static void draw(const char *dir)
{
    /* a left half and a right half of a nought, and a six */
    picture p[] = {{"left.csv", "others have labelled", 11, HALF, {0}},
                   {"both.csv", "nobody has labelled", 12, SIDE, {0}},
                   {"right.csv", "yours: few labels", 6, HALF, {0}}};
    const int n = (int)COUNT(p);

    for (int i = 0; i < n; i++)
        if (!look(dir, &p[i])) return;
    for (int i = 0; i < n; i++)
        printf("%-*s", i + 1 < n ? COLUMN : 0, p[i].file);
    putchar('\n');
    for (int i = 0; i < n; i++)
        printf("%-*s", i + 1 < n ? COLUMN : 0, p[i].says);
    printf("\n\n");
    for (int line = 0; line < SIDE; line++)
        for (int i = 0; i < n; i++)
            draw_line(&p[i], line, i + 1 == n);
    putchar('\n');
}

/* ---- the demo ---- */

/* What stays, and commands that work where they are pasted. */
static void say_next(const cli *c, const char *name, const char *dir, bool kept)
{
    char word[4200];

    if (!kept) {
        printf(
            "A row is a method: all saw the same few labels of the target and are "
            "scored on the rest.\nNext: %s gen %s && %s run %s/task.yaml runs it from files that you can "
            "change.\n",
            c->self, name, c->self, name);
        return;
    }
    dir = cli_word(dir, word, sizeof word);
    printf("\nThe report is %s/results/report.html; the task and its tables are in %s.\n"
           "Next: %s explain %s/results\n",
           dir, dir, c->self, dir);
    if (strcmp(name, FIRST) == 0)
        printf("Next: %s answer %s/mine.csv --source %s/left.csv --bridge %s/both.csv "
               "--label digit -o %s/answer\n",
               c->self, dir, dir, dir, dir);
}

/* Make the task, unless the default folder has one from before. */
static ferry_status make(cli *c, const char *name, const char *dir, const char *task)
{
    if (strcmp(dir, FOLDER) == 0 && !ferry_opts_at(c->sets, 0) && access(task, F_OK) == 0) {
        cli_note(c, "%s is there: it is run as it stands", task);
        return FERRY_OK;
    }
    return ferry_generate(c->ctx, name, c->sets, dir);
}

/* Make and run the task in dir; temporary: nothing stays. */
static int demo(cli *c, const char *name, const char *dir, bool temporary)
{
    const bool talks = !c->value[KEY_JSON] && !c->value[KEY_QUIET];
    char *path = cli_join(dir, "/task.yaml", ""), *results = cli_join(dir, "/results", "");
    ferry_task *task = NULL;
    ferry_opts *sets = NULL;
    int code = EXIT_DONE;

    ferry_status st = ferry_opts_new(c->ctx, &sets);
    if (st == FERRY_OK && c->value[KEY_CONTROLS])
        st = ferry_opts_set(c->ctx, sets, "evaluate.controls", c->value[KEY_CONTROLS]);
    if (st == FERRY_OK) st = make(c, name, dir, path);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, path, sets, &task);
    if (st != FERRY_OK) code = cli_failed(c, st);
    if (code == EXIT_DONE && talks && strcmp(name, FIRST) == 0) draw(dir);
    c->task = temporary ? NULL : path;
    if (code == EXIT_DONE) code = cli_evaluate(c, task, temporary ? NULL : results);
    if (code == EXIT_DONE && talks) say_next(c, name, dir, !temporary);
    ferry_task_free(task);
    ferry_opts_free(sets);
    free(results);
    free(path);
    return code;
}

int cli_demo(cli *c)
{
    const char *name = c->n_args > 0 ? c->args[0] : FIRST, *dir = c->value[KEY_OUT];

    if (!dir && strcmp(name, FIRST) == 0) dir = FOLDER;
    if (dir && cli_can_fill(dir) != EXIT_DONE) return EXIT_USAGE;
    char *temporary = dir ? NULL : cli_temporary();
    cli_ask_before_stopping(); /* so that the temporary folder does not stay */
    const int code = demo(c, name, temporary ? temporary : dir, temporary != NULL);
    cli_remove(temporary);
    return code;
}
