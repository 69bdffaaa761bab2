/* A round of the two-level hedge (hedge.h): scores of a sample, votes, and what its label
 * changes. */
#include "methods/shared/hedge.h"

#include <math.h>
#include <string.h>

/* Takes a half-made one, too: n and n_groups count what has been begun. */
void ferry_i_hedge_clear(hedge *h)
{
    for (int64_t i = 0; h->source && i < h->n; i++) {
        hedge_source *s = &h->source[i];
        FERRY_FREE(s->name, s->r, s->mu);
        ferry_i_pa_free(s->ws);
        ferry_i_pa_free(s->wt);
    }
    for (int64_t g = 0; h->group && g < h->n_groups; g++)
        ferry_i_free(h->group[g].q);
    FERRY_FREE(h->source, h->group);
    ferry_i_pa_free(h->wt);
    *h = (hedge){0};
}

/* ---- weights ---- */

double ferry_i_hedge_u(const hedge *h, int64_t i)
{
    const hedge_source *s = &h->source[i];

    /* beta1^M_S / (beta1^M_S + beta1^M_T), without powers that may underflow */
    return 1 / (1 + pow(h->beta1, (double)(s->mt - s->ms)));
}

/* beta2^M_i / sum_j beta2^M_j, as one over sums of differences: large counts of mistakes
 * do not underflow. */
double ferry_i_hedge_alpha(const hedge *h, int64_t i)
{
    double sum = 0;

    for (int64_t j = 0; j < h->n; j++)
        sum += pow(h->beta2, (double)(h->source[j].mi - h->source[i].mi));
    return 1 / sum;
}

/* ---- scores ---- */

/* One piece of memory for all scores of a row. What was in *out goes only when there is
 * new room. */
ferry_status ferry_i_hedge_scores_new(ferry_ctx *ctx, const hedge *h, int64_t k,
                                      hedge_scores *out)
{
    ferry_status st = FERRY_OK;
    int64_t codes = 0, ranks = 0;
    double *all = NULL;
    int32_t *votes = NULL;

    for (int64_t g = 0; g < h->n_groups; g++)
        codes += h->group[g].s;
    for (int64_t i = 0; i < h->n; i++)
        ranks += h->source[i].rank;
    FERRY_NEW(ctx, all, codes + ranks + (3 * h->n + 2) * k + 2 * h->n);
    FERRY_NEW(ctx, votes, 2 * h->n + 1);
    ferry_i_hedge_scores_clear(out);
    *out = (hedge_scores){.all = all, .votes = votes, .k = k, .c = all, .ft = all + codes};
    out->z = out->ft + (h->n + 1) * k;
    out->fs = out->z + ranks;
    out->f = out->fs + h->n * k;
    out->total = out->f + h->n * k;
    out->u = out->total + k;
    out->alpha = out->u + h->n;
    all = NULL;
done:
    ferry_i_free(all); /* NULL unless there was no room for the votes */
    return st;
}

void ferry_i_hedge_scores_clear(hedge_scores *s)
{
    FERRY_FREE(s->all, s->votes);
    *s = (hedge_scores){0};
}

/* The same at fit and online, or W_S would see rows of another kind than it learned from.
 */
void ferry_i_hedge_after(const hedge *h, const hedge_source *s, double *z)
{
    for (int64_t c = 0; h->post == HEDGE_POST_CENTRED && c < s->rank; c++)
        z[c] -= s->mu[c];
    if (h->post != HEDGE_POST_NONE) ferry_i_row_unit(s->rank, z);
}

/* The target's scores beside source i: one row of its own for losses, else the same. */
static double *target_scores(const hedge *h, const hedge_scores *s, int64_t i)
{
    return s->ft + (h->rule == HEDGE_LOSSES ? i * h->k : 0);
}

/* Groups are few, so a sum is cheap enough. */
int64_t ferry_i_hedge_codes(const hedge *h, int64_t group)
{
    int64_t from = 0;

    for (int64_t g = 0; g < group; g++)
        from += h->group[g].s;
    return from;
}

/* A small product for each source, then the two levels of the hedge. */
void ferry_i_hedge_mix(const hedge *h, hedge_scores *s)
{
    const int64_t k = h->k;
    double *z = s->z;

    memset(s->total, 0, (size_t)k * sizeof *s->total);
    for (int64_t i = 0; i < h->n; i++) {
        const hedge_source *o = &h->source[i];
        double *fs = s->fs + i * k, *f = s->f + i * k, *ft = target_scores(h, s, i);
        const ferry_row code = {h->group[o->group].s, NULL,
                                s->c + ferry_i_hedge_codes(h, o->group)};
        ferry_i_row_scores(o->rank, code.n, o->r, &code, z); /* z = R'c = Pt'x */
        ferry_i_hedge_after(h, o, z);
        const ferry_row in = {o->rank, NULL, z};
        ferry_i_pa_scores(o->ws, &in, fs);
        if (o->wt) ferry_i_pa_scores(o->wt, &in, ft);
        const double u = s->u[i] = ferry_i_hedge_u(h, i);
        const double alpha = s->alpha[i] = ferry_i_hedge_alpha(h, i);
        for (int64_t y = 0; y < k; y++) {
            f[y] = u * fs[y] + (1 - u) * ft[y]; /* f_i = u_i fS_i + v_i fT */
            s->total[y] += alpha * f[y];        /* F = sum_i alpha_i f_i */
        }
        z += o->rank;
    }
}

/* Codes c(x) once for each group of sources, then the rest. */
void ferry_i_hedge_look(const hedge *h, const ferry_row *x, hedge_scores *s)
{
    double *c = s->c;

    for (int64_t g = 0; g < h->n_groups; g++) {
        ferry_i_row_scores(h->group[g].s, h->d, h->group[g].q, x, c); /* c(x) = Q'x */
        c += h->group[g].s;
    }
    if (h->wt) ferry_i_pa_scores(h->wt, x, s->ft);
    ferry_i_hedge_mix(h, s);
}

/* What each learner says, to be judged when the label comes. */
void ferry_i_hedge_votes(const hedge *h, const hedge_scores *s, int32_t *votes)
{
    votes[0] = ferry_i_argmax(h->k, s->ft);
    for (int64_t i = 0; i < h->n; i++) {
        votes[1 + i] = ferry_i_argmax(h->k, s->fs + i * h->k);
        votes[1 + h->n + i] = ferry_i_argmax(h->k, s->f + i * h->k);
    }
}

/* ---- learning ---- */

/* All learners grow or none counts as grown. */
ferry_status ferry_i_hedge_classes(ferry_ctx *ctx, hedge *h, int64_t k)
{
    ferry_status st = FERRY_OK;

    if (k <= h->k) return FERRY_OK;
    if (h->wt) FERRY_TRY(ferry_i_pa_classes(ctx, h->wt, k));
    for (int64_t i = 0; i < h->n; i++) {
        FERRY_TRY(ferry_i_pa_classes(ctx, h->source[i].ws, k));
        if (h->source[i].wt) FERRY_TRY(ferry_i_pa_classes(ctx, h->source[i].wt, k));
    }
    h->k = k;
done:
    /* Those that grew before one could not go back: all score as many classes. */
    if (h->wt) h->wt->k = h->k;
    for (int64_t i = 0; i < h->n; i++) {
        h->source[i].ws->k = h->k;
        if (h->source[i].wt) h->source[i].wt->k = h->k;
    }
    return st;
}

/* max(0, 1 - f_y + the best of the others) */
static double loss_of(int64_t k, const double *f, int32_t y)
{
    double best = -INFINITY;

    for (int64_t c = 0; c < k; c++)
        if (c != y) best = fmax(best, f[c]);
    return fmax(0, 1 - f[y] + best);
}

/* M_T, M_Si and M_i of the rule of mistakes. */
static void count_mistakes(hedge *h, int32_t y, const int32_t *votes)
{
    for (int64_t i = 0; i < h->n; i++) {
        h->source[i].mt += votes[0] != y;
        h->source[i].ms += votes[1 + i] != y;
        h->source[i].mi += votes[1 + h->n + i] != y;
    }
}

/* OMTL-MC: the larger loss of a pair counts, and that of a source above the whole's.
 * On a tie neither weight falls. Votes given earlier cannot be used: losses need all
 * scores, so a late label is judged by the scores of now. */
static void count_losses(hedge *h, int32_t y, const hedge_scores *s)
{
    const double all = loss_of(h->k, s->total, y);

    for (int64_t i = 0; i < h->n; i++) {
        const double source = loss_of(h->k, s->fs + i * h->k, y),
                     target = loss_of(h->k, target_scores(h, s, i), y);
        h->source[i].ms += source > target;
        h->source[i].mt += target > source;
        h->source[i].mi += loss_of(h->k, s->f + i * h->k, y) > all;
    }
}

/* Mistakes first, from what was said before; then the step of the target's learner. The
 * paper's listing has the step first, so that a mistake of the target is hardly ever
 * counted.
 */
ferry_pa_step ferry_i_hedge_learn(hedge *h, const ferry_row *x, int32_t y,
                                  const int32_t *votes, const hedge_scores *s)
{
    ferry_pa_step step = {.r = -1};
    const double *z = s->z;

    if (!votes && h->rule == HEDGE_MISTAKES) ferry_i_hedge_votes(h, s, s->votes);
    if (h->rule == HEDGE_LOSSES)
        count_losses(h, y, s);
    else
        count_mistakes(h, y, votes ? votes : s->votes);
    if (h->wt) { /* x'x is a pass over x, which only a loss needs */
        const double xx = loss_of(h->k, s->ft, y) > 0 ? ferry_i_row_norm2(x) : 0;
        step = ferry_i_pa_learn(h->wt, x, xx, y, s->ft);
    }
    for (int64_t i = 0; i < h->n; i++) {
        hedge_source *o = &h->source[i];
        const ferry_row in = {o->rank, NULL, z};
        if (o->wt)
            step = ferry_i_pa_learn(o->wt, &in, ferry_i_row_norm2(&in), y,
                                    target_scores(h, s, i));
        z += o->rank;
    }
    return step;
}
