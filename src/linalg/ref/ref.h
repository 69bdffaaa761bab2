/* Inside the reference engine.
 * Operations of ref_packed.c and ref_small.c by the names of linalg.h, where each is
 * documented; those on data matrices and blocks are static in ref.c. */
#ifndef FERRY_LINALG_REF_H
#define FERRY_LINALG_REF_H

#include "linalg/linalg.h"

/* ref_packed.c: packed data, and single rows. */
void ferry_i_ref_tiles_step(ferry_ctx *ctx, const ferry_tiles *t);
void ferry_i_ref_tiles_model(ferry_ctx *ctx, const ferry_tiles *t);
void ferry_i_ref_consensus_mul(ferry_ctx *ctx, ferry_consensus *z, const double *u,
                               double *y);
void ferry_i_ref_row_mul(const ferry_ctx *ctx, int64_t n, const double *v,
                         const int32_t *index, const double *w, int64_t wide, double *s);
void ferry_i_ref_row_add(const ferry_ctx *ctx, int64_t n, const double *v,
                         const int32_t *index, double *w, int64_t wide, const double *add);
double ferry_i_ref_pair_steps(const ferry_ctx *ctx, const ferry_label_pairs *p, double *a,
                              double *s, double *add, double *gap);
/* ref_small.c: small dense. */
ferry_status ferry_i_ref_eigh(ferry_ctx *ctx, ferry_small *a, double *w);
ferry_status ferry_i_ref_svd(ferry_ctx *ctx, ferry_small *a, ferry_small *u, double *s,
                             ferry_small *v);
ferry_status ferry_i_ref_qr(ferry_ctx *ctx, ferry_small *a, ferry_small *r);
ferry_status ferry_i_ref_chol(ferry_ctx *ctx, ferry_small *a);
void ferry_i_ref_chol_solve(ferry_ctx *ctx, const ferry_small *l, ferry_small *x);
ferry_status ferry_i_ref_solve(ferry_ctx *ctx, ferry_small *a, ferry_small *x);
void ferry_i_ref_gemm(ferry_ctx *ctx, bool ta, bool tb, double alpha, const ferry_small *a,
                      const ferry_small *b, double beta, ferry_small *c);

#endif
