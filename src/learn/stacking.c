/* Held-out answers: corrections by graphs, powers and mixtures (stacking.h). */
#include "learn/stacking.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/simplex_qp.h"

/* Probabilities to a power, each row to sum 1. */
void raise_to(double power, block answers)
{
    for (int64_t x = 0; power != 1 && x < answers.n; x++) {
        double all = 0, *p = ROW(answers, x);
        for (int64_t j = 0; j < answers.k; j++)
            all += p[j] = pow(p[j], power);
        for (int64_t j = 0; j < answers.k; j++)
            p[j] = all > 0 ? p[j] / all : 1 / (double)answers.k;
    }
}

void take_held(const held_out *j, const block *p, block held)
{
    for (int64_t x = 0; x < held.n; x++)
        if (j->labelled[x])
            memcpy(ROW(held, x), ROW(p[j->fold[x]], x), (size_t)held.k * sizeof(double));
}

/* The power of the held-out answers with the least loss, -log p or squares; that loss. */
double best_power(scope *s, const held_out *j, block held, double *power)
{
    static const double all[] = {1, 0.7, 1.5, 2, 3, 4, 6};
    const int tries = j->numbers ? 1 : (int)FERRY_COUNT(all);
    double loss[FERRY_COUNT(all)] = {0}, least = INFINITY;

    for (int t = 0; t < tries; t++)
        for (int64_t x = 0; x < held.n; x++) {
            const double *p = ROW(held, x), *truth = ROW(j->truth, x);
            double right = 0, whole = 0;
            if (!j->labelled[x]) continue;
            if (j->numbers) loss[t] += (p[0] - truth[0]) * (p[0] - truth[0]);
            for (int64_t c = 0; !j->numbers && c < held.k; c++) {
                const double one = all[t] == 1 ? p[c] : pow(p[c], all[t]);
                right += one * truth[c];
                whole += one;
            }
            if (!j->numbers) loss[t] -= log(fmax(whole > 0 ? right / whole : 0, LEAST));
        }
    sums(s, held.rows, tries, loss);
    *power = 1;
    for (int t = 0; t < tries; t++)
        if (loss[t] / j->n_labelled < least) {
            least = loss[t] / j->n_labelled;
            *power = all[t];
        }
    return least;
}

/* By how much the likelihood of the labels is greater, in units of log. */
double likelihood_gain(const held_out *j, double before, double after)
{
    if (!isfinite(before)) return isfinite(after) ? INFINITY : 0;
    return j->numbers ? j->n_labelled / 2 * log(before / fmax(after, DBL_MIN))
                      : j->n_labelled * (before - after);
}

/* ---- what graphs do to answers ---- */

/* The mean weight of an edge: what counts as one neighbour. */
static double mean_weight(scope *s, matrix a)
{
    double v[2] = {0, 0};

    for (int64_t x = 0; x < a.n; x++) {
        const ferry_row r = row_at(a, x);
        for (int64_t e = 0; e < r.n; e++)
            v[0] += r.value[e];
        v[1] += (double)r.n;
    }
    sums(s, a.rows, 2, v);
    return v[0] > 0 ? v[0] / v[1] : 1;
}

/* answers += the shrunken mean residual of the labelled neighbours: kappa stands in the denominator like kappa
 * neighbours whose residual is 0. Probabilities may leave the simplex: floor, then to sum 1. */
static void add_residuals(scope *s, const correction *c, block answers)
{
    const int64_t m = answers.k;
    const block show = block_new(s, answers.rows, answers.n, m + 1),
                of = block_like(s, show), all = block_like(s, show);

    for (int64_t x = 0; x < show.n; x++) {
        if (!c->known[x]) continue;
        ROW(show, x)[m] = 1;
        memcpy(ROW(show, x), ROW(c->residual, x), (size_t)m * sizeof(double));
    }
    for (int g = 0; g < c->q; g++) {
        if (!c->g[g].a.m) continue;
        const double one = c->unitless ? mean_weight(s, c->g[g].a) : 1;
        mul(s, c->g[g].a, show, of);
        axpby(s, c->wg[g] * c->q / one, of, 1, all);
    }
    for (int64_t x = 0; x < answers.n; x++) {
        const double *add = ROW(all, x);
        double sum_of = 0, *to = ROW(answers, x);
        for (int64_t j = 0; j < m; j++) {
            to[j] += add[m] > 0 ? add[j] / (add[m] + c->strength) : 0;
            if (c->classes) sum_of += to[j] = fmax(to[j], LEAST);
        }
        for (int64_t j = 0; c->classes && j < m; j++)
            to[j] /= sum_of;
    }
}

void correct(scope *s, const correction *c, block answers)
{
    const int64_t mark = scope_mark(s);
    double *alpha = NEW(s, double, answers.n), any = c->how == SMOOTH;
    const propagation spread = {
        .n = c->q, .g = c->g, .w = c->wg, .alpha = alpha, .max_iter = 50, .tol = 1e-5};

    if (c->q > 0 && c->how == RESIDUAL) add_residuals(s, c, answers);
    for (int64_t x = 0; x < answers.n; x++) {
        alpha[x] = c->viewless[x] ? 1 : c->how == SMOOTH ? c->strength : 0;
        any = any || c->viewless[x];
        if (!c->known[x] || alpha[x] == 0) continue;
        alpha[x] = 0; /* a label stands fast, where something propagates from it */
        memcpy(ROW(answers, x), ROW(c->truth, x), (size_t)answers.k * sizeof(double));
    }
    if (most(s, answers.rows, any) > 0 && c->q > 0)
        copy(propagate(s, &spread, answers, NULL), answers);
    scope_release(s, mark);
}

/* Weights of the graphs: by how much nearer the labels of neighbours (or their held-out answers) are than those of the
 * same ends joined at random,
 *   w ~ max(0, 1 - apart / chance),  chance = mean |here|^2 + |there|^2 - 2 here . there  with the ends apart.
 * A graph that joins at random gets 0. All sums over neighbours are products with [there, |there|^2, 1]. */
void graphs_by_agreement(scope *s, const held_out *j, const block *p, double *wg)
{
    const int64_t mark = scope_mark(s), m = j->truth.k;
    const block show = block_new(s, j->truth.rows, j->truth.n, m + 2),
                of = block_like(s, show);
    double *v = NEW(s, double, 2 * m + 3),
           total = 0; /* here, there, weight, apart, squares */

    for (int g = 0; g < j->q; g++) {
        double product = 0;
        memset(v, 0, (size_t)(2 * m + 3) * sizeof *v);
        for (int i = 0; i < j->folds; i++) {
            for (int64_t x = 0; x < show.n; x++) {
                const double *there = ROW(j->labelled[x] ? j->truth : p[i], x);
                double *to = ROW(show, x);
                to[m] = 0;
                to[m + 1] = 1;
                for (int64_t c = 0; c < m; c++) {
                    to[c] = there[c];
                    to[m] += there[c] * there[c];
                }
            }
            mul(s, j->g[g].a, show, of);
            for (int64_t x = 0; x < show.n; x++) {
                const double *own = ROW(j->truth, x), *all = ROW(of, x);
                if (j->fold[x] != i) continue;
                v[2 * m] += all[m + 1];
                v[2 * m + 1] += all[m];
                v[2 * m + 2] += all[m];
                for (int64_t c = 0; c < m; c++) {
                    v[c] += all[m + 1] * own[c];
                    v[m + c] += all[c];
                    v[2 * m + 1] += own[c] * own[c] * all[m + 1] - 2 * own[c] * all[c];
                    v[2 * m + 2] += own[c] * own[c] * all[m + 1];
                }
            }
        }
        sums(s, j->truth.rows, 2 * m + 3, v);
        for (int64_t c = 0; c < m; c++)
            product += v[c] * v[m + c];
        const double chance = v[2 * m] > 0 ? v[2 * m + 2] - 2 * product / v[2 * m] : 0;
        wg[g] = chance > 0 ? fmax(0, 1 - v[2 * m + 1] / chance) : 0;
        total += wg[g];
    }
    for (int g = 0; g < j->q; g++)
        wg[g] = total > 1e-9 ? wg[g] / total : 1 / (double)j->q;
    scope_release(s, mark);
}

/* ---- mixtures ---- */

/* prior <- what the held-out likelihoods alone say, exp(-n loss / 2), to sum 1, times what is believed beforehand. A few dozen labels cannot tell them apart, and the
 * others are the best of many more choices, so that their losses are small by luck; one that is better by 5.5 units of
 * likelihood overtakes it. */
static void trust(const held_out *j, int parts, const double *before, const double *loss,
                  double *prior)
{
    double least = INFINITY, all = 0;

    for (int k = 0; k < parts; k++)
        least = fmin(least, loss[k]);
    for (int k = 0; k < parts; k++) {
        all += prior[k] = before[k] * exp(-j->n_labelled * (loss[k] - least) / 2);
    }
    for (int k = 0; k < parts; k++)
        prior[k] /= all;
}

/* Shares for classes, by EM: share <- mean over x of share p(x) / sum_k share_k p_k(x), p(x) the probability of the
 * label; beside the labels ten more that vote as `trust` says, since forty labels alone give a third to parts that know
 * nothing. */
void mix_classes(scope *s, const held_out *j, int parts, const block *p,
                 const double *before, const double *loss, double *share)
{
    double next[MOST_PARTS], each[MOST_PARTS], prior[MOST_PARTS];

    trust(j, parts, before, loss, prior);
    for (int step = 0; step < 200; step++) {
        memset(next, 0, sizeof next);
        for (int64_t x = 0; x < j->truth.n; x++) {
            double whole = 0;
            if (!j->labelled[x]) continue;
            for (int k = 0; k < parts; k++) {
                each[k] = 0;
                for (int64_t c = 0; c < j->truth.k; c++)
                    each[k] += ROW(j->truth, x)[c] * ROW(p[k], x)[c];
                whole += each[k] = share[k] * fmax(each[k], LEAST);
            }
            for (int k = 0; k < parts; k++)
                next[k] += each[k] / whole;
        }
        sums(s, j->truth.rows, parts, next);
        for (int k = 0; k < parts; k++)
            share[k] = (next[k] + 10 * prior[k]) / (j->n_labelled + 10);
    }
}

/* Shares for numbers: least squares on the simplex. */
void mix_numbers(scope *s, const held_out *j, int parts, const block *p, double *share)
{
    const small a = small_new(s, parts, parts);
    double v[MOST_PARTS] = {0};

    for (int64_t x = 0; x < j->truth.n; x++)
        for (int i = 0; j->labelled[x] && i < parts; i++) {
            const double own = ROW(p[i], x)[0];
            v[i] += own * ROW(j->truth, x)[0];
            for (int k = 0; k < parts; k++)
                AT(a, i, k) += own * ROW(p[k], x)[0];
        }
    sums(s, j->truth.rows, parts, v);
    sums(s, j->truth.rows, (int64_t)parts * parts, a.at);
    (void)simplex_qp(s, a, v, share);
}
