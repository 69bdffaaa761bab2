/* States by their tables: a state with every kind of field goes to a dict and back, is copied and grows; what a file
 * says wrong is refused; every allocation may fail. */
#include "state/table.h"

#include "ferry_test.h"

typedef struct leaf {
    int64_t n;
    double *v; /* n */
    int64_t kind;
} leaf;
static const field leaf_fields[] = {
    ARRAY(leaf, REALS, v, .rows = SIZE(leaf, n)),
    ARRAY(leaf, INT, kind, .lo = 0, .hi = 9),
};
static const table leaf_table = TABLE(leaf, leaf_fields);

/* Kinds of a variant. */
typedef struct kind {
    const char *name;
    const table *table;
} kind;
static const kind kinds[] = {{"leaf", &leaf_table}};
static const char *kind_name(const void *by)
{
    return ((const kind *)by)->name;
}
static const void *kind_find(const char *name)
{
    return strcmp(name, kinds[0].name) == 0 ? &kinds[0] : NULL;
}
static const table *kind_table(const void *by)
{
    return ((const kind *)by)->table;
}
static const variants all_kinds = {kind_name, kind_find, kind_table};

typedef struct state {
    bool on;
    int64_t rounds, rows, leaves, readied, count;
    int mode;
    double rate, shift, inside[3];
    char *text;
    uint8_t *flags;  /* width */
    int32_t *places; /* rows, below leaves */
    int64_t *ints;   /* rows + 1 */
    block w;         /* classes x width */
    block t;         /* rows x classes */
    small a;         /* rows x rows */
    double *bias;    /* classes */
    double *grid;    /* rows x width */
    matrix x;
    ferry_ids *ids;
    leaf one, none;
    leaf *list; /* leaves */
    variant which;
} state;

static void state_check(scope *s, const void *at)
{
    const state *m = at;

    if (m->inside[0] > 5) scope_fail(s, FERRY_EDATA, "inside is too large");
}
static void state_ready(scope *s, scope *keep, void *at)
{
    (void)s, (void)keep;
    ((state *)at)->readied++;
}

static const field state_fields[] = {
    FIELD_AS(state, FLAG, on, "form:0"),
    FIELD_AS(state, INT, rounds, "form:2", .lo = 1, .hi = 100),
    FIELD_AS(state, CHOICE, mode, "form:1", .lo = 0, .hi = 3),
    FIELD_AS(state, REAL, rate, "scale:0"),
    FIELD_AS(state, REAL, shift, "scale:1"),
    ARRAY(state, ARRAY, inside, .rows = CONSTANT(3)),
    VALUE(state, TEXT, text),
    ARRAY(state, FLAGS, flags, .rows = WIDTH),
    ARRAY(state, INTS, ints, .rows = SIZE_PLUS(state, rows, 1)),
    ARRAY(state, PLACES, places, .rows = SIZE(state, rows), .lo = 0,
          .below = SIZE(state, leaves)),
    ARRAY(state, BLOCK, w, .rows = CLASSES, .cols = WIDTH),
    ARRAY(state, BLOCK, t, .rows = SIZE(state, rows), .cols = CLASSES),
    ARRAY(state, SMALL, a, .rows = SIZE(state, rows), .cols = SIZE(state, rows)),
    ARRAY(state, REALS, bias, .rows = CLASSES),
    ARRAY(state, REALS, grid, .rows = SIZE(state, rows), .cols = WIDTH),
    ARRAY(state, MATRIX, x, .rows = SIZE(state, rows), .cols = WIDTH),
    ARRAY(state, IDS, ids, .rows = SIZE(state, rows)),
    ARRAY(state, STRUCT, one, .of = &leaf_table),
    ARRAY(state, STRUCT, none, .of = &leaf_table, .optional = true),
    ARRAY(state, LIST, list, .rows = SIZE(state, leaves), .of = &leaf_table),
    ARRAY(state, VARIANT, which, .among = &all_kinds),
    ARRAY(state, INT, count, .rows = CLASSES, .lo = 1, .hi = 100),
};
/* `leaves` is a size of places' numbers before the list is there: it needs a field */
static const field leaves_first = ARRAY(state, INT, leaves, .lo = 0, .hi = 100);
static field fields[FERRY_COUNT(state_fields) + 1];
static const table state_table = {sizeof(state), fields, FERRY_COUNT(fields), state_check,
                                  state_ready};
enum { W = 4, C = 3, R = 2 };
static const state_sizes of = {.width = W, .classes = C};

/* ---- one with numbers ---- */

static leaf make_leaf(scope *keep, int64_t n, double from)
{
    const leaf l = {n, NEW(keep, double, n), 4};

    for (int64_t i = 0; i < n; i++)
        l.v[i] = from + (double)i;
    return l;
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

static void fill_numbers(int64_t n, double *v, double from)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = from + 0.5 * (double)i;
}

static state *make(scope *s, scope *keep)
{
    state *m = state_new(keep, &state_table);
    ferry_matrix *x = NULL;

    *m = (state){.on = true,
                 .rounds = 7,
                 .rows = R,
                 .leaves = 3,
                 .count = C,
                 .mode = 2,
                 .rate = 0.25,
                 .shift = -3,
                 .inside = {1, 2, 3},
                 .text = scope_text(keep, "words"),
                 .flags = NEW(keep, uint8_t, W),
                 .places = NEW(keep, int32_t, R),
                 .ints = NEW(keep, int64_t, R + 1),
                 .w = block_new(keep, HERE(C), C, W),
                 .t = block_new(keep, HERE(R), R, C),
                 .a = small_new(keep, R, R),
                 .bias = NEW(keep, double, C),
                 .grid = NEW(keep, double, R *W),
                 .list = NEW(keep, leaf, 3)};
    m->flags[1] = 1;
    m->places[0] = 2;
    m->ints[2] = INT64_C(1) << 60;
    fill_numbers(C * W, m->w.at, 1);
    fill_numbers(R * C, m->t.at, 2);
    fill_numbers(R * R, m->a.at, 3);
    fill_numbers(C, m->bias, 4);
    fill_numbers(R * W, m->grid, 5);
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), R, W, 1, &x));
    x->start[1] = x->start[2] = 1;
    x->index[0] = 2;
    x->value[0] = 9;
    m->x = matrix_own(keep, x);
    m->ids = ferry_i_ids_numbers(R);
    if (!m->ids) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(keep, free_ids, m->ids);
    m->one = make_leaf(keep, 5, 10);
    for (int64_t i = 0; i < 3; i++)
        m->list[i] = make_leaf(keep, i, 20);
    leaf *l = NEW(keep, leaf, 1);
    *l = make_leaf(keep, 2, 30);
    m->which = (variant){&kinds[0], l};
    return m;
}

static void same_numbers(int64_t n, const double *a, const double *b)
{
    assert_true(a != b);
    for (int64_t i = 0; i < n; i++)
        assert_true(a[i] == b[i]);
}

static void same_leaf(const leaf *a, const leaf *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->kind, b->kind);
    same_numbers(a->n, a->v, b->v);
}

static void same(const state *a, const state *b)
{
    assert_true(a->on == b->on && a->rounds == b->rounds && a->mode == b->mode);
    assert_true(a->rows == b->rows && a->leaves == b->leaves);
    assert_true(a->rate == b->rate && a->shift == b->shift && a->inside[2] == b->inside[2]);
    assert_string_equal(a->text, b->text);
    assert_memory_equal(a->flags, b->flags, W);
    assert_memory_equal(a->places, b->places, R * sizeof *a->places);
    assert_memory_equal(a->ints, b->ints, (R + 1) * sizeof *a->ints);
    assert_true(a->w.n == b->w.n && a->w.k == b->w.k);
    same_numbers(C * W, a->w.at, b->w.at);
    same_numbers(R * C, a->t.at, b->t.at);
    same_numbers(R * R, a->a.at, b->a.at);
    same_numbers(C, a->bias, b->bias);
    same_numbers(R * W, a->grid, b->grid);
    assert_true(a->x.m != b->x.m && a->x.m->value[0] == b->x.m->value[0]);
    assert_true(a->ids != b->ids);
    assert_string_equal(ferry_i_ids_at(a->ids, 1), ferry_i_ids_at(b->ids, 1));
    same_leaf(&a->one, &b->one);
    assert_null(b->none.v);
    for (int64_t i = 0; i < 3; i++)
        same_leaf(&a->list[i], &b->list[i]);
    assert_true(b->which.by == &kinds[0]);
    same_leaf(a->which.state, b->which.state);
}

/* ---- there and back ---- */

static void free_dict(void *d)
{
    ferry_i_dict_free(d);
}

static ferry_dict *dict(scope *s)
{
    ferry_dict *d = NULL;

    scope_check(s, ferry_i_dict_new(scope_ctx(s), &d));
    scope_defer(s, free_dict, d);
    return d;
}

static void there_and_back(scope *s, void *arg)
{
    const state *m = make(s, s);
    ferry_dict *d = dict(s);

    (void)arg;
    state_save(s, &state_table, m, of, "model", d);
    const state *back = state_load(s, s, &state_table, "model", d, of);
    same(m, back);
    assert_int_equal(back->readied, 1);
    assert_true(ferry_i_dict_has(d, "model.form") && ferry_i_dict_has(d, "model.list.2.v"));
    assert_string_equal(ferry_i_dict_text(d, "model.which"), "leaf");
    const state *twin = state_copy(s, s, &state_table, m, of);
    same(m, twin);
    assert_int_equal(twin->readied, 1);
}

static void test_there_and_back(void **ctx)
{
    assert_ok(*ctx, scope_run(*ctx, there_and_back, NULL));
}

/* ---- new classes ---- */

typedef struct growth {
    scope *keep;
    state *m;
} growth;

static void grow(scope *s, void *arg)
{
    growth *g = arg;

    scope_bind(g->keep, s);
    state_classes(s, g->keep, &state_table, g->m, of, C + 2);
}

static void fresh(scope *s, void *arg)
{
    growth *g = arg;

    scope_bind(g->keep, s);
    g->m = make(s, g->keep);
}

static void test_new_classes(void **ctx)
{
    growth g = {.keep = scope_open(*ctx)}, old = {.keep = scope_open(*ctx)};
    ferry_status st = FERRY_OK;

    assert_ok(*ctx, scope_run(*ctx, fresh, &g));
    assert_ok(*ctx, scope_run(*ctx, fresh, &old));
    for (int64_t n = 1;; n++) { /* a failure changes nothing */
        fail_allocation(n);
        st = scope_run(*ctx, grow, &g);
        fail_allocation(0);
        if (st == FERRY_OK) break;
        assert_int_equal(st, FERRY_ENOMEM);
        same(old.m, g.m);
    }
    assert_true(g.m->w.n == C + 2 && g.m->w.k == W && g.m->t.k == C + 2);
    assert_int_equal(g.m->count, C + 2);
    same_numbers(C * W, old.m->w.at, g.m->w.at);
    for (int64_t i = 0; i < R; i++)
        for (int64_t k = 0; k < C + 2; k++)
            assert_true(ROW(g.m->t, i)[k] == (k < C ? ROW(old.m->t, i)[k] : 0));
    assert_true(g.m->bias[C - 1] == old.m->bias[C - 1] && g.m->bias[C + 1] == 0);
    assert_int_equal(g.m->readied, 0); /* new classes add to fields alone */
    scope_close(g.keep);
    scope_close(old.keep);
}

/* ---- files that say something wrong ---- */

typedef struct wrong {
    const char *drop, *say;
    int64_t n;
    int64_t ints[4];
    double reals[8];
    state_sizes of;
} wrong;

/* All of a good dict but `drop`, which is something else. */
static void refused(scope *s, void *arg)
{
    const wrong *w = arg;
    ferry_ctx *ctx = scope_ctx(s);
    ferry_dict *d = dict(s), *bad = dict(s);
    int64_t n = -1, rows = -1, cols = -1;
    const int64_t *ints = NULL;
    const double *reals = NULL;
    const uint8_t *bytes = NULL;
    static const char *const int_names[] = {
        "form",        "leaves",      "ints",        "places",     "one.kind",
        "list.0.kind", "list.1.kind", "list.2.kind", "which.kind", "count"};
    static const char *const real_names[] = {"scale",    "inside",   "w",        "t",
                                             "a",        "bias",     "grid",     "one.v",
                                             "list.0.v", "list.1.v", "list.2.v", "which.v"};

    const state *m = make(s, s);
    state_save(s, &state_table, m, of, "", d);
    scope_check(s, ferry_i_dict_put_matrix(ctx, bad, "x", m->x.m));
    for (int64_t i = 0; i < FERRY_COUNT(int_names); i++, n = -1) {
        scope_check(s, ferry_i_dict_ints(ctx, d, int_names[i], &n, &ints));
        const bool other = strcmp(w->drop, int_names[i]) == 0;
        if (other && w->n < 0) continue;
        scope_check(s, ferry_i_dict_put_ints(ctx, bad, int_names[i], other ? w->n : n,
                                             other ? w->ints : ints));
    }
    for (int64_t i = 0; i < FERRY_COUNT(real_names); i++, rows = cols = -1) {
        scope_check(s, ferry_i_dict_reals(ctx, d, real_names[i], &rows, &cols, &reals));
        const bool other = strcmp(w->drop, real_names[i]) == 0;
        if (other && w->n < 0) continue;
        scope_check(s,
                    ferry_i_dict_put_reals(ctx, bad, real_names[i], other ? 1 : rows,
                                           other ? w->n : cols, other ? w->reals : reals));
    }
    n = -1;
    scope_check(s, ferry_i_dict_bytes(ctx, d, "flags", &n, &bytes));
    scope_check(s, ferry_i_dict_put_bytes(ctx, bad, "flags", n, bytes));
    if (strcmp(w->drop, "text") != 0)
        scope_check(s, ferry_i_dict_put_text(ctx, bad, "text", "words"));
    scope_check(s, ferry_i_dict_put_text(ctx, bad, "which",
                                         strcmp(w->drop, "which") == 0 ? "twig" : "leaf"));
    ferry_ids *ids = ferry_i_ids_numbers(strcmp(w->drop, "ids") == 0 ? 5 : R);
    scope_defer(s, free_ids, ids);
    scope_check(s, ferry_i_dict_put_ids(ctx, bad, "ids", ids));
    (void)state_load(s, s, &state_table, "", bad, w->of.width ? w->of : of);
}

static void test_what_a_file_says_wrong(void **ctx)
{
    static const wrong all[] = {
        {"form", "tensor 'form' is missing", -1, {0}, {0}, {0}},
        {"form", "tensor form has 2 entries", 2, {1, 2}, {0}, {0}},
        {"form", "tensor form: entry 2 is 100, not in [1, 100)", 3, {1, 2, 100}, {0}, {0}},
        {"form", "tensor form: entry 1 is 3, not in [0, 3)", 3, {1, 3, 5}, {0}, {0}},
        {"leaves", "list", 1, {4}, {0}, {0}},
        {"leaves", "not in [0, 100)", 1, {-1}, {0}, {0}},
        {"places", "tensor places: entry 1 is 3, not in [0, 3)", 2, {0, 3}, {0}, {0}},
        {"places", "tensor places: 1 where 2 were expected", 1, {0}, {0}, {0}},
        {"ints", "were expected", 1, {0}, {0}, {0}},
        {"inside", "tensor inside: 2 where 3 were expected", 2, {0}, {1, 2}, {0}},
        {"inside", "inside is too large", 3, {0}, {6, 2, 3}, {0}},
        {"bias", "tensor bias: 2 where 3 were expected", 2, {0}, {1, 2}, {0}},
        {"w", "tensor w: 1 where 3 were expected", 4, {0}, {1, 2, 3, 4}, {0}},
        {"flags",
         "tensor flags: 4 where 5 were expected",
         0,
         {0},
         {0},
         {.width = 5, .classes = 3}},
        {"text", "text 'text' is missing", 0, {0}, {0}, {0}},
        {"which", "unknown 'twig'", 0, {0}, {0}, {0}},
        {"ids", "tensor ids: 5 where 2 were expected", 0, {0}, {0}, {0}},
        {"which.kind", "entry 0 is 9, not in [0, 9)", 1, {9}, {0}, {0}},
    };

    assert_ok(*ctx, scope_run(*ctx, there_and_back, NULL));
    for (int64_t i = 0; i < FERRY_COUNT(all); i++)
        assert_fails(*ctx, scope_run(*ctx, refused, (void *)&all[i]), FERRY_EDATA,
                     all[i].say);
}

/* ---- sizes of views ---- */

typedef struct part {
    int64_t d;
    double *mean; /* columns of its view */
    block u;      /* columns of its view x d */
} part;
static const field part_fields[] = {
    ARRAY(part, REALS, mean, .rows = OF_VIEW(0)),
    ARRAY(part, BLOCK, u, .rows = OF_VIEW(0), .cols = SIZE(part, d)),
};
static const table part_table = TABLE(part, part_fields);
typedef struct parts {
    part *list;     /* views */
    double *second; /* columns of view 1 */
} parts;
static const field parts_fields[] = {
    ARRAY(parts, LIST, list, .rows = VIEWS, .of = &part_table),
    ARRAY(parts, REALS, second, .rows = OF_VIEW(1)),
};
static const table parts_table = TABLE(parts, parts_fields);
static const int64_t two[] = {2, 3}, others[] = {2, 4};

/* arg: the widths that it is loaded with. */
static void views_body(scope *s, void *arg)
{
    const state_sizes views = {.views = 2, .view_width = two},
                      asked = {.views = 2, .view_width = arg};
    parts *m = state_new(s, &parts_table);
    ferry_dict *d = NULL;

    m->list = NEW(s, part, 2);
    m->second = NEW(s, double, 3);
    for (int64_t v = 0; v < 2; v++)
        m->list[v] =
            (part){2, NEW(s, double, two[v]), block_new(s, HERE(two[v]), two[v], 2)};
    ROW(m->list[1].u, 2)[1] = 7;
    scope_check(s, ferry_i_dict_new(scope_ctx(s), &d));
    scope_defer(s, free_dict, d);
    const parts *copied = state_copy(s, s, &parts_table, m, views);
    state_save(s, &parts_table, copied, views, "", d);
    const parts *back = state_load(s, s, &parts_table, "", d, asked);
    assert_close(ROW(back->list[1].u, 2)[1], 7, 0);
    assert_int_equal(back->list[0].u.n, 2);
}

static void test_views(void **ctx)
{
    assert_ok(*ctx, scope_run(*ctx, views_body, (void *)two));
    assert_fails(*ctx, scope_run(*ctx, views_body, (void *)others), FERRY_EDATA,
                 "tensor list.1.mean: 3 where 4 were expected");
}

/* ---- every allocation fails ---- */

static ferry_status run_there_and_back(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, there_and_back, arg);
}

static void test_every_allocation_fails(void **ctx)
{
    each_allocation_fails(*ctx, run_there_and_back, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_new_classes, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_what_a_file_says_wrong, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_views, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_fails, ctx_setup,
                                        ctx_teardown),
    };

    fields[0] = leaves_first;
    memcpy(fields + 1, state_fields, sizeof state_fields);
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
