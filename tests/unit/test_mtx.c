/* Matrix Market files. */
#include "ferry_test.h"

#include "data/data.h"

static double at(const ferry_data *d, int64_t i, int64_t j)
{
    if (d->x->dense) return d->x->dense[i * d->x->cols + j];
    for (int64_t e = d->x->start[i]; e < d->x->start[i + 1]; e++)
        if (d->x->index[e] == j) return d->x->value[e];
    return 0;
}

static ferry_data *read_text(ferry_ctx *ctx, const char *text)
{
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, tmp_file("m.mtx", text, -1), NULL, &d));
    assert_string_equal(d->format, "mtx");
    return d;
}

static void test_coordinate(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d =
        read_text(ctx, "%%MatrixMarket matrix coordinate real general\n% note\n\n"
                       "2 3 3\n2 1 -1.5\n1 3 2\n1 1 4e1\n");

    assert_null(d->x->dense);
    assert_int_equal(d->x->rows, 2);
    assert_int_equal(d->x->cols, 3);
    assert_close(at(d, 0, 0), 40, 0);
    assert_close(at(d, 0, 2), 2, 0);
    assert_close(at(d, 1, 0), -1.5, 0);
    assert_int_equal(d->x->index[0], 0); /* sorted */
    ferry_data_free(d);

    d = read_text(ctx,
                  "%%MatrixMarket MATRIX Coordinate Pattern Symmetric\n3 3 2\n2 1\n3 3\n");
    assert_int_equal(d->x->nnz, 3);
    assert_close(at(d, 0, 1), 1, 0);
    assert_close(at(d, 1, 0), 1, 0);
    assert_close(at(d, 2, 2), 1, 0);
    ferry_data_free(d);

    d = read_text(
        ctx, "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 7\n");
    assert_close(at(d, 1, 0), 7, 0);
    assert_close(at(d, 0, 1), -7, 0);
    ferry_data_free(d);
}

static void test_array(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d =
        read_text(ctx, "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\nNaN\n");

    assert_non_null(d->x->dense);
    assert_close(at(d, 1, 0), 2, 0);
    assert_close(at(d, 0, 1), 3, 0);
    assert_true(isnan(at(d, 1, 1)));
    ferry_data_free(d);
    d = read_text(ctx, "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n");
    assert_close(at(d, 1, 0), 2, 0);
    assert_close(at(d, 0, 1), 2, 0);
    assert_close(at(d, 1, 1), 3, 0);
    ferry_data_free(d);
    d = read_text(ctx, "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
    assert_close(at(d, 1, 0), 1, 0);
    assert_close(at(d, 2, 0), 2, 0);
    assert_close(at(d, 2, 1), 3, 0);
    assert_close(at(d, 1, 2), -3, 0);
    ferry_data_free(d);
    assert_ok(
        ctx,
        ferry_i_read_as(
            ctx,
            tmp_file("y.mtx", "%%MatrixMarket matrix array integer general\n3 1\n1\n2\n1\n",
                     -1),
            NULL, FERRY_DATA_LABELS, &d));
    assert_int_equal(d->labels->n, 3);
    assert_int_equal(ferry_i_labels_m(d->labels), 2);
    ferry_data_free(d);
}

static void test_broken(void **state)
{
#define C "%%MatrixMarket matrix coordinate real general\n"
#define A "%%MatrixMarket matrix array real general\n"
    static const char *const cases[][2] = {
        {"%%MatrixMarket matrix\n1 1 1\n", ":1: expected \"%%MatrixMarket matrix"},
        {"%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
         ":1: expected coordinate"},
        {"%%MatrixMarket matrix array pattern general\n1 1\n", ":1: expected coordinate"},
        {"%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n",
         ":1: expected coordinate"},
        {C, "expected the sizes: 3 whole numbers"},
        {C "2 2\n", ":2: expected the sizes"},
        {C "0 2 0\n", ":2: 0 x 2"},
        {C "-1 2 0\n", ":2: -1 x 2"},
        {C "2 2 99999999\n1 1 1\n", "is more than the file holds"},
        {C "2000000000 2 1\n1 1 1\n", "is more than the file holds"},
        {C "99999999999999999999 2 1\n1 1 1\n", ":2: expected the sizes"},
        {C "2 2 1\n0 1 1\n", ":3: row \"0\", expected 1 .. 2"},
        {C "2 2 1\n1 3 1\n", ":3: column \"3\", expected 1 .. 2"},
        {C "2 2 1\n-1 1 1\n", ":3: row \"-1\""},
        {C "2 2 1\n1 1 inf\n", ":3: expected a finite number"},
        {C "2 2 1\n1 1 1e999\n", ":3: expected a finite number"},
        {C "2 2 1\n1 1\n", ":3: expected 3 columns, found 2"},
        {C "2 2 2\n1 1 1\n", "2 entries promised, 1 there"},
        {C "2 2 1\n1 1 1\n2 2 2\n", ":4: more than the 1 entries"},
        {C "2 2 2\n1 1 1\n1 1 2\n", "entry (1, 1) is given twice"},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n", "square"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
         "no diagonal"},
        {A "2 2\n1\n2\n3\n", "4 numbers promised, 3 there"},
        {A "1 1\n1\n2\n", ":4: more than the 1 numbers"},
        {A "1 1\nx\n", ":3: expected one number"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++)
        assert_fails(ctx, ferry_read(ctx, tmp_file("bad.mtx", cases[i][0], -1), NULL, &d),
                     FERRY_EDATA, cases[i][1]);
    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.mtx", "\x01\x02\0junk", 7), NULL, &d),
                 FERRY_EDATA, ":1: expected");
    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.mtx", "", 0), NULL, &d), FERRY_EDATA,
                 "empty");
}

static void test_round_trip(void **state)
{
    static const char *const texts[] = {C "3 2 2\n1 2 0.1\n3 1 -1e-300\n",
                                        A "2 2\n0.3\n-2\n1e300\nnan\n"};
    ferry_ctx *ctx = *state;

    for (int k = 0; k < 2; k++) {
        ferry_data *d = read_text(ctx, texts[k]), *back = NULL;
        const char *path = tmp_path("out.mtx");
        assert_ok(ctx, ferry_write(ctx, d, path, NULL));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &back));
        assert_true((d->x->dense != NULL) == (back->x->dense != NULL));
        for (int64_t i = 0; i < d->x->rows; i++)
            for (int64_t j = 0; j < d->x->cols; j++)
                assert_close(at(back, i, j), at(d, i, j), 0);
        d->kind = FERRY_DATA_LABELS;
        ferry_opts *opts = opts_of(ctx, "format=mtx", NULL);
        assert_fails(ctx, ferry_write(ctx, d, path, opts), FERRY_EINVAL, "matrix only");
        ferry_opts_free(opts);
        ferry_data_free(d);
        ferry_data_free(back);
    }
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_data *d = NULL;
    const ferry_status st = ferry_read(ctx, arg, NULL, &d);

    ferry_data_free(d);
    return st;
}

static void test_memory(void **state)
{
    char path[256];

    strcpy(path, tmp_file("mem.mtx", C "2 3 3\n2 1 -1.5\n1 3 2\n1 1 4e1\n", -1));
    each_allocation_fails(*state, body, path);
    strcpy(path, tmp_file("mem.mtx", A "2 1\n1\n2\n", -1));
    each_allocation_fails(*state, body, path);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {T(test_coordinate), T(test_array), T(test_broken),
                                       T(test_round_trip), T(test_memory)};
    return cmocka_run_group_tests_name("mtx", tests, NULL, NULL);
}
