/* mf by variational Bayes: factors of several ranks, weighed by ratings that were held out. */
#ifndef FERRY_RATINGS_MF_VB_H
#define FERRY_RATINGS_MF_VB_H

#include "methods/baselines/vb.h"

/* rank 0: 5, 10 and 20. *out is new. */
ferry_status ferry_i_mf_vb(ferry_ctx *ctx, const rating_data *d, int64_t rank,
                           int64_t sweeps, rating_model **out, ferry_fit_info *rep);

#endif
