/* Plain arrays that belong to the caller. */
#ifndef FERRY_ARRAY_H
#define FERRY_ARRAY_H

#include "ferry/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Dense numbers, one instance after the other: instance i, feature j is data[i * ld + j].
 * NumPy reads the same bytes as a C-ordered instances x features array, the papers as a d x
 * n matrix, column-major.
 */
typedef struct ferry_array {
    int64_t rows; /**< instances */
    int64_t cols; /**< features */
    int64_t ld;   /**< distance between instances, at least cols */
    const double *data;
} ferry_array;

/**
 * Compressed rows, one instance after the other: instance i has features index[e] with
 * value[e] for e in [start[i], start[i + 1]). Indices ascend within an instance and are
 * below cols.
 */
typedef struct ferry_sparse {
    int64_t rows, cols;
    const int64_t *start; /**< rows + 1 */
    const int32_t *index;
    const double *value;
    const int32_t *
        start32; /**< where start is NULL: 32-bit ones, as scipy has them below 2^31 entries */
} ferry_sparse;

/** Called once when numbers that were borrowed are no longer needed, on whatever thread lets go last. */
typedef void (*ferry_release_fn)(void *user);

/** How numbers are borrowed instead of copied: they must stay as they are until `release` (may be NULL) is called with
 * `user`, when all that was made of them is freed. When the call fails, `release` is not called. */
typedef struct ferry_borrow {
    ferry_release_fn release;
    void *user;
} ferry_borrow;

#ifdef __cplusplus
}
#endif

#endif
