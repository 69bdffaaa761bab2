/* stack: mf, and what the neighbours of the user and the item add to it, with weights found on ratings that were held out
 * (learn/stack.h). */
#include <math.h>

#include "learn/stack.h"
#include "model/seam.h"

static void stack_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    bool finish = false;

    (void)options;
    stack_learn(s, keep, target(p)->r, &(stack_sources){.n = 0}, state, &finish);
    report_fit(s, 10, NAN, finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER);
}

const method method_stack = {
    .name = "stack",
    .summary = "mf, and what users and items that were rated together add to it",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .wants = {.as = RATINGS},
    .state = &stack_table,
    .fit = stack_fit,
    .scores = stack_scores,
    .fold_in = stack_fold_in,
};
