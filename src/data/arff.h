/* ARFF: arff.c reads the header and the labels' XML, arff_rows.c the data, arff_write.c
 * writes. */
#ifndef FERRY_ARFF_H
#define FERRY_ARFF_H

#include "data/fields.h"
#include "data/lines.h"

/* What values an attribute has. Numbers are finite reals; nominal is one of a fixed
 * list. */
typedef enum ferry_arff_type { ARFF_NUMBER, ARFF_NOMINAL, ARFF_STRING } ferry_arff_type;
/* What an attribute is used for. A file has a class or a set of labels, never both. */
typedef enum ferry_arff_role {
    ARFF_FEATURE,
    ARFF_CLASS, /* the one label */
    ARFF_LABEL, /* one of a set */
    ARFF_ID,
    ARFF_DROP
} ferry_arff_role;

/* One line @attribute. Name and values belong to it. */
typedef struct ferry_arff_attr {
    char *name;
    ferry_arff_type type;
    ferry_ids *values; /* nominal */
    ferry_arff_role role;
    bool numbers;   /* nominal whose values are 0 and 1: stands for itself */
    int64_t column; /* first feature column, or place among the labels */
    int64_t width;  /* feature columns */
} ferry_arff_attr;

/* A file while it is read: what the header says and where the reader stands. */
typedef struct ferry_arff {
    const char *path;
    const ferry_read_settings *s;
    /* stands at the first data row once the header is read */
    ferry_lines l;
    /* n attributes in the file's order: a sparse row's index counts all of them */
    ferry_arff_attr *a;
    int64_t n, cap;
    int64_t columns, labels; /* features and labels in all */
    int64_t class, id;       /* attribute, or -1 */
    int64_t meka; /* -C of the relation's name: labels in front, < 0 behind, 0 none */
} ferry_arff;

/* One value at *s (up to a comma, a closing brace or the end), quotes undone, in t (emptied
 * first). *s moves behind it. False when a quote is not closed. */
bool ferry_i_arff_value(const char **s, const char *e, ferry_text *t, bool *quoted);
/* Data rows from where a->l stands. x (n x a->columns, dense or CSR as the first row is),
 * ids, features and labels of d are made here. Two passes over the text: one counts the
 * rows, one fills. */
ferry_status ferry_i_arff_rows(ferry_ctx *ctx, ferry_arff *a, ferry_data *d);
ferry_status ferry_i_arff_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                const ferry_opts *opts);

#endif
