/* Labels that the files of views carry. */
#include "data/data.h"
#include "ferry_test.h"

static ferry_domain *target(ferry_ctx *ctx)
{
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    return d;
}

static ferry_status add_csv(ferry_ctx *ctx, ferry_domain *d, const char *view,
                            const char *text)
{
    ferry_data *data = NULL;

    assert_ok(ctx, ferry_read(ctx, tmp_file("view.csv", text, -1), NULL, &data));
    const ferry_status st = ferry_domain_add_data(ctx, d, view, data);
    ferry_data_free(data);
    return st;
}

static ferry_status merge_body(ferry_ctx *ctx, void *arg)
{
    ferry_data *const *data = arg;
    ferry_domain *d = NULL;
    ferry_status st = ferry_domain_new(ctx, "d", FERRY_TARGET, &d);

    if (st == FERRY_OK) st = ferry_domain_add_data(ctx, d, "u", data[0]);
    if (st == FERRY_OK) st = ferry_domain_add_data(ctx, d, "v", data[1]);
    ferry_domain_free(d);
    return st;
}

static ferry_status known_body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_domain *d = NULL;
    ferry_data *l = NULL;

    FERRY_TRY(ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    FERRY_TRY(ferry_domain_add_data(ctx, d, "u", arg));
    FERRY_TRY(ferry_i_read_as(ctx, tmp_path("l.csv"), NULL, FERRY_DATA_LABELS, &l));
    FERRY_TRY(ferry_i_data_known_labels(ctx, d, l));
    assert_int_equal(l->labels->n, 1);
    assert_string_equal(ferry_i_ids_at(l->ids, 0), "b");
    FERRY_TRY(ferry_domain_add_data(ctx, d, "y", l));
done:
    ferry_data_free(l);
    ferry_domain_free(d);
    return st;
}

/* Labels of a second view fill what the first does not have; another label is an error. */
static void test_labels_of_views_merge(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = target(ctx);

    assert_ok(ctx, add_csv(ctx, d, "u", "id,f,label\na,1,x\nb,2,\nc,3,1\n"));
    assert_ok(ctx, add_csv(ctx, d, "v", "id,g,label\nb,1,y\nc,2,1.0\nd,3,z\n"));
    assert_string_equal(ferry_i_ids_at(d->labels->names, d->labels->cls[0]), "x");
    assert_string_equal(ferry_i_ids_at(d->labels->names, d->labels->cls[1]), "y");
    assert_string_equal(ferry_i_ids_at(d->labels->names, d->labels->cls[2]), "1");
    assert_string_equal(ferry_i_ids_at(d->labels->names, d->labels->cls[3]), "z");
    assert_fails(ctx, add_csv(ctx, d, "w", "id,h,label\na,1,x\nb,2,z\n"), FERRY_EDATA,
                 "the file of view 'w' has another label for instance 'b'");
    ferry_domain_free(d);
    d = target(ctx);
    assert_ok(ctx, add_csv(ctx, d, "u", "id,f,label:p,label:q\na,1,1,0\nb,2,,\n"));
    assert_fails(ctx, add_csv(ctx, d, "v", "id,g,label:q,label:r\na,1,0,0\n"), FERRY_EDATA,
                 "another label for instance 'a'"); /* p there, nothing here */
    ferry_domain_free(d);
    d = target(ctx);
    assert_ok(ctx, add_csv(ctx, d, "u", "id,f,label:p,label:q\na,1,1,0\nb,2,,\n"));
    assert_ok(ctx, add_csv(ctx, d, "v", "id,g,label:q,label:r\nb,1,1,1\nc,2,0,1\n"));
    assert_int_equal(ferry_i_labels_m(d->labels), 3);
    assert_memory_equal(d->labels->on, "\1\0\0\0\1\1\0\0\1", 9);
    ferry_domain_free(d);
}

static void test_labels_merge_without_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *data[2] = {NULL, NULL};

    assert_ok(ctx, ferry_read(ctx, tmp_file("u.csv", "id,f,label\na,1,x\nb,2,\n", -1), NULL,
                              &data[0]));
    assert_ok(ctx, ferry_read(ctx, tmp_file("v.csv", "id,g,label\nb,1,3\nc,2,4\n", -1),
                              NULL, &data[1]));
    each_allocation_fails(ctx, merge_body, data);
    (void)tmp_file("l.csv", "id,label\nz,p\nb,q\n", -1);
    each_allocation_fails(ctx, known_body, data[0]);
    ferry_data_free(data[0]);
    ferry_data_free(data[1]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_labels_of_views_merge),
        T(test_labels_merge_without_memory),
    };
    return cmocka_run_group_tests_name("fill_labels", tests, NULL, NULL);
}
