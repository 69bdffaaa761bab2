/* "text:" at the top of a task file. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <stdio.h>

#include "ferry_test.h"
#include "task/task.h"

#define HEAD "task: t\ngoal: classify\n"
#define SOURCE "  - {name: s, role: source, x: s.txt, y: s.labels}\n"
#define TARGET "  - {name: t, role: target, x: t.txt, y: t.labels}\n"

static int write_data(void **state)
{
    (void)state;
    tmp_file("s.txt", "alpha beta gamma\nbeta delta\nalpha beta\nalpha delta beta\n", -1);
    tmp_file("s.labels", "p\nq\np\nq\n", -1);
    tmp_file("t.txt", "beta zeta\ndelta alpha\nzeta delta\n", -1);
    tmp_file("t.labels", "p\nq\np\n", -1);
    tmp_file("t.csv", "id,f\na,1\nb,2\nc,3\n", -1);
    tmp_file("c.labels", "a,p\nb,q\nc,q\n", -1);
    return 0;
}

static ferry_status load(ferry_ctx *ctx, const char *yaml, const ferry_opts *sets,
                         ferry_task **out)
{
    return ferry_task_load(ctx, tmp_file("task.yaml", yaml, -1), sets, out);
}

static ferry_task *good(ferry_ctx *ctx, const char *yaml, const ferry_opts *sets)
{
    ferry_task *t = NULL;

    assert_ok(ctx, load(ctx, yaml, sets, &t));
    return t;
}

static void bad(ferry_ctx *ctx, const char *yaml, const char *message)
{
    ferry_task *t = NULL;

    assert_fails(ctx, load(ctx, yaml, NULL, &t), FERRY_EDATA, message);
    assert_null(t);
    assert_null(strchr(ferry_message(ctx), '\n'));
}

static void test_shared_words(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = good(
        ctx, HEAD "text: {min_df: 2, weight: tfidf, norm: l2}\ndomains:\n" SOURCE TARGET,
        NULL);
    const ferry_view *s = t->domains[0]->views[0], *x = t->domains[1]->views[0];

    assert_int_equal(s->x->cols, 4); /* alpha beta delta zeta; gamma is in one document */
    assert_int_equal(x->x->cols, 4);
    for (int64_t j = 0; j < 4; j++)
        assert_string_equal(ferry_i_ids_at(s->features, j), ferry_i_ids_at(x->features, j));
    assert_close(s->idf[0], log(8.0 / 5) + 1, 1e-15); /* alpha: 4 of 7 documents */
    assert_close(x->idf[0], s->idf[0], 0);
    assert_string_equal(ferry_opts_get(s->read, "weight"), "tfidf");
    const double *v = x->x->value;
    assert_close(v[0] * v[0] + v[1] * v[1], 1, 1e-15);
    ferry_task_free(t);
}

static void test_own_options_win(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *sets = opts_of(ctx, "text.min_df=1", "domains.t.part=1/2", NULL);
    ferry_task *t =
        good(ctx,
             HEAD "text: {min_df: 3, max_empty: 1}\ndomains:\n"
                  "  - {name: s, role: source, x: s.txt, y: s.labels, part: 2/2}\n" TARGET,
             sets);
    const ferry_view *s = t->domains[0]->views[0], *x = t->domains[1]->views[0];

    assert_int_equal(s->x->cols + x->x->cols, 5);
    for (int64_t j = 0; j < s->x->cols; j++)
        assert_int_equal(ferry_i_ids_find(x->features, ferry_i_ids_at(s->features, j)), -1);
    ferry_task_free(t);
    ferry_opts_free(sets);
}

/* The draw depends on the task's seed, or the context's when it has none. */
static void test_seed(void **state)
{
    ferry_ctx *ctx = *state;
    char words[3][40] = {"", "", ""};
    char yaml[600];
    bool differ = false;

    for (int try = 0; try < 20; try++) {
        for (int k = 0; k < 3; k++) {
            ctx->seed = (uint64_t)(k + 10 * try);
            snprintf(yaml, sizeof yaml,
                     HEAD "text: {max_empty: 1, part: 1/2}\nevaluate: {seed: %d}\n"
                          "domains:\n" SOURCE TARGET,
                     (k == 2) + 2 * try);
            ferry_task *t = good(ctx, yaml, NULL);
            words[k][0] = 0;
            for (int64_t j = 0; j < t->domains[0]->views[0]->x->cols; j++)
                strcat(words[k], ferry_i_ids_at(t->domains[0]->views[0]->features, j));
            ferry_task_free(t);
        }
        assert_string_equal(words[0], words[1]);
        differ = differ || strcmp(words[0], words[2]) != 0;
    }
    assert_true(differ);
}

/* Views with a format of their own are read as ever; text views among several are found. */
static void test_other_views(void **state)
{
    ferry_ctx *ctx = *state;
    tmp_file("ids.txt", "a\tbeta alpha\nb\tdelta\nc\tzeta\n", -1);
    ferry_task *t = good(ctx,
                         HEAD "text:\n  min_df: 2\n  max_empty: 0.5\ndomains:\n" SOURCE
                              "  - name: t\n    role: target\n    y: c.labels\n    views:\n"
                              "      - {name: table, x: t.csv, format: csv}\n"
                              "      - {name: words, x: ids.txt, id: first}\n",
                         NULL);

    assert_int_equal(t->domains[1]->n_views, 2);
    assert_int_equal(t->domains[1]->views[0]->x->cols, 1);
    assert_int_equal(t->domains[1]->views[1]->x->cols, 3);
    assert_int_equal(t->domains[0]->views[0]->x->cols, 3);
    ferry_task_free(t);
}

static void test_broken(void **state)
{
    ferry_ctx *ctx = *state;

    bad(ctx, HEAD "text: {min_fd: 2}\ndomains:\n" SOURCE TARGET,
        "task.yaml:3: text: unknown key min_fd (did you mean min_df?)");
    bad(ctx, HEAD "text: {sep: tab}\ndomains:\n" SOURCE TARGET,
        "sep is not an option for text");
    bad(ctx, HEAD "text: 3\ndomains:\n" SOURCE TARGET, "text");
    bad(ctx,
        HEAD "text: {min_len: 2}\ndomains:\n" SOURCE
             "  - {name: t, role: target, x: t.txt, min_df: 2}\n",
        "task.yaml:6: domains[1]: min_df stands in text: at the top");
    bad(ctx,
        HEAD "text: {min_df: 2}\ndomains:\n" SOURCE
             "  - {name: t, role: target, x: no.txt}\n",
        "domains[1].x:");
    bad(ctx,
        HEAD
        "text: {min_df: 2}\ndomains:\n  - {name: t, role: target, x: t.csv, format: csv}\n",
        "text: no domain has text");
    bad(ctx, HEAD "text: {min_df: 5}\ndomains:\n" SOURCE TARGET,
        "t.txt: 2 of 3 documents have no word left (such as number 2, number 3)");
    bad(ctx, HEAD "text: {files: {a: {b: c}}}\ndomains:\n" SOURCE TARGET,
        "expected a text or a number, found a mapping");
    bad(ctx, HEAD "text: {part: 1/0}\ndomains:\n" SOURCE TARGET, "expected such as 1/2");
    bad(ctx, HEAD "text: {sample: {r: 3}}\ndomains:\n" SOURCE TARGET,
        "no document has the class 'r'");
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_task *t = NULL;
    const ferry_status st = ferry_task_load(ctx, arg, NULL, &t);

    ferry_task_free(t);
    return st;
}

static void test_memory(void **state)
{
    char path[256];

    strcpy(path,
           tmp_file("memory.yaml",
                    HEAD "text: {min_df: 2, weight: tfidf, duplicates: drop, sample: 9}\n"
                         "domains:\n" SOURCE TARGET,
                    -1));
    each_allocation_fails(*state, body, path);
}

/* The six tasks' raw messages: sizes as counted from the archive by other means. */
static void test_newsgroups(void **state)
{
    ferry_ctx *ctx = *state;
    const char *dir = data_dir("20newsgroups/20news-bydate.tar.xz");
    char yaml[6000], full[4096];
    ferry_task *t = NULL;

    if (!dir) skip();
    assert_non_null(realpath(dir, full));
    snprintf(yaml, sizeof yaml,
             HEAD
             "text: {mail_headers: strip, min_len: 3, min_df: 20, stop_words: english, "
             "weight: tfidf, norm: l2}\nevaluate: {seed: 100}\ndomains:\n"
             "  - {name: s, role: source, x: &n '%s/20newsgroups/20news-bydate.tar.xz', "
             "part: 2/2, files: {comp: comp.graphics, talk: talk.politics.guns}}\n"
             "  - {name: i, role: intermediate, x: *n, files: {comp: "
             "[comp.os.ms-windows.misc], talk: talk.politics.mideast}}\n"
             "  - {name: t, role: target, x: *n, part: 1/2, files: {comp: "
             "comp.windows.x, talk: talk.politics.misc}}\n",
             full);
    t = good(ctx, yaml, NULL);
    assert_int_equal(ferry_i_domain_id_count(t->domains[0]), 584 + 389 + 546 + 364);
    assert_int_equal(ferry_i_domain_id_count(t->domains[1]), 591 + 394 + 564 + 376);
    assert_int_equal(ferry_i_domain_id_count(t->domains[2]), 593 + 395 + 465 + 310);
    const int64_t s = t->domains[0]->views[0]->x->cols,
                  i = t->domains[1]->views[0]->x->cols,
                  m = t->domains[2]->views[0]->x->cols;
    assert_int_equal(s + m, i);
    assert_true(i > 4700 && i < 5100); /* 4894 with another list of stop words */
    print_message("comp-vs-talk: %lld words\n", (long long)i);
    ferry_task_free(t);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_shared_words), T(test_own_options_win), T(test_seed),
        T(test_other_views),  T(test_broken),          T(test_memory),
        T(test_newsgroups),
    };
    return cmocka_run_group_tests_name("task_text", tests, write_data, NULL);
}
