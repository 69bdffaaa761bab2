/* Small dense problems in plain C: Jacobi rotations for eigenpairs and singular values,
 * Householder reflections for QR, elimination with pivoting for solves. Accuracy and
 * clarity before speed: this is what the fast engines are compared with. */
#include <assert.h>
#include <float.h>
#include <math.h>

#include "linalg/ref/ref.h"

enum { MAX_SWEEPS = 100 }; /* Jacobi converges in about ten */

/* Sum of squares. */
static double norm2(const double *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

/* Cosine and sine of the rotation that makes [[app, apq], [apq, aqq]] diagonal (Golub and
 * Van Loan, Algorithm 8.4.1).
 * t is the smaller root of t^2 + 2 tau t - 1 = 0, the angle of at most 45 degrees,
 * without which the sweeps need not converge. apq is not 0. */
static void rotation(double app, double apq, double aqq, double *c, double *s)
{
    const double tau = (aqq - app) / (2 * apq);
    const double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));

    *c = 1 / sqrt(1 + t * t);
    *s = t * *c;
}

/* Columns p and q of a: (p, q) <- (c p - s q, s p + c q). */
static void rotate_columns(ferry_small *a, int64_t p, int64_t q, double c, double s)
{
    for (int64_t i = 0; i < a->rows; i++) {
        const double x = FERRY_AT(a, i, p), y = FERRY_AT(a, i, q);
        FERRY_AT(a, i, p) = c * x - s * y;
        FERRY_AT(a, i, q) = s * x + c * y;
    }
}

/* The same from the left, so that columns and rows together are a similarity. */
static void rotate_rows(ferry_small *a, int64_t p, int64_t q, double c, double s)
{
    for (int64_t j = 0; j < a->cols; j++) {
        const double x = FERRY_AT(a, p, j), y = FERRY_AT(a, q, j);
        FERRY_AT(a, p, j) = c * x - s * y;
        FERRY_AT(a, q, j) = s * x + c * y;
    }
}

static void swap_columns(ferry_small *a, int64_t p, int64_t q)
{
    for (int64_t i = 0; i < a->rows; i++) {
        const double t = FERRY_AT(a, i, p);
        FERRY_AT(a, i, p) = FERRY_AT(a, i, q);
        FERRY_AT(a, i, q) = t;
    }
}

static void swap_rows(ferry_small *a, int64_t p, int64_t q)
{
    for (int64_t j = 0; j < a->cols; j++) {
        const double t = FERRY_AT(a, p, j);
        FERRY_AT(a, p, j) = FERRY_AT(a, q, j);
        FERRY_AT(a, q, j) = t;
    }
}

static void set_identity(ferry_small *a)
{
    for (int64_t j = 0; j < a->cols; j++)
        for (int64_t i = 0; i < a->rows; i++)
            FERRY_AT(a, i, j) = i == j;
}

/* NaN would spread to everything and still come out as an answer. */
static ferry_status need_finite(ferry_ctx *ctx, const char *what, const ferry_small *a)
{
    for (int64_t e = 0; e < a->rows * a->cols; e++)
        if (!isfinite(a->data[e]))
            return ferry_i_fail(ctx, FERRY_ENUMERIC, "%s: the matrix is not finite", what);
    return FERRY_OK;
}

/* One pass over all pairs; whether anything was rotated.
 * What is off the diagonal by less than rounding of the whole is left: it no longer
 * changes an eigenvalue. */
static bool jacobi_sweep(ferry_small *a, ferry_small *q)
{
    const double small = DBL_EPSILON * 1e-3 * sqrt(norm2(a->data, a->rows * a->rows));
    bool rotated = false;

    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = i + 1; j < a->rows; j++) {
            const double off = FERRY_AT(a, i, j);
            double c, s;
            if (fabs(off) <= small) continue;
            rotation(FERRY_AT(a, i, i), off, FERRY_AT(a, j, j), &c, &s);
            rotate_columns(a, i, j, c, s);
            rotate_rows(a, i, j, c, s);
            rotate_columns(q, i, j, c, s);
            FERRY_AT(a, i, j) = FERRY_AT(a, j, i) = 0;
            rotated = true;
        }
    return rotated;
}

/* Cyclic Jacobi: rotate every pair of rows and columns until nothing off the diagonal is
 * left; the product of the rotations is Q. Quadratic convergence, about ten sweeps. */
ferry_status ferry_i_ref_eigh(ferry_ctx *ctx, ferry_small *a, double *w)
{
    ferry_status st = FERRY_OK;
    ferry_small *q = NULL;
    const int64_t n = a->rows;

    assert(a->cols == n);
    FERRY_TRY(need_finite(ctx, "eigh", a));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &q));
    set_identity(q);
    /* A <- J'A J and Q <- Q J for every rotation J, until A is diagonal */
    for (int sweep = 0; sweep < MAX_SWEEPS && jacobi_sweep(a, q); sweep++) {
    }
    for (int64_t i = 0; i < n; i++)
        w[i] = FERRY_AT(a, i, i);
    for (int64_t i = 0; i < n; i++) { /* selection sort, ascending */
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            if (w[j] < w[least]) least = j;
        const double t = w[i];
        w[i] = w[least];
        w[least] = t;
        swap_columns(q, i, least);
        ferry_i_fix_sign(n, q->data + i * n, 1);
    }
    for (int64_t e = 0; e < n * n; e++)
        a->data[e] = q->data[e];
done:
    ferry_i_small_free(q);
    return st;
}

/* x <- L^-1 x and x <- L^-T x for one column.
 * In place; L is lower triangular, n x n. O(n^2). */
static void forward(const ferry_small *l, double *x)
{
    for (int64_t i = 0; i < l->rows; i++) {
        for (int64_t j = 0; j < i; j++)
            x[i] -= FERRY_AT(l, i, j) * x[j];
        x[i] /= FERRY_AT(l, i, i);
    }
}

static void backward(const ferry_small *l, double *x)
{
    for (int64_t i = l->rows - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < l->rows; j++)
            x[i] -= FERRY_AT(l, j, i) * x[j];
        x[i] /= FERRY_AT(l, i, i);
    }
}

static double column_dot(const ferry_small *a, int64_t p, int64_t q)
{
    double sum = 0;

    for (int64_t i = 0; i < a->rows; i++)
        sum += FERRY_AT(a, i, p) * FERRY_AT(a, i, q);
    return sum;
}

/* Rotate pairs of columns until all are orthogonal (one-sided Jacobi); v gathers the
 * rotations.
 * Each rotation makes one pair orthogonal, and undoes others a little less each sweep.
 * Columns of rounding size are left, or two of them could be turned for ever. */
static void orthogonalise(ferry_small *a, ferry_small *v)
{
    const double small = 1e-36 * norm2(a->data, a->rows * a->cols); /* noise of rounding */
    bool rotated = true;

    for (int sweep = 0; sweep < MAX_SWEEPS && rotated; sweep++) {
        rotated = false;
        for (int64_t p = 0; p < a->cols; p++)
            for (int64_t q = p + 1; q < a->cols; q++) {
                const double pp = column_dot(a, p, p), qq = column_dot(a, q, q);
                const double pq = column_dot(a, p, q);
                double c, s;
                if (fabs(pq) <= fmax(DBL_EPSILON * sqrt(pp * qq), small)) continue;
                rotation(pp, pq, qq, &c, &s);
                rotate_columns(a, p, q, c, s);
                rotate_columns(v, p, q, c, s);
                rotated = true;
            }
    }
}

/* Column j of u becomes a unit vector orthogonal to the columns before it.
 * Gram-Schmidt on unit vectors, twice, since once is not enough when little is left. The
 * squared lengths of all units less their projections add up to at least 1, so one has 1
 * / rows. */
static void complete_column(ferry_small *u, int64_t j)
{
    for (int64_t unit = 0; unit < u->rows; unit++) {
        for (int64_t i = 0; i < u->rows; i++)
            FERRY_AT(u, i, j) = i == unit;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t p = 0; p < j; p++) {
                const double d = column_dot(u, p, j);
                for (int64_t i = 0; i < u->rows; i++)
                    FERRY_AT(u, i, j) -= d * FERRY_AT(u, i, p);
            }
        const double norm = sqrt(column_dot(u, j, j));
        if (norm * norm * (double)u->rows < 0.5)
            continue; /* some unit has at least 1/rows */
        for (int64_t i = 0; i < u->rows; i++)
            FERRY_AT(u, i, j) /= norm;
        return;
    }
}

/* A (m >= n) with orthogonal columns: their norms, descending, and the unit columns.
 * Selection sort, v's columns moving along. */
static void norms_and_units(ferry_small *a, ferry_small *v, double *s)
{
    for (int64_t j = 0; j < a->cols; j++)
        s[j] = sqrt(column_dot(a, j, j));
    for (int64_t j = 0; j < a->cols; j++) {
        int64_t most = j;
        for (int64_t q = j + 1; q < a->cols; q++)
            if (s[q] > s[most]) most = q;
        const double t = s[j];
        s[j] = s[most];
        s[most] = t;
        swap_columns(a, j, most);
        swap_columns(v, j, most);
        /* Below rounding the direction is noise: any unit orthogonal to the others is
         * right. */
        if (s[j] <= s[0] * DBL_EPSILON * (double)a->rows) {
            complete_column(a, j);
            continue;
        }
        for (int64_t i = 0; i < a->rows; i++)
            FERRY_AT(a, i, j) /= s[j];
    }
}

/* One-sided Jacobi: A V = U diag(s) once the columns of A V are orthogonal. */
ferry_status ferry_i_ref_svd(ferry_ctx *ctx, ferry_small *a, ferry_small *u, double *s,
                             ferry_small *v)
{
    ferry_status st = FERRY_OK;
    ferry_small *work = NULL, *turn = NULL;
    const bool wide = a->rows < a->cols; /* then A' = V diag(s) U' */
    const int64_t m = wide ? a->cols : a->rows, n = wide ? a->rows : a->cols;

    assert(u->rows == a->rows && u->cols == n && v->rows == a->cols && v->cols == n);
    FERRY_TRY(need_finite(ctx, "svd", a));
    FERRY_TRY(ferry_i_small_new(ctx, m, n, &work));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &turn));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(work, i, j) = wide ? FERRY_AT(a, j, i) : FERRY_AT(a, i, j);
    set_identity(turn);
    orthogonalise(work, turn);
    norms_and_units(work, turn, s);
    for (int64_t j = 0; j < n; j++) {
        const ferry_small *left = wide ? turn : work, *right = wide ? work : turn;
        for (int64_t i = 0; i < u->rows; i++)
            FERRY_AT(u, i, j) = FERRY_AT(left, i, j);
        const double sign = ferry_i_fix_sign(u->rows, u->data + j * u->rows, 1) ? -1 : 1;
        for (int64_t i = 0; i < v->rows; i++)
            FERRY_AT(v, i, j) = sign * FERRY_AT(right, i, j);
    }
done:
    ferry_i_small_free(turn);
    ferry_i_small_free(work);
    return st;
}

/* x <- x - 2 h (h'x) / (h'h).
 * Householder's reflection in the plane orthogonal to h; hh is h'h. */
static void reflect(const double *h, int64_t len, double hh, double *x)
{
    double d = 0;

    for (int64_t i = 0; i < len; i++)
        d += h[i] * x[i];
    for (int64_t i = 0; i < len; i++)
        x[i] -= 2 * d / hh * h[i];
}

/* Reflectors H_1 .. H_n take A to R; Q is their product with the identity, from the last
 * to the first. The sign in h avoids cancellation; a column of zeros needs no
 * reflection. In the end diagonals of R are made >= 0. */
ferry_status ferry_i_ref_qr(ferry_ctx *ctx, ferry_small *a, ferry_small *r)
{
    ferry_status st = FERRY_OK;
    ferry_small *h = NULL;
    const int64_t m = a->rows, n = a->cols;

    assert(m >= n && r->rows == n && r->cols == n);
    FERRY_TRY(ferry_i_small_new(ctx, m, n, &h)); /* reflectors, column j from row j on */
    for (int64_t j = 0; j < n; j++) {
        double *hj = &FERRY_AT(h, j, j), *aj = &FERRY_AT(a, j, j);
        for (int64_t i = 0; i < m - j; i++)
            hj[i] = aj[i];
        const double norm = sqrt(norm2(hj, m - j));
        hj[0] += hj[0] >= 0 ? norm : -norm;
        const double hh = norm2(hj, m - j);
        for (int64_t c = j; hh > 0 && c < n; c++)
            reflect(hj, m - j, hh, &FERRY_AT(a, j, c));
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(r, i, j) = i <= j ? FERRY_AT(a, i, j) : 0;
    set_identity(a);
    for (int64_t j = n - 1; j >= 0; j--) {
        const double *hj = &FERRY_AT(h, j, j);
        const double hh = norm2(hj, m - j);
        for (int64_t c = j; hh > 0 && c < n; c++)
            reflect(hj, m - j, hh, &FERRY_AT(a, j, c));
    }
    for (int64_t j = 0; j < n; j++) {
        if (FERRY_AT(r, j, j) >= 0) continue;
        for (int64_t c = j; c < n; c++)
            FERRY_AT(r, j, c) = -FERRY_AT(r, j, c);
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(a, i, j) = -FERRY_AT(a, i, j);
    }
done:
    ferry_i_small_free(h);
    return st;
}

/* Column by column: l_jj = sqrt(a_jj - sum_p l_jp^2), l_ij = (a_ij - sum_p l_ip l_jp) /
 * l_jj. !(pivot > 0) refuses NaN as well. */
ferry_status ferry_i_ref_chol(ferry_ctx *ctx, ferry_small *a)
{
    assert(a->rows == a->cols);
    for (int64_t j = 0; j < a->rows; j++) {
        double pivot = FERRY_AT(a, j, j);
        for (int64_t p = 0; p < j; p++)
            pivot -= FERRY_AT(a, j, p) * FERRY_AT(a, j, p);
        if (!(pivot > 0))
            return ferry_i_fail(ctx, FERRY_ENUMERIC,
                                "chol: the matrix is not positive definite (row %lld)",
                                (long long)(j + 1));
        FERRY_AT(a, j, j) = sqrt(pivot);
        for (int64_t i = j + 1; i < a->rows; i++) {
            for (int64_t p = 0; p < j; p++)
                FERRY_AT(a, i, j) -= FERRY_AT(a, i, p) * FERRY_AT(a, j, p);
            FERRY_AT(a, i, j) /= FERRY_AT(a, j, j);
        }
        for (int64_t i = 0; i < j; i++)
            FERRY_AT(a, i, j) = 0;
    }
    return FERRY_OK;
}

void ferry_i_ref_chol_solve(ferry_ctx *ctx, const ferry_small *l, ferry_small *x)
{
    (void)ctx;
    assert(x->rows == l->rows);
    for (int64_t j = 0; j < x->cols; j++) {
        forward(l, x->data + j * x->rows);
        backward(l, x->data + j * x->rows);
    }
}

/* Gauss with partial pivoting on A and X together, then back substitution, column by
 * column. */
ferry_status ferry_i_ref_solve(ferry_ctx *ctx, ferry_small *a, ferry_small *x)
{
    const int64_t n = a->rows;

    assert(a->cols == n && x->rows == n);
    for (int64_t j = 0; j < n; j++) { /* elimination with the largest pivot of the column */
        int64_t p = j;
        for (int64_t i = j + 1; i < n; i++)
            if (fabs(FERRY_AT(a, i, j)) > fabs(FERRY_AT(a, p, j))) p = i;
        if (!(fabs(FERRY_AT(a, p, j)) > 0))
            return ferry_i_fail(ctx, FERRY_ENUMERIC,
                                "solve: the matrix is singular (row %lld)",
                                (long long)(j + 1));
        swap_rows(a, j, p);
        swap_rows(x, j, p);
        for (int64_t i = j + 1; i < n; i++) {
            const double f = FERRY_AT(a, i, j) / FERRY_AT(a, j, j);
            for (int64_t c = j; c < n; c++)
                FERRY_AT(a, i, c) -= f * FERRY_AT(a, j, c);
            for (int64_t c = 0; c < x->cols; c++)
                FERRY_AT(x, i, c) -= f * FERRY_AT(x, j, c);
        }
    }
    for (int64_t c = 0; c < x->cols; c++)
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t j = i + 1; j < n; j++)
                FERRY_AT(x, i, c) -= FERRY_AT(a, i, j) * FERRY_AT(x, j, c);
            FERRY_AT(x, i, c) /= FERRY_AT(a, i, i);
        }
    return FERRY_OK;
}

/* The definition; beta 0 forgets C. */
void ferry_i_ref_gemm(ferry_ctx *ctx, bool ta, bool tb, double alpha, const ferry_small *a,
                      const ferry_small *b, double beta, ferry_small *c)
{
    const int64_t inner = ta ? a->rows : a->cols;

    (void)ctx;
    assert((ta ? a->cols : a->rows) == c->rows && (tb ? b->rows : b->cols) == c->cols);
    assert((tb ? b->cols : b->rows) == inner);
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->cols; j++) {
            double sum = 0;
            for (int64_t p = 0; p < inner; p++)
                sum += (ta ? FERRY_AT(a, p, i) : FERRY_AT(a, i, p)) *
                       (tb ? FERRY_AT(b, j, p) : FERRY_AT(b, p, j));
            FERRY_AT(c, i, j) =
                beta == 0 ? alpha * sum : alpha * sum + beta * FERRY_AT(c, i, j);
        }
}
