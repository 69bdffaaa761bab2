/* Delimited text: parts of the reader.
 *
 *   layout    separator, header and what each column is for, from the options and a sample
 *   cells     fields, and all rows parsed by threads into numbers and texts
 *   features  categories and names; lint: columns that are most likely no features
 */
#ifndef FERRY_DELIMITED_H
#define FERRY_DELIMITED_H

#include "data/records.h"

/* What a column is for. Number and category are the features; a category shows by text in
 * it, in the sample or later on. */
typedef enum role_of { COL_NUMBER, COL_CATEGORY, COL_ID, COL_LABEL, COL_DROP } role_of;

/* One column of the file. While rows are read its role may change once: from number to
 * category, when a thread finds text in it (delimited_cells.c). */
typedef struct column {
    char *name; /* NULL without a header */
    role_of role;
    bool unnamed;        /* a header leaves it blank: name is "column N" */
    bool must_be_number; /* it was when the view was read first */
    int found_text;      /* a thread met text in it */
    int64_t slot;        /* where it goes: column of numbers, or of texts */
} column;

/* A file while it is read. Spans in `text` and the pieces point into the source. */
typedef struct table {
    scope *s;
    const source *from;
    const ferry_read_settings *set;
    ferry_data *d; /* its x is rows x numbers until the categories are features */
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
    char named[2];                  /* ... and the separator that it names, or "" */
    column *col;
    int64_t cols, numbers, texts; /* all; those with role number; those kept as text */
    records r;
    int64_t rows;
    double *x;        /* rows x numbers, NULL without any */
    ferry_span *text; /* rows x texts; a quoted text keeps its quotes */
} table;

/* Where a reader stands. line counts newlines, also those within quotes: it is for
 * messages. */
typedef struct cursor {
    const char *s, *end;
    int64_t line;
} cursor;

/* One field, blanks around it left out, quotes kept; c moves to the separator's end or to
 * the newline (*last). False: a quote is not closed or text follows one. The span points
 * into the text: nothing is copied or unquoted. */
bool next_field(const table *t, cursor *c, ferry_span *out, bool *last);
/* Skip lines without anything in them. */
void skip_blank_lines(cursor *c);
/* Past the newline where a field stopped. */
void next_line(cursor *c);
/* What a field holds. */
typedef enum cell { CELL_MISSING, CELL_NUMBER, CELL_TEXT } cell;
cell read_cell(const table *t, ferry_span f, double *value);
/* Whether a text without quotes is a number, or a word for infinity (which is INFINITY). */
bool is_number(ferry_span f, double *value);
/* A field in quotes. */
static inline bool is_quoted(ferry_span f)
{
    return f.n >= 2 && *f.s == '"';
}
/* Text of a field without its quotes, doubled ones undone, as a number in `into`. */
int64_t add_field(scope *s, ferry_ids *into, ferry_span f, bool *added);
/* Likewise as a string of s. */
char *field_text(scope *s, ferry_span f);

/* First step: separator, header, number of columns and a first guess of their roles. */
void table_layout(table *t);
/* Second step: ids, labels and left-out columns, from the options and the header's
 * names. */
void table_roles(table *t);
/* The separator that a text seems to have (n_sep bytes in sep); how many fields a line, or
 * 0 when no separator gives the same number on every line. */
int64_t guess_separator(table *t);
/* Third step: all rows into x (rows x numbers) and text (rows x texts), by threads. Reads
 * the file once, or once more when a column of numbers turns out to hold text. */
void table_load(table *t);
/* The view of d: x and the names of its features (delimited_features.c). */
void table_features(table *t);
/* Warnings of features that look like labels, ids or words for missing (delimited_lint.c). */
void table_lint(const table *t);
/* A cell of column j, which is kept as text. */
static inline ferry_span table_cell(const table *t, int64_t row, int64_t j)
{
    return t->text[row * t->texts + t->col[j].slot];
}
static inline bool is_feature(const column *c)
{
    return c->role == COL_NUMBER || c->role == COL_CATEGORY;
}
/* Line of an instance. Only needed for messages, so it is found by counting. */
int64_t table_line(const table *t, int64_t row);
const char *table_name(const table *t, int64_t j);
/* At most 30 bytes of a field, for a message: "%.*s". */
#define SHOWN(f) (int)((f).n < 30 ? (f).n : 30), (f).s

/* Features or labels as CSV, or with tabs where the path or sep=tab says so. */
ferry_status ferry_i_delimited_write(ferry_ctx *ctx, const ferry_data *data,
                                     const char *path, const ferry_opts *opts);

#endif
