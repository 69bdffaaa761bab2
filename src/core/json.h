/* JSON read by jansson when memory may run out, and plain files read whole. */
#ifndef FERRY_CORE_JSON_H
#define FERRY_CORE_JSON_H

#include <jansson.h>

#include "core/core.h"

/* n bytes of text as JSON. FERRY_ENOMEM, or FERRY_OK; *out is NULL when they are no JSON, and `error` (may be
 * NULL) says why. jansson's own calls must not be used: they abort when memory runs out (json.c). */
ferry_status ferry_i_json_parse(ferry_ctx *ctx, const char *text, int64_t n, size_t flags,
                                json_error_t *error, json_t **out);
/* Of a file; the line of `error` is below 0 when that cannot be read. */
ferry_status ferry_i_json_load(ferry_ctx *ctx, const char *path, json_error_t *error,
                               json_t **out);

/* All of a plain file (`expected`: what it should be, as in "a model file"), with a zero behind it. */
ferry_status ferry_i_read_whole(ferry_ctx *ctx, const char *path, const char *expected,
                                char **out, int64_t *n);
/* p; when that is NULL it is noted that n * size bytes were refused: for memory that others hand out. */
void *ferry_i_asked(void *p, int64_t n, size_t size);

#endif
