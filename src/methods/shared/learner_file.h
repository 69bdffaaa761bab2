/* Saving and loading a learner (learn/learner.h). */
#ifndef FERRY_LEARNER_FILE_H
#define FERRY_LEARNER_FILE_H

#include "learn/learner.h"
#include "model/io.h"

/* Tensors are named "<prefix>.w" and so on. Kind, sizes and classes are checked, so that a
 * loaded learner can score without looking at its own bounds again. */
void ferry_i_learner_file(ferry_io *io, const char *prefix, ferry_learner **learner);
/* A linear model of k classes and d features: its weights and which classes it has seen,
 * under these names. */
void ferry_i_linear_file(ferry_io *io, const char *w, const char *seen,
                         ferry_linear_kind kind, int64_t k, int64_t d, ferry_linear **m);

#endif
