/* FDATA: what is written comes back, used where it lies; what is broken is refused by name. */
#include "ferry_test.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "data/data.h"

/* A file in bytes: header, padded to a multiple of 8, and data. */
static const char *file_of(const char *header, const void *data, int64_t n)
{
    static _Alignas(8) char s[4096];
    const uint64_t len = (strlen(header) + 7) / 8 * 8;

    memset(s, ' ', sizeof s);
    memcpy(s, &len, 8);
    memcpy(s + 8, header, strlen(header));
    if (n > 0) memcpy(s + 8 + len, data, (size_t)n);
    return tmp_file("a.fdata", s, 8 + (int64_t)len + n);
}

static ferry_data *read_as_view(ferry_ctx *ctx, const char *path)
{
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
    assert_string_equal(d->format, "fdata");
    assert_int_equal(d->kind, FERRY_DATA_VIEW);
    return d;
}

static bool same_ids(const ferry_ids *a, const ferry_ids *b)
{
    if (!a != !b || ferry_i_ids_count(a) != ferry_i_ids_count(b)) return false;
    for (int64_t i = 0; i < ferry_i_ids_count(a); i++)
        if (strcmp(ferry_i_ids_at(a, i), ferry_i_ids_at(b, i)) != 0) return false;
    return true;
}

static void assert_same_labels(const ferry_labels *a, const ferry_labels *b)
{
    assert_true(!a == !b);
    if (!a) return;
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->n, b->n);
    assert_true(same_ids(a->names, b->names));
    for (int64_t i = 0; i < a->n; i++) {
        assert_int_equal(ferry_i_labels_has(a, i), ferry_i_labels_has(b, i));
        if (a->cls) assert_int_equal(a->cls[i], b->cls[i]);
        if (a->num && ferry_i_labels_has(a, i)) assert_close(a->num[i], b->num[i], 0);
        for (int64_t k = 0; a->on && k < ferry_i_labels_m(a); k++)
            assert_int_equal(a->on[i * ferry_i_labels_m(a) + k],
                             b->on[i * ferry_i_labels_m(b) + k]);
    }
}

/* Dense and sparse, with all kinds of labels, ids and names, missing cells and empty rows. */
static void test_round_trip(void **state)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"a.csv", "id,u,\xc3\xa9,label\np,1,,x\nq,-0.1,3e300,y\nr,5e-324,0,\n"},
        {"b.csv", "u,v,label\n1,2,0.5\n3,4,\n"},
        {"c.svm", "# ferry features: a%20 b c\n1 1:1 3:0.3 # id:p%20q\n2 # id:r\n"},
        {"d.svm", "# ferry labels: a b\na,b 1:1\n? 2:1\n b 1:2\n"},
        {"e.svm", "1.5 1:1\n2 2:1\n"},
        {"f.csv", "1,2\n3,4\n"},
    };
    ferry_ctx *ctx = *state;

    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        ferry_data *d = NULL, *again = NULL;
        assert_ok(ctx,
                  ferry_read(ctx, tmp_file(cases[k].name, cases[k].text, -1), NULL, &d));
        assert_ok(ctx, ferry_write(ctx, d, tmp_path("out.fdata"), NULL));
        again = read_as_view(ctx, tmp_path("out.fdata"));
        assert_int_equal(d->x->rows, again->x->rows);
        assert_int_equal(d->x->cols, again->x->cols);
        assert_int_equal(d->x->nnz, again->x->nnz);
        assert_true(!d->x->dense == !again->x->dense && again->x->borrowed);
        assert_memory_equal(d->x->dense ? d->x->dense : d->x->value,
                            again->x->dense ? again->x->dense : again->x->value,
                            (size_t)d->x->nnz * sizeof(double));
        for (int64_t i = 0; !d->x->dense && i <= d->x->rows; i++)
            assert_int_equal(d->x->start[i], again->x->start[i]);
        for (int64_t e = 0; !d->x->dense && e < d->x->nnz; e++)
            assert_int_equal(d->x->index[e], again->x->index[e]);
        assert_true(same_ids(d->ids, again->ids) && same_ids(d->features, again->features));
        assert_same_labels(d->labels, again->labels);
        ferry_data_free(d);
        ferry_data_free(again);
    }
}

/* The matrix outlives the data and the file's name. */
static void test_outlives(void **state)
{
    static const double v[] = {1, 2, 3, 4, 5, 6};
    ferry_ctx *ctx = *state;
    const char *path = file_of(
        "{\"x\":{\"dtype\":\"F64\",\"shape\":[2,3],\"data_offsets\":[0,48]}}", v, 48);
    ferry_data *d = read_as_view(ctx, path);
    ferry_matrix *x = ferry_i_matrix_ref(d->x);

    ferry_data_free(d);
    assert_int_equal(unlink(path), 0);
    assert_memory_equal(x->dense, v, sizeof v);
    ferry_i_matrix_free(x);
}

/* Packed, it is unpacked and copied; by content, under any name. */
static void test_packed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;
    char bytes[4096];

    assert_ok(ctx, ferry_read(ctx, tmp_file("g.csv", "u,v\n1,2\n3,4\n", -1), NULL, &d));
    assert_ok(ctx, ferry_write(ctx, d, tmp_path("g.fdata"), NULL));
    ferry_data_free(d);
    FILE *f = fopen(tmp_path("g.fdata"), "rb");
    assert_non_null(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    assert_int_equal(fclose(f), 0);
    gzFile z = gzopen(tmp_path("g.unknown.gz"), "wb");
    assert_int_equal(gzwrite(z, bytes, (unsigned)n), n);
    assert_int_equal(gzclose(z), Z_OK);
    d = read_as_view(ctx, tmp_path("g.unknown.gz"));
    assert_close(d->x->dense[3], 4, 0);
    ferry_data_free(d);
}

/* As other programs write them: other names beside, no metadata of ours; an empty view. */
static void test_others(void **state)
{
    static const double v[] = {7, 8};
    ferry_ctx *ctx = *state;
    ferry_data *d = read_as_view(
        ctx, file_of("{\"__metadata__\":{\"format\":\"np\"},\"bias\":{\"dtype\":\"F32\","
                     "\"shape\":[2],\"data_offsets\":[8,16]},\"x\":{\"dtype\":\"F64\","
                     "\"shape\":[1,1],\"data_offsets\":[0,8]}}",
                     v, 16));

    assert_close(d->x->dense[0], 7, 0);
    assert_null(d->labels);
    ferry_data_free(d);
    d = read_as_view(
        ctx, file_of("{\"x\":{\"dtype\":\"F64\",\"shape\":[0,3],\"data_offsets\":[0,0]}}",
                     v, 0));
    assert_int_equal(d->x->rows, 0);
    assert_int_equal(d->x->cols, 3);
    ferry_data_free(d);
}

/* A sparse view of 2 x 3 with these starts, indices and values, and something more in the header. */
static const char *sparse(int64_t s1, int64_t s2, int32_t i0, int32_t i1, double v,
                          const char *more)
{
    struct {
        double value[2];
        int64_t start[3], shape[2];
        int32_t index[2];
        char texts[8];
    } a = {{1, v}, {0, s1, s2}, {2, 3}, {i0, i1}, "a\0b\0b\0"};
    char header[1024];

    (void)snprintf(
        header, sizeof header,
        "{\"x.value\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
        "\"x.start\":{\"dtype\":\"I64\",\"shape\":[3],\"data_offsets\":[16,40]},"
        "\"x.shape\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[40,56]},"
        "\"x.index\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[56,64]}%s}",
        more);
    return file_of(header, &a, sizeof a);
}

#define TENSOR(name, type, shape, at, end)                                                 \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" at       \
    "," end "]}"

/* Files that promise what they do not hold. */
static void test_broken_headers(void **state)
{
    static const double v[] = {1, 2, 3, INFINITY};
    static const struct {
        const char *header, *says;
    } cases[] = {
        {"{\"x\":", "its header is not JSON"},
        {"{}", "has no view"},
        {"{" TENSOR("x", "F32", "[2,2]", "0", "16") "}", "type F32, expected F64"},
        {"{" TENSOR("x", "F64", "[4]", "0", "32") "}", "no shape of 2 numbers"},
        {"{" TENSOR("x", "F64", "[-2,-2]", "0", "32") "}", "no shape of 2 numbers"},
        {"{" TENSOR("x", "F64", "[2,2]", "0", "24") "}", "shape 2 x 2 and 24 bytes"},
        {"{" TENSOR("x", "F64", "[2,2]", "32", "0") "}", "shape 2 x 2 and -32 bytes"},
        {"{" TENSOR("x", "F64", "[4294967296,4294967296]", "0", "0") "}",
         "shape 4294967296"},
        {"{" TENSOR("x", "F64", "[1000000000000,0]", "0", "0") "}", "shape 1000000000000"},
        {"{" TENSOR("x", "F64", "[2,4]", "0", "64") "}", "is truncated: tensor 'x' ends"},
        {"{" TENSOR("x", "F64", "[1,1]", "4", "12") "}", "multiple of 8"},
        {"{" TENSOR("x", "F64", "[2,2]", "0", "32") "}", "row 2, column 2 is infinite"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR("ids", "U8", "[1]", "6",
                                                               "7") "}",
         "tensor 'ids' is not UTF-8"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR("ids", "U8", "[1]", "7",
                                                               "8") "}",
         "does not end its last text"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR("ids", "U8", "[2]", "0",
                                                               "2") "}",
         "has '' twice"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR("features", "U8", "[1]", "0",
                                                               "1") "}",
         "3 features but 1 different names"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR("labels.number", "F64",
                                                               "[2]", "0", "16") "}",
         "1 instances but 2 labels"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR("labels.class", "I32", "[1]",
                                                               "12", "16") "}",
         "but there are 0 names"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR(
             "labels.set", "U8", "[1,1]", "7", "8") "," TENSOR("labels.names", "U8", "[1]",
                                                               "0", "1") "}",
         "has 63, expected 0 or 1"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR(
             "labels.number", "F64", "[1]", "0", "8") "," TENSOR("labels.text", "I32",
                                                                 "[2]", "0", "8") "}",
         "1 labels but 2 texts of them"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR(
             "labels.number", "F64", "[1]", "0", "8") "," TENSOR("labels.text", "I32",
                                                                 "[1]", "12", "16") "}",
         "but there are 0 names"},
        {"{" TENSOR("x", "F64", "[1,3]", "0", "24") "," TENSOR(
             "labels.number", "F64", "[1]", "0",
             "8") "," TENSOR("labels.text", "I32", "[1]", "0",
                             "4") "," TENSOR("labels.names", "U8", "[1]", "0", "1") "}",
         "but its text"},
        {"{\"__metadata__\":{\"ferry.data\":\"2\"}}", "has version 2 of the format"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        assert_fails(ctx, ferry_read(ctx, file_of(cases[k].header, v, 32), NULL, &d),
                     FERRY_EDATA, cases[k].says);
        assert_null(d);
        assert_non_null(strstr(ferry_message(ctx), "a.fdata: "));
    }
    assert_fails(ctx, ferry_read(ctx, tmp_file("b.fdata", "short", -1), NULL, &d),
                 FERRY_EDATA, "does not begin with a safetensors header");
    assert_fails(ctx,
                 ferry_read(ctx,
                            tmp_file("b.fdata", "\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10),
                            NULL, &d),
                 FERRY_EDATA, "does not begin with a safetensors header");
    assert_fails(
        ctx, ferry_read(ctx, tmp_file("b.fdata", "\x40\0\0\0\0\0\0\0{}", 10), NULL, &d),
        FERRY_EDATA, "is truncated: has 10 bytes, the header alone ends at byte 72");
}

/* Indices that lead out of the matrix must never be used. */
static void test_broken_sparse(void **state)
{
    static const struct {
        int64_t s1, s2;
        int32_t i0, i1;
        double v;
        const char *more, *says;
    } cases[] = {
        {1, 2, 0, 3, 1, "", "feature index 3 is outside [0, 3)"},
        {1, 2, -1, 2, 1, "", "feature index -1 is outside"},
        {2, 2, 1, 1, 1, "", "must ascend"},
        {3, 2, 0, 1, 1, "", "is below start[1] = 3"},
        {-1, 2, 0, 1, 1, "", "start[1] = -1 is below"},
        {1, 9, 0, 1, 1, "", "the last row ends at entry 9, but there are 2"},
        {1, 2, 0, 1, NAN, "", "is not finite"},
        {1, 2, 0, 1, 1, "," TENSOR("ids", "U8", "[6]", "64", "70"), "has 'b' twice"},
        {1, 2, 0, 1, 1, "," TENSOR("ids", "U8", "[2]", "64", "66"),
         "2 instances but 1 different ids"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = read_as_view(
        ctx, sparse(1, 2, 0, 2, 5, "," TENSOR("ids", "U8", "[4]", "64", "68")));

    assert_int_equal(d->x->nnz, 2);
    assert_close(d->x->value[1], 5, 0);
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "b");
    ferry_data_free(d);
    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        const char *path = sparse(cases[k].s1, cases[k].s2, cases[k].i0, cases[k].i1,
                                  cases[k].v, cases[k].more);
        assert_fails(ctx, ferry_read(ctx, path, NULL, &d), FERRY_EDATA, cases[k].says);
        assert_null(d);
    }
}

/* Ratings come back, with those to be predicted and the range that was given. */
static void test_ratings(void **state)
{
    static const char *const sets[] = {NULL, "range=0..5"};
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL, *again = NULL;

    for (int k = 0; k < 2; k++) {
        ferry_opts *opts = opts_of(ctx, sets[k], NULL);
        const char *path =
            tmp_file("r.ratings", "user\titem\trating\nu\ti\t3\nv\ti\t\nv\tj\t4\n", -1);
        assert_ok(ctx, ferry_i_read_as(ctx, path, opts, FERRY_DATA_RATINGS, &d));
        assert_ok(ctx, ferry_write(ctx, d, tmp_path("r.fdata"), NULL));
        for (int any = 0; any < 2; any++) {
            assert_ok(ctx, any ? ferry_read(ctx, tmp_path("r.fdata"), NULL, &again)
                               : ferry_i_read_as(ctx, tmp_path("r.fdata"), NULL,
                                                 FERRY_DATA_RATINGS, &again));
            const ferry_ratings *a = d->ratings, *b = again->ratings;
            assert_int_equal(again->kind, FERRY_DATA_RATINGS);
            assert_int_equal(b->n, 3);
            assert_memory_equal(a->user, b->user, 3 * sizeof *a->user);
            assert_memory_equal(a->item, b->item, 3 * sizeof *a->item);
            assert_true(b->value[0] == 3 && isnan(b->value[1]) && b->value[2] == 4);
            assert_true(same_ids(a->users, b->users) && same_ids(a->items, b->items));
            assert_int_equal(b->ranged, k);
            assert_close(b->lo, k ? 0 : 3, 0);
            assert_close(b->hi, k ? 5 : 4, 0);
            /* a domain has them where they lie, and keeps the map */
            ferry_domain *domain = NULL;
            const double *where = b->value;
            assert_ok(ctx, ferry_domain_new(ctx, "d", FERRY_TARGET, &domain));
            assert_ok(ctx, ferry_domain_add_data(ctx, domain, NULL, again));
            ferry_data_free(again);
            assert_ptr_equal(domain->ratings->value, where);
            assert_true(where[2] == 4);
            ferry_domain_free(domain);
        }
        assert_fails(
            ctx, ferry_i_read_as(ctx, tmp_path("r.fdata"), NULL, FERRY_DATA_VIEW, &again),
            FERRY_EDATA, "r.fdata: holds ratings, expected features");
        ferry_data_free(d);
        ferry_opts_free(opts);
    }
}

static void test_broken_ratings(void **state)
{
    static const struct {
        int32_t user, item;
        double lo;
        const char *more, *says;
    } cases[] = {
        {2, 0, 1, "", "rating 2 is of user 2 and item 0, but there are 2 and 1"},
        {0, -1, 1, "", "item -1"},
        {1, 0, 9, "," TENSOR("ratings.range", "F64", "[2]", "16", "32"),
         "expected two numbers"},
        {1, 0, 4, "," TENSOR("ratings.range", "F64", "[2]", "16", "32"),
         "rating 1 is 3, but the range is 4..5"},
        {1, 0, -INFINITY, "," TENSOR("ratings.range", "F64", "[2]", "16", "32"),
         "expected two numbers"},
        {1, 0, 1, "," TENSOR("ratings.range", "F64", "[1]", "16", "24"),
         "expected two numbers"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        const struct {
            double value[2], range[2];
            int32_t user[2], item[2];
            char texts[8];
        } a = {{3, 4}, {cases[k].lo, 5}, {0, cases[k].user}, {0, cases[k].item}, "u\0v\0i"};
        char header[1024];
        (void)snprintf(header, sizeof header, "{%s,%s,%s,%s,%s%s}",
                       TENSOR("ratings.value", "F64", "[2]", "0", "16"),
                       TENSOR("ratings.user", "I32", "[2]", "32", "40"),
                       TENSOR("ratings.item", "I32", "[2]", "40", "48"),
                       TENSOR("ratings.users", "U8", "[4]", "48", "52"),
                       TENSOR("ratings.items", "U8", "[2]", "52", "54"), cases[k].more);
        assert_fails(ctx, ferry_read(ctx, file_of(header, &a, sizeof a), NULL, &d),
                     FERRY_EDATA, cases[k].says);
    }
    assert_fails(ctx,
                 ferry_read(ctx,
                            file_of("{" TENSOR("ratings.value", "F64", "[1]", "0", "8") "}",
                                    (double[]){1}, 8),
                            NULL, &d),
                 FERRY_EDATA, "has no ratings: it lacks one of");
}

static void test_refuses_to_write(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_i_read_as(ctx, tmp_file("e.csv", "u,i\nv,i\n", -1), NULL,
                                   FERRY_DATA_GRAPH, &d));
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("e.fdata"), NULL), FERRY_EINVAL,
                 "format fdata does not hold a graph");
    ferry_data_free(d);
}

static ferry_status read_and_write(ferry_ctx *ctx, void *arg)
{
    const char *const *paths = arg;
    ferry_data *d = NULL;
    ferry_status st = ferry_read(ctx, paths[0], NULL, &d);

    if (st == FERRY_OK) st = ferry_write(ctx, d, paths[1], NULL);
    ferry_data_free(d);
    return st;
}

static void test_no_memory(void **state)
{
    static const char *const texts[] = {
        "id,u,v,label\np,1,2,x\nq,3,,y\n", "u,v,label\n1,2,.5\n",
        "# ferry labels: a b\na,b 1:1\n? 2:1\n", "user\titem\trating\nu\ti\t3\nv\ti\t4\n"};
    static const char *const names[] = {"n.csv", "n.csv", "n.svm", "n.ratings"};
    ferry_ctx *ctx = *state;

    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    for (int64_t k = 0; k < FERRY_COUNT(texts); k++) {
        const char *in = tmp_file(names[k], texts[k], -1);
        const char *paths[] = {in, tmp_path("n.fdata")};
        assert_ok(ctx, read_and_write(ctx, paths));
        const char *again[] = {tmp_path("n.fdata"), tmp_path("m.fdata")};
        each_allocation_fails(ctx, read_and_write, again);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_round_trip), T(test_outlives),       T(test_packed),
        T(test_others),     T(test_broken_headers), T(test_broken_sparse),
        T(test_ratings),    T(test_broken_ratings), T(test_refuses_to_write),
        T(test_no_memory),
    };
    return cmocka_run_group_tests_name("fdata", tests, NULL, NULL);
}
