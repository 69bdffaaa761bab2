/* The answer: what the policies choose, and what it is worth. answer.c runs them, recommend.c fits what they choose,
 * answer_words.c says it. */
#ifndef FERRY_ANSWER_H
#define FERRY_ANSWER_H

#include "run/validate.h"

/* What a policy deploys: those that weigh enough, the heaviest first. */
typedef struct chosen {
    int64_t n;
    int64_t *place; /* among the results */
    double *weight, *scale;
} chosen;

/* Both policies in one split. */
typedef struct choice {
    validation v;
    policies p;
    chosen w, t;
    bool by_labels; /* else by what is known of families alone */
} choice;

/* split: of the context's repeat. */
choice answer_choose(scope *s, const ferry_results *rs, const ferry_task *split,
                     bool single);
/* What is promised when all labels can be seen: the numbers of *a. */
void answer_promise(scope *s, const choice *c, ferry_recommendation *a);
/* Members and what else is known of the first repeat. */
void answer_members(scope *s, const ferry_results *rs, const choice *c,
                    ferry_recommendation *a);

#endif
