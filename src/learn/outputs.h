/* Labels as the scores that boosting learns, and scores as answers.
 *
 *   two classes    one score: the second class against the first, y = 1 or -1
 *   more classes   one score each, against the rest
 *   a number       one score, (number - mean) / sd
 *
 * An answer is what is said of an instance: `classes` probabilities, or one scaled number. */
#ifndef FERRY_OUTPUTS_H
#define FERRY_OUTPUTS_H

#include "core/core.h"

typedef struct ferry_outputs {
    bool numbers;
    int64_t classes; /* entries of an answer; 1 for numbers */
    int64_t k;       /* scores */
    double mean, sd; /* of the numbers; 0 and 1 for classes */
} ferry_outputs;

/* Of n instances with class cls[i] (-1: unknown) or number num[i] (NaN). y (n x k) and
 * labelled (n) are new; y is 0 where there is no label. */
ferry_status ferry_i_outputs_new(ferry_ctx *ctx, bool numbers, int64_t classes, int64_t n,
                                 const int32_t *cls, const double *num, ferry_outputs *out,
                                 double **y, uint8_t **labelled);
/* How many scores `classes` classes, or a number, have. */
int64_t ferry_i_outputs_scores(bool numbers, int64_t classes);
/* answer <- of the k scores f. */
void ferry_i_outputs_answer(const ferry_outputs *o, const double *f, double *answer);
/* answer <- of a label y (k): what should have been answered. */
void ferry_i_outputs_truth(const ferry_outputs *o, const double *y, double *answer);
/* s(f) = 1 / (1 + exp(-f)), without overflow. */
double ferry_i_sigmoid(double f);

#endif
