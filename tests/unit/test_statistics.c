#include "run/run.h"
#include "ferry_test.h"

/* Numbers without another source were computed once with scipy 1.17.1 and numpy. */

static const double ten[] = {0.031,  -0.012, 0.054, 0.007, 0.022,
                             -0.003, 0.041,  0.018, 0.029, 0.011};

static void test_mean_std(void **state)
{
    static const double one[] = {3}, odd[] = {1, NAN, 2};

    (void)state;
    assert_close(ferry_i_mean(10, ten), 0.019800000000000002, 1e-15);
    assert_close(ferry_i_std(10, ten), 0.020026648912553159, 1e-15);
    assert_close(ferry_i_mean(1, one), 3, 0);
    assert_close(ferry_i_std(1, one), 0, 0);
    assert_true(isnan(ferry_i_mean(0, NULL)));
    assert_true(isnan(ferry_i_std(0, NULL)));
    assert_true(isnan(ferry_i_mean(3, odd)));
    assert_true(isnan(ferry_i_std(3, odd)));
}

/* scipy.stats.t.sf(t, df) * 2 and t.ppf(0.975, df). */
static void test_student(void **state)
{
    (void)state;
    assert_close(ferry_i_student_p(2.5, 4), 0.06676654481198814, 1e-12);
    assert_close(ferry_i_student_p(-2.5, 4), 0.06676654481198814, 1e-12);
    assert_close(ferry_i_student_p(0.3, 9), 0.7709907037415248, 1e-12);
    assert_close(ferry_i_student_p(40, 2), 0.0006244146721847406, 1e-12);
    assert_close(ferry_i_student_p(0, 3), 1, 0);
    assert_close(ferry_i_student_p(INFINITY, 3), 0, 0);
    assert_true(isnan(ferry_i_student_p(NAN, 3)));
    assert_close(ferry_i_student_t(0.05, 4), 2.7764451051977987, 1e-10);
    assert_close(ferry_i_student_t(0.05, 2), 4.302652729696142, 1e-10);
    assert_close(ferry_i_student_t(0.05, 1000), 1.9623390808264078, 1e-10);
}

/* The example of statsmodels' multipletests(method="holm"). */
static void test_holm(void **state)
{
    double p[] = {0.01, 0.04, 0.03, 0.005}, one[] = {0.2}, ties[] = {0.02, 0.02, NAN};

    (void)state;
    ferry_i_holm(4, p);
    assert_close(p[0], 0.03, 1e-12);
    assert_close(p[1], 0.06, 1e-12);
    assert_close(p[2], 0.06, 1e-12);
    assert_close(p[3], 0.02, 1e-12);
    ferry_i_holm(1, one);
    assert_close(one[0], 0.2, 1e-15);
    ferry_i_holm(3, ties);
    assert_close(ties[0], 0.06, 1e-12);
    assert_close(ties[1], 0.06, 1e-12);
    assert_true(isnan(ties[2]));
    ferry_i_holm(0, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_mean_std),
        TEST(test_student),
        TEST(test_holm),
    };
    return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
