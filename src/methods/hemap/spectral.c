/* HeMap as the thesis has it: (5.4) and (5.11) solved exactly without forming A.
 *
 *   A = F F',   F = [ a T  b S  g C_T  0     ]    a = sqrt2 theta,  b = beta / sqrt2,
 *                   [ b T  a S  0      g C_S ]    g = sqrt((1 - theta)(beta + 2 theta))
 *
 * (theta = 1 is the linear problem.) With X = [T S C_T C_S] the Gram matrix F'F is X'X with
 * one coefficient per pair of parts, of size m + n + c_T + c_S whatever the number of rows:
 *
 *   F'F V = V L  (top k),   B = F V L^-1/2
 *
 * B_T is the first half of its rows, B_S the second (Algorithms 3 and 4). When there are
 * fewer rows than columns, A itself is the smaller matrix.
 *
 * Each data set enters A through a 2 x 2 coefficient of rank one, which is why A = F F' and
 * the rank is at most the number q of columns of F. In the linear problem beta = 2
 * makes both halves of F equal: B_T = B_S for any data. Cost: O(N q^2 + q^3), or O(N^2 q +
 * N^3) on the rows' side. */
#include <math.h>
#include <string.h>

#include "methods/hemap/hemap.h"

/* The parts of X in the order of their columns. */
enum { T_, S_, CT_, CS_, PARTS };
enum { DENSE_UP_TO = 600 }; /* beyond this size a few pairs come cheaper by Lanczos */

/* Coefficients of part p in the upper (half 0) and lower half of F. */
static double factor_of(const hemap_problem *p, int part, int half)
{
    const double a = sqrt(2) * p->theta, b = p->beta / sqrt(2);
    const double g = sqrt((1 - p->theta) * (p->beta + 2 * p->theta));

    switch (part) {
    case T_: return half == 0 ? a : b;
    case S_: return half == 0 ? b : a;
    case CT_: return half == 0 ? g : 0;
    default: return half == 0 ? 0 : g;
    }
}

/* The parts that the problem has; how many. Both partitions or none. */
static int parts_of(const hemap_problem *p, const ferry_matrix **part)
{
    part[T_] = p->t;
    part[S_] = p->s;
    part[CT_] = p->ct;
    part[CS_] = p->cs;
    return p->ct && p->cs ? PARTS : CT_;
}

/* m + n + c_T + c_S: the size of F'F. */
static int64_t columns_of(const hemap_problem *p)
{
    const ferry_matrix *part[PARTS];
    const int n = parts_of(p, part);
    int64_t q = 0;

    for (int i = 0; i < n; i++)
        q += part[i]->cols;
    return q;
}

/* Each part X_i adds f_i f_i' (x) X_i X_i', f_i its two coefficients. (x) is Kronecker's
 * product. 4 N^2 numbers: the caller makes sure that N is small, or is a test. */
ferry_status ferry_i_hemap_matrix(ferry_ctx *ctx, const hemap_problem *p, ferry_small **a)
{
    ferry_status st = FERRY_OK;
    const int64_t n = p->t->rows;
    const ferry_matrix *part[PARTS];
    const int parts = parts_of(p, part);
    ferry_small *xx = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, 2 * n, 2 * n, a));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &xx));
    for (int i = 0; i < parts; i++) {
        const double f[] = {factor_of(p, i, 0), factor_of(p, i, 1)};
        ferry_e(ctx)->xxt(ctx, part[i], xx);
        for (int64_t c = 0; c < 2 * n; c++)
            for (int64_t r = 0; r < 2 * n; r++)
                FERRY_AT(*a, r, c) += f[r >= n] * f[c >= n] * FERRY_AT(xx, r % n, c % n);
    }
done:
    ferry_i_free(xx);
    return st;
}

/* For Lanczos: the matrix as an operator. */
static ferry_status multiply(ferry_ctx *ctx, void *arg, const ferry_block *x,
                             ferry_block *y)
{
    ferry_e(ctx)->mul(ctx, 1, arg, x, 0, y);
    return FERRY_OK;
}

/* The k largest eigenpairs of a symmetric matrix, which is overwritten. Descending, unlike
 * eigh. v is n x k. Lanczos pays where few pairs of a large matrix are asked for. */
static ferry_status largest(ferry_ctx *ctx, ferry_small *a, int64_t k, double *values,
                            ferry_block *v)
{
    ferry_status st = FERRY_OK;
    const int64_t n = a->rows;
    double *w = NULL;
    ferry_matrix view = {.rows = n, .cols = n, .nnz = n * n, .dense = a->data, .refs = 1};

    if (n > DENSE_UP_TO && k <= n / 10)
        return ferry_e(ctx)->eigs(ctx, n, multiply, &view, k, 0, values, v);
    FERRY_NEW(ctx, w, n);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, a, w));
    for (int64_t j = 0; j < k; j++) {
        values[j] = w[n - 1 - j];
        for (int64_t i = 0; i < n; i++)
            FERRY_ROW(v, i)[j] = FERRY_AT(a, i, n - 1 - j);
    }
done:
    ferry_i_free(w);
    return st;
}

/* F'F: X'X with one coefficient per pair of parts. X'X once, then every block of it times
 * the product of its coefficients, summed over both halves. */
static ferry_status gram(ferry_ctx *ctx, const hemap_problem *p, ferry_small **out)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *part[PARTS];
    const int parts = parts_of(p, part);
    ferry_matrix *x = NULL;

    FERRY_TRY(ferry_i_matrix_join(ctx, parts, part, &x));
    FERRY_TRY(ferry_i_small_new(ctx, x->cols, x->cols, out));
    FERRY_TRY(ferry_e(ctx)->xtx(ctx, x, *out));
    for (int64_t c = 0, col = 0; c < parts; col += part[c++]->cols)
        for (int64_t r = 0, row = 0; r < parts; row += part[r++]->cols) {
            const double f = factor_of(p, (int)r, 0) * factor_of(p, (int)c, 0) +
                             factor_of(p, (int)r, 1) * factor_of(p, (int)c, 1);
            for (int64_t j = 0; j < part[c]->cols; j++)
                for (int64_t i = 0; i < part[r]->cols; i++)
                    FERRY_AT(*out, row + i, col + j) *= f;
        }
done:
    ferry_i_matrix_free(x);
    return st;
}

/* A block that is rows [at, at + n) of v. */
static ferry_block slice(const ferry_block *v, int64_t at, int64_t n)
{
    return (ferry_block){.rows = n, .k = v->k, .data = FERRY_ROW(v, at)};
}

/* bt, bs <- the halves of F V. xv: N x k scratch. The first part overwrites, the others add
 * (i > 0). */
static void apply_factor(ferry_ctx *ctx, const hemap_problem *p, const ferry_block *v,
                         ferry_block *xv, ferry_block *bt, ferry_block *bs)
{
    const ferry_matrix *part[PARTS];
    const int parts = parts_of(p, part);

    for (int64_t i = 0, at = 0; i < parts; at += part[i++]->cols) {
        const ferry_block vi = slice(v, at, part[i]->cols);
        ferry_e(ctx)->mul(ctx, 1, part[i], &vi, 0, xv);
        ferry_e(ctx)->axpby(ctx, factor_of(p, (int)i, 0), xv, i > 0, bt);
        ferry_e(ctx)->axpby(ctx, factor_of(p, (int)i, 1), xv, i > 0, bs);
    }
}

/* Divide by the root of the eigenvalue; leave out what does not exist. 1e-12 of the first
 * value: below it the division would blow up rounding. rank counts what is left. */
static int64_t normalise(ferry_ctx *ctx, int64_t k, double *values, double *f,
                         ferry_block *bt, ferry_block *bs)
{
    int64_t rank = 0;

    for (int64_t j = 0; j < k; j++) {
        const bool real = values[j] > 0 && values[j] >= 1e-12 * values[0];
        f[j] = real ? 1 / sqrt(values[j]) : 0;
        if (!real) values[j] = 0;
        rank += real;
    }
    ferry_e(ctx)->bscale(ctx, bt, FERRY_COLS, f);
    ferry_e(ctx)->bscale(ctx, bs, FERRY_COLS, f);
    return rank;
}

/* A's own eigenvectors, when it is the smaller matrix. Vectors of A have unit length
 * already: nothing is to be divided. */
static ferry_status on_rows(ferry_ctx *ctx, const hemap_problem *p, int64_t k,
                            double *values, ferry_block *bt, ferry_block *bs, int64_t *rank)
{
    ferry_status st = FERRY_OK;
    const int64_t n = p->t->rows;
    ferry_small *a = NULL;
    ferry_block *v = NULL;

    FERRY_TRY(ferry_i_hemap_matrix(ctx, p, &a));
    FERRY_TRY(ferry_i_block_new(ctx, 2 * n, k, &v));
    FERRY_TRY(largest(ctx, a, k, values, v));
    *rank = 0;
    for (int64_t j = 0; j < k; j++) {
        const bool real = values[j] > 0 && values[j] >= 1e-12 * values[0];
        if (!real) values[j] = 0;
        *rank += real;
        for (int64_t i = 0; i < n; i++) {
            FERRY_ROW(bt, i)[j] = real ? FERRY_ROW(v, i)[j] : 0;
            FERRY_ROW(bs, i)[j] = real ? FERRY_ROW(v, n + i)[j] : 0;
        }
    }
done:
    FERRY_FREE(v, a);
    return st;
}

/* B = F V L^-1/2. More dimensions than F'F has are columns of zeros.
 *
 * `wide` is V with zeros behind the `some` columns that exist, so that all of B's columns
 * are written. */
ferry_status ferry_i_hemap_spectral(ferry_ctx *ctx, const hemap_problem *p, int64_t k,
                                    double *values, ferry_block *bt, ferry_block *bs,
                                    int64_t *rank)
{
    ferry_status st = FERRY_OK;
    const int64_t n = p->t->rows, q = columns_of(p), have = q < 2 * n ? q : 2 * n;
    const int64_t some = k < have ? k : have;
    ferry_small *g = NULL;
    ferry_block *v = NULL, *xv = NULL, *wide = NULL;
    double *f = NULL;

    memset(values, 0, (size_t)k * sizeof *values);
    if (q > 2 * n && k <= 2 * n) return on_rows(ctx, p, k, values, bt, bs, rank);
    FERRY_TRY(gram(ctx, p, &g));
    FERRY_TRY(ferry_i_block_new(ctx, q, some, &v));
    FERRY_TRY(ferry_i_block_new(ctx, q, k, &wide));
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &xv));
    FERRY_NEW(ctx, f, k);
    FERRY_TRY(largest(ctx, g, some, values, v));
    for (int64_t i = 0; i < q; i++)
        memcpy(FERRY_ROW(wide, i), FERRY_ROW(v, i), (size_t)some * sizeof *v->data);
    apply_factor(ctx, p, wide, xv, bt, bs);
    *rank = normalise(ctx, k, values, f, bt, bs);
done:
    FERRY_FREE(f, wide, xv, v, g);
    return st;
}

/* v <- F'B. Blocks of v lie one below the other, in the order of the parts' columns. */
static ferry_status apply_transposed(ferry_ctx *ctx, const hemap_problem *p,
                                     const ferry_block *bt, const ferry_block *bs,
                                     ferry_block *v)
{
    const ferry_matrix *part[PARTS];
    const int parts = parts_of(p, part);

    for (int64_t i = 0, at = 0; i < parts; at += part[i++]->cols) {
        ferry_block vi = slice(v, at, part[i]->cols);
        FERRY_PASS(ferry_e(ctx)->tmul(ctx, factor_of(p, (int)i, 0), part[i], bt, 0, &vi));
        FERRY_PASS(ferry_e(ctx)->tmul(ctx, factor_of(p, (int)i, 1), part[i], bs, 1, &vi));
    }
    return FERRY_OK;
}

/* b <- the nearest matrix with orthonormal columns: U V' of its singular vectors. A block's
 * bytes are its transpose, column-major. r = min(rows, k). Written over b. */
static ferry_status polar(ferry_ctx *ctx, ferry_block *b)
{
    ferry_status st = FERRY_OK;
    const int64_t r = b->k < b->rows ? b->k : b->rows;
    ferry_small whole = {.rows = b->k, .cols = b->rows, .data = b->data};
    ferry_small *u = NULL, *v = NULL;
    double *s = ferry_i_calloc(r, sizeof *s);

    FERRY_HAVE(ctx, s);
    FERRY_TRY(ferry_i_small_new(ctx, b->k, r, &u));
    FERRY_TRY(ferry_i_small_new(ctx, b->rows, r, &v));
    FERRY_TRY(ferry_e(ctx)->svd(ctx, &whole, u, s, v));
    ferry_e(ctx)->gemm(ctx, false, true, 1, u, v, 0, &whole);
done:
    FERRY_FREE(v, u, s);
    return st;
}

/* With the other half fixed, tr(B'AB) is at least linear in one half B_T (A is positive
 * semidefinite), and a linear function of an orthonormal B_T is largest at the polar factor
 * of its gradient, which is the upper half of A B. v = F'B is q x k, A B = F v: no N x N
 * matrix. trace = |F'B|^2 = tr(B'AB). It grows by each half step, so the test of its growth
 * ends the loop. */
ferry_status ferry_i_hemap_exact(ferry_ctx *ctx, const hemap_problem *p, int64_t max_iter,
                                 double tol, ferry_block *bt, ferry_block *bs,
                                 double *trace)
{
    ferry_status st = FERRY_OK;
    const int64_t n = bt->rows, k = bt->k;
    ferry_block *v = NULL, *xv = NULL, *at = NULL, *as = NULL;
    double before = -1;

    FERRY_TRY(ferry_i_block_new(ctx, columns_of(p), k, &v));
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &xv));
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &at));
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &as));
    FERRY_TRY(polar(ctx, bt));
    FERRY_TRY(polar(ctx, bs));
    for (int64_t i = 0; i < max_iter; i++) {
        for (int half = 0; half < 2; half++) { /* one half after the other */
            FERRY_TRY(apply_transposed(ctx, p, bt, bs, v));
            apply_factor(ctx, p, v, xv, at, as);
            ferry_i_block_copy(half == 0 ? at : as, half == 0 ? bt : bs);
            FERRY_TRY(polar(ctx, half == 0 ? bt : bs));
        }
        FERRY_TRY(apply_transposed(ctx, p, bt, bs, v));
        *trace = ferry_e(ctx)->dot(ctx, v, v);
        if (*trace - before <= tol * *trace) break;
        before = *trace;
    }
done:
    FERRY_FREE(as, at, xv, v);
    return st;
}

/* With P_T, P_S at their best only tr(B'AB) of G depends on B.
 *
 * G = (theta + beta/2)(|T|^2 + |S|^2) + (1 - theta)(|C_T|^2 + |C_S|^2) - tr(B'AB) / (2
 * theta + beta); the text leaves out the trace in (5.9) and the constant of the
 * clusters. */
double ferry_i_hemap_objective(const hemap_problem *p, double trace)
{
    double g = (p->theta + p->beta / 2) *
               (ferry_i_matrix_norm2(p->t) + ferry_i_matrix_norm2(p->s));

    if (p->ct && p->cs)
        g += (1 - p->theta) * (ferry_i_matrix_norm2(p->ct) + ferry_i_matrix_norm2(p->cs));
    return g - trace / (2 * p->theta + p->beta);
}
