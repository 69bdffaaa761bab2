/* Generators: what they write, that the seed decides every byte, and bad settings. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry_test.h"
#include "task/task.h"

static char *file_of(const char *dir, const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return slurp(path);
}

static int64_t count(const char *text, char c)
{
    int64_t n = 0;

    for (; *text; text++)
        n += *text == c;
    return n;
}

static void test_list(void **state)
{
    (void)state;
    assert_string_equal(ferry_generator_at(0)->name, "digits");
    assert_string_equal(ferry_generator_at(1)->name, "bridge");
    assert_non_null(ferry_opt_at(ferry_generator_at(1)->options, 5));
    assert_null(ferry_generator_at(-1));
    assert_null(ferry_generator_at(1000));
}

/* Numbers of rows and columns are as asked; labels go round; nothing is negative. */
static void test_bridge_shapes(void **state)
{
    ferry_ctx *ctx = *state;
    const char *dir = tmp_path("shapes/deep");
    ferry_opts *opts =
        opts_of(ctx, "classes=2", "source=5", "bridge=4", "target=3", "source_features=6",
                "target_features=2", "labelled=1", "repeats=7", NULL);

    assert_ok(ctx, ferry_generate(ctx, "bridge", opts, dir));
    char *source = file_of(dir, "source.csv"), *a = file_of(dir, "bridge_a.csv"),
         *b = file_of(dir, "bridge_b.csv"), *target = file_of(dir, "target.csv"),
         *task = file_of(dir, "task.yaml");
    assert_int_equal(count(source, '\n'), 6);
    assert_int_equal(count(source, ','), 6 * 7);
    assert_memory_equal(source, "id,label,a1,a2,a3,a4,a5,a6\ns1,c1,", 33);
    assert_non_null(strstr(source, "\ns2,c2,"));
    assert_non_null(strstr(source, "\ns3,c1,"));
    assert_null(strchr(source, '-'));
    assert_int_equal(count(a, '\n'), 5);
    assert_int_equal(count(a, ','), 5 * 6);
    assert_memory_equal(b, "id,b1,b2\nb1,", 12);
    assert_int_equal(count(b, ','), 5 * 2);
    assert_memory_equal(target, "id,label,b1,b2\nt1,c1,", 21);
    assert_non_null(strstr(task, "labelled: {per_class: 1}"));
    assert_non_null(strstr(task, "repeats: 7"));
    free(source);
    free(a);
    free(b);
    free(target);
    free(task);
    ferry_opts_free(opts);
}

/* All images are there once, cut where the halves meet; of the own labels two a digit are known. */
static void test_digits(void **state)
{
    ferry_ctx *ctx = *state;
    const char *dir = tmp_path("digits");

    assert_ok(ctx, ferry_generate(ctx, "digits", NULL, dir));
    char *left = file_of(dir, "left.csv"), *both = file_of(dir, "both.csv"),
         *right = file_of(dir, "right.csv"), *mine = file_of(dir, "mine.csv");
    int64_t blank = 0;
    assert_int_equal(count(left, '\n'), 601);
    assert_int_equal(count(left, ','), 601 * 33);
    assert_non_null(strstr(left, ",p72,p73,digit\nd1,0,0,5,13,0,0,13,15,0,3,15,2,"));
    assert_int_equal(count(both, '\n'), 601);
    assert_int_equal(count(both, ','), 601 * 64);
    assert_int_equal(count(right, '\n'), 598);
    assert_memory_equal(right, "id,p04,p05,p06,p07,p14,", 23);
    assert_non_null(strstr(right, "\nd1797,")); /* the last image of the file is an eight */
    assert_string_equal(right + strlen(right) - 5, ",0,8\n");
    for (const char *s = strstr(mine, ",\n"); s; s = strstr(s + 1, ",\n"))
        blank++;
    assert_int_equal(count(mine, '\n'), 598);
    assert_int_equal(blank, 597 - 20);
    free(left);
    free(both);
    free(right);
    free(mine);
}

static void test_seed_decides(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *opts = opts_of(ctx, "source=9", "bridge=9", "target=9", "labelled=0", NULL);
    char *one = NULL, *same = NULL, *other = NULL, *task = NULL;

    assert_ok(ctx, ferry_generate(ctx, "bridge", opts, tmp_path("one")));
    assert_ok(ctx, ferry_generate(ctx, "bridge", opts, tmp_path("same")));
    ctx->seed = 2;
    assert_ok(ctx, ferry_generate(ctx, "bridge", opts, tmp_path("other")));
    one = file_of(tmp_path("one"), "target.csv");
    same = file_of(tmp_path("same"), "target.csv");
    other = file_of(tmp_path("other"), "target.csv");
    task = file_of(tmp_path("other"), "task.yaml");
    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
    assert_non_null(strstr(task, "labelled: none"));
    assert_non_null(strstr(task, "seed: 2"));
    free(one);
    free(same);
    free(other);
    free(task);
    ferry_opts_free(opts);
}

/* Without noise and with one hidden dimension, features in A and B of a bridge instance are
 * the same number times two constants. */
static void test_both_spaces_show_one_place(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *opts = opts_of(ctx, "latent=1", "noise=0", "bridge=50", "source=2",
                               "target=2", "source_features=1", "target_features=2", NULL);
    char *a = NULL, *b = NULL;
    int agree = 0, both = 0;

    assert_ok(ctx, ferry_generate(ctx, "bridge", opts, tmp_path("line")));
    a = file_of(tmp_path("line"), "bridge_a.csv");
    b = file_of(tmp_path("line"), "bridge_b.csv");
    /* a1 = max(0, z p), b2 = max(0, z q): where both are positive their ratio is p / q.
     * (Under this seed p and q have the same sign; b1's would not do.) */
    const char *s = strchr(a, '\n') + 1, *t = strchr(b, '\n') + 1;
    double ratio = 0;
    for (int i = 0; i < 50; i++, s = strchr(s, '\n') + 1, t = strchr(t, '\n') + 1) {
        const double x = atof(strchr(s, ',') + 1),
                     y = atof(strchr(strchr(t, ',') + 1, ',') + 1);
        if (x < 0.3 || y < 0.3) continue;
        if (ratio == 0) ratio = x / y;
        both++;
        agree += fabs(x / y - ratio) < 0.02 * ratio;
    }
    assert_true(both > 5);
    assert_int_equal(agree, both);
    free(a);
    free(b);
    ferry_opts_free(opts);
}

static void test_bad_settings_write_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *range = opts_of(ctx, "classes=1", NULL),
               *key = opts_of(ctx, "clases=3", NULL);
    const char *dir = tmp_path("never");

    assert_fails(ctx, ferry_generate(ctx, "brigde", NULL, dir), FERRY_EINVAL,
                 "unknown generator brigde (did you mean bridge?)");
    assert_fails(ctx, ferry_generate(ctx, "xxxxxxxxxxxx", NULL, dir), FERRY_EINVAL,
                 "unknown generator xxxxxxxxxxxx");
    assert_fails(ctx, ferry_generate(ctx, "bridge", range, dir), FERRY_EINVAL,
                 "classes = 1 is outside [2, 1000]");
    assert_fails(ctx, ferry_generate(ctx, "bridge", key, dir), FERRY_EINVAL,
                 "did you mean classes?");
    assert_int_not_equal(access(dir, F_OK), 0);
    ferry_opts_free(range);
    ferry_opts_free(key);
}

static void test_overwrites_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    char *text = NULL;

    mkdir(tmp_path("mine"), 0777);
    tmp_file("mine/task.yaml", "my own task\n", -1);
    assert_fails(ctx, ferry_generate(ctx, "bridge", NULL, tmp_path("mine")), FERRY_EINVAL,
                 "is there already");
    text = file_of(tmp_path("mine"), "task.yaml");
    assert_string_equal(text, "my own task\n");
    free(text);
    tmp_file("plain", "", 0);
    assert_fails(ctx, ferry_generate(ctx, "bridge", NULL, tmp_path("plain")), FERRY_EIO,
                 "is not a folder");
    mkdir(tmp_path("blocked"), 0777);
    mkdir(tmp_path("blocked/bridge_a.csv"), 0777);
    assert_fails(ctx, ferry_generate(ctx, "bridge", NULL, tmp_path("blocked")), FERRY_EIO,
                 "bridge_a.csv");
    assert_int_not_equal(access(tmp_path("blocked/task.yaml"), F_OK), 0);
}

static ferry_status small(ferry_ctx *ctx, void *arg)
{
    unlink(tmp_path("memory/task.yaml"));
    return ferry_generate(ctx, "bridge", arg, tmp_path("memory"));
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *opts = opts_of(ctx, "source=2", "bridge=2", "target=2", NULL);

    each_allocation_fails(ctx, small, opts);
    ferry_opts_free(opts);
}

/* Rows, columns, gaps and edges are as asked; the task can be loaded and run. */
static void test_social(void **state)
{
    ferry_ctx *ctx = *state;
    const char *dir = tmp_path("social");
    ferry_opts *opts = opts_of(ctx, "people=40", "features=5", "graphs=2", "edges=30",
                               "missing=0.5", "labelled=0.5", NULL);
    ferry_task *task = NULL;
    char path[512];

    assert_ok(ctx, ferry_generate(ctx, "social", opts, dir));
    char *table = file_of(dir, "table.csv"), *graph = file_of(dir, "graph2.csv");
    assert_int_equal(count(table, '\n'), 41);
    assert_int_equal(count(table, ','), 41 * 6);
    assert_non_null(strstr(table, ",,"));
    assert_int_equal(count(graph, '\n'), 30);
    snprintf(path, sizeof path, "%s/task.yaml", dir);
    assert_ok(ctx, ferry_task_load(ctx, path, NULL, &task));
    assert_int_equal(task->n_methods, 3);
    ferry_task_free(task);
    free(table);
    free(graph);
    ferry_opts_free(opts);
}

static ferry_status social_body(ferry_ctx *ctx, void *arg)
{
    unlink(tmp_path("memory2/task.yaml"));
    return ferry_generate(ctx, "social", arg, tmp_path("memory2"));
}

static void test_social_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *opts = opts_of(ctx, "people=4", "features=2", "graphs=1", "edges=3", NULL);

    each_allocation_fails(ctx, social_body, opts);
    ferry_opts_free(opts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test_setup_teardown(test_bridge_shapes, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_digits, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_seed_decides, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_both_spaces_show_one_place, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bad_settings_write_nothing, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_overwrites_nothing, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_social, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_social_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
