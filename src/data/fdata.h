/* FDATA: what reading and writing share (fdata.c says what the files are). */
#ifndef FERRY_FDATA_H
#define FERRY_FDATA_H

#include "data/data.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "these files are little-endian and are used in place: this machine needs a swap here"
#endif

/* what our own begin with; readers of safetensors refuse longer headers */
#define FDATA_OURS "{\"__metadata__\":{\"ferry.data\":\"1\""
#define FDATA_HEADER_MAX ((int64_t)100000000)

/* Types of arrays. */
typedef enum type { F64, I64, I32, U8 } type;
static const struct {
    const char *name;
    int64_t width;
} types[] = {{"F64", 8}, {"I64", 8}, {"I32", 4}, {"U8", 1}};

ferry_status ferry_i_fdata_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                 const ferry_opts *opts);

#endif
