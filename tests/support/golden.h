/* Golden cases: JSON files with numbers worked out elsewhere, under the folder "golden"
 * beside the data sets. */
#ifndef FERRY_TEST_GOLDEN_H
#define FERRY_TEST_GOLDEN_H

#include <jansson.h>

#include "ferry_test.h"

/* A file such as "mmltl/metrics.json" for json_decref(), or NULL after saying that it is
 * absent; fails when it is broken. */
json_t *golden(const char *name);
/* A file of tests/golden, for json_decref(); fails when it is absent or broken. */
json_t *own_golden(const char *name);
/* Member `key`; fails when it is absent. Borrowed. */
json_t *golden_at(const json_t *object, const char *key);
double golden_real(const json_t *object, const char *key);
/* All numbers of a nested array, row by row, for free(). rows and cols (1 for a plain list)
 * may be NULL. */
double *golden_array(const json_t *object, const char *key, int64_t *rows, int64_t *cols);
/* Likewise columns first: entry (i, j) of the file is at [j * rows + i]. */
double *golden_transposed(const json_t *object, const char *key, int64_t *rows,
                          int64_t *cols);

#endif
