/* Bytes out of compressed files and archives.
 *
 * gzip is unpacked by zlib, which we link; everything else by libarchive, which is loaded at
 * run time (core/library.c says why). Names and sizes are untrusted: memory grows with
 * the bytes that arrive, never with what a header promises, and stops at a limit. */
#ifndef FERRY_ARCHIVE_H
#define FERRY_ARCHIVE_H

#include "data/data.h"

/* ---- compressed bytes ---- */

/* Most bytes that an input may come to. packed: its size as it lies there, 100 times of which it may
 * unpack to, or 256 MiB; -1: not known (a pipe). Never more than half of the memory that is free;
 * what the context says instead of all that, if it does. */
int64_t ferry_i_input_limit(const ferry_ctx *ctx, int64_t packed);
/* FERRY_EDATA: `path` comes to more than limit bytes. `what`: "unpacks to", "has" ... */
ferry_status ferry_i_too_large(ferry_ctx *ctx, const char *path, const char *what,
                               int64_t limit);
/* "gzip", "xz", "bzip2" or "zstd", by the first bytes; NULL: not compressed. */
const char *ferry_i_packed(const char *bytes, int64_t n);
/* Unpack a whole compressed file into new memory for ferry_i_free(). FERRY_EDATA when it is
 * truncated or damaged or grows beyond limit; FERRY_ENEEDS without libarchive. */
ferry_status ferry_i_unpack(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                            int64_t limit, char **out, int64_t *out_n);

/* Bytes that come in pieces: p holds n of at most `limit`. */
typedef struct ferry_grown {
    /* for ferry_i_free(); NULL until the first byte */
    char *p;
    int64_t n, cap, limit;
} ferry_grown;
/* Capacity for `more` bytes (at least 1) behind the n there are; doubles, so a whole file costs
 * O(its size). FERRY_EDATA beyond the limit; path begins the message. */
ferry_status ferry_i_room(ferry_ctx *ctx, const char *path, int64_t more, ferry_grown *g);
/* The part of ferry_i_unpack that libarchive does: xz, bzip2, zstd. `how` is its name. */
ferry_status ferry_i_unfilter(ferry_ctx *ctx, const char *path, const char *how,
                              const char *bytes, int64_t n, ferry_grown *g);

/* libarchive's own name and version; NULL: it cannot be loaded. */
const char *ferry_i_archive_version(void);

/* ---- archives and folders ---- */

/* A regular file inside an archive or folder. */
typedef struct ferry_member {
    char *name;    /* without a leading "./" */
    int64_t order; /* place in the archive: equal names keep it */
    int64_t size;  /* bytes once unpacked (0 in a folder) */
    const char
        *bytes; /* NULL unless they were asked for; else in the input or in `owned` */
    void *owned;
} ferry_member;

/* What a listing found. Free with ferry_i_archive_free() before the input it was made from
 * is closed: members may point into it. */
typedef struct ferry_archive {
    const char *path;      /* borrowed, for messages */
    bool folder;           /* members have names only */
    ferry_member *members; /* sorted by name */
    int64_t n, cap;
} ferry_archive;

/* Which members' bytes a listing brings along. Members that are stored as they are (tar, what
 * NumPy writes) cost nothing: their bytes are those of the input. The others are unpacked,
 * together at most ferry_i_input_limit() bytes; checksums of zip and 7z are verified. */
typedef struct ferry_bring {
    bool all;
    const char *only; /* this one; NULL: none */
} ferry_bring;

/* List the regular files of a tar, zip or 7z (by content; `in` is already uncompressed
 * and must outlive the archive). Names that begin with a point are left out. FERRY_EDATA when
 * it is none of them, truncated or damaged; FERRY_ENEEDS without libarchive. One pass over
 * the archive. Free also after a failure. */
ferry_status ferry_i_archive_list(ferry_ctx *ctx, const ferry_input *in, ferry_bring bring,
                                  ferry_archive *out);
/* Frees names and unpacked bytes, not the input. A zeroed archive is fine. */
void ferry_i_archive_free(ferry_archive *a);
/* Likewise, names only, for a folder tree or an archive that `in` is opened on here: close it
 * after freeing the archive. */
ferry_status ferry_i_tree_list(ferry_ctx *ctx, const char *path, ferry_bring bring,
                               ferry_input *in, ferry_archive *out);
/* The (first) member of that name, or NULL. */
const ferry_member *ferry_i_archive_find(const ferry_archive *a, const char *name);
/* "path/name" in a folder, "path#name" in an archive. New string. */
char *ferry_i_archive_path(const ferry_archive *a, const ferry_member *m);
/* For those who list: add a member (name copied; *m filled but for its name and order) unless
 * its name begins with a point; sort when all are there. */
ferry_status ferry_i_archive_add(ferry_ctx *ctx, ferry_archive *a, const char *name,
                                 ferry_member m);
void ferry_i_archive_sort(ferry_archive *a);

/* ---- writing a zip (members stored as they are) ---- */

/* A zip being written. Members go out at once; their directory records are gathered,
 * because the directory stands at the end of the file and holds every member's offset. */
typedef struct ferry_zip_out {
    ferry_out *out; /* borrowed */
    int64_t at;     /* bytes written so far */
    ferry_text directory;
    /* members so far, for the directory's last record */
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
