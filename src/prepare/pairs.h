/* Links between instances from a file, and pairs of rows of a task (pairs.c). */
#ifndef FERRY_PREPARE_PAIRS_H
#define FERRY_PREPARE_PAIRS_H

#include "data/data.h"
#include "learn/linked.h"
#include "task/task.h"

/* Links of at most `most` instances from a file (id, id, 1 or -1); all instances are rows. */
links links_of_file(scope *s, const char *path, const domain *d, int64_t most);

/* The task's pairs of the source and the target; NULL: none. */
const ferry_pairs *task_pairs(const ferry_task *task);
/* The same by row (learn/problem.h). They may be given with either domain on the left; those of which a side has no
 * features are passed over. Fails where they are of other domains, or where none is left: to go on without them would be
 * another method than the one that was asked for. */
void put_pairs(scope *s, const ferry_task *task, const char *method, problem *p);

#endif
