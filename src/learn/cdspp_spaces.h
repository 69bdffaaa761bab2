/* CDSPP's spaces: the solution of its eigenproblem (cdspp.h). */
#ifndef FERRY_CDSPP_SPACES_H
#define FERRY_CDSPP_SPACES_H

#include "learn/cdspp.h"
#include "linalg/ops.h"

typedef struct cdspp_spaces {
    int64_t rank;   /* dimensions; 0: no class in common, or nothing to go by */
    double *lambda; /* rank, descending */
    block ps,
        pt; /* ds x rank, dt x rank; the largest |entry| of each column of pt is positive */
    int64_t shared; /* classes that both have */
    int32_t *cls;   /* shared: which */
    small gs, gt;   /* shared x shared: M'(X L X' + alpha I)^-1 M */
    /* pt = q r: q (dt x shared) holds (Xt Lt Xt' + alpha I)^-1 Mt, which knows the source only by its class counts; r
     * is shared x rank. */
    block q;
    small r;
} cdspp_spaces;

/* Exact, by the smaller of n and d on each side and a small singular value decomposition. dims: at most so many
 * dimensions (0: all there are). Cost for each side: O(n d m + m^3), m = min(n, d) <= 16384; memory m^2. */
cdspp_spaces cdspp_solve(scope *s, const cdspp_problem *p, int64_t dims);

#endif
