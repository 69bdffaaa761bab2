/* Variables of a container (NPZ, MAT): arrays and texts by name, and how they become a view
 * with ids, feature names and labels. */
#ifndef FERRY_VARIABLES_H
#define FERRY_VARIABLES_H

#include "data/data.h"

/* What is known of a variable before it is read. */
typedef struct ferry_var_info {
    /* as after #: without .npy */
    char *name;
    char *type; /* "uint8 6000 x 1000", for listings and messages */
    int64_t rows, cols;
    bool numeric;   /* numbers that can be a matrix */
    bool text;      /* texts, one a row */
    bool container; /* cells, structs ... */
} ferry_var_info;

typedef struct ferry_var_list {
    ferry_var_info *v;
    int64_t n, cap;
} ferry_var_list;

/* Add one (name and type copied); false: no memory. */
bool ferry_i_var_list_add(ferry_var_list *list, const ferry_var_info *info);
void ferry_i_var_list_free(ferry_var_list *list);
int64_t ferry_i_var_list_find(const ferry_var_list *list, const char *name); /* -1 */

/* A variable that was read: numbers (x) or texts. */
typedef struct ferry_var {
    ferry_matrix *x;
    /* n_text texts; beside x the digits of its whole numbers, NULL where doubles have them all */
    char **text;
    int64_t n_text;
} ferry_var;
void ferry_i_var_free(ferry_var *v);
/* The digits of 64-bit integers, where x is a vector and a double does not have them all.
 * at(arg, i): the bits of number i; `sign`: of an int64, else of a uint64. */
ferry_status ferry_i_var_digits(ferry_ctx *ctx, ferry_var *v, bool sign,
                                uint64_t (*at)(const void *arg, int64_t i),
                                const void *arg);
/* Bring the entries of each sparse row in ascending order. A repeated entry is refused. */
ferry_status ferry_i_var_sort(ferry_ctx *ctx, const char *where, ferry_var *v);
/* Change features x instances into instances x features. */
ferry_status ferry_i_var_transpose(ferry_ctx *ctx, ferry_var *v);

/* A container opened by its format: the variables, and how to read number i of them. */
typedef struct ferry_container {
    /* borrowed; format is the format's static name */
    const char *path, *format;
    const ferry_var_list *list;
    ferry_status (*read)(ferry_ctx *ctx, void *arg, int64_t i, ferry_var *out);
    void *arg;
    bool transpose; /* the user's option: features x instances */
} ferry_container;
/* The whole container: the view that its variables' names and shapes suggest, with ids, names and
 * labels (only the labels when `as` wants those); a listing when they leave a choice. */
ferry_status ferry_i_var_whole(ferry_ctx *ctx, const ferry_container *c, ferry_data_kind as,
                               ferry_data **out);
/* One variable on its own: a view, or labels when they are wanted or it is texts. v's parts
 * may be taken. `where` begins messages: "file.mat#fts". */
ferry_status ferry_i_var_alone(ferry_ctx *ctx, const char *where, const char *format,
                               ferry_var *v, const ferry_read_settings *s,
                               ferry_data_kind as, ferry_data **out);

#endif
