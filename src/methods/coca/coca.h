/* CoCA, collective component analysis: one space for several views and graphs of the same
 * instances. Letters as in the thesis, with rows for instances:
 *
 *   X_j   m x d_j   view j, centred and scaled (p of them, D columns in all)
 *   M_t   m x m     graph t (q of them), W = sum_t wt_t M_t
 *   H     D x D     blocks a_j X_j'X_j + X_j'WX_j on the diagonal, b X_j'X_h beside it
 *   U     D x d     eigenvectors of the d algebraically largest eigenvalues of H
 *   Phi   m x d     (1/p) sum_j X_j U_j                                            (4.2)
 *
 * The trace of U'HU is the variance of the views' projections, plus how much they agree,
 * plus how near instances lie that are joined by edges (4.12).
 *
 * H is indefinite as soon as b > a_j. With w_j = alpha = 1/p in form 4.8 and no graph it is
 * joined PCA, (1/p) Z'Z with Z = [X_1 .. X_p]; with alpha much above w_j only the
 * covariances between views count, so noise that one view has alone is ignored. */
#ifndef FERRY_COCA_INTERNAL_H
#define FERRY_COCA_INTERNAL_H

#include "methods/shared/embedding.h"

/* ---- the eigenproblem (solve.c) ---- */

/* The text has three matrices that are not the same (Lemma 1 drops a term); they differ in
 * a_j and b, w_j being the weights of the views:
 *   4.8  a_j = w_j                      b = alpha      what Algorithm 2 builds
 *   4.4  a_j = w_j + alpha              b = alpha      j = h kept in the consensus term
 *   4.3  a_j = w_j - 2 alpha (p - 1)    b = 2 alpha    expanded exactly
 * 4.3 with a large alpha finds directions of small variance in which the views agree
 * trivially: it is there to compare, not to use. */
typedef enum coca_form { COCA_48, COCA_44, COCA_43 } coca_form;
void ferry_i_coca_form(coca_form form, int64_t p, const double *w, double alpha, double *a,
                       double *b);

/* W = sum_t wt[t] M_t (each first D^-1/2 M D^-1/2 when sym) as one CSR matrix. A new
 * matrix; q >= 1, all of the same size. O(q nnz). */
ferry_status ferry_i_coca_graphs(ferry_ctx *ctx, int64_t q, const ferry_matrix *const *m,
                                 const double *wt, bool sym, ferry_matrix **out);
/* f_i <- degree^-1/2 (0 for an isolated one) when sym, else 1. */
void ferry_i_coca_node_factors(const ferry_matrix *a, bool sym, double *f);

/* Everything is borrowed for the call. */
typedef struct coca_problem {
    int64_t m, p;         /* instances that are here; views */
    embed_view *const *x; /* p */
    const double *f;      /* p: view j counts as f_j X_j; NULL: 1 */
    const double *a;      /* p */
    double b;
    const ferry_matrix *w; /* W: its rows of the m instances; or NULL */
    int64_t q;             /* the graphs that W was made of, where they are at hand: */
    const ferry_matrix *const *graph;
    const double *wt;
    bool sym;
    ferry_eigen_solver solver;
    const char *name;  /* for progress; NULL: tell nobody */
    int64_t *products; /* counts products with H; may be NULL */
} coca_problem;

int64_t ferry_i_coca_size(const coca_problem *c); /* D, after compression */
/* H itself, for small D. D products with unit vectors: tests and small problems. */
ferry_status ferry_i_coca_matrix(ferry_ctx *ctx, const coca_problem *c, ferry_small **out);
/* The d largest eigenvalues, descending, and their vectors (D x d), sign fixed. A product
 * with H costs 2 m D + p nnz(W) operations, and H is not written out beyond 2000 columns. */
ferry_status ferry_i_coca_solve(ferry_ctx *ctx, const coca_problem *c, int64_t d,
                                double *values, ferry_block *u);
/* Relational only (4.11): of K W K, K = I - 11'/m (centred), or of W. phi is m x d. */
ferry_status ferry_i_coca_relational(ferry_ctx *ctx, const ferry_matrix *w, bool centred,
                                     ferry_eigen_solver solver, int64_t d, double *values,
                                     ferry_block *phi);

/* H for products with one vector (packed.c): *out NULL when it does not suit (a dense view,
 * more than 8 of them). Borrows the problem. */
ferry_status ferry_i_coca_pack(ferry_ctx *ctx, const coca_problem *c,
                               ferry_consensus **out);
void ferry_i_coca_packed_free(ferry_consensus *z);

/* ---- weights of views and graphs (weights.c) ---- */

/* How the QP makes views comparable: the rows of Phi_k to unit length; not at all, as
 * published; E_k to mean square 1 over the links. */
typedef enum coca_norm { COCA_COSINE, COCA_PLAIN, COCA_RMS } coca_norm;

/* Links between n of the instances: C (n x n) is 1 (must), -1 (cannot) or 0       (4.15) */
typedef struct coca_links {
    int64_t n, must, cannot; /* entries of C that are 1, -1 */
    int64_t *instance;
    double *c;
} coca_links;
/* From the labels that may be seen, or a file (id, id, 1 or -1); of at most `most`
 * instances. To be cleared in any case. */
ferry_status ferry_i_coca_links_labels(ferry_ctx *ctx, const ferry_domain *t, int64_t most,
                                       coca_links *l);
ferry_status ferry_i_coca_links_file(ferry_ctx *ctx, const ferry_domain *t,
                                     const char *path, int64_t most, coca_links *l);
/* Those among one half of the instances and among the other: to learn from, and to judge by.
 * a and b are empty before; to be cleared in any case. */
ferry_status ferry_i_coca_links_halves(ferry_ctx *ctx, const coca_links *l, coca_links *a,
                                       coca_links *b);
void ferry_i_coca_links_clear(coca_links *l);

/* K (p x p) and v (p) of the QP (4.19) from the views' own embeddings phi of the linked
 * instances. balanced: must-links together count as much as cannot-links. O(p^2 n^2). */
ferry_status ferry_i_coca_qp(ferry_ctx *ctx, const coca_links *l, int64_t p,
                             const ferry_block *const *phi, coca_norm norm, bool balanced,
                             ferry_small *k, double *v);
/* Weights w of the p views, from the d principal components of each. */
typedef struct coca_weighing {
    int64_t p, d;
    embed_view *const *x;
    ferry_eigen_solver solver;
    coca_norm norm;
    bool balanced;
} coca_weighing;
ferry_status ferry_i_coca_weigh(ferry_ctx *ctx, const coca_weighing *o, const coca_links *l,
                                double *w);
/* Without links: equal weights of the views that share something with another one by their d
 * principal components or have fewer than 100 rows, 0 for the others; equal ones when none
 * shares anything. */
ferry_status ferry_i_coca_agree(ferry_ctx *ctx, const coca_weighing *o, double *w);
/* Of the linked instances the share whose nearest linked one is a must-link. phi: of the rows of x. */
ferry_status ferry_i_coca_nearest(ferry_ctx *ctx, const coca_links *l,
                                  const ferry_matrix *x, const ferry_block *phi,
                                  double *share);
/* Of the edges of a graph whose ends both have a class: share within a class minus the
 * share among all pairs of such instances, at least 0. count: k, scratch. */
double ferry_i_coca_lift(const ferry_matrix *graph, int64_t k, const int32_t *cls,
                         int64_t *count);

/* ---- the model (model.c) ---- */

/* The linear embedding of the views, or of a model of graphs alone the coordinates that the
 * instances had; then phi + W phi + .. + W^smooth phi over the graphs that a domain has. */
typedef struct coca_model {
    embedding *e;     /* NULL: graphs alone, and then ... */
    ferry_ids *ids;   /* ... the instances ... */
    ferry_block *phi; /* ... and their embedding */
    int64_t smooth;
    ferry_ids *graphs; /* by name */
    double *wt;        /* of each */
} coca_model;

/* The functions of the descriptor (methods/method.h). load takes no size from the file for
 * granted. */
ferry_status ferry_i_coca_transform(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p);
void ferry_i_coca_file(ferry_io *io, void *state);
void ferry_i_coca_free(void *state);

#endif
