/* Matrices, blocks and smalls: making, checking, sharing, reshaping. */
#include "ferry_test.h"

static double at(const ferry_matrix *x, int64_t i, int64_t j)
{
    if (x->dense) return x->dense[i * x->cols + j];
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        if (x->index[e] == j) return x->value[e];
    return 0;
}

/* Rows of a 0-1-2... pattern:  [1 0 2 0] [0 0 0 0] [0 3 4 5]. */
static ferry_matrix *sample(ferry_ctx *ctx, bool sparse)
{
    static const double full[] = {1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 4, 5};
    static const int64_t start[] = {0, 2, 2, 5};
    static const int32_t index[] = {0, 2, 1, 2, 3};
    static const double value[] = {1, 2, 3, 4, 5};
    ferry_matrix *x = NULL;

    if (sparse)
        assert_ok(ctx, ferry_i_matrix_from_sparse(
                           ctx, &(ferry_sparse){3, 4, start, index, value, NULL}, &x));
    else
        assert_ok(ctx, ferry_i_matrix_from_array(ctx, &(ferry_array){3, 4, 4, full}, &x));
    return x;
}

/* Invariants of every CSR matrix. */
static void check_csr(const ferry_matrix *x)
{
    assert_null(x->dense);
    assert_int_equal(x->start[0], 0);
    assert_int_equal(x->start[x->rows], x->nnz);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            assert_in_range(x->index[e], 0, x->cols - 1);
            assert_true(e == x->start[i] || x->index[e] > x->index[e - 1]);
        }
}

static void test_from_array(void **state)
{
    static const double padded[] = {1, 2, -1, 3, 4, -1};
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &(ferry_array){2, 2, 3, padded}, &x));
    assert_int_equal(x->nnz, 4);
    assert_true(at(x, 0, 1) == 2 && at(x, 1, 0) == 3 && at(x, 1, 1) == 4);
    assert_true(ferry_i_matrix_norm2(x) == 30);
    ferry_i_matrix_free(x);
    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &(ferry_array){0, 3, 3, NULL}, &x));
    ferry_i_matrix_free(x);
    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &(ferry_array){3, 0, 0, NULL}, &x));
    ferry_i_matrix_free(x);
    assert_fails(ctx, ferry_i_matrix_from_array(ctx, &(ferry_array){2, 3, 2, padded}, &x),
                 FERRY_EINVAL, "2 numbers apart but have 3");
    assert_null(x);
    assert_fails(ctx, ferry_i_matrix_from_array(ctx, &(ferry_array){-1, 3, 3, padded}, &x),
                 FERRY_EINVAL, "-1 x 3");
}

static void test_from_sparse_refuses(void **state)
{
    static const struct {
        int64_t cols, start[3];
        int32_t index[4];
        double value[4];
        const char *says;
    } bad[] = {
        {5, {1, 2, 4}, {0, 1, 2, 3}, {1, 1, 1, 1}, "start[0] = 1"},
        {5, {0, 3, 2}, {0, 1, 2, 3}, {1, 1, 1, 1}, "start[2] = 2 is below start[1] = 3"},
        {5, {0, -1, 2}, {0, 1, 2, 3}, {1, 1, 1, 1}, "start[1] = -1 is below start[0] = 0"},
        {5, {0, 2, 4}, {0, 1, 3, 2}, {1, 1, 1, 1}, "instance 1: feature index 2 follows 3"},
        {5, {0, 2, 4}, {1, 1, 2, 3}, {1, 1, 1, 1}, "instance 0: feature index 1 follows 1"},
        {5, {0, 2, 4}, {0, 1, -2, 3}, {1, 1, 1, 1}, "index -2 is outside [0, 5)"},
        {5, {0, 2, 4}, {0, 1, 2, 5}, {1, 1, 1, 1}, "index 5 is outside [0, 5)"},
        {5, {0, 2, 4}, {0, INT32_MAX, 2, 3}, {1, 1, 1, 1}, "2147483647 is outside"},
        {5,
         {0, 2, 4},
         {0, 1, 2, 3},
         {1, NAN, 1, 1},
         "instance 0: the value of feature index 1"},
        {5, {0, 2, 4}, {0, 1, 2, 3}, {1, 1, 1, -INFINITY}, "not finite"},
        {-5, {0, 0, 0}, {0}, {0}, "2 x -5"},
        {(int64_t)1 << 40, {0, 0, 0}, {0}, {0}, "outside [0, 2147483647]"},
    };
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(bad); i++) {
        const ferry_sparse s = {2,   bad[i].cols, bad[i].start, bad[i].index, bad[i].value,
                                NULL};
        assert_fails(ctx, ferry_i_matrix_from_sparse(ctx, &s, &x), FERRY_EINVAL,
                     bad[i].says);
        assert_null(x);
    }
}

static void test_sizes_are_bounded(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;
    ferry_block *b = NULL;
    ferry_small *s = NULL;
    const int64_t huge = (int64_t)1 << 31;

    assert_fails(ctx, ferry_i_matrix_dense(ctx, huge, 1, &x), FERRY_EINVAL,
                 "2147483648 x 1");
    assert_fails(ctx, ferry_i_matrix_csr(ctx, 1, huge, 0, &x), FERRY_EINVAL,
                 "1 x 2147483648");
    assert_fails(ctx, ferry_i_matrix_dense(ctx, huge - 1, huge - 1, &x), FERRY_ENOMEM,
                 "memory");
    assert_fails(ctx, ferry_i_matrix_csr(ctx, 1, 1, INT64_MAX, &x), FERRY_ENOMEM, "memory");
    assert_fails(ctx, ferry_i_block_new(ctx, huge, 1, &b), FERRY_EINVAL, "too large");
    assert_fails(ctx, ferry_i_block_new(ctx, huge - 1, huge - 1, &b), FERRY_EINVAL,
                 "too large");
    assert_fails(ctx, ferry_i_block_new(ctx, 3, -1, &b), FERRY_EINVAL, "3 x -1");
    assert_fails(ctx, ferry_i_small_new(ctx, 1, huge, &s), FERRY_EINVAL, "too large");
    assert_null(x);
    assert_null(b);
    assert_null(s);
}

static void test_empty(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t start[] = {0};
    ferry_matrix *x = NULL, *y = NULL;

    assert_ok(ctx, ferry_i_matrix_from_sparse(
                       ctx, &(ferry_sparse){0, 0, start, NULL, NULL, NULL}, &x));
    assert_ok(ctx, ferry_i_matrix_index(ctx, x));
    assert_ok(ctx, ferry_i_matrix_densify(ctx, x, &y));
    assert_true(ferry_i_matrix_norm2(x) == 0);
    ferry_i_matrix_free(y);
    assert_ok(ctx, ferry_i_matrix_stack(ctx, 0, NULL, &y));
    assert_int_equal(y->rows, 0);
    ferry_i_matrix_free(y);
    assert_ok(ctx, ferry_i_matrix_join(ctx, 0, NULL, &y));
    assert_int_equal(y->cols, 0);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(NULL);
    assert_null(ferry_i_matrix_ref(NULL));
}

/* A sibling shares the pattern and outlives the first. */
static void test_like(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = sample(ctx, true), *y = NULL, *z = NULL;

    assert_ok(ctx, ferry_i_matrix_like(ctx, x, &y));
    assert_ok(ctx, ferry_i_matrix_like(ctx, y, &z));
    assert_ptr_equal(z->pattern, x);
    assert_ptr_equal(y->index, x->index);
    for (int64_t e = 0; e < y->nnz; e++) {
        assert_true(y->value[e] == 0);
        y->value[e] = 10;
    }
    ferry_i_matrix_free(x);
    assert_ok(ctx, ferry_i_matrix_index(ctx, y)); /* of its own values */
    assert_true(y->t_start[4] == y->nnz && y->t_value[0] == 10 && !z->t_start);
    assert_true(at(y, 2, 3) == 10 && at(y, 1, 3) == 0);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(z);
}

static void test_index(void **state)
{
    static const int64_t start[] = {0, 1, 2, 4, 5};
    static const double value[] = {1, 3, 2, 4, 5};
    static const int32_t index[] = {0, 2, 0, 2, 2};
    ferry_ctx *ctx = *state;
    ferry_matrix *x = sample(ctx, true), *dense = sample(ctx, false);

    for (int twice = 0; twice < 2; twice++) {
        assert_ok(ctx, ferry_i_matrix_index(ctx, x));
        assert_memory_equal(x->t_start, start, sizeof start);
        assert_memory_equal(x->t_index, index, sizeof index);
        assert_memory_equal(x->t_value, value, sizeof value);
    }
    assert_ok(ctx, ferry_i_matrix_index(ctx, dense)); /* has no use for one */
    assert_null(dense->t_start);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(dense);
}

static void test_take(void **state)
{
    static const int64_t rows[] = {2, -1, 2, 0};
    static const int32_t map[] = {4, 2, -1, 0}; /* turns the order round */
    ferry_ctx *ctx = *state;

    for (int sparse = 0; sparse < 2; sparse++) {
        ferry_matrix *x = sample(ctx, sparse), *y = NULL;
        assert_ok(ctx, ferry_i_matrix_take(ctx, x, 4, rows, 4, NULL, &y));
        for (int64_t i = 0; i < 4; i++)
            for (int64_t j = 0; j < 4; j++)
                assert_true(at(y, i, j) == (rows[i] < 0 ? 0 : at(x, rows[i], j)));
        if (sparse) check_csr(y);
        ferry_i_matrix_free(y);
        assert_ok(ctx, ferry_i_matrix_take(ctx, x, 4, rows, 5, map, &y));
        assert_int_equal(y->cols, 5);
        for (int64_t i = 0; i < 4; i++)
            for (int64_t j = 0; j < 5; j++) {
                double want = 0;
                for (int64_t old = 0; old < 4; old++)
                    if (rows[i] >= 0 && map[old] == j) want = at(x, rows[i], old);
                assert_true(at(y, i, j) == want);
            }
        if (sparse) check_csr(y);
        assert_int_equal(y->dense == NULL, sparse);
        ferry_i_matrix_free(y);
        ferry_i_matrix_free(x);
    }
}

static void check_stack_and_join(ferry_ctx *ctx, bool first, bool second)
{
    ferry_matrix *x = sample(ctx, first), *y = sample(ctx, second), *both = NULL;
    const ferry_matrix *parts[] = {x, y};

    assert_ok(ctx, ferry_i_matrix_stack(ctx, 2, parts, &both));
    assert_true(both->rows == 6 && both->cols == 4);
    for (int64_t i = 0; i < 6; i++)
        for (int64_t j = 0; j < 4; j++)
            assert_true(at(both, i, j) == at(x, i % 3, j));
    if (first && second) check_csr(both);
    ferry_i_matrix_free(both);
    assert_ok(ctx, ferry_i_matrix_join(ctx, 2, parts, &both));
    assert_true(both->rows == 3 && both->cols == 8);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 8; j++)
            assert_true(at(both, i, j) == at(x, i, j % 4));
    if (first && second) check_csr(both);
    assert_int_equal(both->dense == NULL, first && second);
    ferry_i_matrix_free(both);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(y);
}

static void test_stack_and_join(void **state)
{
    for (int kind = 0; kind < 4; kind++)
        check_stack_and_join(*state, kind & 1, kind & 2);
}

static void test_densify(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = sample(ctx, true), *dense = sample(ctx, false), *y = NULL;

    assert_ok(ctx, ferry_i_matrix_densify(ctx, x, &y));
    assert_memory_equal(y->dense, dense->dense, 12 * sizeof(double));
    assert_true(ferry_i_matrix_norm2(x) == ferry_i_matrix_norm2(y));
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(dense);
}

static void test_blocks(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_block *b = NULL, *c = NULL;
    ferry_small *s = NULL;
    ferry_rng rng;
    double mean = 0;

    assert_ok(ctx, ferry_i_block_new(ctx, 1000, 3, &b));
    assert_ok(ctx, ferry_i_block_new(ctx, 1000, 3, &c));
    assert_ok(ctx, ferry_i_small_new(ctx, 2, 3, &s));
    assert_int_equal((uintptr_t)b->data % 64, 0); /* on a cache line */
    assert_int_equal((uintptr_t)s->data % 64, 0);
    for (int64_t e = 0; e < 3000; e++)
        assert_true(b->data[e] == 0);
    ferry_i_rng_seed(&rng, 3, 3);
    ferry_i_fill_uniform(b, &rng, -1, 3);
    for (int64_t e = 0; e < 3000; e++) {
        assert_true(b->data[e] >= -1 && b->data[e] < 3);
        mean += b->data[e] / 3000;
    }
    assert_close(mean, 1, 0.1);
    ferry_i_fill_normal(c, &rng);
    ferry_i_block_copy(c, b);
    assert_memory_equal(b->data, c->data, 3000 * sizeof(double));
    FERRY_ROW(b, 2)[1] = 7;
    FERRY_AT(s, 1, 2) = 8;
    assert_true(b->data[7] == 7 && s->data[5] == 8);
    FERRY_FREE(b, c, s, NULL, NULL);
}

static void test_fix_sign(void **state)
{
    double a[] = {1, -3, 2}, b[] = {-2, 9, 2 + 1e-12, 9}, c[] = {0, 0},
           d[] = {1, -2, 1.5, -9};

    (void)state;
    assert_true(ferry_i_fix_sign(3, a, 1));
    assert_true(a[0] == -1 && a[1] == 3 && a[2] == -2);
    assert_true(ferry_i_fix_sign(2, b, 2)); /* equal but for rounding: the first decides */
    assert_true(b[0] == 2 && b[1] == 9 && b[2] < 0);
    assert_false(ferry_i_fix_sign(2, c, 1));
    assert_false(ferry_i_fix_sign(0, NULL, 1));
    assert_false(ferry_i_fix_sign(2, d, 2));
}

static ferry_status make_everything(ferry_ctx *ctx, void *arg)
{
    static const int64_t rows[] = {2, 0};
    static const int64_t start[] = {0, 2, 2, 5};
    static const int32_t index[] = {0, 2, 1, 2, 3};
    static const double value[] = {1, 2, 3, 4, 5};
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL, *y = NULL, *z = NULL, *t = NULL, *dense = NULL;
    ferry_block *b = NULL;
    ferry_small *s = NULL;

    (void)arg;
    FERRY_TRY(ferry_i_matrix_from_sparse(
        ctx, &(ferry_sparse){3, 4, start, index, value, NULL}, &x));
    FERRY_TRY(ferry_i_matrix_like(ctx, x, &y));
    FERRY_TRY(ferry_i_matrix_index(ctx, x));
    FERRY_TRY(ferry_i_matrix_take(ctx, x, 2, rows, 4, NULL, &z));
    FERRY_TRY(ferry_i_matrix_densify(ctx, x, &dense));
    FERRY_TRY(ferry_i_matrix_take(ctx, dense, 2, rows, 4, NULL, &t));
    ferry_i_matrix_free(t);
    FERRY_TRY(ferry_i_matrix_from_array(ctx, &(ferry_array){1, 5, 5, value}, &t));
    ferry_i_matrix_free(t);
    FERRY_TRY(ferry_i_matrix_stack(ctx, 1, (const ferry_matrix *[]){x}, &t));
    ferry_i_matrix_free(t);
    FERRY_TRY(ferry_i_matrix_join(ctx, 1, (const ferry_matrix *[]){dense}, &t));
    FERRY_TRY(ferry_i_block_new(ctx, 3, 2, &b));
    FERRY_TRY(ferry_i_small_new(ctx, 3, 2, &s));
done:
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(z);
    ferry_i_matrix_free(t);
    ferry_i_matrix_free(dense);
    FERRY_FREE(b, s);
    return st;
}

static void test_allocations_fail(void **state)
{
    each_allocation_fails(*state, make_everything, NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_from_array),
        T(test_from_sparse_refuses),
        T(test_sizes_are_bounded),
        T(test_empty),
        T(test_like),
        T(test_index),
        T(test_take),
        T(test_stack_and_join),
        T(test_densify),
        T(test_blocks),
        T(test_fix_sign),
        T(test_allocations_fail),
    };
    return cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
}
