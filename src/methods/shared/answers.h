/* Answers of a model that is not ours, read from a CSV file: the state of methods that fit nothing themselves.
 *
 * The file has a heading: repeat (from 1), id (ratings: user and item), prediction (label sets: "a|b"), and score.CLASS
 * for those who have scores; other columns are passed over. So it reads what `ferry run --save predictions` and
 * `ferry predict` write. */
#ifndef FERRY_ANSWERS_H
#define FERRY_ANSWERS_H

#include "core/scope.h"
#include "methods/method.h"

typedef struct answers answers;

/* Those of a repeat (from 1); without that column, of the first. Classes are those of the task. */
ferry_status answers_read(ferry_ctx *ctx, const char *path, const ferry_task *task,
                          int64_t repeat, answers **out);
/* As ferry_method wants it: by id, no answer where there is none. */
ferry_status answers_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                             ferry_prediction *p);
void answers_free(void *state);

#endif
