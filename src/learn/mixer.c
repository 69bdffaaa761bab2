#include "learn/mixer.h"

#include <math.h>
#include <string.h>

#include "learn/kridge.h"
#include "learn/online.h"

void mixer_begin(int n, double each, double *w, double *hess)
{
    memset(hess, 0, (size_t)(n * n) * sizeof *hess);
    for (int e = 0; e < n; e++) {
        w[e] = each;
        hess[e * (n + 1)] = 1;
    }
}

void mixer_centre(int64_t k, double *f)
{
    double mean = 0, norm = 0;

    for (int64_t c = 0; c < k; c++)
        mean += f[c] / (double)k;
    for (int64_t c = 0; c < k; c++) {
        f[c] -= mean;
        norm += f[c] * f[c];
    }
    norm = sqrt(norm);
    for (int64_t c = 0; c < k; c++)
        f[c] = norm > 1e-12 ? f[c] / norm : 0;
}

void mixer_scores(int n, int64_t k, const double *w, const double *scores, double *total)
{
    if (k > 0) memset(total, 0, (size_t)k * sizeof *total);
    for (int e = 0; e < n; e++)
        for (int64_t y = 0; y < k; y++)
            total[y] += w[e] * scores[e * k + y];
}

void mixer_learn(int n, int64_t k, double *w, double *hess, const double *scores, int32_t y,
                 double *p)
{
    double mean[MIXER_MOST] = {0}, g[MIXER_MOST], factor[MIXER_MOST * MIXER_MOST], all = 0;

    mixer_scores(n, k, w, scores, p);
    const double top = p[row_argmax(k, p)];
    for (int64_t c = 0; c < k; c++)
        all += p[c] = exp(p[c] - top);
    for (int64_t c = 0; c < k; c++) {
        p[c] /= all;
        for (int e = 0; e < n; e++)
            mean[e] += p[c] * scores[e * k + c];
    }
    for (int i = 0; i < n; i++) {
        g[i] = mean[i] - scores[i * k + y];
        for (int j = 0; j < n; j++) {
            double *h = &hess[i * n + j];
            *h = 0.99 * *h + (i == j ? 0.01 : 0);
            for (int64_t c = 0; c < k; c++)
                *h += p[c] * (scores[i * k + c] - mean[i]) * (scores[j * k + c] - mean[j]);
        }
    }
    memcpy(factor, hess, (size_t)(n * n) * sizeof *factor);
    lower_cholesky(n, n, factor);
    ferry_i_lower_systems(n, n, factor, 1, n, g);
    lower_solve_t(n, n, factor, g);
    for (int e = 0; e < n; e++)
        w[e] = fmax(w[e] - g[e], 0);
}
