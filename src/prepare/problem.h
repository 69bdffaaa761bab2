/* From a task to the problem that a method is given, and from new data to its rows (learn/problem.h). */
#ifndef FERRY_PREPARE_PROBLEM_H
#define FERRY_PREPARE_PROBLEM_H

#include "model/seam.h"
#include "prepare/prepare.h"

/* The problem of a split's task, in s; problem.prepared (NULL: no features) is how new data is read. */
const problem *problem_make(scope *s, ferry_split *split, const method *m, const wants *w,
                            const common_options *c);
/* The same without values: fails where the task does not have what is wanted. */
const problem *problem_shape(scope *s, ferry_split *split, const method *m, const wants *w,
                             const common_options *c);
/* What it is called in prepare.h. */
ferry_layout prepared_layout(arrangement as);
/* Whether the method sees features of this task: one that wants graphs goes without where the target has no view. */
bool problem_has_features(scope *s, const ferry_task *task, const wants *w);

/* What a model of graphs keeps of the target: the graphs' names, and the labels by id. */
typedef struct known_labels {
    ferry_ids *graphs, *ids;
    int64_t n_graphs, n;
    int32_t *cls; /* n; or ... */
    double *num;  /* ... */
} known_labels;
extern const table known_table;
known_labels *known_keep(scope *s, scope *keep, const ferry_task *task);

/* New data for a model: how it is read (NULL: no features), what it knows (NULL: no graphs), its classes. */
typedef struct new_data {
    const method *m;
    const ferry_prepared *prepared;
    const known_labels *known;
    int64_t classes;
} new_data;
/* Its rows. Labels are hidden, unless known. */
domain problem_rows(scope *s, const new_data *how, const ferry_domain *d);

/* wants RATINGS: the target's ratings are there, those of source i are made when they are asked for, all of them here.
 * Users and items are in an order by what their ratings are. */
ratings source_ratings(scope *s, const problem *p, int i);
/* Ratings that are no task's: in the order of ids. */
ratings ratings_sorted(scope *s, const ferry_ratings *from);
const ferry_ids *ids_sorted(scope *s, const ferry_ids *ids);
/* What problem_make() and problem_shape() do there. */
problem *ratings_problem(scope *s, const ferry_task *task, const method *m);
problem *ratings_shape(scope *s, const ferry_task *task, const method *m);

/* Which domains the option `train` means here. */
training train_of(scope *s, const ferry_task *task, const method *m,
                  const common_options *c);
const char *train_name(training t);

/* Rows of a domain that has factors (learn/problem.h), as they are meant. */
matrix scaled_values(scope *s, const problem *p, matrix x);

/* Name of column j for people: the feature's, or its view and number. */
const char *column_name(scope *s, const problem *p, int64_t j);
/* Fails where a column of x that keep[] marks holds something below 0, and names its view. */
void need_amounts(scope *s, const problem *p, matrix x, const uint8_t *keep);
/* The columns of the views that one of n domains from `from` on and domain `to` have, less those that are 0 in all of
 * them. Fails where there is no such view, or one of the columns holds something below 0. */
uint8_t *shared_amounts(scope *s, const problem *p, int from, int n, int to);
/* Diagnostic `name`: for each of the k groups of scores (score[j * k + g] for column j) the names of the columns that
 * score highest, under the group's name (names NULL: 1, 2, ...). Scores of 0 or less are never named. */
void report_top_columns(scope *s, const problem *p, const char *name,
                        const ferry_ids *names, int64_t k, const double *score);

/* Diagnostic "scatter": the first two coordinates of up to 1000 of the target's instances, all of which are rows, with
 * their classes. */
void report_scatter(scope *s, const problem *p, block phi);

#endif
