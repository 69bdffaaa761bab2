/* Kernel ridge regression of classes that grows row by row, exact up to m rows and a
 * Nystroem basis of these m afterwards, so that its size is bounded.
 *
 * With K the kernel of the rows and Y their classes one-hot, exact is f(x) = k' (K +
 * lambda I)^-1 Y, kept as L L' = K + lambda I and L z = Y: with l = L^-1 k
 *
 *   f = l'z;   a row appends (l', p), p = sqrt(k(x,x) + lambda - l'l), z = (y - l'z) / p.
 *
 * Once there are m rows they are the basis: with B B' = K + 1e-4 I and Phi = B^-1 k for
 * every labelled row,
 *
 *   A = lambda I + sum Phi Phi',  R = sum Phi y',  alpha = B^-T A^-1 R,  f = k'alpha.
 *
 * Rows are added to A and R in blocks, and alpha is solved again after clamp(labels / 20,
 * block, 1024) new ones. The caller has the rows and computes their kernels. */
#ifndef FERRY_KRIDGE_H
#define FERRY_KRIDGE_H

#include "core/core.h"
#include "linalg/ridges.h"

enum { KRIDGE_BLOCK = 64 };

typedef struct ferry_kridge {
    int64_t m, n, k; /* rows at most, rows, classes */
    int64_t block, labels, since, pending;
    double lambda;
    bool full;
    int32_t *cls;  /* m: classes of the rows */
    double *l;     /* m x m: L, row after row; full: B */
    double *z;     /* k x m: z, class after class; full: alpha */
    double *a, *r; /* full: A (lower triangle), m x m, and R, k x m */
    double *wait;  /* full: block x m kernels that wait, and their classes */
    int32_t *wait_cls;
    double *turned; /* m x block: a block of Phi by column */
    double *work;   /* m x m, lent by the owner */
} ferry_kridge;

/* Room for m rows and k classes, no row. clear: fine after a failure of new. */
ferry_status ferry_i_kridge_new(ferry_ctx *ctx, int64_t m, int64_t k, double lambda,
                                double *work, ferry_kridge *out);
void ferry_i_kridge_clear(ferry_kridge *r);
/* Room for k classes; new ones have zero columns. */
ferry_status ferry_i_kridge_classes(ferry_ctx *ctx, ferry_kridge *r, int64_t k);
/* Begin with n <= m rows, whose kernel without lambda stands in the lower triangle of
 * r->l (row i at i m) and their classes in r->cls. */
void ferry_i_kridge_fit(ferry_kridge *r, int64_t n);
/* f (k) <- scores of a row with kernels kv (n) to the rows. l (n) <- L^-1 kv, or kv when
 * full: what learning wants. */
void ferry_i_kridge_scores(const ferry_kridge *r, const double *kv, double *l, double *f);
/* Learn a row from its l and k(x, x). */
void ferry_i_kridge_learn(ferry_kridge *r, const double *l, double kxx, int32_t y);
/* f (n x k) <- the rows' scores, each left out of what it is scored by. Not when full. */
void ferry_i_kridge_leave_out(const ferry_kridge *r, double *f);

/* In place: the lower triangle of a (n x n, rows `ld` apart) becomes its Cholesky factor. */
void ferry_i_lower_cholesky(int64_t n, int64_t ld, double *a);
/* x <- L'^-1 x; ferry_i_lower_systems() has L^-1. */
void ferry_i_lower_solve_t(int64_t n, int64_t ld, const double *l, double *x);

#endif
