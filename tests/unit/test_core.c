#include "ferry_test.h"

/* First outputs of pcg64 with seed 42, stream 54: the reference program pcg64-demo prints
 * these. */
static void test_pcg64_reference(void **state)
{
    static const uint64_t want[] = {0x86b1da1d72062b68, 0x1304aa46c9853d39,
                                    0xa3670e9e0dd50358, 0xf9090e529a7dae00,
                                    0xc85b9fd837996f2c, 0x606121f8e3919196};
    ferry_rng rng;

    (void)state;
    ferry_i_rng_seed(&rng, 42, 54);
    for (int i = 0; i < 6; i++)
        assert_int_equal(ferry_i_rng_u64(&rng), want[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pcg64_reference, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
