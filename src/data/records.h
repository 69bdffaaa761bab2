/* The record engine, through which all text formats are read:
 *
 *   open     bytes -> text: checked, as UTF-8, numbers with decimal points
 *   cut      text -> pieces that begin and end at line ends, which threads parse side by side
 *   count    an upper bound of each piece's rows and entries, which gives it places in the stores
 *   parse    records of a piece -> cells -> the stores, each row at its place
 *   close    gaps between the pieces closed
 *
 * A format gives a schema (`records` of its ferry_format): how a record splits into cells, and what column each is.
 * Schemas of rows of features are in delimited.c, arff.c, linqs.c and svmlight.c, those of pairs with a value
 * (ratings, edges, matrix entries) are tables of triples.h.
 *
 * Where ranks read a file together (core/ranks.h) each parses a few pieces that follow each other. What it found in
 * them, and what it put in their places, then goes to all, so that every rank goes on as one process does.
 * All that decides how it goes on must come from what was shared. Else nothing of that happens: all pieces are ours. */
#ifndef FERRY_RECORDS_H
#define FERRY_RECORDS_H

#include "core/scope.h"
#include "data/fields.h"
#include "data/lines.h"

/* ---- open ---- */

/* What a format asks of the bytes (ferry_format.open). */
enum {
    OPEN_TEXT = 1,    /* refused unless they look like text */
    OPEN_ZEROS = 2,   /* refused with a zero byte in them */
    OPEN_UTF8 = 4,    /* Latin-1 converted */
    OPEN_DECIMAL = 8, /* decimal: comma means something to it */
};
/* A text while it is read; it lives as long as the scope. */
typedef struct source {
    const char *path, *s, *end;
    const ferry_read_settings *set;
    ferry_data_kind as;
    const ferry_input *in;
} source;
/* from->s and end from the bytes of from->in, as the bits of `open` ask. */
void open_text(scope *s, unsigned open, source *from);
/* A text as UTF-8, Latin-1 converted: s itself where it is. *n is its length. */
const char *as_utf8(scope *s, const char *text, int64_t *n);
/* A file's bytes, closed with s. */
const ferry_input *open_input(scope *s, const char *path);
/* The names and sizes of the files in a folder or archive. */
struct ferry_archive *open_tree(scope *s, const char *path);

/* ---- failures and memory ---- */

/* Leave with "path:line: text"; line 0 leaves the line out. */
_Noreturn void bad_at(scope *s, const char *path, int64_t line, const char *fmt, ...)
    FERRY_PRINTF(4, 5);
/* p, which somebody else frees; NULL: no memory, and s fails. */
void *have(scope *s, void *p);
/* A set of ids that goes with s. */
ferry_ids *new_ids(scope *s);
/* Names brought into order: numbers ascending, else as strcmp() has them; order[k] is the new place of name k. */
const ferry_ids *sorted_names(scope *s, const ferry_ids *names, const int32_t **order);
/* Number of a text in ids, added if new. */
int64_t add_id(scope *s, ferry_ids *ids, const char *text, int64_t n, bool *added);
/* A text to be put together, which goes with s, and what it is now: s fails if memory ran out meanwhile. */
ferry_text *new_text(scope *s);
const char *text_of(scope *s, const ferry_text *t);

/* ---- a sparse matrix that grows row by row ---- */

typedef struct sparse_rows {
    scope *s;
    int64_t *start; /* n + 1 */
    int32_t *index;
    double *value;
    int64_t n, nnz, cap, cap_entries;
} sparse_rows;
/* For so many rows; it may become more. */
sparse_rows *new_rows(scope *s, int64_t rows);
/* Begin the next row; entries go behind what it has, and the caller sees to the order of columns. */
void begin_row(sparse_rows *r);
void grow_entries(sparse_rows *r);
static inline void add_entry(sparse_rows *r, int64_t column, double value)
{
    if (r->nnz == r->cap_entries) grow_entries(r);
    r->index[r->nnz] = (int32_t)column;
    r->value[r->nnz++] = value;
}
/* All rows as a matrix. */
void give_rows(sparse_rows *r, int64_t cols, ferry_matrix **out);

/* ---- pieces ---- */

/* A piece of a file that begins at the begin of a line and ends after a newline or at the
 * end. Threads fill in what they find. */
typedef struct piece {
    const char *begin, *end;
    int64_t line;              /* of its first byte, from 1 */
    int64_t lines;             /* newlines in it */
    int64_t rows, entries;     /* at most so many; once parsed: that there are */
    int64_t row_at, entry_at;  /* where they go */
    int64_t hashes;            /* '#' in it */
    int64_t lowest, highest;   /* indices seen */
    int64_t several, labelled; /* rows with several labels, and with at least one */
    int64_t bad_line;          /* of the first error, 0: none */
    char bad[160];             /* what was expected there */
} piece;
/* Keep an error unless the piece has one already. */
void piece_bad(piece *p, int64_t line, const char *fmt, ...) FERRY_PRINTF(3, 4);

/* An array that the pieces fill: `size` bytes for each row, or for each entry; or `each` spans of the text a row. */
typedef struct store {
    void *at;
    size_t size;
    int64_t each; /* > 0: spans */
    bool by_entry;
} store;

typedef struct records {
    scope *s;
    const char *path, *text; /* text: where line 1 begins */
    const char *body, *end;  /* the records */
    piece *piece;
    int64_t pieces, from, to; /* ours: from .. to - 1 */
    int64_t rows, entries;    /* places; closed: that there are */
    store store[6];
    int stores;
} records;

/* Cut [body, end). */
void records_cut(records *r);
/* Bounds, by threads: a row for each line, an entry for each colon; and the places that follow. */
void records_count(records *r);
/* An array with a place for every row, or entry, which close() completes. */
void records_store(records *r, void *at, size_t size, bool by_entry);
void records_spans(records *r, ferry_span *at, int64_t each);
/* Our pieces by `parse`: threads, which leave errors in the piece; or in the file's order up to the first error, where
 * parse may also fail. What was found is shared. */
void records_parse(records *r, bool in_order, void (*parse)(void *arg, piece *p),
                   void *arg);
/* Fail by the first piece with an error. */
void records_check(const records *r);
/* Everything in all stores, without gaps. */
void records_close(records *r);
/* Ids that every rank has numbered as its pieces name them become those of all, numbered as the file names them. The
 * number of each id of ours; NULL: they are the file's already. */
const int64_t *records_unite(records *r, ferry_ids **ids);

#endif
