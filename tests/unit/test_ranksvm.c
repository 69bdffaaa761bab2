/* RankSVM and its thresholds: the golden cases, by hand, properties. */
#include "golden.h"
#include "learn/learn.h"

static ferry_matrix *dense_of(ferry_ctx *ctx, int64_t n, int64_t d, const double *data)
{
    const ferry_array a = {n, d, d, data};
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &a, &x));
    return x;
}

static ferry_matrix *sparse_of(ferry_ctx *ctx, const ferry_matrix *x)
{
    ferry_matrix *s = NULL;
    int64_t at = 0;

    assert_ok(ctx, ferry_i_matrix_csr(ctx, x->rows, x->cols, x->nnz, &s));
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++) {
            if (x->dense[i * x->cols + j] == 0) continue;
            s->index[at] = (int32_t)j;
            s->value[at++] = x->dense[i * x->cols + j];
        }
        s->start[i + 1] = at;
    }
    s->nnz = at;
    return s;
}

static ferry_ranksvm *fit(ferry_ctx *ctx, double C, int64_t epochs, bool scale,
                          const ferry_matrix *x, const double *mean, int64_t m,
                          const uint8_t *on)
{
    const ferry_ranksvm_options o = {.C = C, .epochs = epochs, .scale = scale};
    ferry_ranksvm *r = NULL;
    bool finish = true;

    assert_ok(ctx, ferry_i_ranksvm_fit(ctx, &o, x, mean, m, on, &r, &finish));
    assert_false(finish);
    return r;
}

static void all_close(int64_t n, const double *a, const double *want, double tol)
{
    double scale = 0;

    for (int64_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(want[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - want[i]) <= tol * scale))
            fail_msg("entry %lld is %.17g, not %.17g", (long long)i, a[i], want[i]);
}

static void golden_close(const json_t *o, const char *key, const double *a, double tol)
{
    int64_t rows, cols;
    double *want = golden_array(o, key, &rows, &cols);

    all_close(rows * cols, a, want, tol);
    free(want);
}

/* Scores and sets of the target, which the file has labels x instances. */
static void check_target(ferry_ctx *ctx, const ferry_ranksvm *r, const ferry_matrix *zt,
                         const json_t *run)
{
    const int64_t n = zt->rows, m = r->m;
    double *scores = golden_transposed(run, "scores_t", NULL, NULL);
    double *pred = golden_transposed(run, "pred_t", NULL, NULL);
    ferry_block *f = NULL;
    uint8_t set[16];

    assert_ok(ctx, ferry_i_block_new(ctx, n, m, &f));
    assert_ok(ctx, ferry_i_ranksvm_scores(ctx, r, zt, NULL, f));
    all_close(n * m, f->data, scores, 1e-8);
    for (int64_t i = 0; i < n; i++) {
        ferry_i_ranksvm_decide(r, FERRY_ROW(f, i), set);
        for (int64_t k = 0; k < m; k++)
            assert_int_equal(set[k], pred[i * m + k]);
    }
    ferry_i_free(f);
    free(pred);
    free(scores);
}

static void test_golden(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *root = golden("mmltl/ranksvm_small.json"), *run, *c;
    int64_t d, ns, nt, m;
    size_t i;

    if (!root) skip();
    double *zs = golden_transposed(root, "Zs", &d, &ns),
           *zt = golden_transposed(root, "Zt", &d, &nt),
           *y = golden_transposed(root, "Ys", &m, &ns);
    uint8_t *on = calloc((size_t)(ns * m), 1);
    ferry_matrix *xs = dense_of(ctx, ns, d, zs), *xt = dense_of(ctx, nt, d, zt);
    for (int64_t e = 0; e < ns * m; e++)
        on[e] = y[e] != 0;
    json_array_foreach(golden_at(root, "runs"), i, run)
    {
        ferry_ranksvm *r = fit(ctx, golden_real(run, "C"),
                               (int64_t)golden_real(run, "epochs"), true, xs, NULL, m, on);
        assert_close(r->scale, golden_real(run, "scale"), 1e-14);
        golden_close(run, "W", r->w, 1e-8);
        golden_close(run, "thr_coef", r->threshold, 1e-8);
        assert_close(r->objective, golden_real(run, "primal"), 1e-10);
        check_target(ctx, r, xt, run);
        ferry_i_ranksvm_free(r);
    }
    json_array_foreach(golden_at(root, "thresholds"), i, c)
    {
        double *f = golden_array(c, "f", &m, NULL), *t = golden_array(c, "y", &m, NULL),
               scratch[32];
        for (int64_t k = 0; k < m; k++)
            on[k] = t[k] != 0;
        assert_close(ferry_i_best_threshold(m, f, on, scratch), golden_real(c, "t"), 1e-14);
        free(f);
        free(t);
    }
    ferry_i_matrix_free(xs);
    ferry_i_matrix_free(xt);
    free(on);
    free(zs);
    free(zt);
    free(y);
    json_decref(root);
}

static void test_thresholds(void **state)
{
    const struct {
        double f[3];
        uint8_t y[3];
        double t;
    } cases[] = {
        {{.1, .9, .5}, {0, 1, 0}, .7},   {{.1, .9, .5}, {0, 0, 0}, 1.9},
        {{.5, .5, .2}, {1, 0, 0}, .35},  {{.9, .1, .5}, {0, 1, 1}, -.9},
        {{.5, .5, .5}, {1, 1, 0}, -.5},  {{.5, .5, .5}, {0, 0, 1}, 1.5},
        {{.1, .9, .5}, {1, 1, 1}, -0.9},
    };
    double scratch[6];

    (void)state;
    for (int64_t c = 0; c < FERRY_COUNT(cases); c++)
        assert_close(ferry_i_best_threshold(3, cases[c].f, cases[c].y, scratch), cases[c].t,
                     1e-14);
}

static int64_t errors_at(int64_t m, const double *f, const uint8_t *y, double t)
{
    int64_t errors = 0;

    for (int64_t k = 0; k < m; k++)
        errors += (f[k] > t) != (y[k] != 0);
    return errors;
}

/* Against all places between two scores, for few labels and many, with ties. */
static void test_best_threshold(void **state)
{
    enum { MOST = 90 };
    double f[MOST], scratch[2 * MOST];
    uint8_t y[MOST];
    ferry_rng rng;

    (void)state;
    ferry_i_rng_seed(&rng, 12, 3);
    for (int64_t m = 1; m <= MOST; m++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t k = 0; k < m; k++) {
            f[k] = (double)ferry_i_rng_below(&rng, 60) / 8;
            y[k] = f[k] + 3 * ferry_i_rng_normal(&rng) > 5;
            low = fmin(low, f[k]);
            high = fmax(high, f[k]);
        }
        double best = low - 1;
        for (int64_t k = 0; k < m; k++) { /* just above score k */
            double next = INFINITY;
            for (int64_t l = 0; l < m; l++)
                if (f[l] > f[k]) next = fmin(next, f[l]);
            const double t = f[k] == high ? high + 1 : (f[k] + next) / 2;
            const int64_t less = errors_at(m, f, y, best) - errors_at(m, f, y, t);
            if (less > 0 || (less == 0 && t < best)) best = t;
        }
        assert_close(ferry_i_best_threshold(m, f, y, scratch), best, 1e-14);
    }
}

/* One instance x = 1, labels {a} and not {b}, no scaling. W = [w, -w], one pair with |[x,
 * 1]|^2 = 2: a = min(C, 1/4), w = a [1, 1], the margin 4 a. */
static void test_one_pair(void **state)
{
    ferry_ctx *ctx = *state;
    const double one = 1;
    const uint8_t on[] = {1, 0};
    ferry_matrix *x = dense_of(ctx, 1, 1, &one);

    for (int small = 0; small < 2; small++) {
        const double a = small ? 0.1 : 0.25;
        ferry_ranksvm *r = fit(ctx, small ? 0.1 : 7, 10, false, x, NULL, 2, on);
        const double want[] = {a, a, -a, -a};
        all_close(4, r->w, want, 1e-14);
        assert_int_equal(r->epochs, 2); /* the second one changes nothing */
        assert_close(r->objective, 2 * a * a + (small ? 0.1 * (1 - 0.4) : 0), 1e-14);
        ferry_i_ranksvm_free(r);
    }
    ferry_i_matrix_free(x);
}

typedef struct problem {
    ferry_matrix *x;
    uint8_t *on;
    int64_t m;
} problem;

/* n instances of d features, m labels that the features tell, half the entries 0. */
static problem make(ferry_ctx *ctx, int64_t n, int64_t d, int64_t m)
{
    problem p = {.m = m, .on = calloc((size_t)(n * m), 1)};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 11, 2);
    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &p.x));
    for (int64_t e = 0; e < n * d; e++)
        p.x->dense[e] = ferry_i_rng_below(&rng, 2) ? 3 + ferry_i_rng_normal(&rng) : 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < m; k++)
            p.on[i * m + k] = p.x->dense[i * d + k % d] + ferry_i_rng_normal(&rng) > 3;
    return p;
}

static void clear(problem *p)
{
    ferry_i_matrix_free(p->x);
    free(p->on);
}

/* Sparse is dense; a mean taken off inside is a mean taken off before. */
static void test_sparse_and_mean(void **state)
{
    ferry_ctx *ctx = *state;

    for (int64_t m = 1; m < 8; m += 2) {
        problem p = make(ctx, 40, 5, m);
        ferry_matrix *s = sparse_of(ctx, p.x), *shifted = NULL;
        double mean[5] = {0};
        ferry_ranksvm *a = fit(ctx, 1, 7, true, p.x, NULL, m, p.on),
                      *b = fit(ctx, 1, 7, true, s, NULL, m, p.on), *c, *e;
        ferry_block *f = NULL, *g = NULL;
        all_close(m * 6, b->w, a->w, 1e-12);
        all_close(m + 1, b->threshold, a->threshold, 1e-9);
        shifted = dense_of(ctx, 40, 5, p.x->dense);
        for (int64_t i = 0; i < 200; i++)
            mean[i % 5] += p.x->dense[i] / 40;
        for (int64_t i = 0; i < 200; i++)
            shifted->dense[i] -= mean[i % 5];
        c = fit(ctx, 1, 7, true, s, mean, m, p.on);
        e = fit(ctx, 1, 7, true, shifted, NULL, m, p.on);
        assert_close(c->scale, e->scale, 1e-13);
        all_close(m * 6, c->w, e->w, 1e-11);
        assert_ok(ctx, ferry_i_block_new(ctx, 40, m, &f));
        assert_ok(ctx, ferry_i_block_new(ctx, 40, m, &g));
        assert_ok(ctx, ferry_i_ranksvm_scores(ctx, c, s, mean, f));
        assert_ok(ctx, ferry_i_ranksvm_scores(ctx, e, shifted, NULL, g));
        all_close(40 * m, f->data, g->data, 1e-11);
        FERRY_FREE(f, g);
        ferry_i_ranksvm_free(a);
        ferry_i_ranksvm_free(b);
        ferry_i_ranksvm_free(c);
        ferry_i_ranksvm_free(e);
        ferry_i_matrix_free(s);
        ferry_i_matrix_free(shifted);
        clear(&p);
    }
}

/* The primal value cannot be made smaller by moving any weight, and the w_k add up to 0. */
static void test_minimum(void **state)
{
    ferry_ctx *ctx = *state;
    problem p = make(ctx, 30, 4, 5);
    ferry_ranksvm *r = fit(ctx, 1, 3000, true, p.x, NULL, 5, p.on);
    ferry_ranksvm *few = fit(ctx, 1, 30, true, p.x, NULL, 5, p.on);

    assert_true(r->objective <= few->objective);
    assert_close(r->objective, few->objective, 0.02);
    for (int64_t j = 0; j < 5; j++) {
        double sum = 0;
        for (int64_t k = 0; k < 5; k++)
            sum += r->w[k * 5 + j];
        assert_close(sum, 0, 1e-12);
    }
    ferry_i_ranksvm_free(few);
    ferry_i_ranksvm_free(r);
    clear(&p);
}

/* The primal value lies above the minimum by no more than the gap; what the steps of a pass find
 * of it is at most the tolerance when the fit stops, and a smaller one takes no fewer passes. */
static void test_stops_by_gap(void **state)
{
    ferry_ctx *ctx = *state;
    problem p = make(ctx, 60, 4, 5);
    int64_t learn = 0, last = 0;

    for (int64_t i = 0; i < 60; i++) {
        int64_t count = 0;
        for (int64_t k = 0; k < 5; k++)
            count += p.on[i * 5 + k];
        learn += count > 0 && count < 5;
    }
    ferry_ranksvm *best = fit(ctx, 2, 20000, true, p.x, NULL, 5, p.on);
    assert_true(best->gap < 1e-12);
    for (double tol = 0.1; tol > 1e-7; tol /= 10) {
        const ferry_ranksvm_options o = {
            .C = 2, .epochs = 10000, .tol = tol, .scale = true, .shuffle = true};
        ferry_ranksvm *r = NULL, *again = NULL;
        bool finish;
        assert_ok(ctx, ferry_i_ranksvm_fit(ctx, &o, p.x, NULL, 5, p.on, &r, &finish));
        assert_ok(ctx, ferry_i_ranksvm_fit(ctx, &o, p.x, NULL, 5, p.on, &again, &finish));
        assert_true(r->gap <= tol && r->epochs >= last && r->epochs < 10000);
        /* steps make the gap that they find smaller, but W moves on: ten times is ample */
        assert_true(r->objective >= best->objective * (1 - 1e-12));
        assert_true(r->objective - best->objective <= 10 * tol * 2 * (double)learn);
        all_close(25, again->w, r->w, 0); /* always the same orders */
        last = r->epochs;
        ferry_i_ranksvm_free(r);
        ferry_i_ranksvm_free(again);
    }
    assert_true(last > 5);
    ferry_i_ranksvm_free(best);
    clear(&p);
}

/* Shuffled epochs go to the same minimum, in far fewer of them than those by rows. */
static void test_shuffled(void **state)
{
    ferry_ctx *ctx = *state;
    problem p = make(ctx, 200, 6, 5);
    const ferry_ranksvm_options o = {
        .C = 1, .epochs = 10000, .tol = 1e-13, .scale = true, .shuffle = true};
    ferry_ranksvm *rows = fit(ctx, 1, 20000, true, p.x, NULL, 5, p.on), *r = NULL;
    bool finish;

    assert_ok(ctx, ferry_i_ranksvm_fit(ctx, &o, p.x, NULL, 5, p.on, &r, &finish));
    assert_close(r->objective, rows->objective, 1e-9);
    all_close(5 * 7, r->w, rows->w, 1e-5);
    assert_true(r->epochs < rows->epochs);
    ferry_i_ranksvm_free(rows);
    ferry_i_ranksvm_free(r);
    clear(&p);
}

/* No labels, all labels, a label that never occurs, no features, no instances. */
static void test_degenerate(void **state)
{
    ferry_ctx *ctx = *state;
    const double data[] = {1, 2, 3, 4};
    const uint8_t none[6] = {0}, all[] = {1, 1, 1, 1, 1, 1}, one[] = {1, 0, 0, 0, 1, 0};
    const uint8_t *const labels[] = {none, all, one};
    const int64_t shapes[][2] = {{2, 2}, {2, 0}, {0, 2}};

    for (int64_t c = 0; c < 3; c++)
        for (int64_t s = 0; s < 3; s++) {
            ferry_matrix *x = dense_of(ctx, shapes[s][0], shapes[s][1], data);
            ferry_ranksvm *r = fit(ctx, 1, 5, true, x, NULL, 3, labels[c]);
            const double f[] = {0, 0, 0};
            uint8_t set[3];
            ferry_i_ranksvm_decide(r, f, set);
            if (s < 2 && c < 2) /* no order to learn, only the count */
                assert_true(set[0] == c && set[1] == c && set[2] == c);
            if (s == 0 && c == 2) {
                ferry_block *scores = NULL;
                assert_ok(ctx, ferry_i_block_new(ctx, 2, 3, &scores));
                assert_ok(ctx, ferry_i_ranksvm_scores(ctx, r, x, NULL, scores));
                for (int64_t i = 0; i < 2; i++)
                    assert_true(FERRY_ROW(scores, i)[2] < FERRY_ROW(scores, i)[i]);
                ferry_i_free(scores);
            }
            ferry_i_ranksvm_free(r);
            ferry_i_matrix_free(x);
        }
}

static ferry_answer stop(void *user, const ferry_progress *p)
{
    return p->done < 3 ? FERRY_GO : *(ferry_answer *)user;
}

static void test_finish_and_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    problem p = make(ctx, 20, 3, 4);
    const ferry_ranksvm_options o = {.C = 1, .epochs = 100, .scale = true};
    ferry_answer answer = FERRY_FINISH;
    ferry_ranksvm *r = NULL, *three = fit(ctx, 1, 3, true, p.x, NULL, 4, p.on);
    bool finish = false;

    ferry_ctx_set_progress(ctx, stop, &answer);
    assert_ok(ctx, ferry_i_ranksvm_fit(ctx, &o, p.x, NULL, 4, p.on, &r, &finish));
    assert_true(finish);
    all_close(16, r->w, three->w, 0);
    ferry_i_ranksvm_free(r);
    ferry_i_ranksvm_free(three);
    answer = FERRY_CANCEL;
    assert_int_equal(ferry_i_ranksvm_fit(ctx, &o, p.x, NULL, 4, p.on, &r, &finish),
                     FERRY_ECANCELLED);
    assert_null(r);
    clear(&p);
}

static ferry_status everything(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const problem *p = arg;
    const ferry_ranksvm_options o = {.C = 1, .epochs = 2, .scale = true, .shuffle = true};
    ferry_ranksvm *r = NULL;
    ferry_block *f = NULL;
    bool finish;

    FERRY_TRY(ferry_i_ranksvm_fit(ctx, &o, p->x, NULL, p->m, p->on, &r, &finish));
    FERRY_TRY(ferry_i_block_new(ctx, p->x->rows, p->m, &f));
    FERRY_TRY(ferry_i_ranksvm_scores(ctx, r, p->x, NULL, f));
done:
    ferry_i_free(f);
    ferry_i_ranksvm_free(r);
    return st;
}

static void test_allocations_fail(void **state)
{
    problem p = make(*state, 9, 3, 2);

    each_allocation_fails(*state, everything, &p);
    clear(&p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_golden),           T(test_thresholds),
        T(test_best_threshold),   T(test_one_pair),
        T(test_sparse_and_mean),  T(test_minimum),
        T(test_stops_by_gap),     T(test_shuffled),
        T(test_degenerate),       T(test_finish_and_cancel),
        T(test_allocations_fail),
    };
    return cmocka_run_group_tests_name("ranksvm", tests, NULL, NULL);
}
