/* place: the steps against an independent program (golden/place where present), and the
 * method: names where the geometry holds, groups where it does not, rotations, files. */
#include <stdio.h>

#include "golden.h"
#include "methods/place.c" /* its insides */
#include "model/model.h"
#include "small_task.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

/* ---- golden ---- */

static block block_of(scope *s, const json_t *j, const char *key)
{
    int64_t rows = 0, cols = 0;
    double *v = golden_array(j, key, &rows, &cols);
    const block b = block_new(s, HERE(rows), rows, cols);

    memcpy(b.at, v, (size_t)(rows * cols) * sizeof *v);
    free(v);
    return b;
}

static void check(const json_t *j, const char *key, int64_t n, const double *have)
{
    int64_t rows = 0, cols = 0;
    double *want = golden_array(j, key, &rows, &cols);

    assert_int_equal(rows * cols, n);
    for (int64_t e = 0; e < n; e++)
        assert_close(have[e], want[e], 1e-9);
    free(want);
}

static void check_seeds(scope *s, const json_t *j, const class_rows *t, const kriging *f)
{
    const block rows = block_of(s, j, "seeds"), of = block_of(s, j, "seed_class"),
                pred = block_of(s, j, "pred"),
                answer = block_new(s, HERE(t->z.n), t->z.n, t->k);
    int64_t n = 0;
    const seed *at = find_seeds(s, t, f, &n);
    double width = 0;

    assert_int_equal(n, rows.n);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(at[i].row, (int64_t)rows.at[i]);
        assert_int_equal(at[i].cls, (int64_t)of.at[i]);
    }
    spread_labels(s, t, 5, n, at, &width, answer);
    const int32_t *best = argmax(s, answer);
    for (int64_t i = 0; i < t->z.n; i++)
        assert_int_equal(best[i], (int64_t)pred.at[i]);
}

static void check_steps(scope *s, void *arg)
{
    const json_t *j = arg;
    const block ys = block_of(s, j, "ys"), yt = block_of(s, j, "yt"),
                labelled = block_of(s, j, "labelled");
    int32_t *from = NEW(s, int32_t, ys.n), *to = NEW(s, int32_t, yt.n);
    const int64_t k = (int64_t)golden_real(j, "K");
    const uint8_t has[16] = {1, 1, 1, 1, 1, 1};
    const class_rows source = {block_of(s, j, "Xs"), from, k},
                     t = {block_of(s, j, "Xt"), to, k};

    for (int64_t i = 0; i < ys.n; i++)
        from[i] = (int32_t)ys.at[i];
    for (int64_t i = 0; i < yt.n; i++)
        to[i] = -1;
    for (int64_t i = 0; i < labelled.n; i++)
        to[(int64_t)labelled.at[i]] = (int32_t)yt.at[(int64_t)labelled.at[i]];
    const small b = small_new(s, k, k);
    class_geometry(s, &source, b);
    check(j, "B", k * k, b.at);
    kriging f = krige(s, &t, b, has);
    check(j, "M_kriged", k * t.z.k, f.means.at);
    test_geometry(s, b, scope_rng(s, "place"), &f);
    assert_close(f.r2, golden_real(j, "R2"), 1e-9);
    assert_close(f.p, golden_real(j, "p"), 1e-9);
    assert_int_equal(f.permutations, (int64_t)golden_real(j, "nperm"));
    lloyd(s, &t, &f);
    check(j, "M_lloyd", k * t.z.k, f.means.at);
    check_seeds(s, j, &t, &f);
}

static void golden_case(void **state)
{
    json_t *j = own_golden("place.json");

    assert_ok(*state, scope_run(*state, check_steps, j));
    json_decref(j);
}

/* ---- the method ---- */

enum { K = 8, SEEN = 6, EACH = 20, N = K * EACH, DS = 6, DT = 5 };

/* Rows of K classes around means that lie in three dimensions, seen through `map` (3 x d). */
static void draw(ferry_rng *rng, int64_t d, double sd, double mean[K][3], double *x)
{
    double map[3 * 16];

    for (int64_t e = 0; e < 3 * d; e++)
        map[e] = ferry_i_rng_normal(rng);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < d; j++) {
            x[i * d + j] = sd * ferry_i_rng_normal(rng);
            for (int64_t h = 0; h < 3; h++)
                x[i * d + j] += mean[i / EACH][h] * map[h * d + j];
        }
}

/* A source and a target with the same geometry (or not), three labels of SEEN classes. */
static ferry_task *noisy_task(ferry_ctx *ctx, bool same, double noise, double xs[N * DS],
                              double xt[N * DT])
{
    double mean[K][3], other[K][3];
    char ys[N + 1] = {0}, yt[N + 1] = {0};
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "test");
    for (int64_t c = 0; c < K; c++)
        for (int64_t h = 0; h < 3; h++) {
            mean[c][h] = 3 * ferry_i_rng_normal(&rng);
            other[c][h] = 3 * ferry_i_rng_normal(&rng);
        }
    draw(&rng, DS, noise, same ? mean : other, xs);
    draw(&rng, DT, noise, mean, xt);
    for (int64_t i = 0; i < N; i++) {
        ys[i] = (char)('a' + i / EACH);
        yt[i] = i / EACH < SEEN && i % EACH < 3 ? ys[i] : '?';
    }
    ferry_domain *s = small_domain(ctx, "source", FERRY_SOURCE, N, DS, xs);
    ferry_domain *t = small_domain(ctx, "target", FERRY_TARGET, N, DT, xt);
    small_classes(ctx, s, ys);
    small_classes(ctx, t, yt);
    return small_task(ctx, FERRY_CLASSIFY, s, t);
}

static ferry_task *task_of(ferry_ctx *ctx, bool same, double xs[N * DS], double xt[N * DT])
{
    return noisy_task(ctx, same, 0.3, xs, xt);
}

static double right(const ferry_prediction *p, bool missing)
{
    double n = 0, all = 0;

    for (int64_t i = 0; i < N; i++) {
        if ((i / EACH >= SEEN) != missing) continue;
        all++;
        n += p->cls[i] >= 0 && p->names[p->cls[i]][0] == 'a' + i / EACH;
    }
    return n / all;
}

static void names_missing_classes(void **state)
{
    ferry_ctx *ctx = *state;
    double xs[N * DS], xt[N * DT];
    ferry_task *task = task_of(ctx, true, xs, xt);
    ferry_prediction *p = fit_predict(ctx, task, "place", "scale=none",
                                      ferry_i_task_role(task, FERRY_TARGET, 0));

    assert_true(right(p, true) > 0.9);
    assert_true(right(p, false) > 0.95);
    assert_null(p->group);
    ferry_prediction_free(p);
    ferry_task_free(task);
}

/* The target in two views and the source in two others, joined by their ids. */
static void several_views(void **state)
{
    ferry_ctx *ctx = *state;
    double x[2][N * DS], z[2][N * DT], mean[K][3];
    char ys[N + 1] = {0}, yt[N + 1] = {0};
    ferry_domain *s = NULL, *t = NULL;
    ferry_model *m = NULL, *back = NULL;
    ferry_prediction *p = NULL, *q = NULL;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "views");
    for (int64_t e = 0; e < K * 3; e++)
        mean[e / 3][e % 3] = 3 * ferry_i_rng_normal(&rng);
    assert_ok(ctx, ferry_domain_new(ctx, "source", FERRY_SOURCE, &s));
    assert_ok(ctx, ferry_domain_new(ctx, "target", FERRY_TARGET, &t));
    for (int v = 0; v < 2; v++) {
        draw(&rng, DS, 0.3, mean, x[v]);
        draw(&rng, DT, 0.3, mean, z[v]);
        small_view(ctx, s, v ? "sound" : "sight", N, DS, x[v], NULL, NULL, false);
        small_view(ctx, t, v ? "text" : "touch", N, DT, z[v], NULL, NULL, false);
    }
    for (int64_t i = 0; i < N; i++) {
        ys[i] = (char)('a' + i / EACH);
        yt[i] = i / EACH < SEEN && i % EACH < 3 ? ys[i] : '?';
    }
    small_classes(ctx, s, ys);
    small_classes(ctx, t, yt);
    ferry_task *task = small_task(ctx, FERRY_CLASSIFY, s, t);
    m = fit_model(ctx, task, "place", "");
    assert_ok(ctx, ferry_predict(ctx, m, t, &p));
    assert_true(right(p, true) > 0.9);
    assert_true(right(p, false) > 0.95);
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("views.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("views.ferry"), "place", &back));
    assert_ok(ctx, ferry_predict(ctx, back, t, &q));
    assert_memory_equal(p->cls, q->cls, N * sizeof *p->cls);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_model_free(m);
    ferry_model_free(back);
    ferry_task_free(task);
}

/* Rows of K classes around means of their own (or none: noise) in d columns. */
static block own_means(scope *s, ferry_rng *rng, int64_t d, double spread)
{
    const block z = block_new(s, HERE(N), N, d);
    double mean[K * DS];

    for (int64_t e = 0; e < K * d; e++)
        mean[e] = spread * ferry_i_rng_normal(rng);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < d; j++)
            ROW(z, i)[j] = mean[i / EACH * d + j] + ferry_i_rng_normal(rng);
    return z;
}

/* The gate's 5 %: of 400 sources that have nothing to do with the target (half of them noise)
 * p <= .05 in 20 or so; three deviations are 13. Sources with the target's geometry pass. */
static void count_passed(scope *s, void *arg)
{
    ferry_rng *rng = scope_rng(s, "gate");
    const uint8_t has[K] = {1, 1, 1, 1, 1, 1, 1, 1};
    int32_t ys[N], yt[N];
    int passed = 0, related = 0;

    (void)arg;
    for (int i = 0; i < N; i++) {
        ys[i] = i / EACH;
        yt[i] = i / EACH < SEEN && i % EACH < 3 ? ys[i] : -1;
    }
    for (int r = 0; r < 420; r++) {
        const int64_t mark = scope_mark(s);
        const class_rows to = {own_means(s, rng, DT, 1), yt, K};
        const class_rows from = {r < 400 ? own_means(s, rng, DS, r % 2) : to.z, ys, K};
        const small b = small_new(s, K, K);
        class_geometry(s, &from, b);
        kriging f = krige(s, &to, b, has);
        test_geometry(s, b, rng, &f);
        *(r < 400 ? &passed : &related) += f.p <= 0.05 && f.r2 > 0;
        scope_release(s, mark);
    }
    if (passed < 7 || passed > 33) fail_msg("%d of 400 passed", passed);
    if (related < 15) fail_msg("only %d of 20 related ones passed", related);
}

static void gate_holds_five_in_a_hundred(void **state)
{
    assert_ok(*state, scope_run(*state, count_passed, NULL));
}

/* Another geometry: the gate does not name; `name: always` does. */
static void other_geometry_is_not_named(void **state)
{
    ferry_ctx *ctx = *state;
    double xs[N * DS], xt[N * DT];
    ferry_task *task = task_of(ctx, false, xs, xt);
    const ferry_domain *t = ferry_i_task_role(task, FERRY_TARGET, 0);
    ferry_prediction *p = fit_predict(ctx, task, "place", "scale=none", t);
    int64_t apart = 0;

    assert_true(right(p, true) == 0);
    assert_true(right(p, false) > 0.7);
    assert_non_null(p->group);
    for (int64_t i = 0; i < N; i++) {
        assert_true((p->group[i] > 0) == (p->cls[i] < 0) && p->group[i] <= K - SEEN);
        apart += p->group[i] > 0;
    }
    assert_true(apart > 0);
    assert_ok(ctx, ferry_prediction_write(ctx, p, tmp_path("apart.csv")));
    char *text = slurp(tmp_path("apart.csv"));
    assert_non_null(strstr(text, ",?1,"));
    free(text);
    ferry_prediction_free(p);
    p = fit_predict(ctx, task, "place", "scale=none name=always", t);
    assert_null(p->group);
    ferry_prediction_free(p);
    ferry_task_free(task);
}

/* Turned source and target, and a source ten times as large: the same classes. */
static void rotations_change_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    double xs[N * DS], xt[N * DT];
    ferry_task *task = task_of(ctx, true, xs, xt), *turned = NULL;
    ferry_prediction *p = fit_predict(ctx, task, "place", "scale=none",
                                      ferry_i_task_role(task, FERRY_TARGET, 0));
    ferry_prediction *q = NULL;
    const double c = cos(0.7), s = sin(0.7);
    char ys[N + 1] = {0}, yt[N + 1] = {0};

    for (int64_t i = 0; i < N; i++) {
        ys[i] = (char)('a' + i / EACH);
        yt[i] = i / EACH < SEEN && i % EACH < 3 ? ys[i] : '?';
        double *a = xs + i * DS, *b = xt + i * DT, a0 = a[0], b1 = b[1];
        a[0] = c * a0 - s * a[3];
        a[3] = s * a0 + c * a[3];
        b[1] = c * b1 - s * b[4];
        b[4] = s * b1 + c * b[4];
        for (int64_t j = 0; j < DS; j++)
            a[j] *= 10;
    }
    ferry_domain *sd = small_domain(ctx, "source", FERRY_SOURCE, N, DS, xs);
    ferry_domain *td = small_domain(ctx, "target", FERRY_TARGET, N, DT, xt);
    small_classes(ctx, sd, ys);
    small_classes(ctx, td, yt);
    turned = small_task(ctx, FERRY_CLASSIFY, sd, td);
    q = fit_predict(ctx, turned, "place", "scale=none", td);
    assert_memory_equal(p->cls, q->cls, N * sizeof *p->cls);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_task_free(task);
    ferry_task_free(turned);
}

/* From a file the same answers, and new rows near old ones get theirs. */
static void saved_model_answers_new_rows(void **state)
{
    ferry_ctx *ctx = *state;
    double xs[N * DS], xt[N * DT];
    ferry_task *task = task_of(ctx, true, xs, xt);
    ferry_model *m = fit_model(ctx, task, "place", "scale=none"), *back = NULL;
    ferry_prediction *p = NULL, *q = NULL, *r = NULL;
    int64_t same = 0;

    assert_ok(ctx, ferry_predict(ctx, m, ferry_i_task_role(task, FERRY_TARGET, 0), &p));
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("m.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("m.ferry"), "place", &back));
    assert_ok(ctx, ferry_predict(ctx, back, ferry_i_task_role(task, FERRY_TARGET, 0), &q));
    assert_memory_equal(p->cls, q->cls, N * sizeof *p->cls);
    assert_memory_equal(p->score, q->score, N * K * sizeof *p->score);
    for (int64_t e = 0; e < N * DT; e++)
        xt[e] += 0.01 * (double)(e % 7);
    ferry_domain *d = small_domain(ctx, "new", FERRY_TARGET, N, DT, xt);
    assert_ok(ctx, ferry_predict(ctx, back, d, &r));
    for (int64_t i = 0; i < N; i++)
        same += p->cls[i] == r->cls[i];
    assert_true(same > 0.97 * N);
    ferry_domain_free(d);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_prediction_free(r);
    ferry_model_free(m);
    ferry_model_free(back);
    ferry_task_free(task);
}

/* ---- what it refuses ---- */

static void make_small(ferry_ctx *ctx, const char *letters, int64_t n, ferry_task **task)
{
    double x[32];

    for (int64_t e = 0; e < 32; e++)
        x[e] = (double)((e * 7) % 11);
    ferry_domain *s = small_domain(ctx, "source", FERRY_SOURCE, 8, 2, x);
    ferry_domain *t = small_domain(ctx, "target", FERRY_TARGET, n, 3, x);
    small_classes(ctx, s, "abcdabcd");
    small_classes(ctx, t, letters);
    *task = small_task(ctx, FERRY_CLASSIFY, s, t);
}

static void applies_only_with_a_missing_class(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_model *m = NULL;
    ferry_task *task = NULL;

    make_small(ctx, "abcd????", 8, &task);
    assert_fails(ctx, ferry_fit(ctx, task, "place", NULL, &m, NULL), FERRY_ENEEDS,
                 "classes that have no label in the target");
    ferry_task_free(task);
}

/* Three seen classes: p cannot reach .05, so nobody gets the fourth. */
static void three_seen_classes_decide_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = NULL;

    make_small(ctx, "abc?????", 8, &task);
    ferry_prediction *p =
        fit_predict(ctx, task, "place", "", ferry_i_task_role(task, FERRY_TARGET, 0));
    for (int64_t i = 0; i < p->n; i++)
        assert_true(p->cls[i] >= 0 && p->names[p->cls[i]][0] != 'd');
    ferry_prediction_free(p);
    ferry_task_free(task);
}

static void prior_is_checked(void **state)
{
    static const struct {
        const char *prior, *message;
    } bad[] = {{"prior=x=0.2", "'x' is no class"},
               {"prior=a=0.2,a=0.1", "'a' is there twice"},
               {"prior=a", "expected NAME=SHARE"},
               {"prior=a=2", "expected NAME=SHARE"},
               {"prior=a=0.5,b=0.6", "leave nothing"}};
    ferry_ctx *ctx = *state;
    ferry_task *task = NULL;

    make_small(ctx, "abc?????", 8, &task);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ferry_opts *o = settings_of(ctx, bad[i].prior);
        ferry_model *m = NULL;
        assert_fails(ctx, ferry_fit(ctx, task, "place", o, &m, NULL), FERRY_EINVAL,
                     bad[i].message);
        ferry_opts_free(o);
    }
    ferry_task_free(task);
}

/* A class with a known share p of K: its odds against any other are p (K - 1) / (1 - p) times as large. */
static void prior_moves_the_odds(void **state)
{
    enum { LAST = K - 1 }; /* without a label */
    ferry_ctx *ctx = *state;
    double xs[N * DS], xt[N * DT];
    ferry_task *task = noisy_task(ctx, true, 2, xs, xt);
    const ferry_domain *t = ferry_i_task_role(task, FERRY_TARGET, 0);
    char option[80];
    int64_t between = 0; /* rows that both classes reach */
    ferry_prediction *p = fit_predict(ctx, task, "place", "scale=none name=always", t);

    for (int i = 0; i < 3; i++) {
        static const double share[3] = {1e-6, 1.0 / K, 0.9};
        const double odds = share[i] * (K - 1) / (1 - share[i]);
        (void)snprintf(option, sizeof option, "scale=none name=always prior=%c=%.17g",
                       'a' + LAST, share[i]);
        ferry_prediction *q = fit_predict(ctx, task, "place", option, t);
        for (int64_t r = 0; r < N; r++) {
            const double *a = p->score + r * K, *b = q->score + r * K;
            for (int64_t c = 0; c < LAST; c++) {
                assert_close(b[LAST] * a[c], odds * a[LAST] * b[c], 1e-9);
                between += a[LAST] > 1e-6 && a[c] > 1e-6;
            }
        }
        ferry_prediction_free(q);
    }
    assert_true(between > 0);
    ferry_prediction_free(p);
    ferry_task_free(task);
}

/* Rows in another order and other names of the classes (more than all permutations are tried of): the same. */
static void order_does_not_decide(void **state)
{
    enum { MANY = 11, HAVE = 9, M = MANY * 12, D = 6 };
    ferry_ctx *ctx = *state;
    double xs[M * D], x[2][M * D], mean[MANY * D], other[MANY * D], p[2];
    ferry_prediction *answer[2];
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "order");
    for (int e = 0; e < MANY * D; e++) {
        mean[e] = ferry_i_rng_normal(&rng);
        other[e] = mean[e] + 2 * ferry_i_rng_normal(&rng);
    }
    for (int e = 0; e < M * D; e++) {
        xs[e] = mean[e / D % MANY * D + e % D] + 0.5 * ferry_i_rng_normal(&rng);
        x[0][e] = other[e / D % MANY * D + e % D] + 0.5 * ferry_i_rng_normal(&rng);
        x[1][(M - 1 - e / D) * D + e % D] = x[0][e];
    }
    for (int turn = 0; turn < 2; turn++) {
        char ys[M + 1] = {0}, yt[M + 1] = {0};
        for (int i = 0; i < M; i++) {
            const int row = turn ? M - 1 - i : i, c = row % MANY;
            ys[i] = (char)(turn ? 'z' - i % MANY : 'a' + i % MANY);
            yt[i] = (char)(row >= 4 * MANY || c >= HAVE ? '?' : turn ? 'z' - c : 'a' + c);
        }
        ferry_domain *s = small_domain(ctx, "source", FERRY_SOURCE, M, D, xs);
        ferry_domain *t = small_domain(ctx, "target", FERRY_TARGET, M, D, x[turn]);
        small_classes(ctx, s, ys);
        small_classes(ctx, t, yt);
        ferry_task *task = small_task(ctx, FERRY_CLASSIFY, s, t);
        ferry_model *m = fit_model(ctx, task, "place", "scale=none name=always");
        json_t *told = json_loads(m->diagnostics, 0, NULL);
        p[turn] = golden_real(golden_at(told, "p"), "source");
        json_decref(told);
        assert_ok(ctx, ferry_predict(ctx, m, t, &answer[turn]));
        ferry_model_free(m);
        ferry_task_free(task);
    }
    assert_true(p[0] > 0.001 && p[0] < 1);
    assert_close(p[0], p[1], 1e-15);
    for (int i = 0; i < M; i++) {
        const ferry_prediction *a = answer[0], *b = answer[1];
        assert_int_equal(a->names[a->cls[i]][0] - 'a',
                         'z' - b->names[b->cls[M - 1 - i]][0]);
    }
    ferry_prediction_free(answer[0]);
    ferry_prediction_free(answer[1]);
}

static ferry_status fit_once(ferry_ctx *ctx, void *arg)
{
    const ferry_task *task = arg;
    ferry_model *m = NULL;
    ferry_prediction *p = NULL;
    ferry_status st = ferry_fit(ctx, task, "place", NULL, &m, NULL);

    if (st == FERRY_OK)
        st = ferry_predict(ctx, m, ferry_i_task_role(task, FERRY_TARGET, 0), &p);
    ferry_prediction_free(p);
    ferry_model_free(m);
    return st;
}

static void memory_runs_out(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = NULL;

    make_small(ctx, "abc?????", 8, &task);
    each_allocation_fails(ctx, fit_once, task);
    ferry_task_free(task);
    double x[32];
    for (int e = 0; e < 32; e++) /* four seen classes, of five: rows are set apart */
        x[e] = (double)((e * 7) % 11);
    ferry_domain *s = small_domain(ctx, "source", FERRY_SOURCE, 10, 3, x);
    ferry_domain *t = small_domain(ctx, "target", FERRY_TARGET, 8, 4, x);
    small_classes(ctx, s, "abcdeabcde");
    small_classes(ctx, t, "abcd????");
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    ferry_prediction *p = fit_predict(ctx, task, "place", "", t);
    assert_non_null(p->group);
    ferry_prediction_free(p);
    each_allocation_fails(ctx, fit_once, task);
    ferry_task_free(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(golden_case),
        TEST(names_missing_classes),
        TEST(several_views),
        TEST(gate_holds_five_in_a_hundred),
        TEST(other_geometry_is_not_named),
        TEST(rotations_change_nothing),
        TEST(saved_model_answers_new_rows),
        TEST(applies_only_with_a_missing_class),
        TEST(three_seen_classes_decide_nothing),
        TEST(prior_is_checked),
        TEST(prior_moves_the_odds),
        TEST(order_does_not_decide),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
