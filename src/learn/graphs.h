/* Values of instances that are neighbours in graphs (graphs.c). */
#ifndef FERRY_GRAPHS_H
#define FERRY_GRAPHS_H

#include "learn/problem.h"

/* How P (rows as the graphs) propagates:
 *   P(x) = (1 - alpha_x) P0(x) + alpha_x mean of P over the neighbours of x,
 * where the mean is sum_g w_g [sum_v A_g(x,v) P(v) / sum_v A_g(x,v)] / sum_g w_g over the graphs in which x has
 * neighbours; without any P(x) = P0(x). Each graph has its own mean first: one of many edges has no more say than its
 * weight gives it. */
typedef struct propagation {
    int n; /* graphs; those that are not there (a.m NULL) are passed over */
    const graph *g;
    const double *w;     /* 0 or more; NULL: equal */
    const double *alpha; /* of each row */
    int64_t max_iter;    /* substitutions, at most */
    double tol;          /* the largest change to stop at */
} propagation;
/* P, new, by repeated substitution: edges x columns a step. reached (a byte a row, may be NULL): whether x has
 * neighbours in a graph of weight > 0. */
block propagate(scope *s, const propagation *how, block p0, uint8_t *reached);

/* factor S^steps X with S = sum_g w_g D_g^-1/2 (A_g + s_g I) D_g^-1/2, D_g the row sums of A_g + s_g I and w_g equal
 * shares. s_g, the weight of an instance for itself, is the graph's mean weight of an edge (1 in a graph without
 * weights): the unit of the weights does not matter. *factor 0: set to what makes the mean squared length of a row 1,
 * as scaling leaves features: neighbours that differ cancel, and a cost that was right before would be too small. */
matrix smooth_rows(scope *s, int n, const graph *g, int64_t steps, matrix x,
                   double *factor);

#endif
