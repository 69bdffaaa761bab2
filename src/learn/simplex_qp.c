/* min w'Kw - 2v'w over the simplex {w >= 0, sum w = 1}, by enumerating supports.
 *
 * On the support S of a minimiser the gradient is constant: K_SS w_S + mu 1 = v_S, 1'w_S =
 * 1. Where that system is singular, the objective does not change along some direction of
 * the face, so a minimiser with a smaller support exists: such supports are skipped. There
 * are 2^p - 1 of them, each a system of at most 13 unknowns. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "learn/learn.h"

static double value_at(const ferry_small *k, const double *v, const double *w)
{
    double sum = 0;

    for (int64_t i = 0; i < k->rows; i++) {
        double kw = 0;
        for (int64_t j = 0; j < k->rows; j++)
            kw += FERRY_AT(k, i, j) * w[j];
        sum += w[i] * (kw - 2 * v[i]);
    }
    return sum;
}

static bool all_finite(int64_t n, const double *x)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* The system of the support `set` (bits) into a and x, which are cut to its size + 1. */
static void fill_system(const ferry_small *k, const double *v, unsigned set, double scale,
                        ferry_small *a, ferry_small *x)
{
    int64_t member[FERRY_SIMPLEX_MOST], n = 0;

    for (int64_t i = 0; i < k->rows; i++)
        if (set & 1U << i) member[n++] = i;
    a->rows = a->cols = x->rows = n + 1;
    x->cols = 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            FERRY_AT(a, i, j) = FERRY_AT(k, member[i], member[j]);
        FERRY_AT(a, i, n) = FERRY_AT(a, n, i) = scale;
        x->data[i] = v[member[i]];
    }
    FERRY_AT(a, n, n) = 0;
    x->data[n] = scale;
}

/* w <- the solution on `set`; false when it lies outside the simplex. */
static bool spread(int64_t p, unsigned set, const ferry_small *x, double *w)
{
    double sum = 0;

    for (int64_t i = 0, at = 0; i < p; i++) {
        w[i] = set & 1U << i ? x->data[at++] : 0;
        if (!(w[i] >= -1e-12)) return false;
        w[i] = fmax(w[i], 0);
        sum += w[i];
    }
    if (!(sum > 0.5)) return false; /* a system too near to singular */
    for (int64_t i = 0; i < p; i++)
        w[i] /= sum;
    return true;
}

ferry_status ferry_i_simplex_qp(ferry_ctx *ctx, const ferry_small *k, const double *v,
                                double *w, double *objective)
{
    ferry_status st = FERRY_OK;
    const int64_t p = k->rows;
    double trial[FERRY_SIMPLEX_MOST], best = INFINITY, scale = 0;
    ferry_small *a = NULL, *x = NULL;

    assert(1 <= p && p <= FERRY_SIMPLEX_MOST && k->cols == p);
    FERRY_NEED(ctx, all_finite(p * p, k->data) && all_finite(p, v), FERRY_ENUMERIC,
               "a quadratic program with numbers that are not finite");
    FERRY_TRY(ferry_i_small_new(ctx, p + 1, p + 1, &a));
    FERRY_TRY(ferry_i_small_new(ctx, p + 1, 1, &x));
    for (int64_t i = 0; i < p * p; i++) /* the row of ones in the size of the others */
        scale = fmax(scale, fabs(k->data[i]));
    if (scale == 0) scale = 1;
    for (unsigned set = 1; set < 1U << p; set++) {
        fill_system(k, v, set, scale, a, x);
        st = ferry_e(ctx)->solve(ctx, a, x);
        if (st == FERRY_ENUMERIC) { /* singular */
            st = FERRY_OK;
            continue;
        }
        FERRY_TRY(st);
        if (!spread(p, set, x, trial)) continue;
        const double f = value_at(k, v, trial);
        if (f < best) {
            best = f;
            memcpy(w, trial, (size_t)p * sizeof *w);
        }
    }
    /* The corners, supports of one, always solve, so something was found. */
    if (objective) *objective = best;
done:
    ferry_i_small_free(a);
    ferry_i_small_free(x);
    return st;
}
