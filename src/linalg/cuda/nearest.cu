/* Rows that may be among the k nearest (linalg/card.h): a tile of products, then for each query the k-th smallest of
 * the smallest estimates of THREADS groups of rows, which is not below the k-th smallest of all, and hardly above it;
 * then every row up to that and what two estimates can be off. The order in which they are found does not matter: the
 * host sorts and measures them. */
#include "card.h"

#include <algorithm>

namespace card
{

enum { THREADS = 512 };

static __global__ void scaled_rows(int64_t n, int64_t d, const double *q,
                                   const double *scale, double *to)
{
    const int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

    if (e < n * d) to[e] = q[e] * scale[e / d];
}

/* One block a query; dot: rows numbers for each. NaN counts as very near. */
static __global__ void select_rows(int64_t rows, int k, int most, const double *dot,
                                   const double *offset, const double *factor,
                                   const double *slack, int32_t *found, int32_t *count)
{
    __shared__ double least[THREADS];
    __shared__ int n;
    __shared__ double limit;
    const int64_t j = blockIdx.x;
    const double *own = dot + j * rows;
    const int t = threadIdx.x;
    double min = INFINITY;

    for (int64_t i = t; i < rows; i += THREADS) {
        const double e = offset[i] + factor[i] * own[i];
        if (!(e >= min)) min = isnan(e) ? -INFINITY : e;
    }
    least[t] = min;
    if (t == 0) n = 0;
    /* sorted: bitonic */
    for (int size = 2; size <= THREADS; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            const int o = t ^ step;
            if (o > t) {
                const bool up = (t & size) == 0;
                const double a = least[t], b = least[o];
                if ((a > b) == up) least[t] = b, least[o] = a;
            }
        }
    __syncthreads();
    if (t == 0) limit = least[k - 1] + slack[j];
    __syncthreads();
    const double upto = limit;
    for (int64_t i = t; i < rows; i += THREADS)
        if (!(offset[i] + factor[i] * own[i] > upto)) {
            const int at = atomicAdd(&n, 1);
            if (at < most) found[j * most + at] = (int32_t)i;
        }
    __syncthreads();
    if (t == 0) count[j] = n > most ? -1 : n;
}

int nearest(const ferry_card_near *n, char *why)
{
    return guarded(why, [&] {
        const int64_t rows = n->x->rows, d = n->x->cols;
        if (n->k > THREADS || !n->x->dense || !n->q->dense)
            fail(FERRY_CARD_SHORT, "more neighbours than fit", nullptr);
        if (n->n == 0 || rows == 0) return;
        ferry_card_matrix part = *n->q;
        part.key = nullptr;
        part.dense += n->from * d;
        part.rows = n->n;
        part.nnz = n->n * d;
        if (slab_end(*n->x, 0, (size_t)(n->n * (rows + d)) * 8) < rows)
            fail(FERRY_CARD_SHORT, "the card's memory is not enough for this step",
                 nullptr);
        hold x(*n->x), q(part);
        const array<double> offset = brought(n->offset, (size_t)rows),
                            factor = brought(n->factor, (size_t)rows),
                            slack = brought(n->slack, (size_t)n->n);
        array<double> dot((size_t)(rows * n->n));
        array<int32_t> found((size_t)(n->n * n->most)), count((size_t)n->n);
        const double one = 1, zero = 0;
        if (n->scale && d > 0) {
            const array<double> scale = brought(n->scale, (size_t)n->n);
            scaled_rows<<<blocks(n->n * d, 256), 256, 0, stream>>>(n->n, d, q->dense.p,
                                                                   scale.p, q->dense.p);
            started("nearest rows");
        }
        check(cublasDgemm_64(blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, n->n, d, &one,
                             x->dense.p, d > 0 ? d : 1, q->dense.p, d > 0 ? d : 1, &zero,
                             dot.p, rows),
              "nearest rows");
        select_rows<<<(unsigned)n->n, THREADS, 0, stream>>>(rows, (int)n->k, (int)n->most,
                                                            dot.p, offset.p, factor.p,
                                                            slack.p, found.p, count.p);
        started("nearest rows");
        copy_out(n->found, found.p, found.n * sizeof(int32_t));
        copy_out(n->count, count.p, count.n * sizeof(int32_t));
        for (int64_t j = 0; j < n->n; j++)
            if (n->count[j] > 0)
                std::sort(n->found + j * n->most, n->found + j * n->most + n->count[j]);
    });
}

} // namespace card
