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
 * or fails at any point, is listed with the sentence that says why: the others go on.
 *
 * @param folder  NULL, or a folder (made when it is not there) that keeps what takes long as it is done, and from which
 * it is taken when it is done already: a run that was killed can go on. Remove it when the results are saved
 * @param out  new results; also set when the call was cancelled, with the repeats that all
 * methods completed (within the first one: the methods that were done); else NULL
 * @return FERRY_EINVAL for a bad method, option or metric, before anything runs;
 * FERRY_EDATA when nothing is left to score, or the folder was left by another task, other data or other settings;
 * FERRY_ENEEDS, with all reasons, when no method
 * could run
 */
FERRY_API ferry_status ferry_evaluate(ferry_ctx *ctx, const ferry_task *task,
                                      const char *folder, ferry_results **out);
/** One HTML page about the runs in n folders (each with a results.json), side by side when
 * there are several. It needs no other file and no network. */
FERRY_API ferry_status ferry_report_write(ferry_ctx *ctx, int64_t n,
                                          const char *const *folders, const char *path);

/** Advice on a task before it is run. Like all structs here it begins with its size in the library
 * that runs; a number that is not known is NaN, a text NULL. */
typedef struct ferry_advice {
    size_t size;
    const char *task;
    ferry_goal goal;
    const char *target;
    int64_t visible;        /**< target labels (ratings) that methods see in a repeat */
    int64_t repeats;        /**< that an evaluation would make */
    int64_t of_other_goals; /**< methods that do not serve the goal and are not listed */
    const char *links;      /**< as ferry_task_links() tells them */
    int64_t scored; /**< target labels that are hidden from methods and score them */
    double power
        [3]; /**< chance that a gain of 2, 5 or 10 points (regress, rate: % of the error) would be
                          shown; for which methods is in docs/evaluation.md; NaN: not known */
    double seconds_repeats; /**< of all methods on all repeats, as far as known */
    double
        seconds_controls; /**< of 24 control fits for each transfer method: the most by default */
    double seconds_answer; /**< of the answer */
    const char *json; /**< the same as JSON text */
} ferry_advice;

/** What a method would cost, or why it does not fit. */
typedef struct ferry_advice_method {
    size_t size;
    const char *name;
    const char *method; /**< as in ferry_method_find() */
    ferry_kind kind;
    const char *reason; /**< why it does not fit, one sentence; NULL: it fits */
    double seconds;     /**< of one fit */
    int measured; /**< 1: seconds were measured, 0: extrapolated from the first second */
    double bytes; /**< memory of the fit */
    const char
        *uses; /**< views, what is linked to what, and how many labels; "": not known */
} ferry_advice_method;

/** What a domain has, and how far it is from the target. */
typedef struct ferry_advice_domain {
    size_t size;
    const char *name;
    ferry_role role;
    int64_t instances;
    int64_t labels;
    int64_t n_views;
    const char *const *views;     /**< n_views names */
    const int64_t *view_rows;     /**< n_views */
    const int64_t *view_features; /**< n_views */
    int64_t n_graphs;
    const char *const *graphs;  /**< n_graphs names */
    const int64_t *graph_edges; /**< n_graphs */
    int64_t ratings;

    /* to the target; of the target itself shared_features is -1 and the others are NaN */
    int64_t shared_features;
    double feature_overlap; /**< shared by all that the two have, 0 .. 1 */
    double id_overlap;
    double label_overlap;
    double a_distance; /**< 0: cannot be told from the target, 2: always */
    double complexity; /**< of the domain's first view */
} ferry_advice_domain;

/**
 * Look at a task before it is run: its domains and how far they are from the target, which methods
 * fit with the seconds and bytes of a fit, and why the others do not. Cost: up to a second for each
 * method.
 * @param out  new advice for ferry_advice_free(); NULL when the call fails
 */
FERRY_API ferry_status ferry_advise(ferry_ctx *ctx, const ferry_task *task,
                                    ferry_advice **out);
/* Parts of it. `advice` is what ferry_advise() made, not a copy. */
/** Method i in the order of the task; when it names none, of all that serve the goal. NULL past the last. */
FERRY_API const ferry_advice_method *ferry_advice_method_at(const ferry_advice *advice,
                                                            int64_t i);
/** Domain i in the order of the task, NULL past the last. */
FERRY_API const ferry_advice_domain *ferry_advice_domain_at(const ferry_advice *advice,
                                                            int64_t i);
/** NULL is fine. */
FERRY_API void ferry_advice_free(ferry_advice *advice);

/**
 * The task of a run, from the run.json in its folder: the task file's text and settings as
 * they were, the methods that ran. Puts the run's seed, threads and engine into the
 * context.
 * @return FERRY_EDATA when the record is damaged or the data it names has changed
 */
FERRY_API ferry_status ferry_task_rerun(ferry_ctx *ctx, const char *folder,
                                        ferry_task **out);

/**
 * Fit what is recommended: W of the labels that may be seen, those that `labelled:` of the target shows in the first
 * repeat, or all. Mostly a blend of several methods, which is a model like any other; the evidence is among its
 * diagnostics, under "answer". Goals stream and embed have no such choice.
 * @param single  not 0: one method, that with the largest weight
 * @param out     new model; NULL when the call fails
 * @return FERRY_EINVAL for another goal; FERRY_ENEEDS when no method fits
 */
FERRY_API ferry_status ferry_fit_answer(ferry_ctx *ctx, const ferry_task *task, int single,
                                        ferry_model **out);

#ifdef __cplusplus
}
#endif

#endif
