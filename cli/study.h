/* Studies: a table or figure of a paper, run again and put beside the paper's numbers.
 *
 * A study is data: an entry under `studies:` of a YAML file (CONTRIBUTING.md lists its
 * keys) and, where its data must be prepared, a Python script. The runner prepares, writes
 * task files from the study's templates, evaluates them by the public API, fills the tables
 * and checks the claims. What comes out is a function of these files, the data and the
 * seed.
 *
 *   study_file.c    the YAML tree, where the files are, ${...} in texts, loops
 *   study_claim.c   expressions over cells: whether a claim holds
 *   study_run.c     preparation, tasks, evaluation, cells
 *   study_report.c  tables as text, study.json
 *
 * Memory: everything is kept until the study ends (study_alloc), nothing is freed between.
 */
#ifndef FERRY_CLI_STUDY_H
#define FERRY_CLI_STUDY_H

#include <jansson.h>

#include "cli.h"

/* ---- the YAML tree ---- */

typedef enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP } node_kind;
typedef struct node {
    node_kind kind;
    int line;         /* from 1 */
    const char *text; /* NODE_TEXT */
    int64_t n;
    const char **key;         /* NODE_MAP: n names */
    const struct node **item; /* n parts */
} node;

/* One study of a file. */
typedef struct study {
    const char *name, *path; /* path: of its file */
    const node *file, *root; /* the file's top, where `let` and `paper` are; the study */
} study;

/* What `${name}` may stand for, innermost first: one name, or all of a map. */
typedef struct scope {
    const char *name; /* NULL: map */
    const node *map, *value;
    const char *text; /* the value, unless it is a node */
    const struct scope *up;
} scope;

/* ---- what comes out ---- */

/* One number of a run: mean and deviation over n repeats, or why there is none. */
typedef struct reading {
    double mean, sd; /* NaN: none */
    int64_t n;
    const char *reason;
    const double *repeat; /* n values; NULL: not known one by one */
} reading;

typedef struct cell {
    int64_t row, column; /* places in the table's names */
    reading *from;       /* what runs gave */
    int64_t n, cap;
    bool average; /* over runs, repeat by repeat; else over runs' means */
    reading ours;
    double paper; /* NaN: the paper gives none */
} cell;

typedef struct names {
    const char **name;
    int64_t n, cap;
} names;

typedef struct table {
    const node *spec;
    const scope *scope;
    const char *title, *units, *id; /* id: for claims; NULL: none */
    int digits;
    names rows, columns;
    names asked, found;            /* methods: of its cells, and those that some run had */
    int64_t mean_row, mean_column; /* places of means that `mean:` added; -1: none */
    cell *cells;
    int64_t n, cap;
} table;

typedef struct claim {
    const char *text;
    bool held;
} claim;

/* A study under way. */
typedef struct lab {
    cli *c;
    const study *s;
    bool quick, checking; /* checking: before the first run, while no cell has a number */
    uint64_t seed;
    const char *data, *folder, *share; /* absolute; share: has studies/ and prepare/ */
    const scope *scope;                /* the study's own names */
    json_t *prepared;                  /* what the preparation found, by name; or NULL */
    table *tables;
    int64_t n_tables;
    claim *claims;
    int64_t n_claims, cap_claims;
    names notes, said; /* said: warnings, for log.txt */
    json_t *runs;      /* [{"command", "seconds", "scores"}] */
    int64_t planned, done;
    double started, seconds;
    const char *verdict;
} lab;

/* ---- study_file.c ---- */

void *study_alloc(size_t bytes); /* kept until study_free_all() */
void study_free_all(void);
const char *study_text(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* Make room for one more element of a growing array. */
#define STUDY_GROW(array, n, cap)                                                          \
    ((array) = study_grow((array), (n), &(cap), sizeof *(array)))
void *study_grow(void *array, int64_t n, int64_t *cap, size_t size);
int64_t names_add(names *all, const char *name);        /* its place; added unless there */
int64_t names_find(const names *all, const char *name); /* -1: not there */

/* "FILE:LINE: ..." and the end of the program. */
_Noreturn void study_bad(const study *s, int line, const char *fmt, ...) FERRY_PRINTF(3, 4);
/* All studies, sorted by name. */
study *study_load(int64_t *n, const char **share);
/* A part by key; NULL: not there. {full: A, quick: B} is A or B. */
const node *node_get(bool quick, const node *map, const char *key);
const node *node_pick(bool quick, const node *n);

/* Refuse keys that mean nothing there. */
void study_keys(const study *s, const node *map, const char *const *allowed, int64_t n);
/* The paths of a study's data files: data/NAME of the first alternative that is there, else
 * of the first; NULL past the end. name: what ${...} calls it, or NULL. */
const char *study_need(const study *s, const char *data, int64_t i, bool *there,
                       const char **name, const char **written);

/* ---- study_text.c ---- */

/* The text with every ${name} replaced. */
const char *study_expand(const lab *l, const scope *s, const char *text, int line);
/* The same of a part that must be a text; `otherwise` when it is not there (NULL: it must). */
const char *study_string(const lab *l, const scope *s, const node *map, const char *key,
                         const char *otherwise);
/* One more name in a scope. */
const scope *study_name(const char *name, const char *text, const scope *up);
/* Names that every text of the study may use. */
void study_scope(lab *l);
/* Call fn for every combination of the axes in the map's `each` or `over`, the first axis
 * outermost: a list, or a whole number n for 0 .. n - 1. Once when there are none. A part
 * with `only: full` or `only: quick` is left out of the other. */
typedef void (*each_fn)(lab *l, const node *map, const scope *s, void *arg);
void study_each(lab *l, const node *map, const char *axes, const scope *s, each_fn fn,
                void *arg);
/* A list of parts, each of them looped over. NULL: none. */
void study_all(lab *l, const node *list, const scope *s, each_fn fn, void *arg);

/* ---- study_claim.c ---- */

/* Whether an expression holds. here: the table that [row | column] means. */
bool study_holds(const lab *l, const table *here, const char *text, int line);
/* The text with every {expression:%format} replaced. */
const char *study_say(const lab *l, const table *here, const char *text, int line);

/* ---- study_table.c ---- */

/* A run as the tables see it: results of an evaluation, or measured times. */
typedef struct run {
    const char *group; /* its name under runs: */
    const scope *scope;
    const ferry_results *results; /* NULL: times */
    names timed;                  /* methods, and for each: */
    const double *ms;
    table *t; /* the table that is being filled */
} run;

const cell *table_find(const table *t, int64_t row, int64_t column); /* NULL: none */
void study_tables(lab *l);       /* as the study describes them, empty */
void study_fill(lab *l, run *u); /* cells of a run */
void study_finish(lab *l);       /* all runs are done */
void study_judge(lab *l);        /* claims, notes, verdict */

/* ---- study_run.c, study_report.c ---- */

/* Run a study and write study.json into its folder. */
void study_run(lab *l);
const char *study_table(const lab *l);
const char *study_json(const lab *l);

#endif
