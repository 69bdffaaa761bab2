/* The guard's parts: guard.c chooses, reverse.c has what needs no labels. */
#ifndef FERRY_EVAL_GUARD_H
#define FERRY_EVAL_GUARD_H

#include "eval/eval.h"
#include "methods/method.h"

enum { FERRY_GUARD_SHUFFLED = 9 }; /* sources that the real one must be better than */

/* Places among the results; -1: none. */
typedef struct ferry_pick {
    int64_t chosen, baseline,
        transfer; /* taken, and the best of either kind by validation */
} ferry_pick;

/* Choose by what a split shows. score: of each result, larger is better, NaN for those that cannot. */
ferry_status ferry_i_guard_pick(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_task *split, bool open, ferry_pick *pick,
                                double *score);
/* Whether the source passes the gate: its reverse validation, the best over the path methods, is above
 * that of 9 sources with shuffled labels. No target label is seen. */
ferry_status ferry_i_guard_gate(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_task *task, bool *open);
/* Which, and why. */
char *ferry_i_guard_reason(const ferry_results *rs, const ferry_pick *p,
                           const double *score, int64_t visible, bool open);
bool ferry_i_guard_path(const ferry_entry *e); /* goes over a path of domains */

/* Fit and predict; *p stays NULL when the method cannot. */
ferry_status ferry_i_guard_predict(ferry_ctx *ctx, const ferry_task *task,
                                   const ferry_entry *e, ferry_prediction **p);
/* task with domain `at` (stolen) in place of its own. */
ferry_status ferry_i_guard_with(ferry_ctx *ctx, const ferry_task *task, int64_t at,
                                ferry_domain *d, ferry_task **out);
int64_t ferry_i_guard_target(const ferry_task *task); /* the target's place */
/* Scores without labels: reverse validation and, a tenth as heavy, agreement over seeds. */
ferry_status ferry_i_guard_label_free(ferry_ctx *ctx, const ferry_results *rs,
                                      const ferry_task *split, double *score);

#endif
