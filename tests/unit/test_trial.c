/* Choosing the bridge by trial: golden numbers, and what must not change them. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "ferry_test.h"
#include "golden.h"
#include "select/select.h"

/* ---- numbers ---- */

static void put(const json_t *list, int32_t *to)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        to[i] = (int32_t)json_integer_value(json_array_get(list, i));
}

typedef struct repeating {
    select_labels l;
    select_repeat out;
} repeating;

static void repeat_body(scope *s, void *arg)
{
    repeating *r = arg;

    r->out = repeat_of(s, &r->l);
}

static void test_golden(void **state)
{
    json_t *root = own_golden("select.json");
    enum { N = 40, SPLITS = 3 };
    assert_int_equal(json_integer_value(golden_at(root, "n")), N);
    const json_t *all = golden_at(root, "candidates");
    assert_int_equal(json_array_size(all), 5);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        int32_t y[(4 + 4 * SPLITS) * N];
        for (size_t h = 0; h < 2; h++) {
            put(json_array_get(golden_at(one, "halves_carried"), h), y + h * N);
            put(json_array_get(golden_at(one, "halves_settled"), h), y + (2 + h) * N);
            for (size_t k = 0; k < SPLITS; k++) {
                const json_t *settled = json_array_get(golden_at(one, "settled_splits"), k);
                const json_t *carried = json_array_get(golden_at(one, "carried_splits"), k);
                put(json_array_get(settled, h), y + (4 + 4 * k + h) * N);
                put(json_array_get(carried, h), y + (6 + 4 * k + h) * N);
            }
        }
        repeating now = {.l = {N, 2, SPLITS, y}};
        assert_ok(*state, scope_run(*state, repeat_body, &now));
        const select_repeat r = now.out;
        assert_float_equal(r.q, golden_real(one, "q"), 1e-12);
        assert_float_equal(r.sd, golden_real(one, "sd_split"), 1e-12);
    }
    json_decref(root);
}

/* Labels count: a way under swapped names repeats as well and hits nothing. */
static void test_score(void **state)
{
    (void)state;
    assert_float_equal(repeat_score(0.5, 0, 0), 0.868, 1e-12);
    assert_float_equal(repeat_score(1, 10, 10), (40 * 0.98 + 10) / 50, 1e-12);
    assert_float_equal(repeat_score(-2, 0, 0), 0.02, 1e-12);
    assert_true(repeat_score(0.9, 10, 0) < repeat_score(0.6, 10, 10));
}

/* Five labels may deny a way, fewer none; what chance gives the best of n ways confirms none. */
static void test_labels(void **state)
{
    (void)state;
    assert_false(labels_deny(2, 4, 0));
    assert_true(labels_deny(2, 5, 2));
    assert_false(labels_deny(2, 5, 3));
    assert_false(labels_deny(3, 6, 2));
    assert_true(labels_confirm(6, 10, 10, 0.5));
    assert_false(labels_confirm(6, 10, 9, 0.5)); /* 6 x 11 / 1024 */
    assert_true(labels_confirm(4, 10, 9, 0.5));
    assert_false(labels_confirm(1, 10, 10, 1));
    assert_false(labels_confirm(1, 0, 0, 0));
    assert_true(labels_confirm(6, 3000, 1600, 0.5)); /* 3.7 deviations */
    assert_false(labels_confirm(6, 3000, 1520, 0.5));
}

/* ---- a task ---- */

static int rows = 160;
static double sign = 1; /* of the columns b */

/* Rows of two classes; columns a(skip + 1) .. and b1 .. as asked, `blur` times the noise. */
static void write_rows(const char *name, int skip, int a, int b, bool labels, double blur)
{
    ferry_text t = {0};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, (uint64_t)name[0] * 3 + (uint64_t)name[1], 3);
    ferry_i_text_addf(&t, "id%s", labels ? ",label" : "");
    for (int j = 0; j < a + b; j++)
        ferry_i_text_addf(&t, ",%c%d", j < a ? 'a' : 'b', j < a ? skip + j + 1 : j - a + 1);
    for (int i = 0; i < rows; i++) {
        const double z = (i % 2 ? 1 : -1) + 0.5 * ferry_i_rng_normal(&rng);
        ferry_i_text_addf(&t, "\n%c%d", name[0], i + 1);
        if (labels) ferry_i_text_addf(&t, ",%s", i % 2 ? "up" : "down");
        for (int j = 0; j < a + b; j++)
            ferry_i_text_addf(&t, ",%.4f",
                              (j < a ? 1 : sign) *
                                  (z * ((j < a ? skip + j : j - a) % 3 ? 1 : -0.7) +
                                   blur * ferry_i_rng_normal(&rng)));
    }
    ferry_i_text_add(&t, "\n");
    tmp_file(name, t.s, -1);
    ferry_i_text_free(&t);
}

/* source (a), good and copies of noise (a and b), target (b); `more` ends the target's line. */
static ferry_task *made(ferry_ctx *ctx, const char *bridges, const char *more)
{
    ferry_text t = {0};
    ferry_task *task = NULL;

    write_rows("source.csv", 0, 6, 0, true, 0.7);
    write_rows("good.csv", 0, 6, 6, false, 0.7);
    write_rows("noise.csv", 0, 6, 6, false, 20);
    write_rows("alone.csv", 0, 6, 0, false, 0.7);
    write_rows("target.csv", 0, 0, 6, true, 0.7);
    ferry_i_text_addf(
        &t,
        "task: made\ngoal: classify\ndomains:\n"
        "  - {name: source, role: source, x: source.csv, id: id, label: label}\n"
        "%s  - {name: target, role: target, x: target.csv, id: id, label: label%s}\n",
        bridges, more);
    assert_ok(ctx, ferry_task_load(ctx, tmp_file("made.yaml", t.s, -1), NULL, &task));
    ferry_i_text_free(&t);
    return task;
}

#define GOOD "  - {name: good, role: intermediate, x: good.csv, id: id}\n"
#define NOISE "  - {name: noise, role: intermediate, x: noise.csv, id: id}\n"
#define TWIN "  - {name: copy, role: intermediate, x: noise.csv, id: id}\n"
#define ALONE                                                                              \
    "  - name: alone # a comment\n    role: intermediate\n    x: alone.csv\n    id: id\n"
#define NONE ", labelled: none"

static ferry_selection *chosen(ferry_ctx *ctx, const char *bridges, const char *more)
{
    ferry_task *task = made(ctx, bridges, more);
    ferry_selection *s = NULL;

    assert_ok(ctx, ferry_i_select_trial(ctx, task, NULL, &s));
    ferry_task_free(task);
    return s;
}

static const ferry_way *way_of(const ferry_selection *s, const char *name)
{
    for (int64_t i = 0; ferry_selection_at(s, i); i++) {
        const ferry_way *w = ferry_selection_at(s, i);
        if (name ? w->n == 1 && strcmp(w->domain[0], name) == 0 : w->n == 0) return w;
    }
    fail_msg("no way by %s", name ? name : "none");
    return NULL;
}

static void test_finds_the_bridge(void **state)
{
    ferry_selection *s = chosen(*state, NOISE GOOD ALONE, NONE);
    const ferry_way *good = way_of(s, "good"), *noise = way_of(s, "noise");
    char *text = NULL;

    assert_true(good->q > 0.7 && good->recommended && good->reached && !good->below);
    assert_true(good->reliability > 0.5 && good->source_kappa > 0.5 &&
                good->bridge_reliability > 0.5);
    assert_true(noise->q < 0.35 && !noise->recommended);
    assert_false(way_of(s, "alone")->reached); /* it has nothing of the target */
    assert_false(way_of(s, NULL)->reached);
    assert_true(way_of(s, "alone")->q == 0);
    assert_ok(*state, ferry_selection_table(*state, s, NULL, &text));
    assert_non_null(strstr(text, "Recommended: good.\n"));
    assert_non_null(strstr(text, "\n\n" GOOD "\n"));
    ferry_string_free(text);
    ferry_selection_free(s);
}

/* Neither the order of candidates nor copies of a bad one, nor labels, change a q. */
static void test_what_does_not_matter(void **state)
{
    ferry_selection *one = chosen(*state, GOOD NOISE, NONE);
    ferry_selection *two = chosen(*state, TWIN NOISE GOOD, NONE);
    ferry_selection *shown = chosen(*state, GOOD NOISE, ", labelled: {per_class: 5}");

    for (int i = 0; i < 2; i++) {
        const char *name = i ? "noise" : "good";
        assert_true(way_of(one, name)->q == way_of(two, name)->q);
        assert_true(way_of(one, name)->q == way_of(shown, name)->q);
        assert_true(way_of(one, name)->q_sd == way_of(two, name)->q_sd);
    }
    assert_true(way_of(two, "copy")->q == way_of(two, "noise")->q);
    assert_true(way_of(shown, "good")->hits >= 8 && way_of(shown, "good")->hits <= 10);
    assert_int_equal(way_of(one, "good")->hits, 0);
    ferry_selection_free(one);
    ferry_selection_free(two);
    ferry_selection_free(shown);
}

/* Nothing to carry: it says that it cannot tell. */
static void test_cannot_tell(void **state)
{
    ferry_selection *s = chosen(*state, NOISE TWIN, NONE);
    char *text = NULL;

    for (int64_t i = 0; ferry_selection_at(s, i); i++)
        assert_false(ferry_selection_at(s, i)->recommended);
    assert_ok(*state, ferry_selection_table(*state, s, NULL, &text));
    assert_non_null(strstr(text, "Cannot tell: no candidate's labels repeat"));
    ferry_string_free(text);
    ferry_selection_free(s);
}

/* One of two bridges swaps the classes: nothing but labels tells which. */
static void test_opposed(void **state)
{
    const char *more[] = {NONE, ", labelled: {per_class: 5}"};

    sign = -1;
    write_rows("flipped.csv", 0, 6, 6, false, 0.7);
    sign = 1;
    for (int i = 0; i < 2; i++) {
        char *text = NULL, *json = NULL;
        ferry_selection *s =
            chosen(*state,
                   GOOD "  - {name: flipped, role: intermediate, x: flipped.csv, id: id}\n",
                   more[i]);
        assert_true(way_of(s, "good")->q > 0.7 && way_of(s, "flipped")->q > 0.7);
        assert_ok(*state, ferry_selection_table(*state, s, NULL, &text));
        assert_ok(*state, ferry_selection_table(*state, s, "json", &json));
        assert_true(way_of(s, "good")->recommended == (i == 1));
        assert_false(way_of(s, "flipped")->recommended);
        assert_non_null(strstr(text, i ? "denied by the labels"
                                       : "give the target opposite classes (kappa -0."));
        assert_non_null(strstr(json, i ? "\"denied\": true" : "\"opposed_by\": 2"));
        ferry_string_free(text);
        ferry_string_free(json);
        ferry_selection_free(s);
    }
}

/* Two ways of noise may well give opposite classes, as nearly noise and its mirror image do: neither repeats,
 * so there is nothing to be opposed. */
static void test_noise_is_not_opposed(void **state)
{
    char *text = NULL;

    write_rows("naught.csv", 0, 6, 6, false, 7);
    sign = -1;
    write_rows("nay.csv", 0, 6, 6, false, 7); /* two letters draw the rows: the same ones */
    sign = 1;
    ferry_selection *s =
        chosen(*state,
               "  - {name: naught, role: intermediate, x: naught.csv, id: id}\n"
               "  - {name: nay, role: intermediate, x: nay.csv, id: id}\n",
               NONE);
    assert_true(way_of(s, "naught")->below && way_of(s, "nay")->below);
    assert_ok(*state, ferry_selection_table(*state, s, NULL, &text));
    assert_null(strstr(text, "opposite"));
    assert_non_null(strstr(text, "Cannot tell: no candidate's labels repeat"));
    ferry_string_free(text);
    assert_ok(*state, ferry_selection_table(*state, s, "json", &text));
    assert_non_null(strstr(text, "\"opposed_by\": null"));
    ferry_string_free(text);
    ferry_selection_free(s);
}

static void test_jobs(void **state)
{
    char *text[2] = {NULL, NULL};

    for (int i = 0; i < 2; i++) {
        ferry_i_ctx_set_jobs(*state, i ? 3 : 1);
        ferry_selection *s = chosen(*state, GOOD NOISE ALONE, NONE);
        assert_ok(*state, ferry_selection_table(*state, s, "json", &text[i]));
        ferry_selection_free(s);
    }
    ferry_i_ctx_set_jobs(*state, 0);
    assert_string_equal(text[0], text[1]);
    ferry_string_free(text[0]);
    ferry_string_free(text[1]);
}

/* A chain where no bridge is reached by itself. */
static void test_chain(void **state)
{
    write_rows("near.csv", 0, 9, 0, false, 0.7);
    write_rows("far.csv", 4, 5, 6, false, 0.7);
    ferry_selection *s =
        chosen(*state,
               "  - {name: far, role: intermediate, x: far.csv, id: id}\n"
               "  - {name: near, role: intermediate, x: near.csv, id: id}\n",
               NONE);
    const ferry_way *w = ferry_selection_at(s, 0);

    assert_int_equal(w->n, 2);
    assert_string_equal(w->domain[0], "near");
    assert_string_equal(w->domain[1], "far");
    if (!w->recommended || w->q < 0.4) fail_msg("q %g", w->q);
    ferry_selection_free(s);
}

/* A bridge of two views that is made of the target's rows is dropped, and one of which some are is
 * used without them; both are said. */
static void test_leaks(void **state)
{
    const char *bridge =
        "  - {name: own, role: intermediate, id: id, views: [{name: a, x: ta_a.csv}, {name: b, x: ta_b.csv}]}\n";
    ferry_selection *s = NULL;
    char *text = NULL;

    for (int i = 0; i < 2; i++) { /* write_rows: two letters of the name draw the rows */
        rows = i ? 240 : 160;
        write_rows("ta_a.csv", 0, 6, 0, false, 0.7);
        write_rows("ta_b.csv", 0, 0, 6, false, 0.7);
        rows = 160;
        s = chosen(*state, bridge, NONE);
        assert_int_equal(way_of(s, "own")->leaks, 160);
        assert_true(way_of(s, "own")->reached == (i == 1));
        assert_ok(*state, ferry_selection_table(*state, s, NULL, &text));
        assert_non_null(
            strstr(text, i ? "less 160 rows that are the target's own"
                           : "dropped: its rows are the target's own (a leak)"));
        ferry_string_free(text);
        ferry_selection_free(s);
    }
}

/* ---- bridge: auto ---- */

static const char *tmp_file_path(const char *name)
{
    static char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", tmp_dir(), name);
    return path;
}

/* target.csv: the label of each row that ids.txt does not name is the other one. */
static void flip_hidden(void)
{
    ferry_text t = {0}, ids = {0};
    FILE *f = fopen(tmp_file_path("target.csv"), "r");
    char line[1024];

    assert_non_null(f);
    for (int i = 0; fgets(line, sizeof line, f); i++) {
        char *comma = strchr(line, ','), *after = comma ? strchr(comma + 1, ',') : NULL;
        const bool hidden = i > 10;
        if (i > 0 && !hidden) ferry_i_text_addf(&ids, "t%d\n", i);
        if (hidden)
            ferry_i_text_addf(&t, "%.*s,%s%s", (int)(comma - line), line,
                              comma[1] == 'u' ? "down" : "up", after);
        else
            ferry_i_text_add(&t, line);
    }
    assert_int_equal(fclose(f), 0);
    tmp_file("target.csv", t.s, -1);
    tmp_file("ids.txt", ids.s, -1);
    ferry_i_text_free(&t);
    ferry_i_text_free(&ids);
}

/* The model of ttl on a task that chooses, or has these bridges, and what it says of the target. */
static ferry_model *model_of(ferry_ctx *ctx, const ferry_task *task, ferry_prediction **p)
{
    ferry_model *m = NULL;
    const ferry_domain *target = NULL;

    assert_ok(ctx, ferry_fit(ctx, task, "ttl", NULL, &m, NULL));
    assert_ok(ctx, ferry_i_task_target(ctx, task, &target));
    assert_ok(ctx, ferry_predict(ctx, m, target, p));
    return m;
}

static const ferry_diagnostic *told(const ferry_model *m, const char *name)
{
    for (int64_t i = 0; ferry_model_diagnostic_at(m, i); i++)
        if (strcmp(ferry_model_diagnostic_at(m, i)->name, name) == 0)
            return ferry_model_diagnostic_at(m, i);
    return NULL;
}

#define AUTO(labelled) labelled "}\nbridge: auto #"

/* A task that chooses is the task with what it chose, also for who fits by hand; the labels that it does not show
 * change nothing; the model keeps what was taken and why. */
static void test_auto(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_prediction *p[3];
    ferry_model *m[3];

    ferry_task *chooses = made(ctx, NOISE GOOD ALONE, AUTO(NONE));
    m[0] = model_of(ctx, chooses, &p[0]);
    ferry_task_free(chooses);
    ferry_task *alone = made(ctx, GOOD, NONE);
    m[1] = model_of(ctx, alone, &p[1]);
    ferry_task_free(alone);
    assert_string_equal(told(m[0], "bridge.chosen")->texts[0], "good");
    assert_int_equal(told(m[0], "bridge.chosen")->count, 1);
    assert_true(told(m[0], "bridge.q")->numbers[0] > 0.7);
    assert_non_null(strstr(told(m[0], "bridge.why")->texts[0], "repeat best"));
    assert_null(told(m[1], "bridge.chosen"));
    for (int64_t i = 0; i < p[0]->n; i++)
        assert_int_equal(p[0]->cls[i], p[1]->cls[i]);

    /* shown labels rank; hidden ones, all of them wrong now, do not exist */
    write_rows("target.csv", 0, 0, 6, true, 0.7);
    flip_hidden(); /* for the ids */
    ferry_task *plain = made(ctx, NOISE GOOD ALONE, AUTO(", labelled: {ids: ids.txt}"));
    m[2] = model_of(ctx, plain, &p[2]);
    char *path = ferry_i_strdup(tmp_file_path("made.yaml"));
    flip_hidden();
    ferry_task *flipped = NULL;
    ferry_prediction *q = NULL;
    assert_ok(ctx, ferry_task_load(ctx, path, NULL, &flipped));
    ferry_model *other = model_of(ctx, flipped, &q);
    assert_string_equal(told(other, "bridge.chosen")->texts[0], "good");
    assert_true(told(other, "bridge.q")->numbers[0] == told(m[2], "bridge.q")->numbers[0]);
    for (int64_t i = 0; i < q->n; i++)
        assert_int_equal(q->cls[i], p[2]->cls[i]);
    ferry_i_free(path);
    ferry_task_free(plain);
    ferry_task_free(flipped);
    ferry_model_free(other);
    ferry_prediction_free(q);
    for (int i = 0; i < 3; i++) {
        ferry_model_free(m[i]);
        ferry_prediction_free(p[i]);
    }
}

/* Where it cannot tell, all stay, and it says so; a task with one bridge has no choice. */
static void test_auto_cannot_tell(void **state)
{
    const char *bridges[] = {NOISE TWIN, NOISE};

    for (int i = 0; i < 2; i++) {
        ferry_prediction *p = NULL;
        ferry_task *task = made(*state, bridges[i], AUTO(NONE));
        ferry_model *m = model_of(*state, task, &p);
        assert_int_equal(told(m, "bridge.chosen")->count, 2 - i);
        assert_true(isnan(told(m, "bridge.q")->numbers[0]));
        assert_non_null(strstr(told(m, "bridge.why")->texts[0],
                               i ? "there is no other" : "more than chance"));
        ferry_model_free(m);
        ferry_prediction_free(p);
        ferry_task_free(task);
    }
}

static void lines_body(scope *s, void *arg)
{
    const char *text =
        "task: t\ndomains:\n- name: a\n  role: source\n  views:\n  - {x: a.csv}\n\n"
        "# b\n- {name: b,\n   role: target}\n- name: c\n  x: c.csv\nevaluate: {}\n";
    const struct {
        const char *name, *lines;
    } want[] = {{"a", "- name: a\n  role: source\n  views:\n  - {x: a.csv}\n"},
                {"b", "- {name: b,\n   role: target}\n"},
                {"c", "- name: c\n  x: c.csv\n"},
                {"d", ""}};

    (void)arg;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_string_equal(domain_lines(s, text, want[i].name), want[i].lines);
}

static void test_lines(void **state)
{
    assert_ok(*state, scope_run(*state, lines_body, NULL));
}

static ferry_status trial_body(ferry_ctx *ctx, void *arg)
{
    ferry_selection *s = NULL;
    char *text = NULL;
    ferry_status st = ferry_i_select_trial(ctx, arg, NULL, &s);

    if (st == FERRY_OK) st = ferry_selection_table(ctx, s, NULL, &text);
    ferry_string_free(text);
    if (st == FERRY_OK)
        st = ferry_selection_table(ctx, s, "json", &text);
    else
        text = NULL;
    ferry_string_free(text);
    ferry_selection_free(s);
    return st;
}

/* Not every one of thousands: all of the first, then ever fewer. */
static void test_memory(void **state)
{
    bool reached = true;

    rows = 16;
    ferry_task *task = made(*state, GOOD, NONE);
    rows = 160;
    ferry_i_ctx_set_jobs(*state, 1);
    for (int64_t n = 1; reached; n += 1 + n / 40) {
        const int64_t before = live_blocks();
        fail_allocation(n);
        const ferry_status st = trial_body(*state, task);
        reached = allocations() >= n;
        fail_allocation(0);
        assert_int_equal(st, reached ? FERRY_ENOMEM : FERRY_OK);
        assert_int_equal(live_blocks(), before);
    }
    ferry_i_ctx_set_jobs(*state, 0);
    ferry_task_free(task);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden),
        TEST(test_score),
        TEST(test_labels),
        TEST(test_finds_the_bridge),
        TEST(test_what_does_not_matter),
        TEST(test_cannot_tell),
        TEST(test_opposed),
        TEST(test_noise_is_not_opposed),
        TEST(test_jobs),
        TEST(test_chain),
        TEST(test_leaks),
        TEST(test_auto),
        TEST(test_auto_cannot_tell),
        TEST(test_lines),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
