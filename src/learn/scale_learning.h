/* What the passes of scale_facts.c gather, and the same passes over dense matrices (scale_dense.c). */
#ifndef FERRY_SCALE_LEARNING_H
#define FERRY_SCALE_LEARNING_H

#include <float.h>
#include <math.h>

#include "learn/scale_cells.h"
#include "linalg/ops.h"

#define SCALE_FILL 0.1 /* words, and CSR, fill at most this share of the cells */
#define SCALE_FAR                                                                          \
    1000.0 /* deviations that the mean of a column may lie from 0 in products */
/* l2, roots: ranges that its values may; else a row's size tells nothing else */
#define SCALE_ASIDE 3.0

/* The rule's thresholds that several files need, see scale.h. */
#define SCALE_UNIT                                                                         \
    20.0 /* words: no frequent column is typically so many times the median */
#define SCALE_OFTEN 0.02  /* a frequent column is not 0 in this share of the rows */
#define SCALE_SMALL 20    /* fewer varying columns are a table */
#define SCALE_SPREAD 20.0 /* so are columns whose deviations differ by more */

/* What is known of a column so far. */
typedef struct column {
    double rows;    /* of parts that have it */
    double there;   /* of these, where it is not missing */
    double filled;  /* ... and not 0 */
    double mean;    /* of what is there (first the sum) */
    double squares; /* sum of ((x - mean) unit)^2 over what is there */
    double unit;    /* 1, or a power of 2 where squares would over- or underflow */
    /* the same once more, around the mean as it was: sums of ((x - mean) unit) and its square */
    double rest, again;
    /* range of what is there; 0 joins where it occurs */
    double lo, hi;
    double logs;   /* sum of ln |x| over what is not 0 */
    double root;   /* roots: mean of sqrt(x / row sum) (first the sum) */
    double middle; /* frequent words: where the search for small values is */
    bool two;      /* lo and hi are all that occurs */
    bool careful;  /* the first look at mean and squares was not exact enough */
} column;

/* All that the passes gather; l->f ends up as the facts. */
typedef struct learning {
    layout all; /* whether rows are spread */
    double n;   /* rows, counted by their weights */
    double w;   /* weight of the row that a pass is at */
    bool weighted;
    int64_t n_parts;
    const ferry_scale_part *part;
    ferry_cell *row; /* the cells of a row that are missing or not 0 */
    double *sum;     /* dense: room for the sums of all rows of a part */
    column *col;
    bool rule, words; /* the rule is asked; words are, or may be, what comes out */
    bool near;        /* FERRY_SCALE_NEAR is asked for */
    ferry_scale_facts f;
    /* of the sums of rows that are not empty */
    double rows, sum_mean, sum_squares;
    double sum_by; /* the squares are of so many times the sums: 1, or as `unit` */
    /* of the cells that are not 0; the median is found without sorting them: it is below
     * the mean when more than half of them are, and with just half of them below it lies
     * between the last below and the first above */
    double cells, cell_mean, below, last_below, first_above;
    double ones;  /* cells that are 1 */
    double roots; /* sum of squares of centred roots */
} learning;

/* The first and the second pass over a dense part of all columns, as add_sums() and
 * add_squares() of scale_facts.c would do it row by row: the same bits, in loops over columns. `sum`
 * has room for the rows. */
void ferry_i_scale_dense_sums(learning *l, const ferry_matrix *x, double *sum);
void ferry_i_scale_dense_squares(learning *l, const ferry_matrix *x, double *sum);

/* The facts, over the rows of all processes. Fails where values are too large. */
void scale_find_facts(scope *s, learning *l);
/* The same for a view that may be counts of frequent words (scale_counts.c); `list` has room for the
 * columns. */
void scale_find_counts(scope *s, learning *l, double *list);
bool scale_frequent_words(const ferry_scale_facts *f);
/* fn for the rows that are this process's, with the cells that are missing or not 0. */
typedef void (*scale_row_fn)(learning *l, int64_t m, const ferry_cell *row);
void scale_each_row(scope *s, learning *l, scale_row_fn fn);
/* A member of every column, added up over all processes. */
void scale_over_all(scope *s, learning *l, size_t member);
/* sorted[floor(p (m - 1))] */
double scale_quantile(const double *sorted, int64_t m, double p);
/* Shift and factor of roots, in two more passes: the mean root of each column, then the mean
 * squared length around it. sum (r - m)^2 = sum (r^2 - 2 r m) + rows m^2, so zeros need no
 * visit. */
void scale_centre_roots(scope *s, learning *l, ferry_scaler *to);
/* How many columns lie further from 0 than so many times their range. */
int64_t scale_count_far(const learning *l, double by);

/* What varies by less of its size than this does so by rounding. */
#define SCALE_ROUNDING (4 * DBL_EPSILON)

/* Population deviation of what is there. */
static inline double deviation(const column *c)
{
    return sqrt(c->squares / fmax(c->there, 1)) / c->unit;
}

/* By more than the rounding of its values, and enough to be divided by. */
static inline bool varies(const column *c)
{
    const double sd = deviation(c);

    return c->lo < c->hi && sd > SCALE_ROUNDING * fmax(fabs(c->lo), fabs(c->hi)) &&
           sd > 1e-300;
}

/* Whether where a column lies is all that its values say at first sight. */
static inline bool is_far(const column *c, double by)
{
    return fabs(c->mean) > by * deviation(c);
}

/* What words and CSR have in common. */
static inline bool sparse_enough(const ferry_scale_facts *f)
{
    return !f->neg && f->fill <= SCALE_FILL;
}

/* words, by the clause that needs no look at how often counts are 1. */
static inline bool scale_are_words(const ferry_scale_facts *f)
{
    return sparse_enough(f) && f->unit <= SCALE_UNIT;
}

#endif
