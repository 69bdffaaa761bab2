/* Scaling: the first two passes over dense matrices (scale.h has the rule, scale.c the passes).
 *
 * Row by row a cell costs a branch, a copy and a look at its column's 88 bytes. Here a block of
 * columns is walked down all rows with its sums in the nearest cache (linalg/columns.h). Each sum gets the same numbers in the same order as in scale.c, so the bits
 * are the same: a column's from the first row to the last, a row's from the first column to the
 * last. Zeros, which scale.c does not visit, are taken in where they change nothing. */
#include <float.h>
#include <math.h>

#include "learn/scale_learning.h"
#include "linalg/columns.h"

enum { BLOCK = 2048 }; /* columns whose sums stay near; 16 KB of a row at a time */

/* sum[i] += the cells of n columns from v on that are there, one after the other; four rows side
 * by side, so that an addition does not wait for the one before. */
static void add_rows(int64_t rows, int64_t stride, int64_t n, const double *v, double *sum)
{
    int64_t i = 0;

    for (; i + 4 <= rows; i += 4) {
        const double *a = v + i * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        double s = sum[i], t = sum[i + 1], u = sum[i + 2], w = sum[i + 3];
        for (int64_t j = 0; j < n; j++) {
            s += isnan(a[j]) ? 0 : a[j];
            t += isnan(b[j]) ? 0 : b[j];
            u += isnan(c[j]) ? 0 : c[j];
            w += isnan(d[j]) ? 0 : d[j];
        }
        sum[i] = s, sum[i + 1] = t, sum[i + 2] = u, sum[i + 3] = w;
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < n; j++)
            sum[i] += isnan(v[i * stride + j]) ? 0 : v[i * stride + j];
}

/* The sums of all rows, block by block as the passes go. */
static void row_sums(const ferry_matrix *x, double *sum)
{
    for (int64_t i = 0; i < x->rows; i++)
        sum[i] = 0;
    for (int64_t at = 0; at < x->cols; at += BLOCK)
        add_rows(x->rows, x->cols, x->cols - at < BLOCK ? x->cols - at : BLOCK,
                 x->dense + at, sum);
}

/* Whether a row has a cell that is there and not 0. */
static bool says_something(int64_t n, const double *v)
{
    double most = 0;

    for (int64_t j = 0; j < n && most == 0; j++)
        most = isnan(v[j]) ? 0 : v[j];
    return most != 0;
}

/* Whether some number is not whole: one is if nothing is lost when 2^52 is added; from there on
 * all are. */
static bool has_parts(const ferry_matrix *x)
{
    for (int64_t i = 0; i < x->rows; i++) {
        const double *v = x->dense + i * x->cols;
        int64_t parts = 0;
        for (int64_t j = 0; j < x->cols; j++)
            parts += (fabs(v[j]) < 0x1p52) & ((fabs(v[j]) + 0x1p52) - 0x1p52 != fabs(v[j]));
        if (parts > 0) return true;
    }
    return false;
}

/* lo and hi with zeros: end_sums() takes these in anyway where there are any. */
static void block_sums(const ferry_matrix *x, int64_t at, int64_t n, learning *l)
{
    double sum[BLOCK], lo[BLOCK], hi[BLOCK], gone[BLOCK], filled[BLOCK];
    const ferry_columns sums = {
        .n = n, .sum = sum, .lo = lo, .hi = hi, .gone = gone, .filled = filled};

    for (int64_t j = 0; j < n; j++) {
        const column *c = &l->col[at + j];
        sum[j] = c->mean, lo[j] = c->lo, hi[j] = c->hi;
        gone[j] = filled[j] = 0;
    }
    ferry_i_column_sums(&sums, x->rows, x->cols, x->dense + at);
    for (int64_t j = 0; j < n; j++) {
        column *c = &l->col[at + j];
        c->mean = sum[j], c->lo = lo[j], c->hi = hi[j];
        c->there -= gone[j];
        c->filled += filled[j];
        l->cells += filled[j];
        l->f.neg = l->f.neg || lo[j] < 0;
    }
}

void ferry_i_scale_dense_sums(learning *l, const ferry_matrix *x, double *sum)
{
    for (int64_t at = 0; at < x->cols; at += BLOCK)
        block_sums(x, at, x->cols - at < BLOCK ? x->cols - at : BLOCK, l);
    if (l->words) l->f.frac = l->f.frac || has_parts(x);
    if (!l->rule) return;
    row_sums(x, sum);
    for (int64_t i = 0; i < x->rows; i++) {
        l->cell_mean += sum[i];
        l->sum_mean += sum[i];
        l->rows += says_something(x->cols, x->dense + i * x->cols);
    }
}

/* Squares around the means of what is not 0, as in scale.c; a 0 is lo or hi while `two` holds. */
static void block_squares(const ferry_matrix *x, int64_t at, int64_t n, learning *l)
{
    double squares[BLOCK], mean[BLOCK], lo[BLOCK], hi[BLOCK];
    double other[BLOCK]; /* cells that are neither */
    const ferry_columns sums = {
        .n = n, .lo = lo, .hi = hi, .mean = mean, .squares = squares, .other = other};

    for (int64_t j = 0; j < n; j++) {
        const column *c = &l->col[at + j];
        squares[j] = c->squares, mean[j] = c->mean, lo[j] = c->lo, hi[j] = c->hi;
        other[j] = 0;
    }
    ferry_i_column_squares(&sums, x->rows, x->cols, x->dense + at);
    for (int64_t j = 0; j < n; j++) {
        column *c = &l->col[at + j];
        c->squares = squares[j];
        c->two = c->two && other[j] == 0;
    }
}

/* Where the mean lies among the cells that are not 0 (add_ranks() of scale.c). */
static void add_ranks(learning *l, const ferry_matrix *x)
{
    ferry_halves h = {.mean = l->cell_mean, .last = l->last_below, .first = l->first_above};

    ferry_i_column_halves(&h, x->rows * x->cols, x->dense);
    l->below += (double)h.below;
    l->last_below = h.last;
    l->first_above = h.first;
}

void ferry_i_scale_dense_squares(learning *l, const ferry_matrix *x, double *sum)
{
    for (int64_t at = 0; at < x->cols; at += BLOCK)
        block_squares(x, at, x->cols - at < BLOCK ? x->cols - at : BLOCK, l);
    if (l->f.neg || !l->rule) return; /* what follows the rule asks of amounts alone */
    row_sums(x, sum);
    for (int64_t i = 0; i < x->rows; i++)
        if (says_something(x->cols, x->dense + i * x->cols))
            l->sum_squares +=
                (sum[i] - l->sum_mean) * l->sum_by * ((sum[i] - l->sum_mean) * l->sum_by);
    add_ranks(l, x);
}
