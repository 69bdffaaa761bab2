#include "ferry_test.h"

static void digest_of(const char *text, int64_t times, int64_t piece, char *hex)
{
    const int64_t n = (int64_t)strlen(text);
    uint8_t digest[32];
    ferry_sha256 s;

    ferry_i_sha256_begin(&s);
    for (int64_t t = 0; t < times; t++)
        for (int64_t i = 0; i < n; i += piece)
            ferry_i_sha256_add(&s, text + i, n - i < piece ? n - i : piece);
    ferry_i_sha256_end(&s, digest);
    for (int i = 0; i < 32; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    hex[64] = 0;
}

/* The examples of FIPS 180-4, whole and in pieces. */
static void test_examples(void **state)
{
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char hex[65];

    (void)state;
    digest_of("", 1, 1, hex);
    assert_string_equal(hex,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_of("abc", 1, 64, hex);
    assert_string_equal(hex,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (int64_t piece = 1; piece < 60; piece += 7) {
        digest_of(two, 1, piece, hex);
        assert_string_equal(
            hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
    digest_of("aaaaaaaaaa", 100000, 10, hex);
    assert_string_equal(hex,
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples)};

    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
