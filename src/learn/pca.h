/* Principal axes (pca.c). */
#ifndef FERRY_PCA_H
#define FERRY_PCA_H

#include "linalg/ops.h"

typedef struct pca {
    double *mean;  /* cols */
    double *value; /* v.k: sums of squares along the axes, descending */
    block v;       /* cols x q, orthonormal, signs fixed */
    block z;       /* n x q: the rows less their mean, on the axes */
} pca;

/* The first axes that hold `share` of the variance, at most `most` (1 at least). */
pca pca_fit(scope *s, matrix x, int64_t most, double share);
/* All axes, by a dense eigenproblem of the smaller side however large, but for those whose variance is rounding error:
 * below 1e-12 of the first. */
pca pca_all(scope *s, matrix x);

#endif
