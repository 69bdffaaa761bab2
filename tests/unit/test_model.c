/* Models on disk: every method round-trips bit for bit; what was tampered with is
 * refused. */
#include "ferry_test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "methods/method.h"
#include "state/dict_private.h"

enum { N = 24, D = 5 };

/* A source and a target in the same space with labels for every goal but rate. The first
 * feature tells the class; a cell of the target is missing. */
static ferry_task *task_for(ferry_ctx *ctx, ferry_goal goal)
{
    static const char *const features[D] = {"a", "b", "c", "d", "e"};
    static const char *const names[] = {"low", "high"};
    ferry_task *task = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 7, 1);
    assert_ok(ctx, ferry_task_new(ctx, "model", goal, &task));
    for (int role = 0; role < 2; role++) {
        ferry_domain *d = NULL;
        double x[N * D], y[N];
        const char *cls[N];
        uint8_t on[2 * N];
        for (int64_t i = 0; i < N; i++) {
            for (int64_t j = 0; j < D; j++)
                x[i * D + j] = ferry_i_rng_normal(&rng);
            y[i] = x[i * D] + 0.1 * x[i * D + 1];
            cls[i] = names[y[i] > 0];
            on[2 * i] = y[i] > 0;
            on[2 * i + 1] = x[i * D + 2] > 0;
        }
        if (role == 1) x[7] = NAN;
        const ferry_array a = {.rows = N, .cols = D, .ld = D, .data = x};
        assert_ok(ctx, ferry_domain_new(ctx, role ? "t" : "s",
                                        role ? FERRY_TARGET : FERRY_SOURCE, &d));
        assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &a, NULL, features, NULL));
        if (goal == FERRY_CLASSIFY)
            assert_ok(ctx, ferry_domain_set_classes(ctx, d, N, NULL, cls));
        if (goal == FERRY_REGRESS)
            assert_ok(ctx, ferry_domain_set_numbers(ctx, d, N, NULL, y));
        if (goal == FERRY_MULTILABEL)
            assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, N, NULL, 2, names, on));
        assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    }
    return task;
}

static ferry_model *fitted(ferry_ctx *ctx, const ferry_task *task, const char *method)
{
    ferry_model *m = NULL;

    assert_ok(ctx, ferry_fit(ctx, task, method, NULL, &m, NULL));
    return m;
}

static void same_files(const char *a, const char *b)
{
    struct stat x, y;
    char *p = slurp(a), *q = slurp(b);

    assert_int_equal(stat(a, &x), 0);
    assert_int_equal(stat(b, &y), 0);
    assert_int_equal(x.st_size, y.st_size);
    assert_memory_equal(p, q, (size_t)x.st_size);
    free(p);
    free(q);
}

static void same_predictions(ferry_ctx *ctx, const ferry_model *a, const ferry_model *b,
                             const ferry_domain *d)
{
    ferry_prediction *p = NULL, *q = NULL;

    assert_ok(ctx, ferry_predict(ctx, a, d, &p));
    assert_ok(ctx, ferry_predict(ctx, b, d, &q));
    assert_int_equal(p->n, q->n);
    assert_int_equal(p->k, q->k);
    const size_t n = (size_t)p->n, nk = (size_t)(p->n * p->k);
    if (p->cls) assert_memory_equal(p->cls, q->cls, n * sizeof *p->cls);
    if (p->value) assert_memory_equal(p->value, q->value, n * sizeof *p->value);
    if (p->score) assert_memory_equal(p->score, q->score, nk * sizeof *p->score);
    if (p->set) assert_memory_equal(p->set, q->set, nk);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
}

/* Every method for every goal that it serves on this task. */
static void test_round_trips(void **state)
{
    ferry_ctx *ctx = *state;
    static const ferry_goal goals[] = {FERRY_CLASSIFY, FERRY_REGRESS, FERRY_MULTILABEL};
    int64_t tried = 0;

    for (int64_t g = 0; g < 3; g++) {
        ferry_task *task = task_for(ctx, goals[g]);
        for (int64_t i = 0; ferry_method_at(i); i++) {
            const char *method = ferry_method_at(i)->name;
            ferry_model *m = NULL, *back = NULL;
            if (method_fits(ctx, method, task, NULL) != FERRY_OK) continue;
            const ferry_status st = ferry_fit(ctx, task, method, NULL, &m, NULL);
            if (st == FERRY_ENEEDS) continue; /* such as features of 0 or more */
            assert_ok(ctx, st);
            assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("m.ferry")));
            assert_ok(ctx, ferry_model_load(ctx, tmp_path("m.ferry"), method, &back));
            assert_string_equal(back->method->name, method);
            assert_int_equal(back->goal, goals[g]);
            assert_string_equal(back->diagnostics, m->diagnostics);
            assert_string_equal(ferry_model_view_at(back, 0), "x");
            same_predictions(ctx, m, back, ferry_task_domain_at(task, 1));
            same_predictions(ctx, m, back, ferry_task_domain_at(task, 0));
            assert_ok(ctx, ferry_model_save(ctx, back, tmp_path("n.ferry")));
            same_files(tmp_path("m.ferry"), tmp_path("n.ferry"));
            ferry_model_free(m);
            ferry_model_free(back);
            tried++;
        }
        ferry_task_free(task);
    }
    assert_true(tried >= 20);
}

static void test_another_method(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_for(ctx, FERRY_CLASSIFY);
    ferry_model *m = fitted(ctx, task, "majority"), *back = NULL;

    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("m.ferry")));
    assert_fails(ctx, ferry_model_load(ctx, tmp_path("m.ferry"), "svm", &back), FERRY_EDATA,
                 "m.ferry: is a model of method 'majority', expected 'svm'");
    assert_null(back);
    assert_fails(ctx, ferry_model_load(ctx, tmp_path("no.ferry"), NULL, &back), FERRY_EDATA,
                 "no.ferry: cannot read");
    ferry_model_free(m);
    ferry_task_free(task);
}

/* Refused after putting `text` (NULL: nothing) in place of the text under `key`. */
static void check_text(ferry_ctx *ctx, const ferry_model *m, const char *key,
                       const char *text, const char *reason)
{
    ferry_dict *dict = NULL;
    ferry_model *back = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_model_pack(ctx, m, dict));
    const int64_t at = ferry_i_ids_find(dict->keys, key);
    if (at < 0) {
        assert_ok(ctx, ferry_i_dict_put_text(ctx, dict, key, text));
    } else {
        ferry_i_free(dict->text[at]);
        dict->text[at] = ferry_i_strdup(text);
    }
    if (reason) {
        assert_fails(ctx, ferry_i_model_unpack(ctx, "bad.ferry", dict, NULL, &back),
                     FERRY_EDATA, reason);
        assert_int_equal(strncmp(ferry_message(ctx), "bad.ferry: ", 11), 0);
        assert_null(back);
    } else {
        assert_ok(ctx, ferry_i_model_unpack(ctx, "bad.ferry", dict, NULL, &back));
    }
    ferry_model_free(back);
    ferry_i_dict_free(dict);
}

static void test_bad_texts(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_for(ctx, FERRY_CLASSIFY);
    ferry_model *m = fitted(ctx, task, "majority");

    check_text(ctx, m, "ferry.method", NULL, "says no method");
    check_text(ctx, m, "ferry.method", "magic", "of method 'magic', which ferry");
    check_text(ctx, m, "ferry.goal", NULL, "says no goal");
    check_text(ctx, m, "ferry.goal", "win", "its goal is 'win', which method 'majority'");
    check_text(ctx, m, "ferry.goal", "rate", "its goal is 'rate'");
    check_text(ctx, m, "ferry.options", "[]", "'ferry.options' is not a JSON object");
    check_text(ctx, m, "ferry.options", "{", "'ferry.options' is not a JSON object");
    check_text(ctx, m, "ferry.options", "{\"train\":1}", "option train is not a text");
    check_text(ctx, m, "ferry.options", "{\"train\":\"x\"}", "train = x is not one of");
    check_text(ctx, m, "ferry.options", "{\"tain\":\"x\"}", "with the option tain, which ferry");
    check_text(ctx, m, "ferry.options", NULL, NULL); /* the defaults */
    check_text(ctx, m, "ferry.diagnostics", NULL, "its diagnostics are not a JSON object");
    check_text(ctx, m, "ferry.diagnostics", "7", "its diagnostics are not a JSON object");
    check_text(ctx, m, "ferry.view.0.read", "{\"format\":\"csv\"}", NULL);
    check_text(ctx, m, "ferry.view.0.read", "{\"color\":\"red\"}", "unknown option color");
    ferry_model_free(m);
    ferry_task_free(task);
}

/* Refused after a tensor was renamed away (rows < -1) or got other rows or a first
 * value. */
static void check_tensor(ferry_ctx *ctx, const ferry_model *m, const char *name,
                         int64_t rows, int64_t first, const char *reason)
{
    ferry_dict *dict = NULL;
    ferry_model *back = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_model_pack(ctx, m, dict));
    const int64_t at = ferry_i_ids_find(dict->names, name);
    assert_true(at >= 0);
    dict_tensor *t = &dict->tensor[at];
    if (rows < -1)
        t->type = t->type == DICT_F64 ? DICT_I64 : DICT_F64;
    else if (rows >= 0)
        t->rows = rows;
    else
        memcpy(t->owned, &first, sizeof first);
    assert_fails(ctx, ferry_i_model_unpack(ctx, "bad.ferry", dict, NULL, &back),
                 FERRY_EDATA, reason);
    assert_null(back);
    ferry_i_dict_free(dict);
}

static void test_bad_tensors(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_for(ctx, FERRY_CLASSIFY);
    ferry_model *m = fitted(ctx, task, "majority");
    double idf[D] = {1, 2, 3, 4, 5};

    check_tensor(ctx, m, "ferry.names", -2, 0, "'ferry.names' holds real numbers");
    check_tensor(ctx, m, "ferry.views", -2, 0, "'ferry.views' holds real numbers");
    check_tensor(ctx, m, "ferry.views", 1, 0, "does not end its last text");
    check_tensor(ctx, m, "ferry.columns", 0, 0, "'ferry.columns' has shape 0 x 1");
    check_tensor(ctx, m, "ferry.columns", -1, -1, "view 'x' has -1 columns");
    check_tensor(ctx, m, "ferry.columns", -1, (int64_t)1 << 40,
                 "view 'x' has 1099511627776");
    check_tensor(ctx, m, "ferry.columns", -1, 4, "view 'x' has 4 columns and 5 feature");
    check_tensor(ctx, m, "ferry.view.0.features", -2, 0, "holds real numbers");
    m->views[0]->idf = ferry_i_calloc(D, sizeof *idf);
    memcpy(m->views[0]->idf, idf, sizeof idf);
    check_tensor(ctx, m, "ferry.view.0.idf", 0, 0, "has shape 0 x 5, expected 1 x 5");
    check_tensor(ctx, m, "ferry.inputs", 0, 0, "has shape 0 x 5, expected 3 x 5");
    const int64_t nan_bits = 0x7ff8000000000000;
    check_tensor(ctx, m, "ferry.view.0.idf", -1, nan_bits, "has nan at place 0");
    ferry_model_free(m);
    ferry_task_free(task);
}

/* A model that cannot be written leaves nothing behind. */
static void test_cannot_save(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_for(ctx, FERRY_CLASSIFY);
    ferry_model *m = fitted(ctx, task, "majority");
    const ferry_method *real = m->method;
    ferry_method unsaveable = *real;

    m->views[0]->read = opts_of(ctx,
                                "stop_words=Gr\xfc"
                                "n",
                                NULL);
    assert_fails(ctx, ferry_model_save(ctx, m, tmp_path("u.ferry")), FERRY_EINVAL,
                 "u.ferry: cannot save option stop_words: not UTF-8 text");
    unsaveable.file = NULL;
    m->method = &unsaveable;
    assert_fails(ctx, ferry_model_save(ctx, m, tmp_path("u.ferry")), FERRY_EINVAL,
                 "u.ferry: models of majority cannot be saved");
    m->method = real;
    assert_int_equal(access(tmp_path("u.ferry"), F_OK), -1);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* Models of 0.2 have options that are gone. */
static void test_gone_option(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_for(ctx, FERRY_CLASSIFY);
    ferry_model *m = fitted(ctx, task, "svm"), *back = NULL;

    assert_ok(ctx, ferry_opts_set(ctx, m->opts, "bias", "yes"));
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("old.ferry")));
    assert_fails(ctx, ferry_model_load(ctx, tmp_path("old.ferry"), NULL, &back),
                 FERRY_EDATA,
                 "is a model of svm with the option bias, which ferry " FERRY_VERSION
                 " does not have: fit it again");
    assert_null(back);
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_read_view(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_for(ctx, FERRY_CLASSIFY);
    ferry_model *m = fitted(ctx, task, "majority");
    ferry_data *data = NULL;

    assert_fails(ctx, ferry_model_read_view(ctx, m, "y", "f", NULL, &data), FERRY_EINVAL,
                 "the model has no view 'y'");
    assert_fails(ctx, ferry_model_read_view(ctx, m, NULL, tmp_path("no.csv"), NULL, &data),
                 FERRY_EDATA, "no.csv");
    assert_ok(ctx, ferry_i_model_add_view(ctx, m, "second", 3, NULL, NULL, NULL));
    assert_fails(ctx, ferry_model_read_view(ctx, m, NULL, "f", NULL, &data), FERRY_EINVAL,
                 "the model has 2 views: say which one to read f as");
    assert_null(data);
    ferry_model_info info = {.size = sizeof info},
                     old = {.size = offsetof(ferry_model_info, goal)};
    ferry_model_get_info(m, &info);
    assert_string_equal(info.method, "majority");
    assert_true(info.goal == FERRY_CLASSIFY && info.views == 2 && info.streams == 0);
    assert_int_equal(info.graphs, 0); /* majority looks at no graph */
    assert_null(ferry_model_class_at(m, info.classes));
    ferry_model_get_info(m, &old); /* of a program that knows fewer fields */
    assert_string_equal(old.method, "majority");
    assert_int_equal(old.goal, 0);
    assert_null(ferry_model_graph_at(m, 0));
    ferry_domain *d = NULL;
    assert_ok(ctx, ferry_domain_new(ctx, "new", FERRY_TARGET, &d));
    assert_fails(ctx, ferry_model_read_graph(ctx, m, "friends", "f", NULL, d), FERRY_EINVAL,
                 "the model has no graph 'friends'");
    ferry_domain_free(d);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* What is in memory is what the file has, byte for byte, and comes back the same way; damage is found. */
static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_for(ctx, FERRY_CLASSIFY);
    ferry_model *m = fitted(ctx, task, "svm"), *back = NULL;
    struct stat info;
    char *bytes = NULL, *file;
    int64_t n = 0;

    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("m.ferry")));
    assert_ok(ctx, ferry_model_to_memory(ctx, m, &bytes, &n));
    assert_int_equal(stat(tmp_path("m.ferry"), &info), 0);
    assert_int_equal(n, info.st_size);
    file = slurp(tmp_path("m.ferry"));
    assert_memory_equal(bytes, file, (size_t)n);
    free(file);
    assert_ok(ctx, ferry_model_from_memory(ctx, bytes, n, "svm", &back));
    same_predictions(ctx, m, back, ferry_task_domain_at(task, 1));
    ferry_model_free(back);
    assert_fails(ctx, ferry_model_from_memory(ctx, bytes, n, "knn", &back), FERRY_EDATA,
                 "memory: ");
    assert_null(back);
    bytes[n - 1] ^= 1;
    assert_fails(ctx, ferry_model_from_memory(ctx, bytes, n, NULL, &back), FERRY_EDATA,
                 "memory: is corrupt");
    assert_fails(ctx, ferry_model_from_memory(ctx, bytes, n - 1, NULL, &back), FERRY_EDATA,
                 "memory: is truncated");
    assert_fails(ctx, ferry_model_from_memory(ctx, bytes, 0, NULL, &back), FERRY_EDATA,
                 "memory: is empty");
    assert_fails(ctx, ferry_model_from_memory(ctx, bytes, -1, NULL, &back), FERRY_EINVAL,
                 "-1 bytes");
    ferry_string_free(bytes);
    ferry_model_free(m);
    ferry_task_free(task);
}

static ferry_status save_and_load(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_model *back = NULL, *again = NULL;
    char *bytes = NULL;
    int64_t n = 0;

    FERRY_TRY(ferry_model_save(ctx, arg, tmp_path("memory.ferry")));
    FERRY_TRY(ferry_model_load(ctx, tmp_path("memory.ferry"), NULL, &back));
    FERRY_TRY(ferry_model_to_memory(ctx, arg, &bytes, &n));
    FERRY_TRY(ferry_model_from_memory(ctx, bytes, n, NULL, &again));
done:
    ferry_model_free(back);
    ferry_model_free(again);
    ferry_string_free(bytes);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_for(ctx, FERRY_CLASSIFY);
    ferry_model *m = fitted(ctx, task, "svm");

    m->views[0]->read = opts_of(ctx, "header=yes", NULL);
    m->views[0]->idf = ferry_i_calloc(D, sizeof(double));
    each_allocation_fails(ctx, save_and_load, m);
    ferry_model_free(m);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trips), TEST(test_another_method), TEST(test_bad_texts),
        TEST(test_bad_tensors), TEST(test_cannot_save),    TEST(test_read_view),
        TEST(test_gone_option),
        TEST(test_memory),      TEST(test_no_memory),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
