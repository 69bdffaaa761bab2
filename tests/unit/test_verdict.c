/* The verdict: no method is said to help because of chance, and one that does is found. */
#include <stdio.h>

#include "ferry_test.h"
#include "methods/method.h"
#include "run/run.h"
#include "small_task.h"

/* ---- a method whose luck depends on the source ---- */

/* Right with a share that is drawn for each source: `level` on average, give or take
 * `spread`; `true_level` when the source has the mark of the real one (its first cell).
 * The draw is the same in every repeat: a lucky source stays lucky. */
typedef struct luck_options {
    double level, spread, true_level, blind;
} luck_options;

static const ferry_opt luck_opts[] = {
    FERRY_OPT(luck_options, REAL, level, 0.75, 0, 1, "share right"),
    FERRY_OPT(luck_options, REAL, spread, 0.05, 0, 1, "how sources differ"),
    FERRY_OPT(luck_options, REAL, true_level, 0, 0, 1, "share right with the real source"),
    FERRY_OPT(luck_options, REAL, blind, 0, 0, 1, "1: sees rows and bridges, no labels"),
};

typedef struct luck {
    double share;
    uint64_t seed;
} luck;

enum { N = 120, D = 3, MARK = 1000 };

/* Rises with the place in the source of both its rows and its labels. */
static uint64_t print_of(const ferry_domain *d, bool blind)
{
    uint64_t h = ferry_i_domain_hash(d);

    for (int64_t i = 0; !blind && d->labels && i < d->labels->n; i++)
        h = h * 31 + (uint64_t)(d->labels->cls[i] + 2);
    return h;
}

static ferry_status luck_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_fit_info *rep)
{
    const luck_options *o = options;
    const ferry_domain *s = NULL;
    luck *l = ferry_i_calloc(1, sizeof *l);
    uint64_t h = 0;
    bool real = true;
    ferry_rng rng;

    (void)rep;
    *state = l;
    if (!l) return ferry_i_nomem(ctx);
    for (int64_t i = 0; (s = ferry_i_task_role(task, FERRY_SOURCE, i)); i++) {
        h = h * 1000003 + print_of(s, o->blind > 0);
        /* the mark is in the first row */
        real = real && s->n_views > 0 && s->views[0]->x->dense &&
               s->views[0]->x->dense[0] == MARK;
        for (int64_t k = 0; real && o->blind == 0 && k < 20;
             k++) /* its labels take turns */
            real = s->labels->cls[k] == k % 2;
    }
    if (o->blind > 0 && (s = ferry_i_task_role(task, FERRY_INTERMEDIATE, 0))) {
        h = h * 1000003 + print_of(s, true);
        real = real && s->views[0]->x->dense[0] == MARK;
    }
    ferry_i_rng_seed(&rng, h, 7);
    l->share = o->level + o->spread * ferry_i_rng_normal(&rng);
    if (real && o->true_level > 0) l->share = o->true_level;
    l->seed = h + ctx->repeat * 977;
    return FERRY_OK;
}

static ferry_status luck_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                 ferry_prediction *p)
{
    const luck *l = state;
    ferry_rng rng;

    (void)ctx;
    ferry_i_rng_seed(&rng, l->seed, 8);
    for (int64_t i = 0; i < p->n; i++) {
        const int truth = d->views[0]->x->dense[i * D] > 0;
        p->cls[i] = ferry_i_rng_real(&rng) < l->share ? truth : !truth;
    }
    return FERRY_OK;
}

static void luck_free(void *state)
{
    ferry_i_free(state);
}

static const ferry_method luck_method = {
    .name = "luck",
    .summary = "for tests",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE,
    .options = luck_opts,
    .n_options = FERRY_COUNT(luck_opts),
    .options_size = sizeof(luck_options),
    .fit = luck_fit,
    .predict = luck_predict,
    .free = luck_free,
};

/* n x D normals; labels by the sign of the first column when `telling`, else by turns. */
static ferry_domain *noise(ferry_ctx *ctx, const char *name, ferry_role role, uint64_t seed,
                           int64_t n, bool telling)
{
    double *x = calloc((size_t)(n * D), sizeof *x);
    const char **y = calloc((size_t)n, sizeof *y);
    ferry_domain *d = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, seed, (uint64_t)role + 11);
    for (int64_t i = 0; i < n * D; i++)
        x[i] = ferry_i_rng_normal(&rng);
    if (role != FERRY_TARGET) x[0] = MARK;
    for (int64_t i = 0; i < n; i++)
        y[i] = telling ? (x[i * D] > 0 ? "b" : "a") : i % 2 ? "b" : "a";
    d = small_domain(ctx, name, role, n, D, x);
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, n, NULL, y));
    free(x);
    free(y);
    return d;
}

static ferry_task *noise_task(ferry_ctx *ctx, uint64_t seed, const char *repeats,
                              const char *controls, int sources)
{
    static const char *const names[] = {"s1", "s2", "s3"};
    ferry_domain *target = noise(ctx, "here", FERRY_TARGET, seed, N, true);
    ferry_opts *opts = opts_of(ctx, repeats, controls, NULL);
    ferry_task *task = NULL;

    assert_ok(ctx, ferry_domain_set_labelled(ctx, target, "per_class:3"));
    assert_ok(ctx, ferry_task_new(ctx, "noise", FERRY_CLASSIFY, &task));
    for (int i = 0; i < sources; i++)
        assert_ok(ctx, ferry_task_add_domain(ctx, task,
                                             noise(ctx, names[i], FERRY_SOURCE,
                                                   seed + 1000 * (uint64_t)i, 40, false)));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, target));
    assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts));
    ferry_opts_free(opts);
    return task;
}

static void add(ferry_ctx *ctx, ferry_task *task, const char *method, const char *as,
                const char *settings)
{
    ferry_opts *opts = settings_of(ctx, settings);

    assert_ok(ctx, ferry_task_add_method(ctx, task, method, as, opts));
    ferry_opts_free(opts);
}

static ferry_results *run(ferry_ctx *ctx, const ferry_task *task)
{
    ferry_results *rs = NULL;

    assert_ok(ctx, ferry_i_evaluate(ctx, task, &luck_method, &rs));
    return rs;
}

static const ferry_entry *named(const ferry_results *rs, const char *name)
{
    for (int64_t i = 0; i < rs->n; i++)
        if (strcmp(rs->result[i].pub.name, name) == 0) return &rs->result[i];
    fail_msg("no result %s", name);
    return NULL;
}

static void assert_sentence(const ferry_results *rs, const char *name, const char *text)
{
    char *s = ferry_i_verdict_sentence(rs, named(rs, name));

    assert_non_null(s);
    if (!strstr(s, text)) fail_msg("expected '%s' in: %s", text, s);
    ferry_i_free(s);
}

static bool helps(const ferry_results *rs, const char *name)
{
    const ferry_verdict v = named(rs, name)->pub.verdict;

    return v == FERRY_HELPS || v == FERRY_BEST;
}

/* ---- one hundred sources of noise ---- */

/* Sources that differ a lot, each always better than the baseline: only the controls can
 * tell that the lucky ones are luck. And HeMap as it is. */
static void test_noise_is_not_said_to_help(void **state)
{
    ferry_ctx *ctx = *state;
    int luck_helps = 0, hemap_helps = 0, better = 0, harms = 0;

    for (uint64_t trial = 0; trial < 100; trial++) {
        ferry_task *task = noise_task(ctx, 100 + trial, "repeats=10", "controls=quick", 1);
        ferry_results *rs = NULL;
        ctx->seed = trial + 1;
        add(ctx, task, "majority", NULL, NULL);
        add(ctx, task, "luck", NULL, NULL);
        add(ctx, task, "hemap", NULL, NULL);
        rs = run(ctx, task);
        assert_null(named(rs, "hemap")->pub.reason);
        better += named(rs, "luck")->better;
        luck_helps += helps(rs, "luck");
        hemap_helps += helps(rs, "hemap");
        harms += named(rs, "luck")->pub.verdict == FERRY_HARMS ||
                 named(rs, "hemap")->pub.verdict == FERRY_HARMS;
        ferry_results_free(rs);
        ferry_task_free(task);
    }
    print_message("of 100: luck beats the baseline %d times, judged to help %d; hemap %d; "
                  "to harm %d\n",
                  better, luck_helps, hemap_helps, harms);
    assert_true(better > 95);                    /* so that the controls alone decide */
    assert_true(luck_helps + hemap_helps <= 10); /* 5 expected of the family, 10: 1 % */
    assert_true(harms <= 10);
}

/* ---- the demo ---- */

/* Carries labels over the bridge: the ten bridge instances nearest in space B, their mean
 * place in space A, the nearest class mean of the source there. */
typedef struct carried {
    ferry_task *task;
} carried;

static ferry_status carried_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **state, ferry_fit_info *rep)
{
    carried *c = ferry_i_calloc(1, sizeof *c);

    (void)options;
    (void)rep;
    *state = c;
    return c ? ferry_i_task_resolved(ctx, task, &c->task) : ferry_i_nomem(ctx);
}

static void carried_free(void *state)
{
    if (state) ferry_task_free(((carried *)state)->task);
    ferry_i_free(state);
}

static double distance(int64_t n, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static ferry_status carried_predict(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    enum { NEAR = 10 };
    const ferry_task *t = ((const carried *)state)->task;
    const ferry_domain *source = ferry_i_task_role(t, FERRY_SOURCE, 0);
    const ferry_domain *bridge = ferry_i_task_role(t, FERRY_INTERMEDIATE, 0);
    const ferry_matrix *s = source->views[0]->x, *a = bridge->views[0]->x;
    const ferry_matrix *b = bridge->views[1]->x, *x = d->views[0]->x;
    double *mean = calloc((size_t)(p->k * s->cols), sizeof *mean);
    double *place = calloc((size_t)s->cols, sizeof *place);
    double *count = calloc((size_t)p->k, sizeof *count);

    (void)ctx;
    for (int64_t i = 0; i < s->rows; i++) {
        const int32_t c = source->labels->cls[i];
        count[c]++;
        for (int64_t j = 0; j < s->cols; j++)
            mean[c * s->cols + j] += s->dense[i * s->cols + j];
    }
    for (int64_t i = 0; i < p->k * s->cols; i++)
        mean[i] /= count[i / s->cols];
    for (int64_t i = 0; i < p->n; i++) {
        double least[NEAR], best = INFINITY;
        int64_t at[NEAR], n = 0;
        for (int64_t r = 0; r < b->rows; r++) {
            const double far =
                distance(b->cols, x->dense + i * x->cols, b->dense + r * b->cols);
            int64_t k = n < NEAR ? n++ : NEAR - 1;
            if (k == NEAR - 1 && n == NEAR && r >= NEAR && far >= least[k]) continue;
            for (; k > 0 && least[k - 1] > far; k--) {
                least[k] = least[k - 1];
                at[k] = at[k - 1];
            }
            least[k] = far;
            at[k] = r;
        }
        memset(place, 0, (size_t)s->cols * sizeof *place);
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < s->cols; j++)
                place[j] += a->dense[at[k] * a->cols + j] / (double)n;
        for (int32_t c = 0; c < p->k; c++) {
            const double far = distance(s->cols, place, mean + c * s->cols);
            if (far < best) p->cls[i] = c;
            best = fmin(best, far);
        }
    }
    free(count);
    free(place);
    free(mean);
    return FERRY_OK;
}

static const ferry_method carried_method = {
    .name = "carried",
    .summary = "for tests",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_INTERMEDIATE,
    .fit = carried_fit,
    .predict = carried_predict,
    .free = carried_free,
};

static void test_demo(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_opts *sets = opts_of(ctx, "evaluate.controls=full", NULL);
    ferry_task *task = NULL;
    ferry_results *rs = NULL;

    assert_ok(ctx, ferry_generate(ctx, "bridge", NULL, tmp_path("demo")));
    assert_ok(ctx, ferry_task_load(ctx, tmp_path("demo/task.yaml"), sets, &task));
    add(ctx, task, "logreg", NULL, NULL);
    add(ctx, task, "svm", NULL, NULL);
    add(ctx, task, "hemap", NULL, NULL);
    add(ctx, task, "carried", NULL, NULL);
    assert_ok(ctx, ferry_i_evaluate(ctx, task, &carried_method, &rs));
    const ferry_entry *c = named(rs, "carried");
    assert_sentence(rs, "carried", "carried: best: +");
    assert_int_equal(c->pub.verdict, FERRY_BEST);
    assert_int_equal(c->n_trials, 3); /* labels, noise, bridge */
    for (int64_t i = 0; i < 3; i++)
        assert_true(c->trial[i].pub.mean < 0.55); /* of three classes */
    assert_true(c->trial[0].pub.primary);
    assert_int_equal(c->trial[0].done, 39);
    assert_true(c->pub.p_high <= 0.05 && c->pub.bound > 0);
    assert_sentence(rs, "carried",
                    " against what your labels choose without the source, and +");
    assert_sentence(
        rs, "carried",
        " against logreg, the best without transfer in hindsight; against shuffled sources +");
    assert_true(c->pub.source_worth_low > 0 && c->pub.over_best_low > 0);
    assert_sentence(rs, "carried", "of 49 shuffled sources does as well");
    assert_true(!helps(rs, "hemap"));
    assert_true(named(rs, "hemap")->pub.verdict != FERRY_HARMS);
    assert_int_equal(named(rs, "svm")->pub.verdict, FERRY_UNJUDGED);
    ferry_results_free(rs);
    ferry_task_free(task);
    ferry_opts_free(sets);
}

/* ---- the other verdicts and their sentences ---- */

static void test_words(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noise_task(ctx, 5, "repeats=10", "controls=quick", 1);
    ferry_results *rs = NULL;
    char *table = NULL, *json = NULL;

    add(ctx, task, "majority", NULL, NULL);
    add(ctx, task, "luck", "good", "level=0.6 spread=0.01 true_level=0.9");
    add(ctx, task, "luck", "dud", "level=0.8 spread=0.01");
    add(ctx, task, "luck", "bad", "level=0.2 spread=0.01");
    add(ctx, task, "luck", "cursed", "level=0.4 spread=0.01 true_level=0.1");
    add(ctx, task, "luck", "even", "level=0.5 spread=0.001");
    rs = run(ctx, task);
    assert_int_equal(named(rs, "good")->pub.verdict, FERRY_BEST);
    assert_sentence(rs, "good", "good: best: +");
    assert_sentence(rs, "good", " points (");
    assert_sentence(rs, "good", "): none of 24 shuffled sources does as well.");
    assert_int_equal(named(rs, "good")->trial[0].done, 19);
    assert_int_equal(named(rs, "good")->trial[1].done, 5);
    assert_int_equal(named(rs, "dud")->pub.verdict, FERRY_GOOD_LEARNER);
    assert_int_equal(named(rs, "dud")->trial[0].done,
                     19); /* no candidate, yet in the family */
    assert_int_equal(named(rs, "dud")->trial[1].done, 2);
    assert_sentence(rs, "dud", "dud: good learner: +");
    assert_sentence(rs, "dud", ", but not by the source: ");
    assert_int_equal(named(rs, "bad")->pub.verdict, FERRY_WEAK_LEARNER);
    assert_sentence(rs, "bad", "bad: weak learner: -");
    assert_sentence(rs, "bad", " without the source, whatever the source: ");
    assert_int_equal(named(rs, "cursed")->pub.verdict, FERRY_HARMS);
    assert_sentence(rs, "cursed",
                    " without the source, and worse than with any of 21 shuffled sources.");
    ferry_result *cursed = (ferry_result *)&named(rs, "cursed")->pub;
    cursed->as_bad = 1; /* as when a draw of another control is as bad */
    assert_sentence(rs, "cursed", ", and worse than with 20 of 21 shuffled sources.");
    cursed->as_bad = 0;
    assert_int_equal(named(rs, "even")->pub.verdict, FERRY_OPEN);
    assert_sentence(rs, "even", "; no difference larger than ");
    assert_true(named(rs, "even")->pub.most > fabs(named(rs, "even")->pub.gain));
    assert_ok(ctx, ferry_results_explain(ctx, rs, NULL, &table));
    assert_non_null(strstr(table, "verdict:\n- good: best: +"));
    assert_ok(ctx, ferry_results_table(ctx, rs, "json", &json));
    assert_non_null(strstr(json, "\"control\": \"noise-source\""));
    assert_non_null(strstr(json, "\"controls\": \"quick\""));
    ferry_string_free(json);
    ferry_string_free(table);
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* Labels that are the same in every repeat: ten copies of one repeat say no more than one, and that
 * it holds for these labels. */
static void test_fixed_split(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_result got[2];

    for (int i = 0; i < 2; i++) {
        ferry_task *task =
            noise_task(ctx, 5, i ? "repeats=10" : "repeats=1", "controls=none", 1);
        ferry_domain *target = (ferry_domain *)ferry_i_task_role(task, FERRY_TARGET, 0);
        ferry_results *rs = NULL;
        assert_ok(ctx, ferry_domain_set_labelled(ctx, target, "none"));
        add(ctx, task, "luck", "same", "level=1 spread=0");
        add(ctx, task, "luck", "half", "level=0.5 spread=0");
        add(ctx, task, "majority", NULL, "train=source");
        rs = run(ctx, task);
        assert_sentence(rs, "same", ", with these labels");
        ((ferry_result *)&named(rs, "half")->pub)->verdict = FERRY_IGNORES_SOURCE;
        assert_sentence(rs, "half", ", with these labels; no difference larger than ");
        got[i] = named(rs, "same")->pub;
        assert_true(got[i].fixed);
        ferry_results_free(rs);
        ferry_task_free(task);
    }
    assert_close(got[0].se, got[1].se, 1e-12);
    assert_close(got[0].p, got[1].p, 1e-12);
}

static void test_no_controls(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noise_task(ctx, 5, "repeats=10", "controls=none", 1);
    ferry_results *rs = NULL;

    add(ctx, task, "majority", NULL, NULL);
    add(ctx, task, "luck", "good", "true_level=0.9");
    rs = run(ctx, task);
    assert_int_equal(rs->result[1].n_trials, 0);
    assert_int_equal(rs->result[1].pub.verdict, FERRY_SOURCE_OPEN);
    assert_sentence(rs, "good", "no control ran");
    ferry_results_free(rs);
    ferry_task_free(task);
    /* nothing to compare with: controls would tell nothing and are left out */
    task = noise_task(ctx, 5, "repeats=2", "controls=full", 1);
    add(ctx, task, "luck", "alone", NULL);
    rs = run(ctx, task);
    assert_int_equal(rs->result[0].n_trials, 0);
    assert_sentence(rs, "alone", "no method without transfer ran");
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* A method that takes nothing from the source cannot be helped by it. */
static void test_untouched(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noise_task(ctx, 9, "repeats=10", "controls=quick", 1);
    ferry_results *rs = NULL;

    add(ctx, task, "majority", NULL, NULL);
    add(ctx, task, "luck", "sure", "level=1 spread=0");
    rs = run(ctx, task);
    assert_true(rs->result[1].trial[0].pub.same && rs->result[1].trial[1].pub.same);
    assert_int_equal(rs->result[1].pub.verdict, FERRY_IGNORES_SOURCE);
    assert_sentence(rs, "sure", "the source changes nothing; the learner itself has +");
    assert_sentence(rs, "sure", " against what your labels choose without the source");
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* The correction is over the methods that can be said to help or to harm: those that do not use
 * their source take no share of the level, once the controls have told. */
static void test_unused_take_no_level(void **state)
{
    ferry_ctx *ctx = *state;

    for (int told = 0; told < 2; told++) {
        ferry_task *task =
            noise_task(ctx, 9, "repeats=10", told ? "controls=quick" : "controls=none", 1);
        ferry_opts *opts = opts_of(ctx, "repeats=10", "answer=no",
                                   told ? "controls=quick" : "controls=none", NULL);
        ferry_results *rs = NULL;
        assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts)); /* no primary method */
        ferry_opts_free(opts);
        add(ctx, task, "majority", NULL, NULL);
        add(ctx, task, "luck", "one", "level=0 spread=0");
        add(ctx, task, "luck", "two", "level=0 spread=0");
        add(ctx, task, "luck", "real", "level=0.5 spread=0.02 true_level=0.7");
        rs = run(ctx, task);
        const ferry_entry *r = named(rs, "real"), *one = named(rs, "one");
        assert_int_equal(r->unused, false);
        assert_int_equal(one->unused, told);
        assert_true(r->pub.gain > 0 && r->pub.p > 1e-9 && r->pub.p < 0.3);
        if (told)
            assert_close(r->pub.p_holm, r->pub.p, 1e-12);
        else /* between the raw p and Holm's */
            assert_true(r->pub.p_holm > r->pub.p && r->pub.p_holm <= 3 * r->pub.p);
        assert_true(one->worse); /* for the last sentence, as one of all three */
        ferry_results_free(rs);
        ferry_task_free(task);
    }
}

/* One of 19 draws as good: not shown, and the sentence says that full's 39, which may have one, can
 * still tell. */
static void test_more_draws(void **state)
{
    ferry_ctx *ctx = *state;
    int met = 0;

    for (uint64_t seed = 1; seed <= 40 && met == 0; seed++) {
        ferry_task *task = noise_task(ctx, seed, "repeats=5", "controls=quick", 1);
        ferry_results *rs = NULL;
        add(ctx, task, "majority", NULL, NULL);
        add(ctx, task, "luck", "lucky", "level=0.7 spread=0.05 true_level=0.8");
        rs = run(ctx, task);
        const ferry_entry *r = named(rs, "lucky");
        if (r->better && r->beats_others && fabs(r->pub.p_high - 0.1) < 1e-9) {
            assert_int_equal(r->pub.verdict, FERRY_SOURCE_OPEN);
            assert_int_equal(r->pub.needed_draws, 20);
            assert_sentence(rs, "lucky",
                            "; 20 more draws (about 1 s) will tell: controls: full.");
            met++;
        } else if (r->trial[0].done == 19) /* settled, one way or the other */
            assert_int_equal(r->pub.needed_draws, 0);
        ferry_results_free(rs);
        ferry_task_free(task);
    }
    assert_int_equal(met, 1);
}

/* Without a source there is none to thank or to blame. */
static void test_no_source(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const controls[] = {"controls=quick", "controls=none"};

    for (int i = 0; i < 2; i++) {
        ferry_task *task = noise_task(ctx, 9, "repeats=10", controls[i], 0);
        ferry_results *rs = NULL;
        char *all = NULL;
        add(ctx, task, "majority", NULL, NULL);
        add(ctx, task, "hetomtl", NULL, NULL);
        rs = run(ctx, task);
        const ferry_entry *r = named(rs, "hetomtl");
        assert_int_equal(r->n_trials, 0);
        assert_int_equal(r->pub.verdict, FERRY_IGNORES_SOURCE);
        assert_sentence(rs, "hetomtl",
                        "ignores source: the task has no source; the learner itself has ");
        all = ferry_i_results_sentence(rs);
        assert_non_null(
            strstr(all, " against majority, the best without transfer in hindsight"));
        ferry_i_free(all);
        ferry_results_free(rs);
        ferry_task_free(task);
    }
}

/* One of 19 draws as bad is no 'whatever the source': the sentence counts it, and says that full's 39 can
 * tell. */
static void test_more_draws_of_a_worse_one(void **state)
{
    ferry_ctx *ctx = *state;
    int met = 0;

    for (uint64_t seed = 1; seed <= 60 && met == 0; seed++) {
        ferry_task *task = noise_task(ctx, seed, "repeats=5", "controls=quick", 1);
        ferry_results *rs = NULL;
        add(ctx, task, "majority", NULL, NULL);
        add(ctx, task, "luck", "luckless", "level=0.3 spread=0.05 true_level=0.2");
        rs = run(ctx, task);
        const ferry_entry *r = named(rs, "luckless");
        if (r->worse && r->pub.as_bad == 1 && fabs(r->pub.p_low - 0.1) < 1e-9) {
            assert_int_equal(r->pub.verdict, FERRY_WEAK_LEARNER);
            assert_int_equal(r->pub.needed_draws, 20);
            assert_sentence(rs, "luckless",
                            "; 1 of 21 shuffled sources does as badly; 20 more draws "
                            "(about 1 s) will tell: controls: full.");
            met++;
        }
        ferry_results_free(rs);
        ferry_task_free(task);
    }
    assert_int_equal(met, 1);
}

/* ---- what is thanked or blamed ---- */

enum { SOURCE = 1, BRIDGE = 2, GRAPH = 4 };

typedef struct seer_options {
    double level, spread, sees;
} seer_options;

static const ferry_opt seer_opts[] = {
    FERRY_OPT(seer_options, REAL, level, 0.9, 0, 1, "share right"),
    FERRY_OPT(seer_options, REAL, spread, 0.02, 0, 1, "how worlds differ"),
    FERRY_OPT(seer_options, REAL, sees, 7, 0, 7, "rows of sources, of bridges, graphs"),
};

/* Its luck changes with what it sees, and with nothing else. */
static ferry_status seer_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                             void **state, ferry_fit_info *rep)
{
    const seer_options *o = options;
    luck *l = ferry_i_calloc(1, sizeof *l);
    uint64_t h = 0;
    ferry_rng rng;

    (void)rep;
    *state = l;
    if (!l) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        const int what = d->role == FERRY_SOURCE         ? SOURCE
                         : d->role == FERRY_INTERMEDIATE ? BRIDGE
                                                         : GRAPH;
        if ((int)o->sees & what) h = h * 1000003 + ferry_i_domain_hash(d);
    }
    ferry_i_rng_seed(&rng, h, 7);
    l->share = o->level + o->spread * ferry_i_rng_normal(&rng);
    l->seed = h + ctx->repeat * 977;
    return FERRY_OK;
}

static const ferry_method seer_method = {
    .name = "seer",
    .summary = "for tests",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .options = seer_opts,
    .n_options = FERRY_COUNT(seer_opts),
    .options_size = sizeof(seer_options),
    .fit = seer_fit,
    .predict = luck_predict,
    .free = luck_free,
};

static ferry_task *task_with(ferry_ctx *ctx, int has, const char *controls)
{
    ferry_task *task = noise_task(ctx, 5, "repeats=10", controls, has & SOURCE ? 1 : 0);
    ferry_domain *target = (ferry_domain *)ferry_i_task_role(task, FERRY_TARGET, 0);
    const char *from[N], *to[N];

    if (has & BRIDGE)
        assert_ok(ctx, ferry_task_add_domain(
                           ctx, task, noise(ctx, "way", FERRY_INTERMEDIATE, 3, 40, false)));
    for (int64_t i = 0; i < N; i++) {
        from[i] = ferry_i_domain_id_at(target, i);
        to[i] = ferry_i_domain_id_at(target, (i + 1) % N);
    }
    if (has & GRAPH)
        assert_ok(ctx, ferry_domain_add_graph(ctx, target, "ring", N, from, to, NULL));
    return task;
}

/* A sentence of a method with one of these words, and none of the others. */
static void assert_names(const ferry_results *rs, const char *name, const char *word)
{
    static const char *const words[] = {"shuffled source", "shuffled bridge",
                                        "rewired graph", "made-up bridge"};
    char *s = ferry_i_verdict_sentence(rs, named(rs, name));

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(s, words[i]) != (strcmp(words[i], word) != 0))
            fail_msg("expected '%s' alone in: %s", word, s);
    ferry_i_free(s);
}

/* Every combination of source, bridge and graph that a task may have and a method may see: its sentence
 * names what its draws made up, and where nothing changes what the task has. */
static void test_names_what_there_is(void **state)
{
    static const char *const fakes[] = {NULL,
                                        "shuffled source",
                                        "shuffled bridge",
                                        "shuffled source",
                                        "rewired graph",
                                        "shuffled source",
                                        "made-up bridge",
                                        "shuffled source"};
    static const char *const none[] = {
        "ignores source: the task has no source; ",
        "ignores source: the source changes nothing; ",
        "ignores source: the task has no source, and the bridge changes nothing; ",
        NULL,
        "ignores source: the task has no source, and the graph changes nothing; ",
        NULL,
        "ignores source: the task has no source, and neither bridge nor graph changes anything; "};
    static const char *const real[] = {NULL,    "source", "bridge",         NULL,
                                       "graph", NULL,     "bridge or graph"};
    ferry_ctx *ctx = *state;

    for (int has = 0; has < 8; has++) {
        const int by = has & SOURCE ? SOURCE : has; /* what is named first */
        for (int sees = 0; sees <= has; sees++) {
            if ((sees & has) != sees) continue;
            ferry_task *task = task_with(ctx, has, "controls=quick");
            ferry_results *rs = NULL;
            char good[60], bad[60], text[80];
            (void)snprintf(good, sizeof good, "level=0.9 sees=%d", sees);
            (void)snprintf(bad, sizeof bad, "level=0.1 sees=%d", sees);
            add(ctx, task, "majority", NULL, NULL);
            add(ctx, task, "seer", "good", good);
            add(ctx, task, "seer", "bad", bad);
            assert_ok(ctx, ferry_i_evaluate(ctx, task, &seer_method, &rs));
            for (int i = 0; i < 2; i++) {
                const char *name = i ? "bad" : "good";
                if (sees == 0)
                    assert_sentence(rs, name, none[by]);
                else if (named(rs, name)->pub.verdict != FERRY_WEAK_LEARNER ||
                         named(rs, name)->pub.as_bad > 0)
                    assert_names(rs, name, fakes[sees]);
            }
            ferry_results_free(rs);
            ferry_task_free(task);
            if (has == 0 || sees != has) continue;
            task = task_with(ctx, has, "controls=none");
            add(ctx, task, "majority", NULL, NULL);
            add(ctx, task, "seer", "good", NULL);
            assert_ok(ctx, ferry_i_evaluate(ctx, task, &seer_method, &rs));
            (void)snprintf(text, sizeof text, "so whether it is the %s is not known.",
                           real[by]);
            assert_sentence(rs, "good", text);
            ferry_results_free(rs);
            ferry_task_free(task);
        }
    }
}

/* 24 fits at most: what went to a control that changes nothing is not there for the others. */
static void test_cost(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noise_task(ctx, 5, "repeats=10", "controls=quick", 1);
    ferry_results *rs = NULL;
    const ferry_entry *r = NULL;
    int64_t fits = 0;

    assert_ok(ctx, ferry_task_add_domain(
                       ctx, task, noise(ctx, "way", FERRY_INTERMEDIATE, 3, 40, false)));
    add(ctx, task, "majority", NULL, NULL);
    add(ctx, task, "luck", "good", "level=0.6 spread=0.01 true_level=0.95 blind=1");
    rs = run(ctx, task);
    r = named(rs, "good");
    assert_true(r->better && r->pub.p_high <= 0.05);
    assert_int_equal(r->n_trials, 3);
    assert_true(r->trial[0].pub.same && r->trial[1].pub.primary && !r->trial[2].pub.same);
    for (int64_t i = 0; i < 3; i++)
        fits += r->trial[i].done;
    assert_int_equal(r->trial[1].done, 19);
    assert_int_equal(r->trial[2].done, 3);
    assert_int_equal(fits, 24);
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void test_sources(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noise_task(ctx, 4, "repeats=8", "controls=full", 2);
    ferry_results *rs = NULL;
    char *json = NULL;

    add(ctx, task, "majority", NULL, NULL);
    add(ctx, task, "luck", "both", "level=0.6 spread=0.02 true_level=0.9");
    rs = run(ctx, task);
    const ferry_entry *r = named(rs, "both");
    assert_int_equal(r->n_trials, 4); /* labels, noise, two left out */
    assert_int_equal(r->trial[0].pub.draws, 39);
    assert_int_equal(r->trial[1].pub.draws, 5);
    assert_int_equal(r->pub.verdict, FERRY_BEST);
    assert_string_equal(r->trial[2].pub.source, "s1");
    assert_string_equal(r->trial[3].pub.source, "s2");
    assert_int_equal(r->trial[3].pub.repeats, 8);
    /* either alone is the real one too: leaving one out changes nothing but the draw */
    assert_int_equal(r->trial[2].pub.verdict, FERRY_OPEN);
    assert_sentence(rs, "both", "source s1: open, source s2: open");
    assert_ok(ctx, ferry_results_table(ctx, rs, "json", &json));
    assert_non_null(strstr(json, "\"source\": \"s2\""));
    ferry_string_free(json);
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* Controls neither change the methods' own numbers nor depend on other methods. */
static void test_controls_change_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *a = noise_task(ctx, 3, "repeats=4", "controls=none", 1);
    ferry_task *b = noise_task(ctx, 3, "repeats=4", "controls=full", 1);
    ferry_task *c = noise_task(ctx, 3, "repeats=4", "controls=full", 1);
    ferry_results *ra = NULL, *rb = NULL, *rc = NULL;

    for (int i = 0; i < 3; i++)
        add(ctx, i == 0 ? a : i == 1 ? b : c, "svm", NULL, NULL);
    add(ctx, c, "luck", NULL, NULL);
    for (int i = 0; i < 3; i++)
        add(ctx, i == 0 ? a : i == 1 ? b : c, "hemap", NULL, NULL);
    ra = run(ctx, a);
    rb = run(ctx, b);
    rc = run(ctx, c);
    const ferry_entry *x = named(ra, "hemap"), *y = named(rb, "hemap"),
                      *z = named(rc, "hemap");
    assert_memory_equal(x->metric, y->metric, 4 * sizeof(double));
    assert_memory_equal(y->metric, z->metric, 4 * sizeof(double));
    assert_int_equal(y->n_trials, z->n_trials);
    for (int64_t i = 0; i < y->n_trials; i++)
        assert_memory_equal(y->trial[i].metric, z->trial[i].metric,
                            (size_t)y->trial[i].done * sizeof(double));
    ferry_results_free(ra);
    ferry_results_free(rb);
    ferry_results_free(rc);
    ferry_task_free(a);
    ferry_task_free(b);
    ferry_task_free(c);
}

/* ---- stopping, breaking down, memory ---- */

typedef struct stop {
    int64_t at, seen;
    ferry_answer answer;
} stop;

static ferry_answer on_progress(void *user, const ferry_progress *p)
{
    stop *s = user;

    if (strstr(p->what, "noise-source")) s->seen++;
    return s->seen >= s->at ? s->answer : FERRY_GO;
}

static void test_stopped(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noise_task(ctx, 3, "repeats=10", "controls=quick", 1);
    ferry_results *rs = NULL;
    stop s = {1, 0, FERRY_CANCEL};

    add(ctx, task, "majority", NULL, NULL);
    add(ctx, task, "luck", "good", "true_level=0.9");
    ferry_ctx_set_progress(ctx, on_progress, &s);
    assert_int_equal(ferry_i_evaluate(ctx, task, &luck_method, &rs), FERRY_ECANCELLED);
    assert_non_null(rs); /* the methods themselves were done */
    assert_int_equal(rs->run.repeats, 10);
    assert_sentence(rs, "good", "no control ran");
    ferry_results_free(rs);
    s = (stop){1, 0, FERRY_FINISH};
    assert_ok(ctx, ferry_i_evaluate(ctx, task, &luck_method, &rs));
    assert_sentence(rs, "good", "no control ran");
    ferry_results_free(rs);
    ferry_ctx_set_progress(ctx, NULL, NULL);
    ferry_task_free(task);
}

static ferry_status evaluate_body(ferry_ctx *ctx, void *task)
{
    ferry_results *rs = NULL;
    char *json = NULL, *table = NULL;
    ferry_status st = ferry_i_evaluate(ctx, task, &luck_method, &rs);

    if (st == FERRY_OK) st = ferry_results_table(ctx, rs, NULL, &table);
    ferry_string_free(table);
    ferry_string_free(json);
    ferry_results_free(rs);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = noise_task(ctx, 3, "repeats=2", "controls=quick", 1);

    add(ctx, task, "majority", NULL, NULL);
    add(ctx, task, "luck", NULL, NULL);
    each_allocation_fails(ctx, evaluate_body, task);
    ferry_task_free(task);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_noise_is_not_said_to_help),
        TEST(test_demo),
        TEST(test_words),
        TEST(test_fixed_split),
        TEST(test_no_controls),
        TEST(test_untouched),
        TEST(test_unused_take_no_level),
        TEST(test_more_draws),
        TEST(test_more_draws_of_a_worse_one),
        TEST(test_no_source),
        TEST(test_names_what_there_is),
        TEST(test_cost),
        TEST(test_sources),
        TEST(test_controls_change_nothing),
        TEST(test_stopped),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
