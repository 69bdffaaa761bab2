/* Coupled tri-factorisation: making one, starting it, running it (nmtf_step.c has the
 * steps).
 *
 * Life of a factorisation: _new with the views, _know with the labels, _start and
 * _random for where it begins, _run; then G of the target is what was asked for. Memory
 * of all factors is m (p1 + views (pa + p2)) and n c numbers, and as much again for the
 * work. */
#include <math.h>

#include "learn/learn.h"
#include "learn/nmtf.h"
#include "learn/rows.h"
#include "learn/simplex_qp.h"
#include "linalg/ops.h"

/* ---- making one ---- */

/* The factors and work of a view; x loses one owner. */
static void view_clear(ferry_nmtf_view *v)
{
    ferry_i_matrix_free(v->r);
    ferry_i_matrix_free(v->rt);
    ferry_i_matrix_free(v->xt);
    ferry_i_matrix_free(v->x);
    FERRY_FREE(v->fa, v->f2, v->a2, v->h, v->p, v->q, v->fa_sums, v->f2_sums);
}

static void group_clear(ferry_nmtf_group *g)
{
    FERRY_FREE(g->f1, g->a1, g->aa, g->fa1, g->ps, g->qs, g->up, g->down, g->above,
               g->below, g->sums, g->f1_sums);
    ferry_i_nmtf_tiles_free(g->tiles);
}

void ferry_i_nmtf_free(ferry_nmtf *n)
{
    if (!n) return;
    for (int64_t v = 0; n->view && v < n->n_views; v++)
        view_clear(&n->view[v]);
    for (int64_t g = 0; n->group && g < n->n_groups; g++)
        group_clear(&n->group[g]);
    for (int64_t d = 0; n->domain && d < n->n_domains; d++) {
        FERRY_FREE(n->domain[d].g, n->domain[d].above, n->domain[d].below, n->domain[d].k,
                   n->domain[d].known);
    }
    FERRY_FREE(n->cc, n->view, n->group, n->domain, n);
}

/* Columns of the widest factor: work shared by all is of this width. */
static int64_t widest(const ferry_nmtf *n)
{
    const int64_t p = n->p1 > n->pa ? n->p1 : n->pa;

    return p > n->p2 ? p : n->p2;
}

/* Factors and work of view `at`. A twin, the first view of the same matrix and domain, shares
 * P = X G with it: a matrix that stands in two groups, as the middle of a chain does, is read
 * once.
 * |X|^2 is computed once: it is the constant part of the squared loss. The transposed
 * index makes X'G fast and its bits independent of threads. */
static ferry_status view_init(ferry_ctx *ctx, ferry_nmtf *n, int64_t at,
                              const ferry_nmtf_place *place)
{
    ferry_status st = FERRY_OK;
    ferry_nmtf_view *v = &n->view[at];
    const int64_t m = place->x->cols;

    v->x = ferry_i_matrix_ref(place->x);
    v->group = place->group;
    v->domain = place->domain;
    v->w = place->w;
    v->norm2 = ferry_i_matrix_norm2(v->x);
    FERRY_TRY(ferry_i_sum_rows(ctx, v->x, 1, &v->norm2));
    for (v->twin = 0; v->twin < at; v->twin++)
        if (n->view[v->twin].x == v->x && n->view[v->twin].domain == v->domain) break;
    FERRY_TRY(ferry_i_matrix_index(ctx, v->x));
    FERRY_TRY(ferry_i_block_new(ctx, m, n->pa, &v->fa));
    FERRY_TRY(ferry_i_block_new(ctx, m, n->p2, &v->f2));
    FERRY_TRY(ferry_i_small_new(ctx, n->p2, n->c, &v->a2));
    FERRY_TRY(ferry_i_block_new(ctx, m, n->c, &v->h));
    FERRY_TRY(ferry_i_block_new(ctx, m, n->c, &v->p));
    FERRY_TRY(ferry_i_block_new(ctx, m, n->c, &v->q));
    FERRY_NEW(ctx, v->fa_sums, n->pa);
    FERRY_NEW(ctx, v->f2_sums, n->p2);
done:
    return st;
}

/* Shared factors and work of a group with m features. */
static ferry_status group_init(ferry_ctx *ctx, const ferry_nmtf *n, int64_t m,
                               ferry_nmtf_group *g)
{
    ferry_status st = FERRY_OK;
    const int64_t p = widest(n);

    g->m = m;
    FERRY_TRY(ferry_i_block_new(ctx, m, n->p1, &g->f1));
    FERRY_TRY(ferry_i_small_new(ctx, n->p1, n->c, &g->a1));
    FERRY_TRY(ferry_i_small_new(ctx, n->pa, n->c, &g->aa));
    FERRY_TRY(ferry_i_block_new(ctx, m, n->c, &g->fa1));
    FERRY_TRY(ferry_i_block_new(ctx, m, n->c, &g->ps));
    FERRY_TRY(ferry_i_block_new(ctx, m, n->c, &g->qs));
    FERRY_TRY(ferry_i_small_new(ctx, p, n->c, &g->above));
    FERRY_TRY(ferry_i_small_new(ctx, p, n->c, &g->below));
    FERRY_NEW(ctx, g->sums, p);
    FERRY_NEW(ctx, g->f1_sums, n->p1);
done:
    return st;
}

/* G and what its step divides; no label is known yet. */
static ferry_status domain_init(ferry_ctx *ctx, const ferry_nmtf *n, const ferry_matrix *x,
                                ferry_nmtf_domain *d)
{
    ferry_status st = FERRY_OK;
    const int64_t rows = x->rows;

    d->n = rows;
    d->x = x;
    FERRY_TRY(ferry_i_block_new(ctx, rows, n->c, &d->g));
    FERRY_TRY(ferry_i_block_new(ctx, rows, n->c, &d->above));
    FERRY_TRY(ferry_i_block_new(ctx, rows, n->c, &d->below));
    FERRY_TRY(ferry_i_small_new(ctx, n->c, n->c, &d->k));
    FERRY_NEW(ctx, d->known, rows);
    for (int64_t i = 0; i < rows; i++)
        d->known[i] = -1;
done:
    return st;
}

/* Multiplicative steps keep signs, so they need X >= 0; NaN fails too. */
static bool non_negative(const ferry_matrix *x)
{
    const double *v = row_values(x);

    for (int64_t e = 0; e < x->nnz; e++)
        if (!(v[e] >= 0) || isinf(v[e])) return false;
    return true;
}

/* Sizes from the views; they must agree.
 * O(views^2), and one pass over all entries. */
static ferry_status check(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_place *place)
{
    ferry_status st = FERRY_OK;

    for (int64_t v = 0; v < n->n_views; v++) {
        const ferry_nmtf_place *a = &place[v];
        for (int64_t u = 0; u < v; u++) {
            const ferry_nmtf_place *b = &place[u];
            FERRY_NEED(ctx, a->group != b->group || a->x->cols == b->x->cols, FERRY_EINVAL,
                       "views %lld and %lld of one group have %lld and %lld features",
                       (long long)u + 1, (long long)v + 1, (long long)b->x->cols,
                       (long long)a->x->cols);
            FERRY_NEED(ctx, a->domain != b->domain || a->x->rows == b->x->rows,
                       FERRY_EINVAL,
                       "views %lld and %lld of one domain have %lld and %lld instances",
                       (long long)u + 1, (long long)v + 1, (long long)b->x->rows,
                       (long long)a->x->rows);
        }
        FERRY_NEED(ctx, non_negative(a->x), FERRY_EDATA,
                   "a factorisation into non-negative parts needs features of 0 or more");
    }
done:
    return st;
}

/* Groups and domains are counted from the largest number that a view names, then made by
 * the first view that belongs to them, which knows their sizes. */
ferry_status ferry_i_nmtf_new(ferry_ctx *ctx, int64_t c, int64_t p1, int64_t pa, int64_t p2,
                              int64_t n_views, const ferry_nmtf_place *place,
                              ferry_nmtf **out)
{
    ferry_status st = FERRY_OK;
    ferry_nmtf *n = ferry_i_calloc(1, sizeof *n);

    *out = NULL;
    FERRY_HAVE(ctx, n);
    n->c = c;
    n->p1 = p1;
    n->pa = pa;
    n->p2 = p2;
    n->n_views = n_views;
    for (int64_t v = 0; v < n_views; v++) {
        if (place[v].group >= n->n_groups) n->n_groups = place[v].group + 1;
        if (place[v].domain >= n->n_domains) n->n_domains = place[v].domain + 1;
    }
    FERRY_TRY(check(ctx, n, place));
    FERRY_NEW(ctx, n->view, n_views);
    FERRY_NEW(ctx, n->group, n->n_groups);
    FERRY_NEW(ctx, n->domain, n->n_domains);
    FERRY_TRY(ferry_i_small_new(ctx, c, c, &n->cc));
    for (int64_t v = 0; v < n_views; v++) {
        ferry_nmtf_domain *d = &n->domain[place[v].domain];
        ferry_nmtf_group *g = &n->group[place[v].group];
        FERRY_TRY(view_init(ctx, n, v, &place[v]));
        if (!d->g) FERRY_TRY(domain_init(ctx, n, n->view[v].x, d));
        if (!g->f1) FERRY_TRY(group_init(ctx, n, place[v].x->cols, g));
    }
    FERRY_MOVE(*out, n);
done:
    ferry_i_nmtf_free(n);
    return st;
}

/* ---- starts ---- */

/* All rows known makes a domain fixed: G is then data, and P = X G has to be computed
 * only once. p_ready is taken back, since G has changed. */
ferry_status ferry_i_nmtf_know(ferry_ctx *ctx, ferry_nmtf *n, int64_t d,
                               const int32_t *known)
{
    ferry_nmtf_domain *dom = &n->domain[d];
    double unknown = 0;

    n->p_ready = false;
    for (int64_t i = 0; i < dom->n; i++) {
        dom->known[i] = known[i];
        unknown += known[i] < 0;
        for (int64_t k = 0; k < n->c; k++)
            FERRY_ROW(dom->g, i)
        [k] = known[i] < 0 ? 1 / (double)n->c : (double)(k == known[i]);
    }
    FERRY_PASS(ferry_i_sum_rows(ctx, dom->x, 1, &unknown));
    dom->fixed = unknown == 0;
    return FERRY_OK;
}

/* A floor above 0 matters: a multiplicative step never leaves 0, so a class that the
 * start excludes could not come back. */
void ferry_i_nmtf_start(ferry_nmtf *n, int64_t d, const ferry_block *start, double floor)
{
    ferry_nmtf_domain *dom = &n->domain[d];

    for (int64_t i = 0; i < dom->n; i++) {
        double *g = FERRY_ROW(dom->g, i), sum = 0;
        if (dom->known[i] >= 0) continue;
        for (int64_t k = 0; k < n->c; k++)
            sum += g[k] = fmax(FERRY_ROW(start, i)[k], floor);
        for (int64_t k = 0; k < n->c; k++)
            g[k] = sum > 0 ? g[k] / sum : 1 / (double)n->c;
    }
}

/* Uniform in [0.1, 1.1), so that no entry starts at (or near) 0, from where it could not
 * move; columns then sum to 1. Each feature has a stream of its own: no order of them decides. */
static void random_f(ferry_ctx *ctx, ferry_block *f, ferry_rng *rng, const uint64_t *key,
                     double *sums)
{
    fill_by_key(rng, key, 0.1, 1.1, (block){HERE(f->rows), f->rows, f->k, f->data});
    ferry_e(ctx)->bsums(ctx, f, FERRY_COLS, 1, sums);
    for (int64_t l = 0; l < f->k; l++)
        sums[l] = sums[l] > 0 ? 1 / sums[l] : 1;
    ferry_e(ctx)->bscale(ctx, f, FERRY_COLS, sums);
}

/* Around `size`, within a factor of three: no entry so small that it would not recover. The same for all classes,
 * whose order decides nothing: G tells them apart. */
static void random_a(ferry_small *a, ferry_rng *rng, double size)
{
    for (int64_t l = 0; l < a->rows; l++) {
        const double first = size * (0.5 + ferry_i_rng_real(rng));
        for (int64_t k = 0; k < a->cols; k++)
            FERRY_AT(a, l, k) = first;
    }
}

/* One size for A in a group, from the mean sum of an instance, so that H G' starts at
 * the scale of X and the first steps need not find it. Draws come in a fixed order:
 * groups, then views. */
ferry_status ferry_i_nmtf_random(ferry_ctx *ctx, ferry_nmtf *n, ferry_rng *rng,
                                 const uint64_t *const *key)
{
    ferry_status st = FERRY_OK;
    const double p = (double)(n->p1 + n->pa + n->p2);

    n->tiled = n->pending = false;
    /* With columns of F and rows of G of sum 1 an instance of X sums to about p entries of
     * A. */
    for (int64_t g = 0; g < n->n_groups; g++) {
        ferry_nmtf_group *gr = &n->group[g];
        double sum = 0, rows = 0;
        for (int64_t v = 0; v < n->n_views; v++) {
            const ferry_matrix *x = n->view[v].x;
            double of_x = 0;
            if (n->view[v].group != g) continue;
            rows += (double)ferry_i_all_rows(x);
            for (int64_t e = 0; e < x->nnz; e++)
                of_x += row_values(x)[e];
            FERRY_TRY(ferry_i_sum_rows(ctx, x, 1, &of_x));
            sum += of_x;
        }
        /* mean sum of an instance / (p1 + pa + p2) */
        sum = sum > 0 && p > 0 ? sum / rows / p : 1;
        const uint64_t *of = key ? key[g] : NULL;
        random_f(ctx, gr->f1, rng, of, gr->sums);
        random_a(gr->a1, rng, sum);
        random_a(gr->aa, rng, sum);
        for (int64_t v = 0; v < n->n_views; v++) {
            if (n->view[v].group != g) continue;
            random_f(ctx, n->view[v].fa, rng, of, gr->sums);
            random_f(ctx, n->view[v].f2, rng, of, gr->sums);
            random_a(n->view[v].a2, rng, sum);
        }
    }
done:
    return st;
}

/* ---- running ---- */

typedef struct qp {
    small b;
    const double *v;
    double *g;
} qp;

static void solve_qp(scope *s, void *arg)
{
    const qp *q = arg;

    (void)simplex_qp(s, q->b, q->v, q->g);
}

ferry_status ferry_i_nmtf_simplex_row(ferry_ctx *ctx, const ferry_small *b, const double *v,
                                      double *g)
{
    /* g = (t, 1 - t): the derivative is linear in t. */
    if (b->rows == 2) {
        /* g'Bg - 2 v'g at g = (t, 1 - t): derivative 0 at t = (v0 - v1 + B11 - B01) /
         * bend */
        const double bend = FERRY_AT(b, 0, 0) - 2 * FERRY_AT(b, 0, 1) + FERRY_AT(b, 1, 1);
        const double t = (v[0] - v[1] + FERRY_AT(b, 1, 1) - FERRY_AT(b, 0, 1)) /
                         (bend > FERRY_NMTF_EPS ? bend : FERRY_NMTF_EPS);
        /* convex in t, so the nearest end is the minimum where t lies outside */
        g[0] = t < 0 ? 0 : t > 1 ? 1 : t;
        g[1] = 1 - g[0];
        return FERRY_OK;
    }
    return scope_run(ctx, solve_qp, &(qp){{b->rows, b->cols, b->data}, v, g});
}

/* The objective that a step reports is that of the state before it (it costs nothing then), so
 * the last one is computed once at the end.
 * Warm iterations leave G alone: with random F and A the first steps of G would throw
 * away what the start knows. F's columns are left pending between iterations
 * (normalise_late) and brought up to date at the end, on every way out. */
ferry_status ferry_i_nmtf_run(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o,
                              const char *what, ferry_nmtf_found *found)
{
    ferry_status st = FERRY_OK;
    double now = NAN, before = NAN;

    *found = (ferry_nmtf_found){.objective = NAN};
    while (found->iterations < o->warm + o->iterations) {
        FERRY_TRY(ferry_i_nmtf_factors(ctx, n, o, &now));
        if (found->iterations >= o->warm) FERRY_TRY(ferry_i_nmtf_members(ctx, n, o));
        ferry_i_nmtf_normalise_late(ctx, n, o);
        found->iterations++;
        FERRY_TRY(ferry_i_progress(ctx, what, found->iterations, o->warm + o->iterations,
                                   now, &found->finish));
        found->converged = o->tol > 0 && fabs(before - now) <= o->tol * fabs(before);
        before = now;
        if (found->finish || found->converged) break;
    }
    FERRY_TRY(ferry_i_nmtf_objective(ctx, n, o->loss, &found->objective));
    FERRY_NEED(ctx, isfinite(found->objective), FERRY_ENUMERIC,
               "%s: the factors grew beyond what a number can hold; scale the features",
               what);
done:
    ferry_i_nmtf_catch_up(ctx, n);
    return st;
}
