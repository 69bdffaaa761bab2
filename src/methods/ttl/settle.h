/* Letting carried labels settle in a domain: among its words, or where rows crowd (dense.c);
 * and how far two halves of its features agree (settle.c). */
#ifndef FERRY_TTL_SETTLE_H
#define FERRY_TTL_SETTLE_H

#include "linalg/linalg.h"

typedef struct ttl_settle_options {
    double beta;        /* how often each word counts */
    double eta;         /* pseudo-counts, as a share of all counts */
    int64_t iterations; /* at most */
    double tol;         /* stop when no entry of G moves by this */
} ttl_settle_options;

/* P(class | x) = softmax(log_pi + L'x). */
typedef struct ttl_mixture {
    ferry_block *l; /* m x c: beta log(theta / q) */
    double *log_pi; /* c */
} ttl_mixture;
void ferry_i_mixture_clear(ttl_mixture *m);

/* EM of a mixture of c multinomials on the counts beta x (CSR n x m, x >= 0) from G, which
 * it changes; rows with a known class (NULL: none) stay one-hot. *steps, and objective (one
 * before each step, room for `iterations`), may be NULL; so may out. */
ferry_status ferry_i_settle(ferry_ctx *ctx, const ttl_settle_options *o, ferry_matrix *x,
                            const int32_t *known, ferry_block *g, ttl_mixture *out,
                            int64_t *steps, double *objective);
/* G <- the classes of new instances. */
void ferry_i_mixture_apply(ferry_ctx *ctx, const ttl_mixture *m, const ferry_matrix *x,
                           ferry_block *g);

/* z (margins without pi) <- classes of one instance; log of their sum. */
double ferry_i_soften(int64_t c, const double *log_pi, double *z);

/* Rows less their mean on the principal axes that hold 90 % of the variance. */
typedef struct ttl_axes {
    ferry_block *v, *z;    /* d x q, n x q */
    double *mean;          /* d */
    const ferry_matrix *x; /* lent: whose rows these are */
} ttl_axes;
void ferry_i_axes_clear(ttl_axes *a);
ferry_status ferry_i_axes(ferry_ctx *ctx, const ferry_matrix *x, ttl_axes *out);
/* EM of a mixture of c round Gaussians with one variance from G, as above; out (NULL: not
 * wanted) is on the columns of x. */
ferry_status ferry_i_settle_dense(ferry_ctx *ctx, const ttl_axes *a, const int32_t *known,
                                  ferry_block *g, ttl_mixture *out);

/* Cohen's kappa of two labellings with classes 0..c-1, over the rows of all ranks; 0 when either is constant. */
ferry_status ferry_i_kappa(ferry_ctx *ctx, int64_t n, const int32_t *a, const int32_t *b,
                           int64_t c, double *kappa);
/* half[j] (m) <- 1 or 2 by the rank of column j in the total mass of the n matrices (odd:
 * 1, even: 2; ties by number); columns without mass are ranked last. */
ferry_status ferry_i_halves(ferry_ctx *ctx, int64_t n, const ferry_matrix *const *x,
                            int64_t m, uint8_t *half);

#endif
