/* Who is near whom: a graph made of features.
 *
 * Row i is joined with its k nearest rows, and with those it is among the k nearest of:
 *
 *   w_ij = exp(-|x_i - x_j|^2 / (s_i s_j)),  s_i: the distance of i to its k-th nearest
 *
 * (Zelnik-Manor and Perona, Self-Tuning Spectral Clustering, NIPS 2004): each row has a scale of
 * its own, so that crowded and sparse regions are joined alike. The search is exact, by
 * blocks of products: O(n^2 d). */
#include <math.h>
#include <stdlib.h>

#include "learn/learn.h"

/* The k nearest of row i without itself, of the k + 1 that were found. */
static void without_self(int64_t i, int64_t k, int64_t *index, double *dist)
{
    int64_t at = 0;

    while (at < k && index[at] != i)
        at++;
    for (; at < k; at++) {
        index[at] = index[at + 1];
        dist[at] = dist[at + 1];
    }
}

static bool lists(const int64_t *of, int64_t k, int64_t who)
{
    for (int64_t e = 0; e < k; e++)
        if (of[e] == who) return true;
    return false;
}

ferry_status ferry_i_near_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t k,
                               int64_t **index, double **dist)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows, wide = k + 1;

    FERRY_NEW(ctx, *index, n * wide);
    FERRY_NEW(ctx, *dist, n * wide);
    FERRY_TRY(ferry_i_knn(ctx, x, x, wide, FERRY_EUCLIDEAN, *index, *dist));
    for (int64_t i = 0; i < n; i++)
        without_self(i, k, *index + i * wide, *dist + i * wide);
done:
    return st;
}

double ferry_i_near_weight(double d, double s, double other)
{
    return exp(-d / fmax(s, 1e-12) * (d / fmax(other, 1e-12)));
}

ferry_status ferry_i_near_join(ferry_ctx *ctx, int64_t n, int64_t wide, int64_t k,
                               const int64_t *index, const double *dist, int64_t *n_edges,
                               int64_t **from, int64_t **to, double **weight)
{
    ferry_status st = FERRY_OK;
    int64_t m = 0;

    FERRY_NEW(ctx, *from, n * k);
    FERRY_NEW(ctx, *to, n * k);
    FERRY_NEW(ctx, *weight, n * k);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < k; e++) {
            const int64_t j = index[i * wide + e];
            /* an edge that both list was added by the lower of the two */
            if (j < 0 || (j < i && lists(index + j * wide, k, i))) continue;
            (*from)[m] = i;
            (*to)[m] = j;
            (*weight)[m++] = ferry_i_near_weight(dist[i * wide + e], dist[i * wide + k - 1],
                                                 dist[j * wide + k - 1]);
        }
    *n_edges = m;
done:
    return st;
}

ferry_status ferry_i_near_edges(ferry_ctx *ctx, const ferry_matrix *x, int64_t k,
                                int64_t *n_edges, int64_t **from, int64_t **to,
                                double **weight)
{
    ferry_status st = FERRY_OK;
    int64_t *index = NULL;
    double *dist = NULL;

    *n_edges = 0;
    *from = *to = NULL;
    *weight = NULL;
    FERRY_TRY(ferry_i_near_rows(ctx, x, k, &index, &dist));
    FERRY_TRY(
        ferry_i_near_join(ctx, x->rows, k + 1, k, index, dist, n_edges, from, to, weight));
done:
    FERRY_FREE(index, dist);
    return st;
}
