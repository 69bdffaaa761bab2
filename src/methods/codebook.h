/* Codebook transfer: rating patterns of sources and hard groups of the target's users and items (mindtl_paper.c). Methods
 * that are it with one source, other weights or something else in the codebooks (relatives/codebooks.c) run it with
 * settings of theirs. */
#ifndef FERRY_CODEBOOK_H
#define FERRY_CODEBOOK_H

#include "learn/groups.h"
#include "model/seam.h"

/* How the k x l groups of a source are found: orthogonal non-negative tri-factorisation of what was observed alone, of the
 * largest part without a hole, of the matrix with holes filled by the users' means, or two-way k-means from random
 * groups. */
typedef enum codebook_groups {
    EXTRACT_IONMTF,
    EXTRACT_ONMTF,
    EXTRACT_DC,
    EXTRACT_KMEANS
} codebook_groups;
/* How the sources' weights lambda are found: least squares on the simplex, the published gradient steps, or least squares
 * without constraints. */
typedef enum codebook_weights { LAMBDA_SIMPLEX, LAMBDA_SGD, LAMBDA_LS } codebook_weights;

typedef struct codebook_options {
    int extract, update, lambda, order;
    int64_t k, l, sweeps, restarts, polish, most, use, starts, iters;
    double beta, theta;
} codebook_options;

#define CODEBOOK_GROUPS                                                                    \
    FERRY_OPT(codebook_options, INT, k, 10, 0, 1000,                                       \
              "groups of users; 0: a tenth of a source's users"),                          \
        FERRY_OPT(codebook_options, INT, l, 10, 0, 1000,                                   \
                  "groups of items; 0: a tenth of a source's items")
#define CODEBOOK_SOURCES                                                                   \
    FERRY_OPT_ONE_OF(codebook_options, extract, "ionmtf|onmtf|dc-onmtf|kmeans", "ionmtf",  \
                     "how the groups of a source are found"),                              \
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
                         "ratings held out")
#define CODEBOOK_USE                                                                       \
    FERRY_OPT(codebook_options, INT, use, 0, 0, 1000,                                      \
              "sources used, the first in that order; 0: all")
#define CODEBOOK_TARGET                                                                    \
    FERRY_OPT(codebook_options, INT, starts, 1, 1, 1e6,                                    \
              "starts over the target, all but the first random; the best is kept"),       \
        FERRY_OPT(codebook_options, INT, iters, 20, 1, 1e6, "sweeps over the target")
#define CODEBOOK_LAMBDA                                                                    \
    FERRY_OPT_ONE_OF(codebook_options, lambda, "simplex|sgd|ls", "simplex",                \
                     "weights of the sources"),                                            \
        FERRY_OPT(codebook_options, REAL, theta, 0.05, 1e-9, 1,                            \
                  "learning rate of lambda: sgd")

/* A rating pattern: k x l numbers in ratings of the target, one row after the other (r[c * l + d]). */
typedef struct codebook {
    int64_t k, l;
    double *r;
} codebook;
/* Put something else into codebook number n: what a control does. */
typedef void codebook_control(scope *s, const ratings *target, int64_t n, codebook *b);

/* ---- the steps ---- */

/* One fit: what is reported as progress, and whether it is to finish: then every loop that still comes makes one round. */
typedef struct codebook_run {
    const codebook_options *o;
    int64_t done, total;
    bool finish;
} codebook_run;

/* The fullest part of x without a hole: the emptiest row or column (the share of its cells that is missing) goes until
 * all are full. */
ratings codebook_full_block(scope *s, const ratings *x);
/* x with the mean of the user's ratings in every hole; 0 where there is none. */
ratings codebook_filled(scope *s, const ratings *x);
/* Algorithm 1: codebook b (k and l are set) of x by the extraction that the options name, the best of the restarts by F
 * after the two-way k-means. */
void codebook_extract(scope *s, const ratings *x, ferry_rng *rng, codebook_run *r,
                      codebook *b);
/* v(j): the column of R whose mean is nearest to the item's mean, which 5 ratings of the mean of all shrink. */
void codebook_match(scope *s, const ratings *x, const grouping *g);
/* lambda from H = P P', c = P x over n ratings. sgd starts from lambda as given, with learning rate theta. */
void codebook_lambda(scope *s, codebook_weights solver, small h, const double *c, double n,
                     double theta, double *lambda);
/* Algorithm 2 from the parts' v, until F falls by less than 1e-9 relative; lambda from 1/N. *iters: iterations. F. */
double codebook_reconstruct(scope *s, const ratings *x, codebook_weights solver,
                            codebook_run *r, int64_t parts, const grouping *g,
                            double *lambda, int64_t *iters);

/* ---- the method ---- */

/* control NULL: the codebooks stay as they are; sourceless: one codebook of zeros in place of the sources'. */
void codebook_fits(scope *s, const problem *p, const void *options);
void codebook_fit(scope *s, scope *keep, const problem *p, const codebook_options *o,
                  codebook_control *control, bool sourceless, void *state);
extern const table codebook_table;
void codebook_scores(scope *s, const void *state, const domain *d, block out);
void codebook_fold_in(scope *s, scope *keep, const void *state, const ratings *r, void *to);

/* What the descriptors of all of them have in common. */
#define CODEBOOK_METHOD(table_, fit_)                                                      \
    .goals = FERRY_RATE, .wants = {.as = RATINGS},                                         \
    METHOD_OPTIONS(table_, codebook_options), .state = &codebook_table, .fit = (fit_),     \
    .scores = codebook_scores, .fold_in = codebook_fold_in

#endif
