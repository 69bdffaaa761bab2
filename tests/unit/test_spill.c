/* Large arrays in files: who goes there, and that nobody can tell. */
#include "ferry_test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "core/spill.h"

enum { MIB = 1 << 20 };

/* 8 MiB: four of them for arrays. Skips the test where there is no folder for files. */
static void limit(ferry_ctx *ctx)
{
    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, 8 * MIB));
    void *p = ferry_i_spill_new(MIB);
    if (!p) {
        (void)printf("skipped: %s\n", ferry_i_spill_why());
        (void)ferry_i_ctx_set_memory(ctx, 0);
        skip();
    }
    assert_true(ferry_i_spill_free(p));
}

static bool in_file(const void *p)
{
    return ferry_i_spill_size(p) > 0;
}

/* More than half of what is left goes to a file, the rest does not, and what is freed counts no more. */
static void test_which(void **state)
{
    ferry_ctx *ctx = *state;

    limit(ctx);
    char *large = ferry_i_calloc(3 * MIB, 1), *small = ferry_i_calloc(3, MIB / 4),
         *half = ferry_i_calloc(3 * MIB / 2, 1), *next = ferry_i_calloc(3 * MIB / 2, 1);
    assert_true(large && small && half && next);
    assert_true(in_file(large) && in_file(next));
    assert_false(in_file(small) || in_file(half));
    ferry_i_free(half);
    half = ferry_i_calloc(3 * MIB / 2, 1);
    assert_false(in_file(half));
    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, 0));
    char *free_again = ferry_i_calloc(3 * MIB, 1);
    assert_false(in_file(free_again));
    assert_true(in_file(large)); /* those that are there stay */
    ferry_i_free_all((void *[]){large, small, half, next, free_again}, 5);
    assert_false(in_file(large));
}

/* What was there before the limit counts as what came after it, and leaves no hole when it goes. */
static void test_before(void **state)
{
    ferry_ctx *ctx = *state;
    char *before = ferry_i_calloc(16 * MIB, 1);

    limit(ctx);
    char *one = ferry_i_calloc(MIB + 1, 1);
    assert_true(before && one && in_file(one));
    ferry_i_free_all((void *[]){before, one}, 2);
    char *large = ferry_i_calloc(3 * MIB, 1), *here = ferry_i_calloc_here(3 * MIB, 1);
    assert_true(large && here && in_file(large));
    assert_false(in_file(here)); /* for what others free */
    ferry_i_free(large);
    ferry_i_free(here);
    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, 0));
}

/* Zeroed at first; what was written stays, over every move between heap and file. */
static void test_grows(void **state)
{
    ferry_ctx *ctx = *state;
    static const int64_t steps[] = {1000, 600000, 1500000, 900000, 5000000, 9000000};
    int32_t *p = NULL;
    int64_t there = 0;

    limit(ctx);
    for (int64_t k = 0; k < FERRY_COUNT(steps); k++) {
        p = ferry_i_realloc(p, steps[k], sizeof *p);
        assert_non_null(p);
        for (int64_t i = 0; i < there && i < steps[k]; i++)
            if (p[i] != (int32_t)(i * 7)) fail_msg("step %d: number %d", (int)k, (int)i);
        for (int64_t i = 0; i < steps[k]; i++)
            p[i] = (int32_t)(i * 7);
        there = steps[k];
    }
    assert_true(in_file(p));
    ferry_i_free(p);
    double *zero = ferry_i_calloc(MIB, sizeof *zero);
    assert_true(in_file(zero));
    for (int64_t i = 0; i < MIB; i++)
        if (zero[i] != 0) fail_msg("number %d is not 0", (int)i);
    ferry_i_free(zero);
    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, 0));
}

/* Many at a time, freed in another order, from several threads. */
static void test_many(void **state)
{
    ferry_ctx *ctx = *state;
    int bad = 0;

    limit(ctx);
#pragma omp parallel for num_threads(4) reduction(+ : bad)
    for (int t = 0; t < 4; t++) {
        int64_t *p[12];
        for (int k = 0; k < 12; k++) {
            p[k] = ferry_i_spill_new(MIB + (size_t)k * 4096);
            if (p[k]) p[k][k] = 100 * t + k;
        }
        for (int k = 0; k < 12; k++) {
            int64_t *q = p[k * 5 % 12];
            bad += !q || q[k * 5 % 12] != 100 * t + k * 5 % 12;
            bad += ferry_i_spill_size(q) != MIB + (size_t)(k * 5 % 12) * 4096;
            ferry_i_free(q); /* its address may be another thread's at once */
        }
    }
    assert_int_equal(bad, 0);
    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, 0));
}

/* No room for the file: a sentence, and the array that was there is still there. */
static void test_no_room(void **state)
{
    ferry_ctx *ctx = *state;
    struct rlimit old;

    limit(ctx);
    char *p = ferry_i_calloc(MIB, 1);
    assert_non_null(p);
    p[5] = 'x';
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    const struct rlimit none = {MIB, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    char *q = ferry_i_realloc(p, 6 * MIB, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, was);
    assert_null(q);
    assert_int_equal(p[5], 'x');
    assert_fails(ctx, ferry_i_nomem(ctx), FERRY_ENOMEM, "beyond the limit that was set");
    ferry_i_free(p);
    p = ferry_i_calloc(6 * MIB, 1);
    assert_true(in_file(p));
    ferry_i_free(p);
    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, 0));
}

/* While all large arrays are wanted in files: those are, small ones are not; without room there the heap does. */
static void all_in_files(ferry_ctx *ctx, int64_t memory)
{
    struct rlimit old;

    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, memory));
    ferry_i_spill_all(true);
    char *large = ferry_i_calloc(MIB, 1), *small = ferry_i_calloc(MIB - 1, 1);
    assert_true(in_file(large));
    assert_false(in_file(small));
    large[5] = 'x';
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    const struct rlimit none = {MIB, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    large = ferry_i_realloc(large, 2 * MIB, 1);
    char *other = ferry_i_calloc(2 * MIB, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, was);
    assert_true(large && other);
    assert_false(in_file(large) || in_file(other));
    assert_int_equal(large[5], 'x');
    ferry_i_spill_all(false);
    char *after = ferry_i_calloc(2 * MIB, 1);
    assert_false(in_file(after));
    ferry_i_free_all((void *[]){large, small, other, after}, 4);
}

static void test_all(void **state)
{
    ferry_ctx *ctx = *state;

    limit(ctx); /* skips without a folder */
    all_in_files(ctx, 0);
    all_in_files(ctx, 1 << 30); /* a limit that asks for none of these files */
    assert_ok(ctx, ferry_i_ctx_set_memory(ctx, 0));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_which), T(test_before),  T(test_grows),
        T(test_many),  T(test_no_room), T(test_all),
    };
    return cmocka_run_group_tests_name("spill", tests, NULL, NULL);
}
