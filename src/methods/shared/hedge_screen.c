/* Decisions of a round from rounded rows (hedge.h), where these are certain.
 *
 * What leaves a round, and what it leaves behind, are places of largest scores and the step of W_T, which takes two scores
 * alone. Scores from rounded rows are off by no more than a known e (linalg/rounded.h), so a lead of more than 2 e is a
 * lead. All bits are those of the plain way: what is not certain is computed exactly, and so are the two scores of a
 * step. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/rounded.h"
#include "methods/shared/hedge.h"

void ferry_i_hedge_screen_clear(hedge_screen *s)
{
    FERRY_FREE(s->rows, s->x, s->size, s->source);
    *s = (hedge_screen){0};
}

/* Row i of all <- v. */
static void round_row(hedge_screen *s, int64_t i, int64_t d, const double *v)
{
    s->size[i] = sqrt(ferry_i_round_row(d, v, s->rows + i * d)) + FERRY_ROUNDED_LEAST;
}

/* The largest of W_T's rows. */
static void widest(const hedge *h, hedge_screen *s)
{
    s->target = 0;
    for (int64_t y = 0; y < h->k; y++)
        s->target = fmax(s->target, s->size[s->codes + y]);
}

/* fS = W_S R'c: where c is off by e, fS is by at most |W_S| |R|' e. The largest of its rows; z is scratch. */
static double source_size(const hedge *h, const hedge_source *o, const double *e, double *z)
{
    const int64_t codes = h->group[o->group].s;
    double most = 0;

    for (int64_t c = 0; c < o->rank; c++) {
        z[c] = 0;
        for (int64_t j = 0; j < codes; j++)
            z[c] += fabs(o->r[c * codes + j]) * e[j];
    }
    for (int64_t y = 0; y < h->k; y++) {
        double sum = 0;
        for (int64_t c = 0; c < o->rank; c++)
            sum += fabs(o->ws->w[y * o->rank + c]) * z[c];
        most = fmax(most, sum);
    }
    return most;
}

ferry_status ferry_i_hedge_screen_new(ferry_ctx *ctx, const hedge *h, hedge_scores *f,
                                      hedge_screen *s)
{
    ferry_status st = FERRY_OK;
    int64_t at = 0;

    *s = (hedge_screen){.k = h->k};
    for (int64_t g = 0; g < h->n_groups; g++)
        s->codes += h->group[g].s;
    FERRY_NEW(ctx, s->rows, (s->codes + h->k) * h->d);
    FERRY_NEW(ctx, s->x, h->d);
    FERRY_NEW(ctx, s->size, s->codes + h->k);
    FERRY_NEW(ctx, s->source, h->n);
    for (int64_t g = 0; g < h->n_groups; g++)
        for (int64_t j = 0; j < h->group[g].s; j++)
            round_row(s, at++, h->d, h->group[g].q + j * h->d);
    for (int64_t i = 0; i < h->n; i++)
        s->source[i] = source_size(
            h, &h->source[i], s->size + ferry_i_hedge_codes(h, h->source[i].group), f->z);
    for (int64_t y = 0; y < h->k; y++)
        round_row(s, at++, h->d, h->wt->w + y * h->d);
    widest(h, s);
done:
    if (st != FERRY_OK) ferry_i_hedge_screen_clear(s);
    return st;
}

ferry_status ferry_i_hedge_screen_classes(ferry_ctx *ctx, const hedge *h, int64_t k,
                                          hedge_screen *s)
{
    ferry_status st = FERRY_OK;
    const int64_t have = s->codes + s->k, want = s->codes + k;
    float *rows = NULL;
    double *size = NULL;

    if (k <= s->k) return FERRY_OK;
    FERRY_HAVE(ctx, rows = ferry_i_realloc(s->rows, want * h->d, sizeof *rows));
    s->rows = rows;
    FERRY_HAVE(ctx, size = ferry_i_realloc(s->size, want, sizeof *size));
    s->size = size;
    memset(rows + have * h->d, 0, (size_t)((want - have) * h->d) * sizeof *rows);
    for (int64_t i = have; i < want; i++)
        size[i] = FERRY_ROUNDED_LEAST;
    s->k = k;
done:
    return st;
}

/* The place of the largest but `out` (-1: of all), the first of equals, if it is that of the exact scores too, which are
 * off by at most e; else -1. No comparison with NaN holds, and an infinite lead is a float that overflowed. */
static int32_t certain(int64_t k, const double *f, int32_t out, double e)
{
    int32_t best = -1;

    for (int32_t c = 0; c < k; c++)
        if (c != out && (best < 0 || f[c] > f[best])) best = c;
    for (int32_t c = 0; c < k; c++) {
        const double lead = f[best] - f[c];
        if (c != out && c != best && !(lead > 2 * e && lead <= DBL_MAX)) return -1;
    }
    return best;
}

bool ferry_i_hedge_screen_look(const hedge *h, hedge_screen *s, const ferry_row *x,
                               hedge_scores *f, int32_t *answer)
{
    const int64_t k = h->k;
    const double size = sqrt(ferry_i_round_row(h->d, x->value, s->x)) + FERRY_ROUNDED_LEAST;
    double e = 0;

    s->unit = FERRY_ROUNDED * size;
    ferry_i_rounded_dots(s->codes + k, h->d, s->rows, s->x, f->c); /* and f->ft */
    ferry_i_hedge_mix(h, f);
    bool sure = (f->votes[0] = certain(k, f->ft, -1, s->unit * s->target)) >= 0;
    for (int64_t i = 0; i < h->n && sure; i++) {
        const double pair = f->u[i] * s->source[i] + (1 - f->u[i]) * s->target;
        int32_t *votes = f->votes + 1 + i;
        votes[0] = certain(k, f->fs + i * k, -1, s->unit * s->source[i]);
        votes[h->n] = certain(k, f->f + i * k, -1, s->unit * pair);
        e += f->alpha[i] * pair;
        sure = votes[0] >= 0 && votes[h->n] >= 0;
    }
    *answer = certain(k, f->total, -1, s->unit * e);
    return sure && *answer >= 0;
}

void ferry_i_hedge_screen_settle(const hedge *h, const hedge_screen *s, const ferry_row *x,
                                 int32_t y, hedge_scores *f)
{
    const double e = s->unit * s->target;
    const int32_t r = certain(h->k, f->ft, y, e);

    if (r < 0) {
        ferry_i_pa_scores(h->wt, x, f->ft);
    } else if (!(1 - f->ft[y] + f->ft[r] < -2 * e)) {
        ferry_i_row_scores(1, h->d, h->wt->w + y * h->d, x, &f->ft[y]);
        ferry_i_row_scores(1, h->d, h->wt->w + r * h->d, x, &f->ft[r]);
    }
}

void ferry_i_hedge_screen_step(const hedge *h, hedge_screen *s, int32_t y, int32_t r)
{
    round_row(s, s->codes + y, h->d, h->wt->w + y * h->d);
    round_row(s, s->codes + r, h->d, h->wt->w + r * h->d);
    widest(h, s);
}
