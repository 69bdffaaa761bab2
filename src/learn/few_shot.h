/* Few labels among many rows (few_shot.c): what kernel-bridge joins with what comes over its bridges. */
#ifndef FERRY_FEW_SHOT_H
#define FERRY_FEW_SHOT_H

#include "learn/softmax.h"

enum {
    FEW_LEARNERS = 4
}; /* regression, spreading, prototypes, regression on smoothed rows */

/* Rows on at most 100 principal axes, scaled to a mean squared length of 1. */
typedef struct axes {
    double *mean; /* cols */
    block v;      /* cols x q: axes over the length */
} axes;
/* t (n x q) <- the rows on them. */
axes axes_fit(scope *s, matrix x, block *t);
block axes_rows(scope *s, const axes *a, matrix x);

/* What rows without labels tell: made once, for all fits on them. */
typedef struct few_rows {
    int64_t n, k; /* rows; nearest neighbours of each */
    axes axes;
    block t, u;             /* n x q: rows on the axes; to length 1 */
    double d;               /* effective dimension */
    matrix w;               /* n x n: who is near whom */
    double *degree;         /* n: row sums of w */
    double *scale;          /* n: distance to the k-th nearest */
    block smooth;           /* n x q: rows smoothed over w ... */
    double *middle, length; /* ... and what centres and scales them: q, 1 */
} few_rows;
/* Ties go to the smaller row: rows should be in an order that no file decides. */
few_rows few_rows_of(scope *s, matrix x);

typedef struct few_shot {
    int64_t c;
    linear own, smoothed, student;
    block spread;    /* n x c: labels spread over w */
    block prototype; /* c x q, unit rows */
    double concentration;
    double weight[FEW_LEARNERS], sharpness; /* of the blend */
} few_shot;
/* cls: n, -1 without a label; every one of c classes has one. p (n x c) <- probabilities of all rows. */
few_shot few_shot_fit(scope *s, const few_rows *r, const int32_t *cls, int64_t c, block p);
/* The blend's probabilities (n x c) for the labelled rows by fits that did not see them; others are 0. Two labels of
 * every class. */
block few_shot_held_out(scope *s, const few_rows *r, const few_shot *m, const int32_t *cls);
/* Of new rows. */
block few_shot_scores(scope *s, const few_rows *r, const few_shot *m, matrix x);

/* ---- pieces of it ---- */

/* g <- its logs, of at least 1e-4. */
void log_floor(block g);
/* Each row <- softmax. */
void softmax_rows(block g);

#endif
