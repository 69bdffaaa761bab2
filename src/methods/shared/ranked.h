/* What methods share that end in a RankSVM, on features or on latent features of them:
 * fitting it, labelling new instances, the model's file. */
#ifndef FERRY_RANKED_H
#define FERRY_RANKED_H

#include <float.h>

#include "methods/shared/base.h"

/* The options of the learner in a method's table. rank_tol was chosen on halves of emotions, scene,
 * yeast and Corel5k, features and latent features: the largest of 1e-2, 3e-3 .. 3e-5 whose ranking
 * losses are as near to those of 100 epochs by rows as the minimum's own are (.0012). */
#define RANKED_OPTS(T)                                                                     \
    FERRY_OPT(T, REAL, C, 1, DBL_MIN, 1e9,                                                 \
              "cost of a label that comes after one it should precede"),                   \
        FERRY_OPT(T, INT, epochs, 100, 1, 1e9, "most passes over the instances"),          \
        FERRY_OPT(T, REAL, rank_tol, 1e-4, 0, 1,                                           \
                  "stop at a pass that finds the mean loss of an instance within about "   \
                  "this of the least")
/* The learner that they ask for. */
#define RANKED_LEARNER(o)                                                                  \
    (ferry_ranksvm_options)                                                                \
    {                                                                                      \
        .C = (o)->C, .epochs = (o)->epochs, .tol = (o)->rank_tol, .scale = true,           \
        .shuffle = true                                                                    \
    }
/* The model: label sets from z = (U'x - mean) o inv_sd.
 * Whichever of u, mean and inv_sd are NULL, r->d is the length of z: g with u, d without.
 */
typedef struct ranked {
    base b;
    ferry_block *u; /* d x g; NULL: z are the features themselves, less mean ... */
    double *mean;   /* ... (g or d), or NULL: 0 */
    double *inv_sd; /* g, or NULL: 1 */
    ferry_ranksvm *r;
} ranked;

/* means (d) <- means of the columns of x; 0 without rows. */
ferry_status ferry_i_column_means(ferry_ctx *ctx, const ferry_matrix *x, double *means);

/* Fit the RankSVM on z (less mean, which may be NULL) with labels on (n x k), and tell where
 * it ended. stopped: progress has said FINISH before. */
ferry_status ferry_i_ranked_fit(ferry_ctx *ctx, const ferry_ranksvm_options *o,
                                const ferry_matrix *z, const double *mean,
                                const uint8_t *on, bool stopped, ranked *s,
                                ferry_fit_info *rep);
/* z <- (z - mean) o inv_sd. */
void ferry_i_ranked_standardise(const ranked *s, ferry_block *z);
/* Scores and sets for rows z, which are the instances instance[] of p. */
ferry_status ferry_i_ranked_label(ferry_ctx *ctx, const ranked *s, const ferry_matrix *z,
                                  const double *mean, const int64_t *instance,
                                  ferry_prediction *p);
void ferry_i_ranked_clear(ranked *s);
/* rows: of U, -1: as many as features. */
void ferry_i_ranked_parts(ferry_io *io, int64_t rows, ranked *s);

/* The hooks of a method whose state is nothing but a ranked. */
ferry_status ferry_i_ranked_predict(ferry_ctx *ctx, const void *model,
                                    const ferry_domain *d, ferry_prediction *p);
void ferry_i_ranked_file(ferry_io *io, void *model);
void ferry_i_ranked_free(void *model);
/* ferry_i_base_file of a model with features and sets of labels. */
void ferry_i_ranked_base(ferry_io *io, base *b);

#endif
