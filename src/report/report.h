/* What the files about reports share. */
#ifndef FERRY_REPORT_INTERNAL_H
#define FERRY_REPORT_INTERNAL_H

#include "eval/eval.h"

/* Of results.json: 2 has eight verdicts and the crossed variance; 1 had three, and no number here. */
enum { FERRY_RESULTS_SCHEMA = 2 };

/* The result of that rank, from 1; NULL past the end. */
const ferry_result *ferry_i_results_ranked(const ferry_results *rs, int64_t rank);

/* Bytes of a line "MemTotal:  16384 kB" of a file such as /proc/meminfo, or -1. */
int64_t ferry_i_proc_bytes(const char *path, const char *name);
/* {"name": "version", ...} */
struct json_t *ferry_i_libraries_json(const ferry_installation *installation);

/* Parts of results.json; NULL: no memory. JSON has no NaN: what is not finite is null. */
struct json_t *ferry_i_report_real(double x);
struct json_t *ferry_i_report_reals(int64_t n, const double *x);
/* A file of a run's folder as JSON; *out is NULL when it is not there and not needed. */
ferry_status ferry_i_report_file(ferry_ctx *ctx, const char *dir, const char *name,
                                 bool needed, struct json_t **out);
/* As text that people can read, with a line end. Takes `root`, of which NULL means no memory. */
ferry_status ferry_i_report_dump(ferry_ctx *ctx, struct json_t *root, char **out);
/* What the predictions of the first repeat look like; null when there is nothing to
 * show. */
struct json_t *ferry_i_report_picture(const ferry_results *rs, const ferry_result *r);

#endif
