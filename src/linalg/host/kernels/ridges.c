/* What the ridge regressions of a stream spend their time in: products of a row with those that
 * are kept, and triangular systems. Sixteen sums side by side for floats, two quads for
 * doubles, nothing fused: the same bits on every CPU. */
#include "linalg/host/kernels/kernel.h"

/* FLOATS of a register, GROUP of them are the 16 sums. CHUNK: what is asked stays in the first
 * cache; PIECE: floats are added up over so many, then as doubles. */
enum { FLOATS = 2 * LANES, GROUP = 16 / FLOATS, CHUNK = 2048, PIECE = 256 };
typedef float fvec __attribute__((vector_size(4 * FLOATS), aligned(4), may_alias));
typedef int32_t fbits __attribute__((vector_size(4 * FLOATS), may_alias));

INLINE double float_sum(const fvec *v)
{
    double sum = 0;

    for (int g = 0; g < GROUP; g++)
        for (int l = 0; l < FLOATS; l++)
            sum += (double)v[g][l];
    return sum;
}

/* At most PIECE entries of one row, a multiple of 16: out[0] += <b, s>, and where `all`
 * out[1] += <b |b|, u>, out[2] += <b, w>. */
INLINE void three_dots(bool all, int64_t n, const float *b, const ferry_asked *a,
                       int64_t at, double *out)
{
    fvec sum[3][GROUP] = {{{0}}};

    for (int64_t i = 0; i < n; i += 16)
        UNROLL for (int g = 0; g < GROUP; g++)
        {
            const int64_t j = i + g * FLOATS;
            const fvec v = *(const fvec *)(const void *)(b + j);
            sum[0][g] += v * *(const fvec *)(const void *)(a->s + at + j);
            if (!all) continue;
            const fvec size = (fvec)((fbits)v & 0x7fffffff);
            sum[1][g] += v * size * *(const fvec *)(const void *)(a->u + at + j);
            sum[2][g] += v * *(const fvec *)(const void *)(a->w + at + j);
        }
    for (int i = 0; i < (all ? 3 : 1); i++)
        out[i] += float_sum(sum[i]);
}

/* Rows are read from far away: two pieces ahead, and the next row's after that. */
INLINE void one_row(bool all, int64_t from, int64_t to, const float *b, const float *next,
                    const ferry_asked *a, double *out)
{
    const int64_t even = from + (to - from) / 16 * 16;

    for (int64_t i = from; i < even; i += PIECE) {
        const int64_t at = i + 2 * PIECE;
        const float *ahead = at < even ? b + at : next + (at - even < to ? at - even : 0);
        for (int64_t j = 0; j < PIECE; j += 16)
            __builtin_prefetch(ahead + j, 0, 2);
        three_dots(all, even - i < PIECE ? even - i : PIECE, b + i, a, i, out);
    }
    for (int64_t i = even; i < to; i++) {
        out[0] += (double)(b[i] * a->s[i]);
        if (!all) continue;
        out[1] += (double)(b[i] * (b[i] < 0 ? -b[i] : b[i]) * a->u[i]);
        out[2] += (double)(b[i] * a->w[i]);
    }
}

void KERNEL(asked_dots)(const ferry_asked *a, int64_t rows, const float *const *b,
                        double *out)
{
    for (int64_t j = 0; j < 3 * rows; j++)
        out[j] = 0;
    for (int64_t from = 0; from < a->d; from += CHUNK)
        for (int64_t j = 0; j < rows; j++) {
            const int64_t to = from + CHUNK < a->d ? from + CHUNK : a->d;
            const float *next = b[j + 1 < rows ? j + 1 : j] + from;
            if (a->u)
                one_row(true, from, to, b[j], next, a, out + 3 * j);
            else
                one_row(false, from, to, b[j], next, a, out + 3 * j);
        }
}

/* out[r] <- <a_r, x> of 4 rows of a, `ld` apart. */
INLINE void four_dots(int64_t n, int64_t ld, const double *a, const double *x, double *out)
{
    quad even[4], odd[4];
    int64_t j = 0;

    UNROLL for (int r = 0; r < 4; r++) even[r] = odd[r] = QUAD_ZERO;
    for (; j + 8 <= n; j += 8) {
        const quad p = quad_load(x + j), q = quad_load(x + j + 4);
        UNROLL for (int r = 0; r < 4; r++)
        {
            even[r] = quad_add(even[r], quad_mul(quad_load(a + r * ld + j), p));
            odd[r] = quad_add(odd[r], quad_mul(quad_load(a + r * ld + j + 4), q));
        }
    }
    UNROLL for (int r = 0; r < 4; r++) out[r] = quad_sum(quad_add(even[r], odd[r]));
    for (; j < n; j++)
        UNROLL for (int r = 0; r < 4; r++) out[r] += a[r * ld + j] * x[j];
}

/* Four rows of L at a time, what they share of x first; then the corner. */
static void one_system(int64_t n, int64_t ld, const double *l, double *x)
{
    int64_t i = 0;
    double s[4];

    for (; i + 4 <= n; i += 4) {
        four_dots(i, ld, l + i * ld, x, s);
        for (int64_t r = i; r < i + 4; r++) {
            double sum = s[r - i];
            for (int64_t c = i; c < r; c++)
                sum += l[r * ld + c] * x[c];
            x[r] = (x[r] - sum) / l[r * ld + r];
        }
    }
    for (; i < n; i++) {
        double sum = 0;
        for (int64_t c = 0; c < i; c++)
            sum += l[i * ld + c] * x[c];
        x[i] = (x[i] - sum) / l[i * ld + i];
    }
}

/* Rows of X by fours: a row of L is read once for all of them. */
void KERNEL(lower_systems)(int64_t n, int64_t ld, const double *l, int64_t rows,
                           int64_t x_ld, double *x)
{
    int64_t r = 0;

    for (; r + 4 <= rows; r += 4) {
        double *four = x + r * x_ld, s[4];
        for (int64_t i = 0; i < n; i++) {
            const double pivot = l[i * ld + i];
            four_dots(i, x_ld, four, l + i * ld, s);
            for (int c = 0; c < 4; c++)
                four[c * x_ld + i] = (four[c * x_ld + i] - s[c]) / pivot;
        }
    }
    for (; r < rows; r++)
        one_system(n, ld, l, x + r * x_ld);
}

/* A += X X', the lower triangle of n rows of X, d numbers each. */
void KERNEL(lower_products)(int64_t n, int64_t d, const double *x, int64_t ld, double *a)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = 0;
        double s[4];
        for (; j + 4 <= i + 1; j += 4) {
            four_dots(d, d, x + j * d, x + i * d, s);
            for (int c = 0; c < 4; c++)
                a[i * ld + j + c] += s[c];
        }
        for (; j <= i; j++)
            for (int64_t e = 0; e < d; e++)
                a[i * ld + j] += x[i * d + e] * x[j * d + e];
    }
}
