#include "ferry_test.h"

#include <fcntl.h>
#include <float.h>
#include <jansson.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- random numbers ---- */

/* First outputs of pcg64 with seed 42, stream 54: the reference program pcg64-demo prints
 * these. */
static void test_pcg64_reference(void **state)
{
    static const uint64_t want[] = {0x86b1da1d72062b68, 0x1304aa46c9853d39,
                                    0xa3670e9e0dd50358, 0xf9090e529a7dae00,
                                    0xc85b9fd837996f2c, 0x606121f8e3919196};
    ferry_rng rng;

    (void)state;
    ferry_i_rng_seed(&rng, 42, 54);
    for (int i = 0; i < 6; i++)
        assert_int_equal(ferry_i_rng_u64(&rng), want[i]);
}

static void test_streams_differ_by_use_and_repeat(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_rng a, b, c, d;

    ferry_i_rng_for(ctx, &a, "split");
    ferry_i_rng_for(ctx, &b, "start");
    ctx->repeat = 1;
    ferry_i_rng_for(ctx, &c, "split");
    ctx->repeat = 0;
    ferry_i_rng_for(ctx, &d, "split");
    const uint64_t x = ferry_i_rng_u64(&a);
    assert_int_not_equal(x, ferry_i_rng_u64(&b));
    assert_int_not_equal(x, ferry_i_rng_u64(&c));
    assert_int_equal(x, ferry_i_rng_u64(&d));
    ctx->seed = 2;
    assert_int_equal(ctx->seed, 2);
    ferry_i_rng_for(ctx, &d, "split");
    assert_int_not_equal(x, ferry_i_rng_u64(&d));
}

static void test_moments(void **state)
{
    ferry_rng rng;
    double s1 = 0, s2 = 0, u = 0;
    int64_t count[3] = {0}, a[100];
    const int n = 200000;

    (void)state;
    ferry_i_rng_seed(&rng, 7, 1);
    for (int i = 0; i < n; i++) {
        const double z = ferry_i_rng_normal(&rng), r = ferry_i_rng_real(&rng);
        assert_true(r >= 0 && r < 1);
        s1 += z;
        s2 += z * z;
        u += r;
        count[ferry_i_rng_below(&rng, 3)]++;
    }
    assert_close(s1 / n, 0, 0.01); /* 4.5 standard errors */
    assert_close(s2 / n, 1, 0.01);
    assert_close(u / n, 0.5, 0.003);
    for (int i = 0; i < 3; i++)
        assert_close((double)count[i] / n, 1.0 / 3, 0.005);
    for (int i = 0; i < 100; i++)
        a[i] = i;
    ferry_i_rng_shuffle(&rng, 100, a);
    int64_t sum = 0, moved = 0;
    for (int i = 0; i < 100; i++) {
        sum += a[i];
        moved += a[i] != i;
    }
    assert_int_equal(sum, 4950);
    assert_true(moved > 80);
    /* nearly 2^64 outcomes: rejection has to work, not loop for ever */
    assert_true(ferry_i_rng_below(&rng, (uint64_t)1 << 63 | 1) <= (uint64_t)1 << 63);
}

/* ---- ids
 * -----------------------------------------------------------------------------------------
 */

static void test_ids(void **state)
{
    ferry_ids *ids = ferry_i_ids_new(), *copy = NULL, *numbers = NULL;
    bool added = false;
    char name[32];

    (void)state;
    assert_int_equal(ferry_i_ids_find(ids, "x"), -1);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "id%d", i);
        assert_int_equal(ferry_i_ids_add(ids, name, &added), i);
        assert_true(added);
    }
    assert_int_equal(ferry_i_ids_add(ids, "id7", &added), 7);
    assert_false(added);
    assert_int_equal(ferry_i_ids_findn(ids, "id77x", 4), 77);
    assert_int_equal(ferry_i_ids_find(ids, "id1000"), -1);
    assert_int_equal(ferry_i_ids_add(ids, "", NULL), 1000); /* an empty id is an id */
    assert_int_equal(ferry_i_ids_find(ids, ""), 1000);
    assert_int_equal(ferry_i_ids_addn(ids, "a\0b", 3, NULL),
                     1001); /* ends at the zero byte */
    assert_string_equal(ferry_i_ids_at(ids, 1001), "a");
    copy = ferry_i_ids_copy(ids);
    assert_int_equal(ferry_i_ids_count(copy), 1002);
    assert_string_equal(ferry_i_ids_at(copy, 999), "id999");
    numbers = ferry_i_ids_numbers(12);
    assert_string_equal(ferry_i_ids_at(numbers, 11), "12");
    ferry_i_ids_free(numbers);
    /* row numbers have neither offsets nor slots, and answer as if they had */
    numbers = ferry_i_ids_numbers(123456);
    for (int64_t i = 0; i < 123456; i++) {
        char text[16];
        snprintf(text, sizeof text, "%lld", (long long)i + 1);
        assert_string_equal(ferry_i_ids_at(numbers, i), text);
        assert_int_equal(ferry_i_ids_find(numbers, text), i);
    }
    const char *const none[] = {"0",
                                "01",
                                "",
                                "-1",
                                "+1",
                                "1.0",
                                "123457",
                                "1e3",
                                "x",
                                " 1",
                                "99999999999999999999"};
    for (int64_t i = 0; i < FERRY_COUNT(none); i++)
        assert_int_equal(ferry_i_ids_find(numbers, none[i]), -1);
    assert_int_equal(ferry_i_ids_findn(numbers, "12345", 3), 122);
    assert_int_equal(ferry_i_ids_add(numbers, "77", &added), 76);
    assert_false(added);
    assert_int_equal(ferry_i_ids_add(numbers, "more", &added), 123456);
    assert_true(added);
    assert_int_equal(ferry_i_ids_find(numbers, "99999"), 99998);
    assert_int_equal(ferry_i_ids_find(numbers, "123457"), -1);
    assert_string_equal(ferry_i_ids_at(numbers, 123456), "more");
    assert_string_equal(ferry_i_ids_at(numbers, 99), "100");
    assert_int_equal(ferry_i_ids_count(numbers), 123457);
    assert_int_equal(ferry_i_ids_count(NULL), 0);
    assert_int_equal(ferry_i_ids_find(NULL, "a"), -1);
    ferry_i_ids_free(ids);
    ferry_i_ids_free(copy);
    ferry_i_ids_free(numbers);
    ferry_i_ids_free(NULL);
}

static ferry_status many_ids(ferry_ctx *ctx, void *arg)
{
    ferry_ids *ids = ferry_i_ids_numbers(100), *copy = NULL;
    ferry_status st = FERRY_OK;

    (void)arg;
    FERRY_HAVE(ctx, ids);
    copy = ferry_i_ids_copy(ids);
    FERRY_HAVE(ctx, copy);
done:
    ferry_i_ids_free(ids);
    ferry_i_ids_free(copy);
    return st;
}

/* ---- numbers as text ---- */

static double parse(const char *s)
{
    double x = -12345;
    const char *end = ferry_i_parse_real(s, s + strlen(s), &x);

    assert_ptr_equal(end, s + strlen(s));
    return x;
}

static void test_parse_real(void **state)
{
    static const char *const good[] = {
        "0",
        "-0",
        "1",
        "+1",
        "12345678901234567890",
        "0.1",
        ".5",
        "5.",
        "1e5",
        "1E-5",
        "1e+05",
        "2.2250738585072014e-308",
        "4.9e-324",
        "1.7976931348623157e308",
        "1e400",
        "-1e400",
        "1e-400",
        "0.30000000000000004",
        "9007199254740993",
        "9007199254740992.5",
        "123456789012345678e-5",
        "8.5e22",
        "1e23",
        "0.000000000000000000000000000000123456789012345678901234567890",
        "7.2057594037927933e16",
        "3.4028234663852886e38",
        "00000000000000000000000001.25",
        "1e99999999999999999999"};
    static const char *const bad[] = {"",    "-",   ".",   "e5",  "abc",
                                      "nan", "inf", "+-1", "-.e1"};
    double x = 0;

    (void)state;
    for (int64_t i = 0; i < FERRY_COUNT(good); i++) {
        const double want = strtod(good[i], NULL), got = parse(good[i]);
        assert_memory_equal(&want, &got, sizeof want);
    }
    for (int64_t i = 0; i < FERRY_COUNT(bad); i++)
        assert_null(ferry_i_parse_real(bad[i], bad[i] + strlen(bad[i]), &x));
    const char *s = "1.5e", *t = "0x10", *u = "12,5";
    assert_ptr_equal(ferry_i_parse_real(s, s + 4, &x),
                     s + 3); /* a bare e is not part of it */
    assert_close(x, 1.5, 0);
    assert_ptr_equal(ferry_i_parse_real(t, t + 4, &x), t + 1); /* no hexadecimal */
    assert_ptr_equal(ferry_i_parse_real(u, u + 4, &x), u + 2);
}

/* Any double printed with 15 to 17 digits, and any digits at all, must round as strtod
 * does. */
static void test_parse_real_as_strtod(void **state)
{
    ferry_rng rng;
    char text[64];

    (void)state;
    ferry_i_rng_seed(&rng, 3, 3);
    for (int i = 0; i < 300000; i++) {
        double x;
        uint64_t bits = ferry_i_rng_u64(&rng);
        if (i % 3 == 0) {
            memcpy(&x, &bits, sizeof x);
            if (!isfinite(x)) continue;
            snprintf(text, sizeof text, "%.*g", 15 + i % 4, x);
        } else if (i % 3 == 1) {
            snprintf(text, sizeof text, "%.*f", i % 20, ferry_i_rng_normal(&rng) * 1e3);
        } else {
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)bits, i % 61 - 30);
        }
        const double want = strtod(text, NULL), got = parse(text);
        if (memcmp(&want, &got, sizeof want) != 0)
            fail_msg("%s: %.17g, not %.17g", text, got, want);
    }
}

static void test_parse_real_any_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        /* no such locale here: still, a long text must take the slow way */
        assert_true(parse("0.1234567890123456789012345678901234567890") ==
                    0.12345678901234568);
        return;
    }
    assert_true(parse("0.1234567890123456789012345678901234567890") == 0.12345678901234568);
    setlocale(LC_NUMERIC, "C");
}

static void test_parse_int(void **state)
{
    int64_t x = 0;
    const char *max = "9223372036854775807", *over = "9223372036854775808", *word = "x";

    (void)state;
    assert_ptr_equal(ferry_i_parse_int(max, max + 19, &x), max + 19);
    assert_int_equal(x, INT64_MAX);
    assert_null(ferry_i_parse_int(over, over + 19, &x));
    assert_null(
        ferry_i_parse_int("99999999999999999999", (char *)"99999999999999999999" + 20, &x));
    assert_null(ferry_i_parse_int(word, word + 1, &x));
    assert_null(ferry_i_parse_int(word, word, &x));
    const char *minus = "-17,";
    assert_ptr_equal(ferry_i_parse_int(minus, minus + 4, &x), minus + 3);
    assert_int_equal(x, -17);
}

/* The first of 15, 16 and 17 digits of printf that reads back. */
static void assert_shortest(double x)
{
    char text[32], want[32];
    int digits = 14;

    do
        (void)snprintf(want, sizeof want, "%.*g", ++digits, x);
    while (strtod(want, NULL) != x);
    assert_int_equal(ferry_i_format_real(text, x), strlen(want));
    assert_string_equal(text, want);
}

/* The sizes that go by exact products, their ends and ties; numbers as people type them too. */
static void test_format_real_is_printf(void **state)
{
    static const double ends[] = {1e-10,
                                  9.9999999999999999e-11,
                                  9e14,
                                  0.1,
                                  1e-4,
                                  9.9999999999999e-5,
                                  899999999999999.9,
                                  999999999999999.9,
                                  0.99999999999999989,
                                  9.5,
                                  0.3};
    ferry_rng rng;

    (void)state;
    ferry_i_rng_seed(&rng, 6, 6);
    for (int64_t i = 0; i < FERRY_COUNT(ends); i++) {
        assert_shortest(ends[i] < 1e15 && ends[i] == floor(ends[i]) ? ends[i] + 0.125
                                                                    : ends[i]);
        assert_shortest(-nextafter(ends[i], 0));
        assert_shortest(nextafter(ends[i], 1e300) + (ends[i] > 1e14 ? 0.125 : 0));
    }
    for (int i = 0; i < 200000; i++) {
        const double x = pow(10, 27 * ferry_i_rng_real(&rng) - 11);
        const double typed = floor(1e5 * ferry_i_rng_real(&rng)) / 1e4;
        const double half = floor(1e9 * ferry_i_rng_real(&rng)) + 1 / (double)(2 << i % 24);
        if (x != floor(x)) assert_shortest(i & 1 ? x : -x);
        if (typed != floor(typed)) assert_shortest(typed);
        assert_shortest(half);
    }
}

static void test_format_real_reads_back(void **state)
{
    ferry_rng rng;
    char text[32];

    (void)state;
    ferry_i_rng_seed(&rng, 5, 5);
    for (int i = 0; i < 100000; i++) {
        double x;
        const uint64_t bits = ferry_i_rng_u64(&rng);
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        assert_true(ferry_i_format_real(text, x) < 32);
        const double back = parse(text);
        assert_memory_equal(&x, &back, sizeof x);
    }
    static const struct {
        double x;
        const char *text;
    } exact[] = {{0, "0"},     {-0.0, "-0"},    {1, "1"},           {-7, "-7"},
                 {0.1, "0.1"}, {1e15, "1e+15"}, {123456, "123456"}, {0.5, "0.5"}};
    for (int64_t i = 0; i < FERRY_COUNT(exact); i++) {
        ferry_i_format_real(text, exact[i].x);
        assert_string_equal(text, exact[i].text);
    }
}

/* ---- options
 * ------------------------------------------------------------------------------------------
 */

typedef struct sample_options {
    int64_t rank;
    double tol;
    int centre, mode;
    const char *file;
} sample_options;

static const ferry_opt sample_table[] = {
    FERRY_OPT(sample_options, INT, rank, 10, 1, 1e9, "rows of U"),
    FERRY_OPT(sample_options, REAL, tol, 1e-6, 0, INFINITY, "where to stop"),
    FERRY_OPT_YES_NO(sample_options, centre, "yes", "subtract the mean"),
    FERRY_OPT_ONE_OF(sample_options, mode, "st|it,ti|sit|,all", "sit", "which hops"),
    FERRY_OPT_STRING(sample_options, file, "", "start from here"),
};

static ferry_status parse_sample(ferry_ctx *ctx, const ferry_opts *opts, sample_options *o)
{
    return ferry_i_opts_parse(ctx, "sample", sample_table, FERRY_COUNT(sample_table), opts,
                              o);
}

static void test_options_defaults_and_values(void **state)
{
    ferry_ctx *ctx = *state;
    sample_options o;
    ferry_opts *opts =
        opts_of(ctx, "rank=3", "tol=inf", "centre=off", "mode=it", "file=a b", NULL);

    assert_ok(ctx, parse_sample(ctx, NULL, &o));
    assert_int_equal(o.rank, 10);
    assert_close(o.tol, 1e-6, 0);
    assert_int_equal(o.centre, 1);
    assert_int_equal(o.mode, 2);
    assert_string_equal(o.file, "");
    assert_ok(ctx, parse_sample(ctx, opts, &o));
    assert_int_equal(o.rank, 3);
    assert_true(isinf(o.tol));
    assert_int_equal(o.centre, 0);
    assert_int_equal(o.mode, 1);
    assert_string_equal(o.file, "a b");
    assert_ok(ctx, ferry_opts_set(ctx, opts, "rank", "1e3"));
    assert_ok(ctx, parse_sample(ctx, opts, &o));
    assert_int_equal(o.rank, 1000);
    assert_ok(ctx, ferry_opts_set(ctx, opts, "mode", "ti")); /* an old name */
    assert_ok(ctx, parse_sample(ctx, opts, &o));
    assert_int_equal(o.mode, 1);
    assert_ok(ctx, ferry_opts_set(ctx, opts, "mode", "all")); /* a choice no longer shown */
    assert_ok(ctx, parse_sample(ctx, opts, &o));
    assert_int_equal(o.mode, 3);
    assert_int_equal(ferry_i_opts_count(opts), 5);
    assert_null(ferry_opts_get(opts, "none"));
    ferry_opts_free(opts);
    ferry_opts_free(NULL);
}

static void test_options_refused(void **state)
{
    static const struct {
        const char *setting, *message;
    } bad[] = {
        {"rank=0", "sample: rank = 0 is outside [1, 1e+09]"},
        {"rank=1.5", "sample: rank = 1.5 is not a whole number"},
        {"rank=", "is not a whole number"},
        {"tol=-1", "sample: tol = -1 is outside [0, inf]"},
        {"tol=abc", "sample: tol = abc is not a number"},
        {"tol=1x", "is not a number"},
        {"centre=maybe", "sample: centre = maybe is not one of yes | no"},
        {"mode=its", "sample: mode = its is not one of st | it | sit"},
        {"mode=s", "is not one of"},
        {"mode=", "is not one of st | it | sit"},
        {"rnak=3", "sample: unknown option rnak (did you mean rank?)"},
        {"zzzzzzzz=3", "sample: unknown option zzzzzzzz"},
    };
    ferry_ctx *ctx = *state;
    sample_options o;

    for (int64_t i = 0; i < FERRY_COUNT(bad); i++) {
        ferry_opts *opts = opts_of(ctx, bad[i].setting, NULL);
        assert_fails(ctx, parse_sample(ctx, opts, &o), FERRY_EINVAL, bad[i].message);
        ferry_opts_free(opts);
    }
    assert_null(strstr(ferry_message(ctx), "did you mean"));
}

static void test_ranges_in_words(void **state)
{
    static const struct {
        double min, max;
        const char *words;
    } range[] = {
        {-DBL_MAX, DBL_MAX, "any number"},
        {-INFINITY, INFINITY, "any number"},
        {DBL_MIN, DBL_MAX, "above 0"},
        {DBL_MIN, 10, "above 0 .. 10"},
        {-1, INFINITY, "-1 or more"},
        {-INFINITY, 2.5, "up to 2.5"},
        {0, 1, "0 .. 1"},
    };

    (void)state;
    for (int64_t i = 0; i < FERRY_COUNT(range); i++) {
        const ferry_opt o = {
            .type = FERRY_OPT_REAL, .min = range[i].min, .max = range[i].max};
        char *s = ferry_opt_range(&o);
        assert_string_equal(s, range[i].words);
        ferry_string_free(s);
    }
}

static void test_options_as_text(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *opts = opts_of(ctx, "mode=it", "rank=10", "tol=0.5", NULL), *back = NULL;
    static const char *const range[] = {"1 .. 1e+09", "0 or more", "yes | no",
                                        "st | it | sit", "text"};
    char *s = ferry_i_opts_differing(sample_table, FERRY_COUNT(sample_table), opts);

    assert_string_equal(s, "tol=0.5 mode=it");
    ferry_string_free(s);
    for (int i = 0; i < 5; i++) {
        s = ferry_opt_range(&sample_table[i]);
        assert_string_equal(s, range[i]);
        ferry_string_free(s);
    }
    json_t *json = ferry_i_opts_json(sample_table, FERRY_COUNT(sample_table), opts);
    assert_string_equal(json_string_value(json_object_get(json, "rank")), "10");
    assert_string_equal(json_string_value(json_object_get(json, "centre")), "yes");
    assert_ok(ctx, ferry_i_opts_from_json(ctx, json, &back));
    assert_string_equal(ferry_opts_get(back, "mode"), "it");
    ferry_opts_free(back);
    json_object_set_new(json, "rank", json_integer(3));
    assert_fails(ctx, ferry_i_opts_from_json(ctx, json, &back), FERRY_EDATA, "option rank");
    assert_null(back);
    json_decref(json);
    ferry_opts_free(opts);
}

static ferry_status options_body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_opts *a = NULL, *b = NULL;
    char key[16];

    (void)arg;
    FERRY_TRY(ferry_opts_new(ctx, &a));
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "k%d", i);
        FERRY_TRY(ferry_opts_set(ctx, a, key, "v"));
    }
    FERRY_TRY(ferry_opts_set(ctx, a, "k3", "w"));
    FERRY_TRY(ferry_i_opts_copy(ctx, a, &b));
done:
    ferry_opts_free(a);
    ferry_opts_free(b);
    return st;
}

/* ---- context, log, progress, diagnostics ---- */

static char last_line[256];
static int lines;

static void keep_line(void *user, ferry_level level, const char *line)
{
    (void)user, (void)level;
    snprintf(last_line, sizeof last_line, "%s", line);
    lines++;
}

static void test_log_levels(void **state)
{
    ferry_ctx *ctx = *state;

    lines = 0;
    ferry_i_log(ctx, FERRY_WARN, "nobody listens");
    ferry_ctx_set_log(ctx, keep_line, FERRY_INFO, NULL);
    ferry_i_log(ctx, FERRY_DEBUG, "too quiet");
    assert_int_equal(lines, 0);
    ferry_i_log(ctx, FERRY_INFO, "%d rows", 3);
    assert_int_equal(lines, 1);
    assert_string_equal(last_line, "3 rows");
}

static void test_messages(void **state)
{
    ferry_ctx *ctx = *state;

    assert_string_equal(ferry_message(ctx), "");
    assert_int_equal(ferry_i_fail(ctx, FERRY_EDATA, "bad\nbyte \x01"), FERRY_EDATA);
    assert_string_equal(ferry_message(ctx), "bad?byte ?");
    ferry_i_prefix(ctx, FERRY_EDATA, "%s", "x.csv");
    assert_string_equal(ferry_message(ctx), "x.csv: bad?byte ?");
    assert_int_equal(ferry_i_nomem(ctx), FERRY_ENOMEM);
    assert_string_equal(ferry_message(ctx), "out of memory");
    for (int s = 0; s >= -7; s--)
        assert_string_not_equal(ferry_status_name((ferry_status)s), "unknown status");
    assert_string_equal(ferry_status_name((ferry_status)99), "unknown status");
    assert_string_equal(ferry_version(), FERRY_VERSION);
}

static ferry_answer answer;
static ferry_progress seen;

static ferry_answer answer_it(void *user, const ferry_progress *p)
{
    (void)user;
    seen = *p;
    return answer;
}

static void test_progress_answers(void **state)
{
    ferry_ctx *ctx = *state;
    bool finish = false;

    assert_ok(ctx, ferry_i_progress(ctx, "als", 1, 10, NAN, &finish)); /* no callback */
    ferry_ctx_set_progress(ctx, answer_it, NULL);
    answer = FERRY_GO;
    ctx->step = 2;
    ctx->steps = 5;
    assert_ok(ctx, ferry_i_progress(ctx, "als", 3, 10, 1.5, &finish));
    assert_false(finish);
    assert_string_equal(seen.what, "als");
    assert_int_equal(seen.done, 3);
    assert_int_equal(seen.total, 10);
    assert_int_equal(seen.step, 2);
    assert_int_equal(seen.steps, 5);
    assert_close(seen.objective, 1.5, 0);
    answer = FERRY_FINISH;
    assert_ok(ctx,
              ferry_i_progress(ctx, "als", 4, 10, NAN, NULL)); /* may not be asked for */
    assert_ok(ctx, ferry_i_progress(ctx, "als", 4, 10, NAN, &finish));
    assert_true(finish);
    answer = FERRY_CANCEL;
    assert_fails(ctx, ferry_i_progress(ctx, "als", 5, 10, NAN, &finish), FERRY_ECANCELLED,
                 "als: cancelled");
}

static void test_diagnostics(void **state)
{
    ferry_ctx *ctx = *state;
    const double w[] = {0.25, NAN};
    const char *const keys[] = {"a", "b"};

    ferry_i_diag_real(ctx, "alone", 1); /* outside a fit: nothing happens */
    ctx->diag = json_object();
    ferry_i_diag_real(ctx, "lambda", 0.5);
    ferry_i_diag_text(ctx, "train", "target");
    ferry_i_diag_reals(ctx, "weights", 2, w);
    ferry_i_diag_named(ctx, "by name", 2, keys, w);
    assert_ok(ctx, ferry_i_progress(ctx, "als", 1, 2, 3, NULL));
    assert_ok(ctx, ferry_i_progress(ctx, "als", 2, 2, 2.5, NULL));
    char *s = json_dumps(ctx->diag, JSON_SORT_KEYS);
    assert_string_equal(s, "{\"by name\": {\"a\": 0.25, \"b\": null}, \"lambda\": 0.5, "
                           "\"objective\": [3.0, 2.5], "
                           "\"train\": \"target\", \"weights\": [0.25, null]}");
    free(s);
}

static void test_context_settings(void **state)
{
    ferry_ctx *ctx = *state;

    assert_true(atoi(ferry_ctx_get(ctx, "threads")) >= 1);
    assert_ok(ctx, ferry_ctx_set(ctx, "threads", "3"));
    assert_int_equal(ctx->threads, 3);
    assert_string_equal(ferry_ctx_get(ctx, "engine"), "host");
    assert_ok(ctx, ferry_ctx_set(ctx, "engine", "ref"));
    assert_string_equal(ferry_ctx_get(ctx, "engine"), "ref");
    assert_ok(ctx, ferry_ctx_set(ctx, "seed", "9007199254740992"));
    assert_string_equal(ferry_ctx_get(ctx, "seed"), "9007199254740992");
    assert_ok(ctx, ferry_ctx_set(ctx, "jobs", "2"));
    assert_int_equal(ctx->jobs_asked, 2);
    assert_ok(ctx, ferry_ctx_set(ctx, "max_input", "1.5K"));
    assert_string_equal(ferry_ctx_get(ctx, "max_input"), "1536");
    assert_ok(ctx, ferry_ctx_set(ctx, "memory", "7T"));
    assert_int_equal(ctx->memory, 7LL << 40);
    assert_ok(ctx, ferry_ctx_set(ctx, "memory", "0"));
    assert_null(ferry_ctx_get(ctx, "thread"));
    ferry_ctx_free(NULL);
}

/* One sentence, and nothing changes. */
static void test_wrong_settings(void **state)
{
    static const char *const wrong[][3] = {
        {"engine", "gpu", "unknown engine gpu (host, ref, mpi, cuda, auto)"},
        {"threads", "-1", "threads -1: expected a whole number, 0 .. 1024"},
        {"threads", "1025", "threads 1025: expected a whole number, 0 .. 1024"},
        {"jobs", "", "jobs : expected a whole number, 0 .. 1024"},
        {"seed", "9007199254740993",
         "seed 9007199254740993: expected a whole number, 0 .. 9007199254740992"},
        {"seed", "99999999999999999999", "expected a whole number"},
        {"memory", "", "memory : expected a number of bytes, such as 500M or 2G"},
        {"memory", "M", "expected a number of bytes"},
        {"memory", "5Mb", "expected a number of bytes"},
        {"max_input", "-2", "expected a number of bytes"},
        {"max_input", "1e30", "expected a number of bytes"},
        {"thread", "2", "unknown setting thread (did you mean threads?)"},
        {"colour", "2",
         "unknown setting colour (engine, threads, jobs, seed, memory, max_input, "
         "gpu_memory)"},
        {"gpu_memory", "lots", "gpu_memory lots: expected a number of bytes"},
    };
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(wrong); i++)
        assert_fails(ctx, ferry_ctx_set(ctx, wrong[i][0], wrong[i][1]), FERRY_EINVAL,
                     wrong[i][2]);
    assert_fails(ctx, ferry_ctx_set(ctx, "seed", NULL), FERRY_EINVAL, "value is NULL");
    assert_string_equal(ferry_ctx_get(ctx, "seed"), "1");
    assert_string_equal(ferry_ctx_get(ctx, "engine"), "host");
}

/* ---- memory and files
 * ---------------------------------------------------------------------------------------
 */

static void test_memory_sizes(void **state)
{
    (void)state;
    assert_null(ferry_i_calloc(INT64_MAX, 8));
    assert_null(ferry_i_calloc(-1, 8));
    assert_null(ferry_i_realloc(NULL, INT64_MAX / 4, 16));
    void *p = ferry_i_calloc(0, 8);
    assert_non_null(p);
    ferry_i_free(p);
    assert_null(ferry_i_strdup(NULL));
}

static ferry_status text_body(ferry_ctx *ctx, void *arg)
{
    ferry_text t = {0};
    ferry_status st = FERRY_OK;

    (void)arg;
    ferry_i_text_add(&t, "longer than what a text takes at first");
    assert_true(!t.s || (int64_t)strlen(t.s) == t.len); /* also when it failed */
    for (int i = 0; i < 20; i++)
        ferry_i_text_addf(&t, "line %d, ", i);
    ferry_i_text_addn(&t, "end...", 3);
    FERRY_HAVE(ctx, !t.failed);
    assert_memory_equal(t.s + t.len - 5, ", end", 6);
done:
    ferry_i_text_free(&t);
    return st;
}

static ferry_status file_body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;

    FERRY_TRY(ferry_i_out_open(ctx, arg, &o));
    ferry_i_out_printf(o, "%d rows\n", 3);
    ferry_i_out_write(o, "abc", 3);
    st = ferry_i_out_commit(ctx, o);
done:
    return st;
}

static void test_allocations_fail_cleanly(void **state)
{
    each_allocation_fails(*state, many_ids, NULL);
    each_allocation_fails(*state, options_body, NULL);
    each_allocation_fails(*state, text_body, NULL);
    each_allocation_fails(*state, file_body, (void *)(uintptr_t)tmp_path("oom.txt"));
}

static void test_files_whole_or_not(void **state)
{
    ferry_ctx *ctx = *state;
    const char *path = tmp_path("out.txt");
    ferry_out *o = NULL;
    char *text = NULL;

    assert_ok(ctx, file_body(ctx, (void *)(uintptr_t)path));
    text = slurp(path);
    assert_string_equal(text, "3 rows\nabc");
    free(text);
    assert_ok(ctx, ferry_i_out_open(ctx, path, &o));
    ferry_i_out_printf(o, "never seen");
    ferry_i_out_abort(o);
    text = slurp(path);
    assert_string_equal(text, "3 rows\nabc"); /* the old file stays */
    free(text);
    assert_fails(ctx, ferry_i_out_open(ctx, tmp_dir(), &o), FERRY_EIO, "is a folder");
    assert_fails(ctx, ferry_i_out_open(ctx, tmp_path("no/such/dir/x"), &o), FERRY_EIO,
                 "cannot write");
    assert_null(o);
    ferry_i_out_abort(NULL);
}

static void test_links_and_pipes_stay(void **state)
{
    ferry_ctx *ctx = *state;
    const char *real = tmp_file("real.txt", "old", -1), *link = tmp_path("link.txt"),
               *pipe = tmp_path("pipe");
    char *text = NULL, got[32] = "";
    struct stat info;
    ferry_out *o = NULL;

    assert_int_equal(symlink("real.txt", link), 0);
    assert_ok(ctx, file_body(ctx, (void *)(uintptr_t)link));
    text = slurp(real);
    assert_string_equal(text, "3 rows\nabc");
    free(text);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));

    assert_int_equal(mkfifo(pipe, 0600), 0);
    const int fd = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_ok(ctx, file_body(ctx, (void *)(uintptr_t)pipe));
    assert_int_equal(read(fd, got, sizeof got - 1), 10);
    assert_string_equal(got, "3 rows\nabc");
    assert_ok(ctx, ferry_i_out_open(ctx, pipe, &o));
    ferry_i_out_abort(o);
    assert_int_equal(stat(pipe, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    close(fd);
}

/* A write that the system refuses half way: reported by commit, nothing left behind. */
static void test_file_too_large(void **state)
{
    ferry_ctx *ctx = *state;
    const char *path = tmp_path("large.txt");
    struct rlimit old, small;
    ferry_out *o = NULL;
    static char bytes[100000];

    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 10;
    signal(SIGXFSZ, SIG_IGN);
    assert_ok(ctx, ferry_i_out_open(ctx, path, &o));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 3; i++)
        ferry_i_out_write(o, bytes, sizeof bytes);
    ferry_i_out_printf(o, "more");
    const ferry_status st = ferry_i_out_commit(ctx, o);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_fails(ctx, st, FERRY_EIO, "large.txt: cannot write: File too large");
    assert_null(slurp(path));
}

static void test_folders_and_paths(void **state)
{
    ferry_ctx *ctx = *state;
    struct stat info;
    char *s = NULL;

    assert_ok(ctx, ferry_i_mkdirs(ctx, tmp_path("a/b/c")));
    assert_int_equal(stat(tmp_path("a/b/c"), &info), 0);
    assert_ok(ctx, ferry_i_mkdirs(ctx, tmp_path("a/b/c")));
    tmp_file("plain", "x", 1);
    assert_fails(ctx, ferry_i_mkdirs(ctx, tmp_path("plain")), FERRY_EIO, "not a folder");
    assert_fails(ctx, ferry_i_mkdirs(ctx, tmp_path("plain/below")), FERRY_EIO,
                 "cannot make folder");
    static const char *const join[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"}, {"", "b", "b"}};
    static const char *const dir[][2] = {{"a/b", "a"}, {"b", "."}, {"/b", "/"}};
    for (int i = 0; i < 4; i++) {
        s = ferry_i_path_join(join[i][0], join[i][1]);
        assert_string_equal(s, join[i][2]);
        ferry_string_free(s);
    }
    for (int i = 0; i < 3; i++) {
        s = ferry_i_path_dir(dir[i][0]);
        assert_string_equal(s, dir[i][1]);
        ferry_string_free(s);
    }
    assert_true(ferry_i_clock() > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

static void test_unicode(void **state)
{
    ferry_text t = {0};
    uint32_t points[4];
    char to[8];

    (void)state;
    assert_int_equal(ferry_i_utf8_width("abc"), 3);
    assert_int_equal(ferry_i_utf8_width("\u03bb\u043c"), 2);
    assert_int_equal(ferry_i_utf8_width("\u4e2d\u6587"), 4); /* East Asian: two each */
    assert_int_equal(ferry_i_utf8_width("e\u0301"), 1);      /* a combining accent */
    assert_int_equal(ferry_i_utf8_width("\xff"), 1);
    ferry_i_text_pad(&t, "\u4e2d", 4);
    ferry_i_text_pad(&t, "abcde", 4);
    assert_string_equal(t.s, "\u4e2d  abcde");
    ferry_i_text_free(&t);
    /* overlong, a surrogate, above the last, cut short */
    const char *const bad[] = {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xb8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(ferry_i_utf8_valid(bad[i], (int64_t)strlen(bad[i])));
    assert_true(ferry_i_utf8_valid("plain text and \u4e2d", 18));
    assert_int_equal(ferry_i_utf8_points("a\u4e2d\U0001f600", points), 3);
    assert_int_equal(points[2], 0x1f600);
    assert_int_equal(ferry_i_put_utf8(to, 0xd800), 3);
    assert_memory_equal(to, "\ufffd", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pcg64_reference),
        TEST(test_streams_differ_by_use_and_repeat),
        TEST(test_moments),
        TEST(test_ids),
        TEST(test_parse_real),
        TEST(test_parse_real_as_strtod),
        TEST(test_parse_real_any_locale),
        TEST(test_parse_int),
        TEST(test_format_real_reads_back),
        TEST(test_format_real_is_printf),
        TEST(test_options_defaults_and_values),
        TEST(test_options_refused),
        TEST(test_ranges_in_words),
        TEST(test_options_as_text),
        TEST(test_log_levels),
        TEST(test_messages),
        TEST(test_progress_answers),
        TEST(test_diagnostics),
        TEST(test_context_settings),
        TEST(test_wrong_settings),
        TEST(test_memory_sizes),
        TEST(test_allocations_fail_cleanly),
        TEST(test_files_whole_or_not),
        TEST(test_links_and_pipes_stay),
        TEST(test_file_too_large),
        TEST(test_folders_and_paths),
        TEST(test_unicode),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
