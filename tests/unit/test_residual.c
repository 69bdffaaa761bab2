/* residual: the gate's golden case; what a source is worth, and that a wrong one does no harm. */
#include <jansson.h>

#include "ferry_test.h"
#include "golden.h"
#include "methods/residual.c" /* its insides */

static void check_gate(scope *s, void *arg)
{
    static const char *const names[] = {"T", "R", "F"};
    const json_t *j = arg;
    int64_t n = 0, draws = 0;
    double *at = golden_array(j, "visible_from_0", &n, NULL),
           *y = golden_array(j, "y", NULL, NULL);
    double *draw = golden_array(j, "draws", &draws, NULL),
           *prior = golden_array(j, "prior", NULL, NULL);
    double *want = golden_array(j, "weights", NULL, NULL), weight[EXPERTS],
           before[EXPERTS] = {0};
    block left[EXPERTS] = {{.at = NULL}}, seen = block_new(s, HERE(n), n, 1);

    for (int e = 0; e < 3; e++) {
        double *v = golden_array(golden_at(j, names[e]), "leave_one_out", NULL, NULL);
        left[e] = block_new(s, HERE(n), n, 1);
        memcpy(left[e].at, v, (size_t)n * sizeof *v);
        before[e] = prior[e];
        free(v);
    }
    for (int64_t i = 0; i < n; i++)
        seen.at[i] = y[(int64_t)at[i]];
    gate(s, left, seen, before, draws, draw, weight);
    for (int e = 0; e < EXPERTS; e++)
        assert_close(weight[e], e < 3 ? want[e] : 0, 1e-9);
    for (double **v = (double *[]){at, y, draw, prior, want, NULL}; *v; v++)
        free(*v);
}

static void test_gate(void **state)
{
    json_t *all = own_golden("residual.json");

    assert_non_null(all);
    assert_ok(*state, scope_run(*state, check_gate, all));
    json_decref(all);
}

/* ---- tables made up ---- */

enum { SOURCE_ROWS = 80, ROWS = 60, COLUMNS = 3, SEEN = 12 };

static double rule(const double *x)
{
    return 3 * x[0] + x[1] * x[1] - 2 * x[0] * x[2];
}

static domain made_up(scope *s, int64_t n, int64_t seen, double turn, int first)
{
    domain d = {
        .name = "t", .rows = HERE(n), .n = n, .x = matrix_dense(s, HERE(n), n, COLUMNS)};
    double *y = NEW(s, double, n);
    uint64_t *key = NEW(s, uint64_t, n);

    for (int64_t i = 0; i < n; i++) {
        double *x = d.x.m->dense + i * COLUMNS;
        for (int64_t k = 0; k < COLUMNS; k++)
            x[k] = 2 * sin((double)((i + 1) * (k + 3) * 7 + first));
        y[i] = i < seen ? turn * rule(x) : NAN;
        if (i % 17 == 3) x[2] = NAN; /* a missing cell */
        key[i] = (uint64_t)i;
    }
    d.y = (labels){.goal = FERRY_REGRESS, .k = 1, .num = y};
    d.key = key;
    return d;
}

/* Root mean squared error on the target's hidden rows, of which the rule is known. */
static double error_of(scope *s, double turn, int64_t seen, int pooled)
{
    domain d[] = {made_up(s, SOURCE_ROWS, SOURCE_ROWS, turn, 0),
                  made_up(s, ROWS, seen, 1, 5)};
    const problem p = {.goal = FERRY_REGRESS,
                       .classes = 1,
                       .cols = COLUMNS,
                       .n_sources = 1,
                       .n = 2,
                       .d = d,
                       .width = COLUMNS};
    const residual_options o = {pooled};
    residual_state m = {0};
    const block out = block_new(s, HERE(ROWS), ROWS, 1);
    double sum = 0;

    residual_fit(s, s, &p, &o, &m);
    residual_scores(s, &m, &d[1], out);
    for (int64_t i = seen; i < ROWS; i++) {
        double x[COLUMNS];
        for (int64_t k = 0; k < COLUMNS; k++)
            x[k] = 2 * sin((double)((i + 1) * (k + 3) * 7 + 5));
        sum += (out.at[i] - rule(x)) * (out.at[i] - rule(x));
    }
    return sqrt(sum / (double)(ROWS - seen));
}

static void check_worth(scope *s, void *arg)
{
    (void)arg;
    const double with = error_of(s, 1, SEEN, 1), turned = error_of(s, -1, SEEN, 1);
    const double none = error_of(s, 1, 0, 1), plain = error_of(s, 1, SEEN, 0);
    /* the labels' deviation is about 6: the source alone explains most, and a mirrored one is turned round */
    assert_true(none < 3 && with < 3 && plain < 3);
    assert_true(turned < 5);
}

static ferry_status run_worth(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, check_worth, arg);
}

static void test_worth(void **state)
{
    assert_ok(*state, run_worth(*state, NULL));
}

/* Below FEW labels the blend must be ahead of target-only by more than chance: on all rows alike it is, by one row it
 * is not, and behind it is not. */
static void check_clear_lead(scope *s, void *arg)
{
    static const double blend[][6] = {
        {.1, .1, .1, .1, .1, .1}, {-3, 1.2, 1.2, 1.2, 1.2, 1.2}, {2, 2, 2, 2, 2, 2}};
    static const double alone[][6] = {
        {1, 1.1, .9, 1, 1.1, .9}, {-6, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}};
    const block y = block_new(s, HERE(6), 6, 1);

    (void)arg;
    for (int c = 0; c < 3; c++) {
        block left[EXPERTS] = {0};
        double w[EXPERTS] = {0};
        left[T] = block_new(s, HERE(6), 6, 1);
        left[R] = block_new(s, HERE(6), 6, 1);
        memcpy(left[T].at, alone[c], sizeof alone[c]);
        memcpy(left[R].at, blend[c], sizeof blend[c]);
        w[R] = 1;
        assert_int_equal(clearly_ahead(s, left, y, w), c == 0);
    }
}

static void test_clear_lead(void **state)
{
    assert_ok(*state, scope_run(*state, check_clear_lead, NULL));
}

/* A source that shares no column is refused in one sentence. */
static void check_nothing_shared(scope *s, void *arg)
{
    domain d[] = {made_up(s, SOURCE_ROWS, SOURCE_ROWS, 1, 0), made_up(s, ROWS, SEEN, 1, 5)};
    const problem p = {.goal = FERRY_REGRESS,
                       .classes = 1,
                       .cols = COLUMNS,
                       .n_sources = 1,
                       .n = 2,
                       .d = d,
                       .width = COLUMNS};
    const residual_options o = {1};
    residual_state m = {0};

    (void)arg;
    for (int64_t e = 0; e < SOURCE_ROWS * COLUMNS; e++)
        d[0].x.m->dense[e] = NAN;
    residual_fit(s, s, &p, &o, &m);
}

static void test_nothing_shared(void **state)
{
    assert_fails(*state, scope_run(*state, check_nothing_shared, NULL), FERRY_ENEEDS,
                 "residual needs columns that a source and 't' share");
}

int main(void)
{
#define WITH_CTX(test) cmocka_unit_test_setup_teardown(test, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        WITH_CTX(test_gate),
        WITH_CTX(test_worth),
        WITH_CTX(test_clear_lead),
        WITH_CTX(test_nothing_shared),
    };
    return cmocka_run_group_tests_name("residual", tests, NULL, NULL);
}
