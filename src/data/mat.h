/* MAT files: checking is in mat_check.c, reading in mat.c, writing in mat_write.c; what is special to
 * MAT 7.3 in mat73.c.
 *
 * Reading goes through matio; checking and writing know the bytes of MAT 5 themselves (The
 * MathWorks, "MAT-File Format", 1. Level 5), since the one must not trust matio and the
 * other needs none of it. */
#ifndef FERRY_MAT_H
#define FERRY_MAT_H

#include "data/variables.h"

/* 5, 7 (for 7.3), or 0: from the version and byte order in the 128-byte head. */
int ferry_i_mat_version(const char *s, int64_t n);
/* FERRY_EDATA when a length in the file is not true. matio believes them all. */
ferry_status ferry_i_mat_check(ferry_ctx *ctx, const ferry_input *in);
/* Variables as matio has them, of a MAT 7.3 file. */
typedef struct ferry_mat_vars {
    struct matvar_t **v;
    int64_t n, cap;
} ferry_mat_vars;
/* name NULL: the outlines of all variables; else that one with its values, if it is there. Read by
 * another program (mat73.c). FERRY_EDATA: damaged or too large; FERRY_ENEEDS: the program is not
 * there. Free also after a failure. */
ferry_status ferry_i_mat73(ferry_ctx *ctx, const ferry_input *in, const char *name,
                           ferry_mat_vars *out);
void ferry_i_mat_vars_free(ferry_mat_vars *vars);
/* Write a view or labels as MAT 5; no options are looked at. FERRY_EINVAL when a variable
 * is beyond the 4 GiB that an element can have. */
ferry_status ferry_i_mat_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                               const ferry_opts *opts);

#endif
