/* Inside the plug-in: memory of the card, copies, mirrors. A failure is thrown as `trouble` and becomes one sentence at
 * the door (guarded()). */
#ifndef FERRY_CUDA_CARD_H
#define FERRY_CUDA_CARD_H

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <stddef.h>
#include <stdio.h>

#include "linalg/card.h"

namespace card
{

struct trouble {
    int code;
    char why[FERRY_CARD_WHY];
};
[[noreturn]] void fail(int code, const char *what, const char *detail);
void check(cudaError_t e, const char *what);
void check(cublasStatus_t e, const char *what);
void check(cusolverStatus_t e, const char *what);
void check(cusparseStatus_t e, const char *what);
/* After a kernel was started. */
void started(const char *what);

extern cudaStream_t stream;
extern cublasHandle_t blas;
extern cusolverDnHandle_t solver;
extern cusolverDnParams_t solver_params;
extern cusparseHandle_t sparse;

void *take(size_t bytes);
void give(void *p, size_t bytes);
/* Bytes that may still be taken, mirrors that nobody uses counted as free. */
size_t room();

/* n numbers on the card. */
template <class T> struct array {
    T *p = nullptr;
    size_t n = 0;
    array()
    {
    }
    explicit array(size_t count) : p((T *)take(count * sizeof(T))), n(count)
    {
    }
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    array(array &&o) : p(o.p), n(o.n)
    {
        o.p = nullptr, o.n = 0;
    }
    array &operator=(array &&o)
    {
        T *q = p;
        const size_t m = n;
        p = o.p, n = o.n;
        o.p = q, o.n = m;
        return *this;
    }
    ~array()
    {
        if (p) give(p, n * sizeof(T));
    }
};

/* Through pinned memory, in pieces, so that reading the host's and the copy go on at the same time. */
void copy_in(void *to, const void *from, size_t bytes);
void copy_out(void *to, const void *from, size_t bytes);
template <class T> array<T> brought(const T *from, size_t n)
{
    array<T> a(n);
    copy_in(a.p, from, n * sizeof(T));
    return a;
}
void wait();

/* CSR or its transpose on the card. `far`: its rows of many entries, which a kernel of their own adds up. */
struct csr {
    int64_t rows = 0, cols = 0, nnz = 0, n_far = 0;
    array<int64_t> start, far;
    array<int32_t> index;
    array<double> value;
};

/* A matrix on the card: there already (key), or brought for this call. */
struct mirror {
    const void *key = nullptr;
    int64_t rows = 0, cols = 0;
    array<double> dense;
    csr own, turned;
    bool has_turned = false, busy = false;
    uint64_t used = 0;
};
/* Holds it for the time of a call. */
struct hold {
    mirror *m = nullptr;
    bool mine = false;
    hold(const ferry_card_matrix &x);
    ~hold();
    hold(const hold &) = delete;
    mirror *operator->()
    {
        return m;
    }
};
/* X' of a mirror's CSR, made once. */
const csr &turned(mirror &m);

/* Bytes of x on the card; rows [from, to) of it as a matrix of their own. */
size_t bytes_of(const ferry_card_matrix &x);
ferry_card_matrix slab(const ferry_card_matrix &x, int64_t from, int64_t to);
/* Where the next slab ends that fits beside what else is needed: x.rows where all of it does. */
int64_t slab_end(const ferry_card_matrix &x, int64_t from, size_t beside);

/* Runs body with the card for itself; what it throws becomes the code and the sentence. */
template <class F> int guarded(char *why, F body);
int enter(char *why); /* 0, or the code of a card that is not there */
void leave();
int caught(const trouble &t, char *why);

template <class F> int guarded(char *why, F body)
{
    int code = enter(why);
    if (code) return code;
    try {
        body();
        wait();
    } catch (const trouble &t) {
        code = caught(t, why);
    }
    leave();
    return code;
}

static inline unsigned blocks(int64_t n, int64_t size)
{
    const int64_t b = (n + size - 1) / size;

    return (unsigned)(b < 1 ? 1 : b);
}

/* ---- the functions of the table ---- */
int mul(bool trans, double alpha, const ferry_card_matrix *x, int64_t k, const double *b,
        double beta, double *y, char *why);
int cross(bool rows, const ferry_card_matrix *x, const double *mean, const double *weight,
          double *s, char *why);
int sddmm(const ferry_card_matrix *x, int64_t k, const double *b, const double *c,
          double *out, char *why);
int masked(const ferry_card_matrix *x, int64_t k, const double *a, const double *c,
           double *n, double *d, char *why);
int ridge_rows(const ferry_card_matrix *x, int64_t k, const double *q, double lambda,
               bool weighted, double *p, double *gain, char *why);
int nearest(const ferry_card_near *n, char *why);
int gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t inner, double alpha,
         const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
         int64_t ldc, char *why);
int chol(int64_t n, double *a, int *row, char *why);
int chol_solve(int64_t n, int64_t m, const double *l, double *x, char *why);
int solve(int64_t n, int64_t m, double *a, double *x, int *row, char *why);
int eigh(int64_t n, double *a, double *w, char *why);

} // namespace card

#endif
