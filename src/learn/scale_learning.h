/* What the passes of scale.c gather, and the same passes over dense matrices (scale_dense.c). */
#ifndef FERRY_SCALE_LEARNING_H
#define FERRY_SCALE_LEARNING_H

#include "learn/scale_cells.h"

/* What is known of a column so far. */
typedef struct column {
    double rows;    /* of parts that have it */
    double there;   /* of these, where it is not missing */
    double filled;  /* ... and not 0 */
    double mean;    /* of what is there (first the sum) */
    double squares; /* sum of (x - mean)^2 over what is there */
    /* range of what is there; 0 joins where it occurs */
    double lo, hi;
    double logs; /* sum of ln |x| over what is not 0 */
    double root; /* roots: mean of sqrt(x / row sum) (first the sum) */
    bool two;    /* lo and hi are all that occurs */
} column;

/* All that the passes gather; l->f ends up as the facts. */
typedef struct learning {
    int64_t n_parts;
    const ferry_scale_part *part;
    ferry_cell *row; /* the cells of a row that are missing or not 0 */
    double *sum;     /* dense: room for the sums of all rows of a part */
    column *col;
    bool rule, words; /* the rule is asked; words are, or may be, what comes out */
    ferry_scale_facts f;
    /* of the sums of rows that are not empty */
    double rows, sum_mean, sum_squares;
    /* of the cells that are not 0; the median is found without sorting them: it is below
     * the mean when more than half of them are, and with just half of them below it lies
     * between the last below and the first above */
    double cells, cell_mean, below, last_below, first_above;
    double roots; /* sum of squares of centred roots */
} learning;

/* The first and the second pass over a dense part of all columns, as add_sums() and
 * add_squares() of scale.c would do it row by row: the same bits, in loops over columns. `sum`
 * has room for the rows. */
void ferry_i_scale_dense_sums(learning *l, const ferry_matrix *x, double *sum);
void ferry_i_scale_dense_squares(learning *l, const ferry_matrix *x, double *sum);

#endif
