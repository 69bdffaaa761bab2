/* CoCA's parts against the golden cases and against each other. */
#include "ferry_test.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>

#include "coca_case.h"
#include "learn/learn.h"
#include "learn/rows.h"
#include "methods/coca/coca.h"

enum { M = 14 };

/* ---- cases ---- */

/* A problem with all that it points to. */
typedef struct setting {
    coca_problem c;
    embed_view *x[4];
    double sd[4][80]; /* what the columns were divided by before */
    double a[4], f[4];
    ferry_matrix *w;
} setting;

static void free_setting(setting *s)
{
    for (int64_t j = 0; j < s->c.p; j++)
        ferry_i_embed_view_free(s->x[j]);
    ferry_i_matrix_free(s->w);
}

static ferry_matrix *dense_of(ferry_ctx *ctx, int64_t rows, int64_t cols, const double *x)
{
    const ferry_array a = {rows, cols, cols, x};
    ferry_matrix *m = NULL;

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &a, &m));
    return m;
}

/* The same numbers as CSR, zeros left out. */
static ferry_matrix *sparse_of(ferry_ctx *ctx, int64_t rows, int64_t cols, const double *x)
{
    ferry_matrix *m = NULL;
    int64_t n = 0;

    assert_ok(ctx, ferry_i_matrix_csr(ctx, rows, cols, rows * cols, &m));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            if (x[i * cols + j] != 0) {
                m->index[n] = (int32_t)j;
                m->value[n++] = x[i * cols + j];
            }
        m->start[i + 1] = n;
    }
    m->nnz = n;
    return m;
}

/* Columns of x divided by their deviation, as scale: standard does; sd: by what. */
static void standardise(ferry_matrix *x, double *sd)
{
    for (int64_t j = 0; j < x->cols; j++) {
        double sum = 0, sum2 = 0, n = (double)x->rows;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < x->rows; i++)
                for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
                    if (row_column(x, i, e) != j) continue;
                    const double v = row_values(x)[e], c = v - sum / n;
                    if (pass == 0)
                        sum += v;
                    else
                        sum2 += c * c - sum / n * (sum / n);
                }
        sum2 += sum * sum / n; /* cells that are not stored */
        sd[j] = sum2 > 1e-20 * sum * sum ? sqrt(sum2 / n) : 1;
    }
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
            row_values(x)[e] /= sd[row_column(x, i, e)];
}

/* scaling: none, feature, frob, spectral, or feature and one of them. */
static void add_view(ferry_ctx *ctx, setting *s, ferry_matrix *x, const char *scaling)
{
    double *sd = s->sd[s->c.p];

    for (int64_t j = 0; j < x->cols; j++)
        sd[j] = 1;
    if (strstr(scaling, "feature")) standardise(x, sd);
    assert_ok(ctx, ferry_i_embed_view_new(ctx, x, NULL,
                                          strstr(scaling, "frob")       ? BALANCE_FROB
                                          : strstr(scaling, "spectral") ? BALANCE_SPECTRAL
                                                                        : BALANCE_NONE,
                                          &s->x[s->c.p]));
    s->c.p++;
}

/* Symmetric adjacency as a dense array, then CSR. */
static ferry_matrix *graph_of(ferry_ctx *ctx, int64_t m, const double *a)
{
    return sparse_of(ctx, m, m, a);
}

/* Numbers of a nested JSON array, one after the other. New memory for free(). */
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

static double *numbers(const json_t *root, const char *key, int64_t *n)
{
    const json_t *j = json_object_get(root, key);
    const int64_t count = j ? flatten(j, NULL) : 0;
    double *x = calloc((size_t)(count ? count : 1), sizeof *x);

    if (j) flatten(j, x);
    if (n) *n = count;
    return x;
}

static const char *text(const json_t *root, const char *key)
{
    const char *s = json_string_value(json_object_get(root, key));

    return s ? s : "";
}

/* W of a case, or NULL. */
static ferry_matrix *case_graph(ferry_ctx *ctx, const json_t *root)
{
    const json_t *edges = json_object_get(root, "edges");
    const int64_t q = (int64_t)json_array_size(edges),
                  m = json_integer_value(json_object_get(root, "m"));
    const char *norm = text(root, "graph_norm");
    ferry_matrix *a[4] = {NULL}, *w = NULL;
    double *wt = numbers(root, "wt", NULL), *full = calloc((size_t)(m * m), sizeof *full);

    if (norm[0]) {
        for (int64_t t = 0; t < q; t++) {
            const json_t *list = json_array_get(edges, (size_t)t);
            memset(full, 0, (size_t)(m * m) * sizeof *full);
            for (size_t e = 0; e < json_array_size(list); e++) {
                double v[3];
                flatten(json_array_get(list, e), v);
                full[(int64_t)v[0] * m + (int64_t)v[1]] += v[2];
                full[(int64_t)v[1] * m + (int64_t)v[0]] += v[2];
            }
            a[t] = graph_of(ctx, m, full);
        }
        assert_ok(ctx, ferry_i_coca_graphs(ctx, q, (const ferry_matrix *const *)a, wt,
                                           strcmp(norm, "sym") == 0, &w));
    }
    for (int64_t t = 0; t < 4; t++)
        ferry_i_matrix_free(a[t]);
    free(wt);
    free(full);
    return w;
}

/* Columns equal up to sign. */
static void same_columns(int64_t rows, int64_t k, const double *a, const double *b)
{
    for (int64_t c = 0; c < k; c++) {
        double sign = 0;
        for (int64_t i = 0; i < rows; i++)
            sign += a[i * k + c] * b[i * k + c];
        sign = sign < 0 ? -1 : 1;
        for (int64_t i = 0; i < rows; i++)
            assert_close(sign * a[i * k + c], b[i * k + c], 1e-8);
    }
}

/* The embedding of a problem. */
static ferry_status solve(ferry_ctx *ctx, const coca_problem *c, int64_t d, embedding **out,
                          ferry_block **phi)
{
    ferry_status st = FERRY_OK;
    double values[16];
    ferry_block *u = NULL;
    embed_solution s = {.m = c->m,
                        .p = c->p,
                        .d = d,
                        .x = c->x,
                        .f = c->f,
                        .values = values,
                        .share = 1 / (double)c->p};

    FERRY_TRY(ferry_i_block_new(ctx, ferry_i_coca_size(c), d, &u));
    FERRY_TRY(ferry_i_coca_solve(ctx, c, d, values, u));
    s.u = u;
    FERRY_TRY(ferry_i_embedding_new(ctx, &s, out, phi));
done:
    ferry_i_free(u);
    return st;
}

static void check_phi(ferry_ctx *ctx, const setting *s, const json_t *root)
{
    const int64_t d = json_integer_value(json_object_get(root, "d"));
    embedding *model = NULL;
    ferry_block *phi = NULL;
    double *want = numbers(root, "Phi", NULL), *values = numbers(root, "eigenvalues", NULL);
    double *u = calloc((size_t)d, sizeof *u);
    ferry_block *vectors = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, ferry_i_coca_size(&s->c), d, &vectors));
    assert_ok(ctx, ferry_i_coca_solve(ctx, &s->c, d, u, vectors));
    for (int64_t c = 0; c < d; c++)
        assert_close(u[c], values[c], 1e-8);
    assert_ok(ctx, solve(ctx, &s->c, d, &model, &phi));
    same_columns(s->c.m, d, phi->data, want);
    if (json_object_get(root, "U")) {
        double *full = numbers(root, "U", NULL);
        same_columns(vectors->rows, d, vectors->data, full);
        free(full);
    }
    FERRY_FREE(vectors, phi);
    ferry_i_embedding_free(model);
    free(want);
    free(values);
    free(u);
}

/* phi of new instances: (1/p) sum_j ((x - mean) / scale) U_j. */
static void check_test_rows(ferry_ctx *ctx, const setting *s, const json_t *root)
{
    const json_t *tests = json_object_get(root, "X_test");
    const int64_t d = json_integer_value(json_object_get(root, "d"));
    embedding *model = NULL;
    ferry_block *sum = NULL, *t = NULL;
    double *want = numbers(root, "Phi_test", NULL);

    if (!tests) goto done;
    const int64_t n = (int64_t)json_array_size(json_array_get(tests, 0));
    assert_ok(ctx, solve(ctx, &s->c, d, &model, NULL));
    assert_ok(ctx, ferry_i_block_new(ctx, n, d, &sum));
    assert_ok(ctx, ferry_i_block_new(ctx, n, d, &t));
    for (int64_t j = 0; j < s->c.p; j++) {
        double raw[1000];
        flatten(json_array_get(tests, (size_t)j), raw);
        ferry_matrix *x = dense_of(ctx, n, s->x[j]->features, raw);
        for (int64_t e = 0; e < x->nnz; e++)
            x->dense[e] /= s->sd[j][e % x->cols];
        const ferry_centred c = {.x = x, .shift = model->part[j].mean};
        ferry_i_centred_mul(ctx, &c, model->part[j].u, t);
        ferry_e(ctx)->axpby(ctx, model->share, t, 1, sum);
        ferry_i_matrix_free(x);
    }
    same_columns(n, d, sum->data, want);
done:
    ferry_i_embedding_free(model);
    FERRY_FREE(sum, t);
    free(want);
}

/* coca_form*.json and coca_wscale.json. Both solvers, dense and sparse views. */
static void check_form(ferry_ctx *ctx, const json_t *root, bool sparse,
                       ferry_eigen_solver solver)
{
    const int64_t m = json_integer_value(json_object_get(root, "m"));
    const char *form = text(root, "form");
    const double alpha = json_number_value(json_object_get(root, "alpha"));
    double *w = numbers(root, "w", NULL), *means = numbers(root, "mean", NULL),
           *scales = numbers(root, "scale_vec", NULL);
    int64_t at = 0, n = 0;
    setting s = {.c = {.m = m, .solver = solver}};

    for (int64_t j = 0; j < 4; j++) {
        char key[8];
        snprintf(key, sizeof key, "X%d", (int)j);
        double *x = numbers(root, key, &n);
        if (n > 0)
            add_view(ctx, &s,
                     sparse ? sparse_of(ctx, m, n / m, x) : dense_of(ctx, m, n / m, x),
                     text(root, "scale"));
        free(x);
    }
    s.c.x = s.x;
    s.c.w = s.w = case_graph(ctx, root);
    if (form[0]) {
        for (int64_t j = 0; j < s.c.p; j++)
            for (int64_t i = 0; i < s.x[j]->features; i++, at++) {
                assert_close(s.x[j]->mean[i] * s.sd[j][i], means[at], 1e-8);
                assert_close(s.sd[j][i] / s.x[j]->factor, scales[at], 1e-8);
            }
        ferry_i_coca_form(form[2] == '8'   ? COCA_48
                          : form[2] == '4' ? COCA_44
                                           : COCA_43,
                          s.c.p, w, alpha, s.a, &s.c.b);
    } else { /* weights on the views, diagonal 1/p */
        double equal[4];
        for (int64_t j = 0; j < s.c.p; j++) {
            s.f[j] = sqrt((double)s.c.p * w[j]);
            equal[j] = 1 / (double)s.c.p;
        }
        s.c.f = s.f;
        ferry_i_coca_form(COCA_48, s.c.p, equal, alpha, s.a, &s.c.b);
    }
    s.c.a = s.a;
    if (json_object_get(root, "H")) {
        double *want = numbers(root, "H", NULL);
        ferry_small *h = NULL;
        assert_ok(ctx, ferry_i_coca_matrix(ctx, &s.c, &h));
        for (int64_t e = 0; e < h->rows * h->cols; e++)
            assert_close(h->data[e], want[e], 1e-8);
        ferry_i_free(h);
        free(want);
    }
    check_phi(ctx, &s, root);
    check_test_rows(ctx, &s, root);
    free_setting(&s);
    free(w);
    free(means);
    free(scales);
}

static void check_relational(ferry_ctx *ctx, const json_t *root)
{
    ferry_matrix *w = case_graph(ctx, root);
    double *values = numbers(root, "eigenvalues", NULL), *phi = numbers(root, "Phi", NULL);
    int64_t n = 0;
    double got[16];
    ferry_block *z = NULL;

    free(numbers(root, "eigenvalues", &n));
    assert_ok(ctx, ferry_i_block_new(ctx, w->rows, n, &z));
    assert_ok(ctx, ferry_i_coca_relational(ctx, w,
                                           json_is_true(json_object_get(root, "centred")),
                                           FERRY_EIGEN_AUTO, n, got, z));
    for (int64_t c = 0; c < n; c++)
        assert_close(got[c], values[c], 1e-8);
    same_columns(w->rows, n, z->data, phi);
    ferry_i_free(z);
    ferry_i_matrix_free(w);
    free(values);
    free(phi);
}

static void check_qp(ferry_ctx *ctx, const json_t *root)
{
    const json_t *list = json_object_get(root, "Phis");
    const int64_t p = (int64_t)json_array_size(list);
    const char *norm = text(root, "norm");
    int64_t cells = 0;
    double *c = numbers(root, "C", &cells), *k = numbers(root, "K", NULL),
           *v = numbers(root, "v", NULL), *w = numbers(root, "w", NULL), got_v[12],
           got_w[12], f;
    const int64_t n = (int64_t)sqrt((double)cells);
    ferry_block *phi[12] = {NULL};
    ferry_small *got_k = NULL;

    for (int64_t i = 0; i < p; i++) {
        const json_t *one = json_array_get(list, (size_t)i);
        assert_ok(ctx, ferry_i_block_new(ctx, n, flatten(one, NULL) / n, &phi[i]));
        flatten(one, phi[i]->data);
    }
    assert_ok(ctx, ferry_i_small_new(ctx, p, p, &got_k));
    const coca_norm how = strcmp(norm, "cosine") == 0 ? COCA_COSINE
                          : strcmp(norm, "frob") == 0 ? COCA_RMS
                                                      : COCA_PLAIN;
    coca_links l = {.n = n, .c = c};
    for (int64_t i = 0; i < cells; i++) {
        l.must += c[i] > 0;
        l.cannot += c[i] < 0;
    }
    assert_ok(ctx, ferry_i_coca_qp(ctx, &l, p, (const ferry_block *const *)phi, how,
                                   json_is_true(json_object_get(root, "balance")), got_k,
                                   got_v));
    assert_ok(ctx, ferry_i_simplex_qp(ctx, got_k, got_v, got_w, &f));
    for (int64_t i = 0; i < p; i++) {
        assert_close(got_v[i], v[i], 1e-8);
        assert_close(got_w[i], w[i], 1e-8);
        for (int64_t j = 0; j < p; j++)
            assert_close(FERRY_AT(got_k, i, j), k[i * p + j], 1e-8);
    }
    assert_close(f, json_number_value(json_object_get(root, "objective")), 1e-8);
    for (int64_t i = 0; i < p; i++)
        ferry_i_free(phi[i]);
    ferry_i_free(got_k);
    free(c);
    free(k);
    free(v);
    free(w);
}

static void check_qp_cases(ferry_ctx *ctx, const json_t *root)
{
    const json_t *cases = json_object_get(root, "cases");

    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        int64_t p = 0;
        double *k = numbers(one, "K", NULL), *v = numbers(one, "v", &p),
               *w = numbers(one, "w", NULL), got[12];
        const ferry_small small = {p, p, k};
        assert_ok(ctx, ferry_i_simplex_qp(ctx, &small, v, got, NULL));
        for (int64_t j = 0; j < p; j++)
            assert_close(got[j], w[j], 1e-8);
        free(k);
        free(v);
        free(w);
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
            check_qp_cases(*state, root);
        else if (strncmp(e->d_name, "qp_", 3) == 0)
            check_qp(*state, root);
        else if (strncmp(e->d_name, "relational", 10) == 0)
            check_relational(*state, root);
        else
            for (int how = 0; how < 4; how++)
                check_form(*state, root, how & 1,
                           how & 2 ? FERRY_EIGEN_OPERATOR : FERRY_EIGEN_DENSE);
        json_decref(root);
    }
    if (folder) {
        closedir(folder);
        assert_true(seen > 0);
    }
}

/* ---- the same without files ---- */

static ferry_matrix *edges_matrix(ferry_ctx *ctx, const int *edges, size_t n)
{
    double a[M * M] = {0};

    for (size_t e = 0; e < n; e += 2)
        a[edges[e] * M + edges[e + 1]] = a[edges[e + 1] * M + edges[e]] = 1;
    return graph_of(ctx, M, a);
}

static void make_case(ferry_ctx *ctx, setting *s)
{
    static const double w[] = {0.5, 0.3, 0.2}, wt[] = {0.7, 0.3};
    ferry_matrix *a[2] = {edges_matrix(ctx, case_edges0, sizeof case_edges0 / sizeof(int)),
                          edges_matrix(ctx, case_edges1, sizeof case_edges1 / sizeof(int))};

    *s = (setting){.c = {.m = M}};
    add_view(ctx, s, dense_of(ctx, M, 3, case_x0), "feature+frob");
    add_view(ctx, s, dense_of(ctx, M, 4, case_x1), "feature+frob");
    add_view(ctx, s, dense_of(ctx, M, 2, case_x2), "feature+frob");
    assert_ok(ctx,
              ferry_i_coca_graphs(ctx, 2, (const ferry_matrix *const *)a, wt, true, &s->w));
    ferry_i_coca_form(COCA_48, 3, w, 2, s->a, &s->c.b);
    s->c.x = s->x;
    s->c.a = s->a;
    s->c.w = s->w;
    ferry_i_matrix_free(a[0]);
    ferry_i_matrix_free(a[1]);
}

static void test_case(void **state)
{
    static const char *const engines[] = {"host", "ref"};
    ferry_ctx *ctx = *state;

    for (int e = 0; e < 2; e++) {
        embedding *model = NULL;
        ferry_block *phi = NULL, *u = NULL;
        double values[9];
        setting s;
        assert_ok(ctx, ferry_ctx_set_engine(ctx, engines[e]));
        make_case(ctx, &s);
        assert_ok(ctx, ferry_i_block_new(ctx, 9, 9, &u));
        assert_ok(ctx, ferry_i_coca_solve(ctx, &s.c, 9, values, u));
        for (int c = 0; c < 9; c++)
            assert_close(values[c], case_eigenvalues[c], 1e-8);
        assert_ok(ctx, solve(ctx, &s.c, 3, &model, &phi));
        same_columns(M, 3, phi->data, case_phi);
        FERRY_FREE(u, phi);
        ferry_i_embedding_free(model);
        free_setting(&s);
    }
}

/* ---- properties ---- */

static void fill_normal(ferry_rng *rng, int64_t n, double *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = ferry_i_rng_normal(rng);
}

/* Form 4.8 with alpha = w_j = 1/p and no graph is joined PCA: H = Z'Z / p. */
static void test_is_joined_pca(void **state)
{
    ferry_ctx *ctx = *state;
    double raw[2][30 * 4], w[2] = {0.5, 0.5};
    setting s = {.c = {.m = 30}};
    ferry_small *h = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 2, 0);
    for (int j = 0; j < 2; j++) {
        fill_normal(&rng, 120, raw[j]);
        add_view(ctx, &s, dense_of(ctx, 30, 4, raw[j]), "none");
    }
    s.c.x = s.x;
    s.c.a = s.a;
    ferry_i_coca_form(COCA_48, 2, w, 0.5, s.a, &s.c.b);
    assert_ok(ctx, ferry_i_coca_matrix(ctx, &s.c, &h));
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            double sum = 0;
            for (int r = 0; r < 30; r++)
                sum += s.x[i / 4]->c.x->dense[r * 4 + i % 4] *
                       s.x[j / 4]->c.x->dense[r * 4 + j % 4];
            assert_close(FERRY_AT(h, i, j), sum / 2, 1e-12);
        }
    ferry_i_free(h);
    free_setting(&s);
}

/* A view with more features than instances: the same eigenvalues and Phi compressed, also
 * sparse, also with a row missing. */
static void test_compression(void **state)
{
    ferry_ctx *ctx = *state;
    enum { N = 12, WIDE = 40 };
    static double wide[N * WIDE], thin[N * 3];
    double values[3][4];
    ferry_block *phi[3] = {NULL}, *u = NULL;
    uint8_t there[N];
    const double w[] = {0.5, 0.5};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 7, 0);
    fill_normal(&rng, N * WIDE, wide);
    fill_normal(&rng, N * 3, thin);
    for (int i = 0; i < N * WIDE; i++)
        if (wide[i] < 0.3 || i / WIDE == 4) wide[i] = 0;
    for (int i = 0; i < N; i++)
        there[i] = i != 4;
    for (int how = 0; how < 3; how++) { /* as it is; dense compressed; sparse compressed */
        setting s = {.c = {.m = N}};
        embedding *model = NULL;
        ferry_matrix *x =
            how == 2 ? sparse_of(ctx, N, WIDE, wide) : dense_of(ctx, N, WIDE, wide);
        assert_ok(ctx, ferry_i_embed_view_new(ctx, x, there, BALANCE_FROB, &s.x[0]));
        s.c.p = 1;
        if (how) assert_ok(ctx, ferry_i_embed_view_compress(ctx, s.x[0]));
        if (how) assert_true(s.x[0]->cols < N);
        add_view(ctx, &s, dense_of(ctx, N, 3, thin), "frob");
        s.c.x = s.x;
        s.c.a = s.a;
        ferry_i_coca_form(COCA_48, 2, w, 1, s.a, &s.c.b);
        assert_ok(ctx, ferry_i_block_new(ctx, ferry_i_coca_size(&s.c), 4, &u));
        assert_ok(ctx, ferry_i_coca_solve(ctx, &s.c, 4, values[how], u));
        assert_ok(ctx, solve(ctx, &s.c, 4, &model, &phi[how]));
        assert_int_equal(model->part[0].u->rows,
                         WIDE); /* for the features, not the ranks */
        for (int c = 0; c < 4; c++)
            assert_close(values[how][c], values[0][c], 1e-12);
        same_columns(N, 4, phi[how]->data, phi[0]->data);
        for (int e = 0; e < N * 4; e++) /* signs as well */
            assert_close(phi[how]->data[e], phi[0]->data[e], 1e-9);
        ferry_i_free(u);
        ferry_i_embedding_free(model);
        free_setting(&s);
    }
    for (int how = 0; how < 3; how++)
        ferry_i_free(phi[how]);
}

/* A sparse view is the dense one, shifted in the products; a row that is not there is the
 * mean; a constant column stays harmless. */
static void test_sparse_and_missing(void **state)
{
    ferry_ctx *ctx = *state;
    enum { N = 9, D = 5 };
    double raw[N * D], one[N] = {0}, y[2][D], t[2][N];
    uint8_t there[N];
    embed_view *v[2] = {NULL};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 8, 0);
    fill_normal(&rng, N * D, raw);
    for (int i = 0; i < N * D; i++) {
        if (i % 4 == 1) raw[i] = 0;
        if (i % D == 2) raw[i] = 7; /* constant */
        if (i / D == 3) raw[i] = 0;
    }
    for (int i = 0; i < N; i++) {
        there[i] = i != 3;
        one[i] = 1 + i;
    }
    for (int balance = BALANCE_NONE; balance <= BALANCE_SPECTRAL; balance++) {
        double u[D] = {1, -2, 3, 0.5, 1};
        const ferry_block ub = {D, 1, u}, r = {N, 1, one};
        for (int s = 0; s < 2; s++) {
            ferry_block tb = {N, 1, t[s]}, yb = {D, 1, y[s]};
            ferry_matrix *x = s ? sparse_of(ctx, N, D, raw) : dense_of(ctx, N, D, raw);
            assert_ok(ctx,
                      ferry_i_embed_view_new(ctx, x, there, (embed_balance)balance, &v[s]));
            ferry_i_centred_mul(ctx, &v[s]->c, &ub, &tb);
            assert_ok(ctx, ferry_i_centred_tmul(ctx, &v[s]->c, &r, &yb));
        }
        assert_close(v[1]->factor, v[0]->factor, 1e-12);
        for (int j = 0; j < D; j++)
            assert_close(y[1][j], y[0][j], 1e-12);
        for (int i = 0; i < N; i++)
            assert_close(t[1][i], t[0][i], 1e-12);
        assert_close(t[0][3], 0, 0); /* not there: at the mean */
        assert_close(y[0][2], 0, 1e-12);
        ferry_i_embed_view_free(v[0]);
        ferry_i_embed_view_free(v[1]);
    }
}

/* Beyond the size that is written out, and panels of vectors at once: the operator. */
static void test_operator(void **state)
{
    ferry_ctx *ctx = *state;
    enum { N = 60, D = 70 };
    static double raw[2][N * D];
    const double w[] = {0.4, 0.6};
    double dense[5], matrix_free[5];
    setting s = {.c = {.m = N}};
    ferry_block *u = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 9, 0);
    for (int j = 0; j < 2; j++) {
        fill_normal(&rng, N * D, raw[j]);
        add_view(ctx, &s, dense_of(ctx, N, D, raw[j]), "frob");
    }
    s.c.x = s.x;
    s.c.a = s.a;
    for (int form = COCA_48; form <= COCA_43; form++) {
        ferry_i_coca_form((coca_form)form, 2, w, 1, s.a, &s.c.b);
        assert_ok(ctx, ferry_i_block_new(ctx, 2 * D, 5, &u));
        s.c.solver = FERRY_EIGEN_DENSE;
        assert_ok(ctx, ferry_i_coca_solve(ctx, &s.c, 5, dense, u));
        s.c.solver = FERRY_EIGEN_OPERATOR;
        assert_ok(ctx, ferry_i_coca_solve(ctx, &s.c, 5, matrix_free, u));
        for (int c = 0; c < 5; c++)
            assert_close(matrix_free[c], dense[c], 1e-9);
        ferry_i_free(u);
    }
    free_setting(&s);
}

/* By hand: 4 instances a a b b, edges a-a, b-b, a-b: 2/3 within, chance 1/3. */
static void test_lift(void **state)
{
    ferry_ctx *ctx = *state;
    static const double a[16] = {0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0};
    static const int32_t cls[] = {0, 0, 1, 1}, none[] = {-1, -1, -1, -1},
                         mixed[] = {0, 1, 0, 1};
    int64_t count[2];
    ferry_matrix *g = graph_of(ctx, 4, a);

    assert_close(ferry_i_coca_lift(g, 2, cls, count), 1.0 / 3, 1e-14);
    assert_close(ferry_i_coca_lift(g, 2, mixed, count), 0, 0);
    assert_close(ferry_i_coca_lift(g, 2, none, count), 0, 0);
    ferry_i_matrix_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_case, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_is_joined_pca, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_compression, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_sparse_and_missing, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_operator, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_lift, ctx_setup, ctx_teardown),
    };

    return cmocka_run_group_tests_name("coca", tests, NULL, NULL);
}
