#include <jansson.h>
#include <stdio.h>

#include "ferry_test.h"
#include "methods/method.h"
#include "run/run.h"

/* ---- tasks ---- */

enum { N = 60, D = 3 };

/* Class "pos" when the first feature is positive; the others are noise. */
static void features(uint64_t stream, double *x, const char **label, double *number)
{
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, stream);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++)
            x[i * D + j] = ferry_i_rng_normal(&rng);
        label[i] = x[i * D] > 0 ? "pos" : "neg";
        number[i] = 2 * x[i * D] + 1;
    }
}

static ferry_domain *domain(ferry_ctx *ctx, ferry_role role, ferry_goal goal)
{
    double x[N * D], number[N];
    const char *label[N];
    uint8_t on[N * D];
    static const char *const names[D] = {"a", "b", "c"};
    const ferry_array view = {N, D, D, x};
    ferry_domain *d = NULL;

    features(role, x, label, number);
    for (int i = 0; i < N * D; i++)
        on[i] = x[i] > 0;
    assert_ok(ctx,
              ferry_domain_new(ctx, role == FERRY_SOURCE ? "there" : "here", role, &d));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &view, NULL, NULL, NULL));
    if (goal == FERRY_REGRESS)
        assert_ok(ctx, ferry_domain_set_numbers(ctx, d, N, NULL, number));
    else if (goal == FERRY_MULTILABEL)
        assert_ok(ctx, ferry_domain_set_labelsets(ctx, d, N, NULL, D, names, on));
    else if (goal != FERRY_RATE)
        assert_ok(ctx, ferry_domain_set_classes(ctx, d, N, NULL, label));
    return d;
}

/* A source and a target of which `labelled` may be seen, 4 repeats. */
static ferry_task *task_of(ferry_ctx *ctx, ferry_goal goal, const char *labelled)
{
    ferry_task *task = NULL;
    ferry_domain *target = domain(ctx, FERRY_TARGET, goal);
    ferry_opts *opts = opts_of(ctx, "repeats=4", NULL);

    assert_ok(ctx, ferry_domain_set_labelled(ctx, target, labelled));
    assert_ok(ctx, ferry_task_new(ctx, "demo", goal, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, domain(ctx, FERRY_SOURCE, goal)));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, target));
    assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts));
    ferry_opts_free(opts);
    return task;
}

static void set_evaluate(ferry_ctx *ctx, ferry_task *task, const char *a, const char *b)
{
    ferry_opts *opts = opts_of(ctx, a, b, NULL);

    assert_ok(ctx, ferry_task_set_evaluate(ctx, task, opts));
    ferry_opts_free(opts);
}

static void add_method(ferry_ctx *ctx, ferry_task *task, const char *name, const char *as,
                       const char *option)
{
    ferry_opts *opts = option ? opts_of(ctx, option, NULL) : NULL;

    assert_ok(ctx, ferry_task_add_method(ctx, task, name, as, opts));
    ferry_opts_free(opts);
}

/* ---- a method of our own ---- */

/* Knows the visible labels of the target and says "neg" (0, no label) elsewhere; `rule`
 * knows how the labels were made. Takes three iterations. */
typedef struct probe_options {
    int rule;
    int64_t break_at; /* the repeat (from 1) in which it breaks down */
    int64_t needs_at;
    int64_t fails, answers; /* the status that fit or predict returns */
} probe_options;

static const ferry_opt probe_opts[] = {
    FERRY_OPT_YES_NO(probe_options, rule, "no", "know how the labels were made"),
    FERRY_OPT(probe_options, INT, break_at, 0, 0, 100, "repeat that breaks down"),
    FERRY_OPT(probe_options, INT, needs_at, 0, 0, 100, "repeat that does not fit"),
    FERRY_OPT(probe_options, INT, fails, 0, -7, 0, "status of the fit"),
    FERRY_OPT(probe_options, INT, answers, 0, -7, 0, "status of the answers"),
};

typedef struct probe {
    bool rule;
    ferry_status answers;
    double mean;
    ferry_domain *seen;
} probe;

static void probe_free(void *state)
{
    probe *p = state;

    if (!p) return;
    ferry_domain_free(p->seen);
    ferry_i_free(p);
}

static double mean_rating(const ferry_domain *d)
{
    double sum = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < d->ratings->n; i++) {
        if (isnan(d->ratings->value[i])) continue;
        sum += d->ratings->value[i];
        n++;
    }
    return sum / (double)n;
}

static ferry_status probe_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const probe_options *o = options;
    const ferry_domain *target = NULL;
    probe *p = ferry_i_calloc(1, sizeof *p);
    bool finish = false;

    *state = NULL;
    FERRY_HAVE(ctx, p);
    FERRY_NEED(ctx, (int64_t)ctx->repeat + 1 != o->break_at, FERRY_ENUMERIC,
               "probe: broke down");
    FERRY_NEED(ctx, (int64_t)ctx->repeat + 1 != o->needs_at, FERRY_ENEEDS,
               "probe needs better luck");
    FERRY_NEED(ctx, o->fails == 0, (ferry_status)o->fails, "probe: fit %lld",
               (long long)o->fails);
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    p->rule = o->rule;
    p->answers = (ferry_status)o->answers;
    p->seen = ferry_i_domain_ref((ferry_domain *)target);
    if (task->goal == FERRY_RATE) p->mean = mean_rating(target);
    for (int64_t i = 0; i < 3 && !finish; i++)
        FERRY_TRY(ferry_i_progress(ctx, "probe", i, 3, (double)-i, &finish));
    rep->stop = finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER;
    *state = p;
    p = NULL;
done:
    probe_free(p);
    return st;
}

static ferry_status probe_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                  ferry_prediction *p)
{
    const probe *me = state;
    const ferry_labels *l = me->seen->labels;

    if (me->answers != FERRY_OK) return ferry_i_fail(ctx, me->answers, "probe: no answer");
    for (int64_t i = 0; i < p->n; i++) {
        const bool known = ferry_i_labels_has(l, i);
        const double *x = d->n_views > 0 ? d->views[0]->x->dense + i * D : NULL;
        if (p->goal == FERRY_RATE) {
            assert_true(isnan(d->ratings->value[i])); /* nothing is given away */
            p->value[i] = me->mean;
        } else if (p->goal == FERRY_CLASSIFY) {
            p->cls[i] = me->rule ? x[0] > 0 : known ? l->cls[i] : 0;
        }
    }
    return FERRY_OK;
}

static ferry_status probe_transform(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p)
{
    p->k = 2;
    p->score = ferry_i_calloc(p->n * 2, sizeof *p->score);
    if (!p->score) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < p->n; i++)
        p->score[2 * i] = d->views[0]->x->dense[i * D];
    if (!((const probe *)state)->rule) return FERRY_OK;
    p->cls = ferry_i_calloc(p->n, sizeof *p->cls);
    if (!p->cls) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < p->n; i++)
        p->cls[i] = p->score[2 * i] > 0;
    return FERRY_OK;
}

static const ferry_method probe_method = {
    .name = "probe",
    .summary = "for tests",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_RATE | FERRY_EMBED,
    .options = probe_opts,
    .n_options = FERRY_COUNT(probe_opts),
    .options_size = sizeof(probe_options),
    .fit = probe_fit,
    .predict = probe_predict,
    .transform = probe_transform,
    .free = probe_free,
};

static ferry_results *run(ferry_ctx *ctx, const ferry_task *task)
{
    ferry_results *rs = NULL;

    assert_ok(ctx, ferry_i_evaluate(ctx, task, &probe_method, &rs));
    assert_non_null(rs);
    return rs;
}

static int64_t scored_in(const ferry_results *rs, int64_t n)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += rs->scored[0][i];
    return sum;
}

/* ---- what it gives ---- */

static void test_classify(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "10");
    ferry_results *rs = NULL;

    add_method(ctx, task, "majority", NULL, NULL);
    add_method(ctx, task, "svm", NULL, "train=target");
    add_method(ctx, task, "probe", "truth", "rule=yes");
    rs = run(ctx, task);
    assert_int_equal(rs->n, 3);
    assert_int_equal(rs->run.repeats, 4);
    assert_int_equal(rs->n_metrics, 2);
    assert_int_equal(scored_in(rs, N), N - 10);
    assert_string_equal(rs->run.target, "here");
    assert_string_equal(rs->result[1].pub.name, "svm train=target");
    assert_string_equal(rs->result[2].pub.name, "truth");
    assert_int_equal(rs->run.best, 2);
    assert_int_equal(rs->run.best_baseline, 1);
    for (int r = 0; r < 4; r++) {
        assert_close(rs->result[2].metric[r], 1, 0);
        assert_true(rs->result[1].metric[r] > rs->result[0].metric[r]);
        assert_true(rs->result[1].seconds[r] >= 0);
    }
    /* The comparison is of the runs themselves. */
    const ferry_result *v = &rs->result[2].pub;
    assert_int_equal(v->pairs, 4);
    assert_close(v->gain, 1 - rs->run.reference_mean, 1e-12);
    assert_close(v->over_best, 1 - ferry_i_result_mean(rs, &rs->result[1], 0), 1e-15);
    assert_true(v->low <= v->gain && v->gain <= v->high && v->low > 0);
    assert_true(v->p_compare > 0 && v->p_compare <= 1);
    assert_int_equal(rs->result[1].pub.pairs, 4); /* also with what the labels choose */
    assert_non_null(json_object_get(rs->result[2].diagnostics, "objective"));
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* A method that only remembers what it saw gets no credit for it. */
static void test_scores_only_what_was_hidden(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "0.5");
    ferry_results *rs = NULL;
    int64_t hidden_neg = 0;

    add_method(ctx, task, "probe", NULL, NULL);
    rs = run(ctx, task);
    for (int64_t i = 0; i < N; i++)
        hidden_neg += rs->scored[0][i] && rs->truth->cls[i] == 0;
    assert_close(rs->result[0].metric[0], (double)hidden_neg / (N / 2.), 1e-15);
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void test_other_methods_change_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *alone = task_of(ctx, FERRY_CLASSIFY, "12"),
               *crowd = task_of(ctx, FERRY_CLASSIFY, "12");
    ferry_results *a = NULL, *b = NULL;

    add_method(ctx, alone, "svm", NULL, NULL);
    add_method(ctx, crowd, "knn", NULL, NULL);
    add_method(ctx, crowd, "probe", NULL, "break_at=2");
    add_method(ctx, crowd, "svm", NULL, NULL);
    add_method(ctx, crowd, "logreg", NULL, NULL);
    a = run(ctx, alone);
    b = run(ctx, crowd);
    assert_memory_equal(a->result[0].metric, b->result[2].metric, 8 * sizeof(double));
    assert_memory_equal(a->scored[0], b->scored[0], N);
    /* Repeats differ, or they would be no repeats. */
    assert_true(a->result[0].metric[0] != a->result[0].metric[1] ||
                a->result[0].metric[0] != a->result[0].metric[2]);
    ferry_results_free(a);
    ferry_results_free(b);
    ferry_task_free(alone);
    ferry_task_free(crowd);
}

static void test_seed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "12");
    ferry_results *a = NULL, *b = NULL, *c = NULL;

    add_method(ctx, task, "svm", NULL, NULL);
    a = run(ctx, task);
    set_evaluate(ctx, task, "repeats=4", "seed=7"); /* the task's seed goes first ... */
    b = run(ctx, task);
    assert_int_equal(ctx->seed, 1); /* ... and leaves the context's alone */
    assert_int_equal(b->run.seed, 7);
    set_evaluate(ctx, task, "repeats=4", "ties=worst");
    ctx->seed = 7;
    c = run(ctx, task);
    assert_memory_equal(b->result[0].metric, c->result[0].metric, 8 * sizeof(double));
    assert_memory_not_equal(a->scored[0], b->scored[0], N);
    ferry_results_free(a);
    ferry_results_free(b);
    ferry_results_free(c);
    ferry_task_free(task);
}

static void test_all_methods_when_none_is_named(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "12");
    ferry_results *rs = NULL;
    int64_t serving = 0;

    for (int64_t i = 0; ferry_method_at(i); i++)
        serving += (ferry_method_at(i)->goals & FERRY_CLASSIFY) != 0 &&
                   !ferry_i_method_find(ferry_method_at(i)->name)->asked;
    set_evaluate(ctx, task, "repeats=1", "metrics=error, balanced-accuracy error");
    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &rs));
    /* and svm, logreg, ridge and gbdt with the source's rows, alone and beside the target's */
    assert_int_equal(rs->n, serving + 8);
    assert_int_equal(rs->n_metrics, 2);
    assert_string_equal(rs->metrics[0]->info.name, "error");
    assert_string_equal(rs->metrics[1]->info.name, "balanced-accuracy");
    for (int64_t i = 0; i < rs->n; i++) {
        if (rs->result[i].pub.reason || i == rs->run.best_baseline) continue;
        assert_true(rs->result[i].pub.fixed); /* one repeat tells of these labels */
        if (rs->result[i].pub.kind == FERRY_KIND_BASELINE)
            assert_true(rs->result[i].pub.gain <= 0);
    }
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* ---- other goals ---- */

static void test_regress(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_REGRESS, "20");
    ferry_results *rs = NULL;

    add_method(ctx, task, "mean", NULL, NULL);
    add_method(ctx, task, "ridge", NULL, NULL);
    rs = run(ctx, task);
    assert_string_equal(rs->metrics[0]->info.name, "rmse");
    assert_int_equal(rs->run.best, 1);
    assert_int_equal(rs->run.best_baseline, 1);
    assert_true(ferry_i_result_mean(rs, &rs->result[1], 0) <
                0.5 * ferry_i_result_mean(rs, &rs->result[0], 0));
    assert_true(rs->result[0].pub.gain < 0);
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void test_multilabel(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_MULTILABEL, "30");
    ferry_results *rs = NULL;

    add_method(ctx, task, "majority", NULL, NULL);
    add_method(ctx, task, "svm", NULL, NULL);
    rs = run(ctx, task);
    assert_int_equal(rs->n_metrics, 5);
    assert_int_equal(rs->run.best, 1);
    assert_true(ferry_i_result_mean(rs, &rs->result[1], 0) > 0.85); /* average-precision */
    assert_true(ferry_i_result_mean(rs, &rs->result[1], 4) < 0.25); /* hamming */
    assert_null(rs->result[1].kept[0].given->score); /* dropped once it is scored */
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void set_ratings(ferry_ctx *ctx, ferry_domain *d)
{
    static const char *const users[] = {"u", "u", "u", "v", "v", "v", "w", "w"},
                             *const items[] = {"a", "b", "c", "a", "b", "c", "a", "b"};
    static const double values[] = {1, 2, 3, 4, 5, NAN, 1, 2};

    assert_ok(ctx, ferry_domain_set_ratings(ctx, d, 8, users, items, values));
}

/* Half of the seven known ratings are seen, the others scored; the pair without a value is
 * predicted and not scored. */
static void test_rate(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = NULL;
    ferry_domain *d = NULL;
    ferry_results *rs = NULL;
    double sum = 0, squares = 0;

    assert_ok(ctx, ferry_domain_new(ctx, "films", FERRY_TARGET, &d));
    set_ratings(ctx, d);
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "4"));
    assert_ok(ctx, ferry_task_new(ctx, "films", FERRY_RATE, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    set_evaluate(ctx, task, "repeats=2", "seed=1");
    add_method(ctx, task, "probe", NULL, NULL);
    rs = run(ctx, task);
    assert_int_equal(rs->result[0].kept[0].given->n, 8);
    assert_int_equal(scored_in(rs, 8), 3);
    assert_int_equal(rs->scored[0][5], 0);
    for (int i = 0; i < 8; i++)
        if (!rs->scored[0][i] && i != 5) sum += rs->ratings->value[i] / 4;
    for (int i = 0; i < 8; i++)
        if (rs->scored[0][i]) squares += pow(rs->ratings->value[i] - sum, 2) / 3;
    assert_close(rs->result[0].metric[0], sqrt(squares), 1e-14);
    assert_int_equal(rs->run.best_baseline, -1);
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void test_embed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_EMBED, "10");
    ferry_results *rs = NULL;

    /* The first coordinate tells the two classes apart: k-means finds them. */
    add_method(ctx, task, "probe", NULL, NULL);
    rs = run(ctx, task);
    assert_int_equal(rs->n_metrics, 1);
    assert_string_equal(rs->metrics[0]->info.name, "nmi");
    assert_true(rs->result[0].metric[0] > 0.3); /* by chance 0, on all rows .5 */
    assert_int_equal(rs->run.best, 0);
    assert_int_equal(rs->result[0].kept[0].given->k, 2);
    assert_non_null(rs->result[0].kept[0].given->score);
    ferry_results_free(rs);
    /* A method may make its own groups. */
    set_evaluate(ctx, task, "repeats=2", "metrics=nmi,knn-accuracy");
    add_method(ctx, task, "probe", "groups", "rule=yes");
    rs = run(ctx, task);
    assert_close(rs->result[1].metric[0], 1, 1e-14);
    assert_true(rs->result[1].metric[2] > 0.9);
    assert_close(rs->result[0].metric[2], rs->result[1].metric[2], 0);
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* Without labels an embedding has no score; with one class, none that says anything. */
static void test_embed_without_classes(void **state)
{
    ferry_ctx *ctx = *state;
    static const double x[4 * D] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char *const y[4] = {"a", "a", "a", "a"};
    const ferry_array view = {4, D, D, x};

    for (int classes = 0; classes < 2; classes++) {
        ferry_task *task = NULL;
        ferry_domain *d = NULL;
        assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
        assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &view, NULL, NULL, NULL));
        if (classes) assert_ok(ctx, ferry_domain_set_classes(ctx, d, 4, NULL, y));
        assert_ok(ctx, ferry_task_new(ctx, "t", FERRY_EMBED, &task));
        assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
        add_method(ctx, task, "probe", NULL, NULL);
        ferry_results *rs = run(ctx, task);
        assert_int_equal(rs->n_metrics, classes);
        if (classes) assert_true(isnan(rs->result[0].metric[0]));
        ferry_results_free(rs);
        ferry_task_free(task);
    }
}

/* Class "rare" is in the target only and never seen: the methods do not know it, and it
 * counts as wrong. */
static void test_class_never_seen(void **state)
{
    ferry_ctx *ctx = *state;
    static const double x[] = {1, -1, 2, -2, 3};
    static const char *const y[] = {"pos", "neg", "pos", "neg", "aaa"};
    static const char *const seen = "1\n2\n";
    const ferry_array view = {5, 1, 1, x};
    ferry_task *task = NULL;
    ferry_domain *d = NULL;
    ferry_results *rs = NULL;
    char spec[4200];

    snprintf(spec, sizeof spec, "ids:%s", tmp_file("seen.txt", seen, -1));
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_add_dense(ctx, d, "x", &view, NULL, NULL, NULL));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, 5, NULL, y));
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, spec));
    assert_ok(ctx, ferry_task_new(ctx, "t", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    set_evaluate(ctx, task, "repeats=1", "metrics=accuracy,balanced-accuracy");
    add_method(ctx, task, "svm", NULL, NULL);
    rs = run(ctx, task);
    assert_close(rs->result[0].metric[0], 2 / 3., 1e-15);
    assert_close(rs->result[0].metric[1], 2 / 3., 1e-15);
    ferry_results_free(rs);
    ferry_task_free(task);
}

/* ---- what can go wrong ---- */

static void fails_with(ferry_ctx *ctx, const ferry_task *task, ferry_status status,
                       const char *text)
{
    ferry_results *rs = (ferry_results *)&rs;

    assert_fails(ctx, ferry_i_evaluate(ctx, task, &probe_method, &rs), status, text);
    assert_null(rs);
}

static void test_method_that_does_not_fit_is_listed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "none");
    ferry_results *rs = NULL;

    add_method(ctx, task, "svm", NULL, "train=target");
    add_method(ctx, task, "ridge", NULL, NULL);
    add_method(ctx, task, "svm", NULL, "train=source");
    add_method(ctx, task, "probe", "breaks", "break_at=3");
    add_method(ctx, task, "probe", "unlucky", "needs_at=1");
    rs = run(ctx, task);
    assert_non_null(strstr(rs->result[0].pub.reason, "target"));
    assert_null(rs->result[2].pub.reason);
    assert_string_equal(rs->result[3].pub.reason, "repeat 3 of 4: probe: broke down");
    assert_string_equal(rs->result[4].pub.reason, "repeat 1 of 4: probe needs better luck");
    assert_int_equal(rs->run.repeats, 4);
    assert_int_equal(rs->run.best_baseline, rs->run.best);
    ferry_results_free(rs);
    ferry_task_free(task);
}

static void test_nothing_could_run(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "none");

    add_method(ctx, task, "svm", NULL, "train=target");
    fails_with(ctx, task, FERRY_ENEEDS,
               "no method could run: svm train=target needs labels of target");
    ferry_task_free(task);
    task = task_of(ctx, FERRY_CLASSIFY, "none");
    add_method(ctx, task, "svm", "s", "train=target"); /* "svm" does not name it */
    fails_with(ctx, task, FERRY_ENEEDS,
               "no method could run: s: svm train=target needs labels of target");
    ferry_task_free(task);
    task = task_of(ctx, FERRY_CLASSIFY, "none");
    set_evaluate(ctx, task, "repeats=1", "seed=1");
    add_method(ctx, task, "probe", NULL, "break_at=1");
    fails_with(ctx, task, FERRY_ENEEDS, "no method could run: probe: broke down");
    ferry_task_free(task);
}

/* Whatever a fit or an answer fails with, the others go on; but not when memory ran out, somebody
 * cancelled or the system cannot read. */
static void test_no_method_ends_a_run(void **state)
{
    static const char *const how[] = {"fails", "answers"};
    ferry_ctx *ctx = *state;

    for (int stage = 0; stage < 2; stage++)
        for (int code = FERRY_EINVAL; code >= FERRY_ENEEDS; code--) {
            ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "10");
            ferry_results *rs = NULL;
            char option[32];
            (void)snprintf(option, sizeof option, "%s=%d", how[stage], code);
            set_evaluate(ctx, task, "repeats=2", "guard=yes");
            add_method(ctx, task, "svm", NULL, NULL);
            add_method(ctx, task, "probe", "p", option);
            const ferry_status st = ferry_i_evaluate(ctx, task, &probe_method, &rs);
            if (code == FERRY_ENOMEM || code == FERRY_EIO || code == FERRY_ECANCELLED) {
                assert_int_equal(st, code);
            } else {
                assert_int_equal(st, FERRY_OK);
                assert_non_null(strstr(rs->result[1].pub.reason, "repeat 1 of 2: probe: "));
                assert_null(rs->result[0].pub.reason);
                assert_int_equal(rs->run.repeats, 2);
            }
            ferry_results_free(rs);
            ferry_task_free(task);
        }
}

static void test_bad_settings(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "10");

    set_evaluate(ctx, task, "repeats=2", "metrics=accurracy");
    fails_with(ctx, task, FERRY_EINVAL,
               "evaluate: unknown metric 'accurracy' (did you mean accuracy?)");
    set_evaluate(ctx, task, "repeats=2", "metrics=zzzzzzzzzzzzzzz");
    fails_with(ctx, task, FERRY_EINVAL, "evaluate: unknown metric 'zzzzzzzzzzzzzzz'");
    set_evaluate(ctx, task, "repeats=2", "metrics=rmse");
    fails_with(ctx, task, FERRY_EINVAL,
               "evaluate: metric rmse does not belong to goal classify");
    set_evaluate(
        ctx, task, "repeats=2",
        "metrics=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    fails_with(ctx, task, FERRY_EINVAL, "is not a list of metrics");
    set_evaluate(ctx, task, "repeats=2", "metrics=,,");
    add_method(ctx, task, "majority", NULL, NULL);
    add_method(ctx, task, "svm", NULL, "C=-1");
    fails_with(ctx, task, FERRY_EINVAL, "svm: C = -1 is outside");
    ferry_task_free(task);
    task = task_of(ctx, FERRY_CLASSIFY, "10");
    add_method(ctx, task, "smv", NULL, NULL);
    fails_with(ctx, task, FERRY_EINVAL, "unknown method smv (did you mean svm?)");
    ferry_task_free(task);
    /* Said once, not by every method. */
    assert_ok(ctx, ferry_task_new(ctx, "bare", FERRY_CLASSIFY, &task));
    fails_with(ctx, task, FERRY_ENEEDS, "task 'bare' has 0 targets, expected one");
    assert_null(strstr(ferry_message(ctx), "svm"));
    ferry_task_free(task);
}

static char heard[1024];

static void hear(void *user, ferry_level level, const char *line)
{
    (void)user;
    if (level == FERRY_WARN) (void)snprintf(heard, sizeof heard, "%s", line);
}

/* Nothing is hidden: methods run once, nothing is scored, and it is said why. */
static void unscored(ferry_ctx *ctx, const ferry_task *task, const char *says)
{
    ferry_results *r = NULL;

    heard[0] = 0;
    ferry_ctx_set_log(ctx, hear, FERRY_WARN, NULL);
    assert_ok(ctx, ferry_evaluate(ctx, task, NULL, &r));
    assert_non_null(strstr(heard, says));
    assert_int_equal(ferry_results_info(r)->repeats, 1);
    assert_null(ferry_result_metric_at(ferry_results_at(r, 0), 0));
    ferry_results_free(r);
    ferry_ctx_set_log(ctx, NULL, FERRY_WARN, NULL);
}

static void test_nothing_to_score(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const specs[] = {"60", "1.0", "ids:%s"};
    static const char *const said[] = {"(labelled: 60)", "(labelled: 1.0)",
                                       "(labelled: {ids: ...})"};
    char ids[N * 4] = "", spec[4200];
    ferry_task *task = NULL;

    for (int i = 1; i <= N; i++)
        snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%d\n", i);
    for (int i = 0; i < 3; i++) {
        snprintf(spec, sizeof spec, specs[i], tmp_file("ids.txt", ids, -1));
        task = task_of(ctx, FERRY_CLASSIFY, spec);
        add_method(ctx, task, "majority", NULL, NULL);
        unscored(ctx, task, "target 'here': all 60 labels are visible to the");
        assert_non_null(strstr(heard, said[i]));
        ferry_task_free(task);
    }
    /* One of each class, and one of each is seen. */
    static const char *const both[] = {"neg", "pos"};
    ferry_domain *d = NULL;
    assert_ok(ctx, ferry_domain_new(ctx, "two", FERRY_TARGET, &d));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, 2, NULL, both));
    assert_ok(ctx, ferry_domain_set_labelled(ctx, d, "per_class:1"));
    assert_ok(ctx, ferry_task_new(ctx, "two", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    add_method(ctx, task, "majority", NULL, NULL);
    unscored(ctx, task,
             "all 2 labels are visible to the methods "
             "(labelled: {per_class: 1}), none is left to score");
    ferry_task_free(task);
    /* No labels at all. */
    d = domain(ctx, FERRY_TARGET, FERRY_RATE);
    assert_ok(ctx, ferry_task_new(ctx, "bare", FERRY_CLASSIFY, &task));
    assert_ok(ctx,
              ferry_task_add_domain(ctx, task, domain(ctx, FERRY_SOURCE, FERRY_CLASSIFY)));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, d));
    add_method(ctx, task, "majority", NULL, NULL);
    unscored(ctx, task, "target 'here' has no labels, so there is nothing to score");
    ferry_task_free(task);
}

static void test_no_target(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = NULL;

    assert_ok(ctx, ferry_task_new(ctx, "half", FERRY_CLASSIFY, &task));
    assert_ok(ctx,
              ferry_task_add_domain(ctx, task, domain(ctx, FERRY_SOURCE, FERRY_CLASSIFY)));
    fails_with(ctx, task, FERRY_ENEEDS, "target");
    ferry_task_free(task);
}

/* ---- progress, finish, cancel ---- */

typedef struct watcher {
    int64_t calls, act_at;
    ferry_answer answer;
    int64_t last_step, steps;
} watcher;

static ferry_answer watch(void *user, const ferry_progress *p)
{
    watcher *w = user;

    w->calls++;
    w->last_step = p->step;
    w->steps = p->steps;
    return w->calls == w->act_at ? w->answer : FERRY_GO;
}

/* svm then probe, 4 repeats: each repeat calls once for svm and 1 + 3 times for probe. */
static ferry_task *two_methods(ferry_ctx *ctx)
{
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, "10");

    assert_ok(ctx, ferry_i_ctx_set_jobs(ctx, 1)); /* calls are counted */
    add_method(ctx, task, "svm", NULL, NULL);
    add_method(ctx, task, "probe", NULL, NULL);
    return task;
}

static void test_progress(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = two_methods(ctx);
    watcher w = {0};

    ferry_ctx_set_progress(ctx, watch, &w);
    ferry_results_free(run(ctx, task));
    assert_true(w.calls >= 4 * 5);
    assert_in_range(w.last_step, 1,
                    w.steps);        /* of jobs side by side not every call comes */
    assert_int_equal(ctx->steps, 0); /* as it was */
    ferry_task_free(task);
}

/* Stop at the c-th call by `answer`. */
static ferry_results *stop_at(ferry_ctx *ctx, const ferry_task *task, int64_t c,
                              ferry_answer answer, ferry_status want)
{
    watcher w = {.act_at = c, .answer = answer};
    ferry_results *rs = NULL;

    ferry_ctx_set_progress(ctx, watch, &w);
    assert_int_equal(ferry_i_evaluate(ctx, task, &probe_method, &rs), want);
    assert_int_equal(w.calls, c); /* nothing runs after it */
    ferry_ctx_set_progress(ctx, NULL, NULL);
    return rs;
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = two_methods(ctx);
    ferry_results *rs = NULL;

    /* In the third repeat: two are complete. */
    rs = stop_at(ctx, task, 2 * 5 + 4, FERRY_CANCEL, FERRY_ECANCELLED);
    assert_non_null(rs);
    assert_int_equal(rs->run.repeats, 2);
    assert_int_equal(rs->run.planned, 4);
    assert_int_equal(rs->result[0].done, 2);
    assert_int_equal(rs->result[1].done, 2);
    assert_int_equal(rs->result[1].pub.pairs, 2);
    assert_non_null(strstr(ferry_message(ctx), "cancelled"));
    ferry_results_free(rs);
    /* In the first: svm is done, probe is not. */
    rs = stop_at(ctx, task, 3, FERRY_CANCEL, FERRY_ECANCELLED);
    assert_non_null(rs);
    assert_int_equal(rs->run.repeats, 1);
    assert_string_equal(rs->result[1].pub.reason, "not run: stopped before its turn");
    ferry_results_free(rs);
    /* At once: nothing is. */
    assert_null(stop_at(ctx, task, 1, FERRY_CANCEL, FERRY_ECANCELLED));
    ferry_task_free(task);
}

static void test_finish(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = two_methods(ctx);
    ferry_results *rs = NULL;

    /* Within probe's second repeat: it stops its iterations, its result counts. */
    rs = stop_at(ctx, task, 5 + 3, FERRY_FINISH, FERRY_OK);
    assert_int_equal(rs->run.repeats, 2);
    ferry_results_free(rs);
    /* Before probe's second repeat: svm's second is left out, since probe has none. */
    rs = stop_at(ctx, task, 5 + 2, FERRY_FINISH, FERRY_OK);
    assert_int_equal(rs->run.repeats, 1);
    assert_int_equal(rs->result[0].done, 1);
    ferry_results_free(rs);
    assert_null(stop_at(ctx, task, 1, FERRY_FINISH, FERRY_ECANCELLED));
    assert_string_equal(ferry_message(ctx), "stopped before any method was done");
    ferry_task_free(task);
}

/* Whatever moment it is stopped at, what is kept is whole: the same repeats of all methods, with the
 * numbers that they have when nobody stops it. */
static void test_stop_with_jobs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = two_methods(ctx);
    ferry_results *all = run(ctx, task);

    assert_ok(ctx, ferry_i_ctx_set_jobs(ctx, 3));
    for (int64_t at = 1; at <= 12; at++) {
        watcher w = {.act_at = at, .answer = at % 2 ? FERRY_CANCEL : FERRY_FINISH};
        ferry_results *rs = NULL;
        ferry_ctx_set_progress(ctx, watch, &w);
        (void)ferry_i_evaluate(ctx, task, &probe_method, &rs);
        ferry_ctx_set_progress(ctx, NULL, NULL);
        for (int64_t i = 0; rs && i < rs->n; i++) {
            const ferry_entry *e = &rs->result[i];
            assert_true(e->pub.reason || e->done == rs->run.repeats);
            for (int64_t r = 0; r < e->done; r++)
                assert_close(e->metric[r], all->result[i].metric[r], 0);
        }
        ferry_results_free(rs);
    }
    ferry_results_free(all);
    ferry_task_free(task);
}

/* ---- memory ---- */

static ferry_status evaluate_once(ferry_ctx *ctx, void *task)
{
    ferry_results *rs = NULL;
    const ferry_status st = ferry_i_evaluate(ctx, task, &probe_method, &rs);

    if (st != FERRY_OK) assert_null(rs);
    ferry_results_free(rs);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    static const ferry_goal goals[] = {FERRY_CLASSIFY, FERRY_MULTILABEL, FERRY_REGRESS};

    for (int g = 0; g < 3; g++) {
        ferry_task *task = task_of(ctx, goals[g], "10");
        set_evaluate(ctx, task, "repeats=2", "seed=1");
        add_method(ctx, task, goals[g] == FERRY_REGRESS ? "mean" : "majority", NULL, NULL);
        if (g == 0) add_method(ctx, task, "probe", NULL, "break_at=2");
        if (g == 0) add_method(ctx, task, "probe", "b", "needs_at=1");
        if (g == 0) add_method(ctx, task, "ridge", NULL, NULL);
        each_allocation_fails(ctx, evaluate_once, task);
        ferry_task_free(task);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_classify),
        TEST(test_scores_only_what_was_hidden),
        TEST(test_other_methods_change_nothing),
        TEST(test_seed),
        TEST(test_all_methods_when_none_is_named),
        TEST(test_regress),
        TEST(test_multilabel),
        TEST(test_rate),
        TEST(test_embed),
        TEST(test_embed_without_classes),
        TEST(test_class_never_seen),
        TEST(test_method_that_does_not_fit_is_listed),
        TEST(test_nothing_could_run),
        TEST(test_no_method_ends_a_run),
        TEST(test_bad_settings),
        TEST(test_nothing_to_score),
        TEST(test_no_target),
        TEST(test_progress),
        TEST(test_cancel),
        TEST(test_finish),
        TEST(test_stop_with_jobs),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("evaluate", tests, NULL, NULL);
}
