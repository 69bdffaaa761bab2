/* NumPy arrays in bytes; shared by the NPY and NPZ formats.
 *
 * Nothing is copied when an array is opened: ferry_npy points into the bytes, which must
 * outlive it. An NPZ with a hundred arrays is listed at the cost of its headers. */
#ifndef FERRY_NPY_H
#define FERRY_NPY_H

#include "data/variables.h"

/* The header of an array: what its bytes are. */
typedef struct ferry_npy {
    char kind; /* b i u f, U S for texts */
    int size;  /* bytes of an item; characters for U */
    bool big;  /* big-endian */
    /* items lie by column */
    bool fortran;
    int dims; /* 0, 1 or 2 */
    /* a vector is rows x 1, a single item 1 x 1 */
    int64_t rows, cols;
    /* the items, inside the bytes that were opened */
    const char *data;
} ferry_npy;

/* Read the header and check that the data it promises is there. `where` begins messages. */
ferry_status ferry_i_npy_open(ferry_ctx *ctx, const char *where, const char *bytes,
                              int64_t n, ferry_npy *out);
/* "float64 3 x 4". New string. */
char *ferry_i_npy_type(const ferry_npy *a);
/* All items as new memory: numbers as a dense rows x cols matrix of doubles, texts row by
 * row in out->text. out is empty after a failure. */
ferry_status ferry_i_npy_read(ferry_ctx *ctx, const ferry_npy *a, ferry_var *out);
/* Entry i of a whole-number array as an integer. */
int64_t ferry_i_npy_int(const ferry_npy *a, int64_t i);

/* The header of an array to be written: descr such as "<f8", cols < 0 for one dimension,
 * rows < 0 for none. Fills buf (256 bytes) and returns its length. */
int64_t ferry_i_npy_header(char *buf, const char *descr, int64_t rows, int64_t cols);

#endif
