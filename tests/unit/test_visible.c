/* What callers outside ask of a task: entries, seed, the part a method may see. */
#include "ferry_test.h"
#include "task/task.h"

/* Six labelled points; `labelled` of them may be seen. */
static ferry_task *points(ferry_ctx *ctx, const char *labelled)
{
    static const double x[] = {0, 1, 2, 3, 4, 5};
    static const char *const y[] = {"a", "b", "a", "b", "a", "b"};
    const ferry_array a = {.rows = 6, .cols = 1, .ld = 1, .data = x};
    ferry_domain *d = NULL;
    ferry_task *task = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "points", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &a, NULL, NULL, NULL));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, 6, NULL, y));
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, labelled));
    assert_ok(ctx, ferry_task_new(ctx, "visible", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    return task;
}

static void test_visible(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = points(ctx, "per_class:1"), *seen = NULL;

    assert_int_equal(ferry_domain_labels(ferry_task_domain_at(task, 0)), 6);
    assert_ok(ctx, ferry_task_visible(ctx, task, 0, &seen));
    assert_int_equal(ferry_domain_labels(ferry_task_domain_at(seen, 0)), 2);
    assert_int_equal(ferry_i_domain_id_count(ferry_task_domain_at(seen, 0)), 6);
    ferry_task_free(seen);
    assert_fails(ctx, ferry_task_visible(ctx, task, -3, &seen), FERRY_EINVAL, "below 0");
    assert_null(seen);
    ferry_task_free(task);
}

static void test_ratings_count_as_labels(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const users[] = {"u", "u", "v"}, *const items[] = {"i", "j", "i"};
    const double values[] = {1, NAN, 5};
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "films", FERRY_TARGET, &d));
    assert_int_equal(ferry_domain_labels(d), 0);
    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 3, users, items, values));
    assert_int_equal(ferry_domain_labels(d), 2);
    ferry_domain_free(d);
}

static void test_entries(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = points(ctx, "none");
    ferry_opts *opts = opts_of(ctx, "k=3", NULL);

    assert_null(ferry_task_method_at(task, 0));
    assert_ok(ctx, ferry_task_add_method(ctx, task, "knn", "near", opts));
    assert_null(ferry_task_method_at(task, 1));
    const ferry_task_method *m = ferry_task_method_at(task, 0);
    assert_string_equal(m->method, "knn");
    assert_string_equal(m->as, "near");
    assert_string_equal(ferry_opts_get(m->opts, "k"), "3");
    assert_null(ferry_task_method_at(task, 1));
    ferry_opts_free(opts);
    ferry_task_free(task);
}

static void test_seed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = points(ctx, "none");
    ferry_opts *opts = opts_of(ctx, "seed=42", NULL);

    ctx->seed = 7;
    assert_ok(ctx, ferry_i_task_use_seed(ctx, task));
    assert_int_equal(ctx->seed, 7);
    assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts));
    assert_ok(ctx, ferry_i_task_use_seed(ctx, task));
    assert_int_equal(ctx->seed, 42);
    ferry_opts_free(opts);
    ferry_task_free(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_visible, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_ratings_count_as_labels, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_entries, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_seed, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("visible", tests, NULL, NULL);
}
