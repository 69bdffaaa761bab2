/* Propagation over graphs: every instance becomes a mixture of what it was and of the mean
 * of its neighbours (Zhu, Ghahramani and Lafferty, ICML 2003, where alpha is 1 for
 * instances without labels and 0 for those with).
 * Repeated substitution is Jacobi's method: every row of the next P is computed from the
 * present one, so rows can go to threads in any order. Where all alpha_x < 1 a step
 * multiplies the error by max alpha_x at most: a mean is a convex combination. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/crossing.h"
#include "learn/diffuse.h"

/* mean (m) <- neighbours' mean of x; whether there is one. sums: m, scratch.
 * Each graph's mean is taken by itself first, so that a graph with many edges has no
 * more say than its weight w_g gives it. Edges of weight 0 make no neighbours. */
static bool neighbour_mean(const ferry_diffusion *d, int64_t x, const double *p,
                           double *sums, double *mean)
{
    const int64_t m = d->m;
    double weight = 0;

    memset(mean, 0, (size_t)m * sizeof *mean);
    for (int64_t g = 0; g < d->q; g++) {
        const ferry_matrix *a = d->graph[g];
        double degree = 0;
        if (!(d->w[g] > 0) || a->start[x] == a->start[x + 1]) continue;
        memset(sums, 0, (size_t)m * sizeof *sums);
        for (int64_t e = a->start[x]; e < a->start[x + 1]; e++) {
            const double *from = p + (int64_t)a->index[e] * m;
            degree += a->value[e];
            for (int64_t j = 0; j < m; j++)
                sums[j] += a->value[e] * from[j];
        }
        if (!(degree > 0)) continue;
        weight += d->w[g];
        for (int64_t j = 0; j < m; j++)
            mean[j] += d->w[g] * sums[j] / degree;
    }
    for (int64_t j = 0; weight > 0 && j < m; j++)
        mean[j] /= weight;
    return weight > 0;
}

/* next <- one substitution, for rows [begin, end); the largest change. scratch: 2 m.
 * P(x) <- (1 - a) P0(x) + a mean; a is 0 without neighbours, and then mean is not read. */
static double substitute(const ferry_diffusion *d, int64_t begin, int64_t end,
                         const double *p, double *scratch, double *next, uint8_t *reached)
{
    const int64_t m = d->m;
    double most = 0, *mean = scratch + m;

    for (int64_t x = begin; x < end; x++) {
        const bool any = neighbour_mean(d, x, p, scratch, mean);
        const double a = any ? d->alpha[x] : 0;
        if (reached) reached[x] = any;
        for (int64_t j = 0; j < m; j++) {
            double *to = &next[x * m + j];
            *to = (1 - a) * d->p0[x * m + j] + (a > 0 ? a * mean[j] : 0);
            most = fmax(most, fabs(*to - p[x * m + j]));
        }
    }
    return most;
}

/* p (n x m) and reached are the caller's. Threads and ranks take fixed runs of rows, and the
 * largest change is a maximum, which has no order: the same bits for any number of
 * them. */
ferry_status ferry_i_diffuse(ferry_ctx *ctx, const ferry_diffusion *d, double *p,
                             uint8_t *reached)
{
    ferry_status st = FERRY_OK;
    const int64_t m = d->m, room = 2 * m + 8; /* no false sharing */
    int64_t begin = 0, end = 0;
    double *next = NULL, *scratch = NULL, *change = NULL, most = INFINITY;
    ferry_crossing *c = NULL;

    ferry_i_ranks_part(ctx, d->n, &begin, &end);
    const int64_t n = end - begin;
    const int threads = n < 4096 ? 1 : ctx->threads;
    FERRY_NEW(ctx, next, d->n * m);
    FERRY_NEW(ctx, scratch, threads * room);
    FERRY_NEW(ctx, change, threads);
    memcpy(p, d->p0, (size_t)(d->n * m) * sizeof *p); /* also what others begin with */
    FERRY_TRY(ferry_i_crossing_new(ctx, d->n, d->q, d->graph, &c));
    for (int64_t t = 0; t < d->max_iter && most > d->tol; t++) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int i = 0; i < threads; i++)
            change[i] =
                substitute(d, begin + n * i / threads, begin + n * (i + 1) / threads, p,
                           scratch + i * room, next, reached);
        most = 0;
        for (int i = 0; i < threads; i++)
            most = fmax(most, change[i]);
        /* copied, not swapped: p is the caller's memory and has to hold the result */
        memcpy(p + begin * m, next + begin * m, (size_t)(n * m) * sizeof *p);
        FERRY_TRY(ferry_i_ranks_most(ctx, 1, &most));
        FERRY_TRY(ferry_i_cross(ctx, c, m, p));
        FERRY_TRY(ferry_i_progress(ctx, "propagate", t + 1, d->max_iter, NAN, NULL));
    }
    FERRY_TRY(ferry_i_ranks_gather(ctx, d->n, (size_t)m * sizeof *p, p));
    if (reached) FERRY_TRY(ferry_i_ranks_gather(ctx, d->n, sizeof *reached, reached));
done:
    ferry_i_crossing_free(c);
    FERRY_FREE(change, scratch, next);
    return st;
}
