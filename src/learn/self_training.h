/* Self-training over any learner (self_training.c). */
#ifndef FERRY_LEARN_SELF_TRAINING_H
#define FERRY_LEARN_SELF_TRAINING_H

#include "learn/learner.h"

typedef struct self_training {
    int64_t rounds; /* times that rows get labels */
    double share;   /* of the rows without a label that get one each time */
} self_training;

/* Options of a struct T with a member `self`. */
#define SELF_TRAINING_OPTIONS(T)                                                           \
    FERRY_OPT_AS(T, "rounds", INT, self.rounds, 5, 1, 1e6,                                 \
                 "times that instances get labels"),                                       \
        FERRY_OPT_AS(T, "share", REAL, self.share, 0.1, 1e-9, 1,                           \
                     "of the instances without a label that get one each time")
#define SELF_TRAINING_REFERENCE                                                            \
    "Zhu, Semi-Supervised Learning Literature Survey, University of Wisconsin 2005"

/* The last of up to rounds + 1 models: of the labels of all domains of p, and those that it gave to rows of the
 * target. */
learned self_train(scope *s, scope *keep, const learner *by, const void *options,
                   const self_training *o, const problem *p);

#endif
