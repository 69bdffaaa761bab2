/* The two-level hedge, and hetomtl-paper and omtlmc over it: streams worked out by an independent program
 * (golden/hetomtl where present, a few numbers here), and what the methods say. The behaviour that all stream methods
 * share is in test_stream.c. */
#include "learn/hedge.h"

#include <stdio.h>

#include "golden.h"
#include "learn/cdspp_spaces.h"
#include "methods/method.h"
#include "small_task.h"

/* ---- the golden streams ---- */

static pa weights(scope *s, const json_t *j, const char *key, pa_kind kind, double C)
{
    int64_t k = 0, d = 0;
    double *w = golden_array(j, key, &k, &d);
    const pa p = pa_new(s, kind, C, k, d, false);

    memcpy(p.w.at, w, (size_t)(k * d) * sizeof *w);
    free(w);
    return p;
}

static block block_of(scope *s, int64_t n, int64_t k, double *from)
{
    const block b = block_new(s, HERE(n), n, k);

    memcpy(b.at, from, (size_t)(n * k) * sizeof *from);
    free(from);
    return b;
}

/* The model that the file gives: Pt as Q, R = 1. */
static hedge given(scope *s, const json_t *j)
{
    const char *step = json_string_value(golden_at(j, "variant"));
    const char *post = json_string_value(golden_at(j, "post"));
    const pa_kind kind = strcmp(step, "PA1") == 0 ? PA1 : PA_PRINTED;
    const double C = golden_real(j, "C");
    const json_t *sources = golden_at(j, "sources");
    const int64_t n = (int64_t)json_array_size(sources);
    hedge h = {.rule = HEDGE_MISTAKES, .n = n, .n_codes = n};

    h.post = strcmp(post, "none") == 0 ? HEDGE_POST_NONE : HEDGE_POST_CENTRED;
    h.beta1 = golden_real(j, "beta1");
    h.beta2 = golden_real(j, "beta2");
    h.k = (int64_t)golden_real(j, "K");
    h.source = NEW(s, hedge_source, n);
    h.codes = NEW(s, hedge_block, n);
    h.r = NEW(s, hedge_block, n);
    h.mu = NEW(s, hedge_block, n);
    h.ws = NEW(s, pa, n);
    for (int64_t i = 0; i < n; i++) {
        const json_t *from = json_array_get(sources, (size_t)i);
        int64_t rank = 0, d = 0;
        double *pt = golden_transposed(from, "Pt", &d, &rank);
        h.source[i] = (hedge_source){.codes = i, .rank = rank};
        h.codes[i].b = block_of(s, rank, d, pt);
        h.r[i].b = block_new(s, HERE(rank), rank, rank);
        for (int64_t c = 0; c < rank; c++)
            ROW(h.r[i].b, c)[c] = 1;
        h.mu[i].b = block_of(s, 1, rank, golden_array(from, "mu", NULL, NULL));
        h.ws[i] = weights(s, from, "WS", kind, C);
    }
    h.target = weights(s, j, "WT_initial", kind, C);
    return h;
}

static void check_reals(const json_t *j, const char *key, const double *have)
{
    int64_t rows = 0, cols = 0;
    double *want = golden_array(j, key, &rows, &cols);

    for (int64_t i = 0; i < rows * cols; i++)
        assert_close(have[i], want[i], 1e-8);
    free(want);
}

static void check_round(scope *s, hedge *h, hedge_scores *f, const json_t *r,
                        const double *x)
{
    const ferry_row in = {h->target.w.k, NULL, x};
    int32_t votes[16];
    double u[8], v[8], alpha[8], score[16];

    hedge_online.see(h, f, in, score, votes);
    check_reals(r, "fS", f->fs);
    check_reals(r, "fT", f->ft);
    check_reals(r, "F", score);
    assert_int_equal(row_argmax(h->k, score), (int)golden_real(r, "pred"));
    assert_int_equal(votes[0], (int)golden_real(r, "predT"));
    for (int64_t i = 0; i < h->n; i++) {
        const json_t *ps = json_array_get(golden_at(r, "predS"), (size_t)i);
        const json_t *pi = json_array_get(golden_at(r, "predI"), (size_t)i);
        assert_int_equal(votes[1 + i], json_integer_value(ps));
        assert_int_equal(votes[1 + h->n + i], json_integer_value(pi));
    }
    if (!json_is_null(golden_at(r, "y")))
        hedge_online.learn(s, s, h, f,
                           &(stream_label){in, (int32_t)golden_real(r, "y"), votes, true});
    for (int64_t i = 0; i < h->n; i++) {
        u[i] = hedge_u(h, i);
        v[i] = 1 - u[i];
        alpha[i] = hedge_alpha(h, i);
    }
    check_reals(r, "u", u);
    check_reals(r, "v", v);
    check_reals(r, "alpha", alpha);
}

static void check_stream(scope *s, void *name)
{
    json_t *j = golden(name);
    const json_t *r;
    size_t t;

    if (!j) return;
    hedge h = given(s, j);
    double *x = golden_transposed(j, "Xon_rows_are_features", NULL, NULL);
    hedge_scores *f = hedge_online.scratch(s, &h, h.k, true, true);
    json_array_foreach(golden_at(j, "rounds"), t, r)
        check_round(s, &h, f, r, x + (int64_t)t * h.target.w.k);
    check_reals(j, "WT_final", h.target.w.at);
    free(x);
    json_decref(j);
}

static void test_golden(void **state)
{
    static const char *const files[] = {
        "hetomtl/stream_basic.json", "hetomtl/stream_cl2.json",
        "hetomtl/stream_printed_tau.json", "hetomtl/stream_small_C.json",
        "hetomtl/stream_zero_and_unlabelled.json"};

    for (int64_t i = 0; i < FERRY_COUNT(files); i++)
        assert_ok(*state, scope_run(*state, check_stream, (void *)files[i]));
}

/* The projections of those files come from their data by our solver too. */
static void check_offline(scope *s, void *name)
{
    json_t *j = golden(name);

    if (!j) return;
    for (size_t i = 0; i < json_array_size(golden_at(j, "sources")); i++) {
        const json_t *src = json_array_get(golden_at(j, "sources"), i);
        int64_t ds = 0, ns = 0, dt = 0, nt = 0;
        double *xs = golden_transposed(src, "Xs_rows_are_features", &ds, &ns);
        double *xt = golden_transposed(j, "Xt_rows_are_features", &dt, &nt);
        double *ys = golden_array(src, "ys", NULL, NULL),
               *yt = golden_array(j, "yt", NULL, NULL);
        int32_t cs[64], ct[64];
        const ferry_matrix m = {.rows = ns, .cols = ds, .nnz = ns * ds, .dense = xs},
                           t = {.rows = nt, .cols = dt, .nnz = nt * dt, .dense = xt};
        const cdspp_problem p = {{&m, cs},
                                 {&t, ct},
                                 (int64_t)golden_real(j, "K"),
                                 golden_real(j, "cdspp_alpha")};
        double mu[8] = {0};
        for (int64_t e = 0; e < ns; e++)
            cs[e] = (int32_t)ys[e];
        for (int64_t e = 0; e < nt; e++)
            ct[e] = (int32_t)yt[e];
        const cdspp_spaces c = cdspp_solve(s, &p, 0);
        check_reals(src, "lam", c.lambda);
        check_reals(src, "Ps", c.ps.at);
        check_reals(src, "Pt", c.pt.at);
        for (int64_t k = 0; k < c.rank; k++) {
            for (int64_t e = 0; e < ns * ds; e++)
                mu[k] += xs[e] * ROW(c.ps, e % ds)[k] / (double)(ns + nt);
            for (int64_t e = 0; e < nt * dt; e++)
                mu[k] += xt[e] * ROW(c.pt, e % dt)[k] / (double)(ns + nt);
        }
        check_reals(src, "mu", mu);
        free(xs);
        free(xt);
        free(ys);
        free(yt);
    }
    json_decref(j);
}

static void test_golden_offline(void **state)
{
    assert_ok(*state, scope_run(*state, check_offline, "hetomtl/stream_basic.json"));
    assert_ok(*state, scope_run(*state, check_offline, "hetomtl/stream_cl2.json"));
}

/* ---- the hedge by hand ---- */

/* One source, two classes, one feature. Source: f = (1, 0) x; target: f = (0, 3) x. */
static void by_hand(scope *s, void *none)
{
    double q[] = {2}, one[] = {1}, zero[] = {0}, x[] = {1}, score[2];
    hedge_block codes = {{HERE(1), 1, 1, q}}, r = {{HERE(1), 1, 1, one}},
                mu = {{HERE(1), 1, 1, zero}};
    hedge_source src = {.rank = 1};
    pa ws = pa_new(s, PA1, 1, 2, 1, false);
    hedge h = {.rule = HEDGE_MISTAKES,
               .k = 2,
               .n = 1,
               .n_codes = 1,
               .beta1 = 0.5,
               .beta2 = 0.5,
               .codes = &codes,
               .source = &src,
               .r = &r,
               .mu = &mu,
               .ws = &ws,
               .target = pa_new(s, PA1, 1, 2, 1, false)};
    int32_t votes[3];
    const ferry_row in = {1, NULL, x};

    (void)none;
    ws.w.at[0] = 0.5;
    h.target.w.at[1] = 3;
    hedge_scores *f = hedge_online.scratch(s, &h, 2, true, true);
    hedge_online.see(&h, f, in, score, votes);
    assert_close(score[0], 0.5, 1e-15); /* (1 + 0) / 2 */
    assert_close(score[1], 1.5, 1e-15);
    assert_true(votes[0] == 1 && votes[1] == 0 && votes[2] == 1);
    /* The class is 0: the target and the mixture were wrong; l = 1 - 0 + 3, tau = 1. */
    hedge_online.learn(s, s, &h, f, &(stream_label){in, 0, votes, true});
    assert_true(h.target.w.at[0] == 1 && h.target.w.at[1] == 2);
    assert_close(hedge_u(&h, 0), 1 / 1.5, 1e-15);
    assert_close(hedge_alpha(&h, 0), 1, 1e-15);
    assert_true(src.mt == 1 && src.ms == 0 && src.mi == 1);
    hedge_online.look(&h, f, in, score);
    assert_close(score[0], 2 / 3. * 1 + 1 / 3. * 1, 1e-15);
    assert_close(score[1], 1 / 3. * 2, 1e-15);
    /* Without votes the scores decide: now both are right. */
    hedge_online.learn(s, s, &h, f, &(stream_label){in, 0, NULL, false});
    assert_true(src.mt == 2 && src.ms == 0 && src.mi == 1);
    src.mt = 100000; /* no overflow, no NaN */
    assert_close(hedge_u(&h, 0), 1, 1e-15);
    src.ms = 300000;
    assert_close(hedge_u(&h, 0), 0, 1e-15);
}

static void test_by_hand(void **state)
{
    assert_ok(*state, scope_run(*state, by_hand, NULL));
}

/* ---- the methods ---- */

static ferry_task *task_of(ferry_ctx *ctx, const char *first, const char *second,
                           const char *target)
{
    double x[12 * 4];
    ferry_domain *a, *b, *t;
    ferry_task *task;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 0);
    for (int e = 0; e < 48; e++)
        x[e] = ferry_i_rng_normal(&rng);
    a = small_domain(ctx, "a", FERRY_SOURCE, 12, 4, x);
    b = small_domain(ctx, "b", FERRY_SOURCE, 6, 8, x);
    t = small_domain(ctx, "t", FERRY_TARGET, 8, 6, x);
    small_classes(ctx, a, first);
    small_classes(ctx, b, second);
    if (target) small_classes(ctx, t, target);
    task = small_task(ctx, FERRY_CLASSIFY, a, t);
    assert_ok(ctx, ferry_task_add_domain(ctx, task, b));
    return task;
}

static char said[512];

static void hear(void *user, ferry_level level, const char *text)
{
    (void)user;
    if (level == FERRY_WARN) (void)snprintf(said, sizeof said, "%s", text);
}

/* What the two methods share speaks under the name of the one that is asked. */
static void test_names(void **state)
{
    static const char *const methods[] = {"hetomtl-paper", "omtlmc"};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "abcabcabcabc", "abcabc", "abcabc??");
    const double v[4] = {0};
    ferry_domain *two = small_domain(ctx, "two", FERRY_TARGET, 2, 2, v);
    ferry_prediction p = {.n = 0};

    small_view(ctx, two, "more", 2, 2, v, NULL, NULL, false);
    for (int i = 0; i < 2; i++) {
        char want[64];
        ferry_model *m = fit_model(ctx, task, methods[i], "");
        (void)snprintf(want, sizeof want, "%s has one view, domain 'two' 2", methods[i]);
        assert_fails(ctx, m->method->predict(ctx, m->state, two, &p), FERRY_EDATA, want);
        ferry_model_free(m);
    }
    ferry_domain_free(two);
    ferry_task_free(task);
}

static void test_what_fits(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "abcabcabcabc", "xyzxyz", "abcabc??");
    ferry_model *m;

    ferry_ctx_set_log(ctx, hear, FERRY_WARN, NULL);
    m = fit_model(ctx, task, "hetomtl-paper", "");
    assert_string_equal(
        said, "hetomtl-paper: source 'b' has no labelled class of the target's; left out");
    assert_int_equal(ferry_i_model_vote_count(m), 3);
    assert_int_equal(ferry_i_model_class_count(m), 6);
    ferry_model_free(m);
    ferry_task_free(task);
    task = task_of(ctx, "xyzxyzxyzxyz", "xyzxyz", "abcabc??");
    assert_fails(ctx, ferry_fit(ctx, task, "omtlmc", NULL, &m, NULL), FERRY_ENEEDS,
                 "omtlmc needs a source with a class that the target's labelled rows have");
    ferry_task_free(task);
    task = task_of(ctx, "abcabcabcabc", "abcabc", NULL);
    assert_fails(ctx, method_fits(ctx, "hetomtl-paper", task, NULL), FERRY_ENEEDS,
                 "hetomtl-paper needs");
    assert_ok(ctx, method_fits(ctx, "hetomtl", task, NULL));
    ferry_task_free(task);
    task = task_of(ctx, "????????????", "??????", "abc?????");
    assert_fails(ctx, method_fits(ctx, "hetomtl-paper", task, NULL), FERRY_ENEEDS,
                 "hetomtl-paper needs");
    ferry_task_free(task);
}

/* Sources with equal class counts share their codes; the paper's betas; parts add up. */
static void test_shared_codes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "abcabcabcabc", "abcabc", "abcabc??");
    const char *names[3];
    double w[3];
    ferry_model *m = fit_model(ctx, task, "hetomtl-paper", "per_class=2 horizon=24");
    ferry_dict *dict = NULL;
    const double *beta = NULL;
    int64_t a = 1, b = 2;

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, dict));
    assert_true(ferry_i_dict_has(dict, "codes.0") && !ferry_i_dict_has(dict, "codes.1"));
    assert_ok(ctx, ferry_i_dict_reals(ctx, dict, "beta", &a, &b, &beta));
    assert_close(beta[0], 0.8547414013233285, 1e-14);
    assert_close(beta[1], 0.8547414013233285, 1e-14);
    ferry_i_dict_free(dict);
    assert_int_equal(ferry_i_model_parts(m, NULL, NULL), 3);
    assert_int_equal(ferry_i_model_parts(m, names, w), 3);
    assert_string_equal(names[0], "target");
    assert_string_equal(names[2], "b");
    for (int i = 0; i < 3; i++)
        assert_close(w[i], i == 0 ? 0.5 : 0.25, 1e-15);
    ferry_model_free(m);
    m = fit_model(ctx, task, "hetomtl-paper", "");
    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, dict));
    assert_true(ferry_i_dict_has(dict, "codes.1")); /* 4 and 2 of a class */
    ferry_i_dict_free(dict);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* Nothing of the sources is read by hetomtl; per_class draws so many rows of each class for hetomtl-paper. */
static void test_sources(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t1 = task_of(ctx, "abcabcabcabc", "abcabc", "abcabc??");
    ferry_task *t2 = task_of(ctx, "aaaabbbbcccc", "ccccca", "abcabc??");
    static const char *const how[][3] = {{"hetomtl", "", "same"},
                                         {"hetomtl-paper", "", ""},
                                         {"hetomtl-paper", "per_class=1", ""}};

    for (int i = 0; i < 3; i++) {
        ferry_prediction *p = fit_predict(ctx, t1, how[i][0], how[i][1], t1->domains[1]);
        ferry_prediction *q = fit_predict(ctx, t2, how[i][0], how[i][1], t1->domains[1]);
        const bool same =
            memcmp(p->score, q->score, (size_t)(p->n * p->k) * sizeof *p->score) == 0;
        assert_int_equal(same, how[i][2][0] != 0);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
    }
    ferry_task_free(t1);
    ferry_task_free(t2);
}

/* Theorems 1 and 2: the bounds by hand, and beside the mistakes of a stream whose learners all say the same, where none
 * can be better than the best; OMTL-MC counts losses, of which they do not speak. */
static void test_bounds(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "abcabcabcabc", "abcabc", "abcabc??");
    const char *names[8];
    double w[8];

    /* equation 39 of min M = 20, then 40: 20 + 3/2 sqrt(20 ln 2) + ln 2 */
    const double root = sqrt(20), beta = root / (root + sqrt(log(2)));
    assert_close(hedge_bound(beta, 2, 20), 20 + 1.5 * sqrt(20 * log(2)) + log(2), 1e-12);
    assert_close(hedge_bound(0.5, 4, 10), 15 + 2 * log(4), 1e-12);
    assert_true(isinf(hedge_bound(1, 2, 3)));
    assert_true(hedge_bound(1, 1, 3) == 3); /* one source, betas from the horizon */
    ferry_model *m = fit_model(ctx, task, "hetomtl-paper", "");
    assert_int_equal(ferry_i_model_counts(m, NULL, NULL), 4);
    assert_int_equal(ferry_i_model_counts(m, names, w), 4);
    assert_string_equal(names[1], "bound");
    assert_true(w[0] == 0 && w[2] == 0); /* nothing was seen yet */
    assert_close(w[1], log(2) / (1 - 0.9), 1e-12);
    assert_close(w[3], log(2) / (1 - 0.9), 1e-12);
    int64_t made = 0;
    for (int t = 0; t < 60; t++) { /* classes at random: no learner can know */
        double x[8] = {0};
        const char *cls[] = {"a", "b", "c"};
        int32_t answered = -1, votes[16];
        x[(t * 7 + t / 5) % 2] = 1;
        const ferry_row row = {ferry_i_model_columns(m), NULL, x};
        assert_ok(ctx, ferry_model_see(ctx, m, &row, &answered, NULL, votes));
        made += strcmp(ferry_model_class_at(m, answered), cls[(t * t + t / 3) % 3]) != 0;
        assert_ok(ctx, ferry_model_learn(ctx, m, &row, cls[(t * t + t / 3) % 3], votes));
    }
    (void)ferry_i_model_counts(m, names, w);
    assert_true(made > 10 && (double)made <= w[1] && w[0] <= w[1] && w[2] <= w[3]);
    ferry_model_free(m);
    m = fit_model(ctx, task, "omtlmc", "");
    assert_int_equal(ferry_i_model_counts(m, NULL, NULL), 0);
    ferry_model_free(m);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden),    TEST(test_golden_offline), TEST(test_by_hand),
        TEST(test_what_fits), TEST(test_names),          TEST(test_shared_codes),
        TEST(test_sources),   TEST(test_bounds),
    };
    return cmocka_run_group_tests_name("hedge", tests, NULL, NULL);
}
