/* Kernel ridge regression that grows row by row (kridge.h).
 *
 * The same bits on every CPU, and nothing can fail, so that learning a label cannot stop half
 * way: the engine's systems, which promise both, and plain loops. */
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
void ferry_i_lower_cholesky(int64_t n, int64_t ld, double *a)
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

void ferry_i_lower_solve_t(int64_t n, int64_t ld, const double *l, double *x)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        x[i] /= l[i * ld + i];
        add(i, -x[i], l + i * ld, x);
    }
}

ferry_status ferry_i_kridge_new(ferry_ctx *ctx, int64_t m, int64_t k, double lambda,
                                double *work, ferry_kridge *r)
{
    ferry_status st = FERRY_OK;

    *r = (ferry_kridge){.m = m, .lambda = lambda, .block = KRIDGE_BLOCK, .work = work};
    FERRY_NEW(ctx, r->cls, m);
    FERRY_NEW(ctx, r->l, m * m);
    FERRY_NEW(ctx, r->a, m * m);
    FERRY_NEW(ctx, r->wait, KRIDGE_BLOCK * m);
    FERRY_NEW(ctx, r->turned, KRIDGE_BLOCK * m);
    FERRY_NEW(ctx, r->wait_cls, KRIDGE_BLOCK);
    FERRY_TRY(ferry_i_kridge_classes(ctx, r, k));
done:
    return st;
}

void ferry_i_kridge_clear(ferry_kridge *r)
{
    FERRY_FREE(r->cls, r->l, r->z, r->a, r->r, r->wait, r->wait_cls, r->turned);
    *r = (ferry_kridge){0};
}

ferry_status ferry_i_kridge_classes(ferry_ctx *ctx, ferry_kridge *r, int64_t k)
{
    double **both[] = {&r->z, &r->r};

    if (k <= r->k) return FERRY_OK;
    for (int i = 0; i < 2; i++) {
        double *more = ferry_i_realloc(*both[i], k * r->m, sizeof *more);
        if (!more) return ferry_i_nomem(ctx);
        memset(more + r->k * r->m, 0, (size_t)((k - r->k) * r->m) * sizeof *more);
        *both[i] = more;
    }
    r->k = k;
    return FERRY_OK;
}

/* alpha = B^-T A^-1 R. */
static void solve(ferry_kridge *r)
{
    const int64_t m = r->m;
    double *const factor = r->work;

    memcpy(factor, r->a, (size_t)(m * m) * sizeof *factor);
    ferry_i_lower_cholesky(m, m, factor);
    memcpy(r->z, r->r, (size_t)(r->k * m) * sizeof *r->z);
    ferry_i_lower_systems(m, m, factor, r->k, m, r->z);
    for (int64_t c = 0; c < r->k; c++) {
        ferry_i_lower_solve_t(m, m, factor, r->z + c * m);
        ferry_i_lower_solve_t(m, m, r->l, r->z + c * m);
    }
    r->since = 0;
}

/* A += sum Phi Phi' and R += sum Phi y' over `n` rows of kernels, which become Phi, a block at a
 * time. */
static void add_rows(ferry_kridge *r, int64_t n, double *phi, const int32_t *cls)
{
    const int64_t m = r->m;

    ferry_i_lower_systems(m, m, r->l, n, m, phi);
    for (int64_t from = 0; from < n; from += KRIDGE_BLOCK) {
        const int64_t rows = n - from < KRIDGE_BLOCK ? n - from : KRIDGE_BLOCK;
        for (int64_t j = 0; j < rows; j++) {
            const double *row = phi + (from + j) * m;
            add(m, 1, row, r->r + cls[from + j] * m);
            for (int64_t i = 0; i < m; i++)
                r->turned[i * rows + j] = row[i];
        }
        ferry_i_lower_products(m, rows, r->turned, m, r->a);
    }
}

/* The rows become the basis. K = L L' - lambda I need not be computed again. */
static void settle(ferry_kridge *r)
{
    const int64_t m = r->m;
    double *const k = r->work;

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++)
            k[i * m + j] = k[j * m + i] =
                dot(j + 1, r->l + i * m, r->l + j * m) - (i == j ? r->lambda : 0);
    memcpy(r->l, k, (size_t)(m * m) * sizeof *k);
    memset(r->a, 0, (size_t)(m * m) * sizeof *k);
    memset(r->r, 0, (size_t)(r->k * m) * sizeof *k);
    for (int64_t i = 0; i < m; i++) {
        r->l[i * m + i] += 1e-4;
        r->a[i * m + i] = r->lambda;
    }
    ferry_i_lower_cholesky(m, m, r->l);
    add_rows(r, m, k, r->cls);
    solve(r);
    r->full = true;
    r->labels = m;
    r->pending = 0;
}

void ferry_i_kridge_fit(ferry_kridge *r, int64_t n)
{
    const int64_t m = r->m;

    r->n = n;
    r->full = false;
    for (int64_t i = 0; i < n; i++)
        r->l[i * m + i] += r->lambda;
    ferry_i_lower_cholesky(n, m, r->l);
    if (r->k > 0) memset(r->z, 0, (size_t)(r->k * m) * sizeof *r->z);
    for (int64_t i = 0; i < n; i++)
        r->z[r->cls[i] * m + i] = 1;
    ferry_i_lower_systems(n, m, r->l, r->k, m, r->z);
    if (n == m) settle(r);
}

void ferry_i_kridge_scores(const ferry_kridge *r, const double *kv, double *l, double *f)
{
    memmove(l, kv, (size_t)r->n * sizeof *l); /* may be the same place */
    if (!r->full) ferry_i_lower_systems(r->n, r->m, r->l, 1, r->n, l);
    for (int64_t c = 0; c < r->k; c++)
        f[c] = dot(r->n, l, r->z + c * r->m);
}

void ferry_i_kridge_learn(ferry_kridge *r, const double *l, double kxx, int32_t y)
{
    const int64_t m = r->m, n = r->n;

    if (!r->full) {
        const double p = sqrt(fmax(kxx + r->lambda - dot(n, l, l), 1e-12));
        memcpy(r->l + n * m, l, (size_t)n * sizeof *l);
        r->l[n * m + n] = p;
        for (int64_t c = 0; c < r->k; c++)
            r->z[c * m + n] = ((c == y) - dot(n, l, r->z + c * m)) / p;
        r->cls[n] = y;
        if (++r->n == m) settle(r);
        return;
    }
    memcpy(r->wait + r->pending * m, l, (size_t)m * sizeof *l);
    r->wait_cls[r->pending++] = y;
    r->labels++;
    r->since++;
    if (r->pending < r->block) return;
    add_rows(r, r->pending, r->wait, r->wait_cls);
    r->pending = 0;
    if ((double)r->since >= fmin(fmax((double)r->labels / 20, (double)r->block), 1024))
        solve(r);
}

/* With C = (K + lambda I)^-1 = L'^-1 L^-1: f_-i = y_i - (C Y)_i / C_ii. Column i of L^-1
 * gives C_ii as its squares; C Y is L'^-1 z. */
void ferry_i_kridge_leave_out(const ferry_kridge *r, double *f)
{
    const int64_t n = r->n, m = r->m;
    double *const x = r->work, *const c_ii = r->work + m;

    for (int64_t i = 0; i < n; i++) {
        memset(x, 0, (size_t)n * sizeof *x);
        x[i] = 1;
        ferry_i_lower_systems(n - i, m, r->l + i * m + i, 1, n, x + i); /* zero before */
        c_ii[i] = dot(n - i, x + i, x + i);
    }
    for (int64_t c = 0; c < r->k; c++) {
        memcpy(x, r->z + c * m, (size_t)n * sizeof *x);
        ferry_i_lower_solve_t(n, m, r->l, x);
        for (int64_t i = 0; i < n; i++)
            f[i * r->k + c] = (r->cls[i] == c) - x[i] / c_ii[i];
    }
}
