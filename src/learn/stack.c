/* mf with what was rated together (stack.h). */
#include "learn/stack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nnls.h"

enum { K = CORATED };

/* ---- features of pairs with the rating that they should give ---- */

typedef struct pairs {
    int64_t n;
    int64_t *user, *item;
    double *f, *t;       /* n x K, n */
    int64_t folds, *end; /* of ratings held out together: one fold after the other */
} pairs;

static pairs pairs_new(scope *s, int64_t most_pairs)
{
    return (pairs){.user = NEW(s, int64_t, most_pairs),
                   .item = NEW(s, int64_t, most_pairs),
                   .f = NEW(s, double, most_pairs *K),
                   .t = NEW(s, double, most_pairs)};
}

/* Pairs from .. to - 1; every FIFTH of them belongs to a part of its own, which may be left
 * out. */
enum { FIFTH = 5, ALL = FIFTH };
typedef struct span {
    int64_t from, to, without;
} span;
#define DOUBT 1 /* a standard error, the usual caution; not tuned */

static span all_pairs(const pairs *p)
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

/* The features of ratings that were held out, each from the ratings that were not. r: all ratings; `here`: those of
 * this process, which `held` is about. */
static pairs held_out(scope *s, const ratings *r, const ratings *here, const mf_held *held)
{
    const ferry_matrix *x = r->x.m;
    pairs p = pairs_new(s, x->nnz);

    p.end = NEW(s, int64_t, held->folds);
    for (int64_t q = 0; q < held->folds; q++) {
        const int64_t from = p.n, mark = scope_mark(s);
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                if (held->fold[e] != q || isnan(held->rest[e])) continue;
                p.user[p.n] = i;
                p.item[p.n] = x->index[e];
                p.t[p.n++] = held->rest[e];
            }
        p.end[p.folds++] = p.n;
        if (p.n == from) continue;
        const ratings part = ratings_without(s, r, held->fold, (uint8_t)q);
        const corated neighbours = corated_new(s, s, &part, NULL);
        corated_features(s, &neighbours, here, p.n - from, p.user + from, p.item + from,
                         p.f + from * K);
        scope_release(s, mark);
    }
    return p;
}

/* from->c, and w0 <- the sum of their weights. */
static void weigh_sources(const pairs *p, span which, stack_sources *from, double *w0)
{
    const int64_t n = from->n;
    double a[K * K] = {0}, c[K] = {0}, pp[STACK_MOST_SOURCES * STACK_MOST_SOURCES] = {0},
                 pt[STACK_MOST_SOURCES] = {0};

    add_up(p, which, NULL, 1, a, c);
    for (int64_t x = 0; x < n; x++) {
        pt[x] = 3 / (double)n;
        pp[x * n + x] = 3;
        for (int k = 0; k < K; k++) {
            pt[x] += from->w[x * K + k] * c[k];
            for (int64_t y = 0; y < n; y++)
                for (int l = 0; l < K; l++)
                    pp[x * n + y] += from->w[x * K + k] * a[k * K + l] * from->w[y * K + l];
        }
    }
    ferry_i_nnls(n, pp, pt, from->c);
    for (int64_t x = 0; x < n; x++)
        for (int k = 0; k < K; k++)
            w0[k] += from->c[x] * from->w[x * K + k];
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

/* What a user's pairs, or an item's, amount to: sums of f t and f^2. */
typedef struct evidence {
    double ft, ff;
} evidence;

/* The variance of sum f (t - s f), by users or items: their pairs are not independent. */
static double variance(int64_t n, const evidence *of, double s)
{
    double all = 0;

    for (int64_t i = 0; i < n; i++)
        all += pow(of[i].ft - s * of[i].ff, 2);
    return all;
}

/* How far the weights can be trusted, from 0 to 1: the least-squares factor, ridge 3, of what
 * weights say of ratings that they were not found on, less DOUBT of its standard errors.
 * Where neighbours know nothing the weights would be noise, and mf would lose by them; a
 * factor that errs downwards costs little where they know something.
 *
 * Fifths within a fold: a rating is among the features of pairs of every other fold, so
 * that weights found there have seen it: null data were trusted twice as much. */
static double trust(scope *s, const ratings *r, const pairs *p, const stack_sources *from)
{
    evidence *of = NEW(s, evidence, r->users + r->items), all = {0, 3};

    for (int64_t part = 0; part < FIFTH * p->folds; part++) {
        const int64_t q = part / FIFTH;
        const span rest = {q > 0 ? p->end[q - 1] : 0, p->end[q], part % FIFTH};
        stack_sources copy_of = *from;
        double w[K] = {0};
        if (from->n > 0) weigh_sources(p, rest, &copy_of, w);
        own_weights(p, rest, from->n > 0, w);
        for (int64_t e = rest.from; e < rest.to; e++) {
            evidence *const to[] = {&of[p->user[e]], &of[r->users + p->item[e]], &all};
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
    const double error = sqrt(
        fmax(variance(r->users, of, factor), variance(r->items, of + r->users, factor)));
    return fmin(fmax((all.ft - DOUBT * error) / all.ff, 0), 1);
}

/* What is known of this process's ratings, of all of them. */
static mf_held replicate_held(scope *s, const ratings *r, mf_held held)
{
    const int64_t n = stored(r->x);
    const layout rows = {entries(s, r->x), r->x.rows.spread, ratings_before(s, r), NULL};

    held.fold = replicate_items(s, rows, n, sizeof *held.fold, held.fold);
    held.rest = replicate_items(s, rows, n, sizeof *held.rest, held.rest);
    return held;
}

/* The rank-0 model of the features is fitted anew on all ratings. A neighbour may be anybody's: from mf on all processes
 * have all ratings and do the same, but for the features. */
void stack_learn(scope *s, scope *keep, const ratings *r, stack_sources *from,
                 stack_state *to, bool *finish)
{
    mf_held held = {0};
    double w[K] = {0};

    to->mf = mf_learn(s, keep, r, 0, 10, &held, finish);
    const ratings all = ratings_whole(s, r);
    if (r->x.rows.spread) held = replicate_held(s, r, held);
    const pairs p = held_out(s, &all, r, &held);
    if (p.n > 0 && from->n > 0) weigh_sources(&p, all_pairs(&p), from, w);
    if (p.n > 0) {
        const double sure = trust(s, &all, &p, from);
        own_weights(&p, all_pairs(&p), from->n > 0, w);
        for (int k = 0; k < K; k++)
            w[k] *= sure;
        report_real(s, "trust", sure);
    }
    to->neighbours = corated_new(s, keep, &all, NULL);
    memcpy(to->neighbours.w, w, sizeof w);
    report_named(s, "neighbours", K, corated_names, w);
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

/* column[j] <- the number of item j among ITEMS random ones of the 3 ITEMS most rated, or -1.
 * Returns how many. */
static int64_t draw_items(matrix xt, const popular *list, ferry_rng *rng, int32_t *column)
{
    const int64_t top = xt.n < 3 * ITEMS ? xt.n : 3 * ITEMS;
    int64_t at[3 * ITEMS], n = top < ITEMS ? top : ITEMS;

    for (int64_t j = 0; j < xt.n; j++)
        column[j] = -1;
    for (int64_t k = 0; k < top; k++)
        at[k] = list[k].item;
    shuffle(rng, top, at);
    for (int64_t k = 0; k < n; k++)
        column[at[k]] = (int32_t)k;
    return n;
}

/* How many ratings of the items that were drawn a user has. */
static int64_t has(matrix x, int64_t u, const int32_t *column)
{
    const ferry_row r = row_at(x, u);
    int64_t n = 0;

    for (int64_t e = 0; e < r.n; e++)
        n += column[r.index[e]] >= 0;
    return n;
}

/* Users with `each` ratings and three more, in random order; where they are not enough, with
 * fewer. Returns how many there are, at most USERS. */
static int64_t draw_users(matrix x, const int32_t *column, int64_t *each, ferry_rng *rng,
                          int64_t *user)
{
    int64_t n = 0;

    for (;; *each = (*each + 1) / 2) {
        n = 0;
        for (int64_t u = 0; u < x.n; u++)
            if (has(x, u, column) >= *each + 3) user[n++] = u;
        if (n >= ENOUGH || *each <= 1) break;
    }
    shuffle(rng, n, user);
    return n < USERS ? n : USERS;
}

/* Who and what a block is made of. */
typedef struct drawn {
    int64_t users, items, each;
    const int64_t *user;   /* users */
    const int32_t *column; /* of each item, or -1 */
} drawn;

/* The block: `each` ratings a user, in random order, as ratings, the next ones as pairs whose t is the rating. */
static ratings cut(scope *s, matrix from, const drawn *d, ferry_rng *rng, pairs *p)
{
    const ferry_matrix *x = from.m;
    int64_t *order = NEW(s, int64_t, x->nnz), n = 0;
    uint8_t *take = NEW(s, uint8_t, x->nnz);
    ferry_matrix *m = NULL;

    scope_check(
        s, ferry_i_matrix_csr(scope_ctx(s), d->users, d->items, d->users * d->each, &m));
    const matrix block_of = matrix_own(s, m);
    for (int64_t i = 0; i < d->users; i++) {
        const int64_t begin = x->start[d->user[i]], end = x->start[d->user[i] + 1];
        int64_t have = 0;
        for (int64_t e = begin; e < end; e++)
            if (d->column[x->index[e]] >= 0) order[have++] = e;
        shuffle(rng, have, order);
        for (int64_t k = 0; k < have && k < d->each + ASKED; k++) {
            if (k < d->each) {
                take[order[k]] = 1;
                continue;
            }
            p->user[p->n] = i;
            p->item[p->n] = d->column[x->index[order[k]]];
            p->t[p->n++] = x->value[order[k]];
        }
        for (int64_t e = begin; e < end; e++) {
            if (!take[e]) continue;
            m->index[n] = d->column[x->index[e]];
            m->value[n++] = x->value[e];
        }
        m->start[i + 1] = n;
    }
    ratings r = {.users = d->users, .items = d->items};
    r.xt = transpose(s, block_of, HERE(d->items), d->items);
    r.x = transpose(s, r.xt, HERE(d->users), d->users); /* rows ascend */
    return r;
}

/* One block: features of the pairs that are asked, and what M0 leaves of their ratings. */
static pairs play(scope *s, const ratings *r, const popular *list, int64_t each,
                  ferry_rng *rng)
{
    int32_t *column = NEW(s, int32_t, r->items);
    int64_t *user = NEW(s, int64_t, r->users);
    pairs p = pairs_new(s, USERS * ASKED);
    double mu = 0;

    const int64_t items = draw_items(r->xt, list, rng, column);
    const int64_t users = draw_users(r->x, column, &each, rng, user);
    if (users == 0) return p;
    const ratings seen = cut(s, r->x, &(drawn){users, items, each, user, column}, rng, &p);
    const corated neighbours = corated_new(s, s, &seen, &mu);
    corated_features(s, &neighbours, NULL, p.n, p.user, p.item, p.f);
    if (neighbours.unit == 0)
        p.n = 0; /* nothing is learned from ratings that are all the same */
    for (int64_t e = 0; e < p.n; e++)
        p.t[e] = (p.t[e] - mu) / neighbours.unit - neighbours.a[p.user[e]] -
                 neighbours.b[p.item[e]];
    return p;
}

void stack_replay(scope *s, const ratings *r, int64_t each, ferry_rng *rng, double *w)
{
    popular *list = NEW(s, popular, r->items);
    double a[K * K] = {0};

    memset(w, 0, K * sizeof *w);
    for (int64_t j = 0; j < r->items; j++)
        list[j] = (popular){row_at(r->xt, j).n, j};
    qsort(list, (size_t)r->items, sizeof *list, by_popularity);
    for (int b = 0; b < BLOCKS; b++) {
        const int64_t mark = scope_mark(s);
        const pairs p = play(s, r, list, each, rng);
        if (p.n > 0) add_up(&p, all_pairs(&p), NULL, 1 / ((double)p.n * BLOCKS), a, w);
        scope_release(s, mark);
    }
    for (int k = 0; k < K; k++)
        a[k * K + k] += 1e-4;
    if (ferry_i_factor(K, a)) ferry_i_factor_solve(K, a, w);
}

/* ---- the model ---- */

static const field stack_fields[] = {
    ARRAY(stack_state, STRUCT, mf, .of = &rating_factors_table),
    ARRAY(stack_state, STRUCT, neighbours, .of = &corated_table),
};

static void stack_check(scope *s, const void *state)
{
    const stack_state *m = state;

    if (m->neighbours.users > m->mf.p.n || m->neighbours.items > m->mf.q.n)
        scope_fail(s, FERRY_EDATA,
                   "tensor neighbours.e: expected residuals of %lld users and %lld items",
                   (long long)m->mf.p.n, (long long)m->mf.q.n);
}

const table stack_table = {sizeof(stack_state), stack_fields, FERRY_COUNT(stack_fields),
                           stack_check, NULL};

void stack_scores(scope *s, const void *state, const domain *d, block out)
{
    const stack_state *m = state;

    factors_scores(s, &m->mf, d, out);
    corated_add(s, &m->neighbours, d->r->n, d->r->user, d->r->item, out.at);
}

/* Neighbours of who comes later are not looked for. */
void stack_fold_in(scope *s, scope *keep, const void *state, const ratings *r, void *to)
{
    const stack_state *m = state;
    stack_state *more = to;

    factors_fold_in(s, keep, &m->mf, r, &more->mf);
    more->neighbours = corated_copy(keep, &m->neighbours);
}
