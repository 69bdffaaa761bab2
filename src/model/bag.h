/* A bag of named tensors and text: what a model saves and loads. One .ferry file is one bag
 * in the safetensors layout. Numbers are little-endian. */
#ifndef FERRY_BAG_H
#define FERRY_BAG_H

#include "core/core.h"
#include "linalg/linalg.h"

#define FERRY_FORMAT_VERSION 1

typedef struct ferry_bag ferry_bag;
ferry_status ferry_i_bag_new(ferry_ctx *ctx, ferry_bag **out);
void ferry_i_bag_free(ferry_bag *bag);

/* Add a copy. Names are unique (our own mistake otherwise); those that begin with "ferry."
 * belong to the library (model.c), all others to the method. Texts must be UTF-8 to be
 * saved. */
ferry_status ferry_i_bag_put_reals(ferry_ctx *ctx, ferry_bag *bag, const char *name,
                                   int64_t rows, int64_t cols, const double *data);
ferry_status ferry_i_bag_put_ints(ferry_ctx *ctx, ferry_bag *bag, const char *name,
                                  int64_t n, const int64_t *data);
ferry_status ferry_i_bag_put_bytes(ferry_ctx *ctx, ferry_bag *bag, const char *name,
                                   int64_t n, const uint8_t *data);
ferry_status ferry_i_bag_put_text(ferry_ctx *ctx, ferry_bag *bag, const char *name,
                                  const char *text);
/* A list of strings, kept as one byte tensor of 0-ended texts. */
ferry_status ferry_i_bag_put_ids(ferry_ctx *ctx, ferry_bag *bag, const char *name,
                                 const ferry_ids *ids);
ferry_status ferry_i_bag_put_matrix(ferry_ctx *ctx, ferry_bag *bag, const char *name,
                                    const ferry_matrix *x); /* dense or CSR */

bool ferry_i_bag_has(const ferry_bag *bag, const char *name);
/* Lend. The shape must be as expected: -1 takes any and tells it. FERRY_EDATA names the
 * tensor and both shapes. reals must be finite, reals_any not. */
ferry_status ferry_i_bag_reals(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                               int64_t *rows, int64_t *cols, const double **data);
ferry_status ferry_i_bag_reals_any(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                                   int64_t *rows, int64_t *cols, const double **data);
ferry_status ferry_i_bag_ints(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                              int64_t *n, const int64_t **data);
ferry_status ferry_i_bag_bytes(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                               int64_t *n, const uint8_t **data);
const char *ferry_i_bag_text(const ferry_bag *bag, const char *name); /* NULL: not there */
/* New objects. reals_copy and block: of just this shape, finite. */
ferry_status ferry_i_bag_reals_copy(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                                    int64_t rows, int64_t cols, double **out);
ferry_status ferry_i_bag_block(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                               int64_t rows, int64_t cols, ferry_block **out);
ferry_status ferry_i_bag_ids(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                             ferry_ids **out);
ferry_status ferry_i_bag_matrix(ferry_ctx *ctx, const ferry_bag *bag, const char *name,
                                ferry_matrix **out); /* checked as from a stranger */

/* Whole files. The checksum (xxHash) covers header and data. */
ferry_status ferry_i_bag_save(ferry_ctx *ctx, const ferry_bag *bag, const char *path);
ferry_status ferry_i_bag_load(ferry_ctx *ctx, const char *path, ferry_bag **out);
/* The same from memory, for the fuzzer and for snapshots. */
ferry_status ferry_i_bag_parse(ferry_ctx *ctx, const char *what, const uint8_t *bytes,
                               int64_t n, ferry_bag **out);

#endif
