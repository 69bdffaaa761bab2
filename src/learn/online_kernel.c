#include "learn/online_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/learner.h"

enum { AGAIN = 1000 }; /* rows after which P is made symmetric */
static const double LOUD = 3, MOST_TRACE = 1e6, TURN = 6.283185307179586;

static void check(scope *s, const void *state)
{
    const online_kernel *m = state;

    if (m->wide != m->random + m->linear + 1 || m->w.k != m->z.d ||
        (m->linear != 0 && m->linear != m->z.d))
        scope_fail(s, FERRY_EDATA, "tensor form: %lld features of %lld columns",
                   (long long)m->wide, (long long)m->z.d);
}

static const field fields[] = {
    FIELD_AS(online_kernel, INT, beta.n, "form:0", .lo = 0, .hi = INT32_MAX),
    FIELD_AS(online_kernel, INT, learned, "form:1", .lo = 0, .hi = 9e18),
    FIELD_AS(online_kernel, INT, random, "form:2", .lo = 1, .hi = 1e6),
    FIELD_AS(online_kernel, INT, linear, "form:3", .lo = 0, .hi = 1e6),
    FIELD_AS(online_kernel, INT, wide, "form:4", .lo = 1, .hi = 1e7),
    ARRAY(online_kernel, REAL, forget, .lo = 0.5, .hi = 1.5),
    FIELD_AS(online_kernel, STRUCT, z, "moments", .of = &moments_table),
    ARRAY(online_kernel, BLOCK, w, .rows = SIZE(online_kernel, random),
          .cols = SIZE(online_kernel, w.k)),
    ARRAY(online_kernel, REALS, b, .rows = SIZE(online_kernel, random)),
    ARRAY(online_kernel, BLOCK, p, .rows = SIZE(online_kernel, wide),
          .cols = SIZE(online_kernel, wide)),
    ARRAY(online_kernel, BLOCK, beta, .rows = CLASSES, .cols = SIZE(online_kernel, wide)),
};
const table online_kernel_table = {sizeof(online_kernel), fields, FERRY_COUNT(fields),
                                   check, NULL};

/* ---- columns in an order that is theirs ---- */

typedef struct column_said {
    double shape;
    int64_t column;
} column_said;

static int by_shape(const void *a, const void *b)
{
    const column_said *x = a, *y = b;

    if (x->shape != y->shape) return x->shape < y->shape ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

int64_t *columns_by_shape(scope *s, matrix x)
{
    const int64_t d = x.cols;
    int64_t *order = NEW(s, int64_t, d);
    const int64_t mark = scope_mark(s);
    moments z = moments_new(s, d);
    double *row = NEW(s, double, d);
    column_said *all = NEW(s, column_said, d);

    for (int64_t j = 0; j < d; j++)
        all[j].column = j;
    for (int64_t i = 0; i < x.n; i++)
        moments_add(&z, row_at(x, i));
    for (int64_t i = 0; i < x.n; i++) {
        moments_standardise(&z, row_at(x, i), row);
        for (int64_t j = 0; j < d; j++)
            all[j].shape += row[j] / (1 + fabs(row[j]));
    }
    for (int64_t j = 0; j < d; j++) /* sums that differ by rounding alone are equal */
        all[j].shape = floor(all[j].shape * 1e9 + 0.5);
    if (d > 0) qsort(all, (size_t)d, sizeof *all, by_shape);
    for (int64_t j = 0; j < d; j++)
        order[j] = all[j].column;
    scope_release(s, mark);
    return order;
}

/* Column order[j] of w gets the j-th that are drawn. */
static void draw_weights(scope *s, ferry_rng *rng, const int64_t *order, block w)
{
    const int64_t mark = scope_mark(s);
    double *drawn = NEW(s, double, w.k);

    fill_normal(s, rng, w);
    for (int64_t i = 0; i < w.n; i++) {
        memcpy(drawn, ROW(w, i), (size_t)w.k * sizeof(double));
        for (int64_t j = 0; j < w.k; j++)
            ROW(w, i)[order[j]] = drawn[j] / sqrt((double)w.k);
    }
    scope_release(s, mark);
}

online_kernel online_kernel_new(scope *s, scope *keep, ferry_rng *rng, int64_t features,
                                int64_t most_linear, double forget, int64_t k, matrix x)
{
    const int64_t d = x.cols;
    const int64_t linear = d <= most_linear ? d : 0, wide = features + linear + 1;
    online_kernel m = {.forget = forget,
                       .random = features,
                       .linear = linear,
                       .wide = wide,
                       .z = moments_new(keep, d),
                       .w = block_new(keep, HERE(features), features, d),
                       .b = NEW(keep, double, features),
                       .p = block_new(keep, HERE(wide), wide, wide),
                       .beta = block_new(keep, HERE(k), k, wide)};

    draw_weights(s, rng, columns_by_shape(s, x), m.w);
    for (int64_t j = 0; j < m.random; j++)
        m.b[j] = TURN * ferry_i_rng_real(rng);
    online_kernel_clear(&m);
    return m;
}

kernel_scratch kernel_scratch_new(scope *s, const online_kernel *m, int64_t k, bool learns)
{
    return (kernel_scratch){NEW(s, double, m->z.d), NEW(s, double, m->wide),
                            learns ? NEW(s, double, m->wide) : NULL, NEW(s, double, k)};
}

void online_kernel_clear(online_kernel *m)
{
    m->learned = 0;
    moments_clear(&m->z);
    memset(m->p.at, 0, (size_t)(m->wide * m->wide) * sizeof(double));
    for (int64_t i = 0; i < m->wide; i++)
        ROW(m->p, i)[i] = 1;
    if (m->beta.n > 0)
        memset(m->beta.at, 0, (size_t)(m->beta.n * m->wide) * sizeof(double));
}

static void features(const online_kernel *m, ferry_row x, double *z, double *phi)
{
    const double loud = LOUD * sqrt(2 / (double)m->random);

    moments_standardise(&m->z, x, z);
    row_scores(m->random, m->z.d, m->w.at, (ferry_row){m->z.d, NULL, z}, phi);
    for (int64_t j = 0; j < m->random; j++)
        phi[j] = loud * cos(phi[j] + m->b[j]);
    for (int64_t j = 0; j < m->linear; j++)
        phi[m->random + j] = z[j] / sqrt((double)m->z.d);
    phi[m->wide - 1] = 1;
}

static void scores(const online_kernel *m, const double *phi, double *score)
{
    row_scores(m->beta.n, m->wide, m->beta.at, (ferry_row){m->wide, NULL, phi}, score);
}

void online_kernel_scores(const online_kernel *m, const kernel_scratch *c, ferry_row x,
                          double *score)
{
    features(m, x, c->z, c->phi);
    scores(m, c->phi, score);
}

/* P <- (P - g k') / f, g = k / (f + phi'k). */
static void update(online_kernel *m, const double *k, double below, double f)
{
    for (int64_t i = 0; i < m->wide; i++) {
        double *row = ROW(m->p, i);
        const double g = k[i] / below;
        for (int64_t j = 0; j < m->wide; j++)
            row[j] = (row[j] - g * k[j]) / f;
    }
    if (m->learned % AGAIN != 0) return;
    for (int64_t i = 0; i < m->wide; i++) /* rounding */
        for (int64_t j = 0; j < i; j++)
            ROW(m->p, i)[j] = ROW(m->p, j)[i] = (ROW(m->p, i)[j] + ROW(m->p, j)[i]) / 2;
}

static double forgetting(const online_kernel *m)
{
    double trace = 0;

    for (int64_t i = 0; i < m->wide; i++)
        trace += ROW(m->p, i)[i];
    return trace > MOST_TRACE * (double)m->random ? 1 : m->forget;
}

void online_kernel_learn(online_kernel *m, const kernel_scratch *c, ferry_row x, int32_t y)
{
    const double f = forgetting(m), share = 1 / (double)m->beta.n;

    moments_add(&m->z, x);
    features(m, x, c->z, c->phi);
    const ferry_row phi = {m->wide, NULL, c->phi};
    row_scores(m->wide, m->wide, m->p.at, phi, c->k);
    const double below = f + row_dot(phi, c->k);
    scores(m, c->phi, c->score);
    for (int64_t cls = 0; cls < m->beta.n; cls++) {
        const double miss = ((cls == y) - share - c->score[cls]) / below;
        for (int64_t j = 0; j < m->wide; j++)
            ROW(m->beta, cls)[j] += miss * c->k[j];
    }
    m->learned++;
    update(m, c->k, below, f);
}
