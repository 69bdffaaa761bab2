#include "ferry_test.h"

#include <stdio.h>

static void same(const char *text)
{
    const double want = strtod(text, NULL);
    double got = -1;
    const char *end = text + strlen(text), *p = ferry_i_parse_real(text, end, &got);

    if (p != end || memcmp(&got, &want, sizeof got) != 0) {
        print_error("%s: got %.17g (%a), strtod gives %.17g (%a)\n", text, got, got, want,
                    want);
        fail();
    }
}

static void test_known(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "+1",
        "-1",
        "1.",
        ".5",
        "-.5e3",
        "1e0",
        "1E5",
        "1e+5",
        "1e-5",
        "9007199254740992",
        "9007199254740993",
        "9007199254740995",
        "1e22",
        "1e23",
        "123456789012345678",
        "0.1",
        "0.30000000000000004",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1e308",
        "1e309",
        "-1e309",
        "1e-400",
        "1e999999999",
        "1e-999999999",
        "00000000000000000000000000001.5",
        "0.00000000000000000000000000000000000000012345678901234567",
        "123456789012345678901234567890",
        "0.1234567890123456789012345678901234567890",
        "8.5070591730234615866e37",
        "7.2057594037927933e16",
        "9.5e-1",
        "12345678.12345678",
        "99999999.99999999",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same(texts[i]);
}

static void test_stops_where_the_number_ends(void **state)
{
    static const struct {
        const char *text;
        int stop; /* -1: no number */
    } cases[] = {{"1.5,2", 3}, {"1e", 1},    {"1e+", 1},        {"1e5x", 3},
                 {"", -1},     {"-", -1},    {".", -1},         {"+.e1", -1},
                 {"nan", -1},  {"inf", -1},  {"0x10", 1},       {"1..2", 2},
                 {"--1", -1},  {"1.5.5", 3}, {" 1", -1},        {"12a", 2},
                 {"1:2", 1},   {"e5", -1},   {"1/23456789", 1}, {"0.1234567:", 9}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *s = cases[i].text, *end = s + strlen(s);
        double x = 0;
        const char *p = ferry_i_parse_real(s, end, &x);
        assert_int_equal(p ? p - s : -1, cases[i].stop);
    }
    double x = 0;
    /* the end is a bound, whatever stands there */
    const char *digits = "123456789";
    assert_ptr_equal(ferry_i_parse_real(digits, digits + 3, &x), digits + 3);
    assert_true(x == 123);
}

/* Random bit patterns with 15, 16 and 17 digits, in several notations. */
static void test_random_doubles(void **state)
{
    ferry_rng rng;
    char text[512];

    (void)state;
    ferry_i_rng_seed(&rng, 7, 1);
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = ferry_i_rng_u64(&rng);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        snprintf(text, sizeof text, "%.*e", 14 + i % 3, x);
        same(text);
        snprintf(text, sizeof text, "%.*g", 1 + i % 17, x);
        same(text);
        snprintf(text, sizeof text, "%.*f", i % 20, ldexp(x, -ilogb(x) + i % 60));
        same(text);
    }
}

/* Numbers halfway between two doubles, and just beside: where rounding goes wrong. */
static void test_halfway(void **state)
{
    ferry_rng rng;
    char text[2000];

    (void)state;
    ferry_i_rng_seed(&rng, 7, 2);
    for (int i = 0; i < 100000; i++) {
        const uint64_t m = ferry_i_rng_u64(&rng) >> 11 | (uint64_t)1 << 52;
        const int e = (int)ferry_i_rng_below(&rng, 120) - 60;
        /* (2m + 1) / 2 * 2^e as a long double is exact: 54 bits */
        const long double half = ldexpl((long double)m + 0.5L, e);
        int n = snprintf(text, sizeof text, "%.*Lf", e < 0 ? 1 - e : 1, half);
        same(text);
        text[n - 1] = (char)(text[n - 1] == '0' ? '1' : text[n - 1] - 1);
        same(text);
        snprintf(text, sizeof text, "%.18Le", half);
        same(text);
    }
}

/* Random digit strings with random points and exponents. */
static void test_random_texts(void **state)
{
    ferry_rng rng;
    char text[64];

    (void)state;
    ferry_i_rng_seed(&rng, 7, 3);
    for (int i = 0; i < 1500000; i++) {
        const int digits = 1 + (int)ferry_i_rng_below(&rng, i % 50 ? 19 : 30);
        const int point = (int)ferry_i_rng_below(&rng, (uint64_t)digits + 1);
        int n = 0;
        if (ferry_i_rng_below(&rng, 4) == 0) text[n++] = '-';
        for (int k = 0; k < digits; k++) {
            if (k == point) text[n++] = '.';
            text[n++] = (char)('0' + ferry_i_rng_below(&rng, 10));
        }
        text[n] = 0;
        if (ferry_i_rng_below(&rng, 2))
            snprintf(text + n, sizeof text - (size_t)n, "e%d",
                     (int)ferry_i_rng_below(&rng, 80) - 40);
        same(text);
    }
}

static void test_integers(void **state)
{
    int64_t i = 0;
    const char *most = "9223372036854775807", *over = "9223372036854775808", *x = "-12x";

    (void)state;
    assert_ptr_equal(ferry_i_parse_int(most, most + 19, &i), most + 19);
    assert_true(i == INT64_MAX);
    assert_null(ferry_i_parse_int(over, over + 19, &i));
    assert_ptr_equal(ferry_i_parse_int(x, x + 4, &i), x + 3);
    assert_true(i == -12);
    assert_null(ferry_i_parse_int(x, x + 1, &i));
    const char *long_one = "99999999999999999999";
    assert_null(ferry_i_parse_int(long_one, long_one + 20, &i));
}

/* What is written reads back to the same bits. */
static void test_format_round_trip(void **state)
{
    ferry_rng rng;
    char text[32];

    (void)state;
    ferry_i_rng_seed(&rng, 7, 4);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = ferry_i_rng_u64(&rng);
        double x, back;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        if (i % 2) x = (double)(int64_t)(ferry_i_rng_below(&rng, 2000000)) / 1000 - 1000;
        const int n = ferry_i_format_real(text, x);
        assert_ptr_equal(ferry_i_parse_real(text, text + n, &back), text + n);
        assert_true(back == x);
    }
    (void)ferry_i_format_real(text, 3);
    assert_string_equal(text, "3");
}

/* A very long number needs memory for the slow way. */
static void test_long_number_without_memory(void **state)
{
    char text[301];
    double x = 0;

    (void)state;
    memset(text, '7', 300);
    text[300] = 0;
    same(text);
    fail_allocation(1);
    assert_null(ferry_i_parse_real(text, text + 300, &x));
    fail_allocation(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_stops_where_the_number_ends),
        cmocka_unit_test(test_random_doubles),
        cmocka_unit_test(test_halfway),
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_format_round_trip),
        cmocka_unit_test(test_long_number_without_memory),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
