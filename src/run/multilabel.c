/* The multi-label metrics. f_k is an instance's score of label k, Y its true labels,
 * N the others. Four of them look at the order of the labels by score; an instance with
 * Y or N empty has no order to get right and is skipped there.
 *
 * A label has a rank among a set of labels (all, or Y only):
 *   worst: #{l: f_l >= f_k}                a tie is an error, as in scikit-learn
 *   mean:  #{f_l > f_k} + (#{ties} + 1)/2  half an error; a label ties with itself
 *   index: the place in the stable order   the earlier label wins
 * With r_k the rank among all and q_k the rank among Y, per instance:
 *   ranking-loss      mean over k in Y of (r_k - q_k) / |N|
 *   coverage          max over k in Y of r_k - 1
 *   average-precision mean over k in Y of q_k / r_k */
#include <math.h>

#include "run/run.h"

/* A score that is no number ranks last, with -inf. */
static double key(double score)
{
    return isnan(score) ? -INFINITY : score;
}

/* Ranks of label `of` among all labels (*r) and among the true ones (*q). */
static void ranks(int64_t k, const double *f, const uint8_t *y, ferry_ties ties, int64_t of,
                  double *r, double *q)
{
    const double own = key(f[of]);
    double share = 1; /* how much a tied label counts as being in front */

    *r = *q = 1;
    for (int64_t l = 0; l < k; l++) {
        const double other = key(f[l]);
        if (l == of || other < own) continue;
        if (other == own)
            share = ties == FERRY_TIES_WORST ? 1 : ties == FERRY_TIES_MEAN ? 0.5 : l < of;
        else
            share = 1;
        *r += share;
        if (y[l]) *q += share;
    }
}

/* How wrong the top label is: 0 right, 1 wrong; of tied ones the share that is wrong. */
static double top_wrong(int64_t k, const double *f, const uint8_t *y, ferry_ties ties)
{
    double top = -INFINITY;
    int64_t tied = 0, wrong = 0, first = -1;

    for (int64_t l = 0; l < k; l++)
        if (key(f[l]) > top) top = key(f[l]);
    for (int64_t l = 0; l < k; l++) {
        if (key(f[l]) != top) continue;
        if (first < 0) first = l;
        tied++;
        wrong += !y[l];
    }
    switch (ties) {
    case FERRY_TIES_WORST: return wrong > 0;
    case FERRY_TIES_MEAN: return (double)wrong / (double)tied;
    case FERRY_TIES_INDEX: break;
    }
    return !y[first];
}

typedef enum ranking { LOSS, ONE_ERROR, COVERAGE, PRECISION } ranking;

/* One of the four ranking metrics of an instance; NaN when there is no order to get right. */
static double ranked(const ferry_scored *s, int64_t i, ranking what)
{
    const double *f = s->score + i * s->k;
    const uint8_t *y = s->truth_set + i * s->k;
    int64_t on = 0;
    double loss = 0, precision = 0, last = 0;

    for (int64_t l = 0; l < s->k; l++)
        on += y[l] != 0;
    if (on == 0 || on == s->k) return NAN;
    if (what == ONE_ERROR) return top_wrong(s->k, f, y, s->ties);
    for (int64_t l = 0; l < s->k; l++) {
        double r, q;
        if (!y[l]) continue;
        ranks(s->k, f, y, s->ties, l, &r, &q);
        loss += r - q;
        precision += q / r;
        last = fmax(last, r);
    }
    if (what == COVERAGE) return last - 1;
    return what == LOSS ? loss / (double)on / (double)(s->k - on) : precision / (double)on;
}

/* All rows of it. */
static ferry_status rank_rows(const ferry_scored *s, ranking what, double *out)
{
    for (int64_t i = 0; i < s->n; i++)
        out[i] = ranked(s, i, what);
    return FERRY_OK;
}

ferry_status ferry_i_ranking_loss(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    return rank_rows(s, LOSS, out);
}

ferry_status ferry_i_one_error(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    return rank_rows(s, ONE_ERROR, out);
}

ferry_status ferry_i_coverage(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    return rank_rows(s, COVERAGE, out);
}

ferry_status ferry_i_average_precision(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    return rank_rows(s, PRECISION, out);
}

/* ---- label sets, without an order ---- */

/* How many of an instance's cells are wrong. */
static int64_t wrong_cells(const ferry_scored *s, int64_t i)
{
    int64_t wrong = 0;

    for (int64_t l = i * s->k; l < (i + 1) * s->k; l++)
        wrong += (s->set[l] != 0) != (s->truth_set[l] != 0);
    return wrong;
}

ferry_status ferry_i_hamming(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        out[i] = s->k > 0 ? (double)wrong_cells(s, i) / (double)s->k : NAN;
    return FERRY_OK;
}

ferry_status ferry_i_subset_accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        out[i] = wrong_cells(s, i) == 0;
    return FERRY_OK;
}

/* Twice the cells on in both, and the cells on in either, of label l. */
static void count_label(const ferry_scored *s, int64_t l, double *twice, double *either)
{
    *twice = *either = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const bool t = s->truth_set[i * s->k + l] != 0, p = s->set[i * s->k + l] != 0;
        *twice += 2 * (t && p);
        *either += t + p;
    }
}

/* F1 = 2 both / (truth + predicted). Unlike a class, a label in neither counts, with 0: so does
 * scikit-learn for label sets. */
ferry_status ferry_i_macro_f1_sets(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    double sum = 0, twice, either;

    (void)ctx;
    for (int64_t l = 0; l < s->k; l++) {
        count_label(s, l, &twice, &either);
        sum += either > 0 ? twice / either : 0;
    }
    *out = s->k > 0 ? sum / (double)s->k : NAN;
    return FERRY_OK;
}

ferry_status ferry_i_micro_f1(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    double both = 0, all = 0, twice, either;

    (void)ctx;
    for (int64_t l = 0; l < s->k; l++) {
        count_label(s, l, &twice, &either);
        both += twice;
        all += either;
    }
    *out = s->k == 0 ? NAN : all > 0 ? both / all : 0;
    return FERRY_OK;
}
