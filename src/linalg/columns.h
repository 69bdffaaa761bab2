/* What is to be known of the columns of dense rows before they are scaled (learn/scale_dense.c): sums, ranges and
 * counts, then squares around the means. Row after row, nothing fused: the same bits on every CPU, so that no context
 * is needed. A NaN is a cell that is missing, and a 0 one that says nothing. */
#ifndef FERRY_LINALG_COLUMNS_H
#define FERRY_LINALG_COLUMNS_H

#include <stdint.h>

/* n columns; all arrays are added to. */
typedef struct ferry_columns {
    int64_t n;
    /* first pass: sums and ranges of what is there (0 too); cells that are missing; cells that say something */
    double *sum, *lo, *hi, *gone, *filled;
    /* second pass: sums of (x - mean)^2 over what says something; cells that are there and neither lo nor hi */
    const double *mean;
    double *squares, *other;
} ferry_columns;

/* Of all cells that say something: how many are below the mean, the last of these, the first that is not. */
typedef struct ferry_halves {
    double mean, last, first;
    int64_t below;
} ferry_halves;

/* The first n cells of each of the rows, which lie `stride` numbers apart. */
void ferry_i_column_sums(const ferry_columns *c, int64_t rows, int64_t stride,
                         const double *v);
void ferry_i_column_squares(const ferry_columns *c, int64_t rows, int64_t stride,
                            const double *v);
/* n cells, one after the other. */
void ferry_i_column_halves(ferry_halves *h, int64_t n, const double *v);

/* ---- one row of n cells ---- */

/* to_j <- (v_j - shift_j) factor_j, a missing cell being fill_j first and -0 becoming 0; each of the three may be NULL.
 * *squares, unless it is NULL, is what ferry_i_row_squares() says of `to`. */
void ferry_i_row_fill(int64_t n, const double *v, const double *fill, const double *shift,
                      const double *factor, double *to, double *squares);
/* v_j *= by */
void ferry_i_row_times(int64_t n, double by, double *v);
/* Sum of squares of what is not missing: eight sums, each of every eighth cell, added up by twos. */
double ferry_i_row_squares(int64_t n, const double *v);
/* How many are infinite. */
int64_t ferry_i_row_infinite(int64_t n, const double *v);

#endif
