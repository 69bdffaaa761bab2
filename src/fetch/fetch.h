/* What the parts of ferry fetch share: catalog.c parses, download.c gets bytes, fetch.c
 * checks and unpacks them. */
#ifndef FERRY_FETCH_INTERNAL_H
#define FERRY_FETCH_INTERNAL_H

#include "core/core.h"
#include "ferry/fetch.h"

typedef enum ferry_deed {
    FERRY_KEEP,   /* the file as it comes */
    FERRY_GUNZIP, /* it comes compressed; size and checksum are of what is inside */
    FERRY_UNPACK  /* keep it, and put the members of the archive beside it */
} ferry_deed;

/* A file of a set: where it comes from, where it goes, and what it must be. */
typedef struct ferry_remote {
    char *path, *url; /* path: below the set's folder */
    uint8_t sha256[32];
    int64_t size; /* -1: not known */
    ferry_deed deed;
} ferry_remote;

/* A data set. info points into the texts below it and counts its files and bytes. */
typedef struct ferry_set {
    ferry_dataset info;
    char *name, *summary, *terms;
    ferry_remote *file;
    int64_t n, cap;
} ferry_set;

struct ferry_catalog {
    ferry_set *set;
    int64_t n, cap;
};

/* A path that stays below the folder it is joined to: relative, no "..", no empty part. */
bool ferry_i_path_inside(const char *path);

/* The options of ferry_fetch(): patience in seconds, tries per file; mirror "" for none. */
typedef struct ferry_fetch_settings {
    const char *mirror;
    int64_t patience, tries;
} ferry_fetch_settings;
extern const ferry_opt_table ferry_i_fetch_options;

/* Get url into the file `part`, which may hold the beginning already. `what` names it in
 * messages and progress. FERRY_EDATA: more than `most` bytes (-1: any number) came. FERRY_EIO: not reached or broken off; what came stays in part. */
ferry_status ferry_i_download(ferry_ctx *ctx, const ferry_fetch_settings *s,
                              const char *what, const char *url, int64_t most,
                              const char *part);

#endif
