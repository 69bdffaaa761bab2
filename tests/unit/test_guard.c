/* The guard: it chooses by what can be seen, and by nothing else. */
#include <stdio.h>

#include "eval/guard.h"
#include "ferry_test.h"
#include "small_task.h"

enum { N = 60, D = 4, SEEN = 20 };

/* Two classes that the first feature tells, with noise; `turned` rows have the other label. */
static ferry_domain *domain(ferry_ctx *ctx, const char *name, ferry_role role,
                            uint64_t seed, const uint8_t *turned)
{
    double x[N * D];
    const char *y[N];
    ferry_domain *d = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, seed, 3);
    for (int i = 0; i < N * D; i++)
        x[i] = ferry_i_rng_normal(&rng);
    for (int i = 0; i < N; i++)
        y[i] = (x[i * D] + 0.5 * ferry_i_rng_normal(&rng) > 0) != (turned && turned[i])
                   ? "b"
                   : "a";
    d = small_domain(ctx, name, role, N, D, x);
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, N, NULL, y));
    return d;
}

static ferry_task *task_of(ferry_ctx *ctx, const char *labelled, const uint8_t *turned,
                           const char *guard)
{
    ferry_domain *target = domain(ctx, "here", FERRY_TARGET, 5, turned);
    ferry_opts *opts = opts_of(ctx, "repeats=3", "controls=none", guard, NULL);
    ferry_task *task = NULL;

    if (strcmp(labelled, "ids") ==
        0) { /* drawn by class they would depend on what is hidden */
        char text[N * 16] = "", how[4200];
        for (int i = 0; i < SEEN; i++)
            (void)snprintf(text + strlen(text), 16, "%s\n", ferry_domain_id_at(target, i));
        (void)snprintf(how, sizeof how, "ids:%s", tmp_file("ids", text, -1));
        assert_ok(ctx, ferry_domain_set_labelled(ctx, target, how));
    } else
        assert_ok(ctx, ferry_domain_set_labelled(ctx, target, labelled));
    assert_ok(ctx, ferry_task_new(ctx, "guarded", FERRY_CLASSIFY, &task));
    assert_ok(
        ctx, ferry_task_add_domain(ctx, task, domain(ctx, "there", FERRY_SOURCE, 6, NULL)));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, target));
    for (int i = 0; i < 4; i++)
        assert_ok(ctx,
                  ferry_task_add_method(
                      ctx, task, (const char *[]){"majority", "svm", "cdspp", "knn"}[i],
                      NULL, NULL));
    assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts));
    ferry_opts_free(opts);
    return task;
}

/* Turn every hidden label of the first repeat: scores of the methods change, and the guard's neither
 * in their scores nor in what they take. */
static void test_hidden_labels_do_not_matter(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "ids", NULL, "guard=yes"), *other = NULL;
    ferry_results *a = NULL, *b = NULL;
    uint8_t turned[N] = {0};

    assert_ok(ctx, ferry_evaluate(ctx, task, &a));
    memcpy(turned, a->scored[0], N);
    other = task_of(ctx, "ids", turned, "guard=yes");
    assert_ok(ctx, ferry_evaluate(ctx, other, &b));
    assert_memory_equal(a->scored[0], b->scored[0], N);
    assert_true(fabs(a->result[1].metric[0] - b->result[1].metric[0]) > 0.2);
    assert_int_equal(a->guard->chosen[0], b->guard->chosen[0]);
    assert_int_equal(a->guard->baseline[0], b->guard->baseline[0]);
    assert_true(a->guard->chosen[0] > 0); /* not what knows nothing */
    for (int64_t r = 0; r < 3; r++)
        assert_close(a->guard->runs[r], a->result[a->guard->chosen[r]].metric[r], 0);
    ferry_results_free(a);
    ferry_results_free(b);
    ferry_task_free(task);
    ferry_task_free(other);
}

/* With every label visible there is nothing to score, and still something to choose by. */
static void test_all_visible(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "1.0", NULL, "guard=no");
    ferry_guard_choice *c = NULL;
    ferry_results *rs = NULL;
    ferry_model *model = NULL;

    /* nothing is scored, and the guard chooses */
    assert_ok(ctx, ferry_evaluate(ctx, task, &rs));
    assert_int_equal(ferry_result_metric_count(ferry_results_at(rs, 0)), 0);
    assert_non_null(ferry_results_guard(rs));
    ferry_results_free(rs);
    assert_ok(ctx, ferry_guard_choose(ctx, task, &c));
    assert_true(c->score > 0.6 && c->score >= c->baseline_score - 0.1);
    assert_non_null(strstr(c->sentence, "on 60 labels"));
    assert_string_not_equal(c->method, "majority");
    assert_ok(ctx, ferry_fit(ctx, task, c->method, c->options, &model, NULL));
    ferry_model_free(model);
    ferry_guard_choice_free(c);
    ferry_guard_choice_free(NULL);
    ferry_task_free(task);
}

static void test_refused(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = NULL;
    ferry_guard_choice *c = NULL;

    assert_ok(ctx, ferry_task_new(ctx, "other", FERRY_EMBED, &task));
    assert_int_equal(ferry_guard_choose(ctx, task, &c), FERRY_EINVAL);
    assert_null(c);
    assert_non_null(strstr(ferry_message(ctx), "not embed"));
    ferry_task_free(task);
}

static ferry_status choose(ferry_ctx *ctx, void *task)
{
    ferry_guard_choice *c = NULL;
    ferry_status st = ferry_guard_choose(ctx, task, &c);

    ferry_guard_choice_free(c);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = NULL;
    ferry_domain *target = domain(ctx, "here", FERRY_TARGET, 5, NULL);

    assert_ok(ctx, ferry_domain_set_labelled(ctx, target, "1.0"));
    assert_ok(ctx, ferry_task_new(ctx, "guarded", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, target));
    assert_ok(ctx, ferry_task_add_method(ctx, task, "majority", NULL, NULL));
    each_allocation_fails(ctx, choose, task);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hidden_labels_do_not_matter),
        TEST(test_all_visible),
        TEST(test_refused),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
