/* Decisions of a round from rounded rows (hedge.h), where these are certain.
 *
 * What leaves a round, and what it leaves behind, are places of largest scores and the step of W_T, which takes two
 * scores alone. Scores from rounded rows are off by no more than a known e (linalg/rounded.h), so a lead of more than
 * 2 e is a lead. All bits are those of the plain way: what is not certain is computed exactly, and so are the two scores
 * of a step. For rows that are dense, the rule of mistakes and no change after the projection. */
#include <float.h>
#include <math.h>

#include "learn/hedge.h"
#include "linalg/rounded.h"

enum { SCREEN_LEAST = 512 };

/* W_T and Q as floats beside the exact ones, half the bytes to read. */
struct hedge_screen {
    int64_t codes; /* of all Q */
    float *rows;   /* codes + k rows x d: Q', then W_T */
    float *x;      /* d: the row at hand */
    /* Lengths: of the rows; of what takes c(x) to fS_i (n); of the largest row of W_T. Times `unit`, which is that of x
     * and the rounding's, they are how far scores are off. */
    double *size, *source, target, unit;
};

bool hedge_can_screen(const hedge *h)
{
    return h->rule == HEDGE_MISTAKES && h->post == HEDGE_POST_NONE &&
           h->target.w.k >= SCREEN_LEAST;
}

/* Row i of all <- v. */
static void round_row(hedge_screen *s, int64_t i, int64_t d, const double *v)
{
    s->size[i] = sqrt(ferry_i_round_row(d, v, s->rows + i * d)) + FERRY_ROUNDED_LEAST;
}

/* The largest of W_T's rows. */
static void find_largest(const hedge *h, hedge_screen *s)
{
    s->target = 0;
    for (int64_t y = 0; y < h->k; y++)
        s->target = fmax(s->target, s->size[s->codes + y]);
}

/* fS = W_S R'c: where c is off by e, fS is by at most |W_S| |R|' e. The largest of its rows; z is scratch. */
static double source_size(const hedge *h, int64_t i, const double *e, double *z)
{
    const block r = h->r[i].b, w = h->ws[i].w;
    double largest = 0;

    for (int64_t c = 0; c < r.n; c++) {
        z[c] = 0;
        for (int64_t j = 0; j < r.k; j++)
            z[c] += fabs(ROW(r, c)[j]) * e[j];
    }
    for (int64_t y = 0; y < h->k; y++) {
        double off = 0;
        for (int64_t c = 0; c < r.n; c++)
            off += fabs(ROW(w, y)[c]) * z[c];
        largest = fmax(largest, off);
    }
    return largest;
}

hedge_screen *hedge_screen_new(scope *s, const hedge *h, int64_t k, hedge_scores *f)
{
    const int64_t d = h->target.w.k;
    hedge_screen *to = NEW(s, hedge_screen, 1);
    int64_t at = 0, *from = NEW(s, int64_t, h->n_codes);

    for (int64_t g = 0; g < h->n_codes; g++) {
        from[g] = to->codes;
        to->codes += h->codes[g].b.n;
    }
    to->rows = NEW(s, float, (to->codes + k) * d);
    to->x = NEW(s, float, d);
    to->size = NEW(s, double, to->codes + k);
    to->source = NEW(s, double, h->n);
    for (int64_t g = 0; g < h->n_codes; g++)
        for (int64_t j = 0; j < h->codes[g].b.n; j++)
            round_row(to, at++, d, ROW(h->codes[g].b, j));
    for (int64_t i = 0; i < h->n; i++)
        to->source[i] = source_size(h, i, to->size + from[h->source[i].codes], f->z);
    for (int64_t y = 0; y < h->k; y++)
        round_row(to, at++, d, ROW(h->target.w, y));
    for (; at < to->codes + k; at++) /* still without weights */
        to->size[at] = FERRY_ROUNDED_LEAST;
    find_largest(h, to);
    return to;
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

int32_t hedge_screen_score(const hedge *h, hedge_screen *s, ferry_row x, hedge_scores *f)
{
    const int64_t k = h->k, d = h->target.w.k;
    const double size = sqrt(ferry_i_round_row(d, x.value, s->x)) + FERRY_ROUNDED_LEAST;
    double e = 0;

    s->unit = FERRY_ROUNDED * size;
    ferry_i_rounded_dots(s->codes + k, d, s->rows, s->x, f->c); /* and f->ft */
    hedge_mix(h, f);
    bool sure = (f->votes[0] = certain(k, f->ft, -1, s->unit * s->target)) >= 0;
    for (int64_t i = 0; i < h->n && sure; i++) {
        const double pair = f->u[i] * s->source[i] + (1 - f->u[i]) * s->target;
        int32_t *votes = f->votes + 1 + i;
        votes[0] = certain(k, f->fs + i * k, -1, s->unit * s->source[i]);
        votes[h->n] = certain(k, f->f + i * k, -1, s->unit * pair);
        e += f->alpha[i] * pair;
        sure = votes[0] >= 0 && votes[h->n] >= 0;
    }
    return sure ? certain(k, f->total, -1, s->unit * e) : -1;
}

void hedge_screen_exact(const hedge *h, const hedge_screen *s, ferry_row x, int32_t y,
                        hedge_scores *f)
{
    const double e = s->unit * s->target;
    const int32_t r = certain(h->k, f->ft, y, e);

    if (r < 0) {
        pa_scores(&h->target, x, f->ft);
    } else if (!(1 - f->ft[y] + f->ft[r] < -2 * e)) {
        f->ft[y] = row_dot(x, ROW(h->target.w, y));
        f->ft[r] = row_dot(x, ROW(h->target.w, r));
    }
}

void hedge_screen_step(const hedge *h, hedge_screen *s, int32_t y, int32_t r)
{
    const int64_t d = h->target.w.k;

    round_row(s, s->codes + y, d, ROW(h->target.w, y));
    round_row(s, s->codes + r, d, ROW(h->target.w, r));
    find_largest(h, s);
}
