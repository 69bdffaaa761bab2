/* Streams: what every method that learns from one must do, through the public API. */
#include <stdio.h>

#include "ferry_test.h"
#include "learn/online.h"
#include "methods/frame.h"
#include "small_task.h"
#include "state/dict_private.h"

/* Methods and settings that all tests here go through. */
static const struct {
    const char *how, *settings;
} kinds[] = {
    {"mpa", ""},
    {"mpa", "variant=pa scale=none"},
    {"mpa", "variant=pa2 passes=3"},
    {"mpa", "variant=printed average=yes"},
    {"mpa", "scale=causal average=yes"},
    {"hetomtl", ""},
    {"hetomtl", "basis=12"},
    {"hetomtl-paper", ""},
    {"hetomtl-paper", "post=centred horizon=60 per_class=2"},
    {"hetomtl-paper", "post=l2 variant=printed"},
    {"omtlmc", ""},
};

enum { D = 6, T = 60 };

/* Three classes around their means. */
static void draw(ferry_rng *rng, int y, double *x)
{
    for (int j = 0; j < D; j++)
        x[j] = 0.7 * ferry_i_rng_normal(rng) + (j == y ? 3 : 0) + 1;
}

static const char *const names[] = {"a", "b", "c"};

/* Two sources with other features (one has a class "z" that the target lacks) and a target
 * with two labelled rows each of a and b, and unlabelled ones. */
static ferry_task *task_of(ferry_ctx *ctx, ferry_goal goal)
{
    double xs[12 * 4], xt[7 * D];
    ferry_domain *s1, *s2, *t;
    ferry_task *task;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 11, 0);
    for (int e = 0; e < 12 * 4; e++)
        xs[e] = ferry_i_rng_normal(&rng) + (e % 4 == e / 4 % 3 ? 2 : 0);
    for (int i = 0; i < 7; i++)
        draw(&rng, i % 2, xt + i * D);
    s1 = small_domain(ctx, "s1", FERRY_SOURCE, 12, 4, xs);
    small_classes(ctx, s1, "abcabcabcabc");
    s2 = small_domain(ctx, "s2", FERRY_SOURCE, 8, 4, xs);
    small_classes(ctx, s2, "abzabzab");
    t = small_domain(ctx, "t", FERRY_TARGET, 7, D, xt);
    small_classes(ctx, t, "abab???");
    task = small_task(ctx, goal, s1, t);
    assert_ok(ctx, ferry_task_add_domain(ctx, task, s2));
    return task;
}

typedef struct sample {
    double x[D];
    int y;
    int32_t cls, votes[256];
} sample;

static void make_rounds(sample *r)
{
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 1);
    for (int t = 0; t < T; t++) {
        r[t].y = t < 5 ? t % 2 : (int)ferry_i_rng_below(&rng, 3);
        draw(&rng, r[t].y, r[t].x);
        if (t % 17 == 3) memset(r[t].x, 0, sizeof r[t].x);
    }
}

static void see(ferry_ctx *ctx, ferry_model *m, sample *r, double *score)
{
    const ferry_row x = {D, NULL, r->x};

    assert_true(ferry_i_model_vote_count(m) <= 256);
    assert_ok(ctx, ferry_model_see(ctx, m, &x, &r->cls, score, r->votes));
}

static void hear(ferry_ctx *ctx, ferry_model *m, const sample *r)
{
    const ferry_row x = {D, NULL, r->x};

    assert_ok(ctx, ferry_model_learn(ctx, m, &x, names[r->y], r->votes));
}

/* The model's bytes. */
static char *bytes_of(ferry_ctx *ctx, const ferry_model *m, size_t *n)
{
    const char *path = tmp_path("model.ferry");
    FILE *f;
    char *b = malloc(1 << 22);

    assert_ok(ctx, ferry_model_save(ctx, m, path));
    f = fopen(path, "rb");
    assert_non_null(f);
    *n = fread(b, 1, 1 << 22, f);
    (void)fclose(f);
    return b;
}

static void assert_same(ferry_ctx *ctx, const ferry_model *a, const ferry_model *b)
{
    size_t n, m;
    char *p = bytes_of(ctx, a, &n), *q = bytes_of(ctx, b, &m);

    assert_int_equal(n, m);
    assert_memory_equal(p, q, n);
    free(p);
    free(q);
}

static ferry_model *copy_of(ferry_ctx *ctx, const ferry_model *m)
{
    ferry_model *c = NULL;

    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("copy.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("copy.ferry"), NULL, &c));
    return c;
}

/* Predict then learn: few mistakes at the end; a copy loaded half way gives the same
 * bits; the third class is met in the stream. */
static void check_rounds(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, how, settings), *c = NULL;
    sample r[T];
    int late = 0;

    assert_true(ferry_i_model_streams(m));
    assert_int_equal(ferry_i_model_columns(m), D);
    make_rounds(r);
    for (int t = 0; t < T; t++) {
        double f[8], g[8];
        sample twin = r[t];
        if (t == 3 || t == T / 2) {
            ferry_model_free(c);
            c = copy_of(ctx, m);
            assert_same(ctx, m, c);
        }
        see(ctx, m, &r[t], f);
        late += t >= T / 2 && t % 17 != 3 && r[t].cls != -1 &&
                strcmp(ferry_model_class_at(m, r[t].cls), names[r[t].y]) != 0;
        if (c) {
            see(ctx, c, &twin, g);
            assert_int_equal(twin.cls, r[t].cls);
            assert_memory_equal(twin.votes, r[t].votes,
                                (size_t)ferry_i_model_vote_count(m) * sizeof *twin.votes);
            assert_memory_equal(f, g, (size_t)ferry_i_model_class_count(m) * sizeof *f);
        }
        if (t % 5 == 4) continue; /* its label never comes */
        hear(ctx, m, &r[t]);
        if (c) hear(ctx, c, &twin);
    }
    assert_same(ctx, m, c);
    /* omtlmc learns the target in as many dimensions as there were classes offline: two */
    if (late > (strcmp(how, "omtlmc") == 0 ? 15 : 4))
        fail_msg("%s %s: %d late mistakes", how, settings, late);
    ferry_model_free(c);
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_rounds(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_rounds(*state, kinds[i].how, kinds[i].settings);
}

/* Many rows at once, some without a label: the same bits and answers as one by one. */
static void check_many(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, how, settings), *c = copy_of(ctx, m);
    sample r[T];
    double x[T][D + 1];
    int32_t label[T], cls[T];

    make_rounds(r);
    for (int t = 0; t < T; t++) {
        memcpy(x[t], r[t].x, sizeof r[t].x);
        label[t] = t % 5 == 4 ? -1 : r[t].y;
        see(ctx, m, &r[t], NULL);
        if (label[t] >= 0) hear(ctx, m, &r[t]);
    }
    const ferry_array some = {9, D, D + 1, x[0]}, rest = {T - 9, D, D + 1, x[9]};
    assert_ok(ctx, ferry_model_learn_rows(ctx, c, &some, 3, names, label, cls));
    assert_ok(ctx, ferry_model_learn_rows(ctx, c, &rest, 3, names, label + 9, cls + 9));
    for (int t = 0; t < T; t++)
        assert_int_equal(cls[t], r[t].cls);
    assert_same(ctx, m, c);
    ferry_model_free(c);
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_many(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_many(*state, kinds[i].how, kinds[i].settings);
}

/* Labels that come late, in another order, or twice: no harm, and the same again. */
static void check_late(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m[2] = {NULL};
    sample r[T];

    for (int i = 0; i < 2; i++) {
        double f[8];
        m[i] = fit_model(ctx, task, how, settings);
        make_rounds(r);
        for (int t = 0; t < T; t++) {
            see(ctx, m[i], &r[t], f);
            for (int64_t k = 0; k < ferry_i_model_class_count(m[i]); k++)
                assert_true(isfinite(f[k]));
            if (t >= 7) hear(ctx, m[i], &r[t - 7 + t % 3]);
        }
    }
    assert_same(ctx, m[0], m[1]);
    ferry_model_free(m[0]);
    ferry_model_free(m[1]);
    ferry_task_free(task);
}

static void test_late(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_late(*state, kinds[i].how, kinds[i].settings);
}

/* Scores that are still those of now need not be computed again: the same bits as when
 * another row was seen in between. */
static void check_between(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, how, settings), *c = copy_of(ctx, m);
    const int32_t index[] = {0, 2, 5};
    const double few[] = {1, -2, 0.5}, other[] = {1, -2, 0.25};
    const ferry_row s = {3, index, few}, o = {3, index, other},
                    d = {D, NULL, (double[D]){0}};
    int32_t cls, votes[256];
    sample r[T], extra;

    make_rounds(r);
    for (int t = 0; t < T && !ferry_i_model_watches(m); t++) {
        see(ctx, m, &r[t], NULL);
        hear(ctx, m, &r[t]);
        see(ctx, c, &r[t], NULL);
        extra = r[(t + 1) % T];
        see(ctx, c, &extra, NULL);
        hear(ctx, c, &r[t]);
        assert_ok(ctx, ferry_model_see(ctx, m, &s, &cls, NULL, votes));
        assert_ok(ctx, ferry_model_learn(ctx, m, &s, "a", votes));
        assert_ok(ctx, ferry_model_see(ctx, c, &s, &cls, NULL, votes));
        assert_ok(ctx, ferry_model_see(ctx, c, t % 2 ? &o : &d, &cls, NULL, NULL));
        assert_ok(ctx, ferry_model_learn(ctx, c, &s, "a", votes));
    }
    assert_same(ctx, m, c);
    ferry_model_free(m);
    ferry_model_free(c);
    ferry_task_free(task);
}

static void test_between(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_between(*state, kinds[i].how, kinds[i].settings);
}

/* A row without its label changes a model only if it says so. */
static void check_watching(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, how, settings), *c = copy_of(ctx, m);
    size_t n, k;
    char *a, *b;
    sample r[T];

    make_rounds(r);
    for (int t = 0; t < 10; t++)
        see(ctx, m, &r[t], NULL);
    a = bytes_of(ctx, m, &n);
    b = bytes_of(ctx, c, &k);
    assert_int_equal(ferry_i_model_watches(m), n != k || memcmp(a, b, n) != 0);
    free(a);
    free(b);
    ferry_model_free(m);
    ferry_model_free(c);
    ferry_task_free(task);
}

static void test_watching(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_watching(*state, kinds[i].how, kinds[i].settings);
}

/* A sparse row is the dense one; a missing cell is the mean of the labelled rows. */
static void check_sparse(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, how, settings), *c = copy_of(ctx, m);
    const int32_t index[] = {1, 4};
    const double few[] = {2, 5}, all[D] = {0, 2, 0, 0, 5, 0},
                 hole[D] = {0, NAN, 0, 0, 5, 0};
    const ferry_row s = {2, index, few}, x = {D, NULL, all}, h = {D, NULL, hole},
                    none = {0, index, few};
    double f[8], g[8];
    int32_t a, b, votes[256];

    for (int i = 0; i < 3; i++) {
        assert_ok(ctx, ferry_model_see(ctx, m, &s, &a, f, votes));
        assert_ok(ctx, ferry_model_learn(ctx, m, &s, "b", votes));
        assert_ok(ctx, ferry_model_see(ctx, c, &x, &b, g, votes));
        assert_ok(ctx, ferry_model_learn(ctx, c, &x, "b", votes));
        for (int64_t k = 0; k < ferry_i_model_class_count(m); k++)
            assert_close(f[k], g[k], 1e-12);
    }
    assert_ok(ctx, ferry_model_see(ctx, m, &none, &a, f, votes));
    assert_ok(ctx, ferry_model_learn(ctx, m, &none, "a", votes));
    assert_ok(ctx, ferry_model_see(ctx, m, &h, &a, f, votes));
    assert_true(isfinite(f[0]));
    assert_ok(ctx, ferry_model_learn(ctx, m, &h, "a", NULL));
    ferry_model_free(m);
    ferry_model_free(c);
    ferry_task_free(task);
}

static void test_sparse(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_sparse(*state, kinds[i].how, kinds[i].settings);
}

/* A class never met before becomes one, at the end; also when its row is all that is
 * known. */
static void check_new_class(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, how, settings);
    const int64_t k = ferry_i_model_class_count(m);
    const double v[D] = {0, 0, 0, 0, 0, 9};
    const ferry_row x = {D, NULL, v};
    int32_t cls = -1, votes[256];
    double f[8];

    for (int i = 0; i < 8; i++) {
        assert_ok(ctx, ferry_model_see(ctx, m, &x, &cls, f, votes));
        assert_ok(ctx, ferry_model_learn(ctx, m, &x, "new", votes));
        assert_int_equal(ferry_i_model_class_count(m), k + 1);
    }
    assert_string_equal(ferry_model_class_at(m, k), "new");
    assert_null(ferry_model_class_at(m, k + 1));
    assert_null(ferry_model_class_at(m, -1));
    assert_ok(ctx, ferry_model_see(ctx, m, &x, &cls, NULL, NULL));
    if (cls != k) fail_msg("%s %s: class %d of %d", how, settings, cls, (int)k);
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_new_class(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_new_class(*state, kinds[i].how, kinds[i].settings);
}

/* Many classes, all met in the stream. */
static void test_many_classes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, "mpa", "");
    const double v[D] = {1, -1, 2, 0, 0, 3};
    const ferry_row x = {D, NULL, v};
    char name[16];
    int32_t cls = -1;

    for (int i = 0; i < 70; i++) {
        (void)snprintf(name, sizeof name, "c%d", i);
        assert_ok(ctx, ferry_model_learn(ctx, m, &x, name, NULL));
    }
    assert_ok(ctx, ferry_model_see(ctx, m, &x, &cls, NULL, NULL));
    assert_string_equal(ferry_model_class_at(m, cls), "c69");
    fail_allocation(1);
    assert_fails(ctx, ferry_model_see(ctx, m, &x, &cls, NULL, NULL), FERRY_ENOMEM,
                 "out of memory");
    fail_allocation(0);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* A state with other columns than the model's view, or more classes than names, as a file
 * may have them: refused. */
static void test_state_differs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, "mpa", "");
    const double v[D] = {1};
    const ferry_row x = {D, NULL, v};
    fitted *f = m->state;
    int32_t cls = 0;

    f->of.width++;
    assert_fails(ctx, ferry_model_see(ctx, m, &x, &cls, NULL, NULL), FERRY_EDATA,
                 "the model's view has 6 columns, its weights 7");
    assert_fails(ctx, ferry_model_learn(ctx, m, &x, "a", NULL), FERRY_EDATA,
                 "the model's view has 6 columns, its weights 7");
    f->of.width--;
    f->of.classes = 9;
    assert_fails(ctx, ferry_model_see(ctx, m, &x, &cls, NULL, NULL), FERRY_EDATA,
                 "the model has weights for 9 classes and names for 4");
    f->of.classes = 4;
    ferry_model_free(m);
    ferry_task_free(task);
}

/* mpa needs no label at all to begin with, and then has no answer. */
static void test_from_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 0, 0, 1};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 2, 2, v);
    ferry_task *task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
    ferry_model *m = fit_model(ctx, task, "mpa", ""), *c = copy_of(ctx, m);
    const ferry_row x = {2, NULL, v}, y = {2, NULL, v + 2};
    ferry_prediction *p = NULL;
    int32_t cls = 7;

    assert_int_equal(ferry_i_model_class_count(c), 0);
    assert_ok(ctx, ferry_model_see(ctx, c, &x, &cls, NULL, NULL));
    assert_int_equal(cls, -1);
    assert_ok(ctx, ferry_predict(ctx, c, t, &p));
    assert_int_equal(p->cls[0], -1);
    ferry_prediction_free(p);
    assert_ok(ctx, ferry_model_learn(ctx, c, &x, "one", NULL));
    assert_ok(ctx, ferry_model_learn(ctx, c, &y, "two", NULL));
    assert_ok(ctx, ferry_model_see(ctx, c, &y, &cls, NULL, NULL));
    assert_string_equal(ferry_model_class_at(c, cls), "two");
    assert_ok(ctx, ferry_predict(ctx, c, t, &p));
    assert_int_equal(p->k, 2);
    assert_int_equal(p->cls[1], 1);
    ferry_prediction_free(p);
    ferry_model_free(m);
    ferry_model_free(c);
    ferry_task_free(task);
}

/* Rows and labels that do not fit: one sentence, and the model is as before. */
static void test_refused(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, "mpa", "scale=causal"), *c = copy_of(ctx, m);
    const double v[D] = {1, INFINITY, 0, 0, 0, 0};
    const int32_t wide[] = {1, D}, back[] = {3, 3}, below[] = {-1, 2};
    const ferry_row shorter = {D - 1, NULL, v}, inf = {D, NULL, v}, w = {2, wide, v},
                    b = {2, back, v + 2}, n = {2, below, v + 2};
    int32_t cls;

    assert_fails(ctx, ferry_model_see(ctx, m, &shorter, &cls, NULL, NULL), FERRY_EDATA,
                 "a row has 5 values, the model's view 'x' 6 columns");
    assert_fails(ctx, ferry_model_see(ctx, m, &inf, &cls, NULL, NULL), FERRY_EDATA,
                 "a row has an infinite value in column 1");
    assert_fails(ctx, ferry_model_see(ctx, m, &w, &cls, NULL, NULL), FERRY_EDATA,
                 "a row has column 6, the model's view 'x' 0 to 5");
    assert_fails(ctx, ferry_model_learn(ctx, m, &b, "a", NULL), FERRY_EDATA,
                 "column 3 after column 3");
    assert_fails(ctx, ferry_model_learn(ctx, m, &n, "a", NULL), FERRY_EDATA,
                 "a row has column -1, the model's view 'x' 0 to 5");
    const ferry_row ok = {D, NULL, (const double[D]){0}};
    assert_fails(ctx, ferry_model_learn(ctx, m, &ok, "", NULL), FERRY_EDATA,
                 "a label is empty");
    assert_fails(ctx, ferry_model_learn(ctx, m, &ok, NULL, NULL), FERRY_EINVAL,
                 "argument label is NULL");
    const double rows[2][D] = {{0}, {0, INFINITY}};
    const ferry_array all = {2, D, D, rows[0]}, narrow = {1, D - 1, D, rows[0]};
    const int32_t first[] = {0, -1}, third[] = {0, 2};
    const char *const two[] = {"a", ""};
    assert_fails(ctx, ferry_model_learn_rows(ctx, m, &all, 1, two, first, NULL),
                 FERRY_EDATA, "a row has an infinite value in column 1");
    assert_fails(ctx, ferry_model_learn_rows(ctx, m, &narrow, 1, two, first, NULL),
                 FERRY_EDATA, "a row has 5 values, the model's view 'x' 6 columns");
    assert_fails(ctx, ferry_model_learn_rows(ctx, m, &all, 1, two, third, NULL),
                 FERRY_EDATA, "row 1 has label 2, there are 1 names");
    assert_fails(ctx, ferry_model_learn_rows(ctx, m, &all, 2, two, first, NULL),
                 FERRY_EDATA, "a label is empty");
    const ferry_array bad_array[] = {
        {1, D, D, NULL}, {1, D, D - 1, rows[0]}, {-1, D, D, rows[0]}, {1, -1, D, rows[0]}};
    for (int64_t i = 0; i < FERRY_COUNT(bad_array); i++)
        assert_fails(ctx,
                     ferry_model_learn_rows(ctx, m, &bad_array[i], 1, two, first, NULL),
                     FERRY_EINVAL, "ferry_model_learn_rows: not an array: ");
    assert_fails(ctx, ferry_model_learn_rows(ctx, m, &bad_array[1], 1, two, first, NULL),
                 FERRY_EINVAL, "1 rows, 6 columns, ld 5, data given");
    assert_fails(ctx, ferry_model_learn_rows(ctx, m, &all, -1, two, first, NULL),
                 FERRY_EINVAL, "ferry_model_learn_rows: n is -1");
    assert_ok(ctx, ferry_model_learn_rows(ctx, m, &(ferry_array){0, D, D, NULL}, 1, two,
                                          first, NULL));
    assert_same(ctx, m, c);
    ferry_model_free(c);
    ferry_model_free(m);
    m = fit_model(ctx, task, "mpa", "");
    m->method = ferry_i_method_find("svm"); /* any that does not stream */
    assert_false(ferry_i_model_streams(m));
    assert_int_equal(ferry_i_model_vote_count(m), 0);
    assert_false(ferry_i_model_watches(m));
    assert_fails(ctx, ferry_model_see(ctx, m, &ok, &cls, NULL, NULL), FERRY_ENEEDS,
                 "svm does not learn from a stream");
    assert_fails(ctx, ferry_model_learn_rows(ctx, m, &narrow, 1, two, first, NULL),
                 FERRY_ENEEDS, "svm does not learn from a stream");
    m->method = ferry_i_method_find("mpa");
    ferry_model_free(m);
    ferry_task_free(task);
}

/* Every allocation may fail: ENOMEM, and the model goes on. */
typedef struct arg {
    const ferry_task *task;
    const char *how, *settings;
} arg;

static ferry_status stream_all(ferry_ctx *ctx, void *p)
{
    ferry_status st = FERRY_OK;
    const arg *a = p;
    const double v[D] = {1, 2, 3, 4, 5, 6};
    const ferry_row x = {D, NULL, v};
    ferry_opts *opts = NULL;
    ferry_model *m = NULL, *c = NULL;
    ferry_prediction *q = NULL;
    int32_t cls = 0, votes[256];

    FERRY_TRY(ferry_opts_new(ctx, &opts));
    for (const char *s = a->settings; *s;) {
        char pair[2][32];
        int used = 0;
        if (sscanf(s, " %31[^=]=%31s%n", pair[0], pair[1], &used) != 2) break;
        FERRY_TRY(ferry_opts_set(ctx, opts, pair[0], pair[1]));
        s += used;
    }
    FERRY_TRY(ferry_fit(ctx, a->task, a->how, opts, &m, NULL));
    for (int i = 0; i < 12; i++) {
        FERRY_TRY(ferry_model_see(ctx, m, &x, &cls, NULL, votes));
        FERRY_TRY(ferry_model_learn(ctx, m, &x, i % 2 ? "a" : "never seen", votes));
    }
    FERRY_TRY(ferry_model_learn_rows(ctx, m, &(ferry_array){1, D, D, v}, 1,
                                     (const char *const[]){"nor this"}, &(int32_t){0},
                                     NULL));
    FERRY_TRY(ferry_model_save(ctx, m, tmp_path("oom.ferry")));
    FERRY_TRY(ferry_model_load(ctx, tmp_path("oom.ferry"), NULL, &c));
    FERRY_TRY(ferry_predict(ctx, c,
                            a->task->domains[0]->role == FERRY_TARGET ? a->task->domains[0]
                                                                      : a->task->domains[1],
                            &q));
done:
    ferry_prediction_free(q);
    ferry_model_free(c);
    ferry_model_free(m);
    ferry_opts_free(opts);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);

    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++) {
        arg a = {task, kinds[i].how, kinds[i].settings};
        each_allocation_fails(ctx, stream_all, &a);
    }
    ferry_task_free(task);
}

/* learn() that runs out of memory leaves the model as it was, but for an unused name. */
static void check_learn_memory(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, how, settings), *c = copy_of(ctx, m);
    const double v[D] = {1, 2, 3, 4, 5, 6};
    const ferry_row x = {D, NULL, v};
    ferry_status st = FERRY_ENOMEM;
    int32_t cls, votes[256], twin[256];
    double f[8], g[8];

    assert_ok(ctx, ferry_model_see(ctx, m, &x, &cls, f, votes));
    assert_ok(ctx, ferry_model_see(ctx, c, &x, &cls, g, twin));
    for (int64_t n = 1; st == FERRY_ENOMEM; n++) {
        fail_allocation(n);
        st = ferry_model_learn(ctx, m, &x, "new", votes);
        fail_allocation(0);
    }
    assert_ok(ctx, st);
    assert_ok(ctx, ferry_model_learn(ctx, c, &x, "new", twin));
    assert_same(ctx, m, c);
    ferry_model_free(c);
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_learn_memory(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_learn_memory(*state, kinds[i].how, kinds[i].settings);
}

/* A file with any one tensor left out or of another shape is refused in one sentence. */
static void check_strange(ferry_ctx *ctx, const char *how, const char *settings)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, how, settings);
    ferry_dict *good = NULL, *bad = NULL;
    void *s = NULL;
    sample r[T];

    make_rounds(r);
    for (int t = 0; t < 9; t++) {
        see(ctx, m, &r[t], NULL);
        hear(ctx, m, &r[t]);
    }
    assert_ok(ctx, ferry_i_dict_new(ctx, &good));
    assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, good));
    for (int64_t i = 0; i < 4 * good->n; i++) {
        const char *name = ferry_i_ids_at(good->names, i / 4);
        const dict_tensor *was = &good->tensor[i / 4];
        const double minus[] = {-1e9, -1e9, -1e9};
        const int64_t cols = was->rows == 1 && was->cols == 2 ? 3 : 2; /* not as it was */
        const int64_t numbers[] = {INT64_MAX, -3};
        assert_ok(ctx, ferry_i_dict_new(ctx, &bad));
        for (int64_t t = 0; t < good->n; t++) {
            dict_tensor lent = good->tensor[t];
            lent.owned = NULL;
            if (t != i / 4)
                assert_ok(
                    ctx, ferry_i_dict_add(ctx, bad, ferry_i_ids_at(good->names, t), &lent));
        }
        if (i % 4 == 1)
            assert_ok(ctx, ferry_i_dict_put_reals(ctx, bad, name, 1, cols, minus));
        if (i % 4 == 2) assert_ok(ctx, ferry_i_dict_put_ints(ctx, bad, name, 2, numbers));
        if (i % 4 == 3) assert_ok(ctx, ferry_i_dict_put_ints(ctx, bad, name, 0, numbers));
        assert_fails(ctx, ferry_i_method_load(ctx, m->method, bad, &s), FERRY_EDATA, "");
        assert_null(s);
        ferry_i_dict_free(bad);
    }
    ferry_i_dict_free(good);
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_strange(void **state)
{
    for (int64_t i = 0; i < FERRY_COUNT(kinds); i++)
        check_strange(*state, kinds[i].how, kinds[i].settings);
}

/* Unit length, also of numbers whose squares are no numbers. */
static void test_unit(void **state)
{
    double big[] = {3e200, 4e200}, tiny[] = {3e-200, -4e-200}, zero[] = {0, 0};

    (void)state;
    row_unit(2, big);
    assert_close(big[0], 0.6, 1e-15);
    row_unit(2, tiny);
    assert_close(tiny[1], -0.8, 1e-15);
    row_unit(2, zero);
    assert_true(zero[0] == 0);
}

/* Running means and deviations are those of all rows. */
static void moments_body(scope *s, void *none)
{
    const double v[] = {1, 5, 3, 5, 8, 5};
    const int32_t index[] = {1};
    const double some[] = {5};
    moments m = moments_new(s, 2);
    double z[2];

    (void)none;
    for (int i = 0; i < 3; i++)
        moments_add(&m, (ferry_row){2, NULL, v + 2 * i});
    assert_close(m.mean[0], 4, 1e-15);
    assert_close(m.m2[0], 9 + 1 + 16, 1e-14);
    assert_true(m.m2[1] == 0);
    /* sd = sqrt(26 / 3), 0: the second is divided by 0.05 of the first; (0 - 4) / sd, 0 */
    moments_scale(&m, (ferry_row){1, index, some}, z);
    assert_close(z[0], -1, 1e-15);
    assert_close(z[1], 0, 1e-15);
    moments_add(&m, (ferry_row){1, index, some});
    assert_close(m.mean[0], 3, 1e-15);
    m = moments_new(s, 2);
    moments_scale(&m, (ferry_row){2, NULL, v}, z);
    assert_true(z[0] == 0 && z[1] == 0);
}

static void test_moments(void **state)
{
    assert_ok(*state, scope_run(*state, moments_body, NULL));
}

/* A target with two views is refused; so is one whose view has other columns. */
static void test_views(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, "mpa", "");
    const double v[2 * D] = {0};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 2, D, v);
    ferry_prediction p = {.n = 0};

    small_view(ctx, t, "more", 2, D, v, NULL, NULL, false);
    assert_fails(ctx, m->method->predict(ctx, m->state, t, &p), FERRY_EDATA,
                 "mpa has one view, domain 't' 2");
    ferry_task_free(task);
    task = small_task(ctx, FERRY_CLASSIFY, NULL, t);
    assert_fails(ctx, method_fits(ctx, "mpa", task, NULL), FERRY_ENEEDS,
                 "mpa needs just one view in the target; target 't' has 2");
    ferry_task_free(task);
    t = small_domain(ctx, "t", FERRY_TARGET, 2, 2, v);
    assert_fails(ctx, m->method->predict(ctx, m->state, t, &p), FERRY_EDATA,
                 "view 'x' has 2 features, the model's 6");
    ferry_domain_free(t);
    t = small_domain(ctx, "t", FERRY_TARGET, 2, D, v);
    assert_fails(ctx, m->method->predict(ctx, m->state, t, &p), FERRY_EDATA,
                 "the model has weights for 4 classes and names for 0");
    ferry_domain_free(t);
    ferry_model_free(m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rounds),        TEST(test_many),         TEST(test_late),
        TEST(test_between),       TEST(test_watching),     TEST(test_sparse),
        TEST(test_new_class),     TEST(test_from_nothing), TEST(test_many_classes),
        TEST(test_state_differs), TEST(test_refused),      TEST(test_memory),
        TEST(test_learn_memory),  TEST(test_strange),      TEST(test_unit),
        TEST(test_moments),       TEST(test_views),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
