/* OpenBLAS, loaded when it is first entered (ferry_i_blas_begin, ferry_i_blas_ready): it takes 10 ms to
 * load, and most of what the command does (help, lists, reading data, --version) never computes.
 *
 * LAPACK is called by its Fortran names, which are in the same library: everything is passed by
 * address, and the length of every text comes last. The functions below make calls of them; each returns
 * LAPACK's info. A workspace of -1 numbers asks for the size. */
#ifndef FERRY_OPENBLAS_H
#define FERRY_OPENBLAS_H

#include <cblas.h>
#include <stddef.h>

/* Pointers named after the functions; set once, before any of them is used. */
#define FERRY_CBLAS(F) F(dgemm) F(dgemv) F(dsyrk) F(dscal) F(dnrm2) F(dasum)
#define FERRY_OPENBLAS(F)                                                                  \
    F(get_corename) F(get_config) F(get_num_threads) F(set_num_threads)

typedef struct ferry_blas {
#define FERRY_POINTER(name) __typeof__(cblas_##name) *name;
    FERRY_CBLAS(FERRY_POINTER)
#undef FERRY_POINTER
#define FERRY_POINTER(name) __typeof__(openblas_##name) *name;
    FERRY_OPENBLAS(FERRY_POINTER)
#undef FERRY_POINTER
    void (*ilaver)(int *major, int *minor, int *patch);
    void (*dsyev)(const char *job, const char *uplo, const int *n, double *a,
                  const int *lda, double *w, double *work, const int *size, int *info,
                  size_t, size_t);
    void (*dsyevd)(const char *job, const char *uplo, const int *n, double *a,
                   const int *lda, double *w, double *work, const int *size, int *iwork,
                   const int *isize, int *info, size_t, size_t);
    void (*dgesdd)(const char *job, const int *m, const int *n, double *a, const int *lda,
                   double *s, double *u, const int *ldu, double *vt, const int *ldvt,
                   double *work, const int *size, int *iwork, int *info, size_t);
    void (*dgeqrf)(const int *m, const int *n, double *a, const int *lda, double *tau,
                   double *work, const int *size, int *info);
    void (*dorgqr)(const int *m, const int *n, const int *k, double *a, const int *lda,
                   const double *tau, double *work, const int *size, int *info);
    void (*dpotrf)(const char *uplo, const int *n, double *a, const int *lda, int *info,
                   size_t);
    void (*dpotrs)(const char *uplo, const int *n, const int *k, const double *a,
                   const int *lda, double *b, const int *ldb, int *info, size_t);
    void (*dgesv)(const int *n, const int *k, double *a, const int *lda, int *pivot,
                  double *b, const int *ldb, int *info);
} ferry_blas;

extern ferry_blas ferry_i_blas;

/* The upper triangle: values ascend in w, vectors over a. */
static inline int ferry_i_syev(int n, double *a, int lda, double *w, double *work, int size)
{
    int info = 0;

    ferry_i_blas.dsyev("V", "U", &n, a, &lda, w, work, &size, &info, 1, 1);
    return info;
}

/* The lower one, by divide and conquer. */
static inline int ferry_i_syevd(int n, double *a, int lda, double *w, double *work,
                                int size, int *iwork, int isize)
{
    int info = 0;

    ferry_i_blas.dsyevd("V", "L", &n, a, &lda, w, work, &size, iwork, &isize, &info, 1, 1);
    return info;
}

/* The thin one: u is m x r, vt r x n. */
static inline int ferry_i_gesdd(int m, int n, double *a, double *s, double *u, double *vt,
                                double *work, int size, int *iwork)
{
    const int r = m < n ? m : n;
    int info = 0;

    ferry_i_blas.dgesdd("S", &m, &n, a, &m, s, u, &m, vt, &r, work, &size, iwork, &info, 1);
    return info;
}

static inline void ferry_i_geqrf(int m, int n, double *a, double *tau, double *work,
                                 int size)
{
    int info = 0;

    ferry_i_blas.dgeqrf(&m, &n, a, &m, tau, work, &size, &info);
}

static inline void ferry_i_orgqr(int m, int n, double *a, const double *tau, double *work,
                                 int size)
{
    int info = 0;

    ferry_i_blas.dorgqr(&m, &n, &n, a, &m, tau, work, &size, &info);
}

static inline int ferry_i_potrf(int n, double *a, int lda)
{
    int info = 0;

    ferry_i_blas.dpotrf("L", &n, a, &lda, &info, 1);
    return info;
}

static inline void ferry_i_potrs(int n, int k, const double *l, int ld, double *b, int ldb)
{
    int info = 0;

    ferry_i_blas.dpotrs("L", &n, &k, l, &ld, b, &ldb, &info, 1);
}

static inline int ferry_i_gesv(int n, int k, double *a, int lda, int *pivot, double *b,
                               int ldb)
{
    int info = 0;

    ferry_i_blas.dgesv(&n, &k, a, &lda, pivot, b, &ldb, &info);
    return info;
}

#endif
