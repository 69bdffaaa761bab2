/* CDSPP (learn/cdspp.h) written down as it stands: one dense generalised eigenproblem of
 * size ds + dt. */
#ifndef FERRY_ORACLE_CDSPP_H
#define FERRY_ORACLE_CDSPP_H

#include "learn/cdspp.h"

/* Sets rank, lambda, ps and pt of *out, for ferry_i_cdspp_clear(). */
ferry_status oracle_cdspp(ferry_ctx *ctx, const cdspp_problem *p, int64_t dims, cdspp *out);

#endif
