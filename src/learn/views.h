/* Several views of the same instances, centred and balanced, and linear embeddings of them: what coca, pca-joined and
 * place have in common.
 *
 *   X_j (m x d_j)   view j, centred and scaled; p of them over the same m instances
 *   U_j (d_j x d)   its part of the projection
 *   Phi (m x d)     share sum_j X_j U_j: the embedding */
#ifndef FERRY_VIEWS_H
#define FERRY_VIEWS_H

#include "learn/problem.h"
#include "state/table.h"

/* How views are made comparable once their features are: not at all, |X_j|_F^2 = m, or largest singular value sqrt(m).
 * auto: frob, and none where features are left as they are (scale: none). */
typedef enum balance { BALANCE_AUTO, BALANCE_NONE, BALANCE_FROB, BALANCE_SPECTRAL } balance;
#define OPT_BALANCE(T)                                                                     \
    FERRY_OPT_ONE_OF(T, balance, "auto|none|frob|spectral", "auto",                        \
                     "then views to one size: mean squared length of rows, or largest "    \
                     "singular value; auto: frob, none with scale: none")

static inline balance balance_of(int how, bool unscaled)
{
    return how != BALANCE_AUTO ? (balance)how : unscaled ? BALANCE_NONE : BALANCE_FROB;
}

/* X_j = factor (x - present mean'), x the features as prepared. An instance that the view lacks is a row of zeros, the
 * mean of those that are there. A dense view is centred in memory, a sparse one in the products. A view with more
 * features than instances may be compressed: X_j = R_j Q_j' with R_j m x rank and Q_j'Q_j = I, which changes neither
 * eigenvalues nor Phi; x holds R_j then. */
typedef struct scaled_view {
    matrix x;        /* m x cols */
    double *shift;   /* cols, or NULL: x is centred as it is */
    double *present; /* m: 1 or 0; NULL: all rows are there */
    int64_t rows;    /* instances that it has, of all processes */
    int64_t features;
    double *mean; /* of the features */
    double factor;
    double norm2; /* |X_j|_F^2 */
    block q;      /* Q_j, features x cols; at NULL: not compressed */
} scaled_view;

/* The views of a domain of all its instances (wants.every), compressed where that pays. */
scaled_view *centred_views(scope *s, const domain *d, balance how);
/* t (m x k) <- X u; y (cols x k) <- X't. */
void centred_mul(scope *s, const scaled_view *v, block u, block t);
void centred_tmul(scope *s, const scaled_view *v, block t, block y);
/* Principal axes of the p views side by side, Z = [X_1 .. X_p], which are never put together: eigenvectors of the d
 * largest eigenvalues of Z'Z (values), their rows by view. name: for progress; NULL: none. */
block joined_axes(scope *s, const char *name, int64_t p, const scaled_view *x, int64_t d,
                  double *values);
/* Columns of the views together, after compression. */
int64_t joined_columns(int64_t p, const scaled_view *x);
/* Whether row i is there. */
static inline bool centred_has(const scaled_view *v, int64_t i)
{
    return !v->present || v->present[i] > 0;
}

/* Fails unless d dimensions can be had from the views of the target, which must have instances in common. */
void views_fit(scope *s, const char *method, const problem *shape, int64_t d);

/* ---- the embedding ---- */

/* How an instance that lacks views is placement. The mean is safe but draws such instances to the origin, the more so the
 * more views they lack; a regression keeps their spread. */
typedef enum lacking { LACKING_AUTO, LACKING_MEAN, LACKING_REGRESS } lacking;
#define OPT_MISSING(T)                                                                     \
    FERRY_OPT_ONE_OF(                                                                      \
        T, missing, "auto|mean|regress", "auto",                                           \
        "instances that lack views: as if at the mean, or by regression from "             \
        "the others; auto: regress when half or more are lacking")

/* What embeds new instances. With t_j = (x_j - mean_j)'U_j of an instance:
 *   phi = share sum_j t_j                     where it has all views, and
 *   phi_c = sum_j r2_jc slope_jc t_jc / sum_j r2_jc     by regression of phi_c on the t_jc
 * over the views j that it has, each weighted by how well it explains phi_c. */
typedef struct embed_part {
    int64_t d;
    double *mean;       /* d_j */
    block u;            /* d_j x d, the factors of the view multiplied in */
    double *slope, *r2; /* d */
} embed_part;
typedef struct embedding {
    int64_t views, d;
    double share; /* 1/p for coca; 1: the views side by side */
    int missing;
    embed_part *part;
} embedding;
extern const table embedding_table;

/* A solved problem: U (columns of the views one after the other x d) with the factor f_j (NULL: 1) that view j was taken
 * with. phi (may be NULL) <- m x d. Reports the eigenvalues, where values has them. */
typedef struct embed_solution {
    int64_t p;
    const scaled_view *x;
    const double *f, *values;
    block u;
    double share;
} embed_solution;
embedding embedding_of(scope *s, scope *keep, const embed_solution *from, int missing,
                       block *phi);
block embedding_apply(scope *s, const embedding *e, const domain *d);
/* An embedding of views, or (views 0) of graphs alone the coordinates that the instances of the fit have. */
typedef struct placement {
    embedding e;
    int64_t n;
    ferry_ids *ids; /* n; NULL: e has views */
    block phi;      /* n x e.d */
} placement;
extern const table placement_table;
placement placement_of_rows(scope *s, scope *keep, const domain *d, block phi);
block placement_embed(scope *s, const char *method, const placement *p, const domain *d);

/* How many of d eigenvalues, descending, are above rounding; a warning when they are fewer. */
int64_t positive_values(int64_t d, const double *values);
void warn_of_values(scope *s, const char *method, int64_t positive, int64_t d);

#endif
