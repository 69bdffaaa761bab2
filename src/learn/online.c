/* Rows, running means and passive-aggressive steps (online.h). */
#include "learn/online.h"

#include <math.h>
#include <string.h>

#include "learn/learner.h"

/* ---- rows ---- */

/* The engine's products may differ between CPUs in the last bits; rows_dot has one order of additions for all. */
void row_scores(int64_t rows, int64_t d, const double *a, ferry_row x, double *out)
{
    if (!x.index) {
        ferry_i_rows_dot(rows, d, a, x.value, out);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        out[i] = row_dot(x, a + i * d);
}

double row_norm2(ferry_row x)
{
    return row_dot((ferry_row){x.n, NULL, x.value}, x.value);
}

void row_unit(int64_t n, double *value)
{
    const ferry_row x = {n, NULL, value};
    double norm = sqrt(row_norm2(x)), most = 0;

    if (!(norm > 1e-150 && norm < 1e150)) { /* squares under- or overflow: divide first */
        for (int64_t j = 0; j < n; j++)
            most = fmax(most, fabs(value[j]));
        if (most == 0) return;
        for (int64_t j = 0; j < n; j++)
            value[j] /= most;
        norm = sqrt(row_norm2(x));
    }
    const double by = 1 / norm;
    for (int64_t j = 0; j < n; j++)
        value[j] *= by;
}

int32_t row_argmax(int64_t n, const double *f)
{
    int32_t best = n > 0 ? 0 : -1;

    for (int64_t i = 1; i < n; i++)
        if (f[i] > f[best]) best = (int32_t)i;
    return best;
}

/* ---- a pass over rows that are all there ---- */

row_pass row_pass_new(scope *s, int64_t n, const uint64_t *key, int64_t k,
                      const int32_t *cls)
{
    const int64_t *row = rows_by_key(s, n, key);
    int32_t *number = NEW(s, int32_t, k), next = 0;

    for (int64_t c = 0; c < k; c++)
        number[c] = -1;
    for (int64_t i = 0; i < n; i++)
        if (number[cls[row[i]]] < 0) number[cls[row[i]]] = next++;
    for (int64_t c = 0; c < k; c++)
        if (number[c] < 0) number[c] = next++;
    return (row_pass){row, number};
}

/* ---- running means and deviations ---- */

static void check_moments(scope *s, const void *state)
{
    const moments *m = state;

    for (int64_t j = 0; j < m->d; j++)
        if (m->m2[j] < 0) /* a deviation would be NaN */
            scope_fail(s, FERRY_EDATA, "tensor moments.m2: entry %lld is %g", (long long)j,
                       m->m2[j]);
}

static const field moments_fields[] = {
    ARRAY(moments, INT, n, .lo = 0, .hi = 9e18),
    ARRAY(moments, REALS, mean, .rows = SIZE(moments, d)),
    ARRAY(moments, REALS, m2, .rows = SIZE(moments, d)),
};
const table moments_table = {sizeof(moments), moments_fields, FERRY_COUNT(moments_fields),
                             check_moments, NULL};

moments moments_new(scope *keep, int64_t d)
{
    return (moments){.d = d, .mean = NEW(keep, double, d), .m2 = NEW(keep, double, d)};
}

void moments_clear(moments *m)
{
    m->n = 0;
    memset(m->mean, 0, (size_t)m->d * sizeof *m->mean);
    memset(m->m2, 0, (size_t)m->d * sizeof *m->m2);
}

/* mean_n = mean + (v - mean) / n,  m2_n = m2 + (v - mean) (v - mean_n): no digits are lost where the mean is large. A
 * cell that a sparse row does not store is 0. */
void moments_add(moments *m, ferry_row x)
{
    const double n = (double)++m->n;
    double *restrict mean = m->mean, *restrict m2 = m->m2;
    int64_t e = 0;

    for (int64_t j = 0; j < m->d && !x.index; j++) {
        const double from = x.value[j] - mean[j];
        mean[j] += from / n;
        m2[j] += from * (x.value[j] - mean[j]);
    }
    for (int64_t j = 0; j < m->d && x.index; j++) {
        const double v = e < x.n && x.index[e] == j ? x.value[e++] : 0;
        const double from = v - mean[j];
        mean[j] += from / n;
        m2[j] += from * (v - mean[j]);
    }
}

/* A feature that hardly varies would blow up: its deviation counts as a tenth of the mean deviation. */
void moments_scale(const moments *m, ferry_row x, double *z)
{
    const double n = m->n > 0 ? (double)m->n : 1;
    double least = 0;
    int64_t e = 0;

    for (int64_t j = 0; j < m->d; j++) { /* deviations, until the values take their place */
        z[j] = sqrt(m->m2[j] / n);
        least += z[j];
    }
    least *= 0.1 / (double)(m->d > 0 ? m->d : 1);
    if (!(least > 0)) { /* nothing varies (yet) */
        if (m->d > 0) memset(z, 0, (size_t)m->d * sizeof *z);
        return;
    }
    for (int64_t j = 0; j < m->d; j++) {
        double v = 0;
        if (!x.index)
            v = x.value[j];
        else if (e < x.n && x.index[e] == j)
            v = x.value[e++];
        z[j] = (v - m->mean[j]) / fmax(z[j], least);
    }
    row_unit(m->d, z);
}

void moments_standardise(const moments *m, ferry_row x, double *z)
{
    const double n = m->n > 0 ? (double)m->n : 1;

    memset(z, 0, (size_t)m->d * sizeof *z);
    for (int64_t e = 0; e < x.n; e++)
        z[x.index ? x.index[e] : e] = x.value[e];
    for (int64_t j = 0; j < m->d; j++) {
        const double sd = sqrt(m->m2[j] / n);
        z[j] = sd > 1e-12 ? fmin(fmax((z[j] - m->mean[j]) / sd, -5), 5) : 0;
    }
}

/* ---- passive-aggressive steps ---- */

static void check_pa(scope *s, const void *state)
{
    const pa *p = state;

    if (!(p->C > 0))
        scope_fail(s, FERRY_EDATA, "C of a passive-aggressive learner is %g", p->C);
    if (p->averages != (p->u.at != NULL))
        scope_fail(s, FERRY_EDATA, "the averages of a passive-aggressive learner are %s",
                   p->u.at ? "there and not announced" : "missing");
}

static const field pa_fields[] = {
    FIELD_AS(pa, INT, kind, ":0", .lo = PA, .hi = PA_PRINTED + 1),
    FIELD_AS(pa, INT, w.n, ":1", .lo = 0, .hi = INT32_MAX),
    FIELD_AS(pa, INT, steps, ":2", .lo = 0, .hi = 9e18),
    FIELD_AS(pa, INT, averages, ":3", .lo = 0, .hi = 2),
    VALUE(pa, REAL, C),
    ARRAY(pa, BLOCK, w, .rows = CLASSES, .cols = SIZE(pa, w.k)),
    ARRAY(pa, BLOCK, u, .rows = CLASSES, .cols = SIZE(pa, w.k), .optional = true),
};
const table pa_table = {sizeof(pa), pa_fields, FERRY_COUNT(pa_fields), check_pa, NULL};

pa pa_new(scope *keep, pa_kind kind, double C, int64_t k, int64_t d, bool average)
{
    pa p = {.kind = kind, .averages = average, .C = C, .w = block_new(keep, HERE(k), k, d)};

    if (average) p.u = block_new(keep, HERE(k), k, d);
    return p;
}

void pa_scores(const pa *p, ferry_row x, double *f)
{
    row_scores(p->w.n, p->w.k, p->w.at, x, f);
}

/* A change made after t samples stands in the weights of the steps - t samples that follow, so the average has it
 * (1 - t / steps) times: W less U / steps. U takes two rows a step where the average itself would take all k. */
void pa_average(const pa *p, ferry_row x, double *f)
{
    if (p->steps == 0) return;
    for (int64_t i = 0; i < p->u.n; i++)
        f[i] -= row_dot(x, ROW(p->u, i)) / (double)p->steps;
}

static void renumber(scope *s, block w, const int32_t *number)
{
    const block from = block_copy(s, w);

    for (int64_t c = 0; c < w.n && w.k > 0; c++)
        memcpy(ROW(w, c), ROW(from, number[c]), (size_t)w.k * sizeof(double));
    scope_drop(s, from.at);
}

void pa_renumber(scope *s, pa *p, const int32_t *number)
{
    renumber(s, p->w, number);
    if (p->u.at) renumber(s, p->u, number);
}

/* The step for a loss of l > 0 at a margin m. PA solves min |W' - W|^2 subject to a margin of 1: the factor 2 is there
 * because two rows move by tau x each. */
static double step_size(const pa *p, double l, double m, double xx)
{
    switch (p->kind) {
    case PA1: return fmin(p->C, l / (2 * xx));
    case PA2: return l / (2 * xx + 1 / (2 * p->C));
    /* l / 0 is infinite, so the cap decides */
    case PA_PRINTED: return m == 0 ? p->C : fmin(p->C, l / (m * m));
    default: return l / (2 * xx);
    }
}

/* It counts in `steps` whether or not it changed anything: the average is over samples, not over mistakes. */
pa_step pa_learn(pa *p, ferry_row x, double xx, int32_t y, const double *f)
{
    pa_step s = {.r = -1};

    for (int64_t i = 0; i < p->w.n; i++)
        if (i != y && (s.r < 0 || f[i] > f[s.r])) s.r = (int32_t)i;
    /* with one class alone there is no margin and no loss */
    if (s.r >= 0) s.loss = fmax(0, 1 - f[y] + f[s.r]);
    if (s.loss > 0 && xx > 0) {
        s.tau = step_size(p, s.loss, f[y] - f[s.r], xx);
        if (!isfinite(s.tau)) s.tau = 0; /* as good as a zero x */
        row_add(x, s.tau, ROW(p->w, y));
        row_add(x, -s.tau, ROW(p->w, s.r));
        if (p->u.at) { /* U += (samples before this one) times the change */
            row_add(x, s.tau * (double)p->steps, ROW(p->u, y));
            row_add(x, -s.tau * (double)p->steps, ROW(p->u, s.r));
        }
    }
    p->steps++;
    return s;
}
