/* GBC's formulas, each a function of plain arrays (Shi, Heterogeneous Learning and Its
 * Applications, thesis 2013, chapter 3, with the corrections that docs/methods/gbc.md
 * tells): sums are over what is there, so that sources may lack instances. */
#include <math.h>
#include <string.h>

#include "methods/gbc/gbc.h"

/* Whether source i has instance x. */
static bool has_instance(const gbc_problem *g, int64_t i, int64_t x)
{
    return g->mask[i * g->n + x] != 0;
}

/* E(x) = sum_i w_i f_i(x) / sum_i w_i over the sources that have x (3.2, renormalised). */
void ferry_i_gbc_consensus(const gbc_problem *g, double *const *f, const double *w,
                           double *e, int32_t *sources)
{
    const int64_t k = g->k;

    for (int64_t x = 0; x < g->n; x++) {
        double sum = 0;
        sources[x] = 0;
        memset(e + x * k, 0, (size_t)k * sizeof *e);
        for (int64_t i = 0; i < g->p; i++) {
            if (!has_instance(g, i, x)) continue;
            sources[x]++;
            sum += w[i];
            for (int64_t j = 0; j < k; j++)
                e[x * k + j] += w[i] * f[i][x * k + j];
        }
        for (int64_t j = 0; sum > 0 && j < k; j++)
            e[x * k + j] /= sum;
    }
}

/* One term lambda L(f, target) adds to z and c:
 *   squared          z = 2 lambda (E - f)          c = 2 lambda
 *   soft targets     z = lambda (s(E) - s(f))      c = lambda s(f) s(-f)
 *   margin (thesis)  z = lambda E s(-E f)          c = lambda E^2 s(E f) s(-E f) */
static void add_term(const gbc_problem *g, double lambda, double f, double target,
                     double *z, double *c)
{
    if (!g->logistic) {
        *z += 2 * lambda * (target - f);
        *c += 2 * lambda;
    } else {
        const double s = ferry_i_sigmoid(g->soft ? f : target * f);
        *z += lambda * (g->soft ? target - s : target * (1 - s));
        *c += lambda * (g->soft ? 1 : target * target) * s * (1 - s);
    }
}

/* An instance in one source only has no consensus: E would be f itself. */
static bool has_consensus(const gbc_problem *g, const gbc_targets *t, int64_t x)
{
    return g->lambda0 > 0 && t->sources[x] >= 2;
}

static bool has_neighbours(const gbc_problem *g, const gbc_targets *t, int64_t i, int64_t x)
{
    return g->lambda1 > 0 && t->has[i][x];
}

bool ferry_i_gbc_counts(const gbc_problem *g, const gbc_targets *t, int64_t i, int64_t x)
{
    return has_consensus(g, t, x) || has_neighbours(g, t, i, x);
}

/* The target of the consensus is E itself or its probability; Et is either already. */
void ferry_i_gbc_term(const gbc_problem *g, const gbc_targets *t, int64_t i, int64_t x,
                      int64_t j, double f, double *z, double *c)
{
    const int64_t at = x * g->k + j;

    *z = *c = 0;
    if (has_consensus(g, t, x)) {
        const double e = t->e[at];
        add_term(g, g->lambda0, f, g->logistic && g->soft ? ferry_i_sigmoid(e) : e, z, c);
    }
    if (has_neighbours(g, t, i, x)) add_term(g, g->lambda1, f, t->et[i][at], z, c);
}

/* l <- the losses, NaN as the mean of the others. Their mean, NaN without any. */
static double fill(int64_t n, const double *loss, double *l)
{
    double mean = 0;
    int64_t known = 0;

    for (int64_t i = 0; i < n; i++)
        if (!isnan(loss[i])) {
            mean += loss[i];
            known++;
        }
    mean = known > 0 ? mean / (double)known : NAN;
    for (int64_t i = 0; i < n; i++)
        l[i] = isnan(loss[i]) ? mean : loss[i];
    return mean;
}

/* w to sum 1; equal when all are 0. */
static void share(int64_t n, double *w)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += w[i];
    for (int64_t i = 0; i < n; i++)
        w[i] = sum > 0 ? w[i] / sum : 1 / (double)n;
}

/* sum_i exp(-s l_i) falls from n to 0: one root s = 1/z, by bisection. */
void ferry_i_gbc_root(int64_t n, const double *loss, double *w)
{
    const double mean = fill(n, loss, w);
    double least = INFINITY, lo = 0, hi = 0;

    for (int64_t i = 0; i < n; i++) {
        w[i] = mean > 0 ? w[i] / mean : 0;
        least = fmin(least, w[i]);
    }
    if (n == 1 || !(least > 0)) { /* exact zeros share all the weight */
        for (int64_t i = 0; i < n; i++)
            w[i] = n == 1 || !(w[i] > 0);
        share(n, w);
        return;
    }
    hi = log((double)n) / least;
    for (int step = 0; step < 2000; step++) {
        const double s = lo + (hi - lo) / 2;
        double sum = 0;
        if (s <= lo || s >= hi) break;
        for (int64_t i = 0; i < n; i++)
            sum += exp(-s * w[i]);
        if (sum > 1)
            lo = s;
        else
            hi = s;
    }
    for (int64_t i = 0; i < n; i++)
        w[i] = exp(-(lo + (hi - lo) / 2) * w[i]);
}

/* Sharper than the root rule: right when one view is noise, wrong when all are good. */
void ferry_i_gbc_softmax(int64_t n, const double *loss, double *w)
{
    const double mean = fill(n, loss, w);
    double least = INFINITY;

    for (int64_t i = 0; i < n; i++)
        least = fmin(least, w[i]);
    for (int64_t i = 0; i < n; i++)
        w[i] = mean > 0 ? exp(-8 * (w[i] - least) / mean) : 1;
    share(n, w);
}

/* What the view's loss gains over that of a constant: no temperature to choose. */
void ferry_i_gbc_skill(int64_t n, const double *loss, double l0, double *w)
{
    (void)fill(n, loss, w);
    for (int64_t i = 0; i < n; i++)
        w[i] = l0 > 0 && w[i] < l0 ? 1 - w[i] / l0 : 0;
    share(n, w);
}
