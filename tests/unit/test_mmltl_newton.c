/* M-MLTL's minimum by Newton's method, against balanced sweeps. */
#include <math.h>

#include "in_scope.h"
#include "oracle.h"

/* A problem with entries N(0, 1), column j of G times fall^j; delta partly along G. */
typedef struct problem {
    block u, v;
    mmd_problem p;
} problem;

static problem make(scope *s, int64_t d, int64_t m, double size, double fall,
                    double strength)
{
    problem z = {.u = block_new(s, HERE(d), d, m), .v = block_new(s, HERE(m), m, m)};
    const block g = block_new(s, HERE(d), d, m), delta = block_new(s, HERE(d), d, 1);
    ferry_rng rng;
    double delta2 = 0;

    ferry_i_rng_seed(&rng, 7, (uint64_t)(d * 1000 + m));
    fill_normal(s, &rng, g);
    fill_normal(s, &rng, delta);
    for (int64_t i = 0; i < d; i++) {
        delta.at[i] += ROW(g, i)[0];
        delta2 += delta.at[i] * delta.at[i];
        for (int64_t j = 0; j < m; j++)
            ROW(g, i)[j] *= size * pow(fall, (double)j);
    }
    z.p = (mmd_problem){g, delta, strength * mmd_sigma(s, g) / delta2, 0.5, 2};
    return z;
}

static mmd_found solve(scope *s, const problem *z, double tol, int64_t max_iter, bool plain)
{
    return mmd_solve(s, &z->p, &(mmd_solver){tol, max_iter, plain, "test"}, z->u, z->v);
}

/* U V' of two solutions, and U U', which the latent features hang on. */
static void same(const problem *a, const problem *b, double tol)
{
    for (int64_t i = 0; i < a->u.n; i++)
        for (int64_t j = 0; j < a->v.n; j++) {
            double x = 0, y = 0, scale = 0;
            for (int64_t k = 0; k < a->u.k; k++) {
                x += ROW(a->u, i)[k] * ROW(a->v, j)[k];
                y += ROW(b->u, i)[k] * ROW(b->v, j)[k];
                scale += fabs(ROW(b->u, i)[k] * ROW(b->v, j)[k]);
            }
            assert_true(fabs(x - y) <= tol * (1 + scale));
        }
    for (int64_t i = 0; i < a->u.n; i++)
        for (int64_t j = 0; j < a->u.n; j++) {
            double x = 0, y = 0, scale = 0;
            for (int64_t k = 0; k < a->u.k; k++) {
                x += ROW(a->u, i)[k] * ROW(a->u, j)[k];
                y += ROW(b->u, i)[k] * ROW(b->u, j)[k];
                scale += fabs(ROW(b->u, i)[k] * ROW(b->u, j)[k]);
            }
            assert_true(fabs(x - y) <= tol * (1 + scale));
        }
}

/* More, as many and fewer features than labels; weak and strong terms; some directions
 * below the threshold, or all of them. */
IN_SCOPE(test_against_sweeps)
{
    const int64_t shapes[][2] = {{1, 1}, {2, 5}, {4, 4}, {5, 4}, {12, 6}, {3, 9}};
    const double sizes[] = {0.01, 1, 30}, strengths[] = {0.1, 3, 30};

    for (int64_t c = 0; c < FERRY_COUNT(shapes); c++)
        for (int64_t k = 0; k < FERRY_COUNT(sizes); k++)
            for (int64_t t = 0; t < FERRY_COUNT(strengths); t++) {
                const problem a =
                    make(s, shapes[c][0], shapes[c][1], sizes[k], 0.7, strengths[t]);
                const problem b =
                    make(s, shapes[c][0], shapes[c][1], sizes[k], 0.7, strengths[t]);
                const mmd_found fast = solve(s, &a, 1e-12, 100, false),
                                plain = solve(s, &b, 1e-12, 20000, true);
                assert_true(fast.converged);
                assert_close(fast.objective, plain.objective, 1e-9);
                assert_true(oracle_mmltl_gap(s, &a.p, a.u, a.v) < 1e-8);
                /* sweeps crawl where a direction is at the threshold: no gain, no limit */
                if (plain.converged) same(&a, &b, 1e-6);
            }
}

/* Singular values over four orders of magnitude: a handful of steps, where a thousand
 * sweeps are not enough. */
IN_SCOPE(test_steps)
{
    const problem a = make(s, 61, 60, 3000, 0.85, 30), b = make(s, 61, 60, 3000, 0.85, 30);
    const mmd_found fast = solve(s, &a, 1e-10, 1000, false),
                    plain = solve(s, &b, 1e-10, 300, true);

    assert_true(fast.converged);
    assert_true(fast.sweeps <= 15);
    assert_false(plain.converged);
    assert_true(fast.objective <= plain.objective * (1 + 1e-12));
}

/* A tolerance that rounding does not allow: it stops, and says how near it came. */
IN_SCOPE(test_out_of_reach)
{
    const problem a = make(s, 9, 8, 1e6, 0.2, 1e6);
    const mmd_found found = solve(s, &a, 0, 60, false);

    assert_false(found.converged);
    assert_true(found.sweeps < 60);
    assert_true(found.kkt < 1e-6);
}

static ferry_answer second(void *user, const ferry_progress *p)
{
    return p->done < 2 ? FERRY_GO : *(ferry_answer *)user;
}

static void two_steps(scope *s, void *arg)
{
    const problem a = make(s, 21, 20, 100, 0.9, 30);

    ferry_ctx_set_progress(scope_ctx(s), second, arg);
    const mmd_found found = solve(s, &a, 1e-10, 1000, false);
    assert_true(found.finish);
    assert_int_equal(found.sweeps, 2);
}

static void test_finish_and_cancel(void **state)
{
    ferry_answer answer = FERRY_FINISH;

    assert_ok(*state, scope_run(*state, two_steps, &answer));
    answer = FERRY_CANCEL;
    assert_int_equal(scope_run(*state, two_steps, &answer), FERRY_ECANCELLED);
    ferry_ctx_set_progress(*state, NULL, NULL);
}

static void solve_once(scope *s, void *arg)
{
    const problem a = make(s, 6, 4, 10, 0.8, 30);

    (void)arg;
    (void)solve(s, &a, 1e-10, 20, false);
}

static ferry_status run_once(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, solve_once, arg);
}

static void test_allocations_fail(void **state)
{
    each_allocation_fails(*state, run_once, NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_against_sweeps),   T(test_steps),
        T(test_out_of_reach),     T(test_finish_and_cancel),
        T(test_allocations_fail),
    };
    return cmocka_run_group_tests_name("mmltl newton", tests, NULL, NULL);
}
