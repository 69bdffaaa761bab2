/* Regularised canonical correlations, on principal axes (cca.c). */
#ifndef FERRY_CCA_H
#define FERRY_CCA_H

#include "linalg/ops.h"

/* U diag(corr) W' = svd((L_T + r_0)^-1/2 C (L_S + r_1)^-1/2): covariances are diagonal there (lt, ls), so that inverse
 * roots are numbers. c (m x n), which is used up, holds what belongs together; the k columns of wt (m) and ws (n) are
 * (L_T + r_0)^-1/2 U and (L_S + r_1)^-1/2 W; k is at most the smaller of m and n. */
void cca_solve(scope *s, const double *lt, const double *ls, const double *r, small c,
               int64_t k, double *corr, small wt, small ws);

#endif
