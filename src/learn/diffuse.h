/* Mixing with the neighbours in graphs. */
#ifndef FERRY_DIFFUSE_H
#define FERRY_DIFFUSE_H

#include "linalg/linalg.h"

/* P (n x m) is the solution of
 *   P(x) = (1 - alpha_x) P0(x) + alpha_x mean of P over the neighbours of x,
 * where the mean is sum_g w_g [sum_v A_g(x,v) P(v) / sum_v A_g(x,v)] / sum_g w_g over the
 * graphs in which x has neighbours; without any P(x) = P0(x). All is borrowed. */
typedef struct ferry_diffusion {
    int64_t q; /* graphs, n x n with weights >= 0 ... */
    ferry_matrix *const *graph;
    const double *w; /* ... and their weights */
    /* instances; numbers of each */
    int64_t n, m;
    const double *p0;    /* n x m */
    const double *alpha; /* n */
    /* substitutions, at most */
    int64_t max_iter;
    double tol; /* the largest change to stop at */
} ferry_diffusion;

/* p <- P by repeated substitution. reached (n, may be NULL): whether x has neighbours in a
 * graph of weight > 0. Cost: edges x m a step, in threads; the same bits with any number of
 * them. */
ferry_status ferry_i_diffuse(ferry_ctx *ctx, const ferry_diffusion *d, double *p,
                             uint8_t *reached);

/* Features smoothed over graphs: smooth.c. All is borrowed. */
typedef struct ferry_smoothing {
    int64_t n, q; /* instances; graphs, n x n with weights >= 0 ... */
    ferry_matrix *const *graph;
    const double *w; /* ... and their weights, adding up to 1 */
    int64_t steps;   /* at least 1 */
} ferry_smoothing;

/* out (new; a row for each of the n instances) <- factor S^steps X. Row i of X (dense or
 * CSR, and so is out) is instance[i]; instances without a row begin with 0. *factor 0: set
 * to what makes the mean squared length of a row 1. Over ranks X and out have this rank's
 * rows, of all instances. Cost a step: every edge once or twice, times the cells of its
 * neighbour. */
ferry_status ferry_i_smooth(ferry_ctx *ctx, const ferry_smoothing *o, const ferry_matrix *x,
                            const int64_t *instance, double *factor, ferry_matrix **out);

#endif
