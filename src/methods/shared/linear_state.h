/* The model of methods that end in a linear classifier on the target's features. */
#ifndef FERRY_TTL_LINEAR_STATE_H
#define FERRY_TTL_LINEAR_STATE_H

#include "methods/shared/carry.h"

typedef struct ttl_linear {
    int64_t c;
    ttl_frame *frame;
    ttl_carried last;
} ttl_linear;

ferry_status ferry_i_ttl_linear_predict(ferry_ctx *ctx, const void *model,
                                        const ferry_domain *d, ferry_prediction *p);
ferry_status ferry_i_ttl_linear_save(ferry_ctx *ctx, const void *model, ferry_dict *dict);
ferry_status ferry_i_ttl_linear_load(ferry_ctx *ctx, const ferry_dict *dict, void **out);
void ferry_i_ttl_linear_free(void *model);
/* `carried` on the bridge's columns as a model; its scores are softmax probabilities. */
ferry_status ferry_i_ttl_linear_new(ferry_ctx *ctx, const ttl_bridge *b,
                                    const ttl_carried *carried, void **out);

/* ---- methods that keep instances: cotransfer.c, kmeans_hop.c ---- */

/* x (on the bridge's columns) on those of the target's frame; rows NULL: all. */
ferry_status ferry_i_bridge_on_frame(ferry_ctx *ctx, const ttl_bridge *b,
                                     const ttl_frame *f, const ferry_matrix *x,
                                     ferry_matrix **out);

#endif
