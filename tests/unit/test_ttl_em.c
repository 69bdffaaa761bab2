/* The EM steps of ttl: worked cases, edges. */
#include "golden.h"

#define method_ttl method_under_test /* the library has one, too */
#include "methods/ttl.c"

/* CSR of n x m numbers, zeros left out. */
static matrix csr_of(scope *s, int64_t n, int64_t m, double *data)
{
    return to_sparse(s, matrix_of(s, (block){HERE(n), n, m, data}));
}

/* `steps` EM steps from g; known NULL: no row is. */
static classifier words_from(scope *s, matrix x, const int32_t *known, ttl_options o,
                             block g)
{
    const chain h = {.o = &o};
    int32_t *none = NEW(s, int32_t, g.n + 1);

    memset(none, 0xff, (size_t)(g.n + 1) * sizeof *none);
    return em_words(s, &h, x, known ? known : none, o.beta, g);
}

typedef struct one_case {
    const json_t *file, *want;
    double tol;
    int64_t steps;
} one_case;

static void golden_words(scope *s, void *arg)
{
    const one_case *a = arg;
    int64_t m, n, c;
    double *data = golden_transposed(a->file, "X", &m, &n);
    double *start = golden_array(a->file, "G0", NULL, &c),
           *want = golden_array(a->want, "G", NULL, NULL);
    const json_t *known = golden_at(a->file, "known");
    const ttl_options o = {.beta = golden_real(a->file, "beta"),
                           .eta = golden_real(a->file, "eta"),
                           .steps = a->steps,
                           .tol = a->tol};
    const block g = {HERE(n), n, c, start};
    int32_t y[64];

    for (int64_t i = 0; json_is_array(known) && i < n; i++)
        y[i] = (int32_t)json_number_value(json_array_get(known, (size_t)i));
    (void)words_from(s, csr_of(s, n, m, data), json_is_array(known) ? y : NULL, o, g);
    for (int64_t e = 0; e < n * c; e++)
        assert_close(g.at[e], want[e], 1e-8);
    free(data);
    free(start);
    free(want);
}

static void test_golden_words(void **state)
{
    json_t *file = golden("ttl/ferry_mode.json"), *list;

    if (!file) skip();
    list = golden_at(file, "settle");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *after = golden_at(one, "after");
        one_case cases[] = {{one, golden_at(after, "1"), 0, 1},
                            {one, golden_at(after, "5"), 0, 5},
                            {one, golden_at(after, "30"), 0, 30},
                            {one, golden_at(one, "with_tol_1e_3"), 1e-3, 30}};
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            assert_ok(*state, scope_run(*state, golden_words, &cases[k]));
    }
    json_decref(file);
}

static void golden_kappa(scope *s, void *arg)
{
    const json_t *one = arg;
    int64_t n;
    double *a = golden_array(one, "a", &n, NULL), *b = golden_array(one, "b", NULL, NULL);
    int32_t ya[64], yb[64];

    for (int64_t e = 0; e < n; e++) {
        ya[e] = (int32_t)a[e];
        yb[e] = (int32_t)b[e];
    }
    assert_close(cohen_kappa(s, HERE(n), n, ya, yb, (int64_t)golden_real(one, "c")),
                 golden_real(one, "kappa"), 1e-12);
    free(a);
    free(b);
}

static void test_golden_kappa(void **state)
{
    json_t *file = golden("ttl/ferry_mode.json"), *list;

    if (!file) skip();
    list = golden_at(file, "kappa");
    for (size_t i = 0; i < json_array_size(list); i++)
        assert_ok(*state, scope_run(*state, golden_kappa, json_array_get(list, i)));
    json_decref(file);
}

/* Two words, two documents, one step from G = (0.6, 0.4), (0.4, 0.6), beta 1, eta 0.1. x = e_1, e_2: q = 1/2, s = 0.1,
 * theta_11 = (0.6 + 0.05) / (1 + 0.1); G_11 = theta_11 / (theta_11 + theta_12). */
static void by_hand(scope *s, void *arg)
{
    double data[] = {1, 0, 0, 1, 0, 0}, start[] = {0.6, 0.4, 0.4, 0.6, 0.5, 0.5};
    const ttl_options o = {.beta = 1, .eta = 0.1, .steps = 1};
    const block g = {HERE(3), 3, 2, start};
    const int32_t one[] = {0, 0, 0}, two[] = {0, 1, 0}, six[] = {1, 1, 0, 0, 1, 0},
                  other[] = {1, 0, 0, 0, 1, 1};

    (void)arg;
    const classifier m = words_from(s, csr_of(s, 3, 2, data), NULL, o, g);
    assert_close(start[0], 0.65 / (0.65 + 0.45), 1e-12);
    assert_close(start[4], 0.5, 1e-12); /* no words: the shares of the classes */
    assert_close(exp(ROW(m.w, 0)[0]), 0.65 / 1.1 / 0.5, 1e-12);
    assert_close(cohen_kappa(s, HERE(3), 3, one, two, 2), 0, 0);
    assert_close(cohen_kappa(s, HERE(3), 3, two, two, 2), 1, 1e-15);
    /* 4 of 6 agree, half by chance */
    assert_close(cohen_kappa(s, HERE(6), 6, six, other, 2), 1.0 / 3, 1e-14);
}

static void test_by_hand(void **state)
{
    assert_ok(*state, scope_run(*state, by_hand, NULL));
}

/* Nothing to refine: no instances, no words. */
static void empty(scope *s, void *arg)
{
    double zeros[4] = {0}, start[] = {0.9, 0.1, 0.7, 0.3};
    const ttl_options o = {.beta = 6, .eta = 0.1, .steps = 5, .tol = 1e-3};

    (void)arg;
    (void)words_from(s, csr_of(s, 0, 2, zeros), NULL, o, (block){HERE(0), 0, 2, start});
    assert_close(start[0], 0.9, 0);
    (void)words_from(s, csr_of(s, 2, 2, zeros), NULL, o, (block){HERE(2), 2, 2, start});
    assert_close(start[0], 0.8, 1e-12);
    assert_close(start[2], 0.8, 1e-12);
}

static void test_empty(void **state)
{
    assert_ok(*state, scope_run(*state, empty, NULL));
}

/* Round Gaussians: numbers worked out elsewhere (10 digits), from CSR and from dense; the model says the same of the
 * rows as they stand, and rows that are known stay. */
static void golden_rows(scope *s, void *arg)
{
    const json_t *one = arg, *known = golden_at(one, "known");
    int64_t n, d, c;
    double *data = golden_array(one, "x", &n, &d), *start = golden_array(one, "g", &n, &c),
           *want = golden_array(one, "result", NULL, NULL);
    const matrix x[] = {csr_of(s, n, d, data), matrix_of(s, (block){HERE(n), n, d, data})};
    int32_t y[64];

    for (int64_t r = 0; r < n; r++)
        y[r] = json_is_array(known)
                   ? (int32_t)json_number_value(json_array_get(known, (size_t)r))
                   : -1;
    for (int v = 0; v < 2; v++) {
        const block g = block_new(s, HERE(n), n, c), again = block_like(s, g);
        const pca a = principal_axes(s, x[v]);
        copy((block){HERE(n), n, c, start}, g);
        assert_int_equal(a.z.k, (int64_t)golden_real(one, "pca_dims"));
        const classifier m = em_gaussian(s, &a, y, g);
        mul(s, x[v], m.w, again);
        for (int64_t r = 0; r < n; r++) {
            (void)softmax_row(c, m.b, ROW(again, r));
            for (int64_t k = 0; k < c; k++) {
                assert_close(ROW(g, r)[k], want[r * c + k], 1e-10);
                if (y[r] < 0) assert_close(ROW(again, r)[k], want[r * c + k], 1e-10);
            }
        }
    }
    free(data);
    free(start);
    free(want);
}

static void test_golden_rows(void **state)
{
    json_t *file = golden("../earlier/second/features/golden_anyfeat.json"), *list;

    if (!file) skip();
    list = golden_at(file, "settle");
    for (size_t i = 0; i < json_array_size(list); i++)
        assert_ok(*state, scope_run(*state, golden_rows, json_array_get(list, i)));
    json_decref(file);
}

/* Two heaps, far apart, on a wide space and a long one: both ways to the axes find them from labels of which a third is
 * wrong. Rows that are all alike end at the shares. */
static void heaps(scope *s, void *arg)
{
    const bool wide = *(bool *)arg;
    const int64_t n = 40, d = wide ? 60 : 6;
    double *data = NEW(s, double, n *d);
    const block g = block_new(s, HERE(n), n, 2);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, wide);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < d; j++)
            data[i * d + j] = ferry_i_rng_real(&rng) - 0.5 + (i % 2 ? 3 : -1);
        ROW(g, i)[0] = (i % 2 == 0) != (i % 3 == 0) ? 0.8 : 0.2;
        ROW(g, i)[1] = 1 - ROW(g, i)[0];
    }
    pca a = principal_axes(s, csr_of(s, n, d, data));
    (void)em_gaussian(s, &a, NULL, g);
    for (int64_t i = 0; i < n; i++)
        assert_true(ROW(g, i)[0] > 0.99 ? i % 2 == 0 : ROW(g, i)[0] < 0.01 && i % 2 == 1);
    for (int64_t e = 0; e < n * d; e++)
        data[e] = 1;
    for (int64_t i = 0; i < n; i++)
        ROW(g, i)[0] = 0.75, ROW(g, i)[1] = 0.25;
    a = principal_axes(s, csr_of(s, n, d, data));
    (void)em_gaussian(s, &a, NULL, g);
    assert_close(g.at[0], 0.75, 1e-9);
}

static void test_heaps(void **state)
{
    bool wide = false;

    assert_ok(*state, scope_run(*state, heaps, &wide));
    wide = true;
    assert_ok(*state, scope_run(*state, heaps, &wide));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_golden_words), T(test_golden_kappa), T(test_by_hand),
        T(test_empty),        T(test_golden_rows),  T(test_heaps),
    };
    return cmocka_run_group_tests_name("ttl_em", tests, NULL, NULL);
}
