/* A blend of predictions: the weighted mean of probabilities, of numbers, or of how the labels of a set stand. */
#ifndef FERRY_BLEND_H
#define FERRY_BLEND_H

#include "model/model.h"

/* What scores must be divided by to be read as probabilities: 2 z / scale into a softmax, z the scores less their mean
 * over the classes. 0: they are probabilities as they are. Of sets: a label's 2 z / scale into a sigmoid; 0: votes alone. */
double ferry_i_blend_scale(int64_t n, int64_t k, const double *score);
/* q <- probabilities of k classes from a row of scores (NULL: cls alone), none below .001 / k. False: no answer. */
bool ferry_i_blend_row(int64_t k, const double *score, int32_t cls, double scale,
                       double *q);

/* One of n predictions of the same instances. */
typedef struct ferry_blended {
    const ferry_prediction *p;
    double weight, scale;
} ferry_blended;
/* The blend, into a prediction of the same instances whose arrays are there. Who has no answer for a row has no weight
 * there; classes go by name. */
ferry_status ferry_i_blend(ferry_ctx *ctx, int64_t n, const ferry_blended *of,
                           ferry_prediction *out);

/* A member of a blend that is to be fitted. */
typedef struct ferry_blend_part {
    const ferry_method *how;
    const ferry_opts *opts; /* may be NULL */
    double weight, scale;
} ferry_blend_part;
/* Fit the members and make one model of them; of a single one just that (methods/blend.c). */
ferry_status ferry_i_fit_blend(ferry_ctx *ctx, const ferry_task *task, int64_t n,
                               const ferry_blend_part *parts, ferry_model **out);

#endif
