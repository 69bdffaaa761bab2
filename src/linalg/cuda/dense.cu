/* Small dense problems on the card: cuBLAS and cuSOLVER, column-major as LAPACK has them. */
#include "card.h"

#include <vector>

namespace card
{

void mirror_lower(int64_t n, double *s);

static size_t span(int64_t rows, int64_t cols, int64_t ld)
{
    return rows > 0 && cols > 0 ? (size_t)((cols - 1) * ld + rows) : 0;
}

int gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t inner, double alpha,
         const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
         int64_t ldc, char *why)
{
    return guarded(why, [&] {
        if (m == 0 || n == 0) return;
        const size_t an = span(ta ? inner : m, ta ? m : inner, lda),
                     bn = span(tb ? n : inner, tb ? inner : n, ldb), cn = span(m, n, ldc);
        const array<double> aa = brought(a, an);
        /* the same numbers on both sides come once */
        const bool same = a == b && an == bn;
        const array<double> bb = brought(b, same ? 0 : bn);
        array<double> cc(cn);
        if (beta != 0) copy_in(cc.p, c, cn * 8);
        check(cublasDgemm_64(blas, ta ? CUBLAS_OP_T : CUBLAS_OP_N,
                             tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, inner, &alpha, aa.p, lda,
                             same ? aa.p : bb.p, ldb, &beta, cc.p, ldc),
              "a product");
        copy_out(c, cc.p, cn * 8);
    });
}

/* cuSOLVER's place on the card, and on the host. */
struct space {
    array<char> there;
    std::vector<char> at_home;
    array<int> info;
    size_t n_there = 0, n_home = 0;
    void make()
    {
        there = array<char>(n_there);
        at_home.resize(n_home + 1);
        info = array<int>(1);
    }
    int told()
    {
        int i = 0;
        copy_out(&i, info.p, sizeof i);
        return i;
    }
};

static __global__ void upper_to_zero(int64_t n, double *a)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t j = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;

    if (j < n && i < j) a[i + j * n] = 0;
}

int chol(int64_t n, double *a, int *row, char *why)
{
    return guarded(why, [&] {
        if (n == 0) return;
        const dim3 threads(32, 8), grid(blocks(n, 32), blocks(n, 8));
        array<double> aa = brought(a, (size_t)(n * n));
        space w;
        check(cusolverDnXpotrf_bufferSize(solver, solver_params, CUBLAS_FILL_MODE_LOWER, n,
                                          CUDA_R_64F, aa.p, n, CUDA_R_64F, &w.n_there,
                                          &w.n_home),
              "Cholesky");
        w.make();
        check(cusolverDnXpotrf(solver, solver_params, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_64F,
                               aa.p, n, CUDA_R_64F, w.there.p, w.n_there, w.at_home.data(),
                               w.n_home, w.info.p),
              "Cholesky");
        *row = w.told();
        if (*row != 0) fail(FERRY_CARD_NUMERIC, "not positive definite", nullptr);
        upper_to_zero<<<grid, threads, 0, stream>>>(n, aa.p);
        started("Cholesky");
        copy_out(a, aa.p, (size_t)(n * n) * 8);
    });
}

int chol_solve(int64_t n, int64_t m, const double *l, double *x, char *why)
{
    return guarded(why, [&] {
        if (n == 0 || m == 0) return;
        const array<double> ll = brought(l, (size_t)(n * n));
        array<double> xx = brought(x, (size_t)(n * m));
        array<int> info(1);
        check(cusolverDnXpotrs(solver, solver_params, CUBLAS_FILL_MODE_LOWER, n, m,
                               CUDA_R_64F, ll.p, n, CUDA_R_64F, xx.p, n, info.p),
              "Cholesky's systems");
        copy_out(x, xx.p, (size_t)(n * m) * 8);
    });
}

int solve(int64_t n, int64_t m, double *a, double *x, int *row, char *why)
{
    return guarded(why, [&] {
        if (n == 0) return;
        array<double> aa = brought(a, (size_t)(n * n)), xx = brought(x, (size_t)(n * m));
        array<int64_t> pivot((size_t)n);
        space w;
        check(cusolverDnXgetrf_bufferSize(solver, solver_params, n, n, CUDA_R_64F, aa.p, n,
                                          CUDA_R_64F, &w.n_there, &w.n_home),
              "LU");
        w.make();
        check(cusolverDnXgetrf(solver, solver_params, n, n, CUDA_R_64F, aa.p, n, pivot.p,
                               CUDA_R_64F, w.there.p, w.n_there, w.at_home.data(), w.n_home,
                               w.info.p),
              "LU");
        *row = w.told();
        if (*row != 0) fail(FERRY_CARD_NUMERIC, "singular", nullptr);
        if (m > 0)
            check(cusolverDnXgetrs(solver, solver_params, CUBLAS_OP_N, n, m, CUDA_R_64F,
                                   aa.p, n, pivot.p, CUDA_R_64F, xx.p, n, w.info.p),
                  "LU");
        copy_out(x, xx.p, (size_t)(n * m) * 8);
    });
}

int eigh(int64_t n, double *a, double *w, char *why)
{
    return guarded(why, [&] {
        if (n == 0) return;
        array<double> aa = brought(a, (size_t)(n * n)), ww((size_t)n);
        space s;
        check(cusolverDnXsyevd_bufferSize(solver, solver_params, CUSOLVER_EIG_MODE_VECTOR,
                                          CUBLAS_FILL_MODE_LOWER, n, CUDA_R_64F, aa.p, n,
                                          CUDA_R_64F, ww.p, CUDA_R_64F, &s.n_there,
                                          &s.n_home),
              "eigenvalues");
        s.make();
        check(cusolverDnXsyevd(solver, solver_params, CUSOLVER_EIG_MODE_VECTOR,
                               CUBLAS_FILL_MODE_LOWER, n, CUDA_R_64F, aa.p, n, CUDA_R_64F,
                               ww.p, CUDA_R_64F, s.there.p, s.n_there, s.at_home.data(),
                               s.n_home, s.info.p),
              "eigenvalues");
        if (s.told() != 0) fail(FERRY_CARD_NUMERIC, "did not converge", nullptr);
        copy_out(a, aa.p, (size_t)(n * n) * 8);
        copy_out(w, ww.p, (size_t)n * 8);
    });
}

} // namespace card
