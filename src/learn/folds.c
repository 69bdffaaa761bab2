/* Folds for cross-validation, and the middle of some numbers. */
#include "learn/folds.h"

#include <stdlib.h>

/* Class by class, and on where the last one ended: folds differ by one row at most, and a class that is smaller than
 * the number of folds is in as many as it has rows. O(n k). */
int32_t *random_folds(scope *s, const char *use, int64_t n, const int32_t *cls,
                      int64_t folds)
{
    int32_t *fold = NEW(s, int32_t, n), last = 0;
    int64_t *order = NEW(s, int64_t, n), m = 0, next = 0;

    for (int64_t i = 0; i < n; i++) {
        fold[i] = -1;
        if (!cls || cls[i] >= 0) order[m++] = i;
        if (cls && cls[i] > last) last = cls[i];
    }
    ferry_i_rng_shuffle(scope_rng(s, use), m, order);
    for (int32_t c = 0; c <= last; c++)
        for (int64_t i = 0; i < m; i++)
            if (!cls || cls[order[i]] == c) fold[order[i]] = (int32_t)(next++ % folds);
    return fold;
}

int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double median(int64_t n, double *v)
{
    qsort(v, (size_t)n, sizeof *v, ascending);
    return n == 0 ? 0 : (v[(n - 1) / 2] + v[n / 2]) / 2;
}
