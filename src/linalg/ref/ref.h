/* The small dense part of the reference engine (ref_small.c). */
#ifndef FERRY_LINALG_REF_H
#define FERRY_LINALG_REF_H

#include "linalg/linalg.h"

ferry_status ferry_i_ref_eigh(ferry_ctx *ctx, ferry_small *a, double *w);
ferry_status ferry_i_ref_eigh2(ferry_ctx *ctx, ferry_small *a, ferry_small *b, double *w);
ferry_status ferry_i_ref_svd(ferry_ctx *ctx, ferry_small *a, ferry_small *u, double *s,
                             ferry_small *v);
ferry_status ferry_i_ref_qr(ferry_ctx *ctx, ferry_small *a, ferry_small *r);
ferry_status ferry_i_ref_chol(ferry_ctx *ctx, ferry_small *a);
void ferry_i_ref_chol_solve(ferry_ctx *ctx, const ferry_small *l, ferry_small *x);
void ferry_i_ref_chol_solve_block(ferry_ctx *ctx, const ferry_small *l, ferry_block *x);
ferry_status ferry_i_ref_solve(ferry_ctx *ctx, ferry_small *a, ferry_small *x);
ferry_status ferry_i_ref_sylvester(ferry_ctx *ctx, ferry_small *a, ferry_small *b,
                                   ferry_small *x);
void ferry_i_ref_gemm(ferry_ctx *ctx, bool ta, bool tb, double alpha, const ferry_small *a,
                      const ferry_small *b, double beta, ferry_small *c);

#endif
