/* Ridge regression. The numbers marked scikit-learn come from its Ridge with alpha = 0.5 on
 * x[i][j] = sin(1 + 3 i + 7 j), targets 3 cos(2 i) + i / 10 and [7 i mod 5 < 2]. */
#include "ferry_test.h"
#include "learn/learner.h"

/* ---- the learner on a plain matrix and several targets ---- */

typedef struct fitting {
    ferry_matrix *x;
    const ferry_block *y;
    const double *weight;
    double lambda, *w;
} fitting;

/* Targets as soft labels; w: k x (d + 1), last the constant, which is what a row of zeros gets. */
static void fit_body(scope *s, void *arg)
{
    const fitting *f = arg;
    const learner *by = learner_find("ridge");
    void *with = learner_defaults(s, by);
    const int64_t n = f->x->rows, d = f->x->cols, k = f->y->k;
    const examples e = {.x = matrix_borrow(s, f->x),
                        .y = {.goal = FERRY_CLASSIFY,
                              .k = k,
                              .soft = {HERE(n), n, k, (double *)f->y->data}},
                        .weight = f->weight};

    learner_set(by, with, "lambda", f->lambda);
    const learned m = learn(s, s, by, with, &e);
    const block *w = by->linear(m.state), b = answer(s, &m, matrix_dense(s, HERE(1), 1, d));
    for (int64_t c = 0; c < k; c++) {
        for (int64_t j = 0; j < d; j++)
            f->w[c * (d + 1) + j] = ROW(*w, j)[c];
        f->w[c * (d + 1) + d] = b.at[c];
    }
}

static ferry_status fit_weighted(ferry_ctx *ctx, const ferry_matrix *x,
                                 const ferry_block *y, const double *weight, double lambda,
                                 double **w)
{
    double *to = ferry_i_calloc(y->k * (x->cols + 1), sizeof *to);
    const ferry_status st =
        to ? scope_run(ctx, fit_body,
                       &(fitting){(ferry_matrix *)(uintptr_t)x, y, weight, lambda, to})
           : ferry_i_nomem(ctx);

    *w = st == FERRY_OK ? to : NULL;
    if (st != FERRY_OK) ferry_i_free(to);
    return st;
}

static ferry_status fit(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *y,
                        double lambda, double **w)
{
    return fit_weighted(ctx, x, y, NULL, lambda, w);
}

/* ---- data ---- */

static ferry_matrix *waves(ferry_ctx *ctx, int64_t n, int64_t d)
{
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x->dense[i * d + j] = sin((double)(1 + 3 * i + 7 * j));
    return x;
}

/* All cells stored, so that the numbers are the same. */
static ferry_matrix *as_csr(ferry_ctx *ctx, const ferry_matrix *x)
{
    ferry_matrix *s = NULL;

    assert_ok(ctx, ferry_i_matrix_csr(ctx, x->rows, x->cols, x->rows * x->cols, &s));
    for (int64_t e = 0; e < x->rows * x->cols; e++) {
        s->index[e] = (int32_t)(e % x->cols);
        s->value[e] = x->dense[e];
        s->start[e / x->cols + 1] = e + 1;
    }
    return s;
}

static ferry_block *two_targets(ferry_ctx *ctx, int64_t n)
{
    ferry_block *y = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, n, 2, &y));
    for (int64_t i = 0; i < n; i++) {
        y->data[2 * i] = cos(2.0 * (double)i) * 3 + (double)i * 0.1;
        y->data[2 * i + 1] = i * 7 % 5 < 2;
    }
    return y;
}

static void check_engine(ferry_ctx *ctx, int64_t n, int64_t d, const double *want)
{
    ferry_matrix *x = waves(ctx, n, d), *s = as_csr(ctx, x);
    ferry_block *y = two_targets(ctx, n);
    double *w = NULL;

    assert_ok(ctx, fit(ctx, x, y, 0.5, &w));
    for (int64_t e = 0; e < 2 * (d + 1); e++)
        assert_close(w[e], want[e], 1e-10);
    ferry_i_free(w);
    assert_ok(ctx, fit(ctx, s, y, 0.5, &w));
    for (int64_t e = 0; e < 2 * (d + 1); e++)
        assert_close(w[e], want[e], 1e-10);
    FERRY_FREE(w, y);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(x);
}

static void test_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    /* scikit-learn */
    const double tall[] = {0.142459028466,   0.103977151945,    0.0143181900367,
                           1.09913659066,    -0.00614327002485, -0.0271559013583,
                           -0.0348025204806, 0.40233882727};
    const double wide[] = {
        0.267977777978,  0.0922703083844, -0.128852190978, -0.286554222895,
        -0.303215558286, -0.170635562993, 0.0459304870629, 0.239889758473,
        0.31577637235,   0.103238979614,  0.204474092796,  0.0160404882975,
        -0.18028817222,  -0.287879807233, -0.253778299086, -0.0947682563361,
        0.110886294903,  0.261963111742,  0.284102866091,  0.408587429115};

    for (int64_t e = 0; e < ferry_i_engine_count(); e++) {
        if (ferry_i_ctx_set_engine(ctx, ferry_i_engine_at(e)->name) == FERRY_ENEEDS)
            continue; /* cuda, where no card is */
        check_engine(ctx, 20, 3, tall);
        check_engine(ctx, 6, 9, wide);
    }
}

/* x = -1, 1; y = 0, 4: w = (sum of xc yc) / (2 + lambda) = 4 / 4, b = 2. */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;
    ferry_block *y = NULL;
    double *w = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 1, &x));
    assert_ok(ctx, ferry_i_block_new(ctx, 2, 1, &y));
    x->dense[0] = -1;
    x->dense[1] = 1;
    y->data[1] = 4;
    assert_ok(ctx, fit(ctx, x, y, 2, &w));
    assert_close(w[0], 1, 1e-15);
    assert_close(w[1], 2, 1e-15);
    FERRY_FREE(w, y);
    ferry_i_matrix_free(x);
}

/* Means of 1e7 do not cost digits when dense. */
static void test_far_from_zero(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = waves(ctx, 20, 3), *far = waves(ctx, 20, 3);
    ferry_block *y = two_targets(ctx, 20);
    double *a = NULL, *b = NULL;

    for (int64_t e = 0; e < 60; e++)
        far->dense[e] += 1e7;
    assert_ok(ctx, fit(ctx, x, y, 0.5, &a));
    assert_ok(ctx, fit(ctx, far, y, 0.5, &b));
    for (int64_t e = 0; e < 3; e++)
        assert_close(b[e], a[e], 1e-7);
    FERRY_FREE(b, a, y);
    ferry_i_matrix_free(far);
    ferry_i_matrix_free(x);
}

/* One instance, no feature, all-zero features: the mean is what is left. */
/* More cells than a piece: as the sparse formulas say, also far from zero; a weight of 0 leaves a row out. */
static void test_pieces(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t n = 220000, d = 5, half = 110000;
    ferry_matrix *x = waves(ctx, n, d), *s = NULL, *part = NULL;
    ferry_block *y = two_targets(ctx, n), *few = two_targets(ctx, half);
    double *w = NULL, *want = NULL, *weight = ferry_i_calloc(n, sizeof *weight);
    const ferry_array first = {half, d, d, x->dense};

    assert_non_null(weight);
    for (int64_t e = 0; e < n * d; e++) /* waves alone have rank 2 */
        x->dense[e] += (double)(e * e % 101) / 101;
    s = as_csr(ctx, x);
    assert_ok(ctx, fit(ctx, s, y, 0.5, &want));
    for (int far = 0; far < 2;
         far++) { /* the weights are the same, wherever the columns lie */
        for (int64_t e = 0; far && e < n * d; e++)
            x->dense[e] += 1e6;
        assert_ok(ctx, fit(ctx, x, y, 0.5, &w));
        for (int64_t c = 0; c < 2; c++)
            for (int64_t j = 0; j < d; j++)
                assert_close(w[c * (d + 1) + j], want[c * (d + 1) + j], far ? 1e-4 : 1e-9);
        ferry_i_free(w);
    }
    ferry_i_free(want);
    for (int64_t e = 0; e < n * d; e++)
        x->dense[e] -= 1e6;
    for (int64_t i = 0; i < half; i++)
        weight[i] = 1;
    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &first, &part));
    assert_ok(ctx, fit(ctx, part, few, 0.5, &want));
    assert_ok(ctx, fit_weighted(ctx, x, y, weight, 0.5, &w));
    for (int64_t e = 0; e < 2 * (d + 1); e++)
        assert_close(w[e], want[e], 1e-9);
    FERRY_FREE(w, want, weight, few, y);
    ferry_i_matrix_free(part);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(x);
}

static void test_tiny_shapes(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t shapes[][2] = {{1, 1}, {1, 4}, {5, 0}, {3, 2}};

    for (int64_t r = 0; r < 4; r++) {
        const int64_t n = shapes[r][0], d = shapes[r][1];
        ferry_matrix *x = NULL;
        ferry_block *y = NULL;
        double *w = NULL;
        assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
        assert_ok(ctx, ferry_i_block_new(ctx, n, 1, &y));
        for (int64_t i = 0; i < n; i++)
            y->data[i] = (double)i + 3;
        assert_ok(ctx, fit(ctx, x, y, 1, &w));
        for (int64_t f = 0; f < d; f++)
            assert_close(w[f], 0, 1e-15);
        assert_close(w[d], 3 + (double)(n - 1) / 2, 1e-15);
        FERRY_FREE(w, y);
        ferry_i_matrix_free(x);
    }
}

static void test_bad_input(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *none = NULL, *large = NULL, *same = NULL;
    ferry_block *y = NULL, *many = NULL;
    double *w = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, 0, 1, &y));
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 0, 2, &none));
    assert_fails(ctx, fit(ctx, none, y, 1, &w), FERRY_ENEEDS, "no labelled");
    assert_ok(ctx, ferry_i_matrix_csr(ctx, 20000, 30000, 0, &large));
    assert_ok(ctx, ferry_i_block_new(ctx, 20000, 1, &many));
    assert_fails(ctx, fit(ctx, large, many, 1, &w), FERRY_ENEEDS,
                 "at most 16384 instances or 16384 features; there are 20000 and 30000");
    ferry_i_free(y);
    /* Two equal columns and no lambda to speak of. */
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 3, 2, &same));
    assert_ok(ctx, ferry_i_block_new(ctx, 3, 1, &y));
    for (int64_t i = 0; i < 3; i++)
        same->dense[2 * i] = same->dense[2 * i + 1] = (double)(i - 1);
    assert_ok(ctx, fit(ctx, same, y, 1e-9, &w));
    ferry_i_free(w);
    assert_fails(ctx, fit(ctx, same, y, 1e-300, &w), FERRY_ENUMERIC,
                 "lambda = 1e-300 is too small");
    assert_null(w);
    ferry_i_matrix_free(same);
    FERRY_FREE(y, many);
    ferry_i_matrix_free(large);
    ferry_i_matrix_free(none);
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_matrix *x = arg;
    ferry_status st = FERRY_OK;
    ferry_block *y = NULL;
    double *w = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, x->rows, 2, &y));
    FERRY_TRY(fit(ctx, x, y, 1, &w));
done:
    FERRY_FREE(w, y);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *tall = waves(ctx, 5, 2), *wide = waves(ctx, 2, 5);
    ferry_matrix *tall_csr = as_csr(ctx, tall), *wide_csr = as_csr(ctx, wide);

    each_allocation_fails(ctx, body, tall);
    each_allocation_fails(ctx, body, wide);
    each_allocation_fails(ctx, body, tall_csr);
    each_allocation_fails(ctx, body, wide_csr);
    ferry_i_matrix_free(wide_csr);
    ferry_i_matrix_free(tall_csr);
    ferry_i_matrix_free(wide);
    ferry_i_matrix_free(tall);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_numbers),     TEST(test_by_hand), TEST(test_far_from_zero),
        TEST(test_tiny_shapes), TEST(test_pieces),  TEST(test_bad_input),
        TEST(test_no_memory),
    };
    return cmocka_run_group_tests_name("ridge", tests, NULL, NULL);
}
