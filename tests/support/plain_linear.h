/* Linear models (learn/linear.h) for tests and benchmarks that hold plain matrices, beside liblinear's header. */
#ifndef FERRY_TEST_PLAIN_LINEAR_H
#define FERRY_TEST_PLAIN_LINEAR_H

#include "linalg/linalg.h"

typedef enum ferry_linear_kind {
    FERRY_LINEAR_SVM,    /* L2-regularised squared hinge */
    FERRY_LINEAR_LOGREG, /* L2-regularised logistic regression */
    FERRY_LINEAR_SVR     /* L2-regularised squared epsilon-insensitive */
} ferry_linear_kind;

/* Settings of a fit; borrowed while it runs. */
typedef struct ferry_linear_options {
    ferry_linear_kind kind;
    double C, eps, p; /* cost, stopping tolerance, width of the SVR tube */
    /* with a constant term, regularised like a weight */
    bool bias;
    bool balanced; /* class weights n / (k n_c) */
} ferry_linear_options;

/* W: k x (d + 1), one row per class or label (last entry the bias); two classes that occur
 * are two rows, -w and w. Regression has one row. */
typedef struct ferry_linear {
    ferry_linear_kind kind;
    bool sets; /* rows are labels that do not exclude each other */
    int64_t k, d;
    double *w;
    uint8_t *seen; /* k; 0: a class without instances, which scores -inf and never wins */
} ferry_linear;

/* One against the rest. y[i] in 0..k-1 for classes; SVR takes target instead (k = 1). When
 * only one class occurs it always wins. x must be finite. Nothing is drawn. */
ferry_status plain_linear_fit(ferry_ctx *ctx, const ferry_linear_options *o,
                              const ferry_matrix *x, int64_t k, const int32_t *y,
                              const double *target, ferry_linear **out);
/* Label sets, on[i * k + j] 0 or 1. A label that is never or always on has constant
 * scores. */
ferry_status plain_linear_fit_sets(ferry_ctx *ctx, const ferry_linear_options *o,
                                   const ferry_matrix *x, int64_t k, const uint8_t *on,
                                   ferry_linear **out);
/* scores n x k (block rows = x->rows, k = model->k): margins; for LOGREG probabilities
 * (classes: one against the rest, normalised). */
ferry_status plain_linear_scores(ferry_ctx *ctx, const ferry_linear *m,
                                 const ferry_matrix *x, ferry_block *scores);
void plain_linear_free(ferry_linear *m);

#endif
