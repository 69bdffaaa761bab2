/* One loop over a row for dense and CSR alike:
 *
 *   for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
 *       ... row_values(x)[e] stands in column row_column(x, i, e) ...
 */
#ifndef FERRY_ROWS_H
#define FERRY_ROWS_H

#include "linalg/linalg.h"

static inline int64_t row_begin(const ferry_matrix *x, int64_t i)
{
    return x->dense ? i * x->cols : x->start[i];
}

static inline int64_t row_end(const ferry_matrix *x, int64_t i)
{
    return x->dense ? (i + 1) * x->cols : x->start[i + 1];
}

static inline int64_t row_column(const ferry_matrix *x, int64_t i, int64_t e)
{
    return x->dense ? e - i * x->cols : x->index[e];
}

static inline double *row_values(const ferry_matrix *x)
{
    return x->dense ? x->dense : x->value;
}

#endif
