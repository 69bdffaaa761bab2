/* The parts of preparing that only src/prepare knows: the plan (which domains, which
 * columns) and the rows that are made from it. */
#ifndef FERRY_PREPARE_PLAN_H
#define FERRY_PREPARE_PLAN_H

#include "prepare/prepare.h"

/* All domains of the task, the target last; map[d][v][j] is the column of the view's space
 * that column j is.
 * Lives for one call of prepare; maps are owned, domains borrowed from the task. */
typedef struct ferry_plan {
    int64_t n;
    const ferry_domain **domain; /* sources, intermediates, target */
    bool *wanted;                /* whose rows are delivered */
    int32_t ***map;
    int64_t n_spaces; /* that the target has; with `used` ... */
    uint8_t **used;   /* ... which of their columns are delivered; NULL: all */
} ferry_plan;

/* Domains, links, spaces and columns of p, or FERRY_ENEEDS. No value is looked at. */
ferry_status ferry_i_prepare_plan(ferry_ctx *ctx, const ferry_task *task, ferry_prepared *p,
                                  ferry_plan *plan);
void ferry_i_prepare_plan_clear(ferry_plan *plan);

/* How one view becomes columns of x. `part` maps the view's columns to those of the scaler
 * (-1: left out), `to` to those of the result (NULL: as they are). */
typedef struct ferry_lane {
    const ferry_view *view; /* NULL: the domain lacks it */
    const ferry_scaler *scale;
    const int32_t *map, *to;
    int64_t cols; /* of the result */
} ferry_lane;
/* The rows of d through the lanes: x, shift, there and instance of out. spread: only this rank's, where rows are spread
 * over ranks. */
ferry_status ferry_i_rows_make(ferry_ctx *ctx, const ferry_prepared *p,
                               const ferry_domain *d, int64_t n_lanes,
                               const ferry_lane *lane, bool spread, ferry_rows *out);
/* The labels of those instances. */
ferry_status ferry_i_rows_label(ferry_ctx *ctx, const ferry_prepared *p, ferry_rows *out);

#endif
