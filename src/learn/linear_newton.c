/* One linear problem by Newton's method with conjugate gradients and a line search.
 *
 *   min_w  1/2 |w|^2 + sum_i c_i loss(y_i, m_i),   m_i = w'x_i (+ the weight of a constant 1)
 *
 * All three losses have a gradient, and a second derivative almost everywhere: with the inner steps
 * solved loosely at first and tightly near the end, a handful of outer steps reach any tolerance.
 * Products with the Hessian I + X' diag(c loss'') X pass over the rows whose loss'' is not 0 only: a
 * squared hinge leaves out the rows on the right side of their margin. After Lin, Weng and
 * Keerthi, Trust region Newton method for large-scale logistic regression (JMLR 2008), the
 * preconditioner from Hsia, Chiang and Lin, Preconditioned conjugate gradient methods in truncated
 * Newton frameworks (ACML 2018): a weighted mean of the identity and the Hessian's diagonal.
 *
 * Nothing is drawn and nothing is shared, so that the same data gives the same bits on any thread. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/linear_newton.h"
#include "learn/rows.h"

enum { STEPS = 1000, HALVINGS = 60 };
/* Inner steps end at this share of the gradient, or at its drop so far if that is less; a step must
 * win this share of what the slope promises; weight of the Hessian's diagonal. As in liblinear. */
static const double INNER = 0.1, ARMIJO = 0.01, DIAGONAL = 0.01;

void ferry_i_newton_free(ferry_newton *p)
{
    FERRY_FREE(p->y, p->c, p->m, p->slope, p->bend, p->xs, p->w);
}

/* One block for the six vectors of d + 1, w the first of them. */
ferry_status ferry_i_newton_new(ferry_ctx *ctx, const ferry_matrix *x, bool bias,
                                ferry_newton *p)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows, d = x->cols + 1;

    *p = (ferry_newton){.ctx = ctx, .x = x, .bias = bias};
    FERRY_NEW(ctx, p->y, n);
    FERRY_NEW(ctx, p->c, n);
    FERRY_NEW(ctx, p->m, n);
    FERRY_NEW(ctx, p->slope, n);
    FERRY_NEW(ctx, p->bend, n);
    FERRY_NEW(ctx, p->xs, n);
    FERRY_NEW(ctx, p->w, 7 * d);
    p->g = p->w + d;
    p->s = p->g + d;
    p->r = p->s + d;
    p->q = p->r + d;
    p->h = p->q + d;
    p->diag = p->h + d;
done:
    return st;
}

/* ---- rows ---- */

/* w'x_i. Four sums where the row is dense, or each addition would wait for the one before. */
static double row_dot(const ferry_newton *p, int64_t i, const double *w)
{
    const ferry_matrix *x = p->x;
    double sum = p->bias ? w[x->cols] : 0;

    if (x->dense) {
        const double *v = x->dense + i * x->cols;
        double four[4] = {0, 0, 0, 0};
        int64_t j = 0;
        for (; j + 4 <= x->cols; j += 4)
            for (int64_t k = 0; k < 4; k++)
                four[k] += v[j + k] * w[j + k];
        for (; j < x->cols; j++)
            sum += v[j] * w[j];
        return sum + ((four[0] + four[1]) + (four[2] + four[3]));
    }
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        sum += x->value[e] * w[x->index[e]];
    return sum;
}

/* to += a x_i. */
static void row_add(const ferry_newton *p, int64_t i, double a, double *to)
{
    const ferry_matrix *x = p->x;

    if (x->dense) {
        const double *v = x->dense + i * x->cols;
        for (int64_t j = 0; j < x->cols; j++)
            to[j] += a * v[j];
    } else {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            to[x->index[e]] += a * x->value[e];
    }
    if (p->bias) to[x->cols] += a;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* v <- from (d + 1; NULL: ones), to which rows are to be added: it counts once, not on every rank. */
static void start(const ferry_newton *p, const double *from, double *v)
{
    const bool other = p->x->whole && p->ctx->ranks->rank > 0;

    for (int64_t j = 0; j <= p->x->cols; j++)
        v[j] = other ? 0 : from ? from[j] : 1;
}

/* v (d + 1) <- the sum over all ranks' rows. A failure shows in the next progress, or at the end. */
static void meet(const ferry_newton *p, double *v)
{
    (void)ferry_i_sum_rows(p->ctx, p->x, p->x->cols + 1, v);
}

/* ---- losses ---- */

/* loss(y, m), and its first and second derivative by m where asked for. */
static double loss(const ferry_newton *p, double y, double m, double *slope, double *bend)
{
    if (p->kind == FERRY_LINEAR_LOGREG) {
        const double ym = y * m, e = exp(-fabs(ym)),
                     s = ym >= 0 ? 1 / (1 + e) : e / (1 + e);
        *slope = y * (s - 1);
        *bend = s * (1 - s);
        return ym >= 0 ? log1p(e) : log1p(e) - ym;
    }
    /* squared: how far m is out, and the sign that takes it further */
    const double sign = p->kind == FERRY_LINEAR_SVM ? -y : m > y ? 1 : -1;
    const double out = p->kind == FERRY_LINEAR_SVM ? 1 - y * m : fabs(m - y) - p->tube;
    *slope = out > 0 ? 2 * sign * out : 0;
    *bend = out > 0 ? 2 : 0;
    return out > 0 ? out * out : 0;
}

/* Sum of the losses at margins m + step * xs. */
static double losses_at(ferry_newton *p, double step)
{
    double sum = 0, slope = 0, bend = 0;

    for (int64_t i = 0; i < p->x->rows; i++)
        sum += p->c[i] * loss(p, p->y[i], p->m[i] + step * p->xs[i], &slope, &bend);
    (void)ferry_i_sum_rows(p->ctx, p->x, 1, &sum);
    return sum;
}

/* At w with margins m: slope and bend (times the costs), and the gradient. */
static void derive(ferry_newton *p)
{
    start(p, p->w, p->g);
    for (int64_t i = 0; i < p->x->rows; i++) {
        (void)loss(p, p->y[i], p->m[i], &p->slope[i], &p->bend[i]);
        p->slope[i] *= p->c[i];
        p->bend[i] *= p->c[i];
        if (p->slope[i] != 0) row_add(p, i, p->slope[i], p->g);
    }
    meet(p, p->g);
}

/* ---- inner steps ---- */

/* The preconditioner's diagonal. */
static void precondition(ferry_newton *p)
{
    const ferry_matrix *x = p->x;
    const double *v = row_values(x);

    start(p, NULL, p->diag);
    for (int64_t i = 0; i < x->rows; i++) {
        const double b = DIAGONAL * p->bend[i];
        if (b == 0) continue;
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
            p->diag[row_column(x, i, e)] += b * v[e] * v[e];
        if (p->bias) p->diag[x->cols] += b;
    }
    meet(p, p->diag);
}

/* h <- (I + X' diag(bend) X) q. */
static void hessian(ferry_newton *p)
{
    start(p, p->q, p->h);
    for (int64_t i = 0; i < p->x->rows; i++)
        if (p->bend[i] != 0) row_add(p, i, p->bend[i] * row_dot(p, i, p->q), p->h);
    meet(p, p->h);
}

/* s <- - H^-1 g, up to `share` of the gradient's length, both measured by the preconditioner. */
static void inner(ferry_newton *p, double share)
{
    const int64_t d = p->x->cols + 1;
    double rz = 0;

    precondition(p);
    for (int64_t j = 0; j < d; j++) {
        p->s[j] = 0;
        p->r[j] = -p->g[j];
        p->q[j] = p->r[j] / p->diag[j];
        rz += p->r[j] * p->q[j];
    }
    const double enough = share * share * rz;
    /* exact after d + 1 steps or n + 1, but for rounding */
    for (int64_t k = 0; k < 2 * d + 20 && rz > enough && rz > DBL_MIN; k++) {
        double next = 0;
        hessian(p);
        const double step = rz / dot(d, p->q, p->h);
        for (int64_t j = 0; j < d; j++) {
            p->s[j] += step * p->q[j];
            p->r[j] -= step * p->h[j];
            next += p->r[j] * p->r[j] / p->diag[j];
        }
        for (int64_t j = 0; j < d; j++)
            p->q[j] = p->r[j] / p->diag[j] + next / rz * p->q[j];
        rz = next;
    }
}

/* w <- w + t s, where t of 1, 1/2, 1/4 ... is the first that wins enough; false: none does, since
 * rounding is all that is left. The value at w is *f before and after. */
static bool step_along(ferry_newton *p, double *f)
{
    const int64_t n = p->x->rows, d = p->x->cols + 1;
    const double ww = dot(d, p->w, p->w), ws = dot(d, p->w, p->s), ss = dot(d, p->s, p->s);
    const double slope = dot(d, p->g, p->s);
    double t = 1;

    for (int64_t i = 0; i < n; i++)
        p->xs[i] = row_dot(p, i, p->s);
    for (int k = 0; k < HALVINGS; k++, t /= 2) {
        const double at = 0.5 * (ww + t * (2 * ws + t * ss)) + losses_at(p, t);
        if (at > *f + ARMIJO * t * slope || at >= *f) continue;
        for (int64_t j = 0; j < d; j++)
            p->w[j] += t * p->s[j];
        for (int64_t i = 0; i < n; i++)
            p->m[i] += t * p->xs[i];
        *f = at;
        return true;
    }
    return false;
}

ferry_status ferry_i_newton_solve(ferry_ctx *ctx, ferry_newton *p, double tol)
{
    ferry_status st = FERRY_OK;
    const int64_t d = p->x->cols + 1;
    double f = 0, first = -1;

    memset(p->w, 0, (size_t)d * sizeof *p->w);
    memset(p->m, 0, (size_t)p->x->rows * sizeof *p->m);
    memset(p->xs, 0, (size_t)p->x->rows * sizeof *p->xs);
    f = losses_at(p, 0);
    p->steps = 0;
    for (; p->steps < STEPS; p->steps++) {
        derive(p);
        const double g = sqrt(dot(d, p->g, p->g));
        if (first < 0) first = g;
        FERRY_NEED(ctx, isfinite(g), FERRY_ENUMERIC,
                   "a linear model's numbers are not finite; scale the features");
        if (g <= tol * first) break;
        inner(p, fmin(INNER, sqrt(g / first)));
        if (!step_along(p, &f)) break;
    }
done:
    return st;
}
