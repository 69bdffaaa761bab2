/* ferry_fit and ferry_predict around a method made for the purpose, which records what it
 * is shown. */
#include "ferry_test.h"

#include <jansson.h>
#include <stdio.h>

#include "methods/method.h"

/* ---- the method ---- */

typedef struct toy_options {
    int64_t rounds;
    const char *word;
} toy_options;

static const ferry_opt toy_opts[] = {
    FERRY_OPT(toy_options, INT, rounds, 3, 0, 100, "iterations"),
    FERRY_OPT_STRING(toy_options, word, "none", "any word"),
};

enum { MOST = 6 };
static struct {
    int64_t n_views, rows[2], cols[2], covers[2];
    double cell[2][MOST][MOST];
    bool has_missing[2], labels;
    double rating;
    int32_t answer; /* class to predict */
    bool fits_called;
    char word[16];
} seen;

typedef struct toy_state {
    int64_t k;
} toy_state;

static ferry_status toy_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const toy_options *o = options;

    seen.fits_called = true;
    if (o->rounds == 13)
        return ferry_i_fail(ctx, FERRY_ENEEDS, "toy cannot count %lld domains to 13",
                            (long long)task->n_domains);
    return FERRY_OK;
}

static ferry_status toy_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                            void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const toy_options *o = options;
    toy_state *s = ferry_i_calloc(1, sizeof *s);
    bool finish = false;

    FERRY_HAVE(ctx, s);
    s->k = ferry_i_ids_count(task->names);
    assert_true(isnan(rep->objective));
    snprintf(seen.word, sizeof seen.word, "%s", o->word);
    ferry_i_diag_text(ctx, "word", o->word);
    rep->stop = FERRY_STOP_MAX_ITER;
    for (; rep->iters < o->rounds && !finish; rep->iters++) {
        rep->objective = 10.0 / (double)(rep->iters + 1);
        FERRY_TRY(ferry_i_progress(ctx, "toy", rep->iters + 1, o->rounds, rep->objective,
                                   &finish));
    }
    if (finish) rep->stop = FERRY_STOP_FINISH;
    *state = s;
    s = NULL;
done:
    ferry_i_free(s);
    return st;
}

static void record(const ferry_domain *d)
{
    seen.n_views = d->n_views;
    seen.labels = d->labels != NULL;
    for (int64_t v = 0; v < d->n_views && v < 2; v++) {
        const ferry_view *w = d->views[v];
        seen.rows[v] = w->x->rows;
        seen.cols[v] = w->x->cols;
        seen.has_missing[v] = w->has_missing;
        seen.covers[v] = 0;
        assert_int_equal(w->n_instances, ferry_i_ids_count(d->ids));
        for (int64_t i = 0; i < w->n_instances; i++) {
            seen.covers[v] += w->row_of[i] >= 0;
            if (w->row_of[i] >= 0) assert_int_equal(w->instance[w->row_of[i]], i);
        }
        memset(seen.cell[v], 0, sizeof seen.cell[v]);
        for (int64_t i = 0; i < w->x->rows; i++) {
            for (int64_t j = 0; w->x->dense && j < w->x->cols; j++)
                seen.cell[v][i][j] = w->x->dense[i * w->x->cols + j];
            for (int64_t e = w->x->dense ? 0 : w->x->start[i];
                 !w->x->dense && e < w->x->start[i + 1]; e++)
                seen.cell[v][i][w->x->index[e]] = w->x->value[e];
        }
    }
}

static ferry_status toy_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                ferry_prediction *p)
{
    const toy_state *s = state;

    (void)ctx;
    record(d);
    assert_int_equal(p->k, ferry_i_goal_named(p->goal) ? s->k : 0);
    if (p->goal == FERRY_RATE) seen.rating = d->ratings->value[0];
    for (int64_t i = 0; i < p->n; i++) {
        if (p->cls) p->cls[i] = seen.answer;
        if (p->value) p->value[i] = i == 1 ? NAN : 0.5 + (double)i;
        for (int64_t c = 0; c < p->k; c++) {
            p->score[i * p->k + c] = (double)(i + c) / 4;
            if (p->set) p->set[i * p->k + c] = (uint8_t)(c == i % 2);
        }
    }
    return FERRY_OK;
}

static ferry_status toy_transform(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                  ferry_prediction *p)
{
    (void)state;
    record(d);
    assert_null(p->score);
    p->k = 2;
    p->score = ferry_i_calloc(2 * p->n, sizeof *p->score);
    return p->score ? FERRY_OK : ferry_i_nomem(ctx);
}

static void toy_free(void *state)
{
    ferry_i_free(state);
}

static ferry_method toy(unsigned needs)
{
    return (ferry_method){
        .name = "toy",
        .goals =
            FERRY_CLASSIFY | FERRY_MULTILABEL | FERRY_REGRESS | FERRY_RATE | FERRY_EMBED,
        .needs = needs,
        .options = toy_opts,
        .n_options = FERRY_COUNT(toy_opts),
        .options_size = sizeof(toy_options),
        .fits = toy_fits,
        .fit = toy_fit,
        .predict = toy_predict,
        .transform = toy_transform,
        .free = toy_free,
    };
}

/* ---- tasks ---- */

static const double cells[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const char *const abc[] = {"a", "b", "c"};

static ferry_domain *domain(ferry_ctx *ctx, const char *name, ferry_role role)
{
    ferry_domain *d = NULL;

    assert_ok(ctx, ferry_domain_new(ctx, name, role, &d));
    return d;
}

/* A dense view of `rows` instances with these features (NULL: `cols` without names). */
static void add_view(ferry_ctx *ctx, ferry_domain *d, const char *name, int64_t rows,
                     int64_t cols, const char *const *features)
{
    const ferry_array x = {.rows = rows, .cols = cols, .ld = cols, .data = cells};

    assert_ok(ctx, ferry_domain_add_dense(ctx, d, name, &x, NULL, features, NULL));
}

static void add_classes(ferry_ctx *ctx, ferry_domain *d)
{
    static const char *const labels[] = {"yes", "no", NULL};

    assert_ok(ctx, ferry_domain_set_classes(ctx, d, 3, NULL, labels));
}

static ferry_task *task_of(ferry_ctx *ctx, ferry_goal goal, ferry_domain *a,
                           ferry_domain *b)
{
    ferry_task *task = NULL;

    assert_ok(ctx, ferry_task_new(ctx, "test", goal, &task));
    if (a) assert_ok(ctx, ferry_task_add_domain(ctx, task, a));
    if (b) assert_ok(ctx, ferry_task_add_domain(ctx, task, b));
    return task;
}

/* A target with one view of features a, b, c and classes. */
static ferry_task *plain_task(ferry_ctx *ctx)
{
    ferry_domain *t = domain(ctx, "t", FERRY_TARGET);

    add_view(ctx, t, "x", 3, 3, abc);
    add_classes(ctx, t);
    return task_of(ctx, FERRY_CLASSIFY, t, NULL);
}

static ferry_model *fitted(ferry_ctx *ctx, ferry_task *task, const ferry_method *m)
{
    ferry_model *model = NULL;

    assert_ok(ctx, ferry_i_fit(ctx, task, m, NULL, &model, NULL));
    return model;
}

/* ---- fitting ---- */

static void test_report_and_diagnostics(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_method m = toy(0);
    ferry_task *task = plain_task(ctx);
    ferry_opts *opts = opts_of(ctx, "rounds=2", "word=hello", NULL);
    ferry_model *model = NULL;
    ferry_fit_info rep = {.size = sizeof rep};

    assert_ok(ctx, ferry_i_fit(ctx, task, &m, opts, &model, &rep));
    ferry_opts_free(opts);
    assert_int_equal(rep.stop, FERRY_STOP_MAX_ITER);
    assert_int_equal(rep.iters, 2);
    assert_close(rep.objective, 5, 0);
    assert_true(rep.seconds >= 0);
    assert_true(seen.fits_called);
    assert_string_equal(seen.word, "hello");
    assert_string_equal(model->diagnostics,
                        "{\"word\":\"hello\",\"objective\":[10.0,5.0]}");
    assert_int_equal(model->n_list, 2);
    assert_string_equal(ferry_model_diagnostic_at(model, 0)->texts[0], "hello");
    assert_string_equal(ferry_model_diagnostic_at(model, 1)->name, "objective");
    assert_close(ferry_model_diagnostic_at(model, 1)->numbers[1], 5, 0);
    assert_null(ferry_model_diagnostic_at(model, 2));
    assert_null(ferry_model_diagnostic_at(model, -1));
    assert_string_equal(model->method->name, "toy");
    assert_int_equal(model->goal, FERRY_CLASSIFY);
    assert_int_equal(model->n_views, 1);
    assert_string_equal(ferry_model_view_at(model, 0), "x");
    assert_null(ferry_model_view_at(model, 1));
    assert_null(ferry_model_view_at(model, -1));
    assert_null(ctx->diag);
    ferry_model_free(model);
    ferry_model_free(NULL);
    ferry_task_free(task);
}

static ferry_answer answer_second(void *user, const ferry_progress *p)
{
    return p->done == 2 ? *(ferry_answer *)user : FERRY_GO;
}

static void test_finish_and_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_method m = toy(0);
    ferry_task *task = plain_task(ctx);
    ferry_model *model = NULL;
    ferry_fit_info rep = {.size = sizeof rep, .iters = 77};
    ferry_answer answer = FERRY_FINISH;
    json_t *outer = json_object();

    ferry_ctx_set_progress(ctx, answer_second, &answer);
    ctx->diag = outer; /* as inside another fit: stays as it was */
    assert_ok(ctx, ferry_i_fit(ctx, task, &m, NULL, &model, &rep));
    assert_int_equal(rep.stop, FERRY_STOP_FINISH);
    assert_int_equal(rep.iters, 2);
    ferry_model_free(model);
    answer = FERRY_CANCEL;
    rep.iters = 77;
    assert_fails(ctx, ferry_i_fit(ctx, task, &m, NULL, &model, &rep), FERRY_ECANCELLED,
                 "toy: cancelled");
    assert_null(model);
    assert_int_equal(rep.iters, 77);
    assert_ptr_equal(ctx->diag, outer);
    assert_int_equal(json_object_size(outer), 0);
    ctx->diag = NULL;
    json_decref(outer);
    ferry_task_free(task);
}

/* A task without this need, and the sentence. */
static void check_need(ferry_ctx *ctx, unsigned need, ferry_task *task, const char *text)
{
    const ferry_method m = toy(need);
    ferry_model *model = NULL;

    seen.fits_called = false;
    assert_fails(ctx, ferry_i_fit(ctx, task, &m, NULL, &model, NULL), FERRY_ENEEDS, text);
    assert_null(model);
    assert_false(seen.fits_called);
    ferry_task_free(task);
}

static void test_needs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_domain *s, *t;
    ferry_task *task;

    check_need(ctx, 0, task_of(ctx, FERRY_STREAM, domain(ctx, "t", FERRY_TARGET), NULL),
               "toy does not serve the goal stream");
    check_need(ctx, 0, task_of(ctx, FERRY_CLASSIFY, domain(ctx, "s", FERRY_SOURCE), NULL),
               "target");
    check_need(ctx, FERRY_NEED_SOURCE, plain_task(ctx),
               "toy needs a source domain; this task has target 't'");
    check_need(ctx, FERRY_NEED_SOURCE_LABELS, plain_task(ctx),
               "toy needs a source domain; this task has target 't'");
    check_need(ctx, FERRY_NEED_SOURCE_LABELS,
               task_of(ctx, FERRY_CLASSIFY, domain(ctx, "s", FERRY_SOURCE),
                       domain(ctx, "t", FERRY_TARGET)),
               "toy needs labels in a source domain; this task has source 's' and target "
               "'t' without source labels");
    check_need(ctx, FERRY_NEED_INTERMEDIATE,
               task_of(ctx, FERRY_CLASSIFY, domain(ctx, "text", FERRY_SOURCE),
                       domain(ctx, "images", FERRY_TARGET)),
               "toy needs an intermediate domain; this task has source 'text' and target "
               "'images'");
    check_need(ctx, FERRY_NEED_TARGET_LABELS,
               task_of(ctx, FERRY_CLASSIFY, domain(ctx, "t", FERRY_TARGET), NULL),
               "toy needs some labels in the target; target 't' has none that it may see");
    check_need(ctx, FERRY_NEED_GRAPH, plain_task(ctx),
               "toy needs a graph in the target; target 't' has none");
    check_need(ctx, FERRY_NEED_TARGET_VIEW,
               task_of(ctx, FERRY_CLASSIFY, domain(ctx, "t", FERRY_TARGET), NULL),
               "toy needs a view in the target; target 't' has none");
    check_need(ctx, FERRY_NEED_RATINGS, plain_task(ctx),
               "toy needs ratings in every domain; target 't' has none");
    s = domain(ctx, "s", FERRY_SOURCE);
    t = domain(ctx, "t", FERRY_TARGET);
    add_view(ctx, t, "x", 3, 3, NULL);
    check_need(ctx, FERRY_NEED_VIEW, task_of(ctx, FERRY_CLASSIFY, s, t),
               "toy needs a view in every domain; source 's' has none");
    t = domain(ctx, "t", FERRY_TARGET);
    add_view(ctx, t, "x", 3, 3, NULL);
    add_view(ctx, t, "y", 3, 2, NULL);
    check_need(ctx, FERRY_NEED_ONE_VIEW, task_of(ctx, FERRY_CLASSIFY, t, NULL),
               "toy needs just one view in every domain; target 't' has 2");
    /* Three domains in one sentence. */
    task = task_of(ctx, FERRY_CLASSIFY, domain(ctx, "s", FERRY_SOURCE),
                   domain(ctx, "t", FERRY_TARGET));
    assert_ok(ctx, ferry_task_add_domain(ctx, task, domain(ctx, "r", FERRY_SOURCE)));
    check_need(ctx, FERRY_NEED_INTERMEDIATE, task,
               "this task has source 's', target 't' and source 'r'");
}

/* A bridge without a view matters only to a method that uses bridges. */
static void test_needs_of_an_unused_intermediate(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_method alone = toy(FERRY_NEED_ONE_VIEW);
    ferry_task *task = plain_task(ctx);

    assert_ok(ctx,
              ferry_task_add_domain(ctx, task, domain(ctx, "bridge", FERRY_INTERMEDIATE)));
    assert_ok(ctx, ferry_i_fits(ctx, task, &alone, NULL));
    check_need(ctx, FERRY_NEED_ONE_VIEW | FERRY_NEED_INTERMEDIATE, task,
               "toy needs one view in every domain; intermediate 'bridge' has none");
}

static void test_needs_met(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const one[] = {"1"}, *const two[] = {"2"};
    const ferry_method m = toy(
        FERRY_NEED_SOURCE | FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS |
        FERRY_NEED_VIEW | FERRY_NEED_ONE_VIEW | FERRY_NEED_GRAPH | FERRY_NEED_TARGET_VIEW);
    ferry_domain *s = domain(ctx, "s", FERRY_SOURCE), *t = domain(ctx, "t", FERRY_TARGET);
    ferry_opts *opts = opts_of(ctx, "rounds=13", NULL);
    ferry_model *model = NULL;

    add_view(ctx, s, "x", 3, 2, NULL);
    add_classes(ctx, s);
    add_view(ctx, t, "x", 3, 3, NULL);
    add_classes(ctx, t);
    assert_ok(ctx, ferry_domain_add_graph(ctx, t, "g", 1, one, two, NULL));
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, s, t);
    ferry_model_free(fitted(ctx, task, &m));
    assert_fails(ctx, ferry_i_fit(ctx, task, &m, opts, &model, NULL), FERRY_ENEEDS,
                 "toy cannot count 2 domains to 13");
    ferry_opts_free(opts);
    ferry_task_free(task);
}

static void test_bad_arguments(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_method m = toy(0);
    ferry_task *task = plain_task(ctx);
    ferry_opts *high = opts_of(ctx, "rounds=101", NULL),
               *odd = opts_of(ctx, "round=1", NULL);
    ferry_model *model = NULL;

    assert_fails(ctx, ferry_i_fit(ctx, task, &m, high, &model, NULL), FERRY_EINVAL,
                 "toy: rounds = 101 is outside [0, 100]");
    assert_fails(ctx, ferry_i_fit(ctx, task, &m, odd, &model, NULL), FERRY_EINVAL,
                 "did you mean rounds?");
    assert_null(model);
    assert_fails(ctx, ferry_fit(ctx, task, "majorty", NULL, &model, NULL), FERRY_EINVAL,
                 "majority");
    assert_null(model);
    assert_fails(ctx, method_fits(ctx, "majorty", task, NULL), FERRY_EINVAL, "majority");
    assert_ok(ctx, method_fits(ctx, "majority", task, NULL));
    assert_fails(ctx, method_fits(ctx, "majority", task, odd), FERRY_EINVAL, "round");
    ferry_opts_free(high);
    ferry_opts_free(odd);
    ferry_task_free(task);
}

/* ---- predicting ---- */

static ferry_prediction *predicted(ferry_ctx *ctx, const ferry_model *model,
                                   ferry_domain *d)
{
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_predict(ctx, model, d, &p));
    ferry_domain_free(d);
    return p;
}

static int64_t warnings;
static char last_warning[256];

static void count_warning(void *user, ferry_level level, const char *line)
{
    (void)user;
    if (level != FERRY_WARN) return;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", line);
}

static void test_columns_by_name(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const cxa[] = {"c", "new", "a"};
    const ferry_method m = toy(FERRY_NEED_VIEW);
    ferry_task *task = plain_task(ctx);
    ferry_model *model = fitted(ctx, task, &m);
    ferry_domain *d = domain(ctx, "new", FERRY_TARGET);

    ferry_ctx_set_log(ctx, count_warning, FERRY_WARN, NULL);
    warnings = 0;
    add_view(ctx, d, "another name", 2, 3, cxa);
    ferry_prediction_free(predicted(ctx, model, d));
    assert_int_equal(seen.n_views, 1);
    assert_int_equal(seen.rows[0], 2);
    assert_int_equal(seen.cols[0], 3);
    assert_close(seen.cell[0][0][0], 3, 0);
    assert_true(isnan(seen.cell[0][0][1]));
    assert_close(seen.cell[0][0][2], 1, 0);
    assert_close(seen.cell[0][1][0], 6, 0);
    assert_true(isnan(seen.cell[0][1][1]));
    assert_true(seen.has_missing[0]);
    assert_int_equal(warnings, 2); /* new ones, and ones that are not there */
    assert_non_null(strstr(last_warning, "1 of the 3 features that the model learned from "
                                         "are not there, such as 'b'"));
    /* The same columns: shared, not copied, no word about it. */
    d = domain(ctx, "same", FERRY_TARGET);
    add_view(ctx, d, "x", 3, 3, abc);
    ferry_prediction_free(predicted(ctx, model, d));
    assert_close(seen.cell[0][2][2], 9, 0);
    assert_false(seen.has_missing[0]);
    assert_int_equal(warnings, 2);
    ferry_model_free(model);
    ferry_task_free(task);
}

static void test_columns_by_number(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t start[] = {0, 1, 3};
    const int32_t narrow[] = {1, 0, 1}, wide[] = {4, 0, 2};
    const double value[] = {7, 8, 9};
    ferry_sparse x = {
        .rows = 2, .cols = 2, .start = start, .index = narrow, .value = value};
    const ferry_method m = toy(FERRY_NEED_VIEW);
    ferry_task *task = plain_task(ctx);
    ferry_model *model = fitted(ctx, task, &m);
    ferry_prediction *p = NULL;
    ferry_domain *d = domain(ctx, "d", FERRY_TARGET);

    add_view(ctx, d, "x", 2, 2, NULL);
    assert_fails(ctx, ferry_predict(ctx, model, d, &p), FERRY_ENEEDS, "2");
    assert_null(p);
    ferry_domain_free(d);
    d = domain(ctx, "narrow", FERRY_TARGET);
    assert_ok(ctx, ferry_domain_add_sparse(ctx, d, "x", &x, NULL, NULL, NULL));
    ferry_prediction_free(predicted(ctx, model, d));
    assert_int_equal(seen.cols[0], 3);
    assert_close(seen.cell[0][0][1], 7, 0);
    assert_close(seen.cell[0][1][2], 0, 0);
    assert_false(seen.has_missing[0]);
    ferry_ctx_set_log(ctx, count_warning, FERRY_WARN, NULL);
    warnings = 0;
    x.cols = 5;
    x.index = wide;
    d = domain(ctx, "wide", FERRY_TARGET);
    assert_ok(ctx, ferry_domain_add_sparse(ctx, d, "x", &x, NULL, NULL, NULL));
    ferry_prediction_free(predicted(ctx, model, d));
    assert_int_equal(seen.cols[0], 3);
    assert_close(seen.cell[0][0][0], 0, 0);
    assert_close(seen.cell[0][1][0], 8, 0);
    assert_close(seen.cell[0][1][2], 9, 0);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last_warning, "2 of 5 features"));
    ferry_model_free(model);
    ferry_task_free(task);
}

static void test_views_by_name(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_method m = toy(FERRY_NEED_VIEW);
    ferry_domain *t = domain(ctx, "t", FERRY_TARGET), *d;
    ferry_prediction *p = NULL;

    add_view(ctx, t, "image", 3, 2, NULL);
    add_view(ctx, t, "text", 3, 3, abc);
    add_classes(ctx, t);
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, t, NULL);
    ferry_model *model = fitted(ctx, task, &m);
    /* In another order, and one that the model does not know. */
    d = domain(ctx, "d", FERRY_TARGET);
    add_view(ctx, d, "sound", 4, 1, NULL);
    add_view(ctx, d, "text", 2, 3, abc);
    add_view(ctx, d, "image", 1, 2, NULL);
    p = predicted(ctx, model, d);
    assert_int_equal(p->n, 4);
    assert_int_equal(seen.n_views, 2);
    assert_int_equal(seen.cols[0], 2);
    assert_int_equal(seen.rows[0], 1);
    assert_int_equal(seen.covers[0], 1);
    assert_int_equal(seen.cols[1], 3);
    assert_int_equal(seen.covers[1], 2);
    ferry_prediction_free(p);
    /* One is absent: no rows, the right columns. */
    d = domain(ctx, "d", FERRY_TARGET);
    add_view(ctx, d, "text", 2, 3, abc);
    ferry_prediction_free(predicted(ctx, model, d));
    assert_int_equal(seen.rows[0], 0);
    assert_int_equal(seen.cols[0], 2);
    assert_int_equal(seen.covers[0], 0);
    assert_int_equal(seen.covers[1], 2);
    /* None of them. */
    d = domain(ctx, "d", FERRY_TARGET);
    add_view(ctx, d, "sound", 4, 1, NULL);
    assert_fails(
        ctx, ferry_predict(ctx, model, d, &p), FERRY_ENEEDS,
        "domain 'd' has no instance in a view that the model knows: it learned from "
        "'image', 'text', the domain has 'sound'");
    assert_null(p);
    ferry_domain_free(d);
    ferry_model_free(model);
    ferry_task_free(task);
}

static void test_no_views_needed(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_method m = toy(0);
    ferry_task *task = plain_task(ctx);
    ferry_model *model = fitted(ctx, task, &m);
    ferry_domain *d = domain(ctx, "d", FERRY_TARGET);

    add_classes(ctx, d);
    ferry_prediction *p = predicted(ctx, model, d);
    assert_int_equal(p->n, 3);
    assert_false(seen.labels);
    assert_string_equal(p->ids[2], "3");
    ferry_prediction_free(p);
    ferry_model_free(model);
    ferry_task_free(task);
}

static void test_no_instances(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_method m = toy(FERRY_NEED_VIEW);
    ferry_task *task = plain_task(ctx);
    ferry_model *model = fitted(ctx, task, &m);
    ferry_prediction *p = predicted(ctx, model, domain(ctx, "nobody", FERRY_TARGET));

    assert_int_equal(p->n, 0);
    assert_int_equal(p->k, 2);
    assert_ok(ctx, ferry_prediction_write(ctx, p, tmp_path("none.csv")));
    char *text = slurp(tmp_path("none.csv"));
    assert_string_equal(text, "id,prediction,score.no,score.yes\n");
    free(text);
    ferry_prediction_free(p);
    ferry_prediction_free(NULL);
    ferry_model_free(model);
    ferry_task_free(task);
}

/* ---- goals and CSV ---- */

static void check_csv(ferry_ctx *ctx, ferry_prediction *p, const char *want)
{
    assert_ok(ctx, ferry_prediction_write(ctx, p, tmp_path("p.csv")));
    char *text = slurp(tmp_path("p.csv"));
    assert_string_equal(text, want);
    free(text);
    assert_fails(ctx, ferry_prediction_write(ctx, p, tmp_path("no/p.csv")), FERRY_EIO,
                 "cannot write");
    ferry_prediction_free(p);
}

static void test_classify(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const ids[] = {"a,b", "say \"x\"", "plain"}, *const labels[] = {
                                                                        "one, two", "b",
                                                                        "b"};
    const ferry_method m = toy(0);
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY, domain(ctx, "t", FERRY_TARGET), NULL);
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_domain_set_classes(ctx, task->domains[0], 3, ids, labels));
    ferry_model *model = fitted(ctx, task, &m);
    seen.answer = 1;
    assert_ok(ctx, ferry_predict(ctx, model, task->domains[0], &p));
    p->cls[2] = -1; /* no answer */
    check_csv(ctx, p,
              "id,prediction,score.b,\"score.one, two\"\n"
              "\"a,b\",\"one, two\",0,0.25\n"
              "\"say \"\"x\"\"\",\"one, two\",0.25,0.5\n"
              "plain,,0.5,0.75\n");
    seen.answer = 2;
    assert_fails(ctx, ferry_predict(ctx, model, task->domains[0], &p), FERRY_EDATA,
                 "toy: predicts class number 2 of 2");
    assert_null(p);
    seen.answer = 0;
    ferry_model_free(model);
    ferry_task_free(task);
}

static void test_multilabel(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const names[] = {"q", "p"};
    static const uint8_t on[] = {1, 0, 1, 1};
    const ferry_method m = toy(0);
    ferry_task *task = task_of(ctx, FERRY_MULTILABEL, domain(ctx, "t", FERRY_TARGET), NULL);
    ferry_prediction *p = NULL;

    assert_ok(ctx,
              ferry_domain_set_labelsets(ctx, task->domains[0], 2, NULL, 2, names, on));
    ferry_model *model = fitted(ctx, task, &m);
    assert_ok(ctx, ferry_predict(ctx, model, task->domains[0], &p));
    assert_null(p->cls);
    assert_null(p->value);
    check_csv(ctx, p, "id,p,q,score.p,score.q\n1,1,0,0,0.25\n2,0,1,0.25,0.5\n");
    ferry_model_free(model);
    ferry_task_free(task);
}

static void test_regress(void **state)
{
    ferry_ctx *ctx = *state;
    static const double y[] = {1, 2, 3};
    const ferry_method m = toy(0);
    ferry_task *task = task_of(ctx, FERRY_REGRESS, domain(ctx, "t", FERRY_TARGET), NULL);
    ferry_prediction *p = NULL;

    assert_ok(ctx, ferry_domain_set_numbers(ctx, task->domains[0], 3, NULL, y));
    ferry_model *model = fitted(ctx, task, &m);
    assert_ok(ctx, ferry_predict(ctx, model, task->domains[0], &p));
    assert_null(p->names);
    check_csv(ctx, p, "id,prediction\n1,0.5\n2,\n3,2.5\n");
    ferry_model_free(model);
    ferry_task_free(task);
}

static void test_rate(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const users[] = {"u", "v", "u"}, *const items[] = {"i", "i", "j"};
    static const double stars[] = {5, 1, NAN};
    const ferry_method m = toy(FERRY_NEED_RATINGS);
    ferry_task *task = task_of(ctx, FERRY_RATE, domain(ctx, "t", FERRY_TARGET), NULL);
    ferry_prediction *p = NULL;
    ferry_domain *none = domain(ctx, "none", FERRY_TARGET);

    assert_ok(ctx, ferry_domain_set_ratings(ctx, task->domains[0], 3, users, items, stars));
    ferry_model *model = fitted(ctx, task, &m);
    assert_ok(ctx, ferry_predict(ctx, model, task->domains[0], &p));
    assert_int_equal(p->n, 3);
    assert_true(isnan(seen.rating));
    assert_close(task->domains[0]->ratings->value[0], 5, 0);
    check_csv(ctx, p, "user,item,value\nu,i,0.5\nv,i,\nu,j,2.5\n");
    assert_fails(ctx, ferry_predict(ctx, model, none, &p), FERRY_ENEEDS,
                 "domain 'none' has no pairs to rate");
    ferry_domain_free(none);
    ferry_model_free(model);
    ferry_task_free(task);
}

static void test_embed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_method m = toy(FERRY_NEED_TARGET_VIEW);
    ferry_domain *t = domain(ctx, "t", FERRY_TARGET);
    ferry_prediction *p = NULL;

    add_view(ctx, t, "x", 2, 3, NULL);
    ferry_task *task = task_of(ctx, FERRY_EMBED, t, NULL);
    ferry_model *model = fitted(ctx, task, &m);
    assert_ok(ctx, ferry_predict(ctx, model, t, &p));
    check_csv(ctx, p, "id,z1,z2\n1,0,0\n2,0,0\n");
    ferry_model_free(model);
    m.transform = NULL;
    model = fitted(ctx, task, &m);
    assert_fails(ctx, ferry_predict(ctx, model, t, &p), FERRY_ENEEDS,
                 "toy makes no embeddings");
    ferry_model_free(model);
    ferry_task_free(task);
}

/* ---- memory ---- */

typedef struct memory_case {
    ferry_task *task;
    ferry_domain *domain;
    ferry_method method;
} memory_case;

static ferry_status fit_and_predict(ferry_ctx *ctx, void *arg)
{
    const memory_case *c = arg;
    ferry_status st = FERRY_OK;
    ferry_model *model = NULL;
    ferry_prediction *p = NULL;

    FERRY_TRY(ferry_i_fit(ctx, c->task, &c->method, NULL, &model, NULL));
    FERRY_TRY(ferry_predict(ctx, model, c->domain, &p));
done:
    if (st != FERRY_OK) assert_null(p);
    ferry_prediction_free(p);
    ferry_model_free(model);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const cxa[] = {"c", "new", "a"}, *const users[] = {"u", "v"};
    static const char *const again[] = {"v", "u", "v"};
    static const double stars[] = {1, 2, 3};
    memory_case c = {.method = toy(FERRY_NEED_VIEW)};

    c.task = plain_task(ctx);
    c.domain = domain(ctx, "d", FERRY_TARGET);
    add_view(ctx, c.domain, "x", 2, 3, cxa);
    each_allocation_fails(ctx, fit_and_predict, &c);
    ferry_domain_free(c.domain);
    ferry_task_free(c.task);
    c.method = toy(FERRY_NEED_RATINGS);
    c.domain = domain(ctx, "d", FERRY_TARGET);
    assert_ok(ctx, ferry_domain_set_ratings(ctx, c.domain, 2, users, users, stars));
    c.task = task_of(ctx, FERRY_RATE, c.domain, NULL);
    each_allocation_fails(ctx, fit_and_predict, &c);
    c.domain = domain(ctx, "asked", FERRY_TARGET); /* twice about one pair */
    assert_ok(ctx, ferry_domain_set_ratings(ctx, c.domain, 3, again, again, stars));
    each_allocation_fails(ctx, fit_and_predict, &c);
    ferry_domain_free(c.domain);
    ferry_task_free(c.task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_report_and_diagnostics),
        TEST(test_finish_and_cancel),
        TEST(test_needs),
        TEST(test_needs_of_an_unused_intermediate),
        TEST(test_needs_met),
        TEST(test_bad_arguments),
        TEST(test_columns_by_name),
        TEST(test_columns_by_number),
        TEST(test_views_by_name),
        TEST(test_no_views_needed),
        TEST(test_no_instances),
        TEST(test_classify),
        TEST(test_multilabel),
        TEST(test_regress),
        TEST(test_rate),
        TEST(test_embed),
        TEST(test_no_memory),
    };
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
