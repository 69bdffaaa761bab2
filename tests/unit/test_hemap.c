/* The methods hemap and hemap-paper through the public API: gate, refusal, translated labels, files. */
#include <jansson.h>
#include <stdio.h>

#include "data/data.h"
#include "learn/common_space.h"
#include "methods/method.h"
#include "small_task.h"
#include "state/dict_private.h"

enum { N = 40, M = 5, D = 6 };

/* ---- tasks ---- */

/* Two latent numbers decide class and features; the two sets' features share nothing. Row i
 * of both has the same latent numbers. */
typedef struct world {
    double t[N * M], s[N * D], y[N], v[N];
    char cls[N + 1], other[N + 1];
} world;

static void make_world(world *w)
{
    ferry_rng rng;
    double a[2 * M], b[2 * D];

    ferry_i_rng_seed(&rng, 7, 1);
    for (int i = 0; i < 2 * M; i++)
        a[i] = ferry_i_rng_normal(&rng);
    for (int i = 0; i < 2 * D; i++)
        b[i] = ferry_i_rng_normal(&rng);
    for (int i = 0; i < N; i++) {
        const double z[] = {ferry_i_rng_normal(&rng) + (i % 2 ? 2 : -2),
                            ferry_i_rng_normal(&rng)};
        for (int j = 0; j < M; j++)
            w->t[i * M + j] =
                z[0] * a[j] + z[1] * a[M + j] + 0.1 * ferry_i_rng_normal(&rng);
        for (int j = 0; j < D; j++)
            w->s[i * D + j] =
                z[0] * b[j] + z[1] * b[D + j] + 0.1 * ferry_i_rng_normal(&rng);
        w->y[i] = z[0];
        w->v[i] = 10 + 3 * z[0];
        w->cls[i] = i % 2 ? 'a' : 'b';
        w->other[i] = i % 2 ? 'x' : 'y';
    }
    w->cls[N] = w->other[N] = 0;
}

/* The first n of the target's labels. */
static void hide_after(char *letters, int n)
{
    for (int i = n; letters[i]; i++)
        letters[i] = '?';
}

/* Row i of both is the same thing, for the first n. */
static void tie_rows(ferry_domain *target, int64_t n)
{
    ferry_pairs *p = ferry_i_calloc(1, sizeof *p);

    p->n = n;
    p->left = ferry_i_calloc(n, sizeof *p->left);
    p->right = ferry_i_calloc(n, sizeof *p->right);
    for (int64_t i = 0; i < n; i++) {
        p->left[i] = ferry_i_sprintf("%lld", (long long)(i + 1));
        p->right[i] = ferry_i_sprintf("%lld", (long long)(i + 1));
    }
    target->pairs = p;
}

/* `seen` target labels; `pairs` rows tied; the source's classes have other names if
 * `differ`. */
static ferry_task *classes_task(ferry_ctx *ctx, int seen, int pairs, bool differ)
{
    world w;
    ferry_domain *s, *t;

    make_world(&w);
    s = small_domain(ctx, "far", FERRY_SOURCE, N, D, w.s);
    t = small_domain(ctx, "near", FERRY_TARGET, N, M, w.t);
    small_classes(ctx, s, differ ? w.other : w.cls);
    hide_after(w.cls, seen);
    if (seen > 0) small_classes(ctx, t, w.cls);
    if (pairs > 0) tie_rows(t, pairs);
    return small_task(ctx, FERRY_CLASSIFY, s, t);
}

static ferry_task *numbers_task(ferry_ctx *ctx, int seen, int pairs)
{
    world w;
    ferry_domain *s, *t;

    make_world(&w);
    s = small_domain(ctx, "far", FERRY_SOURCE, N, D, w.s);
    t = small_domain(ctx, "near", FERRY_TARGET, N, M, w.t);
    assert_ok(ctx, ferry_domain_set_numbers(ctx, s, N, NULL, w.v));
    for (int i = seen; i < N; i++)
        w.y[i] = NAN;
    if (seen > 0) assert_ok(ctx, ferry_domain_set_numbers(ctx, t, N, NULL, w.y));
    if (pairs > 0) tie_rows(t, pairs);
    return small_task(ctx, FERRY_REGRESS, s, t);
}

static const ferry_domain *target_of(const ferry_task *task)
{
    return ferry_task_domain_at(task, task->n_domains - 1);
}

/* Share of right classes; class names are those of the task. */
static double accuracy(const ferry_prediction *p)
{
    int64_t right = 0;

    for (int64_t i = 0; i < N; i++)
        right += strcmp(p->names[p->cls[i]], i % 2 ? "a" : "b") == 0;
    return (double)right / N;
}

static json_t *diagnostics(const ferry_model *m)
{
    json_t *j = json_loads(m->diagnostics, 0, NULL);

    assert_non_null(j);
    return j;
}

static double diag_real(const ferry_model *m, const char *key)
{
    json_t *j = diagnostics(m);
    const double x = json_number_value(json_object_get(j, key));

    assert_non_null(json_object_get(j, key));
    json_decref(j);
    return x;
}

static void diag_has(const ferry_model *m, const char *key, const char *text)
{
    json_t *j = diagnostics(m);
    const char *s = json_string_value(json_object_get(j, key));

    if (!s || !strstr(s, text)) fail_msg("%s: '%s' lacks '%s'", key, s ? s : "", text);
    json_decref(j);
}

/* ---- hemap ---- */

/* No target label at all: classes come through the pairs. */
static void test_pairs_alone(void **state)
{
    static const char *const settings[] = {"learner=knn neighbours=3", "learner=logreg",
                                           "learner=ridge"};
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 0, N, false);

    for (int64_t i = 0; i < 3; i++) {
        ferry_prediction *p = fit_predict(ctx, task, "hemap", settings[i], target_of(task));
        assert_true(accuracy(p) >= 0.9);
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

/* The gate takes to the source when it clearly helps: labels that features cannot tell. */
static void test_gate_opens(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, N, false);
    ferry_model *m = fit_model(ctx, task, "hemap", "base=knn neighbours=11 caution=1");
    ferry_prediction *p = NULL;

    /* 11 neighbours among the 9 or 10 labels of a fold are the majority: half wrong. */
    assert_true(diag_real(m, "gamma") > 0);
    diag_has(m, "tied_by", "row pairs");
    assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &p));
    assert_true(accuracy(p) >= 0.9);
    ferry_prediction_free(p);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* With classes as the tie and an own learner that is right, nothing is taken. */
static void test_gate_closes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, 0, false);
    ferry_model *m = fit_model(ctx, task, "hemap", "");
    ferry_prediction *p = fit_predict(ctx, task, "hemap", "gamma=0", target_of(task));
    ferry_prediction *q = NULL;

    assert_true(diag_real(m, "gamma") == 0);
    diag_has(m, "tied_by", "classes");
    diag_has(m, "note", "nothing was taken");
    assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &q));
    assert_memory_equal(p->score, q->score, sizeof *p->score * 2 * N);
    ferry_prediction_free(q);
    ferry_prediction_free(p);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* y = a + c v with v = 10 + 3 z and y = z. */
static void test_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = numbers_task(ctx, 20, N), *quantiles = numbers_task(ctx, 12, 0);
    ferry_model *m = fit_model(ctx, task, "hemap", "gamma=1 lambda=0.1");
    ferry_prediction *p = NULL;
    json_t *j = diagnostics(m);
    world w;
    double sse = 0, all = 0;

    make_world(&w);
    assert_close(json_number_value(json_array_get(json_object_get(j, "translation"), 0)),
                 -10.0 / 3, 0.3);
    assert_close(json_number_value(json_array_get(json_object_get(j, "translation"), 1)),
                 1.0 / 3, 0.1);
    json_decref(j);
    assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &p));
    for (int i = 0; i < N; i++) {
        sse += (p->value[i] - w.y[i]) * (p->value[i] - w.y[i]);
        all += w.y[i] * w.y[i];
    }
    assert_true(sse < 0.1 * all);
    ferry_prediction_free(p);
    ferry_model_free(m);
    m = fit_model(ctx, quantiles, "hemap", "gamma=1 bins=3 learner=knn");
    diag_has(m, "tied_by", "quantiles");
    assert_true(diag_real(m, "ties") == 3);
    ferry_model_free(m);
    ferry_task_free(quantiles);
    ferry_task_free(task);
}

/* A place depends on own features only: a new instance gets the place that it had. */
static void test_new_instances(void **state)
{
    static const char *const settings[] = {
        "gamma=0.5", "mode=paper k=2 sampling=no",
        "mode=paper variant=nonlinear k=3 sampling=no as_printed=yes"};
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, N, false);
    world w;

    make_world(&w);
    ferry_domain *some = small_domain(ctx, "some", FERRY_TARGET, 3, M, w.t + 5 * M);
    for (int64_t i = 0; i < FERRY_COUNT(settings); i++) {
        ferry_prediction *all =
            fit_predict(ctx, task, "hemap", settings[i], target_of(task));
        ferry_prediction *p = fit_predict(ctx, task, "hemap", settings[i], some);
        for (int k = 0; k < 6; k++)
            assert_close(p->score[k], all->score[10 + k], 1e-12);
        ferry_prediction_free(p);
        ferry_prediction_free(all);
    }
    ferry_domain_free(some);
    ferry_task_free(task);
}

/* The thesis's matrix with known ties: its leading pairs agree with the two latent numbers
 * of both sets, since both sets have the same two strong directions. */
static void test_eig(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 0, N, false);
    ferry_model *m = fit_model(ctx, task, "hemap", "solver=eig k=2 beta=2 neighbours=5");
    ferry_prediction *p = NULL;
    json_t *j = diagnostics(m);

    assert_int_equal(json_array_size(json_object_get(j, "eigenvalues")), 2);
    json_decref(j);
    assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &p));
    assert_true(accuracy(p) >= 0.9);
    ferry_prediction_free(p);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* ---- learners ---- */

/* Every learner that takes classes can be named, and those of numbers for numbers. */
static void test_learners(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, N, false), *numbers = numbers_task(ctx, 20, N);
    const learner *by = NULL;
    int64_t n = 0;
    char text[64];

    for (int64_t i = 0; (by = learner_at(i)); i++) {
        if (!(by->takes & LEARN_CLASSES)) continue;
        for (const char *of = "hemap"; of;
             of = strcmp(of, "hemap") == 0 ? "hemap-paper" : NULL) {
            (void)snprintf(text, sizeof text, "learner=%s base=%s %s", by->name, by->name,
                           strcmp(of, "hemap") == 0 ? "gamma=1" : "k=3 sampling=no");
            ferry_prediction *p = fit_predict(ctx, task, of, text, target_of(task));
            double all = 0;
            for (int64_t c = 0; c < p->k; c++) /* shares, whatever the learner's scores */
                all += p->score[c];
            assert_close(all, 1, 1e-9);
            assert_true(accuracy(p) >= 0.9);
            ferry_prediction_free(p);
        }
        (void)snprintf(text, sizeof text, "learner=%s base=%s gamma=1", by->name, by->name);
        if (by->takes & LEARN_NUMBERS)
            ferry_prediction_free(
                fit_predict(ctx, numbers, "hemap", text, target_of(numbers)));
        n++;
    }
    assert_int_equal(n, 5);
    ferry_task_free(numbers);
    ferry_task_free(task);
}

/* Table X's learners that also use rows without a label. */
static void test_self_training(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 4, N, false), *numbers = numbers_task(ctx, 20, N);
    ferry_opts *self = settings_of(ctx, "self_training=3"),
               *weighted = settings_of(ctx, "self_training=3 weight=0.5");
    ferry_model *m = fit_model(
        ctx, task, "hemap", "gamma=1 rows=target learner=knn neighbours=1 self_training=3");
    ferry_prediction *p = NULL;

    assert_true(diag_real(m, "added") >= 10); /* 4 of 36 a round */
    assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &p));
    assert_true(accuracy(p) >= 0.9);
    ferry_prediction_free(p);
    ferry_model_free(m);
    assert_fails(ctx, method_fits(ctx, "hemap", numbers, self), FERRY_ENEEDS,
                 "self_training serves the goal classify alone");
    assert_fails(ctx, method_fits(ctx, "hemap", task, weighted), FERRY_ENEEDS,
                 "weight must be 1");
    ferry_opts_free(weighted);
    ferry_opts_free(self);
    ferry_task_free(numbers);
    ferry_task_free(task);
}

/* The two sets on scales of their own, or as they come. */
static void test_as_printed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, 0, false);

    for (int printed = 0; printed < 2; printed++) {
        ferry_model *m =
            fit_model(ctx, task, "hemap",
                      printed ? "mode=paper as_printed=yes beta=0.5 sampling=no"
                              : "mode=paper beta=0.5 sampling=no");
        json_t *j = diagnostics(m), *of = json_object_get(j, "scatter");
        double square[2] = {0, 0};
        for (int i = 0; i < N; i++)
            for (int side = 0; side < 2; side++) {
                const double z = json_number_value(json_array_get(
                    json_array_get(json_object_get(of, side ? "source" : "target"),
                                   (size_t)i),
                    0));
                square[side] += z * z;
            }
        if (printed) { /* B'B = I */
            assert_close(square[0] + square[1], 1, 1e-10);
            assert_true(fabs(square[0] - square[1]) > 0.01);
        } else {
            assert_close(square[0], N, 1e-10);
            assert_close(square[1], N, 1e-10);
        }
        json_decref(j);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

/* The order of a file's rows decides nothing: here they stand the other way round, with their ids. */
static void test_row_order(void **state)
{
    static const char *const settings[] = {"", "gamma=0.5 bins=3",
                                           "mode=paper k=2 sampling=no",
                                           "mode=paper variant=nonlinear k=2"};
    ferry_ctx *ctx = *state;
    world w;

    make_world(&w);
    for (int64_t i = 0; i < FERRY_COUNT(settings); i++) {
        ferry_prediction *p[2];
        for (int turned = 0; turned < 2; turned++) {
            double x[2][N * D];
            char cls[2][N + 1] = {{0}, {0}};
            for (int r = 0; r < N; r++) {
                const int from = turned ? N - 1 - r : r;
                memcpy(x[0] + r * D, w.s + from * D, D * sizeof(double));
                memcpy(x[1] + r * M, w.t + from * M, M * sizeof(double));
                cls[0][r] = w.cls[from];
                cls[1][r] = from < 12 ? w.cls[from] : '?';
            }
            ferry_domain *s = small_domain(ctx, "far", FERRY_SOURCE, N, D, x[0]);
            ferry_domain *t = small_domain(ctx, "near", FERRY_TARGET, N, M, x[1]);
            s->numbered = t->numbered = true; /* keys by what rows hold */
            small_classes(ctx, s, cls[0]);
            small_classes(ctx, t, cls[1]);
            ferry_task *task = small_task(ctx, FERRY_CLASSIFY, s, t);
            p[turned] = fit_predict(ctx, task, "hemap", settings[i], t);
            ferry_task_free(task);
        }
        for (int r = 0; r < N; r++)
            for (int c = 0; c < 2; c++)
                assert_close(p[0]->score[2 * r + c], p[1]->score[2 * (N - 1 - r) + c],
                             1e-9);
        ferry_prediction_free(p[0]);
        ferry_prediction_free(p[1]);
    }
}

/* ---- outputs that differ ---- */

static void test_differing_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *tied = classes_task(ctx, 16, N, true),
               *apart = classes_task(ctx, 12, 0, true);
    ferry_prediction *p = fit_predict(ctx, tied, "hemap",
                                      "gamma=1 rows=source neighbours=5", target_of(tied));
    ferry_prediction *q = fit_predict(ctx, tied, "hemap", "gamma=1", target_of(tied));
    ferry_model *m = fit_model(ctx, apart, "hemap", "");

    assert_int_equal(p->k, 4); /* a, b, x, y */
    assert_true(accuracy(p) >= 0.9);
    assert_true(accuracy(q) >= 0.9);
    /* Nothing ties x and y to a and b: a result that says so. */
    diag_has(m, "refused", "nothing ties");
    assert_true(diag_real(m, "gamma") == 0);
    ferry_model_free(m);
    ferry_prediction_free(q);
    ferry_prediction_free(p);
    ferry_task_free(apart);
    ferry_task_free(tied);
}

static void test_paper_notes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, 0, false),
               *tied = classes_task(ctx, 12, 30, false);
    ferry_model *m = fit_model(ctx, task, "hemap", "mode=paper k=2");

    diag_has(m, "note", "decides the result");
    diag_has(m, "tied_by", "row order");
    ferry_model_free(m);
    m = fit_model(ctx, tied, "hemap",
                  "mode=paper variant=nonlinear k=2 exact=yes sampling=no");
    diag_has(m, "note", "beyond the pairs");
    assert_true(diag_real(m, "gamma") == 1);
    ferry_model_free(m);
    ferry_task_free(tied);
    ferry_task_free(task);
}

/* Numbers in hemap-paper: clusters of the source by quantiles, outputs by a line. */
static void test_paper_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = numbers_task(ctx, 12, 0);
    ferry_prediction *p =
        fit_predict(ctx, task, "hemap",
                    "mode=paper variant=nonlinear k=2 sampling=no bins=3", target_of(task));

    for (int i = 0; i < N; i++)
        assert_true(fabs(p->value[i]) < 6); /* in the target's units, not the source's */
    ferry_prediction_free(p);
    ferry_task_free(task);
}

/* Source and target in two far blobs each, not the same ones. */
static void test_too_risky(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, 0, false);
    ferry_model *m = fit_model(ctx, task, "hemap", "mode=paper k=2 risk=0 min_size=2");
    ferry_prediction *p = NULL, *own;

    diag_has(m, "refused", "too risky");
    diag_has(m, "note", "too risky");
    diag_has(m, "risk", "too risky");
    assert_true(diag_real(m, "gamma") == 0);
    assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &p));
    own = fit_predict(ctx, task, "hemap", "gamma=0", target_of(task));
    assert_memory_equal(p->score, own->score, sizeof *p->score * 2 * N);
    ferry_prediction_free(own);
    ferry_prediction_free(p);
    ferry_model_free(m);
    m = fit_model(ctx, task, "hemap",
                  "mode=paper divergence=printed risk=1e5 tau=1e5 kappa=1e5");
    assert_true(diag_real(m, "gamma") == 1);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* ---- files, seeds, engines ---- */

static void test_save_load(void **state)
{
    static const char *const settings[] = {
        "gamma=0.5 learner=knn base=logreg",
        "gamma=0.5 learner=logreg base=ridge weight=0.5",
        "gamma=0.25 learner=ridge base=knn weight=0.5",
        "gamma=0.5 learner=knn weight=0.5 translate=yes",
        "gamma=0.5 learner=svm base=gbdt self_training=2",
        "mode=paper k=2 sampling=no",
        "gamma=0",
    };
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, N, false), *numbers = numbers_task(ctx, 12, N);

    for (int64_t i = 0; i < FERRY_COUNT(settings) + 2; i++) {
        const int64_t of = FERRY_COUNT(settings);
        const ferry_task *t = i < of ? task : numbers;
        const char *set = i < of    ? settings[i]
                          : i == of ? "gamma=0.5"
                                    : "learner=knn gamma=1";
        ferry_model *m = fit_model(ctx, t, "hemap", set), *back = NULL;
        ferry_prediction *p = NULL, *q = NULL;
        assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("hemap.ferry")));
        assert_ok(ctx, ferry_model_load(ctx, tmp_path("hemap.ferry"), NULL, &back));
        assert_ok(ctx, ferry_predict(ctx, m, target_of(t), &p));
        assert_ok(ctx, ferry_predict(ctx, back, target_of(t), &q));
        if (i < of)
            assert_memory_equal(p->score, q->score, sizeof *p->score * 2 * N);
        else
            assert_memory_equal(p->value, q->value, sizeof *p->value * N);
        ferry_prediction_free(q);
        ferry_prediction_free(p);
        ferry_model_free(back);
        ferry_model_free(m);
    }
    ferry_task_free(numbers);
    ferry_task_free(task);
}

/* Tensors left out or of another shape: they are not loaded, or (parts that do not go together) do not answer. */
static void check_strange(ferry_ctx *ctx, const ferry_task *task, const char *settings)
{
    ferry_model *m = fit_model(ctx, task, "hemap", settings);
    ferry_dict *good = NULL, *bad = NULL;
    void *s = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &good));
    assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, good));
    for (int64_t i = 0; i < 3 * good->n; i++) {
        const char *name = ferry_i_ids_at(good->names, i / 3);
        const double two[] = {-1, -1};
        const int64_t numbers[] = {FERRY_CLASSIFY, 9};
        ferry_prediction p = {.k = 2};
        assert_ok(ctx, ferry_i_dict_new(ctx, &bad));
        for (int64_t e = 0; e < good->n; e++) {
            dict_tensor borrowed = good->tensor[e];
            borrowed.owned = NULL;
            if (e != i / 3)
                assert_ok(ctx, ferry_i_dict_add(ctx, bad, ferry_i_ids_at(good->names, e),
                                                &borrowed));
        }
        if (i % 3 == 1) assert_ok(ctx, ferry_i_dict_put_reals(ctx, bad, name, 1, 2, two));
        if (i % 3 == 2) assert_ok(ctx, ferry_i_dict_put_ints(ctx, bad, name, 2, numbers));
        ferry_status st = ferry_i_method_load(ctx, m->method, bad, &s);
        if (st == FERRY_OK) {
            st = m->method->predict(ctx, s, target_of(task), &p);
            m->method->free(s);
            s = NULL;
        }
        if (st != FERRY_EDATA) fail_msg("a broken %s is taken", name);
        assert_null(s);
        ferry_i_dict_free(bad);
    }
    ferry_i_dict_free(good);
    ferry_model_free(m);
}

static void test_strange_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, N, false);

    check_strange(ctx, task, "gamma=0.5 translate=yes learner=ridge");
    check_strange(ctx, task, "mode=paper k=2 learner=ridge sampling=no");
    ferry_task_free(task);
}

static void test_same_bits(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, 0, false);
    static const char *const modes[] = {"caution=0",
                                        "mode=paper variant=nonlinear k=2 sampling=no"};

    for (int i = 0; i < 2; i++) {
        ferry_prediction *p = fit_predict(ctx, task, "hemap", modes[i], target_of(task));
        ferry_prediction *q = fit_predict(ctx, task, "hemap", modes[i], target_of(task));
        ferry_prediction *r = NULL;
        assert_memory_equal(p->score, q->score, sizeof *p->score * 2 * N);
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "ref"));
        r = fit_predict(ctx, task, "hemap", modes[i], target_of(task));
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "host"));
        for (int k = 0; k < 2 * N; k++)
            assert_close(p->score[k], r->score[k], 1e-6);
        ferry_prediction_free(r);
        ferry_prediction_free(q);
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

/* ---- embed ---- */

static void test_embed(void **state)
{
    ferry_ctx *ctx = *state;
    world w;
    ferry_domain *s, *t;
    ferry_task *task;

    make_world(&w);
    s = small_domain(ctx, "far", FERRY_SOURCE, N, D, w.s);
    t = small_domain(ctx, "near", FERRY_TARGET, N, M, w.t);
    tie_rows(t, N);
    task = small_task(ctx, FERRY_EMBED, s, t);
    ferry_model *m = fit_model(ctx, task, "hemap", "k=100"), *back = NULL;
    ferry_prediction *p = NULL, *q = NULL;
    json_t *j = diagnostics(m);
    const json_t *corr = json_object_get(j, "correlations");
    assert_ok(ctx, ferry_predict(ctx, m, target_of(task), &p));
    assert_int_equal(p->k, M);                                     /* k above the rank */
    assert_true(json_number_value(json_array_get(corr, 1)) > 0.8); /* two latent numbers */
    assert_true(json_number_value(json_array_get(corr, 2)) < 0.5);
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(j, "scatter"), "target")), N);
    json_decref(j);
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("e.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("e.ferry"), NULL, &back));
    assert_ok(ctx, ferry_predict(ctx, back, target_of(task), &q));
    assert_memory_equal(p->score, q->score, sizeof *p->score * (size_t)(N * p->k));
    ferry_prediction_free(q);
    ferry_prediction_free(p);
    ferry_model_free(back);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* More features than rows, and sparse: axes by the rows' side. */
static void test_wide(void **state)
{
    enum { ROWS = 12, WIDE = 30 };
    ferry_ctx *ctx = *state;
    double t[ROWS * WIDE] = {0}, s[ROWS * WIDE] = {0};
    ferry_domain *sd, *td;
    ferry_prediction *p;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 1);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < WIDE; j++) {
            t[i * WIDE + j] = j % 2 == i % 2 ? 1 + ferry_i_rng_real(&rng) : 0;
            s[i * WIDE + j] = j / 15 == i % 2 ? 1 + ferry_i_rng_real(&rng) : 0;
        }
    assert_ok(ctx, ferry_domain_new(ctx, "far", FERRY_SOURCE, &sd));
    assert_ok(ctx, ferry_domain_new(ctx, "near", FERRY_TARGET, &td));
    small_view(ctx, sd, "x", ROWS, WIDE, s, NULL, NULL, true);
    small_view(ctx, td, "x", ROWS, WIDE, t, NULL, NULL, true);
    small_classes(ctx, sd, "abababababab");
    tie_rows(td, ROWS);
    ferry_task *task = small_task(ctx, FERRY_CLASSIFY, sd, td);
    p = fit_predict(ctx, task, "hemap", "neighbours=3", td);
    for (int i = 0; i < ROWS; i++)
        assert_string_equal(p->names[p->cls[i]], i % 2 ? "b" : "a");
    ferry_prediction_free(p);
    ferry_task_free(task);
}

/* Values decide, storage never: the same bits from dense and from sparse views. */
static void test_storage(void **state)
{
    static const char *const settings[] = {"", "gamma=0.5", "mode=paper k=2 sampling=no",
                                           "mode=paper variant=nonlinear sampling=no"};
    ferry_ctx *ctx = *state;
    world w;

    for (int64_t i = 0; i < FERRY_COUNT(settings); i++) {
        ferry_prediction *p[2];
        for (int sparse = 0; sparse < 2; sparse++) {
            ferry_domain *s = NULL, *d = NULL;
            make_world(&w);
            for (int e = 0; e < N * M; e += 3)
                w.t[e] = 0;
            assert_ok(ctx, ferry_domain_new(ctx, "far", FERRY_SOURCE, &s));
            assert_ok(ctx, ferry_domain_new(ctx, "near", FERRY_TARGET, &d));
            small_view(ctx, s, "a", N, D, w.s, NULL, NULL, sparse);
            small_view(ctx, d, "b", N, M, w.t, NULL, NULL, sparse);
            small_classes(ctx, s, w.cls);
            hide_after(w.cls, 12);
            small_classes(ctx, d, w.cls);
            ferry_task *task = small_task(ctx, FERRY_CLASSIFY, s, d);
            p[sparse] = fit_predict(ctx, task, "hemap", settings[i], target_of(task));
            ferry_task_free(task);
        }
        assert_memory_equal(p[0]->score, p[1]->score, sizeof(double) * 2 * N);
        ferry_prediction_free(p[0]);
        ferry_prediction_free(p[1]);
    }
}

/* ---- what cannot be ---- */

static void test_needs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *bare = classes_task(ctx, 0, 0, false),
               *two = classes_task(ctx, 12, 0, false);
    ferry_task *numbers = numbers_task(ctx, 12, 0);
    ferry_opts *logreg = settings_of(ctx, "base=logreg");
    const double x[] = {1, 2, 3};

    assert_fails(ctx, method_fits(ctx, "hemap", bare, NULL), FERRY_ENEEDS,
                 "hemap needs something that ties source 'far' to target 'near'");
    assert_ok(ctx, ferry_task_add_domain(
                       ctx, two, small_domain(ctx, "third", FERRY_SOURCE, 3, 1, x)));
    assert_fails(ctx, method_fits(ctx, "hemap", two, NULL), FERRY_ENEEDS,
                 "hemap maps one source; this task has 2");
    assert_fails(ctx, method_fits(ctx, "hemap", numbers, logreg), FERRY_ENEEDS,
                 "logreg does not serve the goal regress");
    ferry_opts_free(logreg);
    ferry_task_free(numbers);
    ferry_task_free(two);
    ferry_task_free(bare);
}

/* Pairs of other domains, or of instances without features. */
static void test_bad_pairs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, 3, false);
    ferry_pairs *p = target_of(task)->pairs;
    ferry_model *m = NULL;

    p->left_domain = ferry_i_strdup("other");
    p->right_domain = ferry_i_strdup("near");
    assert_fails(ctx, ferry_fit(ctx, task, "hemap", NULL, &m, NULL), FERRY_ENEEDS,
                 "these are of 'other' and 'near'");
    ferry_i_free(p->left_domain);
    p->left_domain = ferry_i_strdup("far");
    m = fit_model(ctx, task, "hemap", "");
    assert_true(diag_real(m, "ties") == 3);
    ferry_model_free(m);
    m = NULL;
    for (int i = 0; i < 3; i++)
        p->left[i][0] = 'z';
    assert_fails(ctx, ferry_fit(ctx, task, "hemap", NULL, &m, NULL), FERRY_ENEEDS,
                 "none of the 3 pairs has features in both");
    ferry_task_free(task);
}

/* One row, one feature, one class, constant columns. */
static void test_tiny(void **state)
{
    ferry_ctx *ctx = *state;
    const double flat[] = {1, 1, 1, 1}, line[] = {1, 2, 3, 4};
    ferry_model *m = NULL;

    for (int i = 0; i < 3; i++) {
        ferry_domain *s = small_domain(ctx, "far", FERRY_SOURCE, 4, 1, line);
        ferry_domain *t =
            small_domain(ctx, "near", FERRY_TARGET, 4, 1, i == 0 ? flat : line);
        small_classes(ctx, s, i == 1 ? "aaaa" : "abab");
        small_classes(ctx, t, i == 1 ? "aa??" : "ab??");
        ferry_task *task = small_task(ctx, FERRY_CLASSIFY, s, t);
        if (i == 0) { /* nothing to place by */
            assert_fails(ctx, ferry_fit(ctx, task, "hemap", NULL, &m, NULL), FERRY_EDATA,
                         "all features of 'near' are constant");
        } else {
            ferry_prediction *p = fit_predict(ctx, task, "hemap", "", t);
            if (i == 1) assert_string_equal(p->names[p->cls[3]], "a");
            ferry_prediction_free(p);
            m = fit_model(ctx, task, "hemap", "mode=paper k=9 sampling=no");
            ferry_model_free(m);
            m = NULL;
        }
        ferry_task_free(task);
    }
}

/* ---- progress, memory ---- */

static ferry_answer reply(void *user, const ferry_progress *p)
{
    (void)p;
    return *(const ferry_answer *)user;
}

static void test_progress(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = classes_task(ctx, 12, 0, false);
    ferry_answer say = FERRY_CANCEL;
    ferry_model *m = NULL;
    ferry_fit_info rep = {.size = sizeof rep};

    ferry_ctx_set_progress(ctx, reply, &say);
    assert_fails(ctx, ferry_fit(ctx, task, "hemap", NULL, &m, &rep), FERRY_ECANCELLED, "");
    assert_null(m);
    say = FERRY_FINISH;
    assert_ok(ctx, ferry_fit(ctx, task, "hemap", NULL, &m, &rep));
    assert_int_equal(rep.stop, FERRY_STOP_FINISH);
    assert_true(diag_real(m, "gamma") == 0);
    ferry_model_free(m);
    ferry_ctx_set_progress(ctx, NULL, NULL);
    ferry_task_free(task);
}

typedef struct trial {
    const ferry_task *task;
    const ferry_opts *opts;
} trial;

static ferry_status fit_save_predict(ferry_ctx *ctx, void *arg)
{
    const trial *t = arg;
    ferry_model *m = NULL, *back = NULL;
    ferry_prediction *p = NULL;
    ferry_dict *dict = NULL;
    ferry_status st = ferry_fit(ctx, t->task, "hemap", t->opts, &m, NULL);

    if (st == FERRY_OK) st = ferry_i_dict_new(ctx, &dict);
    if (st == FERRY_OK) st = ferry_i_model_pack(ctx, m, dict);
    if (st == FERRY_OK) st = ferry_i_model_unpack(ctx, "bag", dict, NULL, &back);
    if (st == FERRY_OK) st = ferry_predict(ctx, back, target_of(t->task), &p);
    ferry_prediction_free(p);
    ferry_model_free(back);
    ferry_i_dict_free(dict);
    ferry_model_free(m);
    return st;
}

static void test_memory(void **state)
{
    static const char *const settings[] = {
        "folds=2 gamma=0.5 learner=ridge weight=0.5 base=logreg",
        "folds=2 caution=0 neighbours=2",
        "mode=paper variant=nonlinear exact=yes tau=100 kappa=100 risk=100 min_clusters=2",
    };
    ferry_ctx *ctx = *state;
    const double x[] = {1, 2, 3, 4, 6, 5}, y[] = {2, 1, 5, 3, 0, 4};

    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1)); /* many short fits */
    for (int64_t i = 0; i < FERRY_COUNT(settings); i++) {
        ferry_domain *s = small_domain(ctx, "far", FERRY_SOURCE, 6, 1, x);
        ferry_domain *t = small_domain(ctx, "near", FERRY_TARGET, 3, 2, y);
        small_classes(ctx, s, "aabbab");
        small_classes(ctx, t, "ab?");
        if (i == 0) tie_rows(t, 3);
        ferry_task *task = small_task(ctx, FERRY_CLASSIFY, s, t);
        trial a = {task, settings_of(ctx, settings[i])};
        each_allocation_fails(ctx, fit_save_predict, &a);
        ferry_opts_free((ferry_opts *)(uintptr_t)a.opts);
        ferry_task_free(task);
    }
}

/* The task file: pairs by id, and a run that refuses is a run. */
static void test_task_file(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = NULL;
    ferry_results *rs = NULL;
    char *text = NULL;
    world w;
    FILE *f;

    make_world(&w);
    f = fopen(tmp_path("s.csv"), "w");
    fprintf(f, "id,s1,s2,kind\n");
    for (int i = 0; i < N; i++)
        fprintf(f, "s%d,%g,%g,%c\n", i, w.s[i * D], w.s[i * D + 1], w.cls[i]);
    fclose(f);
    f = fopen(tmp_path("t.csv"), "w");
    fprintf(f, "id,t1,t2,t3,kind\n");
    for (int i = 0; i < N; i++)
        fprintf(f, "t%d,%g,%g,%g,%c\n", i, w.t[i * M], w.t[i * M + 1], w.t[i * M + 2],
                w.cls[i]);
    fclose(f);
    f = fopen(tmp_path("pairs.csv"), "w");
    fprintf(f, "far,near\n");
    for (int i = 0; i < 30; i++)
        fprintf(f, "s%d,t%d\n", i, i);
    fclose(f);
    tmp_file("task.yaml",
             "task: pairs\ngoal: classify\ndomains:\n"
             "  - {name: far, role: source, x: s.csv, id: id, label: kind}\n"
             "  - {name: near, role: target, x: t.csv, id: id, label: kind,\n"
             "     labelled: 4, pairs: pairs.csv}\n"
             "methods:\n  - hemap: {gamma: 1}\n"
             "  - hemap: {mode: paper, risk: 0}\n    as: risky\n  - logreg\n",
             -1);
    assert_ok(ctx, ferry_task_load(ctx, tmp_path("task.yaml"), NULL, &task));
    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &rs));
    assert_ok(ctx, ferry_results_explain(ctx, rs, NULL, &text));
    assert_non_null(strstr(text, "risky: too risky"));
    assert_null(strstr(text, "no result from"));
    ferry_string_free(text);
    ferry_results_free(rs);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pairs_alone),   TEST(test_gate_opens),    TEST(test_gate_closes),
        TEST(test_numbers),       TEST(test_new_instances), TEST(test_differing_labels),
        TEST(test_paper_notes),   TEST(test_storage),       TEST(test_too_risky),
        TEST(test_save_load),     TEST(test_strange_files), TEST(test_same_bits),
        TEST(test_embed),         TEST(test_wide),          TEST(test_needs),
        TEST(test_tiny),          TEST(test_progress),      TEST(test_eig),
        TEST(test_paper_numbers), TEST(test_bad_pairs),     TEST(test_memory),
        TEST(test_task_file),     TEST(test_learners),      TEST(test_self_training),
        TEST(test_as_printed),    TEST(test_row_order),
    };
    return cmocka_run_group_tests_name("hemap", tests, NULL, NULL);
}
