/* gbc and the baselines that come with it, through the public seam. */
#include "ferry_test.h"

#include <jansson.h>
#include <stdio.h>

#include "learn/diffuse.h"
#include "methods/gbc/gbc.h"
#include "methods/method.h"
#include "model/dict_private.h"
#include "oracle.h"
#include "small_task.h"

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
    static const char *const settings[] = {
        "",
        "combine=average weights=root trees=20 lambda1=0.3",
        "combine=average weights=softmax folds=0 trees=20",
        "combine=additive correct=no trees=20",
        "correct=smooth strength=0.5 trees=20",
        "correct=residual trees=20",
        "folds=0 trees=20 correct=smooth",
        "lambda0=0.3 lambda1=1 weights=equal trees=20",
        "learner=xgboost trees=15",
        "learner=histogram trees=15",
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
        if (quality_of(ctx, t, "gbc", "mode=paper trees=20 rate=0.5") < 0.1)
            fail_msg("the published way with %d classes", classes);
        ferry_task_free(t);
    }
}

static json_t *diagnostics(const ferry_model *m)
{
    json_t *root = json_loads(ferry_model_diagnostics(m), 0, NULL);

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
    assert_true(at(json_object_get(d, "importance"), "one", "1") > 0.5);
    assert_true(at(json_object_get(d, "importance"), "two", "2") > 0.5);
    assert_non_null(strstr(json_string_value(json_object_get(d, "note")), "one 0."));
    json_decref(d);
    ferry_model_free(m);
    m = fit_model(ctx, t, "gbc", "tune=yes trees=10 learner=tree");
    d = diagnostics(m);
    assert_true(json_number_value(json_object_get(d, "lambda1")) >= 0);
    json_decref(d);
    ferry_model_free(m);
    m = fit_model(ctx, t, "gbc", "combine=additive trees=10 learner=tree");
    d = diagnostics(m);
    assert_non_null(strstr(json_string_value(json_object_get(d, "note")), "add up"));
    json_decref(d);
    ferry_model_free(m);
    ferry_task_free(t);
}

/* Views alone: no graph, so no neighbours to agree with, whatever lambda1 says. */
static void test_without_graphs(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const options[] = {
        "mode=thesis trees=20 rate=0.5",
        "lambda0=0.3 lambda1=0.3 combine=average trees=30"};

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
        assert_ok(ctx, ferry_domain_add_dense(ctx, part, "one", &(ferry_array){1, D, D, x1},
                                              (const char *[]){"i07"}, NULL));
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
    const char *const settings = "folds=0 trees=10 learner=exact";
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
    assert_ok(ctx, ferry_ctx_set_threads(ctx, 3));
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

/* a - b - c - d with a and d labelled: thirds between them; e is alone. */
static void test_propagation_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = NULL;
    const char *ids[] = {"a", "d"}, *from[] = {"a", "b", "c"}, *to[] = {"b", "c", "d"};
    const double num[] = {0, 3};
    double v[5] = {0};

    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &(ferry_array){5, 1, 1, v},
                                          (const char *[]){"a", "b", "c", "d", "e"}, NULL));
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "g", 3, from, to, NULL));
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 2, ids, num));
    ferry_task *t = small_task(ctx, FERRY_REGRESS, NULL, d);
    ferry_prediction *p = fit_predict(ctx, t, "label-propagation", "alpha=1 tol=0",
                                      ferry_task_domain_at(t, 0));
    const double want[] = {0, 1, 2, 3, 1.5};
    for (int i = 0; i < 5; i++)
        assert_close(p->value[i], want[i], 1e-9);
    ferry_prediction_free(p);
    ferry_task_free(t);
}

/* a - b - c, X = (1, 0, 0): S has rows (1/2, 1/sqrt 6, 0), (1/sqrt 6, 1/3, 1/sqrt 6), ...; dense and
 * sparse alike, weights of the graph in any unit, c without a row of its own. */
static void test_smooth_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    const double six = 1 / sqrt(6),
                 want[2][3] = {{0.5, six, 0},
                               {0.25 + six * six, six / 2 + six / 3, six * six}};
    const int64_t instance[] = {0, 1};
    const double w = 1;

    for (int unit = 1; unit < 4; unit += 2)
        for (int dense = 0; dense < 2; dense++)
            for (int steps = 1; steps < 3; steps++) {
                ferry_matrix *g = NULL, *x = NULL, *out = NULL;
                double factor = 1;
                assert_ok(ctx, ferry_i_matrix_csr(ctx, 3, 3, 4, &g));
                memcpy(g->start, (int64_t[]){0, 1, 3, 4}, 4 * sizeof(int64_t));
                memcpy(g->index, (int32_t[]){1, 0, 2, 1}, 4 * sizeof(int32_t));
                for (int e = 0; e < 4; e++)
                    g->value[e] = unit;
                if (dense) {
                    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 1, &x));
                    x->dense[0] = 1;
                } else {
                    assert_ok(ctx, ferry_i_matrix_csr(ctx, 2, 1, 1, &x));
                    x->start[1] = x->start[2] = 1;
                    x->value[0] = 1;
                }
                const ferry_smoothing how = {3, 1, &g, &w, steps};
                assert_ok(ctx, ferry_i_smooth(ctx, &how, x, instance, &factor, &out));
                assert_int_equal(out->rows, 3);
                assert_true((out->dense != NULL) == (dense == 1));
                for (int i = 0; i < 3; i++) {
                    const double got = dense ? out->dense[i]
                                       : out->start[i + 1] > out->start[i]
                                           ? out->value[out->start[i]]
                                           : 0;
                    assert_close(got, want[steps - 1][i], 1e-15);
                }
                ferry_i_matrix_free(out);
                factor = 0; /* then the mean squared length is 1 */
                assert_ok(ctx, ferry_i_smooth(ctx, &how, x, instance, &factor, &out));
                assert_close(ferry_i_matrix_norm2(out), 3, 1e-14);
                ferry_i_matrix_free(out);
                ferry_i_matrix_free(x);
                ferry_i_matrix_free(g);
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
    assert_ok(ctx, ferry_domain_add_dense(
                       ctx, d, "x", &(ferry_array){ROWS, WORDS, WORDS, x}, ids, NULL));
    assert_ok(ctx,
              ferry_domain_add_graph(ctx, d, "within", edges[0], from[0], to[0], NULL));
    assert_ok(ctx,
              ferry_domain_add_graph(ctx, d, "random", edges[1], from[1], to[1], NULL));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, n, seen, cls));
    ferry_task *t = small_task(ctx, FERRY_CLASSIFY, NULL, d);
    ferry_model *m = fit_model(ctx, t, "gbc", ""), *back = NULL;
    json_t *diag = diagnostics(m);
    const json_t *w = json_object_get(diag, "graph_weights");
    assert_true(json_number_value(json_object_get(w, "within")) > 0.75);
    const json_t *parts = json_object_get(diag, "parts");
    assert_true(at(parts, "smoothed linear", "loss") < at(parts, "linear", "loss"));
    assert_true(at(parts, "smoothed linear", "loss") < at(parts, "trees", "loss"));
    /* the lines have it, whichever of them */
    assert_true(at(parts, "linear", "share") + at(parts, "smoothed linear", "share") +
                    at(parts, "self-trained linear", "share") >
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

static void test_memory(void **state)
{
    static const char *const all[][3] = {
        {"gbc", "trees=1 folds=2 correct=smooth lambda0=0.1 learner=tree", "1-2-gy"},
        {"gbc", "trees=1 folds=2 correct=no tune=yes learner=tree", "1-gy"},
        {"gbc", "folds=2 learner=linear", "1-gy"},
        {"gbc", "trees=1 folds=2 strength=0.9 correct=smooth", "1-2-y"},
        {"gbc", "trees=1 folds=0 step=line correct=residual", "1-2-gy"},
        {"gbdt-average", "trees=1", "1-2-y"},
        {"label-propagation", "", "1-gy"},
        {"ica", "", "1-gy"},
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
    const gbc_model *g = m->state;
    ferry_prediction *p[4] = {NULL};

    assert_true(g->part[GBC_NEAR].share > 0.5 && g->near.k > 0);
    assert_int_equal(g->near.x->rows, N);
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
    assert_true(((const gbc_model *)m->state)->part[GBC_NEAR].share == 0);
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
        {"gbc", "weights", true, -1},
        {"gbc", "graph_weights", true, -1},
        {"gbc", "parts", true, -1},
        {"gbc", "parts", true, 0.5},
        {"gbc", "target.sizes", false, 99},
        {"gbc", "forest.sizes", false, 7},
        {"label-propagation", "alpha_tol", true, 2},
        {"label-propagation", "max_iter", false, 0},
        {"ica", "target.sizes", false, FERRY_REGRESS},
        {"sgc", "shares", true, 2},
        {"sgc", "steps", false, -1},
        {"correct-smooth", "steps", false, 1},
    };

    for (int64_t c = 0; c < FERRY_COUNT(changes); c++) {
        ferry_model *m =
            fit_model(ctx, t, changes[c].method,
                      strcmp(changes[c].method, "gbc") == 0 ? "trees=2 learner=tree" : "");
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

/* A model that was saved when trees were all there was. */
static void test_old_file(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, "12gy", 3);
    ferry_model *m = fit_model(ctx, t, "gbc", "trees=4 learner=tree correct=smooth"),
                *back = NULL;
    ferry_dict *now = NULL, *old = NULL;
    ferry_prediction *a = NULL, *b = NULL;
    const double *facts = NULL;
    int64_t rows = -1, n = -1;

    assert_ok(ctx, ferry_i_dict_new(ctx, &now));
    assert_ok(ctx, ferry_i_dict_new(ctx, &old));
    assert_ok(ctx, ferry_i_model_pack(ctx, m, now));
    assert_ok(ctx, ferry_i_dict_reals(ctx, now, "parts", &rows, &n, &facts));
    for (int64_t i = 0; i < now->n; i++) {
        dict_tensor lent = now->tensor[i];
        lent.owned = NULL;
        if (strcmp(ferry_i_ids_at(now->names, i), "parts") == 0) continue;
        assert_ok(ctx, ferry_i_dict_add(ctx, old, ferry_i_ids_at(now->names, i), &lent));
    }
    for (int64_t i = 0; i < now->n_text; i++)
        assert_ok(ctx, ferry_i_dict_put_text(ctx, old, ferry_i_ids_at(now->keys, i),
                                             now->text[i]));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, old, "correct", 1,
                                         (const int64_t[]){GBC_CORRECT_SMOOTH}));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, old, "strength", 1, 1, facts + 2));
    assert_ok(ctx, ferry_i_model_unpack(ctx, "old", old, NULL, &back));
    assert_ok(ctx, ferry_predict(ctx, m, ferry_task_domain_at(t, 0), &a));
    assert_ok(ctx, ferry_predict(ctx, back, ferry_task_domain_at(t, 0), &b));
    for (int64_t i = 0; i < a->n; i++)
        assert_int_equal(a->cls[i], b->cls[i]);
    ferry_prediction_free(a);
    ferry_prediction_free(b);
    ferry_model_free(back);
    ferry_model_free(m);
    ferry_i_dict_free(old);
    ferry_i_dict_free(now);
    ferry_task_free(t);
}

/* Two parts that are right on a half each share, one that knows nothing is left out, and the
 * mixture is better than either; numbers by least squares; of two that are as good a line gets
 * a little more. */
static void test_mix(void **state)
{
    enum { ROWS = 200 };
    ferry_ctx *ctx = *state;
    static uint8_t labelled[ROWS];
    static double truth[2 * ROWS], p[3][2 * ROWS];

    for (int way = 0; way < 3; way++) {
        const bool numbers = way == 1;
        const int m = numbers ? 1 : 2;
        const int kind[] = {GBC_TREES, way == 2 ? GBC_LINE : GBC_NEAR, GBC_LABELS};
        const ferry_outputs o = {numbers, m, 1, 0, 1};
        const gbc_problem g = {.n = ROWS, .labelled = labelled};
        const gbc_tuning s = {.outputs = &o, .g = &g, .folds = 2};
        const gbc_answers a = {.s = &s, .n = ROWS, .m = m, .truth = truth};
        gbc_plan plan = {0};
        for (int i = 0; i < ROWS; i++) {
            labelled[i] = 1;
            for (int k = 0; k < 3; k++) {
                const double right = k < 2 && i % 2 == k ? 0.9 : 0.5;
                p[k][i * m] = numbers ? sin(i * (k + 1)) : i % 3 ? right : 1 - right;
                if (!numbers) p[k][i * m + 1] = 1 - p[k][i * m];
            }
            truth[i * m] = numbers ? 0.25 * p[0][i] + 0.75 * p[1][i] : i % 3 != 0;
            if (!numbers) truth[i * m + 1] = i % 3 == 0;
        }
        for (int k = 0; k < 3; k++) {
            plan.mixed[kind[k]] = p[k];
            plan.part[kind[k]].loss = k < 2 ? -0.5 * log(0.9 * 0.5) : -log(0.5);
        }
        assert_ok(ctx, ferry_i_gbc_mix(ctx, &a, &plan));
        const double first = plan.part[GBC_TREES].share, other = plan.part[kind[1]].share;
        assert_close(first + other, 1, 1e-12);
        if (way < 2) assert_close(first, numbers ? 0.25 : 0.5, 1e-6);
        if (way == 2) assert_true(other > 0.55 && other < 0.75);
        assert_close(plan.part[GBC_LABELS].share, 0, 0);
        double power = 0;
        assert_true(plan.loss < ferry_i_gbc_best_power(&a, p[0], &power));
        if (way == 0) assert_true(plan.loss <= -log(0.7) + 1e-12); /* or a power of it */
    }
}

/* Means of graphs that are computed twice to save memory are the same. The pass is compared
 * with the plain formulas on more rows than one run has. */
static void test_pass(void **state)
{
    ferry_ctx *ctx = *state;
    enum { BIG = 9000, P = 2, K = 2 };
    uint8_t *mask = calloc(P * BIG, 1), *labelled = calloc(BIG, 1), *has[P], *have[P];
    double *yy = calloc(BIG * K, sizeof *yy), *f[P], *et[P], *want[P], w[P] = {0.3, 0.7};
    ferry_matrix *graph[2];
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 2, 2);
    for (int i = 0; i < P; i++) {
        f[i] = calloc(BIG * K, sizeof(double));
        et[i] = calloc(BIG * K, sizeof(double));
        want[i] = calloc(BIG * K, sizeof(double));
        has[i] = calloc(BIG, 1);
        have[i] = calloc(BIG, 1);
        for (int e = 0; e < BIG * K; e++)
            f[i][e] = ferry_i_rng_normal(&rng);
        for (int x = 0; x < BIG; x++)
            mask[i * BIG + x] = ferry_i_rng_real(&rng) < 0.8;
    }
    for (int x = 0; x < BIG; x++) {
        labelled[x] = x % 7 == 0;
        for (int k = 0; k < K; k++)
            yy[x * K + k] = (x + k) % 2 ? 1 : -1;
    }
    for (int g = 0; g < 2; g++) { /* a ring each */
        assert_ok(ctx, ferry_i_matrix_csr(ctx, BIG, BIG, 2 * BIG, &graph[g]));
        for (int x = 0; x < BIG; x++) {
            const int a = (x + BIG - g - 1) % BIG, b = (x + g + 1) % BIG;
            graph[g]->index[2 * x] = a < b ? a : b;
            graph[g]->index[2 * x + 1] = a < b ? b : a;
            graph[g]->value[2 * x] = graph[g]->value[2 * x + 1] = 1 + g;
            graph[g]->start[x + 1] = 2 * x + 2;
        }
    }
    for (int way = 0; way < 3; way++) {
        const gbc_problem p = {.n = BIG,
                               .p = P,
                               .q = 2,
                               .k = K,
                               .mask = mask,
                               .labelled = labelled,
                               .y = yy,
                               .graph = graph,
                               .logistic = way > 0,
                               .soft = way < 2,
                               .clamp = way == 1};
        gbc_pass *pass = NULL;
        double loss[2], wg[2], plain[2], first = 0;
        for (int threads = 1; threads <= 3; threads++) {
            assert_ok(ctx, ferry_ctx_set_threads(ctx, threads));
            assert_ok(ctx, ferry_i_gbc_pass_new(ctx, &p, &pass));
            assert_ok(ctx, ferry_i_gbc_pass_run(ctx, pass, &p, f, w, loss, wg, et, has));
            ferry_i_gbc_pass_free(pass);
            if (threads == 1) first = et[1][BIG] + loss[1];
            assert_true(first == et[1][BIG] + loss[1]);
        }
        oracle_gbc_graph_loss(&p, f, w, plain);
        assert_close(loss[0], plain[0], 1e-12);
        assert_close(loss[1], plain[1], 1e-12);
        for (int i = 0; i < P; i++) {
            oracle_gbc_neighbours(&p, i, f[i], wg, want[i], have[i]);
            for (int x = 0; x < BIG; x++) {
                if (labelled[x]) continue;
                assert_int_equal(has[i][x], have[i][x]);
                for (int k = 0; k < K; k++)
                    assert_close(et[i][x * K + k], want[i][x * K + k], 1e-12);
            }
        }
    }
    for (int i = 0; i < P; i++) {
        free(f[i]);
        free(et[i]);
        free(want[i]);
        free(has[i]);
        free(have[i]);
        ferry_i_matrix_free(graph[i]);
    }
    free(mask);
    free(labelled);
    free(yy);
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
        cmocka_unit_test_setup_teardown(test_propagation_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_smooth_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_words, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_needs, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_storage, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_stopping, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_near, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_broken, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_old_file, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_mix, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_pass, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("gbc", tests, NULL, NULL);
}
