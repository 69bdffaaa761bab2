/* What the fits of one task have in common. */
#ifndef FERRY_PREPARE_SHARED_H
#define FERRY_PREPARE_SHARED_H

#include "task/task.h"

/* From now on all fits of this task, in any thread, share what they can: the resolved task, where columns stand, scales,
 * and small prepared rows of methods that want the same. It goes with the task, which nobody changes any more. */
ferry_status ferry_i_task_share(ferry_ctx *ctx, ferry_task *task);

#endif
