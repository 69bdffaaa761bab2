/* Views, graphs and links of CoCA: the golden cases, definitions written out, both ways to solve, packed products. */
#include "learn/consensus.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "coca_case.h"
#include "ferry_test.h"
#include "learn/linked.h"
#include "learn/simplex_qp.h"
#include "linalg/host/isa.h"
#include "linalg/packed.h"

enum { M = 14, MOST = 4 };

/* ---- parts of a problem ---- */

static matrix dense_of(scope *s, int64_t rows, int64_t cols, const double *x)
{
    const matrix m = matrix_dense(s, HERE(rows), rows, cols);

    memcpy(m.m->dense, x, (size_t)(rows * cols) * sizeof *x);
    return m;
}

static matrix sparse_of(scope *s, int64_t rows, int64_t cols, const double *x)
{
    return to_sparse(s, dense_of(s, rows, cols, x));
}

/* Columns divided by their deviation, as scale: standard does; sd: by what. */
static void standardise(int64_t rows, int64_t cols, double *x, double *sd)
{
    for (int64_t j = 0; j < cols; j++) {
        double sum = 0, sum2 = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += x[i * cols + j] / (double)rows;
        for (int64_t i = 0; i < rows; i++)
            sum2 += (x[i * cols + j] - sum) * (x[i * cols + j] - sum) / (double)rows;
        sd[j] = sum2 > 1e-20 * sum * sum ? sqrt(sum2) : 1;
        for (int64_t i = 0; i < rows; i++)
            x[i * cols + j] /= sd[j];
    }
}

/* A problem under way: views are added one by one. */
typedef struct setting {
    consensus c;
    scaled_view x[MOST];
    double sd[MOST][80], a[MOST], f[MOST];
} setting;

static void add_view(scope *s, setting *z, matrix x, const uint8_t *there, balance how)
{
    const view v = {.name = "x", .x = x, .there = there};
    const domain d = {.rows = x.rows, .n = x.n, .n_views = 1, .view = &v};

    z->x[z->c.p++] = *centred_views(s, &d, how);
    z->c.x = z->x;
    z->c.a = z->a;
}

static balance balance_named(const char *scaling)
{
    return strstr(scaling, "frob")       ? BALANCE_FROB
           : strstr(scaling, "spectral") ? BALANCE_SPECTRAL
                                         : BALANCE_NONE;
}

/* Columns equal up to sign. */
static void same_columns(block a, const double *b)
{
    for (int64_t c = 0; c < a.k; c++) {
        double sign = 0;
        for (int64_t i = 0; i < a.n; i++)
            sign += ROW(a, i)[c] * b[i * a.k + c];
        sign = sign < 0 ? -1 : 1;
        for (int64_t i = 0; i < a.n; i++)
            assert_close(sign * ROW(a, i)[c], b[i * a.k + c], 1e-8);
    }
}

static embedding embed(scope *s, const consensus *c, int64_t d, block *phi)
{
    double *values = NEW(s, double, d);
    const embed_solution from = {.p = c->p,
                                 .x = c->x,
                                 .f = c->f,
                                 .values = values,
                                 .u = consensus_solve(s, c, d, values, NULL),
                                 .share = 1 / (double)c->p};

    return embedding_of(s, s, &from, LACKING_AUTO, phi);
}

/* ---- the golden cases ---- */

static int64_t flatten(const json_t *j, double *out)
{
    int64_t n = 0;

    if (!json_is_array(j)) {
        if (out) *out = json_number_value(j);
        return 1;
    }
    for (size_t i = 0; i < json_array_size(j); i++)
        n += flatten(json_array_get(j, i), out ? out + n : NULL);
    return n;
}

/* Numbers of a nested array, one after the other. */
static double *numbers(scope *s, const json_t *root, const char *key, int64_t *n)
{
    const json_t *j = json_object_get(root, key);
    const int64_t count = j ? flatten(j, NULL) : 0;
    double *x = NEW(s, double, count);

    if (j) flatten(j, x);
    if (n) *n = count;
    return x;
}

static const char *text(const json_t *root, const char *key)
{
    const char *s = json_string_value(json_object_get(root, key));

    return s ? s : "";
}

static matrix case_graph(scope *s, const json_t *root)
{
    const json_t *edges = json_object_get(root, "edges");
    const int64_t m = json_integer_value(json_object_get(root, "m"));
    const char *norm = text(root, "graph_norm");
    graph g[MOST] = {{.name = "g"}};
    int q = 0;

    if (!norm[0]) return (matrix){.m = NULL};
    for (; q < (int)json_array_size(edges); q++) {
        const json_t *list = json_array_get(edges, (size_t)q);
        double *full = NEW(s, double, m *m);
        for (size_t e = 0; e < json_array_size(list); e++) {
            double v[3];
            flatten(json_array_get(list, e), v);
            full[(int64_t)v[0] * m + (int64_t)v[1]] += v[2];
            full[(int64_t)v[1] * m + (int64_t)v[0]] += v[2];
        }
        g[q].a = sparse_of(s, m, m, full);
    }
    return merge_graphs(s, q, g, numbers(s, root, "wt", NULL), strcmp(norm, "sym") == 0);
}

/* (4.8), (4.4) or (4.3). */
static void set_form(setting *z, const char *form, const double *w, double alpha)
{
    const double p = (double)z->c.p;

    z->c.b = form[2] == '3' ? 2 * alpha : alpha;
    for (int64_t j = 0; j < z->c.p; j++)
        z->a[j] = form[2] == '8'   ? w[j]
                  : form[2] == '4' ? w[j] + alpha
                                   : w[j] - 2 * alpha * (p - 1);
}

static void check_phi(scope *s, const setting *z, const json_t *root)
{
    const int64_t d = json_integer_value(json_object_get(root, "d"));
    const double *values = numbers(s, root, "eigenvalues", NULL);
    const json_t *tests = json_object_get(root, "X_test");
    double *got = NEW(s, double, d);
    block phi;

    const block u = consensus_solve(s, &z->c, d, got, NULL);
    for (int64_t c = 0; c < d; c++)
        assert_close(got[c], values[c], 1e-8);
    const embedding e = embed(s, &z->c, d, &phi);
    same_columns(phi, numbers(s, root, "Phi", NULL));
    if (json_object_get(root, "U")) same_columns(u, numbers(s, root, "U", NULL));
    if (!tests) return;
    view *v = NEW(s, view, z->c.p);
    domain fresh = {.n_views = (int)z->c.p, .view = v};
    for (int64_t j = 0; j < z->c.p; j++) {
        const json_t *one = json_array_get(tests, (size_t)j);
        const int64_t n = (int64_t)json_array_size(one), cols = z->x[j].features;
        double *raw = NEW(s, double, n *cols);
        flatten(one, raw);
        for (int64_t i = 0; i < n * cols; i++)
            raw[i] /= z->sd[j][i % cols];
        v[j].x = dense_of(s, n, cols, raw);
        fresh.rows = HERE(n);
        fresh.n = n;
    }
    same_columns(embedding_apply(s, &e, &fresh), numbers(s, root, "Phi_test", NULL));
}

static void check_form(scope *s, const json_t *root, bool sparse, bool products)
{
    const int64_t m = json_integer_value(json_object_get(root, "m"));
    const char *form = text(root, "form");
    const double alpha = json_number_value(json_object_get(root, "alpha")),
                 *w = numbers(s, root, "w", NULL), *means = numbers(s, root, "mean", NULL),
                 *scales = numbers(s, root, "scale_vec", NULL);
    setting *z = NEW(s, setting, 1);
    int64_t at = 0, n = 0;

    z->c.products_only = products;
    for (int64_t j = 0; j < MOST; j++) {
        double *x = numbers(s, root, scope_text(s, "X%d", (int)j), &n);
        if (n == 0) continue;
        for (int64_t i = 0; i < n / m; i++)
            z->sd[j][i] = 1;
        if (strstr(text(root, "scale"), "feature")) standardise(m, n / m, x, z->sd[j]);
        add_view(s, z, sparse ? sparse_of(s, m, n / m, x) : dense_of(s, m, n / m, x), NULL,
                 balance_named(text(root, "scale")));
    }
    z->c.w = case_graph(s, root);
    for (int64_t j = 0; form[0] && j < z->c.p; j++)
        for (int64_t i = 0; i < z->x[j].features; i++, at++) {
            assert_close(z->x[j].mean[i] * z->sd[j][i], means[at], 1e-8);
            assert_close(z->sd[j][i] / z->x[j].factor, scales[at], 1e-8);
        }
    if (form[0]) {
        set_form(z, form, w, alpha);
    } else { /* weights on the views, diagonal 1/p */
        double equal[MOST];
        for (int64_t j = 0; j < z->c.p; j++) {
            z->f[j] = sqrt((double)z->c.p * w[j]);
            equal[j] = 1 / (double)z->c.p;
        }
        z->c.f = z->f;
        set_form(z, "4.8", equal, alpha);
    }
    if (json_object_get(root, "H") && consensus_size(&z->c) == at) {
        const double *want = numbers(s, root, "H", NULL);
        const small h = consensus_matrix(s, &z->c);
        for (int64_t e = 0; e < h.rows * h.cols; e++)
            assert_close(h.at[e], want[e], 1e-8);
    }
    check_phi(s, z, root);
}

static void check_qp(scope *s, const json_t *root)
{
    const json_t *list = json_object_get(root, "Phis");
    const int64_t p = (int64_t)json_array_size(list);
    const char *norm = text(root, "norm");
    int64_t cells = 0;
    links l = {.c = numbers(s, root, "C", &cells)};
    const double *k = numbers(s, root, "K", NULL), *v = numbers(s, root, "v", NULL),
                 *w = numbers(s, root, "w", NULL);
    double got_v[12], got_w[12];
    block phi[12];

    if (strcmp(norm, "frob") == 0) return; /* nobody asks for it any more */
    l.n = (int64_t)sqrt((double)cells);
    for (int64_t i = 0; i < p; i++) {
        const json_t *one = json_array_get(list, (size_t)i);
        phi[i] = block_new(s, HERE(l.n), l.n, flatten(one, NULL) / l.n);
        flatten(one, phi[i].at);
    }
    for (int64_t i = 0; i < cells; i++) {
        l.must += l.c[i] > 0;
        l.cannot += l.c[i] < 0;
    }
    const small got =
        links_qp(s, &l, p, phi, strcmp(norm, "cosine") == 0 ? NORM_COSINE : NORM_PLAIN,
                 json_is_true(json_object_get(root, "balance")), got_v);
    (void)simplex_qp(s, got, got_v, got_w);
    for (int64_t i = 0; i < p; i++) {
        assert_close(got_v[i], v[i], 1e-8);
        assert_close(got_w[i], w[i], 1e-8);
        for (int64_t j = 0; j < p; j++)
            assert_close(AT(got, i, j), k[i * p + j], 1e-8);
    }
}

static void check_relational(scope *s, const json_t *root)
{
    int64_t n = 0;
    const double *values = numbers(s, root, "eigenvalues", &n);
    double got[16];

    if (!json_is_true(json_object_get(root, "centred"))) return;
    const block phi = consensus_relational(s, case_graph(s, root), n, got);
    for (int64_t c = 0; c < n; c++)
        assert_close(got[c], values[c], 1e-8);
    same_columns(phi, numbers(s, root, "Phi", NULL));
}

static void golden_body(scope *s, void *arg)
{
    const json_t *root = arg;

    if (json_object_get(root, "Phis"))
        check_qp(s, root);
    else if (!json_object_get(root, "X0"))
        check_relational(s, root);
    else
        for (int how = 0; how < 4; how++)
            check_form(s, root, how & 1, how & 2);
}

static void check_qp_cases(scope *s, void *arg)
{
    const json_t *root = arg, *cases = json_object_get(root, "cases");

    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        double k[400], v[20], w[20], got[20];
        const int64_t p = flatten(json_object_get(one, "v"), v);
        flatten(json_object_get(one, "K"), k);
        flatten(json_object_get(one, "w"), w);
        (void)simplex_qp(s, (small){p, p, k}, v, got);
        for (int64_t j = 0; j < p; j++)
            assert_close(got[j], w[j], 1e-8);
    }
}

static void test_golden(void **state)
{
    const char *data = golden_dir();
    char dir[4096], path[4500];
    DIR *folder = NULL;
    int seen = 0;

    if (data) {
        snprintf(dir, sizeof dir, "%s/coca", data);
        folder = opendir(dir);
        if (!folder) print_message("skipped: no golden cases at %s\n", dir);
    }
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (!strstr(e->d_name, ".json")) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        json_t *root = json_load_file(path, 0, NULL);
        assert_non_null(root);
        seen++;
        if (strcmp(e->d_name, "qp_cases.json") == 0)
            assert_ok(*state, scope_run(*state, check_qp_cases, root));
        else
            assert_ok(*state, scope_run(*state, golden_body, root));
        json_decref(root);
    }
    if (folder) {
        closedir(folder);
        assert_true(seen > 0);
    }
}

/* ---- the same without files ---- */

static matrix edges_matrix(scope *s, const int *edges, size_t n)
{
    double a[M * M] = {0};

    for (size_t e = 0; e < n; e += 2)
        a[edges[e] * M + edges[e + 1]] = a[edges[e + 1] * M + edges[e]] = 1;
    return sparse_of(s, M, M, a);
}

static void case_body(scope *s, void *arg)
{
    static const double w[] = {0.5, 0.3, 0.2}, wt[] = {0.7, 0.3};
    const double *x[] = {case_x0, case_x1, case_x2};
    static const int64_t cols[] = {3, 4, 2};
    const graph g[] = {
        {"a", edges_matrix(s, case_edges0, sizeof case_edges0 / sizeof(int))},
        {"b", edges_matrix(s, case_edges1, sizeof case_edges1 / sizeof(int))}};
    setting *z = NEW(s, setting, 1);
    double values[9];
    block phi;

    (void)arg;
    for (int j = 0; j < 3; j++) {
        double *raw = scope_copy(s, x[j], M * cols[j], sizeof *raw);
        standardise(M, cols[j], raw, z->sd[j]);
        add_view(s, z, dense_of(s, M, cols[j], raw), NULL, BALANCE_FROB);
    }
    z->c.w = merge_graphs(s, 2, g, wt, true);
    set_form(z, "4.8", w, 2);
    (void)consensus_solve(s, &z->c, 9, values, NULL);
    for (int c = 0; c < 9; c++)
        assert_close(values[c], case_eigenvalues[c], 1e-8);
    (void)embed(s, &z->c, 3, &phi);
    same_columns(phi, case_phi);
}

static ferry_status run_case(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, case_body, arg);
}

static void test_case(void **state)
{
    assert_ok(*state, run_case(*state, NULL));
    assert_ok(*state, ferry_i_ctx_set_engine(*state, "ref"));
    assert_ok(*state, run_case(*state, NULL));
}

/* ---- views ---- */

/* H of wide views by hand; they are compressed, also sparse, also with a row missing. */
static void compression_body(scope *s, void *arg)
{
    enum { N = 12, WIDE = 40, ALL = WIDE + 3 };
    static double wide[N * WIDE], thin[N * 3], all[N][ALL];
    const double w[] = {0.5, 0.5};
    double values[4], mean[ALL] = {0}, norm[2] = {0, 0};
    uint8_t there[N];
    ferry_rng rng;

    (void)arg;
    ferry_i_rng_seed(&rng, 7, 0);
    for (int i = 0; i < N * WIDE; i++) {
        wide[i] = ferry_i_rng_normal(&rng);
        if (wide[i] < 0.3 || i / WIDE == 4) wide[i] = 0;
    }
    for (int i = 0; i < N * 3; i++)
        thin[i] = ferry_i_rng_normal(&rng);
    for (int i = 0; i < N; i++) {
        there[i] = i != 4;
        for (int j = 0; j < ALL; j++)
            mean[j] +=
                (all[i][j] = j < WIDE ? wide[i * WIDE + j] : thin[i * 3 + j - WIDE]) /
                (j < WIDE ? N - 1 : N);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < ALL; j++) {
            all[i][j] = j < WIDE && !there[i] ? 0 : all[i][j] - mean[j];
            norm[j >= WIDE] += all[i][j] * all[i][j] / (j < WIDE ? N - 1 : N);
        }
    const small h = small_new(s, ALL, ALL);
    for (int a = 0; a < ALL; a++)
        for (int b = 0; b < ALL; b++)
            for (int i = 0; i < N; i++)
                AT(h, a, b) += all[i][a] * all[i][b] / sqrt(norm[a >= WIDE]) /
                               sqrt(norm[b >= WIDE]) * ((a < WIDE) == (b < WIDE) ? 0.5 : 1);
    const double *want = eigh(s, h);
    for (int sparse = 0; sparse < 2; sparse++) {
        setting *z = NEW(s, setting, 1);
        block phi;
        add_view(s, z, (sparse ? sparse_of : dense_of)(s, N, WIDE, wide), there,
                 BALANCE_FROB);
        assert_true(z->x[0].x.cols < N && z->x[0].q.n == WIDE);
        add_view(s, z, dense_of(s, N, 3, thin), NULL, BALANCE_FROB);
        set_form(z, "4.8", w, 1);
        (void)consensus_solve(s, &z->c, 4, values, NULL);
        for (int c = 0; c < 4; c++)
            assert_close(values[c], want[ALL - 1 - c], 1e-12);
        const embedding e = embed(s, &z->c, 4, &phi);
        assert_int_equal(e.part[0].u.n, WIDE); /* for the features, not the ranks */
        for (int c = 0; c < 4; c++) {          /* Phi = X U / p of that eigenvector */
            double apart = 0, other = 0;
            for (int i = 0; i < N; i++) {
                double t = 0;
                for (int j = 0; j < ALL; j++)
                    t += all[i][j] / sqrt(norm[j >= WIDE]) * AT(h, j, ALL - 1 - c) / 2;
                apart += fabs(t - ROW(phi, i)[c]);
                other += fabs(t + ROW(phi, i)[c]);
            }
            assert_close(fmin(apart, other), 0, 1e-9);
        }
    }
}

static void test_compression(void **state)
{
    assert_ok(*state, scope_run(*state, compression_body, NULL));
}

/* A sparse view is the dense one, shifted in the products; a row that is not there is the mean; a constant column stays
 * harmless. */
static void sparse_body(scope *s, void *arg)
{
    enum { N = 9, D = 5 };
    double raw[N * D], weights[D] = {1, -2, 3, 0.5, 1}, numbered[N];
    const block u = {HERE(D), D, 1, weights}, r = {HERE(N), N, 1, numbered};
    uint8_t there[N];
    ferry_rng rng;

    (void)arg;
    ferry_i_rng_seed(&rng, 8, 0);
    for (int i = 0; i < N * D; i++) {
        raw[i] = ferry_i_rng_normal(&rng);
        if (i % 4 == 1) raw[i] = 0;
        if (i % D == 2) raw[i] = 7; /* constant */
        if (i / D == 3) raw[i] = 0;
    }
    for (int i = 0; i < N; i++) {
        there[i] = i != 3;
        numbered[i] = 1 + i;
    }
    for (int how = BALANCE_NONE; how <= BALANCE_SPECTRAL; how++) {
        setting *z = NEW(s, setting, 1);
        block t[2], y[2];
        for (int k = 0; k < 2; k++) {
            add_view(s, z, (k ? sparse_of : dense_of)(s, N, D, raw), there, (balance)how);
            t[k] = block_new(s, HERE(N), N, 1);
            y[k] = block_new(s, HERE(D), D, 1);
            centred_mul(s, &z->x[k], u, t[k]);
            centred_tmul(s, &z->x[k], r, y[k]);
        }
        assert_close(z->x[1].factor, z->x[0].factor, 1e-12);
        for (int j = 0; j < D; j++)
            assert_close(y[1].at[j], y[0].at[j], 1e-12);
        for (int i = 0; i < N; i++)
            assert_close(t[1].at[i], t[0].at[i], 1e-12);
        assert_close(t[0].at[3], 0, 0); /* not there: at the mean */
        assert_close(y[0].at[2], 0, 1e-12);
    }
}

static void test_sparse_and_missing(void **state)
{
    assert_ok(*state, scope_run(*state, sparse_body, NULL));
}

/* ---- packed products ---- */

/* A problem of sparse views and graphs over m instances, and how it is varied. */
typedef struct shape {
    int64_t m, p;
    int q;
    int64_t cols;   /* of every view */
    bool counts;    /* values that differ within a column */
    bool weighted;  /* edges too */
    bool sym, lack; /* graphs normalised; the first view lacks some instances */
    bool factors;   /* f_j other than 1 */
} shape;

static matrix random_sparse(scope *s, const shape *h, ferry_rng *rng)
{
    ferry_matrix *x = NULL;
    int64_t n = 0;

    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), h->m, h->cols, h->m * 8, &x));
    for (int64_t i = 0; i < h->m; i++) {
        int64_t j = (int64_t)ferry_i_rng_below(rng, (uint64_t)(h->cols / 3 + 1));
        for (int e = 0; e < 8 && j < h->cols; e++) {
            x->index[n] = (int32_t)j;
            x->value[n++] = (h->counts ? 1 + (double)ferry_i_rng_below(rng, 3) : 1) *
                            (0.5 + (double)(j % 3));
            j += 1 + (int64_t)ferry_i_rng_below(rng, (uint64_t)(h->cols / 5 + 1));
        }
        x->start[i + 1] = n;
    }
    x->nnz = n;
    return matrix_own(s, x);
}

static matrix random_graph(scope *s, const shape *h, ferry_rng *rng)
{
    double *full = NEW(s, double, h->m * h->m);

    for (int64_t i = 0; i < h->m; i++)
        for (int64_t j = 0; j < i; j++)
            if (ferry_i_rng_below(rng, 4) == 0 && i != 2)
                full[i * h->m + j] = full[j * h->m + i] =
                    h->weighted ? 1 + (double)ferry_i_rng_below(rng, 3) : 2;
    return sparse_of(s, h->m, h->m, full);
}

static setting *random_problem(scope *s, const shape *h)
{
    setting *z = NEW(s, setting, 1);
    graph *g = NEW(s, graph, h->q);
    double *wt = NEW(s, double, h->q);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 1);
    for (int64_t j = 0; j < h->p; j++) {
        matrix x = random_sparse(s, h, &rng);
        uint8_t *there = NEW(s, uint8_t, h->m);
        int64_t *rows = NEW(s, int64_t, h->m);
        for (int64_t i = 0; i < h->m; i++) {
            there[i] = !(h->lack && j == 0 && i % 5 == 1);
            rows[i] = there[i] ? i : -1;
        }
        /* more columns than instances are kept as they are by balance alone: not compressed */
        const view v = {.x = take_rows(s, x, h->m, rows, false), .there = there};
        const domain d = {.rows = HERE(h->m), .n = h->m, .n_views = 1, .view = &v};
        z->x[z->c.p++] = *centred_views(s, &d, BALANCE_FROB);
        z->f[j] = 1 + 0.3 * (double)j;
        z->a[j] = 0.5 + 0.1 * (double)j;
    }
    for (int t = 0; t < h->q; t++) {
        g[t].a = random_graph(s, h, &rng);
        wt[t] = 0.4 + (double)t;
    }
    z->c = (consensus){.p = h->p,
                       .x = z->x,
                       .f = h->factors ? z->f : NULL,
                       .a = z->a,
                       .b = 0.7,
                       .q = h->q,
                       .g = g,
                       .wt = wt,
                       .sym = h->sym};
    if (h->q > 0) z->c.w = merge_graphs(s, h->q, g, wt, h->sym);
    return z;
}

/* The same product by H written out, by the packed one, threads, instruction sets and engines. */
static void packed_body(scope *s, void *arg)
{
    ferry_ctx *ctx = scope_ctx(s);
    const setting *z = random_problem(s, arg);
    const int64_t size = consensus_size(&z->c);
    const small h = consensus_matrix(s, &z->c);
    ferry_consensus *packed = consensus_pack(s, &z->c);
    double *u = NEW(s, double, size), *want = NEW(s, double, size),
           *y = NEW(s, double, size), *again = NEW(s, double, size), length = 0;
    const int best = ctx->isa;
    ferry_rng rng;

    assert_non_null(packed);
    ferry_i_rng_seed(&rng, 4, 1);
    for (int64_t i = 0; i < size; i++)
        u[i] = ferry_i_rng_normal(&rng);
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++)
            want[i] += AT(h, i, j) * u[j];
    for (int64_t i = 0; i < size; i++)
        length += want[i] * want[i];
    length = sqrt(length);
    ferry_e(ctx)->consensus_mul(ctx, packed, u, y);
    for (int64_t i = 0; i < size; i++)
        assert_true(fabs(y[i] - want[i]) <= 1e-12 * (1 + length));
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 3)); /* the same bits from any number */
    ferry_e(ctx)->consensus_mul(ctx, packed, u, again);
    assert_memory_equal(y, again, (size_t)size * sizeof *y);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    for (int isa = 0; isa <= FERRY_ISAS; isa++) { /* every instruction set, and ref */
        if (isa < FERRY_ISAS && !ferry_i_isa_runs((ferry_isa)isa)) continue;
        ctx->isa = isa < FERRY_ISAS ? isa : best;
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, isa < FERRY_ISAS ? "host" : "ref"));
        ferry_e(ctx)->consensus_mul(ctx, packed, u, again);
        for (int64_t i = 0; i < size; i++)
            assert_true(fabs(again[i] - want[i]) <= 1e-12 * (1 + length));
    }
    assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "host"));
}

static void test_packed(void **state)
{
    static const shape shapes[] = {
        {.m = 30, .p = 3, .cols = 20},
        {.m = 30, .p = 3, .cols = 20, .counts = true, .factors = true},
        {.m = 40, .p = 2, .q = 1, .cols = 20, .lack = true},
        {.m = 40, .p = 4, .q = 2, .cols = 25, .sym = true},
        {.m = 40,
         .p = 2,
         .q = 2,
         .cols = 25,
         .sym = true,
         .counts = true,
         .lack = true,
         .factors = true},
        {.m = 40, .p = 2, .q = 2, .cols = 25, .weighted = true},
        {.m = 1300, .p = 2, .q = 1, .cols = 50, .sym = true, .lack = true},
    };

    for (int64_t i = 0; i < FERRY_COUNT(shapes); i++)
        assert_ok(*state, scope_run(*state, packed_body, (void *)&shapes[i]));
}

/* Columns beyond 16 bits against those in the first ones: the same numbers further to the right. */
static void wide_body(scope *s, void *arg)
{
    enum { N = 2200, FAR = 70000 };
    const shape near = {.m = N, .p = 1, .cols = 40, .counts = *(const bool *)arg};
    const setting *a = random_problem(s, &near);
    ferry_consensus *pa = consensus_pack(s, &a->c);
    ferry_rng rng;
    matrix x;

    ferry_i_rng_seed(&rng, 3, 1);
    x = random_sparse(s, &near, &rng);
    ferry_matrix *wide = NULL;
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), N, FAR + 40, x.m->nnz, &wide));
    memcpy(wide->start, x.m->start, (N + 1) * sizeof *wide->start);
    memcpy(wide->value, x.m->value, (size_t)x.m->nnz * sizeof *wide->value);
    for (int64_t e = 0; e < x.m->nnz; e++)
        wide->index[e] = x.m->index[e] + FAR;
    setting *b = NEW(s, setting, 1);
    add_view(s, b, matrix_own(s, wide), NULL, BALANCE_FROB);
    b->a[0] = a->a[0];
    b->c.b = a->c.b;
    ferry_consensus *pb = consensus_pack(s, &b->c);
    double u[40], y[40], *wu = NEW(s, double, FAR + 40), *wy = NEW(s, double, FAR + 40);
    for (int i = 0; i < 40; i++)
        u[i] = wu[FAR + i] = sin((double)i);
    ferry_e(scope_ctx(s))->consensus_mul(scope_ctx(s), pa, u, y);
    ferry_e(scope_ctx(s))->consensus_mul(scope_ctx(s), pb, wu, wy);
    for (int i = 0; i < 40; i++)
        assert_close(wy[FAR + i], y[i], 1e-9);
}

static void test_wide(void **state)
{
    static const bool counts[] = {false, true};

    for (int i = 0; i < 2; i++)
        assert_ok(*state, scope_run(*state, wide_body, (void *)&counts[i]));
}

/* Both ways to solve; a dense view, negative weights and many views are not packed. */
static void ways_body(scope *s, void *arg)
{
    const shape h = {.m = 200, .p = 2, .q = 1, .cols = 70, .counts = true};
    setting *z = random_problem(s, &h);
    double one[5], other[5], less[] = {-1};

    (void)arg;
    (void)consensus_solve(s, &z->c, 5, one, NULL);
    z->c.products_only = true;
    (void)consensus_solve(s, &z->c, 5, other, NULL);
    for (int c = 0; c < 5; c++)
        assert_close(other[c], one[c], 1e-9);
    z->c.wt = less;
    assert_null(consensus_pack(s, &z->c));
    z->c.wt = (const double[]){1};
    z->x[1].x = to_dense(s, z->x[1].x);
    assert_null(consensus_pack(s, &z->c));
    z->c.p = 9;
    assert_null(consensus_pack(s, &z->c));
}

static void test_ways(void **state)
{
    assert_ok(*state, scope_run(*state, ways_body, NULL));
}

/* By hand: 4 instances a a b b, edges a-a, b-b, a-b: 2/3 within, chance 1/3. */
static void lift_body(scope *s, void *arg)
{
    static const double a[16] = {0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0},
                        b[16] = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0};
    static const int32_t cls[] = {0, 0, 1, 1}, mixed[] = {0, 1, 0, 1};
    const graph g[] = {{"a", sparse_of(s, 4, 4, a)}, {"b", sparse_of(s, 4, 4, b)}};
    domain d = {
        .rows = HERE(4), .n = 4, .known = cls, .labelled = 4, .n_graphs = 2, .graph = g};

    (void)arg;
    const double *w = weigh_graphs(s, &d, 2, true); /* lifts 1/3 and 2/3 */
    assert_close(w[0], 1.0 / 3, 1e-14);
    assert_close(w[1], 2.0 / 3, 1e-14);
    assert_close(weigh_graphs(s, &d, 2, false)[1], 0.5, 0);
    d.known = mixed; /* no more often than by chance */
    assert_close(weigh_graphs(s, &d, 2, true)[0], 0.5, 0);
}

static void test_lift(void **state)
{
    assert_ok(*state, scope_run(*state, lift_body, NULL));
}

static ferry_status run_packed(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, packed_body, arg);
}

static void test_every_allocation_fails(void **state)
{
    shape small_one = {.m = 30, .p = 2, .q = 2, .cols = 10, .counts = true};

    each_allocation_fails(*state, run_case, NULL);
    each_allocation_fails(*state, run_packed, &small_one);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden), TEST(test_case), TEST(test_compression),
        TEST(test_packed), TEST(test_wide), TEST(test_sparse_and_missing),
        TEST(test_ways),   TEST(test_lift), TEST(test_every_allocation_fails),
    };

    return cmocka_run_group_tests_name("consensus", tests, NULL, NULL);
}
