/* The operations of learners that go row by row, and packed data: every instruction set that
 * this CPU has against the plain versions of ref, over random shapes. (Products of data
 * matrices are in test_engine; whole tiles and consensus in test_ttl_nmtf and
 * test_consensus.) */
#include "ferry_test.h"
#include "linalg/host/kernels.h"

static const int64_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 64, 101};

typedef struct fixture {
    ferry_ctx *ref, *host;
    ferry_rng rng;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);

    *state = f;
    if (ferry_ctx_new(&f->ref) || ferry_ctx_new(&f->host)) return -1;
    ferry_i_rng_seed(&f->rng, 11, 1);
    return ferry_i_ctx_set_engine(f->ref, "ref");
}

static int teardown(void **state)
{
    fixture *f = *state;

    ferry_ctx_free(f->ref);
    ferry_ctx_free(f->host);
    free(f);
    return 0;
}

static double *numbers(fixture *f, int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);

    for (int64_t i = 0; i < n; i++)
        x[i] = ferry_i_rng_normal(&f->rng);
    return x;
}

static void all_close(int64_t n, const double *a, const double *want, double tol)
{
    for (int64_t i = 0; i < n; i++)
        assert_close(a[i], want[i], tol * (1 + fabs(want[i])));
}

/* Same numbers as plain sums; the same bits from all instruction sets. */
static void test_rows_dot(void **state)
{
    fixture *f = *state;

    for (int64_t l = 0; l < FERRY_COUNT(lengths); l++)
        for (int64_t rows = 0; rows < 12; rows++) {
            const int64_t d = lengths[l];
            double *a = numbers(f, rows * d), *x = numbers(f, d), first[12], out[12];
            ferry_i_rows_dot(rows, d, a, x, first);
            for (int isa = 0; isa < FERRY_ISAS; isa++) {
                if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
                ferry_i_kernels_of((ferry_isa)isa)->rows_dot(rows, d, a, x, out);
                assert_memory_equal(out, first, (size_t)rows * sizeof *out);
            }
            for (int64_t i = 0; i < rows; i++) {
                double sum = 0;
                for (int64_t j = 0; j < d; j++)
                    sum += a[i * d + j] * x[j];
                assert_close(first[i], sum, 1e-12);
            }
            free(a);
            free(x);
        }
}

/* No product of rounded rows is off by more than their lengths allow: rows of numbers near each other, which add up, far
 * apart, below the floats; and none beyond them passes for a number. */
static void test_rounded(void **state)
{
    static const int64_t long_ones[] = {512, 2048, 4099};
    fixture *f = *state;
    enum { ROWS = 7 };

    for (int64_t l = 0; l < FERRY_COUNT(lengths) + FERRY_COUNT(long_ones); l++) {
        const int64_t d =
            l < FERRY_COUNT(lengths) ? lengths[l] : long_ones[l - FERRY_COUNT(lengths)];
        double *a = numbers(f, (ROWS + 1) * d), *x = a + ROWS * d, out[ROWS];
        float *b = calloc((size_t)((ROWS + 1) * d + 1), sizeof *b);
        for (int64_t j = 0; j < d; j++) {
            a[j] = x[j] = 1 + 0.1 * x[j];
            a[d + j] *= j % 2 ? 1e-45 : 1e-40;
            a[2 * d + j] *= pow(10, (double)(j % 30) - 15);
            a[3 * d + j] = 0;
        }
        if (d > 0) a[5 * d - 1] = 1e39;
        for (int isa = 0; isa < FERRY_ISAS; isa++) {
            double squares[ROWS + 1];
            if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
            const ferry_kernels *k = ferry_i_kernels_of((ferry_isa)isa);
            for (int64_t i = 0; i <= ROWS; i++)
                squares[i] = k->round_row(d, a + i * d, b + i * d);
            for (int64_t i = 0; i < (ROWS + 1) * d; i++)
                assert_true(b[i] == (float)a[i]);
            for (int64_t rows = 0; rows <= ROWS; rows++) {
                k->rounded_dots(rows, d, b, b + ROWS * d, out);
                for (int64_t i = 0; i < rows; i++) {
                    double sum = 0, square = 0;
                    for (int64_t j = 0; j < d; j++) {
                        sum += a[i * d + j] * x[j];
                        square += a[i * d + j] * a[i * d + j];
                    }
                    assert_close(squares[i], square, 1e-12 * square);
                    const double e = FERRY_ROUNDED *
                                     (sqrt(squares[i]) + FERRY_ROUNDED_LEAST) *
                                     (sqrt(squares[ROWS]) + FERRY_ROUNDED_LEAST);
                    assert_true(i == 4 && d > 0 ? !isfinite(out[i])
                                                : fabs(out[i] - sum) <= e);
                }
            }
        }
        free(a);
        free(b);
    }
}

/* What ridges in a stream take: products with floats, triangular systems, X X'. */
static void test_ridges(void **state)
{
    fixture *f = *state;
    enum { ROWS = 7 };

    for (int64_t l = 0; l < FERRY_COUNT(lengths); l++) {
        const int64_t d = lengths[l];
        double *x = numbers(f, (ROWS + 3) * d), *low = numbers(f, d * d), first[3 * ROWS];
        float *b = calloc((size_t)((ROWS + 3) * d + 1), sizeof *b);
        const float *rows[ROWS];
        for (int64_t i = 0; i < (ROWS + 3) * d; i++)
            b[i] = (float)x[i];
        for (int64_t i = 0; i < ROWS; i++)
            rows[i] = b + i * d;
        const float *const s = b + ROWS * d, *const u = s + d, *const w = u + d;
        for (int64_t i = 0; i < d; i++)
            low[i * d + i] = 3 + fabs(low[i * d + i]);
        double *solved = malloc((size_t)(ROWS * d + 1) * sizeof *solved), *now = NULL;
        double *first_a = calloc((size_t)(ROWS * ROWS), sizeof *first_a);
        memcpy(solved, x, (size_t)(ROWS * d) * sizeof *x);
        ferry_i_asked_dots(&(ferry_asked){d, s, u, w}, ROWS, rows, first);
        ferry_i_lower_systems(d, d, low, ROWS, d, solved);
        ferry_i_lower_products(ROWS, d, x, ROWS, first_a);
        for (int isa = 0; isa < FERRY_ISAS; isa++) {
            double out[3 * ROWS], a[ROWS * ROWS] = {0};
            if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
            const ferry_kernels *k = ferry_i_kernels_of((ferry_isa)isa);
            k->asked_dots(&(ferry_asked){d, s, NULL, w}, ROWS, rows, out);
            for (int64_t i = 0; i < ROWS; i++)
                assert_true(out[3 * i] == first[3 * i]);
            k->asked_dots(&(ferry_asked){d, s, u, w}, ROWS, rows, out);
            assert_memory_equal(out, first, sizeof out);
            now = malloc((size_t)(ROWS * d + 1) * sizeof *now);
            memcpy(now, x, (size_t)(ROWS * d) * sizeof *x);
            k->lower_systems(d, d, low, ROWS, d, now);
            assert_memory_equal(now, solved, (size_t)(ROWS * d) * sizeof *now);
            free(now);
            k->lower_products(ROWS, d, x, ROWS, a);
            assert_memory_equal(a, first_a, sizeof a);
        }
        for (int64_t i = 0; i < ROWS; i++) {
            double sum[3] = {0};
            for (int64_t j = 0; j < d; j++) {
                const double v = (double)rows[i][j];
                sum[0] += v * (double)s[j];
                sum[1] += v * fabs(v) * (double)u[j];
                sum[2] += v * (double)w[j];
            }
            for (int c = 0; c < 3; c++)
                assert_close(first[3 * i + c], sum[c],
                             1e-5 * (1 + fabs(sum[c])) + 1e-6 * (double)d);
            for (int64_t j = 0; j <= i; j++) {
                double product = 0;
                for (int64_t e = 0; e < d; e++)
                    product += x[i * d + e] * x[j * d + e];
                assert_close(first_a[i * ROWS + j], product, 1e-10 * (1 + fabs(product)));
            }
            for (int64_t r = 0; r < d; r++) { /* L solved = x */
                double back = 0, size = 1;
                for (int64_t c = 0; c <= r; c++) {
                    back += low[r * d + c] * solved[i * d + c];
                    size += fabs(low[r * d + c] * solved[i * d + c]);
                }
                assert_close(back, x[i * d + r], 1e-9 * size);
            }
        }
        free(x);
        free(low);
        free(b);
        free(solved);
        free(first_a);
    }
}

/* A row times W and the update that follows, dense and sparse. */
static void test_rows(void **state)
{
    fixture *f = *state;

    for (int64_t l = 0; l < FERRY_COUNT(lengths); l++)
        for (int64_t wide = 0; wide <= 32; wide += 4)
            for (int sparse = 0; sparse < 2; sparse++) {
                const int64_t n = lengths[l], d = sparse ? 3 * n + 1 : n, size = d * wide;
                double *v = numbers(f, n), *w = numbers(f, size), *add = numbers(f, wide);
                double s[32], want[32], *plain = calloc((size_t)size + 1, sizeof *plain);
                double *got = calloc((size_t)size + 1, sizeof *got);
                int32_t *index = calloc((size_t)n + 1, sizeof *index);
                for (int64_t e = 0; e < n; e++)
                    index[e] = (int32_t)(3 * e + (int64_t)ferry_i_rng_below(&f->rng, 3));
                const int32_t *at = sparse ? index : NULL;
                ferry_e(f->ref)->row_mul(f->ref, n, v, at, w, wide, want);
                memcpy(plain, w, (size_t)size * sizeof *w);
                ferry_e(f->ref)->row_add(f->ref, n, v, at, plain, wide, add);
                for (int isa = 0; isa < FERRY_ISAS; isa++) {
                    if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
                    f->host->isa = isa;
                    ferry_e(f->host)->row_mul(f->host, n, v, at, w, wide, s);
                    all_close(wide, s, want, 1e-12);
                    memcpy(got, w, (size_t)size * sizeof *w);
                    ferry_e(f->host)->row_add(f->host, n, v, at, got, wide, add);
                    assert_memory_equal(got, plain, (size_t)size * sizeof *w);
                }
                free(v);
                free(w);
                free(add);
                free(plain);
                free(got);
                free(index);
            }
}

/* Steps over pairs, from a start with pairs at both bounds and in between, twice over: the
 * second time many are at rest. */
static void test_pair_steps(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 200; round++) {
        const int64_t n = lengths[round % FERRY_COUNT(lengths)];
        const ferry_label_pairs p = {n, ferry_i_rng_normal(&f->rng), 0.5 + round % 5, 0.25};
        double *s = numbers(f, n), *a = numbers(f, n), *add = numbers(f, n), *copy[6];
        for (int64_t q = 0; q < n; q++)
            a[q] = a[q] < 0 ? 0 : a[q] > 0.5 ? p.most : a[q] / 2;
        for (int i = 0; i < 6; i++)
            copy[i] = calloc((size_t)n + 1, sizeof(double));
        for (int isa = 0; isa < FERRY_ISAS; isa++) {
            if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
            f->host->isa = isa;
            for (int i = 0; i < 6; i++)
                memcpy(copy[i],
                       i % 3 == 0   ? a
                       : i % 3 == 1 ? s
                                    : add,
                       (size_t)n * sizeof *a);
            for (int turn = 0; turn < 2; turn++) {
                double gaps[] = {round, round}; /* added to */
                const double want = ferry_e(f->ref)->pair_steps(f->ref, &p, copy[0],
                                                                copy[1], copy[2], &gaps[0]);
                const double got = ferry_e(f->host)->pair_steps(f->host, &p, copy[3],
                                                                copy[4], copy[5], &gaps[1]);
                assert_close(got, want, 1e-12);
                assert_close(gaps[1], gaps[0], 1e-12);
                assert_true(gaps[1] >= round);
                for (int i = 0; i < 3; i++)
                    all_close(n, copy[3 + i], copy[i], 1e-12);
            }
        }
        for (int i = 0; i < 6; i++)
            free(copy[i]);
        free(s);
        free(a);
        free(add);
    }
}

/* A pair whose step is lost in rounding does not move, and is no part of the gap: that is when a fit is over. */
static void test_pairs_at_rest(void **state)
{
    fixture *f = *state;
    const ferry_label_pairs p = {9, nextafter(1.5, 2), 1000, 0.25};

    for (int isa = 0; isa <= FERRY_ISAS; isa++) { /* ref comes last */
        const ferry_ctx *ctx = isa < FERRY_ISAS ? f->host : f->ref;
        double a[9], s[9], add[9] = {0}, gap = 0;
        if (isa < FERRY_ISAS && !ferry_i_isa_runs((ferry_isa)isa)) continue;
        if (isa < FERRY_ISAS) f->host->isa = isa;
        for (int q = 0; q < 9; q++) {
            a[q] = 0.2;
            s[q] = 0.5;
        }
        assert_true(ferry_e(ctx)->pair_steps(ctx, &p, a, s, add, &gap) == 0);
        assert_true(gap == 0);
    }
}

/* Columns of rows with zeros and missing cells: the same bits as plain loops from all instruction sets. */
static void test_columns(void **state)
{
    enum { MOST = 101, ROWS = 11 };
    fixture *f = *state;

    for (int64_t l = 0; l < FERRY_COUNT(lengths); l++) {
        const int64_t n = lengths[l], stride = n + 3;
        double *v = numbers(f, ROWS * stride), *mean = numbers(f, n), want[7][MOST];
        ferry_halves half = {.mean = 0.1, .last = -INFINITY, .first = INFINITY};
        for (int64_t e = 0; e < ROWS * stride; e++)
            if (e % 5 == 0) v[e] = e % 3 ? 0 : NAN;
        for (int64_t j = 0; j < n; j++) {
            double *w[7];
            for (int r = 0; r < 7; r++)
                *(w[r] = &want[r][j]) = r == 1 ? INFINITY : r == 2 ? -INFINITY : 0.5;
            for (int64_t i = 0; i < ROWS; i++) {
                const double x = v[i * stride + j];
                *w[3] += isnan(x);
                if (isnan(x)) continue;
                *w[0] += x;
                *w[1] = fmin(*w[1], x);
                *w[2] = fmax(*w[2], x);
                *w[4] += x != 0;
                *w[5] += x != 0 ? (x - mean[j]) * (x - mean[j]) : 0;
            }
            for (int64_t i = 0; i < ROWS; i++) {
                const double x = v[i * stride + j];
                *w[6] += !isnan(x) && x != *w[1] && x != *w[2];
            }
        }
        for (int64_t e = 0; e < n; e++) {
            if (v[e] == 0 || isnan(v[e])) continue;
            half.below += v[e] < half.mean;
            if (v[e] < half.mean) half.last = fmax(half.last, v[e]);
            if (v[e] >= half.mean) half.first = fmin(half.first, v[e]);
        }
        for (int isa = 0; isa < FERRY_ISAS; isa++) {
            const ferry_kernels *k = ferry_i_kernels_of((ferry_isa)isa);
            double got[7][MOST];
            ferry_halves h = {.mean = 0.1, .last = -INFINITY, .first = INFINITY};
            const ferry_columns c = {n,      got[0], got[1], got[2], got[3],
                                     got[4], mean,   got[5], got[6]};
            if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
            for (int64_t j = 0; j < n; j++)
                for (int r = 0; r < 7; r++)
                    got[r][j] = r == 1 ? INFINITY : r == 2 ? -INFINITY : 0.5;
            k->column_sums(&c, ROWS, stride, v);
            k->column_squares(&c, ROWS, stride, v);
            k->column_halves(&h, n, v);
            for (int r = 0; r < 7; r++)
                assert_memory_equal(got[r], want[r], (size_t)n * sizeof **got);
            assert_int_equal(h.below, half.below);
            assert_true(h.last == half.last && h.first == half.first);
        }
        free(v);
        free(mean);
    }
}

/* One row through fill, shift and factor, its squares, its infinities: the bits of plain loops from all instruction sets. */
static void test_row_cells(void **state)
{
    enum { MOST = 101 };
    fixture *f = *state;

    for (int64_t l = 0; l < FERRY_COUNT(lengths); l++) {
        const int64_t n = lengths[l];
        double *v = numbers(f, n), *by[3], out[MOST], want[MOST], part[8] = {0};
        int64_t infinite = 0;
        for (int i = 0; i < 3; i++)
            by[i] = numbers(f, n);
        for (int64_t j = 0; j < n; j += 3)
            v[j] = j % 2 ? -0.0 : NAN;
        for (int64_t j = 0; j < n; j++)
            part[j % 8] += isnan(v[j]) ? 0 : v[j] * v[j];
        for (int used = 0; used < 8; used++) {
            const double *fill = used & 1 ? by[0] : NULL, *shift = used & 2 ? by[1] : NULL,
                         *factor = used & 4 ? by[2] : NULL;
            for (int64_t j = 0; j < n; j++) {
                want[j] = fill && isnan(v[j]) ? fill[j] : v[j] + 0;
                if (shift) want[j] -= shift[j];
                if (factor) want[j] *= factor[j];
            }
            for (int isa = 0; isa < FERRY_ISAS; isa++) {
                if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
                const ferry_kernels *k = ferry_i_kernels_of((ferry_isa)isa);
                double squares = -1;
                k->row_fill(n, v, fill, shift, factor, out, used % 3 ? &squares : NULL);
                assert_true(squares == (used % 3 ? k->row_squares(n, out) : -1));
                for (int64_t j = 0; j < n; j++) /* a NaN has many bits */
                    assert_true(isnan(want[j]) ? isnan(out[j])
                                               : memcmp(out + j, want + j, 8) == 0);
            }
        }
        const double sum = ((part[0] + part[1]) + (part[2] + part[3])) +
                           ((part[4] + part[5]) + (part[6] + part[7]));
        for (int64_t j = 1; j < n; j += 5, infinite++)
            by[0][j] = j % 2 ? INFINITY : -INFINITY;
        if (n > 2) by[0][2] = NAN;
        for (int isa = 0; isa < FERRY_ISAS; isa++) {
            if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
            const ferry_kernels *k = ferry_i_kernels_of((ferry_isa)isa);
            assert_true(k->row_squares(n, v) == sum);
            assert_int_equal(k->row_infinite(n, by[0]), infinite);
            assert_int_equal(k->row_infinite(n, v), 0);
            memcpy(out, by[1], (size_t)n * sizeof *out);
            k->row_times(n, 0.3, out);
            for (int64_t j = 0; j < n; j++)
                assert_true(out[j] == by[1][j] * 0.3);
        }
        free(v);
        for (int i = 0; i < 3; i++)
            free(by[i]);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_rows_dot), T(test_ridges),     T(test_columns), T(test_row_cells),
        T(test_rows),     T(test_pair_steps), T(test_rounded), T(test_pairs_at_rest),
    };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
