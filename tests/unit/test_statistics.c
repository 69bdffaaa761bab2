#include "eval/eval.h"
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

static double wilcoxon(ferry_ctx *ctx, int64_t n, const double *d)
{
    double p = 0;

    assert_ok(ctx, ferry_i_wilcoxon(ctx, n, d, &p));
    return p;
}

static void test_wilcoxon_exact(void **state)
{
    static const double up[] = {1, 2, 3, 4, 5},
                        d25[] = {0.250199, 0.386619,  -1.187073, 1.947339, 1.217488,
                                 1.366935, 0.347673,  1.216655,  0.670947, 0.913189,
                                 0.147807, -1.173888, 1.328854,  -1.63496, 0.060063,
                                 0.095478, -0.74286,  0.913123,  0.09967,  -0.136868,
                                 0.819842, -0.176579, 1.68898,   0.651455, -0.174333};
    double zeros[12] = {0};

    assert_close(wilcoxon(*state, 10, ten), 0.01953125, 1e-15);
    assert_close(wilcoxon(*state, 1, up), 1, 0);
    assert_close(wilcoxon(*state, 5, up), 0.0625, 1e-15);
    assert_close(wilcoxon(*state, 25, d25), 0.045122683048248291, 1e-15);
    memcpy(zeros + 1, ten, sizeof ten); /* zeros are dropped */
    assert_close(wilcoxon(*state, 12, zeros), 0.01953125, 1e-15);
}

static void test_wilcoxon_approximate(void **state)
{
    static const double d30[] = {-1.644265, -1.007753, 1.386831,  0.249396,  0.016875,
                                 1.943252,  -0.982649, -0.285658, -0.172588, 0.886337,
                                 -0.363535, -0.313418, -1.305149, 1.029349,  1.106139,
                                 -0.176377, 0.46334,   -0.992646, -0.171813, 1.677951,
                                 0.435731,  2.610363,  -0.487193, 0.880284,  0.104494,
                                 0.865818,  0.292789,  -0.261198, -0.567617, 3.366037},
                        ties[] = {1, 1, -1, 2, 2, 3, -2, 4, 0, 5, 1, 0},
                        even[] = {1, -1, 1, -1};

    assert_close(wilcoxon(*state, 30, d30), 0.35466674963743483, 1e-12);
    assert_close(wilcoxon(*state, 12, ties), 0.057030805269399971, 1e-12);
    assert_close(wilcoxon(*state, 4, even), 1, 0);
}

/* 0.91 - 0.90 and 0.11 - 0.10 are the same difference, whatever their last bits say. */
static void test_wilcoxon_rounded_ties(void **state)
{
    const double rounded[] = {0.91 - 0.90, 0.11 - 0.10, 0.31 - 0.33, 0.57 - 0.54},
                 whole[] = {1, 1, -2, 3};

    assert_true(rounded[0] != rounded[1]);
    assert_close(wilcoxon(*state, 4, rounded), wilcoxon(*state, 4, whole), 0);
}

static void test_wilcoxon_nothing_differs(void **state)
{
    static const double zero[3] = {0};

    assert_true(isnan(wilcoxon(*state, 3, zero)));
    assert_true(isnan(wilcoxon(*state, 0, zero)));
}

/* numpy with 200000 resamples gives [0.0081, 0.0315]. */
static void test_bootstrap(void **state)
{
    static const double same[] = {2, 2, 2};
    ferry_rng rng;
    double lo, hi, lo2, hi2;

    ferry_i_rng_seed(&rng, 1, 0);
    assert_ok(*state, ferry_i_bootstrap(*state, 10, ten, 20000, 0.95, &rng, &lo, &hi));
    assert_close(lo, 0.0081, 5e-4);
    assert_close(hi, 0.0315, 5e-4);
    ferry_i_rng_seed(&rng, 1, 0); /* same seed, same bits */
    assert_ok(*state, ferry_i_bootstrap(*state, 10, ten, 20000, 0.95, &rng, &lo2, &hi2));
    assert_true(lo == lo2 && hi == hi2);
    assert_ok(*state, ferry_i_bootstrap(*state, 3, same, 100, 0.95, &rng, &lo, &hi));
    assert_true(lo == 2 && hi == 2);
    assert_ok(*state, ferry_i_bootstrap(*state, 3, ten, 1, 0.95, &rng, &lo, &hi));
    assert_true(lo == hi);
    assert_ok(*state, ferry_i_bootstrap(*state, 0, ten, 100, 0.95, &rng, &lo, &hi));
    assert_true(isnan(lo) && isnan(hi));
}

static ferry_status both(ferry_ctx *ctx, void *arg)
{
    ferry_rng rng;
    ferry_status st = FERRY_OK;
    double p, lo, hi;

    (void)arg;
    ferry_i_rng_seed(&rng, 1, 0);
    FERRY_TRY(ferry_i_wilcoxon(ctx, 10, ten, &p));
    FERRY_TRY(ferry_i_bootstrap(ctx, 10, ten, 50, 0.95, &rng, &lo, &hi));
done:
    return st;
}

static void test_memory(void **state)
{
    each_allocation_fails(*state, both, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_mean_std),
        TEST(test_wilcoxon_exact),
        TEST(test_wilcoxon_approximate),
        TEST(test_wilcoxon_rounded_ties),
        TEST(test_wilcoxon_nothing_differs),
        TEST(test_bootstrap),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
