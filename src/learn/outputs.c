/* Classes and numbers as scores, and back (outputs.h). */
#include "learn/outputs.h"

#include <math.h>

/* exp() of what is not above 0 only, so that it underflows instead of overflowing. */
double ferry_i_sigmoid(double f)
{
    return f >= 0 ? 1 / (1 + exp(-f)) : exp(f) / (1 + exp(f));
}

int64_t ferry_i_outputs_scores(bool numbers, int64_t classes)
{
    return numbers || classes <= 2 ? 1 : classes;
}

/* Mean and standard deviation of the numbers that are there.
 * Two passes: the squares are of differences, so large numbers close together keep their
 * digits. A constant target has sd 1, so that it is not divided by 0. */
static void measure(int64_t n, const double *num, ferry_outputs *o)
{
    double sum = 0, squares = 0, count = 0;

    for (int64_t i = 0; i < n; i++)
        if (!isnan(num[i])) {
            sum += num[i];
            count++;
        }
    o->mean = count > 0 ? sum / count : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(num[i])) squares += (num[i] - o->mean) * (num[i] - o->mean);
    o->sd = count > 0 && squares > 0 ? sqrt(squares / count) : 1;
}

/* y is +-1 for logistic scores and (number - mean) / sd for squared loss, which makes
 * rates and regularisation mean the same for any unit. The caller frees *y and
 * *labelled, also after a failure. */
ferry_status ferry_i_outputs_new(ferry_ctx *ctx, bool numbers, int64_t classes, int64_t n,
                                 const int32_t *cls, const double *num, ferry_outputs *out,
                                 double **y, uint8_t **labelled)
{
    ferry_status st = FERRY_OK;
    ferry_outputs o = {.numbers = numbers, .classes = numbers ? 1 : classes, .sd = 1};

    o.k = ferry_i_outputs_scores(numbers, classes);
    FERRY_NEW(ctx, *y, n * o.k);
    FERRY_NEW(ctx, *labelled, n);
    if (numbers) measure(n, num, &o);
    FERRY_NEED(ctx, isfinite(o.mean) && isfinite(o.sd), FERRY_ENUMERIC,
               "the numbers to predict are too large to add up");
    for (int64_t i = 0; i < n; i++) {
        (*labelled)[i] = (numbers && !isnan(num[i])) || (!numbers && cls[i] >= 0);
        if (!(*labelled)[i]) continue;
        if (numbers) (*y)[i] = (num[i] - o.mean) / o.sd;
        for (int64_t j = 0; !numbers && j < o.k; j++) /* 1 for its class, else -1 */
            (*y)[i * o.k + j] = cls[i] == (o.k == 1 ? 1 : j) ? 1 : -1;
    }
    *out = o;
done:
    return st;
}

/* Scores against the rest are not one distribution, so they are brought to sum 1. A
 * number stays scaled: whoever reports it applies mean and sd. */
void ferry_i_outputs_answer(const ferry_outputs *o, const double *f, double *answer)
{
    double sum = 0;

    if (o->numbers) {
        answer[0] = f[0];
    } else if (o->k == 1) { /* p(second) = s(f) */
        if (o->classes > 1) answer[1] = ferry_i_sigmoid(f[0]);
        answer[0] = o->classes > 1 ? 1 - answer[1] : 1;
    } else { /* p(j) = s(f_j) / sum_i s(f_i) */
        for (int64_t j = 0; j < o->k; j++)
            sum += answer[j] = ferry_i_sigmoid(f[j]);
        for (int64_t j = 0; j < o->k; j++)
            answer[j] /= sum;
    }
}

/* The same shape as an answer: one-hot, or the scaled number. */
void ferry_i_outputs_truth(const ferry_outputs *o, const double *y, double *answer)
{
    if (o->numbers) answer[0] = y[0];
    for (int64_t j = 0; !o->numbers && j < o->classes; j++)
        answer[j] = o->k == 1 ? j == (y[0] > 0 ? 1 : 0) : y[j] > 0;
}
