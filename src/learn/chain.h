/* Classifiers through the features that domains share, and chains of them. */
#ifndef FERRY_CHAIN_H
#define FERRY_CHAIN_H

#include "learn/learner.h"

/* Rows with soft labels, all counted w times; 0: they are not asked. */
typedef struct training_set {
    matrix x;
    block g; /* n x c */
    double w;
    const uint64_t *key;
} training_set;

typedef struct classifier_options {
    double C;  /* cost of errors; 0: by cross-validation on the labels (svm: 1) */
    bool svm;  /* a support vector machine on the likeliest labels */
    bool unit; /* rows to length 1 once columns are cut */
} classifier_options;

/* A linear model on the columns of all domains, through those of keep; w.at NULL: nothing is shared, all classes are
 * equally likely. */
typedef struct classifier {
    uint8_t *keep;
    int64_t shared; /* columns that count */
    bool svm, unit;
    double C;
    block w;
    double *b;
} classifier;

/* Of each column, whether rows of both have an entry other than 0; *n (may be NULL): how many columns. */
uint8_t *columns_of_both(scope *s, matrix a, matrix b, int64_t *n);
/* Columns that count are used by a training set and by x, and are in `within` (NULL: all). Rows that have none of
 * them say nothing. */
classifier classifier_fit(scope *s, const classifier_options *o, int n,
                          const training_set *e, matrix x, const uint8_t *within);
/* g (n x c) <- probabilities; svm: margins. */
void classifier_scores(scope *s, const classifier *m, matrix x, block g);

/* A classifier as the state of a model, on the columns of new data; keep NULL: all of them. */
typedef struct classifier_state {
    bool svm, unit;
    uint8_t *keep; /* width */
    block w;       /* width x classes */
    double *b;     /* classes */
} classifier_state;
extern const table classifier_table;
void classifier_keep(scope *keep, const problem *p, const classifier *c,
                     classifier_state *m);
void classifier_answer(scope *s, const void *state, const domain *d, block out);

/* x, on the columns of the problem, in the columns of new data: those of keep (NULL: all), rows by number (n < 0: all). */
matrix target_columns(scope *s, const problem *p, matrix x, int64_t n, const int64_t *rows,
                      const uint8_t *keep);

/* Step i of the chain: sources label the first domain after them, every other is labelled by the one before it alone. */
classifier chain_step(scope *s, const classifier_options *o, const problem *p, int i,
                      const block *g);
/* g[i] <- labels of domain i for all up to and with `upto`: one-hot in the sources, then step by step; hard: the
 * likeliest classes alone; known rows stay. shared[i] (may be NULL): features that a step goes by. */
void chain_labels(scope *s, const classifier_options *o, const problem *p, bool hard,
                  int upto, block *g, double *shared);

#endif
