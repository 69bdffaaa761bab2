/* Choosing the bridge: measures, triples, the model, ranking, files. */
#include "ferry_test.h"

#include <stdio.h>

#include "select/select.h"

/* ---- a chain of domains: k shares words with those near it only ---- */

enum { DOMAINS = 7, DOCS = 48 };

/* Two classes; a document of domain k has words of the numbers 3k .. 3k + 15 of its
 * class. */
static void write_domains(void)
{
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 5);
    for (int k = 0; k < DOMAINS; k++) {
        ferry_text t = {0};
        char name[20];
        for (int i = 0; i < DOCS; i++) {
            ferry_i_text_addf(&t, "%s\t", i % 2 ? "up" : "down");
            for (int w = 0; w < 6; w++) {
                const int n = 3 * k + (int)ferry_i_rng_below(&rng, 16);
                const bool swap = ferry_i_rng_real(&rng) < 0.1;
                ferry_i_text_addf(&t, "%s%c%c ", (i % 2) != swap ? "high" : "low",
                                  'a' + n / 5, 'a' + n % 5);
            }
            ferry_i_text_add(&t, "\n");
        }
        snprintf(name, sizeof name, "d%d.txt", k);
        tmp_file(name, t.s, -1);
        ferry_i_text_free(&t);
    }
}

static const char *task_file(void)
{
    ferry_text t = {0};

    write_domains();
    ferry_i_text_add(&t, "task: far\ngoal: classify\ntext: {norm: l2}\ndomains:\n");
    for (int k = 0; k < DOMAINS; k++)
        ferry_i_text_addf(&t, "  - {name: d%d, role: %s, x: d%d.txt, label: first}\n", k,
                          k == 0             ? "source"
                          : k == DOMAINS - 1 ? "target"
                                             : "intermediate",
                          k);
    const char *path = tmp_file("far.yaml", t.s, -1);
    ferry_i_text_free(&t);
    return path;
}

static ferry_task *far_task(ferry_ctx *ctx)
{
    ferry_task *t = NULL;

    assert_ok(ctx, ferry_task_load(ctx, task_file(), NULL, &t));
    return t;
}

static ferry_selector *trained(ferry_ctx *ctx, const ferry_task *t)
{
    ferry_opts *opts = opts_of(ctx, "sample=24", "neighbours=5", NULL);
    ferry_selector *s = NULL;

    assert_ok(ctx, ferry_i_selector_train(ctx, t, opts, &s));
    ferry_opts_free(opts);
    return s;
}

/* ---- measures ---- */

static matrix dense(scope *s, int64_t rows, int64_t cols, const double *v)
{
    const matrix x = matrix_dense(s, HERE(rows), rows, cols);

    if (v) memcpy(x.m->dense, v, (size_t)(rows * cols) * sizeof *v);
    return x;
}

static void complexity_body(scope *s, void *arg)
{
    /* column 0 in 4 of 4 rows, 1 in one, 2 in none, 3 in two */
    const double counts[] = {1, 2, 0, 1, 1, 0, 0, 1, 3, 0, 0, 0, 1, 0, 0, 0};
    const double even[] = {-1, -1, 0, -1, 1, -1, 2, 5};
    const matrix x = dense(s, 4, 4, counts);

    (void)arg;
    /* of the three that occur, one is below 2 of 4 */
    assert_close(complexity(s, x, 0.5), 1.0 / 3, 1e-15);
    assert_close(complexity(s, x, 0.51), 2.0 / 3, 1e-15);
    /* column 0: four bins with one each; column 1: three in one bin, one in another */
    const double h0 = log(4), h1 = -(0.75 * log(0.75) + 0.25 * log(0.25));
    assert_close(complexity(s, dense(s, 4, 2, even), 0.1), 1 - (h0 + h1) / 2 / log(10),
                 1e-12);
}

static void test_complexity(void **state)
{
    assert_ok(*state, scope_run(*state, complexity_body, NULL));
}

static void distance_body(scope *s, void *arg)
{
    const matrix a = dense(s, 200, 3, NULL), b = dense(s, 151, 3, NULL);
    ferry_rng rng;

    (void)arg;
    ferry_i_rng_seed(&rng, 1, 1);
    for (int64_t i = 0; i < a.m->nnz; i++)
        a.m->dense[i] = ferry_i_rng_normal(&rng);
    for (int64_t i = 0; i < b.m->nnz; i++)
        b.m->dense[i] = ferry_i_rng_normal(&rng);
    const double d = a_distance(s, a, b, 1);
    assert_true(d >= 0 && d < 0.35);
    for (int64_t i = 0; i < b.n; i++)
        b.m->dense[3 * i] += 20;
    assert_close(a_distance(s, a, b, 1), 2, 0);
}

static void test_distance(void **state)
{
    assert_ok(*state, scope_run(*state, distance_body, NULL));
}

/* ---- the model ---- */

/* At the maximum of the likelihood (but for the little ridge) the residuals are orthogonal
 * to the constant and nearly so to every feature. */
static void logistic_body(scope *s, void *arg)
{
    enum { N = 300 };
    static double c[N * SELECT_FEATURES];
    static uint8_t y[N];
    static int64_t target[N];
    select_trust trust = {0};
    ferry_rng rng;
    double constant = 0, ones = 0;

    (void)arg;
    ferry_i_rng_seed(&rng, 2, 2);
    for (int64_t i = 0; i < N; i++) {
        double *row = c + i * SELECT_FEATURES;
        for (int j = 0; j < SELECT_FEATURES; j++)
            row[j] = 5 + ferry_i_rng_normal(&rng) * (j + 1);
        row[2] = 7; /* a constant feature is harmless */
        y[i] = ferry_i_rng_real(&rng) < 1 / (1 + exp(-(2 * (row[0] - 5) - 1)));
        target[i] = i % 5;
        ones += y[i];
    }
    select_model m = select_fit(s, N, c, y);
    for (int64_t i = 0; i < N; i++)
        constant += y[i] - select_f(&m, c + i * SELECT_FEATURES);
    assert_close(constant, 0, 1e-6);
    for (int j = 0; j < SELECT_FEATURES; j++) {
        double dot = 0;
        for (int64_t i = 0; i < N; i++)
            dot += (y[i] - select_f(&m, c + i * SELECT_FEATURES)) *
                   (c[i * SELECT_FEATURES + j] - m.mean[j]) / m.sd[j] / N;
        assert_close(dot, 1e-3 * m.beta[j + 1], 1e-8);
    }
    assert_true(m.beta[1] > 1.2 && m.beta[1] < 2.8);
    assert_close(m.beta[3], 0, 1e-12);
    select_check(s, N, c, y, target, &trust);
    assert_true(trust.accuracy > 0.7 && trust.accuracy < 0.95 && trust.auc > 0.75);
    for (int64_t i = 0; i < N; i++)
        y[i] = i < 5; /* too few for ten folds; all of one target's are alike */
    select_check(s, N, c, y, target, &trust);
    assert_true(isnan(trust.accuracy));
    for (int64_t i = 0; i < N; i++)
        y[i] = c[i * SELECT_FEATURES] > 5; /* can be told apart without error */
    m = select_fit(s, N, c, y);
    assert_true(isfinite(m.beta[1]) && m.beta[1] > 3);
}

static void test_logistic(void **state)
{
    assert_ok(*state, scope_run(*state, logistic_body, NULL));
}

/* ---- triples ---- */

/* Domains 0 and 6 have no word in common: only what lies between carries a label over. */
static void triples_body(scope *s, void *arg)
{
    const select_options o = {24, 5, 1.03, 0.1, 1, SELECT_RBF, ""};
    select_options knn = o;
    int64_t n = 0, m = 0;
    double middle = 0, side = 0;

    const select_set set = measured_domains(s, arg, &o, true);
    assert_int_equal(set.n, DOMAINS);
    assert_close(set.distance[0 * DOMAINS + 6], 2, 0);
    assert_true(set.distance[1] < 1.6 && set.distance[1] > 0);
    const select_triple *tr = labelled_triples(s, &set, 0, &o, &n);
    assert_int_equal(n, DOMAINS * (DOMAINS - 1) * (DOMAINS - 2));
    for (int64_t i = 0; i < n; i++) {
        if (tr[i].s != 0 || tr[i].t != 6) continue;
        assert_true(tr[i].st <= 0.75);
        if (tr[i].i == 3) middle = tr[i].sit;
        if (tr[i].i == 1) side = tr[i].sit;
    }
    assert_true(middle > 0.6 && middle > side);
    knn.propagation = SELECT_KNN;
    const select_triple *other = labelled_triples(s, &set, 0, &knn, &m);
    assert_int_equal(m, n);
    bool differ = false;
    for (int64_t i = 0; i < n; i++)
        differ = differ || tr[i].sit != other[i].sit;
    assert_true(differ);
}

static void test_triples(void **state)
{
    ferry_task *t = far_task(*state);

    assert_ok(*state, scope_run(*state, triples_body, t));
    ferry_task_free(t);
}

/* ---- ranking ---- */

typedef struct ranked {
    const ferry_task *t;
    const ferry_selector *s;
    const ferry_way *w;
} ranked;

/* A chain's probability is the product over its triples. */
static void chain_body(scope *s, void *arg)
{
    const ranked *r = arg;
    const select_set set = measured_domains(s, r->t, &r->s->o, true);
    const ferry_way *w = r->w;
    const int64_t at[] = {0, w->domain[0][1] - '0', w->domain[1][1] - '0',
                          w->domain[2][1] - '0', 6};
    double c[SELECT_FEATURES], p = 1;

    for (int k = 0; k < 3; k++) {
        triple_features(&set, at[k], at[k + 1], at[k + 2], c);
        p *= select_f(&r->s->m, c);
    }
    assert_close(w->probability, p, 1e-14);
}

static void test_ranking(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = far_task(ctx);
    ferry_selector *s = trained(ctx, t);
    ferry_selection *r = NULL;
    char *text = NULL;
    int64_t of[4] = {0, 0, 0, 0};

    assert_close(s->trust.triples, 6 * 5 * 4, 0); /* the target is not among them */
    assert_true(s->trust.positive > 0 && isfinite(s->trust.correlation));
    assert_ok(ctx, ferry_i_select(ctx, s, t, 3, &r));
    const int64_t n = r->n;
    for (int64_t i = 0; i < n; i++) {
        const ferry_way *w = ferry_selection_at(r, i);
        assert_string_equal(w->source, "d0");
        assert_string_equal(w->target, "d6");
        assert_true(w->probability > 0 && w->probability < 1);
        of[w->n]++;
        if (i > 0) {
            const ferry_way *before = ferry_selection_at(r, i - 1);
            assert_true(before->n < w->n ||
                        (before->n == w->n && before->probability >= w->probability));
        }
        for (int64_t k = 0; k < w->n; k++) {
            assert_string_not_equal(w->domain[k], "d6");
            for (int64_t l = 0; l < k; l++)
                assert_string_not_equal(w->domain[k], w->domain[l]);
        }
    }
    assert_int_equal(of[1], 5);
    assert_int_equal(of[2], 20);
    assert_int_equal(of[3], 20); /* of 60, the best */
    assert_null(ferry_selection_at(r, n));
    assert_null(ferry_selection_at(r, -1));
    assert_ok(ctx, ferry_selection_table(ctx, r, NULL, &text));
    assert_non_null(strstr(text, "far: bridges to 'd6', 5 candidates"));
    assert_non_null(strstr(text, "chains of 3"));
    assert_non_null(
        strstr(text, "How far to trust it: learned from 120 triples of 6 domains"));
    ferry_string_free(text);
    assert_ok(ctx, ferry_selection_table(ctx, r, "json", &text));
    assert_non_null(strstr(text, "\"distance_source_bridge\""));
    assert_non_null(strstr(text, "\"correlation\""));
    ferry_string_free(text);

    ranked last = {t, s, ferry_selection_at(r, n - 1)};
    assert_ok(ctx, scope_run(ctx, chain_body, &last));
    ferry_selection_free(r);
    /* a model that only looks at S-I and I-T takes the one nearest to both */
    s->m = (select_model){.beta = {0, 0, 0, 0, -1, 0, -1}, .sd = {1, 1, 1, 1, 1, 1}};
    assert_ok(ctx, ferry_i_select(ctx, s, t, 1, &r));
    assert_int_equal(r->n, 5);
    for (int64_t i = 1; i < 5; i++) {
        const double *a = ferry_selection_at(r, i - 1)->feature;
        const double *b = ferry_selection_at(r, i)->feature;
        assert_true(a[3] + a[5] <= b[3] + b[5]);
    }
    ferry_selection_free(r);
    ferry_i_selector_free(s);
    ferry_task_free(t);
}

/* Saved and loaded it ranks the same, to the bit, with any number of threads. */
static void test_file(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = far_task(ctx);
    ferry_selector *s = trained(ctx, t), *again = NULL;
    ferry_selection *a = NULL, *b = NULL;
    char *ta = NULL, *tb = NULL;
    const char *path = tmp_path("s.ferry");
    ferry_model *m = NULL;

    /* triples side by side: the same bits as one after the other */
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 4));
    for (int jobs = 1; jobs <= 3; jobs += 2) {
        assert_ok(ctx, ferry_i_ctx_set_jobs(ctx, jobs));
        again = trained(ctx, t);
        assert_memory_equal(&again->m, &s->m, sizeof s->m);
        assert_memory_equal(&again->trust, &s->trust, sizeof s->trust);
        ferry_i_selector_free(again);
    }
    assert_ok(ctx, ferry_i_selector_save(ctx, s, path));
    assert_ok(ctx, ferry_i_selector_load(ctx, path, &again));
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    assert_ok(ctx, ferry_i_select(ctx, s, t, 3, &a));
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 3));
    assert_ok(ctx, ferry_i_select(ctx, again, t, 3, &b));
    assert_ok(ctx, ferry_selection_table(ctx, a, "json", &ta));
    assert_ok(ctx, ferry_selection_table(ctx, b, "json", &tb));
    assert_string_equal(ta, tb);
    ferry_string_free(ta);
    ferry_string_free(tb);
    ferry_selection_free(a);
    ferry_selection_free(b);
    ferry_i_selector_free(again);
    /* neither is the other's kind */
    assert_fails(ctx, ferry_model_load(ctx, path, NULL, &m), FERRY_EDATA, "selector");
    s->m.sd[2] = 0;
    assert_ok(ctx, ferry_i_selector_save(ctx, s, path));
    assert_fails(ctx, ferry_i_selector_load(ctx, path, &again), FERRY_EDATA,
                 "a deviation is not above 0");
    s->m.sd[2] = 1;
    s->o.neighbours = 5000;
    assert_ok(ctx, ferry_i_selector_save(ctx, s, path));
    assert_fails(ctx, ferry_i_selector_load(ctx, path, &again), FERRY_EDATA,
                 "tensor settings is out of range");
    assert_null(again);
    assert_fails(ctx, ferry_i_selector_load(ctx, tmp_path("none.ferry"), &again),
                 FERRY_EDATA, "No such file");
    ferry_i_selector_free(s);
    ferry_task_free(t);
}

/* ---- what does not go ---- */

static void fails_on(ferry_ctx *ctx, const char *yaml, const char *option, ferry_status st,
                     const char *message)
{
    ferry_task *t = NULL;
    ferry_selector *s = NULL;
    ferry_opts *opts = opts_of(ctx, option, NULL);

    assert_ok(ctx, ferry_task_load(ctx, tmp_file("bad.yaml", yaml, -1), NULL, &t));
    assert_fails(ctx, ferry_i_selector_train(ctx, t, opts, &s), st, message);
    assert_null(s);
    ferry_opts_free(opts);
    ferry_task_free(t);
}

#define HEAD "task: t\ngoal: classify\ndomains:\n"
#define D(name, role, file) "  - {name: " name ", role: " role ", " file "}\n"
#define TXT(f) "x: " f ".txt, label: first, format: text"

static void test_broken(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = NULL;
    ferry_selection *r = NULL;

    write_domains();
    tmp_file("few.csv", "a,b,label\n1,2,up\n2,1,down\n3,3,up\n", -1);
    tmp_file("wide.csv", "1,2,3\n2,1,3\n3,3,3\n1,2,3\n2,1,3\n3,3,3\n1,2,3\n2,1,3\n", -1);
    tmp_file("slim.csv", "1,2\n2,1\n3,3\n1,2\n2,1\n3,3\n1,2\n2,1\n", -1);
    fails_on(ctx, HEAD D("s", "source", TXT("d0")) D("t", "target", TXT("d6")), "t=1",
             FERRY_ENEEDS, "this task has 1 with labels");
    fails_on(ctx,
             HEAD D("s", "source", TXT("d0")) D("i", "intermediate", TXT("d1"))
                 D("j", "intermediate", TXT("d2")) D("t", "target", TXT("d6")),
             "t=1000", FERRY_EDATA, "none of the 6 triples has acc_sit > 1000 acc_st");
    fails_on(ctx,
             HEAD D("s", "source", TXT("d0")) D("i", "intermediate", TXT("d1"))
                 D("j", "intermediate", TXT("d2")) D("t", "target", TXT("d6")),
             "view=words", FERRY_ENEEDS, "domain 's' has no view 'words'");
    fails_on(ctx,
             HEAD D("s", "source", TXT("d0")) D("i", "intermediate", "x: few.csv")
                 D("j", "intermediate", TXT("d2")) D("t", "target", TXT("d6")),
             "t=1", FERRY_ENEEDS, "domain 'i' has 3 instances, expected 8 or more");
    fails_on(ctx,
             HEAD D("s", "source", TXT("d0")) D("i", "intermediate", TXT("d1"))
                 D("j", "intermediate", "x: slim.csv, header: no")
                     D("t", "target", TXT("d6")),
             "t=1", FERRY_ENEEDS, "names");
    fails_on(ctx,
             "task: t\ngoal: regress\ndomains:\n" D("s", "source", "x: few.csv, label: a"),
             "t=1", FERRY_ENEEDS, "select works for goal classify, not regress");
    /* ranking: no candidate; too long a chain; no target */
    const ferry_selector s = {.o = {24, 5, 1.03, 0.1, 1, 0, ""},
                              .m = {.sd = {1, 1, 1, 1, 1, 1}}};
    assert_ok(ctx, ferry_task_load(ctx,
                                   tmp_file("bad.yaml",
                                            HEAD D("s", "source", TXT("d0"))
                                                D("t", "target", TXT("d6")),
                                            -1),
                                   NULL, &t));
    assert_fails(ctx, ferry_i_select(ctx, &s, t, 3, &r), FERRY_ENEEDS,
                 "needs a source and the candidates");
    assert_fails(ctx, ferry_i_select(ctx, &s, t, 4, &r), FERRY_EINVAL, "expected 1 to 3");
    ferry_task_free(t);
    assert_null(r);
}

static ferry_answer stop(void *user, const ferry_progress *p)
{
    int *left = user;

    (void)p;
    return (*left)-- > 0 ? FERRY_GO : FERRY_CANCEL;
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = far_task(ctx);
    ferry_selector *s = NULL;

    for (int after = 0; after < 60; after += 20) {
        int left = after;
        ferry_ctx_set_progress(ctx, stop, &left);
        assert_int_equal(ferry_i_selector_train(ctx, t, NULL, &s), FERRY_ECANCELLED);
        assert_null(s);
    }
    ferry_ctx_set_progress(ctx, NULL, NULL);
    ferry_task_free(t);
}

static ferry_selection *asked(ferry_ctx *ctx, const ferry_task *t, ferry_opts *opts)
{
    ferry_selection *s = NULL;

    assert_ok(ctx, ferry_select(ctx, t, opts, &s));
    ferry_opts_free(opts);
    return s;
}

/* The public call: learns a selector, keeps it in a file, and takes it from there. */
static void test_by_paper(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = far_task(ctx);
    const char *path = tmp_path("kept.ferry");
    char save[300], from[300], *ta = NULL, *tb = NULL;

    (void)snprintf(save, sizeof save, "save=%s", path);
    (void)snprintf(from, sizeof from, "selector=%s", path);
    ferry_selection *a =
        asked(ctx, t, opts_of(ctx, "by=paper", "sample=24", "neighbours=5", save, NULL));
    ferry_selection *b = asked(ctx, t, opts_of(ctx, "by=paper", from, "longest=1", NULL));
    assert_true(b->n > 0 && b->n < a->n); /* the chains are gone */
    assert_string_equal(ferry_selection_at(a, 0)->domain[0],
                        ferry_selection_at(b, 0)->domain[0]);
    assert_ok(ctx, ferry_selection_table(ctx, b, NULL, &ta));
    assert_fails(ctx, ferry_selection_table(ctx, b, "csv", &tb), FERRY_EINVAL,
                 "unknown format csv (json)");
    ferry_string_free(ta);
    ferry_selection_free(a);
    ferry_selection_free(b);
    ferry_task_free(t);
}

static void test_wrong_settings(void **state)
{
    static const char *const wrong[][3] = {
        {"by=chance", "one=no", "by = chance: expected trial or paper"},
        {"selector=s.ferry", "one=no", "selector goes with by = paper"},
        {"save=s.ferry", "one=no", "save goes with by = paper"},
        {"by=paper", "longest=4", "longest = 4: expected 1, 2 or 3"},
        {"by=paper", "longest=", "longest = : expected 1, 2 or 3"},
        {"by=paper", "colour=red", "colour"},
        {"by=trial", "colour=red", "colour"},
    };
    ferry_ctx *ctx = *state;
    ferry_task *t = far_task(ctx);
    ferry_selection *s = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(wrong); i++) {
        ferry_opts *opts = opts_of(ctx, wrong[i][0], wrong[i][1], NULL);
        assert_fails(ctx, ferry_select(ctx, t, opts, &s), FERRY_EINVAL, wrong[i][2]);
        assert_null(s);
        ferry_opts_free(opts);
    }
    ferry_opts *opts = opts_of(ctx, "by=paper", "selector=s.ferry", "sample=24", NULL);
    assert_fails(ctx, ferry_select(ctx, t, opts, &s), FERRY_EINVAL,
                 "the settings of training are those of s.ferry");
    ferry_opts_free(opts);
    ferry_task_free(t);
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_opts *opts = NULL;
    ferry_selector *s = NULL, *again = NULL;
    ferry_selection *r = NULL;
    char *text = NULL;

    st = ferry_opts_new(ctx, &opts);
    if (st == FERRY_OK) st = ferry_opts_set(ctx, opts, "sample", "6");
    if (st == FERRY_OK) st = ferry_opts_set(ctx, opts, "neighbours", "2");
    if (st == FERRY_OK) st = ferry_opts_set(ctx, opts, "t", "1");
    if (st == FERRY_OK) st = ferry_i_selector_train(ctx, arg, opts, &s);
    if (st == FERRY_OK) st = ferry_i_selector_save(ctx, s, tmp_path("m.ferry"));
    if (st == FERRY_OK) st = ferry_i_selector_load(ctx, tmp_path("m.ferry"), &again);
    if (st == FERRY_OK) st = ferry_i_select(ctx, again, arg, 2, &r);
    if (st == FERRY_OK) st = ferry_selection_table(ctx, r, NULL, &text);
    ferry_string_free(text);
    text = NULL;
    if (st == FERRY_OK) st = ferry_selection_table(ctx, r, "json", &text);
    ferry_string_free(text);
    ferry_selection_free(r);
    ferry_i_selector_free(again);
    ferry_i_selector_free(s);
    ferry_opts_free(opts);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = NULL;

    write_domains();
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    assert_ok(ctx,
              ferry_task_load(
                  ctx,
                  tmp_file("m.yaml",
                           "task: m\ngoal: classify\ntext: {norm: l2}\ndomains:\n"
                           "  - {name: s, role: source, x: d0.txt, label: first}\n"
                           "  - {name: i, role: intermediate, x: d2.txt, label: first}\n"
                           "  - {name: j, role: intermediate, x: d4.txt, label: first}\n"
                           "  - {name: t, role: target, x: d6.txt, label: first}\n",
                           -1),
                  NULL, &t));
    each_allocation_fails(ctx, body, t);
    ferry_task_free(t);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_complexity), T(test_distance), T(test_logistic),       T(test_triples),
        T(test_ranking),    T(test_file),     T(test_broken),         T(test_cancel),
        T(test_memory),     T(test_by_paper), T(test_wrong_settings),
    };
    return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
