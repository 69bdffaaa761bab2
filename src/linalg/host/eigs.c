/* The largest eigenpairs of a symmetric operator: thick-restart Lanczos (Wu and Simon
 * 2000), with every new vector orthogonalised against all before it; small operators are
 * written out and given to LAPACK.
 *
 * A basis V of some vectors grows by w = A v minus its part in V. From some size on, every
 * few vectors, the Ritz pairs of T = V'AV are examined: the residual of pair (theta, V s)
 * is |beta s_last|, beta being the length of the last w. When V is full and the wanted ones
 * are not good, it shrinks to the best Ritz vectors and grows again.
 *
 * This is ARPACK's method in another arrangement. ARPACK itself cannot be used: it holds
 * state in static variables (two threads corrupt each other), and where w vanishes, as with
 * operators of low rank, it fails (info 3, -9) or goes on with a vector from a seed of its
 * own, so that the same call gives other bits. Here such a vector comes from the context's
 * seed.
 *
 * From one start vector Lanczos sees one direction of every eigenspace, so copies of a
 * multiple eigenvalue (a graph with several components has one) can be missed. Hence
 * further rounds on the complement of what was found, until its largest Ritz value, which
 * is a lower bound of its largest eigenvalue, does not exceed the smallest value found, or
 * earlier when it has settled below that: larger ones would have come out first. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/host/host.h"
#include "linalg/host/openblas.h"

/* DENSE: sizes written out at once. LEAST_BASIS: vectors of the smallest basis. PANEL:
 * rows that are turned at a time, so that V is replaced in place. */
enum { DENSE = 100, LEAST_BASIS = 20, RESTARTS = 3000, PANEL = 256 };

/* One solve: the operator, the pairs found so far, workspaces. Matrices in LAPACK's
 * order. */
typedef struct solve {
    ferry_operator op;
    void *arg;
    int n, k;
    int most;  /* vectors that V has room for; leading dimension of T and S */
    int basis; /* vectors in V now */
    int found; /* pairs found, at most k */
    double tol;
    double scale; /* largest |A v| seen */
    double beta;  /* length of the last w */
    ferry_rng rng;
    double *values, *q; /* pairs found, descending; q is n x k */
    double *v;          /* n x (most + 1) */
    double *t, *s;      /* most x most: T, its eigenvectors */
    double *theta;      /* most, ascending */
    double *coef;       /* max(k, most) */
    double *work;       /* max(PANEL x most, 34 most) */
} solve;

/* All of them, also those never allocated. */
static void free_solve(solve *z)
{
    FERRY_FREE(z->values, z->q, z->v, z->t, z->s, z->theta, z->coef, z->work);
}

/* n (k + most + 1) numbers and little else. */
static ferry_status alloc_solve(ferry_ctx *ctx, solve *z)
{
    const int64_t n = z->n, k = z->k, most = z->most;

    z->values = ferry_i_calloc(k, sizeof(double));
    z->q = ferry_i_calloc(n * k, sizeof(double));
    z->v = ferry_i_calloc(n * (most + 1), sizeof(double));
    z->t = ferry_i_calloc(most * most, sizeof(double));
    z->s = ferry_i_calloc(most * most, sizeof(double));
    z->theta = ferry_i_calloc(most, sizeof(double));
    z->coef = ferry_i_calloc(k > most ? k : most, sizeof(double));
    z->work = ferry_i_calloc(PANEL * most, sizeof(double));
    if (!z->values || !z->q || !z->v || !z->t || !z->s || !z->theta || !z->coef || !z->work)
        return ferry_i_nomem(ctx);
    return FERRY_OK;
}

/* x <- x - Q Q'x for m columns of q; coef <- Q'x. */
static void project_once(const solve *z, int m, const double *q, double *x)
{
    if (m == 0) return;
    ferry_i_blas.dgemv(CblasColMajor, CblasTrans, z->n, m, 1, q, z->n, x, 1, 0, z->coef, 1);
    ferry_i_blas.dgemv(CblasColMajor, CblasNoTrans, z->n, m, -1, q, z->n, z->coef, 1, 1, x,
                       1);
}

/* A unit vector orthogonal to the pairs found and to the first m of V.
 * Three times, since little may be left of a vector after the first projection. */
static void random_unit(solve *z, int m, double *x)
{
    for (int i = 0; i < z->n; i++)
        x[i] = ferry_i_rng_normal(&z->rng);
    for (int pass = 0; pass < 3; pass++) {
        project_once(z, z->found, z->q, x);
        project_once(z, m, z->v, x);
        ferry_i_blas.dscal(z->n, 1 / ferry_i_blas.dnrm2(z->n, x, 1), x, 1);
    }
}

/* y <- A x.
 * scale grows to about the operator's norm; what counts as 0 is relative to it. A
 * product of NaN is told at once instead of after thousands of restarts. */
static ferry_status apply(ferry_ctx *ctx, solve *z, double *x, double *y)
{
    const ferry_block from = {z->n, 1, x};
    ferry_block to = {z->n, 1, y};
    ferry_status st = FERRY_OK;

    FERRY_TRY(z->op(ctx, z->arg, &from, &to));
    ferry_i_blas_begin(ctx); /* the operator may have set other threads */
    z->scale = fmax(z->scale, ferry_i_blas.dnrm2(z->n, y, 1));
    FERRY_NEED(ctx, isfinite(ferry_i_blas.dasum(z->n, y, 1)), FERRY_ENUMERIC,
               "eigs: the operator gives numbers that are not finite");
done:
    return st;
}

/* The basis of so many vectors (and the next one, which is there already) grows.
 * T gets the coefficients of both passes: V'A v_j, where after a restart all of column j
 * matters, not only its last two numbers. Cost of a vector: one product and 8 n j
 * operations. */
static ferry_status grow(ferry_ctx *ctx, solve *z, int to)
{
    ferry_status st = FERRY_OK;

    for (int j = z->basis; j < to; j++) {
        double *v = z->v + (int64_t)j * z->n, *w = v + z->n;
        FERRY_TRY(apply(ctx, z, v, w));
        for (int i = 0; i <= j; i++)
            z->t[i + (int64_t)j * z->most] = 0;
        for (int pass = 0; pass < 2; pass++) { /* once leaves rounding behind */
            project_once(z, z->found, z->q, w);
            project_once(z, j + 1, z->v, w);
            for (int i = 0; i <= j; i++)
                z->t[i + (int64_t)j * z->most] += z->coef[i];
        }
        z->beta = ferry_i_blas.dnrm2(z->n, w, 1);
        if (z->beta > 1e-13 * z->scale) {
            ferry_i_blas.dscal(z->n, 1 / z->beta, w, 1);
        } else { /* V spans an invariant subspace: go on in another direction */
            z->beta = 0;
            random_unit(z, j + 1, w);
        }
        z->basis = j + 1;
    }
done:
    return st;
}

/* Ritz values and vectors of the basis: T = S diag(theta) S'.
 * S (m x m) is written over a copy of T; theta ascends, so the largest come last. */
static ferry_status ritz(ferry_ctx *ctx, solve *z)
{
    const int m = z->basis;

    memcpy(z->s, z->t, (size_t)z->most * (size_t)m * sizeof(double));
    if (ferry_i_syev(m, z->s, z->most, z->theta, z->work, 34 * m))
        return ferry_i_fail(ctx, FERRY_ENUMERIC, "eigs: LAPACK did not converge");
    return FERRY_OK;
}

/* Length of the residual of Ritz pair i.
 * |A V s - theta V s| = beta |s_last|: no product is needed to know how good a pair is. */
static double residual(const solve *z, int i)
{
    return fabs(z->beta * z->s[z->basis - 1 + (int64_t)i * z->most]);
}

/* How many of the nev largest Ritz pairs are good.
 * As ARPACK has it: relative to the value, and to eps^(2/3) of the norm where that is
 * nearly 0. */
static int count_good(const solve *z, int nev)
{
    const double tol = fmax(z->tol, DBL_EPSILON),
                 least = pow(DBL_EPSILON, 2.0 / 3) * z->scale;
    int good = 0;

    for (int i = z->basis - nev; i < z->basis; i++)
        good += residual(z, i) <= tol * fmax(fabs(z->theta[i]), least);
    return good;
}

/* V <- the p best Ritz vectors, ascending, a panel of rows at a time.
 * V S_p in place: rows of V do not meet in it, so PANEL of them are turned in `work` and
 * written back. */
static void keep_best(solve *z, int p)
{
    const int m = z->basis;
    const double *s = z->s + (int64_t)(m - p) * z->most;

    for (int64_t row = 0; row < z->n; row += PANEL) {
        const int rows = z->n - row < PANEL ? (int)(z->n - row) : PANEL;
        ferry_i_blas.dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, p, m, 1,
                           z->v + row, z->n, s, z->most, 0, z->work, PANEL);
        for (int64_t j = 0; j < p; j++)
            memcpy(z->v + row + j * z->n, z->work + j * PANEL,
                   (size_t)rows * sizeof(double));
    }
}

/* The p best Ritz pairs stay, then the vector that comes next.
 * In the new basis T is diagonal; the next column that grow() makes holds what couples
 * the kept vectors to the next one. */
static void shrink(solve *z, int p)
{
    const int m = z->basis;

    keep_best(z, p);
    memcpy(z->v + (int64_t)p * z->n, z->v + (int64_t)m * z->n,
           (size_t)z->n * sizeof(double));
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = 0; i <= j; i++)
            z->t[i + j * z->most] = i == j ? z->theta[m - p + i] : 0;
    z->basis = p;
}

/* Put a pair in its place; when there are k already, the last one falls out.
 * Descending; equal values stay in the order in which they were found. */
static void insert_pair(solve *z, double value, const double *vector)
{
    const int64_t n = z->n;
    int at = z->found, moved;

    while (at > 0 && z->values[at - 1] < value)
        at--;
    if (at == z->k) return;
    if (z->found < z->k) z->found++;
    moved = z->found - 1 - at;
    memmove(z->values + at + 1, z->values + at, (size_t)moved * sizeof(double));
    memmove(z->q + (at + 1) * n, z->q + at * n, (size_t)(moved * n) * sizeof(double));
    z->values[at] = value;
    memcpy(z->q + at * n, vector, (size_t)n * sizeof(double));
}

/* When k were found before: whether there may be a larger one on their complement. Not when
 * the largest Ritz value has settled below them, or a full basis has none above.
 * A Ritz value plus its residual bounds the eigenvalue it is near to; a settled one
 * below the smallest found means that nothing larger is left. */
static bool may_miss(const solve *z, bool full)
{
    const double top = z->theta[z->basis - 1];

    if (z->found < z->k) return true;
    if (top + residual(z, z->basis - 1) < z->values[z->k - 1]) return false;
    return !full || top > z->values[z->k - 1] + 1e-9 * z->scale;
}

/* The nev largest pairs on the complement of those found join them, with a basis of up to
 * `most` vectors; *missed tells, when k were found before, whether there was a larger one.
 * A thick restart keeps half of what is not wanted, too: the directions that make the
 * wanted ones converge. `first` and `step` say when Ritz pairs are looked at, which
 * costs most^3. */
static ferry_status one_round(ferry_ctx *ctx, solve *z, int nev, int most, bool *missed)
{
    ferry_status st = FERRY_OK;
    const int keep = nev + (most - nev) / 2, first = 2 * nev > 8 ? 2 * nev : 8;
    const int step = nev / 5 > 4 ? nev / 5 : 4;
    int restarts = 0;

    z->basis = 0;
    random_unit(z, 0, z->v);
    for (;;) {
        const int to = z->basis < first ? first : z->basis + step;
        FERRY_TRY(grow(ctx, z, to < most ? to : most));
        FERRY_TRY(ritz(ctx, z));
        *missed = may_miss(z, z->basis == most);
        if (!*missed) goto done;
        if (count_good(z, nev) == nev) break;
        if (z->basis < most) continue;
        FERRY_NEED(ctx, restarts++ < RESTARTS, FERRY_ENUMERIC,
                   "eigs: %d of %d eigenvalues converged in %d restarts",
                   count_good(z, nev), nev, RESTARTS);
        shrink(z, keep);
    }
    const int m = z->basis;
    keep_best(z, nev);
    for (int i = nev - 1; i >= 0; i--)
        insert_pair(z, z->theta[m - nev + i], z->v + (int64_t)i * z->n);
done:
    return st;
}

/* One round for all k, then rounds for single ones on the complement, until none is
 * missed. */
static ferry_status large(ferry_ctx *ctx, solve *z, double *values, ferry_block *vectors)
{
    ferry_status st = FERRY_OK;
    bool missed = true;

    FERRY_TRY(alloc_solve(ctx, z));
    ferry_i_rng_for(ctx, &z->rng, "eigs");
    ferry_i_blas_begin(ctx);
    FERRY_TRY(one_round(ctx, z, z->k, z->most, &missed));
    for (int more = 0; missed && more <= z->k; more++) /* at most k copies can be missing */
        FERRY_TRY(one_round(ctx, z, 1, LEAST_BASIS, &missed));
    for (int64_t j = 0; j < z->k; j++) {
        values[j] = z->values[j];
        for (int64_t i = 0; i < z->n; i++)
            FERRY_ROW(vectors, i)[j] = z->q[i + j * z->n];
        ferry_i_fix_sign(z->n, vectors->data + j, z->k);
    }
done:
    free_solve(z);
    return st;
}

/* A in full, from its products with the unit vectors; the symmetric part of what comes. */
static ferry_status write_out(ferry_ctx *ctx, ferry_operator op, void *arg, ferry_small *a)
{
    ferry_status st = FERRY_OK;
    ferry_block *unit = NULL, *image = NULL;
    const int64_t n = a->rows;

    FERRY_TRY(ferry_i_block_new(ctx, n, n, &unit));
    FERRY_TRY(ferry_i_block_new(ctx, n, n, &image));
    for (int64_t i = 0; i < n; i++)
        unit->data[i * n + i] = 1;
    FERRY_TRY(op(ctx, arg, unit, image));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(a, i, j) = (image->data[i * n + j] + image->data[j * n + i]) / 2;
done:
    ferry_i_block_free(unit);
    ferry_i_block_free(image);
    return st;
}

/* All eigenpairs by LAPACK; the last k, from the largest down. */
static ferry_status small(ferry_ctx *ctx, int64_t n, ferry_operator op, void *arg,
                          int64_t k, double *values, ferry_block *vectors)
{
    ferry_status st = FERRY_OK;
    ferry_small *a = NULL;
    double *w = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, n, n, &a));
    FERRY_NEW(ctx, w, n);
    FERRY_TRY(write_out(ctx, op, arg, a));
    FERRY_TRY(ferry_i_host_eigh(ctx, a, w));
    for (int64_t j = 0; j < k; j++) {
        values[j] = w[n - 1 - j];
        for (int64_t i = 0; i < n; i++)
            FERRY_ROW(vectors, i)[j] = FERRY_AT(a, i, n - 1 - j);
    }
done:
    ferry_i_free(w);
    ferry_i_small_free(a);
    return st;
}

/* A basis of 2.5 k vectors, at least LEAST_BASIS. Where that is nearly the whole space
 * Lanczos has nothing to gain. */
ferry_status ferry_i_host_eigs(ferry_ctx *ctx, int64_t n, ferry_operator op, void *arg,
                               int64_t k, double tol, double *values, ferry_block *vectors)
{
    const int64_t basis = 5 * k / 2 + 1 < LEAST_BASIS ? LEAST_BASIS : 5 * k / 2 + 1;

    assert(k <= n && vectors->rows == n && vectors->k == k);
    if (k == 0) return FERRY_OK;
    if (n <= DENSE || basis + k >= n) return small(ctx, n, op, arg, k, values, vectors);
    solve z = {.op = op,
               .arg = arg,
               .n = ferry_i_blas_int(n),
               .k = (int)k,
               .most = (int)basis,
               .tol = tol};
    return large(ctx, &z, values, vectors);
}
