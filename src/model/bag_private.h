/* The inside of a bag, shared by bag.c (put and get) and bag_file.c (bytes). */
#ifndef FERRY_BAG_PRIVATE_H
#define FERRY_BAG_PRIVATE_H

#include "model/bag.h"

/* Types of tensors in the order in which a file holds them: the widest first, so that each
 * is aligned without a hole (the safetensors layout allows none). */
typedef enum bag_type { BAG_F64, BAG_I64, BAG_I32, BAG_U8, BAG_TYPES } bag_type;

typedef struct bag_tensor {
    bag_type type;
    int dims;           /* 2 for F64, else 1 */
    int64_t rows, cols; /* cols 1 when dims is 1 */
    int64_t at, end;    /* where it stands in the data of the file it was read from */
    const void *data;
    void *owned; /* NULL: lent by the bag's bytes */
} bag_tensor;

struct ferry_bag {
    ferry_ids *names; /* of tensors: number i is tensor[i] */
    bag_tensor *tensor;
    int64_t n, cap;
    ferry_ids *keys; /* of texts: number i is text[i] */
    char **text;
    int64_t n_text, cap_text;
    uint8_t *bytes; /* the file that tensors point into, or NULL */
};

size_t ferry_i_bag_width(bag_type type); /* bytes of one number */
/* Add a tensor whose data the bag only lends. FERRY_EDATA when the name is taken. */
ferry_status ferry_i_bag_add(ferry_ctx *ctx, ferry_bag *bag, const char *name,
                             const bag_tensor *t);

#endif
