/* What the files about reports share. */
#ifndef FERRY_REPORT_INTERNAL_H
#define FERRY_REPORT_INTERNAL_H

#include "eval/eval.h"

/* Decimals that suit a metric over all the methods that ran; -1: an exponent. */
int ferry_i_report_places(const ferry_results *rs, int64_t m);
/* A number with so many decimals, "n/a" for NaN; sign: with a plus. */
void ferry_i_report_number(char *buf, size_t n, int places, bool sign, double x);

/* Bytes of a line "MemTotal:  16384 kB" of a file such as /proc/meminfo, or -1. */
int64_t ferry_i_proc_bytes(const char *path, const char *name);

/* Parts of results.json; NULL: no memory. JSON has no NaN: what is not finite is null. */
struct json_t *ferry_i_report_real(double x);
struct json_t *ferry_i_report_reals(int64_t n, const double *x);
/* A method's verdict with its controls and sources; null for what is not judged. */
struct json_t *ferry_i_report_verdict(const ferry_results *rs, const ferry_result *r);
/* The guard's choice; null without one. */
struct json_t *ferry_i_report_guard(const ferry_results *rs);
/* ... in words. New string, NULL: no memory. */
char *ferry_i_guard_sentence(const ferry_results *rs);
/* What the predictions of the first repeat look like; null when there is nothing to
 * show. */
struct json_t *ferry_i_report_picture(const ferry_results *rs, const ferry_result *r);

#endif
