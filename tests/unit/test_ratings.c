/* The baselines for ratings: means, biases, factorisation. */
#include <jansson.h>
#include <stdio.h>

#include "run/run.h"
#include "golden.h"
#include "learn/ratings.h"
#include "methods/frame.h"
#include "small_task.h"

/* Ten users, nine items; user 4 and item 8 have no rating (golden/mindtl). */
enum { N = 33 };
static const int user[N] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 5,
                            5, 5, 5, 5, 6, 6, 7, 7, 7, 7, 7, 8, 9, 9, 9, 9};
static const int item[N] = {2, 6, 2, 6, 7, 0, 3, 4, 5, 7, 0, 3, 4, 5, 6, 7, 0,
                            1, 3, 4, 7, 1, 3, 0, 1, 3, 4, 5, 0, 1, 5, 6, 7};
static const double value[N] = {4, 4, 1, 5, 4, 5, 5, 2, 1, 1, 1, 4, 2, 5, 1, 5, 1,
                                3, 3, 5, 4, 4, 4, 1, 2, 3, 5, 5, 3, 2, 3, 4, 2};
/* By an independent program: lambda 5, 10 sweeps. */
static const double bias_u[] = {0.253257443030462,
                                0.06902517484123585,
                                -0.2109037204055631,
                                -0.12880977420239334,
                                0.0,
                                0.028986867639457882,
                                0.22145258595009004,
                                0.014496688997929686,
                                0.04993550009334677,
                                -0.20673001244456574};
static const double bias_i[] = {
    -0.451128152075232,  -0.18491854306673222, -0.23218756489908168,
    0.33172013838579895, 0.18779657181763387,  0.21398733738347733,
    0.156355160655545,   0.06908555096819576,  0.0};

static ferry_task *make_task(ferry_ctx *ctx)
{
    ferry_domain *d = small_domain(ctx, "films", FERRY_TARGET, 0, 0, NULL);

    small_ratings(ctx, d, N, user, item, value);
    return small_task(ctx, FERRY_RATE, NULL, d);
}

/* Pairs to be predicted: known, new user, new item, both new. */
static ferry_domain *make_pairs(ferry_ctx *ctx)
{
    const int u[] = {0, 77, 0, 77, 2}, i[] = {0, 0, 88, 88, 3};
    const double v[] = {NAN, NAN, NAN, NAN, 1};
    ferry_domain *d = small_domain(ctx, "pairs", FERRY_TARGET, 0, 0, NULL);

    small_ratings(ctx, d, 5, u, i, v);
    return d;
}

static void expect(ferry_ctx *ctx, const char *name, const char *settings,
                   const double *want)
{
    ferry_task *task = make_task(ctx);
    ferry_domain *d = make_pairs(ctx);
    ferry_prediction *p = fit_predict(ctx, task, name, settings, d);

    assert_int_equal(p->n, 5);
    for (int64_t e = 0; e < 5; e++)
        assert_close(p->value[e], want[e], 1e-12);
    ferry_prediction_free(p);
    ferry_domain_free(d);
    ferry_task_free(task);
}

static void test_means(void **state)
{
    ferry_ctx *ctx = *state;
    const double mu = 104.0 / 33;
    const double all[] = {mu, mu, mu, mu, mu};
    const double users[] = {4, mu, 4, mu, 14.0 / 5}, items[] = {2.2, 2.2, mu, mu, 3.8};

    expect(ctx, "rating-mean", "", all);
    expect(ctx, "rating-mean", "by=user", users);
    expect(ctx, "rating-mean", "by=item", items);
}

static void test_bias(void **state)
{
    ferry_ctx *ctx = *state;
    const double mu = 104.0 / 33;
    const double want[] = {mu + bias_u[0] + bias_i[0], mu + bias_i[0], mu + bias_u[0], mu,
                           mu + bias_u[2] + bias_i[3]};

    expect(ctx, "bias", "", want);
}

/* Users and items in the order of the numbers, as the file has them. */
static ferry_ratings *given(ferry_ctx *ctx, int64_t n, const int *u, const int *i,
                            const double *v, int64_t users, int64_t items)
{
    ferry_ids *ids[] = {ferry_i_ids_new(), ferry_i_ids_new()};
    ferry_ratings *r = NULL;
    char name[8];

    for (int64_t k = 0; k < users + items; k++) { /* two digits: ids sort by their bytes */
        (void)snprintf(name, sizeof name, "%02d", (int)(k < users ? k : k - users));
        assert_true(ferry_i_ids_add(ids[k >= users], name, NULL) >= 0);
    }
    assert_ok(ctx, ferry_i_ratings_new(ctx, n, ids[0], ids[1], &r));
    for (int64_t e = 0; e < n; e++) {
        r->user[e] = u[e];
        r->item[e] = i[e];
        r->value[e] = v[e];
    }
    assert_ok(ctx, ferry_i_ratings_tidy(ctx, r));
    assert_null(r->line);
    ferry_i_ids_free(ids[0]);
    ferry_i_ids_free(ids[1]);
    return r;
}

typedef struct want_bias {
    const ferry_ratings *r;
    double mu;
    const double *u, *i;
} want_bias;

static void check_bias(scope *s, void *arg)
{
    const want_bias *want = arg;
    const ratings r = ratings_sorted(s, want->r);
    double a[32] = {0}, b[32] = {0};
    const double mu = mean_rating(s, &r);

    fit_biases(s, &r, mu, 5, 10, a, b);
    assert_close(mu, want->mu, 1e-14);
    for (int64_t i = 0; i < r.users; i++)
        assert_close(a[i], want->u[i], 1e-12);
    for (int64_t j = 0; j < r.items; j++)
        assert_close(b[j], want->i[j], 1e-12);
    const ratings e = residuals(s, &r, mu, a, b);
    for (int64_t i = 0; i < r.users; i++)
        for (int64_t at = r.x.m->start[i]; at < r.x.m->start[i + 1]; at++)
            assert_close(e.x.m->value[at],
                         r.x.m->value[at] - mu - a[i] - b[r.x.m->index[at]], 1e-15);
    assert_close(norm2(s, e.x), norm2(s, e.xt), 1e-12);
}

static void reals(const json_t *j, const char *key, double *out)
{
    const json_t *a = json_object_get(j, key);

    for (size_t i = 0; i < json_array_size(a); i++)
        out[i] = json_number_value(json_array_get(a, i));
}

static void test_bias_golden(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_ratings *r = given(ctx, N, user, item, value, 10, 9);
    json_t *j = golden("mindtl/soft_bias.json");
    double u[10], i[9];

    assert_ok(ctx, scope_run(ctx, check_bias, &(want_bias){r, 104.0 / 33, bias_u, bias_i}));
    if (j) {
        reals(j, "bias_u", u);
        reals(j, "bias_i", i);
        const double mu = json_number_value(json_object_get(j, "bias_mu"));
        assert_ok(ctx, scope_run(ctx, check_bias, &(want_bias){r, mu, u, i}));
    }
    json_decref(j);
    ferry_i_ratings_free(r);
}

static void test_metrics_golden(void **state)
{
    ferry_ctx *ctx = *state;
    double pred[] = {1, 2.5, 4, 5}, truth[] = {1, 3, 3, 5}, out = 0;
    const ferry_scored s = {.n = 4, .truth = truth, .value = pred};
    json_t *j = golden("mindtl/metrics.json");

    assert_ok(ctx, ferry_i_metric_value(ctx, ferry_i_metric_find("mae"), &s, NULL, &out));
    assert_close(out, 0.375, 1e-15);
    assert_ok(ctx, ferry_i_metric_value(ctx, ferry_i_metric_find("rmse"), &s, NULL, &out));
    assert_close(out, sqrt(0.3125), 1e-15);
    if (j) {
        reals(j, "pred", pred);
        reals(j, "true", truth);
        assert_ok(ctx,
                  ferry_i_metric_value(ctx, ferry_i_metric_find("rmse"), &s, NULL, &out));
        assert_close(out, json_number_value(json_object_get(j, "RMSE")), 1e-12);
        assert_ok(ctx,
                  ferry_i_metric_value(ctx, ferry_i_metric_find("mae"), &s, NULL, &out));
        assert_close(out, json_number_value(json_object_get(j, "MAE")), 1e-12);
    }
    json_decref(j);
}

/* ---- as a matrix ---- */

static void check_sorted(scope *s, void *arg)
{
    const double other[] = {7, 8, 9};
    const uint8_t fold[] = {0, 1, 0};
    const ratings o = ratings_sorted(s, arg), w = with_ratings(s, &o, other),
                  part = ratings_without(s, &o, fold, 1);

    assert_int_equal(o.x.m->nnz, 3);
    assert_int_equal(o.x.m->start[1], 2);
    assert_int_equal(o.x.m->start[2], 2);
    assert_int_equal(o.x.m->index[0], 0);
    assert_int_equal(o.x.m->index[1], 3);
    assert_close(o.x.m->value[0], 2, 0);
    assert_close(o.x.m->value[1], 0, 0);
    assert_close(o.x.m->value[2], 5, 0);
    assert_int_equal(o.xt.n, 4);
    assert_int_equal(o.xt.m->start[4], 3);
    assert_int_equal(o.xt.m->index[1], 2); /* item 1 */
    assert_close(w.xt.m->value[1], 9, 0);
    assert_close(w.xt.m->value[2], 8, 0);
    assert_int_equal(part.x.m->nnz, 2);
    assert_int_equal(part.xt.m->start[4], 2);
    assert_close(part.x.m->value[1], 5, 0);
    assert_int_equal(ratings_before(s, &o), 0);
    drop_ratings(&o); /* who rated what stays, also for those who share it */
    assert_int_equal(o.x.m->index[1], 3);
    assert_close(w.x.m->value[1], 8, 0);
}

static void test_sorted(void **state)
{
    ferry_ctx *ctx = *state;
    const int u[] = {2, 0, 2, 0}, i[] = {1, 3, 0, 0};
    const double v[] = {5, 0, NAN, 2}; /* a rating of 0 is a rating */
    ferry_ratings *r = given(ctx, 4, u, i, v, 3, 4);

    assert_ok(ctx, scope_run(ctx, check_sorted, r));
    ferry_i_ratings_free(r);
}

/* ---- mf ---- */

/* A half step against the normal equations. */
static void check_half(scope *s, void *arg)
{
    enum { K = 3 };
    const ratings o = ratings_sorted(s, arg);
    const block q = block_new(s, HERE(9), 9, K), p = block_new(s, HERE(10), 10, K);

    fill_normal(s, scope_rng(s, "test"), q);
    ridge_rows(s, o.x, q, 0.7, false, p, NULL);
    for (int64_t i = 0; i < 10; i++) {
        const ferry_row r = row_at(o.x, i);
        const small a = small_new(s, K, K);
        const block y = block_new(s, HERE(K), K, 1);
        for (int64_t c = 0; c < K; c++)
            AT(a, c, c) = 0.7;
        for (int64_t e = 0; e < r.n; e++) {
            const double *row = ROW(q, r.index[e]);
            for (int64_t c = 0; c < K; c++) {
                y.at[c] += row[c] * r.value[e];
                for (int64_t d = 0; d < K; d++)
                    AT(a, c, d) += row[c] * row[d];
            }
        }
        assert_true(cholesky(s, a));
        cholesky_solve(s, a, y);
        for (int64_t c = 0; c < K; c++)
            assert_close(ROW(p, i)[c], y.at[c], 1e-12);
    }
}

static void test_als_half(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_ratings *r = given(ctx, N, user, item, value, 10, 9);

    assert_ok(ctx, scope_run(ctx, check_half, r));
    ferry_i_ratings_free(r);
}

/* 60 x 50 ratings 3 + s_i t_j with s, t = +-1: biases alone see nothing, one column sees
 * all. Two of three pairs are given, the others asked. */
static ferry_task *signs_task(ferry_ctx *ctx, double *truth)
{
    enum { U = 60, I = 50 };
    int *u = calloc(U * I, sizeof *u), *i = calloc(U * I, sizeof *i);
    double *v = calloc(U * I, sizeof *v);
    ferry_domain *d = small_domain(ctx, "signs", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;

    for (int e = 0; e < U * I; e++) {
        u[e] = e / I;
        i[e] = e % I;
        truth[e] = 3 + ((u[e] * 7) % 4 < 2 ? 1 : -1) * ((i[e] * 3) % 5 % 2 ? 1 : -1);
        v[e] = ((unsigned)e * 2654435761u >> 16) % 3 ? truth[e] : NAN;
    }
    small_ratings(ctx, d, U * I, u, i, v);
    task = small_task(ctx, FERRY_RATE, NULL, d);
    free(v);
    free(i);
    free(u);
    return task;
}

static double worst(const ferry_prediction *p, const double *truth)
{
    double w = 0;

    for (int64_t e = 0; e < p->n; e++)
        w = fmax(w, fabs(p->value[e] - truth[e]));
    return w;
}

static void test_mf(void **state)
{
    ferry_ctx *ctx = *state;
    double truth[3000];
    ferry_task *task = signs_task(ctx, truth);
    ferry_prediction *p = fit_predict(
        ctx, task, "mf-als", "rank=3 lambda=0.01 tol=0 sweeps=60", task->domains[0]);
    ferry_prediction *b = fit_predict(ctx, task, "bias", "", task->domains[0]), *t = NULL;

    assert_true(worst(p, truth) < 0.02);
    assert_true(worst(b, truth) > 0.9);
    ferry_prediction_free(b);
    /* Rows do not meet: more threads, same bits; the other engine, the same numbers. */
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 2));
    t = fit_predict(ctx, task, "mf-als", "rank=3 lambda=0.01 tol=0 sweeps=60",
                    task->domains[0]);
    assert_memory_equal(t->value, p->value, (size_t)p->n * sizeof *p->value);
    ferry_prediction_free(t);
    assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "ref"));
    t = fit_predict(ctx, task, "mf-als", "rank=3 lambda=0.01 tol=0 sweeps=60",
                    task->domains[0]);
    assert_true(worst(t, p->value) < 1e-10);
    ferry_prediction_free(t);
    ferry_prediction_free(p);
    ferry_task_free(task);
}

static void test_mf_objective_falls(void **state)
{
    ferry_ctx *ctx = *state;
    double truth[3000], before = INFINITY;
    ferry_task *task = signs_task(ctx, truth);
    ferry_model *m = fit_model(ctx, task, "mf-als", "rank=3 lambda=0.5 tol=0 sweeps=12");
    json_t *j = json_loads(m->diagnostics, 0, NULL);
    const json_t *trace = json_object_get(j, "objective");

    assert_int_equal(json_array_size(trace), 12);
    for (size_t i = 0; i < 12; i++) {
        const double now = json_number_value(json_array_get(trace, i));
        assert_true(now <= before * (1 + 1e-12));
        before = now;
    }
    json_decref(j);
    ferry_model_free(m);
    ferry_task_free(task);
}

static const rating_factors *factors_of(const ferry_model *m)
{
    return ((const fitted *)m->state)->state;
}

/* The objective that is reported is that of the model: |E - P Q'|^2 and the ridge, for each row or each rating. */
static void test_mf_objective(void **state)
{
    ferry_ctx *ctx = *state;

    for (int weighted = 0; weighted < 2; weighted++) {
        ferry_task *task = make_task(ctx);
        const ferry_ratings *r = task->domains[0]->ratings;
        ferry_opts *o =
            settings_of(ctx, weighted ? "rank=2 sweeps=4 tol=0 ridge=rating lambda=0.1"
                                      : "rank=2 sweeps=4 tol=0 lambda=3");
        ferry_fit_info rep = {.size = sizeof rep};
        ferry_model *m = NULL;
        double f = 0, each[2][10] = {{0}};
        assert_ok(ctx, ferry_fit(ctx, task, "mf-als", o, &m, &rep));
        const rating_factors *a = factors_of(m);
        const catalogue *c = ((const fitted *)m->state)->rated;
        for (int64_t e = 0; e < r->n; e++) {
            const int64_t u = ferry_i_ids_find(c->users,
                                               ferry_i_ids_at(r->users, r->user[e])),
                          i = ferry_i_ids_find(c->items,
                                               ferry_i_ids_at(r->items, r->item[e]));
            f += pow(r->value[e] - factor_rating(a, u, i), 2);
            each[0][u]++;
            each[1][i]++;
        }
        for (int side = 0; side < 2; side++) {
            const block z = side ? a->q : a->p;
            for (int64_t k = 0; k < z.n * z.k; k++)
                f += (weighted ? 0.1 * each[side][k / 2] : 3) * z.at[k] * z.at[k];
        }
        assert_close(rep.objective, f, 1e-9);
        ferry_model_free(m);
        ferry_opts_free(o);
        ferry_task_free(task);
    }
}

/* ---- what all have ---- */

static const struct {
    const char *method, *settings;
} all[] = {{"rating-mean", "by=user"},
           {"bias", "lambda=2"},
           {"mf-als", "rank=2 sweeps=3"},
           {"mf", "rank=2 sweeps=3"},
           {"mf-als", "rank=2 sweeps=3 ridge=rating lambda=0.1"}};

static void test_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_domain *d = make_pairs(ctx);

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ferry_model *m = fit_model(ctx, task, all[i].method, all[i].settings), *l = NULL;
        ferry_prediction *p = NULL, *q = NULL;
        const char *path = tmp_path("m.ferry");
        assert_ok(ctx, ferry_model_save(ctx, m, path));
        assert_ok(ctx, ferry_model_load(ctx, path, all[i].method, &l));
        assert_ok(ctx, ferry_predict(ctx, m, d, &p));
        assert_ok(ctx, ferry_predict(ctx, l, d, &q));
        assert_memory_equal(p->value, q->value, 5 * sizeof *p->value);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_model_free(l);
        ferry_model_free(m);
    }
    ferry_domain_free(d);
    ferry_task_free(task);
}

/* A dict as anybody may have written it: a file of 0.2, then one thing after the other is there. */
static void test_bad_files(void **state)
{
    ferry_ctx *ctx = *state;
    const double bad[] = {5, 1}, good[] = {1, 5}, zero[] = {0, 0};
    const int64_t one[] = {1}, start[] = {0, 1, 2}, items[] = {0, 2};
    static const char *const want[] = {
        "Ferry 0.2",          "prior", "users", "range", "5 to 1", "rated.item: entry 1",
        "tensor a: 1 where 2"};
    ferry_ids *two = ferry_i_ids_numbers(2);
    void *m = NULL;

    for (int step = 0; step < 7; step++) {
        ferry_dict *d = NULL;
        assert_ok(ctx, ferry_i_dict_new(ctx, &d));
        if (step > 0) assert_ok(ctx, ferry_i_dict_put_ints(ctx, d, "classes.n", 1, one));
        if (step > 1) assert_ok(ctx, ferry_i_dict_put_reals(ctx, d, "prior", 1, 1, zero));
        if (step > 2) {
            assert_ok(ctx, ferry_i_dict_put_ids(ctx, d, "users", two));
            assert_ok(ctx, ferry_i_dict_put_ids(ctx, d, "items", two));
            assert_ok(ctx, ferry_i_dict_put_ints(ctx, d, "rated.start", 3, start));
            assert_ok(ctx, ferry_i_dict_put_ints(ctx, d, "rated.item", 2,
                                                 step == 5 ? items : start));
        }
        if (step > 3)
            assert_ok(
                ctx, ferry_i_dict_put_reals(ctx, d, "range", 1, 2, step == 4 ? bad : good));
        if (step > 5) /* numbers of one user, where there are two */
            assert_ok(ctx, ferry_i_dict_put_reals(ctx, d, "a", 1, 1, zero));
        assert_fails(ctx, ferry_i_method_load(ctx, ferry_i_method_find("mf"), d, &m),
                     FERRY_EDATA, want[step]);
        assert_null(m);
        ferry_i_dict_free(d);
    }
    ferry_i_ids_free(two);
}

static void test_needs(void **state)
{
    ferry_ctx *ctx = *state;
    const int u[] = {0, 1}, i[] = {0, 0};
    const double v[] = {NAN, NAN}, huge[] = {1.7e308, 1.7e308};
    ferry_domain *d = small_domain(ctx, "films", FERRY_TARGET, 0, 0, NULL);
    ferry_domain *h = small_domain(ctx, "huge", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL, *large = NULL;
    ferry_model *m = NULL;

    small_ratings(ctx, d, 2, u, i, v);
    small_ratings(ctx, h, 2, u, i, huge);
    task = small_task(ctx, FERRY_RATE, NULL, d);
    large = small_task(ctx, FERRY_RATE, NULL, h);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        assert_fails(ctx, ferry_fit(ctx, task, all[k].method, NULL, &m, NULL), FERRY_ENEEDS,
                     "target 'films' has none that it may see");
        assert_fails(ctx, ferry_fit(ctx, large, all[k].method, NULL, &m, NULL), FERRY_EDATA,
                     "too large to add up");
    }
    ferry_task_free(large);
    ferry_task_free(task);
}

/* One rating is enough for all of them. */
static void test_one_rating(void **state)
{
    ferry_ctx *ctx = *state;
    const int u[] = {0, 0}, i[] = {0, 1};
    const double v[] = {4, NAN};
    ferry_domain *d = small_domain(ctx, "films", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;

    small_ratings(ctx, d, 2, u, i, v);
    task = small_task(ctx, FERRY_RATE, NULL, d);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        ferry_prediction *p = fit_predict(ctx, task, all[k].method, all[k].settings, d);
        assert_close(p->value[0], 4, 1e-12);
        assert_close(p->value[1], 4, 1e-12);
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

typedef struct job {
    const ferry_task *task;
    const ferry_domain *pairs;
    const char *method;
    const ferry_opts *opts;
} job;

static ferry_status fit_and_predict(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const job *j = arg;
    ferry_model *m = NULL, *l = NULL;
    ferry_prediction *p = NULL;
    ferry_dict *dict = NULL;

    FERRY_TRY(ferry_fit(ctx, j->task, j->method, j->opts, &m, NULL));
    FERRY_TRY(ferry_predict(ctx, m, j->pairs, &p));
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_model_pack(ctx, m, dict));
    FERRY_TRY(ferry_i_model_unpack(ctx, "bag", dict, NULL, &l));
done:
    ferry_i_dict_free(dict);
    ferry_model_free(l);
    ferry_prediction_free(p);
    ferry_model_free(m);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_domain *d = make_pairs(ctx);

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ferry_opts *o = settings_of(ctx, all[i].settings);
        each_allocation_fails(ctx, fit_and_predict, &(job){task, d, all[i].method, o});
        ferry_opts_free(o);
    }
    ferry_domain_free(d);
    ferry_task_free(task);
}

static ferry_answer after_two(void *arg, const ferry_progress *p)
{
    return p->done < 2 ? FERRY_GO : *(const ferry_answer *)arg;
}

static void test_stopping(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_answer answer = FERRY_CANCEL;
    ferry_opts *o = opts_of(ctx, "tol=0", "lambda=0.5", NULL);
    ferry_fit_info rep = {.size = sizeof rep};
    ferry_model *m = NULL;

    ferry_ctx_set_progress(ctx, after_two, &answer);
    assert_int_equal(ferry_fit(ctx, task, "mf-als", o, &m, &rep), FERRY_ECANCELLED);
    answer = FERRY_FINISH;
    assert_ok(ctx, ferry_fit(ctx, task, "mf-als", o, &m, &rep));
    assert_int_equal(rep.stop, FERRY_STOP_FINISH);
    assert_int_equal(rep.iters, 2);
    ferry_model_free(m);
    ferry_ctx_set_progress(ctx, NULL, NULL);
    assert_ok(ctx, ferry_fit(ctx, task, "mf-als", o, &m, &rep));
    assert_int_equal(rep.stop, FERRY_STOP_MAX_ITER);
    ferry_model_free(m);
    ferry_opts_free(o);
    ferry_task_free(task);
}

/* ---- ratings that share their arrays ---- */

/* Values of a copy are its own, the rest is shared, and it outlives what it was made of. */
static void test_copies(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_ratings *r = NULL, *copy = NULL, *same = NULL;

    assert_ok(ctx, ferry_i_ratings_new(ctx, 3, NULL, NULL, &r));
    for (int i = 0; i < 3; i++) {
        r->user[i] = (int32_t)ferry_i_ids_add(r->users, i > 0 ? "v" : "u", NULL);
        r->item[i] = 0;
        r->value[i] = 1 + i;
    }
    assert_int_equal(ferry_i_ids_add(r->items, "i", NULL), 0);
    assert_ok(ctx, ferry_i_ratings_copy(ctx, r, &copy));
    assert_ok(ctx, ferry_i_ratings_share(ctx, r, &same));
    assert_ptr_equal(copy->user, r->user);
    assert_ptr_equal(same->value, r->value);
    copy->value[0] = NAN;
    assert_close(r->value[0], 1, 0);
    /* one pair goes, from the one that was asked alone */
    assert_ok(ctx, ferry_i_ratings_tidy(ctx, same));
    assert_int_equal(same->lines, 3);
    assert_int_equal(same->n, 2);
    assert_close(same->value[1], 3, 0);
    assert_int_equal(r->n, 3);
    assert_close(r->value[1], 2, 0);
    ferry_i_ratings_free(r);
    assert_close(copy->value[2], 3, 0);
    assert_int_equal(copy->user[2], 1);
    assert_string_equal(ferry_i_ids_at(copy->items, 0), "i");
    ferry_i_ratings_forget(copy);
    assert_int_equal(copy->n, 0);
    ferry_i_ratings_free(copy);
    assert_close(same->value[0], 1, 0);
    ferry_i_ratings_free(same);
}

static ferry_status copy_and_tidy(ferry_ctx *ctx, void *arg)
{
    ferry_ratings *copy = NULL, *same = NULL;
    ferry_status st = ferry_i_ratings_copy(ctx, arg, &copy);

    if (st == FERRY_OK) st = ferry_i_ratings_share(ctx, arg, &same);
    if (st == FERRY_OK) st = ferry_i_ratings_tidy(ctx, same);
    if (st == FERRY_OK) assert_int_equal(same->n, 1);
    ferry_i_ratings_free(copy);
    ferry_i_ratings_free(same);
    return st;
}

static void test_copies_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_ratings *r = NULL;

    assert_ok(ctx, ferry_i_ratings_new(ctx, 2, NULL, NULL, &r)); /* twice the same pair */
    each_allocation_fails(ctx, copy_and_tidy, r);
    ferry_i_ratings_free(r);
}

/* More ratings than are looked at in one pass, of a user with many, some with few and some with none. */
static void test_tidy_many(void **state)
{
    enum { MANY = 2300000, USERS = 40, ITEMS = 60000 };
    ferry_ctx *ctx = *state;
    ferry_ratings *r = NULL;
    int64_t at = 0, kept = 0;
    int32_t *last = ferry_i_calloc((int64_t)USERS * ITEMS, sizeof *last);
    int32_t *pair = ferry_i_calloc(MANY, sizeof *pair); /* as given */
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "test");
    assert_ok(ctx, ferry_i_ratings_new(ctx, MANY, NULL, NULL, &r));
    for (int32_t e = 0; e < MANY; e++) {
        const int32_t u = (int32_t)ferry_i_rng_below(&rng, 2 * USERS);
        r->user[e] = u >= USERS ? 7 : u == 9 ? 10 : u;
        r->item[e] = (int32_t)ferry_i_rng_below(&rng, ITEMS);
        r->value[e] = e;
        pair[e] = r->user[e] * ITEMS + r->item[e];
        last[pair[e]] = e + 1;
    }
    for (int64_t k = 0; k < (int64_t)USERS * ITEMS; k++)
        kept += last[k] > 0;
    assert_ok(ctx, ferry_i_ratings_tidy(ctx, r));
    assert_int_equal(r->n, kept);
    assert_int_equal(r->lines, MANY);
    for (int32_t e = 0; e < MANY; e++) /* each line leads to the one that stayed */
        assert_int_equal((int64_t)r->value[r->line[e]], last[pair[e]] - 1);
    for (int64_t e = 0; e < r->n; e++) {
        const int64_t was = (int64_t)r->value[e];
        assert_true(was >= at);
        assert_int_equal(last[r->user[e] * ITEMS + r->item[e]], was + 1);
        at = was + 1;
    }
    assert_close(r->hi, MANY - 1, 0);
    ferry_i_ratings_free(r);
    FERRY_FREE(last, pair);
}

/* A fit lets go of the ratings that were hidden for it, never of the task's own: a second one is the same. */
static void test_fits_again(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const labelled[] = {"0.5", "1.0"};
    char text[256];

    (void)tmp_file("r.csv", "user,item,rating\na,x,1\na,y,5\nb,x,2\nb,y,4\na,x,3\nc,y,1\n",
                   -1);
    for (int i = 0; i < 2; i++) {
        ferry_task *task = NULL;
        ferry_model *one = NULL, *two = NULL;
        (void)snprintf(text, sizeof text,
                       "task: t\ngoal: rate\ndomains:\n  - {name: d, role: target, "
                       "ratings: r.csv, labelled: %s}\n",
                       labelled[i]);
        assert_ok(ctx, ferry_task_load(ctx, tmp_file("t.yaml", text, -1), NULL, &task));
        assert_ok(ctx, ferry_fit(ctx, task, "bias", NULL, &one, NULL));
        assert_ok(ctx, ferry_fit(ctx, task, "bias", NULL, &two, NULL));
        const catalogue *a = ((const fitted *)one->state)->rated,
                        *b = ((const fitted *)two->state)->rated;
        assert_int_equal(a->start[3], i == 0 ? 3 : 5); /* one of the six is rated again */
        assert_memory_equal(a->start, b->start, 4 * sizeof *a->start);
        assert_memory_equal(factors_of(one)->a, factors_of(two)->a, 3 * sizeof(double));
        assert_int_equal(ferry_domain_labels(ferry_task_domain_at(task, 0)), 5);
        ferry_model_free(one);
        ferry_model_free(two);
        ferry_task_free(task);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_means),
        TEST(test_bias),
        TEST(test_bias_golden),
        TEST(test_sorted),
        TEST(test_metrics_golden),
        TEST(test_als_half),
        TEST(test_mf),
        TEST(test_mf_objective_falls),
        TEST(test_mf_objective),
        TEST(test_files),
        TEST(test_bad_files),
        TEST(test_needs),
        TEST(test_one_rating),
        TEST(test_no_memory),
        TEST(test_stopping),
        TEST(test_copies),
        TEST(test_copies_no_memory),
        TEST(test_tidy_many),
        TEST(test_fits_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
