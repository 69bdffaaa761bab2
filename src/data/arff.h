/* ARFF: arff.c reads the header and the labels' XML, arff_rows.c the data, arff_write.c
 * writes. */
#ifndef FERRY_ARFF_H
#define FERRY_ARFF_H

#include "data/records.h"

/* What values an attribute has. Numbers are finite reals; nominal is one of a fixed
 * list. */
typedef enum arff_type { ARFF_NUMBER, ARFF_NOMINAL, ARFF_STRING } arff_type;
/* What an attribute is used for. A file has a class or a set of labels, never both. */
typedef enum arff_role {
    ARFF_FEATURE,
    ARFF_CLASS, /* the one label */
    ARFF_LABEL, /* one of a set */
    ARFF_ID,
    ARFF_DROP
} arff_role;

/* One line @attribute. */
typedef struct arff_attr {
    const char *name;
    arff_type type;
    ferry_ids *values; /* nominal */
    arff_role role;
    bool numbers;   /* nominal whose values are 0 and 1: stands for itself */
    int64_t column; /* first feature column, or place among the labels */
    int64_t width;  /* feature columns */
} arff_attr;

/* A file while it is read: what the header says and where the reader stands. */
typedef struct arff {
    scope *s;
    const char *path;
    const ferry_read_settings *set;
    ferry_data *d;
    /* stands at the first data row once the header is read */
    ferry_lines l;
    /* n attributes in the file's order: a sparse row's index counts all of them */
    arff_attr *a;
    int64_t n, cap;
    int64_t columns, labels; /* features and labels in all */
    int64_t class, id;       /* attribute, or -1 */
    int64_t meka;  /* -C of the relation's name: labels in front, < 0 behind, 0 none */
    ferry_text *t; /* the value at hand */
} arff;

/* One value at *s (up to a comma, a closing brace or the end), quotes undone, in a->t. *s moves behind it.
 * False when a quote is not closed. */
bool arff_value(arff *a, const char **s, const char *e, bool *quoted);
/* Data rows from where a->l stands. x (n x a->columns, dense or CSR as the first row is),
 * ids, features and labels of d are made here. Two passes over the text: one counts the
 * rows, one fills. */
void arff_rows(arff *a);
ferry_status ferry_i_arff_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                const ferry_opts *opts);

#endif
