/* Bytes out of compressed files, tar and zip archives. Names and sizes come from strangers:
 * every one is checked against the bytes that are there before it is used. */
#ifndef FERRY_ARCHIVE_H
#define FERRY_ARCHIVE_H

#include "data/data.h"

/* ---- compressed bytes ---- */

/* Most bytes that a compressed input may unpack to: 64 GiB or the machine's memory. */
int64_t ferry_i_unpack_limit(void);
bool ferry_i_is_gzip(const char *bytes, int64_t n);
bool ferry_i_is_xz(const char *bytes, int64_t n);
/* Unpack a whole gzip or xz file (which of the two is told by its bytes) into new memory
 * for ferry_i_free(). FERRY_EDATA when it is truncated or damaged or grows beyond limit. */
ferry_status ferry_i_unpack(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                            int64_t limit, char **out, int64_t *out_n);
/* Unpack raw deflate of n bytes to exactly want bytes. */
ferry_status ferry_i_inflate_raw(ferry_ctx *ctx, const char *path, const char *bytes,
                                 int64_t n, char *out, int64_t want);

/* ---- archives ---- */

/* A regular file inside an archive. */
typedef struct ferry_member {
    char *name;     /* without a leading "./" */
    int64_t offset; /* where its stored bytes begin */
    int64_t packed; /* stored bytes */
    int64_t size;   /* bytes once unpacked */
    int method;     /* 0 as is, 8 deflate; tar: always 0 */
    uint32_t crc;   /* zip only */
} ferry_member;

typedef struct ferry_archive {
    const char *data; /* borrowed from the input */
    int64_t data_size;
    const char *path; /* borrowed, for messages */
    bool zip;
    ferry_member *members; /* sorted by name */
    int64_t n, cap;
} ferry_archive;

bool ferry_i_is_zip(const char *bytes, int64_t n);
bool ferry_i_is_tar(const char *bytes, int64_t n);
/* List the regular files of an opened (and so uncompressed) tar or zip, told apart by
 * content. `in` must outlive the archive. FERRY_EDATA when it is neither, truncated or
 * damaged. Free also after a failure. */
ferry_status ferry_i_archive_list(ferry_ctx *ctx, const ferry_input *in,
                                  ferry_archive *out);
void ferry_i_archive_free(ferry_archive *a);
/* Likewise for a folder tree (members have names only) or an archive that `in` is opened
 * on here: close it after freeing the archive. */
ferry_status ferry_i_tree_list(ferry_ctx *ctx, const char *path, ferry_input *in,
                               ferry_archive *out);
/* The member of that name, or NULL. */
const ferry_member *ferry_i_archive_find(const ferry_archive *a, const char *name);
/* Bytes of a member. *owned is NULL when they lie in the input itself, else new memory for
 * ferry_i_free(). Zip: size and CRC are checked. */
ferry_status ferry_i_archive_bytes(ferry_ctx *ctx, const ferry_archive *a,
                                   const ferry_member *m, const char **bytes, void **owned);
/* The two kinds; used by ferry_i_archive_list. Members in file order. */
ferry_status ferry_i_tar_list(ferry_ctx *ctx, ferry_archive *a);
ferry_status ferry_i_zip_list(ferry_ctx *ctx, ferry_archive *a);
/* Add a member to the list (name copied, len bytes). */
ferry_status ferry_i_archive_add(ferry_ctx *ctx, ferry_archive *a, const char *name,
                                 int64_t len, const ferry_member *m);

/* ---- writing a zip (members stored as they are) ---- */

typedef struct ferry_zip_out {
    ferry_out *out; /* borrowed */
    int64_t at;     /* bytes written so far */
    ferry_text directory;
    int64_t n;
} ferry_zip_out;
/* Zero-initialise, set out, add members (bytes are head then body; either may be empty),
 * end. A write error is kept by `out` and reported by its commit. */
void ferry_i_zip_add(ferry_zip_out *z, const char *name, const void *head, int64_t n_head,
                     const void *body, int64_t n_body);
/* Writes the directory. FERRY_ENOMEM when a part of it could not be kept. Frees z's
 * parts. */
ferry_status ferry_i_zip_end(ferry_ctx *ctx, ferry_zip_out *z);

/* ---- paths ---- */

/* Split "file#name": a file of the whole name wins; else the first # that follows the name
 * of something that exists. *member is NULL when there is none. New strings. */
ferry_status ferry_i_split_path(ferry_ctx *ctx, const char *path, char **base,
                                char **member);
/* Open the file itself: no "#". */
ferry_status ferry_i_input_file(ferry_ctx *ctx, const char *path, ferry_input *in);

#endif
