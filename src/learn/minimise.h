/* The minimum of a smooth function of few numbers (minimise.c). */
#ifndef FERRY_MINIMISE_H
#define FERRY_MINIMISE_H

#include "core/scope.h"

/* f(x), and its gradient into g. */
typedef double (*smooth_function)(const void *arg, const double *x, double *g);
/* x <- a minimum near x, by BFGS, until no entry of the gradient is above tol or nothing improves; f there. */
double minimise(scope *s, int64_t n, smooth_function f, const void *arg, double tol,
                double *x);

#endif
