/* Candidates on visible labels: what fits on a part of them predict for the rest. The policies stand on this
 * (policy.h); no hidden label enters. */
#ifndef FERRY_VALIDATE_H
#define FERRY_VALIDATE_H

#include "run/run.h"
#include "run/policy.h"

typedef struct validation {
    held_out e;      /* candidates by name, those that were dropped on the way left out */
    int64_t *place;  /* e.candidates: among the results */
    double *scale;   /* e.candidates: ferry_i_blend_scale() of their scores */
    int32_t *fold;   /* e.n */
    int64_t folds;   /* 0: nothing can be hidden */
    int64_t visible; /* labels that can be seen */
    int64_t dropped; /* candidates */
    int64_t fits;    /* how many were made */
} validation;

/* Whether an entry may be deployed, and its family. */
bool validate_may(const ferry_entry *e);
ferry_family validate_family(const ferry_entry *e);
/* Goals classify, regress, multilabel and rate. split: of the context's repeat. */
validation validate(scope *s, const ferry_results *rs, const ferry_task *split);

#endif
