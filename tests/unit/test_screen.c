/* Streams of hetomtl-paper whose decisions come from rounded rows (learn/hedge_screen.c) against the plain
 * way, which always asks for scores: the same answers, votes and bytes of the model, whatever the rows are like. */
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "learn/hedge.h"
#include "methods/frame.h"
#include "small_task.h"

enum { D = 515, K = 4, N = 3, ROUNDS = 3000, VOTES = 2 * N + 1, LATE = 7 };

static void draw(ferry_rng *rng, int y, double *x)
{
    for (int j = 0; j < D; j++)
        x[j] = ferry_i_rng_normal(rng) + (j % K == y % K ? 0.3 : 0);
}

/* Three sources, two of them with equal class counts. */
static ferry_task *task_of(ferry_ctx *ctx)
{
    static const char *const letters[N] = {"abcdabcdabcd", "abcdabcdabcd", "abcdabcabcab"};
    double xs[12 * 5], xt[12 * D];
    ferry_task *task = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 4, 0);
    for (int i = 0; i < 12; i++)
        draw(&rng, i % K, xt + i * D);
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 12, D, xt);
    small_classes(ctx, t, "abcdabcdabcd");
    for (int s = 0; s < N; s++) {
        char name[] = {'s', (char)('0' + s), 0};
        for (int e = 0; e < 12 * 5; e++)
            xs[e] = ferry_i_rng_normal(&rng) + (e % 5 == e / 5 % K ? 2 : 0);
        ferry_domain *d = small_domain(ctx, name, FERRY_SOURCE, 12, 5, xs);
        small_classes(ctx, d, letters[s]);
        if (s == 0)
            task = small_task(ctx, FERRY_CLASSIFY, d, t);
        else
            assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    }
    return task;
}

static hedge *hedge_of(const ferry_model *m)
{
    return ((fitted *)m->state)->state;
}

/* Whether the last row was decided from rounded rows. */
static bool decided_rounded(const ferry_model *m)
{
    const hedge_scores *f = ((fitted *)m->state)->rows->scratch;

    assert_non_null(f->screen);
    return f->rounded;
}

static ferry_model *copy_of(ferry_ctx *ctx, const ferry_model *m)
{
    ferry_model *c = NULL;

    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("copy.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("copy.ferry"), NULL, &c));
    return c;
}

static void assert_same(ferry_ctx *ctx, const ferry_model *a, const ferry_model *b)
{
    struct stat p, q;

    assert_ok(ctx, ferry_model_save(ctx, a, tmp_path("a.ferry")));
    assert_ok(ctx, ferry_model_save(ctx, b, tmp_path("b.ferry")));
    assert_int_equal(stat(tmp_path("a.ferry"), &p), 0);
    assert_int_equal(stat(tmp_path("b.ferry"), &q), 0);
    assert_int_equal(p.st_size, q.st_size);
    char *x = slurp(tmp_path("a.ferry")), *y = slurp(tmp_path("b.ferry"));
    assert_memory_equal(x, y, (size_t)p.st_size);
    free(x);
    free(y);
}

/* ---- rows ---- */

/* Between two classes of W_T: their scores differ by about `off`. */
static void make_close(const ferry_model *m, int p, int q, double off, double *x)
{
    const double *a = ROW(hedge_of(m)->target.w, p), *b = ROW(hedge_of(m)->target.w, q);
    double dot = 0, norm = 0;

    for (int j = 0; j < D; j++) {
        dot += (a[j] - b[j]) * x[j];
        norm += (a[j] - b[j]) * (a[j] - b[j]);
    }
    for (int j = 0; j < D && norm > 0; j++)
        x[j] -= (dot - off * sqrt((double)D)) / norm * (a[j] - b[j]);
}

/* Most are plain; some have no direction, are far too small or large, mostly zeros, with missing cells, seen before, or
 * hard to tell apart. */
static void make_row(const ferry_model *m, ferry_rng *rng, int t, int y, double *x)
{
    static const double off[] = {0, 1e-16, 1e-9, 1e-6, 1e-5, 1e-4};

    if (t % 10 != 4 || t < 10) draw(rng, y, x); /* else the row before this */
    if (t % 50 == 3) memset(x, 0, D * sizeof *x);
    if (t % 50 == 13) x[7] = NAN;
    for (int j = 0; j < D; j++) {
        if (t % 50 == 5) x[j] *= 1e-310;
        if (t % 50 == 6) x[j] *= 1e300;
        if (t % 50 == 7 && j % 40) x[j] = 0;
        if (t % 50 == 8 && j % 2) x[j] *= 1e-60;
        if (t % 50 == 9) x[j] = j == 11 ? -0.0 : 1;
    }
    if (t % 5 == 2) make_close(m, t / 5 % K, (t / 5 + 1) % K, off[t / 25 % 6], x);
}

typedef struct sample {
    double x[D];
    int32_t index[D], votes[2][VOTES];
    int64_t n; /* of a sparse row, 0: it is dense */
    char label[4];
} sample;

static ferry_row row_of(const sample *s)
{
    return s->n > 0 ? (ferry_row){s->n, s->index, s->x} : (ferry_row){D, NULL, s->x};
}

static void make_sparse(sample *s)
{
    for (int j = 0; j < D; j++)
        if (s->x[j] != 0) {
            s->index[s->n] = j;
            s->x[s->n++] = s->x[j];
        }
}

/* ---- the stream ---- */

/* Both see it; whether the first was certain without the exact scores. */
static bool both_see(ferry_ctx *ctx, ferry_model *const *m, sample *s, bool scores)
{
    const ferry_row x = row_of(s);
    double f[2][64];
    int32_t cls[2];

    for (int i = 0; i < 2; i++)
        assert_ok(ctx, ferry_model_see(ctx, m[i], &x, &cls[i],
                                       i == 1 || scores ? f[i] : NULL, s->votes[i]));
    assert_int_equal(cls[0], cls[1]);
    assert_memory_equal(s->votes[0], s->votes[1], sizeof s->votes[0]);
    if (scores)
        assert_memory_equal(f[0], f[1],
                            (size_t)ferry_i_model_class_count(m[0]) * sizeof **f);
    return decided_rounded(m[0]);
}

static void both_learn(ferry_ctx *ctx, ferry_model *const *m, const sample *s, bool votes)
{
    const ferry_row x = row_of(s);

    for (int i = 0; i < 2; i++)
        assert_ok(ctx,
                  ferry_model_learn(ctx, m[i], &x, s->label, votes ? s->votes[i] : NULL));
}

/* Labels come at once, late or never; new classes appear; the first is saved and loaded now and then. */
static int64_t stream(ferry_ctx *ctx, ferry_model **m, int rounds)
{
    sample *wait = calloc(LATE, sizeof *wait), *s = calloc(1, sizeof *s);
    int64_t near = 0;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 9, 0);
    for (int t = 0; t < rounds; t++) {
        const int y = (int)ferry_i_rng_below(&rng, K + (uint64_t)(t / 600));
        sample *late = &wait[t % LATE];
        if (s->n > 0) memset(s, 0, sizeof *s);
        make_row(m[1], &rng, t, y, s->x);
        (void)snprintf(s->label, sizeof s->label, "%c", 'a' + y);
        if (t % 50 == 7) make_sparse(s);
        near += both_see(ctx, m, s, t % 11 == 0);
        if (late->label[0]) both_learn(ctx, m, late, true);
        late->label[0] = 0;
        if (t % 9 == 0)
            *late = *s;
        else if (t % 9 > 1)
            both_learn(ctx, m, s, t % 4 > 0);
        if (t % 500 == 250) {
            assert_same(ctx, m[0], m[1]);
            ferry_model *c = copy_of(ctx, m[0]);
            ferry_model_free(m[0]);
            m[0] = c;
        }
    }
    assert_same(ctx, m[0], m[1]);
    free(wait);
    free(s);
    return near;
}

static void test_same_bits(void **state)
{
    static const char *const settings[] = {"", "variant=pa C=1e12",
                                           "variant=printed beta1=0.5"};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx);

    for (int64_t i = 0; i < FERRY_COUNT(settings); i++) {
        ferry_model *m[2];
        m[0] = fit_model(ctx, task, "hetomtl-paper", settings[i]);
        m[1] = copy_of(ctx, m[0]);
        const int64_t near = stream(ctx, m, ROUNDS);
        /* Both ways were gone. */
        assert_true(near > ROUNDS / 2 && near < ROUNDS - ROUNDS / 10);
        ferry_model_free(m[0]);
        ferry_model_free(m[1]);
    }
    ferry_task_free(task);
}

/* Weights beyond the floats, below them, and none. */
static void test_sizes(void **state)
{
    static const double by[] = {1e40, 1e300, 1e-40, 0};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx);

    for (int64_t i = 0; i <= FERRY_COUNT(by); i++) {
        ferry_model *m[2], *first = fit_model(ctx, task, "hetomtl-paper", "");
        const block w = hedge_of(first)->target.w;
        for (int64_t e = 0; e < w.n * w.k; e++)
            w.at[e] *= i < FERRY_COUNT(by) ? by[i] : 0;
        if (i ==
            FERRY_COUNT(by)) { /* one class beyond floats, one that often is the larger */
            w.at[0] = 3.5e38;
            w.at[w.k + 1] = 3e38;
        }
        m[0] = copy_of(ctx, first);
        m[1] = copy_of(ctx, first);
        (void)stream(ctx, m, 300);
        ferry_model_free(first);
        ferry_model_free(m[0]);
        ferry_model_free(m[1]);
    }
    ferry_task_free(task);
}

/* Many rows in one call are the same rows one by one. */
static void test_rows(void **state)
{
    enum { ROWS = 200 };
    static const char *const names[] = {"a", "b", "c", "d", "new"};
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx);
    ferry_model *m = fit_model(ctx, task, "hetomtl-paper", ""), *c = copy_of(ctx, m);
    double *x = calloc((size_t)ROWS * D, sizeof *x);
    int32_t label[ROWS], cls[2][ROWS];
    const ferry_array rows = {ROWS, D, D, x};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 2, 0);
    for (int i = 0; i < ROWS; i++) {
        label[i] = i % 7 == 3 ? -1 : i % 5;
        draw(&rng, i % 5, x + (int64_t)i * D);
    }
    assert_ok(ctx, ferry_model_learn_rows(ctx, m, &rows, 5, names, label, cls[0]));
    for (int i = 0; i < ROWS; i++) {
        const ferry_row row = {D, NULL, x + (int64_t)i * D};
        double f[8];
        int32_t votes[VOTES];
        assert_ok(ctx, ferry_model_see(ctx, c, &row, &cls[1][i], f, votes));
        if (label[i] >= 0)
            assert_ok(ctx, ferry_model_learn(ctx, c, &row, names[label[i]], votes));
    }
    assert_memory_equal(cls[0], cls[1], sizeof cls[0]);
    assert_same(ctx, m, c);
    free(x);
    ferry_model_free(m);
    ferry_model_free(c);
    ferry_task_free(task);
}

/* ---- memory ---- */

static ferry_status whole(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    double x[D];
    const ferry_row row = {D, NULL, x};
    ferry_model *m = NULL, *c = NULL;
    int32_t cls = 0, votes[VOTES];

    for (int j = 0; j < D; j++)
        x[j] = j % 9;
    FERRY_TRY(ferry_fit(ctx, arg, "hetomtl-paper", NULL, &m, NULL));
    FERRY_TRY(ferry_model_see(ctx, m, &row, &cls, NULL, votes));
    FERRY_TRY(ferry_model_learn(ctx, m, &row, "new", votes));
    FERRY_TRY(ferry_model_save(ctx, m, tmp_path("oom.ferry")));
    FERRY_TRY(ferry_model_load(ctx, tmp_path("oom.ferry"), NULL, &c));
done:
    ferry_model_free(c);
    ferry_model_free(m);
    return st;
}

/* A class that cannot be added leaves all as it was but for the name, and the stream goes on. */
static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx);
    ferry_model *m[2] = {fit_model(ctx, task, "hetomtl-paper", "")};
    sample s = {.label = "new"}, other = {.label = "b"};
    const ferry_row x = row_of(&s);
    ferry_status st = FERRY_ENOMEM;
    ferry_rng rng;

    each_allocation_fails(ctx, whole, task);
    m[1] = copy_of(ctx, m[0]);
    ferry_i_rng_seed(&rng, 3, 0);
    for (int64_t n = 1; st == FERRY_ENOMEM; n++) {
        draw(&rng, 1, other.x);
        (void)both_see(ctx, m, &other, false);
        both_learn(ctx, m, &other, true);
        draw(&rng, 2, s.x);
        (void)both_see(ctx, m, &s, false);
        fail_allocation(n);
        st = ferry_model_learn(ctx, m[0], &x, s.label, s.votes[0]);
        fail_allocation(0);
    }
    assert_ok(ctx, st);
    assert_ok(ctx, ferry_model_learn(ctx, m[1], &x, s.label, s.votes[1]));
    assert_same(ctx, m[0], m[1]);
    assert_true(both_see(ctx, m, &other, false));
    ferry_model_free(m[0]);
    ferry_model_free(m[1]);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_same_bits), TEST(test_sizes),
                                       TEST(test_rows), TEST(test_memory)};
    return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
