/* How well the target's labels repeat, by trial of one way (select.h): numbers from labels,
 * no learner here. */
#include <math.h>
#include <string.h>

#include "methods/ttl/settle.h"
#include "select/select.h"

enum { BOOTSTRAPS = 200 };

/* One labelling, its rows taken in the order of `rows` (NULL: as they are). */
static const int32_t *taken(const select_labels *l, int64_t which, const int64_t *rows,
                            int32_t *to)
{
    const int32_t *y = l->y + which * l->n;

    if (!rows) return y;
    for (int64_t i = 0; i < l->n; i++)
        to[i] = y[rows[i]];
    return to;
}

ferry_status ferry_i_select_repeat(ferry_ctx *ctx, const select_labels *l,
                                   const int64_t *rows, select_repeat *out)
{
    ferry_status st = FERRY_OK;
    int32_t *work = NULL;
    double inst = 0, instc = 0, landc = 0, landx[2] = {0, 0}, sum = 0, squares = 0;

    FERRY_NEW(ctx, work, 2 * l->n);
#define KAPPA(a, b, to)                                                                    \
    FERRY_TRY(ferry_i_kappa(ctx, l->n, taken(l, a, rows, work),                            \
                            taken(l, b, rows, work + l->n), l->c, to))
    KAPPA(0, 1, &landc);
    KAPPA(2, 1, &landx[0]);
    KAPPA(3, 0, &landx[1]);
    for (int64_t r = 0; r < l->splits; r++) {
        double settled = 0, carried = 0;
        KAPPA(4 + 4 * r, 5 + 4 * r, &settled);
        KAPPA(6 + 4 * r, 7 + 4 * r, &carried);
        inst += settled / (double)l->splits;
        instc += carried / (double)l->splits;
        sum += (settled + carried) / 4;
        squares += (settled + carried) * (settled + carried) / 16;
    }
#undef KAPPA
    const double m = (double)l->splits;
    out->q = (inst + instc + landc + 0.5 * (landx[0] + landx[1])) / 4;
    out->sd = m > 1 ? sqrt(fmax(0, squares - sum * sum / m) / (m - 1)) : 0;
done:
    ferry_i_free(work);
    return st;
}

/* The same rows are drawn for every way: what differs is the ways. */
ferry_status ferry_i_select_bootstrap(ferry_ctx *ctx, int64_t n, int64_t n_ways,
                                      const select_labels *l, double *q)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = NULL;
    ferry_rng rng;

    FERRY_NEW(ctx, rows, n);
    ferry_i_rng_for(ctx, &rng, "select.bootstrap");
    for (int64_t b = 0; b < BOOTSTRAPS; b++) {
        for (int64_t i = 0; i < n; i++)
            rows[i] = (int64_t)ferry_i_rng_below(&rng, (uint64_t)n);
        for (int64_t w = 0; w < n_ways; w++) {
            select_repeat r = {0};
            if (l[w].y) FERRY_TRY(ferry_i_select_repeat(ctx, &l[w], rows, &r));
            q[w * BOOTSTRAPS + b] = r.q;
        }
    }
done:
    ferry_i_free(rows);
    return st;
}

double ferry_i_select_error(const double *q, int64_t i, int64_t j, double sd_i, double sd_j)
{
    double mean = 0, var = 0;

    for (int64_t b = 0; b < BOOTSTRAPS; b++)
        mean += (q[i * BOOTSTRAPS + b] - q[j * BOOTSTRAPS + b]) / BOOTSTRAPS;
    for (int64_t b = 0; b < BOOTSTRAPS; b++)
        var +=
            pow(q[i * BOOTSTRAPS + b] - q[j * BOOTSTRAPS + b] - mean, 2) / (BOOTSTRAPS - 1);
    return sqrt(var + sd_i * sd_i + sd_j * sd_j);
}

int64_t ferry_i_select_bootstraps(void)
{
    return BOOTSTRAPS;
}

/* Forty labels' worth of trust in q against the m labels there are. */
double ferry_i_select_score(double q, int64_t m, int64_t hits)
{
    const double mu = fmin(fmax(0.626 + 0.484 * q, 0.02), 0.98);

    return (40 * mu + (double)hits) / (40 + (double)m);
}

bool ferry_i_select_denied(int64_t c, int64_t m, int64_t hits)
{
    return m >= SELECT_FEW && hits * c < m;
}

/* The binomial tail from its end; logarithms, since share^m may be too small. */
bool ferry_i_select_confirmed(int64_t n, int64_t m, int64_t hits, double share)
{
    double p = 0, term = (double)m * log(share);

    if (m == 0 || share >= 1) return false;
    for (int64_t k = m; k >= hits; k--) {
        p += exp(term);
        term += log((double)k / (double)(m - k + 1)) + log((1 - share) / share);
    }
    return (double)n * p <= 0.05;
}
