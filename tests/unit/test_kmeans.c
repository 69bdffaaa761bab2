/* k-means and the quadratic program on the simplex. */
#include "ferry_test.h"

#include "learn/learn.h"

/* Three clouds on a line, far apart. */
static ferry_block *clouds(ferry_ctx *ctx, int64_t each)
{
    ferry_block *x = NULL;
    ferry_rng rng;

    assert_ok(ctx, ferry_i_block_new(ctx, 3 * each, 2, &x));
    ferry_i_rng_seed(&rng, 3, 0);
    ferry_i_fill_normal(x, &rng);
    for (int64_t i = 0; i < x->rows; i++)
        FERRY_ROW(x, i)[0] += 100.0 * (double)(i % 3);
    return x;
}

/* k groups of the rows of a block, dense or as CSR. */
static ferry_status group_rows(ferry_ctx *ctx, const ferry_block *x, bool sparse, int64_t k,
                               int64_t restarts, int64_t rounds, ferry_rng *rng,
                               int32_t *group, ferry_block *centres, double *inertia)
{
    ferry_status st = FERRY_OK;
    const ferry_kmeans_options o = {k, restarts, rounds, NULL};
    ferry_matrix dense = ferry_i_block_matrix(x), *csr = NULL;

    if (sparse) {
        FERRY_TRY(ferry_i_matrix_csr(ctx, x->rows, x->k, x->rows * x->k, &csr));
        for (int64_t e = 0; e < csr->nnz; e++) {
            csr->index[e] = (int32_t)(e % x->k);
            csr->value[e] = x->data[e];
            csr->start[e / x->k + 1] = e + 1;
        }
    }
    FERRY_TRY(ferry_i_kmeans(ctx, sparse ? csr : &dense, &o, rng, group, centres, inertia));
done:
    ferry_i_matrix_free(csr);
    return st;
}

static void test_clouds(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_block *x = clouds(ctx, 40), *centres = NULL;
    int32_t group[120], again[120];
    double inertia = 0, sum = 0;
    ferry_rng rng;

    assert_ok(ctx, ferry_i_block_new(ctx, 3, 2, &centres));
    ferry_i_rng_seed(&rng, 1, 0);
    assert_ok(ctx, group_rows(ctx, x, false, 3, 5, 100, &rng, group, centres, &inertia));
    for (int i = 3; i < 120; i++)
        assert_int_equal(group[i], group[i % 3]);
    assert_int_not_equal(group[0], group[1]);
    assert_int_not_equal(group[1], group[2]);
    for (int c = 0; c < 3; c++) { /* centres are the means of their groups */
        double mean = 0;
        for (int i = 0; i < 120; i++)
            if (group[i] == c) mean += FERRY_ROW(x, i)[0] / 40;
        assert_close(FERRY_ROW(centres, c)[0], mean, 1e-12);
    }
    for (int i = 0; i < 120; i++)
        for (int j = 0; j < 2; j++)
            sum += pow(FERRY_ROW(x, i)[j] - FERRY_ROW(centres, group[i])[j], 2);
    assert_close(inertia, sum, 1e-12);
    assert_ok(ctx, ferry_ctx_set_threads(ctx, 1));
    ferry_i_rng_seed(&rng, 1, 0);
    assert_ok(ctx, group_rows(ctx, x, false, 3, 5, 100, &rng, again, NULL, NULL));
    assert_memory_equal(group, again, sizeof group);
    double as_csr = 0;
    ferry_i_rng_seed(&rng, 1, 0);
    assert_ok(ctx, group_rows(ctx, x, true, 3, 5, 100, &rng, again, centres, &as_csr));
    assert_memory_equal(group, again, sizeof group);
    assert_close(as_csr, inertia, 1e-9 * inertia);
    FERRY_FREE(x, centres);
}

/* Fewer distinct points than groups: no group stays empty. */
static void test_equal_points(void **state)
{
    ferry_ctx *ctx = *state;
    double data[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 5};
    const ferry_block x = {6, 2, data};
    int32_t group[6];
    int seen[4] = {0};
    double inertia = -1;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 0);
    assert_ok(ctx, group_rows(ctx, &x, false, 4, 3, 10, &rng, group, NULL, &inertia));
    assert_close(inertia, 0, 1e-15);
    for (int i = 0; i < 6; i++)
        assert_true(group[i] >= 0 && group[i] < 4);
    assert_ok(ctx, group_rows(ctx, &x, false, 6, 1, 1, &rng, group, NULL, &inertia));
    assert_ok(ctx, group_rows(ctx, &x, false, 1, 1, 10, &rng, group, NULL, &inertia));
    for (int i = 0; i < 6; i++)
        seen[group[i]]++;
    assert_int_equal(seen[0], 6);
    assert_close(inertia, 2 * (5 * 4.0 / 9 + 100.0 / 9), 1e-12);
}

static ferry_status run_both(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    double kd[4] = {2, 0, 0, 1}, v[2] = {1, 1}, w[2];
    const ferry_small k = {2, 2, kd};
    int32_t group[6];
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 0);
    FERRY_TRY(group_rows(ctx, arg, false, 2, 2, 10, &rng, group, NULL, NULL));
    FERRY_TRY(ferry_i_simplex_qp(ctx, &k, v, w, NULL));
    FERRY_TRY(ferry_i_simplex_active(ctx, &k, v, w, NULL));
done:
    return st;
}

static void test_memory(void **state)
{
    double data[6] = {1, 2, 3, 7, 8, 9};
    ferry_block x = {6, 1, data};

    each_allocation_fails(*state, run_both, &x);
}

/* ---- the quadratic program ---- */

/* By hand: min 2 a^2 + b^2 - 2a - 2b on a + b = 1 is at a = 1/3. */
static void test_qp_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    double kd[4] = {2, 0, 0, 1}, v[2] = {1, 1}, w[2], f;
    const ferry_small k = {2, 2, kd};

    assert_ok(ctx, ferry_i_simplex_qp(ctx, &k, v, w, &f));
    assert_close(w[0], 1.0 / 3, 1e-14);
    assert_close(f, 2.0 / 9 + 4.0 / 9 - 2, 1e-14);
    v[0] = 4; /* now the corner */
    assert_ok(ctx, ferry_i_simplex_qp(ctx, &k, v, w, &f));
    assert_close(w[0], 1, 0);
    assert_close(w[1], 0, 0);
    v[0] = NAN;
    assert_fails(ctx, ferry_i_simplex_qp(ctx, &k, v, w, &f), FERRY_ENUMERIC, "finite");
}

/* A singular and an indefinite matrix. */
static void test_qp_degenerate(void **state)
{
    ferry_ctx *ctx = *state;
    double ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, zero[9] = {0}, v[3] = {0.2, 0.5, 0.1};
    double saddle[4] = {0, 3, 3, 0}, none[2] = {0}, w[3], f;
    const ferry_small k1 = {3, 3, ones}, k0 = {3, 3, zero}, k2 = {2, 2, saddle};

    assert_ok(ctx, ferry_i_simplex_qp(ctx, &k1, v, w, &f)); /* 1 - 2 max v */
    assert_close(f, 0, 1e-14);
    assert_close(w[1], 1, 1e-14);
    assert_ok(ctx, ferry_i_simplex_qp(ctx, &k0, v, w, &f));
    assert_close(f, -1, 1e-14);
    assert_ok(ctx, ferry_i_simplex_qp(ctx, &k2, none, w, &f)); /* 6 a b: a corner */
    assert_close(f, 0, 1e-14);
}

/* Against a fine grid, and all twelve at once: nothing in the simplex is better. */
static void test_qp_random(void **state)
{
    ferry_ctx *ctx = *state;
    double a[144], kd[144], v[12], w[12], f, x[12];
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 0);
    for (int trial = 0; trial < 4; trial++) {
        const int p = trial < 3 ? 3 + trial : 12;
        const ferry_small k = {p, p, kd};
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
        assert_ok(ctx, ferry_i_simplex_qp(ctx, &k, v, w, &f));
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
static void test_qp_active(void **state)
{
    ferry_ctx *ctx = *state;
    double kd[144], v[12], w[12], x[12], f, g;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 6, 0);
    for (int trial = 0; trial < 45; trial++) {
        const int p = 1 + trial % 9, rank = 1 + trial % 5 * 3;
        const ferry_small k = {p, p, kd};
        random_qp(&rng, p, rank, kd, v);
        assert_ok(ctx, ferry_i_simplex_qp(ctx, &k, v, w, &f));
        assert_ok(ctx, ferry_i_simplex_active(ctx, &k, v, x, &g));
        assert_close(g, f, 1e-9);
        for (int i = 0; rank >= p && i < p; i++)
            assert_true(fabs(x[i] - w[i]) < 1e-6);
    }
}

/* Many weights: the conditions of a minimum, on the simplex. */
static void test_qp_many(void **state)
{
    enum { P = 80 };
    ferry_ctx *ctx = *state;
    double *kd = calloc(P * P, sizeof *kd), v[P], w[P], f;
    const ferry_small k = {P, P, kd};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 7, 0);
    for (int rank = 1; rank <= 100; rank += 33) {
        double sum = 0, least = INFINITY, mean = 0;
        random_qp(&rng, P, rank, kd, v);
        assert_ok(ctx, ferry_i_simplex_qp(ctx, &k, v, w, &f));
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
    assert_ok(ctx, ferry_i_simplex_qp(ctx, &k, v, w, &f));
    assert_close(w[17], 1, 1e-12);
    assert_close(f, -20, 1e-12);
    kd[5] = NAN;
    assert_fails(ctx, ferry_i_simplex_qp(ctx, &k, v, w, &f), FERRY_ENUMERIC, "finite");
    free(kd);
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
    };

    return cmocka_run_group_tests_name("kmeans", tests, NULL, NULL);
}
