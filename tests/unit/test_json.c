/* JSON when memory runs out: jansson 2.14's own parser aborts then (core/json.c says where). */
#include "ferry_test.h"

#include <stdio.h>

#include "core/json.h"

/* A token that fills jansson's buffer of 16, 32 ... bytes to the last is where it aborts: numbers and words
 * of every length, and a string with a line end inside. */
static const char *text_of(int kind, int length)
{
    static char text[256];
    char token[128];

    memset(token, kind == 1 ? 'a' : '1', sizeof token);
    token[length] = 0;
    (void)snprintf(text, sizeof text,
                   kind == 0   ? "{\"key\": [%s, true, {}]}"
                   : kind == 1 ? "[\"\\u00e4\", %s]"
                               : "[\"%s\n\"]",
                   token);
    return text;
}

/* With each allocation failing in turn, alone or with all after it. */
static void parse_all(ferry_ctx *ctx, const char *text, void (*refuse)(int64_t n))
{
    const int64_t n = (int64_t)strlen(text);
    json_error_t error;
    json_t *j = NULL;

    assert_int_equal(ferry_i_json_parse(ctx, text, n, 0, &error, &j), FERRY_OK);
    json_t *fine = json_loads(text, 0, NULL);
    assert_int_equal(j == NULL, fine == NULL);
    assert_true(!j || json_equal(j, fine));
    json_decref(j);
    json_decref(fine);
    for (int64_t i = 1;; i++) {
        const int64_t before = live_blocks();
        refuse(i);
        const ferry_status st = ferry_i_json_parse(ctx, text, n, 0, &error, &j);
        const bool reached = allocations() >= i;
        fail_allocation(0);
        if (!reached) {
            json_decref(j);
            assert_true(i > 2);
            return;
        }
        assert_int_equal(st, FERRY_ENOMEM);
        assert_null(j);
        assert_int_equal(live_blocks(), before);
    }
}

static void test_no_memory(void **state)
{
    for (int kind = 0; kind < 3; kind++)
        for (int length = 1; length < 80; length++) {
            parse_all(*state, text_of(kind, length), fail_allocations_from);
            parse_all(*state, text_of(kind, length), fail_allocation);
        }
}

/* What is built goes by the same allocator, and a lost piece is not a shorter text. */
static void test_dump(void **state)
{
    ferry_ctx *ctx = *state;
    char *text = NULL;

    for (int64_t i = 1;; i++) {
        const int64_t before = live_blocks();
        fail_allocation(i);
        json_t *j = json_pack("{s:s, s:[i, i]}", "a", "text", "b", 1, 2);
        const ferry_status st =
            ferry_i_json_dump(ctx, j, JSON_COMPACT | JSON_SORT_KEYS, &text);
        const bool reached = allocations() >= i;
        fail_allocation(0);
        json_decref(j);
        if (!reached) {
            assert_int_equal(st, FERRY_OK);
            assert_string_equal(text, "{\"a\":\"text\",\"b\":[1,2]}");
            ferry_string_free(text);
            assert_true(i > 5);
            return;
        }
        assert_int_equal(st, FERRY_ENOMEM);
        assert_int_equal(live_blocks(), before);
    }
}

static void test_files(void **state)
{
    ferry_ctx *ctx = *state;
    json_error_t error;
    json_t *j = NULL;

    assert_ok(ctx, ferry_i_json_load(ctx, tmp_file("a.json", "[1]", -1), &error, &j));
    assert_int_equal(json_array_size(j), 1);
    json_decref(j);
    assert_ok(ctx, ferry_i_json_load(ctx, tmp_file("b.json", "[1\n,", -1), &error, &j));
    assert_null(j);
    assert_int_equal(error.line, 2);
    assert_ok(ctx, ferry_i_json_load(ctx, tmp_path("none.json"), &error, &j));
    assert_true(!j && error.line < 0);
    assert_ok(ctx, ferry_i_json_load(ctx, "/dev/zero", &error, &j));
    assert_true(!j && error.line < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_dump, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_files, ctx_setup, ctx_teardown),
    };
    fail_allocation(0); /* jansson gets the allocator of the first context */
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
