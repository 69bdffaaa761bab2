/* From tasks to numbers: columns, labels, layouts, new data, the model's file. */
#include "kept.h"
#include "small_task.h"

static const char *const abc[] = {"a", "b", "c"}, *const cbd[] = {"c", "b", "d"},
                         *const xyz[] = {"x", "y", "z"};

/* Source: a b c. Target: c b d, so that b and c are shared, in another order. */
static ferry_task *two_domains(ferry_ctx *ctx, bool sparse)
{
    const double s[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, t[] = {30, 20, 1, 60, 50, 2, 0, 0, 3};
    ferry_domain *source = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *target = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);

    small_view(ctx, source, "x", 3, 3, s, NULL, abc, sparse);
    small_view(ctx, target, "x", 3, 3, t, NULL, cbd, sparse);
    small_classes(ctx, source, "pq?");
    small_classes(ctx, target, "?p?");
    return small_task(ctx, FERRY_CLASSIFY, source, target);
}

static ferry_task *resolved(ferry_ctx *ctx, ferry_task *raw)
{
    ferry_task *t = NULL;

    assert_ok(ctx, ferry_i_task_resolved(ctx, raw, &t));
    ferry_task_free(raw);
    return t;
}

static const ferry_wants joined = {.method = "m",
                                   .domains = FERRY_SOURCES | FERRY_THE_TARGET,
                                   .layout = FERRY_JOINED,
                                   .scale = FERRY_SCALE_NONE,
                                   .shared = true,
                                   .labelled_sources = true};

static double at(const ferry_matrix *x, int64_t i, int64_t j)
{
    if (x->dense) return x->dense[i * x->cols + j];
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        if (x->index[e] == j) return x->value[e];
    return 0;
}

static void assert_matrix(const ferry_matrix *x, int64_t rows, int64_t cols,
                          const double *want)
{
    assert_int_equal(x->rows, rows);
    assert_int_equal(x->cols, cols);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            if (isnan(want[i * cols + j]))
                assert_true(isnan(at(x, i, j)));
            else
                assert_close(at(x, i, j), want[i * cols + j], 1e-15);
}

/* Shared columns in the target's order, labels by row, from dense and sparse files. */
static void test_joined(void **state)
{
    ferry_ctx *ctx = *state;
    const double s[] = {3, 2, 6, 5, 9, 8}, t[] = {30, 20, 60, 50, 0, 0};

    for (int sparse = 0; sparse < 2; sparse++) {
        ferry_task *task = resolved(ctx, two_domains(ctx, sparse));
        ferry_prepared *p = NULL;
        ferry_rows r = {0};
        assert_ok(ctx, fits_prepared(ctx, task, &joined));
        assert_ok(ctx, make_prepared(ctx, task, &joined, &p));
        assert_int_equal(p->n_rows, 2);
        assert_int_equal(p->n_sources, 1);
        assert_int_equal(p->k, 2);
        assert_int_equal(prepared_width(p), 2);
        assert_matrix(p->rows[0].x[0], 3, 2, s);
        assert_matrix(prepared_target(p)->x[0], 3, 2, t);
        assert_true(p->rows[0].x[0]->dense != NULL); /* by fill, not by file */
        assert_int_equal(p->rows[0].labelled, 2);
        assert_int_equal(p->rows[0].cls[1], 1);
        assert_int_equal(p->rows[0].cls[2], -1);
        assert_int_equal(p->rows[1].cls[1], 0);
        assert_string_equal(p->links->text, "t.x = s.x by name");
        assert_ok(ctx, make_rows(ctx, p, p->rows[1].domain, &r));
        assert_matrix(r.x[0], 3, 2, t);
        assert_null(r.cls);
        ferry_task_free(task);
    }
}

/* Only the labelled rows; what they are scaled by is learned from all. */
static void test_labelled(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = resolved(ctx, two_domains(ctx, false));
    ferry_wants w = joined;
    ferry_prepared *p = NULL;

    w.labelled = true;
    w.scale = FERRY_SCALE_COMMON;
    assert_ok(ctx, make_prepared(ctx, task, &w, &p));
    assert_int_equal(p->rows[0].n, 2);
    assert_int_equal(p->rows[1].n, 1);
    assert_int_equal(p->rows[1].instance[0], 1);
    /* column c: 3, 6, 9 and 30, 60, 0 */
    assert_close(p->space[0].scale->shift[0], 18, 1e-14);
    assert_close(at(p->rows[1].x[0], 0, 0), (60 - 18.0) * p->space[0].scale->factor[0],
                 1e-15);
    ferry_task_free(task);
}

/* A path over a bridge with the source's words and a view of the target's kind. */
static ferry_task *three_domains(ferry_ctx *ctx)
{
    const double s[] = {1, 0, 2, 0, 1, 1}, b1[] = {2, 1, 0, 0, 0, 3}, b2[] = {5, 6, 7, 8},
                 t[] = {9, 10, 11, NAN};
    ferry_domain *source = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *bridge = small_domain(ctx, "b", FERRY_INTERMEDIATE, 0, 0, NULL);
    ferry_domain *target = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    const char *one[] = {"i", "j"}, *two[] = {"j", "k"};
    ferry_task *task = NULL;

    small_view(ctx, source, "words", 2, 3, s, NULL, abc, true);
    small_view(ctx, bridge, "words", 2, 3, b1, one, cbd, false);
    small_view(ctx, bridge, "pixels", 2, 2, b2, two, NULL, false);
    small_view(ctx, target, "pixels", 2, 2, t, NULL, NULL, false);
    small_classes(ctx, source, "pq");
    assert_ok(ctx, ferry_task_new(ctx, "t", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, source));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, bridge));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, target));
    return resolved(ctx, task);
}

static void test_path(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = three_domains(ctx);
    const ferry_wants w = {.method = "m",
                           .domains = FERRY_SOURCES | FERRY_BRIDGES | FERRY_THE_TARGET,
                           .layout = FERRY_PATH,
                           .scale = FERRY_SCALE_NONE};
    /* pixels 1 2, then the bridge's words c b d, then a of the source */
    const double s[] = {0, 0, 2, 0, 0, 1, 0, 0, 1, 1, 0, 0},
                 b[] = {0, 0, 2, 1, 0, 0, 5, 6, 0, 0, 3, 0, 7, 8, 0, 0, 0, 0},
                 t[] = {9, 10, 0, 0, 0, 0, 11, 8, 0, 0, 0, 0}, frame[] = {9, 10, 11, 8};
    ferry_prepared *p = NULL;
    ferry_rows r = {0};

    assert_ok(ctx, make_prepared(ctx, task, &w, &p));
    assert_int_equal(p->n_spaces, 2);
    assert_int_equal(p->cols, 6);
    assert_int_equal(p->n_rows, 3);
    assert_string_equal(p->space[1].name, "words");
    assert_matrix(p->rows[0].x[0], 2, 6, s);
    assert_matrix(p->rows[1].x[0], 3, 6, b); /* i has words, j both, k pixels */
    assert_matrix(p->rows[2].x[0], 2, 6, t); /* NaN: the mean of 6, 8, 10 */
    for (int i = 0; i < 3; i++)
        assert_null(p->rows[i].x[0]->dense);
    assert_true(!p->rows[0].has[0] && p->rows[0].has[1] && p->rows[1].has[0]);
    assert_int_equal(prepared_column(p, 1), 1);
    assert_ok(ctx, make_rows(ctx, kept_prepared(ctx, p), task->domains[2], &r));
    assert_matrix(r.x[0], 2, 2, frame);
    ferry_task_free(task);
}

/* Each view by itself, with the instances that lack it, and the shift for sparse ones. */
static void test_apart(void **state)
{
    ferry_ctx *ctx = *state;
    double wide[3 * 40] = {0};
    const double few[] = {1, 2, 5, 7};
    const char *ids[] = {"1", "2", "3"}, *some[] = {"3", "1"};
    ferry_domain *target = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;
    const ferry_wants w = {.method = "m",
                           .domains = FERRY_THE_TARGET,
                           .layout = FERRY_APART,
                           .scale = FERRY_SCALE_COMMON};
    ferry_prepared *p = NULL;
    const ferry_rows *r = NULL;

    wide[0] = 3;
    wide[41] = -6;
    small_view(ctx, target, "wide", 3, 40, wide, ids, NULL, false);
    small_view(ctx, target, "few", 2, 2, few, some, NULL, false);
    small_classes(ctx, target, "pqp");
    task = resolved(ctx, small_task(ctx, FERRY_CLASSIFY, NULL, target));
    assert_ok(ctx, make_prepared(ctx, task, &w, &p));
    r = prepared_target(p);
    assert_int_equal(r->n_x, 2);
    assert_null(r->x[0]->dense); /* 2 of 120 cells: CSR, and not centred */
    assert_non_null(r->x[1]->dense);
    assert_null(r->there[0]);
    assert_true(r->there[1][0] && !r->there[1][1] && r->there[1][2]);
    assert_null(r->shift[1]);
    const double f = p->space[0].scale->factor[0];
    assert_close(r->x[0]->value[0], 3 * f, 1e-15);
    assert_close(r->shift[0][0], 1 * f, 1e-15);
    assert_close(r->shift[0][1], -2 * f, 1e-15);
    assert_close(r->x[1]->dense[2], 0, 0); /* not there */
    assert_close(r->x[1]->dense[4], (1 - 3.0) * p->space[1].scale->factor[0], 1e-15);
    ferry_task_free(task);
}

/* For trees: what is not known is NaN. */
static void test_missing(void **state)
{
    ferry_ctx *ctx = *state;
    const double s[] = {1, 2, 3, 4, 5, 6}, t[] = {7, NAN, 9, 10, 11, 12};
    const double want[] = {3, NAN, NAN, 6, NAN, NAN}, mine[] = {7, NAN, 9, 10, 11, 12};
    ferry_domain *source = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *target = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    const char *cuv[] = {"c", "u", "v"};
    ferry_wants w = joined;
    ferry_prepared *p = NULL;

    small_view(ctx, source, "x", 2, 3, s, NULL, abc, false);
    small_view(ctx, target, "x", 2, 3, t, NULL, cuv, false);
    small_classes(ctx, source, "pq");
    ferry_task *task = resolved(ctx, small_task(ctx, FERRY_CLASSIFY, source, target));
    w.missing = true;
    w.shared = false;
    assert_ok(ctx, make_prepared(ctx, task, &w, &p));
    assert_matrix(p->rows[0].x[0], 2, 3, want);
    assert_matrix(p->rows[1].x[0], 2, 3, mine);
    assert_ptr_equal(p->rows[1].x[0], task->domains[1]->views[0]->x); /* no copy */
    ferry_task_free(task);
}

/* One sentence when the task does not have it. */
static void test_needs(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 2, 3, 4, 5, 6};
    ferry_domain *source = small_domain(ctx, "s", FERRY_SOURCE, 0, 0, NULL);
    ferry_domain *target = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_prepared *p = NULL;

    small_view(ctx, source, "x", 2, 3, v, NULL, abc, false);
    small_view(ctx, target, "x", 2, 3, v, NULL, xyz, false);
    ferry_task *task = resolved(ctx, small_task(ctx, FERRY_CLASSIFY, source, target));
    assert_fails(ctx, fits_prepared(ctx, task, &joined), FERRY_ENEEDS,
                 "m needs a source with labels");
    ferry_wants w = joined;
    w.labelled_sources = false;
    assert_fails(ctx, make_prepared(ctx, task, &w, &p), FERRY_ENEEDS,
                 "m needs features that source 's' (3) and target 't' (3) share");
    assert_null(p);
    ferry_task_free(task);
}

/* ---- save and load ---- */

static ferry_dict *saved(ferry_ctx *ctx, const ferry_prepared *p)
{
    ferry_dict *dict = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, save_prepared(ctx, p, dict));
    return dict;
}

/* Methods that read values as amounts: nothing below 0 unless it was there. A table of four
 * columns is standardised otherwise. */
static void test_positive(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 900, 0, 3, 2, 500, 1, 0, 5, 700, 0, 2};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 3, 4, v);
    ferry_wants w = {.method = "m", .domains = FERRY_THE_TARGET, .layout = FERRY_PATH};

    small_classes(ctx, t, "pqp");
    ferry_task *task = resolved(ctx, small_task(ctx, FERRY_CLASSIFY, NULL, t));
    for (int how = FERRY_ANY_SIGN; how <= FERRY_POSITIVE; how++)
        for (int roots = 0; roots < 2; roots++) {
            ferry_prepared *p = NULL, *q = NULL;
            ferry_rows r = {0};
            double least = 0;
            w.positive = (ferry_positive)how;
            w.scale = roots ? FERRY_SCALE_ROOTS : FERRY_SCALE_AUTO;
            assert_ok(ctx, make_prepared(ctx, task, &w, &p));
            assert_int_equal(p->frame[0].scale->kind, roots || how == FERRY_POSITIVE
                                                          ? FERRY_SCALE_ROOTS
                                                          : FERRY_SCALE_STANDARD);
            ferry_dict *dict = saved(ctx, p);
            assert_ok(ctx, load_prepared(ctx, dict, &q));
            assert_ok(ctx, make_rows(ctx, q, task->domains[0], &r));
            for (int64_t e = 0; e < r.x[0]->nnz; e++)
                least = fmin(least, r.x[0]->value[e]);
            assert_int_equal(least < 0,
                             how == FERRY_ANY_SIGN || (how == FERRY_PLAIN_ROOTS && !roots));
            assert_int_equal(r.x[0]->nnz, p->rows[0].x[0]->nnz);
            assert_memory_equal(r.x[0]->value, p->rows[0].x[0]->value,
                                (size_t)r.x[0]->nnz * sizeof(double));
            ferry_i_dict_free(dict);
        }
    ferry_task_free(task);
}

static void test_save(void **state)
{
    ferry_ctx *ctx = *state;

    for (ferry_scale k = FERRY_SCALE_NONE; k <= FERRY_SCALE_L2; k++) {
        ferry_task *task = resolved(ctx, two_domains(ctx, false));
        ferry_wants w = joined;
        ferry_prepared *p = NULL, *q = NULL;
        ferry_rows a = {0}, b = {0};
        ferry_dict *dict = NULL;
        w.scale = (int)k;
        assert_ok(ctx, make_prepared(ctx, task, &w, &p));
        dict = saved(ctx, p);
        assert_ok(ctx, load_prepared(ctx, dict, &q));
        assert_ok(ctx, make_rows(ctx, p, task->domains[1], &a));
        assert_ok(ctx, make_rows(ctx, q, task->domains[1], &b));
        assert_int_equal(a.x[0]->nnz, b.x[0]->nnz);
        assert_memory_equal(a.x[0]->dense, b.x[0]->dense,
                            (size_t)a.x[0]->nnz * sizeof(double));
        assert_int_equal(prepared_width(q), 2);
        ferry_i_dict_free(dict);
        ferry_task_free(task);
    }
}

/* Bags as a stranger could write them: each fact by itself out of place. */
static void test_strange(void **state)
{
    ferry_ctx *ctx = *state;
    static const struct {
        int64_t at, value;
        const char *text;
    } bad[] = {
        {0, 7, "layout 7"},         {4, -1, "-1 features"},
        {5, 3, "3 of 2 features"},  {5, 1, "1 of 2 features"},
        {6, 0, "scale 0"},          {6, 99, "scale 99"},
        {8, 1, "scale 3"},          {9, 0, "scale 3"},
        {10, 0, "scale 3"},         {11, 1, "prepare.columns.0"},
        {4, INT64_MAX, "features"},
    };
    const int64_t good[] = {0, 0, 0, 0, 2, 2, FERRY_SCALE_STANDARD, 1, 0, 1, 1, 0};
    const double numbers[] = {1, 2};

    for (int i = -1; i < (int)FERRY_COUNT(bad); i++) {
        int64_t facts[12];
        ferry_dict *dict = NULL;
        ferry_prepared *p = NULL;
        memcpy(facts, good, sizeof facts);
        if (i >= 0) facts[bad[i].at] = bad[i].value;
        assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
        assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "prepare", 12, facts));
        assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "prepare.fill.0", 1, 2, numbers));
        assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "prepare.shift.0", 1, 2, numbers));
        assert_ok(ctx,
                  ferry_i_dict_put_reals(ctx, dict, "prepare.factor.0", 1, 2, numbers));
        if (i < 0)
            assert_ok(ctx, load_prepared(ctx, dict, &p));
        else
            assert_fails(ctx, load_prepared(ctx, dict, &p), FERRY_EDATA, bad[i].text);
        ferry_i_dict_free(dict);
    }
}

/* Columns that are left out must be numbered as they were. */
static void test_strange_columns(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t facts[] = {0, 0, 0, 0, 3, 2, FERRY_SCALE_NONE, 1, 0, 0, 0, 1};
    const int64_t columns[][3] = {{0, -1, 1}, {1, -1, 0}, {0, 1, 2}, {-1, -1, 0}};
    const double fill[] = {0, 0, 0};

    for (int i = 0; i < 4; i++) {
        ferry_dict *dict = NULL;
        ferry_prepared *p = NULL;
        assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
        assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "prepare", 12, facts));
        assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "prepare.fill.0", 1, 3, fill));
        assert_ok(ctx,
                  ferry_i_dict_put_ints(ctx, dict, "prepare.columns.0", 3, columns[i]));
        if (i == 0)
            assert_ok(ctx, load_prepared(ctx, dict, &p));
        else
            assert_fails(ctx, load_prepared(ctx, dict, &p), FERRY_EDATA,
                         "tensor prepare.columns.0");
        ferry_i_dict_free(dict);
    }
}

/* New data that is not what the model learned from. */
static void test_other_data(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, 2};
    ferry_task *task = resolved(ctx, two_domains(ctx, false));
    ferry_domain *d = small_domain(ctx, "new", FERRY_TARGET, 1, 2, v);
    ferry_prepared *p = NULL;
    ferry_rows r = {0};

    assert_ok(ctx, make_prepared(ctx, task, &joined, &p));
    assert_fails(ctx, make_rows(ctx, p, d, &r), FERRY_EDATA,
                 "view 'x' has 2 features, the model's 3");
    small_view(ctx, d, "y", 1, 2, v, NULL, NULL, false);
    assert_fails(ctx, make_rows(ctx, p, d, &r), FERRY_EDATA,
                 "the model has 1 views, domain 'new' 2");
    ferry_domain_free(d);
    ferry_task_free(task);
}

/* ---- memory ---- */

typedef struct whole {
    ferry_task *task;
    ferry_wants wants;
} whole;

static void free_dict(void *dict)
{
    ferry_i_dict_free(dict);
}

static void prepare_body(scope *s, void *arg)
{
    const whole *w = arg;
    const ferry_domain *target = w->task->domains[w->task->n_domains - 1];
    const ferry_prepared *p = prepare(s, split_of(s, w->task), &w->wants);
    ferry_dict *dict = NULL;

    (void)prepare_rows(s, p, target, false, false);
    scope_check(s, ferry_i_dict_new(scope_ctx(s), &dict));
    scope_defer(s, free_dict, dict);
    prepared_save(s, prepared_keep(s, p), "prepare", dict);
    (void)prepared_load(s, s, "prepare", dict);
}

static ferry_status prepare_all(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, prepare_body, arg);
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    whole w = {resolved(ctx, two_domains(ctx, true)), joined};

    each_allocation_fails(ctx, prepare_all, &w);
    ferry_task_free(w.task);
    w = (whole){three_domains(ctx), joined};
    w.wants.domains |= FERRY_BRIDGES;
    w.wants.layout = FERRY_PATH;
    w.wants.shared = false;
    each_allocation_fails(ctx, prepare_all, &w);
    w.wants.layout = FERRY_APART;
    w.wants.missing = true;
    each_allocation_fails(ctx, prepare_all, &w);
    ferry_task_free(w.task);
}

#define TEST(name) KEPT_TEST(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_joined),          TEST(test_labelled),   TEST(test_path),
        TEST(test_apart),           TEST(test_missing),    TEST(test_needs),
        TEST(test_positive),        TEST(test_save),       TEST(test_strange),
        TEST(test_strange_columns), TEST(test_other_data), TEST(test_no_memory),
    };
    return cmocka_run_group_tests_name("prepare", tests, NULL, NULL);
}
