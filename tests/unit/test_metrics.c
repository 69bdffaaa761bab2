#include <jansson.h>
#include <stdio.h>

#include "run/run.h"
#include "golden.h"

/* Numbers without another source were computed once with scikit-learn 1.9.1. */

static double value_of(ferry_ctx *ctx, const char *name, const ferry_scored *s)
{
    const ferry_metric *m = ferry_i_metric_find(name);
    double x = 0;

    assert_non_null(m);
    assert_ok(ctx, ferry_i_metric_value(ctx, m, s, NULL, &x));
    return x;
}

/* Classes 3 and 4 are predicted but never true, 5 is neither. */
static const int32_t truth[] = {1, 2, 2, 1, 1, 0, 0, 0, 0, 1, 2, 1, 2, 2, 1,
                                2, 2, 2, 2, 1, 1, 1, 2, 0, 1, 1, 2, 0, 1, 2};
static const int32_t guess[] = {3, 4, 2, 1, 1, 0, 0, 0, 1, 4, 2, 3, 1, 1, 3,
                                4, 2, 2, 3, 3, 1, 3, 4, 2, 1, 3, 2, 0, 3, 2};

static void test_classes(void **state)
{
    const ferry_scored s = {.n = 30, .k = 6, .truth_cls = truth, .cls = guess};

    assert_close(value_of(*state, "accuracy", &s), 0.46666666666666667, 1e-15);
    assert_close(value_of(*state, "error", &s), 1 - 0.46666666666666667, 1e-15);
    assert_close(value_of(*state, "mistake-rate", &s), 1 - 0.46666666666666667, 1e-15);
    assert_close(value_of(*state, "macro-f1", &s), 0.3705263157894737, 1e-15);
    assert_close(value_of(*state, "balanced-accuracy", &s), 0.5, 1e-15);
    assert_close(value_of(*state, "nmi", &s), 0.42745122735080826, 1e-14);
}

/* By hand: classes 0 and 1 have labels, 2 has none. */
static void test_seen_and_missing(void **state)
{
    static const int32_t t[] = {0, 0, 1, 1, 2, 2, 2}, p[] = {0, 1, 1, 1, 2, 0, -1};
    static const uint8_t seen[] = {1, 1, 0}, all[] = {1, 1, 1};
    ferry_scored s = {.n = 7, .k = 3, .truth_cls = t, .cls = p, .seen = seen};
    double rows[7], x = 0;

    assert_close(value_of(*state, "seen-accuracy", &s), 0.75, 0);
    assert_close(value_of(*state, "missing-accuracy", &s), 1.0 / 3, 1e-15);
    assert_ok(*state, ferry_i_metric_value(*state, ferry_i_metric_find("missing-accuracy"),
                                           &s, rows, &x));
    for (int i = 0; i < 7; i++)
        assert_int_equal(isnan(rows[i]) != 0, t[i] < 2);
    s.seen = all; /* no class is missing: there is nothing to tell */
    assert_true(isnan(value_of(*state, "missing-accuracy", &s)));
    assert_close(value_of(*state, "seen-accuracy", &s), value_of(*state, "accuracy", &s),
                 0);
    s.seen = NULL;
    assert_true(isnan(value_of(*state, "seen-accuracy", &s)));
}

/* Class 1 of three is in neither: it does not count. */
static void test_absent_classes(void **state)
{
    static const int32_t t[] = {0, 0, 2, 2, 2, 0}, p[] = {0, 2, 2, 2, 0, 0};
    static const int32_t zero[] = {0, 0}, one[] = {1, 1}, none[] = {-1, 7};
    ferry_scored s = {.n = 6, .k = 3, .truth_cls = t, .cls = p};

    assert_close(value_of(*state, "macro-f1", &s), 0.6666666666666666, 1e-15);
    assert_close(value_of(*state, "balanced-accuracy", &s), 0.6666666666666666, 1e-15);
    assert_close(value_of(*state, "nmi", &s), 0.08170416594551037, 1e-13);
    s = (ferry_scored){.n = 2, .k = 2, .truth_cls = zero, .cls = one};
    assert_close(value_of(*state, "macro-f1", &s), 0, 0);
    assert_close(value_of(*state, "balanced-accuracy", &s), 0, 0);
    /* Predictions of no known class are wrong, nothing worse. */
    s.cls = none;
    assert_close(value_of(*state, "accuracy", &s), 0, 0);
    assert_close(value_of(*state, "macro-f1", &s), 0, 0);
}

static void test_nmi_edges(void **state)
{
    static const int32_t a[] = {0, 0, 1, 1}, b[] = {5, -3, 5, -3}, c[] = {9, 9, 9, 9};
    double x = 0;

    assert_ok(*state, ferry_i_nmi(*state, 4, a, b, &x)); /* independent */
    assert_close(x, 0, 0);
    assert_ok(*state, ferry_i_nmi(*state, 4, c, c, &x)); /* one group on both sides */
    assert_close(x, 1, 0);
    assert_ok(*state, ferry_i_nmi(*state, 4, c, b, &x));
    assert_close(x, 0, 0);
    assert_ok(*state, ferry_i_nmi(*state, 4, b, b, &x));
    assert_close(x, 1, 1e-15);
    assert_ok(*state, ferry_i_nmi(*state, 0, b, b, &x));
    assert_true(isnan(x));
}

static void test_numbers(void **state)
{
    static const double t[] = {3, -0.5, 2, 7}, v[] = {2.5, 0, 2, 8};
    const ferry_scored s = {.n = 4, .truth = t, .value = v};

    assert_close(value_of(*state, "rmse", &s), 0.61237243569579447, 1e-15);
    assert_close(value_of(*state, "mae", &s), 0.5, 1e-15);
}

/* Scores with many ties; two instances have no label and do not count in the ranking
 * metrics. scikit-learn on the others (its coverage counts from 1). */
static void test_multilabel_as_sklearn(void **state)
{
    static const uint8_t y[] = {0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
                                1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1,
                                0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0};
    static const double f[] = {1.5, 1.5, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 1.5, 1.5, 1.0,
                               1.0, 1.5, 1.0, 0.5, 0.0, 1.0, 0.0, 1.0, 0.0, 1.5, 1.5, 0.0,
                               1.5, 0.5, 0.0, 1.5, 1.5, 0.0, 1.0, 1.5, 1.5, 0.5, 1.5, 1.5,
                               0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.5, 1.0, 1.0, 0.5, 1.5, 1.0,
                               1.0, 1.5, 1.5, 0.0, 0.0, 1.5, 0.5, 0.0, 0.5, 0.5, 0.5, 0.5,
                               0.5, 0.5, 0.5, 1.5, 1.0, 1.5, 0.0, 0.5, 1.5, 0.5, 1.0, 1.5};
    uint8_t set[72];
    ferry_scored s = {.n = 12, .k = 6, .truth_set = y, .set = set, .score = f};

    for (int i = 0; i < 72; i++)
        set[i] = f[i] > 0.75;
    assert_close(value_of(*state, "ranking-loss", &s), 0.67944444444444441, 1e-15);
    assert_close(value_of(*state, "average-precision", &s), 0.40999999999999998, 1e-15);
    assert_close(value_of(*state, "coverage", &s), 4.0999999999999996, 1e-15);
    assert_close(value_of(*state, "hamming", &s), 0.51388888888888884, 1e-15);
}

static const char *const ranking[] = {"ranking-loss", "one-error", "coverage",
                                      "average-precision"};

/* The cases of golden/mmltl/metrics.json: instances x labels here. want[ties][metric]. */
typedef struct tie_case {
    int n, m;
    double score[40];
    uint8_t y[40];
    double want[3][4];
} tie_case;
static const tie_case tie_cases[] = {
    {1,
     4,
     {3, 2, 1, 0},
     {1, 0, 1, 0},
     {{0.25, 0.0, 2.0, 0.8333333333333333},
      {0.25, 0.0, 2.0, 0.8333333333333333},
      {0.25, 0.0, 2.0, 0.8333333333333333}}},
    {1,
     4,
     {1, 1, 1, 1},
     {0, 1, 0, 0},
     {{1.0, 1.0, 3.0, 0.25}, {0.5, 0.75, 1.5, 0.4}, {0.3333333333333333, 1.0, 1.0, 0.5}}},
    {1,
     4,
     {1, 1, 0, 0},
     {1, 0, 1, 0},
     {{0.75, 1.0, 3.0, 0.5},
      {0.5, 0.5, 2.5, 0.6190476190476191},
      {0.25, 0.0, 2.0, 0.8333333333333333}}},
    {1,
     4,
     {2, 2, 1, 3},
     {1, 0, 0, 0},
     {{0.6666666666666666, 1.0, 2.0, 0.3333333333333333},
      {0.5, 1.0, 1.5, 0.4},
      {0.3333333333333333, 1.0, 1.0, 0.5}}},
    {8,
     5,
     {1, 0, 2, 3, 2, 1, 0, 2, 3, 2, 3, 1, 0, 1, 3, 2, 2, 0, 2, 1,
      1, 0, 1, 1, 0, 1, 0, 3, 0, 3, 2, 1, 3, 2, 3, 3, 1, 1, 0, 3},
     {0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1,
      1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0},
     {{0.59375, 1.0, 3.0, 0.5435763888888889},
      {0.4739583333333333, 0.6458333333333334, 2.625, 0.590749007936508},
      {0.375, 0.375, 2.625, 0.7130208333333332}}},
};

static void test_tie_rules(void **state)
{
    for (int64_t c = 0; c < FERRY_COUNT(tie_cases); c++) {
        const tie_case *t = &tie_cases[c];
        for (int ties = 0; ties < 3; ties++) {
            const ferry_scored s = {.n = t->n,
                                    .k = t->m,
                                    .truth_set = t->y,
                                    .score = t->score,
                                    .ties = (ferry_ties)ties};
            for (int m = 0; m < 4; m++)
                assert_close(value_of(*state, ranking[m], &s), t->want[ties][m], 1e-15);
        }
    }
}

static void test_hamming_golden(void **state)
{
    static const uint8_t p[] = {1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0,
                                0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0},
                         y[] = {0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1,
                                1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0};
    const ferry_scored s = {.n = 8, .k = 5, .truth_set = y, .set = p};

    assert_close(value_of(*state, "hamming", &s), 0.5, 0);
}

/* The cell of row l, column i of a labels x instances matrix. */
static double cell(const json_t *matrix, size_t l, size_t i)
{
    return json_number_value(json_array_get(json_array_get(matrix, l), i));
}

/* The file itself, where it is at hand: what is embedded above must not drift from it. */
static void test_golden_file(void **state)
{
    static const char *const ties[] = {"worst", "mean", "index"}, *const keys[] = {
                                                                      "RankingLoss",
                                                                      "OneError",
                                                                      "Coverage",
                                                                      "AvgPrec"};
    json_t *all = golden("mmltl/metrics.json"), *one;
    size_t at, ranked = 0;

    if (!all) skip();
    json_array_foreach(all, at, one)
    {
        const json_t *scores = json_object_get(one, "S"), *y = json_object_get(one, "Y");
        const size_t m = json_array_size(y), n = json_array_size(json_array_get(y, 0));
        double f[64];
        uint8_t on[64];
        ferry_scored s = {.n = (int64_t)n, .k = (int64_t)m, .truth_set = on, .score = f};
        if (!scores) continue;
        assert_true(m * n <= 64);
        for (size_t i = 0; i < n * m; i++) {
            f[i] = cell(scores, i % m, i / m);
            on[i] = cell(y, i % m, i / m) > 0;
        }
        for (int t = 0; t < 3; t++)
            for (int k = 0; k < 4; k++) {
                s.ties = (ferry_ties)t;
                const json_t *want =
                    json_object_get(json_object_get(one, ties[t]), keys[k]);
                assert_close(value_of(*state, ranking[k], &s), json_number_value(want),
                             1e-15);
            }
        ranked++;
    }
    assert_int_equal(ranked, FERRY_COUNT(tie_cases));
    json_decref(all);
}

/* With nothing that counts, every metric is NaN: no instances, or only such as have no
 * label or all labels. */
static void test_undefined(void **state)
{
    static const double f[] = {1, 2, 3, 4};
    static const uint8_t y[] = {0, 0, 1, 1};
    const ferry_scored empty = {.k = 2},
                       flat = {.n = 2, .k = 2, .truth_set = y, .score = f};

    for (int64_t i = 0; ferry_i_metric_at(i); i++) {
        double x = 0;
        assert_ok(*state,
                  ferry_i_metric_value(*state, ferry_i_metric_at(i), &empty, NULL, &x));
        assert_true(isnan(x));
    }
    for (int i = 0; i < 4; i++)
        assert_true(isnan(value_of(*state, ranking[i], &flat)));
}

/* A score that is no number ranks last instead of breaking the ranks. */
static void test_nan_scores(void **state)
{
    static const double f[] = {NAN, 1, 0};
    static const uint8_t y[] = {1, 0, 0};
    const ferry_scored s = {.n = 1, .k = 3, .truth_set = y, .score = f};

    assert_close(value_of(*state, "ranking-loss", &s), 1, 0);
    assert_close(value_of(*state, "average-precision", &s), 1 / 3., 1e-15);
    assert_close(value_of(*state, "one-error", &s), 1, 0);
}

/* ---- as scikit-learn and scipy say (tests/golden/metrics.py makes the file) ---- */

static int32_t *golden_ints(const json_t *one, const char *key)
{
    int64_t n = 0;
    double *x = golden_array(one, key, &n, NULL);
    int32_t *to = calloc((size_t)n + 1, sizeof *to);

    for (int64_t i = 0; i < n; i++)
        to[i] = (int32_t)x[i];
    free(x);
    return to;
}

static uint8_t *golden_sets(const json_t *one, const char *key, int64_t *n)
{
    int64_t k = 0;
    double *x = golden_array(one, key, n, &k);
    uint8_t *to = calloc((size_t)(*n * k) + 1, 1);

    for (int64_t i = 0; i < *n * k; i++)
        to[i] = x[i] > 0;
    free(x);
    return to;
}

/* Every metric of a case; a mean over rows must also be the mean of its rows. */
static void compare(ferry_ctx *ctx, const json_t *one, const ferry_scored *s)
{
    const char *name;
    json_t *want;
    double *rows = calloc((size_t)s->n, sizeof *rows), x = 0;

    json_object_foreach(golden_at(one, "want"), name, want)
    {
        const ferry_metric *m = ferry_i_metric_find(name);
        assert_non_null(m);
        assert_ok(ctx, ferry_i_metric_value(ctx, m, s, rows, &x));
        if (json_is_null(want) != isnan(x)) fail_msg("%s is %g", name, x);
        if (!isnan(x)) assert_close(x, json_number_value(want), 1e-12);
        if (m->info.mean_of_rows && !isnan(x)) assert_close(ferry_i_mean(s->n, rows), x, 0);
        if (!m->info.mean_of_rows) assert_true(isnan(rows[0]));
    }
    free(rows);
}

static void test_sklearn(void **state)
{
    json_t *all = own_golden("metrics.json"), *one;
    size_t at;

    assert_non_null(all);
    json_array_foreach(all, at, one)
    {
        const char *kind = json_string_value(golden_at(one, "kind"));
        const bool classes = strcmp(kind, "classes") == 0, sets = strcmp(kind, "sets") == 0,
                   ratings = strcmp(kind, "ratings") == 0;
        int64_t n = 0;
        double *t = golden_array(one, "truth", &n, NULL), *score = NULL, *v = NULL;
        int32_t *a = NULL, *b = NULL;
        uint8_t *y = NULL, *set = NULL;
        ferry_scored s = {.n = n};
        if (classes) {
            s.truth_cls = a = golden_ints(one, "truth");
            s.cls = b = golden_ints(one, "guess");
            s.score = score = golden_array(one, "score", NULL, NULL);
        } else if (sets) {
            s.truth_set = y = golden_sets(one, "truth", &n);
            s.set = set = golden_sets(one, "guess", &n);
        } else {
            s.truth = t;
            s.value = v = golden_array(one, "value", NULL, NULL);
        }
        if (ratings) s.user = a = golden_ints(one, "user");
        if (classes || sets) s.k = (int64_t)golden_real(one, "k");
        compare(*state, one, &s);
        free(t), free(score), free(v), free(a), free(b), free(y), free(set);
    }
    assert_true(at >= 13);
    json_decref(all);
}

/* What scikit-learn refuses: a class that is never true does not count in auc; one that the method
 * does not know has no probability; without scores, or with ratings below 0, there is no answer. */
static void test_beyond_sklearn(void **state)
{
    static const int32_t t[] = {0, 1, 0, 1}, user[] = {0, 0, 0, 0};
    static const double f[] = {.7, .3, -INFINITY, .4, .6, -INFINITY,
                               .5, .5, -INFINITY, 0,  1,  -INFINITY};
    static const double zero[12] = {0}, r[] = {-1, 2, 3, 4}, v[] = {1, 2, 3, NAN};
    ferry_scored s = {.n = 4, .k = 3, .truth_cls = t, .score = f};

    assert_close(value_of(*state, "auc", &s), 1, 1e-15);
    assert_close(value_of(*state, "log-loss", &s), -log(.7 * .6 * .5) / 4, 1e-14);
    s.score = zero;
    assert_true(isnan(value_of(*state, "auc", &s)));
    assert_true(isnan(value_of(*state, "brier", &s)));
    s = (ferry_scored){.n = 4, .user = user, .truth = r, .value = f};
    assert_true(isnan(value_of(*state, "ndcg@5", &s)));
    s.value = v;
    assert_true(isnan(value_of(*state, "recall@5", &s)));
    assert_true(isnan(value_of(*state, "mae", &s)));
    assert_true(isnan(value_of(*state, "spearman", &s)));
}

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(ferry_i_metric_count(), 30);
    for (int64_t i = 0; ferry_i_metric_info_at(i); i++) {
        const ferry_metric_info *m = ferry_i_metric_info_at(i);
        assert_ptr_equal(ferry_i_metric_find(m->name), ferry_i_metric_at(i));
        assert_true(strlen(m->help) > 10);
        assert_true(m->goals != 0);
    }
    assert_null(ferry_i_metric_info_at(-1));
    assert_null(ferry_i_metric_info_at(ferry_i_metric_count()));
    assert_null(ferry_i_metric_find("acuracy"));
    for (unsigned goal = FERRY_CLASSIFY; goal <= FERRY_STREAM; goal *= 2)
        for (int64_t i = 0; ferry_i_metric_usual((ferry_goal)goal, i); i++)
            assert_true(ferry_i_metric_usual((ferry_goal)goal, i)->info.goals & goal);
    assert_string_equal(ferry_i_metric_usual(FERRY_CLASSIFY, 0)->info.name, "accuracy");
    assert_string_equal(ferry_i_metric_usual(FERRY_MULTILABEL, 4)->info.name, "hamming");
    assert_null(ferry_i_metric_usual(FERRY_MULTILABEL, 5));
    assert_null(ferry_i_metric_usual(FERRY_MULTILABEL, 6));
    assert_string_equal(ferry_i_metric_usual(FERRY_EMBED, 0)->info.name, "nmi");
    assert_null(ferry_i_metric_usual(FERRY_EMBED, 1));
}

static ferry_status all_class_metrics(ferry_ctx *ctx, void *arg)
{
    static const char *const names[] = {
        "macro-f1", "balanced-accuracy", "nmi", "accuracy", "ari", "auc"};
    static const double score[180] = {1};
    const ferry_scored s = {
        .n = 30, .k = 6, .truth_cls = truth, .cls = guess, .score = score};
    ferry_status st = FERRY_OK;
    double x;

    (void)arg;
    for (int i = 0; i < FERRY_COUNT(names) && st == FERRY_OK; i++)
        st = ferry_i_metric_value(ctx, ferry_i_metric_find(names[i]), &s, NULL, &x);
    return st;
}

static void test_memory(void **state)
{
    each_allocation_fails(*state, all_class_metrics, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_classes),
        TEST(test_seen_and_missing),
        TEST(test_absent_classes),
        TEST(test_nmi_edges),
        TEST(test_numbers),
        TEST(test_tie_rules),
        TEST(test_multilabel_as_sklearn),
        TEST(test_undefined),
        TEST(test_hamming_golden),
        TEST(test_nan_scores),
        TEST(test_golden_file),
        TEST(test_sklearn),
        TEST(test_beyond_sklearn),
        TEST(test_table),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
