/* GBC's formulas and exact runs against numbers of an independent program: some here, the
 * rest from the files in golden/gbc where they are present. */
#include "golden.h"
#include "methods/gbc/gbc.h"
#include "oracle.h"
#include "small_task.h"

enum { MOST = 64 };

/* A case of the files: the arrays that gbc_problem borrows. */
typedef struct fixture {
    gbc_problem g;
    uint8_t mask[4 * MOST], labelled[MOST];
    double y[MOST];
    ferry_matrix *graph[4];
} fixture;

static void read_graphs(ferry_ctx *ctx, const json_t *j, fixture *c)
{
    const json_t *all = golden_at(j, "edges");

    c->g.q = (int64_t)json_array_size(all);
    for (int64_t t = 0; t < c->g.q; t++) {
        const json_t *edges = json_array_get(all, (size_t)t);
        double a[MOST * MOST] = {0};
        size_t e = 0;
        json_t *edge = NULL;
        json_array_foreach(edges, e, edge)
        {
            const json_int_t from = json_integer_value(json_array_get(edge, 0));
            const json_int_t to = json_integer_value(json_array_get(edge, 1));
            const double v = json_number_value(json_array_get(edge, 2));
            a[from * c->g.n + to] = a[to * c->g.n + from] = v;
        }
        ferry_matrix *m = NULL;
        assert_ok(ctx, ferry_i_matrix_csr(ctx, c->g.n, c->g.n, c->g.n * c->g.n, &m));
        m->nnz = 0;
        for (int64_t i = 0; i < c->g.n; i++) {
            for (int64_t k = 0; k < c->g.n; k++) {
                if (a[i * c->g.n + k] == 0) continue;
                m->index[m->nnz] = (int32_t)k;
                m->value[m->nnz++] = a[i * c->g.n + k];
            }
            m->start[i + 1] = m->nnz;
        }
        c->graph[t] = m;
    }
    c->g.graph = c->graph;
}

static void read_case(ferry_ctx *ctx, const json_t *j, const char *y, fixture *c)
{
    int64_t p = 0, n = 0, labelled = (int64_t)golden_real(j, "n_labelled"), rows = 0;
    double *mask = golden_array(j, "mask", &p, &n),
           *values = golden_array(j, y, &rows, NULL);

    *c = (fixture){.g = {.n = n, .p = p, .k = 1}};
    c->g.logistic = strcmp(json_string_value(golden_at(j, "kind")), "logistic") == 0;
    for (int64_t e = 0; e < p * n; e++)
        c->mask[e] = mask[e] != 0;
    for (int64_t x = 0; x < labelled; x++) {
        c->labelled[x] = 1;
        c->y[x] = values[x];
    }
    c->g.mask = c->mask;
    c->g.labelled = c->labelled;
    c->g.y = c->y;
    read_graphs(ctx, j, c);
    free(mask);
    free(values);
}

static void free_case(fixture *c)
{
    for (int64_t t = 0; t < c->g.q; t++)
        ferry_i_matrix_free(c->graph[t]);
}

static void compare(const json_t *j, const char *key, int64_t n, const double *have)
{
    int64_t rows = 0, cols = 0;
    double *want = golden_array(j, key, &rows, &cols);

    assert_int_equal(rows * cols, n);
    for (int64_t e = 0; e < n; e++) {
        if (!(fabs(have[e] - want[e]) <= 1e-8 * fmax(1e-3, fabs(want[e]))))
            fail_msg("%s[%d]: %.17g, not %.17g", key, (int)e, have[e], want[e]);
    }
    free(want);
}

/* E and Et as they stand, for the terms of unlabelled instances. */
typedef struct frozen {
    const gbc_problem *g;
    gbc_targets t;
} frozen;

static void term(const void *arg, int64_t i, int64_t x, int64_t j, double f, double *z,
                 double *c)
{
    const frozen *now = arg;

    ferry_i_gbc_term(now->g, &now->t, i, x, j, f, z, c);
}

static void check_gradients(ferry_ctx *ctx, const char *name)
{
    json_t *j = golden(name);
    fixture c;

    if (!j) return;
    read_case(ctx, j, "y_labelled", &c);
    gbc_problem *g = &c.g;
    g->soft = strcmp(json_string_value(golden_at(j, "mode")), "soft") == 0;
    g->clamp = json_is_true(golden_at(j, "clamp"));
    g->lambda0 = golden_real(j, "lambda0");
    g->lambda1 = golden_real(j, "lambda1");
    const int64_t n = g->n, p = g->p, q = g->q;
    double *all = golden_array(j, "F", NULL, NULL), *w = golden_array(j, "w", NULL, NULL);
    double *wg = golden_array(j, "wg", NULL, NULL), *d = golden_array(j, "g", NULL, NULL);
    double *f[4], e[MOST], et[4 * MOST], z[4 * MOST], cc[4 * MOST], rho[4], loss[4];
    double *ets[4], m[4], weights[4], score[MOST], has_real[4 * MOST];
    uint8_t has[4 * MOST], *hass[4];
    int32_t sources[MOST], seen[MOST];
    const frozen now = {g, {e, sources, ets, hass}};
    const ferry_objective o = {.n = n,
                               .p = p,
                               .k = 1,
                               .mask = c.mask,
                               .labelled = g->labelled,
                               .y = g->y,
                               .logistic = g->logistic,
                               .term = term,
                               .arg = &now};

    for (int64_t i = 0; i < p; i++) {
        f[i] = all + i * n;
        ets[i] = et + i * n;
        hass[i] = has + i * n;
    }
    ferry_i_gbc_consensus(g, f, w, e, sources);
    compare(j, "E", n, e);
    for (int64_t i = 0; i < p; i++) {
        oracle_gbc_neighbours(g, i, f[i], wg, et + i * n, has + i * n);
        for (int64_t x = 0; x < n; x++) {
            z[i * n + x] = cc[i * n + x] = 0;
            if (c.mask[i * n + x])
                ferry_i_objective_gradient(&o, i, x, 0, f[i][x], &z[i * n + x],
                                           &cc[i * n + x]);
        }
        assert_ok(ctx, ferry_i_objective_line(ctx, &o, i, f[i], d, &rho[i]));
        loss[i] = ferry_i_objective_loss(&o, i, f[i]);
    }
    for (int64_t x = 0; x < p * n; x++)
        has_real[x] = has[x];
    compare(j, "Et", p * n, et);
    compare(j, "has", p * n, has_real);
    compare(j, "z", p * n, z);
    compare(j, "c", p * n, cc);
    compare(j, "rho", p, rho);
    compare(j, "source_loss", p, loss);
    ferry_i_gbc_root(p, loss, weights);
    compare(j, "w_root", p, weights);
    ferry_i_gbc_consensus(g, f, weights, score, seen);
    compare(j, "score", n, score);
    ferry_i_gbc_softmax(p, loss, weights);
    compare(j, "w_softmax", p, weights);
    oracle_gbc_graph_loss(g, f, w, m);
    compare(j, "graph_loss", q, m);
    ferry_i_gbc_root(q, m, weights);
    compare(j, "wg_root", q, weights);
    /* The fast pass over the edges: the same losses, and Et with the weights it found. */
    gbc_pass *pass = NULL;
    double fast[4 * MOST], fast_loss[4], fast_wg[4], *fasts[4];
    uint8_t fast_has[4 * MOST], *fast_hass[4];
    for (int64_t i = 0; i < p; i++) {
        fasts[i] = fast + i * n;
        fast_hass[i] = fast_has + i * n;
    }
    assert_ok(ctx, ferry_i_gbc_pass_new(ctx, g, &pass));
    assert_ok(ctx, ferry_i_gbc_pass_run(ctx, pass, g, f, w, fast_loss, fast_wg, fasts,
                                        fast_hass));
    compare(j, "graph_loss", q, fast_loss);
    compare(j, "wg_root", q, fast_wg);
    for (int64_t i = 0; i < p; i++) {
        oracle_gbc_neighbours(g, i, f[i], weights, ets[i], has + i * n);
        for (int64_t x = 0; x < n; x++) {
            if (g->labelled[x]) continue;
            assert_int_equal(has[i * n + x], fast_has[i * n + x]);
            assert_close(fast[i * n + x], et[i * n + x], 1e-13);
        }
    }
    ferry_i_gbc_pass_free(pass);
    ferry_i_gbc_softmax(q, m, weights);
    compare(j, "wg_softmax", q, weights);
    free(all);
    free(w);
    free(wg);
    free(d);
    free_case(&c);
    json_decref(j);
}

static void test_gradients(void **state)
{
    check_gradients(*state, "gbc/grad_l2_soft_clamp.json");
    check_gradients(*state, "gbc/grad_l2_soft_noclamp.json");
    check_gradients(*state, "gbc/grad_logistic_soft_clamp.json");
    check_gradients(*state, "gbc/grad_logistic_soft_noclamp.json");
    check_gradients(*state, "gbc/grad_logistic_thesis_clamp.json");
    check_gradients(*state, "gbc/grad_logistic_thesis_noclamp.json");
}

static void test_weights_of_files(void **state)
{
    (void)state;
    json_t *j = golden("gbc/weights.json"), *losses = NULL;
    size_t at = 0;

    if (!j) skip();
    json_array_foreach(golden_at(j, "cases"), at, losses)
    {
        const int64_t n = (int64_t)json_array_size(losses);
        double l[8], w[8];
        for (int64_t i = 0; i < n; i++) {
            const json_t *v = json_array_get(losses, (size_t)i);
            l[i] = json_is_null(v) ? NAN : json_number_value(v);
        }
        for (int rule = 0; rule < 3; rule++) {
            static const char *const keys[] = {"root", "softmax_rel8", "skill"};
            const json_t *want = json_array_get(golden_at(j, keys[rule]), at);
            const double l0 =
                json_number_value(json_array_get(golden_at(j, "skill_l0"), at));
            if (rule == 0) ferry_i_gbc_root(n, l, w);
            if (rule == 1) ferry_i_gbc_softmax(n, l, w);
            if (rule == 2) ferry_i_gbc_skill(n, l, l0, w);
            for (int64_t i = 0; i < n; i++) {
                const double v = json_number_value(json_array_get(want, (size_t)i));
                if (!(fabs(w[i] - v) <= 1e-8 * fabs(v) + 1e-300))
                    fail_msg("%s of case %d: %.17g, not %.17g", keys[rule], (int)at, w[i],
                             v);
            }
        }
    }
    json_decref(j);
}

/* l = (1, 2): exp(-1/z) + exp(-2/z) = 1 is the golden section. */
static void test_weights(void **state)
{
    (void)state;
    const double two[] = {1, 2}, zero[] = {0, 1, 0}, none[] = {NAN, NAN};
    double w[3];

    ferry_i_gbc_root(2, two, w);
    assert_close(w[0], 0.6180339887498949, 1e-14);
    assert_close(w[1], 0.3819660112501052, 1e-14);
    ferry_i_gbc_softmax(2, two, w);
    assert_close(w[0], 0.9951952471128405, 1e-14);
    ferry_i_gbc_skill(2, two, 2.5, w);
    assert_close(w[0], 0.75, 1e-14);
    ferry_i_gbc_skill(2, two, 0.5, w); /* none is better than nothing */
    assert_close(w[0], 0.5, 1e-14);
    ferry_i_gbc_root(3, zero, w);
    assert_close(w[0], 0.5, 0);
    assert_close(w[1], 0, 0);
    ferry_i_gbc_root(2, none, w);
    assert_close(w[1], 0.5, 0);
    ferry_i_gbc_root(1, two, w);
    assert_close(w[0], 1, 0);
}

/* One tree of the file: [heap index, feature or -1, threshold, value] a node. */
static void compare_tree(const json_t *want, const ferry_tree *t, double rate, int32_t at,
                         json_int_t heap)
{
    size_t e = 0;
    json_t *node = NULL, *found = NULL;
    const ferry_tree_node *have = &t->node[at];

    json_array_foreach(want, e, node)
    {
        if (json_integer_value(json_array_get(node, 0)) == heap) found = node;
    }
    assert_non_null(found);
    assert_int_equal(have->feature, json_integer_value(json_array_get(found, 1)));
    assert_close(have->value / rate, json_number_value(json_array_get(found, 3)), 1e-8);
    if (have->feature < 0) return;
    assert_close(have->threshold, json_number_value(json_array_get(found, 2)), 1e-12);
    compare_tree(want, t, rate, have->left, 2 * heap + 1);
    compare_tree(want, t, rate, have->right, 2 * heap + 2);
}

static void check_run(ferry_ctx *ctx, const char *name)
{
    json_t *j = golden(name);
    fixture c;

    if (!j) return;
    read_case(ctx, j, "y", &c);
    const json_t *params = golden_at(j, "params");
    const int64_t n = c.g.n, p = c.g.p, rounds = (int64_t)golden_real(params, "N");
    const gbc_settings o = {
        .weights = GBC_ROOT,
        .grow = {.all = true,
                 .rate = golden_real(params, "nu"),
                 .how = FERRY_GROW_EXACT,
                 .tree = {.depth = (int64_t)golden_real(params, "depth"),
                          .min_leaf = (int64_t)golden_real(params, "min_leaf"),
                          .reg = c.g.logistic ? 0.25 : 1}}};
    gbc_run *r = NULL;
    ferry_view *views[4];
    ferry_domain *d = NULL;

    c.g.soft = c.g.clamp = true;
    c.g.lambda0 = golden_real(params, "lam0");
    c.g.lambda1 = golden_real(params, "lam1");
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    for (int64_t i = 0; i < p; i++) {
        int64_t cols = 0, kept = 0;
        char key[8], ids[MOST][8];
        const char *id[MOST];
        (void)snprintf(key, sizeof key, "X%d", (int)i);
        double *x = golden_array(j, key, NULL, &cols);
        for (int64_t row = 0; row < n; row++) { /* ids keep the rows' numbers */
            (void)snprintf(ids[row], sizeof ids[row], "%d", (int)row);
            if (!c.mask[i * n + row]) continue;
            id[kept] = ids[row];
            memmove(x + kept * cols, x + row * cols, (size_t)cols * sizeof *x);
            kept++;
        }
        small_view(ctx, d, key, kept, cols, x, id, NULL, false);
        free(x);
        views[i] = d->views[i];
    }
    /* The domain numbers instances as they come: back to the rows' numbers. */
    for (int64_t i = 0; i < p; i++)
        for (int64_t row = 0; row < views[i]->x->rows; row++)
            views[i]->instance[row] = atoi(ferry_i_ids_at(d->ids, views[i]->instance[row]));
    assert_ok(ctx, ferry_i_gbc_run_new(ctx, &o, &c.g, views, NULL, NULL, &r));
    for (int64_t t = 0; t < rounds; t++) {
        const json_t *trees = golden_at(j, "trees");
        assert_ok(ctx, ferry_i_gbc_run_step(ctx, r));
        for (int64_t i = 0; i < p; i++) {
            compare_tree(json_array_get(trees, (size_t)(t * p + i)),
                         *ferry_i_forest_tree(r->b->forest, t, i, 0), o.grow.rate, 0, 0);
            const json_t *want =
                json_array_get(json_array_get(golden_at(j, "F"), (size_t)t), (size_t)i);
            for (int64_t x = 0; x < n; x++)
                if (c.mask[i * n + x])
                    assert_close(r->b->f[i][x],
                                 json_number_value(json_array_get(want, (size_t)x)), 1e-8);
            want = json_array_get(golden_at(j, "w"), (size_t)t);
            assert_close(r->w[i], json_number_value(json_array_get(want, (size_t)i)), 1e-8);
        }
    }
    double score[MOST];
    int32_t seen[MOST];
    ferry_i_gbc_consensus(&c.g, r->b->f, r->w, score, seen);
    for (int64_t x = 0; x < n; x++)
        if (seen[x] == 0) score[x] = r->b->forest->f0[0];
    compare(j, "score", n, score);
    ferry_i_gbc_run_free(r);
    ferry_domain_free(d);
    free_case(&c);
    json_decref(j);
}

static void test_runs(void **state)
{
    check_run(*state, "gbc/run_l2.json");
    check_run(*state, "gbc/run_logistic.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gradients, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_weights, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_weights_of_files, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_runs, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("gbc_golden", tests, NULL, NULL);
}
