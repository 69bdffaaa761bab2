/* Lines and fields of text files, shared by the readers of ratings, edges, LINQS, ARFF and
 * Matrix Market files. */
#ifndef FERRY_FIELDS_H
#define FERRY_FIELDS_H

#include "data/data.h"

/* Bytes as UTF-8: borrowed when they are valid already, else read as Latin-1 and converted. */
typedef struct ferry_utf8 {
    const char *s;
    int64_t n;
    char *owned; /* NULL: borrowed */
} ferry_utf8;
ferry_status ferry_i_utf8_open(ferry_ctx *ctx, const char *s, int64_t n, ferry_utf8 *out);
void ferry_i_utf8_close(ferry_utf8 *u);

/* Excel's first line "sep=;": where the line behind it begins, and the separator; s itself where there is no
 * such line. */
const char *ferry_i_sep_line(const char *s, const char *end, char sep[2]);

/* Lines, without their ends; a byte order mark and Excel's sep= are skipped. */
typedef struct ferry_lines {
    const char *next, *end; /* what is left */
    const char *s, *e;      /* the line at hand */
    int64_t line;           /* its number from 1 */
} ferry_lines;
/* Stands before the first line; nothing is copied, so the text must outlive it. */
ferry_lines ferry_i_lines(const char *s, int64_t n);
/* The next line, blank ones too; false at the end. */
bool ferry_i_any_line(ferry_lines *l);
/* Likewise, but blank lines and lines that begin with a byte of `comments` are passed
 * over. */
bool ferry_i_full_line(ferry_lines *l, const char *comments);

/* One field, without white space around it and without its quotes. */
typedef struct ferry_field {
    const char *s;
    int64_t n;
    char quote; /* the quote that stood around it, or 0 */
} ferry_field;

/* The separator that a user named (tab, comma, semicolon, space, pipe or the text itself).
 * Space stands for any run of white space. */
const char *ferry_i_sep_of(const char *name);
/* The separator that a line seems to have: "::", tab, semicolon, comma, pipe or white
 * space. */
const char *ferry_i_sep_guess(const char *s, const char *e);
/* Split; the number of fields is returned, at most max of them are stored. */
int64_t ferry_i_fields(const char *s, const char *e, const char *sep, ferry_field *f,
                       int64_t max);

bool ferry_i_field_is(const ferry_field *f, const char *word); /* letters of any case */
/* The whole field is a finite number. */
bool ferry_i_field_real(const ferry_field *f, double *x);
/* "1,5" or "-0,25": digits, one comma, digits. */
bool ferry_i_decimal_comma(const char *s, int64_t n);
/* For decimal=comma: a copy of the text in which such numbers, where they are whole fields, have points.
 * Where commas separate fields only those in quotes. New string. */
ferry_status ferry_i_decimal_points(ferry_ctx *ctx, const ferry_read_settings *set,
                                    const char *s, int64_t n, char **out);
/* The whole field is a decimal integer that fits. */
bool ferry_i_field_int(const ferry_field *f, int64_t *x);
/* Number of the field's text in ids, added if new, doubled quotes undone; -1: no memory. */
int64_t ferry_i_field_id(ferry_ids *ids, const ferry_field *f, bool *added);
/* What to show of a field in a message: at most 40 bytes, ended by 0. */
const char *ferry_i_field_show(const ferry_field *f, char buf[44]);

/* Write text as one field: quoted when it holds the separator, a quote or a line end, and
 * (unlike ferry_i_out_csv) when these readers would take it for a comment or trim it. */
void ferry_i_out_field(ferry_out *o, const char *text, char sep);

#endif
