/* cca and kcca: golden numbers over a bridge and by pairs, what pairs bring, orders, files, memory, what they refuse. */
#include <jansson.h>
#include <stdio.h>

#include "data/data.h"
#include "golden.h"
#include "methods/method.h"
#include "on_ranks.h"
#include "small_task.h"

static const char *const both[] = {"cca", "kcca"};

/* ---- golden ---- */

static void put_classes(ferry_ctx *ctx, ferry_domain *d, const json_t *j, const char *key)
{
    char letters[128] = "";
    int64_t n = 0;
    double *y = golden_array(j, key, &n, NULL);

    for (int64_t i = 0; i < n; i++)
        letters[i] = y[i] < 0 ? '?' : (char)('a' + (int)y[i]);
    if (strspn(letters, "?") < (size_t)n) small_classes(ctx, d, letters);
    free(y);
}

static ferry_domain *golden_domain(ferry_ctx *ctx, const json_t *j, const char *name,
                                   ferry_role role, const char *a, const char *b)
{
    static const char *const views[] = {"f", "g"};
    const char *const key[] = {a, b};
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, name, role, &d));
    for (int v = 0; v < 2; v++) {
        int64_t n = 0, cols = 0;
        if (!key[v]) continue;
        double *x = golden_array(j, key[v], &n, &cols);
        small_view(ctx, d, views[v], n, cols, x, NULL, NULL, false);
        free(x);
    }
    return d;
}

static ferry_task *golden_task(ferry_ctx *ctx, const json_t *j)
{
    ferry_domain *s = golden_domain(ctx, j, "s", FERRY_SOURCE, "xs", NULL),
                 *b = golden_domain(ctx, j, "b", FERRY_INTERMEDIATE, "pairs_s", "pairs_t"),
                 *t = golden_domain(ctx, j, "t", FERRY_TARGET, NULL, "xt");
    ferry_task *task = NULL;

    put_classes(ctx, s, j, "ys");
    put_classes(ctx, t, j, "yt");
    assert_ok(ctx, ferry_task_new(ctx, "golden", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, s));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, b));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, t));
    return task;
}

static void test_golden(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *all = own_golden("cca.json");
    const char *options = json_string_value(golden_at(all, "options"));
    const json_t *cases = golden_at(all, "cases");

    for (size_t i = 0; i < json_array_size(cases); i++)
        for (int k = 0; k < 2; k++) {
            const json_t *j = json_array_get(cases, i);
            ferry_task *task = golden_task(ctx, j);
            ferry_prediction *p =
                fit_predict(ctx, task, both[k], options, ferry_task_domain_at(task, 2));
            int64_t n = 0, c = 0;
            double *want = golden_array(golden_at(j, both[k]), "scores", &n, &c);
            assert_int_equal(n, p->n);
            assert_int_equal(c, p->k);
            for (int64_t e = 0; e < n * c; e++)
                assert_close(p->score[e], want[e], 1e-7);
            free(want);
            ferry_prediction_free(p);
            ferry_task_free(task);
        }
    json_decref(all);
}

/* ---- a world of pairs ---- */

enum { N = 60, M = 3, D = 4 };

/* Row i of both comes from the same two latent numbers; the first decides the class. turned: rows the other way round.
 * pairs: how many rows are tied, wrong: to the wrong ones. */
static ferry_task *make_task(ferry_ctx *ctx, int seen, int pairs, bool turned, bool wrong)
{
    double t[N * M], s[N * D], a[2 * M], b[2 * D];
    char cls[N + 1] = "", known[N + 1] = "";
    const char *ids[N];
    static char text[N][8];
    ferry_rng rng;
    ferry_domain *from = NULL, *to = NULL;

    ferry_i_rng_seed(&rng, 3, 1);
    for (int i = 0; i < 2 * M; i++)
        a[i] = ferry_i_rng_normal(&rng);
    for (int i = 0; i < 2 * D; i++)
        b[i] = ferry_i_rng_normal(&rng);
    for (int i = 0; i < N; i++) {
        const int r = turned ? N - 1 - i : i;
        const double z[] = {ferry_i_rng_normal(&rng) + (i % 2 ? 2 : -2),
                            ferry_i_rng_normal(&rng)};
        for (int j = 0; j < M; j++)
            t[r * M + j] = z[0] * a[j] + z[1] * a[M + j] + 0.1 * ferry_i_rng_normal(&rng);
        for (int j = 0; j < D; j++)
            s[r * D + j] = z[0] * b[j] + z[1] * b[D + j] + 0.1 * ferry_i_rng_normal(&rng);
        cls[r] = i % 2 ? 'a' : 'b';
        known[r] = i < seen ? cls[r] : '?';
        snprintf(text[i], sizeof text[i], "r%d", i);
        ids[r] = text[i];
    }
    assert_ok(ctx, ferry_domain_new(ctx, "far", FERRY_SOURCE, &from));
    assert_ok(ctx, ferry_domain_new(ctx, "near", FERRY_TARGET, &to));
    small_view(ctx, from, "x", N, D, s, ids, NULL, false);
    small_view(ctx, to, "y", N, M, t, ids, NULL, false);
    const char *of[N], *may[N];
    for (int i = 0; i < N; i++) {
        of[i] = cls[i] == 'a' ? "a" : "b";
        may[i] = known[i] == '?' ? NULL : of[i];
    }
    assert_ok(ctx, ferry_domain_set_classes(ctx, from, N, ids, of));
    if (seen > 0) assert_ok(ctx, ferry_domain_set_classes(ctx, to, N, ids, may));
    if (pairs > 0) {
        ferry_pairs *p = ferry_i_calloc(1, sizeof *p);
        p->n = pairs;
        p->left = ferry_i_calloc(pairs, sizeof *p->left);
        p->right = ferry_i_calloc(pairs, sizeof *p->right);
        for (int i = 0; i < pairs; i++) {
            p->left[i] = ferry_i_sprintf("r%d", i);
            p->right[i] = ferry_i_sprintf("r%d", wrong ? i ^ 1 : i);
        }
        to->pairs = p;
    }
    return small_task(ctx, FERRY_CLASSIFY, from, to);
}

/* Class of instance "r<i>", whatever its row. */
static double right(const ferry_task *task, const ferry_prediction *p)
{
    const ferry_domain *t = ferry_task_domain_at(task, 1);
    double n = 0;

    for (int64_t i = 0; i < p->n; i++) {
        const int at = atoi(ferry_i_ids_at(t->ids, i) + 1);
        n += strcmp(p->names[p->cls[i]], at % 2 ? "a" : "b") == 0;
    }
    return n / (double)p->n;
}

/* Labels come over the pairs, without a label of the target; over wrong pairs they come out wrong. */
static void test_pairs(void **state)
{
    static const char *const settings[] = {"", "learner=knn",
                                           "learner=svm rows=source k=1"};
    ferry_ctx *ctx = *state;

    for (int k = 0; k < 2; k++)
        for (int wrong = 0; wrong < 2; wrong++) {
            ferry_task *task = make_task(ctx, 0, 40, false, wrong);
            for (int64_t i = 0; i < FERRY_COUNT(settings); i++) {
                ferry_prediction *p = fit_predict(ctx, task, both[k], settings[i],
                                                  ferry_task_domain_at(task, 1));
                const double share = right(task, p);
                if (wrong ? share > 0.3 : share < 0.9)
                    fail_msg("%s %s: %g", both[k], settings[i], share);
                ferry_prediction_free(p);
            }
            ferry_task_free(task);
        }
}

/* Neither the order of rows nor a file changes anything. */
static void test_orders_and_files(void **state)
{
    ferry_ctx *ctx = *state;

    for (int k = 0; k < 2; k++) {
        ferry_task *task = make_task(ctx, 6, 40, false, false),
                   *turned = make_task(ctx, 6, 40, true, false);
        ferry_model *m = fit_model(ctx, task, both[k], ""),
                    *of = fit_model(ctx, turned, both[k], ""), *back = NULL;
        ferry_prediction *p = NULL, *q = NULL, *r = NULL;
        assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("a.ferry")));
        assert_ok(ctx, ferry_model_load(ctx, tmp_path("a.ferry"), NULL, &back));
        assert_ok(ctx, ferry_predict(ctx, m, ferry_task_domain_at(task, 1), &p));
        assert_ok(ctx, ferry_predict(ctx, of, ferry_task_domain_at(turned, 1), &q));
        assert_ok(ctx, ferry_predict(ctx, back, ferry_task_domain_at(task, 1), &r));
        assert_memory_equal(p->score, r->score, sizeof *p->score * (size_t)(p->n * p->k));
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 2; c++)
                assert_close(q->score[(N - 1 - i) * 2 + c], p->score[i * 2 + c], 1e-6);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_prediction_free(r);
        ferry_model_free(m);
        ferry_model_free(of);
        ferry_model_free(back);
        ferry_task_free(task);
        ferry_task_free(turned);
    }
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx, 6, 0, false, false);
    ferry_task *one = make_task(ctx, 6, 1, false, false);
    ferry_model *m = NULL;

    for (int k = 0; k < 2; k++) {
        assert_fails(ctx, method_fits(ctx, both[k], task, NULL), FERRY_ENEEDS,
                     k == 0 ? "cca needs features that lead" : "kcca needs features");
        assert_fails(ctx, ferry_fit(ctx, one, both[k], NULL, &m, NULL), FERRY_ENEEDS,
                     "needs pairs");
        assert_null(m);
    }
    ferry_task_free(one);
    ferry_task_free(task);
}

/* They run where a task names them. */
static void test_asked(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const ferry_method_info *i = ferry_method_find(both[k]);
        assert_non_null(i);
        assert_true(i->asked);
    }
}

/* ---- failing allocations ---- */

typedef struct fitted {
    const ferry_task *task;
    const char *method;
} fitted;

static ferry_status fit_once(ferry_ctx *ctx, void *arg)
{
    const fitted *f = arg;
    ferry_model *m = NULL;
    ferry_status st = ferry_fit(ctx, f->task, f->method, NULL, &m, NULL);

    ferry_model_free(m);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx, 6, 12, false, false);

    for (int k = 0; k < 2; k++)
        each_allocation_fails(ctx, fit_once, &(fitted){task, both[k]});
    ferry_task_free(task);
}

/* Rows over processes: refused, with a sentence. */
static int on_a_rank(ferry_ctx *ctx, void *arg)
{
    const fitted *f = arg;
    ferry_model *m = NULL;
    const ferry_status st = ferry_fit(ctx, f->task, f->method, NULL, &m, NULL);

    ferry_model_free(m);
    return st == FERRY_ENEEDS ? 0 : 1;
}

static void test_ranks(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx, 6, 12, false, false);

    for (int k = 0; k < 2; k++) {
        int status[RANKS];
        on_ranks(on_a_rank, &(fitted){task, both[k]}, status);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(status[r], 0);
    }
    ferry_task_free(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_pairs, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_orders_and_files, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_refusals, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_asked, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_ranks, ctx_setup, ctx_teardown),
    };

    return cmocka_run_group_tests_name("cca", tests, NULL, NULL);
}
