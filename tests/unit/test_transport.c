/* Exact transport, coot and fgw: golden plans and objectives, warm starts, what
 * labels do, orders, files, memory. */
#include "field_case.h"
#include "in_scope.h"
#include "learn/transport.h"

static const char *const both[] = {"coot", "fgw"};

/* ---- plans ---- */

/* The plan's masses are right and it costs what it says. */
static void check_plan(const transport *t, int64_t n, int64_t m, const double *c,
                       double cost)
{
    double row[64] = {0}, column[64] = {0}, all = 0;
    const cell *v = NULL;
    const int64_t cells = transport_plan(t, &v);

    assert_true(cells <= n + m - 1);
    for (int64_t e = 0; e < cells; e++) {
        assert_true(v[e].share > 0);
        row[v[e].row] += v[e].share;
        column[v[e].column] += v[e].share;
        all += v[e].share * c[v[e].row * m + v[e].column];
    }
    for (int64_t i = 0; i < n; i++)
        assert_close(row[i], 1 / (double)n, 1e-15);
    for (int64_t j = 0; j < m; j++)
        assert_close(column[j], 1 / (double)m, 1e-15);
    assert_close(all, cost, 1e-14);
}

static void golden_plans(scope *s, void *arg)
{
    const json_t *plans = golden_at(arg, "plans");

    for (size_t i = 0; i < json_array_size(plans); i++) {
        const json_t *j = json_array_get(plans, i);
        int64_t n = 0, m = 0;
        double *c = golden_array(j, "c", &n, &m);
        transport *t = transport_new(s, n, m);
        const double cost = transport_solve(s, t, c);
        assert_close(cost, golden_real(j, "cost"), 1e-9);
        check_plan(t, n, m, c, cost);
        free(c);
    }
}

static void test_golden_plans(void **state)
{
    json_t *all = own_golden("transport.json");

    assert_ok(*state, scope_run(*state, golden_plans, all));
    json_decref(all);
}

/* From the last tree on, other costs have the same minimum as from the
 * beginning; ties and all. */
IN_SCOPE(test_warm)
{
    enum { N = 30, M = 41 };
    transport *kept = transport_new(s, N, M);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 4, 2);
    for (int round = 0; round < 20; round++) {
        double c[N * M];
        for (int e = 0; e < N * M; e++) {
            c[e] = ferry_i_rng_normal(&rng);
            if (round % 3 == 1) c[e] = round % 2 ? floor(2 * c[e]) : 0;
            if (round % 3 == 2) c[e] *= 1e6;
        }
        const double warm = transport_solve(s, kept, c);
        const double cold = transport_solve(s, transport_new(s, N, M), c);
        assert_close(warm, cold, 1e-12);
        check_plan(kept, N, M, c, warm);
    }
}

/* Not finite: said, not looped on. */
static void infinite(scope *s, void *arg)
{
    const double c[] = {1, 2, INFINITY, 3};

    (void)arg;
    (void)transport_solve(s, transport_new(s, 2, 2), c);
}

static void test_infinite(void **state)
{
    assert_fails(*state, scope_run(*state, infinite, NULL), FERRY_ENUMERIC, "not finite");
}

/* ---- the methods ---- */

static void test_golden(void **state)
{
    for (int k = 0; k < 2; k++)
        field_golden(*state, "transport.json", both[k], 1e-6);
}

/* Rows whose class is visible keep it, and the others find theirs. */
static void test_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = field_task(ctx, 5, false);

    for (int k = 0; k < 2; k++) {
        ferry_prediction *p =
            fit_predict(ctx, task, both[k], "", ferry_task_domain_at(task, 1));
        if (field_right(task, p) < 0.9) fail_msg("%s: %g", both[k], field_right(task, p));
        for (int i = 0; i < 10; i++)
            assert_close(p->score[i * 2 + (i % 2 ? 0 : 1)], 1, 1e-15);
        for (int64_t i = 0; i < p->n; i++)
            assert_close(p->score[i * 2] + p->score[i * 2 + 1], 1, 1e-12);
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

/* Without a label of the target there is still an answer. */
static void test_no_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = field_task(ctx, 0, false);

    for (int k = 0; k < 2; k++) {
        ferry_prediction *p =
            fit_predict(ctx, task, both[k], "", ferry_task_domain_at(task, 1));
        const double share = field_right(task, p);
        assert_true(share >= 0.9 || share <= 0.1); /* classes apart, in one of two ways */
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

/* Columns that are the same in all rows change nothing: no feature is brought to them. */
static void test_constant_columns(void **state)
{
    enum { N = 20 };
    ferry_ctx *ctx = *state;
    double objective[2];

    for (int more = 0; more < 2; more++) {
        const int cols = 2 + 2 * more;
        ferry_opts *opts = settings_of(ctx, "scale=none");
        ferry_fit_info info = {.size = sizeof info};
        ferry_model *m = NULL;
        double s[N * 4], t[N * 4];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < cols; j++) {
                s[i * cols + j] = j < 2 ? sin(3 * i + 2 * j) + i % 2 : 7;
                t[i * cols + j] = j < 2 ? cos(5 * i + j) - i % 2 : 0;
            }
        ferry_domain *from = small_domain(ctx, "s", FERRY_SOURCE, N, cols, s),
                     *to = small_domain(ctx, "t", FERRY_TARGET, N, cols, t);
        small_classes(ctx, from, "abababababababababab");
        small_classes(ctx, to, "abab????????????????");
        ferry_task *task = small_task(ctx, FERRY_CLASSIFY, from, to);
        assert_ok(ctx, ferry_fit(ctx, task, "coot", opts, &m, &info));
        objective[more] = info.objective;
        ferry_model_free(m);
        ferry_opts_free(opts);
        ferry_task_free(task);
    }
    assert_close(objective[1], objective[0], 1e-12);
}

static void test_orders_and_files(void **state)
{
    for (int k = 0; k < 2; k++)
        field_orders_and_files(*state, both[k]);
}

static void test_memory(void **state)
{
    for (int k = 0; k < 2; k++)
        field_memory(*state, both[k], "iterations=2");
}

static void test_manners(void **state)
{
    for (int k = 0; k < 2; k++)
        field_manners(*state, both[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden_plans, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_warm, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_infinite, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_labels, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_labels, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_constant_columns, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_orders_and_files, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_manners, ctx_setup, ctx_teardown),
    };

    return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}
