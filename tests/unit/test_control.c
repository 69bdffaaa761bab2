/* Controls: what must change does, what must stay stays. */
#include <stdio.h>

#include "ferry_test.h"
#include "small_task.h"
#include "task/task.h"

enum { N = 30, D = 4 };

static double cell(int64_t i, int64_t j)
{
    return (i * 7 + j * 3) % 5 == 0 ? 0 : (double)(i + 100 * j + 1);
}

static ferry_domain *domain(ferry_ctx *ctx, const char *name, ferry_role role, bool sparse,
                            int views)
{
    double x[N * D];
    char letters[N + 1] = "";
    ferry_domain *d = NULL;

    for (int64_t i = 0; i < N * D; i++)
        x[i] = cell(i / D, i % D);
    for (int64_t i = 0; i < N; i++)
        letters[i] = i % 10 == 9 ? '?' : i % 3 ? 'a' : 'b';
    assert_ok(ctx, ferry_domain_new(ctx, name, role, &d));
    small_view(ctx, d, "x", N, D, x, NULL, NULL, sparse);
    if (views > 1) small_view(ctx, d, "z", N, D, x, NULL, NULL, sparse);
    small_classes(ctx, d, letters);
    return d;
}

static ferry_task *task_of(ferry_ctx *ctx, bool sparse)
{
    ferry_task *task =
        small_task(ctx, FERRY_CLASSIFY, domain(ctx, "s", FERRY_SOURCE, sparse, 1),
                   domain(ctx, "t", FERRY_TARGET, sparse, 1));

    assert_ok(ctx, ferry_task_add_domain(ctx, task,
                                         domain(ctx, "m", FERRY_INTERMEDIATE, sparse, 2)));
    assert_ok(ctx, ferry_i_task_resolve(ctx, task));
    return task;
}

static double at(const ferry_matrix *x, int64_t i, int64_t j)
{
    if (x->dense) return x->dense[i * x->cols + j];
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        if (x->index[e] == j) return x->value[e];
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Every column has the same values, and how many cells moved. */
static int64_t same_columns(const ferry_matrix *a, const ferry_matrix *b)
{
    int64_t moved = 0;

    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->cols, b->cols);
    assert_int_equal(a->nnz, b->nnz);
    for (int64_t j = 0; j < a->cols; j++) {
        double x[N], y[N];
        for (int64_t i = 0; i < N; i++) {
            x[i] = at(a, i, j);
            y[i] = at(b, i, j);
            moved += x[i] != y[i];
        }
        qsort(x, N, sizeof *x, by_value);
        qsort(y, N, sizeof *y, by_value);
        assert_memory_equal(x, y, sizeof x);
    }
    for (int64_t i = 0; !b->dense && i < b->rows; i++)
        for (int64_t e = b->start[i] + 1; e < b->start[i + 1]; e++)
            assert_true(b->index[e - 1] < b->index[e]);
    return moved;
}

static void check_noise(ferry_ctx *ctx, bool sparse)
{
    ferry_task *task = task_of(ctx, sparse), *a = NULL, *b = NULL, *again = NULL;

    assert_true(ferry_i_task_has_control(task, FERRY_CONTROL_NOISE));
    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_NOISE, 0, &a));
    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_NOISE, 1, &b));
    ctx->repeat = 5; /* which split it is makes no difference */
    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_NOISE, 0, &again));
    ctx->repeat = 0;
    const ferry_domain *s = task->domains[0], *sa = a->domains[0];
    assert_true(same_columns(s->views[0]->x, sa->views[0]->x) > N);
    assert_true(same_columns(sa->views[0]->x, b->domains[0]->views[0]->x) > N);
    assert_int_equal(same_columns(sa->views[0]->x, again->domains[0]->views[0]->x), 0);
    assert_ptr_equal(s->labels, sa->labels);
    assert_ptr_equal(task->domains[1], a->domains[1]);
    assert_ptr_equal(task->domains[2], a->domains[2]);
    ferry_task_free(a);
    ferry_task_free(b);
    ferry_task_free(again);
    ferry_task_free(task);
}

static void test_noise(void **state)
{
    check_noise(*state, false);
    check_noise(*state, true);
}

static void test_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, false), *a = NULL;
    int64_t moved = 0, ones = 0;

    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_LABELS, 0, &a));
    const ferry_labels *l = task->domains[0]->labels, *k = a->domains[0]->labels;
    for (int64_t i = 0; i < N; i++) {
        assert_int_equal(ferry_i_labels_has(l, i), ferry_i_labels_has(k, i));
        moved += l->cls[i] != k->cls[i];
        ones += (l->cls[i] == 1) - (k->cls[i] == 1);
    }
    assert_true(moved > 0);
    assert_int_equal(ones, 0);
    assert_ptr_equal(task->domains[0]->views, a->domains[0]->views);
    assert_ptr_equal(task->domains[1], a->domains[1]); /* not the target's */
    ferry_task_free(a);
    ferry_task_free(task);
}

/* Names change, what is together stays so; some draw of eight is not the names as they are. */
static void test_classes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, false);
    int64_t moved = 0;

    for (int draw = 0; draw < 8; draw++) {
        ferry_task *a = NULL;
        assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_CLASSES, draw, &a));
        const ferry_labels *l = task->domains[0]->labels, *k = a->domains[0]->labels;
        for (int64_t i = 0; i < N; i++) {
            assert_int_equal(ferry_i_labels_has(l, i), ferry_i_labels_has(k, i));
            moved += l->cls[i] != k->cls[i];
            for (int64_t j = 0; j < i; j++)
                if (ferry_i_labels_has(l, i) && ferry_i_labels_has(l, j))
                    assert_true((l->cls[i] == l->cls[j]) == (k->cls[i] == k->cls[j]));
        }
        assert_ptr_equal(task->domains[1], a->domains[1]); /* not the target's */
        ferry_task_free(a);
    }
    assert_true(moved > 0);
    ferry_task_free(task);
}

/* Numbers and sets of labels change places too. */
static void test_other_labels(void **state)
{
    ferry_ctx *ctx = *state;
    double numbers[N];
    uint8_t on[N * 2];
    const char *names[] = {"p", "q"};

    for (int goal = 0; goal < 2; goal++) {
        ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
        ferry_domain *t = domain(ctx, "t", FERRY_TARGET, false, 1);
        ferry_task *task = NULL, *a = NULL;
        double sum = 0;
        int64_t moved = 0;
        for (int64_t i = 0; i < N; i++) {
            numbers[i] = i == 3 ? NAN : (double)i;
            on[2 * i] = i % 2 == 1;
            on[2 * i + 1] = i % 5 == 0;
        }
        if (goal == 0)
            assert_ok(ctx, ferry_domain_set_numbers(ctx, s, N, NULL, numbers));
        else
            assert_ok(ctx, ferry_domain_set_labelsets(ctx, s, N, NULL, 2, names, on));
        task = small_task(ctx, goal == 0 ? FERRY_REGRESS : FERRY_MULTILABEL, s, t);
        assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_LABELS, 0, &a));
        const ferry_labels *k = a->domains[0]->labels;
        for (int64_t i = 0; i < N; i++) {
            if (goal == 0) {
                assert_int_equal(isnan(k->num[i]), i == 3);
                if (i != 3) sum += k->num[i];
                moved += k->num[i] != numbers[i];
            } else {
                sum += k->on[2 * i] * 10 + k->on[2 * i + 1];
                moved += k->on[2 * i] != on[2 * i];
            }
        }
        assert_close(sum, goal == 0 ? 435 - 3 : 156, 0);
        assert_true(moved > 2);
        assert_false(ferry_i_task_has_control(task, FERRY_CONTROL_NOISE));
        ferry_task_free(a);
        ferry_task_free(task);
    }
}

static void test_bridge(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, false), *a = NULL;
    int64_t rows = 0;

    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_BRIDGE, 0, &a));
    const ferry_domain *m = task->domains[2], *k = a->domains[2];
    assert_ptr_equal(m->views[0]->x, k->views[0]->x); /* rows of the second move whole */
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++)
            rows += memcmp(m->views[1]->x->dense + i * D, k->views[1]->x->dense + j * D,
                           D * sizeof(double)) == 0;
    assert_int_equal(rows, N);
    assert_true(same_columns(m->views[1]->x, k->views[1]->x) > N);
    assert_ptr_equal(task->domains[0], a->domains[0]);
    ferry_task_free(a);
    ferry_task_free(task);
    /* one view: the tie is within its rows; pairs: right ends change places */
    task = small_task(ctx, FERRY_CLASSIFY, NULL, domain(ctx, "t", FERRY_TARGET, false, 1));
    ferry_domain *one = domain(ctx, "m", FERRY_INTERMEDIATE, true, 1);
    one->pairs = ferry_i_calloc(1, sizeof *one->pairs);
    one->pairs->n = 20;
    one->pairs->left = ferry_i_calloc(20, sizeof(char *));
    one->pairs->right = ferry_i_calloc(20, sizeof(char *));
    for (int i = 0; i < 20; i++) {
        one->pairs->left[i] = ferry_i_sprintf("%d", i + 1);
        one->pairs->right[i] = ferry_i_sprintf("%d", i + 1);
    }
    assert_ok(ctx, ferry_task_add_domain(ctx, task, one));
    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_BRIDGE, 3, &a));
    assert_true(same_columns(one->views[0]->x, a->domains[1]->views[0]->x) > N / 2);
    const ferry_pairs *p = a->domains[1]->pairs;
    int64_t moved = 0, sum = 0;
    for (int i = 0; i < 20; i++) {
        assert_string_equal(p->left[i], one->pairs->left[i]);
        moved += strcmp(p->left[i], p->right[i]) != 0;
        sum += atoi(p->right[i]);
    }
    assert_true(moved > 10);
    assert_int_equal(sum, 210);
    ferry_task_free(a);
    ferry_task_free(task);
}

static void test_graph(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain(ctx, "t", FERRY_TARGET, false, 1);
    char name[N][8];
    const char *from[3 * N], *to[3 * N];
    double weight[3 * N], before = 0, after = 0;
    ferry_task *task = NULL, *a = NULL;
    int64_t e = 0, moved = 0;

    for (int64_t i = 0; i < N; i++)
        (void)snprintf(name[i], sizeof name[i], "%lld", (long long)i + 1);
    for (int64_t i = 0; i < N; i++) /* a ring, chords, and one hub */
        for (int64_t k = 0; k < 3; k++) {
            from[e] = name[i];
            to[e] = name[k == 0 ? (i + 1) % N : k == 1 ? (i + 7) % N : 0];
            weight[e++] = 1 + (double)k;
        }
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "g", e, from, to, weight));
    task = small_task(ctx, FERRY_CLASSIFY, NULL, d);
    assert_true(ferry_i_task_has_control(task, FERRY_CONTROL_GRAPH));
    assert_false(ferry_i_task_has_control(task, FERRY_CONTROL_NOISE));
    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_GRAPH, 0, &a));
    const ferry_matrix *x = d->graphs[0]->a, *y = a->domains[0]->graphs[0]->a;
    assert_int_equal(x->nnz, y->nnz);
    for (int64_t i = 0; i < N; i++) {
        assert_int_equal(x->start[i + 1] - x->start[i], y->start[i + 1] - y->start[i]);
        for (int64_t j = 0; j < N; j++) {
            before += at(x, i, j);
            after += at(y, i, j);
            assert_close(at(y, i, j), at(y, j, i), 0);
            moved += (at(x, i, j) > 0) != (at(y, i, j) > 0);
        }
        assert_close(at(y, i, i), 0, 0);
    }
    assert_close(before, after, 1e-12);
    assert_true(moved > N);
    assert_ptr_equal(d->views, a->domains[0]->views);
    ferry_task_free(a);
    ferry_task_free(task);
}

static void test_ratings_and_sources(void **state)
{
    ferry_ctx *ctx = *state;
    static const int user[] = {0, 0, 1, 1, 2, 2, 3, 3}, item[] = {0, 1, 1, 2, 0, 3, 2, 3};
    static const double value[] = {1, 2, 3, 4, 5, 1, 2, 3};
    ferry_domain *s = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL),
                 *s2 = small_domain(ctx, "s2", FERRY_SOURCE, 0, 0, NULL),
                 *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL, *a = NULL, *b = NULL;
    int64_t moved = 0;
    double sum = 0;

    small_ratings(ctx, s, 8, user, item, value);
    small_ratings(ctx, s2, 8, user, item, value);
    small_ratings(ctx, t, 8, user, item, value);
    task = small_task(ctx, FERRY_RATE, s, t);
    assert_false(ferry_i_task_has_control(task, FERRY_CONTROL_WITHOUT));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, s2));
    assert_true(ferry_i_task_has_control(task, FERRY_CONTROL_WITHOUT));
    assert_false(ferry_i_task_has_control(task, FERRY_CONTROL_LABELS));
    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_NOISE, 1, &a));
    for (int i = 0; i < 8; i++) {
        moved += a->domains[0]->ratings->value[i] != value[i];
        sum += a->domains[0]->ratings->value[i];
    }
    assert_true(moved > 0);
    assert_close(sum, 21, 0);
    assert_ptr_equal(a->domains[1], t);
    assert_ok(ctx, ferry_i_task_control(ctx, task, FERRY_CONTROL_WITHOUT, 1, &b));
    assert_int_equal(b->n_domains, 2);
    assert_ptr_equal(b->domains[0], s);
    assert_ptr_equal(b->domains[1], t);
    ferry_task_free(a);
    ferry_task_free(b);
    ferry_task_free(task);
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;

    for (int k = 0; k < FERRY_N_CONTROLS && st == FERRY_OK; k++) {
        ferry_task *a = NULL;
        st = ferry_i_task_control(ctx, arg, (ferry_control)k, 0, &a);
        ferry_task_free(a);
    }
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;

    for (int sparse = 0; sparse < 2; sparse++) {
        ferry_task *task = task_of(ctx, sparse);
        each_allocation_fails(ctx, body, task);
        ferry_task_free(task);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_noise),
        TEST(test_labels),
        TEST(test_classes),
        TEST(test_other_labels),
        TEST(test_bridge),
        TEST(test_graph),
        TEST(test_ratings_and_sources),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
