/* Dot products of the learners that go row by row, passive-aggressive steps and RankSVM, and
 * RankSVM's steps over pairs of labels. In quads, nothing fused: the same bits on every CPU,
 * which the log of a stream relies on. */
#include "linalg/host/kernels/kernel.h"

/* out[0..rows) for at most 4 rows of a; x is read once for all of them.
 * Two sums a row, even and odd quads; what is left over after eights is added one by
 * one. The order does not depend on how many rows go together. */
INLINE void dot_some(int rows, int64_t d, const double *a, const double *x, double *out)
{
    quad even[4], odd[4];
    int64_t j = 0;

    UNROLL for (int i = 0; i < rows; i++) even[i] = odd[i] = QUAD_ZERO;
    for (; j + 8 <= d; j += 8) {
        const quad p = quad_load(x + j), q = quad_load(x + j + 4);
        UNROLL for (int i = 0; i < rows; i++)
        {
            even[i] = quad_add(even[i], quad_mul(quad_load(a + i * d + j), p));
            odd[i] = quad_add(odd[i], quad_mul(quad_load(a + i * d + j + 4), q));
        }
    }
    UNROLL for (int i = 0; i < rows; i++) out[i] = quad_sum(quad_add(even[i], odd[i]));
    for (; j < d; j++)
        UNROLL for (int i = 0; i < rows; i++) out[i] += a[i * d + j] * x[j];
}

/* out[i] <- <a_i, x> for the rows of a (rows x d). 2 x 4 sums of a quad fill the registers
 * of AVX2; with 16 bytes a register only half as many rows fit. */
void KERNEL(rows_dot)(int64_t rows, int64_t d, const double *a, const double *x,
                      double *out)
{
    int64_t i = 0;

#if LANES > 2
    for (; i + 4 <= rows; i += 4)
        dot_some(4, d, a + i * d, x, out + i);
#endif
    for (; i + 2 <= rows; i += 2)
        dot_some(2, d, a + i * d, x, out + i);
    if (i < rows) dot_some(1, d, a + i * d, x, out + i);
}

/* ---- a row times W (d x wide), wide a multiple of four ---- */

/* Quads whose two sums stay in registers, with room for what they are made of. */
enum { MOST_FOURS = LANES > 2 ? 5 : 3 };

/* s <- sum_e v_e W[index_e] for `fours` (at most MOST_FOURS) times four columns. Several sums at a
 * time, or each addition would wait for the one before. */
INLINE void row_some(int64_t n, const double *v, const int32_t *index, const double *w,
                     int64_t wide, int fours, double *s)
{
    quad even[MOST_FOURS], odd[MOST_FOURS];
    int64_t e = 0;

    UNROLL for (int c = 0; c < fours; c++) even[c] = odd[c] = QUAD_ZERO;
    for (; e + 2 <= n; e += 2) {
        const double *a = w + (index ? index[e] : e) * wide;
        const double *b = w + (index ? index[e + 1] : e + 1) * wide;
        UNROLL for (int c = 0; c < fours; c++)
        {
            even[c] = quad_add(even[c], quad_times(v[e], quad_load(a + 4 * c)));
            odd[c] = quad_add(odd[c], quad_times(v[e + 1], quad_load(b + 4 * c)));
        }
    }
    if (e < n)
        UNROLL for (int c = 0; c < fours; c++) even[c] = quad_add(
            even[c],
            quad_times(v[e], quad_load(w + (index ? index[e] : e) * wide + 4 * c)));
    UNROLL for (int c = 0; c < fours; c++) quad_store(s + 4 * c, quad_add(even[c], odd[c]));
}

/* As many columns at a time as the registers take, but such that no single quad is left over, whose two sums would
 * wait for each other: wide is a multiple of four. */
INLINE void row_all(int64_t n, const double *v, const int32_t *index, const double *w,
                    int64_t wide, double *s)
{
    enum { STEP = MOST_FOURS - 1 };
    int64_t c = 0;

    for (; wide - c > 4 * MOST_FOURS; c += 4 * STEP)
        row_some(n, v, index, w + c, wide, STEP, s + c);
    switch ((wide - c) / 4) {
    case 1: row_some(n, v, index, w + c, wide, 1, s + c); break;
    case 2: row_some(n, v, index, w + c, wide, 2, s + c); break;
    case 3: row_some(n, v, index, w + c, wide, 3, s + c); break;
#if LANES > 2
    case 4: row_some(n, v, index, w + c, wide, 4, s + c); break;
    case 5: row_some(n, v, index, w + c, wide, 5, s + c); break;
#endif
    default: break;
    }
}

/* Two copies of the loop, of which one does not look at index. */
void KERNEL(row_mul)(int64_t n, const double *v, const int32_t *index, const double *w,
                     int64_t wide, double *s)
{
    if (index)
        row_all(n, v, index, w, wide, s);
    else
        row_all(n, v, NULL, w, wide, s);
}

/* W[index_e] += v_e add for `fours` (at most 4) times four columns, whose numbers of `add` stay in registers. */
INLINE void add_some(int64_t n, const double *v, const int32_t *index, double *w,
                     int64_t wide, int fours, const double *add)
{
    quad a[4];

    UNROLL for (int c = 0; c < fours; c++) a[c] = quad_load(add + 4 * c);
    for (int64_t e = 0; e < n; e++) {
        double *to = w + (index ? index[e] : e) * wide;
        UNROLL for (int c = 0; c < fours; c++)
            quad_store(to + 4 * c, quad_add(quad_load(to + 4 * c), quad_times(v[e], a[c])));
    }
}

INLINE void add_all(int64_t n, const double *v, const int32_t *index, double *w,
                    int64_t wide, const double *add)
{
    int64_t c = 0;

    for (; c + 16 <= wide; c += 16)
        add_some(n, v, index, w + c, wide, 4, add + c);
    for (; c < wide; c += 4)
        add_some(n, v, index, w + c, wide, 1, add + c);
}

/* Rows of W are distinct within a row of X, so nothing is added to twice. */
void KERNEL(row_add)(int64_t n, const double *v, const int32_t *index, double *w,
                     int64_t wide, const double *add)
{
    if (index)
        add_all(n, v, index, w, wide, add);
    else
        add_all(n, v, NULL, w, wide, add);
}

/* ---- pairs ---- */

/* Whether none of four pairs would move while s_k is what it is: a is where the step leads,
 * or held by its bound. Most pairs are at rest most of the time. */
INLINE bool at_rest(const double *a, const double *s, double s_k, double step, double most)
{
    int64_t rest = -1;

    for (int i = 0; i < 4; i += LANES < 4 ? 2 : 4) {
#if LANES < 4
        typedef int64_t truth __attribute__((vector_size(16)));
        const v2 old = *(const v2 *)(const void *)(a + i);
        const v2 want = old - (s_k - *(const v2 *)(const void *)(s + i) - 1) * step;
#else
        typedef int64_t truth __attribute__((vector_size(32)));
        const v4 old = *(const v4 *)(const void *)(a + i);
        const v4 want = old - (s_k - *(const v4 *)(const void *)(s + i) - 1) * step;
#endif
        const truth t =
            ((want <= 0) & (old == 0)) | ((want >= most) & (old == most)) | (want == old);
        for (int l = 0; l < (LANES < 4 ? 2 : 4); l++)
            rest &= t[l];
    }
    return rest != 0;
}

/* A step changes s_k for the pairs after it, so they go one after the other; only where
 * four in a row are at rest are they passed over together, which changes no bit. The
 * formula is linalg.h's. */
double KERNEL(pair_steps)(const ferry_label_pairs *p, double *a, double *s, double *add,
                          double *gap)
{
    const double step = 1 / (2 * p->norm2);
    double sum = 0, left = 0, s_k = p->s;

    for (int64_t q = 0; q < p->n; q++) {
        if (q % 4 == 0 && q + 4 <= p->n && at_rest(a + q, s + q, s_k, step, p->most)) {
            q += 3;
            continue;
        }
        const double g = s_k - s[q] - 1, want = a[q] - g * step;
        const double da = (want < 0 ? 0 : want > p->most ? p->most : want) - a[q];
        if (da == 0) continue;
        left += (g < 0 ? a[q] - p->most : a[q]) * g;
        a[q] += da;
        s_k += da * p->norm2;
        s[q] -= da * p->norm2;
        sum += da;
        add[q] -= da;
    }
    *gap += left;
    return sum;
}
