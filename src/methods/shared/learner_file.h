/* Saving and loading a learner (learn/learner.h). */
#ifndef FERRY_LEARNER_FILE_H
#define FERRY_LEARNER_FILE_H

#include "learn/learner.h"
#include "model/dict.h"

/* Tensors are named "<prefix>.w" and so on. */
ferry_status ferry_i_learner_save(ferry_ctx *ctx, const ferry_learner *l,
                                  const char *prefix, ferry_dict *dict);
/* *out is new, or NULL when it fails. Kind, sizes and classes are checked, so that a
 * loaded learner can score without looking at its own bounds again. */
ferry_status ferry_i_learner_load(ferry_ctx *ctx, const ferry_dict *dict,
                                  const char *prefix, ferry_learner **out);

#endif
