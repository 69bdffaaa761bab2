/* ARFF and Mulan's XML. */
#include "ferry_test.h"

#include <stdio.h>
#include <unistd.h>

#include "data/data.h"

static double at(const ferry_data *d, int64_t i, int64_t j)
{
    if (d->x->dense) return d->x->dense[i * d->x->cols + j];
    for (int64_t e = d->x->start[i]; e < d->x->start[i + 1]; e++)
        if (d->x->index[e] == j) return d->x->value[e];
    return 0;
}

static const char *class_of(const ferry_data *d, int64_t i)
{
    return d->labels->cls[i] < 0 ? NULL
                                 : ferry_i_ids_at(d->labels->names, d->labels->cls[i]);
}

static ferry_data *read_text(ferry_ctx *ctx, const char *text, const char *option)
{
    ferry_opts *opts = option ? opts_of(ctx, option, NULL) : NULL;
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, tmp_file("a.arff", text, -1), opts, &d));
    assert_string_equal(d->format, "arff");
    ferry_opts_free(opts);
    return d;
}

static const char dense[] = "% comment\n@RELATION 'two words'\n\n"
                            "@attribute 'the length' REAL\n@attribute width integer\n"
                            "@attribute on {0, 1}\n@attribute colour {red,'dark blue'}\n"
                            "@attribute note string\n@attribute Class {yes, no}\n"
                            "@DATA\n1.5, 2, 1, red, 'a, b', yes\n"
                            "% between\n?,3,0,'dark blue',\"it\\\"s\",no\n4,5,?,?,?,?\n";

static void test_dense(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx, dense, NULL);

    assert_int_equal(d->x->rows, 3);
    assert_int_equal(d->x->cols, 5);
    assert_string_equal(ferry_i_ids_at(d->features, 0), "the length");
    assert_string_equal(ferry_i_ids_at(d->features, 4), "colour=dark blue");
    assert_close(at(d, 0, 0), 1.5, 0);
    assert_true(isnan(at(d, 1, 0)));
    assert_close(at(d, 0, 2), 1, 0);
    assert_close(at(d, 0, 3), 1, 0);
    assert_close(at(d, 1, 4), 1, 0);
    assert_close(at(d, 1, 3), 0, 0);
    assert_true(isnan(at(d, 2, 2)) && isnan(at(d, 2, 3)) && isnan(at(d, 2, 4)));
    assert_string_equal(class_of(d, 1), "no");
    assert_null(class_of(d, 2));
    assert_null(d->ids);
    ferry_data_free(d);
}

static void test_roles(void **state)
{
    ferry_ctx *ctx = *state;
    const char *text =
        "@relation r\n@attribute id string\n@attribute a numeric\n"
        "@attribute label {u,v}\n@attribute b numeric\n@data\np,1,u,2\nq,3,v,4\n";
    ferry_data *d = read_text(ctx, text, NULL);

    assert_string_equal(ferry_i_ids_at(d->ids, 1), "q");
    assert_string_equal(class_of(d, 1), "v");
    assert_int_equal(d->x->cols, 2);
    ferry_data_free(d);
    d = read_text(ctx, text, "label=b");
    assert_int_equal(d->labels->kind, FERRY_LABEL_NUMBER);
    assert_close(d->labels->num[1], 4, 0);
    assert_int_equal(d->x->cols, 3);
    ferry_data_free(d);
    d = read_text(ctx, text, "label=2");
    assert_close(d->labels->num[0], 1, 0);
    ferry_data_free(d);
    d = read_text(ctx, text, "label=none");
    assert_null(d->labels);
    ferry_data_free(d);
    d = read_text(ctx, text, "id=a");
    assert_string_equal(ferry_i_ids_at(d->ids, 1), "3");
    ferry_data_free(d);
    d = read_text(ctx, text, "id=none");
    assert_null(d->ids);
    ferry_data_free(d);

    const char *sets = "@relation r\n@attribute a numeric\n@attribute x {0,1}\n"
                       "@attribute y {0,1}\n@data\n5,1,0\n6,1,1\n7,?,?\n";
    d = read_text(ctx, sets, "label=last:2");
    assert_int_equal(d->labels->kind, FERRY_LABEL_SET);
    assert_int_equal(d->labels->on[0], 1);
    assert_int_equal(d->labels->on[1], 0);
    assert_int_equal(d->labels->on[3], 1);
    assert_int_equal(d->labels->known[1], 1);
    assert_int_equal(d->labels->known[2], 0);
    ferry_data_free(d);
    d = read_text(ctx, sets, "label=x,y");
    assert_int_equal(ferry_i_labels_m(d->labels), 2);
    ferry_data_free(d);
    d = read_text(ctx,
                  "@relation 'm: -C 2'\n@attribute x {0,1}\n@attribute y {0,1}\n"
                  "@attribute a numeric\n@data\n1,0,5\n",
                  NULL);
    assert_string_equal(ferry_i_ids_at(d->labels->names, 1), "y");
    assert_int_equal(d->x->cols, 1);
    ferry_data_free(d);
    assert_ok(ctx, ferry_i_read_as(ctx, tmp_path("a.arff"), NULL, FERRY_DATA_LABELS, &d));
    assert_null(d->x);
    assert_int_equal(d->labels->n, 1);
    ferry_data_free(d);
}

static void test_sparse(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = read_text(ctx,
                              "@relation r\n@attribute a numeric\n@attribute b {1,0}\n"
                              "@attribute c {r,g}\n@attribute k {no,yes}\n@data\n"
                              "{0 2, 1 0, 2 g, 3 yes}\n{}\n{ 0 7 }\n{1 1,3 ?}\n",
                              NULL);

    assert_null(d->x->dense);
    assert_int_equal(d->x->cols, 4);
    assert_close(at(d, 0, 0), 2, 0);
    assert_close(at(d, 0, 1), 0, 0);
    assert_close(at(d, 0, 3), 1, 0);
    assert_string_equal(class_of(d, 0), "yes");
    assert_close(at(d, 1, 1), 1, 0); /* what is left out is the first value */
    assert_close(at(d, 1, 2), 1, 0);
    assert_string_equal(class_of(d, 1), "no");
    assert_close(at(d, 2, 0), 7, 0);
    assert_null(class_of(d, 3));
    ferry_data_free(d);
}

static void test_xml(void **state)
{
    ferry_ctx *ctx = *state;
    const char *text = "@relation r\n@attribute a numeric\n@attribute 'x & y' {0,1}\n"
                       "@attribute z {0,1}\n@data\n5,1,0\n6,0,1\n";
    char option[300];

    snprintf(
        option, sizeof option, "labels_xml=%s",
        tmp_file(
            "other.xml",
            "<?xml version=\"1.0\"?>\n<!-- <label name=\"no\"> -->\n"
            "<labels xmlns=\"http://mulan.sourceforge.net/labels\">\n"
            "<label name=\"x &amp; y\">\n  <label id='7' name='z'/></label></labels>\n",
            -1));
    ferry_data *d = read_text(ctx, text, option);
    assert_int_equal(d->labels->kind, FERRY_LABEL_SET);
    assert_string_equal(ferry_i_ids_at(d->labels->names, 0), "x & y");
    assert_int_equal(d->x->cols, 1);
    ferry_data_free(d);

    static const char *const broken[][2] = {
        {"<labels><label name=\"q\"/></labels>", "label \"q\" is no attribute"},
        {"<labels><label/></labels>", "expected <label name"},
        {"<labels>\n<label x='1'></label></labels>", ":2: expected <label name"},
        {"<labels>\n<label name=\"z\"", ":2: a tag is not closed"},
        {"<labels><!-- ", "a tag is not closed"},
        {"junk", "expected <label name"},
    };
    for (int64_t i = 0; i < FERRY_COUNT(broken); i++) {
        ferry_opts *opts = opts_of(ctx, option, NULL);
        tmp_file("other.xml", broken[i][0], -1);
        assert_fails(ctx, ferry_read(ctx, tmp_file("a.arff", text, -1), opts, &d),
                     FERRY_EDATA, broken[i][1]);
        ferry_opts_free(opts);
    }
}

static void test_broken(void **state)
{
#define H "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n"
    static const char *const cases[][2] = {
        {"@relation r\n@attribute a numeric\n", "expected a line @data"},
        {"@relation r\n@data\n1\n", ":2: no @attribute before @data"},
        {"@relation r\nwhat\n", ":2: expected @relation, @attribute or @data"},
        {"@relation r\n@attribute\n", ":2: expected @attribute NAME TYPE"},
        {"@relation r\n@attribute a\n", ":2: type \"\", expected numeric"},
        {"@relation r\n@attribute d date\n", ":2: type \"date\", expected numeric"},
        {"@relation r\n@attribute d {a,b\n", ":2: expected values in braces"},
        {"@relation r\n@attribute d {a,a}\n", ":2: value \"a\" repeats"},
        {"@relation r\n@attribute d {}\n", ":2: expected values in braces"},
        {"@relation r\n@attribute 'd {a}\n", ":2: expected @attribute NAME TYPE"},
        {"@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n",
         "declared twice"},
        {"@relation r\n@attribute a string\n@data\nx\n", "no attribute is a feature"},
        {H, "no rows behind @data"},
        {H "1\n", ":5: expected 2 values, found 1"},
        {H "1,x,2\n", ":5: expected 2 values, found 3"},
        {H "z,x\n", ":5: attribute \"a\": expected a finite number, found \"z\""},
        {H "1e999,x\n", ":5: attribute \"a\": expected a finite number"},
        {H "inf,x\n", ":5: attribute \"a\": expected a finite number"},
        {H "1,w\n", ":5: attribute \"b\": \"w\" is none of its values"},
        {H "1,'x\n", ":5: value 2: expected a comma or the end"},
        {H "1,'x'y\n", ":5: value 2: expected a comma"},
        {H "1,x\n{0 1}\n", ":6: expected a dense row as before"},
        {H "{0 1}\n1,x\n", ":6: expected a sparse row as before"},
        {H "{2 1}\n", ":5: expected {index value, ...} with ascending indices 0 .. 1"},
        {H "{-1 1}\n", ":5: expected {index value"},
        {H "{1 x,0 1}\n", ":5: expected {index value"},
        {H "{0 1\n", ":5: expected {index value"},
        {H "{0 }\n", ":5: expected {index value"},
        {H "{99999999999999999999 1}\n", ":5: expected {index value"},
        {H "{0 ?}\n", ":5: attribute \"a\": a sparse row has no missing"},
        {"@relation r\n@attribute id string\n@attribute a real\n@data\np,1\np,2\n",
         ":6: id \"p\" repeats"},
        {"@relation r\n@attribute id string\n@attribute a real\n@data\n?,1\n",
         ":5: expected an id"},
        {"@relation r\n@attribute id string\n@attribute a real\n@data\n{1 1}\n",
         ":5: id \"\" is empty"},
        {"@relation 'r -C 9'\n@attribute a real\n@data\n1\n", "9 labels of 1 attributes"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++)
        assert_fails(ctx, ferry_read(ctx, tmp_file("bad.arff", cases[i][0], -1), NULL, &d),
                     FERRY_EDATA, cases[i][1]);
    static const struct {
        const char *text, *option, *want;
        ferry_status st;
    } opted[] = {
        {H "1,x\n", "label=q", "label = \"q\" is none of its 2 attributes", FERRY_EINVAL},
        {H "1,x\n", "label=last:2", "2 labels of 2", FERRY_EDATA},
        {H "1,x\n", "label=a,b", "label \"b\" is not numeric or {0,1}", FERRY_EDATA},
        {"@relation r\n@attribute s string\n@attribute a real\n@data\np,1\n", "label=s",
         "is a string", FERRY_EDATA},
        {"@relation r\n@attribute c real\n@attribute a real\n@attribute b "
         "real\n@data\n1,2,3\n",
         "label=a,b", "label \"a\": expected 0 or 1, found \"2\"", FERRY_EDATA},
        {H "1,x\n", "labels_xml=/nowhere.xml", "no such file", FERRY_EDATA},
    };
    for (int64_t i = 0; i < FERRY_COUNT(opted); i++) {
        ferry_opts *opts = opts_of(ctx, opted[i].option, NULL);
        assert_fails(ctx,
                     ferry_read(ctx, tmp_file("bad.arff", opted[i].text, -1), opts, &d),
                     opted[i].st, opted[i].want);
        ferry_opts_free(opts);
    }
    assert_fails(ctx, ferry_read(ctx, tmp_file("bad.arff", "@relation\0", 10), NULL, &d),
                 FERRY_EDATA, "");
    assert_fails(ctx,
                 ferry_i_read_as(
                     ctx,
                     tmp_file("n.arff", "@relation r\n@attribute a real\n@data\n1\n", -1),
                     NULL, FERRY_DATA_LABELS, &d),
                 FERRY_EDATA, "no attribute is a label");
}

/* All that is in a file comes back: ids, names, labels with their names and order. */
static void test_round_trip(void **state)
{
    static const struct {
        const char *text, *option;
    } cases[] = {
        {dense, NULL},
        {"@relation r\n@attribute id string\n@attribute \"it's a\" real\n@attribute k "
         "{'b c',a,\"d'\\\\\"}\n@data\n'p q',0.1,a\nr,-3e-9,?\ns,4,\"d'\\\\\"\n",
         NULL},
        {"@relation r\n@attribute id string\n@attribute a real\n@attribute b "
         "real\n@attribute "
         "class real\n@data\n{0 p,1 2.5}\n{0 q,2 1,3 7}\n",
         NULL},
        {"@relation r\n@attribute a real\n@attribute 'x<&' {0,1}\n@attribute y "
         "{0,1}\n@data\n"
         "5,1,0\n6,1,1\n7,?,?\n",
         "label=last:2"},
        {"@relation r\n@attribute a real\n@attribute x {0,1}\n@attribute y {0,1}\n@data\n"
         "{0 5,1 1}\n{}\n{1 ?, 2 ?}\n",
         "label=last:2"},
    };
    ferry_ctx *ctx = *state;

    for (int64_t k = 0; k < FERRY_COUNT(cases); k++) {
        ferry_data *d = read_text(ctx, cases[k].text, cases[k].option), *back = NULL;
        const char *path = tmp_path("out.arff");
        assert_ok(ctx, ferry_write(ctx, d, path, NULL));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &back));
        assert_int_equal(back->x->rows, d->x->rows);
        assert_int_equal(back->x->cols, d->x->cols);
        assert_true((d->x->dense != NULL) == (back->x->dense != NULL));
        assert_true((d->ids != NULL) == (back->ids != NULL));
        assert_int_equal(back->labels->kind, d->labels->kind);
        assert_int_equal(ferry_i_labels_m(back->labels), ferry_i_labels_m(d->labels));
        const int64_t m = ferry_i_labels_m(d->labels);
        for (int64_t j = 0; j < m; j++)
            assert_string_equal(ferry_i_ids_at(back->labels->names, j),
                                ferry_i_ids_at(d->labels->names, j));
        for (int64_t j = 0; j < d->x->cols; j++)
            assert_string_equal(ferry_i_ids_at(back->features, j),
                                ferry_i_ids_at(d->features, j));
        for (int64_t i = 0; i < d->x->rows; i++) {
            for (int64_t j = 0; j < d->x->cols; j++)
                assert_close(at(back, i, j), at(d, i, j), 0);
            if (d->ids)
                assert_string_equal(ferry_i_ids_at(back->ids, i),
                                    ferry_i_ids_at(d->ids, i));
            if (d->labels->cls) assert_int_equal(back->labels->cls[i], d->labels->cls[i]);
            if (d->labels->num) assert_close(back->labels->num[i], d->labels->num[i], 0);
            if (d->labels->known)
                assert_int_equal(back->labels->known[i], d->labels->known[i]);
            for (int64_t j = 0; d->labels->known && d->labels->known[i] && j < m; j++)
                assert_int_equal(back->labels->on[i * m + j], d->labels->on[i * m + j]);
        }
        ferry_data_free(d);
        ferry_data_free(back);
        (void)unlink(tmp_path("out.xml"));
    }
}

static void test_not_written(void **state)
{
    static const char *const cases[][3] = {
        {"@relation r\n@attribute id real\n@attribute s string\n@data\n1,p\n", "id=s",
         "called id"},
        {"@relation r\n@attribute class real\n@attribute label real\n@attribute c "
         "{a}\n@data\n1,2,a\n",
         "label=c", "class and label"},
    };
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        ferry_data *d = read_text(ctx, cases[i][0], cases[i][1]);
        assert_fails(ctx, ferry_write(ctx, d, tmp_path("no.arff"), NULL), FERRY_EINVAL,
                     cases[i][2]);
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

static void test_memory(void **state)
{
    char path[256];

    strcpy(path, tmp_file("mem.arff", dense, -1));
    each_allocation_fails(*state, body, path);
    strcpy(path,
           tmp_file(
               "mem2.arff",
               "@relation r\n@attribute id string\n@attribute a real\n@attribute x {0,1}\n"
               "@data\n{0 p,1 5,2 1}\n{0 \xe9}\n",
               -1));
    tmp_file("mem2.xml", "<labels><label name=\"x\"/></labels>", -1);
    each_allocation_fails(*state, body, path);
}

/* Counts as in multilabel/SOURCE.md. */
static void test_real_data(void **state)
{
    static const struct {
        const char *name;
        int64_t rows, cols, labels;
        double cardinality;
    } sets[] = {{"emotions.arff.gz", 593, 72, 6, 1.868},
                {"scene.arff.gz", 2407, 294, 6, 1.074},
                {"yeast.arff.gz", 2417, 103, 14, 4.237},
                {"corel5k.arff", 5000, 499, 374, 3.522}};
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(sets); i++) {
        char path[4096];
        ferry_data *d = NULL;
        double on = 0;
        snprintf(path, sizeof path, "multilabel/%s", sets[i].name);
        const char *dir = data_dir(path);
        if (!dir) continue;
        snprintf(path, sizeof path, "%s/multilabel/%s", dir, sets[i].name);
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_int_equal(d->x->rows, sets[i].rows);
        assert_int_equal(d->x->cols, sets[i].cols);
        assert_int_equal(d->labels->kind, FERRY_LABEL_SET);
        assert_int_equal(ferry_i_labels_m(d->labels), sets[i].labels);
        for (int64_t k = 0; k < sets[i].rows * sets[i].labels; k++)
            on += d->labels->on[k];
        assert_true(fabs(on / (double)sets[i].rows - sets[i].cardinality) < 0.0011);
        ferry_data_free(d);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_dense),       T(test_roles),  T(test_sparse),
        T(test_xml),         T(test_broken), T(test_round_trip),
        T(test_not_written), T(test_memory), T(test_real_data)};
    return cmocka_run_group_tests_name("arff", tests, NULL, NULL);
}
