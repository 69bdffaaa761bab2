/* Coupled non-negative tri-factorisation: the core of TTL and TriplexTL.
 *
 * Views v, each a matrix X_v (features x instances in the papers' letters; ours are stored
 * one instance a row) of a domain d(v), stand in groups g. With c classes
 *
 *   L = sum_v w_v |X_v - H_v G_d(v)'|^2,    H_v = F1_g A1_g + Fa_v Aa_g + F2_v A2_v
 *
 *   F1_g m x p1, A1_g p1 x c   concepts that the group shares
 *   Fa_v m x pa, Aa_g pa x c   "alike": words of the view, meaning of the group (TriplexTL)
 *   F2_v m x p2, A2_v p2 x c   the view's own
 *   G_d  n x c                 classes of the domain's instances; rows sum to 1
 *
 * or with the divergence sum x log(x / y) - x + y in place of the squares. A chain
 * S -> D1 -> T is two groups, {S, D1} and {D1, T}, tied by G of D1. H has only c columns
 * whatever p is, so nothing ever costs nnz p or p^2: a step is O(nnz c + m p c + n c^2).
 *
 * G has the layout of X's rows, F and A are replicated: what is added up over instances is X'G, G'G and, in the
 * divergence, the sums of G. All memory is the scope's that nmtf_new() was given; every other function gets the same. */
#ifndef FERRY_NMTF_H
#define FERRY_NMTF_H

#include "linalg/ops.h"

typedef enum nmtf_loss { NMTF_SQUARED, NMTF_KL } nmtf_loss;
/* After a step: paper divides the columns of every F and the rows of every G by their sums;
 * absorb does so too but multiplies the sums of F into A (not for Fa, whose A is shared);
 * none; simplex absorbs F and finds the rows of G by exact least squares on the simplex. */
typedef enum nmtf_norm {
    /* columns of F and rows of G to sum 1, A left alone: H changes with it */
    NMTF_PAPER,
    /* the same, but H stays what it was wherever A can take the sums */
    NMTF_ABSORB,
    /* factors as the steps leave them */
    NMTF_NONE,
    NMTF_SIMPLEX
} nmtf_norm;

typedef struct nmtf_options {
    nmtf_loss loss;
    nmtf_norm norm;
    double exponent;    /* 0.5 (the paper's square root) or 1 */
    int64_t iterations; /* of nmtf_run, */
    int64_t warm;       /* after this many of F and A alone */
    double tol;         /* ... which stops at a relative fall below this; 0: never */
} nmtf_options;

/* One matrix in one group: what is its own in the factorisation. */
typedef struct nmtf_view {
    matrix x; /* n x m, the caller's */
    /* whose F1, A1 and Aa it shares; whose G */
    int64_t group, domain;
    double w;
    block fa, f2; /* m x pa, m x p2 */
    small a2;     /* p2 x c */
    /* work */
    block h, p, q;             /* m x c: H, and what the steps of F and A divide */
    matrix xt;                 /* KL, sparse: the transpose of the rows here ... */
    matrix r, rt;              /* ... and X / (H G') in both orders */
    double *fa_sums, *f2_sums; /* pa, p2: of the columns, see sums_ready */
    bool fa_scaled;            /* fa_sums count for `pending` */
    double norm2;              /* |X|^2 */
    int64_t twin;              /* the first view of the same matrix and domain */
} nmtf_view;

typedef struct nmtf_tiles nmtf_tiles;
/* Views over the same features, and what they share. */
typedef struct nmtf_group {
    /* features of the group's views */
    int64_t m;
    block f1;     /* m x p1 */
    small a1, aa; /* p1 x c, pa x c */
    /* work */
    block fa1;          /* m x c: F1 A1 */
    block ps, qs;       /* m x c: sums over the views */
    block up, down;     /* m x max(p1, pa, p2); made when they are needed */
    small above, below; /* max(p1, pa, p2) x c */
    double *of_aa;      /* 2 pa c: what the step of Aa divides; made with `up` */
    double *sums;       /* max(p1, pa, p2) */
    double *f1_sums;    /* p1 */
    nmtf_tiles *tiles;  /* made when they are needed */
} nmtf_group;

/* Instances that one or several views describe, and their classes. */
typedef struct nmtf_domain {
    int64_t n;
    layout rows;    /* of its first view */
    block g;        /* n x c */
    int32_t *known; /* n: class, or -1 where it is to be found */
    bool fixed;     /* all are known: G is never touched */
    /* work */
    block above, below; /* n x c */
    small k;            /* c x c: G'G */
} nmtf_domain;

typedef struct nmtf {
    /* classes; columns of F1, Fa, F2; any p may be 0, and its factors are then empty */
    int64_t c, p1, pa, p2;
    int64_t n_groups, n_views, n_domains;
    nmtf_group *group;
    nmtf_view *view;
    nmtf_domain *domain;
    bool kl;         /* made ready for the divergence */
    bool p_ready;    /* P of the fixed domains is known */
    bool sums_ready; /* the sums of F's columns are known */
    bool pending;  /* columns of F are still to be multiplied by what stands in the sums */
    bool tiled;    /* F is in the tiles; what the blocks have is old */
    int64_t empty; /* rows of G, of those here, without any weight in the last step */
    small cc;      /* c x c */
} nmtf;

/* What a view is made of. */
typedef struct nmtf_input {
    matrix x;
    int64_t group, domain; /* groups are numbered 0, 1, ... without gaps */
    double w;
} nmtf_input;

/* Factors of zeros, no label known. Views of a group have equal features, views of a domain
 * equal instances, all entries are >= 0. */
nmtf *nmtf_new(scope *s, int64_t c, int64_t p1, int64_t pa, int64_t p2, int64_t n_views,
               const nmtf_input *input);
/* Labels of domain d (known[i] a class or -1) and G <- one-hot where known, else 1 / c. */
void nmtf_know(scope *s, nmtf *n, int64_t d, const int32_t *known);
/* G of domain d <- `start` (n x c) with entries raised to `floor` and rows brought to sum
 * 1; known rows stay one-hot. */
void nmtf_start(nmtf *n, int64_t d, block start, double floor);
/* F and A at random: columns of F sum to 1, and A is of the size that the sums of the
 * instances ask for. key: of each group's features, by which they draw; NULL: their numbers. */
void nmtf_random(scope *s, nmtf *n, ferry_rng *rng, const uint64_t *const *key);

/* One iteration in its parts: F and A of every group, then G of every domain that is not
 * fixed (with known rows put back), then the normalisation. The first gives L of the state
 * that it began with, which costs nothing more with squares. */
double nmtf_factors(scope *s, nmtf *n, const nmtf_options *o);
void nmtf_members(scope *s, nmtf *n, const nmtf_options *o);
void nmtf_normalise(scope *s, nmtf *n, const nmtf_options *o);
/* The same, but leaving the columns of F to the next nmtf_factors() or, once no
 * more of those come, to nmtf_catch_up(), which also has to be called before the
 * blocks of F are looked at. */
void nmtf_normalise_late(scope *s, nmtf *n, const nmtf_options *o);
void nmtf_catch_up(scope *s, nmtf *n);
/* F and A of group g with squares in one pass over the features (nmtf_tiles.c), from P and
 * K as they stand; H is left as the model of the result, *objective grows by the group's part of L
 * before. Needs tiles, which are not for very many views or classes (_fit). F is in the tiles
 * then, until it is brought back (_untile). */
void nmtf_tiles_step(scope *s, nmtf *n, const nmtf_options *o, int64_t g,
                     double *objective);
bool nmtf_tiles_fit(const nmtf *n);
void nmtf_tiles_new(scope *s, nmtf *n, int64_t g);
void nmtf_untile(nmtf *n);
/* Memory for the divergence, which nmtf_members needs on its own. */
void nmtf_divergence(scope *s, nmtf *n);
/* Rows of G to sum 1; 1 / c where there is nothing. */
void nmtf_rows_to_1(nmtf *n, nmtf_domain *d);
/* L of the present state. */
double nmtf_objective(scope *s, nmtf *n, nmtf_loss loss);

/* How a run ended. */
typedef struct nmtf_found {
    int64_t iterations;
    double objective; /* of the result */
    /* the fall was below tol; progress asked to end */
    bool converged, finish;
} nmtf_found;
/* Iterations, with progress under the name `what`, whose objectives are those of the states
 * before each iteration and the last one. */
nmtf_found nmtf_run(scope *s, nmtf *n, const nmtf_options *o, const char *what);

/* Denominators are at least the first; entries below the second become 0. */
#define NMTF_EPS 1e-16
#define NMTF_TINY 1e-100

/* A row of G by least squares on the simplex: min g'Bg - 2 v'g. Two classes have a closed
 * form. */
void nmtf_simplex_row(scope *s, small b, const double *v, double *g);

#endif
