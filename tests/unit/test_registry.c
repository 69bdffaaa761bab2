/* The list of methods, and the pages that describe the baselines. */
#include <stdio.h>

#include "ferry_test.h"
#include "methods/method.h"

static void test_registry(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_method *m = NULL;
    ferry_model *model = NULL;

    for (int64_t i = 0; ferry_method_at(i); i++) {
        const ferry_method_info *info = ferry_method_at(i);
        assert_ptr_equal(ferry_method_find(info->name), info);
        assert_string_equal(ferry_i_method_at(i)->name, info->name);
        assert_true(strlen(info->needs) > 0 && strlen(info->summary) > 0);
        if (i > 0) assert_true(strcmp(ferry_method_at(i - 1)->name, info->name) < 0);
    }
    assert_null(ferry_method_at(-1));
    assert_null(ferry_method_at(ferry_i_method_count()));
    assert_null(ferry_method_find("nothing"));
    assert_string_equal(ferry_method_find("svm")->needs, "a view of the target");
    assert_string_equal(ferry_method_find("majority")->needs,
                        "labels of a source or the target");
    assert_ok(ctx, ferry_i_method_get(ctx, "ridge", &m));
    assert_string_equal(m->name, "ridge");
    assert_fails(ctx, ferry_i_method_get(ctx, "rigde", &m), FERRY_EINVAL,
                 "unknown method rigde (did you mean ridge?)");
    assert_fails(
        ctx, ferry_fit(ctx, (const ferry_task *)ctx, "somethingelse", NULL, &model, NULL),
        FERRY_EINVAL, "unknown method somethingelse");
}

/* The page of every baseline lists its options with their defaults; that of one that runs only where a task names it
 * may be the page of the method that it is a variant of: mf-als is on mf's. */
static void test_pages(void **state)
{
    (void)state;
    for (int64_t i = 0; ferry_method_at(i); i++) {
        const ferry_method_info *m = ferry_method_at(i);
        char path[256], line[256];
        char *page = NULL;
        if (m->kind != FERRY_KIND_BASELINE) continue;
        (void)snprintf(path, sizeof path, "docs/methods/%s.md", m->name);
        page = slurp(path);
        if (!page && m->asked) {
            (void)snprintf(path, sizeof path, "docs/methods/%.*s.md",
                           (int)(strrchr(m->name, '-') - m->name), m->name);
            page = slurp(path);
        }
        assert_non_null(page);
        for (int64_t o = 0; ferry_opt_at(m->options, o); o++) {
            (void)snprintf(line, sizeof line, "\n| %s | %s | ",
                           ferry_opt_at(m->options, o)->name,
                           ferry_opt_at(m->options, o)->def);
            if (!strstr(page, line)) fail_msg("%s lacks:%s", path, line);
        }
        free(page);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_registry),
        TEST(test_pages),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
