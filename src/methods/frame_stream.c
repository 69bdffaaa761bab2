/* Streams (include/ferry/stream.h): a row is checked against what the model knows and brought into its columns, then the
 * method sees it or learns from it (seam.h, `online`). The framework keeps the rows' preparation, the method's scratch,
 * the row that was seen last and new classes.
 *
 * Nothing here but the arguments and the state decides what happens: no clock, no random numbers. A log of the calls
 * replays to the same bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/online.h"
#include "linalg/blas.h"
#include "linalg/columns.h"
#include "methods/frame.h"

/* ---- what a model is asked about itself ---- */

static const online *online_of(const ferry_model *model)
{
    return model->method->next ? model->method->next->online : NULL;
}

static const void *state_of(const ferry_model *model)
{
    return ((const fitted *)model->state)->state;
}

/* A method that can stream may also serve goals that cannot. */
int ferry_i_model_streams(const ferry_model *model)
{
    if (!model) return 0;
    return online_of(model) &&
           (model->goal == FERRY_CLASSIFY || model->goal == FERRY_STREAM);
}

int ferry_i_model_watches(const ferry_model *model)
{
    if (!model) return 0;
    const online *o = online_of(model);

    return o && o->watches && o->watches(state_of(model));
}

/* Methods for streams have one view; its width is what a row must have. */
int64_t ferry_i_model_columns(const ferry_model *model)
{
    if (!model) return 0;
    return model->n_views > 0 ? model->views[0]->x->cols : 0;
}

int64_t ferry_i_model_class_count(const ferry_model *model)
{
    if (!model) return 0;
    return ferry_i_ids_count(model->names);
}

const char *ferry_model_class_at(const ferry_model *model, int64_t i)
{
    if (!model) return NULL;
    return i >= 0 && i < ferry_i_model_class_count(model) ? ferry_i_ids_at(model->names, i)
                                                          : NULL;
}

int64_t ferry_i_model_vote_count(const ferry_model *model)
{
    if (!model) return 0;
    const online *o = online_of(model);

    return o && o->votes ? o->votes(state_of(model)) : 0;
}

/* As much of it as the caller knows. */
void ferry_model_get_info(const ferry_model *model, ferry_model_info *out)
{
    if (!model || !out) return;
    const size_t size = out->size;
    const ferry_model_info all = {.size = size,
                                  .method = model->method->name,
                                  .goal = model->goal,
                                  .views = model->n_views,
                                  .graphs = ferry_i_model_graph_count(model),
                                  .classes = ferry_i_model_class_count(model),
                                  .columns = ferry_i_model_columns(model),
                                  .diagnostics = model->diagnostics,
                                  .streams = ferry_i_model_streams(model),
                                  .watches = ferry_i_model_watches(model),
                                  .votes = ferry_i_model_vote_count(model)};

    if (size >= sizeof size) memcpy(out, &all, size < sizeof all ? size : sizeof all);
}

int64_t ferry_i_model_parts(const ferry_model *model, const char **names, double *w)
{
    const online *o = online_of(model);

    return o && o->parts ? o->parts(state_of(model), names, w) : 0;
}

int64_t ferry_i_model_counts(const ferry_model *model, const char **names, double *w)
{
    const online *o = online_of(model);

    return o && o->counts ? o->counts(state_of(model), names, w) : 0;
}

/* ---- rows ---- */

/* A file's parts may differ: a row of other columns would read beyond the weights. */
static ferry_status check_state(ferry_ctx *ctx, const ferry_model *m)
{
    const fitted *f = m->state;

    if (f->of.width != ferry_i_model_columns(m))
        return ferry_i_fail(ctx, FERRY_EDATA,
                            "the model's view has %lld columns, its weights %lld",
                            (long long)ferry_i_model_columns(m), (long long)f->of.width);
    if (f->of.classes > ferry_i_model_class_count(m))
        return ferry_i_fail(
            ctx, FERRY_EDATA, "the model has weights for %lld classes and names for %lld",
            (long long)f->of.classes, (long long)ferry_i_model_class_count(m));
    return FERRY_OK;
}

/* Columns of a sparse row, and what it may not hold. Infinities are counted first: rows come one by one, and nearly none
 * has one. NaN is a missing cell and passes. */
static ferry_status check_cells(ferry_ctx *ctx, const ferry_model *m, const ferry_row *x)
{
    const int64_t cols = ferry_i_model_columns(m);

    for (int64_t e = 0; x->index && e < x->n; e++) {
        if (x->index[e] < 0 || x->index[e] >= cols)
            return ferry_i_fail(ctx, FERRY_EDATA,
                                "a row has column %d, the model's view '%s' 0 to %lld",
                                x->index[e], m->views[0]->name, (long long)cols - 1);
        if (e > 0 && x->index[e - 1] >= x->index[e])
            return ferry_i_fail(
                ctx, FERRY_EDATA,
                "a row has column %d after column %d: expected ascending columns",
                x->index[e], x->index[e - 1]);
    }
    if (ferry_i_row_infinite(x->n, x->value) == 0) return FERRY_OK;
    int64_t e = 0;
    while (e < x->n - 1 && !isinf(x->value[e]))
        e++;
    return ferry_i_fail(ctx, FERRY_EDATA, "a row has an infinite value in column %lld",
                        (long long)(x->index ? x->index[e] : e));
}

/* The row fits the model's only view. */
static ferry_status check_row(ferry_ctx *ctx, const ferry_model *m, const ferry_row *x)
{
    if (!ferry_i_model_streams(m))
        return ferry_i_fail(ctx, FERRY_ENEEDS, "%s does not learn from a stream",
                            m->method->name);
    FERRY_PASS(check_state(ctx, m));
    if (!x->index && x->n != ferry_i_model_columns(m))
        return ferry_i_fail(
            ctx, FERRY_EDATA, "a row has %lld values, the model's view '%s' %lld columns",
            (long long)x->n, m->views[0]->name, (long long)ferry_i_model_columns(m));
    return check_cells(ctx, m, x);
}

/* ---- rows at work: their memory, the row that was seen last ---- */

/* Whether rows have no indices once they are scaled. */
static bool comes_dense(const fitted *f)
{
    return f->prepared->frame[0].scale->dense;
}

static ferry_row scaled(const fitted *f, const ferry_row *x, const ferry_scale_room *to)
{
    return scaler_row(f->prepared->frame[0].scale, x, to);
}

void stream_close(fitted *f)
{
    scope_close(f->rows ? f->rows->of : NULL);
    f->rows = NULL;
}

typedef struct making {
    const fitted *f;
    int64_t k;
    arrivals *to;
} making;

static void make_rows(scope *s, void *arg)
{
    making *m = arg;
    const fitted *f = m->f;
    arrivals *a = NEW(s, arrivals, 1);

    a->last = -1;
    a->value = NEW(s, double, f->of.width);
    a->index = NEW(s, int32_t, f->of.width);
    a->scaled = scale_room(s, f->of.width);
    a->scratch = f->m->online->scratch(s, f->state, m->k, true, comes_dense(f));
    m->to = a;
}

/* In a scope of its own. */
static arrivals *rows_new(scope *s, const fitted *f, int64_t k)
{
    making m = {f, k, NULL};
    scope *of = scope_open(scope_ctx(s));

    if (!of) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_bind(of, s);
    const ferry_status st = scope_try(of, NULL, make_rows, &m);
    if (st != FERRY_OK) scope_close(of);
    scope_check(s, st);
    m.to->of = of;
    return m.to;
}

/* After a fit or a load there is none. */
static void open_rows(scope *s, fitted *f)
{
    if (!f->rows) f->rows = rows_new(s, f, f->of.classes);
}

static void grow_state(scope *s, void *arg)
{
    const making *m = arg;

    state_classes(s, m->f->keep, m->f->m->state, m->f->state, m->f->of, m->k);
}

/* k classes: all memory is had before anything changes. */
static void add_classes(scope *s, fitted *f, int64_t k)
{
    arrivals *more = rows_new(s, f, k);
    const ferry_status st = scope_try(s, f->keep, grow_state, &(making){f, k, NULL});

    if (st != FERRY_OK) scope_close(more->of);
    scope_check(s, st);
    stream_close(f);
    f->rows = more;
    f->of.classes = k;
}

/* The row that was seen, bit by bit: most labels come right after their row, which then is neither scaled nor scored
 * again. */
static void remember(arrivals *a, const ferry_row *x)
{
    if (x->n > 0) memcpy(a->value, x->value, (size_t)x->n * sizeof *a->value);
    if (x->index && x->n > 0) memcpy(a->index, x->index, (size_t)x->n * sizeof *a->index);
    a->last = x->n;
    a->sparse = x->index != NULL;
}

static bool is_last(const arrivals *a, const ferry_row *x)
{
    const size_t n = (size_t)x->n;

    return a && a->last == x->n && a->sparse == (x->index != NULL) &&
           (n == 0 ||
            (memcmp(a->value, x->value, n * sizeof *a->value) == 0 &&
             (!x->index || memcmp(a->index, x->index, n * sizeof *a->index) == 0)));
}

/* ---- seeing and learning ---- */

/* A row, its scores (k of them, or scratch unless they are wanted) and its class: -1 while there is none at all, the
 * first of equals otherwise. */
typedef struct seeing {
    ferry_model *m;
    const ferry_row *x;
    int64_t k;
    bool wanted;
    double *score;
    int32_t *cls, *votes;
} seeing;

/* Classes that have a name and no weights yet (their first learn() failed) score 0. */
static void see_row(const seeing *a)
{
    fitted *f = a->m->state;
    const online *o = f->m->online;
    int32_t cls = -1;

    f->rows->row = scaled(f, a->x, &f->rows->scaled);
    if (!a->wanted && o->answer && a->k == f->of.classes)
        cls = o->answer(f->state, f->rows->scratch, f->rows->row, a->votes);
    if (cls < 0) {
        if (a->k > 0) memset(a->score, 0, (size_t)a->k * sizeof *a->score);
        if (o->see)
            o->see(f->state, f->rows->scratch, f->rows->row, a->score, a->votes);
        else
            o->look(f->state, f->rows->scratch, f->rows->row, a->score);
        cls = row_argmax(a->k, a->score);
    }
    remember(f->rows, a->x);
    *a->cls = cls;
}

static void open_body(scope *s, void *arg)
{
    open_rows(s, arg);
}

/* A class that is new has zero weights first. */
static void learn_row(scope *s, fitted *f, const ferry_row *x, int32_t cls,
                      const int32_t *votes)
{
    const bool seen = cls < f->of.classes && is_last(f->rows, x);

    scope_bind(f->keep, s);
    if (cls >= f->of.classes) add_classes(s, f, (int64_t)cls + 1);
    open_rows(s, f);
    f->rows->last = -1; /* what it left in the scratch is not of now any more */
    const ferry_row in = seen ? f->rows->row : scaled(f, x, &f->rows->scaled);
    f->m->online->learn(s, f->keep, f->state, f->rows->scratch,
                        &(stream_label){in, cls, votes, seen});
}

/* score may be NULL; up to 64 classes then need no memory from the heap. Nothing but the memory can fail. */
ferry_status ferry_model_see(ferry_ctx *ctx, ferry_model *model, const ferry_row *x,
                             int32_t *cls, double *score, int32_t *votes)
{
    FERRY_ARGS(ctx, model, x, cls);

    const int64_t k = ferry_i_model_class_count(model);
    double few[64], *f = score;

    FERRY_PASS(check_row(ctx, model, x));
    FERRY_PASS(ferry_i_blas_ready(ctx));
    if (!((fitted *)model->state)->rows)
        FERRY_PASS(scope_run(ctx, open_body, model->state));
    if (!f) f = k <= FERRY_COUNT(few) ? few : ferry_i_calloc(k, sizeof *f);
    if (!f) return ferry_i_nomem(ctx);
    see_row(&(seeing){model, x, k, score != NULL, f, cls, votes});
    if (f != score && f != few) ferry_i_free(f);
    return FERRY_OK;
}

/* The number of a label; one never met before becomes the last class. A name without weights
 * (no memory for these) is harmless: it scores 0. */
static int32_t class_of(scope *s, ferry_model *m, const char *label)
{
    const int64_t cls = ferry_i_ids_add(m->names, label, NULL);

    if (cls < 0) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    if (cls >= INT32_MAX) scope_fail(s, FERRY_EDATA, "there are too many classes");
    return (int32_t)cls;
}

typedef struct learning {
    ferry_model *m;
    const ferry_row *x;
    const char *label;
    const int32_t *votes;
} learning;

static void learn_body(scope *s, void *arg)
{
    const learning *a = arg;

    if (!*a->label) scope_fail(s, FERRY_EDATA, "a label is empty");
    learn_row(s, a->m->state, a->x, class_of(s, a->m, a->label), a->votes);
}

ferry_status ferry_model_learn(ferry_ctx *ctx, ferry_model *model, const ferry_row *x,
                               const char *label, const int32_t *votes)
{
    FERRY_ARGS(ctx, model, x, label);

    FERRY_PASS(check_row(ctx, model, x));
    FERRY_PASS(ferry_i_blas_ready(ctx));
    return scope_run(ctx, learn_body, &(learning){model, x, label, votes});
}

typedef struct learning_rows {
    ferry_model *m;
    const ferry_array *x;
    int64_t n;
    const char *const *names;
    const int32_t *label;
    int32_t *cls;
} learning_rows;

static bool is_array(const ferry_array *x)
{
    return x->rows >= 0 && x->cols >= 0 && x->ld >= x->cols &&
           (x->data || x->rows == 0 || x->cols == 0);
}

/* All rows and labels are looked at before the first is learned. */
static void check_rows(scope *s, const learning_rows *a)
{
    const ferry_array *x = a->x;

    if (!is_array(x))
        scope_fail(
            s, FERRY_EINVAL,
            "ferry_model_learn_rows: not an array: %lld rows, %lld columns, ld %lld, data %s",
            (long long)x->rows, (long long)x->cols, (long long)x->ld,
            x->data ? "given" : "NULL");
    if (a->n < 0)
        scope_fail(s, FERRY_EINVAL,
                   "ferry_model_learn_rows: n is %lld, expected how many names there are",
                   (long long)a->n);
    for (int64_t c = 0; c < a->n; c++)
        if (!a->names[c] || !*a->names[c]) scope_fail(s, FERRY_EDATA, "a label is empty");
    for (int64_t i = 0; i < x->rows; i++) {
        if (a->label[i] >= a->n)
            scope_fail(s, FERRY_EDATA, "row %lld has label %d, there are %lld names",
                       (long long)i, a->label[i], (long long)a->n);
        scope_check(s, check_row(scope_ctx(s), a->m,
                                 &(ferry_row){x->cols, NULL, x->data + i * x->ld}));
    }
}

/* Names get their numbers when their first row comes, as they would one by one. */
static void learn_rows_body(scope *s, void *arg)
{
    const learning_rows *a = arg;
    ferry_model *m = a->m;
    fitted *f = m->state;
    int32_t seen = -1;

    if (!ferry_i_model_streams(m))
        scope_fail(s, FERRY_ENEEDS, "%s does not learn from a stream", m->method->name);
    check_rows(s, a);
    scope_check(s, ferry_i_blas_ready(scope_ctx(s)));
    double *score = NEW(s, double, ferry_i_model_class_count(m) + a->n);
    int32_t *number = NEW(s, int32_t, a->n),
            *votes = NEW(s, int32_t, ferry_i_model_vote_count(m));
    for (int64_t c = 0; c < a->n; c++)
        number[c] = -1;
    for (int64_t i = 0; i < a->x->rows; i++) {
        const ferry_row row = {a->x->cols, NULL, a->x->data + i * a->x->ld};
        const int64_t k = ferry_i_model_class_count(m), mark = scope_mark(s);
        open_rows(s, f);
        see_row(&(seeing){m, &row, k, false, score, &seen, votes});
        if (a->cls) a->cls[i] = seen;
        if (a->label[i] < 0) continue;
        int32_t *c = &number[a->label[i]];
        if (*c < 0) *c = class_of(s, m, a->names[a->label[i]]);
        learn_row(s, f, &row, *c, votes);
        scope_release(s, mark);
    }
}

ferry_status ferry_model_learn_rows(ferry_ctx *ctx, ferry_model *model,
                                    const ferry_array *x, int64_t n,
                                    const char *const *names, const int32_t *label,
                                    int32_t *cls)
{
    FERRY_ARGS(ctx, model, x, names, label);

    return scope_run(ctx, learn_rows_body,
                     &(learning_rows){model, x, n, names, label, cls});
}

/* ---- predictions: rows that do not count ---- */

typedef struct predicting {
    const fitted *f;
    const ferry_domain *d;
    ferry_prediction *p;
} predicting;

/* Row by row as in a stream, so that both give the same bits; an instance without features has no class. */
static void predict_body(scope *s, void *arg)
{
    const predicting *a = arg;
    const fitted *f = a->f;
    ferry_prediction *p = a->p;

    if (a->d->n_views != 1)
        scope_fail(s, FERRY_EDATA, "%s has one view, domain '%s' %lld", f->m->name,
                   a->d->name, (long long)a->d->n_views);
    const ferry_view *v = a->d->views[0];
    if (v->x->cols != f->of.width)
        scope_fail(s, FERRY_EDATA, "view '%s' has %lld features, the model's %lld", v->name,
                   (long long)v->x->cols, (long long)f->of.width);
    if (!p->cls || p->k < f->of.classes)
        scope_fail(s, FERRY_EDATA,
                   "the model has weights for %lld classes and names for %lld",
                   (long long)f->of.classes, (long long)p->k);
    const ferry_scale_room to = scale_room(s, f->of.width);
    void *scratch =
        f->m->online->scratch(s, f->state, f->of.classes, false, comes_dense(f));
    const matrix x = matrix_borrow(s, v->x);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t r = v->row_of[i];
        /* where a user's cancel arrives; by row it would cost more than a score */
        if (i % 65536 == 65535) (void)progress(s, f->m->name, i, p->n, NAN);
        p->cls[i] = -1;
        if (r < 0) continue;
        const ferry_row row = row_at(x, r), in = scaled(f, &row, &to);
        f->m->online->look(f->state, scratch, in, p->score + i * p->k);
        p->cls[i] = row_argmax(p->k, p->score + i * p->k);
    }
}

ferry_status stream_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                            ferry_prediction *p)
{
    return scope_run(ctx, predict_body, &(predicting){state, d, p});
}

/* ---- the model's file ---- */

/* A stream may have added classes: the state says how many there are. */
static int64_t load_classes(scope *s, const method *m, const ferry_dict *from)
{
    const char *at = m->online->classes, *colon = strchr(at, ':');
    const char *name = scope_text(s, "%.*s", (int)strcspn(at, ":"), at);
    const int64_t entry = colon ? atoi(colon + 1) : 0, *v = NULL;
    int64_t n = -1;

    scope_check(s, ferry_i_dict_ints(scope_ctx(s), from, name, &n, &v));
    if (entry >= n || v[entry] < 0 || v[entry] >= INT32_MAX)
        scope_fail(s, FERRY_EDATA, "tensor %s: a wrong number of classes", name);
    return v[entry];
}

/* As since 0.1: the preparation and the state. */
void stream_load_head(scope *s, fitted *f, const ferry_dict *from)
{
    f->prepared = prepared_load(s, f->keep, "prepare", from);
    if (f->prepared->n_frames != 1)
        scope_fail(s, FERRY_EDATA, "tensor prepare: %lld views, a stream has one",
                   (long long)f->prepared->n_frames);
    f->of.classes = load_classes(s, f->m, from);
}
