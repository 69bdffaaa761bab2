/* RankSVM and its thresholds: the golden cases, by hand, properties. */
#include "golden.h"
#include "in_scope.h"
#include "learn/ranksvm.h"

static matrix dense_of(scope *s, int64_t n, int64_t d, const double *data)
{
    const matrix x = matrix_dense(s, HERE(n), n, d);

    if (n * d > 0) memcpy(x.m->dense, data, (size_t)(n * d) * sizeof *data);
    return x;
}

static ranker fit(scope *s, double C, int64_t epochs, matrix x, const double *mean,
                  int64_t m, const uint8_t *on)
{
    const ranker_options o = {.C = C, .epochs = epochs, .scale = true};
    const ranker r = ranker_fit(s, s, &o, x, mean, m, on);

    assert_false(r.finish);
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
static void check_target(scope *s, const ranker *r, matrix zt, const json_t *run)
{
    const int64_t n = zt.n, m = r->w.n;
    double *scores = golden_transposed(run, "scores_t", NULL, NULL);
    double *pred = golden_transposed(run, "pred_t", NULL, NULL);
    const block f = block_new(s, HERE(n), n, m);
    uint8_t set[16];

    ranker_scores(s, r, zt, NULL, f);
    all_close(n * m, f.at, scores, 1e-8);
    for (int64_t i = 0; i < n; i++) {
        ranker_decide(m, r->threshold, ROW(f, i), set);
        for (int64_t k = 0; k < m; k++)
            assert_int_equal(set[k], pred[i * m + k]);
    }
    free(pred);
    free(scores);
}

IN_SCOPE(test_golden)
{
    json_t *root = golden("mmltl/ranksvm_small.json"), *run, *c;
    int64_t d, ns, nt, m;
    size_t i;

    if (!root) return;
    double *zs = golden_transposed(root, "Zs", &d, &ns),
           *zt = golden_transposed(root, "Zt", &d, &nt),
           *y = golden_transposed(root, "Ys", &m, &ns);
    uint8_t *on = NEW(s, uint8_t, ns * m);
    const matrix xs = dense_of(s, ns, d, zs), xt = dense_of(s, nt, d, zt);
    for (int64_t e = 0; e < ns * m; e++)
        on[e] = y[e] != 0;
    json_array_foreach(golden_at(root, "runs"), i, run)
    {
        const ranker r = fit(s, golden_real(run, "C"), (int64_t)golden_real(run, "epochs"),
                             xs, NULL, m, on);
        assert_close(r.scale, golden_real(run, "scale"), 1e-14);
        golden_close(run, "W", r.w.at, 1e-8);
        golden_close(run, "thr_coef", r.threshold, 1e-8);
        assert_close(r.objective, golden_real(run, "primal"), 1e-10);
        check_target(s, &r, xt, run);
    }
    json_array_foreach(golden_at(root, "thresholds"), i, c)
    {
        double *f = golden_array(c, "f", &m, NULL), *t = golden_array(c, "y", &m, NULL),
               scratch[32];
        for (int64_t k = 0; k < m; k++)
            on[k] = t[k] != 0;
        assert_close(best_threshold(m, f, on, scratch), golden_real(c, "t"), 1e-14);
        free(f);
        free(t);
    }
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
        assert_close(best_threshold(3, cases[c].f, cases[c].y, scratch), cases[c].t, 1e-14);
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
        assert_close(best_threshold(m, f, y, scratch), best, 1e-14);
    }
}

/* One instance x = 1, labels {a} and not {b}, no scaling. W = [w, -w], one pair with |[x,
 * 1]|^2 = 2: a = min(C, 1/4), w = a [1, 1], the margin 4 a. */
IN_SCOPE(test_one_pair)
{
    const double one = 1;
    const uint8_t on[] = {1, 0};
    const matrix x = dense_of(s, 1, 1, &one);

    for (int little = 0; little < 2; little++) {
        const double a = little ? 0.1 : 0.25, want[] = {a, a, -a, -a};
        const ranker_options o = {.C = little ? 0.1 : 7, .epochs = 10};
        const ranker r = ranker_fit(s, s, &o, x, NULL, 2, on);
        all_close(4, r.w.at, want, 1e-14);
        assert_int_equal(r.epochs, 2); /* the second one changes nothing */
        assert_close(r.objective, 2 * a * a + (little ? 0.1 * (1 - 0.4) : 0), 1e-14);
    }
}

typedef struct problem {
    matrix x;
    uint8_t *on;
    int64_t m;
} problem;

/* n instances of d features, m labels that the features tell, half the entries 0. */
static problem make(scope *s, int64_t n, int64_t d, int64_t m)
{
    const problem p = {matrix_dense(s, HERE(n), n, d), NEW(s, uint8_t, n * m), m};
    double *x = p.x.m->dense;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 11, 2);
    for (int64_t e = 0; e < n * d; e++)
        x[e] = ferry_i_rng_below(&rng, 2) ? 3 + ferry_i_rng_normal(&rng) : 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < m; k++)
            p.on[i * m + k] = x[i * d + k % d] + ferry_i_rng_normal(&rng) > 3;
    return p;
}

/* Sparse is dense; a mean taken off inside is a mean taken off before. */
IN_SCOPE(test_sparse_and_mean)
{
    for (int64_t m = 1; m < 8; m += 2) {
        const problem p = make(s, 40, 5, m);
        const matrix sparse = to_sparse(s, p.x), shifted = dense_of(s, 40, 5, p.x.m->dense);
        double mean[5] = {0};
        const ranker a = fit(s, 1, 7, p.x, NULL, m, p.on),
                     b = fit(s, 1, 7, sparse, NULL, m, p.on);
        const block f = block_new(s, HERE(40), 40, m), g = block_like(s, f);
        all_close(m * 6, b.w.at, a.w.at, 1e-12);
        all_close(m + 1, b.threshold, a.threshold, 1e-9);
        for (int64_t i = 0; i < 200; i++)
            mean[i % 5] += p.x.m->dense[i] / 40;
        for (int64_t i = 0; i < 200; i++)
            shifted.m->dense[i] -= mean[i % 5];
        const ranker c = fit(s, 1, 7, sparse, mean, m, p.on),
                     e = fit(s, 1, 7, shifted, NULL, m, p.on);
        assert_close(c.scale, e.scale, 1e-13);
        all_close(m * 6, c.w.at, e.w.at, 1e-11);
        ranker_scores(s, &c, sparse, mean, f);
        ranker_scores(s, &e, shifted, NULL, g);
        all_close(40 * m, f.at, g.at, 1e-11);
    }
}

/* The primal value cannot be made smaller by moving any weight, and the w_k add up to 0. */
IN_SCOPE(test_minimum)
{
    const problem p = make(s, 30, 4, 5);
    const ranker r = fit(s, 1, 3000, p.x, NULL, 5, p.on),
                 few = fit(s, 1, 30, p.x, NULL, 5, p.on);

    assert_true(r.objective <= few.objective);
    assert_close(r.objective, few.objective, 0.02);
    for (int64_t j = 0; j < 5; j++) {
        double total = 0;
        for (int64_t k = 0; k < 5; k++)
            total += ROW(r.w, k)[j];
        assert_close(total, 0, 1e-12);
    }
}

/* The primal value lies above the minimum by no more than the gap; what the steps of a pass find
 * of it is at most the tolerance when the fit stops, and a smaller one takes no fewer passes. */
IN_SCOPE(test_stops_by_gap)
{
    const problem p = make(s, 60, 4, 5);
    int64_t learn = 0, last = 0;

    for (int64_t i = 0; i < 60; i++) {
        int64_t count = 0;
        for (int64_t k = 0; k < 5; k++)
            count += p.on[i * 5 + k];
        learn += count > 0 && count < 5;
    }
    const ranker best = fit(s, 2, 20000, p.x, NULL, 5, p.on);
    assert_true(best.gap < 1e-12);
    for (double tol = 0.1; tol > 1e-7; tol /= 10) {
        const ranker_options o = {
            .C = 2, .epochs = 10000, .tol = tol, .scale = true, .shuffle = true};
        const ranker r = ranker_fit(s, s, &o, p.x, NULL, 5, p.on),
                     again = ranker_fit(s, s, &o, p.x, NULL, 5, p.on);
        assert_true(r.gap <= tol && r.epochs >= last && r.epochs < 10000);
        /* steps make the gap that they find smaller, but W moves on: ten times is ample */
        assert_true(r.objective >= best.objective * (1 - 1e-12));
        assert_true(r.objective - best.objective <= 10 * tol * 2 * (double)learn);
        all_close(25, again.w.at, r.w.at, 0); /* always the same orders */
        last = r.epochs;
    }
    assert_true(last > 5);
}

/* Shuffled epochs go to the same minimum, in far fewer of them than those by rows. */
IN_SCOPE(test_shuffled)
{
    const problem p = make(s, 200, 6, 5);
    const ranker_options o = {
        .C = 1, .epochs = 10000, .tol = 1e-13, .scale = true, .shuffle = true};
    const ranker rows = fit(s, 1, 20000, p.x, NULL, 5, p.on),
                 r = ranker_fit(s, s, &o, p.x, NULL, 5, p.on);

    assert_close(r.objective, rows.objective, 1e-9);
    all_close(5 * 7, r.w.at, rows.w.at, 1e-5);
    assert_true(r.epochs < rows.epochs);
}

/* Labels that all have the same features of their own: the same problem, the same steps. */
IN_SCOPE(test_own_features)
{
    const problem p = make(s, 50, 4, 5);
    const ranker_options o = {.C = 2, .epochs = 40, .tol = 1e-6, .shuffle = true};
    const ranker r = ranker_fit(s, s, &o, p.x, NULL, 5, p.on);
    const block x = {HERE(50), 50, 4, p.x.m->dense}, z[] = {x, x, x, x, x};
    double w[5][4] = {{0}}, b[5] = {0}, *to[] = {w[0], w[1], w[2], w[3], w[4]};

    ranker_fit_own(s, &o, 5, z, p.on, to, b);
    for (int64_t k = 0; k < 5; k++) {
        all_close(4, w[k], ROW(r.w, k), 1e-9);
        assert_close(b[k], ROW(r.w, k)[4], 1e-9);
    }
}

/* No labels, all labels, a label that never occurs, no features, no instances. */
IN_SCOPE(test_degenerate)
{
    const double data[] = {1, 2, 3, 4};
    const uint8_t none[6] = {0}, all[] = {1, 1, 1, 1, 1, 1}, one[] = {1, 0, 0, 0, 1, 0};
    const uint8_t *const sets[] = {none, all, one};
    const int64_t shapes[][2] = {{2, 2}, {2, 0}, {0, 2}};

    for (int64_t c = 0; c < 3; c++)
        for (int64_t i = 0; i < 3; i++) {
            const matrix x = dense_of(s, shapes[i][0], shapes[i][1], data);
            const ranker r = fit(s, 1, 5, x, NULL, 3, sets[c]);
            const double f[] = {0, 0, 0};
            uint8_t set[3];
            ranker_decide(3, r.threshold, f, set);
            if (i < 2 && c < 2) /* no order to learn, only the count */
                assert_true(set[0] == c && set[1] == c && set[2] == c);
            if (i == 0 && c == 2) {
                const block scores = block_new(s, HERE(2), 2, 3);
                ranker_scores(s, &r, x, NULL, scores);
                for (int64_t k = 0; k < 2; k++)
                    assert_true(ROW(scores, k)[2] < ROW(scores, k)[k]);
            }
        }
}

static ferry_answer stop(void *user, const ferry_progress *p)
{
    return p->done < 3 ? FERRY_GO : *(ferry_answer *)user;
}

static void hundred(scope *s, void *arg)
{
    const problem p = make(s, 20, 3, 4);
    const ranker_options o = {.C = 1, .epochs = 100, .scale = true};

    *(ranker *)arg = ranker_fit(s, s, &o, p.x, NULL, 4, p.on);
}

static ferry_answer answer;

IN_SCOPE(test_finish)
{
    const problem p = make(s, 20, 3, 4);
    const ranker three = fit(s, 1, 3, p.x, NULL, 4, p.on);
    ranker r;

    answer = FERRY_FINISH;
    ferry_ctx_set_progress(scope_ctx(s), stop, &answer);
    hundred(s, &r);
    assert_true(r.finish);
    all_close(16, r.w.at, three.w.at, 0);
}

static void test_cancel(void **state)
{
    ranker r;

    answer = FERRY_CANCEL;
    ferry_ctx_set_progress(*state, stop, &answer);
    assert_int_equal(scope_run(*state, hundred, &r), FERRY_ECANCELLED);
}

static void everything(scope *s, void *arg)
{
    const problem p = make(s, 9, 3, 2);
    const ranker_options o = {.C = 1, .epochs = 2, .scale = true, .shuffle = true};
    const ranker r = ranker_fit(s, s, &o, p.x, NULL, p.m, p.on);

    (void)arg;
    ranker_scores(s, &r, p.x, NULL, block_new(s, p.x.rows, p.x.n, p.m));
}

static ferry_status run_everything(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, everything, arg);
}

static void test_allocations_fail(void **state)
{
    each_allocation_fails(*state, run_everything, NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_golden),           T(test_thresholds),      T(test_best_threshold),
        T(test_one_pair),         T(test_sparse_and_mean), T(test_minimum),
        T(test_stops_by_gap),     T(test_shuffled),        T(test_own_features),
        T(test_degenerate),       T(test_finish),          T(test_cancel),
        T(test_allocations_fail),
    };
    return cmocka_run_group_tests_name("ranksvm", tests, NULL, NULL);
}
