/* Edge lists. */
#include "ferry_test.h"

#include "data/data.h"

static ferry_status read_text(ferry_ctx *ctx, const char *text, const char *option,
                              ferry_data **out)
{
    ferry_opts *opts = option ? opts_of(ctx, "format=edges", option, NULL)
                              : opts_of(ctx, "format=edges", NULL);
    const ferry_status st = ferry_read(ctx, tmp_file("g.txt", text, -1), opts, out);

    ferry_opts_free(opts);
    return st;
}

static void check(const ferry_data *d, int64_t e, const char *from, const char *to,
                  double w)
{
    assert_true(e < d->edges);
    assert_string_equal(ferry_i_ids_at(d->nodes, d->from[e]), from);
    assert_string_equal(ferry_i_ids_at(d->nodes, d->to[e]), to);
    assert_close(d->weight ? d->weight[e] : 1, w, 0);
}

static void test_forms(void **state)
{
    static const struct {
        const char *text, *option;
        double w;
    } cases[] = {
        {"a b\nb c\n", NULL, 1},
        {"from,to\na,b\nb,c\n", NULL, 1},
        {"# x\na\tb\n% y\nb\tc", NULL, 1},
        {"a,b,1\nb,c,0.5\n", NULL, 0.5},
        {"Source;Target;Weight\na;b;1\nb;c;0.5\n", NULL, 0.5},
        {"x,y,z\na,b,1\nb,c,0.5\n", NULL, 0.5},
        {"x y\na b\nb c\n", "header=yes", 1},
    };
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        ferry_data *d = NULL;
        assert_ok(ctx, read_text(ctx, cases[i].text, cases[i].option, &d));
        assert_int_equal(d->kind, FERRY_DATA_GRAPH);
        assert_int_equal(d->edges, 2);
        assert_int_equal(ferry_i_ids_count(d->nodes), 3);
        check(d, 0, "a", "b", 1);
        check(d, 1, "b", "c", cases[i].w);
        assert_true((d->weight == NULL) == (cases[i].w == 1));
        ferry_data_free(d);
    }
}

static void test_broken(void **state)
{
    static const char *const cases[][2] = {
        {"a b\nc\n", ":2: expected 2 columns, found 1"},
        {"a b 1\nb c\n", ":2: expected 3 columns, found 2"},
        {"a b c d\n", ":1: expected from, to and perhaps weight as columns, found 4"},
        {"a,b,1\nb,,1\n", ":2: expected two node ids"},
        {"a,b,1\nb,c,nan\n", ":2: expected a finite number as weight, found \"nan\""},
        {"a,b,1\nb,c,1e400\n", ":2: expected a finite number"},
        {"#\n", "is empty, expected edges"},
        {"alone\n", ":1: expected"},
    };
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++)
        assert_fails(ctx, read_text(ctx, cases[i][0], NULL, &d), FERRY_EDATA, cases[i][1]);
}

static void test_round_trip(void **state)
{
    ferry_ctx *ctx = *state;

    for (int weighted = 0; weighted < 2; weighted++) {
        ferry_data *d = NULL, *back = NULL;
        assert_ok(ctx, read_text(ctx,
                                 weighted ? "a,\"b\tc\",0.1\n\"x\"\"y\",%d,2\n"
                                          : "a,\"b\tc\"\n\"x\"\"y\",%d\n",
                                 NULL, &d));
        const char *path = tmp_path("out.edges");
        assert_ok(ctx, ferry_write(ctx, d, path, NULL));
        assert_ok(ctx, ferry_read(ctx, path, NULL, &back));
        assert_string_equal(back->format, "edges");
        assert_int_equal(back->edges, 2);
        check(back, 0, "a", "b\tc", weighted ? 0.1 : 1);
        check(back, 1, "x\"y", "%d", weighted ? 2 : 1);
        ferry_data_free(d);
        ferry_data_free(back);
    }
}

static void test_not_a_graph(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;
    ferry_opts *opts = opts_of(ctx, "format=edges", NULL);

    assert_ok(ctx, read_text(ctx, "a b\n", NULL, &d));
    d->kind = FERRY_DATA_VIEW;
    assert_fails(ctx, ferry_write(ctx, d, tmp_path("no.edges"), opts), FERRY_EINVAL,
                 "graphs only");
    ferry_data_free(d);
    ferry_opts_free(opts);
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

    strcpy(path, tmp_file("m.edges", "from,to,weight\na,b,2\n\xe9,d,1\n", -1));
    each_allocation_fails(*state, body, path);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {T(test_forms), T(test_broken), T(test_round_trip),
                                       T(test_not_a_graph), T(test_memory)};
    return cmocka_run_group_tests_name("edges", tests, NULL, NULL);
}
