/* M-MLTL's minimum by Newton's method, against balanced sweeps. */
#include <math.h>

#include "ferry_test.h"
#include "methods/mmltl/mmltl.h"
#include "oracle.h"

/* A problem with entries N(0, 1), column j of G times fall^j; delta partly along G. */
typedef struct problem {
    ferry_block *g, *delta, *u, *v;
    ferry_mmltl p;
} problem;

static problem make(ferry_ctx *ctx, int64_t d, int64_t m, double size, double fall,
                    double strength)
{
    problem z = {0};
    ferry_rng rng;
    double sigma = 0, delta2 = 0;

    ferry_i_rng_seed(&rng, 7, (uint64_t)(d * 1000 + m));
    assert_ok(ctx, ferry_i_block_new(ctx, d, m, &z.g));
    assert_ok(ctx, ferry_i_block_new(ctx, d, 1, &z.delta));
    assert_ok(ctx, ferry_i_block_new(ctx, d, m, &z.u));
    assert_ok(ctx, ferry_i_block_new(ctx, m, m, &z.v));
    ferry_i_fill_normal(z.g, &rng);
    ferry_i_fill_normal(z.delta, &rng);
    for (int64_t i = 0; i < d; i++) {
        z.delta->data[i] += FERRY_ROW(z.g, i)[0];
        delta2 += z.delta->data[i] * z.delta->data[i];
        for (int64_t j = 0; j < m; j++)
            FERRY_ROW(z.g, i)[j] *= size * pow(fall, (double)j);
    }
    assert_ok(ctx, ferry_i_mmltl_sigma(ctx, z.g, &sigma));
    z.p = (ferry_mmltl){z.g, z.delta, strength * sigma / delta2, 0.5, 2};
    return z;
}

static void clear(problem *z)
{
    FERRY_FREE(z->g, z->delta, z->u, z->v);
}

/* U V' of two solutions, and U U', which the latent features hang on. */
static void same(const problem *a, const problem *b, double tol)
{
    for (int64_t i = 0; i < a->u->rows; i++)
        for (int64_t j = 0; j < a->v->rows; j++) {
            double x = 0, y = 0, scale = 0;
            for (int64_t k = 0; k < a->u->k; k++) {
                x += FERRY_ROW(a->u, i)[k] * FERRY_ROW(a->v, j)[k];
                y += FERRY_ROW(b->u, i)[k] * FERRY_ROW(b->v, j)[k];
                scale += fabs(FERRY_ROW(b->u, i)[k] * FERRY_ROW(b->v, j)[k]);
            }
            assert_true(fabs(x - y) <= tol * (1 + scale));
        }
    for (int64_t i = 0; i < a->u->rows; i++)
        for (int64_t j = 0; j < a->u->rows; j++) {
            double x = 0, y = 0, scale = 0;
            for (int64_t k = 0; k < a->u->k; k++) {
                x += FERRY_ROW(a->u, i)[k] * FERRY_ROW(a->u, j)[k];
                y += FERRY_ROW(b->u, i)[k] * FERRY_ROW(b->u, j)[k];
                scale += fabs(FERRY_ROW(b->u, i)[k] * FERRY_ROW(b->u, j)[k]);
            }
            assert_true(fabs(x - y) <= tol * (1 + scale));
        }
}

/* More, as many and fewer features than labels; weak and strong terms; some directions
 * below the threshold, or all of them. */
static void test_against_sweeps(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t shapes[][2] = {{1, 1}, {2, 5}, {4, 4}, {5, 4}, {12, 6}, {3, 9}};
    const double sizes[] = {0.01, 1, 30}, strengths[] = {0.1, 3, 30};

    for (int64_t c = 0; c < FERRY_COUNT(shapes); c++)
        for (int64_t s = 0; s < FERRY_COUNT(sizes); s++)
            for (int64_t t = 0; t < FERRY_COUNT(strengths); t++) {
                problem a =
                    make(ctx, shapes[c][0], shapes[c][1], sizes[s], 0.7, strengths[t]);
                problem b =
                    make(ctx, shapes[c][0], shapes[c][1], sizes[s], 0.7, strengths[t]);
                ferry_mmltl_found fast, plain;
                double gap = 1;
                assert_ok(ctx, ferry_i_mmltl_solve(ctx, &a.p, 1e-12, 100, a.u, a.v, &fast));
                assert_ok(ctx, ferry_i_mmltl_solve_plain(ctx, &b.p, 1e-12, 20000, b.u, b.v,
                                                         &plain));
                assert_true(fast.converged);
                assert_close(fast.objective, plain.objective, 1e-9);
                assert_ok(ctx, oracle_mmltl_gap(ctx, &a.p, a.u, a.v, &gap));
                assert_true(gap < 1e-8);
                /* sweeps crawl where a direction is at the threshold: no gain, no limit */
                if (plain.converged) same(&a, &b, 1e-6);
                clear(&a);
                clear(&b);
            }
}

/* Singular values over four orders of magnitude: a handful of steps, where a thousand
 * sweeps are not enough. */
static void test_steps(void **state)
{
    ferry_ctx *ctx = *state;
    problem a = make(ctx, 61, 60, 3000, 0.85, 30), b = make(ctx, 61, 60, 3000, 0.85, 30);
    ferry_mmltl_found fast, plain;

    assert_ok(ctx, ferry_i_mmltl_solve(ctx, &a.p, 1e-10, 1000, a.u, a.v, &fast));
    assert_true(fast.converged);
    assert_true(fast.sweeps <= 15);
    assert_ok(ctx, ferry_i_mmltl_solve_plain(ctx, &b.p, 1e-10, 300, b.u, b.v, &plain));
    assert_false(plain.converged);
    assert_true(fast.objective <= plain.objective * (1 + 1e-12));
    clear(&a);
    clear(&b);
}

/* A tolerance that rounding does not allow: it stops, and says how near it came. */
static void test_out_of_reach(void **state)
{
    ferry_ctx *ctx = *state;
    problem a = make(ctx, 9, 8, 1e6, 0.2, 1e6);
    ferry_mmltl_found found;

    assert_ok(ctx, ferry_i_mmltl_solve(ctx, &a.p, 0, 60, a.u, a.v, &found));
    assert_false(found.converged);
    assert_true(found.sweeps < 60);
    assert_true(found.kkt < 1e-6);
    clear(&a);
}

static ferry_answer second(void *user, const ferry_progress *p)
{
    return p->done < 2 ? FERRY_GO : *(ferry_answer *)user;
}

static void test_finish_and_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    problem a = make(ctx, 21, 20, 100, 0.9, 30);
    ferry_answer answer = FERRY_FINISH;
    ferry_mmltl_found found;

    ferry_ctx_set_progress(ctx, second, &answer);
    assert_ok(ctx, ferry_i_mmltl_solve(ctx, &a.p, 1e-10, 1000, a.u, a.v, &found));
    assert_true(found.finish);
    assert_int_equal(found.sweeps, 2);
    answer = FERRY_CANCEL;
    assert_int_equal(ferry_i_mmltl_solve(ctx, &a.p, 1e-10, 1000, a.u, a.v, &found),
                     FERRY_ECANCELLED);
    ferry_ctx_set_progress(ctx, NULL, NULL);
    clear(&a);
}

static ferry_status solve_once(ferry_ctx *ctx, void *arg)
{
    problem *a = arg;
    ferry_mmltl_found found;

    return ferry_i_mmltl_solve(ctx, &a->p, 1e-10, 20, a->u, a->v, &found);
}

static void test_allocations_fail(void **state)
{
    problem a = make(*state, 6, 4, 10, 0.8, 30);

    each_allocation_fails(*state, solve_once, &a);
    clear(&a);
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
