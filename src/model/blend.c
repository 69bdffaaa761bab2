/* Blends of predictions (blend.h). */
#include "model/blend.h"

#include <math.h>
#include <string.h>

/* Not negative, and 1 together. */
static bool is_probability(int64_t k, const double *x)
{
    double sum = 0;

    for (int64_t c = 0; c < k; c++) {
        if (!(x[c] >= 0)) return false;
        sum += x[c];
    }
    return fabs(sum - 1) < 1e-6;
}

static double mean_of_row(int64_t k, const double *x)
{
    double sum = 0;

    for (int64_t c = 0; c < k; c++)
        sum += x[c];
    return sum / (double)k;
}

double ferry_i_blend_scale(int64_t n, int64_t k, const double *score)
{
    double squares = 0, count = 0;
    bool all = true;

    for (int64_t i = 0; score && i < n; i++) {
        const double *x = score + i * k, mean = mean_of_row(k, x);
        if (!isfinite(mean)) continue; /* no answer */
        all = all && is_probability(k, x);
        for (int64_t c = 0; c < k; c++)
            squares += (x[c] - mean) * (x[c] - mean);
        count += (double)k;
    }
    return all || squares == 0 ? 0 : sqrt(squares / count);
}

bool ferry_i_blend_row(int64_t k, const double *score, int32_t cls, double scale, double *q)
{
    const double mean = score ? mean_of_row(k, score) : NAN;
    double most = -INFINITY, sum = 0;

    if (cls < 0 || cls >= k) return false;
    if (!isfinite(mean)) {
        for (int64_t c = 0; c < k; c++)
            q[c] = c == cls;
    } else if (!(scale > 0) && is_probability(k, score)) {
        memcpy(q, score, (size_t)k * sizeof *q);
    } else {
        for (int64_t c = 0; c < k; c++)
            most = fmax(most, score[c]);
        for (int64_t c = 0; c < k; c++)
            sum += q[c] = exp(scale > 0 ? 2 * (score[c] - most) / scale : score[c] - most);
        for (int64_t c = 0; c < k; c++)
            q[c] /= sum;
    }
    for (int64_t c = 0; c < k; c++)
        q[c] = .999 * q[c] + .001 / (double)k;
    return true;
}

/* Where the classes of p stand in out's; -1: nowhere. */
static void find_names(const ferry_prediction *p, const ferry_prediction *out, int32_t *at)
{
    for (int64_t c = 0; c < p->k; c++) {
        at[c] = -1;
        for (int64_t k = 0; k < out->k && at[c] < 0; k++) {
            const int64_t try = (c + k) % out->k; /* mostly the same place */
            if (strcmp(p->names[c], out->names[try]) == 0) at[c] = (int32_t)try;
        }
    }
}

/* score += weight * probabilities; total += weight where there is an answer. */
static ferry_status add_classes(ferry_ctx *ctx, const ferry_blended *b, double *total,
                                ferry_prediction *out)
{
    ferry_status st = FERRY_OK;
    const ferry_prediction *p = b->p;
    int32_t *at = NULL;
    double *q = NULL;

    FERRY_NEW(ctx, at, p->k);
    FERRY_NEW(ctx, q, p->k);
    find_names(p, out, at);
    for (int64_t i = 0; i < p->n; i++) {
        const double *score = p->score ? p->score + i * p->k : NULL;
        if (!ferry_i_blend_row(p->k, score, p->cls[i], b->scale, q)) continue;
        for (int64_t c = 0; c < p->k; c++)
            if (at[c] >= 0) out->score[i * out->k + at[c]] += b->weight * q[c];
        total[i] += b->weight;
    }
done:
    FERRY_FREE(at, q);
    return st;
}

/* How a label of a set stands: above a half if the member names it, and among those that it names (or does not) by its
 * score. So a blend of one member ranks labels as that does. */
static double standing(bool on, const double *score, double mean, double scale)
{
    if (!score || !(scale > 0) || !isfinite(*score) || !isfinite(mean)) return on;
    const double u = 1 / (1 + exp(-2 * (*score - mean) / scale));

    return (on + fmin(fmax(u, .0005), .9995)) / 2;
}

static ferry_status add_sets(ferry_ctx *ctx, const ferry_blended *b, double *total,
                             ferry_prediction *out)
{
    ferry_status st = FERRY_OK;
    const ferry_prediction *p = b->p;
    int32_t *at = NULL;

    FERRY_NEW(ctx, at, p->k);
    find_names(p, out, at);
    for (int64_t i = 0; i < p->n; i++) {
        const double *score = p->score ? p->score + i * p->k : NULL;
        const double mean = score ? mean_of_row(p->k, score) : NAN;
        for (int64_t c = 0; c < p->k; c++)
            if (at[c] >= 0)
                out->score[i * out->k + at[c]] +=
                    b->weight * standing(p->set[i * p->k + c], score ? score + c : NULL,
                                         mean, b->scale);
        total[i] += b->weight;
    }
done:
    ferry_i_free(at);
    return st;
}

static void add_numbers(const ferry_blended *b, double *total, ferry_prediction *out)
{
    for (int64_t i = 0; i < b->p->n; i++) {
        if (!isfinite(b->p->value[i])) continue;
        out->value[i] += b->weight * b->p->value[i];
        total[i] += b->weight;
    }
}

/* Sums of weighted answers become means, and the likeliest is taken. */
static void decide(const double *total, ferry_prediction *out)
{
    for (int64_t i = 0; i < out->n; i++) {
        double *x = out->score ? out->score + i * out->k : NULL;
        if (out->value) out->value[i] = total[i] > 0 ? out->value[i] / total[i] : NAN;
        if (out->cls) out->cls[i] = -1;
        for (int64_t c = 0; x && c < out->k; c++) {
            x[c] = total[i] > 0 ? x[c] / total[i] : NAN;
            if (out->set) out->set[i * out->k + c] = x[c] >= .5;
            if (out->cls && total[i] > 0 && (out->cls[i] < 0 || x[c] > x[out->cls[i]]))
                out->cls[i] = (int32_t)c;
        }
    }
}

ferry_status ferry_i_blend(ferry_ctx *ctx, int64_t n, const ferry_blended *of,
                           ferry_prediction *out)
{
    ferry_status st = FERRY_OK;
    double *total = NULL;

    FERRY_NEW(ctx, total, out->n);
    for (int64_t j = 0; j < n; j++) {
        FERRY_NEED(ctx, of[j].p->n <= out->n, FERRY_EDATA,
                   "a member of a blend answers for %lld instances of %lld",
                   (long long)of[j].p->n, (long long)out->n);
        if (out->set)
            FERRY_TRY(add_sets(ctx, &of[j], total, out));
        else if (out->cls)
            FERRY_TRY(add_classes(ctx, &of[j], total, out));
        else
            add_numbers(&of[j], total, out);
    }
    decide(total, out);
done:
    ferry_i_free(total);
    return st;
}
