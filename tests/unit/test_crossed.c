/* The statistics of the verdict against golden cases (tests/golden/verdict.json and crossed.json, worked out
 * with numpy and scipy), and properties. */
#include "golden.h"
#include "run/run.h"

/* 1e-9, of what Student's quantiles enter 1e-7; null is "not known". */
static void same(const char *what, const char *key, double got, const json_t *want,
                 double tol)
{
    const double w = json_number_value(want);

    if (json_is_null(want) ? !isfinite(got) : fabs(got - w) <= tol * fmax(1, fabs(w)))
        return;
    fail_msg("%s: %s is %.15g, not %.15g", what, key, got, json_is_null(want) ? NAN : w);
}

static double *reals(const json_t *array) /* null is NaN; for free() */
{
    const size_t n = json_array_size(array);
    double *x = calloc(n + 1, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = json_is_null(json_array_get(array, i))
                   ? NAN
                   : json_number_value(json_array_get(array, i));
    return x;
}

static int32_t *wholes(const json_t *array)
{
    const size_t n = json_array_size(array);
    int32_t *x = calloc(n + 1, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (int32_t)json_integer_value(json_array_get(array, i));
    return x;
}

/* ---- golden cases ---- */

/* repeats x n of 0 and 1. */
static uint8_t *seen_of(const json_t *rows, int64_t repeats, int64_t n)
{
    uint8_t *seen = calloc((size_t)(repeats * n), 1);

    for (int64_t r = 0; r < repeats; r++)
        for (int64_t i = 0; i < n; i++)
            seen[r * n + i] = json_integer_value(json_array_get(
                                  json_array_get(rows, (size_t)r), (size_t)i)) != 0;
    return seen;
}

/* The keys of both kinds of files: v3's own (out), and cases with clusters (components and test). */
static void crossed_case(ferry_ctx *ctx, const char *what, const json_t *o)
{
    const json_t *d = golden_at(o, "D"), *clusters = json_object_get(o, "clusters");
    const json_t *out = json_object_get(o, "out"), *needed = json_object_get(o, "needed");
    const json_t *want = out ? out : golden_at(o, "components"),
                 *test = out ? out : golden_at(o, "test");
    const int64_t repeats = (int64_t)json_array_size(d),
                  n = (int64_t)json_array_size(json_array_get(d, 0));
    double *diff = calloc((size_t)(repeats * n), sizeof *diff);
    uint8_t *seen = seen_of(golden_at(o, out ? "visible" : "seen"), repeats, n);
    ferry_differences in = {.repeats = repeats,
                            .n = n,
                            .diff = diff,
                            .seen = seen,
                            .hands = json_integer_value(json_object_get(o, "hands")),
                            .fixed = json_is_true(golden_at(o, "fixed"))};
    ferry_crossed c;
    int32_t *cluster[2] = {NULL, NULL};
    int64_t more = 0, rows = 0;

    for (int64_t r = 0; r < repeats; r++) {
        double *row = reals(json_array_get(d, (size_t)r));
        memcpy(diff + r * n, row, (size_t)n * sizeof *row);
        free(row);
    }
    for (size_t k = 0; k < json_array_size(clusters); k++)
        in.cluster[k] = cluster[k] = wholes(json_array_get(clusters, k));
    assert_ok(ctx, ferry_i_crossed(ctx, &in, &c));
    same(what, "R", (double)c.repeats, golden_at(want, "R"), 0);
    same(what, "n", (double)c.n, golden_at(want, "n"), 0);
    same(what, "nt", c.scored, golden_at(want, "nt"), 1e-9);
    same(what, "mu", c.mu, golden_at(want, "mu"), 1e-9);
    same(what, "s2", c.s2, golden_at(want, "s2"), 1e-9);
    same(what, "vb", c.vb, golden_at(want, "vb"), 1e-9);
    same(what, "se2", c.se2, golden_at(want, "se2"), 1e-9);
    same(what, "sb2", c.sb2, golden_at(want, "sb2"), 1e-9);
    same(what, "sl2", c.sl2, golden_at(want, "sl2"), 1e-9);
    same(what, "C", c.c, golden_at(want, "C"), 1e-9);
    same(what, "k", c.k, golden_at(want, "k"), 1e-9);
    same(what, "se", c.se, golden_at(test, "se"), 1e-9);
    same(what, "df", c.df, golden_at(test, "df"), 1e-9);
    same(what, "low", c.low, golden_at(test, "low"), 1e-7);
    same(what, "high", c.high, golden_at(test, "high"), 1e-7);
    same(what, "p_better", c.p_better, golden_at(test, "p_better"), 1e-9);
    same(what, "p_worse", c.p_worse, golden_at(test, "p_worse"), 1e-9);
    if (out) {
        same(what, "overlap", ferry_i_overlap(repeats, n, seen), golden_at(o, "overlap"),
             1e-9);
        same(what, "V", c.v, golden_at(out, "V"), 1e-9);
        same(what, "at_most", c.most, golden_at(o, "at_most"), 1e-7);
        ferry_i_crossed_needed(&c, 0.05, &more, &rows);
        const char *kind = json_string_value(json_array_get(needed, 0));
        const int64_t number = json_integer_value(json_array_get(needed, 1));
        assert_int_equal(more, kind && strcmp(kind, "repeats") == 0 ? number : 0);
        assert_int_equal(rows, kind && strcmp(kind, "rows") == 0 ? number : 0);
    }
    free(diff);
    free(seen);
    free(cluster[0]);
    free(cluster[1]);
}

static void share_case(const char *what, const json_t *o)
{
    double *a = reals(golden_at(o, "a"));

    same(what, "phi",
         ferry_i_linear_share((int64_t)json_array_size(golden_at(o, "a")), a,
                              (int64_t)golden_real(o, "D"), golden_real(o, "L"),
                              golden_real(o, "N")),
         golden_at(o, "phi"), 1e-9);
    free(a);
}

static void student_case(const char *what, const json_t *o)
{
    const double df = golden_real(o, "df");

    if (json_object_get(o, "above"))
        same(what, "above", ferry_i_student_above(golden_real(o, "t"), df),
             golden_at(o, "above"), 1e-7);
    else
        same(what, "quantile", ferry_i_student_t(2 * golden_real(o, "p"), df),
             golden_at(o, "quantile"), 1e-7);
}

static void step_down_case(ferry_ctx *ctx, const json_t *o)
{
    int64_t draws = 0;
    double *p = reals(golden_at(o, "p")), *z = golden_array(o, "Z", &draws, NULL);
    const int64_t n = (int64_t)json_array_size(golden_at(o, "p"));

    assert_ok(ctx, ferry_i_step_down_by(ctx, n, draws, z, p));
    for (int64_t i = 0; i < n; i++)
        same("step_down", "adjusted", p[i],
             json_array_get(golden_at(o, "adjusted"), (size_t)i), 1e-9);
    free(z);
    free(p);
}

/* Of cells that are scored: what the repeat showed is no question. */
static void primary_case(ferry_ctx *ctx, const json_t *o)
{
    int64_t repeats = 0, methods = 0, n = 0;
    double *cv = golden_array(o, "cv", &repeats, &methods);
    double *cells = golden_array(o, "cells", &repeats, &n);
    uint8_t *seen = seen_of(golden_at(o, "visible"), repeats, n);
    int32_t *cell = calloc((size_t)(repeats * n), sizeof *cell);

    assert_ok(ctx, ferry_i_primary_cells(ctx, repeats, n, methods, cv, seen, cell));
    for (int64_t k = 0; k < repeats * n; k++)
        if (!seen[k]) assert_int_equal(cell[k], (int)cells[k]);
    free(cell);
    free(seen);
    free(cells);
    free(cv);
}

static void worth_case(const char *what, const json_t *o)
{
    double *drawn = reals(golden_at(o, "draws")), half = 0;
    const json_t *out = golden_at(o, "out");

    same(what, "worth",
         ferry_i_worth(golden_real(o, "own"),
                       (int64_t)json_array_size(golden_at(o, "draws")), drawn, &half),
         json_array_get(out, 0), 1e-9);
    same(what, "half", half, json_array_get(out, 1), 1e-7);
    free(drawn);
}

/* args: used, corrected p that it is better, and worse, p_high, p_low, beats others, as good, at most, least. */
static void word_case(const char *what, const json_t *o)
{
    const json_t *a = golden_at(o, "args");
    double x[9];
    ferry_results rs = {0};
    ferry_entry r = {0};

    for (size_t i = 0; i < 9; i++)
        x[i] = json_is_boolean(json_array_get(a, i))
                   ? json_is_true(json_array_get(a, i))
                   : json_number_value(json_array_get(a, i));
    r.unused = x[0] == 0;
    r.better = x[1] < 0.05;
    r.worse = x[2] < 0.05;
    r.beats_others = x[5] > 0;
    r.pub.pairs = 1;
    r.pub.p_high = x[3];
    r.pub.p_low = x[4];
    r.pub.as_good = (int64_t)x[6];
    r.pub.most = x[7];
    r.pub.p_best = 1;
    rs.run.least = x[8];
    if (strcmp(ferry_verdict_name(ferry_i_verdict_of(&rs, &r)),
               json_string_value(golden_at(o, "word"))) != 0)
        fail_msg("%s: %s is not %s", what, ferry_verdict_name(ferry_i_verdict_of(&rs, &r)),
                 json_string_value(golden_at(o, "word")));
    r.pub.p_best = 0.01; /* better than the best in hindsight, too */
    if (ferry_i_verdict_of(&rs, &r) == FERRY_BEST)
        assert_string_equal(json_string_value(golden_at(o, "word")), "helps");
}

/* Normal numbers that go together as two tests do, by the formula itself, against their correlation. */
static void test_tests_go_together(void **state)
{
    enum { TESTS = 3, WIDTH = 6, TURNS = 4, MANY = 40000 };
    static double effect[TESTS][WIDTH] = {
        {.3, -.2, .1, NAN, -.4, .2}, {.1, -.3, .2, NAN, .1, -.1}, {0, 0, 0, NAN, 0, 0}};
    static double mean[TESTS][TURNS] = {{.5, .1, .3, .1}, {.1, .2, .4, .1}, {0, 0, 0, 0}};
    ferry_tested t[TESTS];
    double law[TESTS * TESTS], sum = 0;
    ferry_rng rng;

    (void)state;
    for (int m = 0; m < TESTS; m++)
        t[m] = (ferry_tested){
            .c = {.mu = ferry_i_mean(TURNS, mean[m]), .va = .02 + .01 * m, .vr = .03},
            .effect = effect[m],
            .mean = mean[m]};
    ferry_i_together(TESTS, WIDTH, TURNS, t, law);
    assert_close(law[0], 1, 1e-12);
    assert_close(law[8], 0, 1e-12); /* nothing differs */
    assert_close(law[1], law[3], 0);
    ferry_i_rng_seed(&rng, 1, 1);
    for (int k = 0; k < MANY; k++) {
        double z[2] = {0, 0}, xi[WIDTH], eta[TURNS];
        for (int i = 0; i < WIDTH; i++)
            xi[i] = ferry_i_rng_normal(&rng);
        for (int r = 0; r < TURNS; r++)
            eta[r] = ferry_i_rng_normal(&rng);
        for (int m = 0; m < 2; m++) {
            double b = 0, a = 0, sb = 0, sa = 0;
            for (int i = 0; i < WIDTH; i++) {
                if (isnan(effect[m][i])) continue;
                b += xi[i] * effect[m][i];
                sb += effect[m][i] * effect[m][i];
            }
            for (int r = 0; r < TURNS; r++) {
                a += eta[r] * (mean[m][r] - t[m].c.mu);
                sa += pow(mean[m][r] - t[m].c.mu, 2);
            }
            z[m] = (b * sqrt(t[m].c.vr / sb) + a * sqrt(t[m].c.va / sa)) /
                   sqrt(t[m].c.vr + t[m].c.va);
        }
        sum += z[0] * z[1] / MANY;
    }
    assert_close(law[1], sum, 0.03);
}

/* Tests that are the same cost nothing, tests that know nothing of each other cost what they cost together; one alone is as it is. */
static void test_what_correcting_costs(void **state)
{
    static const double same_law[] = {1, 1, 1, 1}, own_law[] = {1, 0, 0, 1};
    double p[] = {.03, .03}, q[] = {.03, .2}, one = .04;

    assert_ok(*state, ferry_i_step_down(*state, 2, same_law, p));
    assert_close(p[0], .03, .01);
    assert_ok(*state, ferry_i_step_down(*state, 2, own_law, q));
    assert_close(q[0], 1 - .97 * .97, .01);
    assert_close(q[1], .2, 1e-12);
    assert_ok(*state, ferry_i_step_down(*state, 1, own_law, &one));
    assert_close(one, .04, 0);
}

static void max_t_case(ferry_ctx *ctx, const char *what, const json_t *o)
{
    static const char *const keys[] = {"p_high", "p_low"};
    double *own = reals(golden_at(o, "own")), *p = calloc(64, sizeof *p);
    const int64_t m = (int64_t)json_array_size(golden_at(o, "own"));
    int64_t draws = 0;
    double *drawn = golden_array(o, "draws", &draws, NULL);

    for (int side = 0; side < 2; side++) {
        assert_ok(ctx, ferry_i_max_t(ctx, m, draws, own, drawn, side ? -1 : 1, p));
        for (int64_t i = 0; i < m; i++)
            same(what, keys[side], p[i],
                 json_array_get(golden_at(o, keys[side]), (size_t)i), 1e-9);
    }
    free(own);
    free(p);
    free(drawn);
}

static void holm_case(const char *what, const json_t *o)
{
    double *p = reals(golden_at(o, "p"));
    const int64_t n = (int64_t)json_array_size(golden_at(o, "p"));

    ferry_i_holm(n, p);
    for (int64_t i = 0; i < n; i++)
        same(what, "p", p[i], json_array_get(golden_at(o, "adjusted"), (size_t)i), 1e-9);
    free(p);
}

/* "pseudo NAME": the metric itself is checked too. */
static void pseudo_case(ferry_ctx *ctx, const char *what, const json_t *o)
{
    const ferry_metric *m = ferry_i_metric_find(what + strlen("pseudo "));
    const json_t *want = golden_at(o, "pseudo");
    const size_t n = json_array_size(want);
    double *truth = reals(golden_at(o, "truth")), *row = calloc(n, sizeof *row);
    const json_t *cls = json_object_get(o, "cls");
    double *given = reals(cls ? cls : golden_at(o, "value_pred"));
    int32_t *t = calloc(n, sizeof *t), *p = calloc(n, sizeof *p), k = 0;

    assert_non_null(m);
    for (size_t i = 0; i < n; i++) {
        if (!cls) continue;
        t[i] = (int32_t)truth[i];
        p[i] = (int32_t)given[i];
        k = t[i] >= k ? t[i] + 1 : k;
        k = p[i] >= k ? p[i] + 1 : k;
    }
    const ferry_scored s = {.n = (int64_t)n,
                            .k = k,
                            .truth_cls = cls ? t : NULL,
                            .cls = cls ? p : NULL,
                            .truth = cls ? NULL : truth,
                            .value = cls ? NULL : given};
    assert_ok(ctx, ferry_i_pseudo_rows(ctx, m, &s, NULL, golden_real(o, "value"), row));
    for (size_t i = 0; i < n; i++)
        same(what, "pseudo", row[i], json_array_get(want, i), 1e-9);
    free(truth);
    free(given);
    free(row);
    free(t);
    free(p);
}

static void all_cases(ferry_ctx *ctx, const json_t *root)
{
    const char *what = NULL;
    json_t *o = NULL;

    json_object_foreach((json_t *)root, what, o)
    {
        if (json_object_get(o, "D")) crossed_case(ctx, what, o);
        if (json_object_get(o, "draws")) max_t_case(ctx, what, o);
        if (json_object_get(o, "adjusted")) holm_case(what, o);
        if (json_object_get(o, "pseudo")) pseudo_case(ctx, what, o);
    }
}

static void test_golden(void **state)
{
    json_t *more = own_golden("crossed.json");

    assert_non_null(more);
    all_cases(*state, more);
    json_decref(more);
}

/* Those of the specification. */
static void test_golden_of_the_verdict(void **state)
{
    json_t *root = own_golden("verdict.json"), *o = NULL;
    size_t i = 0;

    assert_non_null(root);
    json_array_foreach(golden_at(root, "student"), i, o) student_case("student", o);
    json_array_foreach(golden_at(root, "crossed"), i, o) crossed_case(*state, "crossed", o);
    json_array_foreach(golden_at(root, "linear_share"), i, o) share_case("phi", o);
    json_array_foreach(golden_at(root, "worth"), i, o) worth_case("worth", o);
    json_array_foreach(golden_at(root, "word"), i, o) word_case("word", o);
    step_down_case(*state, golden_at(root, "step_down"));
    primary_case(*state, golden_at(root, "primary_cells"));
    json_decref(root);
}

/* ---- properties ---- */

/* Pseudo-values from counts are those of computing the metric again without each row. */
static void test_counts_equal_recomputing(void **state)
{
    static const char *const names[] = {"macro-f1", "balanced-accuracy", "nmi", "auc"};
    enum { N = 23, K = 4 };
    int32_t t[N], p[N], lt[N], lp[N];
    double f[N * K], lf[N * K];
    double row[N], full = 0, less = 0;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 1);
    for (int i = 0; i < N; i++) {
        t[i] = i == 0 ? 3 : (int32_t)ferry_i_rng_below(&rng, 3); /* a class met once */
        p[i] =
            (int32_t)ferry_i_rng_below(&rng, K + 1) - (i % 5 == 0); /* some of no class */
    }
    for (int i = 0; i < N * K; i++) /* with ties */
        f[i] = (double)ferry_i_rng_below(&rng, 6) / 6;
    for (int m = 0; m < 4; m++) {
        const ferry_metric *metric = ferry_i_metric_find(names[m]);
        ferry_scored s = {.n = N, .k = K, .truth_cls = t, .cls = p, .score = f};
        double raw[N], mean = 0;
        assert_ok(*state, metric->compute(*state, &s, &full));
        assert_ok(*state, ferry_i_pseudo_rows(*state, metric, &s, NULL, full, row));
        for (int i = 0; i < N; i++) {
            int n = 0;
            for (int j = 0; j < N; j++)
                if (j != i) {
                    memcpy(lf + n * K, f + j * K, K * sizeof *f);
                    lt[n] = t[j];
                    lp[n++] = p[j];
                }
            const ferry_scored one = {
                .n = n, .k = K, .truth_cls = lt, .cls = lp, .score = lf};
            assert_ok(*state, metric->compute(*state, &one, &less));
            raw[i] = N * full - (N - 1) * less;
            mean += raw[i] / N;
        }
        for (int i = 0; i < N; i++)
            assert_close(row[i], raw[i] - mean + full, 1e-10);
        assert_close(ferry_i_mean(N, row), full, 1e-12);
    }
}

/* Ten copies of a repeat tell no more than one; a repeat in which nothing is defined counts not. */
static void test_copies_and_gaps(void **state)
{
    enum { R = 10, N = 12 };
    static double d[R * N], one[2 * N];
    ferry_crossed a, b;

    for (int i = 0; i < R * N; i++)
        d[i] = i % N % 3 == 0 ? 1 : i % N % 4 == 0 ? -1 : 0;
    for (int i = 0; i < N; i++) {
        one[i] = d[i];
        one[N + i] = NAN;
    }
    const ferry_differences many = {.repeats = R, .n = N, .diff = d, .fixed = true},
                            single = {.repeats = 2, .n = N, .diff = one, .fixed = true};
    assert_ok(*state, ferry_i_crossed(*state, &many, &a));
    assert_ok(*state, ferry_i_crossed(*state, &single, &b));
    assert_int_equal(b.repeats, 1);
    assert_close(a.se, b.se, 1e-12);
    assert_close(a.df, b.df, 1e-9);
    assert_close(a.p_better, b.p_better, 1e-12);
}

/* One instance, or no instance at all, can show nothing. */
static void test_too_little(void **state)
{
    static const double one[] = {1, 1, 1}, none[] = {NAN, NAN};
    ferry_crossed c;

    assert_ok(*state,
              ferry_i_crossed(*state,
                              &(ferry_differences){.repeats = 3, .n = 1, .diff = one}, &c));
    assert_close(c.p_better, 1, 0);
    assert_true(isinf(c.low) && isinf(c.high));
    assert_ok(*state,
              ferry_i_crossed(
                  *state, &(ferry_differences){.repeats = 2, .n = 1, .diff = none}, &c));
    assert_int_equal(c.n, 0);
    assert_close(c.p_worse, 1, 0);
}

/* Two equal learners on a pool that was drawn once: what the t-test over repeats rejects in a third
 * of the cases, this rejects in about one of twenty. Rows are easy or hard (their effect), labels
 * are lucky or not (the repeat's), all of it chance. */
static void test_size(void **state)
{
    enum { R = 10, N = 60, SEEN = 20, WORLDS = 400 };
    static double d[R * N];
    static uint8_t seen[R * N];
    ferry_rng rng;
    ferry_crossed c;
    int wrong = 0, naive = 0;

    ferry_i_rng_seed(&rng, 11, 1);
    for (int w = 0; w < WORLDS; w++) {
        double row[N], mean[R];
        for (int i = 0; i < N; i++)
            row[i] = 0.5 * ferry_i_rng_normal(&rng);
        for (int r = 0; r < R; r++) {
            const double luck = 0.02 * ferry_i_rng_normal(&rng);
            double sum = 0;
            for (int i = 0; i < N; i++) {
                d[r * N + i] = ferry_i_rng_below(&rng, N) < SEEN
                                   ? NAN
                                   : row[i] + luck + 0.2 * ferry_i_rng_normal(&rng);
                seen[r * N + i] = (uint8_t)(isnan(d[r * N + i]) ? 1 : 0);
                sum += isnan(d[r * N + i]) ? 0 : d[r * N + i] / (N - SEEN);
            }
            mean[r] = sum;
        }
        assert_ok(*state,
                  ferry_i_crossed(
                      *state,
                      &(ferry_differences){.repeats = R, .n = N, .diff = d, .seen = seen},
                      &c));
        wrong += c.p_better < 0.025 || c.p_worse < 0.025;
        naive += ferry_i_student_p(ferry_i_mean(R, mean) * sqrt(R) / ferry_i_std(R, mean),
                                   R - 1) < 0.05;
    }
    assert_in_range(wrong, 1, 32); /* 20 expected; 32 is 2.7 deviations more */
    assert_true(naive > 120);
}

/* Rows that teach as badly as they are hard to tell: what the visible ones do and what the hidden ones score go
 * together in new data. d = mean(visible) + mean(hidden) of one value a row; the true mean is 0. */
static void test_teachers_are_questions(void **state)
{
    enum { R = 10, N = 60, SEEN = 12, WORLDS = 400 };
    static double d[R * N];
    static uint8_t seen[R * N];
    int64_t at[N];
    ferry_rng rng;
    ferry_crossed c;
    int wrong = 0;

    ferry_i_rng_seed(&rng, 13, 4);
    for (int w = 0; w < WORLDS; w++) {
        double row[N];
        for (int i = 0; i < N; i++) {
            row[i] = 0.3 * ferry_i_rng_normal(&rng);
            at[i] = i;
        }
        for (int r = 0; r < R; r++) {
            double taught = 0;
            ferry_i_rng_shuffle(&rng, N, at);
            for (int j = 0; j < SEEN; j++)
                taught += row[at[j]] / SEEN;
            for (int j = 0; j < N; j++) {
                seen[r * N + at[j]] = (uint8_t)(j < SEEN);
                d[r * N + at[j]] =
                    j < SEEN ? NAN : row[at[j]] + taught + 0.3 * ferry_i_rng_normal(&rng);
            }
        }
        const ferry_differences in = {.repeats = R, .n = N, .diff = d, .seen = seen};
        assert_ok(*state, ferry_i_crossed(*state, &in, &c));
        assert_true(c.c >= 0 && c.sl2 >= 0 && c.k > 0);
        assert_close(c.v, c.va + c.vb / N, 1e-12);
        /* all that the repeats told is as uncertain as they are few */
        assert_close(c.df, pow(c.v, 2) / (c.va * c.va / (R - 1) + c.vr * c.vr / (N - 1)),
                     1e-9 * c.df);
        wrong += c.p_better < 0.025 || c.p_worse < 0.025;
    }
    assert_in_range(wrong, 4, 32); /* 20 expected */
}

/* A stream's differences vary by the order of each repeat above all: one true standard error is 1 / sqrt(R N), and
 * the interval may be neither without misses nor one that misses often. */
static void test_orders(void **state)
{
    enum { R = 10, N = 60, TIMES = 400 };
    double d[R * N];
    int wrong[2] = {0, 0};
    ferry_crossed c;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 11, 3);
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < R * N; i++)
            d[i] = (double)ferry_i_rng_below(&rng, 3) - 1;
        for (int ordered = 0; ordered < 2; ordered++) {
            assert_ok(
                *state,
                ferry_i_crossed(
                    *state,
                    &(ferry_differences){
                        .repeats = R, .n = N, .diff = d, .fixed = true, .ordered = ordered},
                    &c));
            wrong[ordered] += c.p_better < 0.025 || c.p_worse < 0.025;
        }
    }
    assert_in_range(wrong[1], 6, 32); /* 20 expected */
    assert_true(wrong[0] < 6);        /* what it was: the rest counted twice */
}

/* One value of a null law: what a world gives a method whose source tells nothing. */
static double draw_law(ferry_rng *rng, int law)
{
    const double u = ferry_i_rng_real(rng), x = ferry_i_rng_normal(rng);

    switch (law) {
    case 0: return x;
    case 1: return tan(3.1 * (u - 0.5));    /* heavy tails */
    case 2: return -log(1 - u);             /* skewed */
    case 3: return log(1 - u);              /* ... to the other side */
    case 4: return floor(4 * u);            /* ties */
    case 5: return u < 0.9 ? 0 : 1;         /* almost always the same */
    case 6: return u < 0.5 ? x - 4 : x + 4; /* two humps */
    case 7: return u;
    case 8: return x * x * x;
    case 9: return u < 0.05 ? 50 : x;              /* an outlier now and then */
    default: return floor(20 * u) / 20 + 1e-3 * x; /* accuracies of twenty rows */
    }
}

/* Question 2 over 1, 2 and 8 methods whose source is one more draw: some method passes in at most one of twenty
 * families, on each side, whatever the law and however much the methods have in common. */
static void test_families_of_null_laws(void **state)
{
    enum { LAWS = 11, DRAWS = 19, TIMES = 400, MOST = 8 };
    static const int sizes[] = {1, 2, 8};
    double x[(DRAWS + 1) * MOST], p[MOST];
    int all = 0;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 15, 2);
    for (int law = 0; law < LAWS; law++)
        for (int s = 0; s < 3; s++) {
            int passed[2] = {0, 0};
            for (int t = 0; t < TIMES; t++) {
                const int m = sizes[s];
                for (int k = 0; k <= DRAWS; k++) {
                    const double common = t % 2 ? draw_law(&rng, law) : 0;
                    for (int i = 0; i < m; i++)
                        x[k * m + i] = common + draw_law(&rng, law) * (i + 1);
                }
                for (int side = 0; side < 2; side++) {
                    bool any = false;
                    assert_ok(*state,
                              ferry_i_max_t(*state, m, DRAWS, x, x + m, side ? -1 : 1, p));
                    for (int i = 0; i < m; i++)
                        any = any || p[i] <= 0.05;
                    passed[side] += any;
                }
            }
            /* 20 expected at most; 37 is 4 deviations more */
            assert_true(passed[0] <= 37 && passed[1] <= 37);
            all += passed[0] + passed[1];
        }
    /* together at most one of twenty, and no dead test: most laws have no ties */
    assert_in_range(all, LAWS * 3 * 2 * TIMES / 40, LAWS * 3 * 2 * TIMES * 55 / 1000);
}

enum { LEARNERS = 10, BASES = 6, ROWS = 80, TIMES_DRAWN = 10, GIVEN = 12 };

/* Ten learners of the same worth on one pool; right[l][r * ROWS + i] is NaN where i was visible. */
static void draw_learners(ferry_rng *rng, double right[LEARNERS][TIMES_DRAWN * ROWS])
{
    double easy[ROWS];
    int64_t at[ROWS];

    for (int i = 0; i < ROWS; i++) {
        easy[i] = 0.5 + 0.3 * ferry_i_rng_normal(rng);
        at[i] = i;
    }
    for (int l = 0; l < LEARNERS; l++)
        for (int i = 0; i < ROWS;
             i++) { /* a row's own for a learner, kept by all repeats */
            const double own = easy[i] + 0.3 * ferry_i_rng_normal(rng);
            for (int r = 0; r < TIMES_DRAWN; r++)
                right[l][r * ROWS + i] = own;
        }
    for (int r = 0; r < TIMES_DRAWN; r++) {
        ferry_i_rng_shuffle(rng, ROWS, at);
        for (int l = 0; l < LEARNERS; l++) {
            double luck = 0; /* what these visible labels do for this learner */
            for (int j = 0; j < GIVEN; j++)
                luck += 0.3 * sin(1.7 * (double)at[j] * (l + 1)) / GIVEN;
            for (int i = 0; i < ROWS; i++) {
                double *x = &right[l][r * ROWS + i];
                *x = ferry_i_rng_real(rng) < *x + luck ? 1 : 0;
            }
            for (int j = 0; j < GIVEN; j++)
                right[l][r * ROWS + at[j]] = NAN;
        }
    }
}

static double mean_right(const double *x)
{
    double sum = 0, n = 0;

    for (int i = 0; i < TIMES_DRAWN * ROWS; i++)
        if (!isnan(x[i])) {
            sum += x[i];
            n++;
        }
    return sum / n;
}

/* Question 1 over 4 methods against the best of 6 baselines, all of one worth: as verdict.c corrects, some method is
 * called worse, or better, in at most one of twenty pools. Uncorrected it would be called worse far more often. */
static void test_family_of_baselines(void **state)
{
    enum { POOLS = 200 };
    static double right[LEARNERS][TIMES_DRAWN * ROWS], d[TIMES_DRAWN * ROWS];
    static uint8_t seen[TIMES_DRAWN * ROWS];
    int better = 0, worse = 0, bare = 0;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 21, 4);
    for (int t = 0; t < POOLS; t++) {
        double up[LEARNERS - BASES], down[LEARNERS - BASES];
        int best = 0;
        bool any[3] = {false, false, false};
        draw_learners(&rng, right);
        for (int l = 1; l < BASES; l++)
            if (mean_right(right[l]) > mean_right(right[best])) best = l;
        for (int m = 0; m < LEARNERS - BASES; m++) {
            ferry_crossed c;
            for (int i = 0; i < TIMES_DRAWN * ROWS; i++) {
                d[i] = right[BASES + m][i] - right[best][i];
                seen[i] = (uint8_t)(isnan(d[i]) ? 1 : 0);
            }
            const ferry_differences in = {
                .repeats = TIMES_DRAWN, .n = ROWS, .diff = d, .seen = seen};
            assert_ok(*state, ferry_i_crossed(*state, &in, &c));
            up[m] = c.p_better;
            down[m] = fmin(1, BASES * c.p_worse);
            any[2] = any[2] || c.p_worse < 0.05;
        }
        ferry_i_holm(LEARNERS - BASES, up);
        ferry_i_holm(LEARNERS - BASES, down);
        for (int m = 0; m < LEARNERS - BASES; m++) {
            any[0] = any[0] || up[m] < 0.05;
            any[1] = any[1] || down[m] < 0.05;
        }
        better += any[0];
        worse += any[1];
        bare += any[2];
    }
    print_message("of %d pools: better %d, worse %d (uncorrected %d)\n", POOLS, better,
                  worse, bare);
    assert_true(better <= 10 && worse <= 19 && bare > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_tests_go_together, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_what_correcting_costs, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_of_the_verdict, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_counts_equal_recomputing, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_copies_and_gaps, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_too_little, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_size, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_teachers_are_questions, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_orders, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_families_of_null_laws, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_family_of_baselines, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("crossed", tests, NULL, NULL);
}
