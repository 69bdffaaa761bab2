/* Ridge regression on classes in a kernel's random features, exact after every label, slowly forgetting.
 *
 *   z = (x - mean) / sd of the rows learned so far
 *   phi = [3 sqrt(2 / D) cos(w'z + b), z / sqrt(d), 1],   w ~ N(0, 1 / d), b ~ U(0, 2 pi), drawn once, column by column in
 *        the order of columns_by_shape()
 *   k = P phi,  g = k / (f + phi'k),  B += g (e_y - 1/classes - B'phi)',  P = (P - g k') / f
 *
 * P begins as I. f = .998 forgets; where a column no longer varies P would grow without bound, so nothing is forgotten
 * while its trace is above 1e6 D. Rahimi and Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007. */
#ifndef FERRY_ONLINE_KERNEL_H
#define FERRY_ONLINE_KERNEL_H

#include "learn/online.h"

typedef struct online_kernel {
    double forget;
    int64_t learned;
    int64_t random, linear,
        wide; /* D; columns that are features themselves; D + linear + 1 */
    moments z;
    block w;    /* D x d */
    double *b;  /* D */
    block p;    /* wide x wide */
    block beta; /* classes x wide */
} online_kernel;
extern const table online_kernel_table;

typedef struct kernel_scratch {
    double *z, *phi, *k, *score;
} kernel_scratch;

/* x: the rows of the fit, from which nothing is learned yet: their columns decide which random weights each gets. Rows of
 * up to so many columns are features themselves, too. */
online_kernel online_kernel_new(scope *s, scope *keep, ferry_rng *rng, int64_t features,
                                int64_t most_linear, double forget, int64_t k, matrix x);
/* Columns in the order of a number that says how their values lie, whatever the unit, the zero and the order of rows. */
int64_t *columns_by_shape(scope *s, matrix x);
kernel_scratch kernel_scratch_new(scope *s, const online_kernel *m, int64_t k, bool learns);
/* Nothing is learned yet. */
void online_kernel_clear(online_kernel *m);
void online_kernel_scores(const online_kernel *m, const kernel_scratch *c, ferry_row x,
                          double *score);
void online_kernel_learn(online_kernel *m, const kernel_scratch *c, ferry_row x, int32_t y);

#endif
