/* A small task of every kind and the whole life of a method on it: task file, fit, save, load, predict,
 * write. For tests that go over all methods. */
#ifndef LIVES_H
#define LIVES_H

#include "ferry_test.h"

extern const char *const lives_tasks[];
extern const int64_t lives_n;
/* Write the task files and their data into the temporary folder. */
void lives_make(void);
/* "key=value" that a method needs on tasks this small, or NULL. */
const char *lives_settings(const char *method);
/* Path of a task; may be called by several threads once lives_make() has run. */
const char *lives_path(const char *name);
/* Files of this life have `tag` in their names. */
ferry_status method_life(ferry_ctx *ctx, const char *file, const char *method,
                         const char *tag);
/* st, unless it is an error and there is a file all the same: then FERRY_EIO. */
ferry_status lives_gone(ferry_ctx *ctx, ferry_status st, const char *path);

#endif
