/* Biases and factors by variational Bayes, weighed on ratings held out (mf.h). */
#include "learn/mf.h"

#include <math.h>
#include <string.h>

#include "learn/nnls.h"

enum { MOST_RANKS = 3, FOLDS = 5, FEW = 20000, TENTH = 10 };

/* Users and items "seen before" with a variance of a fifth of the noise (vb.h): with few
 * ratings the variances themselves cannot be known from them. */
static const double SEEN = 300, RIDGE = 3;

typedef struct blend {
    const ratings *r;
    int64_t n_ranks, rank[MOST_RANKS], sweeps, burn;
    bool diagonal;
    vb_fit base, with[MOST_RANKS];
    int64_t done, steps; /* fits, for progress */
    bool finish;
    double w[MOST_RANKS];
} blend;

static vb_fit one_fit(scope *s, const ratings *r, int64_t rank, blend *k)
{
    const vb_how how = {rank, k->sweeps, k->burn, SEEN, k->diagonal};
    const block q0 = block_new(s, HERE(r->items), r->items, rank);

    fill_normal(s, scope_rng(s, "mf"), q0);
    const vb_fit f = vb_learn(s, r, &how, q0);
    k->finish = progress(s, "mf", ++k->done, k->steps, NAN) || k->finish;
    return f;
}

/* All of them on r. Once asked to finish, factors are left out. */
static void all_fits(scope *s, const ratings *r, blend *k)
{
    k->base = one_fit(s, r, 0, k);
    for (int64_t c = 0; c < k->n_ranks; c++) {
        if (k->finish)
            k->w[c] = 0;
        else
            k->with[c] = one_fit(s, r, k->rank[c], k);
    }
}

/* ---- weights ---- */

/* Ratings held out: n rows of P_1 .. P_r, t, and which they are. */
typedef struct pairs_held {
    int64_t n, cols;
    double *row;
    int64_t *at;
} pairs_held;

static void ask(const blend *k, const uint8_t *fold, uint8_t which, pairs_held *h)
{
    const ferry_matrix *x = k->r->x.m;

    for (int64_t row_of = 0; row_of < x->rows; row_of++)
        for (int64_t e = x->start[row_of]; e < x->start[row_of + 1]; e++) {
            if (fold[e] != which) continue;
            const int64_t i = k->r->x.rows.first + row_of, j = x->index[e];
            const double base = vb_at(&k->base, i, j);
            double *row = h->row + h->n * h->cols;
            h->at[h->n++] = e;
            for (int64_t c = 0; c < k->n_ranks; c++)
                row[c] = vb_at(&k->with[c], i, j) - base;
            row[k->n_ranks] = (x->value[e] - k->base.mu) / k->base.sd - base;
        }
}

/* Whether the squares fall by more than chance: two standard errors of their mean. */
static bool is_sure(scope *s, const blend *k, const pairs_held *h)
{
    const int64_t r = k->n_ranks;
    double gains[3] = {0, 0, (double)h->n}; /* sum, squares, number */

    for (int64_t e = 0; e < h->n; e++) {
        const double *row = h->row + e * h->cols;
        double fit = 0;
        for (int64_t c = 0; c < r; c++)
            fit += k->w[c] * row[c];
        const double gain = fit * (2 * row[r] - fit); /* t^2 - (t - Pw)^2 */
        gains[0] += gain;
        gains[1] += gain * gain;
    }
    sums(s, k->r->x.rows, 3, gains);
    const double all = gains[0];
    return all > 0 && all * all > 4 * (gains[1] - all * all / gains[2]);
}

static void weigh(scope *s, const pairs_held *h, blend *k)
{
    const int64_t r = k->n_ranks;
    double a[MOST_RANKS * MOST_RANKS] = {0}, c[MOST_RANKS] = {0}, all = 0;

    for (int64_t e = 0; e < h->n; e++) {
        const double *row = h->row + e * h->cols;
        for (int64_t p = 0; p < r; p++) {
            c[p] += row[p] * row[r];
            for (int64_t q = 0; q < r; q++)
                a[p * r + q] += row[p] * row[q];
        }
    }
    sums(s, k->r->x.rows, r * r, a);
    sums(s, k->r->x.rows, r, c);
    for (int64_t p = 0; p < r; p++)
        a[p * r + p] += RIDGE;
    ferry_i_nnls(r, a, c, k->w);
    if (!is_sure(s, k, h)) memset(k->w, 0, sizeof k->w);
    for (int64_t p = 0; p < r; p++)
        all += k->w[p];
    for (int64_t p = 0; p < r && all > 1; p++)
        k->w[p] /= all;
}

/* t - P w of what was held out. */
static void keep_rest(const blend *k, const pairs_held *h, double *rest)
{
    for (int64_t e = 0; e < stored(k->r->x); e++)
        rest[e] = NAN;
    for (int64_t e = 0; e < h->n; e++) {
        const double *row = h->row + e * h->cols;
        double left = row[k->n_ranks];
        for (int64_t c = 0; c < k->n_ranks; c++)
            left -= k->w[c] * row[c];
        rest[h->at[e]] = left;
    }
}

/* Five folds where ratings are few, else one tenth of them. */
static void find_weights(scope *s, blend *k, mf_held *held)
{
    const int64_t n = stored(k->r->x), before = ratings_before(s, k->r),
                  folds = entries(s, k->r->x) <= FEW ? FOLDS : 1;
    ferry_rng *rng = scope_rng(s, "mf/held");
    uint8_t *fold = NEW(s, uint8_t, n);
    double *rest = held ? NEW(s, double, n) : NULL;
    const int64_t mark = scope_mark(s);
    pairs_held h = {.cols = k->n_ranks + 1};

    h.row = NEW(s, double, n *h.cols);
    h.at = NEW(s, int64_t, n);
    for (int64_t e = -before; e < n; e++) {
        const uint8_t drawn = (uint8_t)ferry_i_rng_below(rng, folds == 1 ? TENTH : FOLDS);
        if (e >= 0) fold[e] = drawn;
    }
    for (int64_t q = 0; q < folds && !k->finish; q++) {
        const int64_t before_fold = scope_mark(s);
        const ratings part = ratings_without(s, k->r, fold, (uint8_t)q);
        if (entries(s, part.x) > 0) {
            all_fits(s, &part, k);
            if (!k->finish && k->base.sd > 0) ask(k, fold, (uint8_t)q, &h);
        }
        scope_release(s, before_fold);
    }
    if (!k->finish) weigh(s, &h, k);
    if (held) {
        keep_rest(k, &h, rest);
        *held = (mf_held){folds, fold, rest};
    }
    scope_release(s, mark);
}

/* ---- the model ---- */

/* New users are folded in by one ridge for all columns. The prior of column c asks for
 * s2 / (w^2 v_c) for users and s2 sd^2 / vq_c for items; column c of p times alpha_c, that
 * of q divided by it, makes the first the same for all and the second so on average. */
static void fold_in_by(const blend *k, rating_factors *m, double *alpha)
{
    const double s2 = k->base.s2, sd = k->base.sd;
    double over = 0, all = 0;

    for (int64_t c = 0; c < k->n_ranks; c++)
        for (int64_t j = 0; k->w[c] > 0 && j < k->rank[c]; j++) {
            const double v = fmax(k->with[c].v[j], 1e-9) * fmax(k->with[c].vq[j], 1e-9);
            over += sqrt(v) * s2 * sd / k->w[c];
            all += v;
        }
    m->ridge = all > 0 ? over / all : 0;
    for (int64_t c = 0; c < k->n_ranks; c++)
        for (int64_t j = 0; k->w[c] > 0 && j < k->rank[c]; j++)
            /* equal ratings: no ridge, and nothing to be multiplied */
            *alpha++ = m->ridge > 0
                           ? sqrt(s2 / (m->ridge * fmax(k->with[c].v[j], 1e-9))) / k->w[c]
                           : 1;
    m->shrink_a = s2 / k->base.va;
    m->shrink_b = s2 / k->base.vb;
}

/* bias + sum w_k (bias_k - bias) in units of the ratings, and f (or 1) w_k alpha times the
 * factors of those that count. */
static void one_side(const blend *k, bool items, const double *alpha, double *bias,
                     block out)
{
    const block base = items ? k->base.zi : k->base.zu;

    for (int64_t i = 0; i < base.n; i++) {
        double b = ROW(base, i)[0], *to = ROW(out, i);
        const double *f = alpha;
        for (int64_t c = 0; c < k->n_ranks; c++) {
            if (k->w[c] == 0) continue;
            const double *z = ROW(items ? k->with[c].zi : k->with[c].zu, i);
            b += k->w[c] * (z[0] - ROW(base, i)[0]);
            for (int64_t j = 0; j < k->rank[c]; j++, f++)
                *to++ = items ? z[1 + j] / *f : k->base.sd * k->w[c] * z[1 + j] * *f;
        }
        bias[i] = k->base.sd * b;
    }
}

static rating_factors make_model(scope *s, scope *keep, const blend *k)
{
    int64_t rank = 0;

    for (int64_t c = 0; c < k->n_ranks; c++)
        rank += k->w[c] > 0 ? k->rank[c] : 0;
    rating_factors m = factors_new(keep, k->r, rank);
    double *alpha = NEW(s, double, rank);
    fold_in_by(k, &m, alpha);
    m.mu = k->base.mu;
    one_side(k, false, alpha, m.a, m.p);
    one_side(k, true, alpha, m.b, m.q);
    return m;
}

static void report(scope *s, const blend *k)
{
    const char *names[MOST_RANKS];

    for (int64_t c = 0; c < k->n_ranks; c++)
        names[c] = scope_text(s, "rank %lld", (long long)k->rank[c]);
    report_named(s, "ranks", k->n_ranks, names, k->w);
    report_real(s, "mean", k->base.mu);
    report_real(s, "noise", sqrt(k->base.s2) * k->base.sd);
}

rating_factors mf_learn(scope *s, scope *keep, const ratings *r, int64_t rank,
                        int64_t sweeps, mf_held *held, bool *finish)
{
    blend k = {.r = r, .n_ranks = 1, .rank = {rank}, .sweeps = sweeps, .burn = 4};

    if (rank > VB_MOST_RANK)
        scope_fail(s, FERRY_EINVAL, "%s: rank = %lld, but solver=vb takes at most %d",
                   scope_ctx(s)->fitting, (long long)rank, VB_MOST_RANK);
    if (rank == 0) {
        k.n_ranks = MOST_RANKS;
        memcpy(k.rank, (const int64_t[]){5, 10, 20}, sizeof k.rank);
    }
    k.steps = (1 + k.n_ranks) * (entries(s, r->x) <= FEW ? FOLDS + 1 : 2);
    find_weights(s, &k, held);
    const int64_t mark = scope_mark(s);
    all_fits(s, r, &k);
    const rating_factors m = make_model(s, keep, &k);
    report(s, &k);
    *finish = k.finish;
    scope_release(s, mark);
    return m;
}

/* The biases of a fit as one without factors, which is what make_model() starts from. */
static vb_fit biases_of(scope *s, const vb_fit *f)
{
    vb_fit out = *f;

    out.zu = block_new(s, f->zu.rows, f->zu.n, 1);
    out.zi = block_new(s, f->zi.rows, f->zi.n, 1);
    for (int64_t i = 0; i < f->zu.n; i++)
        out.zu.at[i] = ROW(f->zu, i)[0];
    for (int64_t i = 0; i < f->zi.n; i++)
        out.zi.at[i] = ROW(f->zi, i)[0];
    return out;
}

/* Variances are learnt from the second sweep on: with so many ratings a start that is far off
 * does not mislead them, and unneeded factors die sooner. */
rating_factors mf_learn_diagonal(scope *s, scope *keep, const ratings *r, int64_t rank,
                                 int64_t sweeps, bool *finish)
{
    blend k = {.r = r,
               .n_ranks = 1,
               .rank = {rank},
               .sweeps = sweeps,
               .burn = 1,
               .diagonal = true,
               .steps = 1,
               .w = {1}};

    k.with[0] = one_fit(s, r, rank, &k);
    drop_ratings(r); /* memory for the model */
    k.base = biases_of(s, &k.with[0]);
    const rating_factors m = make_model(s, keep, &k);
    report(s, &k);
    *finish = k.finish;
    return m;
}
