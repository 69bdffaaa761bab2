#include "learn/online_logreg.h"

#include <math.h>
#include <string.h>

#include "learn/learner.h"

static const double FIRST = 0.01;

static void check(scope *s, const void *state)
{
    const online_logreg *m = state;

    if (m->w.k != m->z.d + 1)
        scope_fail(s, FERRY_EDATA,
                   "tensor w: %lld columns, of features and a constant there are %lld",
                   (long long)m->w.k, (long long)m->z.d + 1);
    for (int64_t e = 0; e < m->g.n * m->g.k; e++)
        if (m->g.at[e] < 0) /* a step would be NaN */
            scope_fail(s, FERRY_EDATA, "tensor g: entry %lld is %g", (long long)e,
                       m->g.at[e]);
}

static const field fields[] = {
    FIELD_AS(online_logreg, INT, w.n, "form:0", .lo = 0, .hi = INT32_MAX),
    FIELD_AS(online_logreg, INT, w.k, "form:1", .lo = 1, .hi = INT32_MAX),
    ARRAY(online_logreg, REAL, eta, .lo = 0, .hi = 1e10),
    FIELD_AS(online_logreg, STRUCT, z, "moments", .of = &moments_table),
    ARRAY(online_logreg, BLOCK, w, .rows = CLASSES, .cols = SIZE(online_logreg, w.k)),
    ARRAY(online_logreg, BLOCK, g, .rows = CLASSES, .cols = SIZE(online_logreg, w.k)),
};
const table online_logreg_table = {sizeof(online_logreg), fields, FERRY_COUNT(fields),
                                   check, NULL};

online_logreg online_logreg_new(scope *keep, double eta, int64_t k, int64_t d)
{
    return (online_logreg){.eta = eta,
                           .z = moments_new(keep, d),
                           .w = block_new(keep, HERE(k), k, d + 1),
                           .g = block_new(keep, HERE(k), k, d + 1)};
}

logreg_scratch logreg_scratch_new(scope *s, const online_logreg *m, int64_t k)
{
    return (logreg_scratch){NEW(s, double, m->w.k), NEW(s, double, k)};
}

void online_logreg_clear(online_logreg *m)
{
    const size_t all = (size_t)(m->w.n * m->w.k) * sizeof(double);

    moments_clear(&m->z);
    if (all == 0) return;
    memset(m->w.at, 0, all);
    memset(m->g.at, 0, all);
}

void online_logreg_scores(const online_logreg *m, const logreg_scratch *c, ferry_row x,
                          double *p)
{
    moments_standardise(&m->z, x, c->z);
    c->z[m->z.d] = 1;
    row_scores(m->w.n, m->w.k, m->w.at, (ferry_row){m->w.k, NULL, c->z}, p);
    if (m->w.n > 0) (void)softmax_row(m->w.n, NULL, p);
}

void online_logreg_learn(online_logreg *m, const logreg_scratch *c, ferry_row x, int32_t y)
{
    moments_add(&m->z, x);
    online_logreg_scores(m, c, x, c->p);
    c->p[y] -= 1;
    for (int64_t k = 0; k < m->w.n; k++)
        for (int64_t j = 0; j < m->w.k; j++) {
            const double g = c->p[k] * c->z[j];
            ROW(m->g, k)[j] += g * g;
            ROW(m->w, k)[j] -= m->eta * g / sqrt(ROW(m->g, k)[j] + FIRST);
        }
}
