/* HeMap between a task and a model: the data, the embedding, what is learned on it, the
 * gate. */
#ifndef FERRY_HEMAP_FIT_H
#define FERRY_HEMAP_FIT_H

#include "methods/hemap/hemap.h"

typedef enum hemap_mode { MODE_FERRY, MODE_LINEAR, MODE_NONLINEAR } hemap_mode;
typedef enum hemap_rows { ROWS_BOTH, ROWS_SOURCE, ROWS_TARGET } hemap_rows;
typedef enum hemap_auto { AUTO, YES, NO } hemap_auto;

typedef struct hemap_options {
    int mode, solver, learner, base, rows, select, divergence, bridge, scale, exact;
    int64_t k, clusters, bins, folds, min_size, min_clusters;
    ferry_learning learning;
    double beta, theta, ridge, weight, gamma, caution, kappa, tau, risk;
} hemap_options;

/* ---- the data: data.c ---- */

/* A data set in its principal axes: X - 1 mean' = Y basis', Y'Y / n = diag(l). */
typedef struct hemap_side {
    double *mean;       /* d */
    ferry_block *basis; /* d x q, orthonormal columns */
    ferry_block *y;     /* n x q */
    double *l;          /* q, descending, all above 1e-12 of the first */
    double average;     /* mean eigenvalue over all d */
} hemap_side;

typedef struct hemap_data {
    const hemap_options *o;
    ferry_goal goal;
    int64_t k;                     /* classes; 1 for numbers */
    const ferry_matrix *raw;       /* target features as given */
    ferry_prep *prep_t, *prep_s;   /* of all rows */
    ferry_matrix *t, *s;           /* prepared */
    int32_t *yc, *vc;              /* class of each row, -1 unknown; NULL for numbers */
    double *yn, *vn;               /* number of each row, NaN unknown; NULL for classes */
    int64_t n_pairs, *pt, *ps;     /* rows known to be the same thing */
    int64_t n_labelled, *labelled; /* target rows with a label */
    int64_t n_taught;              /* source rows with a label */
    bool differ;                   /* label sets differ: outputs are bridged */
    hemap_side side_t, side_s;     /* mode ferry only */
} hemap_data;

ferry_status ferry_i_hemap_data_new(ferry_ctx *ctx, const ferry_task *task,
                                    const hemap_options *o, hemap_data *d);
void ferry_i_hemap_data_clear(hemap_data *d);
ferry_scale ferry_i_hemap_scale(const hemap_options *o, const ferry_matrix *x);

/* ---- the embedding: space.c ---- */

/* Where an instance of the target lies. Mode ferry: z = W x + b (w: k x (d + 1)). The
 * thesis has no such map: z of the nearest row that was there. */
typedef struct hemap_space {
    int64_t k;
    double *w;
    ferry_matrix *rows; /* prepared */
    ferry_matrix *z;    /* rows x k */
} hemap_space;

typedef struct hemap_embedding {
    hemap_space space;
    ferry_block *zt, *zs; /* all rows of both sets; columns have mean 0 and deviation 1, in
                             mode ferry times their correlation */
    double *strength;     /* correlations (ferry) or eigenvalues */
    int64_t ties;         /* pairs or groups that tie the two sets; 0: none, no embedding */
    double objective;     /* G in the thesis's modes, else NaN */
} hemap_embedding;

/* `known` says which target rows' labels may be used (NULL: all). */
ferry_status ferry_i_hemap_embed(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                                 hemap_embedding *e);
void ferry_i_hemap_embedding_clear(hemap_embedding *e);
void ferry_i_hemap_space_clear(hemap_space *s);
/* Prepared features to their places, rows x k. */
ferry_status ferry_i_hemap_place(ferry_ctx *ctx, const hemap_space *s,
                                 const ferry_matrix *x, ferry_matrix **z);

/* ---- what is learned: parts.c ---- */

typedef struct hemap_parts {
    ferry_prep *prep_own;
    ferry_learner *own;    /* on the target's own features; NULL: no target labels */
    ferry_learner *mapped; /* on the embedding; NULL: not used */
    ferry_block *pyv;      /* p(y|v) when outputs are bridged, else NULL */
    double a, c;           /* y = a + c v for numbers */
} hemap_parts;

ferry_status ferry_i_hemap_learn_own(ferry_ctx *ctx, const hemap_data *d,
                                     const uint8_t *known, hemap_parts *p);
/* keep: source rows to learn from (NULL: all). */
ferry_status ferry_i_hemap_learn_mapped(ferry_ctx *ctx, const hemap_data *d,
                                        const uint8_t *known, const hemap_embedding *e,
                                        const uint8_t *keep, hemap_parts *p);
/* Scores of raw target rows (n x k each); a part that was not learned leaves zeros. */
ferry_status ferry_i_hemap_own_scores(ferry_ctx *ctx, const hemap_parts *p,
                                      const ferry_matrix *raw, ferry_block *scores);
ferry_status ferry_i_hemap_mapped_scores(ferry_ctx *ctx, const hemap_parts *p,
                                         const ferry_matrix *z, ferry_block *scores);
void ferry_i_hemap_parts_clear(hemap_parts *p);

/* ---- the gate: gate.c ---- */

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

/* ---- the model: saved.c ---- */

/* What is kept to predict. */
typedef struct hemap_model {
    ferry_goal goal;
    int64_t k, d;  /* classes (1: numbers), target features */
    double *prior; /* k */
    double gamma;
    ferry_prep *prep; /* of all target rows; NULL: no embedding */
    hemap_space space;
    hemap_parts parts;
} hemap_model;

ferry_status ferry_i_hemap_save(ferry_ctx *ctx, const void *state, ferry_dict *dict);
ferry_status ferry_i_hemap_load(ferry_ctx *ctx, const ferry_dict *dict, void **state);
void ferry_i_hemap_free(void *state);

#endif
