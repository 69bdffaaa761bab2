/* Kernel regression on soft labels, and the gate that lets a few labels of the target have
 * their say (gp.c). */
#ifndef FERRY_TTL_GP_H
#define FERRY_TTL_GP_H

#include "methods/shared/bridge.h"

/* f(x) = a m(x) + k(x, L) beta, m(x) = zbar + k(x, P) alpha, one column per class. */
typedef struct ttl_gp {
    double gamma, a;
    double *zbar;        /* c */
    ferry_matrix *p, *l; /* instances of the bridge; labelled ones of the target, or NULL */
    ferry_block *alpha, *beta;
} ttl_gp;

/* p with soft labels g; l with classes y (NULL: no gate). The gate's a and tau are told in
 * the diagnostics. */
ferry_status ferry_i_gp_fit(ferry_ctx *ctx, ferry_matrix *p, const ferry_block *g,
                            ferry_matrix *l, const int32_t *y, ttl_gp **out);
/* f (rows of x, c) <- f(x): scores in about -1 .. 1, whose largest decides. O(n (P + L)).
 */
ferry_status ferry_i_gp_apply(ferry_ctx *ctx, const ttl_gp *m, const ferry_matrix *x,
                              ferry_block *f);
/* Tensors "gp" (gamma, a), "gp.mean", "gp.bridge" and "gp.alpha"; with a gate also
 * "gp.labelled" and "gp.beta". tau is in beta already.
 * c classes and cols features, as the rest of the model has them; another shape fails. */
void ferry_i_gp_file(ferry_io *io, int64_t c, int64_t cols, ttl_gp **gp);
void ferry_i_gp_free(ttl_gp *m);

#endif
