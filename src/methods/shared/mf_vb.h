/* mf by variational Bayes: factors of several ranks, weighed by ratings that were held out. */
#ifndef FERRY_RATINGS_MF_VB_H
#define FERRY_RATINGS_MF_VB_H

#include "methods/shared/vb.h"

/* What mf says of ratings that it did not see, in the order of the matrix's entries. */
typedef struct mf_held {
    int64_t folds; /* that were held out, one after the other */
    uint8_t *fold; /* of each rating */
    /* what is left of a rating that was held out, in units of their deviation; else NaN */
    double *rest;
} mf_held;
void ferry_i_mf_held_clear(mf_held *h);

/* rank 0: 5, 10 and 20. *out is new, without what was rated, and so is what `keep` (may be NULL) gets. */
ferry_status ferry_i_mf_vb(ferry_ctx *ctx, const rating_data *d, int64_t rank,
                           int64_t sweeps, rating_model **out, mf_held *keep,
                           ferry_fit_info *rep);
/* One rank with diagonal covariances, nothing held out: for millions of ratings. Of d only who rated what is left. */
ferry_status ferry_i_mf_vb_diagonal(ferry_ctx *ctx, rating_data *d, int64_t rank,
                                    int64_t sweeps, rating_model **out,
                                    ferry_fit_info *rep);

#endif
