/* Folds in a random order, and numbers in theirs (folds.c). */
#ifndef FERRY_FOLDS_H
#define FERRY_FOLDS_H

#include "core/scope.h"

/* Fold 0 .. folds - 1 of each row with a class, class by class in the random order of the stream `use`; -1 for
 * cls[i] < 0. cls NULL: all rows alike. learner.h has those that go by keys. */
int32_t *random_folds(scope *s, const char *use, int64_t n, const int32_t *cls,
                      int64_t folds);
int ascending(const void *a, const void *b); /* of doubles, for qsort */
/* The middle of n numbers, which it sorts; the mean of two when n is even, 0 when it is 0. */
double median(int64_t n, double *v);

#endif
