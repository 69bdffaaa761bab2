/* Least squares with weights that are not negative (nnls.h). */
#include "learn/nnls.h"

#include <math.h>
#include <string.h>

bool ferry_i_factor(int64_t n, double *a)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double s = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                s -= a[i * n + k] * a[j * n + k];
            if (i == j && !(s > 0)) return false;
            a[i * n + j] = i == j ? sqrt(s) : s / a[j * n + j];
        }
    return true;
}

void ferry_i_factor_solve(int64_t n, const double *l, double *x)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < n; k++)
            x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
}

/* The least squares with only the weights of `in`, whatever their sign; 0 elsewhere. */
static void solve_among(int64_t n, const double *a, const double *c, const bool *in,
                        double *z)
{
    double part[FERRY_NNLS_MOST * FERRY_NNLS_MOST], x[FERRY_NNLS_MOST];
    int64_t at[FERRY_NNLS_MOST], m = 0;

    for (int64_t i = 0; i < n; i++)
        if (in[i]) at[m++] = i;
    for (int64_t i = 0; i < m; i++) {
        x[i] = c[at[i]];
        for (int64_t j = 0; j < m; j++)
            part[i * m + j] = a[at[i] * n + at[j]];
    }
    memset(z, 0, (size_t)n * sizeof *z);
    if (!ferry_i_factor(m, part)) return;
    ferry_i_factor_solve(m, part, x);
    for (int64_t i = 0; i < m; i++)
        z[at[i]] = x[i];
}

/* From w towards z as far as no weight of `in` goes below 0; who gets there leaves. */
static void step_to(int64_t n, const double *z, bool *in, double *w)
{
    double t = 1;

    for (int64_t i = 0; i < n; i++)
        if (in[i] && z[i] <= 0) t = fmin(t, w[i] / (w[i] - z[i]));
    for (int64_t i = 0; i < n; i++) {
        w[i] += in[i] ? t * (z[i] - w[i]) : 0;
        if (in[i] && z[i] <= 0 && w[i] <= 1e-14) {
            in[i] = false;
            w[i] = 0;
        }
    }
}

void ferry_i_nnls(int64_t n, const double *a, const double *c, double *w)
{
    bool in[FERRY_NNLS_MOST] = {false};
    double z[FERRY_NNLS_MOST];

    memset(w, 0, (size_t)n * sizeof *w);
    for (int64_t round = 0; round < 3 * n; round++) { /* each weight enters once or twice */
        int64_t best = -1;
        double most = 0;
        for (int64_t i = 0; i < n; i++) {
            double slope = c[i]; /* of the objective, downhill */
            for (int64_t j = 0; j < n; j++)
                slope -= a[i * n + j] * w[j];
            if (!in[i] && slope > most + 1e-12 * fabs(c[i])) {
                most = slope;
                best = i;
            }
        }
        if (best < 0) return;
        in[best] = true;
        for (bool inside = false; !inside;) {
            solve_among(n, a, c, in, z);
            inside = true;
            for (int64_t i = 0; i < n; i++)
                inside = inside && (!in[i] || z[i] > 0);
            step_to(n, z, in, w);
        }
    }
}
