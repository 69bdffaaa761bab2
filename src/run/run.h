/* Evaluation: metrics, statistics, results. */
#ifndef FERRY_EVAL_INTERNAL_H
#define FERRY_EVAL_INTERNAL_H

#include "ferry/evaluate.h"
#include "run/statistics.h"
#include "task/task.h"

/* ---- metrics ---- */

typedef enum ferry_ties { FERRY_TIES_WORST, FERRY_TIES_MEAN, FERRY_TIES_INDEX } ferry_ties;

/* What a metric sees: n scored instances (or rating pairs). */
typedef struct ferry_scored {
    int64_t n, k;
    const int32_t *truth_cls, *cls; /* classify; true ones are in 0..k-1 */
    const uint8_t *seen;            /* k, classes with a label that may be seen, or NULL */
    const double *truth, *value;    /* regress, rate */
    const int32_t *user, *item;     /* rate */
    const uint8_t *truth_set, *set; /* multilabel, n x k */
    const double *score;            /* n x k, NULL: none; embed: the embedding, n x dims */
    int64_t dims;                   /* embed */
    ferry_ties ties;
    int64_t at; /* ndcg@10, recall@10: how many items */
} ferry_scored;

/* out: one number, NaN when the metric is undefined; of a mean over rows the n rows' own numbers,
 * NaN for a row that does not count. n > 0. Fails only for want of memory. */
typedef ferry_status (*ferry_metric_fn)(ferry_ctx *ctx, const ferry_scored *s, double *out);

typedef struct ferry_metric {
    ferry_metric_info info;
    ferry_metric_fn compute;
    int64_t at;
} ferry_metric;
/* The metric's value; NaN when it is undefined. rows (may be NULL): of a mean over rows the n
 * rows' own numbers, else NaN. */
ferry_status ferry_i_metric_value(ferry_ctx *ctx, const ferry_metric *m,
                                  const ferry_scored *s, double *rows, double *out);
const ferry_metric *ferry_i_metric_find(const char *name); /* NULL: unknown */
const ferry_metric *ferry_i_metric_at(int64_t i);
int64_t ferry_i_metric_count(void);
/* Whether it is between 0 and 1 (or on that scale), so that people count it in points of a hundred;
 * whether it reads scores of classes. */
bool ferry_i_metric_is_share(const ferry_metric *m);
bool ferry_i_metric_reads_scores(const ferry_metric *m);
/* The metrics usual for a goal, the deciding one first; NULL past the end. */
const ferry_metric *ferry_i_metric_usual(ferry_goal goal, int64_t i);

/* Normalised mutual information of two groupings (any numbers as labels), by the arithmetic
 * mean of their entropies. NaN for n = 0. */
ferry_status ferry_i_nmi(ferry_ctx *ctx, int64_t n, const int32_t *a, const int32_t *b,
                         double *out);
/* Adjusted Rand index of two groupings. NaN for n = 0. */
ferry_status ferry_i_ari(ferry_ctx *ctx, int64_t n, const int32_t *a, const int32_t *b,
                         double *out);
/* From scores of classes (class_scores.c). */
ferry_status ferry_i_auc(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_log_loss(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_brier(ferry_ctx *ctx, const ferry_scored *s, double *out);
/* Of numbers and ratings (numbers.c). */
ferry_status ferry_i_rmse(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_mae(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_r2(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_spearman(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_ndcg(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_recall(ferry_ctx *ctx, const ferry_scored *s, double *out);
/* The rank (from 1, ascending) of each number, the mean of its equals'. NaN comes first. */
ferry_status ferry_i_mean_ranks(ferry_ctx *ctx, int64_t n, const double *x, double *rank);
/* The multi-label ones (multilabel.c). */
ferry_status ferry_i_macro_f1_sets(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_micro_f1(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_subset_accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_hamming(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_ranking_loss(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_one_error(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_coverage(ferry_ctx *ctx, const ferry_scored *s, double *out);
ferry_status ferry_i_average_precision(ferry_ctx *ctx, const ferry_scored *s, double *out);

/* Pseudo-values of the n scored rows for a metric of value `full` that is no mean over rows
 * (rows.c). mask: which rows of the target they are; NULL: the first n. */
ferry_status ferry_i_pseudo_rows(ferry_ctx *ctx, const ferry_metric *m,
                                 const ferry_scored *s, const uint8_t *mask, double full,
                                 double *row);

/* An embedding in k groups by k-means; -1 where a row is not finite. */
ferry_status ferry_i_embedding_groups(ferry_ctx *ctx, const ferry_prediction *p, int64_t k,
                                      int32_t *group);
/* Share of instances whose class most of their 5 nearest others have (embedding.c). */
ferry_status ferry_i_knn_accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out);

/* ---- results ---- */

/* What programs see of results is in ferry/results.h. The structs of that header are the first
 * members of those below, filled in as the numbers come, so that each has one home; the library
 * owns their texts and arrays and hands them out as const. */

/* A method under a control: the same method and splits in control tasks that keep everything but the
 * knowledge. Or with a source left out, which shows what that one gave. */
typedef struct ferry_evidence {
    size_t size;
    const char *control; /* such as "noise-source" */
    const char *source;  /* the one left out; NULL for a control */
    const char *reason;  /* why it did not run, or NULL */
    int64_t draws;       /* control tasks */
    int64_t repeats;     /* splits, the first of the evaluation's */
    const double *runs;  /* draws x repeats of the first metric, draw after draw; or NULL */
    int same;            /* 1: the method's own predictions in every run */
    double mean;
    double gain;   /* how much better the method itself is on these splits */
    double excess; /* in results of Ferry 0.2; else NaN */
    double low;    /* of a source left out: 95 % interval of gain */
    double high;
    double p;              /* ... two-sided */
    double p_holm;         /* ... corrected for all that were left out */
    ferry_verdict verdict; /* ... what that one did */
    int primary;           /* 1: the control that the randomisation test is made with */
    int64_t as_good;       /* draws as good as the method itself */
    int64_t as_bad;
} ferry_evidence;

/* A method under one control (task/control.c), or with one source left out. */
typedef struct ferry_trial {
    ferry_evidence pub; /* its texts are owned, runs is `metric` */
    ferry_control kind;
    int64_t slots, want,
        done;       /* there is room for, to be run, complete: draws, or repeats */
    double *metric; /* slots: the deciding metric */
    uint8_t *state; /* slots: ferry_trial_state */
    char **why;     /* slots: why it could not run, or NULL */
    double **rows;  /* sources left out: slots of what each instance adds */
} ferry_trial;

typedef enum ferry_trial_state {
    FERRY_TRIAL_NOT_RUN,
    FERRY_TRIAL_SAME, /* the method's own predictions */
    FERRY_TRIAL_CHANGED
} ferry_trial_state;

/* A prediction that is kept, and what belongs to it. */
typedef struct ferry_kept {
    ferry_repeat_prediction pub;
    ferry_prediction *given;
    int32_t *place;
} ferry_kept;

/* A method in an evaluation. */
typedef struct ferry_entry {
    ferry_result pub;               /* name, reason, options, sentence are owned */
    const struct ferry_method *how; /* of the registry, and */
    const ferry_opts *opts; /* by the task, while the evaluation runs; may be NULL */
    int64_t done;           /* repeats complete */
    double *metric;  /* n_metrics x planned, metric m of repeat r at [m * planned + r] */
    double **rows;   /* planned: what each scored instance adds to the deciding metric; NULL
                        once it is judged */
    double *seconds; /* planned: of the fit */
    double *curve; /* goal stream: planned x FERRY_CURVE, mistake rate so far; else NULL */
    struct json_t *diagnostics; /* of the last repeat */
    ferry_kept *kept;           /* of the first repeat, or of all; scores for goal embed */
    int64_t n_kept;
    ferry_trial *trial;
    int64_t n_trials;
    ferry_crossed test, hindsight; /* against the reference, the best without transfer */
    bool better, worse;            /* ... corrected for the number of methods */
    bool primary_one;              /* it alone is what the primary comparison is about */
    int64_t primary;               /* its trial with the primary control, or -1 */
    bool unused;                   /* no control changes a prediction */
    bool beats_others; /* above every draw of the controls that are not primary */
    /* made of the above by ferry_i_results_publish() */
    ferry_metric_runs *metrics;
    int64_t n_metrics;
    ferry_diagnostic *list; /* diagnostics */
    int64_t n_list;
    double *points; /* 3 x FERRY_CURVE: rows, mean, std */
} ferry_entry;

/* What a task has that could transfer to the target's rows, and the controls make up. */
typedef enum ferry_transfers {
    FERRY_TRANSFERS_SOURCE,
    FERRY_TRANSFERS_BRIDGE, /* no source, but an intermediate domain, */
    FERRY_TRANSFERS_GRAPH,  /* ... or only graphs, */
    FERRY_TRANSFERS_BOTH,   /* ... or an intermediate domain and graphs, */
    FERRY_TRANSFERS_NOTHING /* ... or nothing but the target itself */
} ferry_transfers;

/* A method as it would run in a task that names none. */
typedef struct ferry_default {
    const struct ferry_method *method;
    char *name;
    ferry_opts *opts; /* or NULL */
} ferry_default;

/* What the policies got in each repeat, all arrays `repeats` long; W may use every way, T those without a source. */
typedef struct ferry_policy_runs {
    int64_t repeats;
    double **w_rows, **t_rows; /* what each scored instance adds to the deciding metric */
    double *w, *t;             /* the deciding metric */
    double *
        validated; /* repeats x results: share right (numbers: less of the variance) on visible labels;
                        * NaN: dropped, or not tried */
} ferry_policy_runs;

struct ferry_results {
    ferry_run_info run; /* its texts are owned */
    int64_t n_metrics, n;
    const ferry_metric **metrics; /* the deciding one first; may be none for goal embed */
    ferry_ties ties;
    int64_t rounds; /* goal stream: rows of the first repeat */
    int level;      /* of controls: none, quick, full */
    ferry_transfers transfers;
    bool keep_all;    /* predictions of all repeats, with scores */
    bool keep_splits; /* which labels are visible in each repeat */
    ferry_entry *result;
    /* What predictions are compared with: all that is known. */
    ferry_labels *truth;
    ferry_ratings *ratings;    /* goal rate, instead of truth */
    ferry_truth known;         /* both for programs; names is owned */
    uint8_t **scored;          /* planned: what counts in each repeat */
    int64_t *count;            /* planned: how much that is */
    ferry_hands hands;         /* how labels are dealt to repeats */
    ferry_policy_runs *policy; /* or NULL */
    bool by_policy;            /* the reference is T of these */
    int64_t named; /* the method that the task names as primary: its place + 1; 0: none */
    int64_t looks; /* until decided: how often the primary was looked at; else 0 */
    double *law
        [2]; /* judged x judged: how tests go together, against the reference and the best in hindsight */
    ferry_recommendation *answer; /* or NULL; its texts and arrays are owned */
    ferry_default
        *defaults; /* whose options the entries of a task without methods borrow */
    int64_t n_defaults;
    struct json_t *record; /* run.json (record.c) */
    struct json_t *saved;  /* loaded results: all of results.json */
};

/* All methods that serve the goal; where a source has features of the target, also the
 * baselines that are simply given its rows (pooled: train=source, train=both). */
ferry_status ferry_i_defaults(ferry_ctx *ctx, const ferry_task *split, ferry_default **out,
                              int64_t *n);
void ferry_i_defaults_free(ferry_default *list, int64_t n);

/* Add a method, of which nothing is known yet; rs->result has room. */
ferry_status ferry_i_results_add(ferry_ctx *ctx, ferry_results *rs, const char *name,
                                 const char *method, ferry_kind kind, ferry_entry **out);
/* What instances add to the metric is only needed to judge. */
void ferry_i_results_free_rows(ferry_results *rs);
/* Keep a prediction for programs, the CSV files and the picture; *p becomes NULL. Scores can be
 * large: without "predictions: all" publishing lets them go, but for embeddings, which are nothing
 * else. */
ferry_status ferry_i_results_keep(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r,
                                  int64_t repeat, ferry_prediction **p);
/* Mean and standard deviation of metric m of a result over the complete repeats. */
double ferry_i_result_mean(const ferry_results *rs, const ferry_entry *r, int64_t m);
double ferry_i_result_std(const ferry_results *rs, const ferry_entry *r, int64_t m);
/* Places of the results that ran, best first; returns how many. order has rs->n entries. */
int64_t ferry_i_results_rank(const ferry_results *rs, int64_t *order);
/* Find the best method, the best baseline and the reference, and compare every method with the latter: question 1. */
ferry_status ferry_i_results_compare(ferry_ctx *ctx, ferry_results *rs);
/* ... and its correction for the number of methods; again when the controls have told who uses its
 * source at all. */
ferry_status ferry_i_results_correct(ferry_ctx *ctx, ferry_results *rs);
/* Judge the transfer methods: verdict.c has the rules. After comparing and the controls. */
ferry_status ferry_i_results_judge(ferry_ctx *ctx, ferry_results *rs);
/* What instances add to the deciding metric, a's against b's, over the complete repeats; larger is
 * better. */
ferry_status ferry_i_results_cross(ferry_ctx *ctx, const ferry_results *rs,
                                   double *const *a, double *const *b, ferry_crossed *out);
bool ferry_i_results_by_policy(const ferry_results *rs); /* the reference is T */
bool ferry_i_results_judged(const ferry_entry *r);       /* a transfer method that ran */
bool ferry_i_results_in_level(const ferry_entry *r);     /* ... and uses its source */
ferry_verdict ferry_i_verdict_of(const ferry_results *rs, const ferry_entry *r);
/* At most so many looks at the primary comparison, after FERRY_FIRST_LOOK repeats and twice as many each; the level of one. */
enum { FERRY_LOOKS = 3, FERRY_FIRST_LOOK = 10 };
double ferry_i_look_level(int64_t look);
double ferry_i_results_sign(const ferry_results *rs); /* -1 where smaller is better */
/* Make what programs see: ranks, means, sentences, diagnostics. Last of all. */
ferry_status ferry_i_results_publish(ferry_ctx *ctx, ferry_results *rs);

/* The part of it that concerns one method: means, diagnostics. */
ferry_status ferry_i_results_publish_entry(ferry_ctx *ctx, const ferry_results *rs,
                                           ferry_entry *r);

/* ---- words ---- */

/* A method's verdict for people, "NAME: ...". New string, NULL: no memory. */
char *ferry_i_verdict_sentence(const ferry_results *rs, const ferry_entry *r);
/* The outcome of all in plain words: the table's last line. */
char *ferry_i_results_sentence(const ferry_results *rs);
/* Decimals that suit a metric over all the methods that ran; -1: an exponent. */
int ferry_i_metric_places(const ferry_results *rs, int64_t m);
/* Short texts, by value: no buffers to pass. Of a number with so many decimals, "n/a" for NaN
 * (sign: with a plus); "0.912 \u00b1 0.021" of a metric; "p=0.002" or "p<0.001". */
typedef struct ferry_words {
    char s[64];
} ferry_words;
ferry_words ferry_i_number_words(int places, bool sign, double x);
ferry_words ferry_i_spread_words(int places, const ferry_metric_runs *m);
ferry_words ferry_i_p_words(double p);
/* "+8.1 points", "-0.012 of rmse": a gain by the deciding metric. */
ferry_words ferry_i_gain_words(const ferry_results *rs, double x);
ferry_words ferry_i_time_words(double seconds); /* "20 s", "3 min", "2.5 h" */

/* What the verdict stands on, i of it; what is known of the target, or NULL. */
const ferry_evidence *ferry_i_result_evidence_at(const ferry_result *r, int64_t i);
const ferry_truth *ferry_i_results_truth(const ferry_results *rs);

/* ferry_evaluate() with one more method than the registry has (NULL: none), which the task
 * may name. */
struct ferry_method;
ferry_status ferry_i_evaluate(ferry_ctx *ctx, const ferry_task *task,
                              const struct ferry_method *extra, ferry_results **out);

/* What the task would run: results without numbers, and the split of the first repeat. Both are the
 * caller's, also after a failure. */
ferry_status ferry_i_evaluate_begin(ferry_ctx *ctx, const ferry_task *task,
                                    ferry_results **out, ferry_task **split);

/* ---- the record of a run ---- */

/* What is needed to run it again, and what it took: the task, its data by hash, settings,
 * machine, times, memory. started: wall-clock seconds; took: seconds. NULL: no memory. */
struct json_t *ferry_i_run_record(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_results *rs, double started, double took);
/* The domains part of it. */
struct json_t *ferry_i_run_domains(const ferry_task *task);
/* This machine: system, CPU, cores, memory in bytes; NULL: no memory. */
struct json_t *ferry_i_machine_json(void);
/* Text as JSON: bytes that are no UTF-8 become '?'. */
struct json_t *ferry_i_json_text(const char *text);
/* {"key": "value", ...} in the order set; {} for NULL. */
struct json_t *ferry_i_settings_json(const ferry_opts *opts);

/* ---- controls ---- */

ferry_transfers ferry_i_task_transfers(const ferry_task *task);
/* Plan the controls that the task and the settings allow for every transfer method; *fits says how
 * many fits the first round makes. Nothing when no baseline ran or nothing is scored. */
ferry_status ferry_i_controls_plan(ferry_ctx *ctx, const ferry_task *task,
                                   ferry_results *rs, int64_t *fits);
/* Run them, after ferry_i_results_compare(), and say what they show of each method. */
ferry_status ferry_i_controls_run(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs,
                                  bool *finish);

/* ---- the answer ---- */

void ferry_i_policy_runs_free(ferry_policy_runs *r);

/* Let the policies choose in every repeat, from visible labels alone, and score them: rs->policy, rs->answer. Before
 * the comparison. hidden: labels are hidden to score by. */
ferry_status ferry_i_answer_run(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs,
                                bool single, bool hidden);
void ferry_i_answer_free(ferry_recommendation *a); /* NULL is fine */
/* Whether a label of the target can be seen. */
bool ferry_i_shows_labels(const ferry_task *split);
/* How an entry learns; labels: some of the target can be seen. */
ferry_uses ferry_i_uses(const struct ferry_method *m, ferry_kind kind,
                        const ferry_opts *opts, bool labels);
/* "target only", "pooled", "source only", "transfer", "control". Never NULL. */
const char *ferry_i_uses_name(ferry_uses uses);
/* The sentences, from the numbers. NULL texts: no memory. */
ferry_status ferry_i_answer_words(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_results *rs, ferry_recommendation *a);

/* ---- scoring ---- */

/* Fill rs->target and truth (or ratings) from the task. */
ferry_status ferry_i_score_truth(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs);
/* A mask over the target's instances (or rating pairs) for the next two. */
ferry_status ferry_i_score_new_mask(ferry_ctx *ctx, const ferry_results *rs, uint8_t **out);
/* What is known in the task but hidden in this split: that is scored. FERRY_EDATA and a
 * sentence when there is none. */
ferry_status ferry_i_score_mask(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_task *split, uint8_t *mask, int64_t *count);
/* All metrics of a prediction of the whole target, over what the mask picks; split: what the method saw. rows (may be NULL)
 * becomes what each of the `count` instances adds to the first one; NULL where it is not defined. */
ferry_status ferry_i_score(ferry_ctx *ctx, const ferry_results *rs, const ferry_task *split,
                           const ferry_prediction *p, const uint8_t *mask, int64_t count,
                           double *out, double **rows);
/* Whether entry i is known in the target as given. */
bool ferry_i_score_known(const ferry_results *rs, int64_t i);
int64_t ferry_i_score_known_count(const ferry_results *rs);
/* How long a mask is. */
int64_t ferry_i_score_entries(const ferry_results *rs);

/* ---- cells ---- */

/* One fit and what it answers for the target. */
typedef struct ferry_run_cell {
    const struct ferry_method *how;
    const ferry_opts *opts; /* may be NULL */
    const ferry_task *split;
    const uint8_t *mask; /* what is scored */
    double *curve;       /* goal stream: FERRY_CURVE numbers to fill; else NULL */
    /* the answer, for ferry_i_cell_clear() */
    ferry_prediction *answer;
    struct json_t *diagnostics;
    double seconds; /* of the fit */
    bool finish;    /* the progress callback wants no more pieces */
} ferry_run_cell;
/* Fit and answer, or take what ctx->part has under that name, which no other cell of the evaluation
 * has. */
ferry_status ferry_i_cell_run(ferry_ctx *ctx, const ferry_results *rs, const char *name,
                              ferry_run_cell *c);
void ferry_i_cell_clear(ferry_run_cell *c);
/* A prediction for the task's target (or NULL), and diagnostics (or NULL), to another rank or from one. */
ferry_status ferry_i_answer_pack(ferry_ctx *ctx, const ferry_results *rs,
                                 const ferry_task *task, ferry_prediction **answer,
                                 ferry_buffer *p);
ferry_status ferry_i_diagnostics_pack(ferry_ctx *ctx, struct json_t **json,
                                      ferry_buffer *p);

/* ---- streams ---- */

enum { FERRY_CURVE = 100 };
/* Rows seen at point j of a curve over n rows. */
int64_t ferry_i_curve_rows(int64_t n, int64_t j);
/* Mean and standard deviation at point j over the complete repeats. */
void ferry_i_curve_at(const ferry_results *rs, const ferry_entry *r, int64_t j,
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

/* "unknown", "worth it", "not worth it", "open". Never NULL. */
const char *ferry_i_worth_name(ferry_worth worth);

#endif
