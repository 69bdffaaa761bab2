/* The two-level hedge of HetOMTL-CDSPP and OMTL-MC (het.h): scores, votes, steps. */
#include "methods/hetomtl/het.h"

#include <math.h>
#include <string.h>

void ferry_i_het_clear(het *h)
{
    for (int64_t i = 0; h->source && i < h->n; i++) {
        het_source *s = &h->source[i];
        ferry_i_free(s->name);
        ferry_i_free(s->r);
        ferry_i_free(s->mu);
        ferry_i_pa_free(s->ws);
        ferry_i_pa_free(s->wt);
    }
    for (int64_t g = 0; h->group && g < h->n_groups; g++)
        ferry_i_free(h->group[g].q);
    ferry_i_free(h->source);
    ferry_i_free(h->group);
    ferry_i_pa_free(h->wt);
    *h = (het){0};
}

/* ---- weights ---- */

double ferry_i_het_u(const het *h, int64_t i)
{
    const het_source *s = &h->source[i];

    return 1 / (1 + pow(h->beta1, (double)(s->mt - s->ms)));
}

double ferry_i_het_alpha(const het *h, int64_t i)
{
    double sum = 0;

    for (int64_t j = 0; j < h->n; j++)
        sum += pow(h->beta2, (double)(h->source[j].mi - h->source[i].mi));
    return 1 / sum;
}

/* ---- scores ---- */

ferry_status ferry_i_het_scores_new(ferry_ctx *ctx, const het *h, int64_t k,
                                    het_scores *out)
{
    ferry_status st = FERRY_OK;
    int64_t codes = 0, ranks = 0;
    double *all = NULL;

    for (int64_t g = 0; g < h->n_groups; g++)
        codes += h->group[g].s;
    for (int64_t i = 0; i < h->n; i++)
        ranks += h->source[i].rank;
    FERRY_NEW(ctx, all, codes + ranks + (3 * h->n + 2) * k);
    ferry_i_het_scores_clear(out);
    *out = (het_scores){.all = all, .k = k, .c = all, .z = all + codes};
    out->fs = out->z + ranks;
    out->ft = out->fs + h->n * k;
    out->f = out->ft + (h->n + 1) * k;
    out->total = out->f + h->n * k;
done:
    return st;
}

void ferry_i_het_scores_clear(het_scores *s)
{
    ferry_i_free(s->all);
    *s = (het_scores){0};
}

/* z as the options want it after the projection. */
static void after(const het *h, const het_source *s, double *z)
{
    for (int64_t c = 0; h->post == HET_POST_CENTRED && c < s->rank; c++)
        z[c] -= s->mu[c];
    if (h->post != HET_POST_NONE) ferry_i_row_unit(s->rank, z);
}

/* Row i of the target's scores. */
static double *target_scores(const het *h, const het_scores *s, int64_t i)
{
    return s->ft + (h->rule == HET_LOSSES ? i * h->k : 0);
}

void ferry_i_het_look(const het *h, const ferry_row *x, het_scores *s)
{
    const int64_t k = h->k;
    double *c = s->c, *z = s->z;

    for (int64_t g = 0; g < h->n_groups; g++) {
        ferry_i_rows_dot(h->group[g].s, h->d, h->group[g].q, x, c);
        c += h->group[g].s;
    }
    if (h->wt) ferry_i_pa_scores(h->wt, x, s->ft);
    memset(s->total, 0, (size_t)k * sizeof *s->total);
    for (int64_t i = 0; i < h->n; i++) {
        const het_source *o = &h->source[i];
        double *fs = s->fs + i * k, *f = s->f + i * k, *ft = target_scores(h, s, i);
        int64_t from = 0;
        for (int64_t g = 0; g < o->group; g++)
            from += h->group[g].s;
        const ferry_row code = {h->group[o->group].s, NULL, s->c + from};
        ferry_i_rows_dot(o->rank, code.n, o->r, &code, z);
        after(h, o, z);
        const ferry_row in = {o->rank, NULL, z};
        ferry_i_pa_scores(o->ws, &in, fs);
        if (o->wt) ferry_i_pa_scores(o->wt, &in, ft);
        const double u = ferry_i_het_u(h, i), alpha = ferry_i_het_alpha(h, i);
        for (int64_t y = 0; y < k; y++) {
            f[y] = u * fs[y] + (1 - u) * ft[y];
            s->total[y] += alpha * f[y];
        }
        z += o->rank;
    }
}

void ferry_i_het_votes(const het *h, const het_scores *s, int32_t *votes)
{
    votes[0] = ferry_i_argmax(h->k, s->ft);
    for (int64_t i = 0; i < h->n; i++) {
        votes[1 + i] = ferry_i_argmax(h->k, s->fs + i * h->k);
        votes[1 + h->n + i] = ferry_i_argmax(h->k, s->f + i * h->k);
    }
}

/* ---- learning ---- */

ferry_status ferry_i_het_classes(ferry_ctx *ctx, het *h, int64_t k)
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

static void count_mistakes(het *h, int32_t y, const int32_t *votes)
{
    for (int64_t i = 0; i < h->n; i++) {
        h->source[i].mt += votes[0] != y;
        h->source[i].ms += votes[1 + i] != y;
        h->source[i].mi += votes[1 + h->n + i] != y;
    }
}

static void count_mistakes_of(het *h, int32_t y, const het_scores *s)
{
    const int32_t target = ferry_i_argmax(h->k, s->ft);

    for (int64_t i = 0; i < h->n; i++) {
        h->source[i].mt += target != y;
        h->source[i].ms += ferry_i_argmax(h->k, s->fs + i * h->k) != y;
        h->source[i].mi += ferry_i_argmax(h->k, s->f + i * h->k) != y;
    }
}

static void count_losses(het *h, int32_t y, const het_scores *s)
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

ferry_pa_step ferry_i_het_learn(het *h, const ferry_row *x, int32_t y, const int32_t *votes,
                                const het_scores *s)
{
    ferry_pa_step step = {.r = -1};
    const double *z = s->z;

    if (h->rule == HET_LOSSES)
        count_losses(h, y, s);
    else if (votes)
        count_mistakes(h, y, votes);
    else
        count_mistakes_of(h, y, s);
    if (h->wt) step = ferry_i_pa_learn(h->wt, x, ferry_i_row_norm2(x), y, s->ft);
    for (int64_t i = 0; i < h->n; i++) {
        het_source *o = &h->source[i];
        const ferry_row in = {o->rank, NULL, z};
        if (o->wt)
            step = ferry_i_pa_learn(o->wt, &in, ferry_i_row_norm2(&in), y,
                                    target_scores(h, s, i));
        z += o->rank;
    }
    return step;
}
