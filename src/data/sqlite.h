/* Tables out of SQLite databases. */
#ifndef FERRY_SQLITE_H
#define FERRY_SQLITE_H

#include "data/archive.h"

/* Whether bytes, or a file, begin as a database does. */
bool ferry_i_is_sqlite(const char *bytes, int64_t n);
bool ferry_i_is_sqlite_file(const char *path);
/* What a statement (a name without blanks: a table) gives, as CSV, new memory for ferry_i_free(). path is for messages.
 * FERRY_EDATA where it fails, is more than one or would change something; FERRY_ENEEDS without libsqlite3. */
ferry_status ferry_i_sqlite(ferry_ctx *ctx, const char *path, const char *base,
                            const char *wanted, char **out, int64_t *n);

#endif
