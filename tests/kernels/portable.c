/* The kernels of the baseline against the reference engine over random shapes, with neither
 * OpenBLAS nor cmocka: so that it builds for another CPU in seconds and runs under an
 * emulator (scripts/aarch64). What the other instruction sets do is in tests/unit.
 *
 * Status 0, or 1 with a line for each difference. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/host/kernels.h"

extern const ferry_kernels ferry_i_kernels_baseline;

static const ferry_kernels *const kernels = &ferry_i_kernels_baseline;
static const ferry_engine *const ref = &ferry_i_engine_ref;
static const int64_t widths[] = {1,  2,  3,  4,  5,  7,  8,  9, 12,
                                 13, 15, 16, 17, 31, 32, 33, 64};
static ferry_rng rng;
static int failures;

/* What the reference engine needs of core beyond memory and random numbers. */
ferry_status ferry_i_fail(ferry_ctx *ctx, ferry_status code, const char *format, ...)
{
    va_list args;

    (void)ctx;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return code;
}

int64_t ferry_i_utf8_width(const char *s)
{
    return (int64_t)strlen(s);
}

static void *room(int64_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);

    if (!p) exit(2);
    return p;
}

static double *numbers(int64_t n)
{
    double *x = room(n, sizeof *x);

    for (int64_t i = 0; i < n; i++)
        x[i] = ferry_i_rng_normal(&rng);
    return x;
}

static double *copy(int64_t n, const double *x)
{
    double *to = room(n, sizeof *to);

    memcpy(to, x, (size_t)n * sizeof *x);
    return to;
}

static void same(const char *what, int64_t k, int64_t n, const double *got,
                 const double *want)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-11 * (1 + fabs(want[i])))) {
            printf("%s, k = %lld: number %lld is %.17g, not %.17g\n", what, (long long)k,
                   (long long)i, got[i], want[i]);
            failures++;
            return;
        }
}

/* About a third of the cells, some rows without any. */
static ferry_matrix matrix(int64_t rows, int64_t cols)
{
    ferry_matrix x = {.rows = rows, .cols = cols, .refs = 1};

    x.start = room(rows + 1, sizeof *x.start);
    x.index = room(rows * cols, sizeof *x.index);
    x.value = numbers(rows * cols);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; i % 5 != 4 && j < cols; j++)
            if (ferry_i_rng_below(&rng, 3) == 0) x.index[x.nnz++] = (int32_t)j;
        x.start[i + 1] = x.nnz;
    }
    return x;
}

static void clear(ferry_matrix *x)
{
    free(x->start);
    free(x->index);
    free(x->value);
}

static ferry_block block(int64_t rows, int64_t k, double *data)
{
    return (ferry_block){rows, k, data};
}

/* X B and X'B, near and far (far fetches ahead, and must not read beyond the entries). */
static void products(int64_t k, bool far)
{
    ferry_matrix x = matrix(37, 29);
    double *b = numbers(29 * k), *y = numbers(37 * k), *want = copy(37 * k, y);
    double *tb = numbers(37 * k), *ty = numbers(29 * k), *twant = copy(29 * k, ty);
    const ferry_block bb = block(29, k, b), tbb = block(37, k, tb);
    ferry_block wb = block(37, k, want), twb = block(29, k, twant);
    ferry_product p = {1.5, -0.5, x.start, x.start + 1, x.index, x.value, x.nnz,
                       k,   k,    k,       b,           y,       far};

    ref->mul(NULL, 1.5, &x, &bb, -0.5, &wb);
    kernels->multiply(&p, 0, 37);
    same("multiply", k, 37 * k, y, want);
    p.b = tb;
    p.y = ty;
    if (ref->tmul(NULL, 1.5, &x, &tbb, 1, &twb) != FERRY_OK) failures++;
    kernels->scatter(&p, 0, 37);
    same("scatter", k, 29 * k, ty, twant);
    free(b);
    free(y);
    free(want);
    free(tb);
    free(ty);
    free(twant);
    clear(&x);
}

/* N and D at the entries, and the ridge systems of the rows. */
static void at_entries(int64_t k)
{
    ferry_matrix x = matrix(23, 41);
    const int64_t w = (k + 3) / 4 * 4;
    double *a = numbers(23 * k), *c = numbers(41 * k), *n = numbers(23 * k);
    double *d = numbers(23 * k), *n2 = numbers(23 * k), *d2 = numbers(23 * k);
    double *p = numbers(23 * k), *gain = numbers(23), *gain2 = numbers(23);
    double *space = room(ferry_i_systems_space(w), sizeof *space);
    const ferry_block ab = block(23, k, a), cb = block(41, k, c);
    ferry_block nb = block(23, k, n2), db = block(23, k, d2);
    const ferry_masked m = {x.start, x.index, x.value, x.nnz, a, c, n, d, k};
    const ferry_systems s = {&x, c, k, w, 0.3, true, p, gain};

    kernels->masked(&m, 0, 23);
    ref->masked(NULL, &x, &ab, &cb, &nb, &db);
    same("masked, N", k, 23 * k, n, n2);
    same("masked, D", k, 23 * k, d, d2);
    kernels->ridge_rows(&s, 0, 23, space);
    if (ref->ridge_rows(NULL, &x, &cb, 0.3, true, &nb, gain2) != FERRY_OK) failures++;
    same("ridge_rows", k, 23 * k, p, n2);
    same("ridge_rows, gain", k, 23, gain, gain2);
    double *const all[] = {a, c, n, d, n2, d2, p, gain, gain2, space};
    for (int64_t i = 0; i < FERRY_COUNT(all); i++)
        free(all[i]);
    clear(&x);
}

/* What goes row by row: dots, a row times W and its update, steps over pairs. */
static void rows(int64_t n)
{
    const int64_t wide = n % 32 / 4 * 4 + 4;
    const ferry_label_pairs pairs = {n, 0.3, 1.7, 0.25};
    double *a = numbers(5 * n), *x = numbers(n), *w = numbers(n * wide), out[5], want[5];
    double *w2 = copy(n * wide, w), *add = numbers(wide), *s = numbers(n);
    double *s2 = copy(n, s), *lift = numbers(n), *lift2 = copy(n, lift), got[36], sum[36];

    kernels->rows_dot(5, n, a, x, out);
    for (int64_t i = 0; i < 5; i++) {
        want[i] = 0;
        for (int64_t j = 0; j < n; j++)
            want[i] += a[i * n + j] * x[j];
    }
    same("rows_dot", n, 5, out, want);
    kernels->row_mul(n, x, NULL, w, wide, got);
    ref->row_mul(NULL, n, x, NULL, w, wide, sum);
    same("row_mul", n, wide, got, sum);
    kernels->row_add(n, x, NULL, w, wide, add);
    ref->row_add(NULL, n, x, NULL, w2, wide, add);
    same("row_add", n, n * wide, w, w2);
    for (int64_t i = 0; i < n; i++)
        a[i] = a[n + i] = i % 3 == 0 ? 0 : i % 3 == 1 ? pairs.most : 0.1;
    out[1] = want[1] = 0.5;
    out[0] = kernels->pair_steps(&pairs, a, s, lift, &out[1]);
    want[0] = ref->pair_steps(NULL, &pairs, a + n, s2, lift2, &want[1]);
    same("pair_steps", n, 2, out, want);
    same("pair_steps, a", n, n, a, a + n);
    same("pair_steps, s", n, n, s, s2);
    same("pair_steps, add", n, n, lift, lift2);
    double *const all[] = {a, x, w, w2, add, s, s2, lift, lift2};
    for (int64_t i = 0; i < FERRY_COUNT(all); i++)
        free(all[i]);
}

int main(void)
{
    ferry_i_rng_seed(&rng, 5, 1);
    for (int64_t i = 0; i < FERRY_COUNT(widths); i++) {
        products(widths[i], false);
        products(widths[i], true);
        at_entries(widths[i]);
        rows(widths[i]);
    }
    printf("kernels of the baseline: %d differences from the reference engine\n", failures);
    return failures > 0;
}
