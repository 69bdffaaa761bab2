/* Self-training around a learner, for semi-svm and semi-gbdt. */
#ifndef FERRY_SELF_TRAINING_H
#define FERRY_SELF_TRAINING_H

#include "methods/method.h"

typedef struct self_training {
    int64_t rounds;
    double share;
} self_training;

/* Options of a struct T with a member `self`. */
#define SELF_TRAINING_OPTS(T)                                                              \
    FERRY_OPT_AS(T, "rounds", INT, self.rounds, 5, 1, 1e6,                                 \
                 "times that instances get labels"),                                       \
        FERRY_OPT_AS(T, "share", REAL, self.share, 0.1, 1e-9, 1,                           \
                     "of the instances without a label that get one each time")

#define SELF_TRAINING_REFERENCE                                                            \
    "Zhu, Semi-Supervised Learning Literature Survey, University of Wisconsin 2005"

/* Fit `learner` with its own options again and again; *state is its last state. Costs
 * rounds + 1 fits. */
ferry_status ferry_i_self_train(ferry_ctx *ctx, const ferry_method *learner,
                                const ferry_task *task, const void *options,
                                const self_training *o, void **state, ferry_fit_info *rep);
ferry_status ferry_i_self_training_fits(ferry_ctx *ctx, const ferry_task *task,
                                        const void *options);

#endif
