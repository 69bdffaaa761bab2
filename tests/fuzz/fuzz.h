/* What the fuzz targets share. */
#ifndef FERRY_FUZZ_H
#define FERRY_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "data/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* One context for all runs: one thread, no log. */
ferry_ctx *fuzz_ctx(void);
/* The path of a file in memory that holds these bytes until the next call. */
const char *fuzz_file(const uint8_t *bytes, size_t n);
/* The path of a name in a temporary folder of this process (static buffer of the last call), which goes when
 * it ends; and a file written there. */
const char *fuzz_path(const char *name);
void fuzz_put(const char *name, const void *bytes, size_t n);
/* A message must be one line and must not be empty when a call failed. */
void fuzz_check(ferry_ctx *ctx, ferry_status st);
/* What a program does with a file it has read: describe it, put it into a domain. Frees
 * it. */
void fuzz_use(ferry_ctx *ctx, ferry_data *data);

#endif
