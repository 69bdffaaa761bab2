/* gbc-paper's formulas against numbers of an independent program, from the files in golden/gbc where they are
 * present; and its weights by hand. The method's file is part of this one, so that its steps can be asked one by one. */
#include "../../src/methods/gbc_paper.c" /* NOLINT */

#include "golden.h"

enum { MOST = 64 };

/* A case of the files as the method's target. */
typedef struct fixture {
    domain t;
    view v[4];
    graph g[4];
    uint8_t there[4][MOST], labelled[MOST];
    targets_now now;
} fixture;

static void read_graphs(scope *s, const json_t *j, fixture *c)
{
    const json_t *all = golden_at(j, "edges");
    const int64_t n = c->t.n;

    c->t.n_graphs = (int)json_array_size(all);
    c->t.graph = c->g;
    for (int t = 0; t < c->t.n_graphs; t++) {
        const matrix a = matrix_dense(s, HERE(n), n, n);
        size_t e = 0;
        json_t *edge = NULL;
        json_array_foreach(json_array_get(all, (size_t)t), e, edge)
        {
            const json_int_t from = json_integer_value(json_array_get(edge, 0));
            const json_int_t to = json_integer_value(json_array_get(edge, 1));
            const double v = json_number_value(json_array_get(edge, 2));
            a.m->dense[from * n + to] = a.m->dense[to * n + from] = v;
        }
        c->g[t].a = to_sparse(s, a);
    }
}

static void compare(const json_t *j, const char *key, int64_t n, const double *have)
{
    int64_t rows = 0, cols = 0;
    double *want = golden_array(j, key, &rows, &cols);

    assert_int_equal(rows * cols, n);
    for (int64_t e = 0; e < n; e++)
        if (!(fabs(have[e] - want[e]) <= 1e-8 * fmax(1e-3, fabs(want[e]))))
            fail_msg("%s[%d]: %.17g, not %.17g", key, (int)e, have[e], want[e]);
    free(want);
}

static void free_json(void *j)
{
    json_decref(j);
}

static double *numbers(scope *s, const json_t *j, const char *key)
{
    int64_t rows = 0, cols = 0;
    double *v = golden_array(j, key, &rows, &cols), *own = COPY(s, v, rows * cols);

    free(v);
    return own;
}

static void read_case(scope *s, const json_t *j, fixture *c)
{
    int64_t p = 0, n = 0;
    double *mask = golden_array(j, "mask", &p, &n);
    const int64_t labelled = (int64_t)golden_real(j, "n_labelled");

    c->t = (domain){.rows = HERE(n), .n = n, .n_views = (int)p, .view = c->v};
    for (int64_t i = 0; i < p; i++) {
        c->v[i] = (view){.there = c->there[i]};
        for (int64_t x = 0; x < n; x++)
            c->there[i][x] = mask[i * n + x] != 0;
    }
    for (int64_t x = 0; x < labelled; x++)
        c->labelled[x] = 1;
    free(mask);
    read_graphs(s, j, c);
}

/* E, l_g with their weights, Et with the file's weights, and what the terms add for rows without labels. */
static void check_steps(scope *s, void *arg)
{
    json_t *j = golden(arg);
    fixture *c = NEW(s, fixture, 1);
    targets_now *now = NULL;
    const paper_options o = {.lambda0 = 0.1, .lambda1 = 0.1};

    if (!j) return;
    scope_defer(s, free_json, j);
    read_case(s, j, c);
    const int64_t n = c->t.n, p = c->t.n_views;
    const outcome to = {.numbers = strstr(arg, "_l2_") != NULL, .classes = 2, .k = 1};
    now = begin(s, &c->t, &to, &o);
    now->lambda0 = golden_real(j, "lambda0");
    now->lambda1 = golden_real(j, "lambda1");
    now->w = numbers(s, j, "w");
    const block all = {HERE(p * n), p * n, 1, numbers(s, j, "F")};
    block f[4];
    double *et = NEW(s, double, p *n), *has = NEW(s, double, p *n), *z = numbers(s, j, "z"),
           *curve = numbers(s, j, "c");
    for (int64_t i = 0; i < p; i++)
        f[i] = (block){HERE(n), n, 1, all.at + i * n};
    find_consensus(now, f);
    compare(j, "E", n, now->e.at);
    find_neighbours(s, now, f, c->labelled);
    compare(j, "graph_loss", c->t.n_graphs, now->graph_loss);
    compare(j, "wg_root", c->t.n_graphs, now->wg);
    now->wg = numbers(s, j, "wg");
    block *af = NEW(s, block, c->t.n_graphs);
    const block show = shown(s, now, f, false);
    for (int g = 0; g < c->t.n_graphs; g++) {
        af[g] = block_like(s, show);
        mul(s, c->g[g].a, show, af[g]);
    }
    find_means(now, af, c->labelled);
    const double *want_et = numbers(s, j, "Et"), *want_has = numbers(s, j, "has");
    for (int64_t i = 0; i < p; i++)
        for (int64_t x = 0; x < n; x++) {
            double own_z = 0, own_c = 0;
            if (c->labelled[x] || !c->there[i][x]) continue;
            et[i * n + x] = ROW(now->et[i], x)[0];
            has[i * n + x] = now->has[i][x];
            assert_close(has[i * n + x], want_has[i * n + x], 0);
            assert_close(et[i * n + x], want_et[i * n + x], 1e-8);
            term(now, i, x, 0, ROW(f[i], x)[0], &own_z, &own_c);
            assert_close(own_z, z[i * n + x], 1e-8);
            assert_close(own_c, curve[i * n + x], 1e-8);
        }
    double weights[4];
    root_weights(p, numbers(s, j, "source_loss"), weights);
    compare(j, "w_root", p, weights);
    softmax_weights(p, numbers(s, j, "source_loss"), weights);
    compare(j, "w_softmax", p, weights);
}

static void test_steps(void **state)
{
    assert_ok(*state, scope_run(*state, check_steps, "gbc/grad_l2_soft_noclamp.json"));
    assert_ok(*state,
              scope_run(*state, check_steps, "gbc/grad_logistic_thesis_noclamp.json"));
}

/* l = (1, 2): exp(-1/z) + exp(-2/z) = 1 is the golden section. */
static void test_weights(void **state)
{
    const double two[] = {1, 2}, zero[] = {0, 1, 0}, none[] = {NAN, NAN};
    double w[3];

    (void)state;
    root_weights(2, two, w);
    assert_close(w[0], 0.6180339887498949, 1e-14);
    assert_close(w[1], 0.3819660112501052, 1e-14);
    softmax_weights(2, two, w);
    assert_close(w[0], 0.9951952471128405, 1e-14);
    root_weights(3, zero, w);
    assert_close(w[0], 0.5, 0);
    assert_close(w[1], 0, 0);
    root_weights(2, none, w);
    assert_close(w[1], 0.5, 0);
    root_weights(1, two, w);
    assert_close(w[0], 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_steps, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_weights, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("gbc_golden", tests, NULL, NULL);
}
