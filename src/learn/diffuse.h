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

#endif
