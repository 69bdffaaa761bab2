/* MAT 5 files with a length that is not true, made by hand. */
#include "ferry_test.h"

#include <zlib.h>

#include "data/mat.h"

/* A file under construction, little-endian. */
static struct {
    char s[4096];
    int64_t n;
} f;

static void begin(void)
{
    memset(&f, 0, sizeof f);
    memset(f.s, ' ', 124);
    f.s[125] = 1;
    f.s[126] = 'I';
    f.s[127] = 'M';
    f.n = 128;
}

static void word(uint32_t x)
{
    memcpy(f.s + f.n, &x, 4);
    f.n += 4;
}

/* An element: tag and body, padded to 8. */
static void put(uint32_t type, const void *body, uint32_t n)
{
    word(type);
    word(n);
    memcpy(f.s + f.n, body, n);
    f.n += (n + 7) / 8 * 8;
}

static void flags(uint32_t class)
{
    const uint32_t w[] = {class, 0};

    put(6, w, 8);
}

static void dims(int32_t rows, int32_t cols)
{
    const int32_t d[] = {rows, cols};

    put(5, d, 8);
}

/* Open a variable; close() fills in its length. */
static int64_t open_variable(void)
{
    word(14);
    word(0);
    return f.n;
}

static void close_variable(int64_t at)
{
    const uint32_t n = (uint32_t)(f.n - at);

    memcpy(f.s + at - 4, &n, 4);
}

static const double six[] = {1, 2, 3, 4, 5, 6};
static const int32_t ints[] = {0, 1, 2, 3, 4};

static ferry_status check(ferry_ctx *ctx)
{
    char path[] = "made.mat";
    const ferry_input in = {.data = f.s, .size = f.n, .path = path};

    return ferry_i_mat_check(ctx, &in);
}

/* A variable of this class and shape named x; the caller adds what follows and closes. */
static int64_t head(uint32_t class, int32_t rows, int32_t cols)
{
    begin();
    const int64_t at = open_variable();
    flags(class);
    dims(rows, cols);
    put(1, "x", 1);
    return at;
}

static void test_sound(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at = head(6, 2, 3), inner;

    put(9, six, 48);
    close_variable(at);
    assert_ok(ctx, check(ctx));
    at = head(6 | 0x0800, 1, 2); /* complex */
    put(9, six, 16);
    put(9, six, 16);
    close_variable(at);
    assert_ok(ctx, check(ctx));
    at = head(8, 1, 2); /* numbers in the tag itself */
    word(2 << 16 | 1);
    word(7);
    close_variable(at);
    assert_ok(ctx, check(ctx));
    at = head(6, 0, 3); /* no numbers at all */
    close_variable(at);
    assert_ok(ctx, check(ctx));
    at = head(5, 3, 2); /* sparse: rows, columns, values */
    put(5, ints, 8);
    put(5, ints, 12);
    put(9, six, 16);
    close_variable(at);
    assert_ok(ctx, check(ctx));
    at = head(4, 1, 2);
    put(16, "\xc3\xbc!", 3); /* two characters of UTF-8 */
    close_variable(at);
    assert_ok(ctx, check(ctx));
    at = head(1, 1, 2); /* a cell array: one empty, one text */
    word(14);
    word(0);
    inner = open_variable();
    flags(4);
    dims(1, 1);
    put(1, "", 0);
    put(4, "a", 2);
    close_variable(inner);
    close_variable(at);
    assert_ok(ctx, check(ctx));
    at = head(2, 1, 1); /* a struct with one field */
    word(4 << 16 | 5);
    word(8);
    put(1, "field\0\0", 8);
    word(14);
    word(0);
    close_variable(at);
    assert_ok(ctx, check(ctx));
}

static void refused(ferry_ctx *ctx, int64_t at, const char *text)
{
    close_variable(at);
    assert_fails(ctx, check(ctx), FERRY_EDATA, text);
    assert_int_equal(strncmp(ferry_message(ctx), "made.mat: ", 10), 0);
}

static void test_damaged(void **state)
{
    ferry_ctx *ctx = *state;
    static const char damaged[] = "variable 1 is damaged";
    int64_t at = head(6, 2, 3);

    put(9, six, 40); /* five of six numbers */
    refused(ctx, at, damaged);
    at = head(6, 2, 3);
    put(11, six, 48); /* no type of numbers */
    refused(ctx, at, damaged);
    at = head(6, 2, 3); /* no data */
    refused(ctx, at, damaged);
    at = head(6 | 0x0800, 2, 3); /* no imaginary part */
    put(9, six, 48);
    refused(ctx, at, damaged);
    at = head(6, -1, 3);
    refused(ctx, at, damaged);
    at = head(17, 1, 1); /* an object of MATLAB's */
    refused(ctx, at, damaged);
    at = head(5, 3, 2); /* too few column offsets */
    put(5, ints, 8);
    put(5, ints, 8);
    put(9, six, 16);
    refused(ctx, at, damaged);
    at = head(5, 3, 2); /* more values than rows for them */
    put(5, ints, 8);
    put(5, ints, 12);
    put(9, six, 24);
    refused(ctx, at, damaged);
    at = head(5, 3, 2);
    put(9, six, 16);
    refused(ctx, at, damaged);
    at = head(1, 50000, 50000); /* cells that cannot be there */
    refused(ctx, at, damaged);
    at = head(1, 1, 1); /* a cell that is no variable */
    put(9, six, 8);
    refused(ctx, at, damaged);
    at = head(2, 1, 1); /* names of 3 bytes in all, 8 bytes each */
    word(4 << 16 | 5);
    word(8);
    put(1, "abc", 3);
    refused(ctx, at, damaged);
    at = head(2, 1, 1);
    put(1, "abc", 3);
    refused(ctx, at, damaged);
    begin(); /* the length of the dimensions */
    at = open_variable();
    flags(6);
    word(5);
    word(0x3dfffffe);
    refused(ctx, at, damaged);
    begin();
    at = open_variable();
    flags(6);
    dims(1, 1);
    put(1, f.s, 32); /* fine, but then ... */
    word(9 << 16 | 9);
    word(0);
    refused(ctx, at, damaged);
    begin();
    at = open_variable(); /* nothing in it */
    refused(ctx, at, damaged);
}

static void test_deep_cells(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t open[40];

    begin();
    for (int i = 0; i < 40; i++) {
        open[i] = open_variable();
        flags(1);
        dims(1, 1);
        put(1, "", 0);
    }
    word(14);
    word(0);
    for (int i = 39; i >= 0; i--)
        close_variable(open[i]);
    assert_fails(ctx, check(ctx), FERRY_EDATA, "variable 1 is damaged");
}

static void test_outline(void **state)
{
    ferry_ctx *ctx = *state;

    begin();
    f.n = 100;
    assert_fails(ctx, check(ctx), FERRY_EDATA, "is not a MAT 5 or 7.3 file");
    begin();
    f.s[126] = 'X';
    assert_fails(ctx, check(ctx), FERRY_EDATA, "is not a MAT 5 or 7.3 file");
    begin();
    f.s[125] = 2;
    assert_fails(ctx, check(ctx), FERRY_EDATA, "truncated MAT 7.3 file");
    begin();
    put(9, six, 8);
    assert_fails(ctx, check(ctx), FERRY_EDATA, "element 1 has type 9, expected a variable");
    begin();
    word(14);
    word(1000);
    assert_fails(ctx, check(ctx), FERRY_EDATA,
                 "truncated: element 1 has 1000 bytes, 0 are left");
    begin();
    put(15, "no zlib here", 12);
    assert_fails(ctx, check(ctx), FERRY_EDATA, "a variable cannot be unpacked");
}

/* Pack what `head` and others made into one element of type 15. */
static void pack(void)
{
    char packed[4096];
    uLongf n = sizeof packed;

    assert_int_equal(
        compress((Bytef *)packed, &n, (const Bytef *)f.s + 128, (uLong)(f.n - 128)), Z_OK);
    begin();
    word(15);
    word((uint32_t)n);
    memcpy(f.s + f.n, packed, n);
    f.n += (int64_t)n; /* not padded */
}

static ferry_status check_again(ferry_ctx *ctx, void *arg)
{
    (void)arg;
    return check(ctx);
}

static void test_packed(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at = head(6, 2, 3);

    put(9, six, 48);
    close_variable(at);
    pack();
    assert_ok(ctx, check(ctx));
    each_allocation_fails(ctx, check_again, NULL);
    f.n -= 5;
    memcpy(f.s + 132, &(uint32_t){(uint32_t)(f.n - 136)}, 4);
    assert_fails(ctx, check(ctx), FERRY_EDATA, "cannot be unpacked");
    at = head(6, 2, 3);
    put(9, six, 40);
    close_variable(at);
    pack();
    assert_fails(ctx, check(ctx), FERRY_EDATA, "variable 1 is damaged");
    begin();
    put(9, six, 48);
    pack();
    assert_fails(ctx, check(ctx), FERRY_EDATA, "element 1 holds no variable");
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sound),   TEST(test_damaged), TEST(test_deep_cells),
        TEST(test_outline), TEST(test_packed),
    };
    return cmocka_run_group_tests_name("mat_check", tests, NULL, NULL);
}
