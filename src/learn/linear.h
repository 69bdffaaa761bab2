/* Linear models, one against the rest (linear.c), and their solver (linear_newton.c). */
#ifndef FERRY_LINEAR_H
#define FERRY_LINEAR_H

#include "learn/learner.h"

typedef enum linear_loss {
    LOSS_HINGE,    /* max(0, 1 - y m)^2 */
    LOSS_LOGISTIC, /* log(1 + exp(-y m)) */
    LOSS_TUBE      /* max(0, |y - m| - tube)^2 */
} linear_loss;

typedef struct linear_options {
    linear_loss loss; /* TUBE: numbers, the others: classes and label sets */
    double C, eps, tube;
    double bias;   /* value of a constant feature, whose weight is held small; 0: none */
    bool balanced; /* classes weigh n / (k n_c) */
} linear_options;

/* Options of the learner svm. */
typedef struct svm_options {
    double C, eps, tube;
    int balanced;
} svm_options;

/* Of the learner logreg. */
typedef struct logreg_options {
    double C, eps;
    int balanced;
    double constant; /* no option: value of the constant feature; 0: 1 */
} logreg_options;

typedef struct linear_model {
    int64_t cols, k;
    int loss;
    bool sets;     /* labels that do not exclude each other */
    block w;       /* cols x k; of two classes that occur -w and w */
    double *b;     /* k */
    uint8_t *seen; /* k; 0: a class without rows, which scores -inf and never wins */
} linear_model;
extern const table linear_table;

/* One class that occurs always wins; a label that is never or always on has a constant score. Nothing is drawn. */
linear_model linear_fit(scope *s, scope *keep, const linear_options *o, const examples *e);
/* out (n x k) <- margins; LOGISTIC: probabilities, of classes one against the rest and then normalised. */
void linear_scores(scope *s, const linear_model *m, matrix x, block out);
/* The same from the margins of one row. */
void linear_decide(bool logistic, bool sets, int64_t k, const uint8_t *seen, double *score);

/* ---- one problem ---- */

/* min_w  1/2 |w|^2 + sum_i c_i loss(y_i, w'x_i): set y and c before each solve. */
typedef struct newton {
    matrix x;
    linear_loss loss;
    double tube, bias;
    double *y; /* n: +1 and -1, or numbers */
    double *c; /* n: cost of each row */
    double *w; /* cols + 1, the constant last: the solution */
    /* n: margins, first and second derivatives of the losses, x step */
    double *m, *slope, *bend, *x_step;
    /* cols + 1: gradient, step, residual, direction, Hessian times it, preconditioner */
    double *gradient, *step, *residual, *direction, *bent, *diagonal;
} newton;
newton newton_new(scope *s, matrix x, const linear_options *o);
/* From w = 0 until the gradient is tol times the first one, or rounding is all that is left. */
void newton_solve(scope *s, newton *p, double tol);

#endif
