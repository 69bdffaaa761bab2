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
#include "learn/simplex_qp.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* w'Kw - 2v'w, O(p^2). */
static double value_at(small k, const double *v, const double *w)
{
    double sum = 0;

    for (int64_t i = 0; i < k.rows; i++) {
        double kw = 0;
        for (int64_t j = 0; j < k.rows; j++)
            kw += AT(k, i, j) * w[j];
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
static void fill_system(small k, const double *v, unsigned set, double scale, small *a,
                        small *x)
{
    int64_t member[SIMPLEX_MOST], n = 0;

    for (int64_t i = 0; i < k.rows; i++)
        if (set & 1U << i) member[n++] = i;
    a->rows = a->cols = x->rows = n + 1;
    x->cols = 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            AT(*a, i, j) = AT(k, member[i], member[j]);
        AT(*a, i, n) = AT(*a, n, i) = scale;
        x->at[i] = v[member[i]];
    }
    AT(*a, n, n) = 0;
    x->at[n] = scale;
}

/* w <- the solution on `set`; false when it lies outside the simplex.
 * -1e-12 is rounding and becomes 0; then the sum is made exactly 1 again. */
static bool on_support(int64_t p, unsigned set, small x, double *w)
{
    double sum = 0;

    for (int64_t i = 0, at = 0; i < p; i++) {
        w[i] = set & 1U << i ? x.at[at++] : 0;
        if (!(w[i] >= -1e-12)) return false;
        w[i] = fmax(w[i], 0);
        sum += w[i];
    }
    if (!(sum > 0.5)) return false; /* a system too near to singular */
    for (int64_t i = 0; i < p; i++)
        w[i] /= sum;
    return true;
}

static void need_finite(scope *s, small k, const double *v)
{
    if (!all_finite(k.rows * k.rows, k.at) || !all_finite(k.rows, v))
        scope_fail(s, FERRY_ENUMERIC,
                   "a quadratic program with numbers that are not finite");
}

/* x <- A^-1 x; false: singular. */
static bool solved(scope *s, small a, small x)
{
    ferry_small left = small_ref(a), right = small_ref(x);
    const ferry_status st = ferry_e(scope_ctx(s))->solve(scope_ctx(s), &left, &right);

    if (st != FERRY_ENUMERIC) scope_check(s, st);
    return st == FERRY_OK;
}

/* Exact for any symmetric K: the minimum lies inside some face, and all faces are tried.
 * For p = 12 that is 4095 systems. */
double simplex_qp(scope *s, small k, const double *v, double *w)
{
    const int64_t mark = scope_mark(s), p = k.rows;
    double trial[SIMPLEX_MOST], best = INFINITY, scale = 0;

    assert(1 <= p && k.cols == p);
    if (p > SIMPLEX_MOST) return simplex_active(s, k, v, w);
    need_finite(s, k, v);
    small a = small_new(s, p + 1, p + 1), x = small_new(s, p + 1, 1);
    for (int64_t i = 0; i < p * p; i++) /* the row of ones in the size of the others */
        scale = fmax(scale, fabs(k.at[i]));
    if (scale == 0) scale = 1;
    for (unsigned set = 1; set < 1U << p; set++) {
        fill_system(k, v, set, scale, &a, &x);
        if (!solved(s, a, x) || !on_support(p, set, x, trial)) continue;
        const double f = value_at(k, v, trial);
        if (f < best) {
            best = f;
            memcpy(w, trial, (size_t)p * sizeof *w);
        }
    }
    scope_release(s, mark);
    return best; /* the corners, supports of one, always solve, so something was found */
}

/* ---- the active set ---- */

/* The state of the active set. */
typedef struct active {
    small k;
    const double *v;
    int64_t p, n; /* weights; those in the support ... */
    /* n: the support as a list */
    int64_t *member;
    /* p: the support as flags */
    bool *in;
    double *w, *z; /* where we are; the solution on the support (0 elsewhere) */
    /* the multiplier of sum w = 1; size of K and v */
    double mu, scale;
    /* the system, (p + 1) x (p + 1), and its right side */
    small a, x;
} active;

/* z and mu of the support. A hint of ridge keeps a singular system solvable; it moves the
 * solution within rounding of the face's minimisers. */
static void solve_support(scope *at, active *s)
{
    s->n = 0;
    for (int64_t i = 0; i < s->p; i++)
        if (s->in[i]) s->member[s->n++] = i;
    const int64_t n = s->n;
    s->a.rows = s->a.cols = s->x.rows = n + 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            AT(s->a, i, j) =
                AT(s->k, s->member[i], s->member[j]) + (i == j ? 1e-14 * s->scale : 0);
        AT(s->a, i, n) = AT(s->a, n, i) = s->scale;
        s->x.at[i] = s->v[s->member[i]];
    }
    AT(s->a, n, n) = 0;
    s->x.at[n] = s->scale;
    if (!solved(at, s->a, s->x))
        scope_fail(at, FERRY_ENUMERIC, "a quadratic program whose system is singular");
    memset(s->z, 0, (size_t)s->p * sizeof *s->z);
    for (int64_t i = 0; i < n; i++)
        s->z[s->member[i]] = s->x.at[i];
    s->mu = s->x.at[n] * s->scale;
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
            g += AT(s->k, j, i) * s->w[i];
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
        if (AT(s->k, j, j) - 2 * s->v[j] < AT(s->k, best, best) - 2 * s->v[best]) best = j;
    s->w[best] = 1;
    s->in[best] = true;
}

/* Usually about as many turns as the answer has weights, each O(n^3) for the system and
 * O(p^2) for the multipliers. */
double simplex_active(scope *s, small k, const double *v, double *w)
{
    const int64_t mark = scope_mark(s), p = k.rows;
    active z = {.k = k, .v = v, .p = p, .w = w};

    need_finite(s, k, v);
    z.member = NEW(s, int64_t, p);
    z.in = NEW(s, bool, p);
    z.z = NEW(s, double, p);
    z.a = small_new(s, p + 1, p + 1);
    z.x = small_new(s, p + 1, 1);
    for (int64_t i = 0; i < p * p; i++)
        z.scale = fmax(z.scale, fabs(k.at[i]));
    for (int64_t i = 0; i < p; i++)
        z.scale = fmax(z.scale, fabs(v[i]));
    if (z.scale == 0) z.scale = 1;
    memset(w, 0, (size_t)p * sizeof *w);
    best_corner(&z);
    for (int64_t turn = 0; turn < 50 * p; turn++) { /* rounding must not go on for ever */
        solve_support(s, &z);
        if (!go_to(&z)) continue;
        const int64_t next = wants_in(&z);
        if (next < 0) break;
        z.in[next] = true;
    }
    scope_release(s, mark);
    return value_at(k, v, w);
}
