/* HetOMTL-CDSPP and its relatives: streams worked out by an independent program
 * (golden/hetomtl where present, a few numbers here), class codes against the slow way, and
 * what the methods say. The behaviour that all stream methods share is in test_stream.c. */
#include <stdio.h>

#include "golden.h"
#include "methods/hetomtl/hetomtl.h"
#include "methods/method.h"
#include "small_task.h"

/* ---- the golden streams ---- */

static ferry_pa *weights(ferry_ctx *ctx, const json_t *j, const char *key,
                         ferry_pa_kind kind, double C)
{
    int64_t k = 0, d = 0;
    double *w = golden_array(j, key, &k, &d);
    ferry_pa *p = NULL;

    assert_ok(ctx, ferry_i_pa_new(ctx, kind, C, k, d, false, &p));
    memcpy(p->w, w, (size_t)(k * d) * sizeof *w);
    free(w);
    return p;
}

static void *copied(int64_t n, size_t size, void *from)
{
    void *to = ferry_i_calloc(n, size);

    assert_non_null(to);
    memcpy(to, from, (size_t)n * size);
    free(from);
    return to;
}

/* The model that the file gives: Pt as Q, R = 1. */
static hedge given(ferry_ctx *ctx, const json_t *j)
{
    const char *variant = json_string_value(golden_at(j, "variant"));
    const char *post = json_string_value(golden_at(j, "post"));
    const ferry_pa_kind kind = strcmp(variant, "PA1") == 0 ? FERRY_PA1 : FERRY_PA_PRINTED;
    const double C = golden_real(j, "C");
    const json_t *sources = golden_at(j, "sources");
    hedge h = {.rule = HEDGE_MISTAKES};

    h.post = strcmp(post, "none") == 0 ? HEDGE_POST_NONE : HEDGE_POST_CENTRED;
    h.beta1 = golden_real(j, "beta1");
    h.beta2 = golden_real(j, "beta2");
    h.n = h.n_groups = (int64_t)json_array_size(sources);
    h.k = (int64_t)golden_real(j, "K");
    h.source = ferry_i_calloc(h.n, sizeof *h.source);
    h.group = ferry_i_calloc(h.n, sizeof *h.group);
    for (int64_t i = 0; i < h.n; i++) {
        const json_t *s = json_array_get(sources, (size_t)i);
        hedge_source *o = &h.source[i];
        int64_t rank = 0;
        double *pt = golden_transposed(s, "Pt", &h.d, &rank);
        double *one = calloc((size_t)(rank * rank), sizeof *one);
        for (int64_t c = 0; c < rank; c++)
            one[c * rank + c] = 1;
        h.group[i] = (hedge_group){rank, copied(rank * h.d, sizeof *pt, pt)};
        o->name = ferry_i_strdup("s");
        o->group = i;
        o->rank = rank;
        o->r = copied(rank * rank, sizeof *one, one);
        o->mu = copied(rank, sizeof *one, golden_array(s, "mu", NULL, NULL));
        o->ws = weights(ctx, s, "WS", kind, C);
    }
    h.wt = weights(ctx, j, "WT_initial", kind, C);
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

static void check_round(hedge *h, hedge_scores *s, const json_t *r, const double *x)
{
    const ferry_row in = {h->d, NULL, x};
    const bool labelled = !json_is_null(golden_at(r, "y"));
    int32_t votes[16];
    double u[8], v[8], alpha[8];

    ferry_i_hedge_look(h, &in, s);
    ferry_i_hedge_votes(h, s, votes);
    check_reals(r, "fS", s->fs);
    check_reals(r, "fT", s->ft);
    check_reals(r, "F", s->total);
    assert_int_equal(ferry_i_argmax(h->k, s->total), (int)golden_real(r, "pred"));
    assert_int_equal(votes[0], (int)golden_real(r, "predT"));
    for (int64_t i = 0; i < h->n; i++) {
        const json_t *ps = json_array_get(golden_at(r, "predS"), (size_t)i);
        const json_t *pi = json_array_get(golden_at(r, "predI"), (size_t)i);
        assert_int_equal(votes[1 + i], json_integer_value(ps));
        assert_int_equal(votes[1 + h->n + i], json_integer_value(pi));
    }
    if (labelled) {
        const ferry_pa_step step =
            ferry_i_hedge_learn(h, &in, (int32_t)golden_real(r, "y"), votes, s);
        assert_int_equal(step.r, (int)golden_real(r, "r"));
        assert_close(step.loss, golden_real(r, "loss"), 1e-8);
        assert_close(step.tau, golden_real(r, "tau"), 1e-8);
    }
    for (int64_t i = 0; i < h->n; i++) {
        u[i] = ferry_i_hedge_u(h, i);
        v[i] = 1 - u[i];
        alpha[i] = ferry_i_hedge_alpha(h, i);
    }
    check_reals(r, "u", u);
    check_reals(r, "v", v);
    check_reals(r, "alpha", alpha);
}

static void check_stream(ferry_ctx *ctx, const char *name)
{
    json_t *j = golden(name);
    const json_t *r;
    hedge_scores s = {0};
    size_t t;
    hedge h;
    double *x;

    if (!j) return;
    h = given(ctx, j);
    x = golden_transposed(j, "Xon_rows_are_features", NULL, NULL);
    assert_ok(ctx, ferry_i_hedge_scores_new(ctx, &h, h.k, &s));
    json_array_foreach(golden_at(j, "rounds"), t, r)
        check_round(&h, &s, r, x + (int64_t)t * h.d);
    check_reals(j, "WT_final", h.wt->w);
    free(x);
    ferry_i_hedge_scores_clear(&s);
    ferry_i_hedge_clear(&h);
    json_decref(j);
}

static void test_golden(void **state)
{
    check_stream(*state, "hetomtl/stream_basic.json");
    check_stream(*state, "hetomtl/stream_cl2.json");
    check_stream(*state, "hetomtl/stream_printed_tau.json");
    check_stream(*state, "hetomtl/stream_small_C.json");
    check_stream(*state, "hetomtl/stream_zero_and_unlabelled.json");
}

/* The projections of those files come from their data by our solver too. */
static void check_offline(ferry_ctx *ctx, const char *name)
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
        const ferry_matrix s = {.rows = ns, .cols = ds, .nnz = ns * ds, .dense = xs},
                           t = {.rows = nt, .cols = dt, .nnz = nt * dt, .dense = xt};
        const cdspp_problem p = {{&s, cs},
                                 {&t, ct},
                                 (int64_t)golden_real(j, "K"),
                                 golden_real(j, "cdspp_alpha")};
        cdspp c = {0};
        double sum[8] = {0};
        for (int64_t e = 0; e < ns; e++)
            cs[e] = (int32_t)ys[e];
        for (int64_t e = 0; e < nt; e++)
            ct[e] = (int32_t)yt[e];
        assert_ok(ctx, ferry_i_cdspp(ctx, &p, 0, &c));
        check_reals(src, "lam", c.lambda);
        check_reals(src, "Ps", c.ps->data);
        check_reals(src, "Pt", c.pt->data);
        for (int64_t k = 0; k < c.rank; k++) {
            for (int64_t e = 0; e < ns * ds; e++)
                sum[k] += xs[e] * FERRY_ROW(c.ps, e % ds)[k] / (double)(ns + nt);
            for (int64_t e = 0; e < nt * dt; e++)
                sum[k] += xt[e] * FERRY_ROW(c.pt, e % dt)[k] / (double)(ns + nt);
        }
        check_reals(src, "mu", sum);
        ferry_i_cdspp_clear(&c);
        free(xs);
        free(xt);
        free(ys);
        free(yt);
    }
    json_decref(j);
}

static void test_golden_offline(void **state)
{
    check_offline(*state, "hetomtl/stream_basic.json");
    check_offline(*state, "hetomtl/stream_cl2.json");
}

/* ---- the hedge by hand ---- */

/* One source, two classes, one feature. Source: f = (1, 0) x; target: f = (0, 3) x. */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    hedge h = {.rule = HEDGE_MISTAKES, .beta1 = 0.5, .beta2 = 0.5, .k = 2, .d = 1, .n = 1};
    double q[] = {2}, one[] = {1}, zero[] = {0}, x[] = {1};
    hedge_group g = {1, q};
    hedge_source src = {.rank = 1, .r = one, .mu = zero};
    hedge_scores s = {0};
    int32_t votes[3];
    const ferry_row in = {1, NULL, x};

    h.group = &g;
    h.n_groups = 1;
    h.source = &src;
    assert_ok(ctx, ferry_i_pa_new(ctx, FERRY_PA1, 1, 2, 1, false, &src.ws));
    assert_ok(ctx, ferry_i_pa_new(ctx, FERRY_PA1, 1, 2, 1, false, &h.wt));
    src.ws->w[0] = 0.5;
    h.wt->w[1] = 3;
    assert_ok(ctx, ferry_i_hedge_scores_new(ctx, &h, 2, &s));
    ferry_i_hedge_look(&h, &in, &s);
    ferry_i_hedge_votes(&h, &s, votes);
    assert_close(s.total[0], 0.5, 1e-15); /* (1 + 0) / 2 */
    assert_close(s.total[1], 1.5, 1e-15);
    assert_true(votes[0] == 1 && votes[1] == 0 && votes[2] == 1);
    /* The class is 0: the target and the mixture were wrong; l = 1 - 0 + 3, tau = 1. */
    const ferry_pa_step step = ferry_i_hedge_learn(&h, &in, 0, votes, &s);
    assert_true(step.r == 1 && step.loss == 4 && step.tau == 1);
    assert_close(ferry_i_hedge_u(&h, 0), 1 / 1.5, 1e-15);
    assert_close(ferry_i_hedge_alpha(&h, 0), 1, 1e-15);
    assert_true(src.mt == 1 && src.ms == 0 && src.mi == 1);
    ferry_i_hedge_look(&h, &in, &s);
    assert_close(s.total[0], 2 / 3. * 1 + 1 / 3. * 1, 1e-15);
    assert_close(s.total[1], 1 / 3. * 2, 1e-15);
    /* Without votes the scores decide: now both are right. */
    (void)ferry_i_hedge_learn(&h, &in, 0, NULL, &s);
    assert_true(src.mt == 2 && src.ms == 0 && src.mi == 1);
    src.mt = 100000; /* no overflow, no NaN */
    assert_close(ferry_i_hedge_u(&h, 0), 1, 1e-15);
    src.ms = 300000;
    assert_close(ferry_i_hedge_u(&h, 0), 0, 1e-15);
    ferry_i_hedge_scores_clear(&s);
    ferry_i_pa_free(src.ws);
    ferry_i_pa_free(h.wt);
}

/* ---- class codes ---- */

static const double grid[] = {0.1, 1, 10, 100, 1000};

/* f of x from the rows but `out`, with the counts of all: M^-1 by solving. */
static void slow_codes(ferry_ctx *ctx, const codes *c, int64_t out, double alpha,
                       const double *x, double *f)
{
    const int64_t n = c->n_offline, k = c->k;
    double count[8] = {0};
    ferry_small *m = NULL, *y = NULL;
    int64_t a = 0, b = 0;

    for (int64_t i = 0; i < n; i++)
        count[c->offline[i].cls]++;
    assert_ok(ctx, ferry_i_small_new(ctx, n - (out >= 0), n - (out >= 0), &m));
    assert_ok(ctx, ferry_i_small_new(ctx, n - (out >= 0), k, &y));
    for (int64_t i = 0; i < n; i++) {
        if (i == out) continue;
        FERRY_AT(y, a, c->offline[i].cls) = 1;
        b = 0;
        for (int64_t j = 0; j < n; j++) {
            if (j == out) continue;
            const int32_t p = c->offline[i].cls, q = c->offline[j].cls;
            const double o = c->o[p] > 0 ? c->o[p] : count[p], w = count[p] + o / 2;
            for (int64_t e = 0; e < c->d; e++)
                FERRY_AT(m, a, b) += c->offline[i].x->dense[e] * c->offline[j].x->dense[e];
            FERRY_AT(m, a, b) += alpha * ((i == j) / w + (p == q ? 2 / (w * o) : 0));
            b++;
        }
        a++;
    }
    assert_ok(ctx, ferry_e(ctx)->solve(ctx, m, y));
    memset(f, 0, (size_t)k * sizeof *f);
    a = 0;
    for (int64_t i = 0; i < n; i++) {
        double dot = 0;
        if (i == out) continue;
        for (int64_t e = 0; e < c->d; e++)
            dot += c->offline[i].x->dense[e] * x[e];
        for (int64_t p = 0; p < k; p++)
            f[p] += dot * FERRY_AT(y, a, p);
        a++;
    }
    FERRY_FREE(m, y);
}

/* The scores, and the alpha that leaving each row out would choose. */
static void test_codes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_rng rng;

    for (uint64_t seed = 0; seed < 8; seed++) {
        codes c = {0};
        double x[6], f[3], g[3], best = 0;
        int64_t least = 1000;
        ferry_i_rng_seed(&rng, seed, 0);
        assert_ok(ctx, ferry_i_codes_new(ctx, 3, 6, false, 5, 1.6, &c));
        c.o[0] = 4;
        c.o[1] = seed % 2 ? 2.5 : 0;
        for (int i = 0; i < 14; i++) {
            const ferry_row row = {6, NULL, x};
            for (int e = 0; e < 6; e++)
                x[e] = ferry_i_rng_normal(&rng) + (e == i % 3 ? 0.8 : 0);
            ferry_i_row_unit(6, x);
            assert_ok(ctx, ferry_i_codes_offline(ctx, &c, &row, i % 3));
        }
        for (int64_t a = 0; a < FERRY_COUNT(grid); a++) {
            int64_t wrong = 0;
            for (int64_t i = 0; i < 14; i++) {
                slow_codes(ctx, &c, i, grid[a], c.offline[i].x->dense, f);
                wrong += ferry_i_argmax(3, f) != i % 3;
            }
            if (wrong < least) best = grid[a];
            if (wrong < least) least = wrong;
        }
        assert_ok(ctx, ferry_i_codes_solve(ctx, &c, 0));
        assert_true(c.alpha == best);
        assert_int_equal(c.next, 23); /* 1.6 * 14 */
        ferry_i_row_scores(3, 6, c.v, &(ferry_row){6, NULL, x}, f);
        slow_codes(ctx, &c, -1, best, x, g);
        for (int k = 0; k < 3; k++)
            assert_close(f[k], g[k], 1e-10);
        ferry_i_codes_clear(&c);
    }
}

/* They span what CDSPP's projection of the target spans: V = diag(o / 2) Q'. */
static void test_codes_are_cdspp(void **state)
{
    ferry_ctx *ctx = *state;
    double xs[9 * 4], xt[6 * 10];
    int32_t ys[9], yt[6];
    const ferry_matrix s = {.rows = 9, .cols = 4, .nnz = 36, .dense = xs},
                       t = {.rows = 6, .cols = 10, .nnz = 60, .dense = xt};
    const cdspp_problem p = {{&s, ys}, {&t, yt}, 3, 0.7};
    cdspp d = {0};
    codes c = {0};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 2, 0);
    for (int e = 0; e < 36; e++)
        xs[e] = ferry_i_rng_normal(&rng);
    for (int e = 0; e < 60; e++)
        xt[e] = ferry_i_rng_normal(&rng);
    assert_ok(ctx, ferry_i_codes_new(ctx, 3, 10, false, 5, 1.6, &c));
    for (int i = 0; i < 9; i++)
        ys[i] = i < 4 ? 0 : i < 6 ? 1 : 2;
    for (int i = 0; i < 6; i++) {
        yt[i] = i % 3;
        assert_ok(ctx, ferry_i_codes_offline(ctx, &c, &(ferry_row){10, NULL, xt + 10 * i},
                                             yt[i]));
    }
    c.o[0] = 4;
    c.o[1] = 2;
    c.o[2] = 3;
    assert_ok(ctx, ferry_i_codes_solve(ctx, &c, 0.7));
    assert_ok(ctx, ferry_i_cdspp(ctx, &p, 0, &d));
    for (int k = 0; k < 3; k++)
        for (int e = 0; e < 10; e++)
            assert_close(c.v[k * 10 + e], FERRY_ROW(d.q, e)[k] * c.o[k] / 2, 1e-12);
    ferry_i_cdspp_clear(&d);
    ferry_i_codes_clear(&c);
}

/* The ring keeps the newest; solving happens when due; nothing kept is fine too. */
static void test_ring(void **state)
{
    ferry_ctx *ctx = *state;
    codes c = {0};
    codes_step step;
    double x[] = {1, 0};
    int64_t solved = 0;

    for (int64_t keep = 0; keep <= 3; keep += 3) {
        assert_ok(ctx, ferry_i_codes_new(ctx, 2, 2, keep == 3, keep, 2, &c));
        assert_ok(ctx, ferry_i_codes_offline(ctx, &c, &(ferry_row){2, NULL, x}, 0));
        for (int i = 0; i < 45; i++) {
            x[0] = i;
            x[1] = 1;
            assert_ok(ctx, ferry_i_codes_prepare(ctx, &c, &(ferry_row){2, NULL, x}, i % 2,
                                                 &step));
            if (step.v && keep) solved = 100 * solved + c.labels + 1;
            ferry_i_codes_commit(&c, &step);
        }
        assert_int_equal(c.n_ring, keep);
        for (int64_t i = 0; i < keep; i++)
            assert_close(c.ring[(c.first + i) % 3].x->value[0], 42. + (double)i, 0);
        assert_int_equal(c.labels, 46);
        ferry_i_codes_clear(&c);
    }
    assert_int_equal(solved, 102040); /* labels 10, 20, 40 */
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

static void test_what_fits(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "abcabcabcabc", "xyzxyz", "abcabc??");
    ferry_opts *paper = settings_of(ctx, "mode=paper");
    ferry_model *m;

    ferry_ctx_set_log(ctx, hear, FERRY_WARN, NULL);
    m = fit_model(ctx, task, "hetomtl", "mode=paper");
    assert_string_equal(
        said, "hetomtl: source 'b' has no labelled class of the target's; left out");
    assert_int_equal(ferry_model_vote_count(m), 3);
    assert_int_equal(ferry_model_class_count(m), 6);
    ferry_model_free(m);
    ferry_task_free(task);
    task = task_of(ctx, "xyzxyzxyzxyz", "xyzxyz", "abcabc??");
    assert_fails(ctx, ferry_fit(ctx, task, "omtlmc", NULL, &m, NULL), FERRY_ENEEDS,
                 "omtlmc needs a source with a class that the target's labelled rows have");
    ferry_task_free(task);
    task = task_of(ctx, "abcabcabcabc", "abcabc", NULL);
    assert_fails(ctx, ferry_method_fits(ctx, "hetomtl", task, paper), FERRY_ENEEDS,
                 "hetomtl mode=paper needs some labels in the target to begin with; target "
                 "'t' has none");
    assert_ok(ctx, ferry_method_fits(ctx, "hetomtl", task, NULL));
    ferry_task_free(task);
    task = task_of(ctx, "????????????", "??????", "abc?????");
    assert_fails(ctx, ferry_method_fits(ctx, "hetomtl", task, paper), FERRY_ENEEDS,
                 "hetomtl mode=paper needs a source with labels");
    ferry_task_free(task);
    ferry_opts_free(paper);
}

/* Sources with equal class counts share their codes; the paper's betas; parts add up. */
static void test_shared_codes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, "abcabcabcabc", "abcabc", "abcabc??");
    const char *names[3];
    double w[3], count[3] = {0}, one[3];
    ferry_model *m = fit_model(ctx, task, "hetomtl", "mode=paper per_class=2 horizon=24");
    ferry_dict *dict = NULL;
    const double *beta = NULL;
    int64_t a = 1, b = 2;

    (void)count;
    (void)one;
    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, dict));
    assert_true(ferry_i_dict_has(dict, "codes.0") && !ferry_i_dict_has(dict, "codes.1"));
    assert_ok(ctx, ferry_i_dict_reals(ctx, dict, "beta", &a, &b, &beta));
    assert_close(beta[0], 0.8547414013233285, 1e-14);
    assert_close(beta[1], 0.8547414013233285, 1e-14);
    ferry_i_dict_free(dict);
    assert_int_equal(m->method->online->parts(m->state, NULL, NULL), 3);
    assert_int_equal(m->method->online->parts(m->state, names, w), 3);
    assert_string_equal(names[0], "target");
    assert_string_equal(names[2], "b");
    for (int i = 0; i < 3; i++)
        assert_close(w[i], i == 0 ? 0.5 : 0.25, 1e-15);
    ferry_model_free(m);
    m = fit_model(ctx, task, "hetomtl", "mode=paper");
    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, dict));
    assert_true(ferry_i_dict_has(dict, "codes.1")); /* 4 and 2 of a class */
    ferry_i_dict_free(dict);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* A source of noise with the same counts gives mode experts the same model. */
static void test_source_is_counts(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t1 = task_of(ctx, "abcabcabcabc", "abcabc", "abcabc??");
    ferry_task *t2 = task_of(ctx, "aaaabbbbcccc", "cbacba", "abcabc??");
    ferry_prediction *p = fit_predict(ctx, t1, "hetomtl", "mode=experts", t1->domains[1]);
    ferry_prediction *q = fit_predict(ctx, t2, "hetomtl", "mode=experts", t1->domains[1]);

    assert_memory_equal(p->score, q->score, (size_t)(p->n * p->k) * sizeof *p->score);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_task_free(t1);
    ferry_task_free(t2);
}

static void test_draw(void **state)
{
    ferry_ctx *ctx = *state;
    const int32_t cls[] = {0, 1, 0, 0, 1, 0, 0};
    int64_t *row = NULL, n = 0;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 1);
    assert_ok(ctx, ferry_i_hedge_draw(ctx, 7, cls, 2, 0, &rng, &row, &n));
    assert_int_equal(n, 7);
    ferry_i_free(row);
    assert_ok(ctx, ferry_i_hedge_draw(ctx, 7, cls, 2, 2, &rng, &row, &n));
    assert_int_equal(n, 4);
    for (int i = 0, zero = 0; i < 4; i++) {
        assert_true(i == 0 || row[i - 1] < row[i]);
        zero += cls[row[i]] == 0;
        if (i == 3) assert_int_equal(zero, 2);
    }
    ferry_i_free(row);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden),    TEST(test_golden_offline),  TEST(test_by_hand),
        TEST(test_codes),     TEST(test_codes_are_cdspp), TEST(test_ring),
        TEST(test_what_fits), TEST(test_shared_codes),    TEST(test_source_is_counts),
        TEST(test_draw),
    };
    return cmocka_run_group_tests_name("hetomtl", tests, NULL, NULL);
}
