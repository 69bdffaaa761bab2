/* What is asked of every relative that maps a source to a target without pairs:
 * golden scores, orders, files, memory, ranks. */
#ifndef FIELD_CASE_H
#define FIELD_CASE_H

#include <jansson.h>
#include <stdio.h>

#include "data/data.h"
#include "golden.h"
#include "methods/method.h"
#include "on_ranks.h"
#include "small_task.h"

/* Classes 0, 1, ... of the file as a, b, ...; -1: none. */
static inline void field_classes(ferry_ctx *ctx, ferry_domain *d, const json_t *j,
                                 const char *key)
{
    char letters[128] = "";
    int64_t n = 0;
    double *y = golden_array(j, key, &n, NULL);

    for (int64_t i = 0; i < n; i++)
        letters[i] = y[i] < 0 ? '?' : (char)('a' + (int)y[i]);
    if (strspn(letters, "?") < (size_t)n) small_classes(ctx, d, letters);
    free(y);
}

static inline ferry_task *field_golden_task(ferry_ctx *ctx, const json_t *j)
{
    int64_t n = 0, cols = 0;
    double *x = golden_array(j, "xs", &n, &cols);
    ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, n, cols, x);

    free(x);
    x = golden_array(j, "xt", &n, &cols);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, n, cols, x);
    free(x);
    field_classes(ctx, s, j, "ys");
    field_classes(ctx, t, j, "yt");
    return small_task(ctx, FERRY_CLASSIFY, s, t);
}

/* Scores of all cases of a file, and objectives where it has them. */
static inline void field_golden(ferry_ctx *ctx, const char *file, const char *method,
                                double tol)
{
    json_t *all = own_golden(file);
    const char *options = json_string_value(golden_at(all, "options"));
    const json_t *cases = golden_at(all, "cases");

    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *j = json_array_get(cases, i), *of = golden_at(j, method);
        ferry_task *task = field_golden_task(ctx, j);
        ferry_opts *opts = settings_of(ctx, options);
        ferry_model *m = NULL;
        ferry_prediction *p = NULL;
        ferry_fit_info info = {.size = sizeof info};
        int64_t n = 0, c = 0;
        assert_ok(ctx, ferry_fit(ctx, task, method, opts, &m, &info));
        assert_ok(ctx, ferry_predict(ctx, m, ferry_task_domain_at(task, 1), &p));
        double *want = golden_array(of, "scores", &n, &c);
        assert_int_equal(n, p->n);
        assert_int_equal(c, p->k);
        for (int64_t e = 0; e < n * c; e++)
            assert_close(p->score[e], want[e], tol);
        if (json_object_get(of, "objective"))
            assert_close(info.objective, golden_real(of, "objective"), tol);
        free(want);
        ferry_prediction_free(p);
        ferry_model_free(m);
        ferry_opts_free(opts);
        ferry_task_free(task);
    }
    json_decref(all);
}

/* Two classes in other features of either side; `seen` labels of each in the
 * target. turned: rows the other way round, known by their ids. */
enum { FIELD_N = 40, FIELD_M = 3, FIELD_D = 4 };
static inline ferry_task *field_task(ferry_ctx *ctx, int seen, bool turned)
{
    enum { N = FIELD_N, M = FIELD_M, D = FIELD_D };
    static char text[N][8];
    double t[N * M], s[N * D];
    const char *ids[N], *of[N], *may[N];
    ferry_domain *from = NULL, *to = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 9, 1);
    for (int i = 0; i < N; i++) {
        const int r = turned ? N - 1 - i : i;
        for (int j = 0; j < M; j++)
            t[r * M + j] =
                ferry_i_rng_normal(&rng) + (i % 2 ? 2 + j : -2) * (j == 1 ? -1 : 1);
        for (int j = 0; j < D; j++)
            s[r * D + j] =
                3 * ferry_i_rng_normal(&rng) + (i % 2 ? -9 : 5 + 2 * j) * (j % 2 ? -1 : 1);
        snprintf(text[i], sizeof text[i], "r%d", i);
        ids[r] = text[i];
        of[r] = i % 2 ? "a" : "b";
        may[r] = i < 2 * seen ? of[r] : NULL;
    }
    assert_ok(ctx, ferry_domain_new(ctx, "far", FERRY_SOURCE, &from));
    assert_ok(ctx, ferry_domain_new(ctx, "near", FERRY_TARGET, &to));
    small_view(ctx, from, "x", N, D, s, ids, NULL, false);
    small_view(ctx, to, "y", N, M, t, ids, NULL, false);
    assert_ok(ctx, ferry_domain_set_classes(ctx, from, N, ids, of));
    if (seen > 0) assert_ok(ctx, ferry_domain_set_classes(ctx, to, N, ids, may));
    return small_task(ctx, FERRY_CLASSIFY, from, to);
}

/* Share of right answers. */
static inline double field_right(const ferry_task *task, const ferry_prediction *p)
{
    const ferry_domain *t = ferry_task_domain_at(task, 1);
    double n = 0;

    for (int64_t i = 0; i < p->n; i++) {
        const int at = atoi(ferry_i_ids_at(t->ids, i) + 1);
        n += strcmp(p->names[p->cls[i]], at % 2 ? "a" : "b") == 0;
    }
    return n / (double)p->n;
}

/* Neither the order of rows nor a file changes anything. */
static inline void field_orders_and_files(ferry_ctx *ctx, const char *method)
{
    ferry_task *task = field_task(ctx, 3, false), *turned = field_task(ctx, 3, true);
    ferry_model *m = fit_model(ctx, task, method, ""),
                *of = fit_model(ctx, turned, method, ""), *back = NULL;
    ferry_prediction *p = NULL, *q = NULL, *r = NULL;

    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("a.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("a.ferry"), NULL, &back));
    assert_ok(ctx, ferry_predict(ctx, m, ferry_task_domain_at(task, 1), &p));
    assert_ok(ctx, ferry_predict(ctx, of, ferry_task_domain_at(turned, 1), &q));
    assert_ok(ctx, ferry_predict(ctx, back, ferry_task_domain_at(task, 1), &r));
    assert_memory_equal(p->score, r->score, sizeof *p->score * (size_t)(p->n * p->k));
    for (int i = 0; i < FIELD_N; i++)
        for (int c = 0; c < 2; c++)
            assert_close(q->score[(FIELD_N - 1 - i) * 2 + c], p->score[i * 2 + c], 1e-6);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_prediction_free(r);
    ferry_model_free(m);
    ferry_model_free(of);
    ferry_model_free(back);
    ferry_task_free(task);
    ferry_task_free(turned);
}

typedef struct field_fit {
    const ferry_task *task;
    const char *method, *settings;
} field_fit;

static inline ferry_status field_fit_once(ferry_ctx *ctx, void *arg)
{
    const field_fit *f = arg;
    ferry_opts *opts = NULL;
    ferry_model *m = NULL;
    ferry_status st = ferry_opts_new(ctx, &opts);
    char key[64], value[64];
    int used = 0;

    for (const char *s = f->settings;
         st == FERRY_OK && sscanf(s, " %63[^=]=%63s%n", key, value, &used) == 2; s += used)
        st = ferry_opts_set(ctx, opts, key, value);
    if (st == FERRY_OK) st = ferry_fit(ctx, f->task, f->method, opts, &m, NULL);
    ferry_model_free(m);
    ferry_opts_free(opts);
    return st;
}

static inline void field_memory(ferry_ctx *ctx, const char *method, const char *settings)
{
    ferry_task *task = field_task(ctx, 2, false);

    each_allocation_fails(ctx, field_fit_once, &(field_fit){task, method, settings});
    ferry_task_free(task);
}

static inline int field_on_a_rank(ferry_ctx *ctx, void *arg)
{
    return field_fit_once(ctx, arg) == FERRY_ENEEDS ? 0 : 1;
}

/* Rows over processes: refused. It runs where a task names it. */
static inline void field_manners(ferry_ctx *ctx, const char *method)
{
    ferry_task *task = field_task(ctx, 2, false);
    const ferry_method_info *i = ferry_method_find(method);
    int status[RANKS];

    assert_non_null(i);
    assert_true(i->asked);
    on_ranks(field_on_a_rank, &(field_fit){task, method, ""}, status);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(status[r], 0);
    ferry_task_free(task);
}

#endif
