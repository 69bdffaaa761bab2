/* Products of rounded rows (linalg/rounded.h, whose bound counts the roundings here). They are read from the second
 * cache: what counts is bytes. */
#include "linalg/host/kernels/kernel.h"

/* FLOATS of a register, two of them a step; PIECE: floats are added up over 32 steps, then as doubles. */
enum { FLOATS = 2 * LANES, STEP = 2 * FLOATS, PIECE = 32 * STEP };
typedef float fvec __attribute__((vector_size(4 * FLOATS), aligned(4), may_alias));

INLINE fvec floats(const float *x)
{
    return *(const fvec *)(const void *)x;
}

/* The lanes of v as doubles. */
INLINE double wide_sum(fvec v)
{
    float lane[FLOATS];
    double sum[LANES];

    *(fvec *)(void *)lane = v;
    for (int l = 0; l < LANES; l++)
        sum[l] = (double)lane[l] + (double)lane[l + LANES];
    return vec_sum(VEC_LOAD(sum));
}

/* out[0..rows) += products over n numbers, a multiple of STEP and at most PIECE. */
INLINE void piece(int rows, int64_t n, int64_t d, const float *a, const float *x,
                  double *out)
{
    fvec even[4], odd[4];

    UNROLL for (int i = 0; i < rows; i++) even[i] = odd[i] = (fvec){0};
    for (int64_t j = 0; j < n; j += STEP) {
        const fvec p = floats(x + j), q = floats(x + j + FLOATS);
        UNROLL for (int i = 0; i < rows; i++)
        {
            even[i] += floats(a + i * d + j) * p;
            odd[i] += floats(a + i * d + j + FLOATS) * q;
        }
    }
    UNROLL for (int i = 0; i < rows; i++) out[i] += wide_sum(even[i] + odd[i]);
}

INLINE void dots_some(int rows, int64_t d, const float *a, const float *x, double *out)
{
    const int64_t whole = d / STEP * STEP;

    for (int i = 0; i < rows; i++)
        out[i] = 0;
    for (int64_t j = 0; j < whole; j += PIECE)
        piece(rows, whole - j < PIECE ? whole - j : PIECE, d, a + j, x + j, out);
    for (int64_t j = whole; j < d; j++)
        for (int i = 0; i < rows; i++)
            out[i] += (double)a[i * d + j] * (double)x[j];
}

void KERNEL(rounded_dots)(int64_t rows, int64_t d, const float *a, const float *x,
                          double *out)
{
    int64_t i = 0;

    for (; i + 4 <= rows; i += 4)
        dots_some(4, d, a + i * d, x, out + i);
    for (; i + 2 <= rows; i += 2)
        dots_some(2, d, a + i * d, x, out + i);
    if (i < rows) dots_some(1, d, a + i * d, x, out + i);
}

double KERNEL(round_row)(int64_t n, const double *v, float *to)
{
    typedef float half __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
    vec sum[4] = {{0}, {0}, {0}, {0}};
    int64_t j = 0;
    double rest = 0;

    for (; j + 4 * LANES <= n; j += 4 * LANES)
        UNROLL for (int i = 0; i < 4; i++)
        {
            const vec x = VEC_LOAD(v + j + i * LANES);
            *(half *)(void *)(to + j + i * LANES) = __builtin_convertvector(x, half);
            sum[i] += x * x;
        }
    for (; j < n; j++) {
        to[j] = (float)v[j];
        rest += v[j] * v[j];
    }
    return vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}
