/* The answer: the policies see visible labels alone, T sees no source, and what is fitted is a model like any other. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "ferry_test.h"
#include "methods/method.h"
#include "model/blend.h"
#include "run/answer.h"
#include "small_task.h"

enum { N = 80, D = 4, SEEN = 24 };

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

static ferry_task *task_of(ferry_ctx *ctx, const char *labelled, const uint8_t *turned)
{
    static const char *const methods[] = {"majority", "svm", "cdspp", "knn", "logreg"};
    ferry_domain *target = domain(ctx, "here", FERRY_TARGET, 5, turned);
    ferry_opts *opts = opts_of(ctx, "repeats=2", "controls=none", NULL);
    ferry_task *task = NULL;

    if (strcmp(labelled, "ids") ==
        0) { /* drawn by class they would depend on hidden ones */
        char text[N * 16] = "", how[4200];
        for (int i = 0; i < SEEN; i++)
            (void)snprintf(text + strlen(text), 16, "%s\n",
                           ferry_i_domain_id_at(target, i));
        (void)snprintf(how, sizeof how, "ids:%s", tmp_file("ids", text, -1));
        assert_ok(ctx, ferry_domain_set_labelled(ctx, target, how));
    } else
        assert_ok(ctx, ferry_domain_set_labelled(ctx, target, labelled));
    assert_ok(ctx, ferry_task_new(ctx, "asked", FERRY_CLASSIFY, &task));
    assert_ok(
        ctx, ferry_task_add_domain(ctx, task, domain(ctx, "there", FERRY_SOURCE, 6, NULL)));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, target));
    for (int i = 0; i < 5; i++)
        assert_ok(ctx, ferry_task_add_method(ctx, task, methods[i], NULL, NULL));
    assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts));
    ferry_opts_free(opts);
    return task;
}

static void same_members(int64_t n, const ferry_blend_member *a, int64_t m,
                         const ferry_blend_member *b)
{
    assert_int_equal(n, m);
    for (int64_t i = 0; i < n; i++) {
        assert_string_equal(a[i].name, b[i].name);
        assert_close(a[i].weight, b[i].weight, 0);
    }
}

/* Turn every hidden label: the score changes, what is used does not. */
static void test_hidden_labels_do_not_matter(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "ids", NULL), *other = NULL;
    ferry_results *a = NULL, *b = NULL;
    uint8_t turned[N] = {0};

    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &a));
    memcpy(turned, a->scored[0], N);
    other = task_of(ctx, "ids", turned);
    assert_ok(ctx, ferry_evaluate(ctx, other, NULL, &b));
    assert_memory_equal(a->scored[0], b->scored[0], N);
    const ferry_recommendation *x = ferry_results_answer(a), *y = ferry_results_answer(b);
    assert_true(x->value > 0.7 && y->value < 0.3);
    same_members(x->members, x->member, y->members, y->member);
    same_members(x->without, x->member_without, y->without, y->member_without);
    for (int64_t i = 0; i < 2 * a->n; i++)
        assert_true(isnan(a->policy->validated[i])
                        ? isnan(b->policy->validated[i])
                        : a->policy->validated[i] == b->policy->validated[i]);
    ferry_results_free(a);
    ferry_results_free(b);
    ferry_task_free(task);
    ferry_task_free(other);
}

/* Weights add up, numbers are in order, and T sees no source. */
static void test_members(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "per_class:8", NULL);
    ferry_results *rs = NULL;
    double sum = 0, without = 0;

    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &rs));
    const ferry_recommendation *a = ferry_results_answer(rs);
    for (int64_t i = 0; i < a->members; i++)
        sum += a->member[i].weight;
    for (int64_t i = 0; i < a->without; i++) {
        without += a->member_without[i].weight;
        assert_int_equal(a->member_without[i].uses, FERRY_USES_TARGET_ONLY);
    }
    assert_close(sum, 1, 1e-12);
    assert_close(without, 1, 1e-12);
    assert_true(a->low <= a->value && a->value <= a->high);
    assert_true(a->worth_low <= a->worth && a->worth <= a->worth_high);
    assert_close(a->worth, a->value - a->value_without, 1e-12);
    assert_close(a->level, .95, 0);
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* What every registered method is: pooled, source-only and transfer ones are never target-only. */
static void test_uses(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *both = opts_of(ctx, "train=both", NULL);
    ferry_opts *source = opts_of(ctx, "train=source", NULL);

    for (int64_t i = 0; i < ferry_i_method_count(); i++) {
        const ferry_method *m = ferry_i_method_at(i);
        const ferry_entry e = {.how = m,
                               .pub = {.uses = ferry_i_uses(m, m->kind, NULL, true)}};
        assert_int_equal(e.pub.uses, m->kind == FERRY_KIND_BASELINE ? FERRY_USES_TARGET_ONLY
                                     : m->kind == FERRY_KIND_TRANSFER ? FERRY_USES_TRANSFER
                                                                      : FERRY_USES_CONTROL);
        /* what is recommended is kept as a model, and a user's own program cannot be */
        assert_int_equal(validate_may(&e),
                         m->kind != FERRY_KIND_CONTROL && strcmp(m->name, "command") != 0);
        assert_int_equal(policy_sees_source(validate_family(&e)),
                         m->kind == FERRY_KIND_TRANSFER);
        if (!m->pools) continue;
        assert_int_equal(ferry_i_uses(m, m->kind, both, true), FERRY_USES_POOLED);
        assert_int_equal(ferry_i_uses(m, m->kind, source, true), FERRY_USES_SOURCE_ONLY);
        assert_int_equal(ferry_i_uses(m, m->kind, NULL, false), FERRY_USES_SOURCE_ONLY);
    }
    ferry_opts_free(both);
    ferry_opts_free(source);
}

static void same_predictions(const ferry_prediction *a, const ferry_prediction *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->cls, b->cls, (size_t)a->n * sizeof *a->cls);
    for (int64_t i = 0; i < a->n * a->k; i++)
        assert_close(a->score[i], b->score[i], 0);
}

/* All labels visible: a number with its interval, and a blend that predicts, saves and loads, with its evidence. */
static void test_fit(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "1.0", NULL);
    const ferry_domain *target = ferry_i_task_role(task, FERRY_TARGET, 0);
    ferry_model *model = NULL, *again = NULL, *one = NULL;
    ferry_prediction *p = NULL, *q = NULL;
    ferry_results *rs = NULL;
    int64_t right = 0;

    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &rs));
    const ferry_recommendation *a = ferry_results_answer(rs);
    assert_true(a->validated && a->calibrated && !a->runs);
    assert_true(a->low > .5 && a->low < a->value && a->value < a->high && a->high < 1);
    assert_ok(ctx, ferry_fit_answer(ctx, task, 0, &model));
    assert_string_equal(model->method->name, a->members > 1 ? "blend" : "svm");
    assert_true(a->members > 1);
    assert_non_null(strstr(model->diagnostics, a->use));
    const char *candidates = strstr(model->diagnostics, "\"candidates\"");
    assert_true(candidates && strstr(candidates, a->member[0].name));
    assert_ok(ctx, ferry_predict(ctx, model, target, &p));
    for (int64_t i = 0; i < N; i++) {
        double sum = 0;
        for (int64_t c = 0; c < p->k; c++)
            sum += p->score[i * p->k + c];
        assert_close(sum, 1, 1e-12);
        right += p->cls[i] == rs->truth->cls[i];
    }
    assert_true(right > 60);
    assert_ok(ctx, ferry_model_save(ctx, model, tmp_path("blend.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("blend.ferry"), NULL, &again));
    assert_string_equal(model->diagnostics, again->diagnostics);
    assert_ok(ctx, ferry_predict(ctx, again, target, &q));
    same_predictions(p, q);
    assert_ok(ctx, ferry_fit_answer(ctx, task, 1, &one));
    assert_string_not_equal(one->method->name, "blend");
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_model_free(model);
    ferry_model_free(again);
    ferry_model_free(one);
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* Probabilities stay; other scores become some; who has no answer has no say. */
static void test_blend(void **state)
{
    ferry_ctx *ctx = *state;
    char *names[] = {"a", "b"}, *turned[] = {"b", "a"};
    int32_t first[] = {0, -1}, second[] = {0, 1}, cls[2];
    double sure[] = {.9, .1, NAN, NAN}, scores[] = {3, 1, -1, 1}, out[4] = {0};
    ferry_prediction a = {.goal = FERRY_CLASSIFY,
                          .n = 2,
                          .k = 2,
                          .cls = first,
                          .score = sure,
                          .names = names};
    ferry_prediction b = {.goal = FERRY_CLASSIFY,
                          .n = 2,
                          .k = 2,
                          .cls = second,
                          .score = scores,
                          .names = turned};
    ferry_prediction to = {
        .goal = FERRY_CLASSIFY, .n = 2, .k = 2, .cls = cls, .score = out, .names = names};

    assert_close(ferry_i_blend_scale(1, 2, sure), 0, 0);
    assert_close(ferry_i_blend_scale(2, 2, scores), 1, 1e-15);
    const ferry_blended parts[] = {{&a, .75, 0}, {&b, .25, 1}};
    assert_ok(ctx, ferry_i_blend(ctx, 2, parts, &to));
    const double soft = 1 / (1 + exp(-4)); /* softmax(2 z), z = +-1 */
    assert_close(out[0], .999 * (.75 * .9 + .25 * (1 - soft)) + .0005, 1e-12);
    assert_close(out[2], .999 * soft + .0005, 1e-12); /* of b alone, whose class 1 is a */
    assert_int_equal(cls[0], 0);
    assert_int_equal(cls[1], 0);
}

/* Of sets: one member's blend names and ranks labels as that does; without a scale it is votes alone. */
static void test_blend_of_sets(void **state)
{
    ferry_ctx *ctx = *state;
    char *names[] = {"a", "b", "c"};
    double scores[] = {.9, .6, .1, -3, 5, -2}, out[6] = {0};
    uint8_t on[] = {1, 1, 0, 0, 1, 0}, set[6] = {0};
    ferry_prediction p = {.goal = FERRY_MULTILABEL,
                          .n = 2,
                          .k = 3,
                          .set = on,
                          .score = scores,
                          .names = names};
    ferry_prediction to = {
        .goal = FERRY_MULTILABEL, .n = 2, .k = 3, .set = set, .score = out, .names = names};

    assert_ok(ctx, ferry_i_blend(ctx, 1, &(ferry_blended){&p, 1, 2}, &to));
    assert_memory_equal(set, on, sizeof on);
    assert_true(out[0] > out[1] && out[1] > .5 && .5 > out[2] && out[2] > 0);
    assert_true(out[4] > .5 && .5 > out[5] && out[5] > out[3]);
    memset(out, 0, sizeof out);
    assert_ok(ctx, ferry_i_blend(ctx, 1, &(ferry_blended){&p, 1, 0}, &to));
    for (int i = 0; i < 6; i++)
        assert_close(out[i], on[i], 0);
}

/* A file that says nonsense about its members is refused. */
static void test_bad_file(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "1.0", NULL);
    ferry_model *model = NULL, *again = NULL;
    ferry_dict *dict = NULL;
    const double weights[] = {-1};
    const int64_t members = 1;

    assert_ok(ctx, ferry_fit_answer(ctx, task, 1, &model));
    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_dict_put_text(ctx, dict, "ferry.method", "blend"));
    assert_ok(ctx, ferry_i_dict_put_text(ctx, dict, "ferry.goal", "regress"));
    assert_ok(ctx, ferry_i_dict_put_text(ctx, dict, "ferry.diagnostics", "{}"));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "ferry.columns", 0, &members));
    ferry_ids *none = ferry_i_ids_new();
    assert_ok(ctx, ferry_i_dict_put_ids(ctx, dict, "ferry.views", none));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "members", 1, &members));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "weights", 1, 1, weights));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "scales", 1, 1, weights));
    assert_int_equal(ferry_i_model_unpack(ctx, "file", dict, NULL, &again), FERRY_EDATA);
    assert_non_null(strstr(ferry_message(ctx), "weighs -1"));
    ferry_i_ids_free(none);
    ferry_i_dict_free(dict);
    ferry_model_free(model);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hidden_labels_do_not_matter),
        TEST(test_members),
        TEST(test_uses),
        TEST(test_fit),
        TEST(test_blend),
        TEST(test_blend_of_sets),
        TEST(test_bad_file),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
