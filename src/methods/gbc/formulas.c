/* GBC's formulas, each a function of plain arrays (Shi, Heterogeneous Learning and Its
 * Applications, thesis 2013, chapter 3, with the corrections that docs/methods/gbc.md
 * tells): sums are over what is there, so that sources may lack instances. Three
 * corrections matter most. E and Et_i are divided by the weights that are there, so that
 * for squared loss the gradient through E vanishes exactly and may be left out. The
 * gradient is per instance: the printed sums over x are an error. The thesis' log(1 +
 * exp(-E f)) has its minimum at f = sign(E) infinity, not at f = E: it is self-training.
 * Soft targets, cross-entropy with s(E), have it at f = E. */
#include <math.h>
#include <string.h>

#include "methods/gbc/gbc.h"

/* Whether source i has instance x. */
static bool has_instance(const gbc_problem *g, int64_t i, int64_t x)
{
    return g->mask[i * g->n + x] != 0;
}

/* E(x) = sum_i w_i f_i(x) / sum_i w_i over the sources that have x (3.2, renormalised). For
 * instances of no source E is 0 and sources is 0, which has_consensus() asks for. Cost: n p
 * k. */
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
        /* Weights may all be 0 (no view has skill): then E stays 0. */
        for (int64_t j = 0; sum > 0 && j < k; j++)
            e[x * k + j] /= sum;
    }
}

/* One term lambda L(f, target) adds to z and c:
 *   squared          z = 2 lambda (E - f)          c = 2 lambda
 *   soft targets     z = lambda (s(E) - s(f))      c = lambda s(f) s(-f)
 *   margin (thesis)  z = lambda E s(-E f)          c = lambda E^2 s(E f) s(-E f)
 * s is the logistic function. c is the curvature that a Newton leaf G / H divides by; it is
 * not negative in all three, so a leaf never steps uphill. */
static void add_term(const gbc_problem *g, double lambda, double f, double target,
                     double *z, double *c)
{
    if (!g->logistic) {
        *z += 2 * lambda * (target - f);
        *c += 2 * lambda;
    } else {
        /* One logistic function serves both: of f, or of the margin E f. */
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

/* An instance without edges, or whose neighbours source i lacks, has no Et_i. */
static bool has_neighbours(const gbc_problem *g, const gbc_targets *t, int64_t i, int64_t x)
{
    return g->lambda1 > 0 && t->has[i][x];
}

/* Boosting asks this first: a row without any term gets no gradient and is left out of the
 * trees. */
bool ferry_i_gbc_counts(const gbc_problem *g, const gbc_targets *t, int64_t i, int64_t x)
{
    return has_consensus(g, t, x) || has_neighbours(g, t, i, x);
}

/* The target of the consensus is E itself or its probability; Et is either already. In soft
 * mode Et is a mean of probabilities, not s(mean of scores): neighbours that disagree
 * should give 1/2, however large their scores are. */
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

/* l <- the losses, NaN as the mean of the others. Their mean, NaN without any. NaN is the
 * loss of a source without labelled rows. The mean is neutral: neither trusted nor
 * blamed. */
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

/* w to sum 1; equal when all are 0. In place. */
static void share(int64_t n, double *w)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += w[i];
    for (int64_t i = 0; i < n; i++)
        w[i] = sum > 0 ? w[i] / sum : 1 / (double)n;
}

/* sum_i exp(-s l_i) falls from n to 0: one root s = 1/z, by bisection. (3.10) leaves its
 * constants open. Read literally it is this equation: free of scale, since l is divided by
 * its mean first, sums to 1 by construction and cannot underflow. l = (1, 2) gives (.618,
 * .382), the golden section. loss and w may be the same array. */
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
    /* At s = log(n) / least every term is at most 1/n: the root lies below. */
    hi = log((double)n) / least;
    for (int step = 0; step < 2000; step++) {
        const double s = lo + (hi - lo) / 2;
        double sum = 0;
        /* No number is left between the ends: done to the last bit. */
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

/* Sharper than the root rule: right when one view is noise, wrong when all are good. It
 * goes with held-out losses: by training losses it prefers the view that overfits most. */
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

/* What the view's loss gains over that of a constant: no temperature to choose. w = max(0,
 * 1 - l / l0): share of the constant's loss that the view takes away. A view of pure noise
 * gets 0. Among eight rules close to the best on two data sets. */
void ferry_i_gbc_skill(int64_t n, const double *loss, double l0, double *w)
{
    (void)fill(n, loss, w);
    for (int64_t i = 0; i < n; i++)
        w[i] = l0 > 0 && w[i] < l0 ? 1 - w[i] / l0 : 0;
    share(n, w);
}
