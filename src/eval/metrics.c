/* Metrics of classes and numbers, and the table of all metrics.
 *
 * Conventions are scikit-learn's, so that numbers can be compared: a class that neither the
 * truth nor the prediction holds does not count in macro-F1, a class that the truth does
 * not hold does not count in balanced accuracy. With nothing to count a metric is NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"

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
    int64_t right = 0;

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        right += s->cls[i] == s->truth_cls[i];
    *out = s->n > 0 ? (double)right / (double)s->n : NAN;
    return FERRY_OK;
}

static ferry_status error(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    int64_t wrong = 0;

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        wrong += s->cls[i] != s->truth_cls[i];
    *out = s->n > 0 ? (double)wrong / (double)s->n : NAN;
    return FERRY_OK;
}

/* F1 of a class = 2 both / (truth + predicted); the mean over classes in either. */
static ferry_status macro_f1(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    class_counts *c = ferry_i_calloc(s->k, sizeof *c);
    double sum = 0;
    int64_t classes = 0;

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

/* ---- numbers ---- */

static ferry_status rmse(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    double sum = 0;

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        sum += (s->value[i] - s->truth[i]) * (s->value[i] - s->truth[i]);
    *out = s->n > 0 ? sqrt(sum / (double)s->n) : NAN;
    return FERRY_OK;
}

static ferry_status mae(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    double sum = 0;

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        sum += fabs(s->value[i] - s->truth[i]);
    *out = s->n > 0 ? sum / (double)s->n : NAN;
    return FERRY_OK;
}

/* ---- the table ---- */

static const ferry_metric metrics[] = {
    {{"accuracy", "share of instances whose class is right", FERRY_CLASSIFY, true},
     accuracy},
    {{"error", "share of instances whose class is wrong", FERRY_CLASSIFY, false}, error},
    {{"macro-f1", "F1 of each class, averaged over the classes", FERRY_CLASSIFY, true},
     macro_f1},
    {{"balanced-accuracy", "share found of each class, averaged over the classes",
      FERRY_CLASSIFY, true},
     balanced_accuracy},
    {{"nmi", "normalised mutual information of classes and predicted groups",
      FERRY_CLASSIFY | FERRY_EMBED, true},
     nmi},
    {{"knn-accuracy",
      "share of instances that 5 nearest neighbours in the embedding classify", FERRY_EMBED,
      true},
     ferry_i_knn_accuracy},
    {{"rmse", "root of the mean squared error", FERRY_REGRESS | FERRY_RATE, false}, rmse},
    {{"mae", "mean absolute error", FERRY_REGRESS | FERRY_RATE, false}, mae},
    {{"average-precision", "precision at each true label's rank, averaged",
      FERRY_MULTILABEL, true},
     ferry_i_average_precision},
    {{"ranking-loss", "share of (true, other) label pairs in the wrong order",
      FERRY_MULTILABEL, false},
     ferry_i_ranking_loss},
    {{"one-error", "share of instances whose top label is not true", FERRY_MULTILABEL,
      false},
     ferry_i_one_error},
    {{"coverage", "rank of the last true label, counted from 0", FERRY_MULTILABEL, false},
     ferry_i_coverage},
    {{"hamming", "share of (instance, label) cells that are wrong", FERRY_MULTILABEL,
      false},
     ferry_i_hamming},
    {{"mistake-rate",
      "share of a stream's instances predicted wrongly before learning them", FERRY_STREAM,
      false},
     error},
};

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

int64_t ferry_metric_count(void)
{
    return FERRY_COUNT(metrics);
}

const ferry_metric_info *ferry_metric_at(int64_t i)
{
    const ferry_metric *m = ferry_i_metric_at(i);

    return m ? &m->info : NULL;
}
