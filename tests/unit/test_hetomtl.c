/* The six experts of hetomtl: against an independent program, through drift, new classes, files, and without growing.
 * The method is one file, and this looks into its state. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xxhash.h>

#define method_hetomtl method_hetomtl_seen /* the library has the other one */
#include "methods/hetomtl.c"

#include "hetomtl_golden.h"
#include "methods/frame.h"
#include "small_task.h"

enum { D = 6, OFFLINE = 9, ROWS = 60 };

static int by_key(const void *a, const void *b)
{
    const uint64_t x = XXH3_64bits(a, strlen(a)), y = XXH3_64bits(b, strlen(b));

    return (x > y) - (x < y);
}

/* A model of rows of D features with classes by letters, which fit takes in their order. */
static ferry_model *model_of(ferry_ctx *ctx, int64_t n, const double *x,
                             const char *letters, bool sparse, const char *settings)
{
    ferry_domain *d = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    char id[OFFLINE][8];
    const char *ids[OFFLINE];
    ferry_task *task = NULL;

    assert_true(n <= OFFLINE);
    for (int64_t i = 0; i < n; i++)
        (void)snprintf(id[i], sizeof id[i], "r%d", (int)i);
    qsort(id, (size_t)n, sizeof *id, by_key);
    for (int64_t i = 0; i < n; i++)
        ids[i] = id[i];
    small_view(ctx, d, "x", n, D, x, ids, NULL, sparse);
    small_classes(ctx, d, letters);
    task = small_task(ctx, FERRY_CLASSIFY, NULL, d);
    ferry_model *m = fit_model(ctx, task, "hetomtl", settings);
    ferry_task_free(task);
    return m;
}

static hetomtl *state_of(ferry_model *m)
{
    return ((fitted *)m->state)->state;
}

/* ---- the golden stream ---- */

static void test_golden(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const names[] = {"a", "b", "c", "d"};
    int at = 0;

    ferry_model *m = model_of(ctx, OFFLINE, golden_offline, "aaabbbccc", false, "basis=24");
    const hetomtl *f = state_of(m);
    state_of(m)->beside = NULL; /* as models of 0.2: the golden program has the six alone */
    for (int e = 0; e < RIDGES; e++)
        state_of(m)->ridge[e].at_once = 8;
    for (int e = 0; e < MAPS; e++)
        assert_close(f->h[e], golden_h[e], 1e-4);
    for (int e = 0; e < EXPERTS; e++)
        assert_close(f->w[e], golden_warm[e], 1e-4);
    for (int64_t i = 0; i < ROWS; i++) {
        const ferry_row x = {D, NULL, golden_stream + i * D};
        double total[4] = {0};
        int32_t cls = 0, votes[128] = {0};
        for (int e = 0; e < EXPERTS; e++)
            assert_close(f->w[e], golden_w[i * EXPERTS + e], 1e-4);
        assert_true(f->votes <= 128);
        assert_ok(ctx, ferry_model_see(ctx, m, &x, &cls, total, votes));
        for (int64_t c = 0; c < f->k; c++)
            assert_close(total[c], golden_total[i * 4 + c], 1e-4);
        assert_int_equal(votes[0], golden_answer[i]);
        const row_scratch *seen = ((fitted *)m->state)->rows->scratch;
        for (int64_t e = 0; i == golden_at[at] && e < EXPERTS; e++)
            for (int64_t c = 0; c < f->k; c++)
                assert_close(seen->f[e * f->k + c],
                             golden_scores[(at * EXPERTS + e) * 4 + c], 1e-4);
        at += i == golden_at[at] && i < ROWS - 1;
        if (golden_labelled[i])
            assert_ok(ctx, ferry_model_learn(ctx, m, &x, names[golden_y[i]], votes));
    }
    assert_int_equal(f->alarms, 0);
    assert_true(f->ridge[0].full && f->k == 4);
    ferry_model_free(m);
}

/* ---- streams ---- */

/* Row i of a made-up stream: class c has its own three features; `turn` moves the classes. */
static int32_t draw(ferry_rng *rng, int turn, double *x)
{
    const int32_t c = (int32_t)ferry_i_rng_below(rng, 3);

    for (int j = 0; j < D; j++)
        x[j] = fabs(0.4 * ferry_i_rng_normal(rng) + (j % 3 == (c + turn) % 3 ? 1.5 : 0.2));
    return c;
}

/* Rounds of a stream on f, with every label; mistakes. */
static int64_t rounds(ferry_ctx *ctx, ferry_model *m, ferry_rng *rng, int64_t n, int turn)
{
    static const char *const names[] = {"a", "b", "c"};
    int64_t wrong = 0;

    for (int64_t i = 0; i < n; i++) {
        double x[D];
        const int32_t y = draw(rng, turn, x);
        const ferry_row row = {D, NULL, x};
        int32_t cls = 0, votes[256];
        assert_ok(ctx, ferry_model_see(ctx, m, &row, &cls, NULL, votes));
        wrong += strcmp(ferry_model_class_at(m, cls), names[y]) != 0;
        assert_ok(ctx, ferry_model_learn(ctx, m, &row, names[y], votes));
    }
    return wrong;
}

/* The classes change places: an alarm soon after, few mistakes after that, and no alarm while
 * nothing changes; dense and sparse. */
static void test_drift(void **state)
{
    ferry_ctx *ctx = *state;

    /* Below a tenth of the cells: rows are kept sparse. */
    static const double few[OFFLINE * D] = {[0] = 1, [3 * D + 1] = 1, [6 * D + 2] = 1};

    for (int sparse = 0; sparse < 2; sparse++) {
        ferry_model *m = model_of(ctx, OFFLINE, sparse ? few : golden_offline, "aaabbbccc",
                                  sparse, "basis=50");
        const hetomtl *f = state_of(m);
        ferry_rng rng;
        ferry_i_rng_seed(&rng, 5, 0);
        assert_int_equal(f->maps.sparse, sparse);
        (void)rounds(ctx, m, &rng, 100, 0); /* another stream than the offline rows' */
        const int64_t before = f->alarms;
        assert_true(rounds(ctx, m, &rng, 400, 0) < 30);
        assert_int_equal(f->alarms, before);
        int64_t since = 0, wrong = 0;
        for (; f->alarms == before && since < 100; since++)
            wrong += rounds(ctx, m, &rng, 1, 1);
        assert_int_equal(f->alarms, before + 1);
        assert_true(wrong >= 10); /* or there was nothing to notice */
        assert_true(since <= 40); /* 65 when the detector learned from older labels too */
        /* from the rows after the change, give or take a mistake at its border */
        assert_true(f->n_ring >= LEAST && f->n_ring <= since + 3);
        assert_int_equal(f->n, f->n_ring < f->m ? f->n_ring : f->m);
        (void)rounds(ctx, m, &rng, 100, 1);
        assert_true(rounds(ctx, m, &rng, 300, 1) < 30);
        assert_int_equal(f->alarms, before + 1);
        ferry_model_free(m);
    }
}

/* Labels 30 rows late: what was said before it began again is not held against it, so that it
 * begins again once. */
static void test_late_drift(void **state)
{
    enum { LATE = 30, ALL = 600, CHANGE = 300 };
    static const char *const names[] = {"a", "b", "c"};
    ferry_ctx *ctx = *state;
    ferry_model *m = model_of(ctx, OFFLINE, golden_offline, "aaabbbccc", false, "basis=50");
    static double x[ALL][D];
    static int32_t votes[ALL][256], y[ALL];
    int64_t before = 0;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 6, 0);
    for (int i = 0; i < ALL + LATE; i++) {
        int32_t cls = 0;
        if (i < ALL) {
            y[i] = draw(&rng, i >= CHANGE, x[i]);
            const ferry_row row = {D, NULL, x[i]};
            assert_ok(ctx, ferry_model_see(ctx, m, &row, &cls, NULL, votes[i]));
        }
        if (i < LATE) continue;
        const ferry_row row = {D, NULL, x[i - LATE]};
        assert_ok(ctx,
                  ferry_model_learn(ctx, m, &row, names[y[i - LATE]], votes[i - LATE]));
        if (i - LATE == CHANGE - 1) before = state_of(m)->alarms;
    }
    assert_int_equal(state_of(m)->alarms, before + 1);
    ferry_model_free(m);
}

/* Nothing grows: the file after a thousand labels is as large as after two hundred, and a
 * loaded copy goes on with the same bits, also through an alarm. */
static void test_constant(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_model *m = model_of(ctx, OFFLINE, golden_offline, "aaabbbccc", false, "basis=40"),
                *c = NULL;
    ferry_rng rng, twin;
    struct stat early, late;

    ferry_i_rng_seed(&rng, 7, 0);
    (void)rounds(ctx, m, &rng, 31 + 64 * 3, 0); /* full, and no block waits */
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("early.ferry")));
    (void)rounds(ctx, m, &rng, 64 * 12 + 20, 0);
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("some.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("some.ferry"), NULL, &c));
    twin = rng;
    assert_int_equal(rounds(ctx, m, &rng, 300, 1), rounds(ctx, c, &twin, 300, 1));
    assert_true(state_of(m)->alarms > 0);
    assert_int_equal(state_of(m)->alarms, state_of(c)->alarms);
    for (int e = 0; e < EXPERTS; e++)
        assert_true(state_of(m)->w[e] == state_of(c)->w[e]);
    (void)rounds(ctx, m, &rng, 64 * 4, 1);
    while (state_of(m)->ridge[0].pending > 0)
        (void)rounds(ctx, m, &rng, 1, 1);
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("late.ferry")));
    assert_int_equal(stat(tmp_path("early.ferry"), &early), 0);
    assert_int_equal(stat(tmp_path("late.ferry"), &late), 0);
    assert_true(late.st_size - early.st_size < 64); /* the header's numbers have lengths */
    ferry_model_free(m);
    ferry_model_free(c);
}

/* Two rings, one around the other: of unit length all rows look the same. The partners learn it, also from labels that
 * come late, and what they know is in the model's file. */
static void test_partners(void **state)
{
    enum { LATE = 20, ROUNDS = 500 };
    static const char *const names[] = {"a", "b"};
    static double x[ROUNDS][D];
    static int32_t votes[ROUNDS][256];
    ferry_ctx *ctx = *state;
    ferry_rng rng;
    int64_t wrong = 0;

    ferry_i_rng_seed(&rng, 11, 0);
    for (int i = 0; i < ROUNDS; i++) {
        const double a = 6.2831853 * ferry_i_rng_real(&rng);
        const double r = (i % 2 ? 2 : 1) + 0.1 * ferry_i_rng_normal(&rng);
        x[i][0] = r * cos(a);
        x[i][1] = r * sin(a);
    }
    ferry_model *m = model_of(ctx, 8, x[0], "abababab", false, ""), *c = NULL;
    assert_non_null(state_of(m)->beside);
    for (int i = 8; i < ROUNDS + LATE; i++) {
        int32_t cls = 0;
        if (i == ROUNDS / 2) {
            assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("rings.ferry")));
            assert_ok(ctx, ferry_model_load(ctx, tmp_path("rings.ferry"), NULL, &c));
            ferry_model_free(m);
            m = c;
        }
        if (i < ROUNDS) {
            const ferry_row row = {D, NULL, x[i]};
            assert_ok(ctx, ferry_model_see(ctx, m, &row, &cls, NULL, votes[i]));
            wrong += i >= ROUNDS / 2 && cls != i % 2;
        }
        if (i - LATE < 8) continue;
        const ferry_row row = {D, NULL, x[i - LATE]};
        assert_ok(ctx,
                  ferry_model_learn(ctx, m, &row, names[(i - LATE) % 2], votes[i - LATE]));
    }
    assert_true(wrong < ROUNDS / 2 / 10);
    double share[EXPERTS + PARTS - 1], all = 0;
    const char *part[EXPERTS + PARTS - 1];
    assert_int_equal(hetomtl_parts(state_of(m), part, share), EXPERTS + PARTS - 1);
    for (int e = 0; e < EXPERTS + PARTS - 1; e++)
        all += share[e];
    assert_close(all, 1, 1e-12);
    assert_string_equal(part[EXPERTS + PARTS - 2], "kernel");
    assert_true(share[EXPERTS + PARTS - 2] > 0.5);
    ferry_model_free(m);
}

/* No label at the start; rows of zeros; more offline rows than the basis takes. */
static void test_beginnings(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_model *m = model_of(ctx, OFFLINE, golden_offline, "?????????", false, "");
    const double zeros[D] = {0};
    const ferry_row zero = {D, NULL, zeros};
    int32_t cls = 0, votes[256];
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 9, 0);
    assert_ok(ctx, ferry_model_see(ctx, m, &zero, &cls, NULL, votes));
    assert_int_equal(cls, -1);
    assert_ok(ctx, ferry_model_learn(ctx, m, &zero, "b", votes));
    assert_ok(ctx, ferry_model_learn(ctx, m, &zero, "a", NULL));
    assert_ok(ctx, ferry_model_see(ctx, m, &zero, &cls, NULL, votes));
    assert_ok(ctx, ferry_model_learn(ctx, m, &zero, "c", votes));
    (void)rounds(ctx, m, &rng, 100, 0);
    assert_true(rounds(ctx, m, &rng, 300, 0) < 30);
    ferry_model_free(m);
    m = model_of(ctx, OFFLINE, golden_offline, "aaabbbccc", false, "basis=4");
    assert_true(state_of(m)->n == 4 && state_of(m)->ridge[0].labels == OFFLINE);
    assert_int_equal(state_of(m)->n_ring, OFFLINE);
    assert_true(rounds(ctx, m, &rng, 300, 0) < 150);
    ferry_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_drift, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_late_drift, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_constant, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_partners, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_beginnings, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("hetomtl", tests, NULL, NULL);
}
