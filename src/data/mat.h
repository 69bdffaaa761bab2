/* MAT files: checking is in mat_check.c, reading in mat.c, writing in mat_write.c. */
#ifndef FERRY_MAT_H
#define FERRY_MAT_H

#include "data/variables.h"

/* 5, 7 (for 7.3), or 0: from the version and byte order in the 128-byte head. */
int ferry_i_mat_version(const char *s, int64_t n);
/* FERRY_EDATA when a length in the file is not true. matio believes them all. */
ferry_status ferry_i_mat_check(ferry_ctx *ctx, const ferry_input *in);
ferry_status ferry_i_mat_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                               const ferry_opts *opts);

#endif
