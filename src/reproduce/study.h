/* Studies: a table or figure of a paper, run again and put beside the paper's numbers.
 *
 * A study is one ferry_study and one line in studies.def. Its `run` prepares data and task
 * files in the lab's folder, evaluates them, and fills tables and claims. A claim is what
 * the paper says, written as a check that can fail; the verdict comes from the claims and
 * from nothing else. */
#ifndef FERRY_STUDY_H
#define FERRY_STUDY_H

#include <stdbool.h>

#include "core/core.h"
#include "eval/eval.h"
#include "ferry/reproduce.h"

/* One run of a study: where its data is, what came out. */
typedef struct ferry_lab ferry_lab;

typedef struct ferry_study {
    const char *name;     /* "ttl-table5", "hetomtl-figure6" */
    const char *paper;    /* one line: authors, title, year */
    const char *shows;    /* "table 5: accuracy on 20 Newsgroups" */
    const char *needs;    /* files below the data folder, a line each; a|b: either */
    const char *protocol; /* what we do and how it differs from the paper's (stand-ins,
                             sizes, seeds), in plain sentences */
    ferry_status (*run)(ferry_ctx *ctx, ferry_lab *lab);
} ferry_study;

/* The studies by name (registry.c); NULL: unknown, or past the end. */
const ferry_study *ferry_i_study_find(const char *name);
const ferry_study *ferry_i_study_at(int64_t i);

/* A line of `needs`: data/NAME of the first alternative that is there, else of the first.
 * New string. */
ferry_status ferry_i_study_file(ferry_ctx *ctx, const char *data, const char *names,
                                bool *there, char **out);
/* The first of a study's files that is not below data (new string), NULL when all are. */
ferry_status ferry_i_study_missing(ferry_ctx *ctx, const ferry_study *study,
                                   const char *data, char **missing);
/* Run one, also one that is not in the registry. */
ferry_status ferry_i_reproduce(ferry_ctx *ctx, const ferry_study *study,
                               const ferry_reproduce_settings *settings,
                               ferry_reproduction **out);

/* ---- what a study's run may use ---- */

/* --quick: fewer rows, repeats, seeds, settings; about a minute. */
bool ferry_i_lab_quick(const ferry_lab *lab);
/* The data folder (absolute), and this run's output folder for prepared files and tasks. */
const char *ferry_i_lab_data(const ferry_lab *lab);
const char *ferry_i_lab_folder(const ferry_lab *lab);
/* The seed of the whole study (--seed, 1 unless given): derive every other from it. */
uint64_t ferry_i_lab_seed(const ferry_lab *lab);
/* How many calls of ferry_i_lab_run() are planned, for the progress bar. */
void ferry_i_lab_plan(ferry_lab *lab, int64_t runs);

/* folder/name; data/name (a|b as in `needs`). New strings. */
ferry_status ferry_i_lab_path(ferry_ctx *ctx, ferry_lab *lab, const char *name, char **out);
ferry_status ferry_i_lab_source(ferry_ctx *ctx, ferry_lab *lab, const char *name,
                                char **out);
/* A path or name for between single quotes of a task file: quotes are doubled. */
void ferry_i_text_yaml(ferry_text *t, const char *s);
/* Write folder/name: a task file, or any other text. */
ferry_status ferry_i_lab_task(ferry_ctx *ctx, ferry_lab *lab, const char *name,
                              const char *text);
/* Load folder/task_name with the settings (may be NULL; evaluate.controls is none unless
 * they say otherwise) and evaluate it. The results are lent until the next run. */
ferry_status ferry_i_lab_run(ferry_ctx *ctx, ferry_lab *lab, const char *task_name,
                             const ferry_opts *sets, uint64_t seed);
const ferry_results *ferry_i_lab_results(const ferry_lab *lab); /* of the last run */
const struct ferry_entry *ferry_i_lab_result(const ferry_lab *lab,
                                             const char *method); /* NULL: none */

/* A number of ours: mean and standard deviation of n values. */
typedef struct ferry_score {
    double mean, sd;    /* NaN when there is none */
    int64_t n;          /* repeats, seeds */
    const char *reason; /* why there is none (lent until the next run), else NULL */
} ferry_score;

/* Mean, standard deviation over repeats and their count of a method (its name in the
 * results) in the last run; NaN and the reason when it did not run. metric NULL: the
 * deciding one. FERRY_EINVAL: no such method or metric in that run. */
ferry_status ferry_i_lab_score(ferry_ctx *ctx, ferry_lab *lab, const char *method,
                               const char *metric, ferry_score *out);
/* Of n values, such as means over repeats of several seeds or tasks; NaNs are left out. */
ferry_score ferry_i_score_of(int64_t n, const double *x);
/* Times a factor, as in 100 for per cent. */
ferry_score ferry_i_score_times(ferry_score s, double factor);

/* ---- what comes out ---- */

/* Begin a further table (a figure's panel); the first one needs no call, and gets this
 * title when nothing is in it yet. */
ferry_status ferry_i_lab_table(ferry_ctx *ctx, ferry_lab *lab, const char *title);
/* Of the current table: "accuracy, %", and decimals. Text is copied. */
void ferry_i_lab_units(ferry_lab *lab, const char *units, int digits);
/* A cell of the current table; rows and columns are made as they are first named. paper:
 * NAN where the paper gives no number. */
ferry_status ferry_i_lab_cell(ferry_ctx *ctx, ferry_lab *lab, const char *row,
                              const char *column, ferry_score ours, double paper);
/* What we have in a cell of the current table, NaN when nothing: claims may look back. */
double ferry_i_lab_ours(const ferry_lab *lab, const char *row, const char *column);
/* What the paper has there. */
double ferry_i_lab_papers(const ferry_lab *lab, const char *row, const char *column);
/* A claim of the paper, and whether it held here: "ttl is best on each task". */
ferry_status ferry_i_lab_claim(ferry_ctx *ctx, ferry_lab *lab, bool held,
                               const char *format, ...) FERRY_PRINTF(4, 5);
/* Something a reader should know that came up in this run. */
ferry_status ferry_i_lab_note(ferry_ctx *ctx, ferry_lab *lab, const char *format, ...)
    FERRY_PRINTF(3, 4);

#endif
