/* NPY and NPZ. */
#include "ferry_test.h"

#include <stdio.h>

#include "data/archive.h"
#include "data/npy.h"

/* An array in bytes: header (text of the dictionary) and data. */
typedef struct bytes {
    char s[2048];
    int64_t n;
} bytes;

static bytes array_of(const char *descr, const char *order, const char *shape,
                      const void *data, int64_t n)
{
    bytes b = {0};
    const int len =
        snprintf(b.s + 10, 512, "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n",
                 descr, order, shape);

    memcpy(b.s, "\x93NUMPY\x01\x00", 8);
    b.s[8] = (char)(len & 255);
    b.s[9] = (char)(len >> 8);
    memcpy(b.s + 10 + len, data, (size_t)n);
    b.n = 10 + len + n;
    return b;
}

static ferry_data *read_bytes(ferry_ctx *ctx, bytes b, ferry_data_kind as)
{
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_i_read_as(ctx, tmp_file("a.npy", b.s, b.n), NULL, as, &d));
    assert_string_equal(d->format, "npy");
    return d;
}

static void test_types(void **state)
{
    static const int8_t i1[] = {-1, 2};
    static const uint8_t u1[] = {255, 2};
    static const int16_t i2[] = {-300, 2};
    static const uint16_t u2[] = {60000, 2};
    static const int32_t i4[] = {-70000, 2};
    static const uint32_t u4[] = {4000000000u, 2};
    static const int64_t i8[] = {-5000000000, 2};
    static const uint64_t u8[] = {5000000000u, 2};
    static const float f4[] = {0.5f, 2};
    static const double f8[] = {0.1, 2};
    static const struct {
        const char *descr;
        const void *data;
        int64_t n;
        double want;
    } cases[] = {{"'|i1'", i1, 2, -1},
                 {"'|u1'", u1, 2, 255},
                 {"'<i2'", i2, 4, -300},
                 {"'<u2'", u2, 4, 60000},
                 {"'<i4'", i4, 8, -70000},
                 {"'<u4'", u4, 8, 4000000000.0},
                 {"'<i8'", i8, 16, -5000000000.0},
                 {"'<u8'", u8, 16, 5000000000.0},
                 {"'<f4'", f4, 8, 0.5},
                 {"'<f8'", f8, 16, 0.1},
                 {"'>i2'", "\xff\xfe\0\2", 4, -2},
                 {"'>f4'", "\x3f\0\0\0\x40\0\0\0", 8, 0.5}};
    ferry_ctx *ctx = *state;

    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        ferry_data *d = read_bytes(
            ctx, array_of(cases[k].descr, "False", "(1, 2)", cases[k].data, cases[k].n),
            FERRY_DATA_VIEW);
        assert_int_equal(d->x->rows, 1);
        assert_int_equal(d->x->cols, 2);
        assert_close(d->x->dense[0], cases[k].want, 0);
        assert_close(d->x->dense[1], 2, 0);
        ferry_data_free(d);
    }
    ferry_data *d =
        read_bytes(ctx, array_of("'|b1'", "False", "(2,)", "\0\1", 2), FERRY_DATA_VIEW);
    assert_int_equal(d->x->rows, 2);
    assert_int_equal(d->x->cols, 1);
    assert_close(d->x->dense[1], 1, 0);
    ferry_data_free(d);
}

static void test_order(void **state)
{
    static const double v[] = {1, 2, 3, 4, 5, 6};
    ferry_ctx *ctx = *state;
    ferry_data *d =
        read_bytes(ctx, array_of("'<f8'", "True", "(2, 3)", v, 48), FERRY_DATA_VIEW);

    assert_close(d->x->dense[1], 3, 0);
    assert_close(d->x->dense[3], 2, 0);
    ferry_data_free(d);
    bytes b = array_of("'<f8'", "False", "(2, 3)", v, 48);
    ferry_opts *opts = opts_of(ctx, "transpose=yes", NULL);
    assert_ok(ctx, ferry_read(ctx, tmp_file("t.npy", b.s, b.n), opts, &d));
    assert_int_equal(d->x->rows, 3);
    assert_close(d->x->dense[1], 4, 0);
    ferry_data_free(d);
    ferry_opts_free(opts);
}

static void test_labels(void **state)
{
    static const int32_t v[] = {3, -1, 3};
    static const double numbers[] = {0.5, NAN, 2};
    static const uint8_t sets[] = {1, 0, 0, 1};
    static const uint32_t texts[] = {0xe9, 'b', 0, 'a', 0, 0, 0x1f600, 0, 0};
    ferry_ctx *ctx = *state;
    ferry_data *d =
        read_bytes(ctx, array_of("'<i4'", "False", "(3,)", v, 12), FERRY_DATA_LABELS);

    assert_int_equal(d->kind, FERRY_DATA_LABELS);
    assert_int_equal(ferry_i_labels_m(d->labels), 2);
    assert_string_equal(ferry_i_ids_at(d->labels->names, 0), "-1");
    assert_int_equal(d->labels->cls[0], 1);
    ferry_data_free(d);
    d = read_bytes(ctx, array_of("'<f8'", "False", "(3,)", numbers, 24), FERRY_DATA_LABELS);
    assert_int_equal(d->labels->kind, FERRY_LABEL_NUMBER);
    assert_true(isnan(d->labels->num[1]));
    ferry_data_free(d);
    d = read_bytes(ctx, array_of("'|u1'", "False", "(2, 2)", sets, 4), FERRY_DATA_LABELS);
    assert_int_equal(d->labels->kind, FERRY_LABEL_SET);
    assert_int_equal(d->labels->on[3], 1);
    ferry_data_free(d);
    d = read_bytes(ctx, array_of("'<U3'", "False", "(3,)", texts, 36), FERRY_DATA_LABELS);
    assert_string_equal(ferry_i_ids_at(d->labels->names, d->labels->cls[0]), "\xc3\xa9"
                                                                             "b");
    assert_string_equal(ferry_i_ids_at(d->labels->names, d->labels->cls[2]),
                        "\xf0\x9f\x98\x80");
    ferry_data_free(d);
    d = read_bytes(ctx, array_of("'|S2'", "False", "(2,)", "ab\0\0", 4), FERRY_DATA_LABELS);
    assert_int_equal(d->labels->cls[1], -1);
    ferry_data_free(d);
    d = read_bytes(ctx, array_of("'>U1'", "False", "(1,)", "\0\0\0Z", 4),
                   FERRY_DATA_LABELS);
    assert_string_equal(ferry_i_ids_at(d->labels->names, 0), "Z");
    ferry_data_free(d);
}

static void test_broken(void **state)
{
    static const struct {
        const char *descr, *shape, *want;
    } cases[] = {
        {"'|O'", "(1,)", "Python objects"},
        {"'|O8'", "(1,)", "Python objects"},
        {"[('a', '<f8')]", "(1,)", "an array of records"},
        {"'<c16'", "(1,)", "items of type c16"},
        {"'<f2'", "(1,)", "items of type f2"},
        {"'<i3'", "(1,)", "items of type i3"},
        {"'?f8'", "(1,)", "cannot read the type"},
        {"'<f8'", "(1, 2, 3)", "more than 2 dimensions"},
        {"'<f8'", "(-1, 2)", "cannot read its shape"},
        {"'<f8'", "(x,)", "cannot read its shape"},
        {"'<f8'", "(3,)", "truncated: 16 bytes of data for 3 x 1 items of 8 bytes"},
        {"'<f8'", "(4611686018427387904, 4)", "truncated"},
        {"'<f8'", "(2000000000, 0)", "truncated"},
        {"'<f8'", "7", "no shape"},
        {"'<f8'", "(0, 5)", "is empty"},
    };
    static const double v[] = {1, INFINITY};
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        bytes b = array_of(cases[k].descr, "False", cases[k].shape, v, 16);
        assert_fails(ctx, ferry_read(ctx, tmp_file("bad.npy", b.s, b.n), NULL, &d),
                     FERRY_EDATA, cases[k].want);
    }
    bytes b = array_of("'<f8'", "False", "(2,)", v, 16);
    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.npy", b.s, b.n), NULL, &d), FERRY_EDATA,
                 "infinite");
    assert_fails(
        ctx,
        ferry_i_read_as(ctx, tmp_file("bad.npy", b.s, b.n), NULL, FERRY_DATA_LABELS, &d),
        FERRY_EDATA, "label 2 is infinite");
    for (int64_t n = 1; n < b.n; n++) { /* cut anywhere */
        assert_int_equal(ferry_read(ctx, tmp_file("cut.npy", b.s, n), NULL, &d),
                         FERRY_EDATA);
        assert_null(d);
    }
    b.s[6] = 9;
    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.npy", b.s, b.n), NULL, &d), FERRY_EDATA,
                 "NPY version 9");
    b = array_of("'|u1'", "False", "(2, 2)", "\2\1\0\1", 4);
    assert_fails(
        ctx,
        ferry_i_read_as(ctx, tmp_file("bad.npy", b.s, b.n), NULL, FERRY_DATA_LABELS, &d),
        FERRY_EDATA, "row 1 column 1 is 2, expected 0 or 1");
}

/* ---- NPZ ---- */

typedef struct member {
    const char *name;
    bytes b;
} member;

static const char *make_npz(ferry_ctx *ctx, const char *name, int64_t n, const member *m)
{
    const char *path = tmp_path(name);
    ferry_zip_out z = {0};
    ferry_out *o = NULL;

    assert_ok(ctx, ferry_i_out_open(ctx, path, &o));
    z.out = o;
    for (int64_t i = 0; i < n; i++)
        ferry_i_zip_add(&z, m[i].name, m[i].b.s, m[i].b.n, "", 0);
    assert_ok(ctx, ferry_i_zip_end(ctx, &z));
    assert_ok(ctx, ferry_i_out_commit(ctx, o));
    return path;
}

static void test_npz_names(void **state)
{
    static const double v[] = {1, 2, 3, 4};
    static const int32_t y[] = {7, 8};
    ferry_ctx *ctx = *state;
    const member m[] = {{"data.npy", array_of("'<f8'", "False", "(2, 2)", v, 32)},
                        {"y.npy", array_of("'<i4'", "False", "(2,)", y, 8)},
                        {"ids.npy", array_of("'|S2'", "False", "(2,)", "aabb", 4)},
                        {"features.npy", array_of("'|S1'", "False", "(2,)", "fg", 2)}};
    const char *path = make_npz(ctx, "n.npz", 4, m);
    char inside[4200];
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
    assert_string_equal(d->format, "npz");
    assert_int_equal(d->x->rows, 2);
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "bb");
    assert_string_equal(ferry_i_ids_at(d->features, 0), "f");
    assert_string_equal(ferry_i_ids_at(d->labels->names, d->labels->cls[1]), "8");
    ferry_data_free(d);
    assert_ok(ctx, ferry_i_read_as(ctx, path, NULL, FERRY_DATA_LABELS, &d));
    assert_int_equal(d->kind, FERRY_DATA_LABELS);
    assert_null(d->x);
    ferry_data_free(d);
    snprintf(inside, sizeof inside, "%s#data", path);
    assert_ok(ctx, ferry_read(ctx, inside, NULL, &d));
    assert_null(d->labels);
    assert_close(d->x->dense[3], 4, 0);
    ferry_data_free(d);
    snprintf(inside, sizeof inside, "%s#nothing", path);
    assert_fails(ctx, ferry_read(ctx, inside, NULL, &d), FERRY_EDATA,
                 "holds no array nothing");
}

static void test_npz_listing(void **state)
{
    static const double v[] = {1, 2, 3, 4};
    ferry_ctx *ctx = *state;
    const member m[] = {{"a.npy", array_of("'<f8'", "False", "(2, 2)", v, 32)},
                        {"b.npy", array_of("'<f4'", "False", "(2, 2)", v, 16)},
                        {"c.npy", array_of("'|O'", "False", "(2,)", v, 16)},
                        {"s.npy", array_of("'|i1'", "False", "()", v, 1)}};
    const char *path = make_npz(ctx, "l.npz", 4, m);
    char inside[4200];
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
    assert_int_equal(d->kind, FERRY_DATA_LISTING);
    assert_int_equal(d->n_listing, 4);
    assert_string_equal(d->listing[0].name, "a");
    assert_string_equal(d->listing[0].type, "float64 2 x 2");
    assert_string_equal(d->listing[3].type, "int8");
    ferry_data_free(d);
    snprintf(inside, sizeof inside, "%s#c", path);
    assert_fails(ctx, ferry_read(ctx, inside, NULL, &d), FERRY_EDATA, "Python objects");
}

/* The parts of a sparse matrix as scipy writes them. */
static void sparse_parts(member *m, const char *format, const int32_t *indptr,
                         int64_t n_ptr, const int32_t *indices, const double *data,
                         int64_t nnz)
{
    static const int64_t shape[] = {2, 3};
    char n[32];

    m[0] = (member){"format.npy", array_of("'|S3'", "False", "()", format, 3)};
    m[1] = (member){"shape.npy", array_of("'<i8'", "False", "(2,)", shape, 16)};
    snprintf(n, sizeof n, "(%d,)", (int)n_ptr);
    m[2] = (member){"indptr.npy", array_of("'<i4'", "False", n, indptr, 4 * n_ptr)};
    snprintf(n, sizeof n, "(%d,)", (int)nnz);
    m[3] = (member){"indices.npy", array_of("'<i4'", "False", n, indices, 4 * nnz)};
    m[4] = (member){"data.npy", array_of("'<f8'", "False", n, data, 8 * nnz)};
}

static void test_npz_sparse(void **state)
{
    static const double v[] = {1, 2, 3};
    static const int32_t csr_ptr[] = {0, 2, 3}, csr_index[] = {2, 0, 1};
    static const int32_t csc_ptr[] = {0, 1, 2, 3}, csc_index[] = {0, 1, 0};
    ferry_ctx *ctx = *state;
    member m[5];
    ferry_data *d = NULL;

    sparse_parts(m, "csr", csr_ptr, 3, csr_index, v, 3);
    assert_ok(ctx, ferry_read(ctx, make_npz(ctx, "s.npz", 5, m), NULL, &d));
    assert_null(d->x->dense);
    assert_int_equal(d->x->index[0], 0); /* brought in order */
    assert_close(d->x->value[0], 2, 0);
    assert_close(d->x->value[1], 1, 0);
    ferry_data_free(d);
    sparse_parts(m, "csc", csc_ptr, 4, csc_index, v, 3);
    assert_ok(ctx, ferry_read(ctx, make_npz(ctx, "s.npz", 5, m), NULL, &d));
    assert_int_equal(d->x->rows, 2);
    assert_int_equal(d->x->start[1], 2);
    assert_int_equal(d->x->index[1], 2);
    assert_close(d->x->value[1], 3, 0);
    ferry_data_free(d);
}

static void test_npz_sparse_broken(void **state)
{
    static const double v[] = {1, 2, 3};
    static const struct {
        const char *format;
        int32_t ptr[4];
        int64_t n_ptr;
        int32_t index[3];
        const char *want;
    } cases[] = {
        {"coo", {0, 2, 3}, 3, {0, 1, 2}, "csr or csc"},
        {"csr", {0, 2, 3, 3}, 4, {0, 1, 2}, "has 4 offsets"},
        {"csr", {1, 2, 3}, 3, {0, 1, 2}, "#indptr: entry 1 is 1"},
        {"csr", {0, 4, 3}, 3, {0, 1, 2}, "#indptr: entry 2 is 4"},
        {"csr", {0, 2, 2}, 3, {0, 1, 2}, "#indptr: entry 3 is 2"},
        {"csr", {0, -1, 3}, 3, {0, 1, 2}, "#indptr: entry 2 is -1"},
        {"csr", {0, 2, 3}, 3, {0, 3, 2}, "#indices: entry 2 is 3, expected 0 .. 2"},
        {"csr", {0, 2, 3}, 3, {0, -1, 2}, "#indices: entry 2 is -1"},
        {"csr", {0, 2, 3}, 3, {1, 1, 2}, "entry (1, 2) is given twice"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;
    member m[5];

    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        sparse_parts(m, cases[k].format, cases[k].ptr, cases[k].n_ptr, cases[k].index, v,
                     3);
        assert_fails(ctx, ferry_read(ctx, make_npz(ctx, "bad.npz", 5, m), NULL, &d),
                     FERRY_EDATA, cases[k].want);
    }
    sparse_parts(m, "csr", cases[0].ptr, 3, cases[0].index, v, 3);
    m[3].b = array_of("'<f4'", "False", "(3,)", v, 12);
    assert_fails(ctx, ferry_read(ctx, make_npz(ctx, "bad.npz", 5, m), NULL, &d),
                 FERRY_EDATA, "wrong types");
    const member dup[] = {{"x.npy", array_of("'<f8'", "False", "(2, 1)", v, 16)},
                          {"ids.npy", array_of("'|S1'", "False", "(2,)", "aa", 2)}};
    assert_fails(ctx, ferry_read(ctx, make_npz(ctx, "bad.npz", 2, dup), NULL, &d),
                 FERRY_EDATA, "#ids: entry 2, \"a\", repeats");
}

/* Data with everything that a file can hold, made from svmlight or CSV texts. */
static void check_same(const ferry_data *a, const ferry_data *b)
{
    assert_int_equal(a->x->rows, b->x->rows);
    assert_int_equal(a->x->cols, b->x->cols);
    assert_int_equal(a->x->nnz, b->x->nnz);
    assert_true((a->x->dense != NULL) == (b->x->dense != NULL));
    for (int64_t e = 0; e < a->x->nnz; e++) {
        assert_close(a->x->dense ? a->x->dense[e] : a->x->value[e],
                     b->x->dense ? b->x->dense[e] : b->x->value[e], 0);
        if (!a->x->dense) assert_int_equal(a->x->index[e], b->x->index[e]);
    }
    assert_int_equal(ferry_i_ids_count(a->ids), ferry_i_ids_count(b->ids));
    for (int64_t i = 0; i < ferry_i_ids_count(a->ids); i++)
        assert_string_equal(ferry_i_ids_at(a->ids, i), ferry_i_ids_at(b->ids, i));
    assert_int_equal(ferry_i_ids_count(a->features), ferry_i_ids_count(b->features));
    for (int64_t i = 0; i < ferry_i_ids_count(a->features); i++)
        assert_string_equal(ferry_i_ids_at(a->features, i), ferry_i_ids_at(b->features, i));
    const ferry_labels *l = a->labels, *m = b->labels;
    assert_int_equal(l->kind, m->kind);
    assert_int_equal(ferry_i_labels_m(l), ferry_i_labels_m(m));
    for (int64_t k = 0; k < ferry_i_labels_m(l); k++)
        assert_string_equal(ferry_i_ids_at(l->names, k), ferry_i_ids_at(m->names, k));
    for (int64_t i = 0; i < l->n; i++) {
        if (l->cls) assert_int_equal(l->cls[i], m->cls[i]);
        if (l->num) assert_close(l->num[i], m->num[i], 0);
        if (l->known) assert_int_equal(l->known[i], m->known[i]);
        for (int64_t k = 0; l->known && l->known[i] && k < ferry_i_labels_m(l); k++)
            assert_int_equal(l->on[i * ferry_i_labels_m(l) + k],
                             m->on[i * ferry_i_labels_m(l) + k]);
    }
}

static const char *const arffs[] = {
    "@relation r\n@attribute id string\n@attribute a real\n@attribute '\xc3\xa9' real\n"
    "@attribute k {c,'a b'}\n@data\np,0.1,?,c\n'q \xf0\x9f\x98\x80',-2,3e300,?\nr,1,2,'a "
    "b'\n",
    "@relation r\n@attribute id string\n@attribute a real\n@attribute b real\n@attribute "
    "class "
    "real\n@data\n{0 p,1 2.5}\n{0 q,2 1,3 7.5}\n{0 r,3 ?}\n",
    "@relation 'r -C -2'\n@attribute a real\n@attribute x {0,1}\n@attribute y "
    "{0,1}\n@data\n"
    "5,1,0\n6,1,1\n7,?,?\n",
    "@relation 'r -C -2'\n@attribute a real\n@attribute x {0,1}\n@attribute y "
    "{0,1}\n@data\n"
    "5,1,0\n6,1,1\n"};

static void test_npz_round_trip(void **state)
{
    ferry_ctx *ctx = *state;

    for (int64_t k = 0; k < FERRY_COUNT(arffs); k++) {
        ferry_data *d = NULL, *back = NULL;
        const char *path = tmp_path("out.npz");
        assert_ok(ctx, ferry_read(ctx, tmp_file("in.arff", arffs[k], -1), NULL, &d));
        assert_ok(ctx, ferry_write(ctx, d, path, NULL));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &back));
        check_same(d, back);
        ferry_data_free(back);
        /* NPY: the matrix alone */
        path = tmp_path("out.npy");
        assert_ok(ctx, ferry_write(ctx, d, path, NULL));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &back));
        assert_int_equal(back->x->cols, d->x->cols);
        if (d->x->dense)
            for (int64_t e = 0; e < d->x->nnz; e++)
                assert_close(back->x->dense[e], d->x->dense[e], 0);
        ferry_data_free(back);
        d->kind = FERRY_DATA_GRAPH;
        ferry_opts *npz = opts_of(ctx, "format=npz", NULL),
                   *npy = opts_of(ctx, "format=npy", NULL);
        assert_fails(ctx, ferry_write(ctx, d, path, npz), FERRY_EINVAL,
                     "features and labels only");
        assert_fails(ctx, ferry_write(ctx, d, path, npy), FERRY_EINVAL, "a matrix only");
        ferry_opts_free(npz);
        ferry_opts_free(npy);
        ferry_data_free(d);
    }
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_data *d = NULL;
    const ferry_status st = ferry_read(ctx, arg, NULL, &d);

    ferry_data_free(d);
    return st;
}

typedef struct writing {
    const ferry_data *d;
    const char *path;
} writing;

static ferry_status write_body(ferry_ctx *ctx, void *arg)
{
    const writing *w = arg;

    return ferry_write(ctx, w->d, w->path, NULL);
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    char path[256], arff[256];

    for (int64_t k = 0; k < 3; k++) {
        ferry_data *d = NULL;
        strcpy(arff, tmp_file("mem.arff", arffs[k], -1));
        assert_ok(ctx, ferry_read(ctx, arff, NULL, &d));
        strcpy(path, tmp_path("mem.npz"));
        writing w = {d, path};
        each_allocation_fails(ctx, write_body, &w);
        each_allocation_fails(ctx, body, path);
        ferry_data_free(d);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {T(test_types),          T(test_order),
                                       T(test_labels),         T(test_broken),
                                       T(test_npz_names),      T(test_npz_listing),
                                       T(test_npz_sparse),     T(test_npz_sparse_broken),
                                       T(test_npz_round_trip), T(test_memory)};
    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
