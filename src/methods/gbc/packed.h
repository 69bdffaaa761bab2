/* GBC's graphs, packed for one source with one score. */
#ifndef FERRY_GBC_PACKED_H
#define FERRY_GBC_PACKED_H

#include "methods/gbc/gbc.h"

typedef struct gbc_packed gbc_packed;

/* Whether the problem is of the kind: one source that has all, one score, and neighbours
 * show what their scores are (squared loss, or soft targets). */
bool ferry_i_gbc_packs(const gbc_problem *g);
ferry_status ferry_i_gbc_packed_new(ferry_ctx *ctx, const gbc_problem *g, gbc_packed **out);
void ferry_i_gbc_packed_free(gbc_packed *s);
/* Take the scores f (n). */
void ferry_i_gbc_packed_show(const ferry_ctx *ctx, gbc_packed *s, const gbc_problem *g,
                             const double *f);
/* Rows [run FERRY_RUN, ...): mean (q x FERRY_RUN) <- of their neighbours in every graph, in the
 * steps of the scores taken last, INT32_MIN without; top, sum (q) <- their part of the
 * loss, every edge counted from both ends. */
void ferry_i_gbc_packed_run(const ferry_ctx *ctx, const gbc_packed *s, int64_t run,
                            int32_t *mean, double *top, double *sum);
/* et, has (n) <- of the run's rows that are not labelled, from those means. */
void ferry_i_gbc_packed_combine(const gbc_packed *s, const gbc_problem *g, int64_t run,
                                const int32_t *mean, const double *wg, double *et,
                                uint8_t *has);

#endif
