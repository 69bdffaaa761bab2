/* GBC: what graphs do to answers when they are given. Trees on features cannot say "all
 * films of this director"; a graph can.
 *
 *   residual   a(x) + sum_g wg sum_v A_g(x,v) r(v) / (sum_g wg sum_v A_g(x,v) + kappa)
 *              over the labelled neighbours v, r = label - what was answered without it;
 *              wg times q, so that kappa means the same with any number of graphs
 *   smooth     a(x) = (1 - alpha) a0(x) + alpha mean of a over the neighbours, where
 *              labelled ones stand fast (learn/diffuse.h)
 *
 * An instance without features gets the mean of its neighbours, or the base score.
 *
 * Both corrections use labels at the time of the answer, not only in the fit: that is why a
 * model keeps its labels and their residuals. Cost: residual reads every edge
 * once, smooth up to STEPS times. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/diffuse.h"
#include "methods/gbc/gbc.h"

/* Steps of the propagation, and the change at which it ends. */
enum { STEPS = 50 };
#define CHANGE 1e-5
#define LEAST 1e-6 /* probability after a correction */

/* Mode residual: to (n x m) <- from + shrunken mean residual of the labelled neighbours.
 * kappa stands in the denominator like kappa neighbours whose residual is 0, so one
 * labelled neighbour moves an answer less than ten that agree. Rows are independent:
 * threads and ranks do not change bits. */
static ferry_status add_residuals(ferry_ctx *ctx, const gbc_correction *c,
                                  const double *from, double *to)
{
    const int64_t m = c->m;
    int64_t begin = 0, end = 0;

    ferry_i_ranks_part(ctx, c->n, &begin, &end);
    const int threads = end - begin < 4096 ? 1 : ctx->threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t x = begin; x < end; x++) {
        double degree = 0, sum = 0, *add = to + x * m;
        memset(add, 0, (size_t)m * sizeof *add);
        for (int64_t g = 0; g < c->q; g++)
            for (int64_t e = c->graph[g]->start[x]; e < c->graph[g]->start[x + 1]; e++) {
                const int64_t at = c->at[c->graph[g]->index[e]];
                const double a = c->graph[g]->value[e] * c->wg[g] * (double)c->q;
                /* Only labelled neighbours have a residual, and only they count in the
                 * degree. */
                if (at < 0) continue;
                degree += a;
                for (int64_t j = 0; j < m; j++)
                    add[j] += a * c->residual[at * m + j];
            }
        /* Probabilities may leave the simplex by the correction: floor at LEAST, then to
         * sum 1. */
        for (int64_t j = 0; j < m; j++) {
            add[j] = from[x * m + j] + (degree > 0 ? add[j] / (degree + c->strength) : 0);
            if (c->classes) sum += add[j] = fmax(add[j], LEAST);
        }
        for (int64_t j = 0; c->classes && j < m; j++)
            add[j] /= sum;
    }
    return ferry_i_ranks_gather(ctx, c->n, (size_t)m * sizeof *to, to);
}

/* Start values, then diffusion from them where somebody asks for it: in mode smooth all
 * instances, else only those without features. answers is overwritten; basis tells what
 * each answer stands on. Three arrays of n x m or n, freed here. */
ferry_status ferry_i_gbc_correct(ferry_ctx *ctx, const gbc_correction *c, double *answers,
                                 uint8_t *basis)
{
    ferry_status st = FERRY_OK;
    const int64_t n = c->n, m = c->m;
    const bool smooth = c->how == GBC_CORRECT_SMOOTH;
    double *start = NULL, *alpha = NULL;
    uint8_t *reached = NULL;
    bool any = smooth;

    FERRY_NEW(ctx, start, n * m);
    FERRY_NEW(ctx, alpha, n);
    FERRY_NEW(ctx, reached, n);
    if (c->q > 0 && c->how == GBC_CORRECT_RESIDUAL)
        FERRY_TRY(add_residuals(ctx, c, answers, start));
    else
        memcpy(start, answers, (size_t)(n * m) * sizeof *start);
    for (int64_t x = 0; x < n; x++) {
        /* alpha: share of the neighbours. 1 = nothing of its own, 0 = stands as it is. */
        alpha[x] = c->viewless[x] ? 1 : smooth ? c->strength : 0;
        any = any || c->viewless[x];
        /* A labelled instance is replaced by its label only where something is diffused
         * from it. */
        if (c->at[x] < 0 || !(smooth || c->viewless[x])) continue;
        alpha[x] = 0; /* a label stands fast */
        memcpy(start + x * m, c->truth + c->at[x] * m, (size_t)m * sizeof *start);
    }
    const ferry_diffusion d = {c->q, c->graph, c->wg, n, m, start, alpha, STEPS, CHANGE};
    /* Without graphs, or with nobody to diffuse to, the start values are the answer. */
    if (any && c->q > 0)
        FERRY_TRY(ferry_i_diffuse(ctx, &d, answers, reached));
    else
        memcpy(answers, start, (size_t)(n * m) * sizeof *start);
    for (int64_t x = 0; basis && x < n; x++)
        basis[x] = !c->viewless[x] ? FERRY_BASIS_VIEWS
                   : reached[x]    ? FERRY_BASIS_NEIGHBOURS
                                   : FERRY_BASIS_BASE;
done:
    FERRY_FREE(start, alpha, reached);
    return st;
}
