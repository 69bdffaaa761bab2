/* A dict of named tensors and text: what a model saves and loads, as a state dict elsewhere.
 * One .ferry file is one dict in the safetensors layout. Numbers are little-endian.
 *
 * Saving is: ferry_i_dict_put_* under names of the method's own. Loading is the reverse, with
 * one difference: what is got may come from a file that somebody made up, so every getter
 * checks type and shape, and a method checks what only it can know (indices below a count,
 * a codebook that fits the factors) before it computes with it. */
#ifndef FERRY_DICT_H
#define FERRY_DICT_H

#include "core/core.h"
#include "linalg/linalg.h"

#define FERRY_FORMAT_VERSION 1

/* Borrowed pointers are good until the dict is freed: a tensor's data never moves. */
typedef struct ferry_dict ferry_dict;
ferry_status ferry_i_dict_new(ferry_ctx *ctx, ferry_dict **out);
void ferry_i_dict_free(ferry_dict *dict);

/* Add a copy. Names are unique (our own mistake otherwise); those that begin with "ferry."
 * belong to the library (model.c), all others to the method. Texts must be UTF-8 to be
 * saved. */
ferry_status ferry_i_dict_put_reals(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                    int64_t rows, int64_t cols, const double *data);
ferry_status ferry_i_dict_put_ints(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                   int64_t n, const int64_t *data);
ferry_status ferry_i_dict_put_bytes(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                    int64_t n, const uint8_t *data);
ferry_status ferry_i_dict_put_text(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                   const char *text);
/* A list of strings, kept as one byte tensor of 0-ended texts. */
ferry_status ferry_i_dict_put_ids(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                  const ferry_ids *ids);
ferry_status ferry_i_dict_put_matrix(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                                     const ferry_matrix *x); /* dense or CSR */

bool ferry_i_dict_has(const ferry_dict *dict, const char *name);
/* Borrowed. The shape must be as expected: -1 takes any and tells it. FERRY_EDATA names the
 * tensor and both shapes. reals must be finite, reals_any not. */
ferry_status ferry_i_dict_reals(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                int64_t *rows, int64_t *cols, const double **data);
ferry_status ferry_i_dict_reals_any(ferry_ctx *ctx, const ferry_dict *dict,
                                    const char *name, int64_t *rows, int64_t *cols,
                                    const double **data);
ferry_status ferry_i_dict_ints(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                               int64_t *n, const int64_t **data);
ferry_status ferry_i_dict_bytes(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                int64_t *n, const uint8_t **data);
const char *ferry_i_dict_text(const ferry_dict *dict,
                              const char *name); /* NULL: not there */
/* New objects. */
ferry_status ferry_i_dict_ids(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                              ferry_ids **out);
ferry_status ferry_i_dict_matrix(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                 ferry_matrix **out); /* checked as untrusted */

/* Whole files. The checksum (xxHash) covers header and data. */
ferry_status ferry_i_dict_save(ferry_ctx *ctx, const ferry_dict *dict, const char *path);
ferry_status ferry_i_dict_load(ferry_ctx *ctx, const char *path, ferry_dict **out);
/* The same in memory, `what` begins messages: new bytes, and from bytes (also for the fuzzer). */
ferry_status ferry_i_dict_print(ferry_ctx *ctx, const ferry_dict *dict, const char *what,
                                char **out, int64_t *n);
ferry_status ferry_i_dict_parse(ferry_ctx *ctx, const char *what, const uint8_t *bytes,
                                int64_t n, ferry_dict **out);

#endif
