/* Preparing features: fill and scale, worked out by hand. */
#include <float.h>

#include "ferry_test.h"
#include "learn/learn.h"

static ferry_matrix *dense(ferry_ctx *ctx, int64_t rows, int64_t cols, const double *v)
{
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, rows, cols, &x));
    for (int64_t e = 0; e < rows * cols; e++)
        x->dense[e] = v[e];
    return x;
}

/* The same in CSR; zeros are left out, NaN is stored. */
static ferry_matrix *csr(ferry_ctx *ctx, int64_t rows, int64_t cols, const double *v)
{
    ferry_matrix *x = NULL;
    int64_t nnz = 0;

    for (int64_t e = 0; e < rows * cols; e++)
        nnz += v[e] != 0;
    assert_ok(ctx, ferry_i_matrix_csr(ctx, rows, cols, nnz, &x));
    nnz = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            if (v[i * cols + j] == 0) continue;
            x->index[nnz] = (int32_t)j;
            x->value[nnz++] = v[i * cols + j];
        }
        x->start[i + 1] = nnz;
    }
    return x;
}

/* Prepare x by itself and compare with what is wanted (stored entries only when sparse). */
static void check(ferry_ctx *ctx, ferry_matrix *x, ferry_prep_kind scale, const double *want)
{
    ferry_prep *p = NULL;
    ferry_matrix *y = NULL;

    assert_ok(ctx, ferry_i_prep_fit(ctx, x, scale, &p));
    assert_ok(ctx, ferry_i_prep_apply(ctx, p, x, &y));
    for (int64_t e = 0; e < x->nnz; e++)
        assert_close(x->dense ? y->dense[e] : y->value[e], want[e], 1e-15);
    ferry_i_matrix_free(y);
    ferry_i_prep_free(p);
    ferry_i_matrix_free(x);
}

static void test_fill(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, NAN, 3, 5, 5, NAN};
    const double filled[] = {1, 5, 3, 5, 5, 5}; /* column 2: one value, 5 */
    const double w[] = {1, NAN, NAN, 3, 5, NAN};
    const double both[] = {1, 3, 3, 3, 5, 3};
    const double empty[] = {NAN, NAN};
    const double zero[] = {0, 0};

    check(ctx, dense(ctx, 3, 2, v), FERRY_PREP_NONE, filled);
    check(ctx, dense(ctx, 3, 2, w), FERRY_PREP_NONE, both);
    check(ctx, dense(ctx, 2, 1, empty), FERRY_PREP_NONE, zero);
}

/* An entry that is not stored counts as 0 in the mean; NaN does not count. */
static void test_fill_sparse(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {4, 0, NAN, 0, 0, 0, 2, 7};
    const double want[] = {4, 2, 2, 7}; /* column 1: (4 + 0 + 2) / 3 */

    check(ctx, csr(ctx, 4, 2, v), FERRY_PREP_NONE, want);
}

static void test_standard(void **state)
{
    ferry_ctx *ctx = *state;
    /* Column 1: mean 2, sd 1. Column 2: constant. Column 3: mean 2, filled, sd
     * sqrt(1/2). */
    const double v[] = {1, 7, 1, 3, 7, 3, 1, 7, NAN, 3, 7, NAN};
    const double want[] = {
        -1, 0, -1.4142135623730951, 1, 0, 1.4142135623730951, -1, 0, 0, 1, 0, 0};
    /* Sparse: mean (2 + 0) / 2 = 1, sd 1, not shifted. */
    const double s[] = {2, 0.5, 0, 0.5};
    const double sparse[] = {2, 0.5, 0.5};

    check(ctx, dense(ctx, 4, 3, v), FERRY_PREP_STANDARD, want);
    check(ctx, csr(ctx, 2, 2, s), FERRY_PREP_STANDARD, sparse);
}

static void test_unit_rows(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {3, 4, 0, 0, 3e200, -4e200};
    const double want[] = {0.6, 0.8, 0, 0, 0.6, -0.8};
    const double sparse[] = {0.6, 0.8, 0.6, -0.8};

    check(ctx, dense(ctx, 3, 2, v), FERRY_PREP_L2, want);
    check(ctx, csr(ctx, 3, 2, v), FERRY_PREP_L2, sparse);
}

/* New rows get the training rows' means, not their own. */
static void test_new_rows(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 3}, w[] = {NAN, 5};
    ferry_matrix *x = dense(ctx, 2, 1, v), *q = dense(ctx, 2, 1, w), *y = NULL;
    ferry_prep *p = NULL;

    assert_ok(ctx, ferry_i_prep_fit(ctx, x, FERRY_PREP_STANDARD, &p));
    assert_ok(ctx, ferry_i_prep_apply(ctx, p, q, &y));
    assert_close(y->dense[0], 0, 0);
    assert_close(y->dense[1], 3, 1e-15);
    ferry_i_matrix_free(y);
    ferry_i_prep_free(p);
    ferry_i_matrix_free(q);
    ferry_i_matrix_free(x);
}

static void test_nothing_to_do_shares(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 2};
    ferry_matrix *x = dense(ctx, 2, 1, v), *none = NULL, *y = NULL;
    ferry_prep *p = NULL;

    assert_ok(ctx, ferry_i_prep_fit(ctx, x, FERRY_PREP_NONE, &p));
    assert_ok(ctx, ferry_i_prep_apply(ctx, p, x, &y));
    assert_ptr_equal(y, x);
    ferry_i_matrix_free(y);
    ferry_i_prep_free(p);
    ferry_i_matrix_free(x);
    /* No rows at all. */
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 0, 3, &none));
    assert_ok(ctx, ferry_i_prep_fit(ctx, none, FERRY_PREP_STANDARD, &p));
    assert_ok(ctx, ferry_i_prep_apply(ctx, p, none, &y));
    assert_int_equal(y->rows, 0);
    assert_close(p->inv_sd[2], 1, 0);
    ferry_i_matrix_free(y);
    ferry_i_prep_free(p);
    ferry_i_matrix_free(none);
    ferry_i_prep_free(NULL);
}

static void test_too_large(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {0, DBL_MAX, 0, DBL_MAX}, w[] = {1e200, -1e200};
    ferry_matrix *x = dense(ctx, 2, 2, v), *y = dense(ctx, 2, 1, w);
    ferry_prep *p = NULL;

    assert_fails(ctx, ferry_i_prep_fit(ctx, x, FERRY_PREP_NONE, &p), FERRY_ENUMERIC,
                 "feature 2: the values are too large");
    assert_fails(ctx, ferry_i_prep_fit(ctx, y, FERRY_PREP_STANDARD, &p), FERRY_ENUMERIC,
                 "feature 1");
    assert_null(p);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(x);
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_prep *p = NULL;
    ferry_matrix *y = NULL;

    FERRY_TRY(ferry_i_prep_fit(ctx, arg, FERRY_PREP_STANDARD, &p));
    FERRY_TRY(ferry_i_prep_apply(ctx, p, arg, &y));
done:
    if (st != FERRY_OK) assert_null(y);
    ferry_i_matrix_free(y);
    ferry_i_prep_free(p);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 0, 3, 4};
    ferry_matrix *x = dense(ctx, 2, 2, v), *s = csr(ctx, 2, 2, v);

    each_allocation_fails(ctx, body, x);
    each_allocation_fails(ctx, body, s);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fill, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_fill_sparse, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_standard, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_unit_rows, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_new_rows, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_to_do_shares, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_too_large, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("prep", tests, NULL, NULL);
}
