/* The inside of a dict, shared by dict.c (put and get) and dict_file.c (bytes). */
#ifndef FERRY_DICT_PRIVATE_H
#define FERRY_DICT_PRIVATE_H

#include "state/dict.h"

/* Types of tensors in the order in which a file holds them: the widest first, so that each
 * is aligned without a hole (the safetensors layout allows none). */
typedef enum dict_type { DICT_F64, DICT_I64, DICT_I32, DICT_U8, DICT_TYPES } dict_type;

typedef struct dict_tensor {
    dict_type type;
    int dims;           /* 2 for F64, else 1 */
    int64_t rows, cols; /* cols 1 when dims is 1 */
    int64_t at, end;    /* where it stands in the data of the file it was read from */
    const void *data;
    void *owned; /* NULL: a part of the dict's bytes */
} dict_tensor;

/* Names find a number by hash; tensors and texts stand in the order in which they came,
 * which is also their order in the file within one type. */
struct ferry_dict {
    ferry_ids *names; /* of tensors: number i is tensor[i] */
    dict_tensor *tensor;
    int64_t n, cap;
    ferry_ids *keys; /* of texts: number i is text[i] */
    char **text;
    int64_t n_text, cap_text;
    uint8_t *bytes; /* the file that tensors point into, or NULL */
};

size_t ferry_i_dict_width(dict_type type); /* bytes of one number */
/* Add a tensor whose data the dict only borrows. FERRY_EDATA when the name is taken. */
ferry_status ferry_i_dict_add(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                              const dict_tensor *t);

#endif
