/* Scaling: one rule that brings the values of a view into a form that every learner can
 * work with, chosen by the values alone.
 *
 * A view is one kind of measurements (words, pixels, a table), which several domains may
 * have: the rule looks at the rows of all of them at once, so that a number means the same
 * everywhere. It works on plain matrices and knows nothing of tasks (src/prepare does).
 * Whether a matrix is stored dense or as CSR plays no part: a cell that is not stored is 0,
 * a cell that is NaN is missing, and all sums run over the cells that are not 0, row by
 * row, so that both give the same bits.
 *
 *   words     rows to length 1; whole numbers become (1 + ln x) idf first. Never centred.
 *   standard  (x - mean) / sd; a column of two values by half its range instead
 *   roots     sqrt(x / row sum), centred: histograms (the Hellinger distance)
 *   common    centred, one factor for all columns: embeddings, pixels, answers 1..5
 *   l2        rows to length 1
 *   none      missing cells are filled, nothing else
 *
 * A column whose mean lies far from 0, next to how much it varies (a time stamp, a number of an
 * account), says nothing by where it lies and loses its digits in products: in standard and common
 * its mean comes off the cells themselves, also where other columns are not centred (CSR, or by
 * the caller's wish); l2 takes such means off before it looks at lengths, which would all but
 * consist of them. Means and deviations of such columns are worked out in a pass of their own.
 *
 * standard, roots and common are then divided by one number, so that the mean squared
 * length of a row is 1: then one cost constant of a linear model (svm C = 1, ridge
 * lambda = 1, logreg C = 10) suits all of them. `auto` takes the first that applies:
 *
 *   words     no value below 0, at most a tenth of the cells not 0, and no frequent column
 *             whose values are typically 20 times the usual (an amount beside yes and no); or
 *             counts of frequent words (scale_counts.c): whole numbers in at least 20 columns that
 *             vary, at most 60 % of the cells not 0, 40 % of these 1, and three more
 *   standard  fewer than 20 columns that vary, or deviations that differ by more than 20:
 *             columns in units of their own
 *   roots     no value below 0, no column far from 0, and the sums of the rows are all but
 *             equal, or a tenth of the cells are 0 and small values prevail: counts of something
 *   common    else
 *
 * The thresholds were set on about 30 public views (text, pictures, tables, sentence
 * embeddings) and then measured on other draws of them.
 *
 * Cost: three passes over the cells that are not 0 (roots: five) and memory for about ten
 * numbers a column. */
#ifndef FERRY_SCALE_H
#define FERRY_SCALE_H

#include "ferry/stream.h"
#include "linalg/ops.h"

/* In the order of FERRY_SCALE_CHOICES. */
typedef enum ferry_scale {
    /* chosen by the values; never in a scaler */
    FERRY_SCALE_AUTO,
    FERRY_SCALE_NONE,
    FERRY_SCALE_WORDS,
    FERRY_SCALE_STANDARD,
    FERRY_SCALE_ROOTS,
    FERRY_SCALE_COMMON,
    FERRY_SCALE_L2,
    /* none, but columns far from 0 are brought near it, and values that have no squares to a size
     * that has: for methods that scale rows themselves. Only asked for; what comes out is called
     * none. */
    FERRY_SCALE_NEAR = 100
} ferry_scale;

/* The option `scale` of every method that has one (after a comma: what a value was
 * called before). T has a field `int scale`. */
#define FERRY_SCALE_CHOICES "auto|none|words,tfidf|standard|roots,hellinger|common|l2"
#define FERRY_SCALE_HELP                                                                   \
    "how features are scaled; auto: as their values ask for (docs/scaling.md)"
#define FERRY_OPT_SCALE(T)                                                                 \
    FERRY_OPT_ONE_OF(T, scale, FERRY_SCALE_CHOICES, "auto", FERRY_SCALE_HELP)
const char *ferry_i_scale_name(ferry_scale scale);

/* The rows of one domain: map[j] tells which column of the view column j of x is, -1: none
 * (left out). map NULL: all as they are. Columns of the view that no column of x maps to
 * are missing in these rows, which is not the same as 0. */
typedef struct ferry_scale_part {
    const ferry_matrix *x;
    const int32_t *map;
    const double *
        weight; /* of each row: 2 is the row twice, 0 is none; NULL: 1. Of scaler_fit() alone */
} ferry_scale_part;

/* What the rule looks at, over all parts; a column varies if its deviation is above the rounding of its values. Where a scale
 * is asked for by name, what only the rule needs (frac, unit, cvsum, skew) may be left out. */
typedef struct ferry_scale_facts {
    int64_t n, d, vary; /* rows, columns, columns that vary */
    int64_t far;        /* columns that lie further from 0 than 3 times their range */
    int64_t lost;    /* columns of several values that differ by rounding alone: constant */
    int64_t lost_at; /* the first of them, and its mean */
    double lost_mean;
    double fill;    /* share of the present cells that are not 0 */
    bool neg, frac; /* some value is below 0; is not whole */
    double unit;    /* typical size of the largest frequent column / of the median one;
                           1 where words are ruled out anyway */
    double spread;  /* how far the deviations of columns differ */
    int64_t still;  /* columns of one value that is not 0 */
    double units;  /* the largest deviation of a table's columns / the least; else spread */
    double length; /* root of the mean squared length of a row */
    double cvsum;  /* sd / mean of the sums of rows that are not empty; inf: below 0 */
    bool skew;     /* the median of the cells that are not 0 is below their mean; not
                           asked where some are below 0 */
    /* of whole numbers that may be counts of frequent words, over cells that are not 0: the share that
     * is 1; the largest 0.1 quantile of a frequent column / the median of all; 0.9 quantile / median of
     * the rows that a column is used in. 0, inf, 1 where one before has ruled that out. */
    double ones, low, dfr;
} ferry_scale_facts;

/* What was learned: x_ij becomes (t(x_ij) - shift_j) factor_j, where t is 1 + ln x (words
 * that are counts), sqrt(x / row sum) (roots) or x; words and l2 then bring the row to
 * length 1. All arrays are as long as the view is wide. */
typedef struct ferry_scaler {
    ferry_scale kind; /* never auto */
    int64_t d;
    bool dense;  /* more than a tenth of the cells are not 0: results are dense */
    bool counts; /* words: whole numbers */
    /* not saved: the rows that it was learned from, and whether no cell of theirs is missing */
    int64_t rows;
    bool complete;
    double *fill;   /* what a missing cell takes: the column's mean, 0 in words */
    double *shift;  /* NULL: not centred */
    double *factor; /* NULL: 1; a column that does not vary has 0 */
    /* what comes off always, shift or not: of n_far columns far from 0 the mean, else 0; NULL: there
     * are none */
    double *base;
    int32_t *far; /* which, ascending */
    int64_t n_far;
} ferry_scaler;

/* Learn, into keep, from the rows of n parts of a view with d columns; where rows are spread over processes each
 * looks at its own. `facts` may be NULL. Fails with FERRY_ENUMERIC when values are too large to be added up. */
ferry_scaler *scaler_fit(scope *s, scope *keep, ferry_scale wanted, int64_t d, int64_t n,
                         const ferry_scale_part *part, ferry_scale_facts *facts);
/* The clause of the rule that gave `kind`, in words. */
void scale_why(ferry_scale kind, const ferry_scale_facts *f, size_t size, char *out);
/* All zero, no shift nor factor. */
ferry_scaler *scaler_new(scope *s, ferry_scale kind, int64_t d);
/* The same for `width` columns, of which j is column map[j] of `from` (NULL: as they are). */
ferry_scaler *scaler_take(scope *s, const ferry_scaler *from, int64_t width,
                          const int32_t *map);
/* List the columns that have a base. */
void scaler_list_far(scope *s, ferry_scaler *to);

/* How much of it is done. */
typedef struct ferry_scale_how {
    bool missing; /* NaN stays NaN, for learners that know what to do with it */
    bool
        uncentred; /* the shift but for the base is left to the caller, also where the result is
                       dense */
    bool own;      /* the result outlives x: nothing that x only borrowed is in it */
} ferry_scale_how;

/* The rows of a part, prepared, in the columns of part->x (those that map to -1 become 0).
 * The result is dense or CSR as s->dense says, whatever x is. CSR is never centred, which
 * would fill it, but for columns far from 0: whoever needs that takes s->shift into the products, less
 * (shift_j - base_j) factor_j. One more owner of x where nothing is to be done. CSR x that others keep,
 * too, and of which no entry becomes 0, shares its pattern: 8 bytes an entry instead of 12. */
ferry_matrix *scaler_apply(scope *s, const ferry_scaler *by, const ferry_scale_part *part,
                           ferry_scale_how how);

/* One row by itself, as a stream has it: the same bits as scaler_apply() would give it
 * in a matrix, and the same form (dense or sparse, as s->dense says) whatever x is. x has no
 * map; its memory is used until that is used again. Cannot fail, allocates nothing. */
typedef struct ferry_scale_room {
    double *value;  /* d */
    int32_t *index; /* d */
    void *cell;     /* d cells (scale_cells.h) */
} ferry_scale_room;
ferry_scale_room scale_room(scope *s, int64_t d);
ferry_row scaler_row(const ferry_scaler *s, const ferry_row *x,
                     const ferry_scale_room *room);

#endif
