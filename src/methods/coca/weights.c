/* CoCA: how much views and graphs count, from must-links and cannot-links (4.15 - 4.19) and
 * from the classes at the ends of edges. */
#include <math.h>
#include <string.h>

#include "methods/coca/coca.h"

/* e (n x n) <- Phi Phi', 0 where c is 0. */
static void similarity(const ferry_block *phi, const double *c, bool cosine, double *e)
{
    const int64_t n = phi->rows;

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const double *a = FERRY_ROW(phi, i), *b = FERRY_ROW(phi, j);
            double ab = 0, aa = 0, bb = 0;
            e[i * n + j] = 0;
            if (c[i * n + j] == 0) continue;
            for (int64_t l = 0; l < phi->k; l++) {
                ab += a[l] * b[l];
                aa += a[l] * a[l];
                bb += b[l] * b[l];
            }
            if (cosine) ab = aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : 0;
            e[i * n + j] = ab;
        }
    }
}

/* How much a must-link and a cannot-link count: 1 each, or such that both kinds together
 * count the same and all as much as before. */
static void link_factors(int64_t n, const double *c, bool balanced, double *must,
                         double *cannot)
{
    double plus = 0, minus = 0;

    for (int64_t i = 0; i < n * n; i++) {
        plus += c[i] > 0;
        minus += c[i] < 0;
    }
    *must = balanced && plus > 0 ? (plus + minus) / (2 * plus) : 1;
    *cannot = balanced && minus > 0 ? (plus + minus) / (2 * minus) : 1;
}

/* Mean square 1 over the links, each counted by its factor. */
static void to_unit_rms(int64_t n, const double *c, double must, double cannot, double *e)
{
    double sum = 0, count = 0;

    for (int64_t i = 0; i < n * n; i++) {
        const double b = c[i] > 0 ? must : c[i] < 0 ? cannot : 0;
        sum += b * e[i] * e[i];
        count += b;
    }
    if (!(sum > 0)) return;
    for (int64_t i = 0; i < n * n; i++)
        e[i] *= sqrt(count / sum);
}

ferry_status ferry_i_coca_qp(ferry_ctx *ctx, int64_t n, int64_t p,
                             const ferry_block *const *phi, const double *c, coca_norm norm,
                             bool balanced, ferry_small *k, double *v)
{
    ferry_status st = FERRY_OK;
    double *e = ferry_i_calloc(p * n * n, sizeof *e), must, cannot;

    FERRY_HAVE(ctx, e);
    link_factors(n, c, balanced, &must, &cannot);
    for (int64_t i = 0; i < p; i++) {
        similarity(phi[i], c, norm == COCA_COSINE, e + i * n * n);
        if (norm == COCA_RMS) to_unit_rms(n, c, must, cannot, e + i * n * n);
    }
    for (int64_t i = 0; i < p; i++) {
        const double *ei = e + i * n * n;
        v[i] = 0;
        for (int64_t a = 0; a < n * n; a++)
            v[i] += (c[a] > 0 ? must : cannot) * c[a] * ei[a];
        for (int64_t j = 0; j < p; j++) {
            const double *ej = e + j * n * n;
            double sum = 0;
            for (int64_t a = 0; a < n * n; a++)
                sum += (c[a] > 0 ? must : cannot) * ei[a] * ej[a];
            FERRY_AT(k, i, j) = sum;
        }
    }
done:
    ferry_i_free(e);
    return st;
}

double ferry_i_coca_lift(const ferry_matrix *graph, int64_t k, const int32_t *cls,
                         int64_t *count)
{
    double same = 0, all = 0, pairs = 0, n = 0;

    for (int64_t i = 0; i < graph->rows; i++)
        for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++) {
            const int32_t a = cls[i], b = cls[graph->index[e]];
            if (a < 0 || b < 0) continue;
            all += graph->value[e];
            same += a == b ? graph->value[e] : 0;
        }
    memset(count, 0, (size_t)k * sizeof *count);
    for (int64_t i = 0; i < graph->rows; i++) {
        if (cls[i] < 0) continue;
        count[cls[i]]++;
        n++;
    }
    for (int64_t c = 0; c < k; c++)
        pairs += (double)count[c] * ((double)count[c] - 1);
    if (!(all > 0) || n < 2) return 0;
    return fmax(0, same / all - pairs / (n * (n - 1)));
}
