/* MAT files: reading is in mat.c, writing in mat_write.c. */
#ifndef FERRY_MAT_H
#define FERRY_MAT_H

#include "data/variables.h"

ferry_status ferry_i_mat_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                               const ferry_opts *opts);

#endif
