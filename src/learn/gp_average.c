/* Gaussian processes of few rows, averaged by marginal likelihood: nothing is optimised, so that nothing overfits.
 *
 *   kernels   z'z / d;  exp(-|z - z'|^2 / (2 d l^2)), l = .5, 1, 2;  half and half with the first
 *             plus slope q'q / c of what another model says (standardised), plus 1 where its answers are the start
 *   noise     s: ratio of signal to noise, 10 values with 0; the noise itself profiled, with one row's worth of the
 *             labels' variance v:  s2 = (sum T^2 / (s e + 1) + c v) / (c (n + 1)),  K = U diag(e) U', T = U'R
 *   weight    of (kernel, s):  -(n + 1) c / 2 log s2 - c / 2 sum log(s e + 1);  s = 0 counts once, for all kernels
 *   left out  R_i - a_i / [(s K + I)^-1]_ii, a = (s K + I)^-1 R: as if fitted without row i */
#include "learn/gp_average.h"

#include <math.h>
#include <string.h>

enum { RATIOS = 10 };
static const double ratios[RATIOS] = {0, .003, .01, .03, .1, .3, 1, 3, 10, 30};
static const double lengths[GP_KERNELS] = {0, .5, .5, 1, 1, 2, 2}; /* 0: products alone */

static const field gp_fields[] = {
    VALUE(gp_average, FLAG, offset),
    ARRAY(gp_average, REAL, slope, .lo = 0, .hi = 1e6),
    VALUE(gp_average, REAL, spread),
    ARRAY(gp_average, BLOCK, z, .rows = SIZE(gp_average, n), .cols = SIZE(gp_average, d)),
    ARRAY(gp_average, BLOCK, q, .rows = SIZE(gp_average, n), .cols = SIZE(gp_average, c),
          .optional = true),
    ARRAY(gp_average, REALS, centre, .rows = SIZE(gp_average, c), .optional = true),
    ARRAY(gp_average, REALS, mean, .rows = SIZE(gp_average, c)),
    ARRAY(gp_average, BLOCK, alpha, .rows = SIZE(gp_average, n),
          .cols = SIZE(gp_average, wide)),
};

static void gp_check(scope *s, const void *state)
{
    const gp_average *m = state;

    if ((m->slope > 0) != (m->q.at != NULL) || (m->slope > 0 && !m->centre) ||
        (m->slope > 0 && !(m->spread > 0)))
        scope_fail(s, FERRY_EDATA, "a slope without what it is the slope of");
    if (m->wide != GP_KERNELS * m->c)
        scope_fail(s, FERRY_EDATA, "%lld coefficients of %lld kernels", (long long)m->wide,
                   (long long)GP_KERNELS * m->c);
}
const table gp_average_table = {sizeof(gp_average), gp_fields, FERRY_COUNT(gp_fields),
                                gp_check, NULL};

/* ---- kernels ---- */

/* k_b of two rows: from the products of z, their squared distance (both over d) and the products of q (over c). */
static double kernel_value(const gp_average *m, int b, double product, double distance,
                           double other)
{
    const double l = lengths[b];
    const double rbf = l > 0 ? exp(-distance / (2 * l * l)) : 0;
    const double k = l == 0 ? product : b % 2 ? rbf : (rbf + product) / 2;

    return k + m->slope * other + (m->offset ? 1 : 0);
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* out[b] for row z (and q) against row j of the model. */
static void kernel_row(const gp_average *m, const double *z, const double *q, int64_t j,
                       double *out)
{
    const double d = m->d > 0 ? (double)m->d : 1;
    const double zz = dot(m->d, z, z), ww = dot(m->d, ROW(m->z, j), ROW(m->z, j));
    const double zw = dot(m->d, z, ROW(m->z, j));
    const double other = q ? dot(m->q.k, q, ROW(m->q, j)) / (double)m->q.k : 0;

    for (int b = 0; b < GP_KERNELS; b++)
        out[b] = kernel_value(m, b, zw / d, fmax(zz + ww - 2 * zw, 0) / d, other);
}

/* Answers of the other model, standardised. */
static block standardised(scope *s, const gp_average *m, block p)
{
    const block q = block_like(s, p);

    for (int64_t i = 0; i < p.n; i++)
        for (int64_t k = 0; k < p.k; k++)
            ROW(q, i)[k] = (ROW(p, i)[k] - m->centre[k]) / m->spread;
    return q;
}

/* Mean of each column; the mean of their deviations. */
static double spread_of(block p, double *mean)
{
    double all = 0, size = 0;

    memset(mean, 0, (size_t)p.k * sizeof *mean);
    for (int64_t i = 0; i < p.n; i++)
        for (int64_t k = 0; k < p.k; k++)
            mean[k] += ROW(p, i)[k] / (double)p.n;
    for (int64_t k = 0; k < p.k; k++) {
        double sum = 0;
        for (int64_t i = 0; i < p.n; i++)
            sum += (ROW(p, i)[k] - mean[k]) * (ROW(p, i)[k] - mean[k]);
        all += sqrt(sum / (double)p.n) / (double)p.k;
        size += fabs(mean[k]) / (double)p.k;
    }
    all = fmax(all, 1e-12 * size); /* in any unit; equal answers differ by rounding */
    return all > 0 ? all : 1;
}

/* ---- one kernel ---- */

/* All signal-to-noise ratios of one kernel, with their weights as logs. */
typedef struct tried {
    double weight[RATIOS];
    block a[RATIOS], left[RATIOS]; /* n x c: coefficients times s; rows left out */
} tried;

/* a <- U diag(1 / (s e + 1)) T and its diagonal; the log of the marginal likelihood. */
static double try_ratio(small u, const double *e, small t, block r, double ratio,
                        double variance, block a, block left, double *diagonal)
{
    const int64_t n = r.n, c = r.k;
    double square = 0, logs = 0;

    memset(diagonal, 0, (size_t)n * sizeof *diagonal);
    for (int64_t j = 0; j < n; j++) {
        const double q = 1 / (ratio * e[j] + 1);
        logs += log(q);
        for (int64_t k = 0; k < c; k++)
            square += AT(t, j, k) * AT(t, j, k) * q;
        for (int64_t i = 0; i < n; i++) {
            const double v = AT(u, i, j) * q;
            diagonal[i] += AT(u, i, j) * v;
            for (int64_t k = 0; k < c; k++)
                ROW(a, i)[k] += v * AT(t, j, k);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++) {
            ROW(left, i)[k] = ROW(r, i)[k] - ROW(a, i)[k] / diagonal[i];
            ROW(a, i)[k] *= ratio;
        }
    const double s2 = (square + (double)c * variance) / (double)(c * (n + 1));
    return -.5 * (double)((n + 1) * c) * log(s2) + .5 * (double)c * logs;
}

/* K of the rows of the model, kernel b. */
static small own_kernel(scope *s, const gp_average *m, int b)
{
    const small k = small_new(s, m->n, m->n);
    double value[GP_KERNELS];

    for (int64_t i = 0; i < m->n; i++)
        for (int64_t j = 0; j <= i; j++) {
            kernel_row(m, ROW(m->z, i), m->q.at ? ROW(m->q, i) : NULL, j, value);
            AT(k, i, j) = AT(k, j, i) = value[b];
        }
    return k;
}

static void try_kernel(scope *s, const gp_average *m, int b, block r, double variance,
                       tried *out)
{
    const small u = own_kernel(s, m, b);
    double *e = eigh(s, u), *diagonal = NEW(s, double, r.n);
    const small t = small_new(s, r.n, r.k);

    for (int64_t j = 0; j < r.n; j++) {
        e[j] = fmax(e[j], 0);
        for (int64_t i = 0; i < r.n; i++)
            for (int64_t k = 0; k < r.k; k++)
                AT(t, j, k) += AT(u, i, j) * ROW(r, i)[k];
    }
    for (int i = 0; i < RATIOS; i++) {
        out->a[i] = block_like(s, r);
        out->left[i] = block_like(s, r);
        out->weight[i] =
            try_ratio(u, e, t, r, ratios[i], variance, out->a[i], out->left[i], diagonal);
        if (ratios[i] == 0)
            out->weight[i] = b == 0 ? out->weight[i] + log(GP_KERNELS) : -INFINITY;
    }
}

/* ---- all of them ---- */

/* What is to be learned: labels less where answers start; their variance. */
static double residuals(block y, const double *start, block p, block r)
{
    double variance = 0, size = 0;

    for (int64_t k = 0; k < y.k; k++) {
        double mean = 0, sum = 0;
        for (int64_t i = 0; i < y.n; i++)
            mean += ROW(y, i)[k] / (double)y.n;
        for (int64_t i = 0; i < y.n; i++) {
            sum += (ROW(y, i)[k] - mean) * (ROW(y, i)[k] - mean);
            ROW(r, i)[k] = ROW(y, i)[k] - (p.at ? ROW(p, i)[k] : start[k]);
        }
        variance += sum / (double)y.n / (double)y.k;
        size += mean * mean / (double)y.k;
    }
    variance = fmax(variance, 1e-24 * size); /* likewise */
    return variance > 0 ? variance : 1;
}

/* alpha and left <- averages by weight. A kernel at a time is kept: the best weight so far scales what there is. */
static void average(scope *s, gp_average *m, block r, double variance, block left)
{
    const int64_t c = r.k;
    double top = -INFINITY, all = 0;

    for (int b = 0; b < GP_KERNELS; b++) {
        const int64_t mark = scope_mark(s);
        tried t;
        try_kernel(s, m, b, r, variance, &t);
        for (int i = 0; i < RATIOS; i++) {
            if (t.weight[i] == -INFINITY) continue;
            if (t.weight[i] > top) {
                const double less = exp(top - t.weight[i]);
                for (int64_t e = 0; e < m->alpha.n * m->alpha.k; e++)
                    m->alpha.at[e] *= less;
                for (int64_t e = 0; e < left.n * left.k; e++)
                    left.at[e] *= less;
                all *= less;
                top = t.weight[i];
            }
            const double w = exp(t.weight[i] - top);
            all += w;
            for (int64_t j = 0; j < r.n; j++)
                for (int64_t k = 0; k < c; k++) {
                    ROW(m->alpha, j)[b * c + k] += w * ROW(t.a[i], j)[k];
                    ROW(left, j)[k] += w * ROW(t.left[i], j)[k];
                }
        }
        scope_release(s, mark);
        (void)progress(s, "kernels", b + 1, GP_KERNELS, NAN);
    }
    for (int64_t e = 0; e < m->alpha.n * m->alpha.k; e++)
        m->alpha.at[e] /= all;
    for (int64_t e = 0; e < left.n * left.k; e++)
        left.at[e] /= all;
}

gp_average gp_fit(scope *s, gp_rows seen, block y, block all, bool offset, double slope,
                  block left)
{
    const int64_t n = y.n, c = y.k;
    gp_average m = {.n = n,
                    .d = seen.z.k,
                    .c = c,
                    .wide = GP_KERNELS * c,
                    .offset = offset,
                    .slope = slope,
                    .z = seen.z,
                    .spread = 1};
    const block r = block_like(s, y);

    m.mean = NEW(s, double, c);
    m.alpha = block_new(s, HERE(n), n, GP_KERNELS * c);
    if (slope > 0) {
        m.centre = NEW(s, double, c);
        m.spread = spread_of(all, m.centre);
        m.q = standardised(s, &m, seen.p);
    }
    (void)spread_of(y, m.mean);
    const double variance = residuals(y, m.mean, offset ? seen.p : (block){.at = NULL}, r);
    memset(left.at, 0, (size_t)(n * c) * sizeof(double));
    average(s, &m, r, variance, left);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c;
             k++) /* the mean of the others, where answers start there */
            ROW(left, i)
            [k] +=
                offset
                    ? ROW(seen.p, i)[k]
                    : ((double)n * m.mean[k] - ROW(y, i)[k]) / (n > 1 ? (double)n - 1 : 1);
    return m;
}

block gp_scores(scope *s, const gp_average *m, gp_rows x)
{
    const int64_t c = m->c;
    const block f = block_new(s, x.z.rows, x.z.n, c);
    const block q = m->slope > 0 ? standardised(s, m, x.p) : (block){.at = NULL};
    double value[GP_KERNELS];

    for (int64_t i = 0; i < f.n; i++) {
        double *to = ROW(f, i);
        memcpy(to, m->offset ? ROW(x.p, i) : m->mean, (size_t)c * sizeof *to);
        for (int64_t j = 0; j < m->n; j++) {
            kernel_row(m, ROW(x.z, i), q.at ? ROW(q, i) : NULL, j, value);
            for (int b = 0; b < GP_KERNELS; b++)
                for (int64_t k = 0; k < c; k++)
                    to[k] += value[b] * ROW(m->alpha, j)[b * c + k];
        }
    }
    return f;
}
