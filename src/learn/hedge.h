/* The two-level hedge: algorithm 1 of HetOMTL-CDSPP (heterogeneous online multi-source transfer with cross-domain
 * structure preserving projection, 2023; corrected where it is misprinted), which hetomtl-paper and omtlmc share.
 *
 * Offline, for source i: (Ps, Pt) = CDSPP (learn/cdspp.h), Z = [Ps'Xs, Pt'Xt], one passive-aggressive pass
 * (learn/online.h) over Z gives W_Si; one over Xt gives W_T.
 *
 * Online, for a sample x of unit length:
 *
 *   fS_i = W_Si Pt_i'x,  fT = W_T x,  f_i = u_i fS_i + v_i fT,  F = sum_i alpha_i f_i
 *
 * and argmax F is the answer. When its label y comes, a PA step of W_T and
 *
 *   u_i *= beta1^[argmax fS_i != y],  v_i *= beta1^[argmax fT != y],
 *   alpha_i *= beta2^[argmax f_i != y],  (u_i, v_i) and alpha scaled to sum 1.
 *
 * The weights are functions of counts of mistakes, which is what is kept: nothing underflows, and a log of labels
 * replays to the same bits.
 *   u_i = 1 / (1 + beta1^(M_T - M_Si)),  alpha_i = beta2^M_i / sum_j beta2^M_j.
 *
 * OMTL-MC compares losses instead: u_i *= beta1^[loss of fS_i > loss of fT_i], v_i the other way round, alpha_i *=
 * beta2^[loss of f_i > loss of F]; and its target learners live in the projected spaces, one for each source. */
#ifndef FERRY_LEARN_HEDGE_H
#define FERRY_LEARN_HEDGE_H

#include "learn/online.h"
#include "learn/problem.h"

/* What makes a weight fall: mistakes of the argmax (HetOMTL-CDSPP), or the larger of two hinge losses (OMTL-MC). */
typedef enum hedge_rule { HEDGE_MISTAKES, HEDGE_LOSSES } hedge_rule;
/* What is done to z after the projection: nothing, unit length, or centring by the mean of Z and then unit length. */
typedef enum hedge_post { HEDGE_POST_NONE, HEDGE_POST_L2, HEDGE_POST_CENTRED } hedge_post;

/* variant is a pa_kind, post a hedge_post; horizon above 0 replaces both betas. */
typedef struct hedge_options {
    double alpha, C, beta1, beta2, horizon;
    int variant, post;
    int64_t per_class;
} hedge_options;
#define HEDGE_OPTS                                                                         \
    FERRY_OPT(hedge_options, REAL, alpha, 1, 1e-12, 1e12, "CDSPP: weight of |P|^2"),       \
        FERRY_OPT_ONE_OF(hedge_options, post, "none|l2|centred", "none",                   \
                         "what comes after the projection: unit length, after centring"),  \
        FERRY_OPT_ONE_OF(hedge_options, variant, PA_KINDS, "pa1",                          \
                         "how large a step may be; printed: the paper's formula"),         \
        FERRY_OPT(hedge_options, REAL, C, 1, 1e-12, 1e12,                                  \
                  "largest step of pa1 (pa2: 1 / (2 C))"),                                 \
        FERRY_OPT(hedge_options, REAL, beta1, 0.9, 1e-9, 1,                                \
                  "factor of a learner's weight after a mistake"),                         \
        FERRY_OPT(hedge_options, REAL, beta2, 0.9, 1e-9, 1, "the same for a source"),      \
        FERRY_OPT(hedge_options, REAL, horizon, 0, 0, 1e15,                                \
                  "rounds to come: sets both betas as in the paper; 0: as set"),           \
        FERRY_OPT(hedge_options, INT, per_class, 0, 0, 1e9,                                \
                  "rows of each class drawn from each source; 0: all")

/* Of one source: what changes online. Pt = Q R, and Q depends on the target and the class counts of the source alone:
 * sources with equal counts share it, and c(x) = Q'x is computed once for all of them. */
typedef struct hedge_source {
    int64_t codes; /* number of its Q */
    int64_t rank;
    int64_t ms, mt,
        mi; /* M_Si, M_T (losses: how often the target's loss was larger), M_i */
} hedge_source;
typedef struct hedge_block {
    block b;
} hedge_block;

typedef struct hedge {
    int64_t rule, post, k, n, n_codes; /* classes, sources, different Q */
    double beta1, beta2;
    ferry_ids *names;   /* of the sources */
    hedge_block *codes; /* n_codes: Q', a row for each code */
    hedge_source *source;
    hedge_block *r;  /* n: R', rank x codes: z = R'c(x) */
    hedge_block *mu; /* n: mean of Z */
    pa *ws;          /* n; never changes online */
    pa *wt;          /* n; losses: the target's learner there */
    pa target;       /* W_T; mistakes */
} hedge;
extern const table hedge_table; /* names as in files since 0.1 */

/* Everything about one sample, all from the same weights, and scratch. */
typedef struct hedge_screen hedge_screen;
typedef struct hedge_scores {
    double *c;            /* codes, Q after Q */
    double *ft;           /* right after them: k, n x k if the rule is losses */
    double *z;            /* projections, source after source */
    double *fs, *f;       /* n x k each */
    double *total;        /* k: F */
    double *u, *alpha;    /* n: the weights of these */
    int32_t *votes;       /* 2 n + 1 */
    hedge_screen *screen; /* NULL: none */
    bool rounded;         /* these scores are the screen's */
} hedge_scores;

/* From rows of unit length: of all sources (the first domains of p) and of the target. A source without a class of the
 * target is left out, which is reported. */
void hedge_fit(scope *s, scope *keep, const problem *p, hedge_rule rule,
               const hedge_options *o, hedge *h);
/* For a method whose state is a hedge. */
extern const online hedge_online;

double hedge_u(const hedge *h, int64_t i); /* v_i = 1 - u_i */
double hedge_alpha(const hedge *h, int64_t i);
/* Equations 38 and 44: the mistakes that a hedge over so many experts makes at most, by its best one's; Freund and
 * Schapire's bound of the loss, of which the paper's theorems 1 and 2 say that it holds for mistakes. INFINITY for beta
 * = 1, which hedges nothing. */
double hedge_bound(double beta, double experts, double fewest);
/* All scores of x; O(k (d + sum of ranks)). The same from the codes and W_T x on, which stand in f. */
void hedge_score(const hedge *h, ferry_row x, hedge_scores *f);
void hedge_mix(const hedge *h, hedge_scores *f);

/* ---- decisions from rounded rows (hedge_screen.c) ---- */

/* Whether they can decide and pay: with 3 to 40 classes both ways take as long at 256 to 512 columns. */
bool hedge_can_screen(const hedge *h);
/* For k classes; f is of these. */
hedge_screen *hedge_screen_new(scope *s, const hedge *h, int64_t k, hedge_scores *f);
/* All scores of x nearly, and the votes of the exact ones in f->votes; the place of the largest of F. -1: not all of
 * these are certain. */
int32_t hedge_screen_score(const hedge *h, hedge_screen *s, ferry_row x, hedge_scores *f);
/* After that: what a step takes becomes exact. */
void hedge_screen_exact(const hedge *h, const hedge_screen *s, ferry_row x, int32_t y,
                        hedge_scores *f);
/* Rows y and r of W_T have changed. */
void hedge_screen_step(const hedge *h, hedge_screen *s, int32_t y, int32_t r);

#endif
