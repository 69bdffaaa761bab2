/* k-means (kmeans.c). */
#ifndef FERRY_KMEANS_H
#define FERRY_KMEANS_H

#include "linalg/ops.h"

typedef struct kmeans_options {
    int64_t k, restarts, max_iter; /* groups; starts; rounds of each, at most */
    const char *what;              /* of progress after each start; NULL: none */
} kmeans_options;

/* Lloyd's algorithm from k-means++ starts (Arthur and Vassilvitskii 2007); the best of `restarts` by the sum of squared
 * distances, which it returns. A group that runs empty gets the point farthest from its centre. group: one of 0..k-1
 * per row of x (dense or CSR, all rows here), which must be finite; 1 <= k <= rows. centres (k x cols) may be NULL. A
 * round costs O(k nnz). The result does not depend on the number of threads. */
double kmeans(scope *s, matrix x, const kmeans_options *o, ferry_rng *rng, int32_t *group,
              const block *centres);

#endif
