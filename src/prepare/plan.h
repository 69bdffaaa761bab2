/* The parts of preparing that only src/prepare knows: the plan (which domains, which
 * columns) and the rows that are made from it. */
#ifndef FERRY_PREPARE_PLAN_H
#define FERRY_PREPARE_PLAN_H

#include "prepare/prepare.h"

/* The domains of a task and where the columns of their views stand, whatever a method wants. */
typedef struct ferry_lineup {
    int64_t n;
    const ferry_domain **domain; /* sources, intermediates, target */
    ferry_links *links;
    int64_t n_spaces, cols;
    ferry_space *space; /* without scales */
    int32_t ***map; /* [domain][view][j]: the column of the view's space that column j is */
} ferry_lineup;

/* What one method is given of it. */
typedef struct ferry_plan {
    const ferry_lineup *of;
    bool *wanted; /* a domain each: whose rows are delivered */
    uint8_t **
        used; /* a view of the target each: which of its space's columns are delivered; NULL: all */
} ferry_plan;

ferry_lineup *lineup_find(scope *s, const ferry_task *task);
/* Fails with FERRY_ENEEDS where the task does not have what is wanted. No value is looked at. */
ferry_plan plan_make(scope *s, ferry_split *split, const ferry_wants *w);

/* How one view becomes columns of x. `map` has for the view's columns those of the scaler
 * (-1: left out), `to` those of the result (NULL: as they are). */
typedef struct column_map {
    const ferry_view *view; /* NULL: the domain lacks it */
    const ferry_scaler *scale;
    const int32_t *map, *to;
    int64_t cols; /* of the result */
} column_map;
/* The rows of d through n such maps: x, shift, there and instance, in keep. spread: only this process's, where rows are
 * spread. */
ferry_rows rows_make(scope *s, scope *keep, const ferry_prepared *p, const ferry_domain *d,
                     int64_t n, const column_map *by, bool spread);
/* The labels of those instances. */
void rows_label(scope *keep, const ferry_prepared *p, ferry_rows *out);

#endif
