/* HetOMTL-CDSPP and OMTL-MC after CDSPP (heterogeneous online multi-source transfer with
 * cross-domain structure preserving projection, 2023; corrected where it is misprinted).
 *
 * Offline, for source i: (Ps, Pt) = CDSPP, Z = [Ps'Xs, Pt'Xt], one PA pass over Z gives
 * W_Si. One PA pass over Xt gives W_T. Online, for a sample x of unit length:
 *
 *   fS_i = W_Si Pt_i'x,  fT = W_T x,  f_i = u_i fS_i + v_i fT,  F = sum_i alpha_i f_i
 *
 * and argmax F is the answer. When its label y comes, a PA step of W_T and
 *
 *   u_i *= beta1^[argmax fS_i != y],  v_i *= beta1^[argmax fT != y],
 *   alpha_i *= beta2^[argmax f_i != y],  (u_i, v_i) and alpha scaled to sum 1.
 *
 * The weights are functions of counts of mistakes, which is what is kept:
 *   u_i = 1 / (1 + beta1^(M_T - M_Si)),  alpha_i = beta2^M_i / sum_j beta2^M_j.
 *
 * omtlmc compares losses instead (u_i *= beta1^[loss of fS_i > loss of fT_i] and so on),
 * and its target learners live in the projected spaces, one for each source.
 */
#ifndef FERRY_HET_H
#define FERRY_HET_H

#include "methods/cdspp/cdspp.h"
#include "methods/shared/online.h"

typedef enum het_rule { HET_MISTAKES, HET_LOSSES } het_rule;
typedef enum het_post { HET_POST_NONE, HET_POST_L2, HET_POST_CENTRED } het_post;

/* Pt = Q R, and Q depends on the target and the class counts of the source alone: sources
 * with equal counts share it. c(x) = Q'x. */
typedef struct het_group {
    int64_t s; /* codes */
    double *q; /* s x d */
} het_group;

typedef struct het_source {
    char *name;
    int64_t group, rank;
    double *r;      /* rank x s: z = R'c(x) */
    double *mu;     /* rank: mean of Z */
    ferry_pa *ws;   /* k x rank; never changes online */
    ferry_pa *wt;   /* omtlmc: the target's learner here */
    int64_t ms, mt; /* M_Si, and M_T (omtlmc: how often the target's loss was larger) */
    int64_t mi;     /* M_i */
} het_source;

typedef struct het {
    het_rule rule;
    het_post post;
    double beta1, beta2;
    int64_t k, d, n;
    het_group *group;
    int64_t n_groups;
    het_source *source; /* n */
    ferry_pa *wt;       /* W_T; NULL for omtlmc */
} het;

/* Everything about one sample, all from the same weights. */
typedef struct het_scores {
    double *c;           /* codes, group after group */
    double *z;           /* projections, source after source */
    double *fs, *ft, *f; /* n x k each; ft is one row unless omtlmc */
    double *total;       /* k */
    double *all;         /* the memory of these */
    int64_t k;           /* classes there is room for */
} het_scores;

ferry_status ferry_i_het_scores_new(ferry_ctx *ctx, const het *h, int64_t k,
                                    het_scores *out);
void ferry_i_het_scores_clear(het_scores *s);
void ferry_i_het_clear(het *h);

double ferry_i_het_u(const het *h, int64_t i); /* v_i = 1 - u_i */
double ferry_i_het_alpha(const het *h, int64_t i);

/* x as the learners want it. */
void ferry_i_het_look(const het *h, const ferry_row *x, het_scores *s);
/* votes[0..2n]: argmax of fT, of each fS_i, of each f_i. */
void ferry_i_het_votes(const het *h, const het_scores *s, int32_t *votes);
/* Room for classes up to k in all learners. */
ferry_status ferry_i_het_classes(ferry_ctx *ctx, het *h, int64_t k);
/* Count the mistakes in votes (NULL: those of s), then a step of the target's learner from
 * the scores in s. The last source's step is returned (they are one unless omtlmc). */
ferry_pa_step ferry_i_het_learn(het *h, const ferry_row *x, int32_t y, const int32_t *votes,
                                const het_scores *s);

ferry_status ferry_i_het_save(ferry_ctx *ctx, const het *h, ferry_dict *dict);
ferry_status ferry_i_het_load(ferry_ctx *ctx, const ferry_dict *dict, int64_t d, het *h);

/* ---- offline (het_fit.c) ---- */

typedef struct het_options {
    int mode; /* hetomtl only */
    double alpha, C, beta1, beta2, horizon, rate, share, grow;
    int variant, post;
    int64_t per_class, keep;
} het_options;

/* Learn from the settled task's sources and the target's labelled rows `t` (x: prepared, n
 * x d). Sources without a class of the target are left out, which is said. */
ferry_status ferry_i_het_fit(ferry_ctx *ctx, const char *method, het_rule rule,
                             const ferry_task *task, const het_options *o,
                             const ferry_matrix *x, const int32_t *y, het *h);
/* At most per_class (0: all) labelled rows of each class, drawn by rng; in order. */
void ferry_i_het_draw(online_rows *r, int64_t k, int64_t per_class, ferry_rng *rng,
                      int64_t *order, int64_t *count);
/* The rows without missing cells, of unit length. */
ferry_status ferry_i_het_rows(ferry_ctx *ctx, const online_rows *r, const double *fill,
                              ferry_matrix **out);

#endif
