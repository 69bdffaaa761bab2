/* Exact nearest neighbours (nearest.c). */
#ifndef FERRY_NEAREST_H
#define FERRY_NEAREST_H

#include "learn/learn.h"
#include "linalg/ops.h"

/* For every row of q its k nearest rows of x, ascending: index and dist, q.n x k, -1 and inf where x has fewer. Of
 * equally near ones the first by `order` (NULL: by number). Cosine: 1 - cos, 1 where a row is 0. The same bits with
 * every engine and number of threads. */
void nearest(scope *s, matrix x, matrix q, int64_t k, ferry_distance distance,
             const int64_t *order, int64_t *index, double *dist);

#endif
