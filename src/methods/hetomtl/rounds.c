/* The stream (hetomtl.h): a row is seen and answered, its label is heard later. Mode
 * paper is the two-level hedge's (shared/hedge_model.c).
 *
 * Votes are what each expert said when the row was seen. They come back with the label,
 * however late, so that an expert is judged by what it knew then. */
#include <string.h>

#include "methods/hetomtl/hetomtl.h"

/* The running means of modes experts and ferry change with every row, labelled or not. */
static bool watches(const void *state)
{
    return ((const hetomtl *)state)->mode != MODE_PAPER;
}

/* How many numbers the caller keeps for each row until its label comes. */
static int64_t votes_size(const void *state)
{
    const hetomtl *m = state;

    return m->paper                ? ferry_i_hedge_votes_size(m->paper)
           : m->mode == MODE_FERRY ? m->f.votes
                                   : EXPERTS;
}

/* Answer a row. In modes experts and ferry it counts for the running means whether or not a label ever
 * comes. Rows of k scores may be wider than the classes known so far: the rest is 0. */
static ferry_status see(ferry_ctx *ctx, void *state, const ferry_row *x, int64_t k,
                        double *score, int32_t *votes)
{
    ferry_status st = FERRY_OK;
    hetomtl *m = state;
    experts *e = &m->e;

    if (m->paper) return ferry_i_hedge_see(ctx, m->paper, x, k, score, votes);
    if (m->mode == MODE_FERRY) return ferry_i_fleet_see(ctx, &m->f, x, k, score, votes);
    FERRY_TRY(ferry_i_online_check(ctx, x, e->d, k, e->k));
    memset(score, 0, (size_t)k * sizeof *score);
    ferry_i_experts_watch(e, x); /* x itself counts, as when its label comes */
    ferry_i_experts_look(e, x, &e->room, score);
    for (int i = 0; votes && i < EXPERTS; i++)
        votes[i] = ferry_i_argmax(e->k, e->room.f + i * e->k);
done:
    return st;
}

/* Mode paper may be certain of the answer without the scores. */
static ferry_status answer(ferry_ctx *ctx, void *state, const ferry_row *x, int64_t k,
                           double *score, int32_t *cls, int32_t *votes)
{
    hetomtl *m = state;

    if (m->paper) return ferry_i_hedge_answer(ctx, m->paper, x, k, score, cls, votes);
    FERRY_PASS(see(ctx, m, x, k, score, votes));
    *cls = ferry_i_argmax(k, score);
    return FERRY_OK;
}

/* Hear a label, right after its row, much later, or for a row that was never seen. votes
 * NULL: the experts are judged by what they would say now. */
static ferry_status learn(ferry_ctx *ctx, void *state, const ferry_row *x, int32_t cls,
                          const int32_t *votes)
{
    ferry_status st = FERRY_OK;
    hetomtl *m = state;

    if (m->paper) return ferry_i_hedge_hear(ctx, m->paper, x, cls, votes);
    if (m->mode == MODE_FERRY) return ferry_i_fleet_learn(ctx, &m->f, x, cls, votes);
    FERRY_TRY(ferry_i_online_check(ctx, x, m->e.d, 0, 0));
    FERRY_TRY(ferry_i_experts_learn(ctx, &m->e, x, cls, votes));
done:
    return st;
}

/* How much each part counts now, for the curves of weights over time. */
static int64_t parts(const void *state, const char **names, double *w)
{
    const hetomtl *m = state;

    if (m->paper) return ferry_i_hedge_parts(m->paper, names, w);
    double sum = 0; /* the fleet's weights are those of a regression: told as shares */
    for (int i = 0; i < FLEET; i++)
        sum += m->f.w[i];
    for (int64_t i = 0; w && m->mode == MODE_FERRY && i < FLEET; i++) {
        names[i] = ferry_i_fleet_names[i];
        w[i] = sum > 0 ? m->f.w[i] / sum : 1. / FLEET;
    }
    if (m->mode == MODE_FERRY) return FLEET;
    for (int64_t i = 0; w && i < EXPERTS; i++) {
        names[i] = ferry_i_expert_names[i];
        w[i] = m->e.w[i];
    }
    return EXPERTS;
}

const ferry_online ferry_i_hetomtl_rounds = {.watches = watches,
                                             .votes = votes_size,
                                             .see = see,
                                             .answer = answer,
                                             .learn = learn,
                                             .parts = parts};
