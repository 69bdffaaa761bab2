/* The scaling rule: golden cases, the same bits from dense and CSR, new rows, explicit
 * kinds. */
#include "golden.h"
#include "kept.h"

enum { MOST_PARTS = 4 };

static ferry_matrix *dense_of(ferry_ctx *ctx, int64_t rows, int64_t cols, const double *v)
{
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, rows, cols, &x));
    memcpy(x->dense, v, (size_t)(rows * cols) * sizeof *v);
    return x;
}

/* The same in CSR; zeros are left out, NaN is stored. */
static ferry_matrix *csr_of(ferry_ctx *ctx, const ferry_matrix *d)
{
    ferry_matrix *x = NULL;
    int64_t nnz = 0;

    for (int64_t e = 0; e < d->nnz; e++)
        nnz += d->dense[e] != 0;
    assert_ok(ctx, ferry_i_matrix_csr(ctx, d->rows, d->cols, nnz, &x));
    nnz = 0;
    for (int64_t i = 0; i < d->rows; i++) {
        for (int64_t j = 0; j < d->cols; j++) {
            if (d->dense[i * d->cols + j] == 0) continue;
            x->index[nnz] = (int32_t)j;
            x->value[nnz++] = d->dense[i * d->cols + j];
        }
        x->start[i + 1] = nnz;
    }
    return x;
}

static double cell_of(const ferry_matrix *x, int64_t i, int64_t j)
{
    if (x->dense) return x->dense[i * x->cols + j];
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        if (x->index[e] == j) return x->value[e];
    return 0;
}

/* What a centred result would hold: CSR leaves the shift to its caller. */
static double centred(const ferry_scaler *s, const ferry_matrix *x, int64_t i, int64_t j)
{
    const double v = cell_of(x, i, j);

    return x->dense || !s->shift ? v : v - s->shift[j] * s->factor[j];
}

static void same_bits(const ferry_matrix *a, const ferry_matrix *b)
{
    assert_int_equal(!a->dense, !b->dense);
    assert_int_equal(a->nnz, b->nnz);
    assert_memory_equal(a->dense ? a->dense : a->value, b->dense ? b->dense : b->value,
                        (size_t)a->nnz * sizeof(double));
    if (!a->dense)
        assert_memory_equal(a->index, b->index, (size_t)a->nnz * sizeof *a->index);
}

/* Fit dense and CSR, apply each to each; the one result that all must give. */
static void both_ways(ferry_ctx *ctx, ferry_scale wanted, int64_t n, ferry_matrix **x,
                      ferry_scaler **out, ferry_scale_facts *facts, ferry_matrix **y)
{
    ferry_scale_part plain[MOST_PARTS], sparse[MOST_PARTS];
    ferry_scaler *s = NULL;

    for (int64_t p = 0; p < n; p++) {
        plain[p] = (ferry_scale_part){.x = x[p]};
        sparse[p] = (ferry_scale_part){.x = csr_of(ctx, x[p])};
    }
    assert_ok(ctx, fit_scaler(ctx, wanted, x[0]->cols, n, plain, out, facts));
    assert_ok(ctx, fit_scaler(ctx, wanted, x[0]->cols, n, sparse, &s, NULL));
    assert_int_equal(s->kind, (*out)->kind);
    assert_int_equal(s->dense, (*out)->dense);
    for (int64_t p = 0; p < n; p++) {
        ferry_matrix *z = NULL;
        const ferry_scale_how how = {0};
        assert_ok(ctx, apply_scaler(ctx, *out, &plain[p], how, &y[p]));
        assert_ok(ctx, apply_scaler(ctx, s, &sparse[p], how, &z));
        same_bits(y[p], z);
        ferry_i_matrix_free(z);
        ferry_i_matrix_free((ferry_matrix *)sparse[p].x);
    }
}

/* ---- golden ---- */

static ferry_matrix *matrix_from(ferry_ctx *ctx, const json_t *rows)
{
    const int64_t n = (int64_t)json_array_size(rows);
    const int64_t d = (int64_t)json_array_size(json_array_get(rows, 0));
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) {
            const json_t *v = json_array_get(json_array_get(rows, (size_t)i), (size_t)j);
            x->dense[i * d + j] = json_is_null(v) ? NAN : json_number_value(v);
        }
    return x;
}

static void check_facts(const json_t *want, const ferry_scale_facts *f)
{
    const json_t *cvsum = golden_at(want, "cvsum");

    assert_int_equal(f->n, (int64_t)golden_real(want, "n"));
    assert_int_equal(f->d, (int64_t)golden_real(want, "d"));
    assert_int_equal(f->vary, (int64_t)golden_real(want, "vary"));
    assert_close(f->fill, golden_real(want, "fill"), 1e-10);
    assert_int_equal(f->neg, json_is_true(golden_at(want, "neg")));
    assert_int_equal(f->frac, json_is_true(golden_at(want, "frac")));
    if (!f->neg) assert_int_equal(f->skew, json_is_true(golden_at(want, "skew")));
    assert_close(f->spread, golden_real(want, "spread"), 1e-10);
    if (json_is_null(cvsum))
        assert_true(isinf(f->cvsum));
    else
        assert_close(f->cvsum, json_number_value(cvsum), 1e-10);
    if (!f->neg && f->fill <= 0.1) /* looked at nowhere else */
        assert_close(f->unit, golden_real(want, "unit"), 1e-10);
}

/* Of counts of frequent words; looked at one after the other until one rules them out. */
static void check_counts(const json_t *want, const ferry_scale_facts *f)
{
    if (f->neg || f->frac || f->vary < 20 || f->fill > 0.6 || f->cvsum < 0.2) return;
    assert_close(f->dfr, golden_real(want, "dfr"), 1e-10);
    if (f->dfr < 1.3) return;
    assert_close(f->ones, golden_real(want, "ones"), 1e-10);
    if (f->ones >= 0.4) assert_close(f->low, golden_real(want, "low"), 1e-10);
}

static void check_case(ferry_ctx *ctx, const json_t *c)
{
    const json_t *domains = golden_at(c, "domains"), *want = golden_at(c, "prepared");
    const char *kind = json_string_value(golden_at(c, "kind"));
    const int64_t n = (int64_t)json_array_size(domains);
    ferry_matrix *x[MOST_PARTS], *y[MOST_PARTS];
    ferry_scaler *s = NULL;
    ferry_scale_facts f;

    print_message("%s\n", json_string_value(golden_at(c, "name")));
    for (int64_t p = 0; p < n; p++)
        x[p] = matrix_from(ctx, json_array_get(domains, (size_t)p));
    both_ways(ctx, FERRY_SCALE_AUTO, n, x, &s, &f, y);
    check_facts(golden_at(c, "facts"), &f);
    if (json_object_get(golden_at(c, "facts"), "ones"))
        check_counts(golden_at(c, "facts"), &f);
    assert_string_equal(ferry_i_scale_name(s->kind),
                        strcmp(kind, "mixed") == 0 ? "standard" : kind);
    assert_int_equal(s->dense, f.fill > 0.1);
    for (int64_t p = 0; p < n; p++) {
        ferry_matrix *z = matrix_from(ctx, json_array_get(want, (size_t)p));
        for (int64_t i = 0; i < z->rows; i++)
            for (int64_t j = 0; j < z->cols; j++)
                assert_close(centred(s, y[p], i, j), z->dense[i * z->cols + j], 1e-10);
        ferry_i_matrix_free(z);
        ferry_i_matrix_free(x[p]);
        ferry_i_matrix_free(y[p]);
    }
}

static void all_of(ferry_ctx *ctx, const char *file)
{
    json_t *root = own_golden(file);

    for (size_t i = 0; root && i < json_array_size(golden_at(root, "scale")); i++)
        check_case(ctx, json_array_get(golden_at(root, "scale"), i));
    json_decref(root);
}

static void test_golden(void **state)
{
    all_of(*state, "features.json");
}

/* Counts of frequent words, and what is near them and is not. */
static void test_golden_words(void **state)
{
    all_of(*state, "scale_words.json");
}

/* The sentence names the clause. */
static void test_why(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *root = own_golden("scale_words.json");
    char why[128];

    for (size_t i = 0; root && i < json_array_size(golden_at(root, "scale")); i++) {
        const json_t *c = json_array_get(golden_at(root, "scale"), i);
        ferry_matrix *x = matrix_from(ctx, json_array_get(golden_at(c, "domains"), 0));
        const ferry_scale_part part = {.x = x};
        const bool words = strcmp(json_string_value(golden_at(c, "kind")), "words") == 0;
        ferry_scaler *s = NULL;
        ferry_scale_facts f;
        assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_AUTO, x->cols, 1, &part, &s, &f));
        scale_why(s->kind, &f, sizeof why, why);
        assert_int_equal(strstr(why, "counts of frequent words: ") != NULL, words);
        ferry_i_matrix_free(x);
    }
    json_decref(root);
}

/* A few numbers of those cases, for machines that do not have the file. */
static void test_table(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {23, 6859, 0, 0, 1, 65, 7065, 0, 1, 0, 58, 6711, 0, 1, 0,
                        45, 7267, 0, 0, 1, 44, 5057, 0, 1, 0, 71, 1937, 0, 1, 0,
                        23, 7701, 0, 1, 0, 61, 4548, 1, 0, 0, 30, 4952, 1, 0, 0,
                        23, 3903, 0, 1, 0, 50, 2378, 0, 0, 1, 78, 8406, 1, 0, 0};
    const double first[] = {-0.6184914519799491, 0.303287898818296, -0.2357022603955158,
                            -0.4714045207910316, 0.7071067811865475};
    ferry_matrix *x[] = {dense_of(ctx, 12, 5, v)}, *y[1];
    ferry_scaler *s = NULL;
    ferry_scale_facts f;

    both_ways(ctx, FERRY_SCALE_AUTO, 1, x, &s, &f, y);
    assert_int_equal(s->kind, FERRY_SCALE_STANDARD);
    assert_close(f.spread, 4021.5275152055783, 1e-10);
    assert_close(f.cvsum, 0.35806423916741414, 1e-10);
    for (int64_t j = 0; j < 5; j++)
        assert_close(y[0]->dense[j], first[j], 1e-10);
    ferry_i_matrix_free(x[0]);
    ferry_i_matrix_free(y[0]);
}

/* ---- by hand ---- */

/* Counts: (1 + ln x) idf over both domains, then rows to length 1. */
static void test_words(void **state)
{
    ferry_ctx *ctx = *state;
    double v[2 * 20] = {0}, w[2 * 20] = {0};
    ferry_matrix *x[2], *y[2];
    ferry_scaler *s = NULL;

    v[0] = 1; /* first row: words 0 and 1 */
    v[1] = 3;
    v[20] = 2;     /* second row: word 0 */
    w[20 + 5] = 4; /* first row of the other domain is empty */
    x[0] = dense_of(ctx, 2, 20, v);
    x[1] = dense_of(ctx, 2, 20, w);
    both_ways(ctx, FERRY_SCALE_AUTO, 2, x, &s, NULL, y);
    assert_int_equal(s->kind, FERRY_SCALE_WORDS);
    assert_true(s->counts && !s->dense && !s->shift);
    const double idf0 = log(5.0 / 3) + 1, idf1 = log(5.0 / 2) + 1;
    const double a = idf0, b = (1 + log(3)) * idf1, length = sqrt(a * a + b * b);
    assert_close(s->factor[0], idf0, 1e-15);
    assert_close(y[0]->value[0], a / length, 1e-15);
    assert_close(y[0]->value[1], b / length, 1e-15);
    assert_close(y[0]->value[2], 1, 1e-15);
    assert_int_equal(y[1]->start[1], 0);
    assert_int_equal(y[1]->index[0], 5);
    for (int p = 0; p < 2; p++) {
        ferry_i_matrix_free(x[p]);
        ferry_i_matrix_free(y[p]);
    }
}

/* Explicit kinds on values for which auto takes another, and the mean squared length. */
static void test_explicit(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 2, 0, 4, 4, 1, 0, 0, 3, 1, 5, NAN};
    static const ferry_scale kinds[] = {FERRY_SCALE_STANDARD, FERRY_SCALE_ROOTS,
                                        FERRY_SCALE_COMMON};
    ferry_matrix *x[] = {dense_of(ctx, 4, 3, v)}, *y[1];
    ferry_scaler *s = NULL;

    for (int k = 0; k < 3; k++) {
        double sum = 0;
        both_ways(ctx, kinds[k], 1, x, &s, NULL, y);
        assert_int_equal(s->kind, kinds[k]);
        for (int64_t e = 0; e < 12; e++)
            sum += y[0]->dense[e] * y[0]->dense[e];
        assert_close(sum / 4, 1, 1e-12);
        ferry_i_matrix_free(y[0]);
    }
    both_ways(ctx, FERRY_SCALE_NONE, 1, x, &s, NULL, y);
    assert_close(y[0]->dense[11], 4.0 / 3, 1e-15); /* the mean of 0, 1, 3 */
    assert_close(y[0]->dense[10], 5, 0);
    ferry_i_matrix_free(y[0]);
    both_ways(ctx, FERRY_SCALE_L2, 1, x, &s, NULL, y);
    assert_close(y[0]->dense[0], 1 / sqrt(5), 1e-15);
    ferry_i_matrix_free(y[0]);
    ferry_i_matrix_free(x[0]);
}

/* Missing cells stay where that is wanted; the shift stays with the caller likewise. */
static void test_how(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 2, NAN, 4, 4, 6};
    ferry_matrix *x = dense_of(ctx, 3, 2, v), *y = NULL, *z = NULL;
    const ferry_scale_part part = {.x = x};
    ferry_scaler *s = NULL;

    assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_COMMON, 2, 1, &part, &s, NULL));
    assert_ok(ctx, apply_scaler(ctx, s, &part, (ferry_scale_how){0}, &y));
    assert_ok(ctx, apply_scaler(ctx, s, &part,
                                (ferry_scale_how){.missing = true, .uncentred = true}, &z));
    assert_true(isnan(z->dense[2]));
    assert_close(y->dense[2], 0, 0);
    for (int64_t e = 0; e < 6; e++)
        if (e != 2)
            assert_close(z->dense[e] - s->shift[e % 2] * s->factor[e % 2], y->dense[e],
                         1e-15);
    assert_int_equal(s->rows, 3);
    assert_false(s->complete);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(z);
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 2, &y)); /* zeros are no missing cells */
    y->dense[3] = 7;
    const ferry_scale_part parts[] = {{.x = y}, {.x = x}};
    for (int n = 1; n <= 2; n++) {
        assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_COMMON, 2, n, parts, &s, NULL));
        assert_int_equal(s->rows, n == 1 ? 2 : 5);
        assert_int_equal(s->complete, n == 1);
    }
    ferry_i_matrix_free(y);
    /* nothing to do: the same matrix */
    assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_NONE, 2, 1, &part, &s, NULL));
    assert_ok(ctx, apply_scaler(ctx, s, &part, (ferry_scale_how){.missing = true}, &y));
    assert_ptr_equal(x, y);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(x);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

/* A matrix whose index and values are the caller's; they are in memory that cannot be written to. */
static ferry_matrix *lent(ferry_ctx *ctx, const double *value, int *released)
{
    static const int64_t starts[] = {0, 2, 2, 5};
    static const int32_t index[] = {3, 38, 0, 3, 7};
    int64_t *start = ferry_i_calloc(4, sizeof *start);
    ferry_matrix *x = NULL;

    memcpy(start, starts, sizeof starts);
    assert_ok(ctx, ferry_i_matrix_borrow_sparse(ctx, 3, 40, start, index, value, &x));
    x->release = count_release;
    x->keeper = released;
    return x;
}

/* Scaled CSR has values of its own and the pattern of what it was made of, which it keeps
 * alive; a copy where entries vanish, where nobody else keeps x, and where a model will. */
static void test_pattern(void **state)
{
    static const double v[] = {3, 4, 1, 2, 2}, with_zero[] = {3, 4, 0, 2, 2};
    ferry_ctx *ctx = *state;
    int released = 0;

    for (int zero = 0; zero < 2; zero++) {
        ferry_matrix *x = lent(ctx, zero ? with_zero : v, &released), *alone = NULL,
                     *y = NULL, *owned = NULL;
        const ferry_scale_part part = {.x = x};
        ferry_scaler *s = NULL;
        assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_L2, 40, 1, &part, &s, NULL));
        assert_false(s->dense);
        assert_ok(ctx, apply_scaler(ctx, s, &part, (ferry_scale_how){0}, &alone));
        (void)ferry_i_matrix_ref(x); /* as a view keeps it */
        assert_ok(ctx, apply_scaler(ctx, s, &part, (ferry_scale_how){0}, &y));
        assert_ok(ctx, apply_scaler(ctx, s, &part, (ferry_scale_how){.own = true}, &owned));
        assert_ptr_not_equal(alone->index, x->index);
        assert_ptr_not_equal(owned->index, x->index);
        assert_int_equal(y->index == x->index && y->start == x->start, !zero);
        assert_int_equal(y->nnz, 5 - zero);
        assert_close(y->value[0], 0.6, 1e-15);
        assert_close(y->value[4 - zero], zero ? sqrt(0.5) : 2 / 3.0, 1e-15);
        assert_true(x->value[0] == 3); /* what was lent is as it was */
        same_bits(alone, y);
        same_bits(owned, y);
        ferry_i_matrix_free(x);
        ferry_i_matrix_free(x);
        assert_int_equal(released, zero); /* y still reads the index, owned does not */
        assert_ok(ctx, ferry_i_matrix_index(ctx, y));
        assert_close(y->t_value[y->t_start[38]], 0.8, 1e-15);
        ferry_i_matrix_free(y);
        assert_int_equal(released, 1);
        ferry_i_matrix_free(alone);
        ferry_i_matrix_free(owned);
        released = 0;
    }
}

/* Nothing is to be done, but the result must outlive what was lent: a copy. */
static void test_own(void **state)
{
    static const double v[] = {3, 4, 1, 2, 2};
    ferry_ctx *ctx = *state;
    int released = 0;
    ferry_matrix *x = lent(ctx, v, &released), *y = NULL, *owned = NULL;
    const ferry_scale_part part = {.x = x};
    ferry_scaler *s = NULL;

    assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_NONE, 40, 1, &part, &s, NULL));
    assert_ok(ctx, apply_scaler(ctx, s, &part, (ferry_scale_how){0}, &y));
    assert_ptr_equal(x, y);
    assert_ok(ctx, apply_scaler(ctx, s, &part, (ferry_scale_how){.own = true}, &owned));
    same_bits(owned, x);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(x);
    assert_int_equal(released, 1);
    assert_true(owned->value[1] == 4 && owned->index[1] == 38);
    ferry_i_matrix_free(owned);
}

/* Columns that a part does not have are missing there, not 0; columns that map to -1 are
 * as if they were not there. */
static void test_maps(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 10, 3, 30}, w[] = {7, 5, 8, 9}, u[] = {99, 10, 1, -5, 30, 3};
    const int32_t to_12[] = {1, 2}, mixed[] = {-1, 1, 0};
    ferry_matrix *a = dense_of(ctx, 2, 2, v), *b = dense_of(ctx, 2, 2, w),
                 *c = dense_of(ctx, 2, 3, u), *y = NULL;
    const ferry_scale_part part[] = {{a, NULL, NULL}, {b, to_12, NULL}},
                           odd = {c, mixed, NULL};
    ferry_scaler *s = NULL;
    ferry_scale_facts f;

    assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_STANDARD, 3, 2, part, &s, &f));
    assert_close(f.fill, 1, 0);
    assert_close(s->fill[0], 2, 0); /* rows of a alone */
    assert_close(s->fill[1], (10 + 30 + 7 + 8) / 4.0, 1e-15);
    assert_close(s->fill[2], 7, 0); /* rows of b alone */
    assert_ok(ctx, apply_scaler(ctx, s, &odd, (ferry_scale_how){0}, &y));
    assert_close(y->dense[0], 0, 0);
    assert_close(y->dense[1], (10 - s->shift[1]) * s->factor[1], 0);
    assert_close(y->dense[2], (1 - s->shift[0]) * s->factor[0], 0);
    assert_close(y->dense[5], (3 - s->shift[0]) * s->factor[0], 0);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(a);
    ferry_i_matrix_free(b);
    ferry_i_matrix_free(c);
}

/* Rows of nothing, columns that never vary, one row, numbers that cannot be added. */
static void test_edges(void **state)
{
    ferry_ctx *ctx = *state;
    const double same[] = {0.1, 0, 0.1, 0, 0.1, 0}, huge[] = {1e308, 1e308, 1e308, 1e308};
    ferry_matrix *x = dense_of(ctx, 3, 2, same), *big = dense_of(ctx, 2, 2, huge),
                 *none = dense_of(ctx, 0, 2, same), *y[1];
    ferry_scale_part part = {.x = big};
    ferry_scaler *s = NULL;

    for (ferry_scale k = FERRY_SCALE_AUTO; k <= FERRY_SCALE_L2; k++) {
        both_ways(ctx, k, 1, &x, &s, NULL, y);
        for (int64_t e = 0; e < y[0]->nnz; e++)
            assert_true(isfinite((y[0]->dense ? y[0]->dense : y[0]->value)[e]));
        if (k == FERRY_SCALE_AUTO) assert_close(y[0]->dense[0], 0, 0);
        ferry_i_matrix_free(y[0]);
        both_ways(ctx, k, 1, &none, &s, NULL, y);
        ferry_i_matrix_free(y[0]);
    }
    assert_fails(ctx, fit_scaler(ctx, FERRY_SCALE_AUTO, 2, 1, &part, &s, NULL),
                 FERRY_ENUMERIC, "feature 1: the values are too large to add up");
    assert_null(s);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(big);
    ferry_i_matrix_free(none);
}

/* ---- columns far from 0 ---- */

enum { FAR_ROWS = 60 };

/* cols random columns, the first of them `by` off; `full` columns are filled, the others one cell
 * in 20. Times unit. */
static ferry_matrix *far_rows(ferry_ctx *ctx, int64_t cols, int64_t full, double by,
                              double unit)
{
    ferry_matrix *x = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 7, 1);
    assert_ok(ctx, ferry_i_matrix_dense(ctx, FAR_ROWS, cols, &x));
    for (int64_t e = 0; e < FAR_ROWS * cols; e++) {
        const double z = ferry_i_rng_normal(&rng), u = ferry_i_rng_real(&rng);
        x->dense[e] = e % cols < full || u < 0.05 ? unit * z : 0;
        if (e % cols == 0) x->dense[e] = unit * (z + by);
    }
    return x;
}

/* Dense or CSR, applied or left to the caller: what comes out is what comes out near 0, as far as
 * the digits of the column go. */
static void test_far_is_near(void **state)
{
    ferry_ctx *ctx = *state;
    static const ferry_scale kinds[] = {FERRY_SCALE_STANDARD, FERRY_SCALE_COMMON};
    static const int64_t shapes[][2] = {{3, 3}, {30, 30}, {60, 1}};

    for (int64_t c = 0; c < FERRY_COUNT(kinds) * FERRY_COUNT(shapes); c++) {
        const ferry_scale k = kinds[c % 2];
        const int64_t cols = shapes[c / 2][0], full = shapes[c / 2][1];
        ferry_matrix *plain = far_rows(ctx, cols, full, 0, 1), *want[1];
        ferry_scaler *s = NULL;
        ferry_scale_facts near;
        both_ways(ctx, k, 1, &plain, &s, &near, want);
        for (double by = 1e4; by < 1e13; by *= 100) {
            ferry_matrix *x = far_rows(ctx, cols, full, by, 1), *y[1], *z = NULL;
            ferry_scaler *far = NULL;
            ferry_scale_facts f;
            const ferry_scale_part part = {.x = x};
            both_ways(ctx, k, 1, &x, &far, &f, y);
            assert_int_equal(f.vary, near.vary);
            assert_int_equal(f.far, 1);
            assert_int_equal(far->n_far, 1);
            assert_ok(ctx, apply_scaler(ctx, far, &part,
                                        (ferry_scale_how){.uncentred = true}, &z));
            for (int64_t i = 0; i < FAR_ROWS; i++) {
                assert_close(cell_of(y[0], i, 0), centred(s, want[0], i, 0),
                             1e-15 * by + 1e-14);
                assert_close(cell_of(z, i, 0), cell_of(y[0], i, 0), 0);
            }
            ferry_i_matrix_free(x);
            ferry_i_matrix_free(y[0]);
            ferry_i_matrix_free(z);
        }
        ferry_i_matrix_free(plain);
        ferry_i_matrix_free(want[0]);
    }
}

/* A new CSR row that has 0 in a column far from 0 is far off there; a row by itself has the same
 * bits. */
static void test_far_zero(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = far_rows(ctx, 60, 1, 1e8, 1), *y = NULL;
    double v[60] = {0, 0, 3, 0, 0, 1};
    ferry_matrix *row = dense_of(ctx, 1, 60, v), *csr = csr_of(ctx, row);
    const ferry_scale_part part = {.x = x}, one = {.x = csr}, full = {.x = row};
    ferry_scaler *s = NULL;

    const ferry_scale_room room = kept_room(ctx, 60);
    for (ferry_scale k = FERRY_SCALE_STANDARD; k <= FERRY_SCALE_NEAR;
         k = k == FERRY_SCALE_L2 ? FERRY_SCALE_NEAR : k + 1) {
        assert_ok(ctx, fit_scaler(ctx, k, 60, 1, &part, &s, NULL));
        const ferry_row raw[] = {{60, NULL, v}, {csr->nnz, csr->index, csr->value}};
        for (int form = 0; form < 2; form++) {
            assert_ok(ctx,
                      apply_scaler(ctx, s, form ? &one : &full, (ferry_scale_how){0}, &y));
            const ferry_row got = scaler_row(s, &raw[form], &room);
            assert_false(s->dense);
            assert_int_equal(got.n, y->nnz);
            assert_memory_equal(got.value, y->value, (size_t)y->nnz * sizeof(double));
            assert_memory_equal(got.index, y->index, (size_t)y->nnz * sizeof(int32_t));
            if (k != FERRY_SCALE_ROOTS) assert_int_equal(y->index[0], 0);
            if (k == FERRY_SCALE_NEAR) assert_close(y->value[0], -s->base[0], 0);
            if (k == FERRY_SCALE_L2) assert_close(y->value[0], -1, 1e-15);
            if (k == FERRY_SCALE_STANDARD)
                assert_close(y->value[0], -s->shift[0] * s->factor[0], 0);
            ferry_i_matrix_free(y);
        }
    }
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(row);
    ferry_i_matrix_free(csr);
}

/* Units that squares cannot be told in. words asks whether numbers are whole, which depends on them. */
static void test_units(void **state)
{
    ferry_ctx *ctx = *state;

    for (int64_t cols = 3; cols <= 30; cols += 27) {
        ferry_matrix *x = far_rows(ctx, cols, cols, 5, 1), *want[1], *y[1];
        ferry_scaler *s = NULL;
        ferry_scale_facts f, g;
        for (int64_t e = 0; e < x->nnz; e++)
            x->dense[e] = fabs(x->dense[e]);
        for (ferry_scale k = FERRY_SCALE_AUTO; k <= FERRY_SCALE_L2; k++) {
            if (k == FERRY_SCALE_NONE || k == FERRY_SCALE_WORDS) continue;
            both_ways(ctx, k, 1, &x, &s, &f, want);
            for (int unit = -900; unit <= 900; unit += 200) {
                ferry_matrix *z = dense_of(ctx, FAR_ROWS, cols, x->dense);
                for (int64_t e = 0; e < z->nnz; e++)
                    z->dense[e] = ldexp(z->dense[e], unit);
                both_ways(ctx, k, 1, &z, &s, &g, y);
                assert_int_equal(g.vary, f.vary);
                for (int64_t e = 0; e < z->nnz; e++)
                    assert_close(y[0]->dense[e], want[0]->dense[e], 1e-13);
                ferry_i_matrix_free(y[0]);
                ferry_i_matrix_free(z);
            }
            ferry_i_matrix_free(want[0]);
        }
        ferry_i_matrix_free(x);
    }
}

/* Values that differ by rounding alone are one value, and the facts say so; a constant says
 * nothing. Positive columns far from 0 are no histogram. */
static void test_lost(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 0.3, 1e16, 2, 0.1 + 0.2, 1e16 + 2, 4, 0.3, 1e16};
    ferry_matrix *x = dense_of(ctx, 3, 3, v), *y[1];
    ferry_scaler *s = NULL;
    ferry_scale_facts f;

    both_ways(ctx, FERRY_SCALE_AUTO, 1, &x, &s, &f, y);
    assert_int_equal(f.vary, 1);
    assert_int_equal(f.lost, 2);
    assert_int_equal(f.lost_at, 1);
    assert_close(f.lost_mean, 0.3, 1e-15);
    assert_close(s->factor[1], 0, 0);
    assert_close(s->factor[2], 0, 0);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(y[0]);
    x = far_rows(ctx, 30, 30, 0, 1);
    for (int64_t e = 0; e < x->nnz; e++)
        x->dense[e] += 1e5;
    both_ways(ctx, FERRY_SCALE_AUTO, 1, &x, &s, &f, y);
    assert_int_equal(s->kind, FERRY_SCALE_COMMON);
    assert_int_equal(f.far, 30);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(y[0]);
}

/* A column of ones and a rare 2, and constants of the size of the rest, are no offset: lengths are
 * as ever. Years are, and a large constant. */
static void test_no_offset(void **state)
{
    ferry_ctx *ctx = *state;

    for (int which = 0; which < 4; which++) {
        ferry_matrix *x = far_rows(ctx, 3, 3, 0, 1), *y[1];
        ferry_scaler *s = NULL;
        ferry_scale_facts f;
        for (int64_t i = 0; i < FAR_ROWS; i++)
            x->dense[3 * i + 1] = which == 0   ? 1 + (i == 7)
                                  : which == 1 ? 2
                                  : which == 2 ? 1990 + (double)(i % 30)
                                               : 1e8;
        both_ways(ctx, FERRY_SCALE_L2, 1, &x, &s, &f, y);
        assert_int_equal(f.far, which >= 2);
        assert_int_equal(s->base != NULL, which >= 2);
        assert_true(which < 2 || fabs(s->base[1]) > 1000);
        ferry_i_matrix_free(x);
        ferry_i_matrix_free(y[0]);
    }
}

/* Lengths whose squares are no numbers. */
static void test_unit(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {3e-200, 4e-200, 3e200, -4e200, 0, 0, 3, 4, NAN, 2};
    ferry_matrix *x = dense_of(ctx, 5, 2, v);

    ferry_i_rows_to_unit(x);
    assert_close(x->dense[0], 0.6, 1e-15);
    assert_close(x->dense[3], -0.8, 1e-15);
    assert_close(x->dense[4], 0, 0);
    assert_close(x->dense[7], 0.8, 1e-15);
    assert_true(isnan(x->dense[8]));
    assert_close(x->dense[9], 1, 1e-15);
    ferry_i_matrix_free(x);
}

static void fit_and_apply_body(scope *s, void *arg)
{
    const ferry_scale_part part = {.x = arg};
    const ferry_scaler *by =
        scaler_fit(s, s, FERRY_SCALE_AUTO, part.x->cols, 1, &part, NULL);

    (void)scaler_apply(s, by, &part, (ferry_scale_how){0});
}

static ferry_status fit_and_apply(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, fit_and_apply_body, arg);
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    const double table[] = {1, 2, 3, 4, 5, 7};
    double words[40] = {1, 0, 2};
    ferry_matrix *x = dense_of(ctx, 3, 2, table), *w = dense_of(ctx, 1, 40, words),
                 *csr = csr_of(ctx, w);

    each_allocation_fails(ctx, fit_and_apply, x);
    each_allocation_fails(ctx, fit_and_apply, w);
    (void)ferry_i_matrix_ref(csr); /* so that its pattern is borrowed */
    each_allocation_fails(ctx, fit_and_apply, csr);
    ferry_matrix *far = far_rows(ctx, 60, 1, 1e8, 1);
    each_allocation_fails(ctx, fit_and_apply, far);
    ferry_i_matrix_free(far);
    ferry_i_matrix_free(csr);
    ferry_i_matrix_free(csr);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(w);
}

#define TEST(name) KEPT_TEST(name)

/* ---- weights ---- */

enum { HEAVY = 40 };

/* Values of kind k, which the rule takes for: words, frequent words, roots, a table, common, and columns far from 0. */
static double heavy_cell(ferry_rng *rng, int k, int64_t i, int64_t j)
{
    const double z = ferry_i_rng_normal(rng), u = ferry_i_rng_real(rng);

    if (k == 0) return u < 0.05 ? floor(1 + 3 * fabs(z)) : 0;
    if (k == 1) return u < 0.9 / (1 + 0.2 * (double)j) ? floor(1 + fabs(z)) : 0;
    if (k == 2) return u < 0.6 ? z * z : 0;
    if (k == 3) return z * pow(10, (double)(j % 5)) + (double)j;
    if (k == 4) return i % 7 == j % 7 ? NAN : z;
    return z + (j < 2 ? 1e6 : 0);
}

static void same_numbers(int64_t n, const double *a, const double *b)
{
    assert_int_equal(!a, !b);
    for (int64_t i = 0; a && i < n; i++)
        assert_close(a[i], b[i], 1e-10 * fmax(fabs(b[i]), 1e-3));
}

/* A scale from weighted rows is the one from rows that are there so many times, dense or sparse; weights of 1 change no bit. */
static void test_weights(void **state)
{
    ferry_ctx *ctx = *state;
    enum { COLS = 30 };

    for (int c = 0; c < 6 * 7 * 2; c++) {
        const int kind = c % 6;
        const ferry_scale wanted = (ferry_scale)(c / 6 % 7);
        ferry_matrix *x = NULL, *twice = NULL, *rows = NULL;
        double weight[HEAVY], ones[HEAVY];
        int64_t n = 0, from[2 * HEAVY];
        ferry_rng rng;
        ferry_i_rng_seed(&rng, 3, (uint64_t)kind);
        assert_ok(ctx, ferry_i_matrix_dense(ctx, HEAVY, COLS, &x));
        for (int64_t e = 0; e < HEAVY * COLS; e++)
            x->dense[e] = heavy_cell(&rng, kind, e / COLS, e % COLS);
        for (int64_t i = 0; i < HEAVY; i++) {
            weight[i] = (double)(i % 3);
            ones[i] = 1;
            for (int64_t k = 0; k < i % 3; k++)
                from[n++] = i;
        }
        assert_ok(ctx, ferry_i_matrix_take(ctx, x, n, from, COLS, NULL, &twice));
        rows = c < 42 ? ferry_i_matrix_ref(x) : csr_of(ctx, x);
        const ferry_scale_part heavy = {.x = rows, .weight = weight}, all = {.x = twice},
                               once = {.x = rows}, one = {.x = rows, .weight = ones};
        ferry_scaler *got = NULL, *want = NULL, *plain = NULL, *same = NULL;
        ferry_scale_facts f, g;
        assert_ok(ctx, fit_scaler(ctx, wanted, COLS, 1, &heavy, &got, &f));
        assert_ok(ctx, fit_scaler(ctx, wanted, COLS, 1, &all, &want, &g));
        assert_int_equal(got->kind, want->kind);
        assert_int_equal(got->dense, want->dense);
        assert_int_equal(got->counts, want->counts);
        assert_int_equal(got->n_far, want->n_far);
        same_numbers(COLS, got->fill, want->fill);
        same_numbers(COLS, got->shift, want->shift);
        same_numbers(COLS, got->factor, want->factor);
        same_numbers(COLS, got->base, want->base);
        assert_close(f.fill, g.fill, 1e-12);
        assert_close(f.length, g.length, 1e-10 * g.length);
        assert_int_equal(f.vary, g.vary);
        if (wanted == FERRY_SCALE_AUTO) {
            assert_int_equal(f.skew, g.skew);
            assert_close(f.ones, g.ones, 1e-12);
            assert_close(f.dfr, g.dfr, 1e-12);
        }
        assert_ok(ctx, fit_scaler(ctx, wanted, COLS, 1, &once, &plain, NULL));
        assert_ok(ctx, fit_scaler(ctx, wanted, COLS, 1, &one, &same, NULL));
        assert_memory_equal(same->fill, plain->fill, COLS * sizeof(double));
        if (plain->factor)
            assert_memory_equal(same->factor, plain->factor, COLS * sizeof(double));
        ferry_i_matrix_free(rows);
        ferry_i_matrix_free(twice);
        ferry_i_matrix_free(x);
    }
}

/* Weights that are no whole numbers: a full column has no 0 in it, whatever their sums round to. */
static void test_fractions(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;
    double weight[HEAVY];
    ferry_scaler *s = NULL, *t = NULL;
    ferry_scale_facts f;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, HEAVY, 2, &x));
    for (int64_t i = 0; i < HEAVY; i++) {
        x->dense[2 * i] = 5 + (double)(i % 4);
        x->dense[2 * i + 1] = i % 9 == 0 ? NAN : 1e7 + (double)i;
        weight[i] = 0.1 + 0.7 * (double)(i % 5);
    }
    const ferry_scale_part part = {.x = x, .weight = weight}, plain = {.x = x};
    assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_STANDARD, 2, 1, &part, &s, &f));
    assert_int_equal(f.still, 0);
    assert_true(s->shift[0] > 5 && s->shift[0] < 8);
    assert_true(s->shift[1] > 1e7 && s->shift[1] < 1e7 + HEAVY);
    assert_int_equal(s->n_far, 1);
    assert_ok(ctx, fit_scaler(ctx, FERRY_SCALE_STANDARD, 2, 1, &plain, &t, NULL));
    assert_close(s->factor[0] / t->factor[0], 1, 0.2);
    ferry_i_matrix_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden),  TEST(test_golden_words), TEST(test_why),
        TEST(test_table),   TEST(test_words),        TEST(test_explicit),
        TEST(test_how),     TEST(test_maps),         TEST(test_edges),
        TEST(test_unit),    TEST(test_no_memory),    TEST(test_pattern),
        TEST(test_own),     TEST(test_far_is_near),  TEST(test_far_zero),
        TEST(test_units),   TEST(test_lost),         TEST(test_no_offset),
        TEST(test_weights), TEST(test_fractions),
    };
    return cmocka_run_group_tests_name("scale", tests, NULL, NULL);
}
