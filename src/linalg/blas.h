/* What must be asked before BLAS computes. */
#ifndef FERRY_BLAS_H
#define FERRY_BLAS_H

#include "core/core.h"

/* Whether BLAS is there, which is loaded here, and has the memory it will not do without (host/blas.c). FERRY_ENEEDS,
 * FERRY_ENOMEM; where there is not enough for all threads it gets fewer. Every public call that computes asks first. */
ferry_status ferry_i_blas_ready(ferry_ctx *ctx);
void ferry_i_lapack_version(int *major, int *minor,
                            int *patch); /* left alone where there is none */

#endif
