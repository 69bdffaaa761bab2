/* mindtl, cbt, talmud and the controls as methods: what they find, what they need, what
 * they do with odd shapes, files and stops. */
#include <jansson.h>

#include "ferry_test.h"
#include "learn/onmtf.h"
#include "methods/codebook.h"
#include "methods/method.h"
#include "small_task.h"

static const char *const names[] = {
    "mindtl", "random-codebook",       "shuffled-codebook",       "mindtl-paper", "cbt",
    "talmud", "random-codebook-paper", "shuffled-codebook-paper", "additive-grid"};
enum { METHODS = 9, WITHOUT_GROUPS = 3 };

/* 40 users x 30 items in 2 x 3 blocks; `seen` of 8 ratings are given, on a scale that is f
 * times as wide and begins g higher. */
enum { U = 40, I = 30 };
static double truth(int u, int i)
{
    static const double mean[2][3] = {{5, 1, 3}, {1, 4, 2}};

    return mean[u * 7 % 5 % 2][i * 11 % 7 % 3];
}

static ferry_domain *blocks(ferry_ctx *ctx, const char *name, ferry_role role, int seen,
                            double f, double g)
{
    int *u = calloc(U * I, sizeof *u), *i = calloc(U * I, sizeof *i);
    double *v = calloc(U * I, sizeof *v);
    ferry_domain *d = small_domain(ctx, name, role, 0, 0, NULL);

    for (int e = 0; e < U * I; e++) {
        u[e] = e / I;
        i[e] = e % I;
        v[e] = (int)(((unsigned)e * 2654435761u >> 16) % 8) < seen
                   ? f * truth(u[e], i[e]) + g
                   : NAN;
    }
    small_ratings(ctx, d, U * I, u, i, v);
    free(v);
    free(i);
    free(u);
    return d;
}

static ferry_task *make_task(ferry_ctx *ctx)
{
    ferry_task *task =
        small_task(ctx, FERRY_RATE, blocks(ctx, "books", FERRY_SOURCE, 6, 2.5, -3),
                   blocks(ctx, "films", FERRY_TARGET, 3, 1, 0));

    assert_ok(
        ctx, ferry_task_add_domain(ctx, task, blocks(ctx, "songs", FERRY_SOURCE, 7, 1, 0)));
    return task;
}

/* Root mean squared error over the pairs that were hidden. */
static double error_of(ferry_ctx *ctx, const ferry_task *task, const char *name,
                       const char *settings)
{
    const ferry_ratings *r = ferry_i_task_role(task, FERRY_TARGET, 0)->ratings;
    ferry_prediction *p =
        fit_predict(ctx, task, name, settings, ferry_i_task_role(task, FERRY_TARGET, 0));
    double sum = 0;
    int64_t n = 0;

    for (int64_t e = 0; e < r->n; e++) {
        double d = p->value[e] - truth((int)(e / I), (int)(e % I));
        assert_true(p->value[e] >= 1 && p->value[e] <= 5);
        if (!isnan(r->value[e])) continue;
        sum += d * d;
        n++;
    }
    ferry_prediction_free(p);
    return sqrt(sum / (double)n);
}

/* The blocks are found in the sources, whatever their scale, and in the target. */
static void test_finds_blocks(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    const double bias = error_of(ctx, task, "bias", "");

    assert_true(bias > 0.8);
    assert_true(error_of(ctx, task, "mindtl", "mode=paper k=2 l=3 beta=0 restarts=10") <
                0.5 * bias);
    assert_true(error_of(ctx, task, "mindtl",
                         "mode=paper k=2 l=3 beta=0 extract=kmeans restarts=10") <
                0.5 * bias);
    assert_true(error_of(ctx, task, "mindtl", "mode=paper lambda=sgd k=2 l=3") < bias);
    assert_true(error_of(ctx, task, "talmud", "k=2 l=3 beta=0 restarts=10") < 0.5 * bias);
    /* A user level plus an item level cannot say this. */
    assert_true(error_of(ctx, task, "additive-grid", "") > 0.5 * bias);
    ferry_task_free(task);
}

/* The weights stand in the diagnostics by the sources' names; those of mindtl-paper add up. `mode: paper` is a spelling. */
static void test_weights(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);

    for (int paper = 0; paper < 3; paper++) {
        ferry_model *m = fit_model(ctx, task, paper == 1 ? "mindtl-paper" : "mindtl",
                                   paper == 2 ? "mode=paper" : "");
        json_t *j = json_loads(m->diagnostics, 0, NULL);
        const json_t *w = json_object_get(j, "weights");
        const double books = json_number_value(json_object_get(w, "books"));
        const double songs = json_number_value(json_object_get(w, "songs"));
        assert_int_equal(json_object_size(w), 2);
        assert_true(books >= 0 && songs >= 0);
        if (paper) assert_close(books + songs, 1, 1e-12);
        json_decref(j);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

/* ---- extraction ---- */

/* Rows of text, one digit a rating and a point a hole. */
static ratings cells(scope *s, int64_t n, int64_t m, const char *const *rows)
{
    ferry_matrix *x = NULL;
    int64_t at = 0;

    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), n, m, n * m, &x));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) {
            if (rows[i][j] == '.') continue;
            x->index[at] = (int32_t)j;
            x->value[at++] = rows[i][j] - '0';
        }
        x->start[i + 1] = at;
    }
    x->nnz = at;
    ratings r = {.users = n, .items = m, .x = matrix_own(s, x)};
    r.xt = transpose(s, r.x, HERE(m), m);
    return r;
}

static void check_full_block(scope *s, void *arg)
{
    const char *const rows[] = {"12.4.", "34.5.", "...1.", "51.2."};
    const double want[] = {1, 2, 4, 3, 4, 5, 5, 1, 2};
    ratings x = cells(s, 4, 5, rows);

    (void)arg;
    /* Column 5 and 3 are empty, then row 3. */
    const ratings full = codebook_full_block(s, &x), filled = codebook_filled(s, &x);
    assert_int_equal(full.x.n, 3);
    assert_int_equal(full.x.cols, 3);
    assert_memory_equal(full.x.m->value, want, sizeof want);
    assert_int_equal(full.xt.n, 3);
    assert_int_equal(filled.x.m->nnz, 20);
    assert_close(filled.x.m->value[2], 7.0 / 3, 1e-12);
    assert_close(filled.x.m->value[3], 4, 0);
    assert_close(filled.x.m->value[10], 1, 0);
    assert_close(filled.xt.m->value[0], 1, 0);
    assert_close(filled.xt.m->value[2], 1, 0);
    assert_close(filled.xt.m->value[19], 8.0 / 3, 1e-12);
    /* A full matrix stays; so does one cell. */
    x = cells(s, 2, 2, (const char *const[]){"12", "34"});
    assert_int_equal(codebook_full_block(s, &x).x.m->nnz, 4);
    x = cells(s, 2, 2, (const char *const[]){".2", ".."});
    assert_int_equal(codebook_full_block(s, &x).x.m->nnz, 1);
}

static void test_full_block(void **state)
{
    assert_ok(*state, scope_run(*state, check_full_block, NULL));
}

/* What the options say is what the formulas (test_mindtl_golden.c) do. */
static void check_rules(scope *s, void *arg)
{
    const char *const rows[] = {"511425", "525114", "114552", "415514", "152445", "223415"};
    static const struct {
        int extract, update;
        onmtf_rule rule;
    } all[] = {{EXTRACT_IONMTF, 0, RULE_PLAIN},
               {EXTRACT_IONMTF, 1, RULE_ORTHOGONAL},
               {EXTRACT_ONMTF, 0, RULE_DING},
               {EXTRACT_DC, 1, RULE_DING}};
    const ratings x = cells(s, 6, 6, rows);

    (void)arg;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const codebook_options o = {.extract = all[k].extract,
                                    .update = all[k].update,
                                    .sweeps = 50,
                                    .restarts = 1,
                                    .beta = 5};
        codebook_run run = {&o, 0, 0, false};
        double r[4], want[4], fitted = 0, mean = 0;
        int32_t u[6], v[6];
        codebook b = {2, 2, r};
        onmtf f = onmtf_new(s, &x, 2, 2);
        ferry_rng rng;
        ferry_i_rng_seed(&rng, 3, 1);
        codebook_extract(s, &x, &rng, &run, &b);
        assert_int_equal(run.done, 51);
        ferry_i_rng_seed(&rng, 3, 1);
        fill_uniform(s, &rng, 0.1, 1.1, f.u);
        fill_uniform(s, &rng, 0.1, 1.1, f.v);
        for (int i = 0; i < 4; i++)
            f.b.at[i] = 0.5 + ferry_i_rng_real(&rng);
        (void)onmtf_error(s, &x, &f);
        for (int64_t e = 0; e < 36; e++) {
            fitted += f.h.m->value[e];
            mean += x.x.m->value[e];
        }
        for (int i = 0; i < 4; i++)
            f.b.at[i] *= mean / fitted;
        for (int t = 0; t < 50; t++)
            onmtf_sweep(s, &x, all[k].rule, &f);
        onmtf_groups(s, f.u, u);
        onmtf_groups(s, f.v, v);
        block_means(s, x.x, &(grouping){2, 2, want, u, v}, 5);
        for (int i = 0; i < 4; i++)
            assert_close(r[i], want[i], 1e-12);
    }
}

static void test_rules(void **state)
{
    assert_ok(*state, scope_run(*state, check_rules, NULL));
}

static void test_extractions(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    const double bias = error_of(ctx, task, "bias", "");
    /* The sources have holes, so little is left for onmtf: only that it works is asked. */
    const double full = error_of(ctx, task, "mindtl", "mode=paper extract=onmtf k=2 l=3");

    assert_true(full < 2);
    assert_true(error_of(ctx, task, "mindtl",
                         "mode=paper extract=dc-onmtf k=2 l=3 beta=0 restarts=10") < bias);
    assert_true(error_of(ctx, task, "mindtl",
                         "mode=paper update=orth k=2 l=3 beta=0 restarts=10") < 0.5 * bias);
    ferry_task_free(task);
}

/* ---- which sources ---- */

/* A source of noise and one of blocks, in that order. */
static ferry_task *noisy_task(ferry_ctx *ctx)
{
    ferry_domain *noise = small_domain(ctx, "noise", FERRY_SOURCE, 0, 0, NULL);
    ferry_task *task = NULL;
    int u[900], i[900];
    double v[900];
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 1);
    for (int e = 0; e < 900; e++) {
        u[e] = e / 30;
        i[e] = e % 30;
        v[e] = 1 + 4 * ferry_i_rng_real(&rng);
    }
    small_ratings(ctx, noise, 900, u, i, v);
    task = small_task(ctx, FERRY_RATE, noise, blocks(ctx, "films", FERRY_TARGET, 3, 1, 0));
    assert_ok(
        ctx, ferry_task_add_domain(ctx, task, blocks(ctx, "songs", FERRY_SOURCE, 7, 1, 0)));
    return task;
}

static void test_order(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noisy_task(ctx);
    static const struct {
        const char *method, *settings, *first;
        size_t weights;
    } all[] = {
        {"cbt", "k=2 l=3 restarts=10 beta=0", "noise", 1},
        {"cbt", "k=2 l=3 restarts=10 beta=0 order=nearest", "songs", 1},
        {"mindtl-paper", "k=2 l=3 restarts=10 order=nearest use=1", "songs", 1},
        {"mindtl", "k=2 l=3 restarts=10 order=nearest mode=paper", "songs", 2},
        {"mindtl", "use=1", "noise", 1},
        {"talmud", "k=2 l=3 order=nearest restarts=10", "songs", 2},
    };

    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        ferry_model *m = fit_model(ctx, task, all[k].method, all[k].settings);
        json_t *j = json_loads(m->diagnostics, 0, NULL);
        json_t *w = json_object_get(j, "weights"), *d = json_object_get(j, "distance");
        assert_int_equal(json_object_size(w), all[k].weights);
        assert_non_null(json_object_get(w, all[k].first));
        if (strstr(all[k].settings, "nearest"))
            assert_true(json_number_value(json_object_get(d, "songs")) <
                        json_number_value(json_object_get(d, "noise")));
        else
            assert_null(d);
        json_decref(j);
        ferry_model_free(m);
    }
    assert_true(error_of(ctx, task, "cbt", "k=2 l=3 restarts=10 beta=0 order=nearest") <
                0.5 * error_of(ctx, task, "cbt", "k=2 l=3 restarts=10 beta=0"));
    ferry_task_free(task);
}

/* More starts over the target never make F larger. */
static void test_starts(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noisy_task(ctx);
    double f = INFINITY, first = 0;

    for (int starts = 1; starts <= 16; starts *= 4) {
        char settings[64];
        ferry_fit_info rep = {.size = sizeof rep};
        ferry_model *m = NULL;
        ferry_opts *o;
        (void)snprintf(settings, sizeof settings, "k=5 l=5 starts=%d", starts);
        o = settings_of(ctx, settings);
        assert_ok(ctx, ferry_fit(ctx, task, "cbt", o, &m, &rep));
        assert_true(rep.objective <= f);
        if (starts == 1) first = rep.objective;
        f = rep.objective;
        ferry_opts_free(o);
        ferry_model_free(m);
    }
    assert_true(f < first);
    ferry_task_free(task);
}

/* ---- same numbers ---- */

static ferry_domain *queries(ferry_ctx *ctx)
{
    const int u[] = {0, 5, 900, 0, 900}, i[] = {0, 7, 0, 900, 900};
    const double v[] = {NAN, NAN, NAN, NAN, NAN};
    ferry_domain *d = small_domain(ctx, "asked", FERRY_TARGET, 0, 0, NULL);

    small_ratings(ctx, d, 5, u, i, v);
    return d;
}

static void test_repeats_and_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_domain *d = queries(ctx);

    for (int i = 0; i < METHODS; i++) {
        ferry_prediction *p[4] = {NULL};
        ferry_model *m = NULL, *l = NULL;
        const char *path = tmp_path("mindtl.ferry"),
                   *settings = i < WITHOUT_GROUPS ? "" : "k=3 l=3";
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "host"));
        assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
        m = fit_model(ctx, task, names[i], settings);
        assert_ok(ctx, ferry_model_save(ctx, m, path));
        assert_ok(ctx, ferry_model_load(ctx, path, names[i], &l));
        assert_ok(ctx, ferry_predict(ctx, m, d, &p[0]));
        assert_ok(ctx, ferry_predict(ctx, l, d, &p[1]));
        assert_memory_equal(p[0]->value, p[1]->value, 5 * sizeof(double));
        for (int64_t e = 0; e < 5; e++)
            assert_true(p[0]->value[e] >= 1 && p[0]->value[e] <= 5);
        assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 2));
        p[2] = fit_predict(ctx, task, names[i], settings, d);
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "ref"));
        p[3] = fit_predict(ctx, task, names[i], settings, d);
        for (int64_t e = 0; e < 5; e++) {
            assert_close(p[2]->value[e], p[0]->value[e], 1e-10);
            assert_close(p[3]->value[e], p[0]->value[e], 1e-8);
        }
        for (int r = 0; r < 4; r++)
            ferry_prediction_free(p[r]);
        ferry_model_free(l);
        ferry_model_free(m);
    }
    ferry_domain_free(d);
    ferry_task_free(task);
}

/* ---- controls ---- */

/* What a control leaves of the sources' codebooks is in its model: the same numbers elsewhere, numbers of the range, or
 * the grid. */
static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double *codebook_of(ferry_ctx *ctx, const ferry_task *task, const char *name,
                           const char *settings, int64_t *n)
{
    ferry_model *m = fit_model(ctx, task, name, settings);
    ferry_dict *dict = NULL;
    int64_t rows = -1, cols = -1;
    const double *r = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, dict));
    assert_ok(ctx, ferry_i_dict_reals(ctx, dict, "part.0.r", &rows, &cols, &r));
    *n = rows * cols;
    double *copy_of = malloc((size_t)*n * sizeof *copy_of);
    memcpy(copy_of, r, (size_t)*n * sizeof *copy_of);
    ferry_i_dict_free(dict);
    ferry_model_free(m);
    return copy_of;
}

/* The paper's k = p/10, l = q/10 of 40 users and 30 items; its learning rate moves the weights. */
static void test_published_sizes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    int64_t n[2] = {0};
    double *tenth = codebook_of(ctx, task, "mindtl-paper", "k=0 l=0", &n[0]),
           *given = codebook_of(ctx, task, "mindtl-paper", "k=4 l=3", &n[1]);

    assert_true(n[0] == 12 && n[1] == 12);
    assert_memory_equal(tenth, given, 12 * sizeof *tenth);
    const double slow = error_of(ctx, task, "mindtl-paper", "lambda=sgd theta=0.001"),
                 fast = error_of(ctx, task, "mindtl-paper", "lambda=sgd theta=0.1");
    assert_true(fabs(slow - fast) > 1e-9);
    free(tenth);
    free(given);
    ferry_task_free(task);
}

static void test_controls(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    int64_t n[4] = {0};
    double *own = codebook_of(ctx, task, "mindtl-paper", "k=3 l=4", &n[0]),
           *moved = codebook_of(ctx, task, "shuffled-codebook-paper", "k=3 l=4", &n[1]),
           *drawn = codebook_of(ctx, task, "random-codebook-paper", "k=3 l=4", &n[2]),
           *grid = codebook_of(ctx, task, "additive-grid", "k=3 l=4", &n[3]);

    for (int i = 0; i < 4; i++)
        assert_int_equal(n[i], 12);
    assert_memory_not_equal(own, moved, 12 * sizeof *own);
    qsort(own, 12, sizeof *own, by_value);
    qsort(moved, 12, sizeof *moved, by_value);
    assert_memory_equal(own, moved, 12 * sizeof *own);
    for (int i = 0; i < 12; i++)
        assert_true(drawn[i] >= 1 && drawn[i] <= 5);
    assert_memory_not_equal(own, drawn, 12 * sizeof *own);
    assert_close(grid[0], 3.5 - 2.4, 1e-12); /* 3.5 + q_c + q_d, q from -1.2 to 1.2 */
    assert_close(grid[5], 3.5 + 0 - 0.4, 1e-12);
    assert_close(grid[11], 5, 0);
    free(own);
    free(moved);
    free(drawn);
    free(grid);
    ferry_task_free(task);
}

/* ---- odd shapes, needs, stops ---- */

/* One rating on each side; a source on one value; a user without ratings. */
static void test_tiny(void **state)
{
    ferry_ctx *ctx = *state;
    const int u[] = {0, 1}, i[] = {0, 0};
    const double v[] = {3, NAN}, w[] = {7, 7};
    ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;

    small_ratings(ctx, s, 2, u, i, w);
    small_ratings(ctx, t, 2, u, i, v);
    task = small_task(ctx, FERRY_RATE, s, t);
    for (int m = 0; m < METHODS; m++) {
        ferry_prediction *p = fit_predict(ctx, task, names[m], "", t);
        assert_close(p->value[0], 3, 1e-12);
        assert_close(p->value[1], 3, 1e-12);
        ferry_prediction_free(p);
    }
    ferry_task_free(task);
}

/* Ratings below 0: the multiplicative updates see them shifted. */
static void test_negative_scale(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *t = blocks(ctx, "jokes", FERRY_TARGET, 4, 5, -15);
    ferry_task *task =
        small_task(ctx, FERRY_RATE, blocks(ctx, "books", FERRY_SOURCE, 6, 1, 0), t);
    ferry_prediction *p = fit_predict(ctx, task, "cbt", "k=2 l=3 beta=0 restarts=10", t);
    double sum = 0;

    for (int64_t e = 0; e < p->n; e++) {
        const double d = p->value[e] - 5 * truth((int)(e / I), (int)(e % I)) + 15;
        sum += d * d / (double)p->n;
    }
    assert_true(sqrt(sum) < 4); /* the spread is 7 */
    ferry_prediction_free(p);
    ferry_task_free(task);
}

static void test_needs(void **state)
{
    ferry_ctx *ctx = *state;
    const int u[] = {0}, i[] = {0};
    const double none[] = {NAN};
    ferry_domain *s = small_domain(ctx, "empty", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *t = small_domain(ctx, "blank", FERRY_TARGET, 0, 0, NULL);
    ferry_task *alone =
        small_task(ctx, FERRY_RATE, NULL, blocks(ctx, "films", FERRY_TARGET, 3, 1, 0));
    ferry_task *blank = NULL, *empty = NULL;
    ferry_model *m = NULL;

    small_ratings(ctx, s, 1, u, i, none);
    small_ratings(ctx, t, 1, u, i, none);
    blank = small_task(ctx, FERRY_RATE, blocks(ctx, "b", FERRY_SOURCE, 3, 1, 0), t);
    empty = small_task(ctx, FERRY_RATE, s, blocks(ctx, "f", FERRY_TARGET, 3, 1, 0));
    assert_fails(ctx, ferry_fit(ctx, alone, "mindtl", NULL, &m, NULL), FERRY_ENEEDS,
                 "mindtl needs a source domain");
    assert_fails(ctx, ferry_fit(ctx, blank, "talmud", NULL, &m, NULL), FERRY_ENEEDS,
                 "target 'blank' has none that it may see");
    assert_fails(ctx, ferry_fit(ctx, empty, "mindtl", NULL, &m, NULL), FERRY_ENEEDS,
                 "source 'empty' has none with a value");
    assert_ok(ctx, ferry_fit(ctx, alone, "additive-grid", NULL, &m, NULL));
    ferry_model_free(m);
    for (int n = 0; n < 13; n++) {
        const char name[] = {(char)('a' + n), 0};
        assert_ok(ctx, ferry_task_add_domain(ctx, alone,
                                             blocks(ctx, name, FERRY_SOURCE, 1, 1, 0)));
    }
    assert_fails(ctx, ferry_fit(ctx, alone, "mindtl", NULL, &m, NULL), FERRY_ENEEDS,
                 "at most 12 sources; this task has 13");
    ferry_task_free(alone);
    ferry_task_free(blank);
    ferry_task_free(empty);
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_model *m = NULL;

    ferry_ctx_set_progress(ctx, cancel_at_once, NULL);
    for (int i = 0; i < METHODS; i++)
        assert_int_equal(ferry_fit(ctx, task, names[i], NULL, &m, NULL), FERRY_ECANCELLED);
    ferry_task_free(task);
}

typedef struct counter {
    int64_t calls, at;
} counter;

static ferry_answer finish_at(void *arg, const ferry_progress *p)
{
    counter *c = arg;

    assert_true(p->done <= p->total);
    return ++c->calls >= c->at ? FERRY_FINISH : FERRY_GO;
}

/* Finishing gives a model, whenever it is asked for, and soon. */
static void test_finish(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    const char *const settings[] = {"mode=paper k=3 l=3 starts=3 order=nearest", ""};

    for (int mode = 0; mode < 2; mode++) {
        ferry_opts *o = settings_of(ctx, settings[mode]);
        for (int64_t at = 1; at < 400; at *= 3) {
            counter c = {0, at};
            ferry_fit_info rep = {.size = sizeof rep};
            ferry_model *m = NULL;
            ferry_prediction *p = NULL;
            ferry_ctx_set_progress(ctx, finish_at, &c);
            assert_ok(ctx, ferry_fit(ctx, task, "mindtl", o, &m, &rep));
            if (c.calls >= at) {
                assert_int_equal(rep.stop, FERRY_STOP_FINISH);
                assert_true(c.calls < at + 40); /* a full fit makes 393 */
            }
            ferry_ctx_set_progress(ctx, NULL, NULL);
            assert_ok(ctx,
                      ferry_predict(ctx, m, ferry_i_task_role(task, FERRY_TARGET, 0), &p));
            for (int64_t e = 0; e < p->n; e++)
                assert_true(p->value[e] >= 1 && p->value[e] <= 5);
            ferry_prediction_free(p);
            ferry_model_free(m);
        }
        ferry_opts_free(o);
    }
    ferry_task_free(task);
}

typedef struct job {
    const ferry_task *task;
    const char *method;
    const ferry_opts *opts;
} job;

static ferry_status fit_only(ferry_ctx *ctx, void *arg)
{
    const job *j = arg;
    ferry_model *m = NULL;
    const ferry_status st = ferry_fit(ctx, j->task, j->method, j->opts, &m, NULL);

    ferry_model_free(m);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = small_task(ctx, FERRY_RATE, blocks(ctx, "s", FERRY_SOURCE, 2, 1, 0),
                                  blocks(ctx, "t", FERRY_TARGET, 2, 1, 0));
    ferry_opts *grid = settings_of(ctx, "k=2 l=2 iters=1");
    ferry_opts *hard = settings_of(ctx, "k=2 l=2 restarts=1 sweeps=1 iters=1 polish=1");
    ferry_opts *near = settings_of(ctx, "k=2 l=2 restarts=1 sweeps=1 order=nearest");
    ferry_opts *full = settings_of(
        ctx, "mode=paper k=2 l=2 restarts=1 sweeps=1 extract=onmtf order=nearest");
    ferry_opts *filled =
        settings_of(ctx, "k=2 l=2 restarts=1 sweeps=1 starts=2 extract=dc-onmtf");
    ferry_opts *sgd = settings_of(ctx, "mode=paper lambda=sgd k=2 l=2 restarts=1 sweeps=1");

    each_allocation_fails(ctx, fit_only, &(job){task, "talmud", hard});
    assert_ok(ctx,
              ferry_task_add_domain(ctx, task, blocks(ctx, "r", FERRY_SOURCE, 2, 1, 0)));
    each_allocation_fails(ctx, fit_only, &(job){task, "talmud", hard});
    each_allocation_fails(ctx, fit_only, &(job){task, "mindtl", sgd});
    each_allocation_fails(ctx, fit_only, &(job){task, "additive-grid", grid});
    each_allocation_fails(ctx, fit_only, &(job){task, "cbt", near});
    each_allocation_fails(ctx, fit_only, &(job){task, "mindtl", full});
    each_allocation_fails(ctx, fit_only, &(job){task, "cbt", filled});
    ferry_opts_free(filled);
    ferry_opts_free(full);
    ferry_opts_free(near);
    ferry_opts_free(sgd);
    ferry_opts_free(hard);
    ferry_opts_free(grid);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_finds_blocks),    TEST(test_weights),  TEST(test_repeats_and_files),
        TEST(test_published_sizes), TEST(test_controls), TEST(test_tiny),
        TEST(test_full_block),      TEST(test_rules),    TEST(test_extractions),
        TEST(test_order),           TEST(test_starts),   TEST(test_finish),
        TEST(test_negative_scale),  TEST(test_needs),    TEST(test_cancel),
        TEST(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
