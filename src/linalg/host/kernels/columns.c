/* Sums, ranges and squares of columns (linalg/columns.h). Four rows at a time, so that the sums of the columns, which
 * lie in the nearest cache, are read and written once for all four. A lane is a column: its numbers come in the order
 * of the rows, whatever the width. */
#include "linalg/host/kernels/kernel.h"

#include <float.h>
#include <math.h>

enum { ROWS = 4 };

INLINE vec only(ivec test, vec x)
{
    return (vec)(test & (ivec)x);
}

INLINE vec all_of(double x)
{
    vec v;

    for (int i = 0; i < LANES; i++)
        v[i] = x;
    return v;
}

/* ---- the first pass ---- */

/* NaN fails all comparisons, so that it is neither low nor high. */
INLINE void sums_one(const ferry_columns *c, int64_t j, double x)
{
    const bool is = !isnan(x);

    c->sum[j] += is ? x : 0;
    c->lo[j] = x < c->lo[j] ? x : c->lo[j];
    c->hi[j] = x > c->hi[j] ? x : c->hi[j];
    c->gone[j] += is ? 0 : 1;
    c->filled[j] += is && x != 0 ? 1 : 0;
}

INLINE void sums_some(const ferry_columns *c, int rows, int64_t stride, const double *v)
{
    const vec one = all_of(1), zero = all_of(0);
    int64_t j = 0;

    for (; j + LANES <= c->n; j += LANES) {
        vec sum = VEC_LOAD(c->sum + j), lo = VEC_LOAD(c->lo + j), hi = VEC_LOAD(c->hi + j);
        vec gone = VEC_LOAD(c->gone + j), filled = VEC_LOAD(c->filled + j);
        UNROLL for (int r = 0; r < rows; r++)
        {
            const vec x = VEC_LOAD(v + r * stride + j);
            const ivec is = (ivec)(x == x);
            sum += only(is, x);
            lo = VEC_CHOOSE((ivec)(x < lo), x, lo);
            hi = VEC_CHOOSE((ivec)(x > hi), x, hi);
            gone += only(~is, one);
            filled += only(is & (ivec)(x != zero), one);
        }
        VEC_STORE(c->sum + j, sum);
        VEC_STORE(c->lo + j, lo);
        VEC_STORE(c->hi + j, hi);
        VEC_STORE(c->gone + j, gone);
        VEC_STORE(c->filled + j, filled);
    }
    for (; j < c->n; j++)
        for (int r = 0; r < rows; r++)
            sums_one(c, j, v[r * stride + j]);
}

void KERNEL(column_sums)(const ferry_columns *c, int64_t rows, int64_t stride,
                         const double *v)
{
    int64_t i = 0;

    for (; i + ROWS <= rows; i += ROWS)
        sums_some(c, ROWS, stride, v + i * stride);
    for (; i < rows; i++)
        sums_some(c, 1, stride, v + i * stride);
}

/* ---- the second pass ---- */

INLINE void squares_one(const ferry_columns *c, int64_t j, double x)
{
    const double off = x - c->mean[j];
    const bool is = !isnan(x);

    c->squares[j] += is && x != 0 ? off * off : 0;
    c->other[j] += is && x != c->lo[j] && x != c->hi[j] ? 1 : 0;
}

INLINE void squares_some(const ferry_columns *c, int rows, int64_t stride, const double *v)
{
    const vec one = all_of(1), zero = all_of(0);
    int64_t j = 0;

    for (; j + LANES <= c->n; j += LANES) {
        const vec mean = VEC_LOAD(c->mean + j);
        const vec lo = VEC_LOAD(c->lo + j), hi = VEC_LOAD(c->hi + j);
        vec squares = VEC_LOAD(c->squares + j), other = VEC_LOAD(c->other + j);
        UNROLL for (int r = 0; r < rows; r++)
        {
            const vec x = VEC_LOAD(v + r * stride + j), off = x - mean;
            const ivec is = (ivec)(x == x);
            squares += only(is & (ivec)(x != zero), off * off);
            other += only(is & (ivec)(x != lo) & (ivec)(x != hi), one);
        }
        VEC_STORE(c->squares + j, squares);
        VEC_STORE(c->other + j, other);
    }
    for (; j < c->n; j++)
        for (int r = 0; r < rows; r++)
            squares_one(c, j, v[r * stride + j]);
}

void KERNEL(column_squares)(const ferry_columns *c, int64_t rows, int64_t stride,
                            const double *v)
{
    int64_t i = 0;

    for (; i + ROWS <= rows; i += ROWS)
        squares_some(c, ROWS, stride, v + i * stride);
    for (; i < rows; i++)
        squares_some(c, 1, stride, v + i * stride);
}

/* ---- halves ---- */

/* Counts and extremes do not depend on the order. */
void KERNEL(column_halves)(ferry_halves *h, int64_t n, const double *v)
{
    const vec mean = all_of(h->mean), zero = all_of(0);
    vec last = all_of(h->last), first = all_of(h->first);
    ivec below = {0};
    int64_t j = 0;

    for (; j + LANES <= n; j += LANES) {
        const vec x = VEC_LOAD(v + j);
        const ivec says = (ivec)(x != zero), under = (ivec)(x < mean) & says;
        below -= under;
        last = VEC_CHOOSE(under & (ivec)(x > last), x, last);
        first = VEC_CHOOSE((ivec)(x >= mean) & says & (ivec)(x < first), x, first);
    }
    for (int l = 0; l < LANES; l++) {
        h->below += below[l];
        h->last = last[l] > h->last ? last[l] : h->last;
        h->first = first[l] < h->first ? first[l] : h->first;
    }
    for (; j < n; j++) {
        if (v[j] == 0) continue;
        h->below += v[j] < h->mean;
        if (v[j] < h->mean && v[j] > h->last) h->last = v[j];
        if (v[j] >= h->mean && v[j] < h->first) h->first = v[j];
    }
}

/* ---- one row ---- */

/* Eight sums, each of every eighth cell, added up by twos. */
INLINE double eighths(const double *part)
{
    return ((part[0] + part[1]) + (part[2] + part[3])) +
           ((part[4] + part[5]) + (part[6] + part[7]));
}

/* What is NULL is the same for all cells: four tests a row, none a cell. */
INLINE void fill_some(int64_t n, const double *v, const double *fill, const double *shift,
                      const double *factor, double *to, double *squares)
{
    const vec zero = all_of(0);
    vec sum[8 / LANES];
    double part[8];
    int64_t j = 0;

    UNROLL for (int i = 0; i < 8 / LANES; i++) sum[i] = zero;
    for (; j + 8 <= n; j += 8)
        UNROLL for (int i = 0; i < 8 / LANES; i++)
        {
            const int64_t at = j + i * LANES;
            vec x = VEC_LOAD(v + at) + zero;
            if (fill) x = VEC_CHOOSE((ivec)(x == x), x, VEC_LOAD(fill + at));
            if (shift) x -= VEC_LOAD(shift + at);
            if (factor) x *= VEC_LOAD(factor + at);
            VEC_STORE(to + at, x);
            if (squares) sum[i] += only((ivec)(x == x), x * x);
        }
    for (int i = 0; i < 8 / LANES; i++)
        VEC_STORE(part + i * LANES, sum[i]);
    for (int l = 0; j + l < n; l++) {
        double x = v[j + l] + 0;
        if (fill && isnan(x)) x = fill[j + l];
        if (shift) x -= shift[j + l];
        if (factor) x *= factor[j + l];
        to[j + l] = x;
        part[l] += isnan(x) ? 0 : x * x;
    }
    if (squares) *squares = eighths(part);
}

void KERNEL(row_fill)(int64_t n, const double *v, const double *fill, const double *shift,
                      const double *factor, double *to, double *squares)
{
    if (fill && !shift && !factor && squares)
        fill_some(n, v, fill, NULL, NULL, to, squares);
    else if (fill && !shift && !factor)
        fill_some(n, v, fill, NULL, NULL, to, NULL);
    else if (fill && shift && factor && !squares)
        fill_some(n, v, fill, shift, factor, to, NULL);
    else
        fill_some(n, v, fill, shift, factor, to, squares);
}

void KERNEL(row_times)(int64_t n, double by, double *v)
{
    const vec all = all_of(by);
    int64_t j = 0;

    for (; j + LANES <= n; j += LANES)
        VEC_STORE(v + j, VEC_LOAD(v + j) * all);
    for (; j < n; j++)
        v[j] *= by;
}

double KERNEL(row_squares)(int64_t n, const double *v)
{
    vec sum[8 / LANES];
    double part[8];
    int64_t j = 0;

    UNROLL for (int i = 0; i < 8 / LANES; i++) sum[i] = all_of(0);
    for (; j + 8 <= n; j += 8)
        UNROLL for (int i = 0; i < 8 / LANES; i++)
        {
            const vec x = VEC_LOAD(v + j + i * LANES);
            sum[i] += only((ivec)(x == x), x * x);
        }
    for (int i = 0; i < 8 / LANES; i++)
        VEC_STORE(part + i * LANES, sum[i]);
    for (int l = 0; j + l < n; l++)
        part[l] += isnan(v[j + l]) ? 0 : v[j + l] * v[j + l];
    return eighths(part);
}

/* A row comes from far away, and this is who reads it first: a page ahead and more, where the CPU itself stops. */
int64_t KERNEL(row_infinite)(int64_t n, const double *v)
{
    enum { AHEAD = 1024 };
    const vec most = all_of(DBL_MAX), least = all_of(-DBL_MAX);
    ivec found[2] = {{0}, {0}};
    int64_t j = 0, count = 0;

    for (; j + 2 * LANES <= n; j += 2 * LANES) {
        for (int i = 0; i < 2 * LANES; i += 8)
            __builtin_prefetch(v + j + i + AHEAD);
        UNROLL for (int i = 0; i < 2; i++)
        {
            const vec x = VEC_LOAD(v + j + i * LANES);
            found[i] -= (ivec)(x > most) | (ivec)(x < least);
        }
    }
    found[0] += found[1];
    for (int l = 0; l < LANES; l++)
        count += found[0][l];
    for (; j < n; j++)
        count += isinf(v[j]) != 0;
    return count;
}
