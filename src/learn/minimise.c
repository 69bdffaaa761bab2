/* BFGS with the inverse Hessian as a small dense matrix, and steps halved until the function falls enough (Nocedal and
 * Wright, Numerical Optimization, algorithm 6.1). For a handful of numbers, such as weights of a blend. */
#include "learn/minimise.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 300, MOST_HALVINGS = 40 };

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double largest(int64_t n, const double *a)
{
    double most = 0;

    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(a[i]));
    return most;
}

/* h <- (I - r d y') h (I - r y d') + r d d', r = 1 / y'd. */
static void update(int64_t n, const double *d, const double *y, double *hy, double *h)
{
    const double yd = dot(n, y, d);

    if (!(yd > 1e-12 * sqrt(dot(n, y, y) * dot(n, d, d)))) return;
    for (int64_t i = 0; i < n; i++)
        hy[i] = dot(n, h + i * n, y);
    const double more = (1 + dot(n, y, hy) / yd) / yd;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            h[i * n + j] += more * d[i] * d[j] - (hy[i] * d[j] + d[i] * hy[j]) / yd;
}

double minimise(scope *s, int64_t n, smooth_function f, const void *arg, double tol,
                double *x)
{
    const int64_t mark = scope_mark(s);
    double *h = NEW(s, double, n *n), *g = NEW(s, double, n), *step = NEW(s, double, n);
    double *to = NEW(s, double, n), *next = NEW(s, double, n), *hy = NEW(s, double, n);
    double at = f(arg, x, g);

    for (int64_t i = 0; i < n; i++)
        h[i * n + i] = 1 / fmax(1, largest(n, g));
    for (int k = 0; k < MOST_STEPS && largest(n, g) > tol; k++) {
        double length = 1, below = INFINITY;
        for (int64_t i = 0; i < n; i++)
            step[i] = -dot(n, h + i * n, g);
        const double slope = dot(n, g, step);
        for (int half = 0; half < MOST_HALVINGS; half++, length /= 2) {
            for (int64_t i = 0; i < n; i++)
                to[i] = x[i] + length * step[i];
            below = f(arg, to, next);
            if (below <= at + 1e-4 * length * slope) break;
        }
        if (!(below < at)) break;
        for (int64_t i = 0; i < n; i++) {
            step[i] = to[i] - x[i];
            g[i] = next[i] - g[i];
        }
        update(n, step, g, hy, h);
        memcpy(x, to, (size_t)n * sizeof *x);
        memcpy(g, next, (size_t)n * sizeof *g);
        at = below;
    }
    scope_release(s, mark);
    return at;
}
