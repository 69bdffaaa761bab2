/* Metrics of numbers, and of a user's items ordered by predicted rating. Definitions are
 * scikit-learn's, Spearman's is scipy's. */
#include <math.h>
#include <stdlib.h>

#include "run/run.h"

/* ---- ranks ---- */

/* A number and its place. */
typedef struct placed {
    double x;
    int64_t at;
} placed;

/* NaN first; equals by place, so that the order is one. */
static int by_value(const void *a, const void *b)
{
    const placed *p = a, *q = b;

    if (isnan(p->x) != isnan(q->x)) return isnan(p->x) ? -1 : 1;
    if (p->x < q->x || p->x > q->x) return p->x < q->x ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

ferry_status ferry_i_mean_ranks(ferry_ctx *ctx, int64_t n, const double *x, double *rank)
{
    ferry_status st = FERRY_OK;
    placed *p = NULL;

    FERRY_NEW(ctx, p, n);
    for (int64_t i = 0; i < n; i++)
        p[i] = (placed){x[i], i};
    qsort(p, (size_t)n, sizeof *p, by_value);
    for (int64_t i = 0, j = 0; i < n; i = j) {
        while (j < n && (p[j].x == p[i].x || (isnan(p[j].x) && isnan(p[i].x))))
            j++;
        for (int64_t e = i; e < j; e++)
            rank[p[e].at] = (double)(i + j + 1) / 2;
    }
done:
    ferry_i_free(p);
    return st;
}

/* ---- numbers ---- */

static double squared_error(const ferry_scored *s)
{
    double sum = 0;

    for (int64_t i = 0; i < s->n; i++)
        sum += (s->value[i] - s->truth[i]) * (s->value[i] - s->truth[i]);
    return sum;
}

ferry_status ferry_i_rmse(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    (void)ctx;
    *out = sqrt(squared_error(s) / (double)s->n);
    return FERRY_OK;
}

/* A prediction that is no number makes the whole mean none, as in rmse. */
ferry_status ferry_i_mae(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    bool all = true;

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        all = all && !isnan(s->value[i]);
    for (int64_t i = 0; i < s->n; i++)
        out[i] = all ? fabs(s->value[i] - s->truth[i]) : NAN;
    return FERRY_OK;
}

/* 1 - squared error / squared distance of the truth from its mean; where the latter is 0 the
 * prediction is perfect (1) or not (0). */
ferry_status ferry_i_r2(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    const double mean = ferry_i_mean(s->n, s->truth), error = squared_error(s);
    double all = 0;

    (void)ctx;
    for (int64_t i = 0; i < s->n; i++)
        all += (s->truth[i] - mean) * (s->truth[i] - mean);
    *out = s->n < 2 || isnan(error) ? NAN : all > 0 ? 1 - error / all : error == 0;
    return FERRY_OK;
}

/* Pearson's correlation of the mean ranks; NaN when either side is constant. */
ferry_status ferry_i_spearman(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    ferry_status st = FERRY_OK;
    double *a = NULL, *b = NULL, ab = 0, aa = 0, bb = 0;
    const double middle = (double)(s->n + 1) / 2;

    *out = NAN;
    for (int64_t i = 0; i < s->n; i++)
        if (isnan(s->value[i])) goto done;
    FERRY_NEW(ctx, a, s->n);
    FERRY_NEW(ctx, b, s->n);
    FERRY_TRY(ferry_i_mean_ranks(ctx, s->n, s->truth, a));
    FERRY_TRY(ferry_i_mean_ranks(ctx, s->n, s->value, b));
    for (int64_t i = 0; i < s->n; i++) {
        ab += (a[i] - middle) * (b[i] - middle);
        aa += (a[i] - middle) * (a[i] - middle);
        bb += (b[i] - middle) * (b[i] - middle);
    }
    if (aa > 0 && bb > 0) *out = ab / sqrt(aa) / sqrt(bb);
done:
    ferry_i_free(a);
    ferry_i_free(b);
    return st;
}

/* ---- a user's items, best first ---- */

/* A scored pair: by what it is ordered, and what it is worth. */
typedef struct rated {
    int32_t user;
    double key, gain;
} rated;

/* By user, then largest key first. */
static int by_user(const void *a, const void *b)
{
    const rated *p = a, *q = b;

    if (p->user != q->user) return p->user < q->user ? -1 : 1;
    return (p->key < q->key) - (p->key > q->key);
}

/* Pairs by user, best first. */
static void sort_pairs(const ferry_scored *s, const double *by, const double *gain,
                       rated *to)
{
    for (int64_t i = 0; i < s->n; i++)
        to[i] = (rated){s->user[i], by[i], gain[i]};
    qsort(to, (size_t)s->n, sizeof *to, by_user);
}

/* Of the n pairs of one user: the gains of the first `top` places, each over log2(1 + place) when
 * discounted. Equals share their places: each place holds their mean. */
static double gain_of(const rated *r, int64_t n, int64_t top, bool discounted)
{
    double sum = 0;

    for (int64_t i = 0, j = 0; i < n && i < top; i = j) {
        double mean = 0, places = 0;
        while (j < n && r[j].key == r[i].key)
            mean += r[j++].gain;
        for (int64_t e = i; e < j && e < top; e++)
            places += discounted ? 1 / log2((double)e + 2) : 1;
        sum += mean / (double)(j - i) * places;
    }
    return sum;
}

/* Mean over users of what the predicted order gains by what the best order would. A user counts who
 * has at least `least` pairs and something to gain. NaN when there is none, a prediction is no
 * number, or a gain is below 0. */
static ferry_status over_users(ferry_ctx *ctx, const ferry_scored *s, const double *gain,
                               bool discounted, double *out)
{
    ferry_status st = FERRY_OK;
    rated *got = NULL, *best = NULL;
    double sum = 0;
    int64_t users = 0;
    const int64_t least = discounted ? 2 : 1; /* one item is in order by itself */

    *out = NAN;
    for (int64_t i = 0; i < s->n; i++)
        if (isnan(s->value[i]) || gain[i] < 0) goto done;
    FERRY_NEW(ctx, got, s->n);
    FERRY_NEW(ctx, best, s->n);
    sort_pairs(s, s->value, gain, got);
    sort_pairs(s, gain, gain, best);
    for (int64_t i = 0, j = 0; i < s->n; i = j) {
        while (j < s->n && got[j].user == got[i].user)
            j++;
        const int64_t top = discounted ? s->at : j - i;
        const double could = gain_of(best + i, j - i, top, discounted);
        if (j - i < least || (could == 0 && !discounted)) continue;
        sum += could > 0 ? gain_of(got + i, j - i, s->at, discounted) / could : 0;
        users++;
    }
    if (users > 0) *out = sum / (double)users;
done:
    ferry_i_free(got);
    ferry_i_free(best);
    return st;
}

/* Gains are the ratings themselves. */
ferry_status ferry_i_ndcg(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    return over_users(ctx, s, s->truth, true, out);
}

/* Worth finding is what was rated above the mean of all that is scored; users without such an item
 * do not count. */
ferry_status ferry_i_recall(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    ferry_status st = FERRY_OK;
    const double mean = ferry_i_mean(s->n, s->truth);
    double *worth = NULL;

    FERRY_NEW(ctx, worth, s->n);
    for (int64_t i = 0; i < s->n; i++)
        worth[i] = s->truth[i] > mean;
    FERRY_TRY(over_users(ctx, s, worth, false, out));
done:
    ferry_i_free(worth);
    return st;
}
