/* Blocks and smalls: life, fills, signs. */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"

enum { LINE = 64 }; /* bytes of a cache line: rows of 8 doubles then touch only one */

/* One allocation: `head` bytes, then n zeroed doubles on a cache line, where *data
 * points.
 * The line is found by rounding up, which is what the LINE bytes more are for; freeing
 * the head frees all. */
static void *new_with_data(int64_t head, int64_t n, double **data)
{
    char *p = ferry_i_calloc(head + LINE + n * (int64_t)sizeof **data, 1);

    if (p) *data = (double *)(void *)(p + head + LINE - (uintptr_t)(p + head) % LINE);
    return p;
}

/* BLAS counts in 32 bits; the bound also keeps rows * cols * 8 from overflowing. */
static ferry_status check_shape(ferry_ctx *ctx, const char *what, int64_t rows,
                                int64_t cols)
{
    if (rows < 0 || cols < 0 || rows > INT32_MAX || cols > INT32_MAX ||
        (cols > 0 && rows > INT64_MAX / 16 / cols))
        return ferry_i_fail(ctx, FERRY_EINVAL, "a %s of %lld x %lld numbers is too large",
                            what, (long long)rows, (long long)cols);
    return FERRY_OK;
}

/* Zeroed. One call of ferry_i_block_free() gives back head and numbers. */
ferry_status ferry_i_block_new(ferry_ctx *ctx, int64_t rows, int64_t k, ferry_block **out)
{
    double *data = NULL;

    *out = NULL;
    if (check_shape(ctx, "block", rows, k) != FERRY_OK) return FERRY_EINVAL;
    ferry_block *b = new_with_data(sizeof *b, rows * k, &data);
    if (!b) return ferry_i_nomem(ctx);
    *b = (ferry_block){.rows = rows, .k = k, .data = data};
    *out = b;
    return FERRY_OK;
}

void ferry_i_block_free(ferry_block *b)
{
    ferry_i_free(b);
}

void ferry_i_block_copy(const ferry_block *from, ferry_block *to)
{
    const int64_t n = from->rows * from->k;

    if (n > 0) memcpy(to->data, from->data, (size_t)n * sizeof *to->data);
}

ferry_status ferry_i_small_new(ferry_ctx *ctx, int64_t rows, int64_t cols,
                               ferry_small **out)
{
    double *data = NULL;

    *out = NULL;
    if (check_shape(ctx, "small matrix", rows, cols) != FERRY_OK) return FERRY_EINVAL;
    ferry_small *s = new_with_data(sizeof *s, rows * cols, &data);
    if (!s) return ferry_i_nomem(ctx);
    *s = (ferry_small){.rows = rows, .cols = cols, .data = data};
    *out = s;
    return FERRY_OK;
}

void ferry_i_small_free(ferry_small *s)
{
    ferry_i_free(s);
}

void ferry_i_fill_uniform(ferry_block *b, ferry_rng *rng, double lo, double hi)
{
    for (int64_t e = 0; e < b->rows * b->k; e++)
        b->data[e] = lo + (hi - lo) * ferry_i_rng_real(rng);
}

void ferry_i_fill_normal(ferry_block *b, ferry_rng *rng)
{
    for (int64_t e = 0; e < b->rows * b->k; e++)
        b->data[e] = ferry_i_rng_normal(rng);
}

/* Entries that are equal but for rounding count as equal, or the sign would hang on the
 * last bit. */
bool ferry_i_fix_sign(int64_t n, double *x, int64_t stride)
{
    double largest = 0;
    int64_t at = 0;

    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(x[i * stride]));
    while (at < n && fabs(x[at * stride]) < largest * (1 - 1e-8))
        at++;
    if (at == n || x[at * stride] >= 0) return false;
    for (int64_t i = 0; i < n; i++)
        x[i * stride] = -x[i * stride];
    return true;
}
