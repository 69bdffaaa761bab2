/* HeMap: heterogeneous mapping. The pieces of the method, each after its equations in the
 * thesis (chapter 5 of "gbc-coca-hemap", 2013) with the corrections that
 * docs/methods/hemap.md tells. Rows are instances: T is N x m, S is N x n. */
#ifndef FERRY_HEMAP_H
#define FERRY_HEMAP_H

#include "learn/learner.h"
#include "methods/method.h"
#include "methods/shared/learner_file.h"

/* ---- the thesis: spectral.c ---- */

/* One problem (5.4) or (5.11). The linear one has theta = 1 and no clusters. */
typedef struct hemap_problem {
    const ferry_matrix *t, *s;   /* equal rows */
    const ferry_matrix *ct, *cs; /* 0/1 partition matrices, or NULL */
    double beta, theta;
} hemap_problem;

/* F with F F' = A, 2N x (m + n + c_T + c_S). */
ferry_status ferry_i_hemap_factor(ferry_ctx *ctx, const hemap_problem *p, ferry_small **f);
/* A of (5.8) or (5.15), 2N x 2N: for few rows, and for tests. */
ferry_status ferry_i_hemap_matrix(ferry_ctx *ctx, const hemap_problem *p, ferry_small **a);
/* The k largest eigenvalues of A and the two halves of their vectors (N x k each), on the
 * smaller side of F. A pair whose value is below 1e-12 of the first does not exist: its
 * value and columns are 0, and *rank counts the others. */
ferry_status ferry_i_hemap_spectral(ferry_ctx *ctx, const hemap_problem *p, int64_t k,
                                    double *values, ferry_block *bt, ferry_block *bs,
                                    int64_t *rank);
/* The constraint as it stands, B_T'B_T = I and B_S'B_S = I, by polar steps on each half
 * from where bt and bs stand (k <= N); A is positive semidefinite, so tr(B'AB) never falls.
 * Stops when it grows by less than tol of itself. */
ferry_status ferry_i_hemap_exact(ferry_ctx *ctx, const hemap_problem *p, int64_t max_iter,
                                 double tol, ferry_block *bt, ferry_block *bs,
                                 double *trace);
/* G of (5.9) or (5.16) with the constant of the clusters, given tr(B'AB). */
double ferry_i_hemap_objective(const hemap_problem *p, double trace);

/* ---- paired spaces: cross.c ---- */

/* C <- sum_c pi_c mu_T,c mu_S,c' over the groups that both sides have; pi_c is the group's
 * share of T's rows in such groups. Groups are 0..g-1, others belong to none. *used: how
 * many groups. */
ferry_status ferry_i_hemap_cross_groups(ferry_ctx *ctx, const ferry_block *t,
                                        const int32_t *gt, const ferry_block *s,
                                        const int32_t *gs, int64_t g, ferry_small *c,
                                        int64_t *used);
/* C <- T_P'S_P / |P|. */
ferry_status ferry_i_hemap_cross_rows(ferry_ctx *ctx, const ferry_block *t,
                                      const ferry_block *s, int64_t n, const int64_t *pt,
                                      const int64_t *ps, ferry_small *c);
/* Numbers into g groups of equal size by rank (ties by place); NaN to none. */
ferry_status ferry_i_hemap_quantiles(ferry_ctx *ctx, int64_t n, const double *y, int64_t g,
                                     int32_t *group);
/* The k largest eigenvalues of 1/2 [(4+b^2) K_T, 4b C; 4b C', (4+b^2) K_S] and their
 * vectors v (m+n x k), where K_T = T'T/N_T and K_S = S'S/N_S. b_T = t v_T, b_S = s v_S. */
ferry_status ferry_i_hemap_paired(ferry_ctx *ctx, const ferry_small *kt,
                                  const ferry_small *ks, const ferry_small *c, double beta,
                                  int64_t k, double *values, ferry_small *v);
/* Regularised CCA where K_T and K_S are diagonal (lt, ls): U diag(corr) W' is the SVD of
 * (K_T + r_T)^-1/2 C (K_S + r_S)^-1/2, wt = (K_T + r_T)^-1/2 U, ws likewise; k columns. */
ferry_status ferry_i_hemap_cca(ferry_ctx *ctx, const double *lt, const double *ls,
                               double rt, double rs, const ferry_small *c, int64_t k,
                               double *corr, ferry_small *wt, ferry_small *ws);

/* ---- selection: select.c ---- */

/* KL_c of (5.17) as printed and the corrected divergence, from the counts of target (a) and
 * source (b) in each of g clusters; `smooth` is added to both inside the logarithm. */
double ferry_i_hemap_kl_printed(int64_t g, const int64_t *a, const int64_t *b,
                                double smooth);
double ferry_i_hemap_kl(int64_t g, const int64_t *a, const int64_t *b, double smooth);

typedef struct hemap_selecting {
    double kappa;         /* centroids agree within kappa x the cluster's radius */
    int64_t min_size;     /* no part of a split is smaller */
    double tau;           /* shares of target and source within this factor */
    int64_t min_clusters; /* split at least to so many */
    double risk;          /* too risky above this divergence */
    bool printed;         /* ... by KL_c as printed */
} hemap_selecting;

typedef struct hemap_selected {
    int32_t *cluster_t, *cluster_s; /* cluster of each row */
    uint8_t *keep;                  /* per source row */
    int64_t clusters, kept;
    double kl_printed, kl; /* with smooth 0.5 */
    bool risky;
} hemap_selected;

ferry_status ferry_i_hemap_select(ferry_ctx *ctx, const ferry_block *bt,
                                  const ferry_block *bs, const hemap_selecting *o,
                                  hemap_selected *out);
void ferry_i_hemap_selected_clear(hemap_selected *s);

/* ---- outputs: bridge.c ---- */

/* (5.20): p(y|v) as the mean of p(y|s) over the rows with label v (-1: not known); uniform
 * for a label without rows. pys: n x ky; out: kv x ky. */
void ferry_i_hemap_outputs(const ferry_block *pys, const int32_t *v, ferry_block *out);
/* (5.19): p(y|x) <- sum_v p(v|x) p(y|v). */
void ferry_i_hemap_bridge(const ferry_block *pvx, const ferry_block *pyv, ferry_block *pyx);
/* y = a + c v by least squares over the rows with finite v; c = 0 when v is constant. */
void ferry_i_hemap_line(int64_t n, const double *v, const ferry_block *y, double *a,
                        double *c);

#endif
