/* Stochastic gradient descent on the factors of mf. */
#ifndef FERRY_RATINGS_SGD_H
#define FERRY_RATINGS_SGD_H

#include "methods/shared/ratings.h"

/* Ratings in the order in which they are taken. */
typedef struct sgd {
    int32_t *user, *item;
    double *value;
    int64_t *start; /* of the blocks */
} sgd;

/* Values are divided by `unit`. */
ferry_status ferry_i_sgd_new(ferry_ctx *ctx, const ferry_matrix *x, double unit,
                             ferry_rng *rng, sgd *s);
void ferry_i_sgd_clear(sgd *s);
/* One sweep over all ratings. */
void ferry_i_sgd_sweep(ferry_ctx *ctx, const sgd *s, const observed *x, double lambda,
                       bool weighted, double rate, ferry_block *p, ferry_block *q);

#endif
