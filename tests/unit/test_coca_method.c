/* The methods coca and pca-joined through the public seam. */
#include "ferry_test.h"

#include <jansson.h>
#include <stdio.h>

#include "methods/method.h"
#include "small_task.h"
#include "state/dict_private.h"

enum { N = 40, D1 = 5, D2 = 4, D3 = 30 };

static double x1[N * D1], x2[N * D2], x3[N * D3];
static char letters[N + 1];

/* Two classes; views 1 and 2 see them with noise, view 3 is noise (sparse, wide). */
static void make_data(void)
{
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 11, 0);
    for (int i = 0; i < N; i++) {
        const double side = i % 2 ? 2 : -2;
        letters[i] = i % 2 ? 'b' : 'a';
        for (int j = 0; j < D1; j++)
            x1[i * D1 + j] = 5 + ferry_i_rng_normal(&rng) + (j < 2 ? side : 0);
        for (int j = 0; j < D2; j++)
            x2[i * D2 + j] = 100 * (ferry_i_rng_normal(&rng) + (j == 1 ? side : 0));
        for (int j = 0; j < D3; j++)
            x3[i * D3 + j] = ferry_i_rng_real(&rng) < 0.2 ? 1 : 0;
    }
}

static void add_graph(ferry_ctx *ctx, ferry_domain *d, const char *name, int step)
{
    static char ids[N][8];
    const char *from[N], *to[N];

    for (int i = 0; i < N; i++)
        snprintf(ids[i], sizeof ids[i], "%d", i + 1);
    for (int i = 0; i < N; i++) {
        from[i] = ids[i];
        to[i] = ids[(i + step) % N];
    }
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, name, N, from, to, NULL));
}

/* parts: letters of the views (1, 2, 3) and graphs (g joins one class, r the other) it has,
 * y: with classes. */
static ferry_domain *domain_of(ferry_ctx *ctx, const char *parts, int64_t n)
{
    ferry_domain *d = NULL;

    make_data();
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    if (strchr(parts, '1')) small_view(ctx, d, "one", n, D1, x1, NULL, NULL, false);
    if (strchr(parts, '2')) small_view(ctx, d, "two", n, D2, x2, NULL, NULL, false);
    if (strchr(parts, '3')) small_view(ctx, d, "three", n, D3, x3, NULL, NULL, true);
    if (strchr(parts, 'g')) add_graph(ctx, d, "good", 2);
    if (strchr(parts, 'r')) add_graph(ctx, d, "bad", 1);
    if (strchr(parts, 'y')) small_classes(ctx, d, letters);
    return d;
}

static ferry_task *task_of(ferry_ctx *ctx, const char *parts)
{
    return small_task(ctx, FERRY_EMBED, NULL, domain_of(ctx, parts, N));
}

static const ferry_domain *target_of(const ferry_task *t)
{
    return ferry_task_domain_at(t, 0);
}

/* Share of variance of the first coordinate that lies between the two classes, which are
 * the odd and the even ids. */
static double separation(const ferry_prediction *p)
{
    double mean[2] = {0}, all = 0, within = 0;

    for (int64_t i = 0; i < p->n; i++)
        mean[atoi(p->ids[i]) % 2] += p->score[i * p->k] / (double)(p->n / 2);
    for (int64_t i = 0; i < p->n; i++) {
        const double z = p->score[i * p->k];
        all += pow(z - (mean[0] + mean[1]) / 2, 2);
        within += pow(z - mean[atoi(p->ids[i]) % 2], 2);
    }
    return 1 - within / all;
}

static void test_embeds(void **state)
{
    static const char *const settings[][2] = {
        {"coca", "d=2"},
        {"coca", "d=2 scale=none"},
        {"coca", "d=2 balance=spectral"},
        {"coca", "d=2 weights=equal"},
        {"coca", "d=2 weights=qp"},
        {"coca", "d=2 smooth=2 graph_term=3"},
        {"coca-paper", "d=2 scale=auto form=4.4 alpha=0.5"},
        {"coca-paper", "d=2 scale=auto form=4.3 alpha=0.01"},
        {"coca-paper", "d=2 scale=auto alpha=0.5 weights=qp"}};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "12gry");

    for (int64_t s = 0; s < FERRY_COUNT(settings); s++) {
        ferry_prediction *p =
            fit_predict(ctx, task, settings[s][0], settings[s][1], target_of(task));
        assert_int_equal(p->k, 2);
        assert_int_equal(p->n, N);
        if (separation(p) < 0.5)
            fail_msg("%s %s: %g", settings[s][0], settings[s][1], separation(p));
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
    task = task_of(ctx, "12");
    ferry_prediction *p = fit_predict(ctx, task, "pca-joined", "d=3", target_of(task));
    assert_true(separation(p) > 0.5);
    ferry_prediction_free(p);
    ferry_task_free(task);
}

static void same_prediction(const ferry_prediction *a, const ferry_prediction *b);

/* mode: paper of 0.2 is coca-paper, whose defaults are what the text says. */
static void test_as_published(void **state)
{
    static const char *const settings[][2] = {
        {"coca", "d=2 mode=paper"},
        {"coca-paper", "d=2"},
        {"coca-paper", "d=2 form=4.8 alpha=60 scale=none balance=none weights=qp"}};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "12gry");
    ferry_prediction *p[3];

    for (int s = 0; s < 3; s++)
        p[s] = fit_predict(ctx, task, settings[s][0], settings[s][1], target_of(task));
    same_prediction(p[0], p[1]);
    same_prediction(p[0], p[2]);
    for (int s = 0; s < 3; s++)
        ferry_prediction_free(p[s]);
    ferry_task_free(task);
}

/* pca-joined is coca with alpha = 1/p, up to the factor 1/p. */
static void test_baseline_is_a_special_case(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "123");
    ferry_prediction *a =
        fit_predict(ctx, task, "coca", "d=3 alpha=0.333333333333333333", target_of(task));
    ferry_prediction *b = fit_predict(ctx, task, "pca-joined", "d=3", target_of(task)),
                     *ten = fit_predict(ctx, task, "pca-joined", "", target_of(task));

    assert_int_equal(ten->k, 10);
    ferry_prediction_free(ten);

    for (int e = 0; e < N * 3; e++)
        assert_close(3 * a->score[e], b->score[e], 1e-9);
    ferry_prediction_free(a);
    ferry_prediction_free(b);
    ferry_task_free(task);
}

static json_t *diagnostics(const ferry_model *m)
{
    json_t *root = json_loads(m->diagnostics, 0, NULL);

    assert_non_null(root);
    return root;
}

static double number_at(const json_t *root, const char *group, const char *key)
{
    return json_number_value(json_object_get(json_object_get(root, group), key));
}

/* The noise view and the graph between classes get no weight; and the scatter is there. */
static void test_learned_weights(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "13gry");
    ferry_model *m = fit_model(ctx, task, "coca", "d=2 weights=qp");
    json_t *root = diagnostics(m);

    assert_true(number_at(root, "weights", "one") > 0.8);
    assert_true(number_at(root, "weights", "three") < 0.2);
    assert_close(number_at(root, "graph_weights", "good"), 1, 1e-12);
    assert_close(number_at(root, "graph_weights", "bad"), 0, 1e-12);
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(root, "scatter"), "z2")), N);
    assert_int_equal(json_array_size(json_object_get(root, "eigenvalues")), 2);
    json_decref(root);
    ferry_model_free(m);
    m = fit_model(ctx, task, "coca", "d=2 weights=equal graph_weights=equal");
    root = diagnostics(m);
    assert_close(number_at(root, "weights", "three"), 0.5, 1e-12);
    assert_close(number_at(root, "graph_weights", "bad"), 0.5, 1e-12);
    json_decref(root);
    ferry_model_free(m);
    m = fit_model(ctx, task, "coca-paper", "d=2 graph_weights=qp");
    root = diagnostics(m);
    const double good = number_at(root, "graph_weights", "good"),
                 bad = number_at(root, "graph_weights", "bad");
    assert_true(good > bad);
    assert_close(good + bad, 1, 1e-12);
    json_decref(root);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* A graph beside a view moves nothing that is not learned, unless somebody asks for it. */
static void test_graph_of_no_proof(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const said[] = {"d=2", "d=2 graph_term=1",
                                       "d=2 graph_weights=equal"};
    static const double want[] = {0, 1, 1};
    ferry_task *task = task_of(ctx, "1r"), *plain = task_of(ctx, "1");
    double first[4];

    for (int i = 0; i < 4; i++) {
        ferry_model *m = i < 3 ? fit_model(ctx, task, "coca", said[i])
                               : fit_model(ctx, plain, "coca", "d=2");
        json_t *root = diagnostics(m);
        if (i < 3)
            assert_close(json_number_value(json_object_get(root, "graph_term")), want[i],
                         0);
        first[i] =
            json_number_value(json_array_get(json_object_get(root, "eigenvalues"), 0));
        json_decref(root);
        ferry_model_free(m);
    }
    assert_close(first[0], first[3], 1e-12);
    assert_true(fabs(first[1] - first[3]) > 1e-3 * first[3]);
    assert_close(first[1], first[2], 1e-12);
    ferry_task_free(plain);
    ferry_task_free(task);
}

/* The published weights of graphs: least squares of C on E = 1 where there is an edge and -1 where there is none. One
 * graph joins a with a and b with b, the other all: its residuals are those of the pairs between classes. */
static void test_graph_programme(void **state)
{
    static const char *const one[] = {"a1", "b1"}, *const other[] = {"a2", "b2"},
                             *const from[] = {"a1", "a1", "a1", "a2", "a2", "b1"},
                             *const to[] = {"a2", "b1", "b2", "b1", "b2", "b2"},
                             *const ids[] = {"a1", "a2", "b1", "b2"},
                             *const cls[] = {"a", "a", "b", "b"};
    ferry_ctx *ctx = *state;
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "right", 2, one, other, NULL));
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "all", 6, from, to, NULL));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, 4, ids, cls));
    ferry_task *task = small_task(ctx, FERRY_EMBED, NULL, d);
    ferry_model *m = fit_model(ctx, task, "coca-paper", "d=1 graph_weights=qp");
    json_t *root = diagnostics(m);
    assert_close(number_at(root, "graph_weights", "right"), 1, 1e-12);
    assert_close(number_at(root, "graph_weights", "all"), 0, 1e-12);
    json_decref(root);
    ferry_model_free(m);
    ferry_task_free(task);
}

enum { MANY = 200 };

/* Two views of 4 columns with a common direction, and one of noise, over 200 instances. */
static ferry_task *noisy_task(ferry_ctx *ctx, bool two, bool noise)
{
    double x[3][MANY * 4];
    ferry_domain *d = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 0);
    for (int i = 0; i < MANY; i++) {
        const double side = 2 * ferry_i_rng_normal(&rng);
        for (int j = 0; j < 12; j++)
            x[j / 4][i * 4 + j % 4] = ferry_i_rng_normal(&rng) + (j < 8 ? side : 0);
    }
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    small_view(ctx, d, "one", MANY, 4, x[0], NULL, NULL, false);
    if (two) small_view(ctx, d, "two", MANY, 4, x[1], NULL, NULL, false);
    if (noise) small_view(ctx, d, "noise", MANY, 4, x[2], NULL, NULL, false);
    return small_task(ctx, FERRY_EMBED, NULL, d);
}

/* A view of the class with noise in each of 4 columns, and one of a single strong direction
 * that has nothing to do with it; classes as they are, or drawn. */
static ferry_task *blurred_task(ferry_ctx *ctx, bool drawn, bool graph)
{
    double x[2][MANY * 4];
    char ids[MANY][8], classes[MANY + 1] = "";
    const char *from[MANY], *to[MANY];
    ferry_domain *d = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 7, 0);
    for (int i = 0; i < MANY; i++) {
        const double strong = ferry_i_rng_normal(&rng);
        snprintf(ids[i], sizeof ids[i], "%d", i + 1);
        from[i] = ids[i];
        to[i] = ids[(i + 2) % MANY];
        for (int j = 0; j < 4; j++) {
            x[0][i * 4 + j] = ferry_i_rng_normal(&rng) + (i % 2 ? 2 : -2);
            x[1][i * 4 + j] = strong + 0.1 * ferry_i_rng_normal(&rng);
        }
        classes[i] = (drawn ? ferry_i_rng_real(&rng) < 0.5 : i % 2) ? 'b' : 'a';
    }
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    small_view(ctx, d, "one", MANY, 4, x[0], NULL, NULL, false);
    small_view(ctx, d, "strong", MANY, 4, x[1], NULL, NULL, false);
    if (graph) assert_ok(ctx, ferry_domain_add_graph(ctx, d, "good", MANY, from, to, NULL));
    small_classes(ctx, d, classes);
    return small_task(ctx, FERRY_EMBED, NULL, d);
}

/* Learned weights must be better on links that they were not learned from, as where one strong
 * direction hides the classes; where joined PCA finds them too, by a graph that joins them, it
 * is kept, and of classes by chance, where what is better is better by chance. */
static void test_choice(void **state)
{
    ferry_ctx *ctx = *state;

    for (int s = 0; s < 3; s++) {
        ferry_task *task = blurred_task(ctx, s == 2, s == 1);
        ferry_model *m = fit_model(ctx, task, "coca", s == 1 ? "d=1 graph_term=9" : "d=1");
        json_t *root = diagnostics(m), *nearest = json_object_get(root, "nearest");
        const double plain = json_number_value(json_array_get(nearest, 0));
        const double learned = json_number_value(json_array_get(nearest, 1));
        const double alpha = json_number_value(json_object_get(root, "alpha"));
        if (s == 0) assert_true(plain < 0.7 && learned > 0.9);
        if (s == 1) assert_close(plain, learned, 0);
        if (s == 2) assert_true(plain < 0.7 && learned < 0.7);
        assert_close(alpha, s == 0 ? 1 : 0.5, 0);
        assert_int_equal(number_at(root, "weights", "one") > 0.8, s == 0);
        json_decref(root);
        ferry_model_free(m);
        ferry_task_free(task);
    }
}

/* Without labels a view that shares nothing with others drops out, and what is left is joined
 * PCA of the rest, up to a factor; of two views nobody can tell which is noise. */
static void test_noise_drops_out(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *all = noisy_task(ctx, true, true), *kept = noisy_task(ctx, true, false);
    ferry_task *two = noisy_task(ctx, false, true);
    ferry_model *m = fit_model(ctx, all, "coca", "d=2"),
                *m2 = fit_model(ctx, two, "coca", "d=2");
    json_t *root = diagnostics(m), *root2 = diagnostics(m2);
    ferry_prediction *a = NULL, *b = NULL;

    assert_close(number_at(root, "weights", "one"), 0.5, 1e-12);
    assert_close(number_at(root, "weights", "two"), 0.5, 1e-12);
    assert_close(number_at(root, "weights", "noise"), 0, 0);
    assert_close(number_at(root2, "weights", "noise"), 0.5, 1e-12);
    assert_ok(ctx, ferry_predict(ctx, m, target_of(all), &a));
    b = fit_predict(ctx, kept, "pca-joined", "d=2", target_of(kept));
    for (int e = 0; e < MANY * 2; e++)
        assert_close(a->score[e] * b->score[0], b->score[e] * a->score[0], 1e-8);
    ferry_prediction_free(a);
    ferry_prediction_free(b);
    json_decref(root);
    json_decref(root2);
    ferry_model_free(m);
    ferry_model_free(m2);
    ferry_task_free(all);
    ferry_task_free(kept);
    ferry_task_free(two);
}

/* Of 30 rows nobody can tell noise from what is faint: the weights stay equal. Two views share
 * much, two others a little, one nothing. */
static void test_few_rows(void **state)
{
    enum { FEW = 30 };
    static const char *const names[] = {"one", "two", "faint", "weak", "noise"};
    double x[5][FEW * 4];
    ferry_ctx *ctx = *state;
    ferry_domain *d = NULL;
    ferry_task *task = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 0);
    for (int i = 0; i < FEW; i++) {
        const double side = 2 * ferry_i_rng_normal(&rng);
        for (int v = 0; v < 5; v++)
            for (int j = 0; j < 4; j++)
                x[v][i * 4 + j] = ferry_i_rng_normal(&rng) + side * (v < 2   ? 2
                                                                     : v < 4 ? 0.3
                                                                             : 0);
    }
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    for (int v = 0; v < 5; v++)
        small_view(ctx, d, names[v], FEW, 4, x[v], NULL, NULL, false);
    task = small_task(ctx, FERRY_EMBED, NULL, d);
    ferry_model *m = fit_model(ctx, task, "coca", "d=2");
    json_t *root = diagnostics(m);
    for (int v = 0; v < 5; v++)
        assert_close(number_at(root, "weights", names[v]), 0.2, 1e-12);
    json_decref(root);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* What a constant column of 0.1 leaves when it is centred is no component: two views of noise
 * with one, and two of nothing else, share nothing. */
static void test_constant_columns(void **state)
{
    static const char *const names[] = {"one", "two", "noise", "other", "flat", "level"};
    static const char *const settings[] = {"d=2 scale=none", "d=2 scale=none balance=frob"};
    double x[6][MANY * 4];
    ferry_ctx *ctx = *state;
    ferry_domain *d = NULL;
    ferry_task *task = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 0);
    for (int i = 0; i < MANY; i++) {
        const double side = 2 * ferry_i_rng_normal(&rng);
        for (int v = 0; v < 6; v++)
            for (int j = 0; j < 4; j++) {
                x[v][i * 4 + j] = ferry_i_rng_normal(&rng) + (v < 2 ? side : 0);
                if (v > 3 || (v > 1 && j == 3)) x[v][i * 4 + j] = 0.1;
            }
    }
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    for (int v = 0; v < 6; v++)
        small_view(ctx, d, names[v], MANY, 4, x[v], NULL, NULL, false);
    task = small_task(ctx, FERRY_EMBED, NULL, d);
    for (int64_t s = 0; s < FERRY_COUNT(settings); s++) {
        ferry_model *m = fit_model(ctx, task, "coca", settings[s]);
        json_t *root = diagnostics(m);
        for (int v = 0; v < 6; v++)
            assert_close(number_at(root, "weights", names[v]), v < 2 ? 0.5 : 0, 0);
        json_decref(root);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

/* d by itself: 9 columns are all there are; of 39 as many as hold 90 %, between 10 and 20. */
static void test_chosen_d(void **state)
{
    static const char *const parts[] = {"12", "123", "g"};
    ferry_ctx *ctx = *state;

    for (int i = 0; i < 3; i++) {
        ferry_task *task = task_of(ctx, parts[i]);
        ferry_prediction *p =
            fit_predict(ctx, task, "coca", "weights=equal", target_of(task));
        assert_true(i == 0 ? p->k == 9 : i == 2 ? p->k == 10 : p->k > 10 && p->k <= 20);
        ferry_prediction_free(p);
        ferry_task_free(task);
    }
}

/* coca-paper's d and alpha by what the embedding is worth: among those that it tries, told, and the embedding is that of
 * the settings that it took. */
static void test_chosen_alpha(void **state)
{
    static const char *const ways[] = {"d=3 alpha_by=kmeans", "d_by=cv", "alpha_by=cv d_by=cv"};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "12y");

    for (int i = 0; i < 3; i++) {
        ferry_model *m = fit_model(ctx, task, "coca-paper", ways[i]);
        ferry_prediction *p =
            fit_predict(ctx, task, "coca-paper", ways[i], target_of(task));
        const double *alpha = NULL, *errors = NULL;
        int64_t count = 0;
        for (int64_t k = 0; ferry_model_diagnostic_at(m, k); k++) {
            const ferry_diagnostic *d = ferry_model_diagnostic_at(m, k);
            if (strcmp(d->name, "alpha") == 0) alpha = d->numbers;
            if (strcmp(d->name, i == 1 ? "d_errors" : "alpha_errors") == 0) {
                errors = d->numbers;
                count = d->count;
            }
        }
        assert_true(alpha && errors && count >= 3);
        for (int64_t k = 0; k < count; k++)
            assert_true(errors[k] >= 0 && errors[k] <= 1);
        if (i == 1) assert_true(alpha[0] == 60);
        char set[64];
        (void)snprintf(set, sizeof set, "d=%d alpha=%g", (int)p->k, alpha[0]);
        ferry_prediction *q = fit_predict(ctx, task, "coca-paper", set, target_of(task));
        assert_int_equal(p->k, q->k);
        for (int64_t e = 0; e < p->n * p->k; e++)
            assert_true(p->score[e] == q->score[e]);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

static void count_warnings(void *user, ferry_level level, const char *text)
{
    if (level == FERRY_WARN && strstr(text, "eigenvalues are positive")) ++*(int *)user;
}

/* Labels at random; H is indefinite with learned weights. A d that is chosen has no component
 * past the positive eigenvalues, and one that is given is warned of once, however many times
 * it was solved. */
static void test_positive_only(void **state)
{
    static const char *const settings[] = {"", "weights=qp", "weights=equal alpha=1",
                                           "d=9 weights=qp", "d=9 weights=auto alpha=1"};
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, "12", N);
    ferry_task *task = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 0);
    for (int i = 0; i < N; i++)
        letters[i] = ferry_i_rng_real(&rng) < 0.5 ? 'a' : 'b';
    small_classes(ctx, d, letters);
    task = small_task(ctx, FERRY_EMBED, NULL, d);
    for (int64_t s = 0; s < FERRY_COUNT(settings); s++) {
        int warned = 0;
        ferry_ctx_set_log(ctx, count_warnings, FERRY_WARN, &warned);
        ferry_model *m = fit_model(ctx, task, "coca", settings[s]);
        json_t *root = diagnostics(m), *values = json_object_get(root, "eigenvalues");
        const double last =
            json_number_value(json_array_get(values, json_array_size(values) - 1));
        assert_int_equal(warned, s < 3 ? 0 : 1);
        assert_int_equal(last > 0, s < 3);
        json_decref(root);
        ferry_model_free(m);
    }
    ferry_ctx_set_log(ctx, NULL, FERRY_WARN, NULL);
    ferry_task_free(task);
}

/* Links from a file, without labels. */
static void test_pairs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "13");
    const char *file =
        tmp_file("pairs.csv", "1,3,1\n3,5,1\n2,4,1\n1,2,-1\n3,4,-1\n5,6,-1\n", -1);
    char settings[4300];
    ferry_model *m = NULL;
    json_t *root = NULL;

    snprintf(settings, sizeof settings, "d=2 weights=qp pairs=%s", file);
    m = fit_model(ctx, task, "coca", settings);
    root = diagnostics(m);
    assert_true(number_at(root, "weights", "one") > 0.6);
    json_decref(root);
    ferry_model_free(m);
    snprintf(settings, sizeof settings, "d=2 links=4 pairs=%s",
             file); /* some left out, too few to judge by */
    ferry_model_free(fit_model(ctx, task, "coca", settings));
    ferry_task_free(task);
}

/* fails(settings, data, message) */
static void fails(ferry_ctx *ctx, const char *parts, const char *settings, ferry_status st,
                  const char *message)
{
    ferry_task *task = task_of(ctx, parts);
    ferry_opts *opts = settings_of(ctx, settings);
    ferry_model *m = NULL;

    assert_fails(ctx, ferry_fit(ctx, task, "coca", opts, &m, NULL), st, message);
    assert_null(m);
    ferry_opts_free(opts);
    ferry_task_free(task);
}

/* A path of five nodes; coca-paper has d = 10 whether it is given or not. */
static void too_few_nodes(ferry_ctx *ctx)
{
    static const char *const nodes[] = {"a", "b", "c", "d", "e"};
    static const char *const settings[] = {"mode=paper", "d=10"};
    ferry_domain *d = NULL;
    ferry_task *task = NULL;
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "path", 4, nodes, nodes + 1, NULL));
    task = small_task(ctx, FERRY_EMBED, NULL, d);
    for (int64_t s = 0; s < FERRY_COUNT(settings); s++) {
        ferry_opts *opts = settings_of(ctx, settings[s]);
        ferry_model *m = NULL;
        assert_fails(ctx, ferry_fit(ctx, task, "coca", opts, &m, NULL), FERRY_ENEEDS,
                     "d = 10, but target 't' has only 5 instances");
        assert_null(m);
        ferry_opts_free(opts);
    }
    p = fit_predict(ctx, task, "coca", "", target_of(task));
    assert_true(p->k >= 1 && p->k < 5);
    ferry_prediction_free(p);
    ferry_task_free(task);
}

/* One instance, or instances that are all equal: after centring nothing is left of a view. */
static void nothing_differs(ferry_ctx *ctx)
{
    static const double same[] = {1, 2, 1, 2, 1, 2};

    for (int64_t n = 1; n <= 3; n += 2) {
        ferry_domain *d = NULL;
        ferry_model *m = NULL;
        assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
        small_view(ctx, d, "one", n, 2, same, NULL, NULL, false);
        ferry_task *task = small_task(ctx, FERRY_EMBED, NULL, d);
        assert_fails(ctx, ferry_fit(ctx, task, "coca", NULL, &m, NULL), FERRY_ENEEDS,
                     "coca: the instances differ in no view: nothing to embed");
        if (n == 1)
            assert_fails(ctx, ferry_fit(ctx, task, "pca-joined", NULL, &m, NULL),
                         FERRY_ENEEDS, "pca-joined: the instances differ in no view");
        ferry_task_free(task);
    }
}

static void test_what_is_missing(void **state)
{
    ferry_ctx *ctx = *state;
    char settings[4300];

    too_few_nodes(ctx);
    nothing_differs(ctx);
    fails(ctx, "", "", FERRY_ENEEDS, "coca needs a view or a graph in the target");
    fails(ctx, "12", "d=10", FERRY_ENEEDS,
          "d = 10, but the views of target 't' have only 9");
    fails(ctx, "g", "d=40", FERRY_ENEEDS, "d = 40, but target 't' has only 40 instances");
    fails(ctx, "12", "d=2 weights=qp", FERRY_ENEEDS, "needs labels of target 't'");
    fails(ctx, "12g", "d=2 graph_weights=lift", FERRY_ENEEDS, "needs labels of target 't'");
    fails(ctx, "12", "d=0", FERRY_EINVAL, "d = 0, but it is -1 or at least 1");
    fails(ctx, "12", "d=2 mode=paper form=4.5", FERRY_EINVAL, "form");
    snprintf(settings, sizeof settings, "d=2 pairs=%s",
             tmp_file("unknown.csv", "1,3,1\n1,elephant,-1\n", -1));
    fails(ctx, "12", settings, FERRY_EDATA, "'elephant' is no instance of 't'");
    snprintf(settings, sizeof settings, "d=2 pairs=%s",
             tmp_file("zero.csv", "1,3,1\n1,4,0\n", -1));
    fails(ctx, "12", settings, FERRY_EDATA, "pair 2 has 0");
    snprintf(settings, sizeof settings, "d=2 weights=qp pairs=%s",
             tmp_file("must.csv", "1,3,1\n3,5,1\n", -1));
    fails(ctx, "12", settings, FERRY_ENEEDS,
          "needs links of both kinds; there are 2 within");
}

/* Views of different instances say nothing about each other. */
static void test_no_common_ids(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const ids[] = {"a", "b", "c"};
    ferry_domain *d = NULL;
    ferry_task *task = NULL;
    ferry_model *m = NULL;
    ferry_opts *opts = settings_of(ctx, "d=1");

    make_data();
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    small_view(ctx, d, "one", 3, 5, x1, NULL, NULL, false);
    small_view(ctx, d, "two", 3, 4, x2, ids, NULL, false);
    task = small_task(ctx, FERRY_EMBED, NULL, d);
    assert_fails(ctx, ferry_fit(ctx, task, "coca", opts, &m, NULL), FERRY_ENEEDS,
                 "coca needs views with common ids; view 'one'");
    assert_fails(ctx, ferry_fit(ctx, task, "pca-joined", opts, &m, NULL), FERRY_ENEEDS,
                 "pca-joined needs views with common ids");
    ferry_opts_free(opts);
    ferry_task_free(task);
}

/* One class has no cannot-links: equal weights. Constant columns are no trouble. */
static void test_little_to_learn_from(void **state)
{
    ferry_ctx *ctx = *state;
    static const double flat[6 * 2] = {3, 1, 3, 2, 3, 3, 3, 4, 3, 5, 3, 7};
    static const double other[6] = {1, 1, 2, 5, 4, 6};
    ferry_domain *d = NULL;
    ferry_task *task = NULL;
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    small_view(ctx, d, "flat", 6, 2, flat, NULL, NULL, false);
    small_view(ctx, d, "other", 6, 1, other, NULL, NULL, false);
    small_classes(ctx, d, "aaaaaa");
    task = small_task(ctx, FERRY_EMBED, NULL, d);
    p = fit_predict(ctx, task, "coca", "d=3", target_of(task)); /* one of them is nothing */
    assert_true(fabs(p->score[0]) > 0.1);
    for (int i = 0; i < 6; i++)
        assert_true(isfinite(p->score[i * 3]) && fabs(p->score[i * 3 + 2]) < 3);
    ferry_prediction_free(p);
    ferry_task_free(task);
}

static void same_prediction(const ferry_prediction *a, const ferry_prediction *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->k, b->k);
    assert_memory_equal(a->score, b->score, (size_t)(a->n * a->k) * sizeof(double));
}

/* Saved and loaded: the same bits, also of graphs alone. */
static void test_save_load(void **state)
{
    static const char *const parts[] = {"123gry", "gr"};
    ferry_ctx *ctx = *state;

    for (int s = 0; s < 2; s++) {
        ferry_task *task = task_of(ctx, parts[s]);
        ferry_model *m = fit_model(ctx, task, "coca", "d=3 smooth=1"), *back = NULL;
        ferry_prediction *p = NULL, *q = NULL;
        const char *path = tmp_path("coca.ferry");
        assert_ok(ctx, ferry_model_save(ctx, m, path));
        assert_ok(ctx, ferry_model_load(ctx, path, "coca", &back));
        assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &p));
        assert_ok(ctx, ferry_predict(ctx, back, target_of(task), &q));
        same_prediction(p, q);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_model_free(m);
        ferry_model_free(back);
        ferry_task_free(task);
    }
}

/* An embedding as arrays: read back, the same numbers and ids. */
static void test_arrays(void **state)
{
    static const char *const names[] = {"z.npz", "z.npy"};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "12");
    ferry_prediction *p = fit_predict(ctx, task, "pca-joined", "d=3", target_of(task));

    for (int s = 0; s < 2; s++) {
        ferry_data *back = NULL;
        const char *path = tmp_path(names[s]);
        assert_ok(ctx, ferry_prediction_write(ctx, p, path));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &back));
        assert_int_equal(back->x->rows, N);
        assert_int_equal(back->x->cols, 3);
        assert_memory_equal(back->x->dense, p->score, N * 3 * sizeof(double));
        if (s == 0) assert_string_equal(ferry_i_ids_at(back->ids, N - 1), p->ids[N - 1]);
        ferry_data_free(back);
    }
    ferry_prediction_free(p);
    ferry_task_free(task);
}

/* Tensors of a model left out, or of another shape. */
static void test_bad_models(void **state)
{
    static const char *const parts[] = {"12g", "g"};
    ferry_ctx *ctx = *state;

    for (int64_t k = 0; k < FERRY_COUNT(parts); k++) {
        ferry_task *task = task_of(ctx, parts[k]);
        ferry_model *m = fit_model(ctx, task, "coca", "d=2 smooth=1");
        ferry_dict *good = NULL, *bad = NULL;
        assert_ok(ctx, ferry_i_dict_new(ctx, &good));
        assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, good));
        for (int64_t i = 0; i < 3 * good->n; i++) {
            const char *name = ferry_i_ids_at(good->names, i / 3);
            const double many[] = {-1, -1, -1, -1, -1, -1, -1};
            const int64_t numbers[] = {-9, 99, 7};
            void *loaded = NULL;
            assert_ok(ctx, ferry_i_dict_new(ctx, &bad));
            for (int64_t t = 0; t < good->n; t++) {
                dict_tensor one = good->tensor[t];
                one.owned = NULL;
                if (t != i / 3)
                    assert_ok(ctx, ferry_i_dict_add(ctx, bad,
                                                    ferry_i_ids_at(good->names, t), &one));
            }
            if (i % 3 == 1)
                assert_ok(ctx, ferry_i_dict_put_reals(ctx, bad, name, 1, 7, many));
            if (i % 3 == 2)
                assert_ok(ctx, ferry_i_dict_put_ints(ctx, bad, name, 3, numbers));
            ferry_status st = ferry_i_method_load(ctx, m->method, bad, &loaded);
            ferry_prediction p = {.n = N};
            if (st == FERRY_OK) { /* then it does not answer, or the same */
                st = m->method->transform(ctx, loaded, target_of(task), &p);
                ferry_i_free(p.score);
                m->method->free(loaded);
            }
            if (st != FERRY_EDATA && i % 3 != 0)
                fail_msg("%s: a broken %s is taken", parts[k], name);
            ferry_i_dict_free(bad);
        }
        ferry_i_dict_free(good);
        ferry_model_free(m);
        ferry_task_free(task);
    }
}

static void test_relational(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "gry");
    ferry_model *m = fit_model(ctx, task, "coca", "d=2");
    ferry_prediction *p = NULL;
    ferry_domain *other = NULL;
    static const char *const ids[] = {"1", "stranger"};
    static const char *const ends[] = {"stranger", "1"};

    assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &p));
    assert_int_equal(p->k, 2);
    assert_true(separation(p) >
                0.99); /* the good graph has the two classes as components */
    ferry_prediction_free(p);
    assert_ok(ctx, ferry_domain_new(ctx, "o", FERRY_TARGET, &other));
    assert_ok(ctx, ferry_domain_add_graph(ctx, other, "good", 2, ids, ends, NULL));
    assert_fails(ctx, ferry_predict(ctx, m, other, &p), FERRY_ENEEDS,
                 "'stranger' of domain 'o' is not one of them");
    ferry_domain_free(other);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* New instances get what they got in training; with a view missing the rest decides. */
static void test_new_instances(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "12y");
    ferry_model *m = NULL;
    ferry_prediction *all = NULL, *few = NULL, *lacking = NULL;
    ferry_domain *d = domain_of(ctx, "12", 10), *one = domain_of(ctx, "1", N);

    for (int how = 0; how < 3; how++) {
        static const char *const missing[] = {"d=2 missing=mean", "d=2 missing=regress",
                                              "d=2"};
        double both = 0, aa = 0, bb = 0;
        m = fit_model(ctx, task, "coca", missing[how]);
        assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &all));
        assert_ok(ctx, ferry_predict(ctx, m, d, &few));
        for (int e = 0; e < 20; e++)
            assert_close(few->score[e], all->score[e], 1e-12);
        assert_ok(ctx, ferry_predict(ctx, m, one, &lacking));
        for (int i = 0; i < N; i++) {
            both += all->score[2 * i] * lacking->score[2 * i];
            aa += all->score[2 * i] * all->score[2 * i];
            bb += lacking->score[2 * i] * lacking->score[2 * i];
        }
        assert_true(both / sqrt(aa * bb) > 0.8);
        if (how == 1) assert_true(fabs(both / bb - 1) < 1e-9); /* the regression's slope */
        ferry_prediction_free(all);
        ferry_prediction_free(few);
        ferry_prediction_free(lacking);
        ferry_model_free(m);
    }
    ferry_domain_free(d);
    ferry_domain_free(one);
    ferry_task_free(task);
}

/* Seed and engine. */
static void test_same_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "123gy");
    ferry_prediction *a = fit_predict(ctx, task, "coca", "d=3 links=20", target_of(task));
    ferry_prediction *b = fit_predict(ctx, task, "coca", "d=3 links=20", target_of(task));
    ferry_prediction *c = NULL;

    same_prediction(a, b);
    assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "ref"));
    c = fit_predict(ctx, task, "coca", "d=3 links=20", target_of(task));
    for (int e = 0; e < N * 3; e++)
        assert_close(c->score[e], a->score[e], 1e-9);
    ferry_prediction_free(a);
    ferry_prediction_free(b);
    ferry_prediction_free(c);
    ferry_task_free(task);
}

static ferry_answer cancel_at(void *user, const ferry_progress *p)
{
    (void)p;
    return --*(int *)user < 0 ? FERRY_CANCEL : FERRY_GO;
}

static ferry_answer finish_now(void *user, const ferry_progress *p)
{
    (void)user;
    (void)p;
    return FERRY_FINISH;
}

static void test_cancel_and_finish(void **state)
{
    static const char *const names[] = {"coca", "pca-joined"};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "12");
    ferry_opts *opts = settings_of(ctx, "d=2");

    for (int s = 0; s < 2; s++) {
        ferry_model *m = NULL;
        ferry_fit_info rep = {.size = sizeof rep};
        ferry_status st = FERRY_ECANCELLED;
        for (int n = 0; st != FERRY_OK; n++) {
            int left = n;
            ferry_ctx_set_progress(ctx, cancel_at, &left);
            st = ferry_fit(ctx, task, names[s], opts, &m, NULL);
            assert_true(n < 10 && (st == FERRY_OK || st == FERRY_ECANCELLED));
            assert_int_equal(m != NULL, st == FERRY_OK);
        }
        ferry_model_free(m);
        ferry_ctx_set_progress(ctx, finish_now, NULL);
        assert_ok(ctx, ferry_fit(ctx, task, names[s], opts, &m, &rep));
        assert_int_equal(rep.stop, FERRY_STOP_FINISH);
        ferry_model_free(m);
        ferry_ctx_set_progress(ctx, NULL, NULL);
    }
    ferry_opts_free(opts);
    ferry_task_free(task);
}

static ferry_status fit_and_embed(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_task *task = arg;
    ferry_model *m = NULL, *copy = NULL;
    ferry_prediction *p = NULL;
    ferry_opts *opts = NULL;
    ferry_dict *dict = NULL;

    FERRY_TRY(ferry_opts_new(ctx, &opts));
    FERRY_TRY(ferry_opts_set(ctx, opts, "d", "2"));
    FERRY_TRY(ferry_opts_set(ctx, opts, "smooth", "1"));
    if (target_of(task)->n_views > 0) FERRY_TRY(ferry_opts_set(ctx, opts, "weights", "qp"));
    FERRY_TRY(ferry_fit(ctx, task, "coca", opts, &m, NULL));
    FERRY_TRY(ferry_predict(ctx, m, target_of(task), &p));
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_model_pack(ctx, m, dict));
    FERRY_TRY(ferry_i_model_unpack(ctx, "copy", dict, NULL, &copy));
done:
    ferry_i_dict_free(dict);
    ferry_model_free(copy);
    ferry_model_free(m);
    ferry_prediction_free(p);
    ferry_opts_free(opts);
    return st;
}

static ferry_status fit_by_default(ferry_ctx *ctx, void *task)
{
    ferry_model *m = NULL;
    const ferry_status st = ferry_fit(ctx, task, "coca", NULL, &m, NULL);

    ferry_model_free(m);
    return st;
}

/* The default weights are up to three fits a try: on very little. */
static void test_memory(void **state)
{
    static const double little[] = {1, 2, 4, 7, 5, 3, 8, 6, 2, 9, 1, 5};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "13gry"), *graphs = task_of(ctx, "g"), *tiny = NULL;
    ferry_domain *d = NULL;

    each_allocation_fails(ctx, fit_and_embed, task);
    each_allocation_fails(ctx, fit_and_embed, graphs);
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    small_view(ctx, d, "one", 6, 1, little, NULL, NULL, false);
    small_view(ctx, d, "two", 6, 1, little + 3, NULL, NULL, false);
    small_view(ctx, d, "three", 6, 1, little + 6, NULL, NULL, false);
    small_classes(ctx, d, "ababab");
    tiny = small_task(ctx, FERRY_EMBED, NULL, d);
    each_allocation_fails(ctx, fit_by_default, tiny);
    ferry_task_free(task);
    ferry_task_free(graphs);
    ferry_task_free(tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_embeds, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_as_published, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_baseline_is_a_special_case, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_learned_weights, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_noise_drops_out, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_choice, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_few_rows, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_graph_programme, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_graph_of_no_proof, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_constant_columns, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_chosen_d, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_chosen_alpha, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_positive_only, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_pairs, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_missing, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_common_ids, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_little_to_learn_from, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_save_load, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_arrays, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bad_models, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_relational, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_new_instances, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_same_numbers, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_cancel_and_finish, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
    };

    return cmocka_run_group_tests_name("coca method", tests, NULL, NULL);
}
