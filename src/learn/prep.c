/* Preparing features: missing cells by column means, then scaling.
 *
 * With x_j the column after filling: fill_j = mean of the cells that are there, and
 * standard scaling is (x_j - mean_j) / sd_j with the population sd. A CSR matrix is never
 * shifted (mean_j = 0): that would make it dense.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "learn/rows.h"

/* One dense row's part of the sums below, in loops that a compiler can spread over
 * lanes. */
static void add_row(int64_t d, const double *v, int64_t *missing, double *sum)
{
    for (int64_t j = 0; j < d; j++) {
        missing[j] += isnan(v[j]);
        sum[j] += isnan(v[j]) ? 0 : v[j];
    }
}

/* sum += (v - mu)^2; a missing cell is at the mean once it is filled and adds nothing. */
static void add_squares(int64_t d, const double *v, const double *mu, double *sum)
{
    for (int64_t j = 0; j < d; j++) {
        const double c = isnan(v[j]) ? 0 : v[j] - mu[j];
        sum[j] += c * c;
    }
}

/* fill <- column means of the cells that are there; an entry that CSR does not store is
 * 0.
 * missing (cols, zeroed) <- how many cells of each column are NaN; a column of NaN alone
 * gets 0. */
static void column_means(const ferry_matrix *x, int64_t *missing, double *fill)
{
    const double *v = row_values(x);

    for (int64_t i = 0; x->dense && i < x->rows; i++)
        add_row(x->cols, v + i * x->cols, missing, fill);
    for (int64_t e = 0; !x->dense && e < x->nnz; e++) {
        if (isnan(v[e]))
            missing[x->index[e]]++;
        else
            fill[x->index[e]] += v[e];
    }
    for (int64_t j = 0; j < x->cols; j++) {
        const int64_t there = x->rows - missing[j];
        fill[j] = there > 0 ? fill[j] / (double)there : 0;
    }
}

/* inv_sd <- 1 / sd around mu, where filled cells add nothing: sd^2 = (sum of (x - mu)^2
 * over stored cells + mu^2 for each that is not stored) / n. Constant columns get 1. */
static void column_inv_sd(const ferry_matrix *x, const double *mu, int64_t *stored,
                          double *inv_sd)
{
    const double *v = row_values(x);
    const double n = x->rows > 0 ? (double)x->rows : 1;

    memset(stored, 0, (size_t)x->cols * sizeof *stored);
    for (int64_t i = 0; x->dense && i < x->rows; i++)
        add_squares(x->cols, v + i * x->cols, mu, inv_sd);
    for (int64_t e = 0; !x->dense && e < x->nnz; e++) {
        const int64_t j = x->index[e];
        const double c = isnan(v[e]) ? 0 : v[e] - mu[j];
        inv_sd[j] += c * c;
        stored[j]++;
    }
    for (int64_t j = 0; j < x->cols; j++) {
        const double absent = x->dense ? 0 : (double)(x->rows - stored[j]);
        const double sd = sqrt((inv_sd[j] + absent * mu[j] * mu[j]) / n);
        /* A constant column has an sd of rounding size, not of 0. */
        inv_sd[j] = sd > 1e-13 * fabs(mu[j]) && sd > DBL_MIN ? 1 / sd : 1;
    }
}

/* The caller owns *out. Two passes over x. Columns whose sums overflow are refused here,
 * where the column can be named. */
ferry_status ferry_i_prep_fit(ferry_ctx *ctx, const ferry_matrix *x, ferry_prep_kind scale,
                              ferry_prep **out)
{
    ferry_status st = FERRY_OK;
    ferry_prep *p = NULL;
    int64_t *count = NULL;

    *out = NULL;
    FERRY_NEW(ctx, p, 1);
    p->scale = scale;
    p->d = x->cols;
    FERRY_NEW(ctx, p->fill, x->cols);
    FERRY_NEW(ctx, p->mean, x->cols);
    FERRY_NEW(ctx, p->inv_sd, x->cols);
    FERRY_NEW(ctx, count, x->cols);

    column_means(x, count, p->fill);
    for (int64_t j = 0; j < x->cols; j++)
        p->missing = p->missing || count[j] > 0;
    if (scale == FERRY_PREP_STANDARD) column_inv_sd(x, p->fill, count, p->inv_sd);
    for (int64_t j = 0; j < x->cols; j++) {
        if (scale != FERRY_PREP_STANDARD)
            p->inv_sd[j] = 1;
        else if (x->dense)
            p->mean[j] = p->fill[j];
        FERRY_NEED(ctx, isfinite(p->fill[j]) && p->inv_sd[j] > 0, FERRY_ENUMERIC,
                   "feature %lld: the values are too large to add up", (long long)(j + 1));
    }
    *out = p;
    p = NULL;
done:
    ferry_i_free(count);
    ferry_i_prep_free(p);
    return st;
}

/* Divide a row by its length; scaled by the largest entry so that squares do not
 * overflow.
 * A row of zeros has no direction and stays. */
static void unit_row(double *v, int64_t n)
{
    double most = 0, sum = 0;

    for (int64_t e = 0; e < n; e++)
        most = fmax(most, fabs(v[e]));
    if (most == 0) return;
    for (int64_t e = 0; e < n; e++) {
        v[e] /= most;
        sum += v[e] * v[e];
    }
    for (int64_t e = 0; e < n; e++)
        v[e] /= sqrt(sum);
}

/* Writes to the same entries of `to` as x has, so dense and CSR share the loop. CSR:
 * mean is 0, and entries not stored stay 0. */
static void prepare_row(const ferry_prep *p, const ferry_matrix *x, int64_t i, double *to)
{
    const double *v = row_values(x);
    const int64_t begin = row_begin(x, i), end = row_end(x, i);

    for (int64_t e = begin; e < end; e++) {
        const int64_t j = row_column(x, i, e);
        const double filled = isnan(v[e]) ? p->fill[j] : v[e];
        to[e] = (filled - p->mean[j]) * p->inv_sd[j];
    }
    if (p->scale == FERRY_PREP_L2) unit_row(to + begin, end - begin);
}

/* One pass to see whether any cell is missing saves a copy of the whole matrix. */
static bool nothing_to_do(const ferry_prep *p, const ferry_matrix *x)
{
    const double *v = row_values(x);

    if (p->scale == FERRY_PREP_KEEP) return true;
    if (p->scale != FERRY_PREP_NONE) return false;
    for (int64_t e = 0; e < x->nnz; e++)
        if (isnan(v[e])) return false;
    return true;
}

/* CSR results share the pattern of x (matrix_like) and have values of their own. */
ferry_status ferry_i_prep_apply(ferry_ctx *ctx, const ferry_prep *p, const ferry_matrix *x,
                                ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    /* Only the count of owners changes; the matrix stays as it is. */
    ferry_matrix *shared = (ferry_matrix *)x;
    ferry_matrix *y = NULL;

    *out = NULL;
    assert(x->cols == p->d);
    if (nothing_to_do(p, x)) {
        *out = ferry_i_matrix_ref(shared);
        goto done;
    }
    if (x->dense)
        FERRY_TRY(ferry_i_matrix_dense(ctx, x->rows, x->cols, &y));
    else
        FERRY_TRY(ferry_i_matrix_like(ctx, shared, &y));
    for (int64_t i = 0; i < x->rows; i++)
        prepare_row(p, x, i, row_values(y));
    *out = y;
done:
    return st;
}

void ferry_i_prep_free(ferry_prep *p)
{
    if (!p) return;
    ferry_i_free(p->inv_sd);
    ferry_i_free(p->mean);
    ferry_i_free(p->fill);
    ferry_i_free(p);
}
