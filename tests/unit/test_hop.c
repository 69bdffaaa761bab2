/* hop: crossing a bridge by a chain of classifiers; the kernel regression with its gate. */
#include "journey.h"
#include "model/model.h"

#define method_hop method_under_test /* the library has one, too */
#include "methods/relatives/hop.c"

static double share_right(ferry_ctx *ctx, const journey *j, const char *settings)
{
    ferry_task *task = journey_task(ctx, j);
    ferry_model *m = fit_model(ctx, task, "hop", settings);
    const double right = journey_right(ctx, j, m);

    ferry_model_free(m);
    ferry_task_free(task);
    return right;
}

static void test_crosses(void **state)
{
    static const char *const ways[] = {"",           "targets=hard", "learner=svm",
                                       "learner=gp", "C=3",          "learner=gp gate=yes"};
    const journey three = {.domains = 3, .c = 2, .n = 60, .noise = 0.2, .seed = 1};
    const journey five = {
        .domains = 5, .c = 3, .n = 60, .noise = 0.1, .seed = 2, .seen = 6};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        assert_true(share_right(*state, &three, ways[i]) > 0.95);
        assert_true(share_right(*state, &five, ways[i]) > 0.95);
    }
}

/* A link is missing: nothing can be known, and it says so. */
static void test_no_link(void **state)
{
    ferry_ctx *ctx = *state;
    const journey gap = {.domains = 4, .c = 2, .n = 20, .seed = 3, .only = 2};
    ferry_task *task = journey_task(ctx, &gap);
    ferry_model *m = NULL;

    assert_fails(
        ctx, ferry_fit(ctx, task, "hop", NULL, &m, NULL), FERRY_ENEEDS,
        "hop needs features that lead from a source to target 'to3'; 'over1' shares "
        "none with 'to3'");
    ferry_task_free(task);
}

/* Turning the order of documents turns that of the answers; a saved model answers the
 * same. */
static void check_same(ferry_ctx *ctx, const journey *j, const char *settings)
{
    journey back = *j;
    ferry_task *task = journey_task(ctx, j), *other;
    ferry_domain *d = journey_domain(ctx, j, j->domains - 1), *e;
    ferry_model *m = fit_model(ctx, task, "hop", settings), *again = NULL;
    ferry_prediction *p = NULL, *q = NULL, *r = NULL;
    const char *path = tmp_path("hop.ferry");

    back.turned = true;
    other = journey_task(ctx, &back);
    e = journey_domain(ctx, &back, j->domains - 1);
    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    assert_ok(ctx, ferry_model_save(ctx, m, path));
    assert_ok(ctx, ferry_model_load(ctx, path, "hop", &again));
    assert_ok(ctx, ferry_predict(ctx, again, d, &q));
    r = fit_predict(ctx, other, "hop", settings, e);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = 0; k < p->k; k++) {
            assert_close(q->score[i * p->k + k], p->score[i * p->k + k], 0);
            assert_close(r->score[(p->n - 1 - i) * p->k + k], p->score[i * p->k + k], 1e-4);
        }
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_prediction_free(r);
    ferry_model_free(m);
    ferry_model_free(again);
    ferry_domain_free(d);
    ferry_domain_free(e);
    ferry_task_free(task);
    ferry_task_free(other);
}

static void test_same(void **state)
{
    const journey j = {.domains = 4, .c = 3, .n = 30, .noise = 0.3, .seed = 5};

    check_same(*state, &j, "");
    check_same(*state, &j, "learner=gp");
}

/* A kernel regression of four instances and a gate of two, worked out with NumPy. */
static void gp_body(scope *s, void *arg)
{
    double ps[] = {1, 0, 0, 1, 0.6, 0.8, 0.8, 0.6}, ls[] = {1, 0, 0, 1};
    double ts[] = {0.6, 0.8, 1, 0, 0, 1};
    double gs[] = {0.1, 0.9, 0.8, 0.2, 0.6, 0.4, 0.3, 0.7};
    const double mean[] = {-0.00698585, 0.46819092, -0.26819092};
    const double gated[] = {-0.06909142, 0.94918125, -0.65183315};
    const int64_t rows[] = {0, 1, 2, 3};
    const int32_t y[] = {1, 0};
    const domain d = {.x = to_sparse(s, matrix_of(s, (block){HERE(3), 3, 2, ts}))};
    const block out = block_new(s, HERE(3), 3, 2);
    hop_state m = {.a = 1, .rows = 4};

    (void)arg;
    m.p = to_sparse(s, matrix_of(s, (block){HERE(4), 4, 2, ps}));
    fit_bridge(s, s, (block){HERE(4), 4, 2, gs}, rows, &m);
    assert_close(m.gamma, 1 / 0.6, 1e-12);
    hop_scores(s, &m, &d, out);
    for (int i = 0; i < 3; i++) {
        assert_close(ROW(out, i)[1], mean[i], 1e-7);
        assert_close(ROW(out, i)[0], -mean[i], 1e-7);
    }
    m.l = to_sparse(s, matrix_of(s, (block){HERE(2), 2, 2, ls}));
    fit_gate(s, s, y, &m);
    assert_close(m.a, 2, 0);
    hop_scores(s, &m, &d, out);
    for (int i = 0; i < 3; i++)
        assert_close(ROW(out, i)[1], gated[i], 1e-7);
}

static void test_gp(void **state)
{
    assert_ok(*state, scope_run(*state, gp_body, NULL));
}

/* Tags and pictures: the bridge has both views, two of its pictures are the target's. */
static ferry_task *two_views(ferry_ctx *ctx, ferry_domain **target, bool negative)
{
    const double tags[] = {2, 0, 0, 1, 1, 0, 0, 3, 2, 0, 0, 1};
    const double both[] = {1, 0, 0, 2, 3, 0, 0, 1, 1, 0, 0, 1};
    const double shots[] = {9, 1, 1, 2, 8, 2, 8, 2, 1, 1, 9, 3, 7, 3, 2, 2, 8, 1};
    const double last[] = {9, 1, 1, 2, 8, 2, 7, 1, 1, 1, 7, 2};
    double copy[18];
    ferry_domain *s = NULL, *i = NULL, *t = NULL;
    ferry_task *task = NULL;

    memcpy(copy, shots, sizeof copy);
    if (negative) copy[17] = -1;
    assert_ok(ctx, ferry_domain_new(ctx, "tags", FERRY_SOURCE, &s));
    assert_ok(ctx, ferry_domain_new(ctx, "pairs", FERRY_INTERMEDIATE, &i));
    assert_ok(ctx, ferry_domain_new(ctx, "photos", FERRY_TARGET, &t));
    small_view(ctx, s, "text", 6, 2, tags, NULL, NULL, true);
    small_classes(ctx, s, "ababab");
    small_view(ctx, i, "text", 6, 2, both, NULL, NULL, true);
    small_view(ctx, i, "image", 6, 3, copy, NULL, NULL, false);
    small_view(ctx, t, "image", 4, 3, last, NULL, NULL, false);
    assert_ok(ctx, ferry_task_new(ctx, "two", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, s));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, i));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, t));
    *target = t;
    return task;
}

static void test_two_views(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const ways[] = {
        "C=1",        "C=10",           "",           "learner=gp", "learner=svm",
        "scale=none", "scale=standard", "leaks=keep", "scale=l2"};

    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
        for (int negative = 0; negative < 2; negative++) {
            ferry_domain *t = NULL;
            ferry_task *task = two_views(ctx, &t, negative);
            ferry_model *m = fit_model(ctx, task, "hop", ways[w]);
            ferry_prediction *p = NULL;
            assert_ok(ctx, ferry_predict(ctx, m, t, &p));
            for (int64_t i = 0; i < 4; i++)
                if (p->cls[i] != i % 2)
                    fail_msg("hop %s, negative %d: row %d", ways[w], negative, (int)i);
            assert_true((strstr(m->diagnostics, "\"leaks\":2.0") != NULL) ==
                        (strcmp(ways[w], "leaks=keep") != 0));
            ferry_prediction_free(p);
            ferry_model_free(m);
            ferry_task_free(task);
        }
}

static void test_bad(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 8, .seed = 1};
    ferry_task *task = journey_task(ctx, &j);
    ferry_opts *soft = settings_of(ctx, "learner=svm targets=soft");
    ferry_opts *gate = settings_of(ctx, "gate=yes");
    const double three[] = {1, 2, 3}, two[] = {1, 2};
    ferry_domain *bare = NULL, *s, *t;
    ferry_model *m = NULL;

    assert_fails(ctx, ferry_fit(ctx, task, "hop", soft, &m, NULL), FERRY_EINVAL,
                 "targets=hard");
    assert_fails(ctx, ferry_fit(ctx, task, "hop", gate, &m, NULL), FERRY_EINVAL,
                 "learner=gp");
    assert_ok(ctx, ferry_domain_new(ctx, "bare", FERRY_INTERMEDIATE, &bare));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, bare));
    assert_fails(ctx, ferry_fit(ctx, task, "hop", NULL, &m, NULL), FERRY_ENEEDS,
                 "hop needs a view of domain 'bare'");
    ferry_task_free(task);
    s = small_domain(ctx, "s", FERRY_SOURCE, 1, 3, three);
    t = small_domain(ctx, "t", FERRY_TARGET, 1, 2, two);
    small_classes(ctx, s, "a");
    small_classes(ctx, t, "b");
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    /* one name, but nothing to line up */
    assert_fails(ctx, ferry_fit(ctx, task, "hop", NULL, &m, NULL), FERRY_ENEEDS,
                 "s.x and t.x have one name, but 3 and 2 features");
    ferry_task_free(task);
    s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    {
        const char *names[] = {"p", "q"};
        small_view(ctx, s, "x", 1, 2, two, NULL, names, false);
    }
    t = small_domain(ctx, "t", FERRY_TARGET, 1, 2, two);
    small_classes(ctx, s, "a");
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    assert_fails(ctx, ferry_fit(ctx, task, "hop", NULL, &m, NULL), FERRY_ENEEDS,
                 "at least two classes");
    small_classes(ctx, t, "b");
    /* names on one side only: as many columns line up by number */
    assert_ok(ctx, ferry_fit(ctx, task, "hop", NULL, &m, NULL));
    assert_non_null(strstr(m->diagnostics, "t.x = s.x by name"));
    ferry_model_free(m);
    ferry_task_free(task);
    ferry_opts_free(soft);
    ferry_opts_free(gate);
}

/* A saved model whose tensors do not fit is refused. */
static void test_broken_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_dict *dict = NULL, *less = NULL;
    void *out = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    {
        const int64_t one = 1;
        assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "classes", 1, &one)); /* of 0.2 */
    }
    assert_fails(ctx, ferry_i_method_load(ctx, ferry_i_method_find("hop"), dict, &out),
                 FERRY_EDATA,
                 "models of hop that Ferry 0.2 has saved are not read any more");
    assert_ok(ctx, ferry_i_dict_new(ctx, &less));
    {
        const int64_t two = 2, joined[] = {FERRY_JOINED,     0, 0, 0, 0, 0,
                                           FERRY_SCALE_NONE, 0, 0, 0, 0, 0};
        assert_ok(ctx, ferry_i_dict_put_ints(ctx, less, "classes.n", 1, &two));
        assert_ok(ctx, ferry_i_dict_put_ints(ctx, less, "prepare", 12, joined));
        assert_ok(ctx, ferry_i_dict_put_reals(ctx, less, "prepare.fill.0", 1, 0, NULL));
    }
    assert_fails(ctx, ferry_i_method_load(ctx, ferry_i_method_find("hop"), less, &out),
                 FERRY_EDATA, "tensor prepare: layout 0");
    ferry_i_dict_free(dict);
    ferry_i_dict_free(less);
}

static ferry_status fit_and_back(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_task *task = ((void **)arg)[0];
    const ferry_opts *opts = ((void **)arg)[1];
    const ferry_domain *d = ((void **)arg)[2];
    ferry_model *m = NULL, *again = NULL;
    ferry_prediction *p = NULL;
    const char *path = tmp_path("memory.ferry");

    FERRY_TRY(ferry_fit(ctx, task, "hop", opts, &m, NULL));
    FERRY_TRY(ferry_model_save(ctx, m, path));
    FERRY_TRY(ferry_model_load(ctx, path, "hop", &again));
    FERRY_TRY(ferry_predict(ctx, again, d, &p));
done:
    ferry_prediction_free(p);
    ferry_model_free(again);
    ferry_model_free(m);
    return st;
}

static void test_allocations(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const ways[] = {
        "C=1", "C=10", "", "learner=svm", "learner=gp gate=yes", "scale=standard"};
    const journey j = {.domains = 3, .c = 2, .n = 6, .seed = 1, .seen = 3};
    ferry_domain *d = NULL;
    ferry_task *task = journey_task(ctx, &j), *two;

    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        ferry_opts *opts = settings_of(ctx, ways[w]);
        ferry_domain *t = journey_domain(ctx, &j, 2);
        void *arg[] = {task, opts, t};
        each_allocation_fails(ctx, fit_and_back, arg);
        ferry_domain_free(t);
        ferry_opts_free(opts);
    }
    two = two_views(ctx, &d, false);
    {
        void *arg[] = {two, NULL, d};
        each_allocation_fails(ctx, fit_and_back, arg);
    }
    ferry_task_free(task);
    ferry_task_free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_crosses, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_link, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_same, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_gp, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_two_views, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bad, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_broken_files, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_allocations, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("hop", tests, NULL, NULL);
}
