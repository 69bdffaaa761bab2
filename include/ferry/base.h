/* What every other header needs: visibility, version, status codes.
 *
 * Rules that hold in all headers:
 * - What is listed has an _at, which takes 0, 1, ... and gives NULL past the last.
 * - Structs that a call fills for its caller, and those that belong to results, begin with their size:
 *   the caller sets it to sizeof, so that a library with more fields writes no further than it may.
 *   Plain views of memory (ferry_array, ferry_sparse, ferry_row) never change and have none.
 * - What a getter returns lives as long as the object it comes from, unless it says otherwise. */
#ifndef FERRY_BASE_H
#define FERRY_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FERRY_API __attribute__((visibility("default")))
#define FERRY_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define FERRY_API
#define FERRY_PRINTF(a, b)
#endif

/** How a call ended. 0 is fine, errors are negative; ferry_message() has the sentence. */
typedef enum ferry_status {
    FERRY_OK = 0,
    FERRY_EINVAL = -1,     /**< a bad argument or option */
    FERRY_EDATA = -2,      /**< a file or data set that is not what it should be */
    FERRY_ENOMEM = -3,     /**< out of memory */
    FERRY_EIO = -4,        /**< the system could not read or write */
    FERRY_ECANCELLED = -5, /**< the progress callback said FERRY_CANCEL */
    FERRY_ENUMERIC = -6,   /**< a computation broke down */
    FERRY_ENEEDS = -7      /**< the task lacks something that the method needs */
} ferry_status;

/** Name of a status, such as "bad input". Never NULL. */
FERRY_API const char *ferry_status_name(ferry_status status);

/** The version that this header belongs to. While the first number is 0, the second tells which
 * ABI it is: programs built for 0.3 run with any 0.3.x (SONAME libferry.so.0.3). */
#define FERRY_VERSION_MAJOR 0
#define FERRY_VERSION_MINOR 3
#define FERRY_VERSION_PATCH 0
#define FERRY_VERSION "0.3.0"

/** Version of the library that runs, such as "0.3.0". */
FERRY_API const char *ferry_version(void);

/** Free a string that a ferry call gave to the caller. NULL is fine. */
FERRY_API void ferry_string_free(char *text);

/**
 * Replace the functions that all heap memory of the library comes from.
 * The one process-wide setting: call it before anything else. NULLs restore the C
 * library's.
 */
FERRY_API void ferry_set_allocator(void *(*calloc_fn)(size_t, size_t),
                                   void *(*realloc_fn)(void *, size_t),
                                   void (*free_fn)(void *));

#ifdef __cplusplus
}
#endif

#endif
