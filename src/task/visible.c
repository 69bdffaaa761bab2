/* What callers outside ask of a task: its method entries, its seed, and what a method may
 * see of it. */
#include <math.h>

#include "task/task.h"

const ferry_task_method *ferry_task_method_at(const ferry_task *task, int64_t i)
{
    if (!task) return NULL;
    return i >= 0 && i < task->n_methods ? &task->methods[i] : NULL;
}

/* The task's seed where it sets one: the same file gives the same splits whoever runs it. */
ferry_status ferry_i_task_use_seed(ferry_ctx *ctx, const ferry_task *task)
{
    ferry_evaluate_settings s = {0};

    FERRY_PASS(ferry_i_opts_parse(ctx, "evaluate", ferry_i_evaluate_table,
                                  ferry_i_evaluate_table_n, task->evaluate, &s));
    if (s.seed >= 0) ctx->seed = (uint64_t)s.seed;
    return FERRY_OK;
}

/* What the evaluation gives a method, for those who fit by themselves. */
ferry_status ferry_task_visible(ferry_ctx *ctx, const ferry_task *task, int64_t repeat,
                                ferry_task **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    if (repeat == FERRY_ALL_LABELS) return ferry_i_task_resolved(ctx, task, out);
    if (repeat < FERRY_AS_FITTED)
        return ferry_i_fail(ctx, FERRY_EINVAL, "repeat = %lld is below 0",
                            (long long)repeat);
    const uint64_t seed = ctx->seed;
    ferry_status st = ferry_i_task_use_seed(ctx, task);
    if (st == FERRY_OK)
        st = ferry_i_task_split(ctx, task,
                                repeat == FERRY_AS_FITTED ? FERRY_DEPLOYED : repeat, out);
    ctx->seed = seed;
    return st;
}

int64_t ferry_domain_labels(const ferry_domain *domain)
{
    if (!domain) return 0;
    int64_t n = 0;

    for (int64_t i = 0; domain->labels && i < domain->labels->n; i++)
        n += ferry_i_labels_has(domain->labels, i);
    for (int64_t i = 0; domain->ratings && i < domain->ratings->n; i++)
        n += !isnan(domain->ratings->value[i]);
    return n;
}
