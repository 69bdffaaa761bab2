/* Which views are the same thing: each rule, what overrules it, what people are told. */
#include <stdio.h>

#include "kept.h"
#include "small_task.h"

static const double zeros[64];

/* A domain with a view "x" of so many columns; features "a,b,c" (NULL: no names) are one
 * letter each. */
static ferry_domain *domain_of(ferry_ctx *ctx, const char *name, const char *view,
                               int64_t cols, const char *letters)
{
    ferry_domain *d = small_domain(ctx, name, FERRY_SOURCE, 0, 0, NULL);
    const char *names[16];
    char text[16][2] = {{0}};

    for (int64_t j = 0; letters && j < cols; j++) {
        text[j][0] = letters[j];
        names[j] = text[j];
    }
    small_view(ctx, d, view, 1, cols, zeros, NULL, letters ? names : NULL, false);
    return d;
}

/* One more view with two rows' worth of nothing. */
static ferry_view *more(ferry_ctx *ctx, ferry_domain *d, const char *view, int64_t cols)
{
    small_view(ctx, d, view, 1, cols, zeros, NULL, NULL, false);
    return d->views[d->n_views - 1];
}

static const ferry_links *links_of(ferry_ctx *ctx, int64_t n, ferry_domain **d)
{
    const ferry_links *l = NULL;

    assert_ok(ctx, find_links(ctx, n, (const ferry_domain *const *)d, &l));
    return l;
}

static void forget(int64_t n, ferry_domain **d)
{
    for (int64_t i = 0; i < n; i++)
        ferry_domain_free(d[i]);
}

static char said[1024];
static int times;

static void listen(void *user, ferry_level level, const char *line)
{
    (void)user;
    (void)level;
    times++;
    (void)snprintf(said, sizeof said, "%s", line);
}

/* (1) Names that were chosen and are equal. */
static void test_by_name(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {domain_of(ctx, "s", "x", 3, NULL),
                         domain_of(ctx, "t", "x", 3, NULL)};
    const ferry_links *l = links_of(ctx, 2, d);

    assert_int_equal(l->n_groups, 1);
    assert_string_equal(l->text, "t.x = s.x by name");
    assert_ptr_equal(links_view(l, 0, 0), d[0]->views[0]);
    assert_null(links_view(l, 0, 1));
    forget(2, d);
}

/* One name, but columns that cannot be lined up: different things, and people are told. */
static void test_apart(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {domain_of(ctx, "s", "x", 3, NULL),
                         domain_of(ctx, "t", "x", 4, NULL)};
    const ferry_links *l = links_of(ctx, 2, d);

    assert_int_equal(l->n_groups, 2);
    assert_int_equal(l->group[1][0], 0); /* the last domain's come first */
    assert_int_equal(l->group[0][0], 1);
    assert_string_equal(l->text, "");
    assert_string_equal(l->apart,
                        "s.x and t.x have one name, but 3 and 4 features without names");
    forget(2, d);
}

/* A sparse file that is narrower just lacks the last features. */
static void test_narrow_sparse(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL),
                         domain_of(ctx, "t", "x", 4, NULL)};
    const ferry_links *l = NULL;

    small_view(ctx, d[0], "x", 1, 3, zeros, NULL, NULL, true);
    l = links_of(ctx, 2, d);
    assert_int_equal(l->n_groups, 1);
    forget(2, d);
}

/* (2) At least half of the smaller set of names. */
static void test_by_features(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {domain_of(ctx, "s", "x", 6, "abcdef"),
                         domain_of(ctx, "b", "z", 4, "efgh"),
                         domain_of(ctx, "t", "x", 4, "hijk")};
    const ferry_links *l = NULL;

    d[0]->views[0]->unwritten = d[2]->views[0]->unwritten = true;
    l = links_of(ctx, 3, d);
    assert_int_equal(l->n_groups, 2);
    assert_string_equal(l->text, "b.z = s.x by 2 feature names");
    assert_int_equal(l->group[2][0], 0);
    assert_int_equal(l->group[1][0], l->group[0][0]);
    forget(3, d);
}

/* Numbers from 1 are no names; then only the widths are left, and that is a guess. */
static void test_by_width(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {domain_of(ctx, "s", "x", 3, "123"),
                         domain_of(ctx, "t", "x", 3, NULL)};
    const ferry_links *l = NULL;

    d[0]->views[0]->unwritten = d[1]->views[0]->unwritten = true;
    ferry_ctx_set_log(ctx, listen, FERRY_WARN, NULL);
    times = 0;
    for (int i = 0; i < 3; i++) { /* said once */
        l = links_of(ctx, 2, d);
        assert_int_equal(l->n_groups, 1);
        assert_string_equal(l->text, "t.x = s.x by 3 columns without names");
    }
    assert_int_equal(times, 1);
    assert_non_null(strstr(said, "s.x and t.x are taken for the same 3 features"));
    /* a second view as wide: two pairings are possible, none is made */
    more(ctx, d[1], "w", 3);
    l = links_of(ctx, 2, d);
    assert_int_equal(l->n_groups, 3);
    forget(2, d);
}

/* Chosen names that differ speak against the guess. */
static void test_other_names(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {domain_of(ctx, "s", "text", 3, NULL),
                         domain_of(ctx, "t", "image", 3, NULL)};
    const ferry_links *l = links_of(ctx, 2, d);

    assert_int_equal(l->n_groups, 2);
    forget(2, d);
}

/* same_as overrules names, features and widths, both ways. */
static void test_same_as(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {domain_of(ctx, "s", "x", 3, "abc"),
                         domain_of(ctx, "t", "x", 3, "abc")};
    const ferry_links *l = NULL;

    d[1]->views[0]->same_as = ferry_i_strdup("none");
    l = links_of(ctx, 2, d);
    assert_int_equal(l->n_groups, 2);
    more(ctx, d[0], "y", 3)->same_as = ferry_i_strdup("t.x");
    l = links_of(ctx, 2, d);
    assert_string_equal(l->text, "t.x = s.y as same_as says");
    assert_int_equal(l->group[0][1], 0);
    assert_int_equal(l->group[0][0], 1);
    forget(2, d);
}

/* The same by call, for a task: what it may say, and what is answered. */
static void test_task_links(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *s = domain_of(ctx, "s", "x of s", 3, NULL);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 1, 3, zeros);
    ferry_task *task = NULL;
    char *text = NULL;

    assert_ok(ctx, ferry_task_new(ctx, "links", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, s));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, t));
    assert_ok(ctx, ferry_task_links(ctx, task, "json", &text));
    assert_string_equal(text, "[]"); /* both names were chosen, and differ */
    ferry_string_free(text);
    assert_ok(ctx, ferry_task_set_same_as(ctx, task, "s", "x of s", "t.x"));
    assert_ok(ctx, ferry_task_links(ctx, task, "json", &text));
    assert_string_equal(text, "[{\"domain\": \"t\", \"view\": \"x\", \"same_as\": "
                              "{\"domain\": \"s\", \"view\": \"x of s\"}, "
                              "\"by\": \"same_as\", \"columns\": 3}]");
    ferry_string_free(text);
    assert_ok(ctx, ferry_task_set_same_as(ctx, task, "s", "x of s", "none"));
    assert_ok(ctx, ferry_task_links(ctx, task, NULL, &text));
    assert_string_equal(text, "");
    ferry_string_free(text);
    assert_fails(ctx, ferry_task_set_same_as(ctx, task, "s", "x of s", "t.y"), FERRY_EINVAL,
                 "domain 's', view 'x of s': same_as: expected DOMAIN.VIEW or none, not "
                 "'t.y'; there are t.x");
    assert_fails(ctx, ferry_task_set_same_as(ctx, task, "t", "x", "t.x"), FERRY_EINVAL,
                 "of the same domain");
    assert_fails(ctx, ferry_task_set_same_as(ctx, task, "q", "x", "none"), FERRY_EINVAL,
                 "no domain 'q'");
    assert_fails(ctx, ferry_task_set_same_as(ctx, task, "s", "q", "none"), FERRY_EINVAL,
                 "no view 'q'");
    ferry_task_free(task);
}

static ferry_status ask(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    char *text = NULL;

    FERRY_TRY(ferry_task_set_same_as(ctx, arg, "s", "x", "t.x"));
    FERRY_TRY(ferry_task_links(ctx, arg, "json", &text));
done:
    ferry_string_free(text);
    return st;
}

static void test_task_links_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = small_task(ctx, FERRY_CLASSIFY, domain_of(ctx, "s", "x", 3, "abc"),
                                  small_domain(ctx, "t", FERRY_TARGET, 1, 3, zeros));

    assert_ok(ctx, ask(ctx, task)); /* the text that it keeps is there */
    each_allocation_fails(ctx, ask, task);
    ferry_task_free(task);
}

/* Two views of a domain are never one thing: the better evidence is taken. */
static void test_clash(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {domain_of(ctx, "s", "p", 4, "abcd"),
                         domain_of(ctx, "t", "q", 4, "abxy")};
    const char *more_names[] = {"a", "b", "c", "z"};
    const ferry_links *l = NULL;

    small_view(ctx, d[1], "r", 1, 4, zeros, NULL, more_names, false);
    l = links_of(ctx, 2, d);
    assert_int_equal(l->n_groups, 2);
    assert_string_equal(l->text, "t.r = s.p by 3 feature names");
    assert_int_equal(l->group[0][0], l->group[1][1]);
    forget(2, d);
}

static void find_body(scope *s, void *arg)
{
    (void)links_find(s, 3, arg);
}

static ferry_status find(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, find_body, arg);
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[] = {domain_of(ctx, "s", "x", 3, "abc"),
                         domain_of(ctx, "b", "x", 3, NULL),
                         domain_of(ctx, "t", "y", 3, "abc")};

    more(ctx, d[2], "x", 4);
    each_allocation_fails(ctx, find, d);
    forget(3, d);
}

#define TEST(name) KEPT_TEST(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_by_name),     TEST(test_apart),      TEST(test_narrow_sparse),
        TEST(test_by_features), TEST(test_by_width),   TEST(test_other_names),
        TEST(test_same_as),     TEST(test_task_links), TEST(test_task_links_memory),
        TEST(test_clash),       TEST(test_no_memory),
    };
    return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
