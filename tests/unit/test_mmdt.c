/* mmdt: golden numbers, labels that come over, orders, files, memory, ranks. */
#include "field_case.h"

static void test_golden(void **state)
{
    field_golden(*state, "mmdt.json", "mmdt", 1e-5);
}

/* The classes of rows without a label are found, with few labels. */
static void test_right(void **state)
{
    ferry_ctx *ctx = *state;

    for (int seen = 1; seen < 4; seen++) {
        ferry_task *task = field_task(ctx, seen, false);
        ferry_prediction *p =
            fit_predict(ctx, task, "mmdt", "", ferry_task_domain_at(task, 1));
        if (field_right(task, p) < 0.9) fail_msg("%d: %g", seen, field_right(task, p));
        ferry_prediction_free(p);
        ferry_task_free(task);
    }
}

static void test_orders_and_files(void **state)
{
    field_orders_and_files(*state, "mmdt");
}

static void test_memory(void **state)
{
    field_memory(*state, "mmdt", "iterations=1");
}

static void test_manners(void **state)
{
    field_manners(*state, "mmdt");
}

/* Without a label of the target there is nothing to learn from. */
static void test_no_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = field_task(ctx, 0, false);

    assert_fails(ctx, method_fits(ctx, "mmdt", task, NULL), FERRY_ENEEDS, "labels");
    ferry_task_free(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_right, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_orders_and_files, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_manners, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_labels, ctx_setup, ctx_teardown),
    };

    return cmocka_run_group_tests_name("mmdt", tests, NULL, NULL);
}
