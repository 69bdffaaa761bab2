/* Options: one table per thing that can be set gives defaults, ranges, help, flags and
 * docs. */
#ifndef FERRY_OPTIONS_H
#define FERRY_OPTIONS_H

#include "ferry/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ferry_opt_type {
    FERRY_OPT_INT,    /**< int64_t */
    FERRY_OPT_REAL,   /**< double */
    FERRY_OPT_BOOL,   /**< int; written yes or no */
    FERRY_OPT_CHOICE, /**< int, the place in choices */
    FERRY_OPT_TEXT,   /**< const char *; "" when not given */
    FERRY_OPT_FILE    /**< the same; in a task file relative to its folder */
} ferry_opt_type;

/** One line of an option table. */
typedef struct ferry_opt {
    const char *name;
    ferry_opt_type type;
    size_t offset;       /**< of the field in the options struct */
    const char *def;     /**< default, as a user would write it */
    double min, max;     /**< range of INT and REAL */
    const char *choices; /**< "a|b|c" for CHOICE ("b,old": an old name of b), else NULL */
    const char *help;    /**< one line */
} ferry_opt;

/** The options of one thing that can be set (a method, a reader ...). Opaque; lives as long as
 * the library. */
typedef struct ferry_opt_table ferry_opt_table;

/** The options of a call: "read" (and write), "evaluate", "stream", "trial" and "train"
 * (ferry_select()) or "fetch"; NULL for another name. Methods and generators have theirs in
 * ferry_method_info and ferry_generator_info, servers in ferry_serve_options(). */
FERRY_API const ferry_opt_table *ferry_options(const char *name);
/** Option i, NULL past the last. */
FERRY_API const ferry_opt *ferry_opt_at(const ferry_opt_table *table, int64_t i);

/** A set of "key=value" settings. Opaque. */
typedef struct ferry_opts ferry_opts;

/** One of them. */
typedef struct ferry_setting {
    const char *key;
    const char *value;
} ferry_setting;

FERRY_API ferry_status ferry_opts_new(ferry_ctx *ctx, ferry_opts **out);
/** Set one key (copied); a later setting replaces an earlier one. */
FERRY_API ferry_status ferry_opts_set(ferry_ctx *ctx, ferry_opts *opts, const char *key,
                                      const char *value);
/** Value of a key, or NULL. */
FERRY_API const char *ferry_opts_get(const ferry_opts *opts, const char *key);
/** Number i in the order set, NULL outside. Borrowed until the set changes. */
FERRY_API const ferry_setting *ferry_opts_at(const ferry_opts *opts, int64_t i);
FERRY_API void ferry_opts_free(ferry_opts *opts);

/** Range or choices of an option in words, such as "1 .. 1e+09" or "a | b". New string. */
FERRY_API char *ferry_opt_range(const ferry_opt *opt);

/** The nearest of n words to `word`, for "did you mean", or NULL when none is near. Borrowed
 * from words. */
FERRY_API const char *ferry_nearest(const char *word, int64_t n, const char *const *words);

#ifdef __cplusplus
}
#endif

#endif
