/* Goal stream in an evaluation: the same numbers as streaming by hand, the curve, labels
 * that come late or never, and what the table and results.json say. */
#include <jansson.h>
#include <stdio.h>

#include "run/run.h"
#include "ferry_test.h"
#include "methods/method.h"
#include "small_task.h"

enum { N = 40, D = 4 };

/* Three classes, and a source in other features. */
static ferry_task *task_of(ferry_ctx *ctx, const char *labelled, const char *evaluate)
{
    double x[N * D], xs[12 * 3];
    const char *y[N];
    static const char *const names[] = {"a", "b", "c"};
    ferry_domain *s, *t;
    ferry_task *task;
    ferry_opts *opts = settings_of(ctx, evaluate);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 17, 0);
    for (int e = 0; e < 36; e++)
        xs[e] = ferry_i_rng_normal(&rng);
    for (int i = 0; i < N; i++) {
        y[i] = names[i % 3];
        for (int j = 0; j < D; j++)
            x[i * D + j] = 0.8 * ferry_i_rng_normal(&rng) + (j == i % 3 ? 2 : 0);
    }
    s = small_domain(ctx, "s", FERRY_SOURCE, 12, 3, xs);
    small_classes(ctx, s, "abcabcabcabc");
    t = small_domain(ctx, "t", FERRY_TARGET, N, D, x);
    assert_ok(ctx, ferry_domain_set_classes(ctx, t, N, NULL, y));
    assert_ok(ctx, ferry_domain_set_labelled(ctx, t, labelled));
    task = small_task(ctx, FERRY_STREAM, s, t);
    assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts));
    ferry_opts_free(opts);
    return task;
}

static void add(ferry_ctx *ctx, ferry_task *task, const char *method, const char *as,
                const char *settings)
{
    ferry_opts *opts = settings_of(ctx, settings);

    assert_ok(ctx, ferry_task_add_method(ctx, task, method, as, opts));
    ferry_opts_free(opts);
}

static ferry_results *run(ferry_ctx *ctx, const ferry_task *task)
{
    ferry_results *rs = NULL;

    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &rs));
    return rs;
}

/* The mistakes of one repeat, by hand. */
static double by_hand(ferry_ctx *ctx, const ferry_task *task, int64_t repeat,
                      const char *method, const char *settings, int64_t delay)
{
    ferry_task *split = NULL;
    ferry_model *m = NULL;
    const ferry_domain *t = NULL, *full = ferry_task_domain_at(task, 1);
    int64_t order[N], n = 0, mistakes = 0;
    int32_t cls, votes[N][256];
    ferry_rng rng;

    ctx->repeat = (uint64_t)repeat;
    assert_ok(ctx, ferry_i_task_split(ctx, task, repeat, &split));
    m = fit_model(ctx, split, method, settings);
    assert_ok(ctx, ferry_i_task_target(ctx, split, &t));
    for (int64_t i = 0; i < N; i++)
        if (!ferry_i_labels_has(t->labels, i)) order[n++] = i;
    ferry_i_rng_for(ctx, &rng, "stream");
    ferry_i_rng_shuffle(&rng, n, order);
    for (int64_t r = 0; r < n; r++) {
        const double *x = full->views[0]->x->dense;
        const ferry_row row = {D, NULL, x + order[r] * D};
        assert_ok(ctx, ferry_model_see(ctx, m, &row, &cls, NULL, votes[r]));
        mistakes += strcmp(ferry_model_class_at(m, cls),
                           (const char *[]){"a", "b", "c"}[order[r] % 3]) != 0;
        if (r < delay) continue;
        const int64_t o = order[r - delay];
        const ferry_row late = {D, NULL, x + o * D};
        assert_ok(ctx,
                  ferry_model_learn(ctx, m, &late, (const char *[]){"a", "b", "c"}[o % 3],
                                    votes[r - delay]));
    }
    ferry_model_free(m);
    ferry_task_free(split);
    ctx->repeat = 0;
    return (double)mistakes / (double)n;
}

static void check_by_hand(ferry_ctx *ctx, const char *method, const char *settings,
                          int64_t delay)
{
    char evaluate[64];
    ferry_task *task;
    ferry_results *rs;

    (void)snprintf(evaluate, sizeof evaluate, "repeats=3 seed=5 delay=%lld",
                   (long long)delay);
    task = task_of(ctx, "per_class:2", evaluate);
    add(ctx, task, method, NULL, settings);
    rs = run(ctx, task);
    assert_int_equal(rs->run.repeats, 3);
    assert_int_equal(rs->rounds, N - 6);
    ctx->seed = 5;
    for (int64_t r = 0; r < 3; r++) {
        assert_close(rs->result[0].metric[r],
                     by_hand(ctx, task, r, method, settings, delay), 1e-15);
        assert_close(rs->result[0].curve[r * FERRY_CURVE + FERRY_CURVE - 1],
                     rs->result[0].metric[r], 1e-15);
    }
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void test_by_hand(void **state)
{
    check_by_hand(*state, "mpa", "", 0);
    check_by_hand(*state, "hetomtl", "", 0);
    check_by_hand(*state, "hetomtl-paper", "", 0);
    check_by_hand(*state, "hetomtl", "", 0);
    check_by_hand(*state, "hetomtl", "", 9);
    check_by_hand(*state, "omtlmc", "", 0);
    check_by_hand(*state, "mpa", "scale=causal", 4);
    check_by_hand(*state, "hetomtl", "", 9);
    check_by_hand(*state, "hetomtl-paper", "", 100); /* never comes */
}

/* Without labels nothing is learned: as predicting all at once. */
static void test_no_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "per_class:2", "repeats=1 arriving=0"), *split = NULL;
    ferry_results *rs;
    ferry_prediction *p;
    int64_t wrong = 0;

    add(ctx, task, "mpa", NULL, "");
    rs = run(ctx, task);
    assert_ok(ctx, ferry_i_task_split(ctx, task, 0, &split));
    p = fit_predict(ctx, split, "mpa", "", split->domains[1]);
    for (int64_t i = 0; i < N; i++)
        if (rs->scored[0][i]) wrong += p->cls[i] != i % 3;
    assert_close(rs->result[0].metric[0], (double)wrong / (N - 6), 1e-15);
    ferry_prediction_free(p);
    ferry_results_free(rs);
    ferry_task_free(split);
    ferry_task_free(task);
}

/* Half of the labels: some learning, with the same answers when run again. */
static void test_some_labels(void **state)
{
    ferry_ctx *ctx = *state;
    double rate[3];
    static const char *const settings[] = {"repeats=20 arriving=0",
                                           "repeats=20 arriving=0.5", "repeats=20"};

    for (int i = 0; i < 3; i++) {
        ferry_task *task = task_of(ctx, "per_class:1", settings[i]);
        ferry_results *rs, *again;
        add(ctx, task, "mpa", NULL, "");
        rs = run(ctx, task);
        again = run(ctx, task);
        assert_memory_equal(rs->result[0].metric, again->result[0].metric,
                            20 * sizeof(double));
        rate[i] = ferry_i_result_mean(rs, &rs->result[0], 0);
        ferry_results_free(rs);
        ferry_results_free(again);
        ferry_task_free(task);
    }
    assert_true(rate[2] < rate[1] && rate[1] < rate[0]);
}

/* Classes that only the stream has, and an instance without features. */
static void test_new_class(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {1, 0, 0, 0.9, 0.1, 0, 0, 1, 0, 0, 0.8, 0.1};
    const char *const ids[] = {"1", "2", "3", "4", "bare"}, *const y[] = {"a", "a", "b",
                                                                          "b", "a"};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 4, 3, x);
    ferry_task *task;
    ferry_results *rs;
    char spec[512];

    assert_ok(ctx, ferry_domain_set_classes(ctx, t, 5, ids, y));
    (void)snprintf(spec, sizeof spec, "ids:%s", tmp_file("seen.txt", "1\n", -1));
    assert_ok(ctx, ferry_domain_set_labelled(ctx, t, spec));
    task = small_task(ctx, FERRY_STREAM, NULL, t);
    rs = run(ctx, task); /* every method of the goal: those that fit */
    for (int64_t i = 0; i < rs->n; i++) {
        if (rs->result[i].pub.reason) continue;
        assert_true(rs->result[i].metric[0] >= 0.25); /* bare, if nothing else */
        assert_true(rs->result[i].metric[0] <= 0.75);
    }
    assert_int_equal(rs->rounds, 4);
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void test_what_is_told(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "per_class:2", "repeats=3 delay=2 arriving=0.9");
    ferry_results *rs;
    char *table = NULL, *json = NULL;
    json_t *root, *w, *curve;

    add(ctx, task, "mpa", NULL, "");
    add(ctx, task, "hetomtl", "h", "");
    add(ctx, task, "hetomtl", "p", "mode=paper");
    rs = run(ctx, task);
    assert_ok(ctx, ferry_results_explain(ctx, rs, NULL, &table));
    assert_non_null(strstr(table, "mistake rate so far, by rows seen (labels "
                                  "arriving: 0.9, 2 rows later)\nmethod      4      7"));
    assert_ok(ctx, ferry_results_table(ctx, rs, "json", &json));
    root = json_loads(json, 0, NULL);
    assert_non_null(root);
    for (size_t i = 0; i < 3; i++) {
        const json_t *r = json_array_get(json_object_get(root, "results"), i);
        const char *name = json_string_value(json_object_get(r, "name"));
        curve = json_object_get(r, "curve");
        const json_t *mean = json_object_get(curve, "mean");
        assert_int_equal(json_array_size(mean), FERRY_CURVE);
        assert_close(json_real_value(json_array_get(mean, FERRY_CURVE - 1)),
                     json_real_value(json_object_get(r, "mean")), 1e-14);
        assert_close(json_real_value(json_array_get(json_object_get(curve, "rows"), 99)),
                     N - 6, 0);
        w = json_object_get(json_object_get(r, "diagnostics"), "weights");
        if (strcmp(name, "mpa") == 0) {
            assert_null(w);
            continue;
        }
        const size_t n = json_array_size(json_object_get(w, "rows"));
        assert_int_equal(n, N - 6); /* fewer rows than points of the curve */
        double sum = 0;
        const char *key;
        json_t *list;
        json_object_foreach(w, key, list)
        {
            if (strcmp(key, "rows") != 0)
                sum += json_real_value(json_array_get(list, n - 1));
        }
        assert_close(sum, 1, 1e-12);
    }
    json_decref(root);
    ferry_string_free(table);
    ferry_string_free(json);
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* Transfer methods are run under controls too. */
static void test_controls(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "per_class:2", "repeats=3 controls=quick");
    ferry_results *rs;

    add(ctx, task, "mpa", NULL, "");
    add(ctx, task, "hetomtl", NULL, "mode=paper");
    rs = run(ctx, task);
    assert_true(rs->result[1].n_trials > 0);
    for (int64_t t = 0; t < rs->result[1].n_trials; t++) {
        const ferry_trial *c = &rs->result[1].trial[t];
        assert_null(c->pub.reason);
        assert_int_equal(c->done, c->pub.draws * c->pub.repeats);
    }
    ferry_results_free(rs);
    ferry_task_free(task);
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_results *rs = NULL;
    const ferry_status st = ferry_evaluate(ctx, arg, NULL, &rs);

    ferry_results_free(rs);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "per_class:11", "repeats=1 controls=none");

    add(ctx, task, "hetomtl", NULL, "");
    add(ctx, task, "hetomtl", NULL, "mode=paper");
    each_allocation_fails(ctx, body, task);
    ferry_task_free(task);
}

static ferry_answer cancel(void *user, const ferry_progress *p)
{
    (void)p;
    return --*(int *)user < 0 ? FERRY_CANCEL : FERRY_GO;
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "per_class:2", "repeats=2 controls=none");
    ferry_results *rs = NULL;

    assert_ok(ctx, ferry_i_ctx_set_jobs(ctx, 1)); /* calls are counted */
    add(ctx, task, "hetomtl-paper", NULL, "");    /* reports progress for each source */
    for (int n = 0; n < 4; n++) {
        int left = n;
        ferry_ctx_set_progress(ctx, cancel, &left);
        assert_fails(ctx, ferry_evaluate(ctx, task, NULL, &rs), FERRY_ECANCELLED, "");
        ferry_results_free(rs);
        rs = NULL;
    }
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_by_hand),   TEST(test_no_labels),    TEST(test_some_labels),
        TEST(test_new_class), TEST(test_what_is_told), TEST(test_controls),
        TEST(test_memory),    TEST(test_cancel),
    };
    return cmocka_run_group_tests_name("stream_evaluate", tests, NULL, NULL);
}
