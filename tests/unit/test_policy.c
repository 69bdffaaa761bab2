/* Policies: golden cases of an independent program, folds that no order decides, what cannot be told. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "run/policy.h"
#include "run/statistics.h"
#include "ferry_test.h"
#include "golden.h"

static const char *const family_names[FERRY_FAMILIES] = {
    "none",     "linear", "semi",   "clusters", "local", "trees",
    "constant", "pooled", "source", "path",     "joint"};

static json_t *cases(void)
{
    json_t *all = own_golden("policy.json");

    assert_non_null(all);
    return all;
}

static ferry_family family_called(const char *name)
{
    for (int f = 0; f < FERRY_FAMILIES; f++)
        if (strcmp(family_names[f], name) == 0) return (ferry_family)f;
    fail_msg("no family %s", name);
    return FERRY_FAMILIES;
}

/* ---- golden cases ---- */

typedef struct one_case {
    held_out e;
    json_t *j;
    int32_t *fold;
} one_case;

static double nested(const json_t *j, int64_t a, int64_t b, int64_t c)
{
    return json_number_value(
        json_array_get(json_array_get(json_array_get(j, (size_t)a), (size_t)b), (size_t)c));
}

static double nth(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

static double at_of(const json_t *j, const char *key, int64_t i)
{
    return json_number_value(json_array_get(golden_at(j, key), (size_t)i));
}

/* Errors are those of the probabilities. */
static void read_case(scope *s, json_t *j, one_case *c)
{
    const json_t *q = golden_at(j, "q"), *names = golden_at(j, "families");
    held_out *e = &c->e;

    c->j = j;
    e->candidates = (int64_t)json_array_size(q);
    e->n = (int64_t)json_array_size(json_array_get(q, 0));
    e->k = (int64_t)json_array_size(json_array_get(json_array_get(q, 0), 0));
    e->classes = json_is_true(golden_at(j, "classes"));
    e->share = golden_real(j, "mf");
    e->variance = golden_real(j, "var");
    ferry_family *f = NEW(s, ferry_family, e->candidates);
    double *p = NEW(s, double, e->candidates * e->n * e->k), *y = NEW(s, double, e->n);
    double *error = NEW(s, double, e->candidates * e->n);
    int32_t *cls = NEW(s, int32_t, e->n);
    c->fold = NEW(s, int32_t, e->n);
    for (int64_t i = 0; i < e->n; i++) {
        y[i] = at_of(j, "y", i);
        cls[i] = (int32_t)y[i];
        c->fold[i] = (int32_t)at_of(j, "fold", i);
    }
    for (int64_t m = 0; m < e->candidates; m++) {
        f[m] = family_called(json_string_value(json_array_get(names, (size_t)m)));
        for (int64_t i = 0; i < e->n; i++) {
            int64_t best = 0;
            for (int64_t k = 0; k < e->k; k++) {
                const double x = p[(m * e->n + i) * e->k + k] = nested(q, m, i, k);
                if (x > p[(m * e->n + i) * e->k + best]) best = k;
            }
            const double d = p[(m * e->n + i) * e->k] - y[i];
            error[m * e->n + i] = e->classes ? best != cls[i] : d * d / e->variance;
        }
    }
    e->family = f;
    e->error = error;
    e->p = p;
    e->cls = cls;
    e->y = y;
}

static void near_list(const json_t *j, const char *key, int64_t n, const double *x)
{
    for (int64_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(golden_at(j, key), (size_t)i);
        if (json_is_null(v))
            assert_true(isnan(x[i]));
        else
            assert_close(x[i], json_number_value(v), 1e-9);
    }
}

static void near_expected(const json_t *printed, const char *key, expected e)
{
    const double x[] = {e.at, e.low, e.high};

    near_list(printed, key, 3, x);
}

static void check_case(scope *s, void *arg)
{
    static const char *const why[] = {"", "no source", "share", "no lead"};
    one_case c = {0};

    read_case(s, arg, &c);
    const policies p = policy_weights(s, &c.e, -1);
    near_list(c.j, "W", c.e.candidates, p.w);
    near_list(c.j, "T", c.e.candidates, p.t);
    near_list(c.j, "mu", c.e.candidates, p.mu);
    assert_close(p.omega, golden_real(c.j, "omega"), 1e-9);
    assert_string_equal(why[p.why], json_string_value(golden_at(c.j, "why")));
    const promise m = policy_promise(s, &c.e, &p, 0.9);
    near_list(c.j, "rows_W", c.e.n, m.w_row);
    near_list(c.j, "rows_T", c.e.n, m.t_row);
    const json_t *printed = golden_at(c.j, "printed");
    near_expected(printed, "W", m.w);
    near_expected(printed, "T", m.t);
    near_expected(printed, "D", m.difference);
    held_out flat = c.e; /* a goal whose learning curve is not known */
    flat.flat = true;
    const policies same = policy_weights(s, &flat, -1);
    near_list(c.j, "W", flat.candidates, same.w);
    const promise less = policy_promise(s, &flat, &same, 0.9);
    assert_true(less.w.at + less.t.at >= m.w.at + m.t.at);
    names_found names;
    const json_t *found = json_object_get(c.j, "names");
    const bool asked = policy_names(s, &c.e, c.fold, &names);
    assert_int_equal(asked, found && !json_is_null(found));
    if (!asked) return;
    assert_int_equal(names.given, golden_real(found, "given"));
    assert_int_equal(names.exchanged, golden_real(found, "exchanged"));
    assert_close(names.p, golden_real(found, "p"), 1e-9);
    for (int64_t k = 0; k < c.e.k; k++)
        assert_int_equal(names.exchange[k], at_of(found, "exchange", k));
}

static void test_golden(void **state)
{
    json_t *all = cases(), *one;
    size_t i;

    assert_int_equal(json_array_size(golden_at(all, "cases")), 5);
    json_array_foreach(golden_at(all, "cases"), i, one)
        assert_ok(*state, scope_run(*state, check_case, one));
    json_decref(all);
}

static ferry_status run_case(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, check_case, arg);
}

static void test_every_allocation_fails(void **state)
{
    json_t *all = cases();

    each_allocation_fails(*state, run_case, json_array_get(golden_at(all, "cases"), 2));
    json_decref(all);
}

/* ---- names of classes ---- */

static void renamed(scope *s, void *arg)
{
    const json_t *j = arg;
    const int64_t n = (int64_t)json_array_size(golden_at(j, "y"));
    const int64_t k = (int64_t)json_array_size(golden_at(j, "exchange"));
    int32_t *y = NEW(s, int32_t, n), *fold = NEW(s, int32_t, n);
    double *p = NEW(s, double, n *k);
    const ferry_family f = FERRY_FAMILY_PATH;
    const held_out e = {
        .candidates = 1, .n = n, .k = k, .classes = true, .family = &f, .p = p, .cls = y};
    names_found found;

    for (int64_t i = 0; i < n; i++) {
        y[i] = (int32_t)at_of(j, "y", i);
        fold[i] = (int32_t)at_of(j, "fold", i);
        p[i * k + (int64_t)at_of(j, "predicted", i)] = 1;
    }
    assert_true(policy_names(s, &e, fold, &found));
    assert_int_equal(found.given, golden_real(j, "given"));
    assert_int_equal(found.exchanged, golden_real(j, "exchanged"));
    assert_close(found.p, golden_real(j, "p"), 1e-12);
    for (int64_t i = 0; i < k; i++)
        assert_int_equal(found.exchange[i], at_of(j, "exchange", i));
}

static void test_renamed_classes(void **state)
{
    json_t *all = cases();

    assert_ok(*state, scope_run(*state, renamed, golden_at(all, "renamed")));
    json_decref(all);
}

/* ---- folds ---- */

static void folds_of_classes(scope *s, void *arg)
{
    enum { N = 23 };
    int32_t cls[N], fold[N], turned[N], turned_fold[N];
    uint64_t key[N], turned_key[N];
    int64_t count[5][4] = {{0}};

    (void)arg;
    for (int i = 0; i < N; i++) { /* 10, 8, 4 and 1 labels */
        cls[i] = i < 10 ? 0 : i < 18 ? 1 : i < 22 ? 2 : 3;
        key[i] = (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15);
    }
    assert_int_equal(balanced_folds(s, N, cls, key, 5, fold), 4);
    for (int i = 0; i < N; i++) {
        if (cls[i] == 3)
            assert_int_equal(fold[i], -1);
        else
            count[fold[i]][cls[i]]++;
        turned[i] = 3 - cls[N - 1 - i]; /* other order of rows, and of classes */
        turned_key[i] = key[N - 1 - i];
    }
    for (int f = 0; f < 4; f++) {
        assert_true(count[f][0] >= 2 && count[f][0] <= 3);
        assert_int_equal(count[f][1], 2);
        assert_int_equal(count[f][2], 1);
    }
    assert_int_equal(balanced_folds(s, N, turned, turned_key, 5, turned_fold), 4);
    for (int i = 0; i < N; i++)
        assert_int_equal(turned_fold[i], fold[N - 1 - i]);
    for (int i = 0; i < N; i++)
        cls[i] = i;
    assert_int_equal(balanced_folds(s, N, cls, key, 5, fold), 0);
}

static void folds_of_numbers(scope *s, void *arg)
{
    enum { N = 22 };
    double y[N];
    int32_t fold[N];
    uint64_t key[N];

    (void)arg;
    for (int i = 0; i < N; i++) {
        y[i] = i;
        key[i] = (uint64_t)(i * 7919 % 101);
    }
    assert_int_equal(ordered_folds(s, N, y, key, 5, fold), 5);
    for (int i = 0; i + 5 <= N; i += 5) { /* five neighbours are in five folds */
        int seen = 0;
        for (int k = 0; k < 5; k++)
            seen |= 1 << fold[i + k];
        assert_int_equal(seen, 31);
    }
    assert_int_equal(ordered_folds(s, 1, y, key, 5, fold), 0);
}

static void test_folds(void **state)
{
    assert_ok(*state, scope_run(*state, folds_of_classes, NULL));
    assert_ok(*state, scope_run(*state, folds_of_numbers, NULL));
}

static void test_beta(void **state)
{
    json_t *all = cases(), *one;
    size_t i;

    (void)state;
    json_array_foreach(golden_at(all, "beta_quantile"), i, one) assert_close(
        ferry_i_beta_quantile(nth(one, 0), nth(one, 1), nth(one, 2)), nth(one, 3), 1e-9);
    json_decref(all);
}

#define WITH_CTX(test) cmocka_unit_test_setup_teardown(test, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CTX(test_golden),
        WITH_CTX(test_every_allocation_fails),
        WITH_CTX(test_renamed_classes),
        WITH_CTX(test_folds),
        WITH_CTX(test_beta),
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
