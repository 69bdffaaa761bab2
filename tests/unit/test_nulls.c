/* NULL in place of every pointer of every public function (nulls.py makes the calls from the headers): a
 * bad argument is told, never followed. */
#include "ferry_test.h"

static int64_t room[512]; /* stands for any object */
static void *slot, *const trap = room;

/* st must be FERRY_EINVAL; said: with a message in ctx; out: and *out was set to NULL. */
static void refused(ferry_ctx *ctx, ferry_status st, int said, const char *what, int out)
{
    if (st == FERRY_EINVAL && (!said || strstr(ferry_message(ctx), "is NULL")) &&
        (!out || !slot))
        return;
    print_error("%s: %s (%s)%s\n", what, ferry_status_name(st), ferry_message(ctx),
                out && slot ? ", out is not NULL" : "");
    fail();
}

#include "nulls.inc"

static void test_nulls(void **state)
{
    call_all(*state);
}

static void told(ferry_status st)
{
    assert_true(st == FERRY_EINVAL || st == FERRY_EDATA);
}

/* Arrays with a shape and no numbers, lists with a NULL inside. */
static void test_inside(void **state)
{
    ferry_ctx *ctx = *state;
    static const double x[] = {1, 2, 3, 4};
    static const int64_t start[] = {0, 1, 2};
    static const char *const names[] = {"a", NULL};
    const ferry_array none = {2, 2, 2, NULL}, full = {2, 2, 2, x};
    const ferry_sparse empty = {.rows = 2, .cols = 2, .start = NULL},
                       half = {.rows = 2, .cols = 2, .start = start};
    const ferry_results *const nothing[] = {NULL};
    ferry_domain *d = NULL;
    char *text = NULL;

    told(ferry_summary_table(ctx, 1, nothing, NULL, &text));
    told(ferry_summary_table(ctx, 1, nothing, "json", &text));
    assert_null(text);
    assert_ok(ctx, ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    told(ferry_domain_add_dense(ctx, d, "v", &none, NULL, NULL, NULL));
    told(ferry_domain_add_sparse(ctx, d, "v", &empty, NULL, NULL, NULL));
    told(ferry_domain_add_sparse(ctx, d, "v", &half, NULL, NULL, NULL));
    told(ferry_domain_add_dense(ctx, d, "v", &full, names, NULL, NULL));
    told(ferry_domain_add_dense(ctx, d, "v", &full, NULL, names, NULL));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "v", &full, NULL, NULL, NULL));
    told(ferry_domain_set_classes(ctx, d, 2, names, names));
    told(ferry_domain_add_graph(ctx, d, "g", 2, names, names, NULL));
    told(ferry_domain_set_ratings(ctx, d, 2, names, names, x));
    ferry_domain_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nulls, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_inside, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("nulls", tests, NULL, NULL);
}
