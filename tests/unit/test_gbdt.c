/* Boosted trees as a baseline, through the public seam. */
#include "ferry_test.h"

#include <stdio.h>

#include "golden.h"
#include "methods/method.h"
#include "small_task.h"

enum { N = 60, D = 3 };

static double x[N * D], y[N];
static char letters[N + 1];

/* Classes are bands of the first feature, which a linear model cannot see; the second is
 * noise, the third is missing in places. */
static void make_data(int classes)
{
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 0);
    for (int i = 0; i < N; i++) {
        const double u = 6 * ferry_i_rng_real(&rng);
        x[i * D] = u;
        x[i * D + 1] = ferry_i_rng_normal(&rng);
        x[i * D + 2] = i % 3 ? ferry_i_rng_normal(&rng) : NAN;
        letters[i] = (char)('a' + (int)u % classes);
        y[i] = 1000 + 50 * floor(u);
    }
}

static ferry_task *task_of(ferry_ctx *ctx, int classes)
{
    ferry_domain *d = NULL;

    make_data(classes > 0 ? classes : 2);
    d = small_domain(ctx, "t", FERRY_TARGET, N, D, x);
    if (classes > 0)
        small_classes(ctx, d, letters);
    else
        assert_ok(ctx, ferry_domain_set_numbers(ctx, d, N, NULL, y));
    return small_task(ctx, classes > 0 ? FERRY_CLASSIFY : FERRY_REGRESS, NULL, d);
}

static double share_right(const ferry_prediction *p)
{
    int right = 0;

    for (int64_t i = 0; i < p->n; i++)
        right += p->names[p->cls[i]][0] == letters[i];
    return right / (double)p->n;
}

static void test_learns(void **state)
{
    static const char *const settings[] = {"", "bins=64", "depth=4 min_leaf=1"};
    ferry_ctx *ctx = *state;

    for (int64_t s = 0; s < FERRY_COUNT(settings); s++) {
        for (int classes = 0; classes <= 3; classes++) {
            ferry_task *t = task_of(ctx, classes);
            ferry_prediction *p =
                fit_predict(ctx, t, "gbdt", settings[s], ferry_task_domain_at(t, 0));
            if (classes == 1) assert_int_equal(p->cls[0], 0);
            if (classes > 1 && share_right(p) < 0.97)
                fail_msg("gbdt %s: %g", settings[s], share_right(p));
            for (int i = 0; classes == 0 && i < N; i++)
                assert_true(fabs(p->value[i] - y[i]) < 25);
            for (int i = 0; classes > 1 && i < N; i++) { /* probabilities */
                double sum = 0;
                for (int j = 0; j < classes; j++)
                    sum += p->score[i * classes + j];
                assert_close(sum, 1, 1e-12);
            }
            ferry_prediction_free(p);
            ferry_task_free(t);
        }
    }
}

/* One tree of one leaf on two numbers: nu z / (c + reg) around the mean. */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    const double two[] = {1, 2, 1, 2}, num[] = {1, 3, 1, 3};
    ferry_domain *d = small_domain(ctx, "t", FERRY_TARGET, 4, 1, two);
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 4, NULL, num));
    ferry_task *t = small_task(ctx, FERRY_REGRESS, NULL, d);
    ferry_prediction *p = fit_predict(ctx, t, "gbdt", "trees=1 rate=0.5 min_leaf=1 reg=1",
                                      ferry_task_domain_at(t, 0));

    /* y = -1, 1 after scaling; each leaf: G = 4, H = 4 + 1, so 2 -+ 0.5 4/5 */
    assert_close(p->value[0], 2 - 0.4, 1e-12);
    assert_close(p->value[1], 2 + 0.4, 1e-12);
    ferry_prediction_free(p);
    ferry_task_free(t);
}

/* scikit-learn's numbers, also on rows that the trees have not seen: those lie between a threshold in the
 * middle of a node's values and one in the middle of the column's. */
static void test_new_rows(void **state)
{
    static const char *const rows[] = {"x", "new"}, *const want[] = {"at_train", "at_new"};
    ferry_ctx *ctx = *state;
    json_t *j = json_load_file("tests/golden/gbdt.json", 0, NULL), *one = NULL;
    size_t at = 0;

    json_array_foreach(golden_at(j, "cases"), at, one)
    {
        int64_t n = 0, d = 0;
        double *of = golden_array(one, "x", &n, &d),
               *num = golden_array(one, "y", NULL, NULL);
        ferry_domain *target = small_domain(ctx, "t", FERRY_TARGET, n, d, of);
        assert_ok(ctx, ferry_domain_set_numbers(ctx, target, n, NULL, num));
        ferry_task *t = small_task(ctx, FERRY_REGRESS, NULL, target);
        for (int k = 0; k < 2; k++) {
            double *ask = golden_array(one, rows[k], &n, &d);
            double *answer = golden_array(one, want[k], NULL, NULL);
            ferry_domain *asked = small_domain(ctx, "new", FERRY_TARGET, n, d, ask);
            ferry_prediction *p = fit_predict(
                ctx, t, "gbdt", json_string_value(golden_at(j, "options")), asked);
            for (int64_t i = 0; i < n; i++)
                assert_close(p->value[i], answer[i], 1e-12);
            ferry_prediction_free(p);
            ferry_domain_free(asked);
            free(ask);
            free(answer);
        }
        ferry_task_free(t);
        free(of);
        free(num);
    }
    assert_int_equal(at, 5);
    json_decref(j);
}

/* An instance without features gets the share of the classes, or the mean. */
static void test_saved(void **state)
{
    ferry_ctx *ctx = *state;

    for (int classes = 0; classes <= 3; classes += 3) {
        ferry_task *t = task_of(ctx, classes);
        ferry_model *m = fit_model(ctx, t, "gbdt", "trees=20"), *back = NULL;
        ferry_prediction *a = NULL, *b = NULL;
        assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("gbdt.ferry")));
        assert_ok(ctx, ferry_model_load(ctx, tmp_path("gbdt.ferry"), "gbdt", &back));
        assert_ok(ctx, ferry_predict(ctx, m, ferry_task_domain_at(t, 0), &a));
        assert_ok(ctx, ferry_predict(ctx, back, ferry_task_domain_at(t, 0), &b));
        for (int i = 0; i < N; i++) {
            if (classes == 0) assert_true(a->value[i] == b->value[i]);
            for (int j = 0; j < classes; j++)
                assert_true(a->score[i * classes + j] == b->score[i * classes + j]);
        }
        ferry_prediction_free(a);
        ferry_prediction_free(b);
        ferry_model_free(m);
        ferry_model_free(back);
        ferry_task_free(t);
    }
}

/* Change one number of a packed model and load it. */
static void test_broken(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, 3);
    ferry_model *m = fit_model(ctx, t, "gbdt", "trees=2");
    static const struct {
        const char *name;
        int64_t at, value;
    } changes[] = {
        {"trees.n", 0, -1},
        {"trees.n", 0, 3},
        {"trees.columns", 0, 0},
        {"trees.first", 1, -1},
        {"trees.first", 1, 1 << 20},
        {"trees.feature", 0, 3},
        {"trees.left", 0, 0},
        {"trees.right", 0, 1 << 20},
        {"to.classes", 0, 0},
        {"to.classes", 0, 4},
        {"to.k", 0, 77},
    };

    for (int64_t c = 0; c < FERRY_COUNT(changes); c++) {
        ferry_dict *dict = NULL;
        const int64_t *data = NULL;
        int64_t n = -1;
        ferry_model *back = NULL;
        assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
        assert_ok(ctx, ferry_i_model_pack(ctx, m, dict));
        assert_ok(ctx, ferry_i_dict_ints(ctx, dict, changes[c].name, &n, &data));
        ((int64_t *)(uintptr_t)data)[changes[c].at] = changes[c].value;
        assert_int_equal(ferry_i_model_unpack(ctx, "m", dict, NULL, &back), FERRY_EDATA);
        assert_null(back);
        ferry_i_dict_free(dict);
    }
    ferry_model_free(m);
    ferry_task_free(t);
}

static ferry_answer stop_at(void *user, const ferry_progress *p)
{
    return p->done >= 3 ? *(ferry_answer *)user : FERRY_GO;
}

static void test_stopping(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, 2);
    ferry_answer answer = FERRY_FINISH;
    ferry_model *m = NULL;
    ferry_fit_info rep = {.size = sizeof rep};

    ferry_ctx_set_progress(ctx, stop_at, &answer);
    assert_ok(ctx, ferry_fit(ctx, t, "gbdt", NULL, &m, &rep));
    assert_int_equal(rep.stop, FERRY_STOP_FINISH);
    assert_int_equal(rep.iters, 3);
    ferry_model_free(m);
    answer = FERRY_CANCEL;
    assert_int_equal(ferry_fit(ctx, t, "gbdt", NULL, &m, &rep), FERRY_ECANCELLED);
    assert_null(m);
    ferry_ctx_set_progress(ctx, NULL, NULL);
    ferry_task_free(t);
}

typedef struct job {
    ferry_task *task;
    ferry_opts *opts;
} job;

static ferry_status whole(ferry_ctx *ctx, void *arg)
{
    const job *j = arg;
    ferry_model *m = NULL, *back = NULL;
    ferry_prediction *p = NULL;
    ferry_status st = ferry_fit(ctx, j->task, "gbdt", j->opts, &m, NULL);
    ferry_dict *dict = NULL;

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
    ferry_ctx *ctx = *state;
    job j = {task_of(ctx, 3), settings_of(ctx, "trees=2")};

    each_allocation_fails(ctx, whole, &j);
    ferry_opts_free(j.opts);
    ferry_task_free(j.task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_learns, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_new_rows, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_saved, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_broken, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_stopping, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("gbdt", tests, NULL, NULL);
}
