/* Labels over the graph of nearest rows (consistency.c). */
#ifndef FERRY_CONSISTENCY_H
#define FERRY_CONSISTENCY_H

#include "linalg/ops.h"

/* f (n x k), labels as 0 and 1, <- (I - alpha S)^-1 f, S the normalised graph of the nearest rows of z (n x q, n above
 * 1). Rows that nothing reaches are 0. *width: the median of the graph's squared distances. O(n^2 q). */
void consistent_labels(scope *s, block z, int64_t neighbours, double *width, block f);

#endif
