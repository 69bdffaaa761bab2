/* The scaling rule: golden cases, the same bits from dense and CSR, new rows, explicit
 * kinds. */
#include "golden.h"
#include "learn/scale.h"

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
    assert_ok(ctx, ferry_i_scaler_fit(ctx, wanted, x[0]->cols, n, plain, out, facts));
    assert_ok(ctx, ferry_i_scaler_fit(ctx, wanted, x[0]->cols, n, sparse, &s, NULL));
    assert_int_equal(s->kind, (*out)->kind);
    assert_int_equal(s->dense, (*out)->dense);
    for (int64_t p = 0; p < n; p++) {
        ferry_matrix *z = NULL;
        const ferry_scale_how how = {0};
        assert_ok(ctx, ferry_i_scaler_apply(ctx, *out, &plain[p], how, &y[p]));
        assert_ok(ctx, ferry_i_scaler_apply(ctx, s, &sparse[p], how, &z));
        same_bits(y[p], z);
        ferry_i_matrix_free(z);
        ferry_i_matrix_free((ferry_matrix *)sparse[p].x);
    }
    ferry_i_scaler_free(s);
}

/* ---- golden ---- */

static ferry_matrix *matrix_of(ferry_ctx *ctx, const json_t *rows)
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
        x[p] = matrix_of(ctx, json_array_get(domains, (size_t)p));
    both_ways(ctx, FERRY_SCALE_AUTO, n, x, &s, &f, y);
    check_facts(golden_at(c, "facts"), &f);
    assert_string_equal(ferry_i_scale_name(s->kind),
                        strcmp(kind, "mixed") == 0 ? "standard" : kind);
    assert_int_equal(s->dense, f.fill > 0.1);
    for (int64_t p = 0; p < n; p++) {
        ferry_matrix *z = matrix_of(ctx, json_array_get(want, (size_t)p));
        for (int64_t i = 0; i < z->rows; i++)
            for (int64_t j = 0; j < z->cols; j++)
                assert_close(centred(s, y[p], i, j), z->dense[i * z->cols + j], 1e-10);
        ferry_i_matrix_free(z);
        ferry_i_matrix_free(x[p]);
        ferry_i_matrix_free(y[p]);
    }
    ferry_i_scaler_free(s);
}

static void test_golden(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *root = golden("../next/features/golden_anyfeat.json");

    for (size_t i = 0; root && i < json_array_size(golden_at(root, "scale")); i++)
        check_case(ctx, json_array_get(golden_at(root, "scale"), i));
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
    ferry_i_scaler_free(s);
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
    ferry_i_scaler_free(s);
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
        ferry_i_scaler_free(s);
    }
    both_ways(ctx, FERRY_SCALE_NONE, 1, x, &s, NULL, y);
    assert_close(y[0]->dense[11], 4.0 / 3, 1e-15); /* the mean of 0, 1, 3 */
    assert_close(y[0]->dense[10], 5, 0);
    ferry_i_matrix_free(y[0]);
    ferry_i_scaler_free(s);
    both_ways(ctx, FERRY_SCALE_L2, 1, x, &s, NULL, y);
    assert_close(y[0]->dense[0], 1 / sqrt(5), 1e-15);
    ferry_i_matrix_free(y[0]);
    ferry_i_scaler_free(s);
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

    assert_ok(ctx, ferry_i_scaler_fit(ctx, FERRY_SCALE_COMMON, 2, 1, &part, &s, NULL));
    assert_ok(ctx, ferry_i_scaler_apply(ctx, s, &part, (ferry_scale_how){0}, &y));
    assert_ok(
        ctx, ferry_i_scaler_apply(
                 ctx, s, &part, (ferry_scale_how){.missing = true, .uncentred = true}, &z));
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
    ferry_i_scaler_free(s);
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 2, &y)); /* zeros are no missing cells */
    y->dense[3] = 7;
    const ferry_scale_part parts[] = {{.x = y}, {.x = x}};
    for (int n = 1; n <= 2; n++) {
        assert_ok(ctx, ferry_i_scaler_fit(ctx, FERRY_SCALE_COMMON, 2, n, parts, &s, NULL));
        assert_int_equal(s->rows, n == 1 ? 2 : 5);
        assert_int_equal(s->complete, n == 1);
        ferry_i_scaler_free(s);
    }
    ferry_i_matrix_free(y);
    /* nothing to do: the same matrix */
    assert_ok(ctx, ferry_i_scaler_fit(ctx, FERRY_SCALE_NONE, 2, 1, &part, &s, NULL));
    assert_ok(ctx,
              ferry_i_scaler_apply(ctx, s, &part, (ferry_scale_how){.missing = true}, &y));
    assert_ptr_equal(x, y);
    ferry_i_matrix_free(y);
    ferry_i_scaler_free(s);
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
    x->lender = released;
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
                     *y = NULL, *kept = NULL;
        const ferry_scale_part part = {.x = x};
        ferry_scaler *s = NULL;
        assert_ok(ctx, ferry_i_scaler_fit(ctx, FERRY_SCALE_L2, 40, 1, &part, &s, NULL));
        assert_false(s->dense);
        assert_ok(ctx, ferry_i_scaler_apply(ctx, s, &part, (ferry_scale_how){0}, &alone));
        (void)ferry_i_matrix_ref(x); /* as a view keeps it */
        assert_ok(ctx, ferry_i_scaler_apply(ctx, s, &part, (ferry_scale_how){0}, &y));
        assert_ok(ctx, ferry_i_scaler_apply(ctx, s, &part, (ferry_scale_how){.own = true},
                                            &kept));
        assert_ptr_not_equal(alone->index, x->index);
        assert_ptr_not_equal(kept->index, x->index);
        assert_int_equal(y->index == x->index && y->start == x->start, !zero);
        assert_int_equal(y->nnz, 5 - zero);
        assert_close(y->value[0], 0.6, 1e-15);
        assert_close(y->value[4 - zero], zero ? sqrt(0.5) : 2 / 3.0, 1e-15);
        assert_true(x->value[0] == 3); /* what was lent is as it was */
        same_bits(alone, y);
        same_bits(kept, y);
        ferry_i_matrix_free(x);
        ferry_i_matrix_free(x);
        assert_int_equal(released, zero); /* y still reads the index, kept does not */
        assert_ok(ctx, ferry_i_matrix_index(ctx, y));
        assert_close(y->t_value[y->t_start[38]], 0.8, 1e-15);
        ferry_i_matrix_free(y);
        assert_int_equal(released, 1);
        ferry_i_matrix_free(alone);
        ferry_i_matrix_free(kept);
        ferry_i_scaler_free(s);
        released = 0;
    }
}

/* Nothing is to be done, but the result must outlive what was lent: a copy. */
static void test_own(void **state)
{
    static const double v[] = {3, 4, 1, 2, 2};
    ferry_ctx *ctx = *state;
    int released = 0;
    ferry_matrix *x = lent(ctx, v, &released), *y = NULL, *kept = NULL;
    const ferry_scale_part part = {.x = x};
    ferry_scaler *s = NULL;

    assert_ok(ctx, ferry_i_scaler_fit(ctx, FERRY_SCALE_NONE, 40, 1, &part, &s, NULL));
    assert_ok(ctx, ferry_i_scaler_apply(ctx, s, &part, (ferry_scale_how){0}, &y));
    assert_ptr_equal(x, y);
    assert_ok(ctx,
              ferry_i_scaler_apply(ctx, s, &part, (ferry_scale_how){.own = true}, &kept));
    same_bits(kept, x);
    ferry_i_matrix_free(y);
    ferry_i_matrix_free(x);
    assert_int_equal(released, 1);
    assert_true(kept->value[1] == 4 && kept->index[1] == 38);
    ferry_i_matrix_free(kept);
    ferry_i_scaler_free(s);
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
    const ferry_scale_part part[] = {{a, NULL}, {b, to_12}}, odd = {c, mixed};
    ferry_scaler *s = NULL;
    ferry_scale_facts f;

    assert_ok(ctx, ferry_i_scaler_fit(ctx, FERRY_SCALE_STANDARD, 3, 2, part, &s, &f));
    assert_close(f.fill, 1, 0);
    assert_close(s->fill[0], 2, 0); /* rows of a alone */
    assert_close(s->fill[1], (10 + 30 + 7 + 8) / 4.0, 1e-15);
    assert_close(s->fill[2], 7, 0); /* rows of b alone */
    assert_ok(ctx, ferry_i_scaler_apply(ctx, s, &odd, (ferry_scale_how){0}, &y));
    assert_close(y->dense[0], 0, 0);
    assert_close(y->dense[1], (10 - s->shift[1]) * s->factor[1], 0);
    assert_close(y->dense[2], (1 - s->shift[0]) * s->factor[0], 0);
    assert_close(y->dense[5], (3 - s->shift[0]) * s->factor[0], 0);
    ferry_i_matrix_free(y);
    ferry_i_scaler_free(s);
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
        ferry_i_scaler_free(s);
        both_ways(ctx, k, 1, &none, &s, NULL, y);
        ferry_i_matrix_free(y[0]);
        ferry_i_scaler_free(s);
    }
    assert_fails(ctx, ferry_i_scaler_fit(ctx, FERRY_SCALE_AUTO, 2, 1, &part, &s, NULL),
                 FERRY_ENUMERIC, "feature 1: the values are too large to add up");
    assert_null(s);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(big);
    ferry_i_matrix_free(none);
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

static ferry_status fit_and_apply(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_scale_part part = {.x = arg};
    ferry_scaler *s = NULL;
    ferry_matrix *y = NULL;

    FERRY_TRY(ferry_i_scaler_fit(ctx, FERRY_SCALE_AUTO, part.x->cols, 1, &part, &s, NULL));
    FERRY_TRY(ferry_i_scaler_apply(ctx, s, &part, (ferry_scale_how){0}, &y));
done:
    ferry_i_matrix_free(y);
    ferry_i_scaler_free(s);
    return st;
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
    (void)ferry_i_matrix_ref(csr); /* so that its pattern is lent */
    each_allocation_fails(ctx, fit_and_apply, csr);
    ferry_i_matrix_free(csr);
    ferry_i_matrix_free(csr);
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden),    TEST(test_table),   TEST(test_words), TEST(test_explicit),
        TEST(test_how),       TEST(test_maps),    TEST(test_edges), TEST(test_unit),
        TEST(test_no_memory), TEST(test_pattern), TEST(test_own),
    };
    return cmocka_run_group_tests_name("scale", tests, NULL, NULL);
}
