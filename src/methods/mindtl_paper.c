/* mindtl-paper: MINDTL, rating patterns from several incomplete sources (He et al., Robust Transfer Learning for
 * Cross-domain Collaborative Filtering Using Multiple Rating Patterns Approximation, WSDM 2018). Users and items of the
 * domains have nothing in common; what is transferred is how groups of users rate groups of items.
 *
 * With the letters of the paper, as corrected:
 *
 *   algorithm 1, source   X n x m with mask M,  X ~ U B V',  U n x k, B k x l, V m x l, by the updates (3)-(5)
 *                         (learn/onmtf.h); then two-way k-means from the groups that U and V show (learn/groups.h);
 *                         codebook R k x l: mean rating of user group c for item group d
 *   algorithm 2, target   x_ij ~ sum_n lambda_n R_n[u_n(i), v_n(j)], lambda on the simplex: groups and weights in turn
 *
 * Not in the paper, and essential: the two-way k-means. From a random start the updates stay at a saddle, where the
 * groups are noise. Why means of blocks and not the factor B: its entries are scaled by any diagonal, and hard groups of
 * the target need numbers in rating units.
 *
 * Random numbers are named by their use, so that a source more changes none of the others'. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/onmtf.h"
#include "learn/ratings.h"
#include "learn/simplex_qp.h"
#include "methods/codebook.h"
#include "prepare/problem.h"

enum { ORDER_TASK, ORDER_NEAREST };

static void step(scope *s, codebook_run *r, double objective)
{
    if (++r->done > r->total) r->total = r->done; /* it was estimated too low */
    r->finish =
        progress(s, scope_ctx(s)->fitting, r->done, r->total, objective) || r->finish;
}

/* ---- which cells of a source are looked at ---- */

/* A row or column and how many ratings it has. */
typedef struct counted {
    int64_t row, count;
} counted;

/* More ratings first; of equals the one with the smaller id. */
static int by_count(const void *a, const void *b)
{
    const counted *x = a, *y = b;

    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* 1 for the `most` rows with the most entries: a pattern needs cells, and a few
 * hundred full rows have more of it than many thousand empty ones. 0: all that have an
 * entry. Empty rows never stay. */
static int32_t *fullest(scope *s, matrix x, int64_t at_most)
{
    int32_t *keep = NEW(s, int32_t, x.n);
    counted *c = NEW(s, counted, x.n);

    for (int64_t i = 0; i < x.n; i++)
        c[i] = (counted){i, row_at(x, i).n};
    qsort(c, (size_t)x.n, sizeof *c, by_count);
    for (int64_t i = 0; i < x.n; i++)
        keep[c[i].row] = (at_most == 0 || i < at_most) && c[i].count > 0;
    return keep;
}

/* Ratings of the rows and columns that are marked. */
static ratings part_of(scope *s, matrix x, const int32_t *row, int32_t *col)
{
    int64_t *rows = NEW(s, int64_t, x.n), n = 0;
    int32_t m = 0;
    ferry_matrix *part = NULL;

    for (int64_t i = 0; i < x.n; i++)
        if (row[i]) rows[n++] = i;
    for (int64_t j = 0; j < x.cols; j++)
        col[j] = col[j] ? m++ : -1;
    scope_check(s, ferry_i_matrix_take(scope_ctx(s), x.m, n, rows, m, col, &part));
    ratings r = {.users = n, .items = m, .x = matrix_own(s, part)};
    r.xt = transpose(s, r.x, HERE(m), m);
    return r;
}

/* Rows and columns that are still there, and how many of their cells are not missing. */
typedef struct shrinking {
    int64_t rows, cols;
    int64_t *row, *col;   /* counts */
    int32_t *keep, *stay; /* 1: row, column is there */
} shrinking;

/* The emptiest row (below n) or column (behind them); -1: all are full. Strictly more missing wins, so of equals the
 * first: rows before columns. */
static int64_t emptiest(const ratings *x, const shrinking *t)
{
    const int64_t n = x->x.n, m = x->x.cols;
    double missing_most = 0;
    int64_t at = -1;

    for (int64_t i = 0; i < n + m; i++) {
        if (!(i < n ? t->keep[i] : t->stay[i - n])) continue;
        const double of = (double)(i < n ? t->cols : t->rows);
        const double missing = (of - (double)(i < n ? t->row[i] : t->col[i - n])) / of;
        if (missing <= missing_most) continue;
        missing_most = missing;
        at = i;
    }
    return at;
}

/* Take row or column `at` out, and its cells off the counts of those that cross it. */
static void remove_line(const ratings *x, int64_t at, shrinking *t)
{
    const int64_t n = x->x.n;
    const bool is_row = at < n;
    const int64_t i = is_row ? at : at - n;
    const ferry_row r = row_at(is_row ? x->x : x->xt, i);

    (is_row ? t->keep : t->stay)[i] = 0;
    --*(is_row ? &t->rows : &t->cols);
    for (int64_t e = 0; e < r.n; e++)
        (is_row ? t->col : t->row)[r.index[e]]--;
}

/* Greedy: the largest full block is an NP-hard problem. */
ratings codebook_full_block(scope *s, const ratings *x)
{
    const int64_t n = x->x.n, m = x->x.cols;
    shrinking t = {n,
                   m,
                   NEW(s, int64_t, n),
                   NEW(s, int64_t, m),
                   NEW(s, int32_t, n),
                   NEW(s, int32_t, m)};

    for (int64_t i = 0; i < n; i++) {
        t.row[i] = row_at(x->x, i).n;
        t.keep[i] = 1;
    }
    for (int64_t j = 0; j < m; j++) {
        t.col[j] = row_at(x->xt, j).n;
        t.stay[j] = 1;
    }
    for (int64_t at = emptiest(x, &t); at >= 0; at = emptiest(x, &t))
        remove_line(x, at, &t);
    return part_of(s, x->x, t.keep, t.stay);
}

/* Twelve bytes a cell and its transpose: about 2.4 GB at most. */
enum { MOST_CELLS = 100000000 };

ratings codebook_filled(scope *s, const ratings *x)
{
    const int64_t n = x->x.n, m = x->x.cols;
    ferry_matrix *t = NULL;

    if (n > MOST_CELLS / (m > 0 ? m : 1))
        scope_fail(
            s, FERRY_ENEEDS,
            "dc-onmtf fills all %lld x %lld cells of a source, which are more than %d: "
            "use fewer by `most`",
            (long long)n, (long long)m, MOST_CELLS);
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), n, m, n * m, &t));
    ratings r = {.users = n, .items = m, .x = matrix_own(s, t)};
    for (int64_t i = 0; i < n; i++) {
        const ferry_row own = row_at(x->x, i);
        double mean = 0;
        for (int64_t e = 0; e < own.n; e++)
            mean += own.value[e] / (double)own.n;
        for (int64_t j = 0; j < m; j++) {
            t->index[i * m + j] = (int32_t)j;
            t->value[i * m + j] = mean;
        }
        for (int64_t e = 0; e < own.n; e++)
            t->value[i * m + own.index[e]] = own.value[e];
        t->start[i + 1] = (i + 1) * m;
    }
    r.xt = transpose(s, r.x, HERE(m), m);
    return r;
}

/* The cells of a source on the target's range less `below`: linear maps keep order and spacing of the ratings. A source
 * with one value only is shifted. Columns are counted in all of it, not in the rows that stay. */
static ratings cells(scope *s, const ratings *r, const ratings *to,
                     const codebook_options *o, double below)
{
    const double f = r->hi > r->lo ? (to->hi - to->lo) / (r->hi - r->lo) : 1;
    const double g = to->lo - f * r->lo - below;
    const matrix x = with_values(s, r->x, r->x.m->value);

    for (int64_t e = 0; e < stored(x); e++)
        x.m->value[e] = f * r->x.m->value[e] + g;
    const ratings part =
        part_of(s, x, fullest(s, r->x, o->most), fullest(s, r->xt, o->most));
    return o->extract == EXTRACT_ONMTF ? codebook_full_block(s, &part)
           : o->extract == EXTRACT_DC  ? codebook_filled(s, &part)
                                       : part;
}

/* ---- algorithm 1: the codebook of a source ---- */

/* ding is right for full matrices, and only for them; the update as published is without the Lagrange terms that eq. (1)
 * asks for. */
static onmtf_rule rule_of(const codebook_options *o)
{
    if (o->extract != EXTRACT_IONMTF) return RULE_DING;
    return o->update == 0 ? RULE_PLAIN : RULE_ORTHOGONAL;
}

/* Random U, V in [0.1, 1.1), B in [0.5, 1.5) scaled so that the mean of Xh is that of X: updates from far too small or
 * large a product waste their first sweeps on it. Then the sweeps, and groups also after an early finish. */
static void factorise(scope *s, const ratings *x, ferry_rng *rng, codebook_run *r, onmtf *f,
                      grouping *g)
{
    const int64_t size = f->b.rows * f->b.cols;
    double mean = 0, fitted = 0;

    fill_uniform(s, rng, 0.1, 1.1, f->u);
    fill_uniform(s, rng, 0.1, 1.1, f->v);
    for (int64_t i = 0; i < size; i++)
        f->b.at[i] = 0.5 + ferry_i_rng_real(rng);
    (void)onmtf_error(s, x, f);
    for (int64_t e = 0; e < stored(x->x); e++) {
        mean += x->x.m->value[e];
        fitted += f->h.m->value[e];
    }
    for (int64_t i = 0; fitted > 0 && i < size; i++)
        f->b.at[i] *= mean / fitted;
    for (int64_t t = 0; t < r->o->sweeps && !r->finish; t++) {
        onmtf_sweep(s, x, rule_of(r->o), f);
        step(s, r, NAN);
    }
    onmtf_groups(s, f->u, g->u);
    onmtf_groups(s, f->v, g->v);
}

/* Every group may stay empty: block means then give it P. */
static void random_groups(ferry_rng *rng, int64_t n, int64_t k, int32_t *group)
{
    for (int64_t i = 0; i < n; i++)
        group[i] = (int32_t)ferry_i_rng_below(rng, (uint64_t)k);
}

/* Restarts differ in their random numbers, and the first is always completed. R of the best is made with beta, which
 * the k-means does not use. */
void codebook_extract(scope *s, const ratings *x, ferry_rng *rng, codebook_run *r,
                      codebook *b)
{
    const codebook_options *o = r->o;
    grouping g = {b->k, b->l, NEW(s, double, b->k * b->l), NEW(s, int32_t, x->x.n),
                  NEW(s, int32_t, x->x.cols)};
    const bool factors = o->extract != EXTRACT_KMEANS;
    onmtf f = {.norms = NULL};
    double least = INFINITY;

    if (factors) f = onmtf_new(s, x, b->k, b->l);
    for (int64_t q = 0; q < o->restarts && (q == 0 || !r->finish); q++) {
        if (factors) {
            factorise(s, x, rng, r, &f, &g);
        } else {
            random_groups(rng, x->x.n, b->k, g.u);
            random_groups(rng, x->x.cols, b->l, g.v);
        }
        const double now = two_way_kmeans(s, x, &g, o->polish);
        step(s, r, NAN);
        if (now >= least) continue;
        least = now;
        block_means(s, x->x, &g, o->beta);
        memcpy(b->r, g.r, (size_t)(b->k * b->l) * sizeof *b->r);
    }
}

/* k or l as it is given; 0: a tenth of the lines, as in the paper's experiments. */
static int64_t groups_of(int64_t asked, int64_t lines)
{
    const int64_t n = asked > 0 ? asked : lines / 10;

    return n < 1 ? 1 : n > lines && lines > 0 ? lines : n;
}

/* Pattern of source i, mapped linearly to the target's range. k and l never exceed the rows and columns that there are.
 * (3)-(5) want ratings of 0 or more: `below` is put back. */
static codebook make_codebook(scope *s, const problem *p, int i, codebook_run *r)
{
    const ratings *to = target(p)->r;
    const double below = fmin(to->lo, 0);
    const int64_t k = groups_of(r->o->k, p->d[i].r->users),
                  l = groups_of(r->o->l, p->d[i].r->items);
    codebook b = {.r = NEW(s, double, k *l)}; /* of all users and items: at least as many */
    const int64_t mark = scope_mark(s);
    const ratings from = source_ratings(s, p, i), x = cells(s, &from, to, r->o, below);

    if (from.lo != to->lo || from.hi != to->hi)
        ferry_i_log(
            scope_ctx(s), FERRY_WARN,
            "source '%s': ratings from %g to %g are mapped to the target's %g to %g",
            p->d[i].name, from.lo, from.hi, to->lo, to->hi);
    b.k = groups_of(r->o->k, x.x.n);
    b.l = groups_of(r->o->l, x.x.cols);
    codebook_extract(s, &x, scope_rng(s, scope_text(s, "mindtl/source/%d", i)), r, &b);
    scope_release(s, mark);
    for (int64_t e = 0; e < b.k * b.l; e++)
        b.r[e] += below;
    return b;
}

/* ---- algorithm 2: groups of the target, and the weights lambda ---- */

/* The paper's: gradient steps that keep sum = 1, until one leaves the box. Read
 * literally, without the projection on sum 0, every step breaks the constraint and
 * lambda never moves; without the division by n it diverges. grad = 2 (H lambda - c) /
 * n, less its mean. */
static void lambda_sgd(scope *s, small h, const double *c, double n, double theta,
                       double *lambda)
{
    const int64_t parts = h.rows;
    double *g = NEW(s, double, parts);

    for (int64_t t = 0; t < 100; t++) {
        double mean = 0;
        bool inside = true;
        for (int64_t i = 0; i < parts; i++) {
            g[i] = -c[i];
            for (int64_t j = 0; j < parts; j++)
                g[i] += AT(h, i, j) * lambda[j];
            g[i] *= 2 / n;
            mean += g[i] / (double)parts;
        }
        for (int64_t i = 0; i < parts; i++) {
            g[i] = lambda[i] - theta * (g[i] - mean);
            inside = inside && g[i] >= 0 && g[i] <= 1;
        }
        for (int64_t i = 0; inside && i < parts; i++)
            lambda[i] = g[i];
        if (!inside) break;
    }
}

/* TALMUD's: nothing constrains it, a ridge of 1e-8 trace(H) / N keeps equal patterns apart. Patterns of 0 leave lambda as
 * it is. */
static void lambda_ls(scope *s, small h, const double *c, double *lambda)
{
    const int64_t parts = h.rows;
    ferry_small a = small_ref(small_new(s, parts, parts)),
                y = small_ref(small_new(s, parts, 1));
    double trace = 0;

    for (int64_t i = 0; i < parts; i++)
        trace += AT(h, i, i);
    if (trace == 0) return;
    for (int64_t i = 0; i < parts; i++) {
        y.data[i] = c[i];
        for (int64_t j = 0; j < parts; j++)
            a.data[i + j * parts] =
                AT(h, i, j) + (i == j ? 1e-8 * trace / (double)parts : 0);
    }
    scope_check(s, ferry_e(scope_ctx(s))->solve(scope_ctx(s), &a, &y));
    memcpy(lambda, y.data, (size_t)parts * sizeof *lambda);
}

void codebook_lambda(scope *s, codebook_weights solver, small h, const double *c, double n,
                     double theta, double *lambda)
{
    const int64_t mark = scope_mark(s);

    if (solver == LAMBDA_SIMPLEX)
        (void)simplex_qp(s, h, c, lambda);
    else if (solver == LAMBDA_LS)
        lambda_ls(s, h, c, lambda);
    else
        lambda_sgd(s, h, c, n, theta, lambda);
    scope_release(s, mark);
}

/* H = P P', c = P x with P (parts x ratings) the patterns at the ratings, and lambda from them. */
static void find_lambda(scope *s, codebook_weights solver, double theta, const ratings *x,
                        int64_t parts, const grouping *g, double *lambda)
{
    const int64_t mark = scope_mark(s);
    const small h = small_new(s, parts, parts);
    double *c = NEW(s, double, parts), *p = NEW(s, double, parts);

    for (int64_t i = 0; i < x->x.n; i++) {
        const ferry_row r = row_at(x->x, i);
        for (int64_t e = 0; e < r.n; e++)
            for (int64_t a = 0; a < parts; a++) {
                p[a] = g[a].r[g[a].u[x->x.rows.first + i] * g[a].l + g[a].v[r.index[e]]];
                c[a] += p[a] * r.value[e];
                for (int64_t b = 0; b <= a; b++)
                    AT(h, a, b) += p[a] * p[b];
            }
    }
    for (int64_t a = 0; a < parts; a++)
        for (int64_t b = 0; b < a; b++)
            AT(h, b, a) = AT(h, a, b);
    sums(s, x->x.rows, parts, c);
    sums(s, x->x.rows, parts * parts, h.at);
    codebook_lambda(s, solver, h, c, (double)entries(s, x->x), theta, lambda);
    scope_release(s, mark);
}

/* F = sum over the ratings of (x_ij - sum_n lambda_n R_n[u_n(i), v_n(j)])^2. */
static double objective(scope *s, const ratings *x, int64_t parts, const grouping *g,
                        const double *lambda)
{
    double f = 0;

    for (int64_t i = 0; i < x->x.n; i++) {
        const ferry_row r = row_at(x->x, i);
        for (int64_t e = 0; e < r.n; e++) {
            const double d = r.value[e] - grouped_rating(parts, g, lambda, -1,
                                                         x->x.rows.first + i, r.index[e]);
            f += d * d;
        }
    }
    return sum(s, x->x.rows, f);
}

/* A start that needs no luck: as good on real data as the best of three random ones. */
void codebook_match(scope *s, const ratings *x, const grouping *g)
{
    const double shrink = 5;
    const int64_t n = entries(s, x->x), first = x->xt.rows.first;
    double mean = 0;

    for (int64_t e = 0; e < stored(x->x); e++)
        mean += x->x.m->value[e];
    mean = sum(s, x->x.rows, mean) / (double)(n > 0 ? n : 1);
    for (int64_t j = 0; j < x->xt.n; j++) {
        const ferry_row r = row_at(x->xt, j);
        double own = shrink * mean, least = INFINITY;
        for (int64_t e = 0; e < r.n; e++)
            own += r.value[e];
        own /= (double)r.n + shrink;
        for (int64_t d = 0; d < g->l; d++) {
            double column = 0;
            for (int64_t c = 0; c < g->k; c++)
                column += g->r[c * g->l + d];
            column = fabs(column / (double)g->k - own);
            if (column < least) {
                least = column;
                g->v[first + j] = (int32_t)d;
            }
        }
    }
    if (x->xt.rows.spread)
        memcpy(g->v, replicate_items(s, x->xt.rows, x->xt.n, sizeof *g->v, g->v + first),
               (size_t)x->items * sizeof *g->v);
}

/* New groups of the users (items) in every part, one part after the other: each sees
 * the newest groups of those before it. */
static void half(scope *s, const ratings *x, assigning a)
{
    for (a.at = 0; a.at < a.n; a.at++)
        assign_groups(s, x, &a);
}

/* u for x alone, then u, v and lambda in turn: each minimises F exactly given the rest, so that F never grows (sgd may
 * leave it where it is). On the simplex a single source has lambda = 1, and this is CBT's algorithm; by least squares it
 * has <x, P> / <P, P>. */
double codebook_reconstruct(scope *s, const ratings *x, codebook_weights solver,
                            codebook_run *r, int64_t parts, const grouping *g,
                            double *lambda, int64_t *iters)
{
    const assigning first = {.n = parts, .g = g, .lambda = lambda, .fill = true};
    const assigning users = {.n = parts, .g = g, .lambda = lambda, .joint = true};
    assigning items = users;
    double before = INFINITY, f = INFINITY;

    items.items = true;
    for (int64_t n = 0; n < parts; n++)
        lambda[n] = 1 / (double)parts;
    half(s, x, first);
    for (*iters = 0; *iters < r->o->iters;) {
        half(s, x, users);
        half(s, x, items);
        if (parts > 1 || solver == LAMBDA_LS)
            find_lambda(s, solver, r->o->theta, x, parts, g, lambda);
        f = objective(s, x, parts, g, lambda);
        ++*iters;
        step(s, r, f);
        if (r->finish || (*iters > 1 && before - f <= 1e-9 * before)) break;
        before = f;
    }
    return f;
}

/* Parts of the target with groups of their own. */
static grouping *parts_new(scope *s, const ratings *x, int64_t n, const codebook *b)
{
    grouping *g = NEW(s, grouping, n);

    for (int64_t i = 0; i < n; i++)
        g[i] = (grouping){b[i].k, b[i].l, b[i].r, NEW(s, int32_t, x->users),
                          NEW(s, int32_t, x->items)};
    return g;
}

static void copy_groups(const ratings *x, int64_t n, const grouping *from, grouping *to)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(to[i].u, from[i].u, (size_t)x->users * sizeof *to->u);
        memcpy(to[i].v, from[i].v, (size_t)x->items * sizeof *to->v);
    }
}

/* What algorithm 2 has found. */
typedef struct found {
    int64_t n;
    grouping *g;
    double *lambda, f;
    int64_t iters;
} found;

/* The best by F of some starts: the first matches items to columns by their means, the others are random. */
static found best_start(scope *s, const ratings *x, codebook_weights solver,
                        codebook_run *r, int64_t n, const codebook *b)
{
    found best = {n, parts_new(s, x, n, b), NEW(s, double, n), INFINITY, 0};
    ferry_rng *rng = scope_rng(s, "mindtl/starts");
    double *lambda = NEW(s, double, n);

    for (int64_t t = 0; t < r->o->starts && (t == 0 || !r->finish); t++) {
        const int64_t mark = scope_mark(s);
        grouping *g = parts_new(s, x, n, b);
        int64_t iters = 0;
        for (int64_t i = 0; i < n; i++) {
            if (t == 0)
                codebook_match(s, x, &g[i]);
            else
                random_groups(rng, x->items, g[i].l, g[i].v);
        }
        const double f = codebook_reconstruct(s, x, solver, r, n, g, lambda, &iters);
        if (f < best.f) {
            best.f = f;
            best.iters = iters;
            copy_groups(x, n, g, best.g);
            memcpy(best.lambda, lambda, (size_t)n * sizeof *lambda);
        }
        scope_release(s, mark);
    }
    return best;
}

/* ---- which source is nearest ---- */

/* Ratings held out: how many of all there are, those here by their numbers in x, and what is left, which has the same
 * users and items. A tenth, whoever's they are; the same ones for every source. */
typedef struct held {
    int64_t all, n, *at;
    ratings rest;
} held;

static held hold_out(scope *s, const ratings *x)
{
    const int64_t all = entries(s, x->x), own = stored(x->x), before = ratings_before(s, x);
    held h = {.all = (int64_t)floor(0.1 * (double)all), .at = NEW(s, int64_t, all)};
    uint8_t *out = NEW(s, uint8_t, own);

    for (int64_t e = 0; e < all; e++)
        h.at[e] = e;
    shuffle(scope_rng(s, "mindtl/hold"), all, h.at);
    if (h.all == 0) return h;
    for (int64_t e = 0; e < h.all; e++) {
        const int64_t at = h.at[e] - before;
        if (at < 0 || at >= own) continue;
        h.at[h.n++] = at;
        out[at] = 1;
    }
    h.rest = ratings_without(s, x, out, 1);
    return h;
}

/* The paper's heuristic for the order of sources: how well each alone rates what was held out. NaN when none can be. */
static double distance(scope *s, const ratings *x, const held *h, const codebook *b,
                       codebook_run *r)
{
    const int64_t mark = scope_mark(s);
    int32_t *user = NEW(s, int32_t, stored(x->x));
    double squares = 0;

    if (h->all == 0) return NAN;
    const found alone = best_start(s, &h->rest, LAMBDA_SIMPLEX, r, 1, b);
    for (int64_t i = 0; i < x->x.n; i++)
        for (int64_t e = x->x.m->start[i]; e < x->x.m->start[i + 1]; e++)
            user[e] = (int32_t)(x->x.rows.first + i);
    for (int64_t e = 0; e < h->n; e++) {
        const int64_t at = h->at[e];
        const double rating =
            grouped_rating(1, alone.g, alone.lambda, -1, user[at], x->x.m->index[at]);
        squares += pow(fmin(fmax(rating, x->lo), x->hi) - x->x.m->value[at], 2);
    }
    squares = sum(s, x->x.rows, squares);
    scope_release(s, mark);
    return sqrt(squares / (double)h->all);
}

/* Sources by distance: names and books in that order, which is reported. All are NaN when nothing can be held out: no
 * comparison is true then, and the order stays as it is in the task. */
static void by_distance(scope *s, const ratings *x, codebook_run *r, int64_t n,
                        const char **name, codebook *b)
{
    double *d = NEW(s, double, n);
    const held h = hold_out(s, x);

    for (int64_t i = 0; i < n; i++)
        d[i] = distance(s, x, &h, &b[i], r);
    for (int64_t i = 1; i < n; i++) /* few: insertion, stable */
        for (int64_t t = i; t > 0 && d[t] < d[t - 1]; t--) {
            const double far = d[t];
            const char *word = name[t];
            const codebook book = b[t];
            d[t] = d[t - 1];
            d[t - 1] = far;
            name[t] = name[t - 1];
            name[t - 1] = word;
            b[t] = b[t - 1];
            b[t - 1] = book;
        }
    if (isfinite(d[0])) report_named(s, "distance", n, name, d);
}

/* ---- the model ---- */

/* Of one source. Who was not there is in the largest group. */
typedef struct part {
    int64_t k, l;
    block r;        /* k x l */
    int32_t *u, *v; /* users, items */
    double weight;
    int64_t u0, v0;
} part;
typedef struct codebook_state {
    int64_t n;
    part *part;
} codebook_state;

static const field part_fields[] = {
    ARRAY(part, BLOCK, r, .rows = SIZE(part, k), .cols = SIZE(part, l)),
    ARRAY(part, PLACES, u, .rows = WIDTH, .below = SIZE(part, k)),
    ARRAY(part, PLACES, v, .rows = CLASSES, .below = SIZE(part, l)),
    VALUE(part, REAL, weight),
    VALUE(part, INT, u0),
    VALUE(part, INT, v0),
};

static void part_check(scope *s, const void *state)
{
    const part *t = state;

    if (t->u0 < 0 || t->u0 >= t->k || t->v0 < 0 || t->v0 >= t->l)
        scope_fail(s, FERRY_EDATA,
                   "tensors u0 and v0: groups %lld and %lld of %lld and %lld",
                   (long long)t->u0, (long long)t->v0, (long long)t->k, (long long)t->l);
}

static const table part_table = {sizeof(part), part_fields, FERRY_COUNT(part_fields),
                                 part_check, NULL};
static const field codebook_fields[] = {
    ARRAY(codebook_state, LIST, part, .rows = SIZE(codebook_state, n), .of = &part_table),
};
const table codebook_table = TABLE(codebook_state, codebook_fields);

static part keep_part(scope *s, scope *keep, const ratings *x, const grouping *g,
                      double lambda)
{
    part t = {.k = g->k,
              .l = g->l,
              .r = block_new(keep, HERE(g->k), g->k, g->l),
              .u = COPY(keep, g->u, x->users),
              .v = COPY(keep, g->v, x->items),
              .weight = lambda};

    memcpy(t.r.at, g->r, (size_t)(g->k * g->l) * sizeof *g->r);
    t.u0 = largest_group(s, x->users, g->u, g->k);
    t.v0 = largest_group(s, x->items, g->v, g->l);
    return t;
}

/* What part t makes of a pair whose groups are c and d. */
static double part_rating(const part *t, int64_t c, int64_t d)
{
    return t->weight * ROW(t->r, c)[d];
}

void codebook_scores(scope *s, const void *state, const domain *d, block out)
{
    const codebook_state *m = state;

    (void)s;
    for (int64_t e = 0; e < d->r->n; e++)
        for (int64_t n = 0; n < m->n; n++) {
            const part *t = &m->part[n];
            const int64_t i = d->r->user[e], j = d->r->item[e];
            out.at[e] += part_rating(t, i < 0 ? t->u0 : t->u[i], j < 0 ? t->v0 : t->v[j]);
        }
}

/* ---- who comes later ----
 *
 * u_n(i) = argmin_c sum_j (x_ij - others - lambda_n R_n[c, v_n(j)])^2 for a user, the same for an item: first for x alone,
 * each part with weight 1, then part after part until none moves. */

/* Turns, at most. Each can only lower the squared error, so they come to rest by themselves; the bound is on time. */
enum { ROUNDS = 20 };

/* What part n makes of rating e of the row that is folded in, if that is in group c. */
static double value_in(const part *t, bool items, int64_t c, int64_t other)
{
    return items ? part_rating(t, t->u[other], c) : part_rating(t, c, t->v[other]);
}

/* The best group of the row in part n; whether it moved. */
static bool fold_part(const codebook_state *m, bool items, int64_t n, ferry_row x,
                      bool alone, int64_t row)
{
    const part *t = &m->part[n];
    const int64_t groups = items ? t->l : t->k;
    int32_t *group = &(items ? t->v : t->u)[row], best = 0;
    double least = INFINITY;

    if (t->weight == 0) return false;
    const double scale = alone ? 1 / t->weight : 1;
    for (int32_t c = 0; c < groups; c++) {
        double cost = 0;
        for (int64_t e = 0; e < x.n; e++) {
            double all = 0;
            for (int64_t o = 0; !alone && o < m->n; o++) {
                const part *other = &m->part[o];
                all +=
                    value_in(other, items, (items ? other->v : other->u)[row], x.index[e]);
            }
            const double own = value_in(t, items, *group, x.index[e]);
            const double rest = alone ? x.value[e] : x.value[e] - (all - own);
            cost += pow(rest - scale * value_in(t, items, c, x.index[e]), 2);
        }
        if (cost < least) {
            least = cost;
            best = c;
        }
    }
    const bool moved = *group != best;
    *group = best;
    return moved;
}

static void fold_rows(const codebook_state *m, bool items, matrix x, int64_t first)
{
    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        bool moved = r.n > 0; /* else it stays one of the unknown */
        for (int round = -1; round < ROUNDS && r.n > 0 && (round < 1 || moved); round++) {
            moved = false;
            for (int64_t n = 0; n < m->n; n++)
                moved = fold_part(m, items, n, r, round < 0, first + i) || moved;
        }
    }
}

/* group with its new members in group `of`. */
static int32_t *more_groups(scope *keep, const int32_t *group, int64_t n, int64_t all,
                            int64_t of)
{
    int32_t *to = NEW(keep, int32_t, all);

    if (n > 0) memcpy(to, group, (size_t)n * sizeof *to);
    for (int64_t i = n; i < all; i++)
        to[i] = (int32_t)of;
    return to;
}

void codebook_fold_in(scope *s, scope *keep, const void *state, const ratings *r, void *to)
{
    const codebook_state *m = state;
    const int64_t users = r->users - r->x.n, items = r->items - r->xt.n;
    codebook_state *more = to;

    (void)s;
    *more = (codebook_state){m->n, NEW(keep, part, m->n)};
    for (int64_t n = 0; n < m->n; n++) {
        const part *t = &m->part[n];
        more->part[n] = *t;
        more->part[n].r = block_new(keep, t->r.rows, t->r.n, t->r.k);
        copy(t->r, more->part[n].r);
        more->part[n].u = more_groups(keep, t->u, users, r->users, t->u0);
        more->part[n].v = more_groups(keep, t->v, items, r->items, t->v0);
    }
    fold_rows(more, false, r->x, users);
    fold_rows(more, true, r->xt, items);
}

/* ---- all of it ---- */

/* Sources used, and (order nearest) looked at: all must be, to know which are the nearest. */
static int64_t sources_used(const problem *p, const codebook_options *o)
{
    return o->use > 0 && o->use < p->n_sources ? o->use : p->n_sources;
}

/* The limit is that of the exact simplex problem, which tries every support. */
void codebook_fits(scope *s, const problem *p, const void *options)
{
    const int64_t n = sources_used(p, options);

    if (n > SIMPLEX_MOST)
        scope_fail(s, FERRY_ENEEDS, "%s takes at most %d sources; this task has %lld",
                   scope_ctx(s)->fitting, SIMPLEX_MOST, (long long)n);
}

static codebook empty_codebook(scope *s, const codebook_options *o, const ratings *x)
{
    codebook b = {.k = groups_of(o->k, x->users), .l = groups_of(o->l, x->items)};

    b.r = NEW(s, double, b.k *b.l);
    return b;
}

/* Steps that are reported as progress, when no loop ends early. */
static int64_t steps_of(const codebook_options *o, int64_t sources)
{
    const int64_t sweeps = o->extract != EXTRACT_KMEANS ? o->sweeps : 0;

    return sources * o->restarts * (1 + sweeps) + o->starts * o->iters;
}

/* The weight of each source by name: what a user can judge a source by. */
static void report_weights(scope *s, int64_t n, const char *const *name, const double *w)
{
    char *text = scope_text(s, "weights:");

    report_named(s, "weights", n, name, w);
    for (int64_t i = 0; i < n; i++)
        text = scope_text(s, "%s%s'%s' %.2f", text, i > 0 ? ", " : " ", name[i], w[i]);
    report_text(s, "note", text);
}

void codebook_fit(scope *s, scope *keep, const problem *p, const codebook_options *o,
                  codebook_control *control, bool sourceless, void *state)
{
    const ratings *x = target(p)->r;
    const int64_t use = sourceless ? 1 : sources_used(p, o);
    const int64_t seen = o->order == ORDER_NEAREST && !sourceless ? p->n_sources : use;
    codebook *b = NEW(s, codebook, seen);
    const char **name = NEW(s, const char *, seen);
    codebook_state *m = state;
    codebook_run r = {o, 0, steps_of(o, seen), false};

    for (int i = 0; i < seen; i++) {
        name[i] = sourceless ? "grid" : p->d[i].name;
        b[i] = sourceless ? empty_codebook(s, o, x) : make_codebook(s, p, i, &r);
        if (control) control(s, x, i, &b[i]);
    }
    if (seen > 1 && o->order == ORDER_NEAREST) by_distance(s, x, &r, seen, name, b);
    const found best = best_start(s, x, (codebook_weights)o->lambda, &r, use, b);
    *m = (codebook_state){use, NEW(keep, part, use)};
    for (int64_t n = 0; n < use; n++)
        m->part[n] = keep_part(s, keep, x, &best.g[n], best.lambda[n]);
    report_fit(s, best.iters, best.f,
               r.finish                ? FERRY_STOP_FINISH
               : best.iters < o->iters ? FERRY_STOP_TOL
                                       : FERRY_STOP_MAX_ITER);
    if (sourceless)
        report_named(s, "weights", use, name, best.lambda);
    else
        report_weights(s, use, name, best.lambda);
}

static const ferry_opt paper_opts[] = {CODEBOOK_GROUPS, CODEBOOK_SOURCES, CODEBOOK_USE,
                                       CODEBOOK_TARGET, CODEBOOK_LAMBDA};

static void paper_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    codebook_fit(s, keep, p, options, NULL, false, state);
}

const method method_mindtl_paper = {
    .name = "mindtl-paper",
    .summary = "rating patterns of several incomplete sources, hard groups, as published",
    .reference =
        "He et al., Robust Transfer Learning for Cross-domain Collaborative Filtering "
        "Using Multiple Rating Patterns Approximation, WSDM 2018",
    .kind = FERRY_KIND_TRANSFER,
    .asked = true,
    .control = "shuffled-codebook-paper",
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .fits = codebook_fits,
    CODEBOOK_METHOD(paper_opts, paper_fit),
};
