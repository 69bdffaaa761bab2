/* CoCA, collective component analysis: the parts that the method, the baseline pca-joined
 * and the tests share. Letters as in the thesis, with rows for instances:
 *
 *   X_j   m x d_j   view j, centred and scaled (p of them, D columns in all)
 *   M_t   m x m     graph t (q of them), W = sum_t wt_t M_t
 *   H     D x D     blocks a_j X_j'X_j + X_j'WX_j on the diagonal, b X_j'X_h beside it
 *   U     D x d     eigenvectors of the d algebraically largest eigenvalues of H
 *   Phi   m x d     (1/p) sum_j X_j U_j
 */
#ifndef FERRY_COCA_INTERNAL_H
#define FERRY_COCA_INTERNAL_H

#include "methods/method.h"

/* ---- views ---- */

typedef enum coca_scaling {
    COCA_AUTO,
    COCA_NONE,
    COCA_FEATURE,
    COCA_FROB,
    COCA_FEATURE_FROB,
    COCA_SPECTRAL,
    COCA_FEATURE_SPECTRAL
} coca_scaling;
#define COCA_SCALINGS "auto|none|feature|frob|feature+frob|spectral|feature+spectral"

/* X_j over the m instances of the domain. A sparse view is scaled but not shifted in
 * memory: X_j = x - present shift'. An instance that the view lacks is a row of zeros, the
 * mean of those that are there, and so is a missing cell. */
typedef struct coca_view {
    ferry_matrix *x;  /* m x cols */
    ferry_matrix *xt; /* its transpose, where X_j'r is needed often, or NULL */
    double *shift;    /* sparse: mean / scale, else NULL */
    double *present;  /* m, 1 where the view has the instance, else 0; NULL: everywhere */
    int64_t rows;     /* instances that it has */
    int64_t cols;     /* of x: d_j, or fewer when compressed */
    double *mean, *scale; /* of the d_j features */
    int64_t features;     /* d_j */
    ferry_block *q;       /* d_j x cols: X_j = x q', or NULL */
} coca_view;

/* Rows row_of[0..m) of x, -1 where it has none (row_of NULL: x has the m rows). */
ferry_status ferry_i_coca_view_new(ferry_ctx *ctx, const ferry_matrix *x, int64_t m,
                                   const int64_t *row_of, coca_view **out);
/* Centre and scale; auto: feature+frob when dense, frob when sparse. */
ferry_status ferry_i_coca_view_fit(ferry_ctx *ctx, coca_view *v, coca_scaling scaling);
/* Do what was done to other rows of the view. */
void ferry_i_coca_view_apply(coca_view *v, const double *mean, const double *scale);
/* X_j = R_j Q_j' with R_j m x rank, from the eigenvectors of X_j X_j' (m x m): the same
 * eigenvalues and Phi with fewer columns. */
ferry_status ferry_i_coca_view_compress(ferry_ctx *ctx, coca_view *v);
/* Keep the transpose of a sparse view as a matrix of its own: in a product with many
 * vectors its values are then read in order. 12 bytes an entry. */
ferry_status ferry_i_coca_view_transpose(ferry_ctx *ctx, coca_view *v);
/* t (m x k) <- X_j u; y (cols x k) <- X_j'r. */
void ferry_i_coca_mul(ferry_ctx *ctx, const coca_view *v, const ferry_block *u,
                      ferry_block *t);
ferry_status ferry_i_coca_tmul(ferry_ctx *ctx, const coca_view *v, const ferry_block *r,
                               ferry_block *y);
void ferry_i_coca_view_free(coca_view *v);

/* ---- graphs ---- */

/* W = sum_t wt[t] M_t (each first D^-1/2 M D^-1/2 when sym) as one CSR matrix. */
ferry_status ferry_i_coca_graphs(ferry_ctx *ctx, int64_t q, const ferry_matrix *const *m,
                                 const double *wt, bool sym, ferry_matrix **out);
/* f_i <- degree^-1/2 (0 for an isolated one) when sym, else 1. */
void ferry_i_coca_node_factors(const ferry_matrix *a, bool sym, double *f);

/* ---- the eigenproblem ---- */

typedef enum coca_form { COCA_48, COCA_44, COCA_43 } coca_form;
typedef enum coca_solver {
    COCA_SOLVE_AUTO,
    COCA_SOLVE_DENSE,
    COCA_SOLVE_OPERATOR
} coca_solver;

typedef struct coca_problem {
    int64_t m, p;
    coca_view *const *x; /* p */
    const double *f;     /* p: view j counts as f_j X_j; NULL: 1 */
    const double *a;     /* p */
    double b;
    const ferry_matrix *w; /* W, or NULL */
    int64_t q;             /* the graphs that W was made of, where they are at hand: */
    const ferry_matrix *const *graph;
    const double *wt;
    bool sym;
    coca_solver solver;
    const char *name;  /* of the method, for progress */
    int64_t *products; /* counts products with H; may be NULL */
} coca_problem;

/* a_j and b of the three matrices in the text, for weights w of the views. */
void ferry_i_coca_form(coca_form form, int64_t p, const double *w, double alpha, double *a,
                       double *b);
int64_t ferry_i_coca_size(const coca_problem *c); /* D, after compression */
/* H itself, for small D. */
ferry_status ferry_i_coca_matrix(ferry_ctx *ctx, const coca_problem *c, ferry_small **out);
/* The d largest eigenvalues, descending, and their vectors (D x d), sign fixed. */
ferry_status ferry_i_coca_solve(ferry_ctx *ctx, const coca_problem *c, int64_t d,
                                double *values, ferry_block *u);
/* H for products with one vector (coca_packed.c): *out NULL when it does not suit (a dense
 * view, more than 8 of them). Borrows the problem. */
typedef struct coca_packed coca_packed;
ferry_status ferry_i_coca_pack(ferry_ctx *ctx, const coca_problem *c, coca_packed **out);
/* y <- H u. */
void ferry_i_coca_packed_mul(ferry_ctx *ctx, coca_packed *z, const double *u, double *y);
void ferry_i_coca_packed_free(coca_packed *z);
/* Relational only (4.11): of K W K, K = I - 11'/m (centred), or of W. phi is m x d. */
ferry_status ferry_i_coca_relational(ferry_ctx *ctx, const ferry_matrix *w, bool centred,
                                     coca_solver solver, int64_t d, double *values,
                                     ferry_block *phi);

/* ---- weights ---- */

typedef enum coca_norm { COCA_COSINE, COCA_PLAIN, COCA_RMS } coca_norm;

/* K_ij = sum |C| E_i E_j and v_i = sum C E_i of (4.19) for n instances, E_k = Phi_k Phi_k'
 * where C (n x n, entries -1, 0, 1) is not 0. cosine: the rows of Phi_k to unit length;
 * rms: E_k to mean square 1 where C is not 0. balanced: must-links together count as much
 * as cannot-links. */
ferry_status ferry_i_coca_qp(ferry_ctx *ctx, int64_t n, int64_t p,
                             const ferry_block *const *phi, const double *c, coca_norm norm,
                             bool balanced, ferry_small *k, double *v);
/* Of the edges of a graph whose ends both have a class: share within a class minus the
 * share among all pairs of such instances, at least 0. */
double ferry_i_coca_lift(const ferry_matrix *graph, int64_t k, const int32_t *cls,
                         int64_t *count);

/* Links between n of the instances: c (n x n) is 1, -1 or 0. */
typedef struct coca_links {
    int64_t n, must, cannot; /* entries of c that are 1, -1 */
    int64_t *instance;
    double *c;
} coca_links;
/* From the labels that may be seen, or a file (id, id, 1 or -1); of at most `most`
 * instances. To be cleared in any case. */
ferry_status ferry_i_coca_links_labels(ferry_ctx *ctx, const ferry_domain *t, int64_t most,
                                       coca_links *l);
ferry_status ferry_i_coca_links_file(ferry_ctx *ctx, const ferry_domain *t,
                                     const char *path, int64_t most, coca_links *l);
void ferry_i_coca_links_clear(coca_links *l);
/* Weights w of the p views, from the d principal components of each. */
ferry_status ferry_i_coca_learn_weights(ferry_ctx *ctx, int64_t p, coca_view *const *x,
                                        int64_t d, coca_solver solver, const coca_links *l,
                                        coca_norm norm, bool balanced, double *w);

/* ---- the model ---- */

typedef enum coca_missing {
    COCA_MISSING_AUTO,
    COCA_MISSING_MEAN,
    COCA_MISSING_REGRESS
} coca_missing;
#define COCA_OPT_MISSING(T)                                                                \
    FERRY_OPT_ONE_OF(                                                                      \
        T, missing, "auto|mean|regress", "auto",                                           \
        "instances that lack views: as if at the mean, or by regression from "             \
        "the others; auto: regress when half or more are lacking")
#define COCA_OPT_SCALE(T)                                                                  \
    FERRY_OPT_ONE_OF(T, scale, COCA_SCALINGS, "auto",                                      \
                     "scale views; auto: feature+frob when dense, frob when sparse")
#define COCA_OPT_SOLVER(T)                                                                 \
    FERRY_OPT_ONE_OF(T, solver, "auto|dense|operator", "auto",                             \
                     "eigenproblem: write the matrix out, or only multiply by it; auto: "  \
                     "dense up to 1500 columns")

/* What is needed to embed new instances:
 *   phi(x) = share sum_j ((x_j - mean_j) / scale_j) U_j,
 * with views missing also by the regressions phi_c = slope_jc t_jc weighted by r2_jc, t_j =
 * X_j U_j; then phi + W phi + .. + W^smooth phi over the graphs. */
typedef struct coca_model {
    int64_t p, d;
    double share;  /* 1/p; 1 for pca-joined */
    int64_t *cols; /* p: d_j */
    double **mean, **scale;
    ferry_block **u;    /* p: d_j x d, f_j multiplied in */
    double *slope, *r2; /* p x d */
    coca_missing missing;
    int64_t smooth;
    ferry_ids *graphs; /* by name */
    double *wt;        /* of each */
    ferry_ids *ids;    /* relational only: the instances ... */
    ferry_block *phi;  /* ... and their embedding; else NULL */
} coca_model;

/* Room for p views and d dimensions; the parts of each view come later. */
ferry_status ferry_i_coca_new(ferry_ctx *ctx, int64_t p, int64_t d, coca_model **out);
ferry_status ferry_i_coca_copy(ferry_ctx *ctx, int64_t n, const double *from, double **out);
/* The target's views over its instances, centred, scaled, and compressed where that is
 * less. *views: n_views of them. */
ferry_status ferry_i_coca_views(ferry_ctx *ctx, const ferry_domain *d, coca_scaling scaling,
                                coca_view ***views);
void ferry_i_coca_views_free(int64_t n, coca_view **views);
/* Solve for the d largest and keep what embeds. phi (may be NULL): m x d, new. */
ferry_status ferry_i_coca_fit(ferry_ctx *ctx, const char *method, const coca_problem *c,
                              int64_t d, double share, coca_model **out, ferry_block **phi);
ferry_status ferry_i_coca_transform(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p);
ferry_status ferry_i_coca_save(ferry_ctx *ctx, const void *state, ferry_dict *dict);
ferry_status ferry_i_coca_load(ferry_ctx *ctx, const ferry_dict *dict, void **state);
void ferry_i_coca_free(void *state);
/* Whether d dimensions can be had from the target's views, which have instances in
 * common. */
ferry_status ferry_i_coca_fits(ferry_ctx *ctx, const char *method, const ferry_domain *t,
                               int64_t d);
/* Diagnostics: the first two coordinates of (some of) the instances with their classes. */
void ferry_i_coca_scatter(ferry_ctx *ctx, const ferry_domain *t, const ferry_block *phi);

#endif
