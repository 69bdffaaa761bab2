/* A body on several ranks whose rows are spread (--engine mpi), as processes of the test. */
#ifndef FERRY_ON_RANKS_H
#define FERRY_ON_RANKS_H

#include "core/core.h"

enum { RANKS = 3 };
/* body(ctx, arg) on every rank; status[r] <- what it returned there (below 90; 98: no context). */
void on_ranks(int (*body)(ferry_ctx *ctx, void *arg), void *arg, int *status);

#endif
