/* A setting (C, lambda, k) by cross-validation on the visible labels of the target, as a
 * practitioner would. */
#ifndef FERRY_BASELINE_CHOICE_H
#define FERRY_BASELINE_CHOICE_H

#include "methods/shared/base.h"

#define CHOICE_HELP "by 3 folds if every class has 5 visible labels"

/* scores (rows of x by k) <- what is learned from `part` with that value says about x. */
typedef ferry_status choice_fn(ferry_ctx *ctx, const void *how, double value, const base *b,
                               const examples *part, const ferry_matrix *x,
                               ferry_block *scores);
typedef struct choice {
    const char *method;
    const base *b;
    const examples *e;
    double value[3]; /* the first is taken unless another does better, and below 5 labels */
    choice_fn *scores;
    const void *how;
} choice;

/* Classes by how many are right, numbers by the squared error; label sets keep the first.
 * Source rows (train=both) are learned from in every fold and never scored. */
ferry_status ferry_i_choose(ferry_ctx *ctx, const choice *c, double *out);
/* The scores of a linear learner; `how` is its ferry_linear_options, the value C (linear.c). */
choice_fn ferry_i_choice_linear;

#endif
