/* ttl and ttl-paper over chains of domains; starts, files, what must not matter. */
#include <jansson.h>

#include "journey.h"
#include "learn/factor_model.h"
#include "methods/frame.h"

static double share_right(ferry_ctx *ctx, const journey *j, const char *settings)
{
    ferry_task *task = journey_task(ctx, j);
    ferry_model *m = fit_model(ctx, task, "ttl", settings);
    const double right = journey_right(ctx, j, m);

    ferry_model_free(m);
    ferry_task_free(task);
    return right;
}

static void test_crosses(void **state)
{
    static const char *const ways[] = {
        "",
        "refine=no report=no",
        "report=no refine=yes",
        "mode=paper",
        "mode=paper loss=kl exponent=1 iterations=40",
        "mode=paper norm=absorb weights=norm",
        "mode=paper p1=4 p2=0 tol=1e-4",
    };
    const journey three = {.domains = 3, .c = 2, .n = 60, .noise = 0.2, .seed = 1};
    const journey five = {
        .domains = 5, .c = 3, .n = 60, .noise = 0.1, .seed = 2, .seen = 6};
    const journey direct = {.domains = 2, .c = 2, .n = 60, .noise = 0.1, .seed = 3};
    const journey many = {.domains = 3, .c = 2, .n = 300, .noise = 0.4, .seed = 4};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        assert_true(share_right(*state, &three, ways[i]) > 0.95);
        assert_true(share_right(*state, &five, ways[i]) > 0.9);
        assert_true(share_right(*state, &direct, ways[i]) > 0.95);
    }
    assert_true(share_right(*state, &many, "") > 0.95); /* enough to choose beta */
}

/* These need not find the classes, but must run and answer with shares. */
static void test_other_starts(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const ways[] = {"mode=paper start=random iterations=5",
                                       "mode=paper start=uniform iterations=5",
                                       "mode=paper norm=none iterations=20",
                                       "mode=paper norm=simplex iterations=10",
                                       "mode=paper weights=1,2,0.5,1 iterations=3",
                                       "mode=paper p1=0 iterations=3",
                                       "mode=paper iterations=0"};
    const journey j = {.domains = 3, .c = 2, .n = 20, .noise = 0.2, .seed = 1};
    ferry_task *task = journey_task(ctx, &j);

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        ferry_domain *d = journey_domain(ctx, &j, 2);
        ferry_prediction *p = fit_predict(ctx, task, "ttl", ways[i], d);
        for (int64_t r = 0; r < p->n; r++) {
            assert_true(p->score[2 * r] >= 0 && p->score[2 * r + 1] >= 0);
            if (!strstr(ways[i], "none"))
                assert_close(p->score[2 * r] + p->score[2 * r + 1], 1, 1e-12);
        }
        ferry_prediction_free(p);
        ferry_domain_free(d);
    }
    ferry_task_free(task);
}

/* Documents that were not in the target at fit. */
static void test_new_documents(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const ways[] = {"", "refine=no", "mode=paper",
                                       "mode=paper norm=simplex",
                                       "mode=paper loss=kl exponent=1"};
    const journey j = {.domains = 3, .c = 2, .n = 60, .noise = 0.1, .seed = 4};
    journey later = j;
    ferry_task *task = journey_task(ctx, &j);

    later.seed = 5;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        ferry_model *m = fit_model(ctx, task, "ttl", ways[i]);
        assert_true(journey_right(ctx, &later, m) > 0.93);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

/* The answers are those of the fit itself, do not depend on the order of documents, survive
 * saving, and do not depend on the number of threads. */
static void check_same(ferry_ctx *ctx, const journey *j, const char *settings)
{
    journey back = *j;
    ferry_task *task = journey_task(ctx, j), *other;
    ferry_domain *d = journey_domain(ctx, j, j->domains - 1), *e;
    ferry_model *m = fit_model(ctx, task, "ttl", settings), *again = NULL;
    ferry_prediction *p = NULL, *q = NULL, *r = NULL, *t = NULL;
    const char *path = tmp_path("ttl.ferry");

    back.turned = true;
    other = journey_task(ctx, &back);
    e = journey_domain(ctx, &back, j->domains - 1);
    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    assert_ok(ctx, ferry_model_save(ctx, m, path));
    assert_ok(ctx, ferry_model_load(ctx, path, NULL, &again));
    assert_ok(ctx, ferry_predict(ctx, again, d, &q));
    r = fit_predict(ctx, other, "ttl", settings, e);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 2));
    t = fit_predict(ctx, task, "ttl", settings, d);
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = 0; k < p->k; k++) {
            const double want = p->score[i * p->k + k];
            assert_close(q->score[i * p->k + k], want, 0);
            assert_close(t->score[i * p->k + k], want, 0);
            assert_close(r->score[(p->n - 1 - i) * p->k + k], want, 1e-3);
        }
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_prediction_free(r);
    ferry_prediction_free(t);
    ferry_model_free(m);
    ferry_model_free(again);
    ferry_domain_free(d);
    ferry_domain_free(e);
    ferry_task_free(task);
    ferry_task_free(other);
}

static void test_same(void **state)
{
    const journey j = {.domains = 4, .c = 3, .n = 30, .noise = 0.3, .seed = 5};

    check_same(*state, &j, "");
    check_same(*state, &j, "refine=no");
    check_same(*state, &j, "mode=paper iterations=10");
    check_same(*state, &j, "mode=paper loss=kl iterations=10");
}

/* ---- trust ---- */

static double diagnostic(const ferry_model *m, const char *name)
{
    json_t *all = json_loads(m->diagnostics, 0, NULL), *v;
    double value;

    v = json_object_get(all, name);
    value = json_number_value(json_is_array(v) ? json_array_get(v, 0) : v);
    json_decref(all);
    return value;
}

/* The report tells a good journey from one whose source labels are dealt at random. */
static void test_trust(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 120, .noise = 0.3, .seed = 7};
    ferry_task *task = journey_task(ctx, &j), *bad = NULL;
    ferry_domain *s = journey_domain(ctx, &j, 0);
    ferry_model *m;
    char ids[120][16];
    const char *id[120], *label[120];
    ferry_rng rng;

    m = fit_model(ctx, task, "ttl", "");
    assert_true(diagnostic(m, "source_kappa") > 0.8);
    assert_true(diagnostic(m, "bridge_reliability") > 0.5);
    assert_true(diagnostic(m, "reliability") > 0.5);
    assert_null(strstr(m->diagnostics, "\"note\""));
    assert_non_null(strstr(m->diagnostics, "\"top_features\":{\"c0\":[\"w1."));
    ferry_model_free(m);
    ferry_i_rng_seed(&rng, 1, 1);
    for (int i = 0; i < 120; i++) {
        id[i] = journey_id(&j, i, ids[i]);
        label[i] = ferry_i_rng_below(&rng, 2) ? "c0" : "c1";
    }
    assert_ok(ctx, ferry_domain_set_classes(ctx, s, 120, id, label));
    assert_ok(ctx, ferry_task_new(ctx, "bad", FERRY_CLASSIFY, &bad));
    assert_ok(ctx, ferry_task_add_domain(ctx, bad, s));
    assert_ok(ctx, ferry_task_add_domain(ctx, bad, journey_domain(ctx, &j, 1)));
    assert_ok(ctx, ferry_task_add_domain(ctx, bad, journey_domain(ctx, &j, 2)));
    m = fit_model(ctx, bad, "ttl", "");
    assert_true(diagnostic(m, "source_kappa") < 0.36);
    assert_non_null(strstr(m->diagnostics, "\"note\":\"source_kappa"));
    ferry_model_free(m);
    ferry_task_free(task);
    ferry_task_free(bad);
}

/* The journey with another bridge: words at random (noise = 1) or not, `share` of the rows
 * labelled; true labels, or dealt by chance. */
static ferry_task *labelled_bridge(ferry_ctx *ctx, const journey *j, double noise,
                                   double share, bool chance)
{
    journey k = *j;
    ferry_task *task = NULL;
    char ids[400][16];
    const char *id[400], *label[400];
    int64_t n = 0;
    ferry_rng rng;

    k.noise = noise;
    ferry_i_rng_seed(&rng, j->seed, 99);
    ferry_domain *over = journey_domain(ctx, &k, 1);
    for (int64_t i = 0; i < j->n; i++) {
        const int64_t cls =
            chance ? (int64_t)ferry_i_rng_below(&rng, 2) : journey_class(j, i);
        if (ferry_i_rng_real(&rng) >= share) continue;
        id[n] = journey_id(j, i, ids[n]);
        label[n++] = cls ? "c1" : "c0";
    }
    if (n > 0) assert_ok(ctx, ferry_domain_set_classes(ctx, over, n, id, label));
    assert_ok(ctx, ferry_task_new(ctx, "labelled", FERRY_CLASSIFY, &task));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, journey_domain(ctx, j, 0)));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, over));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, journey_domain(ctx, j, 2)));
    return task;
}

/* Labels that are known say nothing about how well labels cross: a bridge of noise has the
 * least weight however much of it is labelled, a good one keeps its weight, and the landing
 * of a target of noise does not rise with its labels. */
static void test_known_rows(void **state)
{
    ferry_ctx *ctx = *state;
    static const double shares[] = {0, 0.3, 0.6, 0.9};
    int high = 0;

    for (uint64_t seed = 1; seed <= 5; seed++)
        for (int i = 0; i < 8; i++) {
            const journey j = {.domains = 3, .c = 2, .n = 400, .noise = 0.3, .seed = seed};
            const bool bad = i < 4;
            ferry_task *task = labelled_bridge(ctx, &j, bad ? 1 : 0.3, shares[i % 4], bad);
            ferry_model *m = fit_model(ctx, task, "ttl", "");
            const double w = diagnostic(m, "bridge_reliability");
            if (bad)
                high += w >= (shares[i] == 0 ? 0.12 : 0.051);
            else
                assert_true(w > 0.5);
            ferry_model_free(m);
            ferry_task_free(task);
        }
    assert_true(high <=
                1); /* of 20: agreement beyond two deviations also comes by chance */
    const journey noise = {
        .domains = 3, .c = 2, .n = 200, .noise = 1, .seen = 180, .seed = 3};
    ferry_task *task = journey_task(ctx, &noise);
    ferry_model *m = fit_model(ctx, task, "ttl", "");
    assert_true(diagnostic(m, "reliability") < 0.05);
    assert_non_null(strstr(m->diagnostics, "reliability 0.00"));
    ferry_model_free(m);
    ferry_task_free(task);
}

/* A link is missing. */
static void test_no_link(void **state)
{
    ferry_ctx *ctx = *state;
    const journey gap = {.domains = 4, .c = 2, .n = 20, .seed = 3, .only = 2};
    ferry_task *task = journey_task(ctx, &gap);
    ferry_model *m = NULL;

    assert_fails(ctx, ferry_fit(ctx, task, "ttl", NULL, &m, NULL), FERRY_ENEEDS,
                 "ttl needs features that lead from a source to target");
    ferry_task_free(task);
}

/* ---- two kinds of features ---- */

/* n tagged texts, n pairs, n pictures: histograms whose class shows in a difference of bins
 * and whose main clusters (bright, dark) are not the classes. */
static ferry_task *pictures(ferry_ctx *ctx, int64_t n, double least, ferry_domain **target)
{
    static const char *const names[] = {"tags", "pairs", "photos"};
    static const ferry_role roles[] = {FERRY_SOURCE, FERRY_INTERMEDIATE, FERRY_TARGET};
    ferry_task *task = NULL;
    char letters[64];
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 8, 8);
    assert_ok(ctx, ferry_task_new(ctx, "pictures", FERRY_CLASSIFY, &task));
    for (int d = 0; d < 3; d++) {
        double *text = calloc((size_t)(n * 40), sizeof *text);
        double *image = calloc((size_t)(n * 6), sizeof *image);
        ferry_domain *dom = NULL;
        for (int64_t i = 0; i < n; i++) {
            const int64_t y = i % 2, bright = (i / 2) % 2;
            for (int w = 0; w < 3; w++)
                text[i * 40 + 2 * (int64_t)ferry_i_rng_below(&rng, 20) + y] = 1;
            for (int64_t f = 0; f < 6; f++)
                image[i * 6 + f] = least + 1 + ferry_i_rng_real(&rng) +
                                   9 * (double)(f / 3 == bright) + 4 * (double)(f % 3 == y);
            letters[i] = (char)('a' + y);
        }
        letters[n] = 0;
        assert_ok(ctx, ferry_domain_new(ctx, names[d], roles[d], &dom));
        if (d < 2) small_view(ctx, dom, "text", n, 40, text, NULL, NULL, true);
        if (d > 0) small_view(ctx, dom, "image", n, 6, image, NULL, NULL, false);
        if (d == 0) small_classes(ctx, dom, letters);
        if (d == 2) *target = dom;
        assert_ok(ctx, ferry_task_add_domain(ctx, task, dom));
        free(text);
        free(image);
    }
    return task;
}

/* Settling would follow brightness; the check without labels says no. Features below 0 are
 * never settled and no food for the factorisation. */
static void test_pictures(void **state)
{
    ferry_ctx *ctx = *state;
    static const double least[] = {0, -3};

    for (int t = 0; t < 2; t++) {
        ferry_domain *d = NULL;
        ferry_task *task = pictures(ctx, 60, least[t], &d);
        ferry_model *m = fit_model(ctx, task, "ttl", "");
        ferry_prediction *p = NULL;
        ferry_opts *paper = settings_of(ctx, "mode=paper iterations=10");
        int64_t right = 0;
        assert_ok(ctx, ferry_predict(ctx, m, d, &p));
        for (int64_t i = 0; i < p->n; i++)
            right += p->cls[i] == i % 2;
        assert_true(right > 54);
        assert_non_null(strstr(m->diagnostics, "\"refined\":\"no\""));
        ferry_prediction_free(p);
        ferry_model_free(m);
        if (t == 0)
            assert_ok(ctx, ferry_fit(ctx, task, "ttl", paper, &m, NULL));
        else
            assert_fails(ctx, ferry_fit(ctx, task, "ttl", paper, &m, NULL), FERRY_ENEEDS,
                         "view 'image' has some below 0");
        ferry_model_free(m);
        ferry_opts_free(paper);
        ferry_task_free(task);
    }
}

/* ---- mistakes, stops, memory ---- */

/* Labels of the bridge, all wrong: they are believed unless they are hidden. */
static void test_bridge_labels(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {
        .domains = 3, .c = 2, .n = 40, .noise = 0.1, .seed = 1, .wrong = true};
    ferry_task *task = journey_task(ctx, &j);

    for (int hide = 0; hide < 2; hide++) {
        ferry_model *m =
            fit_model(ctx, task, "ttl", hide ? "bridge_labels=hide" : "bridge_labels=use");
        const double right = journey_right(ctx, &j, m);
        assert_true(hide ? right > 0.95 : right < 0.05);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

static void test_bad(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const bad[][2] = {
        {"mode=paper p1=0 p2=0", "leave no cluster"},
        {"mode=paper norm=simplex loss=kl", "goes with loss=squared"},
        {"mode=paper weights=1,2", "4 numbers above 0"},
        {"mode=paper weights=1,2,3,-1", "4 numbers above 0"},
        {"mode=paper weights=1,2,3,4,5", "4 numbers above 0"},
        {"mode=paper weights=alike", "expected equal, norm or 4"},
        {"mode=paper scale=standard", "is standardised"},
    };
    const journey j = {.domains = 3, .c = 2, .n = 8, .seed = 1};
    ferry_task *task = journey_task(ctx, &j);
    ferry_model *m = NULL;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ferry_opts *opts = settings_of(ctx, bad[i][0]);
        const ferry_status st = ferry_fit(ctx, task, "ttl", opts, &m, NULL);
        assert_true(st == FERRY_EINVAL || st == FERRY_ENEEDS);
        assert_non_null(strstr(ferry_message(ctx), bad[i][1]));
        ferry_opts_free(opts);
    }
    ferry_task_free(task);
}

static ferry_answer stop_at_2(void *user, const ferry_progress *p)
{
    return strncmp(p->what, "ttl", 3) == 0 && p->done == 2 ? *(ferry_answer *)user
                                                           : FERRY_GO;
}

static void test_stops(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 10, .seed = 1};
    ferry_task *task = journey_task(ctx, &j);
    ferry_opts *opts = settings_of(ctx, "mode=paper");
    ferry_answer say = FERRY_FINISH;
    ferry_fit_info rep = {.size = sizeof rep};
    ferry_model *m = NULL;

    ferry_ctx_set_progress(ctx, stop_at_2, &say);
    assert_ok(ctx, ferry_fit(ctx, task, "ttl", opts, &m, &rep));
    assert_int_equal(rep.stop, FERRY_STOP_FINISH);
    assert_int_equal(rep.iters, 2);
    ferry_model_free(m);
    say = FERRY_CANCEL;
    assert_fails(ctx, ferry_fit(ctx, task, "ttl", opts, &m, &rep), FERRY_ECANCELLED, "");
    assert_fails(ctx, ferry_fit(ctx, task, "ttl", NULL, &m, &rep), FERRY_ECANCELLED, "");
    ferry_opts_free(opts);
    ferry_task_free(task);
}

/* Rows that were there at fit keep the labels that the factorisation gave them; others that look alike do not. */
static void test_recalls(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 20, .noise = 0.2, .seed = 6};
    ferry_task *task = journey_task(ctx, &j);
    ferry_domain *d = journey_domain(ctx, &j, 2), *e = NULL;
    ferry_model *m = fit_model(ctx, task, "ttl-paper", "iterations=2 start=random");
    const fitted *f = m->state;
    const factor_state *of = f->state;
    ferry_prediction *p = NULL, *q = NULL;
    double away = 0;

    assert_int_equal(of->rows, 20);
    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    for (int64_t i = 0; i < p->n; i++) {
        bool found = false;
        for (int64_t r = 0; r < of->rows; r++)
            found = found || memcmp(ROW(of->g, r), p->score + i * p->k,
                                    (size_t)p->k * sizeof(double)) == 0;
        assert_true(found);
    }
    journey other = j;
    other.ids = "other";
    e = journey_domain(ctx, &other, 2);
    assert_ok(ctx, ferry_predict(ctx, m, e, &q));
    for (int64_t i = 0; i < p->n * p->k; i++)
        away = fmax(away, fabs(p->score[i] - q->score[i]));
    assert_true(away > 0.01);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_model_free(m);
    ferry_domain_free(d);
    ferry_domain_free(e);
    ferry_task_free(task);
}

static const ferry_diagnostic *told(const ferry_model *m, const char *name)
{
    for (int64_t i = 0; ferry_model_diagnostic_at(m, i); i++)
        if (strcmp(ferry_model_diagnostic_at(m, i)->name, name) == 0)
            return ferry_model_diagnostic_at(m, i);
    return NULL;
}

/* One group after the other: of a single group it is the same thing, of two it is not, and it crosses as well. With
 * equal first labels of the bridge nothing of the target flows back: how many rows the target has, and what they say,
 * changes no objective of the first group, as it does where both are solved at once. */
static void test_separated(void **state)
{
    ferry_ctx *ctx = *state;
    const journey direct = {.domains = 2, .c = 2, .n = 30, .noise = 0.1, .seed = 3};
    const journey three = {.domains = 3, .c = 2, .n = 60, .noise = 0.2, .seed = 1};
    const journey *j[] = {&direct, &three};

    for (int i = 0; i < 2; i++) {
        ferry_task *task = journey_task(ctx, j[i]);
        ferry_domain *d = journey_domain(ctx, j[i], j[i]->domains - 1);
        ferry_prediction *p = fit_predict(ctx, task, "ttl-paper", "iterations=30", d);
        ferry_prediction *q =
            fit_predict(ctx, task, "ttl-paper", "iterations=30 separated=yes", d);
        double away = 0;
        for (int64_t e = 0; e < p->n * p->k; e++)
            away = fmax(away, fabs(p->score[e] - q->score[e]));
        assert_true(i == 0 ? away == 0 : away > 1e-3);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_domain_free(d);
        ferry_model *m = fit_model(ctx, task, "ttl-paper", "iterations=30 separated=yes");
        assert_true(journey_right(ctx, j[i], m) > 0.9);
        ferry_model_free(m);
        ferry_task_free(task);
    }
}

/* p of those that it tries, the one whose share of labels found again is largest, told; labels that are not shown
 * play no part, and neither does the order of rows. */
static void test_p_by_folds(void **state)
{
    ferry_ctx *ctx = *state;
    const char *how = "p=cv folds=3 iterations=4 start=uniform";
    static const double sizes[] = {10, 20, 30, 40, 60};
    const journey j = {.domains = 3, .c = 2, .n = 24, .noise = 0.3, .seed = 5};
    journey turned = j;
    double share[2][5];

    turned.turned = true;
    for (int i = 0; i < 2; i++) {
        ferry_task *task = journey_task(ctx, i ? &turned : &j);
        ferry_model *m = fit_model(ctx, task, "ttl-paper", how);
        const ferry_diagnostic *of = told(m, "p_accuracy");
        int64_t best = 0;
        assert_int_equal(of->count, 5);
        for (int64_t k = 0; k < 5; k++) {
            share[i][k] = of->numbers[k];
            assert_true(share[i][k] >= 0 && share[i][k] <= 1);
            if (share[i][k] > share[i][best]) best = k;
        }
        assert_true(told(m, "p")->numbers[0] == sizes[best]);
        ferry_model_free(m);
        ferry_task_free(task);
    }
    for (int64_t k = 0; k < 5; k++)
        assert_close(share[0][k], share[1][k], 1e-9);
}

/* An untrusted file whose numbers no fit has left. */
static void test_broken_files(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 10, .seed = 1};
    ferry_task *task = journey_task(ctx, &j);
    ferry_model *m = fit_model(ctx, task, "ttl-paper", "iterations=2"), *again = NULL;
    factor_state *of = ((fitted *)m->state)->state;
    const char *path = tmp_path("broken.ferry");

    of->loss = 9;
    assert_ok(ctx, ferry_model_save(ctx, m, path));
    assert_fails(ctx, ferry_model_load(ctx, path, NULL, &again), FERRY_EDATA, "loss");
    of->loss = 0;
    of->h.at[0] = -1;
    assert_ok(ctx, ferry_model_save(ctx, m, path));
    assert_fails(ctx, ferry_model_load(ctx, path, NULL, &again), FERRY_EDATA,
                 "tensor H has an entry below 0");
    ferry_model_free(m);
    ferry_task_free(task);
}

static ferry_status fit_and_back(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_task *task = ((void **)arg)[0];
    const ferry_opts *opts = ((void **)arg)[1];
    const ferry_domain *d = ((void **)arg)[2];
    ferry_model *m = NULL, *again = NULL;
    ferry_prediction *p = NULL;
    const char *path = tmp_path("memory.ferry");

    FERRY_TRY(ferry_fit(ctx, task, "ttl", opts, &m, NULL));
    FERRY_TRY(ferry_model_save(ctx, m, path));
    FERRY_TRY(ferry_model_load(ctx, path, NULL, &again));
    FERRY_TRY(ferry_predict(ctx, again, d, &p));
done:
    ferry_prediction_free(p);
    ferry_model_free(again);
    ferry_model_free(m);
    return st;
}

static void test_allocations(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const ways[] = {"steps=2", "refine=no report=no",
                                       "mode=paper iterations=1 p1=2 p2=1",
                                       "mode=paper iterations=1 p1=2 p2=1 loss=kl"};
    const journey j = {.domains = 3, .c = 2, .n = 6, .seed = 1, .seen = 3};
    ferry_task *task = journey_task(ctx, &j);
    ferry_domain *d = journey_domain(ctx, &j, 2);

    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        ferry_opts *opts = settings_of(ctx, ways[w]);
        void *arg[] = {task, opts, d};
        each_allocation_fails(ctx, fit_and_back, arg);
        ferry_opts_free(opts);
    }
    ferry_domain_free(d);
    ferry_task_free(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_crosses, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_other_starts, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_new_documents, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_same, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_trust, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_known_rows, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_link, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_pictures, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bridge_labels, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bad, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_stops, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_recalls, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_separated, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_p_by_folds, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_broken_files, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_allocations, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("ttl", tests, NULL, NULL);
}
