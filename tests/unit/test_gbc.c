/* gbc and the baselines that come with it, through the public seam. */
#include "ferry_test.h"

#include <jansson.h>
#include <stdio.h>

#include "methods/method.h"
#include "small_task.h"
#include "state/dict_private.h"

enum { N = 60, D = 3 };

static double x1[N * D], x2[N * D], x3[N * D], y[N];
static char letters[N + 1];
static char names[N][8];
static bool stored_sparse; /* how add_view stores */

/* Two hidden numbers u and v; view one sees u, view two sees v, view three nothing. Classes
 * are quadrants or halves of u + v; numbers are u + v. */
static void make_data(int classes)
{
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 17, 0);
    for (int i = 0; i < N; i++) {
        const double u = ferry_i_rng_normal(&rng), v = ferry_i_rng_normal(&rng);
        for (int j = 0; j < D; j++) {
            x1[i * D + j] = j == 0 ? u : ferry_i_rng_normal(&rng);
            x2[i * D + j] = j == 1 ? v : ferry_i_rng_normal(&rng);
            x3[i * D + j] = ferry_i_rng_normal(&rng);
        }
        y[i] = 100 + 10 * (u + v);
        letters[i] = (char)(classes == 2 ? 'a' + (u + v > 0)
                                         : 'a' + (u > 0) + (v > 0)); /* a, b, c */
        snprintf(names[i], sizeof names[i], "i%02d", i);
    }
}

/* Rows of a view: all but those whose number is `lacks` modulo 5. */
static void add_view(ferry_ctx *ctx, ferry_domain *d, const char *name, const double *x,
                     int lacks)
{
    const char *ids[N];
    double rows[N * D];
    int n = 0;

    for (int i = 0; i < N; i++) {
        if (lacks >= 0 && i % 5 == lacks) continue;
        ids[n] = names[i];
        memcpy(rows + n * D, x + i * D, D * sizeof *x);
        n++;
    }
    small_view(ctx, d, name, n, D, rows, ids, NULL, stored_sparse);
}

/* Neighbours in the order of y: they are alike. */
static void add_graph(ferry_ctx *ctx, ferry_domain *d, const char *name, bool alike)
{
    const char *from[N], *to[N];
    int order[N];

    for (int i = 0; i < N; i++)
        order[i] = i;
    for (int i = 1; alike && i < N; i++)
        for (int j = i; j > 0 && y[order[j]] < y[order[j - 1]]; j--) {
            const int swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    for (int i = 0; i + 1 < N; i++) {
        from[i] = names[order[i]];
        to[i] = names[order[i + 1]];
    }
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, name, N - 1, from, to, NULL));
}

/* parts: views 1, 2, 3 (with - after it some rows are absent), graphs g (good) and r
 * (random), y labels (every third). */
static ferry_domain *domain_of(ferry_ctx *ctx, const char *parts, int classes)
{
    ferry_domain *d = NULL;
    const char *ids[N], *labels[N];
    double num[N];
    static char text[N][2];
    int n = 0;

    make_data(classes ? classes : 2);
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    for (const char *p = parts; *p; p++) {
        const int lacks = p[1] == '-' ? *p - '0' : -1;
        if (*p == '1') add_view(ctx, d, "one", x1, lacks);
        if (*p == '2') add_view(ctx, d, "two", x2, lacks);
        if (*p == '3') add_view(ctx, d, "three", x3, lacks);
    }
    if (strchr(parts, 'g')) add_graph(ctx, d, "good", true);
    if (strchr(parts, 'r')) add_graph(ctx, d, "random", false);
    for (int i = 0; strchr(parts, 'y') && i < N; i++) {
        if (i % 3 == 2) continue;
        ids[n] = names[i];
        text[n][0] = letters[i];
        labels[n] = text[n];
        num[n++] = y[i];
    }
    if (n > 0 && classes)
        assert_ok(ctx, ferry_domain_set_classes(ctx, d, n, ids, labels));
    else if (n > 0)
        assert_ok(ctx, ferry_domain_set_numbers(ctx, d, n, ids, num));
    return d;
}

static ferry_task *task_of(ferry_ctx *ctx, const char *parts, int classes)
{
    return small_task(ctx, classes ? FERRY_CLASSIFY : FERRY_REGRESS, NULL,
                      domain_of(ctx, parts, classes));
}

static int number(const char *id)
{
    return atoi(id + 1);
}

/* Share right, or 1 - squared error / variance, of the instances without labels. */
static double quality(const ferry_prediction *p)
{
    double right = 0, count = 0, error = 0, all = 0;

    for (int64_t e = 0; e < p->n; e++) {
        const int i = number(p->ids[e]);
        if (i % 3 != 2) continue;
        count++;
        if (p->cls) {
            right += p->cls[e] >= 0 && p->names[p->cls[e]][0] == letters[i];
        } else {
            error += pow(p->value[e] - y[i], 2);
            all += pow(100 - y[i], 2);
        }
    }
    return p->cls ? right / count : 1 - error / all;
}

static double quality_of(ferry_ctx *ctx, const ferry_task *t, const char *method,
                         const char *settings)
{
    ferry_prediction *p = fit_predict(ctx, t, method, settings, ferry_task_domain_at(t, 0));
    const double q = quality(p);

    ferry_prediction_free(p);
    return q;
}

static void test_learns(void **state)
{
    static const char *const settings[] = {"",
                                           "combine=average trees=20",
                                           "combine=average folds=0 trees=20",
                                           "combine=additive correct=no trees=20",
                                           "correct=smooth strength=0.5 trees=20",
                                           "correct=residual trees=20",
                                           "folds=0 trees=20 correct=smooth",
                                           "learner=tree trees=15",
                                           "learner=tree bins=64 trees=15",
                                           "learner=linear",
                                           "learner=linear folds=0 correct=no"};
    ferry_ctx *ctx = *state;

    for (int classes = 0; classes <= 3; classes++) {
        if (classes == 1) continue;
        ferry_task *t = task_of(ctx, "1-2-gry", classes);
        for (int64_t s = 0; s < FERRY_COUNT(settings); s++) {
            const double q = quality_of(ctx, t, "gbc", settings[s]);
            if (q < (classes == 0 ? 0.1 : 0.45))
                fail_msg("gbc %s with %d classes: %g", settings[s], classes, q);
        }
        if (quality_of(ctx, t, "gbc-paper", "trees=20 rate=0.5") < 0.1)
            fail_msg("the published way with %d classes", classes);
        ferry_task_free(t);
    }
}

static json_t *diagnostics(const ferry_model *m)
{
    json_t *root = json_loads(m->diagnostics, 0, NULL);

    assert_non_null(root);
    return root;
}

static double at(const json_t *root, const char *group, const char *key)
{
    return json_number_value(json_object_get(json_object_get(root, group), key));
}

/* A view of noise shows no skill and gets no weight; what the others are made of is
 * told. */
static void test_explains(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, "123gry", 0);
    ferry_model *m = fit_model(ctx, t, "gbc", "combine=average learner=tree");
    json_t *d = diagnostics(m);

    assert_true(at(d, "weights", "three") < 0.1);
    assert_true(at(d, "weights", "one") > 0.2);
    assert_close(at(d, "weights", "one") + at(d, "weights", "two") +
                     at(d, "weights", "three"),
                 1, 1e-12);
    assert_true(at(d, "graph_weights", "good") > at(d, "graph_weights", "random"));
    assert_true(at(d, "held_out_loss", "one") < at(d, "held_out_loss", "three"));
    assert_true(json_number_value(json_object_get(d, "constant_loss")) > 0);
    assert_true(at(d, "importance", "one.1") > 0.2);
    assert_true(at(d, "importance", "two.2") > 0.2);
    assert_non_null(strstr(json_string_value(json_object_get(d, "note")), "one 0."));
    json_decref(d);
    ferry_model_free(m);
    m = fit_model(ctx, t, "gbc", "combine=additive trees=10 learner=tree");
    d = diagnostics(m);
    assert_non_null(strstr(json_string_value(json_object_get(d, "note")), "add up"));
    json_decref(d);
    ferry_model_free(m);
    ferry_task_free(t);
}

/* Views alone: no graph, so no neighbours to agree with. */
static void test_without_graphs(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const options[] = {"combine=additive trees=20 rate=0.5",
                                          "combine=average trees=30"};

    for (int classes = 0; classes <= 3; classes += 3)
        for (int o = 0; o < 2; o++) {
            ferry_task *t = task_of(ctx, "12y", classes);
            assert_true(quality_of(ctx, t, "gbc", options[o]) > 0.3);
            ferry_task_free(t);
        }
}

/* A view of noise and a graph that tells all: asked without the graph the model knows little, and is as little
 * sure. The powers that it found are for answers which the graph has flattened. */
static void test_asked_without_graph(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, "3gy", 2);
    ferry_model *m = fit_model(ctx, t, "gbc", "");
    ferry_domain *d = domain_of(ctx, "3", 2);
    ferry_prediction *p = NULL;
    double sure = 0, n = 0;

    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    for (int64_t i = 0; i < p->n; i++) {
        if (number(p->ids[i]) % 3 != 2) continue; /* seen with its label */
        sure += fmax(p->score[2 * i], p->score[2 * i + 1]);
        n++;
    }
    assert_true(sure < 0.58 * n);
    ferry_prediction_free(p);
    ferry_domain_free(d);
    ferry_model_free(m);
    ferry_task_free(t);
}

/* Saved and loaded it predicts the same, also instances that have only some of the views or
 * none: those get their neighbours' mean or the base score, and it says so. */
static void test_some_views(void **state)
{
    ferry_ctx *ctx = *state;

    for (int classes = 0; classes <= 3; classes += 3) {
        ferry_task *t = task_of(ctx, "1-2-gy", classes);
        ferry_model *m = fit_model(ctx, t, "gbc", "trees=15"), *back = NULL;
        ferry_domain *part = domain_of(ctx, "1-g", classes);
        ferry_prediction *a = NULL, *b = NULL;
        assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("gbc.ferry")));
        assert_ok(ctx, ferry_model_load(ctx, tmp_path("gbc.ferry"), "gbc", &back));
        assert_ok(ctx, ferry_predict(ctx, m, part, &a));
        assert_ok(ctx, ferry_predict(ctx, back, part, &b));
        assert_int_equal(a->n, b->n);
        for (int64_t i = 0; i < a->n; i++) {
            if (classes) assert_memory_equal(a->score, b->score, 8 * (size_t)(a->n * a->k));
            if (!classes) assert_true(a->value[i] == b->value[i]);
            assert_int_not_equal(a->basis[i], FERRY_BASIS_BASE);
        }
        ferry_prediction_free(a);
        ferry_prediction_free(b);
        ferry_domain_free(part);
        /* one instance in one view, no graph */
        part = NULL;
        assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &part));
        assert_ok(ctx, ferry_domain_add_dense(ctx, part, "one", &(ferry_array){1, D, D, x1}, (const char *[]){"i07"}, NULL, NULL));
        assert_ok(ctx, ferry_predict(ctx, m, part, &a));
        assert_int_equal(a->basis[0], FERRY_BASIS_VIEWS);
        assert_ok(ctx, ferry_prediction_write(ctx, a, tmp_path("gbc.csv")));
        char *text = slurp(tmp_path("gbc.csv"));
        assert_non_null(strstr(text, ",basis\n"));
        assert_non_null(strstr(text, ",views\n"));
        free(text);
        ferry_prediction_free(a);
        ferry_domain_free(part);
        ferry_model_free(m);
        ferry_model_free(back);
        ferry_task_free(t);
    }
}

/* Instances in no view: neighbours answer for one that has some, else the base score. */
static void test_no_view(void **state)
{
    ferry_ctx *ctx = *state;
    const char *from[] = {"i00", "i03"}, *to[] = {"lone", "lone"};
    const char *ids[] = {"lone", "alone"}; /* joined in a graph the model does not know */

    for (int correct = 0; correct < 3; correct++) {
        static const char *const settings[] = {"trees=5 correct=no",
                                               "trees=5 correct=smooth",
                                               "trees=5 correct=residual folds=0"};
        ferry_task *t = task_of(ctx, "1-2-gy", 3);
        ferry_model *m = fit_model(ctx, t, "gbc", settings[correct]);
        ferry_domain *d = NULL;
        ferry_prediction *p = NULL;
        int seen = 0;
        assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
        assert_ok(ctx, ferry_domain_add_graph(ctx, d, "other", 1, ids, ids + 1, NULL));
        add_view(ctx, d, "one", x1, 1);
        add_view(ctx, d, "two", x2, 2);
        assert_ok(ctx, ferry_domain_add_graph(ctx, d, "good", 2, from, to, NULL));
        assert_ok(ctx, ferry_predict(ctx, m, d, &p));
        for (int64_t i = 0; i < p->n; i++) {
            if (strcmp(p->ids[i], "lone") == 0) {
                seen++;
                assert_int_equal(p->basis[i], FERRY_BASIS_NEIGHBOURS);
            } else if (strcmp(p->ids[i], "alone") == 0) {
                seen++;
                assert_int_equal(p->basis[i], FERRY_BASIS_BASE);
            } else {
                assert_int_equal(p->basis[i], FERRY_BASIS_VIEWS);
            }
        }
        assert_int_equal(seen, 2);
        ferry_prediction_free(p);
        ferry_domain_free(d);
        ferry_model_free(m);
        ferry_task_free(t);
    }
}

/* Rows in another order, and views too: the same answers for the same ids. Any number of
 * threads: the same bits. */
static void test_order_and_threads(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *a = task_of(ctx, "1-2-gy", 3), *b = task_of(ctx, "2-1-gy", 3);
    const char *const settings = "folds=0 trees=10";
    ferry_prediction *p = fit_predict(ctx, a, "gbc", settings, ferry_task_domain_at(a, 0));
    ferry_prediction *q = fit_predict(ctx, b, "gbc", settings, ferry_task_domain_at(b, 0));

    for (int64_t i = 0; i < p->n; i++) {
        int64_t j = 0;
        while (strcmp(p->ids[i], q->ids[j]) != 0)
            j++;
        for (int c = 0; c < 3; c++)
            assert_close(p->score[i * 3 + c], q->score[j * 3 + c], 1e-9);
    }
    ferry_prediction_free(q);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 3));
    q = fit_predict(ctx, a, "gbc", settings, ferry_task_domain_at(a, 0));
    assert_memory_equal(p->score, q->score, (size_t)(p->n * 3) * sizeof(double));
    ferry_prediction_free(q);
    ferry_prediction_free(p);
    ferry_task_free(a);
    ferry_task_free(b);
}

static void test_baselines(void **state)
{
    ferry_ctx *ctx = *state;
    static const struct {
        const char *method, *settings;
        double classes, numbers; /* quality at least; 0: does not serve the goal */
    } all[] = {
        {"gbdt-average", "trees=20", 0.6, 0.3},
        {"label-propagation", "", 0.5, 0.3},
        {"ica", "", 0.6, 0},
        {"gibbs", "", 0.6, 0},
        {"sgc", "", 0.5, 0},
        {"correct-smooth", "", 0.5, 0},
        {"semi-svm", "", 0.4, 0},
        {"semi-gbdt", "trees=10 rounds=2", 0.5, 0},
    };

    for (int classes = 0; classes <= 3; classes++) {
        if (classes == 1) continue;
        ferry_task *t = task_of(ctx, "12gy", classes);
        for (int64_t i = 0; i < FERRY_COUNT(all); i++) {
            const double least = classes ? all[i].classes : all[i].numbers;
            ferry_model *m = NULL, *back = NULL;
            ferry_prediction *p = NULL, *q = NULL;
            if (least == 0) continue;
            m = fit_model(ctx, t, all[i].method, all[i].settings);
            assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("b.ferry")));
            assert_ok(ctx, ferry_model_load(ctx, tmp_path("b.ferry"), NULL, &back));
            assert_ok(ctx, ferry_predict(ctx, m, ferry_task_domain_at(t, 0), &p));
            assert_ok(ctx, ferry_predict(ctx, back, ferry_task_domain_at(t, 0), &q));
            if (quality(p) < least)
                fail_msg("%s with %d classes: %g", all[i].method, classes, quality(p));
            assert_close(quality(p), quality(q), 0);
            ferry_prediction_free(p);
            ferry_prediction_free(q);
            ferry_model_free(m);
            ferry_model_free(back);
        }
        ferry_task_free(t);
    }
}

/* Words of which none says much, and a graph within the classes: lines on smoothed features
 * have more say than trees, and a graph that joins at random gets no weight. */
static void test_words(void **state)
{
    enum { ROWS = 60, WORDS = 80 };
    ferry_ctx *ctx = *state;
    ferry_domain *d = NULL;
    ferry_rng rng;
    static double x[ROWS * WORDS];
    static char name[ROWS][8];
    const char *ids[ROWS], *cls[ROWS], *seen[ROWS], *from[2][3 * ROWS], *to[2][3 * ROWS];
    int64_t n = 0, edges[2] = {0};

    ferry_i_rng_for(ctx, &rng, "words");
    for (int i = 0; i < ROWS; i++) {
        (void)snprintf(name[i], sizeof name[i], "r%d", i);
        ids[i] = name[i];
        for (int j = 0; j < WORDS; j++)
            x[i * WORDS + j] = ferry_i_rng_real(&rng) < (j % 2 == i % 2 ? 0.22 : 0.08);
        if (i % 3 == 0) {
            seen[n] = name[i];
            cls[n++] = i % 2 ? "odd" : "even";
        }
    }
    for (int i = 0; i < 3 * ROWS; i++) {
        const int64_t a = i / 3, b = (int64_t)ferry_i_rng_below(&rng, ROWS / 2) * 2 + a % 2,
                      c = (int64_t)ferry_i_rng_below(&rng, ROWS);
        if (a != b) {
            from[0][edges[0]] = name[a];
            to[0][edges[0]++] = name[b];
        }
        if (a != c) {
            from[1][edges[1]] = name[a];
            to[1][edges[1]++] = name[c];
        }
    }
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    assert_ok(ctx,
              ferry_domain_add_dense(ctx, d, "x", &(ferry_array){ROWS, WORDS, WORDS, x}, ids, NULL, NULL));
    assert_ok(ctx,
              ferry_domain_add_graph(ctx, d, "within", edges[0], from[0], to[0], NULL));
    assert_ok(ctx,
              ferry_domain_add_graph(ctx, d, "random", edges[1], from[1], to[1], NULL));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, n, seen, cls));
    ferry_task *t = small_task(ctx, FERRY_CLASSIFY, NULL, d);
    ferry_model *m = fit_model(ctx, t, "gbc", ""), *back = NULL;
    json_t *diag = diagnostics(m);
    const json_t *w = json_object_get(diag, "graph_weights");
    assert_true(json_number_value(json_object_get(w, "within")) > 0.6);
    /* linear scores have it, whichever of them */
    assert_true(at(diag, "parts", "linear") + at(diag, "parts", "smoothed linear") +
                    at(diag, "parts", "self-trained linear") >
                0.95);
    json_decref(diag);
    ferry_prediction *p = NULL, *q = NULL;
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("l.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("l.ferry"), NULL, &back));
    assert_ok(ctx, ferry_predict(ctx, m, ferry_task_domain_at(t, 0), &p));
    assert_ok(ctx, ferry_predict(ctx, back, ferry_task_domain_at(t, 0), &q));
    int right = 0;
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(p->cls[i], q->cls[i]);
        right += p->names[p->cls[i]][0] == (i % 2 ? 'o' : 'e');
    }
    assert_true(right >= 54);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_model_free(m);
    ferry_model_free(back);
    ferry_task_free(t);
}

static void test_needs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *one = task_of(ctx, "1y", 2), *none = task_of(ctx, "12g", 2);
    ferry_model *m = NULL;

    assert_fails(ctx, ferry_fit(ctx, one, "gbc", NULL, &m, NULL), FERRY_ENEEDS,
                 "gbc needs several views, or a view and a graph");
    assert_fails(ctx, ferry_fit(ctx, one, "gbdt-average", NULL, &m, NULL), FERRY_ENEEDS,
                 "gbdt-average needs several views");
    assert_fails(ctx, ferry_fit(ctx, one, "label-propagation", NULL, &m, NULL),
                 FERRY_ENEEDS, "needs a graph");
    assert_fails(ctx, ferry_fit(ctx, none, "gbc", NULL, &m, NULL), FERRY_ENEEDS,
                 "needs some labels");
    ferry_task_free(one);
    ferry_task_free(none);
}

static ferry_answer stop_late(void *user, const ferry_progress *p)
{
    int *left = user;

    (void)p;
    return --*left < 0 ? FERRY_CANCEL : FERRY_GO;
}

static ferry_answer finish_late(void *user, const ferry_progress *p)
{
    int *left = user;

    (void)p;
    return --*left < 0 ? FERRY_FINISH : FERRY_GO;
}

static void test_stopping(void **state)
{
    static const char *const methods[] = {"gbc", "gbdt-average", "semi-gbdt"};
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, "12gy", 3);

    for (int64_t i = 0; i < FERRY_COUNT(methods); i++) {
        ferry_opts *o = settings_of(ctx, "trees=6");
        for (int n = 0; n < 12; n += 4) {
            int left = n;
            ferry_model *m = NULL;
            ferry_ctx_set_progress(ctx, stop_late, &left);
            const ferry_status st = ferry_fit(ctx, t, methods[i], o, &m, NULL);
            if (st != FERRY_OK) assert_int_equal(st, FERRY_ECANCELLED);
            if (st != FERRY_OK) assert_null(m);
            if (n == 0) assert_int_equal(st, FERRY_ECANCELLED);
            ferry_model_free(m);
            left = n;
            m = NULL;
            ferry_ctx_set_progress(ctx, finish_late, &left);
            assert_ok(ctx, ferry_fit(ctx, t, methods[i], o, &m, NULL));
            ferry_model_free(m);
            ferry_ctx_set_progress(ctx, NULL, NULL);
        }
        ferry_opts_free(o);
    }
    ferry_task_free(t);
}

/* Values decide, storage never: the same bits from dense and from sparse views. */
static void test_storage(void **state)
{
    static const char *const methods[] = {"gbc", "gbdt-average"};
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(methods); i++) {
        ferry_prediction *p[2];
        for (int sparse = 0; sparse < 2; sparse++) {
            stored_sparse = sparse;
            ferry_task *t = task_of(ctx, "1-2-gy", 3);
            p[sparse] =
                fit_predict(ctx, t, methods[i], "trees=5", ferry_task_domain_at(t, 0));
            ferry_task_free(t);
        }
        assert_memory_equal(p[0]->score, p[1]->score, sizeof(double) * 3 * N);
        ferry_prediction_free(p[0]);
        ferry_prediction_free(p[1]);
    }
    stored_sparse = false;
}

typedef struct job {
    ferry_task *task;
    ferry_opts *opts;
    const char *method;
} job;

static ferry_status whole(ferry_ctx *ctx, void *arg)
{
    const job *j = arg;
    ferry_model *m = NULL, *back = NULL;
    ferry_prediction *p = NULL;
    ferry_dict *dict = NULL;
    ferry_status st = ferry_fit(ctx, j->task, j->method, j->opts, &m, NULL);

    if (st == FERRY_OK) st = ferry_i_dict_new(ctx, &dict);
    if (st == FERRY_OK) st = ferry_i_model_pack(ctx, m, dict);
    if (st == FERRY_OK) st = ferry_i_model_unpack(ctx, "m", dict, NULL, &back);
    if (st == FERRY_OK) st = ferry_predict(ctx, back, ferry_task_domain_at(j->task, 0), &p);
    ferry_prediction_free(p);
    ferry_i_dict_free(dict);
    ferry_model_free(m);
    ferry_model_free(back);
    return st;
}

/* Where neighbours are all of known class nothing is drawn that anybody looks at: what gibbs says is what ica's model
 * says. A pair of unknown neighbours is where they part. */
static void test_gibbs_and_ica(void **state)
{
    enum { KNOWN = 20, ALL = 24 };
    ferry_ctx *ctx = *state;
    /* the last two join unknown ones */
    static const char *const id[] = {"21", "22", "23", "24", "21", "1", "2", "21", "23"},
                             *const other[] = {"1", "2", "3",  "4", "5",
                                               "3", "4", "22", "24"};
    double x[ALL * 2];

    for (int i = 0; i < ALL; i++) {
        x[2 * i] = (i % 2 ? 1 : -1) + 0.4 * (i % 5);
        x[2 * i + 1] = i % 3;
    }
    for (int unknown = 0; unknown <= 1; unknown++) {
        ferry_domain *d = NULL;
        assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
        small_view(ctx, d, "x", ALL, 2, x, NULL, NULL, false);
        small_classes(ctx, d, "abababababababababab????");
        assert_ok(ctx,
                  ferry_domain_add_graph(ctx, d, "g", unknown ? 9 : 7, id, other, NULL));
        ferry_task *t = small_task(ctx, FERRY_CLASSIFY, NULL, d);
        ferry_prediction *p = fit_predict(ctx, t, "ica", "", d),
                         *q = fit_predict(ctx, t, "gibbs", "", d);
        double most = 0;
        for (int64_t i = 2 * KNOWN; i < 2 * ALL; i++)
            most = fmax(most, fabs(p->score[i] - q->score[i]));
        if (unknown)
            assert_true(most > 1e-6);
        else
            assert_true(most < 1e-12);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_task_free(t);
    }
}

/* As printed: lambda as it is given, which for one view is all; several views learn one after the other. */
static void test_as_printed(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const views[] = {"1-gy", "12gy"};

    for (int v = 0; v < 2; v++) {
        ferry_task *t = task_of(ctx, views[v], 2);
        const ferry_domain *d = ferry_task_domain_at(t, 0);
        char same[80];
        double labelled = 0, apart = 0;
        ferry_prediction *p = fit_predict(
            ctx, t, "gbc-paper", "trees=5 lambda1=0.2 lambda0=0.1 as_printed=yes", d);
        for (int64_t i = 0; i < d->labels->n; i++)
            labelled += d->labels->cls[i] >= 0;
        const double unit = ((double)p->n - labelled) / labelled;
        snprintf(same, sizeof same, "trees=5 lambda1=%.17g lambda0=%.17g", 0.2 * unit,
                 0.1 * unit);
        ferry_prediction *q = fit_predict(ctx, t, "gbc-paper", same, d);
        for (int64_t e = 0; e < p->n * p->k; e++)
            apart = fmax(apart, fabs(p->score[e] - q->score[e]));
        if (v == 0)
            assert_true(apart < 1e-9);
        else
            assert_true(apart > 1e-6);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_task_free(t);
    }
}

static void test_memory(void **state)
{
    static const char *const all[][3] = {
        {"gbc", "trees=1 folds=2 correct=smooth learner=tree", "1-2-gy"},
        {"gbc", "trees=1 folds=2 correct=no learner=tree", "1-gy"},
        {"gbc", "folds=2 learner=linear", "1-gy"},
        {"gbc", "trees=1 folds=2 strength=0.9 correct=smooth", "1-2-y"},
        {"gbc-paper", "trees=1", "1-2-gy"},
        {"gbdt-average", "trees=1", "1-2-y"},
        {"label-propagation", "", "1-gy"},
        {"ica", "", "1-gy"},
        {"gibbs", "burn_in=1 samples=2", "1-gy"},
        {"sgc", "", "1-gy"},
        {"correct-smooth", "", "1-gy"},
        {"semi-gbdt", "trees=1 rounds=1", "1-y"},
    };
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(all); i++) {
        job j = {task_of(ctx, all[i][2], 2), settings_of(ctx, all[i][1]), all[i][0]};
        each_allocation_fails(ctx, whole, &j);
        ferry_opts_free(j.opts);
        ferry_task_free(j.task);
    }
}

/* Ten clusters on a circle, the two classes in turn: rows near each other are alike, and no
 * line tells them apart. FAR: rows that no fit has seen. MOVED: those of the fit, each in the
 * next cluster now. */
enum { FITTED, FAR, MOVED };
static ferry_domain *clusters(ferry_ctx *ctx, int how)
{
    ferry_domain *d = NULL;
    const char *ids[N], *labels[N];
    ferry_rng rng;
    int n = 0;

    ferry_i_rng_seed(&rng, how == FAR ? 3 : 2, 0);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++) {
            const double turn = 0.62831853 * ((i + (how == MOVED)) % 10) + 1.5707963 * j;
            x1[i * D + j] = 4 * cos(turn) + 0.2 * ferry_i_rng_normal(&rng);
            x2[i * D + j] = 4 * cos(turn + 1) + 0.2 * ferry_i_rng_normal(&rng);
        }
        letters[i] = (char)('a' + (i + (how == MOVED)) % 2);
        snprintf(names[i], sizeof names[i], how == FAR ? "n%02d" : "i%02d", i);
        if (i % 3 == 2) continue;
        ids[n] = names[i];
        labels[n++] = i % 2 ? "b" : "a";
    }
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    add_view(ctx, d, "one", x1, -1);
    add_view(ctx, d, "two", x2, -1);
    if (how == FITTED) assert_ok(ctx, ferry_domain_set_classes(ctx, d, n, ids, labels));
    return d;
}

/* Nearest rows without a graph: the rows of the fit, new ones, and both after a file. */
static void test_near(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *far = clusters(ctx, FAR), *moved = NULL;
    ferry_task *t = small_task(ctx, FERRY_CLASSIFY, NULL, clusters(ctx, FITTED));
    ferry_model *m = fit_model(ctx, t, "gbc", "trees=5"), *back = NULL;
    json_t *told = diagnostics(m);
    ferry_prediction *p[4] = {NULL};

    assert_true(at(told, "parts", "nearest rows") > 0.5);
    json_decref(told);
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("near.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("near.ferry"), NULL, &back));
    for (int i = 0; i < 4; i++) {
        const ferry_domain *d = i % 2 ? far : ferry_task_domain_at(t, 0);
        assert_ok(ctx, ferry_predict(ctx, i < 2 ? m : back, d, &p[i]));
        assert_true(quality(p[i]) == 1);
    }
    for (int i = 0; i < 2; i++)
        assert_memory_equal(p[i]->score, p[i + 2]->score,
                            (size_t)(p[i]->n * p[i]->k) * sizeof *p[i]->score);
    for (int i = 0; i < 4; i++)
        ferry_prediction_free(p[i]);
    ferry_model_free(back);
    /* new measurements of an instance of the fit count, not what it was */
    moved = clusters(ctx, MOVED);
    assert_ok(ctx, ferry_predict(ctx, m, moved, &p[0]));
    assert_true(quality(p[0]) == 1);
    ferry_prediction_free(p[0]);
    ferry_domain_free(moved);
    ferry_model_free(m);
    /* not where nobody may correct answers */
    m = fit_model(ctx, t, "gbc", "trees=5 correct=no");
    told = diagnostics(m);
    assert_true(at(told, "parts", "nearest rows") == 0);
    json_decref(told);
    ferry_model_free(m);
    ferry_task_free(t);
    ferry_domain_free(far);
}

/* Change one number of a packed model and load it. */
static void test_broken(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, "12gy", 3);
    static const struct {
        const char *method, *name;
        bool real;
        double value;
    } changes[] = {
        {"gbc", "wg", true, -1},
        {"gbc", "part.0.share", true, -1},
        {"gbc", "part.0.strength", true, -1},
        {"gbc", "parts", false, 0},
        {"gbc", "to.classes", false, 99},
        {"gbc", "trees.n", false, 7},
        {"gbc-paper", "w", true, -1},
        {"gbc-paper", "wg", true, -1},
        {"gbc-paper", "trees.columns", false, 0},
        {"label-propagation", "alpha", true, 2},
        {"label-propagation", "max_iter", false, 0},
        {"ica", "max_iter", false, 0},
        {"gibbs", "samples", false, 0},
        {"gibbs", "order", false, 9},
        {"sgc", "factor", true, -1},
        {"sgc", "steps", false, -1},
        {"correct-smooth", "correct", true, 2},
    };

    for (int64_t c = 0; c < FERRY_COUNT(changes); c++) {
        ferry_model *m =
            fit_model(ctx, t, changes[c].method,
                      strcmp(changes[c].method, "gbc") == 0         ? "trees=2 learner=tree"
                      : strcmp(changes[c].method, "gbc-paper") == 0 ? "trees=2"
                                                                    : "");
        ferry_model *back = NULL;
        ferry_dict *dict = NULL;
        int64_t n = -1, rows = -1;
        assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
        assert_ok(ctx, ferry_i_model_pack(ctx, m, dict));
        if (changes[c].real) {
            const double *data = NULL;
            assert_ok(ctx,
                      ferry_i_dict_reals(ctx, dict, changes[c].name, &rows, &n, &data));
            ((double *)(uintptr_t)data)[0] = changes[c].value;
        } else {
            const int64_t *data = NULL;
            assert_ok(ctx, ferry_i_dict_ints(ctx, dict, changes[c].name, &n, &data));
            ((int64_t *)(uintptr_t)data)[0] = (int64_t)changes[c].value;
        }
        if (ferry_i_model_unpack(ctx, "m", dict, NULL, &back) != FERRY_EDATA)
            fail_msg("%s takes a broken %s", changes[c].method, changes[c].name);
        assert_null(back);
        ferry_i_dict_free(dict);
        ferry_model_free(m);
    }
    ferry_task_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_learns, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_explains, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_without_graphs, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_asked_without_graph, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_some_views, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_view, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_order_and_threads, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_baselines, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_words, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_needs, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_storage, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_stopping, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_near, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_gibbs_and_ica, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_as_printed, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_broken, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("gbc", tests, NULL, NULL);
}
