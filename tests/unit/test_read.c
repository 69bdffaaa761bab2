#include "ferry_test.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

#include "archives.h"
#include "data/formats.h"
#include "show/show.h"

static const char *const csv = "a,b,label\n1,2,x\n3,4,y\n", *const svm = "1 1:2\n2 2:1\n";

static void has_format(ferry_ctx *ctx, const char *path, const char *setting,
                       const char *format)
{
    ferry_opts *opts = setting ? opts_of(ctx, setting, NULL) : NULL;
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, path, opts, &d));
    assert_string_equal(d->format, format);
    if (d->kind != FERRY_DATA_LISTING)
        assert_string_equal(ferry_opts_get(d->read, "format"), format);
    ferry_data_free(d);
    ferry_opts_free(opts);
}

static void refused(ferry_ctx *ctx, const char *path, const char *setting, ferry_status st,
                    const char *why)
{
    ferry_opts *opts = setting ? opts_of(ctx, setting, NULL) : NULL;
    ferry_data *d = (ferry_data *)(uintptr_t)1;

    assert_fails(ctx, ferry_read(ctx, path, opts, &d), st, why);
    assert_null(d);
    ferry_opts_free(opts);
}

static const char *save(const char *name, bytes b)
{
    const char *path = tmp_file(name, b.s, b.n);

    free(b.s);
    return path;
}

/* Every default in the table is one that the table itself takes; names are unique. */
static void test_tables(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_read_settings s;
    const int64_t n = ferry_i_read_table_n;
    const ferry_opt *table = ferry_opt_at(ferry_options("read"), 0);

    assert_ok(ctx, ferry_i_opts_parse(ctx, "reader", table, n, NULL, &s));
    assert_string_equal(s.format, "");
    assert_true(s.min_df == 1 && isinf(s.max_df));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            assert_string_not_equal(table[i].name, table[j].name);
    for (int64_t i = 0; ferry_format_at(i); i++) {
        const ferry_format_info *f = ferry_format_at(i);
        assert_int_equal(f->writes != 0, ferry_i_format_at(i)->write != NULL);
        assert_true(f->name[0] && f->summary[0] && f->extensions[0] == '.');
    }
    assert_null(ferry_format_at(-1));
    assert_null(ferry_format_at(1000));
}

/* Option before extension before content; compression looked through. */
static void test_format_of_a_file(void **state)
{
    ferry_ctx *ctx = *state;

    has_format(ctx, tmp_file("a.csv", csv, -1), NULL, "csv");
    has_format(ctx, tmp_file("a.CSV", csv, -1), NULL, "csv");
    has_format(ctx, tmp_file("a.svm", svm, -1), NULL, "svmlight");
    has_format(ctx, tmp_file("plain", svm, -1), NULL, "svmlight");
    has_format(ctx, tmp_file("a.odd", csv, -1), NULL, "csv");
    has_format(ctx, tmp_file("b.csv", svm, -1), "format=svmlight", "svmlight");
    has_format(ctx, tmp_file("b.csv", svm, -1), "format=libsvm", "svmlight");
    has_format(ctx, tmp_file("b.svm", csv, -1), "format=csv", "csv");
    has_format(ctx, save("c.svm.gz", gzip_of(svm, (int64_t)strlen(svm))), NULL, "svmlight");
    has_format(ctx, save("c.csv.xz", xz_of(csv, (int64_t)strlen(csv))), NULL, "csv");
    refused(ctx, tmp_file("b.csv", svm, -1), "format=svmlite", FERRY_EINVAL,
            "unknown format svmlite (did you mean svmlight?)");
    refused(ctx, tmp_file("b.csv", svm, -1), "formt=csv", FERRY_EINVAL,
            "unknown option formt");
    refused(ctx, tmp_file("b.csv", svm, -1), "header=maybe", FERRY_EINVAL,
            "header = maybe");
    refused(ctx, tmp_file("junk.odd", "\1\2\0\3\4\0\5", 7), NULL, FERRY_EDATA,
            "junk.odd: neither its name nor its content tells its format");
    refused(ctx, tmp_file("empty.csv", "", 0), NULL, FERRY_EDATA, "empty.csv: empty file");
    refused(ctx, tmp_path("none.csv"), NULL, FERRY_EDATA, "none.csv: no such file");
    refused(ctx, tmp_path("a.csv#x"), NULL, FERRY_EDATA,
            "format csv has no members, so #x means nothing");
    char *long_line = calloc(70000, 1); /* a sample that ends within the first line */
    memset(long_line, 'x', 69999);
    refused(ctx, tmp_file("line.odd", long_line, -1), NULL, FERRY_EDATA,
            "neither its name");
    free(long_line);
}

static void test_wanted_kind(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *f = opts_of(ctx, "format=svmlight", NULL);
    ferry_data *d = NULL;

    assert_fails(
        ctx, ferry_i_read_as(ctx, tmp_file("a.svm", svm, -1), f, FERRY_DATA_RATINGS, &d),
        FERRY_EDATA, "format svmlight does not hold ratings");
    assert_ok(
        ctx, ferry_i_read_as(ctx, tmp_file("a.csv", csv, -1), NULL, FERRY_DATA_LABELS, &d));
    assert_int_equal(d->labels->n, 2);
    ferry_data_free(d);
    ferry_opts_free(f);
}

/* Archives and folders: one file is read, several are listed, # picks. */
static void test_trees(void **state)
{
    ferry_ctx *ctx = *state;
    bytes one = {0}, two = {0};
    ferry_data *d = NULL;

    tar_add(&one, '0', "x/a.csv", csv, (int64_t)strlen(csv));
    tar_end(&one);
    tar_add(&two, '0', "a.csv", csv, (int64_t)strlen(csv));
    tar_add(&two, '0', "b.svm", svm, (int64_t)strlen(svm));
    tar_end(&two);
    has_format(ctx, tmp_file("one.tar", one.s, one.n), NULL, "csv");
    const char *path = tmp_file("two.tar", two.s, two.n);
    has_format(ctx, path, NULL, "archive");
    has_format(ctx, tmp_path("two.tar#b.svm"), NULL, "svmlight");
    has_format(ctx, tmp_path("two.tar#a.csv"), NULL, "csv");
    refused(ctx, tmp_path("two.tar#c"), NULL, FERRY_EDATA, "no member c among its 2 files");
    assert_fails(ctx, ferry_i_read_as(ctx, path, NULL, FERRY_DATA_LABELS, &d), FERRY_EDATA,
                 "two.tar: holds 2 files; pick one, such as");
    refused(ctx, path, "format=csv", FERRY_EDATA, "holds 2 files; pick one");
    assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
    assert_int_equal(d->kind, FERRY_DATA_LISTING);
    assert_int_equal(d->n_listing, 2);
    assert_string_equal(d->listing[1].name, "b.svm");
    assert_string_equal(d->listing[1].type, "12 bytes");
    ferry_data_free(d);
    mkdir(tmp_path("dir"), 0777);
    refused(ctx, tmp_path("dir"), NULL, FERRY_EDATA, "dir: holds no files");
    tmp_file("dir/only.svm", svm, -1);
    has_format(ctx, tmp_path("dir"), NULL, "svmlight");
    tmp_file("dir/more.csv", csv, -1);
    has_format(ctx, tmp_path("dir"), NULL, "archive");
    refused(ctx, save("bad.zip", gzip_of("no zip", 6)), NULL, FERRY_EDATA,
            "expected a whole tar, zip or 7z");
    free(one.s), free(two.s);
}

/* ---- checks after reading ---- */

/* A format whose results are wrong in the ways that any reader's could be. */
static void test_common_checks(void **state)
{
    ferry_ctx *ctx = *state;
    /* a value that overflows in no text format but can stand in a binary one */
    static const char head[] = "\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': False, "
                               "'shape': (1, 2), }";
    char npy[128 + 16];
    const double values[] = {1, INFINITY};

    memset(npy, ' ', 128);
    memcpy(npy, head, sizeof head - 1);
    npy[127] = '\n';
    memcpy(npy + 128, values, 16);
    refused(ctx, tmp_file("inf.npy", npy, sizeof npy), NULL, FERRY_EDATA,
            "row 1, column 2 is infinite");
}

/* ---- writing ---- */

static void test_write(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *f = opts_of(ctx, "format=svmlight", NULL), *bad = opts_of(ctx, "x=1", NULL);
    ferry_opts *unknown = opts_of(ctx, "format=csw", NULL);
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, tmp_file("a.csv", csv, -1), NULL, &d));
    assert_ok(ctx, ferry_write(ctx, d, tmp_path("out.any"), f));
    has_format(ctx, tmp_path("out.any"), NULL, "svmlight");
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("out.any"), NULL), FERRY_EINVAL,
                 "no format with this extension can be written");
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("out.csv.gz"), NULL), FERRY_EINVAL,
                 "compressed files are read but not written");
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("o.csv"), bad), FERRY_EINVAL,
                 "writer: unknown");
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("o.csv"), unknown), FERRY_EINVAL,
                 "unknown format csw");
    assert_null(slurp(tmp_path("o.csv")));
    ferry_data_free(d);
    ferry_opts *ratings = opts_of(ctx, "format=ratings", NULL);
    assert_ok(ctx,
              ferry_read(ctx, tmp_file("r.tsv", "u\ti\t4\nv\ti\t3\n", -1), ratings, &d));
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("r.svm"), NULL), FERRY_EINVAL,
                 "r.svm: format svmlight does not hold ratings");
    ferry_data_free(d);
    ferry_opts_free(ratings);
    ferry_opts_free(f);
    ferry_opts_free(bad);
    ferry_opts_free(unknown);
}

/* Options given again replace the ones of the first reading. */
static void test_read_like(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *first = opts_of(ctx, "label=last", NULL),
               *more = opts_of(ctx, "label=none", NULL);
    ferry_data *d = NULL, *e = NULL;

    assert_ok(ctx, ferry_read(ctx, tmp_file("a.csv", "1,2\n3,4\n", -1), first, &d));
    assert_int_equal(d->x->cols, 1);
    assert_ok(ctx, ferry_i_read_like(ctx, tmp_path("a.csv"), d->read, d->features, NULL, 0,
                                     more, &e));
    assert_int_equal(e->x->cols, 2);
    ferry_data_free(d);
    ferry_data_free(e);
    ferry_opts_free(first);
    ferry_opts_free(more);
    ferry_data_free(NULL);
}

/* ---- describe ---- */

static ferry_status describe_it(ferry_ctx *ctx, void *arg);

static json_t *described(ferry_ctx *ctx, const ferry_data *d)
{
    ferry_description *said = NULL;
    char *text = NULL;

    assert_ok(ctx, ferry_data_describe(ctx, d, &said));
    assert_ok(ctx, ferry_i_description_json(ctx, said, &text));
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    ferry_string_free(text);
    ferry_description_free(said);
    return o;
}

static double number(const json_t *o, const char *key)
{
    assert_true(json_is_number(json_object_get(o, key)));
    return json_number_value(json_object_get(o, key));
}

static void test_describe_view(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx,
              ferry_read(ctx,
                         tmp_file("d.csv",
                                  "id,a,b,label\ni,1,0,x\nj,,-4,y\nk,0,0,\nl,2,2,y\n", -1),
                         NULL, &d));
    json_t *o = described(ctx, d), *l = json_object_get(o, "labels");
    assert_string_equal(json_string_value(json_object_get(o, "format")), "csv");
    assert_string_equal(json_string_value(json_object_get(o, "kind")), "view");
    assert_true(number(o, "rows") == 4 && number(o, "columns") == 2);
    assert_true(number(o, "nonzeros") == 4 && number(o, "missing") == 1);
    assert_true(number(o, "empty_rows") == 1 && number(o, "min") == -4 &&
                number(o, "max") == 2);
    assert_close(number(o, "density"), 0.5, 1e-12);
    assert_true(number(o, "memory_bytes") > 4 * 2 * 8);
    assert_string_equal(json_string_value(json_object_get(l, "kind")), "class");
    assert_true(number(l, "known") == 3 && number(l, "missing") == 1 &&
                number(l, "classes") == 2);
    assert_true(number(json_object_get(l, "counts"), "y") == 2);
    json_decref(o);
    ferry_data_free(d);
}

/* The struct has the same numbers, and what the kind does not have is 0, NULL or NaN. */
static void test_describe_struct(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;
    ferry_description *s = NULL;

    assert_ok(ctx, ferry_read(ctx,
                              tmp_file("d.csv",
                                       "id,a,b,label\ni,1,0,x\nj,,-4,\xe9\n"
                                       "k,0,0,\nl,2,2,\xe9\n",
                                       -1),
                              NULL, &d));
    assert_ok(ctx, ferry_data_describe(ctx, d, &s));
    ferry_data_free(d); /* the description does not need it */
    assert_int_equal(s->size, sizeof *s);
    assert_string_equal(s->kind, "view");
    assert_true(s->rows == 4 && s->columns == 2 && s->nonzeros == 4 && s->missing == 1);
    assert_true(s->min == -4 && s->max == 2 && isnan(s->mean) && !s->sparse);
    assert_int_equal(s->n_features, 2);
    assert_string_equal(s->features[1], "b");
    assert_string_equal(s->ids[3], "l");
    assert_string_equal(s->label_kind, "class");
    assert_true(s->labels_known == 3 && s->labels_missing == 1 && s->n_counts == 2);
    assert_string_equal(s->count_names[1], "\xc3\xa9"); /* Latin-1 became UTF-8 */
    assert_int_equal(s->counts[1], 2);
    assert_true(isnan(s->label_mean) && s->users == 0 && s->n_members == 0 && !s->members);
    ferry_description_free(s);
    ferry_description_free(NULL);
}

static void test_describe_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_i_read_as(ctx, tmp_file("n.csv", "0.5\n1.5\n?\n4\n", -1), NULL,
                                   FERRY_DATA_LABELS, &d));
    json_t *o = described(ctx, d), *l = json_object_get(o, "labels");
    assert_true(number(o, "rows") == 4);
    assert_close(number(l, "mean"), 2, 1e-12);
    assert_close(number(l, "std"), sqrt((2.25 + 0.25 + 4) / 2), 1e-12);
    assert_true(number(l, "min") == 0.5 && number(l, "max") == 4);
    json_decref(o);
    ferry_data_free(d);
    assert_ok(ctx, ferry_read(ctx, tmp_file("s.svm", "a,b 1:1\n 3:1\n? 1:1\nb 1:-1\n", -1),
                              NULL, &d));
    o = described(ctx, d);
    l = json_object_get(o, "labels");
    assert_string_equal(json_string_value(json_object_get(o, "storage")), "sparse");
    assert_true(number(o, "min") == -1 && number(o, "max") == 1 &&
                number(o, "nonzeros") == 4);
    assert_true(number(l, "labels") == 2 && number(l, "known") == 3);
    assert_close(number(l, "cardinality"), 1, 1e-12);
    assert_close(number(l, "density"), 0.5, 1e-12);
    assert_true(number(json_object_get(l, "counts"), "b") == 2);
    json_decref(o);
    ferry_data_free(d);
    /* nothing stored: the cells are zeros all the same */
    assert_ok(ctx, ferry_read(ctx, tmp_file("s.svm", "# ferry columns: 2\n1\n2\n", -1),
                              NULL, &d));
    o = described(ctx, d);
    assert_true(number(o, "min") == 0 && number(o, "max") == 0 &&
                number(o, "empty_rows") == 2);
    json_decref(o);
    ferry_data_free(d);
}

/* Graphs and ratings, made by hand so that this test stands alone. */
static ferry_data *graph_of(ferry_ctx *ctx)
{
    ferry_data *d = ferry_i_data_new("edges", "g", FERRY_DATA_GRAPH);

    d->edges = 3;
    d->nodes = ferry_i_ids_numbers(3);
    d->from = ferry_i_calloc(3, sizeof *d->from);
    d->to = ferry_i_calloc(3, sizeof *d->to);
    d->weight = ferry_i_calloc(3, sizeof *d->weight);
    assert_true(d->nodes && d->from && d->to && d->weight);
    d->to[0] = d->to[1] = d->from[1] = 1;
    d->weight[2] = 2.5;
    (void)ctx;
    return d;
}

static ferry_data *ratings_of(ferry_ctx *ctx)
{
    ferry_data *d = ferry_i_data_new("ratings", "\xff r", FERRY_DATA_RATINGS);
    ferry_ids *ids = ferry_i_ids_numbers(2);

    assert_ok(ctx, ferry_i_ratings_new(ctx, 4, ids, ids, &d->ratings));
    ferry_i_ids_free(ids);
    static const double v[] = {1, 0.5, 1, NAN};
    memcpy(d->ratings->value, v, sizeof v);
    d->ratings->lo = 0.5;
    d->ratings->hi = 1;
    return d;
}

static void test_describe_graph_and_ratings(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = graph_of(ctx);
    json_t *o = described(ctx, d);

    assert_true(number(o, "nodes") == 3 && number(o, "edges") == 3 &&
                number(o, "self_links") == 2);
    assert_true(number(o, "min") == 0 && number(o, "max") == 2.5);
    json_decref(o);
    ferry_data_free(d);
    d = ratings_of(ctx);
    o = described(ctx, d);
    assert_true(number(o, "ratings") == 3 && number(o, "to_predict") == 1);
    assert_true(number(o, "users") == 2 && number(o, "items") == 2);
    assert_true(number(json_object_get(o, "histogram"), "1") == 2);
    assert_true(number(json_object_get(o, "histogram"), "0.5") == 1);
    assert_string_equal(json_string_value(json_object_get(o, "path")), "\xc3\xbf r");
    json_decref(o);
    ferry_data_free(d);
    ferry_ids *ids = ferry_i_ids_numbers(60); /* not a scale: no histogram */
    d = ferry_i_data_new("ratings", "r", FERRY_DATA_RATINGS);
    assert_ok(ctx, ferry_i_ratings_new(ctx, 60, ids, ids, &d->ratings));
    for (int i = 0; i < 60; i++)
        d->ratings->value[i] = i + 0.5;
    o = described(ctx, d);
    assert_int_equal(json_object_size(json_object_get(o, "histogram")), 0);
    json_decref(o);
    ferry_data_free(d);
    ferry_i_ids_free(ids);
}

static void test_describe_listing(void **state)
{
    ferry_ctx *ctx = *state;
    bytes two = {0};
    ferry_data *d = NULL;

    tar_add(&two, '0', "a", "x", 1);
    tar_add(&two, '0', "b", "y", 1);
    tar_end(&two);
    assert_ok(ctx, ferry_read(ctx, save("l.tar", two), NULL, &d));
    json_t *o = described(ctx, d), *m = json_object_get(o, "members");
    assert_int_equal(json_array_size(m), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(m, 1), "name")),
                        "b");
    json_decref(o);
    ferry_data_free(d);
}

/* ---- memory ---- */

static ferry_status read_it(ferry_ctx *ctx, void *arg)
{
    ferry_data *d = NULL;
    ferry_status st = ferry_read(ctx, arg, NULL, &d);

    if (st == FERRY_OK) st = describe_it(ctx, d);
    ferry_data_free(d);
    return st;
}

static ferry_status describe_it(ferry_ctx *ctx, void *arg)
{
    ferry_description *said = NULL;
    char *text = NULL;
    ferry_status st = ferry_data_describe(ctx, arg, &said);

    if (st == FERRY_OK) st = ferry_i_description_json(ctx, said, &text);
    ferry_string_free(text);
    ferry_description_free(said);
    return st;
}

static ferry_status like_it(ferry_ctx *ctx, void *arg)
{
    void *const *a = arg;
    ferry_data *d = NULL;
    const ferry_status st = ferry_i_read_like(ctx, a[0], a[1], NULL, NULL, 0, a[2], &d);

    ferry_data_free(d);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    bytes two = {0}, one = {0};

    tar_add(&two, '0', "a", "x", 1);
    tar_add(&two, '0', "b", "y", 1);
    tar_end(&two);
    tar_add(&one, '0', "a.csv", csv, (int64_t)strlen(csv));
    tar_end(&one);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    each_allocation_fails(ctx, read_it, (void *)(uintptr_t)save("m2.tar", two));
    each_allocation_fails(ctx, read_it, (void *)(uintptr_t)save("m1.tar", one));
    each_allocation_fails(ctx, read_it, (void *)(uintptr_t)tmp_file("m.csv", csv, -1));
    ferry_data *d = graph_of(ctx);
    each_allocation_fails(ctx, describe_it, d);
    ferry_data_free(d);
    ferry_opts *a = opts_of(ctx, "label=last", NULL), *b = opts_of(ctx, "id=none", NULL);
    void *args[] = {(void *)(uintptr_t)tmp_file("m.csv", csv, -1), a, b};
    each_allocation_fails(ctx, like_it, args);
    ferry_opts_free(a);
    ferry_opts_free(b);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_tables),
        T(test_format_of_a_file),
        T(test_wanted_kind),
        T(test_trees),
        T(test_common_checks),
        T(test_write),
        T(test_read_like),
        T(test_describe_view),
        T(test_describe_struct),
        T(test_describe_labels),
        T(test_describe_graph_and_ratings),
        T(test_describe_listing),
        T(test_no_memory),
    };
    return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}
