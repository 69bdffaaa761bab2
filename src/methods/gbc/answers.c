/* GBC: held-out answers of one part (trees, lines), what graphs make of them, and the shares
 * of the parts in the mixture.
 *
 * Which learner is best cannot be told from a few dozen labels: taking the one of least
 * held-out loss cost half a point of error and more. A mixture needs no such choice: its
 * shares maximise the held-out likelihood (Yao et al., Using stacking to average Bayesian
 * predictive distributions, Bayesian Analysis 2018), which is concave, so a part that adds
 * nothing gets little and two that err apart are better than either. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "methods/gbc/gbc.h"

#define LEAST 1e-6 /* probability: one sure error must not decide */

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

void ferry_i_gbc_held(const gbc_answers *a, double *held)
{
    for (int64_t x = 0; x < a->n; x++)
        if (a->s->g->labelled[x])
            memcpy(held + x * a->m, a->p[a->fold[x]] + x * a->m,
                   (size_t)a->m * sizeof *held);
}

double ferry_i_gbc_best_power(const gbc_answers *a, const double *held, double *power)
{
    static const double all[] = {1, 0.7, 1.5, 2, 3, 4, 6};
    const int64_t tries = a->s->outputs->numbers ? 1 : FERRY_COUNT(all);
    double least = INFINITY;

    *power = 1;
    for (int64_t t = 0; t < tries; t++) {
        double sum = 0, count = 0;
        for (int64_t x = 0; x < a->n; x++) {
            const double *p = held + x * a->m, *truth = a->truth + x * a->m;
            double right = 0, whole = 0;
            if (!a->s->g->labelled[x]) continue;
            count++;
            if (a->s->outputs->numbers) sum += (p[0] - truth[0]) * (p[0] - truth[0]);
            for (int64_t j = 0; !a->s->outputs->numbers && j < a->m; j++) {
                const double one = pow(p[j], all[t]);
                right += one * truth[j];
                whole += one;
            }
            if (!a->s->outputs->numbers)
                sum -= log(fmax(whole > 0 ? right / whole : 0, LEAST));
        }
        if (!(sum / count < least)) continue;
        least = sum / count;
        *power = all[t];
    }
    return least;
}

/* held (n x m) <- held-out answers with a correction: of each fold by the labels of the
 * others. Labels of the fold at hand are hidden from the correction (at = -1); residuals of
 * the others were held out in their own folds. */
static ferry_status correct_held(ferry_ctx *ctx, const gbc_answers *a, const double *wg,
                                 gbc_correct how, double strength, double *held)
{
    ferry_status st = FERRY_OK;
    const gbc_tuning *s = a->s;
    const gbc_problem *g = s->g;
    const int64_t n = a->n, m = a->m;
    double *now = NULL;
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
        for (int64_t x = 0; x < n; x++)
            if (g->labelled[x] && a->fold[x] == i)
                memcpy(held + x * m, now + x * m, (size_t)m * sizeof *held);
    }
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

double ferry_i_gbc_gain(const gbc_answers *a, double before, double after)
{
    double n = 0;

    for (int64_t x = 0; x < a->n; x++)
        n += a->s->g->labelled[x];
    if (!isfinite(before)) return isfinite(after) ? INFINITY : 0;
    return a->s->outputs->numbers ? n / 2 * log(before / fmax(after, DBL_MIN))
                                  : n * (before - after);
}

/* The correction of least held-out loss; none, unless one of them gains a unit of likelihood
 * (Akaike's price of a choice). A correction that
 * the user asks for is taken whatever its loss, only its strength is chosen. Losses are of
 * the best power: far neighbours make answers alike, which costs certainty, not the answer.
 * Cost: a pass over the edges (residual) or up to 50 (smooth) for each candidate and fold. */
ferry_status ferry_i_gbc_consider(ferry_ctx *ctx, gbc_answers *a, gbc_kind kind,
                                  gbc_part part, gbc_plan *p)
{
    static const struct {
        gbc_correct how;
        double strength;
    } all[] = {
        {GBC_CORRECT_NO, 2},       {GBC_CORRECT_RESIDUAL, 2},  {GBC_CORRECT_SMOOTH, 0.2},
        {GBC_CORRECT_SMOOTH, 0.4}, {GBC_CORRECT_SMOOTH, 0.6},  {GBC_CORRECT_SMOOTH, 0.8},
        {GBC_CORRECT_SMOOTH, 0.9}, {GBC_CORRECT_SMOOTH, 0.97}, {GBC_CORRECT_SMOOTH, 0.99},
    };
    ferry_status st = FERRY_OK;
    const gbc_correct asked = a->s->g->q > 0 ? a->s->correct : GBC_CORRECT_NO;
    double power = 1, none = INFINITY, *held = NULL;

    FERRY_NEW(ctx, held, a->n * a->m);
    if (!p->held[kind]) FERRY_NEW(ctx, p->held[kind], a->n * a->m);
    if (!p->mixed[kind]) FERRY_NEW(ctx, p->mixed[kind], a->n * a->m);
    ferry_i_gbc_held(a, p->held[kind]);
    for (int64_t e = 0; e < a->n * a->m; e++)
        a->residual[e] = a->truth[e] - p->held[kind][e]; /* of labelled instances */
    part.loss = INFINITY;
    for (int64_t c = 0; c < FERRY_COUNT(all); c++) {
        const bool given = a->s->strength >= 0;
        double strength = given ? a->s->strength : all[c].strength;
        if (asked != GBC_CORRECT_AUTO && asked != all[c].how) continue;
        if (given && c > 0 && all[c].how == all[c - 1].how) continue;
        if (all[c].how == GBC_CORRECT_SMOOTH) strength = fmin(1, strength);
        FERRY_TRY(correct_held(ctx, a, p->wg, all[c].how, strength, held));
        const double loss = ferry_i_gbc_best_power(a, held, &power);
        if (c == 0) none = loss;
        if (!(loss < part.loss) || (c > 0 && ferry_i_gbc_gain(a, none, loss) < 1)) continue;
        part.loss = loss;
        part.correct = all[c].how;
        part.strength = strength;
        part.power = power;
        memcpy(p->mixed[kind], held, (size_t)(a->n * a->m) * sizeof *held);
        ferry_i_gbc_power(a->n, a->m, power, p->mixed[kind]);
    }
    FERRY_NEED(ctx, part.correct != GBC_CORRECT_AUTO, FERRY_ENUMERIC,
               "gbc: no answer has a finite held-out loss");
    p->part[kind] = part;
done:
    ferry_i_free(held);
    return st;
}

/* prior <- what the held-out likelihoods alone say, exp(-n loss / 2), to sum 1, times what is
 * believed beforehand: 16 for a plain line, 4 for it self-trained, 1 for the others. A few dozen
 * labels cannot tell them apart, and the others are the best of many more choices, so that their
 * losses are small by luck; one that is better by 5.5 units of likelihood overtakes the line. */
static void trust(const gbc_answers *a, int64_t parts, const int64_t *kind,
                  const double *loss, double *prior)
{
    double least = INFINITY, sum = 0, count = 0;

    for (int64_t x = 0; x < a->n; x++)
        count += a->s->g->labelled[x];
    for (int64_t k = 0; k < parts; k++)
        least = fmin(least, loss[k]);
    for (int64_t k = 0; k < parts; k++) {
        const double before = kind[k] == GBC_LINE ? 16 : kind[k] == GBC_SELF ? 4 : 1;
        sum += prior[k] = before * exp(-count * (loss[k] - least) / 2);
    }
    for (int64_t k = 0; k < parts; k++)
        prior[k] /= sum;
}

/* Shares for classes, by EM: share <- mean over x of share p(x) / sum_k share_k p_k(x), p(x)
 * the probability of the label; beside the labels ten more that vote as `trust` says, since
 * forty labels alone give a third to parts that know nothing. (Ten equal votes would too.) */
static void mix_classes(const gbc_answers *a, int64_t parts, const int64_t *kind,
                        double *const *p, const double *loss, double *share)
{
    double next[GBC_KINDS], each[GBC_KINDS], prior[GBC_KINDS];

    trust(a, parts, kind, loss, prior);
    for (int step = 0; step < 200; step++) {
        double count = 10;
        for (int64_t k = 0; k < parts; k++)
            next[k] = 10 * prior[k];
        for (int64_t x = 0; x < a->n; x++) {
            double whole = 0;
            if (!a->s->g->labelled[x]) continue;
            for (int64_t k = 0; k < parts; k++) {
                each[k] = 0;
                for (int64_t j = x * a->m; j < (x + 1) * a->m; j++)
                    each[k] += a->truth[j] * p[k][j];
                whole += each[k] = share[k] * fmax(each[k], LEAST);
            }
            for (int64_t k = 0; k < parts; k++)
                next[k] += each[k] / whole;
            count++;
        }
        for (int64_t k = 0; k < parts; k++)
            share[k] = next[k] / count;
    }
}

/* Shares for numbers: least squares on the simplex. */
static ferry_status mix_numbers(ferry_ctx *ctx, const gbc_answers *a, int64_t parts,
                                double *const *p, double *share)
{
    ferry_status st = FERRY_OK;
    ferry_small *k = NULL;
    double v[GBC_KINDS] = {0};

    FERRY_TRY(ferry_i_small_new(ctx, parts, parts, &k));
    for (int64_t x = 0; x < a->n; x++)
        for (int64_t i = 0; a->s->g->labelled[x] && i < parts; i++) {
            v[i] += p[i][x] * a->truth[x];
            for (int64_t j = 0; j < parts; j++)
                FERRY_AT(k, i, j) += p[i][x] * p[j][x];
        }
    FERRY_TRY(ferry_i_simplex_qp(ctx, k, v, share, NULL));
done:
    ferry_i_small_free(k);
    return st;
}

/* Parts of less than a twentieth are not worth their fit. */
ferry_status ferry_i_gbc_mix(ferry_ctx *ctx, const gbc_answers *a, gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    double *at[GBC_KINDS], share[GBC_KINDS], loss[GBC_KINDS], total = 0, power = 1,
                                                              *held = NULL;
    int64_t parts = 0, kind[GBC_KINDS];

    FERRY_NEW(ctx, held, a->n * a->m);
    for (int64_t k = 0; k < GBC_KINDS; k++) {
        p->part[k].share = 0;
        if (!p->mixed[k]) continue;
        at[parts] = p->mixed[k];
        loss[parts] = p->part[k].loss;
        kind[parts++] = k;
    }
    for (int64_t k = 0; k < parts; k++)
        share[k] = 1 / (double)parts;
    if (a->s->outputs->numbers)
        FERRY_TRY(mix_numbers(ctx, a, parts, at, share));
    else
        mix_classes(a, parts, kind, at, loss, share);
    for (int64_t k = 0; k < parts; k++)
        if (share[k] >= 0.05) total += share[k];
    for (int64_t k = 0; k < parts; k++) {
        if (share[k] < 0.05) continue;
        p->part[kind[k]].share = share[k] / total;
        for (int64_t e = 0; e < a->n * a->m; e++)
            held[e] += share[k] / total * at[k][e];
    }
    p->loss = ferry_i_gbc_best_power(a, held, &power);
done:
    ferry_i_free(held);
    return st;
}
