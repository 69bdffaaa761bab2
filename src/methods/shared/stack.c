/* mf with neighbours (stack.h). */
#include "methods/shared/stack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/nnls.h"

enum { K = NEAR_FEATURES };

/* ---- features of pairs with the rating that they should give ---- */

typedef struct pairs {
    int64_t n;
    int64_t *user, *item;
    double *f, *t;       /* n x K, n */
    int64_t folds, *end; /* of ratings held out together: one fold after the other */
} pairs;

static void pairs_clear(pairs *p)
{
    FERRY_FREE(p->user, p->item, p->f, p->t, p->end);
    *p = (pairs){0};
}

static ferry_status pairs_new(ferry_ctx *ctx, int64_t most, pairs *p)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, p->user, most);
    FERRY_NEW(ctx, p->item, most);
    FERRY_NEW(ctx, p->f, most * K);
    FERRY_NEW(ctx, p->t, most);
done:
    return st;
}

/* Pairs from .. to - 1; every FIFTH of them belongs to a part of its own, which may be left
 * out. */
enum { FIFTH = 5, ALL = FIFTH };
typedef struct span {
    int64_t from, to, without;
} span;
#define DOUBT 1 /* a standard error, the usual caution; not tuned */

static span whole(const pairs *p)
{
    return (span){0, p->n, ALL};
}

/* a += F'F, c += F'(t - F w0), both times `times`, over a span. */
static void add_up(const pairs *p, span s, const double *w0, double times, double *a,
                   double *c)
{
    for (int64_t e = s.from; e < s.to; e++) {
        const double *f = p->f + e * K;
        if (e % FIFTH == s.without) continue;
        double rest = p->t[e];
        for (int k = 0; k < K && w0; k++)
            rest -= w0[k] * f[k];
        for (int k = 0; k < K; k++) {
            c[k] += times * f[k] * rest;
            for (int l = 0; l < K; l++)
                a[k * K + l] += times * f[k] * f[l];
        }
    }
}

/* ---- the target ---- */

/* One array of a number of bytes for each rating: of this rank's, then of all. */
static ferry_status collect(ferry_ctx *ctx, int64_t n, size_t size, void **each)
{
    int64_t from = 0, all = 0;
    void *out = NULL;

    FERRY_PASS(ferry_i_ranks_collect(ctx, n, size, *each, &from, &all, &out));
    ferry_i_free(*each);
    *each = out;
    return FERRY_OK;
}

/* x <- the ratings of all ranks, and what mf says of them likewise: from here on all do the same, but for the features
 * (near.h). */
static ferry_status bring_together(ferry_ctx *ctx, const observed *own, mf_held *held,
                                   observed *x)
{
    FERRY_PASS(ferry_i_observed_whole(ctx, own, x));
    if (!own->users) return FERRY_OK;
    FERRY_PASS(collect(ctx, own->x->nnz, sizeof *held->fold, (void **)&held->fold));
    return collect(ctx, own->x->nnz, sizeof *held->rest, (void **)&held->rest);
}

/* The features of ratings that were held out, each from the ratings that were not. */
static ferry_status held_out(ferry_ctx *ctx, const observed *x, const mf_held *held,
                             pairs *p)
{
    ferry_status st = FERRY_OK;
    observed part = {0};
    rating_near *near = NULL;

    FERRY_TRY(pairs_new(ctx, x->x->nnz, p));
    FERRY_NEW(ctx, p->end, held->folds);
    for (int64_t q = 0; q < held->folds; q++) {
        const int64_t from = p->n;
        for (int64_t i = 0; i < x->x->rows; i++)
            for (int64_t e = x->x->start[i]; e < x->x->start[i + 1]; e++) {
                if (held->fold[e] != q || isnan(held->rest[e])) continue;
                p->user[p->n] = i;
                p->item[p->n] = x->x->index[e];
                p->t[p->n++] = held->rest[e];
            }
        p->end[p->folds++] = p->n;
        if (p->n == from) continue;
        ferry_i_observed_clear(&part);
        ferry_i_near_free(near);
        near = NULL;
        FERRY_TRY(ferry_i_observed_part(ctx, x, held->fold, (uint8_t)q, &part));
        FERRY_TRY(ferry_i_near_new(ctx, &part, &near, NULL));
        FERRY_TRY(ferry_i_near_features(ctx, near, p->n - from, p->user + from,
                                        p->item + from, p->f + from * K));
    }
done:
    ferry_i_observed_clear(&part);
    ferry_i_near_free(near);
    return st;
}

/* s->c, and w0 <- their weights together. */
static void weigh_sources(const pairs *p, span which, stack_sources *s, double *w0)
{
    const int64_t n = s->n;
    double a[K * K] = {0}, c[K] = {0}, pp[STACK_MOST_SOURCES * STACK_MOST_SOURCES] = {0},
                 pt[STACK_MOST_SOURCES] = {0};

    add_up(p, which, NULL, 1, a, c);
    for (int64_t x = 0; x < n; x++) {
        pt[x] = 3 / (double)n;
        pp[x * n + x] = 3;
        for (int k = 0; k < K; k++) {
            pt[x] += s->w[x * K + k] * c[k];
            for (int64_t y = 0; y < n; y++)
                for (int l = 0; l < K; l++)
                    pp[x * n + y] += s->w[x * K + k] * a[k * K + l] * s->w[y * K + l];
        }
    }
    ferry_i_nnls(n, pp, pt, s->c);
    for (int64_t x = 0; x < n; x++)
        for (int k = 0; k < K; k++)
            w0[k] += s->c[x] * s->w[x * K + k];
}

static void own_weights(const pairs *p, span which, bool sources, double *w)
{
    const double times = (sources ? 10000 : 3000) / (double)p->n;
    double a[K * K] = {0}, c[K] = {0};

    add_up(p, which, w, 1, a, c);
    for (int k = 0; k < K; k++)
        a[k * K + k] += times * a[k * K + k] + 1e-3;
    if (!ferry_i_factor(K, a)) return;
    ferry_i_factor_solve(K, a, c);
    for (int k = 0; k < K; k++)
        w[k] += c[k];
}

/* What a user's pairs, or an item's, say together: sums of f t and f^2. */
typedef struct said {
    double ft, ff;
} said;

/* The variance of sum f (t - s f), by users or items: their pairs are not independent. */
static double variance(int64_t n, const said *of, double s)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += pow(of[i].ft - s * of[i].ff, 2);
    return sum;
}

/* How far the weights can be trusted, from 0 to 1: the least-squares factor, ridge 3, of what
 * weights say of ratings that they were not found on, less DOUBT of its standard errors.
 * Where neighbours know nothing the weights would be noise, and mf would lose by them; a
 * factor that errs downwards costs little where they know something.
 *
 * Fifths within a fold: a rating is among the features of pairs of every other fold, so
 * that weights found there have seen it: null data were trusted twice as much. */
static ferry_status trust(ferry_ctx *ctx, const observed *x, const pairs *p,
                          const stack_sources *s, double *sure)
{
    ferry_status st = FERRY_OK;
    const int64_t users = x->x->rows, items = x->x->cols;
    said *of = NULL, all = {0, 3};

    FERRY_NEW(ctx, of, users + items);
    for (int64_t part = 0; part < FIFTH * p->folds; part++) {
        const int64_t q = part / FIFTH;
        const span rest = {q > 0 ? p->end[q - 1] : 0, p->end[q], part % FIFTH};
        stack_sources copy = *s;
        double w[K] = {0};
        if (s->n > 0) weigh_sources(p, rest, &copy, w);
        own_weights(p, rest, s->n > 0, w);
        for (int64_t e = rest.from; e < rest.to; e++) {
            said *const to[] = {&of[p->user[e]], &of[users + p->item[e]], &all};
            double f = 0;
            if (e % FIFTH != rest.without) continue;
            for (int k = 0; k < K; k++)
                f += w[k] * p->f[e * K + k];
            for (int64_t i = 0; i < FERRY_COUNT(to); i++) {
                to[i]->ft += f * p->t[e];
                to[i]->ff += f * f;
            }
        }
    }
    const double factor = fmin(fmax(all.ft / all.ff, 0), 1);
    const double error =
        sqrt(fmax(variance(users, of, factor), variance(items, of + users, factor)));
    *sure = fmin(fmax((all.ft - DOUBT * error) / all.ff, 0), 1);
done:
    ferry_i_free(of);
    return st;
}

/* The rank-0 model of the features is fitted anew on all ratings. */
ferry_status ferry_i_stack(ferry_ctx *ctx, rating_data *d, stack_sources *s,
                           rating_model **out, ferry_fit_info *rep)
{
    static const char *const names[K] = {
        "popularity",     "slope-popularity", "slope-level", "level-product",
        "items-together", "users-together",   "items-alike"};
    ferry_status st = FERRY_OK;
    observed x = {0};
    mf_held held = {0};
    pairs p = {0};
    double w[K] = {0};

    FERRY_TRY(ferry_i_mf_vb(ctx, d, 0, 10, out, &held, rep));
    FERRY_TRY(bring_together(ctx, &d->x, &held, &x));
    FERRY_TRY(held_out(ctx, &x, &held, &p));
    if (p.n > 0 && s->n > 0) weigh_sources(&p, whole(&p), s, w);
    if (p.n > 0) {
        double sure = 0;
        FERRY_TRY(trust(ctx, &x, &p, s, &sure));
        own_weights(&p, whole(&p), s->n > 0, w);
        for (int k = 0; k < K; k++)
            w[k] *= sure;
        ferry_i_diag_real(ctx, "trust", sure);
    }
    FERRY_TRY(ferry_i_near_new(ctx, &x, &(*out)->near, NULL));
    memcpy((*out)->near->w, w, sizeof w);
    ferry_i_observed_clear(&x); /* may be d's own */
    FERRY_TRY(ferry_i_rating_model_rated(ctx, &d->x, *out));
    ferry_i_diag_named(ctx, "neighbours", K, names, w);
done:
    ferry_i_observed_clear(&x);
    pairs_clear(&p);
    ferry_i_mf_held_clear(&held);
    return st;
}

/* ---- a source ---- */

typedef struct popular {
    int64_t n, item;
} popular;

static int by_popularity(const void *a, const void *b)
{
    const popular *x = a, *y = b;

    return x->n != y->n ? (x->n < y->n ? 1 : -1)
                        : (x->item > y->item) - (x->item < y->item);
}

enum { BLOCKS = 8, USERS = 300, ITEMS = 300, ASKED = 30, ENOUGH = 50 };

/* column[j] <- the place of item j among ITEMS random ones of the 3 ITEMS most rated, or -1.
 * Returns how many. */
static int64_t draw_items(const ferry_matrix *xt, const popular *list, ferry_rng *rng,
                          int32_t *column)
{
    const int64_t top = xt->rows < 3 * ITEMS ? xt->rows : 3 * ITEMS;
    int64_t at[3 * ITEMS], n = top < ITEMS ? top : ITEMS;

    for (int64_t j = 0; j < xt->rows; j++)
        column[j] = -1;
    for (int64_t k = 0; k < top; k++)
        at[k] = list[k].item;
    ferry_i_rng_shuffle(rng, top, at);
    for (int64_t k = 0; k < n; k++)
        column[at[k]] = (int32_t)k;
    return n;
}

/* How many ratings of the items that were drawn a user has. */
static int64_t has(const ferry_matrix *x, int64_t u, const int32_t *column)
{
    int64_t n = 0;

    for (int64_t e = x->start[u]; e < x->start[u + 1]; e++)
        n += column[x->index[e]] >= 0;
    return n;
}

/* Users with `each` ratings and three more, in random order; where they are not enough, with
 * fewer. Returns how many there are, at most USERS. */
static int64_t draw_users(const ferry_matrix *x, const int32_t *column, int64_t *each,
                          ferry_rng *rng, int64_t *user)
{
    int64_t n = 0;

    for (;; *each = (*each + 1) / 2) {
        n = 0;
        for (int64_t u = 0; u < x->rows; u++)
            if (has(x, u, column) >= *each + 3) user[n++] = u;
        if (n >= ENOUGH || *each <= 1) break;
    }
    ferry_i_rng_shuffle(rng, n, user);
    return n < USERS ? n : USERS;
}

/* The block of these users and items: `each` ratings a user, in random order, as a matrix,
 * the next ones as pairs whose t is the rating. */
static ferry_status cut(ferry_ctx *ctx, const ferry_matrix *x, const int32_t *column,
                        int64_t each, int64_t users, const int64_t *user, int64_t items,
                        ferry_rng *rng, observed *out, pairs *p)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL, n = 0;
    uint8_t *take = NULL;

    FERRY_NEW(ctx, order, x->nnz);
    FERRY_NEW(ctx, take, x->nnz);
    FERRY_TRY(ferry_i_matrix_csr(ctx, users, items, users * each, &out->x));
    for (int64_t i = 0; i < users; i++) {
        int64_t have = 0;
        for (int64_t e = x->start[user[i]]; e < x->start[user[i] + 1]; e++)
            if (column[x->index[e]] >= 0) order[have++] = e;
        ferry_i_rng_shuffle(rng, have, order);
        for (int64_t k = 0; k < have && k < each + ASKED; k++) {
            if (k < each) {
                take[order[k]] = 1;
                continue;
            }
            p->user[p->n] = i;
            p->item[p->n] = column[x->index[order[k]]];
            p->t[p->n++] = x->value[order[k]];
        }
        for (int64_t e = x->start[user[i]]; e < x->start[user[i] + 1]; e++) {
            if (!take[e]) continue;
            out->x->index[n] = column[x->index[e]];
            out->x->value[n++] = x->value[e];
        }
        out->x->start[i + 1] = n;
    }
    FERRY_TRY(ferry_i_matrix_transpose(ctx, out->x, &out->xt)); /* and back: rows ascend */
    ferry_i_matrix_free(out->x);
    out->x = NULL;
    FERRY_TRY(ferry_i_matrix_transpose(ctx, out->xt, &out->x));
done:
    FERRY_FREE(order, take);
    return st;
}

/* One block: features of the pairs that are asked, and what M0 leaves of their ratings. */
static ferry_status play(ferry_ctx *ctx, const observed *x, const popular *list,
                         int64_t each, ferry_rng *rng, pairs *p)
{
    ferry_status st = FERRY_OK;
    observed block = {0};
    rating_near *near = NULL;
    int32_t *column = NULL;
    int64_t *user = NULL;
    double mu = 0;

    FERRY_NEW(ctx, column, x->xt->rows);
    FERRY_NEW(ctx, user, x->x->rows);
    FERRY_TRY(pairs_new(ctx, USERS * ASKED, p));
    const int64_t items = draw_items(x->xt, list, rng, column);
    const int64_t users = draw_users(x->x, column, &each, rng, user);
    if (users == 0) goto done;
    FERRY_TRY(cut(ctx, x->x, column, each, users, user, items, rng, &block, p));
    FERRY_TRY(ferry_i_near_new(ctx, &block, &near, &mu));
    FERRY_TRY(ferry_i_near_features(ctx, near, p->n, p->user, p->item, p->f));
    if (near->unit == 0) p->n = 0; /* ratings that are all the same teach nothing */
    for (int64_t e = 0; e < p->n; e++)
        p->t[e] = (p->t[e] - mu) / near->unit - near->a[p->user[e]] - near->b[p->item[e]];
done:
    ferry_i_near_free(near);
    ferry_i_observed_clear(&block);
    FERRY_FREE(column, user);
    return st;
}

ferry_status ferry_i_stack_replay(ferry_ctx *ctx, const observed *x, int64_t each,
                                  ferry_rng *rng, double *w)
{
    ferry_status st = FERRY_OK;
    double a[K * K] = {0};
    popular *list = NULL;
    pairs p = {0};

    memset(w, 0, K * sizeof *w);
    FERRY_NEW(ctx, list, x->xt->rows);
    for (int64_t j = 0; j < x->xt->rows; j++)
        list[j] = (popular){x->xt->start[j + 1] - x->xt->start[j], j};
    qsort(list, (size_t)x->xt->rows, sizeof *list, by_popularity);
    for (int b = 0; b < BLOCKS; b++) {
        pairs_clear(&p);
        FERRY_TRY(play(ctx, x, list, each, rng, &p));
        if (p.n > 0) add_up(&p, whole(&p), NULL, 1 / ((double)p.n * BLOCKS), a, w);
    }
    for (int k = 0; k < K; k++)
        a[k * K + k] += 1e-4;
    if (ferry_i_factor(K, a)) ferry_i_factor_solve(K, a, w);
done:
    ferry_i_free(list);
    pairs_clear(&p);
    return st;
}
