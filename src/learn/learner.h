/* A learner that a method is free to choose: neighbours, logistic or ridge regression. */
#ifndef FERRY_LEARNER_H
#define FERRY_LEARNER_H

#include "learn/learn.h"

typedef enum ferry_learner_kind {
    /* In the order of the methods' option `learner`. */
    FERRY_LEARNER_KNN,
    FERRY_LEARNER_LOGREG,
    FERRY_LEARNER_RIDGE
} ferry_learner_kind;

/* What was learned. Only the fields of its kind are set. */
typedef struct ferry_learner {
    ferry_learner_kind kind;
    /* regression: k is 1 and cls NULL */
    bool numbers;
    int64_t k, d;      /* scores (1 for numbers), features */
    ferry_linear *lin; /* logreg */
    double *w;         /* ridge: k x (d + 1) */
    ferry_matrix *x;   /* knn: its rows, labels, weights and number of neighbours */
    int32_t *cls;
    double *num, *weight;
    int64_t neighbours;
} ferry_learner;

/* Labelled rows, borrowed. */
typedef struct ferry_examples {
    const ferry_matrix *x;
    const int32_t *cls;   /* classes, or NULL */
    const double *num;    /* numbers, or NULL */
    const double *weight; /* per row; NULL: 1. logreg takes all rows alike */
} ferry_examples;

/* Settings; each kind looks at its own. */
typedef struct ferry_learning {
    int64_t neighbours; /* knn */
    double lambda;      /* ridge */
    double C;           /* logreg; the constant term is not held small */
} ferry_learning;

/* k classes (1 for numbers, which logreg does not serve). knn copies its rows and costs
 * nothing here; ridge is one system of the smaller of rows and features; logreg is a linear
 * model. */
ferry_status ferry_i_learner_fit(ferry_ctx *ctx, ferry_learner_kind kind, int64_t k,
                                 const ferry_learning *o, const ferry_examples *e,
                                 ferry_learner **out);
/* scores (rows x k): shares of the classes (ridge: its answer to their indicators), or the
 * number. */
ferry_status ferry_i_learner_scores(ferry_ctx *ctx, const ferry_learner *l,
                                    const ferry_matrix *x, ferry_block *scores);
void ferry_i_learner_free(ferry_learner *l);

#endif
