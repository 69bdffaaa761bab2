/* Two contexts in two threads, all methods: nothing is shared that is not locked. Each method's model has the
 * same bytes as one that was fitted alone. scripts/tsan runs this under ThreadSanitizer. */
#include <pthread.h>
#include <stdio.h>

#include "lives.h"
#include "methods/method.h"

typedef struct job {
    int64_t
        turn; /* which half begins: the two threads go over the methods in opposite order */
    char tag[8];
    int64_t done, wrong;
} job;

/* The method's file from its life alone, and now: equal. */
static bool same(const char *a, const char *b)
{
    char *p = slurp(a), *q = slurp(b);
    const bool equal = p && q && strcmp(p, q) == 0;

    free(p);
    free(q);
    return equal;
}

static int64_t task_of[256]; /* of each method, -1: none */

static void *live(void *arg)
{
    job *j = arg;
    ferry_ctx *ctx = NULL;
    const int64_t n = ferry_i_method_count();

    if (ferry_ctx_new(&ctx) != FERRY_OK || ferry_i_ctx_set_threads(ctx, 1) != FERRY_OK)
        return NULL;
    for (int64_t k = 0; k < n; k++) {
        const int64_t m = j->turn ? n - 1 - k : k;
        char mine[64], alone[64];
        if (task_of[m] < 0) continue;
        const char *method = ferry_method_at(m)->name;
        if (method_life(ctx, lives_tasks[task_of[m]], method, j->tag) != FERRY_OK) {
            print_error("%s: %s\n", method, ferry_message(ctx));
            j->wrong++;
            continue;
        }
        (void)snprintf(mine, sizeof mine, "life-%s.csv", j->tag);
        (void)snprintf(alone, sizeof alone, "life-alone-%s.csv", method);
        if (!same(lives_path(mine), lives_path(alone))) {
            print_error("%s: other predictions beside another thread\n", method);
            j->wrong++;
        }
        j->done++;
    }
    ferry_ctx_free(ctx);
    return NULL;
}

static void test_two_threads(void **state)
{
    ferry_ctx *ctx = *state;
    job jobs[2] = {{.turn = 0, .tag = "one"}, {.turn = 1, .tag = "two"}};
    pthread_t thread[2];
    const char *only = getenv("FERRY_SWEEP_METHOD");

    lives_make();
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    assert_true(ferry_i_method_count() <= FERRY_COUNT(task_of));
    for (int64_t m = 0; ferry_method_at(m); m++) {
        const char *method = ferry_method_at(m)->name;
        char tag[64];
        task_of[m] = -1;
        if (only && strcmp(only, method) != 0) continue;
        (void)snprintf(tag, sizeof tag, "alone-%s", method);
        for (int64_t i = 0; i < lives_n && task_of[m] < 0; i++)
            if (method_life(ctx, lives_tasks[i], method, tag) == FERRY_OK) task_of[m] = i;
    }
    for (int t = 0; t < 2; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, live, &jobs[t]), 0);
    for (int t = 0; t < 2; t++)
        assert_int_equal(pthread_join(thread[t], NULL), 0);
    print_message("%lld and %lld methods\n", (long long)jobs[0].done,
                  (long long)jobs[1].done);
    assert_int_equal(jobs[0].wrong + jobs[1].wrong, 0);
    if (!only) assert_int_equal(jobs[0].done, ferry_i_method_count());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_threads, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
