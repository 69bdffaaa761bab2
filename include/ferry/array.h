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
} ferry_sparse;

/** The same with 32-bit starts, as scipy has them below 2^31 entries. */
typedef struct ferry_sparse32 {
    int64_t rows, cols;
    const int32_t *start; /**< rows + 1 */
    const int32_t *index;
    const double *value;
} ferry_sparse32;

/** Called once when numbers that were lent are no longer needed, on whatever thread lets go last. */
typedef void (*ferry_release_fn)(void *user);

#ifdef __cplusplus
}
#endif

#endif
