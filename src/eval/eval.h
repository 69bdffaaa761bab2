/* Evaluation: metrics, statistics, results. */
#ifndef FERRY_EVAL_INTERNAL_H
#define FERRY_EVAL_INTERNAL_H

#include "ferry/evaluate.h"
#include "task/task.h"

typedef enum ferry_ties { FERRY_TIES_WORST, FERRY_TIES_MEAN, FERRY_TIES_INDEX } ferry_ties;

/* What a metric sees: n scored instances. */
typedef struct ferry_scored {
    int64_t n, k;
    const int32_t *truth_cls, *cls; /* classify */
    const double *truth, *value;    /* regress, rate */
    const uint8_t *truth_set, *set; /* multilabel, n x k */
    const double *score;            /* n x k */
    ferry_ties ties;
} ferry_scored;

typedef struct ferry_metric {
    const char *name, *help;
    unsigned goals;
    bool larger_is_better;
    double (*compute)(ferry_ctx *ctx, const ferry_scored *s); /* NaN when undefined */
} ferry_metric;
const ferry_metric *ferry_i_metric_find(const char *name);
const ferry_metric *ferry_i_metric_at(int64_t i); /* NULL past the end */
/* The metrics usual for a goal, the deciding one first; NULL past the end. */
const ferry_metric *ferry_i_metric_usual(ferry_goal goal, int64_t i);
double ferry_i_nmi(ferry_ctx *ctx, int64_t n, const int32_t *a,
                   const int32_t *b); /* arithmetic mean norm */

/* Statistics. */
double ferry_i_mean(int64_t n, const double *x);
double ferry_i_std(int64_t n, const double *x); /* n - 1; 0 for n = 1 */
/* Two-sided Wilcoxon signed-rank p-value: zeros dropped, ties by mean ranks; exact for n <=
 * 25 without ties, else the normal approximation with tie and continuity correction. NaN
 * when no pair differs. */
double ferry_i_wilcoxon(int64_t n, const double *diff);
/* Percentile bootstrap of the mean, `draws` resamples. */
void ferry_i_bootstrap(int64_t n, const double *x, int64_t draws, double level,
                       ferry_rng *rng, double *lo, double *hi);

typedef struct ferry_result {
    char *name;         /* in tables */
    const char *method; /* static */
    ferry_kind kind;
    struct json_t *options;
    char *unfit;     /* sentence when it does not fit or failed, else NULL */
    int64_t done;    /* repeats complete */
    double *metric;  /* n_metrics x repeats, metric m of repeat r at [m * repeats + r] */
    double *seconds; /* repeats */
    struct json_t *diagnostics;   /* of the last repeat */
    ferry_prediction *prediction; /* of the first repeat */
    uint8_t *scored; /* which of prediction's entries were scored in that repeat */
} ferry_result;

struct ferry_results {
    char *task;
    ferry_goal goal;
    uint64_t seed;
    int64_t repeats, n_metrics, n;
    const ferry_metric **metrics;
    ferry_result *result;
    int64_t best_baseline; /* place in result by the first metric, or -1 */
    /* Settings recorded with the results. */
    char *engine, *blas_core;
    int threads;
};

#endif
