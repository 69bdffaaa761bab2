/* What the files about reports share. */
#ifndef FERRY_REPORT_INTERNAL_H
#define FERRY_REPORT_INTERNAL_H

#include "eval/eval.h"

/* Decimals that suit a metric over all the methods that ran; -1: an exponent. */
int ferry_i_report_places(const ferry_results *rs, int64_t m);
/* A number with so many decimals, "n/a" for NaN; sign: with a plus. */
void ferry_i_report_number(char *buf, size_t n, int places, bool sign, double x);

/* Parts of results.json; NULL: no memory. JSON has no NaN: what is not finite is null. */
struct json_t *ferry_i_report_real(double x);
struct json_t *ferry_i_report_reals(int64_t n, const double *x);
struct json_t *ferry_i_report_string(const char *text);
/* A method's verdict with its controls and sources; null for what is not judged. */
struct json_t *ferry_i_report_verdict(const ferry_results *rs, const ferry_result *r);

#endif
