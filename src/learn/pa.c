/* Passive-aggressive steps (pa.h).
 * A stream gives one row at a time, dense or sparse (x->index NULL or not), so the
 * products here take a row, not a matrix. None allocates: only a new class does, in
 * ferry_i_pa_classes(). A step touches two rows of W and costs the entries of x. */
#include "learn/pa.h"

#include <math.h>
#include <string.h>

/* ---- products ---- */

void ferry_i_row_scores(int64_t rows, int64_t d, const double *a, const ferry_row *x,
                        double *out)
{
    /* The engine's products may differ between CPUs in the last bits; rows_dot has one
     * order of additions for all of them. */
    if (!x->index) {
        ferry_i_rows_dot(rows, d, a, x->value, out);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        const double *row = a + i * d;
        double sum = 0;
        for (int64_t e = 0; e < x->n; e++)
            sum += row[x->index[e]] * x->value[e];
        out[i] = sum;
    }
}

double ferry_i_row_norm2(const ferry_row *x)
{
    double sum = 0;

    ferry_i_rows_dot(1, x->n, x->value, x->value, &sum);
    return sum;
}

/* row += a x */
static void add_row(double *row, double a, const ferry_row *x)
{
    if (x->index)
        for (int64_t e = 0; e < x->n; e++)
            row[x->index[e]] += a * x->value[e];
    else
        for (int64_t j = 0; j < x->n; j++)
            row[j] += a * x->value[j];
}

int32_t ferry_i_argmax(int64_t n, const double *f)
{
    int32_t best = n > 0 ? 0 : -1;

    for (int64_t i = 1; i < n; i++)
        if (f[i] > f[best]) best = (int32_t)i;
    return best;
}

/* ---- the learner ---- */

/* Arrays of no rows first, so that ferry_i_pa_classes() is the one place that sizes
 * them, here and when a stream brings a class that is new. */
ferry_status ferry_i_pa_new(ferry_ctx *ctx, ferry_pa_kind kind, double C, int64_t k,
                            int64_t d, bool average, ferry_pa **out)
{
    ferry_status st = FERRY_OK;
    ferry_pa *p = ferry_i_calloc(1, sizeof *p);

    *out = NULL;
    FERRY_HAVE(ctx, p);
    *p = (ferry_pa){.kind = kind, .C = C, .d = d};
    p->w = ferry_i_calloc(0, sizeof *p->w);
    p->u = average ? ferry_i_calloc(0, sizeof *p->u) : NULL;
    FERRY_HAVE(ctx, p->w && (p->u || !average));
    FERRY_TRY(ferry_i_pa_classes(ctx, p, k));
    FERRY_MOVE(*out, p);
done:
    ferry_i_pa_free(p);
    return st;
}

void ferry_i_pa_free(ferry_pa *p)
{
    if (!p) return;
    FERRY_FREE(p->w, p->u, p);
}

/* Rows of zeros up to k; the old ones stay, also when there is no memory.
 * k d is checked before it is multiplied. */
static bool more_rows(double **rows, int64_t have, int64_t k, int64_t d)
{
    double *more =
        d > 0 && k > INT64_MAX / d ? NULL : ferry_i_realloc(*rows, k * d, sizeof *more);

    if (!more) return false;
    memset(more + have * d, 0, (size_t)((k - have) * d) * sizeof *more);
    *rows = more;
    return true;
}

ferry_status ferry_i_pa_classes(ferry_ctx *ctx, ferry_pa *p, int64_t k)
{
    if (k <= p->k) return FERRY_OK;
    /* p->k moves only when both have grown: after a failure W is longer than it says,
     * which the next call puts right, and nothing is lost. */
    if (!(more_rows(&p->w, p->k, k, p->d) && (!p->u || more_rows(&p->u, p->k, k, p->d))))
        return ferry_i_nomem(ctx);
    p->k = k;
    return FERRY_OK;
}

void ferry_i_pa_scores(const ferry_pa *p, const ferry_row *x, double *f)
{
    ferry_i_row_scores(p->k, p->d, p->w, x, f);
}

/* A change made after t samples stands in the weights of the steps - t samples that
 * follow, so the average has it (1 - t / steps) times: W less U / steps. U takes two
 * rows a step where the average itself would take all k. */
void ferry_i_pa_average(const ferry_pa *p, const ferry_row *x, double *f)
{
    if (p->steps == 0) return;
    for (int64_t i = 0; i < p->k; i++) {
        double g = 0;
        ferry_i_row_scores(1, p->d, p->u + i * p->d, x, &g);
        f[i] -= g / (double)p->steps;
    }
}

/* The step for a loss of l > 0 at a margin m.
 * xx is x'x. PA solves min |W' - W|^2 subject to a margin of 1: the factor 2 is there
 * because two rows move by tau x each. C caps the step (PA-I) or damps it (PA-II). */
static double step_size(const ferry_pa *p, double l, double m, double xx)
{
    switch (p->kind) {
    case FERRY_PA1: return fmin(p->C, l / (2 * xx));
    case FERRY_PA2: return l / (2 * xx + 1 / (2 * p->C));
    /* l / 0 is infinite, so the cap decides */
    case FERRY_PA_PRINTED: return m == 0 ? p->C : fmin(p->C, l / (m * m));
    default: return l / (2 * xx);
    }
}

/* The step for one sample, by the scores f before it. It counts in `steps` whether or
 * not it changed anything: the average is over samples, not over mistakes. */
ferry_pa_step ferry_i_pa_learn(ferry_pa *p, const ferry_row *x, double xx, int32_t y,
                               const double *f)
{
    ferry_pa_step s = {.r = -1};

    /* r = argmax over k != y of f_k, the first of equals */
    for (int64_t i = 0; i < p->k; i++)
        if (i != y && (s.r < 0 || f[i] > f[s.r])) s.r = (int32_t)i;
    /* l = max(0, 1 - (f_y - f_r)); with one class alone there is no margin and no loss */
    if (s.r >= 0) s.loss = fmax(0, 1 - f[y] + f[s.r]);
    if (s.loss > 0 && xx > 0) {
        s.tau = step_size(p, s.loss, f[y] - f[s.r], xx);
        if (!isfinite(s.tau)) s.tau = 0; /* as good as a zero x */
        /* W_y += tau x, W_r -= tau x */
        add_row(p->w + y * p->d, s.tau, x);
        add_row(p->w + s.r * p->d, -s.tau, x);
        /* U += (samples before this one) times the change */
        if (p->u) {
            add_row(p->u + y * p->d, s.tau * (double)p->steps, x);
            add_row(p->u + s.r * p->d, -s.tau * (double)p->steps, x);
        }
    }
    p->steps++;
    return s;
}
