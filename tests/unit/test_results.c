/* Results through the public API: the same numbers as in results.json, and again when loaded. */
#include <jansson.h>
#include <math.h>

#include "ferry_test.h"
#include "run/run.h"

enum { N = 40, REPEATS = 6 };

/* A source and a target in the same two columns; the target's classes are shifted a little. */
static ferry_task *task_of(ferry_ctx *ctx, const char *predictions)
{
    ferry_task *task = NULL;
    ferry_domain *d = NULL;
    double x[2 * N];
    const char *y[N];
    ferry_opts *opts = opts_of(ctx, "repeats=6", predictions, NULL);

    assert_ok(ctx, ferry_task_new(ctx, "typed", FERRY_CLASSIFY, &task));
    for (int role = 0; role < 2; role++) {
        const ferry_array a = {.rows = N, .cols = 2, .ld = 2, .data = x};
        for (int i = 0; i < N; i++) {
            x[2 * i] = (i % 2) + 0.9 * sin(7.0 * i) + 0.2 * role;
            x[2 * i + 1] = cos(3.0 * i + role);
            y[i] = i % 2 ? "odd" : "even";
        }
        assert_ok(ctx, ferry_domain_new(ctx, role ? "here" : "there",
                                        role ? FERRY_TARGET : FERRY_SOURCE, &d));
        assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &a, NULL, NULL, NULL));
        assert_ok(ctx, ferry_domain_set_classes(ctx, d, N, NULL, y));
        if (role) assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "8"));
        assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    }
    assert_ok(ctx, ferry_task_add_method(ctx, task, "svm", NULL, NULL));
    assert_ok(ctx, ferry_task_add_method(ctx, task, "majority", NULL, NULL));
    assert_ok(ctx, ferry_task_add_method(ctx, task, "cdspp", NULL, NULL));
    assert_ok(ctx, ferry_task_add_method(ctx, task, "mean", NULL, NULL)); /* of numbers */
    assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts));
    ferry_opts_free(opts);
    return task;
}

/* A number of the file, to its 15 digits; NaN is null. */
static void same(const json_t *o, const char *key, double x)
{
    const json_t *v = json_object_get(o, key);

    assert_non_null(v);
    if (isnan(x))
        assert_true(json_is_null(v));
    else
        assert_close(json_number_value(v), x, 1e-14 * fabs(x));
}

static void same_runs(const json_t *array, int64_t n, const double *x)
{
    assert_int_equal(json_array_size(array), n);
    for (int64_t i = 0; i < n; i++)
        assert_close(json_number_value(json_array_get(array, (size_t)i)), x[i],
                     1e-14 * fabs(x[i]));
}

static void check_evidence(const json_t *verdict, const ferry_result *r)
{
    size_t place[2] = {0};

    for (int64_t i = 0; ferry_i_result_evidence_at(r, i); i++) {
        const ferry_evidence *e = ferry_i_result_evidence_at(r, i);
        const int kind = e->source != NULL;
        const json_t *list = json_object_get(verdict, kind ? "sources" : "controls");
        const json_t *one = json_array_get(list, place[kind]++);
        assert_string_equal(json_string_value(json_object_get(one, "control")), e->control);
        same(one, "mean", e->mean);
        same(one, "gain", e->gain);
        if (e->source) same(one, "p", e->p);
        assert_int_equal(json_integer_value(json_object_get(one, "as_good")), e->as_good);
        same_runs(json_array_get(json_object_get(one, "runs"), 0), e->repeats, e->runs);
    }
    assert_true(place[0] > 0);
}

static void check_result(const json_t *one, const ferry_result *r)
{
    const json_t *verdict = json_object_get(one, "verdict");

    assert_int_equal(r->size, sizeof *r);
    assert_string_equal(json_string_value(json_object_get(one, "method")), r->method);
    same(one, "mean", r->mean);
    same(one, "std", r->std);
    same_runs(json_object_get(one, "runs"), r->repeats, r->runs);
    same_runs(json_object_get(one, "fit_seconds"), r->repeats, r->seconds);
    for (int64_t m = 0; ferry_result_metric_at(r, m); m++) {
        const ferry_metric_runs *x = ferry_result_metric_at(r, m);
        const json_t *there = json_object_get(json_object_get(one, "metrics"), x->name);
        same(there, "mean", x->mean);
        same_runs(json_object_get(there, "runs"), x->repeats, x->runs);
    }
    for (int64_t i = 0; ferry_opts_at(r->options, i); i++) {
        const ferry_setting *s = ferry_opts_at(r->options, i);
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(one, "options"), s->key)),
            s->value);
    }
    if (r->pairs > 0) same(json_object_get(one, "versus"), "difference", r->gain);
    if (r->verdict == FERRY_UNJUDGED) {
        assert_true(json_is_null(verdict));
        return;
    }
    assert_string_equal(json_string_value(json_object_get(verdict, "verdict")),
                        ferry_verdict_name(r->verdict));
    assert_string_equal(json_string_value(json_object_get(verdict, "sentence")),
                        r->sentence);
    same(verdict, "low", r->low);
    same(verdict, "p_holm", r->p_holm);
    check_evidence(verdict, r);
}

static void check_all(ferry_ctx *ctx, const ferry_results *rs)
{
    const ferry_run_info *run = ferry_results_info(rs);
    const ferry_recommendation *g = ferry_results_answer(rs);
    char *text = NULL;
    size_t i = 0;
    json_t *one = NULL;

    assert_ok(ctx, ferry_results_table(ctx, rs, "json", &text));
    json_t *all = json_loads(text, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(all, "repeats")), run->repeats);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(all, "verdict"), "sentence")),
        run->sentence);
    assert_int_equal(json_array_size(json_object_get(all, "results")), 3);
    json_array_foreach(json_object_get(all, "results"), i, one)
    {
        const ferry_result *r =
            ferry_results_find(rs, json_string_value(json_object_get(one, "name")));
        assert_non_null(r);
        assert_int_equal(r->rank, i + 1);
        check_result(one, r);
    }
    one = json_array_get(json_object_get(all, "skipped"), 0);
    assert_string_equal(json_string_value(json_object_get(one, "reason")),
                        ferry_results_find(rs, "mean")->reason);
    one = json_object_get(all, "answer");
    same_runs(json_object_get(one, "runs"), g->repeats, g->runs);
    same(one, "value", g->value);
    same(one, "worth_low", g->worth_low);
    assert_string_equal(json_string_value(json_object_get(one, "use")), g->use);
    assert_int_equal(json_array_size(json_object_get(one, "members")), g->members);
    assert_string_equal(ferry_results_at(rs, run->best_baseline)->name,
                        json_string_value(json_object_get(json_object_get(all, "verdict"),
                                                          "best_baseline")));
    json_decref(all);
    ferry_string_free(text);
}

static void test_same_as_json(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "predictions=first");
    ferry_results *rs = NULL, *again = NULL;
    char *table = NULL, *loaded = NULL;

    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &rs));
    assert_int_equal(rs->n, 4);
    assert_null(ferry_results_at(rs, -1));
    assert_null(ferry_results_at(rs, 4));
    assert_null(ferry_results_find(rs, "nobody"));
    check_all(ctx, rs);
    assert_ok(ctx, ferry_results_save(ctx, rs, tmp_path("typed")));
    assert_ok(ctx, ferry_results_load(ctx, tmp_path("typed"), &again));
    check_all(ctx, again);
    assert_ok(ctx, ferry_results_table(ctx, rs, NULL, &table));
    assert_ok(ctx, ferry_results_table(ctx, again, NULL, &loaded));
    assert_string_equal(table, loaded);
    assert_null(ferry_result_prediction_at(ferry_results_at(again, 0), 0));
    ferry_string_free(table);
    ferry_string_free(loaded);
    ferry_results_free(again);
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* Scores of every repeat, and from them the accuracy again. */
static void test_predictions(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "predictions=all");
    ferry_results *rs = NULL;

    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &rs));
    const ferry_truth *t = ferry_results_info(rs)->truth;
    const ferry_result *r = ferry_results_find(rs, "svm");
    assert_int_equal(t->n, N);
    assert_null(ferry_result_prediction_at(r, REPEATS));
    for (int64_t k = 0; k < REPEATS; k++) {
        const ferry_repeat_prediction *p = ferry_result_prediction_at(r, k);
        double right = 0, scored = 0;
        assert_int_equal(p->repeat, k);
        assert_non_null(p->given->score);
        for (int64_t i = 0; i < N; i++) {
            if (!p->scored[i]) continue;
            right += p->place[p->given->cls[i]] == t->cls[i];
            scored++;
        }
        assert_close(scored, N - 8, 0);
        assert_close(right / scored, r->runs[k], 1e-15);
    }
    assert_non_null(ferry_result_diagnostic_at(ferry_results_find(rs, "cdspp"), 0));
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void test_damaged(void **state)
{
    static const char *const files[] = {
        "{}", "[]", "{\"results\": [], \"skipped\": [], \"verdict\": {}}",
        "{\"ferry\": \"0.2.0\", \"task\": \"t\", \"goal\": \"fly\", \"target\": \"x\"}"};
    ferry_results *rs = NULL;

    assert_fails(*state, ferry_results_load(*state, tmp_path("nowhere"), &rs), FERRY_EDATA,
                 "nowhere/results.json: cannot read");
    assert_ok(*state, ferry_i_mkdirs(*state, tmp_path("damaged")));
    for (int i = 0; i < 4; i++) {
        tmp_file("damaged/results.json", files[i], -1);
        assert_fails(*state, ferry_results_load(*state, tmp_path("damaged"), &rs),
                     FERRY_EDATA, "these are no results of ferry run");
        assert_null(rs);
    }
}

/* A program that forgot the size is told so. */
static void test_sizes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "predictions=first");
    ferry_model *model = NULL;
    ferry_fit_info info = {0};

    assert_fails(ctx, ferry_fit(ctx, task, "svm", NULL, &model, &info), FERRY_EINVAL,
                 "info.size is 0");
    info.size = sizeof info;
    assert_ok(ctx, ferry_fit(ctx, task, "svm", NULL, &model, &info));
    assert_int_equal(info.size, sizeof info);
    ferry_model_free(model);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

/* A folder of the first schema: three verdicts, no crossed variance. */
static void test_first_schema(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_results *rs = NULL;
    char *table = NULL;
    json_t *root = json_load_file("tests/unit/results_v1.json", 0, NULL);

    assert_non_null(root);
    assert_int_equal(json_dump_file(root, tmp_path("results.json"), 0), 0);
    json_decref(root);
    assert_ok(ctx, ferry_results_load(ctx, tmp_path("."), &rs));
    const ferry_result *hop = ferry_results_find(rs, "hop");
    assert_int_equal(hop->verdict, FERRY_OPEN);
    assert_true(isnan(hop->bound) && isnan(hop->p_high) && hop->control_draws == 0);
    assert_true(ferry_i_result_evidence_at(hop, 0)->excess > 0);
    assert_int_equal(ferry_results_find(rs, "hemap")->verdict, FERRY_OPEN);
    assert_ok(ctx, ferry_results_explain(ctx, rs, NULL, &table));
    assert_non_null(strstr(table, "hop: no evidence: "));
    assert_ok(ctx, ferry_report_write(ctx, 1, (const char *const[]){tmp_path(".")},
                                      tmp_path("page.html")));
    ferry_string_free(table);
    ferry_results_free(rs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_same_as_json), TEST(test_predictions),  TEST(test_damaged),
        TEST(test_sizes),        TEST(test_first_schema),
    };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
