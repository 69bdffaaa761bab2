/* Evaluation: methods side by side on the same splits. */
#ifndef FERRY_EVALUATE_H
#define FERRY_EVALUATE_H

#include "ferry/results.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Run the task's methods (all that serve its goal when it names none) on its repeats: hide
 * target labels, fit, predict, score what was hidden. A method that does not fit the task,
 * or breaks down, is listed with the sentence that says why.
 *
 * @param out  new results; also set when the call was cancelled, with the repeats that all
 * methods completed (within the first one: the methods that were done); else NULL
 * @return FERRY_EINVAL for a bad method, option or metric, before anything runs;
 * FERRY_EDATA when nothing is left to score; FERRY_ENEEDS or FERRY_ENUMERIC when no method
 * could run
 */
FERRY_API ferry_status ferry_evaluate(ferry_ctx *ctx, const ferry_task *task,
                                      ferry_results **out);
/** One HTML page about the runs in n folders (each with a results.json), side by side when
 * there are several. It needs no other file and no network. */
FERRY_API ferry_status ferry_report_write(ferry_ctx *ctx, int64_t n,
                                          const char *const *folders, const char *path);

/**
 * Advice on a task before it is run, as JSON text: its domains and how far they are from
 * the target, which methods fit with the seconds and bytes of a fit (measured for up to a
 * second each, else reckoned), and why the others do not. New string.
 */
FERRY_API ferry_status ferry_advise(ferry_ctx *ctx, const ferry_task *task, char **out);

/**
 * The task of a run, from the run.json in its folder: the task file's text and settings as
 * they were, the methods that ran. Puts the run's seed, threads and engine into the
 * context.
 * @return FERRY_EDATA when the record is damaged or the data it names has changed
 */
FERRY_API ferry_status ferry_task_rerun(ferry_ctx *ctx, const char *folder,
                                        ferry_task **out);

/** A metric. */
typedef struct ferry_metric_info {
    const char *name;
    const char *help; /**< its definition in a line */
    unsigned goals;   /**< what it measures, one bit each (FERRY_CLASSIFY | ...) */
    int larger_is_better;
} ferry_metric_info;

/** How many metrics there are. */
FERRY_API int64_t ferry_metric_count(void);
/** Metric i, NULL outside. Lives as long as the library. */
FERRY_API const ferry_metric_info *ferry_metric_at(int64_t i);

#ifdef __cplusplus
}
#endif

#endif
