/* The baselines, end to end: fit on a task, predict for a domain. */
#include <stdio.h>

#include "model/model.h"
#include "small_task.h"
#include "task/task.h"

static const ferry_domain *target_of(const ferry_task *task)
{
    return ferry_task_domain_at(task, task->n_domains - 1);
}

static ferry_prediction *run(ferry_ctx *ctx, const ferry_task *task, const char *method,
                             const char *settings)
{
    return fit_predict(ctx, task, method, settings, target_of(task));
}

/* The predicted classes as letters. */
static const char *letters(const ferry_prediction *p)
{
    static char text[64];

    for (int64_t i = 0; i < p->n; i++)
        text[i] = p->names[p->cls[i]][0];
    text[p->n] = 0;
    return text;
}

static void expect(ferry_ctx *ctx, const ferry_task *task, const char *method,
                   const char *settings, const char *want)
{
    ferry_prediction *p = run(ctx, task, method, settings);

    assert_string_equal(letters(p), want);
    ferry_prediction_free(p);
}

static void expect_unfit(ferry_ctx *ctx, const ferry_task *task, const char *method,
                         const char *settings, const char *sentence)
{
    ferry_opts *opts = settings_of(ctx, settings);
    ferry_model *m = NULL;

    assert_fails(ctx, ferry_fit(ctx, task, method, opts, &m, NULL), FERRY_ENEEDS, sentence);
    assert_null(m);
    assert_fails(ctx, method_fits(ctx, method, task, opts), FERRY_ENEEDS, sentence);
    ferry_opts_free(opts);
}

static const char *const learners[] = {"svm", "logreg", "ridge", "knn"};

/* The values decide how they are scaled (learn/scale.h has the rule), not how they are
 * stored; the diagnostics tell. */
static void test_auto_scale(void **state)
{
    ferry_ctx *ctx = *state;
    double words[4 * 40] = {0}, table[20];

    for (int64_t e = 0; e < 12; e++)
        words[e * 13] = (double)(1 + e % 3);
    for (int64_t e = 0; e < 20; e++)
        table[e] = (double)(e * e % 7) - 2;
    for (int c = 0; c < 2; c++) {
        for (int sparse = 0; sparse < 2; sparse++) {
            ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
            small_view(ctx, t, "x", 4, c ? 5 : 40, c ? table : words, NULL, NULL, sparse);
            small_classes(ctx, t, "abab");
            ferry_task *task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
            ferry_model *m = fit_model(ctx, task, "svm", "");
            assert_non_null(strstr(m->diagnostics,
                                   c ? "\"scale\":\"standard\"" : "\"scale\":\"words\""));
            ferry_model_free(m);
            ferry_task_free(task);
        }
    }
}

/* ---- majority and mean ---- */

static void test_majority(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;
    ferry_prediction *p = NULL;

    small_classes(ctx, s, "aaaacb");
    small_classes(ctx, t, "bb?ac");
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    p = run(ctx, task, "majority", "");
    assert_string_equal(letters(p), "bbbbb");
    assert_close(p->score[0], 0.25, 0);
    assert_close(p->score[1], 0.5, 0);
    assert_close(p->score[2], 0.25, 0);
    ferry_prediction_free(p);
    expect(ctx, task, "majority", "train=source", "aaaaa");
    expect(ctx, task, "majority", "train=target", "bbbbb");
    expect(ctx, task, "majority", "train=both", "aaaaa"); /* 5 a, 3 b, 2 c */
    ferry_task_free(task);
}

static void test_majority_auto_uses_the_source(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 2, 1, (const double[]){1, 2});
    ferry_task *task = NULL;
    ferry_model *m = NULL;

    small_classes(ctx, s, "ab"); /* a tie goes to the first name */
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    expect(ctx, task, "majority", "", "aa");
    m = fit_model(ctx, task, "majority", "");
    assert_non_null(strstr(m->diagnostics, "\"train\":\"source\""));
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_majority_labels(void **state)
{
    ferry_ctx *ctx = *state;
    const char *names[] = {"x", "y", "z"};
    const uint8_t on[] = {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1}; /* 2, 0, 3 of 4 */
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_domain_set_labelsets(ctx, t, 4, NULL, 3, names, on));
    task = small_task(ctx, FERRY_MULTILABEL, NULL, t);
    p = run(ctx, task, "majority", "");
    for (int64_t i = 0; i < 4; i++) {
        assert_close(p->score[3 * i], 0.5, 0);
        assert_close(p->score[3 * i + 1], 0, 0);
        assert_close(p->score[3 * i + 2], 0.75, 0);
        assert_int_equal(p->set[3 * i], 0); /* not above one half */
        assert_int_equal(p->set[3 * i + 1], 0);
        assert_int_equal(p->set[3 * i + 2], 1);
    }
    ferry_prediction_free(p);
    ferry_task_free(task);
}

static void test_mean(void **state)
{
    ferry_ctx *ctx = *state;
    const double s_y[] = {10, 20}, t_y[] = {1, NAN, 3};
    ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    const struct {
        const char *settings;
        double want;
    } cases[] = {{"", 2}, {"train=source", 15}, {"train=target", 2}, {"train=both", 8.5}};
    ferry_task *task = NULL;

    assert_ok(ctx, ferry_domain_set_numbers(ctx, s, 2, NULL, s_y));
    assert_ok(ctx, ferry_domain_set_numbers(ctx, t, 3, NULL, t_y));
    task = small_task(ctx, FERRY_REGRESS, s, t);
    for (int64_t c = 0; c < 4; c++) {
        ferry_prediction *p = run(ctx, task, "mean", cases[c].settings);
        for (int64_t i = 0; i < 3; i++)
            assert_close(p->value[i], cases[c].want, 0);
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

static void test_numbers_too_large(void **state)
{
    ferry_ctx *ctx = *state;
    const double y[] = {1.7e308, 1.7e308};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;
    ferry_model *m = NULL;

    assert_ok(ctx, ferry_domain_set_numbers(ctx, t, 2, NULL, y));
    task = small_task(ctx, FERRY_REGRESS, NULL, t);
    assert_fails(ctx, ferry_fit(ctx, task, "mean", NULL, &m, NULL), FERRY_ENUMERIC,
                 "the numbers to predict are too large to add up");
    assert_null(m);
    ferry_task_free(task);
}

/* Instances with weights are instances that are there so many times; what knows no weights refuses them. */
static void test_weights(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {-2, -1, 1, 2, 3, -3}, y[] = {1, 4, 2, 8, 5, 7},
                 w[] = {1, 0, 2, 0, 1, 3};
    const double x2[] = {-2, 1, 1, 3, -3, -3, -3}, y2[] = {1, 2, 2, 5, 7, 7, 7};
    ferry_domain *once = small_domain(ctx, "t", FERRY_TARGET, 6, 1, x);
    ferry_domain *all = small_domain(ctx, "t", FERRY_TARGET, 7, 1, x2);
    ferry_task *task = NULL, *twice = NULL;
    ferry_model *m = NULL;

    assert_ok(ctx, ferry_domain_set_numbers(ctx, once, 6, NULL, y));
    assert_ok(ctx, ferry_domain_set_weights(ctx, once, 6, NULL, w));
    assert_ok(ctx, ferry_domain_set_numbers(ctx, all, 7, NULL, y2));
    task = small_task(ctx, FERRY_REGRESS, NULL, once);
    twice = small_task(ctx, FERRY_REGRESS, NULL, all);
    const int64_t at[] = {0, 2, 4, 5}, in[] = {0, 1, 3, 4};
    for (int scaled = 0; scaled < 2; scaled++) {
        const char *settings = scaled ? "lambda=1" : "lambda=1 scale=none";
        ferry_prediction *p = run(ctx, task, "ridge", settings),
                         *q = run(ctx, twice, "ridge", settings);
        for (int i = 0; i < 4; i++)
            assert_close(p->value[at[i]], q->value[in[i]], 1e-10);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
    }
    assert_fails(ctx, ferry_fit(ctx, task, "mean", NULL, &m, NULL), FERRY_ENEEDS,
                 "mean takes no weights of instances; target 't' has some");
    assert_null(m);
    ferry_task_free(task);
    ferry_task_free(twice);
}

/* ---- where the labels come from ---- */

/* In the source large x is a, in the target large x is b. */
static ferry_task *opposed(ferry_ctx *ctx)
{
    const double x[] = {-2, -1, 1, 2, 3, -3};
    ferry_domain *s = small_domain(ctx, "text", FERRY_SOURCE, 6, 1, x);
    ferry_domain *t = small_domain(ctx, "images", FERRY_TARGET, 6, 1, x);

    small_classes(ctx, s, "bbaaab");
    small_classes(ctx, t, "a??b??");
    return small_task(ctx, FERRY_CLASSIFY, s, t);
}

static void test_train_choices(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = opposed(ctx);

    for (int64_t m = 0; m < FERRY_COUNT(learners); m++) {
        const char *k = strcmp(learners[m], "knn") == 0 ? "k=1" : "";
        char with[64];
        expect(ctx, task, learners[m], k, "aabbba");
        (void)snprintf(with, sizeof with, "%s train=source", k);
        expect(ctx, task, learners[m], with, "bbaaab");
        (void)snprintf(with, sizeof with, "%s train=target", k);
        expect(ctx, task, learners[m], with, "aabbba");
    }
    expect(ctx, task, "svm", "train=both", "bbaaab"); /* six against two */
    ferry_task_free(task);
}

static void note(void *user, ferry_level level, const char *line)
{
    char *text = user;

    if (level == FERRY_INFO) strcat(strcat(text, line), "\n");
}

static void test_says_what_it_used(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = opposed(ctx);
    ferry_model *m = NULL;
    char text[1024] = "";

    ferry_ctx_set_log(ctx, note, FERRY_INFO, text);
    m = fit_model(ctx, task, "svm", "C=3 train=both");
    assert_non_null(strstr(text, "svm: train=both, 8 labelled instances"));
    assert_non_null(strstr(m->diagnostics, "\"train\":\"both\""));
    assert_non_null(strstr(m->diagnostics, "\"instances\":8"));
    assert_non_null(strstr(m->diagnostics, "\"features\":1"));
    assert_non_null(strstr(m->diagnostics, "\"scale\":\"standard\""));
    assert_non_null(strstr(m->diagnostics, "\"C\":3"));
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_what_is_missing(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {1, 2, 3, 4};
    ferry_domain *s = small_domain(ctx, "text", FERRY_SOURCE, 4, 1, x);
    ferry_domain *t = small_domain(ctx, "images", FERRY_TARGET, 2, 2, x);
    ferry_task *task = NULL;

    small_classes(ctx, s, "abab");
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    expect_unfit(
        ctx, task, "svm", "train=source",
        "svm needs features that source 'text' (1) and target 'images' (2) share; text.x "
        "and images.x have one name, but 1 and 2 features without names");
    expect_unfit(ctx, task, "knn", "", "knn needs features that source 'text' (1)");
    expect_unfit(ctx, task, "ridge", "train=target",
                 "ridge train=target needs labels of target 'images' that may be seen");
    expect_unfit(ctx, task, "mean", "", "does not serve the goal classify");
    expect(ctx, task, "majority", "", "aa"); /* needs no features */
    ferry_task_free(task);

    t = small_domain(ctx, "images", FERRY_TARGET, 2, 2, x);
    small_classes(ctx, t, "ab");
    s = small_domain(ctx, "text", FERRY_SOURCE, 2, 2, x);
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    expect_unfit(ctx, task, "logreg", "train=both",
                 "logreg train=both needs a source with labels");
    expect_unfit(ctx, task, "majority", "train=source",
                 "majority train=source needs a source with labels");
    ferry_task_free(task);

    t = small_domain(ctx, "images", FERRY_TARGET, 0, 0, NULL);
    small_classes(ctx, t, "ab");
    task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
    expect_unfit(ctx, task, "svm", "", "svm needs a view");
    ferry_task_free(task);
}

/* The only labelled instance has no row in the view. */
static void test_labels_without_features(void **state)
{
    ferry_ctx *ctx = *state;
    const char *ids[] = {"p", "q"}, *other[] = {"r"}, *labels[] = {"a"};
    const double x[] = {1, 2};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;
    ferry_model *m = NULL;

    assert_ok(ctx, ferry_domain_set_classes(ctx, t, 1, other, labels));
    small_view(ctx, t, "x", 2, 1, x, ids, NULL, false);
    task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
    assert_fails(ctx, ferry_fit(ctx, task, "svm", NULL, &m, NULL), FERRY_ENEEDS,
                 "svm needs labelled instances with features; train=target has none");
    ferry_task_free(task);
}

/* ---- how features line up ---- */

/* The source has (noise, key), the target (key, other, noise): by name, not by place. */
static void test_features_by_name(void **state)
{
    ferry_ctx *ctx = *state;
    const char *s_names[] = {"noise", "key", "gone"},
               *t_names[] = {"key", "other", "noise"};
    const double s_x[] = {1, -1, 9, -1, -2, 9, 1, 1, 9, -1, 2, 9};
    const double t_x[] = {2, 5, -1, -2, 5, 1, 1, 5, 1};

    for (int sparse = 0; sparse < 4; sparse++) {
        ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
        ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
        ferry_task *task = NULL;
        small_view(ctx, s, "x", 4, 3, s_x, NULL, s_names, sparse & 1);
        small_view(ctx, t, "x", 3, 3, t_x, NULL, t_names, sparse & 2);
        small_classes(ctx, s, "aabb");
        small_classes(ctx, t, "b??");
        task = small_task(ctx, FERRY_CLASSIFY, s, t);
        for (int64_t m = 0; m < FERRY_COUNT(learners); m++) {
            expect(ctx, task, learners[m], m == 3 ? "train=source k=1" : "train=source",
                   "bab");
            expect(ctx, task, learners[m], m == 3 ? "train=both k=1" : "train=both", "bab");
        }
        ferry_task_free(task);
    }
}

/* Two sources: one has the target's features, one does not and is left out. */
static void test_source_left_out(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {-1, 1, -2, 2};
    ferry_domain *near = small_domain(ctx, "near", FERRY_SOURCE, 4, 1, x);
    ferry_domain *far = small_domain(ctx, "far", FERRY_SOURCE, 2, 2, x);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 4, 1, x);
    ferry_task *task = NULL;
    char text[1024] = "";

    small_classes(ctx, near, "abab");
    small_classes(ctx, far, "bb");
    assert_ok(ctx, ferry_task_new(ctx, "t", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, far));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, near));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, t));
    ferry_ctx_set_log(ctx, note, FERRY_INFO, text);
    expect(ctx, task, "svm", "train=source", "abab");
    assert_non_null(strstr(text, "source 'far' shares no features with target 't'"));
    assert_non_null(strstr(text, "4 labelled instances"));
    expect(ctx, task, "majority", "", "bbbb"); /* uses both: 2 a, 4 b */
    ferry_task_free(task);
}

/* Views "u" and "v" cover different instances. */
static ferry_task *two_views(ferry_ctx *ctx, bool sparse_v)
{
    const char *u[] = {"i1", "i2", "i3"}, *v[] = {"i2", "i3", "i4"};
    const char *labels[] = {"b", "a", "b", "b"};
    const char *ids[] = {"i1", "i2", "i3", "i4"};
    const double ux[] = {1, -1, 1}, vx[] = {-3, 3, 3};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);

    small_view(ctx, t, "u", 3, 1, ux, u, NULL, false);
    small_view(ctx, t, "v", 3, 1, vx, v, NULL, sparse_v);
    assert_ok(ctx, ferry_domain_set_classes(ctx, t, 4, ids, labels));
    return small_task(ctx, FERRY_CLASSIFY, NULL, t);
}

static void test_views_are_joined(void **state)
{
    ferry_ctx *ctx = *state;
    const char *ids[] = {"n1", "n2"}, *more[] = {"n2", "n3"};
    const double ux[] = {-1, 1}, vx[] = {-3, 3};
    const char *lone[] = {"n9"}, *label[] = {"b"};

    for (int sparse = 0; sparse < 2; sparse++) {
        ferry_task *task = two_views(ctx, sparse);
        ferry_domain *d = small_domain(ctx, "new", FERRY_TARGET, 0, 0, NULL);
        assert_ok(ctx, ferry_domain_set_classes(ctx, d, 1, lone, label));
        small_view(ctx, d, "v", 2, 1, vx, more, NULL, sparse);
        small_view(ctx, d, "u", 2, 1, ux, ids, NULL, false);
        for (int64_t m = 0; m < FERRY_COUNT(learners); m++) {
            ferry_prediction *p = NULL;
            expect(ctx, task, learners[m], m == 3 ? "k=1" : "", "babb");
            p = fit_predict(ctx, task, learners[m], m == 3 ? "k=1" : "", d);
            assert_int_equal(p->n, 4); /* n9 n2 n3 n1 */
            for (int64_t i = 0; i < 4; i++) {
                if (strcmp(p->ids[i], "n9") != 0) continue;
                /* In no view: the majority, with the shares as scores. */
                assert_int_equal(p->cls[i], 1);
                assert_close(p->score[2 * i], 0.25, 0);
                assert_close(p->score[2 * i + 1], 0.75, 0);
            }
            ferry_prediction_free(p);
        }
        ferry_domain_free(d);
        ferry_task_free(task);
    }
}

/* A source that has only one of the target's two views. */
static void test_view_by_name(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {-1, 1, -2, 2}, noise[] = {5, 6, 7, 8};

    for (int sparse = 0; sparse < 2; sparse++) {
        ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
        ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
        ferry_task *task = NULL;
        small_view(ctx, s, "key", 4, 1, x, NULL, NULL, sparse);
        small_view(ctx, t, "noise", 4, 1, noise, NULL, NULL, sparse);
        small_view(ctx, t, "key", 4, 1, x, NULL, NULL, false);
        small_classes(ctx, s, "abab");
        task = small_task(ctx, FERRY_CLASSIFY, s, t);
        for (int64_t m = 0; m < FERRY_COUNT(learners); m++)
            expect(ctx, task, learners[m], m == 3 ? "k=1" : "", "abab");
        ferry_task_free(task);
    }
}

/* Two sources share different features: what one lacks counts as missing. */
static void test_sources_with_different_features(void **state)
{
    ferry_ctx *ctx = *state;
    const char *p_name[] = {"p"}, *q_name[] = {"q"}, *names[] = {"p", "q"};
    const double x[] = {-1, 1, -2, 2}, t_x[] = {-1, -1, 1, 1};

    for (int sparse = 0; sparse < 2; sparse++) {
        ferry_domain *a = small_domain(ctx, "a", FERRY_SOURCE, 0, 0, NULL);
        ferry_domain *b = small_domain(ctx, "b", FERRY_SOURCE, 0, 0, NULL);
        ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
        ferry_task *task = NULL;
        small_view(ctx, a, "x", 4, 1, x, NULL, p_name, sparse);
        small_view(ctx, b, "x", 4, 1, x, NULL, q_name, sparse);
        small_view(ctx, t, "x", 2, 2, t_x, NULL, names, sparse);
        small_classes(ctx, a, "abab");
        small_classes(ctx, b, "abab");
        assert_ok(ctx, ferry_task_new(ctx, "t", FERRY_CLASSIFY, &task));
        assert_ok(ctx, ferry_task_add_domain(ctx, task, a));
        assert_ok(ctx, ferry_task_add_domain(ctx, task, b));
        assert_ok(ctx, ferry_task_add_domain(ctx, task, t));
        for (int64_t m = 0; m < FERRY_COUNT(learners); m++)
            expect(ctx, task, learners[m], "", "ab");
        ferry_task_free(task);
    }
}

/* Missing cells become column means, also in new data. */
static void test_missing_cells(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {-1, 0, NAN, -1, 1, NAN, NAN, 1};
    const double q[] = {NAN, 2, NAN, -2, NAN, NAN};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 4, 2, x);
    ferry_domain *d = small_domain(ctx, "d", FERRY_TARGET, 3, 2, q);
    ferry_task *task = NULL;

    small_classes(ctx, t, "aabb");
    task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
    for (int64_t m = 0; m < FERRY_COUNT(learners); m++) {
        ferry_prediction *p = fit_predict(ctx, task, learners[m], m == 3 ? "k=1" : "", d);
        assert_int_equal(p->cls[0], 1);
        assert_int_equal(p->cls[1], 0);
        ferry_prediction_free(p);
    }
    ferry_domain_free(d);
    ferry_task_free(task);
}

/* ---- goals ---- */

/* y = 2 x + 1 exactly. */
static void test_regress(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {0, 1, 2, 3, 4}, y[] = {1, 3, 5, 7, NAN};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 5, 1, x);
    ferry_task *task = NULL;
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_domain_set_numbers(ctx, t, 5, NULL, y));
    task = small_task(ctx, FERRY_REGRESS, NULL, t);
    p = run(ctx, task, "ridge", "lambda=1e-9 scale=none");
    assert_close(p->value[4], 9, 1e-8);
    ferry_prediction_free(p);
    p = run(ctx, task, "ridge", "lambda=5 scale=none"); /* w = 10 / (5 + 5) */
    assert_close(p->value[4], 4 + 2.5, 1e-12);
    ferry_prediction_free(p);
    p = run(ctx, task, "svm", "C=1e6 tube=0 eps=1e-10 scale=none");
    assert_close(p->value[4], 9, 1e-3);
    ferry_prediction_free(p);
    p = run(ctx, task, "knn", "k=2 scale=none");
    assert_close(p->value[4], 6, 1e-15);
    ferry_prediction_free(p);
    p = run(ctx, task, "knn", "k=2 scale=none weights=distance"); /* 1 and 1/2 */
    assert_close(p->value[4], (7 + 2.5) / 1.5, 1e-15);
    assert_close(p->value[1], 3, 0); /* at distance 0: only itself */
    ferry_prediction_free(p);
    expect_unfit(ctx, task, "logreg", "", "does not serve the goal regress");
    ferry_task_free(task);
}

/* Asked at 0. Two votes each: those of b are nearer together; of sums that are equal a's first is nearer; of all that is
 * equal b has one more example. Whatever the classes are called. */
static void test_knn_ties(void **state)
{
    static const struct {
        double x[7];
        const char *cls, *want;
    } ties[] = {{{1, 2, 3, 5, 90, 91, 0}, "abbaab?", "b"},
                {{1, 2, 3, 4, 90, 91, 0}, "abbabb?", "a"},
                {{1, -1, 2, -2, 90, 91, 0}, "ababbb?", "b"}};
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(ties); i++)
        for (int renamed = 0; renamed < 2; renamed++) {
            char cls[8], want = ties[i].want[0];
            for (int j = 0; j < 8; j++) /* "A" sorts before "a" */
                cls[j] = (char)(renamed && ties[i].cls[j] == 'b' ? 'A' : ties[i].cls[j]);
            ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 7, 1, ties[i].x);
            small_classes(ctx, t, cls);
            ferry_task *task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
            ferry_prediction *p = run(ctx, task, "knn", "k=4 scale=none");
            assert_int_equal(letters(p)[6], renamed && want == 'b' ? 'A' : want);
            assert_close(p->score[6 * 2], 0.5, 1e-15);
            ferry_prediction_free(p);
            ferry_task_free(task);
        }
}

/* Names of classes in another order change no answer. */
static void test_knn_renamed(void **state)
{
    enum { N = 130, SEEN = 60 };
    ferry_ctx *ctx = *state;
    double x[N * 2];
    char cls[2][N + 1] = {{0}};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 0);
    for (int i = 0; i < N; i++) {
        const int c = (int)ferry_i_rng_below(&rng, 3);
        x[2 * i] = c + 1.5 * ferry_i_rng_normal(&rng);
        x[2 * i + 1] = ferry_i_rng_normal(&rng);
        cls[0][i] = i < SEEN ? "abc"[c] : '?';
        cls[1][i] = i < SEEN ? "cab"[c] : '?';
    }
    for (int k = 2; k <= 8; k++) {
        char settings[32], first[N];
        (void)snprintf(settings, sizeof settings, "k=%d", k);
        for (int named = 0; named < 2; named++) {
            ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, N, 2, x);
            small_classes(ctx, t, cls[named]);
            ferry_task *task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
            ferry_prediction *p = run(ctx, task, "knn", settings);
            for (int i = 0; i < N; i++) {
                const char letter = p->names[p->cls[i]][0];
                if (named == 0)
                    first[i] = letter;
                else
                    assert_int_equal(letter, "cab"[first[i] - 'a']);
            }
            ferry_prediction_free(p);
            ferry_task_free(task);
        }
    }
}

/* Numbers far from 0: with a C that allows almost no weight, svm gives their mean, because
 * the constant term is not held small. */
static void test_svm_of_large_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {0, 1, 2, 3, 4}, y[] = {1001, 1003, 1005, 1007, NAN};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 5, 1, x);
    ferry_task *task = NULL;
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_domain_set_numbers(ctx, t, 5, NULL, y));
    task = small_task(ctx, FERRY_REGRESS, NULL, t);
    p = run(ctx, task, "svm", "C=1e-6 scale=none");
    assert_close(p->value[4], 1004, 0.1);
    ferry_prediction_free(p);
    p = run(ctx, task, "svm", "C=1e6 tube=0 eps=1e-10 scale=none");
    assert_close(p->value[4], 1009, 1e-3);
    ferry_prediction_free(p);
    ferry_task_free(task);
}

/* Label "never" is on nowhere, "always" everywhere, "large" where x > 0. */
static void test_multilabel(void **state)
{
    ferry_ctx *ctx = *state;
    const char *names[] = {"always", "large", "never"},
               *ids[] = {"1", "2", "3", "4", "bare"};
    const double x[] = {-2, -1, 1, 2, -3, 3};
    const uint8_t on[] = {1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 6, 1, x);
    ferry_task *task = NULL;

    assert_ok(ctx, ferry_domain_set_labelsets(ctx, t, 5, ids, 3, names, on));
    task = small_task(ctx, FERRY_MULTILABEL, NULL, t);
    for (int64_t m = 0; m < FERRY_COUNT(learners); m++) {
        ferry_prediction *p = run(ctx, task, learners[m], m == 3 ? "k=2" : "");
        for (int64_t i = 0; i < 6; i++) {
            assert_int_equal(p->set[3 * i], 1);
            assert_int_equal(p->set[3 * i + 1], x[i] > 0);
            assert_int_equal(p->set[3 * i + 2], 0);
            for (int64_t c = 0; c < 3; c++)
                assert_true(isfinite(p->score[3 * i + c]));
        }
        assert_int_equal(p->n, 7); /* without features: the labels of more than half */
        assert_memory_equal(p->set + 18, ((uint8_t[]){1, 0, 0}), 3);
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

/* ---- shapes that are easy to get wrong ---- */

/* The source has a class that the target does not; only target labels are used. */
static void test_class_without_instances(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {-1, 1};
    ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 2, 1, x);
    ferry_task *task = NULL;

    small_classes(ctx, s, "mmm");
    small_classes(ctx, t, "az");
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    for (int64_t m = 0; m < FERRY_COUNT(learners); m++) {
        ferry_prediction *p = run(ctx, task, learners[m], m == 3 ? "k=1" : "");
        assert_string_equal(letters(p), "az");
        assert_int_equal(p->k, 3);
        assert_true(p->score[1] < p->score[0] || p->score[1] < p->score[2]);
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

/* One class, one instance, all-zero rows. */
static void test_little_to_learn_from(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {3, 0, 0, 0, 0, 0};
    const char *labels[] = {"?q?", "q?q", "q?r"};

    for (int64_t r = 0; r < 3; r++)
        for (int sparse = 0; sparse < 2; sparse++) {
            ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
            ferry_task *task = NULL;
            small_view(ctx, t, "x", 3, 2, x, NULL, NULL, sparse);
            small_classes(ctx, t, labels[r]);
            task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
            for (int64_t m = 0; m < FERRY_COUNT(learners); m++)
                expect(ctx, task, learners[m], m == 3 ? "k=1" : "", r < 2 ? "qqq" : "qrr");
            ferry_task_free(task);
        }
}

/* Rows in another order give the same predictions, in that order. */
static void test_order_of_rows(void **state)
{
    ferry_ctx *ctx = *state;
    double x[36], turned[36];
    char y[13] = "abcabcaabbcc", turned_y[13] = "";

    for (int64_t i = 0; i < 12; i++)
        for (int64_t j = 0; j < 3; j++)
            x[3 * i + j] = sin((double)(1 + 3 * i + 7 * j));
    for (int64_t i = 0; i < 12; i++) {
        memcpy(turned + 3 * i, x + 3 * (11 - i), 3 * sizeof(double));
        turned_y[i] = y[11 - i];
    }
    for (int64_t m = 0; m < FERRY_COUNT(learners); m++) {
        ferry_domain *a = small_domain(ctx, "t", FERRY_TARGET, 12, 3, x);
        ferry_domain *b = small_domain(ctx, "t", FERRY_TARGET, 12, 3, turned);
        ferry_task *ta = NULL, *tb = NULL;
        ferry_prediction *pa = NULL, *pb = NULL;
        const char *settings = m < 2 ? "eps=1e-9" : "";
        small_classes(ctx, a, y);
        small_classes(ctx, b, turned_y);
        ta = small_task(ctx, FERRY_CLASSIFY, NULL, a);
        tb = small_task(ctx, FERRY_CLASSIFY, NULL, b);
        pa = run(ctx, ta, learners[m], settings);
        pb = run(ctx, tb, learners[m], settings);
        for (int64_t i = 0; i < 12; i++)
            for (int64_t c = 0; c < 3; c++)
                assert_close(pa->score[3 * i + c], pb->score[3 * (11 - i) + c], 1e-6);
        ferry_prediction_free(pb);
        ferry_prediction_free(pa);
        ferry_task_free(tb);
        ferry_task_free(ta);
    }
}

/* Every source instance twice: as with twice the cost (or half the lambda), once the scale,
 * which all rows decide, is left alone; the nearest neighbour and the majority do not
 * change. */
static void test_duplicated_source(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {-2, -1, 1, 2, -2, -1, 1, 2}, q[] = {-0.1, 0.4, 3};
    const struct {
        const char *method, *once, *twice;
    } cases[] = {{"svm", "scale=none C=2 eps=1e-9", "scale=none C=1 eps=1e-9"},
                 {"logreg", "scale=none C=2 eps=1e-9", "scale=none C=1 eps=1e-9"},
                 {"ridge", "scale=none lambda=1", "scale=none lambda=2"},
                 {"knn", "k=1", "k=1"},
                 {"knn", "k=2", "k=4"},
                 {"majority", "", ""}};

    for (int64_t r = 0; r < FERRY_COUNT(cases); r++) {
        ferry_prediction *p[2];
        for (int64_t n = 0; n < 2; n++) {
            ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 4 + 4 * n, 1, x);
            ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 3, 1, q);
            ferry_task *task = NULL;
            small_classes(ctx, s, n ? "aabbaabb" : "aabb");
            task = small_task(ctx, FERRY_CLASSIFY, s, t);
            p[n] = run(ctx, task, cases[r].method, n ? cases[r].twice : cases[r].once);
            ferry_task_free(task);
        }
        for (int64_t e = 0; e < 6; e++)
            assert_close(p[0]->score[e], p[1]->score[e], 1e-6);
        ferry_prediction_free(p[1]);
        ferry_prediction_free(p[0]);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_majority),
        TEST(test_auto_scale),
        TEST(test_majority_auto_uses_the_source),
        TEST(test_majority_labels),
        TEST(test_mean),
        TEST(test_numbers_too_large),
        TEST(test_weights),
        TEST(test_train_choices),
        TEST(test_says_what_it_used),
        TEST(test_what_is_missing),
        TEST(test_labels_without_features),
        TEST(test_features_by_name),
        TEST(test_source_left_out),
        TEST(test_views_are_joined),
        TEST(test_view_by_name),
        TEST(test_sources_with_different_features),
        TEST(test_missing_cells),
        TEST(test_regress),
        TEST(test_svm_of_large_numbers),
        TEST(test_multilabel),
        TEST(test_class_without_instances),
        TEST(test_little_to_learn_from),
        TEST(test_order_of_rows),
        TEST(test_knn_ties),
        TEST(test_knn_renamed),
        TEST(test_duplicated_source),
    };
    return cmocka_run_group_tests_name("baselines", tests, NULL, NULL);
}
