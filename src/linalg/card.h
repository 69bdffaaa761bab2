/* What libferry_cuda.so (src/linalg/cuda/) has for the engine cuda (src/linalg/cuda.c): a table of functions, loaded
 * at run time, as a transport of ranks is. Nobody else needs CUDA. This header is C and C++.
 *
 * Arrays are the host's, in the layouts of linalg.h: dense X and blocks row after row, smalls column after column. Every
 * function returns when its results are there. One call at a time is at work; calls from several threads wait. */
#ifndef FERRY_CARD_H
#define FERRY_CARD_H

#include <stdbool.h>
#include <stdint.h>

#define FERRY_CARD "ferry_cuda_card"

enum { FERRY_CARD_WHY = 256 };

/* SHORT: not enough memory on the card for this call, which left all as it was. FAILED: the card does not answer as it
 * should, and is left alone from then on. NUMERIC: not positive definite, singular, not converged. `why` says it. */
enum { FERRY_CARD_OK, FERRY_CARD_SHORT, FERRY_CARD_FAILED, FERRY_CARD_NUMERIC };

typedef struct ferry_card_about {
    char name[256];        /* "NVIDIA H200" */
    char versions[256];    /* of driver and libraries, for people */
    int64_t total, unused; /* bytes on the card */
    int64_t limit;         /* that we take at most */
} ferry_card_about;

/* A data matrix. key: whose mirror stays on the card until forget(key); NULL: it is copied for this call. */
typedef struct ferry_card_matrix {
    const void *key;
    int64_t rows, cols, nnz;
    const double *dense; /* NULL: CSR */
    const int64_t *start;
    const int32_t *index;
    const double *value;
} ferry_card_matrix;

/* Rows nearest to each of n queries, as far as products can tell (learn/nearest.c): the estimate of row i is
 * offset[i] + factor[i] <x_i, scale_j q_j>; found[j * most ..] gets, ascending, all rows whose estimate may be among the
 * k smallest, each estimate being off by at most slack[j] / 2; count[j] is how many, or -1: more than `most`. */
typedef struct ferry_card_near {
    const ferry_card_matrix *x, *q;
    int64_t from, n, k, most; /* queries: rows [from, from + n) of q */
    const double *offset, *factor, *slack, *scale;
    int32_t *found, *count;
} ferry_card_near;

typedef struct ferry_card {
    const char *version; /* FERRY_VERSION of its build */
    /* Once, before all others. */
    int (*open)(ferry_card_about *about, char *why);
    void (*ask)(ferry_card_about *about); /* again, later */
    void (*limit)(int64_t bytes);         /* 0: 80 % of what is free */
    void (*forget)(const void *key);

    /* y <- alpha X b + beta y; trans: X'b. b has k columns. */
    int (*mul)(bool trans, double alpha, const ferry_card_matrix *x, int64_t k,
               const double *b, double beta, double *y, char *why);
    /* s <- X'D X (rows: X X', weight and mean NULL) of (X - 1 mean') where mean is not NULL; both triangles. */
    int (*cross)(bool rows, const ferry_card_matrix *x, const double *mean,
                 const double *weight, double *s, char *why);
    /* out[e] <- <b_i, c_j> at the entries of CSR x. */
    int (*sddmm)(const ferry_card_matrix *x, int64_t k, const double *b, const double *c,
                 double *out, char *why);
    /* As in linalg.h; n NULL: left out. */
    int (*masked)(const ferry_card_matrix *x, int64_t k, const double *a, const double *c,
                  double *n, double *d, char *why);
    int (*ridge_rows)(const ferry_card_matrix *x, int64_t k, const double *q, double lambda,
                      bool weighted, double *p, double *gain, char *why);
    int (*nearest)(const ferry_card_near *n, char *why);

    /* C (m x n) <- alpha op(A) op(B) + beta C, column-major; inner: the length of the sums. */
    int (*gemm)(bool ta, bool tb, int64_t m, int64_t n, int64_t inner, double alpha,
                const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                double *c, int64_t ldc, char *why);
    /* As in linalg.h; *row: where it is not positive definite, or singular. */
    int (*chol)(int64_t n, double *a, int *row, char *why);
    int (*chol_solve)(int64_t n, int64_t m, const double *l, double *x, char *why);
    int (*solve)(int64_t n, int64_t m, double *a, double *x, int *row, char *why);
    int (*eigh)(int64_t n, double *a, double *w, char *why); /* signs as they come */
} ferry_card;

#endif
