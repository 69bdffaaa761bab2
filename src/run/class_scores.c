/* Metrics of the scores of classes: how well they order the instances (auc), and how good they are
 * as probabilities (log-loss, Brier). Definitions are scikit-learn's.
 *
 * Any score orders. Probabilities are scores that are nowhere below 0 and add up to 1 in every row;
 * a method that gives others has none, and both metrics are NaN for it. A class that a method does
 * not know has the score -inf: no probability, and the last place. */
#include <float.h>
#include <math.h>

#include "run/run.h"

/* ---- order ---- */

/* Area under the ROC curve: the share of (positive, other) pairs in the right order, equals by
 * half. From mean ranks: (sum of the positives' - P (P + 1) / 2) / (P N). NaN without such pairs. */
static double area(const ferry_scored *s, int64_t cls, const double *rank)
{
    double sum = 0, p = 0;

    for (int64_t i = 0; i < s->n; i++) {
        if (s->truth_cls[i] != cls) continue;
        sum += rank[i];
        p++;
    }
    return p == 0 || p == (double)s->n ? NAN
                                       : (sum - p * (p + 1) / 2) / p / ((double)s->n - p);
}

/* Whether any score differs from 0: a method may answer with classes alone. */
static bool has_scores(const ferry_scored *s)
{
    for (int64_t i = 0; s->score && i < s->n * s->k; i++)
        if (s->score[i] != 0 && isfinite(s->score[i])) return true;
    return false;
}

/* Of two classes by how much more the second scores than the first, as usual; of more each against
 * the rest, averaged over those that are true of some and not of all. */
ferry_status ferry_i_auc(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    ferry_status st = FERRY_OK;
    double *x = NULL, *rank = NULL, sum = 0;
    int64_t used = 0;

    *out = NAN;
    if (!has_scores(s)) goto done;
    FERRY_NEW(ctx, x, s->n);
    FERRY_NEW(ctx, rank, s->n);
    for (int64_t c = s->k == 2; c < s->k; c++) {
        for (int64_t i = 0; i < s->n; i++) {
            const double *f = s->score + i * s->k;
            x[i] = s->k == 2 ? f[1] - f[0] : f[c];
        }
        FERRY_TRY(ferry_i_mean_ranks(ctx, s->n, x, rank));
        const double one = area(s, c, rank);
        if (isnan(one)) continue;
        sum += one;
        used++;
    }
    if (used > 0) *out = sum / (double)used;
done:
    ferry_i_free(x);
    ferry_i_free(rank);
    return st;
}

/* ---- probabilities ---- */

static double probability(double score)
{
    return score == -INFINITY ? 0 : score;
}

static bool has_probabilities(const ferry_scored *s)
{
    if (!has_scores(s)) return false;
    for (int64_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (int64_t c = 0; c < s->k; c++) {
            const double p = probability(s->score[i * s->k + c]);
            if (!(p >= 0)) return false;
            sum += p;
        }
        if (!(fabs(sum - 1) < 1e-6)) return false;
    }
    return true;
}

/* No answer is infinitely wrong: scikit-learn keeps probabilities off 0 and 1 by DBL_EPSILON. */
ferry_status ferry_i_log_loss(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    const bool can = has_probabilities(s);

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++) {
        const double p =
            can ? probability(s->score[i * s->k + s->truth_cls[i]]) : (double)NAN;
        out[i] = can ? -log(fmin(fmax(p, DBL_EPSILON), 1 - DBL_EPSILON)) : NAN;
    }
    return FERRY_OK;
}

/* The sum over classes; of two classes half of it, which is the square of one of them. */
ferry_status ferry_i_brier(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    const bool can = has_probabilities(s);

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++) {
        out[i] = can ? 0 : NAN;
        for (int64_t c = 0; can && c < s->k; c++) {
            const double d = probability(s->score[i * s->k + c]) - (s->truth_cls[i] == c);
            out[i] += d * d / (s->k == 2 ? 2 : 1);
        }
    }
    return FERRY_OK;
}
