/* ferry_doctor: a whole description, and problems that are there. */
#include <jansson.h>

#include "ferry_test.h"
#include "show/show.h"

static json_t *describe(ferry_ctx *ctx)
{
    ferry_installation *here = NULL;
    char *text = NULL;
    json_t *all = NULL;

    assert_ok(ctx, ferry_doctor(ctx, &here));
    assert_ok(ctx, ferry_i_installation_json(ctx, here, &text));
    all = json_loads(text, 0, NULL);
    assert_non_null(all);
    ferry_installation_free(here);
    ferry_string_free(text);
    return all;
}

/* Whether a problem holds this text. */
static bool complains(const json_t *all, const char *text)
{
    const json_t *list = json_object_get(all, "problems");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (strstr(json_string_value(json_array_get(list, i)), text)) return true;
    return false;
}

static void test_whole(void **state)
{
    json_t *all = describe(*state), *engine = NULL, *version = NULL;
    const char *name = NULL;
    size_t i = 0;

    assert_string_equal(json_string_value(json_object_get(all, "ferry")), ferry_version());
    assert_int_equal(json_object_size(json_object_get(all, "libraries")), 10);
    json_object_foreach(json_object_get(all, "libraries"), name, version)
    {
        assert_non_null(strpbrk(json_string_value(version), "0123456789"));
    }
    assert_int_equal(json_array_size(json_object_get(all, "engines")),
                     ferry_i_engine_count());
    json_array_foreach(json_object_get(all, "engines"), i, engine)
    {
        if (ferry_i_engine_at((int64_t)i) !=
            &ferry_i_engine_cuda) /* a card is not everywhere */
            assert_true(json_is_true(json_object_get(engine, "works")));
        assert_string_equal(json_string_value(json_object_get(engine, "name")),
                            ferry_i_engine_at((int64_t)i)->name);
    }
    assert_true(
        json_integer_value(json_object_get(json_object_get(all, "memory"), "total")) > 0);
    assert_false(complains(all, "engine"));
    json_decref(all);
}

/* The struct has the numbers of the JSON, and says how large it is. */
static void test_struct(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_installation *here = NULL;
    json_t *all = describe(ctx), *m = json_object_get(all, "machine");

    assert_ok(ctx, ferry_doctor(ctx, &here));
    assert_int_equal(here->size, sizeof *here);
    assert_string_equal(here->version, ferry_version());
    assert_string_equal(here->engine, ferry_i_ctx_engine(ctx));
    assert_int_equal(here->n_libraries, 10);
    assert_string_equal(here->libraries[5], "jansson");
    assert_string_equal(here->library_versions[5], jansson_version_str());
    assert_int_equal(here->n_engines, ferry_i_engine_count());
    assert_true(here->engine_works[0]);
    assert_int_equal(here->threads, ctx->threads);
    assert_string_equal(here->system, json_string_value(json_object_get(m, "system")));
    assert_true(here->memory == json_integer_value(json_object_get(m, "memory")));
    assert_int_equal(here->n_problems, json_array_size(json_object_get(all, "problems")));
    ferry_installation_free(here);
    ferry_installation_free(NULL);
    json_decref(all);
}

static void test_too_many_threads(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *all = NULL;

    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    all = describe(ctx);
    assert_false(complains(all, "threads"));
    json_decref(all);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1024));
    all = describe(ctx);
    assert_true(complains(all, "1024 threads on"));
    json_decref(all);
}

static void test_wrong_kernels(void **state)
{
    json_t *all = describe(*state);
    const char *core = ferry_i_blas_core(), *wanted = ferry_i_blas_core_wanted();

    assert_int_equal(complains(all, "OPENBLAS_CORETYPE"),
                     core[0] && wanted[0] && strcmp(core, wanted) != 0);
    json_decref(all);
}

static ferry_status whole(ferry_ctx *ctx, void *arg)
{
    ferry_installation *here = NULL;
    char *text = NULL;
    ferry_status st = ferry_doctor(ctx, &here);

    (void)arg;
    if (st == FERRY_OK) st = ferry_i_installation_json(ctx, here, &text);
    ferry_string_free(text);
    ferry_installation_free(here);
    return st;
}

static void test_no_memory(void **state)
{
    each_allocation_fails(*state, whole, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_struct, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_too_many_threads, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_kernels, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
