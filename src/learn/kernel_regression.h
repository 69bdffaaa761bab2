/* Kernel regression of soft labels, all of it chosen by exact leave-one-out (kernel_regression.c). */
#ifndef FERRY_KERNEL_REGRESSION_H
#define FERRY_KERNEL_REGRESSION_H

#include "learn/learner.h"

/* f(x) = sum_i k(x, x_i) a_i, P(class | x) = softmax(sharpness f(x)). */
typedef struct kernel_regression {
    int64_t n, q;
    matrix x;     /* n x q, dense */
    block a;      /* n x c */
    double gamma; /* k = exp(-gamma |x - y|^2); 0: the product x'y */
    double noise;
    double sharpness; /* 0: nothing is learned */
} kernel_regression;

/* How good it is, by rows left out. */
typedef struct left_out {
    block f;      /* n x c: scores of each row by all others */
    double skill; /* 1 - squared error over that of the mean */
    double loss;  /* mean cross-entropy */
} left_out;

/* q: n x c, rows add up to 1. */
kernel_regression kernel_regress(scope *s, block x, block q, left_out *out);
/* Probabilities, n x c. */
block kernel_probabilities(scope *s, const kernel_regression *m, block x);
extern const table kernel_regression_table;

#endif
