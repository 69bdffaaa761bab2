/* Products of data matrices. Dense: cuBLAS. CSR: kernels of our own over blocks that are row-major, as ours are, since
 * cuSPARSE's only deterministic product takes none: a warp adds up a row, G lanes to an entry, in an order that depends
 * on nothing but the row. Rows of very many entries (columns of words, in X') have a block each. */
#include "card.h"

namespace card
{

enum { WARPS = 8, FAR_WARPS = 32, FAR = 4096 };

/* Sum of the entries [from, to) of a row, for column c; lanes of an entry are neighbours. */
template <int G>
__device__ double add_up(int64_t from, int64_t to, int sub, const int32_t *index,
                         const double *value, int64_t k, int64_t c, const double *b)
{
    double sum = 0;

    if (c < k)
#pragma unroll 4
        for (int64_t e = from + sub; e < to; e += 32 / G)
            sum += value[e] * b[index[e] * k + c];
#pragma unroll
    for (int step = G; step < 32; step *= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}

template <int G>
__global__ void mul_rows(int64_t rows, const int64_t *start, const int32_t *index,
                         const double *value, int64_t k, double alpha, const double *b,
                         double beta, double *y)
{
    const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32, sub = lane / G;

    if (i >= rows || start[i + 1] - start[i] > FAR) return;
    for (int64_t at = 0; at < k; at += G) {
        const int64_t c = at + lane % G;
        const double sum =
            alpha * add_up<G>(start[i], start[i + 1], sub, index, value, k, c, b);
        if (sub == 0 && c < k) y[i * k + c] = beta != 0 ? sum + beta * y[i * k + c] : sum;
    }
}

template <int G>
__global__ void mul_far(const int64_t *far, const int64_t *start, const int32_t *index,
                        const double *value, int64_t k, double alpha, const double *b,
                        double beta, double *y)
{
    __shared__ double part[FAR_WARPS][32];
    const int64_t i = far[blockIdx.x], n = start[i + 1] - start[i];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t from = start[i] + n / FAR_WARPS * warp;
    const int64_t to = warp + 1 == FAR_WARPS ? start[i + 1] : from + n / FAR_WARPS;

    for (int64_t at = 0; at < k; at += G) {
        const int64_t c = at + lane % G;
        part[warp][lane] = add_up<G>(from, to, lane / G, index, value, k, c, b);
        __syncthreads();
        if (warp == 0 && lane < G && c < k) {
            double sum = 0;
            for (int w = 0; w < FAR_WARPS; w++)
                sum += part[w][lane];
            y[i * k + c] = alpha * sum + (beta != 0 ? beta * y[i * k + c] : 0);
        }
        __syncthreads();
    }
}

template <int G>
static void csr_mul_as(const csr &x, int64_t k, double alpha, const double *b, double beta,
                       double *y)
{
    mul_rows<G><<<blocks(x.rows, WARPS), 32 * WARPS, 0, stream>>>(
        x.rows, x.start.p, x.index.p, x.value.p, k, alpha, b, beta, y);
    if (x.n_far)
        mul_far<G><<<(unsigned)x.n_far, 32 * FAR_WARPS, 0, stream>>>(
            x.far.p, x.start.p, x.index.p, x.value.p, k, alpha, b, beta, y);
    started("a sparse product");
}

static void csr_mul(const csr &x, int64_t k, double alpha, const double *b, double beta,
                    double *y)
{
    if (x.rows == 0 || k == 0) return;
    if (k == 1)
        csr_mul_as<1>(x, k, alpha, b, beta, y);
    else if (k == 2)
        csr_mul_as<2>(x, k, alpha, b, beta, y);
    else if (k <= 4)
        csr_mul_as<4>(x, k, alpha, b, beta, y);
    else if (k <= 8)
        csr_mul_as<8>(x, k, alpha, b, beta, y);
    else if (k <= 16)
        csr_mul_as<16>(x, k, alpha, b, beta, y);
    else
        csr_mul_as<32>(x, k, alpha, b, beta, y);
}

/* y (rows of the product x k) <- alpha op(X) b + beta y, X rows x cols on the card, row-major: cols x rows to cuBLAS. */
static void dense_mul(bool trans, int64_t rows, int64_t cols, const double *x, int64_t k,
                      double alpha, const double *b, double beta, double *y)
{
    const int64_t out = trans ? cols : rows, inner = trans ? rows : cols;

    if (out == 0 || k == 0) return;
    if (k == 1 && rows > 0 && cols > 0) {
        check(cublasDgemv_64(blas, trans ? CUBLAS_OP_N : CUBLAS_OP_T, cols, rows, &alpha, x,
                             cols, b, 1, &beta, y, 1),
              "a product");
        return;
    }
    check(cublasDgemm_64(blas, CUBLAS_OP_N, trans ? CUBLAS_OP_T : CUBLAS_OP_N, k, out,
                         inner, &alpha, b, k, x, cols > 0 ? cols : 1, &beta, y, k),
          "a product");
}

int mul(bool trans, double alpha, const ferry_card_matrix *x, int64_t k, const double *b,
        double beta, double *y, char *why)
{
    return guarded(why, [&] {
        const int64_t out = trans ? x->cols : x->rows, in = trans ? x->rows : x->cols;
        const array<double> bb = brought(b, (size_t)(in * k));
        array<double> yy((size_t)(out * k));
        if (beta != 0) copy_in(yy.p, y, (size_t)(out * k) * 8);
        int64_t from = 0;
        do {
            const int64_t to = slab_end(*x, from, 0);
            hold m(slab(*x, from, to));
            const double *bs = bb.p + (trans ? from * k : 0);
            double *ys = yy.p + (trans ? 0 : from * k);
            const double here = trans && from > 0 ? 1 : beta; /* slabs add up */
            if (x->dense)
                dense_mul(trans, to - from, x->cols, m->dense.p, k, alpha, bs, here, ys);
            else
                csr_mul(trans ? turned(*m.m) : m->own, k, alpha, bs, here, ys);
            from = to;
        } while (from < x->rows);
        copy_out(y, yy.p, (size_t)(out * k) * 8);
    });
}

/* ---- X'DX and X X' ---- */

static __global__ void mirrored(int64_t n, double *s) /* lower triangle to upper */
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t j = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;

    if (i < n && j < i) s[j + i * n] = s[i + j * n];
}

void mirror_lower(int64_t n, double *s)
{
    const dim3 threads(32, 8), grid(blocks(n, 32), blocks(n, 8));

    mirrored<<<grid, threads, 0, stream>>>(n, s);
    started("a product");
}

/* to <- sqrt(weight) (x - mean), n rows. */
static __global__ void centred(int64_t n, int64_t cols, const double *x, const double *mean,
                               const double *weight, double *to)
{
    const int64_t size = n * cols, step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < size; e += step) {
        const int64_t i = e / cols, j = e - i * cols;
        to[e] = (weight ? sqrt(weight[i]) : 1) * (x[e] - (mean ? mean[j] : 0));
    }
}

/* CSR rows written out, centred: a warp a row. */
static __global__ void spread(int64_t n, int64_t cols, const int64_t *start,
                              const int32_t *index, const double *value, double *to)
{
    const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;

    if (i >= n) return;
    for (int64_t e = start[i] + threadIdx.x % 32; e < start[i + 1]; e += 32)
        to[i * cols + index[e]] = value[e];
}

static void syrk(bool rows, int64_t n, int64_t inner, int64_t ld, const double *x,
                 double beta, double *s)
{
    const double one = 1;

    check(cublasDsyrk_64(blas, CUBLAS_FILL_MODE_LOWER, rows ? CUBLAS_OP_T : CUBLAS_OP_N, n,
                         inner, &one, x, ld > 0 ? ld : 1, &beta, s, n),
          "a product");
}

/* Pieces of rows that are centred, or written out: 128 MB, which the card's cache does not hold anyway. */
static int64_t piece_rows(int64_t cols)
{
    const int64_t n = (16 << 20) / (cols > 0 ? cols : 1);

    return n < 256 ? 256 : n;
}

static void cross_slab(mirror &m, bool dense, const double *mean, const double *weight,
                       array<double> &piece, double beta, double *s)
{
    const int64_t rows = m.rows, cols = m.cols, size = piece_rows(cols);

    if (dense && !mean && !weight) {
        syrk(false, cols, rows, cols, m.dense.p, beta, s);
        return;
    }
    for (int64_t from = 0; from < rows; from += size, beta = 1) {
        const int64_t n = rows - from < size ? rows - from : size;
        const double *x = m.dense.p + from * cols;
        if (!dense) {
            check(cudaMemsetAsync(piece.p, 0, (size_t)(n * cols) * 8, stream), "a product");
            spread<<<blocks(n, WARPS), 32 * WARPS, 0, stream>>>(
                n, cols, m.own.start.p + from, m.own.index.p, m.own.value.p, piece.p);
            x = piece.p;
        }
        if (mean || weight)
            centred<<<4096, 256, 0, stream>>>(n, cols, x, mean,
                                              weight ? weight + from : nullptr, piece.p);
        started("a product");
        syrk(false, cols, n, cols, piece.p, beta, s);
    }
}

int cross(bool rows, const ferry_card_matrix *x, const double *mean, const double *weight,
          double *s, char *why)
{
    return guarded(why, [&] {
        const int64_t n = rows ? x->rows : x->cols;
        if (n == 0) return;
        array<double> ss((size_t)(n * n)), mm, ww, piece;
        if (x->rows == 0 || x->cols == 0)
            check(cudaMemsetAsync(ss.p, 0, (size_t)(n * n) * 8, stream), "a product");
        if (rows) {
            if (slab_end(*x, 0, 0) < x->rows || !x->dense)
                fail(FERRY_CARD_SHORT, "the card's memory is not enough for this step",
                     nullptr);
            hold m(*x);
            syrk(true, n, x->cols, x->cols, m->dense.p, 0, ss.p);
        } else {
            if (mean) mm = brought(mean, (size_t)x->cols);
            if (weight) ww = brought(weight, (size_t)x->rows);
            if (mean || weight || !x->dense) {
                const int64_t size = piece_rows(x->cols);
                piece =
                    array<double>((size_t)((x->rows < size ? x->rows : size) * x->cols));
            }
            for (int64_t from = 0; from < x->rows;) {
                const int64_t to = slab_end(*x, from, 0);
                hold m(slab(*x, from, to));
                cross_slab(*m.m, x->dense != nullptr, mean ? mm.p : nullptr,
                           weight ? ww.p + from : nullptr, piece, from > 0, ss.p);
                from = to;
            }
        }
        mirror_lower(n, ss.p);
        copy_out(s, ss.p, (size_t)(n * n) * 8);
    });
}

/* ---- at the entries ---- */

/* A warp a row; all lanes have the sum. */
static __device__ double dot32(const double *a, const double *c, int64_t k, int lane)
{
    double sum = 0;

    for (int64_t l = lane; l < k; l += 32)
        sum += a[l] * c[l];
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}

static __global__ void sddmm_rows(int64_t rows, const int64_t *start, const int32_t *index,
                                  int64_t k, const double *b, const double *c, double *out)
{
    const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;

    if (i >= rows) return;
    for (int64_t e = start[i]; e < start[i + 1]; e++) {
        const double sum = dot32(b + i * k, c + index[e] * k, k, lane);
        if (lane == 0) out[e] = sum;
    }
}

int sddmm(const ferry_card_matrix *x, int64_t k, const double *b, const double *c,
          double *out, char *why)
{
    return guarded(why, [&] {
        const array<double> bb = brought(b, (size_t)(x->rows * k)),
                            cc = brought(c, (size_t)(x->cols * k));
        for (int64_t from = 0; from < x->rows;) {
            const int64_t to = slab_end(*x, from, (size_t)x->nnz * 8);
            hold m(slab(*x, from, to));
            array<double> oo((size_t)m->own.nnz);
            sddmm_rows<<<blocks(to - from, WARPS), 32 * WARPS, 0, stream>>>(
                to - from, m->own.start.p, m->own.index.p, k, bb.p + from * k, cc.p, oo.p);
            started("products at the entries");
            copy_out(out + (x->start[from] - x->start[0]), oo.p, oo.n * 8);
            from = to;
        }
    });
}

enum { MOST_K = 32 };

static __global__ void masked_rows(int64_t rows, const int64_t *start, const int32_t *index,
                                   const double *value, int k, const double *a,
                                   const double *c, double *n, double *d)
{
    const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;

    if (i >= rows) return;
    const double mine = lane < k ? a[i * k + lane] : 0;
    double up = 0, down = 0;
    for (int64_t e = start[i]; e < start[i + 1]; e++) {
        const double cj = lane < k ? c[index[e] * (int64_t)k + lane] : 0;
        double dot = mine * cj;
#pragma unroll
        for (int step = 1; step < 32; step *= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, step);
        up += value[e] * cj;
        down += dot * cj;
    }
    if (lane >= k) return;
    if (n) n[i * k + lane] = up;
    d[i * k + lane] = down;
}

int masked(const ferry_card_matrix *x, int64_t k, const double *a, const double *c,
           double *n, double *d, char *why)
{
    return guarded(why, [&] {
        if (k > MOST_K) fail(FERRY_CARD_SHORT, "more than 32 columns", nullptr);
        const array<double> aa = brought(a, (size_t)(x->rows * k)),
                            cc = brought(c, (size_t)(x->cols * k));
        array<double> nn((size_t)(n ? x->rows * k : 0)), dd((size_t)(x->rows * k));
        for (int64_t from = 0; from < x->rows;) {
            const int64_t to = slab_end(*x, from, 0);
            hold m(slab(*x, from, to));
            masked_rows<<<blocks(to - from, WARPS), 32 * WARPS, 0, stream>>>(
                to - from, m->own.start.p, m->own.index.p, m->own.value.p, (int)k,
                aa.p + from * k, cc.p, n ? nn.p + from * k : nullptr, dd.p + from * k);
            started("products at the entries");
            from = to;
        }
        if (n) copy_out(n, nn.p, (size_t)(x->rows * k) * 8);
        copy_out(d, dd.p, (size_t)(x->rows * k) * 8);
    });
}

/* ---- rows of ridge regressions ---- */

enum { SYSTEM = 64, GATHER = 16, RIDGE_THREADS = 128 };

/* A block a row: its normal equations grow in shared memory, GATHER rows of Q at a time; then L L' in place. Thread t
 * owns numbers t, t + RIDGE_THREADS, ... of the lower triangle: no two add to one. */
static __global__ void ridge_of_rows(int64_t rows, const int64_t *start,
                                     const int32_t *index, const double *value, int k,
                                     const double *q, double lambda, bool weighted,
                                     double *p, double *gain)
{
    extern __shared__ double shared[];
    double *a = shared, *some = a + k * (k + 1), *y = some + GATHER * k, *z = y + k,
           *x = z + k;
    const int64_t i = blockIdx.x;
    const int t = threadIdx.x, entries = k * k;

    if (i >= rows) return;
    const int64_t from = start[i], to = start[i + 1];
    if (from == to) {
        for (int l = t; l < k; l += RIDGE_THREADS)
            p[i * k + l] = 0;
        if (t == 0 && gain) gain[i] = 0;
        return;
    }
    const double own = lambda * (weighted ? (double)(to - from) : 1);
    /* a has k + 1 numbers a row, so that a column lies in different banks */
    for (int e = t; e < entries; e += RIDGE_THREADS)
        a[e / k * (k + 1) + e % k] = e / k == e % k ? own : 0;
    for (int l = t; l < k; l += RIDGE_THREADS)
        y[l] = 0;
    for (int64_t at = from; at < to; at += GATHER) {
        const int n = to - at < GATHER ? (int)(to - at) : GATHER;
        __syncthreads();
        for (int e = t; e < n * k; e += RIDGE_THREADS)
            some[e] = q[index[at + e / k] * (int64_t)k + e % k];
        for (int e = t; e < n; e += RIDGE_THREADS)
            x[e] = value[at + e];
        __syncthreads();
        for (int e = t; e < entries; e += RIDGE_THREADS) {
            const int r = e / k, c = e % k;
            if (c > r) continue;
            double sum = 0;
            for (int g = 0; g < n; g++)
                sum += some[g * k + r] * some[g * k + c];
            a[r * (k + 1) + c] += sum;
        }
        for (int l = t; l < k; l += RIDGE_THREADS)
            for (int g = 0; g < n; g++)
                y[l] += x[g] * some[g * k + l];
    }
    __syncthreads();
    for (int j = 0; j < k; j++) {
        if (t == 0) a[j * (k + 1) + j] = sqrt(a[j * (k + 1) + j]);
        __syncthreads();
        for (int r = j + 1 + t; r < k; r += RIDGE_THREADS)
            a[r * (k + 1) + j] /= a[j * (k + 1) + j];
        __syncthreads();
        const int left = k - j - 1;
        for (int e = t; e < left * left; e += RIDGE_THREADS) {
            const int r = j + 1 + e / left, c = j + 1 + e % left;
            if (c <= r) a[r * (k + 1) + c] -= a[r * (k + 1) + j] * a[c * (k + 1) + j];
        }
        __syncthreads();
    }
    if (t >= 32) return;
    for (int l = t; l < k; l += 32)
        z[l] = y[l];
    __syncwarp();
    for (int j = 0; j < k; j++) { /* L z = y */
        if (t == 0) z[j] /= a[j * (k + 1) + j];
        __syncwarp();
        for (int r = j + 1 + t; r < k; r += 32)
            z[r] -= a[r * (k + 1) + j] * z[j];
        __syncwarp();
    }
    for (int j = k - 1; j >= 0; j--) { /* L'p = z */
        if (t == 0) z[j] /= a[j * (k + 1) + j];
        __syncwarp();
        for (int r = t; r < j; r += 32)
            z[r] -= a[j * (k + 1) + r] * z[j];
        __syncwarp();
    }
    for (int l = t; l < k; l += 32)
        p[i * k + l] = z[l];
    if (!gain) return;
    const double sum = dot32(z, y, k, t);
    if (t == 0) gain[i] = sum;
}

int ridge_rows(const ferry_card_matrix *x, int64_t k, const double *q, double lambda,
               bool weighted, double *p, double *gain, char *why)
{
    return guarded(why, [&] {
        if (k > SYSTEM) fail(FERRY_CARD_SHORT, "more than 64 columns", nullptr);
        if (k == 0 || x->rows == 0) {
            for (int64_t i = 0; gain && i < x->rows; i++)
                gain[i] = 0;
            return;
        }
        const size_t bytes = (size_t)(k * (k + 1) + GATHER * k + 2 * k + GATHER) * 8;
        check(cudaFuncSetAttribute(ridge_of_rows,
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
              "regressions of rows");
        const array<double> qq = brought(q, (size_t)(x->cols * k));
        array<double> pp((size_t)(x->rows * k)), gg((size_t)(gain ? x->rows : 0));
        for (int64_t from = 0; from < x->rows;) {
            const int64_t to = slab_end(*x, from, 0);
            hold m(slab(*x, from, to));
            ridge_of_rows<<<(unsigned)(to - from), RIDGE_THREADS, bytes, stream>>>(
                to - from, m->own.start.p, m->own.index.p, m->own.value.p, (int)k, qq.p,
                lambda, weighted, pp.p + from * k, gain ? gg.p + from : nullptr);
            started("regressions of rows");
            from = to;
        }
        copy_out(p, pp.p, (size_t)(x->rows * k) * 8);
        if (gain) copy_out(gain, gg.p, (size_t)x->rows * 8);
    });
}

} // namespace card
