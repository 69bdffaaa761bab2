/* Principal axes of centred rows.
 *
 *   d <= n:  X'X - n m m' = V L V',  Z = (X - 1 m') V
 *   n <  d:  the same from the products of rows, = U L U':  V = (X - 1 m')'U / sqrt L,  Z = U sqrt L
 *
 * centred there, so that a sparse X stays sparse; where both sides have more than MOST_DENSE the first MOST_AXES by
 * Lanczos. Rows over processes: X'X adds them up; where n < d their few rows are brought together. */
#include "learn/pca.h"

#include <math.h>
#include <string.h>

enum { MOST_DENSE = 2000, MOST_AXES = 200 };

/* How many of the m values (descending) hold `share` of `total`. */
static int64_t enough(int64_t m, const double *value, double total, double share)
{
    double all = 0;

    for (int64_t k = 0; k < m; k++)
        if ((all += fmax(value[k], 0)) >= share * total) return k + 1;
    return m;
}

/* The last q columns of Q, last first, with their values: rows [first, first + n) of it. */
static block leading(scope *s, small q, const double *w, int64_t most, double share,
                     layout rows, int64_t n, int64_t first, double **value)
{
    const int64_t m = q.rows;
    double total = 0;

    *value = NEW(s, double, most);
    for (int64_t k = 0; k < m; k++)
        total += fmax(w[k], 0);
    for (int64_t k = 0; k < most; k++)
        (*value)[k] = w[m - 1 - k];
    const block u = block_new(s, rows, n, enough(most, *value, total, share));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < u.k; k++)
            ROW(u, i)[k] = AT(q, first + i, m - 1 - k);
    return u;
}

/* Z = (X - 1 m') V. */
static block project(scope *s, matrix x, const double *mean, block v)
{
    const block z = block_new(s, x.rows, x.n, v.k);

    mul(s, x, v, z);
    for (int64_t k = 0; k < v.k; k++) {
        double off = 0;
        for (int64_t j = 0; j < x.cols; j++)
            off += mean[j] * ROW(v, j)[k];
        for (int64_t i = 0; i < x.n; i++)
            ROW(z, i)[k] -= off;
    }
    return z;
}

static void by_columns(scope *s, matrix x, int64_t most, double share, pca *a)
{
    const small c = cross(s, x, a->mean, NULL);
    const double *w = eigh(s, c);

    a->v = leading(s, c, w, most, share, HERE(x.cols), x.cols, 0, &a->value);
    a->z = project(s, x, a->mean, a->v);
}

static void by_rows(scope *s, matrix x, int64_t most, double share, pca *a)
{
    const small c = outer(s, replicate_rows(s, x), a->mean);
    const double *w = eigh(s, c);

    a->z = leading(s, c, w, most, share, x.rows, x.n, x.rows.first, &a->value);
    a->v = block_new(s, HERE(x.cols), x.cols, a->z.k);
    double *off =
        NEW(s, double, a->z.k); /* 0 but for rounding, which large means make large */
    tmul(s, x, a->z, a->v);
    column_sums(s, a->z, off);
    for (int64_t k = 0; k < a->z.k; k++) {
        const double root = sqrt(fmax(a->value[k], 0));
        for (int64_t j = 0; j < x.cols; j++)
            ROW(a->v, j)[k] = root > 0 ? (ROW(a->v, j)[k] - a->mean[j] * off[k]) / root : 0;
        for (int64_t i = 0; i < x.n; i++)
            ROW(a->z, i)[k] *= root;
    }
}

typedef struct centred {
    scope *s;
    matrix x;
    const double *mean;
} centred;

typedef struct product {
    const centred *c;
    block u, y;
} product;

/* y <- X'X u - n m m'u. */
static void multiply(scope *s, void *arg)
{
    const product *p = arg;
    const block t = project(s, p->c->x, p->c->mean, p->u);

    tmul(s, p->c->x, t, p->y);
}

/* The engine calls it: failures end here. */
static ferry_status centred_mul(ferry_ctx *ctx, void *arg, const ferry_block *u,
                                ferry_block *y)
{
    const centred *c = arg;
    product p = {c,
                 {HERE(u->rows), u->rows, u->k, u->data},
                 {HERE(y->rows), y->rows, y->k, y->data}};

    return scope_run(ctx, multiply, &p);
}

static void by_lanczos(scope *s, matrix x, int64_t most, double share, pca *a)
{
    centred c = {s, x, a->mean};
    ferry_block all = block_ref(block_new(s, HERE(x.cols), x.cols, most));
    double total = norm2(s, x);

    index_columns(s, x);
    a->value = NEW(s, double, most);
    for (int64_t j = 0; j < x.cols; j++)
        total -= (double)x.rows.n * a->mean[j] * a->mean[j];
    scope_check(
        s, ferry_e(scope_ctx(s))
               ->eigs(scope_ctx(s), x.cols, centred_mul, &c, most, 1e-8, a->value, &all));
    a->v = block_new(s, HERE(x.cols), x.cols, enough(most, a->value, total, share));
    for (int64_t j = 0; j < x.cols; j++)
        memcpy(ROW(a->v, j), all.data + j * most, (size_t)a->v.k * sizeof(double));
    a->z = project(s, x, a->mean, a->v);
}

/* CSR that is full costs many times a dense product. */
static pca centre(scope *s, matrix given, matrix *x)
{
    const double n = (double)given.rows.n, cells = n * (double)given.cols;

    *x = (double)entries(s, given) > cells / 10 ? to_dense(s, given) : given;
    pca a = {.mean = mass(s, *x, NULL)};
    for (int64_t j = 0; j < given.cols; j++)
        a.mean[j] /= n;
    return a;
}

pca pca_fit(scope *s, matrix given, int64_t most, double share)
{
    const int64_t n = given.rows.n, d = given.cols, side = n < d ? n : d;
    matrix x;
    pca a = centre(s, given, &x);

    if (most > side) most = side;
    if (most < 1) most = 1;
    if (side == 0) most = 0;
    if (side > MOST_DENSE)
        by_lanczos(s, x, most < MOST_AXES ? most : MOST_AXES, share, &a);
    else if (n <= d)
        by_rows(s, x, most, share, &a);
    else
        by_columns(s, x, most, share, &a);
    return a;
}

/* The first q columns of b, which goes. */
static block first_columns(scope *s, block b, int64_t q)
{
    const block to = block_new(s, b.rows, b.n, q);

    for (int64_t i = 0; i < b.n; i++)
        memcpy(ROW(to, i), ROW(b, i), (size_t)q * sizeof(double));
    scope_drop(s, b.at);
    return to;
}

pca pca_all(scope *s, matrix given)
{
    const int64_t n = given.rows.n, d = given.cols, side = n < d ? n : d;
    const double every = 2; /* a share that nothing reaches */
    matrix x;
    pca a = centre(s, given, &x);
    int64_t q = 0;

    if (n <= d)
        by_rows(s, x, side, every, &a);
    else
        by_columns(s, x, side, every, &a);
    while (q < side && a.value[q] > 0 && a.value[q] >= 1e-12 * a.value[0])
        q++;
    if (q < side) {
        a.v = first_columns(s, a.v, q);
        a.z = first_columns(s, a.z, q);
    }
    return a;
}
