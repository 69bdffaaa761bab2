/* Mixing with the neighbours in graphs. */
#ifndef FERRY_DIFFUSE_H
#define FERRY_DIFFUSE_H

#include "linalg/linalg.h"

/* P (n x m) <- the solution of
 *   P(x) = (1 - alpha_x) P0(x) + alpha_x mean of P over the neighbours of x,
 * by repeated substitution until nothing changes by more than tol, or max_iter times. The
 * mean is sum_g w_g [sum_v A_g(x,v) P(v) / sum_v A_g(x,v)] / sum_g w_g over the graphs in
 * which x has neighbours; without any P(x) = P0(x). Graphs are n x n with weights >= 0.
 * reached (n, may be NULL): whether x has neighbours in a graph of weight > 0. */
ferry_status ferry_i_diffuse(ferry_ctx *ctx, int64_t q, ferry_matrix *const *graph,
                             const double *w, int64_t n, int64_t m, const double *p0,
                             const double *alpha, int64_t max_iter, double tol, double *p,
                             uint8_t *reached);

#endif
