/* CDSPP (learn/cdspp.h) written down as it stands: one dense generalised eigenproblem of
 * size ds + dt. */
#ifndef FERRY_ORACLE_CDSPP_H
#define FERRY_ORACLE_CDSPP_H

#include "learn/cdspp.h"

/* As cdspp_spaces (learn/cdspp_spaces.h), on plain blocks: the library's solution (cdspp_plain.c). */
typedef struct cdspp {
    int64_t rank, shared;
    double *lambda;
    int32_t *cls;
    ferry_block *ps, *pt, *q;
    ferry_small *gs, *gt, *r;
} cdspp;
ferry_status plain_cdspp(ferry_ctx *ctx, const cdspp_problem *p, int64_t dims, cdspp *out);
void plain_cdspp_clear(cdspp *c);

/* Sets rank, lambda, ps and pt of *out, for plain_cdspp_clear(). */
ferry_status oracle_cdspp(ferry_ctx *ctx, const cdspp_problem *p, int64_t dims, cdspp *out);

#endif
