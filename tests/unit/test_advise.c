/* ferry_advise: what fits, what it costs, how far the domains are apart. */
#include <jansson.h>
#include <math.h>

#include "ferry_test.h"
#include "show/show.h"

enum { N = 40, D = 2 };

/* Class "b" when the first feature is positive. Ids differ between the domains. */
static ferry_domain *domain(ferry_ctx *ctx, const char *name, ferry_role role)
{
    static const char *const features[D] = {"one", "two"};
    double x[N * D];
    const char *label[N], *id[N];
    char ids[N][16];
    const ferry_array view = {N, D, D, x};
    ferry_domain *d = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, role);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++)
            x[i * D + j] = ferry_i_rng_normal(&rng);
        label[i] = x[i * D] > 0 ? "b" : "a";
        snprintf(ids[i], sizeof ids[i], "%.4s%d", name, i);
        id[i] = ids[i];
    }
    assert_ok(ctx, ferry_domain_new(ctx, name, role, &d));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &view, id, features, NULL));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, N, id, label));
    return d;
}

static ferry_task *task_of(ferry_ctx *ctx)
{
    ferry_task *task = NULL;
    ferry_domain *target = domain(ctx, "here", FERRY_TARGET);

    assert_ok(ctx, ferry_domain_set_labelled(ctx, target, "per_class:3"));
    assert_ok(ctx, ferry_task_new(ctx, "demo", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, domain(ctx, "there", FERRY_SOURCE)));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, target));
    assert_ok(ctx, ferry_task_add_method(ctx, task, "svm", "mine", NULL));
    assert_ok(ctx, ferry_task_add_method(ctx, task, "mindtl", NULL, NULL));
    return task;
}

static void test_domains(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx);
    ferry_advice *a = NULL;

    assert_ok(ctx, ferry_advise(ctx, task, &a));
    ferry_task_free(task); /* the advice does not need it */
    assert_int_equal(a->size, sizeof *a);
    assert_string_equal(a->task, "demo");
    assert_string_equal(a->target, "here");
    assert_int_equal(a->goal, FERRY_CLASSIFY);
    assert_int_equal(a->visible, 6);
    const ferry_advice_domain *there = ferry_advice_domain_at(a, 0),
                              *here = ferry_advice_domain_at(a, 1);
    assert_int_equal(there->size, sizeof *there);
    assert_true(there->instances == N && there->labels == N && there->ratings == 0);
    assert_true(there->n_views == 1 && there->n_graphs == 0);
    assert_string_equal(there->views[0], "x");
    assert_true(there->view_rows[0] == N && there->view_features[0] == D);
    assert_true(there->shared_features == D && there->feature_overlap == 1);
    assert_true(there->id_overlap == 0 && there->label_overlap == 1);
    assert_true(there->a_distance >= 0 && there->a_distance < 1.5);
    assert_true(here->role == FERRY_TARGET && here->shared_features == -1);
    assert_true(isnan(here->a_distance));
    assert_null(ferry_advice_domain_at(a, 2));
    assert_null(ferry_advice_domain_at(a, -1));
    ferry_advice_free(a);
    ferry_advice_free(NULL);
}

static void test_methods(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx);
    ferry_advice *a = NULL;
    char *text = NULL;

    assert_ok(ctx, ferry_advise(ctx, task, &a));
    const ferry_advice_method *svm = ferry_advice_method_at(a, 0),
                              *rates = ferry_advice_method_at(a, 1);
    assert_string_equal(svm->name, "mine");
    assert_string_equal(svm->method, "svm");
    assert_true(svm->kind == FERRY_KIND_BASELINE && !svm->reason && svm->measured);
    assert_true(svm->seconds > 0 && svm->seconds < 1);
    assert_non_null(strstr(rates->reason, "does not serve the goal classify"));
    assert_true(isnan(rates->seconds) && !rates->measured);
    assert_null(ferry_advice_method_at(a, 2));
    assert_null(ferry_advice_method_at(a, -1));
    assert_ok(ctx, ferry_i_advice_json(ctx, a, &text));
    json_t *all = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(all, "measures")), 1);
    assert_int_equal(json_array_size(json_object_get(all, "methods")), 2);
    json_decref(all);
    ferry_string_free(text);
    ferry_advice_free(a);
    ferry_task_free(task);
}

static ferry_status whole(ferry_ctx *ctx, void *arg)
{
    ferry_advice *a = NULL;
    char *text = NULL;
    ferry_status st = ferry_advise(ctx, arg, &a);

    if (st == FERRY_OK) st = ferry_i_advice_json(ctx, a, &text);
    ferry_string_free(text);
    ferry_advice_free(a);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_task *task = task_of(*state);

    each_allocation_fails(*state, whole, task);
    ferry_task_free(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_domains, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_methods, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("advise", tests, NULL, NULL);
}
