/* The model of methods that end in a linear classifier on the target's features. */
#ifndef FERRY_TTL_LINEAR_STATE_H
#define FERRY_TTL_LINEAR_STATE_H

#include "methods/shared/carry.h"

typedef struct ttl_linear {
    int64_t c;
    ferry_prepared *prepared;
    ttl_carried last;
} ttl_linear;

ferry_status ferry_i_ttl_linear_predict(ferry_ctx *ctx, const void *model,
                                        const ferry_domain *d, ferry_prediction *p);
ferry_status ferry_i_ttl_linear_save(ferry_ctx *ctx, const void *model, ferry_dict *dict);
ferry_status ferry_i_ttl_linear_load(ferry_ctx *ctx, const ferry_dict *dict, void **out);
void ferry_i_ttl_linear_free(void *model);
/* `carried` on the bridge's columns as a model; its scores are softmax probabilities. b's
 * rows are gone after it. */
ferry_status ferry_i_ttl_linear_new(ferry_ctx *ctx, ttl_bridge *b,
                                    const ttl_carried *carried, void **out);

#endif
