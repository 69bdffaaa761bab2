/* Public data sets: where they live, their checksums, and getting them. */
#ifndef FERRY_FETCH_H
#define FERRY_FETCH_H

#include "ferry/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One data set of a catalog. */
typedef struct ferry_dataset {
    const char *name, *summary, *terms; /**< terms: what is known about its licence */
    int64_t files;
    int64_t bytes; /**< of the files whose size is known */
} ferry_dataset;

typedef struct ferry_catalog ferry_catalog;

/** The catalog in a file, or the one that Ferry comes with (path NULL). */
FERRY_API ferry_status ferry_catalog_load(ferry_ctx *ctx, const char *path,
                                          ferry_catalog **out);
FERRY_API void ferry_catalog_free(ferry_catalog *catalog);
FERRY_API const ferry_dataset *ferry_catalog_at(const ferry_catalog *catalog, int64_t i);

/**
 * Get the files of a data set into DIR/NAME. Files that are there with the right checksum
 * are kept; one that was begun is resumed. Every file is checked before it gets its name,
 * and archives are unpacked beside themselves.
 */
FERRY_API ferry_status ferry_fetch(ferry_ctx *ctx, const ferry_catalog *catalog,
                                   const char *name, const char *dir,
                                   const ferry_opts *opts);

#ifdef __cplusplus
}
#endif

#endif
