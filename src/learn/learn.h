/* Learners that methods share. Each works on plain matrices and labels; none knows about
 * tasks. */
#ifndef FERRY_LEARN_H
#define FERRY_LEARN_H

#include "data/data.h"

/* ---- nearest neighbours ---- */

typedef enum ferry_distance { FERRY_EUCLIDEAN, FERRY_COSINE } ferry_distance;
/* For every row of q its k nearest rows of x: index (q->rows x k, -1 when x has fewer),
 * dist likewise (inf when x has fewer). Exact, by blocks of products; ties to the lower
 * row; the same bits with every engine. Cosine: 1 - cos, 1 when either row is zero. */
ferry_status ferry_i_knn(ferry_ctx *ctx, const ferry_matrix *x, const ferry_matrix *q,
                         int64_t k, ferry_distance distance, int64_t *index, double *dist);

/* ---- label propagation ---- */

/* The harmonic function on a symmetric graph of weights >= 0 (CSR, n x n): rows with
 * cls >= 0 keep their class, others become the weighted mean of their neighbours, f (n x
 * c), until no entry moves by tol. Rows that no known one reaches keep the shares of the
 * known classes. mass (c, or NULL): class mass normalisation to these shares, after which
 * rows do not sum to 1. The sweeps made. */
int64_t ferry_i_propagate(const ferry_matrix *w, int64_t c, const int32_t *cls,
                          int64_t max_iter, double tol, const double *mass, ferry_block *f);

#endif
