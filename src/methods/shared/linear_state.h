/* The model of methods that end in a classifier on the target's features. */
#ifndef FERRY_TTL_LINEAR_STATE_H
#define FERRY_TTL_LINEAR_STATE_H

#include "methods/shared/carry.h"
#include "methods/shared/gp.h"

typedef struct ttl_linear {
    int64_t c;
    ferry_prepared *prepared;
    ttl_carried last; /* of the last hop, on the target's columns; or, instead, ... */
    ttl_gp *gp;       /* ... kernel regression (hop) */
} ttl_linear;

ferry_status ferry_i_ttl_linear_predict(ferry_ctx *ctx, const void *model,
                                        const ferry_domain *d, ferry_prediction *p);
void ferry_i_ttl_linear_file(ferry_io *io, void *model);
void ferry_i_ttl_linear_free(void *model);
/* `carried` on the bridge's columns as a model; its scores are softmax probabilities. b's
 * rows are gone after it. */
ferry_status ferry_i_ttl_linear_new(ferry_ctx *ctx, ttl_bridge *b,
                                    const ttl_carried *carried, void **out);

#endif
