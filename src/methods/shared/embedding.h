/* Linear embeddings of several views of the same instances: what coca and pca-joined have
 * in common. They differ in how they find U; here is all the rest: the views centred and
 * scaled, from U to coordinates, also for instances that lack views, and the model's file.
 *
 *   X_j (m x d_j)   view j, centred and scaled; p of them over the same m instances
 *   U_j (d_j x d)   its part of the projection
 *   Phi (m x d)     share sum_j X_j U_j: the embedding */
#ifndef FERRY_EMBEDDING_H
#define FERRY_EMBEDDING_H

#include "learn/eigen.h"
#include "linalg/centred.h"
#include "methods/method.h"
#include "prepare/prepare.h"

/* ---- options ---- */

/* How views are made comparable once their features are: not at all, |X_j|_F^2 = m, or
 * largest singular value sqrt(m). auto: frob, and none where features are left as they are. */
typedef enum embed_balance {
    BALANCE_AUTO,
    BALANCE_NONE,
    BALANCE_FROB,
    BALANCE_SPECTRAL
} embed_balance;
/* The last four are old names of a scale and a balance in one word. */
#define EMBED_OPT_SCALE(T)                                                                 \
    FERRY_OPT_ONE_OF(T, scale,                                                             \
                     "auto|none|words|standard,feature|roots|common|l2"                    \
                     "|,frob|,feature+frob|,spectral|,feature+spectral",                   \
                     "auto", FERRY_SCALE_HELP),                                            \
        FERRY_OPT_ONE_OF(                                                                  \
            T, balance, "auto|none|frob|spectral", "auto",                                 \
            "then views to one size: mean squared length of rows, or largest "             \
            "singular value; auto: frob, none with scale: none")
/* What the two options mean: scale becomes a ferry_scale, balance is never auto. */
void ferry_i_embed_scaling(int *scale, int *balance);

/* How an instance that lacks views is placed; combine() in embedding.c has the formulas.
 * The mean is safe but draws such instances to the origin, the more so the more views
 * they lack; a regression keeps their spread. */
typedef enum embed_missing { MISSING_AUTO, MISSING_MEAN, MISSING_REGRESS } embed_missing;
#define EMBED_OPT_MISSING(T)                                                               \
    FERRY_OPT_ONE_OF(                                                                      \
        T, missing, "auto|mean|regress", "auto",                                           \
        "instances that lack views: as if at the mean, or by regression from "             \
        "the others; auto: regress when half or more are lacking")

/* ---- views (embed_views.c) ---- */

/* X_j = factor (x - present mean'), x the features as src/prepare makes them. An instance
 * that the view lacks is a row of zeros, the mean of those that are there. A dense view is
 * centred in memory, a sparse one in the products. A view with more features than instances
 * may be compressed: X_j = R_j Q_j' with R_j m x rank and Q_j'Q_j = I, which changes neither
 * eigenvalues nor Phi; c holds R_j then. */
typedef struct embed_view {
    ferry_centred c;  /* m x cols */
    int64_t rows;     /* instances that it has, on all ranks */
    int64_t cols;     /* of c: d_j, or the rank when compressed */
    int64_t features; /* d_j */
    double *mean;     /* of the features */
    double factor;
    double norm2;   /* |X_j|_F^2 */
    ferry_block *q; /* Q_j, d_j x cols, or NULL */
} embed_view;

/* Centre and balance the m rows of x, of which there[i] is 0 where the view lacks the
 * instance (NULL: none). Takes one owner of x, also when it fails. */
ferry_status ferry_i_embed_view_new(ferry_ctx *ctx, ferry_matrix *x, const uint8_t *there,
                                    embed_balance balance, embed_view **out);
/* From the eigenvectors of X_j X_j': O(m^3). */
ferry_status ferry_i_embed_view_compress(ferry_ctx *ctx, embed_view *v);
void ferry_i_embed_view_free(embed_view *v);
/* All views of the target over its instances, prepared by `scale`, centred, balanced, and
 * compressed where that pays. *views: n_views of them; *prepared does the same to new
 * data. */
ferry_status ferry_i_embed_views(ferry_ctx *ctx, const char *method, const ferry_task *task,
                                 int scale, embed_balance balance,
                                 ferry_prepared **prepared, embed_view ***views);
void ferry_i_embed_views_free(int64_t n, embed_view **views);
/* Whether d dimensions can be had from the target's views (or graphs), which must have
 * instances in common. */
ferry_status ferry_i_embed_fits(ferry_ctx *ctx, const char *method, const ferry_domain *t,
                                int64_t d);

/* ---- the embedding (embedding.c) ---- */

/* What embeds new instances. With t_j = (x_j - mean_j)'U_j of an instance:
 *   phi = share sum_j t_j                     where it has all views, and
 *   phi_c = sum_j r2_jc slope_jc t_jc / sum_j r2_jc     by regression of phi_c on the t_jc
 * over the views j that it has, each weighted by how well it explains phi_c. */
typedef struct embed_part { /* of one view */
    int64_t cols;           /* d_j */
    double *mean;           /* d_j */
    ferry_block *u;         /* d_j x d, the factors of the view multiplied in */
    double *slope, *r2;     /* d */
} embed_part;
typedef struct embedding {
    int64_t p, d;
    double share; /* 1/p for coca, 1 for pca-joined */
    embed_missing missing;
    embed_part *part;         /* p */
    ferry_prepared *prepared; /* how new data becomes x_1 .. x_p */
} embedding;

/* A solved problem: U (D x d, the views' rows one after the other) with the factor f_j
 * (NULL: 1) that view j was taken with. */
typedef struct embed_solution {
    int64_t m, p, d;
    embed_view *const *x;
    const double *f, *values;
    const ferry_block *u;
    double share;
} embed_solution;

/* How many of d eigenvalues, descending, are above rounding; a component past them says
 * nothing, or less than nothing. */
int64_t ferry_i_embed_positive(int64_t d, const double *values);
/* A warning when they are fewer than d. */
void ferry_i_embed_warn(ferry_ctx *ctx, const char *method, int64_t positive, int64_t d);

/* Keep what embeds, tell the eigenvalues. phi (may be NULL): m x d, new. `prepared` and
 * `missing` are the caller's to set. */
ferry_status ferry_i_embedding_new(ferry_ctx *ctx, const embed_solution *s, embedding **out,
                                   ferry_block **phi);
/* phi (n x d) <- the n instances of domain d. */
ferry_status ferry_i_embedding_apply(ferry_ctx *ctx, const embedding *e,
                                     const ferry_domain *d, ferry_block *phi);
/* The file has "sizes", "share", the preparation and for view j "mean.j", "u.j",
 * "slope.j", "r2.j". Loading takes the width of view j from the preparation and checks
 * all else by it. */
void ferry_i_embedding_file(ferry_io *io, embedding *e);
/* Frees `prepared` as well; e may be NULL. */
void ferry_i_embedding_free(void *e);

/* Coordinates as a prediction of goal embed. */
ferry_status ferry_i_embed_predict(ferry_ctx *ctx, const ferry_block *phi,
                                   ferry_prediction *p);
/* Diagnostics: the first two coordinates of up to 1000 instances, with their classes. phi: of the
 * instances that are here. */
ferry_status ferry_i_embed_scatter(ferry_ctx *ctx, const ferry_domain *t,
                                   const ferry_block *phi);

#endif
