/* G and delta from the data (mmd.h), plainly or through a kernel.
 *
 *   G = Xs Ys' (d x m), or with `centre` (Xs - mean) Ys';   delta = mean(Xs) - mean(Xt)
 *
 * Uncentred, the mean instance is in every column of G and its first singular direction. */
#include <math.h>
#include <string.h>

#include "learn/kernel.h"
#include "learn/mmd.h"

/* b (n x (m + 1)): the labels of the first ns rows, less their share when centre, then one more column that is 1 / ns
 * there; ns counts the rows of all processes. Without centre the share is 0 and the labels stand as they are. Rows
 * beyond ns stay 0. */
static void fill_labels(scope *s, layout rows, const mmd_labels *y, block b)
{
    const int64_t ns = y->ns, m = y->m, all = rows.spread ? rows.n : ns;
    double *share = NEW(s, double, m);

    for (int64_t i = 0; y->centre && i < ns; i++)
        for (int64_t j = 0; j < m; j++)
            share[j] += y->on[i * m + j];
    sums(s, rows, m, share);
    for (int64_t j = 0; j < m; j++)
        share[j] = all > 0 ? share[j] / (double)all : 0;
    for (int64_t i = 0; i < ns; i++) {
        for (int64_t j = 0; j < m; j++)
            ROW(b, i)[j] = y->on[i * m + j] - share[j];
        ROW(b, i)[m] = 1 / (double)all;
    }
}

/* (Xs - mean) Ys' = Xs (Ys - mean)': one product makes G and the source's mean, and a sparse Xs stays as it is. The last
 * column of gm is Xs' 1/ns, the mean. */
mmd_problem mmd_relation(scope *s, matrix xs, const mmd_labels *y, matrix xt)
{
    const int64_t d = xs.cols, m = y->m;
    const mmd_problem p = {.g = block_new(s, HERE(d), d, m),
                           .delta = block_new(s, HERE(d), d, 1)};
    const int64_t mark = scope_mark(s);
    const block b = block_new(s, xs.rows, xs.n, m + 1),
                gm = block_new(s, HERE(d), d, m + 1);

    fill_labels(s, xs.rows, y, b);
    tmul(s, xs, b, gm);
    const double *total = xt.m ? mass(s, xt, NULL) : NULL;
    const double nt = xt.m ? (double)xt.rows.n : 1;
    for (int64_t i = 0; i < d; i++) {
        const double mean_s = ROW(gm, i)[m];
        /* a target without instances differs in nothing */
        const double mean_t = nt > 0 ? (total ? total[i] / nt : 0) : mean_s;
        memcpy(ROW(p.g, i), ROW(gm, i), (size_t)m * sizeof *gm.at);
        p.delta.at[i] = mean_s - mean_t;
    }
    scope_release(s, mark);
    return p;
}

/* v <- v + (variance of each column of x) / n. Unbiased variance; one row has none. */
static void add_noise(scope *s, matrix x, double *v)
{
    ferry_ctx *ctx = scope_ctx(s);
    const double n = (double)x.rows.n;
    double *sum2 = NEW(s, double, x.cols);

    if (n < 2) return;
    const double *total = mass(s, x, NULL);
    scope_check(s, ferry_e(ctx)->sums(ctx, x.m, FERRY_COLS, 2, sum2));
    for (int64_t j = 0; j < x.cols; j++)
        v[j] += fmax(sum2[j] - total[j] * total[j] / n, 0) / (n - 1) / n;
}

/* Of v_j = var_s_j / ns + var_t_j / nt, the variance of delta_j, the part is taken off that noise alone would give.
 * Where noise explains all of a difference it becomes 0. */
void mmd_shrink(scope *s, mmd_shrinking how, matrix xs, matrix xt, block delta)
{
    const int64_t mark = scope_mark(s);
    double *v = NEW(s, double, xs.cols), total = 0, size2 = 0;

    if (how == SHRINK_NONE) return;
    add_noise(s, xs, v);
    add_noise(s, xt, v);
    for (int64_t j = 0; j < xs.cols; j++) {
        total += v[j];
        size2 += delta.at[j] * delta.at[j];
    }
    for (int64_t j = 0; j < xs.cols; j++) {
        const double x = delta.at[j];
        const double ratio = how == SHRINK_JS ? total / size2 : v[j] / (x * x);
        delta.at[j] = ratio < 1 ? x * (1 - ratio) : 0; /* also 0 / 0 */
    }
    scope_release(s, mark);
}

/* ---- kernel ---- */

/* h = E w E' gives g, delta = diag(w^1/2) E', and E w^-1/2. Directions that are rounding are left out: r remain. The
 * factor is of H, not of K: m + 1 dimensions, whatever n is. `h` is overwritten by its vectors. */
static small coordinates(scope *s, small h, mmd_problem *p)
{
    const int64_t n = h.rows, m = n - 1;
    const double *w = eigh(s, h);
    int64_t r = 0;

    while (r < n && w[n - 1 - r] > 1e-13 * w[n - 1])
        r++;
    p->g = block_new(s, HERE(r), r, m);
    p->delta = block_new(s, HERE(r), r, 1);
    const small e = small_new(s, n, r);
    for (int64_t i = 0; i < r; i++) {
        const int64_t c = n - 1 - i;
        for (int64_t j = 0; j < m; j++)
            ROW(p->g, i)[j] = sqrt(w[c]) * AT(h, j, c);
        p->delta.at[i] = sqrt(w[c]) * AT(h, m, c);
        for (int64_t j = 0; j < n; j++)
            AT(e, j, i) = AT(h, j, c) / sqrt(w[c]);
    }
    return e;
}

/* One pass over the kernel, O(n^2 (d + m)), K itself never stored. A target without instances has delta = 0. */
mmd_kernel mmd_kernel_new(scope *s, double gamma, matrix x, const mmd_labels *y)
{
    const int64_t n = x.n, ns = y->ns, m = y->m;
    const block c = block_new(s, HERE(n), n, m + 1), kc = block_like(s, c);
    const small h = small_new(s, m + 1, m + 1);
    mmd_kernel k = {0};

    fill_labels(s, HERE(ns), y, c); /* C = [Es Ys' | 1_s/ns - 1_t/nt] */
    for (int64_t i = 0; i < n; i++)
        ROW(c, i)[m] = n == ns ? 0 : i < ns ? 1 / (double)ns : -1 / (double)(n - ns);
    kernel_mul(s, gamma, x, x, c, kc);
    gram(s, c, kc, h); /* H = C'K C */
    const small e = coordinates(s, h, &k.p);
    k.map = block_new(s, HERE(n), n, e.cols);
    k.kmap = block_like(s, k.map);
    bmul(s, c, e, k.map);
    bmul(s, kc, e, k.kmap);
    return k;
}
