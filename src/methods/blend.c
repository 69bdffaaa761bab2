/* Blends as models: members with weights, each a complete model, which predict together. The answer makes them
 * (run/answer.c); a task cannot name one, so this is in no list of methods, but a model's file may say that it is one. */
#include "model/blend.h"

#include <math.h>
#include <string.h>

#include "core/json.h"
#include "methods/method.h"

enum { MOST_MEMBERS = 64 };

typedef struct state {
    int64_t n;
    ferry_model **member;
    double *weight, *scale;
    ferry_ids *graphs, *known; /* of all members; NULL: none */
} state;

static void free_state(void *of)
{
    state *s = of;

    if (!s) return;
    for (int64_t j = 0; s->member && j < s->n; j++)
        ferry_model_free(s->member[j]);
    ferry_i_ids_free(s->graphs);
    ferry_i_ids_free(s->known);
    FERRY_FREE(s->member, s->weight, s->scale, s);
}

/* *to gets those of `from`; either may be NULL. */
static ferry_status join_ids(ferry_ctx *ctx, const ferry_ids *from, ferry_ids **to)
{
    ferry_status st = FERRY_OK;

    if (!from) goto done;
    if (!*to) *to = ferry_i_ids_new();
    FERRY_HAVE(ctx, *to);
    for (int64_t i = 0; i < ferry_i_ids_count(from); i++)
        FERRY_HAVE(ctx, ferry_i_ids_add(*to, ferry_i_ids_at(from, i), NULL) >= 0);
done:
    return st;
}

/* What the members ask of new data. */
static ferry_status join_graphs(ferry_ctx *ctx, state *s)
{
    ferry_status st = FERRY_OK;

    for (int64_t j = 0; j < s->n; j++) {
        const ferry_model *m = s->member[j];
        if (m->method->graphs)
            FERRY_TRY(join_ids(ctx, m->method->graphs(m->state), &s->graphs));
        if (m->method->known)
            FERRY_TRY(join_ids(ctx, m->method->known(m->state), &s->known));
    }
done:
    return st;
}

static const ferry_ids *graphs(const void *of)
{
    return ((const state *)of)->graphs;
}

static const ferry_ids *known(const void *of)
{
    return ((const state *)of)->known;
}

static ferry_status predict(ferry_ctx *ctx, const void *of, const ferry_domain *d,
                            ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = of;
    ferry_prediction **own = NULL;
    ferry_blended *parts = NULL;

    FERRY_NEW(ctx, own, s->n);
    FERRY_NEW(ctx, parts, s->n);
    for (int64_t j = 0; j < s->n; j++) {
        FERRY_TRY(ferry_predict(ctx, s->member[j], d, &own[j]));
        parts[j] = (ferry_blended){own[j], s->weight[j], s->scale[j]};
    }
    FERRY_TRY(ferry_i_blend(ctx, s->n, parts, p));
done:
    for (int64_t j = 0; own && j < s->n; j++)
        ferry_prediction_free(own[j]);
    FERRY_FREE(own, parts);
    return st;
}

/* ---- the file: a member is the bytes of its own file ---- */

static void save_member(ferry_io *io, const ferry_model *m, const char *name)
{
    char *bytes = NULL;
    int64_t n = 0;

    io->st = ferry_model_to_memory(io->ctx, m, &bytes, &n);
    if (io->st == FERRY_OK)
        io->st = ferry_i_dict_put_bytes(io->ctx, io->to, name, n, (uint8_t *)bytes);
    ferry_string_free(bytes);
}

static void load_member(ferry_io *io, ferry_model **m, const char *name)
{
    const uint8_t *bytes = NULL;
    int64_t n = -1;

    io->st = ferry_i_dict_bytes(io->ctx, io->from, name, &n, &bytes);
    if (io->st == FERRY_OK)
        io->st = ferry_model_from_memory(io->ctx, (const char *)bytes, n, NULL, m);
    FERRY_IO_NEED(io, strcmp((*m)->method->name, "blend") != 0, "a blend of blends");
}

static void file(ferry_io *io, void *of)
{
    state *s = of;

    ferry_i_io_ints(io, "members", 1, &s->n);
    FERRY_IO_NEED(io, s->n > 0 && s->n <= MOST_MEMBERS, "a blend of %lld models",
                  (long long)s->n);
    if (io->st != FERRY_OK) {
        s->n = 0;
        return;
    }
    ferry_i_io_reals(io, "weights", s->n, 1, &s->weight);
    ferry_i_io_reals(io, "scales", s->n, 1, &s->scale);
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, s->member, s->n);
    for (int64_t j = 0; j < s->n && io->st == FERRY_OK; j++) {
        FERRY_IO_NEED(io, s->weight[j] > 0 && s->scale[j] >= 0,
                      "member %lld of a blend weighs %g", (long long)j, s->weight[j]);
        if (io->st != FERRY_OK) break;
        if (io->to)
            save_member(io, s->member[j], ferry_i_io_name(io, "member.%lld", (long long)j));
        else
            load_member(io, &s->member[j],
                        ferry_i_io_name(io, "member.%lld", (long long)j));
        FERRY_IO_NEED(io, s->member[j]->goal == s->member[0]->goal,
                      "the members of a blend have different goals");
    }
    if (ferry_i_io_loading(io)) ferry_i_io_fail(io, join_graphs(io->ctx, s));
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
static ferry_status copy_schema(ferry_ctx *ctx, const ferry_model *from, ferry_model *to)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < from->n_views; i++) {
        const ferry_view *v = from->views[i];
        FERRY_TRY(ferry_i_model_add_view(ctx, to, v->name, v->x->cols, v->features, v->read,
                                         v->idf));
    }
    if (!from->inputs) goto done;
    const int64_t n = 3 * from->views[0]->x->cols;
    FERRY_NEW(ctx, to->inputs, n);
    memcpy(to->inputs, from->inputs, (size_t)n * sizeof *to->inputs);
done:
    return st;
}

ferry_status ferry_i_fit_blend(ferry_ctx *ctx, const ferry_task *task, int64_t n,
                               const ferry_blend_part *parts, ferry_model **out)
{
    ferry_status st = FERRY_OK;
    ferry_model *m = NULL;
    state *s = NULL;

    *out = NULL;
    if (n == 1) return ferry_i_fit(ctx, task, parts[0].how, parts[0].opts, out, NULL);
    FERRY_NEW(ctx, s, 1);
    FERRY_NEW(ctx, s->member, n);
    s->n = n;
    FERRY_NEW(ctx, s->weight, n);
    FERRY_NEW(ctx, s->scale, n);
    for (int64_t j = 0; j < n; j++) {
        s->weight[j] = parts[j].weight;
        s->scale[j] = parts[j].scale;
        FERRY_TRY(ferry_i_fit(ctx, task, parts[j].how, parts[j].opts, &s->member[j], NULL));
    }
    const ferry_model *first = s->member[0];
    FERRY_TRY(join_graphs(ctx, s));
    FERRY_TRY(
        ferry_i_model_new(ctx, &ferry_i_method_blend, NULL, first->goal, first->names, &m));
    FERRY_TRY(copy_schema(ctx, first, m));
    FERRY_MOVE(m->state, s);
    FERRY_MOVE(*out, m);
done:
    free_state(s);
    ferry_model_free(m);
    return st;
}
