/* The checksum and the catalog of ferry fetch. Downloads are tested in tests/cli. */
#include "ferry_test.h"

#include <stdio.h>
#include <string.h>

#include "fetch/fetch.h"

static void check_sum(const char *text, int64_t times, const char *hex)
{
    ferry_sha256 s;
    uint8_t sum[32];
    char got[65];

    ferry_i_sha256_begin(&s);
    for (int64_t i = 0; i < times; i++)
        ferry_i_sha256_add(&s, text, (int64_t)strlen(text));
    ferry_i_sha256_end(&s, sum);
    for (int i = 0; i < 32; i++)
        (void)snprintf(got + 2 * i, 3, "%02x", sum[i]);
    assert_string_equal(got, hex);
}

/* The examples of FIPS 180-4, and every length around a block. */
static void test_sha256(void **state)
{
    (void)state;
    check_sum("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sum("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sum("aaaaaaaaaa", 100000,
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    check_sum("a", 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
    check_sum("a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

static void test_path_inside(void **state)
{
    (void)state;
    assert_true(ferry_i_path_inside("a/b.c"));
    assert_true(ferry_i_path_inside("..a/b..")); /* only a name */
    static const char *const bad[] = {"",   "/a",   "a//b", "a/",    "./a",
                                      "..", "a/..", "../a", "a/./b", "a\\..\\b"};
    for (int64_t i = 0; i < FERRY_COUNT(bad); i++)
        assert_false(ferry_i_path_inside(bad[i]));
}

/* The catalog that Ferry comes with: names sorted, something in each. */
static void test_own_catalog(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_catalog *c = NULL;

    assert_ok(ctx, ferry_catalog_load(ctx, NULL, &c));
    assert_non_null(ferry_catalog_at(c, 14));
    for (int64_t i = 0; ferry_catalog_at(c, i); i++) {
        const ferry_dataset *d = ferry_catalog_at(c, i);
        assert_true(d->files > 0 && d->summary[0] && d->terms[0]);
        if (i > 0) assert_true(strcmp(ferry_catalog_at(c, i - 1)->name, d->name) < 0);
    }
    assert_null(ferry_catalog_at(c, -1));
    assert_null(ferry_catalog_at(c, 1000));
    ferry_catalog_free(c);
}

static ferry_status body(ferry_ctx *ctx, void *path)
{
    ferry_catalog *c = NULL;
    const ferry_status st = ferry_catalog_load(ctx, path, &c);

    ferry_catalog_free(c);
    return st;
}

static void test_no_memory(void **state)
{
    const char *path = tmp_file(
        "catalog.txt",
        "set a one\nterms free\nbase http://h/\n"
        "file ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 3 x/y\n"
        "set b two\n"
        "unpack ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad - t.tgz "
        "https://other/t\n",
        -1);

    each_allocation_fails(*state, body, (void *)path);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {T(test_sha256), T(test_path_inside),
                                       T(test_own_catalog), T(test_no_memory)};
    return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
