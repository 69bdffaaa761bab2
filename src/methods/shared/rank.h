/* What methods share that end in a RankSVM, on features or on latent features of them (rank.c). */
#ifndef FERRY_RANK_H
#define FERRY_RANK_H

#include <float.h>

#include "learn/ranksvm.h"
#include "model/seam.h"

/* The options of the RankSVM in a method's table. rank_tol was chosen on halves of emotions, scene, yeast and Corel5k,
 * features and latent features: the largest of 1e-2, 3e-3 .. 3e-5 whose ranking losses are as near to those of 100
 * epochs by rows as the minimum's own are (.0012). */
#define RANK_OPTIONS(T)                                                                    \
    FERRY_OPT(T, REAL, C, 1, DBL_MIN, 1e9,                                                 \
              "cost of a label that comes after one it should precede"),                   \
        FERRY_OPT(T, INT, epochs, 100, 1, 1e9, "most passes over the instances"),          \
        FERRY_OPT(T, REAL, rank_tol, 1e-4, 0, 1,                                           \
                  "stop at a pass that finds the mean loss of an instance within about "   \
                  "this of the least")
#define RANK_SETTINGS(o)                                                                   \
    (ranker_options)                                                                       \
    {                                                                                      \
        .C = (o)->C, .epochs = (o)->epochs, .tol = (o)->rank_tol, .scale = true,           \
        .shuffle = true                                                                    \
    }

/* Label sets from z = (U'x - mean) o inv_sd, or through a kernel (coef'k(X, x) - mean) o inv_sd: scores
 * f = W [scale z; 1], and label k is on where f_k > threshold'[f; 1]. */
typedef struct ranked {
    int64_t d;      /* columns of z */
    block u;        /* width x d; at NULL: z are the features themselves, less mean */
    int64_t n;      /* rows of x */
    matrix x;       /* of the kernel; m NULL: none */
    block coef;     /* n x d */
    double gamma;   /* of the kernel; 0: linear */
    double *mean;   /* d; NULL: 0 */
    double *inv_sd; /* d; NULL: 1 */
    double scale;
    block w;           /* labels x (d + 1), last the bias */
    double *threshold; /* labels + 1 */
} ranked;
extern const table ranked_table;

/* The RankSVM on rows e.x (less mean, which may be NULL), all of which are here; it takes them in the order of their
 * keys. stopped: progress has said finish before. Reports where it ended. */
void ranked_fit(scope *s, scope *keep, const ranker_options *o, const examples *e,
                const double *mean, bool stopped, ranked *m);
/* z <- (z - mean) o inv_sd; what these are for latent features z: a constant one is only shifted. */
void ranked_standardise(const ranked *m, block z);
void ranked_measure(block z, double *mean, double *inv_sd);
/* Which instances were learned from (diagnostics train, instances, features), where these are the sources'. */
void report_sources(scope *s, const problem *p, const examples *e);
/* The hooks of a method whose state it is. */
void ranked_scores(scope *s, const void *state, const domain *d, block out);
void ranked_decide(const void *state, const double *score, uint8_t *on);

#endif
