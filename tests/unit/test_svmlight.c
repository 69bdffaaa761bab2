#include "ferry_test.h"

#include <stdio.h>

#include "data/data.h"

static ferry_data *read_text(ferry_ctx *ctx, const char *text, const ferry_opts *opts)
{
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, tmp_file("t.svm", text, -1), opts, &d));
    assert_string_equal(d->format, "svmlight");
    return d;
}

static void refused(ferry_ctx *ctx, const char *text, const char *why)
{
    ferry_data *d = (ferry_data *)(uintptr_t)1;

    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.svm", text, -1), NULL, &d), FERRY_EDATA,
                 why);
    assert_null(d);
}

static double at(const ferry_data *d, int64_t i, int64_t j)
{
    for (int64_t e = d->x->start[i]; e < d->x->start[i + 1]; e++)
        if (d->x->index[e] == j) return d->x->value[e];
    return 0;
}

static const char *class_of(const ferry_data *d, int64_t i)
{
    return d->labels->cls[i] < 0 ? "?"
                                 : ferry_i_ids_at(d->labels->names, d->labels->cls[i]);
}

static void test_plain(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx,
                              "# a comment\n"
                              "+1 1:0.5 3:-2e3 # trailing 7:7\r\n"
                              "\n"
                              "-1 qid:4 2:1\n"
                              "1\n"
                              "  -1\t5:1e-3\n"
                              "?  1:2", /* no newline at the end */
                              NULL);

    assert_int_equal(d->x->rows, 5);
    assert_int_equal(d->x->cols, 5);
    assert_int_equal(d->x->nnz, 5);
    assert_true(at(d, 0, 0) == 0.5 && at(d, 0, 2) == -2000 && at(d, 1, 1) == 1);
    assert_int_equal(d->x->start[3] - d->x->start[2], 0);
    assert_true(at(d, 3, 4) == 1e-3 && at(d, 4, 0) == 2);
    assert_null(d->ids);
    assert_int_equal(d->labels->kind, FERRY_LABEL_CLASS);
    assert_string_equal(class_of(d, 0), "+1"); /* as it is written */
    assert_string_equal(class_of(d, 2), "1");
    assert_string_equal(class_of(d, 3), "-1");
    assert_int_equal(d->labels->cls[1], 0); /* -1 before 1 */
    assert_int_equal(d->labels->cls[4], -1);
    assert_string_equal(ferry_opts_get(d->read, "features"), "5");
    assert_string_equal(ferry_opts_get(d->read, "index_base"), "one");
    ferry_data_free(d);
}

static void test_first_index(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *zero = opts_of(ctx, "index_base=zero", "features=9", NULL);
    ferry_opts *one = opts_of(ctx, "index_base=one", NULL);
    ferry_data *d = read_text(ctx, "1 0:5 2:7\n1 1:1\n", NULL);

    assert_int_equal(d->x->cols, 3);
    assert_true(at(d, 0, 0) == 5 && at(d, 0, 2) == 7 && at(d, 1, 1) == 1);
    assert_string_equal(ferry_opts_get(d->read, "index_base"), "zero");
    ferry_data_free(d);
    d = read_text(ctx, "1 1:5\n", zero);
    assert_int_equal(d->x->cols, 9);
    assert_true(at(d, 0, 1) == 5);
    ferry_data_free(d);
    d = read_text(ctx, "# Column indices are zero-based\n1 1:5\n", NULL);
    assert_true(at(d, 0, 1) == 5);
    ferry_data_free(d);
    assert_fails(ctx, ferry_read(ctx, tmp_file("b.svm", "1 0:5\n", -1), one, &d),
                 FERRY_EDATA, "index 0, expected indices from 1");
    refused(ctx, "# Column indices are one-based\n1 0:5\n", "index 0, expected");
    ferry_opts_free(zero);
    ferry_opts_free(one);
}

static void test_label_kinds(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx, "1.5 1:1\n-2 1:1\n", NULL);

    assert_int_equal(d->labels->kind, FERRY_LABEL_NUMBER);
    assert_true(d->labels->num[0] == 1.5 && d->labels->num[1] == -2);
    ferry_data_free(d);
    d = read_text(ctx, "spam 1:1\nham%20egg 1:1\n", NULL);
    assert_string_equal(class_of(d, 0), "spam");
    assert_string_equal(class_of(d, 1), "ham egg");
    ferry_data_free(d);
    d = read_text(ctx, "1:1 2:2\n1:3\n", NULL); /* none at all */
    assert_null(d->labels);
    assert_int_equal(d->x->nnz, 3);
    ferry_data_free(d);
    d = read_text(ctx, "? 1:1\n2:2\n", NULL);
    assert_null(d->labels);
    ferry_data_free(d);
    d = read_text(ctx, "3,1 1:1\n 1:2\n2 1:1\n? 1:1\n", NULL);
    assert_int_equal(d->labels->kind, FERRY_LABEL_SET);
    assert_int_equal(ferry_i_labels_m(d->labels), 3);
    static const uint8_t on[] = {1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
    assert_memory_equal(d->labels->on, on, sizeof on);
    assert_int_equal(d->labels->known[1], 1); /* an empty set is known */
    assert_int_equal(d->labels->known[3], 0);
    ferry_data_free(d);
}

/* More kinds of whole numbers than classes: something to measure. */
static void test_many_whole_labels(void **state)
{
    ferry_text t = {0};

    for (int i = 0; i < 1200; i++)
        ferry_i_text_addf(&t, "%d 1:1\n", i);
    ferry_data *d = read_text(*state, t.s, NULL);
    assert_int_equal(d->labels->kind, FERRY_LABEL_NUMBER);
    assert_true(d->labels->num[1199] == 1199);
    ferry_data_free(d);
    ferry_i_text_free(&t);
}

static void test_as_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_i_read_as(ctx, tmp_file("l.svm", "2 1:1\n1 3:1\n", -1), NULL,
                                   FERRY_DATA_LABELS, &d));
    assert_int_equal(d->kind, FERRY_DATA_LABELS);
    assert_null(d->x);
    assert_int_equal(d->labels->n, 2);
    ferry_data_free(d);
    assert_fails(
        ctx,
        ferry_i_read_as(ctx, tmp_file("l.svm", "1:1\n", -1), NULL, FERRY_DATA_LABELS, &d),
        FERRY_EDATA, "has no labels");
}

static void test_bad_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *few = opts_of(ctx, "features=3", NULL);
    ferry_data *d = NULL;

    refused(ctx, "1 1:1\n1 2:2 2:3\n", "bad.svm:2: index 2 after 2: indices must ascend");
    refused(ctx, "1 5:1 3:1\n", "bad.svm:1: index 3 after 5");
    refused(ctx, "1 -1:5\n", "bad.svm:1: expected index:value, found '-1:5'");
    refused(ctx, "1 1:1\n\n1 99999999999:1\n", "bad.svm:3: index 99999999999:1 is above");
    refused(ctx, "1 2147483647:1\n", "is above 2147483646");
    refused(ctx, "1 1:nan\n", "expected a finite number after 1:, found 'nan'");
    refused(ctx, "1 1:inf\n", "expected a finite number after 1:, found 'inf'");
    refused(ctx, "1 1:1e999\n", "expected a finite number after 1:, found '1e999'");
    refused(ctx, "1 1:2x\n", "found '2x'");
    refused(ctx, "1 1:\n", "expected a finite number after 1:");
    refused(ctx, "1 1\n", "expected index:value, found '1'");
    refused(ctx, "1 a:1\n", "expected index:value, found 'a:1'");
    refused(ctx, "1,, 1:1\n", "bad.svm:1: an empty label");
    refused(ctx, "", "empty file");
    refused(ctx, "1\n2\n", "expected index:value pairs, found none");
    refused(ctx, "# only a comment\n\n", "no instances");
    refused(ctx, "1 1:1 # id:a\n1 1:1\n", "bad.svm:2: instance 2 has no # id:");
    refused(ctx, "1 1:1 # id:a\n1 1:1 # id:b\n1 1:1 # id:a\n",
            "bad.svm:3: id a is there twice");
    refused(ctx, "# ferry columns: many\n1 1:1\n",
            "bad.svm:1: expected a number of columns");
    refused(ctx, "# ferry features: a b a\n1 1:1\n", "bad.svm:1: name a is there twice");
    refused(ctx, "# ferry features: a b\n1 3:1\n", "index 3, expected at most 2 features");
    refused(ctx, "# ferry labels: a b\na 1:1\nc 1:1\n",
            "bad.svm:3: label c is not in the list of labels");
    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.svm", "1 4:1\n", -1), few, &d),
                 FERRY_EDATA, "index 4, expected at most 3 features");
    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.svm", "1 1:1\n\0 2:2\n", 12), NULL, &d),
                 FERRY_EDATA, "bad.svm:2: a zero byte");
    ferry_opts_free(few);
}

/* Of many errors in many pieces the first line is named, whatever the threads do. */
static void test_first_error_in_a_large_file(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_text t = {0};
    ferry_data *d = NULL;

    for (int i = 1; i <= 200000; i++)
        ferry_i_text_addf(&t, i == 70001 || i > 150000 ? "1 3:1 2:1\n" : "1 3:1 7:1\n");
    const char *path = tmp_file("large.svm", t.s, t.len);
    for (int threads = 1; threads <= 4; threads++) {
        assert_ok(ctx, ferry_i_ctx_set_threads(ctx, threads));
        assert_fails(ctx, ferry_read(ctx, path, NULL, &d), FERRY_EDATA,
                     "large.svm:70001: ");
    }
    ferry_i_text_free(&t);
}

/* Blank lines and comments in all pieces; the same for any number of threads. */
static void test_large_file(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_text t = {0};
    ferry_data *d = NULL;

    for (int i = 0; i < 100000; i++) {
        ferry_i_text_addf(&t, "%d %d:%d.5 200:1 # id:i%d\n", i % 3, i % 100 + 1, i, i);
        if (i % 7 == 0) ferry_i_text_add(&t, i % 2 ? "\n" : "# between 1:1 2:2\n");
    }
    const char *path = tmp_file("large.svm", t.s, t.len);
    for (int threads = 1; threads <= 3; threads++) {
        assert_ok(ctx, ferry_i_ctx_set_threads(ctx, threads));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_int_equal(d->x->rows, 100000);
        assert_int_equal(d->x->nnz, 200000);
        for (int64_t i = 0; i < 100000; i += 997) {
            char id[16];
            snprintf(id, sizeof id, "i%d", (int)i);
            assert_int_equal(ferry_i_ids_find(d->ids, id), i);
            assert_true(at(d, i, i % 100) == (double)i + 0.5);
            assert_int_equal(d->labels->cls[i], i % 3);
        }
        ferry_data_free(d);
    }
    ferry_i_text_free(&t);
}

/* ---- writing ---- */

static void same_data(const ferry_data *a, const ferry_data *b)
{
    assert_int_equal(a->x->rows, b->x->rows);
    assert_int_equal(a->x->cols, b->x->cols);
    for (int64_t i = 0; i < a->x->rows; i++)
        for (int64_t j = 0; j < a->x->cols; j++)
            assert_true(at(a, i, j) == at(b, i, j));
    assert_int_equal(ferry_i_ids_count(a->ids), ferry_i_ids_count(b->ids));
    for (int64_t i = 0; i < ferry_i_ids_count(a->ids); i++)
        assert_string_equal(ferry_i_ids_at(a->ids, i), ferry_i_ids_at(b->ids, i));
    assert_int_equal(ferry_i_ids_count(a->features), ferry_i_ids_count(b->features));
    for (int64_t j = 0; j < ferry_i_ids_count(a->features); j++)
        assert_string_equal(ferry_i_ids_at(a->features, j), ferry_i_ids_at(b->features, j));
    assert_int_equal(a->labels != NULL, b->labels != NULL);
    if (!a->labels) return;
    assert_int_equal(a->labels->kind, b->labels->kind);
    assert_int_equal(ferry_i_labels_m(a->labels), ferry_i_labels_m(b->labels));
    for (int64_t k = 0; k < ferry_i_labels_m(a->labels); k++)
        assert_string_equal(ferry_i_ids_at(a->labels->names, k),
                            ferry_i_ids_at(b->labels->names, k));
    const size_t n = (size_t)a->labels->n, m = (size_t)ferry_i_labels_m(a->labels);
    if (a->labels->cls) assert_memory_equal(a->labels->cls, b->labels->cls, n * 4);
    if (a->labels->num) assert_memory_equal(a->labels->num, b->labels->num, n * 8);
    if (a->labels->on && n * m > 0)
        assert_memory_equal(a->labels->on, b->labels->on, n * m);
    if (a->labels->known) assert_memory_equal(a->labels->known, b->labels->known, n);
}

static void test_round_trips(void **state)
{
    static const char *const texts[] = {
        "1 1:0.1 3:1e-300\n-1 2:3\n",
        "1.0 1:1\n2.0 1:2\n? 1:3\n",
        "0.333333333333333 1:1\n",
        "1:1 4:4\n2:2\n",
        "# ferry columns: 10\na 1:1\nb 2:1\n? 3:1\n",
        "# ferry features: one two%20three fo%25ur\n5 1:1 # id:x%20y\n6 3:1 # id:z%23\n",
        "# ferry labels: c a b%2Cb\na,b%2Cb 1:1\n 1:0\n? 1:1\nc 2:2\n",
        "# ferry labels: x y\nx 1:1\ny 1:1\n",
        "1 3:1\n2\n",
    };
    ferry_ctx *ctx = *state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ferry_data *a = read_text(ctx, texts[i], NULL), *b = NULL;
        assert_ok(ctx, ferry_write(ctx, a, tmp_path("w.svm"), NULL));
        assert_ok(ctx, ferry_read(ctx, tmp_path("w.svm"), NULL, &b));
        same_data(a, b);
        ferry_data_free(a);
        ferry_data_free(b);
    }
}

/* Without names and ids there is nothing in the file that libsvm would not take. */
static void test_writes_plain(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx, "+1 1:0.5 2:2 # x\n-1 2:1e10\n", NULL);

    assert_ok(ctx, ferry_write(ctx, d, tmp_path("w.svm"), NULL));
    char *text = slurp(tmp_path("w.svm"));
    assert_string_equal(text, "+1 1:0.5 2:2\n-1 2:10000000000\n");
    free(text);
    ferry_data_free(d);
}

static void test_refuses_to_write(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, tmp_file("m.csv", "a,b\n1,2\n,3\n", -1), NULL, &d));
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("w.svm"), NULL), FERRY_EINVAL,
                 "instance 2 has no value for feature 1, a: svmlight has no missing cells");
    ferry_data_free(d);
    assert_ok(ctx, ferry_i_read_as(ctx, tmp_file("l.csv", "a\nb\n", -1), NULL,
                                   FERRY_DATA_LABELS, &d));
    ferry_opts *svm = opts_of(ctx, "format=svmlight", NULL);
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("w.svm"), svm), FERRY_EINVAL,
                 "svmlight holds features");
    ferry_opts_free(svm);
    ferry_data_free(d);
    d = read_text(ctx, "1 1:1\n", NULL);
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("no/such/w.svm"), NULL), FERRY_EIO,
                 "cannot write");
    ferry_data_free(d);
}

/* Columns that new data has beyond the old are left out. */
static void test_read_like(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx, "1 0:1 2:1\n", NULL), *e = NULL;

    const char *path = tmp_file("new.svm", "1 1:5 2:6 3:7 9:1\n2 1:1\n", -1);
    assert_ok(ctx, ferry_i_read_like(ctx, path, d->read, NULL, NULL, 0, NULL, &e));
    assert_int_equal(e->x->cols, 3);
    assert_int_equal(e->x->nnz, 3);
    assert_true(at(e, 0, 1) == 5 && at(e, 0, 2) == 6 && at(e, 1, 1) == 1);
    ferry_data_free(d);
    ferry_data_free(e);
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
        "# ferry features: a%20 b\n1 1:1 # id:p%20q\n2 2:1 # id:r\n",
        "# ferry labels: a b\na,b 1:1\n? 2:1\n",
        "3,1 1:1\n1 2:1\n",
        "x%20 1:1\ny 2:1\n",
        "1.5 1:1\n2 2:1\n",
    };

    assert_ok(*state, ferry_i_ctx_set_threads(*state, 1));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *paths[] = {tmp_file("mem.svm", texts[i], -1), tmp_path("mem-out.svm")};
        each_allocation_fails(*state, read_and_write, paths);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_plain),
        T(test_first_index),
        T(test_label_kinds),
        T(test_many_whole_labels),
        T(test_as_labels),
        T(test_bad_files),
        T(test_first_error_in_a_large_file),
        T(test_large_file),
        T(test_round_trips),
        T(test_writes_plain),
        T(test_refuses_to_write),
        T(test_read_like),
        T(test_no_memory),
    };
    return cmocka_run_group_tests_name("svmlight", tests, NULL, NULL);
}
