/* What must be asked before BLAS computes. */
#ifndef FERRY_BLAS_H
#define FERRY_BLAS_H

#include "core/core.h"

/* Whether BLAS has the memory it will not do without (host/blas.c). FERRY_ENOMEM; where there is not enough
 * for all threads it gets fewer. */
ferry_status ferry_i_blas_ready(ferry_ctx *ctx);

#endif
