/* coot: CO-Optimal Transport. Rows of the source X (n x d) go to rows of the
 * target Y (m x e), and its features to the target's features, at once:
 *
 *   min over Ts, Tv   sum_ijkl (x_ik - y_jl)^2 Ts_ij Tv_kl + w sum_ij M_ij
 * Ts_ij
 *
 * Ts (n x m) and Tv (d x e) are plans of equal masses. M_ij = 1 where the
 * visible class of target row j is not that of source row i; w is `labels`
 * times the mean of the first costs. From Ts = 1 / nm, Tv = 1 / de on, by turns
 *
 *   Ts <- argmin <X^2 1/d + (Y^2 1/e)' - 2 X Tv Y' + w M, Ts>
 *   Tv <- argmin <(X')^2 1/n + ((Y')^2 1/m)' - 2 X' Ts Y, Tv>
 *
 * each solved exactly, until the objective falls no more. A row of the target
 * has the classes of what came to it; a new one those of the nearest.
 *
 * Redko, Vayer, Flamary and Courty, CO-Optimal Transport, NeurIPS 2020. */
#include <math.h>
#include <string.h>

#include "learn/transport.h"
#include "model/seam.h"

enum { MOST = 5000 }; /* rows of a side: costs are 200 MB then */

typedef struct coot_options {
    double labels, tol;
    int64_t iterations;
} coot_options;

static const ferry_opt coot_opts[] = {
    FERRY_OPT(coot_options, REAL, labels, 1, 0, 1e9,
              "cost of a target row whose visible class is another, times the "
              "mean cost"),
    FERRY_OPT(coot_options, INT, iterations, 100, 1, 1e6, "of both plans, at most"),
    FERRY_OPT(coot_options, REAL, tol, 1e-9, 0, 1,
              "stop where the objective falls by less, times itself"),
};

/* What both plans are made of. */
typedef struct coot {
    block x, y;           /* rows of either side */
    const uint8_t *other; /* n x m: M; NULL: 0 */
    double w;
    transport *rows, *columns;
} coot;

/* a_i = sum_k x_ik^2 / k, of rows; b of columns. */
static void mean_squares(block x, double *a, double *b)
{
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t k = 0; k < x.k; k++) {
            const double v = ROW(x, i)[k] * ROW(x, i)[k];
            a[i] += v / (double)x.k;
            b[k] += v / (double)x.n;
        }
}

/* The costs of rows: c = a + b' - 2 Z Y' + w M with Z = X Tv; plan NULL: Tv = 1
 * / de. */
static void row_costs(scope *s, const coot *o, int64_t cells, const cell *plan,
                      const double *a, const double *b, block c)
{
    const int64_t mark = scope_mark(s), n = o->x.n, m = o->y.n, d = o->x.k, e = o->y.k;
    const block z = block_new(s, HERE(n), n, e);

    for (int64_t i = 0; i < n; i++) {
        double all = 0;
        for (int64_t k = 0; k < d; k++)
            all += ROW(o->x, i)[k];
        for (int64_t l = 0; !plan && l < e; l++)
            ROW(z, i)[l] = all / (double)d / (double)e;
        for (int64_t t = 0; t < cells; t++)
            ROW(z, i)[plan[t].column] += plan[t].share * ROW(o->x, i)[plan[t].row];
    }
    bmul(s, z, (small){e, m, o->y.at}, c);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            ROW(c, i)[j] = a[i] + b[j] - 2 * ROW(c, i)[j];
            if (o->other && o->other[i * m + j]) ROW(c, i)[j] += o->w;
        }
    scope_release(s, mark);
}

/* Those of columns: c = a + b' - 2 X'Ts Y. */
static void column_costs(scope *s, const coot *o, int64_t cells, const cell *plan,
                         const double *a, const double *b, block c)
{
    const int64_t mark = scope_mark(s), n = o->x.n, e = o->y.k, d = o->x.k;
    const block z = block_new(s, HERE(n), n, e);
    const small g = small_new(s, e, d);

    for (int64_t t = 0; t < cells; t++)
        for (int64_t l = 0; l < e; l++)
            ROW(z, plan[t].row)[l] += plan[t].share * ROW(o->y, plan[t].column)[l];
    gram(s, z, o->x, g);
    for (int64_t k = 0; k < d; k++)
        for (int64_t l = 0; l < e; l++)
            ROW(c, k)[l] = a[k] + b[l] - 2 * AT(g, l, k);
    scope_release(s, mark);
}

/* Both plans; the objective. */
static double solve(scope *s, const coot_options *o, coot *c)
{
    const int64_t n = c->x.n, m = c->y.n, d = c->x.k, e = c->y.k;
    double *ar = NEW(s, double, n), *br = NEW(s, double, m), *ac = NEW(s, double, d),
           *bc = NEW(s, double, e), before = INFINITY, now = INFINITY, mean = 0;
    const block rows = block_new(s, HERE(n), n, m), columns = block_new(s, HERE(d), d, e);
    const cell *plan = NULL, *across = NULL;
    int64_t cells = 0, t = 0;
    ferry_stop stop = FERRY_STOP_MAX_ITER;

    c->rows = transport_new(s, n, m);
    c->columns = transport_new(s, d, e);
    mean_squares(c->x, ar, ac);
    mean_squares(c->y, br, bc);
    while (t < o->iterations && stop == FERRY_STOP_MAX_ITER) {
        row_costs(s, c, cells, plan, ar, br, rows);
        if (t == 0 && c->other) {
            for (int64_t i = 0; i < n * m; i++)
                mean += rows.at[i] / (double)(n * m);
            c->w = o->labels * mean;
            row_costs(s, c, cells, plan, ar, br, rows);
        }
        (void)transport_solve(s, c->rows, rows.at);
        const int64_t across_n = transport_plan(c->rows, &across);
        double wrong = 0;
        for (int64_t i = 0; c->other && i < across_n; i++)
            if (c->other[across[i].row * m + across[i].column]) wrong += across[i].share;
        column_costs(s, c, across_n, across, ac, bc, columns);
        now = transport_solve(s, c->columns, columns.at) + c->w * wrong;
        cells = transport_plan(c->columns, &plan);
        const bool finish = progress(s, "coot", ++t, o->iterations, now);
        if (before - now <= o->tol * fabs(now)) stop = FERRY_STOP_TOL;
        if (finish) stop = FERRY_STOP_FINISH;
        before = now;
    }
    report_fit(s, t, now, stop);
    return now;
}

/* Without the columns that are the same in all rows: they say nothing, and would get their share of the masses. */
static block varying(scope *s, const domain *d, int64_t n, const int64_t *rows)
{
    const block all = transport_values(s, &d->view[0], n, rows);
    int64_t *column = NEW(s, int64_t, all.k), k = 0;

    for (int64_t j = 0; j < all.k; j++)
        for (int64_t i = 1; i < n; i++)
            if (fabs(ROW(all, i)[j] - ROW(all, 0)[j]) > 1e-12) {
                column[k++] = j;
                break;
            }
    if (k == 0)
        scope_fail(s, FERRY_ENEEDS, "coot: the rows of '%s' do not differ", d->name);
    const block x = block_new(s, HERE(n), n, k);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++)
            ROW(x, i)[j] = ROW(all, i)[column[j]];
    return x;
}

static void coot_fit(scope *s, scope *keep, const problem *p, const void *options,
                     void *state)
{
    const domain *from = &p->d[0], *to = target(p);
    int64_t n = 0, m = 0;
    const int64_t *rs = transport_rows(s, from, false, MOST, &n),
                  *rt = transport_rows(s, to, true, MOST, &m);
    int32_t *cls = NEW(s, int32_t, n);
    uint8_t *other = NEW(s, uint8_t, n * m);
    coot c = {.x = varying(s, from, n, rs), .y = varying(s, to, m, rt)};
    const cell *plan = NULL;

    for (int64_t i = 0; i < n; i++) {
        cls[i] = from->known[rs[i]];
        for (int64_t j = 0; j < m; j++)
            other[i * m + j] = to->known[rt[j]] >= 0 && to->known[rt[j]] != cls[i];
    }
    if (to->labelled > 0) c.other = other;
    (void)solve(s, options, &c);
    const int64_t cells = transport_plan(c.rows, &plan);
    transported_fit(s, keep, p, cells, plan, cls, m, rt, state);
}

static void coot_fits(scope *s, const problem *shape, const void *options)
{
    (void)options;
    if (shape->n_sources != 1)
        scope_fail(s, FERRY_ENEEDS, "coot moves one source; this task has %d",
                   shape->n_sources);
}

const method method_coot = {
    .name = "coot",
    .summary = "optimal transport of a source's rows and features at once",
    .reference = "Redko, Vayer, Flamary, Courty, CO-Optimal Transport, NeurIPS 2020",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_JOINT,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_ONE_VIEW,
    .wants = {.as = VIEWS_APART, .domains = WANT_SOURCES | WANT_TARGET},
    METHOD_OPTIONS(coot_opts, coot_options),
    .state = &transported_table,
    .asked = true, /* by classes alone it is no better than the target's labels */
    .whole = true,
    .fits = coot_fits,
    .fit = coot_fit,
    .scores = transported_scores,
};
