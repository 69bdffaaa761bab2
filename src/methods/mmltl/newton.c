/* M-MLTL: the minimum by Newton's method on one row.
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
 * s is barely above tau, where rounding in x is divided by a small root.
 *
 * Cost a step: one SVD of r x m, one m x m solve; with r <= m + 1 that is O(m^3), whatever
 * d and n are. */
#include <math.h>
#include <string.h>

#include "methods/mmltl/mmltl.h"

/* HALVINGS: of a step; STALLED: rounds in which neither measure halves. */
enum { HALVINGS = 60, STALLED = 5 };

/* All in coordinates of the reduced problem: r rows, r <= m + 1. */
typedef struct newton {
    const ferry_mmltl *p;
    int64_t m;
    double a, c, tau;
    ferry_block *fixed; /* r x m: sqrt(g1) (I - dhat dhat') G */
    double *dhat;       /* r; all vectors are one piece of memory that begins here */
    double *b;          /* m */
    double *x;          /* m: where we are */
    double *start;      /* m: where the step began */
    double *step;       /* m */
    double *rest;       /* m: the gradient outside the coordinates R */
    ferry_mmltl_parts q;
    double *xr, *f, *grad; /* q: R'x, f, the gradient in the coordinates R */
    double psi, size;      /* Psi, |gradient| */
    ferry_small *jacobian, *rhs;
} newton;

static void free_newton(newton *z)
{
    FERRY_FREE(z->fixed, z->dhat);
    ferry_i_mmltl_parts_clear(&z->q);
    FERRY_FREE(z->jacobian, z->rhs);
}

/* fixed, dhat, b, and x = b, which is the solution for mu = 0 and for mu = inf. (Between
 * the two it is only a start.) x must be zero on entry: it collects G'dhat first. */
static void begin(newton *z, double delta2)
{
    const ferry_mmltl *p = z->p;
    const int64_t r = p->g->rows, m = z->m;
    const double root = sqrt(p->g1);

    z->a = p->g1 + p->mu * delta2;
    z->c = p->g1 / z->a;
    z->tau = p->g1 * sqrt(p->g2);
    for (int64_t i = 0; i < r; i++)
        z->dhat[i] = p->delta->data[i] / sqrt(delta2);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < m; j++)
            z->x[j] += z->dhat[i] * FERRY_ROW(p->g, i)[j];
    for (int64_t i = 0; i < r; i++) {
        const double *g = FERRY_ROW(p->g, i);
        double *fixed = FERRY_ROW(z->fixed, i);
        for (int64_t j = 0; j < m; j++)
            fixed[j] = root * (g[j] - z->dhat[i] * z->x[j]);
    }
    for (int64_t j = 0; j < m; j++) {
        z->b[j] = z->c * sqrt(z->a) * z->x[j];
        z->x[j] = z->b[j];
    }
}

/* One allocation for all vectors, dealt out by `part`: five of m numbers, then three of
 * q. */
static ferry_status new_newton(ferry_ctx *ctx, const ferry_mmltl *p, double delta2,
                               newton *z)
{
    ferry_status st = FERRY_OK;
    const int64_t r = p->g->rows, m = p->g->k;

    *z = (newton){.p = p, .m = m};
    FERRY_TRY(ferry_i_mmltl_parts_new(ctx, r, m, &z->q));
    FERRY_TRY(ferry_i_block_new(ctx, r, m, &z->fixed));
    FERRY_TRY(ferry_i_small_new(ctx, z->q.q, z->q.q, &z->jacobian));
    FERRY_TRY(ferry_i_small_new(ctx, z->q.q, 1, &z->rhs));
    FERRY_NEW(ctx, z->dhat, r + 5 * m + 3 * z->q.q);
    double **part[] = {&z->b,    &z->x,  &z->start, &z->step,
                       &z->rest, &z->xr, &z->f,     &z->grad};
    for (int64_t i = 0; i < FERRY_COUNT(part); i++)
        *part[i] = z->dhat + r + (i < 5 ? i * m : 5 * m + (i - 5) * z->q.q);
    begin(z, delta2);
done:
    return st;
}

/* M = L diag(s) R' at x, and Psi with its gradient. Where there are fewer features than
 * labels R does not span everything; x lies within, b may stick out. Everything that a step
 * and the line search ask for is computed here, so a look is the unit of cost. */
static ferry_status look(ferry_ctx *ctx, newton *z)
{
    const int64_t r = z->p->g->rows, m = z->m, n = z->q.q;
    double size = 0;

    for (int64_t i = 0; i < r; i++) { /* M = sqrt(g1) (I - dhat dhat') G + dhat x' */
        const double *fixed = FERRY_ROW(z->fixed, i);
        double *row = FERRY_ROW(z->q.z, i);
        for (int64_t j = 0; j < m; j++)
            row[j] = fixed[j] + z->dhat[i] * z->x[j];
    }
    FERRY_PASS(ferry_i_mmltl_split(ctx, &z->q));
    z->psi = 0;
    for (int64_t j = 0; j < m; j++) {
        z->rest[j] = z->x[j] - z->b[j];
        z->psi += (z->x[j] / 2 - z->b[j]) * z->x[j];
    }
    for (int64_t l = 0; l < n; l++) {
        const double s = z->q.s[l], over = fmax(s - z->tau, 0);
        double br = 0;
        z->xr[l] = 0;
        for (int64_t j = 0; j < m; j++) {
            z->xr[l] += FERRY_AT(z->q.r_, j, l) * z->x[j];
            br += FERRY_AT(z->q.r_, j, l) * z->b[j];
        }
        for (int64_t j = 0; j < m; j++)
            z->rest[j] -= (z->xr[l] - br) * FERRY_AT(z->q.r_, j, l);
        z->f[l] = over > 0 ? over / s : 0;
        /* 1 - (1 - c) f without cancellation: f is nearly 1 where s is large */
        z->grad[l] = ((over > 0 ? z->tau / s : 1) + z->c * z->f[l]) * z->xr[l] - br;
        z->psi -= (1 - z->c) * over * over / 2;
        size += z->grad[l] * z->grad[l];
    }
    for (int64_t j = 0; j < m; j++)
        size += z->rest[j] * z->rest[j];
    z->size = sqrt(size);
    return FERRY_OK;
}

/* (f_i - f_j) / (s_i^2 - s_j^2), without cancellation where both are above tau. Above tau f
 * = 1 - tau/s, so the quotient is tau / (s_i s_j (s_i + s_j)) exactly. Both below: f = 0
 * and so is the slope. One above and one below: the plain quotient, whose gap is real. */
static double slope(const newton *z, int64_t i, int64_t j)
{
    const double si = z->q.s[i], sj = z->q.s[j], gap = (si - sj) * (si + sj);

    if (si > z->tau && sj > z->tau) return z->tau / (si * sj * (si + sj));
    return gap != 0 ? (z->f[i] - z->f[j]) / gap : 0;
}

/* step <- -(gradient) / (derivative of the gradient), in the coordinates R
 *   J = I - (1 - c) (diag(f + F q) + diag(x) F diag(x)),
 * and outside them, where the derivative is I, -(gradient). J is positive definite, as Psi
 * is strongly convex; q numbers in and out. */
static ferry_status newton_step(ferry_ctx *ctx, newton *z)
{
    const int64_t n = z->q.q;
    ferry_small *jac = z->jacobian;
    const double k = 1 - z->c;

    memset(jac->data, 0, (size_t)(n * n) * sizeof(double));
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) {
            const double F = slope(z, i, j);
            FERRY_AT(jac, i, j) -= k * z->xr[i] * F * z->xr[j];
            FERRY_AT(jac, i, i) -= k * F * z->xr[j] * z->xr[j];
        }
        FERRY_AT(jac, j, j) += 1 - k * z->f[j];
        z->rhs->data[j] = -z->grad[j];
    }
    FERRY_PASS(ferry_e(ctx)->solve(ctx, jac, z->rhs));
    for (int64_t j = 0; j < z->m; j++)
        z->step[j] = -z->rest[j];
    for (int64_t l = 0; l < n; l++)
        for (int64_t j = 0; j < z->m; j++)
            z->step[j] += FERRY_AT(z->q.r_, j, l) * z->rhs->data[l];
    return FERRY_OK;
}

/* Go along the step, half as far each time until Psi or its gradient is smaller (near the
 * minimum Psi no longer tells). fall is the slope along the step in the coordinates R;
 * sufficient decrease with factor 1e-4. After HALVINGS the last point is kept: the caller
 * sees that nothing halves any more and stops. */
static ferry_status move(ferry_ctx *ctx, newton *z)
{
    const double psi = z->psi, size = z->size;
    double t = 1, fall = 0;

    for (int64_t l = 0; l < z->q.q; l++)
        fall += z->grad[l] * z->rhs->data[l];
    memcpy(z->start, z->x, (size_t)z->m * sizeof *z->x);
    for (int half = 0; half <= HALVINGS; half++, t /= 2) {
        for (int64_t j = 0; j < z->m; j++)
            z->x[j] = z->start[j] + t * z->step[j];
        FERRY_PASS(look(ctx, z));
        if (z->size <= (1 - 1e-4 * t) * size || z->psi <= psi + 1e-4 * t * fall) break;
    }
    return FERRY_OK;
}

/* Iterate: where we are as U and V, how far that is from a minimum, a step.
 *
 * u, v are always those of the last point, so an early end leaves a usable solution. `best`
 * and `least` watch both the gradient of (7) and that of Psi: either may be the one that
 * still falls. */
ferry_status ferry_i_mmltl_newton(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                                  double tol, int64_t max_iter, ferry_block *u,
                                  ferry_block *v, ferry_mmltl_found *found)
{
    ferry_status st = FERRY_OK;
    const double scale = sqrt(ferry_e(ctx)->dot(ctx, p->g, p->g));
    double kkt[2], best = INFINITY, least = INFINITY;
    int worse = 0;
    newton z;

    *found = (ferry_mmltl_found){.converged = false};
    FERRY_TRY(new_newton(ctx, p, w->delta2, &z));
    FERRY_TRY(look(ctx, &z));
    for (;;) {
        /* Y = T(M) as U and V by the balance; the U step needs V alone. */
        ferry_i_mmltl_spread(&z.q, z.tau, pow(p->g2, 0.25), pow(p->g2, -0.25), u, v);
        FERRY_TRY(ferry_i_mmltl_u_step(ctx, p, w, v, u));
        ferry_i_mmltl_kkt(ctx, p, w, u, v, kkt);
        found->kkt = fmax(kkt[0], kkt[1]) / scale;
        found->objective = ferry_i_mmltl_objective(ctx, p, w, u, v);
        found->converged = found->kkt <= tol;
        found->sweeps++;
        FERRY_TRY(ferry_i_progress(ctx, "mmltl", found->sweeps, max_iter, found->objective,
                                   &found->finish));
        worse = found->kkt < best / 2 || z.size < least / 2 ? 0 : worse + 1;
        best = fmin(best, found->kkt);
        least = fmin(least, z.size);
        if (found->converged || found->finish || found->sweeps >= max_iter) break;
        if (worse == STALLED) break; /* as near as rounding lets us */
        FERRY_TRY(newton_step(ctx, &z));
        FERRY_TRY(move(ctx, &z));
    }
done:
    free_newton(&z);
    return st;
}
