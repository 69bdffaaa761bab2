/* How well the target's labels repeat, by trial of one way (select.h): numbers from labels, no learner here. */
#include <math.h>
#include <string.h>

#include "learn/learner.h"
#include "select/select.h"

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

/* One labelling against another. */
static double kappa_of(scope *s, const select_labels *l, int64_t a, int64_t b,
                       const int64_t *rows, int32_t *work)
{
    return cohen_kappa(s, HERE(l->n), l->n, taken(l, a, rows, work),
                       taken(l, b, rows, work + l->n), l->c);
}

static select_repeat repeat_in(scope *s, const select_labels *l, const int64_t *rows,
                               int32_t *work)
{
    const double m = (double)l->splits, half = kappa_of(s, l, 0, 1, rows, work),
                 crossed = 0.5 * (kappa_of(s, l, 2, 1, rows, work) +
                                  kappa_of(s, l, 3, 0, rows, work));
    double inst = 0, instp = 0, all = 0, squares = 0;

    for (int64_t r = 0; r < l->splits; r++) {
        const double refined = kappa_of(s, l, 4 + 4 * r, 5 + 4 * r, rows, work),
                     propagated = kappa_of(s, l, 6 + 4 * r, 7 + 4 * r, rows, work);
        inst += refined / m;
        instp += propagated / m;
        all += (refined + propagated) / 4;
        squares += (refined + propagated) * (refined + propagated) / 16;
    }
    return (select_repeat){.q = (inst + instp + half + crossed) / 4,
                           .sd = m > 1 ? sqrt(fmax(0, squares - all * all / m) / (m - 1))
                                       : 0};
}

select_repeat repeat_of(scope *s, const select_labels *l)
{
    return repeat_in(s, l, NULL, NEW(s, int32_t, 2 * l->n));
}

/* The same rows are drawn for every way: what differs is the ways. */
double *repeat_bootstrap(scope *s, int64_t n, int64_t n_ways, const select_labels *l)
{
    double *q = NEW(s, double, n_ways *SELECT_BOOTSTRAPS);
    int64_t *rows = NEW(s, int64_t, n);
    int32_t *work = NEW(s, int32_t, 2 * n);
    ferry_rng *rng = scope_rng(s, "select.bootstrap");

    for (int64_t b = 0; b < SELECT_BOOTSTRAPS; b++) {
        for (int64_t i = 0; i < n; i++)
            rows[i] = (int64_t)ferry_i_rng_below(rng, (uint64_t)n);
        for (int64_t w = 0; w < n_ways; w++) {
            const int64_t mark = scope_mark(s);
            if (l[w].y) q[w * SELECT_BOOTSTRAPS + b] = repeat_in(s, &l[w], rows, work).q;
            scope_release(s, mark);
        }
    }
    return q;
}

double repeat_error(const double *q, int64_t i, int64_t j, double sd_i, double sd_j)
{
    const double *a = q + i * SELECT_BOOTSTRAPS, *b = q + j * SELECT_BOOTSTRAPS;
    double mean = 0, var = 0;

    for (int64_t r = 0; r < SELECT_BOOTSTRAPS; r++)
        mean += (a[r] - b[r]) / SELECT_BOOTSTRAPS;
    for (int64_t r = 0; r < SELECT_BOOTSTRAPS; r++)
        var += pow(a[r] - b[r] - mean, 2) / (SELECT_BOOTSTRAPS - 1);
    return sqrt(var + sd_i * sd_i + sd_j * sd_j);
}

/* Forty labels' worth of trust in q against the m labels there are. */
double repeat_score(double q, int64_t m, int64_t hits)
{
    const double mu = fmin(fmax(0.626 + 0.484 * q, 0.02), 0.98);

    return (40 * mu + (double)hits) / (40 + (double)m);
}

bool labels_deny(int64_t c, int64_t m, int64_t hits)
{
    return m >= SELECT_FEW && hits * c < m;
}

/* The binomial tail from its end; logarithms, since share^m may be too small. */
bool labels_confirm(int64_t n, int64_t m, int64_t hits, double share)
{
    double p = 0, term = (double)m * log(share);

    if (m == 0 || share >= 1) return false;
    for (int64_t k = m; k >= hits; k--) {
        p += exp(term);
        term += log((double)k / (double)(m - k + 1)) + log((1 - share) / share);
    }
    return (double)n * p <= 0.05;
}
