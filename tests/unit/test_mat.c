/* MAT 5 and 7.3 files. Test files are made with matio, or with HDF5 where matio has no such setting. */
#define _GNU_SOURCE /* memmem */
#include <sys/stat.h>

#include "ferry_test.h"

#include <hdf5.h>
#include <matio.h>
#include <stdio.h>
#include <zlib.h>

#include "data/data.h"

static double at(const ferry_data *d, int64_t i, int64_t j)
{
    if (d->x->dense) return d->x->dense[i * d->x->cols + j];
    for (int64_t e = d->x->start[i]; e < d->x->start[i + 1]; e++)
        if (d->x->index[e] == j) return d->x->value[e];
    return 0;
}

static matvar_t *matrix(const char *name, size_t r, size_t c, enum matio_classes class,
                        enum matio_types type, const void *data)
{
    size_t dims[2] = {r, c};

    return Mat_VarCreate(name, class, type, 2, dims, (void *)(uintptr_t)data, 0);
}

/* A 3 x 2 sparse matrix: (1,1) = 5, (3,2) = 6. */
static matvar_t *sparse(const char *name)
{
    static mat_uint32_t ir[] = {0, 2}, jc[] = {0, 1, 2};
    static double v[] = {5, 6};
    static mat_sparse_t s = {
        .nzmax = 2, .ir = ir, .nir = 2, .jc = jc, .njc = 3, .ndata = 2, .data = v};
    size_t dims[2] = {3, 2};

    return Mat_VarCreate(name, MAT_C_SPARSE, MAT_T_DOUBLE, 2, dims, &s, 0);
}

static matvar_t *cells(const char *name, size_t r, size_t c, matvar_t **v)
{
    size_t dims[2] = {r, c};

    return Mat_VarCreate(name, MAT_C_CELL, MAT_T_CELL, 2, dims, v, 0);
}

/* Write variables (freed) to name; returns the path. */
static const char *make(const char *name, enum mat_ft version, enum matio_compression zip,
                        matvar_t **v, int n)
{
    const char *path = tmp_path(name);
    mat_t *file = Mat_CreateVer(path, NULL, version);

    assert_non_null(file);
    for (int i = 0; i < n; i++) {
        assert_non_null(v[i]);
        assert_int_equal(Mat_VarWrite(file, v[i], zip), 0);
        Mat_VarFree(v[i]);
    }
    Mat_Close(file);
    return path;
}

static const char *inside(const char *path, const char *name)
{
    static char full[4200];

    snprintf(full, sizeof full, "%s#%s", path, name);
    return full;
}

static const double six[] = {1, 2, 3, 4, 5, 6}; /* 3 x 2, by columns */
static const double three[] = {1, 2, 1};

static void test_view_and_labels(void **state)
{
    static const enum mat_ft versions[] = {MAT_FT_MAT5, MAT_FT_MAT5, MAT_FT_MAT73};
    ferry_ctx *ctx = *state;

    for (int k = 0; k < 3; k++) {
        matvar_t *v[] = {matrix("fts", 3, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, six),
                         matrix("labels", 1, 3, MAT_C_DOUBLE, MAT_T_DOUBLE, three)};
        const char *path = make("v.mat", versions[k],
                                k == 1 ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE, v, 2);
        ferry_data *d = NULL;
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_string_equal(d->format, "mat");
        assert_int_equal(d->x->rows, 3);
        assert_int_equal(d->x->cols, 2);
        assert_close(at(d, 0, 1), 4, 0);
        assert_close(at(d, 2, 0), 3, 0);
        assert_int_equal(ferry_i_labels_m(d->labels), 2);
        assert_int_equal(d->labels->cls[1], 1);
        ferry_data_free(d);
        assert_ok(
            ctx, ferry_i_read_as(ctx, inside(path, "labels"), NULL, FERRY_DATA_LABELS, &d));
        assert_int_equal(d->labels->n, 3);
        ferry_data_free(d);
        assert_ok(ctx, ferry_i_read_as(ctx, path, NULL, FERRY_DATA_LABELS, &d));
        assert_int_equal(d->labels->n, 3);
        ferry_data_free(d);
        ferry_opts *opts = opts_of(ctx, "transpose=yes", NULL);
        assert_ok(ctx, ferry_read(ctx, inside(path, "fts"), opts, &d));
        assert_int_equal(d->x->rows, 2);
        assert_close(at(d, 1, 0), 4, 0);
        ferry_data_free(d);
        ferry_opts_free(opts);
    }
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
    static const struct {
        enum matio_classes class;
        enum matio_types type;
        const void *data;
        double want;
    } cases[] = {{MAT_C_INT8, MAT_T_INT8, i1, -1},
                 {MAT_C_UINT8, MAT_T_UINT8, u1, 255},
                 {MAT_C_INT16, MAT_T_INT16, i2, -300},
                 {MAT_C_UINT16, MAT_T_UINT16, u2, 60000},
                 {MAT_C_INT32, MAT_T_INT32, i4, -70000},
                 {MAT_C_UINT32, MAT_T_UINT32, u4, 4000000000.0},
                 {MAT_C_INT64, MAT_T_INT64, i8, -5000000000.0},
                 {MAT_C_UINT64, MAT_T_UINT64, u8, 5000000000.0},
                 {MAT_C_SINGLE, MAT_T_SINGLE, f4, 0.5}};
    ferry_ctx *ctx = *state;

    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        for (int hdf = 0; hdf < 2; hdf++) {
            matvar_t *v = matrix("x", 1, 2, cases[k].class, cases[k].type, cases[k].data);
            const char *path = make("t.mat", hdf ? MAT_FT_MAT73 : MAT_FT_MAT5,
                                    MAT_COMPRESSION_NONE, &v, 1);
            ferry_data *d = NULL;
            assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
            assert_close(d->x->dense[0], cases[k].want, 0);
            assert_close(d->x->dense[1], 2, 0);
            ferry_data_free(d);
        }
    }
}

static void test_sparse_and_cells(void **state)
{
    ferry_ctx *ctx = *state;

    for (int hdf = 0; hdf < 2; hdf++) {
        matvar_t *in[] = {matrix(NULL, 3, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, six),
                          sparse(NULL)};
        matvar_t *inner[] = {matrix(NULL, 1, 3, MAT_C_DOUBLE, MAT_T_DOUBLE, three)};
        matvar_t *nest[] = {cells(NULL, 1, 1, inner)};
        matvar_t *v[] = {sparse("s"), cells("fea", 1, 2, in), cells("deep", 1, 1, nest)};
        const char *path = make("c.mat", hdf ? MAT_FT_MAT73 : MAT_FT_MAT5,
                                MAT_COMPRESSION_NONE, v, hdf ? 2 : 3);
        ferry_data *d = NULL;

        if (hdf) Mat_VarFree(v[2]); /* was not written */
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_int_equal(d->kind, FERRY_DATA_LISTING);
        assert_int_equal(d->n_listing, hdf ? 2 : 3);
        ferry_data_free(d);
        assert_ok(ctx, ferry_read(ctx, inside(path, "s"), NULL, &d));
        assert_null(d->x->dense);
        assert_int_equal(d->x->nnz, 2);
        assert_close(at(d, 0, 0), 5, 0);
        assert_close(at(d, 2, 1), 6, 0);
        ferry_data_free(d);
        assert_ok(ctx, ferry_read(ctx, inside(path, "fea{2}"), NULL, &d));
        assert_close(at(d, 2, 1), 6, 0);
        ferry_data_free(d);
        assert_ok(ctx, ferry_read(ctx, inside(path, "fea{1}"), NULL, &d));
        assert_close(at(d, 0, 1), 4, 0);
        ferry_data_free(d);
        assert_fails(ctx, ferry_read(ctx, inside(path, "fea{3}"), NULL, &d), FERRY_EDATA,
                     "has no element 3, expected 1 .. 2");
        assert_fails(ctx, ferry_read(ctx, inside(path, "fea{0}"), NULL, &d), FERRY_EDATA,
                     "has no element 0, expected 1 .. 2");
        assert_fails(ctx, ferry_read(ctx, inside(path, "fea{x}"), NULL, &d), FERRY_EDATA,
                     "expected name{number}");
        assert_fails(ctx, ferry_read(ctx, inside(path, "s{1}"), NULL, &d), FERRY_EDATA,
                     "sparse, expected a cell array before {}");
        assert_fails(ctx, ferry_read(ctx, inside(path, "fea"), NULL, &d), FERRY_EDATA,
                     "pick an element with {i}");
        assert_fails(ctx, ferry_read(ctx, inside(path, "none"), NULL, &d), FERRY_EDATA,
                     "holds no variable 'none'");
        if (hdf) continue;
        assert_ok(ctx, ferry_read(ctx, inside(path, "deep{1}{1}"), NULL, &d));
        assert_int_equal(d->x->cols, 3);
        ferry_data_free(d);
    }
}

static void test_texts(void **state)
{
    ferry_ctx *ctx = *state;

    for (int hdf = 0; hdf < 2; hdf++) {
        matvar_t *in[] = {matrix(NULL, 1, 2, MAT_C_CHAR, MAT_T_UINT8, "ab"),
                          matrix(NULL, 1, 3, MAT_C_CHAR, MAT_T_UINT8, "cde"),
                          matrix(NULL, 1, 2, MAT_C_CHAR, MAT_T_UINT8, "ab")};
        matvar_t *v[] = {
            matrix("x", 3, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, six),
            matrix("ids", 3, 2, MAT_C_CHAR, MAT_T_UINT8, "pqr  2"), /* by columns */
            cells("labels", 3, 1, in)};
        const char *path =
            make("s.mat", hdf ? MAT_FT_MAT73 : MAT_FT_MAT5, MAT_COMPRESSION_NONE, v, 3);
        ferry_data *d = NULL;
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_int_equal(d->kind, FERRY_DATA_VIEW);
        assert_string_equal(ferry_i_ids_at(d->ids, 0), "p");
        assert_string_equal(ferry_i_ids_at(d->ids, 2), "r2");
        assert_string_equal(ferry_i_ids_at(d->labels->names, d->labels->cls[1]), "cde");
        assert_int_equal(d->labels->cls[0], d->labels->cls[2]);
        ferry_data_free(d);
    }
}

static void test_refused(void **state)
{
    static const double re[] = {1, 2}, im[] = {3, 4}, inf[] = {1, INFINITY};
    static const char *fields[] = {"f"};
    mat_complex_split_t z = {(void *)(uintptr_t)re, (void *)(uintptr_t)im};
    size_t dims[3] = {1, 2, 1}, one[2] = {1, 1}, cube[3] = {1, 2, 3};
    ferry_ctx *ctx = *state;
    matvar_t *s = Mat_VarCreateStruct("s", 2, one, fields, 1);
    Mat_VarSetStructFieldByName(s, "f", 0,
                                matrix(NULL, 1, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, re));
    matvar_t *v[] = {
        Mat_VarCreate("z", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, &z, MAT_F_COMPLEX), s,
        Mat_VarCreate("cube", MAT_C_DOUBLE, MAT_T_DOUBLE, 3, cube, (void *)(uintptr_t)six,
                      0),
        matrix("inf", 1, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, inf),
        matrix("empty", 0, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, NULL)};
    const char *path = make("r.mat", MAT_FT_MAT5, MAT_COMPRESSION_NONE, v, 5);
    static const char *const cases[][2] = {{"z", "complex numbers"},
                                           {"s", "a struct, expected numbers or texts"},
                                           {"cube", "3 dimensions, expected 2"},
                                           {"inf", "infinite"},
                                           {"empty", "empty"}};
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++)
        assert_fails(ctx, ferry_read(ctx, inside(path, cases[i][0]), NULL, &d), FERRY_EDATA,
                     cases[i][1]);
    assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
    assert_int_equal(d->kind, FERRY_DATA_LISTING);
    ferry_data_free(d);
}

static void test_broken(void **state)
{
    ferry_ctx *ctx = *state;
    matvar_t *v[] = {matrix("fts", 3, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, six),
                     matrix("labels", 1, 3, MAT_C_DOUBLE, MAT_T_DOUBLE, three)};
    char *path = strdup(make("b.mat", MAT_FT_MAT5, MAT_COMPRESSION_NONE, v, 2));
    FILE *f = fopen(path, "rb");
    char bytes[4096];
    const int64_t n = (int64_t)fread(bytes, 1, sizeof bytes, f);
    ferry_data *d = NULL;

    fclose(f);
    free(path);
    for (int64_t cut = 1; cut < n; cut += cut < 120 ? 40 : 3) {
        const ferry_status st = ferry_read(ctx, tmp_file("cut.mat", bytes, cut), NULL, &d);
        /* a file cut between variables is whole */
        if (st == FERRY_OK)
            assert_int_equal(d->kind, FERRY_DATA_VIEW);
        else
            assert_int_equal(st, FERRY_EDATA);
        ferry_data_free(d);
    }
    assert_fails(
        ctx, ferry_read(ctx, tmp_file("junk.mat", "junk, not a MAT file", -1), NULL, &d),
        FERRY_EDATA, "is not a MAT 5 or 7.3 file");
    bytes[128] = 3; /* type of the first element */
    assert_fails(ctx, ferry_read(ctx, tmp_file("junk.mat", bytes, n), NULL, &d),
                 FERRY_EDATA, "element 1 has type 3");
    bytes[128] = 14;
    /* dimensions of the first variable: behind two tags and the flags */
    const int32_t huge = 0x7fffffff;
    memcpy(bytes + 128 + 8 + 16 + 8, &huge, 4);
    assert_fails(ctx, ferry_read(ctx, tmp_file("junk.mat", bytes, n), NULL, &d),
                 FERRY_EDATA, "");
    memcpy(bytes + 124, "\x00\x02IM", 4);
    assert_fails(ctx, ferry_read(ctx, tmp_file("junk.mat", bytes, n), NULL, &d),
                 FERRY_EDATA, "truncated MAT 7.3");
}

static void test_broken_hdf(void **state)
{
    ferry_ctx *ctx = *state;
    matvar_t *v[] = {matrix("fts", 3, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, six)};
    const char *path = make("h.mat", MAT_FT_MAT73, MAT_COMPRESSION_NONE, v, 1);
    FILE *f = fopen(path, "rb");
    static char bytes[65536];
    const int64_t n = (int64_t)fread(bytes, 1, sizeof bytes, f);
    ferry_data *d = NULL;

    fclose(f);
    for (int64_t cut = 600; cut < n; cut += 97) {
        assert_int_equal(ferry_read(ctx, tmp_file("cut.mat", bytes, cut), NULL, &d),
                         FERRY_EDATA);
        assert_null(d);
    }
}

/* A MAT 7.3 file with X = 7 x 5, X(i, j) = 10 i + j, in chunks of 2 x 3 (those at the edges reach beyond),
 * which go through the filters: 1 shuffle, 2 deflate, 4 checksum. */
static const char *make_chunks(int filters)
{
    const char *path = tmp_path("chunks.mat");
    const hsize_t dims[] = {5, 7}, chunk[] = {3, 2};
    const hid_t head = H5Pcreate(H5P_FILE_CREATE), how = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(2, dims, NULL), one = H5Screate(H5S_SCALAR);
    const hid_t text = H5Tcopy(H5T_C_S1);
    double x[35];

    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 5; j++)
            x[j * 7 + i] = 10 * i + j;
    assert_true(H5Pset_userblock(head, 512) >= 0 && H5Pset_chunk(how, 2, chunk) >= 0);
    if (filters & 1) assert_true(H5Pset_shuffle(how) >= 0);
    if (filters & 2) assert_true(H5Pset_deflate(how, 6) >= 0);
    if (filters & 4) assert_true(H5Pset_fletcher32(how) >= 0);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, head, H5P_DEFAULT);
    const hid_t data =
        H5Dcreate2(file, "X", H5T_IEEE_F64LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    assert_true(H5Tset_size(text, 6) >= 0);
    const hid_t class =
        H5Acreate2(data, "MATLAB_class", text, one, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(class, text, "double") >= 0);
    assert_true(H5Aclose(class) >= 0 && H5Dclose(data) >= 0 && H5Fclose(file) >= 0);
    (void)H5Tclose(text), (void)H5Sclose(one), (void)H5Sclose(space);
    (void)H5Pclose(how), (void)H5Pclose(head);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_true(fprintf(f, "%-124s%c%cIM", "MATLAB 7.3 MAT-file", 0, 2) == 128);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void test_chunks(void **state)
{
    ferry_ctx *ctx = *state;

    for (int filters = 0; filters < 8; filters++) {
        ferry_data *d = NULL;
        assert_ok(ctx, ferry_read(ctx, inside(make_chunks(filters), "X"), NULL, &d));
        assert_int_equal(d->x->rows, 7);
        assert_int_equal(d->x->cols, 5);
        for (int i = 0; i < 7; i++)
            for (int j = 0; j < 5; j++)
                assert_close(at(d, i, j), 10 * i + j, 0);
        ferry_data_free(d);
    }
}

/* A chunk that inflates to fewer bytes than it should: HDF5 1.10 goes on with what lies behind them. */
static void test_short_chunk(void **state)
{
    ferry_ctx *ctx = *state;
    FILE *f = fopen(make_chunks(2), "rb");
    static const Bytef little[8] = {1, 2, 3};
    static char bytes[65536];
    Bytef packed[64];
    uLongf size = sizeof packed;
    ferry_data *d = NULL;

    assert_non_null(f);
    const int64_t n = (int64_t)fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(compress2(packed, &size, little, sizeof little, 6), Z_OK);
    char *const chunk = memmem(bytes + 512, (size_t)n - 512, packed, 2);
    assert_non_null(chunk);
    memcpy(chunk, packed, size);
    assert_fails(ctx,
                 ferry_read(ctx, inside(tmp_file("short.mat", bytes, n), "X"), NULL, &d),
                 FERRY_EDATA, "short.mat: cannot be read as a MAT 7.3 file: it is damaged");
    assert_null(d);
}

static const char *const arffs[] = {
    "@relation r\n@attribute id string\n@attribute a real\n@attribute '\xc3\xa9' real\n"
    "@attribute k {c,'a b'}\n@data\np,0.1,?,c\n'q \xf0\x9f\x98\x80',-2,3e300,?\nr,1,2,'a "
    "b'\n",
    "@relation r\n@attribute id string\n@attribute a real\n@attribute b real\n@attribute "
    "class "
    "real\n@data\n{0 p,1 2.5}\n{0 q,2 1,3 7.5}\n{0 r,3 ?}\n",
    "@relation 'r -C -2'\n@attribute a real\n@attribute b real\n@attribute x "
    "{0,1}\n@attribute y "
    "{0,1}\n@data\n5,1,1,0\n6,1,1,1\n7,2,?,?\n"};

static void test_round_trip(void **state)
{
    ferry_ctx *ctx = *state;

    for (int64_t k = 0; k < FERRY_COUNT(arffs); k++) {
        ferry_data *d = NULL, *back = NULL;
        const char *path = tmp_path("out.mat");
        assert_ok(ctx, ferry_read(ctx, tmp_file("in.arff", arffs[k], -1), NULL, &d));
        assert_ok(ctx, ferry_write(ctx, d, path, NULL));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &back));
        assert_int_equal(back->kind, FERRY_DATA_VIEW);
        assert_true((d->x->dense != NULL) == (back->x->dense != NULL));
        const ferry_labels *l = d->labels, *m = back->labels;
        assert_int_equal(l->kind, m->kind);
        assert_int_equal(ferry_i_ids_count(d->ids), ferry_i_ids_count(back->ids));
        for (int64_t j = 0; j < ferry_i_labels_m(l); j++)
            assert_string_equal(ferry_i_ids_at(l->names, j), ferry_i_ids_at(m->names, j));
        for (int64_t j = 0; j < d->x->cols; j++)
            assert_string_equal(ferry_i_ids_at(d->features, j),
                                ferry_i_ids_at(back->features, j));
        for (int64_t i = 0; i < d->x->rows; i++) {
            for (int64_t j = 0; j < d->x->cols; j++)
                assert_close(at(back, i, j), at(d, i, j), 0);
            if (d->ids)
                assert_string_equal(ferry_i_ids_at(d->ids, i),
                                    ferry_i_ids_at(back->ids, i));
            if (l->cls) assert_int_equal(l->cls[i], m->cls[i]);
            if (l->num) assert_close(l->num[i], m->num[i], 0);
            if (l->known) assert_int_equal(l->known[i], m->known[i]);
            for (int64_t j = 0; l->known && l->known[i] && j < ferry_i_labels_m(l); j++)
                assert_int_equal(l->on[i * ferry_i_labels_m(l) + j],
                                 m->on[i * ferry_i_labels_m(l) + j]);
        }
        ferry_data_free(back);
        ferry_opts *opts = opts_of(ctx, "format=mat", NULL);
        d->kind = FERRY_DATA_GRAPH;
        assert_fails(ctx, ferry_write(ctx, d, path, opts), FERRY_EINVAL,
                     "features and labels only");
        ferry_opts_free(opts);
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

    for (int64_t k = 0; k < FERRY_COUNT(arffs); k++) {
        ferry_data *d = NULL;
        strcpy(arff, tmp_file("mem.arff", arffs[k], -1));
        assert_ok(ctx, ferry_read(ctx, arff, NULL, &d));
        strcpy(path, tmp_path("mem.mat"));
        writing w = {d, path};
        each_allocation_fails(ctx, write_body, &w);
        each_allocation_fails(ctx, body, path);
        ferry_data_free(d);
    }
}

/* Shapes as in the data sets' SOURCE.md. */
static void test_real_data(void **state)
{
    static const struct {
        const char *path;
        int64_t rows, cols, classes;
    } views[] = {
        {"office_caltech10/surf/Caltech10_SURF_L10.mat", 1123, 800, 10},
        {"office_caltech10/surf/amazon_SURF_L10.mat", 958, 800, 10},
        {"office_caltech10/decaf6/webcam_decaf.mat", 295, 4096, 10},
        {"office_caltech10/googlenet1024/amazon.mat", 958, 1024, 10},
        {"office_caltech10/caffenet4096/dslr.mat", 157, 4096, 10},
        {"office_caltech10/decaf6/cdls_amazon_DeCAF_dslr_SURF.mat#S", 200, 4096, 0},
        {"office_caltech10/splits/office10-dataSplits.mat#dataSplits{1}{3}", 1, 157, 0},
        {"nuswide_text_image/multiclass_all_data.mat#text_fea", 6000, 1000, 0},
        {"nuswide_text_image/multiclass_all_data.mat#co_image_fea", 8000, 500, 0},
        {"nuswide_text_image/pairs/birds-food.mat#image_fea", 600, 500, 0},
        {"reuters_1200_5view/Reuters.mat#fea{3}", 1200, 2000, 0},
        {"corel5k/mulan_Corel5k.mat", 5000, 499, 374},
    };
    static const struct {
        const char *path;
        int64_t n;
    } others[] = {{"nuswide_text_image/multiclass_all_data.mat", 6},
                  {"reuters_1200_5view/Reuters.mat", 2},
                  {"office_caltech10/decaf6/cdls_amazon_DeCAF_dslr_SURF.mat", 8}};
    ferry_ctx *ctx = *state;
    char path[4096];
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(views); i++) {
        const char *dir = data_dir(views[i].path);
        if (!dir) continue;
        snprintf(path, sizeof path, "%s/%s", dir, views[i].path);
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_int_equal(d->kind, FERRY_DATA_VIEW);
        assert_int_equal(d->x->rows, views[i].rows);
        assert_int_equal(d->x->cols, views[i].cols);
        assert_int_equal(d->labels ? ferry_i_labels_m(d->labels) : 0, views[i].classes);
        ferry_data_free(d);
    }
    for (int64_t i = 0; i < FERRY_COUNT(others); i++) {
        const char *dir = data_dir(others[i].path);
        if (!dir) continue;
        snprintf(path, sizeof path, "%s/%s", dir, others[i].path);
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_int_equal(d->kind, FERRY_DATA_LISTING);
        assert_int_equal(d->n_listing, others[i].n);
        ferry_data_free(d);
    }
    const char *nus = data_dir(others[0].path);
    if (!nus) return;
    snprintf(path, sizeof path, "%s/nuswide_text_image/multiclass_all_data.mat#text_gnd",
             nus);
    assert_ok(ctx, ferry_i_read_as(ctx, path, NULL, FERRY_DATA_LABELS, &d));
    assert_int_equal(d->labels->n, 6000);
    assert_int_equal(ferry_i_labels_m(d->labels), 10);
    ferry_data_free(d);
}

/* ---- what is small in its file ---- */

/* 8 MB of zeros in some kB of HDF5: no more than --max-input, in whatever the variable is. */
static void test_hdf_bomb(void **state)
{
    ferry_ctx *ctx = *state;
    double *zeros = calloc(1000000, sizeof *zeros);
    matvar_t *v[] = {matrix("x", 1000, 1000, MAT_C_DOUBLE, MAT_T_DOUBLE, zeros)};
    const char *path = make("b.mat", MAT_FT_MAT73, MAT_COMPRESSION_ZLIB, v, 1);
    ferry_data *d = NULL;
    struct stat info;

    free(zeros);
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size < 500000);
    assert_ok(ctx, ferry_ctx_set(ctx, "max_input", "1000000"));
    assert_fails(ctx, ferry_read(ctx, path, NULL, &d), FERRY_EDATA, "--max-input");
    assert_null(d);
    assert_ok(ctx, ferry_ctx_set(ctx, "max_input", "10000000"));
    assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
    assert_int_equal(d->x->rows, 1000);
    ferry_data_free(d);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_view_and_labels), T(test_types),      T(test_sparse_and_cells),
        T(test_texts),           T(test_refused),    T(test_broken),
        T(test_broken_hdf),      T(test_hdf_bomb),   T(test_chunks),
        T(test_short_chunk),     T(test_round_trip), T(test_memory),
        T(test_real_data)};
    return cmocka_run_group_tests_name("mat", tests, NULL, NULL);
}
