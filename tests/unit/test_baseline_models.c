/* Models of the baselines: saved and loaded bit for bit, refused when they do not make
 * sense, and every allocation failing in turn. */
#include <stdio.h>

#include "methods/method.h"
#include "prepare/prepare.h"
#include "small_task.h"

enum { N = 8 };
static const double values[2 * N] = {-2, 1, -1, 0, 1, 3, 2, 0, -3, 1, 3, 0, -1, 2, 0, 1};
static const double queries[] = {-1.5, 0, 2.5, 1, 0, 0};

/* Two views ("u" dense, "v" dense or sparse), a source with view "v" and named features of
 * which the target has all but one, and labels of the goal on both. */
static ferry_domain *make_domain(ferry_ctx *ctx, ferry_role role, ferry_goal goal,
                                 bool sparse)
{
    const char *t_names[] = {"p", "q"}, *s_names[] = {"q", "r"}, *labels[] = {"l", "m"};
    const bool target = role == FERRY_TARGET;
    const uint8_t on[2 * N] = {0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0};
    ferry_domain *d = small_domain(ctx, target ? "t" : "s", role, 0, 0, NULL);

    if (target) small_view(ctx, d, "u", N, 2, values, NULL, NULL, false);
    small_view(ctx, d, "v", N, 2, values, NULL, target ? t_names : s_names, sparse);
    if (goal == FERRY_CLASSIFY)
        small_classes(ctx, d, "aabbabca");
    else if (goal == FERRY_REGRESS)
        assert_ok(ctx, ferry_domain_set_numbers(ctx, d, N, NULL, values));
    else
        assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, N, NULL, 2, labels, on));
    return d;
}

static ferry_task *make_task(ferry_ctx *ctx, ferry_goal goal, bool sparse)
{
    return small_task(ctx, goal, make_domain(ctx, FERRY_SOURCE, goal, sparse),
                      make_domain(ctx, FERRY_TARGET, goal, sparse));
}

/* New instances: one in both views, one in "u", one in "v". */
static ferry_domain *make_queries(ferry_ctx *ctx)
{
    const char *u[] = {"n1", "n2"}, *v[] = {"n3", "n1"}, *names[] = {"q", "p"};
    ferry_domain *d = small_domain(ctx, "new", FERRY_TARGET, 0, 0, NULL);

    small_view(ctx, d, "u", 2, 2, queries, u, NULL, false);
    small_view(ctx, d, "v", 2, 2, queries + 2, v, names, true);
    return d;
}

static void assert_same(const ferry_prediction *a, const ferry_prediction *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->k, b->k);
    if (a->cls) assert_memory_equal(a->cls, b->cls, (size_t)a->n * sizeof *a->cls);
    if (a->score)
        assert_memory_equal(a->score, b->score, (size_t)(a->n * a->k) * sizeof *a->score);
    if (a->value) assert_memory_equal(a->value, b->value, (size_t)a->n * sizeof *a->value);
    if (a->set) assert_memory_equal(a->set, b->set, (size_t)(a->n * a->k));
}

static void round_trip(ferry_ctx *ctx, const ferry_task *task, const char *method,
                       const char *settings, const ferry_domain *d)
{
    ferry_model *m = fit_model(ctx, task, method, settings), *again = NULL;
    ferry_prediction *a = NULL, *b = NULL;
    const char *path = tmp_path("model.ferry");

    assert_ok(ctx, ferry_predict(ctx, m, d, &a));
    assert_ok(ctx, ferry_model_save(ctx, m, path));
    assert_ok(ctx, ferry_model_load(ctx, path, method, &again));
    assert_ok(ctx, ferry_predict(ctx, again, d, &b));
    assert_int_equal(a->n, 3);
    assert_same(a, b);
    ferry_prediction_free(b);
    ferry_prediction_free(a);
    ferry_model_free(again);
    ferry_model_free(m);
}

/* Whether the method learns from what "train" says: not so those for streams. */
static bool is_baseline(const ferry_method_info *info, ferry_goal goal)
{
    bool trains = false;

    for (int64_t o = 0; ferry_opt_at(info->options, o); o++)
        if (strcmp(ferry_opt_at(info->options, o)->name, "train") == 0) trains = true;
    return info->kind == FERRY_KIND_BASELINE && trains && (info->goals & (unsigned)goal);
}

static void test_round_trips(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_goal goals[] = {FERRY_CLASSIFY, FERRY_REGRESS, FERRY_MULTILABEL};
    const char *const trains[] = {"train=source", "train=target", "train=both"};
    ferry_domain *d = make_queries(ctx);

    for (int64_t g = 0; g < 6; g++) {
        ferry_task *task = make_task(ctx, goals[g % 3], g >= 3);
        for (int64_t m = 0; ferry_method_at(m); m++) {
            const ferry_method_info *info = ferry_method_at(m);
            if (!is_baseline(info, goals[g % 3])) continue;
            for (int64_t t = 0; t < 3; t++)
                round_trip(ctx, task, info->name, trains[t], d);
        }
        ferry_task_free(task);
    }
    ferry_domain_free(d);
}

/* Same seed, same bits; both engines agree. */
static void test_repeats(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx, FERRY_CLASSIFY, true);
    ferry_domain *d = make_queries(ctx);
    const char *const methods[] = {"svm", "logreg", "ridge", "knn"};

    for (int64_t m = 0; m < 4; m++) {
        ferry_prediction *p[3];
        for (int64_t r = 0; r < 3; r++) {
            assert_ok(ctx, ferry_i_ctx_set_engine(ctx, r < 2 ? "host" : "ref"));
            p[r] = fit_predict(ctx, task, methods[m], "train=both", d);
        }
        assert_same(p[0], p[1]);
        for (int64_t e = 0; e < p[0]->n * p[0]->k; e++)
            assert_close(p[2]->score[e], p[0]->score[e], 1e-10);
        for (int64_t r = 0; r < 3; r++)
            ferry_prediction_free(p[r]);
    }
    ferry_domain_free(d);
    ferry_task_free(task);
}

/* scikit-learn on x[i][j] = sin(1 + 3 i + 7 j), 20 x 3, classes (i^2 + i / 2) mod 3,
 * queries cos(2 + 5 i + 3 j), 4 x 3: StandardScaler, divided by the root of the mean
 * squared length, with LinearSVC; KNeighborsClassifier(3). */
static void test_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    const double svm[] = {0.08033862,  -0.45847626, -0.65083335, 0.03781011,
                          -0.39353958, -0.67093878, -0.05937712, -0.20450812,
                          -0.76739462, -0.0719853,  -0.16220264, -0.80201094};
    const double knn[] = {0.657083432364,
                          0,
                          0.342916567636,
                          0.668092285868,
                          0,
                          0.331907714132,
                          0.325414235493,
                          0.674585764507,
                          0,
                          0.344791176716,
                          0.655208823284,
                          0};
    double x[60], q[12];
    char y[21] = "";
    ferry_domain *t = NULL, *d = NULL;
    ferry_task *task = NULL;

    for (int64_t e = 0; e < 60; e++)
        x[e] = sin((double)(1 + 3 * (e / 3) + 7 * (e % 3)));
    for (int64_t e = 0; e < 12; e++)
        q[e] = cos((double)(2 + 5 * (e / 3) + 3 * (e % 3)));
    for (int64_t i = 0; i < 20; i++)
        y[i] = (char)('a' + (i * i + i / 2) % 3);
    t = small_domain(ctx, "t", FERRY_TARGET, 20, 3, x);
    d = small_domain(ctx, "d", FERRY_TARGET, 4, 3, q);
    small_classes(ctx, t, y);
    task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
    for (int64_t e = 0; e < ferry_i_engine_count(); e++) {
        ferry_prediction *p = NULL;
        if (ferry_i_ctx_set_engine(ctx, ferry_i_engine_at(e)->name) == FERRY_ENEEDS)
            continue; /* cuda, where no card is */
        p = fit_predict(ctx, task, "svm", "eps=1e-9", d);
        for (int64_t i = 0; i < 12; i++)
            assert_close(p->score[i], svm[i], 1e-4);
        ferry_prediction_free(p);
        p = fit_predict(ctx, task, "knn", "k=3 weights=distance scale=none", d);
        for (int64_t i = 0; i < 12; i++)
            assert_close(p->score[i], knn[i], 1e-8);
        ferry_prediction_free(p);
    }
    ferry_domain_free(d);
    ferry_task_free(task);
}

/* ---- models that make no sense ---- */

/* A dict as svm (or knn) would save it, with one thing wrong. */
typedef struct dict_case {
    const char *wrong, *message;
} dict_case;

#define IS(text) (strcmp(c->wrong, text) == 0)

static void fill_base(ferry_ctx *ctx, ferry_dict *dict, const dict_case *c)
{
    const int64_t classes = IS("classes") ? 0 : 2;
    const double prior[] = {0.5, 0.5}, zeros[] = {0, 0, 0};
    /* two of three columns of one view, and another of one column (src/prepare/saved.c) */
    const int64_t facts[] = {IS("path") ? FERRY_PATH : FERRY_JOINED,
                             0,
                             0,
                             0,
                             3,
                             2,
                             FERRY_SCALE_NONE,
                             1,
                             0,
                             0,
                             0,
                             1,
                             1,
                             1,
                             FERRY_SCALE_NONE,
                             1,
                             0,
                             0,
                             0,
                             0};
    const int64_t columns[] = {0, -1, 1};

    if (!IS("0.2"))
        assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "classes.n", 1, &classes));
    assert_ok(ctx,
              ferry_i_dict_put_reals(ctx, dict, "prior", 1, IS("prior") ? 0 : 2, prior));
    if (IS("prepare")) return;
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "prepare", 20, facts));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "prepare.fill.0", 1, 3, zeros));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "prepare.columns.0", 3, columns));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "prepare.fill.1", 1, 1, zeros));
}

static void fill_svm(ferry_ctx *ctx, ferry_dict *dict, const dict_case *c)
{
    const int64_t loss = IS("loss") ? 7 : 0, sets = 0;
    const double w[10] = {0}, b[2] = {0};
    const uint8_t seen[] = {1, 1};

    fill_base(ctx, dict, c);
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "loss", 1, &loss));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "sets", 1, &sets));
    assert_ok(ctx, ferry_i_dict_put_bytes(ctx, dict, "seen", IS("seen") ? 1 : 2, seen));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "w", IS("w") ? 4 : 3, 2, w));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "b", 1, IS("b") ? 1 : 2, b));
}

static void fill_knn(ferry_ctx *ctx, ferry_dict *dict, const dict_case *c)
{
    const int64_t classes = 2, k = 1, reach = IS("reach") ? 5 : 1,
                  distance = IS("distance") ? 2 : 0, no = 0,
                  labels[] = {0, IS("class") ? 2 : 1};
    const double weight[] = {1, IS("weight") ? 0 : 1};
    ferry_matrix *x = NULL;

    fill_base(ctx, dict, c);
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, IS("x") ? 2 : 3, &x));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "classes", 1, &classes));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "k", 1, &k));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "reach", 1, &reach));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "distance", 1, &distance));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "nearer_counts_more", 1, &no));
    assert_ok(ctx, ferry_i_dict_put_matrix(ctx, dict, "x", x));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "weight", 1, 2, weight));
    if (!IS("none"))
        assert_ok(ctx,
                  ferry_i_dict_put_ints(ctx, dict, "cls", IS("labels") ? 1 : 2, labels));
    ferry_i_matrix_free(x);
}

static void try_dict(ferry_ctx *ctx, const char *method, const dict_case *c)
{
    const ferry_method *m = ferry_i_method_find(method);
    ferry_dict *dict = NULL;
    void *loaded = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    if (strcmp(method, "knn") == 0)
        fill_knn(ctx, dict, c);
    else if (strcmp(method, "svm") == 0)
        fill_svm(ctx, dict, c);
    else
        fill_base(ctx, dict, &(dict_case){IS("nothing") ? "prepare" : c->wrong, NULL});
    if (!c->message)
        assert_ok(ctx, ferry_i_method_load(ctx, m, dict, &loaded));
    else
        assert_fails(ctx, ferry_i_method_load(ctx, m, dict, &loaded), FERRY_EDATA,
                     c->message);
    assert_true((loaded == NULL) == (c->message != NULL));
    m->free(loaded);
    ferry_i_dict_free(dict);
}

static void test_models_that_make_no_sense(void **state)
{
    ferry_ctx *ctx = *state;
    const dict_case base_cases[] = {
        {"nothing", NULL},
        {"0.2", "models of majority that Ferry 0.2 has saved are not read any more"},
        {"classes", "tensor classes.n: 0"},
        {"prior", "prior"},
    };
    const dict_case svm_cases[] = {
        {"nothing", NULL},
        {"0.2", "models of svm that Ferry 0.2 has saved are not read any more"},
        {"prepare", "prepare"},
        {"path", "tensor prepare: layout 2"},
        {"loss", "loss"},
        {"seen", "seen"},
        {"w", "its numbers are not for 3 features and 2 classes"},
        {"b", "tensor b"},
    };
    const dict_case knn_cases[] = {
        {"nothing", NULL},
        {"prepare", "prepare"},
        {"path", "tensor prepare: layout 2"},
        {"reach", "its neighbours do not make sense"},
        {"weight", "its neighbours do not make sense"},
        {"none", "its neighbours do not make sense"},
        {"distance", "distance"},
        {"x", "its numbers are not for 3 features and 2 classes"},
        {"class", "cls"},
        {"labels", "cls"},
    };

    for (int64_t i = 0; i < FERRY_COUNT(base_cases); i++)
        try_dict(ctx, "majority", &base_cases[i]);
    for (int64_t i = 0; i < FERRY_COUNT(svm_cases); i++)
        try_dict(ctx, "svm", &svm_cases[i]);
    for (int64_t i = 0; i < FERRY_COUNT(knn_cases); i++)
        try_dict(ctx, "knn", &knn_cases[i]);
}

/* A loaded model that does not go with the rest of its file is noticed when it predicts. */
static void test_model_and_data_disagree(void **state)
{
    ferry_ctx *ctx = *state;
    const dict_case good = {"nothing", NULL};
    const ferry_method *svm = ferry_i_method_find("svm");
    const char *names[] = {"a", "b", "c"};
    ferry_domain *d = small_domain(ctx, "d", FERRY_TARGET, 2, 2, values);
    ferry_ids *three = ferry_i_ids_new(), *two = ferry_i_ids_new();
    ferry_prediction *p = NULL;
    ferry_dict *dict = NULL;
    void *m = NULL;

    for (int64_t c = 0; c < 3; c++) {
        assert_int_equal(ferry_i_ids_add(three, names[c], NULL), c);
        if (c < 2) assert_int_equal(ferry_i_ids_add(two, names[c], NULL), c);
    }
    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    fill_svm(ctx, dict, &good);
    assert_ok(ctx, ferry_i_method_load(ctx, svm, dict, &m));
    assert_ok(ctx, ferry_i_prediction_new(ctx, FERRY_CLASSIFY, three, d, &p));
    assert_fails(ctx, svm->predict(ctx, m, d, p), FERRY_EDATA,
                 "the model has 2 classes, not 3");
    ferry_prediction_free(p);
    assert_ok(ctx, ferry_i_prediction_new(ctx, FERRY_CLASSIFY, two, d, &p));
    assert_fails(ctx, svm->predict(ctx, m, d, p), FERRY_EDATA,
                 "the model has 2 views, domain 'd' 1");
    small_view(ctx, d, "y", 2, 1, values, NULL, NULL, false);
    assert_fails(ctx, svm->predict(ctx, m, d, p), FERRY_EDATA,
                 "view 'x' has 2 features, the model's 3");
    ferry_prediction_free(p);
    svm->free(m);
    ferry_i_dict_free(dict);
    ferry_i_ids_free(two);
    ferry_i_ids_free(three);
    ferry_domain_free(d);
}

/* ---- memory ---- */

typedef struct memory_case {
    const char *method;
    const ferry_task *task;
    const ferry_domain *queries;
} memory_case;

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    const memory_case *c = arg;
    ferry_status st = FERRY_OK;
    const ferry_method *m = ferry_i_method_find(c->method);
    ferry_opts *opts = NULL;
    ferry_model *model = NULL;
    ferry_prediction *p = NULL;
    ferry_dict *dict = NULL;
    void *again = NULL;

    FERRY_TRY(ferry_opts_new(ctx, &opts));
    FERRY_TRY(ferry_opts_set(ctx, opts, "train", "both"));
    FERRY_TRY(ferry_fit(ctx, c->task, c->method, opts, &model, NULL));
    FERRY_TRY(ferry_predict(ctx, model, c->queries, &p));
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_method_save(ctx, m, model->state, dict));
    FERRY_TRY(ferry_i_method_load(ctx, m, dict, &again));
done:
    if (st != FERRY_OK) assert_null(again);
    m->free(again);
    ferry_i_dict_free(dict);
    ferry_prediction_free(p);
    ferry_model_free(model);
    ferry_opts_free(opts);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_goal goals[] = {FERRY_CLASSIFY, FERRY_REGRESS, FERRY_MULTILABEL};
    ferry_domain *d = make_queries(ctx);

    for (int64_t g = 0; g < 3; g++) {
        ferry_task *task = make_task(ctx, goals[g], g == 1);
        for (int64_t m = 0; ferry_method_at(m); m++) {
            const ferry_method_info *info = ferry_method_at(m);
            memory_case c = {info->name, task, d};
            if (is_baseline(info, goals[g])) each_allocation_fails(ctx, body, &c);
        }
        ferry_task_free(task);
    }
    ferry_domain_free(d);
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx, FERRY_CLASSIFY, false);
    ferry_domain *d = make_queries(ctx);
    ferry_model *m = fit_model(ctx, task, "knn", "");
    ferry_prediction *p = NULL;

    ferry_ctx_set_progress(ctx, cancel_at_once, NULL);
    assert_int_equal(ferry_predict(ctx, m, d, &p), FERRY_ECANCELLED);
    assert_null(p);
    ferry_model_free(m);
    assert_int_equal(ferry_fit(ctx, task, "svm", NULL, &m, NULL), FERRY_ECANCELLED);
    assert_null(m);
    ferry_domain_free(d);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trips),
        TEST(test_repeats),
        TEST(test_numbers),
        TEST(test_models_that_make_no_sense),
        TEST(test_model_and_data_disagree),
        TEST(test_no_memory),
        TEST(test_cancel),
    };
    return cmocka_run_group_tests_name("baseline_models", tests, NULL, NULL);
}
