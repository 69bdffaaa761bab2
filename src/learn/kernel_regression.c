/* Kernel regression of soft labels Q (n x c) on rows X.
 *
 *   R = Q - 1 mean(Q)',   A = (K + noise I)^-1 R,   f(x) = k(x, X) A
 *   left out:  f_i = R_i - A_i / [(K + noise I)^-1]_ii
 *
 * for K the products of rows, or exp(-|x - y|^2 / (width median)), width 1/4, 1 and 4, and six noises: the least squared
 * error of rows left out, the first of equals. One eigendecomposition a kernel, K = V diag(w) V', serves all noises; for
 * products it is that of X'X. The sharpness of softmax(a f) is the one with the least cross-entropy of rows left out,
 * and 0 where these are no better than the mean. */
#include "learn/kernel_regression.h"

#include <math.h>
#include <string.h>

#include "learn/kernel.h"

enum { KERNELS = 4, NOISES = 6, SECTIONS = 60 };
static const double widths[KERNELS] = {0, 0.25, 1, 4}; /* 0: products */
static const double noises[NOISES] = {0.03, 0.1, 0.3, 1, 3, 10};
static const double MOST_SHARP = 60;

static const field kernel_fields[] = {
    VALUE(kernel_regression, INT, q),
    ARRAY(kernel_regression, MATRIX, x, .rows = SIZE(kernel_regression, n),
          .cols = SIZE(kernel_regression, q)),
    ARRAY(kernel_regression, BLOCK, a, .rows = SIZE(kernel_regression, n), .cols = CLASSES),
    ARRAY(kernel_regression, REAL, gamma, .lo = 0, .hi = 1e300),
    VALUE(kernel_regression, REAL, noise),
    ARRAY(kernel_regression, REAL, sharpness, .lo = 0, .hi = 1e6),
};
const table kernel_regression_table = TABLE(kernel_regression, kernel_fields);

/* K = V diag(w) V' + 0 on what V does not span. */
typedef struct spectrum {
    small v;   /* n x m */
    double *w; /* m */
} spectrum;

static spectrum of_kernel(scope *s, small d2, double gamma)
{
    const small k = small_new(s, d2.rows, d2.cols);

    for (int64_t e = 0; e < d2.rows * d2.cols; e++)
        k.at[e] = exp(-gamma * d2.at[e]);
    double *w = eigh(s, k);
    for (int64_t j = 0; j < k.cols; j++)
        w[j] = fmax(w[j], 0);
    return (spectrum){k, w};
}

/* X X' from X'X: V = X U / sqrt(w). */
static spectrum of_products(scope *s, block x)
{
    const small h = small_new(s, x.k, x.k);

    gram(s, x, x, h);
    double *w = eigh(s, h);
    const block xu = block_like(s, x);
    bmul(s, x, h, xu);
    int64_t first = 0;
    while (first < x.k && !(w[first] > 1e-12 * w[x.k - 1]))
        first++;
    const small v = small_new(s, x.n, x.k - first);
    for (int64_t j = first; j < x.k; j++)
        for (int64_t i = 0; i < x.n; i++)
            AT(v, i, j - first) = ROW(xu, i)[j] / sqrt(w[j]);
    return (spectrum){v, w + first};
}

/* V'R, m x c. */
static small turned(scope *s, const spectrum *e, block r)
{
    const small out = small_new(s, e->v.cols, r.k);

    for (int64_t j = 0; j < e->v.cols; j++)
        for (int64_t i = 0; i < r.n; i++)
            for (int64_t k = 0; k < r.k; k++)
                AT(out, j, k) += AT(e->v, i, j) * ROW(r, i)[k];
    return out;
}

/* a <- (K + noise I)^-1 R; f <- scores of rows left out; their squared error. */
static double try_noise(const spectrum *e, small vr, block r, double noise, block a,
                        block f, double *diagonal)
{
    const int64_t n = r.n, c = r.k;
    double all = 0;

    for (int64_t i = 0; i < n; i++) {
        diagonal[i] = 1 / noise;
        for (int64_t k = 0; k < c; k++)
            ROW(a, i)[k] = ROW(r, i)[k] / noise;
    }
    for (int64_t j = 0; j < e->v.cols; j++) {
        const double g = 1 / (e->w[j] + noise) - 1 / noise;
        for (int64_t i = 0; i < n; i++) {
            const double v = AT(e->v, i, j);
            diagonal[i] += g * v * v;
            for (int64_t k = 0; k < c; k++)
                ROW(a, i)[k] += g * v * AT(vr, j, k);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++) {
            const double miss = ROW(a, i)[k] / diagonal[i];
            ROW(f, i)[k] = ROW(r, i)[k] - miss;
            all += miss * miss;
        }
    return all;
}

/* Mean cross-entropy of softmax(sharpness f). */
static double cross_entropy(block f, block q, double sharpness, double *z)
{
    double all = 0;

    for (int64_t i = 0; i < f.n; i++) {
        double own = 0, mass = 0;
        for (int64_t k = 0; k < f.k; k++) {
            z[k] = sharpness * ROW(f, i)[k];
            own += ROW(q, i)[k] * z[k];
            mass += ROW(q, i)[k];
        }
        all += mass * softmax_row(f.k, NULL, z) - own;
    }
    return all / (double)f.n;
}

/* Convex in the sharpness: golden section. */
static double best_sharpness(scope *s, block f, block q)
{
    const double g = (sqrt(5) - 1) / 2;
    double *z = NEW(s, double, f.k), lo = 0, hi = MOST_SHARP;
    double c = hi - g * (hi - lo), d = lo + g * (hi - lo);
    double at_c = cross_entropy(f, q, c, z), at_d = cross_entropy(f, q, d, z);

    for (int i = 0; i < SECTIONS; i++)
        if (at_c < at_d) {
            hi = d;
            d = c;
            at_d = at_c;
            c = hi - g * (hi - lo);
            at_c = cross_entropy(f, q, c, z);
        } else {
            lo = c;
            c = d;
            at_c = at_d;
            d = lo + g * (hi - lo);
            at_d = cross_entropy(f, q, d, z);
        }
    return (lo + hi) / 2;
}

/* R; its sum of squares. */
static double centred(scope *s, block q, block *r)
{
    double *mean = NEW(s, double, q.k), all = 0;

    *r = block_like(s, q);
    for (int64_t i = 0; i < q.n; i++)
        for (int64_t k = 0; k < q.k; k++)
            mean[k] += ROW(q, i)[k] / (double)q.n;
    for (int64_t i = 0; i < q.n; i++)
        for (int64_t k = 0; k < q.k; k++) {
            ROW(*r, i)[k] = ROW(q, i)[k] - mean[k];
            all += ROW(*r, i)[k] * ROW(*r, i)[k];
        }
    return all;
}

kernel_regression kernel_regress(scope *s, block x, block q, left_out *out)
{
    kernel_regression m = {.n = x.n, .q = x.k, .x = matrix_of(s, x), .a = block_like(s, q)};
    const small d2 = squared_distances(s, m.x);
    const double gamma = kernel_gamma(s, d2);
    double least = INFINITY, *diagonal = NEW(s, double, x.n + q.k);
    block r, a = block_like(s, q), f = block_like(s, q);

    *out = (left_out){.f = block_like(s, q)};
    const double all = centred(s, q, &r);
    for (int t = 0; t < KERNELS; t++) {
        const int64_t mark = scope_mark(s);
        const double width = widths[t];
        const spectrum e = width == 0 ? of_products(s, x) : of_kernel(s, d2, gamma / width);
        const small vr = turned(s, &e, r);
        for (int k = 0; k < NOISES; k++) {
            const double miss = try_noise(&e, vr, r, noises[k], a, f, diagonal);
            if (!(miss < least * (1 - 1e-9))) continue;
            least = miss;
            m.gamma = width == 0 ? 0 : gamma / width;
            m.noise = noises[k];
            copy(a, m.a);
            copy(f, out->f);
        }
        scope_release(s, mark);
        (void)progress(s, "kernel", t + 1, KERNELS, NAN);
    }
    out->skill = 1 - least / fmax(all, 1e-300);
    m.sharpness = out->skill > 0 ? best_sharpness(s, out->f, q) : 0;
    out->loss = cross_entropy(out->f, q, m.sharpness, diagonal);
    return m;
}

block kernel_probabilities(scope *s, const kernel_regression *m, block x)
{
    const matrix of = matrix_of(s, x);
    const block p = block_new(s, x.rows, x.n, m->a.k);

    kernel_mul(s, m->gamma, m->x, of, m->a, p);
    for (int64_t i = 0; i < p.n; i++) {
        for (int64_t k = 0; k < p.k; k++)
            ROW(p, i)[k] *= m->sharpness;
        (void)softmax_row(p.k, NULL, ROW(p, i));
    }
    return p;
}
