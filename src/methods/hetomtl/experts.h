/* The four experts of hetomtl's mode ferry, under a one-level hedge with fixed share
 * (Herbster and Warmuth, Tracking the best expert, 1998):
 *
 *   pa       passive-aggressive on rows of unit length
 *   average  the average of its weights after each sample
 *   causal   passive-aggressive on rows scaled by the means and deviations so far
 *   codes    class codes, solved again as labels accumulate (codes.h)
 *
 * F = sum_e w_e f_e, each f_e centred and of unit length. When the label comes:
 * w_e *= rate^[argmax f_e != y], scaled to sum 1, then w_e = (1 - share) w_e + share p_e,
 * where p is what the weights start from: a third for pa and average together, causal,
 * codes.
 */
#ifndef FERRY_EXPERTS_H
#define FERRY_EXPERTS_H

#include "methods/hetomtl/codes.h"

enum { EXPERT_PA, EXPERT_AVERAGE, EXPERT_CAUSAL, EXPERT_CODES, EXPERTS };
extern const char *const ferry_i_expert_names[EXPERTS];

typedef struct experts {
    int64_t k, d;
    ferry_pa *pa, *causal;
    moments z;
    codes codes;
    double w[EXPERTS], rate, share;
    double *f; /* EXPERTS x k: scores, and */
    double *x; /* 2 d: a row; scratch of the stream */
} experts;

/* What one look needs: EXPERTS x k scores and 2 d numbers. */
typedef struct experts_room {
    double *f, *x;
} experts_room;

ferry_status ferry_i_experts_new(ferry_ctx *ctx, int64_t k, int64_t d, ferry_pa_kind kind,
                                 double C, experts *out);
void ferry_i_experts_clear(experts *e);
ferry_status ferry_i_experts_classes(ferry_ctx *ctx, experts *e, int64_t k);
/* raw: the row without missing cells; total (k) <- F. room: as above. */
void ferry_i_experts_look(const experts *e, const ferry_row *raw, const experts_room *room,
                          double *total);
/* A row that was seen: counts for the means and deviations. */
void ferry_i_experts_watch(experts *e, const ferry_row *raw);
/* votes: EXPERTS classes, or NULL. Nothing changes when it fails. */
ferry_status ferry_i_experts_learn(ferry_ctx *ctx, experts *e, const ferry_row *raw,
                                   int32_t y, const int32_t *votes);
/* One PA step of both learners, nothing else: the offline part. */
void ferry_i_experts_step(experts *e, const ferry_row *raw, int32_t y);

ferry_status ferry_i_experts_save(ferry_ctx *ctx, const experts *e, ferry_dict *dict);
ferry_status ferry_i_experts_load(ferry_ctx *ctx, const ferry_dict *dict, int64_t d,
                                  experts *e);

#endif
