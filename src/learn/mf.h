/* Biases and factors of several ranks by variational Bayes (vb.h), weighed by ratings that were held out.
 *
 * M0 has biases alone, M_k also k factors. On ratings that were held out, with P_k = M_k - M0 and t = x - M0,
 *
 *   min |t - P w|^2 + 3 |w|^2,   w >= 0, sum w <= 1,
 *
 * and all are fitted once more on all ratings: M0 + sum w_k P_k. Where factors are worth nothing the weights are 0, and
 * what remains are the biases; so they are, too, where the gain on the ratings held out could be chance. Weights of
 * several ranks average what each of them gets wrong. */
#ifndef FERRY_MF_H
#define FERRY_MF_H

#include "learn/vb.h"

/* What mf predicts of ratings that it did not see, in the order of x's entries. */
typedef struct mf_held {
    int64_t folds; /* that were held out, one after the other */
    uint8_t *fold; /* of each rating */
    /* what is left of a rating that was held out, in units of their deviation; else NaN */
    double *rest;
} mf_held;

/* rank 0: 5, 10 and 20. What was held out goes to `held` (may be NULL), in s. *finish: it was asked to. */
rating_factors mf_learn(scope *s, scope *keep, const ratings *r, int64_t rank,
                        int64_t sweeps, mf_held *held, bool *finish);
/* One rank with diagonal covariances, nothing held out: for millions of ratings. The values of r go. */
rating_factors mf_learn_diagonal(scope *s, scope *keep, const ratings *r, int64_t rank,
                                 int64_t sweeps, bool *finish);

#endif
