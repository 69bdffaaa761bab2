/* Coupled tri-factorisation: making one, starting it, running it (nmtf_step.c has the
 * steps).
 *
 * Life of a factorisation: _new with the views, _know with the labels, _start and
 * _random for where it begins, _run; then G of the target is what was asked for. Memory
 * of all factors is m (p1 + views (pa + p2)) and n c numbers, and as much again for the
 * work. */
#include <math.h>

#include "learn/nmtf.h"
#include "learn/rows.h"
#include "learn/simplex_qp.h"

/* ---- making one ---- */

/* Columns of the widest factor: work shared by all is of this width. */
static int64_t widest(const nmtf *n)
{
    const int64_t p = n->p1 > n->pa ? n->p1 : n->pa;

    return p > n->p2 ? p : n->p2;
}

/* Factors and work of view `at`. A twin, the first view of the same matrix and domain, shares
 * P = X G with it: a matrix that stands in two groups, as the middle of a chain does, is read
 * once.
 * |X|^2 is computed once: it is the constant part of the squared loss. The transposed
 * index makes X'G fast and its bits independent of threads. */
static void view_init(scope *s, nmtf *n, int64_t at, const nmtf_input *input)
{
    nmtf_view *v = &n->view[at];
    const int64_t m = input->x.cols;
    const layout columns = HERE(m);

    v->x = input->x;
    v->group = input->group;
    v->domain = input->domain;
    v->w = input->w;
    v->norm2 = norm2(s, v->x);
    for (v->twin = 0; v->twin < at; v->twin++)
        if (n->view[v->twin].x.m == v->x.m && n->view[v->twin].domain == v->domain) break;
    index_columns(s, v->x);
    v->fa = block_new(s, columns, m, n->pa);
    v->f2 = block_new(s, columns, m, n->p2);
    v->a2 = small_new(s, n->p2, n->c);
    v->h = block_new(s, columns, m, n->c);
    v->p = block_like(s, v->h);
    v->q = block_like(s, v->h);
    v->fa_sums = NEW(s, double, n->pa);
    v->f2_sums = NEW(s, double, n->p2);
}

/* Shared factors and work of a group with m features. */
static void group_init(scope *s, const nmtf *n, int64_t m, nmtf_group *g)
{
    const int64_t p = widest(n);

    g->m = m;
    g->f1 = block_new(s, HERE(m), m, n->p1);
    g->a1 = small_new(s, n->p1, n->c);
    g->aa = small_new(s, n->pa, n->c);
    g->fa1 = block_new(s, HERE(m), m, n->c);
    g->ps = block_like(s, g->fa1);
    g->qs = block_like(s, g->fa1);
    g->above = small_new(s, p, n->c);
    g->below = small_new(s, p, n->c);
    g->sums = NEW(s, double, p);
    g->f1_sums = NEW(s, double, n->p1);
}

/* G and what its step divides; no label is known yet. */
static void domain_init(scope *s, const nmtf *n, matrix x, nmtf_domain *d)
{
    d->n = x.n;
    d->rows = x.rows;
    d->g = block_new(s, x.rows, x.n, n->c);
    d->above = block_like(s, d->g);
    d->below = block_like(s, d->g);
    d->k = small_new(s, n->c, n->c);
    d->known = NEW(s, int32_t, x.n);
    for (int64_t i = 0; i < x.n; i++)
        d->known[i] = -1;
}

/* Multiplicative steps keep signs, so they need X >= 0; NaN fails too. */
static bool non_negative(matrix x)
{
    const double *v = row_values(x.m);

    for (int64_t e = 0; e < stored(x); e++)
        if (!(v[e] >= 0) || isinf(v[e])) return false;
    return true;
}

/* Sizes from the views; they must agree.
 * O(views^2), and one pass over all entries. */
static void check(scope *s, const nmtf *n, const nmtf_input *input)
{
    for (int64_t v = 0; v < n->n_views; v++) {
        const nmtf_input *a = &input[v];
        for (int64_t u = 0; u < v; u++) {
            const nmtf_input *b = &input[u];
            if (a->group == b->group && a->x.cols != b->x.cols)
                scope_fail(s, FERRY_EINVAL,
                           "views %lld and %lld of one group have %lld and %lld features",
                           (long long)u + 1, (long long)v + 1, (long long)b->x.cols,
                           (long long)a->x.cols);
            if (a->domain == b->domain && a->x.n != b->x.n)
                scope_fail(s, FERRY_EINVAL,
                           "views %lld and %lld of one domain have %lld and %lld instances",
                           (long long)u + 1, (long long)v + 1, (long long)b->x.n,
                           (long long)a->x.n);
        }
        if (!non_negative(a->x))
            scope_fail(
                s, FERRY_EDATA,
                "a factorisation into non-negative parts needs features of 0 or more");
    }
}

/* Groups and domains are counted from the largest number that a view names, then made by
 * the first view that belongs to them, which knows their sizes. */
nmtf *nmtf_new(scope *s, int64_t c, int64_t p1, int64_t pa, int64_t p2, int64_t n_views,
               const nmtf_input *input)
{
    nmtf *n = NEW(s, nmtf, 1);

    n->c = c;
    n->p1 = p1;
    n->pa = pa;
    n->p2 = p2;
    n->n_views = n_views;
    for (int64_t v = 0; v < n_views; v++) {
        if (input[v].group >= n->n_groups) n->n_groups = input[v].group + 1;
        if (input[v].domain >= n->n_domains) n->n_domains = input[v].domain + 1;
    }
    check(s, n, input);
    n->view = NEW(s, nmtf_view, n_views);
    n->group = NEW(s, nmtf_group, n->n_groups);
    n->domain = NEW(s, nmtf_domain, n->n_domains);
    n->cc = small_new(s, c, c);
    for (int64_t v = 0; v < n_views; v++) {
        nmtf_domain *d = &n->domain[input[v].domain];
        nmtf_group *g = &n->group[input[v].group];
        view_init(s, n, v, &input[v]);
        if (!d->known) domain_init(s, n, n->view[v].x, d);
        if (!g->sums) group_init(s, n, input[v].x.cols, g);
    }
    return n;
}

/* ---- starts ---- */

/* All rows known makes a domain fixed: G is then data, and P = X G has to be computed
 * only once. p_ready is taken back, since G has changed. */
void nmtf_know(scope *s, nmtf *n, int64_t d, const int32_t *known)
{
    nmtf_domain *dom = &n->domain[d];
    double unknown = 0;

    n->p_ready = false;
    for (int64_t i = 0; i < dom->n; i++) {
        double *g = ROW(dom->g, i);
        dom->known[i] = known[i];
        unknown += known[i] < 0;
        for (int64_t k = 0; k < n->c; k++)
            g[k] = known[i] < 0 ? 1 / (double)n->c : (double)(k == known[i]);
    }
    dom->fixed = sum(s, dom->rows, unknown) == 0;
}

/* A floor above 0 matters: a multiplicative step never leaves 0, so a class that the
 * start excludes could not come back. */
void nmtf_start(nmtf *n, int64_t d, block start, double floor)
{
    nmtf_domain *dom = &n->domain[d];

    for (int64_t i = 0; i < dom->n; i++) {
        double *g = ROW(dom->g, i), all = 0;
        if (dom->known[i] >= 0) continue;
        for (int64_t k = 0; k < n->c; k++)
            all += g[k] = fmax(ROW(start, i)[k], floor);
        for (int64_t k = 0; k < n->c; k++)
            g[k] = all > 0 ? g[k] / all : 1 / (double)n->c;
    }
}

/* Uniform in [0.1, 1.1), so that no entry starts at (or near) 0, from where it could not
 * move; columns then sum to 1. Each feature has a stream of its own: no order of them decides. */
static void random_f(scope *s, block f, ferry_rng *rng, const uint64_t *key, double *by)
{
    fill_by_key(rng, key, 0.1, 1.1, f);
    column_sums(s, f, by);
    for (int64_t l = 0; l < f.k; l++)
        by[l] = by[l] > 0 ? 1 / by[l] : 1;
    scale_columns(s, f, by);
}

/* Around `size`, within a factor of three: no entry so small that it would not recover. The same for all classes,
 * whose order decides nothing: G tells them apart. */
static void random_a(small a, ferry_rng *rng, double size)
{
    for (int64_t l = 0; l < a.rows; l++) {
        const double first = size * (0.5 + ferry_i_rng_real(rng));
        for (int64_t k = 0; k < a.cols; k++)
            AT(a, l, k) = first;
    }
}

/* The mean sum of an instance of group g / (p1 + pa + p2): with columns of F and rows of G of sum 1 an instance of X
 * sums to about p entries of A. */
static double size_of_a(scope *s, const nmtf *n, int64_t g)
{
    const double p = (double)(n->p1 + n->pa + n->p2);
    double all = 0, rows = 0;

    for (int64_t v = 0; v < n->n_views; v++) {
        const matrix x = n->view[v].x;
        double of_x = 0;
        if (n->view[v].group != g) continue;
        rows += (double)x.rows.n;
        for (int64_t e = 0; e < stored(x); e++)
            of_x += row_values(x.m)[e];
        all += sum(s, x.rows, of_x);
    }
    return all > 0 && p > 0 ? all / rows / p : 1;
}

/* One size for A in a group, from the mean sum of an instance, so that H G' starts at
 * the scale of X and the first steps need not find it. Draws come in a fixed order:
 * groups, then views. */
void nmtf_random(scope *s, nmtf *n, ferry_rng *rng, const uint64_t *const *key)
{
    n->tiled = n->pending = false;
    for (int64_t g = 0; g < n->n_groups; g++) {
        nmtf_group *gr = &n->group[g];
        const double size = size_of_a(s, n, g);
        const uint64_t *of = key ? key[g] : NULL;
        random_f(s, gr->f1, rng, of, gr->sums);
        random_a(gr->a1, rng, size);
        random_a(gr->aa, rng, size);
        for (int64_t v = 0; v < n->n_views; v++) {
            if (n->view[v].group != g) continue;
            random_f(s, n->view[v].fa, rng, of, gr->sums);
            random_f(s, n->view[v].f2, rng, of, gr->sums);
            random_a(n->view[v].a2, rng, size);
        }
    }
}

/* ---- running ---- */

void nmtf_simplex_row(scope *s, small b, const double *v, double *g)
{
    if (b.rows != 2) {
        (void)simplex_qp(s, b, v, g);
        return;
    }
    /* g'Bg - 2 v'g at g = (t, 1 - t): derivative 0 at t = (v0 - v1 + B11 - B01) / bend */
    const double bend = AT(b, 0, 0) - 2 * AT(b, 0, 1) + AT(b, 1, 1);
    const double t =
        (v[0] - v[1] + AT(b, 1, 1) - AT(b, 0, 1)) / (bend > NMTF_EPS ? bend : NMTF_EPS);
    /* convex in t, so the nearest end is the minimum where t lies outside */
    g[0] = t < 0 ? 0 : t > 1 ? 1 : t;
    g[1] = 1 - g[0];
}

/* The objective that a step reports is that of the state before it (it costs nothing then), so
 * the last one is computed once at the end.
 * Warm iterations leave G alone: with random F and A the first steps of G would throw
 * away what the start knows. F's columns are left pending between iterations
 * (normalise_late); the objective at the end brings them up to date. */
nmtf_found nmtf_run(scope *s, nmtf *n, const nmtf_options *o, const char *what)
{
    nmtf_found found = {.objective = NAN};
    double before = NAN;

    while (found.iterations < o->warm + o->iterations) {
        const double now = nmtf_factors(s, n, o);
        if (found.iterations >= o->warm) nmtf_members(s, n, o);
        nmtf_normalise_late(s, n, o);
        found.iterations++;
        found.finish = progress(s, what, found.iterations, o->warm + o->iterations, now);
        found.converged = o->tol > 0 && fabs(before - now) <= o->tol * fabs(before);
        before = now;
        if (found.finish || found.converged) break;
    }
    found.objective = nmtf_objective(s, n, o->loss);
    if (!isfinite(found.objective))
        scope_fail(s, FERRY_ENUMERIC,
                   "%s: the factors grew beyond what a number can hold; scale the features",
                   what);
    return found;
}
