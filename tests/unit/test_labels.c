#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/lines.h"
#include "ferry_test.h"

static ferry_labels *numbers_of(ferry_ctx *ctx, int64_t n, const double *x)
{
    ferry_labels *l = NULL;

    assert_ok(ctx, ferry_i_labels_new(ctx, FERRY_LABEL_NUMBER, n, NULL, &l));
    memcpy(l->num, x, (size_t)n * sizeof *x);
    return l;
}

/* Classes by name; NULL is missing. */
static ferry_labels *classes_of(ferry_ctx *ctx, int64_t n, const char *const *names)
{
    ferry_labels *l = NULL;

    assert_ok(ctx, ferry_i_labels_new(ctx, FERRY_LABEL_CLASS, n, NULL, &l));
    for (int64_t i = 0; i < n; i++)
        if (names[i]) l->cls[i] = (int32_t)ferry_i_ids_add(l->names, names[i], NULL);
    return l;
}

static ferry_ids *ids_of(int64_t n, const char *const *names)
{
    ferry_ids *ids = ferry_i_ids_new();

    for (int64_t i = 0; i < n; i++)
        ferry_i_ids_add(ids, names[i], NULL);
    return ids;
}

static const char *class_of(const ferry_labels *l, int64_t i)
{
    return l->cls[i] < 0 ? NULL : ferry_i_ids_at(l->names, l->cls[i]);
}

static void test_new_is_all_missing(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"a", "b"};
    ferry_ids *ids = ids_of(2, names);

    for (int kind = FERRY_LABEL_CLASS; kind <= FERRY_LABEL_SET; kind++) {
        ferry_labels *l = NULL;
        assert_ok(ctx, ferry_i_labels_new(ctx, (ferry_label_kind)kind, 3, ids, &l));
        for (int64_t i = 0; i < 3; i++)
            assert_false(ferry_i_labels_has(l, i));
        assert_int_equal(ferry_i_labels_m(l), kind == FERRY_LABEL_NUMBER ? 0 : 2);
        ferry_i_labels_free(l);
    }
    assert_false(ferry_i_labels_has(NULL, 0));
    assert_int_equal(ferry_i_labels_m(NULL), 0);
    ferry_i_ids_free(ids);
}

static void test_numbers_become_classes_and_back(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {1, 0.1, NAN, -0.0, 0.0, 1e300};
    ferry_labels *l = numbers_of(ctx, 6, x), *c = NULL, *back = NULL;

    assert_ok(ctx, ferry_i_labels_as(ctx, l, FERRY_LABEL_CLASS, &c));
    assert_string_equal(class_of(c, 0), "1");
    assert_string_equal(class_of(c, 1), "0.1");
    assert_null(class_of(c, 2));
    assert_string_equal(class_of(c, 3), "0"); /* -0 and 0 are one class */
    assert_int_equal(c->cls[3], c->cls[4]);
    assert_string_equal(class_of(c, 5), "1e+300");
    assert_ok(ctx, ferry_i_labels_as(ctx, c, FERRY_LABEL_NUMBER, &back));
    for (int i = 0; i < 6; i++)
        assert_close(back->num[i], x[i], 0);
    ferry_i_labels_free(l);
    ferry_i_labels_free(c);
    ferry_i_labels_free(back);
}

static void test_classes_become_sets_and_back(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"b", NULL, "a", "b"};
    ferry_labels *l = classes_of(ctx, 4, names), *s = NULL, *back = NULL;

    assert_ok(ctx, ferry_i_labels_as(ctx, l, FERRY_LABEL_SET, &s));
    const uint8_t want[] = {1, 0, 0, 0, 0, 1, 1, 0};
    assert_memory_equal(s->on, want, 8);
    assert_false(ferry_i_labels_has(s, 1));
    assert_ok(ctx, ferry_i_labels_as(ctx, s, FERRY_LABEL_CLASS, &back));
    for (int i = 0; i < 4; i++)
        assert_int_equal(back->cls[i], l->cls[i]);
    s->on[1] = 1;
    ferry_i_labels_free(back);
    assert_fails(ctx, ferry_i_labels_as(ctx, s, FERRY_LABEL_CLASS, &back), FERRY_EDATA,
                 "instance 1 has 2 labels");
    assert_null(back);
    ferry_i_labels_free(l);
    ferry_i_labels_free(s);
}

static void test_numbers_and_sets(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {3, NAN, 5};
    ferry_labels *l = numbers_of(ctx, 3, x), *s = NULL, *back = NULL;

    assert_ok(ctx, ferry_i_labels_as(ctx, l, FERRY_LABEL_SET, &s));
    assert_int_equal(ferry_i_labels_m(s), 2);
    assert_ok(ctx, ferry_i_labels_as(ctx, s, FERRY_LABEL_NUMBER, &back));
    for (int i = 0; i < 3; i++)
        assert_close(back->num[i], x[i], 0);
    ferry_i_labels_free(l);
    ferry_i_labels_free(s);
    ferry_i_labels_free(back);
}

static void test_words_are_no_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"1", "two"}, *const big[] = {"1e999"};
    ferry_labels *l = classes_of(ctx, 2, names), *out = NULL;

    assert_fails(ctx, ferry_i_labels_as(ctx, l, FERRY_LABEL_NUMBER, &out), FERRY_EDATA,
                 "'two' (instance 2)");
    l->cls[1] = -1; /* a name that does not occur does no harm */
    assert_ok(ctx, ferry_i_labels_as(ctx, l, FERRY_LABEL_NUMBER, &out));
    ferry_i_labels_free(out);
    ferry_i_labels_free(l);
    l = classes_of(ctx, 1, big);
    assert_fails(ctx, ferry_i_labels_as(ctx, l, FERRY_LABEL_NUMBER, &out), FERRY_EDATA,
                 "1e999");
    ferry_i_labels_free(l);
}

static void test_rename_classes(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"b", "a", NULL, "c"}, *const to[] = {"a", "b"};
    ferry_labels *l = classes_of(ctx, 4, names);
    ferry_ids *ids = ids_of(2, to);

    assert_fails(ctx, ferry_i_labels_rename(ctx, l, ids, false), FERRY_EDATA,
                 "label 'c' is none of the 2 known ('a', ...)");
    assert_string_equal(class_of(l, 0), "b"); /* as before */
    assert_ok(ctx, ferry_i_labels_rename(ctx, l, ids, true));
    assert_int_equal(l->cls[0], 1);
    assert_int_equal(l->cls[1], 0);
    assert_int_equal(l->cls[2], -1);
    assert_int_equal(l->cls[3], -1);
    ferry_i_ids_free(ids);
    ids = ferry_i_ids_new();
    assert_fails(ctx, ferry_i_labels_rename(ctx, l, ids, false), FERRY_EDATA,
                 "none of the 0 known");
    ferry_i_ids_free(ids);
    ferry_i_labels_free(l);
}

/* Names are texts: +1 and -1.0 are other classes than 1 and -1. */
static void test_rename_by_text(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"+1", "-1.0", "1"}, *const to[] = {"-1", "1"};
    ferry_labels *l = classes_of(ctx, 3, names);
    ferry_ids *ids = ids_of(2, to);

    assert_fails(ctx, ferry_i_labels_rename(ctx, l, ids, false), FERRY_EDATA,
                 "label '+1' is none of the 2 known ('-1', ...)");
    assert_ok(ctx, ferry_i_labels_rename(ctx, l, ids, true));
    assert_int_equal(l->cls[0], -1);
    assert_int_equal(l->cls[1], -1);
    assert_int_equal(l->cls[2], 1);
    ferry_i_ids_free(ids);
    ferry_i_labels_free(l);
}

/* Labels of texts; NULL is missing. */
static ferry_labels *texts_of(ferry_ctx *ctx, int64_t n, const char *const *texts)
{
    ferry_labels *l = NULL;
    ferry_span *span = ferry_i_calloc(n, sizeof *span);

    for (int64_t i = 0; i < n; i++)
        if (texts[i]) span[i] = (ferry_span){texts[i], (int64_t)strlen(texts[i])};
    assert_ok(ctx, ferry_i_labels_of_texts(ctx, n, span, &l));
    ferry_i_free(span);
    return l;
}

/* What one cell is called: a text is its own name, whichever kind the labels are. */
static void test_names_are_the_texts(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const cases[][4] = {
        {"1", "1.0", "01", "+1"},
        {"9007199254740992", "9007199254740993", "9007199254740994", NULL},
        {"1152921504606846977", "5", "-1152921504606846977", NULL},
        {"1.0", "2.50", "1e3", "-0"},
        {"1.5", "2.5", NULL, "3"},
        {"007", "7", "8", "9"},
        {"1e400", "1e401", "2", "nan"}};
    static const ferry_label_kind kind[] = {
        FERRY_LABEL_CLASS,  FERRY_LABEL_CLASS, FERRY_LABEL_NUMBER, FERRY_LABEL_NUMBER,
        FERRY_LABEL_NUMBER, FERRY_LABEL_CLASS, FERRY_LABEL_CLASS};

    for (int64_t c = 0; c < FERRY_COUNT(cases); c++) {
        ferry_labels *l = texts_of(ctx, 4, cases[c]), *classes = NULL, *copy = NULL;
        const int64_t to[] = {3, 2, 1, 0};
        assert_int_equal(l->kind, kind[c]);
        assert_ok(ctx, ferry_i_labels_spread(ctx, l, 5, to, &copy));
        assert_ok(ctx, ferry_i_labels_as(ctx, copy, FERRY_LABEL_CLASS, &classes));
        for (int64_t i = 0; i < 4; i++) {
            if (cases[c][i])
                assert_string_equal(class_of(classes, 3 - i), cases[c][i]);
            else
                assert_null(class_of(classes, 3 - i));
        }
        ferry_i_labels_hide(copy, 3);
        assert_false(ferry_i_labels_has(copy, 3));
        ferry_i_labels_free(l);
        ferry_i_labels_free(copy);
        ferry_i_labels_free(classes);
    }
}

/* More kinds of whole numbers than classes can be meant: numbers, with their texts. */
static void test_many_numbers_keep_their_texts(void **state)
{
    enum { N = 1500 };
    ferry_ctx *ctx = *state;
    static char buf[N][16];
    const char *texts[N];
    char name[32];

    for (int i = 0; i < N; i++) {
        (void)snprintf(buf[i], sizeof buf[i], i % 2 ? "%d" : "%06d", i);
        texts[i] = buf[i];
    }
    ferry_labels *l = texts_of(ctx, N, texts);
    assert_int_equal(l->kind, FERRY_LABEL_NUMBER);
    assert_int_equal(ferry_i_ids_count(l->texts), N / 2);
    for (int i = 0; i < N; i++)
        assert_string_equal(ferry_i_labels_number(l, i, name), texts[i]);
    ferry_i_labels_free(l);
}

/* Numbers of arrays have the text of whole numbers in tables, or the shortest. */
static void test_names_of_reals(void **state)
{
    static const struct {
        double x;
        const char *name;
    } cases[] = {{1, "1"},
                 {-0.0, "0"},
                 {0.1, "0.1"},
                 {1e15, "1000000000000000"},
                 {9007199254740992.0, "9007199254740992"},
                 {1152921504606846976.0, "1152921504606846976"},
                 {-1152921504606846976.0, "-1152921504606846976"},
                 {1e300, "1e+300"},
                 {2.5e-7, "2.5e-07"}};
    char name[32];

    (void)state;
    for (int64_t c = 0; c < FERRY_COUNT(cases); c++) {
        assert_int_equal(ferry_i_name_real(name, cases[c].x), strlen(cases[c].name));
        assert_string_equal(name, cases[c].name);
    }
}

/* The quick look never takes a text for a name that is another. */
static void test_named_at_a_glance(void **state)
{
    static const char *const no[] = {"+1",
                                     "01",
                                     "1.0",
                                     "1.",
                                     ".5",
                                     "1e3",
                                     "0",
                                     "-0",
                                     "0.0001",
                                     "00.5",
                                     "1234567890123456",
                                     ""};
    ferry_rng rng;
    char text[64], name[32];
    int64_t yes = 0;

    (void)state;
    for (int64_t c = 0; c < FERRY_COUNT(no); c++)
        assert_false(ferry_i_is_named(no[c], (int64_t)strlen(no[c]), atof(no[c])));
    ferry_i_rng_seed(&rng, 1, 1);
    for (int i = 0; i < 200000; i++) {
        const double size = pow(10, 20 * ferry_i_rng_real(&rng) - 5);
        const int n = snprintf(text, sizeof text, "%.*f", i % 17,
                               size * (ferry_i_rng_real(&rng) - 0.5));
        double x = 0;
        assert_true(ferry_i_parse_real(text, text + n, &x) == text + n);
        if (!ferry_i_is_named(text, n, x)) continue;
        yes++;
        assert_int_equal(ferry_i_name_real(name, x), n);
        assert_string_equal(name, text);
    }
    assert_true(yes > 20000);
}

static ferry_status texts_body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_span text[] = {{"1.0", 3}, {"2.50", 4}, {"3.5", 3}};
    ferry_labels *l = NULL, *copy = NULL, *classes = NULL;

    (void)arg;
    FERRY_TRY(ferry_i_labels_of_texts(ctx, 3, text, &l));
    FERRY_TRY(ferry_i_labels_copy(ctx, l, &copy));
    FERRY_TRY(ferry_i_labels_as(ctx, copy, FERRY_LABEL_CLASS, &classes));
done:
    ferry_i_labels_free(l);
    ferry_i_labels_free(copy);
    ferry_i_labels_free(classes);
    return st;
}

static void test_texts_without_memory(void **state)
{
    each_allocation_fails(*state, texts_body, NULL);
}

static void test_rename_sets(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"x", "y", "unused"}, *const to[] = {"y", "z", "x"};
    const char *const fewer[] = {"z"};
    ferry_ids *ids = ids_of(3, names), *other = ids_of(3, to), *z = ids_of(1, fewer);
    ferry_labels *l = NULL;

    assert_ok(ctx, ferry_i_labels_new(ctx, FERRY_LABEL_SET, 2, ids, &l));
    l->known[0] = l->known[1] = 1;
    l->on[0] = l->on[4] = 1;
    assert_ok(ctx, ferry_i_labels_rename(ctx, l, other, false));
    const uint8_t want[] = {0, 0, 1, 1, 0, 0};
    assert_memory_equal(l->on, want, 6);
    assert_fails(ctx, ferry_i_labels_rename(ctx, l, z, false), FERRY_EDATA, "'x'");
    assert_memory_equal(l->on, want, 6);
    assert_ok(ctx, ferry_i_labels_rename(ctx, l, z, true));
    assert_int_equal(ferry_i_labels_m(l), 1);
    assert_int_equal(l->on[0] + l->on[1], 0);
    assert_true(ferry_i_labels_has(l, 0)); /* known to have none of them */
    ferry_i_labels_free(l);
    ferry_i_ids_free(ids);
    ferry_i_ids_free(other);
    ferry_i_ids_free(z);
}

static void test_rename_numbers_is_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {2};
    ferry_labels *l = numbers_of(ctx, 1, x);

    assert_ok(ctx, ferry_i_labels_rename(ctx, l, NULL, false));
    assert_close(l->num[0], 2, 0);
    ferry_i_labels_free(l);
}

static void test_spread_and_hide(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"a", "b"};
    const int64_t at[] = {3, 1};
    ferry_labels *l = classes_of(ctx, 2, names), *s = NULL, *set = NULL, *wide = NULL;

    assert_ok(ctx, ferry_i_labels_spread(ctx, l, 4, at, &s));
    assert_int_equal(s->cls[0], -1);
    assert_string_equal(class_of(s, 1), "b");
    assert_string_equal(class_of(s, 3), "a");
    assert_ok(ctx, ferry_i_labels_as(ctx, l, FERRY_LABEL_SET, &set));
    assert_ok(ctx, ferry_i_labels_spread(ctx, set, 4, at, &wide));
    assert_int_equal(wide->on[3 * 2], 1);
    ferry_i_labels_hide(wide, 3);
    assert_int_equal(wide->on[3 * 2], 0);
    assert_false(ferry_i_labels_has(wide, 3));
    ferry_i_labels_free(l);
    ferry_i_labels_free(s);
    ferry_i_labels_free(set);
    ferry_i_labels_free(wide);
}

/* Every conversion and a renaming. */
static ferry_status all_conversions(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_labels *classes = arg;
    ferry_labels *l[9] = {0};

    for (int k = 0; k < 3; k++)
        FERRY_TRY(ferry_i_labels_as(ctx, classes, (ferry_label_kind)k, &l[k]));
    for (int k = 0; k < 3; k++) {
        FERRY_TRY(ferry_i_labels_as(ctx, l[1], (ferry_label_kind)k, &l[3 + k]));
        FERRY_TRY(ferry_i_labels_as(ctx, l[2], (ferry_label_kind)k, &l[6 + k]));
    }
    FERRY_TRY(ferry_i_labels_rename(ctx, l[0], classes->names, false));
    FERRY_TRY(ferry_i_labels_rename(ctx, l[2], classes->names, false));
done:
    for (int k = 0; k < 9; k++)
        ferry_i_labels_free(l[k]);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"1", "2", NULL};
    ferry_labels *l = classes_of(ctx, 3, names), *huge = NULL;
    ferry_ids *ids = ferry_i_ids_numbers(64);

    each_allocation_fails(ctx, all_conversions, l);
    assert_fails(ctx, ferry_i_labels_new(ctx, FERRY_LABEL_SET, INT64_MAX / 2, ids, &huge),
                 FERRY_ENOMEM, "out of memory");
    ferry_i_labels_free(l);
    ferry_i_ids_free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new_is_all_missing, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_numbers_become_classes_and_back, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_classes_become_sets_and_back, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_numbers_and_sets, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_words_are_no_numbers, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_rename_classes, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_rename_by_text, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_names_are_the_texts, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_many_numbers_keep_their_texts, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_names_of_reals, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_named_at_a_glance, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_texts_without_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_rename_sets, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_rename_numbers_is_nothing, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_spread_and_hide, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("labels", tests, NULL, NULL);
}
