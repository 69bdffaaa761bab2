/* min w'Kw - 2v'w over the simplex {w >= 0, sum w = 1}, by enumerating supports, or by an
 * active set where those would be too many.
 *
 * On the support S of a minimiser the gradient is constant: K_SS w_S + mu 1 = v_S, 1'w_S =
 * 1. Where that system is singular, the objective does not change along some direction of
 * the face, so a minimiser with a smaller support exists: such supports are skipped. There
 * are 2^p - 1 of them, each a system of at most 13 unknowns.
 *
 * The active set (K positive semidefinite): from the best corner, move to the solution on
 * the support; where it leaves the simplex, stop at the boundary and let go of what became
 * 0; where it does not, take in the weight with the most negative multiplier. The objective
 * falls with every support, so none comes twice, and the end has no negative multiplier:
 * the minimum. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "learn/learn.h"

/* w'Kw - 2v'w, O(p^2). */
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

/* The system of the support `set` (bits) into a and x, which are cut to its size + 1.
 * [K_SS, s 1; s 1', 0] [w; mu / s] = [v_S; s]: the constraint is multiplied by the size
 * of K, so that the system is not badly scaled. */
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

/* w <- the solution on `set`; false when it lies outside the simplex.
 * -1e-12 is rounding and becomes 0; then the sum is made exactly 1 again. */
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

/* Exact for any symmetric K: the minimum lies inside some face, and all faces are tried.
 * For p = 12 that is 4095 systems. */
ferry_status ferry_i_simplex_qp(ferry_ctx *ctx, const ferry_small *k, const double *v,
                                double *w, double *objective)
{
    ferry_status st = FERRY_OK;
    const int64_t p = k->rows;
    double trial[FERRY_SIMPLEX_MOST], best = INFINITY, scale = 0;
    ferry_small *a = NULL, *x = NULL;

    assert(1 <= p && k->cols == p);
    if (p > FERRY_SIMPLEX_MOST) return ferry_i_simplex_active(ctx, k, v, w, objective);
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
    FERRY_FREE(a, x);
    return st;
}

/* ---- the active set ---- */

/* The state of the active set. */
typedef struct active {
    const ferry_small *k;
    const double *v;
    int64_t p, n; /* weights; those in the support ... */
    /* n: the support as a list */
    int64_t *member;
    /* p: the support as flags */
    bool *in;
    double *w, *z; /* where we are; the solution on the support (0 elsewhere) */
    /* the multiplier of sum w = 1; size of K and v */
    double mu, scale;
    /* room for the system, (p + 1) x (p + 1) and its right side */
    ferry_small *a, *x;
} active;

/* z and mu of the support. A hint of ridge keeps a singular system solvable; it moves the
 * solution within rounding of the face's minimisers. */
static ferry_status solve_support(ferry_ctx *ctx, active *s)
{
    s->n = 0;
    for (int64_t i = 0; i < s->p; i++)
        if (s->in[i]) s->member[s->n++] = i;
    const int64_t n = s->n;
    s->a->rows = s->a->cols = s->x->rows = n + 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            FERRY_AT(s->a, i, j) = FERRY_AT(s->k, s->member[i], s->member[j]) +
                                   (i == j ? 1e-14 * s->scale : 0);
        FERRY_AT(s->a, i, n) = FERRY_AT(s->a, n, i) = s->scale;
        s->x->data[i] = s->v[s->member[i]];
    }
    FERRY_AT(s->a, n, n) = 0;
    s->x->data[n] = s->scale;
    FERRY_PASS(ferry_e(ctx)->solve(ctx, s->a, s->x));
    memset(s->z, 0, (size_t)s->p * sizeof *s->z);
    for (int64_t i = 0; i < n; i++)
        s->z[s->member[i]] = s->x->data[i];
    s->mu = s->x->data[n] * s->scale;
    return FERRY_OK;
}

/* w <- as far towards z as the simplex goes; whether z itself was reached.
 * The segment from w to z leaves the simplex where the first weight reaches 0: at t =
 * w_j / (w_j - z_j). That weight leaves the support exactly, whatever rounding says of
 * the others. */
static bool go_to(active *s)
{
    double most = 1;
    int64_t first = -1;

    for (int64_t i = 0; i < s->n; i++) {
        const int64_t j = s->member[i];
        if (s->z[j] > 0) continue;
        const double t = s->w[j] / (s->w[j] - s->z[j]); /* 0 / 0 only when w is 0 too */
        if (first < 0 || !(t >= most)) {
            most = t > 0 ? t : 0;
            first = j;
        }
    }
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t j = s->member[i];
        s->w[j] = first < 0 ? s->z[j] : fmax(s->w[j] + most * (s->z[j] - s->w[j]), 0);
        if (j == first || !(s->w[j] > 0)) {
            s->w[j] = 0;
            s->in[j] = false;
        }
    }
    return first < 0;
}

/* The weight outside the support whose multiplier (K w - v + mu)_j is most negative, or
 * -1.
 * On the support the multiplier is 0; outside, a negative one means that the objective
 * falls when the weight grows. The bound keeps rounding from starting a new turn. */
static int64_t wants_in(const active *s)
{
    double least = -1e-12 * s->scale;
    int64_t best = -1;

    for (int64_t j = 0; j < s->p; j++) {
        double g = s->mu - s->v[j];
        for (int64_t i = 0; i < s->p; i++)
            g += FERRY_AT(s->k, j, i) * s->w[i];
        if (s->in[j] || !(g < least)) continue;
        least = g;
        best = j;
    }
    return best;
}

/* The corner j has the value K_jj - 2 v_j. */
static void best_corner(active *s)
{
    int64_t best = 0;

    for (int64_t j = 1; j < s->p; j++)
        if (FERRY_AT(s->k, j, j) - 2 * s->v[j] <
            FERRY_AT(s->k, best, best) - 2 * s->v[best])
            best = j;
    s->w[best] = 1;
    s->in[best] = true;
}

/* Usually about as many turns as the answer has weights, each O(n^3) for the system and
 * O(p^2) for the multipliers. */
ferry_status ferry_i_simplex_active(ferry_ctx *ctx, const ferry_small *k, const double *v,
                                    double *w, double *objective)
{
    ferry_status st = FERRY_OK;
    const int64_t p = k->rows;
    active s = {.k = k, .v = v, .p = p, .w = w};

    FERRY_NEED(ctx, all_finite(p * p, k->data) && all_finite(p, v), FERRY_ENUMERIC,
               "a quadratic program with numbers that are not finite");
    FERRY_NEW(ctx, s.member, p);
    FERRY_NEW(ctx, s.in, p);
    FERRY_NEW(ctx, s.z, p);
    FERRY_TRY(ferry_i_small_new(ctx, p + 1, p + 1, &s.a));
    FERRY_TRY(ferry_i_small_new(ctx, p + 1, 1, &s.x));
    for (int64_t i = 0; i < p * p; i++)
        s.scale = fmax(s.scale, fabs(k->data[i]));
    for (int64_t i = 0; i < p; i++)
        s.scale = fmax(s.scale, fabs(v[i]));
    if (s.scale == 0) s.scale = 1;
    memset(w, 0, (size_t)p * sizeof *w);
    best_corner(&s);
    for (int64_t turn = 0; turn < 50 * p; turn++) { /* rounding must not go on for ever */
        FERRY_TRY(solve_support(ctx, &s));
        if (!go_to(&s)) continue;
        const int64_t next = wants_in(&s);
        if (next < 0) break;
        s.in[next] = true;
    }
    if (objective) *objective = value_at(k, v, w);
done:
    FERRY_FREE(s.member, s.in, s.z, s.a, s.x);
    return st;
}
