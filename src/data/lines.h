/* What the text formats share: spans of text, missing cells, coded names, and labels made from texts. */
#ifndef FERRY_LINES_H
#define FERRY_LINES_H

#include "data/data.h"

/* Text inside an input. s NULL: missing. */
typedef struct ferry_span {
    const char *s;
    int64_t n;
} ferry_span;

/* Line number of a place in a text. From 1. O(bytes before it): for messages only. */
int64_t ferry_i_line_of(const char *begin, const char *at);
/* FERRY_EDATA when there is a zero byte: not text. */
ferry_status ferry_i_check_text(ferry_ctx *ctx, const ferry_input *in);
/* FERRY_EINVAL when a name (NULL: none) has a line end, which a format of lines cannot hold. */
ferry_status ferry_i_fit_lines(ferry_ctx *ctx, const char *path, const ferry_ids *names);
/* A cell that says "nothing here": blank, NA, NaN, nan, N/A, ?, null, or `more`. */
bool ferry_i_is_missing(const char *s, int64_t n, const char *more);

/* Names in one line: separators and control bytes as %XX, so that they can stand between
 * spaces and commas. */
void ferry_i_code(ferry_text *t, const char *name);
/* Add a name coded so. Its number, -1: no memory. */
int64_t ferry_i_decode(ferry_ids *names, const char *s, int64_t n, bool *added);

/* Labels from one text an instance (s NULL: missing). Whole numbers of at most 1000 kinds
 * and texts become classes, other numbers numbers. A class is called as it is written. Names:
 * numbers ascending, else strcmp order. */
ferry_status ferry_i_labels_of_texts(ferry_ctx *ctx, int64_t n, const ferry_span *text,
                                     ferry_labels **out);
/* Names brought into that order: order[k] is the new place of name k. New objects. */
ferry_status ferry_i_names_sorted(ferry_ctx *ctx, const ferry_ids *names, ferry_ids **out,
                                  int32_t **order);

#endif
