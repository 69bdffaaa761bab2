/* aligned-trees: which shifts are undone, what that gives, orders that must not matter, files, memory. */
#include <jansson.h>
#include <stdio.h>

#include "run/run.h"
#include "methods/method.h"
#include "small_task.h"

enum { N = 120, D = 6, M = 3 };
typedef enum shift { NONE, OFFSET, FACTORS, CONTENT } shift;

/* Label k goes with column k; the last column is constant in the source. turned: rows and columns the other way round. */
static ferry_domain *make_domain(ferry_ctx *ctx, ferry_role role, shift how, bool turned,
                                 bool sparse)
{
    static const char *const labels[M] = {"a", "b", "c"};
    const char *ids[N], *names[D];
    static char text[N + D][16];
    double x[N * D];
    uint8_t on[N * M];
    ferry_domain *d = small_domain(ctx, role == FERRY_TARGET ? "t" : "s", role, 0, 0, NULL);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, role == FERRY_TARGET ? 5 : 6, 0);
    for (int i = 0; i < N; i++) {
        const int r = turned ? N - 1 - i : i;
        double row[D];
        for (int j = 0; j < D; j++)
            row[j] = ferry_i_rng_normal(&rng);
        if (how == CONTENT) row[3] = row[0] * row[1];
        for (int k = 0; k < M; k++)
            on[r * M + k] = row[k] > (how == CONTENT && k == 0 ? 1 : 0);
        if (role == FERRY_SOURCE) row[D - 1] = 0.25;
        for (int j = 0; j < D; j++) {
            if (how == OFFSET) row[j] += j % 2 ? 2 : -2;
            if (how == FACTORS) row[j] = row[j] * (j % 2 ? 5 : 0.2) + 1;
            x[r * D + (turned ? D - 1 - j : j)] = row[j];
        }
        snprintf(text[i], sizeof text[i], "%c%d", role == FERRY_TARGET ? 't' : 's', i);
        ids[r] = text[i];
    }
    for (int j = 0; j < D; j++) {
        snprintf(text[N + j], sizeof text[N + j], "c%d", j);
        names[turned ? D - 1 - j : j] = text[N + j];
    }
    small_view(ctx, d, "x", N, D, x, ids, names, sparse);
    assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, N, ids, M, labels, on));
    return d;
}

static ferry_task *make_task(ferry_ctx *ctx, shift how, bool turned, bool sparse)
{
    return small_task(ctx, FERRY_MULTILABEL,
                      make_domain(ctx, FERRY_SOURCE, NONE, turned, sparse),
                      make_domain(ctx, FERRY_TARGET, how, turned, sparse));
}

/* The target's labels are hidden from it. */
static ferry_model *fit(ferry_ctx *ctx, const ferry_task *task, const char *settings)
{
    ferry_task *seen = NULL;

    assert_ok(ctx, ferry_i_task_split(ctx, task, 0, &seen));
    ferry_model *m = fit_model(ctx, seen, "aligned-trees", settings);
    ferry_task_free(seen);
    return m;
}

static ferry_prediction *ask(ferry_ctx *ctx, const ferry_task *task, const ferry_model *m)
{
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_predict(ctx, m, ferry_task_domain_at(task, 1), &p));
    return p;
}

static double right(const ferry_task *task, const ferry_prediction *p)
{
    const ferry_labels *l = ferry_task_domain_at(task, 1)->labels;
    double sum = 0;

    for (int64_t e = 0; e < p->n * M; e++)
        sum += p->set[e] == l->on[e];
    return sum / (double)(p->n * M);
}

/* A shift of means is centred away, one of units standardised; no shift and other content are left as they are. */
static void test_what_is_undone(void **state)
{
    static const char *const align[] = {"raw", "centre", "standard", "raw"};
    static const double least[] = {0.85, 0.8, 0.8, 0.5};
    ferry_ctx *ctx = *state;

    for (int how = NONE; how <= CONTENT; how++) {
        ferry_task *task = make_task(ctx, (shift)how, false, false);
        ferry_model *m = fit(ctx, task, "");
        ferry_prediction *p = ask(ctx, task, m);
        json_t *said = json_loads(m->diagnostics, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(said, "align")), align[how]);
        assert_true(right(task, p) > least[how]);
        json_decref(said);
        ferry_prediction_free(p);
        ferry_model_free(m);
        ferry_task_free(task);
    }
}

/* Where the shift is undone, more is right than where it is left. */
static void test_it_pays(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx, OFFSET, false, false);
    ferry_model *m[2] = {fit(ctx, task, ""), fit(ctx, task, "align=raw")};
    ferry_prediction *p[2] = {ask(ctx, task, m[0]), ask(ctx, task, m[1])};

    assert_true(right(task, p[0]) > right(task, p[1]) + 0.2);
    for (int i = 0; i < 2; i++) {
        ferry_prediction_free(p[i]);
        ferry_model_free(m[i]);
    }
    ferry_task_free(task);
}

/* Neither the order of rows and columns nor how values are stored nor a file changes anything. */
static void test_orders_and_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx, OFFSET, false, false),
               *turned = make_task(ctx, OFFSET, true, false),
               *sparse = make_task(ctx, OFFSET, false, true);
    ferry_model *m = fit(ctx, task, ""), *of = fit(ctx, turned, ""),
                *csr = fit(ctx, sparse, ""), *back = NULL;

    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("a.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("a.ferry"), NULL, &back));
    ferry_prediction *p = ask(ctx, task, m), *q = ask(ctx, turned, of),
                     *r = ask(ctx, task, back), *c = ask(ctx, sparse, csr);
    const size_t size = (size_t)(N * M) * sizeof *p->score;
    assert_memory_equal(p->score, r->score, size);
    assert_memory_equal(p->score, c->score, size);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++)
            assert_close(q->score[(N - 1 - i) * M + k], p->score[i * M + k], 1e-9);
    ferry_prediction *const all[] = {p, q, r, c};
    ferry_model *const models[] = {m, of, csr, back};
    ferry_task *const tasks[] = {task, turned, sparse};
    for (int i = 0; i < 4; i++) {
        ferry_prediction_free(all[i]);
        ferry_model_free(models[i]);
        if (i < 3) ferry_task_free(tasks[i]);
    }
}

typedef struct job {
    ferry_task *task;
    ferry_opts *opts;
} job;
static ferry_status whole(ferry_ctx *ctx, void *arg)
{
    const job *j = arg;
    ferry_model *m = NULL;
    const ferry_status st = ferry_fit(ctx, j->task, "aligned-trees", j->opts, &m, NULL);

    ferry_model_free(m);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx, OFFSET, false, false);
    job j = {NULL, settings_of(ctx, "trees=1 align=centre C=0.05")};

    assert_ok(ctx, ferry_i_task_split(ctx, task, 0, &j.task));
    each_allocation_fails(ctx, whole, &j);
    ferry_opts_free(j.opts);
    ferry_task_free(j.task);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_what_is_undone), TEST(test_it_pays),
                                       TEST(test_orders_and_files), TEST(test_memory)};

    return cmocka_run_group_tests_name("aligned-trees", tests, NULL, NULL);
}
