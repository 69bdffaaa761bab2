/* Logistic regression on soft labels (softmax.c). */
#ifndef FERRY_SOFTMAX_H
#define FERRY_SOFTMAX_H

#include "learn/learner.h"

/* P(class | x) = softmax(x W + b). */
typedef struct linear {
    double C;  /* the cost of errors that it was learned with */
    block w;   /* cols x c; of two classes the first column is 0 */
    double *b; /* c */
} linear;

/* a_ik >= 0 (n x c) says how much row i speaks for class k. C 0: softmax_cost(). Stops when the gradient is tol times
 * the first one. */
linear softmax_regression(scope *s, matrix x, block a, const uint64_t *key, double C,
                          double tol);
/* out (n x c) <- probabilities. */
void softmax_scores(scope *s, const linear *m, matrix x, block out);
/* Of .3, 1, 3, 10 and 30 the cost that predicts the likeliest labels of rows left out best; 1 for fewer than 30 rows. */
double softmax_cost(scope *s, matrix x, block a, const uint64_t *key);

#endif
