#include "ferry_test.h"
#include "task/task.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

/* A domain with n class labels (NULL: missing) and no views. */
static ferry_domain *classes(ferry_ctx *ctx, const char *name, ferry_role role, int64_t n,
                             const char *const *labels)
{
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, name, role, &d));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, n, NULL, labels));
    return d;
}

static ferry_domain *numbers(ferry_ctx *ctx, const char *name, int64_t n, const double *x)
{
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, name, FERRY_SOURCE, &d));
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, n, NULL, x));
    return d;
}

static ferry_task *task_of(ferry_ctx *ctx, ferry_goal goal, ferry_domain *a,
                           ferry_domain *b)
{
    ferry_task *t = NULL;

    assert_ok(ctx, ferry_task_new(ctx, "t", goal, &t));
    if (a) assert_ok(ctx, ferry_task_add_domain(ctx, t, a));
    if (b) assert_ok(ctx, ferry_task_add_domain(ctx, t, b));
    return t;
}

/* The names of a resolved task as "a b c". */
static const char *names_of(const ferry_task *t)
{
    static char text[256];

    text[0] = 0;
    for (int64_t k = 0; k < ferry_i_ids_count(t->names); k++) {
        if (k > 0) strcat(text, " ");
        strcat(text, ferry_i_ids_at(t->names, k));
    }
    return text;
}

static const char *class_of(const ferry_task *t, int64_t d, int64_t i)
{
    const int32_t k = t->domains[d]->labels->cls[i];

    return k < 0 ? "?" : ferry_i_ids_at(t->names, k);
}

static void test_new(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = NULL;

    assert_fails(ctx, ferry_task_new(ctx, "", FERRY_CLASSIFY, &t), FERRY_EINVAL, "name");
    assert_fails(ctx, ferry_task_new(ctx, NULL, FERRY_CLASSIFY, &t), FERRY_EINVAL, "name");
    assert_fails(ctx, ferry_task_new(ctx, "t", (ferry_goal)3, &t), FERRY_EINVAL,
                 "unknown goal 3");
    assert_null(t);
    assert_ok(ctx, ferry_task_new(ctx, "t", FERRY_STREAM, &t));
    assert_string_equal(ferry_task_name(t), "t");
    assert_int_equal(t->goal, FERRY_STREAM);
    assert_int_equal(t->n_domains, 0);
    assert_null(ferry_task_domain_at(t, 0));
    assert_null(ferry_task_domain_at(t, -1));
    ferry_task_free(t);
    ferry_task_free(NULL);
    assert_string_equal(ferry_goal_name(FERRY_MULTILABEL), "multilabel");
    assert_string_equal(ferry_goal_name((ferry_goal)0), "unknown");
}

static void test_domains_and_roles(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const l[] = {"a"};
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY, classes(ctx, "s", FERRY_SOURCE, 1, l),
                            classes(ctx, "t", FERRY_TARGET, 1, l));
    const ferry_domain *target = NULL;

    assert_int_equal(t->n_domains, 2);
    assert_string_equal(ferry_domain_name(ferry_task_domain_at(t, 1)), "t");
    assert_ok(ctx, ferry_i_task_target(ctx, t, &target));
    assert_ptr_equal(target, ferry_task_domain_at(t, 1));
    assert_fails(ctx, ferry_task_add_domain(ctx, t, classes(ctx, "t", FERRY_SOURCE, 1, l)),
                 FERRY_EINVAL, "a domain 't' already"); /* and frees it */
    assert_fails(ctx, ferry_task_add_domain(ctx, t, NULL), FERRY_EINVAL,
                 "argument d is NULL");
    assert_ok(ctx, ferry_task_add_domain(ctx, t, classes(ctx, "u", FERRY_TARGET, 1, l)));
    assert_fails(ctx, ferry_i_task_target(ctx, t, &target), FERRY_ENEEDS, "2 targets");
    assert_null(target);
    assert_int_equal(ferry_i_task_count_role(t, FERRY_TARGET), 2);
    assert_string_equal(ferry_domain_name(ferry_i_task_role(t, FERRY_TARGET, 1)), "u");
    assert_null(ferry_i_task_role(t, FERRY_TARGET, 2));
    assert_null(ferry_i_task_role(t, FERRY_INTERMEDIATE, 0));
    ferry_task_free(t);
}

static void test_methods(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY, NULL, NULL);
    ferry_opts *c = opts_of(ctx, "C=2", NULL);

    assert_ok(ctx, ferry_task_add_method(ctx, t, "svm", NULL, NULL));
    assert_ok(ctx, ferry_task_add_method(ctx, t, "svm", NULL, c));
    assert_ok(ctx, ferry_task_add_method(ctx, t, "svm", "mine", c));
    assert_ok(ctx, ferry_task_add_method(ctx, t, "not-there", NULL, c));
    ferry_opts_free(c); /* copied */
    assert_string_equal(t->methods[0].as, "svm");
    assert_string_equal(t->methods[1].as, "svm C=2");
    assert_string_equal(t->methods[2].as, "mine");
    assert_string_equal(t->methods[2].method, "svm");
    assert_string_equal(ferry_opts_get(t->methods[2].opts, "C"), "2");
    assert_string_equal(t->methods[3].as, "not-there");
    assert_fails(ctx, ferry_task_add_method(ctx, t, "knn", "mine", NULL), FERRY_EINVAL,
                 "'mine' already");
    assert_fails(ctx, ferry_task_add_method(ctx, t, "", NULL, NULL), FERRY_EINVAL, "name");
    assert_fails(ctx, ferry_task_add_method(ctx, t, "svm", "", NULL), FERRY_EINVAL, "name");
    assert_int_equal(t->n_methods, 4);
    ferry_task_free(t);
}

static void test_evaluate(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY, NULL, NULL);
    ferry_opts *good = opts_of(ctx, "repeats=3", "seed=7", "ties=mean", NULL);
    ferry_opts *bad = opts_of(ctx, "repeats=0", NULL),
               *odd = opts_of(ctx, "repeat=1", NULL);
    ferry_evaluate_settings s;
    static const struct {
        const char *seed, *says;
    } not_it[] = {{"seed=9007199254740993", "is outside"},
                  {"seed=1e300", "is outside"},
                  {"seed=-1e300", "is outside"},
                  {"seed=1.5", "not a whole number"},
                  {"seed=-0.5", "not a whole number"}};

    assert_ok(ctx, ferry_i_task_evaluate(ctx, t, &s));
    assert_int_equal(s.repeats, 10);
    assert_true(s.seed < 0);
    assert_string_equal(s.metrics, "");
    assert_int_equal(s.ties, 0);
    assert_ok(ctx, ferry_task_set_evaluate(ctx, t, good));
    assert_fails(ctx, ferry_task_set_evaluate(ctx, t, bad), FERRY_EINVAL,
                 "repeats = 0 is outside [1, 1e+06]");
    assert_fails(ctx, ferry_task_set_evaluate(ctx, t, odd), FERRY_EINVAL,
                 "did you mean repeats?");
    for (int64_t i = 0; i < FERRY_COUNT(not_it); i++) { /* nor is it another seed */
        ferry_opts *o = opts_of(ctx, not_it[i].seed, NULL);
        assert_fails(ctx, ferry_task_set_evaluate(ctx, t, o), FERRY_EINVAL, not_it[i].says);
        ferry_opts_free(o);
    }
    assert_ok(ctx, ferry_i_task_evaluate(ctx, t, &s)); /* the good ones stay */
    assert_int_equal(s.repeats, 3);
    assert_int_equal(s.seed, 7);
    assert_int_equal(s.ties, 1);
    assert_string_equal(ferry_opt_at(ferry_options("evaluate"), 0)->name, "repeats");
    assert_int_equal(ferry_i_evaluate_table_n, 13);
    ferry_opts_free(good);
    ferry_opts_free(bad);
    ferry_opts_free(odd);
    ferry_task_free(t);
}

/* ---- settling ---- */

static void test_resolve_words(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const a[] = {"pear", "apple", NULL}, *const b[] = {"zebra", "pear",
                                                                   "Apple"};
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY, classes(ctx, "s", FERRY_SOURCE, 3, a),
                            classes(ctx, "t", FERRY_TARGET, 3, b));

    assert_ok(ctx, ferry_i_task_resolve(ctx, t));
    assert_string_equal(names_of(t), "Apple apple pear zebra");
    assert_string_equal(class_of(t, 0, 0), "pear");
    assert_string_equal(class_of(t, 0, 2), "?");
    assert_string_equal(class_of(t, 1, 2), "Apple");
    const ferry_domain *before = t->domains[0];
    assert_ok(ctx, ferry_i_task_resolve(ctx, t)); /* nothing left to do */
    assert_ptr_equal(t->domains[0], before);
    ferry_task_free(t);
}

/* Numbers sort by value; "+1", "1.0" and "1" are three classes; a class that does not occur is
 * none. */
static void test_resolve_numbers_as_classes(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const a[] = {"10", "9", "+1"}, *const b[] = {"1.0", "1", "-2"};
    const double x[] = {9, 1, NAN};
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY, classes(ctx, "s", FERRY_SOURCE, 3, a),
                            classes(ctx, "t", FERRY_TARGET, 3, b));

    assert_ok(ctx, ferry_task_add_domain(ctx, t, numbers(ctx, "n", 3, x)));
    ferry_i_ids_add(t->domains[0]->labels->names, "5", NULL);
    assert_ok(ctx, ferry_i_task_resolve(ctx, t));
    assert_string_equal(names_of(t), "-2 1 +1 1.0 9 10");
    assert_string_equal(class_of(t, 0, 2), "+1");
    assert_string_equal(class_of(t, 1, 0), "1.0");
    assert_string_equal(class_of(t, 2, 0), "9");
    assert_string_equal(class_of(t, 2, 2), "?");
    ferry_task_free(t);
}

static void test_resolve_regress(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const a[] = {"1.5", NULL}, *const b[] = {"1", "many"};
    ferry_task *t =
        task_of(ctx, FERRY_REGRESS, classes(ctx, "s", FERRY_SOURCE, 2, a), NULL);

    assert_ok(ctx, ferry_i_task_resolve(ctx, t));
    assert_null(t->names);
    assert_close(t->domains[0]->labels->num[0], 1.5, 0);
    assert_true(isnan(t->domains[0]->labels->num[1]));
    assert_ok(ctx, ferry_task_add_domain(ctx, t, classes(ctx, "w", FERRY_TARGET, 2, b)));
    assert_fails(ctx, ferry_i_task_resolve(ctx, t), FERRY_EDATA,
                 "goal regress: domain 'w': label 'many' (instance 2) is not a number");
    assert_int_equal(t->domains[1]->labels->kind, FERRY_LABEL_CLASS); /* as before */
    ferry_task_free(t);
}

static ferry_domain *sets(ferry_ctx *ctx, const char *name, int64_t m,
                          const char *const *names)
{
    static const uint8_t on[] = {1, 1, 0, 1, 0, 0};
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, name, FERRY_SOURCE, &d));
    assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, 2, NULL, m, names, on));
    return d;
}

static void count_warnings(void *user, ferry_level level, const char *line)
{
    assert_int_equal(level, FERRY_WARN);
    assert_string_equal(
        line, "goal multilabel: 1 of 4 labels are known to all domains and are used");
    ++*(int *)user;
}

/* The labels that all domains know, said once. */
static void test_resolve_multilabel(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const a[] = {"sky", "sea"}, *const b[] = {"sea", "grass", "never"};
    const char *const c[] = {"sea"}, *const other[] = {"sun"};
    ferry_task *t =
        task_of(ctx, FERRY_MULTILABEL, sets(ctx, "s", 2, a), sets(ctx, "t", 3, b));
    int lines = 0;

    ferry_ctx_set_log(ctx, count_warnings, FERRY_WARN, &lines);
    assert_ok(ctx, ferry_task_add_domain(ctx, t, classes(ctx, "c", FERRY_SOURCE, 1, c)));
    assert_ok(ctx, ferry_i_task_resolve(ctx, t));
    assert_ok(ctx, ferry_i_task_resolve(ctx, t));
    assert_int_equal(lines, 1);
    assert_string_equal(names_of(t), "sea");
    for (int64_t i = 0; i < 2; i++) { /* both have sea in both instances */
        assert_int_equal(t->domains[0]->labels->on[i], 1);
        assert_int_equal(t->domains[1]->labels->on[i], 1);
    }
    assert_int_equal(t->domains[2]->labels->on[0], 1);
    ferry_ctx_set_log(ctx, NULL, FERRY_WARN, NULL);
    assert_ok(ctx,
              ferry_task_add_domain(ctx, t, classes(ctx, "d", FERRY_SOURCE, 1, other)));
    assert_fails(ctx, ferry_i_task_resolve(ctx, t), FERRY_EDATA,
                 "none of the 2 labels is known to all domains");
    ferry_task_free(t);
}

static void test_resolve_sets_as_classes(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const a[] = {"sky", "sea"};
    ferry_task *t = task_of(ctx, FERRY_CLASSIFY, sets(ctx, "s", 2, a), NULL);

    assert_fails(ctx, ferry_i_task_resolve(ctx, t), FERRY_EDATA,
                 "goal classify: domain 's': instance 1 has 2 labels");
    ferry_task_free(t);
}

static void count_lines(void *user, ferry_level level, const char *line)
{
    (void)level;
    assert_non_null(strstr(line, "left out"));
    ++*(int *)user;
}

static void test_resolve_embed_and_rate(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const a[] = {"sky", "sea"}, *const b[] = {"x", "y"};
    int lines = 0;
    ferry_task *t = task_of(ctx, FERRY_EMBED, sets(ctx, "s", 2, a),
                            classes(ctx, "t", FERRY_TARGET, 2, b));

    ferry_ctx_set_log(ctx, count_lines, FERRY_WARN, &lines);
    assert_ok(ctx, ferry_i_task_resolve(ctx, t));
    assert_int_equal(lines, 1);
    assert_null(t->domains[0]->labels); /* sets cannot score an embedding */
    assert_string_equal(names_of(t), "x y");
    ferry_task_free(t);
    t = task_of(ctx, FERRY_RATE, sets(ctx, "s", 2, a), NULL);
    assert_ok(ctx, ferry_i_task_resolve(ctx, t));
    assert_null(t->domains[0]->labels);
    assert_null(t->names);
    ferry_task_free(t);
}

static void test_resolved_leaves_the_task_alone(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const a[] = {"2", "1"};
    ferry_task *t =
        task_of(ctx, FERRY_REGRESS, classes(ctx, "s", FERRY_SOURCE, 2, a), NULL);
    ferry_task *s = NULL;

    assert_ok(ctx, ferry_i_task_resolved(ctx, t, &s));
    assert_int_equal(t->domains[0]->labels->kind, FERRY_LABEL_CLASS);
    assert_int_equal(s->domains[0]->labels->kind, FERRY_LABEL_NUMBER);
    assert_ptr_equal(s->domains[0]->ids, t->domains[0]->ids);
    ferry_task_free(t);
    assert_close(s->domains[0]->labels->num[0], 2, 0);
    ferry_task_free(s);
}

/* ---- memory ---- */

static ferry_status everything(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_opts *opts = arg;
    const char *const a[] = {"x", "y"}, *const b[] = {"y", "z"};
    ferry_task *t = NULL, *s = NULL;
    ferry_domain *d = NULL;

    FERRY_TRY(ferry_task_new(ctx, "t", FERRY_CLASSIFY, &t));
    FERRY_TRY(ferry_domain_new(ctx, "s", FERRY_SOURCE, &d));
    FERRY_TRY(ferry_domain_set_classes(ctx, d, 2, NULL, a));
    st = ferry_task_add_domain(ctx, t, d);
    d = NULL;
    if (st != FERRY_OK) goto done;
    FERRY_TRY(ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    FERRY_TRY(ferry_domain_set_classes(ctx, d, 2, NULL, b));
    st = ferry_task_add_domain(ctx, t, d);
    d = NULL;
    if (st != FERRY_OK) goto done;
    FERRY_TRY(ferry_task_add_method(ctx, t, "svm", NULL, opts));
    FERRY_TRY(ferry_task_set_evaluate(ctx, t, NULL));
    FERRY_TRY(ferry_i_task_resolved(ctx, t, &s));
    FERRY_TRY(ferry_i_task_resolve(ctx, t));
done:
    ferry_domain_free(d);
    ferry_task_free(t);
    ferry_task_free(s);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *opts = opts_of(ctx, "C=2", NULL);

    each_allocation_fails(ctx, everything, opts);
    ferry_opts_free(opts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_new),
        TEST(test_domains_and_roles),
        TEST(test_methods),
        TEST(test_evaluate),
        TEST(test_resolve_words),
        TEST(test_resolve_numbers_as_classes),
        TEST(test_resolve_regress),
        TEST(test_resolve_multilabel),
        TEST(test_resolve_sets_as_classes),
        TEST(test_resolve_embed_and_rate),
        TEST(test_resolved_leaves_the_task_alone),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
