/* Which rows of a source to learn from: those that lie among the target's in a common space (mixed_rows.c). */
#ifndef FERRY_MIXED_ROWS_H
#define FERRY_MIXED_ROWS_H

#include "linalg/ops.h"

typedef struct mixing {
    double kappa;         /* centroids agree within kappa x the cluster's radius */
    int64_t min_size;     /* no part of a split is smaller */
    double tau;           /* shares of target and source within this factor */
    int64_t min_clusters; /* split at least to so many */
    double risk;          /* too risky above this divergence */
    int divergence;       /* 0: corrected, 1: as printed */
} mixing;
/* Options of a struct T with a member `mix`. */
#define MIXING_OPTIONS(T)                                                                  \
    FERRY_OPT_ONE_OF_AS(T, "divergence", mix.divergence, "corrected|printed", "corrected", \
                        "sampling: which KL divergence measures the risk"),                \
        FERRY_OPT_AS(T, "risk", REAL, mix.risk, 0.5, 0, 1e6,                               \
                     "sampling: above this divergence the source is not used"),            \
        FERRY_OPT_AS(T, "kappa", REAL, mix.kappa, 0.5, 0, 1e6,                             \
                     "sampling: centroids agree within this share of a cluster's radius"), \
        FERRY_OPT_AS(T, "tau", REAL, mix.tau, 2, 1, 1e6,                                   \
                     "sampling: shares of target and source in a cluster agree within "    \
                     "this factor"),                                                       \
        FERRY_OPT_AS(T, "min_size", INT, mix.min_size, 5, 1, 1e9,                          \
                     "sampling: least rows of a cluster"),                                 \
        FERRY_OPT_AS(T, "min_clusters", INT, mix.min_clusters, 8, 1, 1e9,                  \
                     "sampling: least number of clusters")

typedef struct mixed {
    int32_t *cluster_t, *cluster_s; /* cluster of each row */
    uint8_t *keep;                  /* of each source row */
    int64_t clusters, kept;
    double kl_printed, kl; /* with 1/2 added to both counts */
    bool risky;            /* the source is not to be used at all */
} mixed;

/* Both sets in one space, N_T x k and N_S x k, all rows here. O((N_T + N_S) k) for each pass of each split. */
mixed mixed_rows(scope *s, block bt, block bs, const mixing *o);

/* KL_c of (5.17) as printed and the corrected divergence, from the counts of target (a) and source (b) in each of g
 * clusters; `smooth` is added to both inside the logarithm. */
double kl_printed(int64_t g, const int64_t *a, const int64_t *b, double smooth);
double kl_corrected(int64_t g, const int64_t *a, const int64_t *b, double smooth);

#endif
