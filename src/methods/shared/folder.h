/* A task as a folder, for programs that are not ours. */
#ifndef FERRY_METHODS_FOLDER_H
#define FERRY_METHODS_FOLDER_H

#include "core/scope.h"
#include "task/task.h"

/* Write what a method may see of a resolved task into a folder that is there: task.yaml, which ferry reads; a file for
 * each view (CSV; sparse ones, or all where `arrays`: NPZ), graph, ratings and domain's labels; and predict.csv, what is to
 * be answered. Every label in it may be used. */
void write_folder(scope *s, const ferry_task *task, const char *folder, bool arrays);

#endif
