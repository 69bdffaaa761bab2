/* Columns of two tables that may be one thing under two names, by their values alone: for people to say `same:` of
 * (task file), never to be joined unasked. */
#ifndef FERRY_ALIKE_H
#define FERRY_ALIKE_H

#include "core/scope.h"
#include "data/data.h"

typedef struct alike {
    int64_t a, b; /* columns of either view */
    double cost;  /* 0: no difference */
} alike;

/* Pairs of columns of a and b without a common name, in the order of a's columns; *n: how many. Some names must be
 * common (the others are judged by them) and both views be dense tables with names: else there are none. Columns are
 * compared by
 *
 *   their shape  20 quantiles of the standardised values, twice the share of the most frequent value, log10 of how
 *                many there are: mean difference
 *   what they go with: mean difference of the rank correlations with the common columns, and then, by turns with
 *                a soft matching, with each other
 *
 * and a pair is said if each is the other's nearest, at less than .3 and less than half of the next. Units do not
 * matter. Constant columns and values of categories ("colour=red") are left out. O(rows p log rows + p^3) for p
 * columns; at most 5,000 rows of each, evenly taken, and 300 columns that are not common. */
alike *alike_columns(scope *s, const ferry_view *a, const ferry_view *b, int64_t *n);

#endif
