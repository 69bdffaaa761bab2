/* k-means and the quadratic program on the simplex. */
#include "in_scope.h"
#include "learn/kmeans.h"
#include "learn/simplex_qp.h"

/* Three clouds on a line, far apart. */
static matrix clouds(scope *s, int64_t each)
{
    const block x = block_new(s, HERE(3 * each), 3 * each, 2);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 0);
    fill_normal(s, &rng, x);
    for (int64_t i = 0; i < x.n; i++)
        ROW(x, i)[0] += 100.0 * (double)(i % 3);
    return matrix_of(s, x);
}

static double group_rows(scope *s, matrix x, kmeans_options o, ferry_rng *rng,
                         int32_t *group, const block *centres)
{
    return kmeans(s, x, &o, rng, group, centres);
}

IN_SCOPE(test_clouds)
{
    const matrix x = clouds(s, 40);
    const double *at = x.m->dense;
    const block centres = block_new(s, HERE(3), 3, 2);
    const kmeans_options how = {3, 5, 100, NULL};
    int32_t group[120], again[120];
    double total = 0;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 0);
    const double inertia = group_rows(s, x, how, &rng, group, &centres);
    for (int i = 3; i < 120; i++)
        assert_int_equal(group[i], group[i % 3]);
    assert_int_not_equal(group[0], group[1]);
    assert_int_not_equal(group[1], group[2]);
    for (int c = 0; c < 3; c++) { /* centres are the means of their groups */
        double mean = 0;
        for (int i = 0; i < 120; i++)
            if (group[i] == c) mean += at[2 * i] / 40;
        assert_close(ROW(centres, c)[0], mean, 1e-12);
    }
    for (int i = 0; i < 120; i++)
        for (int j = 0; j < 2; j++)
            total += pow(at[2 * i + j] - ROW(centres, group[i])[j], 2);
    assert_close(inertia, total, 1e-12);
    assert_ok(scope_ctx(s), ferry_i_ctx_set_threads(scope_ctx(s), 1));
    ferry_i_rng_seed(&rng, 1, 0);
    (void)group_rows(s, x, how, &rng, again, NULL);
    assert_memory_equal(group, again, sizeof group);
    ferry_i_rng_seed(&rng, 1, 0);
    const double as_csr = group_rows(s, to_sparse(s, x), how, &rng, again, &centres);
    assert_memory_equal(group, again, sizeof group);
    assert_close(as_csr, inertia, 1e-9 * inertia);
}

/* Fewer distinct points than groups: no group stays empty. */
IN_SCOPE(test_equal_points)
{
    double data[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 5};
    const matrix x = matrix_of(s, (block){HERE(6), 6, 2, data});
    int32_t group[6];
    int seen[4] = {0};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 0);
    assert_close(group_rows(s, x, (kmeans_options){4, 3, 10, NULL}, &rng, group, NULL), 0,
                 1e-15);
    for (int i = 0; i < 6; i++)
        assert_true(group[i] >= 0 && group[i] < 4);
    (void)group_rows(s, x, (kmeans_options){6, 1, 1, NULL}, &rng, group, NULL);
    const double inertia =
        group_rows(s, x, (kmeans_options){1, 1, 10, NULL}, &rng, group, NULL);
    for (int i = 0; i < 6; i++)
        seen[group[i]]++;
    assert_int_equal(seen[0], 6);
    assert_close(inertia, 2 * (5 * 4.0 / 9 + 100.0 / 9), 1e-12);
}

static void both_body(scope *s, void *arg)
{
    double data[6] = {1, 2, 3, 7, 8, 9}, kd[4] = {2, 0, 0, 1}, v[2] = {1, 1}, w[2];
    const small k = {2, 2, kd};
    int32_t group[6];
    ferry_rng rng;

    (void)arg;
    ferry_i_rng_seed(&rng, 1, 0);
    (void)group_rows(s, matrix_of(s, (block){HERE(6), 6, 1, data}),
                     (kmeans_options){2, 2, 10, NULL}, &rng, group, NULL);
    (void)simplex_qp(s, k, v, w);
    (void)simplex_active(s, k, v, w);
}

static ferry_status run_both(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, both_body, arg);
}

static void test_memory(void **state)
{
    each_allocation_fails(*state, run_both, NULL);
}

/* ---- the quadratic program ---- */

/* By hand: min 2 a^2 + b^2 - 2a - 2b on a + b = 1 is at a = 1/3. */
IN_SCOPE(test_qp_by_hand)
{
    double kd[4] = {2, 0, 0, 1}, v[2] = {1, 1}, w[2], f;
    const small k = {2, 2, kd};

    f = simplex_qp(s, k, v, w);
    assert_close(w[0], 1.0 / 3, 1e-14);
    assert_close(f, 2.0 / 9 + 4.0 / 9 - 2, 1e-14);
    v[0] = 4; /* now the corner */
    f = simplex_qp(s, k, v, w);
    assert_close(w[0], 1, 0);
    assert_close(w[1], 0, 0);
}

/* A singular and an indefinite matrix. */
IN_SCOPE(test_qp_degenerate)
{
    double ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, zero[9] = {0}, v[3] = {0.2, 0.5, 0.1};
    double saddle[4] = {0, 3, 3, 0}, none[2] = {0}, w[3], f;
    const small k1 = {3, 3, ones}, k0 = {3, 3, zero}, k2 = {2, 2, saddle};

    f = simplex_qp(s, k1, v, w); /* 1 - 2 max v */
    assert_close(f, 0, 1e-14);
    assert_close(w[1], 1, 1e-14);
    f = simplex_qp(s, k0, v, w);
    assert_close(f, -1, 1e-14);
    f = simplex_qp(s, k2, none, w); /* 6 a b: a corner */
    assert_close(f, 0, 1e-14);
}

/* Against a fine grid, and all twelve at once: nothing in the simplex is better. */
IN_SCOPE(test_qp_random)
{
    double a[144], kd[144], v[12], w[12], f, x[12];
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 0);
    for (int trial = 0; trial < 4; trial++) {
        const int p = trial < 3 ? 3 + trial : 12;
        const small k = {p, p, kd};
        for (int i = 0; i < p * p; i++)
            a[i] = ferry_i_rng_normal(&rng);
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++) {
                kd[i + j * p] = 0;
                for (int l = 0; l < p; l++)
                    kd[i + j * p] += a[l + i * p] * a[l + j * p];
            }
        for (int i = 0; i < p; i++)
            v[i] = ferry_i_rng_normal(&rng);
        f = simplex_qp(s, k, v, w);
        for (int point = 0; point < 2000; point++) {
            double sum = 0, g = 0;
            for (int i = 0; i < p; i++) {
                const double e = -log(1 - ferry_i_rng_real(&rng));
                x[i] = point % 2 ? e : w[i] + 0.02 * e; /* anywhere, or near w */
                sum += x[i];
            }
            for (int i = 0; i < p; i++)
                x[i] /= sum;
            for (int i = 0; i < p; i++) {
                g -= 2 * v[i] * x[i];
                for (int j = 0; j < p; j++)
                    g += x[i] * kd[i + j * p] * x[j];
            }
            assert_true(g >= f - 1e-12);
        }
    }
}

/* K = A A' with A p x rank, v, both random. */
static void random_qp(ferry_rng *rng, int p, int rank, double *kd, double *v)
{
    double *a = calloc((size_t)(p * rank), sizeof *a);

    for (int i = 0; i < p * rank; i++)
        a[i] = ferry_i_rng_normal(rng);
    for (int i = 0; i < p; i++) {
        v[i] = ferry_i_rng_normal(rng);
        for (int j = 0; j < p; j++) {
            kd[i + j * p] = 0;
            for (int l = 0; l < rank; l++)
                kd[i + j * p] += a[i * rank + l] * a[j * rank + l];
        }
    }
    free(a);
}

/* The active set finds what trying all supports finds, also where K is singular. */
IN_SCOPE(test_qp_active)
{
    double kd[144], v[12], w[12], x[12], f, g;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 6, 0);
    for (int trial = 0; trial < 45; trial++) {
        const int p = 1 + trial % 9, rank = 1 + trial % 5 * 3;
        const small k = {p, p, kd};
        random_qp(&rng, p, rank, kd, v);
        f = simplex_qp(s, k, v, w);
        g = simplex_active(s, k, v, x);
        assert_close(g, f, 1e-9);
        for (int i = 0; rank >= p && i < p; i++)
            assert_true(fabs(x[i] - w[i]) < 1e-6);
    }
}

/* Many weights: the conditions of a minimum, on the simplex. */
IN_SCOPE(test_qp_many)
{
    enum { P = 80 };
    double *kd = calloc(P * P, sizeof *kd), v[P], w[P], f;
    const small k = {P, P, kd};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 7, 0);
    for (int rank = 1; rank <= 100; rank += 33) {
        double sum = 0, least = INFINITY, mean = 0;
        random_qp(&rng, P, rank, kd, v);
        f = simplex_qp(s, k, v, w);
        for (int i = 0; i < P; i++) {
            double g = -v[i];
            assert_true(w[i] >= 0);
            sum += w[i];
            for (int j = 0; j < P; j++)
                g += kd[i + j * P] * w[j];
            least = fmin(least, g);
            mean += w[i] * g;
        }
        assert_close(sum, 1, 1e-12);
        assert_true(mean <= least + 1e-9 * (1 + fabs(least))); /* w only where g is least */
    }
    memset(kd, 0, P * P * sizeof *kd); /* nothing but v: the corner of the largest */
    v[17] = 10;
    f = simplex_qp(s, k, v, w);
    assert_close(w[17], 1, 1e-12);
    assert_close(f, -20, 1e-12);
    free(kd);
}

/* v or K with a number that is not finite. */
static void not_finite(scope *s, void *arg)
{
    enum { P = 20 };
    const int64_t p = *(int *)arg ? P : 2;
    const small k = small_new(s, p, p);
    double v[P] = {0}, w[P];

    *(p == P ? &k.at[5] : &v[0]) = NAN;
    (void)simplex_qp(s, k, v, w);
}

static void test_not_finite(void **state)
{
    for (int many = 0; many < 2; many++)
        assert_fails(*state, scope_run(*state, not_finite, &many), FERRY_ENUMERIC,
                     "finite");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_clouds, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_equal_points, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_qp_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_qp_degenerate, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_qp_random, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_qp_active, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_qp_many, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_not_finite, ctx_setup, ctx_teardown),
    };

    return cmocka_run_group_tests_name("kmeans", tests, NULL, NULL);
}
