/* What transitive transfer is compared with: triplex, latentmap, htlic, cotransfer and the
 * control kmeans-hop. */
#include "journey.h"
#include "methods/frame.h"

static double share_right(ferry_ctx *ctx, const journey *j, const char *by,
                          const char *settings)
{
    ferry_task *task = journey_task(ctx, j);
    ferry_model *m = fit_model(ctx, task, by, settings);
    const double right = journey_right(ctx, j, m);

    ferry_model_free(m);
    ferry_task_free(task);
    return right;
}

static const struct {
    const char *method, *settings;
    bool one_bridge; /* takes a single intermediate domain */
} ways[] = {
    {"latentmap", "", false},
    {"latentmap", "rank=3 lambda=0.1", false},
    {"kmeans-hop", "", false},
    {"cotransfer", "neighbours=10", false},
    {"cotransfer", "neighbours=10 mass=no", false},
    {"cotransfer", "neighbours=10 centre=yes beta=0.2", false},
    {"htlic", "latent=8", true},
    {"htlic", "latent=8 beside=no lambda=0", true},
    {"triplex", "iterations=40", false},
    {"triplex", "iterations=40 norm=absorb exponent=one", false},
    {"triplex", "iterations=40 alike=0 distinct=0", false},
};

static void test_crosses(void **state)
{
    const journey three = {
        .domains = 3, .c = 2, .n = 60, .noise = 0.2, .seed = 1, .seen = 10};
    const journey five = {
        .domains = 5, .c = 3, .n = 60, .noise = 0.1, .seed = 2, .seen = 9};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        assert_true(share_right(*state, &three, ways[i].method, ways[i].settings) > 0.9);
        if (!ways[i].one_bridge)
            assert_true(share_right(*state, &five, ways[i].method, ways[i].settings) >
                        0.85);
    }
}

/* Labels of the bridge, all wrong: they are believed unless they are hidden. */
static void test_bridge_labels(void **state)
{
    static const char *const methods[][3] = {
        {"hop", "bridge_labels=use", "bridge_labels=hide"},
        {"latentmap", "bridge_labels=use", "bridge_labels=hide"},
        {"kmeans-hop", "bridge_labels=use", "bridge_labels=hide"},
        {"cotransfer", "neighbours=10 bridge_labels=use",
         "neighbours=10 bridge_labels=hide"},
        {"triplex", "iterations=40 bridge_labels=use", "iterations=40 bridge_labels=hide"},
    };
    const journey j = {
        .domains = 3, .c = 2, .n = 60, .noise = 0.1, .seed = 1, .wrong = true};

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        assert_true(share_right(*state, &j, methods[i][0], methods[i][1]) < 0.1);
        assert_true(share_right(*state, &j, methods[i][0], methods[i][2]) > 0.9);
    }
}

/* A saved model answers the same to the bit, with any number of threads to 1e-10, and for
 * documents under other ids much the same. */
static void check_same(ferry_ctx *ctx, const char *by, const char *settings)
{
    const journey j = {.domains = 3, .c = 2, .n = 30, .noise = 0.2, .seed = 5, .seen = 6};
    ferry_task *task = journey_task(ctx, &j);
    ferry_domain *d = journey_domain(ctx, &j, 2), *fresh = NULL;
    ferry_model *m = fit_model(ctx, task, by, settings), *again = NULL;
    ferry_prediction *p = NULL, *q = NULL, *r = NULL;
    const char *path = tmp_path("b.ferry");
    journey other = j;

    other.seed = 6;
    fresh = journey_domain(ctx, &other, 2);
    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    assert_ok(ctx, ferry_model_save(ctx, m, path));
    assert_ok(ctx, ferry_model_load(ctx, path, by, &again));
    assert_ok(ctx, ferry_predict(ctx, again, d, &q));
    for (int64_t e = 0; e < p->n * p->k; e++)
        assert_close(q->score[e], p->score[e], 0);
    ferry_prediction_free(q);
    ferry_model_free(again);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 3));
    again = fit_model(ctx, task, by, settings);
    assert_ok(ctx, ferry_predict(ctx, again, d, &q));
    for (int64_t e = 0; e < p->n * p->k; e++)
        assert_close(q->score[e], p->score[e], 1e-10);
    assert_ok(ctx, ferry_predict(ctx, again, fresh, &r)); /* documents not seen in fit */
    int64_t right = 0;
    for (int64_t i = 0; i < r->n; i++)
        right += r->cls[i] == journey_class(&other, i);
    assert_true(right * 10 >= r->n * 8);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_prediction_free(r);
    ferry_model_free(m);
    ferry_model_free(again);
    ferry_domain_free(d);
    ferry_domain_free(fresh);
    ferry_task_free(task);
}

static void test_same(void **state)
{
    ferry_ctx *ctx = *state;

    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        check_same(ctx, ways[i].method, ways[i].settings);
}

/* Two domains that have all words in common, and as many latent features as there are: the
 * latent space is a rotation, so it is logistic regression. */
static void test_latentmap_rotates(void **state)
{
    ferry_ctx *ctx = *state;
    const double xs[] = {1, 0, 2, 0, 1, 1, 3, 1, 0, 0, 2, 1, 1, 1, 1, 0, 0, 2};
    const double xt[] = {2, 1, 0, 0, 1, 2, 1, 1, 1};
    ferry_domain *s = NULL, *t = NULL, *ask = NULL;
    ferry_task *task = NULL;
    ferry_prediction *p = NULL, *q = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, "s", FERRY_SOURCE, &s));
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &t));
    small_view(ctx, s, "x", 6, 3, xs, NULL, NULL, true);
    small_classes(ctx, s, "abaabb");
    small_view(ctx, t, "x", 3, 3, xt, NULL, NULL, true);
    task = small_task(ctx, FERRY_CLASSIFY, s, t);
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &ask));
    small_view(ctx, ask, "x", 3, 3, xt, NULL, NULL, true);
    p = fit_predict(ctx, task, "latentmap", "path=st rank=9 scale=l2 C=2", ask);
    q = fit_predict(ctx, task, "hop", "scale=l2 C=2", ask);
    for (int64_t e = 0; e < 6; e++)
        assert_close(p->score[e], q->score[e], 1e-5);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_domain_free(ask);
    ferry_task_free(task);
}

/* After class mass normalisation the unlabelled target's scores add up to the sources'
 * class counts; without steps nothing is known. */
static void test_cotransfer_mass(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 3, .n = 30, .noise = 0.2, .seed = 4};
    ferry_task *task = journey_task(ctx, &j);
    ferry_domain *d = journey_domain(ctx, &j, 2);
    ferry_prediction *p = fit_predict(ctx, task, "cotransfer", "neighbours=8", d);
    double sum[3] = {0, 0, 0};

    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = 0; k < 3; k++)
            sum[k] += p->score[i * 3 + k];
    for (int64_t k = 0; k < 3; k++)
        assert_close(sum[k], 10, 1e-9);
    ferry_prediction_free(p);
    p = fit_predict(ctx, task, "cotransfer", "neighbours=8 mu=0", d);
    for (int64_t e = 0; e < p->n * 3; e++)
        assert_close(p->score[e], 0, 0);
    ferry_prediction_free(p);
    ferry_domain_free(d);
    ferry_task_free(task);
}

/* The factorisation of htlic never gets worse, and k-means' best start is no worse than
 * any.
 */
typedef struct watch {
    double before;
    int64_t calls, after; /* cancel after so many, 0: never */
    bool rose;
} watch;

static ferry_answer look(void *user, const ferry_progress *p)
{
    watch *w = user;

    if (p->objective > w->before * (1 + 1e-12)) w->rose = true;
    w->before = p->objective;
    return ++w->calls == w->after ? FERRY_CANCEL : FERRY_GO;
}

static void test_htlic_falls(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 40, .noise = 0.3, .seed = 7, .seen = 6};
    ferry_task *task = journey_task(ctx, &j);
    watch w = {.before = INFINITY};

    ferry_ctx_set_progress(ctx, look, &w);
    ferry_model_free(fit_model(ctx, task, "htlic", "latent=5 iterations=100"));
    ferry_ctx_set_progress(ctx, NULL, NULL);
    assert_int_equal(w.calls, 10);
    assert_false(w.rose);
    ferry_task_free(task);
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 20, .seed = 7, .seen = 6};
    ferry_task *task = journey_task(ctx, &j);

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        watch w = {.after = 1};
        ferry_opts *opts = settings_of(ctx, ways[i].settings);
        ferry_model *m = NULL;
        ferry_ctx_set_progress(ctx, look, &w);
        assert_int_equal(ferry_fit(ctx, task, ways[i].method, opts, &m, NULL),
                         FERRY_ECANCELLED);
        assert_null(m);
        ferry_ctx_set_progress(ctx, NULL, NULL);
        ferry_opts_free(opts);
    }
    ferry_task_free(task);
}

/* A link is missing: all that go over the bridge say so, and what to add. */
static void test_no_link(void **state)
{
    static const char *const names[] = {"latentmap", "triplex", "cotransfer", "kmeans-hop",
                                        "htlic"};
    ferry_ctx *ctx = *state;
    const journey gap = {.domains = 4, .c = 2, .n = 20, .seed = 3, .only = 2, .seen = 4};
    ferry_task *task = journey_task(ctx, &gap);
    ferry_model *m = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(names); i++) {
        assert_fails(
            ctx, ferry_fit(ctx, task, names[i], NULL, &m, NULL), FERRY_ENEEDS,
            "shares none with 'to3': if view 'words' of 'to3' has the 48 features of");
        assert_true(strncmp(ferry_message(ctx), names[i], strlen(names[i])) == 0);
    }
    ferry_task_free(task);
}

static void fails_with(ferry_ctx *ctx, const ferry_task *task, const char *by,
                       const char *settings, ferry_status st, const char *message)
{
    ferry_opts *opts = settings_of(ctx, settings);
    ferry_model *m = NULL;

    assert_fails(ctx, ferry_fit(ctx, task, by, opts, &m, NULL), st, message);
    assert_null(m);
    ferry_opts_free(opts);
}

static void test_bad(void **state)
{
    ferry_ctx *ctx = *state;
    const journey five = {.domains = 5, .c = 2, .n = 8, .seed = 1, .seen = 4};
    const journey none = {.domains = 3, .c = 2, .n = 8, .seed = 1};
    ferry_task *task = journey_task(ctx, &five);
    const double s[] = {1, -2, 3, 1}, t[] = {1, 2, -1, 1};

    fails_with(ctx, task, "htlic", "", FERRY_ENEEDS,
               "exactly one intermediate domain, not 3");
    fails_with(ctx, task, "triplex", "identical=0 alike=0 distinct=0", FERRY_EINVAL,
               "no concept is left");
    fails_with(ctx, task, "triplex", "path=it", FERRY_ENEEDS,
               "path=it needs an intermediate domain with labels");
    ferry_task_free(task);
    task = journey_task(ctx, &none);
    fails_with(ctx, task, "htlic", "", FERRY_ENEEDS, "some labels in the target");
    ferry_task_free(task);
    ferry_domain *source = small_domain(ctx, "s", FERRY_SOURCE, 2, 2, s);
    small_classes(ctx, source, "ab");
    task = small_task(ctx, FERRY_CLASSIFY, source,
                      small_domain(ctx, "t", FERRY_TARGET, 2, 2, t));
    fails_with(ctx, task, "triplex", "", FERRY_ENEEDS, "features of 0 or more");
    ferry_task_free(task);
}

/* The intermediate domain's own labels teach the target. */
static void test_triplex_it(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 40, .noise = 0.1, .seed = 8};
    ferry_task *task = NULL;
    ferry_domain *d[3];
    char id[40][16], cls[40][8];
    const char *ids[40], *classes[40];

    assert_ok(ctx, ferry_task_new(ctx, "it", FERRY_CLASSIFY, &task));
    for (int64_t i = 0; i < 3; i++)
        d[i] = journey_domain(ctx, &j, i);
    for (int64_t i = 0; i < 40; i++) {
        ids[i] = journey_id(&j, i, id[i]);
        (void)snprintf(cls[i], sizeof cls[i], "c%d", (int)journey_class(&j, i));
        classes[i] = cls[i];
    }
    assert_ok(ctx, ferry_domain_set_classes(ctx, d[1], 40, ids, classes));
    for (int64_t i = 0; i < 3; i++)
        assert_ok(ctx, ferry_task_add_domain(ctx, task, d[i]));
    ferry_model *m = fit_model(ctx, task, "triplex", "path=it iterations=40");
    assert_true(journey_right(ctx, &j, m) > 0.9);
    ferry_model_free(m);
    fails_with(ctx, task, "triplex", "path=it bridge_labels=hide", FERRY_EINVAL,
               "goes with bridge_labels=use");
    m = fit_model(ctx, task, "triplex", "path=st iterations=5");
    ferry_model_free(m);
    ferry_task_free(task);
}

static size_t field_at(const table *t, const char *name)
{
    for (int64_t i = 0; i < t->n; i++)
        if (strcmp(t->field[i].name, name) == 0) return t->field[i].at;
    fail();
    return 0;
}

/* Saved models whose tensors do not fit are refused, and so are those of 0.2. */
static void test_broken_files(void **state)
{
    static const char *const methods[] = {"latentmap", "htlic", "cotransfer", "kmeans-hop",
                                          "triplex"};
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 12, .seed = 5, .seen = 4};
    ferry_task *task = journey_task(ctx, &j);
    const int64_t two = 2;
    ferry_dict *dict = NULL;
    void *out = NULL;

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
        assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "classes", 1, &two));
        assert_fails(ctx,
                     ferry_i_method_load(ctx, ferry_i_method_find(methods[i]), dict, &out),
                     FERRY_EDATA, "that Ferry 0.2 has saved are not read any more");
        assert_null(out);
        ferry_i_dict_free(dict);
    }
    ferry_model *m = fit_model(ctx, task, "cotransfer", "neighbours=3"), *again = NULL;
    matrix *nodes = (matrix *)((char *)((fitted *)m->state)->state +
                               field_at(((fitted *)m->state)->m->state, "x"));
    nodes->m->cols--; /* one fewer than keep has */
    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("m.ferry")));
    nodes->m->cols++;
    assert_fails(ctx, ferry_model_load(ctx, tmp_path("m.ferry"), NULL, &again), FERRY_EDATA,
                 "");
    ferry_model_free(m);
    ferry_task_free(task);
}

typedef struct job {
    ferry_task *task;
    ferry_domain *d;
    const char *method, *settings;
} job;

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    const job *j = arg;
    ferry_status st = FERRY_OK;
    ferry_opts *opts = NULL;
    ferry_model *m = NULL, *again = NULL;
    ferry_prediction *p = NULL;
    char words[100], *word = words, *next = NULL;

    (void)snprintf(words, sizeof words, "%s", j->settings);
    st = ferry_opts_new(ctx, &opts);
    for (; st == FERRY_OK && *word; word = next) {
        next = strchr(word, ' ');
        if (next) *next++ = 0;
        char *value = strchr(word, '=');
        *value++ = 0;
        st = ferry_opts_set(ctx, opts, word, value);
        if (!next) break;
    }
    if (st == FERRY_OK) st = ferry_fit(ctx, j->task, j->method, opts, &m, NULL);
    if (st == FERRY_OK) st = ferry_model_save(ctx, m, tmp_path("m.ferry"));
    if (st == FERRY_OK) st = ferry_model_load(ctx, tmp_path("m.ferry"), NULL, &again);
    if (st == FERRY_OK) st = ferry_predict(ctx, again, j->d, &p);
    ferry_prediction_free(p);
    ferry_model_free(m);
    ferry_model_free(again);
    ferry_opts_free(opts);
    return st;
}

static void test_memory(void **state)
{
    static const char *const jobs[][2] = {
        {"latentmap", "rank=3"},
        {"kmeans-hop", "restarts=2"},
        {"cotransfer", "neighbours=3 iterations=3 centre=yes"},
        {"htlic", "latent=2 iterations=3"},
        {"triplex", "iterations=2 identical=2 alike=2 distinct=1"},
    };
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 6, .seed = 5, .seen = 2};
    job one = {journey_task(ctx, &j), journey_domain(ctx, &j, 2), NULL, NULL};

    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        one.method = jobs[i][0];
        one.settings = jobs[i][1];
        each_allocation_fails(ctx, body, &one);
    }
    ferry_domain_free(one.d);
    ferry_task_free(one.task);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_crosses),
        T(test_bridge_labels),
        T(test_same),
        T(test_latentmap_rotates),
        T(test_cotransfer_mass),
        T(test_htlic_falls),
        T(test_cancel),
        T(test_no_link),
        T(test_bad),
        T(test_triplex_it),
        T(test_broken_files),
        T(test_memory),
    };
    return cmocka_run_group_tests_name("bridge_baselines", tests, NULL, NULL);
}
