/* mf by variational Bayes (mf_vb.h).
 *
 * M0 has biases alone, M_k also k factors (vb.h). On ratings that were held out, with
 * P_k = M_k - M0 and t = x - M0,
 *
 *   min |t - P w|^2 + 3 |w|^2,   w >= 0, sum w <= 1,
 *
 * and all are fitted once more on all ratings: M0 + sum w_k P_k. Where factors are worth
 * nothing the weights are 0, and what remains are the biases; so they are, too, where the
 * gain on the ratings held out could be chance. Weights of several ranks average what each
 * of them gets wrong. */
#include "methods/shared/mf_vb.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/nnls.h"

enum { MOST_RANKS = 3, FOLDS = 5, FEW = 20000, TENTH = 10 };

/* Users and items "seen before" with a variance of a fifth of the noise (vb.h): with few
 * ratings the variances themselves cannot be told from them. */
static const double SEEN = 300, RIDGE = 3;

typedef struct work {
    const observed *x;
    int64_t n_ranks, rank[MOST_RANKS], sweeps, burn;
    bool diagonal;
    vb_fit base, with[MOST_RANKS];
    int64_t done, steps; /* fits, for progress */
    bool finish;
    double w[MOST_RANKS];
} work;

static void fits_clear(work *k)
{
    ferry_i_vb_clear(&k->base);
    for (int64_t c = 0; c < MOST_RANKS; c++)
        ferry_i_vb_clear(&k->with[c]);
}

static ferry_status one_fit(ferry_ctx *ctx, const observed *x, int64_t rank, work *k,
                            vb_fit *out)
{
    ferry_status st = FERRY_OK;
    const vb_how how = {rank, k->sweeps, k->burn, SEEN, k->diagonal};
    ferry_block *q0 = NULL;
    ferry_rng rng;

    FERRY_TRY(ferry_i_block_new(ctx, x->x->cols, rank, &q0));
    ferry_i_rng_for(ctx, &rng, "mf");
    ferry_i_fill_normal(q0, &rng);
    FERRY_TRY(ferry_i_vb(ctx, x, &how, q0, out));
    FERRY_TRY(ferry_i_progress(ctx, "mf", ++k->done, k->steps, NAN, &k->finish));
done:
    ferry_i_free(q0);
    return st;
}

/* All of them on x. Once asked to finish, factors are left out. */
static ferry_status all_fits(ferry_ctx *ctx, const observed *x, work *k)
{
    fits_clear(k);
    FERRY_PASS(one_fit(ctx, x, 0, k, &k->base));
    for (int64_t c = 0; c < k->n_ranks; c++) {
        if (k->finish) k->w[c] = 0;
        if (!k->finish) FERRY_PASS(one_fit(ctx, x, k->rank[c], k, &k->with[c]));
    }
    return FERRY_OK;
}

/* ---- weights ---- */

/* Ratings held out: n rows of P_1 .. P_r, t, and which they are. */
typedef struct held {
    int64_t n, cols;
    double *row;
    int64_t *at;
} held;

static void ask(ferry_ctx *ctx, const work *k, const uint8_t *fold, uint8_t which, held *h)
{
    const ferry_matrix *x = k->x->x;
    const int64_t first = ferry_i_observed_user(ctx, k->x);

    for (int64_t row_of = 0; row_of < x->rows; row_of++)
        for (int64_t e = x->start[row_of]; e < x->start[row_of + 1]; e++) {
            if (fold[e] != which) continue;
            const int64_t i = first + row_of, j = x->index[e];
            const double base = ferry_i_vb_at(&k->base, i, j);
            double *row = h->row + h->n * h->cols;
            h->at[h->n++] = e;
            for (int64_t c = 0; c < k->n_ranks; c++)
                row[c] = ferry_i_vb_at(&k->with[c], i, j) - base;
            row[k->n_ranks] = (x->value[e] - k->base.mu) / k->base.sd - base;
        }
}

/* Whether the squares fall by more than chance: two standard errors of their mean. */
static ferry_status check_sure(ferry_ctx *ctx, const observed *o, const held *h, int64_t r,
                               const double *w, bool *sure)
{
    double gains[3] = {0, 0, (double)h->n}; /* sum, squares, number */

    for (int64_t e = 0; e < h->n; e++) {
        const double *row = h->row + e * h->cols;
        double fit = 0;
        for (int64_t c = 0; c < r; c++)
            fit += w[c] * row[c];
        const double gain = fit * (2 * row[r] - fit); /* t^2 - (t - Pw)^2 */
        gains[0] += gain;
        gains[1] += gain * gain;
    }
    FERRY_PASS(ferry_i_observed_sum(ctx, o, 3, gains));
    const double sum = gains[0];
    *sure = sum > 0 && sum * sum > 4 * (gains[1] - sum * sum / gains[2]);
    return FERRY_OK;
}

static ferry_status weigh(ferry_ctx *ctx, const held *h, work *k)
{
    const int64_t r = k->n_ranks;
    double a[MOST_RANKS * MOST_RANKS] = {0}, c[MOST_RANKS] = {0}, sum = 0;
    bool sure = false;

    for (int64_t e = 0; e < h->n; e++) {
        const double *row = h->row + e * h->cols;
        for (int64_t p = 0; p < r; p++) {
            c[p] += row[p] * row[r];
            for (int64_t q = 0; q < r; q++)
                a[p * r + q] += row[p] * row[q];
        }
    }
    FERRY_PASS(ferry_i_observed_sum(ctx, k->x, r * r, a));
    FERRY_PASS(ferry_i_observed_sum(ctx, k->x, r, c));
    for (int64_t p = 0; p < r; p++)
        a[p * r + p] += RIDGE;
    ferry_i_nnls(r, a, c, k->w);
    FERRY_PASS(check_sure(ctx, k->x, h, r, k->w, &sure));
    if (!sure) memset(k->w, 0, sizeof k->w);
    for (int64_t p = 0; p < r; p++)
        sum += k->w[p];
    for (int64_t p = 0; p < r && sum > 1; p++)
        k->w[p] /= sum;
    return FERRY_OK;
}

/* t - P w of what was held out. */
static ferry_status keep_rest(ferry_ctx *ctx, const work *k, const held *h, int64_t n,
                              mf_held *keep)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, keep->rest, n);
    for (int64_t e = 0; e < n; e++)
        keep->rest[e] = NAN;
    for (int64_t e = 0; e < h->n; e++) {
        const double *row = h->row + e * h->cols;
        double rest = row[k->n_ranks];
        for (int64_t c = 0; c < k->n_ranks; c++)
            rest -= k->w[c] * row[c];
        keep->rest[h->at[e]] = rest;
    }
done:
    return st;
}

void ferry_i_mf_held_clear(mf_held *h)
{
    FERRY_FREE(h->fold, h->rest);
    *h = (mf_held){0};
}

/* Five folds where ratings are few, else one tenth of them. */
static ferry_status find_weights(ferry_ctx *ctx, work *k, mf_held *keep)
{
    ferry_status st = FERRY_OK;
    const int64_t n = k->x->x->nnz, folds = ferry_i_observed_count(k->x) <= FEW ? FOLDS : 1;
    int64_t before = 0; /* ratings of the ranks before this one */
    uint8_t *fold = NULL;
    observed part = {0};
    held h = {.cols = k->n_ranks + 1};
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "mf/held");
    FERRY_NEW(ctx, fold, n);
    FERRY_NEW(ctx, h.row, n * h.cols);
    FERRY_NEW(ctx, h.at, n);
    FERRY_TRY(ferry_i_observed_before(ctx, k->x, &before));
    for (int64_t e = -before; e < n; e++) {
        const uint8_t drawn = (uint8_t)ferry_i_rng_below(&rng, folds == 1 ? TENTH : FOLDS);
        if (e >= 0) fold[e] = drawn;
    }
    for (int64_t q = 0; q < folds && !k->finish; q++) {
        ferry_i_observed_clear(&part);
        FERRY_TRY(ferry_i_observed_part(ctx, k->x, fold, (uint8_t)q, &part));
        if (ferry_i_observed_count(&part) == 0) continue;
        FERRY_TRY(all_fits(ctx, &part, k));
        if (!k->finish && k->base.sd > 0) ask(ctx, k, fold, (uint8_t)q, &h);
    }
    if (!k->finish) FERRY_TRY(weigh(ctx, &h, k));
    if (!keep) goto done;
    keep->folds = folds;
    FERRY_MOVE(keep->fold, fold);
    FERRY_TRY(keep_rest(ctx, k, &h, n, keep));
done:
    ferry_i_observed_clear(&part);
    FERRY_FREE(fold, h.row, h.at);
    return st;
}

/* ---- the model ---- */

/* New users are folded in by one ridge for all columns. The prior of column c asks for
 * s2 / (w^2 v_c) for users and s2 sd^2 / vq_c for items; column c of p times alpha_c, that
 * of q divided by it, makes the first the same for all and the second so on average. */
static void fold_in_by(const work *k, rating_model *m, double *alpha)
{
    const double s2 = k->base.s2, sd = k->base.sd;
    double sum = 0, all = 0;

    for (int64_t c = 0; c < k->n_ranks; c++)
        for (int64_t j = 0; k->w[c] > 0 && j < k->rank[c]; j++) {
            const double v = fmax(k->with[c].v[j], 1e-9) * fmax(k->with[c].vq[j], 1e-9);
            sum += sqrt(v) * s2 * sd / k->w[c];
            all += v;
        }
    m->ridge = all > 0 ? sum / all : 0;
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
static void one_side(const work *k, bool items, const double *alpha, double *bias,
                     ferry_block *out)
{
    const ferry_block *base = items ? k->base.zi : k->base.zu;

    for (int64_t i = 0; i < base->rows; i++) {
        double b = FERRY_ROW(base, i)[0], *to = FERRY_ROW(out, i);
        const double *f = alpha;
        for (int64_t c = 0; c < k->n_ranks; c++) {
            if (k->w[c] == 0) continue;
            const double *z = FERRY_ROW(items ? k->with[c].zi : k->with[c].zu, i);
            b += k->w[c] * (z[0] - FERRY_ROW(base, i)[0]);
            for (int64_t j = 0; j < k->rank[c]; j++, f++)
                *to++ = items ? z[1 + j] / *f : k->base.sd * k->w[c] * z[1 + j] * *f;
        }
        bias[i] = k->base.sd * b;
    }
}

static ferry_status make_model(ferry_ctx *ctx, const work *k, const ferry_ratings *r,
                               rating_model **out)
{
    ferry_status st = FERRY_OK;
    double *alpha = NULL;
    int64_t rank = 0;

    for (int64_t c = 0; c < k->n_ranks; c++)
        rank += k->w[c] > 0 ? k->rank[c] : 0;
    FERRY_TRY(ferry_i_rating_model_new(ctx, r, rank, out));
    FERRY_NEW(ctx, alpha, rank);
    fold_in_by(k, *out, alpha);
    (*out)->mu = k->base.mu;
    one_side(k, false, alpha, (*out)->a, (*out)->p);
    one_side(k, true, alpha, (*out)->b, (*out)->q);
done:
    ferry_i_free(alpha);
    return st;
}

static void tell(ferry_ctx *ctx, const work *k)
{
    char text[MOST_RANKS][24];
    const char *keys[MOST_RANKS];

    for (int64_t c = 0; c < k->n_ranks; c++) {
        (void)snprintf(text[c], sizeof text[c], "rank %lld", (long long)k->rank[c]);
        keys[c] = text[c];
    }
    ferry_i_diag_named(ctx, "ranks", k->n_ranks, keys, k->w);
    ferry_i_diag_real(ctx, "mean", k->base.mu);
    ferry_i_diag_real(ctx, "noise", sqrt(k->base.s2) * k->base.sd);
}

ferry_status ferry_i_mf_vb(ferry_ctx *ctx, const rating_data *d, int64_t rank,
                           int64_t sweeps, rating_model **out, mf_held *keep,
                           ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    work k = {.x = &d->x, .n_ranks = 1, .rank = {rank}, .sweeps = sweeps, .burn = 4};

    FERRY_NEED(ctx, rank <= VB_MOST_RANK, FERRY_EINVAL,
               "mf: rank = %lld, but solver=vb takes at most %d", (long long)rank,
               VB_MOST_RANK);
    if (rank == 0) {
        k.n_ranks = MOST_RANKS;
        memcpy(k.rank, (const int64_t[]){5, 10, 20}, sizeof k.rank);
    }
    k.steps = (1 + k.n_ranks) * (ferry_i_observed_count(&d->x) <= FEW ? FOLDS + 1 : 2);
    FERRY_TRY(find_weights(ctx, &k, keep));
    FERRY_TRY(all_fits(ctx, &d->x, &k));
    FERRY_TRY(make_model(ctx, &k, d->r, out));
    tell(ctx, &k);
    rep->iters = sweeps;
    rep->stop = k.finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER;
done:
    fits_clear(&k);
    return st;
}

/* The biases of a fit as one without factors, which is what make_model() starts from. */
static ferry_status biases_of(ferry_ctx *ctx, const vb_fit *f, vb_fit *out)
{
    *out = (vb_fit){.mu = f->mu, .sd = f->sd, .s2 = f->s2, .va = f->va, .vb = f->vb};
    FERRY_PASS(ferry_i_block_new(ctx, f->zu->rows, 1, &out->zu));
    FERRY_PASS(ferry_i_block_new(ctx, f->zi->rows, 1, &out->zi));
    for (int64_t i = 0; i < f->zu->rows; i++)
        out->zu->data[i] = FERRY_ROW(f->zu, i)[0];
    for (int64_t i = 0; i < f->zi->rows; i++)
        out->zi->data[i] = FERRY_ROW(f->zi, i)[0];
    return FERRY_OK;
}

/* Variances are learnt from the second sweep on: with so many ratings a start that is far off
 * does not mislead them, and unneeded factors die sooner. */
ferry_status ferry_i_mf_vb_diagonal(ferry_ctx *ctx, rating_data *d, int64_t rank,
                                    int64_t sweeps, rating_model **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    work k = {.x = &d->x,
              .n_ranks = 1,
              .rank = {rank},
              .sweeps = sweeps,
              .burn = 1,
              .diagonal = true,
              .steps = 1,
              .w = {1}};

    FERRY_TRY(one_fit(ctx, &d->x, rank, &k, &k.with[0]));
    ferry_i_observed_forget(&d->x); /* room for the model */
    FERRY_TRY(biases_of(ctx, &k.with[0], &k.base));
    FERRY_TRY(make_model(ctx, &k, d->r, out));
    tell(ctx, &k);
    rep->iters = sweeps;
    rep->stop = k.finish ? FERRY_STOP_FINISH : FERRY_STOP_MAX_ITER;
done:
    fits_clear(&k);
    return st;
}
