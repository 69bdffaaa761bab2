/* Edges that cross ranks: whose values this rank's instances need of others, and whose it gives away.
 *
 * Every rank has all edges and the instances of its own part (ferry_i_ranks_part). Who needs whom is told once;
 * from then on only these values travel. Without ranks there is no crossing (NULL) and nothing to do. */
#ifndef FERRY_CROSSING_H
#define FERRY_CROSSING_H

#include "linalg/linalg.h"

typedef struct ferry_crossing ferry_crossing;
/* Of q graphs over n instances. All ranks call it at once. */
ferry_status ferry_i_crossing_new(ferry_ctx *ctx, int64_t n, int64_t q,
                                  ferry_matrix *const *graph, ferry_crossing **out);
void ferry_i_crossing_free(ferry_crossing *c);
/* v (n x m), of which every rank has set its own rows, gets those of its neighbours. */
ferry_status ferry_i_cross(ferry_ctx *ctx, ferry_crossing *c, int64_t m, double *v);
/* Rows of a matrix: x has those of this rank, *out (new) these and then the neighbours'; row_of[i] (n) <- where
 * instance i stands in it, -1: nowhere. */
ferry_status ferry_i_cross_rows(ferry_ctx *ctx, ferry_crossing *c, const ferry_matrix *x,
                                ferry_matrix **out, int64_t *row_of);

#endif
