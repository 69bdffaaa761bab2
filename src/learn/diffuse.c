/* Propagation over graphs: every instance becomes a mixture of what it was and of the mean
 * of its neighbours (Zhu, Ghahramani and Lafferty, ICML 2003, where alpha is 1 for
 * instances without labels and 0 for those with). */
#include <math.h>
#include <string.h>

#include "learn/diffuse.h"

/* mean (m) <- neighbours' mean of x; whether there is one. */
static bool neighbour_mean(int64_t q, ferry_matrix *const *graph, const double *w,
                           int64_t x, int64_t m, const double *p, double *sums,
                           double *mean)
{
    double weight = 0;

    memset(mean, 0, (size_t)m * sizeof *mean);
    for (int64_t g = 0; g < q; g++) {
        const ferry_matrix *a = graph[g];
        double degree = 0;
        if (!(w[g] > 0) || a->start[x] == a->start[x + 1]) continue;
        memset(sums, 0, (size_t)m * sizeof *sums);
        for (int64_t e = a->start[x]; e < a->start[x + 1]; e++) {
            const double *from = p + (int64_t)a->index[e] * m;
            degree += a->value[e];
            for (int64_t j = 0; j < m; j++)
                sums[j] += a->value[e] * from[j];
        }
        if (!(degree > 0)) continue;
        weight += w[g];
        for (int64_t j = 0; j < m; j++)
            mean[j] += w[g] * sums[j] / degree;
    }
    for (int64_t j = 0; weight > 0 && j < m; j++)
        mean[j] /= weight;
    return weight > 0;
}

/* next <- one substitution, for rows [begin, end); the largest change. */
static double substitute(int64_t q, ferry_matrix *const *graph, const double *w, int64_t m,
                         const double *p0, const double *alpha, int64_t begin, int64_t end,
                         const double *p, double *scratch, double *next, uint8_t *reached)
{
    double most = 0, *mean = scratch + m;

    for (int64_t x = begin; x < end; x++) {
        const bool any = neighbour_mean(q, graph, w, x, m, p, scratch, mean);
        if (reached) reached[x] = any;
        for (int64_t j = 0; j < m; j++) {
            const double own = p0[x * m + j], a = any ? alpha[x] : 0;
            next[x * m + j] = (1 - a) * own + (a > 0 ? a * mean[j] : 0);
            most = fmax(most, fabs(next[x * m + j] - p[x * m + j]));
        }
    }
    return most;
}

ferry_status ferry_i_diffuse(ferry_ctx *ctx, int64_t q, ferry_matrix *const *graph,
                             const double *w, int64_t n, int64_t m, const double *p0,
                             const double *alpha, int64_t max_iter, double tol, double *p,
                             uint8_t *reached)
{
    ferry_status st = FERRY_OK;
    const int threads = n < 4096 ? 1 : ctx->threads;
    double *next = ferry_i_calloc(n * m, sizeof *next);
    double *scratch = ferry_i_calloc(threads * (2 * m + 8), sizeof *scratch);
    double *change = ferry_i_calloc(threads, sizeof *change), most = INFINITY;

    FERRY_HAVE(ctx, next && scratch && change);
    memcpy(p, p0, (size_t)(n * m) * sizeof *p);
    for (int64_t t = 0; t < max_iter && most > tol; t++) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int i = 0; i < threads; i++)
            change[i] = substitute(q, graph, w, m, p0, alpha, n * i / threads,
                                   n * (i + 1) / threads, p, scratch + i * (2 * m + 8),
                                   next, reached);
        most = 0;
        for (int i = 0; i < threads; i++)
            most = fmax(most, change[i]);
        memcpy(p, next, (size_t)(n * m) * sizeof *p);
        FERRY_TRY(ferry_i_progress(ctx, "propagate", t + 1, max_iter, NAN, NULL));
    }
done:
    ferry_i_free(change);
    ferry_i_free(scratch);
    ferry_i_free(next);
    return st;
}
