/* Evaluation: metrics, statistics, results. */
#ifndef FERRY_EVAL_INTERNAL_H
#define FERRY_EVAL_INTERNAL_H

#include "ferry/evaluate.h"
#include "task/task.h"

/* ---- metrics ---- */

typedef enum ferry_ties { FERRY_TIES_WORST, FERRY_TIES_MEAN, FERRY_TIES_INDEX } ferry_ties;

/* What a metric sees: n scored instances (or rating pairs). */
typedef struct ferry_scored {
    int64_t n, k;
    const int32_t *truth_cls, *cls; /* classify; true ones are in 0..k-1 */
    const double *truth, *value;    /* regress, rate */
    const uint8_t *truth_set, *set; /* multilabel, n x k */
    const double *score;            /* n x k; embed: the embedding, n x dims */
    int64_t dims;                   /* embed */
    ferry_ties ties;
} ferry_scored;

/* *out is NaN when the metric is undefined. Fails only for want of memory. */
typedef ferry_status (*ferry_metric_fn)(ferry_ctx *ctx, const ferry_scored *s, double *out);

typedef struct ferry_metric {
    const char *name, *help;
    unsigned goals;
    bool larger_is_better;
    ferry_metric_fn compute;
} ferry_metric;
const ferry_metric *ferry_i_metric_find(const char *name); /* NULL: unknown */
const ferry_metric *ferry_i_metric_at(int64_t i);          /* NULL past the end */
/* The metrics usual for a goal, the deciding one first; NULL past the end. */
const ferry_metric *ferry_i_metric_usual(ferry_goal goal, int64_t i);

/* Normalised mutual information of two groupings (any numbers as labels), by the arithmetic
 * mean of their entropies. NaN for n = 0. */
ferry_status ferry_i_nmi(ferry_ctx *ctx, int64_t n, const int32_t *a, const int32_t *b,
                         double *out);
/* The multi-label ones (multilabel.c). */
ferry_status ferry_i_hamming(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_ranking_loss(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_one_error(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_coverage(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_average_precision(ferry_ctx *ctx, const ferry_scored *s, double *out);

/* An embedding in k groups by k-means; -1 where a row is not finite. */
ferry_status ferry_i_embedding_groups(ferry_ctx *ctx, const ferry_prediction *p, int64_t k,
                                      int32_t *group);
/* Share of instances whose class most of their 5 nearest others have (embedding.c). */
ferry_status ferry_i_knn_accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out);

/* ---- statistics ---- */

double ferry_i_mean(int64_t n, const double *x); /* NaN for n = 0 */
double ferry_i_std(int64_t n, const double *x);  /* n - 1; 0 for n = 1 */
/* Two-sided Wilcoxon signed-rank p-value: zeros dropped, ties by mean ranks; exact for at
 * most 25 differences without ties, else the normal approximation with tie and continuity
 * correction. NaN when no pair differs. */
ferry_status ferry_i_wilcoxon(ferry_ctx *ctx, int64_t n, const double *diff, double *p);
/* Percentile bootstrap of the mean: its `level` interval from `draws` resamples. */
ferry_status ferry_i_bootstrap(ferry_ctx *ctx, int64_t n, const double *x, int64_t draws,
                               double level, ferry_rng *rng, double *lo, double *hi);

/* Two-sided p-value of Student's t with df degrees of freedom, and the t that leaves p. */
double ferry_i_student_p(double t, double df);
double ferry_i_student_t(double p, double df);
/* p[i] corrected for n tests by Holm's step-down rule, in place. */
void ferry_i_holm(int64_t n, double *p);

/* ---- results ---- */

/* A method against the best baseline, in the deciding metric. Paired by repeat. */
typedef struct ferry_versus {
    int64_t pairs;     /* repeats compared; 0: no comparison */
    double difference; /* mean of (method - baseline); its sign is the metric's own */
    double lo, hi;     /* 95 % bootstrap interval; NaN for a single pair */
    double p;          /* signed-rank test; NaN for a single pair or when all are equal */
} ferry_versus;

/* A method under one control (task/control.c): the deciding metric of `draws` made-up
 * worlds on the first `repeats` splits. Larger gains are better, whatever the metric's
 * sign. */
typedef struct ferry_trial {
    ferry_control kind;
    char *source; /* leave-one-out: which one */
    int64_t draws, repeats, done;
    double *metric;           /* draws x repeats */
    char *unfit;              /* sentence when it could not run, else NULL */
    bool same;                /* equal to the method's own result in every run */
    double mean, gain;        /* gain: how much better the method itself is there */
    double excess, lo, hi, p; /* what the method adds to no transfer and the control not */
    /* leave-one-out */
    double p_holm;
    int verdict; /* ferry_verdict */
} ferry_trial;

typedef enum ferry_verdict {
    FERRY_UNJUDGED, /* a baseline or control, or nothing to score by */
    FERRY_HELPS,
    FERRY_NO_EVIDENCE,
    FERRY_HARMS
} ferry_verdict;

/* Why a method is judged as it is. */
typedef enum ferry_reason {
    FERRY_BECAUSE,       /* the numbers say so */
    FERRY_NO_BASELINE,   /* nothing without transfer ran */
    FERRY_EQUAL,         /* equal to the best baseline in every repeat */
    FERRY_FEW,           /* five repeats or fewer can show nothing */
    FERRY_CHANCE,        /* the difference may be chance */
    FERRY_CHANCE_OF_ALL, /* ... when it is one of several methods (Holm) */
    FERRY_UNCHECKED,     /* better, but no control ran */
    FERRY_UNTOUCHED,     /* better, but no control changes anything for it */
    FERRY_CONTROLLED     /* better, but a control may do as well: `trial` */
} ferry_reason;

typedef struct ferry_judgement {
    ferry_verdict verdict;
    ferry_reason reason;
    double gain, lo, hi; /* against the best baseline; larger is better */
    double p, p_holm;    /* of the verdict's direction */
    int64_t trial;       /* the control that speaks most against it, or -1 */
} ferry_judgement;

typedef struct ferry_result {
    char *name;         /* in tables; unique */
    const char *method; /* static */
    ferry_kind kind;
    struct json_t *options;
    char *unfit;     /* sentence when it does not fit or failed, else NULL */
    int64_t done;    /* repeats complete */
    double *metric;  /* n_metrics x planned, metric m of repeat r at [m * planned + r] */
    double *seconds; /* planned: of the fit */
    struct json_t *diagnostics;   /* of the last repeat */
    ferry_prediction *prediction; /* of the first repeat; scores only for goal embed */
    double *curve; /* goal stream: planned x FERRY_CURVE, mistake rate so far; else NULL */
    ferry_versus versus;
    ferry_trial *trial;
    int64_t n_trials;
    ferry_judgement judgement;
} ferry_result;

/* Which method's prediction to take, by what can be seen in each repeat (guard.c). */
typedef struct ferry_guard {
    bool blind;      /* no visible target label: label-free scores */
    int64_t *chosen; /* repeats: place in result, -1: none could be taken */
    double *runs;    /* repeats: the deciding metric of the chosen one */
    double *score;   /* by method, mean over repeats; larger is better; NaN: none */
    double trust;    /* rank correlation of those with the true means; NaN: too few */
} ferry_guard;
void ferry_i_guard_free(ferry_guard *guard); /* NULL is fine */

struct ferry_results {
    char *task, *target;
    ferry_goal goal;
    uint64_t seed;
    int64_t visible;          /* target labels (ratings) that the first split shows */
    int64_t planned, repeats; /* repeats asked for, and complete in every method that ran */
    int64_t n_metrics, n;
    const ferry_metric **metrics; /* the deciding one first; may be none for goal embed */
    ferry_ties ties;
    double arriving; /* goal stream: share of the labels that come, */
    int64_t delay;   /* so many rows later */
    int64_t rounds;  /* goal stream: rows of the first repeat */
    int controls;    /* none, quick, full */
    ferry_result *result;
    int64_t best, best_baseline; /* places in result by the deciding metric, or -1 */
    /* What the predictions of the first repeat are compared with: all that is known, and
     * which entries were scored. */
    ferry_labels *truth;
    ferry_ratings *ratings; /* goal rate, instead of truth */
    uint8_t *scored;
    /* Settings recorded with the results. */
    char *engine, *blas_core;
    int threads;
    ferry_guard *guard;    /* or NULL */
    struct json_t *record; /* run.json (record.c) */
};

/* Mean and standard deviation of metric m of a result over the complete repeats. */
double ferry_i_result_mean(const ferry_results *rs, const ferry_result *r, int64_t m);
double ferry_i_result_std(const ferry_results *rs, const ferry_result *r, int64_t m);
/* Places of the results that ran, best first; returns how many. order has rs->n entries. */
int64_t ferry_i_results_rank(const ferry_results *rs, int64_t *order);
/* Find the best method and the best baseline, and compare every method with the latter. */
ferry_status ferry_i_results_compare(ferry_ctx *ctx, ferry_results *rs);
/* The outcome in plain words: the table's last line. New string or NULL (no memory). */
char *ferry_i_results_sentence(const ferry_results *rs);

/* Judge the transfer methods: verdict.c has the rules. After ferry_i_results_compare(). */
ferry_status ferry_i_results_judge(ferry_ctx *ctx, ferry_results *rs);
/* "helps", "no evidence", "harms". */
const char *ferry_i_verdict_name(ferry_verdict verdict);
/* A method's verdict for people, "NAME: ...". New string or NULL (no memory). */
char *ferry_i_verdict_sentence(const ferry_results *rs, const ferry_result *r);

/* ferry_evaluate() with one more method than the registry has (NULL: none), which the task
 * may name. */
struct ferry_method;
ferry_status ferry_i_evaluate(ferry_ctx *ctx, const ferry_task *task,
                              const struct ferry_method *extra, ferry_results **out);

/* ---- the record of a run ---- */

/* What is needed to run it again, and what it took: the task, its data by hash, settings,
 * machine, times, memory. started: wall-clock seconds; took: seconds. NULL: no memory. */
struct json_t *ferry_i_run_record(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_results *rs, double started, double took);
/* The domains part of it. */
struct json_t *ferry_i_run_domains(const ferry_task *task);
/* This machine: system, CPU, cores, memory in bytes; NULL: no memory. */
struct json_t *ferry_i_machine_json(void);
/* Wall-clock seconds as "2026-01-31T12:00:00Z". */
struct json_t *ferry_i_moment_json(double seconds);
/* A word for a POSIX shell, after a space; in quotes where it needs them. */
void ferry_i_add_word(ferry_text *t, const char *word);
/* Text as JSON: bytes that are no UTF-8 become '?'. */
struct json_t *ferry_i_json_text(const char *text);

/* ---- controls ---- */

/* Plan the controls that the task and the settings allow for every transfer method; *fits
 * says how many fits that makes. Nothing when no baseline ran or nothing is scored. */
ferry_status ferry_i_controls_plan(ferry_ctx *ctx, const ferry_task *task,
                                   const struct ferry_method *const *method,
                                   ferry_results *rs, int64_t *fits);
/* Run them. ctx->step counts on. */
ferry_status ferry_i_controls_run(ferry_ctx *ctx, const ferry_task *task,
                                  const struct ferry_method *const *method,
                                  const ferry_opts *const *opts, ferry_results *rs,
                                  bool *finish);

/* Choose in every repeat and leave the outcome in rs->guard. After the verdict. */
ferry_status ferry_i_guard_run(ferry_ctx *ctx, const ferry_task *task,
                               const struct ferry_method *const *method,
                               const ferry_opts *const *opts, ferry_results *rs);

/* ---- scoring ---- */

/* Fill rs->target and truth (or ratings) from the task. */
ferry_status ferry_i_score_truth(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs);
/* A mask over the target's instances (or rating pairs) for the next two. */
ferry_status ferry_i_score_new_mask(ferry_ctx *ctx, const ferry_results *rs, uint8_t **out);
/* What is known in the task but hidden in this split: that is scored. FERRY_EDATA and a
 * sentence when there is none. */
ferry_status ferry_i_score_mask(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_task *split, uint8_t *mask, int64_t *count);
/* All metrics of a prediction of the whole target, over what the mask picks. */
ferry_status ferry_i_score(ferry_ctx *ctx, const ferry_results *rs,
                           const ferry_prediction *p, const uint8_t *mask, int64_t count,
                           double *out);

/* ---- streams ---- */

enum { FERRY_CURVE = 100 };
/* Rows seen at point j of a curve over n rows. */
int64_t ferry_i_curve_rows(int64_t n, int64_t j);
/* Mean and standard deviation at point j over the complete repeats. */
void ferry_i_curve_at(const ferry_results *rs, const ferry_result *r, int64_t j,
                      double *mean, double *std);
/* What the model answers for the target: a prediction, or (goal stream) its answers in a
 * stream of what the mask picks, in an order drawn for the repeat, learning as labels come.
 * Then `curve` (FERRY_CURVE numbers, may be NULL) is the mistake rate so far, and *weights
 * (may be NULL) becomes {"rows": [...], "part": [...], ...}: what each part of the model
 * counted. */
struct ferry_model;
ferry_status ferry_i_answer(ferry_ctx *ctx, const ferry_results *rs,
                            struct ferry_model *model, const ferry_domain *target,
                            const uint8_t *mask, double *curve, struct json_t **weights,
                            ferry_prediction **out);

#endif
