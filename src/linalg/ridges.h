/* For ridge regressions in a stream: products with rows that are kept, triangular systems. The same
 * bits from every engine and on every CPU, and nothing can fail, so that they need no context. */
#ifndef FERRY_LINALG_RIDGES_H
#define FERRY_LINALG_RIDGES_H

#include <stdint.h>

/* A row as others are asked about it: three vectors of d floats, or s alone (u NULL). */
typedef struct ferry_asked {
    int64_t d;
    const float *s, *u, *w;
} ferry_asked;
/* out (rows x 3) <- <b_j, s>, <b_j |b_j|, u>, <b_j, w>; floats, added up over 256 of them
 * and then as doubles. O(rows d), one pass over the b. */
void ferry_i_asked_dots(const ferry_asked *a, int64_t rows, const float *const *b,
                        double *out);
/* x_r <- L^-1 x_r for `rows` rows of X, x_ld apart; L (n x n) lower, its rows ld apart. */
void ferry_i_lower_systems(int64_t n, int64_t ld, const double *l, int64_t rows,
                           int64_t x_ld, double *x);
/* A += X X', the lower triangle (rows ld apart); X n x d. */
void ferry_i_lower_products(int64_t n, int64_t d, const double *x, int64_t ld, double *a);

#endif
