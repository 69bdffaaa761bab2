/* Variables of a container (NPZ, MAT): arrays and texts by name, and how they become a view
 * with ids, feature names and labels. */
#ifndef FERRY_VARIABLES_H
#define FERRY_VARIABLES_H

#include "data/data.h"

/* What is known of a variable before it is read. */
typedef struct ferry_var_info {
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
/* Put the list into d and make it a listing. */
ferry_status ferry_i_var_listing(ferry_ctx *ctx, const ferry_var_list *list, ferry_data *d);

/* Places in the list of the parts of a view; -1 where there is none. */
typedef struct ferry_var_pick {
    int64_t x, y, ids, features, label_names;
} ferry_var_pick;
/* Which variables are x, labels, ids and feature names, by their names and shapes. False
 * when there is not exactly one sensible answer: then the container is to be listed. */
bool ferry_i_var_choose(const ferry_var_list *list, bool transpose, ferry_var_pick *pick);

/* A variable that was read: numbers (x) or texts. */
typedef struct ferry_var {
    ferry_matrix *x;
    char **text;
    int64_t n_text;
} ferry_var;
void ferry_i_var_free(ferry_var *v);
/* Bring the entries of each sparse row in ascending order. A repeated entry is refused. */
ferry_status ferry_i_var_sort(ferry_ctx *ctx, const char *where, ferry_var *v);
/* Change features x instances into instances x features. */
ferry_status ferry_i_var_transpose(ferry_ctx *ctx, ferry_var *v);

/* `where` begins messages: "file.mat#fts". */
/* Reads variable i of a list. */
typedef ferry_status (*ferry_var_fn)(ferry_ctx *ctx, void *arg, int64_t i, ferry_var *out);
/* The view that was chosen, with its ids, names and labels (only the labels when `as` wants
 * those). A pick without x gives labels only. */
ferry_status ferry_i_var_assemble(ferry_ctx *ctx, const char *path, const char *format,
                                  const ferry_var_list *list, const ferry_var_pick *pick,
                                  ferry_var_fn read, void *arg, bool transpose,
                                  ferry_data_kind as, ferry_data **out);
/* One variable on its own: a view, or labels when they are wanted or it is texts. v's parts
 * may be taken. */
ferry_status ferry_i_var_alone(ferry_ctx *ctx, const char *where, const char *format,
                               ferry_var *v, const ferry_read_settings *s,
                               ferry_data_kind as, ferry_data **out);

#endif
