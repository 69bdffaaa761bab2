/* Blends as models: members with weights, each a complete model, which predict together. The answer makes them
 * (run/answer.c); a task cannot name one, so this is in no list of methods, but a model's file may say that it is one. */
#include "model/blend.h"

#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/scope.h"
#include "methods/method.h"

enum { MOST_MEMBERS = 64 };

typedef struct state {
    scope *keep;
    int64_t n;
    ferry_model **member;
    double *weight, *scale;
    ferry_ids *graphs, *known; /* of all members; NULL: none */
} state;

static void free_state(void *of)
{
    state *b = of;

    if (!b) return;
    scope_close(b->keep);
    ferry_i_free(b);
}

static void free_model(void *m)
{
    ferry_model_free(m);
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

/* Room for the members, in a scope of the state's own. */
static void begin(scope *s, state *b, int64_t n)
{
    if (!(b->keep = scope_open(scope_ctx(s)))) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_bind(b->keep, s);
    b->member = NEW(b->keep, ferry_model *, n);
    b->n = n;
}

static void take_member(state *b, int64_t j, ferry_model *m)
{
    b->member[j] = m;
    scope_defer(b->keep, free_model, m);
}

/* *to gets those of `from`; either may be NULL. */
static void join_ids(scope *keep, const ferry_ids *from, ferry_ids **to)
{
    if (!from) return;
    if (!*to) {
        if (!(*to = ferry_i_ids_new())) scope_check(keep, ferry_i_nomem(scope_ctx(keep)));
        scope_defer(keep, free_ids, *to);
    }
    for (int64_t i = 0; i < ferry_i_ids_count(from); i++)
        if (ferry_i_ids_add(*to, ferry_i_ids_at(from, i), NULL) < 0)
            scope_check(keep, ferry_i_nomem(scope_ctx(keep)));
}

/* What the members ask of new data. */
static void join_graphs(state *b)
{
    for (int64_t j = 0; j < b->n; j++) {
        const ferry_model *m = b->member[j];
        if (m->method->graphs) join_ids(b->keep, m->method->graphs(m->state), &b->graphs);
        if (m->method->known) join_ids(b->keep, m->method->known(m->state), &b->known);
    }
}

static const ferry_ids *graphs(const void *of)
{
    return ((const state *)of)->graphs;
}

static const ferry_ids *known(const void *of)
{
    return ((const state *)of)->known;
}

/* ---- answers ---- */

typedef struct answering {
    const state *b;
    const ferry_domain *d;
    ferry_prediction *p;
} answering;

static void free_prediction(void *p)
{
    ferry_prediction_free(p);
}

static void predict_body(scope *s, void *arg)
{
    const answering *a = arg;
    const state *b = a->b;
    ferry_blended *parts = NEW(s, ferry_blended, b->n);

    for (int64_t j = 0; j < b->n; j++) {
        ferry_prediction *own = NULL;
        scope_check(s, ferry_predict(scope_ctx(s), b->member[j], a->d, &own));
        scope_defer(s, free_prediction, own);
        parts[j] = (ferry_blended){own, b->weight[j], b->scale[j]};
    }
    scope_check(s, ferry_i_blend(scope_ctx(s), b->n, parts, a->p));
}

static ferry_status predict(ferry_ctx *ctx, const void *of, const ferry_domain *d,
                            ferry_prediction *p)
{
    return scope_run(ctx, predict_body, &(answering){of, d, p});
}

/* ---- the file: a member is the bytes of its own file ---- */

typedef struct filing {
    ferry_io *io;
    state *b;
} filing;

static const char *member_name(scope *s, int64_t j)
{
    return scope_text(s, "member.%lld", (long long)j);
}

static void free_text(void *text)
{
    ferry_string_free(text);
}

static void save_body(scope *s, void *arg)
{
    const filing *f = arg;
    const state *b = f->b;
    ferry_ctx *ctx = scope_ctx(s);
    ferry_dict *to = f->io->to;

    scope_check(s, ferry_i_dict_put_ints(ctx, to, "members", 1, &b->n));
    scope_check(s, ferry_i_dict_put_reals(ctx, to, "weights", b->n, 1, b->weight));
    scope_check(s, ferry_i_dict_put_reals(ctx, to, "scales", b->n, 1, b->scale));
    for (int64_t j = 0; j < b->n; j++) {
        char *bytes = NULL;
        int64_t n = 0;
        scope_check(s, ferry_model_to_memory(ctx, b->member[j], &bytes, &n));
        scope_defer(s, free_text, bytes);
        scope_check(s, ferry_i_dict_put_bytes(ctx, to, member_name(s, j), n,
                                              (const uint8_t *)bytes));
    }
}

static double *load_reals(scope *s, scope *keep, const ferry_dict *from, const char *name,
                          int64_t n)
{
    const double *x = NULL;
    int64_t one = 1;

    scope_check(s, ferry_i_dict_reals(scope_ctx(s), from, name, &n, &one, &x));
    return COPY(keep, x, n);
}

static void load_member(scope *s, state *b, int64_t j, const ferry_dict *from)
{
    const uint8_t *bytes = NULL;
    ferry_model *m = NULL;
    int64_t n = -1;

    if (!(b->weight[j] > 0 && b->scale[j] >= 0))
        scope_fail(s, FERRY_EDATA, "member %lld of a blend weighs %g", (long long)j,
                   b->weight[j]);
    scope_check(s, ferry_i_dict_bytes(scope_ctx(s), from, member_name(s, j), &n, &bytes));
    scope_check(s, ferry_model_from_memory(scope_ctx(s), (const char *)bytes, n, NULL, &m));
    take_member(b, j, m);
    if (strcmp(m->method->name, "blend") == 0)
        scope_fail(s, FERRY_EDATA, "a blend of blends");
    if (m->goal != b->member[0]->goal)
        scope_fail(s, FERRY_EDATA, "the members of a blend have different goals");
}

static void load_body(scope *s, void *arg)
{
    const filing *f = arg;
    state *b = f->b;
    const ferry_dict *from = f->io->from;
    const int64_t *members = NULL;
    int64_t one = 1;

    scope_check(s, ferry_i_dict_ints(scope_ctx(s), from, "members", &one, &members));
    if (members[0] <= 0 || members[0] > MOST_MEMBERS)
        scope_fail(s, FERRY_EDATA, "a blend of %lld models", (long long)members[0]);
    begin(s, b, members[0]);
    b->weight = load_reals(s, b->keep, from, "weights", b->n);
    b->scale = load_reals(s, b->keep, from, "scales", b->n);
    for (int64_t j = 0; j < b->n; j++)
        load_member(s, b, j, from);
    join_graphs(b);
}

static void file(ferry_io *io, void *of)
{
    io->st = scope_run(io->ctx, io->to ? save_body : load_body, &(filing){io, of});
}

const ferry_method ferry_i_method_blend = {
    .name = "blend",
    .summary = "a weighted mean of what several models predict",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_MULTILABEL,
    .asked = true,
    .predict = predict,
    .graphs = graphs,
    .known = known,
    FERRY_STATE(state, file, free_state),
};

/* ---- fitting ---- */

/* How new data is read: as the first member was. */
static void copy_schema(scope *s, const ferry_model *from, ferry_model *to)
{
    for (int64_t i = 0; i < from->n_views; i++) {
        const ferry_view *v = from->views[i];
        scope_check(s, ferry_i_model_add_view(scope_ctx(s), to, v->name, v->x->cols,
                                              v->features, v->read, v->idf));
    }
    if (!from->inputs) return;
    const int64_t n = 3 * from->views[0]->x->cols;
    if (!(to->inputs = ferry_i_calloc(n, sizeof *to->inputs)))
        scope_check(s, ferry_i_nomem(scope_ctx(s)));
    memcpy(to->inputs, from->inputs, (size_t)n * sizeof *to->inputs);
}

typedef struct fitting {
    const ferry_task *task;
    int64_t n;
    const ferry_blend_part *parts;
    state *b;       /* under way, ... */
    ferry_model *m; /* ... as is this */
    ferry_model **out;
} fitting;

static void free_under_way(void *arg)
{
    fitting *f = arg;

    free_state(f->b);
    ferry_model_free(f->m);
}

static void fit_body(scope *s, void *arg)
{
    fitting *f = arg;
    ferry_ctx *ctx = scope_ctx(s);
    const ferry_blend_part *parts = f->parts;

    scope_defer(s, free_under_way, f);
    state *b = f->b = ferry_i_calloc(1, sizeof *b);
    if (!b) scope_check(s, ferry_i_nomem(ctx));
    begin(s, b, f->n);
    b->weight = NEW(b->keep, double, f->n);
    b->scale = NEW(b->keep, double, f->n);
    for (int64_t j = 0; j < f->n; j++) {
        ferry_model *m = NULL;
        b->weight[j] = parts[j].weight;
        b->scale[j] = parts[j].scale;
        scope_check(s, ferry_i_fit(ctx, f->task, parts[j].how, parts[j].opts, &m, NULL));
        take_member(b, j, m);
    }
    const ferry_model *first = b->member[0];
    join_graphs(b);
    scope_check(s, ferry_i_model_new(ctx, &ferry_i_method_blend, NULL, first->goal,
                                     first->names, &f->m));
    copy_schema(s, first, f->m);
    FERRY_MOVE(f->m->state, f->b);
    FERRY_MOVE(*f->out, f->m);
}

ferry_status ferry_i_fit_blend(ferry_ctx *ctx, const ferry_task *task, int64_t n,
                               const ferry_blend_part *parts, ferry_model **out)
{
    *out = NULL;
    if (n == 1) return ferry_i_fit(ctx, task, parts[0].how, parts[0].opts, out, NULL);
    return scope_run(ctx, fit_body,
                     &(fitting){.task = task, .n = n, .parts = parts, .out = out});
}
