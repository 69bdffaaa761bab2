/* Small dense problems: LAPACK, column-major, with workspaces from our allocator.
 *
 * The sizes of workspaces are asked for first (a size of -1 is LAPACK's way to ask),
 * then the call is made. Signs that LAPACK leaves open are fixed, so that the same model
 * comes out of every version of the library. */
#include <math.h>

#include "linalg/host/host.h"
#include "linalg/host/openblas.h"

/* Both sides longer than this: 4 n^2 numbers of work would not count in 31 bits. */
enum { MAX_SIDE = 20000 };

static int lead(const ferry_small *a) /* LAPACK wants a leading dimension of at least 1 */
{
    return ferry_i_blas_int(a->rows > 0 ? a->rows : 1);
}

/* LAPACK may loop for ever on NaN, and counts its workspaces of 4 n^2 numbers in 32
 * bits. */
static ferry_status check(ferry_ctx *ctx, const char *what, const ferry_small *a)
{
    if (a->rows > MAX_SIDE && a->cols > MAX_SIDE)
        return ferry_i_fail(ctx, FERRY_EINVAL, "%s: %lld x %lld is too large for LAPACK",
                            what, (long long)a->rows, (long long)a->cols);
    for (int64_t e = 0; e < a->rows * a->cols; e++)
        if (!isfinite(a->data[e]))
            return ferry_i_fail(ctx, FERRY_ENUMERIC, "%s: the matrix is not finite", what);
    return FERRY_OK;
}

/* An iteration of LAPACK gave up (info > 0), which is rare where all is finite. */
static ferry_status not_converged(ferry_ctx *ctx, const char *what, int info)
{
    return ferry_i_fail(ctx, FERRY_ENUMERIC, "%s: LAPACK did not converge (info %d)", what,
                        info);
}

/* Workspaces of the size that LAPACK asked for in *size (and *isize).
 * One more of each, so that a size of 0 is no special case. Either may be set when this
 * fails: the caller frees both. */
static ferry_status new_work(ferry_ctx *ctx, double size, double **work, int isize,
                             int **iwork)
{
    *work = ferry_i_calloc((int64_t)size + 1, sizeof **work);
    if (iwork) *iwork = ferry_i_calloc((int64_t)isize + 1, sizeof **iwork);
    return !*work || (iwork && !*iwork) ? ferry_i_nomem(ctx) : FERRY_OK;
}

/* Divide and conquer (dsyevd): the fastest for all pairs, with about 2 n^2 numbers of work. Its
 * bits depend on the thread count in the last places; the sign that LAPACK leaves open is
 * fixed by us, or models would differ between machines. */
ferry_status ferry_i_host_eigh(ferry_ctx *ctx, ferry_small *a, double *w)
{
    ferry_status st = FERRY_OK;
    const int n = ferry_i_blas_int(a->rows);
    double *work = NULL, size = 0;
    int *iwork = NULL, isize = 0, info;

    assert(a->rows == a->cols);
    FERRY_TRY(check(ctx, "eigh", a));
    ferry_i_lapack_begin(ctx, n);
    (void)ferry_i_syevd(n, a->data, lead(a), w, &size, -1, &isize, -1);
    FERRY_TRY(new_work(ctx, size, &work, isize, &iwork));
    info = ferry_i_syevd(n, a->data, lead(a), w, work, (int)size, iwork, isize);
    if (info != 0) FERRY_TRY(not_converged(ctx, "eigh", info));
    for (int64_t j = 0; j < n; j++)
        ferry_i_fix_sign(n, a->data + j * n, 1);
done:
    FERRY_FREE(work, iwork);
    return st;
}

/* Fix the signs of U's columns and turn V's with them; vt is V' as LAPACK gives it.
 * u s v' stays the same when both turn. */
static void fix_pairs(ferry_small *u, const double *vt, ferry_small *v)
{
    for (int64_t j = 0; j < u->cols; j++) {
        const double sign = ferry_i_fix_sign(u->rows, u->data + j * u->rows, 1) ? -1 : 1;
        for (int64_t i = 0; i < v->rows; i++)
            FERRY_AT(v, i, j) = sign * vt[j + i * u->cols];
    }
}

/* Divide and conquer (dgesdd), the thin form: V' (r x n) comes out and is turned here. */
ferry_status ferry_i_host_svd(ferry_ctx *ctx, ferry_small *a, ferry_small *u, double *s,
                              ferry_small *v)
{
    ferry_status st = FERRY_OK;
    const int m = ferry_i_blas_int(a->rows), n = ferry_i_blas_int(a->cols);
    const int r = m < n ? m : n;
    double *work = NULL, *vt = NULL, size = 0;
    int *iwork = NULL, info;

    assert(u->rows == m && u->cols == r && v->rows == n && v->cols == r);
    FERRY_TRY(check(ctx, "svd", a));
    if (r == 0) goto done;
    ferry_i_lapack_begin(ctx, r);
    FERRY_TRY(new_work(ctx, (double)r * n, &vt, 8 * r, &iwork));
    (void)ferry_i_gesdd(m, n, a->data, s, u->data, vt, &size, -1, iwork);
    FERRY_TRY(new_work(ctx, size, &work, 0, NULL));
    info = ferry_i_gesdd(m, n, a->data, s, u->data, vt, work, (int)size, iwork);
    if (info != 0) FERRY_TRY(not_converged(ctx, "svd", info));
    fix_pairs(u, vt, v);
done:
    FERRY_FREE(work, vt, iwork);
    return st;
}

/* Householder (dgeqrf), then Q written out (dorgqr). LAPACK leaves the signs of R's diagonal
 * open: a row of R and the column of Q are turned together, which makes Q R unique. */
ferry_status ferry_i_host_qr(ferry_ctx *ctx, ferry_small *a, ferry_small *r)
{
    ferry_status st = FERRY_OK;
    const int m = ferry_i_blas_int(a->rows), n = ferry_i_blas_int(a->cols);
    double *tau = NULL, *work = NULL, size = 0, more = 0;

    assert(m >= n && r->rows == n && r->cols == n);
    if (n == 0) goto done;
    ferry_i_blas_begin(ctx);
    FERRY_TRY(new_work(ctx, n, &tau, 0, NULL));
    ferry_i_geqrf(m, n, a->data, tau, &size, -1);
    ferry_i_orgqr(m, n, a->data, tau, &more, -1);
    size = fmax(size, more);
    FERRY_TRY(new_work(ctx, size, &work, 0, NULL));
    ferry_i_geqrf(m, n, a->data, tau, work, (int)size);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(r, i, j) = i <= j ? FERRY_AT(a, i, j) : 0;
    ferry_i_orgqr(m, n, a->data, tau, work, (int)size);
    for (int64_t j = 0; j < n; j++) {
        if (FERRY_AT(r, j, j) >= 0) continue;
        ferry_i_blas.dscal(m, -1, a->data + j * m, 1);
        ferry_i_blas.dscal(n - (int)j, -1, &FERRY_AT(r, j, j), n);
    }
done:
    FERRY_FREE(tau, work);
    return st;
}

/* The lower triangle is read and becomes L; the upper is zeroed, so that L can be used as a
 * matrix. */
ferry_status ferry_i_host_chol(ferry_ctx *ctx, ferry_small *a)
{
    const int n = ferry_i_blas_int(a->rows);

    assert(a->rows == a->cols);
    ferry_i_blas_begin(ctx);
    int info = ferry_i_potrf(n, a->data, lead(a));
    for (int j = 0; info == 0 && j < n; j++) /* OpenBLAS lets NaN pass */
        if (!(FERRY_AT(a, j, (int64_t)j) > 0)) info = j + 1;
    if (info != 0)
        return ferry_i_fail(ctx, FERRY_ENUMERIC,
                            "chol: the matrix is not positive definite (row %d)", info);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++)
            FERRY_AT(a, i, j) = 0;
    return FERRY_OK;
}

/* Two triangular systems for each column of x; l is not changed. */
void ferry_i_host_chol_solve(ferry_ctx *ctx, const ferry_small *l, ferry_small *x)
{
    assert(x->rows == l->rows);
    ferry_i_blas_begin(ctx);
    ferry_i_potrs(ferry_i_blas_int(l->rows), ferry_i_blas_int(x->cols), l->data, lead(l),
                  x->data, lead(x));
}

/* LU with partial pivoting. Nearly singular systems are solved as they are: who calls knows
 * what conditioning to expect. */
ferry_status ferry_i_host_solve(ferry_ctx *ctx, ferry_small *a, ferry_small *x)
{
    ferry_status st = FERRY_OK;
    const int n = ferry_i_blas_int(a->rows);
    int *pivot = NULL, info;

    assert(a->rows == a->cols && x->rows == n);
    FERRY_NEW(ctx, pivot, n);
    ferry_i_blas_begin(ctx);
    info = ferry_i_gesv(n, ferry_i_blas_int(x->cols), a->data, lead(a), pivot, x->data,
                        lead(x));
    FERRY_NEED(ctx, info == 0, FERRY_ENUMERIC, "solve: the matrix is singular (row %d)",
               info);
done:
    ferry_i_free(pivot);
    return st;
}

/* y <- alpha op(A) x + beta y: dgemm would copy all of A first. */
static void gemv(bool trans, double alpha, const ferry_small *a, const double *x,
                 double beta, double *y)
{
    ferry_i_blas.dgemv(CblasColMajor, trans ? CblasTrans : CblasNoTrans,
                       ferry_i_blas_int(a->rows), ferry_i_blas_int(a->cols), alpha, a->data,
                       lead(a), x, 1, beta, y, 1);
}

/* One column or row is a product with a vector. inner = 0 is left to dgemm, which then
 * only applies beta. */
void ferry_i_host_gemm(ferry_ctx *ctx, bool ta, bool tb, double alpha, const ferry_small *a,
                       const ferry_small *b, double beta, ferry_small *c)
{
    const int inner = ferry_i_blas_int(ta ? a->rows : a->cols);

    assert((ta ? a->cols : a->rows) == c->rows && (tb ? b->rows : b->cols) == c->cols);
    assert((tb ? b->cols : b->rows) == inner);
    ferry_i_blas_begin(ctx);
    if (c->cols == 1 && inner > 0) {
        gemv(ta, alpha, a, b->data, beta, c->data);
        return;
    }
    if (c->rows == 1 && inner > 0) {
        gemv(!tb, alpha, b, a->data, beta, c->data);
        return;
    }
    ferry_i_blas.dgemm(CblasColMajor, ta ? CblasTrans : CblasNoTrans,
                       tb ? CblasTrans : CblasNoTrans, ferry_i_blas_int(c->rows),
                       ferry_i_blas_int(c->cols), inner, alpha, a->data, lead(a), b->data,
                       lead(b), beta, c->data, lead(c));
}
