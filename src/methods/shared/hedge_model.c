/* A hedge as a model (hedge.h): rows from outside made ready, the stream, predictions,
 * and the way to a file and back, where all shapes are checked against each other. */
#include <string.h>

#include "methods/shared/hedge.h"

enum { SCREEN_LEAST = 512 };

void ferry_i_hedge_model_free(void *model)
{
    hedge_model *m = model;

    if (!m) return;
    ferry_i_online_clear(&m->in);
    FERRY_FREE(m->last, m->index);
    ferry_i_hedge_screen_clear(&m->screen);
    ferry_i_hedge_scores_clear(&m->s);
    ferry_i_hedge_clear(&m->h);
    ferry_i_free(m);
}

/* Whether rounded rows can decide (hedge_screen.c) and pay: with 3 to 40 classes both ways take as long at 256 to 512
 * columns. */
static bool can_screen(const hedge_model *m)
{
    const hedge *h = &m->h;

    return h->rule == HEDGE_MISTAKES && h->post == HEDGE_POST_NONE &&
           m->in.prepared->frame[0].scale->dense && h->d >= SCREEN_LEAST;
}

/* Scratch that is not part of the saved state; called once after a fit or a load. */
ferry_status ferry_i_hedge_room(ferry_ctx *ctx, hedge_model *m)
{
    ferry_status st = FERRY_OK;

    m->last_n = -1;
    FERRY_NEW(ctx, m->last, m->h.d);
    FERRY_NEW(ctx, m->index, m->h.d);
    FERRY_TRY(ferry_i_hedge_scores_new(ctx, &m->h, m->h.k, &m->s));
    if (can_screen(m)) FERRY_TRY(ferry_i_hedge_screen_new(ctx, &m->h, &m->s, &m->screen));
done:
    return st;
}

/* ---- the stream ---- */

/* The row that was seen, bit by bit, so that its label need not score it again. */
static void remember(hedge_model *m, const ferry_row *x, bool near)
{
    memcpy(m->last, x->value, (size_t)x->n * sizeof *m->last);
    if (x->index) memcpy(m->index, x->index, (size_t)x->n * sizeof *m->index);
    m->last_n = x->n;
    m->last_sparse = x->index != NULL;
    m->last_near = near;
}

/* Whether x, to the bit, was seen last. */
static bool is_last(const hedge_model *m, const ferry_row *x)
{
    return m->last_n == x->n && m->last_sparse == (x->index != NULL) &&
           memcmp(m->last, x->value, (size_t)x->n * sizeof *m->last) == 0 &&
           (!x->index || memcmp(m->index, x->index, (size_t)x->n * sizeof *m->index) == 0);
}

/* Votes that must be kept with a row until its label comes. The rule of losses judges by
 * scores of the moment and needs none. */
int64_t ferry_i_hedge_votes_size(const void *model)
{
    const hedge *h = &((const hedge_model *)model)->h;

    return h->rule == HEDGE_MISTAKES ? 2 * h->n + 1 : 0;
}

/* All scores stand in m->s until something is learned. */
ferry_status ferry_i_hedge_see(ferry_ctx *ctx, void *model, const ferry_row *x, int64_t k,
                               double *score, int32_t *votes)
{
    hedge_model *m = model;

    FERRY_PASS(ferry_i_online_check(ctx, x, m->h.d, k, m->h.k));
    m->row = ferry_i_online_row(&m->in, x, NULL);
    ferry_i_hedge_look(&m->h, &m->row, &m->s);
    remember(m, x, false);
    /* Classes that have a name but no weights yet score 0, as a learner of zeros would
     * say. */
    memset(score, 0, (size_t)k * sizeof *score);
    memcpy(score, m->s.total, (size_t)m->h.k * sizeof *score);
    if (votes && m->h.rule == HEDGE_MISTAKES) ferry_i_hedge_votes(&m->h, &m->s, votes);
    return FERRY_OK;
}

/* The place of the largest score without the scores. */
ferry_status ferry_i_hedge_answer(ferry_ctx *ctx, void *model, const ferry_row *x,
                                  int64_t k, double *score, int32_t *cls, int32_t *votes)
{
    hedge_model *m = model;

    if (m->screen.rows && k == m->h.k) {
        FERRY_PASS(ferry_i_online_check(ctx, x, m->h.d, k, m->h.k));
        m->row = ferry_i_online_row(&m->in, x, NULL);
        if (ferry_i_hedge_screen_look(&m->h, &m->screen, &m->row, &m->s, cls)) {
            remember(m, x, true);
            for (int64_t i = 0; votes && i <= 2 * m->h.n; i++)
                votes[i] = m->s.votes[i];
            return FERRY_OK;
        }
    }
    FERRY_PASS(ferry_i_hedge_see(ctx, m, x, k, score, votes));
    *cls = ferry_i_argmax(k, score);
    return FERRY_OK;
}

/* The label of the row at hand finds its scores still there; any other row is scored with
 * the weights of now. */
ferry_status ferry_i_hedge_hear(ferry_ctx *ctx, void *model, const ferry_row *x,
                                int32_t cls, const int32_t *votes)
{
    hedge_model *m = model;

    FERRY_PASS(ferry_i_online_check(ctx, x, m->h.d, 0, 0));
    const bool known = cls < m->h.k && is_last(m, x);
    if (!known) m->row = ferry_i_online_row(&m->in, x, NULL);
    /* What follows changes the weights, so the scores of the last row are no longer those
     * of now. */
    m->last_n = -1;
    if (cls >= m->s.k)
        FERRY_PASS(ferry_i_hedge_scores_new(ctx, &m->h, (int64_t)cls + 1, &m->s));
    if (m->screen.rows)
        FERRY_PASS(ferry_i_hedge_screen_classes(ctx, &m->h, (int64_t)cls + 1, &m->screen));
    FERRY_PASS(ferry_i_hedge_classes(ctx, &m->h, (int64_t)cls + 1));
    if (!known)
        ferry_i_hedge_look(&m->h, &m->row, &m->s); /* the step is from the weights of now */
    else if (m->last_near)
        ferry_i_hedge_screen_settle(&m->h, &m->screen, &m->row, cls, &m->s);
    const ferry_pa_step step = ferry_i_hedge_learn(&m->h, &m->row, cls, votes, &m->s);
    if (m->screen.rows && step.tau != 0)
        ferry_i_hedge_screen_step(&m->h, &m->screen, cls, step.r);
    return FERRY_OK;
}

/* What each learner counts in the whole: u_i alpha_i, and the rest for the target's. */
int64_t ferry_i_hedge_parts(const void *model, const char **names, double *w)
{
    const hedge *h = &((const hedge_model *)model)->h;

    if (!w) return h->n + 1;
    names[0] = "target";
    w[0] = 1;
    for (int64_t i = 0; i < h->n; i++) {
        names[1 + i] = h->source[i].name;
        w[1 + i] = ferry_i_hedge_u(h, i) * ferry_i_hedge_alpha(h, i);
        w[0] -= w[1 + i];
    }
    return h->n + 1;
}

/* ---- predictions ---- */

/* Scratch of one prediction. It is not the model's own: a model is const while it
 * predicts. */
typedef struct look_room {
    ferry_scale_room row;
    hedge_scores s;
} look_room;

/* online_looker's `look`: F of one row. */
static void look(const void *model, const ferry_row *x, void *room, double *score)
{
    const hedge_model *m = model;
    look_room *r = room;
    const ferry_row in = ferry_i_online_row(&m->in, x, &r->row);

    ferry_i_hedge_look(&m->h, &in, &r->s);
    memcpy(score, r->s.total, (size_t)m->h.k * sizeof *score);
}

/* Predicting counts nothing and moves no weight; rows are scored one by one as in a
 * stream, so that both give the same bits. */
ferry_status ferry_i_hedge_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                   ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const hedge_model *m = model;
    look_room r = {0};
    const online_looker how = {"hetomtl", m->h.k, m->h.d, look, m, &r};

    FERRY_TRY(ferry_i_scale_room_new(ctx, m->h.d, &r.row));
    FERRY_TRY(ferry_i_hedge_scores_new(ctx, &m->h, m->h.k, &r.s));
    FERRY_TRY(ferry_i_online_predict(ctx, &how, d, p));
done:
    ferry_i_scale_room_clear(&r.row);
    ferry_i_hedge_scores_clear(&r.s);
    return st;
}

/* ---- save and load ---- */

/* Counts of mistakes rather than weights: these follow from them exactly. Shapes against
 * the group's codes and the number of classes; counts of 0 or more. */
static void source_file(ferry_io *io, hedge *h, int64_t i)
{
    hedge_source *s = &h->source[i];
    const long long at = (long long)i;
    int64_t form[] = {s->group, s->rank, s->ms, s->mt, s->mi};

    ferry_i_io_ints(io, ferry_i_io_name(io, "source.%lld", at), 5, form);
    FERRY_IO_NEED(io,
                  0 <= form[0] && form[0] < h->n_groups && 1 <= form[1] &&
                      form[1] <= INT32_MAX && form[2] >= 0 && form[3] >= 0 && form[4] >= 0,
                  "tensor %s: codes %lld, rank %lld, mistakes %lld %lld %lld", io->name,
                  (long long)form[0], (long long)form[1], (long long)form[2],
                  (long long)form[3], (long long)form[4]);
    if (ferry_i_io_loading(io)) {
        s->group = form[0];
        s->rank = form[1];
        s->ms = form[2];
        s->mt = form[3];
        s->mi = form[4];
    }
    if (io->st != FERRY_OK) return;
    /* The group is checked to exist, so R's shape can be taken from its codes. */
    ferry_i_io_reals(io, ferry_i_io_name(io, "source.r.%lld", at), s->rank,
                     h->group[s->group].s, &s->r);
    ferry_i_io_reals(io, ferry_i_io_name(io, "source.mu.%lld", at), 1, s->rank, &s->mu);
    ferry_i_pa_file(io, ferry_i_io_name(io, "source.ws.%lld", at), h->k, s->rank, &s->ws);
    if (h->rule == HEDGE_LOSSES)
        ferry_i_pa_file(io, ferry_i_io_name(io, "source.wt.%lld", at), h->k, s->rank,
                        &s->wt);
}

/* The names of the sources as one list of ids, which also says that they differ. */
static ferry_ids *names_of(ferry_io *io, const hedge *h)
{
    ferry_ids *names = ferry_i_ids_new();

    if (!names) ferry_i_io_fail(io, FERRY_ENOMEM);
    for (int64_t i = 0; names && i < h->n; i++)
        if (ferry_i_ids_add(names, h->source[i].name, NULL) < 0)
            ferry_i_io_fail(io, FERRY_ENOMEM);
    return names;
}

/* Loading: room for the groups and for sources of these names. h->n stays 0 until there are
 * sources to clear. */
static ferry_status make_sources(ferry_ctx *ctx, const ferry_ids *names, hedge *h)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(names);

    FERRY_NEW(ctx, h->group, h->n_groups);
    FERRY_NEW(ctx, h->source, n);
    h->n = n;
    for (int64_t i = 0; i < n; i++)
        FERRY_HAVE(ctx, h->source[i].name = ferry_i_strdup(ferry_i_ids_at(names, i)));
done:
    return st;
}

/* The first tensor is called "het", as in files of version 0.1. Sources come after the
 * groups that they point to; a group has any number of codes, but exactly d columns. */
static void hedge_file(ferry_io *io, hedge *h)
{
    int64_t form[] = {h->rule, h->post, h->k, h->n, h->n_groups};
    double beta[] = {h->beta1, h->beta2};
    ferry_ids *names = io->to ? names_of(io, h) : NULL;

    ferry_i_io_ints(io, "het", 5, form);
    ferry_i_io_numbers(io, "beta", 2, beta);
    ferry_i_io_ids(io, "sources", &names);
    FERRY_IO_NEED(io,
                  0 <= form[0] && form[0] <= HEDGE_LOSSES && 0 <= form[1] &&
                      form[1] <= HEDGE_POST_CENTRED && 1 <= form[2] &&
                      form[2] <= INT32_MAX && form[3] == ferry_i_ids_count(names) &&
                      1 <= form[3] && 1 <= form[4] && form[4] <= form[3] && beta[0] > 0 &&
                      beta[0] <= 1 && beta[1] > 0 && beta[1] <= 1,
                  "tensor het: %lld classes, %lld sources, beta %g %g", (long long)form[2],
                  (long long)form[3], beta[0], beta[1]);
    if (ferry_i_io_loading(io)) {
        *h = (hedge){.rule = (hedge_rule)form[0],
                     .post = (hedge_post)form[1],
                     .k = form[2],
                     .d = h->d,
                     .n_groups = form[4],
                     .beta1 = beta[0],
                     .beta2 = beta[1]};
        ferry_i_io_fail(io, make_sources(io->ctx, names, h));
    }
    for (int64_t g = 0; g < h->n_groups && io->st == FERRY_OK; g++) {
        if (io->from) h->group[g].s = -1;
        ferry_i_io_grid(io, ferry_i_io_name(io, "codes.%lld", (long long)g), &h->group[g].s,
                        &h->d, &h->group[g].q);
    }
    for (int64_t i = 0; i < h->n && io->st == FERRY_OK; i++)
        source_file(io, h, i);
    if (h->rule == HEDGE_MISTAKES) ferry_i_pa_file(io, "pa", h->k, h->d, &h->wt);
    ferry_i_ids_free(names);
}

/* The preparation first: its width is d, against which all shapes are checked. */
void ferry_i_hedge_file(ferry_io *io, void *model)
{
    hedge_model *m = model;

    ferry_i_online_file(io, &m->in);
    if (ferry_i_io_loading(io)) m->h.d = m->in.d;
    hedge_file(io, &m->h);
    if (ferry_i_io_loading(io)) ferry_i_io_fail(io, ferry_i_hedge_room(io->ctx, m));
}
