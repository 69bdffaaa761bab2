/* Linear models. The numbers marked scikit-learn come from its LinearSVC (squared hinge),
 * LogisticRegression (solver liblinear) and LinearSVR (squared tube) with C = 2 and a
 * tolerance of 1e-12 on x[i][j] = sin(1 + 3 i + 7 j). */
#include <pthread.h>

#include "ferry_test.h"
#include "plain_linear.h"
#ifdef FERRY_LIBLINEAR
#include <linear.h>
#endif

static ferry_matrix *waves(ferry_ctx *ctx, int64_t n, int64_t d)
{
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x->dense[i * d + j] = sin((double)(1 + 3 * i + 7 * j));
    return x;
}

static void labels(int64_t n, int32_t *two, int32_t *three, double *number)
{
    for (int64_t i = 0; i < n; i++) {
        two[i] = i * 7 % 5 < 2;
        three[i] = (int32_t)((i * i + i / 2) % 3);
        number[i] = cos(2.0 * (double)i) * 3 + (double)i * 0.1;
    }
}

static ferry_linear_options options(ferry_linear_kind kind)
{
    return (ferry_linear_options){
        .kind = kind, .C = 2, .eps = 1e-9, .p = 0.1, .bias = true};
}

static ferry_linear *fit(ferry_ctx *ctx, const ferry_linear_options *o,
                         const ferry_matrix *x, int64_t k, const int32_t *y,
                         const double *target)
{
    ferry_linear *m = NULL;

    assert_ok(ctx, plain_linear_fit(ctx, o, x, k, y, target, &m));
    return m;
}

static void check(ferry_linear *m, int64_t first, int64_t n, const double *want)
{
    for (int64_t e = 0; e < n; e++)
        assert_close(m->w[first + e], want[e], 1e-4);
    plain_linear_free(m);
}

static void test_svm_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    /* scikit-learn */
    const double two_w[] = {-0.0122593380106, -0.0550788168681, -0.0707887503962,
                            -0.192850396021};
    const double three_w[] = {-0.248866869065, 0.0745273474973, 0.361239539642,
                              -0.000136732117, 0.468050572862,  -0.189886255232,
                              -0.754361924639, -0.330013512763, -0.237702124014,
                              0.151460190613,  0.466074482306,  -0.796140856252};
    const double no_bias[] = {-0.0249557290104, -0.0642913684075, -0.0719830861441, 0};
    const double even2[] = {-0.0124331564334, -0.056985074601, -0.0734891959779,
                            0.00322289389247};
    const double even3[] = {-0.242681370584, 0.0688521744419, 0.346496989641,
                            -0.176908680555, 0.460703893773,  -0.188252626093,
                            -0.744552052167, -0.342979201374, -0.381942903575,
                            0.240823495619,  0.745057656067,  -0.683759339986};
    ferry_linear_options o = options(FERRY_LINEAR_SVM);
    int32_t two[20], three[20];
    double number[20];
    ferry_matrix *x = waves(ctx, 20, 3);

    labels(20, two, three, number);
    check(fit(ctx, &o, x, 2, two, NULL), 4, 4, two_w);
    check(fit(ctx, &o, x, 3, three, NULL), 0, 12, three_w);
    o.balanced = true;
    check(fit(ctx, &o, x, 2, two, NULL), 4, 4, even2);
    check(fit(ctx, &o, x, 3, three, NULL), 0, 12, even3);
    o.balanced = o.bias = false;
    check(fit(ctx, &o, x, 2, two, NULL), 4, 4, no_bias);
    ferry_i_matrix_free(x);
}

/* Fewer instances than features: solved in the dual. */
static void test_svm_dual_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    /* scikit-learn */
    const double two_w[] = {
        0.628243985688,  0.0384690462298, -0.570240184338, -0.898279767209, -0.784190098721,
        -0.284125599311, 0.355784239047,  0.820578679066,  0.881487992981,  -0.2744952497};
    const ferry_linear_options o = options(FERRY_LINEAR_SVM);
    int32_t two[6], three[6];
    double number[6];
    ferry_matrix *x = waves(ctx, 6, 9);
    ferry_linear *m = NULL;

    labels(6, two, three, number);
    m = fit(ctx, &o, x, 2, two, NULL);
    for (int64_t f = 0; f < 10; f++)
        assert_close(m->w[f], -m->w[10 + f], 0);
    check(m, 10, 10, two_w);
    ferry_i_matrix_free(x);
}

static void test_logreg_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    /* scikit-learn */
    const double two_w[] = {-0.0292468900056, -0.106401364304, -0.131185566822,
                            -0.361141138453};
    const double even2[] = {-0.0269405365847, -0.105490599789, -0.132118665401,
                            0.00562904727321};
    const double three_w[] = {-0.421547674644, 0.146131537381,  0.641885465567,
                              -0.001792117407, 0.869954395527,  -0.41883619054,
                              -1.50147749202,  -0.755637184619, -0.469376857815,
                              0.324657536569,  0.958896955232,  -1.67481608835};
    const double p[] = {0.555736907785, 0.197159708556, 0.247103383659,
                        0.405891119254, 0.511631262728, 0.0824776180178};
    ferry_linear_options o = options(FERRY_LINEAR_LOGREG);
    int32_t two[20], three[20];
    double number[20];
    ferry_matrix *x = waves(ctx, 20, 3);
    ferry_linear *m = NULL;
    ferry_block *s = NULL;

    labels(20, two, three, number);
    check(fit(ctx, &o, x, 2, two, NULL), 4, 4, two_w);
    m = fit(ctx, &o, x, 3, three, NULL);
    assert_ok(ctx, ferry_i_block_new(ctx, 20, 3, &s));
    assert_ok(ctx, plain_linear_scores(ctx, m, x, s));
    for (int64_t e = 0; e < 6; e++)
        assert_close(s->data[e], p[e], 1e-4);
    ferry_i_free(s);
    check(m, 0, 12, three_w);
    o.balanced = true;
    check(fit(ctx, &o, x, 2, two, NULL), 4, 4, even2);
    ferry_i_matrix_free(x);
}

static void test_svr_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    /* scikit-learn */
    const double w[] = {0.147332637571, 0.110498959755, 0.0192781921531, 1.06517985301};
    const double wide[] = {0.301425693279,  0.0943876036962, -0.159107638861,
                           -0.334290818938, -0.344937565146, -0.185807597004,
                           0.0647760326346, 0.283477191066,  0.362652154164,
                           0.0846168037399};
    const ferry_linear_options o = options(FERRY_LINEAR_SVR);
    int32_t two[20], three[20];
    double number[20];
    ferry_matrix *x = waves(ctx, 20, 3), *y = waves(ctx, 6, 9);

    labels(20, two, three, number);
    check(fit(ctx, &o, x, 1, NULL, number), 0, 4, w);
    check(fit(ctx, &o, y, 1, NULL, number), 0, 10, wide);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(x);
}

/* The objective that the file head states, at w. */
static double objective(const ferry_matrix *x, const int32_t *y, double cost,
                        const double *w)
{
    double sum = 0;

    for (int64_t j = 0; j <= x->cols; j++)
        sum += 0.5 * w[j] * w[j];
    for (int64_t i = 0; i < x->rows; i++) {
        double m = w[x->cols];
        for (int64_t j = 0; j < x->cols; j++)
            m += w[j] * x->dense[i * x->cols + j];
        m = fmax(0, 1 - (y[i] ? m : -m));
        sum += cost * m * m;
    }
    return sum;
}

/* An independent check: no step away from the solution lowers the objective. */
static void test_svm_is_a_minimum(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_linear_options o = options(FERRY_LINEAR_SVM);
    int32_t two[20], three[20];
    double number[20];

    labels(20, two, three, number);
    for (int64_t d = 2; d <= 30; d += 14) { /* primal, primal, dual */
        ferry_matrix *x = waves(ctx, 20, d);
        ferry_linear *m = fit(ctx, &o, x, 2, two, NULL);
        double *w = m->w + d + 1;
        const double best = objective(x, two, o.C, w);
        for (int64_t j = 0; j <= d; j++)
            for (double step = -1e-2; step < 0.02; step += 2e-2) {
                w[j] += step;
                assert_true(objective(x, two, o.C, w) > best);
                w[j] -= step;
            }
        plain_linear_free(m);
        ferry_i_matrix_free(x);
    }
}

/* Scores of x as rows of a new block. */
static ferry_block *scores(ferry_ctx *ctx, const ferry_linear *m, const ferry_matrix *x)
{
    ferry_block *s = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, x->rows, m->k, &s));
    assert_ok(ctx, plain_linear_scores(ctx, m, x, s));
    return s;
}

static void test_separable(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;
    const int32_t y[] = {0, 0, 1, 1};
    const ferry_linear_kind kinds[] = {FERRY_LINEAR_SVM, FERRY_LINEAR_LOGREG};

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 4, 1, &x));
    for (int64_t i = 0; i < 4; i++)
        x->dense[i] = (double)(2 * i - 3); /* -3 -1 1 3 */
    for (int64_t r = 0; r < 2; r++) {
        const ferry_linear_options o = options(kinds[r]);
        ferry_linear *m = fit(ctx, &o, x, 2, y, NULL);
        ferry_block *s = scores(ctx, m, x);
        for (int64_t i = 0; i < 4; i++)
            assert_true((s->data[2 * i + 1] > s->data[2 * i]) == (y[i] == 1));
        if (kinds[r] == FERRY_LINEAR_LOGREG)
            assert_close(s->data[0] + s->data[1], 1, 1e-15);
        ferry_i_free(s);
        plain_linear_free(m);
    }
    ferry_i_matrix_free(x);
}

/* Classes 0, 2 and 4 of 5 do not occur. */
static void test_empty_classes(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_linear_kind kinds[] = {FERRY_LINEAR_SVM, FERRY_LINEAR_LOGREG};
    int32_t y[6] = {1, 3, 1, 3, 3, 1};
    ferry_matrix *x = waves(ctx, 6, 2);

    for (int64_t r = 0; r < 2; r++) {
        const ferry_linear_options o = options(kinds[r]);
        ferry_linear *m = fit(ctx, &o, x, 5, y, NULL);
        ferry_block *s = scores(ctx, m, x);
        const double none = r == 0 ? -INFINITY : 0;
        for (int64_t i = 0; i < 6; i++) {
            assert_close(FERRY_ROW(s, i)[0], none, 0);
            assert_close(FERRY_ROW(s, i)[2], none, 0);
            assert_close(FERRY_ROW(s, i)[4], none, 0);
            assert_true(isfinite(FERRY_ROW(s, i)[1]) && isfinite(FERRY_ROW(s, i)[3]));
            if (r == 1) assert_close(FERRY_ROW(s, i)[1] + FERRY_ROW(s, i)[3], 1, 1e-15);
        }
        ferry_i_free(s);
        plain_linear_free(m);
    }
    ferry_i_matrix_free(x);
}

static void test_one_class(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_linear_kind kinds[] = {FERRY_LINEAR_SVM, FERRY_LINEAR_LOGREG};
    const int32_t y[] = {1, 1};
    ferry_matrix *x = waves(ctx, 2, 3);

    for (int64_t r = 0; r < 2; r++) {
        const ferry_linear_options o = options(kinds[r]);
        ferry_linear *m = fit(ctx, &o, x, 3, y, NULL);
        ferry_block *s = scores(ctx, m, x);
        assert_true(s->data[1] > s->data[0] && s->data[1] > s->data[2]);
        assert_close(s->data[1], r == 0 ? 0 : 1, 0);
        ferry_i_free(s);
        plain_linear_free(m);
    }
    ferry_i_matrix_free(x);
}

static void test_one_instance_and_zero_rows(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_linear_options o = options(FERRY_LINEAR_SVM);
    const int32_t y[] = {0, 1, 1};
    ferry_matrix *one = waves(ctx, 1, 2), *zero = NULL;
    ferry_linear *m = NULL;

    plain_linear_free(fit(ctx, &o, one, 2, y, NULL));
    /* Nothing but the bias can tell: 2 of 3 are class 1. */
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 3, 2, &zero));
    m = fit(ctx, &o, zero, 2, y, NULL);
    assert_close(m->w[3], 0, 1e-12);
    assert_true(m->w[5] > 0);
    plain_linear_free(m);
    ferry_i_matrix_free(zero);
    ferry_i_matrix_free(one);
}

/* Margins of -1000 and below do not become 0 / 0. */
static void test_probabilities_far_out(void **state)
{
    ferry_ctx *ctx = *state;
    double w[] = {-1000, 0, -2000, 0, -3000, 0};
    uint8_t seen[] = {1, 1, 1};
    ferry_linear m = {FERRY_LINEAR_LOGREG, false, 3, 1, w, seen};
    ferry_matrix *x = NULL;
    ferry_block *s = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 1, &x));
    x->dense[0] = 1;
    x->dense[1] = -1;
    s = scores(ctx, &m, x);
    assert_close(s->data[0], 1, 1e-15);
    assert_close(s->data[1], 0, 0);
    for (int64_t c = 0; c < 3; c++) /* all three are sure */
        assert_close(s->data[3 + c], 1.0 / 3, 1e-15);
    ferry_i_free(s);
    m.sets = true;
    s = scores(ctx, &m, x);
    assert_close(s->data[0], 0, 0);
    assert_close(s->data[3], 1, 0);
    ferry_i_free(s);
    ferry_i_matrix_free(x);
}

/* Label 1 is learned, label 0 never on, label 2 always. */
static void test_sets(void **state)
{
    ferry_ctx *ctx = *state;
    const uint8_t on[] = {0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1};
    ferry_matrix *x = waves(ctx, 4, 2);

    for (int kind = FERRY_LINEAR_SVM; kind <= FERRY_LINEAR_LOGREG; kind++) {
        ferry_linear_options o = options((ferry_linear_kind)kind);
        ferry_linear *m = NULL, *alone = NULL;
        ferry_block *s = NULL;
        const int32_t y[] = {1, 0, 1, 0};
        o.balanced = true;
        assert_ok(ctx, plain_linear_fit_sets(ctx, &o, x, 3, on, &m));
        s = scores(ctx, m, x);
        assert_close(s->data[0], kind == FERRY_LINEAR_SVM ? -1 : 0.1, 1e-15);
        assert_close(s->data[2], kind == FERRY_LINEAR_SVM ? 1 : 0.9, 1e-15);
        /* A label is a two-class problem. */
        alone = fit(ctx, &o, x, 2, y, NULL);
        for (int64_t f = 0; f < 3; f++)
            assert_close(m->w[3 + f], alone->w[3 + f], 1e-6);
        plain_linear_free(alone);
        o.balanced = false; /* two of four are on: weights change nothing */
        assert_ok(ctx, plain_linear_fit_sets(ctx, &o, x, 3, on, &alone));
        assert_close(m->w[3], alone->w[3], 1e-6);
        plain_linear_free(alone);
        ferry_i_free(s);
        plain_linear_free(m);
    }
    ferry_i_matrix_free(x);
}

/* CSR with the same numbers gives the same model. */
static void test_sparse_is_dense(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_linear_options o = options(FERRY_LINEAR_SVM);
    int32_t two[20], three[20];
    double number[20];
    ferry_matrix *x = waves(ctx, 20, 3), *s = NULL;
    ferry_linear *a = NULL, *b = NULL;

    labels(20, two, three, number);
    assert_ok(ctx, ferry_i_matrix_csr(ctx, 20, 3, 60, &s));
    for (int64_t e = 0; e < 60; e++) {
        if (e % 4 == 0) x->dense[e] = 0; /* also stored zeros */
        s->index[e] = (int32_t)(e % 3);
        s->value[e] = x->dense[e];
        s->start[e / 3 + 1] = e + 1;
    }
    a = fit(ctx, &o, x, 3, three, NULL);
    b = fit(ctx, &o, s, 3, three, NULL);
    assert_memory_equal(a->w, b->w, 12 * sizeof(double));
    plain_linear_free(b);
    plain_linear_free(a);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(x);
}

/* Two contexts in two threads get the same bits, time after time. */
static void *train_often(void *arg)
{
    ferry_linear_options o = options(FERRY_LINEAR_SVM);
    int32_t two[6], three[6];
    double number[6];
    double *w = arg;
    ferry_ctx *ctx = NULL;
    ferry_matrix *x = NULL;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return NULL;
    x = waves(ctx, 6, 9);
    labels(6, two, three, number);
    o.eps = 0.1;
    for (int r = 0; r < 50; r++) {
        ferry_linear *m = fit(ctx, &o, x, 2, two, NULL);
        if (r == 0)
            memcpy(w, m->w, 20 * sizeof(double));
        else if (memcmp(w, m->w, 20 * sizeof(double)) != 0)
            w[0] = NAN;
        plain_linear_free(m);
    }
    ferry_i_matrix_free(x);
    ferry_ctx_free(ctx);
    return NULL;
}

static void test_two_threads(void **state)
{
    pthread_t thread;
    double a[20] = {0}, b[20] = {0};

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, train_often, a), 0);
    train_often(b);
    pthread_join(thread, NULL);
    assert_false(isnan(a[0]));
    assert_memory_equal(a, b, sizeof a);
}

/* ---- against liblinear ---- */

#ifdef FERRY_LIBLINEAR
static void silent(const char *text)
{
    (void)text;
}

/* The problem's value at w (d + 1), for one row of y (+1, -1 or numbers). */
static double value_at(ferry_linear_kind kind, const ferry_matrix *x, const double *y,
                       const double *w)
{
    double sum = 0;

    for (int64_t j = 0; j <= x->cols; j++)
        sum += 0.5 * w[j] * w[j];
    for (int64_t i = 0; i < x->rows; i++) {
        double m = w[x->cols];
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            m += x->value[e] * w[x->index[e]];
        const double hinge = fmax(0, 1 - y[i] * m), tube = fmax(0, fabs(y[i] - m) - 0.1);
        sum += 2 * (kind == FERRY_LINEAR_SVM   ? hinge * hinge
                    : kind == FERRY_LINEAR_SVR ? tube * tube
                                               : log1p(exp(-y[i] * m)));
    }
    return sum;
}

/* liblinear's weights for the same problem, by its primal or its dual solver. */
static void liblinear_fit(ferry_linear_kind kind, bool dual, const ferry_matrix *x,
                          double *y, double *w)
{
    static const int solvers[3][2] = {{L2R_L2LOSS_SVC, L2R_L2LOSS_SVC_DUAL},
                                      {L2R_LR, L2R_LR_DUAL},
                                      {L2R_L2LOSS_SVR, L2R_L2LOSS_SVR_DUAL}};
    struct feature_node *node = calloc((size_t)(x->nnz + 2 * x->rows), sizeof *node),
                        *at = node;
    struct feature_node **row = calloc((size_t)x->rows, sizeof *row);
    const struct problem prob = {
        .l = (int)x->rows, .n = (int)x->cols + 1, .y = y, .x = row, .bias = 1};
    const struct parameter param = {
        .solver_type = solvers[kind][dual], .C = 2, .eps = 1e-9, .p = 0.1};
    struct model *m = NULL;

    for (int64_t i = 0; i < x->rows; i++) {
        row[i] = at;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            *at++ = (struct feature_node){x->index[e] + 1, x->value[e]};
        *at++ = (struct feature_node){(int)x->cols + 1, 1};
        *at++ = (struct feature_node){-1, 0};
    }
    set_print_string_function(silent);
    m = train(&prob, &param);
    memcpy(w, m->w, (size_t)(x->cols + 1) * sizeof *w);
    free_and_destroy_model(&m);
    free(node);
    free(row);
}

/* Sparse rows with a tenth of the cells, on both sides of n = d: no lower value is found, the weights
 * agree, and so does what they say of every row. */
static void test_same_as_liblinear(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t shape[][2] = {{300, 40}, {60, 400}, {40, 40}};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 7, 0);
    for (int t = 0; t < 3; t++) {
        const int64_t n = shape[t][0], d = shape[t][1];
        ferry_matrix *x = NULL;
        int32_t *cls = calloc((size_t)n, sizeof *cls);
        double *y = calloc((size_t)n, sizeof *y), *w = calloc((size_t)d + 1, sizeof *w);
        assert_ok(ctx, ferry_i_matrix_csr(ctx, n, d, n * d / 10, &x));
        for (int64_t i = 0, e = 0; i < n; i++) {
            for (int64_t k = 0; k < d / 10; k++, e++) {
                x->index[e] = (int32_t)(10 * k) + (int32_t)ferry_i_rng_below(&rng, 10);
                x->value[e] = ferry_i_rng_normal(&rng);
            }
            x->start[i + 1] = e;
            cls[i] = x->value[x->start[i]] + ferry_i_rng_normal(&rng) > 0.3;
        }
        for (ferry_linear_kind kind = FERRY_LINEAR_SVM; kind <= FERRY_LINEAR_SVR; kind++) {
            const ferry_linear_options o = options(kind);
            const bool numbers = kind == FERRY_LINEAR_SVR;
            for (int64_t i = 0; i < n; i++)
                y[i] =
                    numbers ? 3 * x->value[x->start[i]] + (double)cls[i] : 2 * cls[i] - 1;
            ferry_linear *m = fit(ctx, &o, x, numbers ? 1 : 2, cls, y);
            const double *ours = m->w + (numbers ? 0 : d + 1);
            const double best = value_at(kind, x, y, ours);
            for (int dual = 0; dual < 2; dual++) {
                liblinear_fit(kind, dual, x, y, w);
                assert_true(best <= value_at(kind, x, y, w) * (1 + 1e-9));
                for (int64_t j = 0; j <= d; j++)
                    assert_close(ours[j], w[j], 1e-4);
            }
            plain_linear_free(m);
        }
        ferry_i_matrix_free(x);
        free(cls);
        free(y);
        free(w);
    }
}
#endif

static ferry_answer cancel_second(void *user, const ferry_progress *p)
{
    int *calls = user;

    assert_string_equal(p->what, "classes");
    return ++*calls == 2 ? FERRY_CANCEL : FERRY_GO;
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_linear_options o = options(FERRY_LINEAR_SVM);
    const uint8_t on[] = {1, 0, 1};
    int32_t two[20], three[20];
    double number[20];
    int calls = 0;
    ferry_matrix *x = waves(ctx, 20, 3), *y = waves(ctx, 3, 1);
    ferry_linear *m = NULL;

    labels(20, two, three, number);
    ferry_ctx_set_progress(ctx, cancel_second, &calls);
    assert_int_equal(plain_linear_fit(ctx, &o, x, 3, three, NULL, &m), FERRY_ECANCELLED);
    assert_int_equal(calls, 2);
    ferry_ctx_set_progress(ctx, cancel_at_once, NULL);
    assert_int_equal(plain_linear_fit_sets(ctx, &o, y, 1, on, &m), FERRY_ECANCELLED);
    assert_null(m);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(x);
}

static void test_bad_input(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_linear_options o = options(FERRY_LINEAR_SVM);
    const int32_t y[] = {0, 1, 0};
    ferry_matrix *none = NULL;
    ferry_linear *m = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 0, 2, &none));
    assert_fails(ctx, plain_linear_fit(ctx, &o, none, 2, y, NULL, &m), FERRY_ENEEDS,
                 "no labelled instances");
    ferry_i_matrix_free(none);
    assert_null(m);
    plain_linear_free(NULL);
}

typedef struct memory_case {
    ferry_matrix *x;
    bool sets;
} memory_case;

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    const memory_case *c = arg;
    ferry_status st = FERRY_OK;
    const ferry_linear_options o = options(FERRY_LINEAR_LOGREG);
    const int32_t y[] = {0, 1, 2, 0};
    const uint8_t on[] = {0, 1, 0, 1, 1, 0, 0, 0};
    ferry_linear *m = NULL;
    ferry_block *s = NULL;

    if (c->sets)
        FERRY_TRY(plain_linear_fit_sets(ctx, &o, c->x, 2, on, &m));
    else
        FERRY_TRY(plain_linear_fit(ctx, &o, c->x, 3, y, NULL, &m));
    FERRY_TRY(ferry_i_block_new(ctx, 4, m->k, &s));
    FERRY_TRY(plain_linear_scores(ctx, m, c->x, s));
done:
    ferry_i_free(s);
    plain_linear_free(m);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    memory_case c = {waves(ctx, 4, 2), false};

    each_allocation_fails(ctx, body, &c);
    c.sets = true;
    each_allocation_fails(ctx, body, &c);
    ferry_i_matrix_free(c.x);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_svm_numbers),
        TEST(test_svm_dual_numbers),
        TEST(test_logreg_numbers),
        TEST(test_svr_numbers),
        TEST(test_svm_is_a_minimum),
        TEST(test_separable),
        TEST(test_empty_classes),
        TEST(test_one_class),
        TEST(test_one_instance_and_zero_rows),
        TEST(test_probabilities_far_out),
        TEST(test_sets),
        TEST(test_sparse_is_dense),
        TEST(test_two_threads),
#ifdef FERRY_LIBLINEAR
        TEST(test_same_as_liblinear),
#endif
        TEST(test_cancel),
        TEST(test_bad_input),
        TEST(test_no_memory),
    };
    return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}
