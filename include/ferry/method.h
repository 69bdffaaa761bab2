/* Methods: what there is, what each needs and which options it takes. */
#ifndef FERRY_METHOD_H
#define FERRY_METHOD_H

#include "ferry/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ferry_kind {
    FERRY_KIND_BASELINE = 0, /**< does not transfer: what a transfer method has to beat */
    FERRY_KIND_TRANSFER = 1,
    FERRY_KIND_CONTROL = 2 /**< keeps everything but the knowledge */
} ferry_kind;

typedef struct ferry_method_info {
    const char *name, *summary, *reference;
    ferry_kind kind;
    unsigned goals;    /**< ferry_goal bits */
    const char *needs; /**< in words, such as "source labels, an intermediate domain" */
    const ferry_opt_table *options;
    int asked; /**< 1: runs only where a task names it */
} ferry_method_info;

/** Method number i, by name. Lives as long as the library. */
FERRY_API const ferry_method_info *ferry_method_at(int64_t i);
/** Method of that name, or NULL. */
FERRY_API const ferry_method_info *ferry_method_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
