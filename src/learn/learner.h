/* Learners: what is learned from examples alone, behind one seam. A baseline is a learner on rows of a task; a method
 * may hold any of them; combinators (self-training, a chain of classifiers ...) take one and give one.
 *
 * A learner counts rows by weights: weight 2 is the row twice, and a test of every learner says so. */
#ifndef FERRY_LEARNER_H
#define FERRY_LEARNER_H

#include "learn/problem.h"
#include "state/table.h"

typedef struct examples { /* borrowed for the call */
    matrix x;             /* finite; LEARN_MISSING: or NaN */
    labels y;             /* none hidden */
    const double *weight; /* of each row, 0 or more, not all 0; NULL: 1 */
    const uint64_t *key;  /* of each row: folds go by it; NULL: by number */
    /* the first of them are of sources: cross-validation always learns from these and never judges by them */
    int64_t sources;
} examples;

/* What it can take. */
enum {
    LEARN_CLASSES = 1,
    LEARN_SETS = 2,
    LEARN_NUMBERS = 4,
    LEARN_SOFT = 8, /* without it learn() gives a row once for each class, weighted */
    LEARN_WEIGHTS = 16,
    LEARN_MISSING = 32,
    LEARN_SPREAD = 64 /* rows over processes */
};

typedef struct learner {
    const char *name, *summary, *reference;
    unsigned takes; /* LEARN_ bits */
    const ferry_opt *options;
    int64_t n_options;
    size_t options_size;
    const table *state;
    void (*fit)(scope *s, scope *keep, const examples *e, const void *options, void *state);
    /* out: n x k. It reads the state only: threads share one. */
    void (*scores)(scope *s, const void *state, matrix x, block out);
    /* A loaded state: whether it gives k scores for rows of so many columns. */
    bool (*serves)(const void *state, int64_t cols, int64_t k);
    double least; /* label sets: scores above are on (0.5; margins: 0) */
    bool margins; /* classes: scores are no shares */
    /* weights, cols x k, for top columns and explain. NULL: it has none */
    const block *(*linear)(const void *state);
} learner;
#define LEARNER_OPTIONS(table, T)                                                          \
    .options = (table), .n_options = FERRY_COUNT(table), .options_size = sizeof(T)

/* What was learned: a variant of a state's table (state/table.h), and its scores. */
typedef struct learned {
    const learner *by;
    void *state;
    int64_t k;
} learned;
extern const variants learners; /* for FIELD_VARIANT */
/* NULL: unknown; beyond the last. */
const learner *learner_find(const char *name);
const learner *learner_at(int64_t i);
/* The options of a learner at their defaults. */
void *learner_defaults(scope *s, const learner *l);
/* An option of it by name, a number; nothing where it has none such. */
void learner_set(const learner *l, void *options, const char *name, double value);

/* ---- learning and asking ---- */

/* FERRY_ENEEDS: it cannot take e. options NULL: the defaults. */
learned learn(scope *s, scope *keep, const learner *by, const void *options,
              const examples *e);
/* n x k, new. */
block answer(scope *s, const learned *m, matrix x);
/* The same into out, for a model that came from a file: FERRY_EDATA where it is of other columns or classes. */
void learned_scores(scope *s, const learned *m, matrix x, block out);

/* ---- examples ---- */

/* The rows of a domain that have a label; of these only those with features (FERRY_ENEEDS: none). */
examples labelled_rows(scope *s, const domain *d);
examples rows_with_features(scope *s, const domain *d);
/* Labelled rows of all domains on top of each other, sources first. */
examples training_examples(scope *s, const problem *p);
/* VIEWS_APART: the views side by side; what is missing is 0, which is the mean where columns are centred. */
matrix side_by_side(scope *s, const domain *d);
/* Rows by number; several on top of each other, weights of 1 where only some have them. */
examples take_examples(scope *s, const examples *e, int64_t n, const int64_t *rows);
examples stack_examples(scope *s, int64_t n, const examples *e);
/* n x k: soft labels, 0 and 1, or the number. */
block targets(scope *s, const examples *e);
/* The sum of weights, of all rows. */
double total_weight(scope *s, const examples *e);

/* The numbers of rows in the order of their keys (NULL: as they stand). */
int64_t *rows_by_key(scope *s, int64_t n, const uint64_t *key);
/* A whole number for each row, of its key: its sums over rows are exact, so what holds for the same rows has the same sum,
 * wherever they stand and whoever adds them up. */
double *row_marks(scope *s, layout rows, int64_t n, const uint64_t *key);
/* Label sets: the labels in an order by the rows that have them, not by name. */
int32_t *labels_by_rows(scope *s, const examples *e);

/* ---- cross-validation ---- */

/* Folds of rows by class (NULL: all alike) and key, dealt class after class: no file's order decides, and rows of one
 * key are in one fold. -1: no label. */
int32_t *stratified_folds(scope *s, layout rows, int64_t n, const int32_t *cls,
                          const uint64_t *key, int folds);
/* Each row by a model of the other folds; rows of sources are NaN. */
block cross_predict(scope *s, const learner *by, const void *options, const examples *e,
                    int folds);
/* The value of a real option, n to choose from, that predicts rows left out best by three folds; the first where
 * others are not better (numbers: by a standard error), and where there are fewer than five rows of a class (numbers:
 * fifteen). Label sets: the first. */
double choose(scope *s, const learner *by, const void *options, size_t at, int n,
              const double *value, const examples *e);

/* ---- scores and classes ---- */

int32_t *argmax(scope *s, block g); /* of each row; the first of equals */
double *margins(scope *s, block g); /* the best score less the next */
/* z <- softmax(z + bias); log of the sum. bias may be NULL. */
double softmax_row(int64_t c, const double *bias, double *z);
block one_hot(scope *s, layout rows, int64_t n, const int32_t *y, int64_t c);
/* Rows with a known class to one-hot. */
void clamp_rows(block g, const int32_t *known);
/* Cohen's kappa of two labellings, over all rows; 0 where it is not defined. */
double cohen_kappa(scope *s, layout rows, int64_t n, const int32_t *a, const int32_t *b,
                   int64_t c);
/* 1 for the quota[c] rows of all processes with cls == c that have the largest value, the key breaking ties. */
uint8_t *top_rows(scope *s, layout rows, int64_t n, const int32_t *cls, const double *value,
                  const uint64_t *key, int64_t k, const int64_t *quota);

#endif
