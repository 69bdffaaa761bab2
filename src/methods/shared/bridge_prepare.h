/* Preparing the values of one view (prepare.c). */
#ifndef FERRY_TTL_PREPARE_H
#define FERRY_TTL_PREPARE_H

#include "methods/shared/bridge.h"

/* What the values of a view look like; add up over the domains. */
typedef struct ttl_looks {
    double cells, filled;
    bool negative, fraction, sparse;
} ttl_looks;
void ferry_i_looks_add(ttl_looks *l, const ferry_matrix *x);
ttl_scale ferry_i_looks_scale(const ttl_looks *l, ttl_scale wanted);
bool ferry_i_looks_wordlike(const ttl_looks *l);

/* x as CSR without its zeros; a missing cell is 0. full: a dense x keeps its zeros. */
ferry_status ferry_i_to_csr(ferry_ctx *ctx, const ferry_matrix *x, bool full,
                            ferry_matrix **out);
/* shift and factor of s from the n matrices (NULL: none there) of all domains. */
ferry_status ferry_i_space_measure(ferry_ctx *ctx, int64_t n, ferry_matrix *const *x,
                                   ttl_space *s);
/* Prepare the values of x, which nobody else has seen yet. */
void ferry_i_space_apply(const ttl_space *s, ferry_matrix *x);
void ferry_i_rows_to_length_1(ferry_matrix *x);
/* One number for the entries of row i. */
uint64_t ferry_i_row_hash(const ferry_matrix *x, int64_t i);

#endif
