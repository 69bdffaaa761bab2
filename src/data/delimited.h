/* Delimited text: parts of the reader.
 *
 *   layout   separator, header and what each column is for, from the options and a sample
 *   cells    fields, and all rows parsed by threads into numbers and texts
 *   build    categories, ids and labels; the data object
 */
#ifndef FERRY_DELIMITED_H
#define FERRY_DELIMITED_H

#include "data/lines.h"

/* What a column is for. Number and category are the features; a category is told by text in
 * it, in the sample or later on. */
typedef enum ferry_role_of {
    FERRY_COL_NUMBER,   /* a feature */
    FERRY_COL_CATEGORY, /* texts: one feature for each value */
    FERRY_COL_ID,
    FERRY_COL_LABEL,
    FERRY_COL_DROP
} ferry_role_of;

/* One column of the file. While rows are read its role may change once: from number to
 * category, when a thread finds text in it (delimited_cells.c). */
typedef struct ferry_column {
    char *name; /* NULL without a header */
    ferry_role_of role;
    bool unnamed;        /* a header leaves it blank: name is "column N" */
    bool must_be_number; /* it was when the view was read first */
    int found_text;      /* a thread met text in it */
    int64_t slot;        /* where it goes: column of numbers, or of texts */
} ferry_column;

/* A file while it is read. Spans in `text` and the pieces point into the input, so it must
 * stay open; names, columns, pieces, x and text belong to the table. */
typedef struct ferry_table {
    const ferry_input *in;
    const ferry_read_settings *s;
    ferry_data_kind as;
    /* n_sep bytes; "\n" is a separator that never occurs: the whole line is one field */
    char sep[16];
    int n_sep;   /* 0: runs of blanks */
    bool quotes; /* some field may be quoted */
    bool header;
    bool row_names; /* R's write.table(): the header has no name over the first column */
    bool plain_numbers;             /* no number stands for a missing cell */
    bool sets;                      /* the label columns make a set */
    const char *begin, *body, *end; /* whole text without BOM; first instance; end */
    const char *top;                /* begin, or behind Excel's first line "sep=;" ... */
    char told[2];                   /* ... and the separator that it names, or "" */
    ferry_column *col;
    int64_t cols, numbers, texts; /* all; those with role number; those kept as text */
    /* parts of [body, end) that threads parse, each from the begin of a record to the end
     * of one */
    ferry_piece *piece;
    int64_t pieces;
    int64_t rows;
    ferry_matrix *x;  /* rows x numbers */
    ferry_span *text; /* rows x texts; a quoted text keeps its quotes */
} ferry_table;

/* Where a reader stands. line counts newlines, also those within quotes: it is for
 * messages. */
typedef struct ferry_cursor {
    const char *s, *end;
    int64_t line;
} ferry_cursor;

/* One field, blanks around it left out, quotes kept; c moves to the separator's end or to
 * the newline (*last). False: a quote is not closed or text follows one. The span points
 * into the text: nothing is copied or unquoted. */
bool ferry_i_field(const ferry_table *t, ferry_cursor *c, ferry_span *out, bool *last);
/* Skip lines without anything in them. */
void ferry_i_skip_blank_lines(ferry_cursor *c);
/* Past the newline where a field stopped. */
void ferry_i_next_line(ferry_cursor *c);
/* What a field says: missing, a number (value), or text. */
typedef enum ferry_cell {
    FERRY_CELL_MISSING,
    FERRY_CELL_NUMBER,
    FERRY_CELL_TEXT
} ferry_cell;
ferry_cell ferry_i_cell(const ferry_table *t, ferry_span f, double *value);
/* Whether a text without quotes is a number, or a word for infinity (which is INFINITY). */
bool ferry_i_number_cell(ferry_span f, double *value);
/* Text of a field without its quotes, as a number in `into`; -1: no memory. */
int64_t ferry_i_field_add(ferry_ids *into, ferry_span f, bool *added);
/* Likewise as a string for ferry_i_free(), doubled quotes undone; NULL: no memory. */
char *ferry_i_field_text(ferry_span f); /* new string */

/* First step: separator, header, number of columns and a first guess of their roles. */
ferry_status ferry_i_table_layout(ferry_ctx *ctx, ferry_table *t);
/* Second step: ids, labels and left-out columns, from the options and the header's
 * names. */
ferry_status ferry_i_table_roles(ferry_ctx *ctx, ferry_table *t);
/* The separator that a text seems to have (n_sep bytes in sep); how many fields a line, or
 * 0 when no separator gives the same number on every line. */
int64_t ferry_i_guess_separator(ferry_table *t);
/* Third step: all rows into x (rows x numbers) and text (rows x texts), by threads. Reads
 * the file once, or once more when a column of numbers turns out to hold text. */
ferry_status ferry_i_table_load(ferry_ctx *ctx, ferry_table *t);
/* The view of d: x and the names of its features (delimited_features.c). */
ferry_status ferry_i_table_features(ferry_ctx *ctx, ferry_table *t, ferry_data *d);
/* Warnings of features that look like labels, ids or words for missing (delimited_slips.c). */
ferry_status ferry_i_table_slips(ferry_ctx *ctx, const ferry_table *t);
/* A cell of column j, which is kept as text. */
ferry_span ferry_i_table_cell(const ferry_table *t, int64_t row, int64_t j);
/* Line of an instance. Only needed for messages, so it is found by counting. */
int64_t ferry_i_table_line(const ferry_table *t, int64_t row);
char *ferry_i_column_name(const ferry_table *t, int64_t j); /* new string */

/* Features or labels as CSV, or with tabs where the path or sep=tab says so. */
ferry_status ferry_i_delimited_write(ferry_ctx *ctx, const ferry_data *data,
                                     const char *path, const ferry_opts *opts);

#endif
