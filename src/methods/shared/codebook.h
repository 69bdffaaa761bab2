/* Codebook transfer: the options of mindtl and of all that is mindtl with other
 * settings.
 *
 * cbt and talmud (methods/relatives) are its algorithm 2 with one source or with other
 * weights; the controls (methods/controls) put something else into its codebooks. Each
 * has a descriptor of its own, fills in codebook_options and runs mindtl through the
 * registry, so that the algorithm stands in one place: methods/mindtl. */
#ifndef FERRY_CODEBOOK_H
#define FERRY_CODEBOOK_H

#include "methods/method.h"
#include "methods/shared/ratings.h"

/* ferry: no codebooks; what crosses is how much each kind of evidence is worth
 * (shared/stack.h). soft: soft groups of residuals, sources weighed on ratings held out.
 * paper: hard groups of ratings, as MINDTL publishes it. */
typedef enum codebook_mode { MODE_FERRY, MODE_SOFT, MODE_PAPER } codebook_mode;
/* How mode paper finds the k x l groups of a source: orthogonal non-negative
 * tri-factorisation of what was observed alone, of the largest part without a hole, of
 * the matrix with holes filled by the users' means, or two-way k-means from random
 * groups. */
typedef enum codebook_extract {
    EXTRACT_IONMTF,
    EXTRACT_ONMTF,
    EXTRACT_DC,
    EXTRACT_KMEANS
} codebook_extract;
/* How mode paper finds the sources' weights lambda: least squares on the simplex, the
 * published gradient steps, or least squares without constraints. */
typedef enum codebook_weights { LAMBDA_SIMPLEX, LAMBDA_SGD, LAMBDA_LS } codebook_weights;

/* A rating pattern: k x l numbers, one row after the other (r[c * l + d]), in ratings of
 * the target (paper) or residuals (soft). */
typedef struct codebook {
    int64_t k, l;
    double *r;
} codebook;

/* Put something else into codebook number n: what a control does. */
typedef void codebook_control(ferry_ctx *ctx, codebook_mode mode,
                              const ferry_ratings *target, int64_t n, codebook *b);

typedef struct codebook_options {
    int mode, extract, update, lambda, order;
    int64_t k, l, sweeps, restarts, polish, most, use, starts, iters, copies;
    double beta, bias, hold;
    /* Not for users: */
    const char *as;            /* name for messages; NULL: mindtl */
    codebook_control *control; /* NULL: the codebooks stay as they are */
    /* mode ferry: ratings of a source are dealt out anew, or its weights are random */
    bool shuffle, random;
    bool sourceless; /* one codebook of zeros in place of the sources' */
} codebook_options;

#define CODEBOOK_OPTS                                                                      \
    FERRY_OPT(codebook_options, INT, k, 10, 1, 1000, "groups of users"),                   \
        FERRY_OPT(codebook_options, INT, l, 10, 1, 1000, "groups of items"),               \
        FERRY_OPT_ONE_OF(codebook_options, extract, "ionmtf|onmtf|dc-onmtf|kmeans",        \
                         "ionmtf", "how mode paper finds the groups of a source"),         \
        FERRY_OPT_ONE_OF(                                                                  \
            codebook_options, update, "paper|orth", "paper",                               \
            "updates of ionmtf: as published, or towards orthogonal columns"),             \
        FERRY_OPT(codebook_options, INT, sweeps, 60, 0, 1e6,                               \
                  "sweeps of ionmtf and onmtf"),                                           \
        FERRY_OPT(codebook_options, INT, polish, 20, 0, 1e6,                               \
                  "most sweeps of two-way k-means after it"),                              \
        FERRY_OPT(codebook_options, INT, restarts, 3, 1, 1e6,                              \
                  "starts of an extraction; the best is kept"),                            \
        FERRY_OPT(codebook_options, REAL, beta, 5, 0, 1e9,                                 \
                  "ratings that draw a block's mean to its row and column"),               \
        FERRY_OPT(codebook_options, INT, most, 400, 0, 1e9,                                \
                  "users and items of a source, those with most ratings; 0: all"),         \
        FERRY_OPT_ONE_OF(codebook_options, order, "task|nearest", "task",                  \
                         "sources as the task has them, or by the error of each alone on " \
                         "ratings held out"),                                              \
        FERRY_OPT(codebook_options, INT, use, 0, 0, 1000,                                  \
                  "sources used, the first in that order; 0: all"),                        \
        FERRY_OPT(codebook_options, INT, starts, 1, 1, 1e6,                                \
                  "mode paper: starts over the target, all but the first random; the "     \
                  "best is kept"),                                                         \
        FERRY_OPT(codebook_options, INT, iters, 20, 1, 1e6, "sweeps over the target")

/* ... and those of mindtl and the controls that are judged beside it. */
#define CODEBOOK_OPTS_ALL                                                                  \
    FERRY_OPT_ONE_OF(codebook_options, mode, "ferry|soft|paper", "ferry",                  \
                     "weights of evidence; soft groups of residuals; or hard groups of "   \
                     "ratings as published. The other options are for soft and paper"),    \
        CODEBOOK_OPTS,                                                                     \
        FERRY_OPT_ONE_OF(codebook_options, lambda, "simplex|sgd|ls", "simplex",            \
                         "mode paper: weights of the sources"),                            \
        FERRY_OPT(codebook_options, INT, copies, 3, 1, 1000,                               \
                  "mode soft: codebooks of a source that are averaged"),                   \
        FERRY_OPT(codebook_options, REAL, bias, 5, 0, 1e9,                                 \
                  "mode soft: ratings of size 0 that shrink a bias"),                      \
        FERRY_OPT(codebook_options, REAL, hold, 0.1, 0, 0.5,                               \
                  "mode soft: share of ratings held out to weigh the sources")

/* name_fits() and name_fit() of a method that is mindtl after o =
 * name_settings(options). */
#define CODEBOOK_RUN_AS(name)                                                              \
    static ferry_status name##_fits(ferry_ctx *ctx, const ferry_task *task,                \
                                    const void *options)                                   \
    {                                                                                      \
        const codebook_options o = name##_settings(options);                               \
        return ferry_i_method_find("mindtl")->fits(ctx, task, &o);                         \
    }                                                                                      \
    static ferry_status name##_fit(ferry_ctx *ctx, const ferry_task *task,                 \
                                   const void *options, void **state, ferry_fit_info *rep) \
    {                                                                                      \
        const codebook_options o = name##_settings(options);                               \
        return ferry_i_method_find("mindtl")->fit(ctx, task, &o, state, rep);              \
    }

/* What the descriptors of all of them have in common. */
#define CODEBOOK_METHOD(table, its_fits, its_fit)                                          \
    .goals = FERRY_RATE, .spreads = true, FERRY_OPTIONS(table, codebook_options),          \
    .fits = its_fits, .fit = its_fit, FERRY_RATING_MODEL

#endif
