/* One loop over a row for dense and CSR alike:
 *
 *   for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
 *       ... row_values(x)[e] stands in column row_column(x, i, e) ...
 *
 * Dense rows are walked with their zeros: who wants only what is not 0 asks. Entries e
 * count through the whole matrix, not from the row's beginning, so that they also index
 * arrays beside the values. */
#ifndef FERRY_ROWS_H
#define FERRY_ROWS_H

#include "linalg/linalg.h"

/* First entry of row i. */
static inline int64_t row_begin(const ferry_matrix *x, int64_t i)
{
    return x->dense ? i * x->cols : x->start[i];
}

/* One past its last entry. */
static inline int64_t row_end(const ferry_matrix *x, int64_t i)
{
    return x->dense ? (i + 1) * x->cols : x->start[i + 1];
}

/* Column of entry e, which is in row i. */
static inline int64_t row_column(const ferry_matrix *x, int64_t i, int64_t e)
{
    return x->dense ? e - i * x->cols : x->index[e];
}

/* The numbers that entries index: not const, since makers of a matrix fill it through
 * this. */
static inline double *row_values(const ferry_matrix *x)
{
    return x->dense ? x->dense : x->value;
}

#endif
