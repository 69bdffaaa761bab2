/* GBC: boosting with consensus and graphs (Algorithm 1 of the chapter). An iteration:
 *
 *   E, Et    from the scores so far (3.2, 3.3), and the weights of the graphs
 *   trees    of every source on its own z and c (learn/boosting.c), in any order
 *   w        from the losses (3.10), where they are not fixed
 *
 * additive: one score of all sources, whose residual the sources' trees fit in turn; there
 * is then nothing to agree on, and the one source has what any view has.
 *
 * The thesis updates the sources one after the other, each seeing the new scores of those
 * before it. Here E and Et are computed once an iteration (Jacobi, not Gauss-Seidel): the
 * result does not depend on the order of the views. w_i is left out of z: it would cancel
 * in the line search and make the gains of a view with a small weight vanish. */
#include <string.h>

#include "methods/gbc/gbc.h"

/* r->g.p sources have et and has: one when the score is additive. */
void ferry_i_gbc_run_free(gbc_run *r)
{
    if (!r) return;
    for (int64_t i = 0; i < r->g.p; i++) {
        if (r->now.et) ferry_i_free(r->now.et[i]);
        if (r->now.has) ferry_i_free(r->now.has[i]);
    }
    FERRY_FREE(r->now.et, r->now.has, r->now.e, r->now.sources, r->w, r->wg, r->graph_loss,
               r->any);
    ferry_i_gbc_pass_free(r->pass);
    ferry_i_boosting_free(r->b);
    ferry_i_free(r);
}

/* The two questions that boosting asks about instances without labels. */
static bool counts(const void *arg, int64_t i, int64_t x)
{
    const gbc_run *r = arg;

    return ferry_i_gbc_counts(&r->g, &r->now, i, x);
}

static void term(const void *arg, int64_t i, int64_t x, int64_t j, double f, double *z,
                 double *c)
{
    const gbc_run *r = arg;

    ferry_i_gbc_term(&r->g, &r->now, i, x, j, f, z, c);
}

/* Room for E and Et; how many sources have each instance. `g` is the problem as asked, with
 * all its views; r->g the one that is solved. */
static ferry_status make_room(ferry_ctx *ctx, gbc_run *r, const gbc_problem *g)
{
    ferry_status st = FERRY_OK;
    const int64_t n = g->n, k = g->k;

    FERRY_NEW(ctx, r->w, g->p);
    FERRY_NEW(ctx, r->wg, g->q);
    FERRY_NEW(ctx, r->graph_loss, g->q);
    FERRY_NEW(ctx, r->any, n);
    FERRY_NEW(ctx, r->now.sources, n);
    FERRY_NEW(ctx, r->now.et, g->p);
    FERRY_NEW(ctx, r->now.has, g->p);
    for (int64_t e = 0; e < g->p * n; e++) {
        r->any[e % n] |= g->mask[e];
        r->now.sources[e % n] += g->mask[e] != 0;
    }
    if (r->g.lambda0 > 0) FERRY_NEW(ctx, r->now.e, n * k);
    for (int64_t i = 0; r->g.lambda1 > 0 && i < r->g.p; i++) {
        FERRY_NEW(ctx, r->now.et[i], n * k);
        FERRY_NEW(ctx, r->now.has[i], n);
    }
done:
    return st;
}

/* `r` is what the callbacks of the objective see, so it must not move: boosting keeps
 * it. */
ferry_status ferry_i_gbc_run_new(ferry_ctx *ctx, const gbc_settings *o,
                                 const gbc_problem *g, ferry_view *const *views,
                                 const uint8_t *follow, const double *w, gbc_run **out)
{
    ferry_status st = FERRY_OK;
    gbc_run *r = NULL;

    *out = NULL;
    FERRY_NEW(ctx, r, 1);
    r->weights = o->weights;
    r->g = *g;
    if (g->q == 0) r->g.lambda1 = 0;
    /* One score: nobody to agree with, so no consensus; graphs still pull it. */
    if (o->grow.additive) {
        r->g.lambda0 = 0;
        r->g.p = 1;
    }
    FERRY_TRY(make_room(ctx, r, g));
    if (o->grow.additive) r->g.mask = r->any;
    for (int64_t i = 0; i < g->p; i++)
        r->w[i] = w ? w[i] : 1 / (double)g->p;
    const ferry_objective objective = {.n = g->n,
                                       .p = r->g.p,
                                       .k = g->k,
                                       .mask = r->g.mask,
                                       .labelled = g->labelled,
                                       .y = g->y,
                                       .logistic = g->logistic,
                                       .counts = counts,
                                       .term = term,
                                       .arg = r};
    FERRY_TRY(ferry_i_boosting_new(ctx, &o->grow, &objective, g->p, views, follow, &r->b));
    if (r->g.lambda1 > 0) FERRY_TRY(ferry_i_gbc_pass_new(ctx, &r->g, &r->pass));
    FERRY_MOVE(*out, r);
done:
    ferry_i_gbc_run_free(r);
    return st;
}

/* The order is that of the file head. In an additive run the one source has weight 1; r->w
 * then stays as it was, for the model that is to be told its views' weights. */
ferry_status ferry_i_gbc_run_step(ferry_ctx *ctx, gbc_run *r)
{
    ferry_status st = FERRY_OK;
    const double one = 1, *w = r->b->o.additive ? &one : r->w;

    if (r->g.lambda0 > 0)
        ferry_i_gbc_consensus(&r->g, r->b->f, w, r->now.e, r->now.sources);
    if (r->pass)
        FERRY_TRY(ferry_i_gbc_pass_run(ctx, r->pass, &r->g, r->b->f, w, r->graph_loss,
                                       r->wg, r->now.et, r->now.has));
    FERRY_TRY(ferry_i_boosting_step(ctx, r->b));
    if (r->b->o.additive) goto done;
    if (r->weights == GBC_ROOT) ferry_i_gbc_root(r->g.p, r->b->loss, r->w);
    if (r->weights == GBC_SOFTMAX) ferry_i_gbc_softmax(r->g.p, r->b->loss, r->w);
done:
    return st;
}
