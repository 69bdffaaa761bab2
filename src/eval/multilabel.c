/* The five multi-label metrics. f_k is an instance's score of label k, Y its true labels,
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

#include "eval/eval.h"

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

/* What the four ranking metrics need of one instance. */
typedef struct ranking {
    double loss, precision, coverage, one_error;
} ranking;

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

/* Sums over the instances that have an order to get right; returns how many. */
static int64_t add_up(const ferry_scored *s, ranking *sum)
{
    int64_t used = 0;

    *sum = (ranking){0};
    for (int64_t i = 0; i < s->n; i++) {
        const double *f = s->score + i * s->k;
        const uint8_t *y = s->truth_set + i * s->k;
        int64_t on = 0;
        double loss = 0, precision = 0, last = 0;
        for (int64_t l = 0; l < s->k; l++)
            on += y[l] != 0;
        if (on == 0 || on == s->k) continue;
        for (int64_t l = 0; l < s->k; l++) {
            double r, q;
            if (!y[l]) continue;
            ranks(s->k, f, y, s->ties, l, &r, &q);
            loss += r - q;
            precision += q / r;
            last = fmax(last, r);
        }
        sum->loss += loss / (double)on / (double)(s->k - on);
        sum->precision += precision / (double)on;
        sum->coverage += last - 1;
        sum->one_error += top_wrong(s->k, f, y, s->ties);
        used++;
    }
    return used;
}

ferry_status ferry_i_ranking_loss(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    ranking sum;
    const int64_t used = add_up(s, &sum);

    (void)ctx;
    *out = used > 0 ? sum.loss / (double)used : NAN;
    return FERRY_OK;
}

ferry_status ferry_i_one_error(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    ranking sum;
    const int64_t used = add_up(s, &sum);

    (void)ctx;
    *out = used > 0 ? sum.one_error / (double)used : NAN;
    return FERRY_OK;
}

ferry_status ferry_i_coverage(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    ranking sum;
    const int64_t used = add_up(s, &sum);

    (void)ctx;
    *out = used > 0 ? sum.coverage / (double)used : NAN;
    return FERRY_OK;
}

ferry_status ferry_i_average_precision(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    ranking sum;
    const int64_t used = add_up(s, &sum);

    (void)ctx;
    *out = used > 0 ? sum.precision / (double)used : NAN;
    return FERRY_OK;
}

ferry_status ferry_i_hamming(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    int64_t wrong = 0;

    (void)ctx;
    for (int64_t i = 0; i < s->n * s->k; i++)
        wrong += (s->set[i] != 0) != (s->truth_set[i] != 0);
    *out = s->n * s->k > 0 ? (double)wrong / (double)(s->n * s->k) : NAN;
    return FERRY_OK;
}
