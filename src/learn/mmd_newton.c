/* The minimum of mmd.h by Newton's method on one row.
 *
 * With Y = A^1/2 Z the problem min |G - Z|^2 + 2 sqrt(g2) |A^1/2 Z|_* has the condition
 *   Y = T(M),   M = Y + g1 A^-1 (A^1/2 G - Y)
 * where T takes tau = g1 sqrt(g2) off every singular value. A = g1 I but along dhat =
 * delta / |delta|, where it is a = g1 + mu |delta|^2. So M is sqrt(g1) G but for one row,
 *   M = sqrt(g1) (I - dhat dhat') G + dhat x',
 * and only x (m numbers) is unknown. With c = g1 / a, b = c sqrt(a) G'dhat and
 * M = L diag(s) R', the row of T(M) along dhat is y = R diag(f) R'x, f = (1 - tau / s)_+,
 * and the condition is x - (1 - c) y(x) - b = 0. It is the gradient of
 *   Psi(x) = |x|^2 / 2 - (1 - c) sum (s - tau)_+^2 / 2 - b'x,
 * which is strongly convex. In the coordinates R the derivative of y is
 *   diag(f + F q) + diag(x) F diag(x),   q = x^2,   F_ij = (f_i - f_j) / (s_i^2 - s_j^2),
 * and a step is one m x m system. A handful of steps does where balanced sweeps, whose rate
 * is 1 - c times a rate near 1, may take thousands.
 *
 * U and V come from Y as the balance says; the U step then sets right the directions whose
 * s is barely above tau, where rounding in x is divided by a small number.
 *
 * Cost a step: one SVD of r x m, one m x m solve; with r <= m + 1 that is O(m^3), whatever
 * d and n are. */
#include <math.h>
#include <string.h>

#include "learn/mmd.h"

/* HALVINGS: of a step; STALLED: rounds in which neither measure halves. */
enum { HALVINGS = 60, STALLED = 5 };

/* All in coordinates of the reduced problem: r rows, r <= m + 1. */
typedef struct newton {
    const mmd_problem *p;
    int64_t m;
    double a, c, tau;
    block fixed;   /* r x m: sqrt(g1) (I - dhat dhat') G */
    double *dhat;  /* r */
    double *b;     /* m */
    double *x;     /* m: where we are */
    double *start; /* m: where the step began */
    double *step;  /* m */
    double *rest;  /* m: the gradient outside the coordinates R */
    mmd_parts q;
    double *xr, *f, *grad; /* q: R'x, f, the gradient in the coordinates R */
    double psi, size;      /* Psi, |gradient| */
    small jacobian, rhs;
} newton;

/* fixed, dhat, b, and x = b, which is the solution for mu = 0 and for mu = inf. (Between
 * the two it is only a start.) x must be zero on entry: it collects G'dhat first. */
static void begin(newton *z, double delta2)
{
    const mmd_problem *p = z->p;
    const int64_t r = p->g.n, m = z->m;
    const double scale = sqrt(p->g1);

    z->a = p->g1 + p->mu * delta2;
    z->c = p->g1 / z->a;
    z->tau = p->g1 * sqrt(p->g2);
    for (int64_t i = 0; i < r; i++)
        z->dhat[i] = p->delta.at[i] / sqrt(delta2);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < m; j++)
            z->x[j] += z->dhat[i] * ROW(p->g, i)[j];
    for (int64_t i = 0; i < r; i++) {
        const double *g = ROW(p->g, i);
        double *fixed = ROW(z->fixed, i);
        for (int64_t j = 0; j < m; j++)
            fixed[j] = scale * (g[j] - z->dhat[i] * z->x[j]);
    }
    for (int64_t j = 0; j < m; j++) {
        z->b[j] = z->c * sqrt(z->a) * z->x[j];
        z->x[j] = z->b[j];
    }
}

static newton newton_new(scope *s, const mmd_problem *p, double delta2)
{
    const int64_t r = p->g.n, m = p->g.k;
    newton z = {.p = p,
                .m = m,
                .q = mmd_parts_new(s, r, m),
                .fixed = block_new(s, HERE(r), r, m),
                .dhat = NEW(s, double, r)};
    double **of_m[] = {&z.b, &z.x, &z.start, &z.step, &z.rest},
           **of_q[] = {&z.xr, &z.f, &z.grad};

    for (int64_t i = 0; i < FERRY_COUNT(of_m); i++)
        *of_m[i] = NEW(s, double, m);
    for (int64_t i = 0; i < FERRY_COUNT(of_q); i++)
        *of_q[i] = NEW(s, double, z.q.q);
    z.jacobian = small_new(s, z.q.q, z.q.q);
    z.rhs = small_new(s, z.q.q, 1);
    begin(&z, delta2);
    return z;
}

/* M = L diag(s) R' at x, and Psi with its gradient. Where there are fewer features than
 * labels R does not span everything; x lies within, b may stick out. Everything that a step
 * and the line search ask for is computed here, so a look is the unit of cost. */
static void look(scope *s, newton *z)
{
    const int64_t r = z->p->g.n, m = z->m, n = z->q.q;
    double size = 0;

    for (int64_t i = 0; i < r; i++) { /* M = sqrt(g1) (I - dhat dhat') G + dhat x' */
        const double *fixed = ROW(z->fixed, i);
        double *row = ROW(z->q.z, i);
        for (int64_t j = 0; j < m; j++)
            row[j] = fixed[j] + z->dhat[i] * z->x[j];
    }
    mmd_split(s, &z->q);
    z->psi = 0;
    for (int64_t j = 0; j < m; j++) {
        z->rest[j] = z->x[j] - z->b[j];
        z->psi += (z->x[j] / 2 - z->b[j]) * z->x[j];
    }
    for (int64_t l = 0; l < n; l++) {
        const double sigma = z->q.sigma[l], over = fmax(sigma - z->tau, 0);
        double br = 0;
        z->xr[l] = 0;
        for (int64_t j = 0; j < m; j++) {
            z->xr[l] += AT(z->q.right, j, l) * z->x[j];
            br += AT(z->q.right, j, l) * z->b[j];
        }
        for (int64_t j = 0; j < m; j++)
            z->rest[j] -= (z->xr[l] - br) * AT(z->q.right, j, l);
        z->f[l] = over > 0 ? over / sigma : 0;
        /* 1 - (1 - c) f without cancellation: f is nearly 1 where s is large */
        z->grad[l] = ((over > 0 ? z->tau / sigma : 1) + z->c * z->f[l]) * z->xr[l] - br;
        z->psi -= (1 - z->c) * over * over / 2;
        size += z->grad[l] * z->grad[l];
    }
    for (int64_t j = 0; j < m; j++)
        size += z->rest[j] * z->rest[j];
    z->size = sqrt(size);
}

/* (f_i - f_j) / (s_i^2 - s_j^2), without cancellation where both are above tau. Above tau f
 * = 1 - tau/s, so the quotient is tau / (s_i s_j (s_i + s_j)) exactly. Both below: f = 0
 * and so is the slope. One above and one below: the plain quotient, whose gap is real. */
static double slope(const newton *z, int64_t i, int64_t j)
{
    const double si = z->q.sigma[i], sj = z->q.sigma[j], gap = (si - sj) * (si + sj);

    if (si > z->tau && sj > z->tau) return z->tau / (si * sj * (si + sj));
    return gap != 0 ? (z->f[i] - z->f[j]) / gap : 0;
}

/* step <- -(gradient) / (derivative of the gradient), in the coordinates R
 *   J = I - (1 - c) (diag(f + F q) + diag(x) F diag(x)),
 * and outside them, where the derivative is I, -(gradient). J is positive definite, as Psi
 * is strongly convex; q numbers in and out. */
static void newton_step(scope *s, newton *z)
{
    const int64_t n = z->q.q;
    const small jac = z->jacobian;
    ferry_small left = small_ref(jac), right = small_ref(z->rhs);
    const double k = 1 - z->c;

    memset(jac.at, 0, (size_t)(n * n) * sizeof(double));
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) {
            const double F = slope(z, i, j);
            AT(jac, i, j) -= k * z->xr[i] * F * z->xr[j];
            AT(jac, i, i) -= k * F * z->xr[j] * z->xr[j];
        }
        AT(jac, j, j) += 1 - k * z->f[j];
        z->rhs.at[j] = -z->grad[j];
    }
    scope_check(s, ferry_e(scope_ctx(s))->solve(scope_ctx(s), &left, &right));
    for (int64_t j = 0; j < z->m; j++)
        z->step[j] = -z->rest[j];
    for (int64_t l = 0; l < n; l++)
        for (int64_t j = 0; j < z->m; j++)
            z->step[j] += AT(z->q.right, j, l) * z->rhs.at[l];
}

/* Go along the step, half as far each time until Psi or its gradient is smaller (near the
 * minimum Psi no longer tells). fall is the slope along the step in the coordinates R;
 * sufficient decrease with factor 1e-4. After HALVINGS the last point is kept: the caller
 * sees that nothing halves any more and stops. */
static void move(scope *s, newton *z)
{
    const double psi = z->psi, size = z->size;
    double t = 1, fall = 0;

    for (int64_t l = 0; l < z->q.q; l++)
        fall += z->grad[l] * z->rhs.at[l];
    memcpy(z->start, z->x, (size_t)z->m * sizeof *z->x);
    for (int half = 0; half <= HALVINGS; half++, t /= 2) {
        for (int64_t j = 0; j < z->m; j++)
            z->x[j] = z->start[j] + t * z->step[j];
        look(s, z);
        if (z->size <= (1 - 1e-4 * t) * size || z->psi <= psi + 1e-4 * t * fall) break;
    }
}

/* Iterate: where we are as U and V, how far that is from a minimum, a step.
 *
 * u, v are always those of the last point, so an early end leaves a usable solution. `best`
 * and `least` watch both the gradient of (7) and that of Psi: either may be the one that
 * still falls. */
mmd_found mmd_newton(scope *s, const mmd_problem *p, const mmd_work *w,
                     const mmd_solver *how, block u, block v)
{
    const double scale = sqrt(square_sum(s, p->g));
    double best = INFINITY, least = INFINITY;
    int worse = 0;
    newton z = newton_new(s, p, w->delta2);
    mmd_found found = {0};

    look(s, &z);
    for (;;) {
        /* Y = T(M) as U and V by the balance; the U step needs V alone. */
        mmd_factors(&z.q, z.tau, pow(p->g2, 0.25), pow(p->g2, -0.25), u, v);
        mmd_u_step(s, p, w, v, u);
        found.kkt = mmd_gradient(s, p, w, u, v) / scale;
        found.objective = mmd_objective(s, p, w, u, v);
        found.converged = found.kkt <= how->tol;
        found.sweeps++;
        found.finish = progress(s, how->what, found.sweeps, how->max_iter, found.objective);
        worse = found.kkt < best / 2 || z.size < least / 2 ? 0 : worse + 1;
        best = fmin(best, found.kkt);
        least = fmin(least, z.size);
        if (found.converged || found.finish || found.sweeps >= how->max_iter) break;
        if (worse == STALLED) break; /* as near as rounding lets us */
        newton_step(s, &z);
        move(s, &z);
    }
    return found;
}
