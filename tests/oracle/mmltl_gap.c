/* M-MLTL: a certificate that (U, V) is the minimum over all ranks, not only a stationary
 * point of its own. */
#include <math.h>

#include "oracle.h"

double oracle_mmltl_gap(scope *s, const mmd_problem *p, block u, block v)
{
    const block e = block_copy(s, p->g);
    double *along = NEW(s, double, e.k), delta2 = 0;

    for (int64_t i = 0; i < e.n; i++)
        delta2 += p->delta.at[i] * p->delta.at[i];
    /* A^-1/2 = g1^-1/2 (I - c delta delta'), c = (1 - (g1/a)^1/2) / |delta|^2 */
    const double a = p->g1 + p->mu * delta2;
    const double c = delta2 > 0 ? (1 - sqrt(p->g1 / a)) / delta2 : 0;
    for (int64_t i = 0; i < e.n; i++) /* G - U V' */
        for (int64_t j = 0; j < e.k; j++) {
            for (int64_t l = 0; l < u.k; l++)
                ROW(e, i)[j] -= ROW(u, i)[l] * ROW(v, j)[l];
            along[j] += p->delta.at[i] * ROW(e, i)[j];
        }
    for (int64_t i = 0; i < e.n; i++)
        for (int64_t j = 0; j < e.k; j++)
            ROW(e, i)[j] -= c * p->delta.at[i] * along[j];
    return mmd_sigma(s, e) / sqrt(p->g1) - sqrt(p->g2);
}
