/* What one file holds: a feature matrix, graph edges or ratings, with ids, names and
 * labels. */
#ifndef FERRY_DATA_H
#define FERRY_DATA_H

#include "ferry/array.h"
#include "ferry/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The content of one file. Opaque. */
typedef struct ferry_data ferry_data;

/** A file format. */
typedef struct ferry_format_info {
    const char *name;       /**< such as "svmlight" */
    const char *extensions; /**< such as ".svm .libsvm" */
    const char *summary;    /**< one line */
    int writes;             /**< whether ferry_write() knows it */
} ferry_format_info;

FERRY_API int64_t ferry_format_count(void);
FERRY_API const ferry_format_info *ferry_format_at(int64_t i);

/** The options that readers and writers take (format, header, id, label, text options
 * ...). */
FERRY_API const ferry_opt_table *ferry_read_options(void);

/**
 * Read a file. "file#name" picks a variable or member of a MAT, NPZ or tar file.
 *
 * @param path  a file, or a folder for text
 * @param opts  settings of ferry_read_options(); NULL: format by extension, else by content
 * @param out   new object for ferry_data_free(); NULL when the call fails
 * @return FERRY_EDATA with "file:line: what was expected" when the content is wrong
 */
FERRY_API ferry_status ferry_read(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                                  ferry_data **out);
/** Write data to a temporary name and rename; format by extension unless opts has
 * "format". */
FERRY_API ferry_status ferry_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                   const ferry_opts *opts);
/**
 * Describe data as JSON text: format, kind, rows, columns, non-zeros, missing cells, label
 * counts, memory; for containers the variables inside.
 */
FERRY_API ferry_status ferry_data_describe(ferry_ctx *ctx, const ferry_data *data,
                                           char **out);
FERRY_API void ferry_data_free(ferry_data *data);

#ifdef __cplusplus
}
#endif

#endif
