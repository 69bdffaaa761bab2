/* Variational Bayes for ratings (vb.h). */
#include "learn/vb.h"

#include <math.h>
#include <string.h>

#include "learn/nnls.h"
#include "linalg/vb_rows.h"

/* One side, users or items: means, covariances (d x d each), and what the other side adds up
 * of them, made once a half sweep: phi phi' + S' as the lower triangle, row after row. All rows are here; `x` has the
 * ratings of those that this process works out. */
typedef struct side {
    matrix x;
    int64_t n, d;
    block z, s; /* s: n x d^2, or n x d; step is the distance of variances */
    int64_t step;
    double *packed; /* n x d (d + 1) / 2, or none */
    double *sse;    /* n */
    double *v;      /* d: variances, that of the bias first */
} side;

/* z: its means, zeroed. */
static side side_new(scope *s, matrix x, block z, bool diagonal)
{
    const int64_t n = z.n, d = z.k, rank = d - 1;
    side t = {.x = x, .n = n, .d = d, .z = z, .step = diagonal ? 1 : d + 1};

    t.s = block_new(s, HERE(n), n, diagonal ? d : d * d);
    if (!diagonal) t.packed = NEW(s, double, n *d *(d + 1) / 2);
    t.sse = NEW(s, double, n);
    t.v = NEW(s, double, d);
    t.v[0] = 0.2; /* a fifth of the variance each for users, items and the factors */
    for (int64_t c = 1; c < d; c++)
        t.v[c] = sqrt(0.2 / (double)rank);
    return t;
}

/* packed <- phi phi' + S' of every row. */
static void pack(const side *s)
{
    const int64_t d = s->d;

    for (int64_t j = 0; j < s->n; j++) {
        const double *y = ROW(s->z, j), *cov = ROW(s->s, j);
        double *to = s->packed + j * d * (d + 1) / 2;
        *to++ = 1;
        for (int64_t a = 1; a < d; a++) {
            *to++ = y[a];
            for (int64_t b = 1; b <= a; b++)
                *to++ = y[a] * y[b] + cov[a * d + b];
        }
    }
}

/* Scratch of a thread. */
typedef struct scratch {
    double *a, *full, *c; /* d (d + 1) / 2, d x d, d */
} scratch;

/* S <- (A / s2 + diag(1 / v))^-1, both triangles; full keeps the factor. */
static void invert(const side *s, const scratch *r, double s2, double *cov)
{
    const int64_t d = s->d;
    const double *a = r->a;

    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++)
            r->full[i * d + j] = *a++ / s2 + (i == j ? 1 / fmax(s->v[i], 1e-9) : 0);
    (void)ferry_i_factor(d, r->full); /* a sum of squares and a positive diagonal */
    memset(cov, 0, (size_t)(d * d) * sizeof *cov);
    for (int64_t i = 0; i < d; i++) {
        cov[i * d + i] = 1;
        ferry_i_factor_solve(d, r->full, cov + i * d);
    }
}

/* Row i of those here given the other side: A and c summed over its ratings, then S_i, z_i and what it
 * leaves of the squares. */
static void solve_row(const side *s, int64_t i, const vb_fit *f, const side *other,
                      const scratch *r)
{
    const ferry_row x = row_at(s->x, i);
    const int64_t d = s->d, cells = d * (d + 1) / 2, row = s->x.rows.first + i;
    double *z = ROW(s->z, row), *cov = ROW(s->s, row), t2 = 0, zc = 0, quad = 0;
    const double *a = r->a;

    memset(r->a, 0, (size_t)cells * sizeof *r->a);
    memset(r->c, 0, (size_t)d * sizeof *r->c);
    for (int64_t e = 0; e < x.n; e++) {
        const int64_t j = x.index[e];
        const double *y = ROW(other->z, j), *sj = ROW(other->s, j),
                     *add = other->packed + j * cells;
        const double t = (x.value[e] - f->mu) / f->sd - y[0];
        t2 += t * t + sj[0];
        r->c[0] += t;
        for (int64_t c = 1; c < d; c++)
            r->c[c] += y[c] * t - sj[c];
#pragma omp simd
        for (int64_t c = 0; c < cells; c++)
            r->a[c] += add[c];
    }
    invert(s, r, f->s2, cov);
    for (int64_t p = 0; p < d; p++) {
        z[p] = 0;
        for (int64_t q = 0; q < d; q++)
            z[p] += cov[p * d + q] * r->c[q] / f->s2;
        zc += z[p] * r->c[p];
    }
    for (int64_t p = 0; p < d; p++)
        for (int64_t q = 0; q <= p; q++)
            quad += (p == q ? 1 : 2) * *a++ * (z[p] * z[q] + cov[p * d + q]);
    s->sse[row] = t2 - 2 * zc + quad;
}

/* All rows that are here; they do not depend on each other. */
static void half_full(scope *s, const side *t, const vb_fit *f, const side *other)
{
    const int64_t d = t->d, each = d * (d + 1) / 2 + d * d + d;
    const int threads = stored(t->x) * d * d < 1000000 ? 1 : scope_ctx(s)->threads;
    double *space = NEW(s, double, threads *each);

    pack(other);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int k = 0; k < threads; k++) {
        double *own = space + k * each;
        const scratch r = {own, own + d * (d + 1) / 2, own + d * (d + 1) / 2 + d * d};
        for (int64_t i = k; i < t->x.n; i += threads)
            solve_row(t, i, f, other, &r);
    }
}

/* The same where covariances are diagonal: linalg/vb_rows.h has the formulas. */
static void half_diagonal(scope *s, const side *t, const vb_fit *f, const side *other)
{
    const int64_t first = t->x.rows.first;
    double *ridge = NEW(s, double, t->d);

    for (int64_t c = 0; c < t->d; c++)
        ridge[c] = f->s2 / fmax(t->v[c], 1e-9);
    scope_check(s, ferry_i_vb_half(scope_ctx(s), &(ferry_vb_half){.x = t->x.m,
                                                                  .d = t->d,
                                                                  .mu = f->mu,
                                                                  .sd = f->sd,
                                                                  .s2 = f->s2,
                                                                  .y = other->z.at,
                                                                  .var = other->s.at,
                                                                  .ridge = ridge,
                                                                  .z = ROW(t->z, first),
                                                                  .cov = ROW(t->s, first),
                                                                  .sse = t->sse + first}));
}

/* What this process has worked out, for all. */
static void half(scope *s, const side *t, const vb_fit *f, const side *other)
{
    const int64_t mark = scope_mark(s);

    if (t->packed)
        half_full(s, t, f, other);
    else
        half_diagonal(s, t, f, other);
    share_rows(s, block_part(t->z, t->x.rows, t->x.n), t->z);
    share_rows(s, block_part(t->s, t->x.rows, t->x.n), t->s);
    scope_release(s, mark);
}

/* The variances of a side: of the bias with the prior of n0, of the factors as they are. */
static void learn_variances(scope *s, const side *t, double n0, double s2, bool factors)
{
    const int64_t d = factors ? t->d : 1;
    double rows = 0;

    memset(t->v, 0, (size_t)d * sizeof *t->v);
    for (int64_t i = 0; i < t->x.n; i++) {
        const int64_t at = t->x.rows.first + i;
        if (row_at(t->x, i).n == 0) continue; /* nothing was learnt of it */
        rows++;
        for (int64_t c = 0; c < d; c++)
            t->v[c] += ROW(t->z, at)[c] * ROW(t->z, at)[c] + ROW(t->s, at)[c * t->step];
    }
    rows = sum(s, t->x.rows, rows);
    sums(s, t->x.rows, d, t->v);
    t->v[0] = (t->v[0] + n0 * s2 / 5) / (rows + n0);
    for (int64_t c = 1; c < d; c++)
        t->v[c] /= rows;
}

/* mu and the population's deviation. */
static void moments(scope *s, const ratings *r, vb_fit *f)
{
    const ferry_matrix *x = r->x.m;
    const double n = (double)entries(s, r->x);
    double all = 0, squares = 0;

    for (int64_t e = 0; e < x->nnz; e++)
        all += x->value[e];
    f->mu = sum(s, r->x.rows, all) / n;
    for (int64_t e = 0; e < x->nnz; e++)
        squares += (x->value[e] - f->mu) * (x->value[e] - f->mu);
    f->sd = sqrt(sum(s, r->x.rows, squares) / n);
    if (!isfinite(f->sd)) scope_fail(s, FERRY_EDATA, "the ratings are too large to add up");
}

double vb_at(const vb_fit *f, int64_t user, int64_t item)
{
    const double *z = ROW(f->zu, user), *y = ROW(f->zi, item);
    double x = z[0] + y[0];

    for (int64_t c = 1; c < f->zu.k; c++)
        x += z[c] * y[c];
    return x;
}

static void sweeps(scope *s, const ratings *r, const vb_how *how, const side *u,
                   const side *i, vb_fit *f)
{
    const double n = (double)entries(s, r->x);

    f->s2 = 0.8;
    for (int64_t t = 0; t < how->sweeps && f->sd > 0; t++) {
        double left = 0;
        half(s, u, f, i);
        half(s, i, f, u);
        for (int64_t j = 0; j < r->xt.n; j++)
            left += i->sse[r->xt.rows.first + j];
        f->s2 = fmax(sum(s, r->xt.rows, left) / n, 1e-9); /* ratings without any noise */
        if (t == 0) continue;
        learn_variances(s, u, how->n0, f->s2, t >= how->burn);
        learn_variances(s, i, how->n0, f->s2, t >= how->burn);
    }
}

vb_fit vb_learn(scope *s, const ratings *r, const vb_how *how, block q0)
{
    const int64_t k = how->rank;
    vb_fit f = {.v = NEW(s, double, k),
                .vq = NEW(s, double, k),
                .zu = block_new(s, HERE(r->users), r->users, k + 1),
                .zi = block_new(s, HERE(r->items), r->items, k + 1)};
    const int64_t mark = scope_mark(s);

    moments(s, r, &f);
    const side u = side_new(s, r->x, f.zu, how->diagonal);
    const side i = side_new(s, r->xt, f.zi, how->diagonal);
    for (int64_t j = 0; j < i.n; j++)
        for (int64_t c = 0; c < k; c++)
            ROW(i.z, j)[1 + c] = ROW(q0, j)[c] * sqrt(i.v[1 + c]);
    sweeps(s, r, how, &u, &i, &f);
    f.va = u.v[0];
    f.vb = i.v[0];
    memcpy(f.v, u.v + 1, (size_t)k * sizeof *f.v);
    memcpy(f.vq, i.v + 1, (size_t)k * sizeof *f.vq);
    scope_release(s, mark);
    return f;
}
