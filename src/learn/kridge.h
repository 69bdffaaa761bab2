/* Kernel ridge regression of classes that grows row by row, exact up to m rows and a Nystroem basis of these m
 * afterwards, so that its size is bounded.
 *
 * With K the kernel of the rows and Y their classes one-hot, exact is f(x) = k' (K + lambda I)^-1 Y, kept as L L' = K +
 * lambda I and L z = Y: with l = L^-1 k
 *
 *   f = l'z;   a row appends (l', p), p = sqrt(k(x,x) + lambda - l'l), z = (y - l'z) / p.
 *
 * Once there are m rows they are the basis: with B B' = K + 1e-4 I and Phi = B^-1 k for every labelled row,
 *
 *   A = lambda I + sum Phi Phi',  R = sum Phi y',  alpha = B^-T A^-1 R,  f = k'alpha.
 *
 * Rows are added to A and R in blocks, and alpha is solved again after clamp(labels / 20, block, 1024) new ones. The
 * caller has the rows and computes their kernels. The same bits on every CPU, and nothing but making memory can fail. */
#ifndef FERRY_KRIDGE_H
#define FERRY_KRIDGE_H

#include "linalg/ridges.h"
#include "state/table.h"

enum { KRIDGE_BLOCK = 64 };
#define KRIDGE_LAMBDA 0.1

typedef struct kridge {
    int64_t m, n; /* rows at most, rows */
    int64_t full, labels, since, pending;
    int64_t at_once; /* rows that are added together, at most KRIDGE_BLOCK */
    int32_t *cls;    /* m: classes of the rows; the owner's file has them */
    block l;         /* m x m, the first n rows: L; full: B */
    block z;         /* classes x m: z; full: alpha */
    block a,
        r; /* m x m, the lower triangle, and classes x m: A and R; at NULL: never full yet */
    block
        wait; /* KRIDGE_BLOCK x m, the first `pending` rows: kernels that wait, and their classes */
    int32_t *wait_cls;
} kridge;
extern const table kridge_table;
/* A copy that is to be saved: without what it has not begun to use. */
void kridge_pack(kridge *copy);

typedef struct kridge_scratch {
    double *work;   /* m x m */
    double *turned; /* m x KRIDGE_BLOCK: a block of Phi by column */
} kridge_scratch;

/* No row yet. */
kridge kridge_new(scope *keep, int64_t m, int64_t k);
/* What it needs once there are m rows: before the last of them is learned. */
void kridge_expect(scope *keep, kridge *r);
/* Begin with n <= m rows, whose kernel without lambda stands in the lower triangle of r->l and their classes in
 * r->cls. */
void kridge_fit(kridge *r, const kridge_scratch *c, int64_t n);
/* f (classes) <- scores of a row with kernels kv (n) to the rows. l (n) <- L^-1 kv, or kv when full: what learning
 * wants. */
void kridge_scores(const kridge *r, const double *kv, double *l, double *f);
/* Learn a row from its l and k(x, x). */
void kridge_learn(kridge *r, const kridge_scratch *c, const double *l, double kxx,
                  int32_t y);
/* f (n x classes) <- the rows' scores, each left out of what it is scored by. Not when full. */
void kridge_leave_out(const kridge *r, const kridge_scratch *c, double *f);

/* In place: the lower triangle of a (n x n, rows `ld` apart) becomes its Cholesky factor. */
void lower_cholesky(int64_t n, int64_t ld, double *a);
/* x <- L'^-1 x; ferry_i_lower_systems() has L^-1. */
void lower_solve_t(int64_t n, int64_t ld, const double *l, double *x);

#endif
