/* MINDTL: rating patterns from several incomplete sources (He et al., Robust Transfer
 * Learning for Cross-domain Collaborative Filtering Using Multiple Rating Patterns
 * Approximation, WSDM 2018). Users and items of the domains have nothing in common; what
 * is carried over is how groups of users rate groups of items.
 *
 * With the letters of the paper, as corrected:
 *
 *   source   X n x m with mask M,  X ~ U B V',  U n x k, B k x l, V m x l
 *            F = |M o (X - U B V')|^2, by the updates (3)-(5)                  sweep.c
 *            which cells are looked at, restarts (algorithm 1)                 extract.c
 *            codebook R k x l: mean rating of user group c for item group d    codebook.c
 *            the whole way from a source's ratings to R                        source.c
 *   target   x_ij ~ sum_n lambda_n R_n[u_n(i), v_n(j)], lambda on the simplex:
 *            groups and weights in turn (algorithm 2)                          solve.c
 *
 * Mode paper is that. Mode ferry replaces hard groups of ratings by soft groups of what
 * user and item biases leave:
 *
 *            x_ij = mu + a_i + b_j + sum_n w_n (Pu_n R_n Pv_n')_ij             soft.c
 *            R_n from residuals of source n, w_n in [0, 1.5] by least squares
 *            on ratings held out                                               model.c
 *
 * since hard groups do not beat the biases on either of the targets that were tried
 * (docs/methods/mindtl.md). Both end in the model of methods/shared/ratings.h, p and q
 * being short rows; mindtl.c has the options and the order of the steps.
 *
 * Codebooks are small dense arrays, one row after the other: R[c * l + d]. */
#ifndef FERRY_MINDTL_H
#define FERRY_MINDTL_H

#include "methods/shared/codebook.h"

/* One fit: what the progress callback is told, and whether it said FERRY_FINISH: then
 * every loop that still comes makes one round. */
typedef struct mindtl_run {
    const char *name;
    int64_t done, total;
    bool finish;
} mindtl_run;

/* One step more. NULL: nobody is told. */
ferry_status ferry_i_mindtl_step(ferry_ctx *ctx, mindtl_run *run, double objective);

/* ---- factors of a source (sweep.c) ---- */

/* How U and V are updated: (3) and (4) as published; with the Lagrange terms that keep
 * columns orthogonal; or ONMTF's short form of them, which is right for full matrices and
 * only for them. */
typedef enum mindtl_rule { RULE_PAPER, RULE_ORTH, RULE_DING } mindtl_rule;

/* Owned; all non-negative. */
typedef struct mindtl_factors {
    ferry_block *u, *v; /* n x k, m x l */
    ferry_small *b;     /* k x l */
} mindtl_factors;

/* Workspace of the sweeps over one matrix. (Xm = M o X, Xh = M o (U B V').) Made once for
 * all sweeps of a source. */
typedef struct mindtl_work {
    ferry_matrix *h;      /* M o (U B V'), for the objective */
    ferry_block *vb, *ub; /* V B' (m x k), U B (n x l) */
    ferry_block *nu, *du; /* n x k: numerator and denominator */
    ferry_block *nv, *dv; /* m x l */
    ferry_block *cu, *cv; /* n x k, m x l: further ones */
    ferry_block *xu, *hu; /* m x k: Xm'U, Xh'U */
    ferry_block *hv;      /* n x l: Xh V */
    ferry_small *kk, *ll; /* k x k, l x l */
    ferry_small *nb, *db; /* k x l */
    double *norms;
} mindtl_work;

ferry_status ferry_i_mindtl_factors_new(ferry_ctx *ctx, int64_t n, int64_t m, int64_t k,
                                        int64_t l, mindtl_factors *f);
void ferry_i_mindtl_factors_clear(mindtl_factors *f);
ferry_status ferry_i_mindtl_work_new(ferry_ctx *ctx, const observed *x, int64_t k,
                                     int64_t l, mindtl_work *w);
void ferry_i_mindtl_work_clear(mindtl_work *w);
/* One sweep U, V, B of (3)-(5) over non-negative X; ratio num / max(den, 1e-12). With
 * RULE_PAPER F never grows. O(nnz (k + l) + (n + m) k l). */
void ferry_i_mindtl_sweep(ferry_ctx *ctx, const observed *x, mindtl_rule rule,
                          mindtl_factors *f, mindtl_work *w);
/* F = |M o (X - U B V')|^2; leaves M o (U B V') in w->h. */
double ferry_i_mindtl_objective(ferry_ctx *ctx, const observed *x, const mindtl_factors *f,
                                mindtl_work *w);
/* label[i] = argmax_c U_ic / |U_.c|, the lowest of equals: U, B and V have a free scale.
 */
ferry_status ferry_i_mindtl_harden(ferry_ctx *ctx, const ferry_block *u, int32_t *label);

/* ---- codebooks (codebook.c, extract.c, source.c) ---- */

/* R = (S + beta P) / (N + beta) over the blocks of labels u, v, with S and N the sum and
 * number of a block's ratings; P_cd = row mean + column mean - mean, both shrunken by
 * beta. A block without ratings takes P. counts (k x l) may be NULL. */
ferry_status ferry_i_mindtl_block_means(ferry_ctx *ctx, const ferry_matrix *x, int64_t k,
                                        int64_t l, const int32_t *u, const int32_t *v,
                                        double beta, double *r, double *counts);
/* Hard two-way k-means from labels u, v: block means and nearest rows, then columns, at
 * most `sweeps` times or until nothing moves. Rows without ratings keep their label. *f:
 * F. Not in the paper, and essential: from a random start the updates stay at a saddle,
 * where the labels are noise. */
ferry_status ferry_i_mindtl_polish(ferry_ctx *ctx, const observed *x, int64_t k, int64_t l,
                                   int64_t sweeps, int32_t *u, int32_t *v, double *f);
/* The fullest part of x without a hole: the emptiest row or column (the share of its
 * cells that is missing; of equals rows first, then the lowest) goes until all are full.
 */
ferry_status ferry_i_mindtl_full_block(ferry_ctx *ctx, const observed *x, observed *out);
/* x with the mean of the user's ratings in every hole. */
ferry_status ferry_i_mindtl_fill(ferry_ctx *ctx, const observed *x, observed *out);
/* Codebook b (k and l are set) of x by the extraction that o names (`factors` false:
 * two-way k-means alone): the best of the restarts by F after the polish; R with beta. */
ferry_status ferry_i_mindtl_extract(ferry_ctx *ctx, const observed *x,
                                    const codebook_options *o, bool factors, ferry_rng *rng,
                                    mindtl_run *run, codebook *b);
/* Pattern of one source, mapped linearly to the target's range. copy 0, 1, ... start from
 * other random numbers. */
ferry_status ferry_i_mindtl_codebook(ferry_ctx *ctx, const ferry_domain *source,
                                     const ferry_ratings *target, const codebook_options *o,
                                     int64_t copy, mindtl_run *run, codebook *out);

/* ---- target: hard groups (solve.c) ---- */

/* One source's part of the reconstruction. */
typedef struct mindtl_part {
    int64_t k, l;
    const double *r; /* k x l */
    int32_t *u, *v;  /* labels of the target's users and items */
} mindtl_part;

/* lambda from H = P P', c = P x over n entries. sgd starts from lambda as given: steps
 * of theta along the gradient / n projected on sum 0, until one leaves the box. ls:
 * ridge 1e-8 trace(H) / N. */
ferry_status ferry_i_mindtl_lambda(ferry_ctx *ctx, codebook_weights solver,
                                   const ferry_small *h, const double *c, int64_t n,
                                   double theta, int64_t steps, double *lambda);

/* label[i] = argmin_c sum_j (e_ij - lambda R[c, other(j)])^2 over the entries of row i,
 * where e is x less the other parts. Columns: transposed = true, rows of X'. `joint` false:
 * e is x. fill: rows without entries go to the most populous group, else they stay.
 * O(nnz + p k l). */
ferry_status ferry_i_mindtl_assign(ferry_ctx *ctx, const observed *x, bool transposed,
                                   int64_t parts, mindtl_part *part, int64_t at,
                                   const double *lambda, bool joint, bool fill);

/* How algorithm 2 is run. */
typedef struct mindtl_target {
    codebook_weights solver;
    bool joint; /* false: every part fits x alone, then lambda */
    int64_t sweeps;
    double tol;
    mindtl_run *run; /* may be NULL */
} mindtl_target;

/* Algorithm 2 from the parts' v: first u for x alone, then u, v, lambda until F falls by
 * less than tol relative. trace (sweeps long, may be NULL) gets F of every iteration. */
ferry_status ferry_i_mindtl_reconstruct(ferry_ctx *ctx, const observed *x,
                                        const mindtl_target *how, int64_t parts,
                                        mindtl_part *part, double *lambda, double *trace,
                                        int64_t *iters, double *f);
/* v(j): the column of R whose mean is nearest to the item's mean, which 5 ratings of the
 * mean of all shrink. */
ferry_status ferry_i_mindtl_match(ferry_ctx *ctx, const observed *x, int64_t k, int64_t l,
                                  const double *r, int32_t *v);

/* ---- target: soft groups (soft.c) ---- */

/* Memberships of one codebook; owned. Rows of pu and pv sum to 1. */
typedef struct mindtl_soft {
    ferry_block *pu, *pv; /* p x k, q x l: posteriors */
    double *pi_u, *pi_v;  /* k, l: shares of the groups */
    double sigma2;
} mindtl_soft;

ferry_status ferry_i_mindtl_soft_new(ferry_ctx *ctx, int64_t p, int64_t q, int64_t k,
                                     int64_t l, mindtl_soft *s);
void ferry_i_mindtl_soft_clear(mindtl_soft *s);
/* Mean field from labels v: p(c | user) prop pi_c exp(-cost / (2 sigma2)), the same for
 * items, then sigma2; `iters` times from sigma2 = s2 and p(d | item) = 0.9 at v + 0.1 /
 * l.
 */
ferry_status ferry_i_mindtl_soft_fit(ferry_ctx *ctx, const observed *x, const codebook *b,
                                     const int32_t *v, int64_t iters, double s2,
                                     mindtl_run *run, mindtl_soft *s);

/* ---- from codebooks to a model (model.c) ---- */

/* Codebooks and target of one fit; all borrowed. */
typedef struct mindtl_problem {
    const codebook_options *o;
    const ferry_ratings *r; /* the target's, sorted */
    const observed *x;      /* ... as a matrix */
    int64_t sources;
    const codebook *book; /* o->copies of each source after one another */
    mindtl_run *run;
} mindtl_problem;

/* The two modes; x are the ratings of p->r. w (one per source) gets the weights, rmse the
 * error of each source alone on ratings held out, or NaN. */
ferry_status ferry_i_mindtl_fit_hard(ferry_ctx *ctx, const mindtl_problem *p,
                                     const observed *x, double *w, rating_model **out,
                                     ferry_fit_info *rep);
ferry_status ferry_i_mindtl_fit_soft(ferry_ctx *ctx, const mindtl_problem *p,
                                     const observed *x, double *w, double *rmse,
                                     rating_model **out, ferry_fit_info *rep);
/* rmse[s]: error of source s alone (its copies; weight 1) on the ratings held out, after
 * a fit to the others. NaN when none can be held out. */
ferry_status ferry_i_mindtl_distances(ferry_ctx *ctx, const mindtl_problem *p,
                                      double *rmse);
/* min over 0 <= w <= most of w'Hw - 2 c'w by coordinate descent, to machine precision. */
void ferry_i_mindtl_box(const ferry_small *h, const double *c, double most, double *w);

/* ---- mode ferry (ferry.c) ---- */

/* mf of the target and features of neighbours, with weights that begin where the first
 * `sources` sources say. */
ferry_status ferry_i_mindtl_ferry(ferry_ctx *ctx, const ferry_task *task,
                                  const codebook_options *o, int64_t sources, void **state,
                                  ferry_fit_info *rep);

#endif
