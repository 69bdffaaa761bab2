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

FERRY_API const ferry_format_info *ferry_format_at(int64_t i);

/**
 * Read a file. "file#name" picks a variable or member of a MAT, NPZ or tar file.
 *
 * @param path  a file, or a folder for text
 * @param opts  settings of ferry_options("read"); NULL: format by extension, else by content
 * @param out   new object for ferry_data_free(); NULL when the call fails
 * @return FERRY_EDATA with "file:line: what was expected" when the content is wrong
 */
FERRY_API ferry_status ferry_read(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                                  ferry_data **out);
/** Write data to a temporary name and rename; format by extension unless opts has
 * "format". */
FERRY_API ferry_status ferry_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                   const ferry_opts *opts);
/** What a file holds, in numbers. A number that is not known is NaN, a text NULL; counts of what
 * the kind does not have are 0. Texts are UTF-8. Later versions add fields at the end. */
typedef struct ferry_description {
    size_t size; /**< of this struct in the library that runs */
    const char *path;
    const char *format;
    const char *kind;     /**< "view", "labels", "graph", "ratings", "listing" */
    int64_t memory_bytes; /**< of the arrays and names */

    int64_t rows;    /**< views and labels: instances */
    int64_t columns; /**< -1: there is no matrix */
    int sparse;
    int64_t nonzeros;
    int64_t missing;    /**< cells */
    int64_t empty_rows; /**< rows with nothing but zeros */
    int64_t n_features;
    const char *const *features; /**< the first n_features names; NULL: no names */
    int64_t n_ids;
    const char *const *ids; /**< the first n_ids; NULL: no ids */

    double density; /**< share of cells that are not 0; of ratings: that are known */
    double min;     /**< of cells, of weights of edges, of ratings */
    double max;
    double mean; /**< of ratings */

    const char *label_kind; /**< "class", "number", "set"; NULL: no labels */
    int64_t labels_known;   /**< instances */
    int64_t labels_missing;
    double label_min; /**< numbers */
    double label_max;
    double label_mean;
    double label_std;
    double cardinality; /**< sets: labels an instance has on average */

    int64_t n_counts; /**< classes or labels; ratings: values, when there are few */
    const char *const *count_names;
    const int64_t *counts; /**< n_counts: how often each occurs */

    int64_t nodes; /**< graphs */
    int64_t edges;
    int64_t self_links;

    int64_t ratings;
    int64_t to_predict; /**< pairs without a rating */
    int64_t users;
    int64_t items;

    int64_t n_members; /**< what a container holds */
    const char *const *members;
    const char *const *member_types;
    const char *json; /**< the same as JSON text */

    const char *scale; /**< what `scale: auto` takes for this matrix; NULL: there is none */
    const char *scale_reason; /**< and why */
} ferry_description;

/**
 * Describe data. Cost: a pass over it.
 * @param out  new, for ferry_description_free(); does not need `data` any more
 */
FERRY_API ferry_status ferry_data_describe(ferry_ctx *ctx, const ferry_data *data,
                                           ferry_description **out);
/** NULL is fine. */
FERRY_API void ferry_description_free(ferry_description *description);
FERRY_API void ferry_data_free(ferry_data *data);

#ifdef __cplusplus
}
#endif

#endif
