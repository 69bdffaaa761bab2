/* The thesis's modes: row i of one set is tied to row i of the other, so the sets are
 * brought to equal size and to some order, and the order decides the result. */
#ifndef FERRY_HEMAP_THESIS_H
#define FERRY_HEMAP_THESIS_H

#include "methods/hemap/fit.h"

/* Algorithm 3 (mode linear) or 4 (nonlinear). Known pairs come first, the other rows in
 * random order: the order of a file may tell the labels. The smaller set is filled up by
 * rows drawn again; a row's place is the mean over its copies. */
ferry_status ferry_i_hemap_embed_thesis(ferry_ctx *ctx, const hemap_data *d,
                                        hemap_embedding *e);

#endif
