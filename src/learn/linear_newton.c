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

#include "learn/linear.h"

enum { STEPS = 1000, HALVINGS = 60 };
/* Inner steps end at this share of the gradient, or at its drop so far if that is less; a step must win this share of
 * what the slope promises; weight of the Hessian's diagonal. As in liblinear. */
static const double INNER = 0.1, ARMIJO = 0.01, DIAGONAL = 0.01;

/* One array for the seven vectors of cols + 1, w the first of them. */
newton newton_new(scope *s, matrix x, const linear_options *o)
{
    const int64_t n = x.n, d = x.cols + 1;
    double *v = NEW(s, double, 7 * d);

    return (newton){.x = x,
                    .loss = o->loss,
                    .tube = o->tube,
                    .bias = o->bias,
                    .y = NEW(s, double, n),
                    .c = NEW(s, double, n),
                    .m = NEW(s, double, n),
                    .slope = NEW(s, double, n),
                    .bend = NEW(s, double, n),
                    .x_step = NEW(s, double, n),
                    .w = v,
                    .gradient = v + d,
                    .step = v + 2 * d,
                    .residual = v + 3 * d,
                    .direction = v + 4 * d,
                    .bent = v + 5 * d,
                    .diagonal = v + 6 * d};
}

/* ---- rows ---- */

/* w'x_i. Four sums where the row is dense, or each addition would wait for the one before. */
static double margin(const newton *p, int64_t i, const double *w)
{
    const ferry_matrix *x = p->x.m;
    double all = p->bias * w[x->cols];

    if (x->dense) {
        const double *v = x->dense + i * x->cols;
        double four[4] = {0, 0, 0, 0};
        int64_t j = 0;
        for (; j + 4 <= x->cols; j += 4)
            for (int64_t k = 0; k < 4; k++)
                four[k] += v[j + k] * w[j + k];
        for (; j < x->cols; j++)
            all += v[j] * w[j];
        return all + ((four[0] + four[1]) + (four[2] + four[3]));
    }
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        all += x->value[e] * w[x->index[e]];
    return all;
}

/* to += a x_i. */
static void add(const newton *p, int64_t i, double a, double *to)
{
    const ferry_matrix *x = p->x.m;

    if (x->dense) {
        const double *v = x->dense + i * x->cols;
        for (int64_t j = 0; j < x->cols; j++)
            to[j] += a * v[j];
    } else {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            to[x->index[e]] += a * x->value[e];
    }
    to[x->cols] += a * p->bias;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double all = 0;

    for (int64_t i = 0; i < n; i++)
        all += a[i] * b[i];
    return all;
}

static void clear(const newton *p, double *v)
{
    memset(v, 0, (size_t)(p->x.cols + 1) * sizeof *v);
}

/* v <- v of all rows, and `plus` (NULL: ones). */
static void add_up(scope *s, const newton *p, const double *plus, double *v)
{
    sums(s, p->x.rows, p->x.cols + 1, v);
    for (int64_t j = 0; j <= p->x.cols; j++)
        v[j] += plus ? plus[j] : 1;
}

/* ---- losses ---- */

/* loss(y, m), and its first and second derivative by m. */
static double loss(const newton *p, double y, double m, double *slope, double *bend)
{
    if (p->loss == LOSS_LOGISTIC) {
        const double ym = y * m, e = exp(-fabs(ym)),
                     at = ym >= 0 ? 1 / (1 + e) : e / (1 + e);
        *slope = y * (at - 1);
        *bend = at * (1 - at);
        return ym >= 0 ? log1p(e) : log1p(e) - ym;
    }
    /* squared: how far m is out, and the sign that takes it further */
    const double sign = p->loss == LOSS_HINGE ? -y : m > y ? 1 : -1;
    const double out = p->loss == LOSS_HINGE ? 1 - y * m : fabs(m - y) - p->tube;
    *slope = out > 0 ? 2 * sign * out : 0;
    *bend = out > 0 ? 2 : 0;
    return out > 0 ? out * out : 0;
}

/* Sum of the losses at margins m + t x_step. */
static double losses_at(scope *s, const newton *p, double t)
{
    double all = 0, slope = 0, bend = 0;

    for (int64_t i = 0; i < p->x.n; i++)
        all += p->c[i] * loss(p, p->y[i], p->m[i] + t * p->x_step[i], &slope, &bend);
    return sum(s, p->x.rows, all);
}

/* At w with margins m: slope and bend (times the costs), and the gradient. */
static void derive(scope *s, newton *p)
{
    clear(p, p->gradient);
    for (int64_t i = 0; i < p->x.n; i++) {
        (void)loss(p, p->y[i], p->m[i], &p->slope[i], &p->bend[i]);
        p->slope[i] *= p->c[i];
        p->bend[i] *= p->c[i];
        if (p->slope[i] != 0) add(p, i, p->slope[i], p->gradient);
    }
    add_up(s, p, p->w, p->gradient);
}

/* ---- inner steps ---- */

/* The preconditioner's diagonal. */
static void precondition(scope *s, newton *p)
{
    const int64_t cols = p->x.cols;

    clear(p, p->diagonal);
    for (int64_t i = 0; i < p->x.n; i++) {
        const double b = DIAGONAL * p->bend[i];
        if (b == 0) continue;
        const ferry_row r = row_at(p->x, i);
        for (int64_t e = 0; e < r.n; e++)
            p->diagonal[r.index ? r.index[e] : e] += b * r.value[e] * r.value[e];
        p->diagonal[cols] += b * p->bias * p->bias;
    }
    add_up(s, p, NULL, p->diagonal);
}

/* bent <- (I + X' diag(bend) X) direction. */
static void hessian(scope *s, newton *p)
{
    clear(p, p->bent);
    for (int64_t i = 0; i < p->x.n; i++)
        if (p->bend[i] != 0) add(p, i, p->bend[i] * margin(p, i, p->direction), p->bent);
    add_up(s, p, p->direction, p->bent);
}

/* step <- - H^-1 gradient, up to `share` of the gradient's length, both measured by the preconditioner. */
static void find_step(scope *s, newton *p, double share)
{
    const int64_t d = p->x.cols + 1;
    double rz = 0;

    precondition(s, p);
    for (int64_t j = 0; j < d; j++) {
        p->step[j] = 0;
        p->residual[j] = -p->gradient[j];
        p->direction[j] = p->residual[j] / p->diagonal[j];
        rz += p->residual[j] * p->direction[j];
    }
    const double enough = share * share * rz;
    /* exact after d + 1 steps or n + 1, but for rounding */
    for (int64_t k = 0; k < 2 * d + 20 && rz > enough && rz > DBL_MIN; k++) {
        double next = 0;
        hessian(s, p);
        const double t = rz / dot(d, p->direction, p->bent);
        for (int64_t j = 0; j < d; j++) {
            p->step[j] += t * p->direction[j];
            p->residual[j] -= t * p->bent[j];
            next += p->residual[j] * p->residual[j] / p->diagonal[j];
        }
        for (int64_t j = 0; j < d; j++)
            p->direction[j] = p->residual[j] / p->diagonal[j] + next / rz * p->direction[j];
        rz = next;
    }
}

/* w <- w + t step, where t of 1, 1/2, 1/4 ... is the first that wins enough; false: none does, since rounding is all
 * that is left. The value at w is *f before and after. */
static bool step_along(scope *s, newton *p, double *f)
{
    const int64_t n = p->x.n, d = p->x.cols + 1;
    const double ww = dot(d, p->w, p->w), ws = dot(d, p->w, p->step),
                 ss = dot(d, p->step, p->step), slope = dot(d, p->gradient, p->step);
    double t = 1;

    for (int64_t i = 0; i < n; i++)
        p->x_step[i] = margin(p, i, p->step);
    for (int k = 0; k < HALVINGS; k++, t /= 2) {
        const double at = 0.5 * (ww + t * (2 * ws + t * ss)) + losses_at(s, p, t);
        if (at > *f + ARMIJO * t * slope || at >= *f) continue;
        for (int64_t j = 0; j < d; j++)
            p->w[j] += t * p->step[j];
        for (int64_t i = 0; i < n; i++)
            p->m[i] += t * p->x_step[i];
        *f = at;
        return true;
    }
    return false;
}

void newton_solve(scope *s, newton *p, double tol)
{
    const int64_t d = p->x.cols + 1;
    double first = -1;

    clear(p, p->w);
    memset(p->m, 0, (size_t)p->x.n * sizeof *p->m);
    memset(p->x_step, 0, (size_t)p->x.n * sizeof *p->x_step);
    double f = losses_at(s, p, 0);
    for (int64_t k = 0; k < STEPS; k++) {
        derive(s, p);
        const double g = sqrt(dot(d, p->gradient, p->gradient));
        if (first < 0) first = g;
        if (!isfinite(g))
            scope_fail(s, FERRY_ENUMERIC,
                       "a linear model's numbers are not finite; scale the features");
        if (g <= tol * first) break;
        find_step(s, p, fmin(INNER, sqrt(g / first)));
        if (!step_along(s, p, &f)) break;
    }
}
