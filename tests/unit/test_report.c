#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "ferry_test.h"
#include "methods/method.h"
#include "run/run.h"

/* Results made by hand, so that every number in a report is known. */

enum { ROWS = 21 };

static ferry_results *results_of(ferry_goal goal, int64_t planned, int64_t repeats)
{
    ferry_results *rs = ferry_i_calloc(1, sizeof *rs);

    assert_non_null(rs);
    rs->run.size = sizeof rs->run;
    rs->run.version = ferry_i_strdup(ferry_version());
    rs->run.controls = "none";
    rs->run.goal = goal;
    rs->run.planned = planned;
    rs->run.repeats = repeats;
    rs->run.seed = 1;
    rs->run.threads = 2;
    rs->run.best = rs->run.best_baseline = -1;
    rs->run.task = ferry_i_strdup("demo");
    rs->run.target = ferry_i_strdup("here");
    rs->run.engine = ferry_i_strdup("host");
    rs->run.blas_core = ferry_i_strdup("Haswell");
    rs->metrics = ferry_i_calloc(16, sizeof *rs->metrics);
    for (; ferry_i_metric_usual(goal, rs->n_metrics); rs->n_metrics++)
        rs->metrics[rs->n_metrics] = ferry_i_metric_usual(goal, rs->n_metrics);
    rs->result = ferry_i_calloc(16, sizeof *rs->result);
    rs->scored = ferry_i_calloc(planned, sizeof *rs->scored);
    rs->count = ferry_i_calloc(planned, sizeof *rs->count);
    rs->run.visible = 4;
    rs->truth = ferry_i_calloc(1, sizeof *rs->truth);
    rs->truth->n = ROWS;
    rs->truth->kind = FERRY_LABEL_CLASS;
    rs->truth->cls = ferry_i_calloc(ROWS, sizeof *rs->truth->cls);
    for (int64_t r = 0; r < planned; r++) {
        rs->scored[r] = ferry_i_calloc(ROWS, 1);
        memset(rs->scored[r], 1, ROWS);
        rs->scored[r][r % ROWS] = 0; /* other labels in every repeat */
        rs->count[r] = ROWS - 1;
    }
    return rs;
}

/* What an evaluation does when all runs are there. */
static void conclude(ferry_ctx *ctx, ferry_results *rs)
{
    assert_ok(ctx, ferry_i_results_compare(ctx, rs));
    if (rs->truth && rs->truth->n == ROWS) { /* only to compare by */
        FERRY_FREE(rs->truth->cls, rs->truth);
        rs->truth = NULL;
    }
    assert_ok(ctx, ferry_i_results_publish(ctx, rs));
}

/* Every metric of repeat r is base + slope * r. */
static ferry_entry *add(ferry_results *rs, const char *name, ferry_kind kind, double base,
                        double slope)
{
    ferry_entry *r = NULL;
    ferry_opts *options = NULL;
    ferry_ctx *ctx = NULL;

    assert_int_equal(ferry_ctx_new(&ctx), FERRY_OK);
    assert_ok(ctx, ferry_i_results_add(ctx, rs, name, "svm", kind, &r));
    assert_ok(ctx, ferry_opts_new(ctx, &options));
    assert_ok(ctx, ferry_opts_set(ctx, options, "C", "1"));
    r->pub.options = options;
    r->pub.uses = ferry_i_uses(ferry_i_method_find("svm"), kind, options, true);
    ferry_ctx_free(ctx);
    for (int64_t i = 0; i < rs->run.planned; i++) {
        for (int64_t m = 0; m < rs->n_metrics; m++)
            r->metric[m * rs->run.planned + i] = base + slope * (double)i;
        r->seconds[i] = 0.5;
        r->rows[i] = ferry_i_calloc(ROWS - 1, sizeof **r->rows);
        for (int64_t k = 0; k < ROWS - 1; k++) /* rows differ, and the mean is the metric */
            r->rows[i][k] = (base + slope * (double)i) * (k % 2 ? 1.1 : 0.9);
        if (isnan(base)) {
            ferry_i_free(r->rows[i]);
            r->rows[i] = NULL;
        }
    }
    r->done = rs->run.repeats;
    return r;
}

static void check_table(ferry_ctx *ctx, ferry_results *rs, const char *want)
{
    char *table = NULL;

    conclude(ctx, rs);
    assert_ok(ctx, ferry_results_table(ctx, rs, NULL, &table));
    assert_string_equal(table, want);
    ferry_string_free(table);
    ferry_results_free(rs);
}

static void test_table(void **state)
{
    ferry_results *rs = results_of(FERRY_CLASSIFY, 10, 10);

    add(rs, "majority", FERRY_KIND_BASELINE, 0.5, 0);
    add(rs, "svm train=target", FERRY_KIND_BASELINE, 0.80, 0.004);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.85, 0.006)->seconds[0] = 2;
    add(rs, "hemap", FERRY_KIND_TRANSFER, 0, 0)->pub.reason = ferry_i_strdup(
        "hemap needs labels in a source domain; this task has source 'text' and target "
        "'images' without source labels");
    add(rs, "mine", FERRY_KIND_TRANSFER, 0, 0)->pub.reason =
        ferry_i_strdup("repeat 3 of 10: ttl: broke down");
    check_table(
        *state, rs,
        "demo: classify 'here', 10 repeats, seed 1; ranked by accuracy (larger is better)\n"
        "\n"
        "method            uses              accuracy       macro-f1  fit s  vs best baseline "
        "[95 %]\n"
        "ttl               transfer     0.877 ± 0.018  0.877 ± 0.018   0.65  +0.059 (0.051 "
        "to 0.067)\n"
        "svm train=target  target only  0.818 ± 0.012  0.818 ± 0.012   0.50  best baseline\n"
        "majority          target only  0.500 ± 0.000  0.500 ± 0.000   0.50  -0.318 (-0.355 "
        "to -0.281)\n"
        "\n"
        "no result: hemap needs labels in a source domain; this task has source 'text' and "
        "target 'images'\n"
        "without source labels\n"
        "no result: mine: repeat 3 of 10: ttl: broke down\n"
        "best: ttl (accuracy 0.877 ± 0.018, 10 repeats): +5.9 points (5.1 to 6.7) against "
        "svm train=target,\n"
        "the best without transfer in hindsight (0.818).\n");
}

/* The part of a table that must be there. */
static void has(ferry_ctx *ctx, ferry_results *rs, const char *want)
{
    char *table = NULL;

    conclude(ctx, rs);
    assert_ok(ctx, ferry_results_table(ctx, rs, NULL, &table));
    if (!strstr(table, want)) print_error("no \"%s\" in:\n%s", want, table);
    assert_non_null(strstr(table, want));
    ferry_string_free(table);
    ferry_results_free(rs);
}

/* Smaller is better: a lead is positive all the same. */
static void test_smaller_is_better(void **state)
{
    ferry_results *rs = results_of(FERRY_REGRESS, 10, 10);

    add(rs, "mean", FERRY_KIND_BASELINE, 120, 2);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 100, 1);
    check_table(
        *state, rs,
        "demo: regress 'here', 10 repeats, seed 1; ranked by rmse (smaller is better)\n"
        "\n"
        "method  uses                rmse          mae  fit s  vs best baseline [95 %]\n"
        "ttl     transfer     104.5 ± 3.0  104.5 ± 3.0   0.50  +24.5 (20.8 to 28.2)\n"
        "mean    target only  129.0 ± 6.1  129.0 ± 6.1   0.50  best baseline\n"
        "\n"
        "best: ttl (rmse 104.5 ± 3.0, 10 repeats): +24.5 of rmse (20.8 to 28.2) against "
        "mean, the best\n"
        "without transfer in hindsight (129.0).\n");
    rs = results_of(FERRY_REGRESS, 10, 10);
    add(rs, "mean", FERRY_KIND_BASELINE, 1, 0);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 1.5, 0);
    has(*state, rs,
        "It is target only; the best transfer method, ttl, "
        "has\n-0.500 of rmse (-0.555 to -0.445).");
}

static void test_words(void **state)
{
    ferry_results *rs = results_of(FERRY_CLASSIFY, 10, 10);

    add(rs, "svm", FERRY_KIND_BASELINE, 0.8, 0.01);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.9, -0.01);
    has(*state, rs,
        "+1.0 points (-3.4 to 5.4) against svm, the best\nwithout transfer in hindsight (0.845).");
    rs = results_of(FERRY_CLASSIFY, 10, 10);
    add(rs, "svm", FERRY_KIND_BASELINE, 0.8, 0.01);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.8, 0.01);
    has(*state, rs, "0.50  equal in every repeat\n");
    rs = results_of(FERRY_CLASSIFY, 10, 10);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.8, 0.01);
    add(rs, "svm", FERRY_KIND_BASELINE, 0.8, 0.01);
    has(*state, rs,
        "it equals svm, the best without transfer, in "
        "every\nrepeat.\n");
    rs = results_of(FERRY_CLASSIFY, 20, 20);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.8, 0.005);
    add(rs, "svm", FERRY_KIND_BASELINE, 0.7, 0.004);
    has(*state, rs,
        "vs best baseline [95 %]\nttl     transfer     0.847 ± 0.030  0.847 ± 0.030   0.50  +0.110 (");
    rs = results_of(FERRY_CLASSIFY, 10, 10);
    add(rs, "svm", FERRY_KIND_BASELINE, 0.8, 0.01);
    has(*state, rs, "It is target only; no transfer method ran.\n");
    rs = results_of(FERRY_CLASSIFY, 10, 10);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.8, 0.01);
    has(*state, rs, "No baseline ran to compare it with.");
    rs = results_of(FERRY_CLASSIFY, 10, 3);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.8, 0.01)->seconds[0] = 1e4;
    has(*state, rs, "stopped after 3 of 10 repeats, seed 1");
}

static void test_one_repeat(void **state)
{
    ferry_results *rs = results_of(FERRY_CLASSIFY, 1, 1);

    add(rs, "svm", FERRY_KIND_BASELINE, 0.8, 0)->seconds[0] = 0.001;
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.9, 0)->seconds[0] = 123.4;
    check_table(
        *state, rs,
        "demo: classify 'here', 1 repeat, seed 1; ranked by accuracy (larger is better)\n"
        "\n"
        "method  uses         accuracy  macro-f1  fit s  vs best baseline [95 %]\n"
        "ttl     transfer        0.900     0.900    123  +0.100 (0.088 to 0.112)\n"
        "svm     target only     0.800     0.800  <0.01  best baseline\n"
        "\n"
        "best: ttl (accuracy 0.900, 1 repeat): +10.0 points (8.8 to 11.2) against svm, the "
        "best without\ntransfer in hindsight (0.800). One repeat covers these labels "
        "only: set evaluate.repeats to 10.\n");
}

/* Metrics that do not fit beside the rest come in a second table. */
static void test_wide(void **state)
{
    ferry_results *rs = results_of(FERRY_MULTILABEL, 10, 10);

    add(rs, "svm", FERRY_KIND_BASELINE, 0.8, 0.01);
    add(rs, "mmltl", FERRY_KIND_TRANSFER, 0.9, 0.01);
    check_table(
        *state, rs,
        "demo: multilabel 'here', 10 repeats, seed 1; ranked by average-precision (larger "
        "is better)\n"
        "\n"
        "method  uses         average-precision   ranking-loss      one-error  fit s  vs best "
        "baseline [95 %]\n"
        "mmltl   transfer         0.945 ± 0.030  0.945 ± 0.030  0.945 ± 0.030   0.50  +0.100 "
        "(0.089 to 0.111)\n"
        "svm     target only      0.845 ± 0.030  0.845 ± 0.030  0.845 ± 0.030   0.50  best "
        "baseline\n"
        "\n"
        "method       coverage        hamming\n"
        "mmltl   0.945 ± 0.030  0.945 ± 0.030\n"
        "svm     0.845 ± 0.030  0.845 ± 0.030\n"
        "\n"
        "best: mmltl (average-precision 0.945 ± 0.030, 10 repeats): +10.0 points (8.9 to "
        "11.1) against svm,\n"
        "the best without transfer in hindsight (0.845).\n");
}

/* On one screen: 12 methods, the best of each kind among them wherever it stands, and no control; "text" has all. */
static void test_few(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_results *rs = results_of(FERRY_CLASSIFY, 3, 3);
    char *few = NULL, *all = NULL, name[] = "ttl-a";

    add(rs, "shuffled", FERRY_KIND_CONTROL, 0.9, 0);
    for (; name[4] < 'a' + 13; name[4]++)
        add(rs, name, FERRY_KIND_TRANSFER, 0.8 - 0.01 * (name[4] - 'a'), 0);
    add(rs, "alone", FERRY_KIND_BASELINE, 0.5, 0);
    add(rs, "pooled", FERRY_KIND_BASELINE, 0.4, 0)->pub.uses = FERRY_USES_POOLED;
    conclude(ctx, rs);
    assert_ok(ctx, ferry_results_table(ctx, rs, NULL, &few));
    assert_ok(ctx, ferry_results_table(ctx, rs, "text", &all));
    assert_non_null(strstr(few, "\nttl-j "));
    assert_non_null(strstr(few, "\nalone   target only "));
    assert_non_null(strstr(few, "\npooled  pooled "));
    assert_null(strstr(few, "\nttl-k "));
    assert_null(strstr(few, "\nshuffled "));
    assert_non_null(strstr(few, "\n4 more methods: ferry table DIR --all.\n"));
    assert_non_null(strstr(all, "\nttl-m "));
    assert_non_null(strstr(all, "\nshuffled  control "));
    assert_null(strstr(all, " more method"));
    ferry_string_free(few);
    ferry_string_free(all);
    ferry_results_free(rs);
}

static void check_text(ferry_ctx *ctx, ferry_status st, char *text, const char *want)
{
    assert_ok(ctx, st);
    if (!strstr(text, want)) print_error("no \"%s\" in:\n%s", want, text);
    assert_non_null(strstr(text, want));
    ferry_string_free(text);
}

/* What the table leaves out, and the table for other programs. */
static void test_explain(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_results *rs = results_of(FERRY_CLASSIFY, 10, 10);
    char *text = NULL;
    ferry_status st;

    add(rs, "svm_a", FERRY_KIND_BASELINE, 0.80, 0.004);
    add(rs, "ttl, \"x\"", FERRY_KIND_TRANSFER, 0.85, 0.006);
    add(rs, "hemap", FERRY_KIND_TRANSFER, 0, 0)->pub.reason = ferry_i_strdup(
        "hemap needs labels in a source domain; this task has source 'text' and target "
        "'images' without source labels");
    add(rs, "mine", FERRY_KIND_TRANSFER, 0, 0)->pub.reason =
        ferry_i_strdup("repeat 3 of 10: ttl: broke down");
    conclude(ctx, rs);
    st = ferry_results_explain(ctx, rs, NULL, &text);
    check_text(ctx, st, text,
               "no result from:\n"
               "- hemap needs labels in a source domain; this task has source 'text' and "
               "target 'images' without\n"
               "  source labels\n"
               "- mine: repeat 3 of 10: ttl: broke down\n");
    st = ferry_results_explain(ctx, rs, "mine", &text);
    check_text(ctx, st, text, "\nrepeat 3 of 10: ttl: broke down\n");
    st = ferry_results_explain(ctx, rs, "ttl, \"x\"", &text);
    check_text(ctx, st, text,
               "rank 1 of 2, mean over 10 repeats ± deviation\n"
               "  accuracy             0.877 ± 0.018 (larger is better)\n");
    assert_fails(
        ctx, ferry_results_explain(ctx, rs, "tl", &text), FERRY_EINVAL,
        "no method 'tl' in these results; there are svm_a, ttl, \"x\", hemap, mine");
    st = ferry_results_table(ctx, rs, "csv", &text);
    check_text(
        ctx, st, text,
        "method,kind,accuracy,accuracy std,macro-f1,macro-f1 std,fit seconds,versus,gain,"
        "low,high,p,verdict\n\"ttl, \"\"x\"\"\",transfer,0.877,0.0181659");
    st = ferry_results_table(ctx, rs, "markdown", &text);
    check_text(ctx, st, text,
               "| method | uses | accuracy | macro-f1 | fit s | vs best baseline [95 %] |\n"
               "| --- | --- | ---: | ---: | ---: | --- |\n"
               "| ttl, \"x\" | transfer | 0.877 ");
    st = ferry_results_table(ctx, rs, "latex", &text);
    check_text(ctx, st, text,
               "svm\\_a & target only & 0.818 $\\pm$ 0.012 & 0.818 $\\pm$ 0.012 & 0.50 & "
               "best baseline \\\\\n");
    assert_fails(ctx, ferry_results_table(ctx, rs, "word", &text), FERRY_EINVAL,
                 "format word: expected text, csv, markdown, latex or json");
    ferry_results_free(rs);
}

static void test_no_metric(void **state)
{
    ferry_results *rs = results_of(FERRY_EMBED, 2, 2);

    rs->n_metrics = 0; /* a target without labels */
    add(rs, "coca", FERRY_KIND_TRANSFER, 0, 0);
    check_table(*state, rs,
                "demo: embed 'here', 2 repeats, seed 1\n"
                "\n"
                "method  uses      fit s\n"
                "coca    transfer   0.50\n"
                "\n"
                "1 method ran; without labels goal embed has no score.\n");
}

/* Undefined, tiny and huge numbers, and a name longer than the page. */
static void test_odd_numbers(void **state)
{
    ferry_results *rs = results_of(FERRY_REGRESS, 2, 2);
    char name[150];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    add(rs, "bad", FERRY_KIND_TRANSFER, NAN, 0);
    add(rs, "mean", FERRY_KIND_BASELINE, 2.5e9, 1e9);
    add(rs, name, FERRY_KIND_BASELINE, 2.5e9, 1e8);
    has(*state, rs, "2.55e+09 ± 7.07e+07");
    rs = results_of(FERRY_REGRESS, 2, 2);
    add(rs, "bad", FERRY_KIND_TRANSFER, NAN, 0);
    add(rs, "mean", FERRY_KIND_BASELINE, 0.02, 0.01);
    has(*state, rs,
        "bad     transfer                   n/a                n/a   0.50  n/a");
    rs = results_of(FERRY_REGRESS, 2, 2);
    add(rs, "mean", FERRY_KIND_BASELINE, 20, 1);
    has(*state, rs, "20.50 ± 0.71");
    rs = results_of(FERRY_REGRESS, 2, 2);
    add(rs, "mean", FERRY_KIND_BASELINE, 2000, 1);
    has(*state, rs, "2000 ± 1"); /* 2000.5 rounds to even */
    rs = results_of(FERRY_REGRESS, 2, 2);
    add(rs, "mean", FERRY_KIND_BASELINE, 0, 0);
    has(*state, rs, "0.000 ± 0.000");
}

/* ---- JSON ---- */

static json_t *json_of(ferry_ctx *ctx, ferry_results *rs)
{
    char *text = NULL;
    json_t *root = NULL;

    conclude(ctx, rs);
    assert_ok(ctx, ferry_results_table(ctx, rs, "json", &text));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    root = json_loads(text, 0, NULL);
    assert_non_null(root);
    ferry_string_free(text);
    return root;
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_at(const json_t *object, const char *key)
{
    assert_true(json_is_number(json_object_get(object, key)));
    return json_number_value(json_object_get(object, key));
}

static void test_json(void **state)
{
    ferry_results *rs = results_of(FERRY_CLASSIFY, 10, 4);
    const json_t *one, *two, *more;
    json_t *root = NULL;

    add(rs, "svm", FERRY_KIND_BASELINE, 0.8, 0.01);
    add(rs, "ttl", FERRY_KIND_TRANSFER, 0.9, 0.01)->diagnostics =
        json_pack("{s:i}", "p", 3);
    add(rs, "hemap", FERRY_KIND_CONTROL, 0, 0)->pub.reason =
        ferry_i_strdup("hemap needs more");
    root = json_of(*state, rs);
    assert_string_equal(text_at(root, "ferry"), ferry_version());
    assert_string_equal(text_at(root, "task"), "demo");
    assert_string_equal(text_at(root, "goal"), "classify");
    assert_string_equal(text_at(root, "target"), "here");
    assert_string_equal(text_at(root, "engine"), "host");
    assert_string_equal(text_at(root, "blas_core"), "Haswell");
    assert_close(number_at(root, "seed"), 1, 0);
    assert_close(number_at(root, "repeats"), 4, 0);
    assert_close(number_at(root, "planned"), 10, 0);
    assert_close(number_at(root, "threads"), 2, 0);
    one = json_array_get(json_object_get(root, "results"), 0); /* best first */
    two = json_array_get(json_object_get(root, "results"), 1);
    assert_string_equal(text_at(one, "name"), "ttl");
    assert_string_equal(text_at(one, "method"), "svm");
    assert_string_equal(text_at(one, "kind"), "transfer");
    assert_string_equal(text_at(one, "metric"), "accuracy");
    assert_string_equal(text_at(json_object_get(one, "options"), "C"), "1");
    assert_close(number_at(one, "mean"), 0.915, 1e-12);
    assert_close(number_at(one, "std"), 0.012909944487358, 1e-12);
    assert_int_equal(json_array_size(json_object_get(one, "runs")), 4);
    assert_int_equal(json_array_size(json_object_get(one, "fit_seconds")), 4);
    assert_close(number_at(json_object_get(one, "diagnostics"), "p"), 3, 0);
    assert_true(json_is_null(json_object_get(two, "diagnostics")));
    more = json_object_get(json_object_get(one, "metrics"), "macro-f1");
    assert_close(number_at(more, "mean"), 0.915, 1e-12);
    assert_int_equal(json_array_size(json_object_get(more, "runs")), 4);
    more = json_object_get(one, "versus");
    assert_string_equal(text_at(more, "baseline"), "svm");
    assert_close(number_at(more, "difference"), 0.1, 1e-12);
    assert_close(number_at(more, "low") + number_at(more, "high"), 0.2, 1e-12);
    assert_true(number_at(more, "low") > 0.08 && number_at(more, "low") < 0.1);
    assert_close(number_at(more, "level"), 0.95, 0);
    assert_close(number_at(more, "pairs"), 4, 0);
    assert_true(number_at(more, "p") < 0.2);
    assert_true(json_is_null(json_object_get(two, "versus")));
    more = json_array_get(json_object_get(root, "skipped"), 0);
    assert_string_equal(text_at(more, "name"), "hemap");
    assert_string_equal(text_at(more, "kind"), "control");
    assert_string_equal(text_at(more, "reason"), "hemap needs more");
    more = json_object_get(root, "verdict");
    assert_string_equal(text_at(more, "best"), "ttl");
    assert_string_equal(text_at(more, "best_baseline"), "svm");
    assert_non_null(strstr(text_at(more, "sentence"), "best: ttl (accuracy"));
    assert_close(number_at(json_object_get(more, "versus"), "difference"), 0.1, 1e-12);
    json_decref(root);
    ferry_results_free(rs);
}

/* What is undefined is null, not left out; bytes that are no UTF-8 do not stop it. */
static void test_json_odd(void **state)
{
    ferry_results *rs = results_of(FERRY_CLASSIFY, 1, 1);
    const json_t *one;
    json_t *root = NULL;

    rs->run.seed = UINT64_MAX;
    add(rs, "s\xffm", FERRY_KIND_BASELINE, NAN, 0);
    root = json_of(*state, rs);
    one = json_array_get(json_object_get(root, "results"), 0);
    assert_string_equal(text_at(one, "name"), "s?m");
    assert_true(json_is_null(json_object_get(one, "mean")));
    assert_true(json_is_null(json_array_get(json_object_get(one, "runs"), 0)));
    assert_string_equal(text_at(root, "seed"), "18446744073709551615");
    json_decref(root);
    ferry_results_free(rs);
    rs = results_of(FERRY_EMBED, 1, 1);
    rs->n_metrics = 0;
    add(rs, "coca", FERRY_KIND_TRANSFER, 0, 0);
    root = json_of(*state, rs);
    one = json_array_get(json_object_get(root, "results"), 0);
    assert_true(json_is_null(json_object_get(one, "metric")));
    assert_int_equal(json_array_size(json_object_get(one, "runs")), 0);
    assert_true(json_is_null(json_object_get(json_object_get(root, "verdict"), "best")));
    json_decref(root);
    ferry_results_free(rs);
}

/* ---- files ---- */

static const char *const classes[] = {"neg", "pos", NULL, "a,b"};

/* A target of four instances; its labels are the truth. */
static ferry_domain *domain_of(ferry_ctx *ctx, ferry_goal goal)
{
    static const char *const ids[] = {"i1", "i\"2\"", "i3", "i4"}, *const names[] = {"x",
                                                                                     "y"};
    static const double numbers[] = {1.5, 2, NAN, 4};
    static const uint8_t on[] = {1, 1, 0, 0, 0, 1, 1, 0};
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "here", FERRY_TARGET, &d));
    if (goal == FERRY_REGRESS)
        assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 4, ids, numbers));
    else if (goal == FERRY_MULTILABEL)
        assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, 4, ids, 2, names, on));
    else if (goal == FERRY_RATE)
        assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 4, ids, ids, numbers));
    else
        assert_ok(ctx, ferry_domain_set_classes(ctx, d, 4, ids, classes));
    return d;
}

/* One result with a prediction for all four; the last two were scored. */
static ferry_results *saved_results(ferry_ctx *ctx, ferry_goal goal, const char *name)
{
    ferry_results *rs = results_of(goal, 1, 1);
    ferry_domain *d = domain_of(ctx, goal);
    ferry_prediction *p = NULL;

    FERRY_FREE(rs->truth->cls, rs->truth);
    rs->truth = NULL;
    ferry_i_free(rs->scored[0]);
    if (goal == FERRY_RATE)
        assert_ok(ctx, ferry_i_ratings_copy(ctx, d->ratings, &rs->ratings));
    else
        assert_ok(ctx, ferry_i_labels_copy(ctx, d->labels, &rs->truth));
    rs->scored[0] = ferry_i_calloc(4, 1);
    rs->scored[0][2] = rs->scored[0][3] = 1;
    assert_ok(ctx, ferry_i_prediction_new(
                       ctx, goal, goal == FERRY_RATE ? NULL : d->labels->names, d, &p));
    for (int i = 0; i < 4; i++) {
        if (p->cls) p->cls[i] = i == 1 ? -1 : i == 3 ? 2 : 0;
        if (p->value) p->value[i] = i == 1 ? NAN : 0.25 * i;
        if (p->set) p->set[2 * i + 1] = i % 2 == 0;
    }
    if (goal == FERRY_EMBED) {
        p->k = 2;
        p->score = ferry_i_calloc(8, sizeof *p->score);
        p->score[1] = 0.5;
    } else {
        ferry_i_free(p->score);
        p->score = NULL;
    }
    ferry_entry *r = add(rs, name, FERRY_KIND_BASELINE, 0.5, 0);
    assert_ok(ctx, ferry_i_results_keep(ctx, rs, r, 0, &p));
    ferry_domain_free(d);
    return rs;
}

static void check_file(const char *path, const char *want)
{
    char *text = slurp(path);

    if (!text) print_error("%s is not there\n", path);
    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
}

static void test_save(void **state)
{
    static const struct {
        ferry_goal goal;
        const char *want;
    } cases[] = {
        {FERRY_CLASSIFY, "id,truth,scored,prediction\ni1,neg,0,neg\n"
                         "\"i\"\"2\"\"\",pos,0,\ni3,,1,neg\ni4,\"a,b\",1,\"a,b\"\n"},
        {FERRY_REGRESS, "id,truth,scored,prediction\ni1,1.5,0,0\n"
                        "\"i\"\"2\"\"\",2,0,\ni3,,1,0.5\ni4,4,1,0.75\n"},
        {FERRY_MULTILABEL, "id,truth,scored,prediction\ni1,x|y,0,y\n"
                           "\"i\"\"2\"\"\",,0,\ni3,y,1,y\ni4,x,1,\n"},
        {FERRY_RATE, "user,item,truth,scored,prediction\ni1,i1,1.5,0,0\n"
                     "\"i\"\"2\"\"\",\"i\"\"2\"\"\",2,0,\ni3,i3,,1,0.5\ni4,i4,4,1,0.75\n"},
        {FERRY_EMBED, "id,truth,scored,z1,z2\ni1,neg,0,0,0.5\n"
                      "\"i\"\"2\"\"\",pos,0,0,0\ni3,,1,0,0\ni4,\"a,b\",1,0,0\n"},
    };

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        ferry_results *rs = saved_results(*state, cases[i].goal, "svm");
        char *json = NULL;
        conclude(*state, rs);
        assert_ok(*state, ferry_results_save(*state, rs, tmp_path("a/b")));
        check_file(tmp_path("a/b/predictions/svm.csv"), cases[i].want);
        assert_ok(*state, ferry_results_table(*state, rs, "json", &json));
        check_file(tmp_path("a/b/results.json"), json);
        ferry_string_free(json);
        ferry_results_free(rs);
    }
}

/* Names that are no file names, or equal where case does not count. */
static void test_save_names(void **state)
{
    ferry_results *rs = saved_results(*state, FERRY_REGRESS, "../svm C=1");
    char longer[300], path[400];

    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    static const char *const names[] = {"svm/x", "SVM_X", "svm x"};
    for (int i = 0; i < 4; i++) {
        ferry_entry *r = add(rs, i < 3 ? names[i] : longer, FERRY_KIND_BASELINE, 0.5, 0);
        ferry_domain *d = domain_of(*state, FERRY_REGRESS);
        ferry_prediction *p = NULL;
        assert_ok(*state, ferry_i_prediction_new(*state, FERRY_REGRESS, NULL, d, &p));
        assert_ok(*state, ferry_i_results_keep(*state, rs, r, 0, &p));
        ferry_domain_free(d);
    }
    add(rs, "unfit", FERRY_KIND_BASELINE, 0.5, 0)->pub.reason = ferry_i_strdup("no");
    conclude(*state, rs);
    assert_ok(*state, ferry_results_save(*state, rs, tmp_path("names")));
    static const char *const files[] = {"_._svm_C=1", "svm_x", "SVM_X-2", "svm_x-3"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "names/predictions/%s.csv", files[i]);
        char *text = slurp(tmp_path(path));
        assert_non_null(text);
        free(text);
    }
    longer[100] = 0;
    snprintf(path, sizeof path, "names/predictions/%s.csv", longer);
    char *text = slurp(tmp_path(path));
    assert_non_null(text);
    free(text);
    assert_null(slurp(tmp_path("names/predictions/unfit.csv")));
    ferry_results_free(rs);
}

static void test_save_fails(void **state)
{
    ferry_results *rs = saved_results(*state, FERRY_CLASSIFY, "svm");

    conclude(*state, rs);
    tmp_file("plain", "x", -1);
    assert_fails(*state, ferry_results_save(*state, rs, tmp_path("plain")), FERRY_EIO,
                 "plain");
    tmp_file("busy.part", "x", -1); /* the place where it is made is taken */
    assert_fails(*state, ferry_results_save(*state, rs, tmp_path("busy")), FERRY_EIO,
                 "busy.part");
    assert_null(slurp(tmp_path("busy/results.json")));
    ferry_results_free(rs);
}

/* The folder is replaced as one: nothing of the old results stays, and all that is not ours. */
static void test_save_again(void **state)
{
    static const char *const left[] = {"again.part/old/mine.txt",
                                       "again.part/new/torn.json"};
    ferry_results *rs = saved_results(*state, FERRY_CLASSIFY, "svm");

    conclude(*state, rs);
    assert_ok(*state, ferry_i_mkdirs(*state, tmp_path("again/predictions/svm.csv")));
    tmp_file("again/predictions/stale.csv", "x", -1);
    tmp_file("again/notes.txt", "mine", -1);
    /* and one that was killed half-way left these */
    assert_ok(*state, ferry_i_mkdirs(*state, tmp_path("again.part/old")));
    assert_ok(*state, ferry_i_mkdirs(*state, tmp_path("again.part/new")));
    for (int i = 0; i < 2; i++)
        tmp_file(left[i], "x", -1);
    assert_ok(*state, ferry_results_save(*state, rs, tmp_path("again")));
    static const char *const there[] = {"again/predictions/svm.csv", "again/notes.txt",
                                        "again/mine.txt", "again/results.json"};
    for (int i = 0; i < 4; i++) {
        char *text = slurp(tmp_path(there[i]));
        if (!text) fail_msg("no %s", there[i]);
        free(text);
    }
    assert_null(slurp(tmp_path("again/predictions/stale.csv")));
    assert_int_not_equal(access(tmp_path("again.part"), F_OK), 0);
    /* killed between the two renames: the old folder is the one in place */
    assert_int_equal(rename(tmp_path("again"), tmp_path("aside")), 0);
    assert_ok(*state, ferry_i_mkdirs(*state, tmp_path("again.part")));
    char old[4096];
    (void)snprintf(old, sizeof old, "%s", tmp_path("again.part/old"));
    assert_int_equal(rename(tmp_path("aside"), old), 0);
    assert_ok(*state, ferry_results_save(*state, rs, tmp_path("again")));
    char *text = slurp(tmp_path("again/notes.txt"));
    assert_non_null(text);
    free(text);
    ferry_results_free(rs);
}

static ferry_status all_reports(ferry_ctx *ctx, void *rs)
{
    ferry_status st = FERRY_OK;
    char *table = NULL;

    FERRY_TRY(ferry_results_table(ctx, rs, NULL, &table));
    FERRY_TRY(ferry_results_save(ctx, rs, tmp_path("memory")));
done:
    if (st != FERRY_OK && table == NULL) assert_int_equal(st, FERRY_ENOMEM);
    ferry_string_free(table);
    return st;
}

static void test_memory(void **state)
{
    static const ferry_goal goals[] = {FERRY_MULTILABEL, FERRY_CLASSIFY};

    for (int i = 0; i < 2; i++) {
        ferry_results *rs = saved_results(*state, goals[i], "svm");
        add(rs, "unfit", FERRY_KIND_BASELINE, 0.5, 0)->pub.reason = ferry_i_strdup("no");
        add(rs, "ttl", FERRY_KIND_TRANSFER, 0.6, 0);
        conclude(*state, rs);
        each_allocation_fails(*state, all_reports, rs);
        ferry_results_free(rs);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_table),      TEST(test_smaller_is_better),
        TEST(test_words),      TEST(test_one_repeat),
        TEST(test_wide),       TEST(test_few),
        TEST(test_explain),    TEST(test_no_metric),
        TEST(test_json),       TEST(test_odd_numbers),
        TEST(test_json_odd),   TEST(test_save),
        TEST(test_save_names), TEST(test_save_fails),
        TEST(test_save_again), TEST(test_memory),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
