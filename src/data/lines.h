/* What the text formats share: pieces of a file that threads parse side by side, spans of
 * text in it, missing cells, and labels made from texts.
 *
 * Where ranks read a file together (core/ranks.h) each parses a few pieces that follow each other. What it found in
 * them, and what it put in their places, then goes to all, so that every rank goes on as one process does.
 * All that decides how it goes on must come from what was shared. Else nothing of that happens: all pieces are ours. */
#ifndef FERRY_LINES_H
#define FERRY_LINES_H

#include "data/data.h"

/* Text inside an input. s NULL: missing. */
typedef struct ferry_span {
    const char *s;
    int64_t n;
} ferry_span;

/* A piece of a file that begins at the begin of a line and ends after a newline or at the
 * end. Threads fill in what they find. */
typedef struct ferry_piece {
    const char *begin, *end;
    int64_t line;              /* of its first byte, from 1 */
    int64_t lines;             /* newlines in it */
    int64_t rows, entries;     /* at most so many */
    int64_t row_at, entry_at;  /* where its rows and entries go */
    int64_t hashes;            /* '#' in it */
    int64_t lowest, highest;   /* indices seen */
    int64_t several, labelled; /* rows with several labels, and with at least one */
    int64_t bad_line;          /* of the first error, 0: none */
    char bad[160];             /* what was expected there */
} ferry_piece;

/* Cut [s, end) into pieces at line ends (new memory for ferry_i_free). Long enough to be
 * worth a thread's while, enough of them to keep all busy. */
ferry_status ferry_i_pieces(ferry_ctx *ctx, const char *s, const char *end,
                            ferry_piece **out, int64_t *n);
/* Number lines and, from rows and entries, set row_at and entry_at. Totals of both. */
void ferry_i_pieces_place(ferry_piece *p, int64_t n, int64_t first_line, int64_t *rows,
                          int64_t *entries);
/* Note an error unless the piece has one already. */
void ferry_i_piece_bad(ferry_piece *p, int64_t line, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
/* FERRY_EDATA for the first piece with an error. */
ferry_status ferry_i_pieces_check(ferry_ctx *ctx, const char *path, const ferry_piece *p,
                                  int64_t n);

/* Which pieces are ours. A file of one piece every rank parses itself. */
void ferry_i_pieces_mine(const ferry_ctx *ctx, int64_t n, int64_t *from, int64_t *to);
/* What ranks found in their pieces, counts and errors, for all. */
ferry_status ferry_i_pieces_share(ferry_ctx *ctx, ferry_piece *p, int64_t n);
/* What ranks put into the places of their pieces, for all: items (each of `size` bytes) go by row_at, or by entry_at. `all`
 * of them have room. */
typedef enum ferry_place_by { FERRY_BY_ROW, FERRY_BY_ENTRY } ferry_place_by;
ferry_status ferry_i_pieces_bring(ferry_ctx *ctx, const ferry_piece *p, int64_t n,
                                  ferry_place_by by, int64_t all, size_t size, void *items);
/* The same for spans of the text that begins at `text`, `each` of them a row. */
ferry_status ferry_i_pieces_bring_spans(ferry_ctx *ctx, const ferry_piece *p, int64_t n,
                                        int64_t rows, int64_t each, const char *text,
                                        ferry_span *spans);
/* Ids that every rank has numbered as its pieces name them become those of all, numbered as the file names them. *map (new)
 * has the number of each id of ours; NULL: they are the file's already. */
ferry_status ferry_i_pieces_unite(ferry_ctx *ctx, int64_t n, ferry_ids **ids,
                                  int64_t **map);

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
 * and texts become classes, other numbers numbers. Names: numbers ascending, else strcmp
 * order; +1 and 1 are the same. */
ferry_status ferry_i_labels_of_texts(ferry_ctx *ctx, int64_t n, const ferry_span *text,
                                     ferry_labels **out);
/* Names brought into that order: order[k] is the new place of name k. New objects. */
ferry_status ferry_i_names_sorted(ferry_ctx *ctx, const ferry_ids *names, ferry_ids **out,
                                  int32_t **order);

#endif
