/* Scopes: memory goes whatever happens, a failure leaves by the run, every allocation may fail. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/scope.h"
#include "ferry_test.h"

/* ---- what a body does, told by numbers ---- */

typedef struct trail {
    char text[64];
    scope *keep;
    int32_t *kept;
    int64_t live;
} trail;

static trail *now;

static void note_a(void *arg)
{
    (void)arg;
    strcat(now->text, "a");
}

static void note_b(void *arg)
{
    strcat(now->text, arg ? (const char *)arg : "b");
}

static void plain(scope *s, void *arg)
{
    trail *t = arg;
    int32_t *x = NEW(s, int32_t, 100);

    for (int i = 0; i < 100; i++)
        assert_int_equal(x[i], 0);
    scope_defer(s, note_a, NULL);
    scope_defer(s, note_b, NULL);
    t->live = live_blocks();
}

static void test_all_is_gone_afterwards(void **state)
{
    trail t = {0};

    now = &t;
    fail_allocation(0);
    const int64_t before = live_blocks();
    assert_ok(*state, scope_run(*state, plain, &t));
    assert_true(t.live > before);
    assert_int_equal(live_blocks(), before);
    assert_string_equal(t.text, "ba"); /* last first */
}

static void failing(scope *s, void *arg)
{
    (void)arg;
    (void)NEW(s, char, 10);
    scope_defer(s, note_a, NULL);
    scope_fail(s, FERRY_EDATA, "row %d: expected a number", 7);
}

static void test_a_failure_leaves_with_its_sentence(void **state)
{
    trail t = {0};

    now = &t;
    fail_allocation(0);
    const int64_t before = live_blocks();
    assert_fails(*state, scope_run(*state, failing, &t), FERRY_EDATA,
                 "row 7: expected a number");
    assert_int_equal(live_blocks(), before);
    assert_string_equal(t.text, "a");
}

static ferry_status outer_call(ferry_ctx *ctx)
{
    return scope_run(ctx, failing, NULL);
}

static void checks(scope *s, void *arg)
{
    (void)arg;
    scope_check(s, FERRY_OK);
    scope_check(s, outer_call(scope_ctx(s))); /* a run inside a run */
    fail();
}

static void test_a_status_becomes_the_way_out(void **state)
{
    trail t = {0};

    now = &t;
    assert_fails(*state, scope_run(*state, checks, NULL), FERRY_EDATA, "row 7");
}

/* ---- marks, growing, dropping ---- */

static void marks(scope *s, void *arg)
{
    trail *t = arg;
    int32_t *old = NEW(s, int32_t, 2);

    old[0] = 5;
    scope_defer(s, note_a, NULL);
    const int64_t mark = scope_mark(s);
    (void)NEW(s, int32_t, 1000);
    scope_defer(s, note_b, "1");
    old = scope_grow(s, old, 4, sizeof *old); /* as old as it was: it outlives the mark */
    scope_release(s, mark);
    assert_string_equal(t->text, "1");
    assert_int_equal(old[0], 5);
    assert_int_equal(old[3], 0);
    old[3] = 9;
    scope_drop(s, old);
    scope_drop(s, NULL);
    assert_null(memcmp("xyz7", scope_text(s, "xyz%d", 7), 5));
    int32_t *fresh = scope_grow(s, NULL, 3, sizeof *fresh);
    fresh[2] = 1;
    fresh = scope_grow(s, fresh, 1, sizeof *fresh);
    assert_int_equal(fresh[0], 0);
}

static void test_marks(void **state)
{
    trail t = {0};

    now = &t;
    fail_allocation(0);
    const int64_t before = live_blocks();
    assert_ok(*state, scope_run(*state, marks, &t));
    assert_int_equal(live_blocks(), before);
    assert_string_equal(t.text, "1a");
}

static void too_much(scope *s, void *arg)
{
    (void)arg;
    (void)NEW(s, double, INT64_MAX / 4);
}

static void below_zero(scope *s, void *arg)
{
    (void)arg;
    (void)NEW(s, double, -1);
}

static void test_sizes_that_are_none(void **state)
{
    assert_fails(*state, scope_run(*state, too_much, NULL), FERRY_ENOMEM, "out of memory");
    assert_fails(*state, scope_run(*state, below_zero, NULL), FERRY_ENOMEM,
                 "out of memory");
}

/* ---- what outlives a run ---- */

static void keeps(scope *s, void *arg)
{
    trail *t = arg;
    int32_t *x = NEW(s, int32_t, 3);

    scope_bind(t->keep, s);
    x[1] = 4;
    t->kept = scope_keep(t->keep, s, x);
    scope_defer(t->keep, note_b, "k");
}

static void test_what_is_kept_stays(void **state)
{
    trail t = {.keep = scope_open(*state)};

    now = &t;
    assert_ok(*state, scope_run(*state, keeps, &t));
    assert_int_equal(t.kept[1], 4);
    assert_string_equal(t.text, "");
    scope_close(t.keep);
    scope_close(NULL);
    assert_string_equal(t.text, "k");
}

/* ---- trying ---- */

static void candidate(scope *s, void *arg)
{
    trail *t = arg;

    (void)NEW(t->keep, char, 5);
    scope_defer(t->keep, note_b, "k");
    scope_defer(s, note_b, "s");
    scope_fail(s, FERRY_ENEEDS, "too few rows");
}

static void good_candidate(scope *s, void *arg)
{
    trail *t = arg;

    t->kept = NEW(t->keep, int32_t, 1);
    t->kept[0] = 3;
    scope_defer(s, note_b, "g");
}

static void tries(scope *s, void *arg)
{
    trail *t = arg;

    scope_bind(t->keep, s);
    assert_int_equal(scope_try(s, t->keep, candidate, t), FERRY_ENEEDS);
    assert_string_equal(t->text, "sk");
    assert_int_equal(scope_try(s, t->keep, good_candidate, t), FERRY_OK);
    assert_int_equal(t->kept[0], 3);
    assert_string_equal(t->text, "sk"); /* what a good one made in s stays */
    scope_fail(s, FERRY_EDATA, "outer");
}

static void test_a_candidate_that_fails(void **state)
{
    trail t = {.keep = scope_open(*state)};

    now = &t;
    assert_fails(*state, scope_run(*state, tries, &t), FERRY_EDATA, "outer");
    assert_string_equal(t.text, "skg");
    scope_close(t.keep);
}

/* ---- jobs ---- */

typedef struct squares {
    int64_t at[20], sum;
    int64_t bad; /* the job that fails, -1: none */
} squares;

static void square(scope *s, void *arg, int64_t i)
{
    squares *q = arg;
    int64_t *x = NEW(s, int64_t, 1);

    if (q->bad >= 0 && i >= q->bad) scope_fail(s, FERRY_EDATA, "job %lld", (long long)i);
    *x = i * i;
    q->at[i] = *x;
}

static void add(scope *s, void *arg, int64_t i)
{
    squares *q = arg;

    (void)s;
    q->sum = 2 * q->sum + q->at[i];
}

static void side_by_side(scope *s, void *arg)
{
    scope_jobs(s, 20, square, add, arg);
}

static void test_jobs(void **state)
{
    squares q = {.bad = -1};
    int64_t want = 0;

    for (int64_t i = 0; i < 20; i++)
        want = 2 * want + i * i;
    assert_ok(*state, ferry_i_ctx_set_threads(*state, 3));
    assert_ok(*state, scope_run(*state, side_by_side, &q));
    assert_int_equal(q.sum, want);
    q = (squares){.bad = 4}; /* the lowest that fails tells */
    assert_fails(*state, scope_run(*state, side_by_side, &q), FERRY_EDATA, "job 4");
}

/* ---- every allocation fails once ---- */

static void everything(scope *s, void *arg)
{
    trail t = {.keep = arg};
    squares q = {.bad = -1};

    scope_bind(t.keep, s);
    int32_t *x = NEW(s, int32_t, 3);
    x = scope_grow(s, x, 6, sizeof *x);
    scope_defer(s, note_a, NULL);
    (void)scope_text(s, "%d and %s", 3, "more");
    (void)scope_adopt(s, ferry_i_strdup("of old code"));
    (void)scope_rng(s, "test");
    const int64_t mark = scope_mark(s);
    (void)NEW(t.keep, char, 9);
    const ferry_status st = scope_try(s, t.keep, good_candidate, &t);
    if (st != FERRY_OK) scope_check(s, st);
    scope_release(s, mark);
    x = scope_keep(t.keep, s, x);
    scope_drop(t.keep, x);
    scope_jobs(s, 3, square, add, &q);
}

static ferry_status run_everything(ferry_ctx *ctx, void *arg)
{
    trail t = {0};
    scope *keep = scope_open(ctx);

    (void)arg;
    now = &t;
    if (!keep) return ferry_i_nomem(ctx);
    const ferry_status st = scope_run(ctx, everything, keep);
    scope_close(keep);
    return st;
}

static void test_every_allocation_fails(void **state)
{
    each_allocation_fails(*state, run_everything, NULL);
}

/* ---- a failure where there is no way out ends the program ---- */

static void inside_threads(scope *s, void *arg)
{
    (void)arg;
#pragma omp parallel num_threads(2)
    {
        if (true) scope_fail(s, FERRY_EDATA, "from a thread");
    }
}

static void test_no_jump_out_of_threads(void **state)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        (void)scope_run(*state, inside_threads, NULL);
        _exit(0);
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_is_gone_afterwards, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_a_failure_leaves_with_its_sentence, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_a_status_becomes_the_way_out, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_marks, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_sizes_that_are_none, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_kept_stays, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_a_candidate_that_fails, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_jobs, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_fails, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_jump_out_of_threads, ctx_setup,
                                        ctx_teardown),
    };
    return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
