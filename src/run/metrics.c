/* Metrics of classes and groups, and the table of all metrics.
 *
 * Conventions are scikit-learn's, so that numbers can be compared: a class that neither the
 * truth nor the prediction holds does not count in macro-F1, a class that the truth does
 * not hold does not count in balanced accuracy. With nothing to count a metric is NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

/* ---- classes ---- */

/* Per class: how often it is true, predicted, and both. */
typedef struct class_counts {
    int64_t truth, predicted, both;
} class_counts;

/* counts has s->k entries. A prediction outside 0..k-1 is of no class: never right. */
static void count_classes(const ferry_scored *s, class_counts *counts)
{
    for (int64_t i = 0; i < s->n; i++) {
        const int32_t t = s->truth_cls[i], p = s->cls[i];
        counts[t].truth++;
        if (p < 0 || p >= s->k) continue;
        counts[p].predicted++;
        if (p == t) counts[t].both++;
    }
}

static ferry_status accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        out[i] = s->cls[i] == s->truth_cls[i];
    return FERRY_OK;
}

/* Accuracy on the rows whose class has a label that may be seen, or has none. */
static void accuracy_where(const ferry_scored *s, bool seen, double *out)
{
    for (int64_t i = 0; i < s->n; i++)
        out[i] = s->seen && (s->seen[s->truth_cls[i]] != 0) == seen
                     ? s->cls[i] == s->truth_cls[i]
                     : NAN;
}

static ferry_status seen_accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    accuracy_where(s, true, out);
    return FERRY_OK;
}

static ferry_status missing_accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    accuracy_where(s, false, out);
    return FERRY_OK;
}

static ferry_status error(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        out[i] = s->cls[i] != s->truth_cls[i];
    return FERRY_OK;
}

/* F1 of a class = 2 both / (truth + predicted); the mean over classes in either. */
static ferry_status macro_f1(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    class_counts *c = NULL;
    double sum = 0;
    int64_t classes = 0;

    if (s->truth_set) return ferry_i_macro_f1_sets(ctx, s, out);
    c = ferry_i_calloc(s->k, sizeof *c);
    if (!c) return ferry_i_nomem(ctx);
    count_classes(s, c);
    for (int64_t k = 0; k < s->k; k++) {
        const int64_t either = c[k].truth + c[k].predicted;
        if (either == 0) continue;
        sum += 2 * (double)c[k].both / (double)either;
        classes++;
    }
    *out = classes > 0 ? sum / (double)classes : NAN;
    ferry_i_free(c);
    return FERRY_OK;
}

/* The mean over the truth's classes of the share that was found. */
static ferry_status balanced_accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    class_counts *c = ferry_i_calloc(s->k, sizeof *c);
    double sum = 0;
    int64_t classes = 0;

    if (!c) return ferry_i_nomem(ctx);
    count_classes(s, c);
    for (int64_t k = 0; k < s->k; k++) {
        if (c[k].truth == 0) continue;
        sum += (double)c[k].both / (double)c[k].truth;
        classes++;
    }
    *out = classes > 0 ? sum / (double)classes : NAN;
    ferry_i_free(c);
    return FERRY_OK;
}

/* ---- clusters ---- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Entropy (natural logarithm) of the distribution of n > 0 keys, which are sorted;
 * *distinct is how many there are. */
static double entropy(int64_t n, uint64_t *key, int64_t *distinct)
{
    double h = 0;

    qsort(key, (size_t)n, sizeof *key, by_key);
    *distinct = 0;
    for (int64_t i = 0, j = 0; i < n; i = j) {
        while (j < n && key[j] == key[i])
            j++;
        const double share = (double)(j - i) / (double)n;
        h -= share * log(share);
        (*distinct)++;
    }
    return h;
}

ferry_status ferry_i_nmi(ferry_ctx *ctx, int64_t n, const int32_t *a, const int32_t *b,
                         double *out)
{
    uint64_t *key = NULL;
    int64_t na = 0, nb = 0, nab = 0;

    *out = NAN;
    if (n == 0) return FERRY_OK;
    key = ferry_i_calloc(n, sizeof *key);
    if (!key) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < n; i++)
        key[i] = (uint32_t)a[i];
    const double ha = entropy(n, key, &na);
    for (int64_t i = 0; i < n; i++)
        key[i] = (uint32_t)b[i];
    const double hb = entropy(n, key, &nb);
    for (int64_t i = 0; i < n; i++)
        key[i] = (uint64_t)(uint32_t)a[i] << 32 | (uint32_t)b[i];
    const double mutual = ha + hb - entropy(n, key, &nab);
    ferry_i_free(key);
    /* One group on both sides agrees perfectly; otherwise what is left of a difference of
     * rounded entropies is no information. */
    if (na == 1 && nb == 1)
        *out = 1;
    else
        *out = mutual < 1e-14 ? 0 : fmin(1, 2 * mutual / (ha + hb));
    return FERRY_OK;
}

static ferry_status nmi(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    return ferry_i_nmi(ctx, s->n, s->truth_cls, s->cls, out);
}

/* Pairs of equal keys, which are sorted. */
static double equal_pairs(int64_t n, uint64_t *key)
{
    double pairs = 0;

    qsort(key, (size_t)n, sizeof *key, by_key);
    for (int64_t i = 0, j = 0; i < n; i = j) {
        while (j < n && key[j] == key[i])
            j++;
        pairs += (double)(j - i) * (double)(j - i - 1);
    }
    return pairs;
}

/* By the counts of ordered pairs that are together in both groupings, in one of them, in none. */
ferry_status ferry_i_ari(ferry_ctx *ctx, int64_t n, const int32_t *a, const int32_t *b,
                         double *out)
{
    uint64_t *key = NULL;

    *out = NAN;
    if (n == 0) return FERRY_OK;
    key = ferry_i_calloc(n, sizeof *key);
    if (!key) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < n; i++)
        key[i] = (uint64_t)(uint32_t)a[i] << 32 | (uint32_t)b[i];
    const double both = equal_pairs(n, key);
    for (int64_t i = 0; i < n; i++)
        key[i] = (uint32_t)a[i];
    const double left = equal_pairs(n, key) - both;
    for (int64_t i = 0; i < n; i++)
        key[i] = (uint32_t)b[i];
    const double right = equal_pairs(n, key) - both;
    const double none = (double)n * (double)(n - 1) - both - left - right;
    ferry_i_free(key);
    *out = left == 0 && right == 0
               ? 1
               : 2 * (both * none - left * right) /
                     ((both + left) * (left + none) + (both + right) * (right + none));
    return FERRY_OK;
}

static ferry_status ari(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    return ferry_i_ari(ctx, s->n, s->truth_cls, s->cls, out);
}

/* ---- the table ---- */

enum { CLASSES = FERRY_CLASSIFY, SETS = FERRY_MULTILABEL };
enum { NUMBERS = FERRY_REGRESS | FERRY_RATE, GROUPS = FERRY_CLASSIFY | FERRY_EMBED };
#define NDCG(k)                                                                            \
    {                                                                                      \
        {"ndcg@" #k, "gain of each user's " #k " first items, by what it could be",        \
         FERRY_RATE, true, false},                                                         \
            ferry_i_ndcg, k                                                                \
    }
#define RECALL(k)                                                                          \
    {                                                                                      \
        {"recall@" #k,                                                                     \
         "share of each user's items above the mean that are his " #k " first",            \
         FERRY_RATE, true, false},                                                         \
            ferry_i_recall, k                                                              \
    }

/* name, help, goals, whether larger is better, whether it is a mean over rows */
static const ferry_metric metrics[] = {
    {{"accuracy", "share of instances whose class is right", CLASSES, true, true},
     accuracy,
     0},
    {{"error", "share of instances whose class is wrong", CLASSES, false, true}, error, 0},
    {{"macro-f1", "F1 of each class or label, averaged over them", CLASSES | SETS, true,
      false},
     macro_f1,
     0},
    {{"balanced-accuracy", "share found of each class, averaged over the classes", CLASSES,
      true, false},
     balanced_accuracy,
     0},
    {{"seen-accuracy", "accuracy on the classes that have a visible label", FERRY_CLASSIFY,
      true, true},
     seen_accuracy,
     0},
    {{"missing-accuracy", "accuracy on the classes that have no visible label",
      FERRY_CLASSIFY, true, true},
     missing_accuracy,
     0},
    {{"auc", "area under each class's ROC curve against the rest, averaged", CLASSES, true,
      false},
     ferry_i_auc,
     0},
    {{"log-loss", "minus the logarithm of the true class's probability", CLASSES, false,
      true},
     ferry_i_log_loss,
     0},
    {{"brier", "squared error of the classes' probabilities", CLASSES, false, true},
     ferry_i_brier,
     0},
    {{"nmi", "normalised mutual information of classes and predicted groups", GROUPS, true,
      false},
     nmi,
     0},
    {{"ari", "adjusted Rand index of classes and predicted groups", GROUPS, true, false},
     ari,
     0},
    {{"knn-accuracy",
      "share of instances that 5 nearest neighbours in the embedding classify", FERRY_EMBED,
      true, true},
     ferry_i_knn_accuracy,
     0},
    {{"rmse", "root of the mean squared error", NUMBERS, false, false}, ferry_i_rmse, 0},
    {{"mae", "mean absolute error", NUMBERS, false, true}, ferry_i_mae, 0},
    {{"r2", "share of the variance that is explained", NUMBERS, true, false},
     ferry_i_r2,
     0},
    {{"spearman", "rank correlation of values and predictions", NUMBERS, true, false},
     ferry_i_spearman,
     0},
    NDCG(5),
    NDCG(10),
    NDCG(20),
    RECALL(5),
    RECALL(10),
    RECALL(20),
    {{"average-precision", "precision at each true label's rank, averaged", SETS, true,
      true},
     ferry_i_average_precision,
     0},
    {{"ranking-loss", "share of (true, other) label pairs in the wrong order", SETS, false,
      true},
     ferry_i_ranking_loss,
     0},
    {{"one-error", "share of instances whose top label is not true", SETS, false, true},
     ferry_i_one_error,
     0},
    {{"coverage", "rank of the last true label, counted from 0", SETS, false, true},
     ferry_i_coverage,
     0},
    {{"hamming", "share of (instance, label) cells that are wrong", SETS, false, true},
     ferry_i_hamming,
     0},
    {{"micro-f1", "F1 over all (instance, label) cells", SETS, true, false},
     ferry_i_micro_f1,
     0},
    {{"subset-accuracy", "share of instances whose whole label set is right", SETS, true,
      true},
     ferry_i_subset_accuracy,
     0},
    {{"mistake-rate",
      "share of a stream's instances predicted wrongly before learning them", FERRY_STREAM,
      false, true},
     error,
     0},
};

/* The mean of the rows that count, added up in their order. */
static double mean_of(int64_t n, const double *row)
{
    double sum = 0;
    int64_t used = 0;

    for (int64_t i = 0; i < n; i++) {
        if (isnan(row[i])) continue;
        sum += row[i];
        used++;
    }
    return used > 0 ? sum / (double)used : NAN;
}

ferry_status ferry_i_metric_value(ferry_ctx *ctx, const ferry_metric *m,
                                  const ferry_scored *s, double *rows, double *out)
{
    ferry_status st = FERRY_OK;
    ferry_scored with = *s;
    double *own = NULL;

    with.at = m->at;
    *out = NAN;
    for (int64_t i = 0; rows && i < s->n; i++)
        rows[i] = NAN;
    if (s->n == 0) goto done;
    if (!m->info.mean_of_rows) {
        FERRY_TRY(m->compute(ctx, &with, out));
        goto done;
    }
    if (!rows) FERRY_NEW(ctx, own, s->n);
    FERRY_TRY(m->compute(ctx, &with, rows ? rows : own));
    *out = mean_of(s->n, rows ? rows : own);
done:
    ferry_i_free(own);
    return st;
}

const ferry_metric *ferry_i_metric_at(int64_t i)
{
    return i >= 0 && i < FERRY_COUNT(metrics) ? &metrics[i] : NULL;
}

const ferry_metric *ferry_i_metric_find(const char *name)
{
    for (int64_t i = 0; i < FERRY_COUNT(metrics); i++)
        if (strcmp(metrics[i].info.name, name) == 0) return &metrics[i];
    return NULL;
}

static bool is_among(const char *name, int64_t n, const char *const *names)
{
    for (int64_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

bool ferry_i_metric_is_share(const ferry_metric *m)
{
    static const char *const open[] = {"log-loss", "rmse", "mae", "coverage"};

    return !is_among(m->info.name, FERRY_COUNT(open), open);
}

bool ferry_i_metric_reads_scores(const ferry_metric *m)
{
    static const char *const by_score[] = {"auc", "log-loss", "brier"};

    return is_among(m->info.name, FERRY_COUNT(by_score), by_score);
}

const ferry_metric *ferry_i_metric_usual(ferry_goal goal, int64_t i)
{
    static const struct {
        ferry_goal goal;
        const char *names[6];
    } usual[] = {
        {FERRY_CLASSIFY, {"accuracy", "macro-f1"}},
        {FERRY_REGRESS, {"rmse", "mae"}},
        {FERRY_RATE, {"rmse", "mae"}},
        {FERRY_MULTILABEL,
         {"average-precision", "ranking-loss", "one-error", "coverage", "hamming"}},
        {FERRY_EMBED, {"nmi"}},
        {FERRY_STREAM, {"mistake-rate"}},
    };

    for (int64_t g = 0; g < FERRY_COUNT(usual); g++)
        if (usual[g].goal == goal && i >= 0 && i < FERRY_COUNT(usual[g].names))
            return usual[g].names[i] ? ferry_i_metric_find(usual[g].names[i]) : NULL;
    return NULL;
}

int64_t ferry_i_metric_count(void)
{
    return FERRY_COUNT(metrics);
}

const ferry_metric_info *ferry_i_metric_info_at(int64_t i)
{
    const ferry_metric *m = ferry_i_metric_at(i);

    return m ? &m->info : NULL;
}
