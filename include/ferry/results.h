/* Results: every number of an evaluation, without parsing text.
 *
 * Structs belong to the results and live as long as they do. Their first
 * field is their size in the library that runs: later versions add fields at the end, so a field is
 * there when its offset is below `size`. A number that is not known is NaN, a text NULL.
 *
 * All calls here cost no more than the look-up, but for those that make a text or a file.
 */
#ifndef FERRY_RESULTS_H
#define FERRY_RESULTS_H

#include "ferry/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Results of an evaluation: made by ferry_evaluate() or ferry_results_load(). Opaque. */
typedef struct ferry_results ferry_results;

/** Did transfer help? Better or worse than what the visible labels choose without a source is asked for new data of this kind
 * (docs/evaluation.md), and then whether it is the source. Later versions may tell more cases apart:
 * what you do not know is no proof that it helps. */
typedef enum ferry_verdict {
    FERRY_UNJUDGED = 0,       /**< a baseline or control, or nothing to score by */
    FERRY_HELPS = 1,          /**< better, and it is the source's doing */
    FERRY_OPEN = 2,           /**< nothing is shown either way */
    FERRY_HARMS = 3,          /**< worse, and it is the source's doing */
    FERRY_GOOD_LEARNER = 4,   /**< better, and made-up sources do as well */
    FERRY_SOURCE_OPEN = 5,    /**< better, but that it is the source is not shown */
    FERRY_IGNORES_SOURCE = 6, /**< no made-up source changes a prediction */
    FERRY_WEAK_LEARNER = 7,   /**< worse, whatever the source */
    FERRY_SAME = 8,           /**< no difference that would matter (evaluate.least) */
    FERRY_BEST = 9 /**< helps, and is better than the best without transfer in hindsight */
} ferry_verdict;

/** "best", "helps", "good learner", "source open", "ignores source", "weak learner", "harms", "same", "open"; "not
 * judged". Never NULL. */
FERRY_API const char *ferry_verdict_name(ferry_verdict verdict);

/** What a way to predict learns from; tables and results.json say it in the words of the names. */
typedef enum ferry_uses {
    FERRY_USES_TARGET_ONLY = 0, /**< no row of a source is seen */
    FERRY_USES_POOLED = 1,      /**< an ordinary learner that also sees rows of sources */
    FERRY_USES_SOURCE_ONLY = 2, /**< ... that sees no label of the target */
    FERRY_USES_TRANSFER = 3,
    FERRY_USES_CONTROL = 4 /**< never ranked as best, never recommended */
} ferry_uses;

/** What is known of the target, in its order: n instances or rating pairs. Fields that do not
 * belong to the goal are NULL. */
typedef struct ferry_truth {
    size_t size;
    int64_t n;
    int64_t k;                /**< classes or labels */
    const char *const *names; /**< k */
    const int32_t *cls;       /**< n: place in names, -1 where not known */
    const double *value;      /**< n numbers or ratings, NaN where not known */
    const uint8_t *set;       /**< n x k: 1 where the instance has the label */
    const uint8_t *known;     /**< n: with sets, 1 where they are known */
} ferry_truth;

/** The primary comparison: the transfer method that visible labels choose (in each cell those of other repeats), or the one
 * that the task names, against the best without transfer in hindsight. One question, of which nothing is paid for others. */
typedef struct ferry_primary {
    size_t size;
    const char *name; /**< the method that it is about most often */
    double share;     /**< ... in so much of the cells; 1: in all */
    int named;        /**< 1: the task names it (evaluate.primary) */
    double gain;      /**< larger is better, whatever the metric */
    double low, high; /**< 95 % interval */
    double most;      /**< no difference larger than this, either way, at .05 */
    double p;         /**< one-sided */
    double level;     /**< it is decided below this */
    int decided;
    int64_t repeats;
    int64_t needed_repeats; /**< not decided: would show it in 8 of 10 cases, or */
    int64_t needed_rows; /**< ... so many rows with a label; both 0: no sensible number */
} ferry_primary;

/** The evaluation as a whole. */
typedef struct ferry_run_info {
    size_t size;
    const char *version; /**< of the Ferry that ran it */
    const char *task;    /**< the task's name */
    const char *target;  /**< the target domain's name */
    ferry_goal goal;
    uint64_t seed;
    int64_t planned; /**< repeats asked for */
    int64_t repeats; /**< repeats that every method completed: what all numbers are over */
    int64_t visible; /**< target labels (ratings) that methods saw in the first repeat */
    const char *engine;
    const char *blas_core;
    int threads;
    const char *controls;  /**< "none", "quick" or "full" */
    int64_t best;          /**< place of the best result by the first metric, or -1 */
    int64_t best_baseline; /**< place of the best without transfer in hindsight, or -1 */
    const char *sentence;  /**< the outcome in plain words */
    double arriving;       /**< goal stream: share of the labels that came */
    int64_t delay;         /**< goal stream: ... so many rows later */
    double least; /**< the least difference that matters, in units of the first metric */
    const ferry_truth *truth; /**< NULL when nothing is known, or the results were loaded */
    const char *bridge; /**< bridge: auto of the task: what was chosen and why, or NULL */
    int64_t
        folds; /**< methods may see all labels, and are scored by repeated cross-validation in so many folds; 0: on labels
                      that are hidden from them */
    const char *
        reference; /**< what methods are compared with: "target only" is what visible labels choose without a source; or the
                              name of the best baseline; NULL: nothing */
    double reference_mean;        /**< its first metric */
    const ferry_primary *primary; /**< or NULL */
} ferry_run_info;

/** One method of an evaluation. */
typedef struct ferry_result {
    size_t size;
    const char *name;   /**< unique among the results */
    const char *method; /**< as in ferry_method_find() */
    ferry_kind kind;
    const ferry_opts *options; /**< every option of the method with the value it had */
    const char *reason; /**< why there are no numbers, one sentence; NULL: there are */
    int64_t rank;       /**< by the first metric, from 1; 0 when there are no numbers */
    const char *note;   /**< what the method says about its result, or NULL */

    /* the first metric, which decides; ferry_result_metric_at() has all */
    int64_t repeats;
    const double *runs; /**< repeats; NULL when nothing is scored */
    double mean;
    double std;            /**< over repeats, n - 1; 0 for one */
    const double *seconds; /**< repeats: of each fit */

    /* against the reference (ferry_run_info), paired by repeat. Larger is better, whatever the metric. */
    const char *baseline; /**< its name; NULL: not compared (it is the reference) */
    int64_t pairs;        /**< repeats compared; 0: not compared */
    double gain;          /**< mean */
    double low;           /**< 95 % interval of it, for new data of this kind */
    double high;
    double p_compare; /**< two-sided; NaN when no instance differs in any repeat */

    /* the verdict: of transfer methods only */
    ferry_verdict verdict;
    double p;      /**< one-sided, better or worse than the reference as the gain is */
    double p_holm; /**< corrected for the number of methods */
    const char *sentence; /**< "NAME: helps: ..."; NULL when not judged */

    /* goal stream: the mistake rate so far, as rows come; else 0 and NULL */
    int64_t points;
    const double *curve_rows; /**< points: rows seen */
    const double *curve_mean;
    const double *curve_std;

    /* more on the comparison and the verdict */
    double bound;  /**< the gain is at least (if worse: at most) this: 95 %, one-sided */
    double se, df; /**< standard error of the gain and its degrees of freedom */
    int fixed; /**< 1: every repeat showed the same labels, so it holds for these alone */
    double
        p_high; /**< that a made-up source does as well as the real one; NaN: not tested */
    double p_low;           /**< ... as badly */
    int64_t control_draws;  /**< draws of controls that change its predictions */
    int64_t as_good;        /**< of these, as good as the real source */
    int64_t as_bad;         /**< ... as bad */
    int64_t needed_repeats; /**< open: repeats that would decide it in 8 of 10 cases, or */
    int64_t
        needed_rows; /**< target rows with a label that would; both 0: no sensible number */
    int64_t
        needed_draws; /**< source open, weak learner: draws of controls that were not made */
    double needed_seconds; /**< ... and about how long they take */
    int unasked; /**< 1: the task names no methods, and this one does not fit it */
    ferry_uses uses;
    double
        most; /**< no difference larger than this, either way, at .05 (two one-sided tests) */
    double over_best; /**< gain over the best without transfer in hindsight */
    double over_best_low, over_best_high;
    double
        p_best; /**< that it is not better than that, corrected for the number of methods */
    double
        source_worth; /**< with the real source less the mean with made-up ones, on the same repeats; NaN: not tried */
    double source_worth_low,
        source_worth_high; /**< where 95 % of new made-up ones leave it */
} ferry_result;

/** One metric of a method. */
typedef struct ferry_metric_runs {
    size_t size;
    const char *name;
    int larger_is_better;
    int64_t repeats;
    const double *runs; /**< repeats; NaN where the metric is not defined */
    double mean;
    double std;
} ferry_metric_runs;

/** What a method predicted in one repeat. */
typedef struct ferry_repeat_prediction {
    size_t size;
    int64_t repeat; /**< from 0 */
    const ferry_prediction
        *given; /**< ids, classes, values, scores ... of the whole target */
    const int32_t
        *place; /**< given->k: where its names stand in the truth's, -1: nowhere */
    const uint8_t
        *scored; /**< n: 1 where the truth was hidden from the method and counts */
} ferry_repeat_prediction;

/** A member of what is recommended. */
typedef struct ferry_blend_member {
    size_t size;
    const char *name; /**< of its result */
    ferry_uses uses;
    double weight; /**< all members' add up to 1 */
} ferry_blend_member;

/** Was the source worth it? */
typedef enum ferry_worth {
    FERRY_WORTH_UNKNOWN = 0, /**< there is none, or nothing to tell by */
    FERRY_WORTH_IT = 1,      /**< better with it: the interval is above 0 */
    FERRY_NOT_WORTH_IT = 2,  /**< worse, or no difference that matters */
    FERRY_WORTH_OPEN = 3     /**< the labels do not decide */
} ferry_worth;

/** What to deploy, how good it will be, whether the source was worth it. Two policies know visible labels alone: W may
 * use every way, T those without a source. */
typedef struct ferry_recommendation {
    size_t size;
    const char *head;   /**< the task in a line */
    const char *use;    /**< what is recommended, as a phrase, */
    const char *expect; /**< ... how good it will be, */
    const char *source; /**< ... what the source is worth, */
    const char *next;   /**< ... the command that fits it */
    const char *remark; /**< what else must be known, or NULL */
    int64_t members;    /**< of W in the first repeat, the heaviest first */
    const ferry_blend_member *member;
    int64_t without; /**< members of T */
    const ferry_blend_member *member_without;
    const char *metric; /**< what the numbers are of */
    int larger_is_better;
    int validated;  /**< 1: by cross-validation on visible labels; 0: by hidden ones */
    int calibrated; /**< 0: intervals were not calibrated for this goal */
    double level;   /**< of the intervals: 0.95 */
    int64_t labels; /**< visible labels of the target */
    double value;   /**< of W on new rows */
    double low, high;
    double value_without; /**< of T */
    double low_without, high_without;
    double worth; /**< W against T; positive is better, whatever the metric */
    double worth_low, worth_high;
    ferry_worth verdict;
    double share; /**< of the evidence that ways with a source have */
    int64_t
        needed_repeats; /**< open: repeats that would decide in 8 of 10 cases; 0: not known */
    int64_t repeats;
    const double *runs;         /**< repeats: metric of W; NULL when nothing is hidden */
    const double *runs_without; /**< ... of T */
    int64_t
        needed_labels; /**< open: so many more labels of the target would decide in 8 of 10 cases; 0: not known */
} ferry_recommendation;

/** The evaluation as a whole. Never NULL. */
FERRY_API const ferry_run_info *ferry_results_info(const ferry_results *results);
/** Method i, in the order of the task; ferry_result.rank has the order by score. */
FERRY_API const ferry_result *ferry_results_at(const ferry_results *results, int64_t i);
/** The method of that name, or NULL. */
FERRY_API const ferry_result *ferry_results_find(const ferry_results *results,
                                                 const char *name);
/** The answer; NULL when none was asked for, or none could be given. */
FERRY_API const ferry_recommendation *ferry_results_answer(const ferry_results *results);

/* Parts of a result. `result` is a pointer that ferry_results_at() or _find() returned, not a copy. */

/** Metrics, the deciding one first; NULL past the last. None when nothing is scored or the method gave no numbers. */
FERRY_API const ferry_metric_runs *ferry_result_metric_at(const ferry_result *result,
                                                          int64_t i);
/** Diagnostics of the last repeat's fit; NULL past the last. */
FERRY_API const ferry_diagnostic *ferry_result_diagnostic_at(const ferry_result *result,
                                                             int64_t i);
/** Predictions: of the first repeat, or of all with the setting "predictions: all", which keeps
 * scores as well; NULL past the last. None for loaded results: their folder has them as CSV. */
FERRY_API const ferry_repeat_prediction *
ferry_result_prediction_at(const ferry_result *result, int64_t i);

/**
 * The results as text.
 *
 * @param format  NULL: for people on one screen, the answer and the methods that matter to it; "text": with all methods;
 * "csv" has all digits, "markdown" and "latex" (with booktabs) what the table shows; "json": what results.json has
 * (docs/evaluation.md describes it)
 * @param out  new string for ferry_string_free(); NULL when the call fails
 * @return FERRY_EINVAL for another format
 */
FERRY_API ferry_status ferry_results_table(ferry_ctx *ctx, const ferry_results *results,
                                           const char *format, char **out);
/**
 * What the table leaves out, for people: verdicts in words, what did not run and why, notes; or all
 * about one method.
 * @param method  its name in the results; NULL: all of them
 * @return FERRY_EINVAL when there is no such method
 */
FERRY_API ferry_status ferry_results_explain(ferry_ctx *ctx, const ferry_results *results,
                                             const char *method, char **out);
/**
 * Write results.json, run.json (what is needed to run it again), predictions/NAME.csv (first
 * repeat) and report.html. They are made beside it and take its place as one: the folder has all of
 * them or is as it was. Other files in it stay.
 * @param dir  the folder, which is made; DIR.part is used meanwhile
 */
FERRY_API ferry_status ferry_results_save(ferry_ctx *ctx, const ferry_results *results,
                                          const char *dir);
/**
 * Read results that were saved: everything but predictions and truth, methods in the order of their
 * rank. results.json of Ferry 0.1 and later.
 * @param dir  the folder of a run, with its results.json
 * @param out  new results for ferry_results_free(); NULL when the call fails
 * @return FERRY_EDATA when the file is not there or not what ferry_results_save() writes
 */
FERRY_API ferry_status ferry_results_load(ferry_ctx *ctx, const char *dir,
                                          ferry_results **out);
/**
 * Several evaluations in one table: of each method wins, ties and losses against each task's best
 * baseline, its mean rank with the critical difference, and its verdicts (docs/evaluation.md).
 * @param n       how many results
 * @param format  NULL: for people; "json"
 * @param out     new string for ferry_string_free(); NULL when the call fails
 */
FERRY_API ferry_status ferry_summary_table(ferry_ctx *ctx, int64_t n,
                                           const ferry_results *const *results,
                                           const char *format, char **out);
/** Free results and all that belongs to them. NULL is fine. */
FERRY_API void ferry_results_free(ferry_results *results);

#ifdef __cplusplus
}
#endif

#endif
