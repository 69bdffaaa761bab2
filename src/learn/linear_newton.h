/* One linear problem, solved: what the classes and labels of linear.c have in common. */
#ifndef FERRY_LINEAR_NEWTON_H
#define FERRY_LINEAR_NEWTON_H

#include "learn/learn.h"

/* The problem (set kind, tube, y and c before each solve) and its workspace. */
typedef struct ferry_newton {
    ferry_ctx *ctx;        /* borrowed: sums over rows meet those of other ranks */
    const ferry_matrix *x; /* borrowed */
    bool bias;
    ferry_linear_kind kind;
    double tube; /* SVR: what is within costs nothing */
    double *y;   /* n: +1 and -1, or numbers */
    double *c;   /* n: cost of each row */
    double *w;   /* d + 1, the constant last: the solution */
    int64_t steps;
    /* n: margins, first and second derivatives of the losses, x s */
    double *m, *slope, *bend, *xs;
    /* d + 1: gradient, step, residual, direction, Hessian times it, preconditioner */
    double *g, *s, *r, *q, *h, *diag;
} ferry_newton;

ferry_status ferry_i_newton_new(ferry_ctx *ctx, const ferry_matrix *x, bool bias,
                                ferry_newton *p);
void ferry_i_newton_free(ferry_newton *p);
/* From w = 0 until the gradient is tol times the first one, or rounding is all that is left. */
ferry_status ferry_i_newton_solve(ferry_ctx *ctx, ferry_newton *p, double tol);

#endif
