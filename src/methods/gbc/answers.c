/* GBC: held-out answers of one way to learn (trees, lines), what graphs make of them, and
 * whether that is better than what was tried before.
 *
 * Trees and lines are compared here, by the loss of the answers after the best correction:
 * scores are not comparable, answers are. */
#include <math.h>
#include <string.h>

#include "methods/gbc/gbc.h"

void ferry_i_gbc_answers_clear(gbc_answers *a)
{
    for (int64_t i = 0; a->p && i < a->s->folds; i++)
        ferry_i_free(a->p[i]);
    FERRY_FREE(a->p, a->viewless, a->truth, a->residual);
    *a = (gbc_answers){0};
}

ferry_status ferry_i_gbc_answers_new(ferry_ctx *ctx, const gbc_tuning *s,
                                     const int32_t *fold, gbc_answers *a)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = s->g;
    const int64_t n = g->n, m = s->outputs->classes;

    *a = (gbc_answers){.s = s, .fold = fold, .n = n, .m = m};
    FERRY_NEW(ctx, a->p, s->folds);
    FERRY_NEW(ctx, a->viewless, n);
    FERRY_NEW(ctx, a->truth, n * m);
    FERRY_NEW(ctx, a->residual, n * m);
    for (int64_t i = 0; i < s->folds; i++)
        FERRY_NEW(ctx, a->p[i], n * m);
    for (int64_t x = 0; x < n; x++) {
        a->viewless[x] = 1;
        for (int64_t i = 0; i < g->p; i++)
            if (g->mask[i * n + x]) a->viewless[x] = 0;
        if (g->labelled[x])
            ferry_i_outputs_truth(s->outputs, g->y + x * g->k, a->truth + x * m);
    }
done:
    return st;
}

/* Loss of an answer: -log of the probability, or the square. The floor keeps one
 * sure error from deciding among corrections. */
static double answer_loss(const ferry_outputs *o, const double *answer, const double *truth)
{
    double sum = 0;

    if (o->numbers) return (answer[0] - truth[0]) * (answer[0] - truth[0]);
    for (int64_t j = 0; j < o->classes; j++)
        sum += answer[j] * truth[j];
    return -log(fmax(sum, 1e-6));
}

double ferry_i_gbc_held_loss(const gbc_answers *a, int64_t i, const double *p,
                             double *count)
{
    double sum = 0;

    for (int64_t x = 0; x < a->n; x++)
        if (a->s->g->labelled[x] && a->fold[x] == i) {
            sum += answer_loss(a->s->outputs, p + x * a->m, a->truth + x * a->m);
            ++*count;
        }
    return sum;
}

/* Held-out loss with a correction: of each fold by the labels of the others. Labels of the
 * fold at hand are hidden from the correction (at = -1); residuals of the others were held
 * out in their own folds. */
static ferry_status try_correct(ferry_ctx *ctx, const gbc_answers *a, const double *wg,
                                gbc_correct how, double strength, double *loss)
{
    ferry_status st = FERRY_OK;
    const gbc_tuning *s = a->s;
    const gbc_problem *g = s->g;
    const int64_t n = a->n, m = a->m;
    double *now = NULL, sum = 0, count = 0;
    int64_t *at = NULL;

    FERRY_NEW(ctx, now, n * m);
    FERRY_NEW(ctx, at, n);
    const gbc_correction c = {how, strength, g->q,        g->graph,
                              wg,  n,        m,           !s->outputs->numbers,
                              at,  a->truth, a->residual, a->viewless};
    for (int64_t i = 0; i < s->folds; i++) {
        memcpy(now, a->p[i], (size_t)(n * m) * sizeof *now);
        for (int64_t x = 0; x < n; x++)
            at[x] = g->labelled[x] && a->fold[x] != i ? x : -1;
        FERRY_TRY(ferry_i_gbc_correct(ctx, &c, now, NULL));
        sum += ferry_i_gbc_held_loss(a, i, now, &count);
    }
    *loss = sum / count;
done:
    FERRY_FREE(now, at);
    return st;
}

/* What the edges of a graph join: sums over the edges of labelled instances. */
typedef struct joined {
    double weight, apart, squares; /* sum A, sum A |here - there|^2, sum A (both squared) */
} joined;

/* Weights of the graphs: by how much nearer the labels of neighbours (or their held-out
 * answers) are than those of the same ends joined at random,
 *   w ~ max(0, 1 - loss / chance),  chance = mean |here|^2 + |there|^2 - 2 here . there
 * with `here` and `there` apart. A graph that joins at random gets 0, as a view without
 * skill does. Unlike the training weights of graphs.c this compares labels, not scores: what
 * a graph is worth to answers is whether neighbours are alike. */
ferry_status ferry_i_gbc_weigh_graphs(ferry_ctx *ctx, const gbc_answers *a, double *wg)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = a->s->g;
    const int64_t m = a->m;
    double *here = NULL, *there = NULL, total = 0;

    FERRY_NEW(ctx, here, m);
    FERRY_NEW(ctx, there, m);
    for (int64_t t = 0; t < g->q; t++) {
        const ferry_matrix *b = g->graph[t];
        joined all = {0};
        double product = 0;
        memset(here, 0, (size_t)m * sizeof *here);
        memset(there, 0, (size_t)m * sizeof *there);
        for (int64_t x = 0; x < g->n; x++)
            for (int64_t e = b->start[x]; g->labelled[x] && e < b->start[x + 1]; e++) {
                const int64_t v = b->index[e];
                const double *own = a->truth + x * m, w = b->value[e];
                const double *other =
                    (g->labelled[v] ? a->truth : a->p[a->fold[x]]) + v * m;
                all.weight += w;
                for (int64_t j = 0; j < m; j++) {
                    all.apart += w * (other[j] - own[j]) * (other[j] - own[j]);
                    all.squares += w * (other[j] * other[j] + own[j] * own[j]);
                    here[j] += w * own[j];
                    there[j] += w * other[j];
                }
            }
        for (int64_t j = 0; j < m; j++)
            product += here[j] * there[j];
        const double chance = all.weight > 0 ? all.squares - 2 * product / all.weight : 0;
        wg[t] = chance > 0 ? fmax(0, 1 - all.apart / chance) : 0;
        total += wg[t];
    }
    for (int64_t t = 0; t < g->q; t++)
        wg[t] = total > 0 ? wg[t] / total : 1 / (double)g->q;
done:
    FERRY_FREE(here, there);
    return st;
}

/* p->held: what was answered to each labelled instance without its label; the model's
 * residuals come from it. */
static ferry_status keep(ferry_ctx *ctx, const gbc_answers *a, const double *wg,
                         gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    const int64_t q = a->s->g->q;

    if (q > 0) memcpy(p->wg, wg, (size_t)q * sizeof *wg);
    if (!p->held) FERRY_NEW(ctx, p->held, a->n * a->m);
    for (int64_t x = 0; x < a->n; x++)
        if (a->s->g->labelled[x])
            memcpy(p->held + x * a->m, a->p[a->fold[x]] + x * a->m,
                   (size_t)a->m * sizeof *p->held);
done:
    return st;
}

/* The correction of least held-out loss; none, unless one of them gains. A correction that
 * the user asks for is taken whatever its loss, only its strength is chosen. Cost: a pass
 * over the edges (residual) or up to 50 (smooth) for each candidate and fold. */
ferry_status ferry_i_gbc_consider(ferry_ctx *ctx, gbc_answers *a, const double *wg,
                                  gbc_way way, gbc_plan *p)
{
    static const struct {
        gbc_correct how;
        double strength;
    } all[] = {
        {GBC_CORRECT_RESIDUAL, 2},  {GBC_CORRECT_SMOOTH, 0.2},  {GBC_CORRECT_SMOOTH, 0.4},
        {GBC_CORRECT_SMOOTH, 0.6},  {GBC_CORRECT_SMOOTH, 0.8},  {GBC_CORRECT_SMOOTH, 0.9},
        {GBC_CORRECT_SMOOTH, 0.97}, {GBC_CORRECT_SMOOTH, 0.99},
    };
    ferry_status st = FERRY_OK;
    const gbc_correct asked = a->s->g->q > 0 ? a->s->correct : GBC_CORRECT_NO;
    gbc_correct how = GBC_CORRECT_NO;
    double loss = 0, plain = 0, least = 0, strength = p->strength;

    for (int64_t x = 0; x < a->n; x++)
        for (int64_t j = x * a->m; a->s->g->labelled[x] && j < (x + 1) * a->m; j++)
            a->residual[j] = a->truth[j] - a->p[a->fold[x]][j];
    FERRY_TRY(try_correct(ctx, a, wg, GBC_CORRECT_NO, 0, &plain));
    least = asked == GBC_CORRECT_AUTO || asked == GBC_CORRECT_NO ? plain : INFINITY;
    for (int64_t c = 0; asked != GBC_CORRECT_NO && c < FERRY_COUNT(all); c++) {
        if (asked != GBC_CORRECT_AUTO && asked != all[c].how) continue;
        FERRY_TRY(try_correct(ctx, a, wg, all[c].how, all[c].strength, &loss));
        if (!(loss < least)) continue;
        least = loss;
        how = all[c].how;
        strength = all[c].strength;
    }
    if (way.learner == GBC_TREE)
        p->tree_loss = least;
    else
        p->linear_loss = fmin(p->linear_loss, least);
    if (!(least < p->corrected_loss)) goto done;
    FERRY_TRY(keep(ctx, a, wg, p));
    p->way = way;
    p->plain_loss = plain;
    p->corrected_loss = least;
    p->correct = how;
    p->strength = strength;
done:
    return st;
}
