/* Nearest neighbours. The numbers marked scikit-learn come from its NearestNeighbors (brute
 * force) on x[i][j] = sin(1 + 3 i + 7 j), 20 x 3, queries cos(2 + 5 i + 3 j), 4 x 3. */
#include <float.h>

#include "golden.h"
#include "in_scope.h"
#include "learn/learn.h"
#include "learn/neighbours.h"

static ferry_matrix *waves(ferry_ctx *ctx, int64_t n, int64_t d)
{
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x->dense[i * d + j] = sin((double)(1 + 3 * i + 7 * j));
    return x;
}

static ferry_matrix *queries(ferry_ctx *ctx, int64_t n, int64_t d)
{
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x->dense[i * d + j] = cos((double)(2 + 5 * i + 3 * j));
    return x;
}

static ferry_matrix *as_csr(ferry_ctx *ctx, const ferry_matrix *x)
{
    ferry_matrix *s = NULL;
    int64_t nnz = 0;

    assert_ok(ctx, ferry_i_matrix_csr(ctx, x->rows, x->cols, x->rows * x->cols, &s));
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++) {
            if (x->dense[i * x->cols + j] == 0) continue;
            s->index[nnz] = (int32_t)j;
            s->value[nnz++] = x->dense[i * x->cols + j];
        }
        s->start[i + 1] = nnz;
    }
    s->nnz = nnz;
    return s;
}

static void test_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    /* scikit-learn */
    const int64_t near[2][12] = {{12, 14, 10, 10, 8, 12, 15, 13, 17, 11, 13, 9},
                                 {14, 16, 12, 4, 6, 2, 19, 17, 0, 9, 7, 11}};
    const double far[2][12] = {
        {0.887612418477, 0.899575973047, 0.996558144826, 1.62272800848, 1.64988078313,
         1.65625257173, 1.50674108816, 1.50868109594, 1.56274665913, 1.01162704004,
         1.05952026185, 1.06992853864},
        {0.592621669469, 0.610442917585, 0.640155519286, 0.791580498618, 0.792450855355,
         0.798832177209, 0.78184349327, 0.785244164828, 0.796696379086, 0.685278804459,
         0.699557071395, 0.710005980297}};
    ferry_matrix *x = waves(ctx, 20, 3), *q = queries(ctx, 4, 3);
    ferry_matrix *xs = as_csr(ctx, x), *qs = as_csr(ctx, q);
    int64_t index[12];
    double dist[12], first[12];

    for (int kind = 0; kind < 2; kind++)
        for (int r = 0; r < 8; r++) { /* engines x storage */
            assert_ok(ctx, ferry_i_ctx_set_engine(ctx, r & 4 ? "ref" : "host"));
            assert_ok(ctx, ferry_i_knn(ctx, r & 1 ? xs : x, r & 2 ? qs : q, 3,
                                       (ferry_distance)kind, index, dist));
            for (int64_t e = 0; e < 12; e++) {
                assert_int_equal(index[e], near[kind][e]);
                assert_close(dist[e], far[kind][e], 1e-10);
            }
            if (r == 0) memcpy(first, dist, sizeof dist);
            assert_memory_equal(dist, first, sizeof dist); /* to the bit */
        }
    ferry_i_matrix_free(qs);
    ferry_i_matrix_free(xs);
    ferry_i_matrix_free(q);
    ferry_i_matrix_free(x);
}

/* The slow way: all distances, k times the least. */
static void slow(const ferry_matrix *x, const ferry_matrix *q, int64_t j, int64_t k,
                 int64_t *index)
{
    double last = -1;
    int64_t at = -1;

    for (int64_t r = 0; r < k; r++) {
        double best = INFINITY;
        int64_t b = -1;
        for (int64_t i = 0; i < x->rows; i++) {
            double s = 0;
            for (int64_t f = 0; f < x->cols; f++) {
                const double c = x->dense[i * x->cols + f] - q->dense[j * x->cols + f];
                s += c * c;
            }
            s = sqrt(s);
            if ((s > last || (s == last && i > at)) && s < best) {
                best = s;
                b = i;
            }
        }
        index[r] = at = b;
        last = best;
    }
}

/* Many queries (several blocks and strips), small whole numbers so that ties are many, far
 * from zero so that products lose all their digits. */
static void test_against_the_slow_way(void **state)
{
    ferry_ctx *ctx = *state;
    const double shift[] = {0, 1e9};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 0);
    for (int64_t r = 0; r < 2; r++) {
        ferry_matrix *x = waves(ctx, 57, 3), *q = waves(ctx, 150, 3);
        int64_t *index = ferry_i_calloc(150 * 4, sizeof *index);
        double *dist = ferry_i_calloc(150 * 4, sizeof *dist);
        for (int64_t e = 0; e < x->nnz; e++)
            x->dense[e] = shift[r] + (double)ferry_i_rng_below(&rng, 4);
        for (int64_t e = 0; e < q->nnz; e++)
            q->dense[e] = shift[r] + (double)ferry_i_rng_below(&rng, 4);
        assert_ok(ctx, ferry_i_knn(ctx, x, q, 4, FERRY_EUCLIDEAN, index, dist));
        for (int64_t j = 0; j < 150; j++) {
            int64_t want[4];
            slow(x, q, j, 4, want);
            for (int64_t e = 0; e < 4; e++)
                assert_int_equal(index[j * 4 + e], want[e]);
        }
        ferry_i_free(dist);
        ferry_i_free(index);
        ferry_i_matrix_free(q);
        ferry_i_matrix_free(x);
    }
}

/* Large enough for several threads; the bits do not depend on how many. */
static void test_threads(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = waves(ctx, 3000, 4), *q = queries(ctx, 70, 4);
    int64_t one[140], two[140];
    double one_dist[140], two_dist[140];

    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    assert_ok(ctx, ferry_i_knn(ctx, x, q, 2, FERRY_EUCLIDEAN, one, one_dist));
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 2));
    assert_ok(ctx, ferry_i_knn(ctx, x, q, 2, FERRY_EUCLIDEAN, two, two_dist));
    assert_memory_equal(one, two, sizeof one);
    assert_memory_equal(one_dist, two_dist, sizeof one_dist);
    for (int64_t j = 0; j < 70; j++) {
        int64_t want[2];
        slow(x, q, j, 2, want);
        assert_int_equal(one[2 * j], want[0]);
        assert_int_equal(one[2 * j + 1], want[1]);
    }
    ferry_i_matrix_free(q);
    ferry_i_matrix_free(x);
}

/* Every row is its own nearest; of equal rows the first. */
static void test_self_and_ties(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = waves(ctx, 40, 5);
    int64_t index[40];
    double dist[40];

    memcpy(x->dense + 39 * 5, x->dense + 7 * 5, 5 * sizeof(double));
    assert_ok(ctx, ferry_i_knn(ctx, x, x, 1, FERRY_EUCLIDEAN, index, dist));
    for (int64_t i = 0; i < 40; i++) {
        assert_int_equal(index[i], i == 39 ? 7 : i);
        assert_close(dist[i], 0, 0);
    }
    ferry_i_matrix_free(x);
}

static void test_zero_rows(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL, *q = NULL;
    int64_t index[6];
    double dist[6];

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 3, 2, &x)); /* 0 0, 1 0, -1 0 */
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 2, &q)); /* 0 0, 2 0 */
    x->dense[2] = 1;
    x->dense[4] = -1;
    q->dense[2] = 2;
    assert_ok(ctx, ferry_i_knn(ctx, x, q, 3, FERRY_COSINE, index, dist));
    for (int64_t r = 0; r < 3; r++) { /* the zero query is at 1 from all */
        assert_int_equal(index[r], r);
        assert_close(dist[r], 1, 0);
    }
    assert_int_equal(index[3], 1);
    assert_close(dist[3], 0, 0);
    assert_int_equal(index[4], 0);
    assert_close(dist[4], 1, 0);
    assert_int_equal(index[5], 2);
    assert_close(dist[5], 2, 0);
    ferry_i_matrix_free(q);
    ferry_i_matrix_free(x);
}

/* Fewer rows than k, no rows, no queries, no features. */
static void test_tiny_shapes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = waves(ctx, 2, 1), *none = waves(ctx, 0, 1), *bare = waves(ctx, 2, 0);
    int64_t index[6];
    double dist[6];

    assert_ok(ctx, ferry_i_knn(ctx, x, x, 3, FERRY_EUCLIDEAN, index, dist));
    assert_int_equal(index[0], 0);
    assert_int_equal(index[1], 1);
    assert_int_equal(index[2], -1);
    assert_true(isinf(dist[2]));
    assert_ok(ctx, ferry_i_knn(ctx, none, x, 1, FERRY_COSINE, index, dist));
    assert_int_equal(index[0], -1);
    assert_ok(ctx, ferry_i_knn(ctx, x, none, 1, FERRY_COSINE, index, dist));
    assert_ok(ctx, ferry_i_knn(ctx, bare, bare, 2, FERRY_EUCLIDEAN, index, dist));
    assert_int_equal(index[3], 1);
    assert_close(dist[3], 0, 0);
    ferry_i_matrix_free(bare);
    ferry_i_matrix_free(none);
    ferry_i_matrix_free(x);
}

/* Squares that overflow are looked at one by one; distances are then inf, in row order. */
static void test_huge_values(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;
    int64_t index[6];
    double dist[6];

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 3, 1, &x));
    x->dense[0] = 1e200;
    x->dense[1] = -1e200;
    x->dense[2] = 1;
    for (int kind = 0; kind < 2; kind++) {
        assert_ok(ctx, ferry_i_knn(ctx, x, x, 2, (ferry_distance)kind, index, dist));
        for (int64_t e = 0; e < 6; e++)
            assert_true(index[e] >= 0 && !isnan(dist[e]));
    }
    assert_ok(ctx, ferry_i_knn(ctx, x, x, 2, FERRY_EUCLIDEAN, index, dist));
    assert_int_equal(index[2], 1);
    assert_int_equal(index[3], 0);
    assert_true(isinf(dist[3]));
    ferry_i_matrix_free(x);
}

static ferry_answer cancel(void *user, const ferry_progress *p)
{
    int64_t *done = user;

    *done = p->done;
    return p->done < p->total ? FERRY_CANCEL : FERRY_GO;
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = waves(ctx, 3, 1), *q = waves(ctx, 65, 1);
    int64_t index[65], done = 0;
    double dist[65];

    ferry_ctx_set_progress(ctx, cancel, &done);
    assert_int_equal(ferry_i_knn(ctx, x, q, 1, FERRY_EUCLIDEAN, index, dist),
                     FERRY_ECANCELLED);
    assert_int_equal(done, 64);
    assert_ok(ctx, ferry_i_knn(ctx, x, x, 1, FERRY_EUCLIDEAN, index, dist));
    assert_int_equal(done, 3);
    ferry_i_matrix_free(q);
    ferry_i_matrix_free(x);
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    int64_t index[6];
    double dist[6];

    return ferry_i_knn(ctx, arg, arg, 2, FERRY_EUCLIDEAN, index, dist);
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = waves(ctx, 3, 2);

    each_allocation_fails(ctx, body, x);
    ferry_i_matrix_free(x);
}

/* Weights worked out elsewhere; each pair once, whichever side lists the other. */
IN_SCOPE(test_golden_edges)
{
    json_t *file = own_golden("features.json");

    const json_t *one = json_array_get(golden_at(file, "graph"), 0);
    const json_t *edges = golden_at(one, "edges");
    const int64_t k = (int64_t)golden_real(one, "k");
    int64_t n, d;
    double *data = golden_array(one, "x", &n, &d), *dist = NEW(s, double, n *k);
    int64_t *index = NEW(s, int64_t, n * k);

    find_near(s, matrix_of(s, (block){HERE(n), n, d, data}), k, index, dist);
    const near_edges got = join_near(s, n, k, k, index, dist);
    assert_int_equal(got.n, (int64_t)json_array_size(edges));
    for (size_t e = 0; e < json_array_size(edges); e++) {
        const json_t *want = json_array_get(edges, e);
        const int64_t i = json_integer_value(json_array_get(want, 0)),
                      j = json_integer_value(json_array_get(want, 1));
        int found = 0;
        for (int64_t g = 0; g < got.n; g++) {
            if (!((got.from[g] == i && got.to[g] == j) ||
                  (got.from[g] == j && got.to[g] == i)))
                continue;
            assert_close(got.weight[g], json_number_value(json_array_get(want, 2)), 1e-10);
            found++;
        }
        assert_int_equal(found, 1);
    }
    free(data);
    json_decref(file);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_numbers),       TEST(test_against_the_slow_way),
        TEST(test_self_and_ties), TEST(test_zero_rows),
        TEST(test_tiny_shapes),   TEST(test_huge_values),
        TEST(test_threads),       TEST(test_cancel),
        TEST(test_no_memory),     TEST(test_golden_edges),
    };
    return cmocka_run_group_tests_name("knn", tests, NULL, NULL);
}
