/* Kernel ridge regression that grows row by row (kridge.h): the engine's systems, which promise the same bits everywhere
 * and cannot fail, and plain loops. */
#include "learn/kridge.h"

#include <math.h>
#include <string.h>

/* Four sums side by side, which a compiler can keep in registers. */
static double dot(int64_t n, const double *a, const double *b)
{
    double s[4] = {0}, rest = 0;
    int64_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++)
            s[j] += a[i + j] * b[i + j];
    for (; i < n; i++)
        rest += a[i] * b[i];
    return (s[0] + s[2]) + (s[1] + s[3]) + rest;
}

static void add(int64_t n, double a, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* Four rows at a time: what is left of their corner, then. A pivot that rounding made negative
 * is that of a row which is there twice. */
void lower_cholesky(int64_t n, int64_t ld, double *a)
{
    for (int64_t from = 0; from < n; from += 4) {
        const int64_t rows = n - from < 4 ? n - from : 4;
        ferry_i_lower_systems(from, ld, a, rows, ld, a + from * ld);
        for (int64_t i = from; i < from + rows; i++) {
            double *row = a + i * ld;
            for (int64_t j = from; j < i; j++)
                row[j] = (row[j] - dot(j, row, a + j * ld)) / a[j * ld + j];
            row[i] = sqrt(fmax(row[i] - dot(i, row, row), 1e-12));
        }
    }
}

void lower_solve_t(int64_t n, int64_t ld, const double *l, double *x)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        x[i] /= l[i * ld + i];
        add(i, -x[i], l + i * ld, x);
    }
}

/* ---- its memory ---- */

kridge kridge_new(scope *keep, int64_t m, int64_t k)
{
    return (kridge){.m = m,
                    .at_once = KRIDGE_BLOCK,
                    .cls = NEW(keep, int32_t, m),
                    .l = block_new(keep, HERE(m), m, m),
                    .z = block_new(keep, HERE(k), k, m)};
}

/* Made one by one: what a failure leaves is there the next time. */
void kridge_expect(scope *keep, kridge *r)
{
    const int64_t m = r->m;

    if (!r->a.at) r->a = block_new(keep, HERE(m), m, m);
    if (!r->r.at) r->r = block_new(keep, HERE(r->z.n), r->z.n, m);
    if (!r->wait.at) r->wait = block_new(keep, HERE(KRIDGE_BLOCK), KRIDGE_BLOCK, m);
    if (!r->wait_cls) r->wait_cls = NEW(keep, int32_t, KRIDGE_BLOCK);
}

static void check_kridge(scope *s, const void *state)
{
    const kridge *r = state;

    if (r->full != (r->n == r->m) || r->since > r->labels ||
        (r->full && !(r->a.at && r->r.at && r->wait.at && r->wait_cls)))
        scope_fail(s, FERRY_EDATA, "a ridge has %lld of %lld rows, %lld labels",
                   (long long)r->n, (long long)r->m, (long long)r->labels);
}

/* A file has only the rows that are in use. */
static void ready_kridge(scope *s, scope *keep, void *state)
{
    kridge *r = state;

    (void)s;
    r->at_once = KRIDGE_BLOCK;
    r->cls = NEW(keep, int32_t, r->m);
    r->l.at = scope_grow(keep, r->l.at, r->m * r->m, sizeof *r->l.at);
    if (!r->full) return;
    r->wait.at = scope_grow(keep, r->wait.at, KRIDGE_BLOCK * r->m, sizeof *r->wait.at);
    r->wait_cls = scope_grow(keep, r->wait_cls, KRIDGE_BLOCK, sizeof *r->wait_cls);
}

static const field kridge_fields[] = {
    FIELD_AS(kridge, INT, full, ":0", .lo = 0, .hi = 2),
    FIELD_AS(kridge, INT, labels, ":1", .lo = 0, .hi = 4e18),
    FIELD_AS(kridge, INT, since, ":2", .lo = 0, .hi = 4e18),
    FIELD_AS(kridge, INT, pending, ":3", .lo = 0, .hi = KRIDGE_BLOCK),
    ARRAY(kridge, BLOCK, l, .rows = SIZE(kridge, n), .cols = SIZE(kridge, m)),
    ARRAY(kridge, BLOCK, z, .rows = CLASSES, .cols = SIZE(kridge, m)),
    ARRAY(kridge, BLOCK, a, .rows = SIZE(kridge, m), .cols = SIZE(kridge, m),
          .optional = true),
    ARRAY(kridge, BLOCK, r, .rows = CLASSES, .cols = SIZE(kridge, m), .optional = true),
    ARRAY(kridge, BLOCK, wait, .rows = SIZE(kridge, pending), .cols = SIZE(kridge, m),
          .optional = true),
    ARRAY(kridge, PLACES, wait_cls, .rows = SIZE(kridge, pending), .lo = 0,
          .below = CLASSES, .optional = true),
};
const table kridge_table = {sizeof(kridge), kridge_fields, FERRY_COUNT(kridge_fields),
                            check_kridge, ready_kridge};

void kridge_pack(kridge *r)
{
    if (r->full) return;
    r->a.at = r->r.at = r->wait.at = NULL;
    r->wait_cls = NULL;
}

/* ---- learning ---- */

/* alpha = B^-T A^-1 R. */
static void solve(kridge *r, const kridge_scratch *c)
{
    const int64_t m = r->m;
    double *const factor = c->work;

    memcpy(factor, r->a.at, (size_t)(m * m) * sizeof *factor);
    lower_cholesky(m, m, factor);
    memcpy(r->z.at, r->r.at, (size_t)(r->z.n * m) * sizeof *r->z.at);
    ferry_i_lower_systems(m, m, factor, r->z.n, m, r->z.at);
    for (int64_t k = 0; k < r->z.n; k++) {
        lower_solve_t(m, m, factor, r->z.at + k * m);
        lower_solve_t(m, m, r->l.at, r->z.at + k * m);
    }
    r->since = 0;
}

/* A += sum Phi Phi' and R += sum Phi y' over `n` rows of kernels, which become Phi, a block at a
 * time. */
static void add_rows(kridge *r, const kridge_scratch *c, int64_t n, double *phi,
                     const int32_t *cls)
{
    const int64_t m = r->m;

    ferry_i_lower_systems(m, m, r->l.at, n, m, phi);
    for (int64_t from = 0; from < n; from += KRIDGE_BLOCK) {
        const int64_t rows = n - from < KRIDGE_BLOCK ? n - from : KRIDGE_BLOCK;
        for (int64_t j = 0; j < rows; j++) {
            const double *row = phi + (from + j) * m;
            add(m, 1, row, r->r.at + cls[from + j] * m);
            for (int64_t i = 0; i < m; i++)
                c->turned[i * rows + j] = row[i];
        }
        ferry_i_lower_products(m, rows, c->turned, m, r->a.at);
    }
}

/* The rows become the basis. K = L L' - lambda I need not be computed again. */
static void become_basis(kridge *r, const kridge_scratch *c)
{
    const int64_t m = r->m;
    double *const k = c->work;

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++)
            k[i * m + j] = k[j * m + i] =
                dot(j + 1, r->l.at + i * m, r->l.at + j * m) - (i == j ? KRIDGE_LAMBDA : 0);
    memcpy(r->l.at, k, (size_t)(m * m) * sizeof *k);
    memset(r->a.at, 0, (size_t)(m * m) * sizeof *k);
    memset(r->r.at, 0, (size_t)(r->z.n * m) * sizeof *k);
    for (int64_t i = 0; i < m; i++) {
        r->l.at[i * m + i] += 1e-4;
        r->a.at[i * m + i] = KRIDGE_LAMBDA;
    }
    lower_cholesky(m, m, r->l.at);
    add_rows(r, c, m, k, r->cls);
    solve(r, c);
    r->full = true;
    r->labels = m;
    r->pending = 0;
}

void kridge_fit(kridge *r, const kridge_scratch *c, int64_t n)
{
    const int64_t m = r->m;

    r->n = n;
    r->full = false;
    for (int64_t i = 0; i < n; i++)
        r->l.at[i * m + i] += KRIDGE_LAMBDA;
    lower_cholesky(n, m, r->l.at);
    if (r->z.n > 0) memset(r->z.at, 0, (size_t)(r->z.n * m) * sizeof *r->z.at);
    for (int64_t i = 0; i < n; i++)
        r->z.at[r->cls[i] * m + i] = 1;
    ferry_i_lower_systems(n, m, r->l.at, r->z.n, m, r->z.at);
    if (n == m) become_basis(r, c);
}

void kridge_scores(const kridge *r, const double *kv, double *l, double *f)
{
    memmove(l, kv, (size_t)r->n * sizeof *l); /* may be the same place */
    if (!r->full) ferry_i_lower_systems(r->n, r->m, r->l.at, 1, r->n, l);
    for (int64_t k = 0; k < r->z.n; k++)
        f[k] = dot(r->n, l, r->z.at + k * r->m);
}

void kridge_learn(kridge *r, const kridge_scratch *c, const double *l, double kxx,
                  int32_t y)
{
    const int64_t m = r->m, n = r->n;

    if (!r->full) {
        const double p = sqrt(fmax(kxx + KRIDGE_LAMBDA - dot(n, l, l), 1e-12));
        memcpy(r->l.at + n * m, l, (size_t)n * sizeof *l);
        r->l.at[n * m + n] = p;
        for (int64_t k = 0; k < r->z.n; k++)
            r->z.at[k * m + n] = ((k == y) - dot(n, l, r->z.at + k * m)) / p;
        r->cls[n] = y;
        if (++r->n == m) become_basis(r, c);
        return;
    }
    memcpy(r->wait.at + r->pending * m, l, (size_t)m * sizeof *l);
    r->wait_cls[r->pending++] = y;
    r->labels++;
    r->since++;
    if (r->pending < r->at_once) return;
    add_rows(r, c, r->pending, r->wait.at, r->wait_cls);
    r->pending = 0;
    if ((double)r->since >= fmin(fmax((double)r->labels / 20, (double)r->at_once), 1024))
        solve(r, c);
}

/* With C = (K + lambda I)^-1 = L'^-1 L^-1: f_-i = y_i - (C Y)_i / C_ii. Column i of L^-1
 * gives C_ii as its squares; C Y is L'^-1 z. */
void kridge_leave_out(const kridge *r, const kridge_scratch *c, double *f)
{
    const int64_t n = r->n, m = r->m;
    double *const x = c->work, *const c_ii = c->work + m;

    for (int64_t i = 0; i < n; i++) {
        memset(x, 0, (size_t)n * sizeof *x);
        x[i] = 1;
        ferry_i_lower_systems(n - i, m, r->l.at + i * m + i, 1, n, x + i); /* zero before */
        c_ii[i] = dot(n - i, x + i, x + i);
    }
    for (int64_t k = 0; k < r->z.n; k++) {
        memcpy(x, r->z.at + k * m, (size_t)n * sizeof *x);
        lower_solve_t(n, m, r->l.at, x);
        for (int64_t i = 0; i < n; i++)
            f[i * r->z.n + k] = (r->cls[i] == k) - x[i] / c_ii[i];
    }
}
