/* GBC's formulas (Shi, Heterogeneous Learning and Its Applications, thesis 2013, chapter
 * 3), with what docs/methods/gbc.md says about them. */
#include "methods/gbc/formulas.h"

#include <math.h>
#include <string.h>

double ferry_i_gbc_sigmoid(double f)
{
    return f >= 0 ? 1 / (1 + exp(-f)) : exp(f) / (1 + exp(f));
}

/* log(1 + exp(m)) without overflow. */
static double softplus(double m)
{
    return m > 0 ? m + log1p(exp(-m)) : log1p(exp(m));
}

double ferry_i_gbc_loss(bool logistic, double f, double y)
{
    return logistic ? softplus(-y * f) : (f - y) * (f - y);
}

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

/* One term lambda L(f, target) of an unlabelled instance: adds to z and c. */
static void add_term(const gbc_problem *g, double lambda, double f, double target,
                     double *z, double *c)
{
    if (!g->logistic) {
        *z += 2 * lambda * (target - f);
        *c += 2 * lambda;
    } else {
        const double s = ferry_i_gbc_sigmoid(g->soft ? f : target * f);
        *z += lambda * (g->soft ? target - s : target * (1 - s));
        *c += lambda * (g->soft ? 1 : target * target) * s * (1 - s);
    }
}

/* The target of the consensus: E itself, or its probability. */
static double consensus_target(const gbc_problem *g, double e)
{
    return g->logistic && g->soft ? ferry_i_gbc_sigmoid(e) : e;
}

void ferry_i_gbc_gradient_at(const gbc_problem *g, int64_t x, int64_t j, double f,
                             const double *e, const int32_t *sources, const double *et,
                             const uint8_t *has, double *z, double *c)
{
    const int64_t at = x * g->k + j;

    *z = *c = 0;
    if (g->labelled[x] && g->logistic) {
        const double s = ferry_i_gbc_sigmoid(g->y[at] * f);
        *z = g->y[at] * (1 - s);
        *c = s * (1 - s);
    } else if (g->labelled[x]) {
        *z = 2 * (g->y[at] - f);
        *c = 2;
    } else {
        if (g->lambda0 > 0 && sources[x] >= 2)
            add_term(g, g->lambda0, f, consensus_target(g, e[at]), z, c);
        if (g->lambda1 > 0 && has[x]) add_term(g, g->lambda1, f, et[at], z, c);
    }
}

/* First and second derivative of -L_i(f + rho d) by rho. */
static void along(const gbc_problem *g, int64_t i, const double *f, const double *e,
                  const int32_t *sources, const double *et, const uint8_t *has,
                  const double *d, double rho, double *first, double *second)
{
    double z = 0, c = 0;

    *first = *second = 0;
    for (int64_t x = 0; x < g->n; x++) {
        if (!has_instance(g, i, x)) continue;
        for (int64_t j = 0; j < g->k; j++) {
            const int64_t at = x * g->k + j;
            ferry_i_gbc_gradient_at(g, x, j, f[at] + rho * d[at], e, sources, et, has, &z,
                                    &c);
            *first += z * d[at];
            *second += c * d[at] * d[at];
        }
    }
}

/* Squared loss: rho = sum z d / sum c d^2. Logistic: the root of a function that falls, by
 * Newton's steps within [0, 50]. */
double ferry_i_gbc_line(const gbc_problem *g, int64_t i, const double *f, const double *e,
                        const int32_t *sources, const double *et, const uint8_t *has,
                        const double *d)
{
    double lo = 0, hi = 50, rho = 0, first = 0, second = 0;

    along(g, i, f, e, sources, et, has, d, 0, &first, &second);
    if (!g->logistic) return second > 0 ? first / second : 0;
    if (first <= 0) return 0;
    for (int step = 0; step < 200 && hi - lo > 1e-14 * hi; step++) {
        double next = second > 0 ? rho + first / second : hi;
        if (!(next > lo && next < hi)) next = step == 0 ? hi : lo + (hi - lo) / 2;
        if (next == rho) break;
        rho = next;
        along(g, i, f, e, sources, et, has, d, rho, &first, &second);
        if (first > 0)
            lo = rho;
        else
            hi = rho;
        if (first == 0) break;
    }
    return rho;
}

double ferry_i_gbc_source_loss(const gbc_problem *g, int64_t i, const double *f)
{
    double sum = 0;
    int64_t count = 0;

    for (int64_t x = 0; x < g->n; x++) {
        if (!g->labelled[x] || !has_instance(g, i, x)) continue;
        count++;
        for (int64_t j = 0; j < g->k; j++)
            sum += ferry_i_gbc_loss(g->logistic, f[x * g->k + j], g->y[x * g->k + j]);
    }
    return count > 0 ? sum / (double)(count * g->k) : NAN;
}

void ferry_i_gbc_average(const gbc_problem *g, double *const *f, const double *w,
                         const double *f0, double *score, uint8_t *known)
{
    const int64_t k = g->k;

    for (int64_t x = 0; x < g->n; x++) {
        double sum = 0, *to = score + x * k;
        memset(to, 0, (size_t)k * sizeof *to);
        for (int64_t i = 0; i < g->p; i++) {
            if (!has_instance(g, i, x)) continue;
            sum += w[i];
            for (int64_t j = 0; j < k; j++)
                to[j] += w[i] * f[i][x * k + j];
        }
        known[x] = sum > 0;
        for (int64_t j = 0; j < k; j++)
            to[j] = sum > 0 ? to[j] / sum : f0[j];
    }
}

/* ---- weights ---- */

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

void ferry_i_gbc_skill(int64_t n, const double *loss, double l0, double *w)
{
    (void)fill(n, loss, w);
    for (int64_t i = 0; i < n; i++)
        w[i] = l0 > 0 && w[i] < l0 ? 1 - w[i] / l0 : 0;
    share(n, w);
}
