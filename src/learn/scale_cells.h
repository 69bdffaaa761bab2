/* The cells of a row that say something: those that are missing or not 0, by ascending
 * column of the file. This is where dense and CSR become the same thing. */
#ifndef FERRY_SCALE_CELLS_H
#define FERRY_SCALE_CELLS_H

#include "learn/rows.h"
#include "learn/scale.h"

typedef struct ferry_cell {
    int32_t j;    /* column of the view */
    int32_t from; /* column of the matrix */
    double v;     /* NaN: missing */
} ferry_cell;

/* Whether the columns of x are the d columns of the view as they are: loops then need no map. */
static inline bool ferry_i_part_plain(const ferry_scale_part *p, int64_t d)
{
    for (int64_t j = 0; p->map && j < p->x->cols; j++)
        if (p->map[j] != j) return false;
    return p->x->cols == d;
}

/* Those of row i into `to` (room for all columns of the part); how many. */
static inline int64_t ferry_i_row_cells(const ferry_scale_part *p, int64_t i,
                                        ferry_cell *to)
{
    const ferry_matrix *x = p->x;
    const double *v = row_values(x);
    int64_t m = 0;

    for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
        const int32_t from = (int32_t)row_column(x, i, e);
        /* columns that the view has not (-1) are left out, as are zeros; NaN is not 0
         * and stays */
        const int32_t j = p->map ? p->map[from] : from;
        if (v[e] == 0 || j < 0) continue;
        to[m++] = (ferry_cell){j, from, v[e]};
    }
    return m;
}

#endif
