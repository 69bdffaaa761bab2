/* GBC: what graphs do to answers when they are given.
 *
 *   residual   a(x) + sum_g wg sum_v A_g(x,v) r(v) / (sum_g wg sum_v A_g(x,v) + kappa) over
 * the labelled neighbours v, r = label - what was answered without it; wg times q smooth
 * a(x) = (1 - alpha) a0(x) + alpha mean of a over the neighbours, where labelled ones stand
 * fast
 *
 * An instance without features gets the mean of its neighbours, or the base score. */
#include <math.h>
#include <string.h>

#include "learn/diffuse.h"
#include "methods/gbc/gbc.h"

/* Steps of the propagation, and the change at which it ends. */
enum { STEPS = 50 };
#define CHANGE 1e-5

static void add_residuals(const ferry_ctx *ctx, double kappa, int64_t q,
                          ferry_matrix *const *graph, const double *wg, int64_t n,
                          int64_t m, bool classes, const gbc_labels *l, const double *from,
                          double *to)
{
    const int threads = n < 4096 ? 1 : ctx->threads;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t x = 0; x < n; x++) {
        double degree = 0, sum = 0;
        for (int64_t j = 0; j < m; j++)
            to[x * m + j] = 0;
        for (int64_t g = 0; g < q; g++)
            for (int64_t e = graph[g]->start[x]; e < graph[g]->start[x + 1]; e++) {
                const int64_t at = l->at[graph[g]->index[e]];
                const double a = graph[g]->value[e] * wg[g] * (double)q;
                if (at < 0) continue;
                degree += a;
                for (int64_t j = 0; j < m; j++)
                    to[x * m + j] += a * l->residual[at * m + j];
            }
        for (int64_t j = 0; j < m; j++) {
            double *v = &to[x * m + j];
            *v = from[x * m + j] + (degree > 0 ? *v / (degree + kappa) : 0);
            if (classes) sum += *v = fmax(*v, 1e-6);
        }
        for (int64_t j = 0; classes && j < m; j++)
            to[x * m + j] /= sum;
    }
}

ferry_status ferry_i_gbc_correct(ferry_ctx *ctx, gbc_correct correct, double strength,
                                 int64_t q, ferry_matrix *const *graph, const double *wg,
                                 int64_t n, int64_t m, bool classes, const gbc_labels *l,
                                 const uint8_t *viewless, double *answers, uint8_t *basis)
{
    ferry_status st = FERRY_OK;
    double *start = ferry_i_calloc(n * m, sizeof *start);
    double *alpha = ferry_i_calloc(n, sizeof *alpha);
    uint8_t *reached = ferry_i_calloc(n, sizeof *reached);
    bool any = correct == GBC_CORRECT_SMOOTH;

    FERRY_HAVE(ctx, start && alpha && reached);
    if (q > 0 && correct == GBC_CORRECT_RESIDUAL)
        add_residuals(ctx, strength, q, graph, wg, n, m, classes, l, answers, start);
    else
        memcpy(start, answers, (size_t)(n * m) * sizeof *start);
    for (int64_t x = 0; x < n; x++) {
        alpha[x] = viewless[x] ? 1 : correct == GBC_CORRECT_SMOOTH ? strength : 0;
        any = any || viewless[x];
        if (l->at[x] < 0 || (correct != GBC_CORRECT_SMOOTH && !viewless[x])) continue;
        alpha[x] = 0; /* a label stands fast */
        memcpy(start + x * m, l->truth + l->at[x] * m, (size_t)m * sizeof *start);
    }
    if (any && q > 0)
        FERRY_TRY(ferry_i_diffuse(ctx, q, graph, wg, n, m, start, alpha, STEPS, CHANGE,
                                  answers, reached));
    else
        memcpy(answers, start, (size_t)(n * m) * sizeof *start);
    for (int64_t x = 0; basis && x < n; x++)
        basis[x] = !viewless[x] ? FERRY_BASIS_VIEWS
                   : reached[x] ? FERRY_BASIS_NEIGHBOURS
                                : FERRY_BASIS_BASE;
done:
    ferry_i_free(start);
    ferry_i_free(alpha);
    ferry_i_free(reached);
    return st;
}
