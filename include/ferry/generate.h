/* Synthetic tasks with known truth. */
#ifndef FERRY_GENERATE_H
#define FERRY_GENERATE_H

#include "ferry/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ferry_generator_info {
    const char *name, *summary;
    const ferry_opt_table *options;
} ferry_generator_info;

FERRY_API const ferry_generator_info *ferry_generator_at(int64_t i);
/** Write the task NAME (task.yaml and its data) into a folder, which is made. Seed from the
 * context. A folder that has a task.yaml is refused: nobody's work is overwritten. */
FERRY_API ferry_status ferry_generate(ferry_ctx *ctx, const char *name,
                                      const ferry_opts *opts, const char *dir);

#ifdef __cplusplus
}
#endif

#endif
