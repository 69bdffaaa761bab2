#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "core/pool.h"
#include "ferry_test.h"

enum { N = 40 };

/* What the jobs of these tests do and leave. */
typedef struct bench {
    double out[N]; /* slots */
    bool ran[N];
    int64_t order[N], n_joined;
    int64_t bad, worse; /* jobs that fail, or -1 */
    bool backwards;     /* early jobs take longer */
    bool talks, asks;
    atomic_int inside, most; /* at once */
    pthread_t caller;
} bench;

static void dawdle(const bench *b, int64_t i)
{
    volatile double x = 0;
    const int64_t rounds = b->backwards ? (N - i) * 20000 : 20000;

    for (int64_t k = 0; k < rounds; k++)
        x += (double)k;
}

static ferry_status job(ferry_ctx *ctx, void *arg, int64_t i)
{
    bench *b = arg;
    ferry_status st = FERRY_OK;
    bool finish = false;
    ferry_rng rng;
    char name[32];
    double *work = NULL;

    const int now = atomic_fetch_add(&b->inside, 1) + 1;
    int most = atomic_load(&b->most);
    while (now > most && !atomic_compare_exchange_weak(&b->most, &most, now))
        ;
    if (ctx->jobs != 1) return ferry_i_fail(ctx, FERRY_EINVAL, "not inline inside");
    FERRY_NEW(ctx, work, 100);
    snprintf(name, sizeof name, "job %lld", (long long)i);
    if (b->talks) {
        ferry_i_log(ctx, FERRY_INFO, "%s begins", name);
        ferry_i_warn_once(ctx, "the data is odd");
        ferry_i_warn_once(ctx, "column %lld is empty", (long long)i / 10);
    }
    if (b->asks) FERRY_TRY(ferry_i_progress(ctx, name, 0, 0, NAN, &finish));
    dawdle(b, i);
    for (int k = 0; b->asks && k < 5; k++)
        FERRY_TRY(ferry_i_progress(ctx, name, k, 5, NAN, &finish));
    FERRY_NEED(ctx, i != b->bad && i != b->worse, FERRY_EDATA, "job %lld is bad",
               (long long)i);
    snprintf(name, sizeof name, "use %lld", (long long)i);
    ferry_i_rng_for(ctx, &rng, name);
    b->out[i] = ferry_i_rng_real(&rng) + ctx->threads;
    b->ran[i] = true;
done:
    ferry_i_free(work);
    atomic_fetch_sub(&b->inside, 1);
    return st;
}

static ferry_status join(ferry_ctx *ctx, void *arg, int64_t i)
{
    bench *b = arg;

    if (!pthread_equal(b->caller, pthread_self()) || !b->ran[i])
        return ferry_i_fail(ctx, FERRY_EINVAL, "joined too early, or elsewhere");
    b->order[b->n_joined++] = i;
    return FERRY_OK;
}

static bench new_bench(void)
{
    return (bench){.bad = -1, .worse = -1, .caller = pthread_self()};
}

static ferry_status run(ferry_ctx *ctx, bench *b, int at_once, bool *finish)
{
    const ferry_jobs jobs = {.n = N, .run = job, .join = join, .arg = b};

    ctx->jobs = 0;
    ctx->threads = 1;
    assert_ok(ctx, ferry_i_ctx_set_jobs(ctx, at_once));
    return ferry_i_pool_run(ctx, &jobs, finish);
}

/* ---- order ---- */

static void test_any_order_same_slots(void **state)
{
    ferry_ctx *ctx = *state;
    bench serial = new_bench();

    assert_ok(ctx, run(ctx, &serial, 1, NULL));
    assert_int_equal(serial.most, 1);
    for (int at_once = 2; at_once <= 8; at_once *= 2) {
        bench b = new_bench();
        b.backwards = at_once > 2;
        assert_ok(ctx, run(ctx, &b, at_once, NULL));
        assert_memory_equal(b.out, serial.out, sizeof b.out);
        assert_true(b.most <= at_once);
        assert_int_equal(b.n_joined, N);
        for (int64_t i = 0; i < N; i++)
            assert_int_equal(b.order[i], i);
    }
}

static void test_no_jobs_and_no_join(void **state)
{
    ferry_ctx *ctx = *state;
    bench b = new_bench();

    assert_ok(ctx, ferry_i_pool_run(ctx, &(ferry_jobs){.run = job, .arg = &b}, NULL));
    assert_ok(ctx, ferry_i_ctx_set_jobs(ctx, 3));
    assert_ok(ctx,
              ferry_i_pool_run(ctx, &(ferry_jobs){.n = 5, .run = job, .arg = &b}, NULL));
    assert_true(b.ran[4] && !b.ran[5]);
    assert_int_equal(b.n_joined, 0);
}

/* ---- log ---- */

static void keep_line(void *user, ferry_level level, const char *line)
{
    (void)level;
    strcat(strcat(user, line), "\n");
}

static void test_log_as_one_after_the_other(void **state)
{
    ferry_ctx *ctx = *state;
    static char said[2][4096];

    for (int k = 0; k < 2; k++) {
        bench b = new_bench();
        b.talks = b.backwards = true;
        ctx->n_said = 0;
        ferry_ctx_set_log(ctx, keep_line, FERRY_DEBUG, said[k]);
        assert_ok(ctx, run(ctx, &b, k == 0 ? 1 : 4, NULL));
    }
    assert_string_equal(said[0], said[1]);
    assert_non_null(
        strstr(said[0], "job 0 begins\nthe data is odd\ncolumn 0 is empty\njob 1 b"));
    assert_null(strstr(strstr(said[0], "odd") + 1, "odd"));
}

/* ---- failure ---- */

static void test_lowest_failure_wins(void **state)
{
    ferry_ctx *ctx = *state;

    for (int at_once = 1; at_once <= 8; at_once *= 2) {
        bench b = new_bench();
        b.backwards = true; /* job 5 is done long after 6 */
        b.bad = 6;
        b.worse = 5;
        assert_fails(ctx, run(ctx, &b, at_once, NULL), FERRY_EDATA, "job 5 is bad");
        assert_int_equal(b.n_joined, 5);
        assert_false(b.ran[N - 1]);
    }
}

static ferry_status refuse_third(ferry_ctx *ctx, void *arg, int64_t i)
{
    (void)arg;
    return i == 3 ? ferry_i_fail(ctx, FERRY_ENUMERIC, "3 cannot be joined") : FERRY_OK;
}

static void test_join_fails(void **state)
{
    ferry_ctx *ctx = *state;

    for (int at_once = 1; at_once <= 4; at_once *= 2) {
        bench b = new_bench();
        const ferry_jobs jobs = {.n = N, .run = job, .join = refuse_third, .arg = &b};
        assert_ok(ctx, ferry_i_ctx_set_jobs(ctx, at_once));
        assert_fails(ctx, ferry_i_pool_run(ctx, &jobs, NULL), FERRY_ENUMERIC, "3 cannot");
    }
}

/* ---- progress, finish, cancel ---- */

typedef struct watcher {
    pthread_t caller;
    int calls, stop_at;
    int64_t last;
    ferry_answer answer;
    bool elsewhere, backwards;
} watcher;

static ferry_answer watch(void *user, const ferry_progress *p)
{
    watcher *w = user;

    w->elsewhere = w->elsewhere || !pthread_equal(w->caller, pthread_self());
    if (p->done == 0 && p->total == 0) { /* a job begins */
        w->backwards = w->backwards || p->step < 1 || p->step > N;
        w->calls++;
    }
    return w->stop_at > 0 && w->calls >= w->stop_at ? w->answer : FERRY_GO;
}

static void test_progress_on_the_callers_thread(void **state)
{
    ferry_ctx *ctx = *state;

    for (int at_once = 1; at_once <= 4; at_once *= 2) {
        bench b = new_bench();
        watcher w = {.caller = pthread_self()};
        b.asks = true;
        ctx->step = 0;
        ferry_ctx_set_progress(ctx, watch, &w);
        assert_ok(ctx, run(ctx, &b, at_once, NULL));
        assert_int_equal(w.calls, N); /* the first call of each gets through */
        assert_false(w.elsewhere || w.backwards);
        assert_int_equal(ctx->step, N);
    }
}

static void test_cancel_and_finish(void **state)
{
    ferry_ctx *ctx = *state;

    for (int at_once = 1; at_once <= 4; at_once *= 2) {
        bench b = new_bench(), c = new_bench();
        watcher w = {.caller = pthread_self(), .stop_at = 7, .answer = FERRY_CANCEL};
        bool finish = false;
        b.asks = c.asks = true;
        ctx->step = 0;
        ferry_ctx_set_progress(ctx, watch, &w);
        assert_fails(ctx, run(ctx, &b, at_once, &finish), FERRY_ECANCELLED, "cancelled");
        assert_false(finish);
        assert_true(b.n_joined <= 6);
        w = (watcher){.caller = pthread_self(), .stop_at = 7, .answer = FERRY_FINISH};
        ctx->step = 0;
        assert_ok(ctx, run(ctx, &c, at_once, &finish));
        assert_true(finish);
        assert_in_range(c.n_joined, 7, 7 + at_once - 1);
    }
}

/* ---- memory ---- */

static ferry_status run_serial(ferry_ctx *ctx, void *arg)
{
    bench b = new_bench();

    b.talks = true;
    return run(ctx, &b, *(int *)arg, NULL);
}

static void silent(void *user, ferry_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

/* Which job's allocation is the n-th depends on the threads, the outcome does not; a log line that
 * finds no memory is lost, and the job goes on, hence no log. */
static void test_failed_allocations(void **state)
{
    ferry_ctx *ctx = *state;

    for (int at_once = 1; at_once <= 4; at_once *= 2)
        each_allocation_fails(ctx, run_serial, &at_once);
    ferry_ctx_set_log(ctx, silent, FERRY_DEBUG, NULL);
    for (int64_t n = 1; n < 60; n++) {
        const int64_t before = live_blocks();
        fail_allocation(n);
        const ferry_status st = run_serial(ctx, &(int){3});
        fail_allocation(0);
        assert_true(st == FERRY_OK || st == FERRY_ENOMEM);
        assert_int_equal(live_blocks(), before);
    }
}

/* ---- nested ---- */

static ferry_status outer_job(ferry_ctx *ctx, void *arg, int64_t i)
{
    bench *b = arg;
    const ferry_jobs jobs = {.n = N, .run = job, .arg = &b[i]};

    return ferry_i_pool_run(ctx, &jobs, NULL);
}

static void test_nested_runs_inline(void **state)
{
    ferry_ctx *ctx = *state;
    static bench b[4], plain;

    plain = new_bench();
    assert_ok(ctx, run(ctx, &plain, 1, NULL));
    for (int i = 0; i < 4; i++)
        b[i] = new_bench();
    assert_ok(ctx, ferry_i_ctx_set_jobs(ctx, 4));
    assert_ok(ctx, ferry_i_pool_run(ctx, &(ferry_jobs){.n = 4, .run = outer_job, .arg = b},
                                    NULL));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(b[i].most, 1);
        assert_memory_equal(b[i].out, plain.out, sizeof plain.out);
    }
}

/* ---- the plan ---- */

static void plan(ferry_ctx *ctx, int threads, int asked, int64_t cells, int64_t bytes)
{
    ctx->threads = threads;
    ctx->jobs_asked = asked;
    ferry_i_pool_plan(ctx, cells, bytes);
}

static void test_plan(void **state)
{
    ferry_ctx *ctx = *state;
    const int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);

    plan(ctx, 16, 0, 100, 0); /* cells first, no more than there are cores */
    assert_int_equal(ctx->threads, 1);
    assert_int_equal(ctx->jobs, cores < 16 ? cores : 16);
    plan(ctx, 16, 4, 100, 0); /* what is asked for changes the jobs, never the threads */
    assert_int_equal(ctx->threads, 1);
    assert_int_equal(ctx->jobs, 4);
    plan(ctx, 16, 0, 2, 0); /* few cells: threads inside */
    assert_int_equal(ctx->threads, 8);
    plan(ctx, 8, 0, 0, 0);
    assert_int_equal(ctx->threads, 8);
    assert_int_equal(ctx->jobs, 1);
    const int64_t held = ferry_i_memory_held();
    assert_true(held > 0 && ferry_i_memory_limit(ctx) > held);
    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, held + ((int64_t)1 << 30)));
    plan(ctx, 8, 8, 100, (int64_t)1 << 29); /* two fit, less what is taken meanwhile */
    assert_in_range(ctx->jobs, 1, 2);
    assert_int_equal(ctx->threads, 8 / ctx->jobs);
    plan(ctx, 8, 0, 100, (int64_t)1 << 31); /* not even one: one it is */
    assert_int_equal(ctx->jobs, 1);
    assert_int_equal(ctx->threads, 8);
    assert_fails(ctx, ferry_i_ctx_set_jobs(ctx, -1), FERRY_EINVAL, "jobs = -1 is outside");
    assert_fails(ctx, ferry_i_ctx_set_memory(ctx, -1), FERRY_EINVAL, "memory = -1");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_any_order_same_slots),
        TEST(test_no_jobs_and_no_join),
        TEST(test_log_as_one_after_the_other),
        TEST(test_lowest_failure_wins),
        TEST(test_join_fails),
        TEST(test_progress_on_the_callers_thread),
        TEST(test_cancel_and_finish),
        TEST(test_failed_allocations),
        TEST(test_nested_runs_inline),
        TEST(test_plan),
    };

    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
