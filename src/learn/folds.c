/* Folds for cross-validation, and the middle of some numbers. */
#include <stdlib.h>

#include "learn/learn.h"

/* Class by class, and on where the last one ended: folds differ by one row at most, and a class
 * that is smaller than the number of folds is in as many as it has rows. O(n k). */
ferry_status ferry_i_folds(ferry_ctx *ctx, const char *use, int64_t n, const int32_t *cls,
                           int64_t folds, int32_t *fold)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL, m = 0, next = 0;
    int32_t last = 0;
    ferry_rng rng;

    FERRY_NEW(ctx, order, n);
    for (int64_t i = 0; i < n; i++) {
        fold[i] = -1;
        if (!cls || cls[i] >= 0) order[m++] = i;
        if (cls && cls[i] > last) last = cls[i];
    }
    ferry_i_rng_for(ctx, &rng, use);
    ferry_i_rng_shuffle(&rng, m, order);
    for (int32_t c = 0; c <= last; c++)
        for (int64_t i = 0; i < m; i++)
            if (!cls || cls[order[i]] == c) fold[order[i]] = (int32_t)(next++ % folds);
done:
    ferry_i_free(order);
    return st;
}

int ferry_i_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double ferry_i_median(int64_t n, double *v)
{
    qsort(v, (size_t)n, sizeof *v, ferry_i_ascending);
    return n == 0 ? 0 : (v[(n - 1) / 2] + v[n / 2]) / 2;
}
