/* Elastic net (elastic.c). */
#ifndef FERRY_ELASTIC_H
#define FERRY_ELASTIC_H

#include "linalg/ops.h"

typedef struct elastic_options {
    double ratio, alpha, tol;
    int64_t max_iter;
} elastic_options;

/* b (d x k), for each column y of Y (n x k):
 *   min 1/(2n) |y - X b - c|^2 + lambda (alpha |b|_1 + (1 - alpha)/2 |b|^2)
 * with lambda = `ratio` times the smallest that makes all b of y zero; the c are left out. By coordinate descent on the
 * d x d products of the features: FERRY_ENEEDS when d is too large for them. All rows are here. */
block elastic_fit(scope *s, matrix x, block y, const elastic_options *o);

#endif
