/* Baselines whose model is one row of weights per class, label or number. */
#ifndef FERRY_WEIGHTS_H
#define FERRY_WEIGHTS_H

#include "methods/shared/base.h"

typedef struct weights {
    base b;
    ferry_linear *m;
    double least; /* labels with a score above this are on */
} weights;

ferry_status ferry_i_weights_new(ferry_ctx *ctx, double least, weights **out);
ferry_status ferry_i_weights_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p);
void ferry_i_weights_file(ferry_io *io, void *state);
void ferry_i_weights_free(void *state);

#endif
