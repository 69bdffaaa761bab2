/* Gaussian processes averaged over kernels and signal-to-noise ratios (gp_average.c). */
#ifndef FERRY_GP_AVERAGE_H
#define FERRY_GP_AVERAGE_H

#include "learn/learner.h"

enum { GP_KERNELS = 7 };

/* Rows as the kernels compare them. */
typedef struct gp_rows {
    block z; /* n x d, standardised */
    block p; /* n x c: what another model says of them; at NULL: nothing */
} gp_rows;

/* f(x) = start(x) + sum_b k_b(x, Z) alpha_b; start: the mean of the labels, or what the other model says. */
typedef struct gp_average {
    int64_t n, d, c, wide; /* rows, columns, answers; 7 c */
    bool offset;           /* start from the other model */
    double
        slope; /* prior variance of a coefficient of its answers; 0: they are no feature */
    block z;   /* n x d */
    block q;   /* n x c: its answers, standardised; at NULL where slope is 0 */
    double *centre, spread; /* what standardises them: c, 1 */
    double *mean;           /* c */
    block alpha;            /* n x (7 c), kernel after kernel */
} gp_average;
extern const table gp_average_table;

/* From labelled rows `seen` (y: n x c). all: p of all rows of the domain, whose mean and deviation standardise it; at
 * NULL without one. left (n x c) <- what each row would have been told by the others. */
gp_average gp_fit(scope *s, gp_rows seen, block y, block all, bool offset, double slope,
                  block left);
/* n x c. */
block gp_scores(scope *s, const gp_average *m, gp_rows x);

#endif
