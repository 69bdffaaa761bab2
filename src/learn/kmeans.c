/* k-means: Lloyd's algorithm from k-means++ starts, the best of several.
 *
 * Points are compared with all centres by their squared distance; ties go to the first
 * centre. Points are assigned in parallel, centres and sums are added up in the order of
 * the points, so the result does not depend on the number of threads. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "learn/learn.h"

/* One start under way. */
typedef struct lloyd {
    const ferry_block *x;
    int64_t k;
    double *centre; /* k x d */
    int64_t *count; /* k */
    int32_t *group; /* n */
    double *dist;   /* n: squared distance to the nearest centre */
} lloyd;

static double distance2(int64_t d, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t j = 0; j < d; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

static double total(int64_t n, const double *a)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

/* A point with chance proportional to its squared distance; any when all are 0. */
static int64_t draw(const lloyd *z, ferry_rng *rng)
{
    const int64_t n = z->x->rows;
    double left = ferry_i_rng_real(rng) * total(n, z->dist);
    int64_t i = 0;

    if (!(left > 0)) return (int64_t)ferry_i_rng_below(rng, (uint64_t)n);
    while (i < n - 1 && (left -= z->dist[i]) >= 0)
        i++;
    return i;
}

/* k-means++: every further centre far from those before it. */
static void choose_centres(lloyd *z, ferry_rng *rng)
{
    const int64_t n = z->x->rows, d = z->x->k;

    for (int64_t i = 0; i < n; i++)
        z->dist[i] = INFINITY;
    for (int64_t c = 0; c < z->k; c++) {
        const int64_t at =
            c == 0 ? (int64_t)ferry_i_rng_below(rng, (uint64_t)n) : draw(z, rng);
        double *centre = z->centre + c * d;
        memcpy(centre, FERRY_ROW(z->x, at), (size_t)d * sizeof *centre);
        for (int64_t i = 0; i < n; i++)
            z->dist[i] = fmin(z->dist[i], distance2(d, FERRY_ROW(z->x, i), centre));
    }
}

/* Every point to its nearest centre; returns how many moved. */
static int64_t assign(lloyd *z, int threads)
{
    const int64_t n = z->x->rows, d = z->x->k;
    int64_t moved = 0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : moved)
    for (int64_t i = 0; i < n; i++) {
        const double *x = FERRY_ROW(z->x, i);
        double best = INFINITY;
        int32_t to = 0;
        for (int64_t c = 0; c < z->k; c++) {
            const double r = distance2(d, x, z->centre + c * d);
            if (r < best) {
                best = r;
                to = (int32_t)c;
            }
        }
        moved += z->group[i] != to;
        z->group[i] = to;
        z->dist[i] = best;
    }
    return moved;
}

/* Give an empty group the point that is farthest from its centre, alone in no group. */
static void refill(lloyd *z, int64_t c)
{
    int64_t far = -1;

    for (int64_t i = 0; i < z->x->rows; i++)
        if (z->count[z->group[i]] > 1 && (far < 0 || z->dist[i] > z->dist[far])) far = i;
    z->count[z->group[far]]--;
    z->group[far] = (int32_t)c;
    z->dist[far] = 0;
    z->count[c] = 1;
}

/* Centres are the means of their groups. */
static void update(lloyd *z)
{
    const int64_t n = z->x->rows, d = z->x->k;

    memset(z->count, 0, (size_t)z->k * sizeof *z->count);
    for (int64_t i = 0; i < n; i++)
        z->count[z->group[i]]++;
    for (int64_t c = 0; c < z->k; c++)
        if (z->count[c] == 0) refill(z, c);
    memset(z->centre, 0, (size_t)(z->k * d) * sizeof *z->centre);
    for (int64_t i = 0; i < n; i++) {
        const double *x = FERRY_ROW(z->x, i);
        double *centre = z->centre + z->group[i] * d;
        for (int64_t j = 0; j < d; j++)
            centre[j] += x[j];
    }
    for (int64_t c = 0; c < z->k; c++)
        for (int64_t j = 0; j < d; j++)
            z->centre[c * d + j] /= (double)z->count[c];
}

/* The sum of squared distances where it settles, or after max_iter rounds. */
static double run(lloyd *z, int64_t max_iter, int threads, ferry_rng *rng)
{
    choose_centres(z, rng);
    memset(z->group, 0xff, (size_t)z->x->rows * sizeof *z->group); /* -1: none yet */
    for (int64_t t = 0; t < max_iter && assign(z, threads) > 0; t++)
        update(z);
    for (int64_t i = 0; i < z->x->rows; i++)
        z->dist[i] =
            distance2(z->x->k, FERRY_ROW(z->x, i), z->centre + z->group[i] * z->x->k);
    return total(z->x->rows, z->dist);
}

ferry_status ferry_i_kmeans(ferry_ctx *ctx, const ferry_block *x, int64_t k,
                            int64_t restarts, int64_t max_iter, ferry_rng *rng,
                            int32_t *group, ferry_block *centres, double *inertia)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows, d = x->k;
    lloyd z = {.x = x, .k = k};
    double best = INFINITY;

    assert(1 <= k && k <= n && restarts > 0 && max_iter > 0);
    assert(!centres || (centres->rows == k && centres->k == d));
    FERRY_NEW(ctx, z.centre, k * d);
    FERRY_NEW(ctx, z.count, k);
    FERRY_NEW(ctx, z.group, n);
    FERRY_NEW(ctx, z.dist, n);
    for (int64_t r = 0; r < restarts; r++) {
        const double sum = run(&z, max_iter, ctx->threads, rng);
        if (!(sum < best) && r > 0) continue;
        best = sum;
        memcpy(group, z.group, (size_t)n * sizeof *group);
        if (centres) memcpy(centres->data, z.centre, (size_t)(k * d) * sizeof *z.centre);
    }
    if (inertia) *inertia = best;
done:
    ferry_i_free(z.centre);
    ferry_i_free(z.count);
    ferry_i_free(z.group);
    ferry_i_free(z.dist);
    return st;
}
