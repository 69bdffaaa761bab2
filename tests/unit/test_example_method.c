/* The method that CONTRIBUTING.md shows: it is that file, word for word, and it runs. */
#include <stdio.h>

#include "run/run.h"
#include "ferry_test.h"
#include "learn/learner.h"
#include "methods/frame.h"
#include "small_task.h"

#include "../../examples/inside/nearest_mean.c"

enum { N = 40, D = 4 };

static char *text_of(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);

    assert_non_null(f);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

static void test_shown(void **state)
{
    char *guide = text_of("CONTRIBUTING.md"),
         *code = text_of("examples/inside/nearest_mean.c");
    int64_t lines = 0;

    (void)state;
    assert_non_null(strstr(guide, code));
    for (const char *c = code; *c; c++)
        lines += *c == '\n';
    assert_true(lines <= 60);
    free(guide);
    free(code);
}

static ferry_domain *rows(ferry_ctx *ctx, const char *name, ferry_role role, double shift)
{
    double x[N * D];
    char letters[N + 1] = {0};

    for (int i = 0; i < N; i++) {
        letters[i] = i % 2 ? 'b' : 'a';
        for (int j = 0; j < D; j++)
            x[i * D + j] =
                (i % 2 ? 1 : -1) * (1 + 0.1 * j) + shift + 0.5 * sin(7 * i + 3 * j);
    }
    ferry_domain *d = small_domain(ctx, name, role, N, D, x);
    small_classes(ctx, d, letters);
    return d;
}

/* It runs beside others, by its name, and is right where the classes are apart. */
static void test_runs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *source = rows(ctx, "s", FERRY_SOURCE, 0.2),
                 *target = rows(ctx, "t", FERRY_TARGET, 0);
    ferry_task *task = small_task(ctx, FERRY_CLASSIFY, source, target);
    ferry_opt options[16];
    ferry_method how;
    ferry_results *rs = NULL;
    ferry_opts *own = settings_of(ctx, "own=5");

    assert_ok(ctx, ferry_domain_set_labelled(ctx, target, "4"));
    (void)frame_describe(&method_nearest_mean, options, &how);
    assert_ok(ctx, ferry_task_add_method(ctx, task, "logreg", NULL, NULL));
    assert_ok(ctx, ferry_task_add_method(ctx, task, "nearest-mean", NULL, own));
    assert_ok(ctx, ferry_i_evaluate(ctx, task, &how, &rs));
    const ferry_result *r = ferry_results_find(rs, "nearest-mean");
    assert_non_null(r);
    assert_null(r->reason);
    assert_true(r->mean > 0.95);
    ferry_opts_free(own);
    ferry_results_free(rs);
    ferry_task_free(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown),
        cmocka_unit_test_setup_teardown(test_runs, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("example_method", tests, NULL, NULL);
}
