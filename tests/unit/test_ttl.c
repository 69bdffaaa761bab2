/* ttl: both modes over journeys; starts, files, trust, what must not matter. */
#include "golden.h"
#include "journey.h"
#include "methods/method.h"
#include "methods/ttl/ttl.h"
#include "prepare/prepare.h"

static double cross(ferry_ctx *ctx, const journey *j, const char *settings)
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
        "settle=no trust=no",
        "trust=no settle=yes",
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
        assert_true(cross(*state, &three, ways[i]) > 0.95);
        assert_true(cross(*state, &five, ways[i]) > 0.9);
        assert_true(cross(*state, &direct, ways[i]) > 0.95);
    }
    assert_true(cross(*state, &many, "") > 0.95); /* enough to choose beta */
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
    static const char *const ways[] = {"", "settle=no", "mode=paper",
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
    assert_ok(ctx, ferry_model_load(ctx, path, "ttl", &again));
    assert_ok(ctx, ferry_predict(ctx, again, d, &q));
    r = fit_predict(ctx, other, "ttl", settings, e);
    assert_ok(ctx, ferry_ctx_set_threads(ctx, 2));
    t = fit_predict(ctx, task, "ttl", settings, d);
    assert_ok(ctx, ferry_ctx_set_threads(ctx, 1));
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = 0; k < p->k; k++) {
            const double want = p->score[i * p->k + k];
            assert_close(q->score[i * p->k + k], want, 0);
            assert_close(t->score[i * p->k + k], want, 0);
            assert_close(r->score[(p->n - 1 - i) * p->k + k], want, 1e-3);
        }
    if (((const ttl_state *)m->state)->f.g)
        for (int64_t i = 0; i < p->n * p->k; i++)
            assert_close(p->score[i], ((const ttl_state *)m->state)->f.g->data[i], 0);
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
    check_same(*state, &j, "settle=no");
    check_same(*state, &j, "mode=paper iterations=10");
    check_same(*state, &j, "mode=paper loss=kl iterations=10");
}

/* 12 iterations are 5 and then 7 from the file. */
static void test_init(void **state)
{
    ferry_ctx *ctx = *state;
    const journey j = {.domains = 3, .c = 2, .n = 20, .noise = 0.2, .seed = 6};
    ferry_task *task = journey_task(ctx, &j);
    const char *path = tmp_path("start.ferry");
    ferry_model *a = fit_model(ctx, task, "ttl", "mode=paper iterations=12");
    ferry_model *b = fit_model(ctx, task, "ttl", "mode=paper iterations=5"), *c = NULL;
    ferry_opts *opts = opts_of(ctx, "mode=paper", "iterations=7", NULL);
    const factors *sa, *sc;

    assert_ok(ctx, ferry_model_save(ctx, b, path));
    assert_ok(ctx, ferry_opts_set(ctx, opts, "init", path));
    assert_ok(ctx, ferry_fit(ctx, task, "ttl", opts, &c, NULL));
    sa = &((ttl_state *)a->state)->f;
    sc = &((ttl_state *)c->state)->f;
    for (int64_t t = 0; t < sa->n_tensors; t++) {
        assert_string_equal(sc->tensor[t].name, sa->tensor[t].name);
        for (int64_t e = 0; e < sa->tensor[t].rows * sa->tensor[t].cols; e++)
            assert_close(sc->tensor[t].data[e], sa->tensor[t].data[e], 1e-12);
    }
    ferry_model_free(c);
    assert_ok(ctx, ferry_opts_set(ctx, opts, "p1", "7"));
    assert_fails(ctx, ferry_fit(ctx, task, "ttl", opts, &c, NULL), FERRY_EDATA,
                 "factor F1.0 is 96 x 20, expected 96 x 7");
    assert_ok(ctx, ferry_opts_set(ctx, opts, "p1", "20"));
    ((ttl_state *)b->state)->f.tensor[0].data[3] = -1;
    assert_ok(ctx, ferry_model_save(ctx, b, path));
    assert_fails(ctx, ferry_fit(ctx, task, "ttl", opts, &c, NULL), FERRY_EDATA,
                 "factor F1.0 has an entry below 0");
    (void)strcpy(((ttl_state *)b->state)->f.tensor[0].name, "Z");
    assert_ok(ctx, ferry_model_save(ctx, b, path));
    assert_fails(ctx, ferry_fit(ctx, task, "ttl", opts, &c, NULL), FERRY_EDATA,
                 "has no factor F1.0");
    assert_ok(ctx, ferry_opts_set(ctx, opts, "init", "no-such.ferry"));
    assert_fails(ctx, ferry_fit(ctx, task, "ttl", opts, &c, NULL), FERRY_EDATA, "no-such");
    ferry_opts_free(opts);
    ferry_model_free(a);
    ferry_model_free(b);
    ferry_task_free(task);
}

/* ---- a worked case from a file ---- */

/* Domain d of a case with one view a domain. */
static ferry_domain *golden_domain(ferry_ctx *ctx, const json_t *file, int64_t d,
                                   int64_t last)
{
    const ferry_role role = d == 0      ? FERRY_SOURCE
                            : d == last ? FERRY_TARGET
                                        : FERRY_INTERMEDIATE;
    const json_t *groups = golden_at(file, "groups");
    const json_t *labels = json_array_get(golden_at(file, "labels"), (size_t)d);
    ferry_domain *out = NULL;
    char name[16], letters[64] = {0};

    (void)snprintf(name, sizeof name, "d%d", (int)d);
    for (size_t g = 0; !out && g < json_array_size(groups); g++)
        for (size_t v = 0; !out && v < json_array_size(json_array_get(groups, g)); v++) {
            const json_t *view = json_array_get(json_array_get(groups, g), v);
            int64_t m, n;
            double *x;
            if ((int64_t)golden_real(view, "domain") != d) continue;
            x = golden_transposed(view, "X", &m, &n);
            out = small_domain(ctx, name, role, n, m, x);
            free(x);
        }
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const int64_t y = json_integer_value(json_array_get(labels, i));
        letters[i] = y < 0 ? '?' : (char)('a' + y);
    }
    if (strspn(letters, "?") < strlen(letters)) small_classes(ctx, out, letters);
    return out;
}

/* The tensors of a fit become those of the file; what 50 iterations make of them is G. */
static void check_golden(ferry_ctx *ctx, const char *name, const char *settings)
{
    json_t *file = golden(name);
    ferry_task *task = NULL;
    ferry_opts *opts = settings_of(ctx, settings);
    const char *path = tmp_path("golden.ferry");
    ferry_model *m = NULL;
    ttl_state *s;
    int64_t last;

    if (!file) goto done;
    last = (int64_t)json_array_size(golden_at(file, "labels")) - 1;
    assert_ok(ctx, ferry_task_new(ctx, "golden", FERRY_CLASSIFY, &task));
    for (int64_t d = 0; d <= last; d++)
        assert_ok(ctx, ferry_task_add_domain(ctx, task, golden_domain(ctx, file, d, last)));
    assert_ok(ctx, ferry_opts_set(ctx, opts, "iterations", "0"));
    assert_ok(ctx, ferry_fit(ctx, task, "ttl", opts, &m, NULL));
    s = m->state;
    for (int64_t t = 0; t < s->f.n_tensors; t++) {
        const char kind[3] = {s->f.tensor[t].name[0],
                              s->f.tensor[t].name[1] == '.' ? 0 : s->f.tensor[t].name[1],
                              0};
        const int64_t at = atoi(strchr(s->f.tensor[t].name, '.') + 1);
        const json_t *from = golden_at(golden_at(file, "init"), kind);
        from = kind[1] == '2'
                   ? json_array_get(json_array_get(from, (size_t)at / 2), (size_t)at % 2)
                   : json_array_get(from, (size_t)at);
        for (int64_t e = 0; e < s->f.tensor[t].rows * s->f.tensor[t].cols; e++)
            s->f.tensor[t].data[e] = json_number_value(
                json_array_get(json_array_get(from, (size_t)(e / s->f.tensor[t].cols)),
                               (size_t)(e % s->f.tensor[t].cols)));
    }
    assert_ok(ctx, ferry_model_save(ctx, m, path));
    ferry_model_free(m);
    assert_ok(ctx, ferry_opts_set(ctx, opts, "iterations", "50"));
    assert_ok(ctx, ferry_opts_set(ctx, opts, "init", path));
    assert_ok(ctx, ferry_fit(ctx, task, "ttl", opts, &m, NULL));
    s = m->state;
    {
        const json_t *g = json_array_get(
            golden_at(golden_at(golden_at(file, "after"), "50"), "G"), (size_t)last);
        for (int64_t e = 0; e < s->f.g->rows * s->f.c; e++)
            assert_close(
                s->f.g->data[e],
                json_number_value(json_array_get(json_array_get(g, (size_t)(e / s->f.c)),
                                                 (size_t)(e % s->f.c))),
                1e-8);
    }
    ferry_model_free(m);
    ferry_task_free(task);
    json_decref(file);
done:
    ferry_opts_free(opts);
}

static void test_golden(void **state)
{
    check_golden(*state, "ttl/binary_paper.json", "mode=paper scale=none p1=3 p2=2");
    check_golden(*state, "ttl/binary_absorb.json",
                 "mode=paper scale=none p1=3 p2=2 norm=absorb");
    check_golden(*state, "ttl/three_class_clamped.json", "mode=paper scale=none p1=4 p2=3");
    check_golden(*state, "ttl/chain_k2.json", "mode=paper scale=none p1=3 p2=2");
    check_golden(*state, "ttl/simplex.json",
                 "mode=paper scale=none p1=3 p2=2 norm=simplex");
}

/* ---- trust ---- */

static double diagnostic(const ferry_model *m, const char *name)
{
    json_t *all = json_loads(ferry_model_diagnostics(m), 0, NULL), *v;
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
    assert_true(diagnostic(m, "boarding") > 0.8);
    assert_true(diagnostic(m, "crossing") > 0.5);
    assert_true(diagnostic(m, "landing") > 0.5);
    assert_null(strstr(ferry_model_diagnostics(m), "\"note\""));
    assert_non_null(strstr(ferry_model_diagnostics(m), "\"top_features\":{\"c0\":[\"w1."));
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
    assert_true(diagnostic(m, "boarding") < 0.36);
    assert_non_null(strstr(ferry_model_diagnostics(m), "\"note\":\"boarding"));
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

    for (uint64_t seed = 1; seed <= 5; seed++)
        for (int i = 0; i < 8; i++) {
            const journey j = {.domains = 3, .c = 2, .n = 400, .noise = 0.3, .seed = seed};
            const bool bad = i < 4;
            ferry_task *task = labelled_bridge(ctx, &j, bad ? 1 : 0.3, shares[i % 4], bad);
            ferry_model *m = fit_model(ctx, task, "ttl", "");
            const double w = diagnostic(m, "crossing");
            assert_true(bad ? w < (shares[i] == 0 ? 0.12 : 0.051) : w > 0.5);
            ferry_model_free(m);
            ferry_task_free(task);
        }
    const journey noise = {
        .domains = 3, .c = 2, .n = 200, .noise = 1, .seen = 180, .seed = 3};
    ferry_task *task = journey_task(ctx, &noise);
    ferry_model *m = fit_model(ctx, task, "ttl", "");
    assert_true(diagnostic(m, "landing") < 0.05);
    assert_non_null(strstr(ferry_model_diagnostics(m), "landing 0.00"));
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
        assert_non_null(strstr(ferry_model_diagnostics(m), "\"settled\":\"no\""));
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
    return strcmp(p->what, "ttl") == 0 && p->done == 2 ? *(ferry_answer *)user : FERRY_GO;
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

static void test_broken_files(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t good[] = {1, 2, 0}, odd[] = {1, 1, 0}, facts[] = {0, 0, 1},
                  bad[] = {9, 0, 1};
    const int64_t prepare[] = {FERRY_PATH, 0, 0, 0, 2, 2, FERRY_SCALE_L2, 0, 0, 0, 0, 0},
                  hash[] = {7};
    const double h[] = {1, 2, 3, 4};
    ferry_ids *ids = ferry_i_ids_numbers(1);
    ferry_dict *dict = NULL;
    void *out = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "ttl", 3, odd));
    assert_fails(ctx, ferry_i_method_load(ctx, ferry_i_method_find("ttl"), dict, &out),
                 FERRY_EDATA, "mode 1, 1 classes");
    ferry_i_dict_free(dict);
    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "ttl", 3, good));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "prepare", 12, prepare));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "prepare.fill.0", 1, 2, h));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "factorisation", 3, bad));
    assert_fails(ctx, ferry_i_method_load(ctx, ferry_i_method_find("ttl"), dict, &out),
                 FERRY_EDATA, "loss 9, norm 0, 1 factors");
    ferry_i_dict_free(dict);
    assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "ttl", 3, good));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "prepare", 12, prepare));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "prepare.fill.0", 1, 2, h));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "factorisation", 3, facts));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "H", 2, 2, h));
    assert_ok(ctx, ferry_i_dict_put_ids(ctx, dict, "seen", ids));
    assert_ok(ctx, ferry_i_dict_put_reals(ctx, dict, "seen.G", 1, 2, h));
    assert_ok(ctx, ferry_i_dict_put_ints(ctx, dict, "seen.hash", 1, hash));
    assert_fails(ctx, ferry_i_method_load(ctx, ferry_i_method_find("ttl"), dict, &out),
                 FERRY_EDATA, "text factors is missing");
    assert_ok(ctx, ferry_i_dict_put_text(ctx, dict, "factors", ""));
    assert_fails(ctx, ferry_i_method_load(ctx, ferry_i_method_find("ttl"), dict, &out),
                 FERRY_EDATA, "has 0 names, expected 1");
    ferry_i_dict_free(dict);
    ferry_i_ids_free(ids);
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
    FERRY_TRY(ferry_model_load(ctx, path, "ttl", &again));
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
    static const char *const ways[] = {"settle_steps=2", "settle=no trust=no",
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
        cmocka_unit_test_setup_teardown(test_init, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_trust, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_known_rows, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_link, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_pictures, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bridge_labels, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bad, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_stops, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_broken_files, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_allocations, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("ttl", tests, NULL, NULL);
}
