/* Who is near whom: a graph made of features.
 *
 * Row i is joined with its k nearest rows, and with those it is among the k nearest of:
 *
 *   w_ij = exp(-|x_i - x_j|^2 / (s_i s_j)),  s_i: the distance of i to its k-th nearest
 *
 * (Zelnik-Manor and Perona, Self-Tuning Spectral Clustering, NIPS 2004): each row has a scale of its own, so that
 * crowded and sparse regions are joined alike. The search is exact, by blocks of products: O(n^2 d). */
#include "learn/neighbours.h"

#include <math.h>

#include "learn/nearest.h"

static bool lists(const int64_t *of, int64_t k, int64_t who)
{
    for (int64_t e = 0; e < k; e++)
        if (of[e] == who) return true;
    return false;
}

void find_near(scope *s, matrix x, int64_t k, int64_t *index, double *dist)
{
    int64_t *all = NEW(s, int64_t, x.n * (k + 1));
    double *far = NEW(s, double, x.n *(k + 1));

    nearest(s, x, x, k + 1, FERRY_EUCLIDEAN, NULL, all, far);
    for (int64_t i = 0; i < x.n; i++) {
        const int64_t *of = all + i * (k + 1);
        int64_t own = 0;
        while (own < k && of[own] != i)
            own++;
        for (int64_t e = 0; e < k; e++) {
            index[i * k + e] = of[e + (e >= own)];
            dist[i * k + e] = far[i * (k + 1) + e + (e >= own)];
        }
    }
}

double near_weight(double d, double own, double other)
{
    return exp(-d / fmax(own, 1e-12) * (d / fmax(other, 1e-12)));
}

near_edges join_near(scope *s, int64_t n, int64_t k, int64_t use, const int64_t *index,
                     const double *dist)
{
    near_edges out = {0, NEW(s, int64_t, n * use), NEW(s, int64_t, n * use),
                      NEW(s, double, n *use)};

    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < use; e++) {
            const int64_t j = index[i * k + e];
            /* an edge that both list was added by the lower of the two */
            if (j < 0 || (j < i && lists(index + j * k, use, i))) continue;
            out.from[out.n] = i;
            out.to[out.n] = j;
            out.weight[out.n++] =
                near_weight(dist[i * k + e], dist[i * k + use - 1], dist[j * k + use - 1]);
        }
    return out;
}
