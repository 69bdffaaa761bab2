/* HeMap, heterogeneous mapping (Shi et al., ICDM 2010; thesis 2013, chapter 5): a source
 * and a target without common features in one space.
 *
 * As published (mode paper), T (N x m) and S (N x n) get projections B_T, B_S (N x k) by
 *
 *   min  |T - B_T P_T|^2 + |S - B_S P_S|^2
 *        + beta/2 (|T - B_S P_T|^2 + |S - B_T P_S|^2),   B_T'B_T = B_S'B_S = I        (5.4)
 *
 * whose solution is the top k eigenvectors of a matrix A (5.8); the nonlinear variant adds
 * clusters C_T, C_S weighted by theta (5.11, 5.15). Row i is tied to row i.
 *
 * Mode ferry ties what is known to belong together instead: C stands for T'S / N, from row
 * pairs, classes or quantiles, and regularised CCA gives every instance a place from its
 * own features (solve.c). A learner on the places may learn from the source, another knows
 * the target's own features only, and
 *
 *   p = (1 - gamma) p_own + gamma p_mapped,   gamma by cross-validation          (gate.c)
 *
 * Rows are instances. Corrections to the text: docs/methods/hemap.md. */
#ifndef FERRY_HEMAP_H
#define FERRY_HEMAP_H

#include "methods/method.h"
#include "methods/shared/learner_file.h"
#include "prepare/prepare.h"

/* The last two are old spellings of mode paper with its variant. */
typedef enum hemap_mode { MODE_FERRY, MODE_PAPER, MODE_LINEAR, MODE_NONLINEAR } hemap_mode;
typedef enum hemap_variant { VARIANT_LINEAR, VARIANT_NONLINEAR } hemap_variant;
/* Whose labelled rows the learner on the space sees; and options that a mode decides. */
typedef enum hemap_rows { ROWS_BOTH, ROWS_SOURCE, ROWS_TARGET } hemap_rows;
typedef enum hemap_auto { AUTO, YES, NO } hemap_auto;

/* Places in the lists of hemap_opts, and numbers as documented there. 0 for k means: by the
 * mode. */
typedef struct hemap_options {
    int mode, variant, solver, learner, base, rows, scale, exact;
    int sampling, divergence, translate; /* the first and last also by old names: */
    int select, bridge;
    int64_t k, clusters, bins, folds, min_size, min_clusters;
    ferry_learning learning;
    double beta, theta, ridge, weight, gamma, caution, kappa, tau, risk;
} hemap_options;

/* The data: data.c. */

/* A data set in its principal axes: X - 1 mean' = Y basis', Y'Y / n = diag(l). */
typedef struct hemap_side {
    double *mean;       /* d */
    ferry_block *basis; /* d x q, orthonormal columns */
    ferry_block *y;     /* n x q */
    double *l;          /* q, descending, all above 1e-12 of the first */
    double average;     /* mean eigenvalue over all d */
} hemap_side;

/* Source and target by row; labels and features lie in `prepared`. Where ranks have their own rows, features and axes
 * are of those that are here, and all else, which is small, is of the rows of all ranks. */
typedef struct hemap_data {
    const hemap_options *o;
    ferry_goal goal;
    int64_t k; /* classes; 1 for numbers */
    ferry_prepared *prepared;
    const ferry_matrix *t, *s;     /* features, prepared */
    int64_t nt, ns;                /* rows of both, */
    int64_t first_t, first_s;      /* ... of which these are the first here */
    void *all[4];                  /* labels that were collected from all ranks, owned */
    const int32_t *yc, *vc;        /* class of each row, -1 unknown; NULL for numbers */
    const double *yn, *vn;         /* number of each row, NaN unknown; NULL for classes */
    int64_t n_pairs, *pt, *ps;     /* rows known to be the same thing */
    int64_t n_labelled, *labelled; /* target rows with a label */
    int64_t n_taught;              /* source rows with a label */
    bool differ;                   /* label sets differ: outputs are translated */
    hemap_side side_t, side_s;     /* mode ferry only */
} hemap_data;

/* new: the task is borrowed and must outlive *d; to be cleared in any case, also after a
 * failure. Costs the axes: O(N d min(N, d)) a side in mode ferry. */
ferry_status ferry_i_hemap_data_new(ferry_ctx *ctx, const ferry_task *task,
                                    const hemap_options *o, hemap_data *d);
void ferry_i_hemap_data_clear(hemap_data *d);

/* The published problem: spectral.c; and how a task becomes one: paper.c. */

/* One problem (5.4) or (5.11). The linear one has theta = 1 and no clusters. */
typedef struct hemap_problem {
    const ferry_matrix *t, *s;   /* equal rows */
    const ferry_matrix *ct, *cs; /* 0/1 partition matrices, or NULL */
    double beta, theta;
} hemap_problem;

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

/* The embedding: solve.c (mode ferry). */

/* Where an instance of the target lies. Mode ferry: z = W x + b (w: k x (d + 1)). Mode
 * paper has no such map: z of the nearest row that was there. */
typedef struct hemap_space {
    int64_t k;
    double *w;
    ferry_matrix *rows; /* prepared */
    ferry_matrix *z;    /* rows x k */
} hemap_space;

/* What ferry_i_hemap_embed() makes. To be cleared in any case. */
typedef struct hemap_embedding {
    hemap_space space;
    ferry_block *zt, *zs; /* all rows of both sets; columns have mean 0 and deviation 1, in
                             mode ferry times their correlation */
    double *strength;     /* correlations (ferry) or eigenvalues */
    int64_t ties;         /* pairs or groups that tie the two sets; 0: none, no embedding */
    double objective;     /* G in mode paper, else NaN */
} hemap_embedding;

/* `known` says which target rows' labels may be used (NULL: all). Where nothing ties the
 * sets e->ties is 0, which is no error: all else stays empty. */
ferry_status ferry_i_hemap_embed(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                                 hemap_embedding *e);
void ferry_i_hemap_embedding_clear(hemap_embedding *e);
void ferry_i_hemap_space_clear(hemap_space *s);
/* Prepared features to their places, rows x k. A new matrix of the caller's. */
ferry_status ferry_i_hemap_place(ferry_ctx *ctx, const hemap_space *s,
                                 const ferry_matrix *x, ferry_matrix **z);

/* Algorithm 3 (linear) or 4 (nonlinear). Row i of one set is tied to row i of the other, so
 * the sets are brought to equal size and to some order, which decides the result. Known
 * pairs come first, the other rows in
 * random order: the order of a file may tell the labels. The smaller set is filled up by
 * rows drawn again; a row's place is the mean over its copies. */
ferry_status ferry_i_hemap_embed_paper(ferry_ctx *ctx, const hemap_data *d,
                                       hemap_embedding *e);

/* C <- sum_c pi_c mu_T,c mu_S,c' over the groups that both sides have, of the rows of all ranks; pi_c is the group's
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

/* Source rows to learn from: sampling.c. */

/* KL_c of (5.17) as printed and the corrected divergence, from the counts of target (a) and
 * source (b) in each of g clusters; `smooth` is added to both inside the logarithm. */
double ferry_i_hemap_kl_printed(int64_t g, const int64_t *a, const int64_t *b,
                                double smooth);
double ferry_i_hemap_kl(int64_t g, const int64_t *a, const int64_t *b, double smooth);

/* When a cluster is split no further and when its source rows are kept. */
typedef struct hemap_sampling {
    double kappa;         /* centroids agree within kappa x the cluster's radius */
    int64_t min_size;     /* no part of a split is smaller */
    double tau;           /* shares of target and source within this factor */
    int64_t min_clusters; /* split at least to so many */
    double risk;          /* too risky above this divergence */
    bool printed;         /* ... by KL_c as printed */
} hemap_sampling;

/* What came out. risky: the source is not to be used at all. */
typedef struct hemap_sample {
    int32_t *cluster_t, *cluster_s; /* cluster of each row */
    uint8_t *keep;                  /* per source row */
    int64_t clusters, kept;
    double kl_printed, kl; /* with smooth 0.5 */
    bool risky;
} hemap_sample;

/* Both sets in one space, N_T x k and N_S x k. On failure *out is empty. */
ferry_status ferry_i_hemap_choose_rows(ferry_ctx *ctx, const ferry_block *bt,
                                       const ferry_block *bs, const hemap_sampling *o,
                                       hemap_sample *out);
void ferry_i_hemap_sample_clear(hemap_sample *s);

/* What is learned, and outputs that differ: parts.c. */

/* p_own and p_mapped. */
typedef struct hemap_parts {
    ferry_learner *own;    /* on the target's own features; NULL: no target labels */
    ferry_learner *mapped; /* on the embedding; NULL: not used */
    ferry_block *pyv;      /* p(y|v) when outputs are translated, else NULL */
    double a, c;           /* y = a + c v for numbers */
} hemap_parts;

/* known: target rows whose labels may be used (NULL: all). A part without rows to learn
 * from stays NULL. */
ferry_status ferry_i_hemap_learn_own(ferry_ctx *ctx, const hemap_data *d,
                                     const uint8_t *known, hemap_parts *p);
/* keep: source rows to learn from (NULL: all). */
ferry_status ferry_i_hemap_learn_mapped(ferry_ctx *ctx, const hemap_data *d,
                                        const uint8_t *known, const hemap_embedding *e,
                                        const uint8_t *keep, hemap_parts *p);
/* Scores (n x k each) of target features, and of places; a part that was not learned leaves
 * zeros. */
ferry_status ferry_i_hemap_own_scores(ferry_ctx *ctx, const hemap_parts *p,
                                      const ferry_matrix *x, ferry_block *scores);
ferry_status ferry_i_hemap_mapped_scores(ferry_ctx *ctx, const hemap_parts *p,
                                         const ferry_matrix *z, ferry_block *scores);
void ferry_i_hemap_parts_clear(hemap_parts *p);

/* (5.20): p(y|v) as the mean of p(y|s) over the rows with label v (-1: not known); uniform
 * for a label without rows. pys: n x ky; out: kv x ky. */
void ferry_i_hemap_outputs(const ferry_block *pys, const int32_t *v, ferry_block *out);
/* (5.19): p(y|x) <- sum_v p(v|x) p(y|v). */
void ferry_i_hemap_translate(const ferry_block *pvx, const ferry_block *pyv,
                             ferry_block *pyx);
/* y = a + c v by least squares over the rows with finite v; c = 0 when v is constant. */
void ferry_i_hemap_line(int64_t n, const double *v, const ferry_block *y, double *a,
                        double *c);

/* How much of it is believed: gate.c. */

/* A grid of quarters: with a few labelled rows a finer one chooses noise. */
enum { HEMAP_GAMMAS = 5 };
typedef struct hemap_gate {
    double gamma;
    double loss[HEMAP_GAMMAS]; /* of gamma = 0, 1/4, ... 1: error rate or mean square */
    int64_t folds;             /* 0: not cross-validated */
    bool finish;               /* the progress callback wants no more */
} hemap_gate;

/* gamma of p = (1 - gamma) p_own + gamma p_mapped by cross-validation on the labelled
 * target rows. `e` is the embedding from all labels; where labels tie the sets it is made
 * anew without those of each fold. */
ferry_status ferry_i_hemap_choose(ferry_ctx *ctx, const hemap_data *d,
                                  const hemap_embedding *e, const uint8_t *keep,
                                  hemap_gate *gate);

/* The model: model.c. */

/* What is kept to predict. */
typedef struct hemap_model {
    ferry_goal goal;
    int64_t k, d;  /* classes (1: numbers), target features */
    double *prior; /* k */
    double gamma;
    ferry_prepared *prepared;
    hemap_space space;
    hemap_parts parts;
} hemap_model;

/* The functions of the descriptor. */
void ferry_i_hemap_file(ferry_io *io, void *state);
void ferry_i_hemap_free(void *state);
ferry_status ferry_i_hemap_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                   ferry_prediction *p);
ferry_status ferry_i_hemap_transform(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p);

#endif
