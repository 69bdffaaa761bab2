/* ferry answer: what its two files share. */
#ifndef FERRY_CLI_ANSWER_H
#define FERRY_CLI_ANSWER_H

#include "cli.h"

/* One of the tables, as it was found. */
typedef struct table_in {
    const char *path;
    ferry_role role;
    ferry_description *is;
    char *drop;                          /* those of the columns to leave out that it has */
    bool with_label, with_id, with_drop; /* which of the columns that were named it has */
} table_in;

/* All of them: sources, bridges, and last the target. */
typedef struct answer_in {
    int64_t n;
    table_in *table;
    const char *goal, *metric; /* as in task files */
} answer_in;

/* Make the folder and write its task.yaml. Returns the exit code. */
int answer_write_task(const cli *c, const answer_in *a, const char *dir);

#endif
