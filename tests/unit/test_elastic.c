/* The elastic net: by hand, against its conditions of a minimum, degenerate shapes. */
#include "in_scope.h"
#include "learn/elastic.h"

static matrix dense_of(scope *s, int64_t n, int64_t d, double *data)
{
    return matrix_of(s, (block){HERE(n), n, d, data});
}

static block fit(scope *s, matrix x, block y, double ratio, double alpha)
{
    return elastic_fit(s, x, y, &(elastic_options){ratio, alpha, 1e-14, 10000});
}

/* One feature x = -1, 1 and y = -2 + 5, 2 + 5: r = 2, lambda_max = 2 / alpha, and b =
 * (2 - ratio 2) / (1 + lambda (1 - alpha)). */
IN_SCOPE(test_by_hand)
{
    double data[] = {-1, 1}, ys[] = {3, 7};
    const double cases[][3] = {
        {0, 0.5, 2}, {0.25, 1, 1.5}, {0.25, 0.5, 1.5 / 1.5}, {1, 1, 0}};
    const matrix x = dense_of(s, 2, 1, data);

    for (int64_t c = 0; c < FERRY_COUNT(cases); c++)
        assert_close(fit(s, x, (block){HERE(2), 2, 1, ys}, cases[c][0], cases[c][1]).at[0],
                     cases[c][2], 1e-12);
}

/* r = X'(y - X b)/n - lambda (1 - alpha) b is lambda alpha sign(b) where b is not 0 and at
 * most lambda alpha elsewhere; dense and sparse. */
IN_SCOPE(test_conditions)
{
    enum { N = 30, D = 8 };
    const double ratio = 0.2, alpha = 0.6;
    double data[N * D], mean[D] = {0}, ym = 0, full[D], most_start = 0;
    const block y = block_new(s, HERE(N), N, 1);
    ferry_rng rng;
    int64_t zeros = 0;

    ferry_i_rng_seed(&rng, 4, 1);
    for (int64_t e = 0; e < N * D; e++)
        data[e] = ferry_i_rng_below(&rng, 2) ? 2 + ferry_i_rng_normal(&rng) : 0;
    for (int64_t i = 0; i < N; i++) {
        y.at[i] = 3 * data[i * D] - data[i * D + 1] + ferry_i_rng_normal(&rng);
        ym += y.at[i] / N;
        for (int64_t j = 0; j < D; j++)
            mean[j] += data[i * D + j] / N;
    }
    const matrix x = dense_of(s, N, D, data);
    const block b = fit(s, x, y, ratio, alpha),
                again = fit(s, to_sparse(s, x), y, ratio, alpha);
    for (int64_t j = 0; j < D; j++) {
        assert_close(again.at[j], b.at[j], 1e-12);
        double start = 0;
        full[j] = 0;
        for (int64_t i = 0; i < N; i++) {
            double fit = 0;
            for (int64_t l = 0; l < D; l++)
                fit += (data[i * D + l] - mean[l]) * b.at[l];
            full[j] += (data[i * D + j] - mean[j]) * (y.at[i] - ym - fit) / N;
            start += (data[i * D + j] - mean[j]) * (y.at[i] - ym) / N;
        }
        most_start = fmax(most_start, fabs(start));
    }
    const double lambda = ratio * most_start / alpha;
    for (int64_t j = 0; j < D; j++) {
        const double r = full[j] - lambda * (1 - alpha) * b.at[j];
        zeros += b.at[j] == 0;
        if (b.at[j] == 0)
            assert_true(fabs(r) <= lambda * alpha * (1 + 1e-9));
        else
            assert_close(r, b.at[j] > 0 ? lambda * alpha : -lambda * alpha, 1e-9);
    }
    assert_true(zeros > 0 && zeros < D);
}

static void too_wide(scope *s, void *arg)
{
    (void)arg;
    (void)fit(s, matrix_dense(s, HERE(1), 1, 10001), block_new(s, HERE(1), 1, 1), 0.5, 1);
}

/* A constant feature has no say; no instances; too many features. */
IN_SCOPE(test_degenerate)
{
    double data[] = {1, 5, 2, 5, 3, 5}, ys[] = {2, 4, 6};
    const block b = fit(s, dense_of(s, 3, 2, data), (block){HERE(3), 3, 1, ys}, 0, 1),
                none = fit(s, dense_of(s, 0, 2, data), (block){HERE(0), 0, 1, ys}, 0.5, 1);

    assert_close(b.at[0], 2, 1e-12);
    assert_true(b.at[1] == 0);
    assert_true(none.n == 2 && none.at[0] == 0);
    assert_fails(scope_ctx(s), scope_run(scope_ctx(s), too_wide, NULL), FERRY_ENEEDS,
                 "10001 features are too many");
}

#define T(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(test_by_hand), T(test_conditions),
                                       T(test_degenerate)};
    return cmocka_run_group_tests_name("elastic", tests, NULL, NULL);
}
