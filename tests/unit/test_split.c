#include <stdio.h>

#include "ferry_test.h"
#include "task/task.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

enum { MAX = 400 };

/* Instances i000 .. with class k for the sizes of the classes; `backwards` gives the rows
 * the other way round. */
static ferry_domain *classes(ferry_ctx *ctx, const char *name, ferry_role role, int64_t m,
                             const int *size, bool backwards)
{
    static char id[MAX][8], label[MAX][8];
    const char *ids[MAX], *labels[MAX];
    ferry_domain *d = NULL;
    int n = 0;

    for (int64_t k = 0; k < m; k++)
        n += size[k];
    for (int64_t k = 0, i = 0; k < m; k++)
        for (int j = 0; j < size[k]; j++, i++) {
            const int64_t at = backwards ? n - 1 - i : i;
            snprintf(id[i], sizeof id[i], "i%03d", (int)i);
            snprintf(label[i], sizeof label[i], "%c", (char)('a' + k));
            ids[at] = id[i];
            labels[at] = label[i];
        }
    assert_ok(ctx, ferry_domain_new(ctx, name, role, &d));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, n, ids, labels));
    return d;
}

static ferry_task *task_of(ferry_ctx *ctx, ferry_goal goal, ferry_domain *target,
                           const char *labelled)
{
    static const int size[] = {4, 4};
    ferry_task *t = NULL;

    assert_ok(ctx, ferry_domain_set_labelled(ctx, target, labelled));
    assert_ok(ctx, ferry_task_new(ctx, "t", goal, &t));
    if (goal == FERRY_CLASSIFY)
        assert_ok(ctx, ferry_task_add_domain(
                           ctx, t, classes(ctx, "source", FERRY_SOURCE, 2, size, false)));
    assert_ok(ctx, ferry_task_add_domain(ctx, t, target));
    return t;
}

static const ferry_domain *target_of(const ferry_task *t)
{
    return ferry_i_task_role(t, FERRY_TARGET, 0);
}

/* How many labels of class k the split shows. */
static int64_t shown(const ferry_task *split, int32_t k)
{
    const ferry_labels *l = target_of(split)->labels;
    int64_t n = 0;

    for (int64_t i = 0; i < l->n; i++)
        n += l->cls[i] == k;
    return n;
}

/* The shown ids as one text, in the order of the ids. */
static char *shown_ids(const ferry_task *split)
{
    static char text[4][MAX * 8];
    static int next;
    const ferry_domain *d = target_of(split);
    char *s = text[next++ % 4], id[8];

    s[0] = 0;
    for (int i = 0; i < MAX; i++) {
        snprintf(id, sizeof id, "i%03d", i);
        const int64_t at = ferry_i_ids_find(d->ids, id);
        if (at >= 0 && ferry_i_labels_has(d->labels, at)) strcat(strcat(s, id), " ");
    }
    return s;
}

static char *split_ids(ferry_ctx *ctx, const ferry_task *t, int64_t r)
{
    ferry_task *s = NULL;

    assert_ok(ctx, ferry_i_task_split(ctx, t, r, &s));
    char *ids = shown_ids(s);
    ferry_task_free(s);
    return ids;
}

/* ---- properties ---- */

/* The names of classes play no part: with "a" called "z" (which sorts behind the others)
 * the same instances are shown. */
static void test_ignores_class_names(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const how[] = {"7", "0.3", "per_class:2"};
    const int size[] = {7, 9, 11};

    for (int h = 0; h < 3; h++) {
        ferry_domain *d[2];
        ferry_task *t[2];
        for (int other = 0; other < 2; other++) {
            d[other] = classes(ctx, "t", FERRY_TARGET, 3, size, false);
            const ferry_labels *l = d[other]->labels;
            const char *ids[MAX], *labels[MAX];
            for (int64_t i = 0; i < l->n; i++) {
                const char *name = ferry_i_ids_at(l->names, l->cls[i]);
                ids[i] = ferry_i_ids_at(d[other]->ids, i);
                labels[i] = other && strcmp(name, "a") == 0 ? "z" : name;
            }
            ferry_domain *renamed = NULL;
            assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &renamed));
            assert_ok(ctx, ferry_domain_set_classes(ctx, renamed, l->n, ids, labels));
            ferry_domain_free(d[other]);
            t[other] = task_of(ctx, FERRY_CLASSIFY, renamed, how[h]);
        }
        for (int64_t r = 0; r < 3; r++)
            assert_string_equal(split_ids(ctx, t[0], r), split_ids(ctx, t[1], r));
        ferry_task_free(t[0]);
        ferry_task_free(t[1]);
    }
}

static void test_hides_exactly_the_rest(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {30, 20, 10};
    ferry_task *t =
        task_of(ctx, FERRY_CLASSIFY, classes(ctx, "t", FERRY_TARGET, 3, size, false), "12");
    ferry_task *s = NULL;
    int64_t seen = 0;

    assert_ok(ctx, ferry_i_task_split(ctx, t, 0, &s));
    const ferry_labels *all = target_of(t)->labels, *l = target_of(s)->labels;
    for (int64_t i = 0; i < all->n; i++) {
        if (!ferry_i_labels_has(l, i)) continue;
        assert_string_equal(ferry_i_ids_at(s->names, l->cls[i]),
                            ferry_i_ids_at(all->names, all->cls[i]));
        seen++;
    }
    assert_int_equal(seen, 12);
    assert_int_equal(shown(s, 0), 6); /* in proportion */
    assert_int_equal(shown(s, 1), 4);
    assert_int_equal(shown(s, 2), 2);
    for (int64_t i = 0; i < 8; i++) /* the source keeps its labels */
        assert_true(ferry_i_labels_has(s->domains[0]->labels, i));
    for (int64_t i = 0; i < all->n; i++) /* and so does the task itself */
        assert_true(ferry_i_labels_has(all, i));
    assert_ptr_equal(target_of(s)->ids, target_of(t)->ids); /* heavy parts are shared */
    ferry_task_free(s);
    ferry_task_free(t);
}

static void test_seed_and_repeat(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {40, 40};
    ferry_task *t =
        task_of(ctx, FERRY_CLASSIFY, classes(ctx, "t", FERRY_TARGET, 2, size, false), "10");

    assert_string_equal(split_ids(ctx, t, 0), split_ids(ctx, t, 0));
    assert_string_not_equal(split_ids(ctx, t, 0), split_ids(ctx, t, 1));
    ctx->repeat = 5; /* what runs now does not matter */
    char *again = split_ids(ctx, t, 0);
    ctx->repeat = 0;
    assert_string_equal(again, split_ids(ctx, t, 0));
    char *one = split_ids(ctx, t, 0);
    ctx->seed = 2;
    assert_string_not_equal(one, split_ids(ctx, t, 0));
    ferry_task_free(t);
}

/* The order of the rows in the file does not matter. */
static void test_order_of_rows(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {30, 17, 3};
    ferry_task *a = task_of(ctx, FERRY_CLASSIFY,
                            classes(ctx, "t", FERRY_TARGET, 3, size, false), "0.2");
    ferry_task *b =
        task_of(ctx, FERRY_CLASSIFY, classes(ctx, "t", FERRY_TARGET, 3, size, true), "0.2");

    for (int r = 0; r < 5; r++)
        assert_string_equal(split_ids(ctx, a, r), split_ids(ctx, b, r));
    ferry_task_free(a);
    ferry_task_free(b);
}

/* Over many repeats every instance is drawn about equally often. */
static void test_is_fair(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {10, 10};
    ferry_task *t =
        task_of(ctx, FERRY_CLASSIFY, classes(ctx, "t", FERRY_TARGET, 2, size, false), "10");
    int drawn[20] = {0};

    for (int r = 0; r < 400; r++) {
        ferry_task *s = NULL;
        assert_ok(ctx, ferry_i_task_split(ctx, t, r, &s));
        for (int64_t i = 0; i < 20; i++)
            drawn[i] += ferry_i_labels_has(target_of(s)->labels, i);
        ferry_task_free(s);
    }
    for (int i = 0; i < 20; i++) /* 200 +- 5 standard deviations of 10 */
        assert_in_range(drawn[i], 150, 250);
    ferry_task_free(t);
}

/* Which labels of class k repeat r sees. */
static void see(ferry_ctx *ctx, const ferry_task *t, int64_t r, uint8_t *seen)
{
    ferry_task *s = NULL;

    assert_ok(ctx, ferry_i_task_split(ctx, t, r, &s));
    for (int64_t i = 0; i < ferry_i_ids_count(target_of(s)->ids); i++)
        seen[i] = ferry_i_labels_has(target_of(s)->labels, i);
    ferry_task_free(s);
}

/* Hands of a deck share no label; the next deck is another one. 17 of 3 are 5 hands, 9 of 2 only 4. */
static void test_is_dealt(void **state)
{
    ferry_ctx *ctx = *state;
    enum { N = 26, HANDS = 4 };
    const int size[] = {17, 9};
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY,
                            classes(ctx, "t", FERRY_TARGET, 2, size, false), "5"),
               *s = NULL;
    ferry_hands hands = {0};

    assert_ok(ctx, ferry_i_task_split_hands(ctx, t, 3, &hands, &s));
    ferry_task_free(s);
    assert_int_equal(hands.hands, HANDS);
    assert_false(hands.folds);
    for (int deck = 0; deck < 3; deck++) {
        uint8_t seen[HANDS][N];
        for (int h = 0; h < HANDS; h++)
            see(ctx, t, deck * HANDS + h, seen[h]);
        for (int i = 0; i < N; i++)
            assert_true(seen[0][i] + seen[1][i] + seen[2][i] + seen[3][i] <= 1);
    }
    assert_string_not_equal(split_ids(ctx, t, 0), split_ids(ctx, t, HANDS));
    ferry_task_free(t);
}

/* With `labelled: all` a deck is a cross-validation: every label is hidden once, but the only one of its class. */
static void test_is_cross_validation(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {12, 9, 1};
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY,
                            classes(ctx, "t", FERRY_TARGET, 3, size, false), "all"),
               *s = NULL;
    ferry_hands hands = {0};
    int hidden[22] = {0};

    for (int64_t r = 0; r < 5; r++) {
        uint8_t seen[22];
        int shown = 0;
        see(ctx, t, r, seen);
        for (int i = 0; i < 22; i++) {
            hidden[i] += !seen[i];
            shown += seen[i];
        }
        assert_in_range(shown, 17, 18); /* 21 of 22 in 5 folds */
    }
    for (int i = 0; i < 22; i++)
        assert_int_equal(hidden[i], i < 21);
    assert_ok(ctx, ferry_i_task_split_hands(ctx, t, FERRY_DEPLOYED, &hands, &s));
    assert_int_equal(ferry_domain_labels(target_of(s)), 22); /* a model learns from all */
    assert_true(hands.folds);
    ferry_task_free(s);
    ferry_task_free(t);
}

/* Two labels of most classes: two folds, or what is hidden would be what the model knows least of. */
static void test_folds_of_few_labels(void **state)
{
    ferry_ctx *ctx = *state;
    const int few[] = {2, 2, 2}, rare[] = {20, 2, 2};
    ferry_hands hands = {0};
    ferry_task *s = NULL;

    for (int i = 0; i < 2; i++) {
        ferry_task *t =
            task_of(ctx, FERRY_CLASSIFY,
                    classes(ctx, "t", FERRY_TARGET, 3, i ? rare : few, false), "all");
        assert_ok(ctx, ferry_i_task_split_hands(ctx, t, 0, &hands, &s));
        assert_int_equal(hands.hands, i ? 5 : 2);
        ferry_task_free(s);
        ferry_task_free(t);
    }
}

/* ---- how many ---- */

static void check_shares(ferry_ctx *ctx, const int *size, const char *labelled, int a,
                         int b, int c)
{
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY,
                            classes(ctx, "t", FERRY_TARGET, 3, size, false), labelled);
    ferry_task *s = NULL;

    assert_ok(ctx, ferry_i_task_split(ctx, t, 0, &s));
    assert_int_equal(shown(s, 0), a);
    assert_int_equal(shown(s, 1), b);
    assert_int_equal(shown(s, 2), c);
    ferry_task_free(s);
    ferry_task_free(t);
}

static void test_shares(void **state)
{
    ferry_ctx *ctx = *state;
    const int even[] = {10, 10, 10}, rare[] = {96, 2, 2}, mixed[] = {50, 30, 20};

    check_shares(ctx, even, "none", 0, 0, 0);
    check_shares(ctx, even, "1", 1, 0, 0);
    check_shares(ctx, even, "3", 1, 1, 1);
    check_shares(ctx, even, "30", 10, 10, 10);
    check_shares(ctx, even, "1.0", 10, 10, 10);
    check_shares(ctx, even, "per_class:3", 3, 3, 3);
    check_shares(ctx, rare, "10", 8, 1, 1); /* at least one of each */
    check_shares(ctx, rare, "3", 1, 1, 1);
    check_shares(ctx, rare, "2", 2, 0, 0); /* the count does not allow it */
    check_shares(ctx, rare, "99", 95, 2, 2);
    check_shares(ctx, mixed, "0.1", 5, 3, 2);
    check_shares(ctx, mixed, "7", 4, 2, 1);     /* 3.5 2.1 1.4 */
    check_shares(ctx, mixed, "0.001", 1, 0, 0); /* a fraction is at least one */
}

static void test_per_class_skips_classes_of_the_source(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {0, 3}; /* the target has no a */
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY,
                            classes(ctx, "t", FERRY_TARGET, 2, size, false), "per_class:2");
    ferry_task *s = NULL;

    assert_ok(ctx, ferry_i_task_split(ctx, t, 0, &s));
    assert_int_equal(shown(s, 0), 0);
    assert_int_equal(shown(s, 1), 2);
    ferry_task_free(s);
    ferry_task_free(t);
}

static void test_too_many(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {5, 2};
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY,
                            classes(ctx, "t", FERRY_TARGET, 2, size, false), "8"),
               *s = NULL;

    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA,
                 "domain 't': labelled: 8 asked for, but it has 7 labelled instances");
    assert_null(s);
    ferry_task_free(t);
    t = task_of(ctx, FERRY_CLASSIFY, classes(ctx, "t", FERRY_TARGET, 2, size, false),
                "per_class:3");
    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA,
                 "class 'b' has 2 labelled instances, per_class asks for 3");
    ferry_task_free(t);
}

static void test_ids(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {3, 3};
    char spec[4200];
    ferry_task *t = NULL, *s = NULL;

    snprintf(spec, sizeof spec, "ids:%s", tmp_file("seen", "i004\ni001\n", -1));
    t = task_of(ctx, FERRY_CLASSIFY, classes(ctx, "t", FERRY_TARGET, 2, size, false), spec);
    assert_string_equal(split_ids(ctx, t, 0), "i001 i004 ");
    assert_string_equal(split_ids(ctx, t, 1), "i001 i004 ");
    ferry_task_free(t);
    snprintf(spec, sizeof spec, "ids:%s", tmp_file("seen2", "i004\ni099\n", -1));
    t = task_of(ctx, FERRY_CLASSIFY, classes(ctx, "t", FERRY_TARGET, 2, size, false), spec);
    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA,
                 "id 'i099' is no instance");
    ferry_task_free(t);
}

/* ---- other goals ---- */

static ferry_domain *numbers(ferry_ctx *ctx)
{
    const double y[] = {1, NAN, 3, 4, 5, 6};
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 6, NULL, y));
    return d;
}

static void test_regress(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, FERRY_REGRESS, numbers(ctx), "3"), *s = NULL;
    int64_t seen = 0;

    assert_ok(ctx, ferry_i_task_split(ctx, t, 0, &s));
    for (int64_t i = 0; i < 6; i++)
        seen += ferry_i_labels_has(target_of(s)->labels, i);
    assert_int_equal(seen, 3);
    assert_false(ferry_i_labels_has(target_of(s)->labels, 1)); /* missing stays missing */
    ferry_task_free(s);
    ferry_task_free(t);
    t = task_of(ctx, FERRY_REGRESS, numbers(ctx), "per_class:1");
    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA, "needs classes");
    ferry_task_free(t);
    t = task_of(ctx, FERRY_REGRESS, numbers(ctx), "6");
    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA, "it has 5 labelled");
    ferry_task_free(t);
}

static void test_multilabel(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const names[] = {"p", "q"};
    const uint8_t on[] = {1, 0, 0, 1, 1, 1, 0, 0};
    ferry_domain *d = NULL;
    ferry_task *t = NULL, *s = NULL;
    int64_t seen = 0;

    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, 4, NULL, 2, names, on));
    t = task_of(ctx, FERRY_MULTILABEL, d, "0.5");
    assert_ok(ctx, ferry_i_task_split(ctx, t, 0, &s));
    const ferry_labels *l = target_of(s)->labels;
    for (int64_t i = 0; i < 4; i++) {
        seen += l->known[i];
        for (int64_t k = 0; k < 2; k++) /* hidden sets are empty, shown ones as they were */
            assert_int_equal(l->on[2 * i + k], l->known[i] ? on[2 * i + k] : 0);
    }
    assert_int_equal(seen, 2);
    ferry_task_free(s);
    ferry_task_free(t);
}

static ferry_domain *ratings(ferry_ctx *ctx, bool backwards)
{
    static char user[60][8], item[60][8];
    const char *users[60], *items[60];
    double values[60];
    ferry_domain *d = NULL;

    for (int e = 0; e < 60; e++) {
        const int at = backwards ? 59 - e : e;
        snprintf(user[e], sizeof user[e], "u%d", e / 10);
        snprintf(item[e], sizeof item[e], "i%d", e % 10);
        users[at] = user[e];
        items[at] = item[e];
        values[at] = e == 7 ? (double)NAN : 1 + e % 5;
    }
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 60, users, items, values));
    return d;
}

static void test_rate(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, FERRY_RATE, ratings(ctx, false), "0.8"), *s = NULL;
    ferry_task *b = task_of(ctx, FERRY_RATE, ratings(ctx, true), "0.8"), *sb = NULL;
    int64_t seen = 0;

    assert_ok(ctx, ferry_i_task_split(ctx, t, 3, &s));
    assert_ok(ctx, ferry_i_task_split(ctx, b, 3, &sb));
    const ferry_ratings *r = target_of(s)->ratings, *rb = target_of(sb)->ratings;
    assert_int_equal(r->n, 60); /* hidden ratings stay as pairs to predict */
    for (int64_t e = 0; e < 60; e++) {
        seen += !isnan(r->value[e]);
        if (!isnan(r->value[e])) assert_close(r->value[e], 1 + (double)(e % 5), 0);
        assert_true(!isnan(r->value[e]) == !isnan(rb->value[59 - e])); /* order of rows */
    }
    assert_int_equal(seen, 47); /* 0.8 of the 59 known */
    assert_true(isnan(r->value[7]));
    assert_close(r->lo, 1, 0);
    assert_close(r->hi, 5, 0);
    assert_close(target_of(t)->ratings->value[0], 1, 0); /* the task keeps its own */
    ferry_task_free(s);
    ferry_task_free(sb);
    ferry_task_free(b);
    ferry_task_free(t);
}

static void test_rate_counts_and_errors(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, FERRY_RATE, ratings(ctx, false), "none"), *s = NULL;

    assert_ok(ctx, ferry_i_task_split(ctx, t, 0, &s));
    for (int64_t e = 0; e < 60; e++)
        assert_true(isnan(target_of(s)->ratings->value[e]));
    ferry_task_free(s);
    ferry_task_free(t);
    t = task_of(ctx, FERRY_RATE, ratings(ctx, false), "60");
    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA, "it has 59 ratings");
    ferry_task_free(t);
    t = task_of(ctx, FERRY_RATE, ratings(ctx, false), "per_class:1");
    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA,
                 "count or a fraction");
    ferry_task_free(t);
    t = task_of(ctx, FERRY_RATE, numbers(ctx), "3");
    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA, "it has no ratings");
    ferry_task_free(t);
    t = task_of(ctx, FERRY_REGRESS, ratings(ctx, false), "3");
    assert_fails(ctx, ferry_i_task_split(ctx, t, 0, &s), FERRY_EDATA, "it has no labels");
    ferry_task_free(t);
    t = task_of(ctx, FERRY_REGRESS, ratings(ctx, false), "none");
    assert_ok(ctx, ferry_i_task_split(ctx, t, 0, &s)); /* nothing to hide */
    ferry_task_free(s);
    ferry_task_free(t);
}

/* ---- memory ---- */

static ferry_status split_once(ferry_ctx *ctx, void *arg)
{
    ferry_task *s = NULL;
    const ferry_status st = ferry_i_task_split(ctx, arg, 0, &s);

    if (st != FERRY_OK) assert_null(s);
    ferry_task_free(s);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    const int size[] = {3, 3};
    ferry_task *t =
        task_of(ctx, FERRY_CLASSIFY, classes(ctx, "t", FERRY_TARGET, 2, size, false), "2");
    ferry_task *r = task_of(ctx, FERRY_RATE, ratings(ctx, false), "0.5");
    ferry_task *n = task_of(ctx, FERRY_REGRESS, numbers(ctx), "2");

    each_allocation_fails(ctx, split_once, t);
    each_allocation_fails(ctx, split_once, r);
    each_allocation_fails(ctx, split_once, n);
    ferry_task_free(t);
    ferry_task_free(r);
    ferry_task_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ignores_class_names),
        TEST(test_hides_exactly_the_rest),
        TEST(test_seed_and_repeat),
        TEST(test_order_of_rows),
        TEST(test_is_fair),
        TEST(test_is_dealt),
        TEST(test_is_cross_validation),
        TEST(test_folds_of_few_labels),
        TEST(test_shares),
        TEST(test_per_class_skips_classes_of_the_source),
        TEST(test_too_many),
        TEST(test_ids),
        TEST(test_regress),
        TEST(test_multilabel),
        TEST(test_rate),
        TEST(test_rate_counts_and_errors),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
