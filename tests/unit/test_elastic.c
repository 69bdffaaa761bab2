/* The elastic net: by hand, against its conditions of a minimum, degenerate shapes. */
#include "ferry_test.h"
#include "learn/learn.h"

static ferry_matrix *dense_of(ferry_ctx *ctx, int64_t n, int64_t d, const double *data)
{
    const ferry_array a = {n, d, d, data};
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &a, &x));
    return x;
}

/* One feature x = -1, 1 and y = -2 + 5, 2 + 5: r = 2, lambda_max = 2 / alpha, and b =
 * (2 - ratio 2) / (1 + lambda (1 - alpha)). */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    const double data[] = {-1, 1}, ys[] = {3, 7};
    const double cases[][3] = {
        {0, 0.5, 2}, {0.25, 1, 1.5}, {0.25, 0.5, 1.5 / 1.5}, {1, 1, 0}};
    ferry_matrix *x = dense_of(ctx, 2, 1, data);
    ferry_block *y = NULL, *b = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, 2, 1, &y));
    assert_ok(ctx, ferry_i_block_new(ctx, 1, 1, &b));
    memcpy(y->data, ys, sizeof ys);
    for (int64_t c = 0; c < FERRY_COUNT(cases); c++) {
        assert_ok(ctx,
                  ferry_i_elastic_fit(ctx, x, y, cases[c][0], cases[c][1], 100, 1e-12, b));
        assert_close(b->data[0], cases[c][2], 1e-12);
    }
    FERRY_FREE(y, b);
    ferry_i_matrix_free(x);
}

/* r = X'(y - X b)/n - lambda (1 - alpha) b is lambda alpha sign(b) where b is not 0 and at
 * most lambda alpha elsewhere; dense and sparse. */
static void test_conditions(void **state)
{
    ferry_ctx *ctx = *state;
    enum { N = 30, D = 8 };
    const double ratio = 0.2, alpha = 0.6;
    double data[N * D], mean[D] = {0}, ym = 0, full[D], most = 0;
    ferry_matrix *x, *s = NULL;
    ferry_block *y = NULL, *b = NULL, *again = NULL;
    ferry_rng rng;
    int64_t at = 0, zeros = 0;

    ferry_i_rng_seed(&rng, 4, 1);
    for (int64_t e = 0; e < N * D; e++)
        data[e] = ferry_i_rng_below(&rng, 2) ? 2 + ferry_i_rng_normal(&rng) : 0;
    x = dense_of(ctx, N, D, data);
    assert_ok(ctx, ferry_i_matrix_csr(ctx, N, D, N * D, &s));
    assert_ok(ctx, ferry_i_block_new(ctx, N, 1, &y));
    assert_ok(ctx, ferry_i_block_new(ctx, D, 1, &b));
    assert_ok(ctx, ferry_i_block_new(ctx, D, 1, &again));
    for (int64_t i = 0; i < N; i++) {
        y->data[i] = 3 * data[i * D] - data[i * D + 1] + ferry_i_rng_normal(&rng);
        ym += y->data[i] / N;
        for (int64_t j = 0; j < D; j++) {
            mean[j] += data[i * D + j] / N;
            if (data[i * D + j] == 0) continue;
            s->index[at] = (int32_t)j;
            s->value[at++] = data[i * D + j];
        }
        s->start[i + 1] = at;
    }
    s->nnz = at;
    assert_ok(ctx, ferry_i_elastic_fit(ctx, x, y, ratio, alpha, 10000, 1e-14, b));
    assert_ok(ctx, ferry_i_elastic_fit(ctx, s, y, ratio, alpha, 10000, 1e-14, again));
    for (int64_t j = 0; j < D; j++) {
        assert_close(again->data[j], b->data[j], 1e-12);
        double start = 0;
        full[j] = 0;
        for (int64_t i = 0; i < N; i++) {
            double fit = 0;
            for (int64_t l = 0; l < D; l++)
                fit += (data[i * D + l] - mean[l]) * b->data[l];
            full[j] += (data[i * D + j] - mean[j]) * (y->data[i] - ym - fit) / N;
            start += (data[i * D + j] - mean[j]) * (y->data[i] - ym) / N;
        }
        most = fmax(most, fabs(start));
    }
    const double lambda = ratio * most / alpha;
    for (int64_t j = 0; j < D; j++) {
        const double r = full[j] - lambda * (1 - alpha) * b->data[j];
        zeros += b->data[j] == 0;
        if (b->data[j] == 0)
            assert_true(fabs(r) <= lambda * alpha * (1 + 1e-9));
        else
            assert_close(r, b->data[j] > 0 ? lambda * alpha : -lambda * alpha, 1e-9);
    }
    assert_true(zeros > 0 && zeros < D);
    FERRY_FREE(y, b, again);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(s);
}

/* A constant feature has no say; no instances; too many features. */
static void test_degenerate(void **state)
{
    ferry_ctx *ctx = *state;
    const double data[] = {1, 5, 2, 5, 3, 5};
    ferry_matrix *x = dense_of(ctx, 3, 2, data), *none = dense_of(ctx, 0, 2, data), *wide;
    ferry_block *y = NULL, *b = NULL, *zero = NULL, *many = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, 3, 1, &y));
    assert_ok(ctx, ferry_i_block_new(ctx, 0, 1, &zero));
    assert_ok(ctx, ferry_i_block_new(ctx, 2, 1, &b));
    for (int64_t i = 0; i < 3; i++)
        y->data[i] = 2 * data[2 * i];
    assert_ok(ctx, ferry_i_elastic_fit(ctx, x, y, 0, 1, 100, 1e-12, b));
    assert_close(b->data[0], 2, 1e-12);
    assert_true(b->data[1] == 0);
    b->data[0] = 0;
    assert_ok(ctx, ferry_i_elastic_fit(ctx, none, zero, 0.5, 1, 100, 1e-12, b));
    assert_true(b->data[0] == 0);
    assert_ok(ctx, ferry_i_matrix_csr(ctx, 3, 10001, 0, &wide));
    assert_ok(ctx, ferry_i_block_new(ctx, 10001, 1, &many));
    assert_fails(ctx, ferry_i_elastic_fit(ctx, wide, y, 0.5, 1, 100, 1e-12, many),
                 FERRY_ENEEDS, "10001 features are too many");
    FERRY_FREE(y, zero, b, many);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(none);
    ferry_i_matrix_free(wide);
}

#define T(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(test_by_hand), T(test_conditions),
                                       T(test_degenerate)};
    return cmocka_run_group_tests_name("elastic", tests, NULL, NULL);
}
