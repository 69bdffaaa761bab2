/* A hedge as a model (hedge.h): rows from outside made ready, the stream, predictions,
 * and the way to a file and back, where all shapes are checked against each other. */
#include <stdio.h>
#include <string.h>

#include "methods/shared/hedge.h"

void ferry_i_hedge_model_free(void *model)
{
    hedge_model *m = model;

    if (!m) return;
    ferry_i_online_clear(&m->in);
    FERRY_FREE(m->last, m->index);
    ferry_i_hedge_scores_clear(&m->s);
    ferry_i_hedge_clear(&m->h);
    ferry_i_free(m);
}

/* Scratch that is not part of the saved state; called once after a fit or a load. */
ferry_status ferry_i_hedge_room(ferry_ctx *ctx, hedge_model *m)
{
    ferry_status st = FERRY_OK;

    m->last_n = -1;
    FERRY_NEW(ctx, m->last, m->h.d);
    FERRY_NEW(ctx, m->index, m->h.d);
    FERRY_TRY(ferry_i_hedge_scores_new(ctx, &m->h, m->h.k, &m->s));
done:
    return st;
}

/* ---- the stream ---- */

/* The row that was seen, bit by bit, so that its label need not score it again. */
static void remember(hedge_model *m, const ferry_row *x)
{
    memcpy(m->last, x->value, (size_t)x->n * sizeof *m->last);
    if (x->index) memcpy(m->index, x->index, (size_t)x->n * sizeof *m->index);
    m->last_n = x->n;
    m->last_sparse = x->index != NULL;
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
    ferry_status st = FERRY_OK;
    hedge_model *m = model;

    FERRY_TRY(ferry_i_online_check(ctx, x, m->h.d, k, m->h.k));
    m->row = ferry_i_online_row(&m->in, x, NULL);
    ferry_i_hedge_look(&m->h, &m->row, &m->s);
    remember(m, x);
    /* Classes that have a name but no weights yet score 0, as a learner of zeros would
     * say. */
    memset(score, 0, (size_t)k * sizeof *score);
    memcpy(score, m->s.total, (size_t)m->h.k * sizeof *score);
    if (votes && m->h.rule == HEDGE_MISTAKES) ferry_i_hedge_votes(&m->h, &m->s, votes);
done:
    return st;
}

/* The label of the row at hand finds its scores still there; any other row is scored with
 * the weights of now. */
ferry_status ferry_i_hedge_hear(ferry_ctx *ctx, void *model, const ferry_row *x,
                                int32_t cls, const int32_t *votes)
{
    ferry_status st = FERRY_OK;
    hedge_model *m = model;

    FERRY_TRY(ferry_i_online_check(ctx, x, m->h.d, 0, 0));
    const bool known = cls < m->h.k && is_last(m, x);
    if (!known) m->row = ferry_i_online_row(&m->in, x, NULL);
    /* What follows changes the weights, so the scores of the last row are no longer those
     * of now. */
    m->last_n = -1;
    if (cls >= m->s.k)
        FERRY_TRY(ferry_i_hedge_scores_new(ctx, &m->h, (int64_t)cls + 1, &m->s));
    FERRY_TRY(ferry_i_hedge_classes(ctx, &m->h, (int64_t)cls + 1));
    if (!known)
        ferry_i_hedge_look(&m->h, &m->row, &m->s); /* the step is from the weights of now */
    (void)ferry_i_hedge_learn(&m->h, &m->row, cls, votes, &m->s);
done:
    return st;
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

/* "NAME.I" */
static const char *numbered(char buf[48], const char *name, int64_t i)
{
    (void)snprintf(buf, 48, "%s.%lld", name, (long long)i);
    return buf;
}

/* Counts of mistakes rather than weights: these follow from them exactly. */
static ferry_status save_source(ferry_ctx *ctx, const hedge *h, int64_t i, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const hedge_source *s = &h->source[i];
    const int64_t form[] = {s->group, s->rank, s->ms, s->mt, s->mi};
    const int64_t codes = h->group[s->group].s;
    char buf[48];

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, numbered(buf, "source", i),
                                    FERRY_COUNT(form), form));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, numbered(buf, "source.r", i), s->rank,
                                     codes, s->r));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, numbered(buf, "source.mu", i), 1, s->rank,
                                     s->mu));
    FERRY_TRY(ferry_i_pa_save(ctx, s->ws, numbered(buf, "source.ws", i), dict));
    if (s->wt) FERRY_TRY(ferry_i_pa_save(ctx, s->wt, numbered(buf, "source.wt", i), dict));
done:
    return st;
}

/* Sources' names go as one list of ids, which also says that they differ. Sources come
 * after the groups that they point to. */
ferry_status ferry_i_hedge_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const hedge_model *m = model;
    const hedge *h = &m->h;
    const int64_t form[] = {h->rule, h->post, h->k, h->n, h->n_groups};
    const double beta[] = {h->beta1, h->beta2};
    ferry_ids *names = ferry_i_ids_new();
    char buf[48];

    FERRY_HAVE(ctx, names);
    for (int64_t i = 0; i < h->n; i++)
        FERRY_HAVE(ctx, ferry_i_ids_add(names, h->source[i].name, NULL) >= 0);
    FERRY_TRY(ferry_i_prepared_save(ctx, m->in.prepared, dict));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "het", FERRY_COUNT(form), form));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "beta", 1, 2, beta));
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "sources", names));
    for (int64_t g = 0; g < h->n_groups; g++)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, numbered(buf, "codes", g),
                                         h->group[g].s, h->d, h->group[g].q));
    for (int64_t i = 0; i < h->n; i++)
        FERRY_TRY(save_source(ctx, h, i, dict));
    if (h->wt) FERRY_TRY(ferry_i_pa_save(ctx, h->wt, "pa", dict));
done:
    ferry_i_ids_free(names);
    return st;
}

/* Q of each group: any number of codes s, but exactly d columns. */
static ferry_status load_groups(ferry_ctx *ctx, const ferry_dict *dict, hedge *h)
{
    ferry_status st = FERRY_OK;
    const double *q = NULL;
    char buf[48];

    FERRY_NEW(ctx, h->group, h->n_groups);
    for (int64_t g = 0; g < h->n_groups; g++) {
        int64_t s = -1, d = h->d;
        FERRY_TRY(ferry_i_dict_reals(ctx, dict, numbered(buf, "codes", g), &s, &d, &q));
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, buf, s, d, &h->group[g].q));
        h->group[g].s = s;
    }
done:
    return st;
}

/* Shapes against the group's codes and the number of classes; counts of 0 or more. */
static ferry_status load_source(ferry_ctx *ctx, const ferry_dict *dict, hedge *h, int64_t i)
{
    ferry_status st = FERRY_OK;
    hedge_source *s = &h->source[i];
    const int64_t *form = NULL;
    int64_t five = 5;
    char buf[48];

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, numbered(buf, "source", i), &five, &form));
    FERRY_NEED(ctx,
               0 <= form[0] && form[0] < h->n_groups && 1 <= form[1] &&
                   form[1] <= INT32_MAX && form[2] >= 0 && form[3] >= 0 && form[4] >= 0,
               FERRY_EDATA, "tensor %s: codes %lld, rank %lld, mistakes %lld %lld %lld",
               buf, (long long)form[0], (long long)form[1], (long long)form[2],
               (long long)form[3], (long long)form[4]);
    /* The group is checked to exist, so R's shape can be taken from its codes. */
    s->group = form[0];
    s->rank = form[1];
    s->ms = form[2];
    s->mt = form[3];
    s->mi = form[4];
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, numbered(buf, "source.r", i), s->rank,
                                      h->group[s->group].s, &s->r));
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, numbered(buf, "source.mu", i), 1, s->rank,
                                      &s->mu));
    FERRY_TRY(
        ferry_i_pa_load(ctx, dict, numbered(buf, "source.ws", i), h->k, s->rank, &s->ws));
    if (h->rule == HEDGE_LOSSES)
        FERRY_TRY(ferry_i_pa_load(ctx, dict, numbered(buf, "source.wt", i), h->k, s->rank,
                                  &s->wt));
done:
    return st;
}

/* The hedge itself. The tensor is called "het", as in files of version 0.1. */
static ferry_status load_hedge(ferry_ctx *ctx, const ferry_dict *dict, hedge *h)
{
    ferry_status st = FERRY_OK;
    const int64_t *form = NULL;
    const double *beta = NULL;
    int64_t five = 5, one = 1, two = 2;
    ferry_ids *names = NULL;

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "het", &five, &form));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "beta", &one, &two, &beta));
    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "sources", &names));
    FERRY_NEED(ctx,
               0 <= form[0] && form[0] <= HEDGE_LOSSES && 0 <= form[1] &&
                   form[1] <= HEDGE_POST_CENTRED && 1 <= form[2] && form[2] <= INT32_MAX &&
                   form[3] == ferry_i_ids_count(names) && 1 <= form[3] && 1 <= form[4] &&
                   form[4] <= form[3] && beta[0] > 0 && beta[0] <= 1 && beta[1] > 0 &&
                   beta[1] <= 1,
               FERRY_EDATA, "tensor het: %lld classes, %lld sources, beta %g %g",
               (long long)form[2], (long long)form[3], beta[0], beta[1]);
    *h = (hedge){.rule = (hedge_rule)form[0],
                 .post = (hedge_post)form[1],
                 .k = form[2],
                 .d = h->d,
                 .n_groups = form[4],
                 .beta1 = beta[0],
                 .beta2 = beta[1]};
    /* h->n stays 0 until there are sources to clear. */
    FERRY_TRY(load_groups(ctx, dict, h));
    FERRY_NEW(ctx, h->source, form[3]);
    h->n = form[3];
    for (int64_t i = 0; i < h->n; i++) {
        FERRY_HAVE(ctx, h->source[i].name = ferry_i_strdup(ferry_i_ids_at(names, i)));
        FERRY_TRY(load_source(ctx, dict, h, i));
    }
    if (h->rule == HEDGE_MISTAKES)
        FERRY_TRY(ferry_i_pa_load(ctx, dict, "pa", h->k, h->d, &h->wt));
done:
    ferry_i_ids_free(names);
    return st;
}

/* The preparation first: its width is d, against which all shapes are checked. */
ferry_status ferry_i_hedge_load(ferry_ctx *ctx, const ferry_dict *dict, void **model)
{
    ferry_status st = FERRY_OK;
    hedge_model *m = NULL;

    *model = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_online_load(ctx, dict, &m->in));
    m->h.d = m->in.d;
    FERRY_TRY(load_hedge(ctx, dict, &m->h));
    FERRY_TRY(ferry_i_hedge_room(ctx, m));
    FERRY_MOVE(*model, m);
done:
    ferry_i_hedge_model_free(m);
    return st;
}
