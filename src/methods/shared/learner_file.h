/* Saving and loading a learner (learn/learner.h), and how features were prepared. */
#ifndef FERRY_LEARNER_FILE_H
#define FERRY_LEARNER_FILE_H

#include "learn/learner.h"
#include "model/dict.h"

/* Tensors are named "<prefix>.w" and so on. */
ferry_status ferry_i_learner_save(ferry_ctx *ctx, const ferry_learner *l,
                                  const char *prefix, ferry_dict *dict);
ferry_status ferry_i_learner_load(ferry_ctx *ctx, const ferry_dict *dict,
                                  const char *prefix, ferry_learner **out);
/* How features were prepared, as one tensor; d features. */
ferry_status ferry_i_prep_save(ferry_ctx *ctx, const ferry_prep *p, const char *name,
                               ferry_dict *dict);
ferry_status ferry_i_prep_load(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                               int64_t d, ferry_prep **out);

#endif
