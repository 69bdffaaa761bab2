/* One row through a scaler gets the bits that it gets in a matrix (learn/scale.h), however
 * it and the matrix are stored. */
#include "kept.h"
#include "learn/rows.h"

enum {
    N = 39,
    D = 300
}; /* more columns than a block of scale_dense.c, rows in fours and some left */

static const double BARELY = 0.04; /* counts, and one that is not whole */

/* Counts or numbers, a share of `fill` not 0, some cells missing; dense, or CSR of that. */
static ferry_matrix *make(ferry_ctx *ctx, double fill, bool counts, bool sparse)
{
    ferry_matrix *x = NULL;
    int64_t n = 0;
    ferry_rng rng;

    assert_ok(ctx, sparse ? ferry_i_matrix_csr(ctx, N, D, N * D, &x)
                          : ferry_i_matrix_dense(ctx, N, D, &x));
    ferry_i_rng_seed(&rng, 5, 1);
    for (int64_t e = 0; e < N * D; e++) {
        const double u = ferry_i_rng_real(&rng), v = ferry_i_rng_real(&rng);
        double value = counts ? 1 + (double)(int)(5 * v) : v - 0.3;
        if (u > fill) value = 0;
        if (e % 53 == 7) value = NAN;
        if (fill == BARELY && e == 11) value = 0x1p51 + 0.5;
        if (!sparse) x->dense[e] = value;
        if (sparse && value != 0) {
            x->index[n] = (int32_t)(e % D);
            x->value[n++] = value;
        }
        if (sparse) x->start[e / D + 1] = n;
    }
    if (sparse) x->nnz = n;
    return x;
}

static ferry_row row_of(const ferry_matrix *x, int64_t i)
{
    return (ferry_row){row_end(x, i) - row_begin(x, i),
                       x->dense ? NULL : x->index + row_begin(x, i),
                       row_values(x) + row_begin(x, i)};
}

static void check(ferry_ctx *ctx, ferry_scale kind, double fill, bool counts)
{
    const ferry_scale_room room = kept_room(ctx, D);
    ferry_matrix *first = NULL; /* from dense */

    for (int from = 0; from < 2; from++) { /* stored dense, stored as CSR */
        ferry_matrix *x = make(ctx, fill, counts, from), *y = NULL;
        const ferry_scale_part part = {.x = x};
        ferry_scaler *s = NULL;
        assert_ok(ctx, fit_scaler(ctx, kind, D, 1, &part, &s, NULL));
        assert_ok(ctx, apply_scaler(ctx, s, &part, (ferry_scale_how){0}, &y));
        for (int64_t i = 0; i < N; i++) {
            const ferry_row in = row_of(x, i), want = row_of(y, i);
            const ferry_row have = scaler_row(s, &in, &room);
            assert_int_equal(have.n, want.n);
            assert_int_equal(have.index != NULL, want.index != NULL);
            assert_memory_equal(have.value, want.value, (size_t)want.n * sizeof(double));
            if (want.index)
                assert_memory_equal(have.index, want.index,
                                    (size_t)want.n * sizeof *want.index);
        }
        if (first) {
            assert_int_equal(y->nnz, first->nnz);
            assert_memory_equal(row_values(y), row_values(first),
                                (size_t)y->nnz * sizeof(double));
        }
        if (!first) first = ferry_i_matrix_ref(y);
        ferry_i_matrix_free(y);
        ferry_i_matrix_free(x);
    }
    ferry_i_matrix_free(first);
}

static void test_row_is_matrix(void **state)
{
    for (int kind = FERRY_SCALE_AUTO; kind <= FERRY_SCALE_L2; kind++) {
        check(*state, (ferry_scale)kind, 0.9, false);
        check(*state, (ferry_scale)kind, 0.9, true);
        check(*state, (ferry_scale)kind, 0.05, true); /* CSR */
        check(*state, (ferry_scale)kind, BARELY, true);
    }
}

static void room_of(scope *s, void *arg)
{
    (void)arg;
    (void)scale_room(s, D);
}

static ferry_status room_body(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, room_of, arg);
}

static void test_memory(void **state)
{
    each_allocation_fails(*state, room_body, NULL);
}

#define TEST(f) KEPT_TEST(f)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_row_is_matrix), TEST(test_memory)};

    return cmocka_run_group_tests_name("scale_row", tests, NULL, NULL);
}
