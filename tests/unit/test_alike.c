/* Columns that may be the same under other names: golden cases of an independent program, where nothing is said, and
 * what a task answers. */
#include <math.h>
#include <string.h>

#include "golden.h"
#include "kept.h"
#include "prepare/alike.h"
#include "small_task.h"

enum { MOST = 16 };

/* A domain with the table under `key` of a golden case; columns are named name0, name1, ... but for the first
 * `common`, which are c0, c1, ... on both sides. */
static ferry_domain *domain_at(ferry_ctx *ctx, const json_t *one, const char *key,
                               ferry_role role, int64_t common)
{
    char text[MOST][16];
    const char *names[MOST];
    int64_t n = 0, cols = 0;
    double *x = golden_array(one, key, &n, &cols);
    ferry_domain *d = small_domain(ctx, role == FERRY_TARGET ? "t" : "s", role, 0, 0, NULL);

    assert_true(cols <= MOST);
    for (int64_t e = 0; e < n * cols; e++)
        if (x[e] == 999999) x[e] = NAN;
    for (int64_t j = 0; j < cols; j++) {
        (void)snprintf(text[j], sizeof text[j], "%s%lld", j < common ? "c" : key,
                       (long long)j);
        names[j] = text[j];
    }
    small_view(ctx, d, "x", n, cols, x, NULL, names, false);
    free(x);
    return d;
}

typedef struct asked {
    const ferry_domain *a, *b;
    const json_t *pairs;
} asked;

static void check_pairs(scope *s, void *arg)
{
    const asked *q = arg;
    int64_t n = 0;
    const alike *said = alike_columns(s, q->a->views[0], q->b->views[0], &n);

    assert_int_equal(n, json_array_size(q->pairs));
    for (int64_t i = 0; i < n; i++) {
        const json_t *want = json_array_get(q->pairs, (size_t)i);
        assert_int_equal(said[i].a, json_integer_value(json_array_get(want, 0)));
        assert_int_equal(said[i].b, json_integer_value(json_array_get(want, 1)));
        assert_close(said[i].cost, json_number_value(json_array_get(want, 2)), 1e-9);
    }
}

static void test_golden(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *all = own_golden("alike.json");
    const json_t *cases = golden_at(all, "cases");

    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        const int64_t common = (int64_t)golden_real(one, "common");
        ferry_domain *a = domain_at(ctx, one, "a", FERRY_SOURCE, common),
                     *b = domain_at(ctx, one, "b", FERRY_TARGET, common);
        asked q = {a, b, golden_at(one, "pairs")};
        assert_true(json_array_size(q.pairs) > 0);
        assert_ok(ctx, scope_run(ctx, check_pairs, &q));
        ferry_domain_free(a);
        ferry_domain_free(b);
    }
    json_decref(all);
}

/* What a task says of the second case with so many common columns. */
static ferry_task *task_of(ferry_ctx *ctx, int64_t common)
{
    json_t *all = own_golden("alike.json");
    const json_t *one = json_array_get(golden_at(all, "cases"), 1);
    ferry_domain *a = domain_at(ctx, one, "a", FERRY_SOURCE, common),
                 *b = domain_at(ctx, one, "b", FERRY_TARGET, common);

    json_decref(all);
    return small_task(ctx, FERRY_CLASSIFY, a, b);
}

static void test_task(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, 3);
    char *text = NULL;

    assert_ok(ctx, ferry_task_links(ctx, task, "same", &text));
    assert_string_equal(text, "{\"s\": {\"a3\": \"b6\", \"a4\": \"b5\"}}");
    ferry_string_free(text);
    assert_fails(ctx, ferry_task_links(ctx, task, "sane", &text), FERRY_EINVAL,
                 "unknown format sane (json, same)");
    ferry_task_free(task);
    /* no column is known to be the same: nothing is said */
    task = task_of(ctx, 0);
    assert_ok(ctx, ferry_task_links(ctx, task, "same", &text));
    assert_string_equal(text, "{}");
    ferry_string_free(text);
    ferry_task_free(task);
}

static ferry_status ask(ferry_ctx *ctx, void *arg)
{
    char *text = NULL;
    const ferry_status st = ferry_task_links(ctx, arg, "same", &text);

    ferry_string_free(text);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, 3);

    each_allocation_fails(ctx, ask, task);
    ferry_task_free(task);
}

/* A view of 30 rows of noise, but "key", which counts; columns 1 and 2 are what the case is about. */
static ferry_domain *noise(ferry_ctx *ctx, ferry_role role, int64_t rows, const char *one,
                           const char *two, bool constant, bool sparse)
{
    const char *const names[] = {"key", one, two};
    double x[3 * 30];
    ferry_domain *d = small_domain(ctx, role == FERRY_TARGET ? "t" : "s", role, 0, 0, NULL);

    for (int64_t i = 0; i < rows; i++) {
        x[3 * i] = (double)i;
        x[3 * i + 1] = (double)(i * i);
        x[3 * i + 2] = constant ? 7 : (double)(i * 11 % 29);
    }
    small_view(ctx, d, "x", rows, 3, x, NULL, names, sparse);
    return d;
}

static void says(ferry_ctx *ctx, ferry_domain *a, ferry_domain *b, const char *want)
{
    ferry_task *task = small_task(ctx, FERRY_CLASSIFY, a, b);
    char *text = NULL;

    assert_ok(ctx, ferry_task_links(ctx, task, "same", &text));
    assert_string_equal(text, want);
    ferry_string_free(text);
    ferry_task_free(task);
}

/* Few rows, sparse rows, constant columns and values of categories are no evidence. */
static void test_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    const char *both = "{\"s\": {\"p\": \"u\", \"q\": \"v\"}}";

    says(ctx, noise(ctx, FERRY_SOURCE, 30, "p", "q", false, false),
         noise(ctx, FERRY_TARGET, 30, "u", "v", false, false), both);
    says(ctx, noise(ctx, FERRY_SOURCE, 19, "p", "q", false, false),
         noise(ctx, FERRY_TARGET, 30, "u", "v", false, false), "{}");
    says(ctx, noise(ctx, FERRY_SOURCE, 30, "p", "q", false, false),
         noise(ctx, FERRY_TARGET, 30, "u", "v", false, true), "{}");
    says(ctx, noise(ctx, FERRY_SOURCE, 30, "p", "q", true, false),
         noise(ctx, FERRY_TARGET, 30, "u", "v", true, false), "{\"s\": {\"p\": \"u\"}}");
    says(ctx, noise(ctx, FERRY_SOURCE, 30, "p", "q=1", false, false),
         noise(ctx, FERRY_TARGET, 30, "u", "v", false, false), "{\"s\": {\"p\": \"u\"}}");
    /* all of one side's have a name of the other */
    says(ctx, noise(ctx, FERRY_SOURCE, 30, "u", "v", false, false),
         noise(ctx, FERRY_TARGET, 30, "u", "v", false, false), "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEPT_TEST(test_golden),
        KEPT_TEST(test_task),
        KEPT_TEST(test_no_memory),
        KEPT_TEST(test_nothing),
    };
    return cmocka_run_group_tests_name("alike", tests, NULL, NULL);
}
