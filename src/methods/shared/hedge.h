/* The two-level hedge: algorithm 1 of HetOMTL-CDSPP (heterogeneous online multi-source
 * transfer with cross-domain structure preserving projection, 2023; corrected where it
 * is misprinted), which hetomtl (mode paper) and omtlmc share.
 *
 * Offline, for source i: (Ps, Pt) = CDSPP (learn/cdspp.h), Z = [Ps'Xs, Pt'Xt], one
 * passive-aggressive pass (learn/pa.h) over Z gives W_Si; one over Xt gives W_T.
 *                                                                            hedge_fit.c
 * Online, for a sample x of unit length:                                     hedge.c
 *
 *   fS_i = W_Si Pt_i'x,  fT = W_T x,  f_i = u_i fS_i + v_i fT,  F = sum_i alpha_i f_i
 *
 * and argmax F is the answer. When its label y comes, a PA step of W_T and
 *
 *   u_i *= beta1^[argmax fS_i != y],  v_i *= beta1^[argmax fT != y],
 *   alpha_i *= beta2^[argmax f_i != y],  (u_i, v_i) and alpha scaled to sum 1.
 *
 * The weights are functions of counts of mistakes, which is what is kept: nothing
 * underflows, and a log of labels replays to the same bits.
 *   u_i = 1 / (1 + beta1^(M_T - M_Si)),  alpha_i = beta2^M_i / sum_j beta2^M_j.
 *
 * OMTL-MC compares losses instead: u_i *= beta1^[loss of fS_i > loss of fT_i], v_i the
 * other way round, alpha_i *= beta2^[loss of f_i > loss of F]; and its target learners
 * live in the projected spaces, one for each source.
 */
#ifndef FERRY_HEDGE_H
#define FERRY_HEDGE_H

#include "learn/cdspp.h"
#include "methods/shared/online.h"

/* What makes a weight fall: mistakes of the argmax (HetOMTL-CDSPP), or the larger of two
 * hinge losses (OMTL-MC). */
typedef enum hedge_rule { HEDGE_MISTAKES, HEDGE_LOSSES } hedge_rule;
/* What is done to z after the projection: nothing, unit length, or centring by the mean
 * of Z and then unit length. */
typedef enum hedge_post { HEDGE_POST_NONE, HEDGE_POST_L2, HEDGE_POST_CENTRED } hedge_post;

/* Pt = Q R, and Q depends on the target and the class counts of the source alone: sources
 * with equal counts share it, and c(x) = Q'x is computed once for all of them. */
typedef struct hedge_group {
    int64_t s; /* codes */
    double *q; /* s x d */
} hedge_group;

/* What is learned from one source. Only the counts, and wt where there is one, change
 * online. */
typedef struct hedge_source {
    char *name;
    int64_t group, rank;
    double *r;      /* rank x s: z = R'c(x) */
    double *mu;     /* rank: mean of Z */
    ferry_pa *ws;   /* k x rank; never changes online */
    ferry_pa *wt;   /* losses: the target's learner here */
    int64_t ms, mt; /* M_Si, and M_T (losses: how often the target's loss was larger) */
    int64_t mi;     /* M_i */
} hedge_source;

typedef struct hedge {
    hedge_rule rule;
    hedge_post post;
    double beta1, beta2;
    int64_t k, d, n;
    hedge_group *group;
    int64_t n_groups;
    hedge_source *source; /* n */
    ferry_pa *wt;         /* W_T; NULL for losses */
} hedge;

/* Everything about one sample, all from the same weights. */
typedef struct hedge_scores {
    double *c;         /* codes, group after group */
    double *ft;        /* right after them: k, n x k if the rule is losses */
    double *z;         /* projections, source after source */
    double *fs, *f;    /* n x k each */
    double *total;     /* k: F */
    double *u, *alpha; /* n: the weights of these */
    double *all;       /* the memory of all */
    int32_t *votes;    /* 2 n + 1: scratch of learn */
    int64_t k;         /* classes there is room for */
} hedge_scores;

ferry_status ferry_i_hedge_scores_new(ferry_ctx *ctx, const hedge *h, int64_t k,
                                      hedge_scores *out);
void ferry_i_hedge_scores_clear(hedge_scores *s);
void ferry_i_hedge_clear(hedge *h);

double ferry_i_hedge_u(const hedge *h, int64_t i); /* v_i = 1 - u_i */
double ferry_i_hedge_alpha(const hedge *h, int64_t i);

/* z (rank numbers) as option `post` wants it after the projection. */
void ferry_i_hedge_after(const hedge *h, const hedge_source *s, double *z);
/* All scores of x, a row without missing cells of unit length. O(k (d + sum of ranks)).
 */
void ferry_i_hedge_look(const hedge *h, const ferry_row *x, hedge_scores *s);
/* The same from the codes and W_T x on, which stand in s. */
void ferry_i_hedge_mix(const hedge *h, hedge_scores *s);
/* Where the codes of a group begin in s->c. */
int64_t ferry_i_hedge_codes(const hedge *h, int64_t group);
/* votes[0..2n]: argmax of fT, of each fS_i, of each f_i. */
void ferry_i_hedge_votes(const hedge *h, const hedge_scores *s, int32_t *votes);
/* Room for classes up to k in all learners; as before when one has no memory. */
ferry_status ferry_i_hedge_classes(ferry_ctx *ctx, hedge *h, int64_t k);
/* Count the mistakes in votes (NULL: those of s), then a step of the target's learner
 * from the scores in s. The last source's step is returned (they are one unless the rule
 * is losses). */
ferry_pa_step ferry_i_hedge_learn(hedge *h, const ferry_row *x, int32_t y,
                                  const int32_t *votes, const hedge_scores *s);

/* ---- decisions from rounded rows (hedge_screen.c) ---- */

/* W_T and Q as floats beside the exact ones, half the bytes to read; never in a file. For rows that are dense, the rule of
 * mistakes and post none. */
typedef struct hedge_screen {
    int64_t codes, k; /* rows: codes of all groups, classes there is room for */
    float *rows; /* codes + k rows x d: Q of the groups, then W_T; NULL: there is none */
    float *x;    /* d: the row at hand */
    /* Lengths: of the rows; of what takes c(x) to fS_i (n); of the largest row of W_T. Times `unit`, which is that of x and
     * the rounding's, they are how far scores are off. */
    double *size, *source, target, unit;
} hedge_screen;

/* f is of h. */
ferry_status ferry_i_hedge_screen_new(ferry_ctx *ctx, const hedge *h, hedge_scores *f,
                                      hedge_screen *s);
void ferry_i_hedge_screen_clear(hedge_screen *s);
/* Room for k classes; those that are new have zero weights. */
ferry_status ferry_i_hedge_screen_classes(ferry_ctx *ctx, const hedge *h, int64_t k,
                                          hedge_screen *s);
/* All scores of x nearly, and what ferry_i_hedge_votes() would say of the exact ones (in f->votes), and the place of the
 * largest of F. False: not all of these are certain. */
bool ferry_i_hedge_screen_look(const hedge *h, hedge_screen *s, const ferry_row *x,
                               hedge_scores *f, int32_t *answer);
/* After such a look: ferry_i_hedge_learn() may be called with f, and does what it would with exact scores. */
void ferry_i_hedge_screen_settle(const hedge *h, const hedge_screen *s, const ferry_row *x,
                                 int32_t y, hedge_scores *f);
/* Rows y and r of W_T have changed. */
void ferry_i_hedge_screen_step(const hedge *h, hedge_screen *s, int32_t y, int32_t r);

/* ---- offline (hedge_fit.c) ---- */

/* As HEDGE_OPTS has them. variant is a ferry_pa_kind, post a hedge_post; horizon above 0
 * replaces both betas. */
typedef struct hedge_options {
    double alpha, C, beta1, beta2, horizon;
    int variant, post;
    int64_t per_class;
} hedge_options;

/* Lines of an option table whose struct begins with hedge_options. */
#define HEDGE_OPTS                                                                         \
    FERRY_OPT(hedge_options, REAL, alpha, 1, 1e-12, 1e12, "CDSPP: weight of |P|^2"),       \
        FERRY_OPT_ONE_OF(hedge_options, post, "none|l2|centred", "none",                   \
                         "what comes after the projection: unit length, after centring"),  \
        FERRY_OPT_ONE_OF(hedge_options, variant, "pa|pa1|pa2|printed", "pa1",              \
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

/* rows[0 ..) <- places of at most per_class (0: all) of each of the k classes among n
 * rows, drawn by rng, ascending; *kept of them. New. */
ferry_status ferry_i_hedge_draw(ferry_ctx *ctx, int64_t n, const int32_t *cls, int64_t k,
                                int64_t per_class, ferry_rng *rng, int64_t **rows,
                                int64_t *kept);

/* ---- the model: a hedge, and rows as it wants them (hedge_model.c) ---- */

typedef struct hedge_model {
    online_input in; /* rows of unit length */
    ferry_row row;   /* the row at hand, in in.room */
    /* The row that was seen last, when nothing has been learned since: its scores in s are
     * those of now, and row is made from it. Most labels come right after their row. */
    double *last;   /* d: its values */
    int32_t *index; /* d: its columns, when it is sparse */
    int64_t last_n; /* -1: there is none */
    bool last_sparse;
    bool last_near; /* its scores are those of the screen */
    hedge h;
    hedge_scores s;
    hedge_screen screen;
} hedge_model;

/* `method` is for messages. Whether the task has what it takes: labels of a source and of
 * the target, one view in each. */
ferry_status ferry_i_hedge_fits(ferry_ctx *ctx, const char *method, const ferry_task *task);
/* Learn from all sources and the target's labelled rows. Sources without a class of the
 * target are left out, which is said. */
ferry_status ferry_i_hedge_fit(ferry_ctx *ctx, const char *method, hedge_rule rule,
                               const ferry_task *task, const hedge_options *o,
                               hedge_model **out);
void ferry_i_hedge_model_free(void *model);
/* Room for rows and scores of m->h. */
ferry_status ferry_i_hedge_room(ferry_ctx *ctx, hedge_model *m);
/* As the members of ferry_online and ferry_method of these names. */
int64_t ferry_i_hedge_votes_size(const void *model);
ferry_status ferry_i_hedge_see(ferry_ctx *ctx, void *model, const ferry_row *x, int64_t k,
                               double *score, int32_t *votes);
ferry_status ferry_i_hedge_answer(ferry_ctx *ctx, void *model, const ferry_row *x,
                                  int64_t k, double *score, int32_t *cls, int32_t *votes);
ferry_status ferry_i_hedge_hear(ferry_ctx *ctx, void *model, const ferry_row *x,
                                int32_t cls, const int32_t *votes);
int64_t ferry_i_hedge_parts(const void *model, const char **names, double *w);
ferry_status ferry_i_hedge_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                   ferry_prediction *p);
void ferry_i_hedge_file(ferry_io *io, void *model);

#endif
