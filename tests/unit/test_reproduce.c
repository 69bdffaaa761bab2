/* Studies: tables, claims, verdict, JSON, missing data, cancel, memory. The studies of the
 * papers run in tests/cli. */
#include <jansson.h>
#include <stdio.h>

#include "ferry_test.h"
#include "reproduce/study.h"

/* ---- a study over generated data ---- */

static bool claims_hold[2];
static bool no_claims;

static const char *const toy_task =
    "task: toy\n"
    "goal: classify\n"
    "domains:\n"
    "  - name: t\n"
    "    role: target\n"
    "    x: t.csv\n"
    "    label: y\n"
    "    labelled: 10\n"
    "methods:\n"
    "  - majority\n"
    "  - knn: {k: 1}\n"
    "  - ttl\n"
    "evaluate: {repeats: 3, metrics: [accuracy, macro-f1]}\n";

/* 40 points, the class is the sign of x; the labels are learned well by 1-NN. */
static ferry_status toy_run(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    ferry_text csv = {0};
    ferry_score s, wrong;
    char *path = NULL, *source = NULL;
    ferry_opts *sets = NULL;

    ferry_i_text_add(&csv, "x,y\n");
    for (int i = -20; i < 20; i++)
        ferry_i_text_addf(&csv, "%g,%s\n", i + 0.5, i < 0 ? "no" : "yes");
    FERRY_HAVE(ctx, !csv.failed);
    ferry_i_lab_plan(lab, 2);
    FERRY_TRY(ferry_i_lab_path(ctx, lab, "t.csv", &path));
    FERRY_TRY(ferry_i_lab_source(ctx, lab, "no.txt|there.txt", &source));
    assert_non_null(strstr(source, "/there.txt"));
    FERRY_TRY(ferry_i_lab_task(ctx, lab, "t.csv", csv.s));
    FERRY_TRY(ferry_i_lab_task(ctx, lab, "toy.yaml", toy_task));
    ferry_i_lab_units(lab, "accuracy, %", 1);
    FERRY_TRY(ferry_opts_new(ctx, &sets));
    for (int few = 0; few < 2; few++) {
        FERRY_TRY(ferry_opts_set(ctx, sets, "domains.t.labelled", few ? "4" : "20"));
        FERRY_TRY(ferry_i_lab_run(ctx, lab, "toy.yaml", sets, ferry_i_lab_seed(lab) + 6));
        const char *column = few ? "4 labels" : "20 labels";
        FERRY_TRY(ferry_i_lab_score(ctx, lab, "majority", "accuracy", &s));
        FERRY_TRY(ferry_i_lab_cell(ctx, lab, "majority", column,
                                   ferry_i_score_times(s, 100), 50));
        FERRY_TRY(ferry_i_lab_score(ctx, lab, "knn k=1", NULL, &s));
        FERRY_TRY(ferry_i_lab_cell(ctx, lab, "1-NN", column, ferry_i_score_times(s, 100),
                                   few ? NAN : 97.5));
        FERRY_TRY(ferry_i_lab_score(ctx, lab, "ttl", "macro-f1", &s));
        FERRY_TRY(ferry_i_lab_cell(ctx, lab, "ttl", column, s, NAN));
    }
    assert_int_equal(ferry_i_lab_score(ctx, lab, "svm", NULL, &wrong), FERRY_EINVAL);
    assert_int_equal(ferry_i_lab_score(ctx, lab, "majority", "rmse", &wrong), FERRY_EINVAL);
    if (no_claims) goto done;
    for (int i = 0; i < 2; i++)
        FERRY_TRY(ferry_i_lab_claim(ctx, lab, claims_hold[i], "claim number %d", i + 1));
    FERRY_TRY(ferry_i_lab_note(ctx, lab, "%s is a toy", "this"));
    FERRY_TRY(ferry_i_lab_table(ctx, lab, "a second table"));
    FERRY_TRY(
        ferry_i_lab_cell(ctx, lab, "r", "c", ferry_i_score_of(2, (double[]){1, 3}), 2));
    /* The same cell again replaces it. */
    FERRY_TRY(
        ferry_i_lab_cell(ctx, lab, "r", "c", ferry_i_score_of(2, (double[]){5, 7}), 2));
    assert_close(ferry_i_lab_ours(lab, "r", "c"), 6, 1e-12);
    assert_close(ferry_i_lab_papers(lab, "r", "c"), 2, 1e-12);
    assert_true(isnan(ferry_i_lab_ours(lab, "r", "d")));
done:
    ferry_i_text_free(&csv);
    ferry_i_free(path);
    ferry_i_free(source);
    ferry_opts_free(sets);
    return st;
}

static const ferry_study toy = {
    .name = "toy-table1",
    .paper = "Nobody: A toy, 2026",
    .shows = "table 1: a toy",
    .needs = "there.txt\nsub/other.txt|sub/also.txt",
    .protocol = "Forty points.",
    .run = toy_run,
};

static ferry_reproduce_settings settings(const char *folder)
{
    static char data[512], also[600];

    snprintf(data, sizeof data, "%s", tmp_path("data"));
    (void)ferry_i_mkdirs(NULL, tmp_path("data/sub"));
    tmp_file("data/there.txt", "", 0);
    snprintf(also, sizeof also, "%s", tmp_file("data/sub/also.txt", "", 0));
    return (ferry_reproduce_settings){
        .data = data, .folder = tmp_path(folder), .quick = 1, .build = "abc123"};
}

static ferry_reproduction *toy_of(ferry_ctx *ctx, bool first, bool second)
{
    const ferry_reproduce_settings s = settings("toy");
    ferry_reproduction *r = NULL;

    claims_hold[0] = first;
    claims_hold[1] = second;
    assert_ok(ctx, ferry_i_reproduce(ctx, &toy, &s, &r));
    return r;
}

/* ---- tests ---- */

static void test_verdicts(void **state)
{
    static const struct {
        bool first, second;
        const char *verdict;
    } cases[] = {
        {true, true, "order reproduced"},
        {false, true, "partly reproduced: 1 of 2 claims; not: claim number 1"},
        {false, false, "not reproduced: claim number 1; claim number 2"},
    };

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        ferry_reproduction *r = toy_of(*state, cases[i].first, cases[i].second);
        assert_string_equal(ferry_reproduction_verdict(r), cases[i].verdict);
        ferry_reproduction_free(r);
    }
}

static void test_text(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_reproduction *r = toy_of(ctx, true, false);
    char *text = NULL;

    assert_ok(ctx, ferry_reproduction_table(ctx, r, &text));
    assert_non_null(strstr(text, "toy-table1: table 1: a toy\nNobody: A toy, 2026\n"));
    assert_non_null(strstr(text, "table 1: a toy; accuracy, %\n"));
    assert_non_null(strstr(text, "20 labels"));
    assert_non_null(strstr(text, " (97.5)"));
    assert_non_null(strstr(text, "6.000 ± 1.414 (2.000)"));
    assert_non_null(strstr(text, "ttl, 20 labels: ttl needs"));
    assert_non_null(strstr(text, "- held: claim number 1\n- NOT held: claim number 2\n"));
    assert_non_null(strstr(text, "this is a toy\n"));
    assert_non_null(strstr(text, "quick run, seed 1,"));
    ferry_string_free(text);
    ferry_reproduction_free(r);
}

static double cell_of(const json_t *table, const char *row, const char *column,
                      const char *what)
{
    json_t *cell = NULL;
    size_t i = 0;

    json_array_foreach(
        json_object_get(table, "cells"), i,
        cell) if (strcmp(json_string_value(json_object_get(cell, "row")), row) == 0 &&
                  strcmp(json_string_value(json_object_get(cell, "column")), column) ==
                      0) return json_number_value(json_object_get(cell, what));
    fail_msg("no cell %s, %s", row, column);
    return 0;
}

/* The numbers in study.json are those that its commands give. */
static void test_json(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_reproduction *r = toy_of(ctx, true, true);
    char *path = ferry_i_strdup(tmp_path("toy/study.json"));
    json_t *all = json_load_file(path, 0, NULL);
    char *text = NULL, *file = slurp(path);

    assert_non_null(all);
    assert_ok(ctx, ferry_reproduction_json(ctx, r, &text));
    assert_string_equal(text, file);
    const json_t *table = json_array_get(json_object_get(all, "tables"), 0);
    const json_t *runs = json_object_get(all, "runs");
    assert_int_equal(json_array_size(runs), 2);
    const json_t *first = json_array_get(runs, 0);
    assert_string_equal(json_string_value(json_object_get(first, "command")),
                        "ferry run toy.yaml --set domains.t.labelled=20 --seed 7 "
                        "--controls none");
    const double knn = json_number_value(json_object_get(
        json_object_get(json_object_get(first, "scores"), "knn k=1"), "accuracy"));
    assert_true(knn > 0.8 && knn <= 1);
    assert_close(cell_of(table, "1-NN", "20 labels", "ours"), 100 * knn, 1e-4);
    assert_close(cell_of(table, "1-NN", "20 labels", "n"), 3, 0);
    assert_close(cell_of(table, "majority", "4 labels", "paper"), 50, 0);
    assert_string_equal(json_string_value(json_object_get(all, "build")), "abc123");
    assert_true(json_is_true(json_object_get(all, "quick")));
    assert_int_equal(json_array_size(json_object_get(all, "data")), 2);
    assert_true(
        json_number_value(json_object_get(json_object_get(all, "machine"), "memory")) > 0);
    json_decref(all);
    ferry_string_free(text);
    free(file);
    ferry_i_free(path);
    ferry_reproduction_free(r);

    /* The task file that was written gives the same number. */
    ferry_opts *sets = opts_of(ctx, "domains.t.labelled=20", "evaluate.seed=7",
                               "evaluate.controls=none", NULL);
    ferry_task *task = NULL;
    ferry_results *rs = NULL;
    assert_ok(ctx, ferry_task_load(ctx, tmp_path("toy/toy.yaml"), sets, &task));
    assert_ok(ctx, ferry_evaluate(ctx, task, &rs));
    assert_close(ferry_i_result_mean(rs, &rs->result[1], 0), knn, 1e-5);
    ferry_results_free(rs);
    ferry_task_free(task);
    ferry_opts_free(sets);
}

static void test_wrong(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_reproduce_settings s = settings("none");
    ferry_reproduction *r = NULL;
    char *missing = NULL;

    assert_fails(ctx, ferry_reproduce(ctx, "hemap-figure91", &s, &r), FERRY_EINVAL,
                 "did you mean hemap-figure19?");
    assert_fails(ctx, ferry_study_missing(ctx, "zzz", s.data, &missing), FERRY_EINVAL,
                 "unknown study zzz");
    assert_ok(ctx, ferry_study_missing(ctx, "hemap-figure19", s.data, &missing));
    assert_non_null(strstr(missing, "statlog/german.data-numeric"));
    ferry_string_free(missing);
    (void)remove(tmp_path("data/sub/also.txt"));
    assert_fails(ctx, ferry_i_reproduce(ctx, &toy, &s, &r), FERRY_EDATA,
                 "data/sub/other.txt: not there, and toy-table1 needs it");
    assert_null(slurp(tmp_path("none/study.json")));
    s.data = "no/such/folder";
    assert_fails(ctx, ferry_i_reproduce(ctx, &toy, &s, &r), FERRY_EDATA, "no/such/folder");
    s = settings("none");
    no_claims = true;
    assert_fails(ctx, ferry_i_reproduce(ctx, &toy, &s, &r), FERRY_EINVAL,
                 "gave no table or no claim");
    no_claims = false;
}

static ferry_answer stop_later(void *user, const ferry_progress *p)
{
    int *calls = user;

    assert_true(p->steps == 2 && p->step >= 1 && p->step <= 2);
    return ++*calls > 4 ? FERRY_CANCEL : FERRY_GO;
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_reproduce_settings s = settings("stopped");
    ferry_reproduction *r = NULL;
    int calls = 0;

    ferry_ctx_set_progress(ctx, stop_later, &calls);
    assert_int_equal(ferry_i_reproduce(ctx, &toy, &s, &r), FERRY_ECANCELLED);
    assert_null(r);
    assert_int_equal(calls, 5);
    assert_null(slurp(tmp_path("stopped/study.json")));
    assert_ptr_equal(ctx->progress, stop_later);
    assert_int_equal(ferry_ctx_seed(ctx), 1);
}

/* Every study can be listed and says what a reader needs. */
static void test_list(void **state)
{
    ferry_study_info s;

    (void)state;
    assert_true(ferry_study_count() > 0);
    for (int64_t i = 0; i < ferry_study_count(); i++) {
        assert_true(ferry_study_at(i, &s));
        assert_ptr_equal(ferry_i_study_find(s.name), ferry_i_study_at(i));
        assert_true(s.paper[0] && s.shows[0] && s.needs[0] && s.protocol[0]);
        for (const char *c = s.name; *c; c++)
            assert_true((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-');
    }
    assert_false(ferry_study_at(ferry_study_count(), &s));
}

/* Everything but an evaluation, which has a test of its own for this. */
static ferry_status plain_run(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    ferry_score none = {NAN, NAN, 0, "it did not run"};

    FERRY_TRY(ferry_i_lab_task(ctx, lab, "some.txt", "text"));
    FERRY_TRY(ferry_i_lab_table(ctx, lab, "one"));
    ferry_i_lab_units(lab, "points", 1);
    FERRY_TRY(ferry_i_lab_cell(ctx, lab, "a", "b", none, 3));
    FERRY_TRY(ferry_i_lab_table(ctx, lab, "two"));
    FERRY_TRY(ferry_i_lab_cell(ctx, lab, "a", "b", ferry_i_score_of(1, (double[]){1}), 3));
    FERRY_TRY(ferry_i_lab_claim(ctx, lab, false, "a is b"));
    FERRY_TRY(ferry_i_lab_note(ctx, lab, "it is not"));
done:
    return st;
}

static const ferry_study plain = {
    .name = "plain-table1",
    .paper = "Nobody: Plain, 2026",
    .shows = "table 1",
    .needs = "there.txt",
    .protocol = "None.",
    .run = plain_run,
};

static ferry_status whole(ferry_ctx *ctx, void *arg)
{
    const ferry_reproduce_settings *s = arg;
    ferry_reproduction *r = NULL;
    char *text = NULL;
    ferry_status st = ferry_i_reproduce(ctx, &plain, s, &r);

    if (st == FERRY_OK) st = ferry_reproduction_table(ctx, r, &text);
    ferry_string_free(text);
    ferry_reproduction_free(r);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_reproduce_settings s = settings("memory");

    each_allocation_fails(*state, whole, &s);
}

static void test_score_of(void **state)
{
    (void)state;
    const ferry_score s = ferry_i_score_of(4, (double[]){1, NAN, 2, 6});
    assert_close(s.mean, 3, 1e-12);
    assert_close(s.sd, sqrt(7), 1e-12);
    assert_int_equal(s.n, 3);
    assert_true(isnan(ferry_i_score_of(1, (double[]){NAN}).mean));
    assert_close(ferry_i_score_times(s, -2).sd, 2 * sqrt(7), 1e-12);
}

/* A committed result is of the protocol that the study has now, and each study has one. */
static void test_results_are_of_now(void **state)
{
    int64_t found = 0;

    (void)state;
    for (int64_t i = 0; ferry_i_study_at(i); i++) {
        const ferry_study *study = ferry_i_study_at(i);
        char path[128];
        (void)snprintf(path, sizeof path, "repro/results/%s.json", study->name);
        json_t *result = json_load_file(path, 0, NULL);
        if (!result) fail_msg("%s: not there or no JSON", path);
        const char *protocol = json_string_value(json_object_get(result, "protocol"));
        if (!protocol || strcmp(protocol, study->protocol) != 0)
            fail_msg("%s: made with another protocol; run ferry reproduce %s again", path,
                     study->name);
        json_decref(result);
        found++;
    }
    assert_true(found >= 26);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_of_now),
        cmocka_unit_test_setup_teardown(test_verdicts, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_text, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_json, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_wrong, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_cancel, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_list, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_score_of, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("reproduce", tests, NULL, NULL);
}
