#include <stdio.h>

#include "data/data.h"
#include "ferry_test.h"

/* ---- helpers ---- */

static ferry_domain *domain_of(ferry_ctx *ctx, ferry_role role)
{
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "d", role, &d));
    return d;
}

/* A view of rows x 1 whose cell is 10 times the row number from 1. */
static ferry_status add_column(ferry_ctx *ctx, ferry_domain *d, const char *name,
                               int64_t rows, const char *const *ids)
{
    static const double cells[] = {10, 20, 30, 40, 50};
    const ferry_array x = {rows, 1, 1, cells};

    return ferry_domain_add_dense(ctx, d, name, &x, ids, NULL, NULL);
}

typedef struct heard {
    int count;
    char last[1024];
} heard;

static void listen(void *user, ferry_level level, const char *line)
{
    heard *h = user;

    assert_int_equal(level, FERRY_WARN);
    h->count++;
    snprintf(h->last, sizeof h->last, "%s", line);
}

static int64_t instance(const ferry_domain *d, const char *id)
{
    return ferry_i_ids_find(d->ids, id);
}

static double edge(const ferry_graph *g, int64_t i, int64_t j)
{
    for (int64_t e = g->a->start[i]; e < g->a->start[i + 1]; e++)
        if (g->a->index[e] == j) return g->a->value[e];
    return 0;
}

/* row_of and instance of every view say the same. */
static void check_views(const ferry_domain *d)
{
    for (int64_t v = 0; v < d->n_views; v++) {
        const ferry_view *view = d->views[v];
        int64_t covered = 0;
        assert_int_equal(view->n_instances, ferry_i_domain_id_count(d));
        for (int64_t i = 0; i < view->n_instances; i++) {
            if (view->row_of[i] < 0) continue;
            assert_int_equal(view->instance[view->row_of[i]], i);
            covered++;
        }
        assert_int_equal(covered, view->x->rows);
    }
    for (int64_t g = 0; g < d->n_graphs; g++)
        assert_int_equal(d->graphs[g]->a->rows, ferry_i_domain_id_count(d));
    if (d->labels) assert_int_equal(d->labels->n, ferry_i_domain_id_count(d));
}

/* ---- domains ---- */

static void test_new(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = NULL;

    assert_fails(ctx, ferry_domain_new(ctx, "", FERRY_SOURCE, &d), FERRY_EINVAL, "name");
    assert_fails(ctx, ferry_domain_new(ctx, NULL, FERRY_SOURCE, &d), FERRY_EINVAL, "name");
    assert_fails(ctx, ferry_domain_new(ctx, "a", (ferry_role)7, &d), FERRY_EINVAL,
                 "role 7");
    assert_null(d);
    assert_ok(ctx, ferry_domain_new(ctx, "a", FERRY_TARGET, &d));
    assert_string_equal(ferry_domain_name(d), "a");
    assert_int_equal(d->role, FERRY_TARGET);
    assert_int_equal(ferry_i_domain_id_count(d), 0);
    assert_null(ferry_i_domain_id_at(d, 0));
    assert_null(ferry_i_domain_id_at(d, -1));
    ferry_domain_free(d);
    ferry_domain_free(NULL);
}

/* ---- views ---- */

static void test_views_are_joined_by_id(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    const char *const first[] = {"a", "b", "c"}, *const second[] = {"d", "c", "a"};

    assert_ok(ctx, add_column(ctx, d, "one", 3, first));
    assert_ok(ctx, add_column(ctx, d, "two", 3, second));
    assert_int_equal(ferry_i_domain_id_count(d), 4);
    check_views(d);
    const ferry_view *one = ferry_i_domain_view(d, "one"),
                     *two = ferry_i_domain_view(d, "two");
    assert_null(ferry_i_domain_view(d, "three"));
    assert_int_equal(one->row_of[instance(d, "d")], -1);
    assert_int_equal(two->row_of[instance(d, "b")], -1);
    assert_int_equal(two->row_of[instance(d, "a")], 2);
    assert_close(two->x->dense[two->row_of[instance(d, "c")]], 20, 0);
    assert_string_equal(ferry_i_domain_id_at(d, 3), "d");
    ferry_domain_free(d);
}

static void test_rows_without_ids_have_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);

    assert_ok(ctx, add_column(ctx, d, "one", 2, NULL));
    assert_ok(ctx, add_column(ctx, d, "two", 3, NULL));
    assert_int_equal(ferry_i_domain_id_count(d), 3);
    assert_string_equal(ferry_i_domain_id_at(d, 2), "3");
    check_views(d);
    ferry_domain_free(d);
}

static void test_views_that_do_not_meet(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    const char *const ab[] = {"a", "b"}, *const cd[] = {"c", "d"};
    heard h = {0};

    ferry_ctx_set_log(ctx, listen, FERRY_WARN, &h);
    assert_ok(ctx, add_column(ctx, d, "one", 2, ab));
    assert_fails(ctx, add_column(ctx, d, "two", 2, NULL), FERRY_EDATA, "has no ids");
    assert_int_equal(d->n_views, 1);
    assert_int_equal(ferry_i_domain_id_count(d), 2);
    assert_int_equal(h.count, 0);
    assert_ok(ctx, add_column(ctx, d, "two", 2, cd)); /* allowed, but said */
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.last, "none of its 2 ids"));
    ferry_domain_free(d);
}

static void test_bad_views(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    const char *const twice[] = {"a", "b", "a"}, *const with_null[] = {"a", NULL};
    const char *const names[] = {"f", "f"};
    const double cells[] = {1, 2, INFINITY, 4}, gap[] = {1, NAN, 3, 4};
    const ferry_array bad = {2, 2, 1, cells}, inf = {2, 2, 2, cells}, nan = {2, 2, 2, gap};
    const int64_t start[] = {0, 1, 2};
    const int32_t index[] = {0, 1};
    const ferry_sparse holes = {2, 2, start, index, gap, NULL};

    assert_fails(ctx, add_column(ctx, d, "v", 3, twice), FERRY_EDATA,
                 "domain 'd', view 'v': ids: 'a' stands twice, at 1 and 3");
    assert_fails(ctx, add_column(ctx, d, "v", 2, with_null), FERRY_EINVAL, "id 2 is NULL");
    assert_fails(ctx, add_column(ctx, d, "", 2, NULL), FERRY_EINVAL, "needs a name");
    assert_fails(ctx, ferry_domain_add_dense(ctx, d, "v", &bad, NULL, NULL, NULL),
                 FERRY_EINVAL, "not an array");
    assert_fails(ctx, ferry_domain_add_dense(ctx, d, "v", NULL, NULL, NULL, NULL),
                 FERRY_EINVAL, "x is NULL");
    assert_fails(ctx, ferry_domain_add_sparse(ctx, d, "v", NULL, NULL, NULL, NULL),
                 FERRY_EINVAL, "x is NULL");
    assert_fails(ctx, ferry_domain_add_dense(ctx, d, "v", &inf, NULL, NULL, NULL),
                 FERRY_EDATA, "row 2, feature 1 is inf");
    assert_fails(ctx, ferry_domain_add_dense(ctx, d, "v", &nan, NULL, names, NULL),
                 FERRY_EDATA, "features: 'f' stands twice");
    assert_int_not_equal(ferry_domain_add_sparse(ctx, d, "v", &holes, NULL, NULL, NULL),
                         FERRY_OK);
    assert_int_equal(d->n_views, 0);
    assert_int_equal(ferry_i_domain_id_count(d), 0);
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "v", &nan, NULL, NULL, NULL));
    assert_true(d->views[0]->has_missing);
    assert_fails(ctx, add_column(ctx, d, "v", 2, NULL), FERRY_EINVAL, "'v' already");
    ferry_domain_free(d);
}

static void test_sparse_view_is_copied(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    int64_t start[] = {0, 1, 1, 3};
    int32_t index[] = {2, 0, 1};
    double value[] = {5, 6, 7};
    const ferry_sparse x = {3, 3, start, index, value, NULL};
    const char *const features[] = {"f", "g", "h"};

    assert_ok(ctx, ferry_domain_add_sparse(ctx, d, "s", &x, NULL, features, NULL));
    memset(start, 9, sizeof start);
    memset(value, 9, sizeof value);
    const ferry_matrix *m = d->views[0]->x;
    assert_int_equal(m->nnz, 3);
    assert_int_equal(m->start[3], 3);
    assert_close(m->value[2], 7, 0);
    assert_false(d->views[0]->has_missing);
    assert_string_equal(ferry_i_ids_at(d->views[0]->features, 1), "g");
    ferry_domain_free(d);
}

static void test_empty_view(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);

    assert_ok(ctx, add_column(ctx, d, "none", 0, NULL));
    assert_ok(ctx, add_column(ctx, d, "one", 1, NULL));
    assert_int_equal(ferry_i_domain_id_count(d), 1);
    check_views(d);
    ferry_domain_free(d);
}

/* ---- lining up ---- */

static void test_align(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    const double cells[6] = {0};
    const ferry_array two = {1, 2, 2, cells}, three = {1, 3, 3, cells};
    const char *const ab[] = {"a", "b"}, *const xba[] = {"x", "b", "a"};
    const char *const pqr[] = {"p", "q", "r"};
    int32_t *map = NULL;
    int64_t shared = 0;

    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "ab", &two, NULL, ab, NULL));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "xba", &three, NULL, xba, NULL));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "pqr", &three, NULL, pqr, NULL));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "none", &three, NULL, NULL, NULL));
    assert_ok(ctx, ferry_i_view_align(ctx, d->views[0], d->views[1], &map, &shared));
    assert_int_equal(shared, 2);
    assert_int_equal(map[0], -1);
    assert_int_equal(map[1], 1);
    assert_int_equal(map[2], 0);
    ferry_i_free(map);
    assert_ok(ctx, ferry_i_view_align(ctx, d->views[1], d->views[3], &map, &shared));
    assert_int_equal(shared, 3); /* names on one side only: by number */
    assert_int_equal(map[2], 2);
    ferry_i_free(map);
    assert_fails(ctx, ferry_i_view_align(ctx, d->views[0], d->views[2], &map, &shared),
                 FERRY_ENEEDS, "no feature in common");
    assert_fails(ctx, ferry_i_view_align(ctx, d->views[0], d->views[3], &map, &shared),
                 FERRY_ENEEDS, "'ab' has 2 features and view 'none' has 3");
    assert_null(map);
    ferry_domain_free(d);
}

/* ---- graphs ---- */

static void test_graph_defines_instances(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET);
    const char *const from[] = {"a", "b", "a", "c"}, *const to[] = {"b", "a", "b", "a"};
    const double w[] = {0.1, 0.2, 0.3, 4};

    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "g", 4, from, to, w));
    assert_int_equal(ferry_i_domain_id_count(d), 3);
    const ferry_graph *g = d->graphs[0];
    assert_int_equal(g->a->nnz, 4);
    assert_true(edge(g, 0, 1) == 0.1 + 0.2 + 0.3); /* added up in the order given, ... */
    assert_true(edge(g, 0, 1) == edge(g, 1, 0)); /* ... both directions to the same bits */
    assert_close(edge(g, 2, 0), 4, 0);
    assert_close(edge(g, 1, 2), 0, 0);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t e = g->a->start[i] + 1; e < g->a->start[i + 1]; e++)
            assert_true(g->a->index[e - 1] < g->a->index[e]);
    assert_fails(ctx, ferry_domain_add_graph(ctx, d, "g", 4, from, to, w), FERRY_EINVAL,
                 "'g' already");
    ferry_domain_free(d);
}

static void test_graph_among_instances(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET);
    const char *const ids[] = {"a", "b", "c"}, *const more[] = {"c", "z"};
    const char *const from[] = {"a", "q", "b", "c", "r"};
    const char *const to[] = {"b", "a", "b", "c", "s"};
    heard h = {0};

    ferry_ctx_set_log(ctx, listen, FERRY_WARN, &h);
    assert_ok(ctx, add_column(ctx, d, "x", 3, ids));
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "g", 5, from, to, NULL));
    assert_int_equal(h.count, 2); /* one for ids, one for self-loops */
    assert_non_null(strstr(h.last, "2 edges join an instance with itself"));
    assert_int_equal(d->graphs[0]->a->nnz, 2);
    assert_int_equal(ferry_i_domain_id_count(d), 3);
    assert_ok(ctx, add_column(ctx, d, "y", 2, more)); /* the graph grows along */
    check_views(d);
    assert_close(edge(d->graphs[0], 1, 0), 1, 0);
    assert_fails(ctx, ferry_domain_add_graph(ctx, d, "h", 1, from + 4, to + 4, NULL),
                 FERRY_EDATA, "none of its 1 edges joins");
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "empty", 0, NULL, NULL, NULL));
    assert_int_equal(d->graphs[1]->a->nnz, 0);
    ferry_domain_free(d);
}

/* Instances come in the order in which they were added, whatever edges say; one without edges is
 * there; row numbers are no names. */
static void test_instances(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET), *e = domain_of(ctx, FERRY_TARGET);
    const char *const ids[] = {"a", "b", "c", "d"}, *const again[] = {"d", "e"};
    const char *const twice[] = {"x", "x"};
    const char *const from[] = {"c", "d"}, *const to[] = {"a", "c"};
    const char *const one[] = {"3"}, *const two[] = {"1"};

    assert_ok(ctx, ferry_domain_add_instances(ctx, d, 4, ids));
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "g", 2, from, to, NULL));
    assert_int_equal(ferry_i_domain_id_count(d), 4);
    for (int64_t i = 0; i < 4; i++)
        assert_string_equal(ferry_i_domain_id_at(d, i), ids[i]);
    assert_close(edge(d->graphs[0], 0, 2), 1, 0);
    assert_ok(ctx,
              ferry_domain_add_instances(ctx, d, 2, again)); /* the graph grows along */
    assert_int_equal(ferry_i_domain_id_count(d), 5);
    assert_int_equal(instance(d, "e"), 4);
    assert_true(ferry_i_domain_named(d));
    assert_fails(ctx, ferry_domain_add_instances(ctx, d, 2, NULL), FERRY_EDATA,
                 "2 instances without ids cannot be joined with instances such as 'a'");
    assert_fails(ctx, ferry_domain_add_instances(ctx, d, 2, twice), FERRY_EDATA, "'x'");
    assert_fails(ctx, ferry_domain_add_instances(ctx, d, -1, NULL), FERRY_EINVAL, "-1");
    assert_ok(ctx, ferry_domain_add_instances(ctx, e, 3, NULL));
    assert_ok(ctx, ferry_domain_add_graph(ctx, e, "g", 1, one, two, NULL));
    assert_close(edge(e->graphs[0], 0, 2), 1, 0);
    assert_false(ferry_i_domain_named(e));
    ferry_domain_free(d);
    ferry_domain_free(e);
}

static ferry_status add_instances_once(ferry_ctx *ctx, void *data)
{
    ferry_status st = FERRY_OK;
    ferry_domain *d = NULL;
    const char *const *ids = data;

    FERRY_TRY(ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    FERRY_TRY(ferry_domain_add_instances(ctx, d, 2, NULL));
    FERRY_TRY(ferry_domain_add_graph(ctx, d, "g", 1, ids, ids + 1, NULL));
    FERRY_TRY(ferry_domain_add_instances(ctx, d, 2, ids + 1));
done:
    ferry_domain_free(d);
    return st;
}

static void test_instances_memory(void **state)
{
    const char *ids[] = {"1", "2", "more"};

    each_allocation_fails(*state, add_instances_once, ids);
}

static void test_bad_graphs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET);
    const char *const from[] = {"a", "b"}, *const to[] = {"b", NULL};
    const double nan[] = {1, NAN}, minus[] = {-1, 1};

    assert_fails(ctx, ferry_domain_add_graph(ctx, d, "g", 2, from, from, nan), FERRY_EDATA,
                 "edge 2 has weight nan");
    assert_fails(ctx, ferry_domain_add_graph(ctx, d, "g", 2, from, from, minus),
                 FERRY_EDATA, "edge 1 has weight -1");
    assert_fails(ctx, ferry_domain_add_graph(ctx, d, "g", 2, from, to, NULL), FERRY_EINVAL,
                 "edge 2 has a NULL id");
    assert_fails(ctx, ferry_domain_add_graph(ctx, d, "g", 2, NULL, NULL, NULL),
                 FERRY_EINVAL, "from is NULL");
    assert_fails(ctx, ferry_domain_add_graph(ctx, d, "", 0, NULL, NULL, NULL), FERRY_EINVAL,
                 "needs a name");
    assert_int_equal(ferry_i_domain_id_count(d), 0);
    ferry_domain_free(d);
}

/* ---- labels ---- */

static void test_labels_by_id(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    const char *const ids[] = {"a", "b", "c"}, *const who[] = {"c", "e", "a"};
    const char *const what[] = {"yes", "no", NULL}, *const far[] = {"x", "y", "z"};
    heard h = {0};

    assert_ok(ctx, add_column(ctx, d, "x", 3, ids));
    assert_fails(ctx, ferry_domain_set_classes(ctx, d, 3, far, what), FERRY_EDATA,
                 "none of the labels' ids ('x', ...)");
    ferry_ctx_set_log(ctx, listen, FERRY_WARN, &h);
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, 3, who, what));
    assert_int_equal(ferry_i_domain_id_count(d), 4); /* e has a label and no features */
    assert_int_equal(h.count, 1);
    assert_non_null(
        strstr(h.last, "1 of 3 labels are for ids that it did not have (such as 'e')"));
    check_views(d);
    assert_false(ferry_i_labels_has(d->labels, instance(d, "a")));
    assert_false(ferry_i_labels_has(d->labels, instance(d, "b")));
    assert_int_equal(d->labels->cls[instance(d, "c")], 0);
    assert_int_equal(d->labels->cls[instance(d, "e")], 1);
    ferry_domain_free(d);
}

static void test_labels_without_ids(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    const char *const ids[] = {"2", "1", "3"};
    const double y[] = {7, 8, 9, 10};

    assert_ok(ctx, add_column(ctx, d, "x", 3, ids));
    assert_fails(ctx, ferry_domain_set_numbers(ctx, d, 4, NULL, y), FERRY_EDATA,
                 "4 labels without ids for the 3 rows of view 'x'");
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 3, NULL, y));
    assert_close(d->labels->num[instance(d, "2")], 7, 0); /* the first row, not row "2" */
    assert_ok(ctx, add_column(ctx, d, "z", 3, ids));
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 3, NULL, y)); /* now by row number */
    assert_close(d->labels->num[instance(d, "2")], 8, 0);
    assert_fails(ctx, ferry_domain_set_numbers(ctx, d, 2, NULL, y), FERRY_EDATA,
                 "2 labels without ids, but its 3 instances");
    ferry_domain_free(d);
    d = domain_of(ctx, FERRY_SOURCE);
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 2, NULL, y)); /* no view at all */
    assert_string_equal(ferry_i_domain_id_at(d, 1), "2");
    ferry_domain_free(d);
}

static void test_labelsets(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    const char *const names[] = {"p", "q"}, *const twice[] = {"p", "p"};
    const uint8_t on[] = {1, 0, 0, 255};

    assert_ok(ctx, add_column(ctx, d, "x", 2, NULL));
    assert_fails(ctx, ferry_domain_set_labelsets(ctx, d, 2, NULL, 2, twice, on),
                 FERRY_EDATA, "'p' stands twice");
    assert_fails(ctx, ferry_domain_set_labelsets(ctx, d, 2, NULL, 0, NULL, on),
                 FERRY_EINVAL, "names is NULL");
    assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, 2, NULL, 2, names, on));
    assert_int_equal(d->labels->on[3], 1);
    assert_true(ferry_i_labels_has(d->labels, 0));
    ferry_domain_free(d);
}

static void test_bad_labels(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    const char *const ids[] = {"a", "a"};
    const double y[] = {1, INFINITY};

    assert_fails(ctx, ferry_domain_set_numbers(ctx, d, 2, NULL, y), FERRY_EDATA,
                 "label 2 is inf");
    assert_fails(ctx, ferry_domain_set_numbers(ctx, d, 2, ids, y), FERRY_EDATA,
                 "labels: ids: 'a' stands twice");
    assert_fails(ctx, ferry_domain_set_classes(ctx, d, 2, NULL, NULL), FERRY_EINVAL,
                 "labels is NULL");
    assert_null(d->labels);
    ferry_domain_free(d);
}

/* ---- ratings ---- */

static void test_ratings(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET);
    const char *const users[] = {"u", "v", "u", "u", "v"};
    const char *const items[] = {"i", "i", "j", "i", "j"};
    const double values[] = {1, 2, 3, 4, NAN}, inf[] = {1, 2, -INFINITY, 4, 5};
    heard h = {0};

    ferry_ctx_set_log(ctx, listen, FERRY_WARN, &h);
    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 5, users, items, values));
    assert_int_equal(h.count, 0); /* who learns from it is told (test_ratings_of_a_task) */
    const ferry_ratings *r = d->ratings;
    assert_int_equal(r->n, 4); /* (u, i) is rated 4: the last one stays */
    assert_int_equal(r->user[0], 1);
    assert_int_equal(r->item[1], 1);
    assert_close(r->value[2], 4, 0);
    assert_true(isnan(r->value[3]));
    assert_close(r->lo, 2, 0);
    assert_close(r->hi, 4, 0);
    assert_fails(ctx, ferry_domain_set_ratings(ctx, d, 5, users, items, inf), FERRY_EDATA,
                 "rating 3 is -inf");
    assert_fails(ctx, ferry_domain_set_ratings(ctx, d, 5, users, items, NULL), FERRY_EINVAL,
                 "no ratings");
    const char *const none[] = {NULL};
    assert_fails(ctx, ferry_domain_set_ratings(ctx, d, 1, none, items, values),
                 FERRY_EINVAL, "NULL id");
    assert_int_equal(d->ratings->n, 4);
    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 1, users + 4, items + 4, values + 4));
    assert_true(isnan(d->ratings->lo)); /* nothing but a pair to predict */
    ferry_domain_free(d);
}

/* A task learns from the ratings: it says what was left out, and keeps nothing of it. */
static void test_ratings_of_a_task(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET);
    const char *const users[] = {"u", "v", "u"}, *const items[] = {"i", "i", "i"};
    ferry_task *task = NULL;
    heard h = {0};

    ferry_ctx_set_log(ctx, listen, FERRY_WARN, &h);
    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 3, users, items, (double[]){1, 2, 3}));
    assert_ok(ctx, ferry_task_new(ctx, "t", FERRY_RATE, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.last, "1 ratings of a user"));
    assert_null(d->ratings->line);
    ferry_task_free(task);
}

/* Against the plain way: of every pair the last value, in the order of those entries. */
static void test_tidy_many(void **state)
{
    ferry_ctx *ctx = *state;
    enum { N = 2000, M = 37 };
    ferry_ratings *r = NULL;
    ferry_rng rng;
    double value[N];
    int32_t user[N], item[N];
    int64_t kept = 0;

    ferry_i_rng_seed(&rng, 1, 1);
    assert_ok(ctx, ferry_i_ratings_new(ctx, N, NULL, NULL, &r));
    for (int e = 0; e < N; e++) {
        user[e] = r->user[e] = (int32_t)ferry_i_rng_below(&rng, M);
        item[e] = r->item[e] = (int32_t)ferry_i_rng_below(&rng, M);
        value[e] = r->value[e] = e;
    }
    assert_ok(ctx, ferry_i_ratings_tidy(ctx, r));
    for (int e = 0; e < N; e++) {
        bool later = false;
        for (int f = e + 1; f < N; f++)
            later = later || (user[f] == user[e] && item[f] == item[e]);
        if (later) continue;
        assert_int_equal(r->user[kept], user[e]);
        assert_int_equal(r->item[kept], item[e]);
        assert_close(r->value[kept], value[e], 0);
        kept++;
    }
    assert_int_equal(r->n, kept);
    assert_int_equal(r->lines, N);
    for (int e = 0; e < N; e++) { /* all that was given, in order */
        assert_int_equal(r->user[r->line[e]], user[e]);
        assert_int_equal(r->item[r->line[e]], item[e]);
    }
    ferry_i_ratings_free(r);
}

/* ---- what a file held ---- */

/* 2 x 1 with ids b, c, a feature name, labels 5 and missing, idf and reader options. */
static ferry_data *view_data(ferry_ctx *ctx, bool with_ids)
{
    ferry_data *data = ferry_i_data_new("test", "file.test", FERRY_DATA_VIEW);

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 1, &data->x));
    data->x->dense[0] = 1;
    data->x->dense[1] = 2;
    data->features = ferry_i_ids_numbers(1);
    data->idf = ferry_i_calloc(1, sizeof *data->idf);
    data->idf[0] = 0.5;
    data->read = opts_of(ctx, "format=test", NULL);
    if (with_ids) {
        data->ids = ferry_i_ids_new();
        ferry_i_ids_add(data->ids, "b", NULL);
        ferry_i_ids_add(data->ids, "c", NULL);
    }
    assert_ok(ctx, ferry_i_labels_new(ctx, FERRY_LABEL_NUMBER, 2, NULL, &data->labels));
    data->labels->num[0] = 5;
    return data;
}

static void test_add_view_data(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    ferry_data *data = view_data(ctx, true);
    const char *const ids[] = {"c", "b"};

    assert_ok(ctx, add_column(ctx, d, "x", 2, ids));
    assert_fails(ctx, ferry_domain_add_data(ctx, d, NULL, data), FERRY_EINVAL, "name");
    assert_ok(ctx, ferry_domain_add_data(ctx, d, "file", data));
    assert_close(d->labels->num[instance(d, "b")], 5, 0);
    data->labels->num[0] = 6;
    const double set[] = {7, 8};
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 2, ids, set));
    assert_ok(ctx, ferry_domain_add_data(ctx, d, "again", data));
    assert_close(d->labels->num[instance(d, "b")], 8, 0); /* there were some */
    ferry_data_free(data);
    const ferry_view *v = ferry_i_domain_view(d, "file");
    assert_close(v->idf[0], 0.5, 0);
    assert_string_equal(ferry_opts_get(v->read, "format"), "test");
    assert_string_equal(ferry_i_ids_at(v->features, 0), "1");
    assert_close(v->x->dense[v->row_of[instance(d, "c")]], 2, 0);
    ferry_domain_free(d);
}

/* A reader's mistake, since only dense cells can be missing. */
static void test_missing_in_sparse_data(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    ferry_data *data = ferry_i_data_new("test", "s", FERRY_DATA_VIEW);

    assert_ok(ctx, ferry_i_matrix_csr(ctx, 3, 5, 1, &data->x));
    data->x->start[2] = data->x->start[3] = 1;
    data->x->index[0] = 4;
    data->x->value[0] = NAN;
    assert_fails(ctx, ferry_domain_add_data(ctx, d, "s", data), FERRY_EDATA,
                 "row 2, feature 5 is nan");
    ferry_data_free(data);
    ferry_domain_free(d);
}

static void test_add_data_without_ids(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    ferry_data *data = view_data(ctx, false);

    assert_ok(ctx, add_column(ctx, d, "x", 3, NULL));
    assert_fails(ctx, ferry_domain_add_data(ctx, d, "file", data), FERRY_EDATA,
                 "view 'file': 2 rows without ids for 3 instances");
    ferry_domain_free(d);
    d = domain_of(ctx, FERRY_SOURCE);
    assert_ok(ctx, add_column(ctx, d, "x", 2, NULL));
    assert_ok(ctx, ferry_domain_add_data(ctx, d, "file", data));
    assert_close(d->labels->num[0], 5, 0);
    assert_false(ferry_i_labels_has(d->labels, 1));
    ferry_data_free(data);
    ferry_domain_free(d);
}

static void test_add_other_data(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_SOURCE);
    ferry_data *g = ferry_i_data_new("test", "g", FERRY_DATA_GRAPH);
    ferry_data *r = ferry_i_data_new("test", "r", FERRY_DATA_RATINGS);
    ferry_data *l = ferry_i_data_new("test", "l", FERRY_DATA_LABELS);
    ferry_data *many = ferry_i_data_new("test", "m.npz", FERRY_DATA_LISTING);

    g->edges = 1;
    g->nodes = ferry_i_ids_numbers(2);
    g->from = ferry_i_calloc(1, sizeof *g->from);
    g->to = ferry_i_calloc(1, sizeof *g->to);
    g->to[0] = 1;
    assert_ok(ctx, ferry_domain_add_data(ctx, d, "g", g));
    assert_close(edge(d->graphs[0], 0, 1), 1, 0);
    assert_ok(ctx, ferry_i_ratings_new(ctx, 1, g->nodes, g->nodes, &r->ratings));
    r->ratings->value[0] = 3;
    assert_ok(ctx, ferry_domain_add_data(ctx, d, NULL, r));
    assert_close(d->ratings->hi, 3, 0);
    assert_ok(ctx, ferry_i_labels_new(ctx, FERRY_LABEL_NUMBER, 2, NULL, &l->labels));
    l->labels->num[1] = 4;
    assert_ok(ctx, ferry_domain_add_data(ctx, d, NULL, l));
    assert_close(d->labels->num[1], 4, 0);
    assert_fails(ctx, ferry_domain_add_data(ctx, d, "m", many), FERRY_EDATA,
                 "m.npz: holds several variables");
    ferry_data_free(g);
    ferry_data_free(r);
    ferry_data_free(l);
    ferry_data_free(many);
    ferry_domain_free(d);
}

/* ---- sharing and hash ---- */

static void test_sharing(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET), *a = NULL, *b = NULL;
    const double y[] = {1, 2};
    const char *const who[] = {"1"};
    ferry_labels *l = NULL;
    ferry_ratings *r = NULL;

    assert_ok(ctx, add_column(ctx, d, "x", 2, NULL));
    assert_ok(ctx, ferry_domain_set_numbers(ctx, d, 2, NULL, y));
    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 1, who, who, y));
    assert_ok(ctx, ferry_i_labels_copy(ctx, d->labels, &l));
    ferry_i_labels_hide(l, 0);
    assert_ok(ctx, ferry_i_domain_with_labels(ctx, d, l, &a));
    assert_ok(ctx, ferry_i_ratings_copy(ctx, d->ratings, &r));
    r->value[0] = NAN;
    assert_ok(ctx, ferry_i_domain_with_ratings(ctx, a, r, &b));
    assert_ptr_equal(b->views, d->views);
    assert_ptr_equal(b->labels, a->labels);
    assert_false(ferry_i_labels_has(b->labels, 0));
    assert_true(ferry_i_labels_has(d->labels, 0));
    assert_close(d->ratings->value[0], 1, 0);
    assert_fails(ctx, add_column(ctx, d, "y", 2, NULL), FERRY_EINVAL, "in use");
    assert_fails(ctx, ferry_domain_set_labelled(ctx, b, "1"), FERRY_EINVAL, "in use");
    assert_fails(ctx, ferry_domain_set_numbers(ctx, d, 2, NULL, y), FERRY_EINVAL, "in use");
    assert_fails(ctx, ferry_domain_set_ratings(ctx, d, 1, who, who, y), FERRY_EINVAL,
                 "in use");
    ferry_domain_free(d); /* b keeps what it shares */
    ferry_domain_free(a);
    assert_close(b->views[0]->x->dense[1], 20, 0);
    assert_string_equal(ferry_domain_name(b), "d");
    ferry_domain_free(b);
}

static void test_weights(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET), *b = NULL;
    const char *const ids[] = {"c", "a", "b"}, *const two[] = {"b", "c"},
                      *const none[] = {"z"};
    const double w[] = {2, 0, 0.5}, wrong[] = {1, -1, 1}, nan[] = {1, 1, NAN},
                 zero[] = {0, 0, 0};
    ferry_labels *l = NULL;

    assert_ok(ctx, add_column(ctx, d, "x", 3, ids));
    assert_close(ferry_i_weight_of(d, 0), 1, 0);
    assert_ok(ctx, ferry_domain_set_weights(ctx, d, 3, NULL, w));
    assert_close(ferry_i_weight_of(d, instance(d, "a")), 0, 0);
    assert_close(ferry_i_weight_of(d, instance(d, "b")), 0.5, 0);
    assert_ok(ctx, ferry_domain_set_weights(ctx, d, 2, two, w));
    assert_close(ferry_i_weight_of(d, instance(d, "a")), 1, 0);
    assert_close(ferry_i_weight_of(d, instance(d, "b")), 2, 0);
    assert_close(ferry_i_weight_of(d, instance(d, "c")), 0, 0);
    assert_close(ferry_i_weight_of(d, 17), 1, 0); /* an instance that comes later */
    assert_fails(ctx, ferry_domain_set_weights(ctx, d, 2, NULL, w), FERRY_EDATA,
                 "2 weights without ids need one view with as many rows");
    assert_fails(ctx, ferry_domain_set_weights(ctx, d, 1, none, w), FERRY_EDATA,
                 "a weight for 'z', which is no instance");
    assert_fails(ctx, ferry_domain_set_weights(ctx, d, 3, NULL, wrong), FERRY_EDATA,
                 "weight 2 is -1");
    assert_fails(ctx, ferry_domain_set_weights(ctx, d, 3, NULL, nan), FERRY_EDATA,
                 "weight 3 is nan");
    assert_fails(ctx, ferry_domain_set_weights(ctx, d, 3, NULL, zero), FERRY_EDATA,
                 "all weights are zero");
    assert_close(ferry_i_weight_of(d, instance(d, "b")), 2, 0); /* as before */
    assert_ok(ctx, ferry_i_labels_new(ctx, FERRY_LABEL_NUMBER, 3, NULL, &l));
    assert_ok(ctx, ferry_i_domain_with_labels(ctx, d, l, &b));
    assert_close(ferry_i_weight_of(b, instance(b, "b")), 2, 0); /* a split has them too */
    ferry_domain_free(d);
    ferry_domain_free(b);
}

static ferry_domain *hashed(ferry_ctx *ctx, double cell, const char *id, double weight,
                            double rating)
{
    ferry_domain *d = domain_of(ctx, FERRY_TARGET);
    const double cells[] = {cell, 2};
    const ferry_array x = {2, 1, 1, cells};
    const int64_t start[] = {0, 1, 1};
    const int32_t index[] = {0};
    const ferry_sparse s = {2, 1, start, index, cells, NULL};
    const char *const ids[] = {"a", id};

    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &x, ids, NULL, NULL));
    assert_ok(ctx, ferry_domain_add_sparse(ctx, d, "s", &s, ids, NULL, NULL));
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "g", 1, ids, ids + 1, &weight));
    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 1, ids, ids, &rating));
    return d;
}

static void test_hash(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d[5] = {hashed(ctx, 1, "b", 1, 1), hashed(ctx, 3, "b", 1, 1),
                          hashed(ctx, 1, "c", 1, 1), hashed(ctx, 1, "b", 2, 1),
                          hashed(ctx, 1, "b", 1, 2)};
    ferry_domain *same = hashed(ctx, 1, "b", 1, 1);
    const double y[] = {1, 2};

    assert_true(ferry_i_domain_hash(d[0]) == ferry_i_domain_hash(same));
    const char *const ids[] = {"a", "b"};
    assert_ok(ctx,
              ferry_domain_set_numbers(ctx, same, 2, ids, y)); /* labels do not count */
    assert_true(ferry_i_domain_hash(d[0]) == ferry_i_domain_hash(same));
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            assert_true(ferry_i_domain_hash(d[i]) != ferry_i_domain_hash(d[j]));
    for (int i = 0; i < 5; i++)
        ferry_domain_free(d[i]);
    ferry_domain_free(same);
}

/* ---- labelled ---- */

static void test_labelled(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET);
    static const char *const wrong[] = {"",    "0",   "-3",  "0.0", "1.5",          "abc",
                                        "nan", "inf", "1e2", "25x", "per_class:0.5"};
    static const char *const wrong_class[] = {"per_class:", "per_class:x", "per_class:0"};

    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "25"));
    assert_int_equal(d->seen.kind, FERRY_SEEN_COUNT);
    assert_close(d->seen.value, 25, 0);
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "0.1"));
    assert_int_equal(d->seen.kind, FERRY_SEEN_FRACTION);
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "1"));
    assert_int_equal(d->seen.kind, FERRY_SEEN_COUNT);
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "1.0"));
    assert_int_equal(d->seen.kind, FERRY_SEEN_FRACTION);
    assert_close(d->seen.value, 1, 0);
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "per_class:3"));
    assert_int_equal(d->seen.kind, FERRY_SEEN_PER_CLASS);
    for (int i = 0; i < FERRY_COUNT(wrong); i++)
        assert_fails(ctx, ferry_domain_set_labelled(ctx, d, wrong[i]), FERRY_EINVAL,
                     "expected");
    for (int i = 0; i < FERRY_COUNT(wrong_class); i++)
        assert_fails(ctx, ferry_domain_set_labelled(ctx, d, wrong_class[i]), FERRY_EINVAL,
                     "after per_class");
    assert_fails(ctx, ferry_domain_set_labelled(ctx, d, NULL), FERRY_EINVAL, "NULL");
    assert_int_equal(d->seen.kind, FERRY_SEEN_PER_CLASS); /* as before */
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "none"));
    assert_int_equal(d->seen.kind, FERRY_SEEN_NONE);
    ferry_domain_free(d);
}

static void test_labelled_ids(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *d = domain_of(ctx, FERRY_TARGET);
    char spec[4200];

    snprintf(spec, sizeof spec, "ids:%s", tmp_file("ids", "a\n b c \r\n\nd", -1));
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, spec));
    assert_int_equal(ferry_i_ids_count(d->seen.ids), 3);
    assert_true(ferry_i_ids_find(d->seen.ids, "b c") == 1);
    snprintf(spec, sizeof spec, "ids:%s", tmp_file("ids2", "a\nb\na\n", -1));
    assert_fails(ctx, ferry_domain_set_labelled(ctx, d, spec), FERRY_EDATA,
                 "ids2:3: id 'a' stands here a second time");
    snprintf(spec, sizeof spec, "ids:%s", tmp_file("ids3", "\n\n", -1));
    assert_fails(ctx, ferry_domain_set_labelled(ctx, d, spec), FERRY_EDATA, "found none");
    snprintf(spec, sizeof spec, "ids:%s", tmp_file("ids4", "a\nb\0c\n", 6));
    assert_fails(ctx, ferry_domain_set_labelled(ctx, d, spec), FERRY_EDATA,
                 "ids4:2: expected an id, found a zero byte");
    assert_fails(ctx, ferry_domain_set_labelled(ctx, d, "ids:/nowhere/x"), FERRY_EDATA,
                 "/nowhere/x");
    snprintf(spec, sizeof spec, "ids:%s", tmp_dir());
    assert_fails(ctx, ferry_domain_set_labelled(ctx, d, spec), FERRY_EDATA, "folder");
    assert_int_equal(ferry_i_ids_count(d->seen.ids), 3); /* as before */
    ferry_domain_free(d);
}

/* ---- memory ---- */

/* Everything once; the domain starts and ends here. */
static ferry_status build(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_data *data = arg;
    const char *const ids[] = {"a", "b"}, *const more[] = {"b", "z"},
                      *const names[] = {"f"}, *const same[] = {"u", "u"};
    const double cells[] = {1, 2};
    const uint8_t on[] = {1, 0};
    const ferry_array x = {2, 1, 1, cells};
    int32_t *map = NULL;
    int64_t shared = 0;
    ferry_domain *d = NULL, *e = NULL;
    ferry_labels *l = NULL;
    ferry_ratings *r = NULL;

    FERRY_TRY(ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    FERRY_TRY(ferry_domain_add_dense(ctx, d, "x", &x, ids, names, NULL));
    FERRY_TRY(ferry_domain_set_classes(ctx, d, 2, ids, more));
    FERRY_TRY(ferry_domain_add_graph(ctx, d, "g", 1, ids, ids + 1, cells));
    FERRY_TRY(ferry_domain_add_dense(ctx, d, "y", &x, more, names, NULL));
    FERRY_TRY(ferry_domain_add_data(ctx, d, "file", data));
    FERRY_TRY(ferry_domain_set_numbers(ctx, d, 2, ids, cells));
    FERRY_TRY(ferry_domain_set_labelsets(ctx, d, 2, ids, 1, names, on));
    FERRY_TRY(ferry_domain_set_ratings(ctx, d, 2, same, same, cells)); /* a pair twice */
    FERRY_TRY(ferry_domain_set_ratings(ctx, d, 2, ids, more, cells));
    FERRY_TRY(ferry_i_view_align(ctx, d->views[0], d->views[1], &map, &shared));
    FERRY_TRY(ferry_i_labels_copy(ctx, d->labels, &l));
    FERRY_TRY(ferry_i_domain_with_labels(ctx, d, l, &e));
    ferry_domain_free(e);
    FERRY_TRY(ferry_i_ratings_copy(ctx, d->ratings, &r));
    FERRY_TRY(ferry_i_domain_with_ratings(ctx, d, r, &e));
    ferry_domain_free(e);
done:
    ferry_i_free(map);
    ferry_domain_free(d);
    return st;
}

static ferry_status build_other(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const char *spec = arg;
    const double y[] = {1, 2};
    ferry_domain *d = NULL;

    FERRY_TRY(ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    FERRY_TRY(ferry_domain_set_numbers(ctx, d, 2, NULL, y));
    FERRY_TRY(ferry_domain_set_labelled(ctx, d, spec));
done:
    ferry_domain_free(d);
    return st;
}

static ferry_status write_view(ferry_ctx *ctx, void *domain)
{
    return ferry_domain_write(ctx, domain, NULL, tmp_path("written.csv"), NULL);
}

/* What was written is what was added, labels and all kinds of them. */
static void test_write(void **state)
{
    ferry_ctx *ctx = *state;
    double x[] = {1, 2, 3, 4};
    const ferry_array a = {2, 2, 2, x};
    const char *const ids[] = {"p", "q"}, *const classes[] = {"yes", NULL};
    const char *const features[] = {"f", "g"}, *const names[] = {"m", "n"};
    const uint8_t on[] = {1, 0, 1, 1};
    ferry_domain *d = NULL;
    char *text = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    assert_fails(ctx, write_view(ctx, d), FERRY_EINVAL, "domain 'd' has 0 views: which?");
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "v", &a, ids, features, NULL));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, 2, ids, classes));
    assert_ok(ctx, write_view(ctx, d));
    text = slurp(tmp_path("written.csv"));
    assert_string_equal(text, "id,f,g,label\np,1,2,yes\nq,3,4,\n");
    free(text);
    each_allocation_fails(ctx, write_view, d);
    assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, 2, ids, 2, names, on));
    assert_ok(ctx, ferry_domain_write(ctx, d, "v", tmp_path("written.csv"), NULL));
    text = slurp(tmp_path("written.csv"));
    assert_string_equal(text, "id,f,g,label:m,label:n\np,1,2,1,0\nq,3,4,1,1\n");
    free(text);
    ferry_domain_free(d);
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *data = view_data(ctx, true);
    char spec[4200];

    each_allocation_fails(ctx, build, data);
    snprintf(spec, sizeof spec, "ids:%s", tmp_file("ids", "a\nb\n", -1));
    each_allocation_fails(ctx, build_other, spec);
    ferry_data_free(data);
}

/* ---- borrowed views ---- */

static void count_release(void *user)
{
    ++*(int *)user;
}

static ferry_domain *empty_domain(ferry_ctx *ctx)
{
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    return d;
}

/* The same domain as with a copy, over the caller's own numbers; who lends is told when the last owner
 * lets go, and not before. */
static void test_borrow(void **state)
{
    ferry_ctx *ctx = *state;
    const double cells[] = {1, 2, 3, NAN, 5, 6}, value[] = {1, 2, 3};
    const int64_t start[] = {0, 1, 3};
    const int32_t start32[] = {0, 1, 3}, index[] = {1, 0, 2};
    const ferry_array dense = {2, 3, 3, cells};
    const ferry_sparse sparse = {2, 3, start, index, value, NULL};
    const ferry_sparse narrow = {2, 3, NULL, index, value, start32};
    ferry_domain *copied = empty_domain(ctx), *lent = empty_domain(ctx), *kept = NULL;
    int released = 0;

    assert_ok(ctx, ferry_domain_add_dense(ctx, copied, "a", &dense, NULL, NULL, NULL));
    assert_ok(ctx, ferry_domain_add_sparse(ctx, copied, "b", &sparse, NULL, NULL, NULL));
    assert_ok(ctx, ferry_domain_add_sparse(ctx, copied, "c", &sparse, NULL, NULL, NULL));
    assert_ok(ctx, ferry_domain_add_dense(ctx, lent, "a", &dense, NULL, NULL,
                                          &(ferry_borrow){count_release, &released}));
    assert_ok(ctx, ferry_domain_add_sparse(ctx, lent, "b", &sparse, NULL, NULL,
                                           &(ferry_borrow){count_release, &released}));
    assert_ok(ctx, ferry_domain_add_sparse(ctx, lent, "c", &narrow, NULL, NULL,
                                           &(ferry_borrow){NULL, NULL}));
    assert_true(ferry_i_domain_hash(copied) == ferry_i_domain_hash(lent));
    assert_ptr_equal(lent->views[0]->x->dense, cells);
    assert_ptr_equal(lent->views[1]->x->value, value);
    assert_ptr_equal(lent->views[2]->x->index, index);
    assert_true(lent->views[0]->has_missing);
    kept = ferry_i_domain_ref(lent);
    ferry_domain_free(lent);
    assert_int_equal(released, 0);
    ferry_domain_free(kept);
    assert_int_equal(released, 2);
    ferry_domain_free(copied);
}

/* What is refused stays the caller's. */
static void test_borrow_refused(void **state)
{
    ferry_ctx *ctx = *state;
    const double cells[] = {1, 2, 3, 4, INFINITY, 6};
    const int32_t starts[][3] = {{0, 2, 1}, {1, 2, 3}, {0, -1, 1}}, index[] = {1, 0, 2};
    ferry_domain *d = empty_domain(ctx);
    int released = 0;

    assert_fails(ctx,
                 ferry_domain_add_dense(ctx, d, "a", &(ferry_array){2, 2, 3, cells}, NULL,
                                        NULL, &(ferry_borrow){count_release, &released}),
                 FERRY_EINVAL, "without gaps");
    assert_fails(ctx,
                 ferry_domain_add_dense(ctx, d, "a", &(ferry_array){2, 3, 3, cells}, NULL,
                                        NULL, &(ferry_borrow){count_release, &released}),
                 FERRY_EDATA, "row 2, feature 2");
    assert_fails(
        ctx,
        ferry_domain_add_dense(ctx, d, "a", NULL, NULL, NULL, &(ferry_borrow){NULL, NULL}),
        FERRY_EINVAL, "x is NULL");
    assert_fails(
        ctx,
        ferry_domain_add_sparse(ctx, d, "a", NULL, NULL, NULL, &(ferry_borrow){NULL, NULL}),
        FERRY_EINVAL, "x is NULL");
    assert_fails(
        ctx,
        ferry_domain_add_sparse(ctx, d, "a", NULL, NULL, NULL, &(ferry_borrow){NULL, NULL}),
        FERRY_EINVAL, "x is NULL");
    for (int64_t i = 0; i < 3; i++)
        assert_fails(ctx,
                     ferry_domain_add_sparse(
                         ctx, d, "a", &(ferry_sparse){2, 3, NULL, index, cells, starts[i]},
                         NULL, NULL, &(ferry_borrow){count_release, &released}),
                     FERRY_EINVAL, "start[");
    assert_fails(ctx,
                 ferry_domain_add_sparse(
                     ctx, d, "a",
                     &(ferry_sparse){1, 2, NULL, index, cells, (const int32_t[]){0, 3}},
                     NULL, NULL, &(ferry_borrow){count_release, &released}),
                 FERRY_EINVAL, "feature index");
    assert_int_equal(released, 0);
    ferry_domain_free(d);
}

static ferry_status borrow_once(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const double cells[] = {1, 2, 3, 4};
    const int32_t start[] = {0, 1, 2}, index[] = {1, 0};
    ferry_domain *d = NULL;
    int *balance = arg, lent = 0;

    FERRY_TRY(ferry_domain_new(ctx, "d", FERRY_TARGET, &d));
    FERRY_TRY(ferry_domain_add_dense(ctx, d, "a", &(ferry_array){2, 2, 2, cells}, NULL,
                                     NULL, &(ferry_borrow){count_release, balance}));
    lent++;
    FERRY_TRY(ferry_domain_add_sparse(ctx, d, "b",
                                      &(ferry_sparse){2, 2, NULL, index, cells, start},
                                      NULL, NULL, &(ferry_borrow){count_release, balance}));
    lent++;
done:
    ferry_domain_free(d);
    *balance -= lent;
    return st;
}

static void test_borrow_memory(void **state)
{
    int balance = 0;

    each_allocation_fails(*state, borrow_once, &balance);
    assert_int_equal(balance, 0); /* released as often as lent */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_new),
        TEST(test_views_are_joined_by_id),
        TEST(test_rows_without_ids_have_numbers),
        TEST(test_views_that_do_not_meet),
        TEST(test_bad_views),
        TEST(test_sparse_view_is_copied),
        TEST(test_empty_view),
        TEST(test_write),
        TEST(test_align),
        TEST(test_graph_defines_instances),
        TEST(test_graph_among_instances),
        TEST(test_instances),
        TEST(test_instances_memory),
        TEST(test_bad_graphs),
        TEST(test_labels_by_id),
        TEST(test_labels_without_ids),
        TEST(test_labelsets),
        TEST(test_bad_labels),
        TEST(test_ratings),
        TEST(test_ratings_of_a_task),
        TEST(test_tidy_many),
        TEST(test_add_view_data),
        TEST(test_missing_in_sparse_data),
        TEST(test_add_data_without_ids),
        TEST(test_add_other_data),
        TEST(test_sharing),
        TEST(test_hash),
        TEST(test_weights),
        TEST(test_labelled),
        TEST(test_labelled_ids),
        TEST(test_borrow),
        TEST(test_borrow_refused),
        TEST(test_borrow_memory),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("domain", tests, NULL, NULL);
}
