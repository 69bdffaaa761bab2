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

#endif
