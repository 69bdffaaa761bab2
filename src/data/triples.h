/* Records of two ends and a value, one a line: edges (from, to, weight), ratings (user, item, rating), entries of a matrix
 * (row, column, value). A format is a table of what its cells are called; triples.c has the one loop over them. */
#ifndef FERRY_TRIPLES_H
#define FERRY_TRIPLES_H

#include "data/records.h"

typedef struct triple_schema {
    const char *comments; /* lines that begin with one of these are none */
    const char *ends;     /* "two node ids": neither may be blank */
    const char *place[2]; /* or: the ends are whole numbers from 1, called so */
    const char *value;    /* "a finite number as weight" */
    const char *many;     /* "nodes": what there may be too many of */
    /* the id in a cell; NULL: all of it */
    ferry_field (*id)(ferry_field cell);
} triple_schema;

typedef struct triples {
    const triple_schema *schema;
    const char *sep;
    int64_t width; /* cells of a line */
    const char *
        shape; /* "two ids": what a line of another width was expected to be; NULL: so many columns */
    int64_t col[3]; /* cells of the two ends and the value; value < 0: all are `none` */
    double none;
    const ferry_read_settings
        *missing; /* a value may be missing (NaN) as these say; NULL: none may */
    double hole;  /* the number that stands for missing; NaN: none does */
    ferry_ids **ids
        [2]; /* where the ends are ids: of each, perhaps the same; they belong to the caller */
    int64_t most[2];  /* where they are numbers: of each */
    bool no_diagonal; /* of a skew-symmetric matrix */
    /* what was read: arrays for ferry_i_free(), which belong to the caller; value NULL: not wanted */
    int32_t **end[2];
    double **value;
    ferry_field *f; /* cells of the line at hand, where pieces are read in order */
    const char *text;
    scope *s;
} triples;

/* Whether a cell stands for no value; a number that does so does however it is written: 0 and 0.000. */
bool triple_missing(const triples *t, const ferry_field *f);
/* Lines of [body, end) of a text, cut and parsed; how many records. Neither checked nor closed yet. */
void triples_parse(triples *t, records *r);
/* Checked, numbered as the file names them, and without gaps. */
void triples_close(triples *t, records *r);

#endif
