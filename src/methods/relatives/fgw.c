/* fgw: fused Gromov-Wasserstein transport. Rows of the source go to rows of the
 * target so that pairs as far apart in the one lie as far apart in the other,
 * and visible classes agree:
 *
 *   min over T   (1 - alpha) sum_ij M_ij T_ij + alpha sum_ijkl (C_ik - D_jl)^2
 * T_ij T_kl
 *
 * T (n x m) is a plan of equal masses. C and D: distances among rows of each
 * side, over their mean. M_ij = 1 where the visible class of target row j is
 * not that of source row i. By conditional gradients from T = 1 / nm on: with A
 * = C T D the gradient is (1 - alpha) M - 4 alpha A but for terms of rows and
 * columns that no plan changes,
 *
 *   V <- argmin <(1 - alpha) M - 4 alpha A, V>   exactly, a plan of at most n +
 * m - 1 cells T <- T + t (V - T),   t in [0, 1] where the objective, a
 * parabola, is least A <- A + t (C V D - A)
 *
 * so that a step takes one product of full matrices. A row of the target has
 * the classes of what came to it; a new one those of the nearest.
 *
 * Vayer, Chapel, Flamary, Tavenard and Courty, Optimal Transport for Structured
 * Data with Application on Graphs, ICML 2019. */
#include <math.h>
#include <string.h>

#include "learn/kernel.h"
#include "learn/transport.h"
#include "model/seam.h"

enum { MOST = 4000 }; /* rows of a side: half a gigabyte of matrices then */

typedef struct fgw_options {
    double alpha, tol;
    int64_t iterations;
} fgw_options;

static const ferry_opt fgw_opts[] = {
    FERRY_OPT(fgw_options, REAL, alpha, 0.5, 0, 1,
              "weight of distances against visible classes"),
    FERRY_OPT(fgw_options, INT, iterations, 200, 1, 1e6, "steps, at most"),
    FERRY_OPT(fgw_options, REAL, tol, 1e-9, 0, 1,
              "stop where the objective falls by less, times itself"),
};

typedef struct fgw {
    block c, d;           /* n x n, m x m */
    const uint8_t *other; /* n x m: M */
    double alpha;
    block t; /* the plan, n x m */
} fgw;

/* a <- C V D. */
static void both_sides(scope *s, const fgw *f, int64_t cells, const cell *v, block a)
{
    const int64_t mark = scope_mark(s), n = f->c.n, m = f->d.n;
    const block w = block_new(s, HERE(n), n, m);

    for (int64_t e = 0; e < cells; e++)
        for (int64_t l = 0; l < m; l++)
            ROW(w, v[e].row)[l] += v[e].share * ROW(f->d, v[e].column)[l];
    bmul_t(s, f->c, (small){m, n, w.at}, a);
    scope_release(s, mark);
}

/* C p q' D of the even plan: means of rows. */
static void even_sides(scope *s, const fgw *f, block a)
{
    const int64_t n = f->c.n, m = f->d.n;
    double *c = NEW(s, double, n), *d = NEW(s, double, m);

    column_sums(s, f->c, c);
    column_sums(s, f->d, d);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            ROW(a, i)[j] = c[i] / (double)n * d[j] / (double)m;
}

/* sum C_ik^2 p_i p_k. */
static double mean_square(block c)
{
    double all = 0;

    for (int64_t e = 0; e < c.n * c.k; e++)
        all += c.at[e] * c.at[e];
    return all / (double)c.n / (double)c.n;
}

/* <A, V> and <M, V> of a sparse plan. */
static void with_plan(const fgw *f, int64_t cells, const cell *v, block a, double *product,
                      double *wrong)
{
    *product = *wrong = 0;
    for (int64_t e = 0; e < cells; e++) {
        *product += v[e].share * ROW(a, v[e].row)[v[e].column];
        if (f->other[v[e].row * a.k + v[e].column]) *wrong += v[e].share;
    }
}

/* The step that lowers slope t + bend t^2 most. */
static double best_step(double slope, double bend)
{
    if (bend > 0) return fmin(fmax(-slope / (2 * bend), 0), 1);
    return slope + bend < 0 ? 1 : 0;
}

/* The plan; the objective. <A, T>, <M, T> and what a step makes of them are
 * known without a pass over T. */
static double solve(scope *s, const fgw_options *o, fgw *f)
{
    const int64_t n = f->c.n, m = f->d.n;
    const double alpha = f->alpha, squares = mean_square(f->c) + mean_square(f->d);
    const block a = block_new(s, HERE(n), n, m), av = block_like(s, a),
                cost = block_like(s, a);
    transport *lp = transport_new(s, n, m);
    double at = 0, mt = 0, now = 0;
    ferry_stop stop = FERRY_STOP_MAX_ITER;
    int64_t k = 0;

    f->t = block_like(s, a);
    even_sides(s, f, a);
    for (int64_t e = 0; e < n * m; e++) {
        f->t.at[e] = 1 / (double)(n * m);
        at += a.at[e] / (double)(n * m);
        mt += f->other[e] / (double)(n * m);
    }
    now = (1 - alpha) * mt + alpha * (squares - 2 * at);
    while (k < o->iterations && stop == FERRY_STOP_MAX_ITER) {
        const cell *v = NULL;
        double atv = 0, avv = 0, mv = 0;
        for (int64_t e = 0; e < n * m; e++)
            cost.at[e] = (f->other[e] ? 1 - alpha : 0) - 4 * alpha * a.at[e];
        (void)transport_solve(s, lp, cost.at);
        const int64_t cells = transport_plan(lp, &v);
        both_sides(s, f, cells, v, av);
        with_plan(f, cells, v, a, &atv, &mv); /* <A, V> = <A_V, T> */
        with_plan(f, cells, v, av, &avv, &mv);
        const double slope = (1 - alpha) * (mv - mt) - 4 * alpha * (atv - at),
                     bend = -2 * alpha * (avv - 2 * atv + at), t = best_step(slope, bend),
                     gain = -(slope * t + bend * t * t);
        for (int64_t e = 0; e < n * m; e++) {
            f->t.at[e] *= 1 - t;
            a.at[e] += t * (av.at[e] - a.at[e]);
        }
        for (int64_t e = 0; e < cells; e++)
            ROW(f->t, v[e].row)[v[e].column] += t * v[e].share;
        at = (1 - t) * (1 - t) * at + 2 * t * (1 - t) * atv + t * t * avv;
        mt += t * (mv - mt);
        now = (1 - alpha) * mt + alpha * (squares - 2 * at);
        const bool finish = progress(s, "fgw", ++k, o->iterations, now);
        if (gain <= o->tol * fabs(now)) stop = FERRY_STOP_TOL;
        if (finish) stop = FERRY_STOP_FINISH;
    }
    report_fit(s, k, now, stop);
    return now;
}

/* Distances among rows, over their mean. */
static block distances(scope *s, const view *v, int64_t n, const int64_t *rows)
{
    const small d = squared_distances(s, take_rows(s, v->x, n, rows, false));
    double all = 0;

    for (int64_t e = 0; e < n * n; e++)
        all += d.at[e] = sqrt(d.at[e]);
    all /= (double)n * (double)n;
    for (int64_t e = 0; all > 0 && e < n * n; e++)
        d.at[e] /= all;
    return (block){HERE(n), n, n, d.at}; /* symmetric */
}

static void fgw_fit(scope *s, scope *keep, const problem *p, const void *options,
                    void *state)
{
    const fgw_options *o = options;
    const domain *from = &p->d[0], *to = target(p);
    int64_t n = 0, m = 0, cells = 0;
    const int64_t *rs = transport_rows(s, from, false, MOST, &n),
                  *rt = transport_rows(s, to, true, MOST, &m);
    int32_t *cls = NEW(s, int32_t, n);
    uint8_t *other = NEW(s, uint8_t, n * m);
    fgw f = {.c = distances(s, &from->view[0], n, rs),
             .d = distances(s, &to->view[0], m, rt),
             .other = other,
             .alpha = o->alpha};

    for (int64_t i = 0; i < n; i++) {
        cls[i] = from->known[rs[i]];
        for (int64_t j = 0; j < m; j++)
            other[i * m + j] = to->known[rt[j]] >= 0 && to->known[rt[j]] != cls[i];
    }
    (void)solve(s, o, &f);
    cell *plan = NEW(s, cell, n * m);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            if (ROW(f.t, i)[j] > 0)
                plan[cells++] = (cell){(int32_t)i, (int32_t)j, ROW(f.t, i)[j]};
    transported_fit(s, keep, p, cells, plan, cls, m, rt, state);
}

static void fgw_fits(scope *s, const problem *shape, const void *options)
{
    (void)options;
    if (shape->n_sources != 1)
        scope_fail(s, FERRY_ENEEDS, "fgw moves one source; this task has %d",
                   shape->n_sources);
}

const method method_fgw = {
    .name = "fgw",
    .summary = "transport that keeps distances among rows, and visible classes",
    .reference = "Vayer, Chapel, Flamary, Tavenard, Courty, Optimal Transport for "
                 "Structured Data with Application on Graphs, ICML 2019",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_JOINT,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_ONE_VIEW,
    .wants = {.as = VIEWS_APART, .domains = WANT_SOURCES | WANT_TARGET},
    METHOD_OPTIONS(fgw_opts, fgw_options),
    .state = &transported_table,
    .asked = true, /* by classes alone it is no better than the target's labels */
    .whole = true,
    .fits = fgw_fits,
    .fit = fgw_fit,
    .scores = transported_scores,
};
