/* Quadratic programs on the simplex (simplex_qp.c). */
#ifndef FERRY_SIMPLEX_QP_H
#define FERRY_SIMPLEX_QP_H

#include "linalg/ops.h"

enum { SIMPLEX_MOST = 12 };
/* w <- argmin w'Kw - 2v'w over w >= 0, sum w = 1, exactly; the minimum. K symmetric, p x p. Up to SIMPLEX_MOST weights:
 * of every support the point where the gradient is constant on it, the best of those that lie in the simplex; K may be
 * singular or indefinite. More of them: by an active set, for which K must be positive semidefinite. FERRY_ENUMERIC
 * when K or v is not finite. */
double simplex_qp(scope *s, small k, const double *v, double *w);
/* The second way, for any p. */
double simplex_active(scope *s, small k, const double *v, double *w);

#endif
