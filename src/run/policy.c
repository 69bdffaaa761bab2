/* The policies' weights and promises (policy.h), with J candidates and n visible labels:
 *
 *   e_j = (sum_i E_ji + .5 Ebar) / (n + .5)                     errors, a little towards their common mean
 *   S   = sampling covariance of e: binomial variances, correlations of the rows shrunk to one common
 *         correlation by 15 / (15 + n), since few labels say little of them
 *   theta ~ N(level + o_f, 11' + com_f^2 [same family] + ind_f^2 [own])     level flat; o, com, ind by family
 *   theta | e ~ N(o + G (e - o), P - G P),  G = P (P + S)^-1
 *   w_j = share of 400 draws of theta in which j has the least error
 *
 * The common part of a family matters: four pooled learners are one chance to be lucky, not four. The numbers by
 * family were learned on other tasks (docs/trust.md). W = w if candidates with a source have 40 % of it and the average by w makes
 * fewer held-out errors than the average by w_T (numbers: by half a paired standard error); else W = w_T.
 *
 * A fit on a share m of the labels has errors that are larger by m^-b, b by family. The promise halves between
 * cross-fitted errors, where the weights for label i are made without it, and posterior means. The constants of its
 * intervals were set on tasks whose truth is known (docs/trust.md). */
#include "run/policy.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/ops.h"
#include "run/statistics.h"

enum { DRAWS = 400, COUNTERS = 64, FEW_LABELS = 500 };
static const double ENOUGH_WEIGHT = 0.4, TWO_PI = 6.283185307179586;

/* What is known of a ferry_family from other tasks: o, ind, com, and how errors fall with labels: b, and b from one label a
 * class to two. */
typedef struct prior {
    double offset, own, common, growth, first_growth;
} prior;

static const prior other_family = {.05, .04, .08, .2, .3};
static const prior of_classes[FERRY_FAMILIES] = {
    [FERRY_FAMILY_LINEAR] = {.0215, .0214, .0216, .2026, .2069},
    [FERRY_FAMILY_SEMI] = {-.008, .081, .0322, .1347, .1968},
    [FERRY_FAMILY_CLUSTERS] = {.0854, .081, .0975, .002, .1254},
    [FERRY_FAMILY_LOCAL] = {.0867, .081, .081, .4207, .3526},
    [FERRY_FAMILY_TREES] = {.0926, .081, .1009, 0, .25},
    [FERRY_FAMILY_POOLED] = {.1286, .0206, .2, 0, .1257},
    [FERRY_FAMILY_SOURCE] = {.2701, .081, .27, 0, .1117},
    [FERRY_FAMILY_PATH] = {.118, .1511, .2371, 0, .0199},
    [FERRY_FAMILY_JOINT] = {.0519, .0509, .0487, .1954, .1265},
};
static const prior of_numbers[FERRY_FAMILIES] = {
    [FERRY_FAMILY_LINEAR] = {-.0253, .043, .0432, .6184, .25},
    [FERRY_FAMILY_LOCAL] = {.0897, .05, .1, .4546, .25},
    [FERRY_FAMILY_TREES] = {.0816, .05, .1, .3874, .25},
    [FERRY_FAMILY_CONSTANT] = {.2912, .05, .1, .1317, .25},
    [FERRY_FAMILY_POOLED] = {.0258, .05, .1, .343, .25},
    [FERRY_FAMILY_SOURCE] = {.1281, .05, .1, .0938, .25},
    [FERRY_FAMILY_JOINT] = {-.0174, .05, .0432, .5671, .25},
};

static prior prior_of(ferry_family f, bool classes)
{
    const prior p = classes ? of_classes[f] : of_numbers[f];

    return p.own > 0 ? p : other_family;
}

static double growth_of(const held_out *e, int64_t j)
{
    const prior p = prior_of(e->family[j], e->classes);

    if (e->flat) return 0;
    return e->share < 0.55 ? p.first_growth : p.growth;
}

bool policy_sees_source(ferry_family f)
{
    return f >= FERRY_FAMILY_POOLED;
}

/* ---- what labels say: mean errors and their sampling covariance ---- */

/* Sums over the labels but one. */
typedef struct errors {
    int64_t n;
    double *mean, all; /* candidates, and of all of them */
    small cov;         /* S */
} errors;

static void mean_errors(const held_out *e, int64_t without, errors *out)
{
    out->all = 0;
    for (int64_t j = 0; j < e->candidates; j++) {
        double sum = 0;
        for (int64_t i = 0; i < e->n; i++)
            if (i != without) sum += e->error[j * e->n + i];
        out->mean[j] = sum / (double)out->n;
        out->all += out->mean[j] / (double)e->candidates;
    }
}

/* Products of the candidates' deviations over labels. */
static small deviations(scope *s, const held_out *e, int64_t without, const errors *m)
{
    const int64_t jn = e->candidates;
    small a = small_new(s, jn, jn);

    for (int64_t j = 0; j < jn; j++)
        for (int64_t k = 0; k <= j; k++) {
            double sum = 0;
            for (int64_t i = 0; i < e->n; i++)
                if (i != without)
                    sum += (e->error[j * e->n + i] - m->mean[j]) *
                           (e->error[k * e->n + i] - m->mean[k]);
            AT(a, j, k) = AT(a, k, j) = sum;
        }
    return a;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(scope *s, int64_t n, const double *x)
{
    double *sorted = COPY(s, x, n);

    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Variance of one label's error, pulled towards what all candidates have. */
static double *variances(scope *s, const held_out *e, small a, const errors *m)
{
    const int64_t jn = e->candidates;
    const double n = (double)m->n;
    double *v = NEW(s, double, jn);

    for (int64_t j = 0; j < jn; j++) {
        const double p = fmin(fmax((n * m->mean[j] + 2 * m->all) / (n + 2), .04), .96);
        v[j] = e->classes ? p * (1 - p) : AT(a, j, j) / (n - 1);
    }
    const double middle = median(s, jn, v);
    for (int64_t j = 0; j < jn; j++) {
        if (!e->classes) v[j] = (n * v[j] + 10 * middle) / (n + 10);
        v[j] = fmax(v[j], 1e-6);
    }
    return v;
}

/* R from products of deviations, in place; its mean off the diagonal. */
static double correlations(scope *s, small a)
{
    const int64_t jn = a.rows;
    double *length = NEW(s, double, jn), off = 0;

    for (int64_t j = 0; j < jn; j++)
        length[j] = AT(a, j, j) > 0 ? sqrt(AT(a, j, j)) : 1;
    for (int64_t j = 0; j < jn; j++)
        for (int64_t k = 0; k < jn; k++) {
            AT(a, j, k) = j == k ? 1 : AT(a, j, k) / length[j] / length[k];
            if (j != k) off += AT(a, j, k);
        }
    return jn > 1 ? off / (double)(jn * (jn - 1)) : 0;
}

static errors errors_of(scope *s, const held_out *e, int64_t without)
{
    errors m = {.n = e->n - (without >= 0), .mean = NEW(s, double, e->candidates)};

    mean_errors(e, without, &m);
    m.cov = deviations(s, e, without, &m);
    const double *v = variances(s, e, m.cov, &m), n = (double)m.n;
    const double off = correlations(s, m.cov), one = 15 / (15 + n);
    const double rho = fmin(fmax((n * off + 4) / (n + 8), .1), .9);
    for (int64_t j = 0; j < e->candidates; j++)
        for (int64_t k = 0; k < e->candidates; k++)
            AT(m.cov, j, k) = (one * (j == k ? 1 : rho) + (1 - one) * AT(m.cov, j, k)) *
                              sqrt(v[j] * v[k]) / n;
    return m;
}

/* ---- the posterior, and who is the best ---- */

/* Steele, Lea and Flood's mixer of 64-bit counters, as a number in [0, 1). */
static double counted(uint64_t k)
{
    uint64_t x = (k + 1) * UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}

/* Normal number of a draw and a place: the same in every run and on every machine, by Box and Muller. */
static double counted_normal(int64_t draw, int64_t place, int64_t places)
{
    const int64_t stride = places > COUNTERS ? places : COUNTERS;
    const uint64_t k = (uint64_t)(stride * draw + place);

    return sqrt(-2 * log(1 - counted(2 * k))) * cos(TWO_PI * counted(2 * k + 1));
}

/* P of the candidates `who`. */
static small prior_covariance(scope *s, const held_out *e, int64_t n, const int64_t *who)
{
    small p = small_new(s, n, n);

    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++) {
            const prior a = prior_of(e->family[who[j]], e->classes);
            const prior b = prior_of(e->family[who[k]], e->classes);
            const bool same = e->family[who[j]] == e->family[who[k]];
            AT(p, j, k) =
                1 + (same ? a.common * b.common : 0) + (j == k ? a.own * a.own : 0);
        }
    return p;
}

/* mu <- posterior means, c <- covariance; c holds P before. */
static void posterior(scope *s, const held_out *e, const errors *m, int64_t n,
                      const int64_t *who, small c, double *mu)
{
    const double labels = (double)m->n;
    small sum = small_new(s, n, n);
    block g = block_new(s, HERE(n), n, n + 1); /* (P + S)^-1 [P, e - o] */

    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < n; k++) {
            AT(sum, j, k) = AT(c, j, k) + AT(m->cov, who[j], who[k]);
            ROW(g, j)[k] = AT(c, j, k);
        }
        mu[j] = prior_of(e->family[who[j]], e->classes).offset;
        ROW(g, j)[n] = (labels * m->mean[who[j]] + .5 * m->all) / (labels + .5) - mu[j];
    }
    if (!cholesky(s, sum))
        scope_fail(s, FERRY_ENUMERIC, "the candidates' errors have no covariance");
    cholesky_solve(s, sum, g);
    small p = small_new(s, n, n);
    memcpy(p.at, c.at, (size_t)(n * n) * sizeof *p.at);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            mu[j] += AT(p, j, i) * ROW(g, i)[n];
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k <= j; k++) {
            double one = 0, other = 0;
            for (int64_t i = 0; i < n; i++) {
                one += AT(p, j, i) * ROW(g, i)[k];
                other += AT(p, k, i) * ROW(g, i)[j];
            }
            AT(c, j, k) = AT(c, k, j) = AT(p, j, k) - (one + other) / 2;
        }
}

/* Share of draws in which each of n has the least error. */
static void chances(scope *s, int64_t n, const double *mu, small c, double *w)
{
    double *z = NEW(s, double, n);

    for (int64_t j = 0; j < n; j++)
        AT(c, j, j) += 1e-8;
    if (!cholesky(s, c))
        scope_fail(s, FERRY_ENUMERIC, "the candidates' errors have no spread");
    for (int64_t d = 0; d < DRAWS; d++) {
        int64_t best = 0;
        double least = INFINITY;
        for (int64_t j = 0; j < n; j++)
            z[j] = counted_normal(d, j, n);
        for (int64_t j = 0; j < n; j++) {
            double x = mu[j];
            for (int64_t k = 0; k <= j; k++)
                x += AT(c, j, k) * z[k];
            if (x < least) {
                least = x;
                best = j;
            }
        }
        w[best] += 1. / DRAWS;
    }
}

/* Weights and posterior means of those that may be taken; 0 and NaN of the others. */
static void policy_of(scope *s, const held_out *e, const errors *m, bool source, double *w,
                      double *mu)
{
    const int64_t mark = scope_mark(s);
    int64_t *who = NEW(s, int64_t, e->candidates), n = 0;

    for (int64_t j = 0; j < e->candidates; j++) {
        w[j] = 0;
        mu[j] = NAN;
        if (source || !policy_sees_source(e->family[j])) who[n++] = j;
    }
    double *weight = NEW(s, double, n), *mean = NEW(s, double, n);
    if (n > 0) {
        small c = prior_covariance(s, e, n, who);
        posterior(s, e, m, n, who, c, mean);
        chances(s, n, mean, c, weight);
    }
    for (int64_t j = 0; j < n; j++) {
        w[who[j]] = weight[j];
        mu[who[j]] = mean[j];
    }
    scope_release(s, mark);
}

void policy_prior(scope *s, int64_t n, const ferry_family *family, const bool *may,
                  bool classes, double *w)
{
    const held_out e = {.candidates = n, .classes = classes, .family = family};
    int64_t *who = NEW(s, int64_t, n), m = 0;
    double *mu = NEW(s, double, n), *weight = NEW(s, double, n);

    for (int64_t j = 0; j < n; j++) {
        w[j] = 0;
        if (may && !may[j]) continue;
        mu[m] = prior_of(family[j], classes).offset;
        who[m++] = j;
    }
    if (m > 0) chances(s, m, mu, prior_covariance(s, &e, m, who), weight);
    for (int64_t j = 0; j < m; j++)
        w[who[j]] = weight[j];
}

/* Error of the weighted average on label i. */
static double average_error(const held_out *e, const double *w, int64_t i)
{
    double best = -INFINITY, squares = 0;
    int64_t at = 0;

    for (int64_t c = 0; c < e->k; c++) {
        double p = 0;
        for (int64_t j = 0; j < e->candidates; j++)
            p += w[j] * e->p[(j * e->n + i) * e->k + c];
        if (p > best) {
            best = p;
            at = c;
        }
        if (e->classes) continue;
        const double d = p - e->y[i * e->k + c];
        squares += d * d;
    }
    return e->classes ? at != e->cls[i] : squares / (double)e->k / e->variance;
}

/* Whether the average by w makes fewer errors than that by t, label by label. */
static bool leads(const held_out *e, const double *w, const double *t, int64_t without)
{
    double sum = 0, squares = 0, n = 0;

    for (int64_t i = 0; i < e->n; i++) {
        if (i == without) continue;
        const double d = average_error(e, w, i) - average_error(e, t, i);
        sum += d;
        squares += d * d;
        n++;
    }
    const double mean = sum / n, v = fmax(0, squares / n - mean * mean);
    return mean < -(e->classes ? 1e-12 : .5 * sqrt(v / n));
}

policies policy_weights(scope *s, const held_out *e, int64_t without)
{
    const int64_t jn = e->candidates;
    policies p = {.w = NEW(s, double, jn),
                  .t = NEW(s, double, jn),
                  .mu = NEW(s, double, jn),
                  .growth = NEW(s, double, jn)};
    const int64_t mark = scope_mark(s);
    const errors m = errors_of(s, e, without);
    int64_t sources = 0;

    for (int64_t j = 0; j < jn; j++) {
        sources += policy_sees_source(e->family[j]);
        p.growth[j] = growth_of(e, j);
    }
    policy_of(s, e, &m, false, p.t, p.mu);
    if (sources > 0) policy_of(s, e, &m, true, p.w, p.mu);
    for (int64_t j = 0; j < jn; j++)
        if (policy_sees_source(e->family[j])) p.omega += p.w[j];
    if (sources == 0)
        p.why = POLICY_NO_SOURCE;
    else if (sources < jn && p.omega < ENOUGH_WEIGHT)
        p.why = POLICY_SHARE;
    else if (sources < jn && !leads(e, p.w, p.t, without))
        p.why = POLICY_NO_LEAD;
    if (p.why != POLICY_USES_SOURCE) memcpy(p.w, p.t, (size_t)jn * sizeof *p.w);
    scope_release(s, mark);
    return p;
}

/* ---- what is promised ---- */

/* PHI for intervals up to 90 %; tails are heavier than a Beta's, so that those of 95 % need more (docs/trust.md). */
static const double PHI = 1.1, PHI_95 = 1.5, PHI_DIFFERENCE = .9, PHI_NUMBERS = 2.2;

static double mean_of(int64_t n, const double *x)
{
    return ferry_i_mean(n, x);
}

/* n in the denominator. */
static double variance_of(int64_t n, const double *x)
{
    const double mean = mean_of(n, x);
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (double)n;
}

/* The error of a policy on new data: cross-fitted errors and posterior means, along the learning curve. */
static double point(const held_out *e, const policies *p, const double *w,
                    const double *row)
{
    const double half = e->classes ? .5 : 1;
    double mu = 0, b = 0;

    for (int64_t j = 0; j < e->candidates; j++) {
        if (!isnan(p->mu[j])) mu += w[j] * p->mu[j];
        b += w[j] * p->growth[j];
    }
    return (half * mean_of(e->n, row) + (1 - half) * mu) * pow(e->share, b);
}

static expected interval(const held_out *e, double at, const double *row, double level)
{
    const double n = (double)e->n, tail = (1 - level) / 2;
    const double nu = n / (level > .91 ? PHI_95 : PHI);

    if (e->classes) {
        at = fmin(fmax(at, .25 / n), 1 - .25 / n);
        const double a = at * nu + .5, b = (1 - at) * nu + .5;
        return (expected){at, ferry_i_beta_quantile(tail, a, b),
                          ferry_i_beta_quantile(1 - tail, a, b)};
    }
    const double v = variance_of(e->n, row) * n / (n - 1);
    const double z = ferry_i_student_t(1 - level, INFINITY) * sqrt(PHI_NUMBERS * v / n) /
                     fmax(mean_of(e->n, row), 1e-9);
    at = fmax(at, 1e-9);
    return (expected){at, at * exp(-z), at * exp(z)};
}

/* W less T: pulled towards 0, since it was chosen because it looked good. */
static expected worth(scope *s, const held_out *e, double d, const promise *out,
                      double level)
{
    const double n = (double)e->n;
    double *x = NEW(s, double, e->n);

    for (int64_t i = 0; i < e->n; i++)
        x[i] = out->w_row[i] - out->t_row[i];
    const double v = variance_of(e->n, x);
    const double own = (n * v + 4 * (e->classes ? .15 : v)) / (n + 4);
    const double half = ferry_i_student_t(1 - level, INFINITY) *
                        sqrt(PHI_DIFFERENCE * (e->classes ? 1 : 4) * own / n);
    return (expected){d, d - half, d + half};
}

promise policy_promise(scope *s, const held_out *e, const policies *p, double level)
{
    const double n = (double)e->n;
    const bool same = p->why != POLICY_USES_SOURCE;
    promise out = {.w_row = NEW(s, double, e->n), .t_row = NEW(s, double, e->n)};
    const int64_t mark = scope_mark(s);

    for (int64_t i = 0; i < e->n; i++) {
        /* one label of so many changes no weight, and each costs time that grows with them */
        const policies q = e->n > FEW_LABELS ? *p : policy_weights(s, e, i);
        out.w_row[i] = average_error(e, q.w, i);
        out.t_row[i] = average_error(e, q.t, i);
        scope_release(s, mark);
    }
    const double w = point(e, p, p->w, out.w_row), t = point(e, p, p->t, out.t_row);
    const double d = same ? 0 : (w - t) * (e->classes ? n / (n + 6) : 1);
    out.w = interval(e, (w + t) / 2 + d / 2, out.w_row, level);
    out.t = interval(e, (w + t) / 2 - d / 2, out.t_row, level);
    out.difference = same ? (expected){0, 0, 0} : worth(s, e, d, &out, level);
    scope_release(s, mark);
    return out;
}

/* ---- names of classes ---- */

/* From the identity on, exchanges of two names as long as one makes more of them right. counts: k x k, predicted by
 * true. */
static void best_names(int64_t k, const double *counts, int32_t *name)
{
    for (int64_t c = 0; c < k; c++)
        name[c] = (int32_t)c;
    for (;;) {
        double most = 0;
        int64_t one = -1, other = -1;
        for (int64_t a = 0; a < k; a++)
            for (int64_t b = a + 1; b < k; b++) {
                const double gain = counts[a * k + name[b]] + counts[b * k + name[a]] -
                                    counts[a * k + name[a]] - counts[b * k + name[b]];
                if (gain > most) {
                    most = gain;
                    one = a;
                    other = b;
                }
            }
        if (one < 0) return;
        const int32_t swap = name[one];
        name[one] = name[other];
        name[other] = swap;
    }
}

/* The class that those who go by names of the source find likeliest together, on average. */
static int32_t *named_by_source(scope *s, const held_out *e)
{
    int32_t *cls = NEW(s, int32_t, e->n);
    int64_t asked = 0;

    for (int64_t j = 0; j < e->candidates; j++)
        asked += e->family[j] == FERRY_FAMILY_SOURCE || e->family[j] == FERRY_FAMILY_PATH;
    if (asked == 0) return NULL;
    for (int64_t i = 0; i < e->n; i++) {
        double best = -INFINITY;
        for (int64_t c = 0; c < e->k; c++) {
            double p = 0;
            for (int64_t j = 0; j < e->candidates; j++)
                if (e->family[j] == FERRY_FAMILY_SOURCE ||
                    e->family[j] == FERRY_FAMILY_PATH)
                    p += e->p[(j * e->n + i) * e->k + c];
            if (p > best) {
                best = p;
                cls[i] = (int32_t)c;
            }
        }
    }
    return cls;
}

/* Names that suit the labels of other folds than f, or of all (-1). */
static void names_without(scope *s, const held_out *e, const int32_t *cls,
                          const int32_t *fold, int32_t f, int32_t *name)
{
    double *counts = NEW(s, double, e->k * e->k);

    for (int64_t i = 0; i < e->n; i++)
        if (f < 0 || fold[i] != f) counts[cls[i] * e->k + e->cls[i]]++;
    best_names(e->k, counts, name);
}

bool policy_names(scope *s, const held_out *e, const int32_t *fold, names_found *out)
{
    *out = (names_found){.p = 1, .exchange = NEW(s, int32_t, e->k)};
    const int32_t *cls = e->classes ? named_by_source(s, e) : NULL;
    int32_t *name = NEW(s, int32_t, e->k), folds = 0;
    int64_t more = 0, fewer = 0;

    if (!cls) return false;
    for (int64_t i = 0; i < e->n; i++)
        if (fold[i] >= folds) folds = fold[i] + 1;
    for (int32_t f = 0; f < folds; f++) {
        names_without(s, e, cls, fold, f, name);
        for (int64_t i = 0; i < e->n; i++) {
            if (fold[i] != f) continue;
            const bool own = cls[i] == e->cls[i], other = name[cls[i]] == e->cls[i];
            out->given += own;
            out->exchanged += other;
            more += other && !own;
            fewer += own && !other;
        }
    }
    if (more + fewer > 0) { /* sign test: the upper tail of a fair coin */
        const double m = (double)(more + fewer);
        out->p = 0;
        for (int64_t i = more; i <= more + fewer; i++)
            out->p += exp(lgamma(m + 1) - lgamma((double)i + 1) -
                          lgamma(m - (double)i + 1) - m * log(2));
    }
    names_without(s, e, cls, fold, -1, out->exchange);
    return true;
}

/* ---- folds ---- */

typedef struct card {
    double value; /* class or number */
    uint64_t key;
    int64_t at;
} card;

static int by_value(const void *a, const void *b)
{
    const card *x = a, *y = b;

    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_key(const void *a, const void *b)
{
    const card *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

int64_t balanced_folds(scope *s, int64_t n, const int32_t *cls, const uint64_t *key,
                       int64_t most, int32_t *fold)
{
    card *deck = NEW(s, card, n);
    int64_t folds = most, first = 0;
    bool any = false;

    for (int64_t i = 0; i < n; i++)
        deck[i] = (card){cls[i], key[i], i};
    qsort(deck, (size_t)n, sizeof *deck, by_value);
    for (int64_t i = 1; i <= n; i++) { /* the smallest class that has two */
        if (i < n && deck[i].value == deck[first].value) continue;
        any = any || i - first > 1;
        if (i - first > 1 && i - first < folds) folds = i - first;
        first = i;
    }
    first = 0;
    for (int64_t i = 0; i < n; i++) {
        if (deck[i].value != deck[first].value) first = i;
        const bool alone =
            (i == first) && (i + 1 == n || deck[i + 1].value != deck[i].value);
        fold[deck[i].at] = alone ? -1 : (int32_t)((i - first) % folds);
    }
    return any ? folds : 0;
}

int64_t ordered_folds(scope *s, int64_t n, const double *y, const uint64_t *key,
                      int64_t most, int32_t *fold)
{
    card *deck = NEW(s, card, n);
    const int64_t folds = n < most ? n : most;

    for (int64_t i = 0; i < n; i++)
        deck[i] = (card){y[i], key[i], i};
    qsort(deck, (size_t)n, sizeof *deck, by_value);
    for (int64_t i = 0; i < n; i += folds) {
        const int64_t count = n - i < folds ? n - i : folds;
        qsort(deck + i, (size_t)count, sizeof *deck, by_key);
        for (int64_t k = 0; k < count; k++)
            fold[deck[i + k].at] = (int32_t)k;
    }
    return folds > 1 ? folds : 0;
}
