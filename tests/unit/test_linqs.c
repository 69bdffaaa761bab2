/* LINQS content, cites, NODE and DIRECTED files. */
#include "ferry_test.h"

#include <stdio.h>

#include "data/data.h"

static ferry_status read_as(ferry_ctx *ctx, const char *text, ferry_data **out)
{
    ferry_opts *opts = opts_of(ctx, "format=linqs", NULL);
    const ferry_status st = ferry_read(ctx, tmp_file("x.txt", text, -1), opts, out);

    ferry_opts_free(opts);
    return st;
}

static const char *class_of(const ferry_data *d, int64_t i)
{
    return ferry_i_ids_at(d->labels->names, d->labels->cls[i]);
}

static void test_content(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx, read_as(ctx, "p1\t0\t1\t1\tAI\np2\t0\t0\t0\tDB\np3 1 0 0 AI\n", &d));
    assert_int_equal(d->kind, FERRY_DATA_VIEW);
    assert_null(d->x->dense);
    assert_int_equal(d->x->rows, 3);
    assert_int_equal(d->x->cols, 3);
    assert_int_equal(d->x->nnz, 3);
    assert_int_equal(d->x->index[0], 1);
    assert_int_equal(d->x->start[2], 2);
    assert_string_equal(ferry_i_ids_at(d->ids, 2), "p3");
    assert_string_equal(class_of(d, 0), "AI");
    assert_string_equal(class_of(d, 1), "DB");
    ferry_data_free(d);
}

static void test_cites(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx, read_as(ctx, "a\tb\nb\ta\nc\tc\n", &d));
    assert_int_equal(d->kind, FERRY_DATA_GRAPH);
    assert_int_equal(d->edges, 3);
    assert_int_equal(ferry_i_ids_count(d->nodes), 3);
    assert_null(d->weight);
    ferry_data_free(d);
}

static const char nodes[] =
    "NODE\tpaper\n"
    "cat=1,2:label\tnumeric:w-rat:0.0\tnumeric:w-cat:0.0\tstring:summary\n"
    "11\tlabel=1\tw-cat=0.5\tw-rat=0.25\tsummary=w-rat,w-cat\n"
    "12\tlabel=2\tw-rat=0\tsummary=\n";

static void test_nodes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx, read_as(ctx, nodes, &d));
    assert_int_equal(d->kind, FERRY_DATA_VIEW);
    assert_int_equal(d->x->rows, 2);
    assert_int_equal(d->x->cols, 2);
    assert_int_equal(d->x->nnz, 2);
    assert_string_equal(ferry_i_ids_at(d->features, 0), "w-rat");
    assert_close(d->x->value[0], 0.25, 0);
    assert_close(d->x->value[1], 0.5, 0);
    assert_string_equal(class_of(d, 1), "2");
    ferry_data_free(d);

    assert_ok(ctx,
              read_as(ctx, "DIRECTED\tcites\nNO_FEATURES\n1\tpaper:11\t|\tpaper:12\n", &d));
    assert_int_equal(d->edges, 1);
    assert_string_equal(ferry_i_ids_at(d->nodes, d->to[0]), "12");
    ferry_data_free(d);
}

static void test_broken(void **state)
{
    static const char *const cases[][2] = {
        {"a 0 1 X\nb 0 X\n", ":2: expected 4 columns, found 3"},
        {"a 0 z X\n", ":1: column 3: expected a finite number, found \"z\""},
        {"a 0 1e999 X\n", ":1: column 3"},
        {"a 0 1 X\na 0 1 X\n", ":2: id \"a\" repeats"},
        {"a b\nc\n", ":2: expected two ids, found 1 columns"},
        {"one\n", "expected a LINQS content"},
        {"NODE\tpaper\nnolabel\n", ":2: expected type:name"},
        {"NODE\tpaper\nnumeric:a:0\tnumeric:a:0\n", ":2: feature \"a\" is declared twice"},
        {"NODE\tpaper\nnumeric:a:0\n1\tb=2\n", ":3: feature \"b\" is not declared"},
        {"NODE\tpaper\nnumeric:a:0\n1\ta=x\n", ":3: expected a finite number"},
        {"NODE\tpaper\nnumeric:a:0\n1\ta=1\ta=2\n", ":3: a feature is given twice"},
        {"NODE\tpaper\nnumeric:a:0\n1\ta\n", ":3: expected name=value"},
        {"NODE\tpaper\nnumeric:a:0\n\ta=1\n", ":3: expected an id"},
        {"NODE\tpaper\nnumeric:a:0\n1\tlabel=\n", ":3: expected a class"},
        {"NODE\tpaper\n", "holds no instance"},
        {"DIRECTED\tcites\nNO_FEATURES\n1\tpaper:1\n", ":3: expected id, from, | and to"},
        {"DIRECTED\tcites\nNO_FEATURES\n1\tpaper:\t|\tpaper:2\n", ":3: expected two ids"},
        {"DIRECTED\tcites\nNO_FEATURES\n", "holds no link"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++)
        assert_fails(ctx, read_as(ctx, cases[i][0], &d), FERRY_EDATA, cases[i][1]);
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
    static const char *const texts[] = {nodes, "a 0 1 1 X\nb 1 0 1 Y\n", "a b\nb c\n"};
    char path[256];

    for (int64_t i = 0; i < FERRY_COUNT(texts); i++) {
        strcpy(path, tmp_file("m.content", texts[i], -1));
        each_allocation_fails(*state, body, path);
    }
}

/* Counts as in linqs/SOURCE.md. */
static void test_real_data(void **state)
{
    static const struct {
        const char *name;
        int64_t rows, cols, nnz, classes, edges;
    } sets[] = {{"cora", 2708, 1433, 49216, 7, 5429},
                {"citeseer", 3312, 3703, 105165, 6, 4732}};
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(sets); i++) {
        char path[4096], inside[8192];
        ferry_data *d = NULL;
        snprintf(inside, sizeof inside, "linqs/%s.tgz", sets[i].name);
        const char *dir = data_dir(inside);
        if (!dir) continue;
        snprintf(path, sizeof path, "%s/linqs/%s.tgz", dir, sets[i].name);
        assert_ok(ctx, ferry_read(ctx, path, NULL, &d));
        assert_string_equal(d->format, "linqs");
        assert_int_equal(d->x->rows, sets[i].rows);
        assert_int_equal(d->x->cols, sets[i].cols);
        assert_int_equal(d->x->nnz, sets[i].nnz);
        assert_int_equal(ferry_i_labels_m(d->labels), sets[i].classes);
        ferry_data_free(d);
        assert_ok(ctx, ferry_i_read_as(ctx, path, NULL, FERRY_DATA_GRAPH, &d));
        assert_int_equal(d->edges, sets[i].edges);
        ferry_data_free(d);
        snprintf(inside, sizeof inside, "%s#%s/%s.cites", path, sets[i].name, sets[i].name);
        assert_ok(ctx, ferry_read(ctx, inside, NULL, &d));
        assert_int_equal(d->edges, sets[i].edges);
        ferry_data_free(d);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {T(test_content), T(test_cites),  T(test_nodes),
                                       T(test_broken),  T(test_memory), T(test_real_data)};
    return cmocka_run_group_tests_name("linqs", tests, NULL, NULL);
}
